/* who - the command that shows what each agent does, as the strip of the page
   does: what it works on, and what it left behind.

   1. An agent's sign of life is what it wrote itself, by the lease that this
      renewed: others change its tasks, too.
   2. Of the tasks that it holds, the one is shown that it wrote last and that
      waits for no answer. Those that it left behind come after all others.
   3. Who waits for a person comes first, and who only left something behind
      last; each by name. */

#include "cli/who.h"
#include "cli/call.h"
#include "cli/human.h"
#include "cli/screen.h"
#include "cli/show.h"
#include "cli/text.h"
#include "base/clock.h"
#include "base/text.h"
#include "json/raw.h"
#include "task/cause.h"

#include <stdlib.h>
#include <string.h>

struct agent {
    struct str name;    /* raw */
    uint64_t held, waits;
    struct str left;    /* the ids of what it left behind, raw, with commas */
    struct str id;      /* of the task that is shown, */
    enum kind { LEFT = 1, ASKS, WORKS } of; /* rather of a later kind, */
    int64_t at_ms;      /* and changed then */
};

struct who {
    struct cli *c;
    struct arena a;  /* of the agents */
    struct buf list; /* of struct agent */
    int err;
    struct table t;
};

/* ---- the agents ---- */

static struct agent *
agents_of(const struct who *w, size_t *n)
{
    *n = w->list.len / sizeof(struct agent);
    return (struct agent *)(void *)w->list.p;
}

/* The agent of this name; NULL: no memory. */
static struct agent *
agent_of(struct who *w, struct str name)
{
    struct agent new = {.left = STR("")}, *all;
    size_t n;

    all = agents_of(w, &n);
    for (size_t i = 0; i < n; i++)
        if (str_eq(all[i].name, name))
            return &all[i];
    new.name = arena_str(&w->a, name);
    buf_put(&w->list, &new, sizeof new);
    all = agents_of(w, &n);
    return new.name.p != NULL && w->list.err == 0 ? &all[n - 1] : NULL;
}

static bool
add_work(void *ctx, const struct task *k)
{
    struct who *w = ctx;
    struct str by = k->f[F_CURRENT_OWNER];
    enum kind kind = k->needs_input ? ASKS : WORKS;
    struct agent *g;
    int64_t at = 0;

    by = by.p != NULL ? by : raw_member(k->f[F_EXHAUSTED], "agent");
    if (by.p == NULL)
        return true;
    g = agent_of(w, by);
    if (g == NULL)
        return (w->err = ERR_NOMEM) == 0;
    g->waits += k->needs_input && raw_member(
        human_open_question(k, STR_NONE), "to").p == NULL;
    time_parse(k->ev.r.time, &at);
    if (k->status == TASK_EXHAUSTED || k->gone || k->lease_expired ||
        k->stale) {
        kind = LEFT;
        g->left = arena_printf(&w->a, "%.*s%s%.*s", STR_ARG(g->left),
                               g->left.len > 0 ? "," : "",
                               STR_ARG(k->f[F_TASK_ID]));
    } else {
        g->held++;
        task_lease_wrote(k->f[F_LEASE], &at);
    }
    if (kind > g->of || (kind == g->of && at > g->at_ms)) {
        g->of = kind;
        g->at_ms = at;
        g->id = arena_str(&w->a, k->ev.id);
    }
    return true;
}

/* Invariant 3. */
static int
order_agents(const void *a, const void *b)
{
    const struct agent *x = a, *y = b;
    size_t n = x->name.len < y->name.len ? x->name.len : y->name.len;

    if ((x->waits > 0) != (y->waits > 0))
        return x->waits > 0 ? -1 : 1;
    if ((x->held > 0) != (y->held > 0))
        return x->held > 0 ? -1 : 1;
    return memcmp(x->name.p, y->name.p, n);
}

/* ---- a row ---- */

/* In what state an agent is, and since when, by the whole task k that is
   shown of it: a word for programs, and a text for people, in a. */
static struct str
sign_of_life(const struct who *w, struct arena *a, const struct agent *g,
             const struct task *k, const char **word, struct str *since)
{
    struct str lease = k->f[F_LEASE], left = raw_member(lease, "left");
    struct str q = human_open_question(k, STR_NONE), to;
    const char *text, *also = "";
    int64_t ms = 0;
    char age[24];

    *word = g->of == LEFT ? "silent" : "works";
    *since = k->ev.r.time;
    text = task_lease_wrote(lease, &ms) ? "wrote" : "its task changed";
    if (ms > 0)
        *since = arena_str(a, str_of(time_text(ms)));
    if (g->of == ASKS) {
        *word = "waits";
        *since = raw_inner(raw_member(q, "at"));
    } else if (k->status == TASK_EXHAUSTED) {
        *word = text = "stopped";
        *since = raw_inner(raw_member(k->f[F_EXHAUSTED], "at"));
    } else if (left.p != NULL) {
        *word = text = "exited";
        *since = raw_inner(raw_member(left, "at"));
    } else if (k->gone) {
        *word = "exited";
        also = "exited, ";
    } else if (k->lease_expired) {
        *word = "expired";
        also = "lease expired, ";
    }
    if (!time_parse(*since, &ms)) {
        *since = k->ev.r.time;
        time_parse(*since, &ms);
    }
    cli_span(age, cli_now_ms(w->c) - ms);
    to = raw_text(a, raw_member(q, "to"));
    if (g->of == ASKS)
        return arena_printf(a, "waits for %.*s, %s", STR_ARG(
            to.len > 0 ? to : STR("you")), age);
    return arena_printf(a, "%s%s%s %s ago", k->connected ? "connected, " : "",
                        also, text, age);
}

