/* fields - the table of fields and arguments, and the schemas made from it.

   1. Limits that are this program's own choice (reason, notes, path ...) are
      small enough that any element of a list and any object, escaped twice,
      fits into one answer (tools/get.c); for questions task/change.c ensures
      that.
   2. A name may be in two rows if no tool takes both. */

#include "task/fields.h"
#include "base/clock.h"
#include "base/sha256.h"
#include "base/text.h"
#include "json.h"
#include "json/raw.h"
#include "task/rows.h"

#include <string.h>

#define BIT(tool) (1u << TOOL_##tool)
#define SAVES (BIT(CHECKPOINT) | BIT(HANDOFF) | BIT(EXHAUST))
#define CHANGES (SAVES | BIT(CREATE) | BIT(ATTACH) | BIT(UPDATE) | \
    BIT(CLAIM) | BIT(ASK))
#define WHOLE (BIT(CREATE) | BIT(UPDATE) | BIT(IMPORT))
#define STATE (SAVES | BIT(UPDATE) | BIT(IMPORT))
#define PROMPTS (BIT(RESUME) | BIT(BRIEF))
#define KiB 1024
#define MAX_AGENT 128
#define MAX_DEPS 64

#define NAME(n) .name = #n, .len = sizeof #n - 1
#define TEXT .type = T_TEXT
#define AGENT .type = T_TEXT, .flags = CHARS | ONE, .max = MAX_AGENT
#define INT(lo, hi) .type = T_INT, .min = (lo), .max = (hi)
#define DAY_S (24 * 60 * 60)
#define LEASE_SECONDS INT(5, DAY_S)
#define LIMIT(lo, hi) INT(lo, hi), .flags = CLAMP
#define CHOICE(of) .type = T_NAME, .sub = (of)
#define OBJECT(of, rows) .type = T_OBJECT, .sub = (of), \
    .n_sub = sizeof(rows) / sizeof *(rows)

static const char *const untils[] = {
    "change", "terminal", "answered", "handoff", "ready", "work", "question",
    /* any status, as in enum task_status */
    "open", "in_progress", "handoff_ready", "agent_exhausted", "done",
    "failed", "cancelled", NULL,
};
#define N_EVENTS 7 /* of those before the statuses */
static const char *const *const statuses = untils + N_EVENTS;
static const char *const sections[] = {"current", "history", "artifact",
                                       NULL};
static const char *const artifact_types[] = {"file", "diff", "log", NULL};
static const char *const encodings[] = {"utf8", "base64", NULL};
static const char *const kinds[] = {"question", "approval", "action", NULL};
static const char *const orders[TASK_N_ORDERS + 1] = {
    [ORDER_CHANGED] = "changed", [ORDER_WORK] = "work",
};
static const char *const actions[] = {"accept", "decline", "cancel", NULL};
const char *const *const row_choices[] = {
    [STATUSES] = untils + N_EVENTS, [SECTIONS] = sections,
    [ARTIFACT_TYPES] = artifact_types, [ENCODINGS] = encodings,
    [KINDS] = kinds, [ACTIONS] = actions, [UNTILS] = untils,
    [ORDERS] = orders,
};

enum {
    TEST, HANDOFF, EXHAUSTED, CHECKPOINT, ARTIFACT, LEASE, ANSWER, ASKED,
    STOP, MESSAGE, TAKEOVER, LEFT
};

