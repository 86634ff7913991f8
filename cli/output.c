/* output - what is kept of a command's output. */

#include "cli/output.h"
#include "base/utf8.h"
#include "task/artifact.h"
#include "task/view.h"

#include <stdlib.h>

#define HEAD (ARTIFACT_MAX / 2)
#define TAIL (ARTIFACT_MAX / 2 - 128) /* a line goes between the two */

int
output_new(struct output *o)
{
    o->n = 0;
    o->kept = malloc(HEAD + TAIL);
    return o->kept != NULL ? 0 : ERR_NOMEM;
}

void
output_free(struct output *o)
{
    free(o->kept);
}

/* Where byte i is kept. */
static char *
at(const struct output *o, uint64_t i)
{
    return o->kept + (i < HEAD ? i : HEAD + (i - HEAD) % TAIL);
}

void
output_add(struct output *o, const char *p, size_t n)
{
    for (size_t i = 0; i < n; i++)
        *at(o, o->n++) = p[i];
}

struct str
output_line(const struct output *o, struct arena *a, size_t max)
{
    uint64_t oldest = o->n > HEAD + TAIL ? o->n - TAIL : 0, end = o->n, from;
    struct buf b = {0};

    while (end > oldest && (uint8_t)*at(o, end - 1) <= ' ')
        end--;
    for (from = end; from > oldest && end - from < max; from--)
        if (*at(o, from - 1) == '\n' || *at(o, from - 1) == '\r')
            break;
    for (; from < end; from++)
        buf_char(&b, *at(o, from));
    return buf_take(&b, a);
}

const char *
output_plain(struct arena *a, struct str s, size_t max)
{
    struct buf b = {0};

    view_plain(&b, utf8_cut(s, max), SIZE_MAX, '?');
    b.len = utf8_cut(buf_view(&b), max).len; /* <U+202E> is longer */
    return buf_take(&b, a).p;
}

struct str
output_log(const struct output *o, struct arena *a)
{
    uint64_t from = HEAD, to = o->n - TAIL;
    struct buf b = {0};

    if (o->n <= HEAD + TAIL)
        return (struct str){o->kept, (size_t)o->n};
    while (from > HEAD - 3 && (uint8_t)*at(o, from - 1) >= 0x80)
        from--;
    while (to < o->n - TAIL + 3 && (uint8_t)*at(o, to) >> 6 == 2)
        to++;
    buf_reserve(&b, ARTIFACT_MAX);
    buf_put(&b, o->kept, (size_t)from);
    buf_printf(&b, "\n... %llu bytes left out ...\n",
               (unsigned long long)(to - from));
    while (to < o->n)
        buf_char(&b, *at(o, to++));
    return buf_take(&b, a);
}
