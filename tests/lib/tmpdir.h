#ifndef TEST_TMPDIR_H
#define TEST_TMPDIR_H

/* Directories of a test program, all inside one that test_end removes. */

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static char test_root[256]; /* holds each test_tmpdir of this program */

/* A fresh directory, removed by test_end; the caller frees its name. */
static inline char *
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

/* Puts the directories in memory if possible, for tests that sync too often for
   a disk. Call it before the first test_tmpdir. */
static inline void
test_in_memory(void)
{
    if (access("/dev/shm", W_OK) == 0)
        setenv("TMPDIR", "/dev/shm", 0);
}

/* 0, or the result of rm. */
static inline int
test_remove_dirs(void)
{
    char command[sizeof(test_root) + 16];

    snprintf(command, sizeof(command), "rm -rf '%s'", test_root);
    return test_root[0] != '\0' ? system(command) : 0;
}

#endif