static const struct row test_rows[] = {
    {NAME(command), TEXT, .max = KiB, .needs = 1},
    {NAME(exit_code), .type = T_INT, .flags = INT32},
    {NAME(passed), .type = T_COUNT},
    {NAME(failed), .type = T_COUNT},
    {NAME(summary), TEXT, .max = KiB},
};
#define WORKTREE NAME(worktree), TEXT, .max = 4 * KiB
static const struct row handoff_rows[] = {
    {NAME(from_agent), AGENT, .needs = 1},
    {NAME(to_agent), AGENT},
    {NAME(reason), TEXT, .max = 2 * KiB},
    {NAME(at), .type = T_TIME},
    {NAME(expires_at), .type = T_TIME},
    {WORKTREE},
};
static const struct row takeover_rows[] = {
    {NAME(from_agent), AGENT, .needs = 1},
    {NAME(agent), AGENT},
    {NAME(reason), TEXT, .max = 2 * KiB},
    {NAME(at), .type = T_TIME},
};
static const struct row exhausted_rows[] = {
    {NAME(agent), AGENT, .needs = 1},
    {NAME(reason), TEXT, .max = 2 * KiB},
    {NAME(at), .type = T_TIME},
    {WORKTREE},
};
static const struct row checkpoint_rows[] = {
    {NAME(seq), INT(0, 0)},
    {NAME(agent), AGENT, .needs = 1},
    {NAME(at), .type = T_TIME},
    {WORKTREE},
};
static const struct row artifact_rows[] = {
    {NAME(artifact_id), .type = T_ID, .needs = 1},
    {NAME(name), TEXT, .flags = CHARS | ONE, .max = 256, .needs = 1},
    {NAME(type), CHOICE(ARTIFACT_TYPES)},
    {NAME(size), INT(0, 0)},
    {NAME(sha256), TEXT, .flags = ONE, .max = SHA256_HEX},
    {NAME(path), TEXT, .max = 2 * KiB},
    {NAME(description), TEXT, .max = 512},
    {NAME(agent), AGENT},
    {NAME(at), .type = T_TIME},
};
static const struct row left_rows[] = {
    {NAME(at), .type = T_TIME},
    {NAME(reason), TEXT, .max = 2 * KiB},
};
#define SESSION NAME(session), TEXT, .flags = ONE, .max = 64
#define CLIENT NAME(client), TEXT, .max = MAX_AGENT
static const struct row lease_rows[] = {
    {NAME(agent), AGENT, .needs = 1},
    {NAME(expires_at), .type = T_TIME, .needs = 1},
    {NAME(seconds), LEASE_SECONDS},
    {NAME(left), OBJECT(LEFT, left_rows)},
    {SESSION}, {CLIENT},
    {NAME(first), .type = T_BOOL},
    {NAME(many), .type = T_BOOL},
};
#define QUESTION NAME(question), TEXT, .flags = ONE, .max = 4 * KiB
#define OPTIONS NAME(options), TEXT, .flags = CHARS | ONE, .items = 10, \
    .max = 256
static const struct row answer_rows[] = {
    {NAME(text), TEXT, .flags = CHARS, .max = 4 * KiB},
    {NAME(action), CHOICE(ACTIONS)},
    {NAME(question_id), .type = T_ID}, /* the last for update_task */
    {NAME(by), TEXT, .flags = CHARS | ONE,
     .max = MAX_AGENT + 8}, /* with "user of " */
    {NAME(at), .type = T_TIME},
};
static const struct row question_rows[] = {
    {NAME(question_id), .type = T_ID, .needs = 1},
    {QUESTION, .needs = 1},
    {OPTIONS},
    {NAME(kind), CHOICE(KINDS)},
    {NAME(to), AGENT},
    {NAME(by), AGENT},
    {NAME(at), .type = T_TIME},
    {SESSION}, {CLIENT}, {NAME(own), .type = T_BOOL},
    {NAME(answer), OBJECT(ANSWER, answer_rows)},
};

static const struct row stop_rows[] = {
    {NAME(by), AGENT},
    {NAME(reason), TEXT, .max = 2 * KiB},
    {NAME(at), .type = T_TIME},
};
#define MESSAGE_TEXT TEXT, .flags = ONE, .max = KiB
static const struct row message_rows[] = {
    {NAME(from), AGENT, .needs = 1},
    {NAME(at), .type = T_TIME},
    {NAME(text), MESSAGE_TEXT, .needs = 1},
    {NAME(seen), INT(0, 0)}, /* must be the last: see view_messages_json */
};

const struct row *const row_objects[] = {
    [TEST] = test_rows, [HANDOFF] = handoff_rows,
    [EXHAUSTED] = exhausted_rows, [CHECKPOINT] = checkpoint_rows,
    [ARTIFACT] = artifact_rows, [LEASE] = lease_rows,
    [ANSWER] = answer_rows, [ASKED] = question_rows,
    [STOP] = stop_rows, [MESSAGE] = message_rows,
    [TAKEOVER] = takeover_rows, [LEFT] = left_rows,
};

