/* fit - has a record fit into a task.

   A field that is too long is cut, one that is no such value is left out, and
   the whole value is kept: a short one as the member imported_NAME, a long one
   as an artifact. So are members that are carried along, if they are long.

   1. Contents are stored before any lock is taken. They are named by what they
      hold, so that the same import stores nothing twice.
   2. What fit_put writes is no longer than a task may be. */

#include "cli/fit.h"
#include "cli/args.h"
#include "base/clock.h"
#include "base/text.h"
#include "base/utf8.h"
#include "json/raw.h"
#include "task/artifact.h"
#include "task/view.h"

#include <string.h>

#define BESIDE_MAX ((size_t)4 * 1024)   /* bytes of imported_NAME */
#define CARRIED_MAX ((size_t)16 * 1024) /* of a member that is no field, */
#define EXTRA_MAX ((size_t)96 * 1024)   /* of all of them, */
#define FIELD_MAX ((size_t)4 * 1024)    /* of a field, if all of them have */
#define FIELDS_MAX ((size_t)144 * 1024) /* more than this */

void
fit_note(struct buf *notes, const char *fmt, ...)
{
    char text[512];
    va_list ap;

    va_start(ap, fmt);
    text_vput(text, sizeof(text), fmt, ap);
    va_end(ap);
    buf_z(notes, notes->len > 0 ? "; " : "");
    view_plain(notes, str_of(text), sizeof(text), ' ');
}

/* ---- beside the task ---- */

static int
put_artifact(struct fit *f, struct str name, struct str content)
{
    struct task_blob blob;
    struct buf *b = &f->artifacts;

    f->failed = cli_args_store(f->c, content, &blob);
    if (f->failed != 0)
        return ERR_IO;
    buf_printf(b, "%s{\"artifact_id\":\"import-%u\",\"name\":",
               b->len > 0 ? "," : "", ++f->n_artifacts);
    json_quote(b, name);
    buf_printf(b, ",\"size\":%llu,\"sha256\":\"%s\",\"at\":\"%s\"}",
               (unsigned long long)blob.size, blob.sha256,
               time_text(clock_wall_ms()));
    return b->err;
}

int
fit_keep(struct fit *f, struct str name, struct str content)
{
    struct str part;
    int rc = 0;

    for (; rc == 0 && content.len > 0;
         content = str_from(content, part.len)) {
        part = utf8_cut(content, ARTIFACT_MAX);
        if (part.len == 0) /* none of it is UTF-8 */
            part.len = ARTIFACT_MAX;
        rc = put_artifact(f, name, part);
    }
    return rc;
}

/* Keeps a raw value, that of the member name, as an artifact. */
static int
keep_long(struct fit *f, struct str name, struct str raw)
{
    struct str text = raw_text(f->a, raw);
    struct str file = arena_printf(f->a, "%.*s%s",
                                   STR_ARG(utf8_cut(name, 64)),
                                   text.p != NULL ? ".txt" : ".json");

    if (file.p == NULL || (*raw.p == '"' && text.p == NULL))
        return ERR_NOMEM;
    fit_note(&f->notes, "%.*s is kept whole as artifact import-%u",
             STR_ARG(file), f->n_artifacts + 1);
    return fit_keep(f, file, text.p != NULL ? text : raw);
}

/* Adds a member; before stands before its name. */
static void
fit_extra(struct fit *f, const char *before, struct str name, struct str raw)
{
    buf_printf(&f->extra, ",\"%s%.*s\":", before, STR_ARG(name));
    buf_str(&f->extra, raw);
}

/* Keeps the value of a field. */
static int
keep_field(struct fit *f, struct str field, struct str raw)
{
    if (raw.len > BESIDE_MAX || f->extra.len + raw.len > EXTRA_MAX)
        return keep_long(f, field, raw);
    fit_extra(f, "imported_", field, raw);
    return f->extra.err;
}

