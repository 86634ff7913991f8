/* store - the store as commands open it, with all that they know, and
   whether it can be used: health.

   What only reads opens the store for reading only: no lock, no change. */

#include "cli/store.h"
#include "cli/text.h"
#include "mcp/mcp.h"
#include "base/text.h"
#include "task/query.h"
#include "tools/tools.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

/* A compaction that did not know a kind would carry its records along for
   ever: so all who open the store know the same ones. */
int
cli_open_store(const struct cli_env *env, bool readonly,
               struct cli_store *out, char why[256])
{
    const struct calls_options calls = {.max_own = env->calls_own,
                                        .max_all = env->calls_max,
                                        .alias = task_names};
    static struct store_kind kinds[3]; /* as long as the store */
    struct store_options o = {.path = env->log_path,
                              .readonly = readonly || env->read_only,
                              .compact_at = env->compact_at,
                              .closed_max = env->closed_max};
    int rc;

    text_put(why, 256, "out of memory");
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
        calls_bind(out->calls, out->store);
    }
    return rc;
}

void
cli_close_store(struct cli_store *s)
{
    store_close(s->store);
    tasks_free(s->tasks);
    calls_free(s->calls);
}

void
cli_settle(struct cli *c)
{
    struct tools *tools = NULL;
    struct mcp *mcp = NULL;
    int rounds = 16;

    if (!calls_any_marked(c->s.calls) ||
        tools_new(&tools, c->s.tasks, c->env) < 0)
        return;
    if (mcp_new(&mcp, tools_catalogue(tools), c->s.store, NULL) == 0) {
        mcp_defers(mcp, c->s.calls);
        while (rounds-- > 0 && calls_any_marked(c->s.calls))
            mcp_run_marked(mcp);
    }
    mcp_free(mcp);
    tools_free(tools);
}

int
cli_open(struct cli *c, bool readonly)
{
    char why[256], id[CALL_ID_LEN + 1];
    int rc = cli_open_store(c->env, readonly, &c->s, why);

    /* What happened before now is for those who serve. */
    while (rc == 0 && calls_next_marked(c->s.calls, id))
        ;
    return rc < 0 ? cli_fail(c, rc, "%s", why) : 0;
}

int
cli_close(struct cli *c, int rc)
{
    struct store_state st;
    const char *lost;

    if (c->s.store != NULL && rc == CLI_OK) {
        store_state(c->s.store, &st);
        lost = store_damage(c->s.store, STR_NONE);
        if (st.err == ERR_DAMAGED)
            rc = cli_fail(c, ERR_DAMAGED, "%s%s%s", st.why, lost ? "; " : "",
                          lost ? lost : "");
    }
    cli_close_store(&c->s);
    return rc;
}

/* ---- health ---- */

/* Whether path can be written, or made: then what counts is the nearest
   directory above it that is there. 0 or errno. */
static int
not_writable(const char *path)
{
    char up[4096];
    size_t n = text_put(up, sizeof(up), "%s", path);
    char *slash;

    if (n >= sizeof(up))
        return ENAMETOOLONG;
    while (access(up, W_OK) != 0) {
        if (errno != ENOENT || (slash = strrchr(up, '/')) == NULL)
            return errno;
        slash[slash == up] = '\0';
    }
    return 0;
}

const char *
cli_not_writable(struct cli *c, const char *log, int *why)
{
    struct str dir = arena_str(&c->a, str_of(log));
    struct str lock = arena_printf(&c->a, "%s.lock", log);
    const char *paths[4] = {log, lock.p, dir.p, c->env->artifacts_dir};
    char *slash = dir.p == NULL ? NULL : strrchr(dir.p, '/');

    if (slash != NULL)
        slash[slash == dir.p] = '\0';
    for (size_t i = 0; i < 4; i++) {
        *why = paths[i] == NULL ? ENOMEM : not_writable(paths[i]);
        if (*why != 0)
            return paths[i] == NULL ? log : paths[i];
    }
    return NULL;
}

static void
put_health(struct cli *c, const struct store_state *st)
{
    uint64_t live = 0, all = 0;

    for (int s = 0; s < TASK_N_STATUSES; s++) {
        uint64_t n = tasks_count(c->s.tasks, (enum task_status)s);

        all += n;
        live += task_status_ended((enum task_status)s) ? 0 : n;
    }
    cli_tell(c, "ok: {store}: {tasks} tasks, {live} of them live, seq {seq}\n",
             "status=%s version=%s store=%s tasks=" U64 " live=" U64 " seq="
             U64 " bytes=" U64,
             "ok", MCPTASK_VERSION, st->path, all, live, st->head,
             (uint64_t)st->len);
}

/* Whether a record could be committed, where there is a log. */
static int
try_write(struct cli *c)
{
    int rc = store_lock_patiently(c->s.store);

    if (rc == 0) {
        rc = store_probe(c->s.store);
        store_unlock(c->s.store);
    }
    return rc;
}

int
cli_health(struct cli *c, int argc, char **argv)
{
    struct store_state st;
    const char *path;
    int why;

    (void)argc;
    (void)argv;
    store_state(c->s.store, &st);
    if (st.why[0] != '\0' && (st.err != ERR_READONLY || !c->env->read_only))
        return cli_fail_store(c, st.err);
    path = c->env->read_only ? NULL : cli_not_writable(c, st.path, &why);
    if (path != NULL)
        return cli_fail(c, ERR_READONLY, "%s: cannot be written: %s", path,
                        strerror(why));
    if (!c->env->read_only && st.g > 0 && (why = try_write(c)) != 0)
        return cli_fail_store(c, why);
    put_health(c, &st);
    return CLI_OK;
}
