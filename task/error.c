/* error - why a request was refused.

   An error text is made of constants, numbers and at most the caller's own
   argument. It never holds the content of a task. */

#include "task/error.h"
#include "base/text.h"

#include <stdarg.h>

int
task_fail_store(struct task_ctx *c, int code)
{
    struct task_error *e = &c->e;
    const struct err_row *row = err_row(code);

    *e = (struct task_error){.code = code, .allowed = e->allowed,
                             .unknown = code == ERR_UNKNOWN,
                             .message = str_of(row->message)};
    if (row->next)
        e->next = str_of(row->next);
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
        e->next = STR("call get_task to list the task's artifacts");
    if (str_is(e->field, "answer") && code != ERR_TOO_LARGE)
        e->next = STR("call get_task to see the task's questions");
    return code;
}
