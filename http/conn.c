/* conn - a connection: how much it may read, which events it waits for, and how
   its output is written.

   Nothing here parses a request or calls the handler, so all reply code may use
   it.

   Invariants:
   1. Between request and the end of the reply in.p does not move, and nothing
      before in.len changes: reading continues only in the remaining room.
   2. server->held is the sum of every connection's held, the memory of its
      buffers. Reading never exceeds HTTP_BUDGET except by SMALL per connection
      and by the needs of one whole request. When output exceeds it, the slowest
      stream is dropped.
   3. During a long reply (http_forget), input is read even over the budget:
      reading is the only way to notice that the client is gone. */

#include "http/conn.h"
#include "base/text.h"

#include <errno.h>
#include <sys/socket.h>
#include <unistd.h>

#define READ_LEN ((size_t)4096)
#define BODY_READ ((size_t)64 * 1024)
#define SPARE ((size_t)256) /* invariant 1: room to notice a close */
#define SMALL ((size_t)12 * 1024)

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

/* Once c has its reply or is gone, another body may exceed the budget. */
static void
end_exemption(struct http_conn *c)
{
    struct http *s = c->server;

    if (s->exempt != c || (c->state >= BODY && c->state <= BUSY))
        return;
    s->exempt = NULL;
    loop_timer_set(s->loop, &s->todo_timer, loop_now(s->loop));
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
    end_exemption(c);
    loop_watch(s->loop, c->fd, 0, NULL, NULL);
    close(c->fd);
    buf_fini(&c->out);
    c->sent = 0;
    http_queue(c);
}

/* ---- the budget, and which events to wait for ---- */

/* Returns whether buffers exceed the budget, not counting those of the exempt
   connection. */
static bool
is_over(const struct http *s)
{
    return s->counts.held - (s->exempt != NULL ? s->exempt->held : 0) >
           HTTP_BUDGET;
}

/* Drops connections, those with the most unsent bytes first and streams before
   others, until the budget is met. */
static void
shed(struct http *s)
{
    while (is_over(s)) {
        struct http_conn *worst = NULL, *c;

        for (unsigned i = 0; i < s->counts.open; i++) {
            bool stream = (c = s->conn[i])->state == STREAM;
            bool was = worst != NULL && worst->state == STREAM;

            if (unsent(c) > 0 &&
                (worst == NULL || stream > was ||
                 (stream == was && unsent(c) > unsent(worst))))
                worst = c;
        }
        if (worst == NULL)
            return;
        http_drop(worst);
    }
}

void
http_account(struct http_conn *c)
{
    struct http *s = c->server;
    size_t held = c->in.cap + c->out.cap;

    s->counts.held += held - c->held;
    c->held = held;
    end_exemption(c);
    if (is_over(s))
        shed(s);
    else if (s->starved && s->counts.held < HTTP_BUDGET / 4 * 3)
        loop_timer_set(s->loop, &s->todo_timer, loop_now(s->loop));
}

/* Invariant 3. */
bool
http_is_waiting(const struct http_conn *c)
{
    return (c->state == STREAM || c->state == BUSY) && c->head == NULL;
}

/* How much larger `in` must be for n more bytes: doubled to limit copying, but
   never beyond the end of a body. */
static size_t
growth(const struct http_conn *c, size_t n)
{
    size_t used = c->in.len - (c->state == HEAD ? c->pos : 0);
    size_t cap = 2 * c->in.cap, whole;

    if (n <= c->in.cap - used)
        return 0;
    if (c->state == BODY) {
        whole = c->pos + c->head_len + SPARE +
                (c->head->chunked ? HTTP_MAX_BODY + BODY_READ
                                  : c->head->content_length);
        if (cap > whole)
            cap = whole;
    }
    if (cap < used + n)
        cap = used + n;
    return cap - c->in.cap;
}

size_t
http_room(struct http_conn *c)
{
    size_t have = c->in.len - c->pos, n = READ_LEN, more;

    if (c->state == LINGER)
        return n;
    if (http_is_waiting(c))
        return have < HTTP_MAX_BEHIND ? HTTP_MAX_BEHIND - have : 0;
    if (c->state == HEAD && have >= HTTP_MAX_HEAD)
        return 0; /* complete or in error: run_todo sees it */
    if (c->state == BODY) {
        ASSERT(c->head != NULL);
        if (!c->head->chunked)
            n = c->head_len + c->head->content_length - have;
        if (n > BODY_READ)
            n = BODY_READ;
    } else if (c->state != HEAD) {
        if (c->eof)
            return 0;
        if (c->head != NULL) /* invariant 1 */
            return c->in.cap - c->in.len;
        return have < READ_LEN ? READ_LEN - have : 0;
    }
    more = growth(c, n + SPARE);
    if (more == 0 || c->held + more <= SMALL ||
        c->server->counts.held + more <= HTTP_BUDGET)
        return n;
    /* When many bodies are incomplete, one may exceed the budget, or all would
       stall. */
    if (c->state == BODY && c->server->exempt == NULL)
        c->server->exempt = c;
    if (c->server->exempt == c)
        return n;
    c->server->starved = true;
    return 0;
}

bool
http_reserve(struct http_conn *c, size_t n)
{
    bool fixed = c->state != HEAD && c->state != BODY; /* invariant 1 */
    size_t more = growth(c, fixed ? n : n + SPARE);

    c->moved |= more > 0;
    buf_reserve(&c->in, c->in.cap + more);
    if (c->in.err != 0)
        http_drop(c);
    return c->in.err == 0;
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
             (unsent(c) > 0 ? LOOP_WRITE : 0);
    if (http_is_waiting(c) && events == LOOP_READ)
        events |= LOOP_IDLE;
    if (events == c->events)
        return;
    c->events = events;
    loop_change(c->server->loop, c->fd, events);
}

/* ---- output ---- */

/* The reply is sent: closes, or goes on to the next request. */
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

    if (unsent(c) > 0)
        n = write(c->fd, c->out.p + c->sent, unsent(c));
    if (n < 0) {
        if (errno != EINTR && errno != EAGAIN && errno != EWOULDBLOCK)
            http_drop(c);
        return;
    }
    if (n > 0)
        http_touch(c);
    c->sent += (size_t)n;
    c->server->counts.bytes_out += (uint64_t)n;
    if (unsent(c) == 0) {
        give_back(c);
        if (c->state == SENDING)
            end_request(c);
    } else if (c->sent >= c->out.len / 2) {
        buf_consume(&c->out, c->sent);
        c->sent = 0;
    }
}
