/* cli - the commands of the command line, which need no server.

   Each command is a row of one table: its name, what help says, what it
   takes, how it needs the store, and the function that runs it. The rows for
   the care of the store run functions of admin.c and import.c; what a command
   writes goes through cli_text.c.

   It serves nobody but the one who called it, so it may wait for the lock,
   and it ends with an exit code instead of answering. It never prints what a
   task holds to a terminal as it is: agents wrote that.

   Human output passes cli_safe; --json and export jsonl do not need to, JSON
   being for programs, but all control characters are escaped there. */

#include "cli.h"
#include "admin.h"
#include "archive.h"
#include "call.h"
#include "cli_board.h"
#include "cli_complete.h"
#include "cli_config.h"
#include "cli_help.h"
#include "cli_store.h"
#include "cli_text.h"
#include "cli_work.h"
#include "doctor.h"
#include "import.h"
#include "text.h"
#include "view.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define FOLLOW_MS 50 /* how often tail -f looks for news */
#define TAIL_EVENTS 10
#define CALLS_PAGE 50

#define ANY_NUMBER UINT8_MAX

/* ---- options ---- */

static const struct env_opt any_opts[] = {
    {"json", 0, OPT_FLAG, offsetof(struct cli, json)}, {0}};

/* Takes the command's options out of argv; operands are left, *argc - 1 of
   them from argv[1] on. 0, or CLI_USAGE, said. */
static int
take_options(struct cli *c, int *argc, char **argv)
{
    const struct cli_command *cmd = c->cmd;
    int kept = 1, words;
    char why[256];

    for (int i = 1; i < *argc; i += words) {
        words = 1;
        if (argv[i][0] != '-' || argv[i][1] == '\0') {
            argv[kept++] = argv[i];
        } else if (strcmp(argv[i], "--") == 0) {
            while (++i < *argc) /* the rest are operands */
                argv[kept++] = argv[i];
        } else {
            words = env_option(cmd->opts, c, argv + i, why);
            if (words == 0)
                words = env_option(any_opts, c, argv + i, why);
            if (words <= 0)
                return cli_misuse(c, why, "");
        }
    }
    *argc = kept;
    if (kept - 1 < cmd->min)
        return cli_misuse(c, "", "something is missing");
    if (cmd->max != ANY_NUMBER && kept - 1 > cmd->max)
        return cli_misuse(c, argv[cmd->max + 1], "too much: ");
    return 0;
}

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

    while ((q = task_list_next(k->questions, &at)).p != NULL)
        open += task_member(q, "answer").p == NULL;
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

static int
run_list(struct cli *c, int argc, char **argv)
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

static int
run_show(struct cli *c, int argc, char **argv)
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

static int
run_history(struct cli *c, int argc, char **argv)
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

static int
run_tail(struct cli *c, int argc, char **argv)
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

/* ---- the commands ---- */

static int run_help(struct cli *c, int argc, char **argv);

#define ARG(member) offsetof(struct cli, args.member)
static const struct env_opt list_opts[] = {
    {"status", 's', OPT_TEXT, ARG(status)},
    {"owner", 'o', OPT_TEXT, ARG(owner)},
    {"repo", 'r', OPT_TEXT, ARG(repo)},
    {"tag", 't', OPT_TEXT, ARG(tag)},
    {"parent", 0, OPT_TEXT, ARG(parent)},
    {"query", 'q', OPT_TEXT, ARG(query)},
    {"ready", 0, OPT_FLAG, ARG(ready)},
    {"stale", 0, OPT_FLAG, ARG(stale)},
    {"needs-input", 0, OPT_FLAG, ARG(needs_input)},
    {"calls", 0, OPT_FLAG, ARG(calls)},
    {"all", 'a', OPT_FLAG, ARG(all)},
    {"limit", 'n', OPT_NUMBER, ARG(limit)},
    {0}};
static const struct env_opt history_opts[] = {
    {"since", 0, OPT_NUMBER, ARG(since)},
    {"limit", 'n', OPT_NUMBER, ARG(limit)},
    {0}};
static const struct env_opt tail_opts[] = {
    {"follow", 'f', OPT_FLAG, ARG(follow)},
    {"lines", 'n', OPT_NUMBER, ARG(lines)},
    {0}};
