/* wire - the words of the protocol, the errors that mcp answers with, and the
   id of a message that cannot be read.

   It knows no method and no state. The table of base/err.c has the code and
   text of each of our errors.

   A client whose call is refused without its id waits for the answer for ever.
   So a text that is not JSON, or is too long to keep, is searched once, byte by
   byte and in any pieces, for a whole member id on the top level. It does not
   guess: an array has no id of its own, and an id that is cut off or too long
   does not count.

   1. While an object of depth 1 is open, the text of a scan holds the name or
      value there, without blanks around it; a nested value counts as its
      bracket.
   2. The first id ends the search. */

#include "mcp/wire.h"
#include "base/text.h"
#include "base/utf8.h"
#include "mcp/message.h"

#include <string.h>

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
    int i = MCP_N_REVS; /* the newest are the most common */

    while (i-- > 0 && !str_is(name, rev_names[i]))
        ;
    return i;
}

/* Only the revisions that a request may name in its _meta: clients put one from
   this list there. The older revisions are served too, but only initialize can
   agree on them; a client that knows none of this list falls back to that by
   itself. */
void
mcp_put_versions(struct json_w *w)
{
    json_arr(w);
    for (int i = MCP_OLDEST_MODERN; i < MCP_N_REVS; i++)
        json_z(w, rev_names[i]);
    json_close(w);
}

int
mcp_level_of(const struct json_tok *t)
{
    for (size_t i = 0; i < sizeof(level_names) / sizeof(*level_names); i++)
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
    for (size_t i = 0; i < N_CAPS; i++)
        if (str_is(method, cap_names[i].method))
            return 1u << i;
    return 0;
}

const char *
mcp_cap_name(unsigned i)
{
    return i < N_CAPS ? cap_names[i].name : NULL;
}

/* A client that knows forms declares them, or neither mode: at first there were
   only forms. */
unsigned
mcp_caps_of(const struct json_tok *caps)
{
    static const struct {
        const char *path[4];
        unsigned bit;
    } known[] = {
        {{"elicitation"}, MCP_ELICITATION},
        {{"sampling"}, MCP_SAMPLING},
        {{"roots"}, MCP_ROOTS},
        {{"tasks", "cancel"}, MCP_CLIENT_CANCEL},
        {{"tasks", "requests", "elicitation", "create"}, MCP_CLIENT_TASKS},
        {{"extensions", MCP_META "ui"}, MCP_UI},
        {{"extensions", MCP_META "tasks"}, MCP_EXTENSION},
    };
    const struct json_tok *asks = json_get(caps, "elicitation"), *t;
    unsigned bits = 0;

    for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++) {
        t = caps;
        for (size_t k = 0; k < 4 && known[i].path[k] != NULL; k++)
            t = json_get(t, known[i].path[k]);
        if (t != NULL && t->type == JSON_OBJECT)
            bits |= known[i].bit;
    }
    if (json_get(asks, "url") != NULL && json_get(asks, "form") == NULL)
        bits &= ~(unsigned)MCP_ELICITATION;
    return bits;
}

/* ---- small readings ---- */

int
mcp_text(struct arena *a, const struct json_tok *t, struct str *out)
{
    *out = json_str(a, t);
    if (out->p == NULL && t != NULL && t->type == JSON_STRING)
        return ERR_NOMEM;
    return 0;
}

struct str
mcp_text_of(struct mcp_message *m, const struct json_tok *t)
{
    struct str text;

    m->no_memory |= mcp_text(m->a, t, &text) != 0;
    return text;
}

/* A string, or an integer of JSON Schema: 7, also 1e2, with any number of
   digits. A string with a lone surrogate could not be sent back unchanged. */
bool
mcp_is_id(const struct json_tok *t)
{
    int64_t v;

    if (t == NULL || t->type != JSON_NUMBER)
        return t != NULL && t->type == JSON_STRING &&
               str_find(json_raw(t), STR(JSON_LONE)) == SIZE_MAX;
    for (uint32_t i = t->p[0] == '-' ? 1 : 0; i < t->len; i++)
        if (t->p[i] < '0' || t->p[i] > '9')
            return json_int(t, &v);
    return true;
}

void
mcp_open_message(struct json_w *w, struct buf *b, const char *id,
                 struct str method)
{
    json_begin(w, b);
    json_put_z(w, "jsonrpc", "2.0");
    if (id != NULL)
        json_put_z(w, "id", id);
    json_put_str(w, "method", method);
    json_put_obj(w, "params");
}

