/* get - the tools that read: get_task, for a task, its history or an artifact,
   in pieces if one answer is too small; and list_tasks.

   1. The cost of the answer, by json_cost, stays within ROOM; the cost of the
      envelope and of the last members is reserved beforehand.
   2. A task that fits is copied whole from its record. One that does not is
      taken member by member: lists are cut between elements, texts between
      characters, other values are taken whole.
   3. A cursor of a task is "seq.member.offset" and continues in the record of
      that seq, so that all pieces show one state even if the task changes
      meanwhile. offset counts elements of a list, or bytes of a text in JSON.
      All pieces of a member, joined, are the member.
   4. Each call makes progress: a piece that fits in no answer is left out,
      which the limits of task/fields.c prevent for all known fields. */

#include "tools/get.h"
#include "store/remote.h"
#include "task/artifact.h"
#include "task/view.h"
#include "base/base64.h"
#include "base/utf8.h"

#include <string.h>

#define ROOM (TOOLS_ANSWER_MAX - TOOLS_ENVELOPE)
#define TAIL 512 /* truncated, next_cursor and the place of the cut */
#define WHOLE ",\"truncated\":false}" /* the end of an answer that is not cut */
#define EVENTS 20   /* of a history, if no limit is given */
#define NOTE_MAX 12288 /* cost of a note in a history */
#define BRIEF_NOTE 1024 /* and among the events of all tasks */
#define READ_COST 2048 /* of an event in it, besides its own bytes */
#define GAP_COST 16384 /* of a number that no event has: it is sought twice */

/* An answer that is being written. */
struct piece {
    const struct tools *s;
    struct task_ctx *x;
    const struct task_args *args;
    struct buf *out;
    size_t used;    /* the cost of the answer, with the reserve, */
    size_t counted; /* up to this offset in out */
    uint64_t current; /* the task's version, if it is a past state */
    bool headed; /* it has task_id and version already */
};

/* The cost of b from start on. */
static size_t
cost_from(const struct buf *b, size_t start)
{
    return json_cost(str_from(buf_view(b), start));
}

/* The cost that may still be appended. */
static size_t
room_in_answer(struct piece *p)
{
    p->used += cost_from(p->out, p->counted);
    p->counted = p->out->len;
    return p->used + TAIL < ROOM ? ROOM - TAIL - p->used : 0;
}

/* rc: what tools_event_at returned for the event that the cursor names; or
   ERR_INVALID. */
static int
bad_cursor(struct piece *p, int rc)
{
    return task_fail(p->x, ERR_INVALID, "cursor", rc == ERR_NOT_FOUND
                     ? "this cursor has expired; call again without it"
                     : "this cursor is not from get_task for this task; call "
                       "again without it");
}

/* The length of the character or escape at p, inside a JSON string. */
static size_t
unit_len(const char *p, const char *end)
{
    size_t n;

    if (*p != '\\')
        n = utf8_len(p, end);
    else
        n = end - p > 1 && p[1] == 'u' ? 6 : 2;
    return n <= (size_t)(end - p) ? n : 0;
}

/* The number of bytes of s, the inside of a JSON string, that cost at most max,
   cut between characters; *decoded, unless NULL, is their number unescaped. */
static size_t
text_prefix(struct str s, size_t max, size_t *decoded)
{
    const char *p = s.p, *end = str_end(s);
    size_t n, cost, bytes = 0;

    while (p < end && (n = unit_len(p, end)) != 0) {
        cost = json_cost((struct str){p, n});
        if (cost > max)
            break;
        max -= cost;
        /* An escape stands for one byte: json_quote escapes no others. */
        bytes += *p == '\\' ? 1 : n;
        p += n;
    }
    if (decoded)
        *decoded = bytes;
    return (size_t)(p - s.p);
}

/* ---- the task ---- */

struct place {
    uint64_t seq, member, offset;
};

static bool
read_place(struct str s, struct place *at)
{
    return str_u64(str_cut(&s, '.'), &at->seq) &&
           str_u64(str_cut(&s, '.'), &at->member) && str_u64(s, &at->offset);
}

