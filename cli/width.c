/* width - how many cells of a terminal a text takes. The libc of a static
   binary has no locale to ask, so the ranges are here: the blocks of Unicode
   (UAX 11) as terminals draw them, without the gaps between assigned wide
   characters. */

#include "cli/width.h"
#include "base/text.h"
#include "base/utf8.h"

static const struct range {
    uint32_t from, cells : 8, n : 24; /* n characters from there on */
} ranges[] = {
    {0x300, 0, 112}, {0x483, 0, 7}, {0x591, 0, 45}, {0x610, 0, 11},
    {0x64b, 0, 21}, {0x93c, 0, 1}, {0x94d, 0, 1}, {0xe31, 0, 1}, {0xe34, 0, 7},
    {0xe47, 0, 8}, {0x1100, 2, 96}, {0x1ab0, 0, 80}, {0x1dc0, 0, 64},
    {0x200b, 0, 5}, {0x20d0, 0, 33}, {0x231a, 2, 2}, {0x23e9, 2, 4},
    {0x23f0, 2, 1}, {0x23f3, 2, 1}, {0x25fd, 2, 2}, {0x2614, 2, 2},
    {0x2648, 2, 12}, {0x267f, 2, 1}, {0x2693, 2, 1}, {0x26a1, 2, 1},
    {0x26aa, 2, 2}, {0x26bd, 2, 2}, {0x26c4, 2, 2}, {0x26ce, 2, 1},
    {0x26d4, 2, 1}, {0x26ea, 2, 1}, {0x26f2, 2, 2}, {0x26f5, 2, 1},
    {0x26fa, 2, 1}, {0x26fd, 2, 1}, {0x2705, 2, 1}, {0x270a, 2, 2},
    {0x2728, 2, 1}, {0x274c, 2, 1}, {0x274e, 2, 1}, {0x2753, 2, 3},
    {0x2757, 2, 1}, {0x2795, 2, 3}, {0x27b0, 2, 1}, {0x27bf, 2, 1},
    {0x2b1b, 2, 2}, {0x2b50, 2, 1}, {0x2b55, 2, 1}, {0x2e80, 2, 447},
    {0x3041, 2, 29023}, {0xa960, 2, 32}, {0xac00, 2, 11172}, {0xf900, 2, 512},
    {0xfe00, 0, 16}, {0xfe20, 0, 16}, {0xfe30, 2, 64}, {0xff00, 2, 97},
    {0xffe0, 2, 7}, {0x1f004, 2, 1}, {0x1f0cf, 2, 1}, {0x1f18e, 2, 1},
    {0x1f191, 2, 10}, {0x1f200, 2, 102}, {0x1f300, 2, 848}, {0x1f680, 2, 128},
    {0x1f7e0, 2, 17}, {0x1f900, 2, 256}, {0x1fa70, 2, 144},
    {0x20000, 2, 131070}, {0xe0100, 0, 240},
};

static size_t
cells_of(uint32_t cp)
{
    if (cp < ranges[0].from)
        return 1;
    for (size_t i = 0; i < sizeof(ranges) / sizeof(ranges[0]); i++)
        if (cp - ranges[i].from < ranges[i].n)
            return ranges[i].cells;
    return 1;
}

struct str
cli_cut(struct str s, size_t width, size_t *used)
{
    const char *end = str_end(s);
    size_t at = 0, n, cells;

    for (*used = 0; at < s.len; at += n, *used += cells) {
        n = utf8_len(s.p + at, end);
        cells = n > 0 ? cells_of(utf8_code(s.p + at, n)) : 1;
        if (*used + cells > width)
            break;
        n += n == 0;
    }
    return (struct str){s.p, at};
}

size_t
cli_width(struct str s)
{
    size_t n;

    cli_cut(s, SIZE_MAX, &n);
    return n;
}
