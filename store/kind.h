#ifndef STORE_KIND_H
#define STORE_KIND_H

/* kind - records, index entries, kinds of record, and the observer. */

#include "base/base.h"

struct store;

#define STORE_MAX_RECORD (384 * 1024)      /* bytes of one line */
#define STORE_MAX_BATCH (4 * 1024 * 1024)  /* bytes staged in one turn */
#define STORE_MAX_KEY 255

/* One record. The slices point into the memory of whoever made it. */
struct store_rec {
    uint64_t g; /* generation of the file it was read from */
    uint64_t n; /* number in the log, from 1, never reused */
    uint64_t b; /* n of the first record of its batch */
    uint64_t p; /* n of the key's previous record, or 0 */
    struct str key;
    struct str time; /* RFC 3339, as in the log */
    struct str body; /* members after "t": "op":...,"v":{...} */
    struct str line; /* the whole line, without its line feed */
};

/* What the index holds for a key. A kind's own entry type begins with it. */
struct store_entry {
    struct store_entry *chain; /* private to the store */
    const char *key;           /* key_len bytes */
    uint64_t n;                /* of the newest record */
    int64_t off;               /* its offset */
    uint32_t len;              /* length of its line */
    uint32_t hash;
    uint8_t key_len;
    uint8_t kind; /* private to the store: index into its kinds */
    bool held;    /* set by apply: compaction may keep the record for a while
                     after a newer one of the key */
};

/* A kind of record, selected by the prefix of its keys. Records of unknown
   kinds are indexed and kept. Any function may be NULL. */
struct store_kind {
    const char *prefix; /* "task/" */
    size_t entry_size;  /* at most 256; new entries are zeroed */
    void *ctx;
    /* e's newest record is now r; e->n, off and len are already set. Called
       once per record, live or replayed. 0, or ERR_NOMEM with nothing
       changed. */
    int (*apply)(void *ctx, struct store_entry *e, const struct store_rec *r);
    /* Undoes the last apply. old is the previous e (old->n 0: it was new).
       Called in reverse order; the store then copies old over e, including
       what undo has changed in old. */
    void (*undo)(void *ctx, struct store_entry *e,
                 struct store_entry *old);
    /* A record of another or an unknown kind was applied; never undone. */
    void (*other)(void *ctx, const struct store_rec *r);
    /* Returns whether compaction keeps r; newest: r is its key's newest record.
       NULL: keep only the newest. */
    bool (*keep)(void *ctx, const struct store_rec *r, bool newest,
                 int64_t now_ms);
    /* Records are not kept for long (see keep): all their bytes count as
       superseded at once, so a log of nothing else gets compacted. */
    bool transient;
    /* All entries are about to go: the log is read again, or a compacted one
       instead of it. */
    void (*reset)(void *ctx);
};

/* Sets the one observer. It gets each committed record, own or followed, after
   it was applied, in order; not those read when the log is opened. */
void store_observe(struct store *s,
                   void (*fn)(void *ctx, const struct store_entry *e,
                              const struct store_rec *r),
                   void *ctx);

#endif
