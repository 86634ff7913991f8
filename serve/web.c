/* web - MCP over HTTP.

   Each connection has a link: who asks, the peer that takes what it posts,
   the stream that it is. What a request says of itself is judged by its head,
   before any of its body is read. It refuses what a page of another site may
   have sent, whom it does not know, and to hold anything without a limit.

   Invariants:
   1. No body is read of a request that judge refuses.
   2. A reply becomes a stream as soon as something goes before the answer,
      or has to be waited for: then its head is out, and pings keep it.
   3. A link without a connection is kept: its client was told an event id,
      comes back with that and gets what was said since, once. Nobody else
      does: the id holds the session's, which the principal has to match.
   4. What is posted for a stream of the SSE transport is copied, and stays
      until that stream's peer is done with it.
   5. From within peer_ops no link is freed, since its peer goes with it.
   6. What the turn has no room for is pushed again after the next turn: one of
      each principal's after the other, and what came first before the rest. */

#include "serve/internal.h"

#include "http/reply.h"
#include "board/page.h"
#include "base/text.h"
#include "base/token.h"

#include <stdlib.h>
#include <string.h>

#define PACKED "Content-Encoding: gzip\r\n" /* before the page's other fields */
#define PACKED_LEN (sizeof(PACKED) - 1)
/* Nobody waits longer for his next request, but after a batch. */
#define RETRY "Retry-After: 1\r\n"
#define FIELD_LEN 160 /* bytes of the fields of one reply */
#define VERSION "mcp-protocol-version"
#define SECOND_US 1000000
#define LATE_BODY ((size_t)64 * 1024) /* of a request too many: read, no more */

struct link {
    struct web *web;
    struct link *next, **at; /* in web's list, the newest first */
    struct http_conn *c;     /* NULL: invariant 3 */
    const struct route *route;
    struct buf who;   /* whose token it is, then the token */
    size_t agent_len;
    bool read_only;   /* that token is */
    bool json, sse;   /* what its client accepts */
    uint64_t known;   /* hash of whom its connection counts for; 0: nobody */
    bool asking;      /* its reply waits for an answer */
    unsigned wait_ms; /* its request is one too many until then; 0: none */
    bool legacy;      /* it is a stream of the SSE transport */
    struct peer *peer; /* NULL: not needed so far */
    struct mcp_facts facts;
    struct mcp_session *session; /* whose stream it is, or NULL */
    struct mcp_sink sink;
    struct arena posts; /* invariant 4 */
    size_t posts_len;
    struct buf id;    /* under which it may be kept, or empty */
    struct buf got;   /* said meanwhile, a line each */
    uint64_t later;   /* its round among those of invariant 6; 0: none */
    int64_t until_ms; /* for which it is kept */
};

struct web {
    struct turn *turn;
    struct loop *loop;
    struct store *store;
    struct http *http;
    struct tokens *tokens; /* NULL: whoever gets here may */
    struct web_options o;
    struct link *links;
    uint64_t last_id; /* of what was kept; from a random one on */
    uint64_t last_later; /* the round that was pushed last */
    unsigned n_later;
    struct loop_timer timer;
    struct http_handler handler;
    struct buf page;  /* the fields that go with it, NUL-terminated */
    struct web_rate rate;
    int64_t each_us;  /* that a request takes of a principal's time */
    int64_t end_ms;   /* 0: it goes on */
};

enum { /* what a route wants, beside its method */
    FREE = 1,   /* no token */
    BODY = 2,   /* application/json */
    STREAM = 4, /* a client that takes text/event-stream */
    OLD = 8,    /* no version without sessions */
    ENDS = 16   /* the end of a session */
};

struct route {
    const char *path, *method;
    int wants;
    void (*run)(struct link *k);
};

static struct mcp *
mcp_of(const struct link *k)
{
    return turn_mcp(k->web->turn);
}

static struct str
principal(const struct link *k)
{
    return (struct str){k->who.p, k->agent_len};
}

/* Whether both may the same. */
static bool
are_same(const struct link *a, const struct link *b)
{
    return str_eq(principal(a), principal(b)) && a->read_only == b->read_only;
}

static struct str
field(const struct link *k, const char *name)
{
    return http_field_of(http_request(k->c), name);
}

