/* calls - deferred calls: their records, the index over them, and the marks of
   those to run again.

   The body of a record is

     "op":"<what was done>","v":{"form":1,<the fields, as in the table>}

   and v is the whole call, so the newest record is all that is needed. The
   order of the fields is fixed. The first N_HEAD are always there, so one pass
   over these bytes fills the index. The others are left out if empty. A record
   with another form or field comes from a newer version: such a call is never
   listed, changed or dropped.

   Invariants:
   1. An entry holds the data of its record, a slot links and marks: undo
      restores an entry's old bytes and mends the links.
   2. A slot is given once, in the order of the first records seen here. Only
      the undo of that record takes it back, and then it is the last one.
   3. The member order of slots 1 to n lists them by rising born.
   4. A live call, and no other, is in the chain of the bucket of each name
      of its watch. Different names may have one hash: a mark is a hint.
   5. marked is true only for live calls. A slot that has lost its mark stays
      queued until its turn; one that is marked again keeps its place.
   6. A call's own record removes its mark, so after a replay those calls are
      marked whose watch saw later events. Undo sets a mark, since the call may
      still need what it was run for. */

#include "mcp/calls.h"
#include "base/base64.h"
#include "base/text.h"
#include "json.h"
#include "json/raw.h"
#include "mcp/wire.h"

#include <stdlib.h>
#include <string.h>

/* ---- the record ---- */

static const char statuses[CALL_N_STATUSES][15] = {
    "working", "input_required", "completed", "failed", "cancelled"};

const char *
call_status_name(enum call_status s)
{
    return statuses[s];
}

bool
call_status_ended(enum call_status s)
{
    return s >= CALL_COMPLETED;
}

struct str
call_next_name(struct str *names)
{
    struct str name = str_cut(names, '\t');

    return names->p == NULL && name.len == 0 ? STR_NONE : name;
}

enum { TEXT, RAW, STATUS, NUMBER, ROUND, FLAG };

static const struct field {
    char name[10];
    uint8_t kind;
    uint8_t at; /* in struct call */
} fields[] = {
#define FIELD(name, kind, member) {name, kind, offsetof(struct call, member)}
    FIELD("status", STATUS, status),
    FIELD("born", NUMBER, born),
    FIELD("created", NUMBER, created_ms),
    FIELD("ttl", NUMBER, ttl_ms),
    FIELD("due", NUMBER, due_ms),
    FIELD("principal", TEXT, principal),
    FIELD("watch", TEXT, watch),
    FIELD("updated", NUMBER, updated_ms),
    FIELD("since", NUMBER, since),
    FIELD("round", ROUND, round),
    FIELD("is_error", FLAG, is_error),
    FIELD("tool", TEXT, tool),
    FIELD("args", RAW, args),
    FIELD("shape", RAW, shape),
    FIELD("state", TEXT, state),
    FIELD("questions", RAW, questions),
    FIELD("message", TEXT, message),
    FIELD("result", RAW, result),
    FIELD("error", RAW, error),
#undef FIELD
};
enum { N_HEAD = 7, N_FIELDS = sizeof fields / sizeof *fields };
_Static_assert(sizeof(struct call) <= UINT8_MAX, "field.at has 8 bits");

/* The length of a text, or the value of a number: 0 if k has no such field. */
static uint64_t
field_value(const struct field *f, const struct call *k)
{
    const void *m = (const char *)k + f->at;

    switch (f->kind) {
    case NUMBER:
        return *(const uint64_t *)m;
    case ROUND:
        return k->round;
    case FLAG:
        return k->is_error;
    case STATUS:
        return k->status;
    default:
        return ((const struct str *)m)->len;
    }
}

