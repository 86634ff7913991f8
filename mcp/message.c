/* message - the list of all messages: their states, for what each waits, and
   how clients cancel them.

   A message has memory of its own from mcp_accept to mcp_release: its text,
   what judging found in it, and what its client may still get to know. So one
   that has to wait simply stays. Its first run may begin in the turn in which
   it came, and the last one hours later:

     QUEUED --mcp_run--> RUN --answered--> mcp_release
       ^                  |
       +---mcp_next--- WAITS or GOES_ON (mcp_keep)

   A commit that fails runs a message once more without leaving RUN. What a run
   made is in the memory of the turn, which ends with it, so mcp_keep copies the
   little that the next run needs: the state of the call, and hashes of the
   names that it watches.

   Invariants:
   1. mcp_next returns a message once until it waits again. A cancelled message
      gets no answer.
   2. Up to MCP_MAX_WAITING messages of a session wait, and MCP_WAITING_LEN
      bytes of all, of which share_fits limits each principal; at most the
      messages of one turn exceed that. A message that was run again still
      counts as one that waits.
   3. The newest message comes first in the list, and of those that wait the
      one that began to wait last.
   4. Of the messages that go on with a long search (mcp_go_on) one is out at a
      time, and only as the last in the list; one that begins meanwhile takes
      one step. So other requests wait for one slice, not for all searches. */

#include "mcp/message.h"


/* ---- the list ---- */

struct mcp_message *
mcp_message_new(struct mcp *m)
{
    struct arena a = {0};
    struct mcp_message *k = arena_alloc(&a, sizeof(*k));

    if (k == NULL)
        return NULL;
    *k = (struct mcp_message){
        .m = m,
        .own = a,
        .a = &k->own,
        .s = &k->scratch,
        .scratch.log_level = MCP_LOG_DEFAULT,
    };
    return k;
}

/* Invariant 3. */
static void
put_message_first(struct mcp_message *k)
{
    k->at = &k->m->messages;
    k->next = *k->at;
    if (k->next != NULL)
        k->next->at = &k->next;
    *k->at = k;
}

static void
cut_message(struct mcp_message *k)
{
    *k->at = k->next;
    if (k->next != NULL)
        k->next->at = k->at;
    if (k->m->going == k)
        k->m->going = NULL;
}

/* Its session stays in memory until it is released. */
void
mcp_message_queue(struct mcp_message *m)
{
    put_message_first(m);
    m->s->n_queued++;
}

size_t
mcp_judged_len(const struct mcp_message *m)
{
    return arena_size(&m->own);
}

void
mcp_release(struct mcp_message *m)
{
    struct arena own = m->own;

    if (m->at != NULL) {
        cut_message(m);
        m->s->n_waiting -= m->waited;
        m->s->n_queued -= !m->waited;
        m->m->counts.waiting -= m->waited;
        m->m->waiting_len -= m->len;
    }
    if (m->n > 0 && m->v->listen != NULL)
        mcp_listen_end(m);
    buf_fini(&m->text);
    buf_fini(&m->next_state);
    arena_fini(&own);
}

/* ---- messages that wait ---- */

bool
mcp_is_waiting(const struct mcp_message *k)
{
    return k->state >= MESSAGE_WAITS;
}

/* Invariant 2. */
bool
mcp_may_wait(const struct request *r)
{
    const struct mcp_message *m = r->m;
    size_t len = m->text.len, own = len; /* of its principal */

    if (m->waited)
        return true;
    for (const struct mcp_message *k = m->m->messages; k != NULL; k = k->next)
        if (k->waited && str_eq(k->v->call.principal, r->call.principal))
            own += k->len;
    return m->s->n_waiting < MCP_MAX_WAITING &&
           share_fits(own, m->m->waiting_len + len, MCP_WAITING_LEN);
}

/* Copies what the next run needs of the last one: see the top. */
int
mcp_keep(struct mcp_message *m, struct mcp_channel *channel, void *owner)
{
    struct request *r = m->v;
    struct run *run = &r->run;
    size_t len;

    if (!m->waited && r->runs_as.len > 0)
        r->runs_as = arena_str(m->a, r->runs_as);
    buf_reset(&m->next_state, 0);
    buf_str(&m->next_state, run->state);
    if (m->next_state.err != 0 || (r->runs_as.len > 0 && r->runs_as.p == NULL))
        return ERR_NOMEM;
    r->progress = run->progress;
    r->call.state = buf_view(&m->next_state);
    r->call.round++;
    if (!run->goes_on)
        r->call.since = run->seen;
    for (size_t i = 0; i < CALL_NAMES_MAX; i++) {
        struct str name = call_next_name(&run->watch);

        m->watch[i] = name.len > 0 ? str_hash(name) : 0;
    }
    run->state = run->watch = STR_NONE;
    m->channel = channel;
    m->owner = owner;
    m->due_ms = run->wait_ms < 0 ? INT64_MAX : clock_mono_ms() + run->wait_ms;
    /* Its event may be among the later commits of its turn. */
    m->ready = m->cancelled ||
               (m->watch[0] != 0 && mcp_head(m->m) > run->seen);
    m->state = run->goes_on ? MESSAGE_GOES_ON : MESSAGE_WAITS;
    len = arena_size(&m->own) + m->text.cap + m->next_state.cap;
    m->m->waiting_len += len - m->len;
    m->len = len;
    cut_message(m);
    put_message_first(m);
    if (m->waited)
        return 0;
    m->waited = true;
    m->s->n_queued--;
    m->s->n_waiting++;
    m->m->counts.waiting++;
    if (r->listen != NULL)
        mcp_listen_begin(m);
    return 0;
}

