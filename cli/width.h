#ifndef CLI_WIDTH_H
#define CLI_WIDTH_H

/* width - how many cells of a terminal a text takes. */

#include "base/base.h"

/* The cells of s, UTF-8: 2 for a wide character (East Asian Width W or F of
   Unicode, most emoji), 0 for one that joins the one before it, else 1. */
size_t cli_width(struct str s);
/* The start of s that fits into width cells; *used is what it takes. */
struct str cli_cut(struct str s, size_t width, size_t *used);

#endif
