/* backlog - a task file of Backlog.md: Markdown below front matter.

   The front matter is YAML as programs write it, and as people edit it:
   scalars, plain, quoted or as blocks, on one line or on several, and lists of
   them. What is neither, such as a map, is kept as text.

   1. All text is kept: below a heading that is not one of Backlog.md's it
      belongs to the section above, or if that is a list, to "other_text".
      Only the comments that mark a section are left out. */

#include "cli/backlog.h"
#include "base/text.h"

#include <string.h>

static const struct {
    const char *title, *key;
} sections[] = {
    {"Description", "description"},
    {"Acceptance Criteria", "acceptance_criteria"},
    {"Definition of Done", "definition_of_done"},
    {"Implementation Plan", "implementation_plan"},
    {"Implementation Notes", "implementation_notes"},
    {"Comments", "comments"},
    {"Final Summary", "final_summary"},
    {NULL, "other_text"},
};
enum { CRITERIA = 1, DONE = 2, OTHER = 7, N_SECTIONS };

/* How far a line is indented; a blank one is deeper than any other. */
static size_t
depth(struct str line)
{
    size_t n = 0;

    while (n < line.len && line.p[n] == ' ')
        n++;
    return str_trim(line).len > 0 ? n : SIZE_MAX;
}

/* ---- scalars of the front matter ---- */

/* What is being read. A value and the lines after it are one slice. */
struct yaml {
    struct arena *a;
    struct json_w *w;
    struct str rest; /* the lines that follow; .p NULL: none */
    size_t deep;     /* a line goes on with the value if it is deeper */
};

/* Writes the text of b, and frees b, whose error becomes that of w. */
static void
put_text(struct json_w *w, struct buf *b)
{
    json_string(w, str_trim(buf_view(b)));
    if (b->err != 0)
        w->b->err = b->err;
    buf_fini(b);
}

/* Takes the next line, if it is deeper than the value, or blank. */
static bool
next_line(struct yaml *y, struct str *line)
{
    struct str rest = y->rest;

    if (rest.p == NULL)
        return false;
    *line = str_cut(&rest, '\n');
    if (depth(*line) <= y->deep)
        return false;
    y->rest = rest;
    return true;
}

/* Lines that become one: with a blank between two of them, or with a line feed
   for each blank line. */
struct fold {
    struct buf b;
    size_t blanks;
    bool joined; /* the next line follows as it is */
};

static void
fold(struct fold *f, struct str line)
{
    if (line.len == 0) {
        f->blanks++;
        return;
    }
    if (!f->joined && f->blanks == 0 && f->b.len > 0)
        buf_char(&f->b, ' ');
    for (; f->blanks > 0; f->blanks--)
        buf_char(&f->b, '\n');
    buf_str(&f->b, line);
    f->joined = false;
}

/* Whether s is the head of a block: | or >, and how it ends. */
static bool
is_block(struct str s)
{
    size_t i = 1;

    if (s.len == 0 || (*s.p != '|' && *s.p != '>'))
        return false;
    while (i < s.len && strchr("+-0123456789", s.p[i]) != NULL)
        i++;
    s = str_trim(str_from(s, i));
    return s.len == 0 || *s.p == '#';
}

/* | keeps its lines, less what the first is indented by; > folds them. */
static void
put_block(struct yaml *y, bool folds)
{
    size_t indent = SIZE_MAX;
    struct fold f = {.blanks = 0};
    struct str line;

    while (next_line(y, &line)) {
        if (indent == SIZE_MAX)
            indent = depth(line);
        if (folds) {
            fold(&f, str_trim(line));
            continue;
        }
        if (depth(line) != SIZE_MAX)
            buf_str(&f.b, str_from(line, depth(line) < indent ? depth(line)
                                                               : indent));
        f.b.len -= f.b.len > 0 && f.b.p[f.b.len - 1] == '\r';
        buf_char(&f.b, '\n');
    }
    put_text(y->w, &f.b);
}

/* The part of a plain line before a comment. */
static struct str
cut_comment(struct str s)
{
    for (size_t i = 0; i < s.len; i++)
        if (s.p[i] == '#' && (i == 0 || s.p[i - 1] == ' ' ||
                              s.p[i - 1] == '\t'))
            s.len = i;
    return str_trim(s);
}

