/* plan - tasks from a Markdown list on standard input, created in one call.

   An item is a line "- title", with any marker and perhaps a checkbox. One that
   stands further to the right than the one above it is a part of that. Other
   text to the right of an item is its goal.

   1. All tasks are created or none: errors come before the call, or refuse it.
   2. They are created in an order in which a task comes after those that it
      depends on, and printed in that of the list. */

#include "cli/plan.h"
#include "cli/args.h"
#include "cli/call.h"
#include "cli/text.h"
#include "base/text.h"
#include "json/raw.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define TAB 4 /* columns */

struct item {
    unsigned line, depth;
    size_t column;       /* of its marker */
    struct item *parent; /* or NULL */
    bool done;
    struct str title, after; /* after: the text of "(after ...)", or empty */
    struct str id;           /* once it is created */
    struct buf goal;
    const char *deps[ENV_MAX_LIST + 1]; /* ids and "#2", up to a NULL */
    const char *at; /* "#0": its place in the call; NULL: it has none yet */
};

struct plan {
    struct cli *c;
    struct item item[TASK_MAX_NEW];
    unsigned n; /* items, also those that are too many */
    struct item *order[TASK_MAX_NEW]; /* in which they are created */
    unsigned n_order;
    struct buf b; /* the tasks as JSON */
};

/* ---- lines ---- */

/* Takes the blanks from the start of a line. Returns their columns. */
static size_t
take_indent(struct str *line)
{
    size_t column = 0;

    for (; line->len > 0 && (*line->p == ' ' || *line->p == '\t');
         *line = str_from(*line, 1))
        column += *line->p == '\t' ? TAB - column % TAB : 1;
    return column;
}

/* Takes the marker of an item and a blank; false: it has none. */
static bool
take_marker(struct str *line)
{
    size_t n = 0;

    while (n < line->len && line->p[n] >= '0' && line->p[n] <= '9')
        n++;
    if (n == line->len || strchr(n > 0 ? ".)" : "-*+", line->p[n]) == NULL)
        return false;
    if (n + 1 < line->len && line->p[n + 1] != ' ' && line->p[n + 1] != '\t')
        return false;
    *line = str_trim(str_from(*line, n + 1));
    return true;
}

/* Takes "[ ] " or "[x] ". Returns whether it is ticked. */
static bool
take_box(struct str *title)
{
    bool done = str_starts(*title, "[x]") || str_starts(*title, "[X]");

    if (!done && !str_starts(*title, "[ ]"))
        return false;
    if (title->len > 3 && title->p[3] != ' ' && title->p[3] != '\t')
        return false; /* a link */
    *title = str_trim(str_from(*title, 3));
    return done;
}

/* Takes "(after ...)" from the end of a title. Returns what is in it. */
static struct str
take_after(struct str *title)
{
    size_t at = 0, next;
    struct str rest = *title;

    if (title->len == 0 || title->p[title->len - 1] != ')')
        return STR("");
    while ((next = str_find(rest, STR("(after "))) != SIZE_MAX) {
        at = (size_t)(rest.p - title->p) + next;
        rest = str_from(rest, next + 1);
    }
    if (rest.p == title->p)
        return STR("");
    rest = str_from(*title, at + strlen("(after "));
    rest.len--;
    *title = str_trim((struct str){title->p, at});
    return rest;
}

/* Adds an item. Returns 0, or an exit code after printing the error. */
static int
add_item(struct plan *p, unsigned line, size_t column, struct str text)
{
    struct item *it = &p->item[p->n], *up = p->n > 0 ? it - 1 : NULL;

    if (p->n++ >= TASK_MAX_NEW)
        return 0; /* only counted */
    while (up != NULL && up->column >= column)
        up = up->parent;
    *it = (struct item){.line = line, .column = column, .parent = up};
    it->depth = up != NULL ? up->depth + 1 : 0;
    it->done = take_box(&text);
    it->after = take_after(&text);
    it->title = text;
    if (text.len == 0)
        return cli_fail(p->c, ERR_INVALID, "line %u: the item has no title",
                        line);
    if (up != NULL && up->done && !it->done)
        return cli_fail(p->c, ERR_INVALID, "line %u: this part is not done, "
                        "but line %u is\ntick both or none", line, up->line);
    return 0;
}

static int
read_plan_line(struct plan *p, unsigned n, struct str line)
{
    struct str text = line;
    size_t column = take_indent(&text);
    struct item *it = p->n > 0 && p->n <= TASK_MAX_NEW ? &p->item[p->n - 1]
                                                       : NULL;

    text = str_trim(text);
    if (text.len == 0 || (column == 0 && *text.p == '#'))
        return 0;
    if (take_marker(&text))
        return add_item(p, n, column, text);
    if (p->n > TASK_MAX_NEW)
        return 0;
    if (it == NULL || column <= it->column)
        return cli_fail(p->c, ERR_INVALID, "line %u: neither an item such as "
                        "\"- [ ] TITLE\" nor text below one\nindent it, or "
                        "remove it", n);
    buf_printf(&it->goal, "%s%.*s", it->goal.len > 0 ? "\n" : "",
               STR_ARG(text));
    return it->goal.err != 0 ? cli_fail_store(p->c, ERR_NOMEM) : 0;
}

