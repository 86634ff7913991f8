#ifndef TEST_FUZZ_FUZZ_STORE_H
#define TEST_FUZZ_FUZZ_STORE_H

/* A store in memory whose log is made from an input, and commands run on it.
   Each line of the input is the key of a record, a blank and its body; numbers
   and sums are right. */

#include "cli/cli.h"
#include "json.h"
#include "store/record.h"
#include "tests/fuzz/fuzz.h"
#include "tests/lib/tmpdir.h"

#include <dirent.h>
#include <fcntl.h>

#define MAX_RECORDS 8
#define MAX_TASKS 2 /* that are looked at one by one */

static struct cli_env env;
static struct str keys[MAX_RECORDS]; /* of the records, within the input */
static size_t n_records;

static inline void
remove_store(void)
{
    if (test_remove_dirs() != 0)
        abort();
}

static inline void
put_file(const char *path, const void *p, size_t n)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);

    HOLDS(fd >= 0 && write(fd, p, n) == (ssize_t)n);
    close(fd);
}

/* Makes the place of the store, without a log, what compactions left of
   others, or a key. */
static inline void
place_store(void)
{
    static char dir[300], log[320], artifacts[320];
    struct dirent *e;
    char *made;
    DIR *d;

    if (env.log_path == NULL) {
        test_in_memory();
        made = test_tmpdir();
        HOLDS(made != NULL);
        snprintf(dir, sizeof(dir), "%s", made);
        snprintf(log, sizeof(log), "%s/tasks.log", dir);
        snprintf(artifacts, sizeof(artifacts), "%s/artifacts", dir);
        free(made);
        env.base_dir = dir;
        env.log_path = log;
        env.artifacts_dir = artifacts;
        atexit(remove_store);
    }
    d = opendir(dir);
    while (d != NULL && (e = readdir(d)) != NULL)
        if (strncmp(e->d_name, "tasks.log", 9) == 0)
            unlinkat(dirfd(d), e->d_name, 0);
    closedir(d);
}

/* The path of a file in the directory of the store; valid until the next
   call. */
static inline char *
file_path(const char *name)
{
    static char path[400];

    snprintf(path, sizeof(path), "%s/%s", env.base_dir, name);
    return path;
}

/* Whether a body is JSON. */
static inline bool
is_json(struct str body)
{
    struct arena a = {0};
    const struct json_tok *t;
    struct str text = arena_printf(&a, "{%.*s}", STR_ARG(body));
    int rc = json_parse(&a, text, &t, NULL);

    arena_fini(&a);
    return rc == 0;
}

/* For store_scan: each record is JSON. */
static inline int
check_body(void *ctx, const struct store_rec *r)
{
    (void)ctx;
    if (!is_json(r->body))
        dprintf(fuzz_err, "%.*s\n", STR_ARG(r->body));
    HOLDS(is_json(r->body));
    return 0;
}

static inline size_t
first_of(struct str key)
{
    size_t i = 0;

    while (!str_eq(keys[i], key))
        i++;
    return i;
}

/* The number of the newest record of the key, so far; 0: none. */
static inline uint64_t
newest_of(struct str key)
{
    size_t i = n_records;

    while (i > 0 && !str_eq(keys[i - 1], key))
        i--;
    return i;
}

/* Writes the log. False: the input holds no record. */
static inline bool
put_log(struct str rest)
{
    struct record_header head = {.g = 1};
    struct buf b = {0};

    memset(head.id, 'a', RECORD_ID);
    record_put_header(&b, &head, INT64_C(1785231000000));
    for (n_records = 0; rest.len > 0 && n_records < MAX_RECORDS;) {
        struct str body = str_cut(&rest, '\n'), key = str_cut(&body, ' ');
        struct store_rec r = {.g = 1, .n = n_records + 1, .b = n_records + 1,
                              .p = newest_of(key), .key = key, .body = body,
                              .time = STR("2026-07-28T09:30:00.000Z")};

        if (body.len == 0 || !record_key_ok(key) || str_starts(key, "log/"))
            continue;
        record_put(&b, &r);
        keys[n_records++] = key;
    }
    HOLDS(b.err == 0);
    place_store();
    put_file(env.log_path, b.p, b.len);
    buf_fini(&b);
    return n_records > 0;
}

/* The id of the i-th task that has a record, NULL: there is none. Valid until
   the next call. */
static inline const char *
task_id(size_t i)
{
    static char id[STORE_MAX_KEY + 1];

    for (size_t k = 0; k < n_records && i < MAX_TASKS; k++)
        if (str_starts(keys[k], "task/") && first_of(keys[k]) == k &&
            i-- == 0) {
            snprintf(id, sizeof(id), "%.*s", (int)keys[k].len - 5,
                     keys[k].p + 5);
            return id;
        }
    return NULL;
}

/* Runs a command; "ID" among its words stands for id. Returns its exit
   code. */
