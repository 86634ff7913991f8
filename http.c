/* http - an HTTP/1.1 server on the loop.

   A connection serves one request at a time: head, body, the handler's turn,
   reply. It looks for the next head only when the reply is sent. It never
   guesses where a request ends: after a client's error, or a reply sent before
   the body was read, the connection closes. Further input is read and discarded
   for a while, since a reset could destroy the reply before the client reads
   it. It never sends two replies to a request, nor half an event: if memory
   runs out, the connection is closed.

   Invariants:
   1. A connection is in the table from accept until free_conn; its fd is closed
      and its state DEAD from http_drop on. Only free_conn calls the handler's
      closed, and only run_todo, called by the loop, calls free_conn. Reply
      functions never do.
   2. Reply functions call no other handler function either: after a reply, the
      next request waits for run_todo.
   3. An idle connection has no buffers and no head.
   4. In a turn of the loop a connection gets one read, of at most 64 KiB, and
      one request. Only run_todo, which runs once in a turn, passes requests to
      the handler. Those that a client has sent ahead wait for the next turns,
      which do not sleep, and it is not read meanwhile. So it delays others by
      one request, however many it sends.
   5. Between request and the end of the reply in.p does not move, and nothing
      before in.len changes: reading continues only in the remaining room.
   6. counts.held, the memory of all buffers, is at most HTTP_BUDGET. Half of
      that is divided among the connections, so that a small request always has
      room. What exceeds a connection's part comes out of the other half. All
      connections with the same who together may use HTTP_MAX_BODY of it. A body
      that does not fit is refused. So all input has room, and output uses what
      that leaves: beyond it, the slowest reader is dropped.
   7. What may be read depends on the connection alone: no connection waits for
      memory that another one holds.
   8. A whole reply is written immediately, with a single write if the socket
      accepts all of it. Events on a stream are sent at the end of the loop's
      turn or of the stream, so an answer of three events also takes one
      write. */

#include "http.h"
#include "http/conn.h"
#include "http/listen.h"
#include "base/file.h"
#include "base/text.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <unistd.h>

#define ACCEPTS 32               /* accepted in one turn */
/* Descriptors that are not connections. */
#define OTHER_FDS (FD_SETSIZE - HTTP_MAX_CONNECTIONS)
#define SWEEP_MS 1000
#define LINGER_MS 2000
#define RESERVED 4 /* one slot in so many is for known clients */
#define READ_LEN ((size_t)4096)
#define BODY_READ ((size_t)64 * 1024)
#define CHUNK_END 64 /* bytes, to read the end of a body in chunks */

/* ---- a connection ---- */

/* Makes the loop flush c, take its next request, or free it. */
static void
queue_conn(struct http_conn *c)
{
    struct http *s = c->server;

    if (c->queued)
        return;
    if (s->todo == NULL)
        loop_timer_set(s->loop, &s->todo_timer, loop_now(s->loop));
    c->queued = true;
    c->next = s->todo;
    s->todo = c;
}

/* Notes the time of progress on c. */
static void
touch_conn(struct http_conn *c)
{
    c->since_ms = loop_now(c->server->loop);
}

/* The request stays until free_conn: a handler may still be
   reading it. */
void
http_drop(struct http_conn *c)
{
    struct http *s = c->server;

    if (c->state == DEAD)
        return;
    s->counts.streams -= c->state == STREAM;
    s->counts.held -= c->held;
    c->held = 0;
    c->state = DEAD;
    loop_watch(s->loop, c->fd, 0, NULL, NULL);
    close(c->fd);
    buf_fini(&c->out);
    c->sent = 0;
    queue_conn(c);
}

/* ---- the budget, and which events to wait for ---- */

/* Drops the connection with the most unsent bytes, streams before others.
   False: all is sent. */
static bool
drop_slowest(struct http *s)
{
    struct http_conn *worst = NULL;
    size_t most = 0, n;

    for (unsigned i = 0; i < s->counts.open; i++) {
        n = conn_unsent(s->conn[i]);
        if (n > 0 && s->conn[i]->state == STREAM)
            n += HTTP_BUDGET;
        if (n > most) {
            most = n;
            worst = s->conn[i];
        }
    }
    if (worst != NULL)
        http_drop(worst);
    return worst != NULL;
}

/* Invariant 6: this may drop c or others. */
static void
account_memory(struct http_conn *c)
{
    struct http *s = c->server;
    size_t held = c->in.cap + c->out.cap;

    s->counts.held += held - c->held;
    c->held = held;
    while (s->counts.held > HTTP_BUDGET && drop_slowest(s))
        ;
}

/* Whether http_forget has freed its request. */
static bool
has_forgotten(const struct http_conn *c)
{
    return (c->state == STREAM || c->state == BUSY) && c->head == NULL;
}

