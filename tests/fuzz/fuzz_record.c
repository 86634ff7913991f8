/* fuzz_record - records whose bodies are any JSON, for the tools, resources,
   prompts and completions, over one session: for those about all tasks, those
   that read one, or those that change one.

   What must hold:
   1. No record crashes a request, and while it runs memory does not leak.
   2. An answer is one valid JSON text on one line.
   3. What a change writes is JSON, too. */

#include "cli/store.h"
#include "mcp/mcp.h"
#include "mcp/sign.h"
#include "tests/fuzz/fuzz_store.h"
#include "tools/tools.h"

#define REQUEST(method, params) \
    "{'jsonrpc':'2.0','id':1,'method':'" method "','params':{" params "}}"
#define CALL(tool, args) \
    REQUEST("tools/call", "'name':'" tool "','arguments':{" args "}")
#define ID "'task_id':'ID'"
#define READ(uri) REQUEST("resources/read", "'uri':'" uri "'")
#define PROMPT(name, args) \
    REQUEST("prompts/get", "'name':'" name "','arguments':{" args "}")
#define COMPLETE(ref, name, value) \
    REQUEST("completion/complete", "'ref':{" ref "},'argument':{'name':'" \
            name "','value':'" value "'}")

static const char *const at_first[] = {
    REQUEST("initialize", "'protocolVersion':'2025-11-25','capabilities':{"
            "'elicitation':{}},'clientInfo':{'name':'c','version':'1'}"),
    "{'jsonrpc':'2.0','method':'notifications/initialized'}",
};
static const char *const for_all[] = {
    CALL("list_tasks", "'include_done':true"),
    CALL("list_tasks", "'query':'a','ready':true"),
    REQUEST("resources/list", ""),
    READ("task://"),
    READ("task:///history"),
    PROMPT("standup", ""),
    PROMPT("resume_task", "'agent':'bob'"),
    COMPLETE("'type':'ref/prompt','name':'resume_task'", "task_id", ""),
    COMPLETE("'type':'ref/prompt','name':'resume_task'", "agent", ""),
    COMPLETE("'type':'ref/resource','uri':'task://{task_id}'", "task_id", "t"),
    REQUEST("tasks/list", ""),
    CALL("wait_for_task", "'timeout_seconds':0,'until':'work','since_seq':0"),
};
static const char *const reads_each[] = {
    CALL("get_task", ID),
    CALL("get_task", ID ",'section':'history'"),
    CALL("get_task", ID ",'section':'artifact','artifact_id':'a1'"),
    CALL("get_task", ID ",'cursor':'1.2.3'"),
    CALL("get_task", ID ",'version':1"),
    READ("task://ID"),
    READ("task://ID/resume"),
    READ("task://ID/history"),
    REQUEST("resources/subscribe", "'uri':'task://ID'"),
    PROMPT("resume_task", ID ",'agent':'me'"),
    PROMPT("handoff_task_brief", ID),
    CALL("wait_for_task", ID ",'timeout_seconds':0,'since_seq':0"),
    CALL("wait_for_task", ID ",'timeout_seconds':0,'until':'answered'"),
};
static const char *const changes_each[] = {
    REQUEST("tools/call", "'name':'wait_for_task','arguments':{" ID
            ",'until':'done','agent':'me'},'task':{}"),
    CALL("update_task", ID ",'message':'text','agent':'ann'"),
    CALL("update_task", ID ",'answer':{'text':'a'},'goal':'g'"),
    CALL("claim_task", ID ",'agent':'me','takeover':true,'reason':'r'"),
    CALL("save_checkpoint", ID ",'agent':'me','notes':'n','idempotency_key':"
         "'ID k','completed_steps':['x']"),
    CALL("request_input", ID ",'agent':'me','question':'q?','wait_seconds':0"),
    CALL("attach_artifact", ID ",'agent':'me','name':'n',"
         "'content':'text'"),
    CALL("handoff_task", ID ",'from_agent':'me','to_agent':'you'"),
    CALL("mark_exhausted", ID ",'agent':'you'"),
    CALL("update_task", ID ",'status':'cancelled','reason':'r'"),
    CALL("create_task", "'title':'t','depends_on':['ID'],'parent_id':'ID'"),
    CALL("claim_task", "'agent':'me'"),
    CALL("get_task", ID),
};
#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

