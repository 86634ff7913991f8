/* t_mcp_questions - the questions of calls that outlive their requests: whom
   each goes to, what answers it, and that a call ends once whatever fails. */

#include "tests/lib/mcp_asked.h"
#include "base/clock.h"

/* ---- questions: who is asked ---- */

TEST(question_on_result)
{
    begin();
    makes(&ann, TASK("task", "{}"));
    CHECK(is_status("input_required"));
    turn();
    CHECK(is_quiet(&ann)); /* nobody has polled it */
    who_forget(&ann);
    post(&ann, OLD("tasks/result"));
    turn();
    CHECK(is_asked(&ann) && is_quiet(&ann));
    says(&ann, OLD("tasks/get")); /* it is not asked twice */
    CHECK(ann.n == 1 && has(ann.said[0], "'status':'input_required'"));
    settle_after(60000);
    CHECK(is_quiet(&ann));
    who_forget(&ann);
    accepts(&ann);
    CHECK(has(next(&ann), "'status':'completed'"));
    CHECK(is_next(&ann, ASKED_RESULT));
    CHECK(is_quiet(&ann));
    end();
}

TEST(question_on_get)
{
    char first[160];

    begin();
    makes(&neo, NEWER_CALL("task", "{}"));
    CHECK(has(polls(&ann), "input_required") && is_asked(&ann));
    memcpy(first, asked_id, sizeof(first));
    /* Answers of others, and to unknown questions, are not taken. */
    gives(&bob, first, ACCEPTS);
    CHECK(is_status("input_required"));
    gives(&ann, "mcptask-c.ID.9.1", ACCEPTS);
    gives(&ann, "mcptask-c.ID.99.1", ACCEPTS);
    gives(&ann, "mcptask-c.ID.x", ACCEPTS);
    gives(&ann, "mcptask-c.ID", ACCEPTS);
    gives(&ann, "mcptask-x.ID.0.1", ACCEPTS);
    gives(&ann, "mcptask-c.abcdefghijklmnopqrstuv.0.1", ACCEPTS);
    CHECK(is_status("input_required"));
    gives(&ann, first, ACCEPTS);
    CHECK(is_status("completed"));
    gives(&ann, first, "'result':{'action':'decline'}"); /* the first answer
                                                            counts */
    CHECK(has(says(&ann, OLD("tasks/result")), "accept"));
    /* A client that cannot answer. */
    makes_and_polls(&ann, TASK("task", "{}"));
    CHECK(is_asked(&ann));
    gives(&ann, asked_id, "'error':{'code':-1,'message':'no'}");
    CHECK(text_has(says(&ann, OLD("tasks/result")), "{'got':null}"));
    end();
}

TEST(one_holder)
{
    struct who x, y;

    begin();
    join(&x, "ann", FORMS);
    join(&y, "ann", FORMS);
    makes(&x, TASK("task", "{}"));
    who_forget(&x);
    post(&x, OLD("tasks/get")); /* there is no stream to ask on */
    turn();
    CHECK(has(next(&x), "input_required") && is_quiet(&x));
    stream(&x, NULL);
    stream(&y, NULL);
    post(&x, OLD("tasks/get"));
    post(&y, OLD("tasks/get"));
    turn();
    next(&x);
    next(&y);
    CHECK(is_asked(&x) && is_quiet(&x) && is_quiet(&y));
    /* On the session's stream it has an event id. */
    CHECK(x.event[x.read - 1][0] != '\0' && !x.posted[x.read - 1]);
    post(&y, OLD("tasks/result"));
    turn();
    CHECK(is_quiet(&y));
    /* x leaves: after a while y may be asked. */
    mcp_stream_close(x.s, &x.pipe);
    settle_after(9000);
    CHECK(is_quiet(&y));
    settle_after(2000);
    settle_after(2000);
    CHECK(is_asked(&y) && y.posted[y.read - 1]);
    accepts(&y);
    CHECK(has(next(&y), "completed"));
    CHECK(is_next(&y, ASKED_RESULT));
    CHECK(is_quiet(&x));
    leave(&y);
    who_forget(&x);
    end();
}

/* A process dies: the question on its pipe is free at once. A client with a
   session there still has its question, and is not asked again. */
