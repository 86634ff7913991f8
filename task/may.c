/* may - who holds a task, who may do what to it, why not, and what to do next.

   1. Only a live lease locks. Two sessions of one name are two agents as long
      as the one with the lease is seen to live; what is unknown never refuses
      the name. Names that nobody chose, and words for the client, are one agent
      within a session and, where the holder is not seen to live, within a
      client; a claim does not make them one.
   2. All else is a preference: what a holder that is gone left, for its
      client's next session; what was handed to somebody; an owner without a
      lease; and of an open task its owner. task/event.h has their clocks.
      Takeover passes by them, and a person's by leases, too.
   3. Preferences keep out claims, and changes that begin or hand over the task.
      What was left keeps out all changes.
   4. What is only said, an answer, a message or a request to stop, changes no
      work, so any agent may say it until the task has ended.
   5. The agent that asked does not answer: neither under that name, nor from
      that session under another one, nor without a name from that client. The
      user of the client may, and so may a person at a command line or, without
      tokens, at the page, whatever name they go by. docs/security.md has the
      table of who may answer. */

#include "task/may.h"
#include "base/clock.h"

#define OLD_STEM 20 /* bytes of a client's name in the names of 0.2.0 */

/* ---- who is who ---- */

bool
actor_is_named(const struct task_actor *who)
{
    return who->name.p && !str_is(who->name, "\"unknown\"");
}

bool
actor_is(const struct task_actor *who, struct str name)
{
    return name.p && str_eq(name, who->name);
}

bool
actor_reached(const struct task_actor *who, struct str word)
{
    struct str name = raw_inner(who->name);
    struct name_agent me = {.name = name};

    if (!word.p || !who->name.p)
        return false;
    word = raw_inner(word);
    if (who->has_token && who->has_token(who->of, word))
        return str_eq(word, who->principal);
    /* Its name is the default one of its product, or a hook's, which has a word
       for that. */
    if (name_says_product(who->client) &&
        name_is_product(name_stem(name), who->client))
        me.product = who->client;
    return name_reaches(word, &me);
}

struct task_holder
task_holder_of(const struct task *k)
{
    struct str lease = k->f[F_LEASE];
    struct str session = raw_inner(raw_member(lease, "session"));

    return (struct task_holder){.name = raw_member(lease, "agent"),
                                .session = session.p ? session : STR(""),
                                .client = raw_inner(raw_member(lease,
                                                               "client")),
                                .sight = k->sight,
                                .runs = k->leased,
                                .gone = k->gone};
}

bool
actor_is_session(const struct task_actor *who, struct str session)
{
    return session.len > 0 && who->session.len > 0 &&
           who->is_same(session, who->session);
}

/* Whether name (raw) is one that sessions of this product have by default, or
   from a hook, which has a word for it; or is a word for all of them. */
static bool
is_default(struct str name, struct str client)
{
    struct str text = raw_inner(name), stem = name_stem(text);

    if (!name_says_product(client))
        return str_is(stem, "agent");
    return name_covers(stem.len > 0 ? stem : text, client);
}

/* Whether the lease was taken by the caller's client, under a default name or,
   where the client is not known, for its product. */
static bool
is_of_client(const struct task_actor *who, const struct task_holder *h)
{
    struct str cut = who->client; /* as in names of 0.2.0 */

    cut.len = cut.len < OLD_STEM ? cut.len : OLD_STEM;
    if (who->client.len == 0 ||
        (h->client.p && !name_is_product(h->client, who->client)))
        return false;
    return is_default(h->name, who->client) ||
           (!h->client.p && name_is_product(name_stem(raw_inner(h->name)),
                                            cut));
}

/* Whether name (raw) is not one that somebody chose: the session's own, or its
   client's with or without digits, as hooks make them. */
static bool
is_of_session(const struct task_actor *who, struct str name)
{
    struct str text = raw_inner(name), stem = name_stem(text);

    return (who->self.len > 0 && str_eq(text, who->self)) ||
           (name_says_product(who->client) &&
            name_is_product(stem.len > 0 ? stem : text, who->client));
}

