/* exchange - a request over HTTP and its reply.

   Invariants:
   1. A reply becomes a stream as soon as a message comes before the answer, or
      the answer has to wait: then its head goes out, and pings keep the
      connection open.
   2. No function of its channel frees an exchange, since that frees its peer:
      one that parts with its connection is freed by exchange_sweep.
   3. A wait that changes nothing can be resumed: the id of its first event
      holds the request, and serve/stream.c begins it again, also after a
      restart. A client that makes up such an id can read what a POST would let
      it read, and change nothing. */

#include "serve/exchange.h"

#include "base/base64.h"
#include "base/text.h"

#include <stdlib.h>
#include <string.h>

#define MAX_LOGGED 200              /* bytes of a path */
#define MAX_REPEATED ((size_t)2048) /* bytes of a request */

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
   For such a field, this returns a value that MCP never allows. */
static struct str
header_field(void *ctx, const char *name)
{
    bool twice = false;
    struct str value = http_field_once(http_request(ctx), name, &twice);

    return twice ? STR("\1") : value;
}

struct mcp_facts
exchange_facts(const struct exchange *x)
{
    return (struct mcp_facts){.http = true,
                              .version = header_field(x->c, EXCHANGE_VERSION),
                              .header = header_field,
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
exchange_reply_text(struct exchange *x, int status, const char *fields,
                    const char *text)
{
    exchange_reply(x, status, fields, "text/plain", str_of(text));
}

void
exchange_unavailable(struct exchange *x)
{
    exchange_reply_text(x, 503, HTTP_RETRY, "unavailable; try again in a "
                        "second\n");
}

bool
exchange_lacks(struct exchange *x, struct str value, const char *text)
{
    if (value.len == 0)
        exchange_reply_text(x, 400, NULL, text);
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
        mcp_stream_close(x->session, &x->channel);
    x->session = NULL;
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
    buf_fini(&x->caller.text);
    buf_fini(&x->repeat);
    free(x);
}

void
exchange_end(struct exchange *x)
{
    bool taken = x->peer != NULL && turn_pending(x->peer);

    if (x->c == NULL || taken || (x->session == NULL && !x->awaiting))
        return;
    x->awaiting = false;
    if (x->session == NULL && !http_is_stream(x->c)) {
        exchange_unavailable(x);
    } else {
        close_session_stream(x);
        http_stream_end(x->c);
    }
}

void
exchange_sweep(void *ctx)
{
    struct exchanges *all = ctx;
    struct exchange *x, *next;

    for (x = all->first; x != NULL; x = next) {
        next = x->next;
        if (x->c == NULL)
            exchange_free(x);
    }
}

/* Drops the message if the client accepts no stream, or the reply has
   ended. */
static void
send_message(struct exchange *x, struct str body, struct str event)
{
    if (http_is_stream(x->c) || (x->sse && x->awaiting)) {
        exchange_begin_stream(x, NULL);
        http_event(x->c, STR("message"), event, 0, body);
    }
}

/* ---- the channel ---- */

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

/* The status of an answer. The end of a session fails only if the store
   does. */
static int
reply_status(const struct exchange *x, enum mcp_status status)
{
    static const int http[] = {[MCP_OK] = 200, [MCP_ACCEPTED] = 202,
                               [MCP_BAD_REQUEST] = 400,
                               [MCP_NOT_FOUND] = 404,
                               [MCP_TOO_MANY] = 429};

    return (x->route->wants & ROUTE_ENDS) && status == MCP_BAD_REQUEST
               ? 503 : http[status];
}

/* It ends without an answer, so its client must not send it again. */
static void
send_no_repeat(struct exchange *x)
{
    struct str rest = buf_view(&x->repeat), session = str_cut(&rest, '.');
    char id[MCP_EVENT_MAX];
    size_t n = text_put(id, sizeof(id), "%.*s" EXCHANGE_OVER,
                        STR_ARG(session));

    http_event(x->c, STR_NONE, (struct str){id, n}, 0, STR_NONE);
}

void
exchange_answer(struct exchange *x, enum mcp_status status, struct str body,
                const char *session)
{
    bool ok = status == MCP_OK;
    char fields[EXCHANGE_FIELDS] = "";

    x->awaiting = false;
    if (ok && (x->route->wants & ROUTE_ENDS))
        end_streams(x);
    if (session != NULL)
        text_put(fields, sizeof(fields), "Mcp-Session-Id: %s\r\n", session);
    if (x->wait_ms > 0)
        text_put(fields, sizeof(fields), HTTP_RETRY);
    if (!x->json && ok && body.len > 0)
        exchange_begin_stream(x, fields);
    if (!http_is_stream(x->c)) {
        exchange_reply(x, reply_status(x, status), fields,
                       body.len > 0 ? "application/json" : NULL, body);
        return;
    }
    if (body.len > 0)
        send_message(x, body, STR_NONE);
    else if (x->repeat.len > 0)
        send_no_repeat(x);
    http_stream_end(x->c);
}

/* Sends the id by which the client can come back after ms: invariant 3. */
static void
send_repeat(struct exchange *x, const struct mcp_message *m, unsigned ms)
{
    struct buf *id = &x->repeat;
    struct str body = http_body(x->c);
    struct mcp_repeat first;

    if (id->len == 0 && body.len > 0 && body.len <= MAX_REPEATED &&
        mcp_repeats(m, &first)) {
        buf_printf(id, "%.*s.r%llu.%lld.", STR_ARG(x->facts.session_id),
                   (unsigned long long)first.since, (long long)first.began_ms);
        base64url_encode(id, body);
    }
    if (id->err != 0)
        buf_reset(id, 0);
    if (id->len > 0)
        http_event(x->c, STR_NONE, buf_view(id), ms, STR_NONE);
}

/* The answer to m comes later. Invariant 1; and if its client is to come back,
   the stream ends here: invariant 2. */
static void
await_answer(struct exchange *x, const struct mcp_message *m)
{
    struct exchanges *all = x->all;
    unsigned poll_ms = mcp_polls(m);

    if (!x->sse)
        return;
    exchange_begin_stream(x, NULL);
    send_repeat(x, m, poll_ms > 0 ? poll_ms : EXCHANGE_AGAIN_MS);
    if (poll_ms == 0 || x->repeat.len == 0)
        return;
    http_set_user_data(x->c, NULL);
    http_stream_end(x->c);
    x->c = NULL;
    if (all->end_ms == 0)
        loop_timer_set(all->loop, &all->timer, loop_now(all->loop));
}

/* http drops a connection that it has no memory for. */
static bool
send_out(void *ctx, const struct mcp_out *o)
{
    struct exchange *x = ctx;

    if (x->c == NULL)
        return true;
    if (o->status == MCP_LOST)
        http_drop(x->c);
    else if (o->to == NULL || (x->legacy && o->text.len > 0))
        send_message(x, o->text, o->event);
    else if (!x->legacy && o->status == MCP_WAITS)
        await_answer(x, o->to);
    else if (x->awaiting) /* else exchange_end has replied */
        exchange_answer(x, o->status, o->text, mcp_made_session(o->to));
    return true;
}

static void
on_messages_done(void *ctx)
{
    struct exchange *x = ctx;

    if (turn_pending(x->peer))
        return;
    x->posts_len = 0;
    if (x->awaiting && x->c != NULL) /* the answer may take long */
        http_forget(x->c);
}

static bool
is_client_gone(void *ctx)
{
    const struct exchange *x = ctx;

    return x->c == NULL || http_is_gone(x->c);
}

static bool
is_client_behind(void *ctx)
{
    const struct exchange *x = ctx;

    return x->c != NULL && http_is_behind(x->c);
}

bool
exchange_join(struct exchange *x)
{
    if (x->peer == NULL)
        x->peer = turn_join(x->all->turn, &x->channel);
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
    x->channel = (struct mcp_channel){.send = send_out,
                                      .behind = is_client_behind,
                                      .gone = is_client_gone,
                                      .done = on_messages_done, .ctx = x};
    http_set_user_data(c, x);
    return x;
}
