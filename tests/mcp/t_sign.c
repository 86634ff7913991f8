/* t_sign - sealed texts, and the key that seals them. */

#include "base/sha256.h"
#include "mcp/sign.h"
#include "tests/lib/fault_store.h"
#include "tests/lib/told.h"

#define KEY_LEN 32

static void (*before_random)(void); /* runs before the next call */
static int random_says; /* 0: call the real function */

int __real_random_bytes(void *p, size_t n);
int __wrap_random_bytes(void *p, size_t n);

int
__wrap_random_bytes(void *p, size_t n)
{
    void (*fn)(void) = before_random;

    before_random = NULL;
    if (fn != NULL)
        fn();
    return random_says != 0 ? random_says : __real_random_bytes(p, n);
}

/* ---- a store and its signer ---- */

struct rig {
    struct tstore t;
    struct sign *s;
    struct arena a;
};

static inline const char *
key_path(void)
{
    return path_with(path, ".key");
}

static inline void
open_rig(struct rig *r, bool readonly)
{
    struct store_options o = {.path = path, .readonly = readonly};

    memset(r, 0, sizeof(*r));
    if (ts_open_with(&r->t, &o) != 0 || sign_new(&r->s, r->t.s) != 0)
        abort();
}

static inline void
close_rig(struct rig *r)
{
    sign_free(r->s);
    arena_fini(&r->a);
    ts_close(&r->t);
}

/* Seals for "session" and "ann", in the rig's arena. */
static inline int
seal(struct rig *r, struct str payload, struct str *text)
{
    struct buf b = {0};
    int rc;

    listen_to(true);
    rc = sign_seal(r->s, "session", STR("ann"), payload, &b);
    listen_to(false);
    *text = arena_str(&r->a, buf_view(&b));
    CHECK((rc == 0) == (b.len > 0));
    buf_fini(&b);
    return rc;
}

static inline int
unseal(struct rig *r, struct str text, struct str *payload)
{
    int rc;

    listen_to(true);
    rc = sign_open(r->s, "session", STR("ann"), text, &r->a, payload);
    listen_to(false);
    return rc;
}

static inline bool
opens(struct rig *r, struct str text, struct str want)
{
    struct str payload;

    return unseal(r, text, &payload) == 0 && str_eq(payload, want);
}

/* Returns whether the log's directory has only the key. */
static inline bool
is_tidy(void)
{
    char command[600];

    snprintf(command, sizeof(command), "test \"$(ls '%.*s')\" = "
             "tasks.log.key", (int)(strrchr(path, '/') - path),
             path);
    return system(command) == 0;
}

static inline bool
is_there(const char *name)
{
    struct stat st;

    return lstat(name, &st) == 0;
}

static inline void
put_key(const void *p, size_t len)
{
    char command[600];

    snprintf(command, sizeof(command), "mkdir -p '%.*s'",
             (int)(strrchr(path, '/') - path), path);
    CHECK(system(command) == 0);
    file_put(key_path(), p, len);
}

/* ---- an independent checksum ---- */

static inline void
hmac(struct str key, struct str text, uint8_t out[SHA256_LEN])
{
    uint8_t inner[64], outer[64];
    struct sha256 h;

    for (size_t i = 0; i < 64; i++) {
        uint8_t k = i < key.len ? (uint8_t)key.p[i] : 0;

        inner[i] = k ^ 0x36;
        outer[i] = k ^ 0x5c;
    }
    sha256_init(&h);
    sha256_add(&h, inner, 64);
    sha256_add(&h, text.p, text.len);
    sha256_end(&h, out);
    sha256_init(&h);
    sha256_add(&h, outer, 64);
    sha256_add(&h, out, SHA256_LEN);
    sha256_end(&h, out);
}

static inline void
fill(char *p, size_t n, int from, int step)
{
    for (size_t i = 0; i < n; i++)
        p[i] = (char)(from + step * (int)i);
}