static const struct env_opt export_opts[] = {
    {"format", 'f', OPT_TEXT, ARG(format)}, {0}};
static const struct env_opt import_opts[] = {
    {"strict", 0, OPT_FLAG, ARG(strict)}, {0}};
static const struct env_opt verify_opts[] = {
    {"repair", 0, OPT_TEXT, ARG(repair)}, {0}};
static const struct env_opt compact_opts[] = {
    {"orphans", 0, OPT_FLAG, ARG(orphans)}, {0}};
static const struct env_opt claim_opts[] = {
    {"agent", 'a', OPT_TEXT, ARG(agent)},
    {"repo", 'r', OPT_TEXT, ARG(repo)},
    {"tag", 't', OPT_TEXT, ARG(tag)},
    {"lease", 0, OPT_TEXT, ARG(lease)},
    {0}};
static const struct env_opt checkpoint_opts[] = {
    {"agent", 'a', OPT_TEXT, ARG(agent)},
    {"resume-prompt", 'p', OPT_TEXT, ARG(resume_prompt)},
    {"notes", 'n', OPT_TEXT, ARG(notes)},
    {0}};
static const struct env_opt handoff_opts[] = {
    {"agent", 'a', OPT_TEXT, ARG(from)},
    {"to", 't', OPT_TEXT, ARG(to)},
    {"reason", 'r', OPT_TEXT, ARG(reason)},
    {"resume-prompt", 'p', OPT_TEXT, ARG(resume_prompt)},
    {0}};
static const struct env_opt answer_opts[] = {
    {"agent", 'a', OPT_TEXT, ARG(agent)},
    {"decline", 0, OPT_FLAG, ARG(decline)},
    {"cancel", 0, OPT_FLAG, ARG(cancel)},
    {0}};
static const struct env_opt wait_opts[] = {
    {"agent", 'a', OPT_TEXT, ARG(agent)},
    {"until", 'u', OPT_TEXT, ARG(until)},
    {"since-seq", 0, OPT_TEXT, ARG(since_seq)},
    {"timeout", 't', OPT_NUMBER, ARG(timeout)},
    {0}};
static const struct env_opt board_opts[] = {
    {"limit", 'n', OPT_NUMBER, ARG(limit)}, {0}};
static const struct env_opt archive_opts[] = {
    {"done-before", 0, OPT_TEXT, ARG(before)}, {0}};
static const struct env_opt doctor_opts[] = {
    {"port", 0, OPT_TEXT, ARG(port)},
    {"token-file", 0, OPT_TEXT, ARG(token_file)},
    {0}};
static const struct env_opt config_opts[] = {
    {"http", 0, OPT_FLAG, ARG(http)},
    {"agent", 'a', OPT_TEXT, ARG(agent)},
    {"token-file", 0, OPT_TEXT, ARG(token_file)},
    {0}};
static const struct env_opt no_opts[] = {{0}};

