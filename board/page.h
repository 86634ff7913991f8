#ifndef BOARD_PAGE_H
#define BOARD_PAGE_H

/* page - board.html, the page for people, built into the binary. */

#include "base/base.h"

/* The page, compressed with gzip (RFC 1952). */
struct str page_packed(void);
/* The page itself, NUL-terminated, valid until the process ends. 0 or
   ERR_NOMEM. */
int page_text(struct str *out);
/* Appends the page's HTTP fields, each ended by CRLF: Content-Security-Policy,
   ETag, caching. */
void page_put_fields(struct buf *b);
/* Formats "W/" and the quoted version, for ETag. */
void page_tag(char out[16]);

#endif
