/* t_mcp_call - calls that wait and report, in both eras, and sessions over
   HTTP. In texts ' stands for a quote. */

#include "base/clock.h"
#include "tests/lib/faults.h"
#include "tests/lib/mcp_rig.h"

/* ---- messages that wait ---- */

static char owner; /* of all messages kept here */

/* Sends a message that has to wait, and keeps it. */
static struct mcp_message *
keep_as(const char *headers, const char *in)
{
    struct mcp_message *k, *m;
    struct str text = quoted(in);

    k = accept_as(headers, text);
    buf_reset(&out, SIZE_MAX);
    buf_reset(&notes, SIZE_MAX);
    if (k == NULL)
        abort();
    memset((char *)(uintptr_t)text.p, '#', text.len);
    arena_fini(&arena);
    mcp_prepare(k);
    if (!CHECK(mcp_run(k, &out, &notes) == MCP_WAITS && out.len == 0) ||
        mcp_keep(k, &channel, &owner) != 0)
        return NULL;
    CHECK(mcp_next(box.m, 0, &m) == NULL || m->cancelled);
    return k;
}

static bool
is_note(const char *want)
{
    return is_text(buf_view(&notes), want);
}

/* Runs what mcp_next gives, if it is k. */
static enum mcp_status
run_next(struct mcp_message *k, int64_t now_ms)
{
    struct mcp_message *m = NULL;

    buf_reset(&out, SIZE_MAX);
    buf_reset(&notes, SIZE_MAX);
    if (!CHECK(mcp_next(box.m, now_ms, &m) == &owner && m == k))
        return MCP_NOT_FOUND;
    CHECK(mcp_next(box.m, INT64_MAX, &m) == NULL);
    return mcp_run(k, &out, &notes);
}

/* Sends a message over HTTP, without a session. */
static void
say_alone(const char *in)
{
    bool was = session->initialized;

    session->initialized = false;
    CHECK(say_as("mcp-method: x\n", in) == MCP_ACCEPTED);
    session->initialized = was;
}

#define RESPONSE(n, result) \
    "{'jsonrpc':'2.0','id':'mcptask-" n "','result':" result "}"
#define CANCEL(id) \
    "{'jsonrpc':'2.0','method':'notifications/cancelled','params':" \
    "{'requestId':" id "}}"

TEST(waiting_for_a_time)
{
    static const char *const ins[] = {
        CALL("wait", "{}"),
        REQ("1", "tools/call", "{'name':'wait'," CAN("{}") "}"),
    };
    struct mcp_message *k, *m;
    struct mcp_counts counts;
    int64_t now;
    size_t i;

    toy_wakes = 3;
    rig_agree(V11);
    for (i = 0; i < 2; i++) {
        now = clock_mono_ms();
        k = keep_as(NULL, ins[i]);
        if (!CHECK(k != NULL))
            return;
        CHECK(notes.len == 0);
        mcp_count(box.m, &counts);
        CHECK(counts.waiting == 1);
        CHECK(mcp_due_ms(box.m) >= now + 1000);
        CHECK(mcp_next(box.m, now + 999, &m) == NULL);
        CHECK(run_next(k, mcp_due_ms(box.m)) == MCP_WAITS);
        CHECK(mcp_due_ms(box.m) == INT64_MAX);
        mcp_keep(k, &channel, &owner);
        CHECK(mcp_due_ms(box.m) < INT64_MAX);
        CHECK(run_next(k, mcp_due_ms(box.m)) == MCP_WAITS);
        mcp_keep(k, &channel, &owner);
        CHECK(run_next(k, mcp_due_ms(box.m)) == MCP_OK);
        buf_char(&out, '\0');
        CHECK(strstr(out.p, "{\\\"round\\\":3,\\\"state\\\":"
                            "\\\"still here\\\"}") != NULL);
        mcp_release(k);
        mcp_count(box.m, &counts);
        CHECK(counts.waiting == 0);
    }
}

