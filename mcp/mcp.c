/* mcp - the engine: accepts messages, runs them, and answers.

   It does no input or output, and of HTTP it knows only the headers that repeat
   the body. A message is judged once, when it arrives: envelope, era, revision,
   headers, method, parameters. One with a fault gets its error answer then. A
   valid one can be run any number of times, since a run only reads what judging
   left and appends an answer.

   The body of a request tells its era: with
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
      and the limits of json.
   5. An answer is whole or absent: if it fails halfway, it is cut back. */

#include "mcp/mcp.h"
#include "base/base64.h"
#include "base/text.h"
#include "mcp/deferred.h"
#include "mcp/delivery.h"
#include "mcp/message.h"
#include "mcp/methods.h"
#include "mcp/run.h"
#include "mcp/session.h"

#include <stdlib.h>
#include <string.h>

#define MAX_MEMBERS 16 /* of an envelope; they are compared pair by pair */
#define MAX_BATCH 64   /* messages */
#define VERSION_KEY MCP_META "protocolVersion"
#define MAX_BATCH_LEN ((size_t)8 << 20) /* of a batch's answers and runs */

int
mcp_new(struct mcp **out, const struct mcp_catalogue *c, struct store *store,
        struct sign *sign, struct calls *calls)
{
    struct mcp *m = *out = malloc(sizeof(*m));

    if (m == NULL)
        return ERR_NOMEM;
    *m = (struct mcp){
        .cat = c,
        .store = store,
        .sign = sign,
        .calls = calls,
        .call = mcp_method_call,
        .delivery_ms = INT64_MAX,
        .look_ms = INT64_MAX,
        /* Above the ids of polls of earlier processes: sessions outlive them,
           and their clients may still answer. */
        .last_poll = (uint64_t)clock_wall_ms(),
    };
    return 0;
}

void
mcp_principals(struct mcp *m, mcp_principal_fn *is, const void *of)
{
    m->is_principal = is;
    m->principals = of;
}

void
mcp_free(struct mcp *m)
{
    if (m == NULL)
        return;
    ASSERT(m->messages == NULL);
    while (m->sessions != NULL)
        mcp_session_free(m->sessions);
    arena_fini(&m->runs);
    free(m);
}

void
mcp_count(const struct mcp *m, struct mcp_counts *out)
{
    *out = m->counts;
    out->sessions = m->n_sessions;
    out->subscriptions = m->n_subs;
    calls_count(m->calls, &out->calls);
}

uint64_t
mcp_requests(const struct mcp *m)
{
    return m->counts.requests;
}

/* ---- judging a request ---- */

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

/* ---- the modern era ---- */

static int
refuse_header(struct request *r, const char *why)
{
    return mcp_refuse(r, MCP_BAD_REQUEST, RPC_HEADER_MISMATCH,
                      "Header mismatch", str_of(why));
}

/* Judges what _meta says of the era: the version that the header repeats, then
   the members of _meta, then the version itself. */
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
    const struct mcp_facts *f = r->m->f;
    struct str version = mcp_text_of(r->m, json_get(r->meta, VERSION_KEY));

    /* Of two versions that differ, neither counts. */
    if (version.p != NULL && f->http && f->version.p == NULL)
        return refuse_header(r, "MCP-Protocol-Version is missing");
    if (version.p != NULL && f->http && !str_eq(f->version, version))
        return refuse_header(r, "MCP-Protocol-Version and _meta have different "
                                "versions");
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
    return mcp_rev_of(version) >= MCP_OLDEST_MODERN
               ? 0 : refuse_version(r, version);
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
        return refuse_header(r, "Mcp-Method differs from the method");
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
    return refuse_header(r, "Mcp-Name differs from the name or uri");
}

/* Whether a decoded header equals the argument v: 0, 1, or ERR_NOMEM. */
static int
header_is_argument(struct mcp_message *m, struct str header,
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
            says = header_is_argument(r->m, header, v);
        if (says < 0)
            return says;
        if (!says)
            return mcp_refuse(r, MCP_BAD_REQUEST, RPC_HEADER_MISMATCH,
                              "Header mismatch: Mcp-Param of",
                              str_of(p->arg));
    }
    return 0;
}

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

