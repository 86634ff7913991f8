/* store - how commands open the store, run a tool on it, and commit to it.

   A command that only reads opens it read-only: no lock, no change. A tool runs
   as it does for a client: from its message, judged by mcp, in a turn. */

#include "cli/store.h"
#include "store/remote.h"
#include "cli/text.h"
#include "mcp/mcp.h"
#include "base/clock.h"
#include "base/text.h"
#include "task/query.h"
#include "tools/tools.h"

#include <errno.h>
#include <poll.h>
#include <unistd.h>

#define WAIT_MS 50 /* how often a wait checks for new records */
#define TRIES 3 /* to make room, while what is free keeps changing */

/* Every command knows all kinds of records: a compaction that did not know a
   kind would keep its records for ever. */
int
cli_open_store(const struct cli_env *env, bool readonly,
               struct cli_store *out, char why[256])
{
    const struct calls_options calls = {.max_own = (unsigned)env->calls_own,
                                        .max_all = (unsigned)env->calls_max,
                                        .alias = task_names};
    static struct store_kind kinds[3];
    struct store_options o = {.path = env->log_path,
                              .readonly = (readonly && env->remote == NULL) ||
                                          env->read_only ||
                                          env->no_store != NULL,
                              .denied = env->no_store,
                              .compact_at = (int64_t)env->compact_at,
                              .closed_max = (int64_t)(env->closed_mib << 20),
                              .remote = env->remote};
    int rc;

    text_put(why, 256, "out of memory");
    *out = (struct cli_store){.store = NULL};
    out->tasks = tasks_new();
    out->calls = calls_new(&calls);
    if (out->tasks == NULL || out->calls == NULL)
        return ERR_NOMEM;
    tasks_kind(out->tasks, &kinds[0]);
    mcp_session_kind(&kinds[1]);
    calls_kind(out->calls, &kinds[2]);
    rc = store_open(&out->store, &o, kinds, 3, why);
    if (rc == 0) {
        tasks_bind(out->tasks, out->store);
        tasks_watch(out->tasks, mcp_see_process, out->store);
        calls_bind(out->calls, out->store);
    }
    return rc;
}

void
cli_close_store(struct cli_store *s)
{
    mcp_free(s->mcp);
    tools_free(s->tools);
    store_close(s->store);
    tasks_free(s->tasks);
    calls_free(s->calls);
}

/* What mcp does with each committed record: it runs what waits for it. */
static void
wake_messages(void *ctx, const struct store_entry *e, const struct store_rec *r)
{
    struct mcp_change change = {r->key, r->body, r->n, r->p == 0};

    (void)e;
    mcp_changed(ctx, &change);
}

/* Makes what runs the tools, once. A command has all of them, whatever clients
   are offered. ERR_NOMEM. */
static int
offer_tools(struct cli *c)
{
    static struct cli_env env;
    static struct mcp_catalogue offer;

    if (c->s.mcp != NULL)
        return 0;
    env = *c->env;
    env.core = env.read_only = env.structured = false;
    env.command = true;
    if (c->s.tools == NULL && tools_new(&c->s.tools, c->s.tasks, &env) != 0)
        return ERR_NOMEM;
    offer = *tools_catalogue(c->s.tools);
    offer.put_notice = NULL; /* what it says, cli_close and cli_catch_up do */
    return mcp_new(&c->s.mcp, &offer, c->s.store, NULL, c->s.calls);
}

int
cli_try_lock(struct cli *c)
{
    int rc = store_lock_patiently(c->s.store);

    if (rc == 0)
        store_unlock(c->s.store);
    return rc;
}

int
cli_commit(struct cli *c, bool *unknown)
{
    int rc, rounds = 16;

    /* Runs the calls that wait for the staged changes. Those that cannot run
       now are left to the next process. Without room they would take it. */
    if (store_has_room(c->s.store) && calls_any_marked(c->s.calls) &&
        offer_tools(c) == 0)
        while (rounds-- > 0 && calls_any_marked(c->s.calls))
            mcp_run_marked(c->s.mcp);
    while ((rc = store_commit(c->s.store, unknown)) == ERR_PENDING)
        store_await(c->s.store);
    store_unlock(c->s.store);
    c->no_room = rc == ERR_FULL ? c->no_room + 1 : 0;
    if (rc == ERR_FULL && !*unknown && c->no_room <= TRIES &&
        store_make_room(c->s.store))
        rc = ERR_AGAIN;
    return rc;
}

/* ---- a message ---- */

