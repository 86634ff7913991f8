/* work - the commands with which people, and the hooks of agents, work on
   tasks: claim, checkpoint, handoff, answer, wait.

   Each does the same as a tool, with the same arguments: one table maps
   options to their names. A change is made and committed under the lock, and
   only then printed. Waiting takes no lock.

   1. Arguments from standard input come before the options, so that the
      options win. */

#include "cli/work.h"
#include "cli/show.h"
#include "cli/store.h"
#include "cli/text.h"
#include "task/change.h"
#include "tools/wait.h"
#include "task/view.h"
#include "base/clock.h"

#include <poll.h>
#include <string.h>
#include <unistd.h>

#define WAIT_MS 50    /* how often wait looks for new records */
#define WAIT_LOOKS 20 /* each such look also counts what time alone changed */
#define MAX_WAIT_S 1000000000
#define CHUNK (64 * 1024)
#define MAX_INPUT (2 * 1024 * 1024) /* a state, escaped */

/* ---- arguments ---- */

/* Reads standard input, a JSON object. Returns 0, or an exit code after
   printing the error. */
static int
read_input(struct cli *c, const struct json_tok **root)
{
    struct buf b = {0};
    struct str text;
    ssize_t n;
    char *p;
    int rc;

    do {
        p = buf_room(&b, CHUNK);
        n = p != NULL ? read(STDIN_FILENO, p, CHUNK) : 0;
        b.len += n > 0 ? (size_t)n : 0;
    } while (n > 0 && b.len <= MAX_INPUT);
    text = arena_str(&c->a, buf_view(&b));
    rc = b.err || text.p == NULL ? ERR_NOMEM
         : n != 0                ? ERR_SYNTAX
                                 : json_parse(&c->a, text, root, NULL);
    buf_fini(&b);
    if (rc == ERR_NOMEM)
        return cli_fail_store(c, rc);
    if (rc == 0 && (*root)->type == JSON_OBJECT)
        return 0;
    return cli_fail(c, ERR_INVALID, "standard input is not a JSON object");
}

/* The arguments of a tool, being written. */
struct args {
    struct buf b;
    struct json_w w;
};

static void
put(struct args *l, const char *name, const char *value)
{
    if (value != NULL)
        json_put_z(&l->w, name, value);
}

/* Begins with the members of input. input and id may be NULL. */
static void
begin(struct cli *c, struct args *l, const struct json_tok *input,
      const char *id)
{
#define ARG(member) offsetof(struct cli_args, member)
    static const struct {
        char name[14];
        uint16_t at;
    } words[] = {
        {"agent", ARG(agent)}, {"from_agent", ARG(from)},
        {"to_agent", ARG(to)}, {"reason", ARG(reason)},
        {"resume_prompt", ARG(resume_prompt)}, {"notes", ARG(notes)},
        {"repo_path", ARG(repo)}, {"tag", ARG(tag)},
        {"lease_seconds", ARG(lease)}, {"until", ARG(until)},
        {"since_seq", ARG(since_seq)},
    };
    const struct json_tok *m;
    uint32_t i, n = input != NULL ? input->n : 0;

    *l = (struct args){0};
    json_w_init(&l->w, &l->b);
    json_obj(&l->w);
    for (i = 0, m = input; i < n; i++, m += m[1].span) {
        m++;
        json_key_str(&l->w, json_str(&c->a, m));
        json_splice(&l->w, json_raw(m + 1));
    }
    put(l, "task_id", id);
    for (i = 0; i < sizeof(words) / sizeof(words[0]); i++)
        put(l, words[i].name,
            *(const char *const *)((const char *)&c->args + words[i].at));
}

/* Returns the finished text; .p is NULL if memory ran out. */
static struct str
end(struct cli *c, struct args *l)
{
    struct str text;

    json_close(&l->w);
    text = l->b.err ? STR_NONE : arena_str(&c->a, buf_view(&l->b));
    buf_fini(&l->b);
    return text;
}

/* ---- changes ---- */

/* Prints what others told the owner, if that is who makes the change. */
static void
say_words(struct cli *c, const struct task_receipt *r)
{
    struct str item, from, text;
    size_t at = 0;

    while ((item = raw_list_next(r->messages, &at)).p != NULL) {
        if (raw_u64(raw_member(item, "seen")) != r->seq)
            continue;
        from = raw_text(&c->a, raw_member(item, "from"));
        text = raw_text(&c->a, raw_member(item, "text"));
        cli_fail(c, 0, "message from %.*s: %.*s", STR_ARG(from),
                 STR_ARG(text));
    }
    if (r->stop.p != NULL) {
        from = raw_text(&c->a, raw_member(r->stop, "by"));
        text = raw_text(&c->a, raw_member(r->stop, "reason"));
        cli_fail(c, 0, "%.*s asks to stop: %.*s", STR_ARG(from),
                 STR_ARG(text));
    }
}

/* Ends the arguments and makes the change. Returns 0, or an exit code after
   printing the error. */
static int
change(struct cli *c, enum task_tool tool, struct args *l,
       struct task_receipt *r)
{
    struct task_ctx ctx = {.a = &c->a,
                           .require_evidence = c->env->require_evidence,
                           .ownership_warn = c->env->ownership_warn};
    struct str text = end(c, l), warning;
    size_t at = 0;
    int rc = text.p == NULL ? ERR_NOMEM : store_lock_patiently(c->s.store);
    int done;

