/* stats - the command that counts tasks: those that ended in the last two weeks
   by day and by agent, and the others by column. How long work and answers took
   is for programs.

   A day begins at midnight here. A task counts on the day of its newest event,
   which for an ended task is its end. */

#include "cli/stats.h"
#include "cli/call.h"
#include "cli/human.h"
#include "cli/show.h"
#include "cli/text.h"
#include "base/clock.h"
#include "base/text.h"
#include "json/raw.h"
#include "json/write.h"
#include "task/cause.h"
#include "task/query.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#define DAYS 14
#define AGENTS_MAX 500 /* that are counted */

enum { N_DONE, N_FAILED, N_HANDED, N_COUNTS };

struct agent_count {
    struct str name; /* in c->kept */
    uint64_t n[N_COUNTS];
};

struct stats {
    struct cli *c;
    int64_t midnight[DAYS + 1]; /* when each day begins, the oldest first */
    uint64_t ended[DAYS], failed[DAYS];
    struct buf to_done, to_answer; /* of int64_t: milliseconds */
    uint64_t column[TASK_N_COLUMNS];
    struct agent_count agent[AGENTS_MAX];
    size_t n_agents;
};

/* ---- counting ---- */

static void
find_midnights(struct stats *s)
{
    time_t now = (time_t)(cli_now_ms(s->c) / 1000);
    struct tm today = {.tm_isdst = -1}, day;

    tzset();
    localtime_r(&now, &today);
    for (int i = 0; i <= DAYS; i++) {
        day = (struct tm){.tm_year = today.tm_year, .tm_mon = today.tm_mon,
                          .tm_mday = today.tm_mday - DAYS + 1 + i,
                          .tm_isdst = -1};
        s->midnight[i] = (int64_t)mktime(&day) * 1000;
    }
}

/* The day of a time, or -1 if it is too long ago. */
static int
day_of(const struct stats *s, int64_t ms)
{
    int i = DAYS - 1;

    while (i >= 0 && ms < s->midnight[i])
        i--;
    return i;
}

static void
count_agent(struct stats *s, struct str raw, int what)
{
    struct str name = raw_text(&s->c->a, raw);
    size_t i = 0;

    if (name.len == 0)
        return;
    while (i < s->n_agents && !str_eq(s->agent[i].name, name))
        i++;
    if (i == AGENTS_MAX)
        return;
    if (i == s->n_agents) {
        s->agent[i].name = arena_str(&s->c->kept, name);
        s->n_agents += s->agent[i].name.p != NULL;
    }
    if (i < s->n_agents)
        s->agent[i].n[what]++;
}

/* Adds the span between two times, if both are. */
static void
add_span(struct buf *b, struct str from, struct str to)
{
    int64_t a, z, ms;

    if (!time_parse(from, &a) || !time_parse(to, &z))
        return;
    ms = z > a ? z - a : 0;
    buf_put(b, (const char *)&ms, sizeof(ms));
}

static void
count_answers(struct stats *s, struct str questions)
{
    struct str q = STR_NONE, answer, at;
    int64_t ms;

    while ((q = raw_list_next(questions, q)).p != NULL) {
        answer = raw_member(q, "answer");
        at = raw_inner(raw_member(answer, "at"));
        if (time_parse(at, &ms) && day_of(s, ms) >= 0)
            add_span(&s->to_answer, raw_inner(raw_member(q, "at")), at);
    }
}

static bool
count_task(void *ctx, const struct task *k)
{
    struct stats *s = ctx;
    struct str handoff = k->f[F_HANDOFF], at = raw_member(handoff, "at");
    int64_t ms = 0;
    int day;

    count_answers(s, k->f[F_QUESTIONS]);
    if (at.p != NULL && time_parse(raw_inner(at), &ms) && day_of(s, ms) >= 0)
        count_agent(s, raw_member(handoff, "from_agent"), N_HANDED);
    if (!task_status_ended(k->status)) {
        s->column[task_column(k)]++;
        return true;
    }
    day = time_parse(k->ev.r.time, &ms) ? day_of(s, ms) : -1;
    if (day < 0)
        return true;
    s->ended[day]++;
    s->failed[day] += k->status == TASK_FAILED;
    if (k->status == TASK_DONE)
        add_span(&s->to_done, raw_inner(k->f[F_CREATED_AT]), k->ev.r.time);
    if (k->status != TASK_CANCELLED)
        count_agent(s, k->f[F_CURRENT_OWNER],
                    k->status == TASK_DONE ? N_DONE : N_FAILED);
    return true;
}

/* ---- showing ---- */

static int
compare_spans(const void *a, const void *b)
{
    int64_t x, y;

    memcpy(&x, a, sizeof(x));
    memcpy(&y, b, sizeof(y));
    return (x > y) - (x < y);
}

