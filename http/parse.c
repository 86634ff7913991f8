/* parse - HTTP/1.1 requests and answers from bytes, strictly.

   Requests are smuggled past a proxy when two parsers disagree on where a
   request ends. So this one refuses everything that RFC 9112 lets a recipient
   repair: line folding, bare LF and CR, blanks before a colon, a second Host or
   Content-Length, lists of codings, chunk sizes with a sign or 0x. It accepts
   targets in origin-form, in absolute-form with http, and "*" for OPTIONS. It
   decodes no escapes.

   1. Each byte of a head is read once as it arrives (scan_head finds line ends
      and checks that it is text), and a bounded number of times again when the
      head is complete. Between calls only offsets are kept, as p may move.
   2. The result depends on the first wrong byte or on the whole head, never on
      how many bytes follow. So it is the same however the input is split.
   3. After scan_head, each line of a head ends with CRLF and has no control
      character except HTAB.
   4. A chunked body is parsed byte by byte, except for its data; c->total <=
      HTTP_MAX_BODY and c->left <= HTTP_MAX_BODY - c->total always, so no size
      wraps. */

#include "http/parse.h"
#include "base/text.h"
#include "base/word.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>

#define MAX_SKIP 4     /* bytes: two empty lines before a request line */
#define MAX_EXTRA 1024 /* bytes of a body's extensions and trailers */
#define MAX_DIGITS 16  /* of a chunk size, leading zeros included */

/* ---- text ---- */

static bool
is_text(char c)
{
    return ((uint8_t)c >= ' ' && c != 0x7f) || c == '\t';
}

static bool
is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* Returns whether c is a letter, a digit or in others. */
static bool
is_word(char c, const char *others)
{
    return isalnum((uint8_t)c) ||
           (c != '\0' && strchr(others, c) != NULL);
}

/* Returns how many leading characters of s form a token. */
static size_t
token_len(struct str s)
{
    /* A bit per character: letters, digits and !#$%&'*+-.^_`|~ */
    static const uint32_t bits[8] = {0, 0x03ff6cfa, 0xc7fffffe, 0x57ffffff};
    size_t i;

    for (i = 0; i < s.len; i++)
        if ((bits[(uint8_t)s.p[i] / 32] >> (uint8_t)s.p[i] % 32 & 1) == 0)
            break;
    return i;
}

static bool
is_tchar(char c)
{
    return token_len((struct str){&c, 1}) == 1;
}

/* Returns whether s is not empty and of() holds for all its characters. */
static bool
is_made_of(struct str s, bool (*of)(char c))
{
    size_t i;

    for (i = 0; i < s.len && of(s.p[i]); i++)
        ;
    return i == s.len && i > 0;
}

static bool
is_any_case(struct str s, const char *z)
{
    return s.len == strlen(z) && strncasecmp(s.p, z, s.len) == 0;
}

/* Returns the index of the next field, from i on, with this lower-case name;
   h->n or more if there is no further one. */
static size_t
find_field(const struct http_head *h, const char *name, size_t i)
{
    /* Most fields fail this test of the first letter. */
    while (i < h->n && (((*h->field[i].name.p ^ *name) & 0x1f) != 0 ||
                        !is_any_case(h->field[i].name, name)))
        i++;
    return i;
}

/* ---- the head; functions return 0 or the status to answer ---- */

/* Returns where the text from i on ends. Skips eight bytes at a time while they
   contain neither control characters nor DEL. */
static size_t
text_end(const char *p, size_t i, size_t end)
{
    uint64_t w;

    for (; end - i >= sizeof(w); i += sizeof(w)) {
        w = load64(p + i);
        if (((w - ONES * ' ') & ~w & ONES * 0x80) != 0 || has_byte(w, 0x7f))
            break;
    }
    while (i < end && is_text(p[i]))
        i++;
    return i;
}

/* Returns the length of the head, 0 if it is incomplete, or a negated status.
   HTTP_MAX_HEAD bytes without an end are refused. */
static int
scan_head(struct http_scan *s, const char *p, size_t len)
{
    size_t i, end = len < HTTP_MAX_HEAD ? len : HTTP_MAX_HEAD;

    for (i = s->seen; i < end; i++) {
        bool cr = i > 0 && p[i - 1] == '\r';

        i = cr ? i : text_end(p, i, end);
        if (i == end)
            break;
        if (p[i] != (cr ? '\n' : '\r'))
            return -400;
        if (!cr)
            continue;
        if (i - s->line > 1) {
            s->line = i + 1;
            continue;
        }
        if (s->line > s->first)
            return (int)i + 1;
        if (s->first == MAX_SKIP)
            return -400;
        s->first = s->line = i + 1;
    }
    s->seen = i;
    if (i < HTTP_MAX_HEAD)
        return 0;
    return s->line == s->first ? -414 : -431;
}

