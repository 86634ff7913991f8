/* fuzz_line - any lines from a client over stdio, one session for all; and
   the same again as bodies over HTTP, with the first line in every header.

   What must hold:
   1. No input crashes, and mcp_accept never fails while there is memory.
   2. What is answered is one valid JSON text on one line, with an id.
   3. MCP_ACCEPTED and only that is no answer.
   4. Run a second time, a message is answered the same. */

#include "mcp_toy.h"

#include <stdlib.h>
#include <string.h>

#define HOLDS(e)     \
    do {             \
        if (!(e))    \
            abort(); \
    } while (0)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static struct str
any_header(void *ctx, const char *name)
{
    (void)name;
    return *(struct str *)ctx;
}

static void
check_answer(struct arena *a, struct str text, bool batch)
{
    const struct json_tok *t;
    uint32_t i, n = 1;

    HOLDS(memchr(text.p, '\n', text.len) == NULL);
    HOLDS(json_parse(a, text, &t, NULL) == 0);
    HOLDS((t->type == JSON_ARRAY) == batch);
    if (batch)
        n = (t++)->n;
    for (i = 0; i < n; i++, t += t->span) {
        HOLDS(json_get(t, "id") != NULL && json_is(json_get(t, "jsonrpc"),
                                                   "2.0"));
        HOLDS((json_get(t, "result") != NULL) !=
              (json_get(t, "error") != NULL));
    }
}

static void
check_line(struct mcp_session *s, const struct mcp_facts *f, struct str line)
{
    struct arena a = {0};
    struct buf out = {0};
    struct mcp_message *m;
    enum mcp_status status;
    size_t n;

    HOLDS(mcp_accept(&toy_catalogue, s, f, &a, line, &m) == 0);
    mcp_prepare(m);
    status = mcp_run(m, &out);
    n = out.len;
    HOLDS(out.err == 0 && (n == 0) == (status == MCP_ACCEPTED));
    HOLDS(mcp_run(m, &out) == status && out.len == 2 * n);
    if (n > 0) {
        HOLDS(memcmp(out.p, out.p + n, n) == 0);
        check_answer(&a, (struct str){out.p, n}, out.p[0] == '[');
    }
    HOLDS(!mcp_writes(m) || status == MCP_OK);
    buf_fini(&out);
    arena_fini(&a);
}

static void
check_lines(const struct mcp_facts *f, struct str text)
{
    struct mcp_session s = {0};
    const char *end;
    size_t n;

    while (text.len > 0) {
        end = memchr(text.p, '\n', text.len);
        n = end != NULL ? (size_t)(end - text.p) : text.len;
        check_line(&s, f, (struct str){text.p, n});
        n += end != NULL;
        text.p += n;
        text.len -= n;
    }
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    struct str text = {(const char *)data, n}, first = text;
    const char *end = n > 0 ? memchr(data, '\n', n) : NULL;
    struct mcp_facts stdio = {0};
    struct mcp_facts http = {.http = true, .header = any_header};

    if (end != NULL)
        first.len = (size_t)(end - text.p);
    http.version = first;
    http.header_ctx = &first;
    check_lines(&stdio, text);
    check_lines(&http, text);
    return 0;
}
