/* query - lists and searches: one walk over the live and the ended tasks,
   newest change first, merged by n; for another order, over those of them that
   come next in it.

   1. A list is bounded: TASK_LOOK_MAX entries, read_max bytes of records
      (the record that exceeds it is still used). A list that ends early is
      partial and says where to go on.
   2. A cursor is "before/seen/live/ended": go on with tasks whose n is below
      before; seen matches were in earlier parts; then the id of the next task
      to look at in each list, empty at the end of the list. A task that changed
      since has moved to the front, so starting from it skips nothing; tasks
      that were passed already are known by their n.
   3. A task that does not change keeps its n, and so its place: no part skips
      or repeats it. One that changes meanwhile gets an n above head; ask for
      changes since the first part's head to find it.
   4. Of all hits that a part of a search finds, those in title and id come
      first. If the others do not fit, the next part begins after the last one
      that did, and its cursor ends with "/titles": hits in title and id from
      that n on were listed.
   5. In another order than that of the index, a place is a rank, which is a
      number, and n. A part walks all entries and keeps the SORT_MAX that come
      first after the place of its cursor "order/seen/n/rank". So a new order
      is a new rank and no new structure; it costs a walk of the entries, not of
      the records. A search in such an order keeps it. */

#include "task/query.h"
#include "base/clock.h"
#include "base/text.h"
#include "base/utf8.h"
#include "task/cause.h"
#include "task/index.h"
#include "task/project.h"
#include "task/rows.h"

#include <stdlib.h>
#include <string.h>

#define DEFAULT_LIMIT 20
#define COUNT_MAX 1000 /* matches counted beyond the list, with a filter */
/* Those of a list and those that are counted after it. */
#define SORT_MAX (TASK_PART_MAX + COUNT_MAX + 2)
#define LINE_MAX 160   /* bytes of the line that has the text, and */
#define LINE_BEFORE 48 /* of what is shown of it before the text */
#define PART_TITLE_MAX 80 /* bytes */
#define LIVE_BITS ((1u << TASK_DONE) - 1)

/* A place in a list in another order, and the task there. */
struct ranked {
    uint64_t rank, n;
    struct task_entry *e;
};

/* A place in the walk. */
struct spot {
    struct task_entry *at[N_LISTS]; /* to examine next */
    uint64_t before;                /* the n of the last one */
};

/* Where a task has the text. */
enum hit { HIT_NONE, HIT_TEXT, HIT_TITLE /* or id */ };