/* host[:[port]]: a name, an IPv4 address or an IP literal. The handler judges
   whether it names this server. */
static bool
is_host(struct str s)
{
    bool literal = s.len > 0 && *s.p == '[';
    size_t i = literal, from = i;
    uint64_t port;

    while (i < s.len && is_word(s.p[i], literal ? ":." : "-._~"))
        i++;
    if (i == from || (literal && (i == s.len || s.p[i++] != ']')))
        return false;
    return i == s.len ||
           (s.p[i] == ':' && s.len - i <= sizeof "65535" &&
            (i + 1 == s.len ||
             (str_u64((struct str){s.p + i + 1, s.len - i - 1}, &port) &&
              port <= UINT16_MAX)));
}

static int
parse_target(struct http_head *h, struct str t)
{
    size_t i;

    if (t.len > HTTP_MAX_TARGET)
        return 414;
    for (i = 0; i < t.len; i++)
        if ((uint8_t)t.p[i] <= ' ' || (uint8_t)t.p[i] >= 0x7f ||
            strchr("\"#<>", t.p[i]) != NULL)
            return 400;
    if (t.len > 7 && strncasecmp(t.p, "http://", 7) == 0) {
        for (i = 7; i < t.len && t.p[i] != '/' && t.p[i] != '?'; i++)
            ;
        h->host = (struct str){t.p + 7, i - 7};
        if (!is_host(h->host))
            return 400;
        t = str_from(t, i);
    }
    h->path = str_cut(&t, '?');
    h->query = t;
    if (h->path.len == 0 && h->host.p != NULL)
        h->path = (struct str){h->host.p - 1, 1}; /* the slash before the
                                                     query */
    if (str_is(h->path, "*") && h->query.p == NULL)
        return str_is(h->method, "OPTIONS") ? 0 : 400;
    return str_starts(h->path, "/") ? 0 : 400;
}

static int
parse_request_line(struct http_head *h, struct str line)
{
    struct str target;

    h->method = str_cut(&line, ' ');
    target = str_cut(&line, ' ');
    if (h->method.len == 0 || token_len(h->method) != h->method.len ||
        line.len != 8 ||
        !str_starts(line, "HTTP/") || !is_digit(line.p[5]) ||
        line.p[6] != '.' || !is_digit(line.p[7]))
        return 400;
    h->minor = line.p[7] - '0';
    if (line.p[5] != '1' || h->minor > 1)
        return 505;
    return parse_target(h, target);
}

/* A folded line begins with a blank, so its name is invalid. */
static int
parse_field(struct http_head *h, struct str line)
{
    struct str name = {line.p, token_len(line)};

    if (name.len == 0 || name.len == line.len || line.p[name.len] != ':')
        return 400;
    if (h->n == HTTP_MAX_FIELDS)
        return 431;
    line = str_trim(str_from(line, name.len + 1));
    h->field[h->n++] = (struct http_field){name, line};
    return 0;
}

/* A head must state the length of its body once and unambiguously. */
static int
check_framing(struct http_head *h)
{
    bool again = false, twice = false;
    struct str coding = http_field_once(h, "transfer-encoding", &again);
    struct str length = http_field_once(h, "content-length", &twice);
    uint64_t v;

    if (twice ||
        (coding.p != NULL && (length.p != NULL || h->minor == 0)))
        return 400;
    h->chunked = coding.p != NULL;
    if (h->chunked && (again || !is_any_case(coding, "chunked")))
        return 501;
    if (length.p == NULL)
        return 0;
    if (!is_made_of(length, is_digit))
        return 400;
    if (!str_u64(length, &v) || v > HTTP_MAX_BODY)
        return 413;
    h->content_length = (size_t)v;
    return 0;
}

/* Returns whether a token list, over all fields of that name, has this
   token. */
static bool
list_has_token(const struct http_head *h, const char *name, const char *token)
{
    struct str list;

    for (size_t i = find_field(h, name, 0); i < h->n;
         i = find_field(h, name, i + 1)) {
        list = h->field[i].value;
        while (list.p != NULL)
            if (is_any_case(str_trim(str_cut(&list, ',')), token))
                return true;
    }
    return false;
}

