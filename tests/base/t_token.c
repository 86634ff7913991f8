/* t_token - token files, good and bad, and the agents found in them. */

#include "base/token.h"
#include "tests/lib/fault_store.h"

#define T1 "0123456789abcdef"
#define T2 "a-b.c_d~e+f/ghij=="
#define T3 "zzzzzzzzzzzzzzzzzzzzzzzz"

static char why[256];

static int
load(struct tokens **t, struct str text, mode_t mode)
{
    unlink(path); /* its owner may not write to it, unless that is root */
    file_put(path, text.p, text.len);
    CHECK(chmod(path, mode) == 0);
    return tokens_load(t, path, why);
}

static bool
finds(const struct tokens *t, const char *bearer, const char *agent,
      bool read_only)
{
    const struct token *k = tokens_find(t, str_of(bearer));

    return k != NULL && str_is(k->agent, agent) && k->read_only == read_only;
}

TEST(good_file)
{
    struct tokens *t;

    CHECK(load(&t, STR("# who may\n\n  \t \n" T1 " ann\n\t" T2 "\tbo-b_1@x "
                       "  read \n#" T3 " nobody\n" T3 " \xc3\xa9va"),
               0600) == 0);
    if (t == NULL)
        return;
    CHECK(why[0] == '\0');
    CHECK(finds(t, T1, "ann", false));
    CHECK(finds(t, T2, "bo-b_1@x", true));
    CHECK(finds(t, T3, "\xc3\xa9va", false)); /* without a line feed */
    CHECK(!tokens_find(t, STR(T1))->person && !tokens_find(t, STR(T2))->person);
    tokens_free(t);
    CHECK(load(&t, STR(T1 " ann person\n" T2 " bob\n"), 0600) == 0);
    CHECK(finds(t, T1, "ann", false) && tokens_find(t, STR(T1))->person);
    CHECK(finds(t, T2, "bob", false) && !tokens_find(t, STR(T2))->person);
    tokens_free(t);
}

/* As an editor on Windows writes it. */
TEST(line_ends_and_byte_order_mark)
{
    struct tokens *t;

    CHECK(load(&t, STR("\xef\xbb\xbf" T1 " ann\r\n\r\n# none\r\n" T2
                       " bob read\r\n" T3 " eve\r"), 0600) == 0);
    if (t == NULL)
        return;
    CHECK(finds(t, T1, "ann", false) && finds(t, T2, "bob", true) &&
          finds(t, T3, "eve", false));
    tokens_free(t);
}

TEST(nobody_else_is_found)
{
    static const char *const wrong[] = {
        "", "0", "0123456789abcde", "0123456789abcdeg", "1123456789abcdef",
        T1 " ", " " T1, T1 T1, "0123456789ABCDEF", T1 "=", "ann", T3};
    struct tokens *t;

    CHECK(load(&t, STR(T1 " ann\n" T2 " bob\n"), 0400) == 0);
    for (size_t i = 0; t != NULL && i < sizeof(wrong) / sizeof(*wrong); i++)
        CHECK(tokens_find(t, str_of(wrong[i])) == NULL);
    if (t != NULL)
        CHECK(tokens_find(t, STR_NONE) == NULL);
    tokens_free(t);
    CHECK(load(&t, STR("# none\n"), 0600) == 0); /* everybody is locked out */
    if (t != NULL)
        CHECK(tokens_find(t, STR(T1)) == NULL);
    tokens_free(t);
    tokens_free(NULL);
}