/* The revision that the request names, or -1. */
static int
version_of(const struct link *k)
{
    return mcp_rev_of(field(k, VERSION));
}

/* ---- replies ---- */

static void
log_reply(const struct link *k, int status)
{
    const struct http_head *h = http_request(k->c);

    if (k->web->o.debug && h != NULL)
        text_tell("mcptask: %d %.*s %.*s\n", status, STR_ARG(h->method),
                  (int)(h->path.len < 200 ? h->path.len : 200), h->path.p);
}

static void
reply(struct link *k, int status, const char *fields, const char *type,
      struct str body)
{
    log_reply(k, status);
    http_reply(k->c, status, fields, type, body);
}

static void
say(struct link *k, int status, const char *fields, const char *text)
{
    reply(k, status, fields, "text/plain", str_of(text));
}

static void
unavailable(struct link *k)
{
    say(k, 503, RETRY, "not now\n");
}

static void
begin_stream(struct link *k, const char *fields)
{
    if (http_is_stream(k->c))
        return;
    log_reply(k, 200);
    http_stream(k->c, fields);
}

static void
free_posts(struct link *k)
{
    arena_fini(&k->posts);
    k->posts_len = 0;
}

static void
end_session_stream(struct link *k)
{
    if (k->session != NULL)
        mcp_stream_close(k->session, &k->sink);
    k->session = NULL;
}

/* ---- links ---- */

static void
link_free(struct link *k)
{
    *k->at = k->next;
    if (k->next != NULL)
        k->next->at = k->at;
    k->web->n_later -= k->later != 0;
    turn_leave(k->peer);
    end_session_stream(k);
    free_posts(k);
    buf_fini(&k->who);
    buf_fini(&k->id);
    buf_fini(&k->got);
    free(k);
}

/* ---- replies that clients come back for: invariant 3 ---- */

/* Drops what nobody has come for. */
static void
look(void *ctx)
{
    struct web *w = ctx;
    struct link *k, *next;
    int64_t now = loop_now(w->loop), due = INT64_MAX;

    for (k = w->links; k != NULL; k = next) {
        next = k->next;
        if (k->c != NULL)
            continue;
        if (k->until_ms <= now)
            link_free(k);
        else if (k->until_ms < due)
            due = k->until_ms;
    }
    if (due != INT64_MAX && w->end_ms == 0)
        loop_timer_set(w->loop, &w->timer, due);
}

static void
keep(struct link *k)
{
    struct web *w = k->web;

    k->c = NULL;
    k->until_ms = loop_now(w->loop) + WEB_KEEP_MS;
    if (!w->timer.set)
        loop_timer_set(w->loop, &w->timer, k->until_ms);
}

static bool
may_keep(const struct web *w)
{
    const struct link *k;
    size_t n = 0;

    for (k = w->links; k != NULL; k = k->next)
        n += k->id.len > 0;
    return n < WEB_MAX_KEPT;
}

/* Ends the stream; its answer can be fetched after ms. */
static void
part(struct link *k, unsigned ms)
{
    struct http_conn *c = k->c;

    buf_printf(&k->id, "%.*s.%llx", STR_ARG(k->facts.session_id),
               (unsigned long long)++k->web->last_id);
    if (k->id.err != 0) {
        buf_reset(&k->id, 0);
        return;
    }
    http_event(c, STR_NONE, buf_view(&k->id), ms, STR_NONE);
    keep(k);
    http_set_mine(c, NULL);
    http_stream_end(c);
}

static void
keep_line(struct link *k, struct str line)
{
    if (k->got.len + line.len < WEB_MAX_ANSWER &&
        buf_room(&k->got, line.len + 1) != NULL) {
        buf_str(&k->got, line);
        buf_char(&k->got, '\n');
    }
    k->got.err = 0;
}

static bool
is_kept_for(const struct link *k, struct str session)
{
    return k->c == NULL && k->id.len > session.len &&
           memcmp(k->id.p, session.p, session.len) == 0 &&
           k->id.p[session.len] == '.';
}

static struct link *
find_kept(const struct link *k, struct str session, struct str id)
{
    struct link *x;

    for (x = k->web->links; x != NULL; x = x->next)
        if (is_kept_for(x, session) && str_eq(buf_view(&x->id), id) &&
            are_same(x, k))
            return x;
    return NULL;
}

