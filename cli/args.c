/* args - the arguments of a tool, put together from the options and operands
   of a command, the change that is made with them, and what is printed of it.

   1. Arguments from standard input come before the options, so that the
      options win. */

#include "cli/args.h"
#include "store/remote.h"
#include "cli/call.h"
#include "cli/human.h"
#include "cli/id.h"
#include "cli/store.h"
#include "cli/text.h"
#include "base/clock.h"
#include "mcp/mcp.h"
#include "task/artifact.h"
#include "task/project.h"
#include "task/view.h"

#include <string.h>
#include <unistd.h>

#define MAX_INPUT (2 * 1024 * 1024) /* a state, escaped */

int
cli_args_input(struct cli *c, int fd, size_t max, struct str *out)
{
    char *p = arena_alloc(&c->a, max + 1);
    ssize_t n = p == NULL ? -1 : 1;

    for (*out = (struct str){p, 0}; n > 0 && out->len <= max;
         out->len += n > 0 ? (size_t)n : 0)
        n = read(fd, p + out->len, max + 1 - out->len);
    if (p == NULL)
        return ERR_NOMEM;
    return n < 0 ? ERR_IO : 0;
}

int
cli_args_object(struct cli *c, struct str text, const struct json_tok **root)
{
    int rc = json_parse(&c->a, text, root, NULL);

    if (rc == ERR_NOMEM)
        return cli_fail_store(c, rc);
    if (rc == 0 && (*root)->type == JSON_OBJECT)
        return 0;
    return cli_fail(c, ERR_INVALID, "standard input is not a JSON "
                    "object");
}

int
cli_args_read(struct cli *c, const struct json_tok **root)
{
    struct str text;
    int rc = cli_args_input(c, STDIN_FILENO, MAX_INPUT, &text);

    if (rc == ERR_NOMEM)
        return cli_fail_store(c, rc);
    if (rc != 0 || text.len > MAX_INPUT)
        text.len = 0;
    return cli_args_object(c, text, root);
}

void
cli_args_put(struct cli *c, const char *name, const char *value)
{
    if (value != NULL)
        json_put_z(&c->tool.w, name, value);
}

int
cli_arg_of(const struct env_opt *o)
{
    size_t from = offsetof(struct cli, arg);
    size_t to = from + TASK_N_ARGS * sizeof(union cli_value);

    if (o->at < from || o->at >= to)
        return -1;
    return (int)((o->at - from) / sizeof(union cli_value));
}

bool
cli_args_given(const struct cli *c, const struct env_opt *o)
{
    const void *at = (const char *)c + o->at;

    if (o->kind == OPT_FLAG)
        return *(const bool *)at;
    if (o->kind == OPT_NUMBER)
        return cli_arg_of(o) >= 0 && *(const uint64_t *)at != UINT64_MAX;
    return *(const char *const *)at != NULL; /* a list begins with it */
}

/* Puts the option that is own_agent, or all the others that were given, as the
   arguments that they stand for. */
static void
put_given_options(struct cli *c, bool own)
{
    const struct env_opt *o = c->cmd->opts;
    struct json_w *w = &c->tool.w;

    for (size_t n = c->cmd->n_opts; n > 0; n--, o++) {
        int arg = cli_arg_of(o);
        const union cli_value *v = &c->arg[arg >= 0 ? arg : 0];

        if (arg < 0 || !cli_args_given(c, o) || (o == c->own_agent) != own)
            continue;
        json_key_str(w, task_arg_name(arg));
        if (o->kind == OPT_LIST) {
            json_arr(w);
            /* An empty text is left out: one alone makes an empty list. */
            for (int i = 0; i < ENV_MAX_LIST && v->list[i] != NULL; i++)
                if (v->list[i][0] != '\0')
                    json_z(w, v->list[i]);
            json_close(w);
        } else if (o->kind == OPT_FLAG) {
            json_bool(w, v->flag);
        } else if (o->kind == OPT_NUMBER) {
            json_number(w, (int64_t)v->number);
        } else {
            json_z(w, v->text);
        }
    }
}

void
cli_args_begin(struct cli *c, const struct json_tok *input, const char *id)
{
    const struct json_tok *m = input;
    uint32_t n = input != NULL ? input->n : 0;
    struct json_w *w = &c->tool.w;

    c->tool = (struct cli_tool_args){.once = false};
    json_begin(w, &c->tool.b);
    put_given_options(c, true); /* input may name another agent */
    for (uint32_t i = 0; i < n; i++, m += m[1].span) {
        m++;
        json_key_str(w, json_str(&c->a, m));
        json_splice(w, json_raw(m + 1));
    }
    cli_args_put(c, "task_id", id);
    put_given_options(c, false);
    if (id != NULL)
        c->arg[F_TASK_ID].text = id; /* for cli_refuse_change */
}