/* The rest of a value from offset on, as a value; .p NULL: there is no such
   place, or memory ran out. */
static struct str
rest_of(struct arena *a, struct str value, uint64_t offset)
{
    const char *p = value.p + 1, *end = value.p + value.len;
    struct str item = STR_NONE;
    size_t at = 0, n;

    if (offset == 0)
        return value;
    if (*value.p == '"') { /* between two characters */
        while (offset && (n = unit_len(p, end)) != 0 && n <= offset) {
            offset -= n;
            p += n;
        }
        at = (size_t)(p - value.p);
    } else if (*value.p == '[') {
        while (offset && (item = raw_list_next(value, item)).p)
            offset--;
        if (item.p)
            at = (size_t)(item.p + item.len - value.p);
        at += value.p[at] == ',';
    }
    if (offset != 0 || at == value.len)
        return STR_NONE;
    return arena_printf(a, "%c%.*s", *value.p, (int)(value.len - at),
                        value.p + at);
}

/* Appends as much of a text or list as costs at most max, as a value, to b.
   Returns how far that goes; 0 if nothing fits. */
static uint64_t
part_of(struct buf *b, struct str value, size_t max)
{
    struct str item = STR_NONE;
    size_t end = 0, used = 8;
    uint64_t n = 0;

    if (*value.p == '"') {
        n = max > 8 ? text_prefix(raw_inner(value), max - 8, NULL) : 0;
        end = (size_t)n + 1;
    }
    while (*value.p == '[' && (item = raw_list_next(value, item)).p) {
        used += json_cost(item) + 2;
        if (used > max)
            break;
        end = (size_t)(item.p + item.len - value.p);
        n++;
    }
    buf_put(b, value.p, end);
    buf_char(b, *value.p == '"' ? '"' : ']');
    return n;
}

/* Appends a member whole (true), or the *n bytes or elements that fit. */
static bool
put_task_member(struct piece *p, struct str name, struct str value, uint64_t *n)
{
    struct buf *b = p->out;
    size_t head = json_cost(name) + 16, max = room_in_answer(p), start = b->len;
    bool whole = head + json_cost(value) <= max;

    buf_printf(b, "%s\"%.*s\":", b->len && b->p[b->len - 1] != '{' ? "," : "",
               STR_ARG(name));
    *n = 0;
    if (whole)
        buf_str(b, value);
    else if (head < max)
        *n = part_of(b, value, max - head);
    if (!whole && *n == 0)
        b->len = start;
    return whole;
}

/* Appends members from *at on while they fit. Returns 1 if all did; 0 if the
   answer ends at *at, before or in the member *name; or an error. */
static int
put_task_members(struct piece *p, struct str v, struct place *at,
                 struct str *name)
{
    struct raw_members m = raw_members_of(v);
    uint64_t i, n = 0, start = at->member;
    struct str rest;
    bool whole = true;
    int rc = 1;

    for (i = 0; whole && (rc = raw_next(&m)) == 1; i++) {
        if (i < at->member)
            continue;
        rest = rest_of(p->x->a, m.value, at->offset);
        if (!rest.p)
            return bad_cursor(p, ERR_INVALID);
        whole = (p->headed && (str_is(m.name, "task_id") ||
                               str_is(m.name, "version"))) ||
                put_task_member(p, m.name, rest, &n);
        if (whole || (n == 0 && i == start)) { /* invariant 4 */
            at->member = i + 1;
            at->offset = 0;
        } else {
            at->offset += n;
        }
        *name = m.name;
    }
    return rc < 0 ? rc : whole;
}

/* Ends an answer at *at. */
static void
put_cut(struct piece *p, const struct place *at, struct str name)
{
    buf_printf(p->out, ",\"cut\":{\"field\":\"%.*s\",\"offset\":%llu},"
               "\"truncated\":true,\"next_cursor\":\"%llu.%llu.%llu\"}",
               STR_ARG(name), (unsigned long long)at->offset,
               (unsigned long long)at->seq, (unsigned long long)at->member,
               (unsigned long long)at->offset);
}

