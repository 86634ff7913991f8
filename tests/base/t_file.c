/* t_file - the names and homes of users, in a list of users of any size. */

#include "base/base.h"
#include "base/env.h"
#include "base/file.h"
#include "tests/lib/test.h"

#include <fcntl.h>

#ifndef __GLIBC__
#pragma weak __real_open64
#endif

static char list[512]; /* is read in place of /etc/passwd */

#define WRAP_OPEN(name)                                             \
    int __real_##name(const char *path, int flags, ...);            \
    int __wrap_##name(const char *path, int flags, ...);            \
    int __wrap_##name(const char *path, int flags, ...)             \
    {                                                               \
        bool is = strcmp(path, "/etc/passwd") == 0;                 \
                                                                    \
        return __real_##name(is ? list : path, flags);              \
    }

WRAP_OPEN(open)
WRAP_OPEN(open64)

/* Only the first 256 KiB are read. The line in which they end is none of user
   10, but of 1000. */
TEST(a_line_that_is_cut)
{
    enum { READ = 256 * 1024 - 1 };
    static const char first[] = "root:x:0:0::/:\nx:", last[] = "cut:x:10";
    char *dir = test_tmpdir(), name[FILE_USER_MAX];
    FILE *f;

    snprintf(list, sizeof(list), "%s/passwd", dir);
    f = fopen(list, "w");
    if (!CHECK(f != NULL))
        return;
    fputs(first, f);
    for (size_t n = strlen(first) + 1 + strlen(last); n < READ; n++)
        fputc('y', f);
    fprintf(f, "\n%s00:1000::/:\nlate:x:11:11::/:\n", last);
    CHECK(fclose(f) == 0);
    CHECK(strcmp(file_user(0, name), "root") == 0);
    CHECK(strcmp(file_user(10, name), "10") == 0);
    CHECK(strcmp(file_user(11, name), "11") == 0);
    free(dir);
}

/* Where the store is without variables of its own. */
TEST(home)
{
    static const struct {
        const char *home, *in_list, *log, *base; /* base: NULL if none */
    } cases[] = {
        {"/h", "/p", NULL, "/h/.local/state/mcptask"},
        {"/h", "/p", "/d/tasks.log", "/h/.local/state/mcptask"},
        {NULL, "/p", NULL, "/p/.local/state/mcptask"},
        {"", "/p", NULL, "/p/.local/state/mcptask"},
        {"h", "/p", NULL, "/p/.local/state/mcptask"},
        {NULL, "/p", "/d/tasks.log", "/d"},
        {NULL, "p", NULL, NULL}, {NULL, "", NULL, NULL},
        {NULL, NULL, NULL, NULL},
    };
    char *dir = test_tmpdir(), why[256];

    snprintf(list, sizeof(list), "%s/passwd", dir);
    unsetenv("MCP_TASK_BASE_DIR");
    unsetenv("XDG_STATE_HOME");
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct cli_env e = {.debug = false};
        const char *in = cases[i].in_list, *base = cases[i].base;
        FILE *f = fopen(list, "w");

        if (!CHECK(f != NULL))
            return;
        fputs("other:x:4294967290:1::/other:/bin/sh\n", f);
        if (in != NULL)
            fprintf(f, "me:x:%lu:1:Me,,:%s:/bin/sh\n",
                    (unsigned long)getuid(), in);
        CHECK(fclose(f) == 0);
        unsetenv("HOME");
        unsetenv("MCP_TASK_DB_PATH");
        if (cases[i].home != NULL)
            setenv("HOME", cases[i].home, 1);
        if (cases[i].log != NULL)
            setenv("MCP_TASK_DB_PATH", cases[i].log, 1);
        CHECK(env_resolve(&e, why) == 0 && e.base_dir != NULL);
        CHECK((e.no_store != NULL) == (base == NULL));
        CHECK(base == NULL || strcmp(e.base_dir, base) == 0);
        env_fini(&e);
    }
    free(dir);
}
