/* state - how the server is: /health says which store it serves, /ready
   whether requests may come to it, /metrics is for Prometheus (text format
   0.0.4). They look at what any process has committed; none adds to it, nor
   tells what any task says. */

#include "serve/state.h"

#include "json.h"

void
state_put_health(struct buf *b, struct store *store)
{
    struct store_state st;

    store_state(store, &st);
    if (st.id[0] == '\0') /* another process may have made it since */
        store_follow(store);
    store_state(store, &st);
    buf_printf(b, "{\"status\":\"ok\",\"store\":\"%s\"}", st.id);
}

/* What is wrong with the store stands in its state. Whether it still is, is
   tried: who is sent no writes since one has failed would never know. */
static void
look_at(struct store *store, struct store_state *st)
{
    store_follow(store);
    store_state(store, st);
    if (st->err == 0 || store_lock(store) != 0)
        return;
    store_probe(store);
    store_unlock(store);
    store_state(store, st);
}

int
state_put_ready(struct buf *b, struct store *store, bool read_only)
{
    struct store_state st;
    struct json_w w;
    bool ready;

    look_at(store, &st);
    ready = st.err == 0 || (read_only && st.err == ERR_READONLY);
    json_w_init(&w, b);
    json_obj(&w);
    json_put_z(&w, "status", ready ? "ready" : "unavailable");
    json_put_bool(&w, "writable", st.err == 0);
    json_put_int(&w, "head_seq", (int64_t)st.head);
    if (st.err != 0) {
        json_put_z(&w, "code", err_name(st.err));
        json_put_z(&w, "reason", st.why);
    }
    json_close(&w);
    json_w_end(&w);
    return ready ? 200 : 503;
}

static void
put_type(struct buf *b, const char *name, bool counts)
{
    buf_printf(b, "# TYPE mcptask_%s %s\n", name,
               counts ? "counter" : "gauge");
}

static void
put_calls(struct buf *b, const struct mcp_counts *mc)
{
    put_type(b, "calls", false);
    for (size_t i = 0; i < CALL_N_STATUSES; i++)
        buf_printf(b, "mcptask_calls{status=\"%s\"} %llu\n",
                   call_status_name((enum call_status)i),
                   (unsigned long long)mc->calls.by_status[i]);
}

void
state_put_metrics(struct buf *b, struct store *store, const struct http *http,
                const struct mcp *mcp)
{
    struct store_state st;
    struct http_counts hc;
    struct mcp_counts mc;
    size_t i;

    look_at(store, &st);
    http_count(http, &hc);
    mcp_count(mcp, &mc);

    const struct {
        const char *name;
        uint64_t value;
        bool counts; /* up, ever since the process began */
    } of[] = {
        {"store_writable", st.err == 0, false},
        {"store_head_seq", st.head, false},
        {"store_bytes", (uint64_t)st.len, false},
        {"store_superseded_bytes", (uint64_t)st.superseded, false},
        {"store_keys", st.keys, false},
        {"store_index_bytes", st.index_bytes, false},
        {"http_connections", hc.open, false},
        {"http_streams", hc.streams, false},
        {"http_held_bytes", hc.held, false},
        {"http_accepted_total", hc.accepted, true},
        {"http_refused_total", hc.refused, true},
        {"http_requests_total", hc.requests, true},
        {"http_received_bytes_total", hc.bytes_in, true},
        {"http_sent_bytes_total", hc.bytes_out, true},
        {"mcp_requests_total", mc.requests, true},
        {"mcp_errors_total", mc.errors, true},
        {"mcp_waiting", mc.waiting, false},
        {"mcp_sessions", mc.sessions, false},
        {"mcp_subscriptions", mc.subscriptions, false},
        {"calls_oldest_seconds", (uint64_t)mc.calls.oldest_ms / 1000, false},
    };

    for (i = 0; i < sizeof(of) / sizeof(of[0]); i++) {
        put_type(b, of[i].name, of[i].counts);
        buf_printf(b, "mcptask_%s %llu\n", of[i].name,
                   (unsigned long long)of[i].value);
    }
    put_calls(b, &mc);
}
