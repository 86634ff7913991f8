#ifndef CLI_TWINS_H
#define CLI_TWINS_H

/* twins - ids that come more than once in an import: states of one task, or
   tasks of their own. */

#include "base/base.h"

struct twins {
    struct twin *all;
    size_t n, cap;
    uint64_t seed[2];
    struct arena a;
    struct str *renamed; /* ids as they were and as they are: two each */
    size_t n_renamed;
};

enum twin_is {
    TWIN_NONE,  /* nothing came under the id */
    TWIN_SAME,  /* the same came already */
    TWIN_NEWER, /* this is the newest state of the task so far */
    TWIN_OLDER,
    TWIN_OTHER  /* another task has the id: *id is now one of its own */
};

/* What comes under an id. */
struct twin_of {
    struct str was;  /* its id where it comes from */
    struct str born; /* the same for all states of one task */
    struct str state;
    int64_t changed_ms; /* of two that are equal the later one is newer */
};
/* Notes what comes under *id. Returns enum twin_is; ERR_TOO_LARGE: too many
   have the id; or ERR_NOMEM. A new *id is in a. */
int twins_add(struct twins *t, struct arena *a, struct str *id,
              const struct twin_of *of);
void twins_fini(struct twins *t);

#endif