/* By its session or, without one, by the version header. */
static bool
takes_batches(const struct mcp_message *m)
{
    return (m->s->initialized ? (int)m->s->rev : m->named) == MCP_2025_03_26;
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

/* Checks that it is an object, and that no member is ambiguous. */
static int
check_message(struct request *r, const struct json_tok *t)
{
    struct str names[MAX_MEMBERS];
    const struct json_tok *member = t + 1;

    if (t->type != JSON_OBJECT) {
        const char *why = "A batch has 1 to 64 messages";

        if (t->type != JSON_ARRAY || r->m->batch)
            why = "A message must be an object";
        else if (!takes_batches(r->m))
            why = "Batches need protocol version 2025-03-26";
        return refuse_envelope(r, why);
    }
    if (t->n > MAX_MEMBERS)
        return refuse_members(r, t, "Too many members");
    for (uint32_t i = 0; i < t->n; i++, member += 1 + member[1].span) {
        names[i] = json_str(r->m->a, member);
        if (names[i].p == NULL)
            return ERR_NOMEM;
        for (uint32_t k = 0; k < i; k++)
            if (str_eq(names[k], names[i]))
                return refuse_members(r, t, "Duplicate member");
    }
    return 0;
}

/* A notification or a response. A response to a request of ours takes effect
   when it is run. */
static int
accept_no_reply(struct request *r, const struct json_tok *t)
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
        return accept_no_reply(r, t);
    if (mcp_is_id(id))
        r->id = json_raw(id);
    if (!json_is(json_get(t, "jsonrpc"), "2.0"))
        return refuse_envelope(r, "jsonrpc must be \"2.0\"");
    r->name = mcp_text_of(r->m, method);
    if (r->name.p == NULL)
        return refuse_envelope(r, "method must be a string");
    if (id == NULL)
        return accept_no_reply(r, t);
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
    struct mcp_message *m = r->m;
    bool modern;
    int err = check_message(r, t);

    if (err == 0)
        err = check_envelope(r, t);
    if (err != 0)
        return err;
    modern = m->batch ? claims_modern(m, t) : m->modern;
    /* The revision that was agreed on; else the one that the transport names,
       since a client of the SSE transport comes back after a lost stream
       without initialize; else, over HTTP, the one that the specification lets
       a server assume. */
    if (modern)
        r->rev = MCP_OLDEST_MODERN;
    else if (m->s->initialized)
        r->rev = m->s->rev;
    else if (m->named >= 0 && m->named <= MCP_NEWEST_HANDSHAKE)
        r->rev = (enum mcp_rev)m->named;
    else
        r->rev = m->http ? MCP_2025_03_26 : MCP_NEWEST_HANDSHAKE;
    if (m->batch && (modern || str_is(r->name, "initialize")))
        return refuse_envelope(r, "This method cannot be in a batch");
    mcp_find_method(r);
    err = modern ? check_meta(r) : check_known_header(r);
    if (err == 0 && modern)
        err = check_routing(r);
    if (err == 0 && r->method == NULL)
        err = mcp_refuse(r, modern ? MCP_NOT_FOUND : MCP_OK,
                         RPC_METHOD_NOT_FOUND, "Method not found", r->name);
    if (err == 0)
        err = mcp_check_params(r);
    return err == 0 && modern ? check_argument_headers(r) : err;
}

/* ---- messages ---- */

static int
new_requests(struct mcp_message *m, size_t n)
{
    int rev = m->s->initialized ? (int)m->s->rev : m->named;
    /* The id of an answer if none can be read: from 2025-11-25 on, and if the
       revision is unknown, the answer has none. */
    struct str no_id = rev >= 0 && rev < MCP_2025_11_25 ? STR("null")
                                                        : STR_NONE;

    m->v = arena_alloc(m->a, n * sizeof(*m->v));
    if (m->v == NULL)
        return ERR_NOMEM;
    m->n = n;
    for (size_t i = 0; i < n; i++)
        m->v[i] = (struct request){.m = m, .id = no_id, .log_level = -1};
    return 0;
}

/* Finds the session that the header names. A modern message has no session,
   and initialize makes one: for both the header is ignored. */
