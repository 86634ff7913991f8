#ifndef STORE_HOSTS_H
#define STORE_HOSTS_H

/* hosts - a store that several hosts share, by a remote (store/remote.h).

   With one, store_commit also confirms what a turn has read, even with nothing
   staged and without the lock. ERR_MORE: it is under way; call it again after
   store_watch, and nothing else but reads until it has ended. ERR_AGAIN: others
   were first: what was staged is undone, and memory has theirs; run the whole
   turn again. ERR_BUSY: that has gone on for 5 s. Without an answer reads may
   go out: store_stale_ms says how old they are. */

#include "store/remote.h"

struct store;

/* Asks the remote for all that was committed before this call. 0, ERR_MORE as
   above, or why it is unknown: memory may then be stale. 0 without a remote. */
int store_confirm(struct store *s);
/* The same, and waits for the answer as store_await does. */
int store_confirm_patiently(struct store *s);
/* Makes the log, one of this host alone, a new store of the remote, and then
   its replica; the log stays as <log>.before-etcd. again: the log is a replica,
   and the remote has lost its newest records, or all. ERR_MORE: call it again
   after store_await. 0, or why not, as of store_lock and store_commit; also
   ERR_EXISTS, ERR_BUSY. For the command line; needs a remote. */
int store_push(struct store *s, bool again);
/* Whether the remote is taking a whole log, pushed or compacted, in store_push
   or store_tend, and how many bytes of how many it has. */
bool store_uploads(const struct store *s, uint64_t *done, uint64_t *all);
/* The content dir/hex, a file that is named by its SHA-256, is to be where all
   hosts find it, before what is staged next is committed; or, unless put, is to
   come from there. ERR_MORE: store_commit does it, and where it may change an
   answer it then returns ERR_AGAIN; else what came of it in this turn: 0,
   ERR_NOT_FOUND, ERR_DAMAGED, ERR_FULL, ERR_BUSY: too many in one turn, or an
   error of file or remote. Without a remote nothing is put, or found. dir stays
   valid. */
int store_content(struct store *s, const char *dir, struct str hex, bool put);
/* The same, but waits until it is done. For the command line; nothing staged,
   no commit under way. */
int store_share(struct store *s, const char *dir, struct str hex,
                enum remote_content what);
/* Likewise the names of contents after hex, in order, each with a line feed;
   none: there are no more. Valid until the next call of the store. */
int store_contents(struct store *s, const char *hex, struct str *names);
/* Why the last one failed, in words; "" without a remote. */
const char *store_content_why(const struct store *s);
/* What to wait for while an operation of the remote is under way, and between
   calls of store_tend: as watch in store/remote.h. *fd -1 and *due_ms INT64_MAX
   without a remote. */
void store_watch(const struct store *s, int *fd, bool *write, int64_t *due_ms);
/* Sleeps until then. For the command line. */
void store_await(const struct store *s);
/* Under the lock, nothing staged: whether a commit could succeed now. 0, or the
   remote's error. Waits as store_await does; 0 without a remote. */
int store_probe_hosts(struct store *s);
/* What member i of the remote says of itself, waiting as store_await does:
   *what names it, and is valid until the next call. 0, or as examine in
   store/remote.h. */
int store_examine(struct store *s, unsigned i, const char **what);
/* Between turns, when store_watch says so: learns what other hosts commit, soon
   if somebody listens. */
void store_tend(struct store *s, bool listens);
/* The member of the remote in use, and how long it takes to answer, smoothed;
   NULL without a remote. */
const char *store_member(const struct store *s, int64_t *trip_us);
/* For how long memory may lack what other hosts committed, in milliseconds; 0:
   for no longer than a turn takes. */
int64_t store_stale_ms(const struct store *s);
/* How much later than its end a lease is over for others, since their clocks
   may differ; 0 without a remote. */
int64_t store_skew_ms(const struct store *s);

#endif
