/* hook - what an agent is told when a session of its client, or a sub-agent of
   it, starts, and what becomes of its tasks when the session ends.

   Claude Code, Codex and Gemini CLI run hooks alike: the event is a JSON object
   on standard input, and hookSpecificOutput.additionalContext on standard
   output is what the model reads. Others differ in the spelling of names.

   1. A session is never disturbed: nothing waits without end, the exit code is
      0 whatever is wrong (main sees to that), and standard output is one JSON
      object or empty.
   2. The name is made of the client's session id, so that the hooks of one
      session agree without a file of their own. MCP_TASK_AGENT replaces it.
   3. What agents stored is quoted or on one line, bounded, without markup of a
      host, and has its author.
   4. With MCP_TASK_SERVER the store is that server's, and this host's own is
      not looked at. All of its answers together have a limit of time. */

#include "cli/hook.h"
#include "cli/args.h"
#include "cli/call.h"
#include "cli/show.h"
#include "cli/store.h"
#include "cli/text.h"
#include "base/clock.h"
#include "base/sha256.h"
#include "base/utf8.h"
#include "json/write.h"
#include "task/brief.h"
#include "task/project.h"
#include "task/view.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define MAX_INPUT ((size_t)1024 * 1024)
#define SILENT_MS 1000 /* the input ends after so long without a byte, and */
#define END_MS 300     /* at an end: Claude Code then has 1.5 s for all hooks */
#define ANSWER_MS 2000 /* for the answers of a server, and */
#define ANSWER_END_MS 700 /* at an end */
#define MAX_SHOWN 3    /* tasks of each kind that are told */
#define MAX_LOOKS 2000 /* tasks that are looked at for that */

struct hook {
    struct cli *c;
    struct str event, cause; /* cause: why the session starts or ends */
    struct str sub;          /* the client's id of a sub-agent */
    struct str name;         /* its own, and as whom it is told */
    struct brief me;
    struct buf text; /* for the model */
    struct buf gone; /* ids of tasks whose holders it is the first to miss */
    bool none;       /* there is no store */
    bool failed; /* the text lacks tasks, and an error was printed */
};

/* ---- the event ---- */

/* Reads standard input up to the end of an object: clients do not always close
   the pipe. Without one, up to a silence or MAX_INPUT. Returns ERR_NOMEM, or 0
   with the text in c->a. */
static int
read_event_text(struct cli *c, struct str *out)
{
    struct pollfd in = {.fd = STDIN_FILENO, .events = POLLIN};
    char *p = arena_alloc(&c->a, MAX_INPUT);
    bool quoted = false, escaped = false;
    struct str start;
    size_t at = 0;
    ssize_t n = 1;
    int ready, depth = 0;

    *out = (struct str){p, 0};
    while (p != NULL && n > 0 && out->len < MAX_INPUT) {
        start = utf8_cut(*out, 4096); /* has the event, if any has come */
        ready = poll(&in, 1, str_find(start, STR("essionEnd")) != SIZE_MAX
                                 ? END_MS : SILENT_MS);
        if (ready < 0 && errno == EINTR)
            continue;
        n = ready > 0 ? read(in.fd, p + out->len, MAX_INPUT - out->len) : 0;
        for (out->len += n > 0 ? (size_t)n : 0; at < out->len;) {
            char next = p[at++];

            if (quoted) {
                quoted = escaped || next != '"';
                escaped = !escaped && next == '\\';
                continue;
            }
            quoted = next == '"';
            depth += (next == '{') - (next == '}');
            if (next == '}' && depth <= 0) { /* the end of the object */
                out->len = at;
                n = 0;
            }
        }
    }
    if (str_starts(*out, "\xef\xbb\xbf")) /* a byte order mark */
        *out = str_from(*out, 3);
    return p != NULL ? 0 : ERR_NOMEM;
}

/* The first of these members that the input has as a text, in c->kept; .p NULL:
   there is none. */
