/* t_mcp_rounds - calls of the modern era that ask: their client carries the
   state from one round to the next. In texts ' stands for a quote. */

#include "tests/lib/faults.h"
#include "tests/lib/mcp_rig.h"

static char state[512]; /* the requestState of the last answer */

/* Sends it. The answer's state goes to state, the answer without it to out. */
static bool
say_for_state(const char *in)
{
    static const char name[] = "\"requestState\":\"";
    char *at, *end;

    say(in);
    buf_char(&out, '\0');
    if (!CHECK(out.err == 0) || (at = strstr(out.p, name)) == NULL)
        return false;
    at += sizeof(name) - 1;
    end = strchr(at, '"');
    if (!CHECK((size_t)(end - at) < sizeof(state)))
        return false;
    memcpy(state, at, (size_t)(end - at));
    state[end - at] = '\0';
    memmove(at, end, strlen(end));
    out.len -= (size_t)(end - at) + 1;
    return true;
}

static const char *
with_state(const char *format)
{
    static char in[4096];

    if (snprintf(in, sizeof(in), format, state) >= (int)sizeof(in))
        abort();
    return in;
}

#define TURN(tool, more) \
    MODERN_CALL(tool, ",'arguments':{'a':[1,'\\u00e9',null]}" more \
                ",'requestState':'%s'")
#define BAD_STATE BAD("'x'", "requestState belongs to another request; call " \
    "again without it")

TEST(rounds_of_the_modern_era)
{
    char first[sizeof(state)];

    CHECK(say_for_state(MODERN_CALL("rounds", ",'arguments':"
                                    "{'a':[1,'\xc3\xa9',null]}")));
    CHECK(is_answer(ASKED("'inputRequests':{'first':{'method':"
                          "'elicitation/create','params':" FORM "}},"
                          "'requestState':''")));
    memcpy(first, state, sizeof(state));
    CHECK(say_for_state(with_state(
        TURN("rounds", ",'inputResponses':{'first':{}}"))));
    CHECK(is_answer(ASKED("'inputRequests':{'second':{'method':"
                          "'elicitation/create','params':" FORM "}},"
                          "'requestState':''")));
    CHECK(strcmp(first, state) != 0);
    CHECK(answers(with_state(TURN("rounds", ",'inputResponses':{'second':"
                                  ANSWER "}")),
                  DONE(TEXT("{\\'done\\':" ANSWER_TEXT "}"))));
    /* A state is good only for its own request. */
    CHECK(answers(with_state(TURN("shed", "")), BAD_STATE));
    CHECK(answers(with_state(MODERN_CALL("rounds", ",'arguments':{'a':[1,"
                                         "'\xc3\xa9']},'requestState':'%s'")),
                  BAD_STATE));
    CHECK(answers(with_state(MODERN_CALL("rounds", ",'requestState':'%s'")),
                  BAD_STATE));
    CHECK(answers(with_state(MODERN("prompts/get", "'name':'quiz',"
                                    "'requestState':'%s'")), BAD_STATE));
}

TEST(questions_of_all_kinds)
{
    CHECK(say_for_state(MODERN_CALL("three", "")));
    CHECK(is_answer(ASKED(
        "'inputRequests':{'b\\'':{'method':'sampling/createMessage','params':"
        "{'maxTokens':9}},'roots':{'method':'roots/list'},'a':{'method':"
        "'elicitation/create','params':" FORM "}},'requestState':''")));
    CHECK(answers(with_state(MODERN_CALL("three", ",'requestState':'%s',"
                                         "'inputResponses':{'a':{},'b\\'':{},"
                                         "'roots':{}}")),
                  DONE(TEXT("{\\'types\\':[6,6,6],\\'state\\':"
                            "\\'three\\'}"))));
    /* What is still missing is asked for again. */
    say_for_state(with_state(MODERN_CALL("three", ",'requestState':'%s',"
                                         "'inputResponses':{'roots':{},"
                                         "'a':{}}")));
    CHECK(is_answer(ASKED("'inputRequests':{'b\\'':{'method':"
                          "'sampling/createMessage','params':{'maxTokens':9}"
                          "}},'requestState':''")));
}

/* Nothing is asked: the client only has to come back. */
TEST(state_alone)
{
    static const char again[] = MODERN_CALL("shed", ",'requestState':'%s'");

    CHECK(say_for_state(MODERN_CALL("shed", "")));
    CHECK(is_answer(ASKED("'requestState':''")));
    CHECK(say_for_state(with_state(again)));
    CHECK(is_answer(ASKED("'requestState':''")));
    CHECK(answers(with_state(again),
                  DONE(TEXT("{\\'state\\':\\'x\\'}"))));
}

TEST(tampered_states)
{
    static const char again[] = MODERN_CALL("shed", ",'requestState':'%s'");
    size_t i, n;
    char was;

    say_for_state(MODERN_CALL("shed", ""));
    n = strlen(state);
    CHECK(n > 60);
    for (i = 0; i < n; i++) {
        was = state[i];
        state[i] = was == 'A' ? 'B' : 'A';
        CHECK(answers(with_state(again), BAD_STATE));
        state[i] = was;
    }
    strcpy(state + n, "-TAMPERED");
    CHECK(answers(with_state(again), BAD_STATE));
    state[n] = '=';
    state[n + 1] = '\0';
    CHECK(answers(with_state(again), BAD_STATE));
    was = state[n - 1];
    state[n - 1] = '\0';
    CHECK(answers(with_state(again), BAD_STATE));
    state[n - 1] = was;
    state[n] = '\0';
    clock_ahead_s = 100 * 24 * 60 * 60; /* a person may take their time */
    say(with_state(again));
    CHECK(strstr(out.p, "input_required") != NULL);
    clock_ahead_s = 0;
}

TEST(state_of_somebody_else)
{
    struct mcp_facts f = facts_of(NULL);
    struct mcp_message *m;
    struct str text;

    say_for_state(MODERN_CALL("shed", ""));
    f.principal = STR("bob");
    text = quoted(with_state(MODERN_CALL("shed", ",'requestState':'%s'")));
    CHECK(mcp_accept(box.m, &f, &text, &m) == 0);
    buf_reset(&out, SIZE_MAX);
    CHECK(mcp_run(m, &out, &notes) == MCP_OK && is_answer(BAD_STATE));
    mcp_release(m);
    world_expose_key(&box, true);
    rig_serve(&toy_talker);
    CHECK(answers(with_state(MODERN_CALL("shed", ",'requestState':'%s'")),
                  BAD_STATE));
    CHECK(answers(MODERN_CALL("shed", ""),
                  ERR("'x'", "-32603", "Internal error: store_error")));
    world_expose_key(&box, false);
    rig_serve(&toy_talker);
}

int
main(void)
{
    rig_init(&toy_talker, false);
    rig_agree(NULL);
    test_run();
    rig_fini();
    return test_end("t_mcp_rounds");
}
