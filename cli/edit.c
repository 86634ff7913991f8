/* edit - the commands with which a person creates and changes tasks: add,
   edit, done, fail, cancel, reopen, ask, message, attach. */

#include "cli/edit.h"
#include "cli/args.h"
#include "cli/call.h"
#include "cli/text.h"
#include "base/file.h"
#include "task/artifact.h"
#include "task/may.h"
#include "task/project.h"

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

int
cli_add(struct cli *c)
{
    struct str title = cli_args_join(c, c->operand);
    const struct project *at = c->env->project;
    const char **repo = &c->arg[F_REPO_PATH].text;

    /* A server does not know where a new task is asked for. */
    if (*repo == NULL && c->env->server != NULL && at != NULL &&
        at->root[0] != '\0')
        *repo = at->root;
    if (title.p == NULL)
        return cli_fail_store(c, ERR_NOMEM);
    cli_args_begin(c, NULL, NULL);
    json_put_str(&c->tool.w, "title", title);
    return cli_change_and_tell(c, TOOL_CREATE);
}

int
cli_edit(struct cli *c)
{
    static const char *const agent[] = {"agent", NULL};

    if (!cli_args_others(c, agent))
        return cli_misuse(c, "an option must say what to change");
    cli_args_begin(c, NULL, c->operand[0]);
    return cli_change_and_tell(c, TOOL_UPDATE);
}

/* Sets the status; the second operand, if there is one, is stored as what. */
static int
set_status(struct cli *c, const char *status, const char *what)
{
    cli_args_begin(c, NULL, c->operand[0]);
    cli_args_put(c, "status", status);
    cli_args_put(c, what, c->operand[1]);
    return cli_change_and_tell(c, TOOL_UPDATE);
}

int
cli_done(struct cli *c)
{
    return set_status(c, "done", "result");
}

int
cli_failed(struct cli *c)
{
    return set_status(c, "failed", "reason");
}

/* Asks the agent to stop whose lease runs; its next change tells it. */
static int
ask_to_stop(struct cli *c, struct str agent)
{
    struct str receipt;
    int rc;

    cli_args_begin(c, NULL, c->operand[0]);
    json_put_obj(&c->tool.w, "cancel_requested");
    cli_args_put(c, "reason", c->operand[1]);
    json_close(&c->tool.w);
    rc = cli_call(c, TOOL_UPDATE, &receipt);
    if (rc == 0)
        cli_tell(c, "{task_id}: asked {agent} to stop\n",
                 "task_id=%s agent=%.*s", c->operand[0], STR_ARG(agent));
    return rc;
}

int
cli_cancel(struct cli *c)
{
    struct task_actor who = {.name = STR_NONE};
    struct task_holder holder;
    struct task_error e;
    struct task k;
    int rc = cli_task(c, c->operand[0], &k, &e);

    if (rc > 0)
        return rc;
    if (c->arg[ARG_AGENT].text != NULL)
        who.name = raw_quote(&c->a, str_of(c->arg[ARG_AGENT].text));
    if (rc == 0) {
        holder = task_holder_of(&k);
        if (actor_hold(&who, &holder) == HOLD_OTHER)
            return ask_to_stop(c, raw_text(&c->a, holder.name));
    }
    return set_status(c, "cancelled", "reason");
}

int
cli_reopen(struct cli *c)
{
    return set_status(c, "open", "reason");
}

int
cli_ask(struct cli *c)
{
    cli_args_begin(c, NULL, c->operand[0]);
    cli_args_put(c, "question", c->operand[1]);
    return cli_change_and_tell(c, TOOL_ASK);
}

int
cli_message(struct cli *c)
{
    if (c->operand[1][0] == '\0')
        return cli_misuse(c, "TEXT is empty");
    cli_args_begin(c, NULL, c->operand[0]);
    cli_args_put(c, "message", c->operand[1]);
    return cli_change_and_tell(c, TOOL_UPDATE);
}

/* ---- attach ---- */

/* Reads the file, or standard input for "-". Returns 0, or an exit code after
   printing the error. */
static int
read_content(struct cli *c, const char *path, struct str *out)
{
    bool in = strcmp(path, "-") == 0;
    int fd = in ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC);
    int rc = fd < 0 ? ERR_IO : cli_args_input(c, fd, ARTIFACT_MAX, out);

    if (rc != 0)
        return rc == ERR_NOMEM ? cli_fail_store(c, rc)
                               : cli_fail_errno(c, ERR_INVALID, path);
    if (!in)
        close(fd);
    if (out->len > ARTIFACT_MAX)
        return cli_fail(c, ERR_TOO_LARGE, "%s: larger than %d bytes\nattach "
                        "a part of it", path, ARTIFACT_MAX);
    return 0;
}

static bool
ends_with(const char *path, const char *end)
{
    size_t n = strlen(path), m = strlen(end);

    return n >= m && strcmp(path + n - m, end) == 0;
}

/* The type that the name of a file tells; NULL: that of any file. */
static const char *
content_type(const char *name)
{
    if (ends_with(name, ".log"))
        return "log";
    return ends_with(name, ".diff") || ends_with(name, ".patch") ? "diff"
                                                                 : NULL;
}

int
cli_attach(struct cli *c)
{
    const char *path = c->operand[1], **name = &c->arg[ARG_NAME].text;
    struct str content;
    int rc = read_content(c, path, &content);

    if (*name == NULL)
        *name = file_name(path);
    if (rc == 0)
        rc = cli_args_attach(c, c->operand[0], content, content_type(*name));
    return rc != 0 ? rc : cli_change_and_tell(c, TOOL_ATTACH);
}