/* Refuses what another program, or this one, has written in another form. */
static int
refuse_foreign(struct cli *c, struct str text)
{
    text = str_trim(text);
    if (str_starts(text, "{") || str_starts(text, "["))
        return cli_fail(c, ERR_INVALID, "standard input is JSON, not a list\n"
                        "run \"mcptask import -\" for tasks of mcptask, and "
                        "\"mcptask-import -\" for those of other programs");
    if (str_starts(text, "---\n") || str_starts(text, "---\r\n"))
        return cli_fail(c, ERR_INVALID, "standard input has front matter, so "
                        "it is no list\nrun \"mcptask-import FILE\" for tasks "
                        "of other programs");
    return 0;
}

static int
read_plan(struct plan *p)
{
    struct cli *c = p->c;
    struct str text, line;
    unsigned n = 0;
    int rc = cli_args_input(c, STDIN_FILENO, TASK_MAX_NEW_LEN, &text);

    if (rc == 0 && text.len > TASK_MAX_NEW_LEN)
        return cli_fail(c, ERR_TOO_LARGE, "the list is larger than %d bytes\n"
                        "add it in parts", TASK_MAX_NEW_LEN);
    if (rc != 0)
        return rc == ERR_NOMEM ? cli_fail_store(c, rc)
                               : cli_fail_errno(c, ERR_INVALID, "-");
    if (str_starts(text, "\xef\xbb\xbf")) /* a byte order mark */
        text = str_from(text, 3);
    rc = refuse_foreign(c, text);
    while (rc == 0 && text.len > 0) {
        line = str_cut(&text, '\n');
        rc = read_plan_line(p, ++n, line);
    }
    if (rc == 0 && p->n == 0)
        rc = cli_fail(c, ERR_INVALID, "standard input has no item such as "
                      "\"- [ ] TITLE\"");
    if (rc == 0 && p->n > TASK_MAX_NEW)
        rc = cli_fail(c, ERR_TOO_LARGE, "the list has %u items, but at most %d "
                      "are added together\nadd it in parts, with --parent ID "
                      "for those of one task", p->n, TASK_MAX_NEW);
    return rc;
}

/* ---- dependencies ---- */

/* The item that "#2" refers to; NULL: there is none, or the word is an id. */
static struct item *
item_of(struct plan *p, const char *word)
{
    char *end;
    unsigned long n = *word == '#' ? strtoul(word + 1, &end, 10) : 0;

    return n > 0 && n <= p->n && *end == '\0' ? &p->item[n - 1] : NULL;
}

/* Reads "#2, ID" into the words of item it, after those of --after. */
static int
set_deps(struct plan *p, struct item *it, const char *const *all)
{
    static const char between[] = ", \t";
    struct str rest = it->after, word;
    size_t len;
    int n = 0;

    for (; n < ENV_MAX_LIST && all[n] != NULL; n++)
        it->deps[n] = all[n];
    for (; rest.len > 0; rest = str_from(rest, len)) {
        for (len = 0; len < rest.len && !strchr(between, rest.p[len]); )
            len++;
        word = arena_str(&p->c->kept, (struct str){rest.p, len});
        if (word.p == NULL)
            return cli_fail_store(p->c, ERR_NOMEM);
        len += len == 0; /* a separator */
        if (word.len == 0)
            continue;
        if (*word.p == '#' && item_of(p, word.p) == NULL)
            return cli_fail(p->c, ERR_INVALID, "line %u: the list has no item "
                            "%s\nit has #1 to #%u", it->line, word.p, p->n);
        if (n == ENV_MAX_LIST)
            return cli_fail(p->c, ERR_TOO_LARGE, "line %u: more than %d "
                            "dependencies", it->line, ENV_MAX_LIST);
        it->deps[n++] = word.p;
    }
    return 0;
}

static bool
may_write(struct plan *p, const struct item *it)
{
    bool may = it->at == NULL &&
               (it->parent == NULL || it->parent->at != NULL);

    for (int i = 0; may && it->deps[i] != NULL; i++)
        may = item_of(p, it->deps[i]) == NULL ||
              item_of(p, it->deps[i])->at != NULL;
    return may;
}

/* ---- the call ---- */

/* Writes an item as create_task wants it: the options of the command, with what
   the item has itself instead. */
