/* utf8 - reading UTF-8 (RFC 3629). */

#include "base/utf8.h"

/* Whether c is a continuation byte. */
static bool
is_tail(uint8_t c)
{
    return (c & 0xc0) == 0x80;
}

size_t
utf8_len(const char *p, const char *end)
{
    const uint8_t *s = (const uint8_t *)p;
    size_t room = (size_t)(end - p);

    if (room == 0)
        return 0;
    if (s[0] < 0x80)
        return 1;
    if (s[0] < 0xc2 || s[0] > 0xf4 || room < 2 || !is_tail(s[1]))
        return 0;
    if (s[0] < 0xe0)
        return 2;
    if (room < 3 || !is_tail(s[2]))
        return 0;
    /* The second byte reveals overlong forms, surrogates and code points above
       U+10FFFF. */
    if (s[0] < 0xf0) {
        if ((s[0] == 0xe0 && s[1] < 0xa0) || (s[0] == 0xed && s[1] > 0x9f))
            return 0;
        return 3;
    }
    if ((s[0] == 0xf0 && s[1] < 0x90) || (s[0] == 0xf4 && s[1] > 0x8f))
        return 0;
    return room >= 4 && is_tail(s[3]) ? 4 : 0;
}

uint32_t
utf8_code(const char *p, size_t n)
{
    uint32_t cp = (uint32_t)p[0] & (n == 1 ? 0x7fu : 0x7fu >> n);

    for (size_t i = 1; i < n; i++)
        cp = cp << 6 | ((uint32_t)p[i] & 0x3fu);
    return cp;
}

bool
utf8_is_active(uint32_t cp)
{
    static const uint32_t ranges[][2] = {
        {0, 0x1f}, {0x7f, 0x9f}, {0x61c, 0x61c}, {0x200e, 0x200f},
        {0x2028, 0x202e}, {0x2066, 0x2069}, {0xfeff, 0xfeff},
        {0xe0000, 0xe007f}};

    for (size_t i = 0; i < sizeof(ranges) / sizeof(ranges[0]); i++)
        if (cp >= ranges[i][0] && cp <= ranges[i][1])
            return true;
    return false;
}

size_t
utf8_count(struct str s)
{
    size_t i, n = 0;

    for (i = 0; i < s.len; i++)
        n += !is_tail((uint8_t)s.p[i]);
    return n;
}

bool
utf8_is_within(struct str s, size_t at)
{
    return at < s.len && is_tail((uint8_t)s.p[at]);
}

struct str
utf8_cut(struct str s, size_t max)
{
    if (s.len <= max)
        return s;
    while (max > 0 && utf8_is_within(s, max))
        max--;
    return (struct str){s.p, max};
}

struct str
utf8_first(struct str s, size_t n)
{
    size_t at = 0;

    while (at < s.len && (n > 0 || utf8_is_within(s, at)))
        n -= !utf8_is_within(s, at++);
    return (struct str){s.p, at};
}

bool
utf8_is_valid(struct str s)
{
    size_t at = 0, n = 1;

    for (; at < s.len && n != 0; at += n)
        n = utf8_len(s.p + at, s.p + s.len);
    return n != 0;
}
