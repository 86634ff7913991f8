/* id - task ids as people type them. An id that exists is never taken for the
   start of another. */

#include "cli/id.h"
#include "cli/call.h"
#include "cli/text.h"
#include "base/text.h"
#include "task/check.h"
#include "task/query.h"

#include <string.h>

#define MANY 3 /* ids that start alike; no more are looked for */

bool
cli_takes_id(const struct cli_command *cmd)
{
    const char *at = strstr(cmd->operands, "ID");

    return at != NULL && (at[2] == '\0' || strchr(" ].", at[2]) != NULL);
}

/* Finds up to MANY tasks whose ids begin with start. Returns how many, or an
   error. */
static int
find_ids(struct cli *c, struct str start, struct str ids[MANY])
{
    struct task_query q = {.text = start, .in = TEXT_STARTS_ID,
                           .include_done = true, .uncounted = true};
    struct task_list page;
    int rc, n = 0;

    do {
        rc = tasks_list(c->s.tasks, &c->kept, &q, &page);
        for (size_t i = 0; rc == 0 && i < page.n && n < MANY; i++)
            ids[n++] = page.tasks[i].ev.id;
        q.cursor = page.next;
    } while (rc == 0 && page.next.len > 0 && n < MANY);
    return rc == 0 ? n : rc;
}

/* Whether there is no such task, not even in an archive. *rc is an exit code if
   the server does not tell. */
static bool
is_unknown(struct cli *c, const char *id, int *rc)
{
    struct task_event ev;
    struct task_error e;
    struct task k;

    *rc = 0;
    if (c->env->server == NULL)
        return task_event_last(c->s.tasks, &c->kept, str_of(id), &ev) ==
                   ERR_NOT_FOUND && !cli_is_archived(c, id);
    *rc = call_task(c, id, 0, &k, &e);
    if (*rc != ERR_NOT_FOUND)
        return false;
    *rc = 0;
    return !cli_is_archived(c, id);
}

static int
complete(struct cli *c, const char **id)
{
    struct str ids[MANY], whole = str_of(*id);
    int n = 0, rc;

    if (whole.len == 0)
        return cli_misuse(c, "ID is empty");
    if (!is_unknown(c, *id, &rc))
        return rc;
    if (task_is_id(whole))
        n = c->env->server == NULL ? find_ids(c, whole, ids)
                                   : call_ids(c, whole, ids, MANY);
    if (n < 0)
        return c->env->server == NULL ? cli_fail_store(c, n) : -n;
    if (n == 1)
        *id = arena_printf(&c->kept, "%.*s", STR_ARG(ids[0])).p;
    if (*id == NULL)
        return cli_fail_store(c, ERR_NOMEM);
    if (n <= 1)
        return 0;
    return cli_fail(c, ERR_INVALID, "%s: several ids start with it: %.*s, "
                    "%.*s%s: type more of the id", *id, STR_ARG(ids[0]),
                    STR_ARG(ids[1]), n > 2 ? ", ..." : "");
}

int
cli_complete_ids(struct cli *c)
{
    const char **after = c->arg[F_DEPENDS_ON].list;
    const char **parent = &c->arg[F_PARENT_ID].text;
    bool all = c->cmd->max == CLI_ANY;
    int rc = 0, n = all ? c->n_operands : 1;

    if (!cli_takes_id(c->cmd))
        n = 0;
    for (int i = 0; rc == 0 && i < n && i < c->n_operands; i++)
        rc = complete(c, (const char **)&c->operand[i]);
    for (int i = 0; rc == 0 && i < ENV_MAX_LIST && after[i] != NULL; i++)
        rc = after[i][0] != '\0' ? complete(c, &after[i]) : 0;
    if (rc == 0 && *parent != NULL && **parent != '\0')
        rc = complete(c, parent);
    return rc;
}