const struct row task_rows[TASK_N_ARGS] = {
    [F_TASK_ID] = {NAME(task_id), .type = T_ID, .flags = FIXED,
                   .tools = CHANGES | BIT(GET) | BIT(WAIT) | BIT(IMPORT) |
                            PROMPTS,
                   .needs = (CHANGES | BIT(GET) | BIT(IMPORT) |
                             BIT(BRIEF)) & ~(BIT(CREATE) | BIT(CLAIM))},
    [F_STATUS] = {NAME(status), CHOICE(STATUSES), .flags = FIXED,
                  .shown = IN_SUMMARY, .tools = WHOLE},
    [F_CURRENT_OWNER] = {NAME(current_owner), AGENT, .shown = IN_SUMMARY,
                         .tools = WHOLE | BIT(LIST)},
    [F_PRIORITY] = {NAME(priority), INT(0, 4), .flags = FIXED,
                    .shown = IN_SUMMARY, .tools = WHOLE},
    [F_REPO_PATH] = {NAME(repo_path), TEXT, .flags = ONE, .max = 4 * KiB,
                     .shown = IN_SUMMARY,
                     .tools = WHOLE | BIT(LIST) | BIT(CLAIM) | BIT(WAIT) |
                              BIT(RESUME) | BIT(STANDUP)},
    [F_PARENT_ID] = {NAME(parent_id), .type = T_ID, .shown = IN_SUMMARY,
                     .tools = WHOLE | BIT(LIST)},
    [F_TAGS] = {NAME(tags), TEXT, .flags = CHARS | ONE | SET, .items = 16,
                .max = 64, .shown = IN_SUMMARY, .tools = WHOLE},
    [F_DEPENDS_ON] = {NAME(depends_on), .type = T_ID, .flags = SET,
                      .items = MAX_DEPS, .tools = WHOLE},
    [F_VERSION] = {NAME(version), INT(1, 0),
                   .tools = BIT(IMPORT) | BIT(GET)},
    [F_CREATED_AT] = {NAME(created_at), .type = T_TIME,
                      .tools = BIT(IMPORT)},
    [F_LEASE] = {NAME(lease), OBJECT(LEASE, lease_rows),
                 .shown = IN_SUMMARY, .tools = BIT(IMPORT)},
    [F_QUESTIONS] = {NAME(questions), OBJECT(ASKED, question_rows),
                     .items = TASK_MAX_QUESTIONS, .tools = BIT(IMPORT)},
    [F_TITLE] = {NAME(title), TEXT, .flags = CHARS | ONE | FIXED,
                 .max = 256, .tools = WHOLE, .needs = BIT(IMPORT)},
    [F_GOAL] = {NAME(goal), TEXT, .max = 8 * KiB, .tools = WHOLE},
    [F_CANCEL_REQUESTED] = {NAME(cancel_requested), OBJECT(STOP, stop_rows),
                            .tools = BIT(UPDATE) | BIT(IMPORT)},
    [F_MESSAGES] = {NAME(messages), OBJECT(MESSAGE, message_rows),
                    .items = TASK_MAX_MESSAGES, .tools = BIT(IMPORT)},
    [F_HANDOFF] = {NAME(handoff), OBJECT(HANDOFF, handoff_rows),
                   .tools = BIT(IMPORT)},
    [F_NOT_BEFORE] = {NAME(not_before), .type = T_TIME, .flags = ONE,
                      .shown = IN_SUMMARY,
                      .tools = WHOLE | BIT(HANDOFF) | BIT(EXHAUST)},
    [F_PATHS] = {NAME(paths), TEXT, .flags = ONE | SET | RELATIVE, .items = 32,
                 .max = 256, .tools = WHOLE},
    [F_TAKEOVER] = {NAME(takeover), OBJECT(TAKEOVER, takeover_rows),
                    .shown = IN_SUMMARY, .tools = BIT(IMPORT)},
    [F_EXHAUSTED] = {NAME(exhausted), OBJECT(EXHAUSTED, exhausted_rows),
                     .tools = BIT(IMPORT)},
    [F_CHECKPOINT] = {NAME(checkpoint), OBJECT(CHECKPOINT, checkpoint_rows),
                      .tools = BIT(IMPORT)},
    [F_RESUME_PROMPT] = {NAME(resume_prompt), TEXT, .max = 16 * KiB,
                         .tools = STATE},
    [F_REMAINING_STEPS] = {NAME(remaining_steps), TEXT, .items = 200,
                           .max = KiB, .tools = STATE},
    [F_COMPLETED_STEPS] = {NAME(completed_steps), TEXT, .items = 200,
                           .max = KiB, .tools = STATE},
    [F_ACCEPTANCE] = {NAME(acceptance), TEXT, .flags = CHARS, .items = 32,
                      .max = 512, .tools = WHOLE},
    [F_DECISIONS] = {NAME(decisions), TEXT, .items = 64, .max = KiB,
                     .tools = STATE},
    [F_FAILED_APPROACHES] = {NAME(failed_approaches), TEXT, .items = 64,
                             .max = KiB, .tools = STATE},
    [F_BRANCH] = {NAME(branch), TEXT, .max = 256, .tools = STATE},
    [F_COMMIT] = {NAME(commit), TEXT, .max = 128, .tools = STATE},
    [F_DIRTY] = {NAME(dirty), .type = T_BOOL, .tools = STATE},
    [F_RESULT] = {NAME(result), TEXT, .max = 16 * KiB,
                  .tools = BIT(UPDATE) | BIT(IMPORT)},
    [F_TEST_RESULTS] = {NAME(test_results), OBJECT(TEST, test_rows),
                        .items = TASK_MAX_RESULTS, .tools = STATE},
    [F_TESTED_COMMIT] = {NAME(tested_commit), TEXT, .max = 128,
                         .tools = BIT(IMPORT)},
    [F_ARTIFACTS] = {NAME(artifacts), OBJECT(ARTIFACT, artifact_rows),
                     .items = TASK_MAX_ARTIFACTS, .tools = BIT(IMPORT)},
    [F_CREATED_BY] = {NAME(created_by), AGENT, .tools = BIT(IMPORT)},
    [F_ATTEMPTS] = {NAME(attempts), INT(1, 0), .tools = BIT(IMPORT)},

    [ARG_AGENT] = {NAME(agent), AGENT,
                   .tools = CHANGES | BIT(WAIT) | BIT(RESUME)},
    [ARG_FROM_AGENT] = {NAME(from_agent), AGENT, .tools = BIT(HANDOFF)},
    [ARG_TO_AGENT] = {NAME(to_agent), AGENT,
                      .tools = BIT(HANDOFF) | BIT(BRIEF)},
    [ARG_REASON] = {NAME(reason), TEXT, .flags = ONE, .max = 2 * KiB,
                    .tools = BIT(HANDOFF) | BIT(EXHAUST) | BIT(UPDATE) |
                            BIT(CLAIM)},
    [ARG_NOTES] = {NAME(notes), TEXT, .flags = ONE, .max = 4 * KiB,
                   .tools = SAVES},
    [ARG_EXPECTED_VERSION] = {NAME(expected_version), INT(1, 0),
                              .tools = CHANGES & ~BIT(CREATE)},
    [ARG_IDEMPOTENCY_KEY] = {NAME(idempotency_key), TEXT,
                             .flags = CHARS | ONE, .max = 128,
                             .tools = CHANGES},
    [ARG_SECTION] = {NAME(section), CHOICE(SECTIONS),
                     .tools = BIT(GET)},
    [ARG_ARTIFACT_ID] = {NAME(artifact_id), .type = T_ID,
                         .tools = BIT(GET)},
    [ARG_OFFSET] = {NAME(offset), .type = T_INT, .flags = INT32,
                    .tools = BIT(GET)},
    [ARG_MATCH] = {NAME(match), TEXT, .flags = CHARS | ONE, .max = 256,
                   .tools = BIT(GET)},
    [ARG_LINES] = {NAME(lines), LIMIT(0, 20), .tools = BIT(GET)},
    [ARG_SINCE_SEQ] = {NAME(since_seq), INT(0, 0),
                       .tools = BIT(GET) | BIT(WAIT)},
    [ARG_EVENTS] = {NAME(limit), LIMIT(1, 200), .tools = BIT(GET)},
    [ARG_CURSOR] = {NAME(cursor), TEXT, .flags = ONE, .max = 512,
                    .tools = BIT(GET) | BIT(LIST)},
    [ARG_TASKS] = {NAME(tasks), .type = T_TASKS, .items = TASK_MAX_NEW,
                   .tools = BIT(CREATE)},
    [ARG_NAME] = {NAME(name), TEXT, .flags = CHARS | ONE, .max = 256,
                  .tools = BIT(ATTACH), .needs = BIT(ATTACH)},
    [ARG_TYPE] = {NAME(type), CHOICE(ARTIFACT_TYPES),
                  .tools = BIT(ATTACH)},
    [ARG_CONTENT] = {NAME(content), .type = T_CONTENT,
                     .tools = BIT(ATTACH)},
    [ARG_ENCODING] = {NAME(encoding), CHOICE(ENCODINGS),
                      .tools = BIT(ATTACH)},
    [ARG_PATH] = {NAME(path), TEXT, .flags = ONE, .max = 2 * KiB,
                  .tools = BIT(ATTACH)},
    [ARG_DESCRIPTION] = {NAME(description), TEXT, .flags = ONE,
                         .max = 512, .tools = BIT(ATTACH)},
    [ARG_STATUSES] = {NAME(status), CHOICE(STATUSES), .flags = SET,
                      .items = TASK_N_STATUSES, .tools = BIT(LIST)},
    [ARG_TAG] = {NAME(tag), TEXT, .flags = CHARS | ONE, .max = 64,
                 .tools = BIT(LIST) | BIT(CLAIM)},
    [ARG_READY] = {NAME(ready), .type = T_BOOL, .tools = BIT(LIST)},
    [ARG_NEEDS_INPUT] = {NAME(needs_input), .type = T_BOOL,
                         .tools = BIT(LIST)},
    [ARG_STALE] = {NAME(stale), .type = T_BOOL, .tools = BIT(LIST)},
    [ARG_QUERY] = {NAME(query), TEXT, .flags = CHARS | ONE, .max = 256,
                   .tools = BIT(LIST)},
    [ARG_CHANGED_SINCE] = {NAME(changed_since), .type = T_WHEN,
                           .tools = BIT(LIST)},
    [ARG_INCLUDE_DONE] = {NAME(include_done), .type = T_BOOL,
                          .tools = BIT(LIST)},
    [ARG_ORDER] = {NAME(order), CHOICE(ORDERS), .tools = BIT(LIST)},
    [ARG_LIMIT] = {NAME(limit), LIMIT(1, 100), .tools = BIT(LIST)},
    [ARG_SINCE] = {NAME(since), .type = T_WHEN, .flags = ONE,
                   .tools = BIT(STANDUP)},
    [ARG_ANSWER] = {NAME(answer), .type = T_OBJECT, .sub = ANSWER, .n_sub = 3,
                    .tools = BIT(UPDATE)},
    [ARG_MESSAGE] = {NAME(message), MESSAGE_TEXT, .tools = BIT(UPDATE)},
    [ARG_EXPIRES_SECONDS] = {NAME(expires_seconds), LIMIT(60, 7 * DAY_S),
                             .tools = BIT(HANDOFF)},
    [ARG_TAKEOVER] = {NAME(takeover), .type = T_BOOL, .tools = BIT(CLAIM)},
    [ARG_LEFT] = {NAME(left), TEXT, .flags = ONE, .max = 2 * KiB,
                  .shown = UNSHOWN, .tools = BIT(UPDATE)},
    [ARG_LEASE_SECONDS] = {NAME(lease_seconds), LEASE_SECONDS, .flags = CLAMP,
                           .tools = BIT(CLAIM)},
    [ARG_QUESTION] = {QUESTION, .tools = BIT(ASK), .needs = BIT(ASK)},
    [ARG_OPTIONS] = {OPTIONS, .tools = BIT(ASK)},
    [ARG_KIND] = {NAME(kind), CHOICE(KINDS), .tools = BIT(ASK)},
    [ARG_TO] = {NAME(to), AGENT, .tools = BIT(ASK)},
    [ARG_CLEAR] = {NAME(clear), TEXT, .flags = SET, .items = TASK_N_FIELDS,
                   .max = 64, .tools = BIT(UPDATE)},
    [ARG_WAIT_SECONDS] = {NAME(wait_seconds), LIMIT(0, 50),
                          .tools = BIT(ASK) | BIT(CLAIM) | BIT(WAIT)},
    [ARG_UNTIL] = {NAME(until), CHOICE(UNTILS), .tools = BIT(WAIT)},
};

