/* t_may - who holds a task, and who may do what to it: a table of callers,
   tasks and acts with each answer, and what a refusal says. */

#include "base/base.h"
#include "task/may.h"
#include "tests/lib/test.h"

/* ---- callers ---- */

#define HERE STR("1.1")  /* the session of the leases below */
#define THERE STR("2.2") /* another one */

static enum sight here = SIGHT_ALIVE; /* what is seen of that session */

static bool
is_same(struct str a, struct str b)
{
    return str_eq(a, b);
}

#define IN(at) .session = at, .is_same = is_same

/* me has the leases, and is the owner; giver hands over to me. */
enum {
    ME, ME_SOMEWHERE, TWIN, GIVER, YOU, YOU_PERSON, YOU_WARNED, UNNAMED,
    N_CALLERS
};
static const struct task_actor callers[N_CALLERS] = {
    [ME] = {.name = STR("\"me\""), IN(HERE)},
    [ME_SOMEWHERE] = {.name = STR("\"me\"")},
    [TWIN] = {.name = STR("\"me\""), IN(THERE)},
    [GIVER] = {.name = STR("\"giver\""), IN(THERE)},
    [YOU] = {.name = STR("\"you\""), IN(THERE)},
    [YOU_PERSON] = {.name = STR("\"you\""), .person = true},
    [YOU_WARNED] = {.name = STR("\"you\""), .ownership_warn = true},
    [UNNAMED] = {.name = STR("\"unknown\""), IN(THERE)},
};

/* ---- tasks ---- */

#define LEASE STR("{\"agent\":\"me\",\"seconds\":900,\"session\":\"1.1\"," \
                  "\"expires_at\":\"2026-01-02T03:04:05.000Z\"}")
#define HANDOFF STR("{\"from_agent\":\"giver\",\"to_agent\":\"me\"}")

enum {
    OPEN, MEANT, LEASED, LEFT, EXPIRED, UNLEASED, STALE, HANDED, OFFERED,
    EXHAUSTED, BLOCKED, FAILED, GOES_ON, EARLY, BESIDE, ENDED, N_TASKS
};

/* As task_of derives it from a record. */
static struct task
task_in(int state)
{
    struct task k = {.status = TASK_OPEN, .free = true, .ev.id = STR("t-1")};

    k.ev.r.time = STR("2026-01-02T03:00:00.000Z");
    if (state == HANDED || state == OFFERED) {
        k.status = TASK_HANDOFF_READY;
        k.f[F_HANDOFF] = HANDOFF;
        k.kept = state == HANDED;
    } else if (state == EXHAUSTED) {
        k.status = TASK_EXHAUSTED;
    } else if (state == ENDED) {
        k.status = TASK_DONE;
    } else if (state != OPEN && state != MEANT && state != BLOCKED &&
               state != FAILED && state != EARLY && state != BESIDE) {
        k.status = TASK_IN_PROGRESS;
        k.leased = state == LEASED || state == GOES_ON || state == LEFT;
        k.lease_expired = state == EXPIRED;
        k.stale = state == STALE;
        k.free = state == EXPIRED || state == STALE;
        k.kept = state == UNLEASED;
    }
    k.kept = k.kept || state == MEANT;
    if (k.leased || k.lease_expired)
        k.f[F_LEASE] = LEASE;
    k.sight = k.leased ? here : SIGHT_UNKNOWN;
    k.gone = state == LEFT || k.sight == SIGHT_GONE;
    if (k.gone || k.kept)
        k.until_ms = INT64_C(1767323100000);
    if (state == MEANT)
        k.until_ms = 0;
    if (k.status == TASK_IN_PROGRESS || k.status == TASK_HANDOFF_READY ||
        state == MEANT)
        k.f[F_CURRENT_OWNER] = STR("\"me\"");
    k.blocked = state == BLOCKED || state == FAILED || state == GOES_ON;
    k.early = state == EARLY;
    if (k.early)
        k.f[F_NOT_BEFORE] = STR("\"2026-01-02T14:00:00.000Z\"");
    if (state == BESIDE) {
        k.clashes = STR("[{\"task_id\":\"t-2\",\"agent\":\"me\"}]");
        k.clash_ms = INT64_C(1767358800000);
    }
    if (k.blocked)
        k.blocked_by = STR("[\"t-2\"]");
    if (state == FAILED)
        k.deps_failed = STR("[\"t-2\"]");
    return k;
}

