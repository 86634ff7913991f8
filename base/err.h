#ifndef BASE_ERR_H
#define BASE_ERR_H

/* err - what a function returns that could not do its work, and what a caller
   of a tool is told. */

#include <stdbool.h>

enum err {
    ERR_MORE = -1,   /* a parser needs more bytes; a step has more to do */
    ERR_SYNTAX = -2, /* not what the grammar allows */
    ERR_NOMEM = -3,
    ERR_INVALID = -4, /* from here on: what a caller of a tool can see */
    ERR_NOT_FOUND = -5,
    ERR_EXISTS = -6,
    ERR_TOO_LARGE = -7,
    ERR_VERSION = -8,
    ERR_NOT_OWNER = -9,
    ERR_BLOCKED = -10,
    ERR_TRANSITION = -11,
    ERR_TERMINAL = -12,
    ERR_CYCLE = -13,
    ERR_IDEMPOTENCY = -14,
    ERR_EVIDENCE = -15,
    ERR_BUSY = -16,     /* another process holds the lock */
    ERR_FULL = -17,     /* no room on the disk */
    ERR_IO = -18,       /* the system refused; see store_state */
    ERR_READONLY = -19, /* the store cannot be written by this process */
    ERR_DAMAGED = -20,  /* bytes once synced are not what they were */
    ERR_FORMAT = -21,   /* not a log, or of a version unknown here */
    ERR_UNKNOWN = -22,  /* a commit failed, and its outcome is not known */
    ERR_UNAUTHORIZED = -23, /* the principal may not do that */
    ERR_CAPABILITY = -24,   /* the client cannot do what is needed */
    ERR_LEASE = -25         /* another agent's lease is running */
};

/* The code's name on the wire ("not_found", "store_full"); never NULL. */
const char *err_name(int err);
/* Whether the same request may succeed later without being changed. */
bool err_retryable(int err);
/* What errno says. One that none of our system calls gives is "error" and its
   number, which the next call overwrites. strerror has a text for each, in
   1.4 KB more. */
const char *err_text(int errnum);

#endif