/* Called for each field that is not taken over exactly. */
static int
keep_lost(void *of, struct str field, const struct json_tok *whole,
          struct str why)
{
    struct fit *f = of;

    fit_note(&f->notes, "%.*s", STR_ARG(why));
    return keep_field(f, field, json_raw(whole));
}

/* Carries a member along. Of a long one, a text goes on with its start. */
static int
carry_member(struct fit *f, struct str name, struct str raw)
{
    struct str text;
    int rc;

    if (raw.len <= CARRIED_MAX && f->extra.len + raw.len <= EXTRA_MAX) {
        fit_extra(f, "", name, raw);
        return f->extra.err;
    }
    rc = keep_long(f, name, raw);
    text = utf8_cut(raw_text(f->a, raw), BESIDE_MAX);
    if (rc != 0 || text.p == NULL || f->extra.len > EXTRA_MAX)
        return rc;
    text = raw_quote(f->a, text);
    if (text.p == NULL)
        return ERR_NOMEM;
    fit_extra(f, "", name, text);
    return f->extra.err;
}

/* ---- the task ---- */

/* Fields that all fit may be too much together: long ones are then left out,
   but for those that a task cannot be without. */
static int
check_size(struct fit *f)
{
    struct str *v = f->args.v;
    size_t all = 0;
    int i, rc = 0;

    for (i = 0; i < TASK_N_FIELDS; i++)
        all += v[i].len;
    for (i = 0; all > FIELDS_MAX && i < TASK_N_FIELDS && rc == 0; i++) {
        if (v[i].len <= FIELD_MAX || i == F_TITLE || i == F_DEPENDS_ON)
            continue;
        fit_note(&f->notes, "the task is too long with all of its %.*s",
                 STR_ARG(task_arg_name(i)));
        rc = keep_field(f, task_arg_name(i), v[i]);
        v[i] = STR_NONE;
    }
    return rc;
}

int
fit_take(struct fit *f, struct task_ctx *x, const struct json_tok *task)
{
    const struct task_lost lost = {keep_lost, f};
    struct raw_members m;
    int rc = task_args_fit(x, task, &lost, &f->args);

    m = raw_members_of(f->args.extra);
    while (rc == 0 && raw_next(&m) == 1)
        rc = carry_member(f, m.name, m.value);
    return rc == 0 ? check_size(f) : rc;
}

/* Appends the artifacts that the record names, and those that were made. */
static void
put_artifacts(const struct fit *f, struct buf *b)
{
    struct str old = f->args.v[F_ARTIFACTS];

    if (old.len <= 2 && f->artifacts.len == 0)
        return;
    buf_z(b, ",\"artifacts\":[");
    if (old.len > 2)
        buf_str(b, raw_inner(old));
    buf_z(b, old.len > 2 && f->artifacts.len > 0 ? "," : "");
    buf_str(b, buf_view(&f->artifacts));
    buf_char(b, ']');
}

void
fit_put(const struct fit *f, struct buf *b, struct str id,
        const struct json_tok *task)
{
    const struct json_tok *updated = json_get(task, "updated_at");

    buf_printf(b, "{\"task_id\":%.*s", STR_ARG(id));
    for (int i = 0; i < TASK_N_FIELDS; i++) {
        if (i == F_TASK_ID || i == F_ARTIFACTS || f->args.v[i].p == NULL)
            continue;
        json_name(b, ',', task_arg_name(i));
        buf_str(b, f->args.v[i]);
    }
    put_artifacts(f, b);
    buf_str(b, buf_view(&f->extra));
    if (updated != NULL) {
        buf_z(b, ",\"updated_at\":");
        buf_str(b, json_raw(updated));
    }
    buf_char(b, '}');
    if (b->err == 0)
        b->err = f->extra.err != 0 ? f->extra.err : f->artifacts.err;
}

void
fit_fini(struct fit *f)
{
    buf_fini(&f->extra);
    buf_fini(&f->artifacts);
    buf_fini(&f->notes);
}
