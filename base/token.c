/* token - bearer tokens and their agents.

   One bad line makes the whole file invalid: a misread line must not grant a
   token more than was intended.

   Invariants:
   1. Once the file is read, memory holds only the SHA-256 of each token.
   2. Each find compares every digest in full, even after a match.
   3. Errors about the file contain line numbers, never the lines' content. */

#include "base/token.h"
#include "base/file.h"
#include "base/sha256.h"
#include "base/text.h"
#include "base/utf8.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define AGENT_MAX 128 /* characters */

struct entry {
    uint8_t digest[SHA256_LEN];
    struct token token;
};

struct tokens {
    struct buf list; /* of entries */
    struct arena agents;
};

/* ---- finding ---- */

size_t
tokens_count(const struct tokens *t)
{
    return t->list.len / sizeof(struct entry);
}

static const struct entry *
entries_of(const struct tokens *t)
{
    return (const struct entry *)(const void *)t->list.p;
}

/* Returns the entry's index, or the number of entries (invariant 2). */
static size_t
find_digest(const struct tokens *t, const uint8_t digest[SHA256_LEN])
{
    size_t n = tokens_count(t), at = n;

    for (size_t i = 0; i < n; i++) {
        unsigned differ = 0;

        for (int j = 0; j < SHA256_LEN; j++)
            differ |= entries_of(t)[i].digest[j] ^ digest[j];
        /* All ones if the digests match; differ is below 256. */
        size_t same = 0 - (size_t)((differ - 1) >> 8 & 1);
        at = (at & ~same) | (i & same);
    }
    return at;
}

const struct token *
tokens_find(const struct tokens *t, struct str bearer)
{
    uint8_t digest[SHA256_LEN];

    sha256_of(bearer, digest);
    size_t at = find_digest(t, digest);
    return at < tokens_count(t) ? &entries_of(t)[at].token : NULL;
}

bool
tokens_have(const struct tokens *t, struct str agent)
{
    size_t n = tokens_count(t), i = 0;

    while (i < n && !str_eq(entries_of(t)[i].token.agent, agent))
        i++;
    return i < n;
}

/* ---- a line ---- */

struct str
token_word(struct str *line)
{
    struct str word;
    size_t n = 0;

    while (line->len > 0 && (*line->p == ' ' || *line->p == '\t'))
        *line = str_from(*line, 1);
    while (n < line->len && line->p[n] != ' ' && line->p[n] != '\t')
        n++;
    word = (struct str){line->p, n};
    *line = str_from(*line, n);
    return word;
}

/* Returns whether s is a b64token (RFC 6750, 2.1) of a valid length. */
static bool
is_token(struct str s)
{
    size_t n = s.len, i;

    while (n > 0 && s.p[n - 1] == '=')
        n--;
    for (i = 0; i < n; i++)
        if (s.p[i] == '\0' ||
            strchr("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
                   "0123456789-._~+/", s.p[i]) == NULL)
            return false;
    return n > 0 && s.len >= TOKEN_MIN_LEN && s.len <= TOKEN_MAX_LEN;
}

static bool
is_agent(struct str s)
{
    const char *p = s.p, *end = s.p + s.len;
    size_t chars = 0, n = 1;

    for (; p < end && n > 0; p += n, chars++)
        n = (uint8_t)*p <= ' ' || *p == 0x7f ? 0 : utf8_len(p, end);
    return n > 0 && chars > 0 && chars <= AGENT_MAX;
}

/* What is wrong with e, or NULL. */
static const char *
judge_entry(const struct tokens *t, const struct entry *e, struct str token,
            struct str agent, bool mark_is_known)
{
    if (!is_token(token))
        return "a token is 16 to 512 letters, digits and -._~+/";
    if (!is_agent(agent))
        return "an agent is 1 to 128 characters without blanks";
    if (!mark_is_known)
        return "only \"read\" or \"person\" may follow the agent";
    if (find_digest(t, e->digest) < tokens_count(t))
        return "this token occurs twice";
    return tokens_count(t) == TOKEN_MAX_N ? "too many tokens" : NULL;
}

/* Parses a line. 0, ERR_INVALID with *what, or ERR_NOMEM. */
static int
read_token_line(struct tokens *t, struct str line, const char **what)
{
    struct str token = token_word(&line), agent = token_word(&line);
    struct str mark = token_word(&line);
    struct entry e = {.token.read_only = str_is(mark, "read"),
                      .token.person = str_is(mark, "person")};

    if (token.len == 0 || *token.p == '#')
        return 0;
    sha256_of(token, e.digest);
    *what = judge_entry(t, &e, token, agent,
                        (mark.len == 0 || e.token.read_only ||
                         e.token.person) && token_word(&line).len == 0);
    if (*what != NULL)
        return ERR_INVALID;
    e.token.agent = arena_str(&t->agents, agent);
    buf_put(&t->list, &e, sizeof(e));
    return e.token.agent.p == NULL ? ERR_NOMEM : t->list.err;
}

/* ---- the file ---- */

/* Reads all lines of fd, at most len bytes. */
static int
read_token_file(struct tokens *t, int fd, size_t len, const char *path,
                char why[256])
{
    char *text = malloc(len + 1);
    ssize_t got = text == NULL ? 0 : file_read_at(fd, text, len, 0);
    struct str rest = {text, got > 0 ? (size_t)got : 0};
    int rc = text == NULL ? ERR_NOMEM : 0;
    const char *what;

    if (got < 0) {
        text_put(why, 256, "%.180s: %s", path, strerror(errno));
        rc = ERR_IO;
    }
    for (unsigned line = 1; rc == 0 && rest.len > 0; line++) {
        rc = read_token_line(t, str_line(&rest), &what);
        if (rc == ERR_INVALID)
            text_put(why, 256, "%.180s:%u: %s", path, line, what);
    }
    for (volatile char *p = text; p != NULL && len > 0; len--) /* invariant 1 */
        p[len - 1] = 0;
    free(text);
    return rc;
}

int
tokens_load(struct tokens **out, const char *path, char why[256])
{
    struct tokens *t = calloc(1, sizeof(*t));
    const char *what;
    size_t len;
    int rc = ERR_NOMEM;

    *out = NULL;
    text_put(why, 256, "out of memory");
    if (t == NULL)
        return rc;
    /* Follows links: secrets are mounted that way. */
    int fd = file_open_private(path, 0, &len, &what);
    if (fd >= 0 && len > TOKEN_MAX_FILE)
        what = "larger than 1 MiB";
    if (what == NULL) {
        rc = read_token_file(t, fd, len, path, why);
    } else {
        text_put(why, 256, "%.180s: %s", path, what);
        rc = fd < 0 ? fd : ERR_INVALID;
    }
    if (fd >= 0)
        close(fd);
    if (rc == 0) {
        why[0] = '\0';
        *out = t;
    } else {
        tokens_free(t);
    }
    return rc;
}

void
tokens_free(struct tokens *t)
{
    if (t == NULL)
        return;
    arena_fini(&t->agents);
    buf_fini(&t->list);
    free(t);
}
