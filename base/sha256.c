/* sha256 - SHA-256 as in FIPS 180-4.

   One algorithm, no allocation, no failure. Words are read and written by
   shifts, so byte order and alignment do not matter.

   Invariants:
   1. block holds the last len % 64 bytes of the input; h covers the rest.
   2. After sha256_end the state must be initialized again before use. */

#include "base/sha256.h"
#include "base/text.h"

#include <string.h>

static const uint32_t round_k[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1,
    0x923f82a4, 0xab1c5ed5, 0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3,
    0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174, 0xe49b69c1, 0xefbe4786,
    0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147,
    0x06ca6351, 0x14292967, 0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13,
    0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85, 0xa2bfe8a1, 0xa81a664b,
    0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a,
    0x5b9cca4f, 0x682e6ff3, 0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208,
    0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2,
};

static uint32_t
rotr(uint32_t x, int n)
{
    return x >> n | x << (32 - n);
}

static void
expand_block(uint32_t w[64], const uint8_t *p)
{
    int i;

    for (i = 0; i < 16; i++, p += 4)
        w[i] = (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 |
               (uint32_t)p[2] << 8 | p[3];
    for (; i < 64; i++) {
        uint32_t a = w[i - 15], b = w[i - 2];

        w[i] = w[i - 16] + (rotr(a, 7) ^ rotr(a, 18) ^ a >> 3) + w[i - 7] +
               (rotr(b, 17) ^ rotr(b, 19) ^ b >> 10);
    }
}

static void
compress_block(uint32_t s[8], const uint8_t *p)
{
    uint32_t a = s[0], b = s[1], c = s[2], d = s[3];
    uint32_t e = s[4], f = s[5], g = s[6], h = s[7];
    uint32_t w[64], t;

    expand_block(w, p);
    for (int i = 0; i < 64; i++) {
        t = h + (rotr(e, 6) ^ rotr(e, 11) ^ rotr(e, 25)) +
            (g ^ (e & (f ^ g))) + round_k[i] + w[i];
        h = g;
        g = f;
        f = e;
        e = d + t;
        d = c;
        c = b;
        b = a;
        a = t + (rotr(b, 2) ^ rotr(b, 13) ^ rotr(b, 22)) +
            ((b & c) | (d & (b | c)));
    }
    s[0] += a;
    s[1] += b;
    s[2] += c;
    s[3] += d;
    s[4] += e;
    s[5] += f;
    s[6] += g;
    s[7] += h;
}

void
sha256_init(struct sha256 *s)
{
    static const uint32_t start[8] = {
        0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
        0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19,
    };

    memcpy(s->h, start, sizeof(start));
    s->len = 0;
}

void
sha256_add(struct sha256 *s, const void *p, size_t n)
{
    size_t used = (size_t)(s->len % sizeof(s->block));
    const uint8_t *from = p;

    if (n == 0)
        return;
    s->len += n;
    if (used > 0) {
        size_t take = sizeof(s->block) - used;

        if (take > n)
            take = n;
        memcpy(s->block + used, from, take);
        from += take;
        n -= take;
        if (used + take < sizeof(s->block))
            return;
        compress_block(s->h, s->block);
    }
    for (; n >= sizeof(s->block); n -= sizeof(s->block)) {
        compress_block(s->h, from);
        from += sizeof(s->block);
    }
    if (n > 0)
        memcpy(s->block, from, n);
}

void
sha256_end(struct sha256 *s, uint8_t out[SHA256_LEN])
{
    static const uint8_t pad[64] = {0x80};
    uint64_t bits = s->len * 8;
    uint8_t tail[8];

    for (int i = 0; i < 8; i++)
        tail[i] = (uint8_t)(bits >> (56 - 8 * i));
    /* One bit, then zeros up to byte 56 of 64: 1 to 64 bytes of padding. */
    sha256_add(s, pad, (size_t)(64 - (s->len + 8) % 64));
    sha256_add(s, tail, sizeof(tail));
    for (int i = 0; i < SHA256_LEN; i++)
        out[i] = (uint8_t)(s->h[i / 4] >> (24 - 8 * (i % 4)));
}

void
sha256_of(struct str text, uint8_t out[SHA256_LEN])
{
    struct sha256 s;

    sha256_init(&s);
    sha256_add(&s, text.p, text.len);
    sha256_end(&s, out);
}

void
sha256_end_hex(struct sha256 *s, char out[SHA256_HEX + 1])
{
    uint8_t digest[SHA256_LEN];

    sha256_end(s, digest);
    for (int i = 0; i < SHA256_LEN; i++)
        text_hex(out + 2 * i, 2, digest[i]);
    out[SHA256_HEX] = '\0';
}

void
sha256_hex(struct str text, char out[SHA256_HEX + 1])
{
    struct sha256 s;

    sha256_init(&s);
    sha256_add(&s, text.p, text.len);
    sha256_end_hex(&s, out);
}