/* Whether it reads a body whose length is not known. */
static bool
is_growing_body(const struct http_conn *c)
{
    return c->state == BODY && c->head->chunked;
}

/* How many bytes of input c may hold in its state. */
static size_t
most_input(const struct http_conn *c)
{
    if (c->state == HEAD)
        return HTTP_MAX_HEAD; /* then it is complete or in error */
    if (c->state == BODY)
        return c->head_len + (c->head->chunked ? HTTP_MAX_BODY + CHUNK_END
                                               : c->head->content_length);
    if (has_forgotten(c))
        return HTTP_MAX_AHEAD;
    if (c->eof)
        return 0;
    return c->head != NULL ? c->in.cap - c->pos : READ_LEN; /* invariant 5 */
}

/* How many bytes may be read now. */
static size_t
input_room(const struct http_conn *c)
{
    size_t have = c->in.len - c->pos, most = most_input(c);
    size_t fits = c->in.cap - c->in.len, n = BODY_READ;

    if (c->state == LINGER)
        return READ_LEN;
    if (most <= have)
        return 0;
    if (c->state == HEAD || is_growing_body(c))
        n = fits < READ_LEN + HTTP_SPARE ? READ_LEN : fits - HTTP_SPARE;
    if (n > BODY_READ)
        n = BODY_READ;
    return most - have < n ? most - have : n;
}

/* Accounts for its memory, and watches c for the events that it can use next.
   Call it whenever those may have changed. */
static void
update_conn(struct http_conn *c)
{
    int events;

    if (c->state != DEAD)
        account_memory(c);
    if (c->state == DEAD)
        return;
    events = (input_room(c) > 0 ? LOOP_READ : 0) |
             (conn_unsent(c) > 0 ? LOOP_WRITE : 0);
    if (has_forgotten(c) && events == LOOP_READ)
        events |= LOOP_IDLE;
    if (events == c->events)
        return;
    c->events = events;
    loop_change(c->server->loop, c->fd, events);
}

/* ---- output ---- */

/* The reply is sent: closes the connection, or makes it ready for its next
   request. */
static void
end_request(struct http_conn *c)
{
    c->pos += c->head_len + c->body_len + c->gap;
    c->head_len = c->body_len = c->gap = 0;
    c->minor = 1;
    c->is_head = false;
    touch_conn(c);
    if (c->keep && c->server->fd >= 0) {
        c->state = HEAD;
        if (c->in.len > c->pos || c->in.cap > HTTP_KEEP)
            queue_conn(c); /* the handler may still be reading it */
        else
            c->in.len = c->pos = 0;
    } else if ((c->refused || c->in.len > c->pos) && !c->eof) {
        shutdown(c->fd, SHUT_WR);
        c->state = LINGER;
        c->in.len = c->pos = 0;
        queue_conn(c);
    } else {
        http_drop(c);
    }
}

/* Writes once, as much as possible; ends the request when the reply is sent. */
static void
flush_conn(struct http_conn *c)
{
    struct buf *spare = &c->server->spare;
    ssize_t n = 0;

    if (conn_unsent(c) > 0)
        n = write(c->fd, c->out.p + c->sent, conn_unsent(c));
    if (n < 0) {
        if (errno != EINTR && errno != EAGAIN && errno != EWOULDBLOCK)
            http_drop(c);
        return;
    }
    if (n > 0)
        touch_conn(c);
    c->sent += (size_t)n;
    c->server->counts.bytes_out += (uint64_t)n;
    if (conn_unsent(c) == 0) {
        /* The next reply of any connection reuses its memory, which is still in
           the CPU cache. */
        buf_reset(&c->out, HTTP_KEEP);
        if (spare->p == NULL)
            *spare = c->out;
        else
            buf_fini(&c->out);
        c->out = (struct buf){0};
        c->sent = 0;
        if (c->state == SENDING)
            end_request(c);
    } else if (c->sent >= c->out.len / 2) {
        buf_consume(&c->out, c->sent);
        c->sent = 0;
    }
}

/* ---- replies ---- */

/* "404 Not Found" */
static const char *
status_text(int status)
{
    static const struct {
        int status;
        const char *text;
    } lines[] = {
        {200, "200 OK"},
        {202, "202 Accepted"},
        {304, "304 Not Modified"},
        {400, "400 Bad Request"},
        {401, "401 Unauthorized"},
        {403, "403 Forbidden"},
        {404, "404 Not Found"},
        {405, "405 Method Not Allowed"},
        {406, "406 Not Acceptable"},
        {408, "408 Request Timeout"},
        {413, "413 Content Too Large"},
        {414, "414 URI Too Long"},
        {415, "415 Unsupported Media Type"},
        {417, "417 Expectation Failed"},
        {429, "429 Too Many Requests"},
        {431, "431 Request Header Fields Too Large"},
        {501, "501 Not Implemented"},
        {503, "503 Service Unavailable"},
        {505, "505 HTTP Version Not Supported"},
    };
    size_t i = 0;

    while (lines[i].status != status) {
        i++;
        ASSERT(i < sizeof lines / sizeof *lines);
    }
    return lines[i].text;
}