struct scan {
    struct tasks *t;
    struct arena *a;
    const struct task_query *q;
    struct task_list *list;
    unsigned statuses; /* those wanted, a bit each */
    struct str text;   /* lower case */
    uint16_t *fallback; /* of the search for text */
    bool filtered;     /* by more than status */
    struct spot here, start;
    uint64_t seen;
    uint64_t titles;   /* hits in titles from this n on were listed */
    bool ranked;       /* they come first, */
    size_t n_texts, current; /* then the others, which wait from tasks[limit]
                                 to tasks[current], where the task is that is
                                 read */
    struct spot *text_at; /* each of the others */
    struct ranked *sorted, last; /* in another order than ORDER_CHANGED */
    size_t n_sorted, next_sorted;
    bool dropped;      /* more than SORT_MAX match */
    size_t looked, limit;
    int64_t now_ms;    /* when it began; 0: nothing wanted depends on it */
    uint64_t bytes;    /* of records read */
    struct {
        uint32_t atom; /* the text examined last, and whether it has q->has */
        bool hit;
    } examined[TASK_N_ATOMS];
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

/* The end of the first place in a text that is the one sought; 0: none is. */
static size_t
find_text(const struct scan *s, struct str in)
{
    char low = *s->text.p;
    char high = low >= 'a' && low <= 'z' ? (char)(low - 32) : low;
    size_t i, k = 0;

    for (i = 0; i < in.len; i++) {
        char c;

        while (k == 0 && i + 1 < in.len && in.p[i] != low && in.p[i] != high)
            i++; /* most begin nothing */
        c = text_lower(in.p[i]);
        while (k && c != s->text.p[k])
            k = s->fallback[k - 1];
        k += c == s->text.p[k];
        if (k == s->text.len)
            return i + 1;
    }
    return 0;
}

/* Whether members of this name have texts to be searched. The others have what
   programs compare, and names of agents and projects: each task has some of
   those, and filters find them. */
static bool
is_prose(struct str name)
{
    static const char *const others[] = {
        "status", "type", "kind", "action", "at", "created_at", "expires_at",
        "not_before", "sha256", "session", "client", "agent", "from_agent",
        "to_agent", "from", "to", "by", "created_by", "current_owner",
        "repo_path", "worktree", "parent_id", "depends_on", "task_id",
        "question_id", "artifact_id",
    };

    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (str_is(name, others[i]))
            return false;
    return true;
}

/* The line of a text in which what is sought ends at end, with the name of the
   member, as a raw string. */
static struct str
line_at(const struct scan *s, struct str name, struct str text, size_t end)
{
    size_t at = end - s->text.len, from = at, word;
    struct str rest, line, cut;

    while (from > 0 && at - from < LINE_BEFORE && text.p[from - 1] != '\n')
        from--;
    while (utf8_is_within(text, from))
        from++;
    word = from;
    while (word > 0 && text.p[word - 1] != '\n' && word < at &&
           text.p[word - 1] != ' ')
        word++;
    from = word < at ? word : from;
    rest = str_from(text, from);
    line = str_cut(&rest, '\n');
    cut = utf8_cut(line, LINE_MAX);
    return raw_quote(s->a, arena_printf(s->a, "%.*s: %s%.*s%s",
        STR_ARG(utf8_cut(name, LINE_BEFORE)),
        from > 0 && text.p[from - 1] != '\n' ? "..." : "", STR_ARG(cut),
        cut.len < line.len ? "..." : ""));
}

/* Looks for the text in the strings of a record's member, at any depth: enum
   hit, or ERR_NOMEM. */
static int
find_text_in(const struct scan *s, struct str name, struct str raw,
             struct str *line)
{
    const char *p = raw.p, *end = str_end(raw), *next;
    struct str text;
    size_t at;

