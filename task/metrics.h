#ifndef TASK_METRICS_H
#define TASK_METRICS_H

/* metrics - figures of the tasks, for monitoring. */

#include "task/task.h"

/* Appends them in the text format of Prometheus. It looks at no more live tasks
   than a list does (TASK_LOOK_MAX, TASK_READ_MAX), the newest changes first;
   mcptask_tasks_unexamined says how many are left. */
void tasks_put_metrics(struct tasks *t, struct buf *b);

#endif
