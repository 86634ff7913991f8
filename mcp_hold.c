/* mcp_hold - questions of deferred calls to clients of the handshake era,
   and what such clients are told of the calls that they made or ask for.

   A question waits in its call's record until a session comes that can be
   asked: one that made the call, polls it or waits for its result. That
   session then holds the question: who holds it stands in the record, so that
   it goes to one client at a time, whichever processes there are. It is sent
   behind the commit of that, on the tasks/result that waits for it or else on
   the session's own stream; its event has a place in the log, so a stream
   that broke is sent it again. The id of the request names call, question and
   place: an answer finds its question in any process, and the first counts.

   A client that runs questions as tasks of its own is polled for the answer.

   It remembers of a session which calls it attends, and nothing that the
   record does not say as well.

   Invariants:
   1. A question is held by at most one session that can be reached. A hold
      whose instance is gone, or whose session has been silent for GRACE_MS,
      is none.
   2. Nothing is sent that is not committed: what is sent follows from the
      record alone.
   3. What a session was asked it is not asked again, unless it says by its
      Last-Event-ID that it was not there. */

#include "mcp_int.h"
#include "text.h"

#include <stdlib.h>
#include <string.h>

#define GRACE_MS 10000     /* for a client to open its stream again */
#define CHECK_MS 1000      /* how often that is looked at */
#define MAX_ATTENDS 256    /* calls that one session attends */
#define ASK_MS 50          /* for a client to take in what it polled */
#define POLL_MS 1000       /* where a client's task says nothing */
#define MIN_POLL_MS 100    /* and within which bounds it may */
#define MAX_POLL_MS (60 * 60 * 1000)
#define LOST_POLL_MS 60000 /* for the answer to a poll */
#define MAX_HELD 32        /* questions of a call; the others wait */
#define FIRST_PLACE (MCP_LIST_PLACE + 1) /* of question 0 of a record */

struct mcp_attend {
    struct mcp_attend *next;
    char id[CALL_ID_LEN + 1];
    bool maker;            /* the session made the call */
    bool due;              /* something may have to be sent */
    bool own;              /* the last question may have gone out on the
                              session's own stream */
    enum call_status told; /* CALL_N_STATUSES: of none yet */
    uint64_t asked;        /* holds up to this n have been sent */
    uint32_t fetch;        /* a bit for each question: its client's task has
                              ended */
    uint32_t gone;         /* and: it was withdrawn */
    int64_t poll_ms;       /* when its client's tasks are polled; 0: none */
    int64_t ask_ms;        /* nothing is sent before */
    struct buf notes;      /* of runs, a line each */
};

/* Who holds a question, as its record has it. */
struct hold {
    int64_t by, n;
    struct str to;   /* id of the session, or empty: a pipe's */
    struct str task; /* of the client, or .p NULL */
};

/* ---- questions in a record ---- */

static struct hold
hold_of(struct arena *a, const struct json_tok *t)
{
    struct hold h = {.to = json_str(a, json_get(t, "to")),
                     .task = json_str(a, json_get(t, "task"))};

    json_int(json_get(t, "by"), &h.by);
    json_int(json_get(t, "n"), &h.n);
    return h;
}

int
mcp_read_questions(struct arena *a, struct str raw, struct mcp_question **out)
{
    const struct json_tok *list, *t;
    struct mcp_question *q;
    struct str key;
    uint32_t i;
    int err;

    *out = NULL;
    if (raw.p == NULL)
        return 0;
    err = json_parse(a, raw, &list, NULL);
    if (err != 0 || list->type != JSON_ARRAY)
        return err == ERR_NOMEM ? err : ERR_INVALID;
    for (i = 0, t = list + 1; i < list->n; i++, t += t->span) {
        q = *out = arena_alloc(a, sizeof(*q));
        if (q == NULL || mcp_text(a, json_get(t, "key"), &key) != 0)
            return ERR_NOMEM;
        *q = (struct mcp_question){
            .key = arena_str(a, key),
            .sent = true,
            .answer = json_get(t, "answer"),
            .held = json_get(t, "held"),
        };
        if (q->key.p == NULL ||
            mcp_text(a, json_get(t, "method"), &q->method) != 0)
            return ERR_NOMEM;
        if (json_get(t, "params") != NULL)
            q->params = json_raw(json_get(t, "params"));
        out = &q->next;
    }
    return 0;
}

