#include "tests/lib/gateway.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* ---- the map ---- */

/* Only the first error of a request is answered. */
static void
gw_fail(struct gw_map *m, int code, const char *error)
{
    if (m->error != NULL)
        return;
    m->code = code;
    m->error = error;
}

static struct str
gw_copy(struct str s)
{
    char *p = malloc(s.len + 1);

    if (s.len > 0)
        memcpy(p, s.p, s.len);
    return (struct str){p, s.len};
}

static const struct json_tok *
gw_first(const struct json_tok *t)
{
    return t != NULL ? t + 1 : NULL;
}

/* Fails if a member is not in names, each of which stands between blanks. */
static void
gw_only(struct gw_map *m, const struct json_tok *t, const char *names)
{
    const struct json_tok *member = gw_first(t);
    char name[64];

    if (t == NULL || t->type != JSON_OBJECT) {
        gw_fail(m, 3, "the test's gateway: not an object");
        return;
    }
    for (uint32_t i = 0; i < t->n; i++) {
        snprintf(name, sizeof(name), " %.*s ", (int)member->len, member->p);
        if (strstr(names, name) == NULL) {
            fprintf(stderr, "gateway: unknown member%s\n", name);
            gw_fail(m, 3, "the test's gateway: unknown member");
        }
        member += member->span;
        member += member->span;
    }
}

/* The bytes of a member; empty if absent. */
static struct str
gw_bytes(struct gw_map *m, const struct json_tok *t, const char *name)
{
    const struct json_tok *value = json_get(t, name);
    struct str out = {"", 0};

    if (value != NULL &&
        base64_decode(&m->arena, json_str(&m->arena, value), &out) != 0)
        gw_fail(m, 3, "illegal base64 data at input byte 0");
    return out;
}

/* A number, which may be a string; 0 if absent. */
static int64_t
gw_number(struct gw_map *m, const struct json_tok *t, const char *name)
{
    const struct json_tok *value = json_get(t, name);
    char text[32];

    if (value == NULL)
        return 0;
    if (value->type != JSON_STRING && value->type != JSON_NUMBER)
        gw_fail(m, 3, "the test's gateway: not a number");
    snprintf(text, sizeof(text), "%.*s", (int)value->len, value->p);
    return strtoll(text, NULL, 10);
}

static struct str
gw_key(struct gw_map *m, const struct json_tok *t)
{
    struct str key = gw_bytes(m, t, "key");

    if (key.len == 0)
        gw_fail(m, 3, "etcdserver: key is not provided");
    if (m->allowed.p != NULL && !str_begins(key, m->allowed))
        gw_fail(m, 7, "etcdserver: permission denied");
    return key;
}

static int
gw_compare(struct str a, struct str b)
{
    size_t n = a.len < b.len ? a.len : b.len;
    int c = n > 0 ? memcmp(a.p, b.p, n) : 0;

    return c != 0 ? c : a.len < b.len ? -1 : a.len > b.len;
}

size_t
gw_place(const struct gw_map *m, struct str key)
{
    size_t low = 0, high = m->n, mid;

    while (low < high) {
        mid = (low + high) / 2;
        if (gw_compare(m->kv[mid].key, key) < 0)
            low = mid + 1;
        else
            high = mid;
    }
    return low;
}

struct gw_kv *
gw_find(struct gw_map *m, struct str key)
{
    size_t i = gw_place(m, key);

    return i < m->n && str_eq(m->kv[i].key, key) ? &m->kv[i] : NULL;
}

struct str
gw_value(struct gw_map *m, const char *key)
{
    struct gw_kv *kv = gw_find(m, str_of(key));

    return kv != NULL ? kv->value : STR_NONE;
}

void
gw_set(struct gw_map *m, struct str key, struct str value, int64_t lease,
       int64_t revision)
{
    struct gw_kv *kv = gw_find(m, key);
    size_t i = gw_place(m, key);

    if (kv == NULL) {
        if (m->n == m->cap) {
            m->cap = m->cap * 2 + 64;
            m->kv = realloc(m->kv, m->cap * sizeof(*m->kv));
        }
        kv = &m->kv[i];
        memmove(kv + 1, kv, (m->n++ - i) * sizeof(*kv));
        *kv = (struct gw_kv){.key = gw_copy(key), .create = revision};
    }
    free((char *)(uintptr_t)kv->value.p);
    kv->value = gw_copy(value);
    kv->mod = revision;
    kv->version++;
    kv->lease = lease;
}

