/* help - the text of --help, which the build packs from cli/help.txt into the
   binary; and scripts with which shells complete commands, options and task
   ids.

   In help.txt a line "@NAME" begins the help on a command, "@" alone that on
   the program. Its list says in a line of each command what it does, for fish
   too. The names and the operands come from the table in cli/cli.c; a test
   checks that the list has them all.

   bash and zsh share a function that prints the words that may follow a
   command; fish has a line for each word. No id holds a character that is
   special to a shell. */

#include "cli/help.h"
#include "cli/config.h"
#include "cli/id.h"
#include "cli/text.h"
#include "base/gunzip.h"
#include "base/text.h"

#include <stdlib.h>
#include <string.h>

static const uint8_t packed[] = {
#include "help.inc"
};

/* Appends what is in all between from and to, or its end; nothing if from
   is not there. */
static void
put_part(struct buf *b, const char *all, const char *from, const char *to)
{
    const char *at = strstr(all, from), *end;

    if (at == NULL)
        return;
    at += strlen(from);
    end = strstr(at, to);
    buf_put(b, at, end != NULL ? (size_t)(end - at) : strlen(at));
}

static int
unpack(struct str *all)
{
    struct str text = {(const char *)packed, sizeof(packed)};

    return gunzip(text, all) == 0
               ? CLI_OK : cli_fail(NULL, ERR_NOMEM, "out of memory");
}

int
cli_help(struct buf *b, const struct cli_command *cmd)
{
    char section[32] = "\n@\n";
    struct str all;
    int rc = unpack(&all);

    if (rc != CLI_OK)
        return rc;
    if (cmd != NULL) {
        buf_printf(b, "usage: mcptask %s%s%s\n", cmd->name,
                   cmd->args[0] ? " " : "", cmd->args);
        text_put(section, sizeof(section), "\n@%s\n", cmd->name);
    }
    put_part(b, all.p, section, "@");
    if (cmd != NULL && strcmp(cmd->name, "help") != 0)
        buf_z(b, "      --json  for programs\n");
    free((char *)all.p);
    return CLI_OK;
}

/* ---- completion ---- */

#define FISH "complete -c mcptask "
#define IDS "mcptask list --all --ids --limit 200 2>/dev/null"

static void
put_names(struct buf *b, const struct cli_command *k)
{
    for (; k->name != NULL; k++)
        buf_printf(b, " %s", k->name);
}

/* Appends the operands of a command that are known beforehand. */
static void
put_operands(struct cli *c, const struct cli_command *k)
{
    struct buf *b = &c->out;

    if (k->run == cli_completion)
        buf_z(b, " bash zsh fish");
    else if (k->run == cli_config || k->run == cli_setup)
        cli_put_clients(b);
    else if (strcmp(k->name, "help") == 0)
        put_names(b, c->commands);
}

/* ---- bash, zsh ---- */

static void
put_options(struct buf *b, const struct env_opt *o, size_t n)
{
    for (; n > 0; n--, o++)
        buf_printf(b, " --%s", o->name);
}

static void
put_sh(struct cli *c, const char *before, const char *found, const char *end)
{
    struct buf *b = &c->out;

    buf_z(b, "_mcptask_words() {\n    case $1 in\n");
    for (const struct cli_command *k = c->commands; k->name != NULL; k++) {
        buf_printf(b, "    %s) echo --json --help", k->name);
        put_options(b, k->opts, k->n_opts);
        put_operands(c, k);
        buf_z(b, cli_takes_id(k) ? "; " IDS ";;\n" : ";;\n");
    }
    buf_z(b, "    *) echo");
    put_options(b, c->env->opts, c->env->n_opts);
    put_options(b, c->env->http_opts, c->env->n_http_opts);
    put_names(b, c->commands);
    buf_printf(b, ";;\n    esac\n}\n_mcptask() {\n    local w cmd=\n"
               "    for w in %s; do\n        case \"", before);
    put_names(b, c->commands);
    buf_printf(b, " \" in *\" $w \"*) cmd=$w; break;; esac\n    done\n"
               "    %s\n}\n%s _mcptask mcptask\n", found, end);
}

/* ---- fish ---- */

static void
put_fish_options(struct buf *b, const char *when, const struct env_opt *o,
                 size_t n)
{
    for (; n > 0; n--, o++) {
        buf_printf(b, FISH "-n '%s' -l %s", when, o->name);
        if (o->letter != 0)
            buf_printf(b, " -s %c", o->letter);
        buf_z(b, o->kind <= OPT_MAY ? "\n" : " -r\n");
    }
}

static void
put_fish(struct cli *c, const char *all)
{
    struct buf *b = &c->out;
    char when[64] = "__fish_use_subcommand", row[32];

    put_fish_options(b, when, c->env->opts, c->env->n_opts);
    put_fish_options(b, when, c->env->http_opts, c->env->n_http_opts);
    for (const struct cli_command *k = c->commands; k->name != NULL; k++) {
        buf_printf(b, FISH "-n __fish_use_subcommand -f -a %s -d '", k->name);
        text_put(row, sizeof(row), "\n  %-11s ", k->name);
        put_part(b, all, row, "\n");
        buf_z(b, "'\n");
        text_put(when, sizeof(when), "__fish_seen_subcommand_from %s", k->name);
        put_fish_options(b, when, k->opts, k->n_opts);
        buf_printf(b, FISH "-n '%s' -l json\n" FISH "-n '%s' -a '", when, when);
        put_operands(c, k);
        buf_z(b, cli_takes_id(k) ? "(" IDS ")'\n" : "'\n");
    }
}

int
cli_completion(struct cli *c)
{
    const char *shell = c->operand[0];
    struct str all;
    int rc = unpack(&all);

    if (rc != CLI_OK)
        return rc;
    if (strcmp(shell, "fish") == 0)
        put_fish(c, all.p);
    else if (strcmp(shell, "bash") == 0)
        put_sh(c, "\"${COMP_WORDS[@]:1:COMP_CWORD-1}\"",
               "COMPREPLY=($(compgen -W \"$(_mcptask_words \"$cmd\")\" -- "
               "\"${COMP_WORDS[COMP_CWORD]}\"))",
               "complete -o default -F");
    else if (strcmp(shell, "zsh") == 0)
        put_sh(c, "${words[2,CURRENT-1]}",
               "compadd -- $(_mcptask_words \"$cmd\") || _files", "compdef");
    else
        rc = cli_misuse(c, "no such shell: %s", shell);
    free((char *)all.p);
    return rc;
}
