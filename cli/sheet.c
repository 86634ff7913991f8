/* sheet - everything about one task, for a person at a terminal.

   What a person acts on comes first: the questions and the command that answers
   each, then the parts, then what agents wrote, then facts that rarely change.
   What only programs need is left out: sessions of leases, hashes. An agent
   that takes over reads view_task_markdown instead. */

#include "cli/sheet.h"
#include "cli/call.h"
#include "cli/screen.h"
#include "base/clock.h"
#include "base/text.h"
#include "base/utf8.h"
#include "json/raw.h"

#include <string.h>

#define LABEL 12 /* cells of the label of a fact */
#define CARRIED_MAX ((size_t)4 * 1024) /* bytes of what an import left */

/* ---- lines ---- */

static void
add_heading(struct sheet *s, const char *text, const char *sgr)
{
    table_line(&s->t, 0, (struct table_cell){STR(""), NULL});
    table_line(&s->t, 0, (struct table_cell){str_of(text), sgr});
}

/* Adds a section with a text, if there is one. */
static void
add_prose(struct sheet *s, const char *heading, struct str raw)
{
    struct arena a = {0};
    struct str text = raw_text(&a, raw);

    if (text.len > 0) {
        add_heading(s, heading, "1");
        human_text(&s->t, 2, text, SIZE_MAX, NULL);
    }
    arena_fini(&a);
}

/* Adds the texts of a list, each with a mark before it. */
static void
add_items(struct sheet *s, const char *mark, struct str raw, const char *sgr)
{
    struct arena a = {0};
    struct str item = STR_NONE, text;

    while ((item = raw_list_next(raw, item)).p != NULL) {
        text = raw_text(&a, item);
        text = arena_printf(&a, "%s%.*s", mark,
                            STR_ARG(text.p != NULL ? text : item));
        human_text(&s->t, 2, text, SIZE_MAX, sgr);
    }
    arena_fini(&a);
}

/* Adds a line "label   text", if there is a text. */
static void
add_fact(struct sheet *s, const char *label, struct str text)
{
    struct arena a = {0};

    if (text.len > 0)
        human_text(&s->t, 2, arena_printf(&a, "%c%-*s%.*s",
                                          text_lower(label[0]), LABEL - 1,
                                          label + 1, STR_ARG(text)),
                   SIZE_MAX, NULL);
    arena_fini(&a);
}

/* "25m ago (13:05)". */
static struct str
when_text(struct sheet *s, struct arena *a, struct str time)
{
    const struct cli *c = s->t.c;

    return arena_printf(a, "%.*s ago (%.*s)", STR_ARG(human_age(c, a, time)),
                        STR_ARG(human_time(c, a, time, true)));
}

/* ---- the top ---- */

/* "P0  in progress  codex-91bc04de  3/6 steps  changed 25m ago". */
static void
add_state(struct sheet *s)
{
    const struct task *k = s->k;
    struct arena a = {0};
    struct buf b = {0};
    struct str owner = raw_text(&a, k->f[F_CURRENT_OWNER]);
    struct str lease = raw_inner(raw_member(k->f[F_LEASE], "expires_at"));
    size_t done, all;

    task_steps(k, &done, &all);
    buf_printf(&b, "P%.*s  %s", STR_ARG(k->f[F_PRIORITY]),
               task_status_name(k->status));
    for (size_t i = 0; i < b.len; i++)
        b.p[i] = b.p[i] == '_' ? ' ' : b.p[i];
    if (owner.len > 0)
        buf_printf(&b, "  %.*s", STR_ARG(owner));
    if (all > 0)
        buf_printf(&b, "  %zu/%zu steps", done, all);
    buf_printf(&b, "  changed %.*s ago",
               STR_ARG(human_age(s->t.c, &a, k->ev.r.time)));
    if (lease.len > 0)
        buf_printf(&b, "  lease %s %.*s",
                   k->lease_expired ? "ended" : "until",
                   STR_ARG(human_time(s->t.c, &a, lease, true)));
    human_text(&s->t, 0, buf_view(&b), SIZE_MAX, NULL);
    s->t.c->out.err |= b.err;
    buf_fini(&b);
    arena_fini(&a);
}

