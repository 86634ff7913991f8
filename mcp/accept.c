/* accept - a message is judged once, when it arrives: envelope, era,
   revision, headers, method, parameters.

   A message with a fault gets its error answer then. A valid one can be run any
   number of times, since a run only reads what judging left and appends an
   answer. The body of a request tells its era: with
   io.modelcontextprotocol/protocolVersion in its _meta it is modern and has no
   state; otherwise it belongs to the session of its channel, or to the one that
   its header names. A request without a session is served too.

   Invariants:
   1. Judging writes what initialize agrees on to the session, and running
      writes what is set later: a request keeps the revision that was in force
      when it came.
   2. A request gets no reply, or has a fault, or has passed every step of its
      era, in order; only the last kind can be run.
   3. An id comes back byte for byte as the client sent it, even from a message
      that cannot be parsed. An id that cannot be read is left out, or is null
      if the schema requires one.
   4. No recursion; lists from outside are bounded by MAX_MEMBERS, MAX_BATCH
      and the limits of json. */

#include "mcp/mcp.h"
#include "base/base64.h"
#include "base/text.h"
#include "mcp/deferred.h"
#include "mcp/message.h"
#include "mcp/methods.h"
#include "mcp/session.h"

#include <string.h>

#define MAX_MEMBERS 16 /* of an envelope; they are compared pair by pair */
#define MAX_BATCH 64   /* messages */
#define VERSION_KEY MCP_META "protocolVersion"

/* No session can answer such an envelope: the status is 400 in both eras. */
static int
refuse_envelope(struct request *r, const char *text)
{
    return mcp_refuse(r, MCP_BAD_REQUEST, RPC_INVALID_REQUEST, text, STR_NONE);
}

static int
refuse_version(struct request *r, struct str version)
{
    mcp_refuse(r, MCP_BAD_REQUEST, RPC_UNSUPPORTED_VERSION,
               "Unsupported protocol version", version);
    r->fault.key = "requested";
    return MCP_REFUSED;
}

static int
check_method(struct request *r)
{
    if (r->method != NULL)
        return 0;
    return mcp_refuse(r, is_modern(r) ? MCP_NOT_FOUND : MCP_OK,
                      RPC_METHOD_NOT_FOUND, "Method not found", r->name);
}

/* ---- the modern era ---- */

static int
mismatch(struct request *r, const char *why)
{
    return mcp_refuse(r, MCP_BAD_REQUEST, RPC_HEADER_MISMATCH,
                      "Header mismatch", str_of(why));
}

/* Comes before the version is judged: of two that differ, neither counts. */
static int
check_version_header(struct request *r)
{
    const struct mcp_facts *f = r->m->f;
    struct str version = mcp_text_of(r->m, json_get(r->meta, VERSION_KEY));

    if (version.p == NULL || !f->http)
        return 0;
    if (f->version.p == NULL)
        return mismatch(r, "MCP-Protocol-Version is missing");
    if (!str_eq(f->version, version))
        return mismatch(r, "MCP-Protocol-Version and _meta have different "
                           "versions");
    return 0;
}

static int
check_meta(struct request *r)
{
    static const char level_text[] = MCP_META "logLevel must be a log level";
    static const struct {
        const char *key;
        enum json_type type;
        bool required;
        const char *text;
    } keys[] = {
        {VERSION_KEY, JSON_STRING, true,
         "_meta needs " VERSION_KEY ", a string"},
        {MCP_META "clientCapabilities", JSON_OBJECT, true,
         "_meta needs " MCP_META "clientCapabilities, an object"},
        {MCP_META "clientInfo", JSON_OBJECT, false,
         MCP_META "clientInfo must be an object"},
        {MCP_META "logLevel", JSON_STRING, false,
         level_text},
    };
    const struct json_tok *t = NULL;

    for (size_t i = 0; i < sizeof(keys) / sizeof(*keys); i++) {
        t = json_get(r->meta, keys[i].key);
        if (is_absent(t) ? keys[i].required : t->type != keys[i].type)
            return mcp_refuse(r, MCP_BAD_REQUEST, RPC_INVALID_PARAMS,
                          keys[i].text, STR_NONE);
    }
    /* t is the last one, logLevel. */
    if (!is_absent(t) && mcp_level_of(t) < 0)
        return mcp_refuse(r, MCP_BAD_REQUEST, RPC_INVALID_PARAMS, level_text,
                          STR_NONE);
    return 0;
}

