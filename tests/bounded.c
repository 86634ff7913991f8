/* bounded - runs one test: bounded COMMAND [ARGUMENT...]. It ends as the
   command does.

   The command is in a process group of its own. After TEST_SECONDS (600; 0 for
   ever) the whole group gets SIGALRM, so that a test can say where it was, and
   fails. What is left of the group is killed when the command has ended, or
   GRACE_SECONDS after that signal. */

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#define GRACE_SECONDS 10

static pid_t group;
static volatile sig_atomic_t late;

/* An interrupt of make is for the test as well. */
static void
pass_on(int sig)
{
    kill(-group, late ? SIGKILL : sig);
    late = 1;
    alarm(GRACE_SECONDS);
}

static void
run(char **argv)
{
    setpgid(0, 0);
    execvp(argv[0], argv);
    perror(argv[0]);
    _exit(127);
}

/* Waits without taking the child away: its number stays that of the group. */
static void
await_end(void)
{
    siginfo_t info;

    while (waitid(P_PID, (id_t)group, &info, WEXITED | WNOWAIT) != 0 &&
           errno == EINTR)
        ;
}

int
main(int argc, char **argv)
{
    const char *seconds = getenv("TEST_SECONDS");
    struct sigaction sa = {.sa_handler = pass_on};
    int status = 0;

    if (argc < 2) {
        fprintf(stderr, "usage: %s COMMAND [ARGUMENT...]\n", argv[0]);
        return 2;
    }
    group = fork();
    if (group == 0)
        run(argv + 1);
    if (group < 0 || (setpgid(group, group) != 0 && errno != EACCES)) {
        perror(argv[0]);
        return 1;
    }
    for (size_t i = 0; i < 4; i++)
        sigaction((int[]){SIGALRM, SIGINT, SIGTERM, SIGHUP}[i], &sa, NULL);
    alarm(seconds != NULL ? (unsigned)atoi(seconds) : 600);
    await_end();
    kill(-group, SIGKILL);
    waitpid(group, &status, 0);
    if (WIFSIGNALED(status))
        fprintf(stderr, "%s: ended by signal %d\n", argv[1], WTERMSIG(status));
    return WIFEXITED(status) && !late ? WEXITSTATUS(status) : 1;
}