TEST(restart)
{
    struct who x;
    char event[MCP_EVENT_MAX];

    begin();
    makes_and_polls(&ann, TASK("task", "{}"));
    CHECK(is_asked(&ann));
    restart();
    who_forget(&ann);
    gives(&neo, asked_id, ACCEPTS); /* by the question's id, in any process */
    CHECK(is_status("completed"));
    who_pipe(&ann, "ann", V11);
    makes(&ann, TASK("task", "{}"));
    says(&ann, OLD("tasks/get"));
    restart();
    who_forget(&ann);
    who_pipe(&ann, "ann", V11);
    post(&ann, OLD("tasks/result"));
    turn();
    CHECK(is_asked(&ann));
    accepts(&ann);
    join(&x, "ann", FORMS);
    stream(&x, NULL);
    makes_and_polls(&x, TASK("task", "{}"));
    CHECK(is_asked(&x));
    memcpy(event, x.event[x.read - 1], sizeof(event));
    restart();
    who_forget(&x);
    says(&x, OLD("tasks/get")); /* before it has its stream again */
    CHECK(x.n == 1);
    stream(&x, event);
    settle_all();
    CHECK(is_quiet(&x));
    restart();
    who_forget(&x);
    post(&x, OLD("tasks/result"));
    turn();
    CHECK(is_quiet(&x));
    /* With the event's id it arrived, without it it did not. */
    stream(&x, event);
    settle_all();
    CHECK(is_quiet(&x));
    accepts(&x);
    CHECK(has(next(&x), "completed"));
    CHECK(is_next(&x, ASKED_RESULT));
    leave(&x);
    end();
}

TEST(replay)
{
    struct who x;
    char before[MCP_EVENT_MAX];
    int i;

    begin();
    join(&x, "ann", FORMS);
    stream(&x, NULL);
    mcp_stream_event(x.s, before);
    makes_and_polls(&x, TASK("task", "{}"));
    CHECK(is_asked(&x));
    for (i = 0; i < 2; i++) { /* in the same process, and in another */
        char id[160], event[MCP_EVENT_MAX];

        memcpy(id, asked_id, sizeof(id));
        memcpy(event, x.event[x.read - 1], sizeof(event));
        if (i == 0)
            mcp_stream_close(x.s, &x.pipe);
        else
            restart();
        who_forget(&x);
        stream(&x, before);
        settle_all();
        CHECK(is_asked(&x) && is_quiet(&x));
        CHECK(strcmp(id, asked_id) == 0);
        CHECK(x.read > 0 && strcmp(event, x.event[x.read - 1]) == 0);
    }
    accepts(&x);
    /* What went out on a request's stream is not repeated on this one. */
    makes(&x, TASK("task", "{}"));
    leave(&x);
    post(&x, OLD("tasks/result"));
    turn();
    CHECK(is_asked(&x) && x.posted[x.read - 1]);
    CHECK(x.event[x.read - 1][0] == '\0');
    stream(&x, before);
    settle_all();
    CHECK(is_quiet(&x));
    leave(&x);
    end();
}

/* Only after the commit, and not at all if that fails. */
TEST(sent_after_the_commit)
{
    int i;

    begin();
    makes(&ann, TASK("task", "{}"));
    disk_full = true;
    CHECK(has(polls(&ann), "input_required") && is_quiet(&ann));
    polls(&ann);
    CHECK(is_asked(&ann));
    /* However many records were lost with the batch. */
    makes(&neo, NEWER_CALL("task", "{}"));
    for (i = 0; i < 5; i++)
        post(&neo, NEWER_CALL("await", "{'key':'go'}"));
    disk_full = true;
    CHECK(has(polls(&ann), "input_required") && is_quiet(&ann));
    polls(&ann);
    CHECK(is_asked(&ann));
    /* Nor is it asked without the lock, or for a caller that may only read. */
    makes(&ann, TASK("task", "{}"));
    box_refuses = true;
    CHECK(has(polls(&ann), "input_required") && is_quiet(&ann));
    ann.read_only = true;
    post(&ann, OLD("tasks/get"));
    post(&neo, NEWER_CALL("await", "{'key':'go'}"));
    turn();
    CHECK(has(next(&ann), "input_required") && is_quiet(&ann));
    ann.read_only = false;
    end();
}

