#ifndef BASE_ERR_H
#define BASE_ERR_H

/* err - error codes of functions, and what callers are told of them. */

#include <stdbool.h>

enum err {
    ERR_MAY_NOT_WAIT = -1, /* a run would have to wait, but is in a batch */
    ERR_SYNTAX = -2,       /* violates the grammar */
    ERR_NOMEM = -3,
    ERR_INVALID = -4, /* callers of tools can see the codes from here on */
    ERR_NOT_FOUND = -5,
    ERR_EXISTS = -6,
    ERR_TOO_LARGE = -7,
    ERR_VERSION = -8,
    ERR_KEPT = -9,
    ERR_BLOCKED = -10,
    ERR_TRANSITION = -11,
    ERR_TERMINAL = -12,
    ERR_CYCLE = -13,
    ERR_IDEMPOTENCY = -14,
    ERR_EVIDENCE = -15,
    ERR_BUSY = -16,     /* another process holds the lock */
    ERR_FULL = -17,     /* no room on the disk */
    ERR_IO = -18,       /* a system call failed; see store_state */
    ERR_READONLY = -19, /* this process cannot write the store */
    ERR_DAMAGED = -20,  /* bytes once synced have changed */
    ERR_FORMAT = -21,   /* not a log, or an unknown version */
    ERR_UNKNOWN = -22,  /* a commit failed with an unknown outcome */
    ERR_UNAUTHORIZED = -23, /* the principal lacks permission */
    ERR_CAPABILITY = -24,   /* the client lacks a required capability */
    ERR_LEASE = -25,        /* another agent holds the lease */
    ERR_UNREACHABLE = -26,  /* no member of the remote store answers */
    ERR_AGAIN = -27,        /* others committed first: run it all again */
    ERR_SKEW = -28,         /* the clock is too far off for writes */
    ERR_GARBLED = -29,      /* a whole record, but its body is not JSON */
    ERR_INCOMPLETE = -30,   /* a parser needs more bytes, or had to end */
    ERR_QUEUE_FULL = -31,   /* no room in a queue until others have left it */
    ERR_PENDING = -32,      /* it is under way: call again, when it is time */
    ERR_NOT_YOURS = -33     /* the question is for others to answer */
};

/* A row of the table: what agents, clients and people are told of an error
   where nothing more is known. */
struct err_row {
    const char *name;    /* on the wire: it never changes. Several codes share
                            one if the caller would do the same for each */
    bool retryable;      /* the same request may succeed later */
    int exit;            /* of a command: 1 not met, 2 usage, 3 store, 4
                            conflict, as in enum cli_exit */
    const char *message; /* a sentence */
    const char *next;    /* what an agent can do; NULL: nothing is known */
    const char *shell;   /* the same on the command line, where ID stands for
                            the task; NULL: as for agents */
    int rpc, rpc_2026;   /* the number in JSON-RPC, until 2025-11-25 and since
                            2026-07-28; 0: an internal error */
    const char *rpc_text;
};
/* Never NULL: a code without a row is our fault, not the caller's, and gets
   that of an unexpected error of the store. */
const struct err_row *err_row(int err);
/* The code's name on the wire ("not_found", "store_full"); never NULL. */
const char *err_name(int err);

#endif
