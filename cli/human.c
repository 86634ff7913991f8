/* human - how tasks look to a person at a terminal.

   A person wants to know what needs them, who works, and what stands still: so
   each column of the board has a sign and a colour, which lists show beside the
   ids. Times are local, or ages. */

#include "cli/human.h"
#include "cli/call.h"
#include "cli/text.h"
#include "base/clock.h"
#include "base/text.h"
#include "json/raw.h"
#include "task/cause.h"
#include "task/view.h"

#include <string.h>
#include <time.h>

#define TEXT_MAX 100 /* cells of a line that one reads with ease */

/* ---- columns and signs ---- */

/* Those of the columns of the board, then those of tasks that have ended. */
enum { SIGN_FAILED = TASK_N_COLUMNS, SIGN_CANCELLED, N_SIGNS };

static const struct human_sign {
    const char *title; /* of the column */
    const char *word;  /* in a legend */
    const char *sign, *ascii, *sgr;
} signs[N_SIGNS] = {
    [COLUMN_NEEDS_INPUT] = {"Needs you", "asks you", "?", "?", "1;35"},
    [COLUMN_READY] = {"Ready", "ready", "", "", "1"},
    [COLUMN_IN_PROGRESS] = {"In progress", "working", "\xe2\x97\x8f", "*",
                            "36"},
    [COLUMN_HANDED_OVER] = {"Handed over", "handed over", "\xc2\xbb", ">",
                            "33"},
    [COLUMN_STUCK] = {"Stuck", "stuck", "!", "!", "1;31"},
    [COLUMN_WAITING] = {"Waiting", "waiting", "\xc2\xb7", ".", "2"},
    [COLUMN_DONE] = {"Done", "done", "\xe2\x9c\x93", "+", "32"},
    [SIGN_FAILED] = {"Failed", "failed", "\xe2\x9c\x97", "x", "31"},
    [SIGN_CANCELLED] = {"Cancelled", "cancelled", "-", "-", "2"},
};

const char *
human_column(int column)
{
    return signs[column].title;
}

const char *
human_column_sgr(int column)
{
    return signs[column].sgr;
}

int
human_sign_of(const struct task *k)
{
    if (k->status == TASK_FAILED)
        return SIGN_FAILED;
    if (k->status == TASK_CANCELLED)
        return SIGN_CANCELLED;
    return (int)task_column(k);
}

static struct table_cell
sign_cell(int i)
{
    const struct human_sign *s = &signs[i];

    return (struct table_cell){str_of(screen_is_utf8() ? s->sign : s->ascii),
                               s->sgr};
}

void
human_legend(struct table *t, unsigned bits, const char *text)
{
    size_t room = t->width > 0 ? t->width : SIZE_MAX;
    struct buf b = {0};

    for (int i = 0; i < N_SIGNS; i++) {
        struct str sign = sign_cell(i).s;

        if (bits & 1u << i && sign.len > 0)
            buf_printf(&b, "%.*s %s  ", STR_ARG(sign), signs[i].word);
    }
    if (b.len > 0 && 4 + cli_width(buf_view(&b)) + 1 + strlen(text) > room) {
        human_text(t, 4, buf_view(&b), SIZE_MAX, "2");
        b.len = 0;
    }
    buf_printf(&b, "%s%s", b.len > 0 ? " " : "", text);
    human_text(t, 4, buf_view(&b), SIZE_MAX, "2");
    t->c->out.err |= b.err;
    buf_fini(&b);
}

/* ---- times ---- */

struct str
human_age(const struct cli *c, struct arena *a, struct str time)
{
    char age[24];
    int64_t ms;

    if (!time_parse(time, &ms))
        return STR("");
    return arena_str(a, str_of(cli_span(age, cli_now_ms(c) - ms)));
}

struct str
human_time(const struct cli *c, struct arena *a, struct str time,
          bool is_short)
{
    const char *format = "%Y-%m-%d %H:%M:%S";
    time_t at, today = (time_t)(cli_now_ms(c) / 1000);
    struct tm tm, now;
    char text[64] = "";
    int64_t ms;
    size_t len;

    tzset();
    if (!time_parse(time, &ms))
        return time;
    at = (time_t)(ms / 1000);
    if (localtime_r(&at, &tm) == NULL || localtime_r(&today, &now) == NULL)
        return time;
    if (is_short && tm.tm_year == now.tm_year && tm.tm_yday == now.tm_yday)
        format = "%H:%M";
    else if (is_short && tm.tm_year == now.tm_year)
        format = "%b %e %H:%M";
    else if (is_short)
        format = "%Y-%m-%d";
    len = strftime(text, sizeof text, format, &tm);
    return arena_str(a, (struct str){text, len});
}

