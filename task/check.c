/* check - the only place that checks a caller's arguments against the table of
   fields and arguments.

   1. The values that task_args_parse returns are canonical JSON from json's
      writer: no blanks, no line feeds, valid UTF-8. They can be spliced into a
      record, and equal values are equal bytes. Unknown members of an import
      are the exception: they only lose their blanks.
   2. A limit counts bytes of the decoded text, or characters if it says so. A
      value that exceeds it is too_large, any other bad value is
      invalid_argument; the error names the argument. */

#include "task/check.h"
#include "base/clock.h"
#include "base/sha256.h"
#include "base/text.h"
#include "base/utf8.h"
#include "json/raw.h"
#include "task/may.h"
#include "task/project.h"
#include "task/rows.h"

#include <stdarg.h>
#include <string.h>

#define SAFE_INT INT64_C(9007199254740991)

/* ---- one value ---- */

struct parse {
    struct task_ctx *c;
    struct json_w w;
    struct buf *b;
    const struct row *top; /* the argument being checked */
    size_t item;           /* element of its list, from 1; 0: not in one */
    const char *member;    /* of an object in it, or NULL */
    enum task_tool tool;   /* an import carries unknown members along */
    const struct task_lost *lost; /* what does not fit is cut; or NULL */
    bool cut;              /* the argument was */
    struct str notes;      /* raw array: see struct task_args */
};

/* Refuses the value being checked; the text says what it must be. */
static int
refuse(struct parse *p, int code, const char *fmt, ...)
{
    char text[256];
    size_t n = text_put(text, sizeof text, "%s", p->top->name);
    va_list ap;

    if (p->item)
        n += text_put(text + n, sizeof text - n, "[%zu]", p->item - 1);
    if (p->member)
        n += text_put(text + n, sizeof text - n, ".%s", p->member);
    text[n++] = ' ';
    va_start(ap, fmt);
    text_vput(text + n, sizeof text - n, fmt, ap);
    va_end(ap);
    return task_fail(p->c, code, p->top->name, "%s", text);
}

static int
nomem(struct parse *p)
{
    return task_fail_store(p->c, ERR_NOMEM);
}

/* Whether an import goes on without what an error is about; notes that. */
static bool
forgives(struct parse *p, int rc)
{
    bool yes = rc != 0 && rc != ERR_NOMEM && p->lost;

    p->cut |= yes;
    return yes;
}

/* Takes a path for the project that it is of. An import keeps an absolute one,
   which may be from another host. */
static int
check_repo_path(struct parse *p, struct str s)
{
    const struct task_ctx *c = p->c;
    bool imports = p->tool == TOOL_IMPORT;
    bool sets = imports || p->tool == TOOL_CREATE || p->tool == TOOL_UPDATE;
    struct str raw = c->meant;
    int rc = 0;

    if ((!sets && str_is(s, "*")) || (imports && str_starts(s, "/")))
        raw = raw_quote(c->a, s);
    else if (raw.len == 0)
        rc = project_named(c->a, c->at, s, !sets, &raw);
    if (rc == ERR_INVALID)
        return refuse(p, rc, c->at ? PROJECT_NOWHERE
                                   : "must be an absolute path; this server "
                                     "does not know your directory");
    if (rc == 0)
        json_splice(&p->w, raw);
    return rc == 0 ? 0 : nomem(p);
}

/* Whether s may be one of the paths: relative, of components that are neither
   empty nor "." nor "..". */
static bool
is_relative_path(struct str s)
{
    struct str part;

    if (s.len == 0)
        return false;
    while (s.p != NULL) {
        part = str_cut(&s, '/');
        if (part.len == 0 || str_is(part, ".") || str_is(part, ".."))
            return false;
    }
    return true;
}

