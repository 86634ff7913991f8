#ifndef BASE_H
#define BASE_H

/* base - what every other file stands on: slices, memory, growing buffers,
   randomness. It knows no file and no protocol. */

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define MCPTASK_VERSION "0.2.0"

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
bool str_begins(struct str s, struct str prefix);
bool str_starts(struct str s, const char *prefix);
/* Cuts what stands before the first c off the front of s, and c with it;
   where there is none, all, and s->p is NULL then. */
struct str str_cut(struct str *s, char c);
struct str str_from(struct str s, size_t n); /* without its first n bytes */
/* FNV-1a, 64 bits: only for what an enemy cannot choose without bound. */
uint64_t str_hash(struct str s);
/* SipHash-1-3 with a secret: for what an enemy may choose. */
uint64_t str_sip(const uint64_t seed[2], struct str s);
/* Reads a whole unsigned decimal: digits only, no overflow. */
bool str_u64(struct str s, uint64_t *out);
/* The length of the valid UTF-8 sequence (RFC 3629) at p, or 0. */
size_t utf8_len(const char *p, const char *end);
/* The code point of the valid sequence of n bytes at p. */
uint32_t utf8_code(const char *p, size_t n);
/* Code points in s, which must be valid UTF-8. */
size_t utf8_count(struct str s);

/* Whether one user may hold own, of all out of max: at most three quarters of
   what the others leave, so that the next one always finds room. */
bool share_fits(size_t own, size_t all, size_t max);

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
/* Empties, clears err, and gives the memory back if it is over keep bytes. */
void buf_reset(struct buf *b, size_t keep);
void buf_fini(struct buf *b);
/* Ends b; its text is in a, as by arena_str. .p is NULL where err is set. */
struct str buf_take(struct buf *b, struct arena *a);

/* Fills n bytes (at most 256) from the system's generator, or ERR_IO. */
int random_bytes(void *p, size_t n);

#endif