static int
check_fields(struct http_head *h)
{
    bool again = false, twice = false;
    struct str host = http_field_once(h, "host", &twice);
    struct str expect = http_field_once(h, "expect", &again);
    int status;

    if (twice ||
        ((host.p != NULL || h->minor > 0) && !is_host(host)))
        return 400;
    if (h->host.p == NULL) /* else the target had one, which wins: RFC 9112,
                              3.2.2 */
        h->host = host;
    status = check_framing(h);
    if (status != 0)
        return status;
    /* HTTP/1.0 has no expectations: RFC 9110, 10.1.1. */
    h->expect = expect.p != NULL && h->minor > 0;
    if (h->expect && (again || !is_any_case(expect, "100-continue")))
        return 417;
    return 0;
}

/* HTTP/1.1 200 OK; the text may be missing. */
static int
parse_status_line(struct http_head *h, struct str line)
{
    uint64_t code;

    if (line.len < 12 || !str_starts(line, "HTTP/1.") || line.p[8] != ' ' ||
        !str_u64((struct str){line.p + 9, 3}, &code) || code < 100 ||
        (line.len > 12 && line.p[12] != ' '))
        return 400;
    h->minor = line.p[7] - '0';
    h->status = (int)code;
    return h->minor == 0 || h->minor == 1 ? 0 : 505;
}

static void
note_keep_alive(struct http_head *h)
{
    h->keep_alive = !list_has_token(h, "connection", "close") &&
                    (h->minor > 0 ||
                     list_has_token(h, "connection", "keep-alive"));
}

/* Parses the n bytes at p that scan_head found. */
static int
parse_lines(struct http_head *h, const char *p, size_t n,
            int (*parse_first)(struct http_head *h, struct str line))
{
    struct str rest = {p, n}, line;
    int status;

    memset(h, 0, offsetof(struct http_head, field));
    status = parse_first(h, str_cut(&rest, '\r'));
    while (status == 0) {
        rest = str_from(rest, 1); /* the LF */
        line = str_cut(&rest, '\r');
        if (line.len == 0)
            break;
        status = parse_field(h, line);
    }
    note_keep_alive(h);
    return status;
}

int
http_parse_head(struct http_scan *s, const char *p, size_t len,
                struct http_head *out, int *status)
{
    int n = scan_head(s, p, len);

    if (n == 0)
        return ERR_INCOMPLETE;
    *status = -n;
    if (n < 0)
        return ERR_SYNTAX;
    *status = parse_lines(out, p + s->first, (size_t)n - s->first,
                          parse_request_line);
    if (*status == 0)
        *status = check_fields(out);
    if (*status != 0)
        return ERR_SYNTAX;
    *s = (struct http_scan){0};
    return n;
}

int
http_parse_answer(struct http_scan *s, const char *p, size_t len,
                  struct http_head *out)
{
    int n = scan_head(s, p, len);

    if (n == 0)
        return ERR_INCOMPLETE;
    if (n < 0 || parse_lines(out, p + s->first, (size_t)n - s->first,
                             parse_status_line) != 0 ||
        check_framing(out) != 0)
        return ERR_SYNTAX;
    *s = (struct http_scan){0};
    return n;
}

/* ---- chunks ---- */

enum { SIZE, EXTENSION, SIZE_LF, DATA, DATA_CR, DATA_LF,
       LINE, NAME, VALUE, LINE_LF, LAST_LF, DONE };

/* Each state has bytes that may occur in it, and one that ends it. */
static const struct {
    char end;
    uint8_t next;
    bool (*inside)(char c);
} states[] = {
    [SIZE] = {'\r', SIZE_LF, NULL},
    [EXTENSION] = {'\r', SIZE_LF, is_text},
    [SIZE_LF] = {'\n', DATA, NULL},
    [DATA_CR] = {'\r', DATA_LF, NULL},
    [DATA_LF] = {'\n', SIZE, NULL},
    [LINE] = {'\r', LAST_LF, is_tchar},
    [NAME] = {':', VALUE, is_tchar},
    [VALUE] = {'\r', LINE_LF, is_text},
    [LINE_LF] = {'\n', LINE, NULL},
    [LAST_LF] = {'\n', DONE, NULL},
};

/* Adds a digit to a chunk's size; refuses one that could make it wrap. */
static int
take_digit(struct http_chunks *c, char b)
{
    c->left = c->left * 16 + (uint64_t)text_hex_digit(b);
    if (c->left > HTTP_MAX_BODY - c->total)
        return ERR_TOO_LARGE;
    return ++c->digits > MAX_DIGITS ? ERR_SYNTAX : 0;
}