static void
put_hold(struct buf *b, const struct hold *h)
{
    buf_printf(b, ",\"held\":{\"by\":%lld,\"n\":%lld,\"to\":\"%.*s\"",
               (long long)h->by, (long long)h->n, STR_ARG(h->to));
    if (h->task.p != NULL) {
        buf_z(b, ",\"task\":");
        json_quote(b, h->task);
    }
    buf_char(b, '}');
}

static bool
is_reachable(const struct mcp_session *s)
{
    return !s->ended &&
           (s->local || s->sinks != NULL || s->n_kept > 0 ||
            clock_mono_ms() - s->heard_ms < GRACE_MS);
}

/* Invariant 1. A session that has come here from a process that is gone has
   its holds still: they are by this one then. */
static bool
is_alive(struct mcp *m, struct hold *h)
{
    const struct mcp_session *s;
    uint64_t me = store_instance(m->store);

    if ((uint64_t)h->by != me &&
        (h->to.len == 0 || store_alive(m->store, (uint64_t)h->by)))
        return store_alive(m->store, (uint64_t)h->by);
    for (s = m->sessions; s != NULL; s = s->next)
        if (s->local ? h->to.len == 0 : str_is(h->to, s->id)) {
            h->by = (int64_t)me;
            return is_reachable(s);
        }
    return false;
}

static void
put_with(struct buf *b, const struct mcp_question *q, const struct hold *h)
{
    buf_z(b, "{\"key\":");
    json_quote(b, q->key);
    buf_char(b, ',');
    mcp_put_request(b, q);
    if (q->answer != NULL) {
        buf_z(b, ",\"answer\":");
        buf_str(b, json_raw(q->answer));
    }
    if (h != NULL)
        put_hold(b, h);
    buf_char(b, '}');
}

/* Leaves out a hold that is none any more. */
static void
put_question(struct mcp *m, struct arena *a, struct buf *b,
             const struct mcp_question *q)
{
    struct hold h = {0};

    if (q->held != NULL)
        h = hold_of(a, q->held);
    put_with(b, q, q->held != NULL && (q->answer != NULL || is_alive(m, &h))
                       ? &h : NULL);
}

/* Ends a list of questions in the making, which it frees. */
static struct str
end_list(struct arena *a, struct buf *b)
{
    struct str text;

    buf_char(b, ']');
    text = b->err == 0 ? arena_str(a, buf_view(b)) : STR_NONE;
    buf_fini(b);
    return text;
}

struct str
mcp_raw_questions(struct mcp *m, struct arena *a,
                  const struct mcp_question *q)
{
    struct buf b = {0};

    if (q == NULL)
        return STR_NONE;
    for (; q != NULL; q = q->next) {
        buf_char(&b, b.len == 0 ? '[' : ',');
        put_question(m, a, &b, q);
    }
    return end_list(a, &b);
}

/* ---- whom to ask ---- */

static struct str
name_of(const struct mcp_session *s)
{
    return str_of(s->id); /* empty: a pipe's */
}

/* Whether s is the one that holds a question, or was when its server died:
   its client may know of it. */
static bool
is_holder(struct mcp *m, const struct mcp_session *s, const struct hold *h)
{
    uint64_t me = store_instance(m->store);

    return str_eq(h->to, name_of(s)) &&
           ((uint64_t)h->by == me ||
            (h->to.len > 0 && !store_alive(m->store, (uint64_t)h->by)));
}

