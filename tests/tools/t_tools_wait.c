/* t_tools_wait - wait_for_task and request_input as clients see them: a wait
   ends however its event comes about, and where a call cannot wait, its answer
   says so and is no error. */

#include "tests/lib/tools_turn.h"

/* An agent of another client than ann's answers a question of t. */
static void
other_answers(const char *agent, const char *answer)
{
    char text[6000];

    snprintf(text, sizeof text,
             NEWER_CALL("update_task", "{'task_id':'t','agent':'%s',"
                        "'answer':{%s}}"), agent, answer);
    CHECK(strstr(asks(&neo, text), "isError") == NULL);
}

/* ---- request_input ---- */

static bool
is_receipt(const char *said)
{
    return text_has(said, "'answered':false");
}

/* Fills the queue of ann's deferred calls. */
static void
fill_queue(void)
{
    int i;

    for (i = 0; i < MCP_MAX_WAITING; i++) {
        post(&ann, CALL("wait_for_task", "{'task_id':'t'}"));
        turn();
    }
}

/* Each question is stored once, so no call may end with an error. */
TEST(who_may_not_wait_has_asked)
{
    box.opt.max_own = 1;
    begin();
    CREATE("t", "");
    CREATE("u", "");
    makes(&ann, WAIT("'task_id':'u','until':'terminal'"));
    makes(&ann, TASK("request_input", ASK("one")));
    CHECK(is_receipt(asks(&ann, OLD("tasks/result"))));
    CHECK(is_receipt(asks(&neo, NEWER_CALL("request_input", ASK("two")))));
    ann.s->rev = MCP_2025_03_26;
    CHECK(has(asks(&ann, "[" CALL("request_input", ASK("three")) "]"),
              "\\'answered\\':false"));
    ann.s->rev = MCP_2025_11_25;
    fill_queue();
    CHECK(is_receipt(asks(&ann, CALL("request_input", ASK("four")))));
    CHECK(text_has(DO("get_task", "'task_id':'t'"), "'version':5"));
    end();
    box.opt.max_own = 0;
}

/* Nobody needs the answer any more, and whoever waits for it is told. */
TEST(question_ends_with_its_task)
{
    begin();
    CREATE("t", MINE);
    makes(&ann, TASK("request_input", ASK("?")));
    settle_all();
    CHECK(is_status("input_required"));
    does("update_task", BECOMES("t", "cancelled"));
    settle_all();
    CHECK(is_status("completed"));
    CHECK(is_receipt(asks(&ann, OLD("tasks/result"))));
    end();
}

/* The id of the question that ann was sent last. */
static const char *
last_question(void)
{
    const char *at = NULL;
    size_t i = ann.n;

    while (i > 0 && at == NULL)
        at = strstr(ann.said[--i], "mcptask-c.");
    CHECK(at != NULL);
    return at != NULL ? at : "";
}

/* The id of the question that ann's last call asks her. */
static const char *
question_of_task(void)
{
    who_forget(&ann);
    post(&ann, OLD("tasks/result"));
    turn();
    return last_question();
}

#define ACCEPT(content) "{'action':'accept','content':" content "}"
#define YES_NO ",'options':['yes','no']"

/* None of these is an answer: the question stays open, and the caller is
   told. */
TEST(what_is_no_answer)
{
    static char long_one[5000];
    static const struct {
        const char *said, *why, *options;
    } cases[] = {
        {long_one, "answer.text is longer than 4096 characters", ""},
        {ACCEPT("{}"), "the answer has no text", YES_NO},
        {ACCEPT("{'answer':''}"), "the answer has no text", YES_NO},
        {ACCEPT("{'answer':'maybe'}"), "the answer must be one of ", YES_NO},
        {ACCEPT("{'answer':null}"), "the answer has no text",
         ",'options':[]"},
        {"{}", "answer.action must be one of ", YES_NO},
        {ACCEPT("{'answer':'sure'}"), "must be approve or decline",
         ",'kind':'approval'"},
        {"{'action':'decline'}", "the question stays open", YES_NO},
    };
    char text[5100];
    const char *id;
    size_t i;

    snprintf(long_one, sizeof long_one, ACCEPT("{'answer':'%04097d'}"), 0);
    for (i = 0; i < sizeof cases / sizeof *cases; i++) {
        begin();
        CREATE("t", "");
        snprintf(text, sizeof text, TASK("request_input", "{'task_id':'t',"
                 "'agent':'me','question':'?'%s}"),
                 cases[i].options);
        makes(&ann, text);
        id = question_of_task();
        CHECK(has(id, strstr(cases[i].options, "yes") != NULL
                          ? "'Answer','enum':['yes','no']}"
                          : strstr(cases[i].options, "kind") != NULL
                          ? "'Answer','enum':['approve','decline']}"
                          : "'Answer','maxLength':4096}"));
        snprintf(text, sizeof text, "{'jsonrpc':'2.0','id':'%.*s',"
                 "'result':%s}", (int)strcspn(id, "\""), id, cases[i].said);
        post_as_is(&ann, text);
        settle_all();
        CHECK(is_status("completed"));
        asks(&ann, OLD("tasks/result"));
        CHECK(ann.n > 0 && is_receipt(ann.said[ann.n - 1]) &&
              has(ann.said[ann.n - 1], "how_to_answer") &&
              has(ann.said[ann.n - 1], cases[i].why));
        CHECK(text_has(DO("get_task", "'task_id':'t'"), "'needs_input':true"));
        end();
    }
}

/* ann answers the question with this id. */
static void
accepts(const char *id, const char *answer)
{
    char text[400];

    snprintf(text, sizeof text, "{'jsonrpc':'2.0','id':'%s','result':{"
             "'action':'accept','content':{'answer':'%s'}}}", id, answer);
    post_as_is(&ann, text);
    turn();
    settle_all();
}

/* Makes a plain call that asks ann and waits for 3 s. Returns its question; id
   is that question's. */
static const char *
asks_plainly(char id[100])
{
    const char *at;

    who_forget(&ann);
    post(&ann, CALL("request_input", ASK("?")));
    turn();
    at = ann.n > 0 ? strstr(ann.said[ann.n - 1], "mcptask-c.") : NULL;
    if (!CHECK(at != NULL))
        at = "\"";
    snprintf(id, 100, "%.*s", (int)strcspn(at, "\""), at);
    ann.read = ann.n;
    return id;
}

/* An answer always reaches its question: while the call waits, after its wait,
   when the caller is gone, and when the process is. */
TEST(no_answer_is_lost)
{
    enum { WAITS, WAIT_IS_OVER, CALLER_IS_GONE, CANCELLED, RESTARTED, N };
    char id[100];
    int i;

    for (i = 0; i < N; i++) {
        begin();
        CREATE("t", "");
        asks_plainly(id);
        if (i == WAIT_IS_OVER) {
            ahead_ms += 4000;
            settle_all();
            CHECK(has(next(&ann), "notifications/cancelled"));
            CHECK(is_receipt(next(&ann)) && is_quiet(&ann));
        } else if (i == CALLER_IS_GONE) {
            mcp_release(box.m->messages);
        } else if (i == CANCELLED) {
            post(&ann, "{'jsonrpc':'2.0','method':'notifications/cancelled',"
                 "'params':{'requestId':1}}");
            settle_all();
            CHECK(has(next(&ann), "notifications/cancelled"));
        } else if (i == RESTARTED) {
            stop();
            ahead_ms += 60000;
            start();
        }
        accepts(id, "yes");
        accepts(id, "no"); /* the first one counts */
        if (i == WAITS)
            CHECK(text_has(next(&ann), "'answered':true"));
        CHECK(is_quiet(&ann));
        CHECK(text_has(DO("get_task", "'task_id':'t'"),
                       "'answer':{'text':'yes','action':'accept',"
                       "'by':'user of me'"));
        CHECK(text_has(DO("get_task", "'task_id':'t'"), "'version':3"));
        end();
    }
}