/* RFC 4231, 4.2 to 4.5: this really is HMAC-SHA-256. */
TEST(hmac_by_rfc_4231)
{
    static char key1[20], key3[20], text3[50], key4[25], text4[50];
    const struct {
        struct str key, text;
        const char *is;
    } cases[] = {
        {{key1, 20}, STR("Hi There"), "b0344c61d8db38535ca8afceaf0bf12b"
         "881dc200c9833da726e9376c2e32cff7"},
        {STR("Jefe"), STR("what do ya want for nothing?"),
         "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843"},
        {{key3, 20}, {text3, 50}, "773ea91e36800e46854db8ebd09181a7"
         "2959098b3ef8c122d9635514ced565fe"},
        {{key4, 25}, {text4, 50}, "82558a389a443c0ea4cc819899f2083a"
         "85f0faa3e578f8077a2e3ff46729665b"},
    };
    char hex[SHA256_HEX + 1];
    uint8_t mac[SHA256_LEN];

    fill(key1, 20, 0x0b, 0);
    fill(key3, 20, 0xaa, 0);
    fill(text3, 50, 0xdd, 0);
    fill(key4, 25, 1, 1);
    fill(text4, 50, 0xcd, 0);
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        hmac(cases[i].key, cases[i].text, mac);
        for (int j = 0; j < SHA256_LEN; j++)
            snprintf(hex + 2 * j, 3, "%02x", mac[j]);
        CHECK(strcmp(hex, cases[i].is) == 0);
    }
}

static void
put_part(struct buf *b, struct str s)
{
    for (int i = 0; i < 8; i++)
        buf_char(b, (char)((uint64_t)s.len >> (56 - 8 * i)));
    buf_str(b, s);
}

/* base64url by the letter of RFC 4648. */
static void
put_base64url(struct buf *b, const uint8_t *p, size_t n)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnop"
                                 "qrstuvwxyz0123456789-_";

    for (size_t bit = 0; bit < n * 8; bit += 6) {
        unsigned v = 0;

        for (size_t i = bit; i < bit + 6; i++)
            v = v << 1 | (i < n * 8 && (p[i / 8] << i % 8 & 0x80) != 0);
        buf_char(b, digits[v]);
    }
}

/* The text has the form that mcp/sign.c describes: clients keep it across
   versions of this program. */
TEST(text_as_described)
{
    static const char payload[] = "0\xff\xfe\xfd payload \xfb\xef\xbe";
    uint8_t mac[SHA256_LEN];
    char key[KEY_LEN];
    struct str text;
    struct rig r;

    fill(key, KEY_LEN, 200, 3);
    for (size_t n = 0; n < sizeof(payload); n++) {
        struct buf summed = {0}, raw = {0}, want = {0};

        fresh();
        put_key(key, KEY_LEN);
        open_rig(&r, n % 2);
        put_part(&summed, STR("session"));
        put_part(&summed, STR("ann"));
        put_part(&summed, (struct str){payload, n});
        hmac((struct str){key, KEY_LEN}, buf_view(&summed), mac);
        buf_put(&raw, mac, SIGN_MAC_LEN);
        buf_put(&raw, payload, n);
        put_base64url(&want, (const uint8_t *)raw.p, raw.len);
        CHECK(seal(&r, (struct str){payload, n}, &text) == 0);
        CHECK(str_eq(text, buf_view(&want)));
        CHECK(opens(&r, text, (struct str){payload, n}));
        close_rig(&r);
        buf_fini(&summed);
        buf_fini(&raw);
        buf_fini(&want);
    }
}

/* ---- what opens, and what does not ---- */

TEST(other_use_or_principal)
{
    static const struct {
        const char *use, *principal, *payload;
    } cases[] = {
        {"session", "ann", ""},     {"state", "ann", ""},
        {"session", "", "ann"},     {"session", "an", "n"},
        {"sessiona", "nn", ""},     {"sessionann", "", ""},
        {"", "sessionann", ""},     {"", "", "sessionann"},
        {"session", "anna", ""},    {"session", "Ann", ""},
    };
    const size_t n = sizeof(cases) / sizeof(*cases);
    struct rig r;

    fresh();
    open_rig(&r, false);
    for (size_t i = 0; i < n * n; i++) {
        struct buf b = {0};
        struct str out;
        size_t to = i % n, from = i / n;

        CHECK(sign_seal(r.s, cases[from].use, str_of(cases[from].principal),
                        str_of(cases[from].payload), &b) == 0);
        int rc = sign_open(r.s, cases[to].use, str_of(cases[to].principal),
                           buf_view(&b), &r.a, &out);
        bool same = strcmp(cases[to].use, cases[from].use) == 0 &&
                    strcmp(cases[to].principal, cases[from].principal) == 0;
        CHECK(rc == (same ? 0 : ERR_INVALID));
        CHECK(rc != 0 || str_is(out, cases[from].payload));
        buf_fini(&b);
    }
    close_rig(&r);
}