const struct task_fact task_facts[] = {
    {F_TITLE, KIND_LINE, IN_FORM, "Title"},
    {F_STATUS, KIND_LINE, IN_BRIEF, "Status"},
    {F_PRIORITY, KIND_LINE, IN_BRIEF | IN_FORM, "Priority"},
    {F_CURRENT_OWNER, KIND_LINE, IN_BRIEF | IN_FORM, "Owner"},
    {F_TAGS, KIND_WORDS, IN_SHEET | IN_FORM, "Tags"},
    {F_PARENT_ID, KIND_LINE, IN_SHEET | IN_FORM, "Part of"},
    {F_DEPENDS_ON, KIND_WORDS, IN_SHEET | IN_FORM, "Depends on"},
    {F_NOT_BEFORE, KIND_TIME, IN_BRIEF | IN_SHEET | IN_FORM, "Not before"},
    {F_REPO_PATH, KIND_LINE, IN_BRIEF | IN_SHEET | IN_FORM, "Repository"},
    {F_PATHS, KIND_ITEMS, IN_SHEET | IN_FORM, "Paths"},
    {F_BRANCH, KIND_LINE, IN_BRIEF | IN_SHEET, "Branch"},
    {F_COMMIT, KIND_LINE, IN_BRIEF | IN_SHEET, "Commit"},
    {F_DIRTY, KIND_LINE, IN_BRIEF, "Dirty"},
    {F_ATTEMPTS, KIND_LINE, IN_SHEET, "Attempts"},
    {F_CREATED_AT, KIND_TIME, IN_SHEET, "Created"},
    {F_CREATED_BY, KIND_LINE, IN_BRIEF, "Created by"},
    {F_GOAL, KIND_PROSE, IN_BRIEF | IN_SHEET | IN_FORM, "Goal"},
    {F_LEASE, KIND_OBJECT, IN_BRIEF, "Lease"},
    {F_CANCEL_REQUESTED, KIND_OBJECT, IN_BRIEF, "Asked to stop"},
    {F_MESSAGES, KIND_OBJECTS, IN_BRIEF, "Messages"},
    {F_QUESTIONS, KIND_OBJECTS, IN_BRIEF, "Questions"},
    {F_HANDOFF, KIND_OBJECT, IN_BRIEF, "Handed over"},
    {F_TAKEOVER, KIND_OBJECT, IN_BRIEF, "Taken over"},
    {F_EXHAUSTED, KIND_OBJECT, IN_BRIEF, "Exhausted"},
    {F_CHECKPOINT, KIND_OBJECT, IN_BRIEF, "Checkpoint"},
    {F_RESUME_PROMPT, KIND_PROSE, IN_BRIEF | IN_SHEET, "How to continue"},
    {F_REMAINING_STEPS, KIND_TO_DO, IN_BRIEF | IN_SHEET, "Remaining steps"},
    {F_COMPLETED_STEPS, KIND_DONE, IN_BRIEF, "Completed steps"},
    {F_ACCEPTANCE, KIND_LIST, IN_BRIEF | IN_SHEET | IN_FORM, "Acceptance"},
    {F_DECISIONS, KIND_LIST, IN_BRIEF | IN_SHEET, "Decisions"},
    {F_FAILED_APPROACHES, KIND_LIST, IN_BRIEF | IN_SHEET, "What did not work"},
    {F_RESULT, KIND_PROSE, IN_BRIEF, "Result"},
    {F_TEST_RESULTS, KIND_OBJECTS, IN_BRIEF | IN_SHEET, "Tests"},
    {F_ARTIFACTS, KIND_OBJECTS, IN_BRIEF | IN_SHEET, "Artifacts"},
    {.label = NULL},
};

