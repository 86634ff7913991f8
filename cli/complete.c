/* complete - scripts with which bash, zsh and fish complete commands, options,
   their values, and operands. All is made from the table of commands.

   What can stand in a place follows from the name that the table gives to it:
   ID, AGENT and TAG are those of the store, which the script asks this program
   for when they are wanted, a CLIENT is a row of cli/config.c, and FILE and DIR
   are left to the shell. A choice such as core|all is spelled out, and so is
   the value of an option for an argument of which the tools know all values.

   1. A word that a shell is given holds no character that is special to it,
      since bash expands such words: names from the store that hold one are
      left out. */

#include "cli/complete.h"
#include "cli/args.h"
#include "cli/config.h"
#include "cli/help.h"
#include "cli/id.h"
#include "cli/text.h"

#include <string.h>

#define PLAIN "[-A-Za-z0-9._:@+/]"
#define LIST "mcptask list --all --limit 200"

/* The functions of each script, but how they begin and end differs. */
static const struct source {
    const char *name, *command;
} sources[] = {
    {"ids", LIST " --ids 2>/dev/null"},
    {"agents", LIST " --json 2>/dev/null |"
               " sed -n 's/.*\"current_owner\":\"\\(" PLAIN "*\\)\".*/\\1/p' |"
               " sort -u"},
    {"tags", LIST " --json 2>/dev/null |"
             " sed -n 's/.*\"tags\":\\[\\([^]]*\\)\\].*/\\1/p' |"
             " tr ',' '\\n' | sed -n 's/^\"\\(" PLAIN "*\\)\"$/\\1/p' |"
             " sort -u"},
};
#define N_SOURCES (sizeof(sources) / sizeof(sources[0]))

/* The source of words that may stand where help says name; NULL: none. */
static const char *
name_source(struct str name)
{
    if (str_is(name, "ID"))
        return "ids";
    if (str_is(name, "AGENT"))
        return "agents";
    return str_is(name, "TAG") ? "tags" : NULL;
}

static bool
is_file(struct str name)
{
    return str_is(name, "FILE") || str_is(name, "DIR") ||
           str_is(name, "FOLDER");
}

static void
put_names(struct buf *b, const struct cli_command *k)
{
    for (; k->name != NULL; k++)
        buf_printf(b, " %s", k->name);
}

/* Appends the words that may stand where help says name, each after a blank,
   as far as they are the same in every store. Returns whether there are any. */
static bool
put_fixed(struct cli *c, struct str name)
{
    static const char *const topics[] = {CLI_TOPICS};
    struct buf *b = &c->out;
    size_t before = b->len;
    struct str word;

    if (str_is(name, "CLIENT"))
        cli_put_clients(b);
    if (str_is(name, "TOPIC")) {
        put_names(b, c->commands);
        for (size_t i = 0; i < sizeof(topics) / sizeof(topics[0]); i++)
            buf_printf(b, " %s", topics[i]);
    }
    if (str_find(name, STR("|")) == SIZE_MAX)
        return b->len > before;
    while (name.p != NULL) {
        word = str_cut(&name, '|');
        if (word.len > 0 && word.p[0] >= 'a' && word.p[0] <= 'z')
            buf_printf(b, " %.*s", STR_ARG(word));
    }
    return b->len > before;
}

/* The same for the value of an option. */
static bool
put_fixed_value(struct cli *c, const struct env_opt *o)
{
    bool statuses = str_starts(str_of(o->value), "STATUS");
    int arg = statuses ? F_STATUS : cli_arg_of(o);
    const char *const *choice = arg < 0 ? NULL : task_arg_choices(arg);

    if (choice == NULL)
        return put_fixed(c, str_of(o->value));
    for (; *choice != NULL; choice++)
        buf_printf(&c->out, " %s", *choice);
    return true;
}

/* Cuts the next operand's name off what the table has, such as ID of "[ID...]
   TEXT". */
