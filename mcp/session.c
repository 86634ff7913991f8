/* session - sessions: their ids, their records, and their marks, the names by
   which other records refer to them.

   The id of a session over HTTP holds, signed, what initialize agreed on, so a
   process that has never seen the session knows it. The id is not a credential:
   its user has to be the principal that it was made for. Later changes
   (subscriptions, log level, the end) are in the record "session/<id>", whole
   each time:

     "op":"set","v":{"level":6,"ended":false,"subs":[["task://a",17]]}

   where the number is the n of the record that added the subscription. A
   request that changes nothing makes no record. A session lives only in memory
   if the store cannot be written, on a pipe, and if its principal may only
   read. A session that has another principal, another right to write, is too
   old or has ended is not found, as if it had never existed.

   A mark is "<tag>.<instance>". The tag of a session over HTTP is the hash of
   its id, which outlives the process.

   Invariants:
   1. A stored session in memory reflects one committed record, number s->n:
      staging changes nothing here, so that it can be undone and repeated.
   2. The list of sessions is in order of use, the latest first. Each with an id
      is in one chain of m->by_id too.
   3. A session that leaves memory loses only the position of its streams, which
      comes back with a Last-Event-ID. A read_only one is gone, and its client
      is told so. A session stays while a message or a stream refers to it.
   4. A principal that may only read makes no file and no record, and takes no
      lock. */

#include "mcp/session.h"
#include "base/text.h"
#include "base/utf8.h"
#include "mcp/delivery.h"
#include "mcp/message.h"

#include <stdlib.h>
#include <string.h>

#define PREFIX "session/"
#define MAX_KEY (sizeof(PREFIX) + MCP_ID_MAX)
#define ENDED_MAX 1024 /* sessions that are known to have ended */
#define SHARES 1024 /* principals are told apart by a hash below this */
#define MAX_RECORD ((size_t)32 * 1024) /* bytes; then no uri is added */
#define WEB_TAG 16 /* digits of the tag of a session over HTTP; else 10 */

/* The payload of an id: 16 random bytes, SSE or not, revision, capabilities,
   the time in milliseconds, its highest byte first, and the client's name. */
enum {
    AT_SSE = 16, AT_REV, AT_CAPS, AT_TIME, AT_NAME = AT_TIME + 8,
    ID_LEN = AT_NAME + MCP_NAME_MAX
};
_Static_assert((ID_LEN + SIGN_MAC_LEN) * 4 / 3 + 2 < MCP_ID_MAX, "an id fits");
_Static_assert(MAX_KEY <= STORE_MAX_KEY, "its key does");

static bool
keep_session(void *ctx, const struct store_rec *r, bool newest, int64_t now_ms)
{
    int64_t ms;

    (void)ctx;
    return newest && time_parse(r->time, &ms) &&
           now_ms - ms < MCP_SESSION_AGE_MS;
}

/* Hashes of the ids of the sessions that ended last, by their records. */
static struct {
    uint64_t tag[ENDED_MAX];
    size_t n; /* in all */
} last_ended;

static uint64_t
tag_of_key(struct str key)
{
    return str_hash(str_from(key, strlen(PREFIX)));
}

static int
apply_session(void *ctx, struct store_entry *e, const struct store_rec *r)
{
    (void)ctx;
    (void)e;
    if (str_starts(r->body, "\"op\":\"end\""))
        last_ended.tag[last_ended.n++ % ENDED_MAX] = tag_of_key(r->key);
    return 0;
}

static void
undo_session(void *ctx, struct store_entry *e, struct store_entry *old)
{
    uint64_t tag = tag_of_key((struct str){e->key, e->key_len});

    (void)ctx;
    (void)old;
    if (last_ended.n > 0 &&
        last_ended.tag[(last_ended.n - 1) % ENDED_MAX] == tag)
        last_ended.n--;
}

void
mcp_session_kind(struct store_kind *out)
{
    *out = (struct store_kind){.prefix = PREFIX,
                               .entry_size = sizeof(struct store_entry),
                               .apply = apply_session,
                               .undo = undo_session,
                               .keep = keep_session,
                               .transient = true};
}

/* ---- in memory ---- */

bool
mcp_is_writable(const struct mcp *m)
{
    return !store_is_readonly(m->store);
}

static void
clear_session_subs(struct mcp_session *s)
{
    s->m->n_subs -= s->news.n_subs;
    arena_fini(&s->own);
}

