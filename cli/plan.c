/* plan - tasks from a Markdown list on standard input, created in one call.

   An item is a line "- title", with any marker and perhaps a checkbox. One that
   stands further to the right than the one above it is a part of that. Other
   text to the right of an item is its goal.

   All tasks are created or none: errors come before the call, or refuse it. */

#include "cli/plan.h"
#include "cli/args.h"
#include "cli/call.h"
#include "cli/text.h"
#include "base/text.h"
#include "json/raw.h"

#include <string.h>
#include <unistd.h>

#define TAB 4 /* columns */

struct item {
    unsigned line, depth;
    size_t column;       /* of its marker */
    struct item *parent; /* or NULL */
    bool done;
    struct str title, after; /* after: the text of "(after ...)", or empty */
    struct buf goal;
};

struct plan {
    struct cli *c;
    struct item item[TASK_MAX_NEW];
    unsigned n;
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
    const char *marks;
    size_t n = 0;

    while (n < line->len && line->p[n] >= '0' && line->p[n] <= '9')
        n++;
    marks = n > 0 ? ".)" : "-*+";
    if (n == line->len || memchr(marks, line->p[n], strlen(marks)) == NULL)
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
    static const char word[] = "(after ";
    size_t at = title->len;
    struct str after;

    if (at == 0 || title->p[at - 1] != ')')
        return STR("");
    while (at > 0 && !str_starts(str_from(*title, at), word))
        at--;
    after = str_from(*title, at);
    if (!str_starts(after, word))
        return STR("");
    after = str_from(after, strlen(word));
    after.len--;
    *title = str_trim((struct str){title->p, at});
    return after;
}

/* Adds an item. Returns 0, or an exit code after printing the error. */
static int
add_item(struct plan *p, unsigned line, size_t column, struct str text)
{
    struct item *it = &p->item[p->n], *up = p->n > 0 ? it - 1 : NULL;

    if (p->n == TASK_MAX_NEW)
        return cli_fail(p->c, ERR_TOO_LARGE, "line %u: at most %d items are "
                        "added together\nadd the list in parts, with --parent "
                        "ID for those of one task", line, TASK_MAX_NEW);
    p->n++;
    while (up != NULL && up->column >= column)
        up = up->parent;
    *it = (struct item){.line = line, .column = column, .parent = up};
    it->depth = up != NULL ? up->depth + 1 : 0;
    it->done = take_box(&text);
    it->after = take_after(&text);
    it->title = text;
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
    struct item *it = p->n > 0 ? &p->item[p->n - 1] : NULL;

    text = str_trim(text);
    if (text.len == 0 || (column == 0 && *text.p == '#'))
        return 0;
    if (take_marker(&text))
        return add_item(p, n, column, text);
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
    if (str_starts(text, "{") || (str_starts(text, "[") && json_is_valid(text)))
        return cli_fail(c, ERR_INVALID, "standard input is JSON, not a list\n"
                        "run \"mcptask import -\" for tasks of mcptask, and "
                        "\"mcptask-import -\" for those of other programs");
    if (str_is(str_trim(str_line(&text)), "---"))
        return cli_fail(c, ERR_INVALID, "standard input has front matter, so "
                        "it is no list\nrun \"mcptask-import FILE\" for tasks "
                        "of other programs");
    return 0;
}

static int
read_plan(struct plan *p)
{
    struct cli *c = p->c;
    struct str text;
    unsigned n = 0;
    int rc = cli_args_input(c, STDIN_FILENO, TASK_MAX_NEW_LEN, &text);

    if (rc == 0 && text.len > TASK_MAX_NEW_LEN)
        return cli_fail(c, ERR_TOO_LARGE, "the list is larger than %d bytes\n"
                        "add it in parts", TASK_MAX_NEW_LEN);
    if (rc != 0)
        return rc == ERR_NOMEM ? cli_fail_store(c, rc)
                               : cli_fail_errno(c, ERR_INVALID, "-");
    rc = refuse_foreign(c, text);
    while (rc == 0 && text.len > 0)
        rc = read_plan_line(p, ++n, str_line(&text));
    if (rc == 0 && p->n == 0)
        rc = cli_fail(c, ERR_INVALID, "standard input has no item such as "
                      "\"- [ ] TITLE\"");
    return rc;
}