/* There may be no way for it: the client takes one answer and no stream, or
   at the end its reply was ended before. */
static void
on_message(void *ctx, struct str body, struct str event)
{
    struct link *k = ctx;

    if (k->c == NULL) {
        keep_line(k, body);
    } else if (http_is_stream(k->c) || (k->sse && k->asking)) {
        begin_stream(k, NULL);
        http_event(k->c, STR("message"), event, 0, body);
    }
}

/* Goes on with x, which was kept, on k's connection; k is gone then. */
static void
resume(struct link *k, struct link *x)
{
    struct str rest = buf_view(&x->got);

    x->c = k->c;
    x->route = k->route;
    link_free(k);
    http_set_mine(x->c, x);
    begin_stream(x, NULL);
    while (rest.len > 0) {
        const char *lf = memchr(rest.p, '\n', rest.len);
        size_t n = (size_t)(lf - rest.p);

        on_message(x, (struct str){rest.p, n}, STR_NONE);
        rest = (struct str){lf + 1, rest.len - n - 1};
    }
    buf_reset(&x->got, 0);
    if (x->asking)
        http_forget(x->c);
    else
        http_stream_end(x->c);
}

/* ---- the peer ---- */

/* Its session has ended: so do the streams of it, and what is kept for it. */
static void
end_streams(const struct link *of)
{
    struct str id = of->facts.session_id;
    struct link *k;

    for (k = of->web->links; k != NULL; k = k->next)
        if (k->session != NULL && !k->legacy &&
            str_is(id, mcp_session_id(k->session))) {
            end_session_stream(k);
            http_stream_end(k->c);
        } else if (is_kept_for(k, id)) {
            buf_reset(&k->id, 0); /* not to be found; look frees it */
        }
}

static void
on_answer(void *ctx, const struct turn_answer *a)
{
    static const int status[] = {[MCP_OK] = 200, [MCP_ACCEPTED] = 202,
                                 [MCP_BAD_REQUEST] = 400,
                                 [MCP_NOT_FOUND] = 404,
                                 [MCP_TOO_MANY] = 429};
    struct link *k = ctx;
    bool asked = k->asking, ends = (k->route->wants & ENDS) != 0;
    char fields[FIELD_LEN] = "";

    k->asking = false;
    if (k->legacy || k->c == NULL) {
        if (a->body.len > 0)
            on_message(k, a->body, STR_NONE);
        return;
    }
    if (!asked)
        return; /* at the end it was answered without */
    if (ends && a->status == MCP_OK)
        end_streams(k);
    if (a->session != NULL)
        text_put(fields, sizeof(fields), "Mcp-Session-Id: %s\r\n",
                 a->session);
    if (k->wait_ms > 0)
        text_put(fields, sizeof(fields), RETRY);
    if (!k->json && a->status == MCP_OK && a->body.len > 0)
        begin_stream(k, fields);
    if (!http_is_stream(k->c)) {
        /* Of an end only the store is to blame. */
        reply(k, ends && a->status == MCP_BAD_REQUEST ? 503
                                                      : status[a->status],
              fields, a->body.len > 0 ? "application/json" : NULL, a->body);
        return;
    }
    if (a->body.len > 0)
        on_message(k, a->body, STR_NONE);
    http_stream_end(k->c);
}

/* Invariant 2. */
static void
on_later(void *ctx, unsigned poll_ms)
{
    struct link *k = ctx;

    if (k->legacy || !k->sse)
        return;
    begin_stream(k, NULL);
    if (poll_ms > 0 && k->facts.session_id.len > 0 && may_keep(k->web))
        part(k, poll_ms);
}

static void
on_answered(void *ctx)
{
    (void)ctx; /* http writes by itself */
}

static void
on_done(void *ctx)
{
    struct link *k = ctx;

    free_posts(k);
    if (k->asking && k->c != NULL) /* it waits: that may take long */
        http_forget(k->c);
}

static const struct peer_ops ops = {on_message, on_answer, on_later,
                                    on_answered, on_done};

/* ---- /mcp ---- */

/* One that stands twice says nothing that can be relied on: whoever routed by
   it may have read the other. */