void
mcp_wake(struct mcp *m, const struct mcp_change *c)
{
    uint64_t hash[1 + CALL_OWN_MAX]; /* of the record's key and other names */
    struct str names = STR_NONE, name;
    char buf[CALL_WATCH_MAX];
    size_t n = 0;

    for (struct mcp_message *k = m->messages; k != NULL; k = k->next) {
        if (k->watch[0] == 0)
            continue;
        if (n == 0) {
            hash[n++] = str_hash(c->key);
            if (m->cat->alias != NULL)
                names = m->cat->alias(c->key, c->body, buf);
            while (n <= CALL_OWN_MAX &&
                   (name = call_next_name(&names)).p != NULL)
                hash[n++] = str_hash(name);
        }
        for (size_t i = 0; i < n; i++)
            k->ready |= hash[i] == k->watch[0] || hash[i] == k->watch[1];
    }
}

/* Whether mcp_next may return k now, if it is due: invariant 4. */
static bool
may_go_on(const struct mcp_message *k)
{
    return k->state == MESSAGE_WAITS ||
           (k->state == MESSAGE_GOES_ON && k->m->going == NULL);
}

/* Whether k is a search of the principal who had the last one. */
static bool
is_last_looker(const struct mcp_message *k)
{
    return k->state == MESSAGE_GOES_ON &&
           str_hash(k->v->call.principal) == k->m->last_looker;
}

/* The message that has waited longest comes first; but no principal gets two
   searches in a row while another has one. */
void *
mcp_next(struct mcp *m, int64_t now_ms, struct mcp_message **out)
{
    struct mcp_message *k, *found = NULL;

    for (k = m->messages; k != NULL; k = k->next)
        if (may_go_on(k) && (k->ready || k->due_ms <= now_ms) &&
            (found == NULL || !is_last_looker(k) || is_last_looker(found)))
            found = k;
    if (found == NULL)
        return NULL;
    if (found->state == MESSAGE_GOES_ON) {
        m->going = found;
        m->last_looker = str_hash(found->v->call.principal);
    }
    found->state = MESSAGE_QUEUED;
    *out = found;
    return found->owner;
}

int64_t
mcp_waiting_due_ms(const struct mcp *m)
{
    int64_t due = INT64_MAX;

    for (const struct mcp_message *k = m->messages; k != NULL; k = k->next) {
        int64_t at = k->ready ? 0 : k->due_ms;

        if (may_go_on(k) && at < due)
            due = at;
    }
    return due;
}

unsigned
mcp_polls(const struct mcp_message *m)
{
    return m->v->run.poll_ms;
}

bool
mcp_repeats(const struct mcp_message *m, struct mcp_repeat *out)
{
    const struct request *r = m->v;

    *out = (struct mcp_repeat){r->call.since, store_now_ms(m->m->store)};
    return m->http && !m->batch && m->s->id[0] != '\0' && !m->s->sse &&
           r->rev == MCP_2025_11_25 && r->runs_as.len == 0 &&
           !r->task &&
           (r->tool != NULL ? !r->tool->writes
                            : str_is(r->name, "tasks/result"));
}

/* ---- what clients cancel ---- */

/* Cancels the request of k that has this id, if there is one. One that was run
   without having to wait is answered all the same. Of those that are queued,
   initialize has taken effect already, and a call may have prepared files. */
static void
cancel_request(struct mcp_message *k, struct str id)
{
    if (k->waited || k->state == MESSAGE_RUN) {
        if (k->n == 1 && str_eq(k->v->id, id))
            k->cancelled = k->ready = true; /* from mcp_keep on */
        return;
    }
    for (size_t i = 0; i < k->n; i++) {
        struct request *r = &k->v[i];

        if (str_eq(r->id, id) && !str_is(r->name, "initialize") &&
            (r->tool == NULL || r->tool->prepare == NULL))
            r->no_reply = true;
    }
}

void
mcp_take_cancel(struct request *r, const struct json_tok *params)
{
    const struct json_tok *id = json_get(params, "requestId");
    struct mcp_message *k = r->m->m->messages;

    if (!mcp_is_id(id))
        return;
    cancel_request(r->m, json_raw(id)); /* before it in its batch */
    for (; k != NULL; k = k->next)
        if (k->s == r->m->s)
            cancel_request(k, json_raw(id));
}
