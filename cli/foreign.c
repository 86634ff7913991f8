/* foreign - tasks of other programs. Members that a program always writes tell
   which one it was.

   A table says what becomes of their members. Members that it does not name
   are carried along, and task_import refuses what does not fit. */

#include "cli/foreign.h"
#include "base/text.h"
#include "base/utf8.h"
#include "task/check.h"
#include "task/fields.h"

#include <string.h>

#define TITLE_MAX 256 /* characters */

enum how {
    SAME, DROP, ID, IDS, TITLE, LIST, STATUS, LEVEL, TIME, NOTES, LINKS, OWNER
};

struct member {
    const char *from, *to;
    enum how how;
};

static const struct member beads[] = {
    {"id", "task_id", ID},
    {"title", "title", TITLE},
    {"description", "goal", SAME},
    {"acceptance_criteria", "acceptance", LIST},
    {"status", "status", STATUS},
    {"assignee", "current_owner", SAME},
    {"labels", "tags", SAME},
    {"close_reason", "result", SAME},
    {"dependencies", "dependencies", LINKS},
    {NULL, NULL, SAME},
};
static const struct member warrior[] = {
    {"uuid", "task_id", ID},
    {"description", "title", TITLE},
    {"status", "status", STATUS},
    {"priority", "priority", LEVEL},
    {"depends", "depends_on", IDS},
    {"annotations", "goal", NOTES},
    {"entry", "created_at", TIME},
    {"id", NULL, DROP}, /* both change with each export */
    {"urgency", NULL, DROP},
    {NULL, NULL, SAME},
};
static const struct member backlog[] = {
    {"id", "task_id", ID},
    {"title", "title", TITLE},
    {"description", "goal", SAME},
    {"acceptance_criteria", "acceptance", SAME},
    {"status", "status", STATUS},
    {"assignee", "current_owner", OWNER},
    {"labels", "tags", SAME},
    {"priority", "priority", LEVEL},
    {"dependencies", "depends_on", IDS},
    {"parent_task_id", "parent_id", ID},
    {"implementation_plan", "resume_prompt", SAME},
    {"final_summary", "result", SAME},
    {"created_date", "created_at", TIME},
    {NULL, NULL, SAME},
};

static const struct source {
    const char *name, *has[3]; /* members */
    const struct member *all;
} sources[] = {
    {"Backlog.md", {"id", "title", "created_date"}, backlog}, /* the first */
    {"beads", {"id", "title", "priority"}, beads},
    {"taskwarrior", {"uuid", "description", "entry"}, warrior},
};

/* Their words for a status; others are the same here. */
static const struct {
    const char *from, *to;
} statuses[] = {
    {"blocked", "open"}, {"deferred", "open"}, {"pinned", "open"},
    {"hooked", "in_progress"}, {"closed", "done"}, {"tombstone", "cancelled"},
    {"pending", "open"}, {"waiting", "open"}, {"recurring", "open"},
    {"completed", "done"}, {"deleted", "cancelled"}, {"to_do", "open"},
    {"won't_do", "cancelled"},
};

/* The text of a string, else STR_NONE. If memory runs out, w has the error. */
static struct str
text_of(struct arena *a, struct json_w *w, const struct json_tok *t)
{
    struct str s = json_str(a, t);

    if (s.p == NULL && t != NULL && t->type == JSON_STRING)
        w->b->err = ERR_NOMEM;
    return s;
}

/* Writes a valid id: '-' replaces characters that none may have. */
static void
put_id(struct json_w *w, struct str s)
{
    char id[TASK_MAX_ID];
    size_t n = s.len < TASK_MAX_ID ? s.len : TASK_MAX_ID;

    for (size_t i = 0; i < n; i++)
        id[i] = (char)(task_is_id((struct str){s.p + i, 1}) ? s.p[i] : '-');
    json_string(w, (struct str){id, n});
}

/* A list of ids: an array, or a text with commas. */
static void
put_ids(struct arena *a, struct json_w *w, const struct json_tok *t)
{
    struct str rest = text_of(a, w, t);
    uint32_t i, n = t->type == JSON_ARRAY ? t->n : 0;

    json_arr(w);
    while (rest.p != NULL)
        put_id(w, str_cut(&rest, ','));
    for (i = 0, t++; i < n; i++, t += t->span)
        if (t->type == JSON_STRING)
            put_id(w, text_of(a, w, t));
    json_close(w);
}

/* A title that is too long is kept whole beside the one that is cut. */
static void
put_title(struct json_w *w, struct str s)
{
    size_t at = 0;

    for (size_t n = 0; at < s.len && n < TITLE_MAX; n++)
        at += utf8_len(s.p + at, s.p + s.len);
    json_string(w, (struct str){s.p, at});
    if (at < s.len)
        json_put_str(w, "full_title", s);
}

/* A word, or two such as "In Progress". */
static void
put_status(struct json_w *w, struct str s)
{
    char word[16];
    size_t i;

    for (i = 0; i < s.len && i < sizeof(word); i++)
        word[i] = s.p[i] == ' ' ? '_' : text_lower(s.p[i]);
    s = i == s.len ? (struct str){word, i} : s;
    for (i = 0; i < sizeof(statuses) / sizeof(statuses[0]); i++)
        if (str_is(s, statuses[i].from))
            s = str_of(statuses[i].to);
    json_string(w, s);
}

