/* waiting - calls that ask their client, wait, and tell how far they are.

   A run that cannot go on says why with ERR_MORE. From 2026-07-28 on a
   question ends the request: the client retries it with the answers, and with
   what the call wanted to remember, signed. Before, a call that asks becomes
   a deferred one, which sends its questions itself (mcp/delivery.c), and the
   message is kept, in memory of its own, until that has ended. Either way the
   call is run again from its arguments, and mcp_ask gives it the answers that
   have come.

   It remembers nothing of a modern request between two of its rounds, and
   writes nothing by itself: what goes to a client stands in the notes of a
   run, or in its answer.

   Invariants:
   1. A run begins with what was there when its message was kept or kept on:
      what an earlier try of the same run asked is forgotten.
   2. A question of the handshake era stands in a record before it goes out:
      its answer finds it in any process, at any time.
   3. A state opens only for the same principal, method, target and arguments;
      how long what it is about can be answered is for the call to judge.
   4. A kept message is given out once until it waits again, and one that was
      cancelled gives no answer.
   5. Kept are MCP_MAX_KEPT messages of a session and MCP_KEPT_LEN bytes of
      all, of which nobody takes more than share_fits says, and at most the
      messages of one turn more.
   6. A message that waits keeps its text, the call that asks for it, and the
      state of its last run: nothing else outlives the turn of a run.
   7. Of those that go on with a long look one is out at a time, and then the
      last in the list, and one that begins meanwhile takes a step only: who
      asks something else waits for one slice, not for as many as there are
      looks. */

#include "mcp/internal.h"
#include "base/clock.h"
#include "base/sha256.h"
#include "base/text.h"

#include <stdlib.h>
#include <string.h>

/* MCP_MAX_KEPT and MCP_KEPT_LEN in words */
#define TOO_MANY_WAIT "too many waiting calls: 256 of a session, or 3/4 of " \
                      "what others leave of 8 MiB; end some, or ask again " \
                      "later"

/* ---- for a call that runs ---- */

int
mcp_need(struct mcp_call *c, unsigned set)
{
    c->of->missing |= set & ~c->caps;
    return (set & ~c->caps) == 0 ? 0 : ERR_CAPABILITY;
}

/* The parameters as the revision has them: what can be asked for in other
   ways from 2025-11-25 on has to say that it is a form. */
static struct str
shape_params(struct mcp_call *c, bool form, struct str params)
{
    if (!form || c->rev < MCP_2025_11_25 || params.len < 2)
        return arena_str(c->arena, params);
    return arena_printf(c->arena, "{\"mode\":\"form\"%s%.*s",
                        params.len > 2 ? "," : "", (int)params.len - 1,
                        params.p + 1);
}

/* A question that is not yet known. */
static struct mcp_question *
new_question(struct mcp_call *c, const char *key, const char *method,
             struct str params)
{
    struct arena *a = c->of->m->a;
    struct mcp_question *q = arena_alloc(a, sizeof(*q));

    if (q == NULL)
        return NULL;
    *q = (struct mcp_question){
        .key = arena_str(a, str_of(key)),
        .method = str_of(method),
        .params = shape_params(c, mcp_cap_of(str_of(method)) == MCP_ELICITATION,
                               params),
    };
    return q->key.p != NULL && q->params.p != NULL ? q : NULL;
}

/* Before 2026-07-28 a call has to become a record to ask. */
static bool
can_ask(const struct request *r)
{
    return is_modern(r) || r->again != NULL ||
           (r->m->at == NULL && mcp_can_record(r) &&
            (r->defers || r->tool->writes));
}

const struct json_tok *
mcp_ask(struct mcp_call *c, const char *key, const char *method,
        struct str params)
{
    struct request *r = c->of;
    const struct json_tok *input = json_get(r->inputs, key);
    struct mcp_question **at = &r->questions;
    unsigned cap = mcp_cap_of(str_of(method));

