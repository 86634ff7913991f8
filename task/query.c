/* query - lists and searches: one walk over the live and the ended
   tasks, newest change first, merged by n; and the next task to be claimed.

   1. A list is bounded: TASK_LOOK_MAX entries, read_max bytes of records
      (the record that passes it is still used). What ends early is partial
      and says where to go on.
   2. A cursor is "before/seen/live/ended": go on with tasks whose n is below
      before; seen matches came in earlier lists; then the id of the next task
      to look at in each list, empty at the end of the list. A task that changed
      since stands further in front, so to start from it skips nothing; what
      it stands before is known to have been passed by its n.
   3. Tasks that do not change keep their n, and so their place: no list skips
      or repeats one. A task that changes meanwhile gets an n above head and is
      found by asking for changes since the first list's head.
   4. To find a task to claim is bounded, too: by READY_BYTES of records, then
      those that depend on others are passed over, by twice as many, and by
      TASK_LOOK_MAX tasks. What was read and is blocked is parked: the next
      search goes on behind it. What is found has been read, as far as a change
      of it has to: a task that only a newer version can read is in nobody's
      way. */

#include "task/query.h"
#include "base/text.h"
#include "task/index.h"

#include <string.h>

#define DEFAULT_LIMIT 20
#define COUNT_MAX 1000 /* matches counted beyond the list, with a filter */
#define READY_BYTES (TASK_READ_MAX / 4) /* under the lock: others wait */
#define LIVE_BITS ((1u << TASK_DONE) - 1)
#define ENDED_BITS TASK_ENDED_BITS

struct scan {
    struct tasks *t;
    struct arena *a;
    const struct task_query *q;
    struct task_list *list;
    unsigned statuses; /* those wanted, a bit each */
    uint32_t atom[ATOM_TAGS]; /* 0: any */
    struct str tag;    /* raw */
    struct str text;   /* lower case */
    uint16_t *fallback; /* of the search for text */
    bool filtered;     /* by more than the status */
    struct task_entry *at[N_LISTS]; /* next to look at */
    uint64_t before, seen;
    size_t looked, limit;
    uint64_t bytes;    /* of records read */
    uint32_t tags_last; /* the tags last looked at, and what came of it */
    bool tags_hit;
};

/* ---- the words of a query ---- */

/* Knuth, Morris and Pratt: however the text repeats itself, one pass. */
static int
prepare_text(struct scan *s)
{
    struct str q = s->q->text;
    size_t i, k = 0;
    char *p;

    if (!q.len || s->q->in == TEXT_STARTS_ID)
        return 0;
    p = arena_alloc(s->a, q.len);
    s->fallback = arena_alloc(s->a, q.len * sizeof *s->fallback);
    if (!p || !s->fallback)
        return ERR_NOMEM;
    for (i = 0; i < q.len; i++)
        p[i] = text_lower(q.p[i]);
    s->fallback[0] = 0;
    for (i = 1; i < q.len; i++) {
        while (k && p[i] != p[k])
            k = s->fallback[k - 1];
        k += p[i] == p[k];
        s->fallback[i] = (uint16_t)k;
    }
    s->text = (struct str){p, q.len};
    return 0;
}

static bool
holds_text(const struct scan *s, struct str in)
{
    size_t i, k = 0;

    for (i = 0; i < in.len; i++) {
        char c = text_lower(in.p[i]);

        while (k && c != s->text.p[k])
            k = s->fallback[k - 1];
        k += c == s->text.p[k];
        if (k == s->text.len)
            return true;
    }
    return false;
}

static bool
matches_text(const struct scan *s, const struct task *k)
{
    static const uint8_t fields[] = {F_TITLE, F_TASK_ID, F_GOAL,
                                     F_RESUME_PROMPT};
    size_t i, at = 0, n = s->q->in == TEXT_IN_TITLE ? 1 : sizeof fields;
    struct str tag;

    if (!s->text.p)
        return true;
    for (i = 0; i < n; i++)
        if (holds_text(s, raw_text(s->a, k->f[fields[i]])))
            return true;
    while (n > 1 && (tag = raw_list_next(k->f[F_TAGS], &at)).p)
        if (holds_text(s, raw_text(s->a, tag)))
            return true;
    return false;
}

/* ---- one task ---- */

static int
read_task(struct tasks *t, const struct task_entry *e, struct arena *a,
          struct task *k)
{
    struct task_event ev;
    int rc = task_entry_event(t, e, a, &ev);

    return rc == 0 ? task_of(t, a, &ev, k) : rc;
}

