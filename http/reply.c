/* reply - replies and streams of events, as bytes.

   It never sends two replies to a request, nor half an event: if memory runs
   out, the connection is closed.

   1. None of these calls the handler; see http.c.
   2. A whole reply is written immediately, with a single write if the socket
      accepts all of it. Events on a stream are sent at the end of the loop's
      turn or of the stream, so an answer of three events also takes one
      write. */

#include "http/reply.h"
#include "http/conn.h"
#include "base/text.h"

#include <stdlib.h>
#include <string.h>

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

    while (i < sizeof lines / sizeof *lines && lines[i].status != status)
        i++;
    ASSERT(i < sizeof lines / sizeof *lines);
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
    http_touch(c);
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
        http_flush(c);
    http_update(c);
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

void
http_refuse(struct http_conn *c, int status)
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
    http_queue(c);
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
        http_touch(c);
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
        http_account(c);
    http_queue(c);
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

/* Returns the length of the first line of s. */
static size_t
line_len(struct str s)
{
    struct str line = str_cut(&s, '\n');

    return str_cut(&line, '\r').len;
}

static void
put_event_data(struct buf *b, struct str data)
{
    for (;;) {
        size_t n = line_len(data);

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
        http_flush(c);
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

void
http_ping(struct http_conn *c)
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
