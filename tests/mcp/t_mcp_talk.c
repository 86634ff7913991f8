/* t_mcp_talk - what is offered apart from tools and resources, arguments that
   are repeated in headers, and answers to requests with questions. In the
   tables ' stands for a quote. Each case is also run with memory that fails at
   every allocation. */

#include "tests/lib/mcp_nomem.h"

/* ---- what is offered ---- */

TEST(uris_are_bounded)
{
    static char in[2000], uri[MCP_MAX_URI + 2];

    rig_agree(V11);
    memset(uri, 'u', MCP_MAX_URI + 1);
    sprintf(in, REQ("1", "resources/subscribe", "{'uri':'%s'}"), uri);
    say(in);
    buf_char(&out, '\0');
    CHECK(strstr(out.p, "-32602") != NULL);
    uri[MCP_MAX_URI] = '\0';
    sprintf(in, REQ("1", "resources/subscribe", "{'uri':'%s'}"), uri);
    CHECK(answers(in, PONG));
    sprintf(in, REQ("1", "resources/unsubscribe", "{'uri':'%s'}"), uri);
    CHECK(answers(in, PONG));
}

#define NO_REF \
    "ref needs a type and a name or uri, argument a name and a value"

#define GREET "{'name':'greet','title':'Greet','description':'Says hello'," \
    GREET_ARGS "}"
#define GREET_ARGS \
    "'arguments':[{'name':'name','description':'Whom','required':true}," \
    "{'name':'tone','required':false}]"
#define QUIZ "{'name':'quiz','arguments':[]}"
#define HELLO(name) \
    "'messages':[{'role':'user','content':{'type':'text','text':'" name \
    "'}}],'description':'Says hello'"

static const struct kase offer_cases[] = {
    {NULL, NULL, INIT("{'protocolVersion':'" V24 "'}"),
     RES("1", "'protocolVersion':'" V24 "','capabilities':" OFFERS("") ","
         INFO), MCP_OK},
    {NULL, NULL, INIT("{'protocolVersion':'" V03 "'}"),
     RES("1", "'protocolVersion':'" V03 "','capabilities':"
         OFFERS("'completions':{},") "," INFO), MCP_OK},
    {NULL, NULL, NEW("server/discover", ""),
     LISTED("'supportedVersions':['" V26 "'],'capabilities':"
            OFFERS("'completions':{},")), MCP_OK},
    {V24, NULL, MESSAGE("1", "prompts/list") "}",
     RES("1", "'prompts':[{'name':'greet','description':'Says hello',"
         GREET_ARGS "}," QUIZ "]"), MCP_OK},
    {V11, NULL, MESSAGE("1", "prompts/list") "}",
     RES("1", "'prompts':[" GREET "," QUIZ "]"), MCP_OK},
    {V11, NULL, NEW("prompts/list", ""),
     LISTED("'prompts':[" GREET "," QUIZ "]"), MCP_OK},
    {V11, NULL, REQ("1", "prompts/list", "{'cursor':'x'}"),
     BAD("1", "Unknown cursor"), MCP_OK},
    {V11, NULL, GET("{'name':'greet','arguments':{'name':'B\\u006f'}}"),
     RES("1", HELLO("Bo")), MCP_OK},
    {V11, NULL, NEW("prompts/get", "'name':'greet','arguments':{'name':'Bo',"
                    "'tone':'x','more':'y'},"), DONE(HELLO("Bo")), MCP_OK},
    {V11, NULL, GET("{'name':'greet','arguments':{'name':'nobody'}}"),
     BAD("1", "Invalid params: greet"), MCP_OK},
    {V11, NULL, GET("{'name':'greet'}"), BAD("1", "Missing argument: name"),
     MCP_OK},
    {V11, NULL, GET("{'name':'greet','arguments':{'tone':'x'}}"),
     BAD("1", "Missing argument: name"), MCP_OK},
    {V11, NULL, GET("{'name':'greet','arguments':{'name':'Bo','n':7}}"),
     BAD("1", "arguments must be strings"), MCP_OK},
    {V11, NULL, GET("{'name':'greet','arguments':{'name':null}}"),
     BAD("1", "arguments must be strings"), MCP_OK},
    {V11, NULL, GET("{'name':'greet','arguments':['Bo']}"),
     BAD("1", "arguments must be an object"), MCP_OK},
    {V11, NULL, GET("{'name':'nix'}"), BAD("1", "Unknown prompt: nix"),
     MCP_OK},
    {V11, NULL, GET("{}"), BAD("1", "name must be a string"), MCP_OK},
    {NULL, H("prompts/get") "mcp-name: greet\n",
     NEW("prompts/get", "'name':'greet','arguments':{'name':'Bo'},"),
     DONE(HELLO("Bo")), MCP_OK},
    {NULL, H("prompts/get") "mcp-name: quiz\n",
     NEW("prompts/get", "'name':'greet','arguments':{'name':'Bo'},"),
     ERR("'x'", "-32020", "Header mismatch: Mcp-Name differs from the name or "
         "uri"),
     MCP_BAD_REQUEST},
    {V24, NULL, COMPLETE_REQ("{'type':'ref/prompt','name':'greet'}",
                             "{'name':'name','value':'a'}"),
     RES("1", "'completion':{'values':['ann','anna'],'hasMore':false}"),
     MCP_OK},
    {V11, NULL, COMPLETE_REQ("{'type':'ref/prompt','name':'greet'}",
                             "{'name':'name','value':''}"),
     RES("1", "'completion':{'values':[],'total':0,'hasMore':false}"),
     MCP_OK},
    {V11, NULL, NEW("completion/complete",
                    "'ref':{'type':'ref/resource','uri':'toy://{id}'},"
                    "'argument':{'name':'id','value':'1'},'context':7,"),
     DONE("'completion':{'values':['1'],'total':300,'hasMore':true}"),
     MCP_OK},
    {V11, NULL, COMPLETE_REQ("{'type':'ref/prompt','name':'nix'}",
                             "{'name':'name','value':''}"),
     BAD("1", "Unknown prompt, template or argument"), MCP_OK},
    {V11, NULL, COMPLETE_REQ("{'type':'ref/what','name':'greet'}",
                             "{'name':'name','value':''}"),
     BAD("1", NO_REF), MCP_OK},
    {V11, NULL, COMPLETE_REQ("{'type':'ref/prompt','uri':'greet'}",
                             "{'name':'name','value':''}"),
     BAD("1", NO_REF), MCP_OK},
    {V11, NULL, COMPLETE_REQ("{'type':'ref/prompt','name':'greet'}",
                             "{'name':'name','value':7}"),
     BAD("1", NO_REF), MCP_OK},
    {V11, NULL, MESSAGE("1", "completion/complete") "}",
     BAD("1", NO_REF), MCP_OK},
};