static bool
has_tag(struct scan *s, uint32_t tags)
{
    if (tags != s->tags_last)
        s->tags_hit = raw_list_has(atoms_text(&s->t->atoms, tags), s->tag);
    s->tags_last = tags;
    return s->tags_hit;
}

static bool
is_asked(enum task_ask ask, bool is)
{
    return ask == TASK_EITHER || (ask == TASK_YES) == is;
}

static bool
is_stale(const struct scan *s, const struct task_entry *e)
{
    return e->status == TASK_IN_PROGRESS &&
           store_now_ms(s->t->store) - e->changed_ms > TASK_STALE_MS;
}

/* What the entry alone can tell. */
static bool
matches_entry(struct scan *s, const struct task_entry *e)
{
    const struct task_query *q = s->q;
    bool free = q->ready && !e->parked && task_entry_free(s->t, e);

    for (int i = 0; i < ATOM_TAGS; i++)
        if (s->atom[i] && s->atom[i] != e->atom[i])
            return false;
    return s->statuses & 1u << e->status &&
           (!s->tag.p || has_tag(s, e->atom[ATOM_TAGS])) &&
           (!q->ready || (free && e->has_deps) ||
            is_asked(q->ready, free)) &&
           (!q->stale || is_asked(q->stale, is_stale(s, e))) &&
           (!q->needs_input ||
            is_asked(q->needs_input, e->has_open && e->status < TASK_DONE)) &&
           (q->in != TEXT_STARTS_ID ||
            str_begins(task_entry_id(e), q->text));
}

/* ---- the walk ---- */

/* The next task in order, which the scan then has passed; NULL: the end. */
static struct task_entry *
step(struct scan *s)
{
    struct task_entry *e = tasks_walk(s->at);

    if (!e || e->e.n <= s->q->since_n ||
        (s->q->since_ms && e->changed_ms < s->q->since_ms))
        return NULL; /* times never go back along the log */
    s->looked++;
    return e;
}

static bool
spent(const struct scan *s)
{
    size_t max = s->q->read_max > 0 ? s->q->read_max : TASK_READ_MAX;

    return s->looked >= TASK_LOOK_MAX || s->bytes >= max;
}

static struct str
cursor_here(struct scan *s)
{
    struct str id[N_LISTS] = {STR_NONE};

    for (int i = 0; i < N_LISTS; i++)
        if (s->at[i])
            id[i] = task_entry_id(s->at[i]);
    return arena_printf(s->a, "%llu/%llu/%.*s/%.*s",
                        (unsigned long long)s->before,
                        (unsigned long long)(s->seen + s->list->n),
                        STR_ARG(id[0]), STR_ARG(id[1]));
}

/* Counts a task that matches, and takes it where there is room for it. */
static int
take(struct scan *s, const struct task_entry *e)
{
    struct task_list *l = s->list;
    struct task *k = &l->tasks[l->n];
    bool deps = s->q->ready != TASK_EITHER && e->has_deps;
    bool room = l->n < s->limit;
    int rc;

    if (!matches_entry(s, e))
        return 0;
    if (room || deps || s->text.p) {
        s->bytes += e->e.len;
        rc = read_task(s->t, e, s->a, k);
        if (rc != 0)
            return rc == ERR_FORMAT ? 0 : rc;
        if ((deps && !is_asked(s->q->ready, k->ready)) || !matches_text(s, k))
            return 0;
    }
    l->total++;
    if (!room)
        return 0;
    l->n++;
    l->after[l->n - 1] = cursor_here(s);
    return l->after[l->n - 1].p ? 0 : ERR_NOMEM;
}

/* Fills the list, then counts on as far as a total is wanted. */
static int
walk(struct scan *s)
{
    struct task_list *l = s->list;
    uint64_t full = s->seen + s->limit;
    struct task_entry *e = NULL;
    int rc;

    l->total = s->seen;
    while (!spent(s) && (e = step(s))) {
        if (e->e.n >= s->before)
            continue;
        s->before = e->e.n;
        rc = take(s, e);
        if (rc != 0)
            return rc;
        /* One more than the list holds says that others follow. */
        if ((l->n == s->limit && s->q->uncounted) ||
            (l->total > full &&
             (!s->filtered || l->total > full + COUNT_MAX)))
            break;
    }
    l->exact = e == NULL && !spent(s);
    if (l->n == s->limit && (!l->exact || l->total > full))
        l->next = l->after[l->n - 1];
    l->partial = l->n < s->limit && !l->exact;
    if (l->partial)
        l->next = cursor_here(s);
    return l->partial && !l->next.p ? ERR_NOMEM : 0;
}

