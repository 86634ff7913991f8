/* t_mcp_plain - the questions of plain calls, which are asked like those of
   calls that outlive their requests: no answer is lost; and what happens to a
   question that a client refuses. */

#include "tests/lib/mcp_asked.h"

/* ---- questions of plain calls ---- */

/* Whether w is asked something next. The call that asks is then ID. */
static bool
takes_call(const struct who *w)
{
    static const char head[] = "\"mcptask-c.";
    const char *at = w->n > w->read ? strstr(w->said[w->read], head) : NULL;

    if (at != NULL)
        memcpy(task_id, at + strlen(head), CALL_ID_LEN);
    return at != NULL;
}

/* Sends a plain call that asks. */
static void
calls(struct who *w, const char *text)
{
    who_forget(w);
    post(w, text);
    turn();
    CHECK(takes_call(w));
}

/* Whether w is told its i-th question next, by this method. */
static bool
is_question(struct who *w, unsigned i, const char *method)
{
    const char *text = next(w), *rest;
    char head[100];
    int n = snprintf(head, sizeof(head), "{\"jsonrpc\":\"2.0\",\"id\":"
                     "\"mcptask-c.ID.%u.", i);

    if (strncmp(text, head, (size_t)n) != 0)
        return CHECK(text == NULL);
    take_id(strstr(text, "\"id\":"));
    rest = strchr(text + n, '"');
    return is_text(str_of(rest), method);
}

#define METHOD(name, params) "','method':'" name "','params':" params "}"
#define WHO_IS(params) METHOD("elicitation/create", params)
#define REFUSES "'error':{'code':-32601,'message':'no'}"

TEST(a_plain_question)
{
    static const struct {
        const char *rev, *question;
    } cases[] = {
        {V06, WHO_IS("{'message':'Who?'}")},
        {V11, WHO_IS(FORM)},
    };
    size_t i;

    for (i = 0; i < 2; i++) {
        begin();
        ann.s->rev = (enum mcp_rev)mcp_rev_of(str_of(cases[i].rev));
        calls(&ann, CALL("ask", "{'k\\u0065y':[1, 2]}"));
        CHECK(is_question(&ann, 0, cases[i].question) && is_quiet(&ann));
        CHECK(is_status("input_required"));
        settle_after(3000); /* it is not asked twice */
        gives(&bob, asked_id, ACCEPTS);
        gives(&ann, "mcptask-1", ACCEPTS);
        gives(&ann, "mcptask-c.ID.1.1", ACCEPTS);
        CHECK(is_status("input_required") && is_quiet(&ann));
        gives(&ann, asked_id, ACCEPTS);
        gives(&ann, asked_id, "'result':{'action':'too late'}");
        settle_all();
        CHECK(is_next(&ann, RES("1", GOT(ANSWER_TEXT))));
        CHECK(is_quiet(&ann));
        end();
    }
}

/* Its client does not know tasks, so there is none. */
TEST(a_plain_call_is_no_task)
{
    begin();
    calls(&ann, CALL("ask", "{}"));
    CHECK(is_text(str_of(says(&ann, REQ("3", "tasks/list", "{}"))),
                  RES("3", "'tasks':[]")));
    CHECK(has(says(&ann, OLD("tasks/get")), "No such task"));
    CHECK(has(says(&ann, OLD("tasks/cancel")), "No such task"));
    CHECK(has(says(&neo, NEWER_ID("tasks/get")), "No such task"));
    CHECK(is_status("input_required"));
    end();
}

/* An error as an answer, or no answer at all, ends the call. */
TEST(a_client_that_cannot_ask)
{
    static const char *const says_no[] = {
        REFUSES, "'result':7", "'result':null",
    };
    size_t i;

    begin();
    for (i = 0; i < sizeof(says_no) / sizeof(*says_no); i++) {
        calls(&ann, CALL("ask", "{}"));
        CHECK(is_question(&ann, 0, WHO_IS(FORM)));
        gives(&ann, asked_id, says_no[i]);
        settle_all();
        CHECK(is_next(&ann, RES("1", GOT("null"))));
        CHECK(is_quiet(&ann));
    }
    end();
}

TEST(rounds_of_a_plain_call)
{
    begin();
    calls(&ann, CALL("rounds", "{}"));
    CHECK(is_question(&ann, 0, WHO_IS(FORM)));
    gives(&ann, asked_id, "'result':{}");
    settle_all();
    CHECK(is_question(&ann, 1, WHO_IS(FORM)) && is_quiet(&ann));
    gives(&ann, asked_id, ACCEPTS);
    settle_all();
    CHECK(is_next(&ann, RES("1", TEXT("{\\'done\\':" ANSWER_TEXT "}"))));
    end();
}

