/* json - a strict, iterative parser of RFC 8259.

   The parser refuses everything outside the grammar: a byte order mark,
   comments, trailing commas, bytes after the value, control characters in
   strings and invalid UTF-8. It converts only escaped lone surrogates, to
   JSON_LONE. Numbers stay text, and a string is copied only when a caller reads
   one with escapes.

   Invariants:
   1. No recursion. The open containers' tokens form a chain: while a container
      is open, its span holds the index of its parent. JSON_MAX_DEPTH bounds the
      depth, and no input uses stack.
   2. The parser reads no byte at or beyond the end of the text, and each
      byte a bounded number of times.
   3. tok[0 .. n) are complete, except len and span of open containers.
   4. The tokens' text has only valid UTF-8 and whole escapes, so spliced text
      stays valid. Decoding (unescape) relies on neither: json/raw.c makes
      tokens of text that no parser has seen. */

#include "json.h"
#include "base/text.h"
#include "base/utf8.h"
#include "base/word.h"

#include <string.h>

#define NO_TOK UINT32_MAX
#define LONE SIZE_MAX /* an escaped lone surrogate */
#define FIRST_TOKENS 1024 /* upper limit of the first guess */
#define DEEPEST (JSON_MAX_DEPTH + 8) /* of what holds parsed texts: records */
#define INT_DIGITS 19 /* so many decimal digits always fit in 64 bits */

_Static_assert(JSON_MAX_TOKENS < SIZE_MAX / sizeof(struct json_tok) / 2,
               "the size of all tokens does not wrap");

/* ---- runs of ordinary text ---- */

/* Sets the high bit of each byte that is a quote, a backslash, a control
   character or not ASCII. A borrow can only affect bytes after a true hit, so
   the lowest bit set is exact. */
static inline uint64_t
special_bytes(uint64_t w)
{
    uint64_t quote = w ^ ONES * '"', backslash = w ^ ONES * '\\';

    return ((w - ONES * 0x20) | (quote - ONES) | (backslash - ONES) | w) &
           ONES * 0x80;
}

/* Advances to the first special byte, eight at a time; the last seven one by
   one, as loading eight would pass the end (invariant 2). */
static inline const char *
ascii_run(const char *p, const char *end)
{
    uint64_t hit;

    while (end - p >= 8) {
        hit = special_bytes(load64(p));
        if (hit != 0)
            return p + __builtin_ctzll(hit) / 8;
        p += 8;
    }
    while (p < end && (uint8_t)*p >= 0x20 && (uint8_t)*p < 0x80 &&
           *p != '"' && *p != '\\')
        p++;
    return p;
}

/* Advances to the first byte that cannot be in a JSON string as it is. */
static inline const char *
clean_run(const char *p, const char *end)
{
    size_t n;

    for (;;) {
        p = ascii_run(p, end);
        /* Text in other scripts comes in runs too: words are tried again only
           after a run. */
        while (p < end && (uint8_t)*p >= 0x80) {
            n = utf8_len(p, end);
            if (n == 0)
                return p;
            p += n;
        }
        if (p == end || (uint8_t)*p < 0x20 || *p == '"' || *p == '\\')
            return p;
    }
}

/* ---- the parser ---- */

struct parse {
    struct arena *a;
    const char *end;
    struct json_tok *tok;
    uint32_t n;
    uint32_t cap;
    uint32_t open; /* innermost open container, or NO_TOK */
    uint32_t depth, max_depth;
    bool drops;    /* keeps no tokens but those of open containers */
    bool lone;     /* the error is an escaped lone surrogate */
    const char *bad; /* position of the error */
    int err;
};

/* Records an error. Parsing functions return their position, so that it stays
   in a register; NULL means that this was called. */
static const char *
fail_parse(struct parse *s, const char *p, int err)
{
    s->bad = p;
    s->err = err;
    return NULL;
}

/* Compact text has no blanks: usually one comparison suffices. */
static inline const char *
skip_space(const char *p, const char *end)
{
    while (p < end && (uint8_t)*p <= ' ' &&
           (*p == ' ' || *p == '\n' || *p == '\r' || *p == '\t'))
        p++;
    return p;
}

/* Returns p, or NULL. Tokens may move: only indices stay valid across
   add_token. */
