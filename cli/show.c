/* show - the commands that show tasks and calls: list, show, history, tail.
   Long output is written piece by piece, with memory for one piece. */

#include "cli/show.h"
#include "cli/args.h"
#include "cli/store.h"
#include "mcp/calls.h"
#include "cli/text.h"
#include "base/base64.h"
#include "base/clock.h"
#include "base/text.h"
#include "base/utf8.h"
#include "json/raw.h"
#include "task/artifact.h"
#include "task/query.h"
#include "task/view.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
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

int
cli_each_task(struct cli *c, struct task_query *q,
              bool (*fn)(void *ctx, const struct task *k), void *ctx)
{
    struct task_list page;
    struct buf next = {0};
    bool more = true;
    int rc = 0;

    while (rc == 0 && more && cli_drain(c)) {
        rc = tasks_list(c->s.tasks, &c->a, q, &page);
        for (size_t i = 0; rc == 0 && more && i < page.n; i++)
            more = fn(ctx, &page.tasks[i]);
        next.len = 0;
        if (rc == 0)
            buf_str(&next, page.next);
        q->cursor = buf_view(&next);
        arena_reset(&c->a);
        more = more && next.len > 0;
        rc = rc == 0 ? next.err : rc;
    }
    buf_fini(&next);
    return rc;
}

static bool
put_task(void *ctx, const struct task *k)
{
    struct cli *c = ctx;

    if (c->json) {
        view_summary_json(&c->out, k);
        buf_char(&c->out, '\n');
    } else if (c->args.ids) {
        buf_printf(&c->out, "%.*s\n", STR_ARG(k->ev.id));
    } else {
        view_task_line(&c->out, &c->a, k);
    }
    return --c->args.limit > 0;
}

