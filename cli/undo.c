/* undo - the inverse of the caller's last change, as a change of its own.

   1. A change is taken back only while it is the newest event of its task.
      expected_version refuses it if another change comes first.
   2. An inverse is a change, so the next undo takes that back: twice restores
      what was.
   3. A command that ended or reopened several tasks, or added those of a list,
      is taken back as a whole: see is_of_one.
   4. Nothing that an agent may have read is taken back: answers, messages,
      files. */

#include "cli/undo.h"
#include "cli/args.h"
#include "cli/call.h"
#include "cli/id.h"
#include "cli/show.h"
#include "cli/text.h"
#include "base/clock.h"
#include "json/raw.h"

#include <string.h>

#define SINCE_MS (86400 * 1000) /* older changes are not looked for */
#define MANY 100    /* changes of one command that are taken back together */
#define GAP_MS 2000 /* between two of them, at most */
#define NOTE "undo of " /* the reason of an inverse: the seq follows of the last
                           change that the same command takes back */

/* Fields that update_task does not set: they follow from what it does. */
#define FOLLOWS (1ull << F_LEASE | 1ull << F_QUESTIONS | 1ull << F_HANDOFF | \
                 1ull << F_CANCEL_REQUESTED | 1ull << F_MESSAGES | \
                 1ull << F_TAKEOVER | 1ull << F_EXHAUSTED | \
                 1ull << F_CHECKPOINT | 1ull << F_ARTIFACTS)

struct change {
    struct task_event ev;   /* the caller's last change of a task, */
    struct task_event last; /* and the newest one of that task */
};

/* The caller's changes, newest first, while they are looked for. */
struct finder {
    struct cli *c;
    struct str by;   /* raw: the caller */
    int64_t from_ms;
    struct change at, list[MANY];
    size_t n;
    int rc;
};

static bool
has_set(const struct task_event *ev, const char *field)
{
    return raw_list_has(ev->set, str_of(field));
}

static int64_t
time_of(const struct task_event *ev)
{
    int64_t ms = 0;

    time_parse(ev->r.time, &ms);
    return ms;
}

static bool
is_inverse(const struct task_event *ev)
{
    return str_starts(ev->note, "\"" NOTE);
}

/* Whether one command made both, as far as can be told: the same was done to
   another task right before, or it was created without a change between. */
static bool
is_of_one(const struct task_event *a, const struct task_event *b)
{
    if (!str_eq(a->op, b->op) || !str_eq(a->note, b->note))
        return false;
    if (is_inverse(a))
        return true;
    if (time_of(a) - time_of(b) > GAP_MS)
        return false;
    if (str_is(a->op, "create"))
        return a->r.n == b->r.n + 1;
    return str_is(a->op, "update") && has_set(a, "\"status\"") &&
           has_set(b, "\"status\"") &&
           str_eq(raw_member(a->v, "status"), raw_member(b->v, "status"));
}

static bool
take_event(void *ctx, struct str raw)
{
    struct finder *f = ctx;
    struct arena *kept = &f->c->kept;
    struct str own = arena_str(kept, raw);
    struct task_event *ev = &f->at.ev;

    if (own.p == NULL)
        f->rc = cli_fail_store(f->c, ERR_NOMEM);
    else
        f->rc = call_event_of(f->c, kept, own, STR_NONE, ev);
    if (f->rc == 0 && f->at.last.id.p == NULL)
        f->at.last = *ev;
    return f->rc == 0 && !str_eq(ev->by, f->by) && time_of(ev) >= f->from_ms;
}

/* The tasks come with the newest change first. One whose newest change is older
   than the caller's last one can only be of the same command. */
