#ifndef TEST_MCP_THREE_H
#define TEST_MCP_THREE_H

/* mcp_three - three clients of one store whose calls outlive their requests. */

#include "tests/lib/mcp_turn.h"
#include "tests/lib/still.h"

static struct who ann, bob, neo; /* neo: a modern one, of ann's principal */

static inline void
begin(void)
{
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

/* What is to be done by then is done. */
static inline void
settle_after(int64_t ms)
{
    ahead_ms += ms;
    settle_all();
}

/* Killed and started again: pipes are others', sessions over HTTP stay. */
static inline void
restart(void)
{
    box_close();
    box_open();
    ann.s = bob.s = neo.s = NULL;
}

/* Has w ask for the task in a turn of its own; the first that it is told. */
static inline const char *
polls(struct who *w)
{
    who_forget(w);
    post(w, OLD("tasks/get"));
    turn();
    return next(w);
}

/* The same of one that it makes first. */
static inline const char *
makes_and_polls(struct who *w, const char *text)
{
    makes(w, text);
    return polls(w);
}

#endif