enum task_hold
actor_hold(const struct task_actor *who, const struct task_holder *h)
{
    bool same = actor_is_session(who, h->session);
    bool runs = str_is(who->client, TASK_RUN_CLIENT) ||
                str_is(h->client, TASK_RUN_CLIENT);
    bool elsewhere = h->runs && !h->gone && h->sight == SIGHT_ALIVE &&
                     !same && !runs; /* its command is no other agent */

    if (actor_is(who, h->name))
        return elsewhere && who->session.len > 0 ? HOLD_TWIN : HOLD_OWN;
    if (h->name.p && same && (is_of_session(who, h->name) ||
                              is_of_session(who, who->name)))
        return HOLD_SESSION;
    if (h->name.p && who->unnamed && !elsewhere && is_of_client(who, h))
        return HOLD_CLIENT;
    return h->runs ? HOLD_OTHER : HOLD_NONE;
}

bool
actor_has_token_name(const struct task_actor *who, struct str name)
{
    struct str text = raw_inner(name);

    return str_eq(text, who->principal) ||
           (str_eq(name_stem(text), who->principal) &&
            !(who->has_token && who->has_token(who->of, text)));
}

bool
actor_inherits(const struct task_actor *who, const struct task_holder *h)
{
    if (!h->name.p || (h->runs && !h->gone) ||
        (h->client.p && !name_is_product(h->client, who->client)) ||
        !name_says_product(who->client))
        return false;
    return who->principal.len > 0 ? actor_has_token_name(who, h->name)
                                  : is_default(h->name, who->client);
}

bool
actor_is_kin(const struct task_actor *who, struct str name)
{
    struct name_agent agent = name_agent_of(raw_inner(name));

    return agent.product.len > 0 &&
           (str_eq(agent.product, name_stem(raw_inner(who->name))) ||
            (name_says_product(who->client) &&
             name_reaches(who->client, &agent)));
}

struct str
actor_loss(struct arena *a, const struct task_actor *who, struct str takeover)
{
    struct str by = raw_member(takeover, "agent");
    struct str at = raw_member(takeover, "at");
    struct str reason = raw_member(takeover, "reason");

    if (!actor_is(who, raw_member(takeover, "from_agent")) || !by.p)
        return STR_NONE;
    return arena_printf(a, "{\"by\":%.*s%s%.*s%s%.*s}", STR_ARG(by),
                        at.p ? ",\"at\":" : "", STR_ARG(at),
                        reason.p ? ",\"reason\":" : "", STR_ARG(reason));
}

bool
actor_gave(const struct task_actor *who, const struct task *k)
{
    return k->status == TASK_HANDOFF_READY &&
           actor_is(who, raw_member(k->f[F_HANDOFF], "from_agent"));
}

struct str
actor_clash(const struct task_actor *who, const struct task *k)
{
    struct str item = STR_NONE;

    while ((item = raw_list_next(k->clashes, item)).p &&
           actor_is(who, raw_member(item, "agent")))
        ;
    return item;
}

/* ---- who may do what ---- */

/* Whether, and how, the task is somebody else's: invariants 1 and 2. */
static enum task_may
judge_holder(const struct task_actor *who, const struct task *k, bool claims)
{
    struct str owner = k->f[F_CURRENT_OWNER];
    struct task_holder holder = task_holder_of(k);
    enum task_hold hold = actor_hold(who, &holder);
    /* So agents of 0.2.0 called themselves, and so people write. */
    bool word = owner.p && name_says_product(who->client) &&
                name_covers(raw_inner(owner), who->client);

    /* A claim without a name would make two holders of one lease. One for the
       product has none yet, and is the first session's that claims it. */
    if (hold == HOLD_CLIENT && claims && holder.runs &&
        (holder.client.p || !word))
        hold = HOLD_OTHER;
    if (hold == HOLD_OTHER && claims && actor_inherits(who, &holder))
        return MAY_YES;
    if (hold == HOLD_OTHER)
        return holder.gone ? MAY_NOT_LEFT : MAY_NOT_LEASED;
    if (hold == HOLD_TWIN)
        return MAY_NOT_TWIN;
    if (!k->kept || actor_is(who, owner) || (who->unnamed && word) ||
        (k->status != TASK_IN_PROGRESS && actor_reached(who, owner)))
        return MAY_YES;
    return MAY_NOT_KEPT;
}

/* An agent that works on the task already may go on. */
static enum task_may
judge_blockers(const struct task_actor *who, const struct task *k,
               enum task_act what)
{
    if (!k->blocked ||
        (what != ACT_BEGIN && k->status == TASK_IN_PROGRESS &&
         actor_is(who, k->f[F_CURRENT_OWNER])))
        return MAY_YES;
    return k->deps_failed.p ? MAY_NOT_FAILED : MAY_NOT_BLOCKED;
}

