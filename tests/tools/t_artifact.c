/* Artifacts: what is attached reads back whole; values at the limits; paths
   that lead elsewhere; files after failed calls and killed processes. */

#include "base/file.h"
#include "task/artifact.h"
#include "tests/lib/catalogue.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>

/* ---- artifacts ---- */

/* A call that changes nothing says nothing of the change before it. */
TEST(attached_already)
{
    static const char attach[] = "{'task_id':'a','name':'n','content':'c'}";
    struct fixture f;

    fixture_init(&f);
    call(&f, "create_task", "{'task_id':'a','title':'A'}");
    call(&f, "attach_artifact", attach);
    call(&f, "request_input", "{'task_id':'a','question':'Which?'}");
    CHECK(ok(&f) && json_get(f.json, "question_id") != NULL);
    call(&f, "attach_artifact", attach);
    CHECK(ok(&f) && has(&f, "artifact_id", "a1"));
    CHECK(json_get(f.json, "question_id") == NULL);
    CHECK(number(&f, "version") == 3);
    fixture_fini(&f);
}

TEST(artifact_round_trip)
{
    static const char *const base64[][2] = {
        {"", ""}, {"AA==", "1"}, {"AAE=", "2"}, {"AAEC", "3"},
    };
    struct fixture f;
    struct stat st;
    size_t i;

    fixture_init(&f);
    call(&f, "create_task", "{'task_id':'a','title':'A'}");
    call(&f, "attach_artifact", "{'task_id':'a','agent':'me','name':'../n',"
         "'content':'h\\u00e4\\u0000\\n','type':'log','description':'d'}");
    CHECK(ok(&f) && has(&f, "artifact_id", "a1"));
    CHECK(stat(f.artifacts, &st) == 0 && (st.st_mode & 0777) == 0700);
    call(&f, "get_task", "{'task_id':'a','section':'artifact',"
         "'artifact_id':'a1'}");
    CHECK(has(&f, "encoding", "utf8"));
    CHECK(str_eq(json_str(&f.a, json_get(f.json, "content")),
                 (struct str){"h\xc3\xa4\0\n", 5}));
    for (i = 0; i < 4; i++) {
        char args[256];

        snprintf(args, sizeof args, "{'task_id':'a','name':'b%zu','content':"
                 "'%s','encoding':'base64'}", i, base64[i][0]);
        call(&f, "attach_artifact", args);
        CHECK(ok(&f));
        snprintf(args, sizeof args, "{'task_id':'a','section':'artifact',"
                 "'artifact_id':'a%zu'}", i + 2);
        call(&f, "get_task", args);
        CHECK(number(&f, "offset") == 0);
        CHECK(has(&f, "encoding", "utf8")); /* NUL and SOH are UTF-8 */
    }
    call(&f, "attach_artifact", "{'task_id':'a','name':'bin','content':"
         "'/wA=','encoding':'base64'}");
    call(&f, "get_task", "{'task_id':'a','section':'artifact',"
         "'artifact_id':'a6'}");
    CHECK(has(&f, "encoding", "base64") && has(&f, "content", "/wA="));
    call(&f, "get_task", "{'task_id':'a','artifact_id':'a6'}");
    CHECK(has(&f, "content", "/wA="));
    call(&f, "get_task", "{'task_id':'a','artifact_id':'a6','section':"
         "'current'}");
    CHECK(failed(&f, "invalid_argument") &&
          has(&f, "message", "artifact_id needs section artifact"));
    call(&f, "get_task", "{'task_id':'a','match':'x'}");
    CHECK(failed(&f, "invalid_argument") && has(&f, "field", "match") &&
          has(&f, "message", "match needs section artifact"));
    call(&f, "get_task", "{'task_id':'a','since_seq':0,'offset':0,'lines':0}");
    CHECK(has(&f, "title", "A"));
    for (i = 0; i < 6; i++) {
        static const char *const bad[] = {"A", "AA=", "A===", "AB==", "AA=A",
                                          "AA ="};
        char args[256];

        snprintf(args, sizeof args, "{'task_id':'a','name':'b','content':"
                 "'%s','encoding':'base64'}", bad[i]);
        call(&f, "attach_artifact", args);
        CHECK(failed(&f, "invalid_argument") && has(&f, "field", "content"));
    }
    /* Attaching it again changes nothing; another name is another entry. */
    call(&f, "attach_artifact", "{'task_id':'a','agent':'you','name':'bin',"
         "'content':'/wA=','encoding':'base64'}");
    CHECK(has(&f, "artifact_id", "a6") && number(&f, "version") == 7);
    call(&f, "attach_artifact", "{'task_id':'a','name':'bin2',"
         "'content':'/wA=','encoding':'base64'}");
    CHECK(has(&f, "artifact_id", "a7") && number(&f, "version") == 8);
    fixture_fini(&f);
}

