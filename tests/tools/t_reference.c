/* t_reference - docs/tools.md against the program: the tables of arguments are
   those of task/fields.c, and each example has the result that its call has
   now. "t_reference write", which is "make docs", writes the document anew.

   Of a row the program makes the name, the type and "required"; the default and
   the meaning are kept as they were. A call stands in a block of text, from a
   line that begins with the name of a tool to the line before "-> ". The calls
   of the document run in order on one store, a minute apart. */

#include "tests/lib/catalogue.h"
#include "base/err.h"
#include "task/rows.h"

#include <time.h>

#define DOCUMENT "docs/tools.md"
#define COLUMNS 78
#define BASE_S 1795858200 /* 2026-11-28T09:30:00Z */

static char text[256 * 1024]; /* the document as it is */
static struct buf made;       /* and as it ought to be */
static struct fixture store;
static unsigned n_calls;
static uint32_t n_tables; /* a bit for each tool */

static bool
line_begins(struct str line, const char *with)
{
    size_t n = strlen(with);

    return line.len >= n && memcmp(line.p, with, n) == 0;
}

/* The next line of the document without its end; .p NULL: there is none. */
static struct str
next_line(const char **at)
{
    const char *end = strchr(*at, '\n');
    struct str line = {*at, end ? (size_t)(end - *at) : 0};

    if (!end)
        return STR_NONE;
    *at = end + 1;
    return line;
}

static void
put_line(struct str line)
{
    buf_str(&made, line);
    buf_char(&made, '\n');
}

/* ---- tables ---- */

static void
put_size(size_t n)
{
    if (n % 1024 == 0)
        buf_printf(&made, "%zu KiB", n / 1024);
    else
        buf_printf(&made, "%zu bytes", n);
}

static void
put_choices(const struct row *r)
{
    const char *const *name = row_choices[r->sub];

    for (; *name; name++)
        buf_printf(&made, "`%s`%s", *name, name[1] ? ", " : "");
}

static void
put_integer(const struct row *r)
{
    if (r->flags & INT32)
        buf_z(&made, "integer");
    else if (r->max)
        buf_printf(&made, "integer, %d to %u", r->min, r->max);
    else
        buf_printf(&made, "integer, at least %d", r->min);
}

/* Its type and its limit, as a caller sees them. */
static void
put_type(const struct row *r)
{
    if (r->items)
        buf_printf(&made, "list of up to %u: ", r->items);
    switch (r->type) {
    case T_TEXT:
        buf_z(&made, "text, up to ");
        if (r->flags & CHARS)
            buf_printf(&made, "%u characters", r->max);
        else
            put_size(r->max);
        break;
    case T_ID:
        buf_z(&made, "id");
        break;
    case T_NAME:
        put_choices(r);
        break;
    case T_TIME:
        buf_z(&made, "time");
        break;
    case T_WHEN:
        buf_z(&made, "time or `seq`");
        break;
    case T_INT:
        put_integer(r);
        break;
    case T_COUNT:
        buf_z(&made, "integer, at least 0, or a truth value");
        break;
    case T_BOOL:
        buf_z(&made, "`true` or `false`");
        break;
    case T_OBJECT:
        buf_printf(&made, "[object](#%s)", r->name);
        break;
    case T_CONTENT:
        buf_z(&made, "text");
        break;
    case T_TASKS:
        buf_z(&made, "object with the arguments of one task");
        break;
    default:
        CHECK(false);
    }
}

/* The cell of a row of the document after the one of that number, from 0. */
static struct str
cell_after(struct str row, unsigned number)
{
    struct str cell = STR_NONE;
    size_t from = 0;

    for (size_t i = 1; i < row.len; i++) {
        if (row.p[i] != '|')
            continue;
        cell = (struct str){row.p + from + 2, i - from - 3};
        from = i;
        if (number-- == 0)
            return cell;
    }
    return STR_NONE;
}

/* The row of the old table for a name; .p NULL: it has none. */
static struct str
old_row(const char *table, const char *name)
{
    char begin[80];
    struct str line;

    snprintf(begin, sizeof begin, "| `%s` |", name);
    while ((line = next_line(&table)).p && line_begins(line, "|"))
        if (line_begins(line, begin))
            return line;
    return STR_NONE;
}

