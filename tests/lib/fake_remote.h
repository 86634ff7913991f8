#ifndef TEST_FAKE_REMOTE_H
#define TEST_FAKE_REMOTE_H

/* A remote in memory: one ordered list of batches that the stores of a test
   share, and for each of them an engine that answers as store/remote.h says.
   A test can make an engine slow, fail, answer nothing, or lose its answers. */

#include "base/file.h"
#include "base/sha256.h"
#include "store/record.h"
#include "store/remote.h"
#include "tests/lib/test.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>

#define FAKE_MAX 512
#define FAKE_CONTENTS 4

struct fake_batch {
    uint64_t last;
    uint32_t sum;
    struct buf lines;
    char head[REMOTE_HEAD_MAX];
};

struct fake_list { /* what all hosts share */
    struct fake_batch b[FAKE_MAX]; /* b[0] is before the first record */
    size_t n;                      /* 0: there is no store yet */
    unsigned epoch;
    char id[33];
    struct {
        char hex[SHA256_HEX + 1]; /* "": none */
        struct buf bytes;
    } content[FAKE_CONTENTS];
};

struct fake {
    struct remote remote;
    struct fake_list *list;
    char dir[256]; /* of the log */
    unsigned hold;   /* this many steps answer ERR_PENDING first */
    unsigned n_fail; /* this many operations fail without effect, */
    int fail;        /* with this error */
    bool full;       /* commits are refused */
    bool late;       /* one that failed takes effect at fake_settle */
    size_t window;   /* batches in an answer */
    int64_t skew_ms;
    int no_content;  /* contents fail so, and nothing else */
    unsigned uploads; /* steps that an upload takes */
    bool young;      /* they were put just now */
    unsigned continued; /* pulls that found all, and gave it back */
    unsigned pulls, commits, shares, n_compacted, n_alive;
    uint64_t number; /* of this process */
    uint64_t living; /* of another */
    uint64_t gone;   /* an instance that was missing for long */
    void (*first)(void *ctx); /* called once before the next commit is judged,
                                 so that others come first */
    void *first_ctx;

    enum { FAKE_IDLE, FAKE_PULL, FAKE_COMMIT, FAKE_SHARE } doing;
    const char *content_dir;
    char hex[SHA256_HEX + 1];
    enum remote_content what;
    struct remote_at at;
    struct buf lines, out;
    uint64_t last;
    uint32_t sum;
    char path[300], aside[64];
    bool pending;
};

static inline struct fake_batch *
fake_newest(struct fake_list *l)
{
    return &l->b[l->n - 1];
}

static inline void
fake_add(struct fake_list *l, struct str lines, uint64_t last, uint32_t sum)
{
    struct fake_batch *b = &l->b[l->n++];

    if (l->n > FAKE_MAX)
        abort();
    memset(b, 0, sizeof(*b));
    b->last = last;
    b->sum = sum;
    buf_str(&b->lines, lines);
    snprintf(b->head, sizeof(b->head), "1 %016x %llu %032zx %08x", l->epoch,
             (unsigned long long)last, l->n, sum);
}

/* Begins a new epoch with the first n batches, as restoring a backup does. */
static inline void
fake_restore(struct fake_list *l, size_t n)
{
    while (l->n > n + 1)
        buf_fini(&l->b[--l->n].lines);
    l->epoch++;
    for (size_t i = 0; i < l->n; i++)
        snprintf(l->b[i].head, sizeof(l->b[i].head), "1 %016x %llu %032zx %08x",
                 l->epoch, (unsigned long long)l->b[i].last, i, l->b[i].sum);
}

static inline void
fake_free(struct fake_list *l)
{
    for (size_t i = 0; i < FAKE_CONTENTS; i++) {
        buf_fini(&l->content[i].bytes);
        l->content[i].hex[0] = '\0';
    }
    while (l->n > 0)
        buf_fini(&l->b[--l->n].lines);
}

/* The number of the batch that the replica has reached; 0: before the first;
   -1: it is not in the list. */
