#ifndef BASE_ENV_H
#define BASE_ENV_H

/* env - paths and settings from the environment, the options before a command,
   and parsing of options in general. Changes no file. */

#include "base/base.h"

struct project;
struct remote;

struct cli_env {
    const char *called;  /* argv[0] of main, or NULL */
    const struct remote *remote; /* store/remote.h; NULL: one host */
    const struct project *project; /* task/project.h: of the working directory;
                                      NULL: it says nothing of the callers */
    char *base_dir;      /* absolute, like the next two; never NULL */
    char *log_path;      /* MCP_TASK_DB_PATH, or <base_dir>/tasks.log */
    char *artifacts_dir; /* MCP_TASK_ARTIFACTS_DIR, or <base_dir>/artifacts */
    char *artifact_root; /* --artifact-root, absolute; or NULL */
    /* The token file and the file with etcd's credentials, each if there is
       one, then NULL. No client may read them. */
    const char *secrets[3];
    uint64_t compact_at, closed_mib; /* --compact-at, --closed-max */
    uint64_t calls_own, calls_max; /* --calls-own, --calls-max */
    const char *store; /* --store or MCP_TASK_STORE; NULL: on this host only */
    const char *server; /* of commands: --server or MCP_TASK_SERVER; NULL: they
                           open the store themselves */
    const char *token_file; /* for the server; NULL: no token */
    const struct env_topic *topics; /* all options that may precede a command;
                                       one without a name ends them */
    const char *no_store;      /* why there is no place for a store, and what to
                                  set; NULL: there is one */
    const char *agent;         /* MCP_TASK_AGENT; or NULL */
    bool core;                 /* --tools core */
    bool read_only;            /* --read-only */
    bool require_evidence;     /* --require-evidence, with or without ... */
    bool require_pass;         /* ... =pass */
    bool structured;           /* --structured */
    bool command;              /* a command runs the tools, and no client, whose
                                  user would be that of this process */
    bool ownership_warn;       /* --ownership warn */
    bool insecure;             /* --insecure: the server may be elsewhere */
    bool debug;                /* MCP_DEBUG: log to stderr */
};

/* Fills in the paths and debug of *e from the environment. A relative
   MCP_TASK_* path is based on the working directory; a relative XDG_STATE_HOME
   is ignored. If nothing leads to a directory, the paths are below one that
   does not exist, and no_store is set. 0; or ERR_INVALID or ERR_NOMEM, and *why
   names the variable. The caller frees *e with env_fini. */
int env_resolve(struct cli_env *e, char why[256]);
/* Makes path absolute, based on the working directory. On the heap, or NULL. */
char *env_absolute(const char *path);
void env_fini(struct cli_env *e);
/* Its agent, if that is one: UTF-8 of at most 128 bytes; else NULL. */
const char *env_agent(const struct cli_env *e);
/* The login name in LOGNAME, USER or /etc/passwd, else the user's number. Until
   the next call. */
const char *env_login(void);
/* The agent of a command that names none: e's, else the login name. */
const char *env_person(const struct cli_env *e);

/* This user's home: HOME or, unless that is an absolute path, the home in
   /etc/passwd, since gateways and units strip HOME. NULL: none. Until the next
   call. */
const char *env_home(void);
/* The value of a variable; NULL if unset or empty. */
const char *env_get(const char *name);

/* An option, where its value goes in a struct, and how help describes it. */
struct env_opt {
    const char *name;  /* without its dashes */
    const char *value; /* what help calls its value, such as "FILE", or the
                          choice, such as "core|all"; NULL: it has none */
    const char *help;  /* what it does, in one line of any length */
    char letter;      /* short form, or 0 */
    uint8_t kind;     /* of the value: */
    uint16_t at;      /* offsetof the member */
    uint32_t min, max; /* of a number; max 0: INT64_MAX */
};
enum { OPT_FLAG /* bool */,
       OPT_MAY /* const char *: "" unless "=" joins a value to it */,
       OPT_TEXT /* const char * */,
       OPT_LIST /* const char *[ENV_MAX_LIST]: the first that is NULL */,
       OPT_NUMBER /* uint64_t */ };
#define ENV_MAX_LIST 16

/* Options that help explains together, under this name. */
struct env_topic {
    const char *name;
    const struct env_opt *opts;
    size_t n;
};

/* Parses the option argv[0], one of n, into *to. Its value follows "=" or is
   argv[1]. Returns how many words it took. 0: opts has no such option;
   ERR_INVALID: the value is wrong; *why explains both. */
int env_option(const struct env_opt *opts, size_t n, void *to, char **argv,
               char why[256]);
/* The name of the option that arg, such as "--stauts", may be meant for; NULL:
   none is that near. */
const char *env_nearest(const struct env_opt *opts, size_t n, const char *arg);

#endif
