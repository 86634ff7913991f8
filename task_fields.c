/* task_fields - the table of fields and arguments, and the one place where
   what a caller sent is held against it.

   1. What task_args_parse lets through is canonical JSON made by json's
      writer: no blanks, no line feed, valid UTF-8. It may be spliced into a
      record, and equal values are equal bytes.
   2. Limits count characters where they say so and bytes of the decoded text
      otherwise. What is over a limit of size is too_large, all else that
      does not fit is invalid_argument, and both name the argument.
   3. Limits that are this program's own choice (reason, notes, path ...) are
      such that any element of a list and any object, escaped twice, fits
      into one answer (tools_get.c); for questions task_change.c sees to it.
   4. A name may stand in two rows, if no tool takes both. */

#include "task_fields.h"
#include "sha256.h"
#include "task_raw.h"
#include "text.h"

#include <stdarg.h>
#include <string.h>

enum type {
    T_TEXT,    /* max bytes, or characters with CHARS */
    T_ID,      /* [A-Za-z0-9._:-]{1,128} */
    T_NAME,    /* one of choices */
    T_TIME,    /* RFC 3339 */
    T_WHEN,    /* RFC 3339, or a seq */
    T_INT,     /* min to max; no text from here on */
    T_COUNT,   /* a whole number from 0, or a truth value */
    T_BOOL,
    T_OBJECT,  /* with the members of sub */
    T_CONTENT  /* any string, taken as it stands */
};

/* ONE: not empty; FIXED: no null; INT32: from INT32_MIN to INT32_MAX; SET: a
   list in which what stood before is left out; MINUTES: max is in these, the
   value in seconds; TOLD: every schema tells the members */
enum {
    CHARS = 1, ONE = 2, FIXED = 4, INT32 = 8, SET = 16, MINUTES = 32,
    TOLD = 64
};

/* Every name once, so that a row needs two bytes to say which. */
#define NAMES(X) \
    X(command) X(exit_code) X(passed) X(failed) X(summary) X(from_agent) \
    X(to_agent) X(reason) X(at) X(agent) X(seq) X(artifact_id) X(name) \
    X(type) X(size) X(sha256) X(path) X(description) X(task_id) X(status) \
    X(current_owner) X(priority) X(repo_path) X(parent_id) X(tags) \
    X(depends_on) X(version) X(created_at) X(title) X(goal) X(handoff) \
    X(exhausted) X(checkpoint) X(resume_prompt) X(remaining_steps) \
    X(completed_steps) X(acceptance) X(decisions) X(failed_approaches) \
    X(branch) X(commit) X(dirty) X(result) X(test_results) X(artifacts) \
    X(created_by) X(notes) X(expected_version) X(idempotency_key) X(section) \
    X(since_seq) X(limit) X(cursor) X(content) X(encoding) X(tag) X(ready) \
    X(needs_input) X(stale) X(query) X(changed_since) X(include_done) \
    X(task) X(since) X(lease) X(expires_at) X(seconds) X(lease_seconds) \
    X(questions) X(question_id) X(question) X(options) X(kind) X(by) \
    X(answer) X(text) X(action) X(wait_seconds) X(until) X(timeout_seconds)

#define X(name) char name[sizeof #name];
static const struct names {
    NAMES(X)
} names = {
#undef X
#define X(name) #name,
    NAMES(X)
#undef X
};

/* Sixteen bytes, since there are many. */
struct row {
    uint16_t name;  /* offset in names */
    uint16_t max;   /* of a T_INT 0: as far as JSON numbers are exact */
    uint16_t items; /* 0: one value; else a list of at most so many */
    uint16_t tools, needs; /* a bit for each tool that takes, requires it */
    uint8_t len;    /* of name */
    uint8_t type, flags;
    uint8_t min;
    uint8_t sub;    /* T_OBJECT: of objects; T_NAME: of choices */
    uint8_t n_sub;  /* members of the object */
};

#define BIT(tool) (1u << TOOL_##tool)
#define SAVES (BIT(CHECKPOINT) | BIT(HANDOFF) | BIT(EXHAUST))
#define CHANGES (SAVES | BIT(CREATE) | BIT(ATTACH) | BIT(UPDATE) | \
    BIT(CLAIM) | BIT(ASK))
#define WHOLE (BIT(CREATE) | BIT(UPDATE) | BIT(IMPORT))
#define STATE (SAVES | BIT(UPDATE) | BIT(IMPORT))
#define PROMPTS (BIT(RESUME) | BIT(BRIEF))
#define KiB 1024
#define SAFE_INT INT64_C(9007199254740991)

#define NAME(n) .name = offsetof(struct names, n), .len = sizeof #n - 1
#define TEXT .type = T_TEXT
#define AGENT .type = T_TEXT, .flags = CHARS | ONE, .max = TASK_MAX_AGENT
#define INT(lo, hi) .type = T_INT, .min = (lo), .max = (hi)
#define LEASE_SECONDS .type = T_INT, .flags = MINUTES, .min = 30, \
    .max = 24 * 60
#define CHOICE(of) .type = T_NAME, .sub = (of)
#define OBJECT(of, rows) .type = T_OBJECT, .sub = (of), \
    .n_sub = sizeof(rows) / sizeof *(rows)

