/* cause - why a task stands where it does.

   A task may have several causes to stand still. The one that counts is the
   one that must go first: a question is answered before the task is handed on.
   An agent that may have died counts more than what its task depends on. */

#include "task/cause.h"
#include "base/clock.h"
#include "json/raw.h"

enum task_cause
task_cause(const struct task *k)
{
    bool open = k->status == TASK_OPEN;

    if (task_status_ended(k->status))
        return k->recent ? CAUSE_FAILED : CAUSE_ENDED;
    if (k->needs_input)
        return CAUSE_QUESTION;
    if (k->early)
        return CAUSE_LATER;
    if (k->parts.unfinished > 0 && (k->status != TASK_IN_PROGRESS ||
                                    k->lease_expired || k->stale))
        return CAUSE_PARTS;
    if (open && k->above.p)
        return CAUSE_PARENT;
    if (k->status == TASK_HANDOFF_READY)
        return CAUSE_HANDED;
    if (k->status == TASK_EXHAUSTED)
        return CAUSE_EXHAUSTED;
    if (k->garbled)
        return CAUSE_DAMAGED;
    if (open && k->deps_failed.p)
        return CAUSE_BLOCKED;
    if (open && k->blocked)
        return CAUSE_WAITS;
    if (open && k->clashes.p)
        return CAUSE_BESIDE;
    if (k->lease_expired)
        return CAUSE_EXPIRED;
    if (k->stale)
        return CAUSE_STALE;
    return k->status == TASK_IN_PROGRESS ? CAUSE_HELD : CAUSE_READY;
}

enum task_column
task_column(const struct task *k)
{
    static const enum task_column columns[TASK_N_CAUSES] = {
        [CAUSE_FAILED] = COLUMN_STUCK,
        [CAUSE_ENDED] = COLUMN_DONE,
        [CAUSE_QUESTION] = COLUMN_NEEDS_INPUT,
        [CAUSE_LATER] = COLUMN_WAITING,
        [CAUSE_PARTS] = COLUMN_WAITING,
        [CAUSE_PARENT] = COLUMN_WAITING,
        [CAUSE_HANDED] = COLUMN_HANDED_OVER,
        [CAUSE_EXHAUSTED] = COLUMN_STUCK,
        [CAUSE_DAMAGED] = COLUMN_STUCK,
        [CAUSE_BLOCKED] = COLUMN_STUCK,
        [CAUSE_WAITS] = COLUMN_WAITING,
        [CAUSE_BESIDE] = COLUMN_WAITING,
        [CAUSE_EXPIRED] = COLUMN_STUCK,
        [CAUSE_STALE] = COLUMN_STUCK,
        [CAUSE_HELD] = COLUMN_IN_PROGRESS,
        [CAUSE_READY] = COLUMN_READY,
    };

    return columns[task_cause(k)];
}

bool
task_column_is_urgent(int column)
{
    return column == COLUMN_NEEDS_INPUT || column == COLUMN_READY;
}

/* ---- in words ---- */

/* The text of a raw string; empty for anything else. */
static struct str
stored_text(struct arena *a, struct str raw)
{
    struct str s = raw_text(a, raw);

    return s.p ? s : STR("");
}

/* What happened, and the reason if one was given. */
static struct str
because(struct arena *a, struct str what, struct str raw_reason)
{
    struct str reason = stored_text(a, raw_reason);

    return arena_printf(a, "%.*s%s%.*s", STR_ARG(what),
                        reason.len > 0 ? ": " : "", STR_ARG(reason));
}

/* The first of these tasks, with the number of the others. */
static struct str
task_and_others(struct arena *a, const char *what, struct str tasks)
{
    struct str id = stored_text(a, raw_list_next(tasks, STR_NONE));
    size_t n = raw_list_n(tasks);

    if (n < 2)
        return arena_printf(a, "%s %.*s", what, STR_ARG(id));
    return arena_printf(a, "%s %.*s and %zu more", what, STR_ARG(id), n - 1);
}

struct str
task_parts_text(struct arena *a, const struct task *k)
{
    unsigned long long failed = k->parts.failed, done = k->parts.done;
    struct str text = arena_printf(a, "%llu of %llu parts done", done,
                                   done + failed + k->parts.unfinished);

    return failed > 0 ? arena_printf(a, "%.*s, %llu failed", STR_ARG(text),
                                     failed) : text;
}