    ASSERT(cap != 0);
    while (*at != NULL && !str_is((*at)->key, key))
        at = &(*at)->next;
    if (*at != NULL && (*at)->answer != NULL)
        return (*at)->answer;
    if (!can_ask(r))
        r->missing |= cap;
    if (!can_ask(r) || mcp_need(c, cap) != 0)
        return NULL;
    if (*at == NULL)
        *at = new_question(c, key, method, params);
    if (*at == NULL)
        c->out->err = ERR_NOMEM;
    else if (input != NULL && input->type == JSON_OBJECT)
        return (*at)->answer = input;
    r->asked = true;
    return NULL;
}

void
mcp_state(struct mcp_call *c, struct str state)
{
    c->of->state = arena_str(c->arena, state);
    if (c->of->state.p == NULL)
        c->out->err = ERR_NOMEM;
}

void
mcp_wait(struct mcp_call *c, int64_t ms)
{
    c->of->wait_ms = ms > 0 ? ms : 0;
}

int
mcp_go_on(struct mcp_call *c, struct str state)
{
    mcp_state(c, state);
    mcp_wait(c, 0);
    c->of->goes_on = true;
    return ERR_MORE;
}

/* Later revisions have no such streams, and earlier clients do not expect
   one to end. */
void
mcp_poll(struct mcp_call *c, unsigned retry_ms)
{
    const struct mcp_message *m = c->of->m;

    if (m->http && c->rev == MCP_2025_11_25 && m->s->id[0] != '\0' &&
        !m->s->sse)
        c->of->poll_ms = retry_ms;
}

static void
put_more(struct buf *b, const char *name, const char *text)
{
    if (text == NULL)
        return;
    buf_z(b, name);
    json_quote(b, str_of(text));
}

#define NOTE "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/"

void
mcp_progress(struct mcp_call *c, uint64_t progress, uint64_t total,
             const char *message)
{
    struct buf *b = c->of->notes;

    /* It has to increase, however soon the call is run again. */
    if (c->of->token.p == NULL || progress < c->of->telling)
        return;
    c->of->telling = progress + 1;
    buf_z(b, NOTE "progress\",\"params\":{");
    if (c->of->again != NULL)
        buf_printf(b, "\"_meta\":{" MCP_RELATED "%.*s\"}},",
                   STR_ARG(c->of->again->id));
    buf_z(b, "\"progressToken\":");
    buf_str(b, c->of->token);
    buf_printf(b, ",\"progress\":%llu,\"total\":%llu",
               (unsigned long long)progress,
               (unsigned long long)(total > 0 ? total : 1000));
    put_more(b, ",\"message\":",
             c->rev >= MCP_2025_03_26 ? message : NULL);
    buf_z(b, "}}\n");
}

/* The level of a session as it is now: it may be set while a call waits. */
void
mcp_log(struct mcp_call *c, int level, const char *logger, struct str data)
{
    const struct request *r = c->of;
    struct buf *b = r->notes;

    if (level > (is_modern(r) ? r->log_level : r->m->s->log_level))
        return;
    put_more(b, NOTE "message\",\"params\":{\"level\":",
             mcp_level_name(level));
    put_more(b, ",\"logger\":", logger);
    buf_z(b, ",\"data\":");
    buf_str(b, data);
    buf_z(b, "}}\n");
}

/* ---- what a modern client carries for a call ---- */

struct state_head { /* of what is sealed; the state follows */
    uint8_t expires_ms[8]; /* never: only older versions look at it */
    uint8_t round[8];
    uint8_t digest[SHA256_LEN];
};

/* Length and kind first, so that no two lists of texts run together. */
static void
add_text(struct sha256 *h, uint8_t kind, struct str s)
{
    uint8_t head[9] = {[8] = kind};

    mcp_put_be64(head, s.len);
    sha256_add(h, head, sizeof(head));
    if (s.p != NULL)
        sha256_add(h, s.p, s.len);
}

/* Of what the request asks for, however its JSON is written. */
static int
digest(const struct request *r, uint8_t out[SHA256_LEN])
{
    const struct json_tok *t = r->call.args;
    uint32_t n = t != NULL ? t->span : 0;
    struct sha256 h;

    sha256_init(&h);
    add_text(&h, JSON_STRING, str_of(r->method->name));
    add_text(&h, JSON_STRING, r->target);
    for (; n > 0; n--, t++) {
        struct str text = {NULL, t->n};

        if (t->type < JSON_ARRAY)
            text = json_raw(t);
        if (t->type == JSON_STRING && mcp_text(r->m->a, t, &text) != 0)
            return ERR_NOMEM;
        add_text(&h, t->type, text);
    }
    sha256_end(&h, out);
    return 0;
}