/* Appends the body of k's record; op, a plain word, names the change. */
static void
put_call_record(struct buf *b, const struct call *k, const char *op)
{
    buf_printf(b, "\"op\":\"%s\",\"v\":{\"form\":1", op);
    for (const struct field *f = fields; f < fields + N_FIELDS; f++) {
        const void *m = (const char *)k + f->at;
        const struct str *s = m;
        uint64_t v = field_value(f, k);
        size_t at;

        if (v == 0 && f >= fields + N_HEAD)
            continue;
        buf_printf(b, ",\"%s\":", f->name);
        at = b->len;
        if (f->kind == STATUS)
            json_quote(b, str_of(call_status_name(k->status)));
        else if (f->kind == TEXT)
            json_quote(b, *s);
        else if (f->kind == RAW)
            buf_str(b, *s);
        else if (f->kind == FLAG)
            buf_z(b, "true");
        else
            buf_u64(b, v);
        /* In JSON a line feed is only a blank; in a log it ends the line. */
        for (; f->kind == RAW && at < b->len; at++)
            if (b->p[at] == '\n')
                b->p[at] = ' ';
    }
    buf_char(b, '}');
}

static int
read_field(struct arena *a, const struct field *f, struct str raw,
           struct call *k)
{
    void *m = (char *)k + f->at;

    if (f->kind == RAW)
        *(struct str *)m = raw;
    else if (f->kind == NUMBER)
        *(uint64_t *)m = raw_u64(raw);
    else if (f->kind == ROUND)
        k->round = (unsigned)raw_u64(raw);
    else if (f->kind == FLAG)
        k->is_error = true;
    else if (*raw.p != '"')
        return ERR_FORMAT;
    else if (f->kind == TEXT)
        *(struct str *)m = raw_text(a, raw);
    else
        while (k->status < CALL_N_STATUSES &&
               !str_is(raw_inner(raw), statuses[k->status]))
            k->status++;
    if (k->status == CALL_N_STATUSES)
        return ERR_FORMAT;
    if (f->kind != TEXT || ((struct str *)m)->p != NULL)
        return 0;
    return json_is_valid(raw) ? ERR_NOMEM : ERR_FORMAT;
}

/* Reads the first N_HEAD fields of a body like read_call, and leaves m after
   them. */
static int
read_call_head(struct arena *a, struct str body, struct call *k,
               struct raw_members *m)
{
    int rc = 0;

    *k = (struct call){.status = CALL_WORKING};
    *m = raw_members_of(body);
    if (raw_next(m) != 1 || raw_next_name(m) != 1 || !str_is(m->name, "v"))
        return ERR_FORMAT;
    *m = raw_members_of((struct str){m->p, (size_t)(m->end - m->p)});
    if (raw_next(m) != 1 || !str_is(m->name, "form") || !str_is(m->value, "1"))
        return ERR_FORMAT;
    for (const struct field *f = fields; rc == 0 && f < fields + N_HEAD; f++)
        rc = raw_next(m) == 1 && str_is(m->name, f->name)
                 ? read_field(a, f, m->value, k) : ERR_FORMAT;
    if (rc == 0 && (k->created_ms < 0 || k->created_ms > INT64_MAX / 2 ||
                    k->ttl_ms < 0 || k->ttl_ms > CALL_MAX_TTL_MS))
        rc = ERR_FORMAT;
    return rc;
}

/* Reads a body into *k, but for id and n; resolves texts with escapes in a.
   Returns 0, ERR_NOMEM, or ERR_FORMAT if a newer version wrote it. */
static int
read_call(struct arena *a, struct str body, struct call *k)
{
    const struct field *f = fields + N_HEAD, *end = fields + N_FIELDS;
    struct raw_members m;
    int rc = read_call_head(a, body, k, &m);

    while (rc == 0 && (rc = raw_next(&m)) == 1) {
        while (f < end && !str_is(m.name, f->name))
            f++;
        rc = f < end ? read_field(a, f, m.value, k) : ERR_FORMAT;
    }
    return rc;
}

/* ---- the index ---- */

#define PREFIX "call/"
#define PREFIX_LEN (sizeof PREFIX - 1)
#define KEY_LEN (PREFIX_LEN + CALL_ID_LEN)
#define UNREADABLE CALL_N_STATUSES /* the status of an unreadable call */
#define MIN_TTL_MS 1000
#define N_NAMES CALL_NAMES_MAX