/* A call with only a state, in an era whose clients cannot carry one. */
TEST(state_of_the_handshake)
{
    struct mcp_message *k;

    rig_agree(V11);
    k = keep_as(NULL, CALL("shed", "{}"));
    if (!CHECK(k != NULL))
        return;
    CHECK(run_next(k, mcp_due_ms(box.m)) == MCP_WAITS);
    mcp_keep(k, &channel, &owner);
    CHECK(run_next(k, mcp_due_ms(box.m)) == MCP_OK);
    CHECK(is_answer(RES("1", TEXT("{\\'state\\':\\'x\\'}"))));
    mcp_release(k);
}

TEST(cancelling)
{
    struct mcp_message *k, *m;

    toy_wakes = 9;
    rig_agree(V11);
    k = keep_as(NULL, CALL("wait", "{}"));
    if (!CHECK(k != NULL))
        return;
    say(CANCEL("'1'"));
    say(CANCEL("2"));
    say(CANCEL("[1]"));
    say_alone(CANCEL("1"));
    CHECK(mcp_next(box.m, 0, &m) == NULL);
    say(CANCEL("1"));
    CHECK(run_next(k, 0) == MCP_ACCEPTED && out.len == 0 && notes.len == 0);
    mcp_release(k);
    /* While it runs, before it could be kept; on stdio also a modern one. */
    k = keep_as(NULL, REQ("'a'", "tools/call",
                          "{'name':'wait'," CAN("{}") "}"));
    if (!CHECK(k != NULL))
        return;
    CHECK(run_next(k, mcp_due_ms(box.m)) == MCP_WAITS);
    say(CANCEL("'a'"));
    mcp_keep(k, &channel, &owner);
    CHECK(run_next(k, 0) == MCP_ACCEPTED);
    mcp_release(k);
    say(CANCEL("'b'")); /* a late cancellation does not count for the next */
    k = keep_as(NULL, REQ("'b'", "tools/call", "{'name':'wait'}"));
    if (!CHECK(k != NULL))
        return;
    CHECK(!k->cancelled);
    mcp_release(k);
}

/* A cancelled message that is still queued is as if it had not come. */
TEST(cancelling_queued_calls)
{
    static const struct {
        const char *in, *cancel;
        bool gone;
    } cases[] = {
        {CALL("wait", "{}"), CANCEL("1"), true},
        {CALL("echo", "{}"), CANCEL("1"), true},
        {CALL("keep", "{}"), CANCEL("1"), false}, /* its prepare has run */
        {CALL("nobody", "{}"), CANCEL("1"), true},
        {CALL("wait", "{}"), CANCEL("'1'"), false},
        {CALL("wait", "{}"), CANCEL("2"), false},
        {INIT("{}"), CANCEL("1"), false},
    };
    struct mcp_message *m, *by;
    size_t i;

    for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        rig_agree(V11);
        m = accept_as(NULL, quoted(cases[i].in));
        by = accept_as(NULL, quoted(cases[i].cancel));
        buf_reset(&out, SIZE_MAX);
        buf_reset(&notes, SIZE_MAX);
        if (!CHECK(m != NULL && by != NULL))
            return;
        CHECK((mcp_run(m, &out, &notes) == MCP_ACCEPTED) == cases[i].gone);
        CHECK(!cases[i].gone || (out.len == 0 && !mcp_writes(m)));
        mcp_release(m);
        mcp_release(by);
    }
    rig_agree(V03); /* a batch may cancel what came before it in the batch */
    CHECK(say("[" CALL("echo", "{}") "," CANCEL("1") "]") == MCP_ACCEPTED);
    /* What was run already is answered. */
    rig_agree(V11);
    m = accept_as(NULL, quoted(CALL("echo", "{}")));
    buf_reset(&out, SIZE_MAX);
    CHECK(mcp_run(m, &out, &notes) == MCP_OK);
    CHECK(say(CANCEL("1")) == MCP_ACCEPTED);
    CHECK(mcp_run(m, &out, &notes) == MCP_OK);
    mcp_release(m);
}

/* ---- what a call tells ---- */

#define NOTE(method, params) \
    "{'jsonrpc':'2.0','method':'notifications/" method "','params':{" params \
    "}}\n"
