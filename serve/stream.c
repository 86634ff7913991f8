/* stream - streams of a session's events, and the SSE transport. */

#include "serve/stream.h"

#include "base/base64.h"
#include "base/text.h"
#include "serve/post.h"

/* Bytes posted for streams that have yet to be run: of all streams, and
   share_fits limits each principal. A turn may stay open, or wait for the lock,
   for seconds. */
#define MAX_POSTS (4 * HTTP_MAX_BODY)

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
        exchange_reply_text(x, 404, NULL, "no such session\n");
    } else if (err != 0) {
        exchange_unavailable(x);
    } else {
        exchange_begin_stream(x, NULL);
        n = mcp_stream_event(x->session, id);
        if (*data != '\0' || exchange_version(x) >= MCP_2025_11_25)
            http_event(x->c, str_of(event), (struct str){id, n},
                       EXCHANGE_AGAIN_MS, str_of(data));
        http_forget(x->c);
    }
}

/* Reads the id of a request that is sent again: see exchange.c, 3. */
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
    exchange_reply_text(x, 405, "Allow: POST\r\n", "this stream is over\n");
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
        err = exchange_join(x) ? post_push(x, x->peer, &x->facts, &body)
                               : ERR_NOMEM;
        x->awaiting = err == 0;
        if (err == ERR_INVALID)
            reply_over(x);
        else if (err != 0)
            exchange_unavailable(x);
        err = 0;
    }
    arena_fini(&a);
    return err == 0;
}

/* Whether id is of the last event of a stream: nothing comes after it. */
static bool
is_stream_over(struct str session, struct str id)
{
    return str_begins(id, session) &&
           str_is(str_from(id, session.len), EXCHANGE_OVER);
}

void
stream_run(struct exchange *x)
{
    struct str id = exchange_field(x, "mcp-session-id");
    struct str last = exchange_field(x, "last-event-id");

    x->facts = exchange_facts(x);
    if (exchange_lacks(x, id, "Mcp-Session-Id is missing\n") ||
        (last.p != NULL && run_repeat(x, id, last)))
        return;
    if (last.p != NULL && is_stream_over(id, last)) {
        reply_over(x);
        return;
    }
    reply_opened(x, mcp_stream_open(exchange_mcp(x), &x->facts, last,
                                    &x->channel, &x->session), "", "");
}

void
stream_run_sse(struct exchange *x)
{
    char to[EXCHANGE_FIELDS] = "";
    int err = ERR_NOMEM;

    x->legacy = true;
    x->facts = exchange_facts(x);
    if (exchange_join(x))
        err = mcp_sse_open(exchange_mcp(x), &x->facts,
                           exchange_field(x, "last-event-id"), &x->channel,
                           &x->session);
    if (err == 0)
        text_put(to, sizeof(to), "/message?clientId=%s",
                 mcp_session_id(x->session));
    reply_opened(x, err, "endpoint", to);
}

/* ---- what is posted for a stream of the SSE transport ---- */

static struct exchange *
find_sse_client(const struct exchange *x, struct str id)
{
    struct exchange *y = x->all->first;

    while (y != NULL &&
           !(y->legacy && y->session != NULL &&
             str_is(id, mcp_session_id(y->session)) &&
             exchange_same_caller(y, x)))
        y = y->next;
    return y;
}

/* Whether so many bytes more may be posted for the stream to. */
static bool
has_room(const struct exchange *to, size_t len)
{
    size_t own = len, all = len;

    for (const struct exchange *y = to->all->first; y != NULL; y = y->next) {
        all += y->posts_len;
        own += str_eq(exchange_principal(y), exchange_principal(to))
                   ? y->posts_len : 0;
    }
    return share_fits(own, all, MAX_POSTS);
}

/* Pushes the message that x posts for the stream to. The connection of x goes
   on to its next request before the message is run, so its text counts as
   posted until then. Returns what turn_push does. */
static int
push_post(struct exchange *x, struct exchange *to)
{
    struct mcp_facts f = exchange_facts(x);
    struct str body = http_body(x->c);
    int err;

    if (!has_room(to, body.len))
        return ERR_QUEUE_FULL;
    f.principal = exchange_principal(to);
    f.session = to->session;
    f.session_id = STR_NONE;
    err = post_push(x, to->peer, &f, &body);
    if (err == 0)
        to->posts_len += body.len;
    return err;
}

void
stream_run_message(struct exchange *x)
{
    struct str id = http_query_of(http_request(x->c), "clientId");
    struct exchange *to;

    if (exchange_lacks(x, id, "clientId is missing\n"))
        return;
    to = find_sse_client(x, id);
    if (to == NULL)
        exchange_reply_text(x, 404, NULL, "no such client\n");
    else if (push_post(x, to) < 0)
        exchange_unavailable(x);
    else
        exchange_reply_text(x, 202, NULL, "Accepted");
}