/* ---- the table ---- */

/* A letter for each answer, in the order of enum task_may. */
static const char letters[] = "yUELTGKNPBF";

/* By task and caller, an answer for each act: say, work, begin, reopen, hand
   over, claim, take over. */
static const char *const expected[N_TASKS][N_CALLERS] = {
    [OPEN] = {"yyyyyyy", "yyyyyyy", "yyyyyyy", "yyyyyyy", "yyyyyyy", "yyyyyyy",
              "yyyyyyy", "yyyyyUU"},
    [MEANT] = {"yyyyyyy", "yyyyyyy", "yyyyyyy", "yyyyKKy", "yyyyKKy",
               "yyyyyKy", "yyyyyKy", "yyyyKUU"},
    [LEASED] = {"yyyyyyy", "yyyyyyy", "yTTTTTy", "yLLLLLL", "yLLLLLL",
                "yLLLyLy", "yyyyyLL", "yLLLLUU"},
    [LEFT] = {"yyyyyyy", "yyyyyyy", "yyyyyyy", "yGGGGGy", "yGGGGGy",
              "yGGGyGy", "yyyyyGy", "yGGGGUU"},
    [EXPIRED] = {"yyyyyyy", "yyyyyyy", "yyyyyyy", "yyyyyyy", "yyyyyyy",
                 "yyyyyyy", "yyyyyyy", "yyyyyUU"},
    [UNLEASED] = {"yyyyyyy", "yyyyyyy", "yyyyyyy", "yyyyKKy", "yyyyKKy",
                  "yyyyyKy", "yyyyyKy", "yyyyKUU"},
    [STALE] = {"yyyyyyy", "yyyyyyy", "yyyyyyy", "yyyyyyy", "yyyyyyy",
               "yyyyyyy", "yyyyyyy", "yyyyyUU"},
    [HANDED] = {"yyyyyyy", "yyyyyyy", "yyyyyyy", "yyyyKKy", "yyyyKKy",
                "yyyyyKy", "yyyyyKy", "yyyyKUU"},
    [OFFERED] = {"yyyyyyy", "yyyyyyy", "yyyyyyy", "yyyyyyy", "yyyyyyy",
                 "yyyyyyy", "yyyyyyy", "yyyyyUU"},
    [EXHAUSTED] = {"yyyyyyy", "yyyyyyy", "yyyyyyy", "yyyyyyy", "yyyyyyy",
                   "yyyyyyy", "yyyyyyy", "yyyyyUU"},
    [BLOCKED] = {"yyByyBB", "yyByyBB", "yyByyBB", "yyByyBB", "yyByyBB",
                 "yyByyBB", "yyByyBB", "yyByyUU"},
    [FAILED] = {"yyFyyFF", "yyFyyFF", "yyFyyFF", "yyFyyFF", "yyFyyFF",
                "yyFyyFF", "yyFyyFF", "yyFyyUU"},
    [GOES_ON] = {"yyByyyy", "yyByyyy", "yTTTTTy", "yLLLLLL", "yLLLLLL",
                 "yLLLyLB", "yyByyLL", "yLLLLUU"},
    [EARLY] = {"yyNyyNN", "yyNyyNN", "yyNyyNN", "yyNyyNN", "yyNyyNN",
               "yyNyyNy", "yyNyyNN", "yyNyyUU"},
    [BESIDE] = {"yyyyyyy", "yyyyyyy", "yyyyyyy", "yyPyyPy", "yyPyyPy",
                "yyPyyPy", "yyPyyPy", "yyPyyUU"},
    [ENDED] = {"EEEyEEE", "EEEyEEE", "EEEyEEE", "EEEyEEE", "EEEyEEE",
               "EEEyEEE", "EEEyEEE", "EEEyEUU"},
};