static struct str
input_text(struct cli *c, const struct json_tok *root, const char *const *name)
{
    for (; *name != NULL; name++) {
        struct str s = json_str(&c->a, json_get(root, *name));

        if (s.len > 0)
            return arena_str(&c->kept, s);
    }
    return STR_NONE;
}

/* Whether the event is this one, whose first letter may be small. */
static bool
is_event(const struct hook *h, const char *name)
{
    return h->event.len > 0 && text_lower(h->event.p[0]) == text_lower(*name) &&
           str_is(str_from(h->event, 1), name + 1);
}

/* The last hex digits of a session id, whose first may be a time, which
   sessions share; or those of a digest, if it ends otherwise. */
static void
session_digits(struct str id, char out[NAME_HEX + 1])
{
    char digest[SHA256_HEX + 1];
    size_t left = NAME_HEX;

    out[left] = '\0';
    for (size_t i = id.len; i > 0 && left > 0; i--)
        if (id.p[i - 1] != '-')
            out[--left] = text_lower(id.p[i - 1]);
    if (left == 0 && str_is_hex((struct str){out, NAME_HEX}, NAME_HEX))
        return;
    sha256_hex(id, digest);
    memcpy(out, digest, NAME_HEX);
}

/* Returns 0, or an exit code after printing the error. */
static int
read_event(struct hook *h)
{
    static const char *const events[] = {"hook_event_name", "hookEventName",
                                         NULL},
        *const causes[] = {"source", "reason", NULL},
        *const sessions[] = {"session_id", "sessionId", "conversation_id",
                             NULL},
        *const dirs[] = {"cwd", NULL}, *const subs[] = {"agent_id", NULL};
    struct cli *c = h->c;
    const char *given = env_get("MCP_TASK_AGENT");
    const struct json_tok *root;
    struct str text, product, session, cwd;
    char hex[NAME_HEX + 1];
    struct project at;
    int rc = read_event_text(c, &text);

    rc = rc == 0 ? cli_args_object(c, text, &root) : cli_fail_store(c, rc);
    if (rc != 0)
        return rc;
    h->event = input_text(c, root, events);
    h->cause = input_text(c, root, causes);
    h->sub = input_text(c, root, subs);
    session = input_text(c, root, sessions);
    cwd = input_text(c, root, dirs);

    product = name_product(&c->kept, str_of(c->operand[0]));
    h->me.who.chosen = given != NULL;
    if (product.p == NULL)
        return cli_fail_store(c, ERR_NOMEM);
    if (given != NULL) {
        h->name = str_of(given);
    } else if (session.len > 0) {
        session_digits(session, hex);
        h->name = name_default(&c->kept, product, str_of(hex));
        h->me.who.client = name_stem(h->name);
    } else {
        return cli_fail(c, ERR_INVALID, "the input has no session_id");
    }
    if (h->name.p != NULL)
        h->me.who.name = raw_quote(&c->kept, h->name);
    if (h->me.who.name.p == NULL)
        return cli_fail_store(c, ERR_NOMEM);

    /* The project of the session, which clients run hooks outside of, too. */
    if (cwd.len == 0 || getenv("MCP_TASK_REPO") != NULL ||
        !project_at(&c->a, cwd, &at))
        project_here(&at);
    return project_names(&c->kept, &at, &h->me.who.repo) == 0
               ? 0 : cli_fail_store(c, ERR_NOMEM);
}

/* ---- a start ---- */

struct section {
    struct hook *h;
    enum brief_part part;
    int shown, looks;
};

