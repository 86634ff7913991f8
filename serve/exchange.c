/* exchange - a request over HTTP and its reply.

   Invariants:
   1. A reply becomes a stream as soon as a message comes before the answer, or
      the answer has to wait: then its head goes out, and pings keep the
      connection open.
   2. A message posted for a stream of the SSE transport is copied, and stays
      until that stream's peer is done with it.
   3. No function in peer_ops frees an exchange, since that frees its peer
      too. */

#include "serve/exchange.h"

#include "base/text.h"

#include <stdlib.h>
#include <string.h>

#define MAX_LOGGED 200 /* bytes of a path */

struct str
exchange_field(const struct exchange *x, const char *name)
{
    return http_field_of(http_request(x->c), name);
}

int
exchange_version(const struct exchange *x)
{
    return mcp_rev_of(exchange_field(x, EXCHANGE_VERSION));
}

struct mcp *
exchange_mcp(const struct exchange *x)
{
    return turn_mcp(x->all->turn);
}

struct str
exchange_principal(const struct exchange *x)
{
    return access_principal(&x->caller);
}

bool
exchange_same_caller(const struct exchange *a, const struct exchange *b)
{
    return str_eq(exchange_principal(a), exchange_principal(b)) &&
           a->caller.read_only == b->caller.read_only;
}

/* A repeated field cannot be trusted: a proxy may have routed by the other one.
   For such a field this returns a value that MCP never allows. */
static struct str
header(void *ctx, const char *name)
{
    const struct http_head *h = http_request(ctx);

    return http_is_repeated(h, name) ? STR("\1") : http_field_of(h, name);
}

struct mcp_facts
exchange_facts(const struct exchange *x)
{
    return (struct mcp_facts){.http = true,
                              .version = header(x->c, EXCHANGE_VERSION),
                              .header = header,
                              .header_ctx = x->c,
                              .principal = exchange_principal(x),
                              .read_only = x->caller.read_only,
                              .person = x->caller.person,
                              .session_id = exchange_field(x,
                                                           "mcp-session-id")};
}

/* ---- replies ---- */

static void
log_reply(const struct exchange *x, int status)
{
    const struct http_head *h = http_request(x->c);

    if (x->all->access.o.debug && h != NULL)
        text_tell("mcptask: %d %.*s %.*s\n", status, STR_ARG(h->method),
                  (int)(h->path.len < MAX_LOGGED ? h->path.len : MAX_LOGGED),
                  h->path.p);
}

void
exchange_reply(struct exchange *x, int status, const char *fields,
               const char *type, struct str body)
{
    log_reply(x, status);
    http_reply(x->c, status, fields, type, body);
}

void
exchange_say(struct exchange *x, int status, const char *fields,
             const char *text)
{
    exchange_reply(x, status, fields, "text/plain", str_of(text));
}

void
exchange_unavailable(struct exchange *x)
{
    exchange_say(x, 503, EXCHANGE_RETRY, "unavailable: try again\n");
}

void
exchange_give(struct exchange *x, int status, const char *type, struct buf *b)
{
    if (b->err == 0)
        exchange_reply(x, status, NULL, type, buf_view(b));
    else
        exchange_unavailable(x);
    buf_fini(b);
}

bool
exchange_lacks(struct exchange *x, struct str value, const char *text)
{
    if (value.len == 0)
        exchange_say(x, 400, NULL, text);
    return value.len == 0;
}

void
exchange_begin_stream(struct exchange *x, const char *fields)
{
    if (http_is_stream(x->c))
        return;
    log_reply(x, 200);
    http_stream(x->c, fields);
}

/* ---- begin and end ---- */

static void
close_session_stream(struct exchange *x)
{
    if (x->session != NULL)
        mcp_stream_close(x->session, &x->sink);
    x->session = NULL;
}

void
exchange_free_posts(struct exchange *x)
{
    arena_fini(&x->posts);
    x->posts_len = 0;
}

void
exchange_free(struct exchange *x)
{
    *x->at = x->next;
    if (x->next != NULL)
        x->next->at = x->at;
    x->all->n_rounds -= x->round != 0;
    turn_leave(x->peer);
    close_session_stream(x);
    exchange_free_posts(x);
    buf_fini(&x->caller.text);
    free(x);
}