void
gw_remove(struct gw_map *m, size_t i)
{
    free((char *)(uintptr_t)m->kv[i].key.p);
    free((char *)(uintptr_t)m->kv[i].value.p);
    m->n--;
    memmove(&m->kv[i], &m->kv[i + 1], (m->n - i) * sizeof(*m->kv));
}

/* The places of the keys of a request: from *from up to the result. */
static size_t
gw_range(struct gw_map *m, const struct json_tok *t, size_t *from)
{
    struct str key = gw_key(m, t), last = gw_bytes(m, t, "range_end");

    *from = gw_place(m, key);
    if (last.len == 0)
        return *from + (gw_find(m, key) != NULL);
    if (last.len == 1 && *last.p == '\0')
        return m->n;
    if (m->allowed.p != NULL && gw_compare(last, m->allowed) > 0 &&
        !str_begins(last, m->allowed)) {
        /* The end of a range is the prefix with its last byte one higher. */
        if (last.len != m->allowed.len ||
            memcmp(last.p, m->allowed.p, last.len - 1) != 0 ||
            last.p[last.len - 1] != m->allowed.p[last.len - 1] + 1)
            gw_fail(m, 7, "etcdserver: permission denied");
    }
    return gw_place(m, last) > *from ? gw_place(m, last) : *from;
}

static struct gw_lease *
gw_lease_of(struct gw_map *m, int64_t id)
{
    for (size_t i = 0; i < m->leases; i++)
        if (m->lease[i].id == id)
            return &m->lease[i];
    return NULL;
}

static void
gw_put_header(const struct gw_map *m, struct buf *out)
{
    buf_printf(out, "{\"header\":{\"cluster_id\":\"2961762449054095690\","
               "\"member_id\":\"11201878611396189134\",\"revision\":\"%lld\","
               "\"raft_term\":\"2\"}", (long long)m->revision);
}

static void
gw_put_number(struct buf *out, const char *name, int64_t v)
{
    if (v != 0)
        buf_printf(out, ",\"%s\":\"%lld\"", name, (long long)v);
}

static void
gw_put_kv(struct buf *out, const struct gw_kv *kv, bool keys_only)
{
    buf_z(out, "{\"key\":\"");
    base64_encode(out, kv->key);
    buf_printf(out, "\",\"create_revision\":\"%lld\",\"mod_revision\":\"%lld\","
               "\"version\":\"%lld\"", (long long)kv->create,
               (long long)kv->mod, (long long)kv->version);
    if (kv->value.len > 0 && !keys_only) {
        buf_z(out, ",\"value\":\"");
        base64_encode(out, kv->value);
        buf_z(out, "\"");
    }
    gw_put_number(out, "lease", kv->lease);
    buf_z(out, "}");
}

/* Appends what follows the header, without the closing brace. */
static void
gw_do_range(struct gw_map *m, const struct json_tok *t, struct buf *out)
{
    size_t from, to, end, limit;
    bool keys_only;

    gw_only(m, t, " key range_end limit keys_only count_only ");
    to = end = gw_range(m, t, &from);
    limit = (size_t)gw_number(m, t, "limit");
    keys_only = json_get(t, "keys_only") != NULL;
    if (limit > 0 && to - from > limit)
        end = from + limit;
    if (json_get(t, "count_only") != NULL)
        end = from;
    for (size_t i = from; i < end; i++) {
        buf_z(out, i == from ? ",\"kvs\":[" : ",");
        gw_put_kv(out, &m->kv[i], keys_only);
    }
    buf_z(out, end > from ? "]" : "");
    if (end < to && limit > 0)
        buf_z(out, ",\"more\":true");
    gw_put_number(out, "count", (int64_t)(to - from));
}

static void
gw_do_put(struct gw_map *m, const struct json_tok *t, int64_t revision)
{
    struct str key = gw_key(m, t), value = gw_bytes(m, t, "value");
    int64_t lease = gw_number(m, t, "lease");

    gw_only(m, t, " key value lease ");
    if (lease != 0 && gw_lease_of(m, lease) == NULL)
        gw_fail(m, 5, "etcdserver: requested lease not found");
    if (m->full)
        gw_fail(m, 8, "etcdserver: mvcc: database space exceeded");
    if (m->error == NULL)
        gw_set(m, key, value, lease, revision);
}

/* Returns how many keys it deleted. */
static int64_t
gw_do_delete(struct gw_map *m, const struct json_tok *t)
{
    size_t from, to;

    gw_only(m, t, " key range_end ");
    to = gw_range(m, t, &from);
    if (m->error != NULL)
        return 0;
    for (size_t i = to; i > from; i--)
        gw_remove(m, i - 1);
    return (int64_t)(to - from);
}

