/* err - names of errors. */

#include "base/err.h"
#include "base/text.h"

#include <errno.h>
#include <string.h>

/* Indexed by the code's magnitude. The names are part of the interface to
   agents: several codes share one if the caller would do the same for each, and
   names never change. */
static const struct {
    char name[21];
    bool retryable;
} errors[] = {
    [-ERR_MORE] = {"invalid_argument", false},
    [-ERR_SYNTAX] = {"invalid_argument", false},
    [-ERR_NOMEM] = {"out_of_memory", true},
    [-ERR_INVALID] = {"invalid_argument", false},
    [-ERR_NOT_FOUND] = {"not_found", false},
    [-ERR_EXISTS] = {"already_exists", false},
    [-ERR_TOO_LARGE] = {"too_large", false},
    [-ERR_VERSION] = {"version_conflict", false},
    [-ERR_NOT_OWNER] = {"not_owner", false},
    [-ERR_BLOCKED] = {"blocked", true},
    [-ERR_TRANSITION] = {"invalid_transition", false},
    [-ERR_TERMINAL] = {"terminal", false},
    [-ERR_CYCLE] = {"dependency_cycle", false},
    [-ERR_IDEMPOTENCY] = {"idempotency_conflict", false},
    [-ERR_EVIDENCE] = {"evidence_required", false},
    [-ERR_BUSY] = {"store_busy", true},
    [-ERR_FULL] = {"store_full", true},
    /* After a failed sync the process writes no more, so a retry here is
       useless. */
    [-ERR_IO] = {"store_error", false},
    [-ERR_READONLY] = {"store_readonly", false},
    [-ERR_DAMAGED] = {"store_error", false},
    [-ERR_FORMAT] = {"store_error", false},
    [-ERR_UNKNOWN] = {"store_error", false},
    [-ERR_UNAUTHORIZED] = {"unauthorized", false},
    [-ERR_CAPABILITY] = {"unauthorized", false},
    [-ERR_LEASE] = {"lease_held", true},
    [-ERR_UNREACHABLE] = {"store_unreachable", true},
    [-ERR_AGAIN] = {"store_busy", true},
    [-ERR_SKEW] = {"clock_skew", false},
};

#define ERRORS_N ((int)(sizeof(errors) / sizeof(errors[0])))

const char *
err_name(int err)
{
    /* A code without an entry is our fault, not the caller's. */
    if (err >= 0 || err <= -ERRORS_N)
        return "store_error";
    return errors[-err].name;
}

bool
err_retryable(int err)
{
    return err < 0 && err > -ERRORS_N && errors[-err].retryable;
}

/* ---- errno ---- */

#define ERRNOS(X)                                                            \
    X(EPERM, "Operation not permitted") X(ENOENT, "No such file or directory") \
    X(EINTR, "Interrupted system call") X(EIO, "I/O error")                  \
    X(ENXIO, "No such device or address") X(EBADF, "Bad file descriptor")    \
    X(EAGAIN, "Resource temporarily unavailable")                            \
    X(ENOMEM, "Out of memory") X(EACCES, "Permission denied")                \
    X(EBUSY, "Resource busy") X(EEXIST, "File exists")                       \
    X(EXDEV, "Cross-device link") X(ENODEV, "No such device")                \
    X(ENOTDIR, "Not a directory") X(EISDIR, "Is a directory")                \
    X(EINVAL, "Invalid argument") X(ENFILE, "Too many open files in system") \
    X(EMFILE, "No file descriptors available") X(EFBIG, "File too large")    \
    X(ENOSPC, "No space left on device") X(EROFS, "Read-only file system")   \
    X(EPIPE, "Broken pipe") X(ENAMETOOLONG, "Filename too long")             \
    X(ENOLCK, "No locks available") X(ENOSYS, "Function not implemented")    \
    X(ENOTEMPTY, "Directory not empty") X(ELOOP, "Symbolic link loop")       \
    X(EOPNOTSUPP, "Not supported") X(EADDRINUSE, "Address in use")           \
    X(EADDRNOTAVAIL, "Address not available") X(EDQUOT, "Quota exceeded")    \
    X(EAFNOSUPPORT, "Address family not supported by protocol")              \
    X(ENETUNREACH, "Network unreachable")                                    \
    X(EHOSTUNREACH, "Host is unreachable")                                   \
    X(ECONNREFUSED, "Connection refused")                                    \
    X(ECONNRESET, "Connection reset by peer")

const char *
err_text(int errnum)
{
#define NUMBER(number, text) number,
#define TEXT(number, text) text "\0"
    static const short numbers[] = {ERRNOS(NUMBER)};
    static const char texts[] = ERRNOS(TEXT);
    static char other[sizeof("error -2147483648")];
    const char *p = texts;

    for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
        if (numbers[i] == errnum)
            return p;
        p += strlen(p) + 1;
    }
    text_put(other, sizeof(other), "error %d", errnum);
    return other;
}
