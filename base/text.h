#ifndef BASE_TEXT_H
#define BASE_TEXT_H

/* text - printf's rules, as far as they are used here. The C library's own
   brings floating point, wide characters and streams along: a tenth of the
   binary, none of it called. */

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

/* As snprintf, with %d %u %x %X %c %s %% and l, ll, z before a number; the
   flags - and 0, a width, and for %s a precision, both also as *. Returns
   the length that the whole text has, whatever fits; out is always ended
   where cap is not 0. text_vput leaves ap as it was. */
size_t text_put(char *out, size_t cap, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
size_t text_vput(char *out, size_t cap, const char *fmt, va_list ap)
    __attribute__((format(printf, 3, 0)));

/* An ASCII letter in lower case; any other character as it is. */
static inline char
text_lower(char c)
{
    return c >= 'A' && c <= 'Z' ? (char)(c + 32) : c;
}
/* The value of a hex digit, whose letters are in lower case, or -1. */
int text_hex_digit(char c);
/* Writes the n low hex digits of v. */
void text_hex(char *out, int n, uint32_t v);

/* A line to stderr, by the same rules, cut where it is long; whether anybody
   listens does not matter. */
void text_tell(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* What must be true, also in release builds: else file and line go to stderr
   and the process ends. assert would bring streams along. */
#define ASSERT(e) ((e) ? (void)0 : text_assert_failed(__FILE__, __LINE__))
_Noreturn void text_assert_failed(const char *file, int line);

/* Where what stands first in a text, or NULL. strstr does the same in 1.2 KB,
   since it is made for long texts. */
const char *text_find(const char *in, const char *what);

#endif
