#ifndef TASK_FIELDS_H
#define TASK_FIELDS_H

/* task_fields - the one table of what a task holds and what the tools take:
   name, type and limits of each, and which tools know it. */

#include "task.h"

#define TASK_MAX_AGENT 128
#define TASK_MAX_ARTIFACTS 256
#define TASK_MAX_DEPS 64
#define TASK_MAX_OPEN 8       /* questions without an answer */
#define TASK_MAX_QUESTIONS 32 /* that are kept */

enum task_tool { /* in the order in which they are listed */
    TOOL_CREATE,
    TOOL_GET,
    TOOL_CHECKPOINT,
    TOOL_HANDOFF,
    TOOL_EXHAUST,
    TOOL_ATTACH,
    TOOL_LIST,
    TOOL_UPDATE, /* the last of the core */
    TOOL_CLAIM,
    TOOL_ASK,
    TOOL_WAIT,
    TASK_N_TOOLS,
    TOOL_IMPORT = TASK_N_TOOLS, /* not offered over MCP */
    TOOL_RESUME, TOOL_BRIEF, TOOL_STANDUP /* prompts */
};

/* Arguments that are no fields, behind the fields. */
enum task_arg {
    ARG_AGENT = TASK_N_FIELDS, ARG_FROM_AGENT, ARG_TO_AGENT, ARG_REASON,
    ARG_NOTES, ARG_EXPECTED_VERSION, ARG_IDEMPOTENCY_KEY,
    ARG_SECTION, ARG_ARTIFACT_ID, ARG_SINCE_SEQ, ARG_EVENTS, ARG_CURSOR,
    ARG_NAME, ARG_TYPE, ARG_CONTENT, ARG_ENCODING, ARG_PATH,
    ARG_DESCRIPTION,
    ARG_TAG, ARG_READY, ARG_NEEDS_INPUT, ARG_STALE, ARG_QUERY,
    ARG_CHANGED_SINCE, ARG_INCLUDE_DONE, ARG_LIMIT, ARG_SINCE,
    ARG_ANSWER, ARG_LEASE_SECONDS, ARG_QUESTION, ARG_OPTIONS, ARG_KIND,
    ARG_WAIT_SECONDS, ARG_UNTIL, ARG_TIMEOUT_SECONDS,
    TASK_N_ARGS
};

/* What a tool was given, checked: raw canonical JSON by field or argument;
   .p NULL: not given; "null": to be cleared (update_task only). */
struct task_args {
    struct str v[TASK_N_ARGS];
    struct str extra; /* import: members unknown here, as in struct task */
};

/* Checks obj (an object, or NULL for none) as what tool was given. 0, or the
   code that task_fail was told. Numbers are taken for texts, as some clients
   send them, and whole numbers, true and false also as texts. An empty text
   where one character is needed counts as null, and null as not given. Where
   c has a principal, that is the agent: ERR_UNAUTHORIZED for another. */
int task_args_parse(struct task_ctx *c, enum task_tool tool,
                    const struct json_tok *obj, struct task_args *out);
/* SHA-256 in hex of all that was given but the idempotency key itself. */
void task_args_digest(const struct task_args *args, char hex[65]);

/* The argument as decoded text, or .p NULL. */
struct str task_arg_text(struct arena *a, const struct task_args *args,
                         int arg);
/* The argument as a number, or otherwise. */
uint64_t task_arg_u64(const struct task_args *args, int arg,
                      uint64_t otherwise);
bool task_arg_true(const struct task_args *args, int arg);

/* Reads RFC 3339, and also what older stores hold and people type: a blank
   for the T, no zone, which is taken as UTC, and a date alone. */
bool task_time_parse(struct arena *a, struct str s, int64_t *ms);

/* Whether s has the form of a task's id. */
bool task_is_id(struct str s);
/* The name of a field or argument. */
struct str task_arg_name(int arg);
/* The field of that name, or -1. */
int task_field_of(struct str name);
/* Appends the tool's input schema: a plain object of scalars and arrays. */
void task_tool_schema(enum task_tool tool, struct buf *b);
/* Whether the tool has an argument of that name, and needs it. */
bool task_tool_takes(enum task_tool tool, const char *name, bool *required);

#endif
