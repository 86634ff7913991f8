#ifndef CLI_HUMAN_H
#define CLI_HUMAN_H

/* human - how tasks look to a person at a terminal: a row of a table, a
   question, the whole of one. What programs and agents read is in
   task/view.h. */

#include "cli/table.h"
#include "task/task.h"

/* The name and the colour of a column of the board (enum task_column), or of
   what human_sign_of returns. */
const char *human_column(int column);
const char *human_column_sgr(int column);

/* What stands beside the id of a task: an entry of a table of signs; 0: a blank
   one, for a task that is ready. */
int human_sign_of(const struct task *k);
/* Adds a line that explains the signs that are set in bits, then text. */
void human_legend(struct table *t, unsigned bits, const char *text);

/* The columns of a list, and its row of a task. Of one that is not of the
   caller's project, it has the name of its own. */
enum { HUMAN_COLUMNS = 8 };
extern const struct table_column human_list[HUMAN_COLUMNS];
void human_row(struct table *t, const struct task *k);

/* "3/5", the steps that are completed, and all; or empty. */
struct str human_steps(struct arena *a, const struct task *k);
/* Appends a task to c->out: on a terminal as a row, in a pipe as
   view_task_line. */
void human_put_task(struct cli *c, const struct task *k);

/* A task on the board: a row, and below it the reason, if a person should look
   at the task. Texts are in a. */
enum { HUMAN_CARD_COLUMNS = 7 };
extern const struct table_column human_cards[HUMAN_CARD_COLUMNS];
struct human_card {
    struct table_cell cells[HUMAN_CARD_COLUMNS];
    struct str reason; /* or empty */
};
void human_make_card(const struct cli *c, struct arena *a,
                     const struct task *k, struct human_card *out);

/* The texts of a list (raw) with commas between them. */
struct str human_joined(struct arena *a, struct str list);
/* What was done, in a word or two; and *about: with what, as the state after it
   tells, which a server does not. Both may be in a. */
struct str human_deed(struct arena *a, const struct task_event *ev,
                      struct str *about);
/* A list of events, of one task or of all. A person reads when, who and what; a
   program has the seq, and each part in a column of its own: human_event adds
   a row. The caller draws and ends t. */
struct human_events {
    struct table t;
    bool of_one;
};
void human_begin_events(struct human_events *e, struct cli *c, bool of_one);
void human_event(struct human_events *e, const struct task_event *ev);

/* The open question of a task that follows item, raw; after STR_NONE the first;
   .p NULL: there is none. A summary has only the first. */
struct str human_open_question(const struct task *k, struct str item);
/* The answers that a question can have, a raw array; .p NULL: any text. */
struct str human_answers(struct str question);
/* Adds an open question of a task (raw), at most max lines of it, its options,
   and the command that answers it. */
void human_question(struct table *t, size_t indent, const struct task *k,
                    struct str question, size_t max);
/* The heading of a task in a list of questions: "P0  PAY-1185  codex asked anna
   25m ago". */
void human_asked(struct table *t, const struct task *k, struct str question);
/* Adds a text, with its lines broken where the terminal ends, at most max of
   them. */
void human_text(struct table *t, size_t indent, struct str text, size_t max,
               const char *sgr);

/* Everything about one task. */
struct sheet {
    struct table t;
    struct arena a; /* of its texts */
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