static int
seal_state(struct request *r, struct buf *out)
{
    size_t len = sizeof(struct state_head) + r->state.len;
    struct state_head *head = arena_alloc(r->call.arena, len);

    if (r->m->m->sign == NULL)
        return ERR_IO;
    if (head == NULL || digest(r, head->digest) != 0)
        return ERR_NOMEM;
    mcp_put_be64(head->expires_ms, UINT64_MAX);
    mcp_put_be64(head->round, (uint64_t)r->call.round + 1);
    if (r->state.len > 0)
        memcpy(head + 1, r->state.p, r->state.len);
    return sign_seal(r->m->m->sign, "state", r->call.principal,
                     (struct str){(const char *)head, len}, out);
}

/* Invariant 3. 0, ERR_NOMEM, or another error: it is not good. */
static int
open_state(struct request *r, struct str text)
{
    struct sign *sign = r->m->m->sign;
    const struct state_head *head;
    uint8_t want[SHA256_LEN];
    struct str s;
    int err = ERR_INVALID;

    if (sign != NULL && text.p != NULL)
        err = sign_open(sign, "state", r->call.principal, text, r->m->a, &s);
    if (err == 0)
        err = digest(r, want);
    if (err != 0)
        return err;
    head = (const struct state_head *)(const void *)s.p;
    if (s.len < sizeof(*head) ||
        memcmp(head->digest, want, sizeof(want)) != 0)
        return ERR_INVALID;
    r->call.round = (unsigned)mcp_get_be64(head->round);
    r->call.state = (struct str){s.p + sizeof(*head), s.len - sizeof(*head)};
    return 0;
}

int
mcp_check_inputs(struct request *r)
{
    const struct json_tok *inputs = json_get(r->params, "inputResponses"),
                          *state = json_get(r->params, "requestState");
    struct str text;
    int err;

    if (!is_absent(inputs) && inputs->type != JSON_OBJECT)
        return mcp_refuse(r, MCP_OK, RPC_INVALID_PARAMS,
                          "inputResponses must be an object", NULL, STR_NONE);
    r->inputs = inputs;
    if (is_absent(state))
        return 0;
    err = mcp_text(r->m->a, state, &text);
    if (err == 0)
        err = open_state(r, text);
    if (err == 0 || err == ERR_NOMEM)
        return err;
    return mcp_refuse(r, MCP_OK, RPC_INVALID_PARAMS,
                      "requestState is not of this request: call again "
                      "without it", NULL, STR_NONE);
}

/* ---- what a run comes to ---- */

void
mcp_begin_run(struct request *r)
{
    struct mcp_message *m = r->m;

    if (r->again == NULL)
        r->questions = NULL;
    if (m->at == NULL)
        r->runs_as = STR_NONE;
    r->missing = 0;
    r->asked = false;
    r->state = STR_NONE;
    r->wait_ms = -1;
    r->goes_on = false;
    r->poll_ms = 0;
    r->watch = STR_NONE;
    r->telling = r->told;
    r->why = NULL;
    r->error = STR_NONE;
    r->defers = r->task || (r->again != NULL && !mcp_is_plain(r->again));
    if (m->at == NULL && r->again == NULL && m->m->store != NULL)
        r->call.since = store_next_n(m->m->store) - 1;
    r->call.is_error = r->call.content = false;
    r->call.until_ms = clock_mono_ms();
    if (m->at != NULL || m->m->going == NULL) /* invariant 7 */
        r->call.until_ms += MCP_SLICE_MS;
    r->call.read_max = MCP_READ_MAX / m->n;
    if (r->again == NULL)
        r->call.arena = &m->m->runs;
}

size_t
mcp_runs_len(const struct mcp *m)
{
    return arena_size(&m->runs);
}

void
mcp_end_turn(struct mcp *m)
{
    arena_reset(&m->runs);
}