/* The link to the session of this id in its chain, or the end of the chain. An
   id begins with random bytes. */
static struct mcp_session **
session_link(struct mcp *m, struct str id)
{
    size_t n = id.len < 8 ? id.len : 8;
    struct mcp_session **at =
        &m->by_id[str_hash((struct str){id.p, n}) % MCP_CHAINS];

    while (*at != NULL && !str_eq(id, str_of((*at)->id)))
        at = &(*at)->same;
    return at;
}

static void
cut_session(struct mcp_session *s)
{
    *s->at = s->next;
    if (s->next != NULL)
        s->next->at = s->at;
}

static void
put_session_first(struct mcp_session *s)
{
    s->at = &s->m->sessions;
    s->next = *s->at;
    if (s->next != NULL)
        s->next->at = &s->next;
    *s->at = s;
}

void
mcp_session_free(struct mcp_session *s)
{
    struct mcp_session **at;

    if (s == NULL)
        return;
    cut_session(s);
    s->m->n_sessions--;
    at = session_link(s->m, str_of(s->id));
    if (*at == s)
        *at = s->same;
    clear_session_subs(s);
    mcp_follow_end(s);
    free(s);
}

static unsigned
session_share(const struct mcp_session *s)
{
    return str_hash(str_of(s->principal)) % SHARES;
}

/* The principal with the most sessions gives up its least recently used one
   (invariant 2), so that nobody can end another's. Read-only sessions cannot
   come back, so they go last. */
static bool
evict_session(struct mcp *m)
{
    unsigned of_share[SHARES] = {0}, n, most = 0;
    struct mcp_session *s, *found = NULL;

    for (s = m->sessions; s != NULL; s = s->next)
        of_share[session_share(s)]++;
    for (s = m->sessions; s != NULL; s = s->next) {
        if (s->local || s->news.channels != NULL || s->n_waiting > 0 ||
            s->n_queued > 0)
            continue;
        n = of_share[session_share(s)];
        if (n < most || (n == most && s->read_only && !found->read_only))
            continue;
        most = n;
        found = s;
    }
    mcp_session_free(found);
    return found != NULL;
}

struct mcp_session *
mcp_session_new(struct mcp *m, const struct mcp_facts *f)
{
    struct str principal = f->principal;
    struct mcp_session *s;

    if (m->n_sessions >= MCP_MAX_SESSIONS && !evict_session(m))
        return NULL;
    s = malloc(sizeof(*s) + principal.len + 1);
    if (s == NULL)
        return NULL;
    *s = (struct mcp_session){
        .m = m,
        .principal = (char *)(s + 1),
        .read_only = f->read_only,
        .rev = MCP_NEWEST_HANDSHAKE,
        .log_level = MCP_LOG_DEFAULT,
        .news = {.m = m,
                 .of = s,
                 .sent_n = mcp_head(m),
                 .listed = m->list_clock + 1},
    };
    if (principal.len > 0)
        memcpy(s->principal, principal.p, principal.len);
    s->principal[principal.len] = '\0';
    put_session_first(s);
    m->n_sessions++;
    return s;
}

struct mcp_session *
mcp_join(struct mcp *m, struct mcp_channel *channel)
{
    struct mcp_session *s = mcp_session_new(m, &(struct mcp_facts){0});

    if (s == NULL)
        return NULL;
    s->local = true;
    s->news.channels = channel;
    channel->next = NULL;
    m->n_channels++;
    return s;
}

void
mcp_leave(struct mcp_session *s)
{
    if (s == NULL)
        return;
    s->m->n_channels--;
    mcp_session_free(s);
}

/* ---- its id ---- */

int
mcp_session_seal(struct mcp_session *s)
{
    struct str client = utf8_cut(str_of(s->client), MCP_NAME_MAX);
    uint8_t raw[ID_LEN];
    struct buf b = {0};
    int err = s->read_only ? random_hex(s->id, 2 * AT_SSE)
                           : random_bytes(raw, AT_SSE);

    if (err != 0)
        return ERR_IO;
    s->born_ms = store_now_ms(s->m->store);
    if (s->read_only) {
        *session_link(s->m, str_of(s->id)) = s;
        return 0;
    }
    raw[AT_SSE] = s->sse;
    raw[AT_REV] = (uint8_t)s->rev;
    raw[AT_CAPS] = (uint8_t)s->caps;
    mcp_put_be64(raw + AT_TIME, (uint64_t)s->born_ms);
    memcpy(raw + AT_NAME, client.p, client.len);
    err = sign_seal(s->m->sign, "session", str_of(s->principal),
                    (struct str){(char *)raw, AT_NAME + client.len}, &b);
    if (err == 0)
        err = b.err;
    if (err == 0) {
        ASSERT(b.len < MCP_ID_MAX);
        memcpy(s->id, b.p, b.len);
        s->id[b.len] = '\0';
        *session_link(s->m, buf_view(&b)) = s;
    }
    buf_fini(&b);
    return err == 0 || err == ERR_NOMEM ? err : ERR_IO;
}