/* What is to be done about q for a session: 0 nothing; 1 it is to be asked;
   2 it has been, by a process that is gone. */
static int
wants_hold(struct mcp *m, const struct mcp_session *s, struct arena *a,
           const struct mcp_question *q, struct hold *h)
{
    uint64_t me = store_instance(m->store);

    if (q->answer != NULL || me == 0 ||
        (mcp_cap_of(q->method) & s->caps) == 0)
        return 0;
    *h = (struct hold){.to = STR_NONE};
    if (q->held != NULL) {
        *h = hold_of(a, q->held);
        if (is_holder(m, s, h))
            return (uint64_t)h->by == me ? 0 : 2;
        if (is_alive(m, h))
            return 0;
    }
    return 1;
}

static bool
can_be_asked(const struct request *r)
{
    const struct mcp_session *s = r->m->s;

    return r->rev == MCP_2025_11_25 && s != &r->m->scratch &&
           !r->call.read_only && (s->caps & MCP_ELICITATION) != 0 &&
           (s->sinks != NULL || r->method->run == mcp_task_result);
}

bool
mcp_hold_wanted(const struct request *r)
{
    struct mcp *m = r->m->m;
    struct arena a = {0};
    struct mcp_question *q;
    struct call k;
    struct hold h;
    bool wanted = false;
    unsigned i;

    if (can_be_asked(r) &&
        calls_get(m->calls, &a, r->target, STR_NONE, &k) == 0 &&
        k.status == CALL_INPUT_REQUIRED &&
        mcp_read_questions(&a, k.questions, &q) == 0)
        for (i = 0; q != NULL && i < MAX_HELD; q = q->next, i++)
            wanted |= wants_hold(m, r->m->s, &a, q, &h) != 0;
    arena_fini(&a);
    return wanted;
}

static struct mcp_attend *
attend_of(const struct mcp_session *s, struct str id)
{
    struct mcp_attend *at;

    for (at = s->attends; at != NULL && !str_is(id, at->id); at = at->next)
        ;
    return at;
}

static void
forget(struct mcp_attend **at)
{
    struct mcp_attend *gone = *at;

    *at = gone->next;
    buf_fini(&gone->notes);
    free(gone);
}

static struct mcp_attend *
attend(struct mcp_session *s, struct str id, enum call_status told)
{
    struct mcp_attend *at = attend_of(s, id), **last = &s->attends;
    unsigned n = 0;

    if (at != NULL)
        return at;
    while (*last != NULL && (*last)->next != NULL) {
        last = &(*last)->next;
        n++;
    }
    if (n >= MAX_ATTENDS) /* the oldest */
        forget(last);
    at = calloc(1, sizeof(*at));
    if (at == NULL)
        return NULL; /* it is not told then, as it need not be */
    memcpy(at->id, id.p, CALL_ID_LEN);
    at->told = told;
    at->own = true; /* what there is was sent by a process before this one */
    at->asked = mcp_head(s->m);
    at->next = s->attends;
    s->attends = at;
    s->m->attends_due = true;
    return at;
}

void
mcp_attend(struct request *r, const struct call *k, bool maker)
{
    struct mcp_session *s = r->m->s;
    struct mcp_attend *at;

    if (r->rev != MCP_2025_11_25 || s == &r->m->scratch ||
        call_status_ended(k->status))
        return;
    at = attend(s, k->id, k->status);
    if (at != NULL)
        at->maker |= maker;
}

static void
tell_later(struct mcp_session *s, struct mcp_attend *at)
{
    at->due = true;
    s->m->attends_due = true;
}

/* k's questions as a record has them once at's session holds what it can;
   .p NULL: there is no memory, or it can hold no more of them. */
