/* wire - what mcp says in the words of the protocol: names of revisions, log
   levels and capabilities, small readings of JSON, and errors.

   An error of the project has its JSON-RPC code and text in one table, that
   of fault_of. */

#include "mcp/wire.h"
#include "base/text.h"
#include "mcp/internal.h"

#include <string.h>

#define MAX_SHOWN 128 /* bytes of a client's text in an error's message */

/* ---- names ---- */

static const char rev_names[MCP_N_REVS][sizeof "2024-11-05"] = {
    "2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25", "2026-07-28",
};

/* By RFC 5424 severity. */
static const char level_names[][sizeof "emergency"] = {
    "emergency", "alert", "critical", "error",
    "warning",   "notice", "info",    "debug",
};

/* By the bits of enum mcp_cap. */
static const struct {
    const char *name, *method;
} cap_names[] = {
    {"elicitation", "elicitation/create"},
    {"sampling", "sampling/createMessage"},
    {"roots", "roots/list"},
};
#define N_CAPS (sizeof(cap_names) / sizeof(*cap_names))

const char *
mcp_rev_name(enum mcp_rev rev)
{
    return rev_names[rev];
}

int
mcp_rev_of(struct str name)
{
    int i = MCP_N_REVS; /* the newest are the most */

    while (i-- > 0 && !str_is(name, rev_names[i]))
        ;
    return i;
}

/* The revisions that a request can name for itself. The older ones are
   served too, but are not among them: a client takes one of this list and
   puts it into the _meta of its next request, where they do not work, being
   agreed on by initialize only. A client that knows none of the list falls
   back to that by itself. */
void
mcp_put_versions(struct json_w *w)
{
    int i;

    json_arr(w);
    for (i = MCP_OLDEST_MODERN; i < MCP_N_REVS; i++)
        json_z(w, rev_names[i]);
    json_close(w);
}

int
mcp_level_of(const struct json_tok *t)
{
    size_t i;

    for (i = 0; i < sizeof(level_names) / sizeof(*level_names); i++)
        if (json_is(t, level_names[i]))
            return (int)i;
    return -1;
}

const char *
mcp_level_name(int level)
{
    return level_names[level];
}

unsigned
mcp_cap_of(struct str method)
{
    size_t i;

    for (i = 0; i < N_CAPS; i++)
        if (str_is(method, cap_names[i].method))
            return 1u << i;
    return 0;
}

const char *
mcp_cap_name(unsigned i)
{
    return i < N_CAPS ? cap_names[i].name : NULL;
}

void
mcp_put_caps(struct json_w *w, unsigned set)
{
    size_t i;

    json_obj(w);
    if (set & MCP_EXTENSION)
        json_put_raw(w, "extensions", STR("{\"" MCP_META "tasks\":{}}"));
    for (i = 0; i < N_CAPS; i++)
        if (set & 1u << i)
            json_put_raw(w, cap_names[i].name, STR("{}"));
    json_close(w);
}

static bool
is_object(const struct json_tok *t)
{
    return t != NULL && t->type == JSON_OBJECT;
}

/* A client of forms says so, or says nothing: there were only forms once. */
unsigned
mcp_caps_of(const struct json_tok *caps)
{
    const struct json_tok *asks = json_get(caps, "elicitation"),
                          *tasks = json_get(caps, "tasks");
    unsigned bits = 0;

    if (is_object(asks) &&
        (json_get(asks, "form") != NULL || json_get(asks, "url") == NULL))
        bits |= MCP_ELICITATION;
    if (is_object(json_get(caps, "sampling")))
        bits |= MCP_SAMPLING;
    if (is_object(json_get(caps, "roots")))
        bits |= MCP_ROOTS;
    if (is_object(json_get(json_get(json_get(tasks, "requests"),
                                    "elicitation"), "create")))
        bits |= MCP_CLIENT_TASKS;
    if (is_object(json_get(tasks, "cancel")))
        bits |= MCP_CLIENT_CANCEL;
    if (is_object(json_get(json_get(caps, "extensions"), MCP_META "ui")))
        bits |= MCP_UI;
    return bits;
}

/* ---- small readings ---- */

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

/* A string, or what a schema calls an integer: 7, also 1e2, and no matter
   how many digits. */
bool
mcp_is_id(const struct json_tok *t)
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

void
mcp_put_be64(uint8_t to[8], uint64_t v)
{
    int i;

    for (i = 7; i >= 0; i--, v >>= 8)
        to[i] = (uint8_t)v;
}

uint64_t
mcp_get_be64(const uint8_t p[8])
{
    uint64_t v = 0;
    int i;

    for (i = 0; i < 8; i++)
        v = v << 8 | p[i];
    return v;
}

/* ---- errors ---- */

int
mcp_refuse(struct request *r, enum mcp_status status, enum rpc_code code,
           const char *text, const char *key, struct str value)
{
    r->fault = (struct fault){status, code, text, key, value, 0};
    return MCP_REFUSED;
}

