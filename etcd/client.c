/* client - requests to etcd's JSON gateway.

   It keeps one connection, to the endpoint that answered last, and sends the
   same request to the next endpoint whenever an attempt fails. The first
   endpoint is the node of this host: it is tried again one minute after it
   failed. One table, rows, has the meaning of each answer.

   Invariants:
   1. The descriptor is non-blocking and below FD_SETSIZE, so no call blocks and
      select can hold it.
   2. e->maybe: some attempt may have taken effect, or may do so later. This
      holds from the first byte sent until a whole answer denies it. While it
      holds, the request ends with ERR_UNKNOWN unless an answer is 200.
   3. A connection is kept only after a whole answer with nothing after it, and
      used again only while nothing has come on it since.
   4. Between a begin and its end, e->due is set and not past e->deadline.
   5. Nothing an endpoint sends reaches a header field unchecked.
   6. A step reads once: an endpoint that sends without end leaves time for
      everything else. */

#include "etcd/client.h"
#include "base/clock.h"
#include "base/text.h"
#include "http/listen.h"
#include "json.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <unistd.h>

#define HOME_MS (60 * 1000)
#define FIRST_MS 1000 /* without progress, until each endpoint was tried */
#define LATER_MS 2000 /* after that */
#define PAUSE_MIN_MS 10
#define PAUSE_MAX_MS 200
#define READ_SIZE ((size_t)64 * 1024)
#define KEEP ((size_t)256 * 1024) /* of each buffer, between requests */
#define MAX_TOKEN 4096

enum phase { IDLE, PAUSE, SEND, HEAD, BODY };

struct endpoint {
    char name[56]; /* as given */
    struct sockaddr_storage address;
    socklen_t len;
};

struct etcd {
    struct endpoint at[ETCD_MAX_ENDPOINTS];
    unsigned n, cur;
    int64_t home_ms; /* when to try the first one again */
    struct buf login; /* the body that authenticates; empty: no user */
    struct buf token;
    struct arena arena; /* of what was parsed last */

    /* the request */
    const char *path;
    struct buf body;
    int64_t deadline;
    int64_t begun_us, trip_us; /* of the attempt; of others, smoothed */
    unsigned tries;   /* attempts that failed */
    int64_t pause_ms; /* the next one */
    bool maybe;
    bool alone;       /* no other endpoint is tried, and this one once */
    bool logging_in;  /* this attempt authenticates, for the request */
    bool logged_in;   /* an attempt did so */

    /* the attempt */
    enum phase phase;
    int fd; /* -1: no connection */
    int64_t due;
    struct buf out, in;
    size_t sent;
    struct http_scan scan;
    struct http_chunks chunks;
    bool chunked, keep;
    int status;
    size_t length; /* of the body, if not chunked */
    int64_t skew_ms;
    char why[256];
};

/* What to do after an error that had no effect and is not the result. */
enum { RETRY = 1, /* after a pause, at the next endpoint */
       LOGIN };   /* after authentication */

/* What the gateway's errors mean: the first row with this code whose text is in
   the message. After any other code the request may have taken effect, and is
   sent again after a pause. The status is not looked at. */
static const struct {
    int8_t code; /* of gRPC; 0: the answer is not the gateway's */
    int8_t then;
    const char *text;
} rows[] = {
    {0, ERR_FORMAT, ""},
    {3, LOGIN, "user name is empty"},
    {3, LOGIN, "auth store is old"},
    {3, ERR_TOO_LARGE, "too large"},
    {3, ERR_TOO_LARGE, "too many operations"},
    {3, ERR_INVALID, ""},
    {5, ERR_NOT_FOUND, ""}, /* a lease */
    {7, ERR_READONLY, ""},
    {8, ERR_FULL, "space exceeded"},
    {8, ERR_TOO_LARGE, "larger than max"},
    {8, RETRY, "too many requests"},
    {9, ERR_INVALID, ""},   /* a lease exists */
    {11, ERR_INVALID, ""},  /* a revision is compacted, or not yet there */
    {12, ERR_FORMAT, ""},   /* a proxy without this service */
    {16, LOGIN, ""},
};

/* ---- the ends of attempts and requests ---- */

static void
disconnect(struct etcd *e)
{
    if (e->fd >= 0)
        close(e->fd);
    e->fd = -1;
}