/* ---- faults ---- */

int __real_fsync(int fd);
int __wrap_fsync(int fd);

static ino_t synced[64]; /* the files that fsync was called for */
static size_t n_synced;

int
__wrap_fsync(int fd)
{
    struct stat st;

    if (n_synced < 64 && fstat(fd, &st) == 0)
        synced[n_synced++] = st.st_ino;
    return fault_now(FAULT_FSYNC) ? -1 : __real_fsync(fd);
}

/* The path of the only file in the artifacts directory. */
static void
find_file(const struct fixture *f, const char *content, char path[512])
{
    char hex[SHA256_HEX + 1];

    sha256_hex(str_of(content), hex);
    snprintf(path, 512, "%s/%s", f->artifacts, hex);
}

TEST(artifact_that_is_gone_or_changed)
{
    struct fixture f;
    char path[512];
    int fd;

    fixture_init(&f);
    call(&f, "create_task", "{'task_id':'a','title':'A'}");
    call(&f, "attach_artifact", "{'task_id':'a','name':'n','content':"
         "'abc'}");
    find_file(&f, "abc", path);
    fd = open(path, O_WRONLY);
    CHECK(fd >= 0 && write(fd, "abd", 3) == 3 && close(fd) == 0);
    call(&f, "get_task", "{'task_id':'a','section':'artifact',"
         "'artifact_id':'a1'}");
    CHECK(failed(&f, "store_error"));
    CHECK(unlink(path) == 0);
    call(&f, "get_task", "{'task_id':'a','section':'artifact',"
         "'artifact_id':'a1'}");
    CHECK(failed(&f, "not_found") && has(&f, "next", "attach the same content "
          "again, or tell the operator to run \"mcptask verify\""));
    call(&f, "get_task", "{'task_id':'a','artifact_id':'a9'}");
    CHECK(has(&f, "message", "the task has no artifact \"a9\""));
    /* A link in its place is not followed, and a wrong size is an error. */
    CHECK(symlink("/etc/passwd", path) == 0);
    call(&f, "get_task", "{'task_id':'a','section':'artifact',"
         "'artifact_id':'a1'}");
    CHECK(failed(&f, "store_error"));
    call(&f, "attach_artifact", "{'task_id':'a','name':'m','content':"
         "'abc'}");
    CHECK(ok(&f));
    call(&f, "get_task", "{'task_id':'a','section':'artifact',"
         "'artifact_id':'a1'}");
    CHECK(has(&f, "content", "abc"));
    /* So are other bytes of the right size. */
    fd = open(path, O_WRONLY);
    CHECK(fd >= 0 && write(fd, "abd", 3) == 3 && close(fd) == 0);
    call(&f, "attach_artifact", "{'task_id':'a','name':'m','content':"
         "'abc'}");
    CHECK(ok(&f));
    call(&f, "get_task", "{'task_id':'a','section':'artifact',"
         "'artifact_id':'a1'}");
    CHECK(has(&f, "content", "abc"));
    fixture_fini(&f);
}

#define ATTACH(task) \
    "{'task_id':'" task "','name':'n','content':'abc'}"

