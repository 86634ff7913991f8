/* t_table - tables: columns as wide as their texts, and on a terminal no row
   longer than it. */

#include "cli/human.h"
#include "cli/table.h"
#include "task/cause.h"
#include "tests/lib/test.h"

static const struct table_column cols[] = {
    {.head = "ID", .share = 30}, {.head = "", .tight = true},
    {.head = "OWNER", .share = 25, .may_go = true},
    {.head = "AGE", .right = true, .may_go = true},
    {.head = "TITLE", .rest = true},
};
static const char *const rows[][5] = {
    {"a-1", "?", "codex", "25m", "Replay of the incident of 2026-11-14"},
    {"b-23456", "", "a-rather-long-name", "3d", "Short"},
};

/* Whether the rows come out as want in that many columns. */
static bool
draws(size_t width, const char *want)
{
    struct cli c = {.color = false};
    struct table t;
    bool is;

    table_begin(&t, &c, cols, 5, width);
    for (size_t r = 0; r < 2; r++) {
        struct table_cell cells[5] = {{STR_NONE, NULL}};

        for (size_t i = 0; i < 5; i++)
            cells[i].s = str_of(rows[r][i]);
        table_row(&t, cells);
    }
    table_end(&t);
    is = str_is(buf_view(&c.out), want);
    if (!is)
        fprintf(stderr, "%zu columns:\n%.*s", width,
                STR_ARG(buf_view(&c.out)));
    buf_fini(&c.out);
    return is;
}

TEST(rows_fit_the_terminal)
{
    CHECK(draws(60,
        "ID         OWNER            AGE  TITLE\n"
        "a-1     ?  codex            25m  Replay of the incident of…\n"
        "b-23456    a-rather-long-…   3d  Short\n"));
    CHECK(draws(120,
        "ID         OWNER               AGE  TITLE\n"
        "a-1     ?  codex               25m  "
        "Replay of the incident of 2026-11-14\n"
        "b-23456    a-rather-long-name   3d  Short\n"));
}

/* Where there is little room, columns give way to the title. */
TEST(columns_give_way)
{
    CHECK(draws(40,
        "ID         OWNER       TITLE\n"
        "a-1     ?  codex       Replay of the in…\n"
        "b-23456    a-rather-…  Short\n"));
    CHECK(draws(20,
        "ID        TITLE\n"
        "a-1    ?  Replay of…\n"
        "b-234…    Short\n"));
}

/* Nothing is cut, and there are no heads, where the width is unknown. */
TEST(pipes_get_all)
{
    CHECK(draws(0,
        "a-1     ?  codex               25m  "
        "Replay of the incident of 2026-11-14\n"
        "b-23456    a-rather-long-name   3d  Short\n"));
}

TEST(wide_characters_are_cut_whole)
{
    struct arena a = {0};
    size_t used;
    struct str s = STR("任务任务");

    CHECK(str_is(table_cut(&a, s, 8, &used), "任务任务") && used == 8);
    CHECK(str_is(table_cut(&a, s, 7, &used), "任务任…") && used == 7);
    CHECK(str_is(table_cut(&a, s, 6, &used), "任务…") && used == 5);
    setenv("LC_ALL", "C", 1);
    CHECK(str_is(table_cut(&a, s, 7, &used), "任务...") && used == 7);
    setenv("LC_ALL", "de_DE.utf8", 1);
    CHECK(str_is(table_cut(&a, s, 1, &used), "…") && used == 1);
    arena_fini(&a);
}

/* A text is on its line, whatever is in it. */
TEST(texts_are_plain)
{
    struct cli c = {.color = true};
    struct table t;

    table_begin(&t, &c, cols, 5, 60);
    table_line(&t, 2, (struct table_cell){STR("a\nb\033[1m\xe2\x80\xae"),
                                          "1"});
    table_end(&t);
    CHECK(str_is(buf_view(&c.out), "  \033[1ma b [1m<U+202E>\033[0m\n"));
    buf_fini(&c.out);
}

/* The board has it in progress for a minute yet, but no agent works on it. */
TEST(an_agent_that_exited_does_not_work)
{
    struct task k = {.status = TASK_IN_PROGRESS, .leased = true};

    CHECK(human_sign_of(&k) == COLUMN_IN_PROGRESS);
    k.gone = true;
    CHECK(human_sign_of(&k) == COLUMN_STUCK);
}

int
main(void)
{
    setenv("LC_ALL", "C.UTF-8", 1);
    test_run();
    return test_end("table");
}