TEST(withdrawn)
{
    begin();
    makes(&ann, TASK("task", "{}"));
    says(&ann, OLD("tasks/get"));
    CHECK(ann.n == 2);
    ann.read = 1;
    CHECK(is_asked(&ann));
    says(&neo, NEWER_ID("tasks/cancel"));
    CHECK(is_withdrawn(&ann, asked_id));
    CHECK(has(next(&ann), "'status':'cancelled'") && is_quiet(&ann));
    /* Ended by another's answer, once. */
    makes_and_polls(&ann, TASK("both", "{}"));
    CHECK(is_asked(&ann) && is_asked(&ann));
    CHECK(strstr(asked_id, "ID.1.") != NULL);
    says(&neo, NEWER("tasks/update", "'taskId':'ID','inputResponses':"
                     "{'a':{}},"));
    asked_id[strcspn(asked_id, "ID") + 3] = '0';
    CHECK(is_withdrawn(&ann, asked_id) && is_quiet(&ann));
    asked_id[strcspn(asked_id, "ID") + 3] = '1';
    gives(&ann, asked_id, ACCEPTS);
    CHECK(has(next(&ann), "completed") && is_quiet(&ann));
    /* Ended by an event. */
    makes_and_polls(&ann, TASK("either", "{}"));
    CHECK(is_asked(&ann));
    toy_comes("go");
    CHECK(is_withdrawn(&ann, asked_id));
    end();
}

/* The client that was asked first answers late: the question to the other is
   withdrawn. */
TEST(withdrawn_from_the_next)
{
    char first[sizeof(asked_id)];
    struct who x, y;

    begin();
    join(&x, "ann", FORMS);
    join(&y, "ann", FORMS);
    stream(&x, NULL);
    stream(&y, NULL);
    makes_and_polls(&x, TASK("task", "{}"));
    CHECK(is_asked(&x));
    memcpy(first, asked_id, sizeof(first));
    leave(&x);
    settle_after(11000);
    polls(&y);
    CHECK(is_asked(&y) && strcmp(first, asked_id) != 0);
    gives(&x, first, ACCEPTS);
    CHECK(is_status("completed"));
    CHECK(is_withdrawn(&y, asked_id));
    leave(&y);
    who_forget(&x);
    end();
}

/* A plain call waits, and its own question is out. */
TEST(plain_question_is_withdrawn)
{
    const char *at;
    int i;

    begin();
    for (i = 0; i < 3; i++) {
        who_forget(&ann);
        post(&ann, CALL("either", "{}"));
        turn();
        at = strstr(next(&ann), "\"id\":\"mcptask-");
        if (!CHECK(at != NULL))
            break;
        take_id(at);
        if (i == 0)
            toy_comes("go");
        else if (i == 1)
            post(&ann, "{'jsonrpc':'2.0','method':'notifications/cancelled',"
                 "'params':{'requestId':1}}");
        else
            gives(&ann, asked_id, ACCEPTS);
        settle_all();
        if (i < 2)
            CHECK(is_withdrawn(&ann, asked_id));
        if (i != 1)
            CHECK(has(next(&ann), "'id':1,'result'"));
        CHECK(is_quiet(&ann));
    }
    end();
}

/* A call that has ended is followed no longer, even if nobody could be told. */
TEST(what_ended_without_a_channel)
{
    const struct mcp_session *s;
    struct who x;
    int i;

    begin();
    join(&x, "ann", "{}");
    for (s = box.m->sessions; s != NULL && !str_is(str_of(x.id), s->id);)
        s = s->next;
    if (!CHECK(s != NULL))
        return;
    for (i = 0; i < 3; i++)
        makes(&x, TASK("await", "{'key':'go'}"));
    settle_all();
    CHECK(s->follows != NULL);
    toy_comes("go");
    settle_all();
    CHECK(s->follows == NULL);
    says(&x, OLD("tasks/get"));
    CHECK(s->follows == NULL);
    who_forget(&x);
    end();
}

/* ---- questions as tasks of the client ---- */

