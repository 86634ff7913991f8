/* delivery - sends questions of calls to clients of the handshake era, and
   tells such clients of the calls that they made or poll.

   A question waits in its call's record until a session can be asked: one that
   polls the call or waits for its result. The record then names that
   session, so that the question goes to one client at a time, whichever
   process serves it. It is sent after the commit, on the stream of the request
   that waits for it or else on the session's own; its event has a place in the
   log, so a stream that broke gets it again. The id of the request names call,
   question and place: an answer finds its question in any process. The first
   answer counts, even if the call has ended.

   A client that runs questions as tasks is asked for a task, and polled for the
   answer. If it refuses, it is asked once more, without a task; if it refuses
   that too, another session that follows the call is asked. If there is no
   other, the tool learns that there will be no answer.

   Memory holds only which calls a session follows; the rest is in the record.

   So one question goes through five turns, of any processes:

     mcp_request         a run has a question: it is in the record of its call
     mcp_deliver         a session that follows the call takes it: the record
                         names the session
     mcp_delivery_tick   that is committed: the request goes out
     mcp_take_answer     its answer is in the record, and marks the call
     mcp_run_marked      before that commit the call is run again and finds it

   A process that dies between two of them leaves a record that says how far it
   came. What a turn stages is not sent in it, since its commit may fail; the
   tick after the turn compares the record with what the session was sent
   (sent_n, sent_status, and a bit for each question that needs more).

   Invariants:
   1. A question is delivered to at most one session that can be reached. A
      delivery is void once its process is gone, or its session cannot be
      reached.
   2. Only committed data is sent: it follows from the record.
   3. A session gets a question once, and again only if its Last-Event-ID shows
      that it missed it. */

#include "mcp/delivery.h"
#include "base/clock.h"
#include "base/text.h"
#include "mcp/dialect.h"
#include "mcp/message.h"

#include <stdlib.h>
#include <string.h>

#define CHECK_MS 1000      /* how often followed calls are checked */
#define MAX_FOLLOWS 256    /* calls that one session follows */
#define SEND_MS 50         /* for a client to take in what it polled */
#define FIRST_PLACE (MCP_LIST_PLACE + 1) /* of question 0 of a record */

/* ---- whom to ask ---- */

/* Whether a question is delivered to s, or was when its server died: then its
   client may still have it. The client of another pipe can only have it as a
   task. */
bool
mcp_was_delivered_to(const struct mcp_session *s, const struct mcp_delivery *h)
{
    uint64_t by = (uint64_t)h->by;
    bool lasts = h->to.len > 0 ||
                 (h->task.p != NULL && (s->caps & MCP_CLIENT_TASKS));

    /* The scratch session has no m. */
    return h->n != 0 && s->m != NULL && str_is(h->to, s->id) &&
           (by == store_instance(s->m->store) ||
            (lasts && !store_alive(s->m->store, by)));
}

/* What to do about a question for a session that follows its call. 0: nothing;
   1: ask the session; 2: a process that is gone has asked it. */
static int
wants_delivery(const struct mcp_session *s, const struct mcp_follow *at,
               const struct mcp_question *q)
{
    struct mcp *m = s->m;
    uint64_t me = store_instance(m->store);
    struct mcp_delivery h = q->delivery;

    if (q->answer != NULL || me == 0 || q->i >= MCP_MAX_DELIVERED ||
        (mcp_cap_of(q->method) & s->caps) == 0 ||
        (at->refused >> q->i & 1))
        return 0;
    if (mcp_was_delivered_to(s, &h))
        return (uint64_t)h.by == me ? 0 : 2;
    return h.n == 0 || !mcp_delivery_lives(m, &h);
}

/* Whether r waits for a deferred call, and so has a stream for questions. */
static bool
waits_for_call(const struct request *r)
{
    return r->runs_as.len > 0 || str_is(r->name, "tasks/result");
}

/* Whether r's client is told of the call: that of a plain one, only of its
   questions. */
static bool
is_notified(const struct request *r)
{
    return (r->rev == MCP_2025_11_25 || r->runs_as.len > 0) &&
           r->m->s != &r->m->scratch;
}

static bool
takes_requests(const struct request *r)
{
    return is_notified(r) && !r->call.read_only &&
           (r->m->s->news.channels != NULL || waits_for_call(r));
}