/* "Stuck: the lease ran out". */
static void
add_reason(struct sheet *s)
{
    int sign = human_sign_of(s->k);
    struct arena a = {0};
    struct str why = human_cause(s->t.c, &a, s->k);

    if (why.len > 0 && !s->k->needs_input)
        human_text(&s->t, 0, arena_printf(&a, "%s: %.*s", human_column(sign),
                                          STR_ARG(why)),
                   SIZE_MAX, human_column_sgr(sign));
    arena_fini(&a);
}

static void
add_questions(struct sheet *s)
{
    struct str question = STR_NONE;
    struct arena a = {0};

    while ((question = human_open_question(s->k, question)).p != NULL) {
        if (task_status_ended(s->k->status))
            break;
        add_heading(s, "Waits for you", "1;35");
        human_text(&s->t, 2, human_asked_text(s->t.c, &a, question), SIZE_MAX,
                   "2");
        human_question(&s->t, 2, s->k, question, SIZE_MAX);
    }
    arena_fini(&a);
}

void
sheet_begin(struct sheet *s, struct cli *c, const struct task *k)
{
    struct arena a = {0};

    *s = (struct sheet){.k = k};
    table_begin(&s->t, c, human_list, HUMAN_COLUMNS, screen_columns());
    s->t.indent = 2;
    s->t.headed = true; /* a row of a part says enough */
    human_text(&s->t, 0, arena_printf(&a, "%.*s  %.*s", STR_ARG(k->ev.id),
                                      STR_ARG(raw_text(&a, k->f[F_TITLE]))),
               SIZE_MAX, "1");
    add_state(s);
    add_reason(s);
    add_questions(s);
    arena_fini(&a);
}

void
sheet_add_part(struct sheet *s, const struct task *part)
{
    if (s->n_parts++ == 0)
        add_heading(s, "Parts", "1");
    s->parts_done += part->status == TASK_DONE;
    human_row(&s->t, part);
}

/* ---- what agents wrote ---- */

/* "make replay: 11 passed, 1 failed". */
static void
add_tests(struct sheet *s)
{
    struct str test = STR_NONE;
    struct arena a = {0};

    if (raw_list_n(s->k->f[F_TEST_RESULTS]) > 0)
        add_heading(s, "Tests", "1");
    while ((test = raw_list_next(s->k->f[F_TEST_RESULTS], test)).p != NULL) {
        struct str code = raw_member(test, "exit_code");
        struct str summary = raw_text(&a, raw_member(test, "summary"));
        uint64_t passed = raw_u64(raw_member(test, "passed"));
        uint64_t failed = raw_u64(raw_member(test, "failed"));
        bool bad = failed > 0 || (code.p != NULL && !str_is(code, "0"));
        struct buf b = {0};

        buf_str(&b, raw_text(&a, raw_member(test, "command")));
        if (passed + failed > 0)
            buf_printf(&b, ": %llu passed, %llu failed",
                       (unsigned long long)passed, (unsigned long long)failed);
        else if (code.p != NULL)
            buf_printf(&b, ": exit code %.*s", STR_ARG(code));
        if (summary.len > 0)
            buf_printf(&b, ": %.*s", STR_ARG(summary));
        human_text(&s->t, 2, buf_view(&b), SIZE_MAX, bad ? "31" : "32");
        s->t.c->out.err |= b.err;
        buf_fini(&b);
    }
    arena_fini(&a);
}

