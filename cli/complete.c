/* complete - scripts with which bash, zsh and fish complete commands, options,
   their values, and operands. All is made from the table of commands.

   What can stand in a place follows from the name that the table gives to it:
   ID, AGENT, TAG and ANSWER are those of the store, which the script asks this
   program for when they are wanted, a CLIENT is a row of cli/config.c, and FILE
   and DIR are left to the shell. A choice such as core|all is spelled out, and
   so is the value of an option for an argument of which the tools know all
   values.

   1. Scripts pass words on as one line each, "WORD" or "WORD<tab>TEXT", and no
      shell expands them: an answer may hold any character. */

#include "cli/complete.h"
#include "cli/args.h"
#include "cli/call.h"
#include "cli/config.h"
#include "cli/help.h"
#include "cli/human.h"
#include "cli/id.h"
#include "cli/show.h"
#include "cli/store.h"
#include "cli/text.h"
#include "task/parts.h"

#include <string.h>

#define WORDS_MAX 200 /* words of the store */

/* The source of words that may stand where help says name; NULL: none. */
static const char *
name_source(struct str name)
{
    if (str_is(name, "ID"))
        return "ids";
    if (str_is(name, "AGENT"))
        return "agents";
    if (str_is(name, "ANSWER"))
        return "answers";
    return str_is(name, "TAG") ? "tags" : NULL;
}

/* ---- words of the store ---- */

struct wanted_words {
    struct cli *c;
    struct str found[WORDS_MAX]; /* in c->kept */
    int n;
    bool agents, tags; /* else ids, with titles */
};

/* Appends a word on a line, unless it was there or is not one. */
static void
put_word(struct wanted_words *w, struct str raw)
{
    struct cli *c = w->c;
    struct str word = raw_text(&c->a, raw);

    if (word.len == 0 || w->n == WORDS_MAX ||
        memchr(word.p, '\n', word.len) != NULL)
        return;
    for (int i = 0; i < w->n; i++)
        if (str_eq(w->found[i], word))
            return;
    word = arena_str(&c->kept, word);
    if (word.p == NULL)
        return;
    w->found[w->n++] = word;
    buf_printf(&c->out, "%.*s\n", STR_ARG(word));
}

static bool
put_words_of(void *ctx, const struct task *k)
{
    struct wanted_words *w = ctx;
    struct str tag = STR_NONE, title, rest;

    if (w->agents) {
        put_word(w, k->f[F_CURRENT_OWNER]);
        put_word(w, raw_member(k->f[F_HANDOFF], "to_agent"));
    } else if (w->tags) {
        while ((tag = raw_list_next(k->f[F_TAGS], tag)).p != NULL)
            put_word(w, tag);
    } else {
        rest = raw_text(&w->c->a, k->f[F_TITLE]);
        title = str_cut(&rest, '\n');
        buf_printf(&w->c->out, "%.*s\t%.*s\n", STR_ARG(k->ev.id),
                   STR_ARG(title));
        w->n++;
    }
    return w->n < WORDS_MAX;
}

/* Appends what the open question of the task may be answered with. */
static void
put_answers(struct cli *c, const char *id)
{
    struct wanted_words w = {.c = c};
    struct str answers, answer = STR_NONE;
    struct task k;

    if (cli_task(c, id, &k) != 0)
        return;
    answers = human_answers(human_open_question(&k, STR_NONE));
    while ((answer = raw_list_next(answers, answer)).p != NULL)
        put_word(&w, answer);
}

/* Prints the words that a script asks for. Returns whether there is such a
   source; what cannot be read has no words. */
static bool
complete_words(struct cli *c, const char *source, const char *id)
{
    struct wanted_words w = {.c = c, .agents = strcmp(source, "agents") == 0,
                             .tags = strcmp(source, "tags") == 0};
    struct task_query q = {.include_done = true, .uncounted = true,
                           .limit = TASK_LIST_MAX};
    bool answers = strcmp(source, "answers") == 0;
    char why[256];

    if (!w.agents && !w.tags && !answers && strcmp(source, "ids") != 0)
        return false;
    if (c->env->server == NULL &&
        cli_open_store(c->env, true, &c->s, why) != 0)
        return true;
    if (answers && id != NULL)
        put_answers(c, id);
    else if (!answers)
        cli_each_task(c, &q, put_words_of, &w);
    return true;
}

/* ---- words of the table ---- */

static bool
is_file(struct str name)
{
    return str_is(name, "FILE") || str_is(name, "DIR") ||
           str_is(name, "FOLDER");
}

/* Appends a word, as an argument in quotes of a shell. */
static void
put_sh_word(struct buf *b, const char *word, const char *text)
{
    buf_printf(b, " '%s", word);
    if (text != NULL)
        buf_char(b, '\t');
    for (; text != NULL && *text != '\0'; text++)
        if (*text == '\'')
            buf_z(b, "'\\''");
        else
            buf_char(b, *text);
    buf_char(b, '\'');
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
        for (const struct cli_command *k = c->commands; k->name != NULL; k++)
            buf_printf(b, " %s", k->name);
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
        buf_z(b, source != NULL ? ") _mcptask_ask " : ") _mcptask_say");
        if (source != NULL)
            buf_z(b, source);
        else
            put_fixed_value(c, o);
        buf_z(b, ";;\n");
    }
}

static void
put_sh_options(struct buf *b, const struct env_opt *o, size_t n)
{
    char name[40];

    for (; n > 0; n--, o++) {
        text_put(name, sizeof(name), "--%s", o->name);
        put_sh_word(b, name, o->help);
    }
}

/* Appends a branch that prints what may follow a command. An answer depends on
   the task, which is then known. */
