#include "tests/lib/tmpdir.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

char test_root[256];

char *
test_tmpdir(void)
{
    const char *tmp = getenv("TMPDIR");
    char *dir = malloc(sizeof(test_root) + 8);

    if (test_root[0] == '\0') {
        snprintf(test_root, 240, "%s/mcptask-XXXXXX", tmp ? tmp : "/tmp");
        if (mkdtemp(test_root) == NULL)
            abort();
    }
    snprintf(dir, sizeof(test_root) + 8, "%s/XXXXXX", test_root);
    return mkdtemp(dir);
}

void
test_in_memory(void)
{
    if (access("/dev/shm", W_OK) == 0)
        setenv("TMPDIR", "/dev/shm", 0);
}

int
test_remove_dirs(void)
{
    char command[sizeof(test_root) + 16];

    snprintf(command, sizeof(command), "rm -rf '%s'", test_root);
    return test_root[0] != '\0' ? system(command) : 0;
}
