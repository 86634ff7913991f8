/* run - runs a command for as long as it takes, and keeps a task up to date
   about it.

   There are four processes. The foreground one copies the output, and may end
   at any time. The watcher, in a session of its own, waits for the supervisor.
   The supervisor opens the store and holds the lease, in a session of its own,
   so that it does not end with that of the agent. The command leads a process
   group.

   1. The supervisor locks and writes the file runs/ID before it claims the
      task. The command says there that it has started, and inherits the lock,
      as do all processes that it starts. The file is removed once the result is
      on disk. If it exists and nobody holds the lock, the supervisor was
      killed and the command has ended, or never began.
   2. If the supervisor is killed, the watcher reads on what the command prints,
      waits for that lock, ends the command if somebody asks for that, and
      reports that the result is unknown. If both are killed, as in a reboot,
      the next server to start reports it, or whoever runs a command for the
      task before starting it: no command starts twice because its supervisor
      died.
   3. Whoever reports how a command ended does so with the key in that file,
      so that the store takes the first report alone.
   4. In a group's store others can replace the file. Nothing that it says
      decides which process gets a signal: the watcher has the command's number
      from the command. */

#include "cli/run.h"
#include "store/remote.h"
#include "cli/args.h"
#include "cli/id.h"
#include "cli/output.h"
#include "cli/runs.h"
#include "cli/store.h"
#include "cli/text.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/os.h"
#include "base/text.h"
#include "task/artifact.h"
#include "mcp/mark.h"
#include "task/may.h"
#include "task/parts.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define LINE_LEN 256 /* of a command or its progress */
#define RESULT_LEN 4096 /* of its output, as the result */
#define TICK_MS 1000
#define KILL_MS 10000      /* from SIGTERM to SIGKILL */
#define DAY_S 86400
#define LOG_S 600 /* to attach the log; then the result comes without it */
#define EVERY_S 60

struct run {
    struct cli *c;
    const char *id, *title; /* as given, or found out */
    uint64_t lease; /* seconds; UINT64_MAX: not given */
    char **argv;
    struct runs_file file;
    bool fresh;  /* the task is to be created with the claim */
    bool detach;
    int watcher; /* to the watcher: the id, and the command's number */
    int to;      /* where the command writes what it prints */
    struct output output;
    int64_t begun_ms, tick_ms, renew_ms, progress_ms, kill_ms;
    uint64_t renew_each, progress_each; /* ms */
    uint64_t seen;      /* how far the log was looked at */
    bool cancelled;     /* somebody asked for its end */
    const char *reason; /* why it was told to end, or NULL */
    char *said;         /* the last progress */
};

/* ---- standard output and error ---- */

/* Points the descriptor fd at /dev/null. */
static void
to_dev_null(int fd)
{
    int null = open("/dev/null", O_RDWR | O_CLOEXEC);

    if (null >= 0)
        dup2(null, fd);
    if (null > STDERR_FILENO)
        close(null);
}

/* Cuts off the foreground process: it has ended, or was told all it needs. */
static void
leave_foreground(struct run *r)
{
    output_leave(&r->output);
    to_dev_null(STDERR_FILENO);
}

/* ---- the task ---- */

/* Begins the arguments of a change. */
static void
begin_report(struct run *r)
{
    cli_args_begin(r->c, NULL, r->id);
    cli_args_put(r->c, "agent", r->file.agent);
}

/* Takes the lock, and reads the task. Returns 0, or an exit code after
   printing the error; then the lock is free again. */
static int
read_own_task(struct run *r, struct task *k)
{
    struct cli *c = r->c;
    int rc = cli_is_gone(c) ? ERR_NOT_FOUND : store_lock_patiently(c->s.store);

    if (rc != 0 && rc != ERR_NOT_FOUND)
        return cli_fail_store(c, rc);
    if (rc == 0)
        rc = task_get(c->s.tasks, &c->a, str_of(r->id), k);
    if (rc == 0)
        return 0;
    store_unlock(c->s.store);
    return cli_fail_task(c, rc, r->id);
}

