/* doctor - health says in one line whether the store can be used. doctor
   checks everything that a server needs, a line each, and says how to mend
   it. A server that answers for another store than this command's is a
   problem, too: its clients do not see our tasks.

   doctor starts this binary as a client would, and asks whatever listens on
   loopback for /health, or MCP_TASK_SERVER for /ready; else it connects to the
   nodes of --store only. It opens and locks the store as any writer does, and
   changes nothing in it. */

#include "cli/doctor.h"
#include "cli/config.h"
#include "cli/server.h"
#include "cli/service.h"
#include "cli/store.h"
#include "cli/text.h"
#include "store/record.h"
#include "store/remote.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/text.h"
#include "base/token.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdarg.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ; /* POSIX leaves this to programs */

#define PATH_ROOM 4400 /* a path that exists and a name in it */
#define ANSWER_MS 5000
#define ANSWER_MAX 4096
#define AHEAD_MS (60 * 1000)

/* ---- health ---- */

/* Returns 0 if all paths of the store can be written or made; else errno, and
   in path the first that cannot. */
static int
find_not_writable(const struct cli *c, const char *log, char path[PATH_ROOM])
{
    int err = 0;

    for (int i = 0; i < 4 && err == 0; i++) {
        text_put(path, PATH_ROOM, "%s%s", i < 3 ? log : c->env->artifacts_dir,
                 i == 1 ? ".lock" : "");
        if (i == 2)
            file_cut(path);
        err = file_why_not_writable(path);
    }
    return err;
}

/* Whether st says that the store cannot be used in the way asked for. */
static bool
is_unusable(const struct cli *c, const struct store_state *st)
{
    return st->why[0] != '\0' &&
           (st->err != ERR_READONLY || !c->env->read_only);
}

static void
put_health(struct cli *c, const struct store_state *st)
{
    uint64_t live = 0, all = 0;

    for (int s = 0; s < TASK_N_STATUSES; s++) {
        uint64_t n = tasks_count(c->s.tasks, (enum task_status)s);

        all += n;
        live += task_status_ended((enum task_status)s) ? 0 : n;
    }
    cli_tell(c, "ok: {store}: {tasks} task{s}, {live} of them live, seq "
             "{seq}\n",
             "status=%s version=%s store=%s tasks=" U64 " live=" U64 " seq="
             U64 " bytes=" U64,
             "ok", mcptask_version, st->path, all, live, st->head,
             (uint64_t)st->len);
}

/* Whether a change could be written now: 0, or why not. */
static int
try_writing(struct cli *c)
{
    int rc = store_lock_patiently(c->s.store);

    if (rc == 0)
        rc = store_probe(c->s.store);
    if (rc == 0)
        rc = store_probe_hosts(c->s.store);
    if (store_locked(c->s.store))
        store_unlock(c->s.store);
    return rc;
}

int
cli_health(struct cli *c)
{
    const struct store_state *st = store_state(c->s.store);
    bool writes = !c->env->read_only;
    char path[PATH_ROOM], why[FILE_WHY_MAX];
    int rc = 0;

    if (is_unusable(c, st))
        return cli_fail_store(c, st->err);
    if (writes && (rc = find_not_writable(c, st->path, path)) != 0)
        return cli_fail(c, ERR_READONLY, "%s: cannot be written: %s", path,
                        file_why(rc, path, why));
    if (writes && st->g > 0)
        rc = try_writing(c);
    if (rc == ERR_FULL && store_make_room(c->s.store))
        rc = try_writing(c);
    if (rc != 0)
        return cli_fail_store(c, rc);
    put_health(c, store_state(c->s.store));
    return CLI_OK;
}

/* ---- doctor ---- */

struct doctor {
    struct cli *c;
    bool problem; /* a check has failed */
    struct store_state st; /* as last looked at */
};

