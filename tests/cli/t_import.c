/* Tasks of other programs while memory runs out: they are read whole, or not
   at all. */

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

int
main(void)
{
    test_no_memory(beads, false, 0);
    test_no_memory(warrior, false, 0);
    test_no_memory(master, false, 1);
    test_no_memory(backlog, true, 0);
    return test_end("import");
}
