#ifndef BASE_ENV_H
#define BASE_ENV_H

/* env - where the store is and what was asked for at start: the environment,
   the options that stand before a command, and how any option is read. Makes
   and opens nothing. */

#include "base/base.h"

struct cli_env {
    char *base_dir;      /* absolute, as the two below; never NULL */
    char *log_path;      /* MCP_TASK_DB_PATH, or <base_dir>/tasks.log */
    char *artifacts_dir; /* MCP_TASK_ARTIFACTS_DIR, or <base_dir>/artifacts */
    char *artifact_root; /* --artifact-root, absolute; NULL: none */
    uint64_t compact_at, closed_mib; /* --compact-at, --closed-max */
    uint64_t calls_own, calls_max; /* --calls-own, --calls-max */
    const struct env_opt *opts, *http_opts; /* all before a command */
    bool core;                 /* --tools core */
    bool read_only;            /* --read-only */
    bool require_evidence;     /* --require-evidence */
    bool structured;           /* --structured */
    bool ownership_warn;       /* --ownership warn */
    bool debug;                /* MCP_DEBUG: log to stderr */
};

/* Fills in the paths of *e, and debug, from the environment.
   A relative MCP_TASK_* path is taken from the working directory, a relative
   XDG_STATE_HOME or HOME is ignored. 0; ERR_INVALID or ERR_NOMEM, and *why
   names the variable. The caller owns *e and ends it with env_fini. */
int env_resolve(struct cli_env *e, char why[256]);
/* path made absolute against the working directory; heap, or NULL. */
char *env_absolute(const char *path);
void env_fini(struct cli_env *e);

/* The value of a variable, NULL where it is not set or empty. */
const char *env_get(const char *name);

/* An option, and where its value goes in the struct that is filled. A table
   of them ends with one without a name. */
struct env_opt {
    const char *name; /* without its dashes */
    char letter;      /* short form, or 0 */
    uint8_t kind;     /* of the value: */
    uint16_t at;      /* offsetof its member */
    uint32_t max;     /* of a number; 0: any that an int64_t can hold */
};
enum { OPT_FLAG /* bool */, OPT_TEXT /* const char * */,
       OPT_LIST /* const char *[ENV_MAX_LIST]: the first that is NULL */,
       OPT_NUMBER /* uint64_t */, OPT_COUNT /* the same, 1 or more */ };
#define ENV_MAX_LIST 16

/* Takes the option argv[0] into *to, with its value, which "=" joins to it
   or which is argv[1]: how many words that were. 0: opts has no such option;
   ERR_INVALID: its value is wrong; both with *why saying so. */
int env_option(const struct env_opt *opts, void *to, char **argv,
               char why[256]);

#endif