void
mcp_open_answer(struct json_w *w, struct str id)
{
    json_obj(w);
    json_put_z(w, "jsonrpc", "2.0");
    if (id.p != NULL)
        json_put_raw(w, "id", id);
}

void
mcp_close_message(struct json_w *w)
{
    json_close(w);
    json_end(w);
}

void
mcp_close_note(struct json_w *w)
{
    mcp_close_message(w);
    buf_char(w->b, '\n');
}

void
mcp_put_members(struct json_w *w, struct str object)
{
    if (object.len <= 2)
        return;
    if (w->comma)
        buf_char(w->b, ',');
    buf_put(w->b, object.p + 1, object.len - 2);
    w->comma = true;
}

const struct mcp_tool *
mcp_find_tool(const struct mcp_catalogue *c, struct str name)
{
    size_t i = 0;

    while (i < c->n_tools && !str_is(name, c->tools[i].name))
        i++;
    return i < c->n_tools ? &c->tools[i] : NULL;
}

void
mcp_put_be64(uint8_t to[8], uint64_t v)
{
    for (int i = 7; i >= 0; i--, v >>= 8)
        to[i] = (uint8_t)v;
}

uint64_t
mcp_get_be64(const uint8_t p[8])
{
    uint64_t v = 0;

    for (int i = 0; i < 8; i++)
        v = v << 8 | p[i];
    return v;
}

/* ---- errors ---- */

#define MAX_SHOWN 128 /* bytes of a client's text in an error's message */

int
mcp_refuse(struct request *r, enum mcp_status status, enum mcp_code code,
           const char *text, struct str value)
{
    r->fault = (struct mcp_fault){.status = status, .code = code,
                                  .text = text, .value = value};
    return MCP_REFUSED;
}

int
mcp_refuse_params(struct request *r, const char *text)
{
    return mcp_refuse(r, MCP_OK, RPC_INVALID_PARAMS, text, STR_NONE);
}

int
mcp_refuse_extension(struct request *r)
{
    mcp_refuse(r, MCP_BAD_REQUEST, RPC_MISSING_CAPABILITY,
               "Missing required client capability", STR_NONE);
    r->fault.caps = MCP_EXTENSION;
    return MCP_REFUSED;
}

int
mcp_fail(struct request *r, int err, const char *why)
{
    r->run.why = why;
    return err;
}

struct mcp_fault
mcp_fault_of(const struct request *r, int err)
{
    const struct err_row *row = err_row(err);
    struct mcp_fault f = {.status = MCP_OK, .code = RPC_INTERNAL_ERROR,
                          .text = "Internal error",
                          .value = err == ERR_NOMEM ? STR("out of memory")
                                                    : str_of(row->name)};

    if (row->rpc != 0) {
        f.code = (enum mcp_code)(is_modern(r) ? row->rpc_2026 : row->rpc);
        f.text = row->rpc_text;
        f.value = r->target;
    }
    if (err == ERR_NOT_FOUND)
        f.key = "uri";
    if (f.code == RPC_MISSING_CAPABILITY) {
        f.status = MCP_BAD_REQUEST;
        f.caps = r->run.missing;
    }
    f.raw = r->run.error;
    if (r->run.why != NULL)
        f.text = r->run.why;
    if (r->call.why != NULL && err == ERR_INVALID) {
        f.text = r->call.why;
        f.value = STR_NONE;
    }
    return f;
}

static void
put_fault(struct json_w *w, const struct mcp_fault *f)
{
    struct str about = utf8_cut(f->value, MAX_SHOWN);
    bool has_data = f->key != NULL || f->caps != 0;
    char message[MAX_SHOWN + 128];

    if (f->raw.p != NULL) {
        json_splice(w, f->raw);
        return;
    }
    text_put(message, sizeof(message), "%s%s%.*s", f->text,
             about.len > 0 ? ": " : "", STR_ARG(about));
    json_obj(w);
    json_put_int(w, "code", f->code);
    json_put_z(w, "message", message);
    if (has_data)
        json_put_obj(w, "data");
    if (f->code == RPC_UNSUPPORTED_VERSION) {
        json_key(w, "supported");
        mcp_put_versions(w);
    }
    if (f->key != NULL)
        json_put_str(w, f->key, f->value);
    if (f->caps != 0) {
        json_put_obj(w, "requiredCapabilities");
        if (f->caps & MCP_EXTENSION)
            json_put_raw(w, "extensions", STR("{\"" MCP_META "tasks\":{}}"));
        for (size_t i = 0; i < N_CAPS; i++)
            if (f->caps & 1u << i)
                json_put_raw(w, cap_names[i].name, STR("{}"));
        json_close(w);
    }
    if (has_data)
        json_close(w);
    json_close(w);
}