struct str
task_cause_text(struct arena *a, const struct task *k)
{
    struct str from, to, left = STR_NONE;

    if (k->garbled) /* whatever else it is */
        return STR("damaged: mcptask verify");
    switch (task_cause(k)) {
    case CAUSE_FAILED:
        return because(a, STR("failed"), k->ev.note);
    case CAUSE_ENDED:
        return stored_text(a, k->ev.note);
    case CAUSE_QUESTION:
        return stored_text(a, raw_member(
            task_open_question(k->f[F_QUESTIONS]), "question"));
    case CAUSE_LATER:
        if (k->status == TASK_HANDOFF_READY)
            left = k->f[F_HANDOFF];
        else if (k->status == TASK_EXHAUSTED)
            left = k->f[F_EXHAUSTED];
        return because(a, arena_printf(a, "from %.*sZ",
                                       STR_ARG(task_from_text(k))),
                       raw_member(left, "reason"));
    case CAUSE_PARTS:
        return task_parts_text(a, k);
    case CAUSE_PARENT:
        return task_and_others(a, "waits for its parent",
                               arena_printf(a, "[%.*s]", STR_ARG(k->above)));
    case CAUSE_HANDED:
        left = k->f[F_HANDOFF];
        from = stored_text(a, raw_member(left, "from_agent"));
        to = stored_text(a, raw_member(left, "to_agent"));
        to = to.len > 0 ? to : STR("any agent");
        return because(a, arena_printf(a, "%.*s%s-> %.*s", STR_ARG(from),
                                       from.len > 0 ? " " : "", STR_ARG(to)),
                       raw_member(left, "reason"));
    case CAUSE_EXHAUSTED:
        left = k->f[F_EXHAUSTED];
        from = stored_text(a, raw_member(left, "agent"));
        from = from.len > 0 ? from : STR("the agent");
        return because(a, arena_printf(a, "%.*s stopped", STR_ARG(from)),
                       raw_member(left, "reason"));
    case CAUSE_BLOCKED:
        return task_and_others(a, "blocked by", k->deps_failed);
    case CAUSE_WAITS:
        return task_and_others(a, "waits for", k->blocked_by);
    case CAUSE_BESIDE:
        return arena_printf(a, "paths overlap with %.*s",
                            STR_ARG(stored_text(a, raw_member(
                                raw_list_next(k->clashes, STR_NONE),
                                "task_id"))));
    case CAUSE_EXPIRED:
        return STR("lease expired");
    case CAUSE_STALE:
        return STR("no activity for 24 h");
    case CAUSE_HELD: /* perhaps it was begun before it was blocked */
        if (k->gone)
            return STR("the agent exited");
        return k->blocked ? task_and_others(a, "waits for", k->blocked_by)
                          : STR("");
    case CAUSE_READY:
        if (k->parts.total > 0)
            return STR(TASK_CLOSE);
        break;
    case CAUSE_DAMAGED: case TASK_N_CAUSES:
        break;
    }
    return STR("");
}

/* ---- whose it was ---- */

/* "given up 20 s ago"; an import may lack the time (raw). */
static struct str
since(struct arena *a, struct str what, struct str at, int64_t now)
{
    static const struct {
        int32_t s;
        const char *name;
    } units[] = {{86400, "days"}, {3600, "h"}, {60, "min"}, {1, "s"}};
    int64_t ms, s;
    int i = 0;

    if (!time_parse(raw_inner(at), &ms))
        return what;
    s = now > ms ? (now - ms) / 1000 : 0;
    while (units[i].s > 1 && s < 2 * units[i].s)
        i++;
    return arena_printf(a, "%.*s %lld %s ago", STR_ARG(what),
                        (long long)(s / units[i].s), units[i].name);
}

/* The same of an object, by its member who. */
static struct str
done_by(struct arena *a, struct str what, struct str of, const char *who,
        int64_t now)
{
    struct str by = stored_text(a, raw_member(of, who));

    return since(a, arena_printf(a, "%.*s%s%.*s", STR_ARG(what),
                                 by.len > 0 ? " by " : "", STR_ARG(by)),
                 raw_member(of, "at"), now);
}

struct str
task_was(struct arena *a, const struct task *k, int64_t now)
{
    struct str owner = stored_text(a, k->f[F_CURRENT_OWNER]);
    struct str lease = k->f[F_LEASE], left = raw_member(lease, "left");
    struct str why = stored_text(a, raw_member(left, "reason"));

    if (k->status == TASK_EXHAUSTED)
        return done_by(a, STR("given up"), k->f[F_EXHAUSTED], "agent", now);
    if (k->status == TASK_HANDOFF_READY)
        return done_by(a, arena_printf(a, "handed %s%.*s",
                                       owner.len > 0 ? "to " : "over",
                                       STR_ARG(owner)),
                       k->f[F_HANDOFF], "from_agent", now);
    if (owner.len == 0)
        return STR_NONE;
    if (k->status == TASK_OPEN)
        return arena_printf(a, "meant for %.*s", STR_ARG(owner));
    if (k->gone || left.p)
        return since(a, arena_printf(a, "left by %.*s, %.*s", STR_ARG(owner),
                                     STR_ARG(left.p ? why : STR("exited"))),
                     raw_member(left, "at"), now);
    if (lease.p)
        return arena_printf(a, "held by %.*s%s", STR_ARG(owner),
                            k->lease_expired ? ", whose lease expired" : "");
    return arena_printf(a, "in progress by %.*s without a lease",
                        STR_ARG(owner));
}