static const char *const statuses[] = { /* as in enum task_status */
    "open", "in_progress", "handoff_ready", "agent_exhausted", "done",
    "failed", "cancelled", NULL,
};
static const char *const sections[] = {"current", "history", "artifact",
                                       NULL};
static const char *const artifact_types[] = {"file", "diff", "log", NULL};
static const char *const encodings[] = {"utf8", "base64", NULL};
static const char *const kinds[] = {"question", "approval", "action", NULL};
static const char *const actions[] = {"accept", "decline", "cancel", NULL};
static const char *const untils[] = {
    "change", "terminal", "answered", "handoff", "ready", "open",
    "in_progress", "handoff_ready", "agent_exhausted", "done", "failed",
    "cancelled", NULL,
};
enum {
    STATUSES, SECTIONS, ARTIFACT_TYPES, ENCODINGS, KINDS, ACTIONS, UNTILS
};
static const char *const *const choices[] = {
    [STATUSES] = statuses, [SECTIONS] = sections,
    [ARTIFACT_TYPES] = artifact_types, [ENCODINGS] = encodings,
    [KINDS] = kinds, [ACTIONS] = actions, [UNTILS] = untils,
};

enum {
    TEST, HANDOFF, EXHAUSTED, CHECKPOINT, ARTIFACT, LEASE, ANSWER, ASKED
};

static const struct row test_rows[] = {
    {NAME(command), TEXT, .max = KiB, .needs = 1},
    {NAME(exit_code), .type = T_INT, .flags = INT32},
    {NAME(passed), .type = T_COUNT},
    {NAME(failed), .type = T_COUNT},
    {NAME(summary), TEXT, .max = KiB},
};
static const struct row handoff_rows[] = {
    {NAME(from_agent), AGENT, .needs = 1},
    {NAME(to_agent), AGENT},
    {NAME(reason), TEXT, .max = 2 * KiB},
    {NAME(at), .type = T_TIME},
};
static const struct row exhausted_rows[] = {
    {NAME(agent), AGENT, .needs = 1},
    {NAME(reason), TEXT, .max = 2 * KiB},
    {NAME(at), .type = T_TIME},
};
static const struct row checkpoint_rows[] = {
    {NAME(seq), INT(0, 0)},
    {NAME(agent), AGENT, .needs = 1},
    {NAME(at), .type = T_TIME},
};
static const struct row artifact_rows[] = {
    {NAME(artifact_id), .type = T_ID, .needs = 1},
    {NAME(name), TEXT, .flags = CHARS | ONE, .max = 256, .needs = 1},
    {NAME(type), CHOICE(ARTIFACT_TYPES)},
    {NAME(size), INT(0, 0)},
    {NAME(sha256), TEXT, .flags = ONE, .max = SHA256_HEX},
    {NAME(path), TEXT, .max = 2 * KiB},
    {NAME(description), TEXT, .max = 512},
    {NAME(agent), AGENT},
    {NAME(at), .type = T_TIME},
};
static const struct row lease_rows[] = {
    {NAME(agent), AGENT, .needs = 1},
    {NAME(expires_at), .type = T_TIME, .needs = 1},
    {NAME(seconds), LEASE_SECONDS},
};
#define QUESTION NAME(question), TEXT, .flags = ONE, .max = 4 * KiB
#define OPTIONS NAME(options), TEXT, .flags = CHARS | ONE, .items = 10, \
    .max = 256
static const struct row answer_rows[] = {
    {NAME(text), TEXT, .flags = CHARS, .max = 4 * KiB},
    {NAME(action), CHOICE(ACTIONS)},
    {NAME(question_id), .type = T_ID}, /* the last that update_task takes */
    {NAME(by), AGENT},
    {NAME(at), .type = T_TIME},
};
static const struct row question_rows[] = {
    {NAME(question_id), .type = T_ID, .needs = 1},
    {QUESTION, .needs = 1},
    {OPTIONS},
    {NAME(kind), CHOICE(KINDS)},
    {NAME(by), AGENT},
    {NAME(at), .type = T_TIME},
    {NAME(answer), OBJECT(ANSWER, answer_rows)},
};

static const struct row *const objects[] = {
    [TEST] = test_rows, [HANDOFF] = handoff_rows,
    [EXHAUSTED] = exhausted_rows, [CHECKPOINT] = checkpoint_rows,
    [ARTIFACT] = artifact_rows, [LEASE] = lease_rows,
    [ANSWER] = answer_rows, [ASKED] = question_rows,
};