struct mcp_follow *
mcp_follow_of(const struct mcp_session *s, struct str id)
{
    struct mcp_follow *at;

    for (at = s->follows; at != NULL && !str_is(id, at->id); at = at->next)
        ;
    return at;
}

/* Delivers q to s, after the commit of that. */
void
mcp_deliver_to(const struct mcp_session *s, struct mcp_question *q)
{
    q->delivery = (struct mcp_delivery){
        .n = (int64_t)store_next_n(s->m->store),
        .by = (int64_t)store_instance(s->m->store),
        .to = str_of(s->id), /* empty: a pipe's */
    };
}

bool
mcp_delivery_wanted(const struct request *r)
{
    return takes_requests(r) &&
           calls_has_questions(r->m->m->calls, mcp_call_of(r));
}

static void
forget_follow(struct mcp_follow **at)
{
    struct mcp_follow *old = *at;

    *at = old->next;
    buf_fini(&old->notes);
    free(old);
}

struct mcp_follow *
mcp_follow_call(struct mcp_session *s, struct str id, enum call_status known)
{
    struct mcp_follow *at = mcp_follow_of(s, id), **last = &s->follows;
    unsigned n = 0;

    if (at != NULL)
        return at;
    while (*last != NULL && (*last)->next != NULL) {
        last = &(*last)->next;
        n++;
    }
    if (n >= MAX_FOLLOWS) /* the oldest */
        forget_follow(last);
    at = malloc(sizeof(*at));
    if (at == NULL)
        return NULL; /* its client is not told, which the protocol allows */
    *at = (struct mcp_follow){
        .next = s->follows,
        .sent_status = known,
        /* An earlier process has sent what there was. */
        .own = true,
        .sent_n = mcp_head(s->m),
    };
    memcpy(at->id, id.p, CALL_ID_LEN);
    s->follows = at;
    s->m->follows_due = true;
    return at;
}

void
mcp_follow(struct request *r, const struct call *k, bool maker)
{
    struct mcp_session *s = r->m->s;
    struct mcp_follow *at;

    if (!is_notified(r) || call_status_ended(k->status))
        return;
    at = mcp_follow_call(s, k->id, k->status);
    if (at == NULL)
        return;
    at->maker |= maker;
    if (at->sent_text == 0)
        at->sent_text = str_hash(k->message);
}

void
mcp_follow_later(struct mcp_session *s, struct mcp_follow *at)
{
    at->due = true;
    s->m->follows_due = true;
}

/* If staging fails, nothing changes. A marked call is not touched: a new record
   would remove its mark. */
void
mcp_deliver(struct request *r, struct call *k)
{
    struct mcp_session *s = r->m->s;
    struct mcp *m = r->m->m;
    struct mcp_question *all, *q;
    struct mcp_follow *at;
    struct call now = *k;
    bool news = false;

    mcp_follow(r, k, false);
    at = mcp_follow_of(s, k->id);
    if (at != NULL && waits_for_call(r)) {
        at->send_ms = 0;
        m->follows_due |= at->due;
    }
    if (at == NULL || !takes_requests(r) || !store_locked(m->store) ||
        k->status != CALL_INPUT_REQUIRED ||
        calls_is_marked(m->calls, k->id) ||
        mcp_read_questions(r->call.arena, k->questions, &all) != 0)
        return;
    for (q = all; q != NULL; q = q->next) {
        int what = wants_delivery(s, at, q);

        if (what == 1)
            mcp_deliver_to(s, q);
        if (what == 2 && at->sent_n < (uint64_t)q->delivery.n)
            at->sent_n = (uint64_t)q->delivery.n;
        if (what == 2)
            q->delivery.by = (int64_t)store_instance(m->store);
        news |= what != 0;
    }
    if (!news)
        return;
    now.questions = mcp_raw_questions(m, r->call.arena, all);
    if (now.questions.p != NULL && calls_stage(m->calls, &now, "ask") == 0) {
        *k = now;
        if (!waits_for_call(r))
            at->send_ms = clock_mono_ms() + SEND_MS;
        mcp_follow_later(s, at);
    }
}

/* ---- what goes to a client ---- */

/* The request in which s waits for call id, or NULL. */
static const struct mcp_message *
waiter_of(const struct mcp_session *s, struct str id)
{
    for (struct mcp_message *k = s->m->messages; k != NULL; k = k->next)
        if (k->s == s && mcp_is_waiting(k) && !k->cancelled &&
            !k->channel->blocked && waits_for_call(k->v) &&
            str_eq(mcp_call_of(k->v), id))
            return k;
    return NULL;
}