/* The output buffer of c; the spare buffer if it has none. */
static struct buf *
begin_out(struct http_conn *c)
{
    struct buf *spare = &c->server->spare;

    if (c->out.p == NULL) {
        c->out = *spare;
        *spare = (struct buf){0};
    }
    return &c->out;
}

/* Writes the part of a head that all replies share. False: c was dropped. */
static bool
begin_reply(struct http_conn *c, int status, const char *type,
            const char *fields)
{
    struct buf *b;

    if (c->state == DEAD)
        return false;
    ASSERT(c->state == CHECKING || c->state == BUSY);
    c->refused = c->state == CHECKING;
    if (c->refused || c->server->fd < 0)
        c->keep = false;
    touch_conn(c);
    b = begin_out(c);
    buf_z(b, "HTTP/1.1 ");
    buf_z(b, status_text(status));
    buf_z(b, "\r\nX-Content-Type-Options: nosniff\r\n");
    if (!c->keep)
        buf_z(b, "Connection: close\r\n");
    else if (c->minor == 0)
        buf_z(b, "Connection: keep-alive\r\n");
    if (type != NULL) {
        buf_z(b, "Content-Type: ");
        buf_z(b, type);
        buf_z(b, "\r\n");
    }
    if (fields != NULL)
        buf_z(b, fields);
    return true;
}

/* Sends a whole reply; drops the connection if memory ran out. */
static void
end_reply(struct http_conn *c)
{
    c->state = SENDING;
    if (c->out.err != 0)
        http_drop(c);
    else
        flush_conn(c);
    update_conn(c);
}

void
http_reply(struct http_conn *c, int status, const char *fields,
           const char *type, struct str body)
{
    bool has_body = status != 304;
    struct buf *b = &c->out;

    if (!begin_reply(c, status, type, fields))
        return;
    if (fields == NULL || strstr(fields, "Cache-Control:") == NULL)
        buf_z(b, "Cache-Control: no-store\r\n");
    if (has_body) {
        buf_z(b, "Content-Length: ");
        buf_u64(b, body.len);
        buf_z(b, "\r\n");
    }
    buf_z(b, "\r\n");
    if (!c->is_head && has_body)
        buf_str(b, body);
    end_reply(c);
}

/* Sends an error reply of the server itself, with the status text as body, and
   frees the request, which no handler may be looking at. */
static void
refuse_conn(struct http_conn *c, int status)
{
    buf_fini(&c->in);
    free(c->head);
    c->head = NULL;
    c->pos = c->head_len = c->body_len = c->gap = 0;
    c->state = CHECKING;
    http_reply(c, status, status == 503 ? HTTP_RETRY : NULL, "text/plain",
               str_of(status_text(status)));
}

/* ---- streams ---- */

void
http_stream(struct http_conn *c, const char *fields)
{
    if (c->minor == 0)
        c->keep = false; /* HTTP/1.0: closing ends the stream */
    if (!begin_reply(c, 200, "text/event-stream", fields))
        return;
    buf_z(&c->out, "Cache-Control: no-cache\r\nX-Accel-Buffering: no\r\n");
    if (c->minor > 0)
        buf_z(&c->out, "Transfer-Encoding: chunked\r\n");
    buf_z(&c->out, "\r\n");
    c->state = STREAM;
    c->server->counts.streams++;
    if (c->out.err != 0)
        http_drop(c);
    queue_conn(c);
}

bool
http_is_stream(const struct http_conn *c)
{
    return c->state == STREAM;
}

#define CHUNK_LEN 10 /* "0000002a" CR LF; the size is filled in at the end */

static size_t
begin_chunk(struct http_conn *c)
{
    struct buf *b = begin_out(c);

    if (conn_unsent(c) == 0)
        touch_conn(c);
    if (c->minor > 0)
        buf_put(b, "00000000\r\n", CHUNK_LEN);
    return b->len;
}

static void
end_chunk(struct http_conn *c, size_t from)
{
    struct buf *b = &c->out;
    char size[CHUNK_LEN];

    if (c->minor > 0) {
        text_put(size, sizeof size, "%08x", (unsigned)(b->len - from));
        buf_z(b, "\r\n");
        if (b->err == 0)
            memcpy(b->p + from - CHUNK_LEN, size, CHUNK_LEN - 2);
    }
    if (b->err != 0)
        http_drop(c);
    else
        account_memory(c);
    queue_conn(c);
}