#define HALF(token, message) \
    NOTE("progress", "'progressToken':" token ",'progress':50,'total':100" \
         message) \
    NOTE("progress", "'progressToken':" token ",'progress':990,'total':1000")
#define LOGGED(level) \
    NOTE("message", "'level':'" level "','logger':'toybox','data':{'a':1}")
#define MESSAGES_3 LOGGED("emergency") LOGGED("alert") LOGGED("critical")
#define TELL(meta) \
    REQ("1", "tools/call", "{'name':'tell','_meta':{" meta "}}")
#define MODERN_META \
    KEY("protocolVersion") ":'" V26 "'," KEY("clientCapabilities") ":{}"

TEST(progress_and_logging)
{
    static const struct {
        const char *rev;
        int level;
        const char *in, *notes;
    } cases[] = {
        {V11, -1, TELL(""), ""},
        {V11, 2, TELL(""), MESSAGES_3},
        {V24, -1, TELL("'progressToken':'t\\n'"), HALF("'t\\n'", "")},
        {V11, 2, TELL("'progressToken':7"),
         HALF("7", ",'message':'half \\'way\\''") MESSAGES_3},
        {V11, -1, TELL("'progressToken':1.5"), ""},
        {V11, -1, TELL("'progressToken':null"), ""},
        {V11, 7, TELL(MODERN_META), ""},
        {V11, -1, TELL(MODERN_META ",'progressToken':-1," KEY("logLevel")
                       ":'critical'"),
         HALF("-1", ",'message':'half \\'way\\''") MESSAGES_3},
    };
    size_t i;

    for (i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        rig_agree(cases[i].rev);
        session->log_level = cases[i].level;
        CHECK(say(cases[i].in) == MCP_OK && is_note(cases[i].notes));
    }
    rig_agree(V11);
    CHECK(answers(TELL(""), RES("1", TEXT("told"))));
    CHECK(answers(CALL("tell", "{}"),
                  RES("1", TEXT("told") ",'isError':true")));
    rig_agree(V24);
    CHECK(answers(TELL(""), RES("1", TEXT("told"))));
}

/* A waiting call goes on logging, at the level that the session has then. */
TEST(logging_while_waiting)
{
    struct mcp_message *k;

    toy_wakes = 1;
    rig_agree(V11);
    k = keep_as(NULL, REQ("1", "tools/call", "{'name':'wait','_meta':"
                          "{'progressToken':'p'}}"));
    if (!CHECK(k != NULL))
        return;
    CHECK(is_note(NOTE("progress",
                       "'progressToken':'p','progress':0,'total':2")));
    CHECK(run_next(k, mcp_due_ms(box.m)) == MCP_OK);
    CHECK(is_note(NOTE("progress",
                       "'progressToken':'p','progress':1,'total':2")));
    mcp_release(k);
}

/* It is run again before its progress has moved: nothing is sent twice, except
   what was never sent because the turn's commit failed. */
TEST(progress_only_rises)
{
    static const char one[] =
        NOTE("progress", "'progressToken':'p','progress':1,'total':2");
    struct mcp_message *k;

    toy_step = 2;
    toy_wakes = 3;
    rig_agree(V11);
    k = keep_as(NULL, REQ("1", "tools/call", "{'name':'wait','_meta':"
                          "{'progressToken':'p'}}"));
    if (!CHECK(k != NULL))
        return;
    CHECK(notes.len > 0);
    CHECK(run_next(k, mcp_due_ms(box.m)) == MCP_WAITS && is_note(""));
    mcp_keep(k, &channel, &owner);
    CHECK(run_next(k, mcp_due_ms(box.m)) == MCP_WAITS && is_note(one));
    buf_reset(&notes, SIZE_MAX);
    CHECK(mcp_run(k, &out, &notes) == MCP_WAITS && is_note(one));
    mcp_keep(k, &channel, &owner);
    CHECK(run_next(k, mcp_due_ms(box.m)) == MCP_OK && is_note(""));
    mcp_release(k);
    toy_step = 1;
}

/* ---- sessions over HTTP ---- */