/* The stream of the request in which s waits for call id, else its own stream;
   NULL if it has none now. */
struct mcp_channel *
mcp_channel_of(const struct mcp_session *s, struct str id)
{
    const struct mcp_message *k = waiter_of(s, id);

    if (k != NULL)
        return k->channel;
    return mcp_hears(&s->news) ? s->news.channels : NULL;
}

#define MAX_ID (CALL_ID_LEN + 64) /* of a request of ours */

static void
put_request_id(char id[MAX_ID], char kind, const struct mcp_follow *at,
               const struct mcp_question *q, int64_t place)
{
    text_put(id, MAX_ID, "mcptask-%c.%s.%u.%lld", kind, at->id, q->i,
             (long long)place);
}

/* Sends and frees b. ERR_NOMEM: nothing is sent. */
static int
send_text(struct mcp_channel *to, struct buf *b, struct str event)
{
    int err = b->err;

    if (err == 0)
        mcp_send(to, buf_view(b), event);
    buf_fini(b);
    return err;
}

/* Whether s is asked to run q as a task: such clients may refuse any other
   form. */
bool
mcp_is_task_first(const struct mcp_session *s, const struct mcp_question *q)
{
    return s->rev == MCP_2025_11_25 && (s->caps & MCP_CLIENT_TASKS) &&
           mcp_cap_of(q->method) == MCP_ELICITATION && !q->delivery.bare;
}

/* Sends the question itself, with the task it belongs to if its client knows
   one. On the session's own stream it has a place, so that it can be sent
   again. ERR_NOMEM. */
static int
send_question(const struct mcp_session *s, struct mcp_channel *to,
              struct mcp_follow *at, const struct call *k,
              const struct mcp_question *q)
{
    char id[MAX_ID], event[MCP_EVENT_MAX];
    struct str place = {event, 0};
    struct buf b = {0};
    struct json_w w;

    put_request_id(id, 'c', at, q, q->delivery.n);
    mcp_open_message(&w, &b, id, q->method);
    if (!mcp_is_plain(k))
        mcp_put_related(&w, k->id);
    if (mcp_is_task_first(s, q)) {
        json_put_obj(&w, "task");
        json_put_int(&w, "ttl", CALL_TTL_MS);
        json_close(&w);
    }
    mcp_put_members(&w, q->params);
    mcp_close_message(&w);
    /* On /sse that stream has the answers to requests, too. What belongs to one
       has no place. */
    at->own = to == s->news.channels &&
              !(s->sse && waiter_of(s, str_of(at->id)) != NULL);
    if (at->own && s->id[0] != '\0')
        place.len = mcp_event_id(s, (uint64_t)q->delivery.n, FIRST_PLACE + q->i,
                                 event);
    return send_text(to, &b, place);
}

/* Sends what concerns a question that s was sent: with a task of the client's
   a request about that, to get, result or cancel it, else that it is withdrawn.
   Each request has its own place, since no id may be used twice. */
static void
send_about(struct mcp *m, struct mcp_channel *to, const struct mcp_follow *at,
           const struct mcp_question *q, struct str method)
{
    const struct mcp_delivery *h = &q->delivery;
    bool task = h->task.p != NULL;
    char id[MAX_ID], kind = 'c';
    struct buf b = {0};
    struct json_w w;

    if (task)
        kind = str_is(method, "tasks/result") ? 'r' : 'g';
    put_request_id(id, kind, at, q, task ? (int64_t)++m->last_poll : h->n);
    mcp_open_message(&w, &b, task ? id : NULL, method);
    json_put_str(&w, task ? "taskId" : "requestId",
                 task ? h->task : str_of(id));
    mcp_close_message(&w);
    send_text(to, &b, STR_NONE);
}

/* Withdraws a question that nobody waits for any more. */
static void
withdraw_question(const struct mcp_session *s, struct mcp_channel *to,
                  const struct mcp_follow *at, const struct mcp_question *q)
{
    if (q->delivery.task.p == NULL)
        send_about(s->m, to, at, q, STR("notifications/cancelled"));
    else if (s->caps & MCP_CLIENT_CANCEL)
        send_about(s->m, to, at, q, STR("tasks/cancel"));
}

