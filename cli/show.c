/* show - the commands that look at tasks and calls: list, show, history,
   tail. What is long is written a piece at a time, in memory for a piece. */

#include "cli/show.h"
#include "mcp/calls.h"
#include "cli/text.h"
#include "base/clock.h"
#include "base/text.h"
#include "task/query.h"
#include "task/view.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#define FOLLOW_MS 50 /* how often tail -f looks for news */
#define CALLS_PAGE 50

/* ---- list ---- */

/* Reads "open,in_progress" into bits. */
static int
status_bits(const struct cli *c, const char *list, unsigned *bits)
{
    for (const char *at = list; at != NULL; ) {
        size_t len = strcspn(at, ",");
        int s = task_status_of((struct str){at, len});

        if (s < 0)
            return cli_fail(c, ERR_INVALID, "list: no such status: %s: open, "
                            "in_progress, handoff_ready, agent_exhausted, "
                            "done, failed, cancelled", at);
        *bits |= 1u << s;
        at = at[len] == ',' ? at + len + 1 : NULL;
    }
    return 0;
}

static struct str
str_of_arg(const char *z)
{
    return z == NULL ? STR_NONE : str_of(z);
}

static void
put_page(struct cli *c, const struct task_list *page)
{
    for (size_t i = 0; i < page->n; i++) {
        size_t from = c->out.len;

        if (c->json) {
            view_summary_json(&c->out, &page->tasks[i]);
            buf_char(&c->out, '\n');
        } else {
            view_task_line(&c->out, &c->a, &page->tasks[i]);
            cli_safe(&c->out, from);
        }
    }
}

static int
list_pages(struct cli *c, struct task_query *q, uint64_t left)
{
    struct task_list page;
    struct buf next = {0};
    int rc;

    c->columns = c->json ? 0 : 5;
    do {
        q->limit = left < TASK_LIST_MAX ? (unsigned)left : TASK_LIST_MAX;
        rc = tasks_list(c->s.tasks, &c->a, q, &page);
        if (rc < 0)
            break;
        put_page(c, &page);
        left -= page.n;
        buf_reset(&next, 4096);
        buf_str(&next, page.next);
        q->cursor = buf_view(&next);
        arena_reset(&c->a);
        if (next.err)
            rc = ERR_NOMEM;
    } while (rc >= 0 && next.len > 0 && left > 0 && cli_drain(c));
    buf_fini(&next);
    return rc < 0 ? cli_fail_store(c, rc) : CLI_OK;
}

static void
put_call(struct cli *c, const struct call *k)
{
    int64_t now = store_now_ms(c->s.store), end = k->created_ms + k->ttl_ms;
    char created[TIME_LEN + 1], ends[TIME_LEN + 1], two[2][24], text[160];
    struct str q, rest = k->watch, name = call_next_name(&rest);
    struct str names = rest.p == NULL ? name
        : arena_printf(&c->a, "%.*s, %.*s", STR_ARG(name), STR_ARG(rest));
    uint64_t open = 0;
    size_t at = 0;

    while ((q = raw_list_next(k->questions, &at)).p != NULL)
        open += raw_member(q, "answer").p == NULL;
    time_format(k->created_ms, created);
    time_format(end, ends);
    text_put(text, sizeof(text), "{call_id}  {status}  {tool}  {principal}  "
             "%s  %s left  {waits_for}%s\n",
             cli_span(two[0], now - k->created_ms),
             cli_span(two[1], end - now), open > 0 ? "  {questions} open" : "");
    cli_tell(c, text, "call_id=%.*s status=%s tool=%.*s principal=%.*s "
             "created_at=%s expires_at=%s waits_for=%.*s questions=" U64,
             STR_ARG(k->id),
             call_status_name(k->status), STR_ARG(k->tool),
             STR_ARG(k->principal), created, ends, STR_ARG(names), open);
}

/* The deferred calls, newest first, live ones unless all are wanted. */
static int
list_calls(struct cli *c, uint64_t left)
{
    char ids[CALLS_PAGE][CALL_ID_LEN + 1];
    struct str owner = str_of_arg(c->args.owner);
    uint64_t before = 0;
    bool more = true;
    struct call k;
    size_t i, n;
    int rc = 0;

    c->columns = c->json ? 0 : 6;
    while (rc == 0 && more && cli_drain(c)) {
        n = calls_list(c->s.calls, owner, before, ids, CALLS_PAGE, &before,
                       &more);
        for (i = 0; i < n && rc == 0 && left > 0; i++) {
            rc = calls_get(c->s.calls, &c->a, str_of(ids[i]), owner, &k);
            if (rc == 0 && (c->args.all || !call_status_ended(k.status))) {
                put_call(c, &k);
                left--;
            }
            if (rc == ERR_NOT_FOUND)
                rc = 0; /* it is of a newer version */
            arena_reset(&c->a);
        }
        more = more && left > 0;
    }
    return rc < 0 ? cli_fail_store(c, rc) : CLI_OK;
}

static enum task_ask
ask_of(bool wanted)
{
    return wanted ? TASK_YES : TASK_EITHER;
}

int
cli_list(struct cli *c, int argc, char **argv)
{
    const struct cli_args *a = &c->args;
    struct task_query q = {.include_done = a->all,
                           .owner = str_of_arg(a->owner),
                           .repo_path = str_of_arg(a->repo),
                           .tag = str_of_arg(a->tag),
                           .parent_id = str_of_arg(a->parent),
                           .text = str_of_arg(a->query),
                           .ready = ask_of(a->ready),
                           .stale = ask_of(a->stale),
                           .needs_input = ask_of(a->needs_input)};
    int rc = status_bits(c, a->status, &q.status);

    (void)argc;
    (void)argv;
    if (a->calls && (a->status || a->repo || a->tag || a->parent ||
                     a->query || a->ready || a->stale || a->needs_input))
        return cli_misuse(c, "--calls", "only --owner, --all and --limit go "
                          "with ");
    if (a->calls)
        return list_calls(c, a->limit);
    return rc != 0 || a->limit == 0 ? rc : list_pages(c, &q, a->limit);
}