/* Appends the members that are not stored. */
static void
put_derived(struct buf *b, const struct piece *p, const struct task *k)
{
    view_derived_json(b, k);
    if (p->current)
        buf_printf(b, ",\"current_version\":%llu",
                   (unsigned long long)p->current);
}

/* Appends a piece of a task that does not fit into one answer: its start, or
   with on the next one, from *at. */
static int
get_pieces(struct piece *p, const struct task *k, struct place *at, bool on)
{
    struct buf b = {0};
    struct str name = STR_NONE;
    int rc;

    p->headed = on;
    if (on) {
        buf_printf(p->out, "{\"task_id\":\"%.*s\",\"version\":%llu,\"seq\":"
                   "%llu", STR_ARG(k->ev.id), (unsigned long long)k->version,
                   (unsigned long long)k->ev.r.n);
    } else {
        buf_char(p->out, '{');
        put_derived(&b, p, k);
        p->used += json_cost(buf_view(&b));
    }
    rc = put_task_members(p, k->ev.v, at, &name);
    buf_str(p->out, buf_view(&b));
    if (rc == 0)
        put_cut(p, at, name);
    else
        buf_z(p->out, WHOLE);
    if (b.err)
        p->out->err = b.err;
    buf_fini(&b);
    return rc < 0 ? rc : 0;
}

int
tools_event_at(const struct tools *s, struct arena *a, uint64_t n,
               struct task_event *ev)
{
    struct str id = ev->id;
    int rc = task_event_n(s->t, a, n, ev);

    return rc == ERR_FORMAT || (rc == 0 && !str_eq(ev->id, id)) ? ERR_INVALID
                                                                : rc;
}

static struct str
cursor_of(const struct piece *p)
{
    return task_arg_text(p->x->a, p->args, ARG_CURSOR);
}

static int
get_rest(struct piece *p, struct task_event *ev, struct str cursor)
{
    struct place at;
    struct task k;
    int rc;

    if (!read_place(cursor, &at))
        return bad_cursor(p, ERR_INVALID);
    rc = tools_event_at(p->s, p->x->a, at.seq, ev);
    if (rc == ERR_NOT_FOUND || rc == ERR_INVALID)
        return bad_cursor(p, rc);
    if (rc == 0)
        rc = task_peek(p->s->t, p->x->a, ev, &k);
    return rc == 0 ? get_pieces(p, &k, &at, true)
                   : task_fail_store(p->x, rc);
}

static int
get_current(struct piece *p, struct task_event *ev)
{
    struct str cursor = cursor_of(p);
    struct place at = {.seq = ev->r.n};
    struct task k;
    size_t room = ROOM - TAIL - 2048; /* for derived members but blocked_by */
    int rc;

    if (cursor.p)
        return get_rest(p, ev, cursor);
    rc = task_peek(p->s->t, p->x->a, ev, &k);
    if (rc == 0 && !p->current)
        rc = tasks_list_parts(p->s->t, p->x->a, &k);
    if (rc != 0)
        return task_fail_store(p->x, rc);
    if (p->current) /* the derived members are about the present */
        k.ready = k.needs_input = k.lease_expired = k.stale = k.gone = false;
    if (p->current)
        k.blocked_by = k.deps_failed = k.clashes = k.above = STR_NONE;
    if (p->current)
        k.parts = (struct task_parts){0};
    room -= json_cost(k.blocked_by) + json_cost(k.part_list);
    /* Stored JSON has no control characters: a byte is quoted by two at
       most, so a short one needs no counting. */
    if (ev->v.len > room / 3 && json_cost(ev->v) > room)
        return get_pieces(p, &k, &at, false);
    buf_put(p->out, ev->v.p, ev->v.len - 1);
    put_derived(p->out, p, &k);
    buf_char(p->out, '}');
    return 0;
}

