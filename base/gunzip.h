#ifndef BASE_GUNZIP_H
#define BASE_GUNZIP_H

/* gunzip - unpacks data that the build packed into the binary with gzip -n (RFC
   1951, 1952). It trusts its input, so it must not be used for anything
   else. */

#include "base/base.h"

/* Unpacks into *out, NUL-terminated; the caller frees out->p. 0 or
   ERR_NOMEM. */
int gunzip(struct str packed, struct str *out);
/* The CRC-32 of the unpacked text, as gzip wrote it. */
uint32_t gunzip_crc(struct str packed);

#endif
