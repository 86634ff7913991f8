/* sign - signs texts that clients keep for us and that nobody else can make.

   A text is SIGN_MAC_LEN bytes of an HMAC-SHA-256 (RFC 2104), then the payload,
   all in base64url without padding. The HMAC covers use, principal and payload,
   each after its length in 8 bytes, the highest first, so that no two of these
   triples give the same bytes. Texts outlive a server and its version: changing
   this form makes them void.

   The key is a file beside the log. A file by that name that is not a regular
   file of 32 bytes, or that others than its owner may use, is refused and left
   unchanged: others may know its content. stderr reports that once.

   Invariants:
   1. The key file appears by link, whole and synced, and is never written
      again: the second process uses the key of the first. The first may have
      been killed, so each process syncs the name before it seals. Only where
      hosts share a store may another file replace it; it is read each time.
   2. Opening a client's text makes no file: without a key, no text was ever
      sealed.
   3. The time of a comparison reveals nothing of the right bytes. */

#include "mcp/sign.h"
#include "store/remote.h"
#include "base/base64.h"
#include "base/file.h"
#include "base/sha256.h"
#include "base/text.h"
#include "mcp/wire.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define KEY_LEN 32
#define MAX_TEXT (((SIGN_MAC_LEN + SIGN_MAX_PAYLOAD) * 4 + 2) / 3)

struct sign {
    struct store *store;
    bool have; /* key holds the key */
    bool synced; /* its name is on disk, or it is only in memory */
    bool reported; /* stderr knows why there is no key */
    uint8_t key[KEY_LEN];
};

int
sign_new(struct sign **out, struct store *store)
{
    *out = calloc(1, sizeof(**out));
    if (*out == NULL)
        return ERR_NOMEM;
    (*out)->store = store;
    return 0;
}

void
sign_free(struct sign *s)
{
    free(s);
}

/* ---- the key ---- */

/* Tells the operator why, since no answer to a client does. Returns ERR_IO. */
static int
report_key(struct sign *s, const char *path, const char *what)
{
    if (!s->reported)
        text_tell("mcptask: %.300s: %s; until this is fixed, clients cannot "
                  "begin sessions\n",
                  path, what);
    s->reported = true;
    return ERR_IO;
}

/* Reads the key from path. 0, ERR_NOT_FOUND or ERR_IO. */
static int
read_sign_key(struct sign *s, const char *path)
{
    const char *why;
    size_t len;
    int fd = file_open_private(path, O_NOFOLLOW, &len, &why);

    if (fd == ERR_IO)
        return errno == ENOENT ? ERR_NOT_FOUND : report_key(s, path, why);
    s->have = fd >= 0 && len == KEY_LEN &&
              pread(fd, s->key, KEY_LEN, 0) == KEY_LEN;
    if (fd >= 0)
        close(fd);
    return s->have ? 0 : report_key(s, path, "not a private file of 32 bytes, "
                                       "so remove it");
}

/* Makes a key at path, beside log, unless another process just has (1). */
static int
make_key(const char *path, const char *log, struct arena *a)
{
    uint8_t raw[KEY_LEN + sizeof(uint64_t)]; /* the key, and a name */
    const char *temp;
    uint64_t name;
    int rc = random_bytes(raw, sizeof(raw));

    if (rc != 0)
        return rc;
    memcpy(&name, raw + KEY_LEN, sizeof(name));
    temp = arena_printf(a, "%s.%016llx", path, (unsigned long long)name).p;
    if (temp == NULL)
        return ERR_NOMEM;
    rc = file_write_new(temp, log, (struct str){(const char *)raw, KEY_LEN},
                        true);
    if (rc == 0 && link(temp, path) != 0 && errno != EEXIST)
        rc = file_error();
    unlink(temp);
    return rc;
}

/* The log is resolved once its directory exists. */
static const char *
key_path(const struct sign *s, struct arena *a)
{
    return arena_printf(a, "%s.key", store_path(s->store)).p;
}