/* The only function that judges a claim. Paths are advice: a reason to pass by
   it is enough. A person need not wait for a time either. */
static enum task_may
judge_claim(const struct task_actor *who, const struct task *k, bool takes)
{
    enum task_may answer = judge_holder(who, k, true);

    if (takes && (answer != MAY_NOT_LEASED || who->person))
        answer = MAY_YES;
    if (answer == MAY_YES && k->early && !(takes && who->person))
        answer = MAY_NOT_YET;
    if (answer == MAY_YES)
        answer = judge_blockers(who, k, ACT_CLAIM);
    return answer == MAY_YES && !takes && actor_clash(who, k).p
               ? MAY_NOT_BESIDE : answer;
}

/* The only function that judges a write: invariant 3. A person hands over what
   another agent works on, too. */
static enum task_may
judge_write(const struct task_actor *who, const struct task *k,
            enum task_act what)
{
    bool hands = what == ACT_HAND_OVER, takes_up = what == ACT_TAKE_UP;
    bool begins = what == ACT_BEGIN || takes_up;
    enum task_may answer = judge_holder(who, k, false);

    if (who->ownership_warn ||
        (answer == MAY_NOT_KEPT && !hands && !takes_up) ||
        (hands && who->person))
        answer = MAY_YES;
    if (answer == MAY_YES && begins && k->early)
        answer = MAY_NOT_YET;
    if (answer == MAY_YES && what == ACT_BEGIN)
        answer = judge_blockers(who, k, what);
    return answer == MAY_YES && begins && actor_clash(who, k).p
               ? MAY_NOT_BESIDE : answer;
}

enum task_may
may(const struct task_actor *who, const struct task *k, enum task_act what)
{
    bool claims = what == ACT_CLAIM || what == ACT_TAKE_OVER;

    if (claims && !actor_is_named(who))
        return MAY_NOT_UNNAMED;
    if (!k)
        return MAY_YES;
    if (task_status_ended(k->status) && what != ACT_REOPEN)
        return MAY_NOT_ENDED;
    if (what == ACT_SAY)
        return MAY_YES;
    return claims ? judge_claim(who, k, what == ACT_TAKE_OVER)
                  : judge_write(who, k, what);
}

/* ---- why not, and what next ---- */

/* A time as a raw string, in the arena of c. */
static struct str
raw_time(struct task_ctx *c, int64_t ms)
{
    return arena_printf(c->a, "\"%s\"", time_text(ms));
}

