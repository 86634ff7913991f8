/* JSON-RPC and MCP over a catalogue of toys: what each revision is answered,
   byte for byte. In the tables ' stands for a quote. Each case is also run
   twice, and with memory that fails at every allocation. */

#include "tests/lib/mcp_nomem.h"

/* ---- limits ---- */

static enum mcp_status
ask_batch_of(size_t n)
{
    static char text[65 * 64];
    size_t i, len = 0;

    for (i = 0; i < n; i++)
        len += (size_t)sprintf(text + len, "%c%s", i == 0 ? '[' : ',', PING);
    strcpy(text + len, "]");
    rig_agree(V03);
    return say(text);
}

static void
test_batch_is_bounded(void)
{
    const struct json_tok *root;

    CHECK(ask_batch_of(65) == MCP_BAD_REQUEST);
    CHECK(is_answer(BATCH_SIZE));
    CHECK(ask_batch_of(64) == MCP_OK);
    CHECK(json_parse(&arena, buf_view(&out), &root, NULL) == 0);
    CHECK(root->type == JSON_ARRAY && root->n == 64);
}

static void
test_depth_is_bounded(void)
{
    char text[512];
    struct kase k = {V11, NULL, text,
                     BARE_ERR("-32600",
                              "More than 128 levels or 65536 values"),
                     MCP_BAD_REQUEST};

    memset(text, '[', 200);
    memset(text + 200, ']', 200);
    text[400] = '\0';
    check_case(&k);
}

/* ---- the envelope ---- */

/* Answers and statuses of rows. */
#define NO_JSON BARE_ERR("-32700", "Parse error"), MCP_BAD_REQUEST
#define NO_JSON_BUT(id) ERR(id, "-32700", "Parse error"), MCP_BAD_REQUEST
#define TWICE BARE_ERR("-32600", "Duplicate member"), MCP_BAD_REQUEST
#define TWICE_IN(id) ERR(id, "-32600", "Duplicate member"), MCP_BAD_REQUEST
#define BAD_ID \
    BARE_ERR("-32600", "id must be a valid string or an integer"), \
    MCP_BAD_REQUEST