static const struct row rows[TASK_N_ARGS] = {
    [F_TASK_ID] = {NAME(task_id), .type = T_ID, .flags = FIXED,
                   .tools = CHANGES | BIT(GET) | BIT(WAIT) | BIT(IMPORT) |
                            PROMPTS,
                   .needs = (CHANGES | BIT(GET) | BIT(IMPORT) |
                             BIT(BRIEF)) & ~(BIT(CREATE) | BIT(CLAIM))},
    [F_STATUS] = {NAME(status), CHOICE(STATUSES), .flags = FIXED,
                  .tools = WHOLE | BIT(LIST)},
    [F_CURRENT_OWNER] = {NAME(current_owner), AGENT,
                         .tools = WHOLE | BIT(LIST)},
    [F_PRIORITY] = {NAME(priority), INT(0, 4), .flags = FIXED,
                    .tools = WHOLE},
    [F_REPO_PATH] = {NAME(repo_path), TEXT, .flags = ONE, .max = 4 * KiB,
                     .tools = WHOLE | BIT(LIST) | BIT(CLAIM)},
    [F_PARENT_ID] = {NAME(parent_id), .type = T_ID,
                     .tools = WHOLE | BIT(LIST)},
    [F_TAGS] = {NAME(tags), TEXT, .flags = CHARS | ONE | SET, .items = 16,
                .max = 64, .tools = WHOLE},
    [F_DEPENDS_ON] = {NAME(depends_on), .type = T_ID, .flags = SET,
                      .items = TASK_MAX_DEPS, .tools = WHOLE},
    [F_VERSION] = {NAME(version), INT(1, 0), .tools = BIT(IMPORT)},
    [F_CREATED_AT] = {NAME(created_at), .type = T_TIME,
                      .tools = BIT(IMPORT)},
    [F_LEASE] = {NAME(lease), OBJECT(LEASE, lease_rows),
                 .tools = BIT(IMPORT)},
    [F_QUESTIONS] = {NAME(questions), OBJECT(ASKED, question_rows),
                     .items = TASK_MAX_QUESTIONS, .tools = BIT(IMPORT)},
    [F_TITLE] = {NAME(title), TEXT, .flags = CHARS | ONE | FIXED,
                 .max = 256, .tools = WHOLE,
                 .needs = BIT(CREATE) | BIT(IMPORT)},
    [F_GOAL] = {NAME(goal), TEXT, .max = 8 * KiB, .tools = WHOLE},
    [F_HANDOFF] = {NAME(handoff), OBJECT(HANDOFF, handoff_rows),
                   .tools = BIT(IMPORT)},
    [F_EXHAUSTED] = {NAME(exhausted), OBJECT(EXHAUSTED, exhausted_rows),
                     .tools = BIT(IMPORT)},
    [F_CHECKPOINT] = {NAME(checkpoint), OBJECT(CHECKPOINT, checkpoint_rows),
                      .tools = BIT(IMPORT)},
    [F_RESUME_PROMPT] = {NAME(resume_prompt), TEXT, .max = 16 * KiB,
                         .tools = STATE},
    [F_REMAINING_STEPS] = {NAME(remaining_steps), TEXT, .items = 200,
                           .max = KiB, .tools = STATE},
    [F_COMPLETED_STEPS] = {NAME(completed_steps), TEXT, .items = 200,
                           .max = KiB, .tools = STATE},
    [F_ACCEPTANCE] = {NAME(acceptance), TEXT, .flags = CHARS, .items = 32,
                      .max = 512, .tools = WHOLE},
    [F_DECISIONS] = {NAME(decisions), TEXT, .items = 64, .max = KiB,
                     .tools = STATE},
    [F_FAILED_APPROACHES] = {NAME(failed_approaches), TEXT, .items = 64,
                             .max = KiB, .tools = STATE},
    [F_BRANCH] = {NAME(branch), TEXT, .max = 256, .tools = STATE},
    [F_COMMIT] = {NAME(commit), TEXT, .max = 128, .tools = STATE},
    [F_DIRTY] = {NAME(dirty), .type = T_BOOL, .tools = STATE},
    [F_RESULT] = {NAME(result), TEXT, .max = 16 * KiB,
                  .tools = BIT(UPDATE) | BIT(IMPORT)},
    [F_TEST_RESULTS] = {NAME(test_results), OBJECT(TEST, test_rows),
                        .items = 64, .tools = STATE},
    [F_ARTIFACTS] = {NAME(artifacts), OBJECT(ARTIFACT, artifact_rows),
                     .items = TASK_MAX_ARTIFACTS, .tools = BIT(IMPORT)},
    [F_CREATED_BY] = {NAME(created_by), AGENT, .tools = BIT(IMPORT)},

    [ARG_AGENT] = {NAME(agent), AGENT,
                   .tools = CHANGES | BIT(WAIT) | BIT(RESUME),
                   .needs = BIT(CHECKPOINT) | BIT(EXHAUST) | BIT(CLAIM) |
                            BIT(ASK)},
    [ARG_FROM_AGENT] = {NAME(from_agent), AGENT, .tools = BIT(HANDOFF),
                        .needs = BIT(HANDOFF)},
    [ARG_TO_AGENT] = {NAME(to_agent), AGENT,
                      .tools = BIT(HANDOFF) | BIT(BRIEF)},
    [ARG_REASON] = {NAME(reason), TEXT, .flags = ONE, .max = 2 * KiB,
                    .tools = BIT(HANDOFF) | BIT(EXHAUST) | BIT(UPDATE)},
    [ARG_NOTES] = {NAME(notes), TEXT, .flags = ONE, .max = 4 * KiB,
                   .tools = SAVES},
    [ARG_EXPECTED_VERSION] = {NAME(expected_version), INT(1, 0),
                              .tools = CHANGES},
    [ARG_IDEMPOTENCY_KEY] = {NAME(idempotency_key), TEXT,
                             .flags = CHARS | ONE, .max = 128,
                             .tools = CHANGES},
    [ARG_SECTION] = {NAME(section), CHOICE(SECTIONS),
                     .tools = BIT(GET)},
    [ARG_ARTIFACT_ID] = {NAME(artifact_id), .type = T_ID,
                         .tools = BIT(GET)},
    [ARG_SINCE_SEQ] = {NAME(since_seq), INT(0, 0),
                       .tools = BIT(GET) | BIT(WAIT)},
    [ARG_EVENTS] = {NAME(limit), INT(1, 200), .tools = BIT(GET)},
    [ARG_CURSOR] = {NAME(cursor), TEXT, .flags = ONE, .max = 512,
                    .tools = BIT(GET) | BIT(LIST)},
    [ARG_NAME] = {NAME(name), TEXT, .flags = CHARS | ONE, .max = 256,
                  .tools = BIT(ATTACH), .needs = BIT(ATTACH)},
    [ARG_TYPE] = {NAME(type), CHOICE(ARTIFACT_TYPES),
                  .tools = BIT(ATTACH)},
    [ARG_CONTENT] = {NAME(content), .type = T_CONTENT,
                     .tools = BIT(ATTACH)},
    [ARG_ENCODING] = {NAME(encoding), CHOICE(ENCODINGS),
                      .tools = BIT(ATTACH)},
    [ARG_PATH] = {NAME(path), TEXT, .flags = ONE, .max = 2 * KiB,
                  .tools = BIT(ATTACH)},
    [ARG_DESCRIPTION] = {NAME(description), TEXT, .flags = ONE,
                         .max = 512, .tools = BIT(ATTACH)},
    [ARG_TAG] = {NAME(tag), TEXT, .flags = CHARS | ONE, .max = 64,
                 .tools = BIT(LIST) | BIT(CLAIM)},
    [ARG_READY] = {NAME(ready), .type = T_BOOL, .tools = BIT(LIST)},
    [ARG_NEEDS_INPUT] = {NAME(needs_input), .type = T_BOOL,
                         .tools = BIT(LIST)},
    [ARG_STALE] = {NAME(stale), .type = T_BOOL, .tools = BIT(LIST)},
    [ARG_QUERY] = {NAME(query), TEXT, .flags = CHARS | ONE, .max = 256,
                   .tools = BIT(LIST)},
    [ARG_CHANGED_SINCE] = {NAME(changed_since), .type = T_WHEN,
                           .tools = BIT(LIST)},
    [ARG_INCLUDE_DONE] = {NAME(include_done), .type = T_BOOL,
                          .tools = BIT(LIST)},
    [ARG_LIMIT] = {NAME(limit), INT(1, 100), .tools = BIT(LIST)},
    [ARG_SINCE] = {NAME(since), .type = T_WHEN, .flags = ONE,
                   .tools = BIT(STANDUP)},
    [ARG_ANSWER] = {NAME(answer), .type = T_OBJECT, .sub = ANSWER, .n_sub = 3,
                    .flags = TOLD, .tools = BIT(UPDATE)},
    [ARG_LEASE_SECONDS] = {NAME(lease_seconds), LEASE_SECONDS,
                           .tools = BIT(CLAIM)},
    [ARG_QUESTION] = {QUESTION, .tools = BIT(ASK), .needs = BIT(ASK)},
    [ARG_OPTIONS] = {OPTIONS, .tools = BIT(ASK)},
    [ARG_KIND] = {NAME(kind), CHOICE(KINDS), .tools = BIT(ASK)},
    [ARG_WAIT_SECONDS] = {NAME(wait_seconds), INT(0, 50), .tools = BIT(ASK)},
    [ARG_UNTIL] = {NAME(until), CHOICE(UNTILS), .tools = BIT(WAIT)},
    [ARG_TIMEOUT_SECONDS] = {NAME(timeout_seconds), INT(0, 50),
                             .tools = BIT(WAIT)},
};