void
exchange_end(struct exchange *x)
{
    if (x->session == NULL && !x->asking)
        return;
    if (x->session == NULL && !http_is_stream(x->c)) {
        x->asking = false;
        exchange_unavailable(x);
    } else if (x->session != NULL || !turn_pending(x->peer)) {
        x->asking = false;
        close_session_stream(x);
        http_stream_end(x->c);
    }
}

/* ---- the peer ---- */

/* Drops the message if the client accepts no stream, or the reply has
   ended. */
static void
send(void *ctx, struct str body, struct str event)
{
    struct exchange *x = ctx;

    if (http_is_stream(x->c) || (x->sse && x->asking)) {
        exchange_begin_stream(x, NULL);
        http_event(x->c, STR("message"), event, body);
    }
}

/* Ends the streams of a session that has ended. */
static void
end_streams(const struct exchange *of)
{
    struct str id = of->facts.session_id;
    struct exchange *x;

    for (x = of->all->first; x != NULL; x = x->next)
        if (x->session != NULL && !x->legacy &&
            str_is(id, mcp_session_id(x->session))) {
            close_session_stream(x);
            http_stream_end(x->c);
        }
}

/* The status of an answer. Only the store can make the end of a session
   fail. */
static int
status_of(const struct exchange *x, enum mcp_status status)
{
    static const int http[] = {[MCP_OK] = 200, [MCP_ACCEPTED] = 202,
                               [MCP_BAD_REQUEST] = 400,
                               [MCP_NOT_FOUND] = 404,
                               [MCP_TOO_MANY] = 429};

    return (x->route->wants & ROUTE_ENDS) && status == MCP_BAD_REQUEST
               ? 503 : http[status];
}

/* Answers a request that has a reply of its own. */
static void
answer_request(struct exchange *x, const struct turn_answer *a)
{
    bool ok = a->status == MCP_OK;
    char fields[EXCHANGE_FIELDS] = "";

    if (ok && (x->route->wants & ROUTE_ENDS))
        end_streams(x);
    if (a->session != NULL)
        text_put(fields, sizeof(fields), "Mcp-Session-Id: %s\r\n",
                 a->session);
    if (x->wait_ms > 0)
        text_put(fields, sizeof(fields), EXCHANGE_RETRY);
    if (!x->json && ok && a->body.len > 0)
        exchange_begin_stream(x, fields);
    if (!http_is_stream(x->c)) {
        exchange_reply(x, status_of(x, a->status), fields,
                       a->body.len > 0 ? "application/json" : NULL, a->body);
        return;
    }
    if (a->body.len > 0)
        send(x, a->body, STR_NONE);
    http_stream_end(x->c);
}

void
exchange_answer(void *ctx, const struct turn_answer *a)
{
    struct exchange *x = ctx;
    bool asked = x->asking;

    x->asking = false;
    if (x->legacy) {
        if (a->body.len > 0)
            send(x, a->body, STR_NONE);
    } else if (asked) { /* else exchange_end has replied */
        answer_request(x, a);
    }
}

/* Invariant 1. */
static void
on_later(void *ctx)
{
    struct exchange *x = ctx;

    if (!x->legacy && x->sse)
        exchange_begin_stream(x, NULL);
}

static void
on_done(void *ctx)
{
    struct exchange *x = ctx;

    exchange_free_posts(x);
    if (x->asking) /* the answer may take long */
        http_forget(x->c);
}

static bool
is_gone(void *ctx)
{
    return http_is_gone(((const struct exchange *)ctx)->c);
}

bool
exchange_join(struct exchange *x)
{
    /* http writes by itself, so nothing is left to do in answered. */
    static const struct peer_ops ops = {.message = send,
                                        .answer = exchange_answer,
                                        .later = on_later, .gone = is_gone,
                                        .done = on_done};

    if (x->peer == NULL)
        x->peer = turn_join(x->all->turn, &ops, x);
    return x->peer != NULL;
}

struct exchange *
exchange_new(struct exchanges *all, struct http_conn *c)
{
    struct exchange *x = calloc(1, sizeof(*x));

    if (x == NULL)
        return NULL;
    x->all = all;
    x->c = c;
    x->at = &all->first;
    x->next = all->first;
    if (x->next != NULL)
        x->next->at = &x->next;
    all->first = x;
    x->sink = (struct mcp_sink){.send = send, .ctx = x};
    http_set_mine(c, x);
    return x;
}