bool
cli_args_others(const struct cli *c, const char *const *but)
{
    for (size_t i = 0; i < c->cmd->n_opts; i++) {
        const struct env_opt *o = &c->cmd->opts[i];
        const char *const *name = but;

        while (*name != NULL && strcmp(*name, o->name) != 0)
            name++;
        if (*name == NULL && cli_args_given(c, o))
            return true;
    }
    return false;
}

int
cli_args_store(struct cli *c, struct str content, struct task_blob *out)
{
    bool made;
    int rc;

    /* On a full disk the file would take what is left to others. */
    if (!cli_make_room(c))
        return cli_fail_store(c, ERR_FULL);
    *out = (struct task_blob){.stored = true, .size = content.len};
    rc = artifact_put(c->env->artifacts_dir, content, out->sha256, &made);
    if (rc != 0)
        return cli_fail_path(c, rc, c->env->artifacts_dir);
    rc = store_share(c->s.store, c->env->artifacts_dir, str_of(out->sha256),
                     REMOTE_PUT);
    return rc == 0 ? 0 : cli_fail(c, rc, "%s", store_content_why(c->s.store));
}

struct str
cli_args_end(struct cli *c)
{
    json_close(&c->tool.w);
    return buf_take(&c->tool.b, &c->a);
}

/* Begins x: a caller in the working directory. 0 or ERR_NOMEM. */
static int
begin_caller(struct cli *c, struct task_ctx *x)
{
    *x = (struct task_ctx){.a = &c->a, .at = c->env->project};
    return project_names(x->a, x->at, &x->who.repo);
}

int
cli_args_parse(struct cli *c, enum task_tool tool, struct task_ctx *x,
               struct task_args *out)
{
    struct str text = cli_args_end(c);
    const struct json_tok *root;

    /* json can read what it wrote, unless memory runs out. */
    if (begin_caller(c, x) != 0 || text.p == NULL ||
        json_parse(&c->a, text, &root, NULL) != 0)
        return cli_fail_store(c, ERR_NOMEM);
    return task_args_parse(x, tool, root, out) == 0
               ? 0 : cli_refuse_change(c, &x->e);
}

struct str
cli_args_join(struct cli *c, char **list)
{
    struct buf b = {0};

    for (; *list != NULL; list++)
        buf_printf(&b, "%s%s", b.len > 0 ? " " : "", *list);
    return buf_take(&b, &c->kept);
}

/* ---- changes ---- */

/* The option that sets an argument in this command; NULL: none. */
static const char *
option_of(const struct cli *c, struct str name)
{
    const struct env_opt *o = c->cmd->opts;

    for (size_t n = c->cmd->n_opts; n > 0; n--, o++)
        if (cli_arg_of(o) >= 0 && str_eq(task_arg_name(cli_arg_of(o)), name))
            return o->name;
    return NULL;
}

/* Whether the task was handed over to another agent than the caller. */
static bool
is_for_other(struct cli *c, const char *id)
{
    const char *agent = c->arg[ARG_AGENT].text;
    struct task k;

    return id != NULL && cli_task(c, id, &k) == 0 &&
           k.status == TASK_HANDOFF_READY && k.f[F_CURRENT_OWNER].p != NULL &&
           (agent == NULL || !str_eq(k.f[F_CURRENT_OWNER],
                                     raw_quote(&c->a, str_of(agent))));
}

#define TAKE_OVER "run \"mcptask claim ID --takeover --reason TEXT\""

/* The step that helps on the command line; NULL: the tool's own does. Each ID
   stands for that of the task. */
