/* foreign - tasks of other programs, and of older stores. Members that a
   program always writes tell which one it was.

   A table for each program says what becomes of its members. Whatever the
   program, the result has the names of task/fields.h, and what no table names
   is carried along under its own name; under another, where that is a name of
   a task.

   1. Nothing is left out silently: what cannot be a field stays beside it as
      imported_NAME, and a note says so.
   2. What was put aside, or has a status that nobody knows, is not handed out:
      it depends on "status:WORD", which is no task. */

#include "cli/foreign.h"
#include "cli/fit.h"
#include "base/clock.h"
#include "base/text.h"
#include "base/utf8.h"
#include "task/check.h"
#include "task/fields.h"
#include "task/view.h"

#include <string.h>

#define WORD_MAX 40 /* characters of a word that a note shows */
#define DEPS_MAX 64 /* tasks that one may depend on */
#define MANY 1000   /* items that are looked at, of a list in a text */

struct reading;

/* What becomes of a member: put writes it as the member to. NULL: it is left
   out. */
struct member {
    const char *from, *to;
    void (*put)(struct reading *r, const char *to, const struct json_tok *t);
};

/* A program, and the members by which it is known. */
struct source {
    const char *name, *has[3];
    const struct member *all; /* one without a name ends them */
    bool upper;  /* ids are read in either case, and written in capitals */
    bool nested; /* ids count from 1 in each list, and tasks hold tasks */
    bool own;    /* other members may be fields */
};

/* A record that is being read. */
struct reading {
    struct arena *a;
    const struct foreign *f;
    const struct source *source;
    const char *tag;
    const struct json_tok *parent; /* of a task within another */
    struct foreign_task *out;
    struct json_w w;
    struct buf b, notes;
    struct buf holds, deps; /* what it depends on, quoted, with commas */
    size_t n_deps;
    uint64_t written;       /* fields, a bit each */
    bool blocked;           /* by what it depends on, it says */
    int64_t from_ms;        /* it is put off until then */
};

/* The text of a string or a number, else STR_NONE. If memory runs out, b has
   the error. */
static struct str
read_text(struct reading *r, const struct json_tok *t)
{
    struct str s = json_str(r->a, t);

    if (s.p == NULL && t != NULL && t->type == JSON_STRING)
        r->b.err = ERR_NOMEM;
    return t != NULL && t->type == JSON_NUMBER ? json_raw(t) : s;
}

/* The start of a word, for a note. */
static struct str
brief(struct str s)
{
    return utf8_first(s, WORD_MAX);
}

/* Writes the name of a member. One that would be a field, but is not meant to
   be, or that was written already, becomes imported_NAME. */
static void
put_member_name(struct reading *r, struct str name, bool meant)
{
    int field = task_field_of(name);
    bool again = field >= 0 && r->written >> field & 1;

    if ((!meant && (field >= 0 || task_is_derived(name))) || again) {
        name = arena_printf(r->a, "imported_%.*s", STR_ARG(name));
        if (name.p == NULL)
            r->b.err = ERR_NOMEM;
    } else if (field >= 0) {
        r->written |= UINT64_C(1) << field;
    }
    json_key_str(&r->w, name);
}

static void
put_raw(struct reading *r, const char *to, const struct json_tok *t)
{
    put_member_name(r, str_of(to), true);
    json_splice(&r->w, json_raw(t));
}

/* Keeps the value of a field beside it. */
static void
keep_beside(struct reading *r, const char *to, const struct json_tok *t)
{
    put_member_name(r, str_of(to), false);
    json_splice(&r->w, json_raw(t));
}

/* ---- ids ---- */

/* Whether the task that r->parent is has a task of this id within it. It may
   have thousands, and each of them ask: no id is decoded into memory. */
static bool
has_sub(const struct reading *r, struct str id)
{
    const struct json_tok *list = json_get(r->parent, "subtasks"), *t, *of;
    uint32_t i;

    for (i = 0, t = list; list != NULL && i < list->n; i++) {
        t = i == 0 ? list + 1 : t + t->span;
        of = json_get(t, "id");
        if (json_is_str(of, id) || (of != NULL && of->type == JSON_NUMBER &&
                                    str_eq(json_raw(of), id)))
            return true;
    }
    return false;
}

