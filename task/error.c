/* error - why a request was refused.

   An error text is made of constants, numbers and at most the caller's own
   argument. It never holds the content of a task. */

#include "task/error.h"
#include "base/text.h"

#include <stdarg.h>

static const struct {
    const char *message, *next;
} hints[] = { /* indexed by -code */
    [-ERR_NOMEM] = {"out of memory", "try again"},
    [-ERR_INVALID] = {"invalid argument", NULL},
    [-ERR_NOT_FOUND] = {"not found", "list_tasks shows the tasks that exist"},
    [-ERR_EXISTS] = {"the task_id is taken",
     "use another task_id, or update_task to change that task"},
    [-ERR_TOO_LARGE] = {"too large", "make it shorter"},
    [-ERR_VERSION] = {"the task has changed",
     "get_task, then repeat with its version as expected_version"},
    [-ERR_NOT_OWNER] = {"another agent owns the task",
     "get_task shows current_owner; that agent hands the task over"},
    [-ERR_BLOCKED] = {"tasks that it depends on are not done",
     "get_task names them in blocked_by; finish those first"},
    [-ERR_TRANSITION] = {"the task cannot go from its status to this one",
     "set one of the allowed statuses first"},
    [-ERR_TERMINAL] = {"the task has ended",
     "to continue it, update_task with an allowed status and a reason"},
    [-ERR_CYCLE] = {"the task would wait for itself",
     "leave out the task that leads back to this one"},
    [-ERR_IDEMPOTENCY] = {"the idempotency_key was used with other arguments",
     "use a new key for a new request"},
    [-ERR_EVIDENCE] = {"done needs test_results",
     "run the tests and give test_results with the same update"},
    [-ERR_BUSY] = {"another process holds the store", "try again"},
    [-ERR_FULL] = {"the disk is full, or etcd has reached its quota",
     "tell the operator: mcptask doctor says what to do; then try again"},
    [-ERR_READONLY] = {"the store is read-only",
     "tools that only read still work"},
    [-ERR_IO] = {"the store cannot be read or written",
     "tell the operator: mcptask verify explains"},
    [-ERR_DAMAGED] = {"the log is damaged",
     "tell the operator: mcptask verify explains"},
    [-ERR_UNKNOWN] = {"the change may or may not be on disk",
     "once a write succeeds, get_task shows whether it took effect"},
    [-ERR_FORMAT] = {"a newer mcptask wrote the record",
     "tell the operator: this mcptask is too old to read it"},
    [-ERR_UNAUTHORIZED] = {"the token may only read",
     "tools that only read still work"},
    [-ERR_LEASE] = {"another agent holds a lease on the task",
     "take other work, or try again when the lease has ended; update_task with "
     "message reaches the holder; if it is yours, give the same agent"},
    [-ERR_UNREACHABLE] = {"the store that the hosts share does not answer",
     "try again; until it answers, tools that only read still work"},
    [-ERR_SKEW] = {"this host's clock is too far from the store's",
     "tell the operator to set the clock; tools that only read still work"},
    [-ERR_GARBLED] = {"the task's newest record is not JSON",
     "update_task goes on from the record before it; if that is gone too, "
     "create_task with this task_id begins it anew"},
};

static const char unnamed[] = "the store failed";

const char *
task_why(int code)
{
    size_t i = (size_t)-code;

    return i < sizeof hints / sizeof *hints && hints[i].message
               ? hints[i].message : unnamed;
}

int
task_fail_store(struct task_ctx *c, int code)
{
    struct task_error *e = &c->e;
    const char *message = task_why(code);

    *e = (struct task_error){.code = code, .allowed = e->allowed,
                             .unknown = code == ERR_UNKNOWN,
                             .message = str_of(message)};
    if (message != unnamed && hints[-code].next)
        e->next = str_of(hints[-code].next);
    return code;
}

int
task_next(struct task_ctx *c, const char *next)
{
    c->e.next = str_of(next);
    return c->e.code;
}

int
task_fail(struct task_ctx *c, int code, const char *field, const char *fmt,
          ...)
{
    struct task_error *e = &c->e;
    char text[256];
    struct str message;
    va_list ap;

    va_start(ap, fmt);
    text_vput(text, sizeof text, fmt, ap);
    va_end(ap);
    task_fail_store(c, code);
    message = arena_str(c->a, str_of(text));
    if (message.p)
        e->message = message;
    if (field)
        e->field = str_of(field);
    if (code == ERR_NOT_FOUND && str_is(e->field, "artifact_id"))
        e->next = STR("get_task names the task's artifacts");
    if (str_is(e->field, "answer") && code != ERR_TOO_LARGE)
        e->next = STR("get_task shows the task's questions");
    return code;
}
