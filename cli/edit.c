/* edit - the commands with which a person creates and changes tasks: add,
   edit, done, fail, cancel, reopen, ask, message, attach. */

#include "cli/edit.h"
#include "cli/args.h"
#include "cli/call.h"
#include "cli/editor.h"
#include "cli/id.h"
#include "cli/store.h"
#include "cli/text.h"
#include "base/base64.h"
#include "base/file.h"
#include "base/utf8.h"
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
        *repo = project_text(&c->kept, at->root).p;
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

    if (!cli_args_others(c, agent)) {
        if (cli_terminal(STDIN_FILENO) > 0 && cli_terminal(STDOUT_FILENO) > 0)
            return cli_edit_text(c, c->operand[0]);
        return cli_misuse(c, "nothing to change, give at least one option");
    }
    cli_args_begin(c, NULL, c->operand[0]);
    return cli_change_and_tell(c, TOOL_UPDATE);
}

/* ---- several tasks ---- */

/* Refuses to guess whether the id of a task among the words is one of the
   tasks, or a word. */
static int
refuse_guess(struct cli *c, const char *id, const char *what)
{
    return cli_fail(c, ERR_INVALID, "\"%s\" is the id of a task\nto change "
                    "several tasks, or to write of one in the %s, pass the %s "
                    "with -m", id, what, what);
}

/* Finds how many operands, from the first on, are tasks; the others are the
   words, which go to *words, with .p NULL if there are none. Returns 0, or an
   exit code after printing the error. */
static int
split_operands(struct cli *c, const char *what, int *n, struct str *words)
{
    const char *id = NULL;
    int rc = 0, ids = 1;
    bool known;

    *words = c->args.words != NULL ? str_of(c->args.words) : STR_NONE;
    *n = c->n_operands;
    if (c->args.words != NULL)
        return 0;
    for (int i = 1; rc == 0 && i < c->n_operands; i++) {
        rc = cli_knows_id(c, c->operand[i], &known);
        id = known ? c->operand[i] : id;
        ids += known;
    }
    if (rc != 0 || ids == c->n_operands)
        return rc;
    if (ids > 1 &&
        !cli_confirm(c, "\"%s\" is the id of a task; is it a word of the %s of "
                     "%s?", id, what, c->operand[0]))
        return refuse_guess(c, id, what);
    *n = 1;
    *words = cli_args_join(c, c->operand + 1);
    return words->p != NULL ? 0 : cli_fail_store(c, ERR_NOMEM);
}

/* Sets the status of a task; words, if there are any, are stored as what. */
static int
set_status(struct cli *c, const char *id, const char *status, const char *what,
           struct str words)
{
    cli_args_begin(c, NULL, id);
    cli_args_put(c, "status", status);
    if (words.p != NULL)
        json_put_str(&c->tool.w, what, words);
    return cli_change_and_tell(c, TOOL_UPDATE);
}

/* The exit code of two changes: that of the worse one. */
static int
worse_exit(int a, int b)
{
    static const int rank[] = {[CLI_OK] = 0, [CLI_NOT_MET] = 1,
                               [CLI_USAGE] = 2, [CLI_CONFLICT] = 3,
                               [CLI_STORE] = 4};

    return rank[a] >= rank[b] ? a : b;
}

/* Asks the agent to stop whose lease runs; its next change tells it. */
static int
ask_to_stop(struct cli *c, const char *id, struct str agent, struct str words)
{
    struct str receipt;
    int rc;

    cli_args_begin(c, NULL, id);
    json_put_obj(&c->tool.w, "cancel_requested");
    if (words.p != NULL)
        json_put_str(&c->tool.w, "reason", words);
    json_close(&c->tool.w);
    rc = cli_call(c, TOOL_UPDATE, &receipt);
    if (rc == 0)
        cli_tell(c, "{task_id}: asked {agent} to stop\n",
                 "task_id=%s agent=%.*s", id, STR_ARG(agent));
    return rc;
}

static int
ask_or_cancel(struct cli *c, const char *id, struct str words)
{
    struct task_actor who = {.name = STR_NONE};
    struct task_holder holder;
    struct task k;
    int rc = cli_task(c, id, &k);

    if (rc > 0)
        return rc;
    if (c->arg[ARG_AGENT].text != NULL)
        who.name = raw_quote(&c->a, str_of(c->arg[ARG_AGENT].text));
    if (rc == 0) {
        holder = task_holder_of(&k);
        if (actor_hold(&who, &holder) == HOLD_OTHER)
            return ask_to_stop(c, id, raw_text(&c->a, holder.name), words);
    }
    return set_status(c, id, "cancelled", "reason", words);
}

/* Changes each of the tasks, and prints of each what became of it. needs: the
   words must be there. */
static int
change_each(struct cli *c, const char *status, const char *what, bool needs)
{
    struct str words;
    int n, rc = split_operands(c, what, &n, &words);
    int worst = CLI_OK;

    if (rc != 0)
        return rc;
    if (needs && words.p == NULL)
        return cli_misuse(c, n > 1 ? "REASON is missing, with -m"
                                   : "REASON is missing");
    for (int i = 0; i < n; i++) {
        arena_reset(&c->a);
        rc = status != NULL
                 ? set_status(c, c->operand[i], status, what, words)
                 : ask_or_cancel(c, c->operand[i], words);
        worst = worse_exit(worst, rc);
    }
    return worst;
}

int
cli_done(struct cli *c)
{
    return change_each(c, "done", "result", false);
}

int
cli_failed(struct cli *c)
{
    return change_each(c, "failed", "reason", true);
}

int
cli_reopen(struct cli *c)
{
    return change_each(c, "open", "reason", true);
}

int
cli_cancel(struct cli *c)
{
    return change_each(c, NULL, "reason", false);
}

/* ---- a text ---- */

/* Begins the arguments for the task, with the words after it as the text
   name. Returns 0, or an exit code after printing the error. */
static int
begin_words(struct cli *c, const char *name)
{
    struct str words = cli_args_join(c, c->operand + 1);

    if (words.p == NULL)
        return cli_fail_store(c, ERR_NOMEM);
    cli_args_begin(c, NULL, c->operand[0]);
    json_put_str(&c->tool.w, name, words);
    return 0;
}

int
cli_ask(struct cli *c)
{
    int rc = begin_words(c, "question");

    return rc != 0 ? rc : cli_change_and_tell(c, TOOL_ASK);
}

int
cli_message(struct cli *c)
{
    int rc;

    if (c->operand[1][0] == '\0')
        return cli_misuse(c, "TEXT is empty");
    rc = begin_words(c, "message");
    return rc != 0 ? rc : cli_change_and_tell(c, TOOL_UPDATE);
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
    struct buf b = {0};
    int rc = read_content(c, path, &content);

    if (rc != 0)
        return rc;
    /* On a full disk the file would take what is left to others. */
    if (c->env->server == NULL && !cli_make_room(c))
        return cli_fail_store(c, ERR_FULL);
    if (*name == NULL)
        *name = file_name(path);
    cli_args_begin(c, NULL, c->operand[0]);
    cli_args_put(c, "type", content_type(*name));
    if (utf8_is_valid(content)) {
        json_put_str(&c->tool.w, "content", content);
    } else {
        base64_encode(&b, content);
        json_put_str(&c->tool.w, "content", buf_view(&b));
        json_put_z(&c->tool.w, "encoding", "base64");
        c->tool.b.err |= b.err;
        buf_fini(&b);
    }
    return cli_change_and_tell(c, TOOL_ATTACH);
}