static bool
take_task(void *ctx, const struct task *k)
{
    struct finder *f = ctx;
    const struct change *first = &f->list[0];
    bool older = f->n > 0 && k->ev.r.n < first->ev.r.n, dropped;
    struct str id = arena_printf(&f->c->kept, "%.*s", STR_ARG(k->ev.id));
    int rc;

    if (id.p == NULL || f->n == MANY || time_of(&k->ev) < f->from_ms ||
        (older && time_of(&k->ev) + GAP_MS < time_of(&f->list[f->n - 1].ev)))
        return false;
    f->at = (struct change){.ev.by = STR_NONE};
    rc = call_history(f->c, id.p, f->n > 0 && !older ? first->ev.r.n : 0,
                      older ? 1 : UINT64_MAX, take_event, f, &dropped);
    f->rc = rc != 0 && rc != ERR_NOT_FOUND ? rc : f->rc;
    if (f->rc != 0 || !str_eq(f->at.ev.by, f->by) ||
        time_of(&f->at.ev) < f->from_ms)
        return f->rc == 0;
    if (!older)
        f->n = 0;
    else if (!is_of_one(&f->list[f->n - 1].ev, &f->at.ev))
        return false;
    f->list[f->n++] = f->at;
    return true;
}

/* The command that made a change. */
static const char *
deed_of(const struct task_event *ev)
{
    static const char *const ends[TASK_N_STATUSES] = {
        [TASK_OPEN] = "reopen", [TASK_DONE] = "done", [TASK_FAILED] = "fail",
        [TASK_CANCELLED] = "cancel"};
    static const char *const ops[] = {"handoff", "exhaust", "attach", "claim",
                                      "checkpoint", "ask", "import", "leave"};
    int status = task_status_of(raw_inner(raw_member(ev->v, "status")));

    if (is_inverse(ev) && !has_set(ev, "\"questions\""))
        return "undo";
    for (size_t i = 0; i < sizeof ops / sizeof *ops; i++)
        if (str_is(ev->op, ops[i]))
            return ops[i];
    if (str_is(ev->op, "create"))
        return status == TASK_DONE ? "add done" : "add";
    if (has_set(ev, "\"status\""))
        return status >= 0 && ends[status] != NULL ? ends[status] : "start";
    if (has_set(ev, "\"questions\""))
        return "answer";
    if (has_set(ev, "\"messages\""))
        return "message";
    return has_set(ev, "\"cancel_requested\"") ? "cancel" : "edit";
}

/* Prints why a change is not taken back. Returns the exit code; 0: it is. */
static int
refuse_change(struct cli *c, const struct change *at, const char *deed)
{
    static const struct {
        const char *deed, *why, *next;
    } stays[] = {
        {"answer", "an answer may have been read", "message %s TEXT"},
        {"message", "a message may have been read", "message %s TEXT"},
        {"add done", "a task that was added as done stays", "reopen %s REASON"},
        {"attach", "an attached file stays", "edit %s"},
        {"import", "an imported task stays", "cancel %s"},
        {"leave", "the session has ended", "show %s"},
    };
    const char *id = arena_printf(&c->a, "%.*s", STR_ARG(at->ev.id)).p;
    struct str by = raw_text(&c->a, at->last.by), next;
    char age[24];

    if (id == NULL)
        return cli_fail_store(c, ERR_NOMEM);
    if (at->last.r.n != at->ev.r.n)
        return cli_fail(c, ERR_VERSION, "%s: %.*s changed it %s ago, after "
                        "your \"%s\"\nrun \"mcptask history %s\" to see both, "
                        "and \"mcptask edit %s\" to change it", id,
                        STR_ARG(by), cli_span(age, cli_now_ms(c) -
                                                   time_of(&at->last)),
                        deed, id, id);
    for (size_t i = 0; i < sizeof stays / sizeof *stays; i++)
        if (str_is(str_of(deed), stays[i].deed)) {
            next = arena_printf(&c->a, stays[i].next, id);
            return cli_fail(c, ERR_TRANSITION, "%s: %s, so \"%s\" cannot be "
                            "undone\nto change the task, run \"mcptask %.*s\"",
                            id, stays[i].why, deed, STR_ARG(next));
        }
    if (str_is(at->ev.op, "claim") && !has_set(&at->ev, "\"current_owner\"") &&
        !has_set(&at->ev, "\"status\""))
        return cli_fail(c, ERR_TRANSITION, "%s: \"claim\" has only renewed the "
                        "lease\nto free the task, run \"mcptask handoff %s\"",
                        id, id);
    return 0;
}

/* Puts what the fields were in p that the change has set, except the status.
   Nothing clears a field but update_task. */
