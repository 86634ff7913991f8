/* access - checks who sends a request over HTTP, and how often.

   A page of another site can make a browser send requests here: its host name
   can resolve to 127.0.0.1. Host and Origin then hold that name, so only our
   own names are accepted:

   1. The whole name is compared, in any case, with any port or, if the option
      names one, with that port alone.
   2. A Unix socket accepts any Host, as no browser reaches it. A proxy can, so
      Origin is checked there too.
   3. An origin that is not an http(s) URL, such as "null", needs
      --allow-origin. */

#include "serve/access.h"

#include "base/text.h"

#include <string.h>
#include <strings.h>

#define SECOND_US 1000000

static bool
is_unix(const char *address)
{
    return str_starts(str_of(address), "unix:");
}

/* Removes a word, in upper or lower case, from the front of s. */
static bool
cut_word(struct str *s, struct str word)
{
    bool found = word.len <= s->len &&
                 strncasecmp(s->p, word.p, word.len) == 0;

    if (found)
        *s = str_from(*s, word.len);
    return found;
}

/* Invariant 1. */
static bool
is_host_named(struct str host, struct str name)
{
    uint64_t port;

    if (!cut_word(&host, name))
        return false;
    return host.len == 0 ||
           (host.p[0] == ':' &&
            (host.len == 1 ||
             str_u64((struct str){host.p + 1, host.len - 1}, &port)));
}

static bool
is_allowed(const struct web_options *o, const char *address, struct str host)
{
    /* "host:port" without ":port" */
    struct str own = {address, (size_t)(strrchr(address, ':') - address)};
    size_t i;

    if (is_host_named(host, STR("localhost")) ||
        is_host_named(host, STR("127.0.0.1")) ||
        is_host_named(host, STR("[::1]")) ||
        (!is_unix(address) && is_host_named(host, own)))
        return true;
    for (i = 0; i < WEB_MAX_ALLOW && o->allow_host[i] != NULL; i++)
        if (is_host_named(host, str_of(o->allow_host[i])))
            return true;
    return false;
}

/* Returns where the host begins in an origin; 0: it is not an http(s) URL. */
static size_t
scheme_len(struct str origin)
{
    if (str_starts(origin, "http://"))
        return sizeof("http://") - 1;
    return str_starts(origin, "https://") ? sizeof("https://") - 1 : 0;
}

static bool
is_origin(const struct web_options *o, const char *address, struct str origin)
{
    size_t i, skip = scheme_len(origin);

    for (i = 0; i < WEB_MAX_ALLOW && o->allow_origin[i] != NULL; i++)
        if (str_is(origin, o->allow_origin[i]))
            return true;
    return skip > 0 &&
           is_allowed(o, address,
                      (struct str){origin.p + skip, origin.len - skip});
}

/* Invariants 2 and 3. */
bool
access_is_ours(const struct web_options *o, const char *address,
               const struct http_head *h)
{
    bool twice = false;
    struct str origin = http_field_once(h, "origin", &twice);

    if (twice ||
        (!is_unix(address) &&
         (h->host.p == NULL || !is_allowed(o, address, h->host))))
        return false;
    return origin.p == NULL || is_origin(o, address, origin);
}

bool
access_is_cross_site(const struct http_head *h)
{
    return str_is(http_field_of(h, "sec-fetch-site"), "cross-site") &&
           http_field_of(h, "origin").p == NULL;
}

bool
access_is_page(const struct http_head *h)
{
    struct str origin = http_field_of(h, "origin");
    size_t skip = scheme_len(origin);

    return skip > 0 && str_eq(str_from(origin, skip), h->host);
}

bool
access_is_ambiguous(const struct http_head *h)
{
    bool twice = false;

    http_field_once(h, "authorization", &twice);
    http_field_once(h, "mcp-session-id", &twice);
    return twice;
}

/* The bearer token of the request, or empty. */
static struct str
bearer_of(const struct http_head *h)
{
    struct str v = http_field_of(h, "authorization");

    return cut_word(&v, STR("Bearer ")) ? str_trim(v) : STR_NONE;
}

int
access_find(const struct access *a, const struct http_head *h,
            struct caller *c)
{
    struct str token = bearer_of(h);
    const struct token *t = tokens_find(a->tokens, token);

    if (t == NULL)
        return 401;
    buf_str(&c->text, t->agent);
    buf_str(&c->text, token);
    c->agent_len = t->agent.len;
    c->read_only = t->read_only;
    c->person = t->person;
    return c->text.err == 0 ? 0 : 503;
}

struct str
access_principal(const struct caller *c)
{
    return (struct str){c->text.p, c->agent_len};
}

bool
access_is_known(const struct access *a, const struct caller *c)
{
    const struct token *t = tokens_find(
        a->tokens, (struct str){c->text.p + c->agent_len,
                                c->text.len - c->agent_len});

    return t != NULL && str_eq(t->agent, access_principal(c)) &&
           t->read_only == c->read_only && t->person == c->person;
}

/* ---- the rate ---- */

/* The time until which the principal has used up its share, at least now. If
   all shares are in use, the oldest is reused, which matters only if more than
   ACCESS_SHARES principals send at the same time. */
static int64_t *
free_us(struct access *a, struct str who, int64_t now_us)
{
    struct access_share *x = a->share, *found = x;
    uint64_t hash = str_hash(who);

    for (; x < a->share + ACCESS_SHARES && found->who != hash; x++)
        if (x->who == hash || x->free_us < found->free_us)
            found = x;
    if (found->who != hash || found->free_us < now_us)
        *found = (struct access_share){hash, now_us};
    return &found->free_us;
}

unsigned
access_wait_ms(struct access *a, struct str principal, int64_t now_ms)
{
    int64_t over, *until;

    if (a->each_us == 0)
        return 0;
    until = free_us(a, principal, now_ms * 1000);
    over = *until + a->each_us - now_ms * 1000 - 2 * SECOND_US;
    if (over > 0)
        return (unsigned)((over + 999) / 1000);
    *until += a->each_us;
    return 0;
}

void
access_charge(struct access *a, struct str principal, int64_t now_ms,
              uint64_t n)
{
    *free_us(a, principal, now_ms * 1000) += (int64_t)n * a->each_us;
}

/* ---- begin and end ---- */

int
access_open(struct access *a, const struct web_options *o, char why[256])
{
    a->o = *o;
    a->each_us = o->rate > 0 ? SECOND_US / (int64_t)o->rate : 0;
    if (o->token_file != NULL)
        return tokens_load(&a->tokens, o->token_file, why);
    if (http_is_local(&o->http))
        return 0;
    text_put(why, 256, "%s: other hosts or users can reach it, so add "
             "--token-file FILE",
             o->http.fd < 0 ? o->http.host : "the passed socket");
    return ERR_INVALID;
}

void
access_close(struct access *a)
{
    tokens_free(a->tokens);
}

bool
access_reload(struct access *a)
{
    struct tokens *t;
    char why[256];

    if (a->o.token_file == NULL)
        return false;
    if (tokens_load(&t, a->o.token_file, why) < 0) {
        text_tell("mcptask: %s; the old tokens stay in use\n", why);
        return false;
    }
    tokens_free(a->tokens);
    a->tokens = t;
    return true;
}

bool
access_has(const void *of, struct str agent)
{
    const struct access *a = of;

    return a->tokens != NULL && tokens_have(a->tokens, agent);
}
