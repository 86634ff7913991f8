/* walk - linked into a program that -finstrument-functions compiled: at each
   SIGUSR1 it writes the addresses of the functions that ran since the last one
   to the file named in WALK, and begins anew. tests/bench/walk.sh reads it. */

#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define QUIET __attribute__((no_instrument_function))

void __cyg_profile_func_enter(void *function, void *from) QUIET;
void __cyg_profile_func_exit(void *function, void *from) QUIET;

static uintptr_t walked[1 << 14]; /* a hash table; far fewer functions exist */
static const size_t slots = sizeof walked / sizeof *walked;

void
__cyg_profile_func_enter(void *function, void *from)
{
    uintptr_t at = (uintptr_t)function;
    size_t i = at * 2654435761u % slots;

    (void)from;
    while (walked[i] != 0 && walked[i] != at)
        i = (i + 1) % slots;
    walked[i] = at;
}

void
__cyg_profile_func_exit(void *function, void *from)
{
    (void)function;
    (void)from;
}

static QUIET void
write_walk(int sig)
{
    char line[32];
    int fd = open(getenv("WALK"), O_WRONLY | O_CREAT | O_TRUNC, 0600);

    (void)sig;
    for (size_t i = 0; i < slots; i++) {
        if (walked[i] == 0)
            continue;
        snprintf(line, sizeof line, "%#jx\n", (uintmax_t)walked[i]);
        if (write(fd, line, strlen(line)) < 0)
            abort();
    }
    if (write(fd, "end\n", 4) < 0)
        abort();
    close(fd);
    memset(walked, 0, sizeof walked);
}

static QUIET __attribute__((constructor)) void
begin_walk(void)
{
    struct sigaction sa = {.sa_handler = write_walk, .sa_flags = SA_RESTART};

    sigaction(SIGUSR1, &sa, NULL);
}