/* Nobody reads what a message that waits tells its client. */
static bool
drop_note(void *ctx, const struct mcp_out *o)
{
    (void)ctx;
    (void)o;
    return true;
}

int
cli_run_message(struct cli *c, struct str text, bool person,
                struct str *answer)
{
    struct mcp_facts f = {.principal = STR(""), .person = person};
    struct mcp_channel channel = {.send = drop_note};
    enum mcp_status status = MCP_OK;
    struct mcp_message *m, *next;
    struct buf out = {0}, notes = {0};
    bool writes, unknown = false;
    int rc = offer_tools(c);

    if (rc == 0)
        rc = mcp_accept(c->s.mcp, &f, &text, &m);
    if (rc != 0)
        return rc;
    mcp_prepare(m);
    do { /* a turn */
        writes = mcp_writes(m);
        rc = writes ? store_lock_patiently(c->s.store) : 0;
        if (rc != 0)
            break;
        out.len = notes.len = 0;
        status = mcp_run(m, &out, &notes);
        rc = writes ? cli_commit(c, &unknown) : 0;
        if (rc == 0)
            rc = out.err;
        if (rc == 0 && status == MCP_WAITS) {
            store_observe(c->s.store, wake_messages, c->s.mcp);
            rc = mcp_keep(m, &channel, c);
        }
        while (rc == 0 && status == MCP_WAITS &&
               mcp_next(c->s.mcp, clock_mono_ms(), &next) == NULL) {
            int64_t left = mcp_due_ms(c->s.mcp) - clock_mono_ms();

            if (left > 0)
                poll(NULL, 0, left < WAIT_MS ? (int)left : WAIT_MS);
            rc = cli_interrupted() ? CLI_NOT_MET : cli_catch_up(c);
            mcp_tick(c->s.mcp, clock_mono_ms());
        }
        mcp_end_turn(c->s.mcp);
    } while (rc == ERR_AGAIN || (rc == 0 && status == MCP_WAITS));
    mcp_release(m);
    store_observe(c->s.store, NULL, NULL);
    buf_fini(&notes); /* nobody reads them */
    *answer = buf_take(&out, &c->a);
    return rc == 0 && answer->p == NULL ? ERR_NOMEM : rc;
}

/* ---- the store ---- */

bool
cli_make_room(struct cli *c)
{
    return store_has_room(c->s.store) ||
           (store_make_room(c->s.store) && store_has_room(c->s.store));
}

bool
cli_is_gone(const struct cli *c)
{
    return c->env->remote == NULL && access(c->env->log_path, F_OK) != 0 &&
           errno == ENOENT;
}

void
cli_await_upload(struct cli *c)
{
    uint64_t done, all;

    if (store_uploads(c->s.store, &done, &all))
        cli_progress(c, done, all);
    store_await(c->s.store);
}

int
cli_catch_up(struct cli *c)
{
    int rc = store_follow(c->s.store);
    int asked = store_confirm_patiently(c->s.store);
    const struct store_state *st;

    if (asked == 0 || c->stale)
        return rc;
    c->stale = true;
    st = store_state(c->s.store);
    cli_fail(c, 0, "%s: what other hosts changed may be missing",
             st->why[0] != '\0' ? st->why : err_name(asked));
    return rc;
}

int
cli_open(struct cli *c, bool readonly)
{
    char why[256], id[CALL_ID_LEN + 1];
    int rc;

    /* Only a server starts without a place for a store. */
    if (c->env->no_store != NULL)
        return cli_fail(c, ERR_INVALID, "%s", c->env->no_store);
    rc = cli_open_store(c->env, readonly, &c->s, why);
    /* Changes before now are left to the servers. */
    while (rc == 0 && calls_next_marked(c->s.calls, id))
        ;
    if (rc == 0 && c->env->remote != NULL)
        cli_catch_up(c);
    return rc < 0 ? cli_fail(c, rc, "%s", why) : 0;
}

int
cli_close(struct cli *c, int rc)
{
    if (c->s.store != NULL && rc == CLI_OK) {
        const struct store_state *st = store_state(c->s.store);

        if (st->err == ERR_DAMAGED)
            rc = cli_fail(c, ERR_DAMAGED, "%s", st->why);
    }
    cli_close_store(&c->s);
    return rc;
}

bool
cli_is_newest(const struct cli *c, const struct store_rec *r)
{
    const struct store_entry *e = store_find(c->s.store, r->key);

    return e != NULL && e->n == r->n;
}
