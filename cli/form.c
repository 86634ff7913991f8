/* form - a task as a text that a person edits.

   A line "NAME: VALUE" is a field. A line that begins with "- " is an item of
   the list above it, two blanks continue the line before, and "#" begins a
   comment. The goal comes last, since it may hold any line. */

#include "cli/form.h"
#include "base/text.h"
#include "json/raw.h"
#include "json/write.h"

#include <string.h>

enum form_kind { FORM_LINE, FORM_WORDS /* a list on one line */,
                 FORM_ITEMS /* a list of texts */, FORM_REST };

static const struct form_row {
    int field; /* enum task_field */
    enum form_kind kind;
} form_rows[] = {
    {F_TITLE, FORM_LINE}, {F_PRIORITY, FORM_LINE},
    {F_CURRENT_OWNER, FORM_LINE}, {F_TAGS, FORM_WORDS},
    {F_DEPENDS_ON, FORM_WORDS}, {F_PARENT_ID, FORM_LINE},
    {F_REPO_PATH, FORM_LINE}, {F_NOT_BEFORE, FORM_LINE},
    {F_PATHS, FORM_ITEMS}, {F_ACCEPTANCE, FORM_ITEMS}, {F_GOAL, FORM_REST},
};
enum { FORM_ROWS = sizeof form_rows / sizeof *form_rows };

static bool
is_list(int row)
{
    return form_rows[row].kind == FORM_WORDS ||
           form_rows[row].kind == FORM_ITEMS;
}

/* ---- writing ---- */

/* Appends a text whose further lines begin with two blanks. */
static void
put_lines(struct buf *b, struct str text)
{
    const char *before = "";
    struct str line;

    while (text.p != NULL) {
        line = str_cut(&text, '\n');
        buf_printf(b, "%s%.*s\n", before, STR_ARG(line));
        before = "  ";
    }
}

/* Whether the list cannot stand on one line, with commas. */
static bool
needs_lines(struct arena *a, struct str list)
{
    struct str item = STR_NONE, text;

    while ((item = raw_list_next(list, item)).p != NULL) {
        text = raw_text(a, item);
        if (str_find(text, STR(",")) != SIZE_MAX ||
            str_find(text, STR("\n")) != SIZE_MAX)
            return true;
    }
    return false;
}

static void
put_form_list(struct buf *b, struct arena *a, struct str list, bool one_line)
{
    struct str item = STR_NONE;
    const char *before = " ";

    one_line = one_line && !needs_lines(a, list);
    while ((item = raw_list_next(list, item)).p != NULL) {
        buf_z(b, one_line ? before : "\n- ");
        before = ", ";
        if (one_line) {
            buf_str(b, raw_text(a, item));
            continue;
        }
        put_lines(b, raw_text(a, item));
        b->len -= b->err == 0; /* the line feed */
    }
    buf_char(b, '\n');
}

void
form_put(struct buf *b, struct arena *a, const struct task *k)
{
    buf_printf(b, "# Task %.*s. Save and quit to store what you changed.\n"
               "# An empty value clears a field; a field that you remove stays "
               "as it is.\n# Items of a list are separated by commas, or each "
               "is a line after \"- \".\n\n", STR_ARG(k->ev.id));
    for (int i = 0; i < FORM_ROWS; i++) {
        struct str v = k->f[form_rows[i].field];

        buf_printf(b, "%.*s:", STR_ARG(task_arg_name(form_rows[i].field)));
        if (is_list(i)) {
            put_form_list(b, a, v, form_rows[i].kind == FORM_WORDS);
            continue;
        }
        if (v.p != NULL && v.p[0] == '"')
            v = raw_text(a, v);
        buf_char(b, form_rows[i].kind == FORM_REST ? '\n' : ' ');
        if (form_rows[i].kind == FORM_REST)
            buf_printf(b, "%.*s\n", STR_ARG(v));
        else
            put_lines(b, v.p != NULL ? v : STR(""));
    }
}

/* ---- reading ---- */

