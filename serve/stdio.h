#ifndef SERVE_STDIO_H
#define SERVE_STDIO_H

/* stdio - MCP over standard input and output, a message a line, for the one
   client that started this process. */

#include "serve/turn.h"

#define STDIO_MAX_LINE ((size_t)8 * 1024 * 1024)   /* without its line feed */
#define STDIO_MAX_UNSENT ((size_t)4 * 1024 * 1024) /* then it is not read */

struct stdio;

/* Opens /dev/null where descriptor 0, 1 or 2 is closed, so that no file opened
   later takes its place. To be called first of all. */
void stdio_fill(void);
/* Makes descriptors 0 and 1 a peer of t. 0 or ERR_NOMEM. */
int stdio_open(struct stdio **out, struct turn *t, struct loop *l);
/* Restores their flags; does not close them. io may be NULL. */
void stdio_close(struct stdio *io);
/* For turn_run: whether the input has ended or the server stops, and every
   answer is written or the client reads none. */
bool stdio_ended(void *ctx);

#endif
