/* The JSON writer: what it writes is read back the same, misuse aborts, and
   memory may fail at any call. */

#include "tests/lib/json_rig.h"

#include <signal.h>
#include <sys/wait.h>

TEST(writer)
{
    struct buf b = {0};
    struct json_w w;

    json_w_init(&w, &b);
    json_obj(&w);
    json_put_str(&w, "s", STR("a\"b"));
    json_put_z(&w, "z", "");
    json_put_int(&w, "min", INT64_MIN);
    json_put_int(&w, "max", INT64_MAX);
    json_put_bool(&w, "t", true);
    json_put_raw(&w, "raw", STR("[1, 2]"));
    json_key_str(&w, STR("\n"));
    json_arr(&w);
    json_splice(&w, STR("null"));
    json_arr(&w);
    json_close(&w);
    json_bool(&w, false);
    json_number(&w, -7);
    json_obj(&w);
    json_close(&w);
    json_close(&w);
    json_close(&w);
    json_w_end(&w);
    CHECK(b.err == 0);
    CHECK(str_is(buf_view(&b),
                 "{\"s\":\"a\\\"b\",\"z\":\"\",\"min\":-9223372036854775808,"
                 "\"max\":9223372036854775807,\"t\":true,\"raw\":[1, 2],"
                 "\"\\n\":[null,[],false,-7,{}]}"));
    CHECK(parse(buf_view(&b)) == 0);
    b.len = 0;
    json_w_init(&w, &b);
    json_z(&w, "x");
    json_w_end(&w);
    CHECK(str_is(buf_view(&b), "\"x\""));
    /* Failed memory leaves an empty slice: that is an error, not an assert. */
    json_w_init(&w, &b);
    json_splice(&w, STR_NONE);
    json_w_end(&w);
    CHECK(b.err == ERR_NOMEM);
    buf_fini(&b);
}

TEST(writer_depth)
{
    struct buf b = {0};
    struct json_w w;
    int i;

    json_w_init(&w, &b);
    for (i = 0; i < JSON_MAX_DEPTH; i++) {
        if (i % 3 == 1)
            json_key(&w, "k");
        if (i % 3 == 0)
            json_obj(&w);
        else
            json_arr(&w);
    }
    for (i = 0; i < JSON_MAX_DEPTH; i++)
        json_close(&w);
    json_w_end(&w);
    CHECK(parse(buf_view(&b)) == 0);
    buf_fini(&b);
}

TEST(quoting)
{
#define FFFD "\xef\xbf\xbd"
    static const struct {
        struct str in, out;
    } table[] = {
        {{"", 0}, {"", 0}},
        {{"\0", 1}, {"\\u0000", 6}},
        {{"\b\f\n\r\t", 5}, {"\\b\\f\\n\\r\\t", 10}},
        {{"\x01\x1f\x7f/", 4}, {"\\u0001\\u001f\x7f/", 14}},
        {{"\"\\", 2}, {"\\\"\\\\", 4}},
        {{"\xe2\x80\xa8", 3}, {"\xe2\x80\xa8", 3}},
        {{"\x80", 1}, {FFFD, 3}},
        {{"a\xff" "b", 3}, {"a" FFFD "b", 5}},
        {{"\xc3", 1}, {FFFD, 3}},
        {{"\xc3\xa9\xc3", 3}, {"\xc3\xa9" FFFD, 5}},
        {{"\xe4\xb8", 2}, {FFFD, 3}},
        {{"\xe4\xb8" "a", 3}, {FFFD "a", 4}},
        {{"\xf0\x9f\x98", 3}, {FFFD, 3}},
        {{"\xf0\x9f\x98\xf0", 4}, {FFFD FFFD, 6}},
        {{"\xc0\x80", 2}, {FFFD FFFD, 6}},
        {{"\xe0\x80\x80", 3}, {FFFD FFFD FFFD, 9}},
        {{"\xed\xa0\x80", 3}, {FFFD FFFD FFFD, 9}},
        {{"\xf4\x90\x80\x80", 4}, {FFFD FFFD FFFD FFFD, 12}},
        {{"\xf1\x80\x80\xe1\x80\xc2", 6}, {FFFD FFFD FFFD, 9}},
    };
    struct buf b = {0};
    size_t i;

    for (i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
        struct str in = table[i].in;

        in.p = guard_copy(in.p, in.len);
        b.len = 0;
        json_quote(&b, in);
        CHECK(json_quoted_len(in) == table[i].out.len);
        CHECK(b.len == table[i].out.len + 2);
        CHECK(str_eq((struct str){b.p + 1, b.len - 2}, table[i].out));
        CHECK(b.p[0] == '"' && b.p[b.len - 1] == '"');
    }
    json_quote(&b, STR_NONE);
    CHECK(json_quoted_len(STR_NONE) == 0);
    buf_fini(&b);
#undef FFFD
}

