/* tools_work - claim_task: taking up work.

   1. Whoever claims a task is answered with all of it, as it is by the event
      of the claim: the same again when the call is repeated with its key.
   2. Once a change is staged the answer does not fail: where there is no
      room for the task, the receipt has to do. */

#include "tools_int.h"
#include "view.h"

int
tools_run_claim(struct mcp_call *c)
{
    const struct tools *s = c->ctx;
    struct tools_change w;
    size_t start = c->out->len;
    int rc = tools_change(c, TOOL_CLAIM, TOOLS_ANSWER_MAX, &w);

    if (rc != 1)
        return rc;
    if (!w.r.id.p) {
        buf_printf(c->out, "{\"claimed\":false,\"message\":\"no task is "
                   "ready\"%s}", w.r.partial ? ",\"partial\":true" : "");
        return c->out->err;
    }
    rc = tools_get_event(s, &w.x, &w.args, w.r.seq, c->out);
    if (rc != 0 || c->out->err) {
        c->out->len = start;
        c->out->err = 0;
        view_receipt_json(c->out, &w.r);
    }
    if (c->out->err == 0)
        c->out->len--; /* its brace */
    buf_printf(c->out, ",\"claimed\":true,\"warnings\":%.*s}",
               STR_ARG(w.r.warnings.p ? w.r.warnings : STR("[]")));
    return c->out->err;
}