static int
check_text(struct parse *p, const struct row *r, struct str s)
{
    bool chars = r->flags & CHARS;
    int rc = 0;

    if (s.len == 0 && r->flags & ONE)
        return refuse(p, ERR_INVALID, "must not be empty");
    if ((chars ? utf8_count(s) : s.len) > r->max)
        rc = refuse(p, ERR_TOO_LARGE, "is longer than %u %s", r->max,
                    chars ? "characters" : "bytes");
    if (rc != 0 && !forgives(p, rc))
        return rc;
    if (rc != 0)
        s = chars ? utf8_first(s, r->max) : utf8_cut(s, r->max);
    while (r->flags & RELATIVE && s.len > 1 && s.p[s.len - 1] == '/')
        s.len--;
    if (r->flags & RELATIVE && !is_relative_path(s))
        return refuse(p, ERR_INVALID, "must be a path relative to repo_path, "
                      "without . or ..");
    if (r == &task_rows[F_REPO_PATH])
        return check_repo_path(p, s);
    json_string(&p->w, s);
    return 0;
}

bool
task_is_id(struct str s)
{
    for (size_t i = 0; i < s.len; i++) {
        char c = s.p[i];

        if (!((c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') ||
              (c >= 'a' && c <= 'z') || c == '.' || c == '_' || c == ':' ||
              c == '-'))
            return false;
    }
    return s.len > 0 && s.len <= TASK_MAX_ID;
}

static int
check_id(struct parse *p, struct str s)
{
    uint64_t n;
    bool dots;
    char *id;
    int rc;

    if (p->c->ids && s.len > 1 && *s.p == '#' &&
        p->top != &task_rows[F_TASK_ID]) {
        if (!str_u64(str_from(s, 1), &n) || n >= p->c->n_ids)
            return refuse(p, ERR_INVALID, "must refer to an earlier item of "
                          "tasks (\"#0\" is the first)");
        s = p->c->ids[n];
    }
    /* Paths and URLs drop them. Older versions made such tasks. */
    dots = (p->tool == TOOL_IMPORT || p->tool == TOOL_CREATE) &&
           (str_is(s, ".") || str_is(s, ".."));
    if (dots || !task_is_id(s)) {
        rc = dots ? refuse(p, ERR_INVALID, "must not be . or ..")
                  : refuse(p, ERR_INVALID, "must be 1 to %d characters from "
                           "A-Z a-z 0-9 . _ : -", TASK_MAX_ID);
        if (s.len == 0 || !forgives(p, rc))
            return rc;
        /* An import takes it over with '-' for what no id may have, and '_' for
           the dots of an id of dots. */
        s.len = s.len < TASK_MAX_ID ? s.len : TASK_MAX_ID;
        s = arena_str(p->c->a, s);
        if (!s.p)
            return nomem(p);
        id = (char *)(uintptr_t)s.p;
        for (size_t i = 0; i < s.len; i++)
            if (dots || !task_is_id((struct str){id + i, 1}))
                id[i] = dots ? '_' : '-';
    }
    json_string(&p->w, s);
    return 0;
}

static int
check_name(struct parse *p, const struct row *r, struct str s)
{
    const char *const *all = row_choices[r->sub];
    char list[160]; /* the longest are those of until */
    size_t n = 0, i;

    for (i = 0; all[i]; i++) {
        if (str_is(s, all[i])) {
            json_string(&p->w, s);
            return 0;
        }
        n += text_put(list + n, sizeof list - n, "%s%s", i ? ", " : "",
                      all[i]);
    }
    if (r->sub == STATUSES)
        p->c->e.allowed = (1u << TASK_N_STATUSES) - 1;
    return refuse(p, ERR_INVALID, "must be one of %s", list);
}

/* Reads a whole number, or a string that holds one. */
static bool
int_of(const struct json_tok *t, int64_t *v)
{
    struct json_tok n = *t;
    bool minus = t->len > 0 && *t->p == '-';
    uint64_t u;

    if (t->type == JSON_STRING && !t->escaped &&
        str_u64((struct str){t->p + minus, t->len - minus}, &u))
        n.type = JSON_NUMBER;
    return json_int(&n, v);
}

static int
check_int(struct parse *p, const struct row *r, const struct json_tok *t)
{
    bool int32 = r->flags & INT32;
    int64_t v, min = int32 ? INT32_MIN : r->min;
    int64_t max = r->max ? r->max : SAFE_INT;
    struct str note;

    if (int32)
        max = INT32_MAX;
    if (int_of(t, &v) && v >= min && v <= max) {
        json_number(&p->w, v);
        return 0;
    }
    if (!(r->flags & CLAMP) || !int_of(t, &v))
        return refuse(p, ERR_INVALID, "must be a whole number from %lld to "
                      "%lld", (long long)min, (long long)max);
    /* The nearest number in the range, which the answer notes. */
    v = v < min ? min : max;
    json_number(&p->w, v);
    note = arena_printf(p->c->a, "\"%s was set to %lld, the %s\"", r->name,
                        (long long)v, v == min ? "minimum" : "maximum");
    if (note.p)
        p->notes = raw_list_edit(p->c->a, p->notes, STR_NONE, note);
    return note.p && p->notes.p ? 0 : nomem(p);
}

bool
task_time_parse(struct str s, int64_t *ms)
{
    struct str whole = s, t;
    char text[64];
    uint64_t n;

    whole = str_cut(&whole, '.');
    if (whole.len >= 9 && whole.len <= 13 && str_u64(whole, &n)) {
        *ms = (int64_t)(whole.len > 11 ? n : n * 1000);
        return true;
    }
    t = (struct str){text, text_put(text, sizeof text, "%.*s%s", STR_ARG(s),
                                    s.len == 10 ? "T00:00:00Z" : "Z")};
    if (t.len < 12 || t.len >= sizeof text)
        return false;
    if (text[10] == ' ')
        text[10] = 'T';
    return time_parse(t, ms) ||
           time_parse((struct str){t.p, t.len - 1}, ms);
}

/* ---- values with parts ---- */

/* The value as it was given, without the blanks between its tokens. */
static struct str
raw_compact(struct arena *a, const struct json_tok *t)
{
    struct str raw = json_raw(t), out = {arena_alloc(a, raw.len), 0};
    char *p = (char *)(uintptr_t)out.p;
    bool quoted = false;

    for (size_t i = 0; p && i < raw.len; i++) {
        char c = raw.p[i];

        if (!quoted && (c == ' ' || (c >= '\t' && c <= '\r')))
            continue;
        p[out.len++] = c;
        if (quoted && c == '\\')
            p[out.len++] = raw.p[++i];
        else if (c == '"')
            quoted = !quoted;
    }
    return out;
}

static int check_list(struct parse *p, const struct row *r,
                      const struct json_tok *t);
static int check_one(struct parse *p, const struct row *r,
                     const struct json_tok *t);

static int
check_object(struct parse *p, const struct row *r, const struct json_tok *t)
{
    const struct row *sub = row_objects[r->sub];
    const struct json_tok *m = t + 1;
    int rc;

    if (t->type != JSON_OBJECT)
        return refuse(p, ERR_INVALID, "must be an object");
    json_obj(&p->w);
    for (size_t i = 0; i < r->n_sub; i++, sub++) {
        const struct json_tok *v;

        p->member = sub->name;
        v = json_get(t, p->member);
        if (v && v->type != JSON_NULL) {
            json_key(&p->w, p->member);
            rc = (sub->items ? check_list : check_one)(p, sub, v);
            if (rc != 0)
                return rc;
        } else if (sub->needs) {
            return refuse(p, ERR_INVALID, "is missing");
        }
    }
    p->member = NULL;
    /* Other members are refused, or kept by an import. */
    for (uint32_t i = 0; i < t->n; i++, m += 1 + m[1].span) {
        struct str name = json_str(p->c->a, m), value;

        if (!name.p)
            return nomem(p);
        if (row_named(row_objects[r->sub], r->n_sub, 0, name))
            continue;
        if (p->tool != TOOL_IMPORT)
            return refuse(p, ERR_INVALID, "has an unknown field \"%.*s\"",
                          STR_ARG(utf8_cut(name, 64)));
        value = raw_compact(p->c->a, m + 1);
        if (!value.p)
            return nomem(p);
        json_key_str(&p->w, name);
        json_splice(&p->w, value);
    }
    json_close(&p->w);
    return 0;
}

static int
check_one(struct parse *p, const struct row *r, const struct json_tok *t)
{
    bool yes = t->type == JSON_TRUE, no = t->type == JSON_FALSE;
    struct str s;
    int64_t v;

    if (r->type == T_OBJECT)
        return check_object(p, r, t);
    if (r->type == T_BOOL || (r->type == T_COUNT && (yes || no))) {
        yes = yes || json_is(t, "true");
        if (!yes && !no && !json_is(t, "false"))
            return refuse(p, ERR_INVALID, "must be true or false");
        json_bool(&p->w, yes);
        return 0;
    }
    if (r->type == T_INT || r->type == T_COUNT)
        return check_int(p, r, t);
    if (r->type == T_WHEN && int_of(t, &v) && v >= 0) {
        json_number(&p->w, v);
        return 0;
    }
    if (t->type != JSON_STRING && t->type != JSON_NUMBER)
        return refuse(p, ERR_INVALID, "must be a string");
    s = t->type == JSON_NUMBER ? json_raw(t) : json_str(p->c->a, t);
    if (!s.p)
        return nomem(p);
    if (r->type == T_TEXT)
        return check_text(p, r, s);
    if (r->type == T_ID)
        return check_id(p, s);
    if (r->type == T_NAME)
        return check_name(p, r, s);
    if (!task_time_parse(s, &v))
        return refuse(p, ERR_INVALID, "must be %san RFC 3339 time such as "
                      "2026-07-28T09:30:00Z",
                      r->type == T_WHEN ? "a seq or " : "");
    json_z(&p->w, time_text(v));
    return 0;
}

/* Models and databases without arrays give lists as JSON text, and a list of
   one as its element. */
static int
check_list(struct parse *p, const struct row *r, const struct json_tok *t)
{
    enum json_type single = r->type == T_OBJECT ? JSON_OBJECT : JSON_STRING;
    const struct json_tok *list = t;
    const char *member = p->member;
    size_t item = p->item; /* of the list that holds this one */
    uint32_t n = 1;
    struct str text;
    int rc = 0;

    if (t->type == JSON_STRING) {
        text = json_str(p->c->a, t);
        rc = text.p ? json_parse(p->c->a, text, &list, NULL) : ERR_NOMEM;
        if (rc == ERR_NOMEM)
            return nomem(p);
        if (rc != 0 || (list->type != JSON_ARRAY && r->type != T_OBJECT))
            list = t;
        rc = 0;
    }
    if (list->type == JSON_ARRAY) {
        n = list->n;
        list++;
    } else if (list->type != single) {
        return refuse(p, ERR_INVALID, "must be an array");
    }
    if (n > r->items)
        rc = refuse(p, ERR_TOO_LARGE, "has more than %d elements", r->items);
    if (forgives(p, rc))
        rc = 0;
    json_arr(&p->w);
    for (uint32_t i = 0; i < n && i < r->items && rc == 0; i++) {
        struct json_w w = p->w;
        size_t len = p->b->len;

        p->item = i + 1;
        rc = check_one(p, r, list);
        if (forgives(p, rc)) { /* it cannot be taken over, and is left out */
            p->member = member;
            p->w = w;
            p->b->len = len;
            rc = 0;
        }
        list += list->span;
    }
    p->item = item;
    if (rc == 0)
        json_close(&p->w);
    return rc;
}

/* ---- all arguments ---- */

/* How a value is meant. */
enum sense {
    GIVEN,
    ABSENT, /* null, and what a model fills in that the argument cannot be: an
               empty text for a truth value, 0 for a number from 1 on */
    EMPTY   /* an empty text or list, or an owner that nobody can be */
};

static enum sense
sense_of(const struct parse *p, const struct row *r, const struct json_tok *t)
{
    bool no_text = t->type == JSON_STRING && t->len == 0;
    bool owner = r == &task_rows[ARG_TO_AGENT] ||
                 (r == &task_rows[F_CURRENT_OWNER] &&
                  (p->tool == TOOL_CREATE || p->tool == TOOL_UPDATE));
    bool may_be_empty = r->type == T_TEXT && !(r->flags & ONE);
    int64_t v;

    if (t->type == JSON_NULL)
        return ABSENT;
    if (owner && json_is(t, "unknown"))
        return EMPTY;
    if (r->type == T_INT && r->min > 0 && int_of(t, &v) && v == 0)
        return ABSENT;
    if (!no_text || r->type == T_CONTENT || (may_be_empty && !r->items))
        return GIVEN;
    return r->items || r->type <= T_INT ? EMPTY : ABSENT;
}

/* Removes repeated texts from a raw list, in place. */
static void
drop_doubles(struct str *list)
{
    char *p = (char *)(uintptr_t)list->p;
    struct str kept = {p, 1}, item = STR_NONE;

    while ((item = raw_list_next(*list, item)).p) {
        if (raw_list_has(kept, item))
            continue;
        if (kept.len > 1)
            p[kept.len++] = ',';
        memmove(p + kept.len, item.p, item.len);
        kept.len += item.len;
    }
    p[kept.len++] = ']';
    *list = kept;
}

static int
check_arg(struct parse *p, const struct row *r, const struct json_tok *t,
          struct str *out)
{
    enum sense sense = sense_of(p, r, t);
    int rc;

    p->top = r;
    p->member = NULL;
    *out = STR_NONE;
    if (sense == EMPTY) {
        /* An empty name is a mistake: its caller would act as nobody. Prompts
           fill in what was not given. */
        if ((r == &task_rows[ARG_AGENT] || r == &task_rows[ARG_FROM_AGENT]) &&
            t->type == JSON_STRING && p->tool < TOOL_RESUME)
            return refuse(p, ERR_INVALID, "must not be empty; pass your name, "
                          "or omit it");
        if (p->tool == TOOL_UPDATE && r - task_rows < TASK_N_FIELDS &&
            !(r->flags & FIXED))
            *out = STR("null");
        /* It would be the caller's project. */
        if (p->tool == TOOL_CREATE && r == &task_rows[F_REPO_PATH] && p->c->at)
            *out = STR("null");
    }
    if (sense != GIVEN)
        return 0;
    if (r->type == T_CONTENT || r->type == T_TASKS) {
        bool list = r->type == T_TASKS;

        *out = json_raw(t);
        if (t->type == (list ? JSON_ARRAY : JSON_STRING))
            return 0;
        return refuse(p, ERR_INVALID, "must be %s", list ? "an array"
                                                         : "a string");
    }
    buf_reset(p->b, 4096);
    json_w_init(&p->w, p->b);
    rc = r->items ? check_list(p, r, t) : check_one(p, r, t);
    if (rc != 0)
        return rc;
    *out = arena_str(p->c->a, buf_view(p->b));
    if (p->b->err || !out->p)
        return nomem(p);
    if (r->flags & SET)
        drop_doubles(out);
    return 0;
}

/* Takes an argument of the object of, by its name or by another name of it,
   which may only repeat it: one that is unset leaves what the other gave. An
   import, which counts what is lost (struct task_lost), takes what it can. */
static int
take_arg(struct parse *p, const struct row *r, const struct json_tok *of,
         struct str name, const struct json_tok *t, struct str *out)
{
    const struct json_tok *own = str_is(name, r->name)
                                     ? NULL : json_get(of, r->name);
    struct str v;
    int rc;

    p->cut = false;
    rc = check_arg(p, r, t, &v);
    if (p->lost) {
        *out = v;
        if (rc != 0 && r->needs & 1u << TOOL_IMPORT)
            return rc;
        if (forgives(p, rc))
            rc = 0;
        if (rc == 0 && p->cut) {
            rc = p->lost->keep(p->lost->of, task_arg_name((int)(r - task_rows)),
                               t, p->c->e.message);
            p->c->e = (struct task_error){0};
        }
        return rc;
    }
    if (rc == 0 && v.p && own && own->type != JSON_NULL &&
        !str_eq(json_raw(own), json_raw(t)))
        return refuse(p, ERR_INVALID, "was also passed as %.*s, with another "
                      "value; omit one of them", STR_ARG(name));
    if (rc == 0 && v.p)
        *out = v;
    return rc;
}

/* The row of an argument that tool takes; also by the name that it has, or had,
   in other tools. */
static const struct row *
row_of(enum task_tool tool, struct str name)
{
    static const struct {
        char name[16];
        int arg; /* enum task_arg */
    } aliases[] = {
        {"timeout_seconds", ARG_WAIT_SECONDS}, {"from_agent", ARG_AGENT},
    };
    const struct row *r = row_named(task_rows, TASK_N_ARGS, 1u << tool, name);

    for (size_t i = 0; !r && i < sizeof aliases / sizeof *aliases; i++)
        if (str_is(name, aliases[i].name) &&
            task_rows[aliases[i].arg].tools & 1u << tool)
            r = &task_rows[aliases[i].arg];
    return r;
}

/* Whether a member of this name is computed when a task is read, or is for the
   import alone, which drops both. */
static bool
is_derived(struct str name)
{
    static const char *const derived[] = {
        "seq", "updated_at", "import", "ready", "blocked_by", "deps_failed",
        "stale", "overlaps", "parts", "parent_waits",
        "needs_input", "lease_expired", "agent_gone", "agent_connected",
        "damaged",
    };

    for (size_t i = 0; i < sizeof derived / sizeof *derived; i++)
        if (str_is(name, derived[i]))
            return true;
    return false;
}

/* Notes an unknown argument: an import keeps it as a member; else the error
   lists it, if there is room. */
static int
note_unknown(struct parse *p, struct buf *extra, struct str name,
             const struct json_tok *t)
{
    struct str value;

    if (p->tool == TOOL_IMPORT) {
        value = raw_compact(p->c->a, t);
        if (!value.p)
            return nomem(p);
        if (t->type == JSON_NULL || is_derived(name))
            return 0;
        if (extra->len)
            buf_char(extra, ',');
        json_quote(extra, name);
        buf_char(extra, ':');
        buf_str(extra, value);
        return 0;
    }
    name = utf8_cut(name, 64);
    if (extra->len == 0)
        p->c->e.field = name;
    if (extra->len < 120)
        buf_printf(extra, "%s\"%.*s\"", extra->len ? ", " : "",
                   STR_ARG(name));
    else if (extra->p[extra->len - 1] != '.')
        buf_z(extra, ", ...");
    return 0;
}

/* Refuses unknown arguments, and tells which argument the first was meant for
   or, if it is like none, which there are. */
static int
refuse_unknown(struct parse *p, struct str unknown)
{
    struct task_ctx *c = p->c;
    struct str first = c->e.field;
    size_t least = SIZE_MAX, slips;
    const char *near = NULL;
    struct buf all = {0};
    int rc = task_fail(c, ERR_INVALID, NULL, "unknown argument %.*s",
                       STR_ARG(unknown));

    c->e.field = first;
    for (size_t i = 0; i < TASK_N_ARGS; i++) {
        if (!(task_rows[i].tools & 1u << p->tool) ||
            task_rows[i].shown == UNSHOWN)
            continue;
        buf_printf(&all, "%s%s", all.len > 0 ? ", " : "valid arguments are ",
                   task_rows[i].name);
        slips = str_slips(first, task_rows[i].name);
        if (slips < least) {
            least = slips;
            near = task_rows[i].name;
        }
    }
    if (near) {
        buf_reset(&all, all.cap);
        buf_printf(&all, "did you mean %s?", near);
    }
    c->e.next = all.len > 0 ? arena_str(c->a, buf_view(&all)) : STR_NONE;
    if (all.err || (all.len > 0 && !c->e.next.p))
        rc = nomem(p);
    buf_fini(&all);
    return rc;
}

/* Empties the fields that clear names. */
static int
take_clear(struct parse *p, struct task_args *out)
{
    struct str item = STR_NONE;
    int field;

    p->top = &task_rows[ARG_CLEAR];
    while ((item = raw_list_next(out->v[ARG_CLEAR], item)).p) {
        field = task_field_of(raw_inner(item));
        if (field < 0 || !(task_rows[field].tools & 1u << TOOL_UPDATE) ||
            task_rows[field].flags & FIXED)
            return refuse(p, ERR_INVALID, "lists %.*s, which cannot be cleared",
                          STR_ARG(utf8_cut(item, 64)));
        if (out->v[field].p && !str_is(out->v[field], "null"))
            return refuse(p, ERR_INVALID, "lists %.*s, which was also passed",
                          STR_ARG(item));
        out->v[field] = STR("null");
    }
    return 0;
}

/* The caller's name in each argument that is one: the one that was given or, if
   that says nothing, its own. With a token its agent is the caller, and a name
   must be one of its; otherwise a caller that gives no name gets its
   session's. */
static int
take_agent(struct parse *p, struct task_args *out)
{
    struct task_ctx *c = p->c;
    bool token = c->who.principal.len > 0;
    struct str self = token ? c->who.principal : c->who.self;
    struct str *from = &out->v[ARG_FROM_AGENT];

    if (p->tool == TOOL_HANDOFF && !from->p) /* its name for agent */
        *from = out->v[ARG_AGENT];
    self = self.len ? raw_quote(c->a, self) : STR_NONE;
    if (!self.p && (token || c->who.self.len))
        return nomem(p);
    out->self = self;
    for (int arg = ARG_AGENT; arg <= ARG_FROM_AGENT; arg++) {
        struct str *name = &out->v[arg];

        if (!(task_rows[arg].tools & 1u << p->tool) || (!self.p && !name->p))
            continue;
        /* A wait for a task is met by anybody, unless an agent is named. */
        if (!token && !name->p &&
            ((p->tool == TOOL_WAIT && out->v[F_TASK_ID].p) ||
             (p->tool == TOOL_HANDOFF && arg == ARG_AGENT)))
            continue;
        p->top = &task_rows[arg];
        /* Models call themselves by their product, which says nothing. */
        if (name->p && !(name_says_product(c->who.client) &&
                         name_covers(raw_text(c->a, *name), c->who.client))) {
            if (!token || str_eq(*name, self) ||
                actor_has_token_name(&c->who, *name))
                continue;
            refuse(p, ERR_UNAUTHORIZED, "is not the agent of your token");
            return task_next(c, "omit it; your token identifies you");
        }
        if (self.p)
            *name = self;
        out->own_name = !token;
    }
    return 0;
}

static int
parse_args(struct task_ctx *c, enum task_tool tool, const struct json_tok *obj,
           const struct task_lost *lost, struct task_args *out)
{
    /* An argument that has no effect beside another one is refused: its caller
       would believe that it had. */
    static const struct {
        enum task_tool tool;
        int arg, beside; /* enum task_arg */
    } without_effect[] = {
        {TOOL_CLAIM, ARG_TAG, F_TASK_ID},
        {TOOL_ATTACH, ARG_ENCODING, ARG_PATH},
    };
    static const struct json_tok none = {.type = JSON_OBJECT, .span = 1};
    static struct buf b; /* kept, since every call needs it */
    struct parse p = {.c = c, .b = &b, .tool = tool, .lost = lost};
    struct buf extra = {0};
    const struct json_tok *m;
    size_t i;
    int rc = 0;

    memset(out, 0, sizeof *out);
    if (!obj)
        obj = &none;
    if (obj->type != JSON_OBJECT)
        return task_fail(c, ERR_INVALID, NULL,
                         "the arguments must be an object");
    m = obj + 1;
    for (i = 0; i < obj->n && rc == 0; i++, m += 1 + m[1].span) {
        struct str name = json_str(c->a, m);
        const struct row *r = row_of(tool, name);

        if (!name.p)
            rc = nomem(&p);
        else if (r)
            rc = take_arg(&p, r, obj, name, m + 1, &out->v[r - task_rows]);
        else
            rc = note_unknown(&p, &extra, name, m + 1);
    }
    if (rc == 0 && extra.err) {
        rc = nomem(&p);
    } else if (rc == 0 && extra.len > 0 && tool == TOOL_IMPORT) {
        out->extra = arena_str(c->a, buf_view(&extra));
        rc = out->extra.p ? 0 : nomem(&p);
    } else if (rc == 0 && extra.len > 0) {
        rc = refuse_unknown(&p, buf_view(&extra));
    }
    buf_fini(&extra);
    if (rc == 0 && out->v[ARG_CLEAR].p)
        rc = take_clear(&p, out);
    for (i = 0; rc == 0 && i < sizeof without_effect / sizeof *without_effect;
         i++) {
        int arg = without_effect[i].arg, beside = without_effect[i].beside;

        p.top = &task_rows[arg];
        if (without_effect[i].tool == tool && out->v[arg].p &&
            out->v[beside].p)
            rc = refuse(&p, ERR_INVALID, "has no effect together with %s; "
                        "omit one of them", task_rows[beside].name);
    }
    if (rc == 0)
        rc = take_agent(&p, out);
    for (i = 0; i < TASK_N_ARGS && rc == 0; i++) {
        p.top = &task_rows[i];
        if (task_rows[i].needs & 1u << tool && !out->v[i].p)
            rc = refuse(&p, ERR_INVALID, "is missing");
    }
    out->notes = p.notes;
    return rc;
}

int
task_args_parse(struct task_ctx *c, enum task_tool tool,
                const struct json_tok *obj, struct task_args *out)
{
    return parse_args(c, tool, obj, NULL, out);
}

int
task_args_fit(struct task_ctx *c, const struct json_tok *obj,
              const struct task_lost *lost, struct task_args *out)
{
    return parse_args(c, TOOL_IMPORT, obj, lost, out);
}

void
task_args_digest(const struct task_args *args, char hex[SHA256_HEX + 1])
{
    struct sha256 s;

    sha256_init(&s);
    for (size_t i = 0; i < TASK_N_ARGS; i++) {
        if (!args->v[i].p || i == ARG_IDEMPOTENCY_KEY)
            continue;
        sha256_add(&s, task_rows[i].name, task_rows[i].len);
        sha256_add(&s, args->v[i].p, args->v[i].len);
        sha256_add(&s, "\n", 1); /* canonical values have none */
    }
    sha256_end_hex(&s, hex);
}

/* ---- reading arguments ---- */

struct str
task_arg_text(struct arena *a, const struct task_args *args, int arg)
{
    return raw_text(a, args->v[arg]);
}

uint64_t
task_arg_u64(const struct task_args *args, int arg, uint64_t otherwise)
{
    uint64_t v;

    return str_u64(args->v[arg], &v) ? v : otherwise;
}

bool
task_arg_true(const struct task_args *args, int arg)
{
    return str_is(args->v[arg], "true");
}