static void
hear(void *ctx, const struct store_entry *e, const struct store_rec *r)
{
    struct mcp_change c = {r->key, r->body, r->n, r->p == 0};

    (void)ctx;
    (void)e;
    mcp_changed(box.m, &c);
}

static char headers[400]; /* for the session made last */

/* A turn of one message: prepared, run (under the lock if it must be), and
   committed or not. */
static enum mcp_status
take_turn(struct mcp_message *m, bool commits)
{
    enum mcp_status status;
    bool unknown, writes = mcp_writes(m);

    mcp_prepare(m);
    buf_reset(&out, SIZE_MAX);
    buf_reset(&notes, SIZE_MAX);
    if (writes)
        CHECK(store_lock_patiently(box.s) == 0);
    store_refuse(box.s, commits ? 0 : ERR_FULL);
    status = mcp_run(m, &out, &notes);
    store_refuse(box.s, 0);
    if (writes) {
        CHECK(store_staged_n(box.s) <= 1);
        CHECK(store_commit(box.s, &unknown) == 0);
        store_unlock(box.s);
    }
    if (mcp_made_session(m) != NULL)
        snprintf(headers, sizeof(headers), "mcp-session-id: %s\n"
                 "mcp-protocol-version: " V11 "\n", mcp_made_session(m));
    mcp_release(m);
    return status;
}

static enum mcp_status
post(const char *lines, const char *in)
{
    struct mcp_message *m;

    arena_reset(&arena);
    session->initialized = false; /* it concerns the session in the header */
    m = accept_as(lines, quoted(in));
    return m != NULL ? take_turn(m, true) : MCP_WAITS;
}

/* Opens a session and leaves its lines in headers. */
static bool
open_session(const char *params)
{
    struct mcp_message *m;

    arena_reset(&arena);
    session->initialized = false;
    headers[0] = '\0';
    m = accept_as("mcp-method: initialize\n", quoted(params));
    return m != NULL && take_turn(m, true) == MCP_OK && headers[0] != '\0';
}

static enum mcp_status
end_session(bool commits)
{
    struct mcp_facts f = facts_of(headers);
    struct mcp_message *m;

    arena_reset(&arena);
    f.session = NULL;
    if (mcp_accept(box.m, &f, NULL, &m) != 0)
        abort();
    return take_turn(m, commits);
}

#define GONE(id) \
    "{'jsonrpc':'2.0'," id "'error':{'code':-32001,'message':" \
    "'Session not found'}}"

TEST(session_over_http)
{
    static const char sub[] = REQ("1", "resources/subscribe",
                                  "{'uri':'toy://1'}");
    static const char ready[] =
        "{'jsonrpc':'2.0','method':'notifications/initialized'}";
    struct mcp_counts counts;
    int restarts;

    CHECK(open_session(INIT("{'protocolVersion':'" V06 "','capabilities':"
                            "{'elicitation':{}}}")));
    CHECK(post(headers, ready) == MCP_ACCEPTED);
    CHECK(post(headers, CALL("need", "{}")) == MCP_OK);
    CHECK(is_answer(RES("1", TEXT("{\\'code\\':\\'unauthorized\\',"
                        "\\'message\\':\\'the client does not support "
                        "sampling roots\\',\\'retryable\\':false}")
                        ",'isError':true")));
    CHECK(post(headers, sub) == MCP_OK && is_answer(PONG));
    CHECK(post(headers, REQ("1", "logging/setLevel", "{'level':'alert'}")) ==
          MCP_OK && is_answer(PONG));
    for (restarts = 0; restarts < 2; restarts++) {
        CHECK(post(headers, TELL("")) == MCP_OK);
        CHECK(is_note(LOGGED("emergency") LOGGED("alert")));
        mcp_count(box.m, &counts);
        CHECK(counts.subscriptions == 1);
        rig_serve(&toy_talker);
    }
    /* For a modern message there are no sessions, so none is unknown. */
    CHECK(post("mcp-session-id: x\n" H("prompts/list"),
               NEW("prompts/list", "")) == MCP_OK);
    CHECK(post("mcp-session-id: x\n" H("x"), ready) == MCP_ACCEPTED);
    CHECK(end_session(false) == MCP_BAD_REQUEST);
    CHECK(is_answer(BARE_ERR("-32603", "Internal error: store_full")));
    CHECK(post(headers, PING) == MCP_OK);
    CHECK(end_session(true) == MCP_OK && out.len == 0);
    CHECK(end_session(true) == MCP_NOT_FOUND && is_answer(GONE("")));
    CHECK(post(headers, PING) == MCP_NOT_FOUND);
    CHECK(is_answer(GONE("'id':1,")));
    CHECK(post(headers, ready) == MCP_NOT_FOUND && is_answer(GONE("")));
    CHECK(post(headers, RESPONSE("1", "{}")) == MCP_NOT_FOUND);
    CHECK(is_answer(GONE("")));
    CHECK(post(headers, "[" PING "]") == MCP_NOT_FOUND && is_answer(GONE("")));
    CHECK(post("mcp-session-id: \n", PING) == MCP_NOT_FOUND);
    /* initialize ignores the id and makes a new session. */
    CHECK(post(headers, INIT("{}")) == MCP_OK);
}