static const struct table_column columns[] = {
    {.head = "AGENT", .share = 25}, {.head = "STATE"},
    {.head = "ID", .share = 20}, {.head = "TASK", .rest = true},
    {.head = "ALSO", .share = 25, .may_go = true},
    {.head = "STEPS", .may_go = true},
    {.head = "TESTS", .may_go = true},
};
enum { COLUMNS = sizeof columns / sizeof *columns };

/* "+2 more, 1 waits for you, left behind: web-313", beside its state. */
static struct str
also_text(struct arena *a, const struct agent *g)
{
    struct str left = human_joined(a, arena_printf(a, "[%.*s]",
                                                   STR_ARG(g->left)));
    uint64_t waits = g->waits - (g->waits > 0 && g->of == ASKS);
    struct buf b = {0};

    if (g->held > 1)
        buf_printf(&b, ", +" U64 " more", g->held - 1);
    if (waits > 0)
        buf_printf(&b, ", " U64 " wait%s for you", waits,
                   waits == 1 ? "s" : "");
    if (left.len > 0)
        buf_printf(&b, ", left behind: %.*s", STR_ARG(left));
    return b.len > 0 ? str_from(buf_take(&b, a), strlen(", ")) : STR("");
}

static void
put_row(struct who *w, const struct agent *g, const struct task *k)
{
    static const char *const sgr[] = {[LEFT] = "1;31", [ASKS] = "1;35",
                                      [WORKS] = "36"};
    struct buf *out = &w->c->out;
    struct arena a = {0};
    struct str since, task, step = STR_NONE, tests = STR("");
    const char *word;
    struct str state = sign_of_life(w, &a, g, k, &word, &since);
    uint64_t passed, failed;

    if (w->c->json) {
        buf_printf(out, "{\"agent\":%.*s,\"state\":\"%s\",\"since\":"
                   "\"%.*s\",\"tasks\":" U64 ",\"waiting\":" U64
                   ",\"left_behind\":[%.*s],\"task\":", STR_ARG(g->name), word,
                   STR_ARG(since), g->held, g->waits, STR_ARG(g->left));
        cli_put_task_json(w->c, out, k);
        buf_z(out, "}\n");
        arena_fini(&a);
        return;
    }
    step = raw_text(&a, raw_list_next(k->f[F_REMAINING_STEPS], STR_NONE));
    if (task_tests(k, &passed, &failed))
        tests = failed > 0 ? arena_printf(&a, U64 " failed", failed)
                           : arena_printf(&a, U64 " passed", passed);
    task = raw_text(&a, k->f[F_TITLE]);
    if (step.len > 0)
        task = arena_printf(&a, "%.*s; now: %.*s", STR_ARG(task),
                            STR_ARG(step));
    table_row(&w->t, (const struct table_cell[COLUMNS]){
        {raw_text(&a, g->name), NULL}, {state, sgr[g->of]}, {k->ev.id, NULL},
        {task, NULL}, {also_text(&a, g), NULL},
        {human_steps(&a, k), NULL}, {tests, failed > 0 ? "31" : "32"}});
    arena_fini(&a);
}

/* ---- the command ---- */

/* Shows the agents in their order; what each works on is read whole. */
static int
show_agents(struct who *w)
{
    size_t n;
    struct agent *all = agents_of(w, &n);
    struct task k;
    int rc = w->err;

    if (n > 0)
        qsort(all, n, sizeof *all, order_agents);
    for (size_t i = 0; rc == 0 && i < n; i++) {
        const char *id = arena_str(&w->a, all[i].id).p;

        rc = id == NULL ? ERR_NOMEM : cli_task(w->c, id, &k);
        if (rc == 0)
            put_row(w, &all[i], &k);
        rc = rc == ERR_NOT_FOUND ? 0 : rc; /* it was archived meanwhile */
        arena_reset(&w->c->a);
    }
    if (rc == 0 && n == 0 && !w->c->json)
        table_whole_line(&w->t, 0, (struct table_cell){
            STR("no agent is at work; run \"mcptask list --ready\""), NULL});
    return rc;
}

int
cli_who(struct cli *c)
{
    struct task_query q = {.limit = TASK_LIST_MAX, .status =
                           1u << TASK_IN_PROGRESS | 1u << TASK_EXHAUSTED};
    struct who w = {.c = c};
    int rc = cli_each_task(c, &q, add_work, &w);

    table_begin(&w.t, c, columns, COLUMNS, screen_columns());
    if (rc == 0)
        rc = show_agents(&w);
    table_end(&w.t);
    arena_fini(&w.a);
    buf_fini(&w.list);
    return rc < 0 ? cli_fail_store(c, rc) : rc;
}
