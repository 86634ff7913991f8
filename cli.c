/* cli - the commands of the command line, which need no server.

   Each command is a row of one table: its name, what help says, and the
   function that runs it. The rows for the care of the store run functions of
   admin.c.

   It serves nobody but the one who called it, so it may wait for the lock,
   and it ends with an exit code instead of answering. It never prints what a
   task holds to a terminal as it is: agents wrote that.

   Invariants:
   1. stdout is written by cli_flush alone. When that fails, nothing more is
      written, the command ends as soon as it notices, and the exit code says
      that not all of it arrived.
   2. Human output passes cli_safe; --json and export jsonl do not need to,
      JSON being for programs, but control characters are escaped there too.
   3. What only reads opens the store for reading only: no lock, no change.
   4. An error is one line on stderr, written by cli_fail. */

#include "cli.h"

#include "admin.h"
#include "text.h"
#include "view.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define DRAIN_AT (64 * 1024)
#define FOLLOW_MS 50 /* how often tail -f looks for news */
#define TAIL_EVENTS 10
#define WIDTH_MAX 40 /* what is wider moves its own line only */

struct cli_command {
    const char *name;
    const char *args;
    const char *about; /* for the list of commands */
    int (*run)(struct cli *c, int argc, char **argv);
    const char *help; /* what follows the usage line */
};

/* ---- output ---- */

/* Whether a terminal would act on the character instead of showing it, or
   show what follows it in another order. */
static bool
is_active(uint32_t cp)
{
    static const uint32_t ranges[][2] = {
        {0, 8}, {0xb, 0x1f}, {0x7f, 0x9f}, {0x61c, 0x61c},
        {0x200e, 0x200f}, {0x2028, 0x202e}, {0x2066, 0x2069},
        {0xfeff, 0xfeff}, {0xe0000, 0xe007f}};

    for (size_t i = 0; i < sizeof(ranges) / sizeof(ranges[0]); i++)
        if (cp >= ranges[i][0] && cp <= ranges[i][1])
            return true;
    return false;
}

static uint32_t
code_point(const char *p, size_t n)
{
    uint32_t cp = (uint32_t)p[0] & (n == 1 ? 0x7fu : 0x7fu >> n);

    for (size_t i = 1; i < n; i++)
        cp = cp << 6 | ((uint32_t)p[i] & 0x3fu);
    return cp;
}

/* How many bytes from p on can be shown as they are. */
static size_t
plain_len(const char *p, const char *end)
{
    const char *at = p;

    while (at < end) {
        size_t n = 1;

        if (*at < ' ' || *at >= 0x7f) { /* char may be signed or not */
            n = utf8_len(at, end);
            if (n == 0 || is_active(code_point(at, n)))
                break;
        }
        at += n;
    }
    return (size_t)(at - p);
}

void
cli_safe(struct buf *b, size_t from)
{
    struct buf old = {0};
    const char *p, *end;
    size_t n;

    if (b->err || b->len == from ||
        plain_len(b->p + from, b->p + b->len) == b->len - from)
        return;
    buf_put(&old, b->p + from, b->len - from);
    b->err = old.err;
    b->len = from;
    for (p = old.p, end = old.p + old.len; p < end; p += n) {
        n = plain_len(p, end);
        if (n > 0) {
            buf_put(b, p, n);
            continue;
        }
        n = utf8_len(p, end);
        if (n > 0)
            buf_printf(b, "<U+%04X>", (unsigned)code_point(p, n));
        else
            buf_z(b, "\xef\xbf\xbd"); /* U+FFFD */
        n += n == 0;
    }
    buf_fini(&old);
}

/* The column at p, which two blanks end; what has none behind it is the
   line's last, and not padded. */
static bool
take_column(const char *p, const char *end, struct str *out)
{
    for (const char *at = p; at + 1 < end && *at != '\n'; at++)
        if (at[0] == ' ' && at[1] == ' ') {
            *out = (struct str){p, (size_t)(at - p)};
            return true;
        }
    return false;
}

/* Pads the columns of a line to the widest seen so far. Returns what is
   behind the line. */
static const char *
align_line(struct cli *c, struct buf *b, const char *p, const char *end)
{
    const char *next = memchr(p, '\n', (size_t)(end - p));
    struct str s;

    next = next == NULL ? end : next + 1;
    for (size_t i = 0; i < c->columns && take_column(p, next, &s); i++) {
        size_t n = utf8_count(s);

        if (n > c->width[i] && n <= WIDTH_MAX)
            c->width[i] = n;
        for (buf_put(b, p, s.len + 2); n < c->width[i]; n++)
            buf_char(b, ' ');
        p += s.len + 2;
    }
    buf_put(b, p, (size_t)(next - p));
    return next;
}