/* Prepares a call of attach_artifact, to be run later. */
static struct mcp_call
prepared(struct fixture *f, const char *args)
{
    const struct mcp_catalogue *c = tools_catalogue(f->tools);
    struct mcp_call call = {.ctx = c->ctx, .arena = &f->a,
                            .rev = MCP_2025_11_25, .out = &f->out,
                            .number = TOOL_ATTACH};

    CHECK(json_parse(&f->a, quoted(&f->a, args), &call.args, NULL) == 0);
    c->tools[TOOL_ATTACH].prepare(&call);
    return call;
}

/* Runs it, and keeps the lock that it takes. Returns whether it succeeded. */
static bool
runs(struct fixture *f, struct mcp_call *call, int refuse)
{
    const struct mcp_catalogue *c = tools_catalogue(f->tools);

    if (!store_locked(f->s))
        CHECK(store_lock_patiently(f->s) == 0);
    buf_reset(&f->out, 0);
    call->is_error = false;
    store_refuse(f->s, refuse);
    CHECK(c->tools[TOOL_ATTACH].run(call) == 0);
    store_refuse(f->s, 0);
    return !call->is_error;
}

static void
commits(struct fixture *f, bool well)
{
    bool unknown;

    disk_full = !well;
    CHECK((store_commit(f->s, &unknown) == 0) == well);
}

TEST(refused_artifact_leaves_no_file)
{
    struct fixture f;
    struct mcp_call good, bad;
    char path[512];

    fixture_init(&f);
    find_file(&f, "abc", path);
    call(&f, "create_task", "{'task_id':'a','title':'A'}");
    call(&f, "attach_artifact", ATTACH("no"));
    CHECK(failed(&f, "not_found") && count_files(f.artifacts) == 0);
    /* Another call of the turn relies on the file: a call is refused before
       it, after it, and when that one is undone. */
    bad = prepared(&f, ATTACH("no"));
    good = prepared(&f, ATTACH("a"));
    CHECK(!runs(&f, &bad, 0) && access(path, F_OK) != 0);
    CHECK(runs(&f, &good, 0) && access(path, F_OK) == 0);
    commits(&f, false);
    CHECK(!runs(&f, &good, ERR_IO) && access(path, F_OK) != 0);
    store_unlock(f.s);
    bad = prepared(&f, ATTACH("no"));
    good = prepared(&f, ATTACH("a"));
    CHECK(runs(&f, &good, 0) && !runs(&f, &bad, 0));
    CHECK(access(path, F_OK) == 0);
    commits(&f, false);
    CHECK(!runs(&f, &good, ERR_UNKNOWN) && !runs(&f, &bad, ERR_UNKNOWN));
    CHECK(access(path, F_OK) == 0); /* the outcome is unknown */
    store_unlock(f.s);
    CHECK(unlink(path) == 0);
    /* A record that came in between names it. */
    bad = prepared(&f, ATTACH("no"));
    good = prepared(&f, ATTACH("a"));
    CHECK(runs(&f, &good, 0));
    commits(&f, true);
    CHECK(!runs(&f, &bad, 0) && access(path, F_OK) == 0);
    store_unlock(f.s);
    /* The file was there before this call. */
    call(&f, "attach_artifact", ATTACH("no"));
    CHECK(failed(&f, "not_found") && access(path, F_OK) == 0);
    call(&f, "get_task", "{'task_id':'a','section':'artifact',"
         "'artifact_id':'a1'}");
    CHECK(has(&f, "content", "abc"));
    fixture_fini(&f);
}