TEST(session_of_somebody_else)
{
    struct str ping;
    struct mcp_facts f;
    struct mcp_message *m;

    CHECK(open_session(INIT("{}")));
    ping = quoted(PING);
    f = facts_of(headers);
    f.principal = STR("bob");
    f.session = NULL;
    CHECK(mcp_accept(box.m, &f, &ping, &m) == 0);
    CHECK(take_turn(m, true) == MCP_NOT_FOUND);
    CHECK(post(headers, PING) == MCP_OK);
}

TEST(waiting_over_http)
{
    struct mcp_message *k;

    CHECK(open_session(INIT("{'protocolVersion':'" V11 "','capabilities':"
                            "{'elicitation':{}}}")));
    session->initialized = false;
    toy_wakes = 1;
    k = keep_as(headers, CALL("wait", "{}"));
    if (!CHECK(k != NULL))
        return;
    CHECK(mcp_polls(k) == 700);
    CHECK(post(headers, CANCEL("1")) == MCP_ACCEPTED);
    CHECK(run_next(k, 0) == MCP_ACCEPTED);
    mcp_release(k);
    k = keep_as("mcp-protocol-version: " V11 "\n", CALL("wait", "{}"));
    if (!CHECK(k != NULL))
        return;
    CHECK(mcp_polls(k) == 0);
    mcp_release(k);
}

/* Without a key there are no sessions: every message stands alone. */
TEST(initialize_without_a_key)
{
    world_expose_key(&box, true);
    rig_serve(&toy_talker);
    CHECK(!open_session(INIT("{}")));
    CHECK(is_answer(RES("1", "'protocolVersion':'" V11 "','capabilities':"
                        OFFERS("'completions':{},") "," INFO)));
    world_expose_key(&box, false);
    rig_serve(&toy_talker);
}

/* ---- without memory ---- */

/* Does all that happens to a message that asks and waits, or to a new session,
   until memory fails. False: it did not fail. */
static bool
wait_until_memory_fails(long after, bool once, const char *in)
{
    struct mcp_facts f = facts_of(NULL);
    struct mcp_message *m;
    struct str text = quoted(in);
    enum mcp_status status = MCP_OK;
    bool hit, kept;

    buf_reset(&out, 0);
    buf_reset(&notes, 0);
    nomem_start(after, once);
    if (mcp_accept(box.m, &f, &text, &m) == 0)
        status = mcp_run(m, &out, &notes);
    kept = status == MCP_WAITS && mcp_keep(m, &channel, &owner) == 0;
    hit = nomem_stop();
    nomem_start(after, once);
    while (kept && mcp_next(box.m, INT64_MAX - 1, &m) == &owner &&
           mcp_run(m, &out, &notes) == MCP_WAITS)
        kept = mcp_keep(m, &channel, &owner) == 0;
    hit |= nomem_stop();
    if (m != NULL)
        mcp_release(m);
    mcp_end_turn(box.m);
    return hit;
}