/* Parses one byte outside a chunk's data. */
static int
take_byte(struct http_chunks *c, char b)
{
    int state = c->state;

    if (state == SIZE) {
        if (text_hex_digit(text_lower(b)) >= 0)
            return take_digit(c, text_lower(b));
        if (c->digits == 0)
            return ERR_SYNTAX;
        c->digits = 0;
        if (b == ';') {
            c->state = EXTENSION;
            return 0;
        }
    } else if ((state == EXTENSION || state >= LINE) &&
               ++c->extra > MAX_EXTRA) {
        return ERR_SYNTAX;
    }
    if (b == states[state].end) {
        c->state = state == SIZE_LF && c->left == 0 ? LINE
                                                    : states[state].next;
    } else {
        if (states[state].inside == NULL || !states[state].inside(b))
            return ERR_SYNTAX;
        if (state == LINE)
            c->state = NAME;
    }
    return 0;
}

int
http_parse_chunks(struct http_chunks *c, char *p, size_t len, size_t *data,
                  bool *done)
{
    size_t i = 0, n;
    int rc = 0;

    *data = 0;
    while (i < len && c->state != DONE && rc >= 0) {
        if (c->state != DATA) {
            rc = take_byte(c, p[i++]);
            continue;
        }
        n = len - i < c->left ? len - i : (size_t)c->left;
        memmove(p + *data, p + i, n);
        i += n;
        *data += n;
        c->total += n;
        c->left -= n;
        if (c->left == 0)
            c->state = DATA_CR;
    }
    *done = c->state == DONE;
    return rc < 0 ? rc : (int)i;
}

/* ---- reading a head ---- */

struct str
http_field_of(const struct http_head *h, const char *name)
{
    size_t i = find_field(h, name, 0);

    return i < h->n ? h->field[i].value : STR_NONE;
}

struct str
http_field_once(const struct http_head *h, const char *name, bool *twice)
{
    size_t i = find_field(h, name, 0);

    *twice |= find_field(h, name, i + 1) < h->n;
    return i < h->n ? h->field[i].value : STR_NONE;
}

struct str
http_query_of(const struct http_head *h, const char *name)
{
    struct str rest = h->query, value, found;

    while (rest.p != NULL) {
        value = str_cut(&rest, '&');
        found = str_cut(&value, '=');
        if (str_is(found, name))
            return value.p != NULL ? value
                                   : (struct str){found.p + found.len, 0};
    }
    return STR_NONE;
}

bool
http_is_type(struct str value, const char *type)
{
    return is_any_case(str_trim(str_cut(&value, ';')), type);
}

/* How well a media range matches the type: 0 not at all, 3 exactly. */
static int
range_closeness(struct str range, const char *type)
{
    size_t n = range.len > 0 ? range.len - 1 : 0;

    if (is_any_case(range, type))
        return 3;
    if (str_is(range, "*/*"))
        return 1;
    return n > 0 && range.p[n] == '*' &&
           strncasecmp(range.p, type, n) == 0 && type[n - 1] == '/' ? 2 : 0;
}

/* Returns whether the parameters of a media range include q=0. */
static bool
is_refused(struct str params)
{
    struct str one;
    size_t i;

    while (params.p != NULL) {
        one = str_trim(str_cut(&params, ';'));
        if (one.len < 3 || strncasecmp(one.p, "q=", 2) != 0)
            continue;
        for (i = 2; i < one.len && (one.p[i] == '0' || one.p[i] == '.'); i++)
            ;
        return i == one.len;
    }
    return false;
}

/* Returns whether the best-matching media range in these fields is acceptable;
   any if there is no such field. */
static bool
field_accepts(const struct http_head *h, const char *field, const char *type,
              bool any)
{
    int close, best = 0;
    bool ok = false;
    struct str list, range, params;

    for (size_t i = find_field(h, field, 0); i < h->n;
         i = find_field(h, field, i + 1)) {
        any = false;
        list = h->field[i].value;
        while (list.p != NULL) {
            params = str_cut(&list, ',');
            range = str_trim(str_cut(&params, ';'));
            close = range_closeness(range, type);
            if (close > 0 && close >= best) {
                ok = !is_refused(params) || (close == best && ok);
                best = close;
            }
        }
    }
    return ok || any;
}

bool
http_accepts(const struct http_head *h, const char *type)
{
    return field_accepts(h, "accept", type, true);
}

bool
http_accepts_coding(const struct http_head *h, const char *coding)
{
    return field_accepts(h, "accept-encoding", coding, false);
}
