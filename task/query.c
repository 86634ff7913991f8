/* query - lists and searches: one walk over the live and the ended
   tasks, newest change first, merged by n.

   1. A page is bounded: TASK_LOOK_MAX entries, read_max bytes of records
      (the record that passes it is still used). What ends early is partial
      and says where to go on.
   2. A cursor is "before/seen/live/ended": go on with tasks whose n is below
      before; seen matches came in earlier pages; then the id of the next task
      to look at in each list, empty where there is none. A task that changed
      since stands further in front, so to start from it skips nothing; what
      it stands before is known to have been passed by its n.
   3. Tasks that do not change keep their n, and so their place: no page skips
      or repeats one. A task that changes meanwhile gets an n above head and is
      found by asking for changes since the first page's head. */

#include "task/fields.h"
#include "task/index.h"
#include "json/raw.h"
#include "base/text.h"

#include <string.h>

#define DEFAULT_LIMIT 20
#define COUNT_MAX 1000 /* matches counted beyond the page, with a filter */
#define LIVE_BITS ((1u << TASK_DONE) - 1)
#define ENDED_BITS (((1u << TASK_N_STATUSES) - 1) & ~LIVE_BITS)

struct scan {
    struct tasks *t;
    struct arena *a;
    const struct task_query *q;
    struct task_page *page;
    unsigned statuses; /* those wanted, a bit each */
    uint32_t owner, repo_path, parent_id; /* atoms, 0: not asked */
    struct str tag;    /* raw */
    struct str text;   /* lower case */
    uint16_t *fallback; /* of the search for text */
    bool filtered;     /* by more than the status */
    bool hopeless;     /* a filter's text is nowhere in the index */
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

    if (!q.len)
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
    struct str tag;
    size_t i, at = 0;

    for (i = 0; i < sizeof fields; i++)
        if (holds_text(s, raw_text(s->a, k->f[fields[i]])))
            return true;
    while ((tag = raw_list_next(k->f[F_TAGS], &at)).p)
        if (holds_text(s, raw_text(s->a, tag)))
            return true;
    return false;
}

/* ---- one task ---- */

static bool
has_tag(struct scan *s, uint32_t tags)
{
    if (tags == s->tags_last)
        return s->tags_hit;
    s->tags_last = tags;
    s->tags_hit = raw_list_has(atoms_text(&s->t->atoms, tags), s->tag);
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
    bool startable = task_entry_free(s->t, e);

    return s->statuses & 1u << e->status &&
           (!s->owner || s->owner == e->owner) &&
           (!s->repo_path || s->repo_path == e->repo_path) &&
           (!s->parent_id || s->parent_id == e->parent_id) &&
           (!s->tag.p || has_tag(s, e->tags)) &&
           (s->q->ready != TASK_YES || startable) &&
           (s->q->ready != TASK_NO || !startable || e->has_deps) &&
           (!s->q->stale || is_asked(s->q->stale, is_stale(s, e))) &&
           is_asked(s->q->needs_input, e->has_open && e->status < TASK_DONE);
}

static int
read_task(struct scan *s, const struct task_entry *e, struct task *k)
{
    struct task_event ev;
    int rc = task_entry_event(s->t, e, s->a, &ev);

    s->bytes += e->e.len;
    return rc == 0 ? task_of(s->t, s->a, &ev, k) : rc;
}

/* 1: it matches, and has been read into *k if *has says so. 0: it does not. */
static int
matches(struct scan *s, const struct task_entry *e, struct task *k, bool *has)
{
    bool deps = s->q->ready != TASK_EITHER && e->has_deps;
    int rc;

    *has = false;
    if (!matches_entry(s, e))
        return 0;
    if (!s->text.p && !deps)
        return 1;
    rc = read_task(s, e, k);
    if (rc != 0)
        return rc;
    *has = true;
    return is_asked(s->q->ready, k->ready) &&
           (!s->text.p || matches_text(s, k));
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
    struct str id[N_LISTS] = {{"", 0}, {"", 0}};
    int i;

    for (i = 0; i < N_LISTS; i++)
        if (s->at[i])
            id[i] = task_entry_id(s->at[i]);
    return arena_printf(s->a, "%llu/%llu/%.*s/%.*s",
                        (unsigned long long)s->before,
                        (unsigned long long)(s->seen + s->page->n),
                        STR_ARG(id[0]), STR_ARG(id[1]));
}

static int
add(struct scan *s, const struct task_entry *e, bool has)
{
    struct task_page *p = s->page;
    struct str *after = &p->after[p->n];
    int rc = has ? 0 : read_task(s, e, &p->tasks[p->n]);

    if (rc != 0)
        return rc;
    p->n++;
    *after = cursor_here(s);
    return after->p ? 0 : ERR_NOMEM;
}