/* Prints the result of a check: ok, or a problem and its fix. */
static void PRINTF(4, 5)
tell(struct doctor *d, const char *check, const char *fix, const char *fmt, ...)
{
    char text[4096];
    va_list ap;

    va_start(ap, fmt);
    text_vput(text, sizeof(text), fmt, ap);
    va_end(ap);
    d->problem |= fix != NULL;
    cli_tell(d->c, fix != NULL ? "problem  {check}  {found}: {fix}\n"
                               : "ok  {check}  {found}\n",
             "check=%s ok=%d found=%s fix=%s", check, fix == NULL, text,
             fix != NULL ? fix : "");
}

/* Cuts off the advice that an error text holds after its last semicolon, and
   returns it; "" if there is none. The path that the text may begin with can
   have semicolons, too. */
static char *
advice(char *why)
{
    char *path_end = *why == '/' ? strstr(why, ": ") : NULL;
    char *next = path_end != NULL ? path_end : why, *at = NULL;

    while ((next = strstr(next, "; ")) != NULL)
        at = next++;
    if (at == NULL)
        return why + strlen(why);
    *at = '\0';
    return at + 2;
}

/* ---- the store ---- */

static void
check_lock(struct doctor *d)
{
    int rc = cli_try_lock(d->c);
    const char *why = store_state(d->c->s.store)->why;
    const char *fix = "run \"mcptask verify\"";

    if (rc == ERR_READONLY && why[0] != '\0') {
        tell(d, "lock", "see docs/cluster.md", "%s", why);
        return;
    }
    if (rc == 0)
        fix = NULL;
    else if (rc == ERR_BUSY)
        fix = "end the process that holds it (see fuser -v)";
    tell(d, "lock", fix, "%s.lock: %s", d->c->env->log_path,
         rc == 0 ? "is free" : err_row(rc)->message);
}

static void
check_store(struct doctor *d)
{
    struct cli *c = d->c;
    struct store_state *st = &d->st;
    bool writes = !c->env->read_only;
    char why[256], path[PATH_ROOM];
    const char *fix;
    int err = 0, rc = cli_open_store(c->env, !writes, &c->s, why);

    if (rc == 0) {
        *st = *store_state(c->s.store);
        text_put(why, sizeof(why), "%s", st->why);
        err = writes ? find_not_writable(c, st->path, path) : 0;
    }
    if (err != 0 && !is_unusable(c, st))
        file_why(err, path, why);
    fix = advice(why);
    if (*fix == '\0' && err != 0)
        fix = "let this user write it, or set MCP_TASK_BASE_DIR";
    else if (*fix == '\0' && rc == 0 && st->err == ERR_READONLY)
        fix = "see docs/cluster.md";
    else if (*fix == '\0')
        fix = "correct the path or its permissions";
    if (rc < 0 || is_unusable(c, st))
        tell(d, "store", fix, "%s", why);
    else if (err != 0)
        tell(d, "store", fix, "%s: cannot be written: %s", path, why);
    else if (st->g == 0)
        tell(d, "store", NULL, "%s: made with the first change", st->path);
    else
        tell(d, "store", NULL, "%s: log format %d", st->path,
             st->shared ? RECORD_VERSION : 1);
    if (st->g > 0 && st->err == 0 && err == 0 && writes)
        check_lock(d); /* else it would create the missing files */
}

/* What to do where etcd does not answer as it should. */
static const char *
hosts_advice(int err, const char *why)
{
    if (strstr(why, "gateway") != NULL)
        return "--store needs etcd's client port, 2379, without TLS; with a "
               "configuration file etcd needs enable-grpc-gateway: true";
    if (strstr(why, "mcptask push") != NULL)
        return "mcptask help push";
    if (err == ERR_UNREACHABLE && strstr(why, "in time") != NULL)
        return "most nodes of etcd must run and reach each other";
    switch (err) {
    case ERR_UNREACHABLE:
        return "start etcd; --store needs its client port, 2379, without TLS";
    case ERR_READONLY: case ERR_UNAUTHORIZED:
        return "MCP_TASK_STORE_AUTH needs a user who may write the prefix";
    case ERR_SKEW:
        return "set the clocks of the hosts by NTP";
    default:
        return "see docs/cluster.md";
    }
}