const char *
mcp_session_id(const struct mcp_session *s)
{
    return s->id;
}

/* Makes a session again from its id, unless there is no telling whether it has
   ended. */
static int
revive_session(struct mcp *m, const struct mcp_facts *f, struct str id,
               struct mcp_session **out)
{
    struct arena a = {0};
    struct str said = STR_NONE;
    struct mcp_session *s = NULL;
    const uint8_t *raw;
    int err = ERR_NOT_FOUND;

    if (id.len < MCP_ID_MAX && !f->read_only && mcp_is_writable(m))
        err = sign_open(m->sign, "session", f->principal, id, &a, &said);
    raw = (const uint8_t *)said.p;
    if (err == 0 && (said.len < AT_NAME || said.len > ID_LEN ||
                     raw[AT_REV] >= MCP_OLDEST_MODERN))
        err = ERR_NOT_FOUND;
    if (err == 0 && (s = mcp_session_new(m, f)) == NULL)
        err = ERR_NOMEM;
    if (err == 0) {
        memcpy(s->id, id.p, id.len);
        *session_link(m, id) = s;
        s->sse = raw[AT_SSE] != 0;
        s->initialized = !s->sse; /* whose id was made before its initialize */
        s->rev = raw[AT_REV];
        s->caps = raw[AT_CAPS];
        s->born_ms = (int64_t)mcp_get_be64(raw + AT_TIME);
        memcpy(s->client, raw + AT_NAME, said.len - AT_NAME);
        s->client[said.len - AT_NAME] = '\0';
        s->news.sent_n = s->news.listed = 0;
        s->revived = true;
    }
    arena_fini(&a);
    *out = s;
    return err == 0 || err == ERR_NOMEM ? err : ERR_NOT_FOUND;
}

/* ---- its record ---- */

/* Makes s reflect record n. ERR_NOMEM and ERR_GARBLED leave s unchanged. */
static int
adopt_record(struct mcp_session *s, uint64_t n, struct str body)
{
    struct mcp_session now = *s;
    struct arena a = {0};
    struct str text = arena_printf(&a, "{%.*s}", STR_ARG(body));
    const struct json_tok *v = NULL, *ended;
    int64_t level = s->log_level;
    int err = text.p == NULL ? ERR_NOMEM : json_parse(&a, text, &v, NULL);

    if (err != 0 && err != ERR_NOMEM)
        err = ERR_GARBLED;
    v = json_get(v, "v");
    ended = json_get(v, "ended");
    now.ended = ended != NULL && ended->type == JSON_TRUE;
    json_int(json_get(v, "level"), &level);
    now.log_level = (int)level;
    now.n = n;
    now.news.sent_slot = 0; /* subscriptions may have changed their places */
    now.news.subs = NULL;
    now.news.n_subs = 0;
    now.own = (struct arena){0};
    if (err == 0)
        err = mcp_subs_read(&now.news, &now.own, json_get(v, "subs"), true,
                            NULL);
    arena_fini(&a);
    if (err == ERR_NOMEM || err == ERR_GARBLED) {
        arena_fini(&now.own);
        return err;
    }
    clear_session_subs(s);
    *s = now;
    s->m->n_subs += s->news.n_subs;
    return 0;
}

/* Until the next call. */
static struct str
session_key(const struct mcp_session *s)
{
    static char key[MAX_KEY];

    return (struct str){key, text_put(key, MAX_KEY, PREFIX "%s", s->id)};
}