/* Every bit of a text flipped; every shorter and longer text. */
TEST(changed_texts)
{
    static const char payload[] = "a payload";
    struct str text, out;
    struct rig r;

    fresh();
    open_rig(&r, false);
    for (size_t n = 0; n < sizeof(payload); n++) {
        CHECK(seal(&r, (struct str){payload, n}, &text) == 0);
        char *p = malloc(text.len + 2);
        for (size_t bit = 0; bit < text.len * 8; bit++) {
            memcpy(p, text.p, text.len);
            p[bit / 8] = (char)(p[bit / 8] ^ 1 << bit % 8);
            CHECK(unseal(&r, (struct str){p, text.len}, &out) ==
                  ERR_INVALID);
        }
        memcpy(p, text.p, text.len);
        for (size_t len = 0; len < text.len; len++)
            CHECK(unseal(&r, (struct str){p, len}, &out) == ERR_INVALID);
        for (const char *end = "A=\n -"; *end != '\0'; end++) {
            p[text.len] = p[text.len + 1] = *end;
            CHECK(unseal(&r, (struct str){p, text.len + 1}, &out) ==
                  ERR_INVALID);
            CHECK(unseal(&r, (struct str){p, text.len + 2}, &out) ==
                  ERR_INVALID);
        }
        free(p);
        CHECK(opens(&r, text, (struct str){payload, n}));
    }
    close_rig(&r);
}

TEST(limits)
{
    char *big = calloc(1, 2 * SIGN_MAX_PAYLOAD);
    struct str text, out;
    struct buf b = {0};
    struct rig r;

    fresh();
    open_rig(&r, false);
    CHECK(seal(&r, (struct str){big, SIGN_MAX_PAYLOAD + 1}, &text) ==
          ERR_TOO_LARGE);
    CHECK(!is_there(key_path()));
    CHECK(seal(&r, (struct str){big, SIGN_MAX_PAYLOAD}, &text) == 0);
    CHECK(opens(&r, text, (struct str){big, SIGN_MAX_PAYLOAD}));
    memset(big, 'A', 2 * SIGN_MAX_PAYLOAD);
    CHECK(unseal(&r, (struct str){big, 2 * SIGN_MAX_PAYLOAD}, &out) ==
          ERR_INVALID);
    CHECK(seal(&r, STR_NONE, &text) == 0 && opens(&r, text, STR("")));
    buf_z(&b, "a+b/c="); /* what was there stays */
    CHECK(sign_seal(r.s, "session", STR("ann"), STR("1"), &b) == 0);
    CHECK(str_starts(buf_view(&b), "a+b/c=") &&
          opens(&r, (struct str){b.p + 6, b.len - 6}, STR("1")));
    buf_fini(&b);
    close_rig(&r);
    free(big);
}

/* ---- the key ---- */

TEST(key_made_once)
{
    struct str text[2], out;
    struct stat st;
    struct rig r[3];
    mode_t mask = umask(0);

    fresh();
    for (int i = 0; i < 2; i++)
        open_rig(&r[i], false);
    CHECK(unseal(&r[0], STR("not even base64!"), &out) == ERR_INVALID);
    CHECK(unseal(&r[0], STR("AAAAAAAAAAAAAAAAAAAAAAAA"), &out) ==
          ERR_INVALID);
    CHECK(!is_there(key_path())); /* and neither is its directory */
    CHECK(seal(&r[0], STR("0"), &text[0]) == 0);
    CHECK(lstat(key_path(), &st) == 0 && S_ISREG(st.st_mode) &&
          (st.st_mode & 07777) == 0600 && st.st_size == KEY_LEN &&
          st.st_nlink == 1);
    CHECK(is_tidy());
    CHECK(seal(&r[1], STR("1"), &text[1]) == 0);
    CHECK(opens(&r[0], text[1], STR("1")) && opens(&r[1], text[0], STR("0")));
    fresh(); /* another store has another key */
    open_rig(&r[2], false);
    CHECK(seal(&r[2], STR("2"), &text[0]) == 0);
    CHECK(unseal(&r[2], text[1], &out) == ERR_INVALID);
    for (int i = 0; i < 3; i++)
        close_rig(&r[i]);
    umask(mask);
}