struct call_entry {
    struct store_entry e;
    uint64_t born, principal; /* hash */
    uint32_t watch[N_NAMES];  /* hashes; 0: no name */
    uint64_t seen; /* a run here has seen the log up to this */
    int64_t created_ms;
    uint32_t ttl_ms;
    uint32_t due_in; /* ms from created_ms on; 0: never */
    uint32_t slot;   /* 0: not given yet */
    uint8_t status;
    uint8_t initial[N_NAMES]; /* byte of each */
};
_Static_assert(sizeof(struct call_entry) <= 104, "300 bytes a call in all");
_Static_assert(CALL_MAX_TTL_MS <= UINT32_MAX, "entries hold it in 32 bits");

struct slot {
    struct call_entry *e;
    uint32_t next[N_NAMES]; /* in the bucket of each name; 0: the last */
    uint32_t next_mark; /* in the queue; 0: the last */
    uint32_t first;     /* of the bucket that has this slot's number; this
                           and next: N_NAMES * slot + name */
    uint32_t order;     /* the slot that comes here in order of born */
    bool marked, queued;
};

struct calls {
    struct store *store;
    struct calls_options opt;
    struct slot *slot; /* [0] has a bucket only */
    uint32_t n, cap;   /* cap: a power of two, or 0 */
    uint32_t first_mark, last_mark;
    uint32_t live, waiting, marked; /* how many, expired ones too; names */
    uint32_t by_initial[256];       /* of those names */
};

/* Never 0, which stands for no name. */
static uint32_t
hash_name(struct str name)
{
    uint32_t h = (uint32_t)(str_hash(name) >> 32);

    return h != 0 ? h : 1;
}

/* Sets the values of e from r. ERR_NOMEM; ERR_FORMAT: it cannot be read. */
static int
read_call_entry(const struct store_rec *r, struct call_entry *e)
{
    struct arena a = {0};
    struct raw_members m;
    struct call k;
    int rc = r->key.len == KEY_LEN ? read_call_head(&a, r->body, &k, &m)
                                   : ERR_FORMAT;

    if (rc == 0) {
        e->status = (uint8_t)k.status;
        e->born = k.born;
        e->created_ms = k.created_ms;
        e->ttl_ms = (uint32_t)k.ttl_ms;
        /* After it has expired it is never due. */
        if (k.due_ms == 0 || k.due_ms >= k.created_ms + k.ttl_ms)
            e->due_in = 0;
        else if (k.due_ms <= k.created_ms)
            e->due_in = 1;
        else
            e->due_in = (uint32_t)(k.due_ms - k.created_ms);
        e->principal = str_hash(k.principal);
    }
    for (int i = 0; rc == 0 && i < N_NAMES; i++) {
        struct str name = call_next_name(&k.watch);

        e->watch[i] = name.len > 0 ? hash_name(name) : 0;
        e->initial[i] = name.len > 0 ? (uint8_t)*name.p : 0;
    }
    arena_fini(&a);
    return rc;
}

/* ---- slots ---- */

static bool
is_live(const struct call_entry *e)
{
    return e->slot != 0 && e->status < CALL_COMPLETED;
}

static bool
is_expired(const struct call_entry *e, int64_t now_ms)
{
    return now_ms - store_past_ms(e->created_ms, now_ms) >= e->ttl_ms;
}

/* The call that is the i-th by born, from 1. */
static struct call_entry *
by_born(const struct calls *c, uint32_t i)
{
    return c->slot[c->slot[i].order].e;
}

static uint32_t *
watch_bucket(const struct calls *c, uint32_t watch)
{
    return &c->slot[watch & (c->cap - 1)].first;
}

/* The link after the one that link names. */
static uint32_t *
next_link(const struct calls *c, uint32_t i)
{
    return &c->slot[i / N_NAMES].next[i % N_NAMES];
}