static int
find_session(struct mcp_message *m, const struct json_tok *root)
{
    const struct mcp_facts *f = m->f;

    if (f->session != NULL || f->session_id.p == NULL || m->modern ||
        json_is(json_get(root, "method"), "initialize"))
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
judge_text(struct mcp_message *m)
{
    const struct json_tok *root = NULL, *t, *method;
    struct str text = buf_view(&m->text);
    struct mcp_scan scan = {.len = 0};
    struct mcp_repeat next;
    int err;

    if (str_starts(text, "\xef\xbb\xbf")) /* a byte order mark: RFC 8259, 8.1 */
        text = str_from(text, 3);
    err = json_parse(m->a, text, &root, NULL);
    if (err == ERR_NOMEM)
        return err;
    if (m->f->session != NULL)
        m->s = m->f->session;
    if (err != 0) { /* one request stands for all that cannot be parsed */
        mcp_scan(&scan, buf_view(&m->text));
        if (new_requests(m, 1) != 0 ||
            mcp_scan_id(&scan, m->a, &m->v->id) != 0)
            return ERR_NOMEM;
        if (err == ERR_TOO_LARGE)
            return refuse_envelope(m->v, "More than 128 levels or 65536 "
                                         "values");
        return mcp_refuse(m->v, MCP_BAD_REQUEST, RPC_PARSE_ERROR,
                          "Parse error", STR_NONE);
    }
    m->modern = claims_modern(m, root);
    /* What is sent again, but cannot be such that mcp_repeats, must not take
       effect while it is judged. */
    method = json_get(root, "method");
    if (m->repeat.began_ms != 0 &&
        (json_get(root, "id") == NULL ||
         (!json_is(method, "tools/call") && !json_is(method, "tasks/result"))))
        return ERR_INVALID;
    err = find_session(m, root);
    if (err != 0)
        return err == ERR_NOMEM ? err : refuse_session(m, root);
    /* Any other array is one message, and not an object. */
    m->batch = root->type == JSON_ARRAY && root->n > 0 &&
               root->n <= MAX_BATCH && takes_batches(m);
    t = m->batch ? root + 1 : root;
    if (new_requests(m, m->batch ? root->n : 1) != 0)
        return ERR_NOMEM;
    for (size_t i = 0; i < m->n; i++, t += t->span)
        if (judge_request(&m->v[i], t) < 0 || m->no_memory)
            return ERR_NOMEM;
    if (m->repeat.began_ms != 0 && m->v->fault.code == 0 &&
        !mcp_repeats(m, &next))
        return ERR_INVALID;
    return 0;
}

int
mcp_accept(struct mcp *mcp, const struct mcp_facts *f, const struct str *text,
           struct mcp_message **out)
{
    struct mcp_message *m = *out = mcp_message_new(mcp);
    struct mcp_facts facts = *f;
    int err = 0;

    if (m == NULL)
        return ERR_NOMEM;
    /* Requests keep these two. */
    facts.principal = arena_str(m->a, f->principal);
    if (text != NULL) {
        buf_reserve(&m->text, text->len);
        buf_str(&m->text, *text);
    }
    if (m->text.err != 0 || facts.principal.p == NULL)
        err = ERR_NOMEM;
    m->f = &facts;
    m->named = mcp_rev_of(f->version);
    m->http = f->http;
    m->repeat = f->repeat;
    m->ends = text == NULL;
    if (err == 0 && m->ends)
        err = find_session(m, NULL) == ERR_NOMEM ? ERR_NOMEM : 0;
    if (err == 0 && m->ends && m->s == &m->scratch)
        err = refuse_session(m, NULL);
    if (err == 0 && !m->ends)
        err = judge_text(m);
    m->f = NULL;
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

/* ---- before a run ---- */

bool
mcp_writes(const struct mcp_message *m)
{
    bool writes = false;

    if (m->ends && m->n == 0)
        return mcp_session_stored(m->s);
    for (size_t i = 0; i < m->n && !writes; i++) {
        const struct request *r = &m->v[i];

        if (r->reply.kind != '\0')
            writes = true;
        else if (r->no_reply || r->fault.code != 0 || r->method == NULL)
            writes = false;
        else if (r->method->feature == TASKS || r->runs_as.len > 0)
            writes = mcp_task_writes(r);
        else if (r->tool != NULL)
            writes = (r->tool->writes && !r->call.read_only) ||
                     ((r->task || r->extends) && mcp_can_defer(r));
        else
            writes = r->changes && mcp_session_stored(m->s);
    }
    return writes;
}

void
mcp_prepare(struct mcp_message *m)
{
    for (size_t i = 0; i < m->n; i++) {
        struct request *r = &m->v[i];

        if (r->fault.code == 0 && r->tool != NULL &&
            r->tool->prepare != NULL &&
            (!r->tool->writes || !r->call.read_only))
            r->tool->prepare(&r->call);
    }
}

/* ---- answers ---- */

/* Appends one answer; or nothing, and sets out->err. If memory runs out at the
   first try, what was reserved until then mostly has room for the error. */
static enum mcp_status
run_request(struct request *r, struct buf *out, struct buf *notes)
{
    struct mcp_fault f = r->fault;
    size_t start = out->len, notes_len = notes->len;
    int err = 0;

    r->run.notes = notes;
    if (f.code != 0)
        mcp_put_error(r->id, &f, out);
    else
        err = mcp_put_result(r, out);
    if (notes->err != 0) { /* half a note must not go out */
        notes->len = notes_len;
        notes->err = 0;
        err = ERR_NOMEM;
    }
    if (err == 0)
        err = out->err;
    if (err != 0) {
        out->len = start;
        out->err = 0;
    }
    if (err == MCP_RUN_WAITS)
        return MCP_WAITS;
    if (err != 0) {
        f = mcp_fault_of(r, err);
        mcp_put_error(r->id, &f, out);
    }
    r->m->m->counts.errors += f.code != 0;
    return f.status;
}

enum mcp_status
mcp_run(struct mcp_message *m, struct buf *out, struct buf *notes)
{
    enum mcp_status status = MCP_ACCEPTED;
    size_t start = out->len, before = start + mcp_runs_len(m->m);
    struct mcp_fault f;
    int err;

    m->state = MESSAGE_RUN;
    if (m->ends && m->n == 0) {
        /* Memory learns of the end of a session from the record. */
        err = mcp_session_set(m->s, -1, true, STR_NONE, STR_NONE);
        f = (struct mcp_fault){.code = RPC_INTERNAL_ERROR,
                               .text = "Internal error",
                               .value = str_of(err_name(err))};
        if (err == 0)
            return MCP_OK;
        mcp_put_error(STR_NONE, &f, out);
        return MCP_BAD_REQUEST;
    }
    if (m->cancelled && m->waited) {
        mcp_withdraw(m->v, notes);
        return MCP_ACCEPTED;
    }
    for (size_t i = 0; i < m->n && out->err == 0; i++) {
        struct request *r = &m->v[i];

        /* If a client's answer cannot be stored this has to be an error, though
           its sender can do little about it; a batch has no room for one. */
        err = r->reply.kind != '\0' ? mcp_take_answer(r) : 0;
        if (err != 0 && m->http && !m->batch) {
            f = mcp_fault_of(r, err);
            mcp_put_error(STR_NONE, &f, out);
            status = MCP_BAD_REQUEST;
        }
        if (r->no_reply)
            continue;
        if (m->batch)
            buf_char(out, status == MCP_ACCEPTED ? '[' : ',');
        /* A batch is one message: the rest of it is refused once its runs and
           answers have taken as much memory as one message may. */
        if (m->batch && r->fault.code == 0 &&
            out->len + mcp_runs_len(m->m) - before > MAX_BATCH_LEN)
            mcp_refuse(r, MCP_OK, RPC_INVALID_REQUEST,
                       "The batch is too large; send this request alone",
                       STR_NONE);
        if (out->err == 0)
            status = run_request(r, out, notes);
    }
    if (m->batch && status != MCP_ACCEPTED) {
        buf_char(out, ']');
        status = MCP_OK;
    }
    if (out->err != 0)
        out->len = start;
    return status;
}

size_t
mcp_runs_len(const struct mcp *m)
{
    return arena_size(&m->runs);
}

void
mcp_end_turn(struct mcp *m)
{
    arena_reset(&m->runs);
}

static int64_t
earlier_ms(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

int64_t
mcp_due_ms(const struct mcp *m)
{
    int64_t due = earlier_ms(mcp_waiting_due_ms(m), mcp_delivery_due_ms(m));

    due = earlier_ms(due, m->look_ms);
    if (m->list_due != 0)
        due = earlier_ms(due, m->list_sent_ms + MCP_LIST_PAUSE_MS);
    return m->notify_if_due ? earlier_ms(due, m->notify_ms) : due;
}