static int
check_version(struct request *r)
{
    struct str version = mcp_text_of(r->m, json_get(r->meta, VERSION_KEY));

    return mcp_rev_of(version) >= MCP_OLDEST_MODERN
               ? 0
               : refuse_version(r, version);
}

/* Decodes a header, plain or in base64. Returns 1; 0 if it has bytes that no
   header may have; or ERR_NOMEM. */
static int
decode_header(struct arena *a, struct str *header)
{
    static const struct str open = STR("=?base64?"), end = STR("?=");
    size_t i, around = open.len + end.len;
    int err = 0;

    if (header->p == NULL)
        return 0;
    for (i = 0; i < header->len; i++)
        if (header->p[i] > '~' ||
            (header->p[i] < ' ' && header->p[i] != '\t'))
            return 0;
    if (header->len >= around && str_starts(*header, open.p) &&
        memcmp(header->p + header->len - end.len, end.p, end.len) == 0)
        err = base64_decode(a, (struct str){header->p + open.len,
                                            header->len - around}, header);
    return err == ERR_NOMEM ? err : err == 0;
}

/* Proxies route by these headers, so they must agree with the body. */
static int
check_routing(struct request *r)
{
    const struct mcp_facts *f = r->m->f;
    struct str method, name;
    int says;

    if (!f->http)
        return 0;
    method = f->header(f->header_ctx, "mcp-method");
    if (method.p == NULL || !str_eq(method, r->name))
        return mismatch(r, "Mcp-Method differs from the method");
    if (r->method == NULL || r->method->target == NULL)
        return 0;
    name = f->header(f->header_ctx, "mcp-name");
    if (name.p == NULL && r->method->feature == TASKS)
        return 0; /* some clients do not know this rule */
    says = decode_header(r->m->a, &name);
    if (says < 0)
        return says;
    if (says && r->target.p != NULL && str_eq(name, r->target))
        return 0;
    return mismatch(r, "Mcp-Name differs from the name or uri");
}

/* Whether a decoded header equals the argument v: 0, 1, or ERR_NOMEM. */
static int
is_argument(struct mcp_message *m, struct str header,
            const struct json_tok *v)
{
    const struct json_tok *number;
    int64_t x, y;
    int err;

    if (v->type == JSON_STRING)
        return str_eq(header, mcp_text_of(m, v));
    if (!json_int(v, &x))
        return str_eq(header, json_raw(v));
    err = json_parse(m->a, header, &number, NULL);
    if (err != 0)
        return err == ERR_NOMEM ? err : 0;
    return json_int(number, &y) && x == y;
}

/* A header without its argument is as wrong as an argument without its header:
   whoever routes by it would not route the request that is run. */
static int
check_argument_headers(struct request *r)
{
    const struct mcp_facts *f = r->m->f;
    char name[128];

    if (!f->http || r->tool == NULL || r->tool->params == NULL)
        return 0;
    for (const struct mcp_param *p = r->tool->params; p->arg != NULL; p++) {
        const struct json_tok *v = json_get(r->call.args, p->arg);
        struct str header;
        int says;

        text_put(name, sizeof(name), "mcp-param-%s", p->header);
        for (size_t i = 0; name[i] != '\0'; i++)
            name[i] = text_lower(name[i]);
        header = f->header(f->header_ctx, name);
        if (is_absent(v) && header.p == NULL)
            continue;
        says = is_absent(v) ? 0 : decode_header(r->m->a, &header);
        if (says > 0)
            says = is_argument(r->m, header, v);
        if (says < 0)
            return says;
        if (!says)
            return mcp_refuse(r, MCP_BAD_REQUEST, RPC_HEADER_MISMATCH,
                              "Header mismatch: Mcp-Param of",
                              str_of(p->arg));
    }
    return 0;
}

static step *const modern_steps[] = {
    check_version_header, check_meta,   check_version,
    check_routing,        check_method, mcp_check_params,
    check_argument_headers, NULL,
};

/* ---- the handshake era ---- */

/* A version header counts from initialize on. Routing headers are ignored:
   some clients send them with every request. */
