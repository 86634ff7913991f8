#ifndef TASK_SCHEMA_H
#define TASK_SCHEMA_H

/* schema - the table of fields as clients are shown it. */

#include "task/fields.h"

/* Appends the tool's input schema: a plain object of scalars and arrays. */
void task_tool_schema(enum task_tool tool, struct buf *b);

#endif
