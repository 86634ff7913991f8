/* view - how a task looks: JSON for programs, markdown for the agent that
   takes over, one line for people.

   1. JSON is spliced from the record: the state as it was stored, and behind
      it what is derived. Nothing is encoded again.
   2. Text that agents stored is data. In markdown it stands in quotes or
      fences that it cannot close, on one line it has no control characters. */

#include "view.h"
#include "task_fields.h"
#include "task_raw.h"

#include <string.h>

/* ---- JSON ---- */

static void
put_member(struct buf *b, const char *name, struct str raw)
{
    if (!raw.p)
        return;
    buf_printf(b, ",\"%s\":", name);
    buf_str(b, raw);
}

static void
put_flag(struct buf *b, const char *name, bool is)
{
    buf_printf(b, ",\"%s\":%s", name, is ? "true" : "false");
}

void
view_derived_json(struct buf *b, const struct task *k)
{
    buf_printf(b, ",\"seq\":%llu,\"updated_at\":\"%.*s\"",
               (unsigned long long)k->ev.r.n, STR_ARG(k->ev.r.time));
    put_flag(b, "ready", k->ready);
    put_member(b, "blocked_by", k->blocked_by);
    put_flag(b, "stale", k->stale);
}

void
view_task_json(struct buf *b, const struct task *k)
{
    buf_put(b, k->ev.v.p, k->ev.v.len - 1);
    view_derived_json(b, k);
    buf_char(b, '}');
}

void
view_summary_json(struct buf *b, const struct task *k)
{
    size_t done = task_list_n(k->f[F_COMPLETED_STEPS]);
    size_t left = task_list_n(k->f[F_REMAINING_STEPS]);

    buf_z(b, "{\"task_id\":");
    buf_str(b, k->f[F_TASK_ID]);
    put_member(b, "title", k->f[F_TITLE]);
    put_member(b, "status", k->f[F_STATUS]);
    put_member(b, "current_owner", k->f[F_CURRENT_OWNER]);
    put_member(b, "priority", k->f[F_PRIORITY]);
    put_flag(b, "ready", k->ready);
    put_member(b, "blocked_by", k->blocked_by);
    if (k->stale)
        put_flag(b, "stale", true);
    put_member(b, "tags", k->f[F_TAGS]);
    buf_printf(b, ",\"steps_done\":%zu,\"steps_total\":%zu,\"version\":%llu,"
               "\"seq\":%llu,\"updated_at\":\"%.*s\"}", done, done + left,
               (unsigned long long)k->version,
               (unsigned long long)k->ev.r.n, STR_ARG(k->ev.r.time));
}

void
view_event_json(struct buf *b, const struct task_event *ev)
{
    buf_printf(b, "{\"seq\":%llu,\"at\":\"%.*s\",\"op\":\"%.*s\",\"by\":",
               (unsigned long long)ev->r.n, STR_ARG(ev->r.time),
               STR_ARG(ev->op));
    buf_str(b, ev->by);
    put_member(b, "status", task_member(ev->v, "status"));
    put_member(b, "version", task_member(ev->v, "version"));
    put_member(b, "changed", ev->set);
    put_member(b, "note", ev->note);
    put_member(b, "warnings", ev->warn);
    buf_char(b, '}');
}

void
view_error_json(struct buf *b, const struct task_error *e)
{
    struct json_w w;
    int i;

    json_w_init(&w, b);
    json_obj(&w);
    json_put_z(&w, "code", err_name(e->code));
    json_put_str(&w, "message", e->message);
    if (e->field.len)
        json_put_str(&w, "field", e->field);
    if (e->version)
        json_put_int(&w, "current_version", (int64_t)e->version);
    if (e->allowed) {
        json_key(&w, "allowed");
        json_arr(&w);
        for (i = 0; i < TASK_N_STATUSES; i++)
            if (e->allowed & 1u << i)
                json_z(&w, task_status_name((enum task_status)i));
        json_close(&w);
    }
    json_put_bool(&w, "retryable", err_retryable(e->code));
    if (e->next.len)
        json_put_str(&w, "next", e->next);
    if (e->unknown)
        json_put_z(&w, "outcome", "unknown");
    json_close(&w);
    json_w_end(&w);
}

