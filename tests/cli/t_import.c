/* Tasks of other programs while memory runs out: they are read whole, or not
   at all; and how much of it they take. */

#include "cli/backlog.h"
#include "cli/foreign.h"
#include "json.h"
#include "tests/lib/memory.h"
#include "tests/lib/test.h"

#define LONG "a line that goes on \\u0041\\n "
#define LONGER LONG LONG LONG LONG LONG LONG LONG LONG
#define LONGEST LONGER LONGER LONGER LONGER LONGER LONGER LONGER LONGER

static const char beads[] =
    "{\"id\":\"bd\\u002d1\",\"title\":\"" LONGER "\",\"priority\":1,"
    "\"description\":\"" LONGEST "\",\"assignee\":\"\\u0061nn\","
    "\"acceptance_criteria\":\"- [x] " LONGER "\\n- two\",\"status\":\"odd\","
    "\"dependencies\":[{\"depends_on_id\":\"bd\\u002d2\",\"type\":\"blocks\"},"
    "{\"depends_on_id\":\"bd\\u002d3\",\"type\":\"parent-child\"}]}";
static const char warrior[] =
    "{\"uuid\":\"u1\",\"description\":\"" LONGER "\",\"depends\":[\"\\u0075\"],"
    "\"entry\":\"20260728T093000Z\",\"annotations\":[{\"description\":\""
    LONGEST "\"},{\"description\":\"" LONGEST "\"}]}";
static const char master[] =
    "{\"id\":1,\"title\":\"" LONGER "\",\"subtasks\":[{\"id\":\"\\u0031\","
    "\"title\":\"t\",\"status\":\"review\",\"dependencies\":[2,\"1.1\"]},"
    "{\"id\":2,\"title\":\"t\"}]}";
static const char backlog[] =
    "---\nid: task-1\ntitle: 'it''s " LONGEST "'\nlabels: [\"a\\u0041\", b]\n"
    "notes: >\n  one " LONGEST "\n  two\nquoted: \"a\\x41 " LONGEST "\n  b\"\n"
    "created_date: 2026-05-01\n---\n"
    "## Description\n\n" LONGEST "\n" LONGEST "\n"
    "## Acceptance Criteria\n- [x] #1 " LONGER "\n- [ ] #2 two\n"
    "## Final Summary\n" LONGEST "\n";

/* Reads it as import does. p NULL: out of memory. */
static struct str
read_task(struct arena *a, const char *text, bool md, uint32_t sub)
{
    static const char *const none[] = {NULL};
    const struct foreign f = {.statuses = none, .priorities = none};
    const struct json_tok *task;
    struct foreign_task ft;
    struct str s = str_of(text);
    int rc = md ? cli_backlog(a, s, &s) : 0;

    if (rc == 0)
        rc = json_parse(a, s, &task, NULL);
    if (rc == 0)
        rc = foreign_take(a, &f, md ? FOREIGN_BACKLOG : FOREIGN_ANY, "", task,
                          sub, &ft);
    CHECK(rc == 0 || rc == ERR_NOMEM);
    return rc == 0 ? json_raw(ft.task) : STR_NONE;
}

static void
test_no_memory(const char *text, bool md, uint32_t sub)
{
    struct arena whole = {0};
    struct str want = read_task(&whole, text, md, sub), got;
    bool hit = true;

    CHECK(want.p != NULL);
    for (int once = 0; once < 2; once++)
        for (long after = 0; hit || after == 0; after++) {
            struct arena a = {0};

            nomem_start(after, once);
            got = read_task(&a, text, md, sub);
            hit = nomem_stop();
            CHECK(got.p == NULL ? hit : str_eq(got, want));
            arena_fini(&a);
        }
    arena_fini(&whole);
}

/* A task waits for many, and each of them may be one beside it: looking for
   them all takes no memory for each look. */
static void
test_many_beside(void)
{
    static const char *const none[] = {NULL};
    const struct foreign f = {.statuses = none, .priorities = none};
    const struct json_tok *task;
    struct foreign_task ft;
    struct arena a = {0};
    struct buf b = {0};
    size_t before;

    buf_z(&b, "{\"id\":1,\"title\":\"t\",\"subtasks\":[{\"dependencies\":[");
    for (int i = 0; i < 300; i++)
        buf_printf(&b, "%s%d", i > 0 ? "," : "", 1000 + i);
    buf_z(&b, "]}");
    for (int i = 0; i < 300; i++)
        buf_printf(&b, ",{\"id\":\"\\u0031%03d\"}", i);
    buf_z(&b, "]}");
    CHECK(json_parse(&a, buf_view(&b), &task, NULL) == 0);
    before = arena_size(&a);
    CHECK(foreign_take(&a, &f, FOREIGN_ANY, "", task, 1, &ft) == 0);
    CHECK(str_find(json_raw(ft.task), STR("\"master-1.1000\"")) != SIZE_MAX);
    CHECK(str_find(json_raw(ft.task), STR("\"master-1.1299\"")) != SIZE_MAX);
    CHECK(arena_size(&a) - before < (size_t)256 * 1024);
    buf_fini(&b);
    arena_fini(&a);
}

int
main(void)
{
    test_no_memory(beads, false, 0);
    test_no_memory(warrior, false, 0);
    test_no_memory(master, false, 1);
    test_no_memory(backlog, true, 0);
    test_many_beside();
    return test_end("import");
}