/* What Taskmaster's id is across its lists: TAG-1, TAG-1.2. */
static struct str
long_id(struct reading *r, struct str s, bool is_own)
{
    const char *tag = r->tag != NULL && r->tag[0] != '\0' ? r->tag : "master";
    bool within = r->parent != NULL &&
                  (is_own || (str_find(s, STR(".")) == SIZE_MAX &&
                              !str_eq(s, r->out->id) && has_sub(r, s)));
    struct str outer = within ? read_text(r, json_get(r->parent, "id"))
                              : STR("");

    s = arena_printf(r->a, "%s-%.*s%s%.*s", tag, STR_ARG(outer),
                     within ? "." : "", STR_ARG(s));
    if (s.p == NULL)
        r->b.err = ERR_NOMEM;
    return s;
}

/* Appends an id, quoted: '-' replaces characters that none may have, and '_'
   the dots of . and .., which are no ids. Returns whether it is the same. */
static bool
quote_id(struct buf *b, struct str s, bool upper)
{
    size_t n = s.len < TASK_MAX_ID ? s.len : TASK_MAX_ID;
    bool same = n == s.len, dots = str_is(s, ".") || str_is(s, "..");
    char id[TASK_MAX_ID];

    for (size_t i = 0; i < n; i++) {
        bool fits = task_is_id((struct str){s.p + i, 1});

        same &= fits && !dots;
        id[i] = fits ? s.p[i] : '-';
        if (dots)
            id[i] = '_';
        if (upper && id[i] >= 'a' && id[i] <= 'z')
            id[i] -= 'a' - 'A';
    }
    json_quote(b, (struct str){id, n});
    return same;
}

/* Appends the id that a task, this one or another, has here. Returns whether it
   is the one that it had. */
static bool
put_id(struct reading *r, struct buf *b, struct str s, bool is_own)
{
    const struct str *names = r->f->renamed;

    for (size_t i = 0; !is_own && i < r->f->n_renamed; i++)
        if (str_eq(s, names[2 * i])) {
            json_quote(b, names[2 * i + 1]);
            return true;
        }
    if (r->source->nested && s.len > 0)
        s = long_id(r, s, is_own);
    /* Backlog.md reads ids in either case, and writes them in capitals. */
    return quote_id(b, s, r->source->upper);
}

/* Writes what b holds as a value, and frees it. */
static void
splice_buf(struct reading *r, struct buf *b)
{
    json_splice(&r->w, b->err == 0 ? buf_view(b) : STR_NONE);
    buf_fini(b);
}

static void
put_own_id(struct reading *r, const char *to, const struct json_tok *t)
{
    struct buf b = {0};

    r->out->id = read_text(r, t);
    if (!put_id(r, &b, r->out->id, true)) {
        fit_note(&r->notes, "its id was \"%.*s\"", STR_ARG(brief(r->out->id)));
        keep_beside(r, to, t);
    }
    put_member_name(r, str_of(to), true);
    splice_buf(r, &b);
}

static void
put_ref(struct reading *r, const char *to, const struct json_tok *t)
{
    struct str id = read_text(r, t);
    struct buf b = {0};

    if (id.len == 0)
        return;
    put_id(r, &b, id, false);
    put_member_name(r, str_of(to), true);
    splice_buf(r, &b);
}

/* Adds the id of a task that this one waits for. */
static void
add_dep(struct reading *r, struct str id)
{
    if (id.len == 0 || ++r->n_deps > MANY)
        return;
    if (r->deps.len > 0)
        buf_char(&r->deps, ',');
    put_id(r, &r->deps, id, false);
}

/* A list of ids: an array, that as JSON text, or a text with commas. */
static void
add_deps(struct reading *r, const char *to, const struct json_tok *t)
{
    struct str rest = t->type == JSON_STRING ? read_text(r, t) : STR_NONE, id;
    const struct json_tok *list = t, *item;
    bool all = t->type == JSON_ARRAY || t->type == JSON_STRING;
    int rc = str_starts(rest, "[") ? json_parse(r->a, rest, &item, NULL)
                                   : ERR_SYNTAX;
    uint32_t i;

    if (rc == 0 && item->type == JSON_ARRAY) {
        list = item;
        rest = STR_NONE;
    }
    if (rc == ERR_NOMEM)
        r->b.err = rc;
    while (rest.p != NULL)
        add_dep(r, str_trim(str_cut(&rest, ',')));
    item = list + 1;
    for (i = 0; list->type == JSON_ARRAY && i < list->n; i++) {
        id = read_text(r, item);
        all &= id.p != NULL;
        add_dep(r, id);
        item += item->span;
    }
    if (!all || r->n_deps > MANY) {
        fit_note(&r->notes, "not all of %s are ids, or there are too many", to);
        keep_beside(r, to, t);
    }
}