int
tools_put_event(struct mcp_call *c, struct task_ctx *x,
                const struct task_args *args, uint64_t seq)
{
    struct piece p = {.s = c->ctx, .x = x, .args = args, .out = c->out,
                      .counted = c->out->len};
    struct task_event ev;
    int rc = task_event_n(p.s->t, x->a, seq, &ev);

    return rc == 0 ? get_current(&p, &ev) : rc;
}

/* ---- the history ---- */

/* Appends an event; its note is cut if that costs more than max. */
static void
put_event_piece(struct buf *b, const struct task_event *ev, struct arena *a,
                size_t max)
{
    struct task_event cut = *ev;
    struct str in = raw_inner(ev->note);
    size_t n = in.p ? text_prefix(in, max, NULL) : 0;

    if (n < in.len)
        cut.note = arena_printf(a, "\"%.*s\"", (int)n, in.p);
    view_event_json(b, &cut);
    if (n < in.len && b->err == 0) {
        b->len--;
        buf_z(b, ",\"note_cut\":true}");
    }
}

int
tools_put_history(const struct tools *s, const struct task_ctx *x,
                  struct task_event *ev, uint64_t since, uint64_t limit,
                  size_t room, struct buf *out)
{
    size_t note_max = room == SIZE_MAX ? room : NOTE_MAX;
    size_t read = 0, start = out->len, cost;
    bool dropped = false;
    int rc = 0;

    buf_printf(out, "{\"task_id\":\"%.*s\"", STR_ARG(ev->id));
    buf_z(out, ",\"events\":[");
    room -= cost_from(out, start);
    for (uint64_t n = 0; rc == 0 && ev->r.n > since && n < limit &&
                (x->read_max == 0 || read < x->read_max); n++) {
        start = out->len;
        buf_z(out, n ? "," : "");
        put_event_piece(out, ev, x->a, note_max);
        cost = cost_from(out, start);
        if (cost > room) {
            out->len = start;
            break;
        }
        room -= cost;
        read += ev->v.len + READ_COST;
        rc = task_event_prev(s->t, x->a, ev);
        dropped = rc == ERR_NOT_FOUND && ev->r.p != 0;
    }
    if (rc == 0 && ev->r.n > since)
        buf_printf(out, "],\"truncated\":true,\"next_cursor\":\"%llu\"}",
                   (unsigned long long)ev->r.n);
    else
        buf_printf(out, "]%s" WHOLE, dropped ? ",\"older_dropped\":true" : "");
    return rc == ERR_NOT_FOUND ? 0 : rc;
}

int
tools_put_events(const struct tools *s, const struct task_ctx *x, uint64_t n,
                 uint64_t limit, struct buf *out)
{
    uint64_t shown = 0, head = store_next_n(tasks_store(s->t)) - 1;
    struct task_event ev;
    size_t read = 0;
    int rc = 0;

    buf_z(out, "{\"events\":[");
    n = n > 0 && n < head ? n : head;
    for (; n > 0 && shown < limit && (x->read_max == 0 || read < x->read_max);
         n--) {
        rc = task_event_n(s->t, x->a, n, &ev);
        /* It is gone, of no task, or cannot be read. */
        if (rc == ERR_NOT_FOUND || rc == ERR_FORMAT || rc == ERR_DAMAGED) {
            read += GAP_COST;
            continue;
        }
        if (rc != 0 && rc != ERR_GARBLED)
            return rc;
        read += ev.v.len + READ_COST;
        buf_z(out, shown++ ? "," : "");
        put_event_piece(out, &ev, x->a, BRIEF_NOTE);
    }
    if (n > 0)
        buf_printf(out, "],\"truncated\":true,\"next_cursor\":\"%llu\"}",
                   (unsigned long long)n);
    else
        buf_z(out, "]" WHOLE);
    return 0;
}

