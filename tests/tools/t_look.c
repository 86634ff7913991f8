/* t_look - waits over random histories, against a model that knows every event:
   what came and went again is found in the newest record of a task. */

#include "tests/lib/catalogue.h"
#include "tools/look.h"

#define TASKS 4
#define AGENTS 3
#define EVENTS 400
#define QUESTIONS 200
#define ROUNDS 300
#define HISTORIES 60
#define NONE (-1)

/* ---- what happened ---- */

static struct {
    uint64_t n;
    int task, status, owner;
    bool anew; /* the status was reached */
    bool told; /* the owner was told something */
} events[EVENTS];
static int n_events;

static struct {
    uint64_t n, answered; /* 0: it is open */
    int task, by, to;
} questions[QUESTIONS];
static int n_questions;

/* The newest event of a task, or NONE. */
static int
last_of(int task)
{
    int i = n_events - 1;

    while (i >= 0 && events[i].task != task)
        i--;
    return i;
}

static int
status_now(int task)
{
    return last_of(task) < 0 ? NONE : events[last_of(task)].status;
}

static int
agent_of(struct str raw)
{
    return raw.len == 4 ? raw.p[2] - '0' : NONE;
}

static const char *const changes[] = {
    "create_task", "claim_task", "save_checkpoint", "handoff_task",
    "mark_exhausted", "update_task", "request_input",
};

static bool says; /* the last change had something for the owner */

/* Makes a change at random, of a task, by an agent. Returns its tool. */
static int
change(struct fixture *f, int task, int by)
{
    static const char *const more[] = {
        "'priority':1", "'message':'m'", "'cancel_requested':{}",
        "'cancel_requested':null", "'answer':{'text':'y','question_id':'q%d'}",
        "'status':'open','reason':'r'", "'status':'in_progress','reason':'r'",
        "'status':'done'", "'status':'failed'", "'status':'cancelled'",
        "'current_owner':'a%d'",
    };
    int tool = (int)rnd(sizeof changes / sizeof *changes);
    int other = (int)rnd(AGENTS);
    char text[300], detail[100] = "";
    size_t i = rnd(sizeof more / sizeof *more);

    says = i == 1 || i == 2;
    if (i == 4 && n_questions > 0)
        other = (int)questions[n_questions - 1 - (int)rnd(3) % n_questions].n;
    if (tool == 0)
        snprintf(detail, sizeof detail, ",'title':'t'%s", rnd(2)
                 ? ",'status':'in_progress'" : "");
    else if (tool == 3 && rnd(2))
        snprintf(detail, sizeof detail, ",'to_agent':'a%d'", other);
    else if (tool == 5)
        snprintf(detail, sizeof detail, more[i], other);
    else if (tool == 6)
        snprintf(detail, sizeof detail, ",'question':'?'%s",
                 rnd(2) ? "" : ",'to':'a0'");
    snprintf(text, sizeof text, "{'task_id':'t%d','%s':'a%d'%s%s}", task,
             tool == 3 ? "from_agent" : "agent", by, tool == 5 ? "," : "",
             detail);
    call(f, changes[tool], text);
    return tool;
}

/* What a record of the task added to the questions. */
static void
learn_questions(const struct task *k, int task)
{
    struct str item = STR_NONE, id;
    uint64_t n;
    int i;

    while ((item = raw_list_next(k->f[F_QUESTIONS], item)).p) {
        id = raw_inner(raw_member(item, "question_id"));
        CHECK(str_u64(str_from(id, 1), &n));
        for (i = 0; i < n_questions && questions[i].n != n;)
            i++;
        if (i == n_questions && CHECK(n_questions < QUESTIONS)) {
            n_questions++;
            questions[i].n = n;
            questions[i].answered = 0;
            questions[i].task = task;
            questions[i].by = agent_of(raw_member(item, "by"));
            questions[i].to = agent_of(raw_member(item, "to"));
        }
        if (raw_member(item, "answer").p && questions[i].answered == 0)
            questions[i].answered = k->ev.r.n;
    }
}

