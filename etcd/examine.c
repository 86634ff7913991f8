/* examine - the state of one endpoint: its version, and then a read that only a
   member with a majority can answer. */

#include "etcd/examine.h"
#include "etcd/engine.h"
#include "base/clock.h"
#include "base/text.h"

#include <stdlib.h>
#include <string.h>

#define OLDEST "3.4.0"
#define BAD_FROM "3.5.0" /* they can lose data */
#define BAD_TO "3.5.3"   /* the first that cannot */

/* Whether this is the head of the store in use. */
static bool
is_our_head(struct engine *e, const struct txn_answer *t)
{
    struct txn_kv kv;
    struct head h;

    return txn_only(&e->mem, t, 0, &kv) == 0 && head_parse(kv.value, &h) &&
           strcmp(h.epoch, e->meta.epoch) == 0;
}

/* It answers: reports how fast, or that its clock is wrong, or that it is not
   in the cluster that has the store, since nodes that were set up apart seem
   healthy. */
static int
on_examined_head(struct engine *e, const struct txn_answer *t)
{
    const char *name = etcd_endpoint(e->client);

    if (e->attached && !is_our_head(e, t))
        return engine_fail(e, ERR_FORMAT, "%s: in another cluster than %s, "
                           "without this store; join them as in "
                           "docs/cluster.md",
                           name, e->attached);
    if (llabs(e->skew_ms) > REMOTE_SKEW_MS)
        return engine_fail(e, ERR_SKEW, "%s: its clock is %lld ms %s this "
                           "host's; correct the wrong clock", name,
                           llabs(e->skew_ms),
                           e->skew_ms > 0 ? "ahead of" : "behind");
    return engine_fail(e, 0, "%s: etcd %s, answers in %lld ms", name,
                       e->examine.version,
                       (long long)(clock_mono_ms() - e->examine.sent_ms));
}

static int
on_version(struct engine *e, const struct txn_answer *t)
{
    struct str v = json_str(&e->mem, json_get(t->root, "etcdserver"));

    text_put(e->examine.version, sizeof(e->examine.version), "%.*s",
             STR_ARG(v));
    if (meta_is_newer(STR(OLDEST), v) ||
        (!meta_is_newer(STR(BAD_FROM), v) && meta_is_newer(STR(BAD_TO), v)))
        return engine_fail(e, ERR_VERSION, "%s: etcd %s; use 3.4 or newer, but "
                           "not 3.5.0 to 3.5.2, which can lose data",
                           etcd_endpoint(e->client), e->examine.version);
    txn_then(&e->body);
    txn_range(&e->body, "head", NULL);
    txn_end(&e->body);
    e->examine.sent_ms = clock_mono_ms();
    return engine_send_to(e, e->examine.at, TXN, on_examined_head);
}

int
examine_begin(struct engine *e, unsigned i)
{
    e->examine.at = i;
    return engine_send_to(e, i, "/version", on_version);
}