TEST(memory_fails_while_waiting)
{
    static const char *const ins[] = {
        CALL("wait", "{}"), CALL("shed", "{}"),
        REQ("1", "tools/call", "{'name':'wait','_meta':{'progressToken':1}}"),
        TELL("'progressToken':7"), MODERN_CALL("three", ""),
    };
    size_t i;
    long after;

    toy_wakes = 2;
    rig_agree(V11);
    session->caps = MCP_ELICITATION | MCP_SAMPLING | MCP_ROOTS;
    for (i = 0; i < 2 * sizeof(ins) / sizeof(*ins); i++)
        for (after = 0; after < 200; after++)
            wait_until_memory_fails(after, i % 2, ins[i / 2]);
    CHECK(box.m->messages == NULL && box.m->counts.waiting == 0);
}

TEST(memory_fails_at_sessions)
{
    struct mcp_facts f;
    struct mcp_message *m;
    struct str text;
    bool hit = true, made = false;
    long after;

    rig_serve(&toy_talker);
    rig_agree(NULL);
    f = facts_of("mcp-method: initialize\n");
    for (after = 0; hit; after++) {
        arena_fini(&arena);
        text = quoted(INIT("{}"));
        nomem_start(after, true);
        mcp_accept(box.m, &f, &text, &m);
        hit = nomem_stop();
        made = m != NULL && m->made;
        if (m != NULL)
            mcp_release(m);
    }
    CHECK(made);
}

#define TOO_MANY "too many calls are waiting (256 of a session, or 3/4 of " \
    "the rest of 8 MiB); cancel some, or try again later"
#define TOO_MUCH "{\\'code\\':\\'too_large\\',\\'message\\':\\'" TOO_MANY \
    "\\',\\'retryable\\':true}"

/* A call that waits and takes much memory. */
static const char *
long_call(void)
{
    static char text[100000], in[sizeof(text) + 200];

    memset(text, 'x', sizeof(text) - 1);
    snprintf(in, sizeof(in), CALL("wait", "{'x':'%s'}"), text);
    return in;
}

/* Keeps as many messages as principal may. Returns their bytes. */
static size_t
keep_all(const char *principal, const char *in)
{
    size_t before = box.m->waiting_len;
    struct mcp_message *m;
    enum mcp_status status;

    do {
        struct mcp_facts f = facts_of(NULL);
        struct str text = quoted(in);

        f.principal = str_of(principal);
        buf_reset(&out, SIZE_MAX);
        buf_reset(&notes, SIZE_MAX);
        if (mcp_accept(box.m, &f, &text, &m) != 0)
            abort();
        status = mcp_run(m, &out, &notes);
        if (status == MCP_WAITS && mcp_keep(m, &channel, &owner) != 0)
            abort();
        if (status != MCP_WAITS)
            mcp_release(m);
        arena_fini(&arena);
    } while (status == MCP_WAITS);
    CHECK(is_answer(RES("1", TEXT(TOO_MUCH) ",'isError':true")));
    return box.m->waiting_len - before;
}

/* A late caller finds room, however much the others keep. */
TEST(nobody_takes_all_places_to_wait)
{
    const char *in = long_call();
    size_t len;

    toy_wakes = 9;
    rig_agree(V11);
    len = keep_all("ann", in);
    CHECK(len > MCP_WAITING_LEN / 2 && len < MCP_WAITING_LEN / 8 * 7);
    CHECK(keep_all("ann", in) == 0);
    len = keep_all("bob", in);
    CHECK(len > MCP_WAITING_LEN / 16 && len < MCP_WAITING_LEN / 4);
    CHECK(keep_all("eve", in) > 0 && box.m->waiting_len < MCP_WAITING_LEN);
    while (box.m->messages != NULL)
        mcp_release(box.m->messages);
    CHECK(keep_all("bob", in) > MCP_WAITING_LEN / 2);
    while (box.m->messages != NULL)
        mcp_release(box.m->messages);
}