static void
put_sh_command(struct cli *c, const struct cli_command *k)
{
    struct str rest = str_of(k->operands);
    const char *source;
    struct buf *b = &c->out;

    buf_printf(b, "    '%s '*) _mcptask_say", k->name);
    while (rest.p != NULL)
        put_fixed(c, next_operand(&rest));
    put_sh_options(b, k->opts, k->n_opts);
    put_sh_word(b, "--json", cli_json_opt.help);
    put_sh_word(b, "--help", "show help");
    rest = str_of(k->operands);
    while (rest.p != NULL) {
        bool one = !str_starts(rest, "ID...") && !str_starts(rest, "[ID...");

        source = name_source(next_operand(&rest));
        if (source != NULL)
            buf_printf(b, "; %s_mcptask_ask %s \"$3\"",
                       one && strcmp(source, "ids") == 0 ? "[ -n \"$3\" ] || "
                                                         : "", source);
    }
    buf_z(b, ";;\n");
}

/* _mcptask_words COMMAND PREVIOUS ID prints what may stand after a word. */
static void
put_sh(struct cli *c)
{
    const struct cli_env *e = c->env;
    struct buf *b = &c->out;

    buf_z(b, "_mcptask_say() {\n    printf '%s\\n' \"$@\"\n}\n"
             "_mcptask_ask() {\n    mcptask completion \"$@\" 2>/dev/null\n}\n"
             "_mcptask_words() {\n    case \"$1 $2\" in\n");
    put_sh_values(c, "", e->opts, e->n_opts);
    put_sh_values(c, "", e->http_opts, e->n_http_opts);
    for (const struct cli_command *k = c->commands; k->name != NULL; k++)
        put_sh_values(c, k->name, k->opts, k->n_opts);
    for (const struct cli_command *k = c->commands; k->name != NULL; k++)
        put_sh_command(c, k);
    buf_z(b, "    *) _mcptask_say");
    for (const struct cli_command *k = c->commands; k->name != NULL; k++)
        put_sh_word(b, k->name, k->summary);
    put_sh_options(b, e->opts, e->n_opts);
    put_sh_options(b, e->http_opts, e->n_http_opts);
    buf_z(b, ";;\n    esac\n}\n");
}

/* Appends what sets cmd to the first of these words that is a command, and id
   to the operand after it. */
static void
put_sh_find(struct cli *c, const char *words)
{
    struct buf *b = &c->out;

    buf_printf(b, "_mcptask() {\n    local w d cmd= id=\n    for w in %s; do\n"
               "        if [ -n \"$cmd\" ]; then\n"
               "            case $d$w in -*) ;; *) id=${id:-$w};; esac\n"
               "            d=${w%%%%[!-]*}\n            continue\n        fi\n"
               "        case \"", words);
    for (const struct cli_command *k = c->commands; k->name != NULL; k++)
        buf_printf(b, " %s", k->name);
    buf_z(b, " \" in *\" $w \"*) cmd=$w;; esac\n    done\n");
}

/* bash gets each word with escapes, unless a quote begins it: then only those
   that mean the same between such quotes, since agents store these words. */
static void
put_bash(struct cli *c)
{
    put_sh(c);
    put_sh_find(c, "\"${COMP_WORDS[@]:1:COMP_CWORD-1}\"");
    buf_z(&c->out,
          "    local cur=${COMP_WORDS[COMP_CWORD]} q\n    COMPREPLY=()\n"
          "    while IFS=$'\\t' read -r w d; do\n"
          "        case $cur in\n"
          "        [\\\"\\']*) case ${cur:0:1}$w in\n"
          "                \\\"*[\\\"\\$\\`\\\\!]*|\\'*\\'*) continue;;\n"
          "            esac\n"
          "            q=$w; d=${cur:1};;\n"
          "        *) printf -v q %q \"$w\"; d=$cur;;\n"
          "        esac\n"
          "        [[ -n $w && $q == \"$d\"* ]] && COMPREPLY+=(\"$q\")\n"
          "    done < <(_mcptask_words \"$cmd\" "
          "\"${COMP_WORDS[COMP_CWORD-1]}\" \"$id\")\n"
          "}\ncomplete -o default -F _mcptask mcptask\n");
}

static void
put_zsh(struct cli *c)
{
    put_sh(c);
    put_sh_find(c, "${words[2,CURRENT-1]}");
    buf_z(&c->out,
          "    local -a names shown\n"
          "    while IFS=$'\\t' read -r w d; do\n"
          "        [[ -n $w ]] || continue\n"
          "        names+=(\"$w\")\n"
          "        shown+=(\"$w${d:+  -- $d}\")\n"
          "    done < <(_mcptask_words \"$cmd\" \"${words[CURRENT-1]}\" "
          "\"$id\")\n"
          "    compadd -l -d shown -a names || _files\n"
          "}\ncompdef _mcptask mcptask\n");
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
                buf_printf(b, "(_mcptask_ask %s)",
                           name_source(str_of(o->value)));
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
            buf_printf(b, " (_mcptask_ask %s (commandline -opc)[3])",
                       name_source(name));
    }
    buf_z(b, "'\n");
}

static void
put_fish(struct cli *c)
{
    static const char first[] = "__fish_use_subcommand";
    struct buf *b = &c->out;
    char when[64];

    buf_z(b, "function _mcptask_ask\n    mcptask completion $argv 2>/dev/null\n"
             "end\n");
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

    if (complete_words(c, shell, c->operand[1]))
        return CLI_OK;
    if (c->n_operands > 1)
        return cli_misuse(c, "unexpected argument \"%s\"", c->operand[1]);
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
