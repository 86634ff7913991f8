/* change - every change of a task: one record that says what happened and
   holds the whole task as it is then.

   1. A change is at most one record, staged under the lock after everything
      has been checked.
   2. A handler may be run again from its arguments.
   3. The body of the record is op, by, set, note, idem, warn, seqs, v, in this
      order.
      The members of v are in the order of enum task_field, unknown ones last,
      so that the index finds what it needs near the front. */

#include "task/change.h"
#include "base/sha256.h"
#include "task/actions.h"
#include "task/claim.h"
#include "task/index.h"
#include "base/clock.h"

#define STATE_MAX (256 * 1024) /* bytes of v */
/* More for a claim, or nobody could claim a full task; and for its import. */
#define CLAIM_ROOM (20 * 1024)
#define BODY_KEEP ((size_t)16 * 1024)

/* ---- receipts ---- */

/* Whether the event is a claim by an agent that held the task already. */
static bool
renewed(const struct task_event *ev)
{
    return str_is(ev->op, "claim") &&
           !raw_list_has(ev->set, STR("\"status\"")) &&
           !raw_list_has(ev->set, STR("\"current_owner\"")) &&
           !raw_list_has(ev->set, STR("\"takeover\""));
}

/* Who took the task from the caller, unless the caller owns it. */
static struct str
loss_of(const struct draft *d, struct str owner, struct str takeover)
{
    return actor_is(&d->c->who, owner) && d->hold != HOLD_TWIN
               ? STR_NONE : actor_loss(d->c->a, &d->c->who, takeover);
}

/* The request to stop, if by is the owner. */
static struct str
stop_of(struct str by, struct str owner, struct str stop)
{
    return str_eq(by, owner) ? stop : STR_NONE;
}

/* Fills in what a receipt says of the task as a change by an agent left it. */
static void
put_task(const struct draft *d, const struct task *k, struct str by,
         struct task_receipt *out)
{
    struct str owner = k->f[F_CURRENT_OWNER];

    out->version = raw_u64(k->f[F_VERSION]);
    out->status = k->status;
    out->owner = str_eq(owner, by) ? STR_NONE : owner;
    out->lease = k->f[F_LEASE];
    out->messages = k->f[F_MESSAGES];
    out->stop = stop_of(by, owner, k->f[F_CANCEL_REQUESTED]);
    out->taken = loss_of(d, owner, k->f[F_TAKEOVER]);
}

/* The receipt that was given for an event. */
static int
receipt_of(struct draft *d, const struct task_event *ev,
           struct task_receipt *out)
{
    struct str list = STR_NONE, last = STR_NONE, next = STR_NONE;
    struct task k;
    int rc = task_of(d->t, d->c->a, ev, &k);

    if (rc != 0)
        return task_fail_store(d->c, rc);
    if (str_is(ev->op, "attach"))
        list = k.f[F_ARTIFACTS];
    else if (str_is(ev->op, "ask"))
        list = k.f[F_QUESTIONS];
    while ((next = raw_list_next(list, next)).p)
        last = next;
    *out = (struct task_receipt){
        .id = ev->id,
        .op = ev->op,
        .seq = ev->r.n,
        .warnings = ev->warn,
        .token = ev->token.p != NULL,
        .artifact_id = raw_member(last, "artifact_id"),
        .question_id = raw_member(last, "question_id"),
        .renewed = renewed(ev),
    };
    put_task(d, &k, ev->by, out);
    return 0;
}

/* The receipt of a request that changes nothing. */
static int
receipt_unchanged(struct draft *d, struct task_receipt *out)
{
    int rc = receipt_of(d, &d->old.ev, out);

    out->warnings = d->warnings;
    out->artifact_id = d->artifact_id;
    out->question_id = STR_NONE;
    out->renewed = false;
    out->messages = STR_NONE;
    out->stop = stop_of(d->by, out->owner, d->old.f[F_CANCEL_REQUESTED]);
    return rc;
}

/* ---- idempotency ---- */

/* What the record says about the request's key. With a token, its agent is the
   caller. */
static void
make_idem(struct draft *d)
{
    struct str who = d->c->who.principal.len > 0 ? d->by : STR_NONE;
    char hex[SHA256_HEX + 1];

    task_args_digest(d->args, hex);
    d->idem = draft_keep(d, arena_printf(d->c->a,
        "{\"key\":%.*s,\"args\":\"%s\"%s%.*s}",
        STR_ARG(d->args->v[ARG_IDEMPOTENCY_KEY]), hex,
        who.p ? ",\"who\":" : "", STR_ARG(who)));
}