static struct str
next_operand(struct str *operands)
{
    struct str word = str_cut(operands, ' ');

    if (str_starts(word, "["))
        word = str_from(word, 1);
    while (word.len > 0 && strchr("].", word.p[word.len - 1]) != NULL)
        word.len--;
    return word;
}

/* ---- bash, zsh ---- */

/* Appends " | PREFIX--NAME | PREFIX-X", the patterns for an option. */
static void
put_pattern(struct buf *b, const char *before, const struct env_opt *o)
{
    buf_printf(b, "    '%s --%s'", before, o->name);
    if (o->letter != 0)
        buf_printf(b, "|'%s -%c'", before, o->letter);
}

/* Appends a branch for each option with a value: it prints the values. */
static void
put_sh_values(struct cli *c, const char *command, const struct env_opt *o,
              size_t n)
{
    struct buf *b = &c->out;

    for (; n > 0; n--, o++) {
        const char *source;

        if (o->kind <= OPT_MAY)
            continue;
        source = name_source(str_of(o->value));
        put_pattern(b, command, o);
        buf_z(b, ") ");
        if (source != NULL)
            buf_printf(b, "_mcptask_%s", source);
        else {
            buf_z(b, "echo");
            put_fixed_value(c, o);
        }
        buf_z(b, ";;\n");
    }
}

static void
put_sh_options(struct buf *b, const struct env_opt *o, size_t n)
{
    for (; n > 0; n--, o++)
        buf_printf(b, " --%s", o->name);
}

/* Appends a branch that prints what may follow a command. */
static void
put_sh_command(struct cli *c, const struct cli_command *k)
{
    struct str rest = str_of(k->operands), name;
    struct buf *b = &c->out;

    buf_printf(b, "    '%s '*) echo --json --help", k->name);
    put_sh_options(b, k->opts, k->n_opts);
    while (rest.p != NULL)
        put_fixed(c, next_operand(&rest));
    rest = str_of(k->operands);
    while (rest.p != NULL) {
        name = next_operand(&rest);
        if (name_source(name) != NULL)
            buf_printf(b, "; _mcptask_%s", name_source(name));
    }
    buf_z(b, ";;\n");
}

/* _mcptask_words COMMAND PREVIOUS prints what may stand after a word. */
static void
put_sh(struct cli *c)
{
    const struct cli_env *e = c->env;
    struct buf *b = &c->out;

    for (size_t i = 0; i < N_SOURCES; i++)
        buf_printf(b, "_mcptask_%s() {\n    %s\n}\n", sources[i].name,
                   sources[i].command);
    buf_z(b, "_mcptask_words() {\n    case \"$1 $2\" in\n");
    put_sh_values(c, "", e->opts, e->n_opts);
    put_sh_values(c, "", e->http_opts, e->n_http_opts);
    for (const struct cli_command *k = c->commands; k->name != NULL; k++)
        put_sh_values(c, k->name, k->opts, k->n_opts);
    for (const struct cli_command *k = c->commands; k->name != NULL; k++)
        put_sh_command(c, k);
    buf_z(b, "    *) echo");
    put_sh_options(b, e->opts, e->n_opts);
    put_sh_options(b, e->http_opts, e->n_http_opts);
    put_names(b, c->commands);
    buf_z(b, ";;\n    esac\n}\n");
}

/* Appends what sets cmd to the first of these words that is a command. */
static void
put_sh_find(struct cli *c, const char *words)
{
    struct buf *b = &c->out;

    buf_printf(b, "_mcptask() {\n    local w cmd=\n    for w in %s; do\n"
               "        case \"", words);
    put_names(b, c->commands);
    buf_z(b, " \" in *\" $w \"*) cmd=$w; break;; esac\n    done\n");
}

