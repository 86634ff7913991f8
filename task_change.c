/* task_change - every change of a task: its rules, and the one record that
   says what happened and what the task is since.

   1. A change is one record, staged under the lock, or none: everything is
      checked before store_stage.
   2. The rules see what is staged in the same batch, because the index and
      store_read do. A handler may be run again from its arguments.
   3. transitions is the only statement of which status follows on which.
   4. The record's body is op, by, set, note, idem, warn, v in this order, and
      v's members in the order of enum task_field, unknown ones last: the
      index finds what it needs near the front.
   5. A checkpoint is never refused for what the task waits for or who owns
      it: work that was done is kept, and a warning says what is odd. */

#include "task_change.h"
#include "task_claim.h"
#include "task_index.h"
#include "task_raw.h"

#include <string.h>

#define MAX_WARNINGS 8
#define BODY_KEEP ((size_t)16 * 1024)
#define UNCHANGED 1 /* the task is already as it was asked to be */
#define MINTED 10 /* random letters and digits of an id */
/* What a question may cost in an answer, so that it fits into one, before
   and after it is answered: invariant 1 of task_fields.c. */
#define ASKED_COST ((size_t)22 * 1024)
#define ANSWERED_COST ((size_t)42 * 1024)

struct change {
    struct tasks *t;
    struct task_ctx *c;
    const struct task_args *args;
    enum task_tool tool;
    bool exists;       /* old is the task as it was */
    bool nomem;        /* something could not be kept; stage says so */
    const char *op;
    struct str id;     /* text, .p NULL: to be minted */
    struct str by;     /* raw: the agent */
    struct str note;   /* raw, .p NULL: none */
    struct str now;    /* raw: the time as a JSON string */
    const struct task_blob *blob;
    size_t n_warn;
    struct str artifact_id; /* raw, of an attached one */
    struct str question_id; /* raw, of one that was asked */
    const char *warn[MAX_WARNINGS];
    char hex[65];      /* digest of the arguments, where there is a key */
    struct task k;     /* as it shall be; f and status only */
    struct task old;
};

#define FAIL(ch, ...) task_fail(&(ch)->c->e, (ch)->c->a, __VA_ARGS__)

/* For a message without numbers in it. */
static int
refuse(struct change *ch, int code, const char *field, const char *message)
{
    return FAIL(ch, code, field, "%s", message);
}

static int
fail_store(struct change *ch, int code)
{
    return task_fail_store(&ch->c->e, code);
}

/* s itself; where there was no memory for it the change fails at its end. */
static struct str
keep(struct change *ch, struct str s)
{
    ch->nomem |= !s.p;
    return s;
}

static struct str
quoted(struct change *ch, const char *text)
{
    return keep(ch, arena_printf(ch->c->a, "\"%s\"", text));
}

static struct str
number(struct change *ch, uint64_t v)
{
    return keep(ch, arena_printf(ch->c->a, "%llu", (unsigned long long)v));
}

static void
warn(struct change *ch, const char *text)
{
    if (ch->n_warn < MAX_WARNINGS)
        ch->warn[ch->n_warn++] = text;
}

static bool
given(const struct change *ch, int arg)
{
    return ch->args->v[arg].p != NULL;
}

/* ---- statuses ---- */

#define S(status) (1u << TASK_##status)

static const unsigned transitions[TASK_N_STATUSES] = {
    [TASK_OPEN] = S(IN_PROGRESS) | S(HANDOFF_READY) | S(EXHAUSTED) |
                  S(FAILED) | S(CANCELLED),
    [TASK_IN_PROGRESS] = S(OPEN) | S(HANDOFF_READY) | S(EXHAUSTED) |
                         S(DONE) | S(FAILED) | S(CANCELLED),
    [TASK_HANDOFF_READY] = S(OPEN) | S(IN_PROGRESS) | S(EXHAUSTED) |
                           S(FAILED) | S(CANCELLED),
    [TASK_EXHAUSTED] = S(OPEN) | S(IN_PROGRESS) | S(HANDOFF_READY) |
                       S(FAILED) | S(CANCELLED),
    /* Ended: to be reopened by update_task, with a reason. */
    [TASK_DONE] = S(OPEN) | S(IN_PROGRESS),
    [TASK_FAILED] = S(OPEN) | S(IN_PROGRESS),
    [TASK_CANCELLED] = S(OPEN) | S(IN_PROGRESS),
};

#define FIRST_STATUSES (S(OPEN) | S(IN_PROGRESS) | S(HANDOFF_READY))

unsigned
task_status_next(enum task_status from)
{
    return transitions[from];
}

/* Sets the status, where the table lets it follow on the old one. */
static int
set_status(struct change *ch, enum task_status to)
{
    unsigned allowed = ch->exists ? transitions[ch->old.status]
                                  : FIRST_STATUSES;

    if (!(allowed & 1u << to) && !(ch->exists && ch->old.status == to)) {
        ch->c->e.allowed = allowed;
        return FAIL(ch, ERR_TRANSITION, "status", "%s may not follow on %s",
                    task_status_name(to),
                    ch->exists ? task_status_name(ch->old.status) : "none");
    }
    ch->k.status = to;
    ch->k.f[F_STATUS] = quoted(ch, task_status_name(to));
    return 0;
}

/* An ended task takes nothing but an update that reopens it and says why. */
static int
check_ended(struct change *ch)
{
    int to = task_status_of(raw_inner(ch->args->v[F_STATUS]));
    unsigned allowed = transitions[ch->old.status];
    bool reopens = ch->tool == TOOL_UPDATE && to >= 0 && allowed & 1u << to;

    if (!task_status_ended(ch->old.status) ||
        (reopens && given(ch, ARG_REASON)))
        return 0;
    ch->c->e.allowed = allowed;
    return reopens
        ? FAIL(ch, ERR_TERMINAL, "reason", "the task is %s; to reopen it "
               "give a reason", task_status_name(ch->old.status))
        : FAIL(ch, ERR_TERMINAL, NULL, "the task is %s and takes no change",
               task_status_name(ch->old.status));
}