static bool
same_word(struct str s, struct str word)
{
    size_t i;

    for (i = 0; i < s.len && i < word.len; i++) {
        char a = s.p[i], b = word.p[i];

        a = a == ' ' || a == '-' ? '_' : text_lower(a);
        b = b == ' ' || b == '-' ? '_' : text_lower(b);
        if (a != b)
            return false;
    }
    return s.len == word.len;
}

/* Of the dependencies, those that block, and the parent. */
static void
put_links(struct reading *r, const char *to, const struct json_tok *list)
{
    static const char *const blocking[] = {"blocks", "conditional-blocks",
                                           "waits-for"};
    const struct json_tok *t = list + 1;
    const struct json_tok *id, *parent = NULL;
    struct str kind;

    put_raw(r, to, list); /* the other kinds stay in there */
    for (uint32_t i = 0; list->type == JSON_ARRAY && i < list->n; i++) {
        id = json_get(t, "depends_on_id");
        kind = read_text(r, json_get(t, "type"));
        t += t->span;
        if (same_word(kind, STR("parent-child")))
            parent = id;
        else if (kind.len == 0)
            add_dep(r, read_text(r, id));
        for (size_t k = 0; k < sizeof(blocking) / sizeof(blocking[0]); k++)
            if (same_word(kind, str_of(blocking[k])))
                add_dep(r, read_text(r, id));
    }
    put_ref(r, "parent_id", parent);
}

/* ---- status and priority ---- */

/* Words for a status that is not called the same here. */
static const struct {
    const char *from, *to;
} statuses[] = {
    {"hooked", "in_progress"}, {"doing", "in_progress"},
    {"started", "in_progress"}, {"closed", "done"}, {"completed", "done"},
    {"complete", "done"}, {"tombstone", "cancelled"}, {"deleted", "cancelled"},
    {"canceled", "cancelled"}, {"won't_do", "cancelled"}, {"pending", "open"},
    {"to_do", "open"}, {"todo", "open"},
};
/* Words for a priority. */
static const struct {
    const char *from;
    int to;
} levels[] = {
    {"critical", 0}, {"urgent", 0}, {"highest", 0}, {"p0", 0}, {"high", 1},
    {"h", 1}, {"p1", 1}, {"medium", 2}, {"normal", 2}, {"m", 2}, {"p2", 2},
    {"low", 3}, {"l", 3}, {"p3", 3}, {"lowest", 4}, {"p4", 4},
};

const char *
foreign_option(const char *const *list, struct str s)
{
    for (; list != NULL && *list != NULL; list++) {
        const char *value = strrchr(*list, '=');

        if (value != NULL &&
            same_word((struct str){*list, (size_t)(value - *list)}, s))
            return value + 1;
    }
    return NULL;
}

/* The status that a word stands for here, or NULL. */
static const char *
status_of(const struct reading *r, struct str word)
{
    const char *to = foreign_option(r->f->statuses, word);

    for (int i = 0; to == NULL && i < TASK_N_STATUSES; i++)
        if (same_word(word, str_of(task_status_name((enum task_status)i))))
            to = task_status_name((enum task_status)i);
    for (size_t i = 0;
         to == NULL && i < sizeof(statuses) / sizeof(statuses[0]); i++)
        if (same_word(word, str_of(statuses[i].from)))
            to = statuses[i].to;
    return to;
}

/* Has the task depend on "why:word", which is no task, so that it is not
   ready. */
static void
hold(struct reading *r, const char *why, struct str word)
{
    struct str id = arena_printf(r->a, "%s:%.*s", why, STR_ARG(word));

    if (id.p == NULL)
        r->b.err = ERR_NOMEM;
    if (r->holds.len > 0)
        buf_char(&r->holds, ',');
    quote_id(&r->holds, id, false);
}

/* A word without a counterpart is kept, and has the task wait for somebody who
   knows what it means. What is blocked may only wait for other tasks. */