static void
put_bash(struct cli *c)
{
    put_sh(c);
    put_sh_find(c, "\"${COMP_WORDS[@]:1:COMP_CWORD-1}\"");
    buf_z(&c->out,
          "    COMPREPLY=($(compgen -W \"$(_mcptask_words \"$cmd\" "
          "\"${COMP_WORDS[COMP_CWORD-1]}\")\" -- "
          "\"${COMP_WORDS[COMP_CWORD]}\"))\n"
          "}\ncomplete -o default -F _mcptask mcptask\n");
}

static void
put_zsh(struct cli *c)
{
    put_sh(c);
    put_sh_find(c, "${words[2,CURRENT-1]}");
    buf_z(&c->out,
          "    compadd -- $(_mcptask_words \"$cmd\" \"${words[CURRENT-1]}\") "
          "|| _files\n}\ncompdef _mcptask mcptask\n");
}

/* ---- fish ---- */

#define FISH "complete -c mcptask -n "

/* Appends text between quotes; fish knows the escape of a quote in them. */
static void
put_fish_text(struct buf *b, const char *text)
{
    buf_z(b, " -d '");
    for (; *text != '\0'; text++) {
        if (*text == '\'' || *text == '\\')
            buf_char(b, '\\');
        buf_char(b, *text);
    }
    buf_z(b, "'\n");
}

static void
put_fish_options(struct cli *c, const char *when, const struct env_opt *o,
                 size_t n)
{
    struct buf *b = &c->out;

    for (; n > 0; n--, o++) {
        buf_printf(b, FISH "'%s' -l %s", when, o->name);
        if (o->letter != 0)
            buf_printf(b, " -s %c", o->letter);
        if (o->kind > OPT_MAY && is_file(str_of(o->value))) {
            buf_z(b, " -r");
        } else if (o->kind > OPT_MAY) {
            buf_z(b, " -x -a '");
            if (name_source(str_of(o->value)) != NULL)
                buf_printf(b, "(_mcptask_%s)", name_source(str_of(o->value)));
            else
                put_fixed_value(c, o);
            buf_z(b, "'");
        }
        put_fish_text(b, o->help);
    }
}

static void
put_fish_operands(struct cli *c, const char *when, const char *operands)
{
    struct str rest = str_of(operands), name;
    struct buf *b = &c->out;

    buf_printf(b, FISH "'%s' -a '", when);
    while (rest.p != NULL) {
        name = next_operand(&rest);
        put_fixed(c, name);
        if (name_source(name) != NULL)
            buf_printf(b, " (_mcptask_%s)", name_source(name));
    }
    buf_z(b, "'\n");
}

static void
put_fish(struct cli *c)
{
    static const char first[] = "__fish_use_subcommand";
    struct buf *b = &c->out;
    char when[64];

    for (size_t i = 0; i < N_SOURCES; i++)
        buf_printf(b, "function _mcptask_%s\n    %s\nend\n", sources[i].name,
                   sources[i].command);
    put_fish_options(c, first, c->env->opts, c->env->n_opts);
    put_fish_options(c, first, c->env->http_opts, c->env->n_http_opts);
    for (const struct cli_command *k = c->commands; k->name != NULL; k++) {
        buf_printf(b, FISH "%s -f -a %s", first, k->name);
        put_fish_text(b, k->summary);
        text_put(when, sizeof(when), "__fish_seen_subcommand_from %s",
                 k->name);
        put_fish_options(c, when, k->opts, k->n_opts);
        put_fish_options(c, when, &cli_json_opt, 1);
        put_fish_operands(c, when, k->operands);
    }
}

int
cli_completion(struct cli *c)
{
    const char *shell = c->operand[0];

    if (strcmp(shell, "fish") == 0)
        put_fish(c);
    else if (strcmp(shell, "bash") == 0)
        put_bash(c);
    else if (strcmp(shell, "zsh") == 0)
        put_zsh(c);
    else
        return cli_misuse(c, "unknown shell \"%s\"", shell);
    return CLI_OK;
}
