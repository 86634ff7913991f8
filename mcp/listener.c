/* listener - tells of changes: to a session on its streams, or to a
   subscriptions/listen of 2026-07-28.

   There is no queue. A place in the log says what a listener has been told; the
   rest follows from that and from the newest record of each key. So a client
   that was away, even during a restart of the server, is told once of each
   thing that changed. A listen is told like a session, but its notifications
   are tagged and have no event ids.

   Invariants:
   1. An event's place is (n, i): the change n, and i = 1 + slot for the
      subscription in that slot, MCP_LIST_PLACE for a list_changed. Events of
      subscriptions were sent up to (sent_n, sent_slot), and none of them is
      sent again, unless its client asks for an earlier place, or slots have
      moved since: then some of sent_n are.
   2. All list_changed are sent together, at most once in MCP_LIST_PAUSE_MS, and
      to a client that is behind once it has read what it was sent: so no two of
      them wait for one client. At the place of such an event everything before
      it has been told.
   3. If memory runs out, a notification stays due, and is tried again after
      AGAIN_MS. */

#include "mcp/listener.h"
#include "base/text.h"
#include "mcp/dialect.h"
#include "mcp/message.h"

#include <string.h>

#define AGAIN_MS 1000

const struct mcp_list_names mcp_lists[MCP_N_LISTS] = {
    {"resourcesListChanged", "notifications/resources/list_changed"},
    {"toolsListChanged", "notifications/tools/list_changed"},
    {"promptsListChanged", "notifications/prompts/list_changed"},
};

uint64_t
mcp_head(const struct mcp *m)
{
    return store_next_n(m->store) - store_staged_n(m->store) - 1;
}

size_t
mcp_event_id(const struct mcp_session *s, uint64_t n, uint64_t i,
             char out[MCP_EVENT_MAX])
{
    return text_put(out, MCP_EVENT_MAX, "%s.%llu.%llu", s->id,
                    (unsigned long long)n, (unsigned long long)i);
}

/* ---- subscriptions ---- */

const struct mcp_sub *
mcp_sub_find(const struct mcp_listener *l, struct str uri)
{
    for (size_t i = 0; uri.p != NULL && i < l->n_subs; i++)
        if (str_is(uri, l->subs[i].uri))
            return &l->subs[i];
    return NULL;
}

int
mcp_sub_init(struct mcp *m, struct arena *a, struct mcp_sub *sub,
             struct str uri, uint64_t since, const struct str *caller)
{
    struct arena own = {0};
    struct call k;
    struct str key;
    int err = ERR_NOT_FOUND;

    if (caller != NULL)
        err = calls_get(m->calls, &own, uri, *caller, &k);
    else if (m->cat->resource_key != NULL)
        err = m->cat->resource_key(m->cat->ctx, &own, uri, &key);
    *sub = (struct mcp_sub){.uri = arena_str(a, uri).p, .since = since,
                            .call = caller != NULL};
    if (err == 0 && caller != NULL)
        sub->key = arena_printf(a, "call/%.*s", STR_ARG(uri)).p;
    else if (err == 0)
        sub->key = arena_str(a, key).p;
    arena_fini(&own);
    return err == ERR_NOMEM || sub->uri == NULL ||
                   (err == 0 && sub->key == NULL)
               ? ERR_NOMEM : 0;
}

