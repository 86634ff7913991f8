#ifndef TASK_NAME_H
#define TASK_NAME_H

/* name - what callers are called, and whom a name reaches.

   A product is a client's name in one form: "Claude Code" and "claude-code" are
   the same. An agent that gives no name has a default one, its product with 8
   hex digits of its session. People and models write the short word, so that
   "codex" has to reach codex-mcp-client-01c709ed, while "dev" must not reach
   dev-ops. All names here are text, not JSON. */

#include "base/base.h"

#define NAME_HEX 8 /* digits at the end of a default name */

/* The product of clientInfo.name, or the word for one, in a: in lower case, and
   with a hyphen for each character but a-z, 0-9 and '-'. .p NULL: no memory. */
struct str name_product(struct arena *a, struct str client);
/* Whether a product says who the client is: mcp, client, test and the like say
   nothing, and neither does one without a letter or digit. */
bool name_says_product(struct str product);
/* The default name of an agent of this product: agent, where the product says
   nothing. hex has NAME_HEX digits. In a; .p NULL: no memory. */
struct str name_default(struct arena *a, struct str product, struct str hex);

/* Whether word, read as a product, is this one, or begins it and ends before
   one of its hyphens: so do Claude and claude-code for claude-code, and clau
   does not. */
bool name_covers(struct str word, struct str product);
/* name without a hyphen and NAME_HEX digits at its end; empty if it has
   none. */
struct str name_stem(struct str name);

/* An agent, as names find it. */
struct name_agent {
    struct str name;
    struct str product; /* if name is its default one; else empty */
};
/* Whether what is addressed to word is for the agent: word is its name, its
   name without the digits or, under its default name, covers its product. */
bool name_reaches(struct str word, const struct name_agent *agent);

#endif
