/* call - the thin layer between mcp and task/change.c: checks the arguments by
   one table, makes and logs the change, and writes its receipt or error as
   JSON.

   1. Once something is staged the answer cannot run out of memory: its room is
      made before.
   2. The content of an artifact is on disk and synced before the lock is taken
      (prepare), and looked up again under the lock: compact --orphans, or a
      refused call (3), may have removed it meanwhile.
   3. The content that a refused call stored is removed under the lock: only the
      holder of the lock can begin to rely on a content, and whoever did so
      earlier has written a record since. */

#include "tools/call.h"
#include "store/remote.h"
#include "task/artifact.h"
#include "task/may.h"
#include "task/project.h"
#include "task/view.h"
#include "base/base64.h"
#include "base/text.h"

#include <string.h>

#define LOOK_BACK 1000 /* records */
#define IDS_ROOM 16384 /* an answer that names TASK_MAX_NEW tasks, twice */

enum { LOG_WARNING = 4, LOG_DEBUG = 7 }; /* RFC 5424 */

const char *
tools_text(const struct tools *s, const char *name)
{
    const char *p = s->texts.p, *end = p + s->texts.len;
    size_t n = strlen(name);

    do {
        p += strlen(p) + 1;
        ASSERT(p < end); /* tools.txt has a text for each name */
    } while (strncmp(p, name, n) != 0 || p[n] != ' ');
    return p + n + 1;
}

int
tools_error(struct mcp_call *c, const struct task_error *e)
{
    const struct tools *s = c->ctx;
    const struct store_state *st = store_state(tasks_store(s->t));
    struct task_error told = *e;

    if (e->code == ERR_READONLY && st->err == e->code && st->why[0] != '\0')
        told.message = str_of(st->why);
    c->is_error = true;
    view_error_json(c->out, &told);
    return c->out->err;
}

/* Fills in the name of an agent that gives none, and its client. 0 or
   ERR_NOMEM. */
static int
name_caller(const struct mcp_call *c, struct task_actor *who)
{
    struct str digits = who->session, key;
    uint32_t n;

    if (c->number == TOOL_CLAIM && digits.len == 0) {
        /* An agent without a session has to repeat its name, which is the same
           for a claim that is retried with its key. */
        key = json_str(c->arena, json_get(c->args, "idempotency_key"));
        n = (uint32_t)str_hash(key);
        if (key.len == 0 && random_bytes(&n, sizeof n) != 0)
            return ERR_NOMEM;
        digits = arena_printf(c->arena, "%08x", n);
    }
    who->client = name_product(c->arena, c->client);
    who->chosen = c->agent.len > 0;
    who->self = c->agent;
    if (!who->chosen && digits.len >= NAME_HEX)
        who->self = name_default(c->arena, who->client, digits);
    return who->client.p && (who->self.p || digits.len < NAME_HEX) &&
           digits.p ? 0 : ERR_NOMEM;
}

static bool
has_token(const void *of, struct str agent)
{
    return mcp_is_principal(of, agent);
}