static int
check_known_header(struct request *r)
{
    const struct mcp_facts *f = r->m->f;
    struct str version;

    if (!f->http || f->version.p == NULL || r->m->named >= 0 ||
        str_is(r->name, "initialize"))
        return 0;
    version = arena_str(r->m->a, f->version);
    if (version.p == NULL)
        return ERR_NOMEM;
    return refuse_version(r, version);
}

static step *const handshake_steps[] = {
    check_known_header, check_method, mcp_check_params, NULL,
};

/* The revision that was agreed on; else the one that the transport names, since
   a client of the SSE transport comes back after a lost stream without
   initialize; else, over HTTP, the one that the specification lets a server
   assume. */
static enum mcp_rev
agreed_rev(const struct mcp_message *m)
{
    if (m->s->initialized)
        return m->s->rev;
    if (m->named >= 0 && m->named <= MCP_NEWEST_HANDSHAKE)
        return (enum mcp_rev)m->named;
    return m->http ? MCP_2025_03_26 : MCP_NEWEST_HANDSHAKE;
}

/* A header that names a modern revision needs the envelope of one, except
   for initialize, which can only mean the handshake. */
static bool
claims_modern(const struct mcp_message *m, const struct json_tok *t)
{
    const struct json_tok *meta = json_get(json_get(t, "params"), "_meta");

    if (json_get(meta, VERSION_KEY) != NULL)
        return true;
    return m->http && m->named >= MCP_OLDEST_MODERN &&
           !json_is(json_get(t, "method"), "initialize");
}

/* ---- the envelope ---- */

/* Whether a name occurs twice among the members of t: 0, 1 or ERR_NOMEM. */
static int
has_duplicate(struct arena *a, const struct json_tok *t)
{
    struct str names[MAX_MEMBERS];
    const struct json_tok *member = t + 1;

    for (uint32_t i = 0; i < t->n; i++) {
        names[i] = json_str(a, member);
        if (names[i].p == NULL)
            return ERR_NOMEM;
        for (uint32_t k = 0; k < i; k++)
            if (str_eq(names[k], names[i]))
                return 1;
        member += 1 + member[1].span;
    }
    return 0;
}

static bool
takes_batches(const struct mcp_session *s)
{
    return s->initialized && s->rev == MCP_2025_03_26;
}

/* The object is ambiguous, but its id may be clear. */
static int
refuse_members(struct request *r, const struct json_tok *t, const char *text)
{
    const struct json_tok *last = json_get(t, "id");
    struct mcp_scan scan = {.len = 0};
    struct str id = STR_NONE;

    mcp_scan(&scan, json_raw(t));
    if (mcp_scan_id(&scan, r->m->a, &id) != 0)
        return ERR_NOMEM;
    if (id.p != NULL && last != NULL && str_eq(id, json_raw(last)))
        r->id = id;
    return refuse_envelope(r, text);
}

/* Why t, which is no object, is no message. */
static const char *
why_no_message(const struct request *r, const struct json_tok *t)
{
    if (t->type != JSON_ARRAY || r->m->batch)
        return "A message must be an object";
    if (!takes_batches(r->m->s))
        return "Batches need a session of protocol version 2025-03-26";
    return "A batch has 1 to 64 messages";
}

/* Checks that it is an object, and that no member is ambiguous. */
static int
check_message(struct request *r, const struct json_tok *t)
{
    int duplicate;

    if (t->type != JSON_OBJECT)
        return refuse_envelope(r, why_no_message(r, t));
    if (t->n > MAX_MEMBERS)
        return refuse_members(r, t, "Too many members");
    duplicate = has_duplicate(r->m->a, t);
    return duplicate > 0 ? refuse_members(r, t, "Duplicate member") : duplicate;
}

/* A notification or a response. A response to a request of ours takes effect
   when it is run. */
static int
take_no_reply(struct request *r, const struct json_tok *t)
{
    int err = check_known_header(r);

    if (err != 0)
        return err;
    r->no_reply = true;
    if (r->name.p == NULL)
        mcp_take_answer_judge(r, t);
    else if (str_is(r->name, "notifications/cancelled"))
        mcp_take_cancel(r, json_get(t, "params"));
    return MCP_REFUSED;
}

