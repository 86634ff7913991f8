/* web - MCP over HTTP: the routes, and the checks of a request.

   A request is judged by its head. It is refused if a page of another site may
   have sent it, if its caller is unknown, or if it would exceed a limit. The
   body of a refused request is not read. */

#include "serve/web.h"

#include "base/text.h"
#include "board/page.h"
#include "serve/exchange.h"
#include "serve/post.h"
#include "serve/state.h"
#include "serve/stream.h"

#include <stdlib.h>
#include <string.h>

#define PACKED "Content-Encoding: gzip\r\n" /* before the page's other fields */
#define PACKED_LEN (sizeof(PACKED) - 1)
#define METRICS_MS 1000 /* how old the figures of /metrics may be */
#define LATE_BODY ((size_t)64 * 1024) /* the most read of one above the rate */
#define ASK_TOKEN "ask its operator for a token, and set the header " \
                  "Authorization: Bearer TOKEN in your client"

struct web {
    struct exchanges x;
    struct http_handler handler;
};

/* ---- the state of the server ---- */

/* Replies with all->state, or with 503 if that ran out of memory; frees it. */
static void
reply_state(struct exchange *x, int status, const char *type)
{
    struct buf *b = &x->all->state;

    if (b->err == 0)
        exchange_reply(x, status, NULL, type, buf_view(b));
    else
        exchange_unavailable(x);
    buf_fini(b);
}

static void
run_health(struct exchange *x)
{
    state_put_health(&x->all->state, x->all->store);
    reply_state(x, 200, "application/json");
}

static void
run_ready(struct exchange *x)
{
    int status = state_put_ready(&x->all->state, x->all->store,
                                 x->all->access.o.read_only,
                                 access_principal(&x->caller),
                                 x->caller.read_only);

    reply_state(x, status, "application/json");
}

/* The figures look at every live task, so they are kept for a while. */
static void
run_metrics(struct exchange *x)
{
    struct exchanges *all = x->all;
    const struct web_options *o = &all->access.o;
    struct buf *b = &all->metrics;
    int64_t now = loop_now(all->loop);

    if (b->len == 0 || now - all->metrics_ms >= METRICS_MS) {
        b->len = 0;
        state_put_metrics(b, all->store, all->http, exchange_mcp(x));
        if (o->put_metrics != NULL)
            o->put_metrics(o->metrics_ctx, b);
        all->metrics_ms = now;
    }
    if (b->err == 0) {
        exchange_reply(x, 200, NULL, "text/plain; version=0.0.4",
                       buf_view(b));
    } else {
        buf_fini(b);
        exchange_unavailable(x);
    }
}

/* Clients that get 401 and find no authorization server try to register with
   this one, and show their user the error (RFC 7591, section 3.2.2). */
static void
run_register(struct exchange *x)
{
    exchange_reply(x, 400, NULL, "application/json",
                   STR("{\"error\":\"access_denied\","
                       "\"error_description\":\"this server has no OAuth; "
                       ASK_TOKEN "\"}"));
}

/* ---- the page for people ---- */

/* A proxy that compresses the page again changes the form of its tag. */
static bool
has_page(const struct exchange *x)
{
    char tag[16];

    page_tag(tag);
    return str_find(exchange_field(x, "if-none-match"), str_of(tag + 2)) !=
           SIZE_MAX;
}

/* The HTTP fields of the page, made on first use, since that takes longer than
   the rest of the start. NULL: out of memory. */
static const char *
page_fields(struct exchanges *all)
{
    struct buf *b = &all->page;

    if (b->len == 0) {
        buf_z(b, PACKED);
        page_put_fields(b);
        buf_char(b, '\0');
    }
    if (b->err != 0)
        buf_reset(b, 0);
    return b->p;
}

static void
run_page(struct exchange *x)
{
    struct str body = page_packed();
    const char *fields = page_fields(x->all);
    const char *type = "text/html; charset=utf-8";

    if (fields == NULL)
        exchange_unavailable(x);
    else if (has_page(x))
        exchange_reply(x, 304, fields + PACKED_LEN, NULL, STR_NONE);
    else if (http_accepts_coding(http_request(x->c), "gzip"))
        exchange_reply(x, 200, fields, type, body);
    else if (page_text(&body) == 0)
        exchange_reply(x, 200, fields + PACKED_LEN, type, body);
    else
        exchange_unavailable(x);
}

/* ---- judging a head ---- */