TEST(three_questions_at_once)
{
    char ids[3][sizeof(asked_id)];

    begin();
    ann.s->rev = MCP_2025_06_18;
    ann.s->caps = MCP_ELICITATION | MCP_SAMPLING | MCP_ROOTS;
    calls(&ann, CALL("three", "{}"));
    CHECK(is_question(&ann, 0, METHOD("sampling/createMessage",
                                      "{'maxTokens':9}")));
    memcpy(ids[0], asked_id, sizeof(asked_id));
    CHECK(is_question(&ann, 1, METHOD("roots/list", "{}")));
    memcpy(ids[1], asked_id, sizeof(asked_id));
    CHECK(is_question(&ann, 2, WHO_IS("{'message':'Who?'}")));
    gives(&ann, asked_id, "'result':{}");
    gives(&ann, ids[0], REFUSES);
    settle_all();
    CHECK(is_quiet(&ann));
    gives(&ann, ids[1], "'result':{}");
    settle_all();
    CHECK(is_next(&ann, RES("1", TEXT("{\\'types\\':[0,6,6],"
                                      "\\'state\\':\\'three\\'}"))));
    end();
}

/* Over HTTP the question goes out on the call's stream. The answer is taken
   even if the stream or the asking process is gone. */
TEST(answers_without_a_call)
{
    struct who x;
    int i;

    begin();
    join(&x, "ann", FORMS);
    for (i = 0; i < 3; i++) {
        calls(&x, CALL("ask", "{}"));
        CHECK(is_question(&x, 0, WHO_IS(FORM)) && x.posted[0] &&
              x.event[0][0] == '\0');
        while (i == 1 && box.m->messages != NULL)
            mcp_release(box.m->messages);
        if (i == 2)
            restart();
        accepts(&x);
        if (i == 0)
            CHECK(is_next(&x, RES("1", GOT(ANSWER_TEXT))));
        CHECK(is_quiet(&x));
    }
    who_forget(&x);
    end();
}

TEST(answers_to_nothing_are_refused)
{
    struct who x;

    begin();
    join(&x, "ann", FORMS);
    gives(&x, "mcptask-c.abcdefghijklmnopqrstuv.0.1", ACCEPTS);
    CHECK(has(next(&x), "No such question, or it has expired"));
    calls(&x, CALL("ask", "{}"));
    CHECK(is_question(&x, 0, WHO_IS(FORM)));
    ahead_ms += CALL_TTL_MS;
    gives(&x, asked_id, ACCEPTS);
    CHECK(has(next(&x), "No such question, or it has expired"));
    who_forget(&x);
    end();
}

/* The failure is reported, and the same answer counts once commits work
   again. */
TEST(an_answer_that_fails_to_commit)
{
    struct who x;

    begin();
    join(&x, "ann", FORMS);
    calls(&x, CALL("ask", "{}"));
    CHECK(is_question(&x, 0, WHO_IS(FORM)));
    disk_full = true;
    gives(&x, asked_id, ACCEPTS);
    CHECK(has(next(&x), "Internal error: store_full"));
    gives(&x, asked_id, ACCEPTS);
    settle_after(1000);
    CHECK(is_status("completed"));
    who_forget(&x);
    end();
}

/* Only tools that write can ask, and only if there is room for a record. */
TEST(who_cannot_ask)
{
    begin();
    CHECK(has(says(&ann, CALL("both", "{}")),
              "the client does not support elicitation"));
    end();
    box.opt.max_own = 1;
    begin();
    calls(&ann, CALL("ask", "{}"));
    CHECK(has(says(&ann, CALL("ask", "{}")), "too many live calls"));
    box.opt.max_own = 0;
    end();
}

TEST(a_plain_question_that_fails_to_commit)
{
    begin();
    post(&ann, CALL("ask", "{}"));
    disk_full = true;
    turn();
    CHECK(has(next(&ann), "store_full") && is_quiet(&ann));
    calls(&ann, CALL("ask", "{}"));
    CHECK(is_question(&ann, 0, WHO_IS(FORM)));
    post(&ann, "{'jsonrpc':'2.0','method':'notifications/cancelled',"
         "'params':{'requestId':1}}");
    settle_all();
    CHECK(is_withdrawn(&ann, asked_id) && is_quiet(&ann));
    gives(&ann, asked_id, ACCEPTS); /* ann had answered already */
    CHECK(is_status("completed") && is_quiet(&ann));
    end();
}

/* Whatever fails, a question that was asked gets its answer. */
static bool
asks_without(long after, bool once)
{
    bool hit, waits;

    begin();
    nomem_start(after, once);
    post(&ann, CALL("ask", "{}"));
    turn();
    settle_all();
    hit = nomem_stop();
    settle_after(4000);
    waits = box.m->messages != NULL;
    if (takes_call(&ann)) {
        CHECK(is_question(&ann, 0, WHO_IS(FORM)));
        accepts(&ann);
        if (waits)
            CHECK(is_next(&ann, RES("1", GOT(ANSWER_TEXT))));
    } else {
        CHECK(!waits);
    }
    end();
    return hit;
}

TEST(plain_questions_without_memory)
{
    fail_memory(asks_without, true, 20);
}

/* ---- what a client refuses ---- */

#define AS_TASK "'task':{'ttl':86400000},"
#define WORKS "'result':{'task':{" CLIENT_TASK("working") "}}"

/* Whether w is asked, by a call that it knows, and may make it a task. */
static bool
is_asked_as_task(struct who *w)
{
    const char *text = next(w);

    if (!has(text, RELATED "," AS_TASK "'mode':'form'"))
        return false;
    take_id(strstr(text, "\"id\":"));
    return true;
}

