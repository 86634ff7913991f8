/* conn - a connection: how much it may read, which events it waits for, and how
   its output is written.

   Nothing here parses a request or calls the handler, so all reply code may use
   it.

   Invariants:
   1. Between request and the end of the reply in.p does not move, and nothing
      before in.len changes: reading continues only in the remaining room.
   2. counts.held, the memory of all buffers, is at most HTTP_BUDGET. Half of
      that is divided among the connections, so that a small request always has
      room. What exceeds a connection's part comes out of the other half. All
      connections with the same who together may use HTTP_MAX_BODY of it. A body
      that does not fit is refused (http.c). So all input has room, and output
      uses what that leaves: beyond it, the slowest reader is dropped.
   3. What may be read depends on the connection alone: no connection waits for
      memory that another one holds. */

#include "http/conn.h"
#include "base/text.h"

#include <errno.h>
#include <sys/socket.h>
#include <unistd.h>

#define READ_LEN ((size_t)4096)
#define BODY_READ ((size_t)64 * 1024)
#define CHUNK_END 64 /* bytes, to read the end of a body in chunks */

void
http_queue(struct http_conn *c)
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

void
http_touch(struct http_conn *c)
{
    c->since_ms = loop_now(c->server->loop);
}

/* The request stays until http.c frees the connection: a handler may still be
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
    http_queue(c);
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

void
http_account(struct http_conn *c)
{
    struct http *s = c->server;
    size_t held = c->in.cap + c->out.cap;

    s->counts.held += held - c->held;
    c->held = held;
    while (s->counts.held > HTTP_BUDGET && drop_slowest(s))
        ;
}

bool
http_is_waiting(const struct http_conn *c)
{
    return (c->state == STREAM || c->state == BUSY) && c->head == NULL;
}

bool
http_is_growing(const struct http_conn *c)
{
    return c->state == BODY && c->head->chunked;
}

size_t
http_most(const struct http_conn *c)
{
    if (c->state == HEAD)
        return HTTP_MAX_HEAD; /* then it is complete or in error */
    if (c->state == BODY)
        return c->head_len + (c->head->chunked ? HTTP_MAX_BODY + CHUNK_END
                                               : c->head->content_length);
    if (http_is_waiting(c))
        return HTTP_MAX_BEHIND;
    if (c->eof)
        return 0;
    return c->head != NULL ? c->in.cap - c->pos : READ_LEN; /* invariant 1 */
}

size_t
http_room(const struct http_conn *c)
{
    size_t have = c->in.len - c->pos, most = http_most(c);
    size_t fits = c->in.cap - c->in.len, n = BODY_READ;

    if (c->state == LINGER)
        return READ_LEN;
    if (most <= have)
        return 0;
    if (c->state == HEAD || http_is_growing(c))
        n = fits < READ_LEN + HTTP_SPARE ? READ_LEN : fits - HTTP_SPARE;
    if (n > BODY_READ)
        n = BODY_READ;
    return most - have < n ? most - have : n;
}

void
http_update(struct http_conn *c)
{
    int events;

    if (c->state != DEAD)
        http_account(c);
    if (c->state == DEAD)
        return;
    events = (http_room(c) > 0 ? LOOP_READ : 0) |
             (conn_unsent(c) > 0 ? LOOP_WRITE : 0);
    if (http_is_waiting(c) && events == LOOP_READ)
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
    http_touch(c);
    if (c->keep && c->server->fd >= 0) {
        c->state = HEAD;
        if (c->in.len > c->pos || c->in.cap > HTTP_KEEP)
            http_queue(c); /* the handler may still be reading it */
        else
            c->in.len = c->pos = 0;
    } else if ((c->refused || c->in.len > c->pos) && !c->eof) {
        shutdown(c->fd, SHUT_WR);
        c->state = LINGER;
        c->in.len = c->pos = 0;
        http_queue(c);
    } else {
        http_drop(c);
    }
}

/* All of out is written. The next reply of any connection reuses its memory,
   which is still in the CPU cache. */
static void
give_back(struct http_conn *c)
{
    struct buf *spare = &c->server->spare;

    buf_reset(&c->out, HTTP_KEEP);
    if (spare->p == NULL)
        *spare = c->out;
    else
        buf_fini(&c->out);
    c->out = (struct buf){0};
    c->sent = 0;
}

void
http_flush(struct http_conn *c)
{
    ssize_t n = 0;

    if (conn_unsent(c) > 0)
        n = write(c->fd, c->out.p + c->sent, conn_unsent(c));
    if (n < 0) {
        if (errno != EINTR && errno != EAGAIN && errno != EWOULDBLOCK)
            http_drop(c);
        return;
    }
    if (n > 0)
        http_touch(c);
    c->sent += (size_t)n;
    c->server->counts.bytes_out += (uint64_t)n;
    if (conn_unsent(c) == 0) {
        give_back(c);
        if (c->state == SENDING)
            end_request(c);
    } else if (c->sent >= c->out.len / 2) {
        buf_consume(&c->out, c->sent);
        c->sent = 0;
    }
}