static void
put_event_line(struct buf *b, const char *name, struct str value)
{
    buf_z(b, name);
    if (value.len > 0)
        buf_char(b, ' ');
    buf_str(b, value);
    buf_char(b, '\n');
}

static void
put_event_data(struct buf *b, struct str data)
{
    for (;;) {
        struct str rest = data, line = str_cut(&rest, '\n');
        size_t n = str_cut(&line, '\r').len;

        put_event_line(b, "data:", (struct str){data.p, n});
        if (n == data.len)
            break;
        n += data.len - n > 1 && memcmp(data.p + n, "\r\n", 2) == 0 ? 2 : 1;
        data = str_from(data, n);
    }
}

void
http_event(struct http_conn *c, struct str event, struct str id,
           unsigned retry_ms, struct str data)
{
    struct buf *b = &c->out;
    size_t from;

    if (c->state != STREAM || c->is_head)
        return;
    /* One event may exceed the limit, but no more are added after it. */
    if (conn_unsent(c) > HTTP_MAX_UNSENT)
        flush_conn(c);
    if (conn_unsent(c) > HTTP_MAX_UNSENT)
        http_drop(c);
    if (c->state == DEAD)
        return;
    from = begin_chunk(c);
    if (event.len > 0)
        put_event_line(b, "event:", event);
    if (id.len > 0)
        put_event_line(b, "id:", id);
    if (retry_ms > 0)
        buf_printf(b, "retry: %u\n", retry_ms);
    put_event_data(b, data);
    buf_char(b, '\n');
    end_chunk(c, from);
}

static void
ping_stream(struct http_conn *c)
{
    size_t from = begin_chunk(c);

    buf_z(&c->out, ": ka\n\n");
    end_chunk(c, from);
}

void
http_stream_end(struct http_conn *c)
{
    if (c->state != STREAM)
        return;
    c->server->counts.streams--;
    if (c->minor > 0 && !c->is_head)
        buf_z(begin_out(c), "0\r\n\r\n");
    end_reply(c);
}

/* ---- room for input: invariant 6 ---- */

_Static_assert(HTTP_BUDGET / 2 / (FD_SETSIZE - OTHER_FDS) >=
                   HTTP_MAX_HEAD + HTTP_SPARE,
               "the part of each connection has room for a head");

/* What each connection has for itself. */
static size_t
own_part(const struct http_conn *c)
{
    return HTTP_BUDGET / 2 / c->server->limit;
}

/* How much of the common half c uses if its input has this capacity. */
static size_t
excess_input(const struct http_conn *c, size_t cap)
{
    return c->state != DEAD && cap > own_part(c) ? cap - own_part(c) : 0;
}

/* Refuses the largest body in chunks. Returns what that frees; 0: none is
   left. */
static size_t
refuse_growing(struct http *s)
{
    struct http_conn *worst = NULL, *c;
    size_t most = 0;

    for (unsigned i = 0; i < s->counts.open; i++) {
        c = s->conn[i];
        if (is_growing_body(c) && excess_input(c, c->in.cap) > most) {
            most = excess_input(c, c->in.cap);
            worst = c;
        }
    }
    if (worst != NULL)
        refuse_conn(worst, 503);
    return most;
}

/* Returns 0 if c's input may take cap bytes, or the status to refuse c with. A
   body of a known length may take the room of others that are growing. */
static int
judge_room(struct http_conn *c, size_t cap)
{
    struct http *s = c->server;
    size_t more = excess_input(c, cap), own = more, known = more, growing = 0;
    size_t n;

    if (more == 0)
        return 0;
    if (c->who == 0)
        return 413;
    for (unsigned i = 0; i < s->counts.open; i++) {
        const struct http_conn *d = s->conn[i];

        n = d != c ? excess_input(d, d->in.cap) : 0;
        if (d->who == c->who)
            own += n;
        if (is_growing_body(d) && !is_growing_body(c))
            growing += n;
        else
            known += n;
    }
    if (own > HTTP_MAX_BODY || known > HTTP_BUDGET / 2)
        return 503;
    while (known + growing > HTTP_BUDGET / 2 && (n = refuse_growing(s)) > 0)
        growing -= n;
    return 0;
}

/* Why make_space looks as it does. While a handler looks at a request, slices
   of its head and body are in use, so the buffer must not move (invariant 5).
   Before that it may, and c->moved then makes read_request_body parse the head
   again instead of correcting a hundred slices. Room is judged before it is
   allocated: a connection that exceeds its part of the budget must find its
   share of the common half free, or its request is refused. One refused request
   costs less than making all other clients wait for its memory. */

/* Makes room for n more bytes of input. False: there is none, and c is refused
   or, if it has a reply already, dropped. */