static void
align(struct cli *c)
{
    struct buf b = {0};

    for (int pass = 0; pass < 2; pass++) { /* first the widths are found */
        const char *p = c->out.p, *end = p + c->out.len;

        b.len = 0;
        while (p < end)
            p = align_line(c, &b, p, end);
    }
    buf_fini(&c->out);
    c->out = b; /* its error with it */
}

bool
cli_flush(struct cli *c)
{
    size_t at = 0;

    if (c->columns > 0 && c->out.len > 0 && !c->out.err)
        align(c);
    if (c->out.err)
        c->out_errno = ENOMEM;
    while (c->out_errno == 0 && at < c->out.len) {
        ssize_t n = write(STDOUT_FILENO, c->out.p + at, c->out.len - at);

        if (n >= 0)
            at += (size_t)n;
        else if (errno != EINTR)
            c->out_errno = errno;
    }
    buf_reset(&c->out, 2 * DRAIN_AT);
    return c->out_errno == 0;
}

bool
cli_drain(struct cli *c)
{
    if (c->out.len < DRAIN_AT && !c->out.err)
        return c->out_errno == 0;
    return cli_flush(c);
}

/* ---- errors ---- */

static int
exit_of(int err)
{
    switch (err) {
    case 0:
        return CLI_OK;
    case ERR_NOT_FOUND:
        return CLI_NOT_MET;
    case ERR_INVALID: case ERR_SYNTAX:
        return CLI_USAGE;
    case ERR_EXISTS:
        return CLI_CONFLICT;
    default:
        return CLI_STORE;
    }
}

bool
cli_say(int fd, struct buf *b)
{
    size_t sent = 0;

    while (b->err == 0 && sent < b->len) {
        ssize_t n = write(fd, b->p + sent, b->len - sent);

        if (n < 0 && errno != EINTR)
            b->err = ERR_IO;
        if (n > 0)
            sent += (size_t)n;
    }
    bool ok = b->err == 0;
    buf_fini(b);
    return ok;
}

int
cli_fail(const struct cli *c, int err, const char *fmt, ...)
{
    char text[1024];
    struct buf b = {0};
    va_list ap;

    va_start(ap, fmt);
    text_vput(text, sizeof(text), fmt, ap);
    va_end(ap);
    if (c->json) {
        view_error_json(&b, &(struct task_error){.code = err,
                                                 .message = str_of(text)});
    } else {
        buf_printf(&b, "mcptask: %s", text);
        cli_safe(&b, 0);
    }
    buf_char(&b, '\n');
    cli_say(STDERR_FILENO, &b);
    return exit_of(err);
}

struct str
cli_why(int err)
{
    struct task_error e = {0};

    task_fail_store(&e, err);
    return e.message;
}

int
cli_fail_store(const struct cli *c, int err)
{
    struct store_state st;

    store_state(c->store, &st);
    if (err == ERR_BUSY)
        return cli_fail(c, err, "%s: another process holds the lock: try "
                        "again", st.path);
    if (err == ERR_NOMEM)
        return cli_fail(c, err, "out of memory");
    if (err == ERR_READONLY && st.why[0] == '\0')
        return cli_fail(c, err, "%s: opened for reading only", st.path);
    if (err == ERR_DAMAGED)
        return cli_fail(c, err, "%s (mcptask verify says more)", st.why);
    if (st.why[0] == '\0')
        return cli_fail(c, err, "%s: %.*s", st.path, STR_ARG(cli_why(err)));
    return cli_fail(c, err, "%s", st.why);
}

/* For what no command can go on from once the store is open. */
static int
fail_task(const struct cli *c, int err, const char *id)
{
    if (err == ERR_NOT_FOUND)
        return cli_fail(c, err, "%s: no such task: mcptask list --all shows "
                        "which there are", id);
    if (err == ERR_FORMAT)
        return cli_fail(c, err, "%s: its record is none that this mcptask "
                        "can read", id);
    return cli_fail_store(c, err);
}

/* ---- options ---- */

static int
misuse(const struct cli *c, const char *what, const char *about)
{
    return cli_fail(c, ERR_INVALID, "%s: %s%s: usage: mcptask %s %s",
                    c->cmd->name, about, what, c->cmd->name, c->cmd->args);
}

