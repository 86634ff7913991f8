/* stream - what clients are told of changes: a session on its streams, or a
   subscriptions/listen of 2026-07-28, which waits until the server ends it.

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
      AGAIN_MS.
   4. Notifications are sent in the order of their places, by mcp_tick, and so
      after the answers of their turn. */

#include "mcp/stream.h"
#include "base/text.h"
#include "mcp/delivery.h"
#include "mcp/dialect.h"
#include "mcp/message.h"
#include "mcp/session.h"
#include "mcp/tasks.h"

#include <string.h>

#define AGAIN_MS 1000

static const struct { /* by enum mcp_list */
    const char *wanted, *method; /* in a filter; of its notification */
} lists[MCP_N_LISTS] = {
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

/* Writes the _meta of a notification to a listen. */
static void
put_tag(struct json_w *w, struct str tag)
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
            put_tag(&w, l->tag);
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
static void
notify_again(struct mcp_listener *l)
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
            notify_again(l);
            return ERR_NOMEM;
        }
        l->sent_n = sub->n;
        l->sent_slot = i;
    }
    return 0;
}

/* Whether the catalogue ever changes that list. */
static bool
list_can_change(const struct mcp *m, unsigned list)
{
    if (list == MCP_LIST_TOOLS)
        return m->cat->tools_change;
    if (list == MCP_LIST_PROMPTS)
        return m->cat->prompts_change;
    return m->cat->resources_change != NULL;
}

/* The same, and l is told of it. */
static bool
wants_list(const struct mcp_listener *l, unsigned list)
{
    bool wants = l->of == NULL ? l->lists >> list & 1
                               : l->of->initialized || l->of->revived;

    return wants && list_can_change(l->m, list);
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

static void
each_listener(struct mcp *m,
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
            err = notify_change(l, lists[i].method, NULL,
                                i == MCP_LIST_RESOURCES ? l->m->list_at : 0,
                                MCP_LIST_PLACE);
    if (err == 0)
        l->listed = l->m->list_clock + 1;
    else
        notify_again(l);
}

/* If it is time, tells all of the lists that changed: invariant 2. Everything
   up to mcp_head has been told. */
static void
flush_lists(struct mcp *m, int64_t now)
{
    if (m->list_due == 0 || now - m->list_sent_ms < MCP_LIST_PAUSE_MS)
        return;
    m->list_due = 0;
    m->list_sent_ms = now;
    m->list_at = mcp_head(m);
    each_listener(m, notify_lists, NULL);
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

/* Tells the first stream of l what has changed since l->sent_n, and lists. */
static void
notify_changes(struct mcp_listener *l)
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
    flush_lists(m, clock_mono_ms());
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

/* ---- subscriptions/listen ---- */

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
    notify_changes(to);
}

void
mcp_listen_end(struct mcp_message *m)
{
    struct mcp_listener *to = m->v->listen;

    if (to->channels != NULL)
        m->m->n_subs -= to->n_subs;
    to->channels = NULL;
}

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
        t = json_get(filter, lists[i].wanted);
        if (is_absent(t) || t->type == JSON_FALSE)
            continue;
        if (t->type != JSON_TRUE)
            return mcp_refuse_params(r, "a ListChanged filter must be true "
                                        "or false");
        l->lists |= (unsigned)list_can_change(r->m->m, i) << i;
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
    put_tag(&w, r->id);
    json_put_obj(&w, "notifications");
    for (unsigned i = 0; i < MCP_N_LISTS; i++)
        if (to->lists >> i & 1)
            json_put_bool(&w, lists[i].wanted, true);
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
    if (m->n_subs > 0)
        each_listener(m, match_change, c);
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
        each_listener(m, notify_unblocked, channel);
}

static void
notify_if_due(struct mcp_listener *l, const void *with)
{
    int err = l->due && l->of != NULL ? mcp_session_refresh(l->of) : 0;

    (void)with;
    if (l->due)
        notify_changes(l);
    if (err == ERR_NOMEM)
        notify_again(l);
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
        each_listener(m, notify_if_due, NULL);
    }
    flush_lists(m, now_ms);
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