/* ---- a query ---- */

/* Finds the atoms of the texts; a text that no task has matches nothing. */
static int
find_atoms(struct scan *s)
{
    const struct str texts[ATOM_TAGS] = {s->q->owner, s->q->repo_path,
                                         s->q->parent_id};
    struct str raw;

    for (int i = 0; i < ATOM_TAGS; i++) {
        if (!texts[i].p)
            continue;
        raw = raw_quote(s->a, texts[i]);
        if (!raw.p)
            return ERR_NOMEM;
        s->atom[i] = atoms_find(&s->t->atoms, raw);
        if (s->atom[i] == 0)
            s->statuses = 0;
        s->filtered = true;
    }
    return 0;
}

static int
prepare(struct scan *s)
{
    const struct task_query *q = s->q;
    int rc;

    s->statuses = q->status ? q->status
        : LIVE_BITS | (q->include_done ? ENDED_BITS : 0);
    s->limit = q->limit == 0 ? DEFAULT_LIMIT
        : q->limit > TASK_LIST_MAX ? TASK_LIST_MAX : q->limit;
    s->tags_last = UINT32_MAX;
    s->filtered = q->tag.p || q->text.len || q->ready || q->stale ||
                  q->needs_input || q->since_ms || q->since_n;
    if (q->tag.p) {
        s->tag = raw_quote(s->a, q->tag);
        if (!s->tag.p)
            return ERR_NOMEM;
    }
    rc = find_atoms(s);
    return rc == 0 ? prepare_text(s) : rc;
}

/* Where to begin: at the newest tasks, or where a cursor says. */
static int
start(struct scan *s)
{
    static const unsigned bits[N_LISTS] = {LIVE_BITS, ENDED_BITS};
    struct str cursor = s->q->cursor, id;
    struct task_entry *e;

    memcpy(s->at, s->t->newest, sizeof s->at);
    s->before = UINT64_MAX;
    if (cursor.len > 0 && (!str_u64(str_cut(&cursor, '/'), &s->before) ||
                           !str_u64(str_cut(&cursor, '/'), &s->seen)))
        return ERR_INVALID;
    for (int i = 0; i < N_LISTS; i++) {
        if (s->q->cursor.len > 0) {
            id = str_cut(&cursor, '/');
            e = id.len > 0 ? tasks_find(s->t, id) : NULL;
            if (id.len == 0 || (e && bits[i] >> e->status & 1))
                s->at[i] = e;
        }
        if (!(s->statuses & bits[i]))
            s->at[i] = NULL;
    }
    return 0;
}

int
tasks_list(struct tasks *t, struct arena *a, const struct task_query *q,
           struct task_list *out)
{
    struct scan s = {.t = t, .a = a, .q = q, .list = out};
    int rc, i;

    *out = (struct task_list){.exact = true,
                              .head = store_next_n(t->store) - 1};
    rc = store_loaded(t->store) ? prepare(&s) : ERR_IO;
    if (rc == 0)
        rc = start(&s);
    if (rc != 0)
        return rc;
    /* One more, to look at what no longer fits. */
    out->tasks = arena_alloc(a, (s.limit + 1) * sizeof *out->tasks);
    out->after = arena_alloc(a, s.limit * sizeof *out->after);
    if (!out->tasks || !out->after)
        return ERR_NOMEM;
    rc = walk(&s);
    if (rc != 0 || s.filtered)
        return rc;
    /* Without a filter the counters know, whatever was looked at. */
    out->exact = true;
    out->total = 0;
    for (i = 0; i < TASK_N_STATUSES; i++)
        if (s.statuses & 1u << i)
            out->total += tasks_count(t, (enum task_status)i);
    return 0;
}

size_t
tasks_owners(struct tasks *t, struct str prefix, struct str *out, size_t max,
             bool *more)
{
    struct task_entry *at[N_LISTS], *e;
    size_t n = 0, i, looked = 0;

    memcpy(at, t->newest, sizeof at);
    *more = false;
    while (!*more && (e = tasks_walk(at))) {
        struct str owner = task_entry_text(t, e, ATOM_OWNER);

        *more = ++looked > TASK_LOOK_MAX;
        if (!owner.p || !str_begins(owner, prefix))
            continue;
        for (i = 0; i < n && out[i].p != owner.p;)
            i++;
        if (i == max)
            *more = true;
        else if (i == n)
            out[n++] = owner;
    }
    return n;
}

/* ---- the next task to claim ---- */

