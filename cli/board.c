/* board - the command that shows all tasks in columns, here called lanes, by
   what they wait for.

   As many lanes stand side by side as fit into the terminal; the others follow
   below. On a very narrow terminal, a task takes one line. A text passes
   cli_safe before it is cut to its cell. */

#include "cli/board.h"
#include "cli/call.h"
#include "cli/show.h"
#include "cli/text.h"
#include "cli/width.h"
#include "base/clock.h"
#include "base/text.h"
#include "task/view.h"

#include <string.h>
#include <unistd.h>

#define GAP 2       /* between two cells */
#define CELL_MIN 20
#define ABREAST_MIN 3 /* with fewer lanes side by side, a task is a line */
#define CELL_MAX 40
#define CARDS 10    /* in a lane, without --limit */
#define AGES_MS 30000 /* --watch draws again this often for the ages alone */

enum { FAILED = TASK_N_COLUMNS, N_LANES }; /* ended tasks that failed */
static const struct { const char *title, *sgr; } names[N_LANES] = {
    {"Needs you", "1;35"}, {"Ready", "1"}, {"In progress", "1;36"},
    {"Handed over", "1;33"}, {"Stuck", "1;31"}, {"Done", "1;32"},
    {"Failed", "31"}};

struct board {
    struct cli *c;
    size_t columns; /* of the terminal; 0: unknown */
    size_t width;  /* of a cell; 0: a task is one line */
    size_t abreast; /* lanes side by side */
    enum task_column urgent; /* the lane that is filled in the order of work */
    struct lane {
        struct buf b; /* the lines of its cards, or JSON */
        uint64_t n;   /* number of its tasks, with those not in b */
        uint64_t cards; /* number of those in b */
        size_t at;    /* how much of b has been drawn */
    } lane[N_LANES];
};

/* ---- cards ---- */

/* Appends a line of a card, with control characters made harmless. */
static void
put_line(struct buf *to, struct str text)
{
    size_t from = to->len;

    for (size_t i = 0; i < text.len; i++)
        buf_char(to, text.p[i] == '\n' || text.p[i] == '\t' ? ' '
                                                            : text.p[i]);
    cli_safe(to, from, SAFE_LINE);
    buf_char(to, '\n');
}

static void
put_card(struct board *b, struct buf *to, const struct task *k)
{
    struct arena *a = &b->c->a;
    struct str owner = raw_text(a, k->f[F_CURRENT_OWNER]);
    struct str reason = task_cause_text(a, k);
    size_t done, all;
    int64_t at = 0;
    char age[24];

    if (to->len > 0)
        buf_char(to, '\n'); /* between two cards */
    time_parse(k->ev.r.time, &at);
    cli_span(age, cli_now_ms(b->c) - at);
    task_steps(k, &done, &all);
    put_line(to, arena_printf(a, "P%.*s %.*s", STR_ARG(k->f[F_PRIORITY]),
                              STR_ARG(k->ev.id)));
    put_line(to, raw_text(a, k->f[F_TITLE]));
    put_line(to, arena_printf(a, all > 0 ? "%.*s%s%s %zu/%zu" : "%.*s%s%s",
                              STR_ARG(owner), owner.len > 0 ? " " : "", age,
                              done, all));
    if (reason.len > 0)
        put_line(to, reason);
}

/* Adds a card, if there is room. Returns whether there is room for another. */
static bool
add_card(struct board *b, struct lane *l, const struct task *k)
{
    size_t from = l->b.len, used;

    if (l->cards >= b->c->args.limit)
        return false;
    l->cards++;
    if (b->c->json) {
        buf_z(&l->b, from > 0 ? "," : "");
        cli_put_summary_json(b->c, &l->b, k);
    } else if (b->width > 0) {
        put_card(b, &l->b, k);
    } else {
        buf_z(&l->b, "  ");
        view_task_line(&l->b, &b->c->a, k);
        cli_safe(&l->b, from, SAFE_TEXT);
        if (b->columns > 0 && !l->b.err) {
            l->b.len = from + cli_cut(str_from(buf_view(&l->b), from),
                                      b->columns, &used).len;
            if (l->b.p[l->b.len - 1] != '\n')
                buf_char(&l->b, '\n');
        }
    }
    return l->cards < b->c->args.limit;
}

