#ifndef SERVE_STDIO_H
#define SERVE_STDIO_H

/* stdio - MCP over standard input and output, one message per line, for the
   client that started this process. */

#include "serve/turn.h"

#define STDIO_MAX_LINE ((size_t)8 * 1024 * 1024)   /* without its line feed */
#define STDIO_MAX_UNSENT ((size_t)4 * 1024 * 1024) /* above it, no input */

struct stdio;

/* Opens /dev/null for each of descriptors 0, 1 and 2 that is closed, so that no
   file opened later gets its number. Call it before anything else. */
void stdio_fill(void);
/* Makes descriptors 0 and 1 a peer of t. Returns 0 or ERR_NOMEM. */
int stdio_open(struct stdio **out, struct turn *t, struct loop *l);
/* Restores the flags of the descriptors and leaves them open. io may be
   NULL. */
void stdio_close(struct stdio *io);
/* For turn_run, with the struct stdio as ctx: whether the input has ended or
   the server stops, and every answer is written or the client reads none. */
bool stdio_ended(void *ctx);

#endif
