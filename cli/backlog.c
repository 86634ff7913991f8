/* backlog - a task file of Backlog.md: Markdown below front matter.

   The front matter is YAML as that program writes it, and as people edit it:
   scalars, plain, quoted or folded, and lists of them. Ids are written in
   capitals and read in either case. Comments in HTML only mark the sections,
   and other headings belong to the section above. */

#include "cli/backlog.h"

static const char *const sections[] = {
    "Description", "Acceptance Criteria", "Definition of Done",
    "Implementation Plan", "Implementation Notes", "Comments", "Final Summary",
};
#define CRITERIA sections[1]

/* How far a line is indented; a blank one is deeper than any other. */
static size_t
depth(struct str line)
{
    size_t n = 0;

    while (n < line.len && line.p[n] == ' ')
        n++;
    return str_trim(line).len > 0 ? n : SIZE_MAX;
}

/* ---- front matter ---- */

/* Writes a part of the text of b, and frees b, whose error becomes w's. */
static void
put_text(struct json_w *w, struct str part, struct buf *b)
{
    json_string(w, part);
    if (b->err != 0)
        w->b->err = b->err;
    buf_fini(b);
}

/* A text on the lines below, all deeper than deep. */
static void
put_block(struct json_w *w, char style, struct str *rest, size_t deep)
{
    struct str next = *rest, line;
    struct buf b = {0};

    while (next.p != NULL) {
        line = str_cut(&next, '\n');
        if (depth(line) <= deep)
            break;
        buf_str(&b, str_trim(line));
        buf_char(&b, style == '>' ? ' ' : '\n');
        *rest = next;
    }
    put_text(w, str_trim(buf_view(&b)), &b);
}

static void
put_scalar(struct arena *a, struct json_w *w, struct str s, struct str *rest,
           size_t deep)
{
    char first = s.len > 0 ? s.p[0] : '\0';
    const struct json_tok *t;
    int rc = first == '"' ? json_parse(a, s, &t, NULL) : ERR_SYNTAX;
    struct buf b = {.err = rc == ERR_NOMEM ? rc : 0};

    if (first == '>' || first == '|') {
        put_block(w, first, rest, deep);
    } else if (rc == 0) {
        json_splice(w, s);
    } else if (s.len > 1 && (first == '"' || first == '\'') &&
               s.p[s.len - 1] == first) {
        for (size_t i = 1; i < s.len - 1; i++) {
            buf_char(&b, s.p[i]);
            i += s.p[i] == '\'' && s.p[i + 1] == '\''; /* '' stands for ' */
        }
        put_text(w, buf_view(&b), &b);
    } else {
        json_string(w, s);
    }
}

/* [a, "b"], or a line for each: - a */
static void
put_list(struct arena *a, struct json_w *w, struct str s, struct str *rest)
{
    struct str next = *rest, item;

    json_arr(w);
    if (s.len > 1) {
        s = (struct str){s.p + 1, s.len - 2};
        while (s.p != NULL && (item = str_trim(str_cut(&s, ','))).len > 0)
            put_scalar(a, w, item, rest, 0);
    }
    while (s.len == 0 && next.p != NULL) {
        struct str line = str_cut(&next, '\n');

        item = str_trim(line);
        if (!str_starts(item, "-") || str_starts(item, "---"))
            break;
        *rest = next;
        put_scalar(a, w, str_trim(str_from(item, 1)), rest, depth(line));
        next = *rest;
    }
    json_close(w);
}

static bool
is_list(struct str value, struct str rest)
{
    struct str next = str_trim(str_cut(&rest, '\n'));

    return str_starts(value, "[") ||
           (value.len == 0 && str_starts(next, "-") &&
            !str_starts(next, "---"));
}