static void
step(struct fixture *f)
{
    int task = (int)rnd(TASKS), by = (int)rnd(AGENTS), was = last_of(task);
    int tool = change(f, task, by);
    char id[] = "t0";
    struct task k;

    id[1] = (char)('0' + task);
    if (f->is_error || task_get(f->t, &f->a, str_of(id), &k) != 0 ||
        (was >= 0 && events[was].n == k.ev.r.n) || n_events == EVENTS)
        return;
    events[n_events].n = k.ev.r.n;
    events[n_events].task = task;
    events[n_events].status = (int)k.status;
    events[n_events].owner = agent_of(k.f[F_CURRENT_OWNER]);
    events[n_events].anew =
        was < 0 || events[was].status != (int)k.status || tool == 3 ||
        tool == 4 || events[was].owner != agent_of(k.f[F_CURRENT_OWNER]);
    events[n_events].told =
        tool == 5 && says && agent_of(k.f[F_CURRENT_OWNER]) != by;
    n_events++;
    learn_questions(&k, task);
}

/* ---- what a wait comes to ---- */

struct wait {
    char args[200];
    int task, agent;   /* or NONE */
    const char *until;
    bool since_seq, later; /* later: another run than the first */
    uint64_t since, from;  /* since_seq, and where the call has come to */
};

struct outcome {
    int rc, task;
    uint64_t seq;
};

static unsigned
statuses_of(const char *until)
{
    int s = task_status_of(str_of(until));

    return s >= 0                          ? 1u << s
           : strcmp(until, "terminal") == 0 ? TASK_ENDED_BITS
           : strcmp(until, "handoff") == 0  ? 1u << TASK_HANDOFF_READY : 0;
}

static bool
ended(int task)
{
    return TASK_ENDED_BITS >> status_now(task) & 1;
}

