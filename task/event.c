/* event - splits a record of a task, and reads the objects inside its state.

   The members of a record, and those of the state in it, are in a fixed order:
   the search for each begins after the one before. */

#include "task/event.h"
#include "base/clock.h"
#include "json.h"
#include "json/raw.h"

#include <string.h>

#define HANDOFF_MS (900 * 1000) /* the same */
#define LEFT_MS (60 * 1000)

/* ---- records ---- */

int
task_event_scan(const struct store_rec *r, struct task_event *out)
{
    static const struct str names[] = {
        STR("op"), STR("by"), STR("set"), STR("note"), STR("idem"),
        STR("warn"), STR("token"), STR("seqs"), STR("v"),
    };
    enum { N = sizeof names / sizeof *names };
    struct task_event ev = {.r = *r};
    struct str *slot[N] = {&ev.op, &ev.by, &ev.set, &ev.note, &ev.idem,
                           &ev.warn, &ev.token, &ev.seqs, &ev.v};
    struct raw_members m = raw_members_of(r->body);
    size_t i, at = 0; /* members come in a fixed order */

    if (!str_starts(r->key, TASK_PREFIX))
        return ERR_FORMAT;
    ev.id = str_from(r->key, sizeof TASK_PREFIX - 1);
    while (!ev.v.p && raw_next_name(&m) == 1) {
        for (i = at; i < N && !str_eq(m.name, names[i]);)
            i++;
        /* v is the last member: it ends where the body ends */
        m.p = i == N - 1 ? m.end : raw_skip(m.value.p, m.end);
        if (!m.p)
            return ERR_FORMAT;
        if (i == N)
            continue; /* from a newer version */
        *slot[i] = (struct str){m.value.p, (size_t)(m.p - m.value.p)};
        at = i + 1;
    }
    ev.op = raw_inner(ev.op);
    if (!ev.op.p || !ev.by.p || !ev.v.p || ev.v.len < 2 || *ev.v.p != '{' ||
        ev.v.p[ev.v.len - 1] != '}')
        return ERR_FORMAT;
    *out = ev;
    return 0;
}

int
task_event_of(const struct store_rec *r, struct task_event *out)
{
    struct task_event ev;
    int rc = task_event_scan(r, &ev);

    if (!str_starts(r->key, TASK_PREFIX))
        return ERR_FORMAT;
    if (!json_is_valid(r->line)) {
        *out = (struct task_event){
            .r = *r, .op = STR("damaged"),
            .id = str_from(r->key, sizeof TASK_PREFIX - 1)};
        return ERR_GARBLED;
    }
    if (rc == 0 && !json_is_valid(ev.v)) /* v is not the last member */
        rc = ERR_FORMAT;
    if (rc == 0)
        *out = ev;
    return rc;
}

bool
task_event_archives(const struct task_event *ev)
{
    return str_is(ev->op, "archive");
}

uint64_t
task_event_version(const struct task_event *ev)
{
    return raw_u64(raw_member(ev->v, "version"));
}

int
task_head_of(struct str v, struct str f[TASK_N_HEAD])
{
    struct raw_members m = raw_members_of(v);
    size_t i = 0;
    int rc = 0;

    memset(f, 0, TASK_N_HEAD * sizeof *f);
    while (i < TASK_N_HEAD && (rc = raw_next_name(&m)) == 1) {
        while (i < TASK_N_HEAD && !str_eq(m.name, task_arg_name((int)i)))
            i++;
        if (i == TASK_N_HEAD)
            break;
        m.p = raw_skip(m.value.p, m.end);
        if (!m.p)
            return ERR_FORMAT;
        f[i++] = (struct str){m.value.p, (size_t)(m.p - m.value.p)};
    }
    return rc < 0 || !f[F_STATUS].p ? ERR_FORMAT : 0;
}

/* ---- leases, handoffs, questions ---- */

bool
task_lease_end(struct str lease, int64_t *ms)
{
    return time_parse(raw_inner(raw_member(lease, "expires_at")), ms);
}

bool
task_lease_wrote(struct str lease, int64_t *ms)
{
    struct str seconds = raw_member(lease, "seconds");

    if (raw_member(lease, "left").p || !task_lease_end(lease, ms))
        return false;
    *ms -= (int64_t)raw_u64(seconds.p ? seconds : STR(TASK_LEASE_S)) * 1000;
    return true;
}