/* ---- owners ---- */

static bool
is_unknown(struct str by)
{
    return str_is(by, "\"unknown\"");
}

/* Whether somebody else than the caller owns the task. */
static bool
is_others(const struct change *ch)
{
    struct str owner = ch->old.f[F_CURRENT_OWNER];

    return owner.p && !is_unknown(ch->by) && !str_eq(owner, ch->by);
}

static int
not_owner(struct change *ch, const char *field, const char *message)
{
    int rc = refuse(ch, ERR_NOT_OWNER, field, message);

    ch->c->e.holder = ch->old.f[F_CURRENT_OWNER];
    return rc;
}

static void
warn_owner(struct change *ch)
{
    if (is_others(ch))
        warn(ch, "another agent owns this task");
}

/* ---- leases ---- */

static bool
has_fields(const struct change *ch);

/* While a lease runs, its holder alone changes the task. An answer is no
   change of the work: it may be anybody's. */
static int
check_lease(struct change *ch)
{
    struct str holder = task_member(ch->old.f[F_LEASE], "agent");
    bool answers = given(ch, ARG_ANSWER) && !has_fields(ch);

    if (!ch->old.leased || str_eq(holder, ch->by) || answers)
        return 0;
    if (ch->c->ownership_warn && ch->tool != TOOL_CLAIM) {
        warn(ch, "another agent holds a lease on this task");
        return 0;
    }
    fail_store(ch, ERR_LEASE);
    ch->c->e.holder = holder;
    return ERR_LEASE;
}

/* A lease is the owner's, of a task in progress, and every write of its
   holder renews it. One from elsewhere ends within a day, or is none. */
static void
settle_lease(struct change *ch)
{
    struct str *lease = &ch->k.f[F_LEASE];
    struct str agent = task_member(*lease, "agent");
    int64_t now = store_now_ms(ch->t->store), end;

    if (!lease->p)
        return;
    if (ch->k.status != TASK_IN_PROGRESS || is_unknown(agent) ||
        !str_eq(agent, ch->k.f[F_CURRENT_OWNER]) ||
        (task_lease_end(*lease, &end) && end - now > TASK_LEASE_MAX_MS))
        *lease = STR_NONE;
    else if (str_eq(agent, ch->by))
        *lease = keep(ch, task_lease_make(ch->c->a, agent, task_member(*lease,
                                          "seconds"), now));
}

/* ---- dependencies ---- */

struct walk {
    struct change *ch;
    struct task_entry **seen;
    size_t n, cap;
    uint64_t bytes;
    const char *field;
};

static int
walk_to(struct walk *w, struct str dep)
{
    struct change *ch = w->ch;
    struct task_entry *e = tasks_find(ch->t, raw_inner(dep)), **seen;

    if (str_eq(raw_inner(dep), ch->id))
        return FAIL(ch, ERR_CYCLE, w->field, "%s leads back to this task",
                    w->field);
    if (!e || e->seen)
        return 0; /* imported before what it depends on, or known */
    if (w->n == TASK_WALK_MAX || w->bytes > TASK_WALK_BYTES)
        return FAIL(ch, ERR_TOO_LARGE, w->field, "%s leads to more tasks "
                    "than can be checked", w->field);
    if (w->n == w->cap) {
        size_t cap = w->cap ? w->cap * 2 : 64;

        seen = arena_grow(ch->c->a, w->seen, w->cap * sizeof *seen,
                          cap * sizeof *seen);
        if (!seen)
            return fail_store(ch, ERR_NOMEM);
        w->seen = seen;
        w->cap = cap;
    }
    e->seen = true;
    w->seen[w->n++] = e;
    return 0;
}

/* The tasks of a list, or the one that a single value names. */
static int
walk_list(struct walk *w, struct str deps)
{
    size_t at = 0;
    struct str dep;
    int rc = 0;

    while (rc == 0 && (dep = task_list_next(deps, &at)).p)
        rc = walk_to(w, dep);
    return rc;
}

/* Goes on from a task that was reached. */
static int
walk_from(struct walk *w, const struct task_entry *e, struct arena *scratch)
{
    struct task_event ev;
    struct str f[TASK_N_HEAD];
    int rc;

    if (!e->has_deps)
        return 0;
    arena_reset(scratch);
    rc = task_entry_event(w->ch->t, e, scratch, &ev);
    if (rc == 0)
        rc = task_head_of(ev.v, f);
    if (rc != 0)
        return fail_store(w->ch, rc);
    w->bytes += e->e.len;
    return walk_list(w, f[F_DEPENDS_ON]);
}

/* Refuses what leads back to the task: tasks that it depends on, and those
   that they do, by whatever way; or its parent and that one's. */
static int
check_ways(struct change *ch, const char *field, struct str first, bool deps)
{
    struct walk w = {.ch = ch, .field = field};
    struct arena scratch = {0};
    size_t i;
    int rc;

    rc = walk_list(&w, first);
    for (i = 0; i < w.n && rc == 0; i++)
        rc = deps ? walk_from(&w, w.seen[i], &scratch)
                  : walk_list(&w, atoms_text(&ch->t->atoms,
                                             w.seen[i]->parent_id));
    for (i = 0; i < w.n; i++)
        w.seen[i]->seen = false;
    arena_fini(&scratch);
    return rc;
}

static bool
is_task(const struct change *ch, struct str raw)
{
    struct str id = raw_inner(raw);

    return str_eq(id, ch->id) || tasks_find(ch->t, id);
}