/* Stages a new task; its claim commits both. */
static int
create(struct run *r, struct task_ctx *x)
{
    struct task_receipt receipt;

    begin_report(r);
    cli_args_put(r->c, "title", r->title != NULL ? r->title : r->file.command);
    r->c->tool.stays = true;
    return cli_try_change(r->c, TOOL_CREATE, x, &receipt);
}

/* Claims the task, and creates it if none was named. */
static int
claim(struct run *r)
{
    struct task_receipt receipt;
    struct task_ctx x;
    int rc;

    do {
        rc = r->fresh ? create(r, &x) : 0;
        if (rc == 0) {
            begin_report(r);
            if (r->lease != UINT64_MAX)
                json_put_int(&r->c->tool.w, "lease_seconds",
                             (int64_t)r->lease);
            r->c->tool.once = r->fresh;
            rc = cli_try_change(r->c, TOOL_CLAIM, &x, &receipt);
        }
    } while (rc == ERR_AGAIN);
    r->fresh = false;
    rc = cli_report_change(r->c, rc, &x);
    if (rc == 0)
        r->renew_each =
            raw_u64(raw_member(receipt.lease, "seconds")) * 1000 / 3;
    return rc;
}

static bool
is_holder(struct run *r, const struct task *k)
{
    struct task_actor who = {.name = raw_quote(&r->c->a,
                                               str_of(r->file.agent))};
    struct task_holder holder = task_holder_of(k);

    return actor_hold(&who, &holder) == HOLD_OWN;
}

/* Renews the lease, and notes the last line of output if it has changed. If
   somebody else has the task now, leaves it alone. */
static void
renew_lease(struct run *r, bool progress)
{
    struct str last = output_line(&r->output, &r->c->a, LINE_LEN);
    const char *line = progress ? output_plain(&r->c->a, last, LINE_LEN) : NULL;
    struct task_receipt receipt;
    struct task k;

    if (line != NULL && (line[0] == '\0' ||
                         (r->said != NULL && strcmp(line, r->said) == 0)))
        line = NULL;
    if ((progress && line == NULL) || read_own_task(r, &k) != 0)
        return;
    if (k.status != TASK_IN_PROGRESS || !is_holder(r, &k)) {
        store_unlock(r->c->s.store);
    } else if (line == NULL) {
        claim(r);
    } else {
        begin_report(r);
        cli_args_put(r->c, "notes", line);
        cli_change(r->c, TOOL_CHECKPOINT, &receipt);
        free(r->said);
        r->said = file_join(line, "");
    }
    r->renew_ms = clock_mono_ms() + (int64_t)r->renew_each;
}

static void
put_report_key(struct run *r)
{
    if (r->file.key[0] != '\0')
        cli_args_put(r->c, "idempotency_key", r->file.key);
}

/* Adds the result of the command to those that the task has. */
static void
put_results(struct run *r, const struct task *k, int code, const char *how)
{
    struct str old = k->f[F_TEST_RESULTS], item = STR_NONE;
    struct json_w *w = &r->c->tool.w;
    size_t n = raw_list_n(old);

    json_put_arr(w, "test_results");
    while ((item = raw_list_next(old, item)).p != NULL)
        if (n-- < TASK_MAX_RESULTS)
            json_splice(w, item);
    json_obj(w);
    json_put_z(w, "command", r->file.command);
    json_put_int(w, code < 0 ? "failed" : "exit_code", code < 0 ? 1 : code);
    json_put_z(w, "summary", how);
    json_close(w);
    json_close(w);
}

/* Reports how the command ended; code -1: unknown. If another agent has the
   task by now, that agent gets a message. Reports nothing if the task ended
   meanwhile, if that was reported before, or if a command that did not begin
   did not even get the task. Returns an exit code, or ERR_AGAIN. */