static bool
gw_holds(struct gw_map *m, const struct json_tok *t)
{
    static const struct gw_kv nothing;
    const struct json_tok *target = json_get(t, "target");
    const struct gw_kv *kv = gw_find(m, gw_key(m, t));
    const struct gw_kv *of = kv != NULL ? kv : &nothing;
    int64_t have, want;

    gw_only(m, t, " key target result value create_revision mod_revision "
            "version lease ");
    if (json_is(target, "VALUE")) {
        if (kv == NULL)
            return false;
        have = gw_compare(kv->value, gw_bytes(m, t, "value"));
        want = 0;
    } else if (json_is(target, "CREATE")) {
        have = of->create;
        want = gw_number(m, t, "create_revision");
    } else if (json_is(target, "MOD")) {
        have = of->mod;
        want = gw_number(m, t, "mod_revision");
    } else if (json_is(target, "LEASE")) {
        have = of->lease;
        want = gw_number(m, t, "lease");
    } else {
        have = of->version;
        want = gw_number(m, t, "version");
    }
    t = json_get(t, "result");
    return json_is(t, "GREATER")     ? have > want
           : json_is(t, "LESS")      ? have < want
           : json_is(t, "NOT_EQUAL") ? have != want
                                     : have == want;
}

/* Judges what a branch writes before any of it takes effect. */
static void
gw_judge_put(struct gw_map *m, const struct json_tok *ops, uint32_t n,
             const struct json_tok *put)
{
    struct str key = gw_key(m, put);
    int64_t lease = gw_number(m, put, "lease");
    const struct json_tok *other = ops + 1;

    if (m->full)
        gw_fail(m, 8, "etcdserver: mvcc: database space exceeded");
    if (lease != 0 && gw_lease_of(m, lease) == NULL)
        gw_fail(m, 5, "etcdserver: requested lease not found");
    for (uint32_t k = 0; k < n; k++, other += other->span)
        if (json_get(other, "request_put") != NULL &&
            str_eq(gw_key(m, json_get(other, "request_put")), key))
            gw_fail(m, 3, "etcdserver: duplicate key given in txn request");
}

static void
gw_judge_ops(struct gw_map *m, const struct json_tok *ops)
{
    const struct json_tok *op = gw_first(ops);

    if (ops != NULL && ops->n > GW_MAX_OPS)
        gw_fail(m, 3, "etcdserver: too many operations in txn request");
    for (uint32_t i = 0; ops != NULL && i < ops->n && m->error == NULL; i++) {
        gw_only(m, op, " request_range request_put request_delete_range ");
        if (m->error == NULL)
            gw_key(m, op + 2); /* of whichever it is */
        if (json_get(op, "request_put") != NULL)
            gw_judge_put(m, ops, i, json_get(op, "request_put"));
        op += op->span;
    }
}

static void
gw_do_op(struct gw_map *m, const struct json_tok *op, int64_t *wrote,
         struct buf *out)
{
    const struct json_tok *put = json_get(op, "request_put");
    const struct json_tok *del = json_get(op, "request_delete_range");
    int64_t revision = m->revision + 1, deleted = 0;

    if (put != NULL) {
        gw_do_put(m, put, revision);
        *wrote = 1;
    } else if (del != NULL) {
        deleted = gw_do_delete(m, del);
        *wrote |= deleted > 0;
    }
    buf_printf(out, "{\"%s\":{\"header\":{\"revision\":\"%lld\"}",
               put != NULL   ? "response_put"
               : del != NULL ? "response_delete_range"
                             : "response_range",
               (long long)(m->revision + *wrote));
    if (put == NULL && del == NULL)
        gw_do_range(m, json_get(op, "request_range"), out);
    gw_put_number(out, "deleted", deleted);
    buf_z(out, "}}");
}

static void
gw_do_txn(struct gw_map *m, const struct json_tok *t, struct buf *out)
{
    const struct json_tok *compare = json_get(t, "compare"), *ops, *at;
    bool won = true;
    int64_t wrote = 0;
    struct buf list = {0};

    gw_only(m, t, " compare success failure ");
    if (compare != NULL && compare->n > GW_MAX_OPS)
        gw_fail(m, 3, "etcdserver: too many operations in txn request");
    at = gw_first(compare);
    for (uint32_t i = 0; compare != NULL && i < compare->n; i++) {
        won = gw_holds(m, at) && won;
        at += at->span;
    }
    gw_judge_ops(m, json_get(t, "success"));
    gw_judge_ops(m, json_get(t, "failure"));
    ops = json_get(t, won ? "success" : "failure");
    at = gw_first(ops);
    for (uint32_t i = 0; ops != NULL && i < ops->n && m->error == NULL; i++) {
        buf_z(&list, i == 0 ? ",\"responses\":[" : ",");
        gw_do_op(m, at, &wrote, &list);
        at += at->span;
    }
    m->revision += wrote;
    gw_put_header(m, out);
    buf_z(out, won ? ",\"succeeded\":true" : "");
    buf_str(out, buf_view(&list));
    buf_z(out, list.len > 0 ? "]}" : "}");
    buf_fini(&list);
}

