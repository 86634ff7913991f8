/* export - writes tasks as JSON lines, which import reads, or as markdown. */

#include "cli/export.h"
#include "cli/call.h"
#include "cli/id.h"
#include "cli/show.h"
#include "cli/store.h"
#include "cli/text.h"
#include "task/query.h"
#include "base/text.h"

#include <string.h>

struct export {
    struct cli *c;
    bool md;
    bool any; /* a task has been written */
    uint64_t head, unread;
};

/* Returns 0, or 1 if stdout failed. */
static int
export_task(struct export *x, const struct task *k)
{
    struct cli *c = x->c;

    if (x->md && x->any)
        buf_z(&c->out, "\n---\n\n");
    cli_put_whole(c, k, x->md);
    x->any = true;
    return cli_drain(c) ? 0 : 1;
}

/* The same, or an error. */
static int
export_event(struct export *x, const struct task_event *ev)
{
    struct cli *c = x->c;
    struct task k;
    int rc = x->md ? task_of(c->s.tasks, &c->a, ev, &k)
                   : task_peek(c->s.tasks, &c->a, ev, &k);

    if (rc == 0)
        rc = tasks_list_parts(c->s.tasks, &c->a, &k);
    return rc < 0 ? rc : export_task(x, &k);
}

static int
export_record(void *ctx, const struct store_rec *r)
{
    struct export *x = ctx;
    char id[STORE_MAX_KEY + 1];
    struct task_event ev;
    int rc;

    if (!str_starts(r->key, "task/") || !cli_is_newest(x->c, r))
        return 0;
    rc = task_event_of(r, &ev);
    if (!x->c->tty)
        cli_progress(x->c, r->n, x->head);
    if (rc == 0 && !task_event_archives(&ev))
        rc = export_event(x, &ev);
    arena_reset(&x->c->a);
    if (rc != ERR_FORMAT && rc != ERR_GARBLED)
        return rc;
    x->unread++; /* nobody here can read it; the others are still exported */
    text_put(id, sizeof(id), "%.*s", (int)r->key.len - 5, r->key.p + 5);
    cli_fail_task(x->c, rc, id);
    arena_reset(&x->c->a);
    return 0;
}

static bool
export_each(void *ctx, const struct task *k)
{
    return export_task(ctx, k) == 0;
}

int
cli_export(struct cli *c)
{
    const char *format = c->args.format;
    struct export x = {.c = c, .md = format != NULL &&
                                     strcmp(format, "md") == 0};
    struct task k;
    int rc = 0;

    if (format != NULL && !x.md && strcmp(format, "jsonl") != 0)
        return cli_fail(c, ERR_INVALID, "unknown format \"%s\"\nchoose jsonl "
                        "or md", format);
    c->exact = !x.md;
    for (char **id = c->operand; *id != NULL && rc == 0; id++) {
        rc = cli_task(c, *id, &k);
        if (rc < 0)
            return cli_fail_task(c, rc, *id);
        rc = rc == 0 ? export_task(&x, &k) : rc;
    }
    if (c->n_operands > 0)
        return rc;
    if (c->env->server != NULL)
        return cli_each_whole(c, export_each, &x);
    x.head = store_next_n(c->s.store);
    rc = store_scan(c->s.store, 1, export_record, &x);
    if (rc == 0 && x.unread > 0)
        return CLI_STORE;
    return rc < 0 ? cli_fail_store(c, rc) : rc;
}
