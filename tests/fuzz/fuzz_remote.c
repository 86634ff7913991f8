/* fuzz_remote - any keys and answers of etcd, for the engine of a host that
   follows the store, fetches and puts a content, commits, and offers its log
   as a snapshot.

   Each line is a key without the prefix, a blank and its value, in which '|'
   stands for a line feed and the sums of records are right; or '=', a digit, a
   blank and what comes instead of the answer to that request.

   What must hold:
   1. Nothing in etcd crashes a host, and every operation ends, or waits for
      time.
   2. What a host is told to append are whole lines, and a file that is to
      replace its log is one. */

#include "etcd/remote.h"
#include "store/record.h"
#include "tests/fuzz/fuzz_store.h"
#include "tests/lib/gateway.h"

#include <sys/stat.h>

#define PREFIX "t/main/"
#define MAX_STEPS 500
#define CONTENT \
    "b9e68e1bea3e5b19ca6b2f98b73a54b73daafaa250484902e09982e07a12e733"

static struct gateway *g;
static const struct remote *host;
static struct remote_at at;
static struct remote_news news;
static char *answers[GATEWAY_FAULTS];
static size_t n_answers;

/* ---- what etcd has ---- */

static void
plan_answer(struct str line)
{
    struct buf b = {0};

    if (n_answers == GATEWAY_FAULTS || line.len < 3 || line.p[1] < '1' ||
        line.p[1] > '9')
        return;
    buf_printf(&b, "HTTP/1.1 200 OK\r\nContent-Length: %zu\r\n\r\n",
               line.len - 3);
    buf_str(&b, str_from(line, 3));
    buf_char(&b, '\0');
    g->fault[n_answers].at = (uint64_t)(line.p[1] - '0');
    g->fault[n_answers].kind = GATEWAY_SAY;
    g->fault[n_answers].text = answers[n_answers] = b.p;
    n_answers++;
}

static void
set_key(struct str line)
{
    struct str key = str_cut(&line, ' ');
    struct buf name = {0}, value = {0};

    if (line.p == NULL)
        return;
    buf_printf(&name, PREFIX "%.*s", STR_ARG(key));
    buf_str(&value, line);
    for (size_t i = 0; i < value.len; i++)
        if (value.p[i] == '|')
            value.p[i] = '\n';
    fuzz_mend_sums(value.p, value.len);
    gw_set(g->map, buf_view(&name), buf_view(&value), 0, ++g->map->revision);
    buf_fini(&name);
    buf_fini(&value);
}

/* ---- the host ---- */

static bool
waits_for_time(void)
{
    int64_t due;
    bool write;

    return host->watch(host->ctx, &write, &due) < 0;
}

/* Steps until the operation ends. */
static int
finish(int rc)
{
    for (int i = 0; rc == 0 && i < MAX_STEPS; i++) {
        rc = host->step(host->ctx, &news);
        gateway_step(g);
        if (rc == ERR_PENDING && !waits_for_time())
            rc = 0;
        else
            return rc;
    }
    return rc == 0 ? ERR_PENDING : rc;
}

/* Up to one that does not follow, as a store does. */
static void
take_lines(struct str lines)
{
    struct store_rec r;

    while (lines.len > 0) {
        struct str line = str_cut(&lines, '\n');

        HOLDS(lines.p != NULL);
        if (record_parse(line, &r) != 0 || r.n != at.n + 1)
            break;
        at.n = r.n;
        at.b = r.b;
        at.sum = record_sum(line);
    }
}

static void
take_file(void)
{
    struct record_reader rd = {.fd = open(news.path, O_RDONLY), .end = 1 << 22};
    struct record_header head;
    struct store_rec r;
    struct str line;
    int64_t off;

    HOLDS(rd.fd >= 0 && record_next(&rd, &line, &off) == 1);
    HOLDS(record_parse_header(line, &head) == 0 && head.replica);
    at = (struct remote_at){.g = head.g};
    memcpy(at.id, head.id, sizeof(at.id));
    while (record_next(&rd, &line, &off) == 1)
        if (record_parse(line, &r) == 0) {
            at.n = r.n;
            at.b = r.b;
            at.sum = record_sum(line);
        }
    record_reader_fini(&rd);
    close(rd.fd);
    HOLDS(rename(news.path, env.log_path) == 0);
}

static bool
pull(void)
{
    struct remote_at known = at;
    int rc;

    if (known.head[0] != '\0')
        known.b = known.sum = 0;
    rc = finish(host->pull(host->ctx, &known));
    if (rc != 0)
        return false;
    if (news.what == REMOTE_REPLACE)
        take_file();
    else if (news.what == REMOTE_BEHIND)
        take_lines(news.lines);
    memcpy(at.head, news.head, sizeof(at.head));
    return true;
}

static int
commit(void)
{
    struct store_rec r = {.key = STR("task/x"), .body = STR("\"op\":\"x\""),
                          .time = STR("2026-07-28T09:30:00.000Z")};
    struct buf b = {0};
    int rc;

    if (at.head[0] == '\0')
        return ERR_NOT_FOUND;
    r.g = at.g;
    r.n = r.b = at.n + 1;
    record_put(&b, &r);
    rc = finish(host->commit(host->ctx, &at, buf_view(&b), r.n, r.n,
                             record_sum((struct str){b.p, b.len - 1})));
    buf_fini(&b);
    return rc;
}

static void
use_contents(void)
{
    static const char text[] = "text\n";

    finish(host->content(host->ctx, env.artifacts_dir, CONTENT, REMOTE_FETCH));
    finish(host->content(host->ctx, env.artifacts_dir, CONTENT, REMOTE_LIST));
    mkdir(env.artifacts_dir, 0700);
    put_file(file_path("artifacts/" CONTENT), text, strlen(text));
    finish(host->content(host->ctx, env.artifacts_dir, CONTENT, REMOTE_PUT));
    finish(host->content(host->ctx, env.artifacts_dir, CONTENT, REMOTE_DROP));
    unlink(file_path("artifacts/" CONTENT));
}

static void
check_host(void)
{
    uint64_t done, all;

    for (int i = 0; i < 4 && pull() && news.what != REMOTE_SAME; i++)
        continue;
    if (commit() == 0 && news.what == REMOTE_BEHIND)
        take_lines(news.lines);
    use_contents();
    host->compacted(host->ctx, env.log_path, at.head, 100);
    for (int i = 0; i < 50 && host->uploads(host->ctx, &done, &all); i++)
        finish(0);
    finish(host->examine(host->ctx, 0));
    HOLDS(host->why(host->ctx) != NULL);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    struct str rest = {(const char *)data, n};
    char url[80], why[256];

    place_store();
    g = gateway_new(NULL);
    while (rest.len > 0) {
        struct str line = str_cut(&rest, '\n');

        if (str_starts(line, "="))
            plan_answer(line);
        else
            set_key(line);
    }
    snprintf(url, sizeof(url), "etcd://%s/t/main", g->endpoint);
    at = (struct remote_at){.g = 0};
    HOLDS(remote_new(&host, str_of(url), STR(""), env.log_path, why) == 0);
    check_host();
    remote_free(host);
    gateway_free(g);
    while (n_answers > 0)
        free(answers[--n_answers]);
    return 0;
}