/* Asks etcd, if the store is shared with other hosts. */
static void
check_hosts(struct doctor *d)
{
    const struct cli_env *env = d->c->env;
    int64_t begun = clock_mono_ms();
    char why[256];
    const char *fix;
    int rc;

    if (env->remote == NULL || d->c->s.store == NULL)
        return;
    rc = store_confirm_patiently(d->c->s.store);
    begun = clock_mono_ms() - begun;
    if (rc == 0 && !env->read_only)
        rc = try_writing(d->c);
    d->st = *store_state(d->c->s.store); /* etcd may have given it an id */
    text_put(why, sizeof(why), "%s", d->st.why);
    fix = advice(why);
    if (rc != 0)
        tell(d, "hosts", *fix != '\0' ? fix : hosts_advice(rc, why), "%s",
             why[0] != '\0' ? why : err_name(rc));
    else
        tell(d, "hosts", NULL, "%s: answers in %lld ms%s", env->store,
             (long long)begun,
             env_get("MCP_TASK_STORE_AUTH") == NULL
                 ? "; whoever reaches it can write: MCP_TASK_STORE_AUTH" : "");
}

/* Asks each member of etcd. */
static void
check_members(struct doctor *d)
{
    struct store *s = d->c->s.store;
    const char *said, *fix;
    char what[512];
    int rc;

    if (d->c->env->remote == NULL || s == NULL)
        return;
    for (unsigned i = 0; (rc = store_examine(s, i, &said)) != ERR_NOT_FOUND;
         i++) {
        text_put(what, sizeof(what), "%s", said);
        fix = advice(what);
        if (*fix == '\0')
            fix = hosts_advice(rc, what);
        tell(d, "node", rc == 0 ? NULL : fix, "%s", what);
    }
}

/* Checks the log, the files beside it, and their directory: other users than
   the owner and the group must not read or write them. */
static void
check_access(struct doctor *d)
{
    static const char beside[4][6] = {"", ".lock", ".key", ""};
    char path[PATH_ROOM];
    bool closed = true;
    struct stat st;

    for (int i = 0; i < 4; i++) {
        text_put(path, sizeof(path), "%s%s", d->st.path, beside[i]);
        if (i == 3)
            file_cut(path);
        if (stat(path, &st) != 0) {
            closed &= errno == ENOENT; /* else there is no telling */
        } else if ((st.st_mode & (i < 3 ? 07 : 02)) != 0 &&
                   (st.st_mode & S_ISVTX) == 0) {
            tell(d, "access", "chmod o-rwx it", "%s: open to every user", path);
            closed = false;
        }
    }
    if (closed)
        tell(d, "access", NULL, "%s: closed to other users", d->st.path);
}

static int
names_artifact(void *ctx, const struct store_rec *r)
{
    struct task_event ev;

    (void)ctx;
    return task_event_of(r, &ev) == 0 &&
           raw_member(ev.v, "artifacts").len > 2;
}

static void
check_artifacts(struct doctor *d)
{
    const char *path = d->c->env->artifacts_dir, *what = "";
    struct stat st;
    bool there = stat(path, &st) == 0, missed;

    if (!there && errno != ENOENT)
        return; /* there is no telling */
    missed = !there && d->c->s.store != NULL &&
             !store_is_shared(d->c->s.store) &&
             store_scan(d->c->s.store, 1, names_artifact, NULL) != 0;
    if (missed)
        what = ": missing, and tasks have artifacts";
    else if (!there)
        what = ": made with the first artifact";
    else if (!S_ISDIR(st.st_mode))
        what = ": not a directory";
    tell(d, "artifacts", missed || (there && !S_ISDIR(st.st_mode))
         ? "restore it, or set MCP_TASK_ARTIFACTS_DIR" : NULL, "%s%s", path,
         what);
}