/* ---- show, history ---- */

int
cli_show(struct cli *c, int argc, char **argv)
{
    struct task k;
    int rc = task_get(c->s.tasks, &c->a, str_of(argv[1]), &k);

    (void)argc;
    if (rc < 0)
        return cli_fail_task(c, rc, argv[1]);
    cli_task(c, &k, !c->json);
    return CLI_OK;
}

static void
put_event(struct cli *c, struct arena *a, const struct task_event *ev)
{
    size_t from = c->out.len;

    if (c->json) {
        view_event_json(&c->out, ev);
        buf_char(&c->out, '\n');
    } else {
        view_event_line(&c->out, a, ev);
        cli_safe(&c->out, from);
    }
}

/* Walks from the newest event back. Two arenas take turns, so that a long
   history needs no more memory than two events. */
static int
history(struct cli *c, struct str id, uint64_t since, uint64_t left)
{
    struct arena two[2] = {{0}, {0}};
    struct task_event ev;
    unsigned turn = 0;
    int rc = task_event_last(c->s.tasks, &two[0], id, &ev);
    bool found = rc == 0;

    while (rc == 0 && left-- > 0 && ev.r.n > since) {
        put_event(c, &two[turn], &ev);
        if (!cli_drain(c))
            break;
        turn ^= 1;
        arena_reset(&two[turn]);
        rc = task_event_prev(c->s.tasks, &two[turn], &ev);
    }
    if (found && rc == ERR_NOT_FOUND) {
        rc = 0;
        if (ev.r.p > since && !c->json)
            buf_printf(&c->out, "(events up to seq %llu went with an old "
                       "generation of the log, or stand before an "
                       "archive)\n",
                       (unsigned long long)ev.r.p);
    }
    arena_fini(&two[0]);
    arena_fini(&two[1]);
    return rc;
}

int
cli_history(struct cli *c, int argc, char **argv)
{
    int rc;

    (void)argc;
    c->columns = c->json ? 0 : 6;
    rc = history(c, str_of(argv[1]), c->args.since, c->args.limit);
    return rc < 0 ? cli_fail_task(c, rc, argv[1]) : CLI_OK;
}

/* ---- tail ---- */

static volatile sig_atomic_t tail_ended;

static void
end_tail(int sig)
{
    (void)sig;
    tail_ended = 1;
}

static int
count_event(void *ctx, const struct store_rec *r)
{
    uint64_t *n = ctx;

    *n += str_starts(r->key, "task/");
    return 0;
}

struct tail {
    struct cli *c;
    uint64_t skip;
};

static int
tail_event(void *ctx, const struct store_rec *r)
{
    struct tail *t = ctx;
    struct task_event ev;

    if (!str_starts(r->key, "task/") || (t->skip > 0 && t->skip-- > 0))
        return 0;
    if (task_event_of(r, &ev) == 0)
        put_event(t->c, &t->c->a, &ev);
    arena_reset(&t->c->a);
    return cli_drain(t->c) ? 0 : 1;
}

static void
tail_observe(void *ctx, const struct store_entry *e,
             const struct store_rec *r)
{
    (void)e;
    tail_event(ctx, r);
}

/* The last n events. Numbers have gaps where a compaction dropped records,
   so it looks ever further back until there are enough. */
static int
tail_last(struct tail *t, uint64_t n)
{
    struct store *s = t->c->s.store;
    struct store_state st;
    uint64_t back = n, from = 1, have = 0;
    int rc = 0;

    store_state(s, &st);
    if (n == 0)
        return 0;
    do {
        have = 0;
        from = back < st.head ? st.head - back + 1 : 1;
        back = back > UINT64_MAX / 8 ? UINT64_MAX : back * 8;
        rc = store_scan(s, from, count_event, &have);
    } while (rc == 0 && have < n && from > 1);
    t->skip = have > n ? have - n : 0;
    if (rc == 0)
        rc = store_scan(s, from, tail_event, t);
    t->skip = 0;
    return rc;
}

static void
on_signal(int sig, void (*handler)(int))
{
    struct sigaction sa = {.sa_handler = handler};

    sigemptyset(&sa.sa_mask);
    sigaction(sig, &sa, NULL);
}

/* Shows what is committed from now on, until a signal, or until nobody reads
   stdout any more: poll says so even while there is nothing to write. */
static int
tail_follow(struct tail *t)
{
    struct cli *c = t->c;
    struct pollfd out = {.fd = STDOUT_FILENO, .events = 0};
    int rc = 0;

    while (!tail_ended && rc == 0 && cli_flush(c)) {
        if (poll(&out, 1, FOLLOW_MS) > 0)
            break;
        rc = store_follow(c->s.store);
    }
    if (c->out_errno == EPIPE)
        c->out_errno = 0; /* that is how its reader ends it */
    return rc;
}

int
cli_tail(struct cli *c, int argc, char **argv)
{
    struct tail t = {.c = c};
    int rc;

    (void)argc;
    (void)argv;
    if (c->args.follow) {
        on_signal(SIGINT, end_tail);
        on_signal(SIGTERM, end_tail);
        store_observe(c->s.store, tail_observe, &t);
    }
    c->columns = c->json ? 0 : 6;
    rc = tail_last(&t, c->args.lines);
    if (rc == 0 && c->args.follow)
        rc = tail_follow(&t);
    return rc < 0 ? cli_fail_store(c, rc) : CLI_OK;
}
