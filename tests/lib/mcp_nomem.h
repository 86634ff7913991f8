#ifndef TEST_MCP_NOMEM_H
#define TEST_MCP_NOMEM_H

/* mcp_nomem - CHECK_NOMEM(cases): repeats each case with every allocation and
   every use of the arena failing in turn. */

#include "tests/lib/mcp_rig.h"

/* Returns whether the output is the right answer, or an internal error with the
   same id (for each message of a batch), or empty with out.err set. */
static inline bool
is_fair(const struct kase *k)
{
    const struct json_tok *got, *error;
    uint32_t n = 1, i;
    int64_t code;

    if (out.err != 0)
        return out.len == 0;
    if (str_eq(buf_view(&out), quoted(k->out)))
        return true;
    if (json_parse(&arena, buf_view(&out), &got, NULL) != 0)
        return false;
    if (got->type == JSON_ARRAY)
        n = (got++)->n;
    for (i = 0; i < n; i++, got += got->span) {
        error = json_get(got, "error");
        if ((json_get(got, "id") == NULL && strstr(k->out, "'id'") != NULL) ||
            (error == NULL && json_get(got, "result") == NULL) ||
            (error != NULL && !json_int(json_get(error, "code"), &code)))
            return false;
    }
    return true;
}

/* Leaves so many bytes in the arena; false: it never had as many. */
static inline bool
leave_room(size_t room)
{
    size_t n = 0, piece;

    arena_reset(&arena);
    arena_alloc(&arena, 1);
    nomem_start(0, false);
    for (piece = 4096; piece >= 16; piece /= 16)
        while (arena_alloc(&arena, piece) != NULL)
            n += piece;
    nomem_stop();
    arena_reset(&arena);
    return room <= n && arena_alloc(&arena, n - room + 1) != NULL;
}

/* One try with memory failing after so many calls; false: no call failed. */
static inline bool
fails_fairly(const struct kase *k, long after, bool once)
{
    struct str in = quoted(k->in);
    struct mcp_facts f;
    struct mcp_message *m = NULL;
    bool hit, fair;
    int err;

    buf_reset(&out, SIZE_MAX);
    buf_reset(&notes, SIZE_MAX);
    rig_agree(k->session);
    f = facts_of(k->headers);
    nomem_start(after, once);
    err = mcp_accept(box.m, &f, &in, &m);
    if (err == 0) {
        mcp_prepare(m);
        mcp_run(m, &out, &notes);
    }
    hit = nomem_stop();
    if (m != NULL)
        mcp_release(m);
    fair = err == 0 ? is_fair(k) : err == ERR_NOMEM && hit;
    if (!CHECK(fair))
        fprintf(stderr, "  call %ld of %s\n", after, k->in);
    return hit;
}

/* Fails each allocation of a server that starts empty. */
static inline void
fail_each_call(const struct kase *k, bool once)
{
    long after = -1;

    do {
        arena_fini(&arena);
        buf_fini(&out);
        buf_fini(&notes);
    } while (fails_fairly(k, ++after, once));
}

/* Fails each use of the arena, with room for an answer. */
static inline void
fail_each_block(const struct kase *k)
{
    size_t room = 0;

    buf_room(&out, 1 << 16);
    while (leave_room(room) && fails_fairly(k, 0, false))
        room += 16 * TEST_STEP;
}

static inline void
check_nomem(const struct kase *k, size_t n)
{
    for (; n > 0; n--, k++) {
        fail_each_call(k, true);
        fail_each_call(k, false);
        fail_each_block(k);
    }
}

#define CHECK_NOMEM(cases) check_nomem(cases, sizeof(cases) / sizeof(*(cases)))

#endif
