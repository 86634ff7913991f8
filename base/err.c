/* err - names of errors. */

#include "base/err.h"

#include <stdint.h>
#include <string.h>

/* In the order of the codes, ERR_MORE first. They are part of the interface to
   agents: several codes share one if the caller would do the same for each, and
   names never change. */
static const char names[] =
    "invalid_argument\0"     /* ERR_MORE */
    "invalid_argument\0"     /* ERR_SYNTAX */
    "out_of_memory\0"        /* ERR_NOMEM */
    "invalid_argument\0"     /* ERR_INVALID */
    "not_found\0"            /* ERR_NOT_FOUND */
    "already_exists\0"       /* ERR_EXISTS */
    "too_large\0"            /* ERR_TOO_LARGE */
    "version_conflict\0"     /* ERR_VERSION */
    "not_owner\0"            /* ERR_NOT_OWNER */
    "blocked\0"              /* ERR_BLOCKED */
    "invalid_transition\0"   /* ERR_TRANSITION */
    "terminal\0"             /* ERR_TERMINAL */
    "dependency_cycle\0"     /* ERR_CYCLE */
    "idempotency_conflict\0" /* ERR_IDEMPOTENCY */
    "evidence_required\0"    /* ERR_EVIDENCE */
    "store_busy\0"           /* ERR_BUSY */
    "store_full\0"           /* ERR_FULL */
    "store_error\0"          /* ERR_IO */
    "store_readonly\0"       /* ERR_READONLY */
    "store_error\0"          /* ERR_DAMAGED */
    "store_error\0"          /* ERR_FORMAT */
    "store_error\0"          /* ERR_UNKNOWN */
    "unauthorized\0"         /* ERR_UNAUTHORIZED */
    "unauthorized\0"         /* ERR_CAPABILITY */
    "lease_held\0"           /* ERR_LEASE */
    "store_unreachable\0"    /* ERR_UNREACHABLE */
    "store_busy\0"           /* ERR_AGAIN */
    "clock_skew\0"           /* ERR_SKEW */
    "damaged\0"              /* ERR_GARBLED */
    "invalid_argument\0"     /* ERR_PARTIAL */
    "out_of_memory\0"        /* ERR_QUEUE_FULL */;

/* Errors that go away by themselves. ERR_IO does not: the commit was tried
   twice, and a faulty disk stays faulty. */
#define BIT(err) (UINT64_C(1) << -(err))
#define RETRYABLE (BIT(ERR_NOMEM) | BIT(ERR_BLOCKED) | BIT(ERR_BUSY) | \
    BIT(ERR_FULL) | BIT(ERR_LEASE) | BIT(ERR_UNREACHABLE) | BIT(ERR_AGAIN) | \
    BIT(ERR_QUEUE_FULL))

/* A code without a name is our fault, not the caller's. */
static bool
is_known(int err)
{
    return err < 0 && err >= ERR_QUEUE_FULL;
}

const char *
err_name(int err)
{
    const char *name = names;

    if (!is_known(err))
        return "store_error";
    while (++err < 0)
        name += strlen(name) + 1;
    return name;
}

bool
err_retryable(int err)
{
    return is_known(err) && RETRYABLE >> -err & 1;
}