/* Tasks that this one names: they exist, and no way leads back. A whole
   import comes in any order, so there they may be missing still. */
static int
check_links(struct change *ch)
{
    struct str deps = ch->args->v[F_DEPENDS_ON], dep;
    struct str parent = ch->args->v[F_PARENT_ID];
    bool all = ch->tool != TOOL_IMPORT;
    size_t at = 0, i = 0;
    int rc;

    if (str_is(deps, "null"))
        deps = STR_NONE;
    if (str_is(parent, "null"))
        parent = STR_NONE;
    for (; all && (dep = task_list_next(deps, &at)).p; i++)
        if (!is_task(ch, dep))
            return FAIL(ch, ERR_NOT_FOUND, "depends_on",
                        "depends_on[%zu] is no task", i);
    if (all && parent.p && !is_task(ch, parent))
        return refuse(ch, ERR_NOT_FOUND, "parent_id", "parent_id is no task");
    rc = check_ways(ch, "depends_on", deps, true);
    return rc == 0 ? check_ways(ch, "parent_id", parent, false) : rc;
}

/* Whether a task that it depends on is not done. */
static bool
is_blocked(const struct change *ch)
{
    struct str dep;
    size_t at = 0;

    while ((dep = task_list_next(ch->k.f[F_DEPENDS_ON], &at)).p)
        if (!tasks_is_done(ch->t, dep))
            return true;
    return false;
}

/* ---- receipts ---- */

/* The receipt of an event, as it was given when that happened. */
static int
receipt_of(struct change *ch, const struct task_event *ev,
           struct task_receipt *out)
{
    struct str f[TASK_N_HEAD], list = STR_NONE, last = STR_NONE, next;
    size_t at = 0;
    int status, rc = task_head_of(ev->v, f);

    status = rc == 0 ? task_status_of(raw_inner(f[F_STATUS])) : -1;
    if (status < 0)
        return fail_store(ch, ERR_FORMAT);
    if (str_is(ev->op, "attach"))
        list = task_member(ev->v, "artifacts");
    else if (str_is(ev->op, "ask"))
        list = f[F_QUESTIONS];
    while ((next = task_list_next(list, &at)).p)
        last = next;
    *out = (struct task_receipt){
        .id = ev->id,
        .op = ev->op,
        .version = raw_u64(f[F_VERSION]),
        .seq = ev->r.n,
        .status = (enum task_status)status,
        .owner = f[F_CURRENT_OWNER],
        .warnings = ev->warn,
        .artifact_id = task_member(last, "artifact_id"),
        .question_id = task_member(last, "question_id"),
        .lease = f[F_LEASE],
        .damaged = tasks_damage(ch->t, ev->id),
    };
    return 0;
}

static struct str
warnings_json(struct change *ch, struct buf *b)
{
    struct json_w w;
    size_t i;

    if (ch->n_warn == 0)
        return STR_NONE;
    buf_reset(b, b->cap);
    json_w_init(&w, b);
    json_arr(&w);
    for (i = 0; i < ch->n_warn; i++)
        json_z(&w, ch->warn[i]);
    json_close(&w);
    return keep(ch, arena_str(ch->c->a, buf_view(b)));
}

/* The task as it is, since the request changes nothing. */
static int
receipt_unchanged(struct change *ch, struct task_receipt *out)
{
    struct buf b = {0};
    int rc = receipt_of(ch, &ch->old.ev, out);

    if (rc == 0)
        out->warnings = warnings_json(ch, &b);
    out->artifact_id = ch->artifact_id;
    buf_fini(&b);
    return rc;
}

/* ---- idempotency ---- */

/* Whether ev was made by this caller with this key, not too long ago. */
static bool
is_same_key(const struct change *ch, const struct task_event *ev,
            struct str who)
{
    struct str key = ch->args->v[ARG_IDEMPOTENCY_KEY];
    int64_t at;

    return str_is(ev->op, ch->op) && str_eq(ev->by, ch->by) && ev->idem.p &&
           str_eq(task_member(ev->idem, "key"), key) &&
           str_eq(task_member(ev->idem, "who"), who) &&
           time_parse(ev->r.time, &at) &&
           store_age_ms(ch->t->store, at) < TASK_KEY_AGE_MS;
}

/* The members that stand in idem. */
static void
put_idem(struct change *ch, struct buf *b)
{
    struct json_w w;

    json_w_init(&w, b);
    json_obj(&w);
    json_put_raw(&w, "key", ch->args->v[ARG_IDEMPOTENCY_KEY]);
    json_put_z(&w, "args", ch->hex);
    if (ch->c->principal.len)
        json_put_str(&w, "who", ch->c->principal);
    json_close(&w);
    json_w_end(&w);
}

/* 1: the request was made before, out is its receipt; 0: it was not. */
static int
find_replay(struct change *ch, struct task_receipt *out)
{
    struct task_event ev;
    struct store_rec r;
    struct buf b = {0};
    struct str idem, who;
    uint64_t n = UINT64_MAX, hash, principal;
    int rc = 0;

    if (!given(ch, ARG_IDEMPOTENCY_KEY))
        return 0;
    task_args_digest(ch->args, ch->hex);
    put_idem(ch, &b);
    idem = buf_view(&b);
    who = task_member(idem, "who");
    hash = task_key_hash(ch->t, str_of(ch->op), ch->by, idem, &principal);
    while (rc == 0 && b.err == 0 &&
           keys_find(&ch->t->keys, principal, hash, &n)) {
        rc = store_read_n(ch->t->store, n, ch->c->a, &r);
        if (rc == ERR_NOT_FOUND || (rc == 0 && task_event_of(&r, &ev) != 0)) {
            rc = 0;
            continue;
        }
        if (rc != 0)
            rc = fail_store(ch, rc);
        else if (!is_same_key(ch, &ev, who))
            continue;
        else if (!str_is(raw_inner(task_member(ev.idem, "args")), ch->hex))
            rc = fail_store(ch, ERR_IDEMPOTENCY);
        else
            rc = receipt_of(ch, &ev, out) == 0 ? 1 : ch->c->e.code;
    }
    if (b.err)
        rc = fail_store(ch, ERR_NOMEM);
    buf_fini(&b);
    return rc;
}