int
may_refuse(struct task_ctx *c, const struct task *k, enum task_may why)
{
    struct task_error *e = &c->e;
    struct str lease, clash;
    const char *text;

    switch (why) {
    case MAY_YES:
        return 0;
    case MAY_NOT_UNNAMED:
        task_fail(c, ERR_INVALID, "agent", "the name unknown cannot hold "
                  "a lease");
        return task_next(c, "pass your own name as agent");
    case MAY_NOT_ENDED:
        return task_fail(c, ERR_TERMINAL, NULL, "the task is %s and cannot "
                         "be changed", task_status_name(k->status));
    case MAY_NOT_LEASED:
    case MAY_NOT_TWIN:
        lease = k->f[F_LEASE];
        if (why == MAY_NOT_TWIN) {
            task_fail(c, ERR_LEASE, NULL, "another session with this agent "
                      "name holds the lease");
            task_next(c, "call claim_task with a different agent name, or with "
                      "takeover and a reason");
        } else {
            task_fail(c, ERR_LEASE, NULL, "another agent holds a lease on the "
                      "task %.*s until %.*s", STR_ARG(k->ev.id),
                      STR_ARG(raw_inner(raw_member(lease, "expires_at"))));
        }
        e->holder = raw_member(lease, "agent");
        e->expires = raw_member(lease, "expires_at");
        e->taken = actor_loss(c->a, &c->who, k->f[F_TAKEOVER]);
        break;
    case MAY_NOT_LEFT:
    case MAY_NOT_KEPT:
        text = "another agent is working on it, without a lease";
        if (k->gone)
            text = "the agent that worked on it has exited, but may come back";
        else if (k->status == TASK_HANDOFF_READY)
            text = "it was handed over to another agent";
        else if (k->status == TASK_OPEN)
            text = "it is meant for another agent";
        task_fail(c, ERR_KEPT, "agent", "%s", text);
        e->holder = k->f[F_CURRENT_OWNER];
        e->gone = k->gone;
        e->taken = actor_loss(c->a, &c->who, k->f[F_TAKEOVER]);
        if (k->until_ms == 0)
            break;
        task_next(c, "claim another task, or this one after expires_at; if "
                  "that agent will not come, claim it with takeover and a "
                  "reason");
        e->expires = raw_time(c, k->until_ms);
        break;
    case MAY_NOT_YET:
        task_fail(c, ERR_BLOCKED, "not_before", "work on the task may not "
                  "start before %.*s", STR_ARG(raw_inner(k->f[F_NOT_BEFORE])));
        task_next(c, "claim another task, wait for this one with wait_seconds, "
                  "or call update_task with clear [\"not_before\"] to make it "
                  "ready now");
        e->expires = k->f[F_NOT_BEFORE];
        e->for_now = true;
        break;
    case MAY_NOT_BESIDE:
        clash = actor_clash(&c->who, k);
        task_fail(c, ERR_BLOCKED, "paths", "another agent is working on the "
                  "task %.*s, whose paths overlap those of this one",
                  STR_ARG(raw_inner(raw_member(clash, "task_id"))));
        task_next(c, "claim another task, wait for this one with wait_seconds, "
                  "or claim it with takeover and a reason");
        e->holder = raw_member(clash, "agent");
        e->expires = raw_time(c, k->clash_ms);
        e->for_now = true;
        break;
    case MAY_NOT_FAILED:
        task_fail(c, ERR_BLOCKED, NULL, "it depends on %.*s, which failed or "
                  "was cancelled",
                  STR_ARG(raw_inner(raw_list_next(k->deps_failed, STR_NONE))));
        task_next(c, "call update_task to reopen that task (status and "
                  "reason), or to remove it from depends_on");
        e->blocked_by = k->blocked_by;
        e->deps_failed = k->deps_failed;
        break;
    case MAY_NOT_BLOCKED:
        task_fail(c, ERR_BLOCKED, NULL, "tasks that it depends on are not "
                  "done");
        e->blocked_by = k->blocked_by;
        e->deps_failed = k->deps_failed;
        break;
    }
    return e->code;
}

bool
may_later(const struct task_error *e)
{
    return e->code == ERR_LEASE || e->code == ERR_KEPT ||
           (e->code == ERR_BLOCKED && !e->deps_failed.p);
}

/* ---- who may answer ---- */

/* Whether the caller asked the question. Those of 0.3.0 have a name only. */
static bool
is_asker(const struct task_actor *who, struct str asked)
{
    struct str by = raw_member(asked, "by");
    struct str session = raw_inner(raw_member(asked, "session"));
    struct str client = raw_inner(raw_member(asked, "client"));

    if ((actor_is_named(who) && actor_is(who, by)) ||
        actor_is_session(who, session))
        return true;
    return who->unnamed && who->client.len > 0 &&
           name_is_product(client.p ? client : name_stem(raw_inner(by)),
                           who->client);
}

enum answer_may
answer_may(const struct task_actor *who, struct str asked, bool user)
{
    struct str to = raw_member(asked, "to");

    if (user)
        return !to.p || raw_member(asked, "own").p ? ANSWER_YES
                                                   : ANSWER_NOT_ADDRESSED;
    if ((!who->person || who->principal.len > 0) && is_asker(who, asked))
        return ANSWER_WITHDRAW;
    if (who->person)
        return ANSWER_YES;
    if (to.p)
        return actor_reached(who, to) ? ANSWER_YES : ANSWER_NOT_ADDRESSED;
    return str_is(raw_member(asked, "kind"), "\"approval\"")
               ? ANSWER_NOT_PERSON : ANSWER_YES;
}

int
answer_refuse(struct task_ctx *c, enum answer_may why)
{
    static const struct {
        const char *message, *next;
    } texts[] = {
        [ANSWER_WITHDRAW] = {
            "you asked this question, so you cannot answer it",
            "call wait_for_task with until answered; to withdraw the question, "
            "pass action decline"},
        [ANSWER_NOT_ADDRESSED] = {
            "the question is addressed to another agent or to a person",
            "leave it to the name in its to, which get_task has; if that is "
            "your name, pass it as agent"},
        [ANSWER_NOT_PERSON] = {
            "this approval is for a person to decide",
            "leave it to a person, who answers on the page or with mcptask "
            "answer"},
    };

    if (why == ANSWER_YES)
        return 0;
    task_fail(c, ERR_NOT_YOURS, NULL, "%s", texts[why].message);
    return task_next(c, texts[why].next);
}
