/* What one message leaves for the next, catalogues other than the toys, and
   answers too long for a message. */

#include "tests/lib/mcp_rig.h"

TEST(initialize_makes_a_session)
{
    rig_agree(NULL);
    CHECK(say(INIT("{'protocolVersion':'" V06 "',"
                   "'clientInfo':{'name':'\\u0061nt'}}")) == MCP_OK);
    CHECK(session->initialized && session->rev == MCP_2025_06_18);
    CHECK(session->log_level == 6 && strcmp(session->client, "ant") == 0);
    CHECK(session->caps == 0);
    CHECK(say(REQ("1", "logging/setLevel", "{'level':'error'}")) == MCP_OK);
    CHECK(session->log_level == 3);
    say(REQ("1", "logging/setLevel", "{'level':'x'}"));
    CHECK(session->log_level == 3);
    say(NEW("tools/list", ""));
    say(INIT("{'protocolVersion':7}"));
    CHECK(session->rev == MCP_2025_06_18 && session->log_level == 3);
    say(INIT("{'protocolVersion':'" V24 "','capabilities':{'sampling':{},"
             "'elicitation':{}}}"));
    CHECK(session->rev == MCP_2024_11_05 && session->log_level == 6);
    CHECK(session->client[0] == '\0');
    CHECK(session->caps == (MCP_SAMPLING | MCP_ELICITATION));
    rig_agree(NULL);
    say("{'jsonrpc':'2.0','method':'initialize','params':{}}");
    CHECK(!session->initialized);
}

TEST(client_name_is_cut_on_a_code_point)
{
    rig_agree(NULL);
    say(INIT("{'clientInfo':{'name':'1234567890123456789012345678901234567890"
             "1234567890123456789012\xc3\xa9'}}"));
    CHECK(strlen(session->client) == 62);
    say(INIT("{'clientInfo':{'name':'1234567890123456789012345678901234567890"
             "123456789012345678901\xc3\xa9'}}"));
    CHECK(strlen(session->client) == 63);
}

/* Messages that wait keep the revision that was in force when they came. */
TEST(revision_is_fixed_on_arrival)
{
    static char first[] = INIT("{'protocolVersion':'" V24 "'}"), call[] = ECHO;
    struct mcp_message *m, *n;

    arena_reset(&arena);
    rig_agree(V11);
    m = accept_as(NULL, quoted(call));
    n = accept_as(NULL, quoted(first));
    if (!CHECK(m != NULL && n != NULL))
        return;
    CHECK(session->rev == MCP_2024_11_05);
    buf_reset(&out, SIZE_MAX);
    mcp_run(m, &out, &notes);
    CHECK(is_answer(ECHOED(V11, "cli")));
    mcp_release(m);
    mcp_release(n);
}

TEST(writers_are_known)
{
    static const struct {
        const char *in;
        bool writes;
    } cases[] = {
        {CALL("echo", "{}"), false},
        {CALL("keep", "{}"), true},
        {CALL("nix", "{}"), false},
        {CALL("keep", "7"), false},
        {PING, false},
        {"?", false},
        {REQ("1", "logging/setLevel", "{'level':'info'}"), false},
        {"{'jsonrpc':'2.0','method':'tools/call','params':{'name':'keep'}}",
         false},
        {"[" CALL("echo", "{}") "," CALL("keep", "{}") "]", true},
        {"[" CALL("echo", "{}") "," PING "]", false},
    };
    struct mcp_message *m;
    size_t i;

    rig_agree(V03);
    for (i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        m = accept_as(NULL, quoted(cases[i].in));
        if (!CHECK(m != NULL && mcp_writes(m) == cases[i].writes))
            fprintf(stderr, "  for %s\n", cases[i].in);
        if (m != NULL)
            mcp_release(m);
    }
}

/* Prepared once, run three times after other output: the answer is the same. */
TEST(run_again)
{
    struct mcp_message *m;
    size_t one, i;

    rig_agree(V03);
    m = accept_as(NULL, quoted("[" CALL("keep", "{}") "," CALL("fail", "{}")
                               "," READ("toy://no") "," CALL("echo", "{}")
                               "]"));
    if (!CHECK(m != NULL))
        return;
    toy_prepared = toy_runs = 0;
    mcp_prepare(m);
    buf_reset(&out, SIZE_MAX);
    CHECK(mcp_run(m, &out, &notes) == MCP_OK);
    one = out.len;
    for (i = 1; i < 3; i++) {
        CHECK(mcp_run(m, &out, &notes) == MCP_OK && out.len == one * (i + 1));
        CHECK(memcmp(out.p, out.p + one * i, one) == 0);
    }
    CHECK(toy_prepared == 1 && toy_runs == 3);
    CHECK(memchr(out.p, 'k', one) != NULL);
    mcp_release(m);
}