static void
put_row(const struct row *r, unsigned tools, const char *table)
{
    struct str old = old_row(table, r->name);
    struct str usual = old.p ? cell_after(old, 2) : STR_NONE;
    struct str meaning = old.p ? cell_after(old, 3) : STR_NONE;

    if (!CHECK(meaning.len > 0))
        fprintf(stderr, "  " DOCUMENT " has no meaning of %s\n", r->name);
    buf_printf(&made, "| `%s` | ", r->name);
    put_type(r);
    if (r->needs & tools)
        usual = STR("required");
    else if (str_is(usual, "required"))
        usual = STR("");
    buf_printf(&made, " | %.*s | %.*s |\n", STR_ARG(usual), STR_ARG(meaning));
}

/* The table of the rows that a tool takes, or of all members of an object if
   tools is 1 and they are not rows of the task. Those that tools/list has first
   stand first here, too. */
static void
put_table(const struct row *r, size_t n, unsigned tools, const char *old)
{
    buf_z(&made, "| argument | type and limit | default | meaning |\n"
                 "|---|---|---|---|\n");
    for (int first = 1; first >= 0; first--)
        for (size_t i = 0; i < n; i++) {
            bool taken = (r != task_rows || r[i].tools & tools) &&
                         r[i].shown != UNSHOWN;
            bool stands_first = r[i].needs & tools || &r[i] ==
                                &task_rows[F_TITLE];

            if (taken && stands_first == (first == 1))
                put_row(&r[i], tools, old);
        }
}

/* The argument of any tool that is an object of that name. */
static const struct row *
object_of(struct str name)
{
    for (size_t i = 0; i < TASK_N_ARGS; i++)
        if (task_rows[i].type == T_OBJECT && str_is(name, task_rows[i].name) &&
            task_rows[i].tools & ((1u << TASK_N_TOOLS) - 1))
            return &task_rows[i];
    return NULL;
}

/* Of the tool or the object that a mark names. */
static void
put_table_of(struct str name, const char *old)
{
    const struct row *r = object_of(name);

    for (unsigned i = 0; i < TASK_N_TOOLS; i++)
        if (str_is(name, tools_name((enum task_tool)i))) {
            n_tables |= 1u << i;
            put_table(task_rows, TASK_N_ARGS, 1u << i, old);
            return;
        }
    if (CHECK(r != NULL))
        put_table(row_objects[r->sub], r->n_sub, 1, old);
    else
        fprintf(stderr, "  no tool or object %.*s\n", STR_ARG(name));
}

/* ---- examples ---- */

/* Times are within the minute of their call: its begin is shown. */
static void
round_times(char *s, size_t n)
{
    for (size_t i = 0; i + 24 <= n; i++)
        if (s[i + 10] == 'T' && s[i + 13] == ':' && s[i + 23] == 'Z')
            memcpy(s + i + 17, "00.000", 6);
}

/* Where a line of JSON ends: after the last comma between two values that fits,
   or a blank if that is far back, or else after the next one. */
static size_t
line_end(struct str s, size_t room)
{
    size_t comma = 0, blank = 0;

    for (size_t i = 1; i < s.len; i++) {
        if (i >= room && s.len > room && (comma || blank))
            return comma < room / 2 && blank ? blank : comma;
        if (s.p[i - 1] == ',' && (s.p[i] == '"' || s.p[i] == '{'))
            comma = i;
        if (s.p[i - 1] == ' ')
            blank = i;
    }
    return s.len;
}

static void
put_result(struct str s)
{
    const char *before = "-> ";

    while (s.len > 0) {
        size_t n = line_end(s, COLUMNS - 3);
        size_t shown = s.p[n - 1] == ' ' ? n - 1 : n;

        buf_printf(&made, "%s%.*s\n", before, (int)shown, s.p);
        s = (struct str){s.p + n, s.len - n};
        before = "   ";
    }
}

/* Makes the clock of the wall show the minute of the next call. The others go
   on: a machine may have been up for less than the time since then. */
static void
set_clock(void)
{
    struct timespec now;

    wall_ahead_s = 0;
    clock_gettime(CLOCK_REALTIME, &now);
    wall_ahead_s = BASE_S + 60 * (int64_t)n_calls - now.tv_sec;
}

static void
run_example(struct str call_text)
{
    size_t n = 0;
    char name[32];

    while (n < call_text.len && call_text.p[n] != ' ')
        n++;
    if (!CHECK(n < call_text.len && n < sizeof name))
        return;
    memcpy(name, call_text.p, n);
    name[n] = '\0';
    set_clock();
    n_calls++;
    arena_reset(&store.a);
    call_raw(&store, name, (struct str){call_text.p + n, call_text.len - n});
    round_times(store.out.p, buf_view(&store.out).len);
    put_result(buf_view(&store.out));
}