/* The first record that is ahead of the clock. */
struct ahead {
    int64_t now_ms, at_ms;
    char what[512]; /* in words; "": there is none */
};

static int
is_ahead(void *ctx, const struct store_rec *r)
{
    struct ahead *a = ctx;
    struct task_event ev;

    if (!time_parse(r->time, &a->at_ms) || a->at_ms - a->now_ms <= AHEAD_MS)
        return 0;
    if (task_event_of(r, &ev) != 0)
        ev.by = STR_NONE;
    text_put(a->what, sizeof(a->what), "record " U64 ", %.*s%s%.*s at %.*s",
             r->n, STR_ARG(r->key), ev.by.p != NULL ? " by " : "",
             STR_ARG(raw_inner(ev.by)), STR_ARG(r->time));
    return 1;
}

/* The clock of a host that shares its store is compared with etcd's, so it is
   the record that is wrong. Alone, a host cannot tell which of them is. */
static void
check_clock(struct doctor *d)
{
    struct ahead a = {.now_ms = clock_wall_ms()};
    struct store *s = d->c->s.store;
    int64_t ahead = s == NULL ? 0 : store_now_ms(s) - a.now_ms;
    char now[TIME_LEN + 1], span[24];

    time_format(a.now_ms, now);
    if (a.now_ms < CLOCK_NOT_BEFORE) {
        tell(d, "clock", "set it", "%s", now);
        return;
    }
    if (s != NULL && (ahead > AHEAD_MS || store_is_shared(s)))
        store_scan(s, 1, is_ahead, &a);
    if (ahead > AHEAD_MS)
        tell(d, "clock", "if the clock is right: mcptask compact --reset-time; "
             "else set it", "%s, the log's time is %s ahead%s%s, so new "
             "records and leases get that time", now, cli_span(span, ahead),
             a.what[0] != '\0' ? " since " : "", a.what);
    else if (a.what[0] != '\0')
        tell(d, "clock", NULL, "%s; %s is %s ahead, and its time is left out",
             now, a.what, cli_span(span, a.at_ms - a.now_ms));
    else
        tell(d, "clock", NULL, "%s", now);
}

static void
put_size(char out[24], int64_t bytes)
{
    bool large = bytes >= 10 * 1024 * 1024;

    text_put(out, 24, "%lld %s", (long long)(bytes >> (large ? 20 : 10)),
             large ? "MiB" : "KiB");
}

/* The bytes free where the log is or will be, and where that is; or -1. */
static int64_t
free_bytes(const struct doctor *d, char path[PATH_ROOM])
{
    struct statvfs v;
    int fd = -1, rc;

    /* A missing directory will be made in the one above it. */
    text_put(path, PATH_ROOM, "%s", d->c->env->log_path);
    while (fd < 0 && file_cut(path))
        fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0)
        return -1;
    rc = fstatvfs(fd, &v);
    close(fd);
    return rc != 0 || v.f_bavail > (uint64_t)INT64_MAX / 2 / (v.f_frsize + 1)
               ? -1 : (int64_t)((uint64_t)v.f_bavail * v.f_frsize);
}

/* By the store's own rule, a small disk is enough, and a large one may not be.
   Where the store cannot be read, there is only the room. */
static void
check_room(struct doctor *d)
{
    const struct store *s = d->c->s.store;
    char path[PATH_ROOM], has[24], needs[24];
    int64_t need = 0, free = free_bytes(d, path);
    int64_t missing = s != NULL ? store_missing_room(s, &need) : 0;

    if (free < 0)
        return;
    put_size(has, free);
    put_size(needs, need);
    tell(d, "room", missing > 0 ? "free some space on this disk; mcptask "
         "compact --orphans or mcptask archive may help" : NULL, "%s: %s free, "
         "%s needed for a change and the next compaction", path, has, needs);
}