static int
write_item(struct plan *p, struct item *it, const union cli_value *given)
{
    const char *prefix = given[F_TASK_ID].text;
    struct cli *c = p->c;
    struct str text;

    it->at = arena_printf(&c->kept, "#%u", p->n_order).p;
    p->order[p->n_order++] = it;
    if (prefix != NULL)
        c->arg[F_TASK_ID].text = arena_printf(&c->a, "%s-%u", prefix,
                                              (unsigned)(it - p->item) + 1).p;
    c->arg[F_PARENT_ID].text = it->parent != NULL ? it->parent->at
                                                  : given[F_PARENT_ID].text;
    c->arg[F_GOAL].text = given[F_GOAL].text;
    if (it->goal.len > 0)
        c->arg[F_GOAL].text = arena_str(&c->a, buf_view(&it->goal)).p;
    for (int i = 0; i < ENV_MAX_LIST; i++) {
        struct item *dep = it->deps[i] != NULL ? item_of(p, it->deps[i]) : NULL;

        c->arg[F_DEPENDS_ON].list[i] = dep != NULL ? dep->at : it->deps[i];
    }
    cli_args_begin(c, NULL, NULL);
    json_put_str(&c->tool.w, "title", it->title);
    if (it->done)
        json_put_z(&c->tool.w, "status", "done");
    text = cli_args_end(c);
    buf_printf(&p->b, "%s%.*s", p->b.len > 0 ? "," : "", STR_ARG(text));
    return it->at != NULL && text.p != NULL ? 0 : cli_fail_store(c, ERR_NOMEM);
}

static int
write_items(struct plan *p, const union cli_value *given)
{
    unsigned before = UINT32_MAX;
    int rc = 0;

    while (rc == 0 && p->n_order < p->n && p->n_order != before) {
        before = p->n_order;
        for (unsigned i = 0; rc == 0 && i < p->n; i++)
            if (may_write(p, &p->item[i]))
                rc = write_item(p, &p->item[i], given);
    }
    for (unsigned i = 0; rc == 0 && i < p->n; i++)
        if (p->item[i].at == NULL)
            rc = cli_fail(p->c, ERR_CYCLE, "line %u: its dependencies lead "
                          "back to it\nomit one of them", p->item[i].line);
    return rc;
}

/* Prints why the call was refused: "tasks[3]: TEXT" is of a line. */
static int
refuse_plan(const struct plan *p, struct task_error *e)
{
    struct cli *c = p->c;
    const char *message = arena_str(&c->a, e->message).p;
    char *end = NULL;
    unsigned long i = p->n;

    if (message != NULL && str_starts(e->message, "tasks["))
        i = strtoul(message + strlen("tasks["), &end, 10);
    if (i < p->n_order && strncmp(end, "]: ", 3) == 0)
        e->message = arena_printf(&c->a, "line %u: %s",
                                  p->order[i]->line, end + 3);
    c->arg[F_TASK_ID].text = NULL;
    return e->message.p != NULL ? cli_refuse_change(c, e)
                                : cli_fail_store(c, ERR_NOMEM);
}

static int
send_plan(struct plan *p)
{
    struct cli *c = p->c;
    const char *agent = c->arg[ARG_AGENT].text;
    struct task_error e;
    struct str answer, id = STR_NONE;
    int rc;

    c->tool = (struct cli_tool_args){.once = false};
    json_begin(&c->tool.w, &c->tool.b);
    cli_args_put(c, "agent", agent);
    json_put_arr(&c->tool.w, "tasks");
    json_splice(&c->tool.w, buf_view(&p->b)); /* with commas */
    json_close(&c->tool.w);
    rc = call_tool(c, TOOL_CREATE, cli_args_end(c), 0, &answer, &e);
    if (rc == 0 && e.code != 0)
        rc = refuse_plan(p, &e);
    if (rc == 0 && c->json)
        buf_printf(&c->out, "%.*s\n", STR_ARG(answer));
    for (unsigned i = 0; rc == 0 && i < p->n; i++) {
        id = raw_list_next(raw_member(answer, "task_ids"), id);
        p->order[i]->id = raw_inner(id);
    }
    for (unsigned i = 0; rc == 0 && !c->json && i < p->n; i++)
        buf_printf(&c->out, "%*s%.*s  %.*s%s\n", (int)p->item[i].depth * 2, "",
                   STR_ARG(p->item[i].id), STR_ARG(p->item[i].title),
                   p->item[i].done ? " (done)" : "");
    return rc;
}

int
cli_add_list(struct cli *c)
{
    union cli_value given[TASK_N_ARGS];
    struct plan *p = arena_alloc(&c->kept, sizeof *p);
    int rc;

    if (p == NULL)
        return cli_fail_store(c, ERR_NOMEM);
    *p = (struct plan){.c = c};
    memcpy(given, c->arg, sizeof given);
    rc = read_plan(p);
    for (unsigned i = 0; rc == 0 && i < p->n; i++)
        rc = set_deps(p, &p->item[i], given[F_DEPENDS_ON].list);
    rc = rc == 0 ? write_items(p, given) : rc;
    if (rc == 0 && p->b.err != 0)
        rc = cli_fail_store(c, ERR_NOMEM);
    rc = rc == 0 ? send_plan(p) : rc;
    for (unsigned i = 0; i < p->n && i < TASK_MAX_NEW; i++)
        buf_fini(&p->item[i].goal);
    buf_fini(&p->b);
    return rc;
}
