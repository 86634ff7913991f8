#ifndef TEST_MCP_RIG_H
#define TEST_MCP_RIG_H

/* Shared by the tests of mcp: message texts with ' for a quote, one server at a
   time with one local session, and tables of messages and answers. */

#include "tests/lib/faults.h"
#include "tests/lib/mcp_toy.h"
#include "tests/lib/test.h"
#include "tests/lib/world.h"

#define V24 "2024-11-05"
#define V03 "2025-03-26"
#define V06 "2025-06-18"
#define V11 "2025-11-25"
#define V26 "2026-07-28"

#define MESSAGE(id, method) "{'jsonrpc':'2.0','id':" id ",'method':'" method "'"
#define REQ(id, method, params) MESSAGE(id, method) ",'params':" params "}"
#define INIT(params) REQ("1", "initialize", params)
#define CALL(name, args) \
    REQ("1", "tools/call", "{'name':'" name "','arguments':" args "}")
#define RES(id, members) \
    "{'jsonrpc':'2.0','id':" id ",'result':{" members "}}"
#define ERR(id, code, text) \
    "{'jsonrpc':'2.0','id':" id ",'error':{'code':" code \
    ",'message':'" text "'}}"
#define ERR_DATA(id, code, text, data) \
    "{'jsonrpc':'2.0','id':" id ",'error':{'code':" code \
    ",'message':'" text "','data':" data "}}"

#define KEY(name) "'io.modelcontextprotocol/" name "'"
#define ENVELOPE(version) \
    "'_meta':{" KEY("protocolVersion") ":'" version "'," \
    KEY("clientCapabilities") ":{}," \
    KEY("clientInfo") ":{'name':'m\\u00e9','version':'1'}}"
#define NEW(method, params) \
    REQ("'x'", method, "{" params ENVELOPE(V26) "}")
#define COMPLETE "'resultType':'complete',"
#define PONG RES("1", "")
#define PING MESSAGE("1", "ping") "}"
/* The error for a message without a readable id. */
#define BARE_ERR(code, text) \
    "{'jsonrpc':'2.0','error':{'code':" code ",'message':'" text "'}}"
#define NULL_ERR(text) ERR("null", "-32600", text)
#define H(method) "mcp-protocol-version: " V26 "\nmcp-method: " method "\n"

/* ---- of the toy box ---- */

#define SERVER "{'name':'toybox','title':'Toy box','version':'7'}"
#define PUBLIC COMPLETE "'ttlMs':300000,'cacheScope':'public',"
#define PRIVATE COMPLETE "'ttlMs':0,'cacheScope':'private',"
#define TOY_META "'_meta':{" KEY("serverInfo") ":" SERVER "}"
#define CAPS \
    "{'tools':{},'resources':{'subscribe':true,'listChanged':true}," \
    "'logging':{}}"
#define HANDSHAKE(version, server) \
    RES("1", "'protocolVersion':'" version "','capabilities':" CAPS \
        ",'serverInfo':" server ",'instructions':'Play.'")
#define UNSUPPORTED(id, version) \
    ERR_DATA(id, "-32022", "Unsupported protocol version: " version, \
             "{'supported':['" V26 "'],'requested':'" version "'}")
#define UNKNOWN_2099 \
    "{'jsonrpc':'2.0','error':{'code':-32022,'message':'Unsupported protocol " \
    "version: 2099-01-01','data':{'supported':['" V26 "'],'requested':" \
    "'2099-01-01'}}}"
#define NO_BATCH_TEXT "Batches need protocol version 2025-03-26"
#define NO_BATCH NULL_ERR(NO_BATCH_TEXT)
#define BATCH_SIZE NULL_ERR("A batch has 1 to 64 messages")
#define NULL_PARSE ERR("null", "-32700", "Parse error")
#define NO_BATCH_BARE BARE_ERR("-32600", NO_BATCH_TEXT)

/* The current revision, as the tool sees it. */
#define SAID_TEXT(rev, client) \
    "'content':[{'type':'text','text':'{\\'args\\':{\\'a\\':[1.0," \
    "\\'\\\\u00e9\\']},\\'client\\':\\'" client \
    "\\',\\'principal\\':\\'ann\\',\\'rev\\':\\'" rev "\\'}'}]"