static const struct cli_opt *
find_opt(const struct cli_opt *opts, size_t n, const char *arg,
         const char **value)
{
    size_t len = strcspn(arg, "=");

    for (size_t i = 0; i < n; i++) {
        *value = NULL;
        if (arg[1] == '-' && strlen(opts[i].name) == len - 2 &&
            memcmp(arg + 2, opts[i].name, len - 2) == 0) {
            if (arg[len] == '=')
                *value = arg + len + 1;
            return &opts[i];
        }
        if (arg[1] != '-' && arg[1] == opts[i].letter) {
            if (arg[2] != '\0')
                *value = arg + 2;
            return &opts[i];
        }
    }
    return NULL;
}

/* Takes the option at argv[*i], and its value where that stands behind. */
static int
take_opt(struct cli *c, const struct cli_opt *opts, size_t n, int argc,
         char **argv, int *i)
{
    const struct cli_opt json = {"json", 0, OPT_FLAG, &c->json};
    const char *arg = argv[*i], *value;
    const struct cli_opt *o = find_opt(opts, n, arg, &value);

    if (o == NULL)
        o = find_opt(&json, 1, arg, &value);
    if (o == NULL)
        return misuse(c, arg, "unknown option ");
    if (o->kind == OPT_FLAG) {
        if (value != NULL)
            return misuse(c, arg, "no value goes with ");
        *(bool *)o->to = true;
        return 0;
    }
    if (value == NULL && *i + 1 < argc)
        value = argv[++*i];
    if (value == NULL)
        return misuse(c, arg, "a value is missing behind ");
    if (o->kind == OPT_TEXT)
        *(const char **)o->to = value;
    else if (!str_u64(str_of(value), o->to))
        return misuse(c, value, "not a number: ");
    return 0;
}

int
cli_options(struct cli *c, const struct cli_opt *opts, size_t n, int *argc,
            char **argv, int min, int max)
{
    int kept = 1, rc;
    bool all = false; /* "--" was there: the rest are operands */

    for (int i = 1; i < *argc; i++) {
        if (all || argv[i][0] != '-' || argv[i][1] == '\0') {
            argv[kept++] = argv[i];
        } else if (strcmp(argv[i], "--") == 0) {
            all = true;
        } else {
            rc = take_opt(c, opts, n, *argc, argv, &i);
            if (rc != 0)
                return rc;
        }
    }
    *argc = kept;
    if (kept - 1 < min)
        return misuse(c, "", "something is missing");
    if (kept - 1 > max)
        return misuse(c, argv[max + 1], "too much: ");
    return 0;
}

/* ---- the store ---- */

int
cli_open(struct cli *c, bool readonly)
{
    struct store_options o = {.path = c->env->log_path,
                              .readonly = readonly || c->env->read_only,
                              .closed_max = c->env->closed_max};
    char why[256];
    int rc;

    c->tasks = tasks_new();
    if (c->tasks == NULL)
        return cli_fail(c, ERR_NOMEM, "out of memory");
    tasks_kind(c->tasks, &c->kind);
    rc = store_open(&c->store, &o, &c->kind, 1, why);
    if (rc < 0)
        return cli_fail(c, rc, "%s", why);
    tasks_bind(c->tasks, c->store);
    return 0;
}

/* A damaged log is read as far as it is whole; whoever reads is told that
   this may not be all. */
static int
close_store(struct cli *c, int rc)
{
    struct store_state st;

    if (c->store != NULL && rc == CLI_OK) {
        store_state(c->store, &st);
        if (st.err == ERR_DAMAGED)
            rc = cli_fail_store(c, ERR_DAMAGED);
    }
    store_close(c->store);
    tasks_free(c->tasks);
    return rc;
}

/* ---- list ---- */

static struct str
text_arg(const char *z)
{
    return z == NULL ? STR_NONE : str_of(z);
}

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