static void
put_fields(struct cli *c, const struct task_event *ev, const struct task *p,
           bool update)
{
    struct json_w *w = &c->tool.w;
    bool moves = has_set(ev, "\"status\"");
    struct str name, clear = STR("[]");

    for (int i = 0; i < TASK_N_FIELDS; i++) {
        name = raw_quote(&c->a, task_arg_name(i));
        if (i == F_STATUS || FOLLOWS >> i & 1 ||
            (i == F_CURRENT_OWNER && !update) ||
            (!raw_list_has(ev->set, name) && !(i == F_CURRENT_OWNER && moves)))
            continue;
        if (p->f[i].p != NULL && !str_is(p->f[i], "null"))
            json_put_raw(w, task_arg_name(i).p, p->f[i]);
        else
            clear = raw_list_edit(&c->a, clear, STR_NONE, name);
    }
    if (update && clear.len > strlen("[]"))
        json_put_raw(w, "clear", clear);
}

/* Writes the arguments of the inverse, as far as they depend on the states
   before and after. Returns the tool. */
static enum task_tool
put_inverse(struct cli *c, const struct task_event *ev, const struct task *p,
            const struct task *k, struct str note)
{
    struct json_w *w = &c->tool.w;
    enum task_status to = p->status;
    bool leaves = to == TASK_HANDOFF_READY || to == TASK_EXHAUSTED;
    struct str left = p->f[to == TASK_EXHAUSTED ? F_EXHAUSTED : F_HANDOFF];
    struct str reason = raw_member(left, "reason");

    if (leaves && task_status_ended(k->status)) { /* for its next owner, open */
        to = TASK_OPEN;
        leaves = false;
    }
    leaves = leaves && (to != k->status || has_set(ev, "\"handoff\"") ||
                        has_set(ev, "\"exhausted\""));
    put_fields(c, ev, p, !leaves);
    if (leaves && reason.p != NULL)
        json_put_raw(w, "reason", reason);
    json_put_str(w, leaves ? "notes" : "reason", note);
    if (!leaves && has_set(ev, "\"status\""))
        json_put_z(w, "status", task_status_name(to));
    if (leaves && p->f[F_CURRENT_OWNER].p != NULL && to == TASK_HANDOFF_READY)
        json_put_raw(w, "to_agent", p->f[F_CURRENT_OWNER]);
    if (!leaves)
        return TOOL_UPDATE;
    return to == TASK_EXHAUSTED ? TOOL_EXHAUST : TOOL_HANDOFF;
}

/* Writes the arguments that take back a question or a request to stop, or those
   of put_inverse. Returns the tool, or -1 after an error that *rc tells. */
static int
put_change(struct cli *c, const struct change *at, const struct task *k,
           struct str note, int *rc)
{
    const char *id = c->arg[F_TASK_ID].text;
    struct json_w *w = &c->tool.w;
    struct str asked = STR_NONE, item = STR_NONE;
    struct task_event ev = at->ev;
    struct task p = *k;
    struct task_error e;

    *rc = 0;
    if (str_is(ev.op, "ask")) {
        while ((item = raw_list_next(k->f[F_QUESTIONS], item)).p != NULL)
            asked = item;
        json_put_obj(w, "answer");
        json_put_raw(w, "question_id", raw_member(asked, "question_id"));
        json_put_z(w, "action", "cancel");
        json_close(w);
        return TOOL_UPDATE;
    }
    if (str_is(ev.op, "create")) { /* there is no state before it */
        ev.set = STR("[\"status\"]");
        p.status = TASK_CANCELLED;
    } else if (str_is(ev.set, "[\"cancel_requested\"]")) {
        if (k->f[F_CANCEL_REQUESTED].p != NULL)
            json_put_raw(w, "clear", ev.set);
        else
            json_put_raw(w, "cancel_requested", STR("{}"));
        json_put_str(w, "reason", note);
        return TOOL_UPDATE;
    } else if (k->version > 1) {
        *rc = call_task(c, id, k->version - 1, &p, &e);
    }
    if (*rc == ERR_NOT_FOUND)
        *rc = cli_fail(c, ERR_NOT_FOUND, "%s: the state before your \"%s\" is "
                       "no longer in the log\nrun \"mcptask edit %s\" to "
                       "change it", id, deed_of(&ev), id);
    return *rc == 0 ? (int)put_inverse(c, &ev, &p, k, note) : -1;
}