int
mcp_subs_read(struct mcp_listener *l, struct arena *a,
              const struct json_tok *list, bool pairs,
              const struct str *caller)
{
    const struct json_tok *t;
    struct str uri;
    int64_t since = 0;
    uint32_t i;
    int err;

    if (list == NULL || list->type != JSON_ARRAY ||
        list->n > MCP_MAX_SUBS - l->n_subs)
        return ERR_INVALID;
    l->subs = arena_grow(a, l->subs, l->n_subs * sizeof(*l->subs),
                         (l->n_subs + list->n + 1) * sizeof(*l->subs));
    for (i = 0, t = list + 1; l->subs != NULL && i < list->n;
         i++, t += t->span) {
        struct mcp_sub *sub = &l->subs[l->n_subs];

        if (pairs && (t->type != JSON_ARRAY || t->n != 2 ||
                      !json_int(t + 1 + t[1].span, &since)))
            return ERR_INVALID;
        if (mcp_text(a, pairs ? t + 1 : t, &uri) != 0)
            return ERR_NOMEM;
        if (uri.p == NULL || uri.len > MCP_MAX_URI)
            return ERR_INVALID;
        if (mcp_sub_find(l, uri) != NULL)
            continue;
        err = mcp_sub_init(l->m, a, sub, uri, (uint64_t)since, caller);
        if (err != 0)
            return err;
        l->n_subs += sub->key != NULL;
    }
    return l->subs != NULL ? 0 : ERR_NOMEM;
}

/* ---- notifications ---- */

void
mcp_send(const struct mcp_channel *to, struct str text, struct str event)
{
    to->send(to->ctx, &(struct mcp_out){.text = text, .event = event});
}

void
mcp_send_notes(const struct mcp_channel *to, struct str notes)
{
    while (notes.len > 0)
        mcp_send(to, str_cut(&notes, '\n'), STR_NONE);
}

void
mcp_put_tag(struct json_w *w, struct str tag)
{
    json_put_obj(w, "_meta");
    json_put_raw(w, MCP_SUBSCRIPTION, tag);
    json_close(w);
}

/* Sends a notification to the first stream of l, of sub or NULL; as an event
   only if n is not 0. ERR_NOMEM. */
static int
notify_change(const struct mcp_listener *l, const char *method,
              const struct mcp_sub *sub, uint64_t n, uint64_t i)
{
    char id[MCP_EVENT_MAX];
    struct str event = {id, 0};
    struct arena a = {0};
    struct buf b = {0};
    struct json_w w;
    struct call k;
    bool call = sub != NULL && sub->call;
    int err = call ? calls_get(l->m->calls, &a, str_of(sub->uri), STR_NONE, &k)
                   : 0;

    if (err == 0) {
        mcp_open_message(&w, &b, NULL, str_of(method));
        if (l->of == NULL)
            mcp_put_tag(&w, l->tag);
        if (call)
            mcp_put_call(&w, l->m, &a, &k, MCP_OLDEST_MODERN);
        else if (sub != NULL)
            json_put_z(&w, "uri", sub->uri);
        mcp_close_message(&w);
        err = b.err;
    }
    if (n != 0 && l->of != NULL && l->of->id[0] != '\0')
        event.len = mcp_event_id(l->of, n, i, id);
    if (err == 0)
        mcp_send(l->channels, buf_view(&b), event);
    buf_fini(&b);
    arena_fini(&a);
    return err == ERR_NOMEM ? err : 0;
}

bool
mcp_hears(const struct mcp_listener *l)
{
    return l->channels != NULL && !l->channels->blocked &&
           (l->of == NULL || !l->of->ended);
}

void
mcp_notify_later(struct mcp_listener *l)
{
    l->due = l->m->notify_if_due = true;
}

/* Invariant 3. */
void
mcp_notify_again(struct mcp_listener *l)
{
    mcp_notify_later(l);
    l->m->notify_ms = clock_mono_ms() + AGAIN_MS;
}

/* The next matched subscription to tell, by invariant 1. */
static const struct mcp_sub *
next_due_sub(const struct mcp_listener *l)
{
    const struct mcp_sub *next = NULL;

    for (size_t i = 0; i < l->n_subs; i++) {
        const struct mcp_sub *sub = &l->subs[i];

        if (sub->n > sub->since && sub->n >= l->sent_n &&
            (sub->n > l->sent_n || i >= l->sent_slot) &&
            (next == NULL || sub->n < next->n))
            next = sub;
    }
    return next;
}