static bool
same_member(struct str a, struct str b, const char *name)
{
    return str_eq(raw_member(a, name), raw_member(b, name));
}

/* Whether ev was made by this caller with this key, and the key is still
   valid. */
static bool
is_same_key(const struct draft *d, const struct task_event *ev)
{
    int64_t at;

    return str_is(ev->op, d->op) && str_eq(ev->by, d->by) && ev->idem.p &&
           same_member(ev->idem, d->idem, "key") &&
           same_member(ev->idem, d->idem, "who") &&
           time_parse(ev->r.time, &at) &&
           store_now_ms(d->t->store) - at < TASK_KEY_AGE_MS;
}

/* Looks for the same request made before. 1: *out is its receipt; 0: there is
   none; or an error. */
static int
find_replay(struct draft *d, struct task_receipt *out)
{
    uint64_t n = UINT64_MAX, hash, who;
    struct task_event ev;
    int rc;

    if (!d->idem.p)
        return 0;
    hash = task_key_hash(d->t, str_of(d->op), d->by, d->idem, &who);
    while (keys_find(&d->t->keys, who, hash, &n)) {
        rc = task_event_n(d->t, d->c->a, n, &ev);
        if (rc == ERR_NOT_FOUND || rc == ERR_FORMAT || rc == ERR_GARBLED ||
            (rc == 0 && !is_same_key(d, &ev)))
            continue;
        if (rc == 0 && !same_member(ev.idem, d->idem, "args"))
            rc = ERR_IDEMPOTENCY;
        if (rc != 0)
            return task_fail_store(d->c, rc);
        rc = receipt_of(d, &ev, out);
        return rc == 0 ? 1 : rc;
    }
    return 0;
}

/* ---- the record ---- */

static void
put_state(struct buf *b, const struct task *k)
{
    char before = '{';

    for (int i = 0; i < TASK_N_FIELDS; i++) {
        if (!k->f[i].p)
            continue;
        json_name(b, before, task_arg_name(i));
        buf_str(b, k->f[i]);
        before = ',';
    }
    if (k->extra.len) {
        buf_char(b, before);
        buf_str(b, k->extra);
    }
    buf_char(b, '}');
}