/* A caller that may only read runs no tool that writes, and needs no lock. */
TEST(readers_do_not_write)
{
    struct mcp_facts f = facts_of(NULL);
    struct mcp_message *m;
    struct str text = quoted(CALL("keep", "{}"));

    rig_agree(V11);
    f.read_only = true;
    toy_prepared = toy_runs = 0;
    if (!CHECK(mcp_accept(box.m, &f, &text, &m) == 0))
        return;
    mcp_prepare(m);
    buf_reset(&out, SIZE_MAX);
    CHECK(!mcp_writes(m) && mcp_run(m, &out, &notes) == MCP_OK);
    CHECK(toy_prepared == 0 && toy_runs == 0);
    CHECK(is_answer(RES("1", "'content':[{'type':'text','text':'{"
                        "\\'code\\':\\'unauthorized\\',\\'message\\':"
                        "\\'this token is read-only\\',"
                        "\\'retryable\\':false}'}],'isError':true")));
    mcp_release(m);
    text = quoted(ECHO);
    CHECK(mcp_accept(box.m, &f, &text, &m) == 0);
    buf_reset(&out, SIZE_MAX);
    CHECK(mcp_run(m, &out, &notes) == MCP_OK);
    mcp_release(m);
    CHECK(is_answer(ECHOED(V11, "cli")));
}

TEST(counts)
{
    struct mcp_counts before, now;

    rig_agree(V11);
    mcp_count(box.m, &before);
    say(PING);
    say("{'jsonrpc':'2.0','method':'notifications/initialized'}");
    say(CALL("fail", "{}"));
    say(CALL("broken", "{}"));
    say("?");
    mcp_count(box.m, &now);
    CHECK(now.requests - before.requests == 4);
    CHECK(now.errors - before.errors == 2);
    CHECK(now.waiting == 0 && now.subscriptions == 0);
}

/* ---- other catalogues ---- */

#define NOT_FOUND(method) \
    ERR("1", "-32601", "Method not found: " method)

TEST(catalogue_without_anything)
{
    static const struct mcp_catalogue bare = {
        .name = "b", .version = "0"};

    rig_serve(&bare);
    rig_agree(NULL);
    CHECK(answers(INIT("{}"),
                  RES("1", "'protocolVersion':'" V11 "','capabilities':{"
                      "'logging':{}},"
                      "'serverInfo':{'name':'b','version':'0'}")));
    CHECK(answers(CALL("x", "{}"), NOT_FOUND("tools/call")));
    CHECK(answers(MESSAGE("1", "tools/list") "}", NOT_FOUND("tools/list")));
    CHECK(answers(READ("a"), NOT_FOUND("resources/read")));
    CHECK(answers(REQ("1", "tasks/get", "{'taskId':'x'}"),
                  NOT_FOUND("tasks/get")));
    CHECK(answers(REQ("1", "logging/setLevel", "{'level':'info'}"), PONG));
    CHECK(answers(MESSAGE("1", "prompts/list") "}",
                  NOT_FOUND("prompts/list")));
    CHECK(answers(MESSAGE("1", "completion/complete") "}",
                  NOT_FOUND("completion/complete")));
    CHECK(answers(NEW("server/discover", ""),
                  RES("'x'", "'supportedVersions':['" V26 "'],"
                      "'capabilities':{'logging':{}}," PUBLIC "'_meta':{"
                      KEY("serverInfo") ":{'name':'b','version':'0'}}")));
    rig_serve(&toy_catalogue);
}

#define SAID(rev, client) \
    "{'args':{'a':[1.0,'\\u00e9']},'client':'" client \
    "','principal':'ann','rev':'" rev "'}"
#define BOTH(rev) \
    "'structuredContent':" SAID(rev, "cli") "," SAID_TEXT(rev, "cli")

/* Results for clients that want an object. An error is only text. */
static const struct kase structured_cases[] = {
    {V24, NULL, ECHO, ECHOED(V24, "cli"), MCP_OK},
    {V03, NULL, ECHO, ECHOED(V03, "cli"), MCP_OK},
    {V06, NULL, ECHO, RES("1", BOTH(V06)), MCP_OK},
    {V11, NULL, ECHO, RES("1", BOTH(V11)), MCP_OK},
    {V11, NULL, CALL("fail", "{}"), RES("1", FAILED("")), MCP_OK},
    {NULL, NULL, CALL_KEEP,
     RES("'x'", "'structuredContent':{'kept':true},"
         TEXT("{\\'kept\\':true}") "," COMPLETE TOY_META), MCP_OK},
};