/* Tells l of the subscriptions that were matched. 0 or ERR_NOMEM. */
static int
notify_subs(struct mcp_listener *l)
{
    const struct mcp_sub *sub;

    while ((sub = next_due_sub(l)) != NULL) {
        uint64_t i = (uint64_t)(sub - l->subs) + 1;

        if (notify_change(l, sub->call ? "notifications/tasks"
                                       : "notifications/resources/updated",
                          sub, sub->n, i) != 0) {
            mcp_notify_again(l);
            return ERR_NOMEM;
        }
        l->sent_n = sub->n;
        l->sent_slot = i;
    }
    return 0;
}

bool
mcp_list_can_change(const struct mcp *m, unsigned list)
{
    if (list == MCP_LIST_TOOLS)
        return m->cat->tools_change;
    if (list == MCP_LIST_PROMPTS)
        return m->cat->prompts_change;
    return m->cat->resources_change != NULL;
}

/* Whether that list ever changes, and l is told of it. */
static bool
wants_list(const struct mcp_listener *l, unsigned list)
{
    bool wants = l->of == NULL ? l->lists >> list & 1
                               : l->of->initialized || l->of->revived;

    return wants && mcp_list_can_change(l->m, list);
}

/* Whether l has to be told that a list changed. */
static bool
owes_list(const struct mcp_listener *l, unsigned list)
{
    return wants_list(l, list) && l->m->list_n[list] >= l->listed;
}

/* ---- all who hear ---- */

/* The listener of a waiting message, until the listen ends; or NULL. */
static struct mcp_listener *
listener_of(const struct mcp_message *k)
{
    return !k->waited || k->ready || k->cancelled ? NULL : k->v->listen;
}

void
mcp_each_listener(struct mcp *m,
                  void (*fn)(struct mcp_listener *l, const void *with),
                  const void *with)
{
    struct mcp_listener *l;

    for (struct mcp_session *s = m->sessions; s != NULL; s = s->next)
        if (mcp_hears(&s->news))
            fn(&s->news, with);
    for (struct mcp_message *k = m->messages; k != NULL; k = k->next)
        if ((l = listener_of(k)) != NULL && mcp_hears(l))
            fn(l, with);
}

/* The lists that l has to be told of are due for all. */
static void
note_owed(struct mcp_listener *l)
{
    for (unsigned i = 0; i < MCP_N_LISTS; i++)
        l->m->list_due |= (unsigned)owes_list(l, i) << i;
}

static void
notify_lists(struct mcp_listener *l, const void *with)
{
    const struct mcp_channel *to = l->channels;
    int err;

    (void)with;
    if (to->behind != NULL && to->behind(to->ctx)) {
        note_owed(l);
        return;
    }
    err = notify_subs(l);
    for (unsigned i = 0; i < MCP_N_LISTS && err == 0; i++)
        if (owes_list(l, i))
            /* No two events have one place. */
            err = notify_change(l, mcp_lists[i].method, NULL,
                                i == MCP_LIST_RESOURCES ? l->m->list_at : 0,
                                MCP_LIST_PLACE);
    if (err == 0)
        l->listed = l->m->list_clock + 1;
    else
        mcp_notify_again(l);
}

/* Invariant 2. */
void
mcp_flush_lists(struct mcp *m, int64_t now)
{
    if (m->list_due == 0 || now - m->list_sent_ms < MCP_LIST_PAUSE_MS)
        return;
    m->list_due = 0;
    m->list_sent_ms = now;
    m->list_at = mcp_head(m);
    mcp_each_listener(m, notify_lists, NULL);
}

void
mcp_list_changed(struct mcp *m, enum mcp_list which)
{
    m->list_n[which] = ++m->list_clock;
    m->list_due |= 1u << which;
}

/* Whether any record of the catalogue changes it. */
static bool
is_of_any_record(const struct mcp_sub *sub)
{
    return *sub->key == '\0';
}