static struct str
header(void *ctx, const char *name)
{
    const struct http_head *h = http_request(ctx);

    return http_field_n(h, name) > 1 ? STR("\1") : http_field_of(h, name);
}

static struct mcp_facts
facts_of(const struct link *k)
{
    return (struct mcp_facts){.http = true,
                              .version = header(k->c, VERSION),
                              .header = header,
                              .header_ctx = k->c,
                              .principal = principal(k),
                              .read_only = k->read_only,
                              .session_id = field(k, "mcp-session-id")};
}

static bool
has_peer(struct link *k)
{
    if (k->peer == NULL)
        k->peer = turn_join(k->web->turn, &ops, k);
    return k->peer != NULL;
}

static int64_t *
free_us(struct link *k)
{
    struct web *w = k->web;

    return web_rate_of(&w->rate, principal(k), loop_now(w->loop) * 1000);
}

/* As turn_push. Of a batch all requests count. */
static int
push(struct link *k, struct peer *to, const struct mcp_facts *f,
     struct str text)
{
    const struct mcp *m = mcp_of(k);
    uint64_t n = mcp_requests(m);
    int err = turn_push(to, f, text);

    n = mcp_requests(m) - n;
    if (k->web->each_us > 0 && n > 1)
        *free_us(k) += (int64_t)(n - 1) * k->web->each_us;
    return err;
}

/* Whether it is pushed, or refused: not to be tried again. */
static bool
push_post(struct link *k)
{
    int err = ERR_NOMEM;

    k->facts = facts_of(k);
    if (has_peer(k))
        err = k->route->wants & ENDS
                  ? turn_push_end(k->peer, &k->facts)
                  : push(k, k->peer, &k->facts, http_body(k->c));
    if (err == ERR_MORE && !turn_stopping(k->web->turn))
        return false;
    k->asking = err == 0;
    if (err < 0)
        unavailable(k);
    return true;
}

/* Answers a request too many. Before 2026-07-28 clients look at an error only
   where the status is 200. What is no request has no answer, and the status of
   what was not taken has to say so: 202 would be a lie. */
static void
refuse_post(struct link *k)
{
    bool modern = version_of(k) >= MCP_2026_07_28;
    struct turn_answer a = {modern ? MCP_TOO_MANY : MCP_OK, STR_NONE, NULL};
    struct buf b = {0};

    if (!mcp_too_many(&b, http_body(k->c), k->wait_ms))
        a.status = MCP_TOO_MANY;
    else
        a.body = buf_view(&b);
    on_answer(k, &a);
    buf_fini(&b);
}

/* The round after the last one of its principal, or after this one. */
static uint64_t
next_round(const struct link *k)
{
    const struct link *x;
    uint64_t n = k->web->last_later;

    for (x = k->web->links; x != NULL; x = x->next)
        if (x->later > n && str_eq(principal(x), principal(k)))
            n = x->later;
    return n + 1;
}

/* Invariant 6. */
static void
run_post(struct link *k)
{
    k->asking = true;
    if (k->wait_ms > 0)
        refuse_post(k);
    else if (k->web->n_later > 0 || !push_post(k)) {
        k->later = next_round(k);
        k->web->n_later++;
    }
}

static struct link *
first_later(const struct web *w)
{
    struct link *k, *first = NULL;

    for (k = w->n_later > 0 ? w->links : NULL; k != NULL; k = k->next)
        if (k->later != 0 && (first == NULL || k->later <= first->later))
            first = k;
    return first;
}

static void
run_later(struct web *w)
{
    struct link *k;

    while ((k = first_later(w)) != NULL && push_post(k)) {
        w->last_later = k->later;
        k->later = 0;
        w->n_later--;
    }
}

static bool
lacks(struct link *k, struct str value, const char *text)
{
    if (value.len == 0)
        say(k, 400, NULL, text);
    return value.len == 0;
}

static void
run_delete(struct link *k)
{
    if (!lacks(k, field(k, "mcp-session-id"), "Mcp-Session-Id is missing\n"))
        run_post(k);
}

/* Says what opening a stream came to. Its first event tells where it begins,
   so that a client that loses it can come back with that before anything was
   said, and be given what went to a stream that only seemed to live. Clients
   from before 2025-11-25 expect no event without data. */