/* "a1  acquirer.log  27 bytes, 50m ago"; and how to read one. */
static void
add_artifacts(struct sheet *s)
{
    struct str item = STR_NONE, id = STR_NONE;
    struct arena a = {0};

    if (raw_list_n(s->k->f[F_ARTIFACTS]) > 0)
        add_heading(s, "Artifacts", "1");
    while ((item = raw_list_next(s->k->f[F_ARTIFACTS], item)).p != NULL) {
        struct str text = raw_text(&a, raw_member(item, "description"));
        struct str at = raw_inner(raw_member(item, "at"));

        id = raw_inner(raw_member(item, "artifact_id"));
        human_text(&s->t, 2, arena_printf(&a,
            "%.*s  %.*s  %llu bytes, %.*s ago%s%.*s", STR_ARG(id),
            STR_ARG(raw_text(&a, raw_member(item, "name"))),
            (unsigned long long)raw_u64(raw_member(item, "size")),
            STR_ARG(human_age(s->t.c, &a, at)), text.len > 0 ? ": " : "",
            STR_ARG(text)), SIZE_MAX, NULL);
    }
    if (id.p != NULL)
        table_whole_line(&s->t, 2, (struct table_cell){
            arena_printf(&a, "mcptask show %.*s --artifact %.*s",
                         STR_ARG(s->k->ev.id), STR_ARG(id)), "36"});
    arena_fini(&a);
}

/* Who said something when: "anna, 40m ago: The client waits 30 s". */
static void
add_said(struct sheet *s, struct str by, struct str at, struct str text)
{
    struct arena a = {0};

    human_text(&s->t, 2, arena_printf(&a, "%.*s, %.*s ago: %.*s",
                                      STR_ARG(raw_text(&a, by)),
                                      STR_ARG(human_age(s->t.c, &a,
                                                        raw_inner(at))),
                                      STR_ARG(raw_text(&a, text))),
               SIZE_MAX, NULL);
    arena_fini(&a);
}

static void
add_messages(struct sheet *s)
{
    struct str item = STR_NONE, stop = s->k->f[F_CANCEL_REQUESTED];

    if (stop.p != NULL && *stop.p == '{') {
        add_heading(s, "Asked to stop", "1;31");
        add_said(s, raw_member(stop, "by"), raw_member(stop, "at"),
                 raw_member(stop, "reason"));
    }
    if (raw_list_n(s->k->f[F_MESSAGES]) > 0)
        add_heading(s, "Messages", "1");
    while ((item = raw_list_next(s->k->f[F_MESSAGES], item)).p != NULL)
        add_said(s, raw_member(item, "from"), raw_member(item, "at"),
                 raw_member(item, "text"));
}

/* The questions that have an answer. */
static void
add_answered(struct sheet *s)
{
    struct str item = STR_NONE, answer;
    bool any = false;
    struct arena a = {0};

    while ((item = raw_list_next(s->k->f[F_QUESTIONS], item)).p != NULL) {
        answer = raw_member(item, "answer");
        if (answer.p == NULL)
            continue;
        if (!any)
            add_heading(s, "Answers", "1");
        any = true;
        human_text(&s->t, 2, raw_text(&a, raw_member(item, "question")),
                   SIZE_MAX, "2");
        add_said(s, raw_member(answer, "by"), raw_member(answer, "at"),
                 raw_member(answer, str_is(raw_member(answer, "action"),
                                           "\"accept\"") ||
                            raw_member(answer, "text").len > 2
                                ? "text" : "action"));
    }
    arena_fini(&a);
}

/* What an import carried along. */
static void
add_carried(struct sheet *s)
{
    struct raw_members m = raw_members_of(s->k->extra);
    struct arena a = {0};

    if (s->k->extra.len > 0)
        add_heading(s, "Other imported fields", "1");
    while (raw_next(&m) == 1) {
        struct str text = raw_text(&a, m.value);

        text = utf8_cut(text.p != NULL ? text : m.value, CARRIED_MAX);
        human_text(&s->t, 2, arena_printf(&a, "%.*s: %.*s", STR_ARG(m.name),
                                          STR_ARG(text)), SIZE_MAX, NULL);
    }
    arena_fini(&a);
}

/* ---- facts ---- */

