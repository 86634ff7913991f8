/* undo - the inverse of the caller's last change, as a change of its own.

   1. A change is taken back only while it is the newest event of its task.
      expected_version refuses it if another change comes first.
   2. An inverse is a change, so the next undo takes that back: twice restores
      what was.
   3. A command that ended or reopened several tasks, or added those of a list,
      is taken back as a whole: see is_of_one.
   4. What others may have read stays: questions, answers, messages, files, and
      a task that was added as done. */

#include "cli/undo.h"
#include "cli/args.h"
#include "cli/call.h"
#include "cli/human.h"
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

/* Whether one command made both, as far as can be told: it undid both, or
   created both without a change between, or did the same to another task right
   before. */
static bool
is_of_one(const struct task_event *a, const struct task_event *b)
{
    if (!str_eq(a->op, b->op) || !str_eq(a->note, b->note))
        return false;
    if (str_starts(a->note, "\"" NOTE))
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

static bool
is_done(const struct task_event *ev)
{
    return str_is(raw_member(ev->v, "status"), "\"done\"");
}

/* Whether it was a request to stop, whose inverse depends on what the task has
   now. */
static bool
is_request(const struct task_event *ev)
{
    return str_is(ev->set, "[\"cancel_requested\"]");
}

/* Whether the inverse of a change would set anything. */
static bool
has_inverse(struct arena *a, const struct task_event *ev)
{
    if (str_is(ev->op, "create"))
        return !is_done(ev);
    if (is_request(ev))
        return true;
    for (int i = 0; i < TASK_N_FIELDS; i++)
        if (!(FOLLOWS >> i & 1) &&
            raw_list_has(ev->set, raw_quote(a, task_arg_name(i))))
            return !str_is(ev->op, "import");
    return false;
}

/* Prints why a change is not taken back. Returns the exit code; 0: it is. */
static int
refuse_change(struct cli *c, const struct change *at, const char *id,
              struct str deed)
{
    bool done = is_done(&at->ev);
    struct str by = raw_text(&c->a, at->last.by);
    char age[24];

    if (at->last.r.n != at->ev.r.n)
        return cli_fail(c, ERR_VERSION, "%s: %.*s changed it %s ago, after "
                        "your \"%.*s\"\nrun \"mcptask history %s\" to see "
                        "both, and \"mcptask edit %s\" to change it", id,
                        STR_ARG(by), cli_span(age, cli_now_ms(c) -
                                                   time_of(&at->last)),
                        STR_ARG(deed), id, id);
    if (!has_inverse(&c->a, &at->ev))
        return cli_fail(c, ERR_TRANSITION, "%s: \"%.*s\" cannot be undone: "
                        "what others may have read stays\nrun \"mcptask %s "
                        "%s%s\" to change the task", id, STR_ARG(deed),
                        done ? "reopen" : "edit", id, done ? " REASON" : "");
    return 0;
}

/* Puts what the fields were in p that the change has set, except the status,
   as arguments of update_task or handoff_task. Only the first clears any. */
static void
put_fields(struct cli *c, const struct task_event *ev, const struct task *p,
           bool hands)
{
    struct json_w *w = &c->tool.w;
    struct str name, clear = STR("[]");

    for (int i = 0; i < TASK_N_FIELDS; i++) {
        bool owner = i == F_CURRENT_OWNER; /* it follows a status, too */

        name = raw_quote(&c->a, task_arg_name(i));
        if (i == F_STATUS || FOLLOWS >> i & 1 ||
            !(raw_list_has(ev->set, name) ||
              (owner && has_set(ev, "\"status\""))))
            continue;
        if (p->f[i].p != NULL && !str_is(p->f[i], "null"))
            json_put_raw(w, hands && owner ? "to_agent" : task_arg_name(i).p,
                         p->f[i]);
        else
            clear = raw_list_edit(&c->a, clear, STR_NONE, name);
    }
    if (!hands && clear.len > strlen("[]"))
        json_put_raw(w, "clear", clear);
}

/* Writes the arguments of the inverse, as far as they depend on what the task
   was before, p. Returns the tool: only another handoff replaces one. */
static enum task_tool
put_inverse(struct cli *c, const struct task_event *ev, const struct task *p,
            struct str note)
{
    bool hands = p->status == TASK_HANDOFF_READY && has_set(ev, "\"handoff\"");
    bool adds = str_is(ev->op, "create");
    struct str reason = raw_member(p->f[F_HANDOFF], "reason");
    enum task_status to = adds ? TASK_CANCELLED : p->status;
    struct str stop = p->f[F_CANCEL_REQUESTED];
    struct json_w *w = &c->tool.w;

    if (task_raw_ended(raw_member(ev->v, "status")) && to != TASK_IN_PROGRESS)
        to = TASK_OPEN; /* for its next owner, if it had one */
    if (is_request(ev))
        json_put_raw(w, stop.p != NULL ? "clear" : "cancel_requested",
                     stop.p != NULL ? ev->set : STR("{}"));
    else if (!adds)
        put_fields(c, ev, p, hands);
    if (hands && reason.p != NULL)
        json_put_raw(w, "reason", reason);
    json_put_str(w, hands ? "notes" : "reason", note);
    if (!hands && has_set(ev, "\"status\""))
        json_put_z(w, "status", task_status_name(to));
    return hands ? TOOL_HANDOFF : TOOL_UPDATE;
}

/* Takes a change back. Returns the exit code. */
static int
undo_change(struct cli *c, const struct change *at, struct str note)
{
    const char *id = arena_str(&c->kept, at->ev.id).p;
    const char *agent = c->arg[ARG_AGENT].text;
    uint64_t version = raw_u64(raw_member(at->ev.v, "version"));
    struct str receipt, about, deed = human_deed(&c->kept, &at->ev, &about);
    struct task_error e;
    struct task p;
    char age[24];
    int rc = id == NULL ? cli_fail_store(c, ERR_NOMEM)
                        : refuse_change(c, at, id, deed);

    if (rc == 0) /* what is created has no state before it */
        rc = call_task(c, id, is_request(&at->ev) ? 0 : version - 1, &p, &e);
    if (rc != 0)
        return rc != ERR_NOT_FOUND ? rc
            : cli_fail(c, ERR_NOT_FOUND, "%s: the state before your \"%.*s\" "
                       "is no longer in the log\nrun \"mcptask edit %s\" to "
                       "change it", id, STR_ARG(deed), id);
    c->arg[F_TASK_ID].text = id; /* for cli_refuse_change */
    c->tool = (struct cli_tool_args){.once = false};
    json_begin(&c->tool.w, &c->tool.b);
    cli_args_put(c, "task_id", id);
    json_put_int(&c->tool.w, "expected_version", (int64_t)version);
    cli_args_put(c, "agent", agent);
    rc = cli_call(c, put_inverse(c, &at->ev, &p, note), &receipt);
    if (rc == 0 && c->json)
        buf_printf(&c->out, "%.*s\n", STR_ARG(receipt));
    else if (rc == 0) /* "t-1: open, which undoes "done" 2m ago" */
        buf_printf(&c->out, "%s: %.*s, which undoes \"%.*s\"%s%.*s %s ago\n",
                   id, STR_ARG(raw_inner(raw_member(receipt, "status"))),
                   STR_ARG(deed), about.len > 0 ? " of " : "", STR_ARG(about),
                   cli_span(age, cli_now_ms(c) - time_of(&at->ev)));
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
                        "run \"mcptask tail\" to see all, and \"mcptask undo "
                        "--agent NAME\" to take back one by another name",
                        agent);
    note = arena_printf(&c->kept, NOTE U64, f.list[0].ev.r.n);
    for (size_t i = 0; note.p != NULL && i < f.n; i++) {
        arena_reset(&c->a);
        rc = undo_change(c, &f.list[i], note);
        worst = rc > worst ? rc : worst;
    }
    return note.p != NULL ? worst : cli_fail_store(c, ERR_NOMEM);
}