/* Ends the request. */
static int
finish_request(struct etcd *e, int rc)
{
    e->phase = IDLE;
    return rc != 0 && e->maybe ? ERR_UNKNOWN : rc;
}

static void
set_why(struct etcd *e, const char *what)
{
    text_put(e->why, sizeof e->why, "%s: %s", e->at[e->cur].name, what);
}

static int
end_nomem(struct etcd *e)
{
    set_why(e, "out of memory");
    return finish_request(e, ERR_NOMEM);
}

/* Schedules an attempt, after a pause that may be 0. */
static int
schedule_attempt(struct etcd *e, int64_t pause_ms)
{
    e->due = clock_mono_ms() + pause_ms;
    if (e->due > e->deadline)
        e->due = e->deadline;
    e->phase = PAUSE;
    return 1;
}

/* Goes on to the next endpoint. Pauses first if the caller wants it, or if each
   endpoint has been tried. */
static int
try_next_endpoint(struct etcd *e, bool maybe, bool pause)
{
    int64_t ms = e->pause_ms;

    disconnect(e);
    e->maybe = e->maybe || (maybe && !e->logging_in);
    if (e->alone)
        return finish_request(e, ERR_UNREACHABLE);
    if (e->cur == 0)
        e->home_ms = clock_mono_ms() + HOME_MS;
    e->cur = (e->cur + 1) % e->n;
    e->tries++;
    if (!pause && e->tries % e->n != 0)
        return schedule_attempt(e, 0);
    e->pause_ms = ms * 2 < PAUSE_MAX_MS ? ms * 2 : PAUSE_MAX_MS;
    return schedule_attempt(e, ms);
}

/* The connection failed, or what came on it is no answer. */
static int
lose_connection(struct etcd *e, const char *what)
{
    set_why(e, what);
    return try_next_endpoint(e, e->sent > 0, false);
}

/* No gateway answers here; one may elsewhere. */
static int
reject_endpoint(struct etcd *e)
{
    int rc = try_next_endpoint(e, false, false);

    if (e->alone || (rc > 0 && e->tries >= e->n))
        return finish_request(e, ERR_FORMAT);
    return rc;
}

static bool
is_later(int err)
{
    return err == EAGAIN || err == EINTR || err == EINPROGRESS ||
           err == ENOTCONN || err == EALREADY;
}

/* There is progress: the endpoint's time begins again. A node without a leader
   never answers, so each endpoint is tried soon. */
static void
extend_due(struct etcd *e)
{
    e->due = clock_mono_ms() + (e->tries < e->n ? FIRST_MS : LATER_MS);
    if (e->due > e->deadline)
        e->due = e->deadline;
}

/* ---- sending ---- */

/* Opens a connection to the endpoint in use. 0 or errno. The first write shows
   whether it was made. */
static int
open_connection(struct etcd *e)
{
    const struct endpoint *to = &e->at[e->cur];

    e->fd = socket(to->address.ss_family, SOCK_STREAM, 0);
    if (e->fd < 0)
        return errno;
    if (e->fd >= FD_SETSIZE)
        return EMFILE;
    if (!http_prepare_fd(e->fd))
        return errno;
    http_prepare_tcp(e->fd);
    if (connect(e->fd, (const struct sockaddr *)&to->address, to->len) != 0 &&
        !is_later(errno))
        return errno;
    return 0;
}

static void
write_request(struct etcd *e, const char *path, struct str body)
{
    buf_reset(&e->out, KEEP);
    buf_printf(&e->out, "%s %s HTTP/1.1\r\nHost: %s\r\n",
               body.len > 0 ? "POST" : "GET", path, e->at[e->cur].name);
    if (e->token.len > 0 && !e->logging_in)
        buf_printf(&e->out, "Authorization: %.*s\r\n",
                   STR_ARG(buf_view(&e->token)));
    buf_printf(&e->out, "Content-Length: %zu\r\n\r\n", body.len);
    buf_str(&e->out, body);
}

