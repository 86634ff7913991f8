/* columns - in which column each task stands. t_page tests task_column against
   these rows; interop/page.test.mjs reads this file and tests the page. A row:
   a status; whether the task waits for input, is blocked, has a lease that ran
   out, is stale (1, 0, or - for either); and its column, by the page's name for
   it. Exactly one row matches each task. */

COLUMN(done, "----", done)
COLUMN(failed, "----", done)
COLUMN(cancelled, "----", done)

COLUMN(open, "1---", need)
COLUMN(open, "01--", stuck)
COLUMN(open, "001-", stuck)
COLUMN(open, "0001", stuck)
COLUMN(open, "0000", ready)

COLUMN(in_progress, "1---", need)
COLUMN(in_progress, "0-1-", stuck)
COLUMN(in_progress, "0-01", stuck)
COLUMN(in_progress, "0-00", prog)

COLUMN(handoff_ready, "1---", need)
COLUMN(handoff_ready, "0---", hand)

COLUMN(agent_exhausted, "1---", need)
COLUMN(agent_exhausted, "0---", stuck)