TEST(key_survives)
{
    struct str text, kept;
    struct rig r;
    struct arena a = {0};

    fresh();
    open_rig(&r, false);
    CHECK(seal(&r, STR("kept"), &text) == 0);
    kept = arena_str(&a, text);
    close_rig(&r);
    for (int readonly = 0; readonly < 2; readonly++) {
        open_rig(&r, readonly);
        CHECK(opens(&r, kept, STR("kept")));
        close_rig(&r);
    }
    open_rig(&r, false); /* a key that is in memory needs no file */
    CHECK(opens(&r, kept, STR("kept")) && unlink(key_path()) == 0);
    CHECK(ts_put(&r.t, "task/1", "\"v\":1") == 0 && ts_compact(&r.t) == 0);
    CHECK(opens(&r, kept, STR("kept")) && !is_there(key_path()));
    close_rig(&r);
    arena_fini(&a);
}

/* The key is beside the log, not beside a link to it. */
TEST(key_beside_the_real_log)
{
    char *dir = test_tmpdir(), *link = path_in(dir, "link");
    struct str text;
    struct rig r;

    fresh();
    open_rig(&r, false);
    CHECK(ts_put(&r.t, "task/1", "\"v\":1") == 0);
    close_rig(&r);
    CHECK(symlink(path, link) == 0);
    char *real = path;
    path = link;
    open_rig(&r, false);
    CHECK(seal(&r, STR("x"), &text) == 0 && !is_there(key_path()));
    close_rig(&r);
    path = real;
    CHECK(is_there(key_path()));
    free(link);
    free(dir);
}

/* Without a writable store the key lasts as long as the process. */
TEST(readonly_without_key)
{
    struct str text, out;
    struct rig r, other;

    fresh();
    open_rig(&r, true);
    open_rig(&other, true);
    CHECK(unseal(&r, STR("AAAAAAAAAAAAAAAAAAAAAAAA"), &out) == ERR_INVALID);
    random_says = ERR_IO;
    CHECK(seal(&r, STR("x"), &text) == ERR_IO);
    random_says = 0;
    CHECK(seal(&r, STR("x"), &text) == 0 && opens(&r, text, STR("x")));
    CHECK(unseal(&other, text, &out) == ERR_INVALID);
    CHECK(seal(&other, STR("x"), &out) == 0 && !str_eq(text, out));
    CHECK(unseal(&other, text, &out) == ERR_INVALID);
    CHECK(!is_there(key_path()));
    close_rig(&other);
    close_rig(&r);
}

TEST(bad_key_files)
{
    static const mode_t modes[] = {0640, 0604, 0660, 0620, 0601};
    static const size_t lens[] = {0, KEY_LEN - 1, KEY_LEN + 1};
    static const char key[KEY_LEN + 1];
    struct str text, out;
    struct rig r;

    for (size_t i = 0; i < 10; i++) {
        fresh();
        put_key(key, i < 3 ? lens[i] : KEY_LEN);
        if (i >= 3 && i < 8)
            CHECK(chmod(key_path(), modes[i - 3]) == 0);
        if (i >= 8) {
            CHECK(rename(key_path(), path_with(path, ".away")) == 0);
            CHECK((i == 8 ? mkfifo(key_path(), 0600)
                          : symlink("tasks.log.away", key_path())) == 0);
        }
        open_rig(&r, i % 2);
        CHECK(seal(&r, STR("x"), &text) == ERR_IO);
        CHECK(strstr(told, key_path()) && strchr(told, '\n')); /* once */
        CHECK(i >= 8 || strstr(told, "remove it"));
        CHECK(unseal(&r, STR("AAAAAAAAAAAAAAAAAAAAAAAA"), &out) == ERR_IO);
        CHECK(told[0] == '\0');
        struct stat st;
        CHECK(lstat(key_path(), &st) == 0); /* it is left as it is */
        CHECK(i >= 3 || st.st_size == (off_t)lens[i]);
        CHECK(i != 8 || S_ISFIFO(st.st_mode));
        CHECK(i != 9 || S_ISLNK(st.st_mode));
        CHECK(i == 8 || i == 9 || is_tidy());
        CHECK(unlink(key_path()) == 0); /* once it is gone, all works again */
        CHECK(seal(&r, STR("x"), &text) == 0);
        close_rig(&r);
    }
}

/* A path fails and works again: neither key nor log is lost. */
TEST(path_that_turns_bad)
{
    struct str text;
    struct rig r;

    fresh();
    open_rig(&r, false);
    put_key("x", 1);
    CHECK(unlink(key_path()) == 0);
    CHECK(symlink("nowhere", path) == 0);
    CHECK(seal(&r, STR("x"), &text) == ERR_IO);
    CHECK(strstr(told, key_path()) != NULL);
    CHECK(ts_put(&r.t, "task/1", "\"v\":1") != 0);
    CHECK(unlink(path) == 0);
    CHECK(seal(&r, STR("x"), &text) == 0);
    CHECK(ts_put(&r.t, "task/1", "\"v\":1") == 0);
    close_rig(&r);
}

