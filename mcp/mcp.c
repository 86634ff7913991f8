/* mcp - the engine: runs and answers messages.

   It does no input or output, and of HTTP it knows only the headers that repeat
   the body.

   1. An answer is whole or absent: if it fails halfway, it is cut back. */

#include "mcp/mcp.h"
#include "base/text.h"
#include "mcp/deferred.h"
#include "mcp/delivery.h"
#include "mcp/methods.h"
#include "mcp/run.h"
#include "mcp/session.h"

#include <stdlib.h>

#define MAX_BATCH_LEN ((size_t)8 << 20) /* of a batch's answers and runs */

int
mcp_new(struct mcp **out, const struct mcp_catalogue *c, struct store *store,
        struct sign *sign, struct calls *calls)
{
    struct mcp *m = *out = malloc(sizeof(*m));

    if (m == NULL)
        return ERR_NOMEM;
    *m = (struct mcp){
        .cat = c,
        .store = store,
        .sign = sign,
        .calls = calls,
        .call = mcp_method_call,
        .delivery_ms = INT64_MAX,
        .look_ms = INT64_MAX,
        /* Above the ids of polls of earlier processes: sessions outlive them,
           and their clients may still answer. */
        .last_poll = (uint64_t)clock_wall_ms(),
    };
    return 0;
}

void
mcp_principals(struct mcp *m, mcp_principal_fn *is, const void *of)
{
    m->is_principal = is;
    m->principals = of;
}

void
mcp_free(struct mcp *m)
{
    if (m == NULL)
        return;
    ASSERT(m->messages == NULL);
    while (m->sessions != NULL)
        mcp_session_free(m->sessions);
    arena_fini(&m->runs);
    free(m);
}

void
mcp_count(const struct mcp *m, struct mcp_counts *out)
{
    *out = m->counts;
    out->sessions = m->n_sessions;
    out->subscriptions = m->n_subs;
    calls_count(m->calls, &out->calls);
}

uint64_t
mcp_requests(const struct mcp *m)
{
    return m->counts.requests;
}

/* ---- before a run ---- */

/* Whether running it may stage records. */
static bool
request_writes(const struct request *r)
{
    if (r->reply.kind != '\0')
        return true;
    if (r->no_reply || r->fault.code != 0 || r->method == NULL)
        return false;
    if (r->method->feature == TASKS || r->runs_as.len > 0)
        return mcp_task_writes(r);
    if (r->tool != NULL)
        return (r->tool->writes && !r->call.read_only) ||
               ((r->task || r->extends) && mcp_can_defer(r));
    return r->changes && mcp_session_stored(r->m->s);
}

bool
mcp_writes(const struct mcp_message *m)
{
    for (size_t i = 0; i < m->n; i++)
        if (request_writes(&m->v[i]))
            return true;
    return m->ends && m->n == 0 && mcp_session_stored(m->s);
}

void
mcp_prepare(struct mcp_message *m)
{
    for (size_t i = 0; i < m->n; i++) {
        struct request *r = &m->v[i];

        if (r->fault.code == 0 && r->tool != NULL &&
            r->tool->prepare != NULL &&
            (!r->tool->writes || !r->call.read_only))
            r->tool->prepare(&r->call);
    }
}

/* ---- answers ---- */

/* Appends one answer; or nothing, and sets out->err. If memory runs out at the
   first try, what was reserved until then mostly has room for the error. */
static enum mcp_status
run_request(struct request *r, struct buf *out, struct buf *notes)
{
    struct mcp_fault f = r->fault;
    size_t start = out->len, notes_len = notes->len;
    int err = 0;

    r->run.notes = notes;
    if (f.code != 0)
        mcp_put_error(r->id, &f, out);
    else
        err = mcp_put_result(r, out);
    if (notes->err != 0) { /* half a note must not go out */
        notes->len = notes_len;
        notes->err = 0;
        err = ERR_NOMEM;
    }
    if (err == 0)
        err = out->err;
    if (err != 0) {
        out->len = start;
        out->err = 0;
    }
    if (err == MCP_RUN_WAITS)
        return MCP_WAITS;
    if (err != 0) {
        f = mcp_fault_of(r, err);
        mcp_put_error(r->id, &f, out);
    }
    r->m->m->counts.errors += f.code != 0;
    return f.status;
}

/* A batch is one message: the rest of it is refused once its runs and answers
   have taken as much memory as one message may. */
static void
bound_batch(struct mcp_message *m, struct request *r, size_t taken)
{
    if (m->batch && taken > MAX_BATCH_LEN && r->fault.code == 0)
        mcp_refuse(r, MCP_OK, RPC_INVALID_REQUEST,
                   "The batch is too large; send this request alone",
                   STR_NONE);
}

/* Ends a session; memory learns of the end from the record. */
static enum mcp_status
stage_end(struct mcp_message *m, struct buf *out)
{
    int err = mcp_session_set(m->s, -1, true, STR_NONE, STR_NONE);
    struct mcp_fault f = {.status = MCP_BAD_REQUEST,
                          .code = RPC_INTERNAL_ERROR, .text = "Internal error",
                          .value = str_of(err_name(err))};

    if (err == 0)
        return MCP_OK;
    mcp_put_error(STR_NONE, &f, out);
    return f.status;
}

/* Takes a client's answer to a request of ours. If it cannot be stored this has
   to be an error, though its sender can do little about it; a batch has no room
   for one. */
static enum mcp_status
run_response(struct request *r, struct buf *out)
{
    int err = mcp_take_answer(r);
    struct mcp_fault f;

    if (err == 0 || !r->m->http || r->m->batch)
        return MCP_ACCEPTED;
    f = mcp_fault_of(r, err);
    mcp_put_error(STR_NONE, &f, out);
    return MCP_BAD_REQUEST;
}

enum mcp_status
mcp_run(struct mcp_message *m, struct buf *out, struct buf *notes)
{
    enum mcp_status status = MCP_ACCEPTED;
    size_t i, start = out->len, before = start + mcp_runs_len(m->m);

    m->state = MESSAGE_RUN;
    if (m->ends && m->n == 0)
        return stage_end(m, out);
    if (m->cancelled && m->waited) {
        mcp_withdraw(m->v, notes);
        return MCP_ACCEPTED;
    }
    for (i = 0; i < m->n && out->err == 0; i++) {
        if (m->v[i].reply.kind != '\0' &&
            run_response(&m->v[i], out) == MCP_BAD_REQUEST)
            status = MCP_BAD_REQUEST;
        if (m->v[i].no_reply)
            continue;
        if (m->batch)
            buf_char(out, status == MCP_ACCEPTED ? '[' : ',');
        bound_batch(m, &m->v[i], out->len + mcp_runs_len(m->m) - before);
        if (out->err == 0)
            status = run_request(&m->v[i], out, notes);
    }
    if (m->batch && status != MCP_ACCEPTED) {
        buf_char(out, ']');
        status = MCP_OK;
    }
    if (out->err != 0)
        out->len = start;
    return status;
}

size_t
mcp_runs_len(const struct mcp *m)
{
    return arena_size(&m->runs);
}

void
mcp_end_turn(struct mcp *m)
{
    arena_reset(&m->runs);
}

static int64_t
earlier(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

int64_t
mcp_due_ms(const struct mcp *m)
{
    int64_t due = earlier(mcp_waiting_due_ms(m), mcp_delivery_due_ms(m));

    due = earlier(due, m->look_ms);
    if (m->list_due != 0)
        due = earlier(due, m->list_sent_ms + MCP_LIST_PAUSE_MS);
    return m->notify_if_due ? earlier(due, m->notify_ms) : due;
}