static uint64_t
max_of(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

/* When the task reached one of these statuses after since; 0: it did not. */
static uint64_t
reached(int task, unsigned statuses, uint64_t since)
{
    uint64_t n = 0;

    for (int i = 0; i < n_events; i++)
        if (events[i].task == task && events[i].anew && events[i].n > since &&
            statuses >> events[i].status & 1)
            n = max_of(n, events[i].n);
    return n;
}

/* The agent's answers and open questions in a task. */
static uint64_t
answered(const struct wait *w, int task, int *open)
{
    uint64_t last = 0;

    *open = 0;
    for (int i = 0; i < n_questions; i++)
        if (questions[i].task == task &&
            (w->agent == NONE || questions[i].by == w->agent)) {
            *open += questions[i].answered == 0;
            last = max_of(last, questions[i].answered);
        }
    return last;
}

/* When the condition was met in a task; 0: it was not. */
static uint64_t
met_in(const struct wait *w, int task, uint64_t since)
{
    unsigned statuses = statuses_of(w->until);
    uint64_t n = events[last_of(task)].n, first = 0, last;
    int i, open;

    if (strcmp(w->until, "change") == 0)
        return n > since ? n : 0;
    if (statuses != 0)
        return (w->task != NONE || !w->since_seq) &&
               statuses >> status_now(task) & 1
                   ? reached(task, 1u << status_now(task), 0)
                   : reached(task, statuses, since);
    if (strcmp(w->until, "question") == 0) {
        for (i = 0; i < n_questions && first == 0; i++)
            if (questions[i].task == task && questions[i].answered == 0 &&
                questions[i].n > since && !ended(task) &&
                (w->agent == NONE ||
                 (questions[i].by != w->agent &&
                  (questions[i].to == NONE || questions[i].to == w->agent))))
                first = questions[i].n;
        return first;
    }
    last = answered(w, task, &open);
    if (last > since)
        return last;
    if (w->task != NONE)
        return open > 0 ? 0 : last > 0 ? last : n;
    return open > 0 && ended(task)
               ? reached(task, 1u << status_now(task), since) : 0;
}

/* Whether agent has something to read in the task that came since. */
static bool
is_told(const struct wait *w, const struct task *k, int task)
{
    struct str item = STR_NONE;
    bool unread = k->f[F_CANCEL_REQUESTED].p != NULL;
    uint64_t n = 0;

    for (int i = 0; i < n_events; i++)
        if (events[i].task == task && events[i].told)
            n = events[i].n;
    while ((item = raw_list_next(k->f[F_MESSAGES], item)).p)
        unread |= raw_member(item, "seen").p == NULL;
    return n > w->from && unread && w->agent != NONE &&
           agent_of(k->f[F_CURRENT_OWNER]) == w->agent;
}

/* With a task's id. */
static struct outcome
expect_one(const struct wait *w, uint64_t since)
{
    uint64_t seq = met_in(w, w->task, since);

    if (seq != 0)
        return (struct outcome){LOOK_MET, w->task, seq};
    return (struct outcome){ended(w->task) && strcmp(w->until, "change") != 0
                                ? LOOK_NEVER : LOOK_NOT_YET, NONE, 0};
}

/* Without one: of the news, the first. */
static struct outcome
expect_any(const struct wait *w, uint64_t since)
{
    bool answers = strcmp(w->until, "answered") == 0, states;
    struct outcome o = {LOOK_NOT_YET, NONE, 0};
    uint64_t n, seq, newest = 0;
    int task, open, asked = 0;

    for (task = 0; task < TASKS; task++)
        if (last_of(task) >= 0 && !ended(task)) {
            answered(w, task, &open);
            asked += open;
        }
    states = !w->later && !w->since_seq &&
             (statuses_of(w->until) != 0 || answers);
    if (states && answers && asked > 0)
        return o;
    if (states && answers)
        o.rc = LOOK_MET;
    for (task = 0; task < TASKS; task++) {
        if (last_of(task) < 0)
            continue;
        n = events[last_of(task)].n;
        if ((events[last_of(task)].owner != w->agent &&
             !(answers && !states) && strcmp(w->until, "question") != 0) ||
            (!states && n <= since))
            continue;
        seq = states && answers ? answered(w, task, &open)
                                : met_in(w, task, states ? UINT64_MAX : since);
        if (seq != 0 && (o.task == NONE || (states ? n > newest
                                                   : seq < o.seq))) {
            o = (struct outcome){LOOK_MET, task, seq};
            newest = n;
        }
    }
    return o;
}

static struct outcome
expect(const struct wait *w, uint64_t head)
{
    uint64_t since = w->since_seq ? w->since
                     : strcmp(w->until, "question") == 0 ? 0 : head;

    if (w->later)
        since = max_of(w->from, w->since_seq ? w->since : 0);
    return w->task != NONE ? expect_one(w, since) : expect_any(w, since);
}

/* ---- what it is said to come to ---- */

/* As tools_wait looks. */
static struct outcome
look(struct fixture *f, const struct wait *w, uint64_t head, struct look *l)
{
    struct task_ctx x = {.a = &f->a};
    const struct json_tok *obj = NULL;
    struct outcome o = {0, NONE, 0};
    struct task_args args;

    arena_reset(&f->a);
    CHECK(json_parse(&f->a, quoted(&f->a, w->args), &obj, NULL) == 0);
    CHECK(task_args_parse(&x, TOOL_WAIT, obj, &args) == 0);
    CHECK(look_begin(f->t, &x, &args, w->later ? w->from : head, l) == 0);
    if (w->later) {
        l->top = max_of(w->from, l->since);
        look_again(l);
    }
    o.rc = look_take(l, &x);
    if (o.rc == LOOK_MET && l->task.ev.r.n != 0) {
        o.task = l->task.ev.id.p[1] - '0';
        o.seq = l->seq;
    }
    return o;
}

static const char *const untils[] = {
    "change", "terminal", "answered", "handoff", "question", "open",
    "in_progress", "handoff_ready", "agent_exhausted", "done", "failed",
    "cancelled",
};

static void
make_wait(struct wait *w, uint64_t head)
{
    size_t len;

    w->task = rnd(2) ? (int)rnd(TASKS) : NONE;
    if (w->task != NONE && last_of(w->task) < 0)
        w->task = NONE;
    w->agent = w->task == NONE || rnd(2) ? (int)rnd(AGENTS) : NONE;
    w->until = untils[rnd(sizeof untils / sizeof *untils)];
    w->later = rnd(2);
    w->since_seq = rnd(2);
    w->since = rnd((uint32_t)head + 1);
    w->from = w->later ? head - rnd((uint32_t)(head < 9 ? head + 1 : 9)) : head;
    len = (size_t)snprintf(w->args, sizeof w->args, "{'until':'%s'", w->until);
    if (w->task != NONE)
        len += (size_t)snprintf(w->args + len, sizeof w->args - len,
                                ",'task_id':'t%d'", w->task);
    if (w->agent != NONE)
        len += (size_t)snprintf(w->args + len, sizeof w->args - len,
                                ",'agent':'a%d'", w->agent);
    if (w->since_seq)
        len += (size_t)snprintf(w->args + len, sizeof w->args - len,
                                ",'since_seq':%d", (int)w->since);
    snprintf(w->args + len, sizeof w->args - len, "}");
}

static void
check_wait(struct fixture *f)
{
    uint64_t head = store_next_n(f->s) - 1;
    struct outcome want, got;
    struct look l;
    struct wait w;

    make_wait(&w, head);
    want = expect(&w, head);
    got = look(f, &w, head, &l);
    if (got.rc == LOOK_NOT_YET && w.task != NONE)
        CHECK(!is_told(&w, &l.task, w.task));
    if (got.rc == LOOK_MESSAGE) {
        got.task = l.task.ev.id.p[1] - '0';
        if (!CHECK(want.rc == LOOK_NOT_YET && is_told(&w, &l.task, got.task)))
            fprintf(stderr, "  %s later %d from %d head %d: want %d, got a "
                    "message in t%d\n", w.args, w.later, (int)w.from,
                    (int)head, want.rc, got.task);
        return;
    }
    if (!CHECK(want.rc == got.rc && want.task == got.task &&
               want.seq == got.seq))
        fprintf(stderr, "  %s later %d from %d head %d: want %d t%d %d, got %d "
                "t%d %d\n", w.args, w.later, (int)w.from, (int)head, want.rc,
                want.task, (int)want.seq, got.rc, got.task, (int)got.seq);
}

/* A replay, at times, shows the same as what was in memory. */
TEST(random_histories)
{
    struct fixture f;
    bool unknown;
    int i, k;

    for (i = 0; i < HISTORIES; i++) {
        n_events = n_questions = 0;
        fixture_init(&f);
        f.hold = true; /* each change needs no commit of its own */
        for (k = 0; k < ROUNDS; k++) {
            step(&f);
            check_wait(&f);
            check_wait(&f);
            check_wait(&f);
            if (rnd(50) == 0 && store_locked(f.s)) {
                CHECK(store_commit(f.s, &unknown) == 0);
                store_unlock(f.s);
                fixture_close(&f);
                fixture_open(&f);
            }
        }
        if (store_locked(f.s)) {
            store_unstage(f.s, 0);
            store_unlock(f.s);
        }
        fixture_fini(&f);
    }
}

/* ---- more tasks than a page has ---- */

/* A look for this, without an agent's name and from event since on. */
static struct outcome
look_since(struct fixture *f, const char *args, uint64_t since,
           struct look *l)
{
    struct wait w = {.later = true, .from = since};

    snprintf(w.args, sizeof w.args, "%s", args);
    return look(f, &w, 0, l);
}

#define DONE "'status':'done','current_owner':'a1','version':2"

/* Creates this many tasks m0, ... of a1, as a record of len bytes or more has
   them. */
static void
put_many(struct fixture *f, int n, int len, const char *members)
{
    char key[32];
    bool unknown;
    struct str body;

    CHECK(store_lock_patiently(f->s) == 0);
    for (int i = 0; i < n; i++) {
        arena_reset(&f->a);
        snprintf(key, sizeof key, "task/m%d", i);
        body = arena_printf(&f->a, "'op':'update','by':'a0','v':{"
                            "'task_id':'m%d',%s,'title':'t','goal':'%0*d'}",
                            i, members, len, 0);
        CHECK(store_stage(f->s, str_of(key), quoted(&f->a, body.p)) == 0);
        if (i % 5 == 4 || i == n - 1)
            CHECK(store_commit(f->s, &unknown) == 0);
    }
    store_unlock(f->s);
}

/* As tools_wait looks in runs of a page each; change comes after the first.
   Returns what look_take does, and in *runs how many there were. */
static int
look_in_runs(struct fixture *f, const char *args, uint64_t since,
             const char *update, struct look *l, int *runs)
{
    static char text[600];
    struct task_ctx x = {.a = &f->a};
    const struct json_tok *obj = NULL;
    struct task_args parsed;
    int rc = LOOK_UNFINISHED;

    *text = '\0';
    for (*runs = 0; rc == LOOK_UNFINISHED && *runs < 100; ++*runs) {
        if (*runs == 1 && update) {
            call(f, "update_task", update);
            CHECK(ok(f));
        }
        arena_reset(&f->a);
        CHECK(json_parse(&f->a, quoted(&f->a, args), &obj, NULL) == 0);
        CHECK(task_args_parse(&x, TOOL_WAIT, obj, &parsed) == 0);
        CHECK(look_begin(f->t, &x, &parsed, since, l) == 0);
        l->until_ms = 1; /* long ago */
        look_resume(l, str_of(text));
        rc = look_take(l, &x);
        snprintf(text, sizeof text, "%.*s", STR_ARG(look_state(l)));
    }
    return rc;
}

/* A caller that passes on each seq is told of each task once, in order. */
TEST(each_is_told_once)
{
    static const struct {
        int n, len;
    } cases[] = {{14, 200000}, {150, 1}, {250, 20000}};
    static const char *const until[] = {"done", "change"};
    char args[100], id[16];
    struct fixture f;
    struct outcome o;
    struct look l;
    uint64_t since;
    int runs, told, n;

    for (size_t i = 0; i < 2 * sizeof cases / sizeof *cases; i++) {
        fixture_init(&f);
        n = cases[i / 2].n;
        put_many(&f, n, cases[i / 2].len, DONE);
        since = 0;
        for (told = 0; told < n; told++) {
            snprintf(args, sizeof args, "{'agent':'a1','until':'%s',"
                     "'since_seq':%d}", until[i % 2], (int)since);
            snprintf(id, sizeof id, "m%d", told);
            o = look_since(&f, args, since, &l);
            CHECK(o.rc == LOOK_MET && str_is(l.task.ev.id, id));
            CHECK(look_in_runs(&f, args, since, NULL, &l, &runs) == LOOK_MET);
            CHECK(runs > 1 || told > 0);
            if (!CHECK(str_is(l.task.ev.id, id) && l.seq > since))
                break;
            since = l.seq;
        }
        snprintf(args, sizeof args, "{'agent':'a1','until':'%s',"
                 "'since_seq':%d}", until[i % 2], (int)since);
        CHECK(look_since(&f, args, since, &l).rc == LOOK_NOT_YET);
        fixture_fini(&f);
    }
}

/* The task that comes first leaves its place in the order while others are
   looked at. */
TEST(changes_between_runs)
{
    static const char args[] =
        "{'agent':'a1','until':'in_progress','since_seq':0}";
    struct fixture f;
    struct look l;
    int runs;

    fixture_init(&f);
    put_many(&f, 250, 1, "'status':'in_progress','current_owner':'a1',"
                         "'version':2");
    CHECK(look_in_runs(&f, args, 0, "{'task_id':'m0','agent':'a1',"
                       "'status':'open','current_owner':'a1'}", &l,
                       &runs) == LOOK_MET);
    CHECK(runs > 3 && l.seq == 1 && str_is(l.task.ev.id, "m0"));
    fixture_fini(&f);
}

/* A message that comes before the look for an answer ends is none. */
TEST(message_is_no_answer)
{
    static const char args[] = "{'agent':'a1','until':'answered'}";
    struct fixture f;
    struct look l;
    uint64_t since;
    int runs;

    for (int asked = 0; asked < 2; asked++) {
        fixture_init(&f);
        call(&f, "create_task", "{'task_id':'t0','title':'t',"
             "'current_owner':'a1'}");
        if (asked) {
            call(&f, "request_input",
                 "{'task_id':'t0','agent':'a1','question':'?'}");
            call(&f, "update_task", "{'task_id':'t0','answer':{'text':'y'}}");
            CHECK(ok(&f));
        }
        put_many(&f, 150, 1, "'status':'open','current_owner':'a1',"
                 "'version':2,'questions':[{'question_id':'q1','question':'?',"
                 "'by':'a2'}]");
        since = store_next_n(f.s) - 1;
        call(&f, "update_task", "{'task_id':'m7','message':'m'}");
        CHECK(ok(&f));
        CHECK(look_in_runs(&f, args, since, NULL, &l, &runs) ==
              (asked ? LOOK_MET : LOOK_MESSAGE));
        CHECK(runs > 2 && l.seq == (asked ? 3 : 0));
        CHECK(str_is(l.task.ev.id, asked ? "t0" : "m7"));
        fixture_fini(&f);
    }
}

/* Without a task's id, a wait for questions hears no messages. */
TEST(message_is_no_question)
{
    static const char *const waits[] = {
        "{'agent':'a1','until':'question'}",
        "{'agent':'a1','until':'question','task_id':'t0'}",
    };
    struct fixture f;
    struct look l;
    int runs;

    fixture_init(&f);
    call(&f, "create_task", "{'task_id':'t0','title':'t',"
         "'current_owner':'a1'}");
    call(&f, "request_input", "{'task_id':'t0','agent':'a1','question':'?'}");
    call(&f, "update_task", "{'task_id':'t0','message':'m'}");
    CHECK(ok(&f));
    for (size_t i = 0; i < sizeof waits / sizeof *waits; i++)
        CHECK(look_in_runs(&f, waits[i], 2, NULL, &l, &runs) ==
              (i > 0 ? LOOK_MESSAGE : LOOK_NOT_YET));
    fixture_fini(&f);
}

/* ---- what is not in the log any more, or is older ---- */

/* A task was done and was reopened, a question was answered, and all that is
   left is the newest record. */
TEST(after_compaction)
{
    struct fixture f;
    struct outcome o;
    struct look l;
    int rc;

    fixture_init(&f);
    call(&f, "create_task", "{'task_id':'t0','title':'t'}");
    call(&f, "request_input", "{'task_id':'t0','agent':'a1','question':'?'}");
    call(&f, "update_task", "{'task_id':'t0','answer':{'text':'y'}}");
    call(&f, "update_task", "{'task_id':'t0','status':'done'}");
    call(&f, "update_task", "{'task_id':'t0','status':'open','reason':'r'}");
    call(&f, "update_task", "{'task_id':'t0','priority':1}");
    while ((rc = store_compact(f.s)) == ERR_PENDING)
        continue;
    CHECK(rc == 0);
    CHECK(store_read_n(f.s, 4, &f.a, &(struct store_rec){0}) ==
          ERR_NOT_FOUND);
    o = look_since(&f, "{'task_id':'t0','until':'done'}", 3, &l);
    CHECK(o.rc == LOOK_MET && o.seq == 4 && l.task.status == TASK_OPEN);
    CHECK(look_since(&f, "{'task_id':'t0','until':'done'}", 4, &l).rc ==
          LOOK_NOT_YET);
    o = look_since(&f, "{'agent':'a1','until':'answered'}", 2, &l);
    CHECK(o.rc == LOOK_MET && o.seq == 3);
    CHECK(look_since(&f, "{'agent':'a1','until':'answered'}", 3, &l).rc ==
          LOOK_NOT_YET);
    fixture_fini(&f);
}

/* What a record of 0.2.0 shows counts as its own doing; the next record keeps
   that. */
TEST(records_of_older_versions)
{
    static const char body[] =
        "'op':'update','by':'a0','set':['status'],'v':{'task_id':'t0',"
        "'status':'in_progress','version':2,'questions':[{'question_id':'q1',"
        "'question':'?','by':'a1','answer':{'text':'y'}},{'question_id':'q2',"
        "'question':'?','by':'a1'}],'title':'t'}";
    struct fixture f;
    struct look l;
    bool unknown;
    int i;

    fixture_init(&f);
    CHECK(store_lock_patiently(f.s) == 0);
    CHECK(store_stage(f.s, STR("task/t0"), quoted(&f.a, body)) == 0);
    CHECK(store_commit(f.s, &unknown) == 0);
    store_unlock(f.s);
    for (i = 0; i < 2; i++) {
        CHECK(look_since(&f, "{'agent':'a1','until':'answered'}", 0, &l).seq
              == 1);
        CHECK(look_since(&f, "{'agent':'a1','until':'answered'}", 1, &l).rc ==
              LOOK_NOT_YET);
        CHECK(look_since(&f, "{'task_id':'t0','until':'in_progress'}", 0,
                         &l).seq == 1);
        call(&f, "save_checkpoint", "{'task_id':'t0'}");
        CHECK(ok(&f));
    }
    call(&f, "update_task", "{'task_id':'t0','answer':{'text':'y'}}");
    CHECK(ok(&f));
    CHECK(look_since(&f, "{'agent':'a1','until':'answered'}", 3, &l).seq == 4);
    fixture_fini(&f);
}

/* Any other text than that of look_state leaves the look at its beginning. */
TEST(states_of_other_versions)
{
    static const char *const states[] = {
        "", "x", "5 6", "5 6 7 8 9 10 ", "5 6 7 8 9 10 9/1/t0/", "5 6 x 9/",
        "5 6 nn ", "5 6 n ", "5 6 n 9/1/t0/", "5 6 7 x 0  ", "5 6 7 n x t0 ",
        "5 6 7 n 8  9/1/t0/", "5 6 7 n",
    };
    struct fixture f;
    struct look l;

    fixture_init(&f);
    look_since(&f, "{'agent':'a1','until':'done'}", 3, &l);
    l.top = 9;
    l.cursor = STR("8/1/t0/");
    CHECK(str_is(look_state(&l), "3 3 9 n 0  8/1/t0/"));
    for (size_t i = 0; i < sizeof states / sizeof *states; i++) {
        look_resume(&l, str_of(states[i]));
        CHECK(str_is(look_state(&l), "3 3 9 n 0  8/1/t0/"));
    }
    look_resume(&l, STR("5 6 7 o 0  9/1/t1/"));
    CHECK(str_is(look_state(&l), "5 6 7 o 0  9/1/t1/"));
    look_resume(&l, STR("5 6 7 n 4 t0 9/1/t1/"));
    CHECK(str_is(look_state(&l), "5 6 7 n 4 t0 9/1/t1/"));
    fixture_fini(&f);
}