TEST(who_may_do_what)
{
    for (int t = 0; t < N_TASKS; t++)
        for (int who = 0; who < N_CALLERS; who++)
            for (int act = ACT_SAY; act <= ACT_TAKE_OVER; act++) {
                struct task k = task_in(t);
                enum task_may is = may(&callers[who], &k,
                                       (enum task_act)act);

                if (!CHECK(letters[is] == expected[t][who][act]))
                    fprintf(stderr, "  task %d, caller %d, act %d: %c\n", t,
                            who, act, letters[is]);
            }
}

/* A session that is not seen to live has no twin: the name alone counts. Of one
   that is gone, anybody may take the task over. */
TEST(a_session_that_is_not_seen)
{
    struct task k;

    here = SIGHT_UNKNOWN;
    k = task_in(LEASED);
    for (int act = ACT_SAY; act <= ACT_TAKE_OVER; act++)
        CHECK(may(&callers[TWIN], &k, (enum task_act)act) == MAY_YES);
    CHECK(may(&callers[YOU], &k, ACT_TAKE_OVER) == MAY_NOT_LEASED);
    here = SIGHT_GONE;
    k = task_in(LEASED);
    for (int act = ACT_SAY; act <= ACT_TAKE_OVER; act++)
        CHECK(may(&callers[TWIN], &k, (enum task_act)act) == MAY_YES);
    CHECK(may(&callers[YOU], &k, ACT_CLAIM) == MAY_NOT_LEFT);
    CHECK(may(&callers[YOU], &k, ACT_WORK) == MAY_NOT_LEFT);
    CHECK(may(&callers[YOU], &k, ACT_TAKE_OVER) == MAY_YES);
    here = SIGHT_ALIVE;
}

/* A change that begins a task takes it from nobody from whom a claim would not,
   though --ownership warn lets it. */
TEST(a_change_that_begins_a_task)
{
    for (int t = 0; t < N_TASKS; t++)
        for (int who = 0; who < YOU_PERSON; who++) {
            struct task k = task_in(t);
            enum task_may claim = may(&callers[who], &k, ACT_CLAIM);

            if (!k.blocked)
                CHECK(may(&callers[who], &k, ACT_TAKE_UP) == claim);
        }
    struct task k = task_in(HANDED);
    CHECK(may(&callers[YOU_WARNED], &k, ACT_TAKE_UP) == MAY_YES);
}

/* Before a task is chosen only the name is judged. */
TEST(any_task)
{
    CHECK(may(&callers[YOU], NULL, ACT_CLAIM) == MAY_YES);
    CHECK(may(&callers[UNNAMED], NULL, ACT_CLAIM) == MAY_NOT_UNNAMED);
    CHECK(may(&(struct task_actor){.name = STR_NONE}, NULL, ACT_TAKE_OVER) ==
          MAY_NOT_UNNAMED);
}

/* ---- who holds it ---- */

TEST(the_holder)
{
    static const struct {
        int state, who;
        enum task_hold hold;
    } rows[] = {
        {OPEN, ME, HOLD_NONE}, {LEASED, ME, HOLD_OWN},
        {LEASED, ME_SOMEWHERE, HOLD_OWN}, {LEASED, TWIN, HOLD_TWIN},
        {LEASED, YOU, HOLD_OTHER}, {LEASED, UNNAMED, HOLD_OTHER},
        {EXPIRED, ME, HOLD_OWN}, {EXPIRED, TWIN, HOLD_OWN},
        {EXPIRED, YOU, HOLD_NONE}, {UNLEASED, ME, HOLD_NONE},
    };

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct task k = task_in(rows[i].state);
        struct task_holder h = task_holder_of(&k);

        CHECK(actor_hold(&callers[rows[i].who], &h) == rows[i].hold);
    }
}

static bool
has_token(const void *of, struct str agent)
{
    (void)of;
    return str_is(agent, "a") || str_is(agent, "a-b") ||
           str_is(agent, "codex");
}