struct form_reader {
    struct buf value[FORM_ROWS]; /* JSON, of a list without the brackets */
    bool seen[FORM_ROWS];
    struct buf piece; /* the text of a line or an item */
    bool open;        /* which is not yet in value */
    int row;          /* that it belongs to; -1: none yet */
};

/* Ends the line or item that was read. */
static void
end_piece(struct form_reader *r)
{
    struct str text = str_trim(buf_view(&r->piece));
    struct buf *b = r->row >= 0 ? &r->value[r->row] : NULL;

    if (!r->open)
        return;
    r->open = false;
    if (is_list(r->row) && b->len > 0 && text.len > 0)
        buf_char(b, ',');
    if (!is_list(r->row))
        b->len = 0; /* the last line of a name counts */
    if (!is_list(r->row) || text.len > 0)
        json_quote(b, text);
}

static void
begin_piece(struct form_reader *r, struct str text)
{
    end_piece(r);
    r->piece.len = 0;
    buf_str(&r->piece, text);
    r->open = true;
}

/* The row of this name, or -1. */
static int
form_row_of(struct str name)
{
    for (int i = 0; i < FORM_ROWS; i++)
        if (str_eq(name, task_arg_name(form_rows[i].field)))
            return i;
    return -1;
}

/* Reads a line "NAME: VALUE". Returns whether it is one. */
static bool
begin_row(struct form_reader *r, struct str line)
{
    struct str rest = line, name = str_cut(&rest, ':');
    int row = rest.p != NULL ? form_row_of(str_trim(name)) : -1;

    end_piece(r);
    if (row < 0)
        return false;
    r->row = row;
    r->seen[row] = true;
    if (!is_list(row)) {
        begin_piece(r, rest);
        return true;
    }
    while (rest.p != NULL)
        begin_piece(r, str_cut(&rest, ','));
    return true;
}

/* Reads all lines. Returns 0, or the number of a line that is wrong. */
static size_t
read_form_lines(struct form_reader *r, struct str text)
{
    struct str line;

    for (size_t n = 1; text.p != NULL; n++) {
        line = str_line(&text);
        if (r->row >= 0 && form_rows[r->row].kind == FORM_REST) {
            buf_char(&r->piece, '\n');
            buf_str(&r->piece, line);
            continue;
        }
        if (str_trim(line).len == 0 && r->open) {
            buf_char(&r->piece, '\n'); /* of its text, or trimmed at its end */
            continue;
        }
        if (str_trim(line).len == 0 || line.p[0] == '#')
            continue;
        if (str_starts(line, "  ") && r->open) {
            buf_char(&r->piece, '\n');
            buf_str(&r->piece, str_from(line, 2));
        } else if (line.p[0] == '-' && r->row >= 0 && is_list(r->row)) {
            begin_piece(r, str_from(line, 1));
        } else if (!begin_row(r, line)) {
            return n;
        }
    }
    end_piece(r);
    return 0;
}

int
form_read(struct arena *a, struct str text, struct str out[TASK_N_FIELDS],
          char why[128])
{
    struct form_reader r = {.row = -1};
    size_t wrong = read_form_lines(&r, text);
    int rc = r.piece.err != 0 ? ERR_NOMEM : 0;

    if (wrong > 0)
        text_put(why, 128, "line %zu is not \"FIELD: VALUE\"", wrong);
    memset(out, 0, TASK_N_FIELDS * sizeof *out);
    for (int i = 0; i < FORM_ROWS; i++) {
        struct str *value = &out[form_rows[i].field];
        bool list = is_list(i);

        rc = r.value[i].err != 0 ? ERR_NOMEM : rc;
        if (r.seen[i])
            *value = arena_printf(a, "%s%.*s%s", list ? "[" : "",
                                  STR_ARG(buf_view(&r.value[i])),
                                  list ? "]" : "");
        if (r.seen[i] && value->p == NULL)
            rc = ERR_NOMEM;
        buf_fini(&r.value[i]);
    }
    buf_fini(&r.piece);
    return rc == 0 && wrong > 0 ? ERR_SYNTAX : rc;
}