/* ---- rows ---- */

const struct table_column human_list[HUMAN_COLUMNS] = {
    {.head = ""}, {.head = "ID", .share = 30}, {.head = "", .tight = true},
    {.head = "OWNER", .share = 20, .may_go = true},
    {.head = "STEPS", .may_go = true},
    {.head = "AGE", .right = true, .may_go = true},
    {.head = "TITLE", .rest = true},
};

/* "P0"; the two most urgent ones are bright. */
static struct table_cell
priority_cell(struct arena *a, const struct task *k)
{
    struct str p = k->f[F_PRIORITY];
    const char *sgr = NULL;

    if (str_is(p, "0"))
        sgr = "1;31";
    else if (str_is(p, "1"))
        sgr = "1";
    return (struct table_cell){arena_printf(a, "P%.*s", STR_ARG(p)), sgr};
}

/* "3/6"; empty: it has no steps. */
static struct str
steps_text(struct arena *a, const struct task *k)
{
    size_t done, all;

    task_steps(k, &done, &all);
    return all > 0 ? arena_printf(a, "%zu/%zu", done, all) : STR("");
}

void
human_row(struct table *t, const struct task *k)
{
    struct arena a = {0};
    const struct table_cell cells[HUMAN_COLUMNS] = {
        priority_cell(&a, k),
        {k->ev.id, NULL},
        sign_cell(human_sign_of(k)),
        {raw_text(&a, k->f[F_CURRENT_OWNER]), NULL},
        {steps_text(&a, k), NULL},
        {human_age(t->c, &a, k->ev.r.time), "2"},
        {raw_text(&a, k->f[F_TITLE]), NULL},
    };

    table_row(t, cells);
    arena_fini(&a);
}

void
human_put_task(struct cli *c, const struct task *k)
{
    struct table t;

    if (!c->tty) {
        view_task_line(&c->out, &c->a, k);
        return;
    }
    table_begin(&t, c, human_list, HUMAN_COLUMNS, screen_columns());
    t.headed = true; /* one row says enough */
    human_row(&t, k);
    table_end(&t);
}

/* ---- cards ---- */

static const struct table_column cards[HUMAN_CARD_COLUMNS] = {
    {.head = NULL}, {.share = 30, .tight = true}, {.rest = true},
    {.share = 20, .may_go = true}, {.tight = true, .may_go = true},
    {.right = true, .may_go = true},
};

struct str
human_cause(const struct cli *c, struct arena *a, const struct task *k)
{
    struct str why = task_cause_text(a, k), from;
    size_t utc = strlen("from Z") + task_from_text(k).len;

    if (task_cause(k) != CAUSE_LATER || k->garbled || why.len < utc)
        return why;
    from = human_time(c, a, raw_inner(k->f[F_NOT_BEFORE]), true);
    return arena_printf(a, "from %.*s%.*s", STR_ARG(from),
                        STR_ARG(str_from(why, utc)));
}

/* Why the task is in its column; empty: that says it all. */
static struct str
reason_text(const struct cli *c, struct arena *a, const struct task *k)
{
    struct str question = human_open_question(k, STR_NONE), to;
    enum task_column column = task_column(k);

    if (k->status != TASK_FAILED &&
        (column == COLUMN_HANDED_OVER || column == COLUMN_DONE))
        return STR("");
    to = raw_text(a, raw_member(question, "to"));
    if (column == COLUMN_NEEDS_INPUT && to.len > 0)
        return arena_printf(a, "for %.*s: %.*s", STR_ARG(to),
                            STR_ARG(task_cause_text(a, k)));
    return human_cause(c, a, k);
}

void
human_make_card(const struct cli *c, struct arena *a, const struct task *k,
                struct human_card *out)
{
    bool ended = task_status_ended(k->status);

    *out = (struct human_card){
        .cells = {ended ? sign_cell(human_sign_of(k)) : priority_cell(a, k),
                  {arena_str(a, k->ev.id), NULL},
                  {arena_str(a, raw_text(a, k->f[F_TITLE])), NULL},
                  {arena_str(a, raw_text(a, k->f[F_CURRENT_OWNER])), NULL},
                  {steps_text(a, k), NULL},
                  {human_age(c, a, k->ev.r.time), "2"}},
        .reason = arena_str(a, reason_text(c, a, k)),
    };
}

void
human_begin_cards(struct table *t, struct cli *c, size_t width)
{
    table_begin(t, c, cards, HUMAN_CARD_COLUMNS, width);
    t->indent = 2;
}

