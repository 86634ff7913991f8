/* human - how tasks look to a person at a terminal.

   A person wants to know what needs them, who works, and what stands still: so
   each column of the board has a sign and a colour, which lists show beside the
   ids. Times are local, or ages.

   Of a whole task, what a person acts on comes first: the questions and the
   command that answers each, then the parts, then what agents wrote, then facts
   that rarely change. What only programs need is left out: sessions of leases,
   hashes. An agent that takes over reads view_task_markdown instead. */

#include "cli/human.h"
#include "cli/call.h"
#include "cli/text.h"
#include "base/clock.h"
#include "base/text.h"
#include "base/utf8.h"
#include "json/raw.h"
#include "task/cause.h"
#include "task/project.h"
#include "task/view.h"

#include <string.h>
#include <time.h>

#define TEXT_MAX 100 /* cells of a line that one reads with ease */
#define LABEL 12     /* of the label of a fact */
#define CARRIED_MAX ((size_t)4 * 1024) /* bytes of what an import left */

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
    if (k->gone && task_column(k) == COLUMN_IN_PROGRESS)
        return COLUMN_STUCK;
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

/* How long ago a time was, as "25m"; empty if it is none. */
static struct str
age_of(const struct cli *c, struct arena *a, struct str time)
{
    char age[24];
    int64_t ms;

    if (!time_parse(time, &ms))
        return STR("");
    return arena_str(a, str_of(cli_span(age, cli_now_ms(c) - ms)));
}

/* A time in local time: "2026-11-27 09:30:00", or short: "09:30" of today, "Nov
   26 09:30" of this year, "2025-11-26" of another; as it is if it is none. */
static struct str
local_time(const struct cli *c, struct arena *a, struct str time, bool is_short)
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
    {.head = "REPO", .share = 15, .may_go = true},
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
struct str
human_steps(struct arena *a, const struct task *k)
{
    size_t done, all;

    task_steps(k, &done, &all);
    return all > 0 ? arena_printf(a, "%zu/%zu", done, all) : STR("");
}

/* The name of the task's project, unless the caller is in it. */
static struct str
other_project(const struct cli *c, struct arena *a, const struct task *k)
{
    struct str path = project_path(raw_text(a, k->f[F_REPO_PATH])), mine;
    size_t at = path.len;

    if (path.len == 0 || project_names(a, c->env->project, &mine) != 0 ||
        (mine.p != NULL && project_matches(mine, k->f[F_REPO_PATH])))
        return STR("");
    while (at > 0 && path.p[at - 1] != '/')
        at--;
    return str_from(path, at);
}

