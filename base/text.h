#ifndef BASE_TEXT_H
#define BASE_TEXT_H

/* text - the subset of printf used here. The C library's own pulls in floating
   point, wide characters and streams: a tenth of the binary, and all unused. */

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Declares that a function formats as text_put does. There is no floating
   point, so gcc need not save its registers with the variable arguments. */
#if defined __x86_64__ && !defined __clang__
#define PRINTF(fmt, first) \
    __attribute__((format(printf, fmt, first), target("general-regs-only")))
#else
#define PRINTF(fmt, first) __attribute__((format(printf, fmt, first)))
#endif

/* Like snprintf, with %d %u %x %X %c %s %% and l, ll, z before a number; the
   flags - and 0, a width, and for %s a precision, both also as *. Returns the
   length of the full text, even if it does not fit; out is NUL-terminated
   unless cap is 0. text_vput leaves ap unchanged. */
size_t text_put(char *out, size_t cap, const char *fmt, ...) PRINTF(3, 4);
size_t text_vput(char *out, size_t cap, const char *fmt, va_list ap)
    __attribute__((format(printf, 3, 0)));

/* The lower case of an ASCII letter; any other character unchanged. */
static inline char
text_lower(char c)
{
    return c >= 'A' && c <= 'Z' ? (char)(c + 32) : c;
}
/* The value of a hex digit, letters in lower case only; or -1. */
int text_hex_digit(char c);
/* Writes the n low hex digits of v. */
void text_hex(char *out, int n, uint32_t v);
/* Reads 8 hex digits, letters in lower case only. False: p has others. */
bool text_hex32(const char *p, uint32_t *out);

/* Writes a line to stderr, formatted the same way and truncated if long.
   Ignores write errors. */
void text_tell(const char *fmt, ...) PRINTF(1, 2);

/* Must be true, in release builds too; else prints file and line to stderr and
   ends the process. assert would pull in streams. */
#define ASSERT(e) ((e) ? (void)0 : text_assert_failed(__FILE__, __LINE__))
_Noreturn void text_assert_failed(const char *file, int line);

/* How many characters at the start of s are, or are not, in set. strspn and
   strcspn would add 420 bytes. */
size_t text_span(const char *s, const char *set);
size_t text_until(const char *s, const char *set);
/* The first occurrence of what in the text, or NULL. strstr is made for long
   texts and would add 1.2 KB. */
const char *text_find(const char *in, const char *what);

#endif
