/* text - formatted text, and hex digits.

   Formats are constants, checked by the compiler against their arguments. */

#include "base/text.h"
#include "base/utf8.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

size_t
text_vput(char *out, size_t cap, const char *fmt, va_list ap)
{
    va_list args;
    int n;

    va_copy(args, ap);
    n = vsnprintf(out, cap, fmt, args);
    va_end(args);
    ASSERT(n >= 0);
    return (size_t)n;
}

size_t
text_put(char *out, size_t cap, const char *fmt, ...)
{
    va_list ap;
    size_t n;

    va_start(ap, fmt);
    n = text_vput(out, cap, fmt, ap);
    va_end(ap);
    return n;
}

int
text_hex_digit(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

void
text_hex(char *out, int n, uint32_t v)
{
    for (; n-- > 0; v >>= 4)
        out[n] = "0123456789abcdef"[v & 15];
}

bool
text_hex32(const char *p, uint32_t *out)
{
    uint32_t v = 0;

    for (int i = 0; i < 8; i++) {
        int digit = text_hex_digit(p[i]);

        if (digit < 0)
            return false;
        v = v << 4 | (uint32_t)digit;
    }
    *out = v;
    return true;
}

void
text_tell(const char *fmt, ...)
{
    char line[512];
    va_list ap;
    size_t n, len;

    va_start(ap, fmt);
    n = text_vput(line, sizeof line, fmt, ap);
    va_end(ap);
    if (n >= sizeof line) {
        n = sizeof line - 1;
        line[n - 1] = '\n';
    }
    for (size_t i = 0; i + 1 < n; i += len) { /* all but its line feed */
        len = utf8_len(line + i, line + n);
        if (len > 0 && !utf8_is_active(utf8_code(line + i, len)))
            continue;
        len = len > 0 ? len : 1;
        memset(line + i, '?', len);
    }
    if (write(STDERR_FILENO, line, n) < 0)
        return;
}

_Noreturn void
text_assert_failed(const char *file, int line)
{
    text_tell("mcptask: %s:%d: assertion failed\n", file, line);
    abort();
}