/* The members of an input_required result. */
static int
put_inputs(struct request *r, struct buf *out)
{
    int err = 0;

    if (r->asked) {
        buf_z(out, "\"inputRequests\":");
        mcp_put_inputs(out, r->questions);
    }
    if (r->state.p == NULL)
        return 0;
    buf_z(out, r->asked ? ",\"requestState\":\"" : "\"requestState\":\"");
    err = seal_state(r, out);
    buf_char(out, '"');
    return err;
}

/* What all messages of a principal keep. */
static size_t
kept_of(const struct mcp *m, struct str principal)
{
    const struct mcp_message *k;
    size_t n = 0;

    for (k = m->kept; k != NULL; k = k->next)
        if (str_eq(k->v->call.principal, principal))
            n += k->len;
    return n;
}

/* Invariant 5. */
bool
mcp_may_keep(const struct request *r)
{
    const struct mcp_message *m = r->m;
    size_t len = m->text.len;

    return m->at != NULL ||
           (m->s->n_kept < MCP_MAX_KEPT &&
            share_fits(kept_of(m->m, r->call.principal) + len,
                       m->m->kept_len + len, MCP_KEPT_LEN));
}

/* What ERR_MORE of a run means: MCP_ASKS, ERR_MORE, or another error. */
static int
settle(struct request *r)
{
    bool waits = r->wait_ms >= 0 || r->watch.len > 0 || r->listen != NULL;

    if (r->m->m->store != NULL)
        r->seen = store_next_n(r->m->m->store) - 1;
    if (r->missing != 0)
        return ERR_CAPABILITY;
    if (!r->call.may_wait)
        return ERR_MORE;
    if (!r->asked && !waits) {
        if (r->state.p == NULL)
            return ERR_IO; /* for nothing, so it would wait forever */
        r->wait_ms = 0;
    }
    if (r->defers || r->again != NULL)
        return ERR_MORE;
    if (is_modern(r) && (r->asked || !waits))
        return MCP_ASKS;
    if (!mcp_may_keep(r)) {
        r->why = TOO_MANY_WAIT;
        return ERR_TOO_LARGE;
    }
    return ERR_MORE;
}

/* A tool's own error result, for what its run was refused. */
static void
put_refusal(const struct request *r, int err, struct buf *out)
{
    unsigned i;

    buf_printf(out, "\"content\":[{\"type\":\"text\",\"text\":\"{"
               "\\\"code\\\":\\\"%s\\\",\\\"message\\\":\\\"%s",
               err_name(err == ERR_MORE ? ERR_BLOCKED : err),
               err == ERR_MORE
                   ? "it would have to wait, which nothing in a batch can"
               : err == ERR_TOO_LARGE ? TOO_MANY_WAIT
               : err == ERR_UNAUTHORIZED ? "this token may only read"
                                         : "the client cannot be asked for");
    for (i = 0; mcp_cap_name(i) != NULL; i++) {
        if (r->missing & 1u << i) {
            buf_char(out, ' ');
            buf_z(out, mcp_cap_name(i));
        }
    }
    buf_printf(out, "\\\",\\\"retryable\\\":%s}\"}],\"isError\":true",
               err == ERR_TOO_LARGE ? "true" : "false");
}

int
mcp_end_run(struct request *r, int err, size_t at, struct buf *out)
{
    if (err == ERR_MORE)
        err = out->err != 0 ? out->err : settle(r);
    if ((r->defers || r->asked) && r->again == NULL && r->m->at == NULL &&
        err == ERR_MORE)
        return mcp_defer_create(r, err, at, out);
    if (err == MCP_ASKS) {
        out->len = at;
        err = put_inputs(r, out);
        return err != 0 ? err : MCP_ASKS;
    }
    if (r->tool != NULL &&
        (err == ERR_UNAUTHORIZED || err == ERR_TOO_LARGE ||
         (err == ERR_MORE && !r->call.may_wait) ||
         (err == ERR_CAPABILITY && !is_modern(r)))) {
        out->len = at;
        put_refusal(r, err, out);
        r->call.is_error = true;
        err = 0;
    }
    return r->task && r->tool != NULL ? mcp_defer_create(r, err, at, out)
                                      : err;
}