/* Rules (b) and (c): names that nobody chose, by client, session and sight. */
TEST(holders_under_default_names)
{
#define CLAUDE STR("claude-code")
#define NAMED(n) .name = STR("\"" n "\""), .client = CLAUDE
#define UNNAMED_AS(n) NAMED(n), .self = STR(n), .unnamed = true
    static const struct {
        const char *holder, *client; /* NULL: a lease of 0.2.0 */
        enum sight sight;
        struct task_actor who;
        enum task_hold hold;
        bool inherits;
    } rows[] = {
        /* Another session of the product, without a name. */
        {"claude-code-11111111", "claude-code", SIGHT_UNKNOWN,
         {UNNAMED_AS("claude-code-22222222"), IN(THERE)}, HOLD_CLIENT, false},
        {"claude-code-11111111", "claude-code", SIGHT_GONE,
         {UNNAMED_AS("claude-code-22222222"), IN(THERE)}, HOLD_CLIENT, true},
        {"claude-code-11111111", "claude-code", SIGHT_ALIVE,
         {UNNAMED_AS("claude-code-22222222"), IN(THERE)}, HOLD_OTHER, false},
        /* With one, or another's. */
        {"claude-code-11111111", "claude-code", SIGHT_UNKNOWN,
         {NAMED("me"), IN(THERE)}, HOLD_OTHER, false},
        {"claude-code-11111111", "claude-code", SIGHT_GONE,
         {NAMED("me"), IN(THERE)}, HOLD_OTHER, true},
        {"me", "claude-code", SIGHT_GONE,
         {UNNAMED_AS("claude-code-22222222"), IN(THERE)}, HOLD_OTHER, false},
        {"codex-11111111", "codex", SIGHT_GONE,
         {UNNAMED_AS("claude-code-22222222"), IN(THERE)}, HOLD_OTHER, false},
        /* Clients that say nothing are one, but inherit nothing. */
        {"agent-11111111", "mcp", SIGHT_GONE,
         {.name = STR("\"agent-22222222\""), .client = STR("mcp"),
          .unnamed = true, IN(THERE)}, HOLD_CLIENT, false},
        /* Within a session: a hook's name, the default one, and two that were
           chosen. */
        {"claude-code-aaaaaaaa", "claude-code", SIGHT_ALIVE,
         {NAMED("claude-code-11111111"), IN(HERE)}, HOLD_SESSION, false},
        {"claude-code-11111111", "claude-code", SIGHT_ALIVE,
         {NAMED("one"), IN(HERE)}, HOLD_SESSION, false},
        {"one", "claude-code", SIGHT_ALIVE,
         {UNNAMED_AS("claude-code-11111111"), IN(HERE)}, HOLD_SESSION, false},
        {"one", "claude-code", SIGHT_ALIVE, {NAMED("two"), IN(HERE)},
         HOLD_OTHER, false},
        /* With a token neither goes beyond its agent. */
        {"claude-code-11111111", "claude-code", SIGHT_GONE,
         {.name = STR("\"ann\""), .principal = STR("ann"), .client = CLAUDE,
          IN(THERE)}, HOLD_OTHER, false},
        {"ann-11111111", "claude-code", SIGHT_GONE,
         {.name = STR("\"ann\""), .principal = STR("ann"), .client = CLAUDE,
          IN(THERE)}, HOLD_OTHER, true},
        {"a-b", "claude-code", SIGHT_GONE,
         {.name = STR("\"a\""), .principal = STR("a"), .client = CLAUDE,
          .has_token = has_token, IN(THERE)}, HOLD_OTHER, false},
        /* Leases of 0.2.0, whose names were cut and kept their case. */
        {"Claude-Code-11111111", NULL, SIGHT_UNKNOWN,
         {UNNAMED_AS("claude-code-22222222"), IN(THERE)}, HOLD_CLIENT, false},
        {"abcdefghijklmnopqrst-11111111", NULL, SIGHT_UNKNOWN,
         {.name = STR("\"x\""), .client = STR("abcdefghijklmnopqrstuvw"),
          .unnamed = true, IN(THERE)}, HOLD_CLIENT, false},
        {"abcdefgh-11111111", NULL, SIGHT_UNKNOWN,
         {.name = STR("\"x\""), .client = STR("abcdefghijklmnopqrstuvw"),
          .unnamed = true, IN(THERE)}, HOLD_OTHER, false},
        {"mcp-11111111", NULL, SIGHT_UNKNOWN,
         {.name = STR("\"agent-22222222\""), .client = STR("mcp"),
          .unnamed = true, IN(THERE)}, HOLD_CLIENT, false},
        /* Of 0.3.0, which kept a hyphen for each other character. */
        {"-n8n-n8n--x-11111111", "-n8n-n8n--x", SIGHT_UNKNOWN,
         {.name = STR("\"n8n-n8n-x-22222222\""), .client = STR("n8n-n8n-x"),
          .unnamed = true, IN(THERE)}, HOLD_CLIENT, false},
        {"-n8n-n8n--x-11111111", "-n8n-n8n--x", SIGHT_GONE,
         {.name = STR("\"n8n-n8n-x-22222222\""), .client = STR("n8n-n8n-x"),
          .unnamed = true, IN(THERE)}, HOLD_CLIENT, true},
        {"-n8n-n8n--x-11111111", "-n8n-n8n--x", SIGHT_ALIVE,
         {.name = STR("\"n8n-n8n-x-11111111\""), .client = STR("n8n-n8n-x"),
          .self = STR("n8n-n8n-x-11111111"), .unnamed = true, IN(HERE)},
         HOLD_SESSION, false},
        /* A hook's name, which has the word for the product. */
        {"claude-11111111", "claude-code", SIGHT_GONE,
         {NAMED("claude-22222222"), IN(THERE)}, HOLD_OTHER, true},
        {"claude-11111111", NULL, SIGHT_UNKNOWN,
         {UNNAMED_AS("claude-code-22222222"), IN(THERE)}, HOLD_CLIENT, false},
        {"clau-11111111", "claude-code", SIGHT_GONE,
         {NAMED("claude-22222222"), IN(THERE)}, HOLD_OTHER, false},
        /* And those for a product, by an agent of 0.2.0 or a person. */
        {"claude-code", NULL, SIGHT_UNKNOWN,
         {UNNAMED_AS("claude-code-22222222"), IN(THERE)}, HOLD_CLIENT, false},
        {"claude", NULL, SIGHT_UNKNOWN, {NAMED("me"), IN(THERE)}, HOLD_OTHER,
         false},
        {"claude-code", "claude-code", SIGHT_GONE,
         {UNNAMED_AS("claude-code-22222222"), IN(THERE)}, HOLD_CLIENT, true},
        {"claude-code", "claude-code", SIGHT_ALIVE,
         {UNNAMED_AS("claude-code-22222222"), IN(THERE)}, HOLD_OTHER, false},
        {"mcp", NULL, SIGHT_UNKNOWN,
         {.name = STR("\"x\""), .client = STR("mcp"), .unnamed = true,
          IN(THERE)}, HOLD_OTHER, false},
    };
    struct arena a = {0};

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct task_holder h = {
            .name = arena_printf(&a, "\"%s\"", rows[i].holder),
            .session = HERE, .sight = rows[i].sight, .runs = true,
            .gone = rows[i].sight == SIGHT_GONE,
            .client = rows[i].client ? str_of(rows[i].client) : STR_NONE};

        if (!CHECK(actor_hold(&rows[i].who, &h) == rows[i].hold) ||
            !CHECK(actor_inherits(&rows[i].who, &h) == rows[i].inherits))
            fprintf(stderr, "  row %zu\n", i);
    }
    arena_fini(&a);
}