static int
get_history(struct piece *p, struct task_event *ev)
{
    struct str cursor = cursor_of(p);
    uint64_t n;
    int rc = 0;

    if (cursor.p && !str_u64(cursor, &n))
        return bad_cursor(p, ERR_INVALID);
    if (cursor.p)
        rc = tools_event_at(p->s, p->x->a, n, ev);
    if (rc == ERR_NOT_FOUND || rc == ERR_INVALID)
        return bad_cursor(p, rc);
    if (rc == 0)
        rc = tools_put_history(p->s, p->x, ev,
                               task_arg_u64(p->args, ARG_SINCE_SEQ, 0),
                               task_arg_u64(p->args, ARG_EVENTS, EVENTS),
                               ROOM - TAIL, p->out);
    return rc == 0 ? 0 : task_fail_store(p->x, rc);
}

/* ---- artifacts ---- */

/* Appends the content from offset on, as much as fits; returns the number of
   its bytes taken. */
static size_t
put_artifact_content(struct piece *p, struct str content, size_t offset,
                     bool text)
{
    struct str s = {content.p + offset, content.len - offset};
    size_t room = room_in_answer(p) - 64, n;
    struct buf *b = p->out;

    buf_printf(b, ",\"encoding\":\"%s\",\"content\":",
               text ? "utf8" : "base64");
    if (!text) {
        n = room / 2 / 4 * 3;
        n = s.len < n ? s.len : n;
        buf_char(b, '"');
        base64_encode(b, (struct str){s.p, n});
    } else {
        /* A character costs at least two bytes. The writer would replace a
           sequence that is cut off. */
        size_t at = b->len + 1;

        json_quote(b, utf8_cut(s, room / 2));
        n = 0;
        if (b->err == 0)
            b->len = at + text_prefix((struct str){b->p + at, b->len - at - 1},
                                      room, &n);
    }
    buf_char(b, '"');
    return n;
}

/* Appends the lines with the text that match asks for, from *at on. The cost of
   a byte depends on its value: an answer that is too long is made again with
   fewer bytes. */
static void
put_matches(struct piece *p, struct str content, size_t *at)
{
    struct str text = task_arg_text(p->x->a, p->args, ARG_MATCH);
    size_t room = room_in_answer(p) - 64, max = room / 2, from = *at, start;
    struct buf lines = {0};

    buf_z(p->out, ",\"encoding\":\"utf8\",\"content\":");
    start = p->out->len;
    do {
        p->out->len = start;
        buf_reset(&lines, max);
        *at = from;
        artifact_match(&lines, content, text,
                       task_arg_u64(p->args, ARG_LINES, 0), max, at);
        json_quote(p->out, buf_view(&lines));
        max /= 2;
    } while (p->out->err == 0 && cost_from(p->out, start) > room);
    p->out->err |= lines.err;
    buf_fini(&lines);
}

/* Where to begin in a content of len bytes, as offset asks for; one below 0
   counts from the end. */
static size_t
start_in(const struct piece *p, size_t len)
{
    struct str raw = p->args->v[ARG_OFFSET];
    bool back = raw.len > 0 && *raw.p == '-';
    uint64_t n = raw_u64(back ? str_from(raw, 1) : raw);

    if (n > len)
        n = len;
    return back ? len - (size_t)n : (size_t)n;
}

/* Reads what an artifact holds. */
static int
fetch_task(struct piece *p, struct str entry, struct str *content)
{
    struct str hex = raw_inner(raw_member(entry, "sha256"));
    struct store *store = tasks_store(p->s->t);
    const char *why = store_content_why(store);
    int rc = artifact_fetch(store, p->s->env->artifacts_dir, hex, false,
                            p->x->a, content);

    if (rc == ERR_NOT_FOUND) {
        task_fail(p->x, rc, "artifact_id", "the content is not in the "
                  "artifacts directory%s%s", *why ? "; " : "", why);
        return task_next(p->x, "attach the same content again, or tell the "
                         "operator to run \"mcptask verify\"");
    }
    if (rc == ERR_DAMAGED)
        return task_fail(p->x, rc, "artifact_id",
                         "the content has changed since it was attached");
    return rc != 0 ? task_fail_store(p->x, rc) : 0;
}

