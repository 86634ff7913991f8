/* t_cause - why a task stands where it does, and how people are told. In which
   column each task is, t_page tests. */

#include "task/cause.h"
#include "tests/lib/test.h"

#define ASKED STR("[{\"question_id\":\"q1\",\"question\":\"Which\\tport?\"}]")
#define GIVEN STR("{\"from_agent\":\"ann\",\"to_agent\":\"bob\"," \
                  "\"reason\":\"quota\"}")
#define OFFERED STR("{\"from_agent\":\"ann\"}")
#define GONE STR("{\"agent\":\"ann\",\"reason\":\"rate limit\"}")
#define DEPS .blocked = true, .blocked_by = STR("[\"t-2\",\"t-3\"]")

#define FROM .f[F_NOT_BEFORE] = STR("\"2026-01-02T14:00:00.000Z\"")

static const struct {
    struct task k;
    enum task_cause cause;
    const char *text;
} rows[] = {
    {{.status = TASK_OPEN}, CAUSE_READY, ""},
    {{.status = TASK_OPEN, DEPS}, CAUSE_WAITS, "waits for t-2 and 1 more"},
    {{.status = TASK_OPEN, .blocked = true, .blocked_by = STR("[\"t-2\"]")},
     CAUSE_WAITS, "waits for t-2"},
    {{.status = TASK_OPEN, DEPS, .deps_failed = STR("[\"t-3\"]")},
     CAUSE_BLOCKED, "blocked by t-3"},
    {{.status = TASK_OPEN, DEPS, .needs_input = true,
      .f[F_QUESTIONS] = ASKED}, CAUSE_QUESTION, "Which\tport?"},
    {{.status = TASK_OPEN, .garbled = true}, CAUSE_DAMAGED,
     "damaged: mcptask verify"},
    {{.status = TASK_DONE, .garbled = true}, CAUSE_ENDED,
     "damaged: mcptask verify"},
    {{.status = TASK_IN_PROGRESS}, CAUSE_HELD, ""},
    {{.status = TASK_IN_PROGRESS, DEPS}, CAUSE_HELD,
     "waits for t-2 and 1 more"},
    {{.status = TASK_IN_PROGRESS, .lease_expired = true}, CAUSE_EXPIRED,
     "lease expired"},
    {{.status = TASK_IN_PROGRESS, .lease_expired = true, .stale = true, DEPS},
     CAUSE_EXPIRED, "lease expired"},
    {{.status = TASK_IN_PROGRESS, .stale = true}, CAUSE_STALE,
     "no activity for 24 h"},
    {{.status = TASK_HANDOFF_READY, .f[F_HANDOFF] = GIVEN}, CAUSE_HANDED,
     "ann -> bob: quota"},
    {{.status = TASK_HANDOFF_READY, .f[F_HANDOFF] = OFFERED, DEPS},
     CAUSE_HANDED, "ann -> any agent"},
    {{.status = TASK_HANDOFF_READY}, CAUSE_HANDED, "-> any agent"},
    {{.status = TASK_OPEN,
      .clashes = STR("[{\"task_id\":\"t-3\",\"agent\":\"ann\"}]")},
     CAUSE_BESIDE, "paths overlap with t-3"},
    {{.status = TASK_OPEN, .early = true, FROM, DEPS}, CAUSE_LATER,
     "from 2026-01-02T14:00Z"},
    {{.status = TASK_EXHAUSTED, .early = true, FROM,
      .f[F_EXHAUSTED] = GONE}, CAUSE_LATER,
     "from 2026-01-02T14:00Z: rate limit"},
    {{.status = TASK_OPEN, .parts = {10, 7, 2, 1}, DEPS}, CAUSE_PARTS,
     "2 of 10 parts done, 1 failed"},
    {{.status = TASK_HANDOFF_READY, .parts = {3, 1, 1, 0}}, CAUSE_PARTS,
     "1 of 2 parts done"},
    {{.status = TASK_IN_PROGRESS, .parts = {1, 1, 0, 0}}, CAUSE_HELD, ""},
    {{.status = TASK_IN_PROGRESS, .parts = {1, 1, 0, 0},
      .lease_expired = true}, CAUSE_PARTS, "0 of 1 parts done"},
    {{.status = TASK_OPEN, .parts = {2, 0, 1, 0}}, CAUSE_READY,
     "all parts ended: check the acceptance and close it"},
    {{.status = TASK_OPEN, .above = STR("\"e\""), DEPS}, CAUSE_PARENT,
     "waits for its parent e"},
    {{.status = TASK_EXHAUSTED, .f[F_EXHAUSTED] = GONE, DEPS},
     CAUSE_EXHAUSTED, "ann stopped: rate limit"},
    {{.status = TASK_EXHAUSTED}, CAUSE_EXHAUSTED, "the agent stopped"},
    {{.status = TASK_FAILED, DEPS, .ev.note = STR("\"no \\\"disk\\\"\"")},
     CAUSE_ENDED, "no \"disk\""},
    {{.status = TASK_FAILED, .recent = true, .ev.note = STR("\"no disk\"")},
     CAUSE_FAILED, "failed: no disk"},
    {{.status = TASK_DONE, .f[F_QUESTIONS] = ASKED}, CAUSE_ENDED, ""},
};

int
main(void)
{
    struct arena a = {0};

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct str text = task_cause_text(&a, &rows[i].k);

        CHECK(task_cause(&rows[i].k) == rows[i].cause);
        if (!CHECK(str_is(text, rows[i].text)))
            fprintf(stderr, "  row %zu: %.*s\n", i, STR_ARG(text));
    }
    arena_fini(&a);
    return test_end("cause");
}