const struct row_atom row_atoms[TASK_N_ATOMS] = {
    [ATOM_OWNER] = {F_CURRENT_OWNER, F_CURRENT_OWNER},
    [ATOM_REPO_PATH] = {F_REPO_PATH, F_REPO_PATH},
    [ATOM_PARENT_ID] = {F_PARENT_ID, F_PARENT_ID},
    [ATOM_TAGS] = {F_TAGS, ARG_TAG},
};

_Static_assert(sizeof untils / sizeof *untils == N_EVENTS + TASK_N_STATUSES + 1,
               "a name for each status");

/* ---- looking at the table ---- */

static struct str
name_str(const struct row *r)
{
    return (struct str){r->name, r->len};
}

void
row_check(void)
{
    for (int i = 0; i < TASK_N_ARGS; i++)
        ASSERT(task_rows[i].name); /* a row for each field and argument */
    for (int i = 0; i < TASK_N_ATOMS; i++)
        ASSERT(row_atoms[i].field > 0 && row_atoms[i].field < F_TITLE &&
               row_atoms[i].arg > 0); /* what lists filter by */
    for (int i = 0; i < TASK_N_ORDERS; i++)
        ASSERT(orders[i]); /* a name for each order */
}

int
row_choice(int choices, struct str raw)
{
    const char *const *all = row_choices[choices];

    for (int i = 0; all[i]; i++)
        if (str_is(raw_inner(raw), all[i]))
            return i;
    return -1;
}

