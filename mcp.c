/* mcp - JSON-RPC 2.0 and the Model Context Protocol, all revisions of it:
   envelopes, eras and answers. What the methods do stands in mcp_methods.c.

   A message is judged once, when it arrives: envelope, era, revision,
   headers, method, parameters. What is wrong with it becomes its answer then.
   What is right is run as often as the caller has to, since running only
   reads what judging left and appends an answer. The era of a request is a
   matter of its own body: with io.modelcontextprotocol/protocolVersion in its
   _meta it is a modern one, without state; else it belongs to the session
   that initialize made, or to none, and is served all the same.

   It does no input or output, and of HTTP it knows only the headers that
   repeat what the body says.

   Invariants:
   1. Judging alone writes to the session; a request keeps the revision that
      was in force when it came.
   2. A request is silent, or has a fault, or has passed every step of its
      era in that order; only the last kind has something to run.
   3. An answer is whole or absent: what fails half way is cut back.
   4. What the client sent comes back as its id, byte for byte, or quoted.
   5. No recursion; lists from outside are bounded by MAX_MEMBERS, MAX_BATCH
      and the limits of json. */

#include "mcp_int.h"
#include "text.h"

#include <string.h>

#define MAX_MEMBERS 16 /* of an envelope; they are compared pair by pair */
#define MAX_BATCH 64   /* messages */
#define MAX_SHOWN 128  /* bytes of a client's text in an error's message */
#define VERSION_KEY MCP_META "protocolVersion"

struct str
mcp_cut(struct str s, size_t max)
{
    if (s.len <= max)
        return s;
    while (max > 0 && ((unsigned char)s.p[max] & 0xc0) == 0x80)
        max--;
    return (struct str){s.p, max};
}

int
mcp_text(struct arena *a, const struct json_tok *t, struct str *out)
{
    *out = json_str(a, t);
    if (out->p == NULL && t != NULL && t->type == JSON_STRING)
        return ERR_NOMEM;
    return 0;
}

int
mcp_refuse(struct request *r, enum mcp_status status, enum rpc_code code,
           const char *text, const char *key, struct str value)
{
    r->fault = (struct fault){status, code, text, key, value};
    return MCP_REFUSED;
}

static int
refuse(struct request *r, enum mcp_status status, enum rpc_code code,
       const char *text)
{
    return mcp_refuse(r, status, code, text, NULL, STR_NONE);
}

/* The envelope is not one that a session could answer to: 400 in both. */
static int
refuse_envelope(struct request *r, const char *text)
{
    return refuse(r, MCP_BAD_REQUEST, RPC_INVALID_REQUEST, text);
}

static int
refuse_version(struct request *r, struct str version)
{
    return mcp_refuse(r, MCP_BAD_REQUEST, RPC_UNSUPPORTED_VERSION,
                      "Unsupported protocol version", "requested", version);
}

static int
check_method(struct request *r)
{
    if (r->method != NULL)
        return 0;
    return mcp_refuse(r, is_modern(r) ? MCP_NOT_FOUND : MCP_OK,
                      RPC_METHOD_NOT_FOUND, "Method not found", NULL,
                      r->name);
}

/* ---- the modern era ---- */

static int
mismatch(struct request *r, const char *text)
{
    return refuse(r, MCP_BAD_REQUEST, RPC_HEADER_MISMATCH, text);
}

/* Before the version is judged: which of two differing ones would it be? */
static int
check_version_header(struct request *r)
{
    const struct mcp_facts *f = r->m->f;
    struct str version;

    if (mcp_text(r->m->a, json_get(r->meta, VERSION_KEY), &version) != 0)
        return ERR_NOMEM;
    if (version.p == NULL || !f->http)
        return 0;
    if (f->version.p == NULL)
        return mismatch(r, "Header mismatch: MCP-Protocol-Version is missing");
    if (!str_eq(f->version, version))
        return mismatch(r, "Header mismatch: MCP-Protocol-Version and _meta "
                           "name different versions");
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
    size_t i;

    for (i = 0; i < sizeof(keys) / sizeof(*keys); i++) {
        t = json_get(r->meta, keys[i].key);
        if (is_absent(t) ? keys[i].required : t->type != keys[i].type)
            return refuse(r, MCP_BAD_REQUEST, RPC_INVALID_PARAMS,
                          keys[i].text);
    }
    /* t is the last one, logLevel. */
    if (!is_absent(t) && mcp_level_of(t) < 0)
        return refuse(r, MCP_BAD_REQUEST, RPC_INVALID_PARAMS, level_text);
    return 0;
}

