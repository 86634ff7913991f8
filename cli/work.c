/* work - the commands that create and change tasks, and those that ask and
   wait: add, edit, claim, checkpoint, handoff, attach, done, fail, cancel,
   reopen; ask, answer, message, wait.

   Each calls a tool with its own arguments, and shows the answer. */

#include "cli/work.h"
#include "cli/args.h"
#include "cli/call.h"
#include "cli/editor.h"
#include "cli/human.h"
#include "cli/id.h"
#include "cli/plan.h"
#include "cli/show.h"
#include "cli/store.h"
#include "cli/text.h"
#include "base/base64.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/utf8.h"
#include "task/artifact.h"
#include "task/claim.h"
#include "task/may.h"
#include "task/project.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define WAIT_S 50 /* the most that the tools wait */
#define QUESTION_SHOWN 60 /* bytes of each of several questions */

/* ---- add, edit ---- */

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
    if (str_is(title, "-"))
        return cli_add_list(c);
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

/* ---- claim ---- */

/* "; 12 blocked by a, b", if the answer says so. */
static void
put_blockers(struct cli *c, struct buf *b, struct str answer, const char *what,
             const char *list, const char *who)
{
    struct str n = raw_member(answer, what), item = STR_NONE;
    const char *before = " by ";
    bool exited;

    if (n.p != NULL)
        buf_printf(b, "; %.*s %s", STR_ARG(n), what);
    while ((item = raw_list_next(raw_member(answer, list), item)).p != NULL) {
        exited = raw_member(item, "agent_gone").p != NULL;
        buf_printf(b, "%s%.*s%s", before,
                   STR_ARG(raw_text(&c->a, raw_member(item, who))),
                   exited ? " (exited)" : "");
        before = ", ";
    }
}

/* Shows the answer of claim_task that there is no task to claim: "no task is
   ready; 12 blocked by a, b; t-1 was left by codex, exited 20 s ago", then what
   helps. Returns the exit code. */
static int
show_none(struct cli *c, struct str answer)
{
    struct str damaged = raw_member(answer, "damaged");
    struct str later = raw_member(answer, "later");
    struct str waiting = raw_member(answer, "waiting");
    struct str elsewhere = raw_member(answer, "elsewhere");
    struct str held = raw_member(answer, "you_hold");
    struct str message = raw_text(&c->a, raw_member(answer, "message"));
    struct str what = str_cut(&message, ';'); /* the rest is for agents */
    struct str list = raw_member(answer, "could_claim"), item = STR_NONE, id;
    struct buf b = {0}, next = {0};
    int rc;

    if (c->json) {
        buf_str(&c->out, answer);
        /* What else the agent holds is for models; a server's answer is as it
           came. */
        if (held.p != NULL && c->env->server == NULL && c->out.err == 0) {
            c->out.len -= (size_t)(str_end(answer) - held.p) +
                          strlen(",\"you_hold\":");
            buf_str(&c->out, str_from(answer, (size_t)(str_end(held) -
                                                       answer.p)));
        }
        buf_char(&c->out, '\n');
    }
    put_blockers(c, &b, answer, "blocked", "blocked_by", "task_id");
    put_blockers(c, &b, answer, "held", "held_by", "agent");
    if (later.p != NULL)
        buf_printf(&b, "; %.*s for later, from %.*s on", STR_ARG(later),
                   STR_ARG(raw_text(&c->a, raw_member(answer, "later_from"))));
    if (waiting.p != NULL)
        buf_printf(&b, "; %.*s waiting for parts or a parent",
                   STR_ARG(waiting));
    if (damaged.p != NULL)
        buf_printf(&b, "; %.*s damaged", STR_ARG(damaged));
    while ((item = raw_list_next(list, item)).p != NULL)
        buf_printf(&b, "; %.*s was %.*s",
                   STR_ARG(raw_text(&c->a, raw_member(item, "task_id"))),
                   STR_ARG(raw_text(&c->a, raw_member(item, "was"))));
    if (raw_list_n(list) > 0) {
        id = raw_list_n(list) == 1
                 ? raw_text(&c->a, raw_member(raw_list_next(list, STR_NONE),
                                              "task_id")) : STR("ID");
        buf_printf(&next, "if that agent will not come, run \"mcptask claim "
                   "%.*s --takeover --reason TEXT\"", STR_ARG(id));
    } else if (elsewhere.p != NULL) {
        buf_printf(&next, "%.*s ready in other projects; use --any-repo, or "
                   "--repo", STR_ARG(elsewhere));
        list = raw_member(answer, "elsewhere_in");
        while ((item = raw_list_next(list, item)).p != NULL)
            buf_printf(&next, " %.*s", STR_ARG(raw_text(&c->a,
                                       raw_member(item, "repo_path"))));
    } else {
        buf_z(&next, "run \"mcptask board\" to see what tasks wait for");
    }
    rc = cli_fail(c, ERR_NOT_FOUND, "%.*s%.*s\n%.*s",
                  STR_ARG(what), STR_ARG(buf_view(&b)),
                  STR_ARG(buf_view(&next)));
    buf_fini(&b);
    buf_fini(&next);
    return rc;
}

