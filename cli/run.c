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
      from the command.
   5. The lock of that file is os_lock_file's, which belongs to the open file on
      every system; those of os_lock may belong to the process. Only its user
      may open the file: so nobody else holds its lock. */

#include "cli/run.h"
#include "store/remote.h"
#include "cli/args.h"
#include "cli/id.h"
#include "cli/output.h"
#include "cli/store.h"
#include "cli/text.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/os.h"
#include "base/text.h"
#include "task/artifact.h"
#include "mcp/mcp.h"
#include "task/may.h"
#include "tools/tools.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define LINE_LEN 256 /* of a command or its progress */
#define RESULT_LEN 4096 /* of its output, as the result */
#define TICK_MS 1000
#define KILL_MS 10000      /* from SIGTERM to SIGKILL */
#define DAY_S 86400
#define LOG_S 600 /* to attach the log; then the result comes without it */
#define EVERY_S 60
#define KEY_LEN 32

/* The file runs/ID: what is to be reported if all processes are gone. */
struct run_file {
    int fd;           /* of the locked file; -1: not open */
    const char *path;
    const char *agent, *command; /* who holds the task; words, safe to store */
    bool own;         /* the task ends with the command */
    struct str asked; /* when its end was asked for before it began */
    char key[KEY_LEN + 1]; /* of the report how it ended; or "" */
    bool began;       /* the command did */
    pid_t pid, supervisor; /* for people: nobody reads them back */
};

