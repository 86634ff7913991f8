#ifndef BASE_TOKEN_H
#define BASE_TOKEN_H

/* token - bearer tokens (RFC 6750) and the agents that they stand for, from
   a file with a line "token agent [read|person]" each. */

#include "base/base.h"

#define TOKEN_MIN_LEN 16
#define TOKEN_MAX_LEN 512
#define TOKEN_MAX_N 4096
#define TOKEN_MAX_FILE (1024 * 1024)

struct tokens;

struct token {
    struct str agent; /* 1-128 characters, no blanks */
    bool read_only;
    bool person; /* it is a person's, no program's */
};

/* Reads the file. Refused are group or other permissions, a malformed line, a
   token that is there twice. Blank lines and those that begin with # are
   skipped. ERR_INVALID, ERR_IO, ERR_NOMEM, and *why says what is
   wrong, by line number, never with the token. */
int tokens_load(struct tokens **out, const char *path, char why[256]);
void tokens_free(struct tokens *t);
/* How many there are. */
size_t tokens_count(const struct tokens *t);
/* Whom the bearer is, or NULL; in a time that tells nothing of any token but
   how many there are. */
const struct token *tokens_find(const struct tokens *t, struct str bearer);

#endif