#define ECHOED(rev, client) RES("1", SAID_TEXT(rev, client))
#define ECHO CALL("echo", "{'a':[1.0,'\\u00e9']}")
#define FAILED(end) \
    "'content':[{'type':'text','text':'{\\'code\\':\\'too_late\\'}'}]," \
    "'isError':true" end
#define NO_ARGS \
    RES("1", TEXT("{\\'args\\':null,\\'client\\':\\'cli\\'," \
                  "\\'principal\\':\\'ann\\',\\'rev\\':\\'" V11 "\\'}"))
#define BEAR "'contents':[{'uri':'toy://1','text':'bear'}]"
#define READ(uri) REQ("1", "resources/read", "{'uri':'" uri "'}")
#define CALL_KEEP NEW("tools/call", "'name':'keep',")

/* ---- of the talker ---- */

#define META "'_meta':{" KEY("serverInfo") ":{'name':'toybox','version':'8'}}"
#define DONE(members) RES("'x'", members "," COMPLETE META)
#define LISTED(members) \
    RES("'x'", members "," COMPLETE "'ttlMs':300000,'cacheScope':'public'," \
        META)
#define BAD(id, text) ERR(id, "-32602", text)
#define TEXT(json) "'content':[{'type':'text','text':'" json "'}]"
#define CAN(caps) \
    "'_meta':{" KEY("protocolVersion") ":'" V26 "'," \
    KEY("clientCapabilities") ":" caps "}"
#define ALL_CAPS "{'elicitation':{},'sampling':{},'roots':{}}"
/* A modern request of a client with all capabilities. */
#define MODERN(method, params) \
    REQ("'x'", method, "{" params "," CAN(ALL_CAPS) "}")
#define MODERN_CALL(name, more) MODERN("tools/call", "'name':'" name "'" more)
#define ASKED(members) \
    RES("'x'", members ",'resultType':'input_required'," META)
#define FORM "{'mode':'form','message':'Who?'}"
#define WHO(params) \
    "'inputRequests':{'who':{'method':'elicitation/create','params':" params \
    "}}"
#define ANSWER "{'action':'accept','content':{'name':'Bo'}}"
#define ANSWER_TEXT \
    "{\\'action\\':\\'accept\\',\\'content\\':{\\'name\\':\\'Bo\\'}}"
#define GOT(text) TEXT("{\\'got\\':" text "}")
#define GET(params) REQ("1", "prompts/get", params)
#define COMPLETE_REQ(ref, argument) \
    REQ("1", "completion/complete", "{'ref':" ref ",'argument':" argument "}")
#define OFFERS(more) \
    "{'tools':{'listChanged':true},'prompts':{'listChanged':true}," \
    "'resources':{'subscribe':true,'listChanged':true}," more "'logging':{}}"
#define INFO "'serverInfo':{'name':'toybox','version':'8'}"
#define ROUTE(args) NEW("tools/call", "'name':'route','arguments':" args ",")
#define R(more) H("tools/call") "mcp-name: route\n" more

struct kase {
    const char *session; /* the revision agreed before, or NULL */
    const char *headers; /* lines; NULL: stdio */
    const char *in;
    const char *out;
    enum mcp_status status;
};

extern struct world box; /* the one server */
extern struct arena arena;
extern struct buf out, notes;       /* of the last message */
extern struct mcp_session *session; /* of the one pipe */
extern struct mcp_channel channel; /* of it, too: it drops what it is told */

/* Serves c from a store in a fresh directory. */
void rig_init(const struct mcp_catalogue *c, bool readonly);
void rig_fini(void);

/* Stops the server and starts one for c. */
void rig_serve(const struct mcp_catalogue *c);

/* The state after initialize with a revision; NULL: without initialize. */
void rig_agree(const char *rev);

/* Replaces ' by quotes. The last four results stay valid. */
struct str quoted(const char *z);

/* Of the local session for stdio, and over HTTP, where it is agreed, as in
   the SSE transport; else of what the headers say. */
struct mcp_facts facts_of(const char *headers);
struct mcp_message *accept_as(const char *headers, struct str in);

/* Answers a message in the current session. */
enum mcp_status say_as(const char *headers, const char *in);
enum mcp_status say(const char *in);
bool is_text(struct str got, const char *want);
bool is_answer(const char *want);
bool answers(const char *in, const char *want);
void check_case(const struct kase *k);
void check_all(const struct kase *k, size_t n);

#define CHECK_ALL(cases) check_all(cases, sizeof(cases) / sizeof(*(cases)))

#endif