    for (; p && p < end; p = next) {
        next = *p == '"' ? raw_skip(p, end) : p + 1;
        if (*p != '"' || !next)
            continue;
        text = (struct str){p, (size_t)(next - p)};
        if (next < end && *next == ':') {
            name = raw_inner(text);
            continue;
        }
        text = raw_text(s->a, text);
        if (!text.p)
            return ERR_NOMEM;
        at = find_text(s, text);
        if (at == 0 || !is_prose(name))
            continue;
        *line = line_at(s, name, text, at);
        if (!line->p)
            return ERR_NOMEM;
        return HIT_TEXT;
    }
    return HIT_NONE;
}

/* Where the task has the text, if one is sought: enum hit, or ERR_NOMEM. */
static int
find_hit(const struct scan *s, const struct task_event *ev, struct str *line)
{
    bool all = s->q->in == TEXT_ANYWHERE;
    int hit = HIT_NONE;

    if (!s->text.p || (all && find_text(s, ev->id)) ||
        find_text(s, raw_text(s->a, raw_member(ev->v, "title"))))
        return HIT_TITLE;
    if (all)
        hit = find_text_in(s, STR_NONE, ev->v, line);
    return all && hit == HIT_NONE ? find_text_in(s, STR("note"), ev->note, line)
                                  : hit;
}

/* ---- one task ---- */

/* Whether the value text of atom i has what is wanted of it. */
static bool
matches_value(int i, struct str wanted, struct str text)
{
    struct name_agent agent;

    switch ((enum task_atom)i) {
    case ATOM_OWNER:
        agent = name_agent_of(raw_inner(text));
        return text.p && name_reaches(raw_inner(wanted), &agent);
    case ATOM_REPO_PATH:
        return project_matches(wanted, text);
    case ATOM_PARENT_ID:
        return str_eq(text, wanted);
    case ATOM_TAGS:
        return raw_list_has(text, wanted);
    case TASK_N_ATOMS:
        break;
    }
    return false;
}

/* Whether a value of an entry is, or has, what the query asks for. Many tasks
   share a list, an owner or a path. */
static bool
matches_atom(struct scan *s, int i, uint32_t atom)
{
    if (atom != s->examined[i].atom) {
        s->examined[i].atom = atom;
        s->examined[i].hit = matches_value(i, s->q->has[i],
                                       atoms_text(&s->t->atoms, atom));
    }
    return s->examined[i].hit;
}

static bool
is_asked(enum task_ask ask, bool is)
{
    return ask == TASK_EITHER || (ask == TASK_YES) == is;
}

/* What can be told from the entry alone. */
static bool
matches_entry(struct scan *s, const struct task_entry *e)
{
    const struct task_query *q = s->q;
    bool free = q->ready && !e->parked &&
                task_entry_free(s->t, e, s->now_ms) &&
                !task_entry_is_early(e, s->now_ms) &&
                !task_entry_waits(s->t, e, s->now_ms);
    bool stale = q->stale && e->status == TASK_IN_PROGRESS &&
                 s->now_ms - store_past_ms(e->changed_ms, s->now_ms) >
                     TASK_STALE_MS;

    for (int i = 0; i < TASK_N_ATOMS; i++)
        if (q->has[i].p && !matches_atom(s, i, e->atom[i]))
            return false;
    return s->statuses & 1u << e->status &&
           (!q->offered || task_entry_is_offered(s->t, e, q->offered)) &&
           (!q->ready || (free && (e->has_deps || e->atom[ENTRY_PATHS])) ||
            is_asked(q->ready, free)) &&
           (!q->stale || is_asked(q->stale, stale)) &&
           (!q->needs_input ||
            is_asked(q->needs_input, e->has_open && e->status < TASK_DONE)) &&
           (q->in != TEXT_STARTS_ID ||
            str_begins(task_entry_id(e), q->text));
}

/* ---- other orders ---- */

/* What an order sorts by, lowest first; without a value, UINT64_MAX. Work that
   has ended is behind all that is left, with the newest change first. */
static uint64_t
rank_of(const struct scan *s, const struct task_entry *e)
{
    switch (s->q->order) {
    case ORDER_WORK:
        if (task_status_ended((enum task_status)e->status))
            return UINT64_MAX - e->e.n;
        return 2u * e->priority + (e->status == TASK_OPEN);
    case ORDER_CHANGED:
    case TASK_N_ORDERS:
        break;
    }
    return UINT64_MAX;
}

/* By rank. Of the same rank, the one that was changed first comes first. */
static int
compare_ranked(const void *a, const void *b)
{
    const struct ranked *x = a, *y = b;

    if (x->rank != y->rank)
        return x->rank < y->rank ? -1 : 1;
    return x->n < y->n ? -1 : x->n > y->n;
}

/* ---- the walk ---- */

/* Returns the next task of the index and advances past it; NULL: the end. */
static struct task_entry *
step_index(struct scan *s)
{
    struct task_entry *e = tasks_walk(s->here.at);

    if (!e || e->e.n <= s->q->since_n ||
        (s->q->since_ms && e->changed_ms < s->q->since_ms))
        return NULL; /* times go back only after one that was ahead */
    s->looked++;
    return e;
}

/* Finds the places of a list in another order, after that of the cursor. */
static int
sort_entries(struct scan *s)
{
    const size_t size = sizeof *s->sorted;
    struct task_entry *e;

    s->sorted = arena_alloc(s->a, 2 * SORT_MAX * size);
    if (!s->sorted)
        return ERR_NOMEM;
    while ((e = step_index(s))) {
        struct ranked place = {rank_of(s, e), e->e.n, e};

        if (!matches_entry(s, e) || (s->q->cursor.len > 0 &&
                                     compare_ranked(&place, &s->last) <= 0))
            continue;
        if (s->n_sorted == 2 * SORT_MAX) {
            qsort(s->sorted, s->n_sorted, size, compare_ranked);
            s->n_sorted = SORT_MAX;
            s->dropped = true;
        }
        s->sorted[s->n_sorted++] = place;
    }
    if (s->n_sorted > 0)
        qsort(s->sorted, s->n_sorted, size, compare_ranked);
    if (s->n_sorted > SORT_MAX) {
        s->n_sorted = SORT_MAX;
        s->dropped = true;
    }
    s->looked = 0; /* of the list itself */
    return 0;
}

/* Returns the next task of the list and advances past it; NULL: the end. */
static struct task_entry *
next_entry(struct scan *s)
{
    struct task_entry *e;

    if (s->sorted) {
        if (s->next_sorted == s->n_sorted)
            return NULL;
        s->last = s->sorted[s->next_sorted++];
        return s->last.e;
    }
    do
        e = step_index(s);
    while (e && e->e.n >= s->here.before);
    if (e)
        s->here.before = e->e.n;
    return e;
}

static bool
spent(const struct scan *s)
{
    size_t max = s->q->read_max > 0 ? s->q->read_max : TASK_READ_MAX;

    return s->looked >= TASK_LOOK_MAX || s->bytes >= max;
}

/* The cursor that goes on at this place, after what is listed so far; titles
   is s->titles from there on. */
static struct str
cursor_at(struct scan *s, const struct spot *at, uint64_t titles)
{
    unsigned long long seen = s->seen + s->list->n;
    struct str id[N_LISTS] = {STR_NONE};

    if (s->sorted)
        return arena_printf(s->a, "%s/%llu/%llu/%llu",
                            row_choices[ORDERS][s->q->order], seen,
                            (unsigned long long)s->last.n,
                            (unsigned long long)s->last.rank);
    for (int i = 0; i < N_LISTS; i++)
        if (at->at[i])
            id[i] = task_entry_id(at->at[i]);
    return arena_printf(s->a, s->ranked ? "%llu/%llu/%.*s/%.*s/%llu"
                                        : "%llu/%llu/%.*s/%.*s",
                        (unsigned long long)at->before, seen, STR_ARG(id[0]),
                        STR_ARG(id[1]), (unsigned long long)titles);
}

/* Adds a task to the list; then come those from the place on. */
static int
add_hit(struct scan *s, const struct task *k, const struct spot *next,
        uint64_t titles)
{
    struct task_list *l = s->list;

    l->tasks[l->n++] = *k;
    l->after[l->n - 1] = cursor_at(s, next, titles);
    return l->after[l->n - 1].p ? 0 : ERR_NOMEM;
}

/* Reads the task of e into k, if it has what is sought: enum hit, or an error.
   Of one whose record is not JSON k has what can be told. */
static int
read_task(struct scan *s, struct task_entry *e, struct task *k)
{
    enum task_status status = (enum task_status)e->status;
    struct task_event ev;
    struct str line = STR_NONE;
    int rc = task_entry_event(s->t, e, s->a, &ev), hit;

    s->bytes += e->e.len;
    if (rc == ERR_GARBLED) {
        *k = (struct task){.status = status, .ev = ev, .garbled = true};
        k->f[F_TASK_ID] = arena_printf(s->a, "\"%.*s\"", STR_ARG(ev.id));
        k->f[F_STATUS] = arena_printf(s->a, "\"%s\"",
                                      task_status_name(status));
        k->f[F_PRIORITY] = arena_printf(s->a, "%u", e->priority);
        k->f[F_TITLE] = STR("\"(damaged)\"");
        if (!k->f[F_TASK_ID].p || !k->f[F_STATUS].p || !k->f[F_PRIORITY].p)
            return ERR_NOMEM;
        return HIT_TEXT;
    }
    hit = rc == 0 ? find_hit(s, &ev, &line) : rc;
    if (hit > HIT_NONE)
        rc = task_of(s->t, s->a, &ev, k);
    k->match = line;
    return rc == 0 ? hit : rc;
}

/* Counts a task that matches, and adds it to the list if there is room. */
static int
count_entry(struct scan *s, struct task_entry *e)
{
    struct task_list *l = s->list;
    struct task *k = &l->tasks[s->current];
    bool reads = s->q->ready != TASK_EITHER &&
                 (e->has_deps || e->atom[ENTRY_PATHS]);
    int hit = HIT_TITLE;

    if (!matches_entry(s, e))
        return 0;
    if (l->n < s->limit || reads || s->text.p) {
        hit = read_task(s, e, k);
        if (hit <= HIT_NONE)
            return hit == ERR_FORMAT ? 0 : hit;
        if ((reads || k->garbled) && !is_asked(s->q->ready, k->ready))
            return 0;
    }
    if (s->ranked && hit == HIT_TITLE && e->e.n >= s->titles)
        return 0;
    l->total++;
    if (l->n == s->limit && (!s->ranked || hit == HIT_TITLE))
        return 0;
    if (!s->ranked || hit == HIT_TITLE)
        return add_hit(s, k, s->ranked ? &s->start : &s->here, e->e.n);
    if (s->n_texts < s->limit) {
        s->text_at[s->n_texts] = s->here;
        l->tasks[s->limit + s->n_texts++] = *k;
    }
    return 0;
}

/* Fills the list, then goes on counting if a total is wanted. */
static int
fill_list(struct scan *s)
{
    struct task_list *l = s->list;
    uint64_t full = s->seen + s->limit;
    struct task_entry *e = NULL;
    int rc = 0;

    l->total = s->seen;
    while (!spent(s) && (e = next_entry(s))) {
        rc = count_entry(s, e);
        if (rc != 0)
            return rc;
        /* One more than the list holds shows that others follow. */
        if ((l->n == s->limit && s->q->uncounted) ||
            (l->total > full &&
             (!s->filtered || l->total > full + COUNT_MAX)))
            break;
    }
    l->exact = e == NULL && !spent(s) && !s->dropped;
    if (s->titles > s->here.before)
        s->titles = s->here.before;
    for (size_t i = 0; rc == 0 && i < s->n_texts && l->n < s->limit; i++)
        rc = add_hit(s, &l->tasks[s->limit + i], &s->text_at[i], s->titles);
    if (l->n == s->limit && (!l->exact || l->total > full))
        l->next = l->after[l->n - 1];
    l->partial = l->n < s->limit && !l->exact;
    if (l->partial)
        l->next = cursor_at(s, &s->here, s->titles);
    return rc == 0 && l->partial && !l->next.p ? ERR_NOMEM : rc;
}

/* ---- a query ---- */

/* Begins at the newest tasks, or where the cursor says. */
static int
start_scan(struct scan *s)
{
    static const unsigned bits[N_LISTS] = {LIVE_BITS, TASK_ENDED_BITS};
    const struct task_query *q = s->q;
    bool sorts = q->order != ORDER_CHANGED;
    struct str cursor = q->cursor, id;
    struct task_entry *e;

    s->statuses = q->status;
    if (s->statuses == 0)
        s->statuses = LIVE_BITS | (q->include_done ? TASK_ENDED_BITS : 0);
    s->limit = q->limit == 0 ? DEFAULT_LIMIT : q->limit;
    if (s->limit > TASK_PART_MAX)
        s->limit = TASK_PART_MAX;
    s->filtered = q->text.len || q->ready || q->stale || q->offered ||
                  q->needs_input || q->since_ms || q->since_n;
    for (int i = 0; i < TASK_N_ATOMS; i++)
        if (q->has[i].p) {
            s->filtered = true; /* and atom 0 is no text */
            s->examined[i].hit = matches_value(i, q->has[i], STR_NONE);
        }
    if (q->has[ATOM_PARENT_ID].p &&
        !atoms_find(&s->t->atoms, q->has[ATOM_PARENT_ID]))
        s->statuses = 0; /* no task has this parent */
    if (prepare_text(s) != 0)
        return ERR_NOMEM;
    s->ranked = s->text.p && q->in == TEXT_ANYWHERE && !sorts;
    memcpy(s->here.at, s->t->newest, sizeof s->here.at);
    s->here.before = s->titles = UINT64_MAX;
    if (cursor.len > 0 && sorts &&
        !(str_is(str_cut(&cursor, '/'), row_choices[ORDERS][q->order]) &&
          str_u64(str_cut(&cursor, '/'), &s->seen) &&
          str_u64(str_cut(&cursor, '/'), &s->last.n) &&
          str_u64(cursor, &s->last.rank)))
        return ERR_INVALID;
    if (cursor.len > 0 && !sorts &&
        (!str_u64(str_cut(&cursor, '/'), &s->here.before) ||
         !str_u64(str_cut(&cursor, '/'), &s->seen)))
        return ERR_INVALID;
    for (int i = 0; i < N_LISTS; i++) {
        if (!sorts && q->cursor.len > 0) {
            id = str_cut(&cursor, '/');
            e = id.len > 0 ? tasks_find(s->t, id) : NULL;
            if (id.len == 0 || (e && bits[i] >> e->status & 1))
                s->here.at[i] = e;
        }
        if (!(s->statuses & bits[i]))
            s->here.at[i] = NULL;
    }
    s->start = s->here;
    if (!sorts && cursor.len > 0 && !str_u64(cursor, &s->titles))
        return ERR_INVALID;
    return sorts ? sort_entries(s) : 0;
}

void
task_query_since(const struct task_args *args, int arg, struct task_query *q)
{
    q->since_n = task_arg_u64(args, arg, 0);
    if (!q->since_n)
        time_parse(raw_inner(args->v[arg]), &q->since_ms);
}

static enum task_ask
ask_of(const struct task_args *args, int arg)
{
    if (!args->v[arg].p)
        return TASK_EITHER;
    return task_arg_true(args, arg) ? TASK_YES : TASK_NO;
}

int
task_query_of(struct arena *a, const struct task_args *args,
              struct task_query *out)
{
    int order = row_choice(ORDERS, args->v[ARG_ORDER]);
    struct str status = STR_NONE;