int
tools_args(struct mcp_call *c, struct task_ctx *x, struct task_args *args)
{
    const struct tools *s = c->ctx;
    bool acts = c->number != TOOL_GET && c->number != TOOL_LIST;
    struct str mark = acts ? mcp_session_mark(c) : STR_NONE;
    struct str login = c->principal, here;
    int rc = 0;

    if (c->number == TOOL_ASK && login.len == 0 && !s->env->command)
        login = str_of(env_login());
    *x = (struct task_ctx){.a = c->arena,
                           .require_evidence = s->env->require_evidence,
                           .require_pass = s->env->require_pass,
                           .read_max = c->read_max};
    x->who = (struct task_actor){.principal = c->principal,
                                 .session = mark.p ? mark : STR(""),
                                 .person = c->person,
                                 .login = login,
                                 .first = c->first,
                                 .ownership_warn = s->env->ownership_warn,
                                 .is_same = mcp_session_is,
                                 .has_token = has_token,
                                 .of = c};
    /* The caller is where this process is, if it serves a pipe; a deferred call
       is where it was. */
    if (c->here.p != NULL) {
        x->who.repo = c->here.len > 0 ? c->here : STR_NONE;
        x->meant = c->here;
    } else {
        x->at = s->env->project;
        rc = project_names(x->a, x->at, &x->who.repo);
    }
    if (rc != 0 || (acts && name_caller(c, &x->who) != 0))
        return task_fail_store(x, ERR_NOMEM);
    rc = task_args_parse(x, (enum task_tool)c->number, c->args, args);
    if (rc != 0 || c->here.p ||
        (c->number != TOOL_CLAIM && c->number != TOOL_WAIT))
        return rc;
    /* Noted for a deferred call whose work it asks for, raw: the repo_path that
       is given or else, also with *, that of the caller's project. Other
       processes may see other directories, so that it is the same for all. */
    here = args->v[F_REPO_PATH];
    if (!here.p || str_is(here, "\"*\"") || !x->at)
        here = x->who.repo;
    c->here = here.p ? here : STR("");
    return 0;
}

void
tools_put_notes(struct buf *out, const struct task_args *args)
{
    if (!args->notes.p || out->err != 0)
        return;
    out->len--;
    buf_printf(out, ",\"warnings\":%.*s}", STR_ARG(args->notes));
}

/* ---- changes ---- */

/* Logs a change that took effect. */
static void
log_change(struct mcp_call *c, const struct task_receipt *r)
{
    int level = r->warnings.p ? LOG_WARNING : LOG_DEBUG;
    struct str data;

    if (!mcp_logs(c, level)) /* few clients ask for it */
        return;
    data = arena_printf(c->arena, "{\"task_id\":\"%.*s\",\"version\":%llu,"
        "\"seq\":%llu,\"op\":\"%.*s\"%s%.*s}", STR_ARG(r->id),
        (unsigned long long)r->version, (unsigned long long)r->seq,
        STR_ARG(r->op), r->warnings.p ? ",\"warnings\":" : "",
        STR_ARG(r->warnings));
    if (data.p)
        mcp_log(c, level, data);
}

/* The name under which the caller acted, for a receipt, unless it is the one
   that it gave; else .p NULL. */
static struct str
told_name(const struct mcp_call *c, const struct task_args *args,
          const struct task_actor *who)
{
    int arg = c->number == TOOL_HANDOFF ? ARG_FROM_AGENT : ARG_AGENT;

    return actor_is_named(who) && (args->own_name || c->principal.len > 0 ||
                                   !str_eq(who->name, args->v[arg]))
               ? who->name : STR_NONE;
}

/* The rest of tools_change, after the arguments are checked and, for
   attach_artifact, the content is stored. */
static int
make_change(struct mcp_call *c, size_t room, struct tools_change *w,
            const struct task_blob *blob)
{
    const struct tools *s = c->ctx;
    enum task_tool tool = (enum task_tool)c->number;
    uint64_t next = store_next_n(tasks_store(s->t));

    if (!buf_room(c->out, room)) /* invariant 1 */
        return ERR_NOMEM;
    if (task_change(s->t, &w->x, tool, &w->args, blob, &w->r) != 0)
        return tools_error(c, &w->x.e);
    w->r.agent = told_name(c, &w->args, &w->x.who);
    if (w->r.seq == next) /* not a repeated call, nor one without effect */
        log_change(c, &w->r);
    return 1;
}

int
tools_change(struct mcp_call *c, size_t room, struct tools_change *w)
{
    int rc = tools_args(c, &w->x, &w->args);

    if (rc == 0 && c->read_only)
        rc = task_fail_store(&w->x, ERR_UNAUTHORIZED);
    return rc == 0 ? make_change(c, room, w, NULL) : tools_error(c, &w->x.e);
}

int
tools_run_change(struct mcp_call *c)
{
    struct tools_change w;
    int rc = tools_change(c, TOOLS_RECEIPT_ROOM, &w);

    if (rc != 1)
        return rc;
    view_receipt_json(c->out, &w.r);
    return c->out->err;
}

