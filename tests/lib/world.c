#include "tests/lib/world.h"
#include "tests/lib/faults.h"
#include "tests/lib/test.h"

#include <sys/stat.h>

void
world_place(struct world *w)
{
    char *dir = test_tmpdir();

    snprintf(w->path, sizeof(w->path), "%s/log", dir);
    free(dir);
}

static void
on_record(void *ctx, const struct store_entry *e, const struct store_rec *r)
{
    struct world *w = ctx;
    struct mcp_change c = {r->key, r->body, r->n, r->p == 0};

    (void)e;
    if (w->m != NULL)
        mcp_changed(w->m, &c);
}

int
world_try(struct world *w, const struct mcp_catalogue *c, bool readonly)
{
    struct store_options o = {.path = w->path, .readonly = readonly,
                              .compact_at = w->compact_at};
    char why[256];
    int rc = ERR_NOMEM;

    w->calls = calls_new(&w->opt);
    if (w->calls == NULL)
        return rc;
    calls_kind(w->calls, &w->kinds[0]);
    mcp_session_kind(&w->kinds[1]);
    rc = store_open(&w->s, &o, w->kinds, w->kinds[2].prefix != NULL ? 3 : 2,
                    why);
    if (rc == 0)
        rc = sign_new(&w->sign, w->s);
    if (rc == 0 && c != NULL)
        rc = mcp_new(&w->m, c, w->s, w->sign, w->calls);
    if (rc != 0) {
        world_close(w);
        return rc;
    }
    calls_bind(w->calls, w->s);
    store_observe(w->s, on_record, w);
    return 0;
}

void
world_open(struct world *w, const struct mcp_catalogue *c)
{
    if (!CHECK(world_try(w, c, false) == 0))
        exit(1);
}

struct world
world_beside(const struct world *w)
{
    struct world other = {.opt = w->opt, .compact_at = w->compact_at};

    memcpy(other.path, w->path, sizeof(other.path));
    other.kinds[2] = w->kinds[2];
    return other;
}

void
world_close(struct world *w)
{
    while (w->m != NULL && w->m->messages != NULL)
        mcp_release(w->m->messages);
    if (w->m != NULL)
        mcp_free(w->m);
    if (w->sign != NULL)
        sign_free(w->sign);
    if (w->s != NULL)
        store_close(w->s);
    calls_free(w->calls);
    arena_fini(&w->a);
    buf_fini(&w->out);
    buf_fini(&w->notes);
    w->m = NULL;
    w->sign = NULL;
    w->s = NULL;
    w->calls = NULL;
}

void
world_serve(struct world *w, const struct mcp_catalogue *c)
{
    if (w->m != NULL)
        mcp_free(w->m);
    w->m = NULL;
    if (!CHECK(mcp_new(&w->m, c, w->s, w->sign, w->calls) == 0))
        exit(1);
}

void
world_expose_key(struct world *w, bool others)
{
    char key[400];

    snprintf(key, sizeof(key), "%s.key", w->path);
    CHECK(chmod(key, others ? 0644 : 0600) == 0);
    sign_free(w->sign);
    CHECK(sign_new(&w->sign, w->s) == 0);
}

/* ---- clients ---- */

void
who_hear(struct who *w, struct str text, struct str event, bool posted)
{
    long after = nomem_pause();

    if (w->n == HEARD)
        abort();
    w->said[w->n] = strndup(text.p, text.len);
    nomem_after = after;
    w->event[w->n][0] = '\0';
    if (event.len > 0)
        snprintf(w->event[w->n], MCP_EVENT_MAX, "%.*s", STR_ARG(event));
    w->posted[w->n++] = posted;
}

static bool
on_pipe(void *ctx, const struct mcp_out *o)
{
    who_hear(ctx, o->text, o->event, false);
    return true;
}

static bool
on_post(void *ctx, const struct mcp_out *o)
{
    who_hear(ctx, o->text, o->event, true);
    return true;
}

void
who_init(struct who *w, const char *principal)
{
    *w = (struct who){.principal = principal,
                      .pipe = {.send = on_pipe, .ctx = w},
                      .post = {.send = on_post, .ctx = w}};
}

void
who_forget(struct who *w)
{
    while (w->n > 0)
        free(w->said[--w->n]);
    w->read = 0;
}

struct who *
who_new(void)
{
    struct who *w = malloc(sizeof(*w));

    if (w == NULL)
        abort();
    who_init(w, NULL);
    return w;
}

void
who_free(struct who *w)
{
    who_forget(w);
    free(w);
}
