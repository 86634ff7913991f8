#ifndef ETCD_CLIENT_H
#define ETCD_CLIENT_H

/* client - requests to etcd's JSON gateway, one at a time, to the first
   endpoint that answers. A state machine on one descriptor: nothing here
   blocks. It knows HTTP and the gateway's errors, and nothing of keys. */

#include "base/base.h"

#define ETCD_MAX_ENDPOINTS 8

struct etcd_options { /* copied */
    struct str endpoints; /* "127.0.0.1:2379,[::1]:2379": numeric addresses, in
                             the order in which they are tried */
    struct str user, password; /* empty: none */
};

struct etcd;

struct etcd_answer {
    struct str body;   /* JSON; valid until the next etcd_begin */
    const char *why;   /* what went wrong, naming the endpoint; "": nothing */
    int64_t skew_ms;   /* the endpoint's clock (its Date) minus this one, exact
                          to 500 ms and the round trip; 0: no Date */
    bool resent;       /* the request may have taken effect more than once, or
                          earlier: some attempt's answer was lost */
};

/* 0; ERR_INVALID with *why: an endpoint is no numeric address with a port;
   ERR_NOMEM. */
int etcd_new(struct etcd **out, const struct etcd_options *o, char why[256]);
void etcd_free(struct etcd *e);

/* Begins a POST of body, which is copied, to path, a constant ("/v3/kv/txn").
   The whole has budget_ms, over all endpoints and attempts. One request at a
   time. 0 or ERR_NOMEM. */
int etcd_begin(struct etcd *e, const char *path, struct str body,
               int64_t budget_ms);
/* Continues. ERR_PENDING: wait for etcd_watch. 0: answered with 200. Otherwise:
   ERR_UNREACHABLE: no endpoint took it; ERR_UNKNOWN: sent, and its effect is
   unknown. Without effect: ERR_FULL: the quota; ERR_TOO_LARGE: the request, or
   the answer, with more than HTTP_MAX_BODY; ERR_READONLY: the role lacks the
   prefix; ERR_UNAUTHORIZED: user or password; ERR_NOT_FOUND: the lease;
   ERR_INVALID: anything else that etcd refuses; ERR_FORMAT: no gateway answers
   here; ERR_NOMEM. */
int etcd_step(struct etcd *e, struct etcd_answer *out);
/* The same to endpoint i alone, with one attempt; without a body, a GET. */
int etcd_begin_at(struct etcd *e, unsigned i, const char *path,
                  struct str body, int64_t budget_ms);
/* Abandons the request, if there is one, and closes the connection. */
void etcd_cancel(struct etcd *e);
/* Returns the descriptor to wait for, or -1; *write: until it can be written.
   *due_ms is when to call etcd_step at the latest, by clock_mono_ms; INT64_MAX:
   never. */
int etcd_watch(const struct etcd *e, bool *write, int64_t *due_ms);
/* The endpoint in use, as in the options; for reports. */
const char *etcd_endpoint(const struct etcd *e);
/* How long an answer takes, smoothed; 0: not known yet. */
int64_t etcd_trip_us(const struct etcd *e);
/* How many endpoints there are. */
unsigned etcd_places(const struct etcd *e);

#endif
