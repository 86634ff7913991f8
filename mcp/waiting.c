/* waiting - the list of messages that wait, for what each waits, and how
   clients cancel them.

   Invariants:
   1. mcp_next returns a message once until it waits again. A cancelled message
      gets no answer.
   2. Up to MCP_MAX_WAITING messages of a session wait, and MCP_WAITING_LEN
      bytes of all, of which share_fits limits each principal; at most the
      messages of one turn exceed that.
   3. A waiting message keeps its text, its call, and the state of its last run:
      nothing else outlives the turn of a run.
   4. Of the messages that go on with a long search (mcp_go_on) one is out at a
      time, and only as the last in the list; one that begins meanwhile takes
      one step. So other requests wait for one slice, not for all searches. */

#include "mcp/waiting.h"

/* The bytes that all messages of a principal keep. */
static size_t
waiting_of(const struct mcp *m, struct str principal)
{
    size_t n = 0;

    for (const struct mcp_message *k = m->waiting; k != NULL; k = k->next)
        if (str_eq(k->v->call.principal, principal))
            n += k->len;
    return n;
}

/* Invariant 2. */
bool
mcp_may_wait(const struct request *r)
{
    const struct mcp_message *m = r->m;
    size_t len = m->text.len;

    return m->at != NULL ||
           (m->s->n_waiting < MCP_MAX_WAITING &&
            share_fits(waiting_of(m->m, r->call.principal) + len,
                       m->m->waiting_len + len, MCP_WAITING_LEN));
}

/* ---- messages that wait ---- */

/* Counts the bytes that k keeps. */
static void
count(struct mcp_message *k)
{
    size_t len = sizeof(*k) + arena_size(&k->own) + k->state.cap;

    k->m->waiting_len += len - k->len;
    k->len = len;
}

void
mcp_waiting_cut(struct mcp_message *k)
{
    if (k->at != NULL)
        *k->at = k->next;
    if (k->at != NULL && k->next != NULL)
        k->next->at = k->at;
    if (k->m->going == k)
        k->m->going = NULL;
    k->given = false;
}

int
mcp_wait_again(struct mcp_message *k, const struct request *r)
{
    const struct run *run = &r->run;
    struct str watch = run->watch, name;
    struct request *own = k->v;

    buf_reset(&k->state, 0);
    buf_put(&k->state, run->state.p, run->state.len);
    if (k->state.err != 0)
        return ERR_NOMEM;
    own->told = run->telling;
    own->run.goes_on = run->goes_on;
    own->run.poll_ms = run->poll_ms;
    own->call.since = run->goes_on ? r->call.since : run->seen;
    own->call.round = r->call.round + 1;
    own->call.state = buf_view(&k->state);
    k->due_ms = run->wait_ms < 0 ? INT64_MAX : clock_mono_ms() + run->wait_ms;
    for (size_t i = 0; i < CALL_NAMES_MAX; i++) {
        name = call_next_name(&watch);
        k->watch[i] = name.len > 0 ? str_hash(name) : 0;
    }
    /* Its event may be among the later commits of its turn. */
    k->ready = k->cancelled ||
               (k->watch[0] != 0 && mcp_head(k->m) > run->seen);
    count(k);
    /* A message that is run again moves to the front: invariant 4. */
    mcp_waiting_cut(k);
    k->at = &k->m->waiting;
    k->next = k->m->waiting;
    if (k->next != NULL)
        k->next->at = &k->next;
    k->m->waiting = k;
    return 0;
}

/* The hashes of a record's key and other names. */
static size_t
hash_names(const struct mcp *m, const struct mcp_change *c,
           uint64_t hash[1 + CALL_OWN_MAX])
{
    char buf[CALL_WATCH_MAX];
    struct str names = STR_NONE, name;
    size_t n = 0;

    hash[n++] = str_hash(c->key);
    if (m->cat->alias != NULL)
        names = m->cat->alias(c->key, c->body, buf);
    while (n <= CALL_OWN_MAX && (name = call_next_name(&names)).p != NULL)
        hash[n++] = str_hash(name);
    return n;
}

void
mcp_wake(struct mcp *m, const struct mcp_change *c)
{
    uint64_t hash[1 + CALL_OWN_MAX];
    size_t n = 0;

    for (struct mcp_message *k = m->waiting; k != NULL; k = k->next) {
        if (k->watch[0] == 0)
            continue;
        if (n == 0)
            n = hash_names(m, c, hash);
        for (size_t i = 0; i < n; i++)
            k->ready |= hash[i] == k->watch[0] || hash[i] == k->watch[1];
    }
}

/* Whether mcp_next must not return k now. */
static bool
is_out(const struct mcp_message *k)
{
    return k->given || (k->v->run.goes_on && k->m->going != NULL);
}

/* Whether k is a search of the principal who had the last one. */
static bool
is_last_looker(const struct mcp_message *k)
{
    return k->v->run.goes_on &&
           str_hash(k->v->call.principal) == k->m->last_looker;
}

/* The message that has waited longest comes first; but no principal gets two
   searches in a row while another has one. */
void *
mcp_next(struct mcp *m, int64_t now_ms, struct mcp_message **out)
{
    struct mcp_message *k, *found = NULL;

    for (k = m->waiting; k != NULL; k = k->next)
        if (!is_out(k) && (k->ready || k->due_ms <= now_ms) &&
            (found == NULL || !is_last_looker(k) || is_last_looker(found)))
            found = k;
    if (found == NULL)
        return NULL;
    if (found->v->run.goes_on) {
        m->going = found;
        m->last_looker = str_hash(found->v->call.principal);
    }
    found->given = true;
    *out = found;
    return found->owner;
}

int64_t
mcp_waiting_due_ms(const struct mcp *m)
{
    int64_t due = INT64_MAX;

    for (const struct mcp_message *k = m->waiting; k != NULL; k = k->next) {
        int64_t at = k->ready ? 0 : k->due_ms;

        if (!is_out(k) && at < due)
            due = at;
    }
    return due;
}

unsigned
mcp_polls(const struct mcp_message *m)
{
    return m->v->run.poll_ms;
}

/* ---- what clients say to messages that wait ---- */

void
mcp_take_cancel(struct request *r, const struct json_tok *params)
{
    const struct json_tok *id = json_get(params, "requestId");
    const struct mcp_session *s = r->m->s;
    struct mcp_message *k = s->n_waiting > 0 ? s->m->waiting : NULL;

    if (!mcp_is_id(id))
        return;
    for (; k != NULL; k = k->next) {
        if (k->s == s && str_eq(k->v->id, json_raw(id))) {
            k->cancelled = k->ready = true;
            return;
        }
    }
    r->cancels = json_raw(id);
}

bool
mcp_cancels(const struct mcp_message *by)
{
    for (size_t i = 0; i < by->n; i++)
        if (by->v[i].cancels.p != NULL)
            return true;
    return false;
}

/* Whether r can still be dropped: initialize has taken effect already, and a
   call may have prepared files. */
static bool
can_cancel(const struct request *r)
{
    return !r->no_reply && !str_is(r->name, "initialize") &&
           (r->tool == NULL || r->tool->prepare == NULL);
}

void
mcp_cancel(struct mcp_message *m, const struct mcp_message *by)
{
    for (size_t i = 0; i < m->n && m->s == by->s; i++)
        for (size_t k = 0; k < by->n; k++)
            if (by->v[k].cancels.p != NULL && can_cancel(&m->v[i]) &&
                str_eq(m->v[i].id, by->v[k].cancels))
                m->v[i].no_reply = true;
}
