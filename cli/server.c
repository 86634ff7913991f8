/* server - a request to the server of --server, and its answer.

   One connection serves one request. Over a Unix socket or loopback that costs
   little, and nothing of an earlier request can be in the way of a later one.

   1. Nothing blocks without end: each wait is a poll with a deadline, and the
      whole exchange has one.
   2. What comes back is bounded by HTTP_MAX_BODY, and is JSON before anything
      looks into it.
   3. The token goes to no other host, unless --insecure says so, and no error
      shows it. */

#include "cli/server.h"
#include "cli/text.h"
#include "base/clock.h"
#include "base/env.h"
#include "base/file.h"
#include "base/text.h"
#include "base/token.h"
#include "http/listen.h"
#include "http/parse.h"
#include "task/task.h"

#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#define ANSWER_MS 30000 /* for an answer, besides what the tool may wait */
#define LOOK_MS 200 /* how often it looks for a signal */
#define READ_SIZE ((size_t)64 * 1024)
#define TOKEN_FILE_MAX 4096
#define DEFAULT_PORT 8766
#define RPC_BUSY (-32010) /* as mcp/wire.c has it */

/* ---- where the server is ---- */

struct place {
    union {
        struct sockaddr sa;
        struct sockaddr_un un;
        struct sockaddr_in in;
        struct sockaddr_in6 in6;
        struct sockaddr_storage any;
    } at;
    socklen_t len;
    char host[80]; /* for the fields Host and Origin */
    bool is_unix, is_here; /* is_here: on this host */
};

/* Reads "ADDRESS", "ADDRESS:PORT" or "[ADDRESS]:PORT". */
static bool
place_tcp(struct place *to, struct str text)
{
    struct str host = text, port = STR_NONE;
    const char *colon = NULL;
    uint64_t number = DEFAULT_PORT;
    char name[64];

    if (host.len > 0 && *host.p == '[') {
        host = str_from(host, 1);
        port = host;
        host = str_cut(&port, ']');
        if (port.p == NULL || (port.len > 0 && *port.p != ':'))
            return false;
        colon = port.len > 0 ? port.p : NULL;
    } else if (host.len > 0) {
        colon = memchr(host.p, ':', host.len);
        if (colon != NULL)
            host.len = (size_t)(colon - host.p);
    }
    if (colon != NULL &&
        (!str_u64((struct str){colon + 1, (size_t)(str_end(text) - colon) - 1},
                  &number) || number == 0 || number > UINT16_MAX))
        return false;
    if (str_is(host, "localhost"))
        host = STR("127.0.0.1");
    if (host.len >= sizeof name)
        return false;
    text_put(name, sizeof name, "%.*s", STR_ARG(host));
    to->len = http_tcp_address(&to->at.any, name, (uint16_t)number);
    if (to->len == 0)
        return false;
    if (to->at.sa.sa_family == AF_INET6) {
        to->is_here = memcmp(&to->at.in6.sin6_addr, &in6addr_loopback,
                             sizeof in6addr_loopback) == 0;
        text_put(to->host, sizeof to->host, "[%s]:%u", name, (unsigned)number);
    } else {
        to->is_here = *(const uint8_t *)&to->at.in.sin_addr == 127;
        text_put(to->host, sizeof to->host, "%s:%u", name, (unsigned)number);
    }
    return true;
}

/* Returns 0, or an exit code after printing the error. */
static int
find_server(const struct cli *c, struct place *to)
{
    const char *server = c->env->server;
    const char *path;
    struct str rest = str_of(server);
    bool ok;

    memset(to, 0, sizeof *to);
    if (str_starts(rest, "unix:")) {
        path = server + strlen("unix:");
        ok = *path != '\0' && strlen(path) < sizeof to->at.un.sun_path;
        to->at.un.sun_family = AF_UNIX;
        text_put(to->at.un.sun_path, sizeof to->at.un.sun_path, "%s", path);
        to->len = sizeof to->at.un;
        text_put(to->host, sizeof to->host, "localhost");
        to->is_unix = to->is_here = true;
    } else {
        if (str_starts(rest, "http://"))
            rest = str_from(rest, strlen("http://"));
        rest = str_cut(&(struct str){rest.p, rest.len}, '/');
        ok = place_tcp(to, rest);
    }
    if (!ok)
        return cli_fail(c, ERR_INVALID, "--server needs unix:PATH or a "
                        "numeric ADDRESS:PORT, for example 127.0.0.1:8766, not "
                        "\"%s\"", server);
    if (!to->is_here && !c->env->insecure)
        return cli_fail(c, ERR_INVALID, "--server %s: not on this host, and "
                        "mcptask has no TLS\nforward a port with \"ssh -L 8766:"
                        "127.0.0.1:8766 HOST\", or accept with --insecure that "
                        "others can read along", server);
    return 0;
}

