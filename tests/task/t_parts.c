/* Tasks that are parts of another one. */

#include "tests/lib/catalogue.h"

/* Whether id has as many parts, unfinished, done and failed ones. */
static bool
has_parts(const struct fixture *f, const char *id, unsigned total,
          unsigned unfinished, unsigned done, unsigned failed)
{
    struct task_parts p = tasks_parts(f->t, str_of(id));

    return p.total == total && p.unfinished == unfinished && p.done == done &&
           p.failed == failed;
}

/* Archives a task, as the command does. */
static void
archive(struct fixture *f, const char *id)
{
    struct store_rec r;
    bool unknown;
    char key[40];

    snprintf(key, sizeof key, "task/%s", id);
    CHECK(store_lock(f->s) == 0 &&
          store_read(f->s, store_find(f->s, str_of(key)), &f->a, &r) == 0 &&
          task_archive(f->t, &r) == 0 && store_commit(f->s, &unknown) == 0);
    store_unlock(f->s);
}

/* An epic e of four parts. */
static void
begin(struct fixture *f)
{
    fixture_init(f);
    STEPS(f, {"create_task", "{'tasks':[{'task_id':'e','title':'E'},"
              "{'task_id':'a','title':'A','parent_id':'e'},"
              "{'task_id':'b','title':'B','parent_id':'e'},"
              "{'task_id':'c','title':'C','parent_id':'e'},"
              "{'task_id':'d','title':'D','parent_id':'e'}]}", 0, 0, 0});
}

/* ---- how many there are ---- */

/* The numbers follow each change of a part, and are the same after a replay of
   the log, in which a part may come before what it is a part of. */
TEST(parts_are_counted)
{
    struct fixture f;

    begin(&f);
    CHECK(has_parts(&f, "e", 4, 4, 0, 0) && has_parts(&f, "a", 0, 0, 0, 0));
    STEPS(&f, {"update_task", "{'task_id':'a','status':'done'}", 0, 0, 0},
          {"update_task", "{'task_id':'b','status':'failed'}", 0, 0, 0},
          {"update_task", "{'task_id':'c','status':'cancelled'}", 0, 0, 0},
          {"update_task", "{'task_id':'e','goal':'last'}", 0, 0, 0});
    CHECK(has_parts(&f, "e", 4, 1, 1, 1));
    archive(&f, "a");
    archive(&f, "b");
    archive(&f, "c");
    CHECK(has_parts(&f, "e", 4, 1, 1, 1));
    while (store_compact(f.s) == ERR_PENDING)
        continue;
    CHECK(has_parts(&f, "e", 4, 1, 1, 1) && is_replay(&f));
    reopen(&f);
    CHECK(has_parts(&f, "e", 4, 1, 1, 1));
    STEPS(&f, {"create_task", "{'task_id':'n','title':'N'}", 0, 0, 0},
          {"update_task", "{'task_id':'d','parent_id':'n'}", 0, 0, 0});
    CHECK(has_parts(&f, "e", 3, 0, 1, 1) && has_parts(&f, "n", 1, 1, 0, 0));
    CHECK(strcmp(import(&f, "{'task_id':'a','title':'A','parent_id':'e'}"),
                 "") == 0 && has_parts(&f, "e", 3, 1, 0, 1));
    STEPS(&f, {"update_task", "{'task_id':'d','clear':['parent_id']}", 0, 0,
               0});
    CHECK(has_parts(&f, "n", 0, 0, 0, 0));
    fixture_fini(&f);
}

/* What an import adds before its parent is counted, too. */
TEST(parts_come_first)
{
    struct fixture f;

    fixture_init(&f);
    CHECK(strcmp(import(&f, "{'task_id':'p','title':'P','parent_id':'e'}"),
                 "") == 0);
    CHECK(strcmp(import(&f, "{'task_id':'e','title':'E'}"), "") == 0);
    CHECK(has_parts(&f, "e", 1, 1, 0, 0));
    /* No more than the parent's name: it also owns the task. */
    STEPS(&f, {"update_task", "{'task_id':'p','current_owner':'e',"
               "'tags':['e'],'status':'done'}", 0, 0, 0});
    CHECK(has_parts(&f, "e", 1, 0, 1, 0));
    fixture_fini(&f);
}
