/* wire - names of the protocol: revisions, log levels and capabilities; and
   small readers of JSON. */

#include "mcp/wire.h"
#include "mcp/message.h"

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

void
mcp_put_caps(struct json_w *w, unsigned set)
{
    json_obj(w);
    if (set & MCP_EXTENSION)
        json_put_raw(w, "extensions", STR("{\"" MCP_META "tasks\":{}}"));
    for (size_t i = 0; i < N_CAPS; i++)
        if (set & 1u << i)
            json_put_raw(w, cap_names[i].name, STR("{}"));
    json_close(w);
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
