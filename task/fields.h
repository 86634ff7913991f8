#ifndef TASK_FIELDS_H
#define TASK_FIELDS_H

/* fields - the one table of what a task holds and what the tools take: names,
   types, limits, and which tools know them. */

#include "base/base.h"

enum task_status {
    TASK_OPEN,
    TASK_IN_PROGRESS,
    TASK_HANDOFF_READY,
    TASK_EXHAUSTED,
    TASK_DONE, /* this and the following have ended */
    TASK_FAILED,
    TASK_CANCELLED,
    TASK_N_STATUSES
};
/* The statuses of tasks that have ended, a bit each. */
#define TASK_ENDED_BITS ((1u << TASK_N_STATUSES) - (1u << TASK_DONE))

const char *task_status_name(enum task_status s);
/* Returns -1 if there is no such status. */
int task_status_of(struct str name);
/* Whether a task of this status has ended (done, failed, cancelled). */
bool task_status_ended(enum task_status s);
/* The same for a status that is a raw JSON string; false if it is unknown. */
bool task_raw_ended(struct str status);

/* The members of a task's state in the order of v: first what the index filters
   on, then by value to an agent that takes over, since answers that are too
   long are cut from the end. What the index filters on and 0.2.0 does not know
   comes last before F_TITLE: at such a member 0.2.0 stops to look for the
   others. */
enum task_field {
    F_TASK_ID, F_STATUS, F_CURRENT_OWNER, F_PRIORITY, F_REPO_PATH,
    F_PARENT_ID, F_TAGS, F_DEPENDS_ON, F_VERSION, F_CREATED_AT, F_LEASE,
    F_QUESTIONS, F_HANDOFF, F_NOT_BEFORE, F_PATHS,
    F_TITLE, F_GOAL, F_CANCEL_REQUESTED, F_MESSAGES, F_TAKEOVER, F_EXHAUSTED,
    F_CHECKPOINT, F_RESUME_PROMPT, F_REMAINING_STEPS, F_COMPLETED_STEPS,
    F_ACCEPTANCE, F_DECISIONS, F_FAILED_APPROACHES, F_BRANCH, F_COMMIT,
    F_DIRTY, F_RESULT, F_TEST_RESULTS, F_TESTED_COMMIT, F_ARTIFACTS,
    F_CREATED_BY, F_ATTEMPTS,
    TASK_N_FIELDS
};

/* The fields that lists filter by: the index keeps their values. They come
   before F_TITLE. */
enum task_atom {
    ATOM_OWNER, ATOM_REPO_PATH, ATOM_PARENT_ID, ATOM_TAGS, TASK_N_ATOMS
};

/* What comes first in a list: the newest change; or what to begin first, by
   priority, then by how long it waits, as claim_task takes it. */
enum task_order { ORDER_CHANGED, ORDER_WORK, TASK_N_ORDERS };

#define TASK_PRIORITY "2" /* of a task that is given none */
#define TASK_MAX_ID 128
#define TASK_MAX_ARTIFACTS 256
#define TASK_MAX_RESULTS 64   /* of tests */
#define TASK_MAX_OPEN 8       /* questions without an answer */
#define TASK_MAX_QUESTIONS 32 /* kept */
#define TASK_MAX_MESSAGES 16  /* kept */
#define TASK_MAX_UNREAD 4     /* of one sender */
#define TASK_MAX_NEW 50       /* created by one create_task, and */
#define TASK_MAX_NEW_LEN (256 * 1024) /* bytes of their JSON */

enum task_tool { /* in the order of the tool list */
    TOOL_CREATE,
    TOOL_GET,
    TOOL_CHECKPOINT,
    TOOL_HANDOFF,
    TOOL_EXHAUST,
    TOOL_ATTACH,
    TOOL_LIST,
    TOOL_UPDATE, /* the last of the core */
    TOOL_CLAIM, TOOL_ASK, TOOL_WAIT,
    TASK_N_TOOLS,
    TOOL_IMPORT = TASK_N_TOOLS, /* not offered over MCP */
    TOOL_RESUME, TOOL_BRIEF, TOOL_STANDUP /* prompts */
};

/* Arguments that are not fields follow the fields. */
enum task_arg {
    ARG_AGENT = TASK_N_FIELDS, ARG_FROM_AGENT, ARG_TO_AGENT, ARG_REASON,
    ARG_NOTES, ARG_EXPECTED_VERSION, ARG_IDEMPOTENCY_KEY,
    ARG_SECTION, ARG_ARTIFACT_ID, ARG_OFFSET, ARG_MATCH, ARG_LINES,
    ARG_SINCE_SEQ, ARG_EVENTS, ARG_CURSOR,
    ARG_TASKS,
    ARG_NAME, ARG_TYPE, ARG_CONTENT, ARG_ENCODING, ARG_PATH,
    ARG_DESCRIPTION,
    ARG_STATUSES, ARG_TAG, ARG_READY, ARG_NEEDS_INPUT, ARG_STALE, ARG_QUERY,
    ARG_CHANGED_SINCE, ARG_INCLUDE_DONE, ARG_ORDER, ARG_LIMIT, ARG_SINCE,
    ARG_ANSWER, ARG_MESSAGE, ARG_EXPIRES_SECONDS, ARG_TAKEOVER,
    ARG_LEFT, ARG_LEASE_SECONDS, ARG_QUESTION, ARG_OPTIONS,
    ARG_KIND, ARG_TO, ARG_CLEAR,
    ARG_WAIT_SECONDS, ARG_UNTIL,
    TASK_N_ARGS
};

/* The name of a field or argument. */
struct str task_arg_name(int arg);
/* All values that a field or argument may have, up to a NULL; NULL: they are
   not listed. */
const char *const *task_arg_choices(int arg);
/* The field of that name, or -1. */
int task_field_of(struct str name);
/* Whether a stored value is of the form that this version gives the field: a
   list, a list of objects, an object, a text, a number, or null. */
bool task_value_fits(int field, struct str raw);

/* Where a field is shown: in the brief of an agent that takes over, which has
   its name if it is on a line; in the sheet of a person at a terminal; and in
   the form that a person edits, which has its name. */
enum { IN_BRIEF = 1, IN_SHEET = 2, IN_FORM = 4 };
/* What a value is to those who read it. From KIND_LIST on, it stands below a
   heading, its label. */
enum task_kind {
    KIND_LINE,  /* a short text, a number, a choice */
    KIND_TIME,
    KIND_WORDS, /* a list that has room on one line */
    KIND_ITEMS, /* the same, but edited with an item a line */
    KIND_LIST,  /* a list of texts, */
    KIND_TO_DO, KIND_DONE, /* to be ticked off */
    KIND_PROSE,
    KIND_OBJECT, KIND_OBJECTS /* one, and a list of them */
};
/* What people and agents read of a task, in their order; one without a label
   ends it. The page has the same labels. */
extern const struct task_fact {
    uint8_t field, kind, where;
    const char *label;
} task_facts[];

/* The tool's input schema, a plain object of scalars and arrays, in a; .p NULL:
   no memory. */
struct str task_tool_schema(enum task_tool tool, struct arena *a);

#endif
