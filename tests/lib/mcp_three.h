#ifndef TEST_MCP_THREE_H
#define TEST_MCP_THREE_H

/* mcp_three - three clients of one store with calls that outlive their
   requests. */

#include "tests/lib/faults.h"
#include "tests/lib/mcp_turn.h"

static struct who ann, bob, neo; /* neo: a modern client of ann's principal */

static inline void
begin(void)
{
    clock_still = true;
    box_new();
    who_pipe(&ann, "ann", V11);
    who_init(&bob, "bob");
    who_init(&neo, "ann");
}

static inline void
end(void)
{
    who_forget(&ann);
    who_forget(&bob);
    who_forget(&neo);
    box_close();
    ahead_ms = 0;
}

/* Runs everything due by then. */
static inline void
settle_after(int64_t ms)
{
    ahead_ms += ms;
    settle_all();
}

/* Kills and restarts the server: pipes are new, HTTP sessions stay. */
static inline void
restart(void)
{
    box_close();
    box_open();
    ann.s = bob.s = neo.s = NULL;
}

/* w requests the task in a separate turn. Returns the first message it gets. */
static inline const char *
polls(struct who *w)
{
    who_forget(w);
    post(w, OLD("tasks/get"));
    turn();
    return next(w);
}

/* The same for a task it creates first. */
static inline const char *
makes_and_polls(struct who *w, const char *text)
{
    makes(w, text);
    return polls(w);
}

#endif