struct search {
    struct tasks *t;
    struct task_want *w;
    struct arena a;
    size_t looked;
    uint64_t bytes;
};

/* Whether w may have the task of e, whatever its state. */
static bool
is_wanted(const struct tasks *t, const struct task_want *w,
          const struct task_entry *e)
{
    return (!w->repo_path.p ||
            str_eq(task_entry_text(t, e, ATOM_REPO_PATH), w->repo_path)) &&
           (!w->tag.p ||
            raw_list_has(task_entry_text(t, e, ATOM_TAGS), w->tag));
}

/* Whether the task of e may be begun by w->by, as far as the entry alone can
   tell. */
static bool
is_free_for(const struct tasks *t, const struct task_want *w,
            const struct task_entry *e)
{
    struct str kept_for = task_entry_kept_for(t, e);

    return task_entry_free(t, e) &&
           (!kept_for.p || str_eq(kept_for, w->by));
}

/* Whether the task of e is ready, and can be read: 1, 0, or an error. */
static int
is_ready(struct search *s, struct task_entry *e)
{
    size_t at = 0;
    struct task k;
    int rc;

    s->bytes += e->e.len;
    arena_reset(&s->a);
    rc = read_task(s->t, e, &s->a, &k);
    if (rc == 0 && k.blocked)
        task_entry_park(s->t, e, raw_list_next(k.blocked_by, &at));
    return rc == 0 ? k.ready : rc == ERR_FORMAT ? 0 : rc;
}

/* Looks at one task: 1: it is to be taken; 0: it is not; or an error. */
static int
look_at(struct search *s, struct task_entry *e)
{
    int64_t due = task_entry_due(s->t, e);

    if (!is_wanted(s->t, s->w, e))
        return 0;
    if (is_free_for(s->t, s->w, e))
        return is_ready(s, e);
    if (s->w->due_ms == 0 || due < s->w->due_ms)
        s->w->due_ms = due;
    return 0;
}

/* The oldest of the tasks at hand, which the walk then has passed; NULL: the
   end. Invariant 4. */
static struct task_entry *
next_in(struct search *s, struct task_entry *at[N_QUEUES])
{
    struct task_entry *e = NULL;
    size_t i, from = 0;

    for (i = 0; i < N_QUEUES; i++) {
        if (at[i] && s->bytes > (i == QUEUE_DEPS ? READY_BYTES
                                                 : 2 * READY_BYTES)) {
            s->w->partial = s->w->more = true;
            at[i] = NULL;
        }
        if (at[i] && (!e || at[i]->e.n < e->e.n))
            e = at[from = i];
    }
    if (e && s->looked++ == TASK_LOOK_MAX) {
        s->w->partial = true;
        return NULL;
    }
    if (e)
        at[from] = e->later;
    return e;
}

/* The queues of one priority, or of those that were handed over what is for
   w->by: 1: *out is the task's id; 0: it is not in them; or an error. */
static int
find_in(struct search *s, const struct task_queue q[N_QUEUES], bool handed,
        struct str *out)
{
    struct task_entry *at[N_QUEUES] = {NULL}, *e;
    int rc = 0;

    for (size_t i = handed ? QUEUE_HANDED : 0; i < N_QUEUES; i++)
        at[i] = q[i].first;
    while (rc == 0 && (e = next_in(s, at)) != NULL) {
        *out = task_entry_id(e);
        if (!handed ||
            str_eq(task_entry_text(s->t, e, ATOM_OWNER), s->w->by))
            rc = look_at(s, e);
    }
    return rc;
}

struct task_want
task_want_of(const struct task_args *args)
{
    return (struct task_want){.by = args->v[ARG_AGENT],
                              .repo_path = args->v[F_REPO_PATH],
                              .tag = args->v[ARG_TAG]};
}

int64_t
tasks_due_ms(struct tasks *t, struct str id)
{
    const struct task_entry *e = tasks_find(t, id);

    return e && (!task_entry_free(t, e) || task_entry_kept_for(t, e).p)
               ? task_entry_due(t, e) : 0;
}

int
tasks_find_ready(struct tasks *t, struct task_want *w, struct str *out)
{
    struct search s = {.t = t, .w = w};
    uint32_t parked = t->n_parked;
    int i, rc = store_loaded(t->store) ? 0 : ERR_IO;

    w->partial = w->more = false;
    w->due_ms = 0;
    for (i = 0; i < 2 * TASK_N_PRIORITIES && rc == 0; i++)
        rc = find_in(&s, t->queue[i % TASK_N_PRIORITIES],
                     i < TASK_N_PRIORITIES, out);
    if (rc != 1)
        *out = STR_NONE;
    w->more = w->more && t->n_parked > parked;
    arena_fini(&s.a);
    return rc < 0 ? rc : 0;
}