/* From the first poll on, and within bounds. */
TEST(client_tasks_say_how_often)
{
    static const struct {
        const char *says;
        int64_t ms;
    } cases[] = {
        {",'pollInterval':500", 500},   {",'pollInterval':90000", 90000},
        {",'pollInterval':900", 900},   {",'pollInterval':1e12", 3600000},
        {",'pollInterval':null", 1000}, {"", 1000},
    };
    char task[200], result[256];
    struct who x;
    size_t i;

    begin();
    join(&x, "ann", CLIENT_TASKS);
    stream(&x, NULL);
    for (i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        snprintf(task, sizeof(task), "'taskId':'their \\'1\\'','status':"
                 "'working'%s", cases[i].says);
        ask(&x, task);
        settle_after(cases[i].ms / 3); /* the real clock runs as well */
        CHECK(is_quiet(&x));
        settle_after(cases[i].ms - cases[i].ms / 3);
        CHECK(is_polled(&x, "get"));
        snprintf(result, sizeof(result), "'result':{%s}", task);
        gives(&x, asked_id, result);
        settle_after(cases[i].ms / 3); /* the real clock runs as well */
        CHECK(is_quiet(&x));
        settle_after(cases[i].ms - cases[i].ms / 3);
        CHECK(is_polled(&x, "get"));
        gives(&x, asked_id, "'error':{'code':-1,'message':'gone'}");
        CHECK(is_asked(&x)); /* not as a task */
        accepts(&x);
    }
    leave(&x);
    end();
}

TEST(client_tasks)
{
    struct who x;
    char first[160];

    begin();
    join(&x, "ann", CLIENT_TASKS);
    stream(&x, NULL);
    ask_as_task(&x);
    settle_after(1000);
    CHECK(is_polled(&x, "get"));
    memcpy(first, asked_id, sizeof(first));
    gives(&x, asked_id, "'result':{" CLIENT_TASK("working") "}");
    CHECK(is_quiet(&x));
    settle_after(1000);
    CHECK(is_polled(&x, "get") && strcmp(first, asked_id) != 0);
    gives(&x, asked_id, "'result':{" CLIENT_TASK("completed") "}");
    CHECK(is_polled(&x, "result"));
    gives(&x, asked_id, ACCEPTS);
    CHECK(has(next(&x), "'status':'completed'") && is_quiet(&x));
    CHECK(is_text(str_of(says(&x, OLD("tasks/result"))), ASKED_RESULT));
    /* The client reports that its task failed, or has no result, or is gone. */
    ask_as_task(&x);
    settle_after(1000);
    CHECK(is_polled(&x, "get"));
    gives(&x, asked_id, "'result':{" CLIENT_TASK("failed") "}");
    CHECK(is_polled(&x, "result"));
    gives(&x, asked_id, "'error':{'code':-1,'message':'gone'}");
    CHECK(is_status("completed"));
    CHECK(text_has(says(&x, OLD("tasks/result")), "{'got':null}"));
    ask_as_task(&x);
    settle_after(1000);
    CHECK(is_polled(&x, "get"));
    gives(&x, asked_id, "'error':{'code':-1,'message':'gone'}");
    CHECK(is_asked(&x)); /* not as a task */
    accepts(&x);
    /* The client is told to cancel the task of a question that is withdrawn. */
    ask_as_task(&x);
    says(&neo, NEWER_ID("tasks/cancel"));
    CHECK(is_polled(&x, "cancel"));
    gives(&x, asked_id, "'result':{" CLIENT_TASK("cancelled") "}");
    CHECK(is_status("cancelled"));
    /* A process that knows it from the record alone goes on. */
    ask_as_task(&x);
    restart();
    who_forget(&x);
    stream(&x, NULL);
    says(&x, OLD("tasks/get"));
    settle_after(1000);
    CHECK(is_polled(&x, "get"));
    gives(&x, asked_id, "'result':{" CLIENT_TASK("completed") "}");
    CHECK(is_polled(&x, "result"));
    accepts(&x);
    leave(&x);
    end();
}

/* ---- questions of the newer dialect ---- */

#define FORM_OF(key) \
    "'" key "':{'method':'elicitation/create','params':" FORM "}"
#define UPDATE(inputs) \
    NEWER("tasks/update", "'taskId':'ID','inputResponses':" inputs ",")