/* Writes who may open the socket at path, to follow "is", and how this user
   joins them. False: there is no such file. */
static bool
service_put_closed(const char *path, char *out, size_t cap)
{
    char name[FILE_USER_MAX], me[FILE_USER_MAX];
    struct stat st;

    if (stat(path, &st) != 0)
        return false;
    if (st.st_mode & S_IWGRP)
        text_put(out, cap, "open to the group %s only; run \"sudo usermod -aG "
                 "%s %s\" and sign in again", file_group(st.st_gid, name), name,
                 file_user(geteuid(), me));
    else
        text_put(out, cap, "open to the user %s only",
                 file_user(st.st_uid, name));
    return true;
}

/* ---- the token ---- */

/* Reads the first token of the file into c->a: a line may be one of the
   server's own file. *out is empty if there is no file to read. */
static int
read_token(struct cli *c, struct str *out)
{
    const char *path = c->env->token_file, *why;
    struct str text, token = STR_NONE;
    ssize_t n = -1;
    size_t len;
    char *p;
    int fd;

    *out = STR("");
    if (path == NULL)
        return 0;
    fd = file_open_private(path, 0, &len, &why);
    if (fd < 0)
        return cli_fail(c, ERR_INVALID, "%s: %s", path, why);
    p = arena_alloc(&c->a, TOKEN_FILE_MAX);
    if (p != NULL)
        n = file_read_at(fd, p, TOKEN_FILE_MAX, 0);
    close(fd);
    if (n < 0)
        return p == NULL ? cli_fail_store(c, ERR_NOMEM)
                         : cli_fail_errno(c, ERR_INVALID, path);
    text = (struct str){p, (size_t)n};
    while (text.len > 0 && token.len == 0) {
        struct str line = str_line(&text);

        token = token_word(&line);
        for (size_t i = 0; i < token.len; i++)
            if (token.p[0] == '#' || token.p[i] <= ' ' || token.p[i] >= 0x7f)
                token.len = 0;
    }
    if (token.len == 0)
        return cli_fail(c, ERR_INVALID, "%s: has no line with a token", path);
    *out = token;
    return 0;
}

/* ---- the exchange ---- */

/* A request and what came back. */
struct talk {
    struct cli *c;
    const struct server_request *q;
    int fd;
    int64_t until; /* clock_mono_ms */
    bool sent;     /* some of the request: it may take effect */
    struct buf out, in;
    struct http_head head; /* points into in */
    size_t head_len;
};

/* Prints that the exchange failed. Returns the exit code. */
static int
fail_talk(struct talk *t, const char *what)
{
    const char *server = t->c->env->server;

    if (t->sent && t->q->writes)
        return cli_fail(t->c, ERR_UNKNOWN, "%s: %s" SERVER_MAY_HAVE_WRITTEN,
                        server, what);
    if (t->sent)
        return cli_fail(t->c, ERR_UNREACHABLE, "%s: %s\ntry again", server,
                        what);
    return cli_fail(t->c, ERR_UNREACHABLE, "%s: %s\nstart it with \"mcptask "
                    "%s\", or omit --server and MCP_TASK_SERVER where the "
                    "store is", server, what,
                    str_starts(str_of(server), "unix:") ? "--unix PATH"
                                                        : "--http");
}

static bool
is_unfinished(int err)
{
    return err == EAGAIN || err == EINTR || err == EINPROGRESS ||
           err == ENOTCONN || err == EALREADY;
}

/* Waits until the descriptor is ready. Returns 0, or an exit code. */
static int
await_ready(struct talk *t, short events)
{
    struct pollfd p = {.fd = t->fd, .events = events};
    int64_t left;
    int n = 0;

    /* A signal that comes right before a poll is seen after it. */
    while (n == 0 && !cli_interrupted()) {
        left = t->until - clock_mono_ms();
        if (left <= 0)
            return fail_talk(t, "no answer in time");
        n = poll(&p, 1, left < LOOK_MS ? (int)left : LOOK_MS);
        if (n < 0 && errno != EINTR)
            return fail_talk(t, strerror(errno));
        n = n < 0 ? 0 : n;
    }
    return n > 0 ? 0 : CLI_NOT_MET;
}

