#ifndef TEST_MCP_FIXTURE_TOOLS_H
#define TEST_MCP_FIXTURE_TOOLS_H

/* The tools of the fixture, in the order of the suite's pages: those that
   answer at once, wait, or ask; and what its prompts share with them. ctx
   points to a pointer to the mcp that serves them. */

#include "mcp/mcp.h"

#define PNG \
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAIAAACQd1PeAAAADElEQVR42mP4z8AAAAMB" \
    "AQD3A0FDAAAAAElFTkSuQmCC"
#define WAV \
    "UklGRiwAAABXQVZFZm10IBAAAAABAAEAQB8AAIA+AAACABAAZGF0YQgAAAAAAEAfAADA4A=="
#define INFO 6 /* RFC 5424 */
#define PAUSE_MS 50
#define POLL_RETRY_MS 200
#define POLL_WORK_MS 300
#define JOB_MS 1000

#define BLOCK_TEXT(text) "{\"type\":\"text\",\"text\":\"" text "\"}"
#define BLOCK_IMAGE \
    "{\"type\":\"image\",\"data\":\"" PNG "\",\"mimeType\":\"image/png\"}"
#define BLOCK_AUDIO \
    "{\"type\":\"audio\",\"data\":\"" WAV "\",\"mimeType\":\"audio/wav\"}"
#define BLOCK_RESOURCE(uri) \
    "{\"type\":\"resource\",\"resource\":{\"uri\":\"" uri "\"," \
    "\"mimeType\":\"text/plain\",\"text\":\"It came along.\"}}"

/* ---- what tools say ---- */

/* Returns a result of these blocks, which commas separate. */
static int
give(struct mcp_call *c, const char *blocks)
{
    c->content = true;
    buf_char(c->out, '[');
    buf_z(c->out, blocks);
    buf_char(c->out, ']');
    return 0;
}

static int
say(struct mcp_call *c, const char *what, struct str more)
{
    struct buf b = {0};
    int err;

    buf_z(&b, what);
    buf_str(&b, more);
    c->content = true;
    buf_z(c->out, "[{\"type\":\"text\",\"text\":");
    json_quote(c->out, buf_view(&b));
    buf_z(c->out, "}]");
    err = b.err;
    buf_fini(&b);
    return err;
}

static struct str
arg(struct mcp_call *c, const char *name)
{
    return json_str(c->arena, json_get(c->args, name));
}

/* ---- tools that answer at once ---- */

static int
simple_text(struct mcp_call *c)
{
    return give(c, BLOCK_TEXT("This is a simple text."));
}

static int
image_content(struct mcp_call *c)
{
    return give(c, BLOCK_IMAGE);
}

static int
audio_content(struct mcp_call *c)
{
    return give(c, BLOCK_AUDIO);
}

static int
embedded_resource(struct mcp_call *c)
{
    return give(c, BLOCK_RESOURCE("test://embedded-resource"));
}

static int
multiple_content_types(struct mcp_call *c)
{
    return give(c, BLOCK_TEXT("Three kinds:") "," BLOCK_IMAGE ","
                   BLOCK_RESOURCE("test://mixed-content-resource"));
}

static int
error_handling(struct mcp_call *c)
{
    c->is_error = true;
    return give(c, BLOCK_TEXT("This tool always fails."));
}

static int
one_log_message(struct mcp_call *c)
{
    mcp_log(c, INFO, STR("\"The tool runs.\""));
    return give(c, BLOCK_TEXT("It may have been logged."));
}

static int
custom_header(struct mcp_call *c)
{
    return say(c, "The region is ", arg(c, "region"));
}

static int
missing_capability(struct mcp_call *c)
{
    int err = mcp_need(c, MCP_SAMPLING);

    return err != 0 ? err : give(c, BLOCK_TEXT("The client can sample."));
}

static int
trigger_tool_change(struct mcp_call *c)
{
    mcp_list_changed(*(struct mcp **)c->ctx, MCP_LIST_TOOLS);
    return give(c, BLOCK_TEXT("The list of tools has changed."));
}