/* Who cancels leaves the question to others: the call waits on, and the user is
   not asked again. */
TEST(a_cancelled_question_is_left_to_others)
{
    char id[100], text[300];

    for (int way = 0; way < 2; way++) {
        const char *at;

        begin();
        CREATE("t", "");
        if (way == 0) {
            asks_plainly(id);
        } else {
            makes(&ann, TASK("request_input", ASK("?")));
            at = question_of_task();
            snprintf(id, sizeof id, "%.*s", (int)strcspn(at, "\""), at);
        }
        snprintf(text, sizeof text, "{'jsonrpc':'2.0','id':'%s','result':{"
                 "'action':'cancel'}}", id);
        who_forget(&ann);
        post_as_is(&ann, text);
        settle_all();
        ahead_ms += 2500;
        settle_all();
        CHECK(is_quiet(&ann) && (way == 0 || is_status("input_required")));
        who_forget(&ann);
        other_answers("you", "'text':'yes'");
        settle_all();
        CHECK(text_has(way == 0 ? next(&ann) : asks(&ann, OLD("tasks/result")),
                       "'answered':true"));
        end();
    }
    /* Until its time is up. */
    begin();
    CREATE("t", "");
    snprintf(text, sizeof text, "{'jsonrpc':'2.0','id':'%s','result':{"
             "'action':'cancel'}}", asks_plainly(id));
    post_as_is(&ann, text);
    settle_all();
    CHECK(is_quiet(&ann));
    ahead_ms += 4000;
    settle_all();
    CHECK(is_receipt(next(&ann)));
    end();
}

/* Who declines learns what is left to do. */
TEST(a_declined_question_stays_open)
{
    char id[100], text[300];

    begin();
    CREATE("t", "");
    snprintf(text, sizeof text, "{'jsonrpc':'2.0','id':'%s','result':{"
             "'action':'decline'}}", asks_plainly(id));
    post_as_is(&ann, text);
    settle_all();
    CHECK(is_receipt(next(&ann)) &&
          text_has(ann.said[ann.n - 1], "'next':'call wait_for_task with until "
                   "answered'"));
    other_answers("you", "'text':'yes'");
    end();
}

/* The client's user is asked what this user may answer: what is for all, and
   what is addressed to the user of this process. */
TEST(whom_the_client_asks)
{
    static const struct {
        const char *more;
        bool asks;
    } rows[] = {
        {"", true}, {",'kind':'approval'", true}, {",'to':'maria'", true},
        {",'kind':'approval','to':'maria'", true}, {",'to':'codex'", false},
        {",'kind':'approval','to':'codex'", false}, {",'to':'me'", false},
    };
    char text[400];

    setenv("LOGNAME", "maria", 1);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        begin();
        CREATE("t", "");
        snprintf(text, sizeof text, TASK("request_input", "{'task_id':'t',"
                 "'agent':'me','question':'?'%s}"), rows[i].more);
        makes(&ann, text);
        if (!CHECK(is_status(rows[i].asks ? "input_required" : "working")))
            fprintf(stderr, "  %s\n", rows[i].more);
        end();
    }
    setenv("LOGNAME", "anna", 1);
}

/* To wait for a task does not make an approval of it one's own. */
TEST(an_approval_is_not_for_who_waits)
{
    begin();
    CREATE("t", MINE);
    makes(&ann, WAIT("'task_id':'t','until':'done'"));
    asks(&neo, NEWER_CALL("request_input", "{'task_id':'t','agent':'me',"
                          "'question':'?','kind':'approval'}"));
    settle_all();
    CHECK(is_status("working"));
    DO("request_input", "'task_id':'t','agent':'you','question':'!',"
       "'kind':'approval'");
    settle_all();
    CHECK(is_status("input_required")); /* it is of ann's session */
    end();
}

/* But what is addressed to who waits is asked of that user. */
TEST(a_question_to_who_waits)
{
    const char *at;
    char id[100];

    begin();
    CREATE("t", MINE);
    makes(&ann, WAIT("'task_id':'t','agent':'codex','until':'done'"));
    asks(&neo, NEWER_CALL("request_input", "{'task_id':'t','agent':'me',"
                          "'question':'?','kind':'approval','to':'codex'}"));
    settle_all();
    CHECK(is_status("input_required"));
    at = question_of_task();
    snprintf(id, sizeof id, "%.*s", (int)strcspn(at, "\""), at);
    accepts(id, "approve");
    CHECK(text_has(DO("get_task", "'task_id':'t'"), "'by':'user of codex'"));
    end();
}

/* A late answer is checked against the options, too. */
TEST(late_answers_are_checked)
{
    char id[100];

    begin();
    CREATE("t", "");
    asks_plainly(id);
    ahead_ms += 4000;
    settle_all();
    who_forget(&ann);
    accepts(id, "");
    CHECK(text_has(DO("get_task", "'task_id':'t'"), "'needs_input':true"));
    accepts(id, "yes");
    CHECK(strstr(DO("get_task", "'task_id':'t'"), "needs_input") == NULL);
    end();
}

/* If the client cannot ask, its call does not wait. */
TEST(refused_questions_end_their_call)
{
    char id[100], text[300];
    const char *at;

    begin();
    CREATE("t", "");
    asks_plainly(id);
    snprintf(text, sizeof text, "{'jsonrpc':'2.0','id':'%s','error':{'code':"
             "-32601,'message':'no'}}", id);
    post_as_is(&ann, text);
    settle_all();
    CHECK(is_receipt(next(&ann)) && has(ann.said[ann.n - 1],
                                        "how_to_answer"));
    makes(&ann, TASK("request_input", ASK("?")));
    at = question_of_task();
    snprintf(text, sizeof text, "{'jsonrpc':'2.0','id':'%.*s','error':{"
             "'code':-32601,'message':'no'}}", (int)strcspn(at, "\""), at);
    post_as_is(&ann, text);
    settle_all();
    CHECK(is_status("completed"));
    CHECK(is_receipt(asks(&ann, OLD("tasks/result"))));
    CHECK(text_has(DO("get_task", "'task_id':'t'"), "'needs_input':true"));
    end();
}

/* A deferred call ends when the time is up that its arguments give, also after
   a restart; without one it goes on. */
