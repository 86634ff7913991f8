/* service - a server that this machine runs as a service.

   A user whose agents use the service finds an empty store with a command that
   asks no server: nothing else would say why. The places are those of the units
   in packaging; each of them has the store at SERVICE_STORE. */

#include "cli/service.h"
#include "cli/text.h"
#include "base/env.h"
#include "base/text.h"
#include "task/task.h"

#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define SERVICE_SOCKET "/run/mcptask/socket" /* of mcptask-group.socket */
#define SERVICE_STORE "/var/lib/mcptask"
#define SERVICE_PORT "127.0.0.1:8766"

bool
service_put_closed(const char *path, char *out, size_t cap)
{
    char name[FILE_USER_MAX], me[FILE_USER_MAX];
    struct stat st;

    if (stat(path, &st) != 0)
        return false;
    if (st.st_mode & S_IWGRP)
        text_put(out, cap, "open to the group %s only; run \"sudo usermod -aG "
                 "%s %s\" and sign in again", file_group(st.st_gid, name), name,
                 file_user(geteuid(), me));
    else
        text_put(out, cap, "open to the user %s only",
                 file_user(st.st_uid, name));
    return true;
}

/* Whether this command works on the service's own store; with DynamicUser that
   is elsewhere. */
static bool
is_within(const struct cli *c)
{
    struct str log = str_of(c->env->log_path);

    return str_starts(log, SERVICE_STORE "/") ||
           str_starts(log, "/var/lib/private/mcptask/");
}

bool
service_find(const struct cli *c, struct service *out)
{
    struct stat st;

    memset(out, 0, sizeof *out);
    if (is_within(c))
        return false;
    if (stat(SERVICE_SOCKET, &st) == 0 && S_ISSOCK(st.st_mode)) {
        out->server = "unix:" SERVICE_SOCKET;
        if (access(SERVICE_SOCKET, W_OK) != 0)
            service_put_closed(SERVICE_SOCKET, out->closed,
                               sizeof out->closed);
    } else if (lstat(SERVICE_STORE, &st) == 0) {
        out->server = SERVICE_PORT;
    }
    return out->server != NULL;
}

static bool
has_no_task(const struct cli *c)
{
    uint64_t n = 0;

    for (int s = 0; s < TASK_N_STATUSES; s++)
        n += tasks_count(c->s.tasks, (enum task_status)s);
    return n == 0;
}

void
service_hint(struct cli *c)
{
    struct service s;

    if (c->s.store == NULL || c->env->remote != NULL || c->json ||
        env_get("MCP_TASK_BASE_DIR") != NULL ||
        env_get("MCP_TASK_DB_PATH") != NULL ||
        cli_terminal(STDERR_FILENO) == 0 || !has_no_task(c) ||
        !service_find(c, &s))
        return;
    if (s.closed[0] != '\0')
        cli_fail(c, 0, "this store is empty; this machine's service is %s",
                 s.closed);
    else
        cli_fail(c, 0, "this store is empty; for the tasks of this machine's "
                 "service, run \"mcptask --server %s %s\"", s.server,
                 c->cmd->store & SERVED ? c->cmd->name : "list");
}
