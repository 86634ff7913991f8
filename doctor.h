#ifndef DOCTOR_H
#define DOCTOR_H

/* doctor - the command that says what is wrong. */

#include "cli_command.h"

int cli_doctor(struct cli *c, int argc, char **argv);

#endif
