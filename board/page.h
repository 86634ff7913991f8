#ifndef BOARD_PAGE_H
#define BOARD_PAGE_H

/* page - board.html, the page for people, as it was packed into the binary. */

#include "base/base.h"

/* The page as gzip has it (RFC 1952). */
struct str page_packed(void);
/* The page itself, NUL-terminated, for as long as the process lives. 0 or
   ERR_NOMEM. */
int page_text(struct str *out);
/* Appends the fields of HTTP that go with it, each ended by CRLF: what a
   browser may do with it, its ETag, how long it is kept. */
void page_put_fields(struct buf *b);
/* "W/" and the quoted name of this version, as ETag has it. */
void page_tag(char out[16]);

#endif