static struct str
take_hold(struct request *r, const struct call *k, struct mcp_attend *at)
{
    struct mcp *m = r->m->m;
    struct arena *a = r->call.arena;
    struct mcp_question *q, *all;
    struct str text;
    struct buf b = {0};
    struct hold h = {0};
    bool news = false;
    unsigned i = 0;

    if (mcp_read_questions(a, k->questions, &all) != 0)
        return STR_NONE;
    for (q = all; q != NULL; q = q->next, i++) {
        int what = i < MAX_HELD ? wants_hold(m, r->m->s, a, q, &h) : 0;

        if (what == 1)
            h = (struct hold){.to = name_of(r->m->s),
                              .n = (int64_t)store_next_n(m->store)};
        if (what == 2 && at->asked < (uint64_t)h.n)
            at->asked = (uint64_t)h.n;
        h.by = (int64_t)store_instance(m->store);
        news |= what != 0;
        buf_char(&b, q == all ? '[' : ',');
        if (what != 0)
            put_with(&b, q, &h);
        else
            put_question(m, a, &b, q);
    }
    text = end_list(a, &b);
    return news ? text : STR_NONE;
}

/* What cannot be staged stays as it is. A call that is yet to be run again is
   not touched: a record would take its mark off. */
void
mcp_hold(struct request *r, struct call *k)
{
    struct mcp *m = r->m->m;
    struct mcp_attend *at;
    struct call now = *k;

    mcp_attend(r, k, false);
    at = attend_of(r->m->s, k->id);
    if (at != NULL && r->method->run == mcp_task_result) {
        at->ask_ms = 0;
        m->attends_due |= at->due;
    }
    if (at == NULL || !can_be_asked(r) || !store_locked(m->store) ||
        k->status != CALL_INPUT_REQUIRED || calls_is_marked(m->calls, k->id))
        return;
    now.questions = take_hold(r, k, at);
    if (now.questions.p != NULL &&
        calls_stage(m->calls, r->call.arena, &now, "ask") == 0) {
        *k = now;
        if (r->method->run != mcp_task_result)
            at->ask_ms = clock_mono_ms() + ASK_MS;
        tell_later(r->m->s, at);
    }
}

/* ---- what goes to a client ---- */

/* Where s hears of call id: where it waits for its result, else its own
   stream. NULL: nowhere now. */
static struct mcp_sink *
channel(const struct mcp_session *s, struct str id)
{
    struct mcp_message *k;

    for (k = s->m->kept; k != NULL; k = k->next)
        if (k->s == s && !k->given && !k->cancelled && !k->sink->blocked &&
            k->v->method->run == mcp_task_result &&
            str_eq(k->v->target, id))
            return k->sink;
    return s->sinks != NULL && !s->sinks->blocked ? s->sinks : NULL;
}

#define ID_FORMAT "mcptask-%c.%s.%u.%lld"
#define HEAD "{\"jsonrpc\":\"2.0\","

static void
send_text(struct mcp_sink *to, struct buf *b, struct str event)
{
    if (b->err == 0)
        to->send(to->ctx, buf_view(b), event);
    buf_reset(b, SIZE_MAX);
    b->err = 0;
}

/* The question itself, which says what call it belongs to. On the session's
   own stream it has a place, so that it can be sent there again. */
static void
send_question(const struct mcp_session *s, struct mcp_sink *to,
              struct mcp_attend *at, const struct mcp_question *q,
              const struct hold *h, unsigned i)
{
    char event[MCP_EVENT_MAX];
    struct str id = {event, 0}, rest = q->params;
    struct buf b = {0};

    buf_printf(&b, HEAD "\"id\":\"" ID_FORMAT "\",\"method\":\"%.*s\","
               "\"params\":{\"_meta\":{" MCP_RELATED "%s\"}}", 'c', at->id,
               i, (long long)h->n, STR_ARG(q->method), at->id);
    if ((s->caps & MCP_CLIENT_TASKS) && mcp_cap_of(q->method) ==
        MCP_ELICITATION)
        buf_printf(&b, ",\"task\":{\"ttl\":%lld}", (long long)CALL_TTL_MS);
    if (rest.len > 2) {
        buf_char(&b, ',');
        buf_put(&b, rest.p + 1, rest.len - 1);
    } else {
        buf_char(&b, '}');
    }
    buf_char(&b, '}');
    at->own = to == s->sinks;
    if (at->own && s->id[0] != '\0')
        id.len = mcp_event_id(s, (uint64_t)h->n, FIRST_PLACE + i, event);
    send_text(to, &b, id);
    buf_fini(&b);
}