/* The limits hold for many calls that wait, and for few long ones. */
TEST(waiting_calls_have_limits)
{
    const char *in = long_call();
    size_t i;

    toy_wakes = 9;
    rig_agree(V11);
    session->caps = MCP_ELICITATION;
    for (i = 0; i < MCP_MAX_WAITING; i++)
        CHECK(keep_as(NULL, CALL("wait", "{}")) != NULL);
    CHECK(answers(CALL("wait", "{}"),
                  RES("1", TEXT(TOO_MUCH) ",'isError':true")));
    CHECK(say(MODERN_CALL("ask", "")) == MCP_OK); /* which is not kept */
    buf_char(&out, '\0');
    CHECK(strstr(out.p, "input_required") != NULL);
    mcp_release(box.m->messages);
    CHECK(keep_as(NULL, CALL("wait", "{}")) != NULL);
    while (box.m->messages != NULL)
        mcp_release(box.m->messages);
    /* All memory of a waiting call counts, whichever run took it. */
    for (i = 0; box.m->waiting_len + strlen(in) <= MCP_WAITING_LEN / 4 * 3; i++)
        CHECK(keep_as(NULL, in) != NULL);
    CHECK(i < MCP_WAITING_LEN / strlen(in));
    CHECK(answers(in, RES("1", TEXT(TOO_MUCH) ",'isError':true")));
    while (box.m->messages != NULL)
        mcp_release(box.m->messages);
    CHECK(box.m->waiting_len == 0);
}

/* However often a call is run, the memory of a run goes with its turn. */
TEST(runs_leave_nothing)
{
    struct mcp_message *k;
    size_t len, i;

    toy_wakes = 20;
    rig_agree(V11);
    k = keep_as(NULL, CALL("wait", "{}"));
    if (!CHECK(k != NULL))
        return;
    len = box.m->waiting_len;
    CHECK(len >= arena_size(&k->own) && len >= sizeof(*k));
    for (i = 0; i < 10; i++) {
        CHECK(run_next(k, INT64_MAX - 1) == MCP_WAITS);
        CHECK(mcp_runs_len(box.m) > 0);
        CHECK(mcp_keep(k, &channel, &owner) == 0 && box.m->waiting_len == len);
        mcp_end_turn(box.m);
        CHECK(mcp_runs_len(box.m) <= 65536);
    }
    mcp_release(k);
}

/* However many long reads there are, others wait for one slice only, and each
   read goes on. */
TEST(looks_take_turns)
{
    struct mcp_message *k[2], *m, *wait;
    int64_t begun;

    toy_wakes = 20;
    rig_agree(V11);
    wait = keep_as(NULL, CALL("wait", "{}"));
    toy_looks = true;
    for (size_t i = 0; i < 2; i++) {
        k[i] = accept_as(NULL, quoted(CALL("wait", "{}")));
        CHECK(mcp_run(k[i], &out, &notes) == MCP_WAITS);
        CHECK(mcp_keep(k[i], &channel, &owner) == 0);
        arena_fini(&arena);
    }
    for (size_t i = 0; i < 6; i++) {
        CHECK(mcp_next(box.m, clock_mono_ms(), &m) && m == k[i % 2]);
        CHECK(mcp_next(box.m, clock_mono_ms(), &m) == NULL);
        CHECK(mcp_due_ms(box.m) > clock_mono_ms()); /* it does not spin */
        say(CALL("wait", "{}")); /* a new one takes a step */
        begun = toy_until_ms;
        CHECK(mcp_run(k[i % 2], &out, &notes) == MCP_WAITS);
        CHECK(toy_until_ms >= begun + MCP_SLICE_MS);
        CHECK(mcp_keep(k[i % 2], &channel, &owner) == 0);
    }
    CHECK(mcp_next(box.m, clock_mono_ms(), &m) && m == k[0]);
    mcp_release(k[0]);
    CHECK(mcp_next(box.m, clock_mono_ms(), &m) && m == k[1]);
    mcp_release(k[1]);
    mcp_release(wait);
    toy_looks = false;
    buf_reset(&out, SIZE_MAX);
    buf_reset(&notes, SIZE_MAX);
}

int
main(void)
{
    rig_init(&toy_talker, false);
    rig_agree(NULL);
    store_observe(box.s, hear, NULL);
    test_run();
    rig_fini();
    return test_end("t_mcp_call");
}