void
gw_lease_end(struct gw_map *m, struct gw_lease *l)
{
    int64_t id = l->id;
    size_t before = m->n;

    *l = m->lease[--m->leases];
    for (size_t i = m->n; i > 0; i--)
        if (m->kv[i - 1].lease == id)
            gw_remove(m, i - 1);
    m->revision += m->n < before;
}

/* Ends the leases that have expired. */
static void
gw_tick(struct gw_map *m)
{
    for (size_t i = m->leases; i > 0; i--)
        if (m->lease[i - 1].due_ms <= clock_mono_ms())
            gw_lease_end(m, &m->lease[i - 1]);
}

static void
gw_do_lease(struct gw_map *m, const char *what, const struct json_tok *t,
            struct buf *out)
{
    int64_t id = gw_number(m, t, "ID"), ttl = gw_number(m, t, "TTL");
    struct gw_lease *l = gw_lease_of(m, id);

    gw_put_header(m, out);
    if (strcmp(what, "revoke") == 0) {
        if (l == NULL)
            gw_fail(m, 5, "etcdserver: requested lease not found");
        else
            gw_lease_end(m, l);
        buf_reset(out, 0);
        gw_put_header(m, out);
        buf_z(out, "}");
        return;
    }
    if (strcmp(what, "grant") == 0) {
        if (l != NULL)
            gw_fail(m, 9, "etcdserver: lease already exists");
        if (m->leases == GW_LEASES || ttl <= 0)
            gw_fail(m, 11, "etcdserver: too large lease TTL");
        if (m->error != NULL)
            return;
        id = id != 0 ? id : 7587862072530000000 + ++m->next_lease;
        m->lease[m->leases++] = (struct gw_lease){id, ttl, 0};
        l = &m->lease[m->leases - 1];
    }
    buf_printf(out, ",\"ID\":\"%lld\"", (long long)id);
    if (strcmp(what, "timetolive") == 0) {
        gw_put_number(out, "TTL", l == NULL ? -1 : (l->due_ms -
                                                    clock_mono_ms()) / 1000);
        gw_put_number(out, "grantedTTL", l != NULL ? l->ttl : 0);
    } else if (l != NULL) {
        l->due_ms = clock_mono_ms() + l->ttl * 1000;
        gw_put_number(out, "TTL", l->ttl);
    }
    buf_z(out, "}");
}

static void
gw_do_compaction(struct gw_map *m, const struct json_tok *t, struct buf *out)
{
    int64_t revision = gw_number(m, t, "revision");

    gw_only(m, t, " revision physical ");
    if (revision <= m->compacted)
        gw_fail(m, 11, "etcdserver: mvcc: required revision has been "
                "compacted");
    if (revision > m->revision)
        gw_fail(m, 11, "etcdserver: mvcc: required revision is a future "
                "revision");
    if (m->error == NULL)
        m->compacted = revision;
    gw_put_header(m, out);
    buf_z(out, "}");
}

static void
gw_dispatch(struct gw_map *m, const char *path, const struct json_tok *t,
            struct buf *out)
{
    int64_t deleted;

    if (strcmp(path, "kv/txn") == 0) {
        gw_do_txn(m, t, out);
    } else if (strcmp(path, "kv/range") == 0) {
        gw_put_header(m, out);
        gw_do_range(m, t, out);
        buf_z(out, "}");
    } else if (strcmp(path, "kv/put") == 0) {
        gw_do_put(m, t, m->revision + 1);
        m->revision += m->error == NULL;
        gw_put_header(m, out);
        buf_z(out, "}");
    } else if (strcmp(path, "kv/deleterange") == 0) {
        deleted = gw_do_delete(m, t);
        m->revision += deleted > 0;
        gw_put_header(m, out);
        gw_put_number(out, "deleted", deleted);
        buf_z(out, "}");
    } else if (strcmp(path, "kv/compaction") == 0) {
        gw_do_compaction(m, t, out);
    } else if (strncmp(path, "lease/", 6) == 0) {
        gw_do_lease(m, path + 6, t, out);
    } else if (strcmp(path, "maintenance/status") == 0) {
        gw_put_header(m, out);
        buf_z(out, ",\"version\":\"3.4.23\",\"dbSize\":\"20480\",\"leader\":"
              "\"11201878611396189134\",\"raftIndex\":\"25\",\"raftTerm\":"
              "\"2\",\"raftAppliedIndex\":\"25\",\"dbSizeInUse\":\"16384\"}");
    } else {
        gw_fail(m, 12, "the test's gateway: unknown path");
    }
}

