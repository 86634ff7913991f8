#ifndef TEST_MCP_TOY_H
#define TEST_MCP_TOY_H

/* Catalogues that have nothing to do with tasks, for the tests of mcp:
   toy_catalogue only answers; toy_talker also asks, waits and reports; calls of
   toy_worker outlive their requests; and in toys, toy://NAME and toy://NAME/...
   are the record toy/NAME. */

#include "mcp/mcp.h"

extern const struct mcp_catalogue toy_catalogue, toy_talker, toy_worker, toys;

extern unsigned toy_prepared, toy_runs; /* calls of keep's functions */
extern unsigned toy_wakes;   /* runs of wait that wait first */
extern bool toy_looks;       /* these runs go on and do not wait */
extern unsigned toy_step;    /* runs for each report of progress */
extern int64_t toy_until_ms; /* of wait's last run */

extern struct store *toy_store; /* where the worker's toys are */

/* A record that begins with "owner":"<name>" also has its owner's name. */
struct str worker_alias(struct str key, struct str body,
                        char buf[CALL_WATCH_MAX]);

#endif