/* How long a call of a tool may wait: what is left until then. */
static unsigned
wait_s_until(int64_t until)
{
    int64_t left = until - clock_mono_ms();

    if (left <= 0)
        return 0;
    return left < WAIT_S * 1000 ? (unsigned)((left + 999) / 1000)
                                       : WAIT_S;
}

/* One that finds nothing, or loses, waits a part of the time in each call. */
int
cli_claim(struct cli *c)
{
    const char *reason = c->arg[ARG_REASON].text;
    uint64_t s = c->args.timeout;
    int64_t until = clock_mono_ms() + (s == UINT64_MAX ? 0 : (int64_t)s * 1000);
    struct task_error e;
    struct str answer, id;
    struct task k;
    bool none, renewed;
    unsigned wait_s;
    int rc;

    if (c->arg[ARG_TAKEOVER].flag && (reason == NULL || *reason == '\0'))
        return cli_misuse(c, "--takeover needs --reason");
    do {
        arena_reset(&c->a);
        wait_s = wait_s_until(until);
        cli_args_begin(c, NULL, c->operand[0]);
        json_put_int(&c->tool.w, "wait_seconds", wait_s);
        rc = call_tool(c, TOOL_CLAIM, cli_args_end(c), wait_s, &answer, &e);
        if (rc != 0)
            return rc;
        none = e.code == 0 ? str_is(raw_member(answer, "claimed"), "false")
                           : may_later(&e);
    } while (none && wait_s_until(until) > 0);
    if (e.code != 0)
        return cli_refuse_change(c, &e);
    if (none)
        return show_none(c, answer);
    cli_say_receipt(c, answer);
    renewed = raw_member(answer, "renewed").p != NULL;
    id = arena_str(&c->a, raw_inner(raw_member(answer, "task_id")));
    if (id.p == NULL)
        return cli_fail_store(c, ERR_NOMEM);
    rc = cli_task(c, id.p, &k);
    if (rc != 0)
        return rc > 0 ? rc : cli_fail_task(c, rc, id.p);
    cli_put_whole(c, &k, !c->json);
    if (c->json && renewed && c->out.err == 0) {
        c->out.len -= strlen("}\n");
        buf_z(&c->out, ",\"renewed\":true}\n");
    }
    return CLI_OK;
}

/* ---- checkpoint, handoff ---- */