static void
put_status(struct reading *r, const char *to, const struct json_tok *t)
{
    struct str word = read_text(r, t);
    const char *is;

    word = word.p != NULL ? word : json_raw(t);
    is = status_of(r, word);
    r->blocked = is == NULL && same_word(word, STR("blocked"));
    if (is == NULL) {
        keep_beside(r, to, t);
        is = "open";
        if (!r->blocked)
            hold(r, "status", word);
        if (!r->blocked)
            fit_note(&r->notes, "its status \"%.*s\" is none here: it is open, "
                     "but not ready (--status maps it)",
                     STR_ARG(brief(word)));
    }
    put_member_name(r, str_of(to), true);
    json_z(&r->w, is);
}

static void
put_level(struct reading *r, const char *to, const struct json_tok *t)
{
    struct str word = read_text(r, t);
    const char *is;
    int64_t level = -1;
    uint64_t n;

    word = word.p != NULL ? word : json_raw(t);
    is = foreign_option(r->f->priorities, word);
    if (is != NULL)
        level = is[0] - '0';
    else if (str_u64(word, &n))
        level = n < 5 ? (int64_t)n : -1;
    for (size_t i = 0; is == NULL && level < 0 &&
                       i < sizeof(levels) / sizeof(levels[0]); i++)
        if (same_word(word, str_of(levels[i].from)))
            level = levels[i].to;
    if (level < 0) {
        fit_note(&r->notes, "its priority \"%.*s\" is none here: it is 2 "
                 "(--priority maps it)", STR_ARG(brief(word)));
        keep_beside(r, to, t);
        level = 2;
    }
    put_member_name(r, str_of(to), true);
    json_number(&r->w, level);
}

/* ---- times ---- */

/* 20260728T093000Z, 2026-07-28 09:30, 28-07-26: as task_time_parse reads it, in
   out; others stay. */
static struct str
time_of(struct reading *r, const struct json_tok *t, char out[32])
{
    struct str s = read_text(r, t);
    const char *p = s.p;

    if (s.len == 16 && p[4] != '-' && p[8] == 'T')
        text_put(out, 32, "%.4s-%.2s-%.2sT%.2s:%.2s:%.2sZ", p, p + 4, p + 6,
                 p + 9, p + 11, p + 13);
    else if (s.len == 16)
        text_put(out, 32, "%.10sT%.5s:00Z", p, p + 11);
    else if ((s.len == 8 || s.len == 14) && strchr("-./", p[2]) != NULL &&
             p[2] == p[5])
        text_put(out, 32, "20%.2s-%.2s-%.2sT%.5s:00Z", p + 6, p + 3, p,
                 s.len == 14 ? p + 9 : "00:00");
    else
        return s;
    return str_of(out);
}

static int64_t
ms_of(struct reading *r, const struct json_tok *t)
{
    char out[32];
    int64_t ms;

    return task_time_parse(time_of(r, t, out), &ms) ? ms : 0;
}

static void
put_time(struct reading *r, const char *to, const struct json_tok *t)
{
    char out[32];
    struct str s = time_of(r, t, out);

    put_member_name(r, str_of(to), true);
    if (s.p != NULL)
        json_string(&r->w, s);
    else
        json_splice(&r->w, json_raw(t));
}

/* The history notes it. */
static void
put_updated(struct reading *r, const char *to, const struct json_tok *t)
{
    r->out->updated_ms = ms_of(r, t);
    if (to != NULL)
        put_raw(r, to, t);
    if (r->out->updated_ms > 0)
        json_put_z(&r->w, "updated_at", time_text(r->out->updated_ms));
}

static void
put_until(struct reading *r, const char *to, const struct json_tok *t)
{
    int64_t ms = ms_of(r, t);

    put_raw(r, to, t);
    if (ms <= r->f->now_ms || ms <= r->from_ms)
        return;
    r->from_ms = ms;
    fit_note(&r->notes, "%s puts it off until %s: it is not ready", to,
             time_text(ms));
}

/* ---- texts ---- */

