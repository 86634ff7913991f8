/* listen - the subscriptions/listen of 2026-07-28: a request that waits until
   the server ends it, and meanwhile tells its client of the changes that its
   filter names. */

#include "mcp/listen.h"


/* ---- subscriptions ---- */

int
mcp_listen_judge(struct request *r)
{
    const struct json_tok *filter = json_get(r->params, "notifications"), *t;
    struct mcp_listener *l;
    int err;

    if (is_absent(filter) || filter->type != JSON_OBJECT)
        return mcp_refuse_params(r, "notifications must be an object");
    l = arena_alloc(r->m->a, sizeof(*l));
    if (l == NULL)
        return ERR_NOMEM;
    *l = (struct mcp_listener){.m = r->m->m, .tag = r->id};
    for (unsigned i = 0; i < MCP_N_LISTS; i++) {
        t = json_get(filter, mcp_lists[i].wanted);
        if (is_absent(t) || t->type == JSON_FALSE)
            continue;
        if (t->type != JSON_TRUE)
            return mcp_refuse_params(r, "a ListChanged filter must be true "
                                        "or false");
        l->lists |= (unsigned)mcp_list_can_change(r->m->m, i) << i;
    }
    t = json_get(filter, "resourceSubscriptions");
    err = is_absent(t) ? 0
                       : mcp_subs_read(l, r->m->a, t, MCP_SUBS_URIS, STR_NONE);
    r->listen = l;
    t = json_get(filter, "taskIds");
    if (err == 0 && !is_absent(t)) {
        if (!r->extends)
            return mcp_refuse_extension(r);
        err = mcp_subs_read(l, r->m->a, t, MCP_SUBS_CALLS, mcp_who(r));
    }
    return err != ERR_INVALID
               ? err
               : mcp_refuse_params(r, "resourceSubscriptions and taskIds must "
                                      "be lists of strings, at most 256 in "
                                      "all");
}

/* Writes the uris, or the ids of calls, that the filter accepted. */
static void
put_accepted(struct json_w *w, const struct mcp_listener *to, bool calls,
             const char *name)
{
    bool open = false;

    for (size_t i = 0; i < to->n_subs; i++) {
        if (to->subs[i].call != calls)
            continue;
        if (!open)
            json_put_arr(w, name);
        open = true;
        json_z(w, to->subs[i].uri);
    }
    if (open)
        json_close(w);
}

static void
acknowledge_listen(const struct request *r, const struct mcp_listener *to)
{
    struct json_w w;

    mcp_open_message(&w, r->run.notes, NULL,
                     STR("notifications/subscriptions/acknowledged"));
    mcp_put_tag(&w, r->id);
    json_put_obj(&w, "notifications");
    for (unsigned i = 0; i < MCP_N_LISTS; i++)
        if (to->lists >> i & 1)
            json_put_bool(&w, mcp_lists[i].wanted, true);
    put_accepted(&w, to, false, "resourceSubscriptions");
    put_accepted(&w, to, true, "taskIds");
    json_close(&w);
    mcp_close_note(&w);
}

int
mcp_listen_run(struct request *r)
{
    struct mcp *m = r->m->m;

    if (r->call.round == 0) {
        if (!mcp_may_wait(r)) /* refuse it before it is acknowledged */
            return ERR_TOO_LARGE;
        /* It is kept, if at all, after this turn's commit. All runs of a turn
           see the same head. */
        m->ran = mcp_head(m);
        m->ran_clock = m->list_clock;
        acknowledge_listen(r, r->listen);
    }
    return m->stopping ? 0 : MCP_RUN_WAITS;
}

void
mcp_end_listens(struct mcp *m)
{
    m->stopping = true;
    for (struct mcp_message *k = m->messages; k != NULL; k = k->next)
        k->ready |= k->waited && k->v->listen != NULL;
}

void
mcp_listen_put_end(const struct request *r, struct buf *out)
{
    struct json_w w;

    if (r->listen == NULL || !r->m->s->local)
        return;
    buf_char(out, '\n');
    mcp_open_message(&w, out, NULL, STR("notifications/cancelled"));
    json_put_raw(&w, "requestId", r->id);
    mcp_close_message(&w);
}