/* ---- other processes ---- */

static void
seal_in_child(void)
{
    pid_t pid = child_begin();

    if (pid == 0) {
        struct str text;
        struct rig r;

        open_rig(&r, false);
        CHECK(seal(&r, STR("child"), &text) == 0);
        file_put(path_with(path, ".text"), text.p, text.len);
        close_rig(&r);
        child_end();
    }
    CHECK(child_ok(pid));
}

/* Another process makes the key just before this one does. */
TEST(key_of_another_process)
{
    struct str text;
    struct rig r;
    size_t len;

    fresh();
    open_rig(&r, false);
    before_random = seal_in_child;
    CHECK(seal(&r, STR("x"), &text) == 0);
    char *theirs = file_get(path_with(path, ".text"), &len);
    CHECK(theirs != NULL && opens(&r, (struct str){theirs, len},
                                  STR("child")));
    CHECK(unlink(path_with(path, ".text")) == 0 && is_tidy());
    free(theirs);
    close_rig(&r);
}

/* All wait for the end of a pipe, then make a key at the same time. */
static void
race(int go[2], int said)
{
    struct str text;
    struct rig r;
    char c;

    close(go[1]);
    open_rig(&r, false);
    CHECK(read(go[0], &c, 1) == 0);
    CHECK(seal(&r, STR("the same text"), &text) == 0);
    CHECK(text.len >= 32 && write(said, text.p, 32) == 32);
    close_rig(&r);
    child_end();
}

#define RACERS 4

TEST(racing_processes)
{
    for (int round = 0; round < 10; round++) {
        char texts[RACERS][32];
        pid_t pid[RACERS];
        int go[2], said[2];

        fresh();
        if (pipe(go) != 0 || pipe(said) != 0)
            abort();
        for (int i = 0; i < RACERS; i++)
            if ((pid[i] = child_begin()) == 0)
                race(go, said[1]);
        close(go[0]);
        close(go[1]);
        for (int i = 0; i < RACERS; i++)
            CHECK(child_ok(pid[i]) && read(said[0], texts[i], 32) == 32);
        for (int i = 1; i < RACERS; i++)
            CHECK(memcmp(texts[0], texts[i], 32) == 0);
        CHECK(is_tidy());
        close(said[0]);
        close(said[1]);
    }
}

/* ---- faults ---- */

TEST(no_memory)
{
    struct str payload = STR("a payload"), out;
    int sealed = ERR_NOMEM, opened = ERR_NOMEM;

    for (long after = 0; (sealed != 0 || opened != 0) && after < 100;
         after++) {
        struct buf b = {0};
        struct arena a = {0};
        struct sign *s = NULL;
        struct rig r;

        fresh();
        open_rig(&r, false);
        fault_start(FAULT_MEMORY, after, true, ENOMEM);
        int rc = sign_new(&s, r.t.s);
        if (rc == 0)
            sealed = sign_seal(s, "state", STR("bob"), payload, &b);
        fault.on = false;
        CHECK(rc == 0 || (rc == ERR_NOMEM && s == NULL));
        CHECK(sealed == 0 || (sealed == ERR_NOMEM && b.len == 0));
        if (sealed == 0) {
            fault_start(FAULT_MEMORY, after / 8, after % 2, ENOMEM);
            opened = sign_open(s, "state", STR("bob"), buf_view(&b), &a,
                               &out);
            fault.on = false;
            CHECK(opened == ERR_NOMEM ||
                  (opened == 0 && str_eq(out, payload)));
        }
        if (s != NULL) { /* as if nothing had happened */
            buf_reset(&b, 0);
            CHECK(sign_seal(s, "state", STR("bob"), payload, &b) == 0);
            CHECK(sign_open(s, "state", STR("bob"), buf_view(&b), &a,
                            &out) == 0 && str_eq(out, payload));
            CHECK(is_tidy());
        }
        sign_free(s);
        buf_fini(&b);
        arena_fini(&a);
        close_rig(&r);
    }
    CHECK(sealed == 0 && opened == 0);
}

/* Each call that makes the key fails: an error, no key and no leftovers, and a
   key the next time. Only if nothing may be written, there is one in memory. */
