/* gunzip - unpacks what the build packed into the binary (RFC 1951, 1952).

   1. The input is ours, so it cannot be wrong: asserts check that it is whole,
      and tests compare the output with the files.
   2. gzip -n writes a ten-byte header; the last eight bytes are the CRC and the
      length, both little-endian. */

#include "base/gunzip.h"
#include "base/text.h"

#include <stdlib.h>
#include <string.h>

enum { HEAD_LEN = 10, MAX_BITS = 15, N_LITERALS = 288, N_DISTANCES = 30 };

struct unpack {
    const uint8_t *in, *end;
    uint32_t held; /* bits read but not consumed */
    unsigned n;    /* how many */
    uint8_t *out;
};

/* A canonical Huffman code: number of codes per length, and symbols in
   order. */
struct code {
    uint16_t n[MAX_BITS + 1], symbol[N_LITERALS];
};

static unsigned
take_bits(struct unpack *u, unsigned n)
{
    unsigned bits;

    for (; u->n < n; u->n += 8) {
        ASSERT(u->in < u->end);
        u->held |= (uint32_t)*u->in++ << u->n;
    }
    bits = u->held & ((1u << n) - 1);
    u->held >>= n;
    u->n -= n;
    return bits;
}

static void
code_of(struct code *c, const uint8_t *lengths, unsigned n)
{
    uint16_t at[MAX_BITS + 2] = {0};

    memset(c, 0, sizeof(*c));
    for (unsigned i = 0; i < n; i++)
        c->n[lengths[i]]++;
    c->n[0] = 0;
    for (unsigned i = 1; i <= MAX_BITS; i++)
        at[i + 1] = (uint16_t)(at[i] + c->n[i]);
    for (unsigned i = 0; i < n; i++)
        if (lengths[i] != 0)
            c->symbol[at[lengths[i]]++] = (uint16_t)i;
}

static unsigned
read_symbol(struct unpack *u, const struct code *c)
{
    unsigned bits = 0, first = 0, index = 0, len;

    for (len = 1; len <= MAX_BITS; len++) {
        bits |= take_bits(u, 1);
        if (bits < first + c->n[len])
            return c->symbol[index + bits - first];
        index += c->n[len];
        first = (first + c->n[len]) << 1;
        bits <<= 1;
    }
    ASSERT(false);
    return 0;
}

/* Reads the two codes of a block, which are themselves compressed. */
static void
read_codes(struct unpack *u, struct code *literals, struct code *distances)
{
    static const uint8_t order[] = {16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4,
                                    12, 3, 13, 2, 14, 1, 15};
    unsigned n = take_bits(u, 5) + 257, all = n + take_bits(u, 5) + 1;
    unsigned i, s, again, some = take_bits(u, 4) + 4;
    uint8_t lengths[N_LITERALS + 32] = {0}, last;

    for (i = 0; i < some; i++)
        lengths[order[i]] = (uint8_t)take_bits(u, 3);
    code_of(literals, lengths, sizeof(order));
    for (i = 0; i < all;) {
        s = read_symbol(u, literals);
        last = 0;
        if (s < 16) {
            last = (uint8_t)s;
            again = 1;
        } else if (s == 16) {
            last = lengths[i - 1];
            again = 3 + take_bits(u, 2);
        } else if (s == 17) {
            again = 3 + take_bits(u, 3);
        } else {
            again = 11 + take_bits(u, 7);
        }
        while (again-- > 0 && i < all)
            lengths[i++] = last;
    }
    code_of(literals, lengths, n);
    code_of(distances, lengths + n, all - n);
}

static void
fixed_codes(struct code *literals, struct code *distances)
{
    uint8_t lengths[N_LITERALS];

    memset(lengths, 8, 144);
    memset(lengths + 144, 9, 112);
    memset(lengths + 256, 7, 24);
    memset(lengths + 280, 8, 8);
    code_of(literals, lengths, N_LITERALS);
    memset(lengths, 5, N_DISTANCES);
    code_of(distances, lengths, N_DISTANCES);
}

/* Computes what RFC 1951, 3.2.5, has in tables. */
static void
unpack_block(struct unpack *u, const struct code *literals,
             const struct code *distances, const uint8_t *end)
{
    unsigned s, k, more, len, far;

    while ((s = read_symbol(u, literals)) != 256) {
        if (s < 256) {
            ASSERT(u->out < end);
            *u->out++ = (uint8_t)s;
            continue;
        }
        k = s - 257;
        if (k == 28) {
            len = 258;
        } else if (k < 8) {
            len = k + 3;
        } else {
            more = (k >> 2) - 1;
            len = ((4 + (k & 3)) << more) + 3 + take_bits(u, more);
        }
        k = read_symbol(u, distances);
        far = k + 1;
        if (k >= 4) {
            more = (k >> 1) - 1;
            far = ((2 + (k & 1)) << more) + 1 + take_bits(u, more);
        }
        ASSERT(len <= (size_t)(end - u->out));
        for (; len > 0; len--, u->out++)
            *u->out = u->out[-(ptrdiff_t)far];
    }
}

/* Unpacks everything to p, which has room for len bytes. */
static void
unpack_blocks(struct str packed, uint8_t *p, size_t len)
{
    const uint8_t *in = (const uint8_t *)packed.p;
    struct unpack u = {.in = in + HEAD_LEN, .end = in + packed.len, .out = p};
    struct code literals, distances;
    unsigned last, kind;

    do {
        last = take_bits(&u, 1);
        kind = take_bits(&u, 2);
        ASSERT(kind == 1 || kind == 2); /* gzip never stores text
                                           uncompressed */
        if (kind == 1)
            fixed_codes(&literals, &distances);
        else
            read_codes(&u, &literals, &distances);
        unpack_block(&u, &literals, &distances, p + len);
    } while (!last);
    ASSERT(u.out == p + len);
}

/* The 32-bit number that begins 4 * back bytes before the end. */
static uint32_t
number_at(struct str packed, size_t back)
{
    const uint8_t *p = (const uint8_t *)packed.p + packed.len - 4 * back;

    return p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 |
           (uint32_t)p[3] << 24;
}

uint32_t
gunzip_crc(struct str packed)
{
    return number_at(packed, 2);
}

int
gunzip(struct str packed, struct str *out)
{
    size_t len = number_at(packed, 1);
    char *text = malloc(len + 1);

    if (text == NULL)
        return ERR_NOMEM;
    unpack_blocks(packed, (uint8_t *)text, len);
    text[len] = '\0';
    *out = (struct str){text, len};
    return 0;
}