static int
try_record(struct run *r, int code, const char *how)
{
    const char *status = code == 0 ? "done" : "failed";
    const char *reason = code == 0 ? NULL : how;
    struct task_receipt receipt;
    struct task_ctx x;
    struct str lines;
    struct task k;
    int rc = read_own_task(r, &k);

    if (rc != 0)
        return rc;
    if (task_status_ended(k.status) || (!r->file.began && !is_holder(r, &k))) {
        store_unlock(r->c->s.store);
        return 0;
    }
    begin_report(r);
    put_report_key(r);
    if (k.leased && !is_holder(r, &k)) {
        cli_args_put(r->c, "message",
                     arena_printf(&r->c->a, "%s: %s", r->file.command, how).p);
    } else {
        put_results(r, &k, code, how);
        lines = output_lines(&r->output, &r->c->a, RESULT_LEN);
        if (r->file.own && !k.f[F_RESULT].p && lines.len > 0)
            cli_args_put(r->c, "result", lines.p);
        if (r->file.own) {
            cli_args_put(r->c, "status", r->cancelled ? "cancelled" : status);
            cli_args_put(r->c, "reason", r->cancelled ? r->reason : reason);
        }
    }
    r->c->tool.once = true;
    rc = cli_try_change(r->c, TOOL_UPDATE, &x, &receipt);
    if (rc == ERR_IDEMPOTENCY)
        return 0;
    return rc == ERR_AGAIN ? rc : cli_report_change(r->c, rc, &x);
}

static int
record(struct run *r, int code, const char *how)
{
    int rc;

    do
        rc = try_record(r, code, how);
    while (rc == ERR_AGAIN);
    if (rc == 0 || rc == CLI_STORE || rc == CLI_NOT_MET || !r->file.own)
        return rc;
    r->file.own = false; /* evidence is missing to end it */
    return record(r, code, how);
}

/* Does nothing if the command has ended the task, which takes no log then.
   Returns 0, or an exit code after printing the error. */
static int
attach_log(struct run *r)
{
    struct cli *c = r->c;
    struct str log = output_log(&r->output, &c->a);
    struct str name = arena_printf(&c->a, "%s.log", file_name(r->argv[0]));
    struct task_receipt receipt;
    struct task_blob blob;
    struct task k;
    int rc;

    if (log.p == NULL)
        return cli_fail_store(c, ERR_NOMEM);
    if (log.len == 0)
        return 0;
    rc = read_own_task(r, &k);
    if (rc != 0)
        return rc;
    store_unlock(c->s.store);
    if (task_status_ended(k.status))
        return 0;
    rc = cli_args_store(c, log, &blob);
    if (rc != 0)
        return rc;
    cli_args_begin(c, NULL, r->id);
    c->tool.blob = blob;
    cli_args_put(c, "type", "log");
    cli_args_put(c, "agent", r->file.agent);
    cli_args_put(c, "name", output_plain(&c->a, name, LINE_LEN));
    put_report_key(r);
    return cli_change(c, TOOL_ATTACH, &receipt);
}

/* ---- what was lost ---- */

static const char lost[] = "its supervisor was killed: the result is unknown";
static const char never[] = "its supervisor was killed before it began: it "
                            "never ran";

/* Reports what was killed, if it was. Fails only if the store does not work. */
static int
tell_lost(struct run *r)
{
    struct run then = {.c = r->c, .id = r->id, .file.fd = r->file.fd};
    const char *how;

    if (!runs_read(r->c, &then.file))
        return 0;
    if (then.file.agent == NULL || then.file.command == NULL)
        return cli_fail_store(r->c, ERR_NOMEM);
    how = then.file.began ? lost : never;
    cli_fail(r->c, 0, "%s: %s: %s", r->id, then.file.command, how);
    return record(&then, -1, how) == CLI_STORE ? CLI_STORE : 0;
}

