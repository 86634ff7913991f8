/* mark - names of sessions, for records.

   A mark is "<tag>.<instance>". The tag of a session over HTTP is the hash of
   its id, which outlives the process. */

#include "mcp/mark.h"
#include "base/text.h"
#include "mcp/message.h"
#include "mcp/run.h"
#include "mcp/session.h"

#define WEB_TAG 16 /* digits of the tag of a session over HTTP; else 10 */

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

    if (c->of->again != NULL)
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
    uint64_t by, hash;

    if (!str_u64(mark, &by))
        return SIGHT_UNKNOWN;
    if (tag.len != WEB_TAG)
        return store_sight(of, by);
    if (web_hash(tag, &hash) && mcp_session_ended(hash))
        return SIGHT_GONE;
    return store_sight(of, by) == SIGHT_ALIVE ? SIGHT_ALIVE : SIGHT_UNKNOWN;
}

/* The session over HTTP of this tag that is in memory, or NULL. */
static const struct mcp_session *
session_of_tag(const struct mcp *m, struct str tag)
{
    const struct mcp_session *s = m->sessions;
    uint64_t hash;

    if (!web_hash(tag, &hash))
        return NULL;
    while (s != NULL && (s->local || str_hash(str_of(s->id)) != hash))
        s = s->next;
    return s;
}

enum sight
mcp_see(const void *of, struct str mark)
{
    const struct mcp *m = of;
    struct str by = mark, tag = str_cut(&by, '.');
    const struct mcp_session *s = session_of_tag(m, tag);
    enum sight sight;
    uint64_t n;

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