    *out = (struct task_query){
        .text = task_arg_text(a, args, ARG_QUERY),
        .cursor = task_arg_text(a, args, ARG_CURSOR),
        .ready = ask_of(args, ARG_READY),
        .stale = ask_of(args, ARG_STALE),
        .needs_input = ask_of(args, ARG_NEEDS_INPUT),
        .include_done = task_arg_true(args, ARG_INCLUDE_DONE),
        .order = order < 0 ? ORDER_CHANGED : (enum task_order)order,
        .limit = (unsigned)task_arg_u64(args, ARG_LIMIT, 0),
    };
    while ((status = raw_list_next(args->v[ARG_STATUSES], status)).p)
        out->status |= 1u << row_choice(STATUSES, status);
    for (int i = 0; i < TASK_N_ATOMS; i++)
        out->has[i] = args->v[row_atoms[i].arg];
    task_query_since(args, ARG_CHANGED_SINCE, out);
    return (args->v[ARG_QUERY].p && !out->text.p) ||
           (args->v[ARG_CURSOR].p && !out->cursor.p) ? ERR_NOMEM : 0;
}

int
tasks_list(struct tasks *t, struct arena *a, const struct task_query *q,
           struct task_list *out)
{
    struct scan s = {.t = t, .a = a, .q = q, .list = out};
    int rc, i;