static bool
make_space(struct http_conn *c, size_t n)
{
    bool reading = c->state == HEAD || c->state == BODY;
    size_t need = c->in.len - c->pos + n + (reading ? HTTP_SPARE : 0);
    size_t cap = need;
    int status;

    if (need <= c->in.cap - c->pos)
        return true;
    buf_consume(&c->in, c->pos);
    c->pos = 0;
    c->moved = true;
    if (reading) {
        /* Doubled to limit copying, but no more than the request can need, and
           not beyond c's part only because of doubling. */
        cap = 2 * c->in.cap;
        if (cap > most_input(c) + HTTP_SPARE)
            cap = most_input(c) + HTTP_SPARE;
        if (cap > own_part(c) && need <= own_part(c))
            cap = own_part(c);
        if (cap < need)
            cap = need;
    }
    status = judge_room(c, cap);
    if (status == 0)
        buf_reserve(&c->in, cap);
    if (c->in.cap >= cap)
        return true;
    if (reading)
        refuse_conn(c, status != 0 ? status : 503);
    else
        http_drop(c);
    return false;
}

/* ---- input ---- */

/* Passes the request to the handler once its body is complete. */
static void
read_request_body(struct http_conn *c)
{
    const struct http_handler *h = c->server->handler;
    size_t len = c->head->content_length, data;
    size_t at = c->pos + c->head_len + c->body_len;
    int n, status;
    bool done;

    if (c->head->chunked) {
        n = http_parse_chunks(&c->chunks, c->in.p + at, c->in.len - at, &data,
                              &done);
        if (n < 0) {
            refuse_conn(c, n == ERR_TOO_LARGE ? 413 : 400);
            return;
        }
        c->body_len += data;
        if (!done) {
            c->in.len = at + data;
            return;
        }
        c->gap = (size_t)n - data; /* bytes after the body are not moved */
    } else {
        if (c->in.len - c->pos - c->head_len < len)
            return;
        c->body_len = len;
    }
    if (c->moved) { /* in.p, which the head points into */
        n = http_parse_head(&c->scan, c->in.p + c->pos, c->head_len, c->head,
                            &status);
        ASSERT(n == (int)c->head_len);
    }
    c->state = BUSY;
    h->request(h->ctx, c);
}

/* Parses the next head once it is complete, and begins to read the body. */
static void
read_request_head(struct http_conn *c)
{
    const struct http_handler *h = c->server->handler;
    struct http_head *head = c->head;
    size_t have = c->in.len - c->pos;
    int n, status;

    if (c->in.len == c->pos)
        return;
    if (head == NULL)
        c->head = head = malloc(sizeof *head);
    if (head == NULL) {
        refuse_conn(c, 503);
        return;
    }
    n = http_parse_head(&c->scan, c->in.p + c->pos, c->in.len - c->pos, head,
                        &status);
    if (n == ERR_INCOMPLETE)
        return;
    c->server->counts.requests++;
    if (n < 0) {
        refuse_conn(c, status);
        return;
    }
    c->head_len = (size_t)n;
    c->chunks = (struct http_chunks){0};
    c->moved = false;
    c->keep = head->keep_alive;
    c->minor = head->minor;
    c->is_head = str_is(head->method, "HEAD");
    c->who = 0;
    c->state = CHECKING;
    h->head(h->ctx, c);
    if (c->state != CHECKING)
        return;
    c->state = BODY;
    touch_conn(c);
    if (!head->chunked && most_input(c) > have && /* its length is known */
        !make_space(c, most_input(c) - have))
        return;
    if (head->expect && c->minor > 0 &&
        (head->chunked || head->content_length > 0) &&
        c->in.len == c->pos + c->head_len) {
        buf_z(&c->out, "HTTP/1.1 100 Continue\r\n\r\n");
        flush_conn(c);
    }
    if (c->state == BODY)
        read_request_body(c);
}

/* After a read without bytes: the client closed, the connection broke, or more
   may come later. One that only shut down writing looks as if it had closed: it
   may still read a reply that is ready or soon will be, but not for long. */
static void
note_read_end(struct http_conn *c, ssize_t got)
{
    if (got == 0) {
        c->eof = true;
        c->keep = false;
        if (c->state != SENDING && (c->state != BUSY || has_forgotten(c)))
            http_drop(c);
    } else if (errno != EINTR && errno != EAGAIN && errno != EWOULDBLOCK) {
        http_drop(c);
    }
}

static void
discard_input(struct http_conn *c)
{
    char junk[16 * 1024];
    ssize_t got = read(c->fd, junk, sizeof junk);

    if (got <= 0)
        note_read_end(c, got);
}