/* ---- messages that wait ---- */

/* Judges the copy of m that k is to be, as a session of m's revision would. */
static int
judge_copy(struct mcp_message *k, const struct mcp_message *m)
{
    const struct request *r = m->v;
    struct mcp_facts f = {.principal = arena_str(k->a, r->call.principal),
                          .read_only = r->call.read_only};
    struct mcp_session *s = &k->scratch;
    int err;

    k->text = arena_str(k->a, m->text);
    if (k->text.p == NULL || f.principal.p == NULL)
        return ERR_NOMEM;
    s->initialized = !is_modern(r);
    s->rev = r->rev;
    s->caps = r->call.caps;
    s->log_level = m->s->log_level;
    if (r->call.client.len > 0)
        memcpy(s->client, r->call.client.p, r->call.client.len);
    err = mcp_judge(k, &f);
    k->f = NULL;
    k->http = m->http;
    k->s = m->s == &m->scratch ? s : m->s;
    return err < 0 ? err : 0;
}

/* Counts what k keeps. */
static void
count(struct mcp_message *k)
{
    size_t len = sizeof(*k) + arena_size(&k->own) + k->state.cap;

    k->m->kept_len += len - k->len;
    k->len = len;
}

/* k is with mcp again. */
static void
take_back(struct mcp_message *k)
{
    if (k->m->going == k)
        k->m->going = NULL;
    k->given = false;
}

/* Has k wait for what the run of r said, which is its own or that of the
   message that it was copied from. ERR_NOMEM. */
static int
let_wait(struct mcp_message *k, const struct request *r)
{
    struct request *own = k->v;

    buf_reset(&k->state, 0);
    buf_put(&k->state, r->state.p, r->state.len);
    if (k->state.err != 0)
        return ERR_NOMEM;
    own->told = r->telling;
    own->goes_on = r->goes_on;
    own->poll_ms = r->poll_ms;
    own->seen = r->seen;
    own->call.since = r->goes_on ? r->call.since : r->seen;
    own->call.round = r->call.round + 1;
    own->call.state = buf_view(&k->state);
    k->due_ms = r->wait_ms < 0 ? INT64_MAX : clock_mono_ms() + r->wait_ms;
    take_back(k);
    /* What its turn has committed behind it may be what it waits for. */
    k->watch = r->watch.len > 0 ? str_hash(r->watch) : 0;
    k->ready = k->cancelled || (k->watch != 0 && mcp_head(k->m) > r->seen);
    count(k);
    return 0;
}

void
mcp_wake(struct mcp *m, const struct mcp_change *c)
{
    char buf[CALL_WATCH_MAX];
    struct str names = STR_NONE, name;
    struct mcp_message *k;
    uint64_t key = 0, other[CALL_NAMES_MAX] = {0};
    size_t i;

    for (k = m->kept; k != NULL; k = k->next) {
        if (k->watch == 0)
            continue;
        if (key == 0) {
            key = str_hash(c->key);
            if (m->cat->alias != NULL)
                names = m->cat->alias(c->key, c->body, buf);
            for (i = 0; i < CALL_NAMES_MAX; i++) {
                name = call_next_name(&names);
                other[i] = name.p != NULL ? str_hash(name) : key;
            }
        }
        k->ready |= k->watch == key;
        for (i = 0; i < CALL_NAMES_MAX; i++)
            k->ready |= k->watch == other[i];
    }
}

/* One that is run again is listed anew: invariant 7. */
static void
list_kept(struct mcp_message *k)
{
    k->at = &k->m->kept;
    k->next = k->m->kept;
    if (k->next != NULL)
        k->next->at = &k->next;
    k->m->kept = k;
}

static void
unlist_kept(struct mcp_message *k)
{
    *k->at = k->next;
    if (k->next != NULL)
        k->next->at = k->at;
}

static void
free_kept(struct mcp_message *k)
{
    if (k->n > 0 && k->v->listen != NULL)
        mcp_listen_end(k);
    k->m->kept_len -= k->len;
    arena_fini(&k->own);
    buf_fini(&k->state);
    free(k);
}

