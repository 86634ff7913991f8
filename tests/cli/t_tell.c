/* t_tell - cli_tell: facts as JSON, or in a sentence. */

#include "cli/text.h"
#include "tests/lib/test.h"

/* Whether the facts num (a number), who and ok are told so. */
static bool
tells(bool json, const char *text, uint64_t n, const char *want)
{
    struct cli c = {.json = json};
    bool is;

    cli_tell(&c, text, "num=" U64 " who=%s ok=%d", n, "ann", 1);
    is = str_is(buf_view(&c.out), want);
    if (!is)
        fprintf(stderr, "told: %.*s\n", STR_ARG(buf_view(&c.out)));
    buf_fini(&c.out);
    return is;
}

static void
test_facts(void)
{
    CHECK(tells(false, "{num} task{s} of {who}", 1, "1 task of ann"));
    CHECK(tells(false, "{who}: {num} task{s}", 2, "ann: 2 tasks"));
    CHECK(tells(true, "", 2, "{\"num\":2,\"who\":\"ann\",\"ok\":true}\n"));
    CHECK(tells(false, "", 2, "") && tells(false, "plain", 2, "plain"));
}

/* What names no fact, or is not closed, stands as it is. */
static void
test_misspelt(void)
{
    CHECK(tells(false, "{whom} has {num}", 2, "{whom} has 2"));
    CHECK(tells(false, "{} {num}", 2, "{} 2"));
    CHECK(tells(false, "{num} {", 2, "2 {"));
    CHECK(tells(false, "{num} {who", 2, "2 {who"));
    CHECK(tells(false, "{num} }", 2, "2 }"));
}

int
main(void)
{
    test_facts();
    test_misspelt();
    return test_end("tell");
}
