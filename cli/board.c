/* board - the command that shows all tasks, grouped by what they wait for. The
   groups are the columns of the page.

   1. In a group, what is more urgent comes first, so that a limit leaves out
      what is less so. Of the same priority, what has waited longest comes first
      where task_column_is_urgent says so, else the newest change.
   2. A task takes one line, and a second one if it says why a person should
      look at it.
   3. On a terminal the board fits its height, unless --limit says how long a
      group may be. A group without tasks has no head. */

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

#define CARDS 10     /* in a group, without --limit, */
#define CARDS_DONE 3 /* and in that of ended tasks, beside others */
#define DEFAULT_ROWS 24
#define AGES_MS 30000 /* --watch draws again this often for the ages alone */
#define PRIORITIES 5

struct board {
    struct cli *c;
    struct arena a;  /* of the cards */
    int only;        /* the group that is shown; -1: all */
    size_t rows;     /* lines for it; 0: it is as long as it is */
    uint64_t most, most_done; /* cards of a group */
    bool urgent;     /* groups in the order of work are filled */
    uint64_t live, all; /* tasks that have not ended, and all */
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
    if (l->n_cards[p] >= b->most || (b->rows > 0 && l->n_cards[p] >= b->rows))
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
        b->all++;
        b->live += !task_status_ended(k->status);
    }
    if (urgent == b->urgent)
        add_card(b, column, k);
    return true;
}

/* ---- drawing ---- */

/* Whether a group is shown. */
static bool
is_shown(const struct board *b, int i)
{
    return b->lane[i].n > 0 && (b->only < 0 || b->only == i);
}

/* Puts the cards of a group into their order. */
static void
order_cards(struct board *b, int i)
{
    uint64_t most = i == COLUMN_DONE && b->only < 0 ? b->most_done : b->most;
    struct lane *l = &b->lane[i];
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
    if (l->have > most)
        l->have = most;
    l->show = l->have;
}

static uint64_t
lines_of(const struct card *card)
{
    return card->look.reason.len > 0 ? 2 : 1;
}

/* Gives each group its next card in turn, as long as lines are left. Returns
   how many are. */
static uint64_t
share_lines(struct board *b, uint64_t lines)
{
    bool more = true;

    for (int i = 0; i < TASK_N_COLUMNS; i++)
        b->lane[i].show = 0;
    for (uint64_t row = 0; more; row++) {
        more = false;
        for (int i = 0; i < TASK_N_COLUMNS; i++) {
            struct lane *l = &b->lane[i];

            if (!is_shown(b, i) || l->show != row || row == l->have ||
                lines_of(l->cards[row]) > lines)
                continue;
            lines -= lines_of(l->cards[row]);
            l->show++;
            more = true;
        }
    }
    return lines;
}

/* Adds a group under its head: "READY 12", or "READY 4 of 12" where the rest
   is not shown. */
static void
add_lane(struct board *b, struct table *t, int i)
{
    struct lane *l = &b->lane[i];
    char text[80];

    if (l->show < l->n)
        text_put(text, sizeof text, "%s " U64 " of " U64, human_column(i),
                 l->show, l->n);
    else
        text_put(text, sizeof text, "%s " U64, human_column(i), l->n);
    for (size_t n = 0; n < strlen(human_column(i)); n++)
        text[n] = text[n] >= 'a' && text[n] <= 'z' ? (char)(text[n] - 32)
                                                   : text[n];
    table_line(t, 0, (struct table_cell){str_of(text), human_column_sgr(i)});
    for (uint64_t k = 0; k < l->show; k++) {
        const struct human_card *look = &l->cards[k]->look;

        table_row(t, look->cells);
        if (look->reason.len > 0)
            table_line(t, t->indent + 3,
                       (struct table_cell){look->reason, "2"});
    }
}

static void
put_board_json(struct board *b)
{
    struct buf *out = &b->c->out;

    for (int i = 0; i < TASK_N_COLUMNS; i++) {
        struct lane *l = &b->lane[i];

        buf_printf(out, "%s{\"name\":\"%s\",\"total\":" U64 ",\"tasks\":[",
                   i == 0 ? "{\"columns\":[" : ",", human_column(i), l->n);
        for (uint64_t k = 0; k < l->show; k++) {
            buf_z(out, k > 0 ? "," : "");
            buf_str(out, l->cards[k]->json);
        }
        buf_z(out, "]}");
    }
    buf_z(out, "]}\n");
}

/* Draws the groups, with a line between two where there is room, and below
   them how to see the rest. A watched board has a last line of its own. */
static void
draw_board(struct board *b)
{
    uint64_t taken = !b->c->args.watch, heads = 0, shown = 0, all = 0;
    uint64_t left = UINT64_MAX;
    struct table t;
    char text[80];

    for (int i = 0; i < TASK_N_COLUMNS; i++)
        heads += is_shown(b, i);
    taken += heads;
    if (b->rows > 0)
        left = share_lines(b, b->rows > taken ? b->rows - taken : 0);
    table_begin(&t, b->c, human_cards, HUMAN_CARD_COLUMNS, screen_columns());
    t.indent = 2;
    for (int i = 0; i < TASK_N_COLUMNS; i++) {
        if (!is_shown(b, i))
            continue;
        if (all > 0 && left >= heads - 1)
            table_line(&t, 0, (struct table_cell){STR(""), NULL});
        add_lane(b, &t, i);
        shown += b->lane[i].show;
        all += b->lane[i].n;
    }
    text_put(text, sizeof text, U64 " of " U64 "; add \"-n 0\" for all", shown,
             all);
    if (shown < all && !b->c->args.watch)
        table_line(&t, t.indent, (struct table_cell){str_of(text), "2"});
    table_end(&t);
}

