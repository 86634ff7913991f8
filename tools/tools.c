/* tools - the catalogue: the tools as agents see them, and what else mcp is
   given.

   1. The input schemas are made from the table that the arguments are checked
      by (task/fields.c), so they cannot say something else.
   2. Schemas are plain: objects that name their members, scalars and arrays, no
      references and no choices between types, since clients drop tools that
      have those.
   3. tools/list stays under 14 KB, of the core 11.

   What agents are told is in tools/tools.txt, which the build packs into
   the binary. A line "@NAME" begins what a tool does, or another text. */

#include "tools/tools.h"
#include "store/remote.h"
#include "task/query.h"
#include "tools/call.h"
#include "tools/get.h"
#include "tools/prompts.h"
#include "tools/resources.h"
#include "tools/wait.h"
#include "base/gunzip.h"
#include "base/text.h"

#include <stdlib.h>

/* ---- what clients are shown ---- */

/* A card with a check mark. */
#define ICON "data:image/svg+xml,%3Csvg%20xmlns='http://www.w3.org/2000/svg'" \
    "%20viewBox='0%200%2016%2016'%3E%3Crect%20width='16'%20height='16'" \
    "%20rx='4'%20fill='%231b6661'/%3E%3Cpath%20d='M4%208l3%203%205-6'" \
    "%20fill='none'%20stroke='white'%20stroke-width='2'/%3E%3C/svg%3E"

static const struct mcp_tool all[TASK_N_TOOLS] = {
    [TOOL_CREATE] = {
        .name = "create_task",
        .title = "Create task",
        .hint = "plan work for this or another agent",
        .writes = true, .idempotent = true, .run = tools_create,
    },
    [TOOL_GET] = {
        .name = "get_task",
        .title = "Get task",
        .hint = "read a task, its history, files and logs",
        .idempotent = true, .run = tools_get,
    },
    [TOOL_CHECKPOINT] = {
        .name = "save_checkpoint",
        .title = "Save checkpoint",
        .hint = "save progress before the context is full",
        .writes = true, .run = tools_run_change,
    },
    [TOOL_HANDOFF] = {
        .name = "handoff_task",
        .title = "Hand off task",
        .hint = "hand over work to another agent",
        .writes = true, .run = tools_run_change,
    },
    [TOOL_EXHAUST] = {
        .name = "mark_exhausted",
        .title = "Mark exhausted",
        .hint = "stop when out of tokens or quota",
        .writes = true, .run = tools_run_change,
    },
    [TOOL_ATTACH] = {
        .name = "attach_artifact",
        .title = "Attach artifact",
        .hint = "keep a file, diff or log with a task",
        .writes = true, .idempotent = true,
        .prepare = tools_prepare_attach,
        .run = tools_attach,
    },
    [TOOL_LIST] = {
        .name = "list_tasks",
        .title = "List tasks",
        .hint = "find open tasks and the work of agents",
        .idempotent = true, .run = tools_list, .ui = TOOLS_BOARD,
    },
    [TOOL_UPDATE] = {
        .name = "update_task",
        .title = "Update task",
        .hint = "finish or change a task, answer, message an agent",
        .writes = true, .run = tools_run_change,
    },
    [TOOL_CLAIM] = {
        .name = "claim_task",
        .title = "Claim task",
        .hint = "resume or take over the work of another agent",
        .writes = true, .tasks = MCP_TASK_OPTIONAL, .run = tools_claim,
    },
    [TOOL_ASK] = {
        .name = "request_input",
        .title = "Request input",
        .hint = "ask a person or another agent",
        .writes = true, .tasks = MCP_TASK_OPTIONAL, .run = tools_ask,
    },
    [TOOL_WAIT] = {
        .name = "wait_for_task",
        .title = "Wait for task",
        .hint = "wait for another agent's work or answer",
        .idempotent = true, .tasks = MCP_TASK_OPTIONAL, .run = tools_wait,
    },
};

const char *
tools_name(enum task_tool tool)
{
    return all[tool].name;
}

bool
tools_writes(enum task_tool tool)
{
    return all[tool].writes;
}

/* Each text after its name and a blank, between two NULs. */
static const uint8_t packed[] = {
#include "tools.inc"
};

_Static_assert(TASK_NAMES_MAX <= CALL_WATCH_MAX, "names are watched");

/* ---- the catalogue ---- */

static void
put_notice(void *ctx, struct buf *out)
{
    const struct tools *s = ctx;
    const char *lost = store_damage(tasks_store(s->t));

    int64_t stale_ms = store_stale_ms(tasks_store(s->t));

    if (lost)
        buf_printf(out, ",\"log_damaged\":\"%s\"", lost);
    if (stale_ms > 0)
        buf_printf(out, ",\"store_stale\":\"no answer from the other hosts for "
                   "%lld s; their latest changes may be missing\"",
                   (long long)(stale_ms + 999) / 1000);
}

/* Agents that are gone leave work for those that wait for it. */
static const char *
unrecorded(void *ctx)
{
    const struct tools *s = ctx;

    return tasks_lost(s->t) ? TASK_FREE : NULL;
}

int
tools_new(struct tools **out, struct tasks *t, const struct cli_env *env)
{
    const struct str texts = {(const char *)packed, sizeof packed};
    struct tools *s = calloc(1, sizeof *s);

    *out = NULL;
    if (!s || gunzip(texts, &s->texts) != 0) {
        free(s);
        return ERR_NOMEM;
    }
    s->t = t;
    s->env = env;
    s->catalogue = (struct mcp_catalogue){
        .name = "mcptask",
        .title = "mcptask",
        .version = mcptask_version,
        .description = "Keeps tasks when agents stop, so that others can "
                       "continue them",
        .icon = ICON,
        .instructions = tools_text(s, "instructions"),
        .agent = env_agent(env),
        .ctx = s,
        .tools = s->tool,
        .prompts = tools_prompts,
        .n_prompts = TOOLS_N_PROMPTS,
        .structured = env->structured,
        .put_notice = put_notice,
        .templates = tools_templates,
        .n_templates = TOOLS_N_TEMPLATES,
        .resources = tools_resources,
        .resource_read = tools_resource_read,
        .skills = tools_skills,
        .resource_key = tools_resource_key,
        .resources_change = tools_resources_change,
        .unrecorded = unrecorded,
        .alias = task_names,
        .complete = tools_complete,
    };
    for (size_t i = 0; i < TASK_N_TOOLS; i++) {
        struct mcp_tool *tool = &s->tool[s->catalogue.n_tools];

        ASSERT(all[i].name != NULL); /* each enum task_tool has a row */
        if ((env->read_only && all[i].writes) ||
            (env->core && i > TOOL_UPDATE))
            continue;
        *tool = all[i];
        tool->number = (unsigned)i;
        tool->description = tools_text(s, tool->name);
        tool->input_schema = task_tool_schema((enum task_tool)i,
                                              &s->schemas).p;
        if (!tool->input_schema) {
            tools_free(s);
            return ERR_NOMEM;
        }
        s->catalogue.n_tools++;
    }
    *out = s;
    return 0;
}

const struct mcp_catalogue *
tools_catalogue(const struct tools *s)
{
    return &s->catalogue;
}

void
tools_free(struct tools *s)
{
    if (!s)
        return;
    arena_fini(&s->schemas);
    free((char *)s->texts.p);
    free(s);
}