struct run {
    struct cli *c;
    const char *id, *title; /* as given, or found out */
    uint64_t lease; /* seconds; UINT64_MAX: not given */
    char **argv;
    struct run_file file;
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

/* ---- the file runs/ID ---- */

/* Opens or creates the file of the task and locks it; wait: for whoever has it.
   Returns 0, or an exit code after printing the error: CLI_CONFLICT if a
   command runs, which is printed only if told. */
static int
lock_run_file(struct run *r, bool wait, bool told)
{
    struct cli *c = r->c;
    struct run_file *f = &r->file;
    struct stat mine, there;
    struct str dir = arena_printf(&c->kept, "%s/runs", c->env->base_dir);
    int rc, err;

    f->path = arena_printf(&c->kept, "%s/runs/%s", c->env->base_dir, r->id).p;
    if (dir.p == NULL || f->path == NULL)
        return cli_fail_store(c, ERR_NOMEM);
    rc = file_make_dirs(dir.p);
    if (rc != 0)
        return cli_fail_path(c, rc, dir.p);
    for (;;) {
        f->fd = open(f->path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
        err = errno;
        if (f->fd < 0 && (err != EACCES || access(f->path, F_OK) != 0)) {
            errno = err;
            return cli_fail_errno(c, ERR_IO, f->path);
        }
        if (f->fd >= 0 && os_lock_file(f->fd, wait) == 0) {
            if (stat(f->path, &there) == 0 && fstat(f->fd, &mine) == 0 &&
                there.st_ino == mine.st_ino && there.st_dev == mine.st_dev)
                return 0;
            close(f->fd); /* it was removed while this waited */
            continue;
        }
        if (!told)
            return CLI_CONFLICT;
        if (f->fd >= 0)
            return cli_fail(c, ERR_LEASE, "%s: its command still runs\nto end "
                            "it, run \"mcptask cancel %s\"", r->id, r->id);
        return cli_fail(c, ERR_LEASE, "%s: another user's command runs for "
                        "it\nto end it, run \"mcptask cancel %s\"; if that "
                        "command is dead, remove %s", r->id, r->id, f->path);
    }
}

/* Writes into the file what the command is, whether it has begun, and who runs
   it, and syncs it: what is claimed or started after that is not lost with the
   power. The length stays the same, so that only the first time needs room.
   Returns 0, or an exit code after printing the error. */
static int
write_run_file(struct run *r)
{
    const struct run_file *f = &r->file;
    struct buf b = {0};
    int rc;

    /* The agent comes last, since a name may have line feeds. */
    buf_printf(&b, "%s\n%s\n%.*s\n%s\n%s\n%10ld command\n"
               "%10ld supervisor\n%10ld watcher\n%s",
               f->own ? "ends" : "stays", f->command, STR_ARG(f->asked),
               f->key, f->began ? "started" : "waiting", (long)f->pid,
               (long)f->supervisor, (long)getsid(0), f->agent);
    rc = b.err != 0 ? b.err : file_write_at(f->fd, b.p, b.len, 0);
    if (rc == 0)
        rc = file_sync(f->fd, os_sync_data);
    if (rc == 0 && !f->began)
        rc = file_sync_path_of(f->path);
    buf_fini(&b);
    return rc != 0 ? cli_fail_path(r->c, rc, f->path) : 0;
}

/* Reads it back, all but the numbers of processes, which others may have
   replaced. False: it ends too early to have led to a claim. */
static bool
read_run_file(struct run *r)
{
    struct arena *a = &r->c->kept;
    struct run_file *f = &r->file;
    char text[2048];
    ssize_t n = pread(f->fd, text, sizeof(text), 0);
    struct str rest = {text, n > 0 ? (size_t)n : 0}, key;

    f->own = str_is(str_cut(&rest, '\n'), "ends");
    f->command = arena_str(a, str_cut(&rest, '\n')).p;
    f->asked = arena_str(a, str_cut(&rest, '\n'));
    key = str_cut(&rest, '\n');
    text_put(f->key, sizeof(f->key), "%.*s", STR_ARG(key));
    f->began = str_is(str_cut(&rest, '\n'), "started");
    for (int i = 0; i < 3; i++) /* processes */
        str_cut(&rest, '\n');
    f->agent = arena_str(a, rest).p;
    return rest.len > 0;
}

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

/* Claims the task, and creates it if none was named: one commit has both. */
static int
claim(struct run *r)
{
    struct cli *c = r->c;
    struct task_receipt receipt;
    struct task_ctx x;
    int rc;

    do {
        rc = 0;
        if (r->fresh) {
            begin_report(r);
            cli_args_put(c, "title", r->title != NULL ? r->title
                                                      : r->file.command);
            c->tool.stays = true;
            rc = cli_try_change(c, TOOL_CREATE, &x, &receipt);
        }
        if (rc == 0) {
            begin_report(r);
            if (r->lease != UINT64_MAX)
                json_put_int(&c->tool.w, "lease_seconds", (int64_t)r->lease);
            c->tool.once = r->fresh;
            rc = cli_try_change(c, TOOL_CLAIM, &x, &receipt);
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

/* Reports how the command ended; code -1: unknown. If another agent has the
   task by now, that agent gets a message. Reports nothing if the task ended
   meanwhile, if that was reported before, or if a command that did not begin
   did not even get the task. Returns an exit code, or ERR_AGAIN. */
static int
try_report(struct run *r, int code, const char *how)
{
    const char *status = code == 0 ? "done" : "failed";
    const char *reason = code == 0 ? NULL : how;
    struct json_w *w = &r->c->tool.w;
    struct str lines, item = STR_NONE;
    struct task_receipt receipt;
    struct task_ctx x;
    struct task k;
    size_t n;
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
        json_put_arr(w, "test_results"); /* the task's, and this one */
        n = raw_list_n(k.f[F_TEST_RESULTS]);
        while ((item = raw_list_next(k.f[F_TEST_RESULTS], item)).p != NULL)
            if (n-- < TASK_MAX_RESULTS)
                json_splice(w, item);
        json_obj(w);
        json_put_z(w, "command", r->file.command);
        json_put_int(w, code < 0 ? "failed" : "exit_code", code < 0 ? 1 : code);
        json_put_z(w, "summary", how);
        json_close(w);
        json_close(w);
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
report_end(struct run *r, int code, const char *how)
{
    int rc;

    do
        rc = try_report(r, code, how);
    while (rc == ERR_AGAIN);
    if (rc == 0 || rc == CLI_STORE || rc == CLI_NOT_MET || !r->file.own)
        return rc;
    r->file.own = false; /* evidence is missing to end it */
    return report_end(r, code, how);
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

    if (!read_run_file(&then))
        return 0;
    if (then.file.agent == NULL || then.file.command == NULL)
        return cli_fail_store(r->c, ERR_NOMEM);
    how = then.file.began ? lost : never;
    cli_fail(r->c, 0, "%s: %s: %s", r->id, then.file.command, how);
    return report_end(&then, -1, how) == CLI_STORE ? CLI_STORE : 0;
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
            lock_run_file(&r, false, false) == 0 &&
            tell_lost(&r) == 0)
            unlink(r.file.path);
        close(r.file.fd);
    }
    if (dir != NULL)
        closedir(dir);
    /* A commit may have made these in the copy. */
    if (s->mcp == NULL)
        mcp_free(c.s.mcp);
    if (s->tools == NULL)
        tools_free(c.s.tools);
    arena_fini(&c.a);
    arena_fini(&c.kept);
}

/* ---- the supervisor ---- */

static volatile sig_atomic_t terminated; /* by SIGTERM */

static void
on_signal(int sig)
{
    terminated |= sig == SIGTERM;
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
    write_run_file(r);
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
stop_command(struct run *r, const char *reason)
{
    r->reason = reason != NULL ? reason : "asked to stop";
    r->kill_ms = clock_mono_ms() + KILL_MS;
    kill(-r->file.pid, SIGTERM);
}

/* Ends the command if somebody wants that. */
static void
end_if_wanted(struct run *r)
{
    struct cli *c = r->c;
    struct str by, why, asked, at;
    struct task k;

    if (r->kill_ms != 0 && clock_mono_ms() >= r->kill_ms)
        kill(-r->file.pid, SIGKILL);
    arena_reset(&c->a);
    store_tend(c->s.store, true);
    if (store_follow(c->s.store) != 0 || r->kill_ms != 0 ||
        r->seen == store_next_n(c->s.store) ||
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
        stop_command(r, output_plain(&c->kept, why, LINE_LEN));
    } else if (task_status_ended(k.status) &&
               /* With --close the command may be the agent that has ended the
                  task, and has more to do. */
               !(c->args.close &&
                 str_is(raw_text(&c->a, k.ev.by), r->file.agent))) {
        stop_command(r, "the task has ended");
    }
}

/* Waits for the command, passes its output on, and does what is due once a
   second. Returns its status. */
static int
attend_command(struct run *r)
{
    int64_t now;
    int status;

    while (waitpid(r->file.pid, &status, WNOHANG) == 0) {
        now = clock_mono_ms();
        if (now >= r->tick_ms) {
            r->tick_ms = now + TICK_MS;
            end_if_wanted(r);
            if (terminated && r->kill_ms == 0)
                stop_command(r, "the supervisor was told to end");
            if (now >= r->progress_ms) {
                r->progress_ms = now + (int64_t)r->progress_each;
                renew_lease(r, true);
            }
            if (now >= r->renew_ms)
                renew_lease(r, false);
        }
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

/* Stores the log and the result, if need be once a second for a day: a disk is
   full, or etcd does not answer. Returns the exit code of the command. */
static int
store_end(struct run *r, int status)
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
    for (;;) {
        arena_reset(&r->c->a);
        attached = attached || waited > LOG_S || cli_is_gone(r->c) ||
                   attach_log(r) != CLI_STORE;
        rc = attached ? report_end(r, code, how.p) : CLI_STORE;
        if (rc != CLI_STORE || terminated || ++waited > DAY_S)
            break;
        if (waited == 1) {
            cli_fail(r->c, 0, "%s: its result is stored as soon as that works",
                     r->id);
            to_dev_null(STDERR_FILENO);
        }
        poll(NULL, 0, TICK_MS);
        store_tend(r->c->s.store, true);
    }
    if (rc != CLI_STORE)
        unlink(r->file.path);
    return code;
}

/* Takes the task and starts the command. Returns 0, or an exit code after
   printing the error. */
static int
begin_run(struct run *r)
{
    static char id[] = "t-0123456789";
    struct store *s = r->c->s.store;
    bool claimed = false; /* perhaps; a server will say that it never ran */
    struct task k;
    int rc;

    r->fresh = r->id == NULL;
    if (r->fresh) {
        r->id = id;
        if (random_hex(id + 2, 10) != 0)
            return cli_fail_store(r->c, ERR_IO);
    }
    rc = lock_run_file(r, false, true);
    if (rc == 0)
        rc = tell_lost(r);
    if (rc != 0)
        return rc;
    /* What was asked for before the command began is not meant for it. */
    if (!r->fresh && (rc = read_own_task(r, &k)) == 0) {
        store_unlock(s);
        r->seen = store_next_n(s);
        r->file.asked = raw_text(&r->c->kept,
                                 raw_member(k.f[F_CANCEL_REQUESTED], "at"));
    }
    if (rc == 0 && random_hex(r->file.key, KEY_LEN) != 0)
        rc = cli_fail_store(r->c, ERR_IO);
    if (rc == 0 && (rc = write_run_file(r)) == 0) {
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
    rc = rc == 0 ? begin_run(r) : rc;
    if (rc != 0)
        return rc;
    say_line(r->output.out, r->id);
    fcntl(r->output.out, F_SETFL, O_NONBLOCK);
    if (r->detach)
        leave_foreground(r);
    status = attend_command(r);
    c->session = STR_NONE; /* what follows gives the lease back */
    rc = store_end(r, status);
    output_end(&r->output);
    free(r->said);
    return rc;
}

/* ---- the watcher ---- */

/* The supervisor was killed. Waits until its command has ended, attaches what
   that prints, and reports that its result is unknown. Nobody else reads what
   it prints, and it would be killed for writing into a pipe without a
   reader. */
static void
replace_supervisor(struct run *r, int from)
{
    int64_t now;
    char pid[24];
    int rc;

    r->file.pid = read_line(from, pid, sizeof(pid)) ? (pid_t)atol(pid) : 0;
    fcntl(r->output.in, F_SETFL, O_NONBLOCK);
    if (output_new(&r->output) != 0 || cli_open(r->c, false) != 0)
        return;
    rc = lock_run_file(r, false, false);
    if (rc == CLI_CONFLICT) {
        read_run_file(r);
        while (os_lock_file(r->file.fd, false) != 0 && errno == EWOULDBLOCK) {
            now = clock_mono_ms();
            if (r->file.pid > 1 && now >= r->tick_ms) {
                r->tick_ms = now + TICK_MS / 4;
                end_if_wanted(r);
            }
            output_wait(&r->output, TICK_MS / 4);
        }
        close(r->file.fd);
        rc = lock_run_file(r, true, false); /* the file may have been removed */
    }
    if (rc != 0)
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
        replace_supervisor(r, from);
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

/* Copies the output, and returns the exit code of the command. */
static int
run_foreground(struct run *r, int from, pid_t watcher)
{
    bool named = r->id != NULL, begun = read_id(r, from);
    struct cli *c = r->c;
    char chunk[4096];
    struct buf b = {0};
    int status = 0, rc;
    ssize_t n;

    if (begun && r->detach) {
        cli_tell(c, "{task_id}\n", "task_id=%s", r->id);
        return CLI_OK;
    }
    if (begun && !named && !c->json)
        cli_fail(c, 0, "%s: %s", r->id, r->file.command);
    if (begun) {
        text_put(farewell, sizeof(farewell), "\nmcptask: %s continues; to end "
                 "it, run \"mcptask cancel %s\"\n", r->id, r->id);
        signal(SIGINT, on_interrupt);
    }
    while (begun && (n = read(from, chunk, sizeof(chunk))) > 0) {
        if (c->json)
            continue;
        buf_put(&b, chunk, (size_t)n);
        if (!cli_say(STDOUT_FILENO, &b))
            return cli_fail(c, ERR_NOT_FOUND, "%s continues, but its output "
                            "is not read here any more", r->id);
    }
    while (waitpid(watcher, &status, 0) < 0 && errno == EINTR)
        continue;
    rc = WIFEXITED(status) ? WEXITSTATUS(status)
         : cli_fail(c, ERR_NOT_FOUND, "%s: %s", r->file.command, lost);
    if (begun && c->json)
        cli_tell(c, "", "task_id=%s exit_code=" U64, r->id,
                 (uint64_t)rc);
    return rc;
}

/* Reads the options. Returns 0, or an exit code after printing the error. */
static int
read_options(struct run *r)
{
    struct cli *c = r->c;
    const struct cli_args *a = &c->args;
    union cli_value *arg = c->arg;
    const char *agent = arg[ARG_AGENT].text;
    struct task_args args;
    struct task_ctx x;
    int rc;

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
    r->lease = arg[ARG_LEASE_SECONDS].number;
    r->title = a->title;
    r->file.own = r->id == NULL || a->close;
    r->detach = a->detach;
    r->progress_each = (a->every > 0 ? a->every : EVERY_S) * 1000;
    r->file.command = a->hide_command
        ? output_plain(&c->kept, str_of(file_name(r->argv[0])), LINE_LEN)
        : output_words(&c->kept, r->argv, LINE_LEN);
    if (r->file.command == NULL)
        return cli_fail_store(c, ERR_NOMEM);
    /* The options of the claim are checked before anything is changed. */
    arg[ARG_AGENT].text = agent;
    cli_args_begin(c, NULL, NULL);
    rc = cli_args_parse(c, TOOL_CLAIM, &x, &args);
    /* The changes that follow have arguments of their own. */
    arg[ARG_AGENT].text = NULL;
    arg[ARG_LEASE_SECONDS].number = UINT64_MAX;
    return rc;
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

/* ---- programs of other commands ---- */

pid_t
cli_start_program(const struct cli *c, const char *path, char *const argv[],
                  int in, int out, int err)
{
    pid_t pid = fork();

    if (pid != 0)
        return pid;
    dup2(in, STDIN_FILENO);
    dup2(out, STDOUT_FILENO);
    if (err < 0)
        close(STDERR_FILENO);
    else
        dup2(err, STDERR_FILENO);
    signal(SIGINT, SIG_DFL);
    signal(SIGPIPE, SIG_DFL);
    signal(SIGXFSZ, SIG_DFL);
    execv(path, argv);
    _exit(cli_fail_errno(c, ERR_NOT_FOUND, path));
}

int
cli_wait_program(const struct cli *c, const char *path, pid_t pid)
{
    int status = 0;

    if (pid < 0)
        return cli_fail_errno(c, ERR_NOMEM, path);
    while (waitpid(pid, &status, 0) < 0)
        if (errno != EINTR)
            return cli_fail_errno(c, ERR_IO, path);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}