TEST(updates)
{
    begin();
    CHECK(has(makes(&neo, NEWER_CALL("both", "{}")),
              "'status':'input_required'"));
    CHECK(has(says(&neo, NEWER_ID("tasks/get")),
              "'inputRequests':{" FORM_OF("a") "," FORM_OF("b") "}"));
    CHECK(is_text(str_of(says(&neo, UPDATE("{'x':{},'b':{'n':1},'a':7}"))),
                  NEW_RES("", "complete")));
    CHECK(has(says(&neo, NEWER_ID("tasks/get")),
              "'inputRequests':{" FORM_OF("a") "}"));
    CHECK(has(says(&neo, UPDATE("{'b':{'n':2}}")), "complete"));
    CHECK(has(says(&neo, UPDATE("{'\\u0061':{'n':3},'b':{'n':4}}")),
              "complete"));
    CHECK(has(says(&neo, NEWER_ID("tasks/get")),
              TEXT("{\\'a\\':{\\'n\\':3},\\'b\\':{\\'n\\':1}}")));
    CHECK(has(says(&neo, UPDATE("{'a':{}}")), "complete")); /* an ack */
    /* A call that was made in the other dialect. */
    makes(&ann, TASK("task", "{}"));
    CHECK(has(says(&neo, UPDATE("{'who':" ANSWER "}")), "complete"));
    CHECK(is_text(str_of(says(&ann, OLD("tasks/result"))), ASKED_RESULT));
    end();
}

/* Questions from before it became a task are kept in it. */
TEST(questions_before_the_task)
{
    begin();
    CHECK(has(says(&neo, NEWER_CALL("then", "{}")),
              "'resultType':'input_required'"));
    CHECK(has(makes(&neo, NEWER("tools/call", "'name':'then','arguments':{},"
                                "'inputResponses':{'who':" ANSWER "},")),
              "'status':'working'"));
    restart();
    toy_comes("go");
    CHECK(has(says(&neo, NEWER_ID("tasks/get")), GOT(ANSWER_TEXT)));
    end();
}

/* ---- what fails ---- */

TEST(failed_commits)
{
    bool unknown;

    begin();
    who_forget(&ann);
    post(&ann, TASK("await", "{'key':'go'}"));
    disk_full = true;
    turn();
    CHECK(has(next(&ann), "'error':{'code':-32603,'message':"
              "'Internal error: store_full'}"));
    CHECK(is_text(str_of(says(&ann, REQ("3", "tasks/list", "{}"))),
                  RES("3", "'tasks':[]")));
    makes(&ann, TASK("await", "{'key':'go'}"));
    /* The event is lost with the batch, and so is its effect. */
    lock_and_stage("go", "'v':{}");
    disk_full = true;
    turn_commit(SIZE_MAX);
    CHECK(is_status("working"));
    settle_after(1000);
    CHECK(is_status("working")); /* the mark was in vain */
    /* The event stays, and its effect is tried again, but not at once. */
    lock_and_stage("go", "'v':{}");
    CHECK(store_commit(box.s, &unknown) == 0);
    CHECK(store_lock_patiently(box.s) == 0);
    mcp_run_marked(box.m);
    disk_full = true;
    CHECK(store_commit(box.s, &unknown) == ERR_FULL);
    mcp_undo_marked(box.m, false);
    store_unlock(box.s);
    CHECK(is_status("working"));
    CHECK(mcp_marked_due_ms(box.m) == clock_mono_ms() + 1000);
    who_forget(&ann);
    says(&ann, TASK("await", "{'key':'else'}")); /* this one can be written */
    CHECK(ann.n == 1 && has(ann.said[0], "'status':'working'"));
    CHECK(is_status("working"));
    ahead_ms += 1000;
    turn();
    CHECK(is_status("completed"));
    /* An answer that was not committed does not count. */
    makes(&ann, TASK("task", "{}"));
    who_forget(&neo);
    post(&neo, UPDATE("{'who':" ANSWER "}"));
    disk_full = true;
    turn();
    CHECK(has(next(&neo), "store_full"));
    CHECK(is_status("input_required"));
    settle_after(1000);
    CHECK(is_status("input_required"));
    CHECK(has(says(&neo, UPDATE("{'who':" ANSWER "}")), "complete"));
    CHECK(is_status("completed"));
    end();
}

/* An event has come but no call has been run for it yet; the next turn lacks
   memory, once. What it stages must not remove the mark. */
