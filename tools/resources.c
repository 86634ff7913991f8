/* resources - tasks as resources: task://{id} and the uris below it; task://
   for all of them, and task:///history for what happened to any of them. Beside
   them the page, and the skill that is built into the binary.

   1. A resource is whole: the limit of 48 KB is for tools. Only a history stops
      after HISTORY_MAX events (of all tasks, EVENTS_MAX), or as many bytes as
      a call may read, and says where to continue.
   2. A uri that names nothing is ERR_NOT_FOUND, whatever its form; no part of a
      uri is ever used as the path of a file.
   3. Every uri that can be read can be subscribed to, since one function splits
      both; except the page and the skill, which never change. */

#include "tools/resources.h"
#include "base/base64.h"
#include "base/gunzip.h"
#include "base/sha256.h"
#include "base/text.h"
#include "base/utf8.h"
#include "board/page.h"
#include "json/write.h"
#include "task/artifact.h"
#include "task/view.h"
#include "tools/call.h"
#include "tools/get.h"

#include <string.h>

#define LIST_PART 50 /* resources of one part of the list */
#define SCHEME "task://"
#define HISTORY_MAX 1000
#define EVENTS_MAX 100
#define HISTORY_ON "history?cursor="
#define ARTIFACTS "artifacts/"
#define FENCE "---\n"

const struct mcp_template tools_templates[TOOLS_N_TEMPLATES] = {
    {SCHEME "{task_id}", "task", "Task", "The whole task, as get_task "
     "returns it.", "application/json"},
    {SCHEME "{task_id}/resume", "resume", "Resume brief", "Everything an agent "
     "needs to continue the task, as markdown.", "text/markdown"},
    {SCHEME "{task_id}/history", "history", "History", "The task's events, "
     "newest first; pass next_cursor as ?cursor=.", "application/json"},
    {SCHEME "{task_id}/artifacts/{artifact_id}", "artifact", "Artifact",
     "The content of an artifact.", NULL},
};

/* ---- the skill ----

   The frontmatter of the file is lines of "name: text", which are plain scalars
   of YAML, between two lines of ---. */

static const uint8_t packed_skill[] = {
#include "skill.inc"
};

int
tools_skill_text(struct str *out)
{
    const struct str bytes = {(const char *)packed_skill, sizeof packed_skill};
    static struct str text;
    int rc = text.p == NULL ? gunzip(bytes, &text) : 0;

    *out = text;
    return rc;
}

/* Cuts the frontmatter, without its fences, off the front of the file. */
static struct str
cut_frontmatter(struct str *file)
{
    struct str front;
    size_t end;

    *file = str_from(*file, sizeof FENCE - 1);
    end = str_find(*file, STR("\n" FENCE)) + 1;
    front = (struct str){file->p, end};
    *file = str_from(*file, end + sizeof FENCE - 1);
    return front;
}

int
tools_skill_body(struct str *out)
{
    int rc = tools_skill_text(out);

    if (rc != 0)
        return rc;
    cut_frontmatter(out);
    while (str_starts(*out, "\n"))
        *out = str_from(*out, 1);
    return 0;
}

/* There is one skill, of one file. */
int
tools_skills(struct mcp_call *c, struct str uri)
{
    char digest[sizeof "sha256:" + SHA256_HEX] = "sha256:";
    struct str text, front, line, name;
    struct json_w w;
    int rc = tools_skill_text(&text);

    if (rc != 0)
        return rc;
    if (uri.len > 0 && !str_is(uri, TOOLS_SKILL))
        return ERR_NOT_FOUND;
    sha256_hex(text, digest + strlen(digest));
    json_begin(&w, c->out);
    json_put_z(&w, "uri", TOOLS_SKILL);
    json_put_arr(&w, "resources");
    json_obj(&w);
    json_put_z(&w, "uri", TOOLS_SKILL);
    json_put_z(&w, "digest", digest);
    json_put_int(&w, "size", (int64_t)text.len);
    json_close(&w);
    json_close(&w);
    json_put_obj(&w, "frontmatter");
    front = cut_frontmatter(&text);
    while (front.len > 0) {
        line = str_cut(&front, '\n');
        name = str_cut(&line, ':');
        json_key_str(&w, name);
        json_string(&w, str_trim(line));
    }
    json_close(&w);
    json_end(&w);
    return c->out->err;
}

