/* base64 - bytes as text (RFC 4648), with exactly one text for given bytes. */

#include "base/base64.h"

/* The value of a digit, or 64. */
static unsigned
digit_value(char c, bool url)
{
    if (c >= 'A' && c <= 'Z')
        return (unsigned)(c - 'A');
    if (c >= 'a' && c <= 'z')
        return (unsigned)(c - 'a') + 26;
    if (c >= '0' && c <= '9')
        return (unsigned)(c - '0') + 52;
    if (c == (url ? '-' : '+'))
        return 62;
    return c == (url ? '_' : '/') ? 63 : 64;
}

/* Unused bits must be zero: one text per content. */
static int
decode_digits(struct arena *a, struct str digits, bool url, struct str *out)
{
    char *p = arena_alloc(a, digits.len / 4 * 3 + 3);
    size_t i, j, n = 0;

    if (p == NULL)
        return ERR_NOMEM;
    for (i = 0; i < digits.len; i += 4) {
        size_t k = digits.len - i < 4 ? digits.len - i : 4;
        uint32_t v = 0;

        for (j = 0; j < 4; j++) {
            unsigned d = j < k ? digit_value(digits.p[i + j], url) : 0;

            if (d > 63)
                return ERR_SYNTAX;
            v = v << 6 | d;
        }
        if (k == 1 || (v & ((1ull << 8 * (4 - k)) - 1)) != 0)
            return ERR_SYNTAX;
        for (j = 0; j + 1 < k; j++)
            p[n++] = (char)(v >> (16 - 8 * j));
    }
    *out = (struct str){p, n};
    return 0;
}

int
base64_decode(struct arena *a, struct str text, struct str *out)
{
    struct str digits = text;

    while (text.len - digits.len < 2 && digits.len > 0 &&
           digits.p[digits.len - 1] == '=')
        digits.len--;
    return text.len % 4 != 0 ? ERR_SYNTAX
                             : decode_digits(a, digits, false, out);
}

int
base64url_decode(struct arena *a, struct str text, struct str *out)
{
    return decode_digits(a, text, true, out);
}

static void
encode_bytes(struct buf *b, struct str bytes, const char *last, bool pad)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                 "abcdefghijklmnopqrstuvwxyz0123456789";
    const uint8_t *p = (const uint8_t *)bytes.p;
    size_t i, j, n = bytes.len;
    char *to = buf_room(b, (n + 2) / 3 * 4);

    if (to == NULL)
        return;
    for (i = 0; i < n; i += 3) {
        uint32_t v = 0;

        for (j = i; j < i + 3; j++)
            v = v << 8 | (j < n ? p[j] : 0);
        for (j = 0; j < 4; j++, v <<= 6) {
            unsigned d = v >> 18 & 63;

            if (i + j > n)
                *to++ = '=';
            else
                *to++ = d < 62 ? digits[d] : last[d - 62];
        }
    }
    b->len += pad ? (n + 2) / 3 * 4 : (n * 4 + 2) / 3;
}

void
base64_encode(struct buf *b, struct str bytes)
{
    encode_bytes(b, bytes, "+/", true);
}

void
base64url_encode(struct buf *b, struct str bytes)
{
    encode_bytes(b, bytes, "-_", false);
}
