/* cli_work - the commands with which people, and hooks of agents, work on
   tasks: claim, answer.

   Each makes one change as the tool of that name would, under the lock and
   with its commit, and tells of it only then. */

#include "cli.h"

#include "task_change.h"
#include "view.h"

#include <unistd.h>

/* The arguments of a tool in the making. */
struct call {
    struct buf b;
    struct json_w w;
};

static void
begin(struct call *l)
{
    *l = (struct call){0};
    json_w_init(&l->w, &l->b);
    json_obj(&l->w);
}

static void
put(struct call *l, const char *name, const char *value)
{
    if (value != NULL)
        json_put_z(&l->w, name, value);
}

/* Why a change was refused. */
static int
fail(struct cli *c, const struct task_error *e)
{
    struct buf b = {0};

    if (!c->json)
        return cli_fail(c, e->code, "%.*s%s%.*s", STR_ARG(e->message),
                        e->next.p ? ": " : "",
                        STR_ARG(e->next.p ? e->next : STR("")));
    view_error_json(&b, e);
    buf_char(&b, '\n');
    cli_say(STDERR_FILENO, &b);
    return cli_exit(e->code);
}

/* Ends the arguments and makes the change: 0, or an exit code, said. */
static int
change(struct cli *c, enum task_tool tool, struct call *l,
       struct task_receipt *r)
{
    struct task_ctx ctx = {.a = &c->a,
                           .require_evidence = c->env->require_evidence,
                           .ownership_warn = c->env->ownership_warn};
    struct str text;
    int rc, done;

    json_close(&l->w);
    text = arena_str(&c->a, buf_view(&l->b));
    rc = l->b.err || text.p == NULL ? ERR_NOMEM
                                    : store_lock_patiently(c->store);
    buf_fini(&l->b);
    if (rc != 0)
        return cli_fail_store(c, rc);
    rc = task_change_text(c->tasks, &ctx, tool, text, r);
    cli_settle(c);
    done = store_commit(c->store, &ctx.e.unknown);
    store_unlock(c->store);
    if (rc == 0 && done != 0)
        return cli_fail_store(c, done);
    return rc == 0 ? 0 : fail(c, &ctx.e);
}

int
cli_claim(struct cli *c, int argc, char **argv)
{
    const struct cli_args *a = &c->args;
    struct task_receipt r;
    struct call l;
    struct task k;
    int rc;

    if (a->agent == NULL)
        return cli_misuse(c, "--agent", "who claims it is missing: ");
    begin(&l);
    put(&l, "task_id", argc > 1 ? argv[1] : NULL);
    put(&l, "agent", a->agent);
    put(&l, "repo_path", a->repo);
    put(&l, "tag", a->tag);
    put(&l, "lease_seconds", a->lease);
    rc = change(c, TOOL_CLAIM, &l, &r);
    if (rc != 0)
        return rc;
    if (r.id.p == NULL)
        return cli_fail(c, ERR_NOT_FOUND, "no task is ready%s",
                        r.partial ? " among those that were looked at" : "");
    rc = task_get(c->tasks, &c->a, r.id, &k);
    if (rc != 0)
        return cli_fail_store(c, rc);
    cli_task(c, &k, !c->json);
    return CLI_OK;
}

int
cli_answer(struct cli *c, int argc, char **argv)
{
    struct task_receipt r;
    struct call l;
    int rc;

    begin(&l);
    put(&l, "task_id", argv[1]);
    put(&l, "agent", c->args.agent);
    json_key(&l.w, "answer");
    json_obj(&l.w);
    put(&l, "question_id", argc > 3 ? argv[2] : NULL);
    put(&l, "text", argv[argc - 1]);
    json_close(&l.w);
    rc = change(c, TOOL_UPDATE, &l, &r);
    if (rc != 0)
        return rc;
    if (c->json) {
        view_receipt_json(&c->out, &r);
        buf_char(&c->out, '\n');
    }
    return CLI_OK;
}