static int
connect_server(struct talk *t, const struct place *to)
{
    char closed[200];
    int err;

    t->fd = socket(to->at.sa.sa_family, SOCK_STREAM, 0);
    if (t->fd < 0 || !http_prepare_fd(t->fd))
        return fail_talk(t, strerror(errno));
    if (!to->is_unix)
        http_prepare_tcp(t->fd);
    if (connect(t->fd, &to->at.sa, to->len) == 0)
        return 0;
    /* TCP may still be connecting, and the first write tells how that ended. A
       Unix socket connects at once, unless its queue is full. */
    err = errno;
    if (!to->is_unix && is_unfinished(err))
        return 0;
    /* That of a service may be one that only a group may open. */
    if (err == EACCES && to->is_unix &&
        service_put_closed(to->at.un.sun_path, closed, sizeof closed))
        return cli_fail(t->c, ERR_UNREACHABLE, "%s: %s", t->c->env->server,
                        closed);
    return fail_talk(t, strerror(err));
}

/* Without tokens a server takes a request with its own Origin for one of its
   page, and so of a person. */
static void
put_http_request(struct talk *t, const struct place *to, struct str token)
{
    const struct server_request *q = t->q;
    struct buf *b = &t->out;

    if (q->path != NULL) {
        buf_printf(b, "GET %s HTTP/1.1\r\nHost: %s\r\nConnection: close\r\n",
                   q->path, to->host);
        if (token.len > 0)
            buf_printf(b, "Authorization: Bearer %.*s\r\n", STR_ARG(token));
        buf_z(b, "\r\n");
        return;
    }
    buf_printf(b, "POST /mcp HTTP/1.1\r\nHost: %s\r\nConnection: close\r\n"
               "Content-Type: application/json\r\n"
               "Accept: application/json, text/event-stream\r\n", to->host);
    if (q->batch)
        buf_z(b, "MCP-Protocol-Version: " BATCH_REV "\r\n");
    else
        buf_printf(b, "MCP-Protocol-Version: " SERVER_REV "\r\n"
                   "Mcp-Method: %s\r\n", q->method);
    if (q->name.p != NULL)
        buf_printf(b, "Mcp-Name: %.*s\r\n", STR_ARG(q->name));
    if (token.len > 0)
        buf_printf(b, "Authorization: Bearer %.*s\r\n", STR_ARG(token));
    else if (q->person)
        buf_printf(b, "Origin: http://%s\r\n", to->host);
    buf_printf(b, "Content-Length: %zu\r\n\r\n", q->body.len);
    buf_str(b, q->body);
}

static int
send_all(struct talk *t)
{
    size_t at = 0;
    int rc = 0;

    while (rc == 0 && at < t->out.len) {
        ssize_t n;

        rc = await_ready(t, POLLOUT);
        if (rc != 0)
            break;
        n = send(t->fd, t->out.p + at, t->out.len - at, MSG_NOSIGNAL);
        if (n > 0) {
            at += (size_t)n;
            t->sent = true;
        } else if (n < 0 && t->sent &&
                   (errno == EPIPE || errno == ECONNRESET)) {
            break; /* it may have answered, and not read the rest */
        } else if (n < 0 && !is_unfinished(errno)) {
            rc = fail_talk(t, strerror(errno));
        }
    }
    return rc;
}

/* Receives what has come, after in.len. Returns how many bytes; 0: the end; or
   -1 after *rc was set. */
static ssize_t
receive(struct talk *t, int *rc)
{
    ssize_t n = -1;
    char *p;

    do {
        *rc = await_ready(t, POLLIN);
        if (*rc != 0)
            return -1;
        p = buf_room(&t->in, READ_SIZE);
        if (p == NULL) {
            *rc = cli_fail_store(t->c, ERR_NOMEM);
            return -1;
        }
        n = recv(t->fd, p, READ_SIZE, 0);
    } while (n < 0 && is_unfinished(errno));
    if (n < 0)
        *rc = fail_talk(t, strerror(errno));
    return n;
}

static int
receive_head(struct talk *t)
{
    struct http_scan scan = {0};
    int n = ERR_INCOMPLETE, rc;
    ssize_t got;

    while (n == ERR_INCOMPLETE) {
        got = receive(t, &rc);
        if (got < 0)
            return rc;
        if (got == 0)
            return fail_talk(t, "it closed the connection without an answer");
        t->in.len += (size_t)got;
        n = http_parse_answer(&scan, t->in.p, t->in.len, &t->head);
    }
    if (n < 0)
        return fail_talk(t, "its answer is not HTTP, or is too long");
    t->head_len = (size_t)n;
    return 0;
}

