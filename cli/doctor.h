#ifndef CLI_DOCTOR_H
#define CLI_DOCTOR_H

/* doctor - the commands that check whether the store can be used. */

#include "cli/command.h"

int cli_health(struct cli *c);
int cli_doctor(struct cli *c);

#endif
