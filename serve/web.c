/* web - MCP over HTTP: routes, the checks of a request, and its reply.

   A request is judged by its head. It is refused if a page of another site may
   have sent it, if its caller is unknown, or if it would exceed a limit. The
   body of a refused request is not read. A message goes to the turn, and its
   answer comes back by the channel of its connection: as one body, or on a
   stream of events. Each connection has one exchange for all of its requests.

   A message that the turn has no room for is pushed again after the next turn,
   in rounds. A round has one message of each principal, the oldest first, so a
   principal that sends much does not keep others waiting. The body of a waiting
   message holds room that other requests of its principal may need, so the
   message is refused after MAX_WAIT_MS.

   Invariants:
   1. A reply becomes a stream as soon as a message comes before the answer, or
      the answer has to wait: then its head goes out, and pings keep the
      connection open.
   2. No function of its channel frees an exchange, since that frees its peer:
      one that parts with its connection is freed by sweep_exchanges.
   3. A wait that changes nothing can be resumed: the id of its first event
      holds the request, and run_repeat begins it again, also after a restart. A
      client that makes up such an id can read what a POST would let it read,
      and change nothing.
   4. /health, /ready and /metrics include the commits of all processes, write
      nothing, and reveal no text of a task. */

#include "serve/web.h"

#include "base/base64.h"
#include "base/text.h"
#include "board/page.h"
#include "http.h"
#include "serve/access.h"
#include "store/remote.h"

#include <stdlib.h>
#include <string.h>

#define FIELDS_LEN 160 /* bytes of the fields of one reply */
#define EVENT_OVER ".over" /* the end of the id of an event that is the last
                              of its stream */
/* How long a client that has lost its stream waits before it opens it again.
   Official clients try twice, so a restart may take four seconds. By themselves
   they would give up after two and a half; on /sse they would wait for three
   before each try. */
#define COME_BACK_MS 2000
#define VERSION_FIELD "mcp-protocol-version"

#define MAX_LOGGED 200              /* bytes of a path */
#define MAX_REPEATED ((size_t)2048) /* bytes of a request */
#define MAX_WAIT_MS (60 * 1000)     /* of a message, for its round */
/* Bytes posted for streams that have yet to be run: of all streams, and
   share_fits limits each principal. A turn may stay open, or wait for the lock,
   for seconds. */
#define MAX_POSTS (4 * HTTP_MAX_BODY)
#define PACKED "Content-Encoding: gzip\r\n" /* before the page's other fields */
#define PACKED_LEN (sizeof(PACKED) - 1)
#define METRICS_MS 1000 /* how old the figures of /metrics may be */
#define LATE_BODY ((size_t)64 * 1024) /* the most read of one above the rate */
#define ASK_TOKEN "ask its operator for a token, and set the header " \
                  "Authorization: Bearer TOKEN in your client"
#define NEEDS_TOKEN "this server needs a token; " ASK_TOKEN
#define NOT_ALLOWED "Host or Origin not allowed; start mcptask with " \
                    "--allow-host or --allow-origin"
/* To a message, since clients of the Python SDK 2 show no other text. */
#define REFUSAL(text) "{\"jsonrpc\":\"2.0\",\"id\":null,\"error\":{" \
                      "\"code\":-32000,\"message\":\"" text "\"}}"

struct exchange;

enum { /* the flags of a route */
    ROUTE_FREE = 1,   /* needs no token */
    ROUTE_BODY = 2,   /* has a body, application/json */
    ROUTE_STREAM = 4, /* the client accepts text/event-stream */
    ROUTE_OLD = 8,    /* only in revisions with sessions */
    ROUTE_ENDS = 16,  /* ends a session */
    ROUTE_ANSWER = 32, /* the client accepts JSON or a stream */
    ROUTE_TOKENS = 64, /* only where there are tokens */
    ROUTE_ALWAYS = 128 /* does not count for the rate */
};

/* A path and a method that the server answers. */
struct route {
    const char *path, *method;
    int wants;
    void (*run)(struct exchange *x);
};

struct web {
    struct turn *turn;
    struct mcp *mcp;         /* the turn's */
    struct loop *loop;
    struct store *store;
    struct http *http;
    struct http_handler handler;
    struct access access;
    struct exchange *first;  /* the newest */
    uint64_t last_round;     /* the last one that was pushed */
    unsigned n_rounds;       /* exchanges that wait to be pushed */
    struct loop_timer timer; /* frees exchanges, and ends the server */
    struct buf page;         /* the fields of the board, NUL-terminated */
    struct buf metrics;      /* the last reply of /metrics, */
    int64_t metrics_ms;      /* and when it was made */
    int64_t end_ms;          /* when the server ends; 0: it runs */
};

struct exchange {
    struct web *web;
    struct exchange *next, **at; /* in the web's list */
    struct http_conn *c;         /* NULL: it is to be freed */
    const struct route *route;
    struct caller caller;
    bool json, sse;   /* what its client accepts */
    uint64_t counted; /* hash of the principal that its connection counts for;
                         0: none */
    bool awaiting;    /* its reply waits for an answer */
    unsigned wait_ms; /* its request must wait this long for the rate; 0: it may
                         run */
    bool legacy;      /* it is a stream of the SSE transport */
    struct peer *peer; /* NULL: not needed yet */
    struct mcp_facts facts;
    struct mcp_session *session; /* whose stream it is, or NULL */
    struct mcp_channel channel;
    size_t posts_len;    /* bytes that others posted for its stream, until its
                            peer is done */
    struct buf repeat;   /* the id by which its request is sent again, or
                            empty */
    uint64_t round;      /* the round that pushes it; 0: it does not wait */
    int64_t until_ms;    /* how long it waits for its round */
};