/* ---- the record ---- */

static void
put_state(struct buf *b, const struct task *k)
{
    int i;
    char before = '{';

    for (i = 0; i < TASK_N_FIELDS; i++) {
        if (!k->f[i].p)
            continue;
        buf_char(b, before);
        json_quote(b, task_arg_name(i));
        buf_char(b, ':');
        buf_str(b, k->f[i]);
        before = ',';
    }
    if (k->extra.len) {
        buf_char(b, before);
        buf_str(b, k->extra);
    }
    buf_char(b, '}');
}

/* The names of the fields that changed, but for those that always do. */
static void
put_set(struct buf *b, const struct change *ch)
{
    char before = '[';
    int i;

    for (i = 0; i < TASK_N_FIELDS; i++) {
        if (i == F_TASK_ID || i == F_VERSION || i == F_CREATED_AT ||
            i == F_CREATED_BY || str_eq(ch->old.f[i], ch->k.f[i]) ||
            (i == F_LEASE && ch->old.f[i].p && ch->k.f[i].p)) /* renewed */
            continue;
        buf_char(b, before);
        json_quote(b, task_arg_name(i));
        before = ',';
    }
    if (before == '[')
        buf_char(b, before);
    buf_char(b, ']');
}

static void
put_body(struct buf *b, struct change *ch, struct str warnings)
{
    buf_printf(b, "\"op\":\"%s\",\"by\":%.*s,\"set\":", ch->op,
               STR_ARG(ch->by));
    put_set(b, ch);
    if (ch->note.p)
        buf_printf(b, ",\"note\":%.*s", STR_ARG(ch->note));
    if (given(ch, ARG_IDEMPOTENCY_KEY)) {
        buf_z(b, ",\"idem\":");
        put_idem(ch, b);
    }
    if (warnings.p)
        buf_printf(b, ",\"warn\":%.*s", STR_ARG(warnings));
    buf_z(b, ",\"v\":");
}

static int
too_large(struct change *ch)
{
    int i, big = F_TITLE;

    for (i = 0; i < TASK_N_FIELDS; i++)
        if (ch->k.f[i].len > ch->k.f[big].len)
            big = i;
    return FAIL(ch, ERR_TOO_LARGE, task_arg_name(big).p, "the whole task "
                "would be over %d bytes; %s is its biggest field",
                TASK_MAX_STATE, task_arg_name(big).p);
}

/* Stages the record of a change that has passed every check. */
static int
stage(struct change *ch, struct task_receipt *out)
{
    struct store *s = ch->t->store;
    uint64_t seq = store_next_n(s);
    struct str warnings, key;
    struct buf *b = &ch->t->body;
    size_t at;
    int rc = 0;

    if (ch->exists)
        ch->k.f[F_VERSION] = number(ch, ch->old.version + 1);
    settle_lease(ch);
    warnings = warnings_json(ch, b);
    buf_reset(b, b->cap);
    put_body(b, ch, warnings);
    at = b->len;
    put_state(b, &ch->k);
    key = arena_printf(ch->c->a, TASK_PREFIX "%.*s", STR_ARG(ch->id));
    if (b->err || !key.p || ch->nomem)
        rc = fail_store(ch, ERR_NOMEM);
    else if (b->len - at > TASK_MAX_STATE)
        rc = too_large(ch);
    else if ((rc = store_stage(s, key, buf_view(b))) != 0)
        rc = fail_store(ch, rc);
    buf_reset(b, BODY_KEEP);
    *out = (struct task_receipt){
        .id = ch->id,
        .op = str_of(ch->op),
        .version = raw_u64(ch->k.f[F_VERSION]),
        .seq = seq,
        .status = ch->k.status,
        .owner = ch->k.f[F_CURRENT_OWNER],
        .warnings = warnings,
        .artifact_id = ch->artifact_id,
        .question_id = ch->question_id,
        .lease = ch->k.f[F_LEASE],
    };
    return rc;
}

/* ---- what the tools have in common ---- */

/* Takes the fields that were given over into the new state. */
static void
take_fields(struct change *ch)
{
    int i;

    for (i = 0; i < TASK_N_FIELDS; i++)
        if (given(ch, i) && i != F_STATUS)
            ch->k.f[i] = str_is(ch->args->v[i], "null") ? STR_NONE
                                                        : ch->args->v[i];
}

static bool
has_fields(const struct change *ch)
{
    int i;

    for (i = F_TASK_ID + 1; i < TASK_N_FIELDS; i++)
        if (given(ch, i))
            return true;
    return false;
}

/* Writes an object of texts as a field's new value. */
static void
object_field(struct change *ch, int field, const char *const names[],
             const struct str raw[], size_t n)
{
    struct buf b = {0};
    struct json_w w;
    size_t i;

    json_w_init(&w, &b);
    json_obj(&w);
    for (i = 0; i < n; i++)
        if (raw[i].p)
            json_put_raw(&w, names[i], raw[i]);
    json_close(&w);
    ch->k.f[field] = keep(ch, arena_str(ch->c->a, buf_view(&b)));
    ch->nomem |= b.err != 0;
    buf_fini(&b);
}

