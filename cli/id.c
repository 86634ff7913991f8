/* id - task ids as people type them. An id that exists is never taken for the
   start of another. */

#include "cli/id.h"
#include "cli/call.h"
#include "cli/text.h"
#include "base/text.h"
#include "task/check.h"
#include "task/query.h"

#include <string.h>
#include <strings.h>

#define MANY 3 /* ids that start alike; no more are looked for */
#define NEAR_MAX 2000 /* ids that one with a slip is compared with */

/* Finds up to max tasks whose ids begin with start. Returns how many, or an
   error. */
static int
find_ids(struct cli *c, struct str start, struct str *ids, int max)
{
    struct task_query q = {.text = start, .in = TEXT_STARTS_ID,
                           .include_done = true, .uncounted = true};
    struct task_list page;
    int rc, n = 0;

    do {
        rc = tasks_list(c->s.tasks, &c->kept, &q, &page);
        for (size_t i = 0; rc == 0 && i < page.n && n < max; i++)
            ids[n++] = page.tasks[i].ev.id;
        q.cursor = page.next;
    } while (rc == 0 && page.next.len > 0 && n < max);
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
complete_id(struct cli *c, const char **id)
{
    struct str ids[MANY], whole = str_of(*id);
    int n = 0, rc;

    if (whole.len == 0)
        return cli_misuse(c, "ID is empty");
    if (!is_unknown(c, *id, &rc))
        return rc;
    if (task_is_id(whole))
        n = c->env->server == NULL ? find_ids(c, whole, ids, MANY)
                                   : call_ids(c, whole, ids, MANY);
    if (n < 0)
        return c->env->server == NULL ? cli_fail_store(c, n) : -n;
    if (n == 1)
        *id = arena_printf(&c->kept, "%.*s", STR_ARG(ids[0])).p;
    if (*id == NULL)
        return cli_fail_store(c, ERR_NOMEM);
    if (n <= 1)
        return 0;
    return cli_fail(c, ERR_INVALID, "several ids start with %s, for example "
                    "%.*s and %.*s\ntype more of the id", *id, STR_ARG(ids[0]),
                    STR_ARG(ids[1]));
}

int
cli_complete_ids(struct cli *c)
{
    struct str rest = str_of(c->cmd->operands), first = str_cut(&rest, ' ');
    const char **after = c->arg[F_DEPENDS_ON].list;
    const char **parent = &c->arg[F_PARENT_ID].text;
    int rc = 0, n = 0;

    /* Which operands are ids, whatever they are: all of export's, and of a
       command whose words are in an option; else the first. */
    if (str_is(first, "[ID...]") || c->args.words != NULL)
        n = c->n_operands;
    else if (str_is(first, "ID") || str_is(first, "[ID]") ||
             str_is(first, "ID..."))
        n = 1;
    for (int i = 0; rc == 0 && i < n && i < c->n_operands; i++)
        rc = complete_id(c, (const char **)&c->operand[i]);
    for (int i = 0; rc == 0 && i < ENV_MAX_LIST && after[i] != NULL; i++)
        rc = after[i][0] != '\0' ? complete_id(c, &after[i]) : 0;
    if (rc == 0 && *parent != NULL && **parent != '\0')
        rc = complete_id(c, parent);
    return rc;
}

int
cli_knows_id(struct cli *c, const char *word, bool *known)
{
    int rc = 0;

    *known = task_is_id(str_of(word)) && !is_unknown(c, word, &rc);
    return rc;
}

/* The id of a task that id, which is none, may be meant for; in c->kept. .p
   NULL: none is that near. */
static struct str
near_id(struct cli *c, const char *id)
{
    struct str *ids = arena_alloc(&c->kept, NEAR_MAX * sizeof(*ids));
    struct str start = {id, strlen(id) / 2}, near = STR_NONE;
    size_t least = SIZE_MAX, slips;
    int n = 0;

    if (ids == NULL || !task_is_id(str_of(id)))
        return near;
    /* A server lists few, and no more than those that begin so. */
    n = c->env->server == NULL ? find_ids(c, STR(""), ids, NEAR_MAX)
                               : call_ids(c, start, ids, NEAR_MAX);
    for (int i = 0; i < n; i++) {
        const char *name = arena_str(&c->kept, ids[i]).p;

        slips = SIZE_MAX;
        if (name != NULL)
            slips = strcasecmp(id, name) == 0 ? 0
                                              : str_slips(str_of(id), name);
        if (slips < least) {
            least = slips;
            near = str_of(name);
        }
    }
    return near;
}

int
cli_fail_task(struct cli *c, int err, const char *id)
{
    struct task_error e = {.code = err, .field = STR("task_id")};
    struct str near;

    if (err == ERR_NOT_FOUND && cli_is_archived(c, id))
        return cli_fail(c, err, "%s: archived\nto bring it back, run \"mcptask "
                        "import %s.archive-DAY\"", id,
                        c->env->server != NULL ? "LOG" : c->env->log_path);
    if (err == ERR_GARBLED)
        return cli_fail(c, err, "%s: damaged, its newest record is not JSON\n"
                        "run \"mcptask edit\" to continue from the one before, "
                        "or \"mcptask add --id %s\" to begin it again", id, id);
    if (err == ERR_FORMAT)
        return cli_fail(c, err, "%s: this mcptask cannot read its record",
                        id);
    if (err != ERR_NOT_FOUND)
        return cli_fail_store(c, err);
    near = near_id(c, id);
    e.message = arena_printf(&c->a, "no such task \"%s\"", id);
    e.next = STR("run \"mcptask list --all\"");
    if (near.p != NULL)
        e.next = arena_printf(&c->a, "did you mean \"%.*s\"? otherwise %.*s",
                              STR_ARG(near), STR_ARG(e.next));
    if (e.message.p == NULL || e.next.p == NULL)
        return cli_fail_store(c, ERR_NOMEM);
    return cli_refuse(c, &e);
}