const struct cli_command cli_commands[] = {
    {"list", "[OPTION...]", "tasks, newest change first", run_list,
     list_opts, 0, 0, READ},
    {"show", "ID", "one task, as a brief for whoever takes over", run_show,
     no_opts, 1, 1, READ},
    {"history", "[-n N] [--since SEQ] ID", "the events of a task",
     run_history,
     history_opts, 1, 1, READ},
    {"tail", "[-f] [-n N]", "the newest events of all tasks", run_tail,
     tail_opts, 0, 0, READ},
    {"board", "[-n N]", "all tasks in columns, by what they wait for",
     cli_board,
     board_opts, 0, 0, READ},
    {"claim", "--agent A [OPTION...] [ID]", "takes up a task, or the best one",
     cli_claim,
     claim_opts, 0, 1, WRITE},
    {"checkpoint", "ID --agent A [OPTION...] [-]",
     "saves where the work stands", cli_checkpoint,
     checkpoint_opts, 1, 2, WRITE},
    {"handoff", "ID --agent A [OPTION...] [-]",
     "gives a task to another agent", cli_handoff,
     handoff_opts, 1, 2, WRITE},
    {"answer", "[--agent A] ID [QUESTION] TEXT", "answers a question of a task",
     cli_answer,
     answer_opts, 1, 3, WRITE},
    {"wait", "[ID] [OPTION...]", "until something becomes of a task", cli_wait,
     wait_opts, 0, 1, READ},
    {"export", "[--format jsonl|md] [ID...]",
     "tasks as JSON lines or markdown", admin_export,
     export_opts, 0, ANY_NUMBER, READ},
    {"import", "[--strict] FILE|-", "tasks from JSON lines or a JSON array",
     admin_import,
     import_opts, 1, 1, WRITE},
    {"verify", "[--repair OUT]", "checks the log and the artifacts",
     admin_verify,
     verify_opts, 0, 0, CLOSED},
    {"compact", "[--orphans]", "drops superseded records from the log",
     admin_compact,
     compact_opts, 0, 0, WRITE},
    {"archive", "--done-before D", "moves ended tasks out of the log",
     admin_archive,
     archive_opts, 0, 0, WRITE},
    {"backup", "DIR", "a verified copy of log and artifacts", admin_backup,
     no_opts, 1, 1, READ},
    {"health", "", "whether the store can be used", cli_health,
     no_opts, 0, 0, WRITE},
    {"doctor", "[OPTION...]", "what is wrong, and what to do about it",
     cli_doctor,
     doctor_opts, 0, 0, CLOSED},
    {"config", "CLIENT [--http] [--token-file FILE] [URL]",
     "what to paste into an MCP client", cli_config,
     config_opts, 1, 2, CLOSED},
    {"completion", "bash|zsh|fish", "a script that completes commands",
     cli_completion,
     no_opts, 1, 1, CLOSED},
    {"help", "[COMMAND]", "this, or more about a command", run_help,
     no_opts, 0, 1, CLOSED},
    {0},
};

static const struct cli_command *
find_command(const char *name)
{
    const struct cli_command *cmd = cli_commands;

    while (cmd->name != NULL && strcmp(cmd->name, name) != 0)
        cmd++;
    return cmd->name != NULL ? cmd : NULL;
}

static int
no_command(const struct cli *c, const char *name)
{
    return cli_fail(c, ERR_INVALID, "%s: no such command: mcptask --help "
                    "lists them", name);
}

static int
run_help(struct cli *c, int argc, char **argv)
{
    const struct cli_command *cmd = argc > 1 ? find_command(argv[1]) : NULL;

    if (argc > 1 && cmd == NULL)
        return no_command(c, argv[1]);
    return cli_help(&c->out, c->commands, cmd);
}

static bool
wants_help(int argc, char **argv)
{
    for (int i = 1; i < argc && strcmp(argv[i], "--") != 0; i++)
        if (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0)
            return true;
    return false;
}

static int
run(struct cli *c, int argc, char **argv)
{
    int rc = take_options(c, &argc, argv);
    const char *term = env_get("TERM");

    c->tty = cli_terminal(STDOUT_FILENO) > 0;
    c->color = c->tty && !c->json && env_get("NO_COLOR") == NULL &&
               term != NULL && strcmp(term, "dumb") != 0;
    if (rc == 0 && c->cmd->store != CLOSED)
        rc = cli_open(c, c->cmd->store == READ);
    return rc != 0 ? rc : c->cmd->run(c, argc, argv);
}

int
cli_main(const struct cli_env *env, int argc, char **argv)
{
    struct cli c = {.env = env, .commands = cli_commands,
                    .cmd = find_command(argv[0]),
                    .args = {.limit = UINT64_MAX, .lines = TAIL_EVENTS,
                             .timeout = UINT64_MAX}};
    int rc;

    /* What is wrong with the options is told as they ask for, too. */
    for (int i = 1; i < argc && strcmp(argv[i], "--") != 0; i++)
        c.json |= strcmp(argv[i], "--json") == 0;
    on_signal(SIGPIPE, SIG_IGN); /* a write says EPIPE, and no lock is lost */
    if (c.cmd == NULL)
        return no_command(&c, argv[0]);
    rc = wants_help(argc, argv) ? cli_help(&c.out, cli_commands, c.cmd)
                                : run(&c, argc, argv);
    rc = cli_close(&c, rc);
    cli_progress_end(&c);
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