static const struct kase envelope_cases[] = {
    {V11, NULL, "", NO_JSON},
    {V11, NULL, "{'jsonrpc':'2.0'", NO_JSON},
    {V11, NULL, PING "{", NO_JSON_BUT("1")},
    {V11, NULL, "{'method':'a','params':{'id':2,'x':[\\]},'jsonrpc':'2.0',"
     "'id' : 'b,3' }", NO_JSON_BUT("'b,3'")},
    {V11, NULL, "\xef\xbb\xbf{'id':-7,'a':tru", NO_JSON_BUT("-7")},
    {V11, NULL, "{'a':{'id':1},'ids':2,'b':'\\',\\'id\\':3,','id':4", NO_JSON},
    {V11, NULL, "{'id':{'id':1},", NO_JSON},
    {V11, NULL, "{'id':1.5,", NO_JSON},
    {V11, NULL, "{'id':'a\x01',", NO_JSON},
    {V11, NULL, "[{'id':1},", NO_JSON},
    {V11, NULL, "17", BARE_ERR("-32600", "A message must be an object"),
     MCP_BAD_REQUEST},
    {V11, NULL, "{}", BARE_ERR("-32600", "jsonrpc must be \\'2.0\\'"),
     MCP_BAD_REQUEST},
    {V11, NULL, "{'id':1,'method':'ping'}",
     ERR("1", "-32600", "jsonrpc must be \\'2.0\\'"), MCP_BAD_REQUEST},
    {V11, NULL, "{'jsonrpc':2.0,'id':1,'method':'ping'}",
     ERR("1", "-32600", "jsonrpc must be \\'2.0\\'"), MCP_BAD_REQUEST},
    {V11, NULL, "{'jsonrpc':'2.0','id':1}",
     ERR("1", "-32600", "method must be a string"), MCP_BAD_REQUEST},
    {V11, NULL, "{'jsonrpc':'2.0','id':1,'method':7}",
     ERR("1", "-32600", "method must be a string"), MCP_BAD_REQUEST},
    {V11, NULL, REQ("1", "ping", "[]"),
     ERR("1", "-32600", "params must be an object"), MCP_BAD_REQUEST},
    {V11, NULL, REQ("1", "ping", "'a'"),
     ERR("1", "-32600", "params must be an object"), MCP_BAD_REQUEST},
    {V11, NULL, REQ("1", "ping", "null"), PONG, MCP_OK},
    {V11, NULL, REQ("1", "ping", "{'_meta':7}"), PONG, MCP_OK},
    {V11, NULL, PING, PONG, MCP_OK},
    {V11, NULL, " \r\n{ 'method' : 'p\\u0069ng', 'id' : 1, "
     "'\\u006asonrpc' : '2.0', 'more' : [{}] }\n", PONG, MCP_OK},
    {V11, NULL, MESSAGE("1", "ping") ",'id':1}", TWICE_IN("1")},
    {V11, NULL, MESSAGE("1", "ping") ",'id':2}", TWICE},
    {V11, NULL, MESSAGE("1", "ping") ",'\\u0069d':2}", TWICE},
    {V11, NULL, MESSAGE("1", "ping") ",'a':1,'a':1}", TWICE_IN("1")},
    {V11, NULL, MESSAGE("1", "ping") ",'a':1,'b':1,'c':1,'d':1,'e':1,'f':1,"
     "'g':1,'h':1,'i':1,'j':1,'k':1,'l':1,'m':1}", PONG, MCP_OK},
    {V11, NULL, MESSAGE("1", "ping") ",'a':1,'b':1,'c':1,'d':1,'e':1,'f':1,"
     "'g':1,'h':1,'i':1,'j':1,'k':1,'l':1,'m':1,'n':1}",
     ERR("1", "-32600", "Too many members"), MCP_BAD_REQUEST},
    {V11, NULL, REQ("1", "ping", "{'a':1,'a':1}"), PONG, MCP_OK},
    {V11, NULL, MESSAGE("1", "no\\u0000\\n") "}",
     ERR("1", "-32601", "Method not found: no"), MCP_OK},
    /* Nothing to answer. */
    {V11, NULL, "{'jsonrpc':'2.0','method':'notifications/initialized'}", "",
     MCP_ACCEPTED},
    {V11, NULL, "{'jsonrpc':'2.0','method':'notifications/cancelled',"
     "'params':{'requestId':1}}", "", MCP_ACCEPTED},
    {V11, NULL, "{'jsonrpc':'2.0','method':'tools/call','params':7}", "",
     MCP_ACCEPTED},
    {NULL, NULL, "{'jsonrpc':'2.0','method':'notifications/what'}", "",
     MCP_ACCEPTED},
    {V11, NULL, "{'jsonrpc':'2.0','id':4,'result':{}}", "", MCP_ACCEPTED},
    {V11, NULL, "{'jsonrpc':'2.0','id':null,'error':{'code':1}}", "",
     MCP_ACCEPTED},
    {V11, NULL, "{'jsonrpc':'2.0','error':7}", "", MCP_ACCEPTED},
    {V11, "mcp-protocol-version: 2099-01-01\n",
     "{'jsonrpc':'2.0','method':'notifications/initialized'}",
     UNKNOWN_2099, MCP_BAD_REQUEST},
    {V11, "mcp-protocol-version: 2099-01-01\n",
     "{'jsonrpc':'2.0','id':7,'result':{}}", UNKNOWN_2099, MCP_BAD_REQUEST},
};

static const struct kase id_cases[] = {
    {V11, NULL, MESSAGE("0", "ping") "}", RES("0", ""), MCP_OK},
    {V11, NULL, MESSAGE("-12", "ping") "}", RES("-12", ""), MCP_OK},
    {V11, NULL, MESSAGE("1e2", "ping") "}", RES("1e2", ""), MCP_OK},
    {V11, NULL, MESSAGE("1.0", "ping") "}", RES("1.0", ""), MCP_OK},
    {V11, NULL, MESSAGE("123456789012345678901234567890", "ping") "}",
     RES("123456789012345678901234567890", ""), MCP_OK},
    {V11, NULL, MESSAGE("''", "ping") "}", RES("''", ""), MCP_OK},
    {V11, NULL, MESSAGE("'a\\u0000\\/\\\\\\ud83d\\ude00\xc3\xa9'", "ping") "}",
     RES("'a\\u0000\\/\\\\\\ud83d\\ude00\xc3\xa9'", ""), MCP_OK},
    {V11, NULL, MESSAGE("'a\\u0000\\/'", "nix") "}",
     ERR("'a\\u0000\\/'", "-32601", "Method not found: nix"), MCP_OK},
    {V11, NULL, MESSAGE("1.5", "ping") "}", BAD_ID},
    {V11, NULL, MESSAGE("1e-2", "ping") "}", BAD_ID},
    {V11, NULL, MESSAGE("null", "ping") "}", BAD_ID},
    {V11, NULL, MESSAGE("true", "ping") "}", BAD_ID},
    {V11, NULL, MESSAGE("'a\\ud800'", "ping") "}", BAD_ID},
    {V11, NULL, MESSAGE("'\\udc00'", "ping") ",'a':1,'a':2}",
     BARE_ERR("-32600", "Duplicate member"), MCP_BAD_REQUEST},
    {V11, NULL, MESSAGE("'\\ufffd'", "nope") "}",
     ERR("'\\ufffd'", "-32601", "Method not found: nope"), MCP_OK},
    {V11, NULL, MESSAGE("[1]", "ping") "}", BAD_ID},
    {V11, NULL, MESSAGE("{}", "ping") "}", BAD_ID},
};

