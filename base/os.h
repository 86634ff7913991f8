#ifndef BASE_OS_H
#define BASE_OS_H

/* os - all that differs between systems. The rest of the program is the same on
   each of them.

   Linux and macOS have more than POSIX: a sync that reaches the disk, locks
   that belong to an open file, a name for each boot. A kernel older than its
   headers may lack one of them, which shows on first use. Other systems use
   what POSIX has. With OS_POSIX_ONLY, Linux is treated like these, and syncs
   like macOS, so that "make posix" tests both.

   The rule of locks. Where a kernel has no locks of open files, they belong to
   the process. Then

   1. closing any descriptor of a file drops all locks that the process has on
      it, whichever descriptor they were taken with;
   2. two descriptors in one process never conflict;
   3. a child made by fork has none of them.

   So this holds everywhere, on every system: a process opens a log's lock file
   once, by store/lock.c, and opens no file that may be it by another name (see
   task/artifact.c). It opens a log once per process, too. The log itself may
   be opened again to be read; the lock on it is taken anew before a write
   (store.c). What a child must inherit uses os_lock_file. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

struct flock;

/* Syncs fd, with its metadata or with only those that reading it needs, so that
   a power loss cannot undo it. 0, or -1 with errno. */
int os_sync(int fd);
int os_sync_data(int fd);

/* fcntl(fd, cmd, fl), with F_SETLK, F_SETLKW or F_GETLK, for a lock that
   belongs to the open file or, if the kernel has none, to the process. */
int os_lock(int fd, int cmd, struct flock *fl);
/* Returns whether locks belong to the process: see the rule. */
bool os_lock_is_by_process(void);
/* Locks a whole file for as long as it is open here or in a child that inherits
   it; such locks do not see those of os_lock. 0, or -1 with errno. */
int os_lock_file(int fd, bool wait);

/* A name that only this boot has, of OS_BOOT_LEN characters; "": unknown. */
#define OS_BOOT_LEN 36
const char *os_boot_id(void);
/* The clock that all processes of one boot share. If the system has one that
   continues while it is suspended, it is that one. */
extern const clockid_t os_boot_clock;

/* Fills p with n bytes, at most 256, from the system's generator. 0 or -1. */
int os_random(void *p, size_t n);
/* The path of this program. Returns its length; 0: the system does not report
   it. */
size_t os_own_path(char *out, size_t cap);
/* Closes all descriptors from this number on; on a system that can only try
   each of them, the first 65,536. */
void os_close_from(int fd);
/* The mount through which fd was opened, or -1: unknown. */
int64_t os_mount_of(int fd);
/* Makes the kernel end a TCP connection whose peer has vanished: after idle_s
   of silence it sends a probe every probe_s, and gives up after this many. */
void os_keep_alive(int fd, int idle_s, int probe_s, int probes);

/* The signal that comes when the terminal gets another size, SIGWINCH. POSIX
   has had a name for it only since 2024. */
int os_resize_signal(void);

#endif
