/* env - finds the store's paths in the environment, and parses options.

   It changes no file, so starting has no side effects. It expands neither ~ nor
   variables. A path that begins with ~ is refused: it would make a directory
   named ~ in the working directory.

   1. An empty variable counts as unset.
   2. Every path returned is absolute. */

#include "base/env.h"
#include "base/file.h"
#include "base/text.h"
#include "base/utf8.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define AGENT_MAX 128 /* bytes */
#define LOGIN_MAX 64

char *
env_absolute(const char *path)
{
    char cwd[FILE_PATH_MAX];

    if (path[0] == '/')
        return file_join(path, "");
    if (getcwd(cwd, sizeof(cwd) - 1) == NULL || cwd[0] != '/')
        return NULL;
    if (cwd[1] != '\0')
        memcpy(cwd + strlen(cwd), "/", 2);
    return file_join(cwd, path);
}

const char *
env_get(const char *name)
{
    const char *v = getenv(name);

    return v != NULL && v[0] != '\0' ? v : NULL;
}

const char *
env_home(void)
{
    static char home[FILE_PATH_MAX];
    const char *v = getenv("HOME");

    if (v != NULL && v[0] == '/')
        return v;
    return file_account("/etc/passwd", getuid(), ACCOUNT_HOME, home,
                        sizeof(home)) && home[0] == '/' ? home : NULL;
}

/* The base directory, on the heap, or NULL. Where the log is named and HOME is
   not, as in the unit of a service, that comes before the login's home. */
static char *
find_base(struct cli_env *e)
{
    const char *log = env_get("MCP_TASK_DB_PATH"), *home = getenv("HOME"), *v;
    char *beside;

    if ((v = env_get("MCP_TASK_BASE_DIR")) != NULL)
        return env_absolute(v);
    if ((v = env_get("XDG_STATE_HOME")) != NULL && v[0] == '/')
        return file_join(v, "/mcptask");
    if (log != NULL && (home == NULL || home[0] != '/')) {
        if ((beside = env_absolute(log)) != NULL)
            file_cut(beside);
        return beside;
    }
    if ((v = env_home()) != NULL)
        return file_join(v, "/.local/state/mcptask");
    e->no_store = "there is no directory for tasks: HOME is not an absolute "
                  "path, and this user has no home in /etc/passwd; set "
                  "MCP_TASK_BASE_DIR";
    return file_join("/nonexistent/mcptask", "");
}

static char *
path_from_env(const char *name, const char *base, const char *otherwise)
{
    const char *v = env_get(name);

    return v != NULL ? env_absolute(v) : file_join(base, otherwise);
}

static int
check_paths(char why[256])
{
    static const char *const names[] = {
        "MCP_TASK_BASE_DIR", "MCP_TASK_DB_PATH", "MCP_TASK_ARTIFACTS_DIR"};

    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        const char *v = env_get(names[i]);
        bool as_is = v == NULL || (v[0] != '~' && v[0] != '$');

        if (as_is && (v == NULL || strlen(v) < FILE_PATH_MAX))
            continue;
        text_put(why, 256, "%s: %s", names[i],
                 as_is ? "the path is too long"
                       : "~ and $ are not expanded here; write the full path");
        return ERR_INVALID;
    }
    return 0;
}

int
env_resolve(struct cli_env *e, char why[256])
{
    const char *debug = env_get("MCP_DEBUG");

    e->debug = debug != NULL && strcmp(debug, "0") != 0;
    e->agent = env_get("MCP_TASK_AGENT");
    if (check_paths(why) < 0)
        return ERR_INVALID;
    e->base_dir = find_base(e);
    if (e->base_dir != NULL) {
        e->log_path =
            path_from_env("MCP_TASK_DB_PATH", e->base_dir, "/tasks.log");
        e->artifacts_dir =
            path_from_env("MCP_TASK_ARTIFACTS_DIR", e->base_dir, "/artifacts");
    }
    if (e->log_path != NULL && e->artifacts_dir != NULL)
        return 0;
    text_put(why, 256, "working directory: %s", strerror(errno));
    env_fini(e);
    return ERR_NOMEM;
}

void
env_fini(struct cli_env *e)
{
    free(e->base_dir);
    free(e->log_path);
    free(e->artifacts_dir);
    free(e->artifact_root);
    *e = (struct cli_env){0};
}

