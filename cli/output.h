#ifndef CLI_OUTPUT_H
#define CLI_OUTPUT_H

/* output - what is kept of a command: its words without secrets, and the head
   and the tail of its output. */

#include "base/base.h"

struct output {
    char *kept; /* its head, then a ring of its last bytes */
    uint64_t n; /* bytes so far */
};

/* Makes an empty one. 0 or ERR_NOMEM. Free it with output_free. */
int output_new(struct output *o);
void output_free(struct output *o);
/* Appends n bytes. */
void output_add(struct output *o, const char *p, size_t n);
/* Up to max bytes of the last line that is not blank, in a; empty: there is
   none; .p NULL: no memory. */
struct str output_line(const struct output *o, struct arena *a, size_t max);
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