TEST(a_deferred_call_says_how_long)
{
    static const struct {
        const char *tool, *args, *said;
    } rows[] = {
        {"wait_for_task", "'task_id':'t','until':'done'", "'met':false"},
        {"wait_for_task", "'agent':'me','until':'done'", "'met':false"},
        {"claim_task", "'agent':'me','tag':'none'", "'claimed':false"},
        {"request_input", "'task_id':'t','agent':'me','question':'?'",
         "'answered':false"},
    };
    char text[600];

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        for (int way = 0; way < 3; way++) {
            begin();
            CREATE("t", "");
            snprintf(text, sizeof text,
                     way == 1 ? NEWER_CALL("%s", "{%s%s}")
                              : TASK("%s", "{%s%s}"), rows[i].tool,
                     rows[i].args, way == 0 ? "" : ",'wait_seconds':20");
            makes(way == 1 ? &neo : &ann, text);
            if (way == 2) {
                stop();
                start();
            }
            ahead_ms += 19000;
            CHECK(!strstr(asks(&ann, OLD("tasks/get")), "completed"));
            ahead_ms += 1000;
            if (!CHECK((strstr(asks(&ann, OLD("tasks/get")), "completed") !=
                        NULL) == (way > 0)) ||
                (way > 0 && !CHECK(text_has(asks(&ann, OLD("tasks/result")),
                                            rows[i].said))))
                fprintf(stderr, "  %s, %d\n", text, way);
            end();
        }
    begin();
    CREATE("t", "");
    makes(&ann, WAIT("'task_id':'t','until':'done','wait_seconds':0"));
    CHECK(is_status("completed"));
    end();
}

/* A question that was sent costs no records besides those of its call. */
TEST(waiting_writes_nothing)
{
    uint64_t n;
    int i;

    begin();
    CREATE("t", "");
    who_forget(&ann);
    CHECK(!mcp_waits(box.m));
    post(&ann, CALL("request_input", "{'task_id':'t','agent':'me',"
                    "'question':'?','wait_seconds':50}"));
    settle_all();
    CHECK(mcp_waits(box.m));
    n = store_next_n(box.s);
    for (i = 0; i < 9; i++) {
        ahead_ms += 5000;
        settle_all();
    }
    CHECK(store_next_n(box.s) == n);
    end();
}

/* The answer to neo, who asks with these members added. */
static const char *
neo_asks(const char *more)
{
    char text[1000];

    snprintf(text, sizeof text, REQ("'x'", "tools/call", "{'name':"
             "'request_input','arguments':" ASK("?") ",%s"
             CAN("{'elicitation':{}}") "}"), more);
    who_forget(&neo);
    post_as_is(&neo, text);
    turn();
    return neo.n > 0 ? neo.said[neo.n - 1] : "";
}

/* Long after the wait is over, a retry gets the answer. */
TEST(retry_after_days)
{
    char again[600];
    const char *at;

    begin();
    CREATE("t", "");
    at = strstr(neo_asks(""), "\"requestState\":\"");
    if (CHECK(at != NULL)) {
        snprintf(again, sizeof again, "'inputResponses':{'answer':{'action':"
                 "'accept','content':{'answer':'yes'}}},'requestState':"
                 "'%.*s',", (int)strcspn(at + 16, "\""), at + 16);
        ahead_ms += (int64_t)3 * 24 * 60 * 60 * 1000;
        CHECK(text_has(neo_asks(again), "'answered':true"));
        CHECK(text_has(neo_asks(again), "'answered':true")); /* asked once */
        CHECK(text_has(DO("get_task", "'task_id':'t'"), "'version':3"));
    }
    ahead_ms = 0;
    end();
}

#define REPLY(id, what) "'inputResponses':{'" id "':{" what "}}," \
    "'requestState':'%.*s',"

/* From 2026-07-28 on, what is no answer is asked for again, under the same key,
   also after days; and a call that was cancelled waits for others. */
TEST(a_reply_that_does_not_fit)
{
    static const char *const wrong[] = {
        REPLY("answer", "'action':'sure'"),
        REPLY("answer", "'action':'accept'"),
        REPLY("answer", "'action':'accept','content':{'answer':''}"),
    };
    char again[600], state[400] = "";
    const char *said;

    begin();
    CREATE("t", "");
    said = neo_asks("");
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        const char *at = strstr(said, "\"requestState\":\"");

        if (!CHECK(at != NULL && has(said, "'inputRequests':{'answer':")))
            break;
        snprintf(state, sizeof state, "%.*s", (int)strcspn(at + 16, "\""),
                 at + 16);
        snprintf(again, sizeof again, wrong[i], (int)strlen(state), state);
        ahead_ms += (int64_t)i * 24 * 60 * 60 * 1000;
        said = neo_asks(again);
    }
    CHECK(has(said, "'inputRequests':{'answer':"));
    snprintf(again, sizeof again, REPLY("answer", "'action':'accept',"
             "'content':{'answer':'yes'}"), (int)strlen(state), state);
    CHECK(text_has(neo_asks(again), "'answered':true"));
    end();

    begin();
    CREATE("t", "");
    said = strstr(neo_asks(""), "\"requestState\":\"");
    if (CHECK(said != NULL)) {
        snprintf(again, sizeof again, REPLY("answer", "'action':'cancel'"),
                 (int)strcspn(said + 16, "\""), said + 16);
        CHECK(neo_asks(again)[0] == '\0');
        does("update_task", "{'task_id':'t','answer':{'text':'yes'}}");
        settle_all();
        CHECK(text_has(next(&neo), "'answered':true"));
    }
    end();
}

/* The same for a deferred call: its question stays open under its key. */
TEST(a_deferred_call_asks_again)
{
    static const char *const replies[] = {
        "'action':'accept'", "'action':'cancel'", "'action':'sure'",
    };
    char text[900];

    begin();
    CREATE("t", "");
    makes(&neo, NEWER_CALL("request_input", "{'task_id':'t','agent':'me',"
                           "'question':'?','wait_seconds':50}"));
    for (size_t i = 0; i < sizeof replies / sizeof *replies; i++) {
        CHECK(has(asks(&neo, NEWER_ID("tasks/get")),
                  "'inputRequests':{'answer':"));
        snprintf(text, sizeof text, NEWER("tasks/update", "'taskId':'ID',"
                 "'inputResponses':{'answer':{%s}},"), replies[i]);
        asks(&neo, text);
        settle_all();
    }
    CHECK(has(asks(&neo, NEWER_ID("tasks/get")), "'status':'input_required'"));
    /* But not after its time. */
    ahead_ms += 51 * 1000;
    asks(&neo, text);
    settle_all();
    CHECK(has(asks(&neo, NEWER_ID("tasks/get")), "'status':'completed'"));
    end();
}

/* Whether an answer of n letters of two bytes each is accepted. */
static bool
takes_answer(size_t n)
{
    static char text[9000];
    const char *at;
    size_t len;

    makes(&ann, TASK("request_input", ASK("?")));
    at = question_of_task();
    if (!CHECK(has(at, "'maxLength':4096")))
        return false;
    len = (size_t)snprintf(text, sizeof text,
                           "{'jsonrpc':'2.0','id':'%.*s','result':{'action':"
                           "'accept','content':{'answer':'",
                           (int)strcspn(at, "\""), at);
    while (n-- > 0)
        len += (size_t)snprintf(text + len, sizeof text - len, "\xc3\xa9");
    snprintf(text + len, sizeof text - len, "'}}}");
    post_as_is(&ann, text);
    settle_all();
    return strstr(asks(&ann, OLD("tasks/result")), "\\\"answered\\\":true");
}