/* The status that belongs to a code. */
static int
gw_status(int code)
{
    static const struct {
        int code, status;
    } of[] = {{0, 200}, {3, 400}, {5, 404}, {7, 403}, {8, 429}, {9, 412},
              {11, 400}, {12, 501}, {14, 503}, {16, 401}};

    for (size_t i = 0; i < sizeof(of) / sizeof(of[0]); i++)
        if (of[i].code == code)
            return of[i].status;
    return 500;
}

static void
gw_put_error(const struct gw_map *m, struct buf *out, int code,
             const char *error)
{
    buf_reset(out, 0);
    if (m->spaced)
        buf_printf(out, "{\"code\":%d, \"message\":\"%s\"}", code, error);
    else
        buf_printf(out, "{\"error\":\"%s\",\"message\":\"%s\",\"code\":%d}",
                   error, error, code);
}

/* Answers a request to /v3/PATH into out, which is empty. Returns the code of
   the error, 0: none. */
static int
gw_call(struct gw_map *m, const char *path, struct str body, struct buf *out)
{
    const struct json_tok *root;
    struct buf plain = {0};

    gw_tick(m);
    m->error = NULL;
    m->code = 0;
    arena_reset(&m->arena);
    if (body.len * 3 / 4 > GW_MAX_REQUEST)
        gw_fail(m, 3, "etcdserver: request is too large");
    else if (json_parse(&m->arena, body, &root, NULL) != 0)
        gw_fail(m, 3, "unexpected EOF");
    else
        gw_dispatch(m, path, root, &plain);
    if (m->error != NULL)
        gw_put_error(m, &plain, m->code, m->error);
    for (size_t i = 0; i < plain.len; i++) {
        buf_char(out, plain.p[i]);
        if (m->spaced && m->code == 0 && plain.p[i] == ',')
            buf_char(out, ' ');
    }
    buf_fini(&plain);
    return m->code;
}

static void
gw_fini(struct gw_map *m)
{
    while (m->n > 0)
        gw_remove(m, m->n - 1);
    free(m->kv);
    arena_fini(&m->arena);
}

/* ---- the gateway ---- */