static const struct kase batch_cases[] = {
    {V03, NULL, "[" PING "]", "[" PONG "]", MCP_OK},
    {V03, NULL, "[" PING ",{'jsonrpc':'2.0','method':'notifications/x'},"
     "7," MESSAGE("'b'", "nix") "},{'jsonrpc':'2.0','id':1,'result':{}}]",
     "[" PONG "," NULL_ERR("A message must be an object") ","
     ERR("'b'", "-32601", "Method not found: nix") "]", MCP_OK},
    {V03, NULL, "[{'jsonrpc':'2.0','method':'notifications/x'}]", "",
     MCP_ACCEPTED},
    {V03, NULL, "[{'jsonrpc':'2.0','id':1,'result':{}}]", "", MCP_ACCEPTED},
    {V03, NULL, "[[" PING "]]",
     "[" NULL_ERR("A message must be an object") "]", MCP_OK},
    {V03, NULL, "[]", BATCH_SIZE, MCP_BAD_REQUEST},
    {V03, NULL, "[" INIT("{'protocolVersion':'" V24 "'}") "]",
     "[" ERR("1", "-32600", "This method cannot be in a batch") "]", MCP_OK},
    {V03, NULL, "[" NEW("tools/list", "") "]",
     "[" ERR("'x'", "-32600", "This method cannot be in a batch") "]", MCP_OK},
    {V03, "mcp-protocol-version: " V03 "\n", "[" PING "]", "[" PONG "]",
     MCP_OK},
    {V24, NULL, "[" PING "]", NO_BATCH, MCP_BAD_REQUEST},
    {V06, NULL, "[" PING "]", NO_BATCH, MCP_BAD_REQUEST},
    {V11, NULL, "[" PING "]", NO_BATCH_BARE, MCP_BAD_REQUEST},
    {NULL, NULL, "[" PING "]", NO_BATCH_BARE, MCP_BAD_REQUEST},
    {NULL, "mcp-method: ping\n", "[" PING "]", NO_BATCH_BARE, MCP_BAD_REQUEST},
    {NULL, "mcp-protocol-version: " V26 "\n", "[" PING "]", NO_BATCH_BARE,
     MCP_BAD_REQUEST},
    {NULL, "mcp-protocol-version: " V06 "\n", "[", NULL_PARSE,
     MCP_BAD_REQUEST},
    {V24, NULL, "[", NULL_PARSE, MCP_BAD_REQUEST},
    /* Without a session the header says so. */
    {NULL, "mcp-protocol-version: " V03 "\n", "[" PING "]",
     "[{'jsonrpc':'2.0','id':1,'result':{}}]", MCP_OK},
};

/* ---- the handshake era ---- */

