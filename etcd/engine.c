/* engine - how the engine asks etcd. */

#include "etcd/engine.h"
#include "base/text.h"

#include <stdarg.h>

int
engine_fail(struct engine *e, int err, const char *fmt, ...)
{
    va_list ap;

    va_start(ap, fmt);
    text_vput(e->why, sizeof(e->why), fmt, ap);
    va_end(ap);
    return err;
}

int
engine_ask(struct engine *e, const char *path, engine_fn *then, bool once)
{
    int rc = e->body.err;

    if (rc == 0)
        rc = etcd_begin(e->client, path, buf_view(&e->body),
                        e->url.patience_ms, once);
    buf_reset(&e->body, 64 * 1024);
    if (rc != 0)
        return rc;
    e->then = then;
    return ERR_MORE;
}

int
engine_ask_txn(struct engine *e, engine_fn *then)
{
    return engine_ask(e, "/v3/kv/txn", then, false);
}
