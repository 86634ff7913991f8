/* editor - a task is changed in a person's text editor, as a form.

   1. The text is kept, and its file named, unless its changes are stored or
      there are none. */

#include "cli/editor.h"
#include "cli/args.h"
#include "cli/call.h"
#include "cli/form.h"
#include "cli/id.h"
#include "cli/text.h"
#include "base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* Makes a file of the text. Returns its path, in c->kept; NULL after printing
   the error. */
static char *
write_form(struct cli *c, const char *id, struct str text)
{
    const char *dir = env_get("TMPDIR");
    struct str name = arena_printf(&c->kept, "%s/mcptask-%s.XXXXXX",
                                   dir != NULL ? dir : "/tmp", id);
    char *path = (char *)name.p;
    int fd = path != NULL ? mkstemp(path) : -1;
    int rc = fd >= 0 ? file_write_at(fd, text.p, text.len, 0) : -1;

    if (fd >= 0)
        close(fd);
    if (rc == 0)
        return path;
    cli_fail_errno(c, ERR_IO, path != NULL ? path : id);
    if (fd >= 0)
        unlink(path);
    return NULL;
}

/* Runs the editor. Returns 0, or an exit code after printing the error. */
static int
run_editor(struct cli *c, const char *path)
{
    const char *editor = env_get("VISUAL");
    int status = -1;
    pid_t pid;
    struct str line;

    editor = editor != NULL ? editor : env_get("EDITOR");
    editor = editor != NULL ? editor : "vi";
    line = arena_printf(&c->a, "%s \"$1\"", editor); /* it may have options */
    signal(SIGINT, SIG_IGN); /* ^C is for the editor */
    pid = line.p != NULL ? fork() : -1;
    if (pid == 0) {
        signal(SIGINT, SIG_DFL);
        signal(SIGPIPE, SIG_DFL);
        execl("/bin/sh", "sh", "-c", line.p, "sh", path, (char *)NULL);
        _exit(127);
    }
    while (pid > 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR)
        continue;
    signal(SIGINT, SIG_DFL);
    if (status == 0)
        return 0;
    return cli_fail(c, ERR_NOT_FOUND, "the editor \"%s\" failed, so nothing "
                    "was changed\nset EDITOR to the one that you use", editor);
}

/* Reads the file back. Returns 0, or an exit code after printing the error. */
static int
read_form(struct cli *c, const char *path, struct str *text)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    int rc = fd < 0 ? ERR_IO : cli_args_input(c, fd, FORM_MAX, text);

    if (rc != 0)
        rc = rc == ERR_NOMEM ? cli_fail_store(c, rc)
                             : cli_fail_errno(c, ERR_INVALID, path);
    else if (text->len > FORM_MAX)
        rc = cli_fail(c, ERR_TOO_LARGE, "the text is larger than %d bytes",
                      FORM_MAX);
    if (fd >= 0)
        close(fd);
    return rc;
}

/* Begins the arguments with the fields that differ. Returns how many do. */
static int
put_changed(struct cli *c, const struct task *k, const char *id,
            const struct str was[TASK_N_FIELDS],
            const struct str is[TASK_N_FIELDS])
{
    int n = 0;

    cli_args_begin(c, NULL, id);
    json_put_int(&c->tool.w, "expected_version", (int64_t)k->version);
    for (int i = 0; i < TASK_N_FIELDS; i++)
        if (is[i].p != NULL && !str_eq(is[i], was[i])) {
            json_key_str(&c->tool.w, task_arg_name(i));
            json_splice(&c->tool.w, is[i]);
            n++;
        }
    return n;
}

/* Stores what the file has changed. Sets *changed. Returns the exit code. */
static int
store_form(struct cli *c, const struct task *k, const char *path,
           struct str text, bool *changed)
{
    struct str was[TASK_N_FIELDS], is[TASK_N_FIELDS], now;
    const char *id = c->operand[0];
    char why[128];
    int rc = read_form(c, path, &now);

    if (rc != 0)
        return rc;
    *changed = !str_eq(text, now);
    rc = form_read(&c->a, text, was, why);
    rc = rc == 0 ? form_read(&c->a, now, is, why) : rc;
    if (rc != 0)
        return rc == ERR_NOMEM ? cli_fail_store(c, rc)
                               : cli_fail(c, ERR_INVALID, "%s", why);
    if (put_changed(c, k, id, was, is) > 0)
        return cli_change_and_tell(c, TOOL_UPDATE);
    cli_args_end(c);
    cli_fail(c, 0, "%s: nothing was changed", id);
    *changed = false;
    return CLI_OK;
}

int
cli_edit_text(struct cli *c, const char *id)
{
    bool changed = false;
    struct buf b = {0};
    struct str text, now;
    struct task k;
    char *path;
    int rc = cli_task(c, id, &k);

    if (rc != 0)
        return rc > 0 ? rc : cli_fail_task(c, rc, id);
    form_put(&b, &c->a, &k);
    text = buf_take(&b, &c->a);
    if (text.p == NULL)
        return cli_fail_store(c, ERR_NOMEM);
    path = write_form(c, id, text);
    if (path == NULL)
        return CLI_STORE;
    rc = run_editor(c, path);
    if (rc == 0)
        rc = store_form(c, &k, path, text, &changed);
    else /* perhaps it has saved before it failed */
        changed = read_form(c, path, &now) != 0 || !str_eq(text, now);
    if (rc != 0 && changed)
        cli_fail(c, 0, "your text is in %s", path);
    else
        unlink(path);
    return rc;
}