/* ---- create_task ---- */

int
tools_create(struct mcp_call *c)
{
    const struct tools *s = c->ctx;
    uint64_t next = store_next_n(tasks_store(s->t));
    struct buf *b = c->out;
    struct task_receipt *r;
    struct task_args args;
    struct task_ctx x;
    size_t n, i;

    if (c->read_only || !json_get(c->args, "tasks") ||
        tools_args(c, &x, &args) != 0 || !args.v[ARG_TASKS].p)
        return tools_run_change(c);
    r = arena_alloc(c->arena, TASK_MAX_NEW * sizeof *r);
    if (!r || !buf_room(b, IDS_ROOM)) /* invariant 1 */
        return ERR_NOMEM;
    if (task_create_all(s->t, &x, &args, r, &n) != 0)
        return tools_error(c, &x.e);
    for (i = 0; i < n && r[0].seq == next; i++)
        log_change(c, &r[i]);
    r[0].agent = told_name(c, &args, &x.who);
    for (i = 0; i < n; i++) /* in their order */
        buf_printf(b, "%s\"%.*s\"", i ? "," : "{\"task_ids\":[",
                   STR_ARG(r[i].id));
    buf_printf(b, "],\"seq\":%llu%s%.*s%s%.*s}",
               (unsigned long long)r[n - 1].seq,
               r[0].agent.p ? ",\"agent\":" : "", STR_ARG(r[0].agent),
               r[0].warnings.p ? ",\"warnings\":" : "",
               STR_ARG(r[0].warnings));
    return b->err;
}

/* ---- attach_artifact ---- */

struct prepared {
    struct tools_change w;
    struct task_blob blob;
    struct str content; /* .p NULL: nothing to store */
    uint64_t since; /* the first n of records that came after it began */
    bool made;      /* this call made the file of the content */
    int rc;         /* unless 0, w.x.e explains it */
};

/* Reads the file that path names, if there is an artifact root. */
static int
read_path(const struct tools *s, struct prepared *p, const char *log)
{
    const char *const *secrets = s->env->secrets;
    const char *kept[] = {log, secrets[0], secrets[0] ? secrets[1] : NULL,
                          NULL};
    struct task_ctx *x = &p->w.x;
    struct str path = task_arg_text(x->a, &p->w.args, ARG_PATH);
    const char *root = s->env->artifact_root;
    int rc = ERR_NOT_FOUND;

    if (root && path.p)
        rc = artifact_read_path(root, path, kept, x->a, &p->content);
    if (rc == ERR_TOO_LARGE)
        return task_fail(x, rc, "path", "the file is larger than %d bytes",
                         ARTIFACT_MAX);
    if (rc == ERR_NOMEM)
        return task_fail_store(x, rc);
    if (rc == 0)
        return 0;
    if (!root)
        p->blob.warning = "path was not read: the server has no "
                          "--artifact-root";
    else if (rc == ERR_INVALID)
        p->blob.warning =
            "path was not read: it is one of the server's own files";
    else
        p->blob.warning =
            "path was not read: no such file in the artifact root";
    return 0;
}

/* Stores the content. Returns 0, or a code that x.e explains. */
static int
store_attached(const struct tools *s, struct prepared *p)
{
    int rc = artifact_put(s->env->artifacts_dir, p->content, p->blob.sha256,
                          &p->made);

    return rc == 0 ? 0 : task_fail_store(&p->w.x, rc);
}

/* Decodes the content, or reads the path, and stores it. Returns 0, or a code
   that x.e explains. */