static struct cli_store cs;
static struct sign *sign;
static struct tools *tools;
static struct mcp *mcp;
static struct mcp_facts facts;

static void
check_lines(struct arena *a, struct str lines, bool notes)
{
    const struct json_tok *t;

    do {
        struct str line = notes ? str_cut(&lines, '\n') : lines;

        HOLDS(str_find(line, STR("\n")) == SIZE_MAX);
        HOLDS(json_parse(a, fuzz_part(a, line), &t, NULL) == 0);
    } while (notes && lines.len > 0);
}

/* Replaces ' by a quote, and ID. */
static struct str
request_of(struct arena *a, const char *z, const char *id)
{
    struct buf b = {0};

    for (; *z != '\0'; z++)
        if (strncmp(z, "ID", 2) == 0) {
            buf_z(&b, id);
            z++;
        } else {
            buf_char(&b, *z == '\'' ? '"' : *z);
        }
    return buf_take(&b, a);
}

/* One turn with one message. */
static void
ask(const char *text, const char *id)
{
    struct arena a = {0};
    struct str in = request_of(&a, text, id);
    struct buf out = {0}, notes = {0};
    struct mcp_message *m;
    bool unknown, writes;

    HOLDS(mcp_accept(mcp, &facts, &in, &m) == 0);
    writes = mcp_writes(m);
    mcp_prepare(m);
    writes = writes && store_lock_patiently(cs.store) == 0;
    mcp_run(m, &out, &notes);
    if (writes) {
        mcp_run_marked(mcp);
        store_commit(cs.store, &unknown);
        store_unlock(cs.store);
    }
    HOLDS(out.err == 0 && notes.err == 0);
    if (out.len > 0)
        check_lines(&a, buf_view(&out), false);
    if (notes.len > 0)
        check_lines(&a, buf_view(&notes), true);
    mcp_release(m);
    mcp_end_turn(mcp);
    buf_fini(&out);
    buf_fini(&notes);
    arena_fini(&a);
}

static void
ask_all(const char *const *texts, size_t n, const char *id)
{
    for (size_t i = 0; i < n; i++)
        ask(texts[i], id);
}

static bool
ignore(void *ctx, const struct mcp_out *o)
{
    (void)ctx;
    (void)o;
    return true;
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    static struct mcp_channel channel = {.send = ignore};
    unsigned part = fuzz_choice(data, n, 3);
    const char *id;
    char why[256];

    if (!put_log((struct str){(const char *)data, n}))
        return 0;
    memset(&cs, 0, sizeof(cs));
    HOLDS(cli_open_store(&env, false, &cs, why) == 0);
    HOLDS(sign_new(&sign, cs.store) == 0);
    HOLDS(tools_new(&tools, cs.tasks, &env) == 0);
    HOLDS(mcp_new(&mcp, tools_catalogue(tools), cs.store, sign, cs.calls) ==
          0);
    facts.session = mcp_join(mcp, &channel);
    HOLDS(facts.session != NULL);
    ask_all(at_first, COUNT(at_first), "");
    if (part == 0)
        ask_all(for_all, COUNT(for_all), "");
    for (size_t i = 0; part > 0 && (id = task_id(i)) != NULL; i++)
        if (part == 1)
            ask_all(reads_each, COUNT(reads_each), id);
        else
            ask_all(changes_each, COUNT(changes_each), id);
    HOLDS(store_scan(cs.store, n_records + 1, check_body, NULL) == 0);
    mcp_leave(facts.session);
    mcp_free(mcp);
    tools_free(tools);
    sign_free(sign);
    cli_close_store(&cs);
    return 0;
}