void
human_add_card(struct table *t, const struct human_card *card)
{
    table_row(t, card->cells);
    if (card->reason.len > 0)
        table_line(t, t->indent + 3, (struct table_cell){card->reason, "2"});
}

/* ---- events ---- */

/* What a person reads, and what a program does; of one task, and of all. */
static const struct table_column events_seen[] = {
    {.head = "WHEN", .right = true},
    {.head = "VERSION", .right = true, .may_go = true},
    {.head = "ID", .share = 30},
    {.head = "BY", .share = 20, .may_go = true}, {.head = "WHAT"},
    {.head = "NOTE", .rest = true},
}, event_columns[8] = {{.head = NULL}};
enum { N_SEEN = sizeof events_seen / sizeof *events_seen };

void
human_begin_events(struct human_events *e, struct cli *c, bool of_one)
{
    e->of_one = of_one;
    if (c->tty)
        table_begin(&e->t, c, events_seen, N_SEEN, screen_columns());
    else
        table_begin(&e->t, c, event_columns, of_one ? 7 : 8, 0);
}

/* Who it was, and whether a token proved it. */
static struct str
author_text(struct arena *a, const struct task_event *ev)
{
    struct str by = raw_text(a, ev->by);

    return ev->token.p != NULL ? arena_printf(a, "%.*s (token)", STR_ARG(by))
                               : by;
}

/* What was done, in a word or two. */
static struct str
deed_text(const struct task_event *ev)
{
    static const struct { const char *op, *field, *text; } deeds[] = {
        {"create", NULL, "created"}, {"checkpoint", NULL, "saved"},
        {"handoff", NULL, "handed over"}, {"exhaust", NULL, "stopped"},
        {"attach", NULL, "attached"}, {"claim", NULL, "claimed"},
        {"ask", NULL, "asked"}, {"import", NULL, "imported"},
        {"leave", NULL, "left"},
        {"update", "\"questions\"", "answered"},
        {"update", "\"messages\"", "message"},
        {"update", "\"cancel_requested\"", "asked to stop"},
        {"update", NULL, "changed"},
    };
    struct str status = raw_inner(raw_member(ev->v, "status"));

    if (str_is(ev->op, "update") && raw_list_has(ev->set, STR("\"status\"")))
        return str_is(status, "open") ? STR("reopened") : status;
    for (size_t i = 0; i < sizeof deeds / sizeof *deeds; i++)
        if (str_is(ev->op, deeds[i].op) &&
            (deeds[i].field == NULL ||
             raw_list_has(ev->set, str_of(deeds[i].field))))
            return str_of(deeds[i].text);
    return ev->op; /* a newer version's */
}

struct str
human_joined(struct arena *a, struct str list)
{
    struct str item = STR_NONE;
    struct buf b = {0};

    while ((item = raw_list_next(list, item)).p != NULL)
        buf_printf(&b, "%s%.*s", b.len > 0 ? ", " : "",
                   STR_ARG(raw_text(a, item)));
    return buf_take(&b, a);
}

static struct str
last_of(struct str list)
{
    struct str item = STR_NONE, last = STR_NONE;

    while ((item = raw_list_next(list, item)).p != NULL)
        last = item;
    return last;
}

/* The text of the answer that was given then. */
static struct str
answer_text(struct arena *a, struct str questions, struct str time)
{
    struct str item = STR_NONE, answer;

    while ((item = raw_list_next(questions, item)).p != NULL) {
        answer = raw_member(item, "answer");
        if (str_eq(raw_inner(raw_member(answer, "at")), time))
            return raw_text(a, raw_member(answer, "text"));
    }
    return STR_NONE;
}

static struct str
handoff_text(struct arena *a, struct str handoff)
{
    struct str to = raw_text(a, raw_member(handoff, "to_agent"));
    struct str reason = raw_text(a, raw_member(handoff, "reason"));

    if (to.len == 0)
        return reason;
    return arena_printf(a, "to %.*s%s%.*s", STR_ARG(to),
                        reason.len > 0 ? ": " : "", STR_ARG(reason));
}

/* What the deed was about, as the state after it tells; a server does not. */
static struct str
matter_text(struct arena *a, const struct task_event *ev, struct str deed)
{
    struct str v = ev->v;

    if (str_is(deed, "asked"))
        return raw_text(a, raw_member(last_of(raw_member(v, "questions")),
                                      "question"));
    if (str_is(deed, "answered"))
        return answer_text(a, raw_member(v, "questions"), ev->r.time);
    if (str_is(deed, "message"))
        return raw_text(a, raw_member(last_of(raw_member(v, "messages")),
                                      "text"));
    if (str_is(deed, "attached"))
        return raw_text(a, raw_member(last_of(raw_member(v, "artifacts")),
                                      "name"));
    if (str_is(deed, "handed over"))
        return handoff_text(a, raw_member(v, "handoff"));
    if (str_is(deed, "stopped"))
        return raw_text(a, raw_member(raw_member(v, "exhausted"), "reason"));
    return str_is(deed, "changed") ? human_joined(a, ev->set) : STR_NONE;
}

