/* members - what each endpoint says of itself.

   Every answer of etcd has the time of its node. One node whose clock is wrong
   must not stop the host, and a host whose clock is wrong must not write. So if
   a node's time is far from the host's, the others are asked too, and what most
   of them say counts. A reading is kept as its distance from the boot clock, so
   all of them follow when the host's clock is set.

   The first endpoint is the node of this host. After another one had to be
   used, it is asked now and then what only a member that hears a majority can
   answer, and used again once it does. No request waits for that. */

#include "etcd/members.h"
#include "etcd/engine.h"
#include "base/clock.h"
#include "base/text.h"

#include <stdlib.h>
#include <string.h>

#define OLDEST "3.4.0"
#define BAD_FROM "3.5.0" /* they can lose data */
#define BAD_TO "3.5.3"   /* the first that cannot */
#define ANSWER_MS 1000
#define AGAIN_MS 3000 /* from one endpoint to the next, between operations */
#define LOOK_MS 20    /* nobody waits for those answers */

void
members_note(struct engine *e, unsigned i, int64_t skew_ms)
{
    if (skew_ms == 0)
        return;
    e->members.of[i].asked = e->members.of[i].dated = true;
    e->members.of[i].clock_ms = skew_ms + clock_wall_ms() - clock_boot_ms();
}

static int64_t
skew_of(const struct engine *e, unsigned i)
{
    return e->members.of[i].clock_ms - (clock_wall_ms() - clock_boot_ms());
}

int64_t
members_skew(const struct engine *e)
{
    int64_t sorted[ETCD_MAX_ENDPOINTS] = {0}, low, high;
    unsigned n = 0, at;

    for (unsigned i = 0; i < etcd_places(e->client); i++) {
        if (!e->members.of[i].dated)
            continue;
        for (at = n++; at > 0 && sorted[at - 1] > skew_of(e, i); at--)
            sorted[at] = sorted[at - 1];
        sorted[at] = skew_of(e, i);
    }
    low = sorted[n > 0 ? (n - 1) / 2 : 0];
    high = sorted[n / 2];
    return llabs(low) < llabs(high) ? low : high;
}

/* Whether some endpoint's clock is far from the host's. */
static bool
is_doubtful(const struct engine *e)
{
    for (unsigned i = 0; i < etcd_places(e->client); i++)
        if (e->members.of[i].dated && llabs(skew_of(e, i)) > REMOTE_SKEW_MS)
            return true;
    return false;
}

/* Asks endpoint i for the head. */
static void
ask(struct engine *e, unsigned i)
{
    struct txn body = {.prefix = e->url.prefix};
    int rc;

    txn_then(&body);
    txn_range(&body, "head", NULL);
    txn_end(&body);
    rc = body.b.err != 0 ? body.b.err
                         : etcd_begin_at(e->members.client, i, TXN,
                                         buf_view(&body.b), ANSWER_MS);
    buf_fini(&body.b);
    e->members.of[i].asked = true;
    e->members.at = i;
    e->members.asking = rc == 0;
}

/* Goes on with the one that was asked. Returns whether it is done. */
static bool
go_on(struct engine *e)
{
    struct etcd_answer a;
    int rc = e->members.asking ? etcd_step(e->members.client, &a) : ERR_IO;

    if (rc == ERR_MORE)
        return false;
    if (e->members.asking)
        members_note(e, e->members.at, a.skew_ms);
    e->members.asking = false;
    if (rc == 0 && e->members.at == 0 && etcd_place(e->client) != 0)
        etcd_adopt(e->client, e->members.client);
    return true;
}

int
members_hear(struct engine *e)
{
    unsigned i;

    while (is_doubtful(e) && go_on(e)) {
        for (i = 0; i < etcd_places(e->client) && e->members.of[i].asked; i++)
            ;
        if (i == etcd_places(e->client))
            break;
        ask(e, i);
    }
    e->members.held = e->members.asking && is_doubtful(e);
    return e->members.held ? ERR_MORE : 0;
}

/* Whether endpoints beside the one in use have to be asked now and then. */
static bool
is_needed(const struct engine *e)
{
    return e->attached && etcd_places(e->client) > 1 &&
           (etcd_place(e->client) != 0 || is_doubtful(e));
}