/* ---- listing ---- */

/* What follows a plain colon there is a port (RFC 3986). */
static void
put_uri(struct buf *b, struct str id)
{
    buf_z(b, SCHEME);
    for (size_t i = 0; i < id.len; i++)
        if (id.p[i] == ':')
            buf_z(b, "%3A");
        else
            buf_char(b, id.p[i]);
}

static void
put_resource(struct buf *b, const struct task *k, enum mcp_rev rev)
{
    buf_z(b, "{\"uri\":\"");
    put_uri(b, k->ev.id);
    buf_printf(b, "\",\"name\":\"%.*s\"", STR_ARG(k->ev.id));
    if (rev >= MCP_2025_06_18)
        buf_printf(b, ",\"title\":%.*s", STR_ARG(k->f[F_TITLE]));
    buf_printf(b, ",\"description\":\"%s%s\",\"mimeType\":"
               "\"application/json\"}", task_status_name(k->status),
               k->garbled ? " (damaged)" : "");
}

int
tools_resources(struct mcp_call *c, struct str cursor, struct str *next)
{
    const struct tools *s = c->ctx;
    struct task_query q = {.limit = LIST_PART, .cursor = cursor,
                           .read_max = c->read_max};
    struct task_list list;
    int rc = tasks_list(s->t, c->arena, &q, &list);

    if (rc != 0)
        return rc;
    for (size_t i = 0; i < list.n; i++) {
        buf_z(c->out, i ? "," : "");
        put_resource(c->out, &list.tasks[i], c->rev);
    }
    *next = list.next;
    return 0;
}

/* ---- what a uri names ---- */

enum { TASK, RESUME, HISTORY, ARTIFACT, ALL };
static const struct {
    const char *below, *mime;
} kinds[] = {
    [TASK] = {"", "application/json"},
    [RESUME] = {"resume", "text/markdown"},
    [HISTORY] = {"history", "application/json"},
    [ALL] = {"", "application/json"},
};

/* The parts of a uri, whether it names something or not. */
struct named {
    int kind;
    struct str id;           /* of the task; empty: of all */
    struct str artifact;
    uint64_t event;          /* the first of a history; 0: the newest */
};

/* Splits a uri. ERR_NOT_FOUND if it has none of our forms. */
static int
split_uri(struct arena *a, struct str uri, struct named *to)
{
    struct str s = arena_unescape(a, uri); /* some write : as %3A */

    if (!s.p)
        return ERR_NOMEM;
    if (!str_starts(s, SCHEME))
        return ERR_NOT_FOUND;
    s = str_from(s, sizeof SCHEME - 1);
    *to = (struct named){.kind = s.len == 0 ? ALL : TASK,
                         .id = str_cut(&s, '/')};
    if (!s.p)
        return to->kind == ALL || task_is_id(to->id) ? 0 : ERR_NOT_FOUND;
    for (int i = RESUME; i <= HISTORY; i++)
        if (str_is(s, kinds[i].below))
            to->kind = i;
    if (str_starts(s, HISTORY_ON) &&
        str_u64(str_from(s, sizeof HISTORY_ON - 1), &to->event))
        to->kind = HISTORY;
    if (str_starts(s, ARTIFACTS)) {
        to->kind = ARTIFACT;
        to->artifact = str_from(s, sizeof ARTIFACTS - 1);
    }
    if (to->kind == HISTORY && to->id.len == 0)
        return 0;
    return to->kind != TASK && task_is_id(to->id) &&
           (to->kind != ARTIFACT || task_is_id(to->artifact))
        ? 0 : ERR_NOT_FOUND;
}

/* ---- reading ---- */

/* Appends a contents object up to its end. */
static void
put_contents(struct mcp_call *c, struct str uri, const char *mime,
             const char *kind)
{
    buf_z(c->out, "{\"uri\":");
    json_quote(c->out, uri);
    buf_printf(c->out, ",\"mimeType\":\"%s\",\"%s\":", mime, kind);
}

static void
put_uri_text(struct mcp_call *c, struct str uri, const char *mime,
             struct str text)
{
    put_contents(c, uri, mime, "text");
    json_quote(c->out, text);
    buf_char(c->out, '}');
}