/* What was to end then, by a record of the time at and for max_ms at most, ends
   at that time if the two differ more: the clock was ahead, and the record's
   time was taken back. */
static int64_t
end_within(int64_t end, int64_t at, int64_t max_ms)
{
    return end - at > max_ms ? at : end;
}

int64_t
task_from_ms(struct str not_before)
{
    int64_t ms;

    return not_before.p && time_parse(raw_inner(not_before), &ms) ? ms : 0;
}

int64_t
task_handoff_end(struct str handoff, int64_t at)
{
    int64_t ms, end = at + HANDOFF_MS;

    if (task_lease_end(handoff, &ms))
        end = ms;
    else if (time_parse(raw_inner(raw_member(handoff, "at")), &ms))
        end = ms + HANDOFF_MS;
    return end_within(end, at, TASK_HANDOFF_MAX_MS);
}

int64_t
task_kept_until(enum task_status status, struct str lease, struct str handoff,
                int64_t at)
{
    int64_t end;

    if (status == TASK_HANDOFF_READY)
        return task_handoff_end(handoff, at);
    if (status == TASK_OPEN)
        return INT64_MAX;
    if (status == TASK_EXHAUSTED)
        return at;
    /* Most tasks have no lease, and replay must be fast. */
    if (lease.p && task_lease_end(lease, &end))
        return end_within(end, at, TASK_LEASE_MAX_MS);
    return at + TASK_STALE_MS + 1;
}

struct str
task_lease_make(struct arena *a, struct str agent, struct str seconds,
                struct str seat, int64_t now)
{
    uint64_t s;
    const char *end;

    if (!seconds.p)
        seconds = STR(TASK_LEASE_S);
    s = raw_u64(seconds);
    if (s > TASK_LEASE_MAX_MS / 1000)
        s = TASK_LEASE_MAX_MS / 1000;
    end = time_text(now + (int64_t)s * 1000);
    return arena_printf(a, "{\"agent\":%.*s,\"expires_at\":\"%s\",\"seconds\":"
                        "%.*s%.*s}", STR_ARG(agent), end, STR_ARG(seconds),
                        STR_ARG(seat));
}

struct str
task_seat_make(struct arena *a, struct str session, struct str client,
               bool first, bool many)
{
    return arena_printf(a, ",\"session\":\"%.*s\",\"client\":\"%.*s\"%s%s",
                        STR_ARG(session), STR_ARG(client),
                        first ? ",\"first\":true" : "",
                        many ? ",\"many\":true" : "");
}

struct str
task_lease_leave(struct arena *a, struct str lease, struct str reason,
                 int64_t now)
{
    struct str seconds = raw_member(lease, "seconds");
    int64_t end = now + LEFT_MS, own;
    char at[TIME_LEN + 1];

    if (task_lease_end(lease, &own) && (own < end || raw_member(lease,
                                                                "many").p))
        end = own;
    time_format(now, at);
    return arena_printf(a, "{\"agent\":%.*s,\"expires_at\":\"%s\",\"seconds\":"
                        "%.*s,\"left\":{\"at\":\"%s\",\"reason\":%.*s}%.*s}",
                        STR_ARG(raw_member(lease, "agent")), time_text(end),
                        STR_ARG(seconds.p ? seconds : STR(TASK_LEASE_S)), at,
                        STR_ARG(reason), STR_ARG(task_seat(lease)));
}

bool
task_lease_is_run(struct str lease)
{
    return str_is(raw_inner(raw_member(lease, "client")), TASK_RUN_CLIENT);
}

struct str
task_seat(struct str lease)
{
    struct str session = raw_member(lease, "session");
    const char *p = session.p ? session.p - sizeof ",\"session\":" + 1 : NULL;
    struct str seat = {p, p ? (size_t)(str_end(lease) - 1 - p) : 0};

    return raw_member(seat, "client").p ? seat : STR("");
}

struct str
task_open_question(struct str questions)
{
    struct str item = STR_NONE;

    do
        item = raw_list_next(questions, item);
    while (item.p && raw_member(item, "answer").p);
    return item;
}
