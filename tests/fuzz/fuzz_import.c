/* fuzz_import - any bytes as a file to import: JSON lines, an array or a log.

   What must hold:
   1. No file crashes the import, which ends with one of the exit codes.
   2. What was imported can be shown and exported, and its export is one that
      import takes: each task exists.
   3. Each record in the log is JSON. */

#include "store.h"
#include "tests/fuzz/fuzz_store.h"

/* Runs a command with its output in a file. */
static void
export_to(const char *path)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    int out = dup(STDOUT_FILENO);

    HOLDS(fd >= 0 && dup2(fd, STDOUT_FILENO) == STDOUT_FILENO);
    HOLDS(RUN("", "export") == CLI_OK);
    if (out >= 0)
        dup2(out, STDOUT_FILENO);
    else
        close(STDOUT_FILENO);
    close(out);
    close(fd);
}

static void
check_log(void)
{
    struct store_options o = {.path = env.log_path, .readonly = true};
    struct store_kind none = {0};
    struct store *s;
    char why[256];

    HOLDS(store_open(&s, &o, &none, 0, why) == 0);
    HOLDS(store_scan(s, 1, check_body, NULL) == 0);
    store_close(s);
}

static void
check_import(const char *path)
{
    unsigned exit_code = (unsigned)RUN(path, "import", "ID");
    const char *exported;

    HOLDS(exit_code <= CLI_CONFLICT);
    if (access(env.log_path, F_OK) != 0)
        return; /* nothing was imported */
    check_log();
    HOLDS(RUN("", "list", "--all") == CLI_OK);
    HOLDS(RUN("", "export", "--format", "md") == CLI_OK);
    exported = file_path("export.jsonl");
    export_to(exported);
    HOLDS(RUN(exported, "import", "ID") == CLI_OK);
    place_store();
    HOLDS(RUN(exported, "import", "ID") == CLI_OK);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    place_store();
    put_file(file_path("file"), data, n);
    check_import(file_path("file"));
    return 0;
}
