#ifndef CLI_RUNS_H
#define CLI_RUNS_H

/* runs - the file runs/ID, which a command has that mcptask run started. It is
   locked as long as a process of the command or its supervisor lives, and says
   what is to be reported if they are gone. */

#include "cli/command.h"

#include <sys/types.h>

#define RUNS_KEY_LEN 32

struct runs_file {
    int fd;           /* of the locked file; -1: not open */
    const char *path;
    const char *agent, *command; /* who holds the task; words, safe to store */
    bool own;         /* the task ends with the command */
    struct str asked; /* when its end was asked for before it began */
    char key[RUNS_KEY_LEN + 1]; /* of the report how it ended; or "" */
    bool began;       /* the command did */
    pid_t pid, supervisor; /* for people: nobody reads them back */
};

/* The path of task id's file, in c->kept. NULL: out of memory. */
const char *runs_path(struct cli *c, const char *id);
/* Opens or creates the file of task id and locks it; wait: for whoever has it.
   Returns 0, or an exit code after printing the error: CLI_CONFLICT if a
   command runs, which is printed only if told. */
int runs_lock(struct cli *c, const char *id, struct runs_file *f, bool wait,
              bool told);
/* Writes into the file what the command is, whether it has begun, and who runs
   it, and syncs it: what is claimed or started after that is not lost with the
   power. The length stays the same, so that only the first time needs room.
   Returns 0, or an exit code after printing the error. */
int runs_write(struct cli *c, struct runs_file *f);
/* Reads it back, all but the numbers of processes: in a group's store others
   can replace the file. In c->kept. False: it ends too early to have led to a
   claim. */
bool runs_read(struct cli *c, struct runs_file *f);

#endif
