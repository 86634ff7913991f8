#ifndef CLI_SERVER_H
#define CLI_SERVER_H

/* server - a request to the server of --server, and its answer: MCP of
   2026-07-28 over HTTP, or for batches of 2025-03-26, the only revision that
   has them; without a session, whose place others may need. It knows no
   tool. */

#include "cli/command.h"
#include "json.h"

#define SERVER_REV "2026-07-28"
#define BATCH_REV "2025-03-26"

/* The end of an error of a request that writes, where only the server knows how
   it ended. */
#define SERVER_MAY_HAVE_WRITTEN ", and the change may have been made\nrun " \
    "\"mcptask show\" to see"

/* One request. */
struct server_request {
    const char *method; /* of MCP */
    const char *path;   /* or, not NULL: GET this, whose JSON is the result */
    struct str name;    /* of the tool, or the uri; .p NULL: neither */
    struct str body;    /* the message */
    bool batch; /* it is one, and its result is the array of answers */
    unsigned wait_s;    /* how long the server may wait before it answers */
    bool person;        /* a person asks. Without tokens the server believes
                           it, as it does the page */
    bool writes;        /* it may take effect though no answer comes */
};

/* Sends q and waits for the answer, until c->answer_by or for 30 seconds
   besides wait_s; sends it again where the server says that there were too
   many. Returns 0
   and its result, or its error as JSON-RPC has it, the other one being NULL, in
   c->a; or an exit code after printing the error, which names the server; once
   cli_interrupted, without printing one. */
int server_ask(struct cli *c, const struct server_request *q,
               const struct json_tok **result, const struct json_tok **error);

/* A server that this machine runs as a service, with a store of its own: see
   docs/install.md. */
struct service {
    const char *server; /* for --server */
    char closed[200];   /* who may open its socket, if this user may not, to
                           follow "is"; or "" */
};

/* Looks for one by its files, without connecting to it. False also if its store
   is that of c. */
bool service_find(const struct cli *c, struct service *out);
/* If this user's own store has no task and there is a service, says on a
   terminal's stderr how to reach that. */
void service_hint(struct cli *c);

#endif