    if (rc != 0)
        return cli_fail_store(c, rc);
    rc = task_change_text(c->s.tasks, &ctx, tool, text, r);
    done = cli_commit(c, &ctx.e.unknown);
    if (rc == 0 && done != 0)
        return cli_fail_store(c, done);
    if (rc != 0)
        return cli_refuse(c, &ctx.e);
    while (!c->json && (warning = raw_list_next(r->warnings, &at)).p != NULL)
        cli_fail(c, 0, "%.*s", STR_ARG(raw_text(&c->a, warning)));
    if (!c->json)
        say_words(c, r);
    return 0;
}

/* Like change, and prints the task. */
static int
change_and_tell(struct cli *c, enum task_tool tool, struct args *l)
{
    struct task_receipt r;
    struct task k;
    int rc = change(c, tool, l, &r);

    if (rc == 0 && c->json) {
        view_receipt_json(&c->out, &r);
        buf_char(&c->out, '\n');
    } else if (rc == 0 && task_get(c->s.tasks, &c->a, r.id, &k) == 0) {
        view_task_line(&c->out, &c->a, &k);
    }
    return rc;
}

int
cli_claim(struct cli *c)
{
    struct task_receipt r;
    struct args l;
    struct task k;
    int rc;

    if (c->args.agent == NULL)
        return cli_misuse(c, "--agent is required");
    begin(c, &l, NULL, c->operand[0]);
    rc = change(c, TOOL_CLAIM, &l, &r);
    if (rc != 0)
        return rc;
    if (r.id.p == NULL)
        return cli_fail(c, ERR_NOT_FOUND, "no task is ready%s",
                        r.partial ? " among those that were looked at" : "");
    rc = task_get(c->s.tasks, &c->a, r.id, &k);
    if (rc != 0)
        return cli_fail_store(c, rc);
    cli_put_whole(c, &k, !c->json);
    return CLI_OK;
}

static int
save(struct cli *c, enum task_tool tool)
{
    const char *dash = c->operand[1];
    const struct json_tok *input = NULL;
    struct args l;
    int rc;

    if (dash != NULL && strcmp(dash, "-") != 0)
        return cli_misuse(c, "unexpected operand: %s", dash);
    if (dash == NULL && c->args.agent == NULL && c->args.from == NULL)
        return cli_misuse(c, "--agent is required");
    if (dash != NULL && (rc = read_input(c, &input)) != 0)
        return rc;
    begin(c, &l, input, c->operand[0]);
    return change_and_tell(c, tool, &l);
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
    struct args l;

    if (a->decline && a->cancel)
        return cli_misuse(c, "--decline and --cancel exclude each other");
    if (n == 1 && !refuses)
        return cli_misuse(c, "TEXT is required");
    begin(c, &l, NULL, c->operand[0]);
    json_key(&l.w, "answer");
    json_obj(&l.w);
    put(&l, "question_id", n > 2 || refuses ? c->operand[1] : NULL);
    put(&l, "text", n > 2 || !refuses ? c->operand[n - 1] : NULL);
    put(&l, "action", a->decline ? "decline" : a->cancel ? "cancel" : NULL);
    json_close(&l.w);
    return change_and_tell(c, TOOL_UPDATE, &l);
}

/* ---- wait ---- */

/* Calls tools_wait_look until it is met or the time is up; the task lives in
   x->a. An error of store_follow leaves x->e unchanged. */
static int
wait_for(struct cli *c, struct task_ctx *x, const struct task_args *args,
         struct task *task)
{
    uint64_t since = store_next_n(c->s.store) - 1, seen = 0;
    uint64_t s = c->args.timeout;
    int64_t until = s > MAX_WAIT_S ? INT64_MAX
                                   : clock_mono_ms() + (int64_t)s * 1000;
    int64_t left;
    int rc = 0, n = 0;

    for (;;) {
        if ((rc = store_follow(c->s.store)) != 0)
            return rc;
        if (seen != store_next_n(c->s.store) || n++ % WAIT_LOOKS == 0) {
            seen = store_next_n(c->s.store);
            arena_reset(x->a);
            rc = tools_wait_look(c->s.tasks, x, args, since, task);
        }
        left = until - clock_mono_ms();
        if (rc != 0 || left <= 0)
            return rc;
        poll(NULL, 0, left < WAIT_MS ? (int)left : WAIT_MS);
    }
}

static void
put_met(struct cli *c, bool met, const struct task *k, struct str agent)
{
    if (c->json) {
        tools_put_met(&c->out, c->s.tasks, met, k, agent);
        buf_char(&c->out, '\n');
    } else if (k->ev.r.n != 0) {
        view_task_line(&c->out, &c->a, k);
    }
}

/* A signal ends it like any program. */
int
cli_wait(struct cli *c)
{
    struct arena looks = {0};
    struct task_ctx x = {.a = &c->a};
    const struct json_tok *root;
    struct task_args args;
    struct args l;
    struct task k;
    struct str text;
    int rc;

    begin(c, &l, NULL, c->operand[0]);
    text = end(c, &l);
    rc = text.p == NULL ? ERR_NOMEM : json_parse(&c->a, text, &root, NULL);
    if (rc != 0)
        return cli_fail_store(c, rc);
    if (task_args_parse(&x, TOOL_WAIT, root, &args) != 0)
        return cli_refuse(c, &x.e);
    x.a = &looks;
    rc = wait_for(c, &x, &args, &k);
    if (rc < 0) {
        rc = x.e.code != 0 ? cli_refuse(c, &x.e) : cli_fail_store(c, rc);
    } else {
        put_met(c, rc == 1, &k, args.v[ARG_AGENT]);
        rc = rc == 1 ? CLI_OK : CLI_NOT_MET;
    }
    arena_fini(&looks);
    return rc;
}