/* Annotations, a line each, with their dates; or a text. */
static void
put_notes(struct reading *r, const char *to, const struct json_tok *t)
{
    uint32_t i, n = t->type == JSON_ARRAY ? t->n : 0;
    struct buf b = {0};
    const struct json_tok *at;
    struct str s;
    int64_t ms;

    buf_str(&b, read_text(r, t));
    for (i = 0, t++; i < n; i++, t += t->span) {
        at = json_get(t, "entry");
        s = read_text(r, t->type == JSON_OBJECT ? json_get(t, "description")
                                                : t);
        ms = ms_of(r, at);
        buf_printf(&b, "%s%s%s", b.len > 0 ? "\n" : "",
                   ms > 0 ? time_text(ms) : "", ms > 0 ? " " : "");
        buf_str(&b, s);
    }
    put_member_name(r, str_of(to), true);
    json_string(&r->w, buf_view(&b));
    if (b.err != 0)
        r->b.err = b.err;
    buf_fini(&b);
}

/* The first of them, without the @ of a handle; more are kept beside it. */
static void
put_owner(struct reading *r, const char *to, const struct json_tok *t)
{
    struct str s = read_text(r, t->type == JSON_ARRAY ? t + 1 : t);

    put_member_name(r, str_of(to), true);
    json_string(&r->w, str_from(s, str_starts(s, "@")));
    if (t->type == JSON_ARRAY && t->n > 1)
        put_raw(r, "assignee", t);
}

/* The length of the mark that begins an item of a list, such as "- [x] #1 ";
   0: the line begins none. */
static size_t
mark_len(struct str line, bool *ticked)
{
    size_t n = 0;
    struct str rest;

    while (n < line.len && line.p[n] >= '0' && line.p[n] <= '9')
        n++;
    if (n == 0 ? !(str_starts(line, "- ") || str_starts(line, "* ") ||
                   str_starts(line, "+ "))
               : !(str_starts(str_from(line, n), ". ") ||
                   str_starts(str_from(line, n), ") ")))
        return 0;
    n += 2;
    rest = str_from(line, n);
    *ticked = str_starts(rest, "[x]") || str_starts(rest, "[X]");
    if (*ticked || str_starts(rest, "[ ]"))
        n += 3;
    return n;
}

/* Takes the next item of a list, with the lines that go on with it. False:
   there is none. *other: there was other text before it. */
static bool
next_item(struct str *text, struct str *item, bool *ticked, bool *other)
{
    struct str line, rest, number;
    bool unused;
    uint64_t id;
    size_t n = 0;

    while (n == 0 && text->p != NULL) {
        line = str_trim(str_cut(text, '\n'));
        n = mark_len(line, ticked);
        *other |= n == 0 && line.len > 0;
    }
    if (n == 0)
        return false;
    *item = str_from(line, n);
    for (rest = *text; rest.p != NULL; *text = rest) {
        line = str_trim(str_cut(&rest, '\n'));
        if (line.len == 0 || *line.p == '#' || mark_len(line, &unused) > 0)
            break;
        item->len = (size_t)(line.p + line.len - item->p);
    }
    *item = str_trim(*item);
    number = *item;
    number = str_cut(&number, ' ');
    if (str_starts(number, "#") && str_u64(str_from(number, 1), &id))
        *item = str_trim(str_from(*item, number.len));
    return true;
}

/* The items of a list, with boxes or without: those that are ticked are also
   completed steps. What is no list is one item. */
static void
put_criteria(struct reading *r, const char *to, const struct json_tok *t)
{
    struct str all = read_text(r, t), rest = all, item;
    bool any = false, other = false, ticked = false;
    struct buf done = {0};

    if (t->type != JSON_STRING) {
        put_raw(r, to, t);
        return;
    }
    put_member_name(r, str_of(to), true);
    json_arr(&r->w);
    for (size_t n = 0; n < MANY && next_item(&rest, &item, &ticked, &other);
         n++) {
        any = true;
        json_string(&r->w, item);
        if (!ticked)
            continue;
        buf_char(&done, done.len > 0 ? ',' : '[');
        json_quote(&done, item);
    }
    if (!any)
        json_string(&r->w, str_trim(all));
    json_close(&r->w);
    if (done.len > 0 || done.err != 0) {
        buf_char(&done, ']');
        put_member_name(r, STR("completed_steps"), true);
        splice_buf(r, &done);
    }
    if (any && (other || rest.p != NULL))
        put_raw(r, "acceptance_criteria", t);
}

/* ---- programs ---- */

