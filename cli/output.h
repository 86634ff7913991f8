#ifndef CLI_OUTPUT_H
#define CLI_OUTPUT_H

/* output - what is kept of a command: its words without secrets, and the head
   and the tail of its output, which it passes on to whoever reads along. */

#include "base/base.h"

struct output {
    int in, out; /* from the command; to whoever reads along; -1: closed. Both
                    must not block */
    struct buf pending; /* for out */
    char *kept; /* its head, then a ring of its last bytes */
    uint64_t n; /* bytes so far */
};

/* Makes room for what is kept. 0 or ERR_NOMEM. */
int output_new(struct output *o);
/* Waits until all is passed on, and frees it. */
void output_end(struct output *o);
/* Waits up to timeout_ms for output, and passes it on. False: nobody reads
   along any more. */
bool output_wait(struct output *o, int timeout_ms);
/* Reads the rest, without waiting. Processes that the command left behind may
   go on writing, but not for ever. */
void output_take_rest(struct output *o);
/* Passes on nothing more. */
void output_leave(struct output *o);
/* Up to max bytes of the last line that is not blank, in a; empty: there is
   none; .p NULL: no memory. */
struct str output_line(const struct output *o, struct arena *a, size_t max);
/* The last whole lines, up to max bytes, without what is not printable, in a;
   empty: there are none; .p NULL: no memory. */
struct str output_lines(const struct output *o, struct arena *a, size_t max);
/* The words of a command in a, at most max bytes, with *** for what may be a
   secret: what follows =, : or a blank after a name that says pass, secret,
   token, key or authorization, to the end of its word or, after an option
   without =, the next word; and the user and password of URLs. NULL: no
   memory. */
const char *output_words(struct arena *a, char *const *argv, size_t max);
/* A copy in a of at most max bytes of s, in which '?' stands for what is not
   UTF-8 or not printable; NULL: no memory. */
const char *output_plain(struct arena *a, struct str s, size_t max);
/* The output as an artifact, of ARTIFACT_MAX bytes at most: head and tail, and
   between them how much is left out, also what may be a part of a character.
   In o or in a; .p NULL: no memory. */
struct str output_log(const struct output *o, struct arena *a);

#endif
