/* Contents of artifacts, which the hosts of a store share: put before the batch
   that names them is committed, and fetched where a turn needs them. */

#include "tests/lib/hosts_rig.h"
#include "store/remote.h"

/* printf one | sha256sum, and so on */
#define ONE "7692c3ad3540bb803c020b3aee66cd8887123234ea0c6e7143c0add73ff431ed"
#define TWO "3fc4ccfe745870e2c0d99f71f30ff0656c8dedd41cc1d7d3d376b0dbe685e2f3"

static bool
has(const struct host *h, const char *hex, const char *content)
{
    char path[400];

    snprintf(path, sizeof(path), "%s/%s", h->artifacts, hex);
    return file_is(path, content, strlen(content));
}

static void
keep(struct host *h, const char *hex, const char *content)
{
    CHECK(file_write_whole(h->artifacts, hex, str_of(content)) == 0);
}

static int
ask(struct host *h, const char *hex, bool put)
{
    return store_content(h->t.s, h->artifacts, str_of(hex), put);
}

/* A turn that attaches: what store_content and the commit say. */
static int
attach(struct host *h, const char *hex, int said)
{
    bool unknown;
    int rc;

    CHECK(store_lock_patiently(h->t.s) == 0);
    CHECK(ask(h, hex, true) == said);
    CHECK(store_stage(h->t.s, STR("task/a"), STR("\"v\":1")) == 0);
    rc = finish(h, &unknown);
    CHECK(store_staged_n(h->t.s) == 0 && !unknown);
    store_unlock(h->t.s);
    return rc;
}

/* Others commit while a batch is offered, whose content is there already. */
static void
rival(void *ctx)
{
    CHECK(fake_find(&list, ONE) != NULL);
    CHECK(put(ctx, "task/b", "\"v\":2") == 0);
}

TEST(put)
{
    begin(2);
    keep(&host[0], ONE, "one");
    CHECK(confirm(&host[0]) == 0 && confirm(&host[1]) == 0);
    host[0].f.first = rival;
    host[0].f.first_ctx = &host[1];
    CHECK(attach(&host[0], ONE, ERR_PENDING) == ERR_AGAIN);
    CHECK(host[0].f.first == NULL && host[0].f.shares == 1);
    /* The turn runs again: it is not put a second time. */
    CHECK(attach(&host[0], ONE, 0) == 0 && host[0].f.shares == 1);
    /* Another turn does, for the content may be old. */
    CHECK(attach(&host[0], ONE, ERR_PENDING) == 0 && host[0].f.shares == 2);
    CHECK(sees(&host[0], "task/b", "\"v\":2"));
    end();
}

/* The call that names it is refused, and others of its turn are not. */
TEST(refused)
{
    struct store *s;
    bool unknown;

    begin(1);
    s = host[0].t.s;
    keep(&host[0], ONE, "one");
    keep(&host[0], TWO, "two");
    CHECK(store_lock_patiently(s) == 0);
    CHECK(store_stage(s, STR("task/a"), STR("\"v\":1")) == 0);
    CHECK(ask(&host[0], ONE, true) == ERR_PENDING);
    CHECK(finish(&host[0], &unknown) == 0 && host[0].f.shares == 0);
    CHECK(ask(&host[0], ONE, true) == ERR_PENDING);
    CHECK(finish(&host[0], &unknown) == 0 && host[0].f.shares == 0);
    /* The first call for it was not. */
    CHECK(ask(&host[0], TWO, true) == ERR_PENDING);
    CHECK(store_stage(s, STR("task/a"), STR("\"v\":2")) == 0);
    CHECK(ask(&host[0], TWO, true) == ERR_PENDING);
    CHECK(finish(&host[0], &unknown) == 0 && host[0].f.shares == 1);
    store_unlock(s);
    end();
}

/* Only what needs it fails. */
TEST(no_room)
{
    begin(1);
    keep(&host[0], ONE, "one");
    CHECK(put(&host[0], "task/a", "\"v\":0") == 0);
    host[0].f.no_content = ERR_FULL;
    CHECK(attach(&host[0], ONE, ERR_PENDING) == ERR_AGAIN);
    CHECK(attach(&host[0], ONE, ERR_FULL) == 0); /* another call's record */
    CHECK(strstr(store_content_why(host[0].t.s), "no such content") != NULL);
    host[0].f.no_content = 0;
    CHECK(attach(&host[0], ONE, ERR_PENDING) == 0);
    CHECK(sees(&host[0], "task/a", "\"v\":1"));
    end();
}

