#include "tests/lib/mcp_toy.h"

#include <string.h>

unsigned toy_prepared, toy_runs;

static int
toy_echo(struct mcp_call *c)
{
    struct json_w w;

    json_w_init(&w, c->out);
    json_obj(&w);
    json_key(&w, "args");
    if (c->args != NULL)
        json_splice(&w, json_raw(c->args));
    else
        json_splice(&w, STR("null"));
    json_put_str(&w, "client", c->client);
    json_put_str(&w, "principal", c->principal);
    json_put_z(&w, "rev", mcp_rev_name(c->rev));
    json_close(&w);
    json_w_end(&w);
    return 0;
}

static void
toy_prepare(struct mcp_call *c)
{
    toy_prepared++;
    c->prepared = &toy_prepared;
}

static int
toy_keep(struct mcp_call *c)
{
    toy_runs++;
    buf_z(c->out, c->prepared == &toy_prepared ? "{\"kept\":true}"
                                               : "{\"kept\":false}");
    return 0;
}

static int
toy_fail(struct mcp_call *c)
{
    c->is_error = true;
    buf_z(c->out, "{\"code\":\"too_late\"}");
    return 0;
}

static int
toy_broken(struct mcp_call *c)
{
    buf_z(c->out, "{\"half\":");
    return ERR_IO;
}

#define TOY_OBJECT "{\"type\":\"object\"}"
#define TOY_TOOLS \
    {.name = "echo", .title = "Echo", .description = "Says it \"again\"", \
     .input_schema = TOY_OBJECT, .idempotent = true, .run = toy_echo}, \
    {.name = "keep", .title = "Keep", .description = "Keeps it", \
     .input_schema = "{\"type\":\"object\",\"properties\":{}}", \
     .writes = true, .idempotent = true, .prepare = toy_prepare, \
     .run = toy_keep}, \
    {.name = "fail", .title = "Fail", .description = "Never works", \
     .input_schema = TOY_OBJECT, .writes = true, .run = toy_fail}, \
    {.name = "broken", .title = "Broken", .description = "Breaks", \
     .input_schema = TOY_OBJECT, .run = toy_broken}

static const struct mcp_tool toy_tools[] = {TOY_TOOLS};

static const struct mcp_template toy_templates[] = {
    {"toy://{id}", "toy", "A toy", "One of them", "text/plain"},
};

/* Two pages; the second cursor needs quoting. */
static int
toy_resources(struct mcp_call *c, struct str cursor, struct str *next)
{
    if (cursor.p == NULL) {
        buf_z(c->out, "{\"uri\":\"toy://1\",\"name\":\"one\"},"
                      "{\"uri\":\"toy://2\",\"name\":\"two\"}");
        *next = STR("\"\xc3\xa9");
        return 0;
    }
    if (!str_is(cursor, "\"\xc3\xa9"))
        return ERR_INVALID;
    buf_z(c->out, "{\"uri\":\"toy://3\",\"name\":\"three\"}");
    return 0;
}

static int
toy_read(struct mcp_call *c, struct str uri)
{
    if (str_is(uri, "toy://busy"))
        return ERR_BUSY;
    if (!str_is(uri, "toy://1"))
        return ERR_NOT_FOUND;
    buf_z(c->out, "{\"uri\":\"toy://1\",\"text\":\"bear\"}");
    return 0;
}

const struct mcp_catalogue toy_catalogue = {
    .name = "toybox",
    .title = "Toy box",
    .version = "7",
    .instructions = "Play.",
    .tools = toy_tools,
    .n_tools = sizeof(toy_tools) / sizeof(*toy_tools),
    .templates = toy_templates,
    .n_templates = 1,
    .resources = toy_resources,
    .resource_read = toy_read,
};

/* ---- the talker ---- */

#define TOY_FORM "{\"message\":\"Who?\"}"

/* Asks for one key. Returns 0 once the answer has come, in *answer. */
static int
toy_question(struct mcp_call *c, const char *key,
             const struct json_tok **answer)
{
    *answer = mcp_request(c, key, "elicitation/create", STR(TOY_FORM));
    return *answer != NULL ? 0 : MCP_RUN_WAITS;
}

static int
toy_ask(struct mcp_call *c)
{
    const struct json_tok *answer;
    int err = toy_question(c, "who", &answer);

    if (err == 0) {
        buf_z(c->out, "{\"got\":");
        buf_str(c->out, json_raw(answer));
        buf_char(c->out, '}');
    }
    return err;
}

