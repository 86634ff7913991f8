/* run - begins and ends a run of a call.

   From 2026-07-28 on a question ends the request: the client retries it with
   the answers, and with the state of the call (mcp/state.c). Before, a call
   that asks becomes a deferred one, whose questions mcp/delivery.c sends, and
   its message waits until that has ended.

   1. A run begins in the state in which its message began to wait: questions
      that an earlier try of the same run asked are forgotten.
   2. A question of the handshake era is in a record before it is sent: its
      answer finds it in any process, at any time. */

#include "mcp/run.h"
#include "mcp/dialect.h"
#include "mcp/session.h"
#include "mcp/state.h"

/* MCP_MAX_WAITING and MCP_WAITING_LEN in words */
#define TOO_MANY_WAIT "too many calls are waiting (256 of a session, or 3/4 " \
                      "of the rest of 8 MiB); cancel some, or try again " \
                      "later"

bool
mcp_can_record(const struct request *r)
{
    return r->tool != NULL && !r->call.read_only &&
           mcp_is_writable(r->m->m);
}

bool
mcp_can_defer(const struct request *r)
{
    return mcp_can_record(r) && r->tool->tasks != MCP_TASK_FORBIDDEN;
}

void
mcp_begin_run(struct request *r, struct buf *out)
{
    struct mcp_message *m = r->m;

    r->run = (struct run){
        .notes = r->run.notes,
        .questions = r->again != NULL ? r->run.questions : NULL,
        .defers = r->task || (r->again != NULL && !mcp_is_plain(r->again)),
        .wait_ms = -1,
        .progress = r->progress,
    };
    json_w_init(&r->run.w, out);
    r->call.out = out;
    if (!m->waited)
        r->runs_as = STR_NONE;
    if (r->again == NULL)
        r->call.here = STR_NONE;
    if (!m->waited && r->again == NULL) {
        r->call.made_ms = m->repeat.began_ms;
        r->call.since = r->call.made_ms != 0 ? m->repeat.since
                                             : store_next_n(m->m->store) - 1;
    }
    r->call.is_error = r->call.content = false;
    r->call.until_ms = clock_mono_ms();
    if (m->waited || m->m->going == NULL) /* mcp/message.c, 4 */
        r->call.until_ms += MCP_SLICE_MS;
    r->call.read_max = MCP_READ_MAX / m->n;
    if (r->again == NULL)
        r->call.arena = &m->m->runs;
}

/* What becomes of a run that returned MCP_RUN_WAITS: this, MCP_NEEDS_INPUT, or
   an error. */
static int
judge_wait(struct request *r)
{
    struct run *run = &r->run;
    bool waits = run->wait_ms >= 0 || run->watch.len > 0 || r->listen != NULL;

    run->seen = store_next_n(r->m->m->store) - 1;
    if (run->missing != 0)
        return ERR_CAPABILITY;
    if (!r->call.may_wait)
        return ERR_MAY_NOT_WAIT;
    if (!run->unanswered && !waits) {
        if (run->state.p == NULL)
            return ERR_IO; /* it waits for nothing, so for ever */
        run->wait_ms = 0;
    }
    if (run->defers || r->again != NULL)
        return MCP_RUN_WAITS;
    if (is_modern(r) && (run->unanswered || !waits))
        return MCP_NEEDS_INPUT;
    if (!mcp_may_wait(r))
        return mcp_fail(r, ERR_TOO_LARGE, TOO_MANY_WAIT);
    return MCP_RUN_WAITS;
}

void
mcp_open_members(struct request *r)
{
    json_obj(&r->run.w);
    r->run.at = r->call.out->len;
    r->run.depth = r->run.w.depth;
}

void
mcp_cut_members(struct request *r)
{
    r->call.out->len = r->run.at;
    r->run.w.depth = r->run.depth;
    r->run.w.comma = r->run.w.key = false;
}

struct refusal {
    int err;
    const char *code, *text;
    bool retryable;
};

/* The refusal of a run that its client reads as a result of the tool; NULL for
   any other outcome. A modern client gets an error for a capability that it
   lacks. */
static const struct refusal *
refusal_of(const struct request *r, int err)
{
    static const struct refusal refusals[] = {
        {ERR_UNAUTHORIZED, "unauthorized", "this token is read-only", false},
        {ERR_TOO_LARGE, "too_large", TOO_MANY_WAIT, true},
        {ERR_MAY_NOT_WAIT, "blocked",
         "this call waits, so send it outside a batch", false},
        {ERR_CAPABILITY, "unauthorized", "the client does not support", false},
    };

    if (r->tool == NULL || (err == ERR_CAPABILITY && is_modern(r)))
        return NULL;
    for (size_t i = 0; i < sizeof(refusals) / sizeof(*refusals); i++)
        if (refusals[i].err == err)
            return &refusals[i];
    return NULL;
}

/* Writes an error result of the tool. ERR_NOMEM. */
static int
put_refusal(struct request *r, const struct refusal *f)
{
    struct buf lacks = {0};
    struct str text;
    int err;

    for (unsigned i = 0; mcp_cap_name(i) != NULL; i++)
        if (r->run.missing & 1u << i)
            buf_printf(&lacks, " %s", mcp_cap_name(i));
    text = arena_printf(
        r->call.arena,
        "{\"code\":\"%s\",\"message\":\"%s%.*s\",\"retryable\":%s}",
        f->code, f->text, STR_ARG(buf_view(&lacks)),
        f->retryable ? "true" : "false");
    err = text.p == NULL ? ERR_NOMEM : lacks.err;
    buf_fini(&lacks);
    mcp_cut_members(r);
    r->call.is_error = true;
    mcp_put_output(&r->run.w, text, false);
    json_put_bool(&r->run.w, "isError", true);
    return err;
}

int
mcp_end_run(struct request *r, int err)
{
    const struct refusal *f;

    if (err == MCP_RUN_WAITS)
        err = r->call.out->err != 0 ? r->call.out->err : judge_wait(r);
    if (err == MCP_NEEDS_INPUT) {
        mcp_cut_members(r);
        return mcp_put_input_required(r);
    }
    f = refusal_of(r, err);
    return f != NULL ? put_refusal(r, f) : err;
}