int64_t
members_due(const struct engine *e)
{
    return e->members.asking ? clock_mono_ms() + LOOK_MS
           : is_needed(e)    ? e->members.due_ms : INT64_MAX;
}

void
members_tend(struct engine *e)
{
    unsigned next = e->members.at;

    if (!go_on(e) || !is_needed(e) || clock_mono_ms() < e->members.due_ms)
        return;
    do
        next = is_doubtful(e) ? (next + 1) % etcd_places(e->client) : 0;
    while (next == etcd_place(e->client));
    ask(e, next);
    e->members.due_ms = clock_mono_ms() + AGAIN_MS;
}

/* ---- examining one ---- */

int
members_examine(struct engine *e, unsigned i)
{
    if (i >= etcd_places(e->client))
        return ERR_NOT_FOUND;
    etcd_cancel(e->members.client);
    e->members.asking = false;
    e->members.at = i;
    e->members.examining = EXAMINE_VERSION;
    return etcd_begin_at(e->members.client, i, "/version", STR_NONE, ANSWER_MS);
}

/* Takes the answer to /version, and asks for the head. */
static int
take_version(struct engine *e, const struct etcd_answer *a)
{
    const struct json_tok *root = NULL;
    struct str v;

    arena_reset(&e->mem);
    json_parse(&e->mem, a->body, &root, NULL);
    v = json_str(&e->mem, json_get(root, "etcdserver"));
    text_put(e->members.version, sizeof(e->members.version), "%.*s",
             STR_ARG(v));
    if (meta_is_newer(STR(OLDEST), v) ||
        (!meta_is_newer(STR(BAD_FROM), v) && meta_is_newer(STR(BAD_TO), v)))
        return engine_fail(e, ERR_VERSION, "%s: etcd %s; 3.4 or newer is "
                           "needed, and 3.5.0 to 3.5.2 can lose data",
                           etcd_endpoint(e->members.client),
                           e->members.version);
    e->members.examining = EXAMINE_HEAD;
    e->members.asked_ms = clock_mono_ms();
    ask(e, e->members.at);
    return e->members.asking ? ERR_MORE : ERR_NOMEM;
}

/* Whether this is the head of the store in use. */
static bool
is_ours(struct engine *e, struct str body)
{
    struct txn_answer t;
    struct txn_kv kv;
    struct head h;

    arena_reset(&e->mem);
    return txn_read(&e->mem, body, true, &t) == 0 &&
           txn_only(&e->mem, &t, 0, &kv) == 0 && head_parse(kv.value, &h) &&
           strcmp(h.epoch, e->mine.epoch) == 0;
}

/* It answers: says how fast, or that its clock is wrong, or that it is not in
   the cluster of the one in use: nodes that were set up apart are healthy. */
static int
take_head(struct engine *e, struct str body)
{
    int64_t wrong_ms = e->members.of[e->members.at].dated
                           ? skew_of(e, e->members.at) - members_skew(e) : 0;
    const char *name = etcd_endpoint(e->members.client);

    if (e->attached && !is_ours(e, body))
        return engine_fail(e, ERR_FORMAT, "%s: is in another cluster than %s, "
                           "without this store; join them, see docs/cluster.md",
                           name, etcd_endpoint(e->client));
    return llabs(wrong_ms) > REMOTE_SKEW_MS
               ? engine_fail(e, ERR_SKEW, "%s: its clock is %lld ms %s those "
                             "of the others; set it", name, llabs(wrong_ms),
                             wrong_ms > 0 ? "ahead of" : "behind")
               : engine_fail(e, 0, "%s: etcd %s, answers in %lld ms", name,
                             e->members.version,
                             (long long)(clock_mono_ms() -
                                         e->members.asked_ms));
}

int
members_examined(struct engine *e)
{
    struct etcd_answer a;
    int rc = etcd_step(e->members.client, &a);

    if (rc == ERR_MORE)
        return rc;
    e->members.asking = false;
    members_note(e, e->members.at, a.skew_ms);
    if (rc != 0)
        engine_fail(e, 0, "%s", a.why);
    else if (e->members.examining == EXAMINE_VERSION)
        rc = take_version(e, &a);
    else
        rc = take_head(e, a.body);
    if (rc != ERR_MORE)
        e->members.examining = EXAMINE_NOT;
    return rc == ERR_UNKNOWN ? ERR_UNREACHABLE : rc;
}
