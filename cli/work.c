/* work - the commands with which people, and the hooks of agents, work on
   tasks: claim, checkpoint, handoff, answer, wait.

   Each does the same as a tool, with the same arguments. Waiting takes no
   lock. */

#include "cli/work.h"
#include "cli/args.h"
#include "cli/show.h"
#include "cli/store.h"
#include "cli/text.h"
#include "task/claim.h"
#include "task/may.h"
#include "tools/look.h"
#include "task/view.h"
#include "base/clock.h"

#include <poll.h>
#include <string.h>

#define WAIT_MS 50    /* how often a wait checks for new records */
#define WAIT_LOOKS 20 /* then it counts what time alone may have changed */
#define MAX_WAIT_S 1000000000

/* ---- claim ---- */

/* Waits for a record, or for what a second may bring. Returns 1; 0 once it is
   later than until; or an error of cli_catch_up. */
static int
await_news(struct cli *c, int64_t until)
{
    uint64_t seen = store_next_n(c->s.store);
    int64_t left;
    int rc = 0;

    for (int n = 0; n < WAIT_LOOKS && rc == 0; n++) {
        left = until - clock_mono_ms();
        if (left <= 0)
            return 0;
        poll(NULL, 0, left < WAIT_MS ? (int)left : WAIT_MS);
        rc = cli_catch_up(c);
        if (store_next_n(c->s.store) != seen)
            break;
    }
    return rc != 0 ? rc : 1;
}

/* "; 12 are blocked by a b" */
static void
put_reasons(struct cli *c, struct buf *b, const char *what, uint64_t n,
            const struct task_reason *r)
{
    if (n > 0)
        buf_printf(b, "; %llu %s by", (unsigned long long)n, what);
    for (size_t i = 0; n > 0 && i < TASK_REASONS && r[i].who.p != NULL; i++)
        buf_printf(b, " %.*s", STR_ARG(raw_text(&c->a, r[i].who)));
}

/* Says why there is no task to claim. Returns the exit code. */
static int
fail_none(struct cli *c, const struct task_receipt *r)
{
    struct task_args args;
    struct task_want w;
    struct task_why why;
    struct task_ctx x;
    struct buf b = {0};
    int rc;

    cli_args_begin(c, NULL, NULL);
    rc = cli_args_parse(c, TOOL_CLAIM, &x, &args);
    if (rc != 0)
        return rc;
    w = task_want_of(&args);
    rc = tasks_why_none(c->s.tasks, &c->a, &w, &why);
    if (rc != 0)
        return cli_fail_store(c, rc);
    why.partial |= r->partial;
    if (c->json) {
        buf_z(&c->out, "{\"claimed\":false");
        view_why_json(&c->out, &why);
        buf_z(&c->out, "}\n");
    }
    put_reasons(c, &b, "blocked", why.blocked, why.blockers);
    put_reasons(c, &b, "held", why.held, why.holders);
    if (why.damaged > 0)
        buf_printf(&b, "; %llu damaged", (unsigned long long)why.damaged);
    rc = cli_fail(c, ERR_NOT_FOUND, "no task is ready%s%.*s",
                  r->partial ? " among those that were looked at" : "",
                  STR_ARG(buf_view(&b)));
    buf_fini(&b);
    return rc;
}

/* A claim that finds nothing is tried again at once where it has not read all
   tasks; with --wait, and if it loses, when there is news. */
int
cli_claim(struct cli *c)
{
    const char *reason = c->arg[ARG_REASON].text;
    uint64_t s = c->args.timeout;
    int64_t until = clock_mono_ms() + (s > MAX_WAIT_S ? 0 : (int64_t)s * 1000);
    struct task_receipt r;
    struct task_ctx x;
    struct task k;
    bool none;
    int rc;

    if (c->arg[ARG_TAKEOVER].flag && (reason == NULL || *reason == '\0'))
        return cli_misuse(c, "--takeover needs --reason");
    do {
        arena_reset(&c->a);
        cli_args_begin(c, NULL, c->operand[0]);
        rc = cli_try_change(c, TOOL_CLAIM, &x, &r);
        none = rc == 0 ? r.id.p == NULL : may_later(&x.e);
    } while (none && ((rc == 0 && r.more) || await_news(c, until) != 0));
    rc = cli_report_change(c, rc, &x, &r);
    if (rc != 0)
        return rc;
    if (none)
        return fail_none(c, &r);
    rc = task_get(c->s.tasks, &c->a, r.id, &k);
    if (rc != 0)
        return cli_fail_store(c, rc);
    cli_put_whole(c, &k, !c->json);
    if (c->json && r.renewed && c->out.err == 0) {
        c->out.len -= strlen("}\n");
        buf_z(&c->out, ",\"renewed\":true}\n");
    }
    return CLI_OK;
}