static void
put_data(struct json_w *w, const struct fault *f)
{
    json_key(w, "data");
    json_obj(w);
    if (f->code == RPC_UNSUPPORTED_VERSION) {
        json_key(w, "supported");
        mcp_put_versions(w);
    }
    if (f->key != NULL)
        json_put_str(w, f->key, f->value);
    if (f->caps != 0) {
        json_key(w, "requiredCapabilities");
        mcp_put_caps(w, f->caps);
    }
    json_close(w);
}

static void
put_fault(struct json_w *w, const struct fault *f)
{
    struct str about = mcp_cut(f->value, MAX_SHOWN);
    char message[MAX_SHOWN + 128];

    text_put(message, sizeof(message), "%s%s%.*s", f->text,
             about.len > 0 ? ": " : "", (int)about.len,
             about.len > 0 ? about.p : "");
    json_obj(w);
    json_put_int(w, "code", f->code);
    json_put_z(w, "message", message);
    if (f->key != NULL || f->caps != 0)
        put_data(w, f);
    json_close(w);
}

/* raw: the error itself, instead of f. */
void
mcp_put_error(struct str id, const struct fault *f, struct str raw,
          struct buf *out)
{
    struct json_w w;

    json_w_init(&w, out);
    json_obj(&w);
    json_put_z(&w, "jsonrpc", "2.0");
    if (id.p != NULL)
        json_put_raw(&w, "id", id);
    json_key(&w, "error");
    if (raw.p != NULL)
        json_splice(&w, raw);
    else
        put_fault(&w, f);
    json_close(&w);
    json_w_end(&w);
}

/* What a handler's error is on the wire. */
struct fault
mcp_fault_of(const struct request *r, int err)
{
    static const struct {
        int err;
        enum mcp_status status; /* in the modern era */
        enum rpc_code code, modern;
        const char *text, *key;
    } known[] = {
        {ERR_INVALID, MCP_OK, RPC_INVALID_PARAMS, RPC_INVALID_PARAMS,
         "Invalid params", NULL},
        {ERR_TOO_LARGE, MCP_OK, RPC_INVALID_PARAMS, RPC_INVALID_PARAMS,
         "Too large, or too many", NULL},
        {ERR_NOT_FOUND, MCP_OK, RPC_RESOURCE_NOT_FOUND, RPC_INVALID_PARAMS,
         "Resource not found", "uri"},
        {ERR_CAPABILITY, MCP_BAD_REQUEST, RPC_INVALID_REQUEST,
         RPC_MISSING_CAPABILITY, "The client lacks a capability", NULL},
        {ERR_MORE, MCP_OK, RPC_INVALID_REQUEST, RPC_INVALID_REQUEST,
         "It would have to wait, which nothing in a batch can", NULL},
    };
    struct fault f = {MCP_OK, RPC_INTERNAL_ERROR, "Internal error", NULL,
                      err == ERR_NOMEM ? STR("out of memory")
                                       : str_of(err_name(err)), 0};
    size_t i;

    for (i = 0; i < sizeof(known) / sizeof(*known); i++) {
        if (known[i].err != err)
            continue;
        f = (struct fault){MCP_OK, known[i].code, known[i].text, known[i].key,
                           r->target, 0};
        if (is_modern(r)) {
            f.status = known[i].status;
            f.code = known[i].modern;
        }
        f.caps = f.code == RPC_MISSING_CAPABILITY ? r->missing : 0;
    }
    if (r->why != NULL)
        f.text = r->why;
    if (r->call.why != NULL && err == ERR_INVALID) {
        f.text = r->call.why;
        f.value = STR_NONE;
    }
    return f;
}

void
mcp_put_fault(const struct request *r, int err, struct buf *out)
{
    struct fault f = mcp_fault_of(r, err);
    struct json_w w;

    json_w_init(&w, out);
    put_fault(&w, &f);
    json_w_end(&w);
}

void
mcp_no_memory(const struct mcp_message *m, struct buf *out)
{
    static const struct fault f = {.code = RPC_INTERNAL_ERROR,
                                   .text = "Internal error: out of memory"};

    mcp_put_error(m->v->id, &f, STR_NONE, out);
}

bool
mcp_too_many(struct buf *out, struct str text, unsigned wait_ms)
{
    struct arena a = {0};
    const struct json_tok *t = NULL, *id;
    bool asks;

    json_parse(&a, text, &t, NULL);
    id = json_get(t, "id");
    asks = mcp_is_id(id) && json_get(t, "method") != NULL;
    if (asks)
        buf_printf(out, "{\"jsonrpc\":\"2.0\",\"id\":%.*s,\"error\":{"
                   "\"code\":%d,\"message\":\"Too many requests: ask again "
                   "in %u ms\",\"data\":{\"retryAfterMs\":%u}}}",
                   STR_ARG(json_raw(id)), RPC_TOO_MANY_REQUESTS, wait_ms,
                   wait_ms);
    arena_fini(&a);
    return asks && out->err == 0;
}
