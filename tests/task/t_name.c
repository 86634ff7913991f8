/* t_name - what callers are called, and whom a name reaches. */

#include "task/caller.h"
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
        {"Cursor (v1.2)", "cursor-v1-2", true},
        {"@n8n/n8n-nodes-langchain.mcpClientTool",
         "n8n-n8n-nodes-langchain-mcpclienttool", true},
        {"-x--Y-", "x-y", true},
        {"mcp", "mcp", false},
        {"MCP Client", "mcp-client", false},
        {"(mcp)", "mcp", false},
        {"example-client", "example-client", false},
        {"test", "test", false},
        {"\xe4\xbd\xa0", "", false},
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
    CHECK(name_covers(STR("claude-"), code));
    CHECK(!name_covers(STR("claude-code-2"), code));
    CHECK(!name_covers(STR("code"), code));
    CHECK(!name_covers(STR(""), code));
    CHECK(!name_covers(STR("x"), STR("")));
    /* The maker counts, and so does a segment that says nothing. */
    CHECK(!name_covers(STR("anthropic-claude"), code));
    CHECK(!name_covers(STR("codex-cli"), STR("codex-mcp-client")));
}

static void
test_names_of_one_product(void)
{
    CHECK(name_is_product(STR("claude-code"), STR("claude-code")));
    CHECK(name_is_product(STR("-n8n-n8n--x-"), STR("n8n-n8n-x")));
    CHECK(!name_is_product(STR("claude"), STR("claude-code")));
    CHECK(!name_is_product(STR("claude-code"), STR("claude")));
    CHECK(!name_is_product(STR("-"), STR("-x")));
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

/* ---- clients as they greet servers ---- */

/* What clients send as clientInfo.name, after the public list
   mcp-client-capabilities. For each, words that have to reach its sessions, and
   after the bar some that must not. */
static const struct {
    const char *client;
    int family; /* those of one reach each other; 0: of its own */
    const char *words;
} clients[] = {
    {"@librechat/api-client", 0, "librechat,LibreChat|chat,api,api-client"},
    {"@n8n/n8n-nodes-langchain.mcpClientTool", 0,
     "n8n,N8N,n8n.io,@n8n/n8n,n8n-mcp-client|langchain,nodes,n8"},
    {"Alpic", 0, "alpic,alpic-agent|alp"},
    {"amp-mcp-client", 0, "amp,ampcode,AmpCode,Amp CLI|amplify"},
    {"antigravity-client", 0, "antigravity,Google Antigravity|google,gravity"},
    {"apify-mcp-client", 0, "apify,Apify MCP Client|mcp-client"},
    {"arcade", 0, "Arcade|arc"},
    {"ChatGPT", 0, "chatgpt,openai-chatgpt,ChatGPT App|gpt,openai"},
    {"Cherry Studio", 0, "cherry,cherry-studio|studio"},
    {"claude-ai", 0, "claude,claude-ai,Claude.ai,claude-desktop,"
     "Claude Desktop|claude-code,ai,claudeai"},
    {"claude-code", 0, "claude,claude-code,Claude Code,CLAUDE,"
     "anthropic/claude-code,claude-cli,claude-code-cli|claude-ai,code,clau,"
     "claude-code-2,claude-codex,claude-desktop,anthropic,backend-claude,"
     "claude-code-01c709ee"},
    {"Cline", 0, "cline|clin,cli"},
    {"Codex", 1, "codex,codex-cli,codex-mcp-client|code,codex-2"},
    {"codex-mcp-client", 1, "codex,codex-cli,Codex CLI,openai-codex,"
     "OpenAI Codex,codex_cli,codex app|backend-codex,openai,mcp,client,"
     "codex-backend,cod,codex2,codex-01c709ee,codex-mcp-client-01c709ee"},
    {"com.raycast.macos", 0, "raycast,com.raycast,Raycast App|macos,com"},
    {"continue-cli-client", 0, "continue,Continue CLI|cli,cont"},
    {"crush", 0, "Crush|crus"},
    {"cursor-vscode", 0, "cursor,Cursor IDE,cursor-agent|vscode,vs-code"},
    {"dust-mcp-client", 0, "dust|du"},
    {"factory-cli", 0, "droid,Droid,factory,Factory CLI|droids,factory-droid"},
    {"gemini-cli-mcp-client", 0, "gemini,gemini-cli,Gemini CLI,google-gemini"
     "|google,gem,gemini-pro"},
    {"gitguardian", 0, "GitGuardian|git,guardian"},
    {"github-copilot-developer", 0, "copilot,github-copilot,Copilot CLI,"
     "GitHub Copilot,copilot-cli|github,developer,xcode-copilot"},
    {"Glama", 0, "glama|gla"},
    {"goose", 0, "Goose,goose-cli|goos"},
    {"Jan-Streamable-Client", 0, "jan,Jan|janet"},
    {"JetBrains-IU-copilot-intellij", 0, "jetbrains,JetBrains IDE,intellij,"
     "IntelliJ,jetbrains-iu|copilot,github-copilot"},
    {"JetBrains-JBC-copilot-intellij", 0, "jetbrains|copilot,intellij"},
    {"Kilo-Code", 0, "kilo,Kilo Code|code"},
    {"lobehub-mcp-client", 0, "lobehub,LobeHub|lobe"},
    {"make-app-mcp-client", 0, "make|app"},
    {"Mistral", 0, "mistral|mist"},
    {"opencode", 0, "OpenCode,opencode-cli|code,open"},
    {"Postman-Client", 0, "postman|post,client"},
    {"Q-DEV-CLI", 0, "q,amazon-q,q-dev,amazon-q-developer,Q Developer|dev,"
     "amazon,developer"},
    {"Roo-Code", 0, "roo,Roo Code,roo_code|code"},
    {"Visual Studio Code", 2, "vscode,VSCode,VS Code,vs-code,microsoft-vscode,"
     "visual-studio|code,studio,visual-studio-codium,microsoft"},
    {"Visual-Studio-Code", 2, "vscode,Visual Studio Code|vs"},
    {"Windsurf", 3, "windsurf,windsurf-client|wind"},
    {"windsurf-client", 3, "Windsurf,windsurf-ide|surf"},
    {"Xcode-copilot-xcode", 0, "xcode,Xcode|copilot,code"},
    {"Zed", 0, "zed|ze"},
};
#define N_CLIENTS (sizeof clients / sizeof *clients)

static struct name_agent
session_of(const char *client)
{
    struct str product = name_product(&a, str_of(client));

    CHECK(name_says_product(product));
    return (struct name_agent){
        .name = name_default(&a, product, STR("01c709ed")),
        .product = product};
}

static void
test_words_for_clients(void)
{
    for (size_t i = 0; i < N_CLIENTS; i++) {
        struct name_agent agent = session_of(clients[i].client);
        struct str no = str_of(clients[i].words), yes = str_cut(&no, '|');

        while (yes.len > 0) {
            struct str w = str_cut(&yes, ',');

            if (!CHECK(name_reaches(w, &agent)))
                fprintf(stderr, "  %.*s\n", STR_ARG(w));
        }
        while (no.len > 0) {
            struct str w = str_cut(&no, ',');

            if (!CHECK(!name_reaches(w, &agent)))
                fprintf(stderr, "  %.*s\n", STR_ARG(w));
        }
        /* Under a name of its own it has no other one. */
        agent.name = STR("me");
        agent.product = STR("");
        CHECK(!name_reaches(str_of(clients[i].client), &agent));
        /* A name in the store tells the same. */
        agent = session_of(clients[i].client);
        agent = name_agent_of(agent.name);
        CHECK(name_reaches(str_of(clients[i].client), &agent));
    }
}

static void
test_clients_among_each_other(void)
{
    for (size_t i = 0; i < N_CLIENTS * N_CLIENTS; i++) {
        size_t from = i / N_CLIENTS, to = i % N_CLIENTS;
        struct name_agent agent = session_of(clients[to].client);
        bool one = clients[from].family > 0 &&
                   clients[from].family == clients[to].family;

        if (!CHECK(name_reaches(str_of(clients[from].client), &agent) ==
                   (from == to || one)))
            fprintf(stderr, "  %s, %s\n", clients[from].client,
                    clients[to].client);
    }
}

int
main(void)
{
    test_products();
    test_default_names();
    test_words_that_cover_a_product();
    test_names_of_one_product();
    test_stems();
    test_whom_a_name_reaches();
    test_words_for_clients();
    test_clients_among_each_other();
    arena_fini(&a);
    return test_end("t_name");
}
