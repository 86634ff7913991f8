/* fuzz_cli - records whose bodies are any JSON, for the commands: those that
   read all tasks, those that read one, those that change one, or those that
   rewrite the log.

   What must hold:
   1. No command crashes, and each ends with one of the exit codes.
   2. A command that reads leaves the log as it is. */

#include "tests/fuzz/fuzz_store.h"

#include <sys/stat.h>

#define EXITS(...) HOLDS((unsigned)RUN(__VA_ARGS__) <= CLI_CONFLICT)

static void
show_all(void)
{
    EXITS("", "list", "--all");
    EXITS("", "list", "--json", "--ready", "--query", "a");
    EXITS("", "list", "--calls", "--all");
    EXITS("", "board");
    EXITS("", "tail", "-n", "99");
    EXITS("", "tail", "--json");
    EXITS("", "export");
    EXITS("", "export", "--format", "md");
    EXITS("", "verify");
}

static void
show_task(const char *id)
{
    EXITS(id, "show", "--", "ID");
    EXITS(id, "show", "--json", "--version", "1", "--", "ID");
    EXITS(id, "show", "--artifact", "a1", "--", "ID");
    EXITS(id, "history", "--", "ID");
    EXITS(id, "history", "--json", "--limit", "1", "--", "ID");
    EXITS(id, "wait", "--timeout", "0", "--", "ID");
}

static void
change_task(const char *id)
{
    EXITS(id, "message", "--agent", "ann", "--", "ID", "text");
    EXITS(id, "answer", "--agent", "ann", "--", "ID", "text");
    EXITS(id, "edit", "--title", "new", "--after", "", "--", "ID");
    EXITS(id, "claim", "--agent", "me", "--takeover", "--reason", "r", "--",
          "ID");
    EXITS(id, "ask", "--agent", "me", "--", "ID", "which?");
    EXITS(id, "handoff", "--agent", "me", "--to", "you", "-p", "on", "--",
          "ID");
    EXITS(id, "done", "--agent", "me", "--", "ID", "result");
    EXITS(id, "cancel", "--agent", "me", "--", "ID", "reason");
    EXITS(id, "reopen", "--agent", "me", "--", "ID", "reason");
}

static void
rewrite_log(void)
{
    EXITS("", "claim", "--agent", "me");
    EXITS("", "archive", "--done-before", "2099-01-01");
    EXITS("", "compact");
    EXITS("", "list", "--all");
}

static void
each_task(void (*fn)(const char *id))
{
    const char *id;

    for (size_t i = 0; (id = task_id(i)) != NULL; i++)
        fn(id);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    unsigned part = fuzz_choice(data, n, 4);
    struct stat before, after;

    if (!put_log((struct str){(const char *)data, n}))
        return 0;
    HOLDS(stat(env.log_path, &before) == 0);
    if (part == 0)
        show_all();
    else if (part == 1)
        each_task(show_task);
    else if (part == 2)
        each_task(change_task);
    else
        rewrite_log();
    HOLDS(stat(env.log_path, &after) == 0 &&
          (part > 1 || after.st_size == before.st_size));
    return 0;
}
