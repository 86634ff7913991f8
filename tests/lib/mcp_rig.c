#include "tests/lib/mcp_rig.h"

struct world box;
struct arena arena;
struct buf out, notes;
struct mcp_session *session;
struct mcp_channel channel;

static void
rig_join(void)
{
    session = mcp_join(box.m, &channel);
    if (session == NULL)
        abort();
}

void
rig_init(const struct mcp_catalogue *c, bool readonly)
{
    world_place(&box);
    if (world_try(&box, c, readonly) != 0)
        abort();
    rig_join();
}

void
rig_fini(void)
{
    mcp_leave(session);
    world_close(&box);
    arena_fini(&arena);
    buf_fini(&out);
    buf_fini(&notes);
}

void
rig_serve(const struct mcp_catalogue *c)
{
    mcp_leave(session);
    world_serve(&box, c);
    rig_join();
}

void
rig_agree(const char *rev)
{
    session->initialized = rev != NULL;
    session->rev = rev != NULL ? (enum mcp_rev)mcp_rev_of(str_of(rev))
                               : MCP_NEWEST_HANDSHAKE;
    session->log_level = MCP_LOG_DEFAULT;
    session->caps = 0;
    memset(session->client, 0, sizeof(session->client));
    memcpy(session->client, "cli", rev != NULL ? 4 : 0);
}

struct str
quoted(const char *z)
{
    static char text[4][1 << 17];
    static unsigned turn;
    char *to = text[turn++ % 4];
    size_t i, n = strlen(z);

    if (n >= sizeof(text[0]))
        abort();
    for (i = 0; i < n; i++)
        to[i] = z[i] == '\'' ? '"' : z[i];
    return (struct str){to, n};
}

static struct str
find_header(void *ctx, const char *name)
{
    const char *p = *(const char **)ctx, *end;
    size_t n = strlen(name);

    for (; *p != '\0'; p = end + 1) {
        end = strchr(p, '\n');
        if (strncmp(p, name, n) == 0 && p[n] == ':')
            return (struct str){p + n + 2, (size_t)(end - p) - n - 2};
    }
    return STR_NONE;
}

struct mcp_facts
facts_of(const char *headers)
{
    static const char *lines;
    struct mcp_facts f = {.principal = STR("ann"), .session = session};

    lines = headers;
    if (headers != NULL) {
        f.http = true;
        f.header = find_header;
        f.header_ctx = &lines;
        f.version = find_header(&lines, "mcp-protocol-version");
        f.session_id = find_header(&lines, "mcp-session-id");
        if (!session->initialized)
            f.session = NULL;
    }
    return f;
}

struct mcp_message *
accept_as(const char *headers, struct str in)
{
    struct mcp_facts f = facts_of(headers);
    struct mcp_message *m = NULL;

    return mcp_accept(box.m, &f, &in, &m) == 0 ? m : NULL;
}

enum mcp_status
say_as(const char *headers, const char *in)
{
    struct mcp_message *m = accept_as(headers, quoted(in));
    enum mcp_status status;

    buf_reset(&out, SIZE_MAX);
    buf_reset(&notes, SIZE_MAX);
    if (m == NULL)
        abort();
    mcp_prepare(m);
    status = mcp_run(m, &out, &notes);
    mcp_release(m);
    return status;
}

enum mcp_status
say(const char *in)
{
    return say_as(NULL, in);
}

bool
is_text(struct str got, const char *want)
{
    struct str text = quoted(want);

    if (str_eq(got, text))
        return true;
    fprintf(stderr, "want %.*s\ngot  %.*s\n", STR_ARG(text), STR_ARG(got));
    return false;
}

bool
is_answer(const char *want)
{
    return is_text(buf_view(&out), want);
}

bool
answers(const char *in, const char *want)
{
    say(in);
    return is_answer(want);
}

void
check_case(const struct kase *k)
{
    const struct json_tok *root;
    enum mcp_status status;

    arena_reset(&arena);
    rig_agree(k->session);
    status = say_as(k->headers, k->in);
    if (!CHECK(is_answer(k->out)) || !CHECK(status == k->status))
        fprintf(stderr, "  for %s\n", k->in);
    if (out.len > 0) {
        CHECK(json_parse(&arena, buf_view(&out), &root, NULL) == 0);
        CHECK(memchr(out.p, '\n', out.len) == NULL);
    }
}

void
check_all(const struct kase *k, size_t n)
{
    for (; n > 0; n--, k++)
        check_case(k);
}
