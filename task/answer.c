/* answer - who may answer a question of a task. docs/security.md has the table,
   and tests/task/t_answer.c a row for each cell of it.

   1. The agent that asked does not answer: neither under that name, nor from
      that session under another one, nor without a name from that client. The
      user of the client may, and so may a person at a command line or, without
      tokens, at the page, whatever name they go by. */

#include "task/answer.h"
#include "task/name.h"

/* Whether the caller asked the question. Those of 0.3.0 have a name only. */
static bool
is_asker(const struct task_actor *who, struct str asked)
{
    struct str by = raw_member(asked, "by");
    struct str session = raw_inner(raw_member(asked, "session"));
    struct str client = raw_inner(raw_member(asked, "client"));

    if ((actor_is_named(who) && actor_is(who, by)) ||
        actor_is_session(who, session))
        return true;
    return who->unnamed && who->client.len > 0 &&
           name_is_product(client.p ? client : name_stem(raw_inner(by)),
                           who->client);
}

enum answer_may
answer_may(const struct task_actor *who, struct str asked, bool user)
{
    struct str to = raw_member(asked, "to");

    if (user)
        return !to.p || raw_member(asked, "own").p ? ANSWER_YES
                                                   : ANSWER_NOT_ADDRESSED;
    if ((!who->person || who->principal.len > 0) && is_asker(who, asked))
        return ANSWER_WITHDRAW;
    if (who->person)
        return ANSWER_YES;
    if (to.p)
        return actor_reached(who, to) ? ANSWER_YES : ANSWER_NOT_ADDRESSED;
    return str_is(raw_member(asked, "kind"), "\"approval\"")
               ? ANSWER_NOT_PERSON : ANSWER_YES;
}

int
answer_refuse(struct task_ctx *c, enum answer_may why)
{
    static const struct {
        const char *message, *next;
    } texts[] = {
        [ANSWER_WITHDRAW] = {
            "you asked this question, so you cannot answer it",
            "call wait_for_task with until answered; to withdraw the question, "
            "pass action decline"},
        [ANSWER_NOT_ADDRESSED] = {
            "the question is addressed to another agent or to a person",
            "leave it to the name in its to, which get_task has; if that is "
            "your name, pass it as agent"},
        [ANSWER_NOT_PERSON] = {
            "this approval is for a person to decide",
            "leave it to a person, who answers on the page or with mcptask "
            "answer"},
    };

    if (why == ANSWER_YES)
        return 0;
    task_fail(c, ERR_NOT_YOURS, NULL, "%s", texts[why].message);
    return task_next(c, texts[why].next);
}
