/* help - --help, made from the table of commands and from cli/help.txt, which
   the build packs into the binary.

   In help.txt a line "@NAME" begins the text on a command or topic, "@" alone
   that above the list of commands, and "@topics" that below it. Usage, summary
   and options come from the table. Help without a topic fits a terminal of 24
   lines. */

#include "cli/help.h"
#include "cli/text.h"
#include "base/gunzip.h"

#include <stdlib.h>
#include <string.h>

#define WIDTH 79
#define MAX_LABEL 26 /* an option that is longer has its text below it */

static const uint8_t packed[] = {
#include "help.inc"
};

static const char *const groups[CLI_GROUPS] = {
    [GROUP_WORK] = "Work", [GROUP_ASK] = "Ask and answer",
    [GROUP_LOOK] = "Look", [GROUP_STORE] = "Store",
    [GROUP_HOSTS] = "Several hosts", [GROUP_SETUP] = "Set up",
};

const struct cli_command *
cli_find_command(const struct cli_command *all, const char *name)
{
    const struct cli_command *k = all;

    while (k->name != NULL && strcmp(k->name, name) != 0)
        k++;
    return k->name != NULL ? k : NULL;
}

int
cli_fail_command(const struct cli *c, const char *name)
{
    size_t least = SIZE_MAX, slips;
    const char *near = NULL;

    for (const struct cli_command *k = c->commands; k->name != NULL; k++) {
        slips = str_slips(str_of(name), k->name);
        if (slips < least) {
            least = slips;
            near = k->name;
        }
    }
    if (near != NULL)
        return cli_fail(c, ERR_INVALID, "unknown command \"%s\"\ndid you mean "
                        "\"%s\"?", name, near);
    return cli_fail(c, ERR_INVALID, "unknown command \"%s\"\nrun \"mcptask "
                    "help\"", name);
}

/* ---- text ---- */

/* Appends words of text to a line that has at bytes, and to lines below that
   begin with indent blanks. */
static void
put_wrapped(struct buf *b, const char *text, size_t at, size_t indent)
{
    struct str rest = str_of(text), word;

    while (rest.p != NULL) {
        word = str_cut(&rest, ' ');
        if (at > indent && at + 1 + word.len > WIDTH) {
            buf_printf(b, "\n%*s", (int)indent, "");
            at = indent;
        } else if (at > indent) {
            buf_char(b, ' ');
            at++;
        }
        buf_str(b, word);
        at += word.len;
    }
    buf_char(b, '\n');
}

/* Appends a label in a column of this width, and text beside it. */
static void
put_help_row(struct buf *b, const char *label, size_t width, const char *text)
{
    size_t len = strlen(label);

    if (len + 2 > width)
        buf_printf(b, "%s\n%*s", label, (int)width, "");
    else
        buf_printf(b, "%s%*s", label, (int)(width - len), "");
    put_wrapped(b, text, width, width);
}

/* "  -a, --agent AGENT" */
static void
write_label(char label[64], const struct env_opt *o)
{
    const char *value = o->value != NULL ? o->value : "";
    char letter[8] = "    ";

    if (o->letter != 0)
        text_put(letter, sizeof(letter), "-%c, ", o->letter);
    if (o->kind == OPT_MAY)
        text_put(label, 64, "  %s--%s[=%s]", letter, o->name, value);
    else
        text_put(label, 64, "  %s--%s%s%s", letter, o->name,
                 o->value != NULL ? " " : "", value);
}

/* The width of the column that holds the labels. */
static size_t
label_width(const struct env_opt *opts, size_t n)
{
    size_t width = 0, len;
    char label[64];

    for (size_t i = 0; i < n; i++) {
        write_label(label, &opts[i]);
        len = strlen(label) + 2;
        if (len > width && len <= MAX_LABEL)
            width = len;
    }
    return width;
}

static void
put_help_options(struct buf *b, const struct env_opt *opts, size_t n,
                 size_t width)
{
    char label[64];

    for (size_t i = 0; i < n; i++) {
        write_label(label, &opts[i]);
        put_help_row(b, label, width, opts[i].help);
    }
}

