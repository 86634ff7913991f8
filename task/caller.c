/* caller - who makes a request, what callers are called, and why a request was
   refused.

   An error text is made of constants, numbers and at most the caller's own
   argument. It never holds the content of a task. */

#include "task/caller.h"
#include "base/text.h"

#include <stdarg.h>

#define PRODUCT_MAX 100 /* longer ones say nothing */
#define FOLDED 256      /* and names are cut here before they are compared */

/* ---- errors ---- */

int
task_fail_store(struct task_ctx *c, int code)
{
    struct task_error *e = &c->e;
    const struct err_row *row = err_row(code);

    *e = (struct task_error){.code = code, .allowed = e->allowed,
                             .unknown = code == ERR_UNKNOWN,
                             .message = str_of(row->message)};
    if (row->next)
        e->next = str_of(row->next);
    return code;
}

int
task_next(struct task_ctx *c, const char *next)
{
    c->e.next = str_of(next);
    return c->e.code;
}

int
task_fail(struct task_ctx *c, int code, const char *field, const char *fmt,
          ...)
{
    struct task_error *e = &c->e;
    char text[256];
    struct str message;
    va_list ap;

    va_start(ap, fmt);
    text_vput(text, sizeof text, fmt, ap);
    va_end(ap);
    task_fail_store(c, code);
    message = arena_str(c->a, str_of(text));
    if (message.p)
        e->message = message;
    if (field)
        e->field = str_of(field);
    if (code == ERR_NOT_FOUND && str_is(e->field, "artifact_id"))
        e->next = STR("call get_task to list the task's artifacts");
    if (str_is(e->field, "answer") && code != ERR_TOO_LARGE)
        e->next = STR("call get_task to see the task's questions");
    return code;
}

/* ---- segments of names ---- */

/* Whether clients of all makers have such a segment in their names, or all of
   one maker. */
static bool
says_nothing(struct str segment)
{
    static const struct str vague[] = {
        STR("mcp"), STR("client"), STR("cli"), STR("app"), STR("ide"),
        STR("agent"), STR("tool"), STR("server"), STR("api"), STR("sdk"),
        STR("com"), STR("io"), STR("openai"), STR("anthropic"), STR("google"),
        STR("github"), STR("microsoft"), STR("amazon"),
    };

    for (size_t i = 0; i < sizeof vague / sizeof *vague; i++)
        if (str_eq(segment, vague[i]))
            return true;
    return false;
}

/* Returns the segments of a name in lower case, with hyphens between them; if
   some, without those that say nothing. */
static struct str
fold(struct str name, bool some, char out[FOLDED])
{
    size_t n = 0, from = 0; /* from: where the last segment begins */

    for (size_t i = 0; i <= name.len && n < FOLDED; i++) {
        char c = i < name.len ? text_lower(name.p[i]) : '-';

        if ((c >= 'a' && c <= 'z') || (c >= '0' && c <= '9')) {
            out[n++] = c;
            continue;
        }
        if (some && says_nothing((struct str){out + from, n - from}))
            n = from;
        else if (n > from)
            out[n++] = '-';
        from = n;
    }
    return (struct str){out, n > 0 && n == from ? n - 1 : n};
}

/* The segments that say something; all, if none does. */
static struct str
fold_some(struct str name, char out[FOLDED])
{
    struct str some = fold(name, true, out);

    return some.len > 0 ? some : fold(name, false, out);
}

/* Whether the segments of word, both folded, begin those of name. */
static bool
begins(struct str word, struct str name)
{
    return word.len > 0 && str_begins(name, word) &&
           (word.len == name.len || name.p[word.len] == '-');
}

/* ---- products ---- */

struct str
name_product(struct arena *a, struct str client)
{
    char name[FOLDED];

    return arena_str(a, fold(client, false, name));
}

bool
name_says_product(struct str product)
{
    static const char *const vague[] = {
        "", "mcp", "client", "mcp-client", "example-client", "test", "agent",
        "unknown",
    };

    for (size_t i = 0; i < sizeof vague / sizeof *vague; i++)
        if (str_is(product, vague[i]))
            return false;
    return product.len <= PRODUCT_MAX;
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
    char w[FOLDED], p[FOLDED];

    return begins(fold(word, false, w), fold(product, false, p));
}

bool
name_is_product(struct str name, struct str product)
{
    return name_covers(name, product) && name_covers(product, name);
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

/* ---- addresses ---- */

/* What people call some clients, where it is nowhere in the name under which
   these greet a server. */
static struct str
unalias(struct str word)
{
    static const struct str aliases[][2] = {
        {STR("droid"), STR("factory")},
        {STR("vscode"), STR("visual-studio-code")},
        {STR("vs-code"), STR("visual-studio-code")},
        {STR("claude-desktop"), STR("claude-ai")},
        {STR("intellij"), STR("jetbrains-iu")},
        {STR("ampcode"), STR("amp")},
        {STR("q-developer"), STR("q-dev")},
    };

    for (size_t i = 0; i < sizeof aliases / sizeof *aliases; i++)
        if (str_eq(word, aliases[i][0]))
            return aliases[i][1];
    return word;
}

bool
name_reaches(struct str word, const struct name_agent *agent)
{
    char w[FOLDED], p[FOLDED];
    struct str some, product;

    if (word.len == 0)
        return false;
    if (str_eq(word, agent->name) || str_eq(word, name_stem(agent->name)))
        return true;
    if (agent->product.len == 0 || name_stem(word).len > 0)
        return false;
    some = fold_some(word, w);
    product = fold_some(agent->product, p);
    return begins(some, product) || begins(unalias(some), product);
}

struct name_agent
name_agent_of(struct str name)
{
    return (struct name_agent){.name = name, .product = name_stem(name)};
}