/* Asks all kinds of questions at once, with a state that says so. */
static int
toy_three(struct mcp_call *c)
{
    const struct json_tok *a = mcp_request(c, "b\"", "sampling/createMessage",
                                           STR("{\"maxTokens\":9}"));
    const struct json_tok *d = mcp_request(c, "roots", "roots/list", STR_NONE);
    const struct json_tok *b;
    int err = toy_question(c, "a", &b);

    mcp_state(c, STR("three"));
    if (a == NULL || b == NULL || d == NULL)
        return MCP_RUN_WAITS;
    buf_printf(c->out, "{\"types\":[%d,%d,%d],\"state\":", a->type, b->type,
               d->type);
    json_quote(c->out, c->state);
    buf_char(c->out, '}');
    return err;
}

/* Asks two questions one after the other, each in its own round. */
static int
toy_rounds(struct mcp_call *c)
{
    static const char *const state[] = {"", "one\n", "two"};
    static const char *const key[] = {"first", "second"};
    const struct json_tok *answer;

    if (c->round > 2 || !str_is(c->state, state[c->round]))
        return ERR_FORMAT;
    if (c->round > 0 && toy_question(c, key[c->round - 1], &answer) != 0)
        return ERR_BUSY;
    if (c->round == 2) {
        buf_z(c->out, "{\"done\":");
        buf_str(c->out, json_raw(answer));
        buf_char(c->out, '}');
        return 0;
    }
    mcp_state(c, str_of(state[c->round + 1]));
    toy_question(c, key[c->round], &answer);
    return MCP_RUN_WAITS;
}

/* Only keeps a state until its third run. */
static int
toy_shed(struct mcp_call *c)
{
    if (c->round < 2) {
        mcp_state(c, c->round == 0 ? STR("") : STR("x"));
        return MCP_RUN_WAITS;
    }
    buf_printf(c->out, "{\"state\":\"%.*s\"}", STR_ARG(c->state));
    return 0;
}

unsigned toy_wakes, toy_step = 1;
bool toy_looks;
int64_t toy_until_ms;

static int
toy_wait(struct mcp_call *c)
{
    toy_until_ms = c->until_ms;
    mcp_progress(c, c->round / toy_step, 2, NULL);
    mcp_poll(c, 700);
    if (c->round < toy_wakes && toy_looks)
        return mcp_go_on(c, STR("still here"));
    if (c->round < toy_wakes) {
        mcp_wait(c, 1000);
        mcp_state(c, STR("still here"));
        return MCP_RUN_WAITS;
    }
    buf_printf(c->out, "{\"round\":%u,\"state\":\"%.*s\"}", c->round,
               STR_ARG(c->state));
    return 0;
}

static int
toy_need(struct mcp_call *c)
{
    int err = mcp_need(c, MCP_SAMPLING | MCP_ROOTS);

    if (err == 0)
        buf_z(c->out, "{}");
    return err;
}

static int
toy_tell(struct mcp_call *c)
{
    int level;

    mcp_progress(c, 50, 100, "half \"way\"");
    mcp_progress(c, 990, 1000, NULL);
    for (level = 0; level < 8; level++)
        mcp_log(c, level, STR("{\"a\":1}"));
    buf_z(c->out, "[{\"type\":\"text\",\"text\":\"told\"}]");
    c->content = true;
    c->is_error = c->args != NULL;
    return 0;
}

static int
toy_lazy(struct mcp_call *c)
{
    (void)c;
    return MCP_RUN_WAITS;
}

static const struct mcp_param toy_params[] = {
    {"region", "Region"}, {"count", "X-Count"}, {"flag", "flag"}, {0},
};