TEST(artifact_sizes)
{
    struct fixture f;
    struct buf b = {0}, whole = {0};
    char args[200];
    size_t over;
    int pages = 0;
    struct str next;

    fixture_init(&f);
    call(&f, "create_task", "{'task_id':'a','title':'A'}");
    for (over = 0; over < 2; over++) {
        buf_reset(&b, b.cap);
        buf_z(&b, "{'task_id':'a','name':'n','content':'");
        put_times(&b, "\xc3\xa4\\n", ARTIFACT_MAX / 3);
        put_times(&b, "x", ARTIFACT_MAX % 3 + over);
        buf_put(&b, "'}", 3);
        call(&f, "attach_artifact", b.p);
        if (over)
            CHECK(failed(&f, "too_large") && has(&f, "field", "content"));
        else
            CHECK(ok(&f));
    }
    snprintf(args, sizeof args, "{'task_id':'a','section':'artifact',"
             "'artifact_id':'a1'}");
    do {
        call(&f, "get_task", args);
        CHECK(ok(&f) && answer_len(&f) <= 49152);
        CHECK(number(&f, "offset") == (int64_t)whole.len);
        buf_str(&whole, json_str(&f.a, json_get(f.json, "content")));
        next = json_str(&f.a, json_get(f.json, "next_cursor"));
        snprintf(args, sizeof args, "{'task_id':'a','section':'artifact',"
                 "'artifact_id':'a1','cursor':'%.*s'}", STR_ARG(next));
    } while (next.p && ++pages < 200);
    CHECK(whole.len == ARTIFACT_MAX && pages > 20 && pages < 100);
    CHECK(memcmp(whole.p, "\xc3\xa4\n\xc3\xa4\n", 6) == 0);
    call(&f, "get_task", "{'task_id':'a','section':'artifact',"
         "'artifact_id':'a1','cursor':'1'}"); /* inside a character */
    CHECK(failed(&f, "invalid_argument"));
    call(&f, "get_task", "{'task_id':'a','section':'artifact',"
         "'artifact_id':'a1','cursor':'1048577'}");
    CHECK(failed(&f, "invalid_argument"));
    buf_fini(&b);
    buf_fini(&whole);
    fixture_fini(&f);
}

static void
write_file(const char *path, const char *text)
{
    int fd = open(path, O_WRONLY | O_CREAT, 0600);

    CHECK(fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text));
    close(fd);
}

TEST(artifact_paths)
{
    static const struct {
        const char *path;
        bool read;
    } cases[] = {
        {"in.txt", true}, {"./in.txt", true}, {"sub/deep.txt", true},
        {"sub//deep.txt", true}, {"%/in.txt", true},
        {"%/sub/../in.txt", false}, {"../root/in.txt", false},
        {"/etc/passwd", false}, {"%", false}, {"%2/in.txt", false},
        {"sub", false}, {"link", false}, {"dirlink/deep.txt", false},
        {"fifo", false}, {"missing", false}, {"in.txt/", false},
        {"in.txt/x", false}, {"in.txt\\u0000x", false}, {"/", false},
    };
    struct fixture f;
    char path[700], args[900];
    size_t i, k, n;

    fixture_init(&f);
    call(&f, "create_task", "{'task_id':'a','title':'A'}");
    CHECK(mkdir(f.root, 0700) == 0);
    snprintf(path, sizeof path, "%s/in.txt", f.root);
    write_file(path, "inside");
    snprintf(path, sizeof path, "%s/link", f.root);
    CHECK(symlink("in.txt", path) == 0);
    snprintf(path, sizeof path, "%s/dirlink", f.root);
    CHECK(symlink("sub", path) == 0);
    snprintf(path, sizeof path, "%s/fifo", f.root);
    CHECK(mkfifo(path, 0600) == 0);
    snprintf(path, sizeof path, "%s/sub", f.root);
    CHECK(mkdir(path, 0700) == 0);
    strcat(path, "/deep.txt");
    write_file(path, "inside");
    call(&f, "attach_artifact", "{'task_id':'a','name':'n','path':"
         "'in.txt'}");
    CHECK(ok(&f) && json_get(f.json, "warnings")->n == 1);
    f.env.artifact_root = f.root;
    for (i = 0; i < sizeof cases / sizeof *cases; i++) {
        const struct json_tok *entry;

        for (k = n = 0; cases[i].path[k]; k++)
            if (cases[i].path[k] == '%')
                n += (size_t)snprintf(path + n, sizeof path - n, "%s",
                                      f.root);
            else
                path[n++] = cases[i].path[k];
        path[n] = '\0';
        snprintf(args, sizeof args, "{'task_id':'a','name':'n%zu','path':"
                 "'%s'}", i, path);
        call(&f, "attach_artifact", args);
        CHECK(ok(&f));
        snprintf(args, sizeof args, "{'task_id':'a','section':'artifact',"
                 "'artifact_id':'%.*s'}",
                 STR_ARG(json_str(&f.a, json_get(f.json, "artifact_id"))));
        call(&f, "get_task", args);
        entry = json_get(f.json, "artifact");
        if (!CHECK((json_get(entry, "sha256") != NULL) == cases[i].read))
            fprintf(stderr, "  %s\n", cases[i].path);
        if (cases[i].read)
            CHECK(has(&f, "content", "inside"));
    }
    /* The root may have been given otherwise than the path. */
    snprintf(path, sizeof path, "%s/sub/..", f.root);
    f.env.artifact_root = path;
    snprintf(args, sizeof args, "{'task_id':'a','name':'real','path':"
             "'%s/sub/deep.txt'}", f.root);
    call(&f, "attach_artifact", args);
    CHECK(ok(&f) && json_get(f.json, "warnings") == NULL);
    fixture_fini(&f);
}

