#ifndef TEST_LOCKS_H
#define TEST_LOCKS_H

/* WRAP_FCNTL(name, refuses): calls of fcntl about a lock go to refuses(fd, cmd,
   flock) first, and fail with its errno if it returns true. */

#include <fcntl.h>
#include <stdarg.h>

/* Linux's values, which the headers hide. */
#define OFD_GETLK 36
#define OFD_SETLKW 38
#define IS_OFD_LOCK(cmd) ((cmd) >= OFD_GETLK && (cmd) <= OFD_SETLKW)
#define TAKES_LOCK(cmd)                                          \
    ((cmd) == F_SETLK || (cmd) == F_SETLKW || (cmd) == F_GETLK || \
     IS_OFD_LOCK(cmd))

#define WRAP_FCNTL(name, refuses)                                    \
    int __real_##name(int fd, int cmd, ...);                         \
    int __wrap_##name(int fd, int cmd, ...);                         \
    int __wrap_##name(int fd, int cmd, ...)                          \
    {                                                                \
        va_list ap;                                                  \
        int rc;                                                      \
        va_start(ap, cmd);                                           \
        if (TAKES_LOCK(cmd)) {                                       \
            struct flock *fl = va_arg(ap, struct flock *);           \
            rc = refuses(fd, cmd, fl) ? -1                           \
                                      : __real_##name(fd, cmd, fl);  \
        } else {                                                     \
            rc = __real_##name(fd, cmd, va_arg(ap, int));            \
        }                                                            \
        va_end(ap);                                                  \
        return rc;                                                   \
    }

/* Other libraries lack glibc's variant and never call it. */
#ifndef __GLIBC__
#pragma weak __real_fcntl64
#endif

#endif