static const struct route routes[] = {
    {"/mcp", "POST", ROUTE_BODY | ROUTE_ANSWER, post_run},
    {"/mcp", "GET", ROUTE_STREAM | ROUTE_OLD, stream_run},
    {"/mcp", "DELETE", ROUTE_OLD | ROUTE_ENDS, post_run_delete},
    {"/sse", "GET", ROUTE_STREAM, stream_run_sse},
    {"/message", "POST", ROUTE_BODY, stream_run_message},
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
           char allow[EXCHANGE_FIELDS])
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
             exchange_version(x) >= MCP_2026_07_28) ||
            ((r->wants & ROUTE_TOKENS) && x->all->access.tokens == NULL))
            continue;
        if (str_is(h->method, r->method) ||
            (head && str_is(h->method, "HEAD"))) {
            x->route = r;
            return 0;
        }
        n += text_put(allow + n, EXCHANGE_FIELDS - n, "%s%s%s",
                      n == 0 ? "Allow: " : ", ", r->method,
                      head ? ", HEAD" : "");
    }
    text_put(allow + n, EXCHANGE_FIELDS - n, "\r\n");
    return n > 0 ? 405 : 404;
}

/* Checks where a request comes from and goes to. Returns what find_route does,
   or 403. Any site may link to paths that need no token. */
static int
judge_site(struct exchange *x, const struct http_head *h,
           char allow[EXCHANGE_FIELDS])
{
    int status;

    if (!access_is_ours(&x->all->access.o, http_address(x->all->http), h))
        return 403;
    status = find_route(x, h, allow);
    return status == 0 && !(x->route->wants & ROUTE_FREE) &&
                   access_is_cross_site(h)
               ? 403 : status;
}

/* Finds the caller, if the route needs one. Returns 0, 401 or 503. */
static int
judge_caller(struct exchange *x, const struct http_head *h)
{
    const struct access *a = &x->all->access;

    buf_reset(&x->caller.text, EXCHANGE_FIELDS);
    x->caller.agent_len = 0;
    x->caller.read_only = false;
    x->caller.person = a->tokens == NULL && access_is_page(h);
    return a->tokens == NULL || (x->route->wants & ROUTE_FREE)
               ? 0 : access_find(a, h, &x->caller);
}

/* Whether the body of a request is JSON as it is: a compressed one could grow
   beyond every limit. */
static bool
is_plain_json(const struct http_head *h)
{
    struct str coding = http_field_of(h, "content-encoding");

    return http_is_type(http_field_of(h, "content-type"),
                        "application/json") &&
           (coding.len == 0 || http_is_type(coding, "identity"));
}

/* Checks the types that the client sends and accepts. Returns 0, 400, 415 or
   406. A message with an unknown version passes: its answer reports that. */
static int
judge_types(struct exchange *x, const struct http_head *h)
{
    int wants = x->route->wants;
    bool streams = (wants & ROUTE_STREAM) ||
                   str_is(http_field_of(h, "mcp-method"),
                          "subscriptions/listen");

    x->sse = http_accepts(h, "text/event-stream");
    x->json = http_accepts(h, "application/json");
    if ((wants & ROUTE_BODY) && !is_plain_json(h))
        return 415;
    if ((wants & ROUTE_OLD) && exchange_version(x) < 0 &&
        exchange_field(x, EXCHANGE_VERSION).p != NULL)
        return 400;
    return !x->sse && (streams || ((wants & ROUTE_ANSWER) && !x->json))
               ? 406 : 0;
}

/* Checks the rate. Returns 0 or 429. A request above the rate is not run; a
   message is still read, unless it is long, to be answered with its id. */
static int
judge_rate(struct exchange *x, const struct http_head *h)
{
    if ((x->route->wants & ROUTE_ALWAYS) == 0)
        x->wait_ms = access_wait_ms(&x->all->access, exchange_principal(x),
                                    loop_now(x->all->loop));
    return x->wait_ms == 0 ||
                   ((x->route->wants & ROUTE_ANSWER) && !h->chunked &&
                    h->content_length <= LATE_BODY)
               ? 0 : 429;
}

/* Counts x's connection for its principal, which may not have all of them.
   Returns 0 or 429. */
static int
judge_share(struct exchange *x)
{
    const struct exchanges *all = x->all;
    bool tokens = all->access.tokens != NULL;
    uint64_t who = str_hash(exchange_principal(x));
    size_t own = 1, n = 1;
    const struct exchange *y;

    if (x->counted == who || (tokens && (x->route->wants & ROUTE_FREE)))
        return 0;
    for (y = all->first; y != NULL; y = y->next) {
        bool counts = y != x && y->c != NULL && y->counted != 0;

        n += counts;
        own += counts && y->counted == who;
    }
    if (tokens && !share_fits(own, n, http_limit(all->http)))
        return 429;
    x->counted = who;
    http_know(x->c);
    return 0;
}

/* Lets the body be large: its room is that of the principal or, without tokens,
   of the connection. */
static void
admit_body(struct exchange *x)
{
    uint64_t who = (uintptr_t)x->c;

    if (x->all->access.tokens != NULL)
        who = str_hash(exchange_principal(x));
    if (x->route->wants & ROUTE_BODY)
        http_share(x->c, who);
}

