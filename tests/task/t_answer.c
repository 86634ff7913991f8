/* t_answer - who may answer a question: the table of docs/security.md, a row
   for each cell and each way to be in it, and what a refusal says. */

#include "base/base.h"
#include "task/may.h"
#include "tests/lib/test.h"

#define HERE STR("1.1")  /* the session that asked */
#define THERE STR("2.2") /* another one */
#define CLAUDE STR("claude-code")

static bool
is_same(struct str a, struct str b)
{
    return str_eq(a, b);
}

static bool
has_token(const void *of, struct str agent)
{
    (void)of;
    return str_is(agent, "me") || str_is(agent, "codex") ||
           str_is(agent, "maria");
}

/* ---- the questions ---- */

#define SEAT "\"by\":\"me\",\"session\":\"1.1\",\"client\":\"claude-code\""
#define ASKED(more) STR("{\"question_id\":\"q1\"," SEAT more "}")
#define APPROVAL ",\"kind\":\"approval\""

enum { ANYONE, TO_CODEX, APPROVE, APPROVE_CODEX, N_QUESTIONS };
static const struct str questions[N_QUESTIONS] = {
    [ANYONE] = ASKED(",\"kind\":\"question\""),
    [TO_CODEX] = ASKED(",\"kind\":\"question\",\"to\":\"codex\""),
    [APPROVE] = ASKED(APPROVAL),
    [APPROVE_CODEX] = ASKED(APPROVAL ",\"to\":\"codex\""),
};

/* ---- the table ---- */

/* A letter for each answer, in the order of enum answer_may: yes, withdraw
   only, for another, for a person. */
static const char letters[] = "ywnp";

#define NAMED(n) .name = STR("\"" n "\"")
#define IN(at) .session = at, .is_same = is_same
#define TOKEN(agent) .principal = STR(agent), .has_token = has_token

static const struct {
    const char *who;
    struct task_actor is;
    const char *may; /* by question */
} rows[] = {
    /* Who asked. */
    {"its name, elsewhere", {NAMED("me"), IN(THERE)}, "wwww"},
    {"its session, under another name", {NAMED("codex"), IN(HERE)}, "wwww"},
    {"its session, without a name", {NAMED("unknown"), IN(HERE),
     .unnamed = true}, "wwww"},
    {"its client, without a name", {NAMED("claude-code-22222222"), IN(THERE),
     .client = CLAUDE, .unnamed = true}, "wwww"},
    {"its client, without a session", {NAMED("unknown"), .client = CLAUDE,
     .unnamed = true}, "wwww"},
    {"its shell", {NAMED("me")}, "wwww"},
    {"its token", {NAMED("me"), TOKEN("me"), IN(THERE)}, "wwww"},
    {"its token, a person's", {NAMED("me"), TOKEN("me"), .person = true},
     "wwww"},
    /* A person. */
    {"a person", {NAMED("maria"), .person = true}, "yyyy"},
    {"a person of its name", {NAMED("me"), .person = true}, "yyyy"},
    {"a person's token", {NAMED("maria"), TOKEN("maria"), .person = true},
     "yyyy"},
    /* Another agent. */
    {"another one", {NAMED("you"), IN(THERE)}, "ynpn"},
    {"another one of its client", {NAMED("you"), IN(THERE), .client = CLAUDE},
     "ynpn"},
    {"a nameless one", {NAMED("unknown"), .client = STR("cursor"),
     .unnamed = true}, "ynpn"},
    {"another one's token", {NAMED("maria"), TOKEN("maria")}, "ynpn"},
    {"codex", {NAMED("codex"), IN(THERE)}, "yypy"},
    {"a session of codex", {NAMED("codex-mcp-client-33333333"),
     .client = STR("codex-mcp-client"), .unnamed = true, IN(THERE)}, "yypy"},
    {"the token of codex", {NAMED("codex"), TOKEN("codex")}, "yypy"},
    {"the name of codex without its token", {NAMED("codex"), .of = "",
     .has_token = has_token}, "ynpn"},
};

TEST(who_may_answer)
{
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        for (int q = 0; q < N_QUESTIONS; q++) {
            char is = letters[answer_may(&rows[i].is, questions[q], false)];

            if (!CHECK(is == rows[i].may[q]))
                fprintf(stderr, "  %s, question %d: %c\n", rows[i].who, q, is);
        }
}

/* The user of the client that asked: of what is addressed, only what the task
   says is for that user. */
TEST(the_user_of_the_client)
{
    static const struct task_actor me = {NAMED("me"), IN(HERE)};
    static const char own[N_QUESTIONS + 1] = "ynyn";

    for (int q = 0; q < N_QUESTIONS; q++)
        CHECK(letters[answer_may(&me, questions[q], true)] == own[q]);
    CHECK(answer_may(&me, ASKED(",\"to\":\"maria\",\"own\":true"), true) ==
          ANSWER_YES);
    CHECK(answer_may(&me, ASKED(APPROVAL ",\"to\":\"maria\",\"own\":true"),
                     true) == ANSWER_YES);
    CHECK(answer_may(&me, ASKED(",\"to\":\"maria\",\"own\":true"), false) ==
          ANSWER_WITHDRAW);
}

/* Of a question of 0.3.0 only the name is known. */
TEST(questions_of_0_3_0)
{
#define OLD(by) STR("{\"question_id\":\"q1\",\"kind\":\"approval\",\"by\":" \
                    "\"" by "\"}")
    static const struct task_actor other = {
        NAMED("claude-code-22222222"), IN(THERE), .client = CLAUDE,
        .unnamed = true};

    CHECK(answer_may(&other, OLD("claude-code-11111111"), false) ==
          ANSWER_WITHDRAW);
    CHECK(answer_may(&other, OLD("cursor-11111111"), false) ==
          ANSWER_NOT_PERSON);
    CHECK(answer_may(&other, OLD("me"), false) == ANSWER_NOT_PERSON);
    CHECK(answer_may(&other, OLD("unknown"), false) == ANSWER_NOT_PERSON);
}

TEST(what_a_refusal_says)
{
    static const struct {
        enum answer_may why;
        const char *message, *next;
    } said[] = {
        {ANSWER_WITHDRAW, "you asked this question, so you cannot answer it",
         "call wait_for_task with until answered; to withdraw the question, "
         "pass action decline"},
        {ANSWER_NOT_ADDRESSED,
         "the question is addressed to another agent or to a person",
         "leave it to the name in its to, which get_task has; if that is your "
         "name, pass it as agent"},
        {ANSWER_NOT_PERSON, "this approval is for a person to decide",
         "leave it to a person, who answers on the page or with mcptask "
         "answer"},
    };
    struct arena a = {0};
    struct task_ctx c = {.a = &a};

    CHECK(answer_refuse(&c, ANSWER_YES) == 0 && c.e.code == 0);
    for (size_t i = 0; i < sizeof said / sizeof *said; i++) {
        CHECK(answer_refuse(&c, said[i].why) == ERR_NOT_YOURS);
        CHECK(str_is(c.e.message, said[i].message) &&
              str_is(c.e.next, said[i].next) && c.e.field.len == 0);
    }
    arena_fini(&a);
}