/* ---- arguments in headers ---- */

#define ROUTED(text) \
    DONE(TEXT("{\\'args\\':" text ",\\'client\\':\\'m\xc3\xa9\\'," \
              "\\'principal\\':\\'ann\\',\\'rev\\':\\'" V26 "\\'}"))
#define WRONG(arg) \
    ERR("'x'", "-32020", "Header mismatch: Mcp-Param of: " arg)

static const struct kase param_cases[] = {
    {NULL, R(""), ROUTE("{}"), ROUTED("{}"), MCP_OK},
    {NULL, R("mcp-param-region: eu\n"), ROUTE("{'region':'eu'}"),
     ROUTED("{\\'region\\':\\'eu\\'}"), MCP_OK},
    {NULL, R("mcp-param-region: =?base64?w6k=?=\n"),
     ROUTE("{'region':'\\u00e9'}"),
     ROUTED("{\\'region\\':\\'\\\\u00e9\\'}"), MCP_OK},
    {NULL, R("mcp-param-region: =?base64?ZXU\n"),
     ROUTE("{'region':'=?base64?ZXU'}"),
     ROUTED("{\\'region\\':\\'=?base64?ZXU\\'}"), MCP_OK},
    {NULL, R("mcp-param-x-count: 42.0\n"), ROUTE("{'count':42}"),
     ROUTED("{\\'count\\':42}"), MCP_OK},
    {NULL, R("mcp-param-x-count: =?base64?NDI=?=\n"), ROUTE("{'count':42}"),
     ROUTED("{\\'count\\':42}"), MCP_OK},
    {NULL, R("mcp-param-flag: true\n"), ROUTE("{'flag':true}"),
     ROUTED("{\\'flag\\':true}"), MCP_OK},
    {NULL, R(""), ROUTE("{'region':null}"),
     ROUTED("{\\'region\\':null}"), MCP_OK},
    {NULL, R(""), ROUTE("{'region':'eu'}"), WRONG("region"), MCP_BAD_REQUEST},
    {NULL, R("mcp-param-region: Eu\n"), ROUTE("{'region':'eu'}"),
     WRONG("region"), MCP_BAD_REQUEST},
    {NULL, R("mcp-param-region: eu\n"), ROUTE("{}"), WRONG("region"),
     MCP_BAD_REQUEST},
    {NULL, R("mcp-param-region: null\n"), ROUTE("{'region':null}"),
     WRONG("region"), MCP_BAD_REQUEST},
    {NULL, R("mcp-param-region: \xc3\xa9\n"), ROUTE("{'region':'\\u00e9'}"),
     WRONG("region"), MCP_BAD_REQUEST},
    {NULL, R("mcp-param-region: a\x01\n"), ROUTE("{'region':'a\\u0001'}"),
     WRONG("region"), MCP_BAD_REQUEST},
    {NULL, R("mcp-param-region: =?base64?ZXU?=\n"), ROUTE("{'region':'eu'}"),
     WRONG("region"), MCP_BAD_REQUEST},
    {NULL, R("mcp-param-region: =?base64?Z!U=?=\n"),
     ROUTE("{'region':'eu'}"), WRONG("region"), MCP_BAD_REQUEST},
    {NULL, R("mcp-param-x-count: 43\n"), ROUTE("{'count':42}"),
     WRONG("count"), MCP_BAD_REQUEST},
    {NULL, R("mcp-param-x-count: 042\n"), ROUTE("{'count':42}"),
     WRONG("count"), MCP_BAD_REQUEST},
    {NULL, R("mcp-param-flag: True\n"), ROUTE("{'flag':true}"),
     WRONG("flag"), MCP_BAD_REQUEST},
    {NULL, NULL, ROUTE("{'flag':true}"),
     ROUTED("{\\'flag\\':true}"), MCP_OK},
    {NULL, "mcp-protocol-version: " V24 "\n", CALL("route", "{'flag':true}"),
     RES("1", TEXT("{\\'args\\':{\\'flag\\':true},\\'client\\':\\'\\',"
                   "\\'principal\\':\\'ann\\',\\'rev\\':\\'" V24 "\\'}")),
     MCP_OK},
};

