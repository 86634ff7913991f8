#ifndef BASE_H
#define BASE_H

/* base - slices, memory, growing buffers and randomness. */

#include "base/err.h"
#include "base/text.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define MCPTASK_VERSION "0.5.0-dev"
/* The same, and for a version in development the commit that this program was
   built from, where git knows it: "0.3.0-dev+1a2b3c4d". */
extern const char mcptask_version[];

struct str {
    const char *p; /* not NUL-terminated */
    size_t len;
};
#define STR(lit) ((struct str){(lit), sizeof(lit) - 1})
#define STR_NONE ((struct str){NULL, 0})
#define STR_ARG(s) (int)(s).len, (s).p /* for "%.*s" */
struct str str_of(const char *z);
bool str_eq(struct str a, struct str b);
/* Below 0, 0 or above: a comes before b, is equal, comes after, by bytes. */
int str_compare(struct str a, struct str b);
bool str_is(struct str a, const char *z);
bool str_begins(struct str s, struct str prefix);
bool str_starts(struct str s, const char *prefix);
/* Returns what comes before the first c and leaves in *s what comes after it.
   If there is no c, returns all of *s and sets s->p to NULL. */
struct str str_cut(struct str *s, char c);
/* The next line of a file that people edit: like str_cut for '\n', but without
   a byte order mark and the CR of editors on Windows. */
struct str str_line(struct str *s);
struct str str_from(struct str s, size_t n); /* without its first n bytes */
/* How many characters have to be inserted, deleted or replaced to make name of
   word; SIZE_MAX if they are too many for a slip of the fingers, or name has
   more than 31. */
size_t str_slips(struct str word, const char *name);
const char *str_end(struct str s); /* the byte after its last, or NULL */
struct str str_trim(struct str s); /* without blanks and controls around it */
size_t str_find(struct str s, struct str what); /* SIZE_MAX: nowhere */
/* FNV-1a, 64 bits: only for keys an attacker cannot choose freely. */
uint64_t str_hash(struct str s);
/* SipHash-1-3 with a secret: for keys an attacker may choose. */
uint64_t str_sip(const uint64_t seed[2], struct str s);
bool str_is_hex(struct str s, size_t n); /* n digits, lower-case */
bool str_u64(struct str s, uint64_t *out); /* all of s is its digits */

/* Returns whether one user may hold own while all together hold all of max: at
   most three quarters of what the others leave, so the next one finds room. */
bool share_fits(size_t own, size_t all, size_t max);

/* An arena frees all its blocks together. Initialize to zero. */
struct arena {
    struct arena_chunk *chunk; /* the newest, which supplies memory */
    void *last;                /* the newest block, growable in place */
};

/* n bytes, aligned for any type; NULL: out of memory. */
void *arena_alloc(struct arena *a, size_t n);
/* A block grown to n bytes, in place if it is the newest. NULL as above. */
void *arena_grow(struct arena *a, void *old, size_t old_n, size_t n);
/* A NUL-terminated copy of s; .p NULL: out of memory. */
struct str arena_str(struct arena *a, struct str s);
/* A NUL-terminated copy with each %XX decoded; .p NULL: out of memory. */
struct str arena_unescape(struct arena *a, struct str s);
/* Text formatted as by printf; .p NULL: out of memory. */
struct str arena_printf(struct arena *a, const char *fmt, ...) PRINTF(2, 3);
void arena_reset(struct arena *a); /* keeps one chunk for reuse */
void arena_fini(struct arena *a);
size_t arena_size(const struct arena *a); /* bytes that it holds */

/* A growing byte buffer. Initialize to zero. The first error stays in err and
   later writes do nothing, so one check at the end is enough. */
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
void buf_printf(struct buf *b, const char *fmt, ...) PRINTF(2, 3);
/* Appends what precedes the values of mcptask_NAME, a figure for Prometheus
   (text format 0.0.4): a counter if its name ends in _total. */
void buf_metric(struct buf *b, const char *name, const char *help);
/* Makes room for n more bytes and returns where they go; the caller adds to
   len. NULL: out of memory. */
char *buf_room(struct buf *b, size_t n);
/* Grows the capacity to exactly cap bytes, if it is smaller. */
void buf_reserve(struct buf *b, size_t cap);
void buf_consume(struct buf *b, size_t n); /* drops the first n bytes */
struct str buf_view(const struct buf *b);
/* Empties b, clears err, and frees the memory if it exceeds keep bytes. */
void buf_reset(struct buf *b, size_t keep);
void buf_fini(struct buf *b);
/* Frees b and returns its text, NUL-terminated, in a. .p NULL: err was set. */
struct str buf_take(struct buf *b, struct arena *a);

/* Fills n bytes (at most 256) from the system's generator. 0 or ERR_IO. */
int random_bytes(void *p, size_t n);
/* Writes n (at most 64) random hex digits and a NUL. 0 or ERR_IO. */
int random_hex(char *out, int n);

#endif