#define TOY_TALKER(toy) \
    {.name = #toy, .input_schema = TOY_OBJECT, .run = toy_##toy}

static const struct mcp_tool talker_tools[] = {
    TOY_TOOLS,
    TOY_TALKER(ask),
    TOY_TALKER(three),
    TOY_TALKER(rounds),
    TOY_TALKER(shed),
    TOY_TALKER(wait),
    TOY_TALKER(need),
    TOY_TALKER(tell),
    TOY_TALKER(lazy),
    {.name = "route", .input_schema = TOY_OBJECT, .params = toy_params,
     .run = toy_echo},
};

static int
toy_greet(struct mcp_call *c)
{
    struct str name = json_str(c->arena, json_get(c->args, "name"));

    if (str_is(name, "nobody"))
        return ERR_NOT_FOUND;
    buf_z(c->out, "{\"role\":\"user\",\"content\":{\"type\":\"text\","
                  "\"text\":");
    json_quote(c->out, name);
    buf_z(c->out, "}}");
    return 0;
}

static int
toy_quiz(struct mcp_call *c)
{
    const struct json_tok *answer;

    return toy_question(c, "who", &answer);
}

static const struct mcp_prompt_arg greet_args[] = {
    {"name", "Whom", true}, {"tone", NULL, false}, {0},
};

static const struct mcp_prompt talker_prompts[] = {
    {"greet", "Greet", "Says hello", greet_args, toy_greet, 0},
    {"quiz", NULL, NULL, NULL, toy_quiz, 0},
};

static int
talker_read(struct mcp_call *c, struct str uri)
{
    const struct json_tok *answer;

    if (str_is(uri, "toy://ask"))
        return toy_question(c, "who", &answer);
    return toy_read(c, uri);
}

static int
talker_key(void *ctx, struct arena *a, struct str uri, struct str *key)
{
    (void)ctx;
    (void)a;
    *key = uri;
    return str_starts(uri, "toy://") ? 0 : ERR_NOT_FOUND;
}

static int
talker_complete(struct mcp_call *c, struct mcp_completion *q)
{
    if (q->prompt && str_is(q->ref, "greet") && str_is(q->argument, "name")) {
        if (str_is(q->value, "a"))
            buf_z(c->out, "\"ann\",\"anna\"");
        return 0;
    }
    if (q->prompt || !str_is(q->ref, "toy://{id}"))
        return ERR_INVALID;
    buf_z(c->out, "\"1\"");
    q->total = 300;
    q->more = true;
    return 0;
}

const struct mcp_catalogue toy_talker = {
    .name = "toybox",
    .version = "8",
    .tools = talker_tools,
    .n_tools = sizeof(talker_tools) / sizeof(*talker_tools),
    .prompts = talker_prompts,
    .n_prompts = sizeof(talker_prompts) / sizeof(*talker_prompts),
    .templates = toy_templates,
    .n_templates = 1,
    .tools_change = true,
    .prompts_change = true,
    .resources = toy_resources,
    .resource_read = talker_read,
    .resource_key = talker_key,
    .complete = talker_complete,
};

/* ---- the worker, whose calls outlive their requests ---- */

struct store *toy_store;

/* Whether a toy has changed since the call was made. If not, waits for that, as
   a deferred call if possible. */
static bool
toy_has_come(struct mcp_call *c, struct str name)
{
    char key[64];
    const struct store_entry *e;

    text_put(key, sizeof(key), "toy/%.*s", STR_ARG(name));
    e = store_find(toy_store, str_of(key));
    if (e != NULL && e->n > c->since)
        return true;
    mcp_defer(c);
    mcp_watch(c, str_of(key));
    return false;
}

static struct str
toy_arg(struct mcp_call *c, const char *name)
{
    const struct json_tok *t = json_get(c->args, name);
    struct str text = json_str(c->arena, t);

    if (t != NULL && t->type == JSON_STRING && text.p == NULL)
        c->out->err = ERR_NOMEM;
    return text;
}

/* With an owner: waits until the toy "any" has changed, by watching the
   owner. */
static int
toy_await(struct mcp_call *c)
{
    struct str owner = toy_arg(c, "owner");

    toy_runs++;
    mcp_progress(c, toy_runs, 100, NULL);
    if (!toy_has_come(c, owner.p != NULL ? STR("any") : toy_arg(c, "key"))) {
        if (owner.p != NULL)
            mcp_watch(c, arena_printf(c->arena, "owner/%.*s",
                                      STR_ARG(owner)));
        return MCP_RUN_WAITS;
    }
    buf_z(c->out, "{\"came\":true}");
    return 0;
}

static int
toy_later(struct mcp_call *c)
{
    int64_t ms = 0, now = store_now_ms(toy_store);
    uint64_t until;

    mcp_defer(c);
    json_int(json_get(c->args, "ms"), &ms);
    if (!str_u64(c->state, &until))
        until = (uint64_t)(now + ms);
    if ((int64_t)until > now) {
        mcp_state(c, arena_printf(c->arena, "%llu",
                                  (unsigned long long)until));
        mcp_wait(c, (int64_t)until - now);
        return MCP_RUN_WAITS;
    }
    buf_z(c->out, "{\"late\":true}");
    return 0;
}

static int
toy_task(struct mcp_call *c)
{
    mcp_defer(c);
    return toy_ask(c);
}

static int
toy_both(struct mcp_call *c)
{
    const struct json_tok *a, *b;

    mcp_defer(c);
    toy_question(c, "a", &a);
    toy_question(c, "b", &b);
    if (a == NULL || b == NULL)
        return MCP_RUN_WAITS;
    buf_printf(c->out, "{\"a\":%.*s,\"b\":%.*s}", STR_ARG(json_raw(a)),
               STR_ARG(json_raw(b)));
    return 0;
}

/* Asks first. What follows is a task. */
static int
toy_then(struct mcp_call *c)
{
    const struct json_tok *answer;

    if (toy_question(c, "who", &answer) != 0 ||
        !toy_has_come(c, STR("go")))
        return MCP_RUN_WAITS;
    return toy_ask(c);
}

/* Asks for something that may also come by itself. */
static int
toy_either(struct mcp_call *c)
{
    struct str key = toy_arg(c, "key");

    if (!toy_has_come(c, key.p != NULL ? key : STR("go")))
        return toy_ask(c);
    buf_z(c->out, "{\"came\":true}");
    return 0;
}

static int
toy_bad(struct mcp_call *c)
{
    return toy_arg(c, "now").p != NULL || toy_has_come(c, STR("go"))
               ? toy_fail(c) : MCP_RUN_WAITS;
}

static int
toy_broke(struct mcp_call *c)
{
    return toy_has_come(c, STR("go")) ? toy_broken(c) : MCP_RUN_WAITS;
}

static int
toy_once(struct mcp_call *c)
{
    mcp_defer(c);
    return toy_echo(c);
}

static int
toy_big(struct mcp_call *c)
{
    int i;

    if (!toy_has_come(c, STR("go")))
        return MCP_RUN_WAITS;
    buf_z(c->out, "{\"x\":\"");
    for (i = 0; i < STORE_MAX_RECORD / 16; i++)
        buf_z(c->out, "0123456789abcdef");
    buf_z(c->out, "\"}");
    return 0;
}

/* Waits only for its next round. */
static int
toy_spin(struct mcp_call *c)
{
    mcp_defer(c);
    return toy_shed(c);
}

#define TOY_WORKER(toy, support) \
    {.name = #toy, .input_schema = TOY_OBJECT, .run = toy_##toy, \
     .tasks = support}

/* A tool that also asks as a plain call. */
#define TOY_ASKER(toy, support) \
    {.name = #toy, .input_schema = TOY_OBJECT, .run = toy_##toy, \
     .tasks = support, .writes = true}

static const struct mcp_tool worker_tools[] = {
    TOY_WORKER(echo, MCP_TASK_FORBIDDEN),
    TOY_ASKER(ask, MCP_TASK_FORBIDDEN),
    TOY_WORKER(await, MCP_TASK_OPTIONAL),
    TOY_WORKER(later, MCP_TASK_OPTIONAL),
    TOY_WORKER(task, MCP_TASK_OPTIONAL),
    TOY_WORKER(both, MCP_TASK_OPTIONAL),
    TOY_WORKER(then, MCP_TASK_OPTIONAL),
    TOY_ASKER(either, MCP_TASK_OPTIONAL),
    TOY_WORKER(bad, MCP_TASK_OPTIONAL),
    TOY_WORKER(broke, MCP_TASK_OPTIONAL),
    TOY_WORKER(once, MCP_TASK_OPTIONAL),
    TOY_WORKER(big, MCP_TASK_OPTIONAL),
    TOY_WORKER(spin, MCP_TASK_OPTIONAL),
    {.name = "must", .input_schema = TOY_OBJECT, .run = toy_bad,
     .tasks = MCP_TASK_REQUIRED},
    TOY_ASKER(three, MCP_TASK_FORBIDDEN),
    TOY_ASKER(rounds, MCP_TASK_FORBIDDEN),
};

struct str
worker_alias(struct str key, struct str body, char buf[CALL_WATCH_MAX])
{
    static const char member[] = "\"owner\":\"";
    size_t n = sizeof(member) - 1, len = 6;

    (void)key;
    if (!str_starts(body, member))
        return STR_NONE;
    memcpy(buf, "owner/", len);
    while (n < body.len && body.p[n] != '"' && len < CALL_WATCH_MAX)
        buf[len++] = body.p[n++];
    return (struct str){buf, len};
}

const struct mcp_catalogue toy_worker = {
    .name = "toybox",
    .version = "9",
    .tools = worker_tools,
    .n_tools = sizeof(worker_tools) / sizeof(*worker_tools),
    .alias = worker_alias,
};

/* ---- records whose changes are told ---- */

static int
no_resources(struct mcp_call *c, struct str cursor, struct str *next)
{
    (void)c;
    (void)next;
    return cursor.p == NULL ? 0 : ERR_INVALID;
}

static int
no_read(struct mcp_call *c, struct str uri)
{
    (void)c;
    (void)uri;
    return ERR_NOT_FOUND;
}

static int
toys_key(void *ctx, struct arena *a, struct str uri, struct str *key)
{
    size_t n = strlen("toy://");

    (void)ctx;
    if (!str_starts(uri, "toy://"))
        return ERR_NOT_FOUND;
    while (n < uri.len && uri.p[n] != '/')
        n++;
    *key = arena_printf(a, "toy/%.*s", (int)(n - 6), uri.p + 6);
    return key->p != NULL ? 0 : ERR_NOMEM;
}

static bool
toys_change(void *ctx, const struct mcp_change *c)
{
    (void)ctx;
    return c->first;
}

const struct mcp_catalogue toys = {
    .name = "toys",
    .version = "1",
    .tools_change = true,
    .resources = no_resources,
    .resource_read = no_read,
    .resource_key = toys_key,
    .resources_change = toys_change,
};