static int
trigger_prompt_change(struct mcp_call *c)
{
    mcp_list_changed(*(struct mcp **)c->ctx, MCP_LIST_PROMPTS);
    return give(c, BLOCK_TEXT("The list of prompts has changed."));
}

/* ---- tools that wait ---- */

static int
with_progress(struct mcp_call *c)
{
    if (c->round == 3)
        return give(c, BLOCK_TEXT("It is done."));
    mcp_progress(c, c->round * 50, 100, "Working");
    mcp_wait(c, PAUSE_MS);
    return MCP_RUN_WAITS;
}

static int
with_logging(struct mcp_call *c)
{
    static const char *const steps[] = {"\"Started\"", "\"Half done\"",
                                        "\"Done\""};

    mcp_log(c, INFO, str_of(steps[c->round]));
    if (c->round == 2)
        return give(c, BLOCK_TEXT("Three messages were logged."));
    mcp_wait(c, PAUSE_MS);
    return MCP_RUN_WAITS;
}

/* A client of 2025-11-25 has to come back for the answer. */
static int
reconnection(struct mcp_call *c)
{
    if (c->round > 0) /* it is another run than the one that ended its stream */
        return give(c, BLOCK_TEXT("You came back."));
    mcp_poll(c, POLL_RETRY_MS);
    mcp_wait(c, POLL_WORK_MS);
    return MCP_RUN_WAITS;
}

/* ---- tools that ask ---- */

#define SAMPLE "sampling/createMessage"
#define ELICIT "elicitation/create"
#define ROOTS "roots/list"
#define NO_PARAMS STR("{}")
#define FORM(message, properties, required) \
    STR("{\"message\":\"" message "\",\"requestedSchema\":{" \
        "\"type\":\"object\",\"properties\":{" properties "}," \
        "\"required\":[" required "]}}")
#define FORM_OF(name, type) \
    FORM("Please say.", "\"" name "\":{\"type\":\"" type "\"}", "\"" name "\"")
#define SAMPLE_OF(prompt) \
    STR("{\"messages\":[{\"role\":\"user\",\"content\":" BLOCK_TEXT(prompt) \
        "}],\"maxTokens\":50}")

/* Asks one question. Its answer is the result. */
static int
ask(struct mcp_call *c, const char *key, const char *method,
    struct str params)
{
    const struct json_tok *answer = mcp_request(c, key, method, params);

    if (answer == NULL)
        return MCP_RUN_WAITS;
    return say(c, "The client said: ", answer->type == JSON_NULL
                                           ? STR("nothing")
                                           : json_raw(answer));
}

/* The params of a question that quotes an argument between two texts. */
static struct str
params_of(struct mcp_call *c, const char *before, const char *name,
          const char *after)
{
    struct buf b = {0};
    struct str params;

    buf_z(&b, before);
    json_quote(&b, arg(c, name));
    buf_z(&b, after);
    params = arena_str(c->arena, buf_view(&b));
    buf_fini(&b);
    return params.p != NULL ? params : NO_PARAMS;
}

static int
sampling(struct mcp_call *c)
{
    return ask(c, "sample", SAMPLE,
               params_of(c, "{\"messages\":[{\"role\":\"user\",\"content\":{"
                         "\"type\":\"text\",\"text\":", "prompt",
                         "}}],\"maxTokens\":100}"));
}

static int
elicitation(struct mcp_call *c)
{
    return ask(c, "user", ELICIT,
               params_of(c, "{\"message\":", "message",
                         ",\"requestedSchema\":{\"type\":\"object\","
                         "\"properties\":{\"username\":{\"type\":\"string\"},"
                         "\"email\":{\"type\":\"string\"}},"
                         "\"required\":[\"username\",\"email\"]}}"));
}

