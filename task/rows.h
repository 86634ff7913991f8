#ifndef TASK_ROWS_H
#define TASK_ROWS_H

/* rows - the rows of the table of fields and arguments. Schemas are made from
   them, and arguments are checked against them. Data only. */

#include "task/fields.h"

enum {
    T_TEXT,    /* max bytes, or characters with CHARS */
    T_ID,      /* [A-Za-z0-9._:-]{1,128} */
    T_NAME,    /* one of choices */
    T_TIME,    /* RFC 3339 */
    T_WHEN,    /* RFC 3339, or a seq */
    T_INT,     /* min to max; no text from here on */
    T_COUNT,   /* a whole number from 0, or a truth value */
    T_BOOL,
    T_OBJECT,  /* with the members of sub */
    T_CONTENT, /* any string, not checked further */
    T_TASKS    /* a list of objects, not checked further */
};

/* ONE: not empty; FIXED: cannot be null; INT32: from INT32_MIN to INT32_MAX;
   SET: repeated elements are dropped; CLAMP: a number out of range counts as
   the nearest one in it; RELATIVE: a path without . or .. */
enum {
    CHARS = 1, ONE = 2, FIXED = 4, INT32 = 8, SET = 16, CLAMP = 32,
    RELATIVE = 64
};

/* IN_SUMMARY: a member of the summary of a list; UNSHOWN: an argument that our
   own programs pass, which no schema has. What people and agents are shown is
   in task_facts. */
enum { IN_SUMMARY = 1, UNSHOWN = 2 };

struct row {
    const char *name;
    uint32_t max;   /* of a T_INT 0: as far as JSON numbers are exact */
    uint16_t items; /* 0: one value; else a list of at most so many */
    uint32_t tools, needs; /* the tools that take or require it, a bit each */
    uint8_t len;    /* of name */
    uint8_t type, flags, shown;
    uint8_t min;
    uint8_t sub;    /* T_OBJECT: of objects; T_NAME: of choices */
    uint8_t n_sub;  /* members of the object */
};

/* Kinds of choices: the sub of a row that is a T_NAME. */
enum {
    STATUSES, SECTIONS, ARTIFACT_TYPES, ENCODINGS, KINDS, ACTIONS, UNTILS,
    ORDERS
};

extern const struct row task_rows[TASK_N_ARGS];
/* By enum task_atom: the field, and the argument of list_tasks that asks for
   it, as task/query.c compares them. */
extern const struct row_atom {
    uint8_t field, arg;
} row_atoms[TASK_N_ATOMS];
/* By a row's sub: the members of an object, the choices of a name. */
extern const struct row *const row_objects[];
extern const char *const *const row_choices[];

/* Ends the process if a field, an argument, an atom or an order has no row. */
void row_check(void);
/* The number of a name (raw) among the choices of this kind; -1: it is none. */
int row_choice(int choices, struct str raw);
/* The row of that name among n that one of tools takes, or any tool if tools is
   0; NULL if there is none. */
const struct row *row_named(const struct row *r, size_t n,
                            unsigned tools, struct str name);

#endif