static void
put_plain(struct yaml *y, struct str s)
{
    struct fold f = {.blanks = 0};

    fold(&f, cut_comment(s));
    while (next_line(y, &s))
        fold(&f, cut_comment(s));
    put_text(y->w, &f.b);
}

/* What stands below a key that has no value beside it, such as a map. */
static void
put_below(struct yaml *y)
{
    struct buf b = {0};
    struct str line;

    while (next_line(y, &line)) {
        buf_str(&b, line);
        buf_char(&b, '\n');
    }
    put_text(y->w, &b);
}

/* The offset of the quote that ends the text which s begins; 0: none does. */
static size_t
end_quote(struct str s)
{
    for (size_t i = 1; i < s.len; i++) {
        if (*s.p == '"' && s.p[i] == '\\') {
            i++;
        } else if (s.p[i] == *s.p) {
            if (*s.p == '"' || i + 1 == s.len || s.p[i + 1] != '\'')
                return i;
            i++;
        }
    }
    return 0;
}

/* The lines of a text in quotes become one. A line that ends with a backslash
   goes on without a blank, if the quote is ". */
static void
fold_quoted(struct fold *f, struct str s, char quote)
{
    struct str line;
    size_t n, ends;

    for (bool first = true; s.p != NULL; first = false) {
        line = str_cut(&s, '\n');
        n = line.len;
        if (s.p != NULL)
            while (n > 0 && (uint8_t)line.p[n - 1] <= ' ')
                n--;
        line.len = n;
        for (n = 0; !first && n < line.len && (uint8_t)line.p[n] <= ' ';)
            n++;
        line = str_from(line, n);
        for (ends = 0; ends < line.len &&
                       line.p[line.len - 1 - ends] == '\\';)
            ends++;
        n = quote == '"' && s.p != NULL && ends % 2 == 1;
        line.len -= n;
        fold(f, line);
        f->joined = n == 1;
    }
}

/* Writes what stands in quotes. The escapes of YAML are mostly those of JSON; a
   text with others is kept as it stands. */
static void
put_unescaped(struct yaml *y, struct str s, char quote)
{
    struct fold f = {.blanks = 0};
    struct buf b = {0};
    const struct json_tok *t;
    int rc = ERR_SYNTAX;
    bool escapes = quote == '"';

    fold_quoted(&f, s, quote);
    s = buf_view(&f.b);
    buf_z(&b, escapes ? "\"" : "");
    for (size_t i = 0; i < s.len; i++) {
        bool two = i + 1 < s.len && s.p[i] == (escapes ? '\\' : '\'');

        if (two && escapes && s.p[i + 1] != ' ')
            buf_char(&b, s.p[i]);
        i += two; /* '' stands for ', and "\ " for a blank */
        if (escapes && s.p[i] == '\n')
            buf_z(&b, "\\n");
        else
            buf_char(&b, s.p[i]);
    }
    buf_z(&b, escapes ? "\"" : "");
    y->w->b->err = y->w->b->err != 0 ? y->w->b->err : f.b.err;
    if (escapes && b.err == 0)
        rc = json_parse(y->a, buf_view(&b), &t, NULL);
    if (rc == 0)
        json_splice(y->w, json_raw(t));
    else
        json_string(y->w, escapes ? s : buf_view(&b));
    if (rc == ERR_NOMEM || b.err != 0)
        y->w->b->err = ERR_NOMEM;
    buf_fini(&f.b);
    buf_fini(&b);
}

/* Whether nothing but a comment is left of a line. */
static bool
is_over(struct str line)
{
    return cut_comment(line).len == 0;
}

/* s with the lines that go on with it, and one that begins with close. */
static struct str
take_lines(struct yaml *y, struct str s, const char *close)
{
    struct str line;

    while (next_line(y, &line))
        s.len = (size_t)(line.p + line.len - s.p);
    if (y->rest.p == NULL || !str_starts(y->rest, close))
        return s;
    line = str_cut(&y->rest, '\n');
    s.len = (size_t)(line.p + line.len - s.p);
    return s;
}

