#ifndef ARCHIVE_H
#define ARCHIVE_H

/* archive - the command that moves ended tasks out of the log. */

#include "cli_command.h"

int admin_archive(struct cli *c, int argc, char **argv);

#endif
