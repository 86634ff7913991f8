/* event - splits a record of a task. Its members, and those of the state in it,
   are in a fixed order: the search for each begins after the one before. */

#include "task/event.h"
#include "json.h"
#include "json/raw.h"

#include <string.h>

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
