#ifndef CLI_INPUT_H
#define CLI_INPUT_H

/* input - a file or a pipe, cut into pieces: records as JSON, however it is
   spaced, or one Markdown file. */

#include "base/base.h"

#define INPUT_CHUNK (64 * 1024)
#define INPUT_MAX (2 * 1024 * 1024) /* bytes of one piece */
#define INPUT_TAG 64                /* bytes of a tag that are kept */

enum input_form {
    INPUT_VALUES,   /* one after the other, each on one line or on several */
    INPUT_LINES,    /* a record a line: after too much that was broken */
    INPUT_ARRAY,    /* the elements of one */
    INPUT_MARKDOWN, /* all of it is one piece */
    INPUT_UNKNOWN   /* nothing is read */
};

struct input {
    const char *name;
    int fd, err;        /* err: errno of a read that failed */
    int64_t read, size; /* bytes; size 0: unknown */
    enum input_form form;
    uint64_t number;    /* of the piece: its line or element, from 1 */
    struct buf piece;   /* without the blanks before it */
    bool long_piece;    /* longer than INPUT_MAX; the rest was dropped */
    uint32_t list; /* not 0: the array is one of Taskmaster's, {"tasks":[, or
                      under a tag {"TAG":{"tasks":[; how deep that is */
    char tag[INPUT_TAG + 1]; /* empty: none */
    /* Only for cli/input.c: */
    char chunk[INPUT_CHUNK];
    size_t at, n;       /* position in chunk, and its length */
    struct buf again;   /* to be read once more, before the chunk, from ... */
    size_t again_at;
    size_t reread;      /* bytes that were, in all */
    uint64_t line;      /* lines that were read */
    bool closed;        /* the array has ended */
    bool string, escape; /* within the value */
    uint32_t depth;     /* of open brackets */
    uint64_t arrays;    /* which of them are arrays, the innermost in bit 0 */
    char last;          /* the last character outside texts, but for blanks */
    size_t word, word_end; /* the last text, within piece */
    bool is_record;     /* the value has the id of a task, or its title */
};

/* Begins to read in->fd, and finds in->form. */
void input_begin(struct input *in);
/* Reads the next piece. Returns 1, or 0 at the end; ERR_NOMEM, ERR_IO with
   in->err, ERR_INCOMPLETE if the input ends within an array, ERR_SYNTAX for
   text after it. */
int input_next(struct input *in);
/* What input of unknown form looks like, such as "a binary file", and what to
   do with it. */
const char *input_looks(const struct input *in);
void input_fini(struct input *in);

#endif