/* ---- questions of 2026-07-28 ---- */

#define RETRY(name, inputs) \
    MODERN_CALL(name, ",'inputResponses':" inputs)
#define NO_OBJECT BAD("'x'", "inputResponses must be an object")
#define LACKS(caps) \
    ERR_DATA("'x'", "-32021", "The client lacks a capability: ask", \
             "{'requiredCapabilities':" caps "}")

static const struct kase input_cases[] = {
    {NULL, NULL, MODERN_CALL("ask", ""), ASKED(WHO(FORM)), MCP_OK},
    {V24, NULL, MODERN_CALL("ask", ""), ASKED(WHO(FORM)), MCP_OK},
    {NULL, H("tools/call") "mcp-name: ask\n", MODERN_CALL("ask", ""),
     ASKED(WHO(FORM)), MCP_OK},
    {NULL, NULL, RETRY("ask", "{'who':" ANSWER "}"),
     DONE(GOT(ANSWER_TEXT)), MCP_OK},
    {NULL, NULL, RETRY("ask", "{'more':{},'\\u0077ho':" ANSWER ",'x':7}"),
     DONE(GOT(ANSWER_TEXT)), MCP_OK},
    {NULL, NULL, RETRY("ask", "{'other':" ANSWER "}"), ASKED(WHO(FORM)),
     MCP_OK},
    {NULL, NULL, RETRY("ask", "{'who':12345}"), ASKED(WHO(FORM)), MCP_OK},
    {NULL, NULL, RETRY("ask", "{'who':null}"), ASKED(WHO(FORM)), MCP_OK},
    {NULL, NULL, RETRY("ask", "null"), ASKED(WHO(FORM)), MCP_OK},
    {NULL, NULL, RETRY("ask", "[]"), NO_OBJECT, MCP_OK},
    {NULL, NULL, RETRY("ask", "7"), NO_OBJECT, MCP_OK},
    {NULL, NULL, REQ("'x'", "tools/call", "{'name':'ask'," CAN("{}") "}"),
     LACKS("{'elicitation':{}}"), MCP_BAD_REQUEST},
    {NULL, NULL, REQ("'x'", "tools/call", "{'name':'ask',"
                     CAN("{'elicitation':{'url':{}}}") "}"),
     LACKS("{'elicitation':{}}"), MCP_BAD_REQUEST},
    {NULL, NULL, REQ("'x'", "tools/call", "{'name':'ask',"
                     CAN("{'elicitation':{'form':{},'url':{}}}") "}"),
     ASKED(WHO(FORM)), MCP_OK},
    {NULL, NULL, REQ("'x'", "tools/call", "{'name':'need',"
                     CAN("{'roots':{}}") "}"),
     ERR_DATA("'x'", "-32021", "The client lacks a capability: need",
              "{'requiredCapabilities':{'sampling':{}}}"), MCP_BAD_REQUEST},
    {NULL, NULL, MODERN_CALL("need", ""),
     DONE(TEXT("{}")), MCP_OK},
    {NULL, NULL, MODERN("prompts/get", "'name':'quiz'"), ASKED(WHO(FORM)),
     MCP_OK},
    {NULL, NULL, MODERN("prompts/get", "'name':'quiz','inputResponses':"
                        "{'who':{}}"), DONE("'messages':[]"), MCP_OK},
    {NULL, NULL, MODERN("resources/read", "'uri':'toy://ask'"),
     ASKED(WHO(FORM)), MCP_OK},
    {NULL, NULL, MODERN("resources/read", "'uri':'toy://ask',"
                        "'inputResponses':{'who':{}}"),
     RES("'x'", "'contents':[]," COMPLETE "'ttlMs':0,'cacheScope':'private',"
         META), MCP_OK},
    /* Methods that cannot ask ignore them. */
    {NULL, NULL, MODERN("prompts/list", "'inputResponses':7,"
                        "'requestState':8"),
     LISTED("'prompts':[" GREET "," QUIZ "]"), MCP_OK},
    {NULL, NULL, MODERN_CALL("ask", ",'requestState':7"),
     BAD("'x'", "requestState belongs to another request; call again without "
         "it"), MCP_OK},
    {NULL, NULL, MODERN_CALL("ask", ",'requestState':''"),
     BAD("'x'", "requestState belongs to another request; call again without "
         "it"), MCP_OK},
    {NULL, NULL, MODERN_CALL("lazy", ""),
     ERR("'x'", "-32603", "Internal error: store_error"), MCP_OK},
    /* A handshake client that cannot be asked. */
    {V11, NULL, CALL("ask", "{}"),
     RES("1", TEXT("{\\'code\\':\\'unauthorized\\',\\'message\\':"
                   "\\'the client does not support elicitation\\',"
                   "\\'retryable\\':false}") ",'isError':true"), MCP_OK},
    {V24, NULL, CALL("need", "{}"),
     RES("1", TEXT("{\\'code\\':\\'unauthorized\\',\\'message\\':"
                   "\\'the client does not support sampling roots\\',"
                   "\\'retryable\\':false}") ",'isError':true"), MCP_OK},
    {V11, NULL, GET("{'name':'quiz'}"),
     ERR("1", "-32600", "The client lacks a capability: quiz"), MCP_OK},
    {V11, NULL, CALL("lazy", "{}"),
     ERR("1", "-32603", "Internal error: store_error"), MCP_OK},
    /* Calls without a session, or in a batch. */
    {V03, NULL, "[" CALL("shed", "{}") "]",
     "[" RES("1", TEXT("{\\'code\\':\\'blocked\\',\\'message\\':"
                   "\\'this call waits, so send it outside a batch\\',"
                   "\\'retryable\\':false}") ",'isError':true") "]", MCP_OK},
    {NULL, "mcp-method: x\n", REQ("1", "resources/subscribe",
                                  "{'uri':'toy://1'}"),
     ERR("1", "-32600", "A subscription needs a session"), MCP_OK},
    {NULL, "mcp-method: x\n", REQ("1", "logging/setLevel",
                                  "{'level':'debug'}"), PONG, MCP_OK},
    {V11, NULL, REQ("1", "resources/subscribe", "{}"),
     BAD("1", "uri must be a string"), MCP_OK},
    {V11, NULL, REQ("1", "resources/subscribe", "{'uri':'any:thing'}"), PONG,
     MCP_OK},
    {V11, NULL, REQ("1", "resources/unsubscribe", "{'uri':'any:thing'}"),
     PONG, MCP_OK},
    {NULL, NULL, NEW("resources/subscribe", "'uri':'toy://1',"),
     ERR("'x'", "-32601", "Method not found: resources/subscribe"),
     MCP_NOT_FOUND},
};

int
main(void)
{
    rig_init(&toy_talker, true);
    CHECK_ALL(offer_cases);
    CHECK_ALL(param_cases);
    CHECK_ALL(input_cases);
    test_run();
    CHECK_NOMEM(offer_cases);
    CHECK_NOMEM(param_cases);
    CHECK_NOMEM(input_cases);
    rig_fini();
    return test_end("t_mcp_talk");
}
