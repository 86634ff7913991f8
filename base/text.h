#ifndef BASE_TEXT_H
#define BASE_TEXT_H

/* text - formatted text, and hex digits. */

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Declares that a function formats as printf does. */
#define PRINTF(fmt, first) __attribute__((format(printf, fmt, first)))

/* snprintf and vsnprintf, but that they return the length of the full text as a
   size, and that text_vput leaves ap unchanged. */
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

/* Writes one line to stderr. fmt ends with the line feed. Each byte of other
   control characters, and of invalid UTF-8, is replaced by '?', so that a
   quoted text cannot begin a line. Truncated if long. Ignores write errors. */
void text_tell(const char *fmt, ...) PRINTF(1, 2);

/* Must be true, in release builds too; else prints file and line to stderr and
   ends the process: assert would not, with NDEBUG. */
#define ASSERT(e) ((e) ? (void)0 : text_assert_failed(__FILE__, __LINE__))
_Noreturn void text_assert_failed(const char *file, int line);

#endif