/* Receives the body: *body points into in. The fields of the head are needed no
   more. */
static int
receive_body(struct talk *t, struct str *body)
{
    bool chunked = t->head.chunked, done = !chunked;
    size_t length = t->head.content_length, start = t->head_len;
    size_t got = t->in.len - start, data;
    struct http_chunks chunks = {0};
    ssize_t n;
    int rc;

    t->in.len = start;
    for (;;) {
        data = got;
        if (chunked) {
            rc = http_parse_chunks(&chunks, t->in.p + t->in.len, got, &data,
                                   &done);
            if (rc < 0)
                return fail_talk(t, rc == ERR_TOO_LARGE
                                        ? "its answer is too long"
                                        : "its answer is malformed");
        }
        t->in.len += data;
        if (done && (chunked || t->in.len - start >= length))
            break;
        n = receive(t, &rc);
        if (n < 0)
            return rc;
        if (n == 0)
            return fail_talk(t, "it closed the connection in the middle of "
                             "its answer");
        got = (size_t)n;
    }
    *body = (struct str){t->in.p + start, chunked ? t->in.len - start : length};
    return 0;
}

/* ---- the answer ---- */

/* The answer to our request, or those to a batch, if text is that; else
   NULL. */
static const struct json_tok *
answer_in(struct talk *t, struct str text)
{
    const struct json_tok *root;
    int64_t id;

    if (json_parse(&t->c->a, text, &root, NULL) != 0)
        return NULL;
    if (t->q->batch && root->type == JSON_ARRAY)
        return root;
    if (json_get(root, "result") == NULL && json_get(root, "error") == NULL)
        return NULL;
    /* A request that could not be read is answered without its id. */
    return !json_int(json_get(root, "id"), &id) || id == 1 ? root : NULL;
}

/* The answer among the events of a stream. Its events have one line of data,
   as JSON needs no more. */
static const struct json_tok *
answer_in_stream(struct talk *t, struct str body)
{
    const struct json_tok *root = NULL;

    while (root == NULL && body.len > 0) {
        struct str line = str_cut(&body, '\n');

        if (str_starts(line, "data:"))
            root = answer_in(t, str_trim(str_from(line, strlen("data:"))));
    }
    return root;
}

/* Whether the answer is that of a proxy that lost the server or waited too
   long, so the request may have taken effect. After a 503 it has not run. */
static bool
is_lost(int status)
{
    return status >= 500 && status != 503;
}

/* Prints that the request was refused before a tool saw it, or was lost. */
static int
fail_status(struct talk *t, int status, struct str body)
{
    struct cli *c = t->c;
    const char *server = c->env->server;
    char what[256];

    if (status == 401 && c->env->token_file == NULL)
        return cli_fail(c, ERR_UNAUTHORIZED, "%s: needs a token\nput it into a "
                        "file of mode 0600 and pass that with --token-file or "
                        "MCP_TASK_TOKEN_FILE", server);
    if (status == 401)
        return cli_fail(c, ERR_UNAUTHORIZED, "%s: unknown token in "
                        "%s", server, c->env->token_file);
    if (body.len > 200)
        body.len = 200;
    body = str_trim(body);
    text_put(what, sizeof what, "answered with status %d%s%.*s", status,
             body.len > 0 ? ": " : "", STR_ARG(body));
    if (is_lost(status))
        return fail_talk(t, what);
    return cli_fail(c, status == 429 || status == 503 ? ERR_BUSY : ERR_IO,
                    "%s: %s", server, what);
}

static int
read_reply(struct talk *t, const struct json_tok **root)
{
    bool stream = http_is_type(http_field_of(&t->head, "content-type"),
                               "text/event-stream");
    int status = t->head.status, rc;
    struct str body;

    rc = receive_body(t, &body);
    if (rc != 0)
        return rc;
    body = arena_str(&t->c->a, body);
    if (body.p == NULL)
        return cli_fail_store(t->c, ERR_NOMEM);
    if (t->q->path != NULL) /* it says so itself where it is not well */
        *root = json_parse(&t->c->a, body, root, NULL) == 0 ? *root : NULL;
    else
        *root = stream ? answer_in_stream(t, body) : answer_in(t, body);
    if (*root != NULL && !is_lost(status) && status != 401)
        return 0;
    if (status != 200)
        return fail_status(t, status, body);
    return fail_talk(t, "its answer is not one of MCP");
}

