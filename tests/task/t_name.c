/* t_name - what callers are called, and whom a name reaches. */

#include "task/name.h"
#include "tests/lib/test.h"

static struct arena a;

static void
test_products(void)
{
    static const struct {
        const char *client, *product;
        bool says;
    } cases[] = {
        {"claude-code", "claude-code", true},
        {"Claude Code", "claude-code", true},
        {"codex-mcp-client", "codex-mcp-client", true},
        {"Cursor (v1.2)", "cursor--v1-2-", true},
        {"mcp", "mcp", false},
        {"MCP Client", "mcp-client", false},
        {"example-client", "example-client", false},
        {"test", "test", false},
        {"\xe4\xbd\xa0", "---", false},
        {"", "", false},
    };
    char long_name[200];

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct str p = name_product(&a, str_of(cases[i].client));

        CHECK(str_is(p, cases[i].product));
        CHECK(name_says_product(p) == cases[i].says);
    }
    memset(long_name, 'x', sizeof long_name);
    CHECK(!name_says_product((struct str){long_name, sizeof long_name}));
}

static void
test_default_names(void)
{
    struct str hex = STR("01c709ed");

    CHECK(str_is(name_default(&a, STR("codex-mcp-client"), hex),
                 "codex-mcp-client-01c709ed"));
    CHECK(str_is(name_default(&a, STR("mcp"), hex), "agent-01c709ed"));
    CHECK(str_is(name_default(&a, STR(""), hex), "agent-01c709ed"));
}

static void
test_words_that_cover_a_product(void)
{
    struct str code = STR("claude-code");

    CHECK(name_covers(STR("claude"), code));
    CHECK(name_covers(STR("claude-code"), code));
    CHECK(name_covers(STR("Claude Code"), code));
    CHECK(name_covers(STR("CLAUDE"), code));
    CHECK(!name_covers(STR("clau"), code));
    CHECK(!name_covers(STR("claude-"), code));
    CHECK(!name_covers(STR("claude-code-2"), code));
    CHECK(!name_covers(STR("code"), code));
    CHECK(!name_covers(STR(""), code));
    CHECK(!name_covers(STR("x"), STR("")));
}

static void
test_stems(void)
{
    CHECK(str_is(name_stem(STR("dev-01c709ed")), "dev"));
    CHECK(str_is(name_stem(STR("dev-ops-01c709ed")), "dev-ops"));
    CHECK(name_stem(STR("dev-01C709ED")).len == 0);
    CHECK(name_stem(STR("dev-01c709e")).len == 0);
    CHECK(name_stem(STR("dev01c709ed")).len == 0);
    CHECK(name_stem(STR("-01c709ed")).len == 0);
    CHECK(name_stem(STR("dev")).len == 0);
}

static void
test_whom_a_name_reaches(void)
{
    static const struct {
        const char *word, *name, *product;
        bool reaches;
    } cases[] = {
        {"codex", "codex-mcp-client-01c709ed", "codex-mcp-client", true},
        {"Codex", "codex-mcp-client-01c709ed", "codex-mcp-client", true},
        {"codex-mcp-client", "codex-mcp-client-01c709ed", "", true},
        {"codex-mcp-client-01c709ed", "codex-mcp-client-01c709ed", "", true},
        {"codex-mcp-client-01c709ee", "codex-mcp-client-01c709ed",
         "codex-mcp-client", false},
        {"claude", "codex-mcp-client-01c709ed", "codex-mcp-client", false},
        {"dev", "dev", "", true},
        {"dev", "dev-01c709ed", "", true},
        {"dev", "dev-ops", "", false},          /* a name of its own */
        {"dev", "dev-ops-01c709ed", "", false}, /* given, not by default */
        {"dev", "Dev", "", false},              /* names keep their case */
        {"", "dev", "dev", false},
        {"agent", "agent-01c709ed", "", true},
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct name_agent agent = {str_of(cases[i].name),
                                   str_of(cases[i].product)};

        CHECK(name_reaches(str_of(cases[i].word), &agent) ==
              cases[i].reaches);
    }
}

int
main(void)
{
    test_products();
    test_default_names();
    test_words_that_cover_a_product();
    test_stems();
    test_whom_a_name_reaches();
    arena_fini(&a);
    return test_end("t_name");
}