/* ---- the call ---- */

/* Puts what item it is after, "#2, ID", behind what all are after. "#2" becomes
   "#1", as create_task counts. */
static int
put_after(struct plan *p, const struct item *it, const char *const *all)
{
    const char **deps = p->c->arg[F_DEPENDS_ON].list;
    unsigned above = (unsigned)(it - p->item);
    struct str rest = it->after, word;
    uint64_t of = 0;
    int n = 0;

    for (; n < ENV_MAX_LIST && all[n] != NULL; n++)
        deps[n] = all[n];
    while (rest.len > 0) {
        size_t len = 0;

        while (len < rest.len && !strchr(", \t", rest.p[len]))
            len++;
        word = (struct str){rest.p, len};
        rest = str_from(rest, len < rest.len ? len + 1 : len);
        if (len == 0)
            continue;
        if (*word.p == '#' && (!str_u64(str_from(word, 1), &of) || of == 0 ||
                               of > above))
            return cli_fail(p->c, ERR_INVALID, "line %u: no item %.*s is above "
                            "this one\nput it below what it is after",
                            it->line, STR_ARG(word));
        if (n == ENV_MAX_LIST)
            return cli_fail(p->c, ERR_TOO_LARGE, "line %u: more than %d "
                            "dependencies", it->line, ENV_MAX_LIST);
        deps[n++] = (*word.p == '#'
            ? arena_printf(&p->c->kept, "#" U64, of - 1)
            : arena_str(&p->c->kept, word)).p;
    }
    if (n < ENV_MAX_LIST)
        deps[n] = NULL;
    return 0;
}

/* Writes item i as create_task wants it: the options of the command, with what
   the item has itself instead. */
static int
write_item(struct plan *p, unsigned i, const union cli_value *given)
{
    const struct item *it = &p->item[i];
    const char *prefix = given[F_TASK_ID].text;
    struct cli *c = p->c;
    struct str text;
    int rc = put_after(p, it, given[F_DEPENDS_ON].list);

    if (rc != 0)
        return rc;
    if (prefix != NULL)
        c->arg[F_TASK_ID].text = arena_printf(&c->a, "%s-%u", prefix, i + 1).p;
    c->arg[F_PARENT_ID].text = it->parent == NULL
        ? given[F_PARENT_ID].text
        : arena_printf(&c->a, "#%u", (unsigned)(it->parent - p->item)).p;
    c->arg[F_GOAL].text = given[F_GOAL].text;
    if (it->goal.len > 0)
        c->arg[F_GOAL].text = arena_str(&c->a, buf_view(&it->goal)).p;
    cli_args_begin(c, NULL, NULL);
    json_put_str(&c->tool.w, "title", it->title);
    if (it->done)
        json_put_z(&c->tool.w, "status", "done");
    text = cli_args_end(c);
    buf_printf(&p->b, "%s%.*s", i > 0 ? "," : "", STR_ARG(text));
    return text.p != NULL ? p->b.err : ERR_NOMEM;
}

/* Prints why the call was refused: "tasks[3]: TEXT" is of a line. */
static int
refuse_plan(const struct plan *p, struct task_error *e)
{
    struct str rest = e->message;
    struct cli *c = p->c;
    uint64_t i;

    str_cut(&rest, '[');
    if (str_starts(e->message, "tasks[") &&
        str_u64(str_cut(&rest, ']'), &i) && i < p->n)
        e->message = arena_printf(&c->a, "line %u%.*s", p->item[i].line,
                                  STR_ARG(rest));
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
    for (unsigned i = 0; rc == 0 && !c->json && i < p->n; i++) {
        id = raw_list_next(raw_member(answer, "task_ids"), id);
        buf_printf(&c->out, "%*s%.*s  %.*s%s\n", (int)p->item[i].depth * 2, "",
                   STR_ARG(raw_inner(id)), STR_ARG(p->item[i].title),
                   p->item[i].done ? " (done)" : "");
    }
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
        rc = write_item(p, i, given);
    rc = rc == 0 ? send_plan(p) : rc;
    for (unsigned i = 0; i < p->n; i++)
        buf_fini(&p->item[i].goal);
    buf_fini(&p->b);
    return rc < 0 ? cli_fail_store(c, rc) : rc;
}