static void
opened(struct link *k, int err, const char *event, const char *data)
{
    struct buf id = {0};

    if (err == ERR_NOT_FOUND) {
        say(k, 404, NULL, "no such session\n");
    } else if (err != 0) {
        unavailable(k);
    } else {
        begin_stream(k, NULL);
        mcp_stream_event(k->session, &id);
        if (id.err != 0)
            http_drop(k->c);
        else if (*data != '\0' || version_of(k) >= MCP_2025_11_25)
            http_event(k->c, str_of(event), buf_view(&id), 0, str_of(data));
        http_forget(k->c);
        buf_fini(&id);
    }
}

static void
run_stream(struct link *k)
{
    struct str id = field(k, "mcp-session-id");
    struct str last = field(k, "last-event-id");
    struct link *x;

    k->facts = facts_of(k);
    if (lacks(k, id, "Mcp-Session-Id is missing\n"))
        return;
    if (last.p != NULL && (x = find_kept(k, id, last)) != NULL)
        resume(k, x);
    else
        opened(k, mcp_stream_open(mcp_of(k), &k->facts, last, &k->sink,
                                  &k->session), "", "");
}

/* ---- the SSE transport ---- */

static void
run_sse(struct link *k)
{
    char to[FIELD_LEN] = "";
    int err = ERR_NOMEM;

    k->legacy = true;
    k->facts = facts_of(k);
    if (has_peer(k))
        err = mcp_sse_open(mcp_of(k), &k->facts, field(k, "last-event-id"),
                           &k->sink, &k->session);
    if (err == 0)
        text_put(to, sizeof(to), "/message?clientId=%s",
                 mcp_session_id(k->session));
    opened(k, err, "endpoint", to);
}

static struct link *
find_client(const struct link *k, struct str id)
{
    struct link *x;

    for (x = k->web->links; x != NULL; x = x->next)
        if (x->legacy && x->session != NULL &&
            str_is(id, mcp_session_id(x->session)) && are_same(x, k))
            return x;
    return NULL;
}

/* Copies what k posts for the stream to. Invariant 4. */
static int
post(struct link *k, struct link *to)
{
    struct mcp_facts f = facts_of(k), *own;
    struct str body = http_body(k->c);
    int err = ERR_NOMEM;

    to->posts_len += sizeof(f) + f.version.len + body.len;
    if (to->posts_len > WEB_MAX_POSTS)
        return ERR_MORE; /* until what came before is done */
    own = arena_alloc(&to->posts, sizeof(*own));
    body = arena_str(&to->posts, body);
    f.principal = principal(to);
    f.session = to->session;
    f.session_id = STR_NONE;
    if (f.version.p != NULL &&
        (f.version = arena_str(&to->posts, f.version)).p == NULL)
        own = NULL;
    if (own != NULL && body.p != NULL) {
        *own = f;
        err = push(k, to->peer, own, body);
    }
    if (!turn_pending(to->peer))
        free_posts(to); /* nobody took it */
    return err;
}

static void
run_message(struct link *k)
{
    struct str id = http_query_of(http_request(k->c), "clientId");
    struct link *to;

    if (lacks(k, id, "clientId is missing\n"))
        return;
    to = find_client(k, id);
    if (to == NULL)
        say(k, 404, NULL, "no such client\n");
    else if (post(k, to) < 0)
        unavailable(k);
    else
        say(k, 202, NULL, "Accepted");
}

/* ---- how the server is ---- */

static void
run_health(struct link *k)
{
    struct buf b = {0};

    web_put_health(&b, k->web->store);
    if (b.err == 0)
        reply(k, 200, NULL, "application/json", buf_view(&b));
    else
        unavailable(k);
    buf_fini(&b);
}

static void
run_ready(struct link *k)
{
    struct buf b = {0};
    int status = web_put_ready(&b, k->web->store, k->web->o.read_only);

    if (b.err == 0)
        reply(k, status, NULL, "application/json", buf_view(&b));
    else
        unavailable(k);
    buf_fini(&b);
}