const char *
env_agent(const struct cli_env *e)
{
    struct str name = str_of(e->agent != NULL ? e->agent : "");

    return name.len > 0 && name.len <= AGENT_MAX && utf8_is_valid(name)
               ? e->agent : NULL;
}

const char *
env_login(void)
{
    static const char *const names[] = {"LOGNAME", "USER"};
    static char login[LOGIN_MAX];
    const char *name = NULL;

    for (size_t i = 0; name == NULL && i < 2; i++) {
        name = env_get(names[i]);
        if (name != NULL && strcmp(name, "unknown") == 0)
            name = NULL;
    }
    if (name != NULL)
        return name;
    if (!file_account("/etc/passwd", getuid(), ACCOUNT_NAME, login,
                      sizeof(login)))
        text_put(login, sizeof(login), "user-%lu", (unsigned long)getuid());
    return login;
}

const char *
env_person(const struct cli_env *e)
{
    return e->agent != NULL ? e->agent : env_login();
}

/* ---- options ---- */

/* Returns the option for arg, or NULL. *value is set to the value joined to
   arg, or to NULL. */
static const struct env_opt *
find_option(const struct env_opt *o, size_t n, const char *arg,
            const char **value)
{
    size_t len = strcspn(arg, "=");
    bool word = arg[1] == '-';

    *value = NULL;
    if (word && arg[len] == '=')
        *value = arg + len + 1;
    else if (!word && arg[1] != '\0' && arg[2] != '\0')
        *value = arg + 2;
    for (; n > 0; n--, o++)
        if (word ? str_is((struct str){arg + 2, len - 2}, o->name)
                 : o->letter != 0 && o->letter == arg[1])
            return o;
    return NULL;
}

const char *
env_nearest(const struct env_opt *opts, size_t n, const char *arg)
{
    struct str name = {arg, strcspn(arg, "=")};
    size_t least = SIZE_MAX, d;
    const char *near = NULL;

    if (!str_starts(name, "--"))
        return NULL;
    for (; n > 0; n--, opts++) {
        d = str_slips(str_from(name, 2), opts->name);
        if (d < least) {
            least = d;
            near = opts->name;
        }
    }
    return near;
}

/* Reads a number into *n. If it returns false, why describes the number that o
   needs. */
static bool
read_option_number(const struct env_opt *o, const char *value, uint64_t *n,
                   char why[64])
{
    if (str_u64(str_of(value), n) && *n >= o->min &&
        *n <= (o->max > 0 ? o->max : INT64_MAX))
        return true;
    if (o->max > 0)
        text_put(why, 64, "needs a number from %u to %u", (unsigned)o->min,
                 (unsigned)o->max);
    else
        text_put(why, 64, o->min > 0 ? "needs a number, at least %u"
                                     : "needs a number", (unsigned)o->min);
    return false;
}

/* Stores a value in the member that o describes. Returns NULL, or an error text
   for why. */
static const char *
set_option(const struct env_opt *o, void *at, const char *value, char why[64])
{
    const char **list = at;
    size_t i = 0;

    if (o->kind == OPT_FLAG) {
        *(bool *)at = true;
        return value == NULL ? NULL : "does not accept a value";
    }
    if (value == NULL && o->kind == OPT_MAY)
        value = "";
    if (value == NULL)
        return "needs a value";
    if (o->kind == OPT_NUMBER)
        return read_option_number(o, value, at, why) ? NULL : why;
    if (o->kind == OPT_LIST)
        while (i < ENV_MAX_LIST && list[i] != NULL)
            i++;
    if (i == ENV_MAX_LIST)
        return "may be used at most 16 times";
    list[i] = value; /* or the only one */
    return NULL;
}

int
env_option(const struct env_opt *opts, size_t n, void *to, char **argv,
           char why[256])
{
    const char *value, *wrong;
    const struct env_opt *o = find_option(opts, n, argv[0], &value);
    char text[64];
    bool joined;

    if (o == NULL) {
        text_put(why, 256, "unknown option %s", argv[0]);
        return 0;
    }
    joined = value != NULL || o->kind <= OPT_MAY;
    wrong = set_option(o, (char *)to + o->at, joined ? value : argv[1], text);
    if (wrong == NULL)
        return joined ? 1 : 2;
    text_put(why, 256, "--%s %s", o->name, wrong);
    return ERR_INVALID;
}