/* What was said about it, and of which task. */
static struct str
remark_text(struct arena *a, const struct human_events *e,
            const struct task_event *ev)
{
    struct str note = raw_text(a, ev->note);
    struct str title = raw_text(a, raw_member(ev->v, "title"));

    if (note.len == 0)
        note = matter_text(a, ev, deed_text(ev));
    if (e->of_one || title.len == 0)
        return note;
    return note.len == 0 ? title : arena_printf(a, "%.*s (%.*s)",
                                                STR_ARG(note), STR_ARG(title));
}

static void
add_event_seen(struct human_events *e, struct arena *a,
               const struct task_event *ev)
{
    const struct table_cell cells[N_SEEN] = {
        {human_time(e->t.c, a, ev->r.time, true), "2"},
        {e->of_one ? raw_member(ev->v, "version") : STR(""), NULL},
        {e->of_one ? STR("") : ev->id, NULL},
        {author_text(a, ev), NULL},
        {deed_text(ev), str_is(ev->op, "ask") ? "1;35" : NULL},
        {remark_text(a, e, ev), NULL},
    };

    table_row(&e->t, cells);
}

static void
add_event(struct human_events *e, struct arena *a,
          const struct task_event *ev)
{
    struct table_cell cells[8] = {{STR_NONE, NULL}}, *cell = cells;
    struct str changed = human_joined(a, ev->set);

    cell++->s = arena_printf(a, "%llu", (unsigned long long)ev->r.n);
    cell++->s = human_time(e->t.c, a, ev->r.time, false);
    if (!e->of_one)
        cell++->s = ev->id;
    cell++->s = ev->op;
    cell++->s = author_text(a, ev);
    cell++->s = raw_inner(raw_member(ev->v, "status"));
    if (!e->of_one)
        cell++->s = raw_text(a, raw_member(ev->v, "title"));
    else
        cell++->s = changed.len > 0 ? changed : STR("-");
    cell->s = raw_text(a, ev->note);
    table_row(&e->t, cells);
}

void
human_event(struct human_events *e, const struct task_event *ev)
{
    struct arena a = {0};

    if (e->t.c->tty)
        add_event_seen(e, &a, ev);
    else
        add_event(e, &a, ev);
    arena_fini(&a);
}

/* ---- texts ---- */

/* Cuts the next line off *rest: up to a blank, if it has to be broken. */
static struct str
break_line(struct str *rest, size_t width)
{
    size_t used, n;
    struct str line = cli_cut(*rest, width, &used);

    if (line.len < rest->len) {
        for (n = line.len; n > 0 && rest->p[n] != ' '; n--)
            ;
        line.len = n > 0 ? n : line.len;
        if (line.len == 0) /* a terminal of one cell, a wide character */
            line.len = rest->len;
    }
    *rest = str_trim(str_from(*rest, line.len));
    return line;
}

/* Whether a line means something by where its words stand: a table, code. */
static bool
is_figure(struct str line)
{
    return str_starts(line, "|") || str_starts(line, "    ") ||
           str_starts(line, "\t") || str_starts(line, "```");
}

/* How far the lines go in that continue this one: below its text, if it is an
   item of a list ("- ", "[x] ", "1) "). */
static size_t
hang_of(struct str line)
{
    size_t n = 0, mark = 0;

    while (n < line.len && line.p[n] == ' ')
        n++;
    line = str_from(line, n);
    if (str_starts(line, "- ") || str_starts(line, "* "))
        mark = 2;
    else if (str_starts(line, "[x] ") || str_starts(line, "[ ] "))
        mark = 4;
    else if (line.len > 2 && line.p[0] >= '0' && line.p[0] <= '9' &&
             (line.p[1] == ')' || line.p[1] == '.') && line.p[2] == ' ')
        mark = 3;
    return n + mark;
}

/* Adds a line, plain text, in pieces of width cells, at most max of them.
   Returns how many. */