static void
link_call(struct calls *c, const struct call_entry *e)
{
    for (uint32_t i = 0; i < N_NAMES; i++) {
        uint32_t *first = watch_bucket(c, e->watch[i]);

        if (e->watch[i] == 0)
            continue;
        c->waiting++;
        c->by_initial[e->initial[i]]++;
        c->slot[e->slot].next[i] = *first;
        *first = e->slot * N_NAMES + i;
    }
}

/* Makes room for one more slot. */
static int
reserve_slot(struct calls *c)
{
    uint32_t cap = c->cap > 0 ? 2 * c->cap : 64, i;
    struct slot *slot;

    if (c->n + 1 < c->cap)
        return 0;
    slot = cap < UINT32_MAX / sizeof *slot
               ? realloc(c->slot, cap * sizeof *slot) : NULL;
    if (slot == NULL)
        return ERR_NOMEM;
    memset(slot + c->cap, 0, (cap - c->cap) * sizeof *slot);
    c->slot = slot;
    c->cap = cap;
    c->waiting = 0;
    memset(c->by_initial, 0, sizeof c->by_initial);
    for (i = 0; i < cap; i++)
        slot[i].first = 0;
    for (i = 1; i <= c->n; i++)
        if (is_live(slot[i].e))
            link_call(c, slot[i].e);
    return 0;
}

/* ---- marks ---- */

/* Puts i into the queue after the slot `after` (0: anywhere), before the first
   younger one. */
static void
queue_mark(struct calls *c, uint32_t i, uint32_t after)
{
    struct slot *s = &c->slot[i];
    uint32_t *at = after ? &c->slot[after].next_mark : &c->first_mark;

    c->marked += !s->marked;
    s->marked = true;
    if (s->queued)
        return;
    s->queued = true;
    while (*at != 0 && *at < i)
        at = &c->slot[*at].next_mark;
    s->next_mark = *at;
    *at = i;
    if (s->next_mark == 0)
        c->last_mark = i;
}

static void
mark_slot(struct calls *c, uint32_t i)
{
    queue_mark(c, i, c->last_mark);
}

static void
unmark_slot(struct calls *c, uint32_t i)
{
    c->marked -= c->slot[i].marked;
    c->slot[i].marked = false;
}

/* The call that has waited longest comes first. */
void
calls_wake(struct calls *c, struct str name)
{
    uint32_t h = hash_name(name), last = c->last_mark, i;

    for (i = *watch_bucket(c, h); i != 0; i = *next_link(c, i))
        if (c->slot[i / N_NAMES].e->watch[i % N_NAMES] == h)
            queue_mark(c, i / N_NAMES, last);
}

/* ---- store's functions ---- */

/* Takes e out of chains and counts, before it changes. */
static void
leave_chains(struct calls *c, const struct call_entry *e)
{
    if (!is_live(e))
        return;
    c->live--;
    unmark_slot(c, e->slot);
    for (uint32_t i = 0; i < N_NAMES; i++) {
        uint32_t *at = watch_bucket(c, e->watch[i]);

        if (e->watch[i] == 0)
            continue;
        c->waiting--;
        c->by_initial[e->initial[i]]--;
        while (*at != e->slot * N_NAMES + i)
            at = next_link(c, *at);
        *at = c->slot[e->slot].next[i];
    }
}

static void
join_chains(struct calls *c, const struct call_entry *e)
{
    if (!is_live(e))
        return;
    c->live++;
    link_call(c, e);
}

static int
apply_call(void *ctx, struct store_entry *se, const struct store_rec *r)
{
    struct calls *c = ctx;
    struct call_entry *e = (struct call_entry *)se, now = *e;
    int rc = read_call_entry(r, &now);
    uint32_t i;

    if (rc == 0 && e->slot == 0)
        rc = reserve_slot(c);
    if (rc == ERR_NOMEM)
        return rc;
    if (rc != 0) {
        now = *e;
        now.status = UNREADABLE;
    }
    leave_chains(c, e);
    *e = now;
    if (rc == 0 && e->slot == 0) {
        e->slot = i = ++c->n;
        c->slot[i].e = e;
        /* Only after a compaction is there anything to move. */
        for (; i > 1 && by_born(c, i - 1)->born > e->born; i--)
            c->slot[i].order = c->slot[i - 1].order;
        c->slot[i].order = e->slot;
    }
    join_chains(c, e);
    return 0;
}