static inline long
fake_place(const struct fake *f)
{
    const struct fake_list *l = f->list;

    for (size_t i = 0; i < l->n; i++)
        if (f->at.head[0] != '\0' ? strcmp(f->at.head, l->b[i].head) == 0
            : f->at.n == 0        ? strcmp(f->at.id, l->id) == 0
                                  : f->at.n == l->b[i].last &&
                                        f->at.sum == l->b[i].sum)
            return (long)i;
    return -1;
}

/* Answers with all batches as a whole log. */
static inline void
fake_replace(struct fake *f, struct remote_news *out)
{
    struct record_header h = {.version = 1, .g = f->at.g + 1, .replica = true};
    struct buf b = {0};
    int fd;

    snprintf(h.id, sizeof(h.id), "%s", f->list->id);
    record_put_header(&b, &h, 1785231000000);
    for (size_t i = 0; i < f->list->n; i++) {
        struct str all = buf_view(&f->list->b[i].lines);

        while (all.len > 0) {
            const char *lf = memchr(all.p, '\n', all.len);
            struct store_rec r;

            if (record_parse((struct str){all.p, (size_t)(lf - all.p)},
                             &r) != 0)
                abort();
            r.g = h.g;
            record_put(&b, &r);
            all.len -= (size_t)(lf + 1 - all.p);
            all.p = lf + 1;
        }
    }
    snprintf(f->path, sizeof(f->path), "%s/snapshot", f->dir);
    fd = open(f->path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    if (fd < 0 || write(fd, b.p, b.len) != (ssize_t)b.len || close(fd) != 0)
        abort();
    buf_fini(&b);
    out->what = REMOTE_REPLACE;
    out->path = f->path;
    snprintf(f->aside, sizeof(f->aside), "diverged-%llu",
             (unsigned long long)f->at.n);
    out->aside = f->at.n > 0 ? f->aside : NULL;
    snprintf(out->head, sizeof(out->head), "%s", fake_newest(f->list)->head);
}

/* Makes the replica's log the whole store: there is none yet, or its records
   are lost. */
static inline void
fake_push(struct fake *f, struct remote_news *out)
{
    static char text[65536];
    struct str all;
    char path[300];
    FILE *in;

    snprintf(path, sizeof(path), "%s/tasks.log", f->dir);
    in = fopen(path, "r");
    CHECK(in != NULL && f->list->n == 0);
    all = (struct str){text, fread(text, 1, sizeof(text), in)};
    fclose(in);
    str_cut(&all, '\n');
    snprintf(f->list->id, sizeof(f->list->id), "%s", f->at.id);
    f->list->epoch++;
    fake_add(f->list, STR_NONE, 0, 0);
    fake_add(f->list, all, f->at.n, f->at.sum);
    snprintf(out->head, sizeof(out->head), "%s", fake_newest(f->list)->head);
    if (f->at.push == REMOTE_PUSH) {
        fake_replace(f, out);
        out->aside = "before-etcd";
    }
}

static inline void
fake_tell(struct fake *f, struct remote_news *out)
{
    struct fake_list *l = f->list;
    long at = fake_place(f);
    size_t i, end;

    if (at < 0 && f->at.head[0] != '\0') { /* of another epoch */
        f->at.head[0] = '\0';
        out->what = REMOTE_BEHIND;
        at = fake_place(f);
    }
    if (at < 0) {
        fake_replace(f, out);
        return;
    }
    i = (size_t)at + 1;
    end = i + f->window < l->n ? i + f->window : l->n;
    out->what = i < l->n ? REMOTE_BEHIND : REMOTE_SAME;
    f->out.len = 0;
    for (; i < end; i++)
        buf_str(&f->out, buf_view(&l->b[i].lines));
    out->lines = buf_view(&f->out);
    out->more = end < l->n || (f->at.push == REMOTE_CONTINUE &&
                               out->what == REMOTE_BEHIND);
    f->continued += out->what == REMOTE_SAME && f->at.push == REMOTE_CONTINUE;
    snprintf(out->head, sizeof(out->head), "%s", l->b[end - 1].head);
}

static inline void
fake_take(struct fake *f)
{
    if (strcmp(f->at.head, fake_newest(f->list)->head) == 0)
        fake_add(f->list, buf_view(&f->lines), f->last, f->sum);
}

/* A commit of unknown outcome takes effect, if it still can. */
static inline void
fake_settle(struct fake *f)
{
    if (f->pending)
        fake_take(f);
    f->pending = false;
}

static inline int
fake_pull(void *ctx, const struct remote_at *at)
{
    struct fake *f = ctx;

    CHECK(f->doing == FAKE_IDLE);
    f->at = *at;
    f->doing = FAKE_PULL;
    f->pulls++;
    return 0;
}

static inline int
fake_commit(void *ctx, const struct remote_at *at, struct str lines,
            uint64_t first, uint64_t last, uint32_t sum)
{
    struct fake *f = ctx;

    CHECK(f->doing == FAKE_IDLE && at->head[0] != '\0' && first == at->n + 1);
    if (lines.len > REMOTE_MAX_BATCH)
        return ERR_TOO_LARGE;
    f->at = *at;
    f->doing = FAKE_COMMIT;
    f->commits++;
    f->lines.len = 0;
    buf_str(&f->lines, lines);
    f->last = last;
    f->sum = sum;
    return 0;
}

static inline int
fake_content(void *ctx, const char *dir, const char *hex,
             enum remote_content what)
{
    struct fake *f = ctx;

    CHECK(f->doing == FAKE_IDLE);
    f->doing = FAKE_SHARE;
    f->shares++;
    f->content_dir = dir;
    f->what = what;
    snprintf(f->hex, sizeof(f->hex), "%s", hex);
    return 0;
}

/* Where the hosts find this content, or a free place; else NULL. */
static inline struct buf *
fake_find(struct fake_list *l, const char *hex)
{
    for (size_t i = 0; i < FAKE_CONTENTS; i++)
        if (strcmp(l->content[i].hex, hex) == 0)
            return &l->content[i].bytes;
    return NULL;
}

/* The next name behind f->hex. */
static inline int
fake_list_contents(struct fake *f, struct remote_news *out)
{
    const char *next = NULL, *hex;

    for (size_t i = 0; i < FAKE_CONTENTS; i++) {
        hex = f->list->content[i].hex;
        if (strcmp(hex, f->hex) > 0 &&
            (next == NULL || strcmp(hex, next) < 0))
            next = hex;
    }
    f->out.len = 0;
    if (next != NULL)
        buf_printf(&f->out, "%s\n", next);
    out->lines = buf_view(&f->out);
    return 0;
}

static inline int
fake_drop(struct fake *f)
{
    if (f->young)
        return ERR_BUSY;
    for (size_t i = 0; i < FAKE_CONTENTS; i++)
        if (strcmp(f->list->content[i].hex, f->hex) == 0)
            f->list->content[i].hex[0] = '\0';
    return 0;
}

static inline int
fake_share(struct fake *f, struct remote_news *out)
{
    struct buf *b = fake_find(f->list, f->hex);
    static char text[1 << 20];
    char path[512];
    FILE *file;

    if (f->no_content != 0)
        return f->no_content;
    if (f->what == REMOTE_LIST)
        return fake_list_contents(f, out);
    if (f->what == REMOTE_DROP)
        return fake_drop(f);
    if (f->what == REMOTE_FETCH)
        return b == NULL ? ERR_NOT_FOUND
                         : file_write_whole(f->content_dir, f->hex,
                                            buf_view(b));
    snprintf(path, sizeof(path), "%s/%s", f->content_dir, f->hex);
    file = fopen(path, "r");
    if (!CHECK(file != NULL))
        return ERR_NOT_FOUND;
    b = b != NULL ? b : fake_find(f->list, "");
    buf_reset(b, 0);
    buf_put(b, text, fread(text, 1, sizeof(text), file));
    fclose(file);
    for (size_t i = 0; i < FAKE_CONTENTS; i++)
        if (&f->list->content[i].bytes == b)
            memcpy(f->list->content[i].hex, f->hex, sizeof(f->hex));
    return 0;
}

static inline int
fake_step(void *ctx, struct remote_news *out)
{
    struct fake *f = ctx;
    bool commits = f->doing == FAKE_COMMIT, shares = f->doing == FAKE_SHARE;
    void (*first)(void *of) = f->first;

    memset(out, 0, sizeof(*out));
    out->skew_ms = f->skew_ms;
    f->uploads -= f->uploads > 0;
    if (f->doing == FAKE_IDLE)
        return ERR_PENDING;
    if (f->hold > 0) {
        f->hold--;
        return ERR_PENDING;
    }
    f->doing = FAKE_IDLE;
    if (f->n_fail > 0) {
        f->n_fail--;
        f->pending = f->late && commits;
        return f->fail;
    }
    if (commits && f->full)
        return ERR_FULL;
    if (shares)
        return fake_share(f, out);
    if (commits && first != NULL) {
        f->first = NULL;
        first(f->first_ctx);
    }
    if (f->at.push == REMOTE_PUSH || (f->at.push == REMOTE_CONTINUE &&
                                      f->list->n == 0)) {
        fake_push(f, out);
        return 0;
    }
    if (f->list->n == 0 && f->at.n == 0) {
        snprintf(f->list->id, sizeof(f->list->id), "%s", f->at.id);
        fake_add(f->list, STR_NONE, 0, 0);
    }
    if (f->list->n == 0)
        return ERR_FORMAT;
    if (commits && strcmp(f->at.head, fake_newest(f->list)->head) == 0) {
        fake_take(f);
        out->what = REMOTE_WON;
        snprintf(out->head, sizeof(out->head), "%s",
                 fake_newest(f->list)->head);
        return 0;
    }
    fake_tell(f, out);
    return 0;
}

static inline int
fake_watch(void *ctx, bool *write, int64_t *due_ms)
{
    struct fake *f = ctx;

    *write = false;
    *due_ms = f->doing != FAKE_IDLE || f->uploads > 0 ? 0 : INT64_MAX;
    return -1;
}

static inline const char *
fake_why(void *ctx)
{
    return ((struct fake *)ctx)->no_content != 0
               ? "the fake has no such content" : "the fake does not answer";
}

static inline int
fake_examine(void *ctx, unsigned i)
{
    (void)ctx;
    (void)i;
    return ERR_NOT_FOUND;
}

static inline const char *
fake_member(void *ctx, int64_t *trip_us)
{
    (void)ctx;
    *trip_us = 1002003;
    return "[::1]:2379";
}

static inline bool
fake_alive(void *ctx, uint64_t instance)
{
    struct fake *f = ctx;

    f->n_alive++;
    return instance == 77 || (instance != 0 && instance == f->living);
}

static inline bool
fake_gone(void *ctx, uint64_t instance)
{
    return instance == ((struct fake *)ctx)->gone;
}

static inline void
fake_instance(void *ctx, uint64_t instance)
{
    ((struct fake *)ctx)->number = instance;
}

static inline void
fake_compacted(void *ctx, const char *path, const char *head, int64_t end)
{
    struct fake *f = ctx;
    struct stat st;

    f->n_compacted++;
    CHECK(strcmp(head, fake_newest(f->list)->head) == 0);
    CHECK(stat(path, &st) == 0 && st.st_size == end);
}

static inline bool
fake_uploads(void *ctx, uint64_t *done, uint64_t *all)
{
    struct fake *f = ctx;

    *done = 10 - f->uploads;
    *all = 10;
    return f->uploads > 0;
}

/* An engine for the log in dir. */
static inline void
fake_new(struct fake *f, struct fake_list *list, const char *dir)
{
    memset(f, 0, sizeof(*f));
    f->list = list;
    f->window = 4;
    snprintf(f->dir, sizeof(f->dir), "%s", dir);
    f->remote = (struct remote){f, false, fake_pull, fake_commit, fake_step,
                                fake_watch, fake_examine, fake_member,
                                fake_why, fake_alive, fake_instance,
                                fake_gone, fake_compacted, fake_uploads,
                                fake_content, NULL};
}

static inline void
fake_end(struct fake *f)
{
    buf_fini(&f->lines);
    buf_fini(&f->out);
}

#endif