static int
judge_head(struct exchange *x, const struct http_head *h,
           char allow[EXCHANGE_FIELDS])
{
    int status;

    if ((status = judge_site(x, h, allow)) == 0 &&
        (status = judge_caller(x, h)) == 0 &&
        (status = judge_types(x, h)) == 0 &&
        (status = judge_rate(x, h)) == 0)
        status = judge_share(x);
    return status;
}

static void
refuse_request(struct exchange *x, int status, const char *allow)
{
    static const struct {
        int status;
        const char *fields, *text;
    } of[] = {
        {400, NULL, "unknown MCP-Protocol-Version\n"},
        {401, "WWW-Authenticate: Bearer\r\n", "this server needs a token; "
         ASK_TOKEN "\n"},
        {403, NULL, "Host or Origin not allowed; start mcptask with "
         "--allow-host or --allow-origin\n"},
        {404, NULL, "no such path\n"},
        {405, NULL, "method not allowed for this path\n"},
        {406, NULL, "Accept must include text/event-stream\n"},
        {415, "Accept-Encoding: identity\r\n", "send the body as "
         "application/json, without Content-Encoding\n"},
        {429, HTTP_RETRY,
         "too many requests or connections: wait a second\n"},
    };
    size_t i = 0;

    while (of[i].status != status)
        i++;
    exchange_reply_text(x, status, status == 405 ? allow : of[i].fields,
                        of[i].text);
}

static void
on_head(void *ctx, struct http_conn *c)
{
    struct web *w = ctx;
    const struct http_head *h = http_request(c);
    struct exchange *x = http_user_data(c);
    char allow[EXCHANGE_FIELDS];
    int status;

    if (x == NULL && (x = exchange_new(&w->x, c)) == NULL) {
        http_drop(c);
        return;
    }
    buf_reset(&x->repeat, 0);
    x->legacy = false;
    x->wait_ms = 0;
    if (access_is_ambiguous(h)) {
        exchange_reply_text(x, 400, NULL,
                            "Authorization or Mcp-Session-Id was sent twice\n");
        return;
    }
    status = judge_head(x, h, allow);
    if (status == 503)
        exchange_unavailable(x);
    else if (status != 0)
        refuse_request(x, status, allow);
    else
        admit_body(x);
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
        exchange_free(x);
}

/* ---- begin and end ---- */

/* Disconnects clients whose token was removed or has changed. */
static void
on_hangup(void *ctx)
{
    struct web *w = ctx;
    struct exchange *x;

    if (!access_reload(&w->x.access))
        return;
    for (x = w->x.first; x != NULL; x = x->next)
        if (x->c != NULL && x->caller.text.len > 0 &&
            !access_is_known(&w->x.access, &x->caller))
            http_drop(x->c);
}

int
web_open(struct web **out, struct turn *t, struct loop *l,
         struct store *store, const struct web_options *o, char why[256])
{
    struct web *w = calloc(1, sizeof(*w));
    struct exchanges *x;
    int err;

    if (w == NULL)
        return ERR_NOMEM;
    x = &w->x;
    w->handler = (struct http_handler){w, on_head, on_request, on_closed};
    x->turn = t;
    x->loop = l;
    x->store = store;
    x->timer = (struct loop_timer){.fn = exchange_sweep, .ctx = x};
    err = access_open(&x->access, o, why);
    if (err == 0)
        err = http_open(&x->http, l, &o->http, &w->handler, why);
    if (err < 0) {
        web_close(w);
        return err;
    }
    turn_on_hangup(t, on_hangup, w);
    if (x->access.tokens != NULL)
        mcp_principals(turn_mcp(t), access_has, &x->access);
    *out = w;
    return 0;
}

void
web_close(struct web *w)
{
    if (w == NULL)
        return;
    mcp_principals(turn_mcp(w->x.turn), NULL, NULL);
    loop_timer_stop(w->x.loop, &w->x.timer);
    for (struct exchange *x = w->x.first; x != NULL; x = x->next) {
        turn_leave(x->peer); /* there was no time for its messages */
        x->peer = NULL;
        exchange_end(x);
    }
    http_free(w->x.http);
    while (w->x.first != NULL)
        exchange_free(w->x.first);
    access_close(&w->x.access);
    buf_fini(&w->x.page);
    buf_fini(&w->x.metrics);
    free(w);
}

const char *
web_address(const struct web *w)
{
    return http_address(w->x.http);
}

bool
web_ended(void *web)
{
    struct exchanges *all = &((struct web *)web)->x;
    int64_t now = loop_now(all->loop);
    struct exchange *x;

    if (!turn_stopping(all->turn)) {
        post_run_later(all);
        return false;
    }
    if (all->end_ms == 0) {
        all->end_ms = now + TURN_END_MS;
        http_stop(all->http);
        loop_timer_set(all->loop, &all->timer, all->end_ms);
    }
    for (x = all->first; x != NULL; x = x->next)
        exchange_end(x);
    return http_is_idle(all->http) || now >= all->end_ms;
}