static bool
add_urgent(void *ctx, const struct task *k)
{
    struct board *b = ctx;

    return task_column(k) != b->urgent ||
           add_card(b, &b->lane[b->urgent], k);
}

/* Counts a task, and adds it to its lane unless that has another order. */
static bool
add_task(void *ctx, const struct task *k)
{
    struct board *b = ctx;
    int column = k->status == TASK_FAILED ? (int)FAILED : (int)task_column(k);

    b->lane[column].n++;
    if (!task_column_is_urgent(column))
        (void)add_card(b, &b->lane[column], k);
    return true;
}

/* Fills the lanes, those that are urgent in the order of work. */
static int
fill_lanes(struct board *b)
{
    struct task_query all = {.include_done = true, .limit = TASK_LIST_MAX};
    struct task_query urgent[] = {
        [COLUMN_NEEDS_INPUT] = {.needs_input = TASK_YES},
        [COLUMN_READY] = {.status = 1u << TASK_OPEN},
    };
    const struct str args[] = { /* the same for a server */
        [COLUMN_NEEDS_INPUT] = STR("\"needs_input\":true,\"order\":\"work\""),
        [COLUMN_READY] = STR("\"order\":\"work\""),
    };
    int rc = 0;

    b->c->head = 0; /* that of the first list counts */
    for (int i = 0; rc == 0 && i < 2; i++) {
        b->urgent = (enum task_column)i;
        urgent[i].order = ORDER_WORK;
        urgent[i].limit = TASK_LIST_MAX;
        rc = cli_each_task(b->c, &urgent[i], args[i], add_urgent, b);
    }
    return rc == 0 ? cli_each_task(b->c, &all, CLI_ALL, add_task, b) : rc;
}

/* ---- drawing ---- */

/* Appends s, cut or padded to a cell, and a gap. */
static void
put_cell(struct board *b, struct str s, const char *sgr)
{
    size_t used;

    s = cli_cut(s, b->width, &used);
    cli_paint(b->c, &b->c->out, s, sgr);
    for (; used < b->width + GAP; used++)
        buf_char(&b->c->out, ' ');
}

static struct str
title_of(struct board *b, int i)
{
    return arena_printf(&b->c->a, "%s (" U64 ")", names[i].title,
                        b->lane[i].n);
}

/* Ends a line, without the blanks at its end. */
static void
end_line(struct buf *out, size_t from)
{
    while (out->len > from && out->p[out->len - 1] == ' ')
        out->len--;
    buf_char(out, '\n');
}

/* Draws the next line of n lanes; false: there is no more. */
static bool
put_row(struct board *b, struct lane *l, size_t n)
{
    struct buf *out = &b->c->out;
    size_t from = out->len;
    bool any = false;

    for (; n > 0; n--, l++) {
        struct str rest = str_from(buf_view(&l->b), l->at), s = rest;
        const char *end = rest.len > 0 ? memchr(rest.p, '\n', rest.len) : NULL;

        if (end != NULL)
            s.len = (size_t)(end - s.p);
        l->at += end != NULL ? s.len + 1 : rest.len;
        any |= rest.len > 0;
        put_cell(b, s, NULL);
    }
    if (any)
        end_line(out, from);
    else
        out->len = from;
    return any;
}

/* Draws n lanes from the i-th on side by side. */
static void
draw_abreast(struct board *b, int i, size_t n)
{
    size_t from;

    if (i > 0)
        buf_char(&b->c->out, '\n');
    from = b->c->out.len;
    for (size_t k = 0; k < n; k++)
        put_cell(b, title_of(b, i + (int)k), names[i + (int)k].sgr);
    end_line(&b->c->out, from);
    while (put_row(b, &b->lane[i], n))
        ;
}

/* Says at the end of a lane how many more it has. */
static void
put_more(struct board *b, struct lane *l)
{
    const char *before = l->b.len > 0 ? "\n" : "";

    if (b->width == 0)
        before = "  ";
    if (l->n > b->c->args.limit && !b->c->json)
        buf_printf(&l->b, "%s+" U64 " more\n", before,
                   l->n - b->c->args.limit);
}