/* Appends n bytes c, quoted one by one, without their quotes. */
static void
put_alone(struct buf *b, char c, size_t n)
{
    struct buf one = {0};

    json_quote(&one, (struct str){&c, 1});
    for (; n > 0; n--)
        buf_put(b, one.p + 1, one.len - 2);
    buf_fini(&one);
}

/* Quoting takes blocks: a byte means the same at every place in one. */
TEST(bytes_at_every_place)
{
    static const char bytes[] = "\"\\ \t\x1f\x7f\x80~";
    struct buf b = {0}, want = {0};
    char text[70];

    for (size_t n = 1; n <= sizeof(text); n++)
        for (size_t at = 0; at < n * sizeof(bytes); at++) {
            size_t from = at % n, len = at % 3 == 0 ? n - from : 1;
            char c = bytes[at / n];

            memset(text, 'x', n);
            memset(text + from, c, len);
            b.len = want.len = 0;
            json_quote(&b, (struct str){guard_copy(text, n), n});
            buf_char(&want, '"');
            put_alone(&want, 'x', from);
            put_alone(&want, c, len);
            put_alone(&want, 'x', n - from - len);
            buf_char(&want, '"');
            CHECK(str_eq(buf_view(&b), buf_view(&want)));
        }
    buf_fini(&b);
    buf_fini(&want);
}

TEST(random_strings_quote_and_parse)
{
    static const char pieces[][5] = {"a",  "\"", "\\",  "\n", "\x02",
                                     "/",  "é",  "中",  "😀", "\xed",
                                     "\xf0\x9f", "\xc1", "\x80", "word"};
    struct buf s = {0}, b = {0};
    int round;
    uint32_t i;

    for (round = 0; round < 3000; round++) {
        bool valid = round % 2 == 0;

        s.len = b.len = 0;
        for (i = random_below(30); i > 0; i--)
            buf_z(&s, pieces[random_below(valid ? 9 : 14)]);
        json_quote(&b, buf_view(&s));
        CHECK(json_quoted_len(buf_view(&s)) + 2 == b.len);
        CHECK(parse(buf_view(&b)) == 0);
        if (valid)
            CHECK(str_eq(json_str(&arena, root),
                         s.len > 0 ? buf_view(&s) : STR("")));
    }
    buf_fini(&s);
    buf_fini(&b);
}

static void
random_value(struct json_w *w, int depth)
{
    uint32_t n = random_below(6), kind = random_below(depth > 0 ? 8 : 5);
    char text[8];
    uint32_t i;

    for (i = 0; i < sizeof(text); i++)
        text[i] = (char)random_below(256);
    switch (kind) {
    case 0:
        json_splice(w, STR("null"));
        break;
    case 1:
        json_bool(w, n > 2);
        break;
    case 2:
        json_number(w, (int64_t)((uint64_t)random_below(UINT32_MAX) << n * 6));
        break;
    case 3:
        json_splice(w, STR("-1.25e-7"));
        break;
    case 4:
        json_string(w, (struct str){text, n});
        break;
    case 5:
        json_arr(w);
        for (i = 0; i < n; i++)
            random_value(w, depth - 1);
        json_close(w);
        break;
    default:
        json_obj(w);
        for (i = 0; i < n; i++) {
            json_key_str(w, (struct str){text, i});
            random_value(w, depth - 1);
        }
        json_close(w);
    }
}

TEST(random_documents_survive_the_round_trip)
{
    struct buf b = {0}, again = {0};
    struct json_w w;
    int round;

    for (round = 0; round < 2000; round++) {
        buf_reset(&b, 1 << 16);
        buf_reset(&again, 1 << 16);
        json_w_init(&w, &b);
        random_value(&w, 6);
        json_w_end(&w);
        CHECK(parse(buf_view(&b)) == 0);
        if (root == NULL)
            continue;
        json_w_init(&w, &again);
        copy_value(&w, &arena, root);
        json_w_end(&w);
        CHECK(str_eq(buf_view(&b), buf_view(&again)));
    }
    buf_fini(&b);
    buf_fini(&again);
}

/* Text with extra blanks and needless escapes means the same as what the writer
   makes of it. */