void
human_row(struct table *t, const struct task *k)
{
    struct arena a = {0};
    const struct table_cell cells[HUMAN_COLUMNS] = {
        priority_cell(&a, k),
        {k->ev.id, NULL},
        sign_cell(human_sign_of(k)),
        {other_project(t->c, &a, k), NULL},
        {raw_text(&a, k->f[F_CURRENT_OWNER]), NULL},
        {human_steps(&a, k), NULL},
        {age_of(t->c, &a, k->ev.r.time), "2"},
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

const struct table_column human_cards[HUMAN_CARD_COLUMNS] = {
    {.head = NULL}, {.share = 30, .tight = true}, {.rest = true},
    {.share = 15, .may_go = true}, {.share = 20, .may_go = true},
    {.tight = true, .may_go = true}, {.right = true, .may_go = true},
};

/* task_cause_text with local times. */
static struct str
cause_text(const struct cli *c, struct arena *a, const struct task *k)
{
    struct str why = task_cause_text(a, k), from;
    size_t utc = strlen("from Z") + task_from_text(k).len;

    if (task_cause(k) != CAUSE_LATER || k->garbled || why.len < utc)
        return why;
    from = local_time(c, a, raw_inner(k->f[F_NOT_BEFORE]), true);
    return arena_printf(a, "from %.*s%.*s", STR_ARG(from),
                        STR_ARG(str_from(why, utc)));
}

void
human_make_card(const struct cli *c, struct arena *a, const struct task *k,
                struct human_card *out)
{
    bool ended = task_status_ended(k->status);
    enum task_column column = task_column(k);
    struct str to = raw_text(a, raw_member(human_open_question(k, STR_NONE),
                                           "to"));
    struct str reason = STR("");

    if (column == COLUMN_NEEDS_INPUT && to.len > 0)
        reason = arena_printf(a, "for %.*s: %.*s", STR_ARG(to),
                              STR_ARG(task_cause_text(a, k)));
    else if (k->status == TASK_FAILED || (column != COLUMN_HANDED_OVER &&
                                          column != COLUMN_DONE))
        reason = cause_text(c, a, k);
    *out = (struct human_card){
        .cells = {ended ? sign_cell(human_sign_of(k)) : priority_cell(a, k),
                  {arena_str(a, k->ev.id), NULL},
                  {arena_str(a, raw_text(a, k->f[F_TITLE])), NULL},
                  {arena_str(a, other_project(c, a, k)), "2"},
                  {arena_str(a, raw_text(a, k->f[F_CURRENT_OWNER])), NULL},
                  {human_steps(a, k), NULL},
                  {age_of(c, a, k->ev.r.time), "2"}},
        .reason = arena_str(a, reason),
    };
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

struct str
human_deed(struct arena *a, const struct task_event *ev, struct str *about)
{
    static const struct {
        const char *op, *field, *text; /* field: what an update changed */
        const char *of, *member; /* about: of this, or the last in it */
    } deeds[] = {
        {"create", NULL, "created", "", ""},
        {"checkpoint", NULL, "saved", "", ""},
        {"handoff", NULL, "handed over", "handoff", "reason"},
        {"exhaust", NULL, "stopped", "exhausted", "reason"},
        {"attach", NULL, "attached", "artifacts", "name"},
        {"claim", NULL, "claimed", "", ""},
        {"ask", NULL, "asked", "questions", "question"},
        {"import", NULL, "imported", "", ""}, {"leave", NULL, "left", "", ""},
        {"update", "\"questions\"", "answered", "", ""},
        {"update", "\"messages\"", "message", "messages", "text"},
        {"update", "\"cancel_requested\"", "asked to stop", "", ""},
        {"update", NULL, "changed", "", ""},
    };
    enum { DEEDS = sizeof deeds / sizeof *deeds };
    struct str v = ev->v, status = raw_inner(raw_member(v, "status"));
    struct str deed, of, list, item = STR_NONE, answer, to;
    size_t i = 0;

    *about = STR_NONE;
    if (str_is(ev->op, "update") && raw_list_has(ev->set, STR("\"status\"")))
        return str_is(status, "open") ? STR("reopened") : status;
    while (i < DEEDS && !(str_is(ev->op, deeds[i].op) &&
                          (deeds[i].field == NULL ||
                           raw_list_has(ev->set, str_of(deeds[i].field)))))
        i++;
    if (i == DEEDS)
        return ev->op; /* a newer version's */
    deed = str_of(deeds[i].text);
    of = list = raw_member(v, deeds[i].of);
    while ((item = raw_list_next(list, item)).p != NULL)
        of = item;
    *about = raw_text(a, raw_member(of, deeds[i].member));
    list = raw_member(v, "questions");
    while (str_is(deed, "answered") && /* the question that was then */
           (item = raw_list_next(list, item)).p != NULL) {
        answer = raw_member(item, "answer");
        if (str_eq(raw_inner(raw_member(answer, "at")), ev->r.time)) {
            *about = raw_text(a, raw_member(answer, "text"));
            break;
        }
    }
    to = raw_text(a, raw_member(of, "to_agent"));
    if (str_is(deed, "handed over") && to.len > 0)
        *about = arena_printf(a, "to %.*s%s%.*s", STR_ARG(to),
                              about->len > 0 ? ": " : "", STR_ARG(*about));
    if (str_is(deed, "changed"))
        *about = human_joined(a, ev->set);
    return deed;
}

void
human_event(struct human_events *e, const struct task_event *ev)
{
    struct table_cell cells[8] = {{STR_NONE, NULL}}, *cell = cells;
    struct arena a = {0};
    struct str title = raw_text(&a, raw_member(ev->v, "title"));
    struct str note = raw_text(&a, ev->note), deed, about;
    struct cli *c = e->t.c;

    if (c->tty) {
        deed = human_deed(&a, ev, &about);
        note = note.len == 0 ? about : note;
        if (!e->of_one && title.len > 0)
            note = note.len == 0 ? title
                : arena_printf(&a, "%.*s (%.*s)", STR_ARG(note),
                               STR_ARG(title));
        *cell++ = (struct table_cell){local_time(c, &a, ev->r.time, true), "2"};
        cell++->s = e->of_one ? raw_member(ev->v, "version") : STR("");
        cell++->s = e->of_one ? STR("") : ev->id;
        cell++->s = author_text(&a, ev);
        *cell++ = (struct table_cell){deed, str_is(ev->op, "ask") ? "1;35"
                                                                  : NULL};
        cell->s = note;
    } else {
        cell++->s = arena_printf(&a, U64, ev->r.n);
        cell++->s = local_time(c, &a, ev->r.time, false);
        if (!e->of_one)
            cell++->s = ev->id;
        cell++->s = ev->op;
        cell++->s = author_text(&a, ev);
        cell++->s = raw_inner(raw_member(ev->v, "status"));
        cell->s = e->of_one ? human_joined(&a, ev->set) : title;
        if (e->of_one && cell->s.len == 0)
            cell->s = STR("-");
        cell[1].s = note;
    }
    table_row(&e->t, cells);
    arena_fini(&a);
}

/* ---- texts ---- */

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

/* Adds a line, plain text, in pieces, broken at blanks, at most max of them;
   all but the first hang so far. Returns how many. */
static size_t
add_pieces(struct table *t, size_t indent, struct str line, size_t hang,
           size_t max, const char *sgr)
{
    size_t width = t->width > 0 && t->width < TEXT_MAX ? t->width : TEXT_MAX;
    size_t n = 0, at, used;
    struct str piece;

    width = width > indent + 8 ? width - indent : 8;
    hang = hang < width / 2 ? hang : 0;
    do { /* a line that is empty, too */
        piece = n + 1 < max ? cli_cut(line, width, &used) : line;
        if (piece.len < line.len) {
            for (at = piece.len; at > 0 && line.p[at] != ' '; at--)
                ;
            piece.len = at > 0 ? at : piece.len;
            if (piece.len == 0) /* a terminal of one cell, a wide character */
                piece.len = line.len;
        }
        if (n + 1 < max)
            line = str_trim(str_from(line, piece.len));
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
    while (text.len > 0 && max > 0) {
        struct buf plain = {0};
        struct str line = str_cut(&text, '\n'), shown;
        bool whole;

        view_plain(&plain, line, SIZE_MAX, ' ');
        shown = buf_view(&plain);
        /* A table and code mean something by where their words stand. */
        whole = (str_starts(line, "|") || str_starts(line, "    ") ||
                 str_starts(line, "\t") || str_starts(line, "```")) &&
                indent + cli_width(shown) <= t->width;
        max -= add_pieces(t, indent, shown, hang_of(shown), whole ? 1 : max,
                          sgr);
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

void
human_question(struct table *t, size_t indent, const struct task *k,
               struct str question, size_t max)
{
    const char *between[] = {"  ", "\n"};
    struct str answers = human_answers(question), item;
    struct arena a = {0};
    struct buf b = {0};

    human_text(t, indent, raw_text(&a, raw_member(question, "question")),
               max, NULL);
    /* The answers, numbered: on one line if they fit, else a line each. */
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
    b.len = 0;
    /* With its id: it may be answered and followed by another before the
       command is run. */
    buf_printf(&b, "mcptask answer %.*s %.*s ", STR_ARG(k->ev.id),
               STR_ARG(raw_inner(raw_member(question, "question_id"))));
    item = raw_text(&a, raw_list_next(answers, STR_NONE));
    if (str_starts(item, "-"))
        buf_z(&b, "-- "); /* it is no option */
    cli_put_word(&b, item.p != NULL ? item : STR("TEXT"));
    table_whole_line(t, indent, (struct table_cell){buf_view(&b), "36"});
    t->c->out.err |= b.err;
    buf_fini(&b);
    arena_fini(&a);
}

/* "codex asked anna 25m ago", as far as a question tells. */
static struct str
asked_text(const struct cli *c, struct arena *a, struct str question)
{
    struct str by = raw_text(a, raw_member(question, "by"));
    struct str to = raw_text(a, raw_member(question, "to"));
    struct str at = raw_inner(raw_member(question, "at"));

    return arena_printf(a, "%.*s asked%s%.*s%s%.*s%s",
                        STR_ARG(by.len > 0 ? by : STR("an agent")),
                        to.len > 0 ? " " : "", STR_ARG(to),
                        at.len > 0 ? " " : "", STR_ARG(age_of(c, a, at)),
                        at.len > 0 ? " ago" : "");
}

void
human_asked(struct table *t, const struct task *k, struct str question)
{
    struct arena a = {0};
    struct str p = priority_cell(&a, k).s;

    table_line(t, 0, (struct table_cell){
        arena_printf(&a, "%.*s  %.*s  %.*s", STR_ARG(p), STR_ARG(k->ev.id),
                     STR_ARG(asked_text(t->c, &a, question))), "1;35"});
    arena_fini(&a);
}

/* ---- the whole of a task ---- */

static void
add_heading(struct sheet *s, const char *text, const char *sgr)
{
    table_line(&s->t, 0, (struct table_cell){STR(""), NULL});
    table_line(&s->t, 0, (struct table_cell){str_of(text), sgr});
}

/* Adds a section with a text, if there is one. */
static void
add_prose(struct sheet *s, const char *heading, struct str raw)
{
    struct str text = raw_text(&s->a, raw);

    if (text.len > 0)
        add_heading(s, heading, "1");
    human_text(&s->t, 2, text, SIZE_MAX, NULL);
}

/* Adds the texts of a list, each with a mark before it. */
static void
add_items(struct sheet *s, const char *mark, struct str raw, const char *sgr)
{
    struct str item = STR_NONE, text;

    while ((item = raw_list_next(raw, item)).p != NULL) {
        text = raw_text(&s->a, item);
        text = arena_printf(&s->a, "%s%.*s", mark,
                            STR_ARG(text.p != NULL ? text : item));
        human_text(&s->t, 2, text, SIZE_MAX, sgr);
    }
}

/* Adds a line "label   text", if there is a text. */
static void
add_fact(struct sheet *s, const char *label, struct str text)
{
    if (text.len > 0)
        add_pieces(&s->t, 2, arena_printf(&s->a, "%c%-*s%.*s",
                                          text_lower(label[0]), LABEL - 1,
                                          label + 1, STR_ARG(text)),
                   LABEL, SIZE_MAX, NULL);
}

/* Adds who said something when: "anna, 40m ago: The client waits 30 s". */
static void
add_said(struct sheet *s, struct str by, struct str at, struct str text)
{
    struct str age = age_of(s->t.c, &s->a, raw_inner(at));

    human_text(&s->t, 2, arena_printf(&s->a, "%.*s, %.*s ago: %.*s",
                                      STR_ARG(raw_text(&s->a, by)),
                                      STR_ARG(age),
                                      STR_ARG(raw_text(&s->a, text))),
               SIZE_MAX, NULL);
}

/* "25m ago (13:05)". */
static struct str
when_text(struct sheet *s, struct str time)
{
    const struct cli *c = s->t.c;

    return arena_printf(&s->a, "%.*s ago (%.*s)",
                        STR_ARG(age_of(c, &s->a, time)),
                        STR_ARG(local_time(c, &s->a, time, true)));
}

void
sheet_begin(struct sheet *s, struct cli *c, const struct task *k)
{
    int sign = human_sign_of(k);
    struct str owner, lease, why, question = STR_NONE;
    struct arena *a = &s->a;
    struct buf b = {0};
    size_t done, all;

    *s = (struct sheet){.k = k};
    table_begin(&s->t, c, human_list, HUMAN_COLUMNS, screen_columns());
    s->t.indent = 2;
    s->t.headed = true; /* a row of a part says enough */
    human_text(&s->t, 0, arena_printf(a, "%.*s  %.*s", STR_ARG(k->ev.id),
                                      STR_ARG(raw_text(a, k->f[F_TITLE]))),
               SIZE_MAX, "1");

    /* "P0  in progress  codex-91bc04de  3/6 steps  changed 25m ago" */
    buf_printf(&b, "P%.*s  %s", STR_ARG(k->f[F_PRIORITY]),
               task_status_name(k->status));
    for (size_t i = 0; i < b.len; i++)
        b.p[i] = b.p[i] == '_' ? ' ' : b.p[i];
    owner = raw_text(a, k->f[F_CURRENT_OWNER]);
    if (owner.len > 0)
        buf_printf(&b, "  %.*s", STR_ARG(owner));
    task_steps(k, &done, &all);
    if (all > 0)
        buf_printf(&b, "  %zu/%zu steps", done, all);
    buf_printf(&b, "  changed %.*s ago",
               STR_ARG(age_of(c, a, k->ev.r.time)));
    lease = raw_inner(raw_member(k->f[F_LEASE], "expires_at"));
    if (lease.len > 0)
        buf_printf(&b, "  lease %s %.*s",
                   k->lease_expired ? "ended" : "until",
                   STR_ARG(local_time(c, a, lease, true)));
    human_text(&s->t, 0, buf_view(&b), SIZE_MAX, NULL);
    c->out.err |= b.err;
    buf_fini(&b);

    /* "Stuck: the lease ran out" */
    why = k->status == TASK_FAILED ? raw_text(a, k->ev.note)
                                   : cause_text(c, a, k);
    if (why.len > 0 && !k->needs_input)
        human_text(&s->t, 0, arena_printf(a, "%s: %.*s", human_column(sign),
                                          STR_ARG(why)),
                   SIZE_MAX, human_column_sgr(sign));
    while (!task_status_ended(k->status) &&
           (question = human_open_question(k, question)).p != NULL) {
        add_heading(s, "Waits for you", "1;35");
        human_text(&s->t, 2, asked_text(c, a, question), SIZE_MAX, "2");
        human_question(&s->t, 2, k, question, SIZE_MAX);
    }
}

void
sheet_add_part(struct sheet *s, const struct task *part)
{
    if (s->n_parts++ == 0)
        add_heading(s, "Parts", "1");
    s->parts_done += part->status == TASK_DONE;
    human_row(&s->t, part);
}

/* "make replay: 11 passed, 1 failed". */
static void
add_tests(struct sheet *s, struct str tests)
{
    struct str test = STR_NONE;

    while ((test = raw_list_next(tests, test)).p != NULL) {
        struct str code = raw_member(test, "exit_code");
        struct str summary = raw_text(&s->a, raw_member(test, "summary"));
        uint64_t passed = raw_u64(raw_member(test, "passed"));
        uint64_t failed = raw_u64(raw_member(test, "failed"));
        bool bad = failed > 0 || (code.p != NULL && !str_is(code, "0"));
        struct buf b = {0};

        buf_str(&b, raw_text(&s->a, raw_member(test, "command")));
        if (passed + failed > 0)
            buf_printf(&b, ": " U64 " passed, " U64 " failed", passed, failed);
        else if (code.p != NULL)
            buf_printf(&b, ": exit code %.*s", STR_ARG(code));
        if (summary.len > 0)
            buf_printf(&b, ": %.*s", STR_ARG(summary));
        human_text(&s->t, 2, buf_view(&b), SIZE_MAX, bad ? "31" : "32");
        s->t.c->out.err |= b.err;
        buf_fini(&b);
    }
}

/* "a1  acquirer.log  27 bytes, 50m ago"; and how to read one. */
static void
add_artifacts(struct sheet *s, struct str artifacts)
{
    struct str item = STR_NONE, id = STR_NONE;
    struct arena *a = &s->a;

    while ((item = raw_list_next(artifacts, item)).p != NULL) {
        struct str text = raw_text(a, raw_member(item, "description"));
        struct str at = raw_inner(raw_member(item, "at"));

        id = raw_inner(raw_member(item, "artifact_id"));
        human_text(&s->t, 2, arena_printf(a,
            "%.*s  %.*s  " U64 " bytes, %.*s ago%s%.*s", STR_ARG(id),
            STR_ARG(raw_text(a, raw_member(item, "name"))),
            raw_u64(raw_member(item, "size")),
            STR_ARG(age_of(s->t.c, a, at)), text.len > 0 ? ": " : "",
            STR_ARG(text)), SIZE_MAX, NULL);
    }
    table_whole_line(&s->t, 2, (struct table_cell){
        arena_printf(a, "mcptask show %.*s --artifact %.*s",
                     STR_ARG(s->k->ev.id), STR_ARG(id)), "36"});
}

/* The questions that have an answer. */
static void
add_answered(struct sheet *s)
{
    struct str item = STR_NONE, answer;
    bool any = false;

    while ((item = raw_list_next(s->k->f[F_QUESTIONS], item)).p != NULL) {
        answer = raw_member(item, "answer");
        if (answer.p == NULL)
            continue;
        if (!any)
            add_heading(s, "Answers", "1");
        any = true;
        human_text(&s->t, 2, raw_text(&s->a, raw_member(item, "question")),
                   SIZE_MAX, "2");
        add_said(s, raw_member(answer, "by"), raw_member(answer, "at"),
                 raw_member(answer, str_is(raw_member(answer, "action"),
                                           "\"accept\"") ||
                            raw_member(answer, "text").len > 2
                                ? "text" : "action"));
    }
}

/* Adds a field below its label; the steps, which are in two, below theirs. */
static void
add_section(struct sheet *s, const struct task_fact *fact)
{
    struct str raw = s->k->f[fact->field], done = s->k->f[F_COMPLETED_STEPS];
    bool steps = fact->kind == KIND_TO_DO;

    if (fact->kind == KIND_PROSE) {
        add_prose(s, fact->label, raw);
        return;
    }
    if (raw_list_n(raw) + (steps ? raw_list_n(done) : 0) == 0)
        return;
    add_heading(s, steps ? "Steps" : fact->label, "1");
    if (fact->field == F_TEST_RESULTS) {
        add_tests(s, raw);
    } else if (fact->field == F_ARTIFACTS) {
        add_artifacts(s, raw);
    } else if (steps) {
        add_items(s, "[x] ", done, "2");
        add_items(s, "[ ] ", raw, NULL);
    } else {
        add_items(s, "- ", raw, NULL);
    }
}

/* A field on one line; empty: there is nothing to say. */
static struct str
fact_text(struct sheet *s, const struct task_fact *fact)
{
    const struct task *k = s->k;
    struct str raw = k->f[fact->field], text = raw_text(&s->a, raw);
    struct str by = raw_text(&s->a, k->f[F_CREATED_BY]), item = STR_NONE;
    struct buf b = {0};

    if (fact->field == F_DEPENDS_ON) { /* and which of them are not done */
        while ((item = raw_list_next(raw, item)).p != NULL) {
            const char *state = " (done)";

            if (raw_list_has(k->deps_failed, item))
                state = " (failed or cancelled)";
            else if (raw_list_has(k->blocked_by, item))
                state = " (not done)";
            buf_printf(&b, "%s%.*s%s", b.len > 0 ? ", " : "",
                       STR_ARG(raw_inner(item)), state);
        }
        return buf_take(&b, &s->a);
    }
    if (fact->field == F_COMMIT)
        return arena_printf(&s->a, "%.*s%s", STR_ARG(text),
                            str_is(k->f[F_DIRTY], "true") ? " and changes"
                                                          : "");
    if (fact->field == F_CREATED_AT && text.len == 0)
        return by;
    if (fact->field == F_CREATED_AT) /* "12d ago (Nov 15 13:30) by anna" */
        return arena_printf(&s->a, "%.*s%s%.*s", STR_ARG(when_text(s, text)),
                            by.len > 0 ? " by " : "", STR_ARG(by));
    if (fact->kind == KIND_WORDS || fact->kind == KIND_ITEMS)
        return human_joined(&s->a, raw);
    if (fact->kind == KIND_TIME && text.len > 0)
        return local_time(s->t.c, &s->a, text, true);
    return text.p != NULL ? text : raw;
}

void
sheet_end(struct sheet *s)
{
    const struct task *k = s->k;
    struct raw_members m = raw_members_of(k->extra);
    struct str stop = k->f[F_CANCEL_REQUESTED], item = STR_NONE, text;
    const struct task_fact *fact;

    if (s->n_parts > 0)
        table_line(&s->t, 2, (struct table_cell){
            arena_printf(&s->a, U64 " of " U64 " done", s->parts_done,
                         s->n_parts), "2"});
    add_prose(s, "Result", k->f[F_RESULT]);
    if (stop.p != NULL && *stop.p == '{') {
        add_heading(s, "Asked to stop", "1;31");
        add_said(s, raw_member(stop, "by"), raw_member(stop, "at"),
                 raw_member(stop, "reason"));
    }
    if (raw_list_n(k->f[F_MESSAGES]) > 0)
        add_heading(s, "Messages", "1");
    while ((item = raw_list_next(k->f[F_MESSAGES], item)).p != NULL)
        add_said(s, raw_member(item, "from"), raw_member(item, "at"),
                 raw_member(item, "text"));
    for (fact = task_facts; fact->label != NULL; fact++)
        if (fact->where & IN_SHEET && fact->kind >= KIND_LIST)
            add_section(s, fact);
    add_answered(s);
    if (k->extra.len > 0)
        add_heading(s, "Other imported fields", "1");
    while (raw_next(&m) == 1) {
        text = raw_text(&s->a, m.value);
        text = utf8_cut(text.p != NULL ? text : m.value, CARRIED_MAX);
        human_text(&s->t, 2, arena_printf(&s->a, "%.*s: %.*s",
                                          STR_ARG(m.name), STR_ARG(text)),
                   SIZE_MAX, NULL);
    }
    add_heading(s, "Facts", "1");
    for (fact = task_facts; fact->label != NULL; fact++)
        if (fact->where & IN_SHEET && fact->kind < KIND_LIST)
            add_fact(s, fact->label, fact_text(s, fact));
    add_fact(s, "Changed", arena_printf(&s->a, "%.*s, version " U64,
                                        STR_ARG(when_text(s, k->ev.r.time)),
                                        k->version));
    table_end(&s->t);
    arena_fini(&s->a);
}