void
cli_run_tell_lost(const struct cli_env *env, const struct cli_store *s)
{
    static const struct cli_command no_options = {.name = "run"};
    struct cli c = {.env = env, .s = *s, .cmd = &no_options, .quiet = true};
    const char *path = arena_printf(&c.kept, "%s/runs", env->base_dir).p;
    DIR *dir = path != NULL && !env->read_only ? opendir(path) : NULL;
    struct dirent *e;

    while (dir != NULL && (e = readdir(dir)) != NULL) {
        struct run r = {.c = &c, .id = e->d_name, .file.fd = -1};

        if (strcmp(r.id, ".") != 0 && strcmp(r.id, "..") != 0 &&
            runs_lock(&c, r.id, &r.file, false, false) == 0 &&
            tell_lost(&r) == 0)
            unlink(r.file.path);
        close(r.file.fd);
    }
    if (dir != NULL)
        closedir(dir);
    arena_fini(&c.a);
    arena_fini(&c.kept);
}

/* ---- the supervisor ---- */

static volatile sig_atomic_t ended; /* by SIGTERM */

static void
on_signal(int sig)
{
    ended |= sig == SIGTERM;
}

/* Writes a line to another process. */
static void
say_line(int to, const char *line)
{
    struct buf b = {0};

    buf_printf(&b, "%s\n", line);
    cli_say(to, &b);
}

/* Returns an exit code after printing the error. */
static int
fail_start(struct run *r)
{
    return cli_fail(r->c, ERR_NOMEM, "the command cannot be started: %s",
                    strerror(errno));
}

/* Makes a pipe that no command inherits. 0, or -1 with errno. */
static int
make_pipe(int to[2])
{
    if (pipe(to) != 0)
        return -1;
    fcntl(to[0], F_SETFD, FD_CLOEXEC);
    fcntl(to[1], F_SETFD, FD_CLOEXEC);
    return 0;
}

/* Forks. *fd is an end of a pipe from the child. Returns as fork does, and -1
   after printing the error. */
static pid_t
fork_piped(struct run *r, int *fd)
{
    int to[2];
    pid_t pid = make_pipe(to) == 0 ? fork() : -1;

    if (pid < 0) {
        fail_start(r);
        return pid;
    }
    close(to[pid != 0]);
    *fd = to[pid == 0];
    return pid;
}

/* Becomes the command. */
_Noreturn static void
become(struct run *r)
{
    char pid[24];
    int err;

    setpgid(0, 0);
    r->file.pid = getpid();
    text_put(pid, sizeof(pid), "%ld", (long)r->file.pid);
    say_line(r->watcher, pid);
    r->file.began = true;
    runs_write(r->c, &r->file);
    signal(SIGPIPE, SIG_DFL);
    signal(SIGXFSZ, SIG_DFL);
    signal(SIGTERM, SIG_DFL);
    signal(SIGCHLD, SIG_DFL);
    fcntl(r->file.fd, F_SETFD, 0);
    dup2(r->to, STDOUT_FILENO);
    dup2(r->to, STDERR_FILENO);
    setenv("MCP_TASK_ID", r->id, 1); /* for agents, which go on with it */
    setenv("MCP_TASK_AGENT", r->file.agent, 1);
    execvp(r->argv[0], r->argv);
    err = errno;
    text_tell("mcptask: run: %s: %s\n", r->argv[0], strerror(err));
    _exit(err == ENOENT ? 127 : 126); /* as sh does */
}

static int
start_command(struct run *r)
{
    struct sigaction sa = {.sa_handler = on_signal};

    sigaction(SIGCHLD, &sa, NULL); /* each interrupts poll */
    sigaction(SIGTERM, &sa, NULL);
    r->begun_ms = clock_mono_ms();
    if (output_new(&r->output) != 0)
        return cli_fail_store(r->c, ERR_NOMEM);
    r->file.pid = fork();
    if (r->file.pid < 0)
        return fail_start(r);
    if (r->file.pid == 0)
        become(r);
    r->file.began = true;
    /* In both processes: either may be first. */
    setpgid(r->file.pid, r->file.pid);
    close(r->to);
    fcntl(r->output.in, F_SETFL, O_NONBLOCK);
    r->renew_ms = r->begun_ms + (int64_t)r->renew_each;
    r->progress_ms = r->begun_ms + (int64_t)r->progress_each;
    return 0;
}

