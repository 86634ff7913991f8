/* list - list_tasks: its arguments as a question to the index, and as
   many of the tasks found as one answer holds. */

#include "tools/list.h"
#include "json/raw.h"
#include "task/view.h"

static enum task_ask
ask_of(const struct task_args *args, int arg)
{
    if (!args->v[arg].p)
        return TASK_EITHER;
    return task_arg_true(args, arg) ? TASK_YES : TASK_NO;
}

static void
query_of(struct task_ctx *x, const struct task_args *args,
         struct task_query *q)
{
#define TO(text) offsetof(struct task_query, text)
    static const struct {
        uint8_t to, arg;
    } texts[] = {
        {TO(owner), F_CURRENT_OWNER}, {TO(repo_path), F_REPO_PATH},
        {TO(tag), ARG_TAG}, {TO(parent_id), F_PARENT_ID},
        {TO(text), ARG_QUERY}, {TO(cursor), ARG_CURSOR},
    };
    int status = task_status_of(raw_inner(args->v[F_STATUS]));
    size_t i;

    *q = (struct task_query){.read_max = x->read_max};
    for (i = 0; i < sizeof texts / sizeof *texts; i++)
        *(struct str *)((char *)q + texts[i].to) =
            task_arg_text(x->a, args, texts[i].arg);
    q->status = status < 0 ? 0 : 1u << status;
    q->ready = ask_of(args, ARG_READY);
    q->stale = ask_of(args, ARG_STALE);
    q->needs_input = ask_of(args, ARG_NEEDS_INPUT);
    q->include_done = task_arg_true(args, ARG_INCLUDE_DONE);
    q->limit = (unsigned)task_arg_u64(args, ARG_LIMIT, 0);
    tools_since(args, ARG_CHANGED_SINCE, q);
}

/* Appends the summaries that fit into one answer; how many those are. */
static size_t
put_summaries(struct buf *out, const struct task_page *page)
{
    size_t used = TOOLS_ENVELOPE + 1024, i;

    for (i = 0; i < page->n; i++) {
        size_t start = out->len;

        buf_z(out, i ? "," : "");
        view_summary_json(out, &page->tasks[i]);
        used += tools_cost((struct str){out->p + start, out->len - start});
        if (used > TOOLS_ANSWER_MAX && i > 0) {
            out->len = start;
            break;
        }
    }
    return i;
}

void
tools_put_page(struct buf *out, const struct task_page *page)
{
    struct str next = page->next;
    size_t n;

    buf_z(out, "{\"tasks\":[");
    n = put_summaries(out, page);
    if (n < page->n)
        next = page->after[n - 1];
    buf_printf(out, "],\"head_seq\":%llu,\"%s\":%llu",
               (unsigned long long)page->head,
               page->exact ? "total" : "total_at_least",
               (unsigned long long)page->total);
    if (n < page->n)
        buf_z(out, ",\"truncated\":true");
    if (page->partial)
        buf_z(out, ",\"partial\":true");
    if (next.len) {
        buf_z(out, ",\"next_cursor\":");
        json_quote(out, next);
    }
    buf_char(out, '}');
}

int
tools_list(struct mcp_call *c)
{
    const struct tools *s = c->ctx;
    struct task_page page;
    struct task_args args;
    struct task_query q;
    struct task_ctx x;
    int rc;

    if (tools_args(c, &x, TOOL_LIST, &args) != 0)
        return tools_error(c, &x.e);
    query_of(&x, &args, &q);
    rc = tasks_list(s->t, c->arena, &q, &page);
    if (rc == 0) {
        tools_put_page(c->out, &page);
        return c->out->err;
    }
    if (rc == ERR_INVALID)
        tools_refuse(&x, rc, "cursor", "cursor is not one that "
                     "list_tasks gave");
    else
        task_fail_store(&x.e, rc);
    return tools_error(c, &x.e);
}