/* Has a value end where tail begins, in lines of before. False: there is more
   on the line, and nothing was taken. */
static bool
end_value(struct yaml *y, struct str before, struct str tail)
{
    struct str line = str_cut(&tail, '\n');

    if (!is_over(line) || (tail.p != NULL && before.p == NULL)) {
        y->rest = before;
        return false;
    }
    if (tail.p != NULL)
        y->rest = (struct str){tail.p, (size_t)(before.p + before.len -
                                                tail.p)};
    return true;
}

/* Takes a text in quotes that ends on this line or on one below. False: it does
   not, and nothing is taken. */
static bool
take_quoted(struct yaml *y, struct str s)
{
    struct str before = y->rest, whole = take_lines(y, s, "\n");
    size_t at = end_quote(whole);

    if (at == 0)
        y->rest = before;
    if (at == 0 || !end_value(y, before, str_from(whole, at + 1)))
        return false;
    put_unescaped(y, (struct str){s.p + 1, at - 1}, *s.p);
    return true;
}

/* Writes the value that s begins. */
static void
put_scalar(struct yaml *y, struct str s)
{
    s = str_trim(s);
    if (is_block(s))
        put_block(y, *s.p == '>');
    else if (s.len == 0 || *s.p == '#')
        put_below(y);
    else if ((*s.p != '"' && *s.p != '\'') || !take_quoted(y, s))
        put_plain(y, s);
}

/* ---- lists of the front matter ---- */

/* The length of the element that s begins, up to the comma or bracket after it
   that is in no quotes and in no brackets of its own; s.len: there is none. */
static size_t
element_len(struct str s)
{
    size_t i = 0, nested = 0;

    while (i < s.len && (uint8_t)s.p[i] <= ' ')
        i++;
    if (i < s.len && (s.p[i] == '"' || s.p[i] == '\''))
        i += end_quote(str_from(s, i));
    for (; i < s.len; i++) {
        if (nested == 0 && (s.p[i] == ',' || s.p[i] == ']'))
            break;
        if (s.p[i] == '[' || s.p[i] == '{')
            nested++;
        else if ((s.p[i] == ']' || s.p[i] == '}') && nested > 0)
            nested--;
    }
    return i;
}

/* Takes [a, "b, c"], on one line or on several. False: it has no end, and
   nothing is taken. */
static bool
take_flow(struct yaml *y, struct str s)
{
    struct str before = y->rest, whole = take_lines(y, s, "]"), item;
    struct yaml one = {.a = y->a, .w = y->w, .deep = y->deep};
    size_t at = 0;

    do
        at += 1 + element_len(str_from(whole, at + 1));
    while (at < whole.len && whole.p[at] == ',');
    if (at == whole.len)
        y->rest = before;
    if (at == whole.len || !end_value(y, before, str_from(whole, at + 1)))
        return false;
    whole.len = at;
    json_arr(y->w);
    for (at = 1; at <= whole.len; at += item.len + 1) {
        item = str_from(whole, at);
        item.len = element_len(item);
        if (str_trim(item).len > 0)
            put_scalar(&one, item);
    }
    json_close(y->w);
    return true;
}

/* Takes the lines below that each begin with a dash. False: there is none. */
static bool
take_dashes(struct yaml *y)
{
    struct str rest = y->rest, line, item;
    struct yaml one = *y;
    bool any = false;

    while (rest.p != NULL) {
        line = str_cut(&rest, '\n');
        item = str_trim(line);
        if (!is_over(item) && ((item.len > 1 && !str_starts(item, "- ")) ||
                               *item.p != '-'))
            break;
        if (is_over(item)) {
            one.rest = rest;
            continue;
        }
        if (!any)
            json_arr(y->w);
        any = true;
        one.deep = depth(line);
        one.rest = rest;
        put_scalar(&one, str_from(item, 1));
        rest = one.rest;
    }
    if (any) {
        json_close(y->w);
        y->rest = one.rest;
    }
    return any;
}

/* ---- the front matter ---- */

static void
put_yaml(struct yaml *y, struct str s)
{
    s = str_trim(s);
    if (is_over(s) && take_dashes(y))
        return;
    if (str_is(cut_comment(s), "null") || str_is(cut_comment(s), "~"))
        json_splice(y->w, STR("null"));
    else if (!str_starts(s, "[") || !take_flow(y, s))
        put_scalar(y, s);
}

