#ifndef TASK_CHANGE_H
#define TASK_CHANGE_H

/* change - the tools that change a task, given their arguments. */

#include "task/check.h"
#include "task/task.h"

struct task_receipt {
    struct str id;
    struct str op;          /* as in struct task_event */
    uint64_t version, seq;
    enum task_status status;
    struct str owner;       /* raw JSON string, .p NULL: nobody, or the agent
                               that made the change */
    struct str warnings;    /* raw JSON array, .p NULL: no warning */
    struct str artifact_id; /* raw JSON string, .p NULL: not an attachment */
    struct str question_id; /* raw JSON string, .p NULL: not a question */
    struct str lease;       /* raw JSON object, .p NULL: no lease */
    struct str messages;    /* raw, all of the task: see view_messages_json */
    struct str stop;        /* raw: who asks the caller, its owner, to stop */
    struct str taken;       /* raw: who took it over from the caller */
    struct str agent;       /* raw: the caller's, if it need not give one */
    bool token;             /* a token proved who the caller is */
    bool circle;            /* an import that depends on what waits for it as a
                               part */
    bool renewed;           /* a claim of a task that the caller held */
    struct str was;         /* whose it was before: see task_was; .p NULL: no
                               other agent's */
    /* if no task was found to claim: as in struct task_want */
    bool partial, more;
    int64_t due_ms;
};

/* Runs a tool that changes a task: stages one record, unless the request
   changes nothing, and fills the receipt. 0, or a code that c->e
   explains. Under the lock; blob is for TOOL_ATTACH only. TOOL_CLAIM without
   a task_id takes the one that tasks_find_ready finds; if no task is ready,
   the receipt has no id. */
int task_change(struct tasks *t, struct task_ctx *c, enum task_tool tool,
                const struct task_args *args, const struct task_blob *blob,
                struct task_receipt *out);
/* The same with the arguments as JSON text, an object. */
int task_change_text(struct tasks *t, struct task_ctx *c, enum task_tool tool,
                     struct str text, const struct task_blob *blob,
                     struct task_receipt *out);
/* create_task with args that have tasks: all of them, in one batch, or none.
   Fills out, of TASK_MAX_NEW, in their order, and *n. ERR_EXISTS: some of them
   exist and others do not. If all exist, nothing is changed. */
int task_create_all(struct tasks *t, struct task_ctx *c,
                    const struct task_args *args, struct task_receipt *out,
                    size_t *n);
/* Stages that the holder of k, which is seen to be gone, has left it. Under the
   lock. 0 or an error. */
int task_leave(struct tasks *t, struct arena *a, const struct task *k);
/* Takes over a task from elsewhere as a whole: an object as view_task_json
   writes it, or the predecessor's. Its task_id, created_at, steps and all
   other fields are kept once checked, derived ones dropped, unknown ones
   carried along; a missing status is open, and a missing created_by
   c->who.self. One staged record; under the lock. ERR_EXISTS: there is such a
   task, in no archive; nothing changed. */
int task_import(struct tasks *t, struct task_ctx *c,
                const struct json_tok *obj, struct task_receipt *out);
/* Stages the record that says that the task of r, its newest record, is in
   an archive. Under the lock. ERR_VERSION: r is not the newest any more. */
int task_archive(struct tasks *t, const struct store_rec *r);

#endif