/* ---- checkpoint, handoff, answer ---- */

static int
save(struct cli *c, enum task_tool tool)
{
    const char *dash = c->operand[1];
    const struct json_tok *input = NULL;
    int rc;

    if (dash != NULL && strcmp(dash, "-") != 0)
        return cli_misuse(c, "unexpected operand: %s", dash);
    if (dash != NULL && (rc = cli_args_read(c, &input)) != 0)
        return rc;
    cli_args_begin(c, input, c->operand[0]);
    return cli_change_and_tell(c, tool);
}

int
cli_checkpoint(struct cli *c)
{
    return save(c, TOOL_CHECKPOINT);
}

int
cli_handoff(struct cli *c)
{
    return save(c, TOOL_HANDOFF);
}

/* After the task come the question, the text, or both. To decline or cancel
   needs no text. */
int
cli_answer(struct cli *c)
{
    const struct cli_args *a = &c->args;
    bool refuses = a->decline || a->cancel;
    int n = c->n_operands;

    if (a->decline && a->cancel)
        return cli_misuse(c, "--decline and --cancel exclude each other");
    if (n == 1 && !refuses)
        return cli_misuse(c, "TEXT is required");
    cli_args_begin(c, NULL, c->operand[0]);
    json_put_obj(&c->tool.w, "answer");
    cli_args_put(c, "question_id", n > 2 || refuses ? c->operand[1] : NULL);
    cli_args_put(c, "text", n > 2 || !refuses ? c->operand[n - 1] : NULL);
    cli_args_put(c, "action",
                 a->decline ? "decline" : a->cancel ? "cancel" : NULL);
    json_close(&c->tool.w);
    return cli_change_and_tell(c, TOOL_UPDATE);
}

/* ---- wait ---- */

/* Repeats a look until the condition is met, can no longer be met, or the time
   is over. Returns what look_take does, whose memory is in x->a. An error of
   cli_catch_up leaves x->e unchanged. */
static int
wait_for(struct cli *c, struct task_ctx *x, struct look *w)
{
    uint64_t s = c->args.timeout;
    int64_t until = s > MAX_WAIT_S ? INT64_MAX
                                   : clock_mono_ms() + (int64_t)s * 1000;
    int rc = look_take(w, x);

    while ((rc == LOOK_NOT_YET || rc == LOOK_MESSAGE) &&
           (rc = await_news(c, until)) > 0) {
        look_again(w);
        arena_reset(x->a);
        rc = look_take(w, x);
    }
    return rc;
}

static void
put_met(struct cli *c, const struct look *w, int outcome)
{
    if (c->json) {
        look_put(&c->out, w, outcome);
        buf_char(&c->out, '\n');
    } else if (w->task.ev.r.n != 0) {
        view_task_line(&c->out, &c->a, &w->task);
        if (outcome == LOOK_NEVER)
            cli_fail(c, 0, task_status_ended(w->task.status)
                         ? "the task has ended: it cannot happen any more"
                         : "a task that it depends on failed or was cancelled");
    }
}

/* A signal ends it like any program. */
int
cli_wait(struct cli *c)
{
    struct arena looks = {0};
    struct task_ctx x;
    struct task_args args;
    struct look w;
    int rc;

    if (c->operand[0] == NULL && c->arg[ARG_AGENT].text == NULL)
        return cli_misuse(c, "ID or --agent is required");
    cli_args_begin(c, NULL, c->operand[0]);
    rc = cli_args_parse(c, TOOL_WAIT, &x, &args);
    if (rc != 0)
        return rc;
    if (look_begin(c->s.tasks, &x, &args, store_next_n(c->s.store) - 1,
                   &w) != 0)
        return cli_refuse_change(c, &x.e);
    x.a = w.a = &looks;
    rc = wait_for(c, &x, &w);
    if (rc < 0) {
        rc = x.e.code != 0 ? cli_refuse_change(c, &x.e) : cli_fail_store(c, rc);
    } else {
        put_met(c, &w, rc);
        rc = rc == LOOK_MET ? CLI_OK : CLI_NOT_MET;
    }
    arena_fini(&looks);
    return rc;
}