TEST(bad_lines)
{
    static const struct {
        struct str text;
        const char *says; /* after the path */
    } cases[] = {
        {STR(T1 "\n"), ":1: an agent"},
        {STR("#\n\n" T1 " \t \n"), ":3: an agent"},
        {STR("0123456789abcde ann\n"), ":1: a token"},
        {STR("0123456789abc!ef ann\n"), ":1: a token"},
        {STR("0123456789=bcdef ann\n"), ":1: a token"},
        {STR("================ ann\n"), ":1: a token"},
        {STR("0123456789\0bcdef ann\n"), ":1: a token"},
        {STR("0123456789\xc3\xa9""cdef ann\n"), ":1: a token"},
        {STR(T1 " a\rn\n"), ":1: an agent"},
        {STR(T1 " \xef\xbb\xbf\r\r\n"), ":1: an agent"},
        {STR("\xef\xbb" T1 " ann\n"), ":1: a token"},
        {STR(T1 " a\0n\n"), ":1: an agent"},
        {STR(T1 " a\x7fn\n"), ":1: an agent"},
        {STR(T1 " a\xffn\n"), ":1: an agent"},
        {STR(T1 " ann write\n"), ":1: only"},
        {STR(T1 " ann Read\n"), ":1: only"},
        {STR(T1 " ann read read\n"), ":1: only"},
        {STR(T1 " ann read person\n"), ":1: only"},
        {STR(T1 " ann # read\n"), ":1: only"},
        {STR(T1 " ann\n" T2 " bob\n" T1 " ann read\n"), ":3: this token"},
        {STR(T2 " ann\n" T1 " bob\n" T2 " ann"), ":3: this token"},
    };
    struct tokens *t;

    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        CHECK(load(&t, cases[i].text, 0600) == ERR_INVALID && t == NULL);
        CHECK(strncmp(why, path, strlen(path)) == 0);
        CHECK(strncmp(why + strlen(path), cases[i].says,
                      strlen(cases[i].says)) == 0);
        CHECK(strstr(why, "0123") == NULL && strstr(why, "ann") == NULL);
    }
}

/* A token and an agent of these lengths. */
static int
load_lengths(struct tokens **t, size_t token, size_t agent, const char *unit)
{
    struct buf b = {0};

    for (size_t i = 0; i < token; i++)
        buf_char(&b, 't');
    buf_char(&b, ' ');
    for (size_t i = 0; i < agent; i++)
        buf_z(&b, unit);
    int rc = load(t, buf_view(&b), 0600);
    buf_fini(&b);
    return rc;
}

TEST(limits)
{
    static const struct {
        size_t token, agent;
        const char *unit;
        bool good;
    } cases[] = {
        {16, 1, "a", true},     {15, 1, "a", false},   {512, 1, "a", true},
        {513, 1, "a", false},   {16, 128, "a", true},  {16, 129, "a", false},
        {16, 128, "\xf0\x9f\x90\x9d", true},
        {16, 129, "\xf0\x9f\x90\x9d", false},          {16, 0, "", false}};
    struct tokens *t;

    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        int rc = load_lengths(&t, cases[i].token, cases[i].agent,
                              cases[i].unit);

        CHECK(rc == (cases[i].good ? 0 : ERR_INVALID));
        tokens_free(t);
    }
}

TEST(the_most_tokens)
{
    struct buf b = {0};
    struct tokens *t;
    char token[32], agent[32];

    for (int i = 0; i < TOKEN_MAX_N; i++)
        buf_printf(&b, "0123456789-%05d a%d%s\n", i, i, i % 2 ? " read" : "");
    CHECK(load(&t, buf_view(&b), 0600) == 0);
    for (int i = 0; t != NULL && i < TOKEN_MAX_N; i += 273) {
        snprintf(token, sizeof(token), "0123456789-%05d", i);
        snprintf(agent, sizeof(agent), "a%d", i);
        CHECK(finds(t, token, agent, i % 2));
    }
    tokens_free(t);
    buf_z(&b, T1 " ann\n");
    CHECK(load(&t, buf_view(&b), 0600) == ERR_INVALID && t == NULL);
    CHECK(strstr(why, ":4097: too many") != NULL);
    buf_fini(&b);
}