static int
elicitation_defaults(struct mcp_call *c)
{
    return ask(c, "defaults", ELICIT, FORM("Please look over the defaults.",
        "\"name\":{\"type\":\"string\",\"default\":\"John Doe\"},"
        "\"age\":{\"type\":\"integer\",\"default\":30},"
        "\"score\":{\"type\":\"number\",\"default\":95.5},"
        "\"status\":{\"type\":\"string\",\"enum\":[\"active\",\"inactive\","
        "\"pending\"],\"default\":\"active\"},"
        "\"verified\":{\"type\":\"boolean\",\"default\":true}", ""));
}

#define TITLED "{\"const\":\"a\",\"title\":\"First\"}," \
    "{\"const\":\"b\",\"title\":\"Second\"},{\"const\":\"c\"," \
    "\"title\":\"Third\"}"
#define UNTITLED "\"enum\":[\"a\",\"b\",\"c\"]"

static int
elicitation_enums(struct mcp_call *c)
{
    return ask(c, "enums", ELICIT, FORM("Please choose.",
        "\"untitledSingle\":{\"type\":\"string\"," UNTITLED "},"
        "\"titledSingle\":{\"type\":\"string\",\"oneOf\":[" TITLED "]},"
        "\"legacyEnum\":{\"type\":\"string\"," UNTITLED ","
        "\"enumNames\":[\"First\",\"Second\",\"Third\"]},"
        "\"untitledMulti\":{\"type\":\"array\",\"items\":{"
        "\"type\":\"string\"," UNTITLED "}},"
        "\"titledMulti\":{\"type\":\"array\",\"items\":{"
        "\"anyOf\":[" TITLED "]}}", ""));
}

static int
ask_name(struct mcp_call *c)
{
    return ask(c, "user_name", ELICIT, FORM_OF("name", "string"));
}

static int
ask_sample(struct mcp_call *c)
{
    return ask(c, "capital", SAMPLE,
               SAMPLE_OF("What is the capital of France?"));
}

static int
ask_roots(struct mcp_call *c)
{
    return ask(c, "client_roots", ROOTS, NO_PARAMS);
}

static int
ask_with_state(struct mcp_call *c)
{
    mcp_state(c, STR("asked"));
    return ask(c, "confirm", ELICIT, FORM_OF("ok", "boolean"));
}

static int
ask_three(struct mcp_call *c)
{
    const struct json_tok *name, *greeting, *roots;

    name = mcp_request(c, "user_name", ELICIT, FORM_OF("name", "string"));
    greeting = mcp_request(c, "greeting", SAMPLE, SAMPLE_OF("Greet somebody."));
    roots = mcp_request(c, "client_roots", ROOTS, NO_PARAMS);
    mcp_state(c, STR("asked"));
    if (name == NULL || greeting == NULL || roots == NULL)
        return MCP_RUN_WAITS;
    return give(c, BLOCK_TEXT("The client said all three."));
}

/* The first answer comes only once, so the state remembers that it came. */
static int
ask_twice(struct mcp_call *c)
{
    if (!str_is(c->state, "named")) {
        mcp_state(c, STR("asked"));
        if (mcp_request(c, "step1", ELICIT, FORM_OF("name", "string")) == NULL)
            return MCP_RUN_WAITS;
    }
    mcp_state(c, STR("named"));
    return ask(c, "step2", ELICIT, FORM_OF("color", "string"));
}

/* Asks only what the client can answer. */
static int
ask_what_it_can(struct mcp_call *c)
{
    if (c->caps & MCP_SAMPLING)
        return ask_sample(c);
    return c->caps & MCP_ELICITATION ? ask_name(c) : ask_roots(c);
}

/* ---- tools that outlive their request ---- */

static int
greet(struct mcp_call *c)
{
    struct buf b = {0};
    int err;

    buf_str(&b, arg(c, "name"));
    buf_char(&b, '!');
    err = say(c, "Hello, ", buf_view(&b));
    buf_fini(&b);
    return err;
}

/* Waits for ms in its first round. Returns whether it does. */
static bool
works(struct mcp_call *c, int64_t ms)
{
    bool first = c->round == 0;

    mcp_defer(c);
    if (first) {
        mcp_state(c, STR("works"));
        mcp_wait(c, ms);
    }
    return first;
}