/* What the record's own checkpoint is: by whom, when, in which event. */
static void
set_checkpoint(struct change *ch)
{
    static const char *const names[] = {"seq", "agent", "at", "notes"};
    struct str raw[] = {number(ch, store_next_n(ch->t->store)), ch->by,
                        ch->now, ch->args->v[ARG_NOTES]};

    object_field(ch, F_CHECKPOINT, names, raw, 4);
}

/* Loads the task, and checks what every change of one has to pass. */
static int
load(struct change *ch)
{
    uint64_t version;
    int rc = task_get(ch->t, ch->c->a, ch->id, &ch->old);

    if (rc == ERR_NOT_FOUND)
        return task_fail_missing(&ch->c->e, ch->c->a, ch->t, ch->id);
    if (rc != 0)
        return fail_store(ch, rc);
    ch->exists = true;
    ch->k = ch->old;
    version = task_arg_u64(ch->args, ARG_EXPECTED_VERSION, ch->old.version);
    if (version != ch->old.version) {
        rc = FAIL(ch, ERR_VERSION, "expected_version",
                  "the task is at version %llu",
                  (unsigned long long)ch->old.version);
        ch->c->e.version = ch->old.version;
        return rc;
    }
    rc = check_ended(ch);
    return rc == 0 ? check_lease(ch) : rc;
}

/* ---- the tools ---- */

static int
mint(struct change *ch)
{
    static const char set[] = "0123456789abcdefghijklmnopqrstuvwxyz";
    uint8_t random[MINTED];
    char text[MINTED + 3] = "t-";
    size_t i;
    int rc;

    do {
        rc = random_bytes(random, sizeof random);
        if (rc != 0)
            return fail_store(ch, rc);
        for (i = 0; i < MINTED; i++)
            text[i + 2] = set[random[i] % 36];
    } while (tasks_find(ch->t, str_of(text)));
    ch->k.f[F_TASK_ID] = quoted(ch, text);
    ch->id = raw_inner(ch->k.f[F_TASK_ID]);
    return 0;
}

/* The task is there already: the same, if it has every field that was given
   now; those that were not given do not count. */
static int
create_again(struct change *ch)
{
    int i, rc;

    rc = task_get(ch->t, ch->c->a, ch->id, &ch->old);
    if (rc != 0)
        return fail_store(ch, rc);
    for (i = 0; i < TASK_N_FIELDS; i++)
        if (given(ch, i) && !str_eq(ch->args->v[i], ch->old.f[i])) {
            rc = FAIL(ch, ERR_EXISTS, task_arg_name(i).p, "there is a task "
                      "of this task_id with another %s",
                      task_arg_name(i).p);
            ch->c->e.version = ch->old.version;
            return rc;
        }
    warn(ch, "the task existed already; nothing was changed");
    return UNCHANGED;
}

/* What a new task has when nothing was said. */
static void
set_defaults(struct change *ch)
{
    struct str *f = ch->k.f;
    int status = task_status_of(raw_inner(ch->args->v[F_STATUS]));

    if (!f[F_PRIORITY].p)
        f[F_PRIORITY] = STR("2");
    if (!f[F_VERSION].p)
        f[F_VERSION] = STR("1");
    if (!f[F_CREATED_AT].p)
        f[F_CREATED_AT] = ch->now;
    if (!f[F_CREATED_BY].p)
        f[F_CREATED_BY] = ch->by;
    ch->k.status = status < 0 ? TASK_OPEN : (enum task_status)status;
    f[F_STATUS] = status < 0 ? STR("\"open\"") : ch->args->v[F_STATUS];
}

/* A task becomes in_progress: by whom, if nobody was named. Who takes up one
   that was handed over or given up owns it, as with a checkpoint. */
static int
begin_work(struct change *ch, const char *field)
{
    struct str *owner = &ch->k.f[F_CURRENT_OWNER];

    if (is_blocked(ch))
        return refuse(ch, ERR_BLOCKED, field, "tasks that it depends on are "
                      "not done, so it cannot be in_progress");
    if (!is_unknown(ch->by) && (!owner->p || (ch->exists &&
        ch->old.status != TASK_OPEN && !given(ch, F_CURRENT_OWNER))))
        *owner = ch->by;
    return 0;
}

static int
run_create(struct change *ch)
{
    int rc = 0;

    if (ch->id.p && tasks_is_archived(ch->t, ch->id))
        return refuse(ch, ERR_EXISTS, "task_id", "a task in an archive has "
                      "this task_id");
    if (ch->id.p && tasks_find(ch->t, ch->id))
        return create_again(ch);
    if (given(ch, ARG_EXPECTED_VERSION))
        return refuse(ch, ERR_NOT_FOUND, "task_id", "there is no such task");
    take_fields(ch);
    if (!ch->id.p)
        rc = mint(ch);
    set_defaults(ch);
    if (rc == 0)
        rc = set_status(ch, ch->k.status);
    if (rc == 0)
        rc = check_links(ch);
    if (rc != 0)
        return rc;
    return ch->k.status == TASK_IN_PROGRESS ? begin_work(ch, "depends_on")
                                            : 0;
}

static int
run_checkpoint(struct change *ch)
{
    bool starts = ch->old.status != TASK_IN_PROGRESS;
    int rc = set_status(ch, TASK_IN_PROGRESS);

    if (rc != 0)
        return rc;
    warn_owner(ch);
    if (starts || !ch->old.f[F_CURRENT_OWNER].p)
        ch->k.f[F_CURRENT_OWNER] = ch->by;
    take_fields(ch);
    if (starts && is_blocked(ch))
        warn(ch, "tasks that it depends on are not done");
    set_checkpoint(ch);
    return 0;
}