static const char *
grow_tokens(struct parse *s, const char *p)
{
    struct json_tok *tok;
    uint32_t cap = s->cap < JSON_MAX_TOKENS / 2 ? s->cap * 2 : JSON_MAX_TOKENS;

    if (s->n == JSON_MAX_TOKENS)
        return fail_parse(s, p, ERR_TOO_LARGE);
    tok = arena_grow(s->a, s->tok, s->n * sizeof(*tok), cap * sizeof(*tok));
    if (tok == NULL)
        return fail_parse(s, p, ERR_NOMEM);
    s->tok = tok;
    s->cap = cap;
    return p;
}

/* Adds a token that starts at p, or returns NULL. For a scalar, only p and len
   remain to be set. */
static inline struct json_tok *
add_token(struct parse *s, const char *p, enum json_type type)
{
    struct json_tok *t;

    if (s->n == s->cap && grow_tokens(s, p) == NULL)
        return NULL;
    t = &s->tok[s->n++];
    t->p = p;
    t->len = t->n = 0;
    t->span = 1;
    t->type = (uint8_t)type;
    t->escaped = false;
    return t;
}

/* The value of the four digits after \u at p, or -1. */
static int32_t
hex4(const char *p, const char *end)
{
    int32_t v = 0;
    int i, digit;

    if (end - p < 6 || p[0] != '\\' || p[1] != 'u')
        return -1;
    for (i = 2; i < 6; i++) {
        digit = text_hex_digit(text_lower(p[i]));
        if (digit < 0)
            return -1;
        v = v * 16 + digit;
    }
    return v;
}

/* The length of the escape at p; 0: not an escape. */
static size_t
escape_len(const char *p, const char *end)
{
    int32_t v;

    if (end - p < 2)
        return 0;
    if (p[1] != 'u')
        return p[1] != '\0' && strchr("\"\\/bfnrt", p[1]) != NULL ? 2 : 0;
    v = hex4(p, end);
    if (v < 0xd800 || v > 0xdfff)
        return v < 0 ? 0 : 6;
    if (v > 0xdbff)
        return LONE;
    v = hex4(p + 6, end);
    return v >= 0xdc00 && v <= 0xdfff ? 12 : LONE;
}

/* Continues in a copy of the text in which escaped lone surrogates are
   JSON_LONE, which has the same length. JavaScript's slice produces such
   surrogates, which UTF-8 cannot encode. In invalid JSON it may also change
   text outside strings, where the parser fails anyway. */
static const char *
replace_lone(struct parse *s, const char *start)
{
    size_t len = (size_t)(s->end - start), n;
    char *copy = arena_alloc(s->a, len), *p = copy;

    if (copy == NULL)
        return fail_parse(s, start, ERR_NOMEM);
    memcpy(copy, start, len);
    s->end = copy + len;
    s->n = s->depth = 0;
    s->open = NO_TOK;
    s->lone = false;
    while ((p = memchr(p, '\\', (size_t)(s->end - p))) != NULL) {
        n = escape_len(p, s->end);
        if (n == LONE)
            memcpy(p, JSON_LONE, n = 6);
        p += n > 0 ? n : 1;
    }
    return copy;
}

/* Parses the string whose opening quote is at p; returns the next byte. */
static const char *
parse_string(struct parse *s, const char *p)
{
    struct json_tok *t = add_token(s, ++p, JSON_STRING);
    size_t n;

    if (t == NULL)
        return NULL;
    for (;;) {
        p = clean_run(p, s->end);
        if (p == s->end)
            return fail_parse(s, p, ERR_SYNTAX);
        if (*p == '"')
            break;
        n = *p == '\\' ? escape_len(p, s->end) : 0;
        s->lone = n == LONE;
        if (n == 0 || s->lone)
            return fail_parse(s, p, ERR_SYNTAX);
        t->escaped = true;
        p += n;
    }
    t->len = (uint32_t)(p - t->p);
    return p + 1;
}

static inline bool
at_digit(const char *p, const char *end)
{
    return p < end && *p >= '0' && *p <= '9';
}

/* Skips one or more digits. */
static const char *
skip_digits(struct parse *s, const char *p)
{
    if (!at_digit(p, s->end))
        return fail_parse(s, p, ERR_SYNTAX);
    while (at_digit(p, s->end))
        p++;
    return p;
}