static int
start_attempt(struct etcd *e)
{
    int64_t now = clock_mono_ms();
    char byte;
    int rc;

    if (now < e->due)
        return ERR_PENDING;
    e->skew_ms = 0;
    if (now >= e->deadline)
        return finish_request(e, ERR_UNREACHABLE);
    e->sent = 0;
    e->begun_us = clock_mono_us();
    if (e->logging_in)
        write_request(e, "/v3/auth/authenticate", buf_view(&e->login));
    else
        write_request(e, e->path, buf_view(&e->body));
    if (e->out.err != 0)
        return end_nomem(e);
    /* A kept connection is good if its other end has neither closed it nor sent
       anything. */
    if (e->fd >= 0 &&
        (recv(e->fd, &byte, 1, MSG_PEEK) >= 0 || !is_later(errno)))
        disconnect(e);
    rc = e->fd < 0 ? open_connection(e) : 0;
    if (rc != 0)
        return lose_connection(e, strerror(rc));
    extend_due(e);
    e->phase = SEND;
    return 1;
}

static int
send_more(struct etcd *e)
{
    ssize_t n = send(e->fd, e->out.p + e->sent, e->out.len - e->sent,
                     MSG_NOSIGNAL);

    if (n < 0)
        return is_later(errno) ? ERR_PENDING
                               : lose_connection(e, strerror(errno));
    e->sent += (size_t)n;
    extend_due(e);
    if (e->sent == e->out.len) {
        buf_reset(&e->in, KEEP);
        e->scan = (struct http_scan){0};
        e->chunks = (struct http_chunks){0};
        e->phase = HEAD;
    }
    return 1;
}

/* ---- what an answer means ---- */

/* Notes the token in an answer to a login; "": the cluster needs none. */
static int
keep_token(struct etcd *e, struct str token)
{
    size_t i;

    for (i = 0; i < token.len && token.p[i] > ' ' && token.p[i] < 0x7f; i++)
        ;
    if (i < token.len || i > MAX_TOKEN)
        return lose_connection(e, "not a token");
    buf_reset(&e->token, KEEP);
    buf_str(&e->token, token);
    if (e->token.err != 0)
        return end_nomem(e);
    e->logging_in = false;
    return schedule_attempt(e, 0);
}

static int
handle_login(struct etcd *e, const struct json_tok *root, int64_t code)
{
    struct str token = json_str(&e->arena, json_get(root, "token"));

    if (e->status == 200 && token.len > 0)
        return keep_token(e, token);
    if (code == 9) /* authentication is not enabled */
        return keep_token(e, STR_NONE);
    if (code == 3)
        return finish_request(e, ERR_UNAUTHORIZED);
    return try_next_endpoint(e, false, true);
}

static int
handle_error(struct etcd *e, int64_t code)
{
    size_t i = 0;

    if (code == 0 && e->status >= 500) /* a proxy's */
        return try_next_endpoint(e, true, true);
    while (i < sizeof rows / sizeof *rows &&
           (rows[i].code != code || strstr(e->why, rows[i].text) == NULL))
        i++;
    if (i == sizeof rows / sizeof *rows || rows[i].then == RETRY)
        return try_next_endpoint(e, i == sizeof rows / sizeof *rows, true);
    if (rows[i].then == ERR_FORMAT)
        return reject_endpoint(e);
    if (rows[i].then != LOGIN)
        return finish_request(e, rows[i].then);
    if (e->login.len == 0 || e->logged_in) /* once for each request */
        return finish_request(e, ERR_UNAUTHORIZED);
    e->logging_in = e->logged_in = true;
    return schedule_attempt(e, 0);
}

/* An answer is whole. */
static int
handle_answer(struct etcd *e)
{
    const struct json_tok *root = NULL, *message;
    int64_t code = 0, took = clock_mono_us() - e->begun_us;
    char what[128];

    e->trip_us = e->trip_us == 0 ? took : (7 * e->trip_us + took) / 8;
    if (e->status == 200 && !e->logging_in && str_starts(buf_view(&e->in), "{"))
        return finish_request(e, 0);
    arena_reset(&e->arena);
    if (json_parse(&e->arena, buf_view(&e->in), &root, NULL) == ERR_NOMEM)
        return lose_connection(e, "out of memory");
    if (!json_int(json_get(root, "code"), &code))
        code = 0;
    message = json_get(root, "message");
    if (message != NULL && message->type == JSON_STRING)
        text_put(what, sizeof what, "%.*s", (int)message->len, message->p);
    else
        text_put(what, sizeof what, "status %d: etcd's JSON gateway does not "
                 "answer on this port", e->status);
    set_why(e, what);
    return e->logging_in ? handle_login(e, root, code) : handle_error(e, code);
}

/* ---- receiving ---- */

