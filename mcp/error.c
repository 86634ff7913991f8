/* error - the errors of JSON-RPC that mcp answers with.

   One table, in mcp_fault_of, has the code and text of each of our errors. */

#include "mcp/error.h"
#include "base/text.h"
#include "base/utf8.h"
#include "mcp/message.h"

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
mcp_fail(struct request *r, int err, const char *why)
{
    r->run.why = why;
    return err;
}

/* The error to send for an error of a handler. */
struct mcp_fault
mcp_fault_of(const struct request *r, int err)
{
    static const struct {
        int err;
        enum mcp_status status; /* in the modern era */
        enum mcp_code code, modern;
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
        {ERR_GARBLED, MCP_OK, RPC_INTERNAL_ERROR, RPC_INTERNAL_ERROR,
         "Damaged: its newest record is not JSON", NULL},
        {ERR_MORE, MCP_OK, RPC_INVALID_REQUEST, RPC_INVALID_REQUEST,
         "The call has to wait: send it outside a batch", NULL},
    };
    struct mcp_fault f = {.status = MCP_OK, .code = RPC_INTERNAL_ERROR,
                          .text = "Internal error",
                          .value = err == ERR_NOMEM ? STR("out of memory")
                                                    : str_of(err_name(err))};

    for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++)
        if (known[i].err == err)
            f = (struct mcp_fault){
                .status = is_modern(r) ? known[i].status : MCP_OK,
                .code = is_modern(r) ? known[i].modern : known[i].code,
                .text = known[i].text, .key = known[i].key,
                .value = r->target};
    f.raw = r->run.error;
    if (f.code == RPC_MISSING_CAPABILITY)
        f.caps = r->run.missing;
    if (r->run.why != NULL)
        f.text = r->run.why;
    if (r->call.why != NULL && err == ERR_INVALID) {
        f.text = r->call.why;
        f.value = STR_NONE;
    }
    return f;
}

static void
put_data(struct json_w *w, const struct mcp_fault *f)
{
    json_put_obj(w, "data");
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
put_fault(struct json_w *w, const struct mcp_fault *f)
{
    struct str about = utf8_cut(f->value, MAX_SHOWN);
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
    if (f->key != NULL || f->caps != 0)
        put_data(w, f);
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

const struct mcp_fault mcp_out_of_memory = {
    .code = RPC_INTERNAL_ERROR, .text = "Internal error: out of memory"};

void
mcp_no_memory(const struct mcp_message *m, struct buf *out)
{
    char next = '[';

    if (m->n == 0)
        mcp_put_error(STR_NONE, &mcp_out_of_memory, out);
    for (size_t i = 0; i < m->n; i++) {
        if (m->v[i].no_reply)
            continue;
        if (m->batch)
            buf_char(out, next);
        mcp_put_error(m->v[i].id, &mcp_out_of_memory, out);
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
                   "\"code\":%d,\"message\":\"Too many requests: ask again "
                   "in %u ms\",\"data\":{\"retryAfterMs\":%u}}}",
                   STR_ARG(json_raw(id)), RPC_TOO_MANY_REQUESTS, wait_ms,
                   wait_ms);
    arena_fini(&a);
    return asks && out->err == 0;
}
