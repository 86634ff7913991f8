/* board - the command that shows all tasks, grouped by what they wait for. The
   groups are the columns of the page.

   1. In a group, what is more urgent comes first, so that a limit leaves out
      what is less so. Of the same priority, what has waited longest comes first
      where task_column_is_urgent says so, else the newest change.
   2. A task takes one line, and a second one if it says why a person should
      look at it. */

#include "cli/board.h"
#include "cli/call.h"
#include "cli/human.h"
#include "cli/screen.h"
#include "cli/show.h"
#include "cli/text.h"
#include "base/clock.h"
#include "base/text.h"
#include "json/raw.h"
#include "task/cause.h"

#include <string.h>
#include <unistd.h>

#define CARDS 10      /* in a group, without --limit */
#define DEFAULT_ROWS 24
#define AGES_MS 30000 /* --watch draws again this often for the ages alone */
#define PRIORITIES 5

struct board {
    struct cli *c;
    struct arena a;  /* of the cards */
    bool urgent;     /* groups in the order of work are filled */
    int only;        /* the group that is shown; -1: all */
    uint64_t live;   /* tasks that have not ended */
    struct lane {
        struct card *first[PRIORITIES], **last[PRIORITIES];
        uint64_t n_cards[PRIORITIES];
        struct card **cards; /* all of them, in their order */
        uint64_t have; /* number of those */
        uint64_t show; /* how many of them to show */
        uint64_t n;    /* tasks, also those that have no card */
    } lane[TASK_N_COLUMNS];
};

struct card {
    struct card *next;
    struct str json; /* with --json; else: */
    struct human_card look;
};

/* ---- filling ---- */

/* Adds a card, unless there are as many that are as urgent as may be shown. */
static void
add_card(struct board *b, int column, const struct task *k)
{
    struct lane *l = &b->lane[column];
    uint64_t p = column == COLUMN_DONE ? 0 : raw_u64(k->f[F_PRIORITY]);
    struct card *card;
    struct buf json = {0};

    p = p < PRIORITIES ? p : PRIORITIES - 1;
    if (l->n_cards[p] >= b->c->args.limit)
        return;
    card = arena_alloc(&b->a, sizeof *card);
    if (card == NULL) {
        b->c->out.err = ERR_NOMEM;
        return;
    }
    *card = (struct card){.json = STR_NONE};
    if (b->c->json) {
        cli_put_summary_json(b->c, &json, k);
        card->json = buf_take(&json, &b->a);
        if (card->json.p == NULL)
            b->c->out.err = ERR_NOMEM;
    } else {
        human_make_card(b->c, &b->a, k, &card->look);
    }
    *l->last[p] = card;
    l->last[p] = &card->next;
    l->n_cards[p]++;
}

static bool
add_task(void *ctx, const struct task *k)
{
    struct board *b = ctx;
    int column = (int)task_column(k);
    bool urgent = task_column_is_urgent(column);

    if (!b->urgent) {
        b->lane[column].n++;
        b->live += !task_status_ended(k->status);
    }
    if (urgent == b->urgent)
        add_card(b, column, k);
    return true;
}

/* ---- drawing ---- */

/* Puts the cards of a group into their order. */
static void
order_cards(struct board *b, struct lane *l)
{
    uint64_t n = 0;

    for (int p = 0; p < PRIORITIES; p++)
        n += l->n_cards[p];
    l->cards = arena_alloc(&b->a, (size_t)(n + 1) * sizeof(struct card *));
    if (l->cards == NULL) {
        b->c->out.err = ERR_NOMEM;
        return;
    }
    for (int p = 0; p < PRIORITIES; p++)
        for (struct card *card = l->first[p]; card != NULL; card = card->next)
            l->cards[l->have++] = card;
    if (l->have > b->c->args.limit)
        l->have = b->c->args.limit;
    l->show = l->have;
}

static uint64_t
lines_of(const struct card *card)
{
    return card->look.reason.len > 0 ? 2 : 1;
}