TEST(other_spellings_mean_the_same)
{
    static const char spelled[] =
        "\r\n { \"\\u0061\\/b\" :\t[ 1.50 , \"\\ud83D\\uDE00\" ] ,"
        "\"\" : { } , \"\" : [ ] } \t";
    const struct json_tok *first;
    struct buf b = {0};
    struct arena mine = {0};
    struct json_w w;

    CHECK(json_parse(&mine, STR(spelled), &first, NULL) == 0);
    json_w_init(&w, &b);
    copy_value(&w, &mine, first);
    json_w_end(&w);
    CHECK(str_is(buf_view(&b), "{\"a/b\":[1.50,\"😀\"],\"\":{},\"\":[]}"));
    CHECK(parse(buf_view(&b)) == 0 && same_value(&mine, first, root));
    arena_fini(&mine);
    buf_fini(&b);
}

/* ---- misuse and failed memory ---- */

static void
two_values(struct json_w *w)
{
    json_splice(w, STR("null"));
    json_splice(w, STR("null"));
}

static void
no_value(struct json_w *w)
{
    json_w_end(w);
}

static void
no_name(struct json_w *w)
{
    json_obj(w);
    json_splice(w, STR("null"));
}

static void
name_twice(struct json_w *w)
{
    json_obj(w);
    json_key(w, "a");
    json_key(w, "a");
}

static void
name_in_array(struct json_w *w)
{
    json_arr(w);
    json_key(w, "a");
}

static void
name_outside(struct json_w *w)
{
    json_key(w, "a");
}

static void
close_after_name(struct json_w *w)
{
    json_obj(w);
    json_key(w, "a");
    json_close(w);
}

static void
close_nothing(struct json_w *w)
{
    json_close(w);
}

static void
left_open(struct json_w *w)
{
    json_arr(w);
    json_w_end(w);
}

static void
empty_splice(struct json_w *w)
{
    json_splice(w, STR(""));
}

static void
too_deep(struct json_w *w)
{
    int i;

    for (i = 0; i <= JSON_MAX_DEPTH; i++)
        json_arr(w);
}

TEST(misuse_of_the_writer_aborts)
{
    static void (*const misuse[])(struct json_w *) = {
        two_values,       no_value,      no_name,   name_twice,
        name_in_array,    name_outside,  close_after_name,
        close_nothing,    left_open,     empty_splice,
        too_deep,
    };
    struct buf b = {0};
    struct json_w w;
    int status;
    size_t i;

    fflush(NULL);
    for (i = 0; i < sizeof(misuse) / sizeof(misuse[0]); i++) {
        pid_t child = fork();

        if (child == 0) {
            close(STDERR_FILENO);
            json_w_init(&w, &b);
            misuse[i](&w);
            _exit(0);
        }
        CHECK(child > 0 && waitpid(child, &status, 0) == child);
        CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
    }
}

/* Parses, decodes and quotes. True if there was memory for everything. What
   failed says so, and nothing is left half done. */
static bool
whole_job(struct str text)
{
    const struct json_tok *t = NULL;
    struct arena a = {0};
    struct buf b = {0};
    struct str s = STR_NONE;
    int rc = json_parse(&a, text, &t, NULL);

    CHECK(rc == 0 ? t != NULL : rc == ERR_NOMEM && t == NULL);
    if (rc == 0) {
        s = json_str(&a, t + t->span - 1);
        CHECK(s.p == NULL || (s.len == 10000 && s.p[9999] == '\n'));
        json_quote(&b, s);
        json_quote(&b, s);
        CHECK(b.err == ERR_NOMEM || b.len == 2 * json_quoted_len(s) + 4);
    }
    rc = rc < 0 ? rc : b.err;
    buf_fini(&b);
    arena_fini(&a);
    return rc == 0 && s.p != NULL;
}

TEST(memory_may_fail_at_any_call)
{
    struct buf text = {0};
    int i, once;
    long n;

    /* More tokens than the first guess, then a string full of escapes. */
    buf_char(&text, '[');
    for (i = 0; i < 10000; i++)
        buf_z(&text, "1,");
    buf_char(&text, '"');
    for (i = 0; i < 10000; i++)
        buf_z(&text, "\\n");
    buf_z(&text, "\"]");
    for (once = 0; once < 2; once++)
        for (n = 0; n < 1000; n++) {
            bool whole;

            nomem_start(n, once != 0);
            whole = whole_job(buf_view(&text));
            if (!nomem_stop()) {
                CHECK(whole && n > 4);
                break;
            }
            CHECK(!whole);
        }
    buf_fini(&text);
}

int
main(void)
{
    test_run();
    arena_fini(&arena);
    return test_end("json_write");
}