static void
put_page(struct cli *c, const struct task_page *page)
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
    struct task_page page;
    struct buf next = {0};
    int rc;

    c->columns = c->json ? 0 : 5;
    do {
        q->limit = left < TASK_LIST_MAX ? (unsigned)left : TASK_LIST_MAX;
        rc = tasks_list(c->tasks, &c->a, q, &page);
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

static int
run_list(struct cli *c, int argc, char **argv)
{
    struct task_query q = {0};
    const char *status = NULL, *owner = NULL, *repo = NULL, *tag = NULL;
    const char *parent = NULL, *text = NULL;
    bool ready = false, stale = false;
    uint64_t limit = UINT64_MAX;
    const struct cli_opt opts[] = {
        {"status", 's', OPT_TEXT, &status}, {"owner", 'o', OPT_TEXT, &owner},
        {"repo", 'r', OPT_TEXT, &repo},     {"tag", 't', OPT_TEXT, &tag},
        {"parent", 0, OPT_TEXT, &parent},   {"query", 'q', OPT_TEXT, &text},
        {"ready", 0, OPT_FLAG, &ready},     {"stale", 0, OPT_FLAG, &stale},
        {"all", 'a', OPT_FLAG, &q.include_done},
        {"limit", 'n', OPT_NUMBER, &limit}};
    int rc = cli_options(c, opts, sizeof(opts) / sizeof(opts[0]), &argc,
                         argv, 0, 0);

    if (rc == 0)
        rc = status_bits(c, status, &q.status);
    if (rc == 0)
        rc = cli_open(c, true);
    if (rc != 0 || limit == 0)
        return rc;
    q.owner = text_arg(owner);
    q.repo_path = text_arg(repo);
    q.tag = text_arg(tag);
    q.parent_id = text_arg(parent);
    q.text = text_arg(text);
    q.ready = ready ? TASK_YES : TASK_EITHER;
    q.stale = stale ? TASK_YES : TASK_EITHER;
    return list_pages(c, &q, limit);
}

/* ---- show, history ---- */

static int
run_show(struct cli *c, int argc, char **argv)
{
    struct task k;
    int rc = cli_options(c, NULL, 0, &argc, argv, 1, 1);

    if (rc == 0)
        rc = cli_open(c, true);
    if (rc != 0)
        return rc;
    rc = task_get(c->tasks, &c->a, str_of(argv[1]), &k);
    if (rc < 0)
        return fail_task(c, rc, argv[1]);
    if (c->json) {
        view_task_json(&c->out, &k);
        buf_char(&c->out, '\n');
    } else {
        view_task_markdown(&c->out, &c->a, &k);
        cli_safe(&c->out, 0);
    }
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
    int rc = task_event_last(c->tasks, &two[0], id, &ev);
    bool found = rc == 0;

    while (rc == 0 && left-- > 0 && ev.r.n > since) {
        put_event(c, &two[turn], &ev);
        if (!cli_drain(c))
            break;
        turn ^= 1;
        arena_reset(&two[turn]);
        rc = task_event_prev(c->tasks, &two[turn], &ev);
    }
    if (found && rc == ERR_NOT_FOUND) {
        rc = 0;
        if (ev.r.p > since && !c->json)
            buf_printf(&c->out, "(events up to seq %llu went with an old "
                       "generation of the log)\n",
                       (unsigned long long)ev.r.p);
    }
    arena_fini(&two[0]);
    arena_fini(&two[1]);
    return rc;
}

static int
run_history(struct cli *c, int argc, char **argv)
{
    uint64_t since = 0, limit = UINT64_MAX;
    const struct cli_opt opts[] = {{"since", 0, OPT_NUMBER, &since},
                                   {"limit", 'n', OPT_NUMBER, &limit}};
    int rc = cli_options(c, opts, 2, &argc, argv, 1, 1);

    if (rc == 0)
        rc = cli_open(c, true);
    if (rc != 0)
        return rc;
    c->columns = c->json ? 0 : 6;
    rc = history(c, str_of(argv[1]), since, limit);
    return rc < 0 ? fail_task(c, rc, argv[1]) : CLI_OK;
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
    struct store *s = t->c->store;
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
catch_signals(void)
{
    struct sigaction sa = {.sa_handler = end_tail};

    sigemptyset(&sa.sa_mask);
    sigaction(SIGINT, &sa, NULL);
    sigaction(SIGTERM, &sa, NULL);
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
        rc = store_follow(c->store);
    }
    if (c->out_errno == EPIPE)
        c->out_errno = 0; /* that is how its reader ends it */
    return rc;
}

static int
run_tail(struct cli *c, int argc, char **argv)
{
    bool follow = false;
    uint64_t n = TAIL_EVENTS;
    const struct cli_opt opts[] = {{"follow", 'f', OPT_FLAG, &follow},
                                   {"lines", 'n', OPT_NUMBER, &n}};
    struct tail t = {.c = c};
    int rc = cli_options(c, opts, 2, &argc, argv, 0, 0);

    if (rc == 0)
        rc = cli_open(c, true);
    if (rc != 0)
        return rc;
    if (follow) {
        catch_signals();
        store_observe(c->store, tail_observe, &t);
    }
    c->columns = c->json ? 0 : 6;
    rc = tail_last(&t, n);
    if (rc == 0 && follow)
        rc = tail_follow(&t);
    return rc < 0 ? cli_fail_store(c, rc) : CLI_OK;
}

/* ---- health ---- */

/* Whether path can be written, or made: then what counts is the nearest
   directory above it that is there. 0 or errno. */
static int
not_writable(const char *path)
{
    char up[4096];
    size_t n = text_put(up, sizeof(up), "%s", path);
    char *slash;

    if (n >= sizeof(up))
        return ENAMETOOLONG;
    while (access(up, W_OK) != 0) {
        if (errno != ENOENT || (slash = strrchr(up, '/')) == NULL)
            return errno;
        slash[slash == up] = '\0';
    }
    return 0;
}

/* The first of the store's paths that cannot be written, and why. */
static const char *
find_not_writable(struct cli *c, const char *log, int *why)
{
    struct str dir = arena_str(&c->a, str_of(log));
    struct str lock = arena_printf(&c->a, "%s.lock", log);
    const char *paths[4] = {log, lock.p, dir.p, c->env->artifacts_dir};
    char *slash = dir.p == NULL ? NULL : strrchr(dir.p, '/');

    if (slash != NULL)
        slash[slash == dir.p] = '\0';
    for (size_t i = 0; i < 4; i++) {
        *why = paths[i] == NULL ? ENOMEM : not_writable(paths[i]);
        if (*why != 0)
            return paths[i] == NULL ? log : paths[i];
    }
    return NULL;
}

static void
put_health(struct cli *c, const struct store_state *st)
{
    uint64_t live = 0, all = 0;
    struct json_w w;

    for (int s = 0; s < TASK_N_STATUSES; s++) {
        uint64_t n = tasks_count(c->tasks, (enum task_status)s);

        all += n;
        live += task_status_ended((enum task_status)s) ? 0 : n;
    }
    if (!c->json) {
        buf_printf(&c->out, "ok: %s: %llu tasks, %llu of them live, seq "
                   "%llu\n", st->path, (unsigned long long)all,
                   (unsigned long long)live, (unsigned long long)st->head);
        cli_safe(&c->out, 0);
        return;
    }
    json_w_init(&w, &c->out);
    json_obj(&w);
    json_put_z(&w, "status", "ok");
    json_put_z(&w, "version", MCPTASK_VERSION);
    json_put_z(&w, "store", st->path);
    json_put_int(&w, "tasks", (int64_t)all);
    json_put_int(&w, "live", (int64_t)live);
    json_put_int(&w, "seq", (int64_t)st->head);
    json_put_int(&w, "bytes", st->len);
    json_close(&w);
    json_w_end(&w);
    buf_char(&c->out, '\n');
}

static int
run_health(struct cli *c, int argc, char **argv)
{
    struct store_state st;
    const char *path;
    int why, rc = cli_options(c, NULL, 0, &argc, argv, 0, 0);

    if (rc == 0)
        rc = cli_open(c, true);
    if (rc != 0)
        return rc;
    store_state(c->store, &st);
    if (st.err != 0 && st.err != ERR_READONLY)
        return cli_fail_store(c, st.err);
    path = c->env->read_only ? NULL : find_not_writable(c, st.path, &why);
    if (path != NULL)
        return cli_fail(c, ERR_READONLY, "%s: cannot be written: %s", path,
                        strerror(why));
    put_health(c, &st);
    return CLI_OK;
}

/* ---- config ---- */

/* How a client is to start this server. */
struct launch {
    struct str command;
    struct str args[12];
    size_t n_args;
    struct { const char *name, *value; } env[4];
    size_t n_env;
};

/* The binary's own path; where the system does not tell, what PATH finds. */
static struct str
own_path(struct arena *a)
{
    char name[4096];
    ssize_t n = readlink("/proc/self/exe", name, sizeof(name));
    const char *at = getenv("PATH");

    if (n > 0 && (size_t)n < sizeof(name))
        return arena_str(a, (struct str){name, (size_t)n});
    while (at != NULL && *at != '\0') {
        int len = (int)strcspn(at, ":");

        text_put(name, sizeof(name), "%.*s/mcptask", len, at);
        if (name[0] == '/' && access(name, X_OK) == 0)
            return arena_str(a, str_of(name));
        at += len + (at[len] == ':');
    }
    return STR("mcptask");
}

static void
add_arg(struct launch *l, const char *name, const char *value)
{
    l->args[l->n_args++] = str_of(name);
    if (value != NULL)
        l->args[l->n_args++] = str_of(value);
}

static void
add_env(struct launch *l, const char *name, const char *value)
{
    l->env[l->n_env].name = name;
    l->env[l->n_env++].value = value;
}

static bool
is_set(const char *name)
{
    const char *v = getenv(name);

    return v != NULL && v[0] != '\0';
}

/* A client does not start the server from this shell, so all that leads this
   process to its store is spelt out. */
static void
find_launch(struct cli *c, struct launch *l)
{
    const struct cli_env *e = c->env;

    *l = (struct launch){.command = own_path(&c->a)};
    if (e->core)
        add_arg(l, "--tools", "core");
    if (e->read_only)
        add_arg(l, "--read-only", NULL);
    if (e->require_evidence)
        add_arg(l, "--require-evidence", NULL);
    if (e->artifact_root != NULL)
        add_arg(l, "--artifact-root", e->artifact_root);
    if (e->closed_max > 0)
        add_arg(l, "--closed-max", arena_printf(&c->a, "%lld",
                (long long)(e->closed_max >> 20)).p);
    if (is_set("MCP_TASK_BASE_DIR") || is_set("XDG_STATE_HOME"))
        add_env(l, "MCP_TASK_BASE_DIR", e->base_dir);
    if (is_set("MCP_TASK_DB_PATH"))
        add_env(l, "MCP_TASK_DB_PATH", e->log_path);
    if (is_set("MCP_TASK_ARTIFACTS_DIR"))
        add_env(l, "MCP_TASK_ARTIFACTS_DIR", e->artifacts_dir);
    if (e->debug)
        add_env(l, "MCP_DEBUG", "1");
}

static void
put_args(struct buf *b, const struct launch *l)
{
    buf_char(b, '[');
    for (size_t i = 0; i < l->n_args; i++) {
        buf_z(b, i > 0 ? ", " : "");
        json_quote(b, l->args[i]);
    }
    buf_char(b, ']');
}

static void
put_env(struct buf *b, const struct launch *l)
{
    buf_char(b, '{');
    for (size_t i = 0; i < l->n_env; i++) {
        buf_printf(b, "%s\"%s\": ", i > 0 ? ", " : "", l->env[i].name);
        json_quote(b, str_of(l->env[i].value));
    }
    buf_char(b, '}');
}

/* The file that most clients read: an object of servers under one name. */
static void
put_servers(struct buf *b, const struct launch *l, const char *servers,
            bool typed)
{
    buf_printf(b, "{\n  \"%s\": {\n    \"mcptask\": {\n", servers);
    if (typed)
        buf_z(b, "      \"type\": \"stdio\",\n");
    buf_z(b, "      \"command\": ");
    json_quote(b, l->command);
    buf_z(b, ",\n      \"args\": ");
    put_args(b, l);
    if (l->n_env > 0) {
        buf_z(b, ",\n      \"env\": ");
        put_env(b, l);
    }
    buf_z(b, "\n    }\n  }\n}\n");
}

/* A word as sh takes it. */
static void
put_word(struct buf *b, struct str s)
{
    bool plain = s.len > 0;

    for (size_t i = 0; i < s.len; i++)
        plain = plain && s.p[i] != '\0' &&
                strchr("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
                       "0123456789/._-+=:,@%", s.p[i]) != NULL;
    if (plain) {
        buf_str(b, s);
        return;
    }
    buf_char(b, '\'');
    for (size_t i = 0; i < s.len; i++)
        if (s.p[i] == '\'')
            buf_z(b, "'\\''");
        else
            buf_char(b, s.p[i]);
    buf_char(b, '\'');
}

/* All options stand before the name, and --env, which takes any number of
   values, not last of them. */
static void
put_claude_code(struct cli *c, const struct launch *l)
{
    struct buf *b = &c->out;

    buf_z(b, "claude mcp add");
    for (size_t i = 0; i < l->n_env; i++) {
        buf_z(b, " --env ");
        put_word(b, arena_printf(&c->a, "%s=%s", l->env[i].name,
                                 l->env[i].value));
    }
    buf_z(b, " --scope user --transport stdio mcptask -- ");
    put_word(b, l->command);
    for (size_t i = 0; i < l->n_args; i++) {
        buf_char(b, ' ');
        put_word(b, l->args[i]);
    }
    buf_z(b, "\n\n# or, for all who work on one project, in its .mcp.json:\n");
    put_servers(b, l, "mcpServers", true);
}

static void
put_desktop(struct cli *c, const struct launch *l)
{
    put_servers(&c->out, l, "mcpServers", false);
}

static void
put_cursor(struct cli *c, const struct launch *l)
{
    put_servers(&c->out, l, "mcpServers", true);
}

static void
put_vscode(struct cli *c, const struct launch *l)
{
    put_servers(&c->out, l, "servers", true);
}

/* JSON's strings and arrays are TOML's as well. */
static void
put_codex(struct cli *c, const struct launch *l)
{
    struct buf *b = &c->out;

    buf_z(b, "[mcp_servers.mcptask]\ncommand = ");
    json_quote(b, l->command);
    buf_z(b, "\nargs = ");
    put_args(b, l);
    buf_char(b, '\n');
    if (l->n_env > 0)
        buf_z(b, "\n[mcp_servers.mcptask.env]\n");
    for (size_t i = 0; i < l->n_env; i++) {
        buf_printf(b, "%s = ", l->env[i].name);
        json_quote(b, str_of(l->env[i].value));
        buf_char(b, '\n');
    }
}

static const struct client {
    const char *name;
    const char *where;
    void (*put)(struct cli *c, const struct launch *l);
} clients[] = {
    {"claude-code", "run this, once, for all your projects", put_claude_code},
    {"claude-desktop", "for claude_desktop_config.json (Settings, Developer, "
                       "Edit Config)", put_desktop},
    {"cursor", "for ~/.cursor/mcp.json, or .cursor/mcp.json in a project",
     put_cursor},
    {"vscode", "for .vscode/mcp.json, or what \"MCP: Open User "
               "Configuration\" opens", put_vscode},
    {"codex", "for ~/.codex/config.toml", put_codex},
};
#define N_CLIENTS (sizeof(clients) / sizeof(clients[0]))

static void
put_launch_json(struct cli *c, const struct client *client,
                const struct launch *l)
{
    struct buf *b = &c->out;

    buf_printf(b, "{\"client\":\"%s\",\"command\":", client->name);
    json_quote(b, l->command);
    buf_z(b, ",\"args\":");
    put_args(b, l);
    buf_z(b, ",\"env\":");
    put_env(b, l);
    buf_z(b, "}\n");
}

static int
run_config(struct cli *c, int argc, char **argv)
{
    const struct client *client = clients;
    struct launch l;
    struct buf note = {0};
    int rc = cli_options(c, NULL, 0, &argc, argv, 1, 1);

    if (rc != 0)
        return rc;
    while (client < clients + N_CLIENTS && strcmp(client->name, argv[1]) != 0)
        client++;
    if (client == clients + N_CLIENTS)
        return misuse(c, argv[1], "no such client: ");
    find_launch(c, &l);
    if (c->json) {
        put_launch_json(c, client, &l);
        return CLI_OK;
    }
    buf_printf(&note, "# %s:\n", client->where);
    cli_say(STDERR_FILENO, &note); /* so that stdout can go into the file as it is */
    client->put(c, &l);
    return CLI_OK;
}

/* ---- the commands ---- */

static int run_help(struct cli *c, int argc, char **argv);

static const struct cli_command commands[] = {
    {"list", "[OPTION...]", "tasks, newest change first", run_list,
     "Lists live tasks, one a line.\n"
     "  -s, --status S[,S...]  of these statuses\n"
     "  -o, --owner AGENT      owned by AGENT\n"
     "  -r, --repo PATH        of this repository\n"
     "  -t, --tag TAG          with this tag\n"
     "      --parent ID        children of ID\n"
     "  -q, --query TEXT       TEXT in title, goal, id, tags or resume prompt\n"
     "      --ready            that can be begun: nothing blocks them\n"
     "      --stale            in progress, but unchanged for a day\n"
     "  -a, --all              also done, failed and cancelled ones\n"
     "  -n, --limit N          no more than N\n"},
    {"show", "ID", "one task, as a brief for whoever takes over", run_show,
     "Shows all that is known of a task.\n"},
    {"history", "[-n N] [--since SEQ] ID", "the events of a task",
     run_history,
     "Lists the events of a task, newest first.\n"
     "  -n, --limit N    no more than N\n"
     "      --since SEQ  only those behind SEQ\n"},
    {"tail", "[-f] [-n N]", "the newest events of all tasks", run_tail,
     "Lists the newest events, oldest first.\n"
     "  -n, --lines N  how many (10)\n"
     "  -f, --follow   go on with what is written, until interrupted\n"},
    {"export", "[--format jsonl|md] [ID...]",
     "tasks as JSON lines or markdown", admin_export,
     "Writes all tasks, or these, to standard output: oldest change first, "
     "live and ended.\n"
     "  --format jsonl  a JSON object a line, which import takes (default)\n"
     "  --format md     for people\n"
     "Not in it are the events before the newest one of each task, and the\n"
     "contents of artifacts: backup has both.\n"},
    {"import", "[--strict] FILE|-", "tasks from JSON lines or a JSON array",
     admin_import,
     "Adds the tasks of FILE, or of standard input: what export wrote, or\n"
     "other task objects, one a line or as one array. A task whose id is\n"
     "there already is skipped; so is a bad record, with a message.\n"
     "  --strict  stop at the first of either (what came before stays)\n"
     "All fields are kept, created_at and unknown ones too; seq, updated_at\n"
     "are those of the import, and ready, blocked_by, stale are worked out\n"
     "anew. Exit code 1: some were bad.\n"},
    {"verify", "[--repair OUT]", "checks the log and the artifacts",
     admin_verify,
     "Reads every record and every artifact that a record names, without a\n"
     "lock and without any change. Exit code 3: damage found.\n"
     "  --repair OUT  write the records that are whole to the new file OUT\n"},
    {"compact", "[--orphans]", "drops superseded records from the log",
     admin_compact,
     "Closes the log's generation and begins one of the newest records only.\n"
     "  --orphans  also remove artifacts that no record names, after a day\n"},
    {"backup", "DIR", "a verified copy of log and artifacts", admin_backup,
     "Copies the log, its closed generations and the artifacts that they name\n"
     "into DIR, which is made. No file is overwritten, no lock taken.\n"},
    {"health", "", "whether the store can be used", run_health,
     "Exit code 0: it can be read and, as far as can be told without writing,\n"
     "written; 3: it cannot.\n"},
    {"config", "CLIENT", "what to paste into an MCP client", run_config,
     "CLIENT: claude-code, claude-desktop, cursor, vscode, codex.\n"},
    {"help", "[COMMAND]", "this, or more about a command", run_help, ""},
};
#define N_COMMANDS (sizeof(commands) / sizeof(commands[0]))

static const struct cli_command *
find_command(const char *name)
{
    for (size_t i = 0; i < N_COMMANDS; i++)
        if (strcmp(commands[i].name, name) == 0)
            return &commands[i];
    return NULL;
}

void
cli_usage(struct buf *b)
{
    for (size_t i = 0; i < N_COMMANDS; i++)
        buf_printf(b, "  %-8s %s\n", commands[i].name, commands[i].about);
}

static int
no_command(const struct cli *c, const char *name)
{
    return cli_fail(c, ERR_INVALID, "%s: no such command: mcptask --help "
                    "lists them", name);
}

static void
put_help(struct cli *c, const struct cli_command *cmd)
{
    buf_printf(&c->out, "usage: mcptask %s%s%s\n%s%s", cmd->name,
               cmd->args[0] ? " " : "", cmd->args, cmd->help,
               cmd->run == run_help ? "" : "      --json  for programs\n");
}

static int
run_help(struct cli *c, int argc, char **argv)
{
    const struct cli_command *cmd;
    int rc = cli_options(c, NULL, 0, &argc, argv, 0, 1);

    if (rc != 0)
        return rc;
    cmd = argc > 1 ? find_command(argv[1]) : NULL;
    if (argc > 1 && cmd == NULL)
        return no_command(c, argv[1]);
    if (cmd != NULL)
        put_help(c, cmd);
    else
        cli_usage(&c->out);
    return CLI_OK;
}

static bool
wants_help(int argc, char **argv)
{
    for (int i = 1; i < argc && strcmp(argv[i], "--") != 0; i++)
        if (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0)
            return true;
    return false;
}

int
cli_main(const struct cli_env *env, int argc, char **argv)
{
    struct cli c = {.env = env, .cmd = find_command(argv[0])};
    int rc = CLI_OK;

    signal(SIGPIPE, SIG_IGN); /* a write says EPIPE, and no lock is lost */
    if (c.cmd == NULL)
        return no_command(&c, argv[0]);
    if (wants_help(argc, argv))
        put_help(&c, c.cmd);
    else
        rc = c.cmd->run(&c, argc, argv);
    rc = close_store(&c, rc);
    if (!cli_flush(&c)) {
        if (c.out_errno != EPIPE)
            cli_fail(&c, ERR_FULL, "standard output: %s",
                     strerror(c.out_errno));
        rc = rc == CLI_OK ? CLI_NOT_MET : rc;
    }
    arena_fini(&c.a);
    buf_fini(&c.out);
    return rc;
}