/* ---- whom a name reaches ---- */

TEST(whom_a_name_reaches)
{
#define CODEX STR("codex-mcp-client")
    static const struct {
        struct task_actor who;
        const char *word;
        bool reaches;
    } rows[] = {
        {{.name = STR("\"me\"")}, "\"me\"", true},
        {{.name = STR("\"me-0123abcd\"")}, "\"me\"", true},
        {{.name = STR("\"me-you\"")}, "\"me\"", false},
        {{.name = STR("\"codex-mcp-client-0123abcd\""), .client = CODEX},
         "\"Codex\"", true},
        {{.name = STR("\"codex-mcp-client-0123abcd\""), .client = CODEX},
         "\"OpenAI Codex CLI\"", true},
        {{.name = STR("\"codex-mcp-client-0123abcd\""), .client = CODEX},
         "\"codex-0123abcd\"", false}, /* a session, and not this one */
        {{.name = STR("\"-n8n-x-0123abcd\""), .client = STR("n8n-x")},
         "\"n8n\"", true}, /* as 0.3.0 called it */
        /* Not under a name of its own, nor as a client that says nothing. */
        {{.name = STR("\"me\""), .client = CODEX}, "\"codex\"", false},
        {{.name = STR("\"mcp-0123abcd\""), .client = STR("mcp")}, "\"MCP\"",
         false},
        {{.name = STR_NONE, .client = CODEX}, "\"codex\"", false},
        /* What is a token's is nobody else's. */
        {{.name = STR("\"codex-mcp-client-0123abcd\""), .client = CODEX,
          .has_token = has_token}, "\"codex\"", false},
        {{.name = STR("\"codex-0123abcd\""), .principal = STR("codex"),
          .client = CODEX, .has_token = has_token}, "\"codex-cli\"", false},
        {{.name = STR("\"a-b\""), .principal = STR("a-b"),
          .has_token = has_token}, "\"a\"", false},
        {{.name = STR("\"a-0123abcd\""), .principal = STR("a"),
          .has_token = has_token}, "\"a\"", true},
        {{.name = STR("\"a-0123abcd\""), .principal = STR("a"),
          .has_token = has_token}, "\"a-b\"", false},
    };

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (!CHECK(actor_reached(&rows[i].who, str_of(rows[i].word)) ==
                   rows[i].reaches))
            fprintf(stderr, "  row %zu\n", i);
    CHECK(!actor_reached(&rows[0].who, STR_NONE));
}

