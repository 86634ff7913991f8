#ifndef BASE_GUNZIP_H
#define BASE_GUNZIP_H

/* gunzip - unpacks what the build packed into the binary with gzip -n
   (RFC 1951, 1952). It trusts what it reads, so it is for that alone. */

#include "base/base.h"

/* Unpacks it to *out, NUL-terminated; the caller frees out->p. ERR_NOMEM. */
int gunzip(struct str packed, struct str *out);
/* The CRC-32 of the unpacked text, as gzip wrote it. */
uint32_t gunzip_crc(struct str packed);

#endif