static void
check_tokens(struct doctor *d)
{
    const char *path = d->c->args.token_file;
    struct tokens *t = NULL;
    char why[256];

    if (path == NULL)
        return;
    if (tokens_load(&t, path, why) < 0)
        tell(d, "tokens", "fix it: no server starts with this file", "%s",
             why);
    else if (tokens_count(t) == 0)
        tell(d, "tokens", "add a line \"TOKEN AGENT\"", "%s: empty: no client "
             "can connect", path);
    else
        tell(d, "tokens", NULL, "%s: open to its owner alone", path);
    tokens_free(t);
}

/* ---- who answers ---- */

/* Sends the request and reads into got until that contains want. Returns
   whether it came. */
static bool
answers(int to, int from, const char *request, const char *want,
        char got[ANSWER_MAX])
{
    int64_t until = clock_mono_ms() + ANSWER_MS, left;
    struct pollfd p = {.fd = from, .events = POLLIN};
    size_t len = strlen(request), n = 0;
    ssize_t r;

    if (write(to, request, len) != (ssize_t)len)
        return false;
    do {
        left = until - clock_mono_ms();
        r = left > 0 && poll(&p, 1, (int)left) == 1
                ? read(from, got + n, ANSWER_MAX - 1 - n) : 0;
        n += r > 0 ? (size_t)r : 0;
        got[n] = '\0';
    } while (r > 0 && strstr(got, want) == NULL);
    return r > 0;
}

/* Starts this binary as a server, between in[0] and out[1]. */
static pid_t
start_server(char *path, const int in[2], const int out[2])
{
    char *argv[] = {path, NULL};
    posix_spawn_file_actions_t fds;
    pid_t pid = -1;

    if (posix_spawn_file_actions_init(&fds) != 0)
        return -1;
    /* The checks before say what is wrong. */
    if (posix_spawn_file_actions_addclose(&fds, STDERR_FILENO) != 0 ||
        posix_spawn_file_actions_adddup2(&fds, in[0], STDIN_FILENO) != 0 ||
        posix_spawn_file_actions_adddup2(&fds, out[1], STDOUT_FILENO) != 0 ||
        posix_spawn(&pid, path, &fds, NULL, argv, environ) != 0)
        pid = -1;
    posix_spawn_file_actions_destroy(&fds);
    return pid;
}

static void
check_stdio(struct doctor *d)
{
    struct str path = cli_own_path(d->c);
    char got[ANSWER_MAX];
    int in[2], out[2];
    pid_t pid;
    bool ok;

    tell(d, "version", NULL, "%s, %.*s", mcptask_version, STR_ARG(path));
    if (path.p == NULL || pipe(in) != 0 || pipe(out) != 0)
        return;
    pid = start_server((char *)path.p, in, out);
    close(in[0]);
    close(out[1]);
    ok = pid > 0 &&
         answers(in[1], out[0], "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":"
                 "\"initialize\",\"params\":{\"protocolVersion\":"
                 "\"2025-11-25\",\"capabilities\":{},\"clientInfo\":{"
                 "\"name\":\"doctor\",\"version\":\"1\"}}}\n",
                 "\"version\":\"" MCPTASK_VERSION, got);
    close(in[1]);
    close(out[0]);
    if (pid > 0) {
        kill(pid, SIGKILL); /* it has answered, or never will */
        waitpid(pid, NULL, 0);
    }
    tell(d, "stdio", ok ? NULL : "run mcptask to see why",
         ok ? "answers initialize" : "no answer");
}

#define ID_AT "\"store\":\"" /* in what /health answers */

