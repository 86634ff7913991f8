/* text - the subset of printf used here.

   Formats are constants, checked by the compiler against their arguments; an
   unknown conversion is an assertion failure. The locale has no effect. */

#include "base/text.h"

#include <signal.h>
#include <stdbool.h>
#include <string.h>
#include <unistd.h>

struct out {
    char *p;
    size_t cap;
    size_t len; /* of the whole text */
};

struct spec { /* a conversion */
    bool left, zeros;
    int width;
    int precision; /* -1: none */
    char size;     /* 0, 'l', 'L' for ll, 'z' */
};

static void
put(struct out *o, const char *p, size_t n)
{
    size_t room = o->len < o->cap ? o->cap - o->len : 0;

    if (room > 0 && n > 0)
        memcpy(o->p + o->len, p, n < room ? n : room);
    o->len += n;
}

static void
pad(struct out *o, char c, int width, size_t len)
{
    while (width > 0 && (size_t)width > len++)
        put(o, &c, 1);
}

static void
put_padded(struct out *o, const struct spec *s, const char *p, size_t n)
{
    if (!s->left)
        pad(o, s->zeros ? '0' : ' ', s->width, n);
    put(o, p, n);
    if (s->left)
        pad(o, ' ', s->width, n);
}

static void
put_number(struct out *o, const struct spec *s, uint64_t v, bool minus,
           char kind)
{
    const char *digits = kind == 'X' ? "0123456789ABCDEF"
                                     : "0123456789abcdef";
    unsigned base = kind == 'x' || kind == 'X' ? 16 : 10;
    char text[24], *p = text + sizeof text;

    do
        *--p = digits[v % base];
    while ((v /= base) != 0);
    if (minus)
        *--p = '-';
    put_padded(o, s, p, (size_t)(text + sizeof text - p));
}

static int
number_of(const char **f)
{
    int n = 0;

    while (**f >= '0' && **f <= '9')
        n = n * 10 + (*(*f)++ - '0');
    return n;
}

/* Parses the part between % and the conversion letter. */
static struct spec
spec_of(const char **f, va_list *ap)
{
    struct spec s = {.precision = -1};

    for (; **f == '-' || **f == '0'; (*f)++) {
        s.left |= **f == '-';
        s.zeros |= **f == '0';
    }
    s.width = **f == '*' ? ((*f)++, va_arg(*ap, int)) : number_of(f);
    if (**f == '.') {
        (*f)++;
        s.precision = **f == '*' ? ((*f)++, va_arg(*ap, int))
                                 : number_of(f);
    }
    for (; **f == 'l' || **f == 'z'; (*f)++)
        s.size = s.size == 'l' ? 'L' : **f;
    return s;
}

static uint64_t
take_unsigned(char size, va_list *ap)
{
    switch (size) {
    case 'L':
        return va_arg(*ap, unsigned long long);
    case 'l':
        return va_arg(*ap, unsigned long);
    case 'z':
        return va_arg(*ap, size_t);
    default:
        return va_arg(*ap, unsigned);
    }
}

static int64_t
take_signed(char size, va_list *ap)
{
    return size == 'L' ? va_arg(*ap, long long)
           : size == 'l' ? va_arg(*ap, long) : va_arg(*ap, int);
}

static void
convert(struct out *o, char kind, const struct spec *s, va_list *ap)
{
    const char *z;
    int64_t v;
    char c;

    switch (kind) {
    case 'd':
        v = take_signed(s->size, ap);
        put_number(o, s, v < 0 ? -(uint64_t)v : (uint64_t)v, v < 0, kind);
        break;
    case 'u': case 'x': case 'X':
        put_number(o, s, take_unsigned(s->size, ap), false, kind);
        break;
    case 's':
        z = va_arg(*ap, const char *);
        put_padded(o, s, z, s->precision < 0 ? strlen(z)
                   : s->precision == 0 ? 0 /* it may point to no text at all */
                   : strnlen(z, (size_t)s->precision));
        break;
    case 'c':
        c = (char)va_arg(*ap, int);
        put_padded(o, s, &c, 1);
        break;
    default:
        ASSERT(kind == '%');
        put(o, "%", 1);
    }
}

size_t
text_vput(char *p, size_t cap, const char *f, va_list ap)
{
    struct out o = {p, cap, 0};
    va_list args; /* ap may be an array parameter: no &ap */

    va_copy(args, ap);
    while (*f != '\0') {
        size_t n = 0;

        while (f[n] != '\0' && f[n] != '%')
            n++;
        put(&o, f, n);
        f += n;
        if (*f == '\0')
            break;
        f++;
        struct spec s = spec_of(&f, &args);
        convert(&o, *f++, &s, &args);
    }
    va_end(args);
    if (cap > 0)
        p[o.len < cap ? o.len : cap - 1] = '\0';
    return o.len;
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
    size_t n, i;

    va_start(ap, fmt);
    n = text_vput(line, sizeof line, fmt, ap);
    va_end(ap);
    if (n >= sizeof line) {
        n = sizeof line - 1;
        line[n - 1] = '\n';
    }
    for (i = 0; i < n; i++) /* control characters, C1 in UTF-8 */
        if ((line[i] >= 0 && line[i] < ' ' && line[i] != '\n') ||
            line[i] == 0x7f ||
            (i > 0 && line[i - 1] == '\xc2' && (line[i] & 0xe0) == 0x80))
            line[i] = '?';
    if (write(STDERR_FILENO, line, n) < 0)
        return;
}

_Noreturn void
text_assert_failed(const char *file, int line)
{
    text_tell("mcptask: %s:%d: assertion failed\n", file, line);
    kill(getpid(), SIGABRT); /* abort and raise take 280 bytes */
    _exit(128 + SIGABRT);
}

size_t
text_span(const char *s, const char *set)
{
    size_t n = 0;

    while (s[n] != '\0' && strchr(set, s[n]) != NULL)
        n++;
    return n;
}

size_t
text_until(const char *s, const char *set)
{
    size_t n = 0;

    while (s[n] != '\0' && strchr(set, s[n]) == NULL)
        n++;
    return n;
}

const char *
text_find(const char *in, const char *what)
{
    size_t n = strlen(what);

    for (; *in != '\0' || n == 0; in++)
        if (strncmp(in, what, n) == 0)
            return in;
    return NULL;
}