/* The limit in the form counts characters. */
TEST(longest_answer)
{
    begin();
    CREATE("t", "");
    CHECK(takes_answer(4096));
    CHECK(!takes_answer(4097));
    end();
}

/* ---- wait_for_task ---- */

#define READY(who) WAIT(who ",'until':'ready'")
#define FREED "{'task_id':'x','depends_on':[]}"

/* x is blocked by d, which somebody else owns, until a change frees it. */
TEST(ready_by_whatever)
{
    static const struct {
        const char *wait, *change;
    } cases[] = {
        {READY("'task_id':'x'"), FREED},
        {READY("'task_id':'x'"), BECOMES("d", "done")},
        {READY("'agent':'me'"), FREED},
        {READY("'agent':'me'"), BECOMES("d", "done")},
    };
    size_t i;

    for (i = 0; i < sizeof cases / sizeof *cases; i++) {
        begin();
        CREATE("d", ",'status':'in_progress','current_owner':'you'");
        CREATE("x", ",'current_owner':'me','depends_on':['d']");
        makes(&ann, cases[i].wait);
        settle_all();
        CHECK(is_status("working"));
        does("update_task", cases[i].change);
        settle_all();
        if (!CHECK(is_status("completed")))
            fprintf(stderr, "  %s %s\n", cases[i].wait, cases[i].change);
        end();
    }
}

/* A plain call that waits by agent is told of ends, too. */
TEST(plain_by_agent)
{
    begin();
    CREATE("t", MINE);
    asks(&ann, CALL("wait_for_task", "{'agent':'me','until':'done'}"));
    who_forget(&ann);
    post(&neo, NEWER_CALL("update_task", BECOMES("t", "done")));
    settle_all();
    CHECK(text_has(next(&ann), "'met':true"));
    end();
}

/* A wait that began while the clock was ahead ends in time after the clock is
   set back. */
TEST(clock_is_set_back)
{
    begin();
    CREATE("t", "");
    ahead_ms += 3 * 3600 * 1000;
    wall_ms = 600 * 1000;
    post(&ann, CALL("wait_for_task", "{'task_id':'t','timeout_seconds':3}"));
    settle_all();
    wall_ms = 0;
    ahead_ms += 2999;
    settle_all();
    CHECK(next(&ann)[0] == '\0');
    ahead_ms++;
    settle_all();
    CHECK(text_has(next(&ann), "'met':false"));
    ahead_ms = 0;
    end();
}

/* An old event of the agent, behind more changes than a page. */
TEST(behind_many_changes)
{
    char args[100];
    int i;

    begin();
    CREATE("t", MINE);
    does("update_task", BECOMES("t", "done"));
    for (i = 0; i < TASK_LIST_MAX; i++) {
        snprintf(args, sizeof args, "{'task_id':'t%d','title':'t',"
                 "'current_owner':'me'}", i);
        does("create_task", args);
    }
    CHECK(text_has(DO("wait_for_task", "'agent':'me','until':'done',"
                      "'since_seq':0,'timeout_seconds':0"), "'met':true"));
    end();
}

/* The client of a deferred wait sees what the awaited task shows: its last
   note, and the questions that its user may answer. */
TEST(shows_what_the_task_shows)
{
    const char *id;
    char of_it[100];

    begin();
    CREATE("t", MINE);
    makes(&ann, WAIT("'task_id':'t','until':'done'"));
    settle_all();
    CHECK(is_status("working") &&
          strstr(asks(&ann, OLD("tasks/get")), "statusMessage") == NULL);
    does("save_checkpoint", "{'task_id':'t','agent':'me','notes':'half'}");
    settle_all();
    CHECK(is_status("working") &&
          has(asks(&ann, OLD("tasks/get")), "'statusMessage':'half'"));
    DO("request_input", "'task_id':'t','agent':'me','question':'Which?',"
       "'to':'maria'");
    settle_all();
    CHECK(is_status("working")); /* it is not hers to answer */
    other_answers("maria", "'text':'that'");
    DO("request_input", "'task_id':'t','agent':'me','question':'One?'");
    settle_all();
    CHECK(is_status("input_required"));
    id = question_of_task();
    snprintf(of_it, sizeof of_it, "%.*s", (int)strcspn(id, "\""), id);
    CHECK(has(id, "'message':'One?'"));
    accepts(of_it, "yes");
    CHECK(is_status("working"));
    CHECK(text_has(DO("get_task", "'task_id':'t'"), "'text':'yes'"));

    /* One that was answered elsewhere is asked of nobody any more. */
    DO("request_input", "'task_id':'t','agent':'me','question':'Two?'");
    settle_all();
    CHECK(is_status("input_required"));
    id = last_question();
    snprintf(of_it, sizeof of_it, "%.*s", (int)strcspn(id, "\""), id);
    CHECK(has(id, "'message':'Two?'"));
    other_answers("you", "'text':'no'");
    settle_all();
    CHECK(is_status("working"));
    accepts(of_it, "late");
    CHECK(is_status("working"));
    does("update_task", BECOMES("t", "done"));
    settle_all();
    CHECK(is_status("completed") &&
          strstr(asks(&ann, OLD("tasks/get")), "statusMessage") == NULL);
    end();
}

/* Each new note is told: with the status, and as progress that increases. */
TEST(tells_each_note)
{
    static const char *const said[] = {"half", "more", "more", "most"};
    long long last = 0, is = 0;
    char args[600];

    begin();
    CREATE("t", MINE);
    makes(&ann, REQ("1", "tools/call", "{'name':'wait_for_task','arguments':{"
                    "'task_id':'t','until':'done'},'task':{},"
                    "'_meta':{'progressToken':'p'}}"));
    for (size_t i = 0; i < sizeof said / sizeof *said; i++) {
        const char *at = NULL, *status = NULL;

        who_forget(&ann);
        snprintf(args, sizeof args, NEWER_CALL("save_checkpoint", "{'task_id':"
                 "'t','agent':'me','notes':'%s'}"), said[i]);
        post(&neo, args);
        settle_all();
        for (size_t n = 0; n < ann.n; n++) {
            if (strstr(ann.said[n], "notifications/progress") != NULL)
                at = ann.said[n];
            if (strstr(ann.said[n], "notifications/tasks/status") != NULL)
                status = ann.said[n];
        }
        CHECK((at != NULL) == (i != 2) && (status != NULL) == (i != 2));
        if (at == NULL || status == NULL)
            continue;
        snprintf(args, sizeof args, "'message':'%s'", said[i]);
        CHECK(has(at, args) && has(at, "'progressToken':'p'") &&
              strstr(at, "\"total\"") == NULL);
        snprintf(args, sizeof args, "'statusMessage':'%s'", said[i]);
        CHECK(has(status, args) && has(status, "'status':'working'"));
        is = atoll(strstr(at, "\"progress\":") + 11);
        CHECK(is > last);
        last = is;
    }
    end();
}

/* A record may hold anything that is JSON: what is no question, or no note, is
   not shown. */
