/* state - what a modern client keeps for a call that asks it something: the
   questions and, signed, the state of the call until the answers come.

   1. A state opens only for the same principal, method, target and arguments.
      The call judges how long it accepts an answer. */

#include "mcp/state.h"
#include "base/sha256.h"
#include "mcp/methods.h"
#include "mcp/run.h"

#include <string.h>

struct state_head { /* before the state, in the sealed payload */
    uint8_t expires_ms[8]; /* never; only older versions read it */
    uint8_t round[8];
    uint8_t digest[SHA256_LEN];
};

/* Length and kind come first, so that no two lists give the same bytes. */
static void
add_text(struct sha256 *h, uint8_t kind, struct str s)
{
    uint8_t head[9] = {[8] = kind};

    mcp_put_be64(head, s.len);
    sha256_add(h, head, sizeof(head));
    if (s.p != NULL)
        sha256_add(h, s.p, s.len);
}

/* The digest of what the request asks for, however its JSON is written. */
static int
digest(const struct request *r, uint8_t out[SHA256_LEN])
{
    const struct json_tok *t = r->call.args;
    uint32_t n = t != NULL ? t->span : 0;
    struct sha256 h;

    sha256_init(&h);
    add_text(&h, JSON_STRING, str_of(r->method->name));
    add_text(&h, JSON_STRING, r->target);
    for (; n > 0; n--, t++) {
        struct str text = t->type < JSON_ARRAY ? json_raw(t)
                                               : (struct str){NULL, t->n};

        if (t->type == JSON_STRING && mcp_text(r->m->a, t, &text) != 0)
            return ERR_NOMEM;
        add_text(&h, t->type, text);
    }
    sha256_end(&h, out);
    return 0;
}

static int
seal_state(struct request *r, struct buf *out)
{
    size_t len = sizeof(struct state_head) + r->run.state.len;
    struct state_head *head = arena_alloc(r->call.arena, len);

    if (head == NULL || digest(r, head->digest) != 0)
        return ERR_NOMEM;
    mcp_put_be64(head->expires_ms, UINT64_MAX);
    mcp_put_be64(head->round, (uint64_t)r->call.round + 1);
    if (r->run.state.len > 0)
        memcpy(head + 1, r->run.state.p, r->run.state.len);
    return sign_seal(r->m->m->sign, "state", r->call.principal,
                     (struct str){(const char *)head, len}, out);
}

/* Invariant 1. Returns 0, ERR_NOMEM, or another error if it does not open. */
static int
open_state(struct request *r, struct str text)
{
    struct sign *sign = r->m->m->sign;
    const struct state_head *head;
    uint8_t want[SHA256_LEN];
    struct str s;
    int err = ERR_INVALID;

    if (text.p != NULL)
        err = sign_open(sign, "state", r->call.principal, text, r->m->a, &s);
    if (err == 0)
        err = digest(r, want);
    if (err != 0)
        return err;
    head = (const struct state_head *)(const void *)s.p;
    if (s.len < sizeof(*head) ||
        memcmp(head->digest, want, sizeof(want)) != 0)
        return ERR_INVALID;
    r->call.round = (unsigned)mcp_get_be64(head->round);
    r->call.state = (struct str){s.p + sizeof(*head), s.len - sizeof(*head)};
    return 0;
}

int
mcp_check_inputs(struct request *r)
{
    const struct json_tok *inputs = json_get(r->params, "inputResponses"),
                          *state = json_get(r->params, "requestState");
    int err;

    if (!is_absent(inputs) && inputs->type != JSON_OBJECT)
        return mcp_refuse_params(r, "inputResponses must be an object");
    r->inputs = inputs;
    if (is_absent(state))
        return 0;
    err = open_state(r, mcp_text_of(r->m, state));
    if (err == 0 || err == ERR_NOMEM)
        return err;
    return mcp_refuse_params(r, "requestState belongs to another request; call "
                                "again without it");
}

int
mcp_put_input_required(struct request *r)
{
    struct json_w *w = &r->run.w;
    struct buf state = {0};
    int err = 0;

    if (r->run.unanswered)
        mcp_put_inputs(w, r->run.questions);
    if (r->run.state.p != NULL) {
        err = seal_state(r, &state);
        json_put_str(w, "requestState", buf_view(&state));
    }
    buf_fini(&state);
    return err != 0 ? err : MCP_NEEDS_INPUT;
}