/* Checks only the form: a conversion could lose part of the number. */
static const char *
parse_number(struct parse *s, const char *p)
{
    struct json_tok *t = add_token(s, p, JSON_NUMBER);

    if (t == NULL)
        return NULL;
    if (*p == '-')
        p++;
    /* A zero ends the integer part: in 01 the rest is trailing garbage, which
       the caller sees. */
    if (p < s->end && *p == '0')
        p++;
    else if ((p = skip_digits(s, p)) == NULL)
        return NULL;
    if (p < s->end && *p == '.' && (p = skip_digits(s, p + 1)) == NULL)
        return NULL;
    if (p < s->end && (*p == 'e' || *p == 'E')) {
        p++;
        if (p < s->end && (*p == '+' || *p == '-'))
            p++;
        if ((p = skip_digits(s, p)) == NULL)
            return NULL;
    }
    t->len = (uint32_t)(p - t->p);
    return p;
}

static const char *
parse_word(struct parse *s, const char *p, struct str word,
           enum json_type type)
{
    struct json_tok *t;

    for (size_t n = 0; n < word.len; n++)
        if (p + n == s->end || p[n] != word.p[n])
            return fail_parse(s, p + n, ERR_SYNTAX);
    t = add_token(s, p, type);
    if (t == NULL)
        return NULL;
    t->len = (uint32_t)word.len;
    return p + word.len;
}

static const char *
open_container(struct parse *s, const char *p)
{
    enum json_type type = *p == '{' ? JSON_OBJECT : JSON_ARRAY;
    struct json_tok *t;

    if (s->depth == s->max_depth)
        return fail_parse(s, p, ERR_TOO_LARGE);
    /* Invariant 1: the chain of open containers is the stack. */
    t = add_token(s, p, type);
    if (t == NULL)
        return NULL;
    s->depth++;
    t->span = s->open;
    s->open = s->n - 1;
    return p + 1;
}

/* Completes the container that ends before p. */
static void
close_container(struct parse *s, const char *p)
{
    struct json_tok *t = &s->tok[s->open];
    uint32_t parent = t->span;

    t->span = s->n - s->open;
    t->len = (uint32_t)(p - t->p);
    s->open = parent;
    s->depth--;
}

/* Parses a member's name and colon; returns the first byte of the value. */
static const char *
parse_name(struct parse *s, const char *p)
{
    if (p == s->end || *p != '"')
        return fail_parse(s, p, ERR_SYNTAX);
    p = parse_string(s, p);
    if (p == NULL)
        return NULL;
    p = skip_space(p, s->end);
    if (p == s->end || *p != ':')
        return fail_parse(s, p, ERR_SYNTAX);
    return skip_space(p + 1, s->end);
}

/* Parses a scalar, or the opening bracket of a container. */
static const char *
parse_value(struct parse *s, const char *p)
{
    if (p == s->end)
        return fail_parse(s, p, ERR_SYNTAX);
    switch (*p) {
    case '"':
        return parse_string(s, p);
    case '{':
    case '[':
        return open_container(s, p);
    case 't':
        return parse_word(s, p, STR("true"), JSON_TRUE);
    case 'f':
        return parse_word(s, p, STR("false"), JSON_FALSE);
    case 'n':
        return parse_word(s, p, STR("null"), JSON_NULL);
    default:
        if (*p == '-' || at_digit(p, s->end))
            return parse_number(s, p);
        return fail_parse(s, p, ERR_SYNTAX);
    }
}

/* Advances from the end of a value, or from the opening bracket of an empty
   container, to the start of the next value: closes containers, skips comma and
   name. At the end of the text s->open is NO_TOK. */
static const char *
parse_between(struct parse *s, const char *p, bool empty)
{
    struct json_tok *t;

    for (; s->open != NO_TOK; empty = false) {
        t = &s->tok[s->open];
        if (s->drops)
            s->n = s->open + 1;
        p = skip_space(p, s->end);
        if (p == s->end)
            return fail_parse(s, p, ERR_SYNTAX);
        if (*p == (t->type == JSON_OBJECT ? '}' : ']')) {
            close_container(s, ++p);
            continue;
        }
        if (!empty) {
            if (*p != ',')
                return fail_parse(s, p, ERR_SYNTAX);
            p = skip_space(p + 1, s->end);
        }
        /* Counted at its start; if it fails, no token is visible. */
        t->n++;
        return t->type == JSON_OBJECT ? parse_name(s, p) : p;
    }
    return p;
}