int
mcp_session_refresh(struct mcp_session *s)
{
    struct store_entry *e;
    struct store_rec r;
    struct arena a = {0};
    uint64_t next;
    int err = 0;

    if (s->id[0] == '\0' ||
        (next = store_next_n(s->m->store)) == s->seen)
        return 0;
    e = store_find(s->m->store, session_key(s));
    if (e != NULL && e->n != s->n) {
        err = store_read(s->m->store, e, &a, &r);
        if (err == 0)
            err = adopt_record(s, r.n, r.body);
        arena_fini(&a);
    }
    if (err == 0)
        s->seen = next;
    return err;
}

bool
mcp_session_stored(const struct mcp_session *s)
{
    return s->id[0] != '\0' && !s->read_only && mcp_is_writable(s->m);
}

/* Whether adding uri changes anything: 0, 1, ERR_TOO_LARGE or ERR_NOMEM. */
static int
can_subscribe(const struct mcp_session *s, struct str uri)
{
    struct mcp_sub sub;
    struct arena a = {0};
    int rc;

    if (uri.p == NULL || mcp_sub_find(&s->news, uri) != NULL)
        return 0;
    if (uri.len > MCP_MAX_URI)
        return ERR_TOO_LARGE;
    rc = mcp_sub_init(s->m, &a, &sub, uri, 0, NULL);
    if (rc == 0 && sub.key != NULL)
        rc = s->news.n_subs < MCP_MAX_SUBS ? 1 : ERR_TOO_LARGE;
    arena_fini(&a);
    return rc;
}

static bool
changes_settings(const struct mcp_session *s, int level, struct str drop)
{
    return (level >= 0 && level != s->log_level) ||
           mcp_sub_find(&s->news, drop) != NULL;
}

bool
mcp_session_changes(const struct mcp_session *s, int level, struct str add,
                    struct str drop)
{
    return can_subscribe(s, add) != 0 || changes_settings(s, level, drop);
}

int
mcp_session_set(struct mcp_session *s, int level, bool end, struct str add,
                struct str drop)
{
    struct mcp *m = s->m;
    struct mcp_session staged = {.m = m, .n = s->n, .news.m = m};
    const struct mcp_session *from = s;
    const struct mcp_sub *sub, *dropped;
    bool stored = mcp_session_stored(s);
    const char *comma = "";
    struct buf b = {0};
    int err = 0, adds = 0;

    if (stored) {
        memcpy(staged.id, s->id, sizeof(staged.id));
        err = mcp_session_refresh(&staged);
        if (staged.n != s->n)
            from = &staged;
    }
    if (err == 0)
        err = adds = can_subscribe(from, add);
    if (err < 0 || !(adds || end || changes_settings(from, level, drop)))
        goto out;
    dropped = mcp_sub_find(&from->news, drop);
    buf_printf(&b, "\"op\":\"%s\",\"v\":{\"level\":%d,\"ended\":%s,"
               "\"subs\":[", end ? "end" : "set",
               level < 0 ? from->log_level : level,
               end || from->ended ? "true" : "false");
    for (size_t i = 0; i < from->news.n_subs && !end; i++) {
        sub = &from->news.subs[i];
        if (sub == dropped)
            continue;
        buf_printf(&b, "%s[", comma);
        json_quote(&b, str_of(sub->uri));
        buf_printf(&b, ",%llu]", (unsigned long long)sub->since);
        comma = ",";
    }
    if (adds && !end) {
        buf_printf(&b, "%s[", comma);
        json_quote(&b, add);
        buf_printf(&b, ",%llu]",
                   (unsigned long long)(stored ? store_next_n(m->store)
                                               : mcp_head(m)));
    }
    buf_z(&b, "]}");
    err = adds && b.len > MAX_RECORD ? ERR_TOO_LARGE : b.err;
    if (err != 0)
        goto out;
    if (!stored)
        err = adopt_record(s, 0, buf_view(&b));
    else if (end)
        err = store_stage_last(m->store, session_key(s), buf_view(&b));
    else
        err = store_stage(m->store, session_key(s), buf_view(&b));
out:
    buf_fini(&b);
    clear_session_subs(&staged);
    return err;
}

void
mcp_session_changed(struct mcp *m, const struct mcp_change *c)
{
    struct str id = {c->key.p + strlen(PREFIX), c->key.len - strlen(PREFIX)};
    struct mcp_session *s = *session_link(m, id);

    if (s != NULL && s->n != c->n && adopt_record(s, c->n, c->body) != 0)
        mcp_notify_later(&s->news); /* which reads the record first */
}