static size_t
add_pieces(struct table *t, size_t indent, struct str line, size_t width,
           size_t max, const char *sgr)
{
    size_t hang = hang_of(line), n = 0;
    struct str piece;

    hang = hang < width / 2 ? hang : 0;
    do { /* a line that is empty, too */
        piece = n + 1 < max ? break_line(&line, width) : line;
        table_line(t, indent, (struct table_cell){piece, sgr});
        if (n == 0) {
            indent += hang;
            width -= hang;
        }
    } while (++n < max && line.len > 0);
    return n;
}

void
human_text(struct table *t, size_t indent, struct str text, size_t max,
           const char *sgr)
{
    size_t width = t->width > 0 && t->width < TEXT_MAX ? t->width : TEXT_MAX;

    width = width > indent + 8 ? width - indent : 8;
    while (text.len > 0 && max > 0) {
        struct buf plain = {0};
        struct str line = str_cut(&text, '\n'), shown;
        bool whole;

        view_plain(&plain, line, SIZE_MAX, ' ');
        shown = buf_view(&plain);
        whole = is_figure(line) && indent + cli_width(shown) <= t->width;
        max -= add_pieces(t, indent, shown, width, whole ? 1 : max, sgr);
        t->c->out.err |= plain.err;
        buf_fini(&plain);
    }
}

/* ---- questions ---- */

struct str
human_open_question(const struct task *k, struct str item)
{
    do {
        item = raw_list_next(k->f[F_QUESTIONS], item);
    } while (item.p != NULL && raw_member(item, "answer").p != NULL);
    return item;
}

struct str
human_answers(struct str question)
{
    struct str options = raw_member(question, "options");

    if (raw_list_n(options) == 0 &&
        str_is(raw_member(question, "kind"), "\"approval\""))
        return STR("[\"approve\",\"decline\"]");
    return options;
}

/* Adds the answers, numbered: on one line if they fit, else a line each. */
static void
add_answers(struct table *t, size_t indent, struct str answers)
{
    const char *between[] = {"  ", "\n"};
    struct arena a = {0};
    struct str item;
    struct buf b = {0};

    for (int i = 0; i < 2; i++) {
        item = STR_NONE;
        b.len = 0;
        for (size_t n = 1; (item = raw_list_next(answers, item)).p; n++)
            buf_printf(&b, "%s%zu) %.*s", n > 1 ? between[i] : "", n,
                       STR_ARG(raw_text(&a, item)));
        if (indent + cli_width(buf_view(&b)) <= t->width)
            break;
    }
    human_text(t, indent, buf_view(&b), SIZE_MAX, NULL);
    t->c->out.err |= b.err;
    buf_fini(&b);
    arena_fini(&a);
}

void
human_question(struct table *t, size_t indent, const struct task *k,
               struct str question, size_t max)
{
    struct str answers = human_answers(question), first;
    struct arena a = {0};
    struct buf b = {0};

    human_text(t, indent, raw_text(&a, raw_member(question, "question")),
               max, NULL);
    add_answers(t, indent, answers);
    /* With its id: it may be answered and followed by another before the
       command is run. */
    buf_printf(&b, "mcptask answer %.*s %.*s ", STR_ARG(k->ev.id),
               STR_ARG(raw_inner(raw_member(question, "question_id"))));
    first = raw_text(&a, raw_list_next(answers, STR_NONE));
    if (str_starts(first, "-"))
        buf_z(&b, "-- "); /* it is no option */
    cli_put_word(&b, first.p != NULL ? first : STR("TEXT"));
    table_whole_line(t, indent, (struct table_cell){buf_view(&b), "36"});
    t->c->out.err |= b.err;
    buf_fini(&b);
    arena_fini(&a);
}

struct str
human_asked_text(const struct cli *c, struct arena *a, struct str question)
{
    struct str by = raw_text(a, raw_member(question, "by"));
    struct str to = raw_text(a, raw_member(question, "to"));
    struct str at = raw_inner(raw_member(question, "at"));

    return arena_printf(a, "%.*s asked%s%.*s%s%.*s%s",
                        STR_ARG(by.len > 0 ? by : STR("an agent")),
                        to.len > 0 ? " " : "", STR_ARG(to),
                        at.len > 0 ? " " : "", STR_ARG(human_age(c, a, at)),
                        at.len > 0 ? " ago" : "");
}

void
human_asked(struct table *t, const struct task *k, struct str question)
{
    struct arena a = {0};
    struct str p = priority_cell(&a, k).s;

    table_line(t, 0, (struct table_cell){
        arena_printf(&a, "%.*s  %.*s  %.*s", STR_ARG(p), STR_ARG(k->ev.id),
                     STR_ARG(human_asked_text(t->c, &a, question))), "1;35"});
    arena_fini(&a);
}