static int
get_content(struct piece *p, struct str entry)
{
    struct str cursor = cursor_of(p), content;
    uint64_t offset = 0;
    size_t n;
    bool text;
    int rc;

    if (cursor.p && !str_u64(cursor, &offset))
        return bad_cursor(p, ERR_INVALID);
    rc = fetch_task(p, entry, &content);
    if (rc != 0)
        return rc;
    text = utf8_is_valid(content);
    if (!cursor.p)
        for (offset = start_in(p, content.len);
             text && utf8_is_within(content, (size_t)offset); offset++)
            ;
    else if (offset > content.len ||
             (text && utf8_is_within(content, (size_t)offset)))
        return bad_cursor(p, ERR_INVALID);
    n = (size_t)offset;
    if (p->args->v[ARG_MATCH].p)
        put_matches(p, content, &n);
    else
        n += put_artifact_content(p, content, (size_t)offset, text);
    buf_printf(p->out, ",\"offset\":%llu", (unsigned long long)offset);
    if (n < content.len)
        buf_printf(p->out, ",\"truncated\":true,\"next_cursor\":\"%zu\"}", n);
    else
        buf_z(p->out, WHOLE);
    return 0;
}

static int
get_artifact(struct piece *p, const struct task_event *ev)
{
    struct str id = p->args->v[ARG_ARTIFACT_ID], entry;

    if (!id.p)
        return task_fail(p->x, ERR_INVALID, "artifact_id",
                         "section artifact needs artifact_id");
    entry = raw_list_find(raw_member(ev->v, "artifacts"), "artifact_id", id);
    if (!entry.p)
        return task_fail(p->x, ERR_NOT_FOUND, "artifact_id",
                         "the task has no artifact %.*s", STR_ARG(id));
    buf_printf(p->out, "{\"task_id\":\"%.*s\",\"artifact\":%.*s",
               STR_ARG(ev->id), STR_ARG(entry));
    if (raw_member(entry, "sha256").p)
        return get_content(p, entry);
    buf_z(p->out, WHOLE);
    return 0;
}

/* Goes back to the version that is asked for. */
static int
go_back(struct piece *p, struct task_event *ev)
{
    uint64_t version = task_arg_u64(p->args, F_VERSION, 0);
    int rc;

    if (version == 0)
        return 0;
    p->current = task_event_version(ev);
    rc = task_event_back(p->s->t, p->x->a, version, p->x->read_max, ev);
    if (rc == 0 || (rc != ERR_NOT_FOUND && rc != ERR_TOO_LARGE))
        return rc == 0 ? 0 : task_fail_store(p->x, rc);
    if (version > p->current)
        task_fail(p->x, rc, "version", "the task is at version %llu",
                  (unsigned long long)p->current);
    else
        task_fail(p->x, rc, "version", "version %llu cannot be read; the "
                  "oldest readable one is %llu", (unsigned long long)version,
                  (unsigned long long)task_event_version(ev));
    p->x->e.version = p->current;
    return task_next(p->x, rc == ERR_TOO_LARGE
        ? "call get_task with section history to find its seq, then with "
          "cursor SEQ.0.0"
        : "call get_task with section history to see the versions");
}

/* Refuses what another section is asked by: its answer would be taken for one
   to that. */
static int
check_section(struct piece *p, struct str section)
{
    static const struct {
        int arg; /* enum task_arg */
        const char *needs; /* this section */
    } args[] = {
        {ARG_ARTIFACT_ID, "artifact"}, {ARG_OFFSET, "artifact"},
        {ARG_MATCH, "artifact"}, {ARG_LINES, "artifact"},
        {ARG_SINCE_SEQ, "history"}, {ARG_EVENTS, "history"},
    };

    for (size_t i = 0; i < sizeof args / sizeof *args; i++) {
        struct str given = p->args->v[args[i].arg];
        struct str name = task_arg_name(args[i].arg);

        if (given.p && !str_is(given, "0") && !str_is(section, args[i].needs))
            return task_fail(p->x, ERR_INVALID, name.p, "%.*s needs section "
                             "%s", STR_ARG(name), args[i].needs);
    }
    return 0;
}

