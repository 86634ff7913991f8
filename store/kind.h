#ifndef STORE_KIND_H
#define STORE_KIND_H

/* kind - records, what the index holds of them, and who is told. */

#include "base/base.h"

struct store;

#define STORE_MAX_RECORD (384 * 1024)      /* bytes of one line */
#define STORE_MAX_BATCH (4 * 1024 * 1024)  /* bytes staged in one turn */
/* With so many staged, the largest record and what it brings along still have
   room; with more, a batch is full. */
#define STORE_FULL_BATCH ((size_t)STORE_MAX_BATCH - 2 * STORE_MAX_RECORD)
#define STORE_MAX_KEY 255

/* One record. The slices point into memory of whoever gave the record. */
struct store_rec {
    uint64_t g; /* generation of the file it was read from */
    uint64_t n; /* number in the log, from 1, never reused */
    uint64_t b; /* n of the first record of its batch */
    uint64_t p; /* n of the key's previous record, or 0 */
    struct str key;
    struct str time; /* RFC 3339, as the log has it */
    struct str body; /* the members behind "t": "op":...,"v":{...} */
    struct str line; /* the whole line, without its line feed */
};

/* What the index holds of a key. A kind's own entry begins with it. */
struct store_entry {
    struct store_entry *chain; /* store's own */
    const char *key;           /* key_len bytes */
    uint64_t n;                /* of the newest record */
    int64_t off;               /* where that stands */
    uint32_t len;              /* of its line */
    uint32_t hash;
    uint8_t key_len;
    uint8_t kind; /* index into the kinds, or STORE_NO_KIND */
    bool file;    /* store's own: which of two files it stands in */
};
#define STORE_NO_KIND 255

/* A kind of record, told by the prefix of its keys. Records of unknown kinds
   are indexed and carried along. All the functions may be NULL. */
struct store_kind {
    const char *prefix; /* "task/" */
    size_t entry_size;  /* at most 256; the entry is zeroed when made */
    void *ctx;
    /* e's newest record is now r; e->n, off and len say so already. Called
       once for each record, live and on replay alike. 0 or ERR_NOMEM, and
       then it must have changed nothing. */
    int (*apply)(void *ctx, struct store_entry *e, const struct store_rec *r);
    /* Takes the last apply back: old is e as it was (old->n 0: it had not
       existed). Called in reverse order; store copies old over e after, with
       what undo has changed in it. */
    void (*undo)(void *ctx, struct store_entry *e,
                 struct store_entry *old);
    /* A record of another or unknown kind was applied; never taken back. */
    void (*other)(void *ctx, const struct store_rec *r);
    /* Whether compaction carries r along; newest: it is that of its key.
       NULL: the newest are, the others not. */
    bool (*keep)(void *ctx, const struct store_rec *r, bool newest,
                 int64_t now_ms);
    /* Its records are not kept for long (see keep): all their bytes count as
       superseded from the first, so that a log of nothing else is compacted. */
    bool transient;
    /* A transient record of e was not carried along: its key is about to be
       found no more. e's memory stays until reset. */
    void (*leave)(void *ctx, struct store_entry *e);
    /* Every entry is about to go: the log is read anew. */
    void (*reset)(void *ctx);
};

/* One observer is told of each committed record, own and followed, after it
   was applied, in order; not of those read when the log is opened. */
void store_observe(struct store *s,
                   void (*fn)(void *ctx, const struct store_entry *e,
                              const struct store_rec *r),
                   void *ctx);

#endif