/* handoff_task and mark_exhausted: the caller ends its work on the task. */
static int
run_leave(struct change *ch)
{
    static const char *const names[] = {"from_agent", "agent", "to_agent",
                                        "reason", "at"};
    bool handoff = ch->tool == TOOL_HANDOFF;
    struct str to = ch->args->v[ARG_TO_AGENT];
    struct str raw[] = {STR_NONE, STR_NONE, to, ch->args->v[ARG_REASON],
                        ch->now};
    struct str owner = ch->old.f[F_CURRENT_OWNER];
    int rc;

    if (handoff && owner.p && !str_eq(owner, ch->by))
        return not_owner(ch, "from_agent", "from_agent does not own the "
                         "task");
    rc = set_status(ch, handoff ? TASK_HANDOFF_READY : TASK_EXHAUSTED);
    if (rc != 0)
        return rc;
    if (has_fields(ch))
        set_checkpoint(ch);
    raw[handoff ? 0 : 1] = ch->by;
    object_field(ch, handoff ? F_HANDOFF : F_EXHAUSTED, names, raw, 5);
    warn_owner(ch);
    take_fields(ch);
    ch->k.f[F_CURRENT_OWNER] = to;
    return 0;
}

/* The task that the caller is to have; the receipt has no id where there is
   none. */
static int
choose(struct change *ch, struct task_receipt *out)
{
    struct task_want w = {.by = ch->by, .repo_path = ch->args->v[F_REPO_PATH],
                          .tag = ch->args->v[ARG_TAG]};
    struct task_entry *e;
    int rc = store_loaded(ch->t->store) ? task_find_ready(ch->t, &w, &e)
                                        : ERR_IO;

    if (rc != 0)
        return fail_store(ch, rc);
    *out = (struct task_receipt){.partial = w.partial};
    if (e)
        ch->id = task_entry_id(e);
    return 0;
}

/* Whoever has a task already only renews the lease. */
static int
run_claim(struct change *ch)
{
    struct str owner = ch->old.f[F_CURRENT_OWNER];
    struct str seconds = ch->args->v[ARG_LEASE_SECONDS];
    bool begun = ch->old.status == TASK_IN_PROGRESS;
    bool mine = owner.p && str_eq(owner, ch->by);
    int rc;

    if (is_unknown(ch->by))
        return refuse(ch, ERR_INVALID, "agent", "unknown holds no lease");
    if (owner.p && !mine && (ch->old.status == TASK_HANDOFF_READY ||
                             (begun && !ch->old.lease_expired)))
        return not_owner(ch, "agent", "another agent has the task");
    if (!(mine && begun) && is_blocked(ch))
        return fail_store(ch, ERR_BLOCKED);
    rc = set_status(ch, TASK_IN_PROGRESS);
    if (rc != 0)
        return rc;
    if (!seconds.p && mine)
        seconds = task_member(ch->old.f[F_LEASE], "seconds");
    ch->k.f[F_CURRENT_OWNER] = ch->by;
    ch->k.f[F_LEASE] = keep(ch, task_lease_make(ch->c->a, ch->by, seconds, 0));
    return 0;
}

/* What a status given to update_task asks for beside the transition. */
static int
check_update_status(struct change *ch)
{
    enum task_status to = ch->k.status;

    if (to == ch->old.status)
        return 0;
    if (to == TASK_IN_PROGRESS)
        return begin_work(ch, "status");
    if (to == TASK_DONE && task_list_n(ch->k.f[F_TEST_RESULTS]) == 0) {
        if (ch->c->require_evidence)
            return refuse(ch, ERR_EVIDENCE, "test_results", "done needs "
                          "test_results");
        warn(ch, "done without test_results");
    }
    if (to == TASK_DONE && task_list_n(ch->k.f[F_REMAINING_STEPS]) != 0)
        warn(ch, "done with remaining_steps");
    if (to == TASK_DONE && is_blocked(ch))
        warn(ch, "done although tasks that it depends on are not");
    return 0;
}

/* ---- questions ---- */

/* Puts a question into its list, see task_list_edit. It has to fit into an
   answer of get_task. */
static int
put_question(struct change *ch, struct str old, struct str question,
             const char *field, size_t max)
{
    struct str *list = &ch->k.f[F_QUESTIONS];

    *list = keep(ch, task_list_edit(ch->c->a, *list, old,
                                    keep(ch, question)));
    return question.len + json_quoted_len(question) <= max ? 0
        : refuse(ch, ERR_TOO_LARGE, field,
                 "it is too long, with what is escaped in it");
}

/* How many questions are open, and the oldest that is, and that is not. */
static size_t
count_open(const struct change *ch, struct str *open, struct str *answered)
{
    struct str item, *first;
    size_t at = 0, n = 0;

    *open = *answered = STR_NONE;
    while ((item = task_list_next(ch->old.f[F_QUESTIONS], &at)).p) {
        first = task_member(item, "answer").p ? answered : open;
        n += first == open;
        if (!first->p)
            *first = item;
    }
    return n;
}

static int
run_ask(struct change *ch)
{
    const struct str *v = ch->args->v;
    struct str kind = v[ARG_KIND], *list = &ch->k.f[F_QUESTIONS], open, old;
    struct str options = v[ARG_OPTIONS];
    uint64_t n = store_next_n(ch->t->store);

    if (count_open(ch, &open, &old) >= TASK_MAX_OPEN)
        return refuse(ch, ERR_TOO_LARGE, "question",
                      "too many questions of the task are open");
    warn_owner(ch);
    if (task_list_n(*list) >= TASK_MAX_QUESTIONS)
        *list = keep(ch, task_list_edit(ch->c->a, *list, old, STR("")));
    do /* an imported one may have any */
        ch->question_id = keep(ch, arena_printf(ch->c->a, "\"q%llu\"",
                                                (unsigned long long)n++));
    while (task_question_find(*list, ch->question_id).p);
    return put_question(ch, STR_NONE, arena_printf(ch->c->a,
        "{\"question_id\":%.*s,\"question\":%.*s%s%.*s,\"kind\":%.*s,"
        "\"by\":%.*s,\"at\":%.*s}", STR_ARG(ch->question_id),
        STR_ARG(v[ARG_QUESTION]), options.p ? ",\"options\":" : "",
        STR_ARG(options.p ? options : STR("")),
        STR_ARG(kind.p ? kind : STR("\"question\"")), STR_ARG(ch->by),
        STR_ARG(ch->now)), "question", ASKED_COST);
}