static void
read_some(struct http_conn *c)
{
    size_t n = input_room(c);
    ssize_t got;

    if (n == 0 || !make_space(c, n))
        return;
    got = read(c->fd, c->in.p + c->in.len, n);
    if (got <= 0) {
        note_read_end(c, got);
        return;
    }
    c->server->counts.bytes_in += (uint64_t)got;
    if (c->state == HEAD && c->in.len == 0)
        touch_conn(c);
    c->in.len += (size_t)got;
    if (c->state == HEAD || c->state == BODY)
        queue_conn(c);
    else if (has_forgotten(c) && input_room(c) == 0)
        http_drop(c);
}

static void
on_conn_ready(void *ctx, int fd, int events)
{
    struct http_conn *c = ctx;

    (void)fd;
    if (events & LOOP_WRITE)
        flush_conn(c);
    if (c->state == LINGER)
        discard_input(c);
    else if ((events & LOOP_READ) && c->state != DEAD &&
             !(c->state == HEAD && c->queued)) /* invariant 4 */
        read_some(c);
    update_conn(c);
}

/* ---- accepting ---- */

static void on_accept(void *ctx, int fd, int events);

/* Watches the listening sockets for events; 0: no longer. */
static int
watch_listeners(struct http *s, int events)
{
    int err = loop_watch(s->loop, s->fd, events, on_accept, s);

    if (err == 0 && s->also_fd > 0)
        err = loop_watch(s->loop, s->also_fd, events, on_accept, s);
    return err;
}

static void
listen_again(struct http *s)
{
    if (s->paused && s->fd >= 0)
        watch_listeners(s, LOOP_READ);
    s->paused = false;
}

static void
start_sweep(struct http *s)
{
    if (!s->sweep_timer.set)
        loop_timer_set(s->loop, &s->sweep_timer, loop_next(s->loop, SWEEP_MS));
}

/* Refuses a connection when the table is full. */
static void
turn_away(int fd)
{
    static const char text[] =
        "HTTP/1.1 503 Service Unavailable\r\nConnection: close\r\n"
        HTTP_RETRY "Content-Length: 0\r\n\r\n";
    char junk[1024];

    /* Unread bytes would turn the close into a reset and lose the text. */
    if (write(fd, text, sizeof text - 1) > 0 && shutdown(fd, SHUT_WR) == 0 &&
        read(fd, junk, sizeof junk) >= 0)
        junk[0] = '\0';
}

/* Invariant 1. */
static void
free_conn(struct http_conn *c)
{
    struct http *s = c->server;

    s->handler->closed(s->handler->ctx, c);
    s->conn[c->slot] = s->conn[--s->counts.open];
    s->conn[c->slot]->slot = c->slot;
    buf_fini(&c->in);
    free(c->head);
    free(c);
    listen_again(s);
}

static void
free_dead(struct http *s)
{
    struct http_conn **at = &s->todo, *c;

    while ((c = *at) != NULL)
        if (c->state == DEAD) {
            *at = c->next;
            free_conn(c);
        } else {
            at = &c->next;
        }
}

static bool
is_quieter(const struct http_conn *c, const struct http_conn *than)
{
    return than == NULL || c->since_ms < than->since_ms ||
           (c->since_ms == than->since_ms && c->nth < than->nth);
}

/* Returns whether it is between two requests, and nothing of the next one has
   arrived, in the system either. */
static bool
is_idle(const struct http_conn *c)
{
    char byte;

    return c->state == HEAD && c->in.len == c->pos &&
           recv(c->fd, &byte, 1, MSG_PEEK) <= 0;
}

/* Returns whether there is room for a new connection. If strangers have their
   three quarters, the quietest of them makes room; else if the table is full,
   the quietest idle connection. */
static bool
make_slot(struct http *s)
{
    struct http_conn *c, *stranger = NULL, *idle = NULL, *worst = NULL;
    bool full = s->counts.open == s->limit;
    unsigned i, n = 0;

    for (i = 0; i < s->counts.open; i++) {
        c = s->conn[i];
        n += !c->known;
        if (!c->known && c->state != BUSY && c->state != STREAM &&
            is_quieter(c, stranger))
            stranger = c;
        if (full && is_quieter(c, idle) && is_idle(c))
            idle = c;
    }
    if (n >= s->limit - s->limit / RESERVED)
        worst = stranger;
    else if (full)
        worst = idle != NULL ? idle : stranger;
    if (worst != NULL) {
        http_drop(worst);
        s->counts.refused++;
        free_dead(s); /* invariant 1: called from the loop */
    }
    return s->counts.open < s->limit;
}

/* Adds fd to the table. Returns false on failure. */
static bool
admit_conn(struct http *s, int fd)
{
    struct http_conn *c;

    if (!make_slot(s) || (c = calloc(1, sizeof *c)) == NULL)
        return false;
    if (loop_watch(s->loop, fd, LOOP_READ, on_conn_ready, c) < 0) {
        free(c);
        return false;
    }
    http_prepare_tcp(fd);
    *c = (struct http_conn){
        .server = s, .fd = fd, .minor = 1, .events = LOOP_READ,
        .nth = s->counts.accepted++, .slot = s->counts.open,
    };
    s->conn[s->counts.open++] = c;
    touch_conn(c);
    start_sweep(s);
    return true;
}