static void
undo_call(void *ctx, struct store_entry *se, struct store_entry *old_se)
{
    struct calls *c = ctx;
    struct call_entry *e = (struct call_entry *)se, old;
    uint32_t i = c->n;

    memcpy(&old, old_se, sizeof old);
    leave_chains(c, e);
    if (e->slot != old.slot) { /* it was given last */
        while (c->slot[i].order != c->n)
            i--;
        for (; i < c->n; i++)
            c->slot[i].order = c->slot[i + 1].order;
        c->n--;
    }
    old.e = e->e; /* the store restores this itself */
    *e = old;
    join_chains(c, e);
    if (is_live(e))
        mark_slot(c, e->slot); /* invariant 6 */
}

static void
other_record(void *ctx, const struct store_rec *r)
{
    struct calls *c = ctx;
    char buf[CALL_WATCH_MAX];
    struct str names, name;

    if (c->waiting == 0)
        return;
    calls_wake(c, r->key);
    /* Its other names, whose first bytes differ, cost a read of the record. */
    if (c->opt.alias == NULL ||
        c->by_initial[(uint8_t)*r->key.p] == c->waiting)
        return;
    names = c->opt.alias(r->key, r->body, buf);
    while ((name = call_next_name(&names)).p != NULL)
        calls_wake(c, name);
}

static bool
keep_call(void *ctx, const struct store_rec *r, bool newest, int64_t now_ms)
{
    struct call_entry e;

    (void)ctx;
    return newest && (read_call_entry(r, &e) != 0 || !is_expired(&e, now_ms));
}

static void
reset_calls(void *ctx)
{
    struct calls *c = ctx;

    free(c->slot);
    *c = (struct calls){.store = c->store, .opt = c->opt};
}

struct calls *
calls_new(const struct calls_options *o)
{
    struct calls *c = calloc(1, sizeof *c);

    if (c == NULL)
        return NULL;
    c->opt = (struct calls_options){
        .max_own = o->max_own != 0 ? o->max_own : CALL_MAX_OWN,
        .max_all = o->max_all != 0 ? o->max_all : CALL_MAX_ALL,
        .alias = o->alias,
    };
    return c;
}

void
calls_kind(struct calls *c, struct store_kind *out)
{
    *out = (struct store_kind){
        .prefix = PREFIX,
        .entry_size = sizeof(struct call_entry),
        .ctx = c,
        .apply = apply_call,
        .undo = undo_call,
        .other = other_record,
        .keep = keep_call,
        .transient = true,
        .reset = reset_calls,
    };
}

void
calls_bind(struct calls *c, struct store *s)
{
    c->store = s;
}

void
calls_free(struct calls *c)
{
    if (c != NULL)
        reset_calls(c);
    free(c);
}

/* ---- one call ---- */

/* Until the next call. */
static struct str
call_key(struct str id)
{
    static char key[KEY_LEN + 1];

    return (struct str){key, text_put(key, KEY_LEN + 1, PREFIX "%.*s",
                                      CALL_ID_LEN, id.p)};
}

/* The entry of a call, whatever its state. */
static struct call_entry *
entry_of(const struct calls *c, struct str id)
{
    if (id.len != CALL_ID_LEN)
        return NULL;
    return (struct call_entry *)store_find(c->store, call_key(id));
}

/* The entry of a call that is readable and has not expired. */
static struct call_entry *
find_call(const struct calls *c, struct str id)
{
    struct call_entry *e = entry_of(c, id);

    return e != NULL && e->slot != 0 && e->status != UNREADABLE &&
           !is_expired(e, store_now_ms(c->store)) ? e : NULL;
}