/* The tasks that must be done first, and which of them are not. */
static struct str
depends_text(struct sheet *s, struct arena *a)
{
    const struct task *k = s->k;
    struct str item = STR_NONE;
    struct buf b = {0};

    while ((item = raw_list_next(k->f[F_DEPENDS_ON], item)).p != NULL) {
        const char *state = " (done)";

        if (raw_list_has(k->deps_failed, item))
            state = " (failed or cancelled)";
        else if (raw_list_has(k->blocked_by, item))
            state = " (not done)";
        buf_printf(&b, "%s%.*s%s", b.len > 0 ? ", " : "",
                   STR_ARG(raw_inner(item)), state);
    }
    return buf_take(&b, a);
}

/* A field on one line; empty: there is nothing to say. */
static struct str
fact_text(struct sheet *s, struct arena *a, const struct task_fact *fact)
{
    const struct str *f = s->k->f;
    struct str raw = f[fact->field], text = raw_text(a, raw);
    struct str by = raw_text(a, f[F_CREATED_BY]);

    if (fact->field == F_DEPENDS_ON)
        return depends_text(s, a);
    if (fact->field == F_COMMIT)
        return arena_printf(a, "%.*s%s", STR_ARG(text),
                            str_is(f[F_DIRTY], "true") ? " and changes" : "");
    if (fact->field == F_CREATED_AT && text.len == 0)
        return by;
    if (fact->field == F_CREATED_AT) /* "12d ago (Nov 15 13:30) by anna" */
        return arena_printf(a, "%.*s%s%.*s", STR_ARG(when_text(s, a, text)),
                            by.len > 0 ? " by " : "", STR_ARG(by));
    if (fact->kind == KIND_WORDS || fact->kind == KIND_ITEMS)
        return human_joined(a, raw);
    if (fact->kind == KIND_TIME && text.len > 0)
        return human_time(s->t.c, a, text, true);
    return text.p != NULL ? text : raw;
}

static void
add_facts(struct sheet *s)
{
    const struct task_fact *fact;
    struct arena a = {0};

    add_heading(s, "Facts", "1");
    for (fact = task_facts; fact->label != NULL; fact++)
        if (fact->where & IN_SHEET && fact->kind < KIND_LIST)
            add_fact(s, fact->label, fact_text(s, &a, fact));
    add_fact(s, "Changed", arena_printf(&a, "%.*s, version %llu",
                                        STR_ARG(when_text(s, &a,
                                                          s->k->ev.r.time)),
                                        (unsigned long long)s->k->version));
    arena_fini(&a);
}

/* Adds a field below its label; the steps, which are in two, below theirs. */
static void
add_section(struct sheet *s, const struct task_fact *fact)
{
    struct str raw = s->k->f[fact->field], done = s->k->f[F_COMPLETED_STEPS];

    if (fact->field == F_TEST_RESULTS) {
        add_tests(s);
    } else if (fact->field == F_ARTIFACTS) {
        add_artifacts(s);
    } else if (fact->kind == KIND_PROSE) {
        add_prose(s, fact->label, raw);
    } else if (fact->kind == KIND_TO_DO && raw_list_n(done) +
                                               raw_list_n(raw) > 0) {
        add_heading(s, "Steps", "1");
        add_items(s, "[x] ", done, "2");
        add_items(s, "[ ] ", raw, NULL);
    } else if (fact->kind == KIND_LIST && raw_list_n(raw) > 0) {
        add_heading(s, fact->label, "1");
        add_items(s, "- ", raw, NULL);
    }
}

void
sheet_end(struct sheet *s)
{
    const struct task_fact *fact;

    if (s->n_parts > 0) {
        char text[64];

        text_put(text, sizeof text, "%llu of %llu done",
                 (unsigned long long)s->parts_done,
                 (unsigned long long)s->n_parts);
        table_line(&s->t, 2, (struct table_cell){str_of(text), "2"});
    }
    add_prose(s, "Result", s->k->f[F_RESULT]);
    add_messages(s);
    for (fact = task_facts; fact->label != NULL; fact++)
        if (fact->where & IN_SHEET && fact->kind >= KIND_LIST)
            add_section(s, fact);
    add_answered(s);
    add_carried(s);
    add_facts(s);
    table_end(&s->t);
}
