/* t_page - the page in the binary: gzip's own program unpacks it to the same
   text, and the headers for browsers match it. */

#include "board/page.h"
#include "base/sha256.h"
#include "base/base64.h"
#include "task/view.h"
#include "tests/lib/test.h"

static struct str
gunzipped(struct arena *a, struct str packed)
{
    char *dir = test_tmpdir(), *p = arena_alloc(a, 1 << 20), path[400];
    struct str out = {p, 0};
    FILE *f;

    snprintf(path, sizeof(path), "%s/page.gz", dir);
    f = fopen(path, "wb");
    CHECK(f != NULL && fwrite(packed.p, 1, packed.len, f) == packed.len &&
          fclose(f) == 0);
    snprintf(path, sizeof(path), "gzip -dc '%s/page.gz'", dir);
    f = popen(path, "r");
    if (CHECK(f != NULL)) {
        out.len = fread(p, 1, 1 << 20, f);
        CHECK(pclose(f) == 0);
    }
    free(dir);
    return out;
}

TEST(unpacks_as_gzip_does)
{
    struct arena a = {0};
    struct str page = STR_NONE, again = STR_NONE;

    CHECK(page_text(&page) == 0);
    CHECK(page_text(&again) == 0 && again.p == page.p); /* made once */
    CHECK(str_starts(page, "<!doctype html>\n"));
    CHECK(str_eq(page, gunzipped(&a, page_packed())));
    arena_fini(&a);
}

/* Whether the fields have, after name, the digest of the text in base64. */
static bool
allows(struct arena *a, const char *fields, const char *name,
       const char *digest)
{
    static const char hex[] = "0123456789abcdef";
    const char *at = strstr(fields, name), *end;
    char said[SHA256_HEX + 1] = "";
    struct str bytes;
    size_t i;

    if (at == NULL)
        return false;
    at += strlen(name);
    end = strchr(at, '\'');
    if (base64_decode(a, (struct str){at, (size_t)(end - at)}, &bytes) != 0 ||
        bytes.len != SHA256_LEN)
        return false;
    for (i = 0; i < SHA256_LEN; i++) {
        said[2 * i] = hex[(uint8_t)bytes.p[i] >> 4];
        said[2 * i + 1] = hex[bytes.p[i] & 15];
    }
    return strcmp(said, digest) == 0;
}

TEST(headers_allow_the_page)
{
    static const struct {
        const char *open, *close, *allows;
    } cases[] = {
        {"<script>", "</script>", "; script-src 'sha256-"},
        {"<style>", "</style>", "; style-src 'sha256-"},
    };
    char digest[SHA256_HEX + 1], tag[16], field[32];
    const char *from, *to;
    struct arena a = {0};
    struct buf b = {0};
    struct str page;
    size_t i;

    CHECK(page_text(&page) == 0);
    page_put_fields(&b);
    buf_char(&b, '\0');
    CHECK(b.err == 0);
    for (i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        from = strstr(page.p, cases[i].open);
        to = strstr(page.p, cases[i].close);
        if (!CHECK(from != NULL && to != NULL))
            continue;
        from += strlen(cases[i].open);
        CHECK(strstr(from, cases[i].open) == NULL); /* only one */
        sha256_hex((struct str){from, (size_t)(to - from)}, digest);
        CHECK(allows(&a, b.p, cases[i].allows, digest));
    }
    page_tag(tag);
    snprintf(field, sizeof(field), "\r\nETag: %s\r\n", tag);
    CHECK(strstr(b.p, field) != NULL);
    CHECK(strstr(b.p, "unsafe") == NULL);
    buf_fini(&b);
    arena_fini(&a);
}

/* Where a person fills in a field, and above what stands below a heading. */
TEST(has_the_labels_of_the_facts)
{
    const struct task_fact *fact;
    char text[80];
    struct str page;

    CHECK(page_text(&page) == 0);
    for (fact = task_facts; fact->label != NULL; fact++) {
        struct str name = task_arg_name(fact->field);

        snprintf(text, sizeof(text), "\n%.*s: { label: '%s", STR_ARG(name),
                 fact->label);
        if (fact->where & IN_FORM && !CHECK(strstr(page.p, text) != NULL))
            fprintf(stderr, "no%s\n", text);
        snprintf(text, sizeof(text), "'%s'", fact->label);
        if (fact->kind == KIND_PROSE || fact->kind == KIND_LIST)
            CHECK(strstr(page.p, text) != NULL);
    }
}

/* A row of columns.h. */
struct sorted {
    const char *status, *flags, *column;
};

static bool
fits(const struct sorted *s, enum task_status status, unsigned flags)
{
    size_t i;

    for (i = 0; s->flags[i] != '\0'; i++)
        if (s->flags[i] != '-' && s->flags[i] != (flags >> i & 1 ? '1' : '0'))
            return false;
    return strcmp(s->status, task_status_name(status)) == 0;
}

/* Every kind of task is in the column that its row says. */
TEST(each_task_has_its_column)
{
#define COLUMN(status, flags, column) {#status, flags, #column},
    static const struct sorted rows[] = {
#include "tests/lib/columns.h"
    };
    static const char *const names[TASK_N_COLUMNS] = {
        "need", "ready", "prog", "hand", "stuck", "wait", "done",
    };
    unsigned status, flags;
    size_t i, n;

    for (status = 0; status < TASK_N_STATUSES; status++)
        for (flags = 0; flags < 512; flags++) {
            struct task k = {.status = (enum task_status)status,
                             .needs_input = flags & 1, .blocked = flags & 2,
                             .lease_expired = flags & 4, .stale = flags & 8,
                             .early = flags & 64, .recent = flags & 128 &&
                                       status == TASK_FAILED};

            if (flags & 16)
                k.deps_failed = STR("[\"x\"]");
            if (flags & 32)
                k.clashes = STR("[{\"task_id\":\"x\"}]");
            if (flags & 256)
                k.parts.unfinished = 1;
            if (k.status == TASK_IN_PROGRESS && !(flags & 12))
                k.early = false; /* an agent works on it */

            for (i = n = 0; i < sizeof(rows) / sizeof(*rows); i++)
                if (fits(&rows[i], k.status, flags)) {
                    n++;
                    CHECK(strcmp(names[task_column(&k)],
                                 rows[i].column) == 0);
                }
            CHECK(n == 1);
        }
}
