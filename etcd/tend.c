/* tend - what the engine does between operations.

   A process that holds questions has a key P/i/<instance>, bound to a lease of
   15 s. It renews that every 5 s, and every second if that fails. An instance
   in another host's record counts as alive until a list of the keys lacks it
   that was requested after some seconds of doubt: a new process puts its key a
   moment after it first uses its number. */

#include "etcd/tend.h"
#include "base/clock.h"
#include "base/text.h"
#include "etcd/engine.h"
#include "etcd/upload.h"

#include <string.h>

#define LEASE "15" /* seconds */
#define RENEW_MS 5000
#define REST_MS 1000 /* after a failure */
#define DOUBT_MS 3000
#define GONE_MS 60000 /* a host that was cut off may come back before */
#define LOOK_MS 60000 /* how long after a question the list is kept current */

static int
on_living(struct engine *e, const struct txn_answer *t)
{
    const struct json_tok *kv = NULL;
    size_t skip = strlen(e->url.prefix) + 3;
    struct txn_kv v;
    uint64_t n;

    e->life.due_ms = clock_mono_ms() + REST_MS;
    if (t == NULL) {
        if (!e->life.put)
            e->life.lease = 0; /* it may have ended */
        return 0;
    }
    e->life.due_ms = clock_mono_ms() + RENEW_MS;
    e->life.put = e->life.lease != 0;
    e->life.n_living = 0;
    while ((kv = txn_next(t, 0, kv)) != NULL)
        if (txn_kv(&e->mem, kv, &v) == 0 && v.key.len > skip &&
            str_u64(str_from(v.key, skip), &n) &&
            e->life.n_living < LIFE_MAX)
            e->life.living[e->life.n_living++] = n;
    e->life.list_ms = e->life.requested_ms;
    return 0;
}

static int
request_living(struct engine *e)
{
    e->life.requested_ms = clock_mono_ms();
    txn_then(&e->body);
    txn_range(&e->body, "i/", "i0");
    if (e->life.lease != 0 && !e->life.put)
        txn_put(&e->body,
                head_key("i/%llu", (unsigned long long)e->life.instance).z,
                str_of(e->host), e->life.lease);
    return engine_send_txn(e, on_living);
}

static int
on_grant(struct engine *e, const struct txn_answer *t)
{
    e->life.due_ms = clock_mono_ms() + REST_MS;
    e->life.put = false;
    if (t != NULL && (e->life.lease = txn_number(t->root, "ID")) != 0)
        e->life.due_ms = 0; /* puts the key */
    return 0;
}

/* A lease that has ended comes back without its time to live. */
static int
on_renewed(struct engine *e, const struct txn_answer *t)
{
    e->life.due_ms = clock_mono_ms() + REST_MS;
    if (t == NULL)
        return 0;
    e->life.due_ms = 0; /* the list is next, or a new lease */
    e->life.renewed_ms = clock_mono_ms();
    if (txn_number(json_get(t->root, "result"), "TTL") == 0)
        e->life.lease = 0;
    return 0;
}

static int
tend_life(struct engine *e)
{
    int64_t now = clock_mono_ms();

    if (e->life.instance != 0 && e->life.lease == 0) {
        buf_z(&e->body.b, "{\"TTL\":\"" LEASE "\"}");
        return engine_send(e, "/v3/lease/grant", on_grant);
    }
    if (e->life.lease != 0 && e->life.put &&
        now - e->life.renewed_ms >= RENEW_MS) {
        buf_printf(&e->body.b, "{\"ID\":\"%lld\"}", (long long)e->life.lease);
        return engine_send(e, "/v3/lease/keepalive", on_renewed);
    }
    return request_living(e);
}

/* Returns whether there is a lease to renew or a list to keep. */
static bool
is_needed(const struct engine *e)
{
    return e->attached &&
           (e->life.instance != 0 ||
            e->life.wanted_ms + LOOK_MS > clock_mono_ms());
}

int64_t
tend_due(const struct engine *e)
{
    int64_t due = upload_due(e);

    if (is_needed(e) && e->life.due_ms < due)
        due = e->life.due_ms;
    return due < e->life.rest_ms ? e->life.rest_ms : due;
}

bool
tend(struct engine *e)
{
    int64_t now = clock_mono_ms();
    bool sent;

    if (now < tend_due(e))
        return false;
    e->state = ENGINE_TENDS;
    if (is_needed(e) && now >= e->life.due_ms)
        sent = tend_life(e) == ERR_PENDING;
    else
        sent = upload_send(e) == ERR_PENDING;
    if (!sent)
        e->state = ENGINE_IDLE;
    e->life.rest_ms = sent ? 0 : now + REST_MS;
    return sent;
}

/* ---- instances ---- */

void
tend_instance(struct engine *e, uint64_t instance)
{
    if (e->life.instance == instance)
        return;
    e->life.instance = instance;
    e->life.put = false;
    e->life.due_ms = 0;
}

/* The place of an instance that was missing when it was last asked for, or
   LIFE_DOUBTS. */
static size_t
find_doubt(const struct engine *e, uint64_t instance)
{
    size_t i = 0;

    while (i < LIFE_DOUBTS && e->life.doubt[i].instance != instance)
        i++;
    return i;
}

bool
tend_alive(struct engine *e, uint64_t instance)
{
    int64_t now = clock_mono_ms();
    size_t i, doubt = find_doubt(e, instance);

    if (instance < REMOTE_INSTANCES)
        return false; /* a process that uses no engine */
    e->life.wanted_ms = now;
    for (i = 0; i < e->life.n_living; i++)
        if (e->life.living[i] == instance) {
            if (doubt < LIFE_DOUBTS)
                e->life.doubt[doubt].instance = 0;
            return true;
        }
    if (i == LIFE_MAX) /* there may be more */
        return true;
    if (doubt < LIFE_DOUBTS)
        return e->life.list_ms < e->life.doubt[doubt].since_ms + DOUBT_MS;
    i = e->life.next_doubt++ % LIFE_DOUBTS;
    e->life.doubt[i].instance = instance;
    e->life.doubt[i].since_ms = now;
    return true;
}

bool
tend_gone(struct engine *e, uint64_t instance)
{
    size_t i = find_doubt(e, instance);

    return instance >= REMOTE_INSTANCES && i < LIFE_DOUBTS &&
           e->life.list_ms >= e->life.doubt[i].since_ms + GONE_MS;
}