static void
gateway_bind(struct gateway *g)
{
    struct sockaddr_in in = {.sin_family = AF_INET, .sin_port = htons(g->port)};
    socklen_t len = sizeof(in);
    int on = 1;

    in.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    g->fd = socket(AF_INET, SOCK_STREAM, 0);
    setsockopt(g->fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
    if (bind(g->fd, (struct sockaddr *)&in, len) != 0 ||
        getsockname(g->fd, (struct sockaddr *)&in, &len) != 0 ||
        fcntl(g->fd, F_SETFL, O_NONBLOCK) != 0)
        abort();
    g->port = ntohs(in.sin_port);
}

struct gateway *
gateway_new(struct gw_map *map)
{
    struct gateway *g = calloc(1, sizeof(*g));

    for (size_t i = 0; i < GATEWAY_CONNS; i++)
        g->conn[i].fd = -1;
    g->own.revision = 1;
    g->map = map != NULL ? map : &g->own;
    gateway_bind(g);
    snprintf(g->endpoint, sizeof(g->endpoint), "127.0.0.1:%u",
             (unsigned)g->port);
    if (listen(g->fd, GATEWAY_CONNS) != 0)
        abort();
    return g;
}

static void
gateway_close(struct gateway *g, struct gateway_conn *c)
{
    for (size_t i = 0; i < GATEWAY_HELD; i++)
        if (g->held[i].conn == c)
            g->held[i].conn = NULL;
    close(c->fd);
    buf_fini(&c->in);
    buf_fini(&c->out);
    memset(c, 0, sizeof(*c));
    c->fd = -1;
}

void
gateway_hang_up(struct gateway *g)
{
    for (size_t i = 0; i < GATEWAY_CONNS; i++)
        if (g->conn[i].fd >= 0)
            gateway_close(g, &g->conn[i]);
}

void
gateway_down(struct gateway *g)
{
    gateway_hang_up(g);
    close(g->fd);
    gateway_bind(g);
}

void
gateway_up(struct gateway *g)
{
    if (listen(g->fd, GATEWAY_CONNS) != 0)
        abort();
}

void
gateway_free(struct gateway *g)
{
    gateway_hang_up(g);
    close(g->fd);
    for (size_t i = 0; i < GATEWAY_HELD; i++)
        free((char *)(uintptr_t)g->held[i].body.p);
    gw_fini(&g->own);
    free(g);
}

static void
gateway_put_head(struct gateway *g, struct buf *out, int status, bool error)
{
    static const char days[] = "ThuFriSatSunMonTueWed";
    static const char months[] = "JanFebMarAprMayJunJulAugSepOctNovDec";
    int64_t ms = clock_wall_ms() + g->date_ms;
    char t[TIME_LEN + 1];

    time_format(ms, t);
    buf_printf(out, "HTTP/1.1 %d %s\r\n"
               "Access-Control-Allow-Headers: accept, content-type, "
               "authorization\r\n"
               "Access-Control-Allow-Methods: POST, GET, OPTIONS, PUT, "
               "DELETE\r\n"
               "Access-Control-Allow-Origin: *\r\n"
               "Content-Type: application/json\r\n%s", status,
               status == 200 ? "OK" : "Bad Request",
               error ? "Trailer: Grpc-Trailer-Content-Type\r\n"
                     : "Grpc-Metadata-Content-Type: application/grpc\r\n");
    buf_printf(out, "Date: %.3s, %.2s %.3s %.4s %.8s GMT\r\n",
               days + ms / 86400000 % 7 * 3, t + 8,
               months + ((t[5] - '0') * 10 + t[6] - '1') * 3, t, t + 11);
}

static void
gateway_put_chunks(struct gateway *g, struct buf *out, struct str body)
{
    size_t n;

    for (; body.len > 0; body = str_from(body, n)) {
        n = g->chunk > 0 && g->chunk < body.len ? g->chunk : body.len;
        buf_printf(out, "%zx\r\n%.*s\r\n", n, (int)n, body.p);
    }
}

/* A whole answer. stream: as lease/keepalive answers. */
static void
gateway_put_answer(struct gateway *g, struct buf *out, int code,
                   struct str body, bool stream)
{
    gateway_put_head(g, out, gw_status(code), code != 0 && !g->map->spaced);
    if (!stream && g->chunk == 0 &&
        (g->map->spaced || (code == 0 && body.len <= 2048))) {
        buf_printf(out, "Content-Length: %zu\r\n\r\n", body.len);
        buf_str(out, body);
        return;
    }
    buf_z(out, "Transfer-Encoding: chunked\r\n\r\n");
    gateway_put_chunks(g, out, body);
    buf_printf(out, "0\r\n%s\r\n", code == 0 ? ""
               : "Grpc-Trailer-Content-Type: application/grpc\r\n");
}

static void
gateway_say_error(struct gateway *g, struct gateway_conn *c, int code,
                  const char *error)
{
    struct buf body = {0};

    gw_put_error(g->map, &body, code, error);
    gateway_put_answer(g, &c->out, code, buf_view(&body), false);
    buf_fini(&body);
}

/* Runs the request and appends its answer to out. */
static void
gateway_call(struct gateway *g, const char *path, struct str body,
             struct buf *out)
{
    bool stream = strcmp(path, "lease/keepalive") == 0;
    struct buf answer = {0}, whole = {0};
    int code = gw_call(g->map, path, body, &answer);

    if (stream && code == 0)
        buf_printf(&whole, "{\"result\":%.*s}\n", STR_ARG(buf_view(&answer)));
    else
        buf_str(&whole, buf_view(&answer));
    gateway_put_answer(g, out, code, buf_view(&whole), stream);
    buf_fini(&answer);
    buf_fini(&whole);
}

void
gateway_plan(struct gateway *g, uint64_t after, enum gateway_fault kind, int n,
             const char *text)
{
    size_t i;

    for (i = 0; i < GATEWAY_FAULTS && g->fault[i].at != 0; i++)
        ;
    if (i == GATEWAY_FAULTS)
        abort();
    g->fault[i].at = g->requests + after + 1;
    g->fault[i].kind = kind;
    g->fault[i].n = n;
    g->fault[i].text = text;
}

static void
gateway_hold(struct gateway *g, struct gateway_conn *c, const char *path,
             struct str body, bool done)
{
    struct gateway_held *h = g->held;
    struct buf answer = {0};

    for (; h->used; h++)
        if (h == &g->held[GATEWAY_HELD - 1])
            abort();
    h->used = true;
    h->conn = c;
    h->done = done;
    snprintf(h->path, sizeof(h->path), "%s", path);
    if (done)
        gateway_call(g, path, body, &answer);
    h->body = gw_copy(done ? buf_view(&answer) : body);
    buf_fini(&answer);
}

bool
gateway_release(struct gateway *g, bool newest)
{
    struct gateway_held *h = NULL;
    struct buf answer = {0};

    for (size_t i = 0; i < GATEWAY_HELD; i++)
        if (g->held[i].used && (h == NULL || newest))
            h = &g->held[i];
    if (h == NULL)
        return false;
    if (h->done)
        buf_str(&answer, h->body);
    else
        gateway_call(g, h->path, h->body, &answer);
    if (h->conn != NULL)
        buf_str(&h->conn->out, buf_view(&answer));
    buf_fini(&answer);
    free((char *)(uintptr_t)h->body.p);
    /* The others move up and keep their order. */
    memmove(h, h + 1, (size_t)(&g->held[GATEWAY_HELD - 1] - h) * sizeof(*h));
    memset(&g->held[GATEWAY_HELD - 1], 0, sizeof(*h));
    return true;
}

static void
gateway_fail(struct gateway *g, struct gateway_conn *c, size_t at,
             const char *path, struct str body)
{
    enum gateway_fault kind = g->fault[at].kind;
    const char *text = g->fault[at].text;
    struct buf answer = {0};
    int n = g->fault[at].n;

    g->fault[at].at = 0;
    if (kind == GATEWAY_HOLD || kind == GATEWAY_HOLD_ANSWER) {
        gateway_hold(g, c, path, body, kind == GATEWAY_HOLD_ANSWER);
        return;
    }
    if (kind == GATEWAY_LOSE_ANSWER || kind == GATEWAY_TWICE ||
        kind == GATEWAY_CUT || kind == GATEWAY_ERROR_AFTER)
        gateway_call(g, path, body, &answer);
    if (kind == GATEWAY_CUT)
        answer.len = (size_t)n < answer.len ? (size_t)n : answer.len;
    if (kind == GATEWAY_TWICE || kind == GATEWAY_CUT)
        buf_str(&c->out, buf_view(&answer));
    if (kind == GATEWAY_TWICE) {
        buf_reset(&answer, 0);
        gateway_call(g, path, body, &answer);
    }
    if (kind == GATEWAY_ERROR || kind == GATEWAY_ERROR_AFTER)
        gateway_say_error(g, c, n, text);
    if (kind == GATEWAY_SAY)
        buf_z(&c->out, text);
    c->closing = kind == GATEWAY_LOSE || kind == GATEWAY_LOSE_ANSWER ||
                 kind == GATEWAY_CUT || kind == GATEWAY_SAY;
    buf_fini(&answer);
}

/* The token of the newest login. */
static const char *
gateway_token(const struct gateway *g)
{
    static char token[32];

    snprintf(token, sizeof(token), "fakeTokenOfTest.%u", g->logins);
    return token;
}

void
gateway_expire(struct gateway *g)
{
    g->logins++;
}

static void
gateway_log_in(struct gateway *g, struct gateway_conn *c, struct str body)
{
    const struct json_tok *root = NULL;
    struct arena a = {0};
    struct buf answer = {0};

    json_parse(&a, body, &root, NULL);
    if (g->user == NULL) {
        gateway_say_error(g, c, 9, "etcdserver: authentication is not enabled");
    } else if (!json_is(json_get(root, "name"), g->user) ||
               !json_is(json_get(root, "password"), g->password)) {
        gateway_say_error(g, c, 3, "etcdserver: authentication failed, "
                          "invalid user ID or password");
    } else {
        g->logins++;
        gw_put_header(g->map, &answer);
        buf_printf(&answer, ",\"token\":\"%s\"}", gateway_token(g));
        gateway_put_answer(g, &c->out, 0, buf_view(&answer), false);
    }
    buf_fini(&answer);
    arena_fini(&a);
}

static void
gateway_say_version(struct gateway *g, struct gateway_conn *c)
{
    struct buf body = {0};

    buf_printf(&body, "{\"etcdserver\":\"%s\",\"etcdcluster\":\"3.4.0\"}",
               g->version != NULL ? g->version : "3.4.23");
    gateway_put_answer(g, &c->out, 0, buf_view(&body), false);
    buf_fini(&body);
}

static void
gateway_request(struct gateway *g, struct gateway_conn *c,
                const struct http_head *head, struct str body)
{
    struct str token = http_field_of(head, "authorization");
    char path[64];

    snprintf(path, sizeof(path), "%.*s", STR_ARG(head->path));
    snprintf(g->last_path, sizeof(g->last_path), "%s", path);
    memmove(path, path + 4, sizeof(path) - 4); /* "/v3/" */
    g->requests++;
    for (size_t i = 0; i < GATEWAY_FAULTS; i++)
        if (g->fault[i].at == g->requests) {
            gateway_fail(g, c, i, path, body);
            return;
        }
    if (str_is(head->method, "GET") && strcmp(g->last_path, "/version") == 0)
        gateway_say_version(g, c);
    else if (!str_is(head->method, "POST") ||
             strncmp(g->last_path, "/v3/", 4) != 0)
        buf_z(&c->out, "HTTP/1.1 404 Not Found\r\nContent-Length: 19\r\n\r\n"
              "404 page not found\n");
    else if (strcmp(path, "auth/authenticate") == 0)
        gateway_log_in(g, c, body);
    else if (g->user != NULL && token.p == NULL &&
             strncmp(path, "lease/", 6) != 0)
        gateway_say_error(g, c, 3, "etcdserver: user name is empty");
    else if (token.p != NULL &&
             (g->user == NULL || !str_is(token, gateway_token(g)))) {
        if (!g->younger)
            gateway_say_error(g, c, 16, "etcdserver: invalid auth token");
    } else {
        gateway_call(g, path, body, &c->out);
    }
}

static void
gateway_read(struct gateway *g, struct gateway_conn *c)
{
    struct http_head head;
    char *p = buf_room(&c->in, 1 << 20);
    ssize_t n = recv(c->fd, p, 1 << 20, 0);
    int status, len;

    if (n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR)) {
        gateway_close(g, c);
        return;
    }
    c->in.len += n > 0 ? (size_t)n : 0;
    if (c->closing || c->in.len == 0)
        return;
    len = http_parse_head(&c->scan, c->in.p, c->in.len, &head, &status);
    if (len == ERR_SYNTAX) {
        fprintf(stderr, "gateway: malformed request, status %d\n", status);
        gateway_close(g, c);
    } else if (len > 0 && c->in.len - (size_t)len >= head.content_length) {
        gateway_request(g, c, &head, (struct str){c->in.p + len,
                                                  head.content_length});
        buf_consume(&c->in, (size_t)len + head.content_length);
    } else if (len > 0) {
        c->scan = (struct http_scan){0}; /* parse it again with its body */
    }
}