/* 20260728T093000Z, 2026-07-28 09:30 or 2026-07-28 */
static void
put_time(struct json_w *w, struct str s)
{
    char out[24];

    if (s.len == 16 && s.p[4] != '-') {
        text_put(out, sizeof(out), "%.4s-%.2s-%.2sT%.2s:%.2s:%.2sZ", s.p,
                 s.p + 4, s.p + 6, s.p + 9, s.p + 11, s.p + 13);
        s = str_of(out);
    } else if (s.len == 16 || s.len == 10) {
        text_put(out, sizeof(out), "%.10sT%.5s:00Z", s.p,
                 s.len == 16 ? s.p + 11 : "00:00");
        s = str_of(out);
    }
    json_string(w, s);
}

/* The first of them, without the @ of a handle; more are kept beside it. */
static void
put_owner(struct arena *a, struct json_w *w, const struct json_tok *t)
{
    struct str s = text_of(a, w, t->type == JSON_ARRAY ? t + 1 : t);

    json_string(w, str_from(s, str_starts(s, "@")));
    if (t->type == JSON_ARRAY && t->n > 1)
        json_put_raw(w, "assignee", json_raw(t));
}

/* The texts of annotations, a line each. */
static void
put_notes(struct arena *a, struct json_w *w, const struct json_tok *t)
{
    struct buf b = {0};
    uint32_t i, n = t->type == JSON_ARRAY ? t->n : 0;
    struct str s;

    for (i = 0, t++; i < n; i++, t += t->span) {
        s = text_of(a, w, json_get(t, "description"));
        buf_printf(&b, "%s%.*s", b.len > 0 ? "\n" : "", STR_ARG(s));
    }
    json_string(w, buf_view(&b));
    if (b.err != 0)
        w->b->err = b.err;
    buf_fini(&b);
}

/* Of the dependencies, those that block, and the parent. */
static void
put_links(struct arena *a, struct json_w *w, const struct json_tok *list)
{
    uint32_t i, n = list->type == JSON_ARRAY ? list->n : 0;
    const struct json_tok *t;
    struct str id, parent = STR_NONE;

    json_splice(w, json_raw(list)); /* the other kinds stay in there */
    json_put_arr(w, "depends_on");
    for (i = 0, t = list + 1; i < n; i++, t += t->span) {
        id = text_of(a, w, json_get(t, "depends_on_id"));
        if (id.p != NULL && json_is(json_get(t, "type"), "parent-child"))
            parent = id;
        else if (id.p != NULL && json_is(json_get(t, "type"), "blocks"))
            put_id(w, id);
    }
    json_close(w);
    if (parent.p != NULL) {
        json_key(w, "parent_id");
        put_id(w, parent);
    }
}

static void
put_value(struct arena *a, struct json_w *w, enum how how,
          const struct json_tok *t)
{
    struct str s = text_of(a, w, t);

    if (how == IDS || how == NOTES || how == LINKS) {
        (how == IDS ? put_ids : how == NOTES ? put_notes : put_links)(a, w, t);
    } else if (how == OWNER) {
        put_owner(a, w, t);
    } else if (s.p == NULL || how == SAME) {
        json_splice(w, json_raw(t));
    } else if (how == ID) {
        put_id(w, s);
    } else if (how == TITLE) {
        put_title(w, s);
    } else if (how == STATUS) {
        put_status(w, s);
    } else if (how == TIME) {
        put_time(w, s);
    } else if (how == LEVEL) {
        json_number(w, text_lower(s.p[0]) == 'h' ? 1
                       : text_lower(s.p[0]) == 'l' ? 3 : 2);
    } else {
        json_arr(w);
        json_string(w, s);
        json_close(w);
    }
}

/* Whether the value says nothing. */
static bool
is_empty(const struct json_tok *t)
{
    return t->type == JSON_NULL || (t->type == JSON_STRING && t->len == 0) ||
           (t->type == JSON_ARRAY && t->n == 0);
}

static const struct source *
source_of(const struct json_tok *t)
{
    const struct source *end = sources + sizeof(sources) / sizeof(sources[0]);

    for (const struct source *s = sources; s < end; s++)
        if (json_get(t, s->has[0]) && json_get(t, s->has[1]) &&
            json_get(t, s->has[2]))
            return s;
    return NULL;
}

int
cli_foreign(struct arena *a, bool md, const struct json_tok **task,
            const char **of)
{
    const struct json_tok *t = *task, *name;
    const struct source *source = md ? sources : source_of(t);
    const struct member *m;
    struct buf b = {0};
    struct json_w w;
    struct str key;
    uint32_t i, n = t->n;

    *of = NULL;
    if (source == NULL || json_get(t, "task_id") != NULL)
        return 0;
    *of = source->name;
    json_begin(&w, &b);
    for (i = 0, t++; i < n; i++, t += t->span) {
        name = t++;
        key = text_of(a, &w, name);
        for (m = source->all; m->from != NULL && !str_is(key, m->from); m++)
            continue;
        if (m->how == DROP || is_empty(t))
            continue;
        json_key_str(&w, m->from != NULL ? str_of(m->to) : key);
        put_value(a, &w, m->how, t);
    }
    json_close(&w);
    key = buf_take(&b, a);
    return key.p == NULL ? ERR_NOMEM : json_parse(a, key, task, NULL);
}