static int
slow_compute(struct mcp_call *c)
{
    int64_t seconds = 1;

    json_int(json_get(c->args, "seconds"), &seconds);
    if (works(c, seconds * 1000))
        return MCP_RUN_WAITS;
    return say(c, "Computed: ", arg(c, "label"));
}

static int
failing_job(struct mcp_call *c)
{
    return works(c, JOB_MS) ? MCP_RUN_WAITS : error_handling(c);
}

static int
protocol_error_job(struct mcp_call *c)
{
    return works(c, JOB_MS) ? MCP_RUN_WAITS : ERR_IO;
}

static int
confirm_delete(struct mcp_call *c)
{
    mcp_defer(c);
    return ask(c, "confirm", ELICIT,
               params_of(c, "{\"message\":", "filename",
                         ",\"requestedSchema\":{\"type\":\"object\","
                         "\"properties\":{\"confirm\":{"
                         "\"type\":\"boolean\"}},"
                         "\"required\":[\"confirm\"]}}"));
}

static int
multi_input(struct mcp_call *c)
{
    const struct json_tok *name, *color;

    mcp_defer(c);
    name = mcp_request(c, "name", ELICIT, FORM_OF("name", "string"));
    color = mcp_request(c, "color", ELICIT, FORM_OF("color", "string"));
    if (name == NULL || color == NULL)
        return MCP_RUN_WAITS;
    return give(c, BLOCK_TEXT("The user said both."));
}

/* It asks before it becomes a task. */
static int
ask_then_work(struct mcp_call *c)
{
    const struct json_tok *answer =
        mcp_request(c, "user_name", ELICIT, FORM_OF("name", "string"));
    const struct json_tok *name = json_get(json_get(answer, "content"),
                                           "name");

    if (answer == NULL)
        return MCP_RUN_WAITS;
    if (!str_is(c->state, "works")) {
        mcp_defer(c);
        mcp_state(c, STR("works"));
        mcp_wait(c, PAUSE_MS);
        return MCP_RUN_WAITS;
    }
    return say(c, "Worked for ", json_str(c->arena, name));
}

/* ---- the tools ---- */

#define NONE "{\"type\":\"object\",\"properties\":{}}"
#define ONE(name, more) \
    "{\"type\":\"object\",\"properties\":{\"" name "\":{" \
    "\"type\":\"string\"" more "}},\"required\":[\"" name "\"]}"
#define TOOL(id, does, schema, fn) \
    {.name = id, .description = does, .input_schema = schema, .run = fn}
/* A tool that asks: in some revisions its question is a record. */
#define ASKS(id, does, schema, fn) \
    {.name = id, .description = does, .input_schema = schema, .run = fn, \
     .writes = true}

#define TASK(id, does, schema, support, fn) \
    {.name = id, .description = does, .input_schema = schema, \
     .tasks = support, .run = fn, .writes = true}

static const char schema_2020_12[] =
    "{\"$schema\":\"https://json-schema.org/draft/2020-12/schema\","
    "\"type\":\"object\",\"$defs\":{\"address\":{\"$anchor\":\"addressDef\","
    "\"type\":\"object\",\"properties\":{\"street\":{\"type\":\"string\"},"
    "\"city\":{\"type\":\"string\"}}}},\"properties\":{\"name\":{"
    "\"type\":\"string\"},\"address\":{\"$ref\":\"#/$defs/address\"},"
    "\"contactMethod\":{\"type\":\"string\",\"enum\":[\"phone\",\"email\"]},"
    "\"phone\":{\"type\":\"string\"},\"email\":{\"type\":\"string\"}},"
    "\"allOf\":[{\"anyOf\":[{\"required\":[\"phone\"]},"
    "{\"required\":[\"email\"]}]}],\"if\":{\"properties\":{"
    "\"contactMethod\":{\"const\":\"phone\"}},"
    "\"required\":[\"contactMethod\"]},\"then\":{\"required\":[\"phone\"]},"
    "\"else\":{\"required\":[\"email\"]},\"additionalProperties\":false}";

