#ifndef MCP_METHODS_H
#define MCP_METHODS_H

/* methods - the table of methods, and results. */

#include "mcp/message.h"

enum feature {
    CORE, TOOLS, PROMPTS, RESOURCES, COMPLETIONS, LOGGING, TASKS, SKILLS,
    N_FEATURES
};
/* How long a result may be cached. WRITES: not at all, for each run stages a
   record. */
enum cache { UNCACHED, WRITES, CACHE_PUBLIC, CACHE_PRIVATE };

struct method {
    const char *name;
    uint8_t from, to; /* enum mcp_rev */
    uint8_t feature;
    uint8_t cache; /* enum cache */
    const char *target; /* the parameter that Mcp-Name repeats, or NULL */
    /* Judges its parameters; or NULL. Returns 0, MCP_REFUSED if the request has
       a fault, or ERR_NOMEM. */
    int (*judge)(struct request *r);
    /* Writes the members of the result. Returns 0, MCP_RUN_WAITS, or an
       error. */
    int (*run)(struct request *r);
};

/* tools/call. */
extern const struct method *const mcp_method_call;
/* Sets method and target of r; method is NULL if its revision or the catalogue
   has none of that name. */
void mcp_find_method(struct request *r);
/* The last step of judging: its parameters. Returns what a judge does. */
int mcp_check_params(struct request *r);
/* Appends the whole answer of a request that has a method. Returns 0,
   MCP_RUN_WAITS, or an error, with out in any state; sets out->err. */
int mcp_put_result(struct request *r, struct buf *out);

#endif