static void
put_call(struct cli *c, const struct call *k)
{
    int64_t now = store_now_ms(c->s.store), end = k->created_ms + k->ttl_ms;
    char created[TIME_LEN + 1], ends[TIME_LEN + 1], two[2][24], text[160];
    struct str q = STR_NONE, rest = k->watch, name = call_next_name(&rest);
    struct str names = rest.p == NULL ? name
        : arena_printf(&c->a, "%.*s, %.*s", STR_ARG(name), STR_ARG(rest));
    uint64_t open = 0;

    while ((q = raw_list_next(k->questions, q)).p != NULL)
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

/* Lists deferred calls, newest first; only live ones unless --all is given. */
static int
list_calls(struct cli *c)
{
    char ids[CALLS_PAGE][CALL_ID_LEN + 1];
    const char *name = c->arg[F_CURRENT_OWNER].text;
    struct str owner = name == NULL ? STR_NONE : str_of(name);
    uint64_t before = 0, left = c->args.limit;
    bool more = true;
    struct call k;
    int rc = 0;

    c->columns = 6;
    while (rc == 0 && more && left > 0 && cli_drain(c)) {
        size_t n = calls_list(c->s.calls, owner, before, ids, CALLS_PAGE,
                              &before, &more);

        for (size_t i = 0; i < n && rc == 0 && left > 0; i++) {
            rc = calls_get(c->s.calls, &c->a, str_of(ids[i]), owner, &k);
            if (rc == 0 && (c->arg[ARG_INCLUDE_DONE].flag ||
                            !call_status_ended(k.status))) {
                put_call(c, &k);
                left--;
            }
            if (rc == ERR_GARBLED)
                cli_fail(c, rc, "%s: damaged: its record is not JSON", ids[i]);
            if (rc == ERR_NOT_FOUND || rc == ERR_GARBLED)
                rc = 0; /* a newer version wrote it, or nobody */
            arena_reset(&c->a);
        }
    }
    return rc;
}

/* Reads the options of list, as the arguments of list_tasks; but it takes
   several statuses, and any limit. Returns 0, or an exit code after printing
   the error. */
static int
read_query(struct cli *c, struct task_query *q)
{
    struct task_args args;
    struct task_ctx x;
    int rc;

    cli_args_begin(c, NULL, NULL);
    rc = cli_args_parse(c, TOOL_LIST, &x, &args);
    if (rc != 0)
        return rc;
    rc = task_query_of(&c->a, &args, q);
    if (rc != 0)
        return cli_fail_store(c, rc);
    q->limit = c->args.limit < TASK_LIST_MAX ? (unsigned)c->args.limit
                                             : TASK_LIST_MAX;
    return status_bits(c, c->args.status, &q->status);
}

int
cli_list(struct cli *c)
{
    static const char *const of_calls[] = {"calls", "owner", "all", NULL};
    struct arena of_query; /* each page resets c->a */
    struct task_query q;
    int rc = read_query(c, &q);

    if (c->args.calls && cli_args_others(c, of_calls))
        return cli_misuse(c, "--calls takes only --owner, --all and --limit");
    if (rc != 0 || c->args.limit == 0)
        return rc;
    c->columns = 5;
    of_query = c->a;
    c->a = (struct arena){0};
    rc = c->args.calls ? list_calls(c) : cli_each_task(c, &q, put_task, c);
    arena_fini(&of_query);
    return rc < 0 ? cli_fail_store(c, rc) : CLI_OK;
}

/* ---- show, history ---- */

void
cli_put_whole(struct cli *c, const struct task *k, bool md)
{
    c->md = md;
    if (md) {
        view_task_markdown(&c->out, &c->a, k);
    } else {
        view_task_json(&c->out, k);
        buf_char(&c->out, '\n');
    }
}

/* The last n lines of s. */
static struct str
last_lines(struct str s, uint64_t n)
{
    size_t i = s.len;

    while (i > 0 && (s.p[i - 1] != '\n' || i == s.len || --n > 0))
        i--;
    return str_from(s, i);
}

/* Appends it as get_task does, but in one piece. */
static void
put_content_json(struct cli *c, struct str entry, struct str content)
{
    struct buf *b = &c->out;
    bool text = utf8_is_valid(content);

    buf_printf(b, "{\"task_id\":\"%s\",\"artifact\":%.*s,\"encoding\":\"%s\","
               "\"content\":", c->operand[0], STR_ARG(entry),
               text ? "utf8" : "base64");
    if (text) {
        json_quote(b, content);
    } else {
        buf_char(b, '"');
        base64_encode(b, content);
        buf_char(b, '"');
    }
    buf_z(b, "}\n");
}

static int
show_artifact(struct cli *c, const struct task *k)
{
    const char *id = c->operand[0], *which = c->args.artifact;
    struct str name = raw_quote(&c->a, str_of(which)), entry, content;
    struct buf lines = {0};
    const char *why;
    size_t at = 0;
    int rc;

    entry = raw_list_find(k->f[F_ARTIFACTS], "artifact_id", name);
    if (entry.p == NULL)
        return cli_fail(c, ERR_NOT_FOUND, "%s: no such artifact: %s: mcptask "
                        "show %s names them", id, which, id);
    rc = artifact_fetch(c->s.store, c->env->artifacts_dir,
                        raw_inner(raw_member(entry, "sha256")), true, &c->a,
                        &content);
    why = store_content_why(c->s.store);
    if (rc < 0)
        return cli_fail(c, rc, "%s: %s: %s%s%s", id, which, rc == ERR_NOT_FOUND
                        ? "its content is not in the artifacts directory"
                        : "its content cannot be read", *why ? "; " : "", why);
    if (c->args.end > 0)
        at = content.len - last_lines(content, c->args.end).len;
    if (c->args.match != NULL) {
        artifact_match(&lines, content, str_of(c->args.match), 0, SIZE_MAX,
                       &at);
        content = buf_view(&lines);
    } else {
        content = str_from(content, at);
    }
    c->raw = !c->tty && !c->json; /* such as a patch that is to be applied */
    if (c->json)
        put_content_json(c, entry, content);
    else
        buf_str(&c->out, content);
    buf_fini(&lines);
    return CLI_OK;
}

int
cli_show(struct cli *c)
{
    const char *id = c->operand[0];
    uint64_t version = c->args.version, current = 0;
    struct task_event ev;
    struct task k;
    int rc = task_event_last(c->s.tasks, &c->a, str_of(id), &ev);
    bool found = rc == 0;

    if (c->args.artifact == NULL && (c->args.end > 0 || c->args.match != NULL))
        return cli_misuse(c, "--tail and --match need --artifact");
    if (found && version > 0) {
        current = task_event_version(&ev);
        rc = task_event_back(c->s.tasks, &c->a, version, 0, &ev);
    }
    if (version > current && found)
        return cli_fail(c, ERR_NOT_FOUND, "%s: the task is at version %llu",
                        id, (unsigned long long)current);
    if (found && rc == ERR_NOT_FOUND)
        return cli_fail(c, ERR_NOT_FOUND, "%s: version %llu cannot be read; "
                        "the oldest one that can is %llu", id,
                        (unsigned long long)version,
                        (unsigned long long)task_event_version(&ev));
    if (rc == 0)
        rc = task_of(c->s.tasks, &c->a, &ev, &k);
    if (rc < 0)
        return cli_fail_task(c, rc, id);
    if (c->args.artifact != NULL)
        return show_artifact(c, &k);
    cli_put_whole(c, &k, !c->json);
    return CLI_OK;
}

static void
put_event(struct cli *c, struct arena *a, const struct task_event *ev)
{
    if (c->json) {
        view_event_json(&c->out, ev);
        buf_char(&c->out, '\n');
    } else {
        view_event_line(&c->out, a, ev);
    }
}

/* Walks back from the newest event. Two arenas take turns, so that even a long
   history needs memory for two events only. */
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
            buf_printf(&c->out, "(events up to seq %llu are no longer in this "
                       "log)\n",
                       (unsigned long long)ev.r.p);
    }
    arena_fini(&two[0]);
    arena_fini(&two[1]);
    return rc;
}