static const struct mcp_param region[] = {{"region", "Region"}, {0}};

static const struct mcp_tool tools[] = {
    TOOL("test_simple_text", "Gives a text", NONE, simple_text),
    TOOL("test_image_content", "Gives an image", NONE, image_content),
    TOOL("test_audio_content", "Gives a sound", NONE, audio_content),
    TOOL("test_embedded_resource", "Gives a resource", NONE,
         embedded_resource),
    TOOL("test_multiple_content_types", "Gives a text, image and resource",
         NONE, multiple_content_types),
    TOOL("test_error_handling", "Always fails", NONE, error_handling),
    TOOL("test_tool_with_progress", "Tells how far it is", NONE,
         with_progress),
    TOOL("json_schema_2020_12_tool", "Has much in its schema",
         schema_2020_12, simple_text),
    TOOL("test_tool_with_logging", "Logs three messages", NONE, with_logging),
    ASKS("test_sampling", "Has the client sample a text",
         ONE("prompt", ""), sampling),
    ASKS("test_elicitation", "Asks the user who they are",
         ONE("message", ""), elicitation),
    ASKS("test_elicitation_sep1034_defaults", "Asks with defaults", NONE,
         elicitation_defaults),
    ASKS("test_elicitation_sep1330_enums", "Asks with choices", NONE,
         elicitation_enums),
    TOOL("test_reconnection", "Ends its stream before it answers", NONE,
         reconnection),
    TOOL("test_missing_capability", "Needs a client that samples", NONE,
         missing_capability),
    ASKS("test_streaming_elicitation", "Asks the user for a name", NONE,
         ask_name),
    TOOL("test_logging_tool", "Logs one message", NONE, one_log_message),
    TOOL("test_trigger_tool_change", "Says that tools have changed", NONE,
         trigger_tool_change),
    TOOL("test_trigger_prompt_change", "Says that prompts have changed", NONE,
         trigger_prompt_change),
    ASKS("test_input_required_result_elicitation", "Asks for a name", NONE,
         ask_name),
    ASKS("test_input_required_result_sampling", "Asks for a sample", NONE,
         ask_sample),
    ASKS("test_input_required_result_list_roots", "Asks for the roots", NONE,
         ask_roots),
    ASKS("test_input_required_result_request_state", "Remembers that it asked",
         NONE, ask_with_state),
    ASKS("test_input_required_result_multiple_inputs", "Asks three at once",
         NONE, ask_three),
    ASKS("test_input_required_result_multi_round", "Asks one after another",
         NONE, ask_twice),
    ASKS("test_input_required_result_tampered_state",
         "Remembers that it asked", NONE, ask_with_state),
    ASKS("test_input_required_result_capabilities",
         "Asks for what the client can give", NONE, ask_what_it_can),
    TOOL("greet", "Greets", ONE("name", ""), greet),
    TASK("slow_compute", "Computes for so long",
         "{\"type\":\"object\",\"properties\":{\"seconds\":{"
         "\"type\":\"number\"},\"label\":{\"type\":\"string\"}}}",
         MCP_TASK_OPTIONAL, slow_compute),
    TASK("failing_job", "Fails after a while", NONE, MCP_TASK_REQUIRED,
         failing_job),
    TASK("protocol_error_job", "Fails as a request", NONE, MCP_TASK_OPTIONAL,
         protocol_error_job),
    TASK("confirm_delete", "Asks before it deletes", ONE("filename", ""),
         MCP_TASK_OPTIONAL, confirm_delete),
    TASK("multi_input", "Asks twice at a time", NONE, MCP_TASK_OPTIONAL,
         multi_input),
    TASK("test_tool_with_task", "Asks, and then works for a while", NONE,
         MCP_TASK_REQUIRED, ask_then_work),
    {.name = "test_custom_header",
     .description = "Has an argument that is a header too",
     .input_schema = ONE("region", ",\"x-mcp-header\":\"Region\""),
     .params = region,
     .run = custom_header},
};

#endif