/* Gives each group its next card in turn, as long as lines are left. */
static void
share_lines(struct board *b, uint64_t lines)
{
    bool more = true;

    for (int i = 0; i < TASK_N_COLUMNS; i++)
        b->lane[i].show = 0;
    for (uint64_t row = 0; more; row++) {
        more = false;
        for (int i = 0; i < TASK_N_COLUMNS; i++) {
            struct lane *l = &b->lane[i];

            if ((b->only >= 0 && i != b->only) || l->show != row ||
                row == l->have || lines_of(l->cards[row]) > lines)
                continue;
            lines -= lines_of(l->cards[row]);
            l->show++;
            more = true;
        }
    }
}

/* Adds a group under its head: "READY 12", or "READY 4 of 12" where the rest
   has no room. */
static void
add_lane(struct board *b, struct table *t, int i, bool full)
{
    struct lane *l = &b->lane[i];
    char text[80];

    if (b->only >= 0 && b->only != i)
        return;
    if (!full && i > 0 && (l->n > 0 || b->lane[i - 1].n > 0))
        table_line(t, 0, (struct table_cell){STR(""), NULL});
    if (full && l->show < l->n)
        text_put(text, sizeof text, "%s " U64 " of " U64, human_column(i),
                 l->show, l->n);
    else
        text_put(text, sizeof text, "%s " U64, human_column(i), l->n);
    for (size_t n = 0; n < strlen(human_column(i)); n++)
        text[n] = text[n] >= 'a' && text[n] <= 'z' ? (char)(text[n] - 32)
                                                   : text[n];
    table_line(t, 0, (struct table_cell){
        str_of(text), l->n > 0 ? human_column_sgr(i) : "2"});
    for (uint64_t k = 0; k < l->show; k++) {
        const struct human_card *look = &l->cards[k]->look;

        table_row(t, look->cells);
        if (look->reason.len > 0)
            table_line(t, t->indent + 3,
                       (struct table_cell){look->reason, "2"});
    }
    if (full || l->show >= l->n)
        return;
    text_put(text, sizeof text, "+" U64 " more; run \"mcptask board -n 0\"",
             l->n - l->show);
    table_line(t, t->indent, (struct table_cell){str_of(text), "2"});
}

/* Draws the board; a full one fills a screen of so many lines, 0: it is as long
   as it is. */
static void
draw_board(struct board *b, size_t rows)
{
    size_t heads = b->only < 0 ? TASK_N_COLUMNS : 1;
    struct buf *out = &b->c->out;
    struct table t;

    for (int i = 0; i < TASK_N_COLUMNS && out->err == 0; i++)
        order_cards(b, &b->lane[i]);
    if (out->err != 0)
        return;
    if (b->c->json) {
        for (int i = 0; i < TASK_N_COLUMNS; i++) {
            struct lane *l = &b->lane[i];

            buf_printf(out, "%s{\"name\":\"%s\",\"total\":" U64
                       ",\"tasks\":[", i == 0 ? "{\"columns\":[" : ",",
                       human_column(i), l->n);
            for (uint64_t k = 0; k < l->show; k++) {
                buf_z(out, k > 0 ? "," : "");
                buf_str(out, l->cards[k]->json);
            }
            buf_z(out, "]}");
        }
        buf_z(out, "]}\n");
        return;
    }
    if (rows > 0)
        share_lines(b, rows > heads ? rows - heads : 0);
    table_begin(&t, b->c, human_cards, HUMAN_CARD_COLUMNS, screen_columns());
    t.indent = 2;
    for (int i = 0; i < TASK_N_COLUMNS; i++)
        add_lane(b, &t, i, rows > 0);
    table_end(&t);
}

/* Shows the board, with rows as in draw_board. *live: the tasks that have not
   ended. */
static int
show_board(struct cli *c, int only, size_t rows, uint64_t *live)
{
    struct task_query work = {.order = ORDER_WORK, .limit = TASK_LIST_MAX};
    struct task_query all = {.include_done = true, .limit = TASK_LIST_MAX};
    struct board b = {.c = c, .only = only, .urgent = true};
    int rc;

    for (int i = 0; i < TASK_N_COLUMNS; i++)
        for (int p = 0; p < PRIORITIES; p++)
            b.lane[i].last[p] = &b.lane[i].first[p];
    /* First the groups in the order of work, then the others; and all tasks are
       counted. */
    c->head = 0; /* that of the first list counts */
    rc = cli_each_task(c, &work, add_task, &b);
    b.urgent = false;
    if (rc == 0)
        rc = cli_each_task(c, &all, add_task, &b);
    if (rc == 0)
        draw_board(&b, rows);
    *live = b.live;
    arena_fini(&b.a);
    return rc;
}

