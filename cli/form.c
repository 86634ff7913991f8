/* form - a task as a text that a person edits.

   A line "NAME: VALUE" is a field. A line that begins with "- " is an item of
   the list above it, two blanks continue the line before, and "#" begins a
   comment. The goal comes last, since it may hold any line. */

#include "cli/form.h"
#include "base/text.h"
#include "json/raw.h"
#include "json/write.h"

#include <string.h>

/* Whether a field has items in a form. */
static bool
is_list(const struct task_fact *fact)
{
    return fact->kind >= KIND_WORDS && fact->kind <= KIND_DONE;
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

/* Appends the items: with commas between them, if one_line is set and none has
   a comma or a line feed in it; else each on a line of its own. */
static void
put_form_list(struct buf *b, struct arena *a, struct str list, bool one_line)
{
    struct str item = STR_NONE, text;
    const char *before = " ";

    while (one_line && (item = raw_list_next(list, item)).p != NULL) {
        text = raw_text(a, item);
        one_line = str_find(text, STR(",")) == SIZE_MAX &&
                   str_find(text, STR("\n")) == SIZE_MAX;
    }
    item = STR_NONE;
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

static void
put_form_field(struct buf *b, struct arena *a, const struct task_fact *fact,
               struct str v)
{
    buf_printf(b, "%.*s:", STR_ARG(task_arg_name(fact->field)));
    if (is_list(fact)) {
        put_form_list(b, a, v, fact->kind == KIND_WORDS);
        return;
    }
    if (v.p != NULL && v.p[0] == '"')
        v = raw_text(a, v);
    if (fact->kind == KIND_PROSE) {
        buf_printf(b, "\n%.*s\n", STR_ARG(v));
    } else {
        buf_char(b, ' ');
        put_lines(b, v.p != NULL ? v : STR(""));
    }
}

void
form_put(struct buf *b, struct arena *a, const struct task *k)
{
    buf_printf(b, "# Task %.*s. Save and quit to store what you changed.\n"
               "# An empty value clears a field; a field that you remove stays "
               "as it is.\n# Items of a list are separated by commas, or each "
               "is a line after \"- \".\n\n", STR_ARG(k->ev.id));
    for (int last = 0; last < 2; last++)
        for (const struct task_fact *fact = task_facts; fact->label; fact++)
            if (fact->where & IN_FORM && (fact->kind == KIND_PROSE) == last)
                put_form_field(b, a, fact, k->f[fact->field]);
}

/* ---- reading ---- */

struct form_reader {
    struct buf value[TASK_N_FIELDS]; /* JSON, of a list without the brackets */
    bool seen[TASK_N_FIELDS];
    struct buf piece; /* the text of a line or an item */
    bool open;        /* which is not yet in value */
    const struct task_fact *of; /* what it belongs to; NULL: nothing yet */
};

/* Ends the line or item that was read. */
static void
end_piece(struct form_reader *r)
{
    struct str text = str_trim(buf_view(&r->piece));
    struct buf *b;

    if (!r->open)
        return;
    b = &r->value[r->of->field];
    r->open = false;
    if (is_list(r->of) && b->len > 0 && text.len > 0)
        buf_char(b, ',');
    if (!is_list(r->of))
        b->len = 0; /* the last line of a name counts */
    if (!is_list(r->of) || text.len > 0)
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

/* Reads a line "NAME: VALUE". Returns whether it is one. */
static bool
begin_field(struct form_reader *r, struct str line)
{
    struct str rest = line, name = str_trim(str_cut(&rest, ':'));
    const struct task_fact *fact = task_facts;

    end_piece(r);
    while (fact->label != NULL && !(fact->where & IN_FORM &&
                                    str_eq(name, task_arg_name(fact->field))))
        fact++;
    if (rest.p == NULL || fact->label == NULL)
        return false;
    r->of = fact;
    r->seen[fact->field] = true;
    if (!is_list(fact)) {
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
        if (r->of != NULL && r->of->kind == KIND_PROSE) {
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
        } else if (line.p[0] == '-' && r->of != NULL && is_list(r->of)) {
            begin_piece(r, str_from(line, 1));
        } else if (!begin_field(r, line)) {
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
    struct form_reader r = {.of = NULL};
    size_t wrong = read_form_lines(&r, text);
    int rc = r.piece.err != 0 ? ERR_NOMEM : 0;

    if (wrong > 0)
        text_put(why, 128, "line %zu is not \"FIELD: VALUE\"", wrong);
    memset(out, 0, TASK_N_FIELDS * sizeof *out);
    for (const struct task_fact *fact = task_facts; fact->label; fact++) {
        struct str *value = &out[fact->field];
        struct buf *b = &r.value[fact->field];
        bool list = is_list(fact);

        rc = b->err != 0 ? ERR_NOMEM : rc;
        if (r.seen[fact->field])
            *value = arena_printf(a, "%s%.*s%s", list ? "[" : "",
                                  STR_ARG(buf_view(b)), list ? "]" : "");
        if (r.seen[fact->field] && value->p == NULL)
            rc = ERR_NOMEM;
        buf_fini(b);
    }
    buf_fini(&r.piece);
    return rc == 0 && wrong > 0 ? ERR_SYNTAX : rc;
}
