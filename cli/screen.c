/* screen - the terminal of a command: how large it is, and what it can show. */

#include "cli/screen.h"
#include "base/text.h"

#include <sys/ioctl.h>
#include <unistd.h>

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
