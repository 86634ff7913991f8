#ifndef STORE_VERIFY_H
#define STORE_VERIFY_H

/* verify - a log judged, mended and copied, while others may write to it. */

#include "store.h"

struct store_report {
    uint64_t records, keys, first_n, last_n, g;
    int64_t bytes;
    uint32_t version;
    char id[33];
    bool torn;         /* the tail is; cutting it loses nothing promised */
    bool damaged;      /* something once synced is not what it was */
    uint64_t bad;      /* regions that are not records */
    uint64_t lost;     /* records that are missing, and ... */
    uint64_t lost_unnamed; /* ... of those, how many may be of any key */
    int64_t off;       /* of the first bad byte, -1 */
    uint64_t line;     /* line number of it, from 1 */
    char what[256];    /* says it */
};
/* Records that are missing, or the newest one that a key has lost. */
struct store_loss {
    struct str key;      /* empty: of any keys */
    uint64_t from, to;   /* their numbers */
    uint64_t newest;     /* number of the key's newest record, or 0 */
    bool passed;         /* which came later than the one that is lost */
};
/* Who is told of each bad region, of each loss, and of each MiB that was
   read. */
struct store_watch {
    void (*bad)(void *ctx, int64_t off, int64_t len, const char *what);
    void (*lost)(void *ctx, const struct store_loss *l);
    void (*passed)(void *ctx, int64_t off, int64_t size);
    void *ctx;
};
/* Checks a log file without a lock or any change: every record's CRC, order,
   chain and batch. 0 when it could be read; ERR_NOT_FOUND: no log or an
   empty file, ERR_FORMAT, ERR_IO, ERR_NOMEM: out->what says why. w may be
   NULL. */
int store_verify(const char *path, struct store_report *out,
                 const struct store_watch *w);
/* Writes the whole records of the log at path to a new file; synced, never
   over one that exists (ERR_EXISTS). Else as store_verify. */
int store_repair(const char *path, const char *out_path,
                 struct store_report *out);
/* Copies the log, as it was last followed, and its closed generations, into
   an existing directory, synced and verified. No lock. ERR_EXISTS when a file
   of one of these names is there; ERR_NOT_FOUND: there is no log. each is
   told of each copied record, until it returns non-zero; that is returned
   then. ERR_DAMAGED: the copies are as damaged as the log is, and stay;
   after other errors nothing of them stays. */
int store_backup(struct store *s, const char *dir,
                 int (*each)(void *ctx, const struct store_rec *r),
                 void *ctx);

#endif