static int
check_version(struct request *r)
{
    struct str version;

    if (mcp_text(r->m->a, json_get(r->meta, VERSION_KEY), &version) != 0)
        return ERR_NOMEM;
    return mcp_rev_of(version) >= MCP_OLDEST_MODERN
               ? 0
               : refuse_version(r, version);
}

/* Whether the header says value, as it is or in base64: 0, 1, ERR_NOMEM. */
static int
header_says(struct arena *a, struct str header, struct str value)
{
    static const struct str open = STR("=?base64?"), end = STR("?=");
    size_t around = open.len + end.len;
    int err;

    if (header.len >= around && str_starts(header, open.p) &&
        memcmp(header.p + header.len - end.len, end.p, end.len) == 0) {
        header = (struct str){header.p + open.len, header.len - around};
        err = base64_decode(a, header, &header);
        if (err < 0)
            return err == ERR_NOMEM ? err : 0;
    }
    return str_eq(header, value);
}

/* Proxies route by these headers: they must not say other than the body. */
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
        return mismatch(r, "Header mismatch: Mcp-Method is not the method");
    if (r->method == NULL || r->method->target == NULL)
        return 0;
    name = f->header(f->header_ctx, "mcp-name");
    says = name.p != NULL && r->target.p != NULL
               ? header_says(r->m->a, name, r->target) : 0;
    if (says < 0)
        return says;
    return says ? 0 : mismatch(r, "Header mismatch: Mcp-Name is not the name "
                                  "or uri");
}

static step *const modern_steps[] = {
    check_version_header, check_meta,       check_version, check_routing,
    check_method,         mcp_check_params, NULL,
};

/* ---- the handshake era ---- */

/* A version header counts from initialize on. Routing headers are ignored:
   there are clients that send them on everything. */