/* The first answer is the one that counts: whoever accepts says how, by one of
   the options where there are some. An answer as it was given becomes the one
   that is kept without its last member, the question's id. */
static int
take_answer(struct change *ch)
{
    static const char last[] = ",\"question_id\":";
    struct str answer = ch->args->v[ARG_ANSWER], asked, old, options;
    struct str id = task_member(answer, "question_id");
    struct str action = task_member(answer, "action");
    struct str text = task_member(answer, "text");
    bool accepts = !action.p || str_is(action, "\"accept\"");

    if (count_open(ch, &asked, &old) != 1 || id.p)
        asked = task_question_find(ch->old.f[F_QUESTIONS], id);
    answer.len -= id.p ? id.len + sizeof last : 1;
    if (accepts && text.len <= strlen("\"\""))
        return refuse(ch, ERR_INVALID, "answer", "answer.text is missing");
    if (!asked.p)
        return refuse(ch, ERR_NOT_FOUND, "answer", "the task has no such "
                      "question");
    if (task_member(asked, "answer").p)
        return refuse(ch, ERR_EXISTS, "answer", "the question has been "
                      "answered");
    options = task_member(asked, "options");
    if (accepts && options.p && !task_list_has(options, text))
        return FAIL(ch, ERR_INVALID, "answer", "answer.text must be one of "
                    "%.*s", STR_ARG(options));
    return put_question(ch, asked, arena_printf(ch->c->a,
        "%.*s,\"answer\":%.*s%s,\"by\":%.*s,\"at\":%.*s}}",
        (int)asked.len - 1, asked.p, STR_ARG(answer),
        action.p ? "" : ",\"action\":\"accept\"", STR_ARG(ch->by),
        STR_ARG(ch->now)), "answer", ANSWERED_COST);
}

/* ---- updates ---- */

static int
run_update(struct change *ch)
{
    int rc = 0;

    if (given(ch, ARG_ANSWER))
        rc = take_answer(ch);
    else if (!has_fields(ch))
        rc = refuse(ch, ERR_INVALID, NULL, "no field was given");
    if (rc != 0 || !has_fields(ch))
        return rc;
    if (!given(ch, F_CURRENT_OWNER))
        warn_owner(ch);
    if (given(ch, F_STATUS))
        rc = set_status(ch, (enum task_status)
                        task_status_of(raw_inner(ch->args->v[F_STATUS])));
    if (rc == 0)
        rc = check_links(ch);
    if (rc != 0)
        return rc;
    take_fields(ch);
    return check_update_status(ch);
}

/* ---- artifacts ---- */

/* The id of an artifact that is this one in all but time and agent. */
static struct str
find_artifact(struct str list, const char *const names[],
              const struct str raw[], size_t n)
{
    struct str entry;
    size_t at = 0, i;

    while ((entry = task_list_next(list, &at)).p) {
        for (i = 1; i < n; i++)
            if (!str_eq(task_member(entry, names[i]), raw[i]))
                break;
        if (i == n)
            return task_member(entry, "artifact_id");
    }
    return STR_NONE;
}

/* a1, a2 ... by count; an imported list may have other ids. */
static struct str
next_artifact_id(struct change *ch, struct str list, size_t n)
{
    struct str id, entry;
    size_t at;

    do {
        id = arena_printf(ch->c->a, "\"a%zu\"", ++n);
        at = 0;
        while ((entry = task_list_next(list, &at)).p)
            if (str_eq(task_member(entry, "artifact_id"), id))
                break;
    } while (entry.p && id.p);
    return id;
}

static int
run_attach(struct change *ch)
{
    static const char *const names[] = {"artifact_id", "name", "type",
        "size", "sha256", "path", "description", "agent", "at"};
    const struct str *v = ch->args->v;
    const struct task_blob *blob = ch->blob;
    struct str list = ch->old.f[F_ARTIFACTS];
    struct str raw[] = {STR_NONE, v[ARG_NAME],
        v[ARG_TYPE].p ? v[ARG_TYPE] : STR("\"file\""), STR_NONE, STR_NONE,
        v[ARG_PATH], v[ARG_DESCRIPTION], ch->by, ch->now};
    size_t n = task_list_n(list);

    if (blob->stored) {
        raw[3] = number(ch, blob->size);
        raw[4] = quoted(ch, blob->sha256);
    }
    if (blob->warning)
        warn(ch, blob->warning);
    warn_owner(ch);
    ch->artifact_id = find_artifact(list, names, raw, 7);
    if (ch->artifact_id.p) {
        warn(ch, "it was attached already; nothing was changed");
        return UNCHANGED;
    }
    if (n >= TASK_MAX_ARTIFACTS)
        return FAIL(ch, ERR_TOO_LARGE, "artifacts", "the task has %d "
                    "artifacts, as many as it may", TASK_MAX_ARTIFACTS);
    raw[0] = ch->artifact_id = keep(ch, next_artifact_id(ch, list, n));
    object_field(ch, F_ARTIFACTS, names, raw, sizeof raw / sizeof *raw);
    ch->k.f[F_ARTIFACTS] = keep(ch, task_list_edit(ch->c->a, list, STR_NONE,
                                                   ch->k.f[F_ARTIFACTS]));
    return 0;
}

