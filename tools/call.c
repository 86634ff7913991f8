/* call - what the tools have in common: their arguments, held against
   one table, and their errors; a change made, and told of. */

#include "tools/call.h"
#include "json/raw.h"
#include "task/view.h"
#include "base/clock.h"

enum { LOG_WARNING = 4, LOG_DEBUG = 7 }; /* RFC 5424 */

int
tools_error(struct mcp_call *c, const struct task_error *e)
{
    c->is_error = true;
    view_error_json(c->out, e);
    return c->out->err;
}

int
tools_refuse(struct task_ctx *x, int code, const char *field,
             const char *message)
{
    return task_fail(&x->e, x->a, code, field, "%s", message);
}

int
tools_args(const struct mcp_call *c, struct task_ctx *x, enum task_tool tool,
           struct task_args *args)
{
    const struct tools *s = c->ctx;

    *x = (struct task_ctx){.a = c->arena, .principal = c->principal,
                           .require_evidence = s->env->require_evidence,
                           .ownership_warn = s->env->ownership_warn,
                           .read_max = c->read_max};
    return task_args_parse(x, tool, c->args, args);
}

void
tools_since(const struct task_args *args, int arg, struct task_query *q)
{
    q->since_n = task_arg_u64(args, arg, 0);
    if (!q->since_n)
        time_parse(raw_inner(args->v[arg]), &q->since_ms);
}

/* Tells of a change that took effect. */
static void
log_change(struct mcp_call *c, const struct task_receipt *r)
{
    struct str warnings = r->warnings.p ? r->warnings : STR("");
    struct str data = arena_printf(c->arena, "{\"task_id\":\"%.*s\","
        "\"version\":%llu,\"seq\":%llu,\"op\":\"%.*s\"%s%.*s}",
        STR_ARG(r->id), (unsigned long long)r->version,
        (unsigned long long)r->seq, STR_ARG(r->op),
        r->warnings.p ? ",\"warnings\":" : "", STR_ARG(warnings));

    if (data.p)
        mcp_log(c, r->warnings.p ? LOG_WARNING : LOG_DEBUG, "mcptask", data);
}

int
tools_change_by(struct mcp_call *c, struct task_ctx *x, enum task_tool tool,
                const struct task_args *args, const struct task_blob *blob,
                size_t room, struct task_receipt *r)
{
    const struct tools *s = c->ctx;
    uint64_t next = store_next_n(tasks_store(s->t));

    /* Once something is staged the answer must not fail for want of room. */
    if (!buf_room(c->out, room))
        return ERR_NOMEM;
    if (task_change(s->t, x, tool, args, blob, r) != 0)
        return tools_error(c, &x->e);
    if (r->seq == next) /* not what was done before, or needs no doing */
        log_change(c, r);
    return 1;
}

int
tools_change(struct mcp_call *c, enum task_tool tool, size_t room,
             struct tools_change *w)
{
    int rc = tools_args(c, &w->x, tool, &w->args);

    if (rc == 0 && c->read_only)
        rc = task_fail_store(&w->x.e, ERR_UNAUTHORIZED);
    if (rc != 0)
        return tools_error(c, &w->x.e);
    return tools_change_by(c, &w->x, tool, &w->args, NULL, room, &w->r);
}

size_t
tools_cost(struct str s)
{
    return s.len + json_quoted_len(s);
}