TEST(shows_no_other_json)
{
    static const char *const members[] = {
        "'questions':[{}]", "'questions':[{'question':'q'}]",
        "'questions':[{'question_id':'q1'}]",
        "'questions':[{'question_id':5,'question':'q'}]",
        "'questions':[{'question_id':'q1','question':['q']}]",
        "'checkpoint':{'notes':5}", "'checkpoint':{'notes':{}}",
    };
    char body[300];

    for (size_t i = 0; i < sizeof members / sizeof *members; i++) {
        begin();
        CREATE("t", "");
        snprintf(body, sizeof body, "'op':'update','by':'x','v':{'task_id':'t',"
                 "'status':'open','version':1,'title':'t',%s}", members[i]);
        CHECK(store_lock_patiently(box.s) == 0 &&
              store_stage(box.s, STR("task/t"), quoted(body)) == 0);
        turn_commit(SIZE_MAX);
        makes(&ann, WAIT("'task_id':'t','until':'done'"));
        settle_all();
        if (!CHECK(is_status("working")))
            fprintf(stderr, "  %s\n", members[i]);
        CHECK(strstr(asks(&ann, OLD("tasks/get")), "statusMessage") == NULL);
        does("update_task", BECOMES("t", "done"));
        settle_all();
        CHECK(is_status("completed"));
        end();
    }
}

/* A task is answered, and handed to somebody else in the same batch. */
TEST(handed_on_at_once)
{
    begin();
    CREATE("t", MINE);
    DO("request_input", "'task_id':'t','agent':'me','question':'?'");
    makes(&ann, WAIT("'agent':'me','until':'answered'"));
    post(&neo, NEWER_CALL("update_task",
                          "{'task_id':'t','answer':{'text':'y'}}"));
    post(&ann, CALL("handoff_task", "{'task_id':'t','from_agent':'me',"
                    "'to_agent':'you'}"));
    settle_all();
    CHECK(is_status("completed"));
    end();
}

#define LOOK ",'since_seq':0,'timeout_seconds':0"
#define NOW ",'timeout_seconds':50"

/* Runs turns until ann is told what came of a wait, in *said. Returns how
   many. */
static int
turns_to_end(const char **said)
{
    int n = 0;

    *said = "";
    for (; strstr(*said, "\\\"met\\\":") == NULL && n < 100; n++) {
        turn();
        CHECK(box.m->waiting_len < 65536);
        do
            *said = next(&ann);
        while (strstr(*said, "\\\"met\\\":") == NULL && **said != '\0');
    }
    return n;
}

static int
turns_of(const char *call, const char **said)
{
    who_forget(&ann);
    post(&ann, call);
    return turns_to_end(said);
}

/* Creates many tasks of this agent: a look at them takes several pages. */
static void
create_pages(const char *agent)
{
    static char args[6000];
    size_t len;
    int i, k;

    for (i = 0; i < 5 * TASK_LIST_MAX / TASK_MAX_NEW; i++) {
        len = (size_t)snprintf(args, sizeof args, "{'agent':'me','tasks':[");
        for (k = 0; k < TASK_MAX_NEW; k++)
            len += (size_t)snprintf(args + len, sizeof args - len,
                                    "%s{'title':'t','current_owner':'%s'}",
                                    k > 0 ? "," : "", agent);
        snprintf(args + len, sizeof args - len, "]}");
        does("create_task", args);
    }
}

static void
end_and_reopen(void)
{
    does("update_task", BECOMES("t", "done"));
    does("update_task", "{'task_id':'t','agent':'me','status':'in_progress',"
         "'reason':'r'}");
}

/* The clock advances with each reading, so no run gets further than a page or
   two: each call goes on where its last run ended. */
TEST(look_that_takes_many_runs)
{
    static const char *const untils[] = {"done", "answered", "change"};
    static const char *const seqs[] = {"'seq':4,", "'seq':3,", "'seq':5,"};
    char call[200];
    const char *said;
    size_t i;
    int n;

    begin();
    CREATE("t", MINE);
    DO("request_input", "'task_id':'t','agent':'me','question':'?'");
    other_answers("you", "'text':'y'");
    end_and_reopen();
    create_pages("me");
    step_ms = 6;
    for (i = 0; i < sizeof untils / sizeof *untils; i++) {
        snprintf(call, sizeof call, CALL("wait_for_task", "{'agent':'me',"
                 "'until':'%s'" LOOK "}"), untils[i]);
        n = turns_of(call, &said);
        CHECK(n > 2 && text_has(said, seqs[i]));
        snprintf(call, sizeof call, CALL("wait_for_task", "{%s}"),
                 "'agent':'me','until':'failed'" LOOK);
        CHECK(turns_of(call, &said) >= n && text_has(said, "'met':false"));
        snprintf(call, sizeof call, TASK("wait_for_task", "{'agent':'me',"
                 "'until':'%s'" LOOK "}"), untils[i]);
        makes(&ann, call);
        CHECK(is_status("working"));
        for (n = 0; n < 100 && calls_any_marked(box.calls); n++)
            turn();
        CHECK(n > 1 && is_status("completed"));
        CHECK(text_has(asks(&ann, OLD("tasks/result")), seqs[i]));
    }
    /* The answered question is behind all pages of those without one. */
    n = turns_of(CALL("wait_for_task", "{'agent':'me','until':'answered'" NOW
                      "}"), &said);
    CHECK(n > 2 && text_has(said, "'text':'y'"));
    step_ms = 0;
    end();
}

/* What comes while a call looks is found, even if no later record runs the
   call. */
TEST(event_while_it_looks)
{
    const char *said;

    begin();
    CREATE("t", MINE);
    create_pages("me");
    step_ms = 6;
    who_forget(&ann);
    post(&ann, CALL("wait_for_task", "{'agent':'me','until':'done',"
                    "'since_seq':0}"));
    turn();
    post(&neo, NEWER_CALL("update_task", BECOMES("t", "done")));
    post(&neo, NEWER_CALL("update_task", "{'task_id':'t','agent':'me',"
                          "'status':'in_progress','reason':'r'}"));
    CHECK(turns_to_end(&said) > 1 && text_has(said, "'met':true,'seq':502"));
    step_ms = 0;
    end();
}

/* ---- wait_for_task: what has happened already ---- */

#define STEPS 4
#define Q_ASKED {"request_input", "'task_id':'t','agent':'me','question':'?'"}
#define Q_SAID {"update_task", "'task_id':'t','answer':{'text':'yes'}"}