static void
draw_json(struct board *b, int n)
{
    struct buf *out = &b->c->out;

    for (int i = 0; i < n; i++) {
        buf_printf(out, "%s{\"name\":\"%s\",\"total\":" U64 ",\"tasks\":[",
                   i == 0 ? "{\"columns\":[" : ",", names[i].title,
                   b->lane[i].n);
        buf_str(out, buf_view(&b->lane[i].b));
        buf_z(out, "]}");
    }
    buf_z(out, "]}\n");
}

static void
draw(struct board *b)
{
    struct buf *out = &b->c->out;
    int n = N_LANES - (b->lane[FAILED].n == 0);

    for (int i = 0; i < n; i++) {
        put_more(b, &b->lane[i]);
        out->err |= b->lane[i].b.err;
    }
    if (b->c->json) {
        draw_json(b, n);
    } else if (b->width > 0) {
        for (int i = 0; i < n; i += (int)b->abreast)
            draw_abreast(b, i, b->abreast < (size_t)(n - i)
                                   ? b->abreast : (size_t)(n - i));
    } else {
        for (int i = 0; i < n; i++) {
            cli_paint(b->c, out, title_of(b, i), names[i].sgr);
            buf_char(out, '\n');
            buf_str(out, buf_view(&b->lane[i].b));
        }
    }
}

/* The value of COLUMNS, else the width of the terminal. */
static size_t
find_width(void)
{
    const char *columns = env_get("COLUMNS");
    uint64_t n;

    if (columns == NULL || !str_u64(str_of(columns), &n))
        n = cli_terminal(STDOUT_FILENO);
    return n > 1000 ? 1000 : (size_t)n;
}

static int
show(struct cli *c)
{
    struct board b = {.c = c, .columns = find_width()};
    size_t width = b.columns + GAP;
    int rc;

    b.abreast = width / (CELL_MIN + GAP);
    if (b.abreast > TASK_N_COLUMNS)
        b.abreast = TASK_N_COLUMNS;
    if (b.abreast >= ABREAST_MIN)
        b.width = width / b.abreast - GAP;
    if (b.width > CELL_MAX)
        b.width = CELL_MAX;
    rc = fill_lanes(&b);
    if (rc == 0)
        draw(&b);
    for (int i = 0; i < N_LANES; i++)
        buf_fini(&b.lane[i].b);
    return rc;
}

/* Cuts the board to rows lines: more would scroll its beginning away. */
static void
cut_rows(struct buf *b, size_t rows)
{
    for (size_t i = 0; i < b->len; i++)
        if (b->p[i] == '\n' && --rows == 0)
            b->len = i;
}

/* What changes with each record. */
static uint64_t
head_of(const struct cli *c)
{
    return c->env->server != NULL ? c->head : store_next_n(c->s.store);
}

/* Draws the board again whenever something has changed. */
static int
watch(struct cli *c)
{
    uint64_t seen = 0;
    int64_t drawn_ms = 0;
    size_t width = 0, rows = 0;
    bool more;
    int rc;

    do {
        int64_t now = clock_mono_ms();
        size_t w = find_width(), r = cli_terminal_rows(STDOUT_FILENO);

        if (seen == head_of(c) && w == width && r == rows &&
            now - drawn_ms < AGES_MS)
            continue;
        drawn_ms = now;
        width = w;
        rows = r;
        if (c->tty)
            buf_z(&c->out, "\033[H\033[2J");
        if ((rc = show(c)) != 0)
            return rc;
        seen = head_of(c);
        cut_rows(&c->out, rows);
    } while ((rc = cli_follow(c, &more)) == 0 && more);
    if (c->tty)
        buf_char(&c->out, '\n'); /* the last line may have been cut */
    return rc;
}

int
cli_board(struct cli *c)
{
    int rc;

    c->exact = true;
    if (c->args.limit == UINT64_MAX)
        c->args.limit = CARDS;
    rc = c->args.watch ? watch(c) : show(c);
    if (cli_interrupted())
        return CLI_OK;
    return rc < 0 ? cli_fail_store(c, rc) : rc;
}

const char *
cli_board_title(int column)
{
    return names[column].title;
}