/* A request about a task of the client's: get, result or cancel. Its place is
   its own, since no id may be used twice. */
static void
send_poll(struct mcp *m, struct mcp_sink *to, const struct mcp_attend *at,
          const struct hold *h, unsigned i, const char *what)
{
    struct buf b = {0};

    buf_printf(&b, HEAD "\"id\":\"" ID_FORMAT "\",\"method\":\"tasks/%s\","
               "\"params\":{\"taskId\":", *what == 'c' ? 'g' : *what, at->id,
               i, (long long)++m->last_ask, what);
    json_quote(&b, h->task);
    buf_z(&b, "}}");
    send_text(to, &b, STR_NONE);
    buf_fini(&b);
}

/* What the client was asked nobody waits for any more. */
static void
withdraw(const struct mcp_session *s, struct mcp_sink *to,
         const struct mcp_attend *at, const struct hold *h, unsigned i)
{
    struct buf b = {0};

    if (h->task.p != NULL) {
        if (s->caps & MCP_CLIENT_CANCEL)
            send_poll(s->m, to, at, h, i, "cancel");
        return;
    }
    buf_printf(&b, HEAD "\"method\":\"notifications/cancelled\",\"params\":"
               "{\"requestId\":\"" ID_FORMAT "\"}}", 'c', at->id, i,
               (long long)h->n);
    send_text(to, &b, STR_NONE);
    buf_fini(&b);
}

static void
send_status(const struct mcp_session *s, struct mcp_sink *to, struct arena *a,
            const struct call *k)
{
    struct buf b = {0};
    struct json_w w;

    buf_z(&b, HEAD "\"method\":\"notifications/tasks/status\",\"params\":");
    json_w_init(&w, &b);
    json_obj(&w);
    mcp_put_task(&w, s->m, a, k, s->rev);
    json_close(&w);
    json_w_end(&w);
    buf_char(&b, '}');
    send_text(to, &b, STR_NONE);
    buf_fini(&b);
}

/* What s has to hear of a question of a call that it attends. *n: of the
   newest hold that it was sent. */
static void
tell_question(struct mcp_session *s, struct mcp_sink *to,
              struct mcp_attend *at, const struct call *k,
              const struct mcp_question *q, const struct hold *h, unsigned i,
              uint64_t *n)
{
    bool was_asked = (uint64_t)h->n <= at->asked;
    uint32_t bit = UINT32_C(1) << i;

    if (q->answer != NULL || call_status_ended(k->status)) {
        if (was_asked && !(at->gone & bit))
            withdraw(s, to, at, h, i);
        at->gone |= bit;
        return;
    }
    if (!was_asked)
        send_question(s, to, at, q, h, i);
    if ((uint64_t)h->n > *n)
        *n = (uint64_t)h->n;
    if (h->task.p == NULL)
        return;
    if (at->fetch & bit)
        send_poll(s->m, to, at, h, i, "result");
    else if (at->poll_ms == 0)
        at->poll_ms = clock_mono_ms() + POLL_MS;
    else if (at->poll_ms <= clock_mono_ms())
        send_poll(s->m, to, at, h, i, "get");
    at->fetch &= ~bit;
}

static void
send_notes(struct mcp_sink *to, struct buf *notes)
{
    if (notes->err == 0 && notes->len > 0)
        mcp_give_notes(buf_view(notes), to->send, to->ctx);
    buf_reset(notes, 0);
}

