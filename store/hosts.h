#ifndef STORE_HOSTS_H
#define STORE_HOSTS_H

/* hosts - a store that several hosts share through a remote (store/remote.h).

   With one, store_commit also confirms what a turn has read, even without the
   lock and with nothing staged. ERR_MORE: it is under way; wait as store_watch
   says, call it again, and only read until it has ended. ERR_AGAIN: others
   committed first; what was staged is undone and memory has their batches, so
   run the whole turn again. ERR_BUSY: that has gone on for 5 s. If the remote
   does not answer, reads may still go out: store_stale_ms says how old they
   are. */

#include "store/remote.h"

struct store;

/* Fetches all that was committed before this call. 0; ERR_MORE as above; else
   an error, and memory may be stale. 0 without a remote. */
int store_confirm(struct store *s);
/* The same, and waits for the answer as store_await does. */
int store_confirm_patiently(struct store *s);
/* Makes the log, which was of this host alone, a new store of the remote, and
   then a replica of that; the old log stays as <log>.before-etcd. again: the
   log is a replica already, and the remote has lost its newest records, or all.
   ERR_MORE: call it again after store_await. Else 0 or an error of store_lock
   or store_commit, ERR_EXISTS or ERR_BUSY. For the command line; needs a
   remote. */
int store_push(struct store *s, bool again);
/* Whether store_push or store_tend is sending a whole log, pushed or compacted,
   to the remote, which has *done of *all bytes. */
bool store_uploads(const struct store *s, uint64_t *done, uint64_t *all);
/* Puts the content dir/hex, a file named by its SHA-256, where all hosts find
   it, before the record staged next is committed; or, without put, fetches it
   from there. ERR_MORE: store_commit will do it, and returns ERR_AGAIN if that
   may change an answer. Else the outcome in this turn: 0, ERR_NOT_FOUND,
   ERR_DAMAGED, ERR_FULL, ERR_BUSY (too many in one turn), or an error of the
   file or the remote. Without a remote nothing is put or found. dir must stay
   valid. */
int store_content(struct store *s, const char *dir, struct str hex, bool put);
/* The same, but waits until it is done. For the command line; nothing may be
   staged, and no commit under way. */
int store_share(struct store *s, const char *dir, struct str hex,
                enum remote_content what);
/* Likewise lists the names of contents after hex, in order, each with a line
   feed; "": there are no more. Valid until the next call of the store. */
int store_contents(struct store *s, const char *hex, struct str *names);
/* Why the last one failed, in words; "" without a remote. */
const char *store_content_why(const struct store *s);
/* What to wait for while an operation of the remote is under way, and between
   calls of store_tend: as watch in store/remote.h. *fd -1 and *due_ms INT64_MAX
   without a remote. */
void store_watch(const struct store *s, int *fd, bool *write, int64_t *due_ms);
/* Sleeps until then. For the command line. */
void store_await(const struct store *s);
/* Tests whether a commit could succeed now. Needs the lock, with nothing
   staged. 0, or the remote's error. Waits as store_await does; 0 without a
   remote. */
int store_probe_hosts(struct store *s);
/* Asks member i of the remote about itself, and waits as store_await does.
   *what has the answer in words, until the next call. 0, or as examine in
   store/remote.h. */
int store_examine(struct store *s, unsigned i, const char **what);
/* Learns what other hosts commit: within 50 ms if somebody waits for it, else
   within a second. Call it between turns, when store_watch says so. */
void store_tend(struct store *s, bool waits);
/* The member of the remote in use, and how long it takes to answer, smoothed;
   NULL without a remote. */
const char *store_member(const struct store *s, int64_t *trip_us);
/* For how many milliseconds memory may have missed commits of other hosts; 0:
   for no longer than a turn takes. */
int64_t store_stale_ms(const struct store *s);
/* How long after its end a lease still counts for others, since clocks differ;
   0 without a remote. */
int64_t store_skew_ms(const struct store *s);

#endif
