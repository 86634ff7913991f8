#ifndef TEST_TOOLS_TURN_H
#define TEST_TOOLS_TURN_H

/* tools_turn - like mcp_turn, but with the real catalogue: two clients of one
   principal create and change tasks. The clock stands still, and tests can fill
   the disk. */

#include "task/query.h"
#include "tests/lib/faults.h"
#include "tests/lib/mcp_turn.h"
#include "tools/tools.h"

static struct tasks *tasks;
static struct tools *tools;
static struct cli_env env;

static inline void
start(void)
{
    clock_still = true;
    box.opt.alias = task_names;
    tasks = tasks_new();
    tasks_kind(tasks, &box.kinds[2]);
    if (tools_new(&tools, tasks, &env) != 0)
        abort();
    box_open_as(tools_catalogue(tools), false);
    tasks_bind(tasks, box.s);
    who_pipe(&ann, "", V11);
    who_init(&neo, "");
}

static inline void
begin(void)
{
    world_place(&box);
    start();
}

/* As kill -9. */
static inline void
stop(void)
{
    who_forget(&ann);
    who_forget(&neo);
    box_close();
    tools_free(tools);
    tasks_free(tasks);
}

static inline void
end(void)
{
    stop();
    ahead_ms = 0;
}

/* w's next answer, skipping other messages. */
static inline const char *
asks(struct who *w, const char *text)
{
    size_t i;

    says(w, text);
    for (i = 0; i < w->n; i++)
        if (strstr(w->said[i], "\"result\":") != NULL)
            return w->said[i];
    return "no answer";
}

/* A tool's result for ann, which must not be an error. */
static inline const char *
does(const char *tool, const char *args)
{
    char text[6000];
    const char *said;

    snprintf(text, sizeof text, CALL("%s", "%s"), tool, args);
    said = asks(&ann, text);
    if (!CHECK(strstr(said, "\"content\":[{") != NULL &&
               strstr(said, "\"isError\"") == NULL))
        fprintf(stderr, "  %s: %s\n", tool, said);
    return said;
}

/* Like post; replaces ID in the text by the task's id. */
static inline void
post_as_is(struct who *w, const char *text)
{
    post_text(w, arena_str(&arena, quoted(text)));
}

#define DO(tool, args) does(tool, "{" args "}")
#define CREATE(id, more) \
    DO("create_task", "'task_id':'" id "','title':'t'" more)
#define MINE ",'status':'in_progress','current_owner':'me'"
#define BECOMES(id, status) \
    "{'task_id':'" id "','agent':'me','status':'" status "'}"
#define WAIT(args) TASK("wait_for_task", "{" args "}")
#define ASK(question) \
    "{'task_id':'t','agent':'me','question':'" question "','wait_seconds':3}"

#endif