static const char *
next_step(struct cli *c, const struct task_error *e, const char *option,
          bool archived)
{
    const struct err_row *row = err_row(e->code);

    if (str_is(e->field, "answer"))
        return e->code == ERR_EXISTS ||
               str_find(e->message, STR("no open")) != SIZE_MAX
                   ? "to tell its agent more, run \"mcptask message ID TEXT\""
                   : "run \"mcptask show ID\" to see its questions";
    if (str_is(e->field, "not_before") && option == NULL)
        return "to make it ready, run \"mcptask edit ID --not-before ''\"";
    if (str_is(e->field, "not_before"))
        return NULL;
    if (e->deps_failed.p != NULL)
        return arena_printf(&c->a, "run \"mcptask reopen %.*s REASON\", or "
                            "omit it with \"mcptask edit ID --after OTHER\"",
                            STR_ARG(raw_inner(raw_list_next(e->deps_failed,
                                                            STR_NONE)))).p;
    if (e->code == ERR_TRANSITION && is_for_other(c, c->arg[F_TASK_ID].text))
        return "to claim it first, " TAKE_OVER;
    if (e->code == ERR_LEASE && c->person && !e->gone)
        return "to take it over, " TAKE_OVER "; to reach that agent, run "
               "\"mcptask message ID TEXT\"";
    if (e->gone || (str_is(e->field, "paths") && e->holder.p != NULL))
        return "to claim it anyway, " TAKE_OVER;
    if (e->code == ERR_EXISTS && archived)
        return "use another id";
    /* One that is not in the table knows the case. */
    return e->code == ERR_CYCLE && !str_is(e->next, row->next) ? NULL
                                                               : row->shell;
}

/* A step with the id of the task; .p NULL: no memory. */
static struct str
step_text(struct cli *c, const char *step, const char *id)
{
    struct str rest = str_of(step);
    struct buf b = {0};
    size_t at;

    while (id != NULL && (at = str_find(rest, STR(" ID"))) != SIZE_MAX) {
        buf_printf(&b, "%.*s %s", (int)at, rest.p, id);
        rest = str_from(rest, at + strlen(" ID"));
    }
    buf_str(&b, rest);
    return buf_take(&b, &c->a);
}

/* What a refusal names in brackets: the agent that holds the task, or the tasks
   that it waits for. */
static struct str
reason_text(struct cli *c, const struct task_error *e)
{
    struct str item = STR_NONE;
    struct buf b = {0};

    if (e->holder.p != NULL || e->deps_failed.p != NULL)
        return raw_text(&c->a, e->holder);
    while ((item = raw_list_next(e->blocked_by, item)).p != NULL)
        buf_printf(&b, "%s%.*s", b.len > 0 ? ", " : "",
                   STR_ARG(raw_inner(item)));
    return b.len > 0 ? buf_take(&b, &c->a) : STR_NONE;
}

/* Who holds the lease, and for how long; .p NULL if that is not the reason. */
static struct str
lease_reason(struct cli *c, const struct task_error *e)
{
    struct str who = raw_text(&c->a, e->holder);
    char left[24];
    int64_t ends;

    if (e->code != ERR_LEASE || !str_starts(e->message, "another agent ") ||
        who.p == NULL || !time_parse(raw_inner(e->expires), &ends))
        return STR_NONE;
    cli_span(left, ends - cli_now_ms(c));
    if (e->gone)
        return arena_printf(&c->a, "%.*s held it, but has exited",
                            STR_ARG(who));
    return arena_printf(&c->a, "%.*s is working on it, and its lease ends in "
                        "%s", STR_ARG(who), left);
}

#define TAKEN "%.*s took the task over: %.*s"

/* Prints who did something and why: members of a raw object, which may be
   absent. */
static void
say_of(struct cli *c, const char *fmt, struct str of, const char *who)
{
    struct str by = raw_text(&c->a, raw_member(of, who));
    struct str reason = raw_text(&c->a, raw_member(of, "reason"));

    if (of.p != NULL)
        cli_fail(c, 0, fmt, STR_ARG(by), STR_ARG(reason));
}

/* Prints what a receipt, a raw object, says besides the task: warnings, and
   what others told the owner. */
void
cli_say_receipt(struct cli *c, struct str receipt)
{
    struct str list = raw_member(receipt, "warnings"), item = STR_NONE;
    struct str id = raw_inner(raw_member(receipt, "task_id"));
    struct str from, text, seen;

    if (c->json || c->quiet)
        return;
    while ((item = raw_list_next(list, item)).p != NULL)
        if (!c->tty || !c->person ||
            !str_is(item, "\"done without test_results\""))
            cli_fail(c, 0, "%.*s: %.*s", STR_ARG(id),
                     STR_ARG(raw_text(&c->a, item)));
    list = raw_member(receipt, "messages");
    while ((item = raw_list_next(list, item)).p != NULL) {
        seen = raw_member(item, "seen");
        if (seen.p != NULL && !str_eq(seen, raw_member(receipt, "seq")))
            continue; /* of a claimed task: it was read before */
        from = raw_text(&c->a, raw_member(item, "from"));
        text = raw_text(&c->a, raw_member(item, "text"));
        cli_fail(c, 0, "message from %.*s: %.*s", STR_ARG(from),
                 STR_ARG(text));
    }
    say_of(c, "%.*s asks to stop: %.*s",
           raw_member(receipt, "cancel_requested"), "by");
    say_of(c, TAKEN, raw_member(receipt, "taken_over"), "by");
    if (raw_member(receipt, "renewed").p != NULL)
        cli_fail(c, 0, "already yours; lease renewed");
}