int
cli_history(struct cli *c)
{
    const char *id = c->operand[0];
    int rc;

    c->columns = 6;
    rc = history(c, str_of(id), c->args.since, c->args.limit);
    return rc < 0 ? cli_fail_task(c, rc, id) : CLI_OK;
}

/* ---- tail ---- */

static volatile sig_atomic_t ended; /* by a signal */

static void
end(int sig)
{
    (void)sig;
    ended = 1;
}

int
cli_follow(struct cli *c)
{
    struct pollfd out = {.fd = STDOUT_FILENO, .events = 0};
    int rc;

    signal(SIGINT, end);
    signal(SIGTERM, end);
    if (cli_flush(c) && !ended && poll(&out, 1, FOLLOW_MS) <= 0 && !ended) {
        rc = cli_catch_up(c);
        return rc == 0 ? 1 : rc;
    }
    if (c->out_errno == EPIPE)
        c->out_errno = 0; /* its reader ends it this way */
    return 0;
}

struct tail {
    struct cli *c;
    uint64_t skip; /* number of events to skip before showing any */
};

/* Appends a line about an event, in local time. */
static void
put_news(const struct tail *t, const struct task_event *ev)
{
    struct cli *c = t->c;
    char when[TIME_LEN + 1];
    size_t len;
    struct tm tm;
    time_t at;
    int64_t ms;

    if (c->json || !time_parse(ev->r.time, &ms)) {
        put_event(c, &c->a, ev);
        return;
    }
    at = (time_t)(ms / 1000);
    if (localtime_r(&at, &tm) == NULL)
        return put_event(c, &c->a, ev);
    len = strftime(when, sizeof when, "%Y-%m-%d %H:%M:%S", &tm);
    view_news_line(&c->out, &c->a, ev, (struct str){when, len});
}

static int
tail_event(void *ctx, const struct store_rec *r)
{
    struct tail *t = ctx;
    struct task_event ev;

    if (!str_starts(r->key, "task/") || (t->skip > 0 && t->skip-- > 0))
        return 0;
    if (task_event_of(r, &ev) != ERR_FORMAT)
        put_news(t, &ev);
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

/* Shows the last n events. A compaction leaves gaps in their numbers, so this
   looks further and further back until it finds enough. */
static int
tail_last(struct tail *t, uint64_t n)
{
    struct store *s = t->c->s.store;
    uint64_t head = store_next_n(s) - 1, back = n, from, have;
    int rc;

    if (n == 0)
        return 0;
    do {
        from = back < head ? head - back + 1 : 1;
        back = back > UINT64_MAX / 8 ? UINT64_MAX : back * 8;
        t->skip = UINT64_MAX; /* only counts them */
        rc = store_scan(s, from, tail_event, t);
        have = UINT64_MAX - t->skip;
    } while (rc == 0 && have < n && from > 1);
    t->skip = have > n ? have - n : 0;
    return rc == 0 ? store_scan(s, from, tail_event, t) : rc;
}

int
cli_tail(struct cli *c)
{
    struct tail t = {.c = c};
    int rc;

    tzset();
    if (c->args.follow)
        store_observe(c->s.store, tail_observe, &t);
    c->columns = 6;
    rc = tail_last(&t, c->args.lines);
    if (rc == 0 && c->args.follow)
        while ((rc = cli_follow(c)) > 0)
            ;
    return rc < 0 ? cli_fail_store(c, rc) : CLI_OK;
}
