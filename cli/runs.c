/* runs - the file runs/ID.

   1. The lock is that of os_lock_file, which belongs to the open file on every
      system; those of os_lock may belong to the process.
   2. Only its user may open the file: so nobody else holds its lock. */

#include "cli/runs.h"
#include "cli/text.h"
#include "base/file.h"
#include "base/os.h"
#include "base/text.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

/* The file cannot be opened. Returns an exit code after printing the error. */
static int
fail_open(struct cli *c, const char *id, const char *path, bool told)
{
    int e = errno;

    if (e != EACCES || access(path, F_OK) != 0) {
        errno = e;
        return cli_fail_errno(c, ERR_IO, path);
    }
    if (!told)
        return CLI_CONFLICT;
    return cli_fail(c, ERR_LEASE, "%s: another user's command runs for it\n"
                    "to end it, run \"mcptask cancel %s\"; if that command is "
                    "dead, remove %s", id, id, path);
}

const char *
runs_path(struct cli *c, const char *id)
{
    return arena_printf(&c->kept, "%s/runs/%s", c->env->base_dir, id).p;
}

int
runs_lock(struct cli *c, const char *id, struct runs_file *f, bool wait,
          bool told)
{
    struct stat mine, there;
    struct str dir = arena_printf(&c->kept, "%s/runs", c->env->base_dir);
    int rc;

    f->path = runs_path(c, id);
    if (dir.p == NULL || f->path == NULL)
        return cli_fail_store(c, ERR_NOMEM);
    rc = file_make_dirs(dir.p);
    if (rc != 0)
        return cli_fail_path(c, rc, dir.p);
    for (;;) {
        f->fd = open(f->path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
        if (f->fd < 0)
            return fail_open(c, id, f->path, told);
        if (os_lock_file(f->fd, wait) != 0) {
            if (!told)
                return CLI_CONFLICT;
            return cli_fail(c, ERR_LEASE, "%s: its command still runs\nto "
                            "end it, run \"mcptask cancel %s\"", id, id);
        }
        if (stat(f->path, &there) == 0 && fstat(f->fd, &mine) == 0 &&
            there.st_ino == mine.st_ino && there.st_dev == mine.st_dev)
            return 0;
        close(f->fd); /* it was removed while this waited */
    }
}

int
runs_write(struct cli *c, struct runs_file *f)
{
    struct buf b = {0};
    int rc;

    /* The agent comes last, since a name may have line feeds. */
    buf_printf(&b, "%s\n%s\n%.*s\n%s\n%s\n%10ld command\n"
               "%10ld supervisor\n%10ld watcher\n%s",
               f->own ? "ends" : "stays", f->command, STR_ARG(f->asked),
               f->key, f->began ? "started" : "waiting", (long)f->pid,
               (long)f->supervisor, (long)getsid(0), f->agent);
    rc = b.err != 0 ? b.err : file_write_at(f->fd, b.p, b.len, 0);
    if (rc == 0)
        rc = file_sync(f->fd, os_sync_data);
    if (rc == 0 && !f->began)
        rc = file_sync_path_of(f->path);
    buf_fini(&b);
    return rc != 0 ? cli_fail_path(c, rc, f->path) : 0;
}

bool
runs_read(struct cli *c, struct runs_file *f)
{
    char text[2048];
    ssize_t n = pread(f->fd, text, sizeof(text), 0);
    struct str rest = {text, n > 0 ? (size_t)n : 0}, key;

    f->own = str_is(str_cut(&rest, '\n'), "ends");
    f->command = arena_str(&c->kept, str_cut(&rest, '\n')).p;
    f->asked = arena_str(&c->kept, str_cut(&rest, '\n'));
    key = str_cut(&rest, '\n');
    text_put(f->key, sizeof(f->key), "%.*s", STR_ARG(key));
    f->began = str_is(str_cut(&rest, '\n'), "started");
    for (int i = 0; i < 3; i++) /* processes */
        str_cut(&rest, '\n');
    f->agent = arena_str(&c->kept, rest).p;
    return rest.len > 0;
}
