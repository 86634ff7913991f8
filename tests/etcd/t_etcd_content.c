/* Contents of artifacts in etcd, against two fake members of a cluster before
   one map. */

#include "base/sha256.h"
#include "store/remote.h"
#include "tests/lib/engine_rig.h"

#define PART (512 * 1024)
#define MIB (1024 * 1024)

/* A content of len bytes, each set different. */
static struct content {
    char bytes[MIB + 1], hex[SHA256_HEX + 1];
    size_t len;
} big, small;

static void
fill(struct content *c, size_t len, unsigned seed)
{
    c->len = len;
    for (size_t i = 0; i < len; i++)
        c->bytes[i] = (char)((i + seed) * 2654435761u >> 13);
    sha256_hex((struct str){c->bytes, len}, c->hex);
}

static const char *
dir_of(const struct host *h)
{
    static char dirs[2][320]; /* the engine keeps the name */
    char *out = dirs[h == &b];

    snprintf(out, sizeof(dirs[0]), "%s.contents", h->log);
    return out;
}

static void
keep(const struct host *h, const struct content *c)
{
    CHECK(file_write_whole(dir_of(h), c->hex,
                           (struct str){c->bytes, c->len}) == 0);
}

static bool
has(const struct host *h, const struct content *c)
{
    static char text[MIB + 2];
    char path[400];
    size_t n = 0;
    FILE *f;

    snprintf(path, sizeof(path), "%s/%s", dir_of(h), c->hex);
    f = fopen(path, "r");
    if (f != NULL) {
        n = fread(text, 1, sizeof(text), f);
        fclose(f);
    }
    return f != NULL && n == c->len && memcmp(text, c->bytes, n) == 0;
}

static int
begin_share(struct host *h, const struct content *c,
            enum remote_content what)
{
    return h->r->content(h->r->ctx, dir_of(h), c->hex, what);
}

static int
share(struct host *h, const struct content *c, enum remote_content what)
{
    return finish(h, begin_share(h, c, what));
}

static bool
says(const struct host *h, const char *what)
{
    bool found = strstr(h->r->why(h->r->ctx), what) != NULL;

    if (!found)
        printf("%s\n", h->r->why(h->r->ctx));
    return found;
}

/* The sum of all bytes, as etcd has it. */
static bool
sum_is(size_t sum)
{
    char text[32];

    snprintf(text, sizeof(text), "%zu", sum);
    return CHECK(str_is(gw_value(g[0]->map, "t/main/a"), text));
}

/* Two hosts put and fetch; both put the same. Returns how many requests it
   took. */
static uint64_t
play(enum gateway_fault kind, uint64_t at)
{
    uint64_t requests;

    begin();
    keep(&a, &big);
    keep(&b, &small);
    gateway_plan(g[0], at, kind, 14, "etcdserver: request timed out");
    CHECK(share(&a, &big, REMOTE_PUT) == 0);
    commit(&a, "k/a", 1);
    CHECK(share(&b, &small, REMOTE_PUT) == 0);
    CHECK(pull(&b) == 0 && share(&b, &big, REMOTE_FETCH) == 0 && has(&b, &big));
    CHECK(share(&b, &big, REMOTE_PUT) == 0);
    CHECK(share(&a, &small, REMOTE_FETCH) == 0 && has(&a, &small));
    requests = g[0]->requests;
    CHECK(sum_is(big.len + small.len) && keys("t/main/c/") == 3);
    end();
    return requests;
}

TEST(faults)
{
    for (size_t i = 0; i < FAULT_KINDS; i++)
        for (uint64_t at = 0, all = 1; at < all; at += TEST_STEP)
            all = play(fault_kinds[i], at);
}

/* Each size is whole, in as few parts as it needs. */
TEST(sizes)
{
    static const size_t sizes[] = {0, 1, PART - 1, PART, PART + 1, MIB};
    static struct content c;

    begin();
    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        size_t before = keys("t/main/c/");

        fill(&c, sizes[i], 7);
        keep(&a, &c);
        CHECK(share(&a, &c, REMOTE_PUT) == 0);
        CHECK(share(&b, &c, REMOTE_FETCH) == 0 && has(&b, &c));
        CHECK(keys("t/main/c/") - before == (sizes[i] > PART ? 2 : 1));
    }
    fill(&c, MIB + 1, 7);
    keep(&a, &c);
    CHECK(share(&a, &c, REMOTE_PUT) == ERR_TOO_LARGE);
    end();
}

