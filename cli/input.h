#ifndef CLI_INPUT_H
#define CLI_INPUT_H

/* input - a file or a pipe of JSON, cut into records: one after the other,
   however they are spaced, or the elements of one array. */

#include "base/base.h"

#define INPUT_CHUNK (64 * 1024)
#define INPUT_MAX (2 * 1024 * 1024) /* bytes of one record */

struct input {
    const char *name;
    int fd, err;        /* err: errno of a read that failed */
    int64_t read, size; /* bytes; size 0: unknown */
    bool array;
    uint64_t number;    /* of the record: its line or element, from 1 */
    struct buf piece;   /* the record, without the blanks before it */
    bool long_piece;    /* longer than INPUT_MAX; the rest was dropped */
    /* Only for cli/input.c: */
    char chunk[INPUT_CHUNK];
    size_t at, n;        /* position in chunk, and its length */
    uint64_t line;       /* lines that were read */
    bool closed;         /* the array has ended */
    bool string, escape; /* within the record */
    uint32_t depth;      /* of open brackets */
};

/* Begins to read in->fd. */
void input_begin(struct input *in);
/* Reads the next record. Returns 1, or 0 at the end; ERR_NOMEM, ERR_IO with
   in->err, ERR_INCOMPLETE if the input ends within the array, ERR_SYNTAX for
   text after it. An element that is missing is an empty piece. */
int input_next(struct input *in);
void input_fini(struct input *in);

#endif