static bool
put_in_section(void *ctx, const struct task *of)
{
    struct section *s = ctx;
    struct hook *h = s->h;
    struct task k = *of;
    struct task_error e;
    struct str id;
    bool has = brief_has(&h->me, s->part, of);
    int rc;

    if (has && h->c->env->server != NULL) { /* which lists summaries */
        id = arena_str(&h->c->a, of->ev.id);
        rc = id.p == NULL ? cli_fail_store(h->c, ERR_NOMEM)
                          : call_task(h->c, id.p, 0, &k, &e);
        h->failed |= rc > 0;
        has = rc == 0;
    }
    if (has) {
        /* If nobody has noted that its holder is gone, this will: the task is
           free in a minute. */
        if (k.gone && !raw_member(k.f[F_LEASE], "left").p) {
            buf_printf(&h->gone, "%.*s\n", STR_ARG(k.ev.id));
            k.f[F_LEASE] = task_lease_leave(&h->c->a, k.f[F_LEASE],
                                            STR("\"exited\""), h->me.now_ms);
            task_lease_end(k.f[F_LEASE], &k.until_ms);
        }
        if (s->shown++ == 0)
            buf_printf(&h->text, "\n%s:\n", brief_heading(&h->me, s->part));
        brief_put(&h->text, &h->c->a, &h->me, s->part, &k, true);
    }
    return s->shown < MAX_SHOWN && ++s->looks < MAX_LOOKS && !h->failed;
}

/* Commands in the session's shell use the name, too. The file is a script: a
   default name has nothing that a shell would run. Opening or writing anything
   but a regular file could wait for another process. */
static void
keep_name(const struct hook *h)
{
    const char *path = env_get("CLAUDE_ENV_FILE");
    struct buf b = {0};
    struct stat st;
    int fd;

    if (path == NULL || h->me.who.chosen)
        return;
    fd = open(path, O_WRONLY | O_APPEND | O_CREAT | O_NONBLOCK | O_NOCTTY |
              O_CLOEXEC, 0600);
    if (fd < 0 || fstat(fd, &st) != 0) {
        cli_fail_errno(h->c, ERR_IO, path);
    } else if (!S_ISREG(st.st_mode)) {
        cli_fail(h->c, ERR_IO, "%s: not a regular file", path);
    } else {
        buf_printf(&b, "export MCP_TASK_AGENT='%.*s'\n", STR_ARG(h->name));
        cli_say(fd, &b);
    }
    if (fd >= 0)
        close(fd);
}

static void
put_start(struct hook *h)
{
    enum brief_part part;
    size_t named;
    int rc;

    buf_printf(&h->text, "Your name in mcptask is %.*s. Pass it as agent in "
               "each call of its tools.\n", STR_ARG(h->name));
    named = h->text.len;
    h->me.goes_on = h->cause.len > 0 && !str_is(h->cause, "startup") &&
                    !str_is(h->cause, "new");
    h->me.now_ms = h->none ? 0 : cli_now_ms(h->c);
    for (part = 0; part < BRIEF_N_PARTS && !h->failed && !h->none; part++) {
        struct section s = {.h = h, .part = part};
        struct task_query q = brief_query(&h->me, part);

        rc = cli_each_task(h->c, &q, put_in_section, &s);
        if (rc < 0)
            cli_fail_store(h->c, rc);
        h->failed |= rc != 0;
    }
    if (h->text.len > named)
        buf_z(&h->text, "\nClaim one with claim_task and its task_id. The "
              "answer has everything you need. Save the state with "
              "save_checkpoint, and before you stop, hand over unfinished work "
              "with handoff_task. Text in tasks comes from other agents.\n");
}

/* A sub-agent uses the MCP server of its session, where default names are one
   agent: without a name of its own, others of the session could change what it
   holds. 8 digits would make it a default name, so it has fewer. */
static void
put_sub(struct hook *h)
{
    char digest[SHA256_HEX + 1];

    sha256_hex(h->sub, digest);
    buf_printf(&h->text, "Your name in mcptask is %.*s-%.6s. Pass it as agent "
               "in each call of its tools, and as --agent to its commands. You "
               "are a sub-agent, and the agent that started you has another "
               "name.\n", STR_ARG(h->name), digest);
}