/* ---- watching ---- */

struct watch {
    struct cli *c;
    bool full;     /* on a screen of its own */
    int only;      /* the group that is shown; -1: all */
    uint64_t seen; /* the board was drawn with this head, */
    size_t width, rows; /* on a terminal of this size, */
    int64_t drawn_ms;   /* at this time */
};

/* What changes with each record. */
static uint64_t
head_of(const struct cli *c)
{
    return c->env->server != NULL ? c->head : store_next_n(c->s.store);
}

/* Ends each line of c->out so that nothing of an older one stays behind it, and
   adds the last line of the screen. */
static void
frame_screen(struct watch *w, uint64_t live)
{
    struct cli *c = w->c;
    struct buf board = c->out;
    struct str rest = buf_view(&board);
    const char *dot = screen_is_utf8() ? "\xc2\xb7" : "-";
    struct str status;
    size_t used;

    c->out = (struct buf){.err = board.err};
    buf_z(&c->out, "\033[H");
    for (size_t left = w->rows; left > 1 && rest.len > 0; left--) {
        buf_str(&c->out, str_cut(&rest, '\n'));
        buf_z(&c->out, "\033[K\n");
    }
    buf_fini(&board);
    status = arena_printf(&c->a, "live %s " U64 " task%s %s %s %s q quits", dot,
                          live, live == 1 ? "" : "s", dot, w->only < 0
                          ? "a number shows one column" : "0 shows all", dot);
    buf_printf(&c->out, "\033[J\033[%zu;1H", w->rows);
    cli_paint(c, &c->out, cli_cut(status, w->width, &used), "7");
}

/* Draws the board if something has changed, the size of the terminal or the
   ages too. */
static int
draw_again(struct watch *w, bool asked)
{
    struct cli *c = w->c;
    int64_t now = clock_mono_ms();
    size_t width = screen_columns(), rows = cli_terminal_rows(STDOUT_FILENO);
    uint64_t live;
    int rc;

    if (rows == SIZE_MAX) /* the terminal does not say */
        rows = DEFAULT_ROWS;
    if (!asked && w->seen == head_of(c) && w->width == width &&
        w->rows == rows && now - w->drawn_ms < AGES_MS)
        return 0;
    w->drawn_ms = now;
    w->width = width;
    w->rows = rows;
    rc = show_board(c, w->only, w->full && rows > 1 ? rows - 1 : 0, &live);
    w->seen = head_of(c);
    if (rc == 0 && w->full)
        frame_screen(w, live);
    return rc;
}

/* Whether --watch has a terminal that it can fill. */
static bool
fills_screen(const struct cli *c)
{
    const char *term = env_get("TERM");

    return c->args.watch && c->tty && !c->json && term != NULL &&
           strcmp(term, "dumb") != 0;
}

/* Shows the board again and again, until a key or a signal ends it. */
static int
watch_board(struct cli *c)
{
    struct watch w = {.c = c, .full = fills_screen(c), .only = -1};
    bool more = true, asked = true;
    int rc = 0, key;

    cli_catch_signals();
    if (w.full)
        screen_open();
    while (rc == 0 && more) {
        rc = draw_again(&w, asked);
        asked = false;
        if (rc == 0)
            rc = cli_follow(c, &more);
        if (w.full && more && rc == 0 && !screen_is_open()) { /* a warning */
            screen_open();
            asked = true;
        }
        while (more && (key = screen_key()) != 0) {
            more = key != 'q' && key != 'Q';
            if (key >= '0' && key <= '0' + TASK_N_COLUMNS) {
                w.only = key - '1'; /* 0: all */
                asked = true;
            }
        }
        asked |= screen_was_stopped();
    }
    screen_close();
    return rc;
}

int
cli_board(struct cli *c)
{
    uint64_t live;
    int rc;

    c->exact = true;
    if (c->args.limit == UINT64_MAX && !fills_screen(c))
        c->args.limit = CARDS;
    else if (c->args.limit == 0)
        c->args.limit = UINT64_MAX;
    rc = c->args.watch ? watch_board(c) : show_board(c, -1, 0, &live);
    if (cli_interrupted())
        return CLI_OK;
    return rc < 0 ? cli_fail_store(c, rc) : rc;
}
