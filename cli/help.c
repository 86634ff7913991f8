/* help - what --help prints: cli/help.txt, packed into the binary by the build.

   In that file a line "@NAME" begins what belongs to a command; "@" alone is
   what stands before the list of commands, "@environment" what stands behind
   it. Names, operands and the list itself come from the table in cli/cli.c, so
   that no command is without them. */

#include "cli/help.h"
#include "cli/text.h"
#include "base/gunzip.h"
#include "base/text.h"

#include <stdlib.h>
#include <string.h>

static const uint8_t packed[] = {
#include "help.inc"
};

/* Appends what all has of this name; nothing, if it has nothing. */
static void
put_section(struct buf *b, const char *all, const char *name)
{
    char begin[32];
    const char *from, *to;

    text_put(begin, sizeof(begin), "\n@%s\n", name);
    from = text_find(all, begin);
    if (from == NULL)
        return;
    from += strlen(begin);
    to = text_find(from, "\n@");
    to = to != NULL ? to + 1 : from + strlen(from);
    buf_put(b, from, (size_t)(to - from));
}

static void
put_all(struct buf *b, const char *all, const struct cli_command *k)
{
    put_section(b, all, "");
    for (; k->name != NULL; k++)
        buf_printf(b, "  %-11s %s\n", k->name, k->about);
    put_section(b, all, "environment");
}

int
cli_help(struct buf *b, const struct cli_command *commands,
         const struct cli_command *cmd)
{
    struct str packed_text = {(const char *)packed, sizeof(packed)}, all;

    if (gunzip(packed_text, &all) != 0)
        return cli_fail(NULL, ERR_NOMEM, "out of memory");
    if (cmd == NULL) {
        put_all(b, all.p, commands);
    } else {
        buf_printf(b, "usage: mcptask %s%s%s\n", cmd->name,
                   cmd->args[0] ? " " : "", cmd->args);
        put_section(b, all.p, cmd->name);
        if (strcmp(cmd->name, "help") != 0)
            buf_z(b, "      --json  for programs\n");
    }
    free((char *)all.p);
    return CLI_OK;
}