static const struct kase handshake_cases[] = {
    {NULL, NULL, INIT("{'protocolVersion':'" V24 "','capabilities':{}}"),
     HANDSHAKE(V24, "{'name':'toybox','version':'7'}"), MCP_OK},
    {NULL, NULL, INIT("{'protocolVersion':'" V03 "'}"),
     HANDSHAKE(V03, "{'name':'toybox','version':'7'}"), MCP_OK},
    {NULL, NULL, INIT("{'protocolVersion':'" V06 "'}"),
     HANDSHAKE(V06, SERVER), MCP_OK},
    {NULL, NULL, INIT("{'protocolVersion':'" V11 "'}"),
     HANDSHAKE(V11, SERVER), MCP_OK},
    {NULL, NULL, INIT("{'protocolVersion':'2024-10-07'}"),
     HANDSHAKE(V11, SERVER), MCP_OK},
    {NULL, NULL, INIT("{'protocolVersion':'" V26 "'}"),
     HANDSHAKE(V11, SERVER), MCP_OK},
    {NULL, NULL, INIT("{'protocolVersion':''}"),
     HANDSHAKE(V11, SERVER), MCP_OK},
    {NULL, NULL, INIT("{}"), HANDSHAKE(V11, SERVER), MCP_OK},
    {NULL, NULL, MESSAGE("1", "initialize") "}",
     HANDSHAKE(V11, SERVER), MCP_OK},
    {NULL, NULL, INIT("{'protocolVersion':20251125}"),
     BAD("1", "protocolVersion must be a string"), MCP_OK},
    {NULL, NULL, INIT("{'protocolVersion':null}"),
     BAD("1", "protocolVersion must be a string"), MCP_OK},
    {V11, NULL, INIT("{'protocolVersion':'" V06 "'}"),
     HANDSHAKE(V06, SERVER), MCP_OK},
    /* Without _meta it is the handshake, whatever its header says. */
    {NULL, H("initialize"), INIT("{'protocolVersion':'" V06 "'}"),
     HANDSHAKE(V06, SERVER), MCP_OK},
    {NULL, "mcp-protocol-version: 2099-01-01\n",
     INIT("{'protocolVersion':'" V06 "'}"), HANDSHAKE(V06, SERVER), MCP_OK},
    {NULL, NULL, PING, PONG, MCP_OK},
    {V24, NULL, PING, PONG, MCP_OK},
    {V11, NULL, REQ("1", "logging/setLevel", "{'level':'debug'}"), PONG,
     MCP_OK},
    {V24, NULL, REQ("1", "logging/setLevel", "{'level':'emergency'}"), PONG,
     MCP_OK},
    {V11, NULL, REQ("1", "logging/setLevel", "{'level':'loud'}"),
     BAD("1", "Unknown log level"), MCP_OK},
    {V11, NULL, REQ("1", "logging/setLevel", "{'level':7}"),
     BAD("1", "Unknown log level"), MCP_OK},
    {V11, NULL, MESSAGE("1", "logging/setLevel") "}",
     BAD("1", "Unknown log level"), MCP_OK},
    {V11, NULL, MESSAGE("1", "server/discover") "}",
     ERR("1", "-32601", "Method not found: server/discover"), MCP_OK},
    {V11, NULL, MESSAGE("1", "notifications/initialized") "}",
     ERR("1", "-32601", "Method not found: notifications/initialized"),
     MCP_OK},
    {V11, "mcp-protocol-version: " V11 "\nmcp-method: nonsense\n", PING, PONG,
     MCP_OK},
    {V11, "mcp-protocol-version: 2024-10-07\n", PING,
     UNSUPPORTED("1", "2024-10-07"), MCP_BAD_REQUEST},
};

static const struct kase call_cases[] = {
    {V24, NULL, ECHO, ECHOED(V24, "cli"), MCP_OK},
    {V03, NULL, ECHO, ECHOED(V03, "cli"), MCP_OK},
    {V06, NULL, ECHO, ECHOED(V06, "cli"), MCP_OK},
    {V11, NULL, ECHO, ECHOED(V11, "cli"), MCP_OK},
    /* Without initialize. */
    {NULL, NULL, ECHO, ECHOED(V11, ""), MCP_OK},
    {NULL, "mcp-method: tools/call\n", ECHO, ECHOED(V03, ""),
     MCP_OK},
    {NULL, "mcp-protocol-version: " V24 "\n", ECHO,
     ECHOED(V24, ""), MCP_OK},
    {NULL, "mcp-protocol-version: " V11 "\n", ECHO, ECHOED(V11, ""),
     MCP_OK},
    {V06, "mcp-protocol-version: " V11 "\n", ECHO, ECHOED(V06, "cli"),
     MCP_OK},
    {V11, NULL, REQ("1", "tools/call", "{'name':'echo'}"), NO_ARGS,
     MCP_OK},
    {V11, NULL, CALL("echo", "null"), NO_ARGS, MCP_OK},
    {V11, NULL, CALL("echo", "[]"),
     BAD("1", "arguments must be an object"), MCP_OK},
    {V11, NULL, CALL("nix", "{}"), BAD("1", "Unknown tool: nix"), MCP_OK},
    {V11, NULL, REQ("1", "tools/call", "{}"),
     BAD("1", "name must be a string"), MCP_OK},
    {V11, NULL, REQ("1", "tools/call", "{'name':7}"),
     BAD("1", "name must be a string"), MCP_OK},
    {V11, NULL, MESSAGE("1", "tools/call") "}",
     BAD("1", "name must be a string"), MCP_OK},
    {V24, NULL, CALL("fail", "{}"), RES("1", FAILED("")), MCP_OK},
    {V11, NULL, CALL("fail", "{}"), RES("1", FAILED("")), MCP_OK},
    {V11, NULL, CALL("broken", "{}"),
     ERR("1", "-32603", "Internal error: store_error"), MCP_OK},
    {V11, NULL, CALL("k\\u0065ep", "{}"),
     RES("1", TEXT("{\\'kept\\':true}")), MCP_OK},
};

