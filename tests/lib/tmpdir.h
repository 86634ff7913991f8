#ifndef TEST_TMPDIR_H
#define TEST_TMPDIR_H

/* Directories of a test program, all inside one that test_end removes. */

extern char test_root[256]; /* that one; "": there is none yet */

/* A fresh directory; the caller frees its name. */
char *test_tmpdir(void);

/* Puts the directories in memory if possible, for tests that sync too often for
   a disk. Call it before the first test_tmpdir. */
void test_in_memory(void);

/* Returns 0, or the result of rm. */
int test_remove_dirs(void);

#endif