static const struct there {
    const char *steps[STEPS][2]; /* t is in progress and me owns it */
    const char *wait, *what;
} there[] = {
    {{Q_ASKED, Q_SAID}, "'task_id':'t','until':'answered'", "'text':'yes'"},
    {{Q_ASKED, Q_SAID}, "'task_id':'t','agent':'me','until':'answered'",
     "'text':'yes'"},
    {{Q_ASKED, Q_SAID}, "'task_id':'t','until':'answered','since_seq':2",
     "'seq':3"},
    {{Q_ASKED, Q_SAID}, "'agent':'me','until':'answered'", "'text':'yes'"},
    {{Q_ASKED, Q_SAID, {"save_checkpoint", "'task_id':'t','agent':'me'"}},
     "'task_id':'t','until':'answered','since_seq':1", "'text':'yes'"},
    {{Q_ASKED, {"request_input", "'task_id':'t','agent':'you','question':'!'"},
      {"update_task", "'task_id':'t','answer':{'question_id':'q2',"
       "'text':'yes'}"}},
     "'task_id':'t','agent':'me','until':'answered'", "'text':'yes'"},
    {{{"update_task", "'task_id':'t','agent':'me','status':'done',"
       "'result':'it works'"}}, "'task_id':'t','until':'done'",
     "'result':'it works'"},
    {{{"update_task", "'task_id':'t','agent':'you','status':'failed',"
       "'reason':'no disk'"}}, "'task_id':'t','until':'terminal'",
     "'by':'you','changed':['status'],'reason':'no disk'"},
    {{{"update_task", "'task_id':'t','agent':'me','status':'failed',"
       "'reason':'no disk'"}}, "'agent':'me','until':'failed'",
     "'reason':'no disk'"},
    {{{"handoff_task", "'task_id':'t','from_agent':'me','to_agent':'you',"
       "'reason':'full'"}}, "'task_id':'t','until':'handoff'",
     "'handoff':{'from_agent':'me','to_agent':'you','reason':'full'"},
    {{{"handoff_task", "'task_id':'t','from_agent':'me','to_agent':'you'"}},
     "'agent':'you','until':'handoff'", "'current_owner':'you'"},
    {{{"handoff_task", "'task_id':'t','from_agent':'me'"}},
     "'task_id':'t','until':'ready'", "'ready':true"},
    {{{"create_task", "'task_id':'x','title':'x','current_owner':'you'"}},
     "'agent':'you','until':'ready'", "'task_id':'x'"},
    {{{"claim_task", "'task_id':'t','agent':'me'"}},
     "'task_id':'t','until':'in_progress'",
     "'current_owner':'me'"},
    {{{"create_task", "'task_id':'x','title':'x'"}},
     "'agent':'you','until':'work'", "'task_id':'x'"},
    {{{"handoff_task", "'task_id':'t','from_agent':'me','to_agent':'you'"}},
     "'agent':'you','until':'work'", "'task_id':'t'"},
    {{{"create_task", "'task_id':'x','title':'x'"},
      {"request_input", "'task_id':'x','agent':'me','question':'why'"}},
     "'agent':'you','until':'question'", "'question':'why'"},
    {{Q_ASKED}, "'agent':'you','until':'question','since_seq':1",
     "'question':'?'"},
};

static void
prepare(const struct there *t)
{
    char args[300], text[900];

    CREATE("t", MINE);
    for (size_t i = 0; i < STEPS && t->steps[i][0] != NULL; i++) {
        snprintf(args, sizeof args, "{%s}", t->steps[i][1]);
        if (strcmp(t->steps[i][0], "request_input") == 0) {
            snprintf(text, sizeof text, NEWER_CALL("request_input", "%s"),
                     args);
            asks(&neo, text); /* not ann, who answers */
        } else {
            does(t->steps[i][0], args);
        }
    }
}

/* As a plain call of an old client and of a new one, and as a task. */
TEST(what_is_there_is_met)
{
    enum { N = sizeof there / sizeof *there };
    char text[900];
    const char *said;
    int i, way, met = 0;

    for (i = 0; i < N; i++)
        for (way = 0; way < 3; way++) {
            begin();
            prepare(&there[i]);
            if (way < 2) {
                snprintf(text, sizeof text, way == 0
                         ? CALL("wait_for_task", "{%s" NOW "}")
                         : NEWER_CALL("wait_for_task", "{%s" NOW "}"),
                         there[i].wait);
                said = asks(way == 0 ? &ann : &neo, text);
            } else {
                snprintf(text, sizeof text, TASK("wait_for_task", "{%s}"),
                         there[i].wait);
                makes(&ann, text);
                said = asks(&ann, OLD("tasks/result"));
            }
            met += text_has(said, "'met':true");
            if (!CHECK(text_has(said, there[i].what)))
                fprintf(stderr, "  %s: %s\n", there[i].wait, said);
            end();
        }
    CHECK(met == 3 * N && N == 18);
}

/* Nothing has happened: each plain call waits for its time. */
TEST(what_is_not_there_is_waited_for)
{
    static const char *const waits[] = {
        "'task_id':'t'", "'task_id':'t','until':'answered'",
        "'agent':'me','until':'answered'", "'task_id':'t','until':'question',"
        "'agent':'me'", "'agent':'me','until':'question'",
        "'agent':'me','until':'work'", "'task_id':'t','until':'handoff'",
        "'agent':'me','until':'done'", "'agent':'me'",
        "'agent':'me','until':'question','since_seq':99",
        "'task_id':'t','agent':'me','until':'answered','since_seq':4",
        "'agent':'me','until':'answered','since_seq':4",
        "'task_id':'x','agent':'me','until':'work'",
    };
    char text[900];
    size_t i;

    begin();
    CREATE("t", MINE);
    CREATE("x", ",'current_owner':'boss','status':'in_progress'");
    does("handoff_task", "{'task_id':'x','from_agent':'boss','to_agent':"
         "'you'}"); /* kept for that agent */
    does("request_input", "{'task_id':'t','agent':'me','question':'?'}");
    does("request_input", "{'task_id':'t','agent':'you','question':'!'}");
    other_answers("boss", "'question_id':'q5','text':'yes'");
    CHECK(text_has(DO("wait_for_task", "'task_id':'t','agent':'you',"
                      "'until':'answered','since_seq':5" NOW), "'seq':6"));
    CHECK(text_has(DO("wait_for_task", "'task_id':'x','agent':'you',"
                      "'until':'work'" NOW), "'met':true"));
    CHECK(text_has(DO("wait_for_task", "'task_id':'x','until':'work'" NOW),
                   "'met':true"));
    for (i = 0; i < sizeof waits / sizeof *waits; i++) {
        snprintf(text, sizeof text, CALL("wait_for_task", "{%s" NOW "}"),
                 waits[i]);
        who_forget(&ann);
        post(&ann, text);
        settle_all();
        if (!CHECK(ann.n == 0))
            fprintf(stderr, "  %s: %s\n", waits[i], ann.said[0]);
        ahead_ms += 50000;
        settle_all();
        CHECK(text_has(next(&ann), "'met':false"));
    }
    end();
}

/* A task that has ended otherwise, or a question that nobody can answer. */
TEST(what_cannot_be_any_more)
{
    static const char *const untils[] = {
        "done", "open", "handoff", "ready", "answered", "work", "question",
    };
    char text[900];
    const char *said;
    size_t i;

    begin();
    CREATE("t", MINE);
    does("request_input", "{'task_id':'t','agent':'me','question':'?'}");
    makes(&ann, WAIT("'task_id':'t','until':'done'"));
    does("update_task", "{'task_id':'t','agent':'me','status':'failed',"
         "'reason':'no disk'}");
    settle_all();
    CHECK(is_status("completed"));
    CHECK(text_has(asks(&ann, OLD("tasks/result")), "'met':false,'seq':"));
    for (i = 0; i < sizeof untils / sizeof *untils; i++) {
        snprintf(text, sizeof text, CALL("wait_for_task",
                 "{'task_id':'t','until':'%s'" NOW "}"), untils[i]);
        said = asks(&ann, text);
        if (!CHECK(text_has(said, "'met':false") &&
                   text_has(said, "'never':true,'message':'the task is "
                            "failed'") && text_has(said, "'no disk'")))
            fprintf(stderr, "  %s: %s\n", untils[i], said);
    }
    end();
}