/* A task that is one only in name, if this is true. */
static void
put_aside(struct reading *r, const char *to, const struct json_tok *t)
{
    put_raw(r, to, t);
    if (t->type != JSON_TRUE)
        return;
    hold(r, "status", str_of(to));
    fit_note(&r->notes, "it is %s, and so not ready", to);
}

/* Those within a list become tasks of their own. */
static void
put_subs(struct reading *r, const char *to, const struct json_tok *t)
{
    if (t->type != JSON_ARRAY)
        put_raw(r, to, t);
}

static const struct member own[] = {
    {"task_id", "task_id", put_own_id},
    {"status", "status", put_status},
    {"priority", "priority", put_level},
    {"depends_on", "depends_on", add_deps},
    {"parent_id", "parent_id", put_ref},
    {"updated_at", NULL, put_updated},
    {NULL, NULL, NULL},
};
static const struct member beads[] = {
    {"id", "task_id", put_own_id},
    {"title", "title", put_raw},
    {"description", "goal", put_raw},
    {"acceptance_criteria", "acceptance", put_criteria},
    {"status", "status", put_status},
    {"priority", "priority", put_level},
    {"assignee", "current_owner", put_raw},
    {"labels", "tags", put_raw},
    {"close_reason", "result", put_raw},
    {"dependencies", "dependencies", put_links},
    {"created_at", "created_at", put_time},
    {"updated_at", "imported_updated_at", put_updated},
    {"defer_until", "defer_until", put_until},
    {"pinned", "pinned", put_aside},
    {"is_template", "is_template", put_aside},
    {NULL, NULL, NULL},
};
static const struct member warrior[] = {
    {"uuid", "task_id", put_own_id},
    {"description", "title", put_raw},
    {"status", "status", put_status},
    {"priority", "priority", put_level},
    {"depends", "depends_on", add_deps},
    {"tags", "tags", put_raw},
    {"annotations", "goal", put_notes},
    {"entry", "created_at", put_time},
    {"modified", "modified", put_updated},
    {"wait", "wait", put_until},
    {"scheduled", "scheduled", put_until},
    {"id", NULL, NULL}, /* both change with each export */
    {"urgency", NULL, NULL},
    {NULL, NULL, NULL},
};
static const struct member backlog[] = {
    {"id", "task_id", put_own_id},
    {"title", "title", put_raw},
    {"description", "goal", put_raw},
    {"acceptance_criteria", "acceptance", put_criteria},
    {"status", "status", put_status},
    {"assignee", "current_owner", put_owner},
    {"labels", "tags", put_raw},
    {"priority", "priority", put_level},
    {"dependencies", "depends_on", add_deps},
    {"parent_task_id", "parent_id", put_ref},
    {"implementation_plan", "resume_prompt", put_raw},
    {"final_summary", "result", put_raw},
    {"created_date", "created_at", put_time},
    {"updated_date", "updated_date", put_updated},
    {NULL, NULL, NULL},
};
static const struct member taskmaster[] = {
    {"id", "task_id", put_own_id},
    {"title", "title", put_raw},
    {"description", "goal", put_raw},
    {"status", "status", put_status},
    {"priority", "priority", put_level},
    {"dependencies", "depends_on", add_deps},
    {"updatedAt", "updatedAt", put_updated},
    {"subtasks", "subtasks", put_subs},
    {NULL, NULL, NULL},
};

static const struct source sources[] = {
    {NULL, {"task_id", "task_id", "task_id"}, own, false, false, true},
    {"Taskmaster", {"id", "title", "subtasks"}, taskmaster, false, true, false},
    {"Backlog.md", {"id", "title", "created_date"}, backlog, true, false,
     false},
    {"beads", {"id", "title", "priority"}, beads, false, false, false},
    {"taskwarrior", {"uuid", "description", "entry"}, warrior, false, false,
     false},
};
enum { TASKMASTER = 1, BACKLOG };

/* ---- records ---- */

/* Whether the value says nothing. */
static bool
is_empty(const struct json_tok *t)
{
    return t->type == JSON_NULL || (t->type == JSON_STRING && t->len == 0) ||
           (t->type == JSON_ARRAY && t->n == 0);
}

/* Writes what the task waits for, and for one within another what it is a part
   of. */