/* Appends the section name of all that help.txt holds, if it has one. */
static void
put_help_section(struct buf *b, const char *all, const char *name)
{
    const char *at, *end;
    char line[32];

    text_put(line, sizeof(line), "\n@%s\n", name);
    at = strstr(all, line);
    if (at == NULL)
        return;
    at += strlen(line);
    end = strstr(at - 1, "\n@");
    buf_put(b, at, end != NULL ? (size_t)(end + 1 - at) : strlen(at));
}

/* ---- topics ---- */

const struct env_opt cli_json_opt = {
    .name = "json", .kind = OPT_FLAG, .at = offsetof(struct cli, json),
    .help = "print JSON for programs"};

static void
put_command(struct buf *b, const char *all, const struct cli_command *k)
{
    size_t width = label_width(k->opts, k->n_opts);
    size_t json_width = label_width(&cli_json_opt, 1);

    width = width > json_width ? width : json_width;
    cli_put_usage(b, k);
    buf_printf(b, "\n%s.\n", k->summary);
    put_help_section(b, all, k->name);
    buf_char(b, '\n');
    put_help_options(b, k->opts, k->n_opts, width);
    if (k->run != cli_help)
        put_help_options(b, &cli_json_opt, 1, width);
}

/* The commands, a line for each group or, if whole, for each command. */
static void
put_commands(struct buf *b, const struct cli_command *all, bool whole)
{
    const struct cli_command *k = all;
    char row[32], names[256];
    size_t len;

    while (k->name != NULL) {
        enum cli_group group = k->group;

        if (whole)
            buf_printf(b, "%s%s:\n", k == all ? "" : "\n", groups[group]);
        for (len = 0; k->name != NULL && k->group == group; k++) {
            text_put(row, sizeof(row), "  %s", k->name);
            if (whole)
                put_help_row(b, row, 14, k->summary);
            else
                len += text_put(names + len, sizeof(names) - len, "%s%s",
                                len > 0 ? " " : "", k->name);
        }
        text_put(row, sizeof(row), "  %s", groups[group]);
        if (!whole)
            put_help_row(b, row, 18, names);
    }
}

static void
put_topic(struct cli *c, const char *all, const char *topic)
{
    const struct cli_env *e = c->env;
    struct buf *b = &c->out;

    if (topic == NULL) {
        put_help_section(b, all, "");
        put_commands(b, c->commands, false);
        put_help_section(b, all, "topics");
        return;
    }
    put_help_section(b, all, topic);
    if (strcmp(topic, "commands") == 0)
        put_commands(b, c->commands, true);
    else if (strcmp(topic, "options") == 0)
        put_help_options(b, e->opts, e->n_opts, MAX_LABEL);
    else if (strcmp(topic, "http") == 0)
        put_help_options(b, e->http_opts, e->n_http_opts, MAX_LABEL);
}

static bool
is_topic(const char *name)
{
    static const char *const topics[] = {CLI_TOPICS};

    for (size_t i = 0; i < sizeof(topics) / sizeof(topics[0]); i++)
        if (strcmp(topics[i], name) == 0)
            return true;
    return false;
}

/* Appends the help on a command or, if k is NULL, on a topic. Returns the exit
   code. */
static int
put_help(struct cli *c, const struct cli_command *k, const char *topic)
{
    struct str text = {(const char *)packed, sizeof(packed)}, all;

    if (gunzip(text, &all) != 0)
        return cli_fail(c, ERR_NOMEM, "out of memory");
    if (k != NULL)
        put_command(&c->out, all.p, k);
    else
        put_topic(c, all.p, topic);
    free((char *)all.p);
    return CLI_OK;
}

int
cli_help_command(struct cli *c)
{
    return put_help(c, c->cmd, NULL);
}

int
cli_help(struct cli *c)
{
    const char *name = c->operand[0];
    const struct cli_command *k;

    if (name == NULL || is_topic(name))
        return put_help(c, NULL, name);
    k = cli_find_command(c->commands, name);
    return k != NULL ? put_help(c, k, NULL) : cli_fail_command(c, name);
}