/* A client that takes questions as tasks is first asked so. If it refuses that,
   it is asked once more without; if it refuses both, it cannot be asked. */
TEST(refused_as_a_task)
{
    char first[sizeof(asked_id)];
    struct who x;
    int i;

    begin();
    join(&x, "ann", CLIENT_TASKS);
    stream(&x, NULL);
    for (i = 0; i < 2; i++) {
        makes(&x, TASK("task", "{}"));
        polls(&x);
        CHECK(is_asked_as_task(&x));
        memcpy(first, asked_id, sizeof(first));
        gives(&x, first, REFUSES);
        CHECK(is_asked(&x) && is_quiet(&x));
        CHECK(strcmp(first, asked_id) != 0);
        gives(&x, first, REFUSES); /* it has said so */
        CHECK(is_status("input_required") && is_quiet(&x));
        gives(&x, asked_id, i == 0 ? REFUSES : ACCEPTS);
        CHECK(is_status("completed"));
        CHECK(text_has(says(&x, OLD("tasks/result")),
                       i == 0 ? "{'got':null}" : "{'got':{'action':'accept'"));
        settle_all();
        CHECK(is_quiet(&x));
    }
    /* A plain call does the same. */
    calls(&x, CALL("ask", "{}"));
    CHECK(is_question(&x, 0, WHO_IS("{" AS_TASK "'mode':'form',"
                                    "'message':'Who?'}")));
    gives(&x, asked_id, WORKS);
    settle_after(1000);
    CHECK(is_polled(&x, "get"));
    gives(&x, asked_id, REFUSES);
    CHECK(is_question(&x, 0, WHO_IS(FORM)));
    gives(&x, asked_id, REFUSES);
    settle_all();
    CHECK(is_next(&x, RES("1", GOT("null"))) && is_quiet(&x));
    leave(&x);
    end();
}

/* Also for a process that knows the client from the record alone. */
TEST(refused_after_a_restart)
{
    struct who x;

    begin();
    join(&x, "ann", CLIENT_TASKS);
    stream(&x, NULL);
    makes_and_polls(&x, TASK("task", "{}"));
    CHECK(is_asked_as_task(&x));
    restart();
    who_forget(&x);
    stream(&x, NULL);
    gives(&x, asked_id, REFUSES);
    CHECK(is_asked(&x));
    accepts(&x);
    leave(&x);
    end();
}

/* If one client refuses, another that can be asked is asked at once, and the
   first is not asked again. */
TEST(refused_to_the_next)
{
    struct who x, y;

    begin();
    join(&x, "ann", FORMS);
    join(&y, "ann", FORMS);
    stream(&x, NULL);
    stream(&y, NULL);
    makes_and_polls(&x, TASK("task", "{}"));
    polls(&y);
    CHECK(is_asked(&x) && is_quiet(&y));
    gives(&x, asked_id, REFUSES);
    CHECK(is_asked(&y) && is_status("input_required"));
    polls(&x);
    CHECK(is_quiet(&x));
    gives(&y, asked_id, REFUSES);
    CHECK(is_status("completed"));
    leave(&x);
    leave(&y);
    end();
}

/* Over HTTP. knows: the client says where it was, which not all can. */
static void
client_task_outlives_the_server(bool knows)
{
    char before[MCP_EVENT_MAX];
    struct who x;

    begin();
    join(&x, "ann", CLIENT_TASKS);
    stream(&x, NULL);
    mcp_stream_event(x.s, before);
    leave(&x);
    makes(&x, TASK("task", "{}"));
    post(&x, OLD("tasks/result"));
    turn();
    CHECK(is_asked_as_task(&x) && x.posted[x.read - 1]);
    gives(&x, asked_id, WORKS);
    restart();
    who_forget(&x);
    stream(&x, knows ? before : NULL);
    settle_all();
    settle_after(1000);
    CHECK(is_polled(&x, "get"));
    leave(&x);
    end();
}

/* The task is polled, not asked again, whatever the server forgot; also over
   another pipe, whose client may be the same. */
TEST(tasks_of_clients_outlive_the_server)
{
    int i;

    client_task_outlives_the_server(true);
    client_task_outlives_the_server(false);
    begin();
    for (i = 0; i < 2; i++) {
        who_pipe(&ann, "ann", V11);
        ann.s->caps |= MCP_CLIENT_TASKS;
        if (i == 0) {
            makes_and_polls(&ann, TASK("task", "{}"));
            CHECK(is_asked_as_task(&ann));
            gives(&ann, asked_id, WORKS);
            restart();
            who_forget(&ann);
        }
    }
    CHECK(has(polls(&ann), "input_required"));
    settle_after(1000);
    settle_after(1000);
    CHECK(is_polled(&ann, "get"));
    gives(&ann, asked_id, REFUSES); /* another's, which knows of no question */
    CHECK(is_asked(&ann));
    accepts(&ann);
    end();
}

int
main(void)
{
    test_in_memory();
    test_run();
    arena_fini(&arena);
    return test_end("t_mcp_plain");
}