static void
run_metrics(struct link *k)
{
    struct buf b = {0};

    web_put_metrics(&b, k->web->store, k->web->http, mcp_of(k));
    if (b.err == 0)
        reply(k, 200, NULL, "text/plain; version=0.0.4", buf_view(&b));
    else
        unavailable(k);
    buf_fini(&b);
}

/* ---- the page for people ---- */

/* A proxy may have packed it anew: then its tag stands in another form. */
static bool
has_page(const struct link *k)
{
    struct str known = field(k, "if-none-match");
    char tag[16];
    size_t i, n;

    page_tag(tag);
    n = strlen(tag + 2);
    for (i = 0; i + n <= known.len; i++)
        if (memcmp(known.p + i, tag + 2, n) == 0)
            return true;
    return false;
}

static void
run_page(struct link *k)
{
    struct str body = page_packed();
    const char *fields = k->web->page.p, *type = "text/html; charset=utf-8";

    if (has_page(k))
        reply(k, 304, fields + PACKED_LEN, NULL, STR_NONE);
    else if (http_accepts_coding(http_request(k->c), "gzip"))
        reply(k, 200, fields, type, body);
    else if (page_text(&body) == 0)
        reply(k, 200, fields + PACKED_LEN, type, body);
    else
        unavailable(k);
}

/* ---- judging a head ---- */

static const struct route routes[] = {
    {"/mcp", "POST", BODY, run_post},
    {"/mcp", "GET", STREAM | OLD, run_stream},
    {"/mcp", "DELETE", OLD | ENDS, run_delete},
    {"/sse", "GET", STREAM, run_sse},
    {"/message", "POST", BODY, run_message},
    {"/", "GET", FREE, run_page},
    {"/health", "GET", FREE, run_health},
    {"/ready", "GET", 0, run_ready},
    {"/metrics", "GET", 0, run_metrics},
};
#define N_ROUTES (sizeof(routes) / sizeof(routes[0]))

/* Sets k->route, or says why there is none: 404, or 405 and in allow what
   there is. HEAD is a GET that is no stream. */
static int
find_route(struct link *k, const struct http_head *h, char allow[FIELD_LEN])
{
    bool modern = version_of(k) >= MCP_2026_07_28;
    size_t i, n = 0;

    for (i = 0; i < N_ROUTES; i++) {
        const struct route *r = &routes[i];
        bool head = (r->wants & (STREAM | OLD | BODY)) == 0;

        if (!str_is(h->path, r->path) || (modern && (r->wants & OLD)))
            continue;
        if (str_is(h->method, r->method) ||
            (head && str_is(h->method, "HEAD"))) {
            k->route = r;
            return 0;
        }
        n += text_put(allow + n, FIELD_LEN - n, "%s%s%s",
                      n == 0 ? "Allow: " : ", ", r->method,
                      head ? ", HEAD" : "");
    }
    text_put(allow + n, FIELD_LEN - n, "\r\n");
    return n > 0 ? 405 : 404;
}

/* Where it comes from and goes to: as find_route, or 403. What all may see
   may be linked to. */
static int
judge_site(struct link *k, const struct http_head *h, char allow[FIELD_LEN])
{
    const struct web *w = k->web;
    int status;

    if (!web_is_ours(&w->o, http_address(w->http), h))
        return 403;
    status = find_route(k, h, allow);
    return status == 0 && !(k->route->wants & FREE) && web_is_cross_site(h)
               ? 403 : status;
}

/* Who asks, where that has to be known: 0, 401 or 503. */
static int
find_token(struct link *k, const struct http_head *h)
{
    const struct token *t;
    struct str bearer;

    buf_reset(&k->who, FIELD_LEN);
    k->agent_len = 0;
    k->read_only = false;
    if (k->web->tokens == NULL || (k->route->wants & FREE))
        return 0;
    bearer = web_bearer(h);
    t = tokens_find(k->web->tokens, bearer);
    if (t == NULL)
        return 401;
    k->read_only = t->read_only;
    buf_str(&k->who, t->agent);
    buf_str(&k->who, bearer);
    k->agent_len = t->agent.len;
    return k->who.err == 0 ? 0 : 503;
}

/* What the client sends and takes: 0, 400, 415 or 406. That it names no
   version of ours is told by the answer where there is a body. */