/* The names of the fields that changed, without those that always do. */
static void
put_set(struct buf *b, const struct draft *d)
{
    char before = '[';

    for (int i = 0; i < TASK_N_FIELDS; i++) {
        if (i == F_TASK_ID || i == F_VERSION || i == F_CREATED_AT ||
            i == F_CREATED_BY || i == F_ATTEMPTS || i == F_TESTED_COMMIT ||
            str_eq(d->old.f[i], d->k.f[i]) ||
            (i == F_LEASE && d->old.f[i].p && d->k.f[i].p)) /* renewed */
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
put_seq(struct buf *b, char *before, struct str name, uint64_t seq)
{
    if (seq == 0)
        return;
    json_name(b, *before, name);
    buf_u64(b, seq);
    *before = ',';
}

/* Whether the change tells the owner something: see task_told. */
static bool
tells(const struct draft *d)
{
    return !actor_is(&d->c->who, d->k.f[F_CURRENT_OWNER]) &&
           (draft_given(d, ARG_MESSAGE) ||
            (draft_given(d, F_CANCEL_REQUESTED) &&
             d->k.f[F_CANCEL_REQUESTED].p));
}

/* When a question that has an answer was answered: before, or by event n. */
static uint64_t
answered_at(const struct draft *d, struct str question, uint64_t n)
{
    struct str was = question;
    uint64_t seq;

    if (!d->old.ev.seqs.p)
        was = raw_list_find(d->old.f[F_QUESTIONS], "question_id",
                            raw_member(question, "question_id"));
    seq = task_answered(&d->old, was);
    return seq ? seq : n;
}

/* What task_reached and the others read, after event n. A status is reached
   anew by another owner, and by whoever hands the task over or gives it up
   again. */
static void
put_seqs(struct buf *b, const struct draft *d, uint64_t n)
{
    const struct task *old = &d->old;
    bool anew = d->k.status != old->status || d->tool == TOOL_HANDOFF ||
                d->tool == TOOL_EXHAUST ||
                !str_eq(d->k.f[F_CURRENT_OWNER], old->f[F_CURRENT_OWNER]);
    struct str item = STR_NONE;
    char before = '{', first = '{';

    buf_z(b, ",\"seqs\":");
    for (int i = 0; i < TASK_N_STATUSES; i++) {
        enum task_status s = (enum task_status)i;

        put_seq(b, &before, str_of(task_status_name(s)),
                anew && s == d->k.status ? n : task_reached(old, s));
    }
    put_seq(b, &before, STR("told"), tells(d) ? n : task_told(old));
    while ((item = raw_list_next(d->k.f[F_QUESTIONS], item)).p) {
        struct str id = raw_member(item, "question_id");

        if (!str_starts(id, "\"") || !raw_member(item, "answer").p)
            continue; /* it is open, or of another form */
        if (first == '{')
            buf_z(b, ",\"answers\":");
        put_seq(b, &first, raw_inner(id), answered_at(d, item, n));
    }
    buf_z(b, first == '{' ? "}" : "}}");
}

static void
put_body(struct buf *b, struct draft *d)
{
    buf_printf(b, "\"op\":\"%s\",\"by\":%.*s,\"set\":", d->op,
               STR_ARG(d->by));
    put_set(b, d);
    if (d->note.p)
        buf_printf(b, ",\"note\":%.*s", STR_ARG(d->note));
    if (d->idem.p)
        buf_printf(b, ",\"idem\":%.*s", STR_ARG(d->idem));
    if (d->warnings.p)
        buf_printf(b, ",\"warn\":%.*s", STR_ARG(d->warnings));
    if (d->c->who.principal.len > 0)
        buf_z(b, ",\"token\":true");
    if (d->exists)
        put_seqs(b, d, store_next_n(d->t->store));
    buf_z(b, ",\"v\":");
}

static int
too_large(struct draft *d)
{
    int i, big = F_TITLE;

    for (i = 0; i < TASK_N_FIELDS; i++)
        if (d->k.f[i].len > d->k.f[big].len)
            big = i;
    return task_fail(d->c, ERR_TOO_LARGE, task_arg_name(big).p, "the task "
                     "would exceed %d bytes; its largest field is %s",
                     STATE_MAX, task_arg_name(big).p);
}

/* Whether the change lets an agent stop, or another go on. It may take the room
   that is left on a full disk. A checkpoint may not: agents save them as often
   as they like. */
static bool
is_last(const struct draft *d)
{
    bool ends = d->exists && task_status_ended(d->k.status) &&
                !task_status_ended(d->old.status);

    return ends || d->tool == TOOL_HANDOFF || d->tool == TOOL_EXHAUST ||
           draft_given(d, ARG_ANSWER);
}

/* Stages a record. On a full disk the error says what is still taken. */
static int
put_record(struct draft *d, struct str key, struct str body)
{
    struct store *s = d->t->store;
    const struct store_state *st;
    bool last = is_last(d);
    int rc = last ? store_stage_last(s, key, body)
                  : store_stage(s, key, body);

    if (rc == 0)
        return 0;
    st = store_state(s);
    if (rc != ERR_FULL || last || st->missing == 0)
        return task_fail_store(d->c, rc);
    task_fail(d->c, rc, NULL, "changes need %lld more bytes on the disk",
              (long long)st->missing);
    if (!st->takes_last)
        return task_next(d->c, "tell the operator to free disk space, then try "
                         "again");
    return task_next(d->c, "tell the operator to free disk space, then try "
                     "again; handoff_task, mark_exhausted, answers and ending "
                     "a task still work");
}

/* Stages the record of a change that passed all checks. */
static int
stage(struct draft *d, struct task_receipt *out)
{
    struct store *s = d->t->store;
    uint64_t seq = store_next_n(s);
    bool claims = d->tool == TOOL_CLAIM || d->tool == TOOL_IMPORT;
    struct str key;
    struct buf *b = &d->t->body;
    size_t at;
    int rc = 0;

    if (d->exists && !d->only_says) {
        d->k.f[F_VERSION] = draft_number(d, d->old.version + 1);
        rules_forget_loss(d);
    }
    rules_renew_lease(d);
    rules_deliver(d);
    buf_reset(b, b->cap);
    put_body(b, d);
    at = b->len;
    put_state(b, &d->k);
    key = arena_printf(d->c->a, TASK_PREFIX "%.*s", STR_ARG(d->id));
    if (b->err || !key.p || d->nomem)
        rc = task_fail_store(d->c, ERR_NOMEM);
    else if (b->len - at > STATE_MAX + (claims ? CLAIM_ROOM : 0))
        rc = too_large(d);
    else
        rc = put_record(d, key, buf_view(b));
    if (rc == 0)
        tasks_find(d->t, d->id)->checked = true;
    buf_reset(b, BODY_KEEP);
    *out = (struct task_receipt){
        .id = d->id,
        .op = str_of(d->op),
        .seq = seq,
        .warnings = d->warnings,
        .token = d->c->who.principal.len > 0,
        .artifact_id = d->artifact_id,
        .question_id = d->question_id,
        .circle = d->circle,
        .renewed = d->renews,
        .was = d->was,
    };
    put_task(d, &d->k, d->by, out);
    return rc;
}

/* ---- the way in ---- */

/* Reads the task or, if its record is not JSON, the state before it. */
static int
read_old(struct draft *d)
{
    struct task_event ev;
    int rc = task_event_last(d->t, d->c->a, d->id, &ev);

    d->mends = rc == ERR_GARBLED;
    if (d->mends)
        rc = task_event_whole(d->t, d->c->a, &ev);
    if (rc == 0)
        rc = task_of(d->t, d->c->a, &ev, &d->old);
    if (rc == 0 && d->mends) {
        d->old.version++; /* the change that is lost had this one */
        draft_warn(d, "the newest record was not JSON, so this change "
                   "continues from the one before it");
    }
    return rc;
}

/* Loads the task. Under the holder's name, the request may have been made
   before. */
static int
load(struct draft *d, struct task_receipt *out)
{
    int rc = read_old(d);

    if (rc != 0)
        return task_fail_read(d->c, d->t, d->id, rc);
    d->exists = true;
    d->k = d->old;
    return rules_meet_holder(d) ? find_replay(d, out) : 0;
}

int
task_leave(struct tasks *t, struct arena *a, const struct task *k)
{
    struct task_args args = {.notes = STR_NONE};
    struct task_ctx c = {.a = a};
    struct draft d = {.t = t, .c = &c, .args = &args, .tool = TOOL_CLAIM,
                      .exists = true, .id = k->ev.id, .k = *k, .old = *k};
    struct task_receipt r;

    d.by = c.who.name = raw_member(k->f[F_LEASE], "agent");
    d.now = draft_quoted(&d, time_text(store_now_ms(t->store)));
    rules_leave(&d, STR("\"exited\""));
    return stage(&d, &r);
}

/* The first to be refused what an agent left begins the time for which that is
   kept. */
static int
refuse_left(struct draft *d)
{
    if (raw_member(d->old.f[F_LEASE], "left").p ||
        task_leave(d->t, d->c->a, &d->old) != 0 ||
        task_get(d->t, d->c->a, d->id, &d->old) != 0)
        return ERR_KEPT;
    return may_refuse(d->c, &d->old, MAY_NOT_LEFT);
}

/* Makes the checks that all changes share. */
static int
check(struct draft *d)
{
    uint64_t version;
    int rc;

    version = task_arg_u64(d->args, ARG_EXPECTED_VERSION, d->old.version);
    if (version != d->old.version) {
        rc = task_fail(d->c, ERR_VERSION, "expected_version",
                       "the task is at version %llu",
                       (unsigned long long)d->old.version);
        d->c->e.version = d->old.version;
        return rc;
    }
    rc = rules_check_may(d);
    return rc == ERR_KEPT && d->old.gone ? refuse_left(d) : rc;
}

static void
begin_draft(struct draft *d)
{
    const struct str *v = d->args->v;
    int agent = d->tool == TOOL_HANDOFF ? ARG_FROM_AGENT : ARG_AGENT;

    d->c->e = (struct task_error){0};
    d->op = task_actions[d->tool].op;
    d->id = raw_inner(v[F_TASK_ID]);
    d->by = v[agent].p ? v[agent] : d->args->self; /* of an import */
    if (!d->by.p)
        d->by = STR("\"unknown\"");
    if (d->c->who.user.p)
        d->by = d->c->who.user;
    d->c->who.name = d->by;
    d->c->who.unnamed = !d->c->who.chosen && !d->c->who.principal.len &&
                        (d->args->own_name || !v[agent].p);
    d->note = v[ARG_NOTES];
    if (!d->note.p && (d->tool == TOOL_UPDATE || d->tool == TOOL_CLAIM))
        d->note = v[ARG_REASON];
    d->now = draft_quoted(d, time_text(store_now_ms(d->t->store)));
    d->warnings = d->args->notes;
    if (draft_given(d, ARG_IDEMPOTENCY_KEY))
        make_idem(d);
}

/* Finds a task to claim. */
static int
choose(struct draft *d, struct task_receipt *out)
{
    struct task_want w = task_want_of(d->args);
    int rc;

    w.who = d->c->who;
    w.leave = task_leave;
    rc = tasks_find_ready(d->t, &w, &d->id);
    *out = (struct task_receipt){.partial = w.partial, .more = w.more,
                                 .due_ms = w.due_ms};
    return rc == 0 ? 0 : task_fail_store(d->c, rc);
}

/* Runs the action and stages its result. */
static int
finish(struct draft *d, struct task_receipt *out)
{
    int rc = task_actions[d->tool].run(d);

    if (rc == DRAFT_UNCHANGED && !d->mends)
        return receipt_unchanged(d, out);
    return rc == 0 || rc == DRAFT_UNCHANGED ? stage(d, out) : rc;
}

int
task_change(struct tasks *t, struct task_ctx *c, enum task_tool tool,
            const struct task_args *args, const struct task_blob *blob,
            struct task_receipt *out)
{
    struct draft d = {.t = t, .c = c, .args = args, .tool = tool,
                      .blob = blob};
    int rc;

    begin_draft(&d);
    rc = find_replay(&d, out);
    if (rc != 0)
        return rc < 0 ? rc : 0;
    if (tool == TOOL_CLAIM) {
        rc = may_refuse(c, NULL, may(&c->who, NULL, ACT_CLAIM));
        if (rc != 0)
            return rc;
    }
    if (tool == TOOL_CLAIM && !d.id.p) {
        rc = choose(&d, out);
        if (rc != 0 || !d.id.p)
            return rc;
    }
    if (tool != TOOL_CREATE) {
        rc = load(&d, out);
        if (rc != 0)
            return rc < 0 ? rc : 0;
        rc = check(&d);
    }
    return rc == 0 ? finish(&d, out) : rc;
}

/* ---- several tasks at once ---- */

/* The receipts of tasks that the same request made before. Their events follow
   the first one's. */
static int
replay_all(struct draft *d, struct task_receipt *out, size_t n)
{
    struct task_event ev;
    int rc = 0;

    for (size_t i = 1; i < n && rc == 0; i++) {
        rc = task_event_n(d->t, d->c->a, out[0].seq + i, &ev);
        rc = rc == 0 ? receipt_of(d, &ev, &out[i])
                     : task_fail_store(d->c, rc);
    }
    return rc;
}

/* Creates one of several tasks. whole is the request; its key is stored with
   the first task. */
static int
create_one(const struct draft *whole, const struct json_tok *obj, bool first,
           struct task_receipt *out)
{
    const struct str *beside = whole->args->v;
    struct task_ctx *c = whole->c;
    struct task_args args;
    struct draft d = {.t = whole->t, .c = c, .args = &args,
                      .tool = TOOL_CREATE};
    int rc = task_args_parse(c, TOOL_CREATE, obj, &args);

    if (rc != 0)
        return rc;
    if (args.v[ARG_TASKS].p || args.v[ARG_IDEMPOTENCY_KEY].p ||
        (args.v[ARG_AGENT].p && !args.own_name &&
         !str_eq(args.v[ARG_AGENT], beside[ARG_AGENT])))
        return task_fail(c, ERR_INVALID, "tasks", "agent, tasks "
                         "and idempotency_key belong beside tasks, not in its "
                         "items");
    args.v[ARG_AGENT] = beside[ARG_AGENT];
    begin_draft(&d);
    if (first)
        d.idem = whole->idem;
    return finish(&d, out);
}

static int
create_each(const struct draft *whole, const struct json_tok *list,
            struct task_receipt *out)
{
    struct task_ctx *c = whole->c;
    const struct json_tok *obj = list + 1;
    uint64_t seq = store_next_n(whole->t->store);
    struct str ids[TASK_MAX_NEW], why;
    size_t i, made = 0, old = 0;
    int rc = 0;

    c->ids = ids;
    for (i = 0; i < list->n && rc == 0; i++, obj += obj->span) {
        c->n_ids = i;
        rc = create_one(whole, obj, i == 0, &out[i]);
        ids[i] = out[i].id;
        if (rc == 0 && out[i].seq == seq + made)
            made++;
        else
            old = i;
    }
    c->ids = NULL;
    if (rc == 0 && made != 0 && made != list->n) {
        task_fail(c, ERR_EXISTS, "tasks", "tasks[%zu] already exists, but "
                  "others do not", old);
        return task_next(c, "omit those that exist; the others can refer to "
                         "them by task_id");
    }
    why = rc == 0 ? STR_NONE : arena_printf(c->a, "tasks[%zu]: %.*s", i - 1,
                                            STR_ARG(c->e.message));
    if (why.p)
        c->e.message = why;
    return rc;
}

/* Arguments beside tasks apply to all of them. */
static int
check_beside(struct task_ctx *c, const struct task_args *args,
             const struct json_tok *list)
{
    for (int i = 0; i < TASK_N_FIELDS; i++)
        if (args->v[i].p)
            return task_fail(c, ERR_INVALID, task_arg_name(i).p, "put %s in "
                             "each item of tasks", task_arg_name(i).p);
    if (list->n == 0 || list->n > TASK_MAX_NEW ||
        args->v[ARG_TASKS].len > TASK_MAX_NEW_LEN)
        return task_fail(c, list->n > 0 ? ERR_TOO_LARGE : ERR_INVALID, "tasks",
                         "tasks must have 1 to %d items, at most %d bytes in "
                         "all",
                         TASK_MAX_NEW, TASK_MAX_NEW_LEN);
    return 0;
}

int
task_create_all(struct tasks *t, struct task_ctx *c,
                const struct task_args *args, struct task_receipt *out,
                size_t *n)
{
    struct draft d = {.t = t, .c = c, .args = args, .tool = TOOL_CREATE};
    size_t staged = store_staged_n(t->store);
    const struct json_tok *list;
    int rc = json_parse(c->a, args->v[ARG_TASKS], &list, NULL);

    if (rc != 0)
        return task_fail_store(c, rc);
    rc = check_beside(c, args, list);
    if (rc != 0)
        return rc;
    *n = list->n;
    begin_draft(&d);
    rc = find_replay(&d, out);
    if (rc != 0)
        return rc < 0 ? rc : replay_all(&d, out, *n);
    rc = create_each(&d, list, out);
    if (rc != 0)
        store_unstage(t->store, staged);
    return rc;
}

int
task_change_text(struct tasks *t, struct task_ctx *c, enum task_tool tool,
                 struct str text, const struct task_blob *blob,
                 struct task_receipt *out)
{
    const struct json_tok *obj;
    struct task_args args;
    int rc = json_parse(c->a, text, &obj, NULL);

    if (rc != 0)
        return task_fail_store(c, rc);
    rc = task_args_parse(c, tool, obj, &args);
    return rc == 0 ? task_change(t, c, tool, &args, blob, out) : rc;
}

/* Notes when the task last changed in the store that it comes from: the record
   has the time of the import. */
static void
note_updated_at(struct draft *d, const struct json_tok *obj)
{
    const struct json_tok *t = json_get(obj, "updated_at");
    struct str s = t && t->type == JSON_NUMBER ? json_raw(t)
                                               : json_str(d->c->a, t);
    int64_t ms;

    if (!s.p || !task_time_parse(s, &ms))
        return;
    d->note = draft_keep(d, arena_printf(d->c->a, "\"last changed %s\"",
                                         time_text(ms)));
}

int
task_import(struct tasks *t, struct task_ctx *c, const struct json_tok *obj,
            struct task_receipt *out)
{
    struct task_args args;
    struct draft d = {.t = t, .c = c, .args = &args, .tool = TOOL_IMPORT};
    int rc;

    c->e = (struct task_error){0};
    rc = task_args_parse(c, TOOL_IMPORT, obj, &args);
    if (rc != 0)
        return rc;
    begin_draft(&d);
    note_updated_at(&d, obj);
    return finish(&d, out);
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
    k.f[F_ARTIFACTS] = raw_member(ev.v, "artifacts"); /* still in use */
    for (i = 0; i < TASK_N_HEAD; i++)
        if (!(kept >> i & 1))
            k.f[i] = i == F_STATUS ? STR("\"archived\"") : STR_NONE;
    buf_reset(b, b->cap);
    buf_z(b, "\"op\":\"archive\",\"by\":\"mcptask\",\"v\":");
    put_state(b, &k);
    rc = b->err ? b->err : store_stage_last(t->store, r->key, buf_view(b));
    buf_reset(b, BODY_KEEP);
    return rc;
}