#define READS "'readOnlyHint':true,'openWorldHint':false}}"
#define WRITES(again) \
    "'destructiveHint':false" again ",'openWorldHint':false}}"
#define DESC_ECHO "'description':'Says it \\'again\\''," \
    "'inputSchema':{'type':'object'}"
#define DESC_KEEP "'description':'Keeps it'," \
    "'inputSchema':{'type':'object','properties':{}}"
#define DESC_FAIL "'description':'Never works','inputSchema':{'type':'object'}"
#define DESC_BROKEN "'description':'Breaks','inputSchema':{'type':'object'}"
#define TOOLS_PLAIN \
    "'tools':[{'name':'echo'," DESC_ECHO "},{'name':'keep'," DESC_KEEP \
    "},{'name':'fail'," DESC_FAIL "},{'name':'broken'," DESC_BROKEN "}]"
#define TOOLS_HINTS \
    "'tools':[{'name':'echo'," DESC_ECHO ",'annotations':{'title':'Echo'," \
    READS ",{'name':'keep'," DESC_KEEP \
    ",'annotations':{'title':'Keep'," \
    WRITES(",'idempotentHint':true") \
    ",{'name':'fail'," DESC_FAIL ",'annotations':{'title':'Fail'," \
    WRITES("") ",{'name':'broken'," DESC_BROKEN \
    ",'annotations':{'title':'Broken'," READS "]"
#define TOOLS_TITLES \
    "'tools':[{'name':'echo','title':'Echo'," DESC_ECHO ",'annotations':{" \
    READS ",{'name':'keep','title':'Keep'," \
    DESC_KEEP ",'annotations':{" WRITES(",'idempotentHint':true") \
    ",{'name':'fail','title':'Fail'," DESC_FAIL ",'annotations':{" \
    WRITES("") ",{'name':'broken','title':'Broken'," \
    DESC_BROKEN ",'annotations':{" READS "]"
#define TEMPLATE(title) \
    "'resourceTemplates':[{'uriTemplate':'toy://{id}','name':'toy'," title \
    "'description':'One of them','mimeType':'text/plain'}]"
#define PAGE_1 \
    "'resources':[{'uri':'toy://1','name':'one'},{'uri':'toy://2'," \
    "'name':'two'}],'nextCursor':'\\'\xc3\xa9'"
#define PAGE_2 "'resources':[{'uri':'toy://3','name':'three'}]"

static const struct kase list_cases[] = {
    {V24, NULL, MESSAGE("1", "tools/list") "}", RES("1", TOOLS_PLAIN),
     MCP_OK},
    {V03, NULL, REQ("1", "tools/list", "{}"), RES("1", TOOLS_HINTS), MCP_OK},
    {V06, NULL, REQ("1", "tools/list", "{}"), RES("1", TOOLS_TITLES), MCP_OK},
    {V11, NULL, REQ("1", "tools/list", "{'cursor':null}"),
     RES("1", TOOLS_TITLES), MCP_OK},
    {V11, NULL, REQ("1", "tools/list", "{'cursor':''}"),
     BAD("1", "Unknown cursor"), MCP_OK},
    {V11, NULL, REQ("1", "tools/list", "{'cursor':7}"),
     BAD("1", "cursor must be a string"), MCP_OK},
    {V24, NULL, MESSAGE("1", "resources/templates/list") "}",
     RES("1", TEMPLATE("")), MCP_OK},
    {V11, NULL, MESSAGE("1", "resources/templates/list") "}",
     RES("1", TEMPLATE("'title':'A toy',")), MCP_OK},
    {V11, NULL, REQ("1", "resources/templates/list", "{'cursor':'x'}"),
     BAD("1", "Unknown cursor"), MCP_OK},
    {V11, NULL, MESSAGE("1", "resources/list") "}", RES("1", PAGE_1), MCP_OK},
    {V24, NULL, REQ("1", "resources/list", "{'cursor':'\\'\\u00e9'}"),
     RES("1", PAGE_2), MCP_OK},
    {V11, NULL, REQ("1", "resources/list", "{'cursor':'x'}"),
     BAD("1", "Invalid params: x"), MCP_OK},
    {V11, NULL, REQ("1", "resources/list", "{'cursor':[]}"),
     BAD("1", "cursor must be a string"), MCP_OK},
    {V11, NULL, READ("toy:\\/\\/1"), RES("1", BEAR), MCP_OK},
    {V11, NULL, READ("toy://no\\n"),
     ERR_DATA("1", "-32002", "Resource not found: toy://no\\n",
              "{'uri':'toy://no\\n'}"), MCP_OK},
    {V24, NULL, READ(""),
     ERR_DATA("1", "-32002", "Resource not found", "{'uri':''}"), MCP_OK},
    {V11, NULL, READ("toy://busy"),
     ERR("1", "-32603", "Internal error: store_busy"), MCP_OK},
    {V11, NULL, REQ("1", "resources/read", "{}"),
     BAD("1", "uri must be a string"), MCP_OK},
    {V11, NULL, REQ("1", "resources/read", "{'uri':null}"),
     BAD("1", "uri must be a string"), MCP_OK},
};