static int
get(struct piece *p)
{
    struct str id = raw_inner(p->args->v[F_TASK_ID]);
    struct str section = raw_inner(p->args->v[ARG_SECTION]);
    struct task_event ev;
    int rc;

    if (!section.p && p->args->v[ARG_ARTIFACT_ID].p)
        section = STR("artifact");
    rc = check_section(p, section);
    if (rc != 0)
        return rc;
    rc = task_event_last(p->s->t, p->x->a, id, &ev);
    if (rc != 0)
        return task_fail_read(p->x, p->s->t, id, rc);
    if ((rc = go_back(p, &ev)) != 0)
        return rc;
    if (str_is(section, "history"))
        return get_history(p, &ev);
    if (str_is(section, "artifact"))
        return get_artifact(p, &ev);
    return get_current(p, &ev);
}

int
tools_get(struct mcp_call *c)
{
    struct task_args args;
    struct task_ctx x;
    struct piece p = {.s = c->ctx, .x = &x, .args = &args, .out = c->out,
                      .counted = c->out->len};
    size_t start = c->out->len;

    if (tools_args(c, &x, &args) == 0 && get(&p) == 0) {
        tools_put_notes(c->out, &args);
        return c->out->err;
    }
    c->out->len = start;
    return tools_error(c, &x.e);
}

/* ---- list_tasks ---- */

/* Adds what a task depends on, raw, if anything, to its summary. */
static void
put_depends_on(struct buf *out, struct str ids)
{
    if (!ids.p || out->err != 0)
        return;
    out->len--;
    buf_printf(out, ",\"depends_on\":%.*s}", STR_ARG(ids));
}

/* Appends the summaries that fit into one answer; returns their number. */
static size_t
put_summaries(struct buf *out, const struct task_list *list, bool deps)
{
    size_t used = TOOLS_ENVELOPE + 1024, i;

    for (i = 0; i < list->n; i++) {
        size_t start = out->len;

        buf_z(out, i ? "," : "");
        view_summary_json(out, &list->tasks[i]);
        if (deps)
            put_depends_on(out, list->tasks[i].f[F_DEPENDS_ON]);
        used += cost_from(out, start);
        if (used > TOOLS_ANSWER_MAX && i > 0) {
            out->len = start;
            break;
        }
    }
    return i;
}

void
tools_put_list(struct buf *out, const struct task_list *list, bool deps)
{
    struct str next = list->next;
    size_t n;

    buf_z(out, "{\"tasks\":[");
    n = put_summaries(out, list, deps);
    if (n < list->n)
        next = list->after[n - 1];
    buf_printf(out, "],\"head_seq\":%llu,\"%s\":%llu%s%s",
               (unsigned long long)list->head,
               list->exact ? "total" : "total_at_least",
               (unsigned long long)list->total,
               n < list->n ? ",\"truncated\":true" : "",
               list->partial ? ",\"partial\":true" : "");
    if (next.len)
        buf_printf(out, ",\"next_cursor\":\"%.*s\"", STR_ARG(next));
    buf_char(out, '}');
}

int
tools_list(struct mcp_call *c)
{
    const struct tools *s = c->ctx;
    struct arena *a = c->arena;
    struct task_list list;
    struct task_args args;
    struct task_ctx x;
    struct task_query q;
    int rc = tools_args(c, &x, &args);

    if (rc != 0)
        return tools_error(c, &x.e);
    rc = task_query_of(a, &args, &q);
    q.read_max = x.read_max;
    if (rc == 0)
        rc = tasks_list(s->t, a, &q, &list);
    if (rc == ERR_INVALID)
        task_fail(&x, rc, "cursor", "this cursor is not from list_tasks; call "
                  "again without it");
    else if (rc != 0)
        task_fail_store(&x, rc);
    if (rc != 0)
        return tools_error(c, &x.e);
    tools_put_list(c->out, &list, q.has[ATOM_PARENT_ID].p != NULL);
    tools_put_notes(c->out, &args);
    return c->out->err;
}