const struct row *
row_named(const struct row *r, size_t n, unsigned tools, struct str name)
{
    for (size_t i = 0; i < n; i++)
        if ((!tools || r[i].tools & tools) &&
            str_eq(name_str(&r[i]), name))
            return &r[i];
    return NULL;
}

const char *
task_status_name(enum task_status s)
{
    return statuses[s];
}

int
task_status_of(struct str name)
{
    for (int s = 0; s < TASK_N_STATUSES; s++)
        if (str_is(name, statuses[s]))
            return s;
    return -1;
}

bool
task_status_ended(enum task_status s)
{
    return s >= TASK_DONE && s < TASK_N_STATUSES;
}

bool
task_raw_ended(struct str status)
{
    int s = task_status_of(raw_inner(status));

    return s >= 0 && task_status_ended((enum task_status)s);
}

struct str
task_arg_name(int arg)
{
    return name_str(&task_rows[arg]);
}

const char *const *
task_arg_choices(int arg)
{
    const struct row *r = &task_rows[arg];

    return r->type == T_NAME ? row_choices[r->sub] : NULL;
}

int
task_field_of(struct str name)
{
    const struct row *r = row_named(task_rows, TASK_N_FIELDS, 0, name);

    return r ? (int)(r - task_rows) : -1;
}