static int
check_known_header(struct request *r)
{
    const struct mcp_facts *f = r->m->f;
    struct str version;

    if (!f->http || f->version.p == NULL || mcp_rev_of(f->version) >= 0 ||
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

/* What was agreed; else what the transport names, since a client of the SSE
   transport comes back after a lost stream without initialize; else what the
   specification lets a server assume of HTTP, where later ones send it. */
static enum mcp_rev
agreed_rev(const struct mcp_session *s, const struct mcp_facts *f)
{
    int rev = f->version.p != NULL ? mcp_rev_of(f->version) : -1;

    if (s->initialized)
        return s->rev;
    if (rev >= 0 && rev <= MCP_NEWEST_HANDSHAKE)
        return (enum mcp_rev)rev;
    return f->http ? MCP_2025_03_26 : MCP_NEWEST_HANDSHAKE;
}

/* A header that names a modern revision needs the envelope of one, except
   for initialize, which can only mean the handshake. */
static bool
claims_modern(const struct request *r)
{
    const struct mcp_facts *f = r->m->f;

    if (json_get(r->meta, VERSION_KEY) != NULL)
        return true;
    return f->http && f->version.p != NULL &&
           mcp_rev_of(f->version) >= MCP_OLDEST_MODERN &&
           !str_is(r->name, "initialize");
}

/* ---- the envelope ---- */

/* Whether a name stands twice among the members of t: 0, 1 or ERR_NOMEM. */
static int
has_twins(struct arena *a, const struct json_tok *t)
{
    struct str names[MAX_MEMBERS];
    const struct json_tok *member = t + 1;
    uint32_t i, k;

    for (i = 0; i < t->n; i++) {
        names[i] = json_str(a, member);
        if (names[i].p == NULL)
            return ERR_NOMEM;
        for (k = 0; k < i; k++)
            if (str_eq(names[k], names[i]))
                return 1;
        member += 1 + member[1].span;
    }
    return 0;
}

/* A string, or what a schema calls an integer: 7, also 1e2, and no matter
   how many digits. */
static bool
is_id(const struct json_tok *t)
{
    int64_t v;
    uint32_t i;

    if (t == NULL || t->type != JSON_NUMBER)
        return t != NULL && t->type == JSON_STRING;
    for (i = t->p[0] == '-' ? 1 : 0; i < t->len; i++)
        if (t->p[i] < '0' || t->p[i] > '9')
            return json_int(t, &v);
    return true;
}

/* That it is an object whose members can be trusted to be unambiguous. */
static int
check_object(struct request *r, const struct json_tok *t)
{
    int twins;

    if (t->type != JSON_OBJECT)
        return refuse_envelope(r, t->type == JSON_ARRAY
                                      ? "Batches are not taken here"
                                      : "A message is an object");
    if (t->n > MAX_MEMBERS)
        return refuse_envelope(r, "Too many members");
    twins = has_twins(r->m->a, t);
    return twins > 0 ? refuse_envelope(r, "A member stands twice") : twins;
}

/* Leaves id, name, params and meta of a request. */
static int
check_envelope(struct request *r, const struct json_tok *t)
{
    const struct json_tok *id = json_get(t, "id"),
                          *method = json_get(t, "method"),
                          *params = json_get(t, "params");

    if (is_id(id))
        r->id = json_raw(id);
    /* A response needs no answer, not even a wrong one. */
    r->silent = method == NULL && (json_get(t, "result") != NULL ||
                                   json_get(t, "error") != NULL);
    if (r->silent)
        return MCP_REFUSED;
    if (!json_is(json_get(t, "jsonrpc"), "2.0"))
        return refuse_envelope(r, "jsonrpc must be \"2.0\"");
    if (mcp_text(r->m->a, method, &r->name) != 0)
        return ERR_NOMEM;
    if (r->name.p == NULL)
        return refuse_envelope(r, "method must be a string");
    r->silent = id == NULL;
    if (r->silent)
        return MCP_REFUSED;
    if (!is_id(id))
        return refuse_envelope(r, "id must be a string or an integer");
    if (!is_absent(params) && params->type != JSON_OBJECT)
        return refuse_envelope(r, "params must be an object");
    r->params = is_absent(params) ? NULL : params;
    r->meta = json_get(r->params, "_meta");
    return 0;
}

static int
judge(struct request *r, const struct json_tok *t)
{
    step *const *next = handshake_steps;
    int err = check_object(r, t);

    if (err == 0)
        err = check_envelope(r, t);
    if (err != 0)
        return err;
    r->rev = agreed_rev(r->m->s, r->m->f);
    if (claims_modern(r)) {
        r->rev = MCP_OLDEST_MODERN;
        next = modern_steps;
    }
    if (r->m->batch && (is_modern(r) || str_is(r->name, "initialize")))
        return refuse_envelope(r, "Not in a batch");
    err = mcp_find_method(r);
    while (err == 0 && *next != NULL)
        err = (*next++)(r);
    return err;
}

/* ---- messages ---- */

static int
judge_all(struct mcp_message *m, const struct json_tok *t)
{
    size_t i;

    for (i = 0; i < m->n; i++, t += t->span)
        if (judge(&m->v[i], t) < 0)
            return ERR_NOMEM;
    return 0;
}

/* Any other array is one message that is no object. */
static bool
is_batch(const struct mcp_session *s, const struct json_tok *root)
{
    return root->type == JSON_ARRAY && root->n > 0 && root->n <= MAX_BATCH &&
           s->initialized && s->rev == MCP_2025_03_26;
}

int
mcp_accept(const struct mcp_catalogue *c, struct mcp_session *s,
           const struct mcp_facts *f, struct arena *a, struct str text,
           struct mcp_message **out)
{
    struct mcp_message *m = arena_alloc(a, sizeof(*m));
    const struct json_tok *root = NULL;
    size_t i;
    int err;

    *out = m;
    err = m == NULL ? ERR_NOMEM : json_parse(a, text, &root, NULL);
    if (err == ERR_NOMEM)
        return err;
    *m = (struct mcp_message){.cat = c, .s = s, .f = f, .a = a, .n = 1};
    m->batch = err == 0 && is_batch(s, root);
    if (m->batch)
        m->n = root->n;
    m->v = arena_alloc(a, m->n * sizeof(*m->v));
    if (m->v == NULL)
        return ERR_NOMEM;
    for (i = 0; i < m->n; i++)
        m->v[i] = (struct request){.m = m, .id = STR("null")};
    if (err == 0)
        err = judge_all(m, root + m->batch);
    else if (err == ERR_TOO_LARGE)
        err = refuse_envelope(m->v, "Too deep or too many values");
    else
        err = refuse(m->v, MCP_BAD_REQUEST, RPC_PARSE_ERROR, "Parse error");
    m->f = NULL;
    return err < 0 ? err : 0;
}

bool
mcp_writes(const struct mcp_message *m)
{
    size_t i;

    for (i = 0; i < m->n; i++)
        if (m->v[i].tool != NULL && m->v[i].tool->writes)
            return true;
    return false;
}

void
mcp_prepare(struct mcp_message *m)
{
    size_t i;

    for (i = 0; i < m->n; i++)
        if (m->v[i].tool != NULL && m->v[i].tool->prepare != NULL)
            m->v[i].tool->prepare(&m->v[i].call);
}

/* ---- answers ---- */

static void
put_data(struct json_w *w, const struct fault *f)
{
    json_key(w, "data");
    json_obj(w);
    if (f->code == RPC_UNSUPPORTED_VERSION) {
        json_key(w, "supported");
        mcp_put_versions(w);
    }
    json_put_str(w, f->key, f->value);
    json_close(w);
}

static void
put_error(struct str id, const struct fault *f, struct buf *out)
{
    struct str about = mcp_cut(f->value, MAX_SHOWN);
    char message[MAX_SHOWN + 128];
    struct json_w w;

    text_put(message, sizeof(message), "%s%s%.*s", f->text,
             about.len > 0 ? ": " : "", (int)about.len,
             about.len > 0 ? about.p : "");
    json_w_init(&w, out);
    json_obj(&w);
    json_put_z(&w, "jsonrpc", "2.0");
    json_put_raw(&w, "id", id);
    json_key(&w, "error");
    json_obj(&w);
    json_put_int(&w, "code", f->code);
    json_put_z(&w, "message", message);
    if (f->key != NULL)
        put_data(&w, f);
    json_close(&w);
    json_close(&w);
    json_w_end(&w);
}

/* What a handler's error is on the wire. */
static struct fault
fault_of(const struct request *r, int err)
{
    static const struct {
        int err;
        enum rpc_code code, modern;
        const char *text, *key;
    } known[] = {
        {ERR_INVALID, RPC_INVALID_PARAMS, RPC_INVALID_PARAMS,
         "Invalid params", NULL},
        {ERR_NOT_FOUND, RPC_RESOURCE_NOT_FOUND, RPC_INVALID_PARAMS,
         "Resource not found", "uri"},
    };
    size_t i;

    for (i = 0; i < sizeof(known) / sizeof(*known); i++)
        if (known[i].err == err)
            return (struct fault){
                MCP_OK, is_modern(r) ? known[i].modern : known[i].code,
                known[i].text, known[i].key, r->target};
    return (struct fault){MCP_OK, RPC_INTERNAL_ERROR, "Internal error", NULL,
                          err == ERR_NOMEM ? STR("out of memory")
                                           : str_of(err_name(err))};
}

/* One answer, or with out->err nothing. A fault in memory at the first try
   leaves what was reserved until then, which mostly holds the error. */
static enum mcp_status
answer(struct request *r, struct buf *out)
{
    struct fault f = r->fault;
    size_t start = out->len;
    int err = 0;

    if (f.code != 0)
        put_error(r->id, &f, out);
    else
        err = mcp_put_result(r, out);
    if (err == 0)
        err = out->err;
    if (err == 0)
        return f.status;
    out->len = start;
    out->err = 0;
    f = fault_of(r, err);
    put_error(r->id, &f, out);
    return f.status;
}

enum mcp_status
mcp_run(struct mcp_message *m, struct buf *out)
{
    enum mcp_status status = MCP_ACCEPTED;
    size_t i, start = out->len;

    for (i = 0; i < m->n && out->err == 0; i++) {
        if (m->v[i].silent)
            continue;
        if (m->batch)
            buf_char(out, status == MCP_ACCEPTED ? '[' : ',');
        if (out->err == 0)
            status = answer(&m->v[i], out);
    }
    if (m->batch && status != MCP_ACCEPTED) {
        buf_char(out, ']');
        status = MCP_OK;
    }
    if (out->err != 0)
        out->len = start;
    return status;
}

void
mcp_too_large(struct buf *out, size_t limit)
{
    char text[64];
    struct fault f = {.code = RPC_INVALID_REQUEST, .text = text};

    text_put(text, sizeof(text), "Message over %zu bytes", limit);
    put_error(STR("null"), &f, out);
}

void
mcp_no_memory(struct buf *out)
{
    static const struct fault f = {.code = RPC_INTERNAL_ERROR,
                                   .text = "Internal error: out of memory"};

    put_error(STR("null"), &f, out);
}