/* path reads neither files of the store nor tokens and credentials, whatever
   name they have, and the attempt costs nobody a lock. */
TEST(files_of_the_store)
{
    static const char *const of_store[] = {
        "tasks.log", "tasks.log.lock", "tasks.log.key", "tasks.log.1",
        "other.txt", "tokens", "link", "tokens.old", "auth",
    };
    struct fixture f;
    char path[700], other[700], tokens[700], auth[700], args[900];
    size_t i;

    fixture_init(&f);
    call(&f, "create_task", "{'task_id':'a','title':'A'}");
    snprintf(path, sizeof path, "%s/tasks.log.1", f.dir);
    write_file(path, "closed");
    snprintf(path, sizeof path, "%s/tasks.log.key", f.dir);
    write_file(path, "secret");
    snprintf(other, sizeof other, "%s/other.txt", f.dir);
    CHECK(link(path, other) == 0);
    snprintf(path, sizeof path, "%s/tasks.logbook", f.dir);
    write_file(path, "no secret");
    snprintf(auth, sizeof auth, "%s/auth", f.dir);
    write_file(auth, "user:password");
    snprintf(other, sizeof other, "%s/tokens.old", f.dir);
    write_file(other, "an earlier one");
    snprintf(tokens, sizeof tokens, "%s/tokens", f.dir);
    write_file(tokens, "a token");
    snprintf(other, sizeof other, "%s/link", f.dir);
    CHECK(link(tokens, other) == 0);
    f.env.secrets[0] = tokens;
    f.env.secrets[1] = auth;
    f.env.artifact_root = f.dir;
    for (i = 0; i < sizeof of_store / sizeof *of_store; i++) {
        snprintf(args, sizeof args, "{'task_id':'a','name':'n%zu','path':"
                 "'%s'}", i, of_store[i]);
        call(&f, "attach_artifact", args);
        CHECK(ok(&f) && json_get(f.json, "warnings")->n == 1 &&
              str_is(json_str(&f.a, json_get(f.json, "warnings") + 1),
                     "path was not read: it is one of the server's own files"));
    }
    call(&f, "attach_artifact", "{'task_id':'a','name':'b','path':"
         "'tasks.logbook'}");
    CHECK(ok(&f) && json_get(f.json, "warnings") == NULL);
    fixture_fini(&f);
}

TEST(artifact_count)
{
    struct fixture f;
    char args[128];
    int i;

    fixture_init(&f);
    call(&f, "create_task", "{'task_id':'a','title':'A'}");
    for (i = 0; i <= 256; i++) {
        snprintf(args, sizeof args, "{'task_id':'a','name':'%d','content':"
                 "'same'}", i);
        call(&f, "attach_artifact", args);
        if (i < 256)
            CHECK(ok(&f));
    }
    CHECK(failed(&f, "too_large") && has(&f, "field", "artifacts"));
    CHECK(has(&f, "next", "attach it to another task"));
    fixture_fini(&f);
}

