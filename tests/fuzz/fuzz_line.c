/* fuzz_line - any lines from a client over stdio, in one session; and the same
   lines as bodies over HTTP, with the first line in every header. A message
   that waits is run again after the next line.

   What must hold:
   1. No input crashes, and mcp_accept never fails while there is memory.
   2. An answer is one valid JSON text on one line, and a result has an id;
      notes are such lines, too.
   3. Only MCP_ACCEPTED and MCP_WAITS come without an answer.
   4. A message that is run twice gets the same answer. */

#include "tests/fuzz/fuzz.h"
#include "tests/lib/mcp_toy.h"
#include "tests/lib/signed_store.h"

#include <string.h>

static struct str
any_header(void *ctx, const char *name)
{
    (void)name;
    return *(struct str *)ctx;
}

static bool
ignore(void *ctx, const struct mcp_out *o)
{
    (void)ctx;
    (void)o;
    return true;
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
        HOLDS(json_is(json_get(t, "jsonrpc"), "2.0"));
        HOLDS(json_get(t, "id") != NULL || json_get(t, "error") != NULL);
        HOLDS((json_get(t, "result") != NULL) !=
              (json_get(t, "error") != NULL));
    }
}

static void
check_notes(struct arena *a, struct str notes)
{
    const struct json_tok *t;

    while (notes.len > 0) {
        const char *end = memchr(notes.p, '\n', notes.len);
        struct str line = {notes.p, 0};

        HOLDS(end != NULL);
        line.len = (size_t)(end - notes.p);
        HOLDS(json_parse(a, line, &t, NULL) == 0);
        HOLDS(json_get(t, "method") != NULL);
        notes.p += line.len + 1;
        notes.len -= line.len + 1;
    }
}

/* Runs m twice. */
static enum mcp_status
check_run(struct mcp_message *m)
{
    struct buf out = {0}, notes = {0};
    enum mcp_status status = mcp_run(m, &out, &notes);
    struct arena a = {0};
    size_t n = out.len;

    HOLDS(out.err == 0 && notes.err == 0);
    HOLDS((n == 0) == (status == MCP_ACCEPTED || status == MCP_WAITS));
    HOLDS(mcp_run(m, &out, &notes) == status && out.len == 2 * n);
    if (n > 0) {
        HOLDS(memcmp(out.p, out.p + n, n) == 0);
        check_answer(&a, (struct str){out.p, n}, out.p[0] == '[');
    }
    check_notes(&a, buf_view(&notes));
    buf_fini(&out);
    buf_fini(&notes);
    arena_fini(&a);
    return status;
}

static void
check_line(struct mcp *mcp, const struct mcp_facts *f, struct str line)
{
    static struct mcp_channel channel = {.send = ignore};
    static int owner;
    struct mcp_message *m, *k;
    enum mcp_status status;

    HOLDS(mcp_accept(mcp, f, &line, &m) == 0);
    mcp_prepare(m);
    while (mcp_next(mcp, INT64_MAX - 1, &k) == &owner) {
        if (check_run(k) == MCP_WAITS)
            mcp_keep(k, &channel, &owner);
        else
            mcp_release(k);
        if (mcp_due_ms(mcp) != 0)
            break;
    }
    status = check_run(m);
    HOLDS(!mcp_writes(m) || status == MCP_OK);
    if (status == MCP_WAITS)
        HOLDS(mcp_keep(m, &channel, &owner) == 0);
    else
        mcp_release(m);
}

static void
check_lines(struct mcp_facts *f, struct str text)
{
    static struct mcp_channel channel = {.send = ignore};
    struct mcp_message *k;
    struct mcp *mcp;
    const char *end;
    size_t n;

    toy_wakes = 2;
    HOLDS(mcp_new(&mcp, &toy_talker, store, sign, the_calls) == 0);
    f->session = f->http ? NULL : mcp_join(mcp, &channel);
    while (text.len > 0) {
        end = memchr(text.p, '\n', text.len);
        n = end != NULL ? (size_t)(end - text.p) : text.len;
        check_line(mcp, f, (struct str){text.p, n});
        n += end != NULL;
        text.p += n;
        text.len -= n;
    }
    mcp_end_listens(mcp);
    while (mcp_next(mcp, INT64_MAX, &k) != NULL)
        mcp_release(k);
    mcp_leave(f->session);
    mcp_free(mcp);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    struct str text = {(const char *)data, n}, first = text;
    const char *end = n > 0 ? memchr(data, '\n', n) : NULL;
    struct mcp_facts stdio = {0};
    struct mcp_facts http = {.http = true, .header = any_header};

    if (store == NULL) /* one for all inputs, to which nothing is written */
        HOLDS(signed_store_open(true));
    if (end != NULL)
        first.len = (size_t)(end - text.p);
    http.version = first;
    http.header_ctx = &first;
    check_lines(&stdio, text);
    check_lines(&http, text);
    return 0;
}