/* Tells s of a call that it attends; false: it need not attend it longer. */
static bool
tell(struct mcp_session *s, struct mcp_attend *at, struct mcp_sink *to)
{
    struct arena a = {0};
    struct mcp_question *q;
    struct call k;
    struct hold h;
    uint64_t n = at->asked;
    bool polled = at->poll_ms != 0 && at->poll_ms <= clock_mono_ms();
    bool known = at->told != CALL_N_STATUSES;
    unsigned i = 0;
    int err = calls_get(s->m->calls, &a, str_of(at->id), STR_NONE, &k);

    send_notes(to, &at->notes);
    if (err == 0)
        err = mcp_read_questions(&a, k.questions, &q);
    at->due = err != 0 && err != ERR_NOT_FOUND && err != ERR_INVALID;
    for (; err == 0 && q != NULL && i < MAX_HELD; q = q->next, i++) {
        if (q->held == NULL)
            continue;
        h = hold_of(&a, q->held);
        if (!is_holder(s->m, s, &h))
            continue;
        tell_question(s, to, at, &k, q, &h, i, &n);
        known = true;
    }
    at->asked = n;
    if (polled) /* until an answer says otherwise */
        at->poll_ms = clock_mono_ms() + LOST_POLL_MS;
    if (err == 0) {
        if (k.status != at->told && at->told != CALL_N_STATUSES)
            send_status(s, to, &a, &k);
        at->told = k.status;
    }
    arena_fini(&a);
    return err == 0 ? known && !call_status_ended(k.status) : at->due;
}

static void
tell_all(struct mcp_session *s, int64_t now)
{
    struct mcp_attend *at, **link = &s->attends;
    struct mcp_sink *to;
    bool live;

    while ((at = *link) != NULL) {
        at->due |= at->poll_ms != 0 && at->poll_ms <= now;
        live = calls_mark_due(s->m->calls, str_of(at->id));
        if (at->ask_ms <= now)
            at->ask_ms = 0;
        else if (at->due && at->ask_ms < s->m->hold_ms)
            s->m->hold_ms = at->ask_ms;
        to = at->due && at->ask_ms == 0 ? channel(s, str_of(at->id)) : NULL;
        /* Nobody may ever come to hear of the end: who polls reads it. */
        if (to == NULL ? live || s->sinks != NULL : tell(s, at, to)) {
            if (at->poll_ms > now && at->poll_ms < s->m->hold_ms)
                s->m->hold_ms = at->poll_ms;
            link = &at->next;
            continue;
        }
        forget(link);
    }
}

/* A hold of a client that went away is taken back in its record, so that
   other processes may ask theirs. */
static void
look_after(struct mcp_session *s)
{
    struct mcp_attend *at;

    if (is_reachable(s))
        return;
    for (at = s->attends; at != NULL; at = at->next) {
        if (at->asked != 0)
            calls_mark(s->m->calls, str_of(at->id));
        at->asked = 0;
    }
}

void
mcp_hold_tick(struct mcp *m, int64_t now_ms)
{
    struct mcp_session *s;
    bool look = now_ms >= m->hold_ms;

    if (m->calls == NULL || (!m->attends_due && !look))
        return;
    m->attends_due = look = false;
    m->hold_ms = INT64_MAX;
    for (s = m->sessions; s != NULL; s = s->next) {
        if (s->attends == NULL)
            continue;
        look_after(s);
        tell_all(s, now_ms);
        look |= s->attends != NULL;
    }
    look |= mcp_listen_look(m);
    if (look && m->hold_ms > now_ms + CHECK_MS)
        m->hold_ms = now_ms + CHECK_MS;
}

int64_t
mcp_hold_due_ms(const struct mcp *m)
{
    return m->attends_due ? 0 : m->hold_ms;
}

void
mcp_attend_changed(struct mcp *m, struct str id)
{
    struct mcp_session *s;
    struct mcp_attend *at;

    for (s = m->sessions; s != NULL; s = s->next)
        if ((at = attend_of(s, id)) != NULL)
            tell_later(s, at);
}