int
mcp_session_find(struct mcp *m, const struct mcp_facts *f, struct str id,
                 struct mcp_session **out)
{
    struct mcp_session *s;
    int err = 0;

    if (id.len == 0)
        return ERR_NOT_FOUND;
    if (!m->followed)
        store_follow(m->store); /* another process may have ended it */
    m->followed = true;
    s = *session_link(m, id);
    if (s == NULL) {
        err = revive_session(m, f, id, &s);
    } else {
        cut_session(s);
        put_session_first(s);
    }
    if (err == 0)
        err = mcp_session_refresh(s);
    if (err != 0) /* there is no telling whether it has ended */
        return err == ERR_GARBLED ? ERR_NOT_FOUND : err;
    if (s->ended || !str_is(f->principal, s->principal) ||
        s->read_only != f->read_only ||
        store_now_ms(m->store) - s->born_ms > MCP_SESSION_AGE_MS)
        return ERR_NOT_FOUND;
    s->heard_ms = clock_mono_ms();
    *out = s;
    return 0;
}

/* ---- marks ---- */

struct str
mcp_process_mark(struct arena *a, struct store *s)
{
    unsigned long long me = store_instance(s);

    return me == 0 ? STR_NONE : arena_printf(a, "%010llx.%llu",
                                             me & 0xffffffffff, me);
}

struct str
mcp_session_mark(const struct mcp_call *c)
{
    const struct mcp_message *m = c->of->m;
    unsigned long long me = store_instance(m->m->store);

    if (c->of->reruns != NULL)
        return c->session;
    if (me == 0 || (!m->s->local && m->s->id[0] == '\0'))
        return STR_NONE;
    return m->s->local
        ? mcp_process_mark(c->arena, m->m->store)
        : arena_printf(c->arena, "%016llx.%llu",
                       (unsigned long long)str_hash(str_of(m->s->id)), me);
}

bool
mcp_session_is(struct str a, struct str b)
{
    return str_eq(str_cut(&a, '.'), str_cut(&b, '.'));
}

/* The hash of the session over HTTP that has this tag. Returns false for the
   tag of another. */
static bool
web_hash(struct str tag, uint64_t *hash)
{
    uint32_t high, low;

    if (tag.len != WEB_TAG || !text_hex32(tag.p, &high) ||
        !text_hex32(tag.p + 8, &low))
        return false;
    *hash = (uint64_t)high << 32 | low;
    return true;
}

enum sight
mcp_see_process(const void *of, struct str mark)
{
    struct str tag = str_cut(&mark, '.');
    size_t n = last_ended.n < ENDED_MAX ? last_ended.n : ENDED_MAX;
    uint64_t by, hash;

    if (!str_u64(mark, &by))
        return SIGHT_UNKNOWN;
    if (tag.len != WEB_TAG)
        return store_sight(of, by);
    if (!web_hash(tag, &hash))
        n = 0;
    while (n > 0 && last_ended.tag[n - 1] != hash)
        n--;
    if (n > 0)
        return SIGHT_GONE;
    return store_sight(of, by) == SIGHT_ALIVE ? SIGHT_ALIVE : SIGHT_UNKNOWN;
}

enum sight
mcp_see(const void *of, struct str mark)
{
    const struct mcp *m = of;
    struct str by = mark, tag = str_cut(&by, '.');
    const struct mcp_session *s = NULL; /* over HTTP, in memory, of this tag */
    enum sight sight;
    uint64_t n, hash;

    if (web_hash(tag, &hash))
        s = m->sessions;
    while (s != NULL && (s->local || str_hash(str_of(s->id)) != hash))
        s = s->next;
    if (s != NULL && !s->ended)
        return s->news.channels != NULL || s->n_waiting > 0 || s->n_queued > 0
                   ? SIGHT_ALIVE : SIGHT_UNKNOWN;
    if (s != NULL)
        return SIGHT_GONE;
    sight = mcp_see_process(m->store, mark);
    /* That this process lives says nothing of a session that left it. */
    if (tag.len == WEB_TAG && sight == SIGHT_ALIVE && str_u64(by, &n) &&
        n == store_instance(m->store))
        sight = SIGHT_UNKNOWN;
    return sight;
}

bool
mcp_is_principal(const struct mcp_call *c, struct str name)
{
    const struct mcp *m = c->of->m->m;

    return m->is_principal != NULL && m->is_principal(m->principals, name);
}