static bool
is_run_without(long after, bool once)
{
    bool unknown, hit;

    begin();
    makes(&ann, TASK("either", "{'key':'\\u0067o'}"));
    CHECK(is_status("input_required"));
    lock_and_stage("go", "'v':{}");
    CHECK(store_commit(box.s, &unknown) == 0);
    store_unlock(box.s);
    post(&ann, OLD("tasks/get"));
    nomem_start(after, once);
    turn();
    hit = nomem_stop();
    settle_after(1000);
    CHECK(is_status("completed"));
    end();
    return hit;
}

TEST(marks_survive)
{
    fail_memory(is_run_without, true, 5);
}

/* The life of two calls, in which memory fails once. */
static void
live(void)
{
    says(&ann, TASK("both", "{'a':'\\u00e9'}"));
    says(&neo, NEWER_CALL("await", "{'key':'go'}"));
    post(&ann, REQ("3", "tasks/list", "{}"));
    turn();
}

static bool
lives_without(long after, bool once)
{
    char ids[4][CALL_ID_LEN + 1], in[300];
    uint64_t last;
    bool more, hit;
    size_t i, n;

    begin();
    live();
    n = calls_list(box.calls, STR("ann"), 0, ids, 4, &last, &more);
    CHECK(n == 2);
    nomem_start(after, once);
    for (i = 0; i < n; i++) {
        memcpy(task_id, ids[i], sizeof(task_id));
        post(&ann, OLD("tasks/get"));
        post(&ann, OLD("tasks/result"));
        post(&neo, NEWER_ID("tasks/get"));
        turn();
        post(&neo, UPDATE("{'b':{'n':1}}"));
        turn();
        if (store_lock_patiently(box.s) == 0) {
            stage_toy("go", "'v':{}");
            turn_commit(SIZE_MAX);
        }
        gives(&ann, "mcptask-c.ID.0.1", ACCEPTS);
        turn();
        who_forget(&ann);
        who_forget(&neo);
    }
    hit = nomem_stop();
    ahead_ms += 2000;
    /* The client repeats what was lost with a message. */
    for (i = 0; i < n; i++) {
        memcpy(task_id, ids[i], sizeof(task_id));
        says(&neo, UPDATE("{'a':{},'b':{'n':1}}"));
        if (strcmp(status_of(task_id), "completed") != 0)
            toy_comes("go");
        settle_all();
        CHECK(is_status("completed"));
        snprintf(in, sizeof(in), "%s", says(&neo, NEWER_ID("tasks/get")));
        CHECK(has(in, "'status':'completed'"));
        CHECK(has(says(&ann, OLD("tasks/result")), "'content':[{"));
    }
    end();
    return hit;
}

TEST(without_memory)
{
    fail_memory(lives_without, true, 50);
    fail_memory(lives_without, false, 50);
}

/* ---- what has no session ---- */

TEST(without_a_session)
{
    struct who x;

    begin();
    who_init(&x, "ann"); /* a message without a session, of that revision */
    CHECK(has(makes(&x, TASK("await", "{}")), "working"));
    makes(&ann, TASK("task", "{}"));
    who_forget(&x);
    post(&x, OLD("tasks/get"));
    post(&x, OLD("tasks/result"));
    turn();
    CHECK(has(next(&x), "input_required") && is_quiet(&x));
    says(&neo, UPDATE("{'who':" ANSWER "}"));
    settle_all();
    CHECK(is_next(&x, ASKED_RESULT));
    /* A client may give up waiting for tasks/result. */
    makes(&x, TASK("await", "{'key':'go'}"));
    who_forget(&ann);
    post(&ann, OLD("tasks/result"));
    turn();
    says(&ann, "{'jsonrpc':'2.0','method':'notifications/cancelled',"
         "'params':{'requestId':2}}");
    settle_all();
    toy_comes("go");
    settle_all();
    CHECK(has(next(&ann), "notifications/tasks/status") || ann.n == 0);
    CHECK(is_quiet(&ann));
    who_forget(&x);
    end();
}

/* Batches are of a revision that knows no tasks. */
TEST(batches)
{
    begin();
    ann.s->rev = MCP_2025_03_26;
    says(&ann, "[" TASK("await", "{'key':'go'}") "," OLD("tasks/get") "]");
    CHECK(has(ann.said[0], "this call waits, so send it outside a batch"));
    CHECK(has(ann.said[0], "-32601"));
    end();
}

