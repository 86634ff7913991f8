#ifndef STORE_LOCK_H
#define STORE_LOCK_H

/* lock - the file beside the log. Its bytes carry fcntl locks; its lines are
   the mark: which log is committed, up to where, and when.

   The first line is 62 bytes: "GGGGGGGGGG NNNNNNNNNNNNNNNNNNNN
   EEEEEEEEEEEEEEEEEEEE CCCCCCCC\n", generation, newest n, committed end of the
   log in bytes, all decimal with leading zeros, and the CRC-32C, in hex, of the
   bytes before it. The second begins at offset 64 and is 192 bytes: store id,
   the log's inode, a log time, the boot clock at that time, both in
   milliseconds, the boot id, and two numbers that are not used; then blanks and
   the CRC-32C of all bytes before it, the first line included. Version 0.1.0
   writes the first line only; the second is then invalid. The mark of a replica
   has a third line of 128 bytes: the remote's text for the newest record,
   blanks, and the CRC-32C of all bytes before it. */

#include "store/remote.h"
#include "base/os.h"

#include <sys/types.h>

#define LOCK_MARK_LEN 256
#define LOCK_FULL_LEN 384 /* with the third line */
#define LOCK_WAIT_TICK_MS 10

enum lock_byte { /* offsets of the locks in the file */
    LOCK_WRITE = 0,
    LOCK_COMPACT = 1,
    LOCK_PULL = 2, /* its holder asks the remote for all on this host */
    LOCK_INSTANCES = 1 << 20 /* from here on: one random byte per process */
};
#define LOCK_INSTANCES_END (UINT64_C(1) << 41) /* without a remote */

struct mark {
    uint64_t g, n;
    int64_t end;
    /* the second line; id is "" if it is missing */
    char id[33];
    char boot[OS_BOOT_LEN + 1]; /* blanks: unknown */
    uint64_t ino;
    int64_t time_ms, boot_ms;
    int64_t unused[2]; /* 0; version 0.2.0 writes numbers */
    char head[REMOTE_HEAD_MAX]; /* the third line; "" if it is missing */
};

/* Initialize path, hosts, and fd to -1. */
struct lock {
    const char *path;
    int fd;
    dev_t dev;
    ino_t ino;
    int readonly;  /* errno why opened read-only: no locks, no new marks */
    bool held;     /* the write lock */
    bool hosts;    /* other hosts see instances, whose high bits name a host */
    uint64_t instance; /* byte locked for life, or 0 */
    char seen[LOCK_FULL_LEN]; /* the mark as last read or written */
};

/* Opens the file; creates it if create is set. 0, ERR_NOT_FOUND, ERR_READONLY
   (no write permission; opened for reading if it exists) or ERR_IO, both with
   errno. Does nothing if it is open, and not read-only where create is set. */
int lock_open(struct lock *l, bool create);
/* Returns whether the path still leads to the open file. */
bool lock_is_at_path(const struct lock *l);
/* Closes the file, which releases every lock on it. */
void lock_close(struct lock *l);

/* Tries to lock a byte. 0, ERR_BUSY if another process has it, ERR_IO. */
int lock_try(struct lock *l, uint64_t at);
/* Queues for the write lock for one tick. Returns as lock_try. */
int lock_wait(struct lock *l);
void lock_release(struct lock *l, enum lock_byte which);
/* Locks or unlocks the log itself, open for writing; returns as lock_try. Needs
   the write lock, of which there are two after the lock file was removed. */
int lock_log(int fd, bool take);
/* Whether no other process has locked the byte. Needs no write permission. */
bool lock_is_free(const struct lock *l, uint64_t at);
/* Sets instance and locks that byte, if possible. Later, lock_open locks it
   again in any new lock file, or sets it to 0. */
void lock_instance(struct lock *l);
/* Whether that process, if it lives, has its byte in this file. */
bool lock_has(const struct lock *l, uint64_t instance);

/* Returns whether the mark can belong to this log; id "": unknown. */
bool mark_is_of(const struct mark *m, const char *id, uint64_t ino);
/* Reads the mark. 0; MARK_SAME, without *out; ERR_SYNTAX: missing or invalid;
   ERR_IO. */
#define MARK_SAME 1 /* it has not changed since it was last read or written */
int mark_read(struct lock *l, struct mark *out);
/* Writes the mark; needs the write lock. 0, or ERR_IO with errno. */
int mark_write(struct lock *l, const struct mark *m);
/* Makes the next mark_read return the mark even if unchanged. */
void mark_forget(struct lock *l);

#endif
