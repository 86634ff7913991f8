#ifndef SERVE_ROUTE_H
#define SERVE_ROUTE_H

/* route - a path and a method that the server answers. Data only. */

struct exchange;

enum { /* the flags of a route */
    ROUTE_FREE = 1,   /* needs no token */
    ROUTE_BODY = 2,   /* has a body, application/json */
    ROUTE_STREAM = 4, /* the client accepts text/event-stream */
    ROUTE_OLD = 8,    /* only in revisions with sessions */
    ROUTE_ENDS = 16,  /* ends a session */
    ROUTE_ANSWER = 32 /* the client accepts JSON or a stream */
};

struct route {
    const char *path, *method;
    int wants;
    void (*run)(struct exchange *x);
};

#endif
