#ifndef CLI_DOCTOR_H
#define CLI_DOCTOR_H

/* doctor - the command that says what is wrong. */

#include "cli/command.h"

int cli_doctor(struct cli *c, int argc, char **argv);

#endif
