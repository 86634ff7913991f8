/* editor - a task is changed in a person's text editor, as a form.

   1. The text is kept, and its file named, unless its changes are stored or
      there are none. */

#include "cli/editor.h"
#include "cli/args.h"
#include "cli/call.h"
#include "cli/form.h"
#include "cli/id.h"
#include "cli/run.h"
#include "cli/text.h"
#include "base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
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

/* Runs $VISUAL, $EDITOR or vi. Returns 0, or an exit code after printing the
   error. */
static int
run_editor(struct cli *c, char *path)
{
    char *argv[] = {"sh", "-c", NULL, "sh", path, NULL};
    const char *editor = env_get("VISUAL");
    pid_t pid = -1;
    int rc = -1;

    editor = editor != NULL ? editor : env_get("EDITOR");
    editor = editor != NULL ? editor : "vi";
    argv[2] = (char *)arena_printf(&c->a, "%s \"$1\"", editor).p; /* options */
    signal(SIGINT, SIG_IGN); /* ^C is for the editor */
    if (argv[2] != NULL)
        pid = cli_start_program(c, "/bin/sh", argv, STDIN_FILENO,
                                STDOUT_FILENO, STDERR_FILENO);
    if (pid > 0)
        rc = cli_wait_program(c, "/bin/sh", pid);
    signal(SIGINT, SIG_DFL);
    return rc == 0 ? 0 : cli_fail(c, ERR_NOT_FOUND, "the editor \"%s\" failed, "
                                  "so nothing was changed\nset EDITOR to the "
                                  "one that you use", editor);
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

/* Stores what the file has changed. Sets *changed. Returns the exit code. */
static int
store_form(struct cli *c, const struct task *k, const char *path,
           struct str text, bool *changed)
{
    struct str was[TASK_N_FIELDS], is[TASK_N_FIELDS], now;
    const char *id = c->operand[0];
    char why[128];
    int n = 0, rc = read_form(c, path, &now);

    if (rc != 0)
        return rc;
    *changed = !str_eq(text, now);
    rc = form_read(&c->a, text, was, why);
    rc = rc == 0 ? form_read(&c->a, now, is, why) : rc;
    if (rc != 0)
        return rc == ERR_NOMEM ? cli_fail_store(c, rc)
                               : cli_fail(c, ERR_INVALID, "%s", why);
    cli_args_begin(c, NULL, id);
    json_put_int(&c->tool.w, "expected_version", (int64_t)k->version);
    for (int i = 0; i < TASK_N_FIELDS; i++)
        if (is[i].p != NULL && !str_eq(is[i], was[i])) {
            json_key_str(&c->tool.w, task_arg_name(i));
            json_splice(&c->tool.w, is[i]);
            n++;
        }
    if (n > 0)
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
