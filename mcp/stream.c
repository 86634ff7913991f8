/* stream - the streams of sessions, the subscriptions/listen of 2026-07-28, and
   what both are told of a committed record. A listen is a request that waits
   until the server ends it, and meanwhile tells its client of the changes that
   its filter names.

   Invariants:
   1. Notifications are sent in the order of their places, by mcp_tick, and so
      after the answers of their turn. */

#include "mcp/stream.h"
#include "base/text.h"
#include "mcp/delivery.h"
#include "mcp/session.h"

/* ---- subscriptions/listen ---- */

int
mcp_listen_judge(struct request *r)
{
    const struct json_tok *filter = json_get(r->params, "notifications"), *t;
    struct mcp_listener *l;
    struct str caller;
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
    err = is_absent(t) ? 0 : mcp_subs_read(l, r->m->a, t, false, NULL);
    r->listen = l;
    t = json_get(filter, "taskIds");
    if (err == 0 && !is_absent(t)) {
        if (!r->extends)
            return mcp_refuse_extension(r);
        caller = mcp_who(r);
        err = mcp_subs_read(l, r->m->a, t, false, &caller);
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

/* ---- opened, opened again, closed ---- */

size_t
mcp_stream_event(const struct mcp_session *s, char out[MCP_EVENT_MAX])
{
    return mcp_event_id(s, s->news.sent_n, s->news.sent_slot, out);
}

/* Cuts the number after the last dot off text. */
static bool
cut_number(struct str *text, uint64_t *out)
{
    size_t at = text->len;

    while (at > 0 && text->p[at - 1] != '.')
        at--;
    if (at == 0 ||
        !str_u64((struct str){text->p + at, text->len - at}, out))
        return false;
    text->len = at - 1;
    return true;
}

/* Takes s back to the place that its client names; false if that was never
   sent. A list_changed is known to have arrived only if it was sent before that
   place and no list has changed since. */
static bool
rewind_to(struct mcp_session *s, struct str last)
{
    const struct mcp *m = s->m;
    uint64_t n, i, head = mcp_head(m);
    uint64_t listed = m->list_at != 0 ? m->list_at : head;

    if (!cut_number(&last, &i) || !cut_number(&last, &n) || n > head ||
        !str_is(last, s->id))
        return false;
    s->news.sent_n = n;
    s->news.sent_slot = s->n > n ? 0 : i;
    if (listed > n || (listed == n && i < MCP_LIST_PLACE) ||
        (m->list_due & 1u << MCP_LIST_RESOURCES))
        s->news.listed = 0;
    else if (s->news.listed == 0)
        s->news.listed = m->list_clock + 1;
    return true;
}

static void
attach_channel(struct mcp_session *s, struct str last,
               struct mcp_channel *channel)
{
    struct mcp_channel **at = &s->news.channels;
    bool back = rewind_to(s, last);

    while (!back && *at != NULL)
        at = &(*at)->next;
    mcp_delivery_rewind(s, back);
    channel->next = *at;
    *at = channel;
    s->m->n_channels++;
    s->streamed = true;
    /* After the first message of the transport. */
    mcp_notify_later(&s->news);
}

int
mcp_stream_open(struct mcp *m, const struct mcp_facts *f, struct str last,
                struct mcp_channel *channel, struct mcp_session **out)
{
    int err = mcp_session_find(m, f, f->session_id, out);

    if (err != 0)
        return err == ERR_NOMEM ? err : ERR_NOT_FOUND;
    attach_channel(*out, last, channel);
    return 0;
}

int
mcp_sse_open(struct mcp *m, const struct mcp_facts *f, struct str last,
             struct mcp_channel *channel, struct mcp_session **out)
{
    struct str id = last;
    struct mcp_session *s = NULL;
    uint64_t number;
    int err = 0;

    if (cut_number(&id, &number) && cut_number(&id, &number) &&
        mcp_session_find(m, f, id, &s) == ERR_NOMEM)
        return ERR_NOMEM;
    if (s == NULL || !s->sse) {
        s = mcp_session_new(m, f);
        if (s == NULL)
            return ERR_NOMEM;
        s->sse = true;
        s->rev = MCP_2024_11_05;
        err = mcp_session_seal(s);
    }
    if (err != 0) {
        mcp_session_free(s);
        return err;
    }
    attach_channel(s, last, channel);
    *out = s;
    return 0;
}

void
mcp_stream_close(struct mcp_session *s, struct mcp_channel *channel)
{
    struct mcp_channel **at;

    for (at = &s->news.channels; *at != channel; at = &(*at)->next)
        ASSERT(*at != NULL);
    *at = channel->next;
    s->m->n_channels--;
    s->heard_ms = clock_mono_ms();
}

/* ---- what they are told ---- */

void
mcp_changed(struct mcp *m, const struct mcp_change *c)
{
    bool mine = str_starts(c->key, "call/");

    if (str_starts(c->key, "session/")) {
        mcp_session_changed(m, c);
        return;
    }
    if (!mine)
        m->changed_n = c->n;
    if (m->sessions == NULL && m->messages == NULL) {
        m->list_at = 0; /* a client that comes back is told */
        return;
    }
    mcp_wake(m, c);
    if (mine)
        mcp_follow_changed(m, (struct str){c->key.p + 5, c->key.len - 5});
    if (m->cat->resources_change != NULL &&
        m->cat->resources_change(m->cat->ctx, c))
        mcp_list_changed(m, MCP_LIST_RESOURCES);
    mcp_listeners_hear(m, c);
}

static void
notify_if_due(struct mcp_listener *l, const void *with)
{
    int err = l->due && l->of != NULL ? mcp_session_refresh(l->of) : 0;

    (void)with;
    if (l->due)
        mcp_listener_notify(l);
    if (err == ERR_NOMEM)
        mcp_notify_again(l);
}

#define LOOK_MS 5000 /* between two looks for what is unrecorded */

void
mcp_tick(struct mcp *m, int64_t now_ms)
{
    const char *name = NULL;

    m->followed = false;
    if (m->notify_if_due && m->notify_ms <= now_ms) {
        m->notify_if_due = false;
        m->notify_ms = 0;
        mcp_each_listener(m, notify_if_due, NULL);
    }
    mcp_flush_lists(m, now_ms);
    mcp_delivery_tick(m, now_ms);
    /* Deferred calls wait for records, and what no record says has to be looked
       for. Other calls run again by themselves. */
    if (m->cat->unrecorded == NULL || !calls_wait(m->calls)) {
        m->look_ms = INT64_MAX;
    } else if (m->look_ms == INT64_MAX) {
        m->look_ms = now_ms + LOOK_MS;
    } else if (now_ms >= m->look_ms) {
        m->look_ms = now_ms + LOOK_MS;
        name = m->cat->unrecorded(m->cat->ctx);
    }
    if (name != NULL)
        calls_wake(m->calls, str_of(name));
}