TEST(structured_results)
{
    struct mcp_catalogue c = toy_catalogue;

    c.structured = true;
    rig_serve(&c);
    CHECK_ALL(structured_cases);
    rig_serve(&toy_catalogue);
}

static bool
answer_has(const char *part)
{
    return str_find(buf_view(&out), quoted(part)) != SIZE_MAX;
}

/* What any cache may give to any client is the same for each: a client that
   shows no Apps, as here, may be the one who asks. */
TEST(apps_are_offered_to_all)
{
    struct mcp_tool tool = toy_catalogue.tools[0];
    struct mcp_catalogue c = toy_catalogue;

    tool.ui = "ui://toy";
    c.tools = &tool;
    c.n_tools = 1;
    rig_serve(&c);
    CHECK(say(NEW("server/discover", "")) == MCP_OK);
    CHECK(answer_has("'extensions':{" KEY("ui") ":{}}"));
    CHECK(say(NEW("tools/list", "")) == MCP_OK);
    CHECK(answer_has("'_meta':{'ui':{'resourceUri':'ui://toy'}}"));
    rig_agree(V11);
    CHECK(say(INIT("{'protocolVersion':'" V11 "'}")) == MCP_OK);
    CHECK(!answer_has("extensions"));
    rig_serve(&toy_catalogue);
}

TEST(catalogue_of_resources_only)
{
    struct mcp_catalogue c = toy_catalogue;

    c.n_tools = c.n_templates = 0;
    rig_serve(&c);
    rig_agree(V11);
    CHECK(answers(READ("toy://1"), RES("1", BEAR)));
    CHECK(answers(MESSAGE("1", "resources/templates/list") "}",
                  RES("1", "'resourceTemplates':[]")));
    CHECK(answers(MESSAGE("1", "tools/list") "}", NOT_FOUND("tools/list")));
    rig_serve(&toy_catalogue);
}

TEST(errors_without_a_parsed_message)
{
    struct mcp_scan scan = {.len = 0};
    struct str text = quoted("{'params':{'id':1},'id':'x7','method':0}");
    struct mcp_message *m;
    size_t i;

    buf_reset(&out, SIZE_MAX);
    mcp_refuse_unread(&out, 4096, &scan, &arena);
    CHECK(is_answer(BARE_ERR("-32600", "Message over 4096 bytes")));
    for (i = 0; i < text.len; i++)
        mcp_scan(&scan, (struct str){text.p + i, 1});
    buf_reset(&out, SIZE_MAX);
    mcp_refuse_unread(&out, 4096, &scan, &arena);
    CHECK(is_answer(ERR("'x7'", "-32600", "Message over 4096 bytes")));
    buf_reset(&out, SIZE_MAX);
    m = accept_as(NULL, quoted(PING));
    mcp_no_memory(m, &out);
    mcp_release(m);
    CHECK(is_answer(ERR("1", "-32603", "Internal error: out of memory")));
    buf_reset(&out, SIZE_MAX);
    mcp_refuse_unread(&out, 0, &scan, &arena);
    CHECK(is_answer(ERR("'x7'", "-32603", "Internal error: out of memory")));
    rig_agree(V03);
    buf_reset(&out, SIZE_MAX);
    m = accept_as(NULL, quoted("[" PING "," MESSAGE("2", "ping") "},"
                               "{'jsonrpc':'2.0','method':"
                               "'notifications/x'}]"));
    mcp_no_memory(m, &out);
    mcp_release(m);
    CHECK(is_answer("[" ERR("1", "-32603", "Internal error: out of memory") ","
                    ERR("2", "-32603", "Internal error: out of memory") "]"));
}

TEST(long_text_is_cut_in_messages_only)
{
    static char in[70000], long_name[60001];
    const struct json_tok *root, *error;

    memset(long_name, 'u', 60000);
    sprintf(in, READ("%s"), long_name);
    rig_agree(V11);
    CHECK(say(in) == MCP_OK);
    if (!CHECK(json_parse(&arena, buf_view(&out), &root, NULL) == 0))
        return;
    error = json_get(root, "error");
    CHECK(json_get(error, "message")->len < 200);
    CHECK(json_get(json_get(error, "data"), "uri")->len == 60000);
}

int
main(void)
{
    rig_init(&toy_catalogue, true);
    test_run();
    rig_fini();
    return test_end("mcp_state");
}