/* A key, without the quotes that it may have. */
static struct str
yaml_key(struct str s)
{
    s = str_trim(s);
    return s.len > 1 && (*s.p == '"' || *s.p == '\'') &&
           s.p[s.len - 1] == *s.p ? (struct str){s.p + 1, s.len - 2} : s;
}

/* Writes the members. Lines that are none become a member, too. */
static void
put_front(struct yaml *y)
{
    struct buf none = {0};
    struct str line, key;

    while (y->rest.p != NULL) {
        line = str_cut(&y->rest, '\n');
        if (is_over(line))
            continue;
        key = line;
        key = str_cut(&key, ':');
        if (key.len == line.len || depth(line) > 0 || key.len == 0) {
            buf_str(&none, line);
            buf_char(&none, '\n');
            continue;
        }
        json_key_str(y->w, yaml_key(key));
        put_yaml(y, str_from(line, key.len + 1));
    }
    if (none.len > 0 || none.err != 0) {
        json_key(y->w, "other_front_matter");
        put_text(y->w, &none);
    }
}

/* Cuts the front matter off. False: there is none. */
static bool
cut_front(struct str *text, struct str *front)
{
    struct str rest = *text, line;

    if (!str_is(str_trim(str_cut(&rest, '\n')), "---"))
        return false;
    *front = rest;
    while (rest.p != NULL) {
        line = str_cut(&rest, '\n');
        if (depth(line) > 0 || !str_is(str_trim(line), "---"))
            continue;
        front->len = (size_t)(line.p - front->p);
        *text = rest;
        return true;
    }
    return false;
}

/* ---- sections ---- */

/* Whether the line begins or ends a section for Backlog.md's own use, as in
   <!-- AC:BEGIN -->. */
static bool
is_marker(struct str line, const char *what)
{
    line = str_trim(line);
    return str_starts(line, "<!-- ") &&
           str_find(line, str_of(what)) != SIZE_MAX &&
           str_is(str_from(line, line.len - 3), "-->");
}

/* Which section the line goes into, if those before it went into s; *kept:
   whether it is more than the mark of one. */
static size_t
section_of(struct str line, size_t s, bool *kept)
{
    bool list = s == CRITERIA || s == DONE;

    *kept = false;
    if (is_marker(line, ":BEGIN "))
        return s;
    if (is_marker(line, ":END "))
        return list ? OTHER : s;
    for (size_t i = 0; i < OTHER; i++)
        if (str_starts(line, "## ") &&
            str_is(str_trim(str_from(line, 3)), sections[i].title))
            return i;
    *kept = true;
    return list && (str_starts(line, "## ") || str_starts(line, "# ")) ? OTHER
                                                                       : s;
}

static void
put_sections(struct json_w *w, struct str rest)
{
    struct buf text[N_SECTIONS] = {{0}};
    size_t s = 0, i;
    struct str line;
    bool kept;

    while (rest.p != NULL) {
        line = str_cut(&rest, '\n');
        s = section_of(line, s, &kept);
        line.len -= line.len > 0 && line.p[line.len - 1] == '\r';
        if (!kept)
            continue;
        buf_str(&text[s], line);
        buf_char(&text[s], '\n');
    }
    for (i = 0; i < N_SECTIONS; i++)
        if (text[i].err != 0 || str_trim(buf_view(&text[i])).len > 0) {
            json_key(w, sections[i].key);
            put_text(w, &text[i]);
        } else {
            buf_fini(&text[i]);
        }
}

int
cli_backlog(struct arena *a, struct str text, struct str *out)
{
    struct yaml y = {.a = a};
    struct buf b = {0};
    struct json_w w;
    bool is = cut_front(&text, &y.rest);

    y.w = &w;
    json_begin(&w, &b);
    if (is) {
        put_front(&y);
        put_sections(&w, text);
    }
    json_end(&w);
    *out = buf_take(&b, a);
    if (out->p == NULL)
        return ERR_NOMEM;
    return is ? 0 : ERR_SYNTAX;
}