/* A task that depends on one that has failed is never ready. */
TEST(what_a_failure_blocks)
{
    const char *said;

    begin();
    CREATE("t", MINE);
    CREATE("x", ",'depends_on':['t']");
    makes(&ann, WAIT("'task_id':'x','until':'ready'"));
    CHECK(is_status("working"));
    does("update_task", BECOMES("t", "failed"));
    settle_all();
    CHECK(is_status("completed"));
    said = asks(&ann, OLD("tasks/result"));
    CHECK(text_has(said, "'never':true,'message':"
                   "'a task that it depends on failed or was cancelled'") &&
          strstr(said, "changed") == NULL);
    CHECK(text_has(DO("wait_for_task", "'task_id':'x','until':'work'" NOW),
                   "'deps_failed':['t']"));
    CREATE("u", MINE);
    CREATE("v", MINE);
    CREATE("y", ",'depends_on':['u','v']");
    makes(&ann, WAIT("'task_id':'y','until':'ready'"));
    does("update_task", BECOMES("v", "failed"));
    settle_all();
    CHECK(is_status("completed"));
    CHECK(text_has(asks(&ann, OLD("tasks/result")), "'deps_failed':['v']"));
    end();
}

/* A question for somebody wakes only that agent. */
TEST(questions_for_somebody)
{
    begin();
    CREATE("t", "");
    makes(&ann, WAIT("'agent':'you','until':'question'"));
    asks(&neo, NEWER_CALL("request_input", "{'task_id':'t','agent':'me',"
                          "'question':'?','to':'bob'}"));
    settle_all();
    CHECK(is_status("working"));
    CHECK(text_has(DO("wait_for_task", "'agent':'bob','until':'question'"
                      NOW), "'to':'bob'"));
    asks(&neo, NEWER_CALL("request_input", "{'task_id':'t','agent':'me',"
                          "'question':'!','to':'you'}"));
    settle_all();
    CHECK(is_status("completed"));
    CHECK(text_has(asks(&ann, OLD("tasks/result")),
                   "'questions':[{'question_id':'q4'"));
    end();
}

/* An answer has as many of the questions as fit: those that were asked first
   or, with answers, last. */
TEST(many_long_questions)
{
    char text[6000];
    const char *said;
    int i;

    begin();
    CREATE("t", "");
    for (i = 0; i < TASK_MAX_OPEN; i++) {
        snprintf(text, sizeof text, "{'task_id':'t','agent':'me','question':"
                 "'ask%d %04000d'}", i, 0);
        does("request_input", text);
    }
    said = asks(&neo, NEWER_CALL("wait_for_task", "{'agent':'you','until':"
                                 "'question'" NOW "}"));
    CHECK(text_has(said, "'questions':[{'question_id':'q2','question':'ask0 ")
          && text_has(said, "'truncated':true"));
    CHECK(strlen(said) < 48 * 1024);
    for (i = 0; i < TASK_MAX_OPEN; i++) {
        snprintf(text, sizeof text, "'question_id':'q%d','text':"
                 "'say%d %04000d'", i + 2, i, 0);
        other_answers("you", text);
    }
    said = DO("wait_for_task", "'task_id':'t','until':'answered'" NOW);
    CHECK(text_has(said, "'text':'say7 ") &&
          text_has(said, "'truncated':true"));
    CHECK(strlen(said) < 48 * 1024);
    end();
}

/* An agent's question counts whoever owns its task. */
TEST(answers_where_nobody_owns)
{
    int way;

    for (way = 0; way < 2; way++) {
        begin();
        CREATE("t", "");
        does("request_input", "{'task_id':'t','agent':'me','question':'?'}");
        makes(&ann, WAIT("'agent':'me','until':'answered'"));
        settle_all();
        CHECK(is_status("working"));
        CHECK(text_has(DO("wait_for_task", "'agent':'me','until':'answered',"
                          "'timeout_seconds':0"), "'met':false"));
        CHECK(text_has(DO("wait_for_task", "'agent':'you','until':'answered'"
                          NOW), "'met':true"));
        if (way == 1) {
            does("claim_task", "{'task_id':'t','agent':'you'}");
            settle_all();
            CHECK(is_status("working"));
        }
        other_answers("you", "'text':'yes'");
        settle_all();
        CHECK(is_status("completed"));
        CHECK(text_has(asks(&ann, OLD("tasks/result")), "'text':'yes'"));
        CHECK(text_has(DO("wait_for_task", "'agent':'me','until':'answered',"
                          "'since_seq':2" NOW), "'text':'yes'"));
        end();
    }
}

/* A wait for an agent's tasks does not end by another's. */
TEST(tasks_of_others)
{
    begin();
    CREATE("x", ",'current_owner':'you'");
    makes(&ann, WAIT("'agent':'me'"));
    does("update_task", "{'task_id':'x','agent':'you','goal':'g'}");
    settle_all();
    CHECK(is_status("working"));
    CHECK(text_has(DO("wait_for_task", "'agent':'me','since_seq':1,"
                      "'timeout_seconds':0"), "'met':false"));
    CREATE("t", MINE);
    settle_all();
    CHECK(is_status("completed"));
    CHECK(text_has(asks(&ann, OLD("tasks/result")), "'task_id':'t'"));
    end();
}

/* A message to the owner, or a request to stop, ends its waits; but not those
   of others, nor waits that begin later. */
TEST(messages_end_waits)
{
    static const struct {
        const char *args;
        bool ends;
    } waits[] = {
        {"'task_id':'t','agent':'me','until':'answered'", true},
        {"'task_id':'t','agent':'me','until':'terminal'", true},
        {"'task_id':'t','agent':'me','until':'ready'", true},
        {"'task_id':'t','agent':'me','until':'question'", true},
        {"'agent':'me','until':'answered'", true},
        {"'agent':'me','until':'done'", true},
        {"'task_id':'t','agent':'you','until':'terminal'", false},
        {"'task_id':'t','until':'terminal'", false},
        {"'agent':'you','until':'done'", false},
    };
    static const char *const words[][2] = {
        {"'message':'use utf-8'", "'text':'use utf-8'"},
        {"'cancel_requested':{'reason':'lunch'}", "'reason':'lunch'"},
    };
    char text[900], args[900];
    const char *change = CALL("update_task", "{'task_id':'t','agent':'boss',"
                              "'priority':1}");
    const char *waiting;
    size_t i;
    bool last;

    for (i = 0; i < 4 * sizeof waits / sizeof *waits; i++) {
        last = i / 2 % 2 == 0;
        /* Ann may answer the question of a task that she waits for. */
        waiting = strstr(waits[i / 4].args, "task_id") ? "input_required"
                                                       : "working";
        begin();
        CREATE("t", MINE);
        does("request_input", "{'task_id':'t','agent':'me','question':'?'}");
        snprintf(text, sizeof text, TASK("wait_for_task", "{%s}"),
                 waits[i / 4].args);
        makes(&ann, text);
        does("save_checkpoint", "{'task_id':'t','agent':'me'}");
        settle_all();
        CHECK(is_status(waiting));
        /* Two events in one batch. */
        if (last)
            post(&ann, change);
        snprintf(args, sizeof args, NEWER_CALL("update_task", "{'task_id':'t',"
                 "'agent':'boss',%s}"), words[i % 2][0]);
        post(&neo, args);
        if (!last)
            post(&ann, change);
        settle_all();
        if (!CHECK(is_status(waits[i / 4].ends ? "completed" : waiting)))
            fprintf(stderr, "  %s\n", waits[i / 4].args);
        if (waits[i / 4].ends)
            CHECK(text_has(asks(&ann, OLD("tasks/result")), "'met':false") &&
                  text_has(asks(&ann, OLD("tasks/result")), words[i % 2][1]));
        snprintf(text, sizeof text, TASK("wait_for_task", "{%s,'since_seq':1}"),
                 waits[i / 4].args);
        makes(&ann, text);
        settle_all();
        CHECK(is_status(waiting));
        end();
    }
}

