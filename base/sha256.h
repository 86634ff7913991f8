#ifndef BASE_SHA256_H
#define BASE_SHA256_H

/* sha256 - SHA-256 (FIPS 180-4), for artifacts and digests of arguments. */

#include "base/base.h"

#define SHA256_LEN 32
#define SHA256_HEX 64

struct sha256 {
    uint32_t h[8];
    uint64_t len; /* bytes so far */
    uint8_t block[64];
};

void sha256_init(struct sha256 *s);
void sha256_add(struct sha256 *s, const void *p, size_t n);
void sha256_end(struct sha256 *s, uint8_t out[SHA256_LEN]);
/* Ends with lower-case hexadecimal digits and a NUL. */
void sha256_end_hex(struct sha256 *s, char out[SHA256_HEX + 1]);
/* The digest of one text. */
void sha256_of(struct str text, uint8_t out[SHA256_LEN]);
/* The same in lower-case hexadecimal, with a NUL. */
void sha256_hex(struct str text, char out[SHA256_HEX + 1]);

#endif