/* How long the server wants to be left alone, of a request above its rate,
   which it has not run; 0: it is another answer. */
static int
pause_ms(const struct json_tok *error)
{
    int64_t ms, code;

    if (!json_int(json_get(error, "code"), &code) || code != RPC_BUSY ||
        !json_int(json_get(json_get(error, "data"), "retryAfterMs"), &ms))
        return 0;
    return ms < 1 || ms > 1000 ? 1000 : (int)ms;
}

/* One connection, one request. */
static int
ask_once(struct cli *c, const struct server_request *q, int64_t until,
         const struct json_tok **result, const struct json_tok **error)
{
    struct talk t = {.c = c, .q = q, .fd = -1, .until = until};
    const struct json_tok *root = NULL;
    struct place to;
    struct str token;
    bool whole;
    int rc = find_server(c, &to);

    if (rc == 0)
        rc = read_token(c, &token);
    if (rc == 0)
        put_http_request(&t, &to, token);
    if (rc == 0 && t.out.err != 0)
        rc = cli_fail_store(c, ERR_NOMEM);
    if (rc == 0)
        rc = connect_server(&t, &to);
    if (rc == 0)
        rc = send_all(&t);
    if (rc == 0)
        rc = receive_head(&t);
    if (rc == 0)
        rc = read_reply(&t, &root);
    if (t.fd >= 0)
        close(t.fd);
    buf_fini(&t.out);
    buf_fini(&t.in);
    whole = q->path != NULL || (root != NULL && root->type == JSON_ARRAY);
    *result = whole ? root : json_get(root, "result");
    *error = *result != NULL ? NULL : json_get(root, "error");
    return rc;
}

int
server_ask(struct cli *c, const struct server_request *q,
           const struct json_tok **result, const struct json_tok **error)
{
    int64_t until = clock_mono_ms() + ANSWER_MS + (int64_t)q->wait_s * 1000;
    int rc, ms;

    if (c->answer_by != 0)
        until = c->answer_by;
    for (;;) {
        rc = ask_once(c, q, until, result, error);
        ms = pause_ms(*error);
        if (rc != 0 || ms == 0 || clock_mono_ms() + ms >= until)
            return rc;
        poll(NULL, 0, ms);
        if (cli_interrupted())
            return CLI_NOT_MET;
    }
}

/* ---- a service of this machine ---- */

/* A user whose agents use the service finds an empty store with a command that
   asks no server: nothing else would say why. The places are those of the units
   in packaging; each of them has the store at SERVICE_STORE. */

#define SERVICE_SOCKET "/run/mcptask/socket" /* of mcptask-group.socket */
#define SERVICE_STORE "/var/lib/mcptask"
#define SERVICE_PORT "127.0.0.1:8766"

bool
service_find(const struct cli *c, struct service *out)
{
    struct str log = str_of(c->env->log_path);
    struct stat st;

    *out = (struct service){.server = NULL};
    /* With DynamicUser its store is elsewhere. */
    if (str_starts(log, SERVICE_STORE "/") ||
        str_starts(log, "/var/lib/private/mcptask/"))
        return false;
    if (stat(SERVICE_SOCKET, &st) == 0 && S_ISSOCK(st.st_mode)) {
        out->server = "unix:" SERVICE_SOCKET;
        if (access(SERVICE_SOCKET, W_OK) != 0)
            service_put_closed(SERVICE_SOCKET, out->closed,
                               sizeof out->closed);
    } else if (lstat(SERVICE_STORE, &st) == 0) {
        out->server = SERVICE_PORT;
    }
    return out->server != NULL;
}

void
service_hint(struct cli *c)
{
    struct service s;
    uint64_t n = 0;

    if (c->s.store == NULL || c->env->remote != NULL || c->json ||
        env_get("MCP_TASK_BASE_DIR") != NULL ||
        env_get("MCP_TASK_DB_PATH") != NULL ||
        cli_terminal(STDERR_FILENO) == 0)
        return;
    for (int status = 0; status < TASK_N_STATUSES; status++)
        n += tasks_count(c->s.tasks, (enum task_status)status);
    if (n > 0 || !service_find(c, &s))
        return;
    if (s.closed[0] != '\0')
        cli_fail(c, 0, "this store is empty; this machine's service is %s",
                 s.closed);
    else
        cli_fail(c, 0, "this store is empty; for the tasks of this machine's "
                 "service, run \"mcptask --server %s %s\"", s.server,
                 c->cmd->store & SERVED ? c->cmd->name : "list");
}
