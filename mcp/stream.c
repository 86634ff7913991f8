/* stream - the streams of sessions, and what they are told of a committed
   record.

   Invariants:
   1. Notifications are sent in the order of their places, by mcp_tick, and so
      after the answers of their turn. */

#include "mcp/stream.h"
#include "base/text.h"
#include "mcp/delivery.h"
#include "mcp/message.h"
#include "mcp/session.h"

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
attach_sink(struct mcp_session *s, struct str last, struct mcp_sink *sink)
{
    struct mcp_sink **at = &s->news.sinks;
    bool back = rewind_to(s, last);

    while (!back && *at != NULL)
        at = &(*at)->next;
    mcp_delivery_rewind(s, back);
    sink->next = *at;
    *at = sink;
    s->m->n_sinks++;
    s->streamed = true;
    /* After the first message of the transport. */
    mcp_notify_later(&s->news);
}

int
mcp_stream_open(struct mcp *m, const struct mcp_facts *f, struct str last,
                struct mcp_sink *sink, struct mcp_session **out)
{
    int err = mcp_session_find(m, f, f->session_id, out);

    if (err != 0)
        return err == ERR_NOMEM ? err : ERR_NOT_FOUND;
    attach_sink(*out, last, sink);
    return 0;
}

int
mcp_sse_open(struct mcp *m, const struct mcp_facts *f, struct str last,
             struct mcp_sink *sink, struct mcp_session **out)
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
    attach_sink(s, last, sink);
    *out = s;
    return 0;
}

void
mcp_stream_close(struct mcp_session *s, struct mcp_sink *sink)
{
    struct mcp_sink **at;

    for (at = &s->news.sinks; *at != sink; at = &(*at)->next)
        ASSERT(*at != NULL);
    *at = sink->next;
    s->m->n_sinks--;
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
    if (m->n_subs > 0)
        mcp_each_listener(m, mcp_hear, c);
}

static void
notify_unblocked(struct mcp_listener *l, const void *sink)
{
    if (l->sinks == sink)
        mcp_notify_later(l);
}

void
mcp_sink_block(struct mcp *m, struct mcp_sink *sink, bool blocked)
{
    bool was = sink->blocked;

    sink->blocked = blocked;
    if (was && !blocked)
        mcp_each_listener(m, notify_unblocked, sink);
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

/* Deferred calls wait for records, and what no record says has to be looked
   for. Other calls run again by themselves. */
static void
look_for_unrecorded(struct mcp *m, int64_t now_ms)
{
    const char *name;

    if (m->cat->unrecorded == NULL || !calls_wait(m->calls)) {
        m->look_ms = INT64_MAX;
        return;
    }
    if (m->look_ms == INT64_MAX)
        m->look_ms = now_ms + LOOK_MS;
    if (now_ms < m->look_ms)
        return;
    m->look_ms = now_ms + LOOK_MS;
    name = m->cat->unrecorded(m->cat->ctx);
    if (name != NULL)
        calls_wake(m->calls, str_of(name));
}

void
mcp_tick(struct mcp *m, int64_t now_ms)
{
    m->followed = false;
    if (m->notify_if_due && m->notify_ms <= now_ms) {
        m->notify_if_due = false;
        m->notify_ms = 0;
        mcp_each_listener(m, notify_if_due, NULL);
    }
    mcp_flush_lists(m, now_ms);
    mcp_delivery_tick(m, now_ms);
    look_for_unrecorded(m, now_ms);
}

bool
mcp_waits(const struct mcp *m)
{
    for (const struct mcp_message *k = m->messages; k != NULL; k = k->next)
        if (k->watch[0] != 0)
            return true;
    return false;
}

static enum mcp_hearing
listener_hears(const struct mcp_listener *l)
{
    if (l == NULL || !mcp_hears(l))
        return MCP_HEARS_NOTHING;
    if (l->n_subs > 0 || (l->of != NULL && l->of->follows != NULL))
        return MCP_HEARS_ALL;
    return mcp_wants_list(l, MCP_LIST_RESOURCES) ? MCP_HEARS_LISTS
                                                 : MCP_HEARS_NOTHING;
}

enum mcp_hearing
mcp_listens(const struct mcp *m)
{
    enum mcp_hearing has, most = mcp_waits(m) ? MCP_HEARS_ALL
                                              : MCP_HEARS_NOTHING;
    const struct mcp_session *s = m->n_sinks > 0 ? m->sessions : NULL;

    for (; s != NULL && most < MCP_HEARS_ALL; s = s->next)
        if ((has = listener_hears(&s->news)) > most)
            most = has;
    for (const struct mcp_message *k = m->messages;
         k != NULL && most < MCP_HEARS_ALL; k = k->next)
        if ((has = listener_hears(mcp_listener_of(k))) > most)
            most = has;
    return most;
}