static int
compare_agents(const void *a, const void *b)
{
    const struct agent_count *x = a, *y = b;
    uint64_t n = x->n[N_DONE] + x->n[N_FAILED] + x->n[N_HANDED];
    uint64_t m = y->n[N_DONE] + y->n[N_FAILED] + y->n[N_HANDED];

    return n != m ? (n < m) - (n > m) : str_compare(x->name, y->name);
}

/* The day of midnight i, in text. */
static const char *
name_day(const struct stats *s, int i, char text[40])
{
    time_t at = (time_t)(s->midnight[i] / 1000);
    struct tm tm = {0};

    localtime_r(&at, &tm);
    text_put(text, 40, "%04d-%02d-%02d", tm.tm_year + 1900, tm.tm_mon + 1,
             tm.tm_mday);
    return text;
}

static void
put_stats(struct stats *s)
{
    struct buf *b = &s->c->out;
    const char *before = "";
    char day[40];

    for (int i = 0; i < DAYS; i++)
        if (s->ended[i] > 0)
            buf_printf(b, "%s  " U64 " ended, " U64 " of them failed\n",
                       name_day(s, i, day), s->ended[i], s->failed[i]);
    for (size_t i = 0; i < s->n_agents; i++)
        buf_printf(b, "%.*s  " U64 " done, " U64 " failed, " U64
                   " handed over\n", STR_ARG(s->agent[i].name),
                   s->agent[i].n[N_DONE], s->agent[i].n[N_FAILED],
                   s->agent[i].n[N_HANDED]);
    for (int i = 0; i < TASK_N_COLUMNS; i++)
        if (i != COLUMN_DONE) {
            buf_printf(b, "%s%s " U64, before, human_column(i),
                       s->column[i]);
            before = ", ";
        }
    buf_char(b, '\n');
}

/* Writes the middle one of the times, if there is any. */
static void
put_json_median(struct json_w *w, const char *name, struct buf *spans)
{
    size_t n = spans->len / sizeof(int64_t);
    int64_t ms;

    if (n == 0)
        return;
    qsort(spans->p, n, sizeof(ms), compare_spans);
    memcpy(&ms, spans->p + n / 2 * sizeof(ms), sizeof(ms));
    json_put_int(w, name, ms / 1000);
}

static void
put_json_days(struct stats *s, struct json_w *w)
{
    char day[40];

    json_put_arr(w, "days");
    for (int i = 0; i < DAYS; i++) {
        json_obj(w);
        json_put_z(w, "day", name_day(s, i, day));
        json_put_int(w, "ended", (int64_t)s->ended[i]);
        json_put_int(w, "failed", (int64_t)s->failed[i]);
        json_close(w);
    }
    json_close(w);
}

static void
put_json_stats(struct stats *s)
{
    struct json_w w;

    json_begin(&w, &s->c->out);
    put_json_days(s, &w);
    put_json_median(&w, "median_seconds_to_done", &s->to_done);
    put_json_median(&w, "median_seconds_to_answer", &s->to_answer);
    json_put_arr(&w, "agents");
    for (size_t i = 0; i < s->n_agents; i++) {
        json_obj(&w);
        json_put_str(&w, "agent", s->agent[i].name);
        json_put_int(&w, "done", (int64_t)s->agent[i].n[N_DONE]);
        json_put_int(&w, "failed", (int64_t)s->agent[i].n[N_FAILED]);
        json_put_int(&w, "handed_over", (int64_t)s->agent[i].n[N_HANDED]);
        json_close(&w);
    }
    json_close(&w);
    json_put_arr(&w, "columns");
    for (int i = 0; i < TASK_N_COLUMNS; i++)
        if (i != COLUMN_DONE) {
            json_obj(&w);
            json_put_z(&w, "name", human_column(i));
            json_put_int(&w, "total", (int64_t)s->column[i]);
            json_close(&w);
        }
    json_close(&w);
    json_end(&w);
    buf_char(&s->c->out, '\n');
}

int
cli_stats(struct cli *c)
{
    struct stats s = {.c = c};
    int rc;

    find_midnights(&s);
    rc = cli_each_whole(c, count_task, &s);
    if (rc == 0)
        rc = s.to_done.err != 0 ? s.to_done.err : s.to_answer.err;
    if (rc == 0) {
        qsort(s.agent, s.n_agents, sizeof(s.agent[0]), compare_agents);
        if (c->json)
            put_json_stats(&s);
        else
            put_stats(&s);
    }
    buf_fini(&s.to_done);
    buf_fini(&s.to_answer);
    return rc < 0 ? cli_fail_store(c, rc) : rc;
}