/* Whether a value begins as one of this type does. */
static bool
begins_as(int type, struct str raw)
{
    if (type == T_OBJECT)
        return *raw.p == '{';
    if (type == T_BOOL)
        return *raw.p == 't' || *raw.p == 'f';
    if (type == T_INT)
        return *raw.p == '-' || (*raw.p >= '0' && *raw.p <= '9');
    return *raw.p == '"';
}

bool
task_value_fits(int field, struct str raw)
{
    const struct row *r = &task_rows[field];
    struct str item = STR_NONE;

    if (str_is(raw, "null"))
        return true;
    if (r->items == 0)
        return begins_as(r->type, raw);
    while (r->type == T_OBJECT && (item = raw_list_next(raw, item)).p)
        if (!begins_as(T_OBJECT, item))
            return false;
    return *raw.p == '[';
}

/* ---- the schemas that clients see ---- */

/* What a name alone does not say, in the tool that agents read first. */
#define MEANINGS(X) \
    X(CREATE, F_PRIORITY, "0 most urgent, default 2") \
    X(CREATE, ARG_TASKS, "up to 50 tasks instead; \"#0\" is the first") \
    X(CREATE, ARG_AGENT, "your own name") \
    X(CREATE, ARG_IDEMPOTENCY_KEY, "for retries") \
    X(GET, ARG_OFFSET, "in an artifact; negative: from its end") \
    X(GET, ARG_MATCH, "only lines that contain this") \
    X(GET, F_VERSION, "a past state") \
    X(LIST, ARG_ORDER, "work: in claim_task's order") \
    X(UPDATE, ARG_CLEAR, "fields to empty") \
    X(CLAIM, F_REPO_PATH, "default: your project; \"*\": any") \
    X(CLAIM, ARG_LEASE_SECONDS, "default 900") \
    X(WAIT, ARG_UNTIL, "default change; or a status") \
    X(WAIT, ARG_SINCE_SEQ, "only events after this one")

