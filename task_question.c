/* task_question - looking at a task's questions and its lists of objects.

   What may be asked and answered, and by whom, is for task_change.c to say;
   here lists are taken apart and put together again, byte for byte. */

#include "task_question.h"
#include "task_raw.h"

struct str
task_list_edit(struct arena *a, struct str list, struct str item,
               struct str with)
{
    struct buf b = {0};
    struct str next, out = STR_NONE;
    size_t at = 0;
    bool more;

    do {
        next = task_list_next(list, &at);
        more = next.p != NULL;
        if (next.p == item.p) /* or both are none, at the end */
            next = with;
        if (next.len) {
            buf_char(&b, b.len ? ',' : '[');
            buf_str(&b, next);
        }
    } while (more);
    buf_z(&b, b.len ? "]" : "[]");
    if (b.err == 0)
        out = arena_str(a, buf_view(&b));
    buf_fini(&b);
    return out;
}

struct str
task_question_find(struct str questions, struct str id)
{
    struct str item;
    size_t at = 0;

    do
        item = task_list_next(questions, &at);
    while (item.p && !str_eq(task_member(item, "question_id"), id));
    return item;
}

int
task_question_answer(struct tasks *t, struct arena *a, struct str task_id,
                     struct str question_id, struct str *answer)
{
    struct task_event ev;
    struct str item;
    int rc = task_event_last(t, a, task_id, &ev);

    if (rc != 0)
        return rc;
    item = task_question_find(task_member(ev.v, "questions"), question_id);
    *answer = task_member(item, "answer");
    return item.p ? 0 : ERR_NOT_FOUND;
}