static void
gateway_write(struct gateway *g, struct gateway_conn *c)
{
    size_t left = c->out.len;
    ssize_t n;

    if (g->drip > 0 && left > g->drip)
        left = g->drip;
    n = left > 0 ? send(c->fd, c->out.p, left, MSG_NOSIGNAL) : 0;
    if (n > 0)
        buf_consume(&c->out, (size_t)n);
    if ((c->closing && c->out.len == 0) || (n < 0 && errno != EAGAIN))
        gateway_close(g, c);
}

void
gateway_step(struct gateway *g)
{
    struct gateway_conn *c = g->conn;
    int fd;

    if (g->frozen)
        return;
    while ((fd = accept(g->fd, NULL, NULL)) >= 0) {
        for (c = g->conn; c->fd >= 0; c++)
            if (c == &g->conn[GATEWAY_CONNS - 1])
                abort();
        c->fd = fd;
        g->accepted++;
        fcntl(fd, F_SETFL, O_NONBLOCK);
    }
    gw_tick(g->map);
    for (c = g->conn; c < g->conn + GATEWAY_CONNS; c++) {
        if (c->fd >= 0)
            gateway_read(g, c);
        if (c->fd >= 0)
            gateway_write(g, c);
    }
}

void
gateway_serve(struct gateway *g)
{
    struct pollfd p[GATEWAY_CONNS + 1];
    nfds_t n;

    for (;;) {
        p[0] = (struct pollfd){.fd = g->fd, .events = POLLIN};
        n = 1;
        for (size_t i = 0; i < GATEWAY_CONNS; i++)
            if (g->conn[i].fd >= 0)
                p[n++] = (struct pollfd){
                    .fd = g->conn[i].fd,
                    .events = g->conn[i].out.len > 0 ? POLLIN | POLLOUT
                                                     : POLLIN};
        poll(p, n, g->map->leases > 0 ? 100 : -1);
        gateway_step(g);
    }
}