static int
save(struct cli *c, enum task_tool tool)
{
    const char *dash = c->operand[1];
    const struct json_tok *input = NULL;
    int rc;

    if (dash != NULL && strcmp(dash, "-") != 0)
        return cli_misuse(c, "unexpected argument \"%s\"", dash);
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

/* ---- attach ---- */

static bool
ends_with(const char *path, const char *end)
{
    size_t n = strlen(path), m = strlen(end);

    return n >= m && strcmp(path + n - m, end) == 0;
}

int
cli_attach(struct cli *c)
{
    const char *path = c->operand[1], *name = c->arg[ARG_NAME].text;
    bool in = strcmp(path, "-") == 0;
    int fd = in ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC);
    struct task_blob blob;
    struct str content;
    struct buf b = {0};
    int rc = fd < 0 ? ERR_IO : cli_args_input(c, fd, ARTIFACT_MAX, &content);

    if (rc != 0)
        return rc == ERR_NOMEM ? cli_fail_store(c, rc)
                               : cli_fail_errno(c, ERR_INVALID, path);
    if (!in)
        close(fd);
    if (content.len > ARTIFACT_MAX)
        return cli_fail(c, ERR_TOO_LARGE, "%s: larger than %d bytes\nattach "
                        "a part of it", path, ARTIFACT_MAX);
    if (c->env->server == NULL && !cli_make_room(c))
        return cli_fail_store(c, ERR_FULL);
    /* The tool finds it there; only this waits until other hosts have it. */
    if (c->env->server == NULL && c->env->remote != NULL)
        rc = cli_args_store(c, content, &blob);
    if (rc != 0)
        return rc;
    if (name == NULL)
        name = c->arg[ARG_NAME].text = file_name(path);
    cli_args_begin(c, NULL, c->operand[0]);
    if (ends_with(name, ".log"))
        cli_args_put(c, "type", "log");
    else if (ends_with(name, ".diff") || ends_with(name, ".patch"))
        cli_args_put(c, "type", "diff");
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

/* ---- done, fail, cancel, reopen: several tasks ---- */

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

/* Cancels a task; but the agent whose lease runs is asked to stop, as its next
   change tells it. */
static int
ask_or_cancel(struct cli *c, const char *id, struct str words)
{
    struct task_actor who = {.name = STR_NONE};
    struct task_holder holder = {.name = STR_NONE};
    struct str receipt;
    struct task k;
    int rc = cli_task(c, id, &k);

    if (rc > 0)
        return rc;
    if (c->arg[ARG_AGENT].text != NULL)
        who.name = raw_quote(&c->a, str_of(c->arg[ARG_AGENT].text));
    if (rc == 0)
        holder = task_holder_of(&k);
    if (rc != 0 || actor_hold(&who, &holder) != HOLD_OTHER)
        return set_status(c, id, "cancelled", "reason", words);
    cli_args_begin(c, NULL, id);
    json_put_obj(&c->tool.w, "cancel_requested");
    if (words.p != NULL)
        json_put_str(&c->tool.w, "reason", words);
    json_close(&c->tool.w);
    rc = cli_call(c, TOOL_UPDATE, &receipt);
    if (rc == 0)
        cli_tell(c, "{task_id}: asked {agent} to stop\n",
                 "task_id=%s agent=%.*s", id,
                 STR_ARG(raw_text(&c->a, holder.name)));
    return rc;
}

/* Changes each of the tasks among the operands, and prints of each what became
   of it; the others are the words, which needs says must be there. Does not
   guess whether the id of a task among the words is one of the tasks. Returns
   the exit code of the worst change. */
static int
change_each(struct cli *c, const char *status, const char *what, bool needs)
{
    static const int rank[] = {[CLI_OK] = 0, [CLI_NOT_MET] = 1,
                               [CLI_USAGE] = 2, [CLI_CONFLICT] = 3,
                               [CLI_STORE] = 4};
    struct str words = STR_NONE;
    const char *id = NULL;
    int n = c->n_operands, ids = 1, rc = 0, worst = CLI_OK;
    bool known;

    if (c->args.words != NULL)
        words = str_of(c->args.words);
    for (int i = 1; rc == 0 && words.p == NULL && i < n; i++) {
        rc = cli_knows_id(c, c->operand[i], &known);
        id = known ? c->operand[i] : id;
        ids += known;
    }
    if (rc != 0)
        return rc;
    if (words.p == NULL && ids < n) {
        if (ids > 1 &&
            !cli_confirm(c, "\"%s\" is the id of a task; is it a word of the "
                         "%s of %s?", id, what, c->operand[0]))
            return cli_fail(c, ERR_INVALID, "\"%s\" is the id of a task\nto "
                            "change several tasks, or to write of one in the "
                            "%s, pass the %s with -m", id, what, what);
        n = 1;
        words = cli_args_join(c, c->operand + 1);
        if (words.p == NULL)
            return cli_fail_store(c, ERR_NOMEM);
    }
    if (needs && words.p == NULL)
        return cli_misuse(c, n > 1 ? "REASON is missing, with -m"
                                   : "REASON is missing");
    for (int i = 0; i < n; i++) {
        arena_reset(&c->a);
        rc = status != NULL
                 ? set_status(c, c->operand[i], status, what, words)
                 : ask_or_cancel(c, c->operand[i], words);
        worst = rank[rc] > rank[worst] ? rc : worst;
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

/* ---- ask, answer, message ---- */

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

/* Prints that an answer needs the id of its question, and the ids. */
static int
refuse_unclear(struct cli *c, const struct task *k)
{
    struct task_error e = {.code = ERR_INVALID, .field = STR("answer")};
    const char *id = c->operand[0];
    struct str item = STR_NONE, first = STR_NONE, one;
    struct buf b = {0};
    size_t n = 0;

    while ((item = human_open_question(k, item)).p != NULL) {
        one = raw_inner(raw_member(item, "question_id"));
        first = first.p != NULL ? first : one;
        buf_printf(&b, "%s%.*s %.*s", n++ > 0 ? "; " : "", STR_ARG(one),
                   STR_ARG(utf8_cut(raw_text(&c->a, raw_member(item,
                                    "question")), QUESTION_SHOWN)));
    }
    e.message = arena_printf(&c->a, "%s: %zu questions are open: %.*s", id, n,
                             STR_ARG(buf_view(&b)));
    e.next = arena_printf(&c->a, "run \"mcptask answer %s %.*s TEXT\", with "
                          "the id of one", id, STR_ARG(first));
    buf_fini(&b);
    return cli_refuse(c, &e);
}

/* Prints the answers that a question can have, numbered as human_question
   does. */
static int
refuse_answer(struct cli *c, const char *question, struct str text,
              struct str answers)
{
    struct task_error e = {.code = ERR_INVALID, .field = STR("answer")};
    const char *id = c->operand[0];
    struct str item = STR_NONE;
    struct buf b = {0};

    for (size_t n = 1; (item = raw_list_next(answers, item)).p != NULL; n++)
        buf_printf(&b, "%s%zu) %.*s", n > 1 ? "  " : "", n,
                   STR_ARG(raw_text(&c->a, item)));
    e.message = arena_printf(&c->a, "%s: \"%.*s\" is none of the answers: %.*s",
                             id, STR_ARG(text), STR_ARG(buf_view(&b)));
    e.next = arena_printf(&c->a, "pass a number or one of these texts, for "
                          "example run \"mcptask answer %s %s%s1\"", id,
                          question != NULL ? question : "",
                          question != NULL ? " " : "");
    buf_fini(&b);
    return cli_refuse(c, &e);
}

/* Takes the number of an answer for the answer, as human_question shows them,
   and refuses what is none of them. id, of the question, may be NULL if only
   one is open; it is set with a number, so that this never answers a later
   question. Returns 0, or an exit code after printing the error. */
static int
take_answer(struct cli *c, const char **id, struct str *text)
{
    struct str asked, answers, answer = STR_NONE;
    struct task k;
    char *end;
    unsigned long n;
    int rc = cli_task(c, c->operand[0], &k);

    if (rc != 0)
        return rc > 0 ? rc : 0; /* the change tells why there is no task */
    asked = human_open_question(&k, STR_NONE);
    if (*id != NULL)
        asked = raw_list_find(k.f[F_QUESTIONS], "question_id",
                              raw_quote(&c->a, str_of(*id)));
    else if (human_open_question(&k, asked).p != NULL)
        return refuse_unclear(c, &k);
    answers = human_answers(asked);
    if (raw_member(asked, "answer").p != NULL || raw_list_n(answers) == 0 ||
        task_status_ended(k.status) ||
        raw_list_has(answers, raw_quote(&c->a, *text)))
        return 0;
    n = strtoul(text->p, &end, 10);
    if (*end == '\0' && n <= raw_list_n(answers))
        for (; n > 0; n--)
            answer = raw_list_next(answers, answer);
    if (answer.p == NULL)
        return refuse_answer(c, *id, *text, answers);
    *text = arena_str(&c->kept, raw_text(&c->a, answer));
    *id = arena_str(&c->kept, raw_inner(raw_member(asked, "question_id"))).p;
    return *id != NULL && text->p != NULL ? 0 : cli_fail_store(c, ERR_NOMEM);
}

/* After the task come the question, the text, or both. To decline or cancel
   needs no text. A word is the question if it is one of the task's, or looks
   like one, and is not all of a text that is needed. */
int
cli_answer(struct cli *c)
{
    const struct cli_args *a = &c->args;
    const char *action = a->cancel ? "cancel" : NULL;
    bool refuses = a->decline || a->cancel, asked = false;
    int n = c->n_operands, least = refuses ? 1 : 2, rc = 0;
    const char *question = c->operand[1];
    struct str text;
    struct task k;

    if (a->decline && a->cancel)
        return cli_misuse(c, "--decline and --cancel exclude each other");
    if (n == 1 && !refuses)
        return cli_misuse(c, "ANSWER is missing");
    if (n > least)
        asked = question[0] == 'q' && question[1] != '\0' &&
                question[1 + strspn(question + 1, "0123456789")] == '\0';
    if (n > least && !asked && (rc = cli_task(c, c->operand[0], &k)) == 0)
        asked = raw_list_find(k.f[F_QUESTIONS], "question_id",
                              raw_quote(&c->a, str_of(question))).p != NULL;
    if (rc > 0) /* else the change tells why there is no task */
        return rc;
    text = cli_args_join(c, c->operand + (n > 1) + asked);
    if (text.p == NULL)
        return cli_fail_store(c, ERR_NOMEM);
    question = asked ? question : NULL;
    if (!refuses && (rc = take_answer(c, &question, &text)) != 0)
        return rc;
    cli_args_begin(c, NULL, c->operand[0]);
    json_put_obj(&c->tool.w, "answer");
    cli_args_put(c, "question_id", question);
    if (n > 1 + asked)
        json_put_str(&c->tool.w, "text", text);
    cli_args_put(c, "action", a->decline ? "decline" : action);
    json_close(&c->tool.w);
    return cli_change_and_tell(c, TOOL_UPDATE);
}

/* ---- wait ---- */

/* Waits a part of the time in each call. What has already happened counts in
   each of them; only a change has to be one since the first call. A signal ends
   it like any program. */
int
cli_wait(struct cli *c)
{
    uint64_t s = c->args.timeout;
    int64_t until = s == UINT64_MAX ? INT64_MAX
                                    : clock_mono_ms() + (int64_t)s * 1000;
    const char *what = c->arg[ARG_UNTIL].text;
    bool change = c->arg[ARG_SINCE_SEQ].number == UINT64_MAX &&
                  (what == NULL || strcmp(what, "change") == 0);
    struct task_error e;
    struct str answer, raw;
    struct task k;
    bool met, never;
    unsigned wait_s;
    uint64_t seq = 0;
    int rc;

    if (c->operand[0] == NULL && c->arg[ARG_AGENT].text == NULL)
        return cli_misuse(c, "ID or --agent is missing");
    do {
        arena_reset(&c->a);
        wait_s = wait_s_until(until);
        cli_args_begin(c, NULL, c->operand[0]);
        json_put_int(&c->tool.w, "wait_seconds", wait_s);
        if (change && seq > 0)
            json_put_int(&c->tool.w, "since_seq", (int64_t)seq);
        rc = call_tool(c, TOOL_WAIT, cli_args_end(c), wait_s, &answer, &e);
        if (rc != 0)
            return rc;
        if (e.code != 0)
            return cli_refuse_change(c, &e);
        seq = raw_u64(raw_member(answer, "seq"));
        met = str_is(raw_member(answer, "met"), "true");
        never = raw_member(answer, "never").p != NULL;
    } while (!met && !never && wait_s_until(until) > 0);
    raw = raw_member(answer, "task");
    if (c->json) {
        buf_printf(&c->out, "%.*s\n", STR_ARG(answer));
    } else if (raw.p != NULL) {
        rc = call_task_of(c, raw, &k);
        if (rc != 0)
            return rc;
        human_put_task(c, &k);
        if (never)
            cli_fail(c, 0, task_status_ended(k.status)
                         ? "the task has ended, so this can no longer happen"
                         : "a task that it depends on failed or was cancelled");
    }
    if (!c->json && !met && !never)
        cli_fail(c, ERR_NOT_FOUND, c->args.timeout > 0 ? "timed out"
                                                       : "not yet");
    return met ? CLI_OK : CLI_NOT_MET;
}
