/* help - what is made from the table of commands: --help, and the scripts with
   which bash, zsh and fish complete commands, options, their values, and
   operands.

   Longer text of --help is in cli/help.txt, which the build packs into the
   binary. There a line "@NAME" begins the text on a command or topic, "@" alone
   that above the list of commands, and "@topics" that below it. Usage, summary
   and options come from the table. Help without a topic fits a terminal of 24
   lines.

   What completion puts in a place follows from the name that the table gives to
   it: ID, AGENT, TAG and ANSWER are those of the store, which the script asks
   this program for when they are wanted, a CLIENT is a row of cli/config.c, and
   FILE and DIR are left to the shell. A choice such as core|all is spelled out,
   and so is the value of an option for an argument of which the tools know all
   values.

   1. Scripts pass words on as one line each, "WORD" or "WORD<tab>TEXT", and no
      shell expands them: an answer may hold any character. */

#include "cli/help.h"
#include "cli/args.h"
#include "cli/call.h"
#include "cli/config.h"
#include "cli/human.h"
#include "cli/show.h"
#include "cli/store.h"
#include "cli/text.h"
#include "base/gunzip.h"

#include <stdlib.h>
#include <string.h>

#define WIDTH 79
#define WORDS_MAX 200 /* words of the store that complete one */
#define MAX_LABEL 26 /* an option that is longer has its text below it */

static const uint8_t packed[] = {
#include "help.inc"
};

static const char *const topics[] = {"commands", "options", "http", "store",
                                     "hosts", "environment"};
#define N_TOPICS (sizeof(topics) / sizeof(topics[0]))

static const char *const groups[CLI_GROUPS] = {
    [GROUP_LOOK] = "Look", [GROUP_WORK] = "Work",
    [GROUP_ASK] = "Ask and answer", [GROUP_SETUP] = "Set up",
    [GROUP_STORE] = "Store", [GROUP_HOSTS] = "Several hosts",
};

const struct cli_command *
cli_find_command(const struct cli_command *all, const char *name)
{
    const struct cli_command *k = all;

    while (k->name != NULL && strcmp(k->name, name) != 0)
        k++;
    return k->name != NULL ? k : NULL;
}

/* Words that people type for a command, and what they mean. */
static const char *const meant[][2] = {
    {"assign", "handoff ID --to AGENT"}, {"close", "done ID"},
    {"comment", "message ID TEXT"}, {"create", "add TITLE"},
    {"delete", "cancel ID"}, {"get", "show ID"}, {"log", "history ID"},
    {"ls", "list"}, {"new", "add TITLE"}, {"next", "claim"},
    {"ready", "list --ready"}, {"remove", "cancel ID"}, {"rm", "cancel ID"},
    {"start", "claim ID"}, {"status", "board"}, {"update", "edit ID"},
    {"version", "--version"},
};