static void
stop(struct run *r, const char *reason)
{
    r->reason = reason != NULL ? reason : "asked to stop";
    r->kill_ms = clock_mono_ms() + KILL_MS;
    kill(-r->file.pid, SIGTERM);
}

/* Whether the task was ended by its own agent where the command may be one,
   which then has more to do. */
static bool
may_end(const struct run *r, const struct task *k)
{
    return r->c->args.close &&
           str_is(raw_text(&r->c->a, k->ev.by), r->file.agent);
}

/* Checks whether somebody wants the command to end. */
static void
look(struct run *r)
{
    struct cli *c = r->c;
    struct str by, why, asked, at;
    struct task k;

    if (r->seen == store_next_n(c->s.store) ||
        task_get(c->s.tasks, &c->a, str_of(r->id), &k) != 0)
        return;
    r->seen = store_next_n(c->s.store);
    asked = k.f[F_CANCEL_REQUESTED];
    at = raw_text(&c->a, raw_member(asked, "at"));
    if (asked.p != NULL && !str_eq(at, r->file.asked)) {
        by = raw_text(&c->a, raw_member(asked, "by"));
        why = raw_text(&c->a, raw_member(asked, "reason"));
        r->cancelled = true;
        why = arena_printf(&c->a, "%.*s asked to stop%s%.*s", STR_ARG(by),
                           why.p ? ": " : "", STR_ARG(why));
        stop(r, output_plain(&c->kept, why, LINE_LEN));
    } else if (task_status_ended(k.status) && !may_end(r, &k)) {
        stop(r, "the task has ended");
    }
}

/* Ends the command if somebody wants that. */
static void
obey(struct run *r)
{
    if (r->kill_ms != 0 && clock_mono_ms() >= r->kill_ms)
        kill(-r->file.pid, SIGKILL);
    arena_reset(&r->c->a);
    store_tend(r->c->s.store, true);
    if (store_follow(r->c->s.store) == 0 && r->kill_ms == 0)
        look(r);
}

/* Does what is due once a second. */
static void
tick(struct run *r)
{
    int64_t now = clock_mono_ms();

    if (now < r->tick_ms)
        return;
    r->tick_ms = now + TICK_MS;
    obey(r);
    if (ended && r->kill_ms == 0)
        stop(r, "the supervisor was told to end");
    if (now >= r->progress_ms) {
        r->progress_ms = now + (int64_t)r->progress_each;
        renew_lease(r, true);
    }
    if (now >= r->renew_ms)
        renew_lease(r, false);
}

/* Waits for the command, and passes its output on. Returns its status. */
static int
attend(struct run *r)
{
    int status;

    while (waitpid(r->file.pid, &status, WNOHANG) == 0) {
        tick(r);
        if (!output_wait(&r->output,
                         r->output.in < 0 ? TICK_MS / 20 : TICK_MS))
            leave_foreground(r);
    }
    /* Others of its group have the same time to end. */
    while (r->kill_ms > clock_mono_ms() &&
           (kill(-r->file.pid, 0) == 0 || errno == EPERM)) /* not ours: sudo */
        if (!output_wait(&r->output, TICK_MS / 20))
            leave_foreground(r);
    output_take_rest(&r->output);
    if (r->kill_ms != 0)
        kill(-r->file.pid, SIGKILL);
    return status;
}

/* Waits a second for a store that does not work: a disk is full, or etcd does
   not answer. False: it has waited long enough. */
static bool
wait_for_store(struct run *r, int *waited)
{
    if (ended || ++*waited > DAY_S)
        return false;
    if (*waited == 1) {
        cli_fail(r->c, 0, "%s: its result is stored as soon as that works",
                 r->id);
        to_dev_null(STDERR_FILENO);
    }
    poll(NULL, 0, TICK_MS);
    store_tend(r->c->s.store, true);
    return true;
}

