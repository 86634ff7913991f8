/* show - the commands that show tasks and calls: list, show, history, tail,
   stats, export. Long output is written piece by piece, with memory for one
   piece. */

#include "cli/show.h"
#include "store/remote.h"
#include "cli/args.h"
#include "cli/call.h"
#include "cli/human.h"
#include "cli/id.h"
#include "cli/store.h"
#include "mcp/calls.h"
#include "cli/table.h"
#include "cli/text.h"
#include "base/base64.h"
#include "base/clock.h"
#include "base/text.h"
#include "base/utf8.h"
#include "json/raw.h"
#include "json/write.h"
#include "task/artifact.h"
#include "task/cause.h"
#include "task/query.h"
#include "task/view.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define FOLLOW_MS 50 /* how often tail -f looks for news */
#define ASK_MS 500   /* how often it asks a server for them */
#define CALLS_PAGE 50
#define LISTED 50      /* tasks of a list on a terminal, without --limit */
#define ASKED_LINES 3  /* of a question, in a list of them */
#define DAYS 14        /* of stats */
#define AGENTS_MAX 500 /* that are counted */

/* ---- list ---- */

int
cli_each_task(struct cli *c, struct task_query *q,
              bool (*fn)(void *ctx, const struct task *k), void *ctx)
{
    struct task_list page;
    struct buf next = {0};
    bool more = true;
    int rc = 0;

    /* Each part of a list in the order of work costs a walk of the index. */
    if (c->env->server == NULL && q->limit == TASK_LIST_MAX)
        q->limit = TASK_PART_MAX;
    while (rc == 0 && more && cli_drain(c)) {
        /* The tool would answer with the same, but writing and reading its JSON
           takes thrice the time of a long list. */
        rc = c->env->server != NULL ? call_list(c, q, &page)
                                    : tasks_list(c->s.tasks, &c->a, q, &page);
        if (rc != 0)
            break;
        if (c->env->server != NULL && c->head == 0)
            c->head = page.head;
        c->found = page.total;
        c->found_more = !page.exact;
        for (size_t i = 0; more && i < page.n; i++)
            more = fn(ctx, &page.tasks[i]);
        next.len = 0;
        buf_str(&next, page.next);
        q->cursor = buf_view(&next);
        arena_reset(&c->a);
        more = more && next.len > 0;
        rc = next.err;
    }
    buf_fini(&next);
    return rc;
}

static bool
take_id(void *ctx, const struct task *k)
{
    struct buf *ids = ctx;

    buf_str(ids, k->ev.id);
    buf_char(ids, '\0');
    return ids->err == 0;
}

/* The same with every task, and whole: lists of a server hold summaries. Its
   tasks come with the oldest change first. All ids are read before the first
   task, since tasks that change meanwhile would move in the list. One that is
   archived meanwhile is left out. */
static int
each_whole_task(struct cli *c, bool (*fn)(void *ctx, const struct task *k),
                void *ctx)
{
    struct task_query q = {.include_done = true, .limit = TASK_LIST_MAX,
                           .uncounted = true};
    const char *id[CALL_MANY];
    struct buf ids = {0};
    size_t at, n;
    bool more = true;
    int rc;

    if (c->env->server == NULL)
        return cli_each_task(c, &q, fn, ctx);
    rc = cli_each_task(c, &q, take_id, &ids);
    rc = rc == 0 ? ids.err : rc;
    for (at = ids.len; rc == 0 && at > 0 && more && cli_drain(c);) {
        for (n = 0; n < CALL_MANY && at > 0; n++) {
            for (at--; at > 0 && ids.p[at - 1] != '\0'; at--)
                ;
            id[n] = ids.p + at;
        }
        rc = call_tasks(c, id, n, fn, ctx, &more);
        arena_reset(&c->a);
    }
    buf_fini(&ids);
    return rc;
}

/* A list for a person at a terminal. */
struct listing {
    struct cli *c;
    struct table t;
    uint64_t shown;
    unsigned signs; /* that were shown, a bit each */
};

static bool
show_task(void *ctx, const struct task *k)
{
    struct listing *s = ctx;
    struct cli *c = s->c;
    struct str question;

    if (c->arg[ARG_NEEDS_INPUT].flag && k->needs_input) {
        question = human_open_question(k, STR_NONE);
        human_asked(&s->t, k, question); /* with how to answer it */
        human_question(&s->t, 4, k, question, ASKED_LINES);
    } else {
        human_row(&s->t, k);
        human_text(&s->t, 4, raw_text(&c->a, k->match), 1, "2");
        s->signs |= 1u << human_sign_of(k);
    }
    return ++s->shown < c->args.limit;
}