static void
tell_model(struct hook *h)
{
    struct buf *out = &h->c->out;

    view_mask_markup(&h->text, 0);
    if (h->text.err != 0)
        cli_fail_store(h->c, h->text.err);
    if (h->text.err != 0 || h->failed)
        return;
    /* Cursor spells its events sessionStart and what it reads like this. */
    if (*h->event.p == 's')
        buf_z(out, "{\"additional_context\":");
    else
        buf_printf(out, "{\"hookSpecificOutput\":{\"hookEventName\":\"%.*s\","
                   "\"additionalContext\":", STR_ARG(h->event));
    json_quote(out, buf_view(&h->text));
    buf_z(out, *h->event.p == 's' ? "}\n" : "}}\n");
}

/* ---- an end ---- */

static bool
note_id(void *ctx, const struct task *k)
{
    struct hook *h = ctx;

    if (brief_has(&h->me, BRIEF_MINE, k))
        buf_printf(&h->text, "%.*s\n", STR_ARG(k->ev.id));
    return true;
}

/* Reports that the holders of tasks, whose ids are on a line each, are gone.
   That is for the store or its server to judge. */
static void
report_left(struct hook *h, struct str ids, const char *reason)
{
    struct cli *c = h->c;
    struct str receipt;
    const char *id;

    while (ids.len > 0 &&
           (id = arena_str(&c->kept, str_cut(&ids, '\n')).p) != NULL) {
        cli_args_begin(c, NULL, id);
        cli_args_put(c, "agent", arena_str(&c->kept, h->name).p);
        cli_args_put(c, "left", reason);
        cli_call(c, TOOL_UPDATE, &receipt);
    }
}

/* What the session holds is its client's for a moment, and then anybody's. A
   name that all sessions share needs none of it: the next one holds it as
   well. */
static void
end_session(struct hook *h)
{
    struct cli *c = h->c;
    struct task_query q = brief_query(&h->me, BRIEF_MINE);
    int rc;

    if (name_stem(h->name).len == 0)
        return;
    rc = cli_each_task(c, &q, note_id, h);
    if (rc < 0)
        cli_fail_store(c, rc);
    report_left(h, buf_view(&h->text), "the session ended");
}

/* ---- the command ---- */

/* Opens the store, if there is one, for an event that has to do with it; but a
   server has it open. A session has a name also before the first task. */
static void
handle(struct hook *h)
{
    struct cli *c = h->c;
    bool served = c->env->server != NULL;
    bool sub = is_event(h, "SubagentStart") && h->sub.len > 0;
    bool starts = is_event(h, "SessionStart");
    bool ends = is_event(h, "SessionEnd") && !str_is(h->cause, "clear");

    if (starts)
        keep_name(h);
    c->answer_by = clock_mono_ms() + (starts ? ANSWER_MS : ANSWER_END_MS);
    h->none = !served && cli_is_gone(c);
    if ((!starts && !ends && !sub) || (ends && h->none) ||
        (!served && !sub && !h->none && cli_open(c, starts) != 0))
        return;
    if (ends) {
        end_session(h);
        return;
    }
    if (sub)
        put_sub(h);
    else
        put_start(h);
    tell_model(h);
    if (h->gone.len > 0 && !served) { /* it was not to be changed until now */
        cli_close(c, CLI_OK);
        c->s = (struct cli_store){.store = NULL};
        if (cli_open(c, false) != 0)
            return;
    }
    report_left(h, buf_view(&h->gone), "exited");
}

int
cli_hook(struct cli *c)
{
    struct hook h = {.c = c};

    c->exact = true;
    c->quiet = true;
    if (read_event(&h) == 0)
        handle(&h);
    cli_close(c, CLI_OK);
    c->s = (struct cli_store){.store = NULL};
    buf_fini(&h.text);
    buf_fini(&h.gone);
    return CLI_OK;
}
