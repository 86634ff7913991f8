/* bench_echo - reads lines and answers each with one of a given size: bench.c
   compares reading a task over a pipe with it. It does only what every server
   on a pipe must do: one read and one write, without parsing.

   usage: bench_echo BYTES of an answer, including its line feed */

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int
answer(const char *line, size_t len)
{
    while (len > 0) {
        ssize_t n = write(1, line, len);

        if (n <= 0)
            return -1;
        line += n;
        len -= (size_t)n;
    }
    return 0;
}

int
main(int argc, char **argv)
{
    static char in[65536];
    static const char head[] = "{\"result\":\"", tail[] = "\"}\n";
    size_t len = argc == 2 ? (size_t)atol(argv[1]) : 0;
    char *line = len > sizeof(head) + sizeof(tail) ? malloc(len + 1) : NULL;
    ssize_t n;

    if (line == NULL)
        return 2;
    memset(line, 'x', len);
    memcpy(line, head, sizeof(head) - 1);
    memcpy(line + len - (sizeof(tail) - 1), tail, sizeof(tail));
    while ((n = read(0, in, sizeof(in))) > 0) {
        const char *p = in, *end = in + n;

        while ((p = memchr(p, '\n', (size_t)(end - p))) != NULL) {
            if (answer(line, len) != 0)
                return 1;
            if (++p == end)
                break;
        }
    }
    free(line);
    return n == 0 ? 0 : 1;
}