/* ---- the way in ---- */

static const struct {
    const char *op;
    int (*run)(struct change *ch);
} changes[] = {
    [TOOL_CREATE] = {"create", run_create},
    [TOOL_CHECKPOINT] = {"checkpoint", run_checkpoint},
    [TOOL_HANDOFF] = {"handoff", run_leave},
    [TOOL_EXHAUST] = {"exhaust", run_leave},
    [TOOL_ATTACH] = {"attach", run_attach},
    [TOOL_UPDATE] = {"update", run_update},
    [TOOL_CLAIM] = {"claim", run_claim},
    [TOOL_ASK] = {"ask", run_ask},
    [TOOL_IMPORT] = {"import", NULL},
};

static void
begin(struct change *ch)
{
    const struct str *v = ch->args->v;
    int agent = ch->tool == TOOL_HANDOFF ? ARG_FROM_AGENT : ARG_AGENT;
    char now[TIME_LEN + 1];

    ch->c->e = (struct task_error){0};
    ch->op = changes[ch->tool].op;
    ch->id = raw_inner(v[F_TASK_ID]);
    ch->by = v[agent].p ? v[agent] : STR("\"unknown\"");
    ch->note = v[ARG_NOTES].p ? v[ARG_NOTES]
        : ch->tool == TOOL_UPDATE ? v[ARG_REASON] : STR_NONE;
    time_format(store_now_ms(ch->t->store), now);
    ch->now = quoted(ch, now);
}

int
task_change(struct tasks *t, struct task_ctx *c, enum task_tool tool,
            const struct task_args *args, const struct task_blob *blob,
            struct task_receipt *out)
{
    struct change ch = {.t = t, .c = c, .args = args, .tool = tool,
                        .blob = blob};
    int rc;

    begin(&ch);
    rc = find_replay(&ch, out);
    if (rc != 0)
        return rc < 0 ? rc : 0;
    if (tool == TOOL_CLAIM && !ch.id.p) {
        rc = choose(&ch, out);
        if (rc != 0 || !ch.id.p)
            return rc;
    }
    if (tool != TOOL_CREATE)
        rc = load(&ch);
    if (rc == 0)
        rc = changes[tool].run(&ch);
    return rc == 0 ? stage(&ch, out)
        : rc == UNCHANGED ? receipt_unchanged(&ch, out) : rc;
}

int
task_change_text(struct tasks *t, struct task_ctx *c, enum task_tool tool,
                 struct str text, struct task_receipt *out)
{
    const struct json_tok *obj;
    struct task_args args;
    int rc = json_parse(c->a, text, &obj, NULL);

    if (rc != 0)
        return task_fail_store(&c->e, rc);
    rc = task_args_parse(c, tool, obj, &args);
    return rc == 0 ? task_change(t, c, tool, &args, NULL, out) : rc;
}

/* When it had last changed where it comes from: that is told in the note,
   since the record's own time is that of the import. */
static void
note_updated_at(struct change *ch, const struct json_tok *obj)
{
    const struct json_tok *t = json_get(obj, "updated_at");
    char text[TIME_LEN + 1];
    int64_t ms;

    if (!t || !task_time_parse(ch->c->a, json_str(ch->c->a, t), &ms))
        return;
    time_format(ms, text);
    ch->note = keep(ch, arena_printf(ch->c->a, "\"last changed %s\"",
                                     text));
}

int
task_import(struct tasks *t, struct task_ctx *c, const struct json_tok *obj,
            struct task_receipt *out)
{
    struct task_args args;
    struct change ch = {.t = t, .c = c, .args = &args, .tool = TOOL_IMPORT};
    int rc;

    c->e = (struct task_error){0};
    rc = task_args_parse(c, TOOL_IMPORT, obj, &args);
    if (rc != 0)
        return rc;
    begin(&ch);
    if (tasks_find(t, ch.id) && !tasks_is_archived(t, ch.id))
        return refuse(&ch, ERR_EXISTS, "task_id", "there is such a task");
    take_fields(&ch);
    ch.k.extra = args.extra;
    set_defaults(&ch);
    note_updated_at(&ch, obj);
    rc = check_links(&ch);
    return rc == 0 ? stage(&ch, out) : rc;
}

int
task_archive(struct tasks *t, const struct store_rec *r)
{
    const unsigned kept = 1u << F_TASK_ID | 1u << F_PARENT_ID |
                          1u << F_DEPENDS_ON | 1u << F_VERSION;
    const struct store_entry *e = store_find(t->store, r->key);
    struct task k = {.extra = STR_NONE};
    struct task_event ev;
    struct buf *b = &t->body;
    int i, rc;

    if (!e || e->n != r->n)
        return ERR_VERSION;
    if ((rc = task_event_of(r, &ev)) != 0 ||
        (rc = task_head_of(ev.v, k.f)) != 0)
        return rc;
    k.f[F_RESULT] = k.f[F_STATUS];
    k.f[F_ARTIFACTS] = task_member(ev.v, "artifacts"); /* no orphans yet */
    for (i = 0; i < TASK_N_HEAD; i++)
        if (!(kept >> i & 1))
            k.f[i] = i == F_STATUS ? STR("\"archived\"") : STR_NONE;
    buf_reset(b, b->cap);
    buf_z(b, "\"op\":\"archive\",\"by\":\"mcptask\",\"v\":");
    put_state(b, &k);
    rc = b->err ? b->err : store_stage(t->store, r->key, buf_view(b));
    buf_reset(b, BODY_KEEP);
    return rc;
}