/* Fills and shows the board; its figures are then those of the tasks. */
static int
show_board(struct board *b)
{
    struct task_query work = {.order = ORDER_WORK, .limit = TASK_LIST_MAX};
    struct task_query all = {.include_done = true, .limit = TASK_LIST_MAX};
    struct cli *c = b->c;
    int rc;

    b->live = b->all = 0;
    for (int i = 0; i < TASK_N_COLUMNS; i++) {
        b->lane[i] = (struct lane){.n = 0};
        for (int p = 0; p < PRIORITIES; p++)
            b->lane[i].last[p] = &b->lane[i].first[p];
    }
    /* First the groups in the order of work, then the others; and all tasks are
       counted. */
    c->head = 0; /* that of the first list counts */
    b->urgent = true;
    rc = cli_each_task(c, &work, add_task, b);
    b->urgent = false;
    if (rc == 0)
        rc = cli_each_task(c, &all, add_task, b);
    for (int i = 0; i < TASK_N_COLUMNS && rc == 0 && c->out.err == 0; i++)
        order_cards(b, i);
    if (rc == 0 && c->out.err == 0 && c->json)
        put_board_json(b);
    else if (rc == 0 && c->out.err == 0)
        draw_board(b);
    arena_fini(&b->a);
    return rc;
}

/* The lines of the terminal, or what one has that does not say; at least 2. */
static size_t
terminal_rows(void)
{
    size_t rows = cli_terminal_rows(STDOUT_FILENO);

    return rows == SIZE_MAX ? DEFAULT_ROWS : rows + (rows == 1);
}

/* ---- watching ---- */

struct watch {
    struct cli *c;
    bool full;     /* on a screen of its own */
    struct board *board;
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
frame_screen(struct watch *w)
{
    const struct board *b = w->board;
    struct cli *c = w->c;
    struct buf board = c->out;
    struct str rest = buf_view(&board);
    const char *dot = screen_is_utf8() ? "\xc2\xb7" : "-";
    struct str keys = STR("a number shows one column"), status;
    size_t used;

    c->out = (struct buf){.err = board.err};
    buf_z(&c->out, "\033[H");
    for (size_t left = w->rows; left > 1 && rest.len > 0; left--) {
        buf_str(&c->out, str_cut(&rest, '\n'));
        buf_z(&c->out, "\033[K\n");
    }
    buf_fini(&board);
    if (b->all == 0)
        keys = STR("run \"mcptask add TITLE\"");
    else if (b->only >= 0)
        keys = arena_printf(&c->a, "%s, 0 shows all", human_column(b->only));
    status = arena_printf(&c->a, "live %s " U64 " task%s %s %.*s %s q quits",
                          dot, b->live, b->live == 1 ? "" : "s", dot,
                          STR_ARG(keys), dot);
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
    size_t width = screen_columns(), rows = terminal_rows();
    int rc;

    if (!asked && w->seen == head_of(c) && w->width == width &&
        w->rows == rows && now - w->drawn_ms < AGES_MS)
        return 0;
    w->drawn_ms = now;
    w->width = width;
    w->rows = rows;
    w->board->rows = w->full ? rows - 1 : 0;
    rc = show_board(w->board);
    w->seen = head_of(c);
    if (rc == 0 && w->full)
        frame_screen(w);
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

/* The n-th group that has tasks; -1: there is none. */
static int
group_at(const struct board *b, int n)
{
    for (int i = 0; i < TASK_N_COLUMNS; i++)
        if (b->lane[i].n > 0 && --n == 0)
            return i;
    return -1;
}

/* Shows the board again and again, until a key or a signal ends it. */
static int
watch_board(struct cli *c, struct board *b)
{
    struct watch w = {.c = c, .full = fills_screen(c), .board = b};
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
                b->only = group_at(b, key - '0'); /* 0: all */
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
    struct board b = {.c = c, .only = -1, .most = c->args.limit};
    bool fits = c->args.watch ? fills_screen(c) : c->tty && !c->json;
    int rc;

    c->exact = true;
    if (c->args.limit == UINT64_MAX) {
        b.most = fits ? UINT64_MAX : CARDS;
        b.rows = fits ? terminal_rows() - 1 : 0; /* the prompt has one */
        b.most_done = c->json ? CARDS : CARDS_DONE;
    } else {
        if (c->args.limit == 0)
            b.most = c->args.limit = UINT64_MAX;
        b.most_done = b.most;
    }
    rc = c->args.watch ? watch_board(c, &b) : show_board(&b);
    if (cli_interrupted())
        return CLI_OK;
    return rc < 0 ? cli_fail_store(c, rc) : rc;
}
