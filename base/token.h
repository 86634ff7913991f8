#ifndef BASE_TOKEN_H
#define BASE_TOKEN_H

/* token - bearer tokens (RFC 6750) and their agents, from a file with lines
   "token agent [read|person]". */

#include "base/base.h"

#define TOKEN_MIN_LEN 16
#define TOKEN_MAX_LEN 512
#define TOKEN_MAX_N 4096
#define TOKEN_MAX_FILE (1024 * 1024)

struct tokens;

struct token {
    struct str agent; /* 1-128 characters, no blanks */
    bool read_only;
    bool person; /* a person's, not a program's */
};

/* Reads the file. It refuses group or other permissions, a malformed line, and
   a repeated token. Blank lines and lines that begin with # are skipped.
   ERR_INVALID, ERR_IO or ERR_NOMEM; *why explains by line number, never with
   the token. */
int tokens_load(struct tokens **out, const char *path, char why[256]);
void tokens_free(struct tokens *t);
/* Cuts the next word, which may be empty, and the blanks before it off a line.
   A line has a token, an agent and optionally a mark, or begins with '#'. */
struct str token_word(struct str *line);
/* The number of tokens. */
size_t tokens_count(const struct tokens *t);
/* Whether one of them has this agent. */
bool tokens_have(const struct tokens *t, struct str agent);
/* The bearer's entry, or NULL. The time taken depends only on the number of
   tokens. */
const struct token *tokens_find(const struct tokens *t, struct str bearer);

#endif