TEST(fetch)
{
    bool unknown;

    begin(2);
    keep(&host[0], ONE, "one");
    CHECK(attach(&host[0], ONE, ERR_PENDING) == 0 && confirm(&host[1]) == 0);
    /* The turn of the reader, without the lock, runs again. */
    CHECK(store_follow(host[1].t.s) == 0);
    CHECK(ask(&host[1], ONE, false) == ERR_PENDING);
    CHECK(ask(&host[1], TWO, false) == ERR_PENDING);
    CHECK(finish(&host[1], &unknown) == ERR_AGAIN && host[1].f.shares == 2);
    CHECK(ask(&host[1], ONE, false) == 0 && has(&host[1], ONE, "one"));
    CHECK(ask(&host[1], TWO, false) == ERR_NOT_FOUND);
    CHECK(finish(&host[1], &unknown) == 0 && host[1].f.shares == 2);
    CHECK(ask(&host[1], TWO, false) == ERR_PENDING); /* in the next one */
    CHECK(finish(&host[1], &unknown) == ERR_AGAIN);
    CHECK(finish(&host[1], &unknown) == 0);
    end();
}

/* A turn both reads and writes: what it staged is staged again. */
TEST(both)
{
    begin(2);
    keep(&host[0], ONE, "one");
    keep(&host[1], TWO, "two");
    CHECK(attach(&host[0], ONE, ERR_PENDING) == 0 && confirm(&host[1]) == 0);
    CHECK(store_lock_patiently(host[1].t.s) == 0);
    CHECK(ask(&host[1], ONE, false) == ERR_PENDING);
    store_unlock(host[1].t.s);
    CHECK(attach(&host[1], TWO, ERR_PENDING) == ERR_AGAIN);
    CHECK(attach(&host[1], TWO, ERR_PENDING) == 0 && has(&host[1], ONE, "one"));
    CHECK(fake_find(&list, TWO) != NULL);
    end();
}

TEST(unreachable)
{
    begin(1);
    keep(&host[0], ONE, "one");
    CHECK(put(&host[0], "task/a", "\"v\":0") == 0);
    host[0].f.fail = ERR_UNREACHABLE;
    host[0].f.n_fail = 1;
    CHECK(attach(&host[0], ONE, ERR_PENDING) == ERR_UNREACHABLE);
    host[0].t.s->replica->until_ms = INT64_MAX;
    CHECK(ask(&host[0], ONE, true) == ERR_UNREACHABLE);
    CHECK(ask(&host[0], TWO, false) == ERR_UNREACHABLE);
    CHECK(strstr(store_content_why(host[0].t.s), "not answer") != NULL);
    host[0].t.s->replica->until_ms = 0;
    CHECK(attach(&host[0], ONE, ERR_PENDING) == 0);
    end();
}

TEST(many)
{
    char hex[SHA256_HEX + 1] = ONE;
    bool unknown;

    begin(1);
    for (int i = 0; i < REPLICA_CONTENTS; i++) {
        snprintf(hex, sizeof(hex), "%064d", i);
        CHECK(ask(&host[0], hex, false) == ERR_PENDING);
    }
    CHECK(ask(&host[0], ONE, false) == ERR_BUSY);
    CHECK(finish(&host[0], &unknown) == ERR_AGAIN);
    CHECK(ask(&host[0], hex, false) == ERR_NOT_FOUND);
    CHECK(finish(&host[0], &unknown) == 0);
    CHECK(ask(&host[0], ONE, false) == ERR_PENDING);
    CHECK(finish(&host[0], &unknown) == ERR_AGAIN);
    end();
}

