/* board - all tasks in columns, by what they wait for: side by side where
   the terminal has room for that, else one below the other.

   1. What a task holds passes cli_safe before it is cut to a cell.
   2. A cell is as wide as its column, however long its text: characters are
      counted, not what a terminal makes of them. */

#include "cli/board.h"
#include "cli/text.h"
#include "task/query.h"
#include "task/view.h"
#include "base/clock.h"

#include <string.h>
#include <unistd.h>

#define GAP 2
#define CELL_MIN 16 /* narrower columns are put one below the other */
#define CELL_MAX 40
#define CARDS 10    /* in a column, unless told otherwise */

static const struct { const char *title, *sgr; } lanes[TASK_N_COLUMNS] = {
    {"Needs you", "1;35"}, {"Ready", "1"}, {"In progress", "1;36"},
    {"Handed over", "1;33"}, {"Stuck", "1;31"}, {"Done", "1;32"}};

struct board {
    struct cli *c;
    size_t width; /* of a cell; 0: lanes stand one below the other */
    struct lane {
        struct buf b; /* its cards, of lines or of JSON */
        uint64_t n;   /* also of those that are not in b */
        size_t at;    /* what of b has been drawn */
    } lane[TASK_N_COLUMNS];
};

/* Appends s as a cell of width characters, and a gap. */
static void
put_cell(struct cli *c, struct buf *b, struct str s, size_t width,
         const char *sgr)
{
    size_t at = 0, n = 0;

    for (; at < s.len && n < width; n++)
        at += utf8_len(s.p + at, s.p + s.len);
    cli_paint(c, b, (struct str){s.p, at}, sgr);
    for (width += GAP; n < width; n++)
        buf_char(b, ' ');
}

/* A line of a card. */
static void
put_line(struct board *b, struct buf *to, struct str text)
{
    struct buf line = {0};

    buf_str(&line, text);
    cli_safe(&line, 0);
    put_cell(b->c, to, buf_view(&line), b->width, NULL);
    to->err |= line.err;
    buf_fini(&line);
}

static void
put_card(struct board *b, struct buf *to, const struct task *k)
{
    struct arena *a = &b->c->a;
    struct str owner = raw_text(a, k->f[F_CURRENT_OWNER]);
    size_t done = raw_list_n(k->f[F_COMPLETED_STEPS]);
    size_t all = done + raw_list_n(k->f[F_REMAINING_STEPS]);
    int64_t at = 0;
    char age[24];

    time_parse(k->ev.r.time, &at);
    put_line(b, to, raw_text(a, k->f[F_TASK_ID]));
    put_line(b, to, raw_text(a, k->f[F_TITLE]));
    cli_span(age, store_now_ms(b->c->s.store) - at);
    put_line(b, to, arena_printf(a, "%zu/%zu %s %.*s%s", done, all, age,
                                 STR_ARG(owner.p ? owner : STR("")),
                                 k->damaged.p ? " (damaged)" : ""));
    put_line(b, to, STR(""));
}

static void
take(struct board *b, const struct task *k)
{
    struct lane *l = &b->lane[task_column(k)];

    if (l->n++ >= b->c->args.limit)
        return;
    if (b->c->json) {
        buf_z(&l->b, l->b.len > 0 ? "," : "");
        view_summary_json(&l->b, k);
    } else if (b->width > 0) {
        put_card(b, &l->b, k);
    } else {
        size_t from = l->b.len;

        buf_z(&l->b, "  ");
        view_task_line(&l->b, &b->c->a, k);
        cli_safe(&l->b, from);
    }
}

static int
take_all(struct board *b)
{
    struct cli *c = b->c;
    struct task_query q = {.include_done = true, .limit = TASK_LIST_MAX};
    struct task_list page;
    struct buf next = {0};
    int rc;

    do {
        rc = tasks_list(c->s.tasks, &c->a, &q, &page);
        for (size_t i = 0; rc == 0 && i < page.n; i++)
            take(b, &page.tasks[i]);
        buf_reset(&next, 4096);
        if (rc == 0)
            buf_str(&next, page.next);
        q.cursor = buf_view(&next);
        rc = rc == 0 ? next.err : rc;
        arena_reset(&c->a);
    } while (rc == 0 && next.len > 0);
    buf_fini(&next);
    return rc;
}

/* The width of the terminal, or what COLUMNS says. */
static size_t
find_width(void)
{
    const char *columns = env_get("COLUMNS");
    uint64_t n;

    if (columns == NULL || !str_u64(str_of(columns), &n))
        n = cli_terminal(STDOUT_FILENO);
    return n > 1000 ? 1000 : (size_t)n;
}

static struct str
title_of(struct board *b, int i)
{
    return arena_printf(&b->c->a, "%s (" U64 ")", lanes[i].title,
                        b->lane[i].n);
}

/* A row of the columns; false: there is none. */
static bool
put_row(struct board *b)
{
    struct buf *out = &b->c->out;
    size_t from = out->len, cell;
    bool any = false;

    for (int i = 0; i < TASK_N_COLUMNS; i++) {
        struct lane *l = &b->lane[i];
        const char *p = l->b.p + l->at;

        /* A cell's bytes are told by its characters alone. */
        for (cell = 0, any |= l->at < l->b.len;
             l->at < l->b.len && cell < b->width + GAP; cell++)
            l->at += utf8_len(l->b.p + l->at, l->b.p + l->b.len);
        buf_put(out, p, (size_t)(l->b.p + l->at - p));
        for (; cell < b->width + GAP; cell++)
            buf_char(out, ' ');
    }
    while (out->len > from && out->p[out->len - 1] == ' ')
        out->len--;
    buf_char(out, '\n');
    if (!any)
        out->len = from;
    return any;
}

static void
draw(struct board *b)
{
    struct buf *out = &b->c->out;

    for (int i = 0; i < TASK_N_COLUMNS; i++) {
        struct lane *l = &b->lane[i];

        if (b->c->json) {
            buf_printf(out, "%s{\"name\":\"%s\",\"total\":" U64 ",\"tasks\":[",
                       i == 0 ? "{\"columns\":[" : ",", lanes[i].title, l->n);
            buf_str(out, buf_view(&l->b));
            buf_z(out, i < COLUMN_DONE ? "]}" : "]}]}\n");
        } else if (b->width > 0) {
            put_cell(b->c, out, title_of(b, i), b->width, lanes[i].sgr);
            buf_z(out, i < COLUMN_DONE ? "" : "\n");
        } else {
            cli_paint(b->c, out, title_of(b, i), lanes[i].sgr);
            buf_char(out, '\n');
            buf_str(out, buf_view(&l->b));
        }
        out->err |= l->b.err;
    }
    while (b->width > 0 && !b->c->json && put_row(b))
        continue;
}

int
cli_board(struct cli *c, int argc, char **argv)
{
    struct board b = {.c = c, .width = find_width() / TASK_N_COLUMNS};
    int rc;

    (void)argc;
    (void)argv;
    b.width = b.width < CELL_MIN + GAP ? 0
              : b.width > CELL_MAX + GAP ? CELL_MAX : b.width - GAP;
    if (c->args.limit == UINT64_MAX)
        c->args.limit = CARDS;
    rc = take_all(&b);
    if (rc == 0)
        draw(&b);
    for (int i = 0; i < TASK_N_COLUMNS; i++)
        buf_fini(&b.lane[i].b);
    return rc < 0 ? cli_fail_store(c, rc) : CLI_OK;
}