static void put_properties(struct json_w *w, const struct row *r, size_t n,
                           unsigned tools);

/* A member and the schema of its values. */
static void
put_property(struct json_w *w, const struct row *r, unsigned tools)
{
#define ROW(tool, arg, text) {TOOL_##tool, arg},
#define MEANING(tool, arg, text) text "\0"
    static const struct {
        uint8_t tool, arg;
    } rows[] = {MEANINGS(ROW)};
    static const char meanings[] = MEANINGS(MEANING);
    static const char *const types[] = {
        [T_INT] = "integer", [T_COUNT] = "integer", [T_BOOL] = "boolean",
        [T_OBJECT] = "object", [T_TASKS] = "object",
    };
    const char *text = meanings;

    json_key(w, r->name);
    if (r->items) {
        json_obj(w);
        json_put_z(w, "type", "array");
        json_key(w, "items");
    }
    json_obj(w);
    json_put_z(w, "type", types[r->type] ? types[r->type] : "string");
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        if (tools == 1u << rows[i].tool && r == &task_rows[rows[i].arg])
            json_put_z(w, "description", text);
        text += strlen(text) + 1;
    }
    if (r->type == T_OBJECT)
        put_properties(w, row_objects[r->sub], r->n_sub, 1);
    if (r->type == T_TASKS)
        put_properties(w, task_rows, TASK_N_FIELDS, tools);
    if (r->type == T_INT && r->max) {
        json_put_int(w, "minimum", r->min);
        json_put_int(w, "maximum", r->max);
    }
    if (r->type == T_NAME) {
        json_put_arr(w, "enum");
        for (const char *const *name = row_choices[r->sub]; *name; name++)
            json_z(w, *name);
        json_close(w);
    }
    json_close(w);
    if (r->items)
        json_close(w);
}

/* The members of an object with the rows that one of tools takes, in the schema
   of the object. Converters to what models are given refuse objects without
   properties. The rows of an object's own members say only which are
   required. Hosts show, and models fill in, the first ones best: what is
   required, and the title, which create_task needs unless it has tasks. */
static void
put_properties(struct json_w *w, const struct row *r, size_t n, unsigned tools)
{
    bool own = r != task_rows, required = false;

    json_put_obj(w, "properties");
    for (int first = 1; first >= 0; first--)
        for (size_t i = 0; i < n; i++)
            if ((own || (r[i].tools & tools && r[i].shown != UNSHOWN)) &&
                (r[i].needs & tools || &r[i] == &task_rows[F_TITLE]) == first)
                put_property(w, &r[i], tools);
    json_close(w);
    for (size_t i = 0; i < n; i++) {
        if (!(r[i].needs & tools))
            continue;
        if (!required)
            json_put_arr(w, "required");
        required = true;
        json_z(w, r[i].name);
    }
    if (required)
        json_close(w);
    json_put_bool(w, "additionalProperties", false);
}

struct str
task_tool_schema(enum task_tool tool, struct arena *a)
{
    struct buf b = {0};
    struct json_w w;

    json_w_init(&w, &b);
    json_obj(&w);
    json_put_z(&w, "type", "object");
    put_properties(&w, task_rows, TASK_N_ARGS, 1u << tool);
    json_close(&w);
    json_w_end(&w);
    return buf_take(&b, a);
}
