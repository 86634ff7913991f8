#ifndef TASK_QUESTION_H
#define TASK_QUESTION_H

/* task_question - the questions of a task as its record has them: a list of
   raw objects {question_id, question, options, kind, by, at, answer}, oldest
   first; open are those without an answer {text, action, by, at}. */

#include "task.h"

/* A list with `with` in place of its element `item`, which is a slice of it,
   or behind all where that is .p NULL; an empty `with` leaves the element
   out. In a; .p NULL: no memory. */
struct str task_list_edit(struct arena *a, struct str list, struct str item,
                          struct str with);
/* The question of an id (raw), .p NULL: there is none. */
struct str task_question_find(struct str questions, struct str id);

/* Reads the answer (raw) to the question of an id (raw) of a task as it is
   now, .p NULL: it is open. ERR_NOT_FOUND: there is no such question, or it
   is no longer kept; or what task_event_last says. */
int task_question_answer(struct tasks *t, struct arena *a, struct str task_id,
                         struct str question_id, struct str *answer);

#endif