    *out = (struct task_list){.exact = true,
                              .head = store_next_n(t->store) - 1};
    if (q->ready || q->stale)
        s.now_ms = store_now_ms(t->store);
    rc = store_loaded(t->store) ? start_scan(&s) : ERR_IO;
    if (rc != 0)
        return rc;
    s.current = s.ranked ? 2 * s.limit : s.limit;
    out->tasks = arena_alloc(a, (s.current + 1) * sizeof *out->tasks);
    out->after = arena_alloc(a, s.limit * sizeof *out->after);
    s.text_at = arena_alloc(a, (s.current - s.limit) * sizeof *s.text_at);
    if (!out->tasks || !out->after || !s.text_at)
        return ERR_NOMEM;
    rc = fill_list(&s);
    if (rc != 0 || s.filtered)
        return rc;
    /* Without a filter the counters give the total, however much was read. */
    out->exact = true;
    out->total = 0;
    for (i = 0; i < TASK_N_STATUSES; i++)
        if (s.statuses & 1u << i)
            out->total += tasks_count(t, (enum task_status)i);
    return 0;
}

int
tasks_list_parts(struct tasks *t, struct arena *a, struct task *k)
{
    struct task_query q = {.has[ATOM_PARENT_ID] = k->f[F_TASK_ID],
                           .limit = TASK_PARTS_SHOWN, .uncounted = true};
    struct task_list list;
    struct buf b = {0};
    struct str owner;
    int rc = 0;

    while (rc == 0 && k->parts.total > 0 && q.limit > 0 &&
           q.status != TASK_ENDED_BITS) {
        q.status = q.status ? TASK_ENDED_BITS : LIVE_BITS;
        rc = tasks_list(t, a, &q, &list);
        for (size_t i = 0; rc == 0 && i < list.n; i++) {
            const struct task *part = &list.tasks[i];

            owner = part->f[F_CURRENT_OWNER];
            buf_printf(&b, "%s{\"task_id\":%.*s,\"title\":",
                       b.len > 0 ? "," : "[", STR_ARG(part->f[F_TASK_ID]));
            json_quote(&b, utf8_cut(raw_text(a, part->f[F_TITLE]),
                                    PART_TITLE_MAX));
            buf_printf(&b, ",\"status\":\"%s\"%s%.*s}",
                       task_status_name(part->status),
                       owner.p ? ",\"current_owner\":" : "", STR_ARG(owner));
        }
        q.limit -= rc == 0 ? (unsigned)list.n : 0;
    }
    if (b.len > 0)
        buf_char(&b, ']');
    rc = rc == 0 ? b.err : rc;
    k->part_list = b.len > 0 ? buf_take(&b, a) : STR_NONE;
    return rc;
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

/* ---- waiting for a change ---- */

struct str
task_alias_of(struct str owner, char *buf)
{
    static const char prefix[] = "owner/";
    size_t head = sizeof prefix - 1;
    struct str name = raw_inner(owner);

    if (!name.p)
        return STR_NONE;
    name = utf8_cut(name, TASK_ALIAS_MAX - head); /* records keep it */
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
    const char *of_status = "";
    bool frees; /* of a live task: its parent or its parts */
    size_t n;
    int status;

    if (task_event_scan(&r, &ev) != 0)
        return STR_NONE;
    (void)task_head_of(ev.v, f); /* what it does not find is empty */
    owner = task_alias_of(f[F_CURRENT_OWNER], buf);
    status = task_status_of(raw_inner(f[F_STATUS]));
    /* It is moved, or reopened, which takes a reason. */
    frees = str_is(ev.op, "update") &&
            (raw_list_has(ev.set, STR("\"parent_id\"")) ||
             raw_list_has(ev.set, STR("\"not_before\"")) ||
             (ev.note.p && raw_list_has(ev.set, STR("\"status\""))));
    if (status >= TASK_DONE || (status >= 0 && frees))
        of_status = "\t" TASK_ENDED "\t" TASK_FREE;
    else if (status >= 0 &&
             (status != TASK_IN_PROGRESS || str_is(ev.op, "claim") ||
              str_is(ev.op, "leave")))
        of_status = "\t" TASK_FREE;
    n = owner.len + text_put(buf + owner.len, TASK_NAMES_MAX - owner.len,
                             "%s%s", of_status,
                             f[F_QUESTIONS].p ? "\t" TASK_ASKED : "");
    if (n == 0)
        return STR_NONE;
    if (*buf == '\t')
        return (struct str){buf + 1, n - 1};
    return (struct str){buf, n};
}

/* ---- figures for monitoring ----

   The index counts tasks by status. The rest takes a look at each live task. A
   record is read only where its entry does not tell: of a task with an open
   question, and of one that no agent works on and that has dependencies or
   paths. */

struct figures {
    struct tasks *t;
    int64_t now_ms;
    struct arena a;
    size_t read; /* bytes of records */
    uint64_t looked, unread;
    uint64_t stuck, asking, leases;
    int64_t asked_ms; /* when the oldest open question was asked */
};

/* The task of e as far as its entry tells. */
static struct task
task_of_entry(const struct figures *f, const struct task_entry *e)
{
    bool left = e->status == TASK_IN_PROGRESS &&
                task_entry_free(f->t, e, f->now_ms);

    return (struct task){.status = (enum task_status)e->status,
                         .early = task_entry_is_early(e, f->now_ms),
                         .needs_input = e->has_open,
                         .lease_expired = left && e->has_lease,
                         .stale = left && !e->has_lease};
}

static void
measure_task(struct figures *f, struct task_entry *e)
{
    bool free = task_entry_free(f->t, e, f->now_ms);
    struct task k = task_of_entry(f, e);
    struct task_event ev;
    struct str asked;
    int64_t at;

    f->looked++;
    f->leases += e->has_lease && !free;
    f->asking += e->has_open;
    if (e->has_open ||
        ((e->has_deps || e->atom[ENTRY_PATHS]) && free &&
         (e->status == TASK_OPEN || e->status == TASK_IN_PROGRESS))) {
        if (f->read >= TASK_READ_MAX) {
            f->unread++;
            return;
        }
        f->read += e->e.len;
        if (task_entry_event(f->t, e, &f->a, &ev) != 0 ||
            task_peek(f->t, &f->a, &ev, &k) != 0) {
            k = task_of_entry(f, e);
            k.garbled = true;
        }
        asked = task_open_question(k.f[F_QUESTIONS]);
        if (time_parse(raw_inner(raw_member(asked, "at")), &at) &&
            at < f->asked_ms)
            f->asked_ms = at;
        arena_reset(&f->a);
    }
    f->stuck += task_column(&k) == COLUMN_STUCK;
}

void
tasks_put_metrics(struct tasks *t, struct buf *b)
{
    int64_t now = store_now_ms(t->store);
    struct figures f = {.t = t, .now_ms = now, .asked_ms = now};
    uint64_t live = 0;

    for (int s = 0; s < TASK_N_STATUSES; s++)
        live += task_status_ended((enum task_status)s) ? 0 : t->count[s];
    for (struct task_entry *e = t->newest[LIST_LIVE];
         e && f.looked < TASK_LOOK_MAX; e = e->older)
        measure_task(&f, e);
    arena_fini(&f.a);

    const struct {
        const char *name, *help;
        uint64_t value;
    } gauges[] = {
        {"tasks_stuck", "Live tasks that a person has to look after.",
         f.stuck},
        {"tasks_asking", "Live tasks with an open question.", f.asking},
        {"question_oldest_seconds",
         "Age of the oldest open question, 0 if none is open.",
         (uint64_t)(now - f.asked_ms) / 1000},
        {"leases", "Leases that have not ended.", f.leases},
        {"tasks_unexamined", "Live tasks that the figures above leave out.",
         live - f.looked + f.unread},
    };

    buf_metric(b, "tasks", "Tasks by status.");
    for (int s = 0; s < TASK_N_STATUSES; s++)
        buf_printf(b, "mcptask_tasks{status=\"%s\"} %llu\n",
                   task_status_name((enum task_status)s),
                   (unsigned long long)tasks_count(t, (enum task_status)s));
    for (size_t i = 0; i < sizeof gauges / sizeof *gauges; i++) {
        buf_metric(b, gauges[i].name, gauges[i].help);
        buf_printf(b, "mcptask_%s %llu\n", gauges[i].name,
                   (unsigned long long)gauges[i].value);
    }
}