static const char *
parse_text(struct parse *s, const char *p)
{
    bool opened;

    p = skip_space(p, s->end);
    /* One round per value: parse_between leads from each to the next. */
    do {
        opened = p < s->end && (*p == '{' || *p == '[');
        p = parse_value(s, p);
        if (p != NULL)
            p = parse_between(s, p, opened);
    } while (p != NULL && s->open != NO_TOK);
    if (p == NULL)
        return NULL;
    p = skip_space(p, s->end);
    return p == s->end ? p : fail_parse(s, p, ERR_SYNTAX);
}

int
json_parse(struct arena *a, struct str text, const struct json_tok **root,
           size_t *at)
{
    const char *start = text.len > 0 ? text.p : "", *p;
    /* Most texts do not outgrow this guess: a value with its punctuation rarely
       takes less than eight bytes. */
    size_t guess = text.len / 8 + 8;
    struct parse s = {
        .a = a, .end = start + text.len, .open = NO_TOK,
        .max_depth = JSON_MAX_DEPTH,
        .cap = guess < FIRST_TOKENS ? (uint32_t)guess : FIRST_TOKENS,
    };

    *root = NULL;
    s.tok = arena_alloc(a, s.cap * sizeof(*s.tok));
    if (text.len >= UINT32_MAX) /* token lengths have 32 bits */
        p = fail_parse(&s, start, ERR_TOO_LARGE);
    else
        p = s.tok != NULL ? parse_text(&s, start)
                          : fail_parse(&s, start, ERR_NOMEM);
    if (s.lone && (p = replace_lone(&s, start)) != NULL) {
        s.err = 0;
        p = parse_text(&s, start = p);
    }
    if (p != NULL) /* returns the unused rest of the guess */
        *root = arena_grow(a, s.tok, s.cap * sizeof(*s.tok),
                           s.n * sizeof(*s.tok));
    else if (at != NULL)
        *at = (size_t)(s.bad - start);
    return p != NULL ? 0 : s.err;
}

bool
json_is_valid(struct str text)
{
    struct json_tok tok[2 * DEEPEST + 2]; /* a container and a name each */
    struct parse s = {.tok = tok, .cap = sizeof(tok) / sizeof(tok[0]),
                      .open = NO_TOK, .max_depth = DEEPEST, .drops = true};

    if (text.len == 0)
        return false;
    s.end = text.p + text.len;
    return parse_text(&s, text.p) != NULL;
}

/* ---- reading tokens ---- */

/* c is a code point, not a surrogate (invariant 4). */
static size_t
put_utf8(char *to, uint32_t c)
{
    static const uint8_t lead[] = {0, 0, 0xc0, 0xe0, 0xf0};
    size_t n = 1u + (c >= 0x80) + (c >= 0x800) + (c >= 0x10000), i;

    for (i = n - 1; i > 0; i--, c >>= 6)
        to[i] = (char)(0x80 | (c & 0x3f));
    to[0] = (char)(lead[n] | c);
    return n;
}

/* Decodes the escape at *p, advances *p and returns the number of bytes put; 0:
   it is not whole, or a lone surrogate. */
static size_t
unescape(const char **p, const char *end, char to[4])
{
    static const char from[] = "bfnrt", into[] = "\b\f\n\r\t";
    const char *at = *p, *found;
    size_t len = escape_len(at, end);
    int32_t v, low;

    if (len == 0 || len == LONE)
        return 0;
    *p = at + len;
    if (at[1] != 'u') {
        found = strchr(from, at[1]);
        to[0] = found != NULL ? into[found - from] : at[1];
        return 1;
    }
    v = hex4(at, end);
    if (len == 6)
        return put_utf8(to, (uint32_t)v);
    low = hex4(at + 6, end);
    return put_utf8(to, (uint32_t)(0x10000 + (v - 0xd800) * 0x400 +
                                   (low - 0xdc00)));
}

struct str
json_str(struct arena *a, const struct json_tok *t)
{
    const char *p, *end, *run;
    char *text, *to;
    size_t n;

    if (t == NULL || t->type != JSON_STRING)
        return STR_NONE;
    if (!t->escaped)
        return (struct str){t->p, t->len};
    text = to = arena_alloc(a, t->len);
    if (text == NULL)
        return STR_NONE;
    end = t->p + t->len;
    /* A decoded escape is never longer than its source, so the source length is
       enough room. Runs between escapes are copied whole. */
    for (p = t->p; p < end; to += n) {
        run = memchr(p, '\\', (size_t)(end - p));
        run = run != NULL ? run : end;
        memcpy(to, p, (size_t)(run - p));
        to += run - p;
        p = run;
        if (p == end)
            break;
        n = unescape(&p, end, to);
        if (n == 0)
            return STR_NONE;
    }
    /* Shrinking never moves the block and never fails. */
    arena_grow(a, text, t->len, (size_t)(to - text));
    return (struct str){text, (size_t)(to - text)};
}

