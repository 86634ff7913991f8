#ifndef STORE_CARE_H
#define STORE_CARE_H

/* care - state of the log, its processes, and compaction. */

#include "base/base.h"

struct store;

/* What a store can do now. */
enum store_mode {
    STORE_LOADED,   /* memory matches the log; changes can be committed */
    STORE_READONLY, /* it can be read; a person has to allow changes */
    STORE_DAMAGED,  /* what is whole can be read */
    STORE_FAILED,   /* a step failed; what comes next tries it again */
    STORE_REFUSED   /* it can be read, and changed when a reason has passed */
};

struct store_state {
    enum store_mode mode;
    const char *path;    /* real path of the log */
    char id[33];         /* of the store, "" before there is a log */
    uint64_t g;          /* generation, 0: no log yet */
    uint64_t head;       /* newest n */
    int64_t len;         /* committed bytes */
    int64_t superseded;  /* bytes of these that compaction would not keep: older
                            or transient records */
    uint64_t keys;
    size_t index_bytes;  /* heap of index and entries */
    int err;             /* 0: writable; else why writes are refused */
    int64_t missing;     /* if ERR_FULL: how many bytes of room, 0: unknown */
    char why[256];       /* the reason, with file and offset; or "" */
    bool torn;           /* this process cut a torn tail when it opened the
                            log */
    bool shared;         /* with other hosts, by a remote */
};
/* Valid until the next call. */
const struct store_state *store_state(struct store *s);
/* Four of its members alone: id; path; mode is STORE_READONLY; shared. */
const char *store_id(const struct store *s);
const char *store_path(const struct store *s);
bool store_is_readonly(const struct store *s);
bool store_is_shared(const struct store *s);

/* A sentence that says how many records a damaged log has lost. Valid until the
   next call. NULL: none. */
const char *store_damage(struct store *s);
/* Looks whether log and lock file can be written, unless that was seen in the
   last 5 s or they cannot, and changes nothing. store_state then says so. */
void store_check_access(struct store *s);
/* Tests whether a record could be committed: writes after the end, syncs, and
   cuts it off again. Needs the lock, with nothing staged. 0, or store_commit's
   error; store_state then says why. */
int store_probe(struct store *s);

/* max(wall clock, newest time in the log + boot-clock time since then). With a
   remote, times more than store_skew_ms ahead of the wall clock are left
   out. */
int64_t store_now_ms(const struct store *s);
/* The time t that a record gives; or 0, long ago, if it is more than a day
   ahead: then it says nothing. */
int64_t store_past_ms(int64_t t, int64_t now_ms);

/* A number that identifies this process to others on this log while it lives; 0
   if the lock file cannot be used. It changes if the lock file is replaced by
   one in which the number is taken. */
uint64_t store_instance(struct store *s);
/* Returns whether the process with that number is alive, this one included. */
bool store_alive(const struct store *s, uint64_t instance);

/* Whether the disk has room for what is staged and for a compaction after it.
   If not, commits of other records than of store_stage_last are refused. */
bool store_has_room(struct store *s);
/* Whether a commit failed for want of room, and the lock is still held: then
   store_stage returns ERR_FULL, and what store_stage_last takes may yet be
   committed. */
bool store_takes_last(const struct store *s);
/* Returns whether superseded bytes exceed compact_at and half of the log; or a
   quarter of it, if the disk has only just the room for a compaction; or
   whether one may gain anything, if the disk is full. A minute after a failed
   attempt, or once there is more room. */
bool store_wants_compact(struct store *s);
/* Starts a compaction or does one slice of it, about 1 MiB. ERR_MORE: call
   again, now or later; 0: done, the new generation is in use; else the
   compaction was abandoned and its file removed (ERR_BUSY: another process is
   compacting, or the write lock stayed taken). */
int store_compact(struct store *s);
/* Makes the next compaction take back times that are ahead of the wall clock.
   They become that clock's, in the new generation and in all processes (where
   os_boot_id is "", in this one only); the old generation keeps them. Not for a
   store with a remote. */
void store_take_back_time(struct store *s);
/* Compacts at once, if store_wants_compact, or ends what store_compact began.
   Returns whether it tried: also after a compaction that failed, what
   store_stage_last takes may be committed now. Needs the lock to be free, and
   nothing staged. */
bool store_make_room(struct store *s);
/* Abandons a compaction in progress. */
void store_compact_stop(struct store *s);

#endif
