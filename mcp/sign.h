#ifndef MCP_SIGN_H
#define MCP_SIGN_H

/* sign - texts that clients carry for us and that nobody else can make:
   HMAC-SHA-256 (RFC 2104) with a key of 32 random bytes in <log>.key, mode
   0600, which is read or made when it is first needed. */

#include "base/base.h"
#include "store.h"

struct sign;

#define SIGN_MAX_PAYLOAD 16384 /* bytes */
#define SIGN_MAC_LEN 16        /* bytes of the HMAC that are kept */

/* The key that belongs to the store, which must outlive it. A store that
   cannot be written and has no key gets one for this process. 0, ERR_NOMEM;
   no file is touched yet. */
int sign_new(struct sign **out, struct store *store);
void sign_free(struct sign *s);
/* Appends payload and its signature in base64url (RFC 4648, no padding). It
   opens only for the same use ("session", "state") and principal. ERR_IO: no
   key can be read or made, ERR_TOO_LARGE, ERR_NOMEM. */
int sign_seal(struct sign *s, const char *use, struct str principal,
              struct str payload, struct buf *out);
/* The payload of text, in a. ERR_INVALID: not sealed so; as sign_seal. */
int sign_open(struct sign *s, const char *use, struct str principal,
              struct str text, struct arena *a, struct str *payload);

#endif
