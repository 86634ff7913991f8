#ifndef SERVE_STDIO_H
#define SERVE_STDIO_H

/* stdio - MCP over standard input and output, a message a line, for the one
   client that started this process. */

#include "serve/turn.h"

#define STDIO_MAX_LINE ((size_t)8 * 1024 * 1024)   /* without its line feed */
#define STDIO_MAX_UNSENT ((size_t)4 * 1024 * 1024) /* then it is not read */

struct stdio;

/* Opens something harmless where descriptor 0, 1 or 2 is closed, so that no
   file opened later takes its place. To be called first of all. */
void stdio_fill(void);
/* Takes descriptors 0 and 1 as a peer of s. 0, ERR_NOMEM. */
int stdio_open(struct stdio **out, struct turn *s, struct loop *l);
/* Gives them back as they were found; does not close them. */
void stdio_close(struct stdio *io);
/* Whether all is said: the input has ended or the server stops, and every
   answer is out or the client takes none. For turn_run. */
bool stdio_ended(void *ctx);

#endif