/* Stores the log and the result. Returns the exit code of the command. */
static int
tell_end(struct run *r, int status)
{
    bool killed = WIFSIGNALED(status);
    int code = killed ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
    int rc, waited = 0;
    bool attached = false;
    char span[24];
    struct str how;

    cli_span(span, clock_mono_ms() - r->begun_ms);
    how = arena_printf(&r->c->kept, "%s %d after %s%s%s",
                       killed ? "signal" : "exit code",
                       killed ? WTERMSIG(status) : code, span,
                       r->reason ? ": " : "", r->reason ? r->reason : "");
    if (how.p == NULL)
        return code;
    do {
        arena_reset(&r->c->a);
        attached = attached || waited > LOG_S || cli_is_gone(r->c) ||
                   attach_log(r) != CLI_STORE;
        rc = attached ? record(r, code, how.p) : CLI_STORE;
    } while (rc == CLI_STORE && wait_for_store(r, &waited));
    if (rc != CLI_STORE)
        unlink(r->file.path);
    return code;
}

/* Chooses the id of a new task. Returns 0, or an exit code after printing the
   error. */
static int
make_id(struct run *r)
{
    static char id[] = "t-0123456789";

    r->fresh = true;
    r->id = id;
    return random_hex(id + 2, 10) == 0 ? 0 : cli_fail_store(r->c, ERR_IO);
}

/* Notes what somebody asked for before the command began. Returns 0, or an exit
   code after printing the error. */
static int
note_asked(struct run *r)
{
    struct task k;
    int rc = read_own_task(r, &k);

    if (rc != 0)
        return rc;
    store_unlock(r->c->s.store);
    r->seen = store_next_n(r->c->s.store);
    r->file.asked = raw_text(&r->c->kept,
                             raw_member(k.f[F_CANCEL_REQUESTED], "at"));
    return 0;
}

/* Takes the task and starts the command. Returns 0, or an exit code after
   printing the error. */
static int
take_up(struct run *r)
{
    int rc = r->id == NULL ? make_id(r) : 0;
    bool claimed = false; /* perhaps; a server will say that it never ran */

    if (rc == 0)
        rc = runs_lock(r->c, r->id, &r->file, false, true);
    if (rc == 0)
        rc = tell_lost(r);
    if (rc != 0)
        return rc;
    if (!r->fresh)
        rc = note_asked(r);
    if (rc == 0 && random_hex(r->file.key, RUNS_KEY_LEN) != 0)
        rc = cli_fail_store(r->c, ERR_IO);
    if (rc == 0 && (rc = runs_write(r->c, &r->file)) == 0) {
        say_line(r->watcher, r->id);
        rc = claim(r);
        claimed = rc == 0 || rc == CLI_STORE;
    }
    if (rc == 0)
        rc = start_command(r);
    if (rc != 0 && !claimed)
        unlink(r->file.path);
    return rc;
}

/* Reads a line that say_line wrote. False: its writer ended before it did. */
static bool
read_line(int from, char *line, size_t cap)
{
    size_t n = 0;

    while (n < cap && read(from, line + n, 1) == 1 && line[n] != '\n')
        n++;
    if (n == cap || line[n] != '\n')
        return false;
    line[n] = '\0';
    return true;
}

static bool
read_id(struct run *r, int from)
{
    static char id[TASK_MAX_ID + 1];
    bool ok = read_line(from, id, sizeof(id));

    r->id = ok ? id : r->id;
    return ok;
}