void
mcp_put_fault(const struct request *r, int err, struct buf *out)
{
    struct mcp_fault f = mcp_fault_of(r, err);
    struct json_w w;

    json_w_init(&w, out);
    put_fault(&w, &f);
    json_w_end(&w);
}

void
mcp_put_error(struct str id, const struct mcp_fault *f, struct buf *out)
{
    struct json_w w;

    json_w_init(&w, out);
    mcp_open_answer(&w, id);
    json_key(&w, "error");
    put_fault(&w, f);
    json_end(&w);
}

static const struct mcp_fault out_of_memory = {
    .code = RPC_INTERNAL_ERROR, .text = "Internal error: out of memory"};

void
mcp_no_memory(const struct mcp_message *m, struct buf *out)
{
    char next = '[';

    if (m->n == 0)
        mcp_put_error(STR_NONE, &out_of_memory, out);
    for (size_t i = 0; i < m->n; i++) {
        if (m->v[i].no_reply)
            continue;
        if (m->batch)
            buf_char(out, next);
        mcp_put_error(m->v[i].id, &out_of_memory, out);
        next = ',';
    }
    if (m->batch && next == ',')
        buf_char(out, ']');
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
                   "\"code\":%d,\"message\":\"Too many requests: try again "
                   "in %u ms\",\"data\":{\"retryAfterMs\":%u}}}",
                   STR_ARG(json_raw(id)), RPC_TOO_MANY_REQUESTS, wait_ms,
                   wait_ms);
    arena_fini(&a);
    return asks && out->err == 0;
}

/* ---- the id of a message that cannot be read ---- */

/* Invariant 1. A byte that does not fit makes the part too long. */
static void
keep_byte(struct mcp_scan *s, char c)
{
    if (s->len < sizeof(s->text))
        s->text[s->len] = c;
    s->len += s->len <= sizeof(s->text);
}

void
mcp_scan(struct mcp_scan *s, struct str piece)
{
    for (size_t i = 0; i < piece.len && !s->done; i++) {
        char c = piece.p[i];
        bool top = s->depth == 1, quote = c == '"' && !s->escaped;

        if (s->quoted || quote) {
            if (top)
                keep_byte(s, c);
            s->escaped = s->quoted && !s->escaped && c == '\\';
            s->quoted ^= quote;
        } else if (s->depth == 0) {
            s->done = c == '[';
            s->depth = c == '{';
        } else if (top && (c == ':' || c == ',' || c == '}')) {
            /* A name, a value or the object ends. */
            s->depth -= c == '}';
            s->done = s->wanted;
            if (s->done)
                return;
            s->wanted = c == ':' && s->len == 4 &&
                        memcmp(s->text, "\"id\"", 4) == 0;
            s->len = 0;
        } else {
            if (top && c != ' ' && c != '\t' && c != '\r' && c != '\n')
                keep_byte(s, c);
            s->depth += c == '{' || c == '[';
            s->depth -= c == '}' || c == ']';
        }
    }
}

int
mcp_scan_id(const struct mcp_scan *s, struct arena *a, struct str *id)
{
    struct str text = {s->text, s->len};
    const struct json_tok *t;
    int err;

    if (!s->wanted || !s->done || s->len > sizeof(s->text))
        return 0;
    text = arena_str(a, text);
    err = text.p != NULL ? json_parse(a, text, &t, NULL) : ERR_NOMEM;
    if (err == 0 && mcp_is_id(t))
        *id = json_raw(t);
    return err == ERR_NOMEM ? err : 0;
}

void
mcp_refuse_unread(struct buf *out, size_t limit, const struct mcp_scan *s,
                  struct arena *a)
{
    char text[64];
    struct mcp_fault f = {.code = RPC_INVALID_REQUEST, .text = text};
    struct str id = STR_NONE;

    text_put(text, sizeof(text), "Message over %zu bytes", limit);
    if (limit == 0)
        f = out_of_memory;
    mcp_scan_id(s, a, &id); /* if memory runs out, the answer has no id */
    mcp_put_error(id, &f, out);
}