static inline int
run_command(const char *const *words, const char *id)
{
    static char text[16][STORE_MAX_KEY + 32];
    char *argv[17];
    size_t n = 0;

    for (; words[n] != NULL; n++) {
        HOLDS(n < 16);
        snprintf(text[n], sizeof(text[n]), "%s",
                 strcmp(words[n], "ID") == 0 ? id : words[n]);
        argv[n] = text[n];
    }
    argv[n] = NULL;
    return cli_main(&env, argv);
}

/* ---- mutations that keep a body JSON ---- */

size_t LLVMFuzzerMutate(uint8_t *data, size_t n, size_t max);
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t n, size_t max,
                               unsigned seed);

/* Which of the values in root are names of members. */
static inline bool *
names_of(struct arena *a, const struct json_tok *root)
{
    bool *is_name = arena_alloc(a, root->span);

    HOLDS(is_name != NULL);
    memset(is_name, false, root->span);
    for (uint32_t i = 0; i < root->span; i++) {
        uint32_t at = i + 1, n = root[i].type == JSON_OBJECT ? root[i].n : 0;

        for (; n > 0; n--, at += 1 + root[at + 1].span)
            is_name[at] = true;
    }
    return is_name;
}

/* What comes in place of a value, or of a name. */
static inline struct str
other_value(struct arena *a, const struct json_tok *root,
            const struct json_tok *t, bool is_name, unsigned seed)
{
    static const char *const values[] = {
        "\"\"", "\"t\"", "\"task_id\"", "\"\\ud83d\\ude00\\n\\u0000\"",
        "\"2026-07-28T09:30:00.000Z\"", "\"done\"", "\"in_progress\"",
        "\"handoff_ready\"", "\"\\\"\"", /* as a name only those before */
        "0", "-1", "1e3", "18446744073709551616", "null", "true", "[]", "{}",
        "[[]]", "[\"t\",\"u\"]", "{\"a\":[{}]}", "[{\"by\":1}]"};
    const struct json_tok *from = &root[1 + seed / 64 % (root->span - 1)];
    struct buf b = {0};
    uint8_t text[256];
    size_t n;

    if (seed % 4 == 0 && (!is_name || from->type == JSON_STRING))
        return json_raw(from);
    if (seed % 4 == 1 && !is_name && t->span < root->span) { /* twice */
        buf_str(&b, json_raw(t));
        buf_printf(&b, ",%.*s", STR_ARG(json_raw(t)));
        return buf_take(&b, a);
    }
    if (seed % 4 == 2 && t->type == JSON_STRING && t->len < sizeof(text) / 2) {
        memcpy(text, t->p, n = t->len);
        n = LLVMFuzzerMutate(text, n, sizeof(text));
        json_quote(&b, (struct str){(char *)text, n});
        return buf_take(&b, a);
    }
    return str_of(values[seed / 4 % (is_name ? 9 : sizeof(values) /
                                                       sizeof(values[0]))]);
}

/* Mostly puts another value in place of one of a body, or of a line that is
   JSON itself. */
size_t
LLVMFuzzerCustomMutator(uint8_t *data, size_t n, size_t max, unsigned seed)
{
    struct str rest = {(const char *)data, n}, line, raw;
    struct arena a = {0};
    struct buf b = {0}, out = {0};
    const struct json_tok *root;
    size_t lines = 1, off, at;
    bool bare;

    for (size_t i = 0; i < n; i++)
        lines += data[i] == '\n';
    for (size_t i = seed / 7 % lines; i > 0; i--)
        str_cut(&rest, '\n');
    line = str_cut(&rest, '\n');
    bare = str_starts(line, "{");
    if (!bare)
        str_cut(&line, ' ');
    buf_printf(&b, bare ? "%.*s" : "{%.*s}", STR_ARG(line));
    if (seed % 5 == 0 || b.err != 0 ||
        json_parse(&a, buf_view(&b), &root, NULL) != 0 || root->span < 2 ||
        root->p != b.p /* a copy, for a lone surrogate */) {
        n = LLVMFuzzerMutate(data, n, max);
    } else {
        at = 1 + seed / 11 % (root->span - 1);
        raw = json_raw(&root[at]);
        off = (size_t)(line.p - (const char *)data) +
              (size_t)(raw.p - b.p) - !bare;
        buf_put(&out, data, off);
        buf_str(&out, other_value(&a, root, &root[at],
                                  names_of(&a, root)[at], seed / 13));
        buf_put(&out, data + off + raw.len, n - off - raw.len);
        if (out.err == 0 && out.len <= max)
            memcpy(data, out.p, n = out.len);
    }
    buf_fini(&b);
    buf_fini(&out);
    arena_fini(&a);
    return n;
}

#define RUN(id, ...) run_command((const char *const[]){__VA_ARGS__, NULL}, id)

#endif
