#ifndef TASK_NAME_H
#define TASK_NAME_H

/* name - what callers are called, and whom an address reaches.

   A product is a client's name in one form: "Claude Code" and "claude-code" are
   the same. An agent that gives no name has a default one, its product with 8
   hex digits of its session. People and models address agents by words of
   their own, so that "codex" and "Codex CLI" have to reach
   codex-mcp-client-01c709ed, while "dev" must not reach dev-ops.

   All names here are text, not JSON. What is said of a product holds for any
   way to write it: upper case and all characters but letters and digits only
   divide it into segments. */

#include "base/base.h"

#define NAME_HEX 8 /* digits at the end of a default name */

/* The product of clientInfo.name, or the word for one, in a: its segments in
   lower case, with hyphens between them. .p NULL: no memory. */
struct str name_product(struct arena *a, struct str client);
/* Whether a product says who the client is: mcp, client, test and the like say
   nothing, and neither does one without a letter or digit. */
bool name_says_product(struct str product);
/* The default name of an agent of this product: agent, where the product says
   nothing. hex has NAME_HEX digits. In a; .p NULL: no memory. */
struct str name_default(struct arena *a, struct str product, struct str hex);

/* Whether two names are those of one product. 0.3.0 stored other forms. */
bool name_is_product(struct str name, struct str product);
/* Whether word is this product, or its first segments: so are Claude and
   claude-code of claude-code, and clau is not. */
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
   name without the digits or, under its default name, the beginning of its
   product. For the last, segments that say nothing, such as cli, and the names
   of makers do not count. A word that ends with NAME_HEX digits is one session
   alone. */
bool name_reaches(struct str word, const struct name_agent *agent);
/* The agent of this name, as far as that tells: if it ends with digits, it is
   taken for a default one. */
struct name_agent name_agent_of(struct str name);

#endif
