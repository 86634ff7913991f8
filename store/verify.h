#ifndef STORE_VERIFY_H
#define STORE_VERIFY_H

/* verify - checks, repairs and copies a log while others may write to it. */

#include "store.h"

struct store_report {
    uint64_t records, keys, first_n, last_n, g;
    int64_t bytes;
    uint32_t version;
    char id[33];
    bool torn;         /* torn tail; cutting it loses nothing acknowledged */
    bool damaged;      /* bytes once synced have changed */
    bool headless;     /* among them the first line's: store_open refuses it */
    uint64_t bad;      /* regions that are not records */
    uint64_t lost;     /* missing records */
    int64_t off;       /* of the first bad byte, or -1 */
    uint64_t line;     /* its line number, from 1 */
    char what[256];    /* describes it */
};
/* Callbacks for each bad region, the numbers of missing records, each key that
   is still legible in damaged bytes (unchecked), and each MiB read. */
struct store_verify_callbacks {
    void (*bad)(void *ctx, int64_t off, int64_t len, const char *what);
    void (*lost)(void *ctx, uint64_t from, uint64_t to);
    void (*legible)(void *ctx, struct str key);
    void (*passed)(void *ctx, int64_t off, int64_t size);
    void *ctx;
};
/* Checks a log file without locking or changing it: every record's CRC, order,
   chain and batch. w may be NULL. 0 if it could be read; ERR_NOT_FOUND: no log
   or an empty file; ERR_FORMAT, ERR_IO, ERR_NOMEM: out->what says why. */
int store_verify(const char *path, struct store_report *out,
                 const struct store_verify_callbacks *w);
/* Writes the whole records of the log at path to a new, synced file; an
   existing one is ERR_EXISTS. Else as store_verify. */
int store_repair(const char *path, const char *out_path,
                 struct store_report *out);
/* Copies the log, as last followed, and its closed generations into an existing
   directory, synced and verified, without locking. Calls each with every copied
   record; what it returns, unless 0, ends the backup. ERR_EXISTS: a file of one
   of these names exists; ERR_NOT_FOUND: no log; ERR_DAMAGED: the copies stay,
   as damaged as the log. All else but 0 leaves no copies. */
int store_backup(struct store *s, const char *dir,
                 int (*each)(void *ctx, const struct store_rec *r),
                 void *ctx);

#endif