static int
judge_types(struct link *k, const struct http_head *h)
{
    int wants = k->route->wants;
    bool streams = (wants & STREAM) ||
                   str_is(field(k, "mcp-method"), "subscriptions/listen");

    k->sse = http_accepts(h, "text/event-stream");
    k->json = http_accepts(h, "application/json");
    if ((wants & BODY) &&
        !http_is_type(http_field_of(h, "content-type"), "application/json"))
        return 415;
    if ((wants & OLD) && field(k, VERSION).p != NULL && version_of(k) < 0)
        return 400;
    if (!k->sse && (streams || (k->route->run == run_post && !k->json)))
        return 406;
    return 0;
}

/* Who asks too often, behind what two seconds allow: 0 or 429. How the server is can always be asked for.
   Nothing is done for one too many, but that a message is read to be answered
   by its id, unless it is long. */
static int
judge_rate(struct link *k, const struct http_head *h)
{
    const struct web *w = k->web;
    int64_t over, *until;

    if (w->each_us == 0 || !(k->route->wants & (BODY | STREAM | ENDS)))
        return 0;
    until = free_us(k);
    over = *until + w->each_us - loop_now(w->loop) * 1000 - 2 * SECOND_US;
    if (over <= 0) {
        *until += w->each_us;
        return 0;
    }
    k->wait_ms = (unsigned)((over + 999) / 1000);
    return k->route->run == run_post && !h->chunked &&
           h->content_length <= LATE_BODY ? 0 : 429;
}

/* Has k's connection be one of its principal's, of whom none may have all: 0
   or 429. */
static int
know(struct link *k)
{
    const struct web *w = k->web;
    uint64_t who = str_hash(principal(k));
    size_t own = 1, all = 1;
    const struct link *x;

    if (k->known == who || (w->tokens != NULL && (k->route->wants & FREE)))
        return 0;
    for (x = w->links; x != NULL; x = x->next) {
        bool counts = x != k && x->c != NULL && x->known != 0;

        all += counts;
        own += counts && x->known == who;
    }
    if (w->tokens != NULL && !share_fits(own, all, http_limit(w->http)))
        return 429;
    k->known = who;
    http_know(k->c);
    return 0;
}

static struct link *
link_new(struct web *w, struct http_conn *c)
{
    struct link *k = calloc(1, sizeof(*k));

    if (k == NULL)
        return NULL;
    k->web = w;
    k->c = c;
    k->at = &w->links;
    k->next = w->links;
    if (k->next != NULL)
        k->next->at = &k->next;
    w->links = k;
    k->sink = (struct mcp_sink){.send = on_message, .ctx = k};
    http_set_mine(c, k);
    return k;
}

/* Invariant 1. */
static void
on_head(void *ctx, struct http_conn *c)
{
    struct web *w = ctx;
    const struct http_head *h = http_request(c);
    struct link *k = http_mine(c);
    char fields[FIELD_LEN] = "";
    int status;

    if (k == NULL && (k = link_new(w, c)) == NULL) {
        http_drop(c);
        return;
    }
    buf_reset(&k->id, 0);
    k->legacy = false;
    k->wait_ms = 0;
    if (web_is_ambiguous(h)) {
        say(k, 400, NULL, "a field that decides stands twice\n");
        return;
    }
    if ((status = judge_site(k, h, fields)) == 0 &&
        (status = find_token(k, h)) == 0 &&
        (status = judge_types(k, h)) == 0 &&
        (status = judge_rate(k, h)) == 0 && (status = know(k)) == 0)
        return;
    if (status == 503)
        unavailable(k);
    else
        say(k, status,
            status == 405   ? fields
            : status == 401 ? "WWW-Authenticate: Bearer\r\n"
            : status == 429 ? RETRY
                            : NULL,
            status == 401   ? "a token is needed\n"
            : status == 403 ? "this Host or Origin is not allowed\n"
            : status == 404 ? "there is nothing here\n"
            : status == 405 ? "this method does nothing here\n"
            : status == 406 ? "text/event-stream has to be accepted\n"
            : status == 415 ? "application/json is what is taken\n"
            : status == 429 ? "too many: wait a second, or close connections\n"
                            : "this MCP-Protocol-Version is unknown\n");
}

static void
on_request(void *ctx, struct http_conn *c)
{
    struct link *k = http_mine(c);

    (void)ctx;
    k->route->run(k);
}