/* Fills the page, then counts on as far as a total is wanted. */
static int
walk(struct scan *s)
{
    struct task_page *p = s->page;
    struct task_entry *e = NULL;
    bool has;
    int rc;

    p->total = s->seen;
    while (!spent(s) && (e = step(s))) {
        if (e->e.n >= s->before)
            continue;
        s->before = e->e.n;
        rc = matches(s, e, &p->tasks[p->n], &has);
        if (rc == 1) {
            p->total++;
            rc = p->n < s->limit ? add(s, e, has) : 0;
        }
        if (rc < 0 && rc != ERR_FORMAT)
            return rc;
        /* One more than the page holds says that there is a next one. */
        if ((p->n == s->limit && s->q->uncounted) ||
            (p->total > s->seen + s->limit &&
             (!s->filtered || p->total > s->seen + s->limit + COUNT_MAX)))
            break;
    }
    p->exact = e == NULL && !spent(s);
    if (p->n < s->limit && !p->exact) {
        p->partial = true;
        p->next = cursor_here(s);
        return p->next.p ? 0 : ERR_NOMEM;
    }
    if (p->n == s->limit && (!p->exact || p->total > s->seen + p->n))
        p->next = p->after[p->n - 1];
    return 0;
}

/* ---- a question ---- */

/* The atom of a filter's text; a text that no task has matches none. */
static int
find_atom(struct scan *s, struct str text, uint32_t *id)
{
    struct buf b = {0};
    int rc;

    if (!text.p)
        return 0;
    json_quote(&b, text);
    rc = b.err;
    *id = rc ? 0 : atoms_find(&s->t->atoms, buf_view(&b));
    s->hopeless |= *id == 0;
    s->filtered = true;
    buf_fini(&b);
    return rc;
}

static int
prepare(struct scan *s)
{
    const struct task_query *q = s->q;
    struct buf b = {0};
    int rc;

    s->statuses = q->status ? q->status
        : LIVE_BITS | (q->include_done ? ENDED_BITS : 0);
    s->limit = q->limit == 0 ? DEFAULT_LIMIT
        : q->limit > TASK_LIST_MAX ? TASK_LIST_MAX : q->limit;
    s->tags_last = UINT32_MAX;
    rc = find_atom(s, q->owner, &s->owner);
    if (rc == 0)
        rc = find_atom(s, q->repo_path, &s->repo_path);
    if (rc == 0)
        rc = find_atom(s, q->parent_id, &s->parent_id);
    if (rc == 0 && q->tag.p) {
        json_quote(&b, q->tag);
        s->tag = arena_str(s->a, buf_view(&b));
        rc = s->tag.p ? 0 : ERR_NOMEM;
        buf_fini(&b);
    }
    s->filtered = s->filtered || q->tag.p || q->text.len || q->ready ||
                  q->stale || q->needs_input || q->since_ms || q->since_n;
    return rc == 0 ? prepare_text(s) : rc;
}

/* The part of a cursor up to the next slash. */
static struct str
cut(struct str *s)
{
    const char *slash = memchr(s->p, '/', s->len);
    struct str part = {s->p, slash ? (size_t)(slash - s->p) : s->len};
    size_t used = part.len + (slash != NULL);

    s->p += used;
    s->len -= used;
    return part;
}

static int
list_of(const struct task_entry *e)
{
    return task_status_ended((enum task_status)e->status) ? LIST_ENDED
                                                          : LIST_LIVE;
}

/* Where to begin in one list. */
static struct task_entry *
place(struct scan *s, int list, struct str id)
{
    struct task_entry *e;

    if (!id.len)
        return NULL;
    e = tasks_find(s->t, id);
    if (!e || e->status == TASK_N_STATUSES || list_of(e) != list)
        return s->t->newest[list];
    return e;
}

static int
start(struct scan *s)
{
    static const unsigned bits[N_LISTS] = {LIVE_BITS, ENDED_BITS};
    struct str cursor = s->q->cursor;
    bool paging = cursor.len > 0;
    int i;

    s->before = UINT64_MAX;
    if (paging && (memchr(cursor.p, '/', cursor.len) == NULL ||
                   !str_u64(cut(&cursor), &s->before) ||
                   !str_u64(cut(&cursor), &s->seen)))
        return ERR_INVALID;
    for (i = 0; i < N_LISTS; i++) {
        struct task_entry *from = paging ? place(s, i, cut(&cursor))
                                         : s->t->newest[i];

        s->at[i] = s->statuses & bits[i] ? from : NULL;
    }
    return 0;
}

/* Without a filter the counters know, whatever was looked at. */
static void
count_all(struct scan *s)
{
    struct task_page *p = s->page;
    int i;

    if (s->filtered)
        return;
    p->exact = true;
    p->total = 0;
    for (i = 0; i < TASK_N_STATUSES; i++)
        if (s->statuses & 1u << i)
            p->total += tasks_count(s->t, (enum task_status)i);
}

int
tasks_list(struct tasks *t, struct arena *a, const struct task_query *q,
           struct task_page *out)
{
    struct scan s = {.t = t, .a = a, .q = q, .page = out};
    int rc;

    *out = (struct task_page){.exact = true};
    rc = store_loaded(t->store) ? prepare(&s) : ERR_IO;
    if (rc == 0)
        rc = start(&s);
    out->head = store_next_n(t->store) - 1;
    if (rc != 0 || s.hopeless)
        return rc;
    /* One more, to look at what no longer fits on the page. */
    out->tasks = arena_alloc(a, (s.limit + 1) * sizeof *out->tasks);
    out->after = arena_alloc(a, s.limit * sizeof *out->after);
    if (!out->tasks || !out->after)
        return ERR_NOMEM;
    rc = walk(&s);
    if (rc == 0)
        count_all(&s);
    return rc;
}