TEST(failing_calls)
{
    static const struct {
        enum fault_call call;
        int err, gives;
        bool made; /* there is a key nevertheless */
    } cases[] = {
        {FAULT_WRITE, ENOSPC, ERR_IO, false},
        {FAULT_WRITE, FAULT_SHORT, 0, true},
        {FAULT_WRITE, EROFS, ERR_IO, false}, /* in a directory that could be
                                                written */
        {FAULT_FSYNC, EROFS, ERR_IO, false},
        {FAULT_FSYNC, EIO, ERR_IO, false},
        {FAULT_LINK, EIO, ERR_IO, false},
        {FAULT_LINK, EEXIST, ERR_IO, false}, /* and gone again */
        {FAULT_LINK, EPERM, 0, false}, /* a file system without links */
        {FAULT_PREAD, EIO, ERR_IO, true},
    };
    struct str text;
    struct rig r;

    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        fresh();
        open_rig(&r, false);
        CHECK(store_make_dir(r.t.s) == 0);
        fault_start(cases[i].call, 0, false, cases[i].err);
        CHECK(seal(&r, STR("x"), &text) == cases[i].gives);
        fault.on = false;
        CHECK(cases[i].err == EEXIST ||
              (strstr(told, key_path()) != NULL) == (cases[i].gives != 0));
        CHECK(fault.hit && is_there(key_path()) == cases[i].made);
        CHECK(seal(&r, STR("x"), &text) == 0 && opens(&r, text, STR("x")));
        CHECK(cases[i].gives == 0 || is_tidy());
        close_rig(&r);
    }
}

TEST(failing_opens)
{
    struct str text;
    struct rig r;

    for (long after = 0; after < 5; after++) { /* read, temp, dir, read */
        fresh();
        open_rig(&r, false);
        CHECK(store_make_dir(r.t.s) == 0);
        fault_start(FAULT_OPEN, after, false, EMFILE);
        CHECK(seal(&r, STR("x"), &text) == (after < 4 ? ERR_IO : 0));
        fault.on = false;
        CHECK(seal(&r, STR("x"), &text) == 0 && is_tidy());
        close_rig(&r);
    }
    for (int i = 0; i < 2; i++) { /* a directory that cannot be written */
        fresh();
        open_rig(&r, false);
        CHECK(store_make_dir(r.t.s) == 0);
        fault_start(FAULT_OPEN, 1, false, i == 0 ? EACCES : EROFS);
        CHECK(seal(&r, STR("x"), &text) == 0 && opens(&r, text, STR("x")));
        fault.on = false;
        CHECK(fault.hit && !is_there(key_path()));
        close_rig(&r);
    }
}

/* The directory's sync fails: a power failure may lose the key, so no sealed
   text is given out. File systems without such a sync say so. */
TEST(failing_sync_of_the_directory)
{
    struct str text;
    struct rig r;

    for (int none = 0; none < 2; none++) {
        fresh();
        open_rig(&r, false);
        CHECK(store_make_dir(r.t.s) == 0);
        fault_start(FAULT_FSYNC, 1, false, none ? EINVAL : EIO);
        CHECK(seal(&r, STR("x"), &text) == (none ? 0 : ERR_IO));
        fault.on = false;
        CHECK(fault.hit);
        close_rig(&r);
    }
}

/* A process made the key and was killed before it synced the name. */
TEST(key_of_a_killed_process)
{
    struct str text, again;
    struct rig r;

    fresh();
    open_rig(&r, false);
    CHECK(store_make_dir(r.t.s) == 0 && seal(&r, STR("x"), &text) == 0);
    char *kept = strdup(text.p);
    text = str_of(kept);
    close_rig(&r);
    open_rig(&r, false);
    CHECK(opens(&r, text, STR("x"))); /* it cannot be relied on */
    free(kept);
    fault_start(FAULT_FSYNC, 0, false, EIO);
    CHECK(seal(&r, STR("x"), &again) == ERR_IO);
    CHECK(fault.hit && strstr(told, "synced") != NULL);
    fault_start(FAULT_FSYNC, 0, false, EIO);
    fault.after = LONG_MAX - 8;
    CHECK(seal(&r, STR("x"), &again) == 0 && fault.after < LONG_MAX - 8);
    fault_start(FAULT_FSYNC, 0, false, EIO);
    CHECK(seal(&r, STR("x"), &again) == 0 && !fault.hit); /* synced once */
    fault.on = false;
    close_rig(&r);
}

int
main(void)
{
    test_in_memory();
    test_run();
    free(path);
    return test_end("t_sign");
}