void
mcp_attend_notes(struct mcp *m, struct str id, struct str notes)
{
    struct mcp_session *s;
    struct mcp_attend *at;

    for (s = m->sessions; notes.len > 0 && s != NULL; s = s->next) {
        at = attend_of(s, id);
        if (at == NULL || !at->maker || channel(s, id) == NULL)
            continue;
        buf_str(&at->notes, notes);
        tell_later(s, at);
    }
}

void
mcp_attend_undo(struct mcp *m)
{
    struct mcp_session *s;
    struct mcp_attend *at;

    for (s = m->sessions; s != NULL; s = s->next)
        for (at = s->attends; at != NULL; at = at->next)
            buf_reset(&at->notes, 0);
}

/* s has a stream again, whose client knows of places up to told: questions
   behind that are sent once more. One that is known by its id alone may hold
   questions of any call of its principal; the newest ones are looked at. */
void
mcp_hold_rewind(struct mcp_session *s, bool back)
{
    char ids[MAX_ATTENDS][CALL_ID_LEN + 1];
    struct mcp *m = s->m;
    struct mcp_attend *at;
    uint64_t last;
    size_t n = 0;
    bool more;

    if (m->calls != NULL && s->back && back)
        n = calls_list(m->calls, str_of(s->principal), 0, ids, MAX_ATTENDS,
                       &last, &more);
    while (n > 0) {
        n--;
        if (attend_of(s, str_of(ids[n])) == NULL &&
            (at = attend(s, str_of(ids[n]), CALL_N_STATUSES)) != NULL)
            at->asked = s->told;
    }
    for (at = s->attends; at != NULL; at = at->next) {
        if (back && at->own && at->asked > s->told)
            at->asked = s->told;
        tell_later(s, at);
    }
}

void
mcp_attend_end(struct mcp_session *s)
{
    struct mcp_attend *at;

    while ((at = s->attends) != NULL) {
        if (at->asked != 0)
            calls_mark(s->m->calls, str_of(at->id));
        forget(&s->attends);
    }
}

/* ---- what a client says ---- */

/* The next part of an id, up to a dot or its end. */
static struct str
cut_part(struct str *s)
{
    struct str part = {s->p, 0};

    while (part.len < s->len && s->p[part.len] != '.')
        part.len++;
    s->p += part.len;
    s->len -= part.len;
    if (s->len > 0) {
        s->p++;
        s->len--;
    }
    return part;
}

bool
mcp_take_answer_judge(struct request *r, const struct json_tok *t)
{
    static const char prefix[] = "mcptask-";
    struct str id = json_str(r->m->a, json_get(t, "id"));
    uint64_t q;
    char kind;

    if (r->m->m->calls == NULL || r->m->f->read_only || id.p == NULL ||
        !str_starts(id, prefix))
        return false;
    id.p += strlen(prefix);
    id.len -= strlen(prefix);
    if (id.len < 2 || id.p[1] != '.' || memchr("cgr", id.p[0], 3) == NULL)
        return false;
    kind = *cut_part(&id).p;
    r->target = cut_part(&id);
    if (r->target.len != CALL_ID_LEN || !str_u64(cut_part(&id), &q) ||
        q >= MAX_HELD)
        return false;
    r->answers = kind;
    r->question = (unsigned)q;
    r->params = t;
    return true;
}

int
mcp_stage_answers(struct request *r, const struct mcp_question *q,
                  struct call *k)
{
    struct mcp *m = r->m->m;
    const struct json_tok *list;
    int err;

    k->questions = mcp_raw_questions(m, r->call.arena, q);
    k->due_ms = 1; /* should it not be run in this turn */
    if (k->questions.p == NULL)
        return ERR_NOMEM;
    /* In here an answer stands deeper than in its message, and not alone. */
    err = json_parse(r->call.arena, k->questions, &list, NULL);
    if (err != 0)
        return err;
    err = calls_stage(m->calls, r->call.arena, k, "answer");
    if (err == 0)
        calls_mark(m->calls, k->id);
    return err;
}

