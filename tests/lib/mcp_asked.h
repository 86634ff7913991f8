#ifndef TEST_MCP_ASKED_H
#define TEST_MCP_ASKED_H

/* mcp_asked - three clients of one store with calls that outlive their
   requests, and the questions that they get: what they receive and reply, in
   sessions over HTTP and on pipes. */

#include "tests/lib/mcp_turn.h"

static inline void
begin(void)
{
    clock_still = true;
    box_new();
    who_pipe(&ann, "ann", V11);
    who_init(&bob, "bob");
    who_init(&neo, "ann");
}

static inline void
end(void)
{
    who_forget(&ann);
    who_forget(&bob);
    who_forget(&neo);
    box_close();
    ahead_ms = 0;
}

/* Runs everything due by then. */
static inline void
settle_after(int64_t ms)
{
    ahead_ms += ms;
    settle_all();
}

/* Kills and restarts the server: pipes are new, HTTP sessions stay. */
static inline void
restart(void)
{
    box_close();
    box_open();
    ann.s = bob.s = neo.s = NULL;
}

/* w requests the task in a separate turn. Returns the first message it gets. */
static inline const char *
polls(struct who *w)
{
    who_forget(w);
    post(w, OLD("tasks/get"));
    turn();
    return next(w);
}

/* The same for a task it creates first. */
static inline const char *
makes_and_polls(struct who *w, const char *text)
{
    makes(w, text);
    return polls(w);
}

/* ---- questions ---- */

#define QUESTION(i) \
    "','method':'elicitation/create','params':{" RELATED \
    ",'mode':'form','message':'Who?'}}"

static char asked_id[160]; /* of the last question; the task's is ID */

/* Takes a message's id, from its "id" member. */
static inline void
take_id(const char *at)
{
    snprintf(asked_id, sizeof(asked_id), "%.*s", (int)strcspn(at + 6, "\""),
             at + 6);
}

/* Returns whether w's next message is a question. */
static inline bool
is_asked(struct who *w)
{
    const char *text = next(w), *at = strstr(text, "\"id\":\"mcptask-c.ID.");

    if (at == NULL || !has(text, QUESTION(0)))
        return false;
    take_id(at);
    return true;
}

static inline void
gives(struct who *w, const char *id, const char *members)
{
    char in[600];

    snprintf(in, sizeof(in), "{'jsonrpc':'2.0','id':'%s',%s}", id, members);
    post(w, in);
    turn();
}

#define ACCEPTS "'result':" ANSWER
#define ASKED_RESULT RES("2", GOT(ANSWER_TEXT) "," RELATED)

/* Begins a session over HTTP for a principal, with elicitation. */
static inline void
join(struct who *w, const char *principal, const char *caps)
{
    char in[600];

    who_init(w, principal);
    snprintf(in, sizeof(in), INIT("{'protocolVersion':'" V11 "',"
                                  "'capabilities':%s,'clientInfo':{'name':"
                                  "'c','version':'1'}}"), caps);
    {
        struct mcp_facts f = {.http = true, .header = bare_header,
                              .principal = str_of(principal)};
        struct job *j = &jobs[n_jobs++];
        struct str text = meant(in);

        *j = (struct job){.w = w};
        CHECK(mcp_accept(box.m, &f, &text, &j->m) == 0);
    }
    turn();
    CHECK(w->id[0] != '\0');
    who_forget(w);
}

/* Opens its stream; last: id of the last event it knows, or NULL. */
static inline void
stream(struct who *w, const char *last)
{
    struct mcp_facts f = {.session_id = str_of(w->id),
                          .principal = str_of(w->principal)};

    w->pipe.blocked = false;
    CHECK(mcp_stream_open(box.m, &f, last != NULL ? str_of(last) : STR_NONE,
                          &w->pipe, &w->s) == 0);
}

static inline void
leave(struct who *w)
{
    mcp_stream_close(w->s, &w->pipe);
    who_forget(w);
}

#define FORMS "{'elicitation':{}}"

static inline bool
is_withdrawn(struct who *w, const char *id)
{
    char want[300];

    snprintf(want, sizeof(want), "{'jsonrpc':'2.0','method':"
             "'notifications/cancelled','params':{'requestId':'%s'}}", id);
    return is_next(w, want);
}

#define CLIENT_TASKS "{'elicitation':{},'tasks':{'cancel':{},'requests':" \
    "{'elicitation':{'create':{}}}}}"
#define CLIENT_TASK(status) \
    "'taskId':'their \\'1\\'','status':'" status "','createdAt':'T'," \
    "'lastUpdatedAt':'T','ttl':null,'pollInterval':500"

/* Returns whether w's next poll shows this; then asked_id is set. */
static inline bool
is_polled(struct who *w, const char *method)
{
    const char *text = next(w), *at = strstr(text, "\"id\":\"mcptask-");
    char want[100];

    snprintf(want, sizeof(want), "'method':'tasks/%s','params':{'taskId':"
             "'their \\'1\\''}}", method);
    if (at == NULL || !has(text, want))
        return false;
    take_id(at);
    return true;
}

/* Makes x ask, and turns the call into a task. */
static inline void
ask(struct who *x, const char *task)
{
    const char *text, *at;
    char result[256];

    makes_and_polls(x, TASK("task", "{}"));
    text = next(x);
    CHECK(has(text, ",'task':{'ttl':86400000},'mode':'form'"));
    at = strstr(text, "\"id\":\"");
    if (at == NULL)
        return;
    take_id(at);
    snprintf(result, sizeof(result), "'result':{'task':{%s}}", task);
    gives(x, asked_id, result);
    CHECK(is_status("input_required") && is_quiet(x));
}

static inline void
ask_as_task(struct who *x)
{
    ask(x, CLIENT_TASK("working"));
}

/* w accepts the last question, which ends the call that asked it. */
static inline void
accepts(struct who *w)
{
    gives(w, asked_id, ACCEPTS);
    settle_all();
    CHECK(is_status("completed"));
}

/* Runs life repeatedly, with each allocation failing in turn, once or from
   there on, until one run has no failure. life returns whether an allocation
   failed. There must be more than at_least allocations. */
static inline void
fail_memory(bool (*life)(long after, bool once), bool once, long at_least)
{
    long after = 0;

    while (life(after, once))
        after++;
    CHECK(after > at_least);
}

#endif