static struct str
request_field(const struct exchange *x, const char *name)
{
    return http_field_of(http_request(x->c), name);
}

/* The revision in the request's header field, or -1. */
static int
request_version(const struct exchange *x)
{
    return mcp_rev_of(request_field(x, VERSION_FIELD));
}

static struct str
principal_of(const struct exchange *x)
{
    return access_principal(&x->caller);
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

static struct mcp_facts
facts_of_request(const struct exchange *x)
{
    return (struct mcp_facts){.http = true,
                              .version = header_field(x->c, VERSION_FIELD),
                              .header = header_field,
                              .header_ctx = x->c,
                              .principal = principal_of(x),
                              .read_only = x->caller.read_only,
                              .person = x->caller.person,
                              .session_id = request_field(x,
                                                           "mcp-session-id")};
}

/* ---- replies ---- */

static void
log_reply(const struct exchange *x, int status)
{
    const struct http_head *h = http_request(x->c);

    if (x->web->access.o.debug && h != NULL)
        text_tell("mcptask: %d %.*s %.*s\n", status, STR_ARG(h->method),
                  (int)(h->path.len < MAX_LOGGED ? h->path.len : MAX_LOGGED),
                  h->path.p);
}

static void
send_reply(struct exchange *x, int status, const char *fields,
           const char *type, struct str body)
{
    log_reply(x, status);
    http_reply(x->c, status, fields, type, body);
}

static void
reply_text(struct exchange *x, int status, const char *fields,
           const char *text)
{
    send_reply(x, status, fields, "text/plain", str_of(text));
}

static void
reply_unavailable(struct exchange *x)
{
    reply_text(x, 503, HTTP_RETRY, "unavailable; try again in a "
               "second\n");
}

/* Whether a required value is missing; then replies 400 and text. */
static bool
reply_if_missing(struct exchange *x, struct str value, const char *text)
{
    if (value.len == 0)
        reply_text(x, 400, NULL, text);
    return value.len == 0;
}

static void
begin_events(struct exchange *x, const char *fields)
{
    if (http_is_stream(x->c))
        return;
    log_reply(x, 200);
    http_stream(x->c, fields);
}

/* ---- an exchange ---- */

static void
close_session_stream(struct exchange *x)
{
    if (x->session != NULL)
        mcp_stream_close(x->session, &x->channel);
    x->session = NULL;
}

static void
free_exchange(struct exchange *x)
{
    *x->at = x->next;
    if (x->next != NULL)
        x->next->at = x->at;
    x->web->n_rounds -= x->round != 0;
    turn_leave(x->peer);
    close_session_stream(x);
    buf_fini(&x->caller.text);
    buf_fini(&x->repeat);
    free(x);
}

/* When the server stops: ends a reply that no message in the turn will end. */
static void
end_exchange(struct exchange *x)
{
    bool taken = x->peer != NULL && turn_pending(x->peer);

    if (x->c == NULL || taken || (x->session == NULL && !x->awaiting))
        return;
    x->awaiting = false;
    if (x->session == NULL && !http_is_stream(x->c)) {
        reply_unavailable(x);
    } else {
        close_session_stream(x);
        http_stream_end(x->c);
    }
}

/* Frees exchanges that have parted with their connections: invariant 2. */
static void
sweep_exchanges(void *ctx)
{
    struct web *w = ctx;
    struct exchange *x, *next;

    for (x = w->first; x != NULL; x = next) {
        next = x->next;
        if (x->c == NULL)
            free_exchange(x);
    }
}

/* Drops the message if the client accepts no stream, or the reply has
   ended. */
static void
send_message(struct exchange *x, struct str body, struct str event)
{
    if (http_is_stream(x->c) || (x->sse && x->awaiting)) {
        begin_events(x, NULL);
        http_event(x->c, STR("message"), event, 0, body);
    }
}

/* ---- the channel ---- */

/* Replies with an answer to its request; session is the id of one that it
   began, or NULL. */
static void
answer_request(struct exchange *x, enum mcp_status status, struct str body,
               const char *session)
{
    static const int http[] = {[MCP_OK] = 200, [MCP_ACCEPTED] = 202,
                               [MCP_BAD_REQUEST] = 400,
                               [MCP_NOT_FOUND] = 404,
                               [MCP_TOO_MANY] = 429};
    bool ok = status == MCP_OK, ends = (x->route->wants & ROUTE_ENDS) != 0;
    char fields[FIELDS_LEN] = "", id[MCP_EVENT_MAX];

    x->awaiting = false;
    for (struct exchange *y = ok && ends ? x->web->first : NULL; y != NULL;
         y = y->next) /* the streams of the session end with it */
        if (y->session != NULL && !y->legacy &&
            str_is(x->facts.session_id, mcp_session_id(y->session))) {
            close_session_stream(y);
            http_stream_end(y->c);
        }
    if (session != NULL)
        text_put(fields, sizeof(fields), "Mcp-Session-Id: %s\r\n", session);
    if (x->wait_ms > 0)
        text_put(fields, sizeof(fields), HTTP_RETRY);
    if (!x->json && ok && body.len > 0)
        begin_events(x, fields);
    if (!http_is_stream(x->c)) {
        /* The end of a session fails only if the store does. */
        send_reply(x, ends && status == MCP_BAD_REQUEST ? 503 : http[status],
                   fields, body.len > 0 ? "application/json" : NULL, body);
        return;
    }
    if (body.len > 0) {
        send_message(x, body, STR_NONE);
    } else if (x->repeat.len > 0) { /* its client must not send it again */
        struct str rest = buf_view(&x->repeat), of = str_cut(&rest, '.');
        size_t n = text_put(id, sizeof(id), "%.*s" EVENT_OVER, STR_ARG(of));

        http_event(x->c, STR_NONE, (struct str){id, n}, 0, STR_NONE);
    }
    http_stream_end(x->c);
}

/* The answer to m comes later. Invariant 1; and if its client is to come back,
   the stream ends here: invariant 2. */
static void
await_answer(struct exchange *x, const struct mcp_message *m)
{
    struct web *w = x->web;
    struct buf *id = &x->repeat;
    struct str body = http_body(x->c);
    struct mcp_repeat first;
    unsigned poll_ms = mcp_polls(m);

    if (!x->sse)
        return;
    begin_events(x, NULL);
    /* The id by which the client can come back: invariant 3. */
    if (id->len == 0 && body.len > 0 && body.len <= MAX_REPEATED &&
        mcp_repeats(m, &first)) {
        buf_printf(id, "%.*s.r%llu.%lld.", STR_ARG(x->facts.session_id),
                   (unsigned long long)first.since, (long long)first.began_ms);
        base64url_encode(id, body);
    }
    if (id->err != 0)
        buf_reset(id, 0);
    if (id->len > 0)
        http_event(x->c, STR_NONE, buf_view(id),
                   poll_ms > 0 ? poll_ms : COME_BACK_MS, STR_NONE);
    if (poll_ms == 0 || id->len == 0)
        return;
    http_set_user_data(x->c, NULL);
    http_stream_end(x->c);
    x->c = NULL;
    if (w->end_ms == 0)
        loop_timer_set(w->loop, &w->timer, loop_now(w->loop));
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
    else if (x->awaiting) /* else end_exchange has replied */
        answer_request(x, o->status, o->text, mcp_made_session(o->to));
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

/* Makes its peer unless it has one; false if memory ran out. */
static bool
join_turn(struct exchange *x)
{
    if (x->peer == NULL)
        x->peer = turn_join(x->web->turn, &x->channel);
    return x->peer != NULL;
}

/* Makes one for a new connection; NULL if memory ran out. */
static struct exchange *
new_exchange(struct web *w, struct http_conn *c)
{
    struct exchange *x = calloc(1, sizeof(*x));

    if (x == NULL)
        return NULL;
    x->web = w;
    x->c = c;
    x->at = &w->first;
    x->next = w->first;
    if (x->next != NULL)
        x->next->at = &x->next;
    w->first = x;
    x->channel = (struct mcp_channel){.send = send_out,
                                      .behind = is_client_behind,
                                      .gone = is_client_gone,
                                      .done = on_messages_done, .ctx = x};
    http_set_user_data(c, x);
    return x;
}

/* ---- POST /mcp ---- */

/* turn_push for the body that x brings; every request of a batch counts against
   the rate of its principal. */
static int
push_counted(struct exchange *x, struct peer *to, const struct mcp_facts *f,
             const struct str *text)
{
    const struct mcp *m = x->web->mcp;
    uint64_t n = mcp_requests(m);
    int err = turn_push(to, f, text);

    n = mcp_requests(m) - n;
    if (n > 1)
        access_charge(&x->web->access, principal_of(x),
                      loop_now(x->web->loop), n - 1);
    return err;
}

/* Pushes or refuses the message; false: try again after the next turn. */
static bool
push_own(struct exchange *x)
{
    bool ends = (x->route->wants & ROUTE_ENDS) != 0;
    struct str body = http_body(x->c);
    int err = ERR_NOMEM;

    x->facts = facts_of_request(x);
    if (join_turn(x))
        err = push_counted(x, x->peer, &x->facts, ends ? NULL : &body);
    if (err == ERR_QUEUE_FULL && !turn_stopping(x->web->turn))
        return false;
    x->awaiting = err == 0;
    if (err < 0)
        reply_unavailable(x);
    return true;
}

/* Answers a request above the rate. Clients before 2026-07-28 read an error
   only if the status is 200. A notification gets 429, since it has no answer
   and 202 would mean that it was accepted. */
static void
refuse_over_rate(struct exchange *x)
{
    bool modern = request_version(x) >= MCP_2026_07_28;
    struct buf b = {0};
    bool request = mcp_too_many(&b, http_body(x->c), x->wait_ms);

    answer_request(x, modern || !request ? MCP_TOO_MANY : MCP_OK,
                   buf_view(&b), NULL);
    buf_fini(&b);
}

static void
run_post(struct exchange *x)
{
    struct web *w = x->web;
    uint64_t n = w->last_round;

    x->awaiting = true;
    if (x->wait_ms > 0) {
        refuse_over_rate(x);
    } else if (w->n_rounds > 0 || !push_own(x)) {
        for (struct exchange *y = w->first; y != NULL; y = y->next)
            if (y->round > n && str_eq(principal_of(y), principal_of(x)))
                n = y->round;
        x->round = n + 1; /* it has no message of its principal yet */
        x->until_ms = loop_now(w->loop) + MAX_WAIT_MS;
        w->n_rounds++;
    }
}

static void
run_delete(struct exchange *x)
{
    if (!reply_if_missing(x, request_field(x, "mcp-session-id"),
                          "Mcp-Session-Id is missing\n"))
        run_post(x);
}

/* The oldest exchange of the first round; or NULL. */
static struct exchange *
first_in_rounds(const struct web *w)
{
    struct exchange *x, *first = NULL;

    for (x = w->n_rounds > 0 ? w->first : NULL; x != NULL; x = x->next)
        if (x->round != 0 && (first == NULL || x->round <= first->round))
            first = x;
    return first;
}

static void
leave_rounds(struct exchange *x)
{
    x->round = 0;
    x->web->n_rounds--;
}

/* After a turn: pushes the messages that the turn had no room for. */
static void
push_rounds(struct web *w)
{
    int64_t now = loop_now(w->loop);
    struct exchange *x;

    while ((x = first_in_rounds(w)) != NULL && push_own(x)) {
        w->last_round = x->round;
        leave_rounds(x);
    }
    for (x = w->first; w->n_rounds > 0 && x != NULL; x = x->next)
        if (x->round != 0 && x->until_ms <= now) {
            leave_rounds(x);
            x->awaiting = false;
            reply_unavailable(x);
        }
}

/* ---- streams ---- */

/* Replies to the opening of a stream. Its first event carries an id, so that a
   client that loses the stream before any message can return and gets the
   messages that went to the lost one. Clients before 2025-11-25 expect no event
   without data. */
static void
reply_opened(struct exchange *x, int err, const char *event, const char *data)
{
    char id[MCP_EVENT_MAX];
    size_t n;

    if (err == ERR_NOT_FOUND) {
        reply_text(x, 404, NULL, "no such session\n");
    } else if (err != 0) {
        reply_unavailable(x);
    } else {
        begin_events(x, NULL);
        n = mcp_stream_event(x->session, id);
        if (*data != '\0' || request_version(x) >= MCP_2025_11_25)
            http_event(x->c, str_of(event), (struct str){id, n},
                       COME_BACK_MS, str_of(data));
        http_forget(x->c);
    }
}

/* Reads the id of a request that is sent again: invariant 3. */
static int
read_repeat(struct arena *a, struct str session, struct str id,
            struct mcp_repeat *out, struct str *body)
{
    uint64_t began;

    if (!str_begins(id, session) ||
        !str_starts(str_from(id, session.len), ".r"))
        return ERR_SYNTAX;
    id = str_from(id, session.len + 2);
    if (!str_u64(str_cut(&id, '.'), &out->since) ||
        !str_u64(str_cut(&id, '.'), &began) || began == 0 ||
        began > INT64_MAX || id.len == 0)
        return ERR_SYNTAX;
    out->began_ms = (int64_t)began;
    return base64url_decode(a, id, body);
}

/* With 405 official clients give up, without an error. */
static void
reply_over(struct exchange *x)
{
    reply_text(x, 405, "Allow: POST\r\n", "this stream is over\n");
}

/* Runs a request again whose stream broke. Returns whether id is of one; then x
   has its reply. */
static bool
run_repeat(struct exchange *x, struct str session, struct str id)
{
    struct arena a = {0};
    struct str body;
    int err = read_repeat(&a, session, id, &x->facts.repeat, &body);

    if (err == 0) {
        x->json = false;
        buf_reset(&x->repeat, 0);
        buf_str(&x->repeat, id);
        err = join_turn(x) ? push_counted(x, x->peer, &x->facts, &body)
                               : ERR_NOMEM;
        x->awaiting = err == 0;
        if (err == ERR_INVALID)
            reply_over(x);
        else if (err != 0)
            reply_unavailable(x);
        err = 0;
    }
    arena_fini(&a);
    return err == 0;
}

static void
run_stream(struct exchange *x)
{
    struct str id = request_field(x, "mcp-session-id");
    struct str last = request_field(x, "last-event-id");

    x->facts = facts_of_request(x);
    if (reply_if_missing(x, id, "Mcp-Session-Id is missing\n") ||
        (last.p != NULL && run_repeat(x, id, last)))
        return;
    if (str_begins(last, id) &&
        str_is(str_from(last, id.len), EVENT_OVER)) { /* nothing comes later */
        reply_over(x);
        return;
    }
    reply_opened(x, mcp_stream_open(x->web->mcp, &x->facts, last,
                                    &x->channel, &x->session), "", "");
}

static void
run_sse(struct exchange *x)
{
    char to[FIELDS_LEN] = "";
    int err = ERR_NOMEM;

    x->legacy = true;
    x->facts = facts_of_request(x);
    if (join_turn(x))
        err = mcp_sse_open(x->web->mcp, &x->facts,
                           request_field(x, "last-event-id"), &x->channel,
                           &x->session);
    if (err == 0)
        text_put(to, sizeof(to), "/message?clientId=%s",
                 mcp_session_id(x->session));
    reply_opened(x, err, "endpoint", to);
}

/* ---- what is posted for a stream of the SSE transport ---- */

/* Pushes the message that x posts for the stream to. The connection of x goes
   on to its next request before the message is run, so its text counts as
   posted until then. Returns what turn_push does. */
static int
push_post(struct exchange *x, struct exchange *to)
{
    struct mcp_facts f = facts_of_request(x);
    struct str body = http_body(x->c);
    size_t own = 0, all = 0;
    int err;

    for (const struct exchange *y = x->web->first; y != NULL; y = y->next) {
        all += y->posts_len;
        if (str_eq(principal_of(y), principal_of(to)))
            own += y->posts_len;
    }
    if (!share_fits(own + body.len, all + body.len, MAX_POSTS))
        return ERR_QUEUE_FULL;
    f.principal = principal_of(to);
    f.session = to->session;
    f.session_id = STR_NONE;
    err = push_counted(x, to->peer, &f, &body);
    if (err == 0)
        to->posts_len += body.len;
    return err;
}

static void
run_sse_post(struct exchange *x)
{
    struct str id = http_query_of(http_request(x->c), "clientId");
    struct exchange *to = x->web->first;

    if (reply_if_missing(x, id, "clientId is missing\n"))
        return;
    while (to != NULL &&
           !(to->legacy && to->session != NULL &&
             str_is(id, mcp_session_id(to->session)) &&
             str_eq(principal_of(to), principal_of(x)) &&
             to->caller.read_only == x->caller.read_only))
        to = to->next;
    if (to == NULL)
        reply_text(x, 404, NULL, "no such client\n");
    else if (push_post(x, to) < 0)
        reply_unavailable(x);
    else
        reply_text(x, 202, NULL, "Accepted");
}

/* ---- the state of the server ---- */

/* Reads the store's state: a server that gets no writes would not notice that
   they would fail. After a failed one it tests whether writes work again. */
static const struct store_state *
probe_store(struct store *store)
{
    store_follow(store);
    store_check_access(store);
    store_check_room(store);
    if (store_state(store)->err != 0 && store_lock(store) == 0) {
        store_probe(store);
        store_unlock(store);
    }
    return store_state(store);
}

int
web_put_ready(struct buf *b, struct store *store, bool read_only,
              struct str agent, bool reader)
{
    const struct store_state *st = probe_store(store);
    struct json_w w;
    int64_t stale_ms;
    bool ready;

    stale_ms = store_stale_ms(store);
    ready = (st->err == 0 && stale_ms == 0) ||
            (read_only && st->err == ERR_READONLY);
    json_begin(&w, b);
    json_put_z(&w, "status", ready ? "ready" : "unavailable");
    json_put_bool(&w, "writable", st->err == 0 && !reader);
    if (agent.len > 0)
        json_put_str(&w, "agent", agent);
    if (*store_id(store) != '\0')
        json_put_z(&w, "store", store_id(store));
    json_put_int(&w, "head_seq", (int64_t)st->head);
    if (stale_ms > 0)
        json_put_int(&w, "stale_ms", stale_ms);
    if (st->err != 0) {
        json_put_z(&w, "code", err_name(st->err));
        json_put_z(&w, "reason", st->why);
    }
    json_end(&w);
    return ready ? 200 : 503;
}

void
web_put_metrics(struct buf *b, struct store *store, const struct http *http,
                const struct mcp *mcp)
{
    const struct store_state *st = probe_store(store);
    int64_t us, stale_ms = store_stale_ms(store);
    const char *member = store_member(store, &us);
    struct http_counts hc;
    struct mcp_counts mc;

    http_count(http, &hc);
    mcp_count(mcp, &mc);

    const struct {
        const char *name, *help;
        uint64_t value;
    } metrics[] = {
        {"store_writable", "1 if changes can be written.", st->err == 0},
        {"store_missing_bytes", "Disk space that changes lack.",
         st->err == ERR_FULL ? (uint64_t)st->missing : 0},
        {"store_head_seq", "Number of the newest record.", st->head},
        {"store_bytes", "Length of the log.", (uint64_t)st->len},
        {"store_superseded_bytes", "Of that, what a compaction removes.",
         (uint64_t)st->superseded},
        {"store_keys", "Tasks, calls and sessions in the log.", st->keys},
        {"store_index_bytes", "Memory of the index.", st->index_bytes},
        {"http_connections", "Open connections.", hc.open},
        {"http_streams", "Of these, streams of events.", hc.streams},
        {"http_held_bytes", "Memory of requests and unsent replies.", hc.held},
        {"http_accepted_total", "Connections accepted.", hc.accepted},
        {"http_refused_total", "Connections refused or dropped for others.",
         hc.refused},
        {"http_requests_total", "Requests received.", hc.requests},
        {"http_received_bytes_total", "Bytes received.", hc.bytes_in},
        {"http_sent_bytes_total", "Bytes sent.", hc.bytes_out},
        {"mcp_requests_total", "MCP requests answered.", mc.requests},
        {"mcp_errors_total", "Of these, answered with an error.", mc.errors},
        {"mcp_waiting", "Calls that wait.", mc.waiting},
        {"mcp_sessions", "Sessions in memory.", mc.sessions},
        {"mcp_subscriptions", "Subscriptions to resources.", mc.subscriptions},
        {"calls_oldest_seconds", "Age of the oldest deferred call.",
         (uint64_t)mc.calls.oldest_ms / 1000},
    };

    buf_metric(b, "build_info", "The version that runs.");
    buf_z(b, "mcptask_build_info{version=\"" MCPTASK_VERSION "\"} 1\n");
    for (size_t i = 0; i < sizeof(metrics) / sizeof(*metrics); i++) {
        buf_metric(b, metrics[i].name, metrics[i].help);
        buf_printf(b, "mcptask_%s %llu\n", metrics[i].name,
                   (unsigned long long)metrics[i].value);
    }
    buf_metric(b, "store_stale_seconds",
               "Age of what is known of other hosts, 0 if up to date.");
    buf_printf(b, "mcptask_store_stale_seconds %lld.%03lld\n",
               (long long)stale_ms / 1000, (long long)stale_ms % 1000);
    if (member != NULL) {
        buf_metric(b, "store_round_trip_seconds",
                   "How long etcd takes to answer, smoothed.");
        buf_printf(b, "mcptask_store_round_trip_seconds %lld.%06lld\n",
                   (long long)us / 1000000, (long long)us % 1000000);
        buf_metric(b, "store_endpoint", "The member of etcd in use.");
        buf_printf(b, "mcptask_store_endpoint{address=\"%s\"} 1\n", member);
    }
    buf_metric(b, "calls", "Deferred calls by status.");
    for (size_t i = 0; i < CALL_N_STATUSES; i++)
        buf_printf(b, "mcptask_calls{status=\"%s\"} %llu\n",
                   call_status_name((enum call_status)i),
                   (unsigned long long)mc.calls.by_status[i]);
}

/* Replies with JSON, or with 503 if that ran out of memory; frees it. */
static void
reply_json(struct exchange *x, int status, struct buf *b)
{
    if (b->err == 0)
        send_reply(x, status, NULL, "application/json", buf_view(b));
    else
        reply_unavailable(x);
    buf_fini(b);
}

/* The id of the store is empty before the first write. */
static void
run_health(struct exchange *x)
{
    struct store *store = x->web->store;
    struct buf b = {0};

    if (*store_id(store) == '\0') /* another process may have made the log */
        store_follow(store);
    buf_printf(&b, "{\"status\":\"ok\",\"store\":\"%s\"}", store_id(store));
    reply_json(x, 200, &b);
}

static void
run_ready(struct exchange *x)
{
    struct buf b = {0};
    int status = web_put_ready(&b, x->web->store, x->web->access.o.read_only,
                               principal_of(x), x->caller.read_only);

    reply_json(x, status, &b);
}

/* The figures look at every live task, so they are kept for a while. */
static void
run_metrics(struct exchange *x)
{
    struct web *w = x->web;
    const struct web_options *o = &w->access.o;
    struct buf *b = &w->metrics;
    int64_t now = loop_now(w->loop);

    if (b->len == 0 || now - w->metrics_ms >= METRICS_MS) {
        b->len = 0;
        web_put_metrics(b, w->store, w->http, w->mcp);
        if (o->put_metrics != NULL)
            o->put_metrics(o->metrics_ctx, b);
        w->metrics_ms = now;
    }
    if (b->err == 0) {
        send_reply(x, 200, NULL, "text/plain; version=0.0.4",
                   buf_view(b));
    } else {
        buf_fini(b);
        reply_unavailable(x);
    }
}

/* Clients that get 401 and find no authorization server try to register with
   this one, and show their user the error (RFC 7591, section 3.2.2). */
static void
run_register(struct exchange *x)
{
    send_reply(x, 400, NULL, "application/json",
               STR("{\"error\":\"access_denied\","
                   "\"error_description\":\"this server has no OAuth; "
                   ASK_TOKEN "\"}"));
}

/* ---- the page for people ---- */

static void
run_page(struct exchange *x)
{
    struct buf *fields = &x->web->page;
    struct str body = page_packed(), has = request_field(x, "if-none-match");
    const char *type = "text/html; charset=utf-8";
    char tag[16];

    /* On first use, since this takes longer than the rest of the start. */
    if (fields->len == 0) {
        buf_z(fields, PACKED);
        page_put_fields(fields);
        buf_char(fields, '\0');
    }
    if (fields->err != 0)
        buf_reset(fields, 0);
    page_tag(tag);
    if (fields->p == NULL)
        reply_unavailable(x);
    else if (str_find(has, str_of(tag + 2)) != SIZE_MAX) /* a proxy that packs
            the page again changes the form of its tag */
        send_reply(x, 304, fields->p + PACKED_LEN, NULL, STR_NONE);
    else if (http_accepts_coding(http_request(x->c), "gzip"))
        send_reply(x, 200, fields->p, type, body);
    else if (page_text(&body) == 0)
        send_reply(x, 200, fields->p + PACKED_LEN, type, body);
    else
        reply_unavailable(x);
}

/* ---- judging a head ---- */

static const struct route routes[] = {
    {"/mcp", "POST", ROUTE_BODY | ROUTE_ANSWER, run_post},
    {"/mcp", "GET", ROUTE_STREAM | ROUTE_OLD, run_stream},
    {"/mcp", "DELETE", ROUTE_OLD | ROUTE_ENDS, run_delete},
    {"/sse", "GET", ROUTE_STREAM, run_sse},
    {"/message", "POST", ROUTE_BODY, run_sse_post},
    {"/", "GET", ROUTE_FREE | ROUTE_ALWAYS, run_page},
    {"/health", "GET", ROUTE_FREE | ROUTE_ALWAYS, run_health},
    {"/ready", "GET", ROUTE_ALWAYS, run_ready},
    {"/metrics", "GET", 0, run_metrics},
    {"/register", "POST", ROUTE_FREE | ROUTE_BODY | ROUTE_TOKENS,
     run_register},
};
#define N_ROUTES (sizeof(routes) / sizeof(routes[0]))

/* Sets x->route and returns 0; or returns 404; or 405, with the methods that
   the path has in allow. HEAD is a GET, except of a stream. */
static int
find_route(struct exchange *x, const struct http_head *h,
           char allow[FIELDS_LEN])
{
    struct str path = h->path;
    size_t i, n = 0;

    if (str_is(path, "/mcp/")) /* as some clients write it */
        path.len--;
    for (i = 0; i < N_ROUTES; i++) {
        const struct route *r = &routes[i];
        bool head = (r->wants & (ROUTE_STREAM | ROUTE_OLD | ROUTE_BODY)) == 0;

        if (!str_is(path, r->path) ||
            ((r->wants & ROUTE_OLD) &&
             request_version(x) >= MCP_2026_07_28) ||
            ((r->wants & ROUTE_TOKENS) && x->web->access.tokens == NULL))
            continue;
        if (str_is(h->method, r->method) ||
            (head && str_is(h->method, "HEAD"))) {
            x->route = r;
            return 0;
        }
        n += text_put(allow + n, FIELDS_LEN - n, "%s%s%s",
                      n == 0 ? "Allow: " : ", ", r->method,
                      head ? ", HEAD" : "");
    }
    text_put(allow + n, FIELDS_LEN - n, "\r\n");
    return n > 0 ? 405 : 404;
}

/* Counts x's connection for its principal, which may not have all of them.
   Returns 0 or 429. */
static int
count_connection(struct exchange *x)
{
    const struct web *w = x->web;
    bool tokens = w->access.tokens != NULL;
    uint64_t who = str_hash(principal_of(x));
    size_t own = 1, n = 1;
    const struct exchange *y;

    if (x->counted == who || (tokens && (x->route->wants & ROUTE_FREE)))
        return 0;
    for (y = w->first; y != NULL; y = y->next) {
        bool counts = y != x && y->c != NULL && y->counted != 0;

        n += counts;
        own += counts && y->counted == who;
    }
    if (tokens && !share_fits(own, n, http_limit(w->http)))
        return 429;
    x->counted = who;
    http_know(x->c);
    return 0;
}

/* Judges a request by its head: where it comes from and goes to, who sends it,
   the types that it sends and accepts, and the rate. Returns 0, or the status
   to refuse it with; allow as find_route sets it. */
static int
judge_head(struct exchange *x, const struct http_head *h,
           char allow[FIELDS_LEN])
{
    const struct web *w = x->web;
    struct str coding = http_field_of(h, "content-encoding");
    bool open_to_all, streams;
    int status, wants;

    if (!access_is_ours(&w->access.o, http_address(w->http), h))
        return 403;
    if ((status = find_route(x, h, allow)) != 0)
        return status;
    wants = x->route->wants;
    open_to_all = (wants & ROUTE_FREE) != 0; /* any site may link to it */
    if (!open_to_all && access_is_cross_site(h))
        return 403;

    buf_reset(&x->caller.text, FIELDS_LEN);
    x->caller.agent_len = 0;
    x->caller.read_only = false;
    x->caller.person = w->access.tokens == NULL && access_is_page(h);
    if (w->access.tokens != NULL && !open_to_all &&
        (status = access_find(&w->access, h, &x->caller)) != 0)
        return status;

    x->sse = http_accepts(h, "text/event-stream");
    x->json = http_accepts(h, "application/json");
    /* A compressed body could grow beyond every limit. */
    if ((wants & ROUTE_BODY) &&
        (!http_is_type(http_field_of(h, "content-type"), "application/json") ||
         (coding.len > 0 && !http_is_type(coding, "identity"))))
        return 415;
    /* A message with an unknown version passes: its answer reports that. */
    if ((wants & ROUTE_OLD) && request_version(x) < 0 &&
        request_field(x, VERSION_FIELD).p != NULL)
        return 400;
    streams = (wants & ROUTE_STREAM) ||
              str_is(http_field_of(h, "mcp-method"), "subscriptions/listen");
    if (!x->sse && (streams || ((wants & ROUTE_ANSWER) && !x->json)))
        return 406;

    /* A request above the rate is not run; a message is still read, unless it
       is long, to be answered with its id. */
    if ((wants & ROUTE_ALWAYS) == 0)
        x->wait_ms = access_wait_ms(&x->web->access, principal_of(x),
                                    loop_now(w->loop));
    if (x->wait_ms > 0 && (!(wants & ROUTE_ANSWER) || h->chunked ||
                           h->content_length > LATE_BODY))
        return 429;
    return count_connection(x);
}

static void
refuse_request(struct exchange *x, const struct http_head *h, int status,
               const char *allow)
{
    static const struct {
        int status;
        const char *fields, *text, *message;
    } of[] = {
        {400, NULL, "unknown MCP-Protocol-Version\n", NULL},
        {401, "WWW-Authenticate: Bearer\r\n", NEEDS_TOKEN "\n",
         REFUSAL(NEEDS_TOKEN)},
        {403, NULL, NOT_ALLOWED "\n", REFUSAL(NOT_ALLOWED)},
        {404, NULL, "no such path\n", NULL},
        {405, NULL, "method not allowed for this path\n", NULL},
        {406, NULL, "Accept must include text/event-stream\n", NULL},
        {415, "Accept-Encoding: identity\r\n", "send the body as "
         "application/json, without Content-Encoding\n", NULL},
        {429, HTTP_RETRY,
         "too many requests or connections: wait a second\n", NULL},
    };
    size_t i = 0;

    while (of[i].status != status)
        i++;
    if (of[i].message != NULL && str_is(h->method, "POST") &&
        str_starts(h->path, "/mcp"))
        send_reply(x, status, of[i].fields, "application/json",
                   str_of(of[i].message));
    else
        reply_text(x, status, status == 405 ? allow : of[i].fields,
                   of[i].text);
}

static void
on_head(void *ctx, struct http_conn *c)
{
    struct web *w = ctx;
    const struct http_head *h = http_request(c);
    struct exchange *x = http_user_data(c);
    char allow[FIELDS_LEN];
    int status;

    if (x == NULL && (x = new_exchange(w, c)) == NULL) {
        http_drop(c);
        return;
    }
    buf_reset(&x->repeat, 0);
    x->legacy = false;
    x->wait_ms = 0;
    if (access_is_ambiguous(h)) {
        reply_text(x, 400, NULL,
                   "Authorization or Mcp-Session-Id was sent twice\n");
        return;
    }
    status = judge_head(x, h, allow);
    if (status == 503)
        reply_unavailable(x);
    else if (status != 0)
        refuse_request(x, h, status, allow);
    else if (x->route->wants & ROUTE_BODY) /* it may be large: its room is that
            of the principal or, without tokens, of the connection */
        http_share(c, w->access.tokens != NULL ? str_hash(principal_of(x))
                                               : (uintptr_t)c);
}

static void
on_request(void *ctx, struct http_conn *c)
{
    struct exchange *x = http_user_data(c);

    (void)ctx;
    x->route->run(x);
}

static void
on_closed(void *ctx, struct http_conn *c)
{
    struct exchange *x = http_user_data(c);

    (void)ctx;
    if (x != NULL)
        free_exchange(x);
}

/* ---- begin and end ---- */

/* Disconnects clients whose token was removed or has changed. */
static void
on_hangup(void *ctx)
{
    struct web *w = ctx;
    struct exchange *x;

    if (!access_reload(&w->access))
        return;
    for (x = w->first; x != NULL; x = x->next)
        if (x->c != NULL && x->caller.text.len > 0 &&
            !access_is_known(&w->access, &x->caller))
            http_drop(x->c);
}

int
web_open(struct web **out, struct turn *t, struct loop *l,
         struct store *store, const struct web_options *o, char why[256])
{
    struct web *w = calloc(1, sizeof(*w));
    int err;

    if (w == NULL)
        return ERR_NOMEM;
    w->handler = (struct http_handler){w, on_head, on_request, on_closed};
    w->turn = t;
    w->mcp = turn_mcp(t);
    w->loop = l;
    w->store = store;
    w->timer = (struct loop_timer){.fn = sweep_exchanges, .ctx = w};
    err = access_open(&w->access, o, why);
    if (err == 0)
        err = http_open(&w->http, l, &o->http, &w->handler, why);
    if (err < 0) {
        web_close(w);
        return err;
    }
    turn_on_hangup(t, on_hangup, w);
    if (w->access.tokens != NULL)
        mcp_principals(w->mcp, access_has, &w->access);
    *out = w;
    return 0;
}

void
web_close(struct web *w)
{
    if (w == NULL)
        return;
    mcp_principals(w->mcp, NULL, NULL);
    loop_timer_stop(w->loop, &w->timer);
    for (struct exchange *x = w->first; x != NULL; x = x->next) {
        turn_leave(x->peer); /* there was no time for its messages */
        x->peer = NULL;
        end_exchange(x);
    }
    http_free(w->http);
    while (w->first != NULL)
        free_exchange(w->first);
    access_close(&w->access);
    buf_fini(&w->page);
    buf_fini(&w->metrics);
    free(w);
}

const char *
web_address(const struct web *w)
{
    return http_address(w->http);
}

bool
web_ended(void *ctx)
{
    struct web *w = ctx;
    int64_t now = loop_now(w->loop);

    if (!turn_stopping(w->turn)) {
        push_rounds(w);
        return false;
    }
    if (w->end_ms == 0) {
        w->end_ms = now + TURN_END_MS;
        http_stop(w->http);
        loop_timer_set(w->loop, &w->timer, w->end_ms);
    }
    for (struct exchange *x = w->first; x != NULL; x = x->next)
        end_exchange(x);
    return http_is_idle(w->http) || now >= w->end_ms;
}