/* ---- why there is none ---- */

/* Counts a task among those of who; NULL: enough others are named. */
static struct task_reason *
count_reason(struct task_reason r[TASK_REASONS], struct str who)
{
    size_t i = 0;

    while (i < TASK_REASONS && r[i].who.p && !str_eq(r[i].who, who))
        i++;
    if (i == TASK_REASONS)
        return NULL;
    if (r[i].n++ == 0)
        r[i].who = who;
    return &r[i];
}

/* A task in the hands of an agent, or handed to one. */
static void
count_held(struct tasks *t, const struct task_entry *e, struct task_why *out)
{
    struct str owner = task_entry_text(t, e, ATOM_OWNER);
    struct task_reason *r;
    int64_t due = task_entry_due(t, e);

    out->held++;
    r = count_reason(out->holders, owner.p ? owner : STR("\"unknown\""));
    if (r && (r->until_ms == 0 || due < r->until_ms))
        r->until_ms = due;
}

/* A task that depends on others. */
static int
count_blocked(struct search *s, struct arena *a, const struct task_entry *e,
              struct task_why *out)
{
    struct task_reason *r;
    struct task_entry *by;
    struct str first;
    struct task k;
    size_t at = 0;
    int rc;

    s->bytes += e->e.len;
    arena_reset(&s->a);
    rc = read_task(s->t, e, &s->a, &k);
    if (rc != 0 || !k.blocked)
        return rc == ERR_FORMAT ? 0 : rc;
    out->blocked++;
    first = raw_list_next(k.blocked_by, &at);
    by = tasks_find(s->t, raw_inner(first));
    r = count_reason(out->blockers, first);
    if (r && r->n == 1)
        r->who = arena_str(a, first);
    if (r && by && by->status < TASK_N_STATUSES)
        r->status = str_of(task_status_name((enum task_status)by->status));
    return r && !r->who.p ? ERR_NOMEM : 0;
}

int
tasks_why_none(struct tasks *t, struct arena *a, const struct task_want *w,
               struct task_why *out)
{
    struct search s = {.t = t};
    struct task_entry *at[N_LISTS] = {t->newest[LIST_LIVE]}, *e;
    int rc = 0;

    *out = (struct task_why){0};
    while (rc == 0 && !out->partial && (e = tasks_walk(at)) != NULL) {
        out->partial = s.looked++ == TASK_LOOK_MAX || s.bytes > READY_BYTES;
        if (out->partial || !is_wanted(t, w, e))
            continue;
        if (!is_free_for(t, w, e))
            count_held(t, e, out);
        else if (e->has_deps)
            rc = count_blocked(&s, a, e, out);
    }
    arena_fini(&s.a);
    return rc;
}

/* ---- waiting for a change ---- */

struct str
task_alias_of(struct str owner, char *buf)
{
    static const char prefix[] = "owner/";
    size_t head = sizeof prefix - 1;
    struct str name = raw_inner(owner);

    if (!name.p)
        return STR_NONE;
    if (name.len > TASK_ALIAS_MAX - head)
        name.len = TASK_ALIAS_MAX - head;
    memcpy(buf, prefix, head);
    memcpy(buf + head, name.p, name.len);
    return (struct str){buf, head + name.len};
}

struct str
task_names(struct str key, struct str body, char *buf)
{
    const struct store_rec r = {.key = key, .body = body};
    struct str f[TASK_N_HEAD], owner;
    struct task_event ev;
    size_t n;
    int status;

    if (task_event_of(&r, &ev) != 0)
        return STR_NONE;
    (void)task_head_of(ev.v, f); /* what it does not find is empty */
    owner = task_alias_of(f[F_CURRENT_OWNER], buf);
    status = task_status_of(raw_inner(f[F_STATUS]));
    n = owner.len + text_put(buf + owner.len, TASK_NAMES_MAX - owner.len,
        "%s%s", status >= TASK_DONE ? "\t" TASK_ENDED
                : status >= 0 && status != TASK_IN_PROGRESS ? "\t" TASK_FREE
                                                            : "",
        f[F_QUESTIONS].p ? "\t" TASK_ASKED : "");
    return n == 0 ? STR_NONE
           : *buf == '\t' ? (struct str){buf + 1, n - 1}
                          : (struct str){buf, n};
}
