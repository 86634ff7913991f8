/* name - see name.h. */

#include "task/name.h"

#include <string.h>

#define PRODUCT_MAX 100 /* longer ones say nothing */

/* The character of a product for one of a client's name. */
static char
product_char(char c)
{
    bool letter;

    c = text_lower(c);
    letter = (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
    return letter ? c : '-';
}

struct str
name_product(struct arena *a, struct str client)
{
    char *p = arena_alloc(a, client.len + 1);

    if (p == NULL)
        return STR_NONE;
    for (size_t i = 0; i < client.len; i++)
        p[i] = product_char(client.p[i]);
    p[client.len] = '\0';
    return (struct str){p, client.len};
}

bool
name_says_product(struct str product)
{
    static const char *const vague[] = {
        "mcp", "client", "mcp-client", "example-client", "test", "agent",
        "unknown",
    };
    size_t hyphens = 0;

    for (size_t i = 0; i < sizeof vague / sizeof *vague; i++)
        if (str_is(product, vague[i]))
            return false;
    while (hyphens < product.len && product.p[hyphens] == '-')
        hyphens++;
    return hyphens < product.len && product.len <= PRODUCT_MAX;
}

struct str
name_default(struct arena *a, struct str product, struct str hex)
{
    if (!name_says_product(product))
        product = STR("agent");
    return arena_printf(a, "%.*s-%.*s", STR_ARG(product), NAME_HEX, hex.p);
}

bool
name_covers(struct str word, struct str product)
{
    if (word.len == 0 || word.len > product.len)
        return false;
    for (size_t i = 0; i < word.len; i++)
        if (product_char(word.p[i]) != product.p[i])
            return false;
    return word.len == product.len || product.p[word.len] == '-';
}

struct str
name_stem(struct str name)
{
    struct str digits;

    if (name.len <= NAME_HEX + 1)
        return STR_NONE;
    digits = str_from(name, name.len - NAME_HEX);
    if (digits.p[-1] != '-' || !str_is_hex(digits, NAME_HEX))
        return STR_NONE;
    return (struct str){name.p, name.len - NAME_HEX - 1};
}

bool
name_reaches(struct str word, const struct name_agent *agent)
{
    return str_eq(word, agent->name) ||
           (word.len > 0 && str_eq(word, name_stem(agent->name))) ||
           name_covers(word, agent->product);
}