/* Returns the exit code of the command, or of what kept it from starting. */
static int
supervise(struct run *r)
{
    struct cli *c = r->c;
    int rc = cli_open(c, false), status;

    c->n_operands = r->id != NULL; /* those that are ids */
    rc = rc == 0 ? cli_complete_ids(c) : rc;
    if (rc == 0 && c->env->read_only)
        rc = cli_fail_store(c, ERR_READONLY);
    r->id = c->n_operands > 0 ? c->operand[0] : NULL;
    r->file.supervisor = getpid();
    if (rc == 0)
        c->session = mcp_process_mark(&c->kept, c->s.store);
    c->client = STR(TASK_RUN_CLIENT);
    rc = rc == 0 ? take_up(r) : rc;
    if (rc != 0)
        return rc;
    say_line(r->output.out, r->id);
    fcntl(r->output.out, F_SETFL, O_NONBLOCK);
    if (r->detach)
        leave_foreground(r);
    status = attend(r);
    c->session = STR_NONE; /* what follows gives the lease back */
    rc = tell_end(r, status);
    output_end(&r->output);
    free(r->said);
    return rc;
}

/* ---- the watcher ---- */

/* Waits until the command of a killed supervisor has ended. Reads what it
   prints: it would be killed for writing into a pipe that nobody reads. Returns
   0, or an exit code. */
static int
wait_for_command(struct run *r)
{
    int rc = runs_lock(r->c, r->id, &r->file, false, false);

    if (rc != CLI_CONFLICT)
        return rc;
    runs_read(r->c, &r->file);
    while (os_lock_file(r->file.fd, false) != 0 && errno == EWOULDBLOCK) {
        int64_t now = clock_mono_ms();

        if (r->file.pid > 1 && now >= r->tick_ms) {
            r->tick_ms = now + TICK_MS / 4;
            obey(r);
        }
        output_wait(&r->output, TICK_MS / 4);
    }
    close(r->file.fd);
    /* The file may have been removed. */
    return runs_lock(r->c, r->id, &r->file, true, false);
}

/* Attaches what the command of a killed supervisor printed since, and reports
   that its result is unknown. */
static void
take_over(struct run *r, int from)
{
    char pid[24];

    r->file.pid = read_line(from, pid, sizeof(pid)) ? (pid_t)atol(pid) : 0;
    fcntl(r->output.in, F_SETFL, O_NONBLOCK);
    if (output_new(&r->output) != 0 || cli_open(r->c, false) != 0 ||
        wait_for_command(r) != 0)
        return;
    output_take_rest(&r->output);
    attach_log(r);
    if (tell_lost(r) == 0)
        unlink(r->file.path);
}

/* Starts the supervisor and returns its exit code. If it is killed, reports
   that once the command has ended, and ends by a signal like it. */
static int
supervise_command(struct run *r)
{
    int to[2], from, status = 0;
    bool begun;
    pid_t pid;

    if (make_pipe(to) != 0)
        return fail_start(r);
    r->output.in = to[0];
    r->to = to[1];
    pid = fork_piped(r, &from);
    if (pid < 0)
        return CLI_STORE;
    if (pid == 0) {
        r->watcher = from;
        return supervise(r);
    }
    close(r->to);
    leave_foreground(r);
    begun = read_id(r, from);
    waitpid(pid, &status, 0);
    if (WIFEXITED(status))
        return WEXITSTATUS(status);
    if (begun)
        take_over(r, from);
    kill(getpid(), SIGKILL);
    return CLI_NOT_MET;
}

/* ---- the foreground process ---- */

static char farewell[512];

static void
on_interrupt(int sig)
{
    if (write(STDERR_FILENO, farewell, strlen(farewell)) < 0)
        _exit(CLI_NOT_MET);
    _exit(128 + sig);
}

/* Copies the output. False: nobody reads it any more. */
static bool
copy_output(struct run *r, int from)
{
    char chunk[4096];
    struct buf b = {0};
    ssize_t n;

    text_put(farewell, sizeof(farewell), "\nmcptask: %s continues; to end "
             "it, run \"mcptask cancel %s\"\n", r->id, r->id);
    signal(SIGINT, on_interrupt);
    while ((n = read(from, chunk, sizeof(chunk))) > 0) {
        if (r->c->json)
            continue;
        buf_put(&b, chunk, (size_t)n);
        if (!cli_say(STDOUT_FILENO, &b))
            return false;
    }
    return true;
}

