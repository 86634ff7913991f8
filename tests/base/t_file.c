/* t_file - the names of users, in a list of users of any size. */

#include "base/base.h"
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

/* Only the first 32 KiB are read. The line in which they end is none of user
   10, but of 1000. */
static void
test_a_line_that_is_cut(void)
{
    enum { READ = 32 * 1024 - 1 };
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

int
main(void)
{
    test_a_line_that_is_cut();
    return test_end("file");
}