/* A remote that shares no contents; and none. */
TEST(not_shared)
{
    struct tstore t;
    char *path = path_fresh("tasks.log");

    begin(1);
    host[0].f.remote.content = NULL;
    CHECK(ask(&host[0], ONE, true) == 0);
    CHECK(ask(&host[0], ONE, false) == ERR_NOT_FOUND);
    end();
    CHECK(ts_open(&t, path) == 0);
    CHECK(store_content(t.s, "dir", STR(ONE), true) == 0);
    CHECK(store_share(t.s, "dir", STR(ONE), false) == ERR_NOT_FOUND);
    CHECK(store_content_why(t.s)[0] == '\0');
    ts_close(&t);
    free(path);
}

/* ---- the command line ---- */

static int
run(struct host *h, const char *line)
{
    char text[1024], *word[16], *rest = text;
    size_t n = 0;

    snprintf(text, sizeof(text), "%s", line);
    while ((word[n] = strtok_r(rest, " ", &rest)) != NULL)
        n++;
    return command_of(h, word);
}

/* The batch that was committed last. */
static const char *
newest_lines(void)
{
    struct buf *b = &fake_newest(&list)->lines;

    buf_char(b, '\0');
    b->len--;
    return b->p;
}

TEST(commands)
{
    const char *id;
    char line[600], *file = path_fresh("file"), *copy = path_fresh("copy");
    char *dir = path_fresh("backup");

    begin(3);
    for (int i = 0; i < 3; i++)
        ts_close(&host[i].t);
    file_put(file, "one", 3);
    CHECK(run(&host[0], "add --id t T") == 0);
    snprintf(line, sizeof(line), "attach t %s", file);
    host[0].f.no_content = ERR_FULL;
    CHECK(run(&host[0], line) == CLI_STORE);
    host[0].f.no_content = 0;
    CHECK(run(&host[0], line) == 0 && fake_find(&list, ONE) != NULL);
    id = strstr(newest_lines(), "\"artifact_id\":\"") + 15;
    snprintf(line, sizeof(line), "show --artifact %.*s t",
             (int)strcspn(id, "\""), id);
    CHECK(run(&host[1], line) == 0);
    CHECK(has(&host[1], ONE, "one"));
    /* One that is damaged here comes from there. */
    keep(&host[1], ONE, "eno");
    CHECK(run(&host[1], "verify") == 0 && has(&host[1], ONE, "one"));
    snprintf(line, sizeof(line), "backup %s", dir);
    CHECK(run(&host[2], line) == 0 && has(&host[2], ONE, "one"));
    /* It is nowhere else any more, and goes there again. */
    list.content[0].hex[0] = '\0';
    keep(&host[1], ONE, "eno");
    CHECK(run(&host[1], "verify") == CLI_STORE);
    snprintf(line, sizeof(line), "pull %s", copy);
    CHECK(run(&host[1], line) == CLI_STORE && file_exists(copy));
    CHECK(run(&host[0], "push --continue") == 0);
    unlink(copy);
    CHECK(run(&host[1], line) == 0 && has(&host[1], ONE, "one"));
    for (int i = 0; i < 3; i++)
        open_host(&host[i]);
    end();
    free(file);
    free(copy);
    free(dir);
}

/* What no record names goes, unless it is young, from everywhere. */
TEST(orphans)
{
    begin(2);
    keep(&host[0], ONE, "one");
    keep(&host[0], TWO, "two");
    CHECK(store_share(host[0].t.s, host[0].artifacts, STR(ONE),
                      REMOTE_PUT) == 0);
    CHECK(store_share(host[0].t.s, host[0].artifacts, STR(TWO),
                      REMOTE_PUT) == 0);
    CHECK(put(&host[0], "task/a", "\"v\":\"" TWO "\"") == 0);
    ts_close(&host[1].t);
    host[1].f.young = true;
    CHECK(run(&host[1], "compact --orphans") == 0);
    CHECK(fake_find(&list, ONE) != NULL);
    host[1].f.young = false;
    CHECK(run(&host[1], "verify") == 0 && fake_find(&list, ONE) != NULL);
    CHECK(run(&host[1], "compact") == 0 && fake_find(&list, ONE) != NULL);
    CHECK(run(&host[1], "compact --orphans") == 0);
    CHECK(fake_find(&list, ONE) == NULL && fake_find(&list, TWO) != NULL);
    host[1].f.no_content = ERR_UNREACHABLE;
    CHECK(run(&host[1], "compact --orphans") == CLI_STORE);
    open_host(&host[1]);
    end();
}