/* Writes the members, up to the line that ends them. */
static int
put_front(struct arena *a, struct json_w *w, struct str *rest)
{
    struct str line, key;
    size_t at;

    while (rest->p != NULL) {
        line = str_cut(rest, '\n');
        if (str_is(str_trim(line), "---"))
            return 0;
        key = str_cut(&line, ':');
        if (line.p == NULL || depth(key) > 0 || key.p[0] == '#')
            continue;
        line = str_trim(line);
        json_key_str(w, key);
        at = w->b->len;
        if (is_list(line, *rest))
            put_list(a, w, line, rest);
        else
            put_scalar(a, w, line, rest, 0);
        if (str_is(key, "id") || str_is(key, "dependencies") ||
            str_is(key, "parent_task_id"))
            for (; at < w->b->len; at++)
                if (w->b->p[at] >= 'a' && w->b->p[at] <= 'z')
                    w->b->p[at] -= 'a' - 'A';
    }
    return ERR_SYNTAX;
}

/* ---- sections ---- */

/* Cuts off a line, and those that go on with it. */
static struct str
cut_item(struct str *text)
{
    struct str line = str_trim(str_cut(text, '\n')), next = *text, more;

    while (next.p != NULL) {
        more = str_trim(str_cut(&next, '\n'));
        if (more.len == 0 || str_starts(more, "- "))
            break;
        line.len = (size_t)(more.p + more.len - line.p);
        *text = next;
    }
    return line;
}

/* The items of a list, with boxes or without; or those that are ticked. */
static void
put_items(struct json_w *w, struct str text, bool ticked)
{
    struct str line, number;
    uint64_t n;
    bool tick;

    json_arr(w);
    while (text.p != NULL) {
        line = cut_item(&text);
        tick = str_starts(line, "- [x]") || str_starts(line, "- [X]");
        if (!str_starts(line, "- ") || (ticked && !tick))
            continue;
        line = str_from(line, tick || str_starts(line, "- [ ]") ? 5 : 2);
        line = str_trim(line);
        number = line;
        number = str_cut(&number, ' ');
        if (str_starts(number, "#") && str_u64(str_from(number, 1), &n))
            line = str_trim(str_from(line, number.len));
        json_string(w, line);
    }
    json_close(w);
}

static void
put_section(struct json_w *w, const char *title, struct str text)
{
    char key[32];
    size_t n = 0;

    text = str_trim(text);
    if (text.len == 0)
        return;
    for (; title[n] != '\0'; n++)
        key[n] = (char)(title[n] == ' ' ? '_' : title[n] | 32);
    json_key_str(w, (struct str){key, n});
    if (title != CRITERIA) {
        json_string(w, text);
        return;
    }
    put_items(w, text, false);
    json_key(w, "completed_steps");
    put_items(w, text, true);
}

/* The title of the section that the line begins; NULL: it begins none. */
static const char *
title_of(struct str line)
{
    for (size_t i = 0; i < sizeof(sections) / sizeof(sections[0]); i++)
        if (str_starts(line, "## ") &&
            str_is(str_trim(str_from(line, 3)), sections[i]))
            return sections[i];
    return NULL;
}

static void
put_sections(struct json_w *w, struct str rest)
{
    const char *title = sections[0], *next;
    struct buf b = {0};
    struct str line;

    while (rest.p != NULL) {
        line = str_cut(&rest, '\n');
        next = title_of(line);
        if (next != NULL && next != title) {
            put_section(w, title, buf_view(&b));
            title = next;
            b.len = 0; /* its error stays */
        } else if (next == NULL && !str_starts(line, "<!--")) {
            line.len -= line.len > 0 && line.p[line.len - 1] == '\r';
            buf_str(&b, line);
            buf_char(&b, '\n');
        }
    }
    put_section(w, title, buf_view(&b));
    w->b->err = w->b->err != 0 ? w->b->err : b.err;
    buf_fini(&b);
}

int
cli_backlog(struct arena *a, struct str text, struct str *out)
{
    struct str rest = text;
    struct buf b = {0};
    struct json_w w;
    int rc = ERR_SYNTAX;

    json_begin(&w, &b);
    if (str_is(str_trim(str_cut(&rest, '\n')), "---"))
        rc = put_front(a, &w, &rest);
    if (rc == 0)
        put_sections(&w, rest);
    json_close(&w);
    *out = buf_take(&b, a);
    return out->p == NULL ? ERR_NOMEM : rc;
}