static void
put_ends(struct reading *r)
{
    const struct json_tok *outer = r->parent;
    struct buf b = {0};

    if (r->blocked && r->deps.len == 0) {
        hold(r, "status", STR("blocked"));
        fit_note(&r->notes, "its status is \"blocked\", by no task: it is not "
                 "ready");
    }
    if (r->n_deps > DEPS_MAX) /* the others may be left out */
        hold(r, "status", STR("too-many-dependencies"));
    b.err = r->holds.err != 0 ? r->holds.err : r->deps.err;
    if (r->holds.len + r->deps.len > 0 || b.err != 0) {
        put_member_name(r, STR("depends_on"), true);
        buf_char(&b, '[');
        buf_str(&b, buf_view(&r->holds)); /* if there are too many, the last */
        buf_z(&b, r->holds.len > 0 && r->deps.len > 0 ? "," : "");
        buf_str(&b, buf_view(&r->deps)); /* are left out */
        buf_char(&b, ']');
        splice_buf(r, &b);
    }
    if (r->from_ms > 0) {
        put_member_name(r, STR("not_before"), true);
        json_z(&r->w, time_text(r->from_ms));
    }
    r->parent = NULL;
    if (outer != NULL)
        put_ref(r, "parent_id", json_get(outer, "id"));
}

static void
put_nested(struct reading *r, const struct json_tok *t)
{
    const struct json_tok *name;
    const struct member *m;
    uint32_t i, n = t->type == JSON_OBJECT ? t->n : 0;
    struct str key;

    for (i = 0, t++; i < n; i++, t += t->span) {
        name = t++;
        key = read_text(r, name);
        for (m = r->source->all; m->from != NULL && !str_is(key, m->from); m++)
            continue;
        if (is_empty(t))
            continue;
        if (m->put != NULL)
            m->put(r, m->to, t);
        if (m->from == NULL) {
            put_member_name(r, key, r->source->own);
            json_splice(&r->w, json_raw(t));
        }
    }
    put_ends(r);
}

/* The program that wrote a record, or NULL. */
static const struct source *
source_of(enum foreign_kind kind, const struct json_tok *t)
{
    const struct source *end = sources + sizeof(sources) / sizeof(sources[0]);
    const struct source *s = sources;

    if (t->type != JSON_OBJECT)
        return NULL;
    if (kind != FOREIGN_ANY && json_get(t, "task_id") == NULL)
        return sources + (kind == FOREIGN_BACKLOG ? BACKLOG : TASKMASTER);
    while (s < end && (json_get(t, s->has[0]) == NULL ||
                       json_get(t, s->has[1]) == NULL ||
                       json_get(t, s->has[2]) == NULL))
        s++;
    return s < end ? s : NULL;
}

/* The tasks within a record. */
static const struct json_tok *
subs_of(const struct source *source, const struct json_tok *t)
{
    const struct json_tok *list = source->nested
        ? json_get(t, "subtasks") : NULL;

    return list != NULL && list->type == JSON_ARRAY ? list : NULL;
}

int
foreign_take(struct arena *a, const struct foreign *f, enum foreign_kind kind,
             const char *tag, const struct json_tok *record, uint32_t sub,
             struct foreign_task *out)
{
    struct reading r = {.a = a, .f = f, .tag = tag, .out = out};
    const struct json_tok *t = record, *subs;
    struct str text;
    int rc;

    *out = (struct foreign_task){.record = record, .task = record};
    r.source = source_of(kind, record);
    if (r.source == NULL)
        return 0;
    subs = subs_of(r.source, record);
    out->n_subs = subs != NULL ? subs->n : 0;
    if (sub > 0 && sub <= out->n_subs) {
        r.parent = record;
        for (t = subs + 1; sub > 1; sub--)
            t += t->span;
    }
    out->record = t;
    out->of = r.source->name;
    json_begin(&r.w, &r.b);
    put_nested(&r, t);
    json_end(&r.w);
    r.b.err = r.b.err != 0 ? r.b.err : r.notes.err;
    text = buf_take(&r.b, a);
    if (r.notes.len > 0)
        out->notes = arena_str(a, buf_view(&r.notes));
    rc = text.p == NULL || (r.notes.len > 0 && out->notes.p == NULL)
        ? ERR_NOMEM : json_parse(a, text, &out->task, NULL);
    buf_fini(&r.notes);
    buf_fini(&r.holds);
    buf_fini(&r.deps);
    return rc;
}
