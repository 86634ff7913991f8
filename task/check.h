#ifndef TASK_CHECK_H
#define TASK_CHECK_H

/* check - a caller's arguments, checked against the table of fields. */

#include "json.h"
#include "task/caller.h"
#include "task/fields.h"

/* Checked arguments: raw canonical JSON by field or argument. .p NULL: not
   given; "null": to be cleared (update_task only). */
struct task_args {
    struct str v[TASK_N_ARGS];
    struct str extra; /* import: members unknown here, as in struct task */
    struct str notes; /* raw array of texts for the answer: how a number out of
                         range was taken; .p NULL: none */
    struct str self;  /* raw: c->who.self, .p NULL: empty */
    bool own_name;    /* the agent was not given: it is that one, or the
                         client's own name, which says no more */
};

/* An artifact's content, stored before the lock was taken. */
struct task_blob {
    bool stored;         /* false: only a path or a name was given */
    char sha256[65];     /* in hex */
    uint64_t size;
    const char *warning; /* for the agent, or NULL */
};

/* Checks obj (an object; NULL: an empty one) as the arguments of tool. Returns
   0, or the code passed to task_fail. What models and hosts really send is
   taken as it is meant: numbers for texts, texts for whole numbers, true and
   false, a list as JSON text or as its only element. null is not given, and
   neither is an empty text or 0 that the argument cannot be. An empty text or
   list clears a field in update_task, as clear does. A limit or time out of
   range is taken as the nearest in it. If c has a principal, that is the agent
   unless one that it may be is given (ERR_UNAUTHORIZED for another); otherwise
   c->who.self is the agent if none is given, or one that covers c->who.client:
   models call themselves by their product. With
   c->at a repo_path that is a directory below a repository is that of its
   project, or a list of both where tasks are asked for, and an empty one of
   create_task is "null". */
int task_args_parse(struct task_ctx *c, enum task_tool tool,
                    const struct json_tok *obj, struct task_args *out);
/* Who is given what an import cannot take over exactly. */
struct task_lost {
    /* The whole value of a field, and what is wrong with it. Returns 0, or an
       error that ends the import of this task. */
    int (*keep)(void *of, struct str field, const struct json_tok *whole,
                struct str why);
    void *of;
};
/* The same for TOOL_IMPORT. What does not fit is cut, or left out where no part
   of it fits, and given whole to lost. Only a bad task_id or title is still
   refused. */
int task_args_fit(struct task_ctx *c, const struct json_tok *obj,
                  const struct task_lost *lost, struct task_args *out);
/* SHA-256 in hex of all arguments except the idempotency key. */
void task_args_digest(const struct task_args *args, char hex[65]);

/* The argument as decoded text, or .p NULL. */
struct str task_arg_text(struct arena *a, const struct task_args *args,
                         int arg);
/* The argument as a number, or otherwise. */
uint64_t task_arg_u64(const struct task_args *args, int arg,
                      uint64_t otherwise);
bool task_arg_true(const struct task_args *args, int arg);

/* Reads RFC 3339, and also forms that older stores hold and people type: a
   blank for the T, no zone, which means UTC, a date alone, and seconds or
   milliseconds since 1970, 9 to 13 digits. */
bool task_time_parse(struct str s, int64_t *ms);

/* Whether s is well-formed as a task's id. */
bool task_is_id(struct str s);

#endif