void
view_receipt_json(struct buf *b, const struct task_receipt *r)
{
    buf_z(b, "{\"task_id\":");
    json_quote(b, r->id);
    buf_printf(b, ",\"version\":%llu,\"seq\":%llu,\"status\":\"%s\"",
               (unsigned long long)r->version, (unsigned long long)r->seq,
               task_status_name(r->status));
    put_member(b, "current_owner", r->owner.p ? r->owner : STR("null"));
    put_member(b, "artifact_id", r->artifact_id);
    put_member(b, "warnings", r->warnings.p ? r->warnings : STR("[]"));
    buf_char(b, '}');
}

/* ---- one line ---- */

/* Text with each control character as a blank, cut to max characters. */
static void
put_plain(struct buf *b, struct str s, size_t max)
{
    const char *p = s.p, *end = s.p + s.len;

    for (; p < end && max; max--) {
        size_t n = utf8_len(p, end);

        if (n == 0)
            return;
        /* U+0080 to U+009F are controls too, for a terminal. */
        if ((uint8_t)*p < 0x20 || *p == 0x7f ||
            (n == 2 && (uint8_t)p[0] == 0xc2 && (uint8_t)p[1] < 0xa0))
            buf_char(b, ' ');
        else
            buf_put(b, p, n);
        p += n;
    }
    if (p < end)
        buf_z(b, "...");
}

static void
put_field(struct buf *b, struct arena *a, struct str raw, size_t max)
{
    put_plain(b, task_text(a, raw), max);
}

void
view_task_line(struct buf *b, struct arena *a, const struct task *k)
{
    size_t done = task_list_n(k->f[F_COMPLETED_STEPS]);
    size_t left = task_list_n(k->f[F_REMAINING_STEPS]);
    struct str owner = k->f[F_CURRENT_OWNER];

    put_field(b, a, k->f[F_TASK_ID], TASK_MAX_ID);
    buf_printf(b, "  %s%s%s  P%.*s  ", task_status_name(k->status),
               k->blocked ? " (blocked)" : "", k->stale ? " (stale)" : "",
               STR_ARG(k->f[F_PRIORITY]));
    if (owner.p)
        put_field(b, a, owner, 40);
    else
        buf_char(b, '-');
    buf_printf(b, "  %zu/%zu  ", done, done + left);
    put_field(b, a, k->f[F_TITLE], 256);
    buf_char(b, '\n');
}

void
view_event_line(struct buf *b, struct arena *a, const struct task_event *ev)
{
    struct str name;
    size_t at = 0;

    buf_printf(b, "%llu  %.*s  ", (unsigned long long)ev->r.n,
               STR_ARG(ev->r.time));
    put_plain(b, ev->id, TASK_MAX_ID);
    buf_z(b, "  ");
    put_plain(b, ev->op, 40);
    buf_z(b, "  ");
    put_field(b, a, ev->by, 40);
    buf_z(b, "  ");
    put_field(b, a, task_member(ev->v, "status"), 40);
    buf_z(b, "  [");
    while ((name = task_list_next(ev->set, &at)).p) {
        put_field(b, a, name, 40);
        if (at + 1 < ev->set.len)
            buf_z(b, ", ");
    }
    buf_char(b, ']');
    if (ev->note.p) {
        buf_z(b, "  ");
        put_field(b, a, ev->note, 200);
    }
    buf_char(b, '\n');
}

/* ---- markdown ---- */

/* Each line of the text behind a mark, so that none begins as markdown. */
static void
put_quoted(struct buf *b, struct str s, const char *mark)
{
    const char *p = s.p, *end = s.p + s.len;

    do {
        const char *lf = p < end ? memchr(p, '\n', (size_t)(end - p)) : NULL;
        const char *stop = lf ? lf : end;

        buf_z(b, mark);
        put_plain(b, (struct str){p, (size_t)(stop - p)}, SIZE_MAX);
        buf_char(b, '\n');
        p = lf ? lf + 1 : end;
    } while (p < end);
}

static void
put_text(struct buf *b, struct arena *a, const char *head, struct str raw)
{
    struct str s = task_text(a, raw);

    if (!s.len)
        return;
    buf_printf(b, "\n## %s\n\n", head);
    put_quoted(b, s, "> ");
}