static void
send_status(const struct mcp_session *s, struct mcp_channel *to,
            struct arena *a, const struct call *k)
{
    struct buf b = {0};
    struct json_w w;

    mcp_open_message(&w, &b, NULL, STR("notifications/tasks/status"));
    mcp_put_call(&w, s->m, a, k, s->rev);
    mcp_close_message(&w);
    send_text(to, &b, STR_NONE);
}

/* Tells s of a question of a call that it follows. *n: place of the newest
   delivery that it was sent. */
static void
notify_question(struct mcp_session *s, struct mcp_channel *to,
                struct mcp_follow *at, const struct call *k,
                const struct mcp_question *q, uint64_t *n)
{
    const struct mcp_delivery *h = &q->delivery;
    bool was_sent = (uint64_t)h->n <= at->sent_n;
    uint32_t bit = UINT32_C(1) << q->i;

    if (q->answer != NULL || at->cancelled || call_status_ended(k->status)) {
        if (was_sent && !(at->withdrawn & bit))
            withdraw_question(s, to, at, q);
        at->withdrawn |= bit;
        return;
    }
    if (!was_sent && h->task.p == NULL && /* else it has the question */
        send_question(s, to, at, k, q) != 0) {
        at->due = true;
        return;
    }
    if ((uint64_t)h->n > *n)
        *n = (uint64_t)h->n;
    if (h->task.p == NULL)
        return;
    if (at->fetch & bit)
        send_about(s->m, to, at, q, STR("tasks/result"));
    else if (at->poll_ms == 0)
        at->poll_ms = clock_mono_ms() + MCP_POLL_MS;
    else if (at->poll_ms <= clock_mono_ms())
        send_about(s->m, to, at, q, STR("tasks/get"));
    at->fetch &= ~bit;
}

/* Tells s of a call that it follows; false: it may stop following it. */
static bool
notify_follow(struct mcp_session *s, struct mcp_follow *at,
              struct mcp_channel *to)
{
    struct arena a = {0};
    struct mcp_question *q;
    struct call k;
    uint64_t n = at->sent_n;
    bool polled = at->poll_ms != 0 && at->poll_ms <= clock_mono_ms();
    bool known = at->sent_status != CALL_N_STATUSES;
    int err = calls_get(s->m->calls, &a, str_of(at->id), STR_NONE, &k);

    if (at->notes.err == 0)
        mcp_send_notes(to, buf_view(&at->notes));
    buf_reset(&at->notes, 0);
    if (err == 0)
        err = mcp_read_questions(&a, k.questions, &q);
    at->due = err != 0 && err != ERR_NOT_FOUND && err != ERR_INVALID &&
              err != ERR_GARBLED;
    for (; err == 0 && q != NULL && q->i < MCP_MAX_DELIVERED; q = q->next) {
        if (!mcp_was_delivered_to(s, &q->delivery))
            continue;
        notify_question(s, to, at, &k, q, &n);
        known = true;
    }
    at->sent_n = n;
    if (polled) /* until an answer says otherwise */
        at->poll_ms = clock_mono_ms() + MCP_LOST_POLL_MS;
    if (err == 0) {
        uint64_t text = str_hash(k.message);
        bool news = k.status != at->sent_status ||
                    (at->sent_text != 0 && text != at->sent_text);

        if (news && at->sent_status != CALL_N_STATUSES && !mcp_is_plain(&k))
            send_status(s, to, &a, &k);
        at->sent_status = k.status;
        at->sent_text = text;
    }
    arena_fini(&a);
    return err == 0 ? known && !call_status_ended(k.status) : at->due;
}

/* Messages before an answer have no event id. */
static bool
send_to_notes(void *ctx, const struct mcp_out *o)
{
    buf_str(ctx, o->text);
    buf_char(ctx, '\n');
    return true; /* its buffer keeps the error */
}

void
mcp_withdraw(const struct request *r, struct buf *to)
{
    struct mcp_channel channel = {.send = send_to_notes, .ctx = to};
    struct mcp_follow *at = mcp_follow_of(r->m->s, r->runs_as);

    if (at == NULL)
        return;
    at->cancelled = true;
    notify_follow(r->m->s, at, &channel);
}

