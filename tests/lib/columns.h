/* columns - in which column each task stands. t_page tests task_column against
   these rows; interop/page.test.mjs reads this file and tests the page. A row:
   a status; whether the task (1, 0, or - for either)

       1  waits for input
       2  is blocked
       3  has a lease that ran out
       4  is stale
       5  depends on a task that failed
       6  has paths on which an agent works
       7  is not due yet, and no agent works on it
       8  failed in the last three days
       9  has unfinished parts

   and its column, by the page's name for it. Exactly one row matches each
   task. */

COLUMN(done, "---------", done)
COLUMN(failed, "-------0-", done)
COLUMN(failed, "-------1-", stuck)
COLUMN(cancelled, "---------", done)

COLUMN(open, "1--------", need)
COLUMN(open, "0-----1--", wait)
COLUMN(open, "0-----0-1", wait)
COLUMN(open, "0---1-0-0", stuck)
COLUMN(open, "01--0-0-0", wait)
COLUMN(open, "00--010-0", wait)
COLUMN(open, "001-000-0", stuck)
COLUMN(open, "0001000-0", stuck)
COLUMN(open, "0000000-0", ready)

COLUMN(in_progress, "1--------", need)
COLUMN(in_progress, "0-1---1--", wait)
COLUMN(in_progress, "0-1---0-0", stuck)
COLUMN(in_progress, "0-1---0-1", wait)
COLUMN(in_progress, "0-01--1--", wait)
COLUMN(in_progress, "0-01--0-0", stuck)
COLUMN(in_progress, "0-01--0-1", wait)
COLUMN(in_progress, "0-00-----", prog)

COLUMN(handoff_ready, "1--------", need)
COLUMN(handoff_ready, "0-----1--", wait)
COLUMN(handoff_ready, "0-----0-1", wait)
COLUMN(handoff_ready, "0-----0-0", hand)

COLUMN(agent_exhausted, "1--------", need)
COLUMN(agent_exhausted, "0-----1--", wait)
COLUMN(agent_exhausted, "0-----0-1", wait)
COLUMN(agent_exhausted, "0-----0-0", stuck)
