/* scan - finds the id of a message that cannot be parsed, or is too long.

   A client whose call is refused without its id waits for the answer for ever.
   So a text that is not JSON, or is too long to keep, is searched once, byte by
   byte and in any pieces, for a whole member id on the top level. It does not
   guess: an array has no id of its own, and an id that is cut off or too long
   does not count.

   1. While an object of depth 1 is open, text holds the name or value there,
      without blanks around it; a nested value counts as its bracket.
   2. The first id ends the search. */

#include "mcp/scan.h"
#include "mcp/wire.h"

#include <string.h>

/* Invariant 1. A byte that does not fit makes the part too long. */
static void
keep_byte(struct mcp_scan *s, char c)
{
    if (s->len < sizeof(s->text))
        s->text[s->len] = c;
    s->len += s->len <= sizeof(s->text);
}

/* A name, a value or the object ends. */
static void
end_part(struct mcp_scan *s, char c)
{
    s->done = s->wanted;
    if (s->done)
        return;
    s->wanted = c == ':' && s->len == 4 && memcmp(s->text, "\"id\"", 4) == 0;
    s->len = 0;
}

static void
scan_byte(struct mcp_scan *s, char c)
{
    bool top = s->depth == 1, quote = c == '"' && !s->escaped;

    if (s->quoted || quote) {
        if (top)
            keep_byte(s, c);
        s->escaped = s->quoted && !s->escaped && c == '\\';
        s->quoted ^= quote;
    } else if (s->depth == 0) {
        s->done = c == '[';
        s->depth = c == '{';
    } else if (top && (c == ':' || c == ',' || c == '}')) {
        end_part(s, c);
        s->depth -= c == '}';
    } else {
        if (top && c != ' ' && c != '\t' && c != '\r' && c != '\n')
            keep_byte(s, c);
        s->depth += c == '{' || c == '[';
        s->depth -= c == '}' || c == ']';
    }
}

void
mcp_scan(struct mcp_scan *s, struct str piece)
{
    for (size_t i = 0; i < piece.len && !s->done; i++)
        scan_byte(s, piece.p[i]);
}

int
mcp_scan_id(const struct mcp_scan *s, struct arena *a, struct str *id)
{
    struct str text = {s->text, s->len};
    const struct json_tok *t;
    int err;

    if (!s->wanted || !s->done || s->len > sizeof(s->text))
        return 0;
    text = arena_str(a, text);
    err = text.p != NULL ? json_parse(a, text, &t, NULL) : ERR_NOMEM;
    if (err == 0 && mcp_is_id(t))
        *id = json_raw(t);
    return err == ERR_NOMEM ? err : 0;
}