/* Returns whether the string t equals z, without decoding into memory. */
static bool
string_equals(const struct json_tok *t, const char *z, size_t len)
{
    const char *p = t->p, *end = p + t->len;
    char piece[4];
    size_t n;

    if (!t->escaped)
        return str_eq((struct str){p, t->len}, (struct str){z, len});
    while (p < end) {
        if (*p == '\\') {
            n = unescape(&p, end, piece);
        } else {
            piece[0] = *p++;
            n = 1;
        }
        if (n == 0 || len < n || memcmp(piece, z, n) != 0)
            return false;
        z += n;
        len -= n;
    }
    return len == 0;
}

const struct json_tok *
json_get(const struct json_tok *t, const char *name)
{
    const struct json_tok *found = NULL, *member;
    size_t len;

    if (t == NULL || t->type != JSON_OBJECT)
        return NULL;
    len = strlen(name);
    member = t + 1;
    for (uint32_t i = 0; i < t->n; i++) {
        if ((member->len == len || member->escaped) &&
            string_equals(member, name, len))
            found = member + 1;
        member += 1 + member[1].span; /* skips name and value */
    }
    return found;
}

bool
json_is(const struct json_tok *t, const char *z)
{
    return json_is_str(t, str_of(z));
}

bool
json_is_str(const struct json_tok *t, struct str s)
{
    return t != NULL && t->type == JSON_STRING && string_equals(t, s.p, s.len);
}

/* Parses the exponent at p, clamped: beyond the bound no text has enough digits
   to compensate. */
static int64_t
read_exponent(const char *p, const char *end)
{
    const int64_t bound = INT64_C(1) << 40;
    bool minus = *p == '-';
    int64_t v = 0;

    if (*p == '-' || *p == '+')
        p++;
    for (; p < end && v < bound; p++)
        v = v * 10 + (*p - '0');
    return minus ? -v : v;
}

/* Reads a number as v * 10^exp, with v free of leading and trailing zeros.
   False: v has more digits than an int64_t. */
static bool
read_decimal(const char *p, const char *end, uint64_t *v, int64_t *exp)
{
    int64_t zeros = 0, used = 0, behind = 0;
    bool point = false;

    *v = 0;
    for (; p < end && *p != 'e' && *p != 'E'; p++) {
        if (*p == '.') {
            point = true;
            continue;
        }
        behind += point;
        /* zeros count only if another digit follows */
        zeros += *v != 0 || *p != '0';
        if (*p == '0')
            continue;
        used += zeros;
        if (used > INT_DIGITS)
            return false;
        for (; zeros > 0; zeros--)
            *v *= 10;
        *v += (uint64_t)(*p - '0');
    }
    *exp = zeros - behind;
    if (p < end)
        *exp += read_exponent(p + 1, end);
    return true;
}

bool
json_int(const struct json_tok *t, int64_t *out)
{
    const char *p;
    uint64_t v, limit = INT64_MAX;
    int64_t exp;
    bool minus;

    if (t == NULL || t->type != JSON_NUMBER)
        return false;
    p = t->p;
    minus = *p == '-';
    limit += minus; /* the smallest value has no positive counterpart */
    if (!read_decimal(p + minus, t->p + t->len, &v, &exp))
        return false;
    if (v == 0)
        exp = 0; /* zero is integral with any exponent */
    if (exp < 0 || exp > INT_DIGITS)
        return false;
    for (; exp > 0; exp--) {
        if (v > limit / 10)
            return false;
        v *= 10;
    }
    if (v > limit)
        return false;
    /* -(v - 1) - 1, since -v overflows for the smallest value */
    *out = minus && v > 0 ? -(int64_t)(v - 1) - 1 : (int64_t)v;
    return true;
}

struct str
json_raw(const struct json_tok *t)
{
    if (t == NULL)
        return STR_NONE;
    if (t->type == JSON_STRING)
        return (struct str){t->p - 1, (size_t)t->len + 2};
    return (struct str){t->p, t->len};
}
