#ifndef TOOLS_GET_H
#define TOOLS_GET_H

/* get - get_task, and what resources take from it. */

#include "tools/call.h"

/* get_task, its arguments parsed: appends the answer to c->out. 0, or a code
   that x->e explains. */
int tools_get(const struct tools *s, struct task_ctx *x,
              const struct task_args *args, struct buf *out);
/* The same for the task as event seq left it; args has no cursor. */
int tools_get_event(const struct tools *s, struct task_ctx *x,
                    const struct task_args *args, uint64_t seq,
                    struct buf *out);
/* The entry of an artifact in a list of them, .p NULL: none. */
struct str tools_find_artifact(struct str list, struct str id);

/* Whether events of a history have come to max bytes (0: there is no end)
   with ev, *read being those before it. The first is always shown. */
bool tools_read_enough(size_t *read, size_t max, const struct task_event *ev);
/* Makes *ev, an event of a task, the one with number n. ERR_NOT_FOUND: that is
   not kept; ERR_INVALID: it is none of this task. */
int tools_event_at(const struct tools *s, struct arena *a, uint64_t n,
                   struct task_event *ev);

bool tools_is_utf8(struct str s);

#endif
