#ifndef BASE_BASE64_H
#define BASE_BASE64_H

/* base64 - bytes as text (RFC 4648). */

#include "base/base.h"

/* Decodes RFC 4648, section 4, with padding. ERR_SYNTAX: anything else, which
   includes non-canonical text; ERR_NOMEM. *out is in a. */
int base64_decode(struct arena *a, struct str text, struct str *out);
void base64_encode(struct buf *b, struct str bytes);
/* The same for RFC 4648, section 5, without padding. */
int base64url_decode(struct arena *a, struct str text, struct str *out);
void base64url_encode(struct buf *b, struct str bytes);

#endif