/* Who was told where to come back may do so again. */
static void
on_closed(void *ctx, struct http_conn *c)
{
    struct link *k = http_mine(c);

    (void)ctx;
    if (k != NULL && k->id.len > 0 && k->asking)
        keep(k);
    else if (k != NULL)
        link_free(k);
}

/* ---- begin and end ---- */

int
web_open(struct web **out, struct turn *s, struct loop *l,
         struct store *store, const struct web_options *o, char why[256])
{
    struct web *w = calloc(1, sizeof(*w));
    int err;

    if (w == NULL)
        return ERR_NOMEM;
    w->handler = (struct http_handler){w, on_head, on_request, on_closed};
    w->turn = s;
    w->loop = l;
    w->store = store;
    w->o = *o;
    w->each_us = o->rate > 0 ? SECOND_US / (int64_t)o->rate : 0;
    w->timer = (struct loop_timer){.fn = look, .ctx = w};
    buf_z(&w->page, PACKED);
    page_put_fields(&w->page);
    buf_char(&w->page, '\0');
    err = w->page.err;
    if (err == 0)
        err = random_bytes(&w->last_id, sizeof(w->last_id));
    if (err == 0 && o->token_file != NULL)
        err = tokens_load(&w->tokens, o->token_file, why);
    if (err == 0 && w->tokens == NULL && !http_is_local(&o->http)) {
        text_put(why, 256, "%s: others can reach that, it needs "
                 "--token-file", o->http.fd < 0 ? o->http.host
                                                : "the socket passed");
        err = ERR_INVALID;
    }
    if (err == 0)
        err = http_open(&w->http, l, &o->http, &w->handler, why);
    if (err < 0) {
        web_close(w);
        return err;
    }
    turn_on_hangup(s, web_reload, w);
    *out = w;
    return 0;
}

void
web_close(struct web *w)
{
    if (w == NULL)
        return;
    loop_timer_stop(w->loop, &w->timer);
    if (w->http != NULL)
        http_free(w->http);
    while (w->links != NULL)
        link_free(w->links);
    tokens_free(w->tokens);
    buf_fini(&w->page);
    free(w);
}

/* Whether the token that k came with still says the same. */
static bool
is_known(const struct link *k)
{
    const struct token *t = tokens_find(
        k->web->tokens, (struct str){k->who.p + k->agent_len,
                                     k->who.len - k->agent_len});

    return t != NULL && str_eq(t->agent, principal(k)) &&
           t->read_only == k->read_only;
}

void
web_reload(void *web)
{
    struct web *w = web;
    struct tokens *t;
    struct link *k;
    char why[256];

    if (w->o.token_file == NULL)
        return;
    if (tokens_load(&t, w->o.token_file, why) < 0) {
        text_tell("mcptask: %s; the old tokens stay\n", why);
        return;
    }
    tokens_free(w->tokens);
    w->tokens = t;
    for (k = w->links; k != NULL; k = k->next)
        if (k->c != NULL && k->who.len > 0 && !is_known(k))
            http_drop(k->c);
}

const char *
web_address(const struct web *w)
{
    return http_address(w->http);
}

/* Ends a reply that nobody will end any more: a stream, or one for a message
   that was not run. */
static void
end_reply(struct link *k)
{
    if (k->c == NULL || (k->session == NULL && !k->asking))
        return;
    if (k->session == NULL && !http_is_stream(k->c)) {
        k->asking = false;
        unavailable(k);
    } else if (k->session != NULL || !turn_pending(k->peer)) {
        k->asking = false;
        end_session_stream(k);
        http_stream_end(k->c);
    }
}

bool
web_ended(void *web)
{
    struct web *w = web;
    int64_t now = loop_now(w->loop);
    struct link *k;

    if (!turn_stopping(w->turn)) {
        run_later(w);
        return false;
    }
    if (w->end_ms == 0) {
        w->end_ms = now + WEB_END_MS;
        http_stop(w->http);
        loop_timer_set(w->loop, &w->timer, w->end_ms);
    }
    for (k = w->links; k != NULL; k = k->next)
        end_reply(k);
    return http_is_idle(w->http) || now >= w->end_ms;
}