static int
prepare_blob(const struct tools *s, struct prepared *p)
{
    const struct store_state *st = store_state(tasks_store(s->t));
    const struct str *v = p->w.args.v;
    struct task_ctx *x = &p->w.x;
    int rc = 0;

    if (!v[ARG_CONTENT].p && !v[ARG_PATH].p)
        return task_fail(x, ERR_INVALID, "content",
                         "content or path is required");
    if (v[ARG_CONTENT].p) {
        p->content = raw_text(x->a, v[ARG_CONTENT]);
        if (!p->content.p)
            return task_fail_store(x, ERR_NOMEM);
        if (str_is(v[ARG_ENCODING], "\"base64\""))
            rc = base64_decode(x->a, p->content, &p->content);
        if (rc == ERR_SYNTAX)
            return task_fail(x, ERR_INVALID, "content",
                             "content is not valid base64");
        if (rc != 0)
            return task_fail_store(x, rc);
    } else {
        rc = read_path(s, p, st->path);
    }
    if (rc != 0 || !p->content.p)
        return rc;
    if (p->content.len > ARTIFACT_MAX)
        return task_fail(x, ERR_TOO_LARGE, "content",
                         "content is larger than %d bytes", ARTIFACT_MAX);
    p->since = st->head + 1;
    p->blob.stored = true;
    p->blob.size = p->content.len;
    return st->err == ERR_READONLY || st->err == ERR_DAMAGED
               ? task_fail_store(x, st->err) : store_attached(s, p);
}

void
tools_prepare_attach(struct mcp_call *c)
{
    struct prepared *p = arena_alloc(c->arena, sizeof *p);

    c->prepared = p;
    if (!p)
        return;
    memset(p, 0, sizeof *p);
    p->rc = tools_args(c, &p->w.x, &p->w.args);
    if (p->rc == 0)
        p->rc = prepare_blob(c->ctx, p);
}

/* Invariant 3. The file is left to compact --orphans if too much was written
   since, or if the outcome is unknown. */
static void
drop_content(const struct tools *s, struct prepared *p)
{
    struct store *store = tasks_store(s->t);
    uint64_t n = p->since, next = store_next_n(store);
    struct str hex = arena_printf(p->w.x.a, "\"%s\"", p->blob.sha256);
    struct arena a = {0};
    struct task_event ev;
    struct store_rec r;
    bool named = !p->made || !store_locked(store) || next - n > LOOK_BACK ||
                 p->w.x.e.code == ERR_UNKNOWN || !hex.p;
    int rc;

    for (; !named && n < next; n++) {
        rc = store_read_n(store, n, &a, &r);
        named = rc != 0 && rc != ERR_NOT_FOUND;
        if (rc == 0 && str_starts(r.key, TASK_PREFIX))
            named = task_event_of(&r, &ev) != 0 || /* it may name it */
                    raw_list_find(raw_member(ev.v, "artifacts"), "sha256",
                                  hex).p;
        arena_reset(&a);
    }
    arena_fini(&a);
    p->made = false; /* from now on others may rely on it */
    if (!named)
        artifact_remove(s->env->artifacts_dir, p->blob.sha256);
}

/* Under the lock: makes sure that the content is still here, and will be where
   the other hosts find it. */
static int
keep_content(const struct tools *s, struct prepared *p)
{
    struct store *store = tasks_store(s->t);
    const char *dir = s->env->artifacts_dir;
    struct str hex = str_of(p->blob.sha256);
    int rc = artifact_has(dir, hex, p->blob.size) ? 0 : store_attached(s, p);

    if (rc != 0)
        return rc;
    rc = store_content(store, dir, hex, true);
    return rc == 0 || rc == ERR_PENDING
               ? 0 : task_fail(&p->w.x, rc, "content", "%s",
                               store_content_why(store));
}

int
tools_attach(struct mcp_call *c)
{
    const struct tools *s = c->ctx;
    struct prepared *p = c->prepared;
    int rc;

    if (c->read_only)
        return tools_run_change(c);
    if (!p)
        return ERR_NOMEM;
    rc = p->rc;
    if (rc == 0 && p->blob.stored && store_locked(tasks_store(s->t)))
        rc = keep_content(s, p);
    rc = rc == 0 ? make_change(c, TOOLS_RECEIPT_ROOM, &p->w, &p->blob)
                 : tools_error(c, &p->w.x.e);
    if (rc != 1) {
        drop_content(s, p);
        return rc;
    }
    view_receipt_json(c->out, &p->w.r);
    return c->out->err;
}