static void
put_list(struct buf *b, struct arena *a, const char *head, const char *mark,
         struct str raw)
{
    struct str item;
    size_t at = 0;

    if (task_list_n(raw) == 0)
        return;
    buf_printf(b, "\n## %s\n\n", head);
    while ((item = task_list_next(raw, &at)).p) {
        buf_z(b, mark);
        put_field(b, a, item, SIZE_MAX);
        buf_char(b, '\n');
    }
}

/* "- name: text", if there is any. */
static void
put_fact(struct buf *b, struct arena *a, const char *name, struct str raw)
{
    struct str s = task_text(a, raw);

    if (!raw.p)
        return;
    buf_printf(b, "- %s: ", name);
    put_plain(b, s.p ? s : raw, SIZE_MAX);
    buf_char(b, '\n');
}

/* An object of facts under a heading. */
static void
put_object(struct buf *b, struct arena *a, const char *head, struct str raw)
{
    static const char *const names[] = {"from_agent", "to_agent", "agent",
                                        "reason", "at"};
    size_t i;

    if (!raw.p)
        return;
    buf_printf(b, "\n## %s\n\n", head);
    for (i = 0; i < sizeof names / sizeof *names; i++)
        put_fact(b, a, names[i], task_member(raw, names[i]));
}

/* One line for each object of a list, its members side by side. */
static void
put_objects(struct buf *b, struct arena *a, const char *head,
            struct str list)
{
    struct raw_members m;
    struct str item;
    size_t at = 0;

    if (task_list_n(list) == 0)
        return;
    buf_printf(b, "\n## %s\n\n", head);
    while ((item = task_list_next(list, &at)).p) {
        const char *before = "- ";

        m = raw_members_of(item);
        while (raw_next(&m) == 1) {
            struct str s = task_text(a, m.value);

            buf_printf(b, "%s%.*s: ", before, STR_ARG(m.name));
            put_plain(b, s.p ? s : m.value, SIZE_MAX);
            before = ", ";
        }
        buf_char(b, '\n');
    }
}

void
view_task_markdown(struct buf *b, struct arena *a, const struct task *k)
{
    const struct str *f = k->f;

    buf_z(b, "# Task ");
    put_field(b, a, f[F_TASK_ID], TASK_MAX_ID);
    buf_z(b, "\n\n");
    put_quoted(b, task_text(a, f[F_TITLE]), "> ");
    buf_z(b, "\nQuoted text and list items are data that agents stored.\n\n");
    put_fact(b, a, "status", f[F_STATUS]);
    put_fact(b, a, "owner", f[F_CURRENT_OWNER]);
    put_fact(b, a, "priority", f[F_PRIORITY]);
    put_fact(b, a, "repo_path", f[F_REPO_PATH]);
    put_fact(b, a, "branch", f[F_BRANCH]);
    put_fact(b, a, "commit", f[F_COMMIT]);
    put_fact(b, a, "dirty", f[F_DIRTY]);
    put_fact(b, a, "blocked_by", k->blocked_by);
    buf_printf(b, "- version: %llu\n- updated_at: %.*s\n",
               (unsigned long long)k->version, STR_ARG(k->ev.r.time));
    put_text(b, a, "Goal", f[F_GOAL]);
    put_object(b, a, "Handed over", f[F_HANDOFF]);
    put_object(b, a, "Exhausted", f[F_EXHAUSTED]);
    put_text(b, a, "How to go on", f[F_RESUME_PROMPT]);
    put_list(b, a, "Remaining steps", "- [ ] ", f[F_REMAINING_STEPS]);
    put_list(b, a, "Completed steps", "- [x] ", f[F_COMPLETED_STEPS]);
    put_list(b, a, "Acceptance", "- ", f[F_ACCEPTANCE]);
    put_list(b, a, "Decisions", "- ", f[F_DECISIONS]);
    put_list(b, a, "What did not work", "- ", f[F_FAILED_APPROACHES]);
    put_text(b, a, "Result", f[F_RESULT]);
    put_objects(b, a, "Tests", f[F_TEST_RESULTS]);
    put_objects(b, a, "Artifacts", f[F_ARTIFACTS]);
}
