#ifndef BASE_UTF8_H
#define BASE_UTF8_H

/* utf8 - characters of a text. */

#include "base/base.h"

/* The length of the valid UTF-8 sequence (RFC 3629) at p; 0 if invalid. */
size_t utf8_len(const char *p, const char *end);
/* The code point of the valid sequence of n bytes at p. */
uint32_t utf8_code(const char *p, size_t n);
/* Whether a terminal or browser would act on the character, or show others in
   another order or on another line: control and bidi characters, line
   separators, tags. Line feed and tab, which a text may have, are among
   them. */
bool utf8_is_active(uint32_t cp);
/* The number of code points in s, which must be valid UTF-8. */
size_t utf8_count(struct str s);
/* Whether offset `at` is inside a character. */
bool utf8_is_within(struct str s, size_t at);
/* The first max bytes of s, or fewer so as not to split a character. */
struct str utf8_cut(struct str s, size_t max);
/* The first n characters of s, which must be valid UTF-8. */
struct str utf8_first(struct str s, size_t n);
/* Whether s is valid UTF-8. */
bool utf8_is_valid(struct str s);

#endif