/* A client's task is polled next when it says itself. */
static void
poll_later(struct mcp *m, struct mcp_attend *at, const struct json_tok *task)
{
    int64_t wait = POLL_MS;

    json_int(json_get(task, "pollInterval"), &wait);
    if (wait < MIN_POLL_MS)
        wait = MIN_POLL_MS;
    at->poll_ms = clock_mono_ms() + (wait < MAX_POLL_MS ? wait : MAX_POLL_MS);
    if (at->poll_ms < m->hold_ms)
        m->hold_ms = at->poll_ms;
}

/* The client has made a task of a question that it holds: it is polled. */
static int
take_task(struct request *r, struct call *k, const struct mcp_question *all,
          struct mcp_question *q, const struct json_tok *task)
{
    struct arena *a = r->call.arena;
    struct mcp_attend *at = attend_of(r->m->s, k->id);
    struct str id = json_raw(json_get(task, "taskId"));
    struct str held;
    struct hold h;

    if (q->held == NULL)
        return 0;
    h = hold_of(a, q->held);
    if (!str_eq(h.to, name_of(r->m->s)))
        return 0;
    held = arena_printf(a, "{\"by\":%lld,\"n\":%lld,\"to\":\"%.*s\","
                        "\"task\":%.*s}", (long long)h.by, (long long)h.n,
                        STR_ARG(h.to), STR_ARG(id));
    if (held.p == NULL || json_parse(a, held, &q->held, NULL) != 0)
        return ERR_NOMEM;
    if (at != NULL)
        poll_later(r->m->m, at, task);
    return mcp_stage_answers(r, all, k);
}

/* How its task does: ended, or to be polled again. */
static void
take_status(struct request *r, struct str id, const struct json_tok *task)
{
    struct mcp_attend *at = attend_of(r->m->s, id);

    if (at == NULL)
        return;
    poll_later(r->m->m, at, task);
    if (json_is(json_get(task, "status"), "working"))
        return;
    at->poll_ms = clock_mono_ms() + LOST_POLL_MS;
    at->fetch |= UINT32_C(1) << r->question;
    tell_later(r->m->s, at);
}

int
mcp_take_answer(struct request *r)
{
    struct mcp *m = r->m->m;
    const struct json_tok *result = json_get(r->params, "result");
    const struct json_tok *task = json_get(result, "task");
    struct mcp_question *all = NULL, *q;
    struct call k;
    struct hold h;
    unsigned i;
    int err = calls_get(m->calls, r->call.arena, r->target, mcp_who(r), &k);

    if (err == 0)
        err = mcp_read_questions(r->call.arena, k.questions, &all);
    for (i = 0, q = all; q != NULL && i < r->question; i++)
        q = q->next;
    if (err != 0 || q == NULL || q->answer != NULL ||
        call_status_ended(k.status))
        return err == ERR_NOT_FOUND ? 0 : err;
    if (r->answers == 'g' && result != NULL) {
        take_status(r, k.id, result);
        return 0;
    }
    if (r->answers == 'c' && json_get(task, "taskId") != NULL &&
        json_get(task, "taskId")->type == JSON_STRING)
        return take_task(r, &k, all, q, task);
    q->answer = mcp_answer_of(r->params);
    /* So that it is not withdrawn; but from another that was asked since. */
    if (q->held != NULL) {
        h = hold_of(r->call.arena, q->held);
        if (is_holder(m, r->m->s, &h))
            q->held = NULL;
    }
    err = mcp_stage_answers(r, all, &k);
    if (err != ERR_TOO_LARGE)
        return err;
    q->answer = mcp_answer_of(NULL); /* none that could be kept */
    return mcp_stage_answers(r, all, &k);
}