/* Below it stands how many there are, and how to see the rest. */
static int
show_list(struct cli *c, struct task_query *q)
{
    struct listing s = {.c = c};
    char text[160];
    int rc;

    table_begin(&s.t, c, human_list, HUMAN_COLUMNS, screen_columns());
    rc = cli_each_task(c, q, show_task, &s);
    if (s.shown >= c->found && !c->found_more)
        text_put(text, sizeof text, U64 " task%s%s", s.shown,
                 s.shown == 1 ? "" : "s",
                 c->arg[ARG_READY].flag ? " can be claimed" : "");
    else
        text_put(text, sizeof text, U64 " of " U64 "%s; add \"-n 0\" for all",
                 s.shown, c->found, c->found_more ? "+" : "");
    if (rc == 0 && s.shown > 0)
        human_legend(&s.t, s.signs, text);
    table_end(&s.t);
    return rc;
}

static bool
print_task(void *ctx, const struct task *k)
{
    struct cli *c = ctx;

    if (c->json) {
        cli_put_summary_json(c, &c->out, k);
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
    c->fit = true;
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
   several statuses, and any limit. Unless they ask for something else, tasks
   come in the order of work, hits of a search with the best first, and a person
   sees a page. Returns 0, or an exit code after printing the error. */
static int
read_query(struct cli *c, bool person, struct task_query *q)
{
    bool to_do = c->arg[ARG_READY].flag || c->arg[ARG_NEEDS_INPUT].flag;
    struct task_args args;
    struct task_ctx x;
    int rc, status;

    if ((to_do || c->arg[ARG_QUERY].text == NULL) && !c->args.calls &&
        c->arg[ARG_ORDER].text == NULL)
        c->arg[ARG_ORDER].text = "work";
    if (person && c->args.limit == UINT64_MAX)
        c->args.limit = LISTED;
    else if (c->args.limit == 0)
        c->args.limit = UINT64_MAX;
    cli_args_begin(c, NULL, NULL);
    rc = cli_args_parse(c, TOOL_LIST, &x, &args);
    if (rc != 0)
        return rc;
    rc = task_query_of(&c->a, &args, q);
    if (rc != 0)
        return cli_fail_store(c, rc);
    q->limit = c->args.limit < TASK_LIST_MAX ? (unsigned)c->args.limit
                                             : TASK_LIST_MAX;
    for (const char *at = c->args.status; at != NULL; ) {
        size_t len = strcspn(at, ",");

        status = task_status_of((struct str){at, len});
        if (status < 0)
            return cli_fail(c, ERR_INVALID, "unknown status \"%.*s\"\nchoose "
                            "open, in_progress, handoff_ready, "
                            "agent_exhausted, done, failed or cancelled",
                            (int)len, at);
        q->status |= 1u << status;
        at = at[len] == ',' ? at + len + 1 : NULL;
    }
    return 0;
}

int
cli_list(struct cli *c)
{
    static const char *const of_calls[] = {"calls", "owner", "all", NULL};
    bool person = c->tty && !c->json && !c->args.ids && !c->args.calls;
    struct arena of_query; /* each page resets c->a */
    struct task_query q;
    int rc;

    rc = read_query(c, person, &q);
    if (c->args.calls && cli_args_others(c, of_calls))
        return cli_misuse(c, "--calls takes only --owner, --all and --limit");
    if (c->args.calls && c->env->server != NULL)
        return cli_fail_beside(c, "--calls");
    if (rc != 0)
        return rc;
    c->columns = 5;
    of_query = c->a;
    c->a = (struct arena){0};
    if (c->args.calls)
        rc = list_calls(c);
    else if (person)
        rc = show_list(c, &q);
    else
        rc = cli_each_task(c, &q, print_task, c);
    arena_fini(&of_query);
    return rc < 0 ? cli_fail_store(c, rc) : rc;
}

/* ---- show, history ---- */

void
cli_put_whole(struct cli *c, const struct task *k, bool md)
{
    c->md = md;
    if (md) {
        view_task_markdown(&c->out, &c->a, k);
    } else {
        cli_put_task_json(c, &c->out, k);
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

/* The artifact of k with this id, or the newest with this name (raw); .p NULL:
   there is none. */
static struct str
find_artifact(const struct task *k, struct str name)
{
    struct str list = k->f[F_ARTIFACTS], item = STR_NONE;
    struct str entry = raw_list_find(list, "artifact_id", name);

    if (entry.p == NULL)
        while ((item = raw_list_next(list, item)).p != NULL)
            if (str_eq(raw_member(item, "name"), name))
                entry = item;
    return entry;
}

/* Shows an artifact of k, whole, its last lines, or those with a text. */
static int
show_artifact(struct cli *c, const struct task *k)
{
    const char *id = c->operand[0], *which = c->args.artifact, *why;
    struct str name = raw_quote(&c->a, str_of(which)), entry, content;
    struct buf lines = {0}, *b = &c->out;
    size_t at = 0;
    bool text;
    int rc;

    entry = find_artifact(k, name);
    if (entry.p == NULL)
        return cli_fail(c, ERR_NOT_FOUND, "no such artifact \"%s\"\nrun "
                        "\"mcptask show %s\" for the list", which, id);
    if (c->env->server != NULL) {
        name = arena_str(&c->a, raw_inner(raw_member(entry, "artifact_id")));
        if (name.p == NULL)
            return cli_fail_store(c, ERR_NOMEM);
        rc = call_content(c, id, name.p, &content);
        if (rc != 0)
            return rc;
    } else {
        rc = artifact_fetch(c->s.store, c->env->artifacts_dir,
                            raw_inner(raw_member(entry, "sha256")), true, &c->a,
                            &content);
        why = store_content_why(c->s.store);
        if (rc != 0)
            return cli_fail(c, rc, "%s: %s: %s%s%s", id, which,
                            rc == ERR_NOT_FOUND
                            ? "its content is not in the artifacts directory"
                            : "its content cannot be read",
                            *why ? "; " : "", why);
    }
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
    text = utf8_is_valid(content);
    if (c->json) /* as get_task has it, but in one piece */
        buf_printf(b, "{\"task_id\":\"%s\",\"artifact\":%.*s,\"encoding\":"
                   "\"%s\",\"content\":", id, STR_ARG(entry),
                   text ? "utf8" : "base64");
    if (!c->json) {
        buf_str(b, content);
    } else if (text) {
        json_quote(b, content);
    } else {
        buf_char(b, '"');
        base64_encode(b, content);
        buf_char(b, '"');
    }
    buf_z(b, c->json ? "}\n" : "");
    buf_fini(&lines);
    return CLI_OK;
}

/* Reads the task, of the version that is asked for. Returns 0, or an exit code
   after printing the error. */
static int
read_version(struct cli *c, struct task *k)
{
    const char *id = c->operand[0];
    uint64_t version = c->args.version, current = 0;
    struct task_event ev;
    struct task_error e;
    bool found;
    int rc;

    if (c->env->server != NULL) {
        rc = call_task(c, id, version, k, &e);
        if (rc == ERR_NOT_FOUND && str_is(e.field, "version"))
            return cli_fail(c, rc, "%s: %.*s", id, STR_ARG(e.message));
        return rc == ERR_NOT_FOUND ? cli_fail_task(c, rc, id) : rc;
    }
    rc = task_event_last(c->s.tasks, &c->a, str_of(id), &ev);
    found = rc == 0;
    if (found && version > 0) {
        current = task_event_version(&ev);
        rc = task_event_back(c->s.tasks, &c->a, version, 0, &ev);
    }
    if (version > current && found)
        return cli_fail(c, ERR_NOT_FOUND, "%s: the task is at version %llu",
                        id, (unsigned long long)current);
    if (found && rc == ERR_NOT_FOUND)
        return cli_fail(c, ERR_NOT_FOUND, "%s: version %llu cannot be read\n"
                        "the oldest readable version is %llu", id,
                        (unsigned long long)version,
                        (unsigned long long)task_event_version(&ev));
    if (rc == 0)
        rc = task_of(c->s.tasks, &c->a, &ev, k);
    if (rc == 0)
        rc = tasks_list_parts(c->s.tasks, &c->a, k);
    return rc < 0 ? cli_fail_task(c, rc, id) : 0;
}

static bool
show_part(void *ctx, const struct task *k)
{
    sheet_add_part(ctx, k);
    return true;
}

/* Shows a task to a person, with its parts. */
static int
show_person(struct cli *c, const struct task *k)
{
    struct task_query q = {.include_done = true, .order = ORDER_WORK,
                           .limit = TASK_LIST_MAX};
    struct arena kept = c->a; /* k is in it, and each page resets c->a */
    struct sheet s;
    int rc;

    c->a = (struct arena){NULL, NULL};
    q.has[ATOM_PARENT_ID] = k->f[F_TASK_ID];
    sheet_begin(&s, c, k);
    rc = cli_each_task(c, &q, show_part, &s);
    sheet_end(&s);
    arena_fini(&c->a);
    c->a = kept;
    return rc < 0 ? cli_fail_store(c, rc) : rc;
}

int
cli_show(struct cli *c)
{
    struct task k;
    int rc;

    if (c->args.artifact == NULL && (c->args.end > 0 || c->args.match != NULL))
        return cli_misuse(c, "--tail and --match need --artifact");
    rc = read_version(c, &k);
    if (rc != 0)
        return rc;
    if (c->args.artifact != NULL)
        return show_artifact(c, &k);
    if (c->tty && !c->json && !c->args.brief)
        return show_person(c, &k);
    cli_put_whole(c, &k, !c->json);
    return CLI_OK;
}

static void
print_event(struct human_events *e, const struct task_event *ev)
{
    struct cli *c = e->t.c;

    if (c->json) {
        view_event_json(&c->out, ev);
        buf_char(&c->out, '\n');
    } else {
        human_event(e, ev);
    }
}

/* Walks back from the newest event. Two arenas take turns, so that even a long
   history needs memory for two events only. */
static int
history(struct human_events *e, struct str id, uint64_t left)
{
    struct cli *c = e->t.c;
    struct arena two[2] = {{0}, {0}};
    struct task_event ev;
    unsigned turn = 0;
    int rc = task_event_last(c->s.tasks, &two[0], id, &ev);
    bool found = rc == 0;

    while (rc == 0 && left-- > 0) {
        print_event(e, &ev);
        if (!cli_drain(c))
            break;
        turn ^= 1;
        arena_reset(&two[turn]);
        rc = task_event_prev(c->s.tasks, &two[turn], &ev);
    }
    table_draw(&e->t);
    if (found && rc == ERR_NOT_FOUND) {
        rc = 0;
        if (ev.r.p > 0 && !c->json)
            buf_printf(&c->out, "(events up to seq %llu are no longer in this "
                       "log)\n",
                       (unsigned long long)ev.r.p);
    }
    arena_fini(&two[0]);
    arena_fini(&two[1]);
    return rc;
}

/* A reader of a server's history. */
struct reader {
    struct human_events *e;
    int rc; /* why it ended, or 0 */
};

static bool
collect_event(void *ctx, struct str raw)
{
    struct reader *r = ctx;
    struct cli *c = r->e->t.c;
    struct arena a = {0};
    struct task_event ev;

    r->rc = call_event_of(c, &a, raw, STR_NONE, &ev);
    if (r->rc == 0)
        print_event(r->e, &ev);
    arena_fini(&a);
    return r->rc == 0 && cli_drain(c);
}

int
cli_history(struct cli *c)
{
    const char *id = c->operand[0];
    struct human_events e;
    struct reader r = {.e = &e};
    bool dropped;
    int rc;

    human_begin_events(&e, c, true);
    if (c->env->server != NULL) {
        rc = call_history(c, id, 0, c->args.limit, collect_event, &r,
                          &dropped);
        rc = rc == 0 ? r.rc : rc;
        table_draw(&e.t);
        if (dropped && !c->json)
            buf_z(&c->out, "(older events are no longer in this log)\n");
    } else { /* with whole notes, and what was asked and answered */
        rc = history(&e, str_of(id), c->args.limit);
    }
    table_end(&e.t);
    return rc < 0 ? cli_fail_task(c, rc, id) : rc;
}

/* ---- tail ---- */

/* Finds the newest seq of the server. */
static int
ask_head(struct cli *c)
{
    struct task_query q = {.limit = 1, .since_n = c->head};
    struct task_list list;
    int rc = call_list(c, &q, &list);

    if (rc == 0)
        c->head = list.head;
    return rc;
}

int
cli_follow(struct cli *c, bool *more)
{
    struct pollfd at[] = {{.fd = STDOUT_FILENO},
                          {.fd = screen_keys(), .events = POLLIN}};
    bool asks = c->env->server != NULL;
    int rc = 0;

    cli_catch_signals();
    *more = cli_flush(c) && !cli_interrupted() &&
            (poll(at, 2, asks ? ASK_MS : FOLLOW_MS) <= 0 ||
             at[0].revents == 0) && !cli_interrupted();
    if (*more)
        rc = asks ? ask_head(c) : cli_catch_up(c);
    if (cli_interrupted()) /* while it asked, too */
        rc = *more = 0;
    if (c->out_errno == EPIPE)
        c->out_errno = 0; /* its reader ends it this way */
    return rc;
}

#define TAIL_EVENTS 10 /* if neither a number nor a time is given */

struct tail {
    struct cli *c;
    struct human_events e;
    uint64_t max;   /* so many of the past, */
    int64_t since_ms; /* none older than this, */
    struct str by;  /* raw: all of this agent; .p NULL: of any */
    uint64_t skip; /* number of events to skip before showing any */
};

/* Whether the options ask for this event. */
static bool
is_asked_for(const struct tail *t, const struct task_event *ev)
{
    int64_t at;

    return (t->by.p == NULL || str_eq(t->by, ev->by)) &&
           (t->since_ms == 0 ||
            (time_parse(ev->r.time, &at) && at >= t->since_ms));
}

static int
tail_event(void *ctx, const struct store_rec *r)
{
    struct tail *t = ctx;
    struct task_event ev;
    bool known;

    if (!str_starts(r->key, "task/"))
        return 0;
    known = task_event_of(r, &ev) != ERR_FORMAT;
    if ((known && !is_asked_for(t, &ev)) || (t->skip > 0 && t->skip-- > 0))
        return 0;
    if (known)
        print_event(&t->e, &ev);
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

/* The newest events of a server, gathered from the histories of the tasks that
   changed last. */
struct news {
    struct cli *c;
    const struct tail *t;
    struct arena a;  /* of the events */
    struct buf list; /* of struct task_event */
    uint64_t max;    /* how many are wanted */
    uint64_t since;  /* older ones are not */
    struct str title; /* raw: of the task whose history is read */
    int rc;
};

static int
compare_news(const void *a, const void *b)
{
    const struct task_event *x = a, *y = b;

    return x->r.n < y->r.n ? -1 : x->r.n > y->r.n;
}

static struct task_event *
news_of(const struct news *n, size_t *len)
{
    *len = n->list.len / sizeof(struct task_event);
    return (struct task_event *)(void *)n->list.p;
}

/* Puts them in order, and drops the oldest ones that are too many. */
static void
sort_news(struct news *n)
{
    size_t len;
    struct task_event *all = news_of(n, &len);

    if (len > 0)
        qsort(all, len, sizeof *all, compare_news);
    if (len > n->max) {
        buf_consume(&n->list, (size_t)(len - n->max) * sizeof *all);
        n->since = news_of(n, &len)[0].r.n;
    }
}

static bool
take_news(void *ctx, struct str raw)
{
    struct news *n = ctx;
    struct str own = arena_str(&n->a, raw);
    struct task_event ev;

    n->rc = own.p == NULL ? ERR_NOMEM
                          : call_event_of(n->c, &n->a, own, n->title, &ev);
    if (n->rc == 0 && is_asked_for(n->t, &ev)) {
        buf_put(&n->list, &ev, sizeof ev);
        n->rc = n->list.err;
    }
    return n->rc == 0;
}

/* The tasks come with the newest change first, so that once there are enough
   news, one without a newer change ends it. */
static bool
take_history(void *ctx, const struct task *k)
{
    struct news *n = ctx;
    char id[TASK_MAX_ID + 1];
    bool dropped, all = n->t->by.p != NULL || n->t->since_ms != 0;
    size_t len;
    int rc;

    if (k->ev.r.n <= n->since)
        return false;
    text_put(id, sizeof id, "%.*s", STR_ARG(k->ev.id));
    n->title = arena_str(&n->a, k->f[F_TITLE]);
    rc = call_history(n->c, id, n->since, all ? UINT64_MAX : n->max, take_news,
                      n, &dropped);
    if (rc != 0 && rc != ERR_NOT_FOUND) /* it may just have been archived */
        n->rc = rc;
    news_of(n, &len);
    if (len > n->max)
        sort_news(n);
    return n->rc == 0;
}

/* Shows what came after since, up to max events, and moves *since. */
static int
show_news(struct tail *t, uint64_t *since, uint64_t max)
{
    struct news n = {.c = t->c, .t = t, .max = max, .since = *since};
    struct task_query q = {.include_done = true, .limit = TASK_LIST_MAX,
                           .since_n = *since};
    struct task_event *all;
    size_t len = 0;
    int rc = max == 0 ? 0 : cli_each_task(t->c, &q, take_history, &n);

    rc = rc == 0 ? n.rc : rc;
    sort_news(&n);
    all = news_of(&n, &len);
    for (size_t i = 0; rc == 0 && i < len; i++) {
        print_event(&t->e, &all[i]);
        *since = all[i].r.n;
    }
    arena_fini(&n.a);
    buf_fini(&n.list);
    return rc;
}

static int
ask_tail(struct tail *t)
{
    struct cli *c = t->c;
    bool more = c->args.follow;
    uint64_t since = 0, head;
    int rc = show_news(t, &since, t->max);

    if (rc == 0 && more && since == 0) /* nothing of the past is wanted */
        rc = ask_head(c);
    since = since > 0 ? since : c->head;
    while (rc == 0 && more) {
        table_draw(&t->e.t);
        rc = cli_follow(c, &more);
        head = c->head;
        if (rc == 0 && more && head > since)
            rc = show_news(t, &since, UINT64_MAX);
        if (since < head) /* what nobody asked for is not read again */
            since = head;
    }
    return cli_interrupted() ? CLI_OK : rc;
}

/* Shows the last events. A compaction leaves gaps in their numbers, so this
   looks further and further back until it finds enough. */
static int
read_tail(struct tail *t)
{
    struct cli *c = t->c;
    struct store *s = c->s.store;
    uint64_t head = store_next_n(s) - 1, n = t->max, back = n, from = 1;
    uint64_t have = n;
    bool more = c->args.follow;
    int rc = 0;

    if (more)
        store_observe(s, tail_observe, t);
    if (n > 0 && n < UINT64_MAX) /* all need no count */
        do {
            from = back < head ? head - back + 1 : 1;
            back = back > UINT64_MAX / 8 ? UINT64_MAX : back * 8;
            t->skip = UINT64_MAX; /* only counts them */
            rc = store_scan(s, from, tail_event, t);
            have = UINT64_MAX - t->skip;
        } while (rc == 0 && have < n && from > 1);
    t->skip = have > n ? have - n : 0;
    if (rc == 0 && n > 0)
        rc = store_scan(s, from, tail_event, t);
    while (rc == 0 && more) {
        table_draw(&t->e.t);
        rc = cli_follow(c, &more);
    }
    return rc;
}

/* Reads when: a time, or the day at whose beginning here it began. */
static bool
parse_since(struct cli *c, const char *when, int64_t *ms)
{
    bool yesterday = strcmp(when, "yesterday") == 0;
    struct str day = arena_printf(&c->a, "%sT00:00:00Z", when);
    time_t now = (time_t)(clock_wall_ms() / 1000);
    struct tm tm;

    if (yesterday || strcmp(when, "today") == 0) {
        localtime_r(&now, &tm);
        tm.tm_mday -= yesterday;
    } else if (day.p != NULL && time_parse(day, ms)) {
        now = (time_t)(*ms / 1000);
        gmtime_r(&now, &tm);
    } else {
        return time_parse(str_of(when), ms);
    }
    tm.tm_hour = tm.tm_min = tm.tm_sec = 0;
    tm.tm_isdst = -1;
    *ms = (int64_t)mktime(&tm) * 1000;
    return true;
}

int
cli_tail(struct cli *c)
{
    const char *by = c->args.by;
    struct tail t = {.c = c, .max = c->args.lines};
    int rc;

    if (c->args.from != NULL && !parse_since(c, c->args.from, &t.since_ms))
        return cli_misuse(c, "--since needs today, yesterday, a day or a time, "
                          "for example 2026-07-28, not \"%s\"", c->args.from);
    if (by != NULL)
        t.by = raw_quote(&c->kept, str_of(by));
    if (by != NULL && t.by.p == NULL)
        return cli_fail_store(c, ERR_NOMEM);
    if (t.max == UINT64_MAX && t.since_ms == 0)
        t.max = TAIL_EVENTS;
    human_begin_events(&t.e, c, false);
    rc = c->env->server != NULL ? ask_tail(&t) : read_tail(&t);
    table_end(&t.e.t);
    return rc < 0 ? cli_fail_store(c, rc) : rc;
}

/* ---- stats ---- */

/* Those that ended in the last two weeks by day and by agent, and the others by
   column. How long work and answers took is for programs. A day begins at
   midnight here. A task counts on the day of its newest event, which for an
   ended task is its end. */

enum { N_DONE, N_FAILED, N_HANDED, N_COUNTS };

struct agent_count {
    struct str name; /* in c->kept */
    uint64_t n[N_COUNTS];
};

struct stats {
    struct cli *c;
    int64_t midnight[DAYS + 1]; /* when each day begins, the oldest first */
    uint64_t ended[DAYS], failed[DAYS];
    struct buf to_done, to_answer; /* of int64_t: milliseconds */
    uint64_t column[TASK_N_COLUMNS];
    struct agent_count agent[AGENTS_MAX];
    size_t n_agents;
};

/* The day of a time, or -1 if it is too long ago. */
static int
day_of(const struct stats *s, int64_t ms)
{
    int i = DAYS - 1;

    while (i >= 0 && ms < s->midnight[i])
        i--;
    return i;
}

static void
count_agent(struct stats *s, struct str raw, int what)
{
    struct str name = raw_text(&s->c->a, raw);
    size_t i = 0;

    if (name.len == 0)
        return;
    while (i < s->n_agents && !str_eq(s->agent[i].name, name))
        i++;
    if (i == AGENTS_MAX)
        return;
    if (i == s->n_agents) {
        s->agent[i].name = arena_str(&s->c->kept, name);
        s->n_agents += s->agent[i].name.p != NULL;
    }
    if (i < s->n_agents)
        s->agent[i].n[what]++;
}

/* Adds the span between two times, if both are. */
static void
add_span(struct buf *b, struct str from, struct str to)
{
    int64_t a, z, ms;

    if (!time_parse(from, &a) || !time_parse(to, &z))
        return;
    ms = z > a ? z - a : 0;
    buf_put(b, (const char *)&ms, sizeof(ms));
}

static bool
count_task(void *ctx, const struct task *k)
{
    struct stats *s = ctx;
    struct str handoff = k->f[F_HANDOFF], at, item = STR_NONE;
    int64_t ms = 0;
    int day;

    while ((item = raw_list_next(k->f[F_QUESTIONS], item)).p != NULL) {
        at = raw_inner(raw_member(raw_member(item, "answer"), "at"));
        if (time_parse(at, &ms) && day_of(s, ms) >= 0)
            add_span(&s->to_answer, raw_inner(raw_member(item, "at")), at);
    }
    at = raw_member(handoff, "at");
    if (at.p != NULL && time_parse(raw_inner(at), &ms) && day_of(s, ms) >= 0)
        count_agent(s, raw_member(handoff, "from_agent"), N_HANDED);
    if (!task_status_ended(k->status)) {
        s->column[task_column(k)]++;
        return true;
    }
    day = time_parse(k->ev.r.time, &ms) ? day_of(s, ms) : -1;
    if (day < 0)
        return true;
    s->ended[day]++;
    s->failed[day] += k->status == TASK_FAILED;
    if (k->status == TASK_DONE)
        add_span(&s->to_done, raw_inner(k->f[F_CREATED_AT]), k->ev.r.time);
    if (k->status != TASK_CANCELLED)
        count_agent(s, k->f[F_CURRENT_OWNER],
                    k->status == TASK_DONE ? N_DONE : N_FAILED);
    return true;
}

static int
compare_spans(const void *a, const void *b)
{
    int64_t x, y;

    memcpy(&x, a, sizeof(x));
    memcpy(&y, b, sizeof(y));
    return (x > y) - (x < y);
}

static int
compare_agents(const void *a, const void *b)
{
    const struct agent_count *x = a, *y = b;
    uint64_t n = x->n[N_DONE] + x->n[N_FAILED] + x->n[N_HANDED];
    uint64_t m = y->n[N_DONE] + y->n[N_FAILED] + y->n[N_HANDED];

    return n != m ? (n < m) - (n > m) : str_compare(x->name, y->name);
}

/* The day of midnight i, in text. */
static const char *
name_day(const struct stats *s, int i, char text[40])
{
    time_t at = (time_t)(s->midnight[i] / 1000);
    struct tm tm = {0};

    localtime_r(&at, &tm);
    text_put(text, 40, "%04d-%02d-%02d", tm.tm_year + 1900, tm.tm_mon + 1,
             tm.tm_mday);
    return text;
}

static void
put_stats(struct stats *s)
{
    struct buf *b = &s->c->out;
    const char *before = "";
    char day[40];

    for (int i = 0; i < DAYS; i++)
        if (s->ended[i] > 0)
            buf_printf(b, "%s  " U64 " ended, " U64 " of them failed\n",
                       name_day(s, i, day), s->ended[i], s->failed[i]);
    for (size_t i = 0; i < s->n_agents; i++)
        buf_printf(b, "%.*s  " U64 " done, " U64 " failed, " U64
                   " handed over\n", STR_ARG(s->agent[i].name),
                   s->agent[i].n[N_DONE], s->agent[i].n[N_FAILED],
                   s->agent[i].n[N_HANDED]);
    for (int i = 0; i < TASK_N_COLUMNS; i++)
        if (i != COLUMN_DONE) {
            buf_printf(b, "%s%s " U64, before, human_column(i),
                       s->column[i]);
            before = ", ";
        }
    buf_char(b, '\n');
}

/* Writes the middle one of the times, if there is any. */
static void
put_json_median(struct json_w *w, const char *name, struct buf *spans)
{
    size_t n = spans->len / sizeof(int64_t);
    int64_t ms;

    if (n == 0)
        return;
    qsort(spans->p, n, sizeof(ms), compare_spans);
    memcpy(&ms, spans->p + n / 2 * sizeof(ms), sizeof(ms));
    json_put_int(w, name, ms / 1000);
}

static void
put_json_stats(struct stats *s)
{
    struct json_w w;
    char day[40];

    json_begin(&w, &s->c->out);
    json_put_arr(&w, "days");
    for (int i = 0; i < DAYS; i++) {
        json_obj(&w);
        json_put_z(&w, "day", name_day(s, i, day));
        json_put_int(&w, "ended", (int64_t)s->ended[i]);
        json_put_int(&w, "failed", (int64_t)s->failed[i]);
        json_close(&w);
    }
    json_close(&w);
    put_json_median(&w, "median_seconds_to_done", &s->to_done);
    put_json_median(&w, "median_seconds_to_answer", &s->to_answer);
    json_put_arr(&w, "agents");
    for (size_t i = 0; i < s->n_agents; i++) {
        json_obj(&w);
        json_put_str(&w, "agent", s->agent[i].name);
        json_put_int(&w, "done", (int64_t)s->agent[i].n[N_DONE]);
        json_put_int(&w, "failed", (int64_t)s->agent[i].n[N_FAILED]);
        json_put_int(&w, "handed_over", (int64_t)s->agent[i].n[N_HANDED]);
        json_close(&w);
    }
    json_close(&w);
    json_put_arr(&w, "columns");
    for (int i = 0; i < TASK_N_COLUMNS; i++)
        if (i != COLUMN_DONE) {
            json_obj(&w);
            json_put_z(&w, "name", human_column(i));
            json_put_int(&w, "total", (int64_t)s->column[i]);
            json_close(&w);
        }
    json_close(&w);
    json_end(&w);
    buf_char(&s->c->out, '\n');
}

int
cli_stats(struct cli *c)
{
    struct stats s = {.c = c};
    time_t now = (time_t)(cli_now_ms(c) / 1000);
    struct tm today = {.tm_isdst = -1}, day;
    int rc;

    tzset();
    localtime_r(&now, &today);
    for (int i = 0; i <= DAYS; i++) {
        day = (struct tm){.tm_year = today.tm_year, .tm_mon = today.tm_mon,
                          .tm_mday = today.tm_mday - DAYS + 1 + i,
                          .tm_isdst = -1};
        s.midnight[i] = (int64_t)mktime(&day) * 1000;
    }
    rc = each_whole_task(c, count_task, &s);
    if (rc == 0)
        rc = s.to_done.err != 0 ? s.to_done.err : s.to_answer.err;
    if (rc == 0) {
        qsort(s.agent, s.n_agents, sizeof(s.agent[0]), compare_agents);
        if (c->json)
            put_json_stats(&s);
        else
            put_stats(&s);
    }
    buf_fini(&s.to_done);
    buf_fini(&s.to_answer);
    return rc < 0 ? cli_fail_store(c, rc) : rc;
}

/* ---- export ---- */

/* JSON lines, which import reads, or markdown. */
struct export {
    struct cli *c;
    bool md;
    bool any; /* a task has been written */
    uint64_t head, unread;
};

static bool
export_task(void *ctx, const struct task *k)
{
    struct export *x = ctx;
    struct cli *c = x->c;

    if (x->md && x->any)
        buf_z(&c->out, "\n---\n\n");
    cli_put_whole(c, k, x->md);
    x->any = true;
    return cli_drain(c);
}

static int
export_record(void *ctx, const struct store_rec *r)
{
    struct export *x = ctx;
    struct cli *c = x->c;
    struct tasks *t = c->s.tasks;
    char id[STORE_MAX_KEY + 1];
    struct task_event ev;
    struct task k;
    int rc;

    if (!str_starts(r->key, "task/") || !cli_is_newest(c, r))
        return 0;
    rc = task_event_of(r, &ev);
    if (!c->tty)
        cli_progress(c, r->n, x->head);
    if (rc == 0 && task_event_archives(&ev))
        return 0;
    if (rc == 0)
        rc = x->md ? task_of(t, &c->a, &ev, &k) : task_peek(t, &c->a, &ev, &k);
    if (rc == 0)
        rc = tasks_list_parts(t, &c->a, &k);
    if (rc == 0)
        rc = export_task(x, &k) ? 0 : 1;
    if (rc == ERR_FORMAT || rc == ERR_GARBLED) {
        x->unread++; /* nobody here can; the others are still exported */
        text_put(id, sizeof(id), "%.*s", (int)r->key.len - 5, r->key.p + 5);
        cli_fail_task(c, rc, id);
        rc = 0;
    }
    arena_reset(&c->a);
    return rc;
}

int
cli_export(struct cli *c)
{
    const char *format = c->args.format;
    struct export x = {.c = c, .md = format != NULL &&
                                     strcmp(format, "md") == 0};
    struct task k;
    int rc = 0;

    if (format != NULL && !x.md && strcmp(format, "jsonl") != 0)
        return cli_fail(c, ERR_INVALID, "unknown format \"%s\"\nchoose jsonl "
                        "or md", format);
    c->exact = !x.md;
    for (char **id = c->operand; *id != NULL && rc == 0; id++) {
        rc = cli_task(c, *id, &k);
        if (rc < 0)
            return cli_fail_task(c, rc, *id);
        if (rc == 0 && !export_task(&x, &k))
            rc = CLI_NOT_MET;
    }
    if (c->n_operands > 0)
        return rc;
    if (c->env->server != NULL)
        return each_whole_task(c, export_task, &x);
    x.head = store_next_n(c->s.store);
    rc = store_scan(c->s.store, 1, export_record, &x);
    if (rc == 0 && x.unread > 0)
        return CLI_STORE;
    return rc < 0 ? cli_fail_store(c, rc) : rc;
}