/* ---- answers that come in odd ways ---- */

/* before and after, with n nested arrays between them, or one of n numbers. */
static struct str
with_values(const char *before, size_t n, bool deep, const char *after)
{
    struct buf b = {0};
    struct str s;
    size_t i;

    buf_str(&b, meant(before));
    for (i = 0; i < n; i++)
        buf_z(&b, deep ? "[" : i == 0 ? "[0" : ",0");
    for (i = 0; i < (deep ? n : 1); i++)
        buf_char(&b, ']');
    buf_str(&b, meant(after));
    s = arena_str(&arena, buf_view(&b));
    buf_fini(&b);
    return s;
}

/* The answer to the last question, larger by n values. */
static struct str
large_answer(size_t n, bool deep)
{
    char before[400];

    snprintf(before, sizeof(before), "{'jsonrpc':'2.0','id':'%s','result':"
             "{'action':'accept','content':{'name':'Bo','x':", asked_id);
    return with_values(before, n, deep, "}}}");
}

/* An answer that fits into a message may not fit into a record. Then it counts
   as an answer without content, and the call goes on. */
TEST(answers_at_the_limits)
{
    const struct json_tok *root;
    size_t n, less;
    int deep;

    for (deep = 0; deep < 2; deep++) {
        n = deep ? JSON_MAX_DEPTH : JSON_MAX_TOKENS;
        while (json_parse(&arena, large_answer(n, deep), &root, NULL) ==
               ERR_TOO_LARGE)
            n--;
        for (less = 0; less < 24; less += 4) {
            begin();
            makes_and_polls(&ann, TASK("task", "{}"));
            CHECK(is_asked(&ann));
            post_text(&ann, large_answer(n - less, deep));
            settle_all();
            /* The result may be too large as well. */
            CHECK(less > 0 ? strcmp(status_of(task_id), "input_required") != 0
                           : is_status("completed") &&
                                 text_has(says(&ann, OLD("tasks/result")),
                                          "{'got':null}"));
            end();
        }
    }
}

/* Two together may be too large: the second is refused, and may come again. */
TEST(updates_at_the_limits)
{
    begin();
    makes(&neo, NEWER_CALL("both", "{}"));
    who_forget(&neo);
    post_text(&neo, with_values("{'jsonrpc':'2.0','id':'x','method':"
                                "'tasks/update','params':{'taskId':'ID',"
                                EXTENDS ",'inputResponses':{'a':{'x':",
                                40000, false, "}}}}"));
    turn();
    CHECK(has(next(&neo), "'resultType':'complete'"));
    post_text(&neo, with_values("{'jsonrpc':'2.0','id':'x','method':"
                                "'tasks/update','params':{'taskId':'ID',"
                                EXTENDS ",'inputResponses':{'b':{'x':",
                                40000, false, "}}}}"));
    turn();
    CHECK(has(next(&neo), "'error':{'code':"));
    CHECK(is_status("input_required"));
    CHECK(has(says(&neo, UPDATE("{'b':{}}")), "complete"));
    CHECK(is_status("completed"));
    end();
}

/* A batch is handled as before, except that the answer in it is taken. */
TEST(an_answer_in_a_batch)
{
    static const struct {
        const char *before, *after, *out;
    } cases[] = {
        {"[" PING ",", "]", "[" PONG "]"},
        {"[", "," PING "]", "[" PONG "]"},
        {"[" PING ",", "," PING "]", "[" PONG "," PONG "]"},
    };
    char in[800];
    size_t i;

    begin();
    for (i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        ann.s->rev = MCP_2025_11_25;
        makes_and_polls(&ann, TASK("task", "{}"));
        CHECK(is_asked(&ann));
        ann.s->rev = MCP_2025_03_26;
        snprintf(in, sizeof(in), "%s{'jsonrpc':'2.0','id':'%s'," ACCEPTS "}%s",
                 cases[i].before, asked_id, cases[i].after);
        who_forget(&ann);
        post(&ann, in);
        turn();
        CHECK(is_next(&ann, cases[i].out));
        CHECK(is_status("completed"));
    }
    end();
}

int
main(void)
{
    test_in_memory();
    test_run();
    arena_fini(&arena);
    return test_end("t_mcp_questions");
}