/* Fills in id, name, params, meta and token of a request. */
static int
check_envelope(struct request *r, const struct json_tok *t)
{
    const struct json_tok *id = json_get(t, "id"),
                          *method = json_get(t, "method"),
                          *params = json_get(t, "params");

    /* A response gets no answer, even if it is wrong. */
    if (method == NULL && (json_get(t, "result") != NULL ||
                           json_get(t, "error") != NULL))
        return take_no_reply(r, t);
    if (mcp_is_id(id))
        r->id = json_raw(id);
    if (!json_is(json_get(t, "jsonrpc"), "2.0"))
        return refuse_envelope(r, "jsonrpc must be \"2.0\"");
    r->name = mcp_text_of(r->m, method);
    if (r->name.p == NULL)
        return refuse_envelope(r, "method must be a string");
    if (id == NULL)
        return take_no_reply(r, t);
    if (!mcp_is_id(id))
        return refuse_envelope(r, "id must be a valid string or an integer");
    if (!is_absent(params) && params->type != JSON_OBJECT)
        return refuse_envelope(r, "params must be an object");
    r->params = is_absent(params) ? NULL : params;
    r->meta = json_get(r->params, "_meta");
    if (mcp_is_id(json_get(r->meta, "progressToken")))
        r->token = json_raw(json_get(r->meta, "progressToken"));
    return 0;
}

static int
judge_request(struct request *r, const struct json_tok *t)
{
    step *const *next = handshake_steps;
    int err = check_message(r, t);

    if (err == 0)
        err = check_envelope(r, t);
    if (err != 0)
        return err;
    r->rev = agreed_rev(r->m);
    if (r->m->batch ? claims_modern(r->m, t) : r->m->modern) {
        r->rev = MCP_OLDEST_MODERN;
        next = modern_steps;
    }
    if (r->m->batch && (is_modern(r) || str_is(r->name, "initialize")))
        return refuse_envelope(r, "This method cannot be in a batch");
    mcp_find_method(r);
    while (err == 0 && *next != NULL)
        err = (*next++)(r);
    return err;
}

/* ---- messages ---- */

/* Any other array is one message, and not an object. */
static bool
is_batch(const struct mcp_session *s, const struct json_tok *root)
{
    return root->type == JSON_ARRAY && root->n > 0 && root->n <= MAX_BATCH &&
           takes_batches(s);
}

/* The id of an answer if none can be read: from 2025-11-25 on, and if the
   revision is unknown, the answer has none. */
static struct str
no_id(const struct mcp_message *m)
{
    int rev = m->s->initialized ? (int)m->s->rev : m->named;

    return rev >= 0 && rev < MCP_2025_11_25 ? STR("null") : STR_NONE;
}

static int
new_requests(struct mcp_message *m, size_t n)
{
    m->v = arena_alloc(m->a, n * sizeof(*m->v));
    if (m->v == NULL)
        return ERR_NOMEM;
    m->n = n;
    for (size_t i = 0; i < n; i++)
        m->v[i] = (struct request){.m = m, .id = no_id(m), .log_level = -1};
    return 0;
}

/* The one request that stands for a message that cannot be parsed. */
static int
new_broken(struct mcp_message *m)
{
    struct mcp_scan scan = {.len = 0};

    if (new_requests(m, 1) != 0)
        return ERR_NOMEM;
    mcp_scan(&scan, buf_view(&m->text));
    return mcp_scan_id(&scan, m->a, &m->v->id);
}

/* Finds the session that the header names. A modern message has no session,
   and initialize makes one: for both the header is ignored. */
static int
find_session(struct mcp_message *m, const struct json_tok *root)
{
    const struct mcp_facts *f = m->f;

    if (f->session != NULL || f->session_id.p == NULL ||
        m->modern ||
        (root != NULL && json_is(json_get(root, "method"), "initialize")))
        return 0;
    return mcp_session_find(m->m, f, f->session_id, &m->s);
}

/* Whatever it sent, a client has to learn that its session is gone. */
static int
refuse_session(struct mcp_message *m, const struct json_tok *root)
{
    const struct json_tok *id = json_get(root, "id");

    if (new_requests(m, 1) != 0)
        return ERR_NOMEM;
    if (mcp_is_id(id) && json_get(root, "method") != NULL)
        m->v->id = json_raw(id);
    return mcp_refuse(m->v, MCP_NOT_FOUND, RPC_SESSION_NOT_FOUND,
                  "Session not found", STR_NONE);
}