int
cli_refuse_change(struct cli *c, struct task_error *e)
{
    const char *id = c->arg[F_TASK_ID].text;
    bool archived = id != NULL && cli_is_archived(c, id);
    const char *option = option_of(c, e->field), *step;
    struct str holder = reason_text(c, e), text = e->message;
    struct str message, lease = lease_reason(c, e);

    if (!c->json)
        say_of(c, TAKEN, e->taken, "by");
    if (e->code == ERR_NOT_FOUND && id != NULL &&
        (archived || str_is(e->field, "task_id")))
        return cli_fail_task(c, e->code, id);
    if (option != NULL && e->field.len <= text.len &&
        memcmp(text.p, e->field.p, e->field.len) == 0)
        text = str_from(text, e->field.len);
    else
        option = NULL;
    if (lease.p != NULL) {
        text = lease;
        holder = STR_NONE;
    }
    message = arena_printf(&c->a, "%s%s%s%s%.*s%s%.*s%s", id ? id : "",
                           id ? ": " : "", option ? "--" : "",
                           option ? option : "", STR_ARG(text),
                           holder.p ? " (" : "", STR_ARG(holder),
                           holder.p ? ")" : "");
    if (message.p != NULL)
        e->message = message;
    step = next_step(c, e, option, archived);
    if (step != NULL)
        e->next = step_text(c, step, id);
    return cli_refuse(c, e);
}

int
cli_try_change(struct cli *c, enum task_tool tool, struct task_ctx *x,
               struct task_receipt *r)
{
    const struct task_blob *blob = c->tool.blob.stored ? &c->tool.blob : NULL;
    struct str text = cli_args_end(c);
    struct store *s = c->s.store;
    int done, rc;

    do {
        rc = store_locked(s) ? 0 : store_lock_patiently(s);
        if (begin_caller(c, x) != 0)
            text = STR_NONE;
        x->require_evidence = c->env->require_evidence;
        x->require_pass = c->env->require_pass;
        x->unread = c->quiet;
        x->who.ownership_warn = c->env->ownership_warn;
        x->who.person = c->person;
        x->who.session = c->session;
        x->who.client = c->client;
        x->who.is_same = mcp_session_is;
        if (rc != 0)
            return rc;
        rc = text.p == NULL
                 ? ERR_NOMEM
                 : task_change_text(c->s.tasks, x, tool, text, blob, r);
        if (rc == 0 && c->tool.stays)
            return 0;
        if (rc != 0 && rc != ERR_KEPT) /* that an agent is gone stays noted */
            store_unstage(s, 0);
        done = cli_commit(c, &x->e.unknown);
        rc = rc == 0 || done == ERR_AGAIN ? done : rc;
    } while (rc == ERR_AGAIN && !c->tool.once);
    return rc;
}

int
cli_report_change(struct cli *c, int rc, struct task_ctx *x)
{
    if (rc == 0)
        return 0;
    return x->e.code != 0 ? cli_refuse_change(c, &x->e) : cli_fail_store(c, rc);
}

int
cli_change(struct cli *c, enum task_tool tool, struct task_receipt *r)
{
    struct task_ctx x;
    int rc = cli_try_change(c, tool, &x, r);

    return cli_report_change(c, rc, &x);
}

int
cli_call(struct cli *c, enum task_tool tool, struct str *receipt)
{
    struct task_error e;
    int rc = call_tool(c, tool, cli_args_end(c), 0, receipt, &e);

    if (rc == 0 && e.code != 0)
        rc = cli_refuse_change(c, &e);
    if (rc == 0)
        cli_say_receipt(c, *receipt);
    return rc;
}

int
cli_change_and_tell(struct cli *c, enum task_tool tool)
{
    struct str receipt;
    struct task k;
    int rc = cli_call(c, tool, &receipt);

    if (rc != 0)
        return rc;
    if (c->json) {
        buf_str(&c->out, receipt);
        buf_char(&c->out, '\n');
        return 0;
    }
    receipt = raw_inner(raw_member(receipt, "task_id"));
    if (cli_task(c, arena_str(&c->a, receipt).p, &k) == 0)
        human_put_task(c, &k);
    return 0;
}