static void
on_accept(void *ctx, int fd, int events)
{
    struct http *s = ctx;
    int i, n;

    (void)events;
    for (i = 0; i < ACCEPTS; i++) {
        n = accept(fd, NULL, NULL);
        if (n < 0)
            break;
        if (http_prepare_fd(n) && admit_conn(s, n))
            continue;
        s->counts.refused++;
        turn_away(n);
        close(n);
    }
    if (i < ACCEPTS && (errno == EMFILE || errno == ENFILE ||
                        errno == ENOBUFS || errno == ENOMEM)) {
        /* The listener stays readable and the loop would spin; the sweep
           retries. */
        watch_listeners(s, 0);
        s->paused = true;
        start_sweep(s);
    }
}

/* ---- what the loop calls ---- */

/* Frees buffer memory that the bytes from c->pos on do not need. */
static void
repack_input(struct http_conn *c)
{
    struct buf rest = {0};

    buf_put(&rest, c->in.p + c->pos, c->in.len - c->pos);
    buf_fini(&c->in);
    c->in = rest;
    c->pos = 0;
    if (rest.err != 0)
        http_drop(c);
}

/* Finishes what replies left to do, and begins requests. Connections that it
   puts back on the list wait for the next turn: invariant 4. */
static void
run_todo(void *ctx)
{
    struct http *s = ctx;
    struct http_conn *c, *todo = NULL;

    while ((c = s->todo) != NULL) { /* the last on the list came first */
        s->todo = c->next;
        c->next = todo;
        todo = c;
    }
    while ((c = todo) != NULL) {
        todo = c->next;
        c->queued = false;
        if (c->state == DEAD) {
            free_conn(c);
            continue;
        }
        flush_conn(c);
        if (c->in.len == c->pos &&
            (c->state == HEAD || c->state == LINGER)) {
            buf_reset(&c->in, c->state == HEAD ? HTTP_KEEP : 0);
            c->pos = 0;
        } else if (c->state == HEAD) {
            if (c->in.cap > HTTP_KEEP && c->in.len - c->pos < c->in.cap / 4)
                repack_input(c);
            read_request_head(c);
        } else if (c->state == BODY) {
            read_request_body(c);
        }
        update_conn(c);
    }
    free_dead(s); /* those that were dropped for the budget */
}

/* Ends c when its time is up: with 408 if it has sent part of a request, else
   silently. Pings a quiet stream. */
static void
check_conn_time(struct http_conn *c)
{
    int64_t quiet = loop_now(c->server->loop) - c->since_ms;
    bool begun = c->state == BODY ||
                 (c->state == HEAD && c->in.len > c->pos);
    /* by state; 0: no limit */
    const int64_t limits[DEAD + 1] = {
        [HEAD] = c->known ? HTTP_IDLE_MS : HTTP_REQUEST_MS,
        [STREAM] = HTTP_WRITE_MS, [SENDING] = HTTP_WRITE_MS,
        [LINGER] = LINGER_MS
    };

    if (quiet >= SWEEP_MS && c->state == HEAD && c->in.len == c->pos) {
        buf_fini(&c->in); /* invariant 3 */
        c->pos = 0;
        free(c->head);
        c->head = NULL;
        account_memory(c);
    }
    if (c->state == STREAM && conn_unsent(c) == 0) {
        if (quiet >= HTTP_PING_MS && !c->is_head)
            ping_stream(c);
    } else if (begun) {
        char byte; /* there may be some, or the end, that was not read yet */

        if (quiet >= HTTP_UNREAD_MS ||
            (quiet >= HTTP_REQUEST_MS && recv(c->fd, &byte, 1, MSG_PEEK) < 0))
            refuse_conn(c, 408);
    } else if (limits[c->state] > 0 && quiet >= limits[c->state]) {
        http_drop(c);
    }
}

static void
sweep_conns(void *ctx)
{
    struct http *s = ctx;
    int64_t late_ms = loop_now(s->loop) - s->sweep_timer.at_ms;

    run_todo(s); /* first: what was read in this turn may meet a deadline */
    listen_again(s);
    for (unsigned i = 0; i < s->counts.open; i++) {
        s->conn[i]->since_ms += late_ms; /* no input was read in that time */
        check_conn_time(s->conn[i]);
    }
    if (s->counts.open > 0)
        start_sweep(s);
}

/* ---- the request ---- */

const struct http_head *
http_request(const struct http_conn *c)
{
    return c->head;
}

