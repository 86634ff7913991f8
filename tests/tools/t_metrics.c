/* t_metrics - figures of the tasks for monitoring: the same as the lists
   show, whatever the time, and within the limits of a list. */

#include "task/query.h"
#include "task/cause.h"
#include "tests/lib/catalogue.h"

#define GOAL 8000 /* bytes */

/* The value of mcptask_NAME, which must have HELP and TYPE; -1: it is not
   there. */
static long long
figure(struct fixture *f, const char *name)
{
    struct buf b = {0};
    char head[128], *at;
    long long value = -1;

    tasks_put_metrics(f->t, &b);
    buf_char(&b, '\0');
    snprintf(head, sizeof head, "\n# TYPE mcptask_%.*s gauge\n",
             (int)strcspn(name, "{"), name);
    CHECK(strstr(b.p, head) != NULL && strstr(b.p, "# HELP mcptask_") == b.p);
    snprintf(head, sizeof head, "\nmcptask_%s ", name);
    at = strstr(b.p, head);
    if (CHECK(at != NULL))
        value = atoll(at + strlen(head));
    buf_fini(&b);
    return value;
}

/* The same, of all live tasks, by the lists. */
static void
figures_are_those_of_the_lists(struct fixture *f)
{
    struct task_query q = {.limit = TASK_LIST_MAX};
    struct task_list list;
    long long stuck = 0, asking = 0, leases = 0;

    arena_reset(&f->a);
    CHECK(tasks_list(f->t, &f->a, &q, &list) == 0 && list.next.len == 0);
    for (size_t i = 0; i < list.n; i++) {
        stuck += task_column(&list.tasks[i]) == COLUMN_STUCK;
        asking += list.tasks[i].needs_input;
        leases += list.tasks[i].leased;
    }
    CHECK(figure(f, "tasks_stuck") == stuck);
    CHECK(figure(f, "tasks_asking") == asking);
    CHECK(figure(f, "leases") == leases);
    CHECK(figure(f, "tasks_unexamined") == 0);
}

TEST(figures_follow_the_time)
{
    struct fixture f;

    begin_with(&f, "abcdefghi");
    CHECK(figure(&f, "tasks{status=\"open\"}") == 9);
    CHECK(figure(&f, "tasks{status=\"done\"}") == 0);
    CHECK(figure(&f, "question_oldest_seconds") == 0);
    STEPS(&f, {"claim_task", "{'agent':'me','task_id':'a'}", 0, 0, 0},
          {"claim_task", "{'agent':'me','task_id':'b','lease_seconds':100}", 0,
           0, 0},
          {"update_task", "{'task_id':'c','agent':'me','status':'in_progress'}",
           0, 0, 0},
          {"update_task", "{'task_id':'d','depends_on':['a']}", 0, 0, 0},
          {"update_task", "{'task_id':'e','depends_on':['f']}", 0, 0, 0},
          {"update_task", "{'task_id':'f','status':'failed'}", 0, 0, 0},
          {"claim_task", "{'agent':'me','task_id':'g'}", 0, 0, 0},
          {"mark_exhausted", "{'task_id':'g','agent':'me'}", 0, 0, 0},
          {"claim_task", "{'agent':'me','task_id':'h'}", 0, 0, 0},
          {"handoff_task", "{'task_id':'h','from_agent':'me'}", 0, 0, 0},
          {"update_task", "{'task_id':'i','status':'done'}", 0, 0, 0},
          {"request_input", "{'task_id':'a','agent':'me','question':'q'}", 0,
           0, 0});
    figures_are_those_of_the_lists(&f);
    CHECK(figure(&f, "leases") == 3 && figure(&f, "tasks_asking") == 1);
    CHECK(figure(&f, "tasks{status=\"done\"}") == 1);
    clock_ahead_s = 60;
    call(&f, "request_input", "{'task_id':'b','agent':'me','question':'q'}");
    clock_ahead_s = 200; /* the answer to b's question does not make it young */
    figures_are_those_of_the_lists(&f);
    CHECK(figure(&f, "question_oldest_seconds") >= 200);
    call(&f, "update_task", "{'task_id':'a','answer':{'text':'t'}}");
    CHECK(figure(&f, "question_oldest_seconds") >= 140 &&
          figure(&f, "question_oldest_seconds") < 200);
    call(&f, "update_task", "{'task_id':'b','answer':{'text':'t'}}");
    CHECK(figure(&f, "question_oldest_seconds") == 0);
    figures_are_those_of_the_lists(&f);
    CHECK(figure(&f, "tasks_stuck") >= 3); /* b, e, g */
    clock_ahead_s = 2 * 86400;
    figures_are_those_of_the_lists(&f);
    CHECK(figure(&f, "leases") == 0 && figure(&f, "tasks_stuck") >= 5);
    clock_ahead_s = 0;
    fixture_fini(&f);
}

/* Records are read up to the limit of a list; other tasks are counted as left
   out. */
TEST(reads_are_bounded)
{
    int n = TASK_READ_MAX / GOAL + 20;
    char args[GOAL + 200], goal[GOAL + 1];
    struct fixture f;

    begin_with(&f, "a");
    memset(goal, 'g', GOAL);
    goal[GOAL] = '\0';
    for (int i = 0; i < n; i++) {
        snprintf(args, sizeof args, "{'title':'T','depends_on':['a'],"
                 "'goal':'%s'}", goal);
        call(&f, "create_task", args);
    }
    CHECK(figure(&f, "tasks{status=\"open\"}") == n + 1);
    CHECK(figure(&f, "tasks_unexamined") > 0 &&
          figure(&f, "tasks_unexamined") < 60);
    fixture_fini(&f);
}
