#ifndef ENV_H
#define ENV_H

/* env - where the store is and what was asked for at start: the environment
   and the options that stand before a command. Makes and opens nothing. */

#include "base.h"

struct cli_env {
    char *base_dir;      /* absolute, as the two below; never NULL */
    char *log_path;      /* MCP_TASK_DB_PATH, or <base_dir>/tasks.log */
    char *artifacts_dir; /* MCP_TASK_ARTIFACTS_DIR, or <base_dir>/artifacts */
    char *artifact_root; /* --artifact-root, absolute; NULL: none */
    int64_t closed_max;        /* --closed-max in bytes; 0: the default */
    bool core;                 /* --tools core */
    bool read_only;            /* --read-only */
    bool require_evidence;     /* --require-evidence */
    bool debug;                /* MCP_DEBUG: log to stderr */
};

/* Fills *e from the environment; the options are left at their defaults.
   A relative MCP_TASK_* path is taken from the working directory, a relative
   XDG_STATE_HOME or HOME is ignored. 0; ERR_INVALID or ERR_NOMEM, and *why
   names the variable. The caller owns *e and ends it with env_fini. */
int env_resolve(struct cli_env *e, char why[256]);
/* path made absolute against the working directory; heap, or NULL. */
char *env_absolute(const char *path);
void env_fini(struct cli_env *e);

#endif
