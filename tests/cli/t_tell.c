/* t_tell - cli_tell: facts as JSON, or in a sentence; and cli_say: all of it,
   however slowly it is read. */

#include "cli/text.h"
#include "tests/lib/test.h"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

/* Whether the facts num (a number), who and ok are told so. */
static bool
tells(bool json, const char *text, uint64_t n, const char *want)
{
    struct cli c = {.json = json};
    bool is;

    cli_tell(&c, text, "num=" U64 " who=%s ok=%d", n, "ann", 1);
    is = str_is(buf_view(&c.out), want);
    if (!is)
        fprintf(stderr, "told: %.*s\n", STR_ARG(buf_view(&c.out)));
    buf_fini(&c.out);
    return is;
}

TEST(facts)
{
    CHECK(tells(false, "{num} task{s} of {who}", 1, "1 task of ann"));
    CHECK(tells(false, "{who}: {num} task{s}", 2, "ann: 2 tasks"));
    CHECK(tells(true, "", 2, "{\"num\":2,\"who\":\"ann\",\"ok\":true}\n"));
    CHECK(tells(false, "", 2, "") && tells(false, "plain", 2, "plain"));
}

/* What names no fact, or is not closed, stands as it is. */
TEST(misspelt)
{
    CHECK(tells(false, "{whom} has {num}", 2, "{whom} has 2"));
    CHECK(tells(false, "{} {num}", 2, "{} 2"));
    CHECK(tells(false, "{num} {", 2, "2 {"));
    CHECK(tells(false, "{num} {who", 2, "2 {who"));
    CHECK(tells(false, "{num} }", 2, "2 }"));
}

/* Reads all from fd. Returns how much there was. */
static size_t
read_all(int fd)
{
    size_t all = 0;
    char chunk[512];
    ssize_t n;

    while ((n = read(fd, chunk, sizeof(chunk))) > 0)
        all += (size_t)n;
    return all;
}

TEST(does_not_block)
{
    size_t len = (size_t)1024 * 1024;
    struct buf b = {0};
    int fds[2], status;
    pid_t pid;

    for (size_t i = 0; i < len; i++)
        buf_char(&b, 'x');
    CHECK(pipe(fds) == 0 && fcntl(fds[1], F_SETFL, O_NONBLOCK) == 0);
    pid = fork();
    if (pid == 0) {
        close(fds[1]);
        _exit(read_all(fds[0]) == len ? 0 : 1);
    }
    CHECK(cli_say(fds[1], &b));
    close(fds[1]);
    close(fds[0]);
    CHECK(waitpid(pid, &status, 0) == pid && status == 0);
}