static void
copy_call_id(const struct call_entry *e, char id[CALL_ID_LEN + 1])
{
    text_put(id, CALL_ID_LEN + 1, "%.*s", CALL_ID_LEN, e->e.key + PREFIX_LEN);
}

int
calls_get(struct calls *c, struct arena *a, struct str id,
          struct str principal, struct call *out)
{
    struct call_entry *e = entry_of(c, id);
    struct store_rec r;
    int rc;

    if (!store_loaded(c->store))
        return ERR_IO; /* it exists, but was not found */
    if (e == NULL || (e->status != UNREADABLE && find_call(c, id) == NULL))
        return ERR_NOT_FOUND;
    rc = store_read(c->store, &e->e, a, &r);
    if (rc == 0 && !json_is_valid(r.line))
        rc = ERR_GARBLED;
    if (rc != 0)
        return rc;
    rc = read_call(a, r.body, out);
    if (rc == 0 && principal.p != NULL && !str_eq(out->principal, principal))
        rc = ERR_NOT_FOUND;
    out->id = (struct str){r.key.p + PREFIX_LEN, CALL_ID_LEN};
    out->n = r.n;
    if (out->since < e->seen)
        out->since = e->seen;
    return rc == ERR_FORMAT ? ERR_NOT_FOUND : rc;
}

/* What goes on with a call lets it end. */
static int
stage_call(struct calls *c, struct call *k, const char *op)
{
    uint64_t n = store_next_n(c->store);
    bool fresh = k->born == 0;
    struct buf b = {0};
    int rc;

    k->updated_ms = store_now_ms(c->store);
    if (fresh) {
        k->born = n;
        k->created_ms = k->updated_ms;
    }
    put_call_record(&b, k, op);
    rc = b.err;
    if (rc == 0 && fresh)
        rc = store_stage(c->store, call_key(k->id), buf_view(&b));
    else if (rc == 0)
        rc = store_stage_last(c->store, call_key(k->id), buf_view(&b));
    buf_fini(&b);
    if (rc == 0)
        k->n = n;
    return rc;
}

/* The reason why a principal may not have one more live call; .p NULL: it
   may. */
static struct str
why_full(const struct calls *c, uint64_t principal)
{
    int64_t now = store_now_ms(c->store);
    unsigned own = 0, all = 0;

    if (c->live < c->opt.max_own && c->live < c->opt.max_all)
        return STR_NONE;
    for (uint32_t i = 1; i <= c->n; i++) {
        const struct call_entry *e = c->slot[i].e;
        bool counts = is_live(e) && !is_expired(e, now);

        all += counts;
        own += counts && e->principal == principal;
    }
    if (own >= c->opt.max_own)
        return STR("you have too many live calls; cancel some, or wait");
    if (all >= c->opt.max_all)
        return STR("the server has too many live calls; try again later");
    return STR_NONE;
}

int
calls_create(struct calls *c, struct arena *a, struct call *k)
{
    struct str full = call_status_ended(k->status)
                          ? STR_NONE : why_full(c, str_hash(k->principal));
    char random[16]; /* CALL_ID_LEN digits */
    struct buf id = {0};
    int rc;

    if (full.p != NULL) {
        k->message = full;
        return ERR_TOO_LARGE;
    }
    rc = random_bytes(random, sizeof random);
    if (rc != 0)
        return rc;
    base64url_encode(&id, (struct str){random, sizeof random});
    k->id = buf_take(&id, a);
    if (k->id.p == NULL)
        return ERR_NOMEM;
    k->ttl_ms = mcp_clamp(k->ttl_ms > 0 ? k->ttl_ms : CALL_TTL_MS,
                          MIN_TTL_MS, CALL_MAX_TTL_MS);
    k->born = 0;
    rc = stage_call(c, k, "create");
    if (rc == ERR_TOO_LARGE)
        k->message = STR("the call is too large to store");
    return rc;
}

bool
calls_have_room(struct calls *c, struct str principal)
{
    return why_full(c, str_hash(principal)).p == NULL;
}

