#ifndef CLI_TABLE_H
#define CLI_TABLE_H

/* table - rows of cells in columns, for a terminal and for pipes.

   On a terminal a row takes one line: the rest column has the room that the
   others leave, and a text that is too long ends with "…". Where the width is
   unknown, as in a pipe, nothing is cut, and a very long text shifts only its
   own row. */

#include "cli/command.h"

#define TABLE_COLUMNS 8

struct table_column {
    const char *head; /* NULL: the table has no heads */
    uint8_t share;    /* percent of a terminal that it may take; 0: any */
    bool right;       /* its texts end below one another */
    bool tight;       /* only one blank precedes it */
    bool rest;        /* it has the room that is left; one column does */
    bool may_go;      /* where there is no room, it is left out */
};

struct table_cell {
    struct str s;    /* any text; what a terminal would act on is made plain */
    const char *sgr; /* its colour, as for cli_paint */
};

struct table {
    struct cli *c;
    const struct table_column *cols;
    size_t n;      /* columns */
    size_t width;  /* of the terminal; 0: unknown */
    size_t indent; /* blanks before each row */
    bool headed;   /* the heads have been written */
    size_t wide[TABLE_COLUMNS]; /* the widest texts so far, cut to a share */
    size_t full[TABLE_COLUMNS]; /* and whole */
    struct arena a; /* of the rows that have not been written */
    struct table_row *first, **last;
};

/* Begins a table of n columns, whose rows go to c->out; there cli_flush finds
   them safe for a terminal. */
void table_begin(struct table *t, struct cli *c,
                 const struct table_column *cols, size_t n, size_t width);
/* Adds a row: a cell for each column, whose texts are copied. */
void table_row(struct table *t, const struct table_cell *cells);
/* Adds a line that has no columns, indented by so many blanks. */
void table_line(struct table *t, size_t indent, struct table_cell line);
/* The same, but it is not cut: for a command, which is to be copied. */
void table_whole_line(struct table *t, size_t indent, struct table_cell line);
/* Writes the rows to c->out. Rows that follow have columns that are no
   narrower. */
void table_draw(struct table *t);
/* The same, and frees the table. */
void table_end(struct table *t);

/* The cells of a terminal that s, UTF-8, takes: 2 for a wide character (East
   Asian Width W or F of Unicode, most emoji), 0 for one that joins the one
   before it, else 1. */
size_t cli_width(struct str s);
/* The start of s that fits into width cells; *used is what it takes. */
struct str cli_cut(struct str s, size_t width, size_t *used);
/* Cuts s, plain text, to width cells (0: any), the last ones "…" if it was
   longer; in a. *used is what it takes. */
struct str table_cut(struct arena *a, struct str s, size_t width,
                     size_t *used);

#endif
