/* state - reports the state of the server. /health reports the id of the store,
   /ready whether requests can be served; /metrics is for Prometheus (text
   format 0.0.4). They include the commits of all processes, write nothing, and
   reveal no text of a task. */

#include "serve/state.h"
#include "store/remote.h"

#include "base/text.h"
#include "json.h"

#include <string.h>

void
state_put_health(struct buf *b, struct store *store)
{
    if (*store_id(store) == '\0') /* another process may have made the log */
        store_follow(store);
    buf_printf(b, "{\"status\":\"ok\",\"store\":\"%s\"}", store_id(store));
}

/* Reads the store's state: a server that gets no writes would not notice that
   they would fail. After a failed one it tests whether writes work again. */
static const struct store_state *
probe_store(struct store *store)
{
    store_follow(store);
    store_check_access(store);
    store_check_room(store);
    if (store_state(store)->err != 0 && store_lock(store) == 0) {
        store_probe(store);
        store_unlock(store);
    }
    return store_state(store);
}

int
state_put_ready(struct buf *b, struct store *store, bool read_only,
                struct str agent, bool reader)
{
    const struct store_state *st = probe_store(store);
    struct json_w w;
    int64_t stale_ms;
    bool ready;

    stale_ms = store_stale_ms(store);
    ready = (st->err == 0 && stale_ms == 0) ||
            (read_only && st->err == ERR_READONLY);
    json_begin(&w, b);
    json_put_z(&w, "status", ready ? "ready" : "unavailable");
    json_put_bool(&w, "writable", st->err == 0 && !reader);
    if (agent.len > 0)
        json_put_str(&w, "agent", agent);
    if (*store_id(store) != '\0')
        json_put_z(&w, "store", store_id(store));
    json_put_int(&w, "head_seq", (int64_t)st->head);
    if (stale_ms > 0)
        json_put_int(&w, "stale_ms", stale_ms);
    if (st->err != 0) {
        json_put_z(&w, "code", err_name(st->err));
        json_put_z(&w, "reason", st->why);
    }
    json_end(&w);
    return ready ? 200 : 503;
}

static void
put_calls(struct buf *b, const struct mcp_counts *mc)
{
    buf_metric(b, "calls", "Deferred calls by status.");
    for (size_t i = 0; i < CALL_N_STATUSES; i++)
        buf_printf(b, "mcptask_calls{status=\"%s\"} %llu\n",
                   call_status_name((enum call_status)i),
                   (unsigned long long)mc->calls.by_status[i]);
}

/* How long other hosts have not been heard. */
static void
put_stale_seconds(struct buf *b, const struct store *store)
{
    int64_t ms = store_stale_ms(store);

    buf_metric(b, "store_stale_seconds",
               "Age of what is known of other hosts, 0 if up to date.");
    buf_printf(b, "mcptask_store_stale_seconds %lld.%03lld\n",
               (long long)ms / 1000, (long long)ms % 1000);
}

/* How far away etcd is, and which member answers. */
static void
put_etcd_member(struct buf *b, const struct store *store)
{
    int64_t us;
    const char *member = store_member(store, &us);

    if (member == NULL)
        return;
    buf_metric(b, "store_round_trip_seconds",
               "How long etcd takes to answer, smoothed.");
    buf_printf(b, "mcptask_store_round_trip_seconds %lld.%06lld\n",
               (long long)us / 1000000, (long long)us % 1000000);
    buf_metric(b, "store_endpoint", "The member of etcd in use.");
    buf_printf(b, "mcptask_store_endpoint{address=\"%s\"} 1\n", member);
}

void
state_put_metrics(struct buf *b, struct store *store, const struct http *http,
                  const struct mcp *mcp)
{
    const struct store_state *st = probe_store(store);
    struct http_counts hc;
    struct mcp_counts mc;

    http_count(http, &hc);
    mcp_count(mcp, &mc);

    const struct {
        const char *name, *help;
        uint64_t value;
    } metrics[] = {
        {"store_writable", "1 if changes can be written.", st->err == 0},
        {"store_missing_bytes", "Disk space that changes lack.",
         st->err == ERR_FULL ? (uint64_t)st->missing : 0},
        {"store_head_seq", "Number of the newest record.", st->head},
        {"store_bytes", "Length of the log.", (uint64_t)st->len},
        {"store_superseded_bytes", "Of that, what a compaction removes.",
         (uint64_t)st->superseded},
        {"store_keys", "Tasks, calls and sessions in the log.", st->keys},
        {"store_index_bytes", "Memory of the index.", st->index_bytes},
        {"http_connections", "Open connections.", hc.open},
        {"http_streams", "Of these, streams of events.", hc.streams},
        {"http_held_bytes", "Memory of requests and unsent replies.", hc.held},
        {"http_accepted_total", "Connections accepted.", hc.accepted},
        {"http_refused_total", "Connections refused or dropped for others.",
         hc.refused},
        {"http_requests_total", "Requests received.", hc.requests},
        {"http_received_bytes_total", "Bytes received.", hc.bytes_in},
        {"http_sent_bytes_total", "Bytes sent.", hc.bytes_out},
        {"mcp_requests_total", "MCP requests answered.", mc.requests},
        {"mcp_errors_total", "Of these, answered with an error.", mc.errors},
        {"mcp_waiting", "Calls that wait.", mc.waiting},
        {"mcp_sessions", "Sessions in memory.", mc.sessions},
        {"mcp_subscriptions", "Subscriptions to resources.", mc.subscriptions},
        {"calls_oldest_seconds", "Age of the oldest deferred call.",
         (uint64_t)mc.calls.oldest_ms / 1000},
    };

    buf_metric(b, "build_info", "The version that runs.");
    buf_z(b, "mcptask_build_info{version=\"" MCPTASK_VERSION "\"} 1\n");
    for (size_t i = 0; i < sizeof(metrics) / sizeof(*metrics); i++) {
        buf_metric(b, metrics[i].name, metrics[i].help);
        buf_printf(b, "mcptask_%s %llu\n", metrics[i].name,
                   (unsigned long long)metrics[i].value);
    }
    put_stale_seconds(b, store);
    put_etcd_member(b, store);
    put_calls(b, &mc);
}