static int
put_artifact_resource(struct mcp_call *c, struct str uri, const struct task *k,
                      struct str id)
{
    const struct tools *s = c->ctx;
    struct str raw = raw_quote(c->arena, id), entry, content;
    int rc;

    if (!raw.p)
        return ERR_NOMEM;
    entry = raw_list_find(k->f[F_ARTIFACTS], "artifact_id", raw);
    rc = artifact_fetch(tasks_store(s->t), s->env->artifacts_dir,
                        raw_inner(raw_member(entry, "sha256")), false,
                        c->arena, &content);
    if (rc != 0)
        return rc;
    if (utf8_is_valid(content)) {
        put_uri_text(c, uri, "text/plain", content);
        return 0;
    }
    put_contents(c, uri, "application/octet-stream", "blob");
    buf_char(c->out, '"');
    base64_encode(c->out, content);
    buf_z(c->out, "\"}");
    return 0;
}

/* Writes the text that a uri names into b. */
static int
write_text(struct mcp_call *c, struct buf *b, struct task *k,
           const struct named *at)
{
    const struct tools *s = c->ctx;
    struct task_ctx x = {.a = c->arena, .read_max = c->read_max};
    struct task_query q = {.limit = TASK_LIST_MAX, .read_max = c->read_max};
    struct task_list list;
    int rc = 0;

    if (at->kind == ALL) { /* the live tasks, like list_tasks */
        rc = tasks_list(s->t, c->arena, &q, &list);
        if (rc == 0)
            tools_put_list(b, &list, false);
        return rc;
    }
    if (at->kind == TASK || at->kind == RESUME)
        rc = tasks_list_parts(s->t, c->arena, k);
    if (at->kind == TASK)
        view_task_json(b, k);
    else if (at->kind == RESUME)
        view_task_markdown(b, c->arena, k);
    else if (at->id.len == 0)
        rc = tools_put_events(s, &x, at->event, EVENTS_MAX, b);
    else if (at->event == 0 ||
             (rc = tools_event_at(s, x.a, at->event, &k->ev)) == 0)
        rc = tools_put_history(s, &x, &k->ev, 0, HISTORY_MAX, SIZE_MAX, b);
    return rc;
}

int
tools_resource_read(struct mcp_call *c, struct str uri)
{
    const struct tools *s = c->ctx;
    bool board = str_is(uri, TOOLS_BOARD);
    struct buf b = {0};
    struct named at;
    struct str text;
    struct task k;
    int rc;

    if (board || str_is(uri, TOOLS_SKILL)) {
        rc = board ? page_text(&text) : tools_skill_text(&text);
        if (rc == 0)
            put_uri_text(c, uri, board ? "text/html;profile=mcp-app"
                                       : "text/markdown", text);
        return rc;
    }
    rc = split_uri(c->arena, uri, &at);
    if (rc == 0 && at.id.len > 0)
        rc = task_get(s->t, c->arena, at.id, &k);
    if (rc == 0 && at.kind == ARTIFACT)
        return put_artifact_resource(c, uri, &k, at.artifact);
    if (rc == 0)
        rc = write_text(c, &b, &k, &at);
    if (rc == 0)
        rc = b.err;
    if (rc == 0)
        put_uri_text(c, uri, kinds[at.kind].mime, buf_view(&b));
    buf_fini(&b);
    return rc;
}

/* ---- changes ---- */

int
tools_resource_key(void *ctx, struct arena *a, struct str uri,
                   struct str *key)
{
    struct named at;
    int rc = split_uri(a, uri, &at);

    (void)ctx;
    if (rc != 0)
        return rc;
    *key = at.id.len == 0 ? STR("")
                          : arena_printf(a, "task/%.*s", STR_ARG(at.id));
    return key->p != NULL ? 0 : ERR_NOMEM;
}

bool
tools_resources_change(void *ctx, const struct mcp_change *c)
{
    const struct store_rec r = {.key = c->key, .body = c->body, .n = c->n};
    struct task_event ev;

    (void)ctx;
    return task_event_scan(&r, &ev) == 0 &&
           (c->first || raw_list_has(ev.set, STR("\"status\"")));
}