/* The endpoint's clock minus this one, from "Sun, 22 Nov 2026 17:56:29 GMT". */
static int64_t
skew_of(struct str date)
{
    static const char months[] = "JanFebMarAprMayJunJulAugSepOctNovDec";
    char text[32], month[4] = "";
    const char *at;
    int64_t ms;

    if (date.len != 29)
        return 0;
    memcpy(month, date.p + 8, 3);
    at = strstr(months, month);
    text_put(text, sizeof text, "%.4s-%02d-%.2sT%.8sZ", date.p + 12,
             at != NULL ? (int)(at - months) / 3 + 1 : 0, date.p + 5,
             date.p + 17);
    /* Its milliseconds were cut off: 500 on average. */
    return time_parse(str_of(text), &ms) ? ms + 500 - clock_wall_ms() : 0;
}

/* n more bytes have come, after in.len: some or all of the body. */
static int
add_body(struct etcd *e, size_t n)
{
    size_t used = e->length - e->in.len, data;
    bool done;
    int rc;

    if (e->chunked) {
        rc = http_parse_chunks(&e->chunks, e->in.p + e->in.len, n, &data,
                               &done);
        if (rc == ERR_TOO_LARGE) {
            disconnect(e);
            set_why(e, "the answer is too large");
            return finish_request(e, rc);
        }
        if (rc < 0)
            return lose_connection(e, "the answer is malformed");
        used = (size_t)rc;
    } else {
        used = data = n < used ? n : used;
        done = e->in.len + data == e->length;
    }
    e->in.len += data;
    if (!done)
        return 1;
    if (!e->keep || used < n)
        disconnect(e);
    return handle_answer(e);
}

static int
receive_answer(struct etcd *e)
{
    char *p = buf_room(&e->in, READ_SIZE);
    ssize_t n = p != NULL ? recv(e->fd, p, READ_SIZE, 0) : 0;
    struct http_head head;
    size_t rest;
    int len;

    if (p == NULL)
        return lose_connection(e, "out of memory");
    if (n < 0)
        return is_later(errno) ? ERR_PENDING
                               : lose_connection(e, strerror(errno));
    if (n == 0)
        return lose_connection(e, "the connection was closed without an "
                                  "answer");
    extend_due(e);
    if (e->phase == BODY)
        return add_body(e, (size_t)n);
    e->in.len += (size_t)n;
    len = http_parse_answer(&e->scan, e->in.p, e->in.len, &head);
    if (len == ERR_INCOMPLETE)
        return 1;
    if (len < 0 && *e->in.p != 'H') {
        set_why(e, "this port does not speak HTTP");
        return reject_endpoint(e);
    }
    if (len < 0)
        return lose_connection(e, "the answer is malformed");
    e->status = head.status;
    e->chunked = head.chunked;
    e->length = head.content_length;
    e->keep = head.keep_alive;
    e->skew_ms = skew_of(http_field_of(&head, "date"));
    buf_consume(&e->in, (size_t)len);
    rest = e->in.len;
    e->in.len = 0;
    e->phase = BODY;
    return add_body(e, rest);
}

/* ---- what the header declares ---- */

static bool
read_endpoint(struct endpoint *to, struct str text)
{
    struct str host = text, port;
    char name[sizeof to->name];
    uint64_t number;

    while (host.len > 0 && host.p[host.len - 1] != ':')
        host.len--;
    port = str_from(text, host.len);
    host.len -= host.len > 0;
    if (host.len > 2 && *host.p == '[' && host.p[host.len - 1] == ']')
        host = (struct str){host.p + 1, host.len - 2};
    if (text.len >= sizeof to->name || !str_u64(port, &number) || number == 0 ||
        number > UINT16_MAX)
        return false;
    text_put(name, sizeof name, "%.*s", STR_ARG(host));
    text_put(to->name, sizeof to->name, "%.*s", STR_ARG(text));
    to->len = http_tcp_address(&to->address, name, (uint16_t)number);
    return to->len > 0 &&
           (to->address.ss_family == AF_INET6) == (*text.p == '[');
}

