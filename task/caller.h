#ifndef TASK_CALLER_H
#define TASK_CALLER_H

/* caller - who makes a request, why it was refused, what callers are called,
   and whom an address reaches. */

#include "base/base.h"

/* Why a request was refused. Texts never include the content of a task. */
struct task_error {
    int code;           /* enum err, 0: no error */
    struct str message; /* a sentence for the agent */
    struct str field;   /* the argument at fault, or empty */
    struct str next;    /* what to do next, or empty */
    uint64_t version;   /* the task's current one, 0: not given */
    unsigned allowed;   /* allowed statuses, one bit each, 0: not given */
    struct str holder;  /* raw JSON string: the holder of the task; .p NULL */
    struct str expires; /* raw JSON string: end of the lease; .p NULL */
    struct str taken;   /* raw JSON object: who took the task over from the
                           caller */
    struct str blocked_by, deps_failed; /* as in struct task */
    bool unknown;       /* the outcome is unknown: it may have happened */
    bool for_now;       /* the same may succeed later */
    bool gone;          /* the holder is seen to be gone */
};

/* Who makes a request. task/may.h answers what it may do. */
struct task_actor {
    struct str name;      /* raw: the agent that the arguments name, "unknown"
                             where they name none; set by task_change */
    struct str self;      /* the name where none is given; or empty */
    bool chosen;          /* somebody chose self, by MCP_TASK_AGENT */
    struct str client;    /* the product of its client, as name_product makes
                             it; or empty */
    struct str principal; /* of its token; empty: the only principal */
    struct str session;   /* the name of its session, or empty; no escapes */
    struct str repo;      /* raw: its project, as project_names gives it: work
                             is handed out of that one; .p NULL: of all */
    bool person;          /* a person, not an agent */
    struct str login;     /* of its process, or its token's agent; or empty */
    struct str user;      /* raw: what the user of its client is called, who
                             was asked by that and does this; .p NULL: none */
    bool ownership_warn;  /* leases of others only warn it */
    bool unnamed;         /* it gave no name: name is a default one or none; set
                             by task_change */
    bool first;           /* it is the first call of a session over HTTP */
    /* Whether two names are of one session. NULL if session is empty. */
    bool (*is_same)(struct str a, struct str b);
    /* Whether a token has this agent (text). NULL if nobody knows tokens. */
    bool (*has_token)(const void *of, struct str agent);
    const void *of;
};

struct project;

/* The caller of a request, and its settings. */
struct task_ctx {
    struct arena *a;
    struct task_actor who;
    const struct project *at; /* where it works, if that is known and on this
                                 host: task/project.h; else NULL */
    struct str meant;      /* raw: what its repo_path meant when it called
                              first; empty: what it means now */
    bool require_evidence; /* refuse done without test_results, */
    bool require_pass;     /* and unless they show that all is well */
    bool unread;           /* nobody reads the receipt: it has no messages */
    size_t read_max;       /* bytes of records that a read may take; 0: no
                              limit */
    const struct str *ids; /* of tasks made before in the same call: "#0" is
                              the first; NULL: such names are not allowed */
    size_t n_ids;
    struct task_error e;   /* says why, when a call has failed */
};

/* Fills c->e and returns code. The message is formatted as by printf. */
int task_fail(struct task_ctx *c, int code, const char *field,
              const char *fmt, ...) PRINTF(4, 5);
/* The same for an error of the store (ERR_BUSY, ERR_FULL, ERR_IO ...). */
int task_fail_store(struct task_ctx *c, int code);
/* Says what to do next instead of what task_fail said. Returns its code. */
int task_next(struct task_ctx *c, const char *next);

/* ---- names ----

   A product is a client's name in one form: "Claude Code" and "claude-code" are
   the same. An agent that gives no name has a default one, its product with 8
   hex digits of its session. People and models address agents by words of
   their own, so that "codex" and "Codex CLI" have to reach
   codex-mcp-client-01c709ed, while "dev" must not reach dev-ops.

   All names here are text, not JSON. What is said of a product holds for any
   way to write it: upper case and all characters but letters and digits only
   divide it into segments. */

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
