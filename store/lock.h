#ifndef STORE_LOCK_H
#define STORE_LOCK_H

/* lock - the file beside the log: fcntl locks on its bytes, and in its two
   lines the mark, which says how far which log is committed, and when.

   The first line is 62 bytes: "GGGGGGGGGG NNNNNNNNNNNNNNNNNNNN
   EEEEEEEEEEEEEEEEEEEE CCCCCCCC\n", generation, newest n, committed end of
   the log in bytes, all decimal with leading zeros, and the CRC-32C in hex of
   all before it. The second begins at offset 64 and is 192 bytes: id of the
   store, inode of the log, a time of the log, what the boot clock said then,
   the boot's id, how far the clock was once set ahead and the time of the log
   before that, all times in milliseconds; then blanks and the CRC-32C of all
   before it, the first line included. Version 0.1.0 writes the first line
   alone: the second is then of no mark. */

#include "base/base.h"

#include <sys/types.h>

#define LOCK_MARK_LEN 256
#define LOCK_BOOT_LEN 36 /* of the id of a boot */
#define LOCK_WAIT_TICK_MS 10

enum lock_byte { /* offsets of the locks in the file */
    LOCK_WRITE = 0,
    LOCK_COMPACT = 1,
    LOCK_INSTANCES = 1 << 20 /* from here on: one at random a process */
};
#define LOCK_INSTANCES_END (UINT64_C(1) << 41) /* no instance behind it */

struct mark {
    uint64_t g, n;
    int64_t end;
    /* the second line; id "": it is missing */
    char id[33];
    char boot[LOCK_BOOT_LEN + 1]; /* blanks: not known */
    uint64_t ino;
    int64_t time_ms, boot_ms;
    int64_t jump_ms, jump_at;
};

/* Set path, and fd to -1, to begin with. */
struct lock {
    const char *path;
    int fd;
    dev_t dev;
    ino_t ino;
    bool readonly; /* open for reading only: no locks, no new marks */
    bool held;     /* the write lock */
    uint64_t instance; /* byte that is locked for life, or 0 */
    char seen[LOCK_MARK_LEN]; /* the mark as last read or written */
};

/* Opens the file, or makes it when create is set. 0, ERR_NOT_FOUND,
   ERR_READONLY (no right to write: opened for reading where it is there),
   ERR_IO with errno. An open file is left as it is. */
int lock_open(struct lock *l, bool create);
/* Whether the path still leads to the open file. */
bool lock_is_at_path(const struct lock *l);
/* Closes the file, which gives up every lock on it. */
void lock_close(struct lock *l);

/* Takes the lock on a byte without waiting: 0, ERR_MORE: another has it,
   ERR_IO. */
int lock_try(struct lock *l, enum lock_byte which);
/* Stands in line for the write lock for one tick: as lock_try. */
int lock_wait(struct lock *l);
void lock_release(struct lock *l, enum lock_byte which);
/* Locks the log itself, open for writing, or gives that lock up: as lock_try.
   Only with the write lock, which is not enough where the lock file was
   removed: then there are two. */
int lock_log(int fd, bool take);
/* Whether the kernel has only locks that belong to a process: then reading
   the file by another descriptor drops them. */
bool lock_is_by_process(void);
/* Whether nobody else holds the lock on a byte; needs no right to write. */
bool lock_is_free(const struct lock *l, uint64_t at);
/* Sets instance and locks that byte, where it can. Once set, lock_open locks
   it again in the file that it opens, or makes it 0. */
void lock_instance(struct lock *l);

/* The id of this boot, or "". */
const char *lock_boot_id(void);
/* Whether the mark may be that of this log; id "": not known. */
bool mark_is_of(const struct mark *m, const char *id, uint64_t ino);
/* Reads the mark: 0, ERR_MORE: it is the one last seen, ERR_SYNTAX: there is
   none or it is wrong, ERR_IO. */
int mark_read(struct lock *l, struct mark *out);
/* Writes it; only with the write lock. 0 or ERR_IO with errno. */
int mark_write(struct lock *l, const struct mark *m);
/* Makes the next mark_read report the mark even if it has not changed. */
void mark_forget(struct lock *l);

#endif