static void
notify_follows(struct mcp_session *s, int64_t now)
{
    struct mcp_follow *at, **link = &s->follows;
    struct mcp_channel *to;

    while ((at = *link) != NULL) {
        bool live = calls_mark_due(s->m->calls, str_of(at->id));

        at->due |= at->poll_ms != 0 && at->poll_ms <= now;
        if (at->send_ms <= now)
            at->send_ms = 0;
        else if (at->due && at->send_ms < s->m->delivery_ms)
            s->m->delivery_ms = at->send_ms;
        to = NULL;
        if (at->due && at->send_ms == 0)
            to = mcp_channel_of(s, str_of(at->id));
        /* The end may never be told: a client that polls reads it. */
        if (to == NULL ? live || s->news.channels != NULL
                       : notify_follow(s, at, to)) {
            if (at->poll_ms > now && at->poll_ms < s->m->delivery_ms)
                s->m->delivery_ms = at->poll_ms;
            link = &at->next;
            continue;
        }
        forget_follow(link);
    }
}

/* Takes back, in the record, deliveries to a client that went away, so that
   other processes may ask theirs. */
static void
give_up_deliveries(struct mcp_session *s)
{
    for (struct mcp_follow *at = s->follows; at != NULL; at = at->next) {
        if (at->sent_n != 0)
            calls_mark(s->m->calls, str_of(at->id));
        at->sent_n = 0;
    }
}

void
mcp_delivery_tick(struct mcp *m, int64_t now_ms)
{
    bool look = now_ms >= m->delivery_ms;

    if (!m->follows_due && !look)
        return;
    m->follows_due = look = false;
    m->delivery_ms = INT64_MAX;
    for (struct mcp_session *s = m->sessions; s != NULL; s = s->next) {
        if (s->follows == NULL)
            continue;
        if (!mcp_is_reachable(s))
            give_up_deliveries(s);
        notify_follows(s, now_ms);
        look |= s->follows != NULL;
    }
    look |= mcp_mark_listened(m);
    if (look && m->delivery_ms > now_ms + CHECK_MS)
        m->delivery_ms = now_ms + CHECK_MS;
}

int64_t
mcp_delivery_due_ms(const struct mcp *m)
{
    return m->follows_due ? 0 : m->delivery_ms;
}

void
mcp_follow_changed(struct mcp *m, struct str id)
{
    struct mcp_follow *at;

    for (struct mcp_session *s = m->sessions; s != NULL; s = s->next)
        if ((at = mcp_follow_of(s, id)) != NULL)
            mcp_follow_later(s, at);
}

void
mcp_follow_notes(struct mcp *m, struct str id, struct str notes)
{
    for (struct mcp_session *s = m->sessions; notes.len > 0 && s != NULL;
         s = s->next) {
        struct mcp_follow *at = mcp_follow_of(s, id);

        if (at == NULL || !at->maker || mcp_channel_of(s, id) == NULL)
            continue;
        buf_str(&at->notes, notes);
        mcp_follow_later(s, at);
    }
}

void
mcp_follow_undo(struct mcp *m)
{
    for (struct mcp_session *s = m->sessions; s != NULL; s = s->next)
        for (struct mcp_follow *at = s->follows; at != NULL; at = at->next)
            buf_reset(&at->notes, 0);
}

/* s has a stream again. If its client names the last event it got, later
   questions are sent once more. A session revived from its id may have
   questions of any call of its principal, and tasks made of them, which are
   polled; this looks at the newest calls. */
void
mcp_delivery_rewind(struct mcp_session *s, bool back)
{
    char ids[MAX_FOLLOWS][CALL_ID_LEN + 1];
    struct mcp *m = s->m;
    struct mcp_follow *at;
    uint64_t last;
    size_t n = 0;
    bool more;

    if (s->revived)
        n = calls_list(m->calls, str_of(s->principal), 0, ids, MAX_FOLLOWS,
                       &last, &more);
    while (n-- > 0) {
        if (mcp_follow_of(s, str_of(ids[n])) != NULL)
            continue;
        at = mcp_follow_call(s, str_of(ids[n]), CALL_N_STATUSES);
        if (at != NULL && back)
            at->sent_n = s->news.sent_n;
    }
    for (at = s->follows; at != NULL; at = at->next) {
        if (back && at->own && at->sent_n > s->news.sent_n)
            at->sent_n = s->news.sent_n;
        mcp_follow_later(s, at);
    }
}

void
mcp_follow_end(struct mcp_session *s)
{
    give_up_deliveries(s);
    while (s->follows != NULL)
        forget_follow(&s->follows);
}