/* What has ended is not answered any more; another question still is. */
TEST(questions_of_ended_tasks)
{
    begin();
    CREATE("t", "");
    CREATE("u", "");
    does("request_input", "{'task_id':'u','agent':'you','question':'?'}");
    does("request_input", "{'task_id':'t','agent':'me','question':'?'}");
    makes(&ann, WAIT("'agent':'me','until':'answered'"));
    does("update_task", "{'task_id':'u','status':'cancelled'}");
    settle_all();
    CHECK(is_status("working"));
    does("update_task", "{'task_id':'t','status':'cancelled'}");
    settle_all();
    CHECK(is_status("completed"));
    CHECK(text_has(asks(&ann, OLD("tasks/result")), "'met':true") &&
          text_has(asks(&ann, OLD("tasks/result")), "'status':'cancelled'"));
    end();
}

/* Where no record can be made, a modern call waits as a plain one. */
TEST(no_room_for_a_record)
{
    begin();
    CREATE("t", "");
    who_forget(&neo);
    disk_full = true;
    post(&neo, NEWER_CALL("wait_for_task", "{'task_id':'t','until':'done',"
                          "'timeout_seconds':50}"));
    settle_all();
    CHECK(neo.n == 0);
    ahead_ms += 20000; /* as long as it waits, it stays one */
    settle_all();
    CHECK(neo.n == 0);
    does("update_task", BECOMES("t", "done"));
    settle_all();
    CHECK(text_has(next(&neo), "'met':true"));
    who_forget(&neo);
    disk_full = true;
    post(&neo, NEWER_CALL("wait_for_task", "{'task_id':'t','until':'change',"
                          "'timeout_seconds':50}"));
    settle_all();
    ahead_ms += 50000;
    settle_all();
    CHECK(text_has(next(&neo), "'met':false"));
    end();
}

/* Changes of a task without an owner end a wait. */
TEST(news_of_what_nobody_owns)
{
    static const struct {
        const char *wait, *tool, *args, *what;
    } cases[] = {
        {"'agent':'you','until':'work'", "create_task",
         "'task_id':'y','title':'y'", "'task_id':'y'"},
        {"'agent':'you','until':'work'", "update_task",
         "'task_id':'t','agent':'me','status':'done'", "'task_id':'x'"},
        {"'agent':'you','until':'question'", "request_input",
         "'task_id':'x','agent':'me','question':'why'", "'question':'why'"},
        {"'agent':'you','until':'question','since_seq':2", "request_input",
         "'task_id':'t','agent':'me','question':'why'", "'question':'why'"},
    };
    char text[900];
    size_t i;
    int way;

    for (i = 0; i < sizeof cases / sizeof *cases; i++)
        for (way = 0; way < 2; way++) {
            begin();
            CREATE("t", MINE);
            CREATE("x", ",'depends_on':['t']");
            snprintf(text, sizeof text, way == 0
                     ? CALL("wait_for_task", "{%s" NOW "}")
                     : TASK("wait_for_task", "{%s}"), cases[i].wait);
            who_forget(&neo);
            if (way == 0)
                post(&ann, text);
            else
                makes(&ann, text);
            settle_all();
            who_forget(&ann);
            snprintf(text, sizeof text, NEWER_CALL("%s", "{%s}"),
                     cases[i].tool, cases[i].args);
            asks(&neo, text);
            settle_all();
            CHECK(way == 0 || is_status("completed"));
            if (!CHECK(text_has(way == 0 ? next(&ann)
                                         : asks(&ann, OLD("tasks/result")),
                                cases[i].what)))
                fprintf(stderr, "  %s\n", cases[i].wait);
            end();
        }
}

/* No record marks the end of a lease. */
TEST(lease_ends_while_waiting)
{
    begin();
    CREATE("t", "");
    does("claim_task", "{'task_id':'t','agent':'you','lease_seconds':30}");
    who_forget(&ann);
    post(&ann, CALL("wait_for_task", "{'task_id':'t','until':'ready'" NOW
                    "}"));
    settle_all();
    ahead_ms += 29998;
    settle_all();
    who_forget(&ann); /* a notice that the list of tasks has changed */
    ahead_ms++;
    settle_all();
    CHECK(ann.n == 0);
    ahead_ms++;
    settle_all();
    CHECK(text_has(next(&ann), "'met':true"));
    end();
}

/* A deferred wait for any task of an agent ends with the first lease. */
TEST(lease_of_an_agent_ends)
{
    begin();
    CREATE("t", "");
    CREATE("u", "");
    does("claim_task", "{'task_id':'u','agent':'me','lease_seconds':30}");
    does("claim_task", "{'task_id':'t','agent':'you','lease_seconds':60}");
    makes(&ann, WAIT("'agent':'you','until':'ready'"));
    ahead_ms += 59999;
    settle_all();
    CHECK(is_status("working"));
    ahead_ms += 1000; /* that often the due ones are looked for */
    settle_all();
    CHECK(is_status("completed"));
    CHECK(text_has(asks(&ann, OLD("tasks/result")), "'task_id':'t'"));
    end();
}

/* It ends while the call looks, at any of its readings of the clock. */
TEST(lease_ends_while_it_looks)
{
    static const char *const calls[] = {
        WAIT("'task_id':'t','until':'ready'"),
        WAIT("'agent':'me','until':'work'"),
        TASK("claim_task", "{'task_id':'t','agent':'me'}"),
        TASK("claim_task", "{'agent':'me'}"),
    };
    int i;

    for (i = 0; i < 160; i++) {
        int ms = i / 4;

        begin();
        CREATE("t", "");
        does("claim_task", "{'task_id':'t','agent':'you',"
             "'lease_seconds':30}");
        ahead_ms += 30000 - ms;
        settle_all();
        who_forget(&ann); /* a notice that the list of tasks has changed */
        wall_step_ms = 1;
        makes(&ann, calls[i % 4]);
        wall_step_ms = 0;
        ahead_ms += 30000;
        settle_all();
        if (!CHECK(is_status("completed")))
            fprintf(stderr, "  %d ms: %s\n", ms, calls[i % 4]);
        end();
        wall_ms = 0;
    }
}

int
main(void)
{
    test_run();
    arena_fini(&arena);
    return test_end("t_tools_wait");
}
