#ifndef CLI_STATS_H
#define CLI_STATS_H

/* stats - the command that shows how the work goes, on one screen. */

#include "cli/command.h"

int cli_stats(struct cli *c);

#endif
