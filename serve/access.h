#ifndef SERVE_ACCESS_H
#define SERVE_ACCESS_H

/* access - checks who sends a request over HTTP, and how often: Host, Origin,
   the bearer token, the rate. */

#include "base/token.h"
#include "serve/web.h"

#define ACCESS_SHARES 64 /* principals whose rate is known */

struct access { /* all zero before access_open */
    struct web_options o;
    struct tokens *tokens; /* NULL: no token is needed */
    int64_t each_us;       /* time that a request costs; 0: no limit */
    struct access_share {
        uint64_t who;    /* hash of the principal's name */
        int64_t free_us; /* its time is used up until then */
    } share[ACCESS_SHARES];
};

struct caller { /* the sender of a request */
    struct buf text;   /* the agent that has the token, then the token */
    size_t agent_len;
    bool read_only;    /* by its token */
    bool person;       /* by its token; without any, by the page */
};

/* Reads the token file; an address that others can reach needs one. Returns 0,
   ERR_INVALID, or an error of tokens_load, explained in why. */
int access_open(struct access *a, const struct web_options *o, char why[256]);
void access_close(struct access *a);
/* Reads the token file again. A bad file is reported on stderr and changes
   nothing. Returns whether the tokens may have changed. */
bool access_reload(struct access *a);

/* Whether Host and Origin show that no page of another site has sent this;
   address is our own. */
bool access_is_ours(const struct web_options *o, const char *address,
                    const struct http_head *h);
/* Whether a browser fetches this for a page of another site without an
   Origin, such as an image. */
bool access_is_cross_site(const struct http_head *h);
/* Whether the page of this server sent it. */
bool access_is_page(const struct http_head *h);
/* Whether a field that identifies the caller is repeated: a proxy may have used
   the other one. */
bool access_is_ambiguous(const struct http_head *h);

/* Sets *c by the bearer token. Returns 0, or the status 401 or 503. Free
   c->text. */
int access_find(const struct access *a, const struct http_head *h,
                struct caller *c);
/* Whether the token of *c still has the same meaning. */
bool access_is_known(const struct access *a, const struct caller *c);
/* The agent of the token; "" if no token is needed. */
struct str access_principal(const struct caller *c);

/* Charges one request to the principal. Returns 0; or the milliseconds to wait,
   and charges nothing. The requests of two seconds may come at the same
   time. */
unsigned access_wait_ms(struct access *a, struct str principal,
                        int64_t now_ms);
/* Charges n more requests. */
void access_charge(struct access *a, struct str principal, int64_t now_ms,
                   uint64_t n);

/* Whether a token has this agent; of is a struct access. */
bool access_has(const void *of, struct str agent);

#endif