/* Shows l a change: if it subscribes to it, it will be told. */
static void
match_change(struct mcp_listener *l, const void *change)
{
    const struct mcp_change *c = change;

    for (size_t i = 0; i < l->n_subs && !l->due; i++)
        if (is_of_any_record(&l->subs[i]) ||
            str_is(c->key, l->subs[i].key))
            mcp_notify_later(l);
}

void
mcp_listener_notify(struct mcp_listener *l)
{
    struct mcp *m = l->m;
    uint64_t head = mcp_head(m);

    l->due = false;
    if (!mcp_hears(l))
        return;
    for (unsigned i = 0; i < l->n_subs; i++) {
        struct mcp_sub *sub = &l->subs[i];
        const struct store_entry *e = store_find(m->store, str_of(sub->key));

        sub->n = e != NULL ? e->n : 0;
        if (e == NULL && is_of_any_record(sub))
            sub->n = m->changed_n > 0 ? m->changed_n : head;
    }
    if (notify_subs(l) == 0 && l->sent_n < head) {
        l->sent_n = head;
        l->sent_slot = 0;
    }
    note_owed(l);
    mcp_flush_lists(m, clock_mono_ms());
}

void
mcp_listen_begin(struct mcp_message *m)
{
    struct mcp_listener *to = m->v->listen;

    if (m->cancelled)
        return;
    to->sent_n = m->m->ran;
    to->sent_slot = MCP_MAX_SUBS;
    to->listed = m->m->ran_clock + 1;
    to->channels = m->channel;
    m->m->n_subs += to->n_subs;
    m->m->follows_due = true;
    mcp_listener_notify(to);
}

void
mcp_listen_end(struct mcp_message *m)
{
    struct mcp_listener *to = m->v->listen;

    if (to->channels != NULL)
        m->m->n_subs -= to->n_subs;
    to->channels = NULL;
}

/* ---- what they hear ---- */

void
mcp_listeners_hear(struct mcp *m, const struct mcp_change *c)
{
    if (m->n_subs > 0)
        mcp_each_listener(m, match_change, c);
}

static void
notify_unblocked(struct mcp_listener *l, const void *channel)
{
    if (l->channels == channel)
        mcp_notify_later(l);
}

void
mcp_channel_block(struct mcp *m, struct mcp_channel *channel, bool blocked)
{
    bool was = channel->blocked;

    channel->blocked = blocked;
    if (was && !blocked)
        mcp_each_listener(m, notify_unblocked, channel);
}

bool
mcp_mark_listened(struct mcp *m)
{
    bool any = false;

    for (const struct mcp_message *k = m->messages; k != NULL; k = k->next) {
        const struct mcp_listener *to = k->waited ? k->v->listen : NULL;

        if (to == NULL || to->channels == NULL)
            continue;
        for (unsigned i = 0; i < to->n_subs; i++)
            if (to->subs[i].call) {
                any = true;
                calls_mark_due(m->calls, str_of(to->subs[i].uri));
            }
    }
    return any;
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
    return wants_list(l, MCP_LIST_RESOURCES) ? MCP_HEARS_LISTS
                                             : MCP_HEARS_NOTHING;
}

enum mcp_hearing
mcp_listens(const struct mcp *m)
{
    enum mcp_hearing has, most = mcp_waits(m) ? MCP_HEARS_ALL
                                              : MCP_HEARS_NOTHING;
    const struct mcp_session *s = m->n_channels > 0 ? m->sessions : NULL;

    for (; s != NULL && most < MCP_HEARS_ALL; s = s->next)
        if ((has = listener_hears(&s->news)) > most)
            most = has;
    for (const struct mcp_message *k = m->messages;
         k != NULL && most < MCP_HEARS_ALL; k = k->next)
        if ((has = listener_hears(listener_of(k))) > most)
            most = has;
    return most;
}
