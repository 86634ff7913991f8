#ifndef CLI_SHEET_H
#define CLI_SHEET_H

/* sheet - everything about one task, for a person at a terminal. */

#include "cli/human.h"

struct sheet {
    struct table t;
    const struct task *k;
    uint64_t n_parts, parts_done;
};

/* Begins with what a person asks first: what it is, where it stands, and what
   it waits for. k has to live until the end. */
void sheet_begin(struct sheet *s, struct cli *c, const struct task *k);
/* Adds a task that is part of it. */
void sheet_add_part(struct sheet *s, const struct task *part);
/* Adds the rest, writes it all to c->out, and frees the sheet. */
void sheet_end(struct sheet *s);

#endif