/* Whether a block begins with the call of a tool. */
static bool
is_call(struct str line)
{
    for (unsigned i = 0; i < TASK_N_TOOLS; i++)
        if (line_begins(line, tools_name((enum task_tool)i)) &&
            line.p[strlen(tools_name((enum task_tool)i))] == ' ')
            return true;
    return false;
}

/* A block from its first line: the calls as they are, and their results. */
static void
put_block(struct str line, const char **at)
{
    while (line.p && !str_is(line, "```")) {
        const char *begin = line.p;

        if (!CHECK(is_call(line)))
            fprintf(stderr, "  no call: %.*s\n", STR_ARG(line));
        while (line.p && !line_begins(line, "-> ") && !str_is(line, "```")) {
            put_line(line);
            line = next_line(at);
        }
        if (!CHECK(line.p != NULL)) /* the block has an end */
            return;
        run_example((struct str){begin, (size_t)(line.p - begin)});
        while (line.p && (line_begins(line, "-> ") || line_begins(line, "  ")))
            line = next_line(at);
    }
    put_line(line);
}

/* ---- the document ---- */

static void
read_document(void)
{
    FILE *f = fopen(DOCUMENT, "r");

    if (!CHECK(f != NULL))
        exit(1);
    text[fread(text, 1, sizeof text - 1, f)] = '\0';
    fclose(f);
}

static void
make_document(void)
{
    static const char mark[] = "<!-- arguments ";
    const char *at = text;
    struct str line;

    while ((line = next_line(&at)).p) {
        put_line(line);
        if (line_begins(line, mark)) {
            struct str name = {line.p + sizeof mark - 1,
                               line.len - (sizeof mark - 1) - 4};

            put_table_of(name, at);
            while ((line = next_line(&at)).p && line_begins(line, "|"))
                ;
            put_line(line);
        } else if (str_is(line, "```text") &&
                   is_call((struct str){at, strlen(at)})) {
            put_block(next_line(&at), &at);
        }
    }
}

static void
write_document(void)
{
    FILE *f = fopen(DOCUMENT, "w");
    struct str all = buf_view(&made);

    if (!CHECK(f != NULL))
        return;
    CHECK(fwrite(all.p, 1, all.len, f) == all.len);
    CHECK(fclose(f) == 0);
}

/* Says where the two differ first. */
static void
compare(void)
{
    const char *a = text, *b;
    struct str old, new;

    buf_char(&made, '\0');
    b = buf_view(&made).p;
    if (CHECK(strcmp(a, b) == 0))
        return;
    do {
        old = next_line(&a);
        new = next_line(&b);
    } while (old.p && new.p && str_eq(old, new));
    fprintf(stderr, "  " DOCUMENT " is not what the program makes; \"make "
            "docs\" writes it anew\n  it has:  %.*s\n  not:     %.*s\n",
            STR_ARG(old), STR_ARG(new));
}

/* The codes that the sections name are codes of the table of errors. */
static void
check_codes(void)
{
    static const char mark[] = "Errors: ";
    const char *at = text;
    struct str line;

    while ((line = next_line(&at)).p) {
        char *rest, copy[256], *code;

        if (!line_begins(line, mark))
            continue;
        snprintf(copy, sizeof copy, "%.*s", STR_ARG(line));
        for (code = strtok_r(copy, "`", &rest);
             code && (code = strtok_r(NULL, "`", &rest));
             code = strtok_r(NULL, "`", &rest)) {
            bool known = false;

            for (int e = -1; e >= ERR_NOT_YOURS; e--)
                known = known || strcmp(err_name(e), code) == 0;
            if (!CHECK(known))
                fprintf(stderr, "  no error %s\n", code);
        }
    }
}

int
main(int argc, char **argv)
{
    set_clock();
    fixture_init(&store);
    read_document();
    make_document();
    CHECK(n_tables == (1u << TASK_N_TOOLS) - 1);
    CHECK(n_calls >= TASK_N_TOOLS);
    check_codes();
    if (argc > 1 && strcmp(argv[1], "write") == 0)
        write_document();
    else
        compare();
    fixture_fini(&store);
    buf_fini(&made);
    return test_end("reference");
}