static void
check_http(struct doctor *d)
{
    const char *text = d->c->args.port != NULL ? d->c->args.port
                                               : env_get("MCP_TASK_PORT");
    struct sockaddr_in to = {.sin_family = AF_INET,
                             .sin_addr.s_addr = htonl(0x7f000001)};
    uint64_t port = 8766;
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    const char *fix = NULL, *found = "nothing is listening, start it with "
                                    "\"mcptask --http\"";
    char got[ANSWER_MAX], own[64];

    text_put(own, sizeof(own), ID_AT "%s\"", d->st.id);
    if (text != NULL && (!str_u64(str_of(text), &port) || port > UINT16_MAX)) {
        found = "no such port";
        fix = "name one from 0 to 65535";
        port = 0;
    }
    to.sin_port = htons((uint16_t)port);
    if (fix == NULL && fd >= 0 &&
        connect(fd, (struct sockaddr *)&to, sizeof(to)) == 0) {
        found = "answers /health, on the same store";
        if (!answers(fd, fd, "GET /health HTTP/1.1\r\nHost: localhost\r\n"
                     "Connection: close\r\n\r\n", "\"}", got) ||
            strstr(got, "{\"status\":\"ok\"") == NULL) {
            found = "no answer, or not from mcptask";
            fix = "serve on another --port";
        } else if (strstr(got, ID_AT) == NULL) {
            found = "answers /health"; /* an older version */
        } else if (strstr(got, own) == NULL) {
            found = "answers /health, but serves another store";
            fix = "start it and the clients with the same MCP_TASK_BASE_DIR, "
                  "or set MCP_TASK_SERVER for commands to use it";
        }
    }
    if (fd >= 0)
        close(fd);
    tell(d, "http", fix, "127.0.0.1:" U64 ": %s", port, found);
}

/* Commands use the store of the server of MCP_TASK_SERVER, and agents whose
   client starts mcptask that of this host: they see the same tasks only if
   these are one. */
static void
check_server(struct doctor *d)
{
    const struct cli_env *env = d->c->env;
    struct server_request q = {.path = "/ready"};
    const struct json_tok *ready, *error;
    const char *own = env_get("MCP_TASK_STORE"), *which = ", another one";
    struct str id, why;

    d->c->answer_by = clock_mono_ms() + ANSWER_MS;
    if (server_ask(d->c, &q, &ready, &error) != 0) {
        tell(d, "server", "see the error on standard error", "%s: commands "
             "cannot use it", env->server);
        return;
    }
    id = json_str(&d->c->a, json_get(ready, "store"));
    why = json_str(&d->c->a, json_get(ready, "reason"));
    if (own == NULL && str_is(id, d->st.id)) /* neither: not yet made */
        which = id.len > 0 ? ", the same one" : "";
    if (!json_is(json_get(ready, "status"), "ready"))
        tell(d, "server", "run \"mcptask doctor\" where it runs",
             "%s: not ready: %.*s", env->server, STR_ARG(why));
    else
        tell(d, "server", NULL, "%s: ready, and commands use its store; agents "
             "whose client starts mcptask use %s%s", env->server,
             own != NULL ? own : env->log_path, which);
}

/* A service has a store of its own, which this command does not look at. */
static void
check_service(struct doctor *d)
{
    struct service s;

    if (!service_find(d->c, &s))
        return;
    if (s.closed[0] != '\0')
        tell(d, "service", NULL, "%s: has another store, %s", s.server,
             s.closed);
    else
        tell(d, "service", NULL, "%s: has another store; to use it, set "
             "MCP_TASK_SERVER=%s", s.server, s.server);
}

int
cli_doctor(struct cli *c)
{
    struct doctor d = {.c = c, .st.path = c->env->log_path};

    c->columns = 2;
    check_store(&d);
    check_hosts(&d);
    check_members(&d);
    check_access(&d);
    check_artifacts(&d);
    check_clock(&d);
    check_room(&d);
    check_tokens(&d);
    check_stdio(&d);
    if (c->env->server != NULL) {
        check_server(&d);
    } else {
        check_http(&d);
        check_service(&d);
    }
    return d.problem ? CLI_NOT_MET : CLI_OK;
}