/* Members of an exported task that are derived when it is read. */
static const char *const derived[] = {
    "seq", "updated_at", "ready", "blocked_by", "stale", "needs_input",
    "lease_expired", "damaged",
};

_Static_assert(sizeof statuses / sizeof *statuses == TASK_N_STATUSES + 1,
               "a name for each status");

static const char *
name_of(const struct row *r)
{
    return (const char *)&names + r->name;
}

static struct str
name_str(const struct row *r)
{
    return (struct str){name_of(r), r->len};
}

/* ---- one value ---- */

struct parse {
    struct task_ctx *c;
    struct json_w w;
    struct buf b;
    const struct row *top; /* the argument at hand */
    size_t item;           /* element of its list, from 1; 0: not in one */
    const char *member;    /* of an object in it, or NULL */
    bool lenient;          /* unknown members are carried along */
};

/* Refuses the value at hand; what says what it must be. */
static int
refuse(struct parse *p, int code, const char *fmt, ...)
{
    char where[96], what[192];
    va_list ap;
    size_t n;

    va_start(ap, fmt);
    text_vput(what, sizeof what, fmt, ap);
    va_end(ap);
    n = text_put(where, sizeof where, "%s", name_of(p->top));
    if (p->item)
        n += text_put(where + n, sizeof where - n, "[%zu]", p->item - 1);
    if (p->member)
        text_put(where + n, sizeof where - n, ".%s", p->member);
    return task_fail(&p->c->e, p->c->a, code, name_of(p->top), "%s %s", where,
                     what);
}

