/* engine - how the engine sends requests to etcd.

   An operation of several requests is a chain of functions. engine_send notes
   which function takes the answer and returns ERR_PENDING. When the answer has
   come, remote_step calls that function, and it ends the operation or sends the
   next request. So nothing blocks, and each function is named after the answer
   that it takes.

   One request is under way at a time, for two kinds of work: operations, for
   which the store waits, and upkeep (remote.c), for which no one waits. When an
   operation begins while a request of upkeep is under way, that request is not
   cancelled, since its effect would be unknown and its connection lost. The
   operation's first request stays in e->body and is sent once the answer to the
   other has come (ENGINE_WAITS). So a function of upkeep may note what the
   answer brings, but it must not write to e->body. */

#include "etcd/engine.h"
#include "base/file.h"
#include "base/text.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define TEND_MS 1000 /* for a request that belongs to no operation, */
#define ALONE_MS 1000 /* and for one to one endpoint */

int
engine_fail(struct engine *e, int err, const char *fmt, ...)
{
    va_list ap;

    va_start(ap, fmt);
    text_vput(e->why, sizeof(e->why), fmt, ap);
    va_end(ap);
    return err;
}

char *
engine_path(struct engine *e, const char *suffix)
{
    char *real = file_real(e->log), *path = NULL, pid[24] = "";
    char *dir = real != NULL ? file_dir_of(real) : NULL;
    size_t n;

    if (dir != NULL)
        file_make_dirs(dir); /* there may be no log yet */
    free(dir);
    if (suffix[strlen(suffix) - 1] == '-')
        text_put(pid, sizeof(pid), "%ld", (long)getpid());
    n = real != NULL ? strlen(real) + strlen(suffix) + sizeof(pid) : 0;
    if (n > 0 && (path = malloc(n)) != NULL)
        text_put(path, n, "%s%s%s", real, suffix, pid);
    free(real);
    return path;
}

/* The body has been sent to path, or not: rc. */
static int
note_request(struct engine *e, const char *path, engine_fn *then, int rc)
{
    buf_reset(&e->body.b, 64 * 1024);
    if (rc != 0)
        return rc;
    e->then = then;
    e->is_txn = strcmp(path, TXN) == 0;
    return ERR_PENDING;
}

int
engine_send(struct engine *e, const char *path, engine_fn *then)
{
    int rc = e->body.b.err;

    if (rc == 0 && e->state == ENGINE_WAITS) {
        e->first = then;
        return ERR_PENDING;
    }
    if (rc == 0)
        rc = etcd_begin(e->client, path, buf_view(&e->body.b),
                        e->state == ENGINE_TENDS ? TEND_MS
                                                 : e->url.patience_ms);
    return note_request(e, path, then, rc);
}

int
engine_send_to(struct engine *e, unsigned i, const char *path, engine_fn *then)
{
    int rc = e->body.b.err;

    if (rc == 0)
        rc = etcd_begin_at(e->client, i, path, buf_view(&e->body.b), ALONE_MS);
    return note_request(e, path, then, rc);
}

int
engine_send_txn(struct engine *e, engine_fn *then)
{
    txn_end(&e->body);
    return engine_send(e, TXN, then);
}
