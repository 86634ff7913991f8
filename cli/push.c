/* push - the commands that move a log into a store of several hosts, and out of
   it. */

#include "cli/push.h"
#include "cli/admin.h"
#include "cli/store.h"
#include "cli/text.h"
#include "store/verify.h"
#include "store/remote.h"

int
cli_push(struct cli *c)
{
    const char *log = c->env->log_path;
    struct store_report rep;
    const struct store_state *st;
    uint64_t n, bad;
    char why[256];
    int rc;

    if (c->env->remote == NULL)
        return cli_misuse(c, "--store is missing");
    rc = store_verify(log, &rep, NULL);
    if (rc == ERR_NOT_FOUND)
        return cli_fail(c, rc, "%s: there is no log yet", log);
    if (rc == 0 && rep.damaged)
        rc = ERR_DAMAGED;
    if (rc < 0)
        return cli_fail(c, rc, "%s: %s\nrun \"mcptask verify\"", log, rep.what);
    rc = cli_open_store(c->env, false, &c->s, why);
    if (rc < 0)
        return cli_fail(c, rc, "%s", why);
    while ((rc = store_push(c->s.store, c->args.again)) == ERR_PENDING)
        cli_await_upload(c);
    if (rc < 0)
        return cli_fail_store(c, rc);
    st = store_state(c->s.store);
    rc = cli_artifacts(c, true, &n, &bad);
    cli_tell(c, "{log}: a replica of {store}, seq {seq}; {artifacts} "
             "artifact{s}, {artifacts_bad} of them bad\n",
             "log=%s store=%s seq=" U64 " artifacts=" U64 " artifacts_bad="
             U64, st->path, c->env->store, st->head, n, bad);
    return rc;
}

int
cli_pull(struct cli *c)
{
    const char *file = c->operand[0];
    int rc = cli_repair(c, file);
    uint64_t n, bad;

    if (rc != 0)
        return rc;
    rc = cli_artifacts(c, false, &n, &bad);
    cli_tell(c, "{artifacts_dir}: {artifacts} artifact{s}, {artifacts_bad} of "
             "them bad\n", "log=%s artifacts_dir=%s artifacts=" U64
             " artifacts_bad=" U64, file, c->env->artifacts_dir, n, bad);
    return rc;
}
