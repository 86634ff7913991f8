#ifndef MCP_SIGN_H
#define MCP_SIGN_H

/* sign - signs texts that clients keep for us and that nobody else can make, by
   HMAC-SHA-256 (RFC 2104). The key is 32 random bytes in <log>.key, mode 0600,
   read or made when it is first needed. */

#include "base/base.h"
#include "store.h"

struct sign;

#define SIGN_MAX_PAYLOAD 16384 /* bytes */
#define SIGN_MAC_LEN 16        /* bytes of the HMAC that are kept */

/* Makes the signer of a store, which must outlive it. A store that cannot be
   written and has no key gets one for this process. Touches no file. Returns 0
   or ERR_NOMEM. */
int sign_new(struct sign **out, struct store *store);
void sign_free(struct sign *s);
/* Appends payload and its signature in base64url (RFC 4648, no padding). It
   opens only for the same use ("session", "state") and principal. Returns 0;
   ERR_IO if no key can be read or made; ERR_TOO_LARGE; ERR_NOMEM. */
int sign_seal(struct sign *s, const char *use, struct str principal,
              struct str payload, struct buf *out);
/* Finds the payload of text, in a. ERR_INVALID if it was not sealed like this;
   or an error of sign_seal. */
int sign_open(struct sign *s, const char *use, struct str principal,
              struct str text, struct arena *a, struct str *payload);

#endif
