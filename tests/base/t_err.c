/* t_err - the table of errors, and the one in docs/errors.md, which has to have
   the same codes. */

#include "base/base.h"
#include "base/err.h"
#include "tests/lib/test.h"

#define LAST ERR_NOT_YOURS /* the last code */

TEST(each_code_has_a_row)
{
    for (int e = -1; e >= LAST; e--) {
        const struct err_row *row = err_row(e);

        if (!CHECK(row != err_row(0) && row->name && row->message &&
                   row->exit >= 1 && row->exit <= 4))
            fprintf(stderr, "  %d\n", e);
        CHECK((row->rpc == 0) == (row->rpc_text == NULL));
        CHECK((row->rpc == 0) == (row->rpc_2026 == 0));
    }
    CHECK(err_row(LAST - 1) == err_row(0));
}

/* Codes with one name are one error to callers. ERR_MAY_NOT_WAIT is shown in
   words of its own. */
TEST(codes_with_one_name_are_alike)
{
    for (int a = ERR_SYNTAX; a >= LAST; a--)
        for (int b = a - 1; b >= LAST; b--)
            if (strcmp(err_name(a), err_name(b)) == 0)
                CHECK(err_row(a)->exit == err_row(b)->exit &&
                      err_row(a)->retryable == err_row(b)->retryable);
}

/* The row of the document for a name: true and *exit. */
static bool
find_in_document(const char *text, const char *name, int *exit)
{
    char begin[64];
    const char *at;

    snprintf(begin, sizeof begin, "\n| `%s` | ", name);
    at = strstr(text, begin);
    *exit = at ? atoi(at + strlen(begin)) : 0;
    return at && !strstr(at + 1, begin);
}

TEST(the_document_has_the_same)
{
    static char text[64 * 1024];
    FILE *f = fopen("docs/errors.md", "r");
    const char *at = text;
    int rows = 0, names = 0, exit;

    if (!CHECK(f != NULL))
        return;
    text[fread(text, 1, sizeof text - 1, f)] = '\0';
    fclose(f);
    for (int e = ERR_SYNTAX; e >= LAST; e--) {
        int before = e + 1;

        if (!CHECK(find_in_document(text, err_name(e), &exit) &&
                   exit == err_row(e)->exit))
            fprintf(stderr, "  %s\n", err_name(e));
        while (before <= ERR_SYNTAX &&
               strcmp(err_name(before), err_name(e)) != 0)
            before++;
        names += before > ERR_SYNTAX;
    }
    while ((at = strstr(at, "\n| `")) != NULL) {
        rows++;
        at++;
    }
    CHECK(rows == names);
}