/* ---- the modern era ---- */

#define WITHOUT(id, method, meta) REQ(id, method, "{'_meta':" meta "}")
#define VERSION_ONLY KEY("protocolVersion") ":'" V26 "'"
#define WITH(more) \
    WITHOUT("1", "tools/list", "{" VERSION_ONLY "," KEY("clientCapabilities") \
            ":{}," more "}")
#define LEVEL_TEXT "io.modelcontextprotocol/logLevel must be a log level"
#define NEEDS(what) "_meta needs io.modelcontextprotocol/" what
#define MODERN_TOOLS RES("'x'", TOOLS_TITLES "," PUBLIC TOY_META)
#define GONE(method) ERR("'x'", "-32601", "Method not found: " method)

static const struct kase modern_cases[] = {
    {NULL, NULL, NEW("server/discover", ""),
     RES("'x'", "'supportedVersions':['" V26 "'],'capabilities':" CAPS
         ",'instructions':'Play.'," PUBLIC
         "'_meta':{" KEY("serverInfo") ":" SERVER "}"), MCP_OK},
    {NULL, NULL, NEW("tools/list", ""), MODERN_TOOLS, MCP_OK},
    /* An envelope counts for its own message only. */
    {V24, NULL, NEW("tools/list", ""), MODERN_TOOLS, MCP_OK},
    {V03, NULL, NEW("tools/list", ""), MODERN_TOOLS, MCP_OK},
    {NULL, NULL, NEW("tools/list", "'cursor':'x',"),
     BAD("'x'", "Unknown cursor"), MCP_OK},
    {NULL, NULL, NEW("resources/list", ""),
     RES("'x'", PAGE_1 "," PRIVATE TOY_META), MCP_OK},
    {NULL, NULL, NEW("resources/templates/list", ""),
     RES("'x'", TEMPLATE("'title':'A toy',") "," PUBLIC TOY_META), MCP_OK},
    {NULL, NULL, NEW("resources/read", "'uri':'toy://1',"),
     RES("'x'", BEAR "," PRIVATE TOY_META), MCP_OK},
    {NULL, NULL, NEW("resources/read", "'uri':'toy://no',"),
     ERR_DATA("'x'", "-32602", "Resource not found: toy://no",
              "{'uri':'toy://no'}"), MCP_OK},
    {NULL, NULL, NEW("resources/read", ""),
     BAD("'x'", "uri must be a string"), MCP_OK},
    {V24, NULL, NEW("tools/call", "'name':'echo','arguments':"
                    "{'a':[1.0,'\\u00e9']},"),
     RES("'x'", SAID_TEXT(V26, "m\xc3\xa9") "," COMPLETE TOY_META), MCP_OK},
    {NULL, NULL, NEW("tools/call", "'name':'fail',"),
     RES("'x'", FAILED("," COMPLETE TOY_META)), MCP_OK},
    {NULL, NULL, NEW("tools/call", "'name':'nix',"),
     BAD("'x'", "Unknown tool: nix"), MCP_OK},
    {V11, NULL, NEW("initialize", ""), GONE("initialize"), MCP_NOT_FOUND},
    {V11, NULL, NEW("ping", ""), GONE("ping"), MCP_NOT_FOUND},
    {V11, NULL, NEW("logging/setLevel", "'level':'info',"),
     GONE("logging/setLevel"), MCP_NOT_FOUND},
    {V11, NULL, NEW("nix", ""), GONE("nix"), MCP_NOT_FOUND},
    /* The form of an envelope. */
    {NULL, NULL, WITHOUT("1", "tools/list", "{" KEY("protocolVersion") ":7}"),
     BAD("1", NEEDS("protocolVersion, a string")), MCP_BAD_REQUEST},
    {NULL, NULL,
     WITHOUT("1", "tools/list", "{" KEY("protocolVersion") ":null}"),
     BAD("1", NEEDS("protocolVersion, a string")), MCP_BAD_REQUEST},
    {NULL, NULL, WITHOUT("1", "tools/list", "{" VERSION_ONLY "}"),
     BAD("1", NEEDS("clientCapabilities, an object")),
     MCP_BAD_REQUEST},
    {NULL, NULL, WITHOUT("1", "nix", "{" VERSION_ONLY "," \
                         KEY("clientCapabilities") ":[]}"),
     BAD("1", NEEDS("clientCapabilities, an object")),
     MCP_BAD_REQUEST},
    {NULL, NULL, WITH(KEY("clientInfo") ":'me'"),
     BAD("1", "io.modelcontextprotocol/clientInfo must be an "
         "object"), MCP_BAD_REQUEST},
    {NULL, NULL, WITH(KEY("logLevel") ":'loud'"),
     BAD("1", LEVEL_TEXT), MCP_BAD_REQUEST},
    {NULL, NULL, WITH(KEY("logLevel") ":7"), BAD("1", LEVEL_TEXT),
     MCP_BAD_REQUEST},
    {NULL, NULL, WITH(KEY("logLevel") ":'info','other':1"),
     RES("1", TOOLS_TITLES "," PUBLIC TOY_META), MCP_OK},
    {NULL, NULL, REQ("1", "resources/read",
                     "{'uri':'toy://1'," ENVELOPE("2026-07-2\\u0038") "}"),
     RES("1", BEAR "," PRIVATE TOY_META), MCP_OK},
    {NULL, NULL, REQ("1", "tools/list", "{" ENVELOPE("1900-01-01") "}"),
     UNSUPPORTED("1", "1900-01-01"), MCP_BAD_REQUEST},
    {NULL, NULL, REQ("1", "tools/list", "{" ENVELOPE(V11) "}"),
     UNSUPPORTED("1", V11), MCP_BAD_REQUEST},
    {NULL, NULL, REQ("1", "nix", "{" ENVELOPE("1900-01-01") "}"),
     UNSUPPORTED("1", "1900-01-01"), MCP_BAD_REQUEST},
};

