#ifndef BASE_H
#define BASE_H

/* base - what every other file stands on: slices, memory, growing buffers,
   error codes, the clock, randomness. It knows no file and no protocol. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define MCPTASK_VERSION "0.2.0"

/* ---- slices ---- */

struct str {
    const char *p; /* not NUL-terminated */
    size_t len;
};
#define STR(lit) ((struct str){(lit), sizeof(lit) - 1})
#define STR_NONE ((struct str){NULL, 0})
#define STR_ARG(s) (int)(s).len, (s).p /* for "%.*s" */

struct str str_of(const char *z);
bool str_eq(struct str a, struct str b);
bool str_is(struct str a, const char *z);
bool str_starts(struct str s, const char *prefix);
/* FNV-1a, 64 bits: for hash tables, never for anything an enemy may choose
   without a bound elsewhere. */
uint64_t str_hash(struct str s);
/* SipHash-1-3 with a secret: for what an enemy may choose. */
uint64_t str_sip(const uint64_t seed[2], struct str s);
/* Reads a whole unsigned decimal: digits only, no overflow. */
bool str_u64(struct str s, uint64_t *out);
/* The length of the valid UTF-8 sequence (RFC 3629) at p, or 0. */
size_t utf8_len(const char *p, const char *end);
/* Code points in s, which must be valid UTF-8. */
size_t utf8_count(struct str s);

/* Whether somebody may have own of what all have, both with what is asked
   for, where there is max: never more than three quarters of what the others
   leave. So whoever comes next finds room, and may have most of that. */
bool share_fits(size_t own, size_t all, size_t max);

/* ---- errors ---- */

enum err {
    ERR_MORE = -1,   /* a parser needs more bytes; a step has more to do */
    ERR_SYNTAX = -2, /* not what the grammar allows */
    ERR_NOMEM = -3,
    ERR_INVALID = -4, /* from here on: what a caller of a tool can see */
    ERR_NOT_FOUND = -5,
    ERR_EXISTS = -6,
    ERR_TOO_LARGE = -7,
    ERR_VERSION = -8,
    ERR_NOT_OWNER = -9,
    ERR_BLOCKED = -10,
    ERR_TRANSITION = -11,
    ERR_TERMINAL = -12,
    ERR_CYCLE = -13,
    ERR_IDEMPOTENCY = -14,
    ERR_EVIDENCE = -15,
    ERR_BUSY = -16,     /* another process holds the lock */
    ERR_FULL = -17,     /* no room on the disk */
    ERR_IO = -18,       /* the system refused; see store_state */
    ERR_READONLY = -19, /* the store cannot be written by this process */
    ERR_DAMAGED = -20,  /* bytes once synced are not what they were */
    ERR_FORMAT = -21,   /* not a log, or of a version unknown here */
    ERR_UNKNOWN = -22,  /* a commit failed, and its outcome is not known */
    ERR_UNAUTHORIZED = -23, /* the principal may not do that */
    ERR_CAPABILITY = -24,   /* the client cannot do what is needed */
    ERR_LEASE = -25         /* another agent's lease is running */
};

/* The code's name on the wire ("not_found", "store_full"); never NULL. */
const char *err_name(int err);
/* Whether the same request may succeed later without being changed. */
bool err_retryable(int err);

/* ---- memory ---- */

/* An arena gives memory that is all freed at once. Zeroed = ready to use. */
struct arena {
    struct arena_chunk *chunk; /* the newest, from which memory is given */
    void *last;                /* the newest block, which can grow in place */
};

/* n bytes, aligned for any type, or NULL when there is no memory. */
void *arena_alloc(struct arena *a, size_t n);
/* Grows a block to n bytes, in place where it was the newest; or NULL. */
void *arena_grow(struct arena *a, void *old, size_t old_n, size_t n);
/* A copy of s, NUL-terminated as well; .p is NULL when there is no memory. */
struct str arena_str(struct arena *a, struct str s);
/* Text by printf's rules; .p is NULL when there is no memory. */
struct str arena_printf(struct arena *a, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));
/* Forgets every block; keeps one chunk for the next round. */
void arena_reset(struct arena *a);
void arena_fini(struct arena *a);
/* The bytes that it holds, used or not. */
size_t arena_size(const struct arena *a);

/* A growing byte buffer. Zeroed = empty. The first error sticks in err and
   later writes do nothing, so that one check at the end is enough. */
struct buf {
    char *p;
    size_t len;
    size_t cap;
    int err; /* 0, or ERR_NOMEM */
};

void buf_put(struct buf *b, const void *p, size_t n);
void buf_str(struct buf *b, struct str s);
void buf_z(struct buf *b, const char *z);
void buf_char(struct buf *b, char c);
void buf_u64(struct buf *b, uint64_t v);
void buf_printf(struct buf *b, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));
/* Room for n more bytes behind len, or NULL; the caller then adds to len. */
char *buf_room(struct buf *b, size_t n);
/* Makes room for cap bytes in all, and for no more, where there is less. */
void buf_reserve(struct buf *b, size_t cap);
/* Drops the first n bytes. */
void buf_consume(struct buf *b, size_t n);
struct str buf_view(const struct buf *b);
/* Empties, clears err, and gives back memory beyond keep bytes. */
void buf_reset(struct buf *b, size_t keep);
void buf_fini(struct buf *b);

/* ---- base64 ---- */

/* By RFC 4648, with its padding, and nothing else in it; one text only for
   one content. ERR_SYNTAX, ERR_NOMEM. */
int base64_decode(struct arena *a, struct str text, struct str *out);
void base64_encode(struct buf *b, struct str bytes);

/* ---- time ---- */

#define TIME_LEN 24 /* "2026-07-28T09:30:00.000Z" */

int64_t clock_wall_ms(void); /* since 1970, UTC */
int64_t clock_mono_ms(void);
/* The same for all processes of one boot; goes on while the machine sleeps. */
int64_t clock_boot_ms(void);
/* RFC 3339, UTC, milliseconds: TIME_LEN bytes and a NUL. ms is clamped to
   the years 1970-9999. */
void time_format(int64_t ms, char out[TIME_LEN + 1]);
/* Reads RFC 3339 with Z or an offset and 0-9 digits of fraction. */
bool time_parse(struct str s, int64_t *ms);

/* ---- random ---- */

/* Fills n bytes (n <= 256) from the system's generator, or ERR_IO. */
int random_bytes(void *p, size_t n);

#endif
