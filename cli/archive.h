#ifndef CLI_ARCHIVE_H
#define CLI_ARCHIVE_H

/* archive - the command that moves ended tasks out of the log. */

#include "cli/command.h"

int admin_archive(struct cli *c, int argc, char **argv);

#endif
