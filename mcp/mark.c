/* mark - names of sessions, for records.

   A mark is "<tag>.<instance>". The tag of a session over HTTP is the hash of
   its id, which outlives the process. */

#include "mcp/mark.h"
#include "base/text.h"
#include "mcp/message.h"
#include "mcp/run.h"

#define QUIET_MS (15 * 60 * 1000) /* of a client that opens no stream */

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
        ? arena_printf(c->arena, "%010llx.%llu", me & 0xffffffffff, me)
        : arena_printf(c->arena, "%016llx.%llu",
                       (unsigned long long)str_hash(str_of(m->s->id)), me);
}

bool
mcp_session_is(struct str a, struct str b)
{
    return str_eq(str_cut(&a, '.'), str_cut(&b, '.'));
}

/* Whether the client of s, over HTTP, is still there. */
static bool
is_there(const struct mcp_session *s)
{
    return mcp_is_reachable(s) ||
           (!s->ended && !s->streamed &&
            clock_mono_ms() - s->heard_ms < QUIET_MS);
}

bool
mcp_session_lives(const struct mcp_call *c, struct str mark)
{
    const struct mcp *m = c->of->m->m;
    struct str tag = str_cut(&mark, '.');
    uint32_t high, low;
    uint64_t by;

    /* A session over HTTP may have moved to this process since. */
    if (tag.len == 16 && text_hex32(tag.p, &high) &&
        text_hex32(tag.p + 8, &low))
        for (const struct mcp_session *s = m->sessions; s; s = s->next)
            if (str_hash(str_of(s->id)) == ((uint64_t)high << 32 | low) &&
                (s->ended || is_there(s)))
                return !s->ended;
    return str_u64(mark, &by) && store_alive(m->store, by) &&
           (by != store_instance(m->store) || tag.len != 16);
}

bool
mcp_is_principal(const struct mcp_call *c, struct str name)
{
    const struct mcp *m = c->of->m->m;

    return m->is_principal != NULL && m->is_principal(m->principals, name);
}