int
mcp_keep(struct mcp_message *m, struct mcp_sink *sink, void *owner,
         struct mcp_message **out)
{
    struct mcp_message *k;

    if (m->at != NULL) {
        unlist_kept(m);
        list_kept(m);
        *out = m;
        return let_wait(m, m->v);
    }
    k = calloc(1, sizeof(*k));
    if (k == NULL)
        return ERR_NOMEM;
    k->m = m->m;
    k->a = &k->own;
    k->sink = sink;
    k->owner = owner;
    if (judge_copy(k, m) != 0)
        goto fail;
    k->v->runs_as = arena_str(k->a, m->v->runs_as);
    if (k->v->runs_as.p == NULL)
        goto fail;
    mcp_prepare(k);
    if (let_wait(k, m->v) != 0)
        goto fail;
    list_kept(k);
    k->m->counts.waiting++;
    k->s->n_kept++;
    if (k->v->listen != NULL)
        mcp_listen_begin(k);
    *out = k;
    return 0;

fail:
    free_kept(k);
    return ERR_NOMEM;
}

void
mcp_drop(struct mcp_message *m)
{
    unlist_kept(m);
    take_back(m);
    m->m->counts.waiting--;
    m->s->n_kept--;
    free_kept(m);
}

/* Whether k is not to be given out now, whatever it waits for. */
static bool
is_out(const struct mcp_message *k)
{
    return k->given || (k->v->goes_on && k->m->going != NULL);
}

/* Whether k is a look of the principal who had the last one. */
static bool
looks_again(const struct mcp_message *k)
{
    return k->v->goes_on &&
           str_hash(k->v->call.principal) == k->m->last_looker;
}

/* The one that has waited longest first; but no principal has two looks in a
   row where another has one. */
void *
mcp_next(struct mcp *m, int64_t now_ms, struct mcp_message **out)
{
    struct mcp_message *k, *found = NULL;

    for (k = m->kept; k != NULL; k = k->next)
        if (!is_out(k) && (k->ready || k->due_ms <= now_ms) &&
            (found == NULL || !looks_again(k) || looks_again(found)))
            found = k;
    if (found == NULL)
        return NULL;
    if (found->v->goes_on) {
        m->going = found;
        m->last_looker = str_hash(found->v->call.principal);
    }
    found->given = true;
    *out = found;
    return found->owner;
}

int64_t
mcp_due_ms(const struct mcp *m)
{
    const struct mcp_message *k;
    int64_t due = mcp_hold_due_ms(m);

    if (m->list_due[0] || m->list_due[1] || m->list_due[2])
        due = m->list_sent_ms + MCP_LIST_PAUSE_MS;
    if (m->tell_due)
        due = 0;
    for (k = m->kept; k != NULL; k = k->next) {
        int64_t at = k->ready ? 0 : k->due_ms;

        if (!is_out(k) && at < due)
            due = at;
    }
    return due;
}

unsigned
mcp_polls(const struct mcp_message *m)
{
    return m->v->poll_ms;
}

/* ---- what clients say to messages that wait ---- */

void
mcp_take_cancel(struct request *r, const struct json_tok *params)
{
    const struct json_tok *id = json_get(params, "requestId");
    const struct mcp_session *s = r->m->s;
    struct mcp_message *k = s->n_kept > 0 ? s->m->kept : NULL;

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
    size_t i;

    for (i = 0; i < by->n; i++)
        if (by->v[i].cancels.p != NULL)
            return true;
    return false;
}

/* Whether r can be as if it had not come: initialize has taken effect, and of
   what was prepared there are files. */
static bool
can_cancel(const struct request *r)
{
    return !r->silent && !str_is(r->name, "initialize") &&
           (r->tool == NULL || r->tool->prepare == NULL);
}

void
mcp_cancel(struct mcp_message *m, const struct mcp_message *by)
{
    size_t i, k;

    for (i = 0; i < m->n && m->s == by->s; i++)
        for (k = 0; k < by->n; k++)
            if (by->v[k].cancels.p != NULL && can_cancel(&m->v[i]) &&
                str_eq(m->v[i].id, by->v[k].cancels))
                m->v[i].silent = true;
}