/* Of two who put the same at once, each may do a part of it. */
TEST(rivals)
{
    for (int lead = 0; lead < 40; lead += 1 + (TEST_STEP > 1)) {
        begin();
        keep(&a, &big);
        keep(&b, &big);
        CHECK(begin_share(&a, &big, REMOTE_PUT) == 0);
        for (int i = 0; i < lead; i++)
            if (step(&a) == 0)
                lead = 100;
        CHECK(share(&b, &big, REMOTE_PUT) == 0);
        CHECK(lead >= 100 || finish(&a, 0) == 0);
        CHECK(sum_is(big.len) && keys("t/main/c/") == 2);
        CHECK(share(&b, &big, REMOTE_FETCH) == 0);
        end();
    }
}

/* One who was killed halfway has put nothing that others find, and the next one
   goes on from there. */
TEST(killed)
{
    begin();
    keep(&a, &big);
    keep(&b, &big);
    CHECK(begin_share(&a, &big, REMOTE_PUT) == 0);
    while (keys("t/main/c/") == 0)
        CHECK(step(&a) == ERR_PENDING);
    restart(&a, true);
    CHECK(share(&a, &big, REMOTE_FETCH) == ERR_NOT_FOUND);
    CHECK(says(&a, "push --continue"));
    CHECK(share(&b, &big, REMOTE_PUT) == 0);
    CHECK(share(&a, &big, REMOTE_FETCH) == 0);
    CHECK(sum_is(big.len) && keys("t/main/c/") == 2);
    end();
}

/* A host gives up; its request takes effect later, and adds nothing. */
TEST(given_up)
{
    begin();
    keep(&a, &small);
    CHECK(begin_share(&a, &small, REMOTE_PUT) == 0);
    while (keys("t/main/a") == 0)
        CHECK(step(&a) == ERR_PENDING);
    CHECK(pull(&a) == 0);
    CHECK(share(&a, &small, REMOTE_PUT) == 0 && sum_is(small.len));
    end();
}

TEST(missing)
{
    char key[128], about[128], path[400];

    begin();
    CHECK(share(&a, &small, REMOTE_PUT) == ERR_NOT_FOUND);
    CHECK(says(&a, small.hex) && keys("t/") == 0);
    CHECK(share(&a, &small, REMOTE_FETCH) == ERR_NOT_FOUND);
    CHECK(says(&a, "push --continue"));
    /* A file is not what its name says, here or there. */
    CHECK(file_write_whole(dir_of(&a), small.hex, STR("other")) == 0);
    CHECK(share(&a, &small, REMOTE_PUT) == ERR_DAMAGED && says(&a, small.hex));
    keep(&a, &small);
    CHECK(share(&a, &small, REMOTE_PUT) == 0);
    snprintf(key, sizeof(key), "t/main/c/%s/0", small.hex);
    set_key(key, "other");
    CHECK(share(&b, &small, REMOTE_FETCH) == ERR_DAMAGED && !has(&b, &small));
    CHECK(says(&b, "push --continue"));
    /* What was damaged is not there any more, and can be put anew. */
    CHECK(keys("t/main/a/") == 0 && keys("t/main/c/") == 0 && sum_is(0));
    CHECK(share(&a, &small, REMOTE_PUT) == 0);
    CHECK(share(&b, &small, REMOTE_FETCH) == 0 && sum_is(small.len));
    drop_key(key);
    CHECK(share(&b, &small, REMOTE_FETCH) == ERR_DAMAGED && sum_is(0));
    CHECK(share(&a, &small, REMOTE_PUT) == 0);
    /* What is said of it makes no sense: it is put again, part for part. */
    snprintf(about, sizeof(about), "t/main/a/%s", small.hex);
    set_key(about, "7 what");
    drop_key(key);
    CHECK(share(&b, &small, REMOTE_FETCH) == ERR_NOT_FOUND);
    CHECK(share(&a, &small, REMOTE_PUT) == 0 && sum_is(small.len));
    CHECK(share(&b, &small, REMOTE_FETCH) == 0 && has(&b, &small));
    /* There is no place for the file. */
    snprintf(path, sizeof(path), "%s/%s", dir_of(&b), small.hex);
    unlink(path);
    snprintf(path, sizeof(path), "%s", dir_of(&b));
    CHECK(rmdir(path) == 0);
    CHECK(file_write_new(path, path, STR(""), true) == 0);
    CHECK(share(&b, &small, REMOTE_FETCH) < 0 && says(&b, path));
    end();
}