/* Each system call that makes the artifact's file fails in turn. */
TEST(artifact_faults)
{
    static const struct {
        enum fault_call call;
        int err;
        const char *code;
    } cases[] = {
        {FAULT_WRITE, ENOSPC, "store_full"}, {FAULT_FSYNC, EIO, "store_error"},
        {FAULT_RENAME, EROFS, "store_readonly"},
    };
    struct fixture f;
    struct stat st;
    char path[512];
    size_t i;
    int n;

    fixture_init(&f);
    call(&f, "create_task", "{'task_id':'a','title':'A'}");
    find_file(&f, "abc", path);
    for (i = 0; i < sizeof cases / sizeof *cases; i++) {
        for (n = 0;; n++) {
            f.hold = true;
            fault_start(cases[i].call, n, false, cases[i].err);
            call(&f, "attach_artifact", "{'task_id':'a','name':'n',"
                 "'content':'abc'}");
            fault.on = f.hold = false;
            commits(&f, true);
            store_unlock(f.s);
            if (fault.hit) {
                CHECK(failed(&f, cases[i].code));
                CHECK(stat(path, &st) != 0);
            } else {
                CHECK(ok(&f));
                break;
            }
        }
        CHECK(n > 0);
        CHECK(count_files(f.artifacts) == 1 && unlink(path) == 0);
    }
    fixture_fini(&f);
}

static bool
was_synced(const char *path)
{
    struct stat st;
    size_t i;

    for (i = 0; i < n_synced && stat(path, &st) == 0; i++)
        if (synced[i] == st.st_ino)
            return true;
    return false;
}

/* The file and its directories exist, but the process that made them was killed
   before it synced them. */
TEST(artifact_of_a_killed_process)
{
    struct fixture f;
    char path[512], up[512];
    int fd;

    fixture_init(&f);
    call(&f, "create_task", "{'task_id':'a','title':'A'}");
    find_file(&f, "abc", path);
    CHECK(file_make_dirs(f.artifacts) == 0);
    fd = open(path, O_WRONLY | O_CREAT | O_EXCL, 0600);
    CHECK(write(fd, "abc", 3) == 3 && close(fd) == 0);
    n_synced = 0;
    call(&f, "attach_artifact", "{'task_id':'a','name':'n',"
         "'content':'abc'}");
    snprintf(up, sizeof up, "%s/..", f.artifacts);
    CHECK(ok(&f) && was_synced(path) && was_synced(f.artifacts) &&
          was_synced(up));
    fixture_fini(&f);
}

/* ---- the end of a content, and lines that match ---- */

#define PIECE "'task_id':'a','section':'artifact','artifact_id':'a1'"

static const struct json_tok *
piece(struct fixture *f, const char *args)
{
    char text[256];

    snprintf(text, sizeof text, "{" PIECE "%s}", args);
    return call(f, "get_task", text);
}

TEST(tail_of_an_artifact)
{
    struct fixture f;

    fixture_init(&f);
    call(&f, "create_task", "{'task_id':'a','title':'A'}");
    call(&f, "attach_artifact", "{'task_id':'a','name':'n','content':"
         "'one\\ntwo\\n\xc3\xa4nd'}");
    piece(&f, ",'offset':-4");
    CHECK(has(&f, "content", "\xc3\xa4nd") && number(&f, "offset") == 8);
    piece(&f, ",'offset':-3"); /* inside the umlaut: from the next one on */
    CHECK(has(&f, "content", "nd") && number(&f, "offset") == 10);
    piece(&f, ",'offset':4");
    CHECK(has(&f, "content", "two\n\xc3\xa4nd"));
    piece(&f, ",'offset':-100");
    CHECK(number(&f, "offset") == 0);
    piece(&f, ",'offset':100");
    CHECK(has(&f, "content", "") && number(&f, "offset") == 12);
    piece(&f, ",'offset':'x'");
    CHECK(failed(&f, "invalid_argument") && has(&f, "field", "offset"));
    fixture_fini(&f);
}

