/* brief - what an agent is told when it begins. */

#include "task/brief.h"
#include "base/clock.h"
#include "task/may.h"
#include "task/project.h"
#include "task/view.h"
#include "base/utf8.h"

#define MAX_PROMPT 2048
#define MAX_LINE 120

const char *
brief_heading(const struct brief *b, enum brief_part part)
{
    static const char *const headings[BRIEF_N_PARTS] = {
        [BRIEF_LOST] = "Taken over from you; do not continue these",
        [BRIEF_MINE] = "You hold these tasks; continue with them",
        [BRIEF_LEFT] = "Left by an earlier session of this client",
        [BRIEF_HANDED] = "Handed to you",
        [BRIEF_OTHERS] = ("Left by another agent; if it will not come back, "
                          "claim the task with takeover and a reason"),
        [BRIEF_READY] = "Ready for any agent",
    };

    return part == BRIEF_LEFT && b->goes_on
               ? "In progress under another name of this client, and yours if "
                 "you began it earlier in this session" : headings[part];
}

struct task_query
brief_query(const struct brief *b, enum brief_part part)
{
    struct task_query q = {.limit = TASK_LIST_MAX, .uncounted = true,
                           .status = 1u << TASK_IN_PROGRESS};

    if (part == BRIEF_MINE)
        q.has[ATOM_OWNER] = b->who.name;
    if (part == BRIEF_HANDED)
        q.status = 1u << TASK_HANDOFF_READY;
    if (part != BRIEF_READY)
        return q;
    q.status = 0;
    q.ready = TASK_YES;
    q.order = ORDER_WORK;
    return q;
}

bool
brief_has(const struct brief *b, enum brief_part part, const struct task *k)
{
    const struct task_actor *who = &b->who;
    struct str owner = k->f[F_CURRENT_OWNER];
    bool here = project_offers(who->repo, k->f[F_REPO_PATH]);
    bool mine = who->name.p && actor_is(who, owner);
    bool begun = k->status == TASK_IN_PROGRESS;
    bool left = k->gone || (k->lease_expired && k->sight != SIGHT_ALIVE);
    bool handed = k->status == TASK_HANDOFF_READY &&
                  actor_reached(who, owner) && (here || mine);

    if (k->garbled)
        return false;
    switch (part) {
    case BRIEF_LOST:
        return b->goes_on && begun && !mine &&
               actor_is(who, raw_member(k->f[F_TAKEOVER], "from_agent"));
    case BRIEF_MINE:
        return mine && begun;
    case BRIEF_LEFT:
        return here && begun && !mine && actor_is_kin(who, owner) &&
               (left || b->goes_on);
    case BRIEF_HANDED:
        return handed;
    case BRIEF_OTHERS:
        return here && k->gone && !mine && !actor_is_kin(who, owner);
    case BRIEF_READY:
        return here && k->ready && !handed && !(mine && begun) &&
               !brief_has(b, BRIEF_LEFT, k) &&
               (!who->name.p || may(who, k, ACT_CLAIM) == MAY_YES);
    case BRIEF_N_PARTS:
        break;
    }
    return false;
}

/* Appends ", word " and a stored text (raw), if there is one. */
static void
put_stored(struct buf *out, struct arena *a, const char *word, struct str raw)
{
    struct str s = raw_text(a, raw);

    if (s.len == 0)
        return;
    buf_z(out, word);
    view_plain(out, s, MAX_LINE, ' ');
}

void
brief_put(struct buf *out, struct arena *a, const struct brief *b,
          enum brief_part part, const struct task *k, bool prompts)
{
    struct str handoff = k->f[F_HANDOFF], taken = k->f[F_TAKEOVER];
    struct str prompt = STR_NONE;

    buf_printf(out, "- %.*s (P%.*s)", STR_ARG(k->ev.id),
               STR_ARG(k->f[F_PRIORITY]));
    put_stored(out, a, " ", k->f[F_TITLE]);
    /* What is not the agent's own: ", by anna, held by codex-01c709ed" or, of a
       task that was handed over, ", from codex-01c709ed: the context is
       full". */
    if (!actor_is(&b->who, k->f[F_CREATED_BY]) && part != BRIEF_LOST)
        put_stored(out, a, ", by ", k->f[F_CREATED_BY]);
    if (part == BRIEF_LOST) {
        put_stored(out, a, ", by ", raw_member(taken, "agent"));
        put_stored(out, a, ": ", raw_member(taken, "reason"));
    }
    if (part == BRIEF_LEFT)
        put_stored(out, a, ", held by ", k->f[F_CURRENT_OWNER]);
    if (part == BRIEF_OTHERS) {
        buf_z(out, ", ");
        view_plain(out, task_was(a, k, b->now_ms), MAX_LINE, ' ');
        buf_printf(out, "; else free at %.8sZ", time_text(k->until_ms) + 11);
    }
    if (k->status == TASK_HANDOFF_READY) {
        put_stored(out, a, ", from ", raw_member(handoff, "from_agent"));
        put_stored(out, a, ": ", raw_member(handoff, "reason"));
    }
    buf_char(out, '\n');
    if (prompts && (part == BRIEF_MINE || part == BRIEF_LEFT))
        prompt = utf8_cut(raw_text(a, k->f[F_RESUME_PROMPT]), MAX_PROMPT);
    while (prompt.len > 0) {
        buf_z(out, "  > ");
        view_plain(out, str_cut(&prompt, '\n'), MAX_PROMPT, ' ');
        buf_char(out, '\n');
    }
}
