#ifndef MCP_SCAN_H
#define MCP_SCAN_H

/* scan - finds the id of a message that cannot be parsed, or is too long. */

#include "base/base.h"

/* All zero at first, then fed the message in any pieces. */
struct mcp_scan {
    char text[128];
    size_t len;
    uint32_t depth; /* of brackets */
    bool quoted, escaped, wanted, done;
};
void mcp_scan(struct mcp_scan *s, struct str piece);
/* Sets *id to the raw id found, if any; memory in a. ERR_NOMEM. */
int mcp_scan_id(const struct mcp_scan *s, struct arena *a, struct str *id);

#endif