/* The limit of the URL, and that of etcd. */
TEST(room)
{
    static struct content most;

    begin();
    snprintf(url + strlen(url), sizeof(url) - strlen(url), "?artifacts=1");
    restart(&a, false);
    fill(&most, MIB - 999, 3);
    keep(&a, &most);
    keep(&a, &small);
    CHECK(share(&a, &most, REMOTE_PUT) == 0);
    CHECK(share(&a, &small, REMOTE_PUT) == ERR_FULL);
    CHECK(says(&a, "artifacts=1 "));
    CHECK(share(&a, &most, REMOTE_PUT) == 0); /* what is there is */
    g[0]->map->full = true;
    CHECK(share(&a, &most, REMOTE_PUT) == ERR_FULL);
    CHECK(says(&a, "space exceeded"));
    g[0]->map->full = false;
    snprintf(strchr(url, '?'), 16, "?artifacts=0");
    restart(&a, false);
    CHECK(a.r->content == NULL);
    end();
}

#define DAY_MS (24 * 60 * 60 * 1000)

/* A content goes a day after somebody has put it. */
static uint64_t
drop_with(enum gateway_fault kind, uint64_t at)
{
    uint64_t before;

    begin();
    keep(&a, &big);
    keep(&a, &small);
    CHECK(share(&a, &big, REMOTE_PUT) == 0);
    CHECK(share(&b, &big, REMOTE_DROP) == ERR_BUSY);
    ahead_ms += DAY_MS;
    CHECK(share(&a, &small, REMOTE_PUT) == 0);
    before = g[0]->requests;
    gateway_plan(g[0], at, kind, 14, "etcdserver: request timed out");
    CHECK(share(&b, &big, REMOTE_DROP) == 0);
    before = g[0]->requests - before;
    CHECK(share(&b, &small, REMOTE_DROP) == ERR_BUSY);
    CHECK(sum_is(small.len) && keys("t/main/c/") == 1);
    CHECK(share(&b, &big, REMOTE_FETCH) == ERR_NOT_FOUND);
    CHECK(share(&b, &big, REMOTE_DROP) == 0);
    end();
    return before;
}

TEST(drop)
{
    for (size_t i = 0; i < FAULT_KINDS; i++)
        for (uint64_t at = 0, all = 1; at < all; at++)
            all = drop_with(fault_kinds[i], at);
}

/* One host puts what another drops: it is there in the end. */
TEST(drop_rivals)
{
    for (int lead = 0; lead < 60; lead++) {
        struct host *first = lead % 2 == 0 ? &a : &b;
        int i, rc;

        begin();
        keep(&a, &big);
        keep(&b, &big);
        CHECK(share(&a, &big, REMOTE_PUT) == 0);
        ahead_ms += DAY_MS;
        CHECK(begin_share(&a, &big, REMOTE_DROP) == 0);
        CHECK(begin_share(&b, &big, REMOTE_PUT) == 0);
        for (i = 0, rc = ERR_PENDING; i < lead / 2 && rc == ERR_PENDING; i++)
            rc = step(first);
        if (first == &b || rc == ERR_PENDING) {
            rc = first == &b && rc != ERR_PENDING ? 0 : rc;
            i = finish(&a, 0);
            CHECK(i == 0 || i == ERR_BUSY);
        }
        if (first == &a || rc == ERR_PENDING)
            CHECK(finish(&b, 0) == 0);
        CHECK(share(&b, &big, REMOTE_FETCH) == 0 && sum_is(big.len));
        end();
    }
}

TEST(list)
{
    char key[128], last[SHA256_HEX + 1] = "", *end_of;
    static struct content c;
    struct str rest, one;
    size_t n = 0;

    begin();
    for (int i = 0; i < 1500; i++) {
        snprintf(key, sizeof(key), "t/main/a/%064d", i * 7);
        set_key(key, "1 2 3");
    }
    do {
        end_of = c.hex;
        snprintf(end_of, sizeof(c.hex), "%s", last);
        CHECK(share(&a, &c, REMOTE_LIST) == 0);
        rest = a.news.lines;
        for (one = rest; rest.len > 0; n++) {
            one = str_cut(&rest, '\n');
            snprintf(last, sizeof(last), "%.*s", STR_ARG(one));
            CHECK(one.len == SHA256_HEX && atoi(last + 40) == (int)n * 7);
        }
    } while (one.len > 0 && n < 5000);
    CHECK(n == 1500);
    /* What etcd would never say. */
    gateway_plan(g[0], 0, GATEWAY_SAY, 0,
                 "HTTP/1.1 200 OK\r\nContent-Length: 85\r\n\r\n"
                 "{\"header\":{\"revision\":\"9\"},\"responses\":[{"
                 "\"response_range\":{\"kvs\":[{\"key\":\"YQ==\"}]}}]}");
    CHECK(share(&a, &c, REMOTE_LIST) == ERR_FORMAT);
    end();
}

int
main(void)
{

    fill(&big, PART + 5000, 1);
    fill(&small, 1000, 2);
    test_run();
    return test_end("t_etcd_content");
}