#define BAD_VERSION \
    ERR("'x'", "-32020", "Header mismatch: MCP-Protocol-Version and _meta " \
        "have different versions")
#define BAD_METHOD \
    ERR("'x'", "-32020", "Header mismatch: Mcp-Method differs from the method")
#define BAD_NAME \
    ERR("'x'", "-32020", "Header mismatch: Mcp-Name differs from the name or " \
        "uri")
#define KEPT \
    RES("'x'", TEXT("{\\'kept\\':true}") "," COMPLETE TOY_META)
#define READ_SMILE NEW("resources/read", "'uri':'toy://\\ud83d\\ude00',")
#define NO_SMILE \
    ERR_DATA("'x'", "-32602", "Resource not found: toy://\xf0\x9f\x98\x80", \
             "{'uri':'toy://\xf0\x9f\x98\x80'}")

static const struct kase header_cases[] = {
    {NULL, H("tools/list"), NEW("tools/list", ""), MODERN_TOOLS, MCP_OK},
    {V11, H("tools/list"), NEW("tools/list", ""), MODERN_TOOLS, MCP_OK},
    {NULL, "mcp-method: tools/list\n", NEW("tools/list", ""),
     ERR("'x'", "-32020", "Header mismatch: MCP-Protocol-Version is missing"),
     MCP_BAD_REQUEST},
    {NULL, "mcp-protocol-version: " V11 "\nmcp-method: tools/list\n",
     NEW("tools/list", ""), BAD_VERSION, MCP_BAD_REQUEST},
    /* This comes before an unknown version or a wrong _meta. */
    {NULL, H("tools/list"),
     REQ("'x'", "tools/list", "{" ENVELOPE("1900-01-01") "}"), BAD_VERSION,
     MCP_BAD_REQUEST},
    {NULL, H("tools/list"),
     WITHOUT("'x'", "tools/list", "{" KEY("protocolVersion") ":'1'}"),
     BAD_VERSION, MCP_BAD_REQUEST},
    {NULL, "mcp-protocol-version: 1900-01-01\n",
     REQ("'x'", "tools/list", "{" ENVELOPE("1900-01-01") "}"),
     UNSUPPORTED("'x'", "1900-01-01"), MCP_BAD_REQUEST},
    /* A modern header without an envelope. */
    {NULL, H("tools/list"), MESSAGE("'x'", "tools/list") "}",
     BAD("'x'", NEEDS("protocolVersion, a string")),
     MCP_BAD_REQUEST},
    {V11, H("ping"), WITHOUT("'x'", "ping", "{}"),
     BAD("'x'", NEEDS("protocolVersion, a string")),
     MCP_BAD_REQUEST},
    {V11, H("ping"), WITHOUT("'x'", "ping", "'?'"),
     BAD("'x'", NEEDS("protocolVersion, a string")),
     MCP_BAD_REQUEST},
    {NULL, "mcp-protocol-version: 2099-01-01\n", MESSAGE("'x'", "nix") "}",
     UNSUPPORTED("'x'", "2099-01-01"), MCP_BAD_REQUEST},
    {NULL, H("initialize"), NEW("initialize", ""), GONE("initialize"),
     MCP_NOT_FOUND},
    {NULL, H("ping"), NEW("ping", ""), GONE("ping"), MCP_NOT_FOUND},
    /* Routing is judged before the method. */
    {NULL, "mcp-protocol-version: " V26 "\n", NEW("tools/list", ""),
     BAD_METHOD, MCP_BAD_REQUEST},
    {NULL, H("Tools/List"), NEW("tools/list", ""), BAD_METHOD,
     MCP_BAD_REQUEST},
    {NULL, H("tools/list"), NEW("nix", ""), BAD_METHOD, MCP_BAD_REQUEST},
    {NULL, H("nix") "mcp-name: any\n", NEW("nix", "'name':'a',"), GONE("nix"),
     MCP_NOT_FOUND},
    {NULL, H("tools/call") "mcp-name: keep\n", CALL_KEEP, KEPT, MCP_OK},
    {NULL, H("tools/call") "mcp-name: =?base64?a2VlcA==?=\n", CALL_KEEP, KEPT,
     MCP_OK},
    {NULL, H("tools/call"), CALL_KEEP, BAD_NAME, MCP_BAD_REQUEST},
    {NULL, H("tools/call") "mcp-name: Keep\n", CALL_KEEP, BAD_NAME,
     MCP_BAD_REQUEST},
    {NULL, H("tools/call") "mcp-name: keep\n", NEW("tools/call", ""),
     BAD_NAME, MCP_BAD_REQUEST},
    {NULL, H("tools/call") "mcp-name: =?base64?a2VlcA?=\n", CALL_KEEP,
     BAD_NAME, MCP_BAD_REQUEST},
    {NULL, H("tools/call") "mcp-name: =?base64?a2VlcB==?=\n", CALL_KEEP,
     BAD_NAME, MCP_BAD_REQUEST},
    {NULL, H("tools/call") "mcp-name: =?base64?a2V-cA==?=\n", CALL_KEEP,
     BAD_NAME, MCP_BAD_REQUEST},
    {NULL, H("tools/call") "mcp-name: =?base64?" "?=\n", CALL_KEEP, BAD_NAME,
     MCP_BAD_REQUEST},
    {NULL, H("tools/call") "mcp-name: =?base64?=\n", CALL_KEEP, BAD_NAME,
     MCP_BAD_REQUEST},
    {NULL, H("tools/call") "mcp-name: =?BASE64?a2VlcA==?=\n", CALL_KEEP,
     BAD_NAME, MCP_BAD_REQUEST},
    {NULL, H("tools/call") "mcp-name: a2VlcA==\n",
     NEW("tools/call", "'name':'a2VlcA==',"),
     BAD("'x'", "Unknown tool: a2VlcA=="), MCP_OK},
    {NULL, H("resources/read") "mcp-name: =?base64?dG95Oi8v8J+YgA==?=\n",
     READ_SMILE, NO_SMILE, MCP_OK},
    {NULL, H("resources/read") "mcp-name: toy://1\n",
     NEW("resources/read", "'uri':'toy://1',"),
     RES("'x'", BEAR "," PRIVATE TOY_META), MCP_OK},
    {NULL, H("resources/read") "mcp-name: toy://2\n",
     NEW("resources/read", "'uri':'toy://1',"), BAD_NAME, MCP_BAD_REQUEST},
};

/* ---- without memory, or too much ---- */

static void
test_memory_fails_at_every_call(void)
{
    CHECK_NOMEM(envelope_cases);
    CHECK_NOMEM(batch_cases);
    CHECK_NOMEM(handshake_cases);
    CHECK_NOMEM(call_cases);
    CHECK_NOMEM(list_cases);
    CHECK_NOMEM(modern_cases);
    CHECK_NOMEM(header_cases);
}

int
main(void)
{
    rig_init(&toy_catalogue, true);
    CHECK_ALL(envelope_cases);
    CHECK_ALL(id_cases);
    CHECK_ALL(batch_cases);
    test_batch_is_bounded();
    test_depth_is_bounded();
    CHECK_ALL(handshake_cases);
    CHECK_ALL(call_cases);
    CHECK_ALL(list_cases);
    CHECK_ALL(modern_cases);
    CHECK_ALL(header_cases);
    test_memory_fails_at_every_call();
    rig_fini();
    return test_end("mcp");
}