int
calls_stage(struct calls *c, struct call *k, const char *op)
{
    const struct call_entry *e = find_call(c, k->id);

    if (e == NULL)
        return ERR_NOT_FOUND;
    if (call_status_ended((enum call_status)e->status))
        return ERR_TERMINAL;
    return e->e.n == k->n ? stage_call(c, k, op) : ERR_VERSION;
}

/* ---- marks, as others see them ---- */

bool
calls_has_questions(const struct calls *c, struct str id)
{
    const struct call_entry *e = find_call(c, id);

    return e != NULL && e->status == CALL_INPUT_REQUIRED;
}

/* Whether e, which may be NULL, is marked or due. */
static bool
has_to_run(const struct calls *c, const struct call_entry *e)
{
    return e != NULL && is_live(e) &&
           (c->slot[e->slot].marked ||
            (e->due_in != 0 &&
             store_now_ms(c->store) - e->created_ms >= e->due_in));
}

bool
calls_is_marked(struct calls *c, struct str id)
{
    return has_to_run(c, find_call(c, id));
}

void
calls_mark(struct calls *c, struct str id)
{
    const struct call_entry *e = find_call(c, id);

    if (e != NULL && is_live(e))
        mark_slot(c, e->slot);
}

bool
calls_wait(const struct calls *c)
{
    return c->waiting > 0;
}

bool
calls_mark_due(struct calls *c, struct str id)
{
    const struct call_entry *e = find_call(c, id);

    if (has_to_run(c, e))
        mark_slot(c, e->slot);
    return e != NULL && is_live(e);
}

void
calls_unmark(struct calls *c, struct str id)
{
    const struct call_entry *e = find_call(c, id);

    if (e != NULL)
        unmark_slot(c, e->slot);
}

void
calls_saw(struct calls *c, struct str id)
{
    struct call_entry *e = find_call(c, id);

    if (e != NULL) /* staged records may be undone */
        e->seen = store_next_n(c->store) - store_staged_n(c->store) - 1;
}

bool
calls_any_marked(const struct calls *c)
{
    return c->marked > 0;
}

bool
calls_next_marked(struct calls *c, char id[CALL_ID_LEN + 1])
{
    int64_t now = store_now_ms(c->store);
    bool found = false;

    while (!found && c->first_mark != 0) {
        uint32_t i = c->first_mark;
        struct slot *s = &c->slot[i];

        c->first_mark = s->next_mark;
        c->last_mark = c->first_mark != 0 ? c->last_mark : 0;
        s->queued = false;
        if (i > c->n || !s->marked)
            continue; /* invariant 5 */
        unmark_slot(c, i);
        found = !is_expired(s->e, now);
        copy_call_id(s->e, id);
    }
    return found;
}

/* ---- many calls ---- */

size_t
calls_list(struct calls *c, struct str principal, uint64_t before,
           char ids[][CALL_ID_LEN + 1], size_t max, uint64_t *last,
           bool *more)
{
    uint64_t who = str_hash(principal);
    int64_t now = store_now_ms(c->store);
    size_t n = 0;

    *more = false;
    *last = before;
    for (uint32_t i = c->n; i > 0; i--) {
        const struct call_entry *e = by_born(c, i);

        if ((before != 0 && e->born >= before) || is_expired(e, now) ||
            e->status == UNREADABLE ||
            (principal.p != NULL && e->principal != who))
            continue;
        if (n == max) {
            *more = true;
            break;
        }
        copy_call_id(e, ids[n++]);
        *last = e->born;
    }
    return n;
}

void
calls_count(struct calls *c, struct calls_counts *out)
{
    int64_t now = store_now_ms(c->store);

    *out = (struct calls_counts){.bytes = c->cap * sizeof *c->slot};
    for (uint32_t i = 1; i <= c->n; i++) {
        const struct call_entry *e = c->slot[i].e;

        if (e->status == UNREADABLE || is_expired(e, now))
            continue;
        out->by_status[e->status]++;
        if (is_live(e) && now - e->created_ms > out->oldest_ms)
            out->oldest_ms = now - e->created_ms;
    }
}