static int
run_foreground(struct run *r, int from, pid_t watcher)
{
    bool named = r->id != NULL, begun = read_id(r, from);
    struct cli *c = r->c;
    int status = 0, rc;

    if (begun && r->detach) {
        cli_tell(c, "{task_id}\n", "task_id=%s", r->id);
        return CLI_OK;
    }
    if (begun && !named && !c->json)
        cli_fail(c, 0, "%s: %s", r->id, r->file.command);
    if (begun && !copy_output(r, from))
        return cli_fail(c, ERR_NOT_FOUND, "%s continues, but its output "
                        "is not read here any more", r->id);
    while (waitpid(watcher, &status, 0) < 0 && errno == EINTR)
        continue;
    rc = WIFEXITED(status) ? WEXITSTATUS(status)
         : cli_fail(c, ERR_NOT_FOUND, "%s: %s", r->file.command, lost);
    if (begun && c->json)
        cli_tell(c, "", "task_id=%s exit_code=" U64, r->id,
                 (uint64_t)rc);
    return rc;
}

/* Checks the options of the claim before anything is changed. Returns 0, or an
   exit code after printing the error. */
static int
check_claim(struct run *r)
{
    union cli_value *arg = r->c->arg;
    struct task_args args;
    struct task_ctx x;
    int rc;

    arg[ARG_AGENT].text = r->file.agent;
    cli_args_begin(r->c, NULL, NULL);
    rc = cli_args_parse(r->c, TOOL_CLAIM, &x, &args);
    /* The changes that follow have arguments of their own. */
    arg[ARG_AGENT].text = NULL;
    arg[ARG_LEASE_SECONDS].number = UINT64_MAX;
    return rc;
}

/* Reads the options. Returns 0, or an exit code after printing the error. */
static int
read_options(struct run *r)
{
    struct cli *c = r->c;
    const struct cli_args *a = &c->args;
    const char *agent = c->arg[ARG_AGENT].text;

    if (c->behind > 1 || c->behind == c->n_operands ||
        *c->operand[c->behind] == '\0')
        return cli_misuse(c, "COMMAND is missing, after \"--\"");
    r->id = c->behind > 0 ? c->operand[0] : NULL;
    r->argv = c->operand + c->behind;
    if (agent == NULL)
        agent = env_get("MCP_TASK_AGENT");
    if (agent == NULL)
        agent = "run";
    r->file.agent = agent;
    r->lease = c->arg[ARG_LEASE_SECONDS].number;
    r->title = a->title;
    r->file.own = r->id == NULL || a->close;
    r->detach = a->detach;
    r->progress_each = (a->every > 0 ? a->every : EVERY_S) * 1000;
    r->file.command = a->hide_command
        ? output_plain(&c->kept, str_of(file_name(r->argv[0])), LINE_LEN)
        : output_words(&c->kept, r->argv, LINE_LEN);
    if (r->file.command == NULL)
        return cli_fail_store(c, ERR_NOMEM);
    return check_claim(r);
}

int
cli_run(struct cli *c)
{
    struct run r = {.c = c, .output = {.in = -1, .out = -1}, .file.fd = -1};
    int rc = read_options(&r), fd;
    pid_t pid;

    if (rc != 0)
        return rc;
    signal(SIGCHLD, SIG_DFL); /* if ignored, nobody learns the exit code */
    if (r.detach) /* a pipe's reader or a lock's next owner would wait */
        os_close_from(STDERR_FILENO + 1);
    pid = fork_piped(&r, &fd);
    if (pid < 0)
        return CLI_STORE;
    if (pid != 0)
        return run_foreground(&r, fd, pid);
    setsid();
    c->quiet = true;
    r.output.out = fd;
    to_dev_null(STDIN_FILENO);
    to_dev_null(STDOUT_FILENO);
    return supervise_command(&r);
}