/* ---- what a refusal says ---- */

TEST(what_a_refusal_says)
{
    static const struct {
        enum task_may why;
        int state, code;
        const char *field, *message, *next;
    } rows[] = {
        {MAY_NOT_UNNAMED, OPEN, ERR_INVALID, "agent",
         "the name unknown cannot hold a lease", "pass your own name as agent"},
        {MAY_NOT_ENDED, ENDED, ERR_TERMINAL, "",
         "the task is done and cannot be changed",
         "to continue it, call update_task with an allowed status and a "
         "reason"},
        {MAY_NOT_LEASED, LEASED, ERR_LEASE, "",
         "another agent holds a lease on the task t-1 until "
         "2026-01-02T03:04:05.000Z",
         "work on another task, or try again when the lease has ended; to "
         "reach the holder, call update_task with message; if the lease is "
         "yours, pass the same agent"},
        {MAY_NOT_TWIN, LEASED, ERR_LEASE, "",
         "another session with this agent name holds the lease",
         "call claim_task with a different agent name, or with takeover and a "
         "reason"},
        {MAY_NOT_LEFT, LEFT, ERR_KEPT, "agent",
         "the agent that worked on it has exited, but may come back",
         "claim another task, or this one after expires_at; if that agent "
         "will not come, claim it with takeover and a reason"},
        {MAY_NOT_KEPT, UNLEASED, ERR_KEPT, "agent",
         "another agent is working on it, without a lease",
         "claim another task, or this one after expires_at; if that agent "
         "will not come, claim it with takeover and a reason"},
        {MAY_NOT_KEPT, HANDED, ERR_KEPT, "agent",
         "it was handed over to another agent",
         "claim another task, or this one after expires_at; if that agent "
         "will not come, claim it with takeover and a reason"},
        {MAY_NOT_KEPT, MEANT, ERR_KEPT, "agent",
         "it is meant for another agent",
         "choose another task, or claim this one with takeover and a reason"},
        {MAY_NOT_YET, EARLY, ERR_BLOCKED, "not_before",
         "work on the task may not start before 2026-01-02T14:00:00.000Z",
         "claim another task, wait for this one with wait_seconds, or call "
         "update_task with clear [\"not_before\"] to make it ready now"},
        {MAY_NOT_BESIDE, BESIDE, ERR_BLOCKED, "paths",
         "another agent is working on the task t-2, whose paths overlap those "
         "of this one",
         "claim another task, wait for this one with wait_seconds, or claim it "
         "with takeover and a reason"},
        {MAY_NOT_BLOCKED, BLOCKED, ERR_BLOCKED, "",
         "tasks that it depends on are not done",
         "call get_task to see blocked_by, and finish those tasks first"},
        {MAY_NOT_FAILED, FAILED, ERR_BLOCKED, "",
         "it depends on t-2, which failed or was cancelled",
         "call update_task to reopen that task (status and reason), or to "
         "remove it from depends_on"},
    };
    struct arena a = {0};

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct task_ctx c = {.a = &a, .who = callers[YOU]};
        struct task k = task_in(rows[i].state);
        bool owned = rows[i].code == ERR_LEASE ||
                     rows[i].code == ERR_KEPT;
        bool beside = rows[i].why == MAY_NOT_BESIDE;

        CHECK(may_refuse(&c, &k, rows[i].why) == rows[i].code);
        CHECK(c.e.code == rows[i].code && str_is(c.e.field, rows[i].field));
        if (!CHECK(str_is(c.e.message, rows[i].message)) ||
            !CHECK(str_is(c.e.next, rows[i].next)))
            fprintf(stderr, "  %.*s\n  %.*s\n", STR_ARG(c.e.message),
                    STR_ARG(c.e.next));
        CHECK(str_is(c.e.holder, "\"me\"") == (owned || beside));
        CHECK(str_is(c.e.expires, "\"2026-01-02T13:00:00.000Z\"") ==
              beside);
        CHECK(str_is(c.e.blocked_by, "[\"t-2\"]") ==
              (rows[i].state == BLOCKED || rows[i].state == FAILED));
        CHECK(str_is(c.e.expires, "\"2026-01-02T14:00:00.000Z\"") ==
              (rows[i].why == MAY_NOT_YET));
        CHECK(str_is(c.e.deps_failed, "[\"t-2\"]") ==
              (rows[i].why == MAY_NOT_FAILED));
        CHECK(str_is(c.e.expires, "\"2026-01-02T03:05:00.000Z\"") ==
              (rows[i].code == ERR_KEPT && rows[i].state != MEANT));
        CHECK(c.e.gone == (rows[i].state == LEFT));
        CHECK(c.e.for_now == (beside || rows[i].why == MAY_NOT_YET));
        CHECK(may_later(&c.e) == (owned || beside ||
                                  rows[i].why == MAY_NOT_BLOCKED ||
                                  rows[i].why == MAY_NOT_YET));
    }
    CHECK(may_refuse(&(struct task_ctx){.a = &a}, NULL, MAY_YES) == 0);
    arena_fini(&a);
}

/* Who lost the task is told who took it. */
TEST(who_lost_it)
{
    struct arena a = {0};
    struct task_ctx c = {.a = &a, .who = callers[YOU]};
    struct task k = task_in(LEASED);

    k.f[F_TAKEOVER] = STR("{\"from_agent\":\"you\",\"agent\":\"me\"}");
    may_refuse(&c, &k, MAY_NOT_LEASED);
    CHECK(str_is(c.e.taken, "{\"by\":\"me\"}"));
    c.who = callers[GIVER];
    may_refuse(&c, &k, MAY_NOT_LEASED);
    CHECK(c.e.taken.p == NULL);
    arena_fini(&a);
}