struct str
http_body(const struct http_conn *c)
{
    return c->body_len == 0 ? STR_NONE
                            : (struct str){c->in.p + c->pos + c->head_len,
                                           c->body_len};
}

void
http_know(struct http_conn *c)
{
    c->known = true;
}

void
http_share(struct http_conn *c, uint64_t who)
{
    c->who = who;
}

bool
http_is_behind(const struct http_conn *c)
{
    return (c->events & LOOP_WRITE) != 0 && conn_unsent(c) > 0;
}

bool
http_is_gone(const struct http_conn *c)
{
    char byte;
    ssize_t n = recv(c->fd, &byte, 1, MSG_PEEK);

    return n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR);
}

void
http_forget(struct http_conn *c)
{
    if ((c->state != STREAM && c->state != BUSY) || c->head == NULL)
        return;
    c->pos += c->head_len + c->body_len + c->gap;
    c->head_len = c->body_len = c->gap = 0;
    free(c->head);
    c->head = NULL;
    if (c->eof || c->in.len - c->pos >= HTTP_MAX_AHEAD)
        http_drop(c);
    else
        repack_input(c);
    update_conn(c);
}

void *
http_user_data(const struct http_conn *c)
{
    return c->user_data;
}

void
http_set_user_data(struct http_conn *c, void *user_data)
{
    c->user_data = user_data;
}

/* ---- begin and end ---- */

static unsigned
limit_of(const struct http_options *o)
{
    unsigned n = o->connections != 0 ? o->connections : HTTP_CONNECTIONS;
    struct rlimit r;

    if (n > HTTP_MAX_CONNECTIONS)
        n = HTTP_MAX_CONNECTIONS;
    if (getrlimit(RLIMIT_NOFILE, &r) == 0 && r.rlim_cur < n + OTHER_FDS)
        n = r.rlim_cur > OTHER_FDS ? (unsigned)r.rlim_cur - OTHER_FDS : 1;
    return n;
}

int
http_open(struct http **out, struct loop *l, const struct http_options *o,
          const struct http_handler *h, char why[256])
{
    const struct http_options also = {.fd = o->also_fd};
    struct http *s = calloc(1, sizeof *s);
    char address[HTTP_MAX_ADDRESS] = "";
    int err = ERR_NOMEM;

    if (s == NULL)
        return err;
    *s = (struct http){
        .loop = l, .handler = h, .fd = -1, .limit = limit_of(o),
        .todo_timer = {.fn = run_todo, .ctx = s},
        .sweep_timer = {.fn = sweep_conns, .ctx = s},
    };
    s->conn = calloc(s->limit, sizeof *s->conn);
    if (s->conn == NULL ||
        (err = http_listen(o, &s->fd, s->address, why)) < 0 ||
        (o->also_fd > 0 &&
         (err = http_listen(&also, &s->also_fd, address, why)) < 0))
        goto out;
    if (o->also_fd > 0 && str_starts(str_of(s->address), "unix:"))
        text_put(s->address, sizeof s->address, "%s", address);
    err = ERR_NOMEM;
    if (o->fd < 0 && o->unix_path != NULL) {
        s->path = file_join(o->unix_path, "");
        if (s->path == NULL) {
            unlink(o->unix_path);
            goto out;
        }
    }
    err = watch_listeners(s, LOOP_READ);
    if (err == ERR_TOO_LARGE)
        text_put(why, 256, "%s: its descriptor is too large", s->address);
    if (err == 0)
        *out = s;
out:
    if (err < 0)
        http_free(s);
    return err;
}

void
http_stop(struct http *s)
{
    if (s->fd < 0)
        return;
    watch_listeners(s, 0);
    /* Unlink while it still listens, so that no other process mistakes the file
       for a stale one. */
    if (s->path != NULL)
        unlink(s->path);
    close(s->fd);
    s->fd = -1;
    if (s->also_fd > 0)
        close(s->also_fd);
    s->also_fd = 0;
    for (unsigned i = 0; i < s->counts.open; i++)
        if (s->conn[i]->state == HEAD)
            http_drop(s->conn[i]);
}

bool
http_is_idle(const struct http *s)
{
    return s->counts.open == 0;
}

void
http_free(struct http *s)
{
    if (s == NULL)
        return;
    http_stop(s);
    while (s->counts.open > 0) {
        http_drop(s->conn[0]);
        free_conn(s->conn[0]);
    }
    loop_timer_stop(s->loop, &s->todo_timer);
    loop_timer_stop(s->loop, &s->sweep_timer);
    buf_fini(&s->spare);
    free(s->path);
    free(s->conn);
    free(s);
}

const char *
http_address(const struct http *s)
{
    return s->address;
}

unsigned
http_limit(const struct http *s)
{
    return s->limit;
}

void
http_count(const struct http *s, struct http_counts *out)
{
    *out = s->counts;
}