static int
judge_all(struct mcp_message *m, const struct json_tok *root)
{
    const struct json_tok *t = root;

    m->batch = is_batch(m->s, root);
    if (m->batch)
        t++;
    if (new_requests(m, m->batch ? root->n : 1) != 0)
        return ERR_NOMEM;
    for (size_t i = 0; i < m->n; i++, t += t->span)
        if (judge_request(&m->v[i], t) < 0 || m->no_memory)
            return ERR_NOMEM;
    return 0;
}

/* Whether it is sent for the first time, or can be such that mcp_repeats: what
   cannot must not take effect while it is judged. */
static bool
may_be_repeat(const struct mcp_message *m, const struct json_tok *root)
{
    const struct json_tok *method = json_get(root, "method");

    return m->repeat.began_ms == 0 ||
           (json_get(root, "id") != NULL &&
            (json_is(method, "tools/call") || json_is(method, "tasks/result")));
}

/* Judges what it asks for, in the session that was found. */
static int
judge_root(struct mcp_message *m, const struct json_tok *root)
{
    struct mcp_repeat next;
    int err = judge_all(m, root);

    if (err == 0 && m->repeat.began_ms != 0 && m->v->fault.code == 0 &&
        !mcp_repeats(m, &next))
        return ERR_INVALID;
    return err;
}

static int
judge_text(struct mcp_message *m)
{
    const struct json_tok *root = NULL;
    struct str text = buf_view(&m->text);
    int err, found = 0;

    if (str_starts(text, "\xef\xbb\xbf")) /* a byte order mark: RFC 8259, 8.1 */
        text = str_from(text, 3);
    err = json_parse(m->a, text, &root, NULL);

    if (err == ERR_NOMEM)
        return err;
    if (m->f->session != NULL)
        m->s = m->f->session;
    if (err != 0 && new_broken(m) != 0)
        return ERR_NOMEM;
    if (err == ERR_TOO_LARGE)
        return refuse_envelope(m->v, "More than 128 levels or 65536 values");
    if (err != 0)
        return mcp_refuse(m->v, MCP_BAD_REQUEST, RPC_PARSE_ERROR,
                          "Parse error", STR_NONE);
    m->modern = claims_modern(m, root);
    if (!may_be_repeat(m, root))
        return ERR_INVALID;
    found = find_session(m, root);
    if (found == ERR_NOMEM)
        return found;
    return found == 0 ? judge_root(m, root) : refuse_session(m, root);
}

/* Judges the end of a session. */
static int
judge_end(struct mcp_message *m)
{
    m->ends = true;
    if (find_session(m, NULL) == ERR_NOMEM)
        return ERR_NOMEM;
    return m->s == &m->scratch ? refuse_session(m, NULL) : 0;
}

/* Copies text and what requests keep of the facts, and judges all that. */
static int
judge_copy(struct mcp_message *m, struct mcp_facts f, const struct str *text)
{
    int err;

    f.principal = arena_str(m->a, f.principal);
    if (text != NULL) {
        buf_reserve(&m->text, text->len);
        buf_str(&m->text, *text);
    }
    if (m->text.err != 0 || f.principal.p == NULL)
        return ERR_NOMEM;
    m->f = &f;
    m->named = mcp_rev_of(f.version);
    m->http = f.http;
    m->repeat = f.repeat;
    err = text != NULL ? judge_text(m) : judge_end(m);
    m->f = NULL;
    return err;
}

int
mcp_accept(struct mcp *mcp, const struct mcp_facts *f, const struct str *text,
           struct mcp_message **out)
{
    struct mcp_message *m = *out = mcp_message_new(mcp);
    int err;

    if (m == NULL)
        return ERR_NOMEM;
    err = judge_copy(m, *f, text);
    if (err < 0) {
        mcp_release(m);
        *out = NULL;
        return err;
    }
    mcp_message_queue(m);
    for (size_t i = 0; i < m->n; i++)
        mcp->counts.requests += !m->ends && !m->v[i].no_reply;
    return 0;
}

const char *
mcp_made_session(const struct mcp_message *m)
{
    return m->made ? m->s->id : NULL;
}
