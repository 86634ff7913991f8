/* screen - the terminal of a command: how large it is, and what it can show. */

#include "cli/screen.h"
#include "base/os.h"
#include "base/text.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#define OPEN "\033[?1049h\033[?25l"  /* the alternate screen, no cursor */
#define CLOSE "\033[?25h\033[?1049l"

size_t
cli_terminal(int fd)
{
    struct winsize w;

    if (ioctl(fd, TIOCGWINSZ, &w) != 0)
        return 0;
    return w.ws_col > 0 ? w.ws_col : 80;
}

size_t
cli_terminal_rows(int fd)
{
    struct winsize w;

    return ioctl(fd, TIOCGWINSZ, &w) != 0 || w.ws_row == 0 ? SIZE_MAX
                                                           : w.ws_row;
}

size_t
screen_columns(void)
{
    const char *columns = env_get("COLUMNS");
    uint64_t n;

    if (columns == NULL || !str_u64(str_of(columns), &n))
        n = cli_terminal(STDOUT_FILENO);
    return n > 1000 ? 1000 : (size_t)n;
}

bool
screen_is_utf8(void)
{
    static const char *const names[] = {"LC_ALL", "LC_CTYPE", "LANG"};
    const char *locale = NULL;

    for (size_t i = 0; locale == NULL && i < 3; i++)
        locale = env_get(names[i]);
    for (; locale != NULL && *locale != '\0'; locale++)
        if (text_lower(locale[0]) == 'u' && text_lower(locale[1]) == 't' &&
            text_lower(locale[2]) == 'f' &&
            locale[3 + (locale[3] == '-')] == '8')
            return true;
    return false;
}

void
cli_paint(struct cli *c, struct buf *b, struct str s, const char *sgr)
{
    if (c->color && sgr != NULL)
        buf_printf(b, "\033[%sm%.*s\033[0m", sgr, STR_ARG(s));
    else
        buf_str(b, s);
}

/* ---- a screen of its own ---- */

static struct {
    bool open;
    bool keys; /* the settings of stdin were changed, and before were: */
    struct termios before;
} screen;
static volatile sig_atomic_t stop_asked;

static void
ask_stop(int sig)
{
    (void)sig;
    stop_asked = 1;
}

/* Only ends what waits. */
static void
ignore_resize(int sig)
{
    (void)sig;
}

/* A sequence for the terminal, which takes so few bytes at once. */
static void
write_screen(const char *text)
{
    while (write(STDOUT_FILENO, text, strlen(text)) < 0 && errno == EINTR)
        continue;
}

void
screen_open(void)
{
    static bool registered;
    struct termios t;

    if (!registered)
        atexit(screen_close);
    registered = true;
    screen.keys = tcgetattr(STDIN_FILENO, &screen.before) == 0;
    if (screen.keys) {
        t = screen.before;
        t.c_lflag &= (tcflag_t)~(ICANON | ECHO);
        t.c_cc[VMIN] = 1;
        t.c_cc[VTIME] = 0;
        tcsetattr(STDIN_FILENO, TCSADRAIN, &t);
    }
    signal(SIGTSTP, ask_stop);
    signal(os_resize_signal(), ignore_resize);
    write_screen(OPEN);
    screen.open = true;
}

void
screen_close(void)
{
    if (!screen.open)
        return;
    screen.open = false;
    write_screen(CLOSE);
    if (screen.keys)
        tcsetattr(STDIN_FILENO, TCSADRAIN, &screen.before);
    signal(SIGTSTP, SIG_DFL);
}

bool
screen_is_open(void)
{
    return screen.open;
}

int
screen_keys(void)
{
    return screen.open && screen.keys ? STDIN_FILENO : -1;
}

int
screen_key(void)
{
    struct pollfd in = {.fd = screen_keys(), .events = POLLIN};
    char key;

    if (in.fd < 0 || poll(&in, 1, 0) <= 0)
        return 0;
    return read(in.fd, &key, 1) == 1 && key != 0 ? key : 'q';
}

bool
screen_was_stopped(void)
{
    if (!stop_asked || !screen.open)
        return false;
    stop_asked = 0;
    screen_close();
    raise(SIGTSTP); /* goes on here */
    screen_open();
    return true;
}
