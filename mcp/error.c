/* error - the errors of JSON-RPC that mcp answers with.

   The table of base/err.c has the code and text of each of our errors. */

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
put_fault_data(struct json_w *w, const struct mcp_fault *f)
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
        put_fault_data(w, f);
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
                   "\"code\":%d,\"message\":\"Too many requests: try again "
                   "in %u ms\",\"data\":{\"retryAfterMs\":%u}}}",
                   STR_ARG(json_raw(id)), RPC_TOO_MANY_REQUESTS, wait_ms,
                   wait_ms);
    arena_fini(&a);
    return asks && out->err == 0;
}