static int
find_key(struct sign *s, struct arena *a, bool make)
{
    const char *path = key_path(s, a);
    int rc = path != NULL ? read_sign_key(s, path) : ERR_NOMEM;

    if (rc != ERR_NOT_FOUND || !make)
        return rc;
    rc = store_make_dir(s->store);
    if (rc == 0) {
        path = key_path(s, a);
        rc = path != NULL ? make_key(path, store_path(s->store), a) : ERR_NOMEM;
    }
    if (rc == 0)
        return read_sign_key(s, path);
    if (rc == ERR_READONLY) { /* a key for the life of this process */
        rc = random_bytes(s->key, KEY_LEN);
        s->have = s->synced = rc == 0;
    }
    return rc == 0 || rc == ERR_NOMEM ? rc
                                      : report_key(s, path,
                                                   "cannot be created");
}

/* Loads the key into memory. Without make, ERR_INVALID if there is none (2). */
static int
need_key(struct sign *s, bool make)
{
    struct arena a = {0};
    /* Where hosts share a store, the file gets their key once they answer. */
    bool is_current = s->have && !store_is_shared(s->store);
    int rc = is_current ? 0 : find_key(s, &a, make);

    if (rc == 0 && make && !s->synced) {
        /* A process that may not sync the name of the key (1) has not made it
           either. */
        rc = file_sync_path_of(store_path(s->store));
        s->synced = rc == 0 || rc == ERR_READONLY;
        if (s->synced)
            rc = 0;
        else if (rc != ERR_NOMEM)
            rc = report_key(s, key_path(s, &a), "cannot be synced");
    }
    arena_fini(&a);
    if (rc == ERR_NOT_FOUND && !make)
        return ERR_INVALID;
    return rc == 0 || rc == ERR_NOMEM ? rc : ERR_IO;
}

/* ---- the HMAC ---- */

/* Begins the inner or the outer hash of an HMAC. */
static void
begin_mac(struct sha256 *h, const uint8_t key[KEY_LEN], uint8_t pad)
{
    uint8_t block[64];

    memset(block, pad, sizeof(block));
    for (int i = 0; i < KEY_LEN; i++)
        block[i] ^= key[i];
    sha256_init(h);
    sha256_add(h, block, sizeof(block));
}

static void
mac_of(const struct sign *s, const char *use, struct str principal,
       struct str payload, uint8_t out[SHA256_LEN])
{
    const struct str parts[] = {str_of(use), principal, payload};
    struct sha256 h;

    begin_mac(&h, s->key, 0x36);
    for (int i = 0; i < 3; i++) {
        uint8_t len[8];

        mcp_put_be64(len, parts[i].len);
        sha256_add(&h, len, sizeof(len));
        sha256_add(&h, parts[i].p, parts[i].len);
    }
    sha256_end(&h, out);
    begin_mac(&h, s->key, 0x5c);
    sha256_add(&h, out, SHA256_LEN);
    sha256_end(&h, out);
}

/* ---- texts ---- */

int
sign_seal(struct sign *s, const char *use, struct str principal,
          struct str payload, struct buf *out)
{
    uint8_t mac[SHA256_LEN];
    struct buf raw = {0};
    int rc = payload.len > SIGN_MAX_PAYLOAD ? ERR_TOO_LARGE
                                            : need_key(s, true);

    if (rc != 0)
        return rc;
    mac_of(s, use, principal, payload, mac);
    buf_put(&raw, mac, SIGN_MAC_LEN);
    buf_str(&raw, payload);
    rc = raw.err;
    if (rc == 0)
        base64url_encode(out, buf_view(&raw));
    buf_fini(&raw);
    return rc != 0 ? rc : out->err;
}

int
sign_open(struct sign *s, const char *use, struct str principal,
          struct str text, struct arena *a, struct str *payload)
{
    uint8_t mac[SHA256_LEN];
    unsigned wrong = 0;
    struct str raw;
    int rc = text.len > MAX_TEXT ? ERR_SYNTAX
                                 : base64url_decode(a, text, &raw);

    if (rc == ERR_SYNTAX || (rc == 0 && raw.len < SIGN_MAC_LEN))
        return ERR_INVALID;
    if (rc == 0)
        rc = need_key(s, false);
    if (rc != 0)
        return rc;
    struct str inner = {raw.p + SIGN_MAC_LEN, raw.len - SIGN_MAC_LEN};
    mac_of(s, use, principal, inner, mac);
    for (int i = 0; i < SIGN_MAC_LEN; i++) /* (3) */
        wrong |= mac[i] ^ (uint8_t)raw.p[i];
    if (wrong != 0)
        return ERR_INVALID;
    *payload = inner;
    return 0;
}