TEST(files_that_are_refused)
{
    static const mode_t open_to_others[] = {0640, 0604, 0620, 0602, 0610,
                                            0601, 0666};
    struct tokens *t;
    char *big = calloc(1, TOKEN_MAX_FILE + 1);

    for (size_t i = 0; i < sizeof(open_to_others) / sizeof(mode_t); i++) {
        CHECK(load(&t, STR(T1 " ann\n"), open_to_others[i]) == ERR_INVALID);
        CHECK(strstr(why, "chmod") != NULL && t == NULL);
    }
    memset(big, '\n', TOKEN_MAX_FILE + 1);
    CHECK(load(&t, (struct str){big, TOKEN_MAX_FILE}, 0600) == 0);
    tokens_free(t);
    CHECK(load(&t, (struct str){big, TOKEN_MAX_FILE + 1}, 0600) ==
          ERR_INVALID && strstr(why, "1 MiB") != NULL);
    free(big);
    CHECK(unlink(path) == 0);
    CHECK(tokens_load(&t, path, why) == ERR_IO && t == NULL);
    CHECK(strstr(why, path) != NULL && strstr(why, strerror(ENOENT)));
    CHECK(mkfifo(path, 0600) == 0); /* this does not hang */
    CHECK(tokens_load(&t, path, why) == ERR_INVALID &&
          strstr(why, "regular") != NULL);
    CHECK(unlink(path) == 0 && mkdir(path, 0700) == 0);
    CHECK(tokens_load(&t, path, why) == ERR_INVALID && rmdir(path) == 0);
    CHECK(tokens_load(&t, "/dev/null", why) == ERR_INVALID && t == NULL);
}

/* The service manager gives a credential to one user with an access control
   list; its mask then stands where the permissions of the group do. */
TEST(credential_of_a_service)
{
    struct tokens *t;
    char dir[512];

    text_put(dir, sizeof dir, "%s", path);
    *strrchr(dir, '/') = '\0';
    CHECK(setenv("CREDENTIALS_DIRECTORY", dir, 1) == 0);
    CHECK(load(&t, STR("abcdefghijklmnop a\n"), 0440) == 0);
    tokens_free(t);
    CHECK(load(&t, STR("abcdefghijklmnop a\n"), 0444) == ERR_INVALID);
    CHECK(load(&t, STR("abcdefghijklmnop a\n"), 0460) == ERR_INVALID);
    CHECK(setenv("CREDENTIALS_DIRECTORY", "/nowhere", 1) == 0);
    CHECK(load(&t, STR("abcdefghijklmnop a\n"), 0440) == ERR_INVALID);
    CHECK(unsetenv("CREDENTIALS_DIRECTORY") == 0);
}

TEST(link_to_a_file)
{
    struct tokens *t;

    CHECK(load(&t, STR(T1 " ann\n"), 0600) == 0);
    tokens_free(t);
    CHECK(symlink("tokens", path_with(path, ".link")) == 0);
    CHECK(tokens_load(&t, path_with(path, ".link"), why) == 0);
    tokens_free(t);
}

TEST(no_memory)
{
    struct tokens *t = NULL;
    int rc = ERR_NOMEM;

    for (long after = 0; rc == ERR_NOMEM && after < 100; after++) {
        CHECK(t == NULL);
        file_put(path, T1 " ann\n" T2 " bob\n",
                 strlen(T1 " ann\n" T2 " bob\n"));
        fault_start(FAULT_MEMORY, after, after % 2, ENOMEM);
        rc = tokens_load(&t, path, why);
        fault.on = false;
        CHECK(rc == 0 || (fault.hit && strcmp(why, "out of memory") == 0));
    }
    CHECK(rc == 0 && !fault.hit);
    tokens_free(t);
    fault_start(FAULT_OPEN, 0, false, EMFILE);
    CHECK(tokens_load(&t, path, why) == ERR_IO && t == NULL);
    CHECK(strstr(why, strerror(EMFILE)) != NULL);
    fault.on = false;
}

int
main(void)
{
    path = path_fresh("tokens");
    test_run();
    free(path);
    return test_end("t_token");
}