int
etcd_new(struct etcd **out, const struct etcd_options *o, char why[256])
{
    struct etcd *e = calloc(1, sizeof *e);
    struct str list = o->endpoints, one;
    struct json_w w;
    int rc = 0;

    text_put(why, 256, "out of memory");
    if (e == NULL)
        return ERR_NOMEM;
    e->fd = -1;
    if (o->user.len > 0) {
        json_begin(&w, &e->login);
        json_put_str(&w, "name", o->user);
        json_put_str(&w, "password", o->password);
        json_end(&w);
        rc = e->login.err != 0 ? ERR_NOMEM : 0;
    }
    while (rc == 0 && list.p != NULL) {
        one = str_cut(&list, ',');
        text_put(why, 256, "'%.*s': not an endpoint such as 127.0.0.1:2379 or "
                 "[::1]:2379",
                 (int)(one.len < 64 ? one.len : 64), one.p);
        if (e->n == ETCD_MAX_ENDPOINTS)
            text_put(why, 256, "more than %d endpoints", ETCD_MAX_ENDPOINTS);
        if (e->n == ETCD_MAX_ENDPOINTS || !read_endpoint(&e->at[e->n], one))
            rc = ERR_INVALID;
        e->n++;
    }
    if (rc != 0)
        etcd_free(e);
    else
        *out = e;
    return rc;
}

void
etcd_free(struct etcd *e)
{
    if (e == NULL)
        return;
    disconnect(e);
    buf_fini(&e->login);
    buf_fini(&e->token);
    buf_fini(&e->body);
    buf_fini(&e->out);
    buf_fini(&e->in);
    arena_fini(&e->arena);
    free(e);
}

static int
begin_at(struct etcd *e, unsigned i, const char *path, struct str body,
         int64_t budget_ms)
{
    ASSERT(e->phase == IDLE);
    if (e->cur != i)
        disconnect(e);
    e->cur = i;
    e->path = path;
    buf_reset(&e->body, KEEP);
    buf_str(&e->body, body);
    if (e->body.err != 0)
        return ERR_NOMEM;
    e->deadline = clock_mono_ms() + budget_ms;
    e->tries = 0;
    e->pause_ms = PAUSE_MIN_MS;
    e->alone = e->maybe = e->logging_in = e->logged_in = false;
    set_why(e, "no answer in time");
    schedule_attempt(e, 0);
    return 0;
}

int
etcd_begin(struct etcd *e, const char *path, struct str body,
           int64_t budget_ms)
{
    bool home = clock_mono_ms() >= e->home_ms;

    return begin_at(e, home ? 0 : e->cur, path, body, budget_ms);
}

int
etcd_begin_at(struct etcd *e, unsigned i, const char *path, struct str body,
              int64_t budget_ms)
{
    int rc = begin_at(e, i, path, body, budget_ms);

    e->alone = true;
    return rc;
}

int
etcd_step(struct etcd *e, struct etcd_answer *out)
{
    bool reads;
    int rc;

    do {
        reads = e->phase > SEND;
        switch (e->phase) {
        case IDLE:
            rc = ERR_PENDING;
            break;
        case PAUSE:
            rc = start_attempt(e);
            break;
        case SEND:
            rc = send_more(e);
            break;
        default:
            rc = receive_answer(e);
        }
        if (rc > 0 && reads) /* invariant 6 */
            rc = ERR_PENDING;
        if (rc == ERR_PENDING && e->phase >= SEND &&
            clock_mono_ms() >= e->due) {
            /* If etcd was restored or set up again, it answers an old token
               only once its log is as long as it was: a new one is better. */
            if (e->alone || e->tries > 0)
                buf_reset(&e->token, KEEP);
            rc = lose_connection(e, "no answer in time");
        }
    } while (rc > 0);
    *out = (struct etcd_answer){STR_NONE, "", e->skew_ms, e->maybe};
    if (rc == 0)
        out->body = buf_view(&e->in);
    else if (rc != ERR_PENDING)
        out->why = e->why;
    return rc;
}

void
etcd_cancel(struct etcd *e)
{
    if (e->phase == IDLE)
        return;
    disconnect(e);
    e->phase = IDLE;
}

int
etcd_watch(const struct etcd *e, bool *write, int64_t *due_ms)
{
    *write = e->phase == SEND;
    *due_ms = e->phase == IDLE ? INT64_MAX : e->due;
    return e->phase >= SEND ? e->fd : -1;
}

const char *
etcd_endpoint(const struct etcd *e)
{
    return e->at[e->cur].name;
}

int64_t
etcd_trip_us(const struct etcd *e)
{
    return e->trip_us;
}

unsigned
etcd_places(const struct etcd *e)
{
    return e->n;
}
