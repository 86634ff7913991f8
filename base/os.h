#ifndef BASE_OS_H
#define BASE_OS_H

/* os - all that differs between systems. Nothing else in the program asks on
   which one it runs.

   Linux and macOS have more than POSIX: a sync that reaches the disk, locks
   that belong to an open file, a name for each boot. What a kernel older than
   its headers lacks is found out when it is first used. Other systems get
   what POSIX has. Compiled with OS_POSIX_ONLY, Linux takes their ways and that
   of macOS to sync, for "make posix" to test.

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
   (store/write.c). What a child must inherit uses os_lock_file. */

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
/* A clock that all processes of one boot share and, where there is one, goes on
   while the system is suspended. */
extern const clockid_t os_boot_clock;

/* Fills p with n bytes, at most 256, from the system's generator. 0 or -1. */
int os_random(void *p, size_t n);
/* The path of this program, if the system tells. Returns its length, or 0. */
size_t os_own_path(char *out, size_t cap);
/* The mount through which fd was opened, or -1: unknown. */
int64_t os_mount_of(int fd);
/* Lets the kernel end a TCP connection whose peer is gone: after idle_s of
   silence it sends probes every probe_s, and gives up after as many. */
void os_keep_alive(int fd, int idle_s, int probe_s, int probes);

#endif