TEST(lines_that_match)
{
    struct fixture f;

    fixture_init(&f);
    call(&f, "create_task", "{'task_id':'a','title':'A'}");
    call(&f, "attach_artifact", "{'task_id':'a','name':'n','content':"
         "'a\\nError 1\\nb\\nc\\nd\\ne\\nError 2\\nError 3'}");
    piece(&f, ",'match':'Error'");
    CHECK(has(&f, "content", "2:Error 1\n--\n7:Error 2\n8:Error 3\n"));
    CHECK(json_get(f.json, "truncated")->type == JSON_FALSE);
    piece(&f, ",'match':'Error 1','lines':1");
    CHECK(has(&f, "content", "1-a\n2:Error 1\n3-b\n"));
    piece(&f, ",'match':'Error','lines':20");
    CHECK(has(&f, "content", "1-a\n2:Error 1\n3-b\n4-c\n5-d\n6-e\n"
              "7:Error 2\n8:Error 3\n"));
    piece(&f, ",'match':'Error','offset':-3"); /* lines that begin there */
    CHECK(has(&f, "content", ""));
    piece(&f, ",'match':'error'");
    CHECK(has(&f, "content", ""));
    piece(&f, ",'match':'a','lines':21");
    CHECK(ok(&f) && json_get(f.json, "warnings")->n == 1);
    fixture_fini(&f);
}

/* Whichever bytes of the last character do not fit. */
TEST(long_lines_end_with_a_character)
{
    struct fixture f;
    struct buf b = {0};
    struct str text;

    fixture_init(&f);
    call(&f, "create_task", "{'task_id':'a','title':'A'}");
    buf_z(&b, "{'task_id':'a','name':'n','content':'");
    for (const char *start = "hit"; *start != '\0'; start++) {
        buf_z(&b, start);
        put_times(&b, "\xe4\xb8\xad", 400);
        buf_z(&b, "\\n");
    }
    buf_put(&b, "'}", 3);
    call(&f, "attach_artifact", b.p);
    piece(&f, ",'match':'\xe4\xb8\xad'");
    text = json_str(&f.a, json_get(f.json, "content"));
    buf_char(&f.out, '\0');
    CHECK(strstr(f.out.p, "3:t\xe4\xb8\xad") && text.len < 3 * 1030);
    CHECK(str_find(text, STR("\xef\xbf\xbd")) == SIZE_MAX);
    CHECK(str_find(text, STR("\xe4\xb8\xad...\n2:")) < text.len); /* a mark */
    buf_fini(&b);
    fixture_fini(&f);
}

/* What does not fit comes with the next cursor, each line once. Long lines are
   cut. */
TEST(many_lines_that_match)
{
    struct fixture f;
    struct buf b = {0};
    char more[128] = "", next[96] = "";
    struct str text;
    int lines = 0, calls = 0;

    fixture_init(&f);
    call(&f, "create_task", "{'task_id':'a','title':'A'}");
    buf_z(&b, "{'task_id':'a','name':'n','content':'");
    for (int i = 0; i < 3000; i++)
        buf_z(&b, "\\u0001\\u0001\\u0001\\u0001 hit\\nmiss\\n");
    put_times(&b, "x", 100000);
    buf_z(&b, "hit");
    put_times(&b, "y", 100000);
    buf_put(&b, "'}", 3);
    call(&f, "attach_artifact", b.p);
    CHECK(ok(&f));
    do {
        snprintf(more, sizeof more, ",'match':'hit'%s", next);
        piece(&f, more);
        if (!CHECK(ok(&f) && answer_len(&f) <= 48 * 1024) || ++calls > 50)
            break;
        text = json_str(&f.a, json_get(f.json, "content"));
        for (size_t i = 0; i < text.len; i++)
            lines += text.p[i] == ':';
        text = json_get(f.json, "next_cursor")
            ? json_str(&f.a, json_get(f.json, "next_cursor")) : STR("");
        snprintf(next, sizeof next, ",'cursor':'%.*s'", STR_ARG(text));
    } while (text.len > 0);
    CHECK(lines == 3001 && calls > 2);
    CHECK(strstr(f.out.p, "6001:...xxx") && strstr(f.out.p, "xhity"));
    buf_fini(&b);
    fixture_fini(&f);
}
