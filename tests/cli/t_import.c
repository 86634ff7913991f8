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
    "\"dependencies\":[{\"depends_on_id\":\"bd\\u002d2\",\"type\":\"blocks\"},"
    "{\"depends_on_id\":\"bd\\u002d3\",\"type\":\"parent-child\"}]}";
static const char warrior[] =
    "{\"uuid\":\"u1\",\"description\":\"" LONGER "\",\"depends\":[\"\\u0075\"],"
    "\"entry\":\"20260728T093000Z\",\"annotations\":[{\"description\":\""
    LONGEST "\"},{\"description\":\"" LONGEST "\"}]}";
static const char backlog[] =
    "---\nid: task-1\ntitle: 'it''s " LONGEST "'\nlabels: [\"a\\u0041\", b]\n"
    "notes: >\n  one " LONGEST "\n  two\ncreated_date: 2026-05-01\n---\n"
    "## Description\n\n" LONGEST "\n" LONGEST "\n"
    "## Acceptance Criteria\n- [x] #1 " LONGER "\n- [ ] #2 two\n"
    "## Final Summary\n" LONGEST "\n";

/* Reads it as import does. p NULL: out of memory. */
static struct str
read_task(struct arena *a, const char *text, bool md)
{
    const struct json_tok *task;
    const char *of;
    struct str s = str_of(text);
    int rc = md ? cli_backlog(a, s, &s) : 0;

    if (rc == 0)
        rc = json_parse(a, s, &task, NULL);
    if (rc == 0)
        rc = cli_foreign(a, md, &task, &of);
    CHECK(rc == 0 || rc == ERR_NOMEM);
    return rc == 0 ? json_raw(task) : STR_NONE;
}

static void
test_no_memory(const char *text, bool md)
{
    struct arena whole = {0};
    struct str want = read_task(&whole, text, md), got;
    bool hit = true;

    CHECK(want.p != NULL);
    for (int once = 0; once < 2; once++)
        for (long after = 0; hit || after == 0; after++) {
            struct arena a = {0};

            nomem_start(after, once);
            got = read_task(&a, text, md);
            hit = nomem_stop();
            CHECK(got.p == NULL ? hit : str_eq(got, want));
            arena_fini(&a);
        }
    arena_fini(&whole);
}

int
main(void)
{
    test_no_memory(beads, false);
    test_no_memory(warrior, false);
    test_no_memory(backlog, true);
    return test_end("import");
}
