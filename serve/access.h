#ifndef SERVE_ACCESS_H
#define SERVE_ACCESS_H

/* access - who may ask over HTTP, and how often: Host, Origin, the bearer
   token, the rate. */

#include "base/token.h"
#include "serve/web.h"

#define ACCESS_SHARES 64 /* principals whose rate is known */

struct access { /* zeroed, then access_open */
    struct web_options o;
    struct tokens *tokens; /* NULL: no token is needed */
    int64_t each_us;       /* that a request takes of its principal's time */
    struct access_share {
        uint64_t who;    /* hash of the principal's name */
        int64_t free_us; /* until then it has used its time */
    } share[ACCESS_SHARES];
};

struct caller { /* whom a request comes from */
    struct buf text;   /* the agent whose token it is, then the token */
    size_t agent_len;
    bool read_only;    /* by its token */
};

/* Reads the token file, which an address that others can reach needs.
   ERR_INVALID, or as tokens_load, and *why says it. */
int access_open(struct access *a, const struct web_options *o, char why[256]);
void access_close(struct access *a);
/* Reads the token file again; a bad one changes nothing, and is reported on
   stderr. Whether the tokens may have changed. */
bool access_reload(struct access *a);

/* Whether Host and Origin show that no page of another site has sent this;
   address is our own. */
bool access_is_ours(const struct web_options *o, const char *address,
                    const struct http_head *h);
/* Whether a page of another site has its browser fetch this without an
   Origin, as for an image. */
bool access_is_cross_site(const struct http_head *h);
/* Whether a field that says who asks stands twice: a proxy may have gone by
   the other one. */
bool access_is_ambiguous(const struct http_head *h);

/* Sets *c by the bearer token: 0, or the status 401 or 503. c->text is the
   caller's to free. */
int access_find(const struct access *a, const struct http_head *h,
                struct caller *c);
/* Whether the token that *c came with still means the same. */
bool access_is_known(const struct access *a, const struct caller *c);
/* "" where no token is needed. */
struct str access_principal(const struct caller *c);

/* Takes the time of one request from the principal's: 0, or in how many
   milliseconds there is enough; two seconds' requests may come at once. */
unsigned access_wait_ms(struct access *a, struct str principal,
                        int64_t now_ms);
/* Takes the time of n more requests. */
void access_charge(struct access *a, struct str principal, int64_t now_ms,
                   uint64_t n);

#endif