static int
nomem(struct parse *p)
{
    return task_fail_store(&p->c->e, ERR_NOMEM);
}

/* The text of a string, or of a number as it was written. */
static int
text_of(struct parse *p, const struct json_tok *t, struct str *out)
{
    if (t->type == JSON_NUMBER) {
        *out = json_raw(t);
        return 0;
    }
    if (t->type != JSON_STRING)
        return refuse(p, ERR_INVALID, "must be a string");
    *out = json_str(p->c->a, t);
    return out->p ? 0 : nomem(p);
}

static int
check_text(struct parse *p, const struct row *r, struct str s)
{
    bool chars = r->flags & CHARS;

    if (s.len == 0 && r->flags & ONE)
        return refuse(p, ERR_INVALID, "must not be empty");
    if ((chars ? utf8_count(s) : s.len) > r->max)
        return refuse(p, ERR_TOO_LARGE, "is longer than %d %s", r->max,
                      chars ? "characters" : "bytes");
    json_string(&p->w, s);
    return 0;
}

bool
task_is_id(struct str s)
{
    size_t i;

    for (i = 0; i < s.len; i++) {
        char c = s.p[i];

        if (!((c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') ||
              (c >= 'a' && c <= 'z') || c == '.' || c == '_' || c == ':' ||
              c == '-'))
            return false;
    }
    return s.len > 0 && s.len <= TASK_MAX_ID;
}

static int
check_id(struct parse *p, const struct row *r, struct str s)
{
    (void)r;
    if (!task_is_id(s))
        return refuse(p, ERR_INVALID, "must be 1 to %d of the characters "
                      "A-Z a-z 0-9 . _ : -", TASK_MAX_ID);
    json_string(&p->w, s);
    return 0;
}

static int
check_name(struct parse *p, const struct row *r, struct str s)
{
    const char *const *all = choices[r->sub];
    char list[128];
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

/* A whole number, or a string that says one. */
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
max_of(const struct row *r)
{
    return r->flags & MINUTES ? r->max * 60 : r->max;
}

static int
check_int(struct parse *p, const struct row *r, const struct json_tok *t)
{
    bool int32 = r->flags & INT32;
    int64_t v, min = int32 ? INT32_MIN : r->min;
    int64_t max = int32 ? INT32_MAX : r->max ? max_of(r) : SAFE_INT;

    if (!int_of(t, &v) || v < min || v > max)
        return refuse(p, ERR_INVALID, "must be a whole number from %lld to "
                      "%lld", (long long)min, (long long)max);
    json_number(&p->w, v);
    return 0;
}

static int
check_bool(struct parse *p, const struct row *r, const struct json_tok *t)
{
    bool yes = t->type == JSON_TRUE || json_is(t, "true");

    (void)r;
    if (!yes && t->type != JSON_FALSE && !json_is(t, "false"))
        return refuse(p, ERR_INVALID, "must be true or false");
    json_bool(&p->w, yes);
    return 0;
}

static int
check_count(struct parse *p, const struct row *r, const struct json_tok *t)
{
    int64_t v;

    if (t->type == JSON_TRUE || t->type == JSON_FALSE)
        return check_bool(p, r, t);
    if (!int_of(t, &v) || v < 0)
        return refuse(p, ERR_INVALID, "must be a whole number from 0, or "
                      "true or false");
    json_number(&p->w, v);
    return 0;
}

bool
task_time_parse(struct arena *a, struct str s, int64_t *ms)
{
    struct str t = arena_printf(a, "%.*s%s", STR_ARG(s),
                                s.len == 10 ? "T00:00:00Z" : "Z");

    if (!t.p || t.len < 12)
        return false;
    if (t.p[10] == ' ')
        ((char *)(uintptr_t)t.p)[10] = 'T';
    return time_parse(t, ms) ||
           time_parse((struct str){t.p, t.len - 1}, ms);
}

static int
check_time(struct parse *p, const struct row *r, struct str s)
{
    char text[TIME_LEN + 1];
    int64_t ms;

    (void)r;
    if (!task_time_parse(p->c->a, s, &ms))
        return refuse(p, ERR_INVALID, "must be a time as in RFC 3339");
    time_format(ms, text);
    json_z(&p->w, text);
    return 0;
}

/* ---- values with parts ---- */

#define COPY_DEPTH 32

/* Writes any value anew, without blanks. */
static int
copy(struct parse *p, const struct json_tok *t, int depth)
{
    const struct json_tok *child = t + 1;
    uint32_t i;
    int rc = 0;

    if (depth == COPY_DEPTH)
        return refuse(p, ERR_TOO_LARGE, "is nested too deeply");
    if (t->type == JSON_STRING) {
        struct str s = json_str(p->c->a, t);

        if (!s.p)
            return nomem(p);
        json_string(&p->w, s);
    } else if (t->type != JSON_ARRAY && t->type != JSON_OBJECT) {
        json_splice(&p->w, json_raw(t));
    } else {
        (t->type == JSON_ARRAY ? json_arr : json_obj)(&p->w);
        for (i = 0; i < t->n && rc == 0; i++) {
            if (t->type == JSON_OBJECT) {
                struct str name = json_str(p->c->a, child++);

                if (!name.p)
                    return nomem(p);
                json_key_str(&p->w, name);
            }
            rc = copy(p, child, depth + 1);
            child += child->span;
        }
        if (rc == 0)
            json_close(&p->w);
    }
    return rc;
}

static int check_one(struct parse *p, const struct row *r,
                     const struct json_tok *t);
static int check_list(struct parse *p, const struct row *r,
                      const struct json_tok *t);

static const struct row *
row_named(const struct row *r, size_t n, unsigned tools, struct str name)
{
    size_t i;

    for (i = 0; i < n; i++)
        if ((!tools || r[i].tools & tools) &&
            str_eq(name_str(&r[i]), name))
            return &r[i];
    return NULL;
}

/* What an object has beside the members of r: refused, or carried along. */
static int
check_others(struct parse *p, const struct row *r, const struct json_tok *t)
{
    const struct json_tok *m = t + 1;
    uint32_t i;
    int rc = 0;

    for (i = 0; i < t->n && rc == 0; i++, m += 1 + m[1].span) {
        struct str name = json_str(p->c->a, m);

        if (!name.p)
            return nomem(p);
        if (row_named(objects[r->sub], r->n_sub, 0, name))
            continue;
        if (!p->lenient)
            return refuse(p, ERR_INVALID, "has an unknown member \"%.*s\"",
                          name.len > 64 ? 64 : (int)name.len, name.p);
        json_key_str(&p->w, name);
        rc = copy(p, m + 1, 0);
    }
    return rc;
}

static int
check_object(struct parse *p, const struct row *r, const struct json_tok *t)
{
    const struct row *sub = objects[r->sub];
    size_t i;
    int rc;

    if (t->type != JSON_OBJECT)
        return refuse(p, ERR_INVALID, "must be an object");
    json_obj(&p->w);
    for (i = 0; i < r->n_sub; i++, sub++) {
        const struct json_tok *v;

        p->member = name_of(sub);
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
    rc = check_others(p, r, t);
    if (rc == 0)
        json_close(&p->w);
    return rc;
}

static int
check_one(struct parse *p, const struct row *r, const struct json_tok *t)
{
    static int (*const texts[])(struct parse *, const struct row *,
                                struct str) = {
        [T_TEXT] = check_text, [T_ID] = check_id, [T_NAME] = check_name,
        [T_TIME] = check_time, [T_WHEN] = check_time,
    };
    static int (*const others[])(struct parse *, const struct row *,
                                 const struct json_tok *) = {
        [T_INT - T_INT] = check_int,
        [T_COUNT - T_INT] = check_count,
        [T_BOOL - T_INT] = check_bool,
        [T_OBJECT - T_INT] = check_object,
    };
    struct str s;
    int64_t v;
    int rc;

    if (r->type >= T_INT)
        return others[r->type - T_INT](p, r, t);
    if (r->type == T_WHEN && int_of(t, &v)) {
        if (v < 0)
            return refuse(p, ERR_INVALID, "must be a time or a seq");
        json_number(&p->w, v);
        return 0;
    }
    rc = text_of(p, t, &s);
    return rc == 0 ? texts[r->type](p, r, s) : rc;
}

static int
check_list(struct parse *p, const struct row *r, const struct json_tok *t)
{
    const struct json_tok *child;
    size_t item = p->item; /* of the list that this one stands in */
    uint32_t i;
    int rc = 0;

    /* A database without arrays gives them as JSON text. */
    if (p->lenient && t->type == JSON_STRING) {
        struct str text = json_str(p->c->a, t);
        const struct json_tok *inner;

        rc = text.p ? json_parse(p->c->a, text, &inner, NULL) : ERR_NOMEM;
        if (rc == ERR_NOMEM)
            return nomem(p);
        if (rc == 0)
            t = inner;
        rc = 0;
    }
    if (t->type != JSON_ARRAY)
        return refuse(p, ERR_INVALID, "must be an array");
    child = t + 1;
    if (t->n > r->items)
        return refuse(p, ERR_TOO_LARGE, "has more than %d elements",
                      r->items);
    json_arr(&p->w);
    for (i = 0; i < t->n && rc == 0; i++, child += child->span) {
        p->item = i + 1;
        rc = check_one(p, r, child);
    }
    p->item = item;
    if (rc == 0)
        json_close(&p->w);
    return rc;
}

/* ---- all that was given ---- */

/* Whether the value stands for nothing: null, or an empty text where at
   least one character is needed. */
static bool
is_null(const struct row *r, const struct json_tok *t)
{
    bool one = r->flags & ONE || r->type == T_ID || r->type == T_NAME;

    return t->type == JSON_NULL ||
           (t->type == JSON_STRING && t->len == 0 && one && !r->items);
}

/* A raw list of texts in the arena, cut down to those that did not stand
   before in it. */
static void
drop_doubles(struct str *list)
{
    char *p = (char *)(uintptr_t)list->p;
    struct str kept = {p, 1}, item, other;
    size_t at = 0, seen;

    while ((item = task_list_next(*list, &at)).p) {
        seen = 0;
        do
            other = task_list_next(kept, &seen);
        while (other.p && !str_eq(other, item));
        if (other.p)
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
take(struct parse *p, enum task_tool tool, const struct row *r,
     const struct json_tok *t, struct str *out)
{
    int rc;

    p->top = r;
    *out = STR_NONE;
    if (is_null(r, t)) {
        /* Who meant to say who he is would act as nobody. Prompts fill in
           what is not given. */
        if (r == &rows[ARG_AGENT] && t->type == JSON_STRING &&
            !(PROMPTS & 1u << tool))
            return refuse(p, ERR_INVALID, "must not be empty: give your "
                          "name, or leave it out");
        if (tool != TOOL_UPDATE || r - rows >= TASK_N_FIELDS)
            return 0;
        if (r->flags & FIXED)
            return refuse(p, ERR_INVALID, "cannot be cleared");
        *out = STR("null");
        return 0;
    }
    if (r->type == T_CONTENT) {
        *out = json_raw(t);
        return t->type == JSON_STRING ? 0
            : refuse(p, ERR_INVALID, "must be a string");
    }
    buf_reset(&p->b, 4096);
    json_w_init(&p->w, &p->b);
    rc = r->items ? check_list(p, r, t) : check_one(p, r, t);
    if (rc != 0)
        return rc;
    *out = arena_str(p->c->a, buf_view(&p->b));
    if (p->b.err || !out->p)
        return nomem(p);
    if (r->flags & SET)
        drop_doubles(out);
    return 0;
}

/* Adds a name that the tool does not know to those that one error will name,
   as far as there is room in it. */
static void
add_unknown(struct buf *list, struct str name)
{
    if (list->len < 120)
        buf_printf(list, "%s\"%.*s\"", list->len ? ", " : "",
                   name.len > 64 ? 64 : (int)name.len, name.p);
    else if (list->p[list->len - 1] != '.')
        buf_z(list, ", ...");
}

static int
unknown(struct parse *p, enum task_tool tool, const struct json_tok *m,
        struct str name, struct buf *extra)
{
    static const struct row any = {NAME(task)};
    size_t i;
    int rc;

    if (tool != TOOL_IMPORT) {
        if (!extra->len)
            p->c->e.field = (struct str){name.p,
                                         name.len > 64 ? 64 : name.len};
        add_unknown(extra, name);
        return extra->err ? nomem(p) : 0;
    }
    for (i = 0; i < sizeof derived / sizeof *derived; i++)
        if (str_is(name, derived[i]))
            return 0;
    p->top = &any;
    buf_reset(&p->b, 4096);
    json_w_init(&p->w, &p->b);
    rc = copy(p, m + 1, 0);
    if (rc != 0 || (m[1].type == JSON_NULL))
        return rc;
    if (extra->len)
        buf_char(extra, ',');
    json_quote(extra, name);
    buf_char(extra, ':');
    buf_str(extra, buf_view(&p->b));
    return p->b.err || extra->err ? nomem(p) : 0;
}

/* What was found unknown: an error, or what an import carries along. */
static int
take_extra(struct parse *p, enum task_tool tool, const struct buf *extra,
           struct task_args *out)
{
    struct task_ctx *c = p->c;
    struct str first = c->e.field;
    int rc;

    if (extra->len && tool != TOOL_IMPORT) {
        rc = task_fail(&c->e, c->a, ERR_INVALID, NULL,
                       "unknown argument %.*s", STR_ARG(buf_view(extra)));
        c->e.field = first;
        return rc;
    }
    if (extra->len)
        out->extra = arena_str(c->a, buf_view(extra));
    return extra->len && !out->extra.p ? nomem(p) : 0;
}

/* Whoever is authorised is the agent. */
static int
take_principal(struct parse *p, enum task_tool tool, struct task_args *out)
{
    struct task_ctx *c = p->c;
    struct str who;
    int arg;

    if (!c->principal.len)
        return 0;
    buf_reset(&p->b, 4096);
    json_quote(&p->b, c->principal);
    who = arena_str(c->a, buf_view(&p->b));
    if (p->b.err || !who.p)
        return nomem(p);
    for (arg = ARG_AGENT; arg <= ARG_FROM_AGENT; arg++) {
        if (!(rows[arg].tools & 1u << tool))
            continue;
        p->top = &rows[arg];
        if (out->v[arg].p && !str_eq(out->v[arg], who)) {
            refuse(p, ERR_UNAUTHORIZED, "is not the token's agent");
            c->e.next = STR("leave it out: the token says who you are");
            return ERR_UNAUTHORIZED;
        }
        out->v[arg] = who;
    }
    return 0;
}

static int
check_needed(struct parse *p, enum task_tool tool,
             const struct task_args *args)
{
    size_t i;

    for (i = 0; i < TASK_N_ARGS; i++) {
        p->top = &rows[i];
        if (rows[i].needs & 1u << tool && !args->v[i].p)
            return refuse(p, ERR_INVALID, "is missing");
    }
    return 0;
}

int
task_args_parse(struct task_ctx *c, enum task_tool tool,
                const struct json_tok *obj, struct task_args *out)
{
    static const struct json_tok none = {.type = JSON_OBJECT, .span = 1};
    struct parse p = {.c = c, .lenient = tool == TOOL_IMPORT};
    struct buf extra = {0};
    const struct json_tok *m;
    uint32_t i;
    int rc = 0;

    memset(out, 0, sizeof *out);
    if (!obj)
        obj = &none;
    if (obj->type != JSON_OBJECT)
        return task_fail(&c->e, c->a, ERR_INVALID, NULL,
                         "the arguments must be an object");
    m = obj + 1;
    for (i = 0; i < obj->n && rc == 0; i++, m += 1 + m[1].span) {
        struct str name = json_str(c->a, m);
        const struct row *r = row_named(rows, TASK_N_ARGS, 1u << tool, name);

        if (!name.p)
            rc = nomem(&p);
        else if (r)
            rc = take(&p, tool, r, m + 1, &out->v[r - rows]);
        else
            rc = unknown(&p, tool, m, name, &extra);
    }
    if (rc == 0)
        rc = take_extra(&p, tool, &extra, out);
    if (rc == 0)
        rc = take_principal(&p, tool, out);
    if (rc == 0)
        rc = check_needed(&p, tool, out);
    buf_fini(&extra);
    buf_fini(&p.b);
    return rc;
}

void
task_args_digest(const struct task_args *args, char hex[SHA256_HEX + 1])
{
    struct sha256 s;
    size_t i;

    sha256_init(&s);
    for (i = 0; i < TASK_N_ARGS; i++) {
        if (!args->v[i].p || i == ARG_IDEMPOTENCY_KEY)
            continue;
        sha256_add(&s, name_of(&rows[i]), rows[i].len);
        sha256_add(&s, args->v[i].p, args->v[i].len);
        sha256_add(&s, "\n", 1); /* stands in no canonical value */
    }
    sha256_end_hex(&s, hex);
}

/* ---- looking at the table and at arguments ---- */

const char *
task_status_name(enum task_status s)
{
    return statuses[s];
}

int
task_status_of(struct str name)
{
    int s;

    for (s = 0; s < TASK_N_STATUSES; s++)
        if (str_is(name, statuses[s]))
            return s;
    return -1;
}

bool
task_status_ended(enum task_status s)
{
    return s >= TASK_DONE && s < TASK_N_STATUSES;
}

bool
task_raw_ended(struct str status)
{
    int s = task_status_of(raw_inner(status));

    return s >= 0 && task_status_ended((enum task_status)s);
}

struct str
task_arg_text(struct arena *a, const struct task_args *args, int arg)
{
    return task_text(a, args->v[arg]);
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

struct str
task_arg_name(int arg)
{
    return name_str(&rows[arg]);
}

int
task_field_of(struct str name)
{
    const struct row *r = row_named(rows, TASK_N_FIELDS, 0, name);

    return r ? (int)(r - rows) : -1;
}

bool
task_tool_takes(enum task_tool tool, const char *name, bool *required)
{
    const struct row *r = row_named(rows, TASK_N_ARGS, 1u << tool,
                                    str_of(name));

    *required = r && r->needs & 1u << tool;
    return r != NULL;
}

/* ---- the schema ---- */

static void put_schema(struct json_w *w, const struct row *r, size_t n,
                       unsigned tools, bool whole);

/* The schema of one value. */
static void
put_value(struct json_w *w, const struct row *r, bool whole)
{
    static const char *const types[] = {
        [T_INT] = "integer", [T_COUNT] = "integer", [T_BOOL] = "boolean",
        [T_OBJECT] = "object", [T_CONTENT] = NULL,
    };
    const char *const *name;

    if (r->type == T_OBJECT && (whole || r->flags & TOLD)) {
        put_schema(w, objects[r->sub], r->n_sub, 1, false);
        return;
    }
    json_obj(w);
    json_put_z(w, "type", types[r->type] ? types[r->type] : "string");
    if (r->type == T_OBJECT)
        json_put_z(w, "description", "as in save_checkpoint");
    if (r->type == T_INT && r->max) {
        json_put_int(w, "minimum", r->min);
        json_put_int(w, "maximum", max_of(r));
    }
    if (r->type == T_NAME) {
        json_key(w, "enum");
        json_arr(w);
        for (name = choices[r->sub]; *name; name++)
            json_z(w, *name);
        json_close(w);
    }
    json_close(w);
}

/* The schema of an object with those of the rows that one of tools takes;
   the rows of an object's own members say so only of those needed. */
static void
put_schema(struct json_w *w, const struct row *r, size_t n, unsigned tools,
           bool whole)
{
    bool own = r != rows;
    size_t i;

    json_obj(w);
    json_put_z(w, "type", "object");
    json_key(w, "properties");
    json_obj(w);
    for (i = 0; i < n; i++) {
        if (!own && !(r[i].tools & tools))
            continue;
        json_key(w, name_of(&r[i]));
        if (r[i].items) {
            json_obj(w);
            json_put_z(w, "type", "array");
            json_key(w, "items");
        }
        put_value(w, &r[i], whole);
        if (r[i].items)
            json_close(w);
    }
    json_close(w);
    json_key(w, "required");
    json_arr(w);
    for (i = 0; i < n; i++)
        if (r[i].needs & tools)
            json_z(w, name_of(&r[i]));
    json_close(w);
    json_put_bool(w, "additionalProperties", false);
    json_close(w);
}

void
task_tool_schema(enum task_tool tool, struct buf *b)
{
    struct json_w w;

    /* What a test result is, is told once: every agent reads the list. */
    json_w_init(&w, b);
    put_schema(&w, rows, TASK_N_ARGS, 1u << tool, tool == TOOL_CHECKPOINT);
    json_w_end(&w);
}