int
cli_fail_command(const struct cli *c, const char *name)
{
    size_t least = SIZE_MAX, slips;
    const char *near = NULL;

    for (size_t i = 0; i < sizeof meant / sizeof *meant; i++)
        if (strcmp(name, meant[i][0]) == 0)
            return cli_fail(c, ERR_INVALID, "unknown command \"%s\"\nrun "
                            "\"mcptask %s\"", name, meant[i][1]);
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

/* Appends a label in a column of this width, and beside it text, whose lines
   are broken at the terminal's width. */
static void
put_help_row(struct buf *b, const char *label, size_t width, const char *text)
{
    size_t len = strlen(label), at = width;
    struct str rest = str_of(text), word;

    if (len + 2 > width)
        buf_printf(b, "%s\n%*s", label, (int)width, "");
    else
        buf_printf(b, "%s%*s", label, (int)(width - len), "");
    while (rest.p != NULL) {
        word = str_cut(&rest, ' ');
        if (at > width && at + 1 + word.len > WIDTH) {
            buf_printf(b, "\n%*s", (int)width, "");
            at = width;
        } else if (at > width) {
            buf_char(b, ' ');
            at++;
        }
        buf_str(b, word);
        at += word.len;
    }
    buf_char(b, '\n');
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

/* The commands, a line for each group or, if whole, for each command. */
static void
put_commands(struct buf *b, const struct cli_command *all, bool whole)
{
    char row[32], names[256];
    size_t len;

    for (int group = 0; group < CLI_GROUPS; group++) {
        if (whole)
            buf_printf(b, "%s%s:\n", group == 0 ? "" : "\n", groups[group]);
        len = 0;
        for (const struct cli_command *k = all; k->name != NULL; k++) {
            if ((int)k->group != group)
                continue;
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

/* Appends the help on a command or, if k is NULL, on a topic; topic NULL: all
   commands. Returns the exit code. */
static int
put_help(struct cli *c, const struct cli_command *k, const char *topic)
{
    struct str text = {(const char *)packed, sizeof(packed)}, all;
    size_t width, json_width = label_width(&cli_json_opt, 1);
    struct buf *b = &c->out;

    if (gunzip(text, &all) != 0)
        return cli_fail(c, ERR_NOMEM, "out of memory");
    if (k != NULL) {
        width = label_width(k->opts, k->n_opts);
        width = width > json_width ? width : json_width;
        cli_put_usage(b, k);
        buf_printf(b, "\n%s.\n", k->summary);
        put_help_section(b, all.p, k->name);
        buf_char(b, '\n');
        put_help_options(b, k->opts, k->n_opts, width);
        if (k->run != cli_help)
            put_help_options(b, &cli_json_opt, 1, width);
    } else if (topic == NULL) {
        put_help_section(b, all.p, "");
        put_commands(b, c->commands, false);
        put_help_section(b, all.p, "topics");
    } else {
        put_help_section(b, all.p, topic);
        if (strcmp(topic, "commands") == 0)
            put_commands(b, c->commands, true);
        for (const struct env_topic *t = c->env->topics; t->name != NULL; t++)
            if (strcmp(topic, t->name) == 0)
                put_help_options(b, t->opts, t->n, MAX_LABEL);
    }
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
    size_t i = 0;

    while (name != NULL && i < N_TOPICS && strcmp(topics[i], name) != 0)
        i++;
    if (i < N_TOPICS)
        return put_help(c, NULL, name);
    k = cli_find_command(c->commands, name);
    return k != NULL ? put_help(c, k, NULL) : cli_fail_command(c, name);
}

/* ---- completion: words of the store ---- */

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
    struct str list, answer = STR_NONE;
    struct task k;
    char why[256];

    if (!w.agents && !w.tags && !answers && strcmp(source, "ids") != 0)
        return false;
    if (c->env->server == NULL &&
        cli_open_store(c->env, true, &c->s, why) != 0)
        return true;
    if (!answers) {
        cli_each_task(c, &q, put_words_of, &w);
    } else if (id != NULL && cli_task(c, id, &k) == 0) {
        list = human_answers(human_open_question(&k, STR_NONE));
        while ((answer = raw_list_next(list, answer)).p != NULL)
            put_word(&w, answer);
    }
    return true;
}

/* ---- completion: words of the table ---- */

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
    struct buf *b = &c->out;
    size_t before = b->len;
    struct str word;

    if (str_is(name, "CLIENT"))
        cli_put_clients(b);
    if (str_is(name, "TOPIC")) {
        for (const struct cli_command *k = c->commands; k->name != NULL; k++)
            buf_printf(b, " %s", k->name);
        for (size_t i = 0; i < N_TOPICS; i++)
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
        buf_printf(b, "    '%s --%s'", command, o->name);
        if (o->letter != 0)
            buf_printf(b, "|'%s -%c'", command, o->letter);
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
    struct buf *b = &c->out;

    buf_z(b, "_mcptask_say() {\n    printf '%s\\n' \"$@\"\n}\n"
             "_mcptask_ask() {\n    mcptask completion \"$@\" 2>/dev/null\n}\n"
             "_mcptask_words() {\n    case \"$1 $2\" in\n");
    for (const struct env_topic *t = c->env->topics; t->name != NULL; t++)
        put_sh_values(c, "", t->opts, t->n);
    for (const struct cli_command *k = c->commands; k->name != NULL; k++)
        put_sh_values(c, k->name, k->opts, k->n_opts);
    for (const struct cli_command *k = c->commands; k->name != NULL; k++)
        put_sh_command(c, k);
    buf_z(b, "    *) _mcptask_say");
    for (const struct cli_command *k = c->commands; k->name != NULL; k++)
        put_sh_word(b, k->name, k->summary);
    for (const struct env_topic *t = c->env->topics; t->name != NULL; t++)
        put_sh_options(b, t->opts, t->n);
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
static const char bash_end[] =
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
    "}\ncomplete -o default -F _mcptask mcptask\n";

static const char zsh_end[] =
    "    local -a names shown\n"
    "    while IFS=$'\\t' read -r w d; do\n"
    "        [[ -n $w ]] || continue\n"
    "        names+=(\"$w\")\n"
    "        shown+=(\"$w${d:+  -- $d}\")\n"
    "    done < <(_mcptask_words \"$cmd\" \"${words[CURRENT-1]}\" "
    "\"$id\")\n"
    "    compadd -l -d shown -a names || _files\n"
    "}\ncompdef _mcptask mcptask\n";

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
        if (o->kind > OPT_MAY && (strcmp(o->value, "FILE") == 0 ||
                                  strcmp(o->value, "DIR") == 0)) {
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
put_fish(struct cli *c)
{
    static const char first[] = "__fish_use_subcommand";
    struct buf *b = &c->out;
    struct str rest, name;
    char when[64];

    buf_z(b, "function _mcptask_ask\n    mcptask completion $argv 2>/dev/null\n"
             "end\n");
    for (const struct env_topic *t = c->env->topics; t->name != NULL; t++)
        put_fish_options(c, first, t->opts, t->n);
    for (const struct cli_command *k = c->commands; k->name != NULL; k++) {
        buf_printf(b, FISH "%s -f -a %s", first, k->name);
        put_fish_text(b, k->summary);
        text_put(when, sizeof(when), "__fish_seen_subcommand_from %s",
                 k->name);
        put_fish_options(c, when, k->opts, k->n_opts);
        put_fish_options(c, when, &cli_json_opt, 1);
        buf_printf(b, FISH "'%s' -a '", when);
        rest = str_of(k->operands);
        while (rest.p != NULL) {
            name = next_operand(&rest);
            put_fixed(c, name);
            if (name_source(name) != NULL)
                buf_printf(b, " (_mcptask_ask %s (commandline -opc)[3])",
                           name_source(name));
        }
        buf_z(b, "'\n");
    }
}

int
cli_completion(struct cli *c)
{
    const char *shell = c->operand[0];
    bool bash = strcmp(shell, "bash") == 0;

    if (complete_words(c, shell, c->operand[1]))
        return CLI_OK;
    if (c->n_operands > 1)
        return cli_misuse(c, "unexpected argument \"%s\"", c->operand[1]);
    if (strcmp(shell, "fish") == 0) {
        put_fish(c);
    } else if (bash || strcmp(shell, "zsh") == 0) {
        put_sh(c);
        put_sh_find(c, bash ? "\"${COMP_WORDS[@]:1:COMP_CWORD-1}\""
                            : "${words[2,CURRENT-1]}");
        buf_z(&c->out, bash ? bash_end : zsh_end);
    } else {
        return cli_misuse(c, "unknown shell \"%s\"", shell);
    }
    return CLI_OK;
}
