/* table - rows of cells in columns.

   1. Rows wait until table_draw, since the columns are as wide as the widest
      text of the rows that are written with them, and no narrower than those
      before: nobody knows the rows that come later.
   2. A text is made plain when it is added, so that a cell never ends a line
      and its colours are the only ones. */

#include "cli/table.h"
#include "cli/screen.h"
#include "base/utf8.h"
#include "task/view.h"

#include <string.h>

#define GAP 2
#define WIDE_MAX 40 /* a wider text shifts only its own row */
#define REST_MIN 16 /* for less, columns that may go make room */
#define DRAW_AT (64 * 1024) /* bytes of rows that wait */

struct table_row {
    struct table_row *next;
    size_t indent;
    enum row_kind { CELLS, LINE, WHOLE_LINE } kind; /* a line has one cell */
    struct table_cell cell[];
};

/* ---- cells ---- */

/* The libc of a static binary has no locale to ask, so the ranges are here: the
   blocks of Unicode (UAX 11) as terminals draw them, without the gaps between
   assigned wide characters. */
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
enum { N_RANGES = sizeof ranges / sizeof *ranges };

struct str
cli_cut(struct str s, size_t width, size_t *used)
{
    const char *end = str_end(s);
    size_t at = 0, n, cells;

    for (*used = 0; at < s.len; at += n, *used += cells) {
        uint32_t cp = 0;

        n = utf8_len(s.p + at, end);
        if (n > 0)
            cp = utf8_code(s.p + at, n);
        cells = 1;
        for (size_t i = 0; cp >= ranges[0].from && i < N_RANGES; i++)
            if (cp - ranges[i].from < ranges[i].n) {
                cells = ranges[i].cells;
                break;
            }
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

struct str
table_cut(struct arena *a, struct str s, size_t width, size_t *used)
{
    struct str dots = screen_is_utf8() ? STR("\xe2\x80\xa6") : STR("...");
    size_t room = cli_width(dots);
    struct str cut;

    *used = cli_width(s);
    if (width == 0 || *used <= width)
        return s;
    if (width < room)
        return cli_cut(s, width, used);
    cut = str_trim(cli_cut(s, width - room, used));
    *used = cli_width(cut) + room;
    return arena_printf(a, "%.*s%.*s", STR_ARG(cut), STR_ARG(dots));
}

/* ---- rows ---- */

void
table_begin(struct table *t, struct cli *c, const struct table_column *cols,
            size_t n, size_t width)
{
    *t = (struct table){.c = c, .cols = cols, .n = n, .width = width};
    ASSERT(n <= TABLE_COLUMNS);
    t->last = &t->first;
    c->exact = true;
}

/* Adds a row of n cells, the texts of which are made plain. */
static void
add_cells(struct table *t, size_t indent, enum row_kind kind,
          const struct table_cell *cells, size_t n)
{
    struct table_row *r = arena_alloc(&t->a,
                                      sizeof *r + n * sizeof r->cell[0]);

    if (r == NULL) {
        t->c->out.err = ERR_NOMEM;
        return;
    }
    *r = (struct table_row){.indent = indent, .kind = kind};
    for (size_t i = 0; i < n; i++) {
        struct buf plain = {0};

        view_plain(&plain, cells[i].s, SIZE_MAX, ' ');
        r->cell[i].s = buf_take(&plain, &t->a);
        r->cell[i].sgr = cells[i].sgr;
        if (r->cell[i].s.p == NULL)
            t->c->out.err = ERR_NOMEM;
    }
    *t->last = r;
    t->last = &r->next;
    if (arena_size(&t->a) > DRAW_AT)
        table_draw(t);
}

void
table_row(struct table *t, const struct table_cell *cells)
{
    add_cells(t, t->indent, CELLS, cells, t->n);
}

void
table_line(struct table *t, size_t indent, struct table_cell line)
{
    add_cells(t, indent, LINE, &line, 1);
}

void
table_whole_line(struct table *t, size_t indent, struct table_cell line)
{
    add_cells(t, indent, WHOLE_LINE, &line, 1);
}

/* ---- drawing ---- */

/* Counts a text among those of its column, up to the widest that it becomes. */
static void
measure_cell(struct table *t, size_t i, struct str s)
{
    const struct table_column *col = &t->cols[i];
    size_t n = cli_width(s), most = SIZE_MAX;

    if (t->width == 0)
        most = WIDE_MAX;
    else if (!col->rest && col->share > 0)
        most = t->width * col->share / 100;
    if (t->width > 0 && most < 4)
        most = 4;
    if (n > t->full[i])
        t->full[i] = n;
    if (n > most)
        n = t->width > 0 ? most : 0;
    if (n > t->wide[i])
        t->wide[i] = n;
}

/* The blanks before a column. */
static size_t
gap_before(const struct table *t, size_t i)
{
    if (i == 0)
        return 0;
    return t->cols[i].tight ? 1 : GAP;
}

/* How wide to write each column; 0: not at all. On a terminal the rest column
   takes what the others leave, and they what it does not need. */
static void
lay_out(const struct table *t, size_t wide[TABLE_COLUMNS])
{
    size_t used = t->indent, rest = 0, more;

    memcpy(wide, t->wide, sizeof t->wide);
    for (size_t i = 0; i < t->n; i++) {
        if (t->cols[i].rest)
            rest = i;
        if (t->cols[i].rest || wide[i] > 0)
            used += gap_before(t, i);
        if (!t->cols[i].rest)
            used += wide[i];
    }
    if (t->width == 0)
        return;
    for (size_t i = t->n; i > 0 && t->width < used + REST_MIN; i--)
        if (t->cols[i - 1].may_go && wide[i - 1] > 0) {
            used -= wide[i - 1] + gap_before(t, i - 1);
            wide[i - 1] = 0;
        }
    if (wide[rest] + used > t->width)
        wide[rest] = t->width > used + 1 ? t->width - used : 1;
    used += wide[rest];
    for (size_t i = 0; i < t->n && used < t->width; i++)
        if (wide[i] > 0 && wide[i] < t->full[i]) {
            more = t->full[i] - wide[i];
            more = more < t->width - used ? more : t->width - used;
            wide[i] += more;
            used += more;
        }
}

static void
put_blanks(struct buf *b, size_t n)
{
    for (; n > 0; n--)
        buf_char(b, ' ');
}

/* Writes a text, cut to a width on a terminal, and pads it. */
static void
put_cell(struct table *t, const struct table_cell *cell, size_t wide,
         bool right)
{
    struct buf *out = &t->c->out;
    size_t used;
    struct str s = table_cut(&t->a, cell->s, t->width > 0 ? wide : 0, &used);

    if (right && used < wide)
        put_blanks(out, wide - used);
    if (s.len > 0)
        cli_paint(t->c, out, s, cell->sgr);
    if (!right && used < wide)
        put_blanks(out, wide - used);
}

/* Ends a line, without the blanks at its end. */
static void
end_line(struct buf *out, size_t from)
{
    while (out->len > from && out->p[out->len - 1] == ' ')
        out->len--;
    buf_char(out, '\n');
}

static void
put_cells(struct table *t, const struct table_cell *cells,
          const size_t wide[TABLE_COLUMNS])
{
    struct buf *out = &t->c->out;
    size_t from = out->len;

    put_blanks(out, t->indent);
    for (size_t i = 0; i < t->n; i++) {
        if (wide[i] == 0 && t->width > 0)
            continue;
        put_blanks(out, gap_before(t, i));
        put_cell(t, &cells[i], wide[i], t->cols[i].right);
    }
    end_line(out, from);
}

void
table_draw(struct table *t)
{
    struct table_cell heads[TABLE_COLUMNS] = {{STR_NONE, NULL}};
    struct buf *out = &t->c->out;
    size_t wide[TABLE_COLUMNS], from, left;
    bool any = false; /* of the rows have columns */

    for (const struct table_row *r = t->first; r != NULL; r = r->next) {
        for (size_t i = 0; i < t->n && r->kind == CELLS; i++)
            measure_cell(t, i, r->cell[i].s);
        any |= r->kind == CELLS;
    }
    for (size_t i = 0; i < t->n; i++)
        if (t->wide[i] > 0 && t->width > 0 && t->cols[i].head != NULL)
            measure_cell(t, i, str_of(t->cols[i].head));
    lay_out(t, wide);
    if (any && t->width > 0 && !t->headed && t->cols[0].head != NULL) {
        for (size_t i = 0; i < t->n; i++)
            heads[i] = (struct table_cell){str_of(t->cols[i].head), "2"};
        put_cells(t, heads, wide);
        t->headed = true;
    }
    for (const struct table_row *r = t->first; r != NULL; r = r->next) {
        if (r->kind == CELLS) {
            put_cells(t, r->cell, wide);
            continue;
        }
        from = out->len;
        left = t->width > r->indent + 1 ? t->width - r->indent : 1;
        put_blanks(out, r->indent);
        put_cell(t, &r->cell[0], r->kind == LINE && t->width > 0 ? left : 0,
                 false);
        end_line(out, from);
    }
    arena_reset(&t->a);
    t->first = NULL;
    t->last = &t->first;
}

void
table_end(struct table *t)
{
    table_draw(t);
    arena_fini(&t->a);
}