/* "t-1: open, as before "done" 2m ago", or which fields are. */
static void
tell_undone(struct cli *c, const struct change *at, struct str receipt)
{
    const char *how = str_is(at->ev.op, "create") ? "which undoes"
                                                  : "as before";
    struct str what = raw_inner(raw_member(receipt, "status"));
    struct str item = STR_NONE;
    struct buf b = {0};
    char age[24];

    if (c->json) {
        buf_printf(&c->out, "%.*s\n", STR_ARG(receipt));
        return;
    }
    while (!has_set(&at->ev, "\"status\"") &&
           (item = raw_list_next(at->ev.set, item)).p != NULL)
        buf_printf(&b, "%s%.*s", b.len > 0 ? ", " : "",
                   STR_ARG(raw_inner(item)));
    if (b.len > 0)
        what = buf_view(&b);
    buf_printf(&c->out, "%.*s: %.*s, %s \"%s\" %s ago\n", STR_ARG(at->ev.id),
               STR_ARG(what), how, deed_of(&at->ev),
               cli_span(age, cli_now_ms(c) - time_of(&at->ev)));
    c->out.err |= b.err;
    buf_fini(&b);
}

/* Takes a change back. Returns the exit code. */
static int
undo_change(struct cli *c, const struct change *at, struct str note)
{
    const char *id = arena_str(&c->kept, at->ev.id).p;
    const char *agent = c->arg[ARG_AGENT].text;
    struct str receipt;
    struct task k;
    int tool, rc = refuse_change(c, at, deed_of(&at->ev));

    rc = rc == 0 ? cli_task(c, id, &k) : rc;
    if (rc != 0)
        return rc > 0 ? rc : cli_fail_task(c, rc, id);
    if (k.ev.r.n != at->ev.r.n)
        return cli_fail(c, ERR_VERSION, "%s: another change came first\nrun "
                        "\"mcptask history %s\" to see it", id, id);
    c->arg[F_TASK_ID].text = id; /* for cli_refuse_change */
    c->tool = (struct cli_tool_args){.once = false};
    json_begin(&c->tool.w, &c->tool.b);
    cli_args_put(c, "task_id", id);
    json_put_int(&c->tool.w, "expected_version", (int64_t)k.version);
    tool = put_change(c, at, &k, note, &rc);
    cli_args_put(c, "agent", agent);
    if (rc != 0)
        cli_args_end(c);
    else
        rc = cli_call(c, (enum task_tool)tool, &receipt);
    if (rc == 0)
        tell_undone(c, at, receipt);
    return rc;
}

int
cli_undo(struct cli *c)
{
    struct task_query q = {.include_done = true, .limit = TASK_LIST_MAX};
    const char *agent = c->arg[ARG_AGENT].text;
    struct finder f = {.c = c, .from_ms = cli_now_ms(c) - SINCE_MS};
    struct str note;
    int rc, worst = CLI_OK;

    if (agent == NULL)
        return cli_misuse(c, "--agent is missing: only the server knows whose "
                          "the token is");
    f.by = raw_quote(&c->kept, str_of(agent));
    if (f.by.p == NULL)
        return cli_fail_store(c, ERR_NOMEM);
    rc = cli_each_task(c, &q, take_task, &f);
    rc = rc == 0 ? f.rc : rc;
    if (rc != 0)
        return rc < 0 ? cli_fail_store(c, rc) : rc;
    if (f.n == 0)
        return cli_fail(c, ERR_NOT_FOUND, "no change by %s in the last 24 h\n"
                        "run \"mcptask tail --agent %s\" to see older ones",
                        agent, agent);
    note = arena_printf(&c->kept, NOTE U64, f.list[0].ev.r.n);
    for (size_t i = 0; note.p != NULL && i < f.n; i++) {
        arena_reset(&c->a);
        rc = undo_change(c, &f.list[i], note);
        worst = rc > worst ? rc : worst;
    }
    return note.p != NULL ? worst : cli_fail_store(c, ERR_NOMEM);
}
