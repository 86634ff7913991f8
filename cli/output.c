/* output - what is kept of a command and of its output. */

#include "cli/output.h"
#include "cli/text.h"
#include "base/utf8.h"
#include "task/artifact.h"
#include "task/view.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PENDING_MAX (64 * 1024) /* then no more is read from the command */
#define HEAD (ARTIFACT_MAX / 2)
#define TAIL (ARTIFACT_MAX / 2 - 128) /* a line goes between the two */

int
output_new(struct output *o)
{
    o->n = 0;
    o->kept = malloc(HEAD + TAIL);
    return o->kept != NULL ? 0 : ERR_NOMEM;
}

/* Where byte i is kept. */
static char *
at(const struct output *o, uint64_t i)
{
    return o->kept + (i < HEAD ? i : HEAD + (i - HEAD) % TAIL);
}

/* Reads output that has come. Returns whether there was any. */
static bool
take_output(struct output *o)
{
    char chunk[4096];
    ssize_t n = o->in < 0 ? 0 : read(o->in, chunk, sizeof(chunk));

    if (n == 0 && o->in >= 0) {
        close(o->in);
        o->in = -1;
    }
    for (ssize_t i = 0; i < n; i++)
        *at(o, o->n++) = chunk[i];
    if (n > 0 && o->out >= 0)
        buf_put(&o->pending, chunk, (size_t)n);
    return n > 0;
}

bool
output_wait(struct output *o, int timeout_ms)
{
    struct pollfd at[2] = {
        {o->pending.len < PENDING_MAX ? o->in : -1, POLLIN, 0},
        {o->pending.len > 0 ? o->out : -1, POLLOUT, 0}};
    ssize_t n;

    if (poll(at, 2, timeout_ms) <= 0)
        return true;
    if (at[0].revents != 0)
        take_output(o);
    if (at[1].revents == 0)
        return true;
    n = write(o->out, o->pending.p, o->pending.len);
    if (n > 0)
        buf_consume(&o->pending, (size_t)n);
    return n >= 0 || errno == EAGAIN || errno == EINTR;
}

void
output_take_rest(struct output *o)
{
    for (int i = 0; i < ARTIFACT_MAX / 4096 && take_output(o); i++)
        continue;
}

void
output_leave(struct output *o)
{
    if (o->out >= 0)
        close(o->out);
    o->out = -1;
    buf_fini(&o->pending);
}

void
output_end(struct output *o)
{
    if (o->out >= 0 && fcntl(o->out, F_SETFL, 0) == 0)
        cli_say(o->out, &o->pending);
    buf_fini(&o->pending);
    free(o->kept);
}

struct str
output_line(const struct output *o, struct arena *a, size_t max)
{
    uint64_t oldest = o->n > HEAD + TAIL ? o->n - TAIL : 0, end = o->n, from;
    struct buf b = {0};

    while (end > oldest && (uint8_t)*at(o, end - 1) <= ' ')
        end--;
    for (from = end; from > oldest && end - from < max; from--)
        if (*at(o, from - 1) == '\n' || *at(o, from - 1) == '\r')
            break;
    for (; from < end; from++)
        buf_char(&b, *at(o, from));
    return buf_take(&b, a);
}

struct str
output_lines(const struct output *o, struct arena *a, size_t max)
{
    uint64_t oldest = o->n > HEAD + TAIL ? o->n - TAIL : 0;
    uint64_t from = o->n - oldest > max ? o->n - max : oldest;
    struct buf raw = {0}, b = {0};
    struct str rest;

    for (uint64_t i = from; i < o->n; i++)
        buf_char(&raw, *at(o, i));
    rest = str_trim(buf_view(&raw));
    if (from > 0 && str_find(rest, STR("\n")) < rest.len)
        str_cut(&rest, '\n');
    while (rest.len > 0) {
        view_plain(&b, str_cut(&rest, '\n'), SIZE_MAX, ' ');
        if (rest.p != NULL)
            buf_char(&b, '\n');
    }
    b.err = b.err != 0 ? b.err : raw.err;
    buf_fini(&raw);
    return buf_take(&b, a);
}

const char *
output_plain(struct arena *a, struct str s, size_t max)
{
    struct buf b = {0};

    view_plain(&b, utf8_cut(s, max), SIZE_MAX, '?');
    b.len = utf8_cut(buf_view(&b), max).len; /* <U+202E> is longer */
    return buf_take(&b, a).p;
}

struct str
output_log(const struct output *o, struct arena *a)
{
    uint64_t from = HEAD, to = o->n - TAIL;
    struct buf b = {0};

    if (o->n <= HEAD + TAIL)
        return (struct str){o->kept, (size_t)o->n};
    while (from > HEAD - 3 && (uint8_t)*at(o, from - 1) >= 0x80)
        from--;
    while (to < o->n - TAIL + 3 && (uint8_t)*at(o, to) >> 6 == 2)
        to++;
    buf_reserve(&b, ARTIFACT_MAX);
    buf_put(&b, o->kept, (size_t)from);
    buf_printf(&b, "\n... %llu bytes left out ...\n",
               (unsigned long long)(to - from));
    while (to < o->n)
        buf_char(&b, *at(o, to++));
    return buf_take(&b, a);
}

/* ---- words ---- */

#define HIDDEN "***"

static bool
is_name_char(char c)
{
    return (c >= '0' && c <= '9') || c == '-' || c == '_' || c == '.' ||
           (text_lower(c) >= 'a' && text_lower(c) <= 'z');
}

/* Whether what has this name may be a secret. */
static bool
names_secret(struct str name)
{
    static const char *const words[] = {"pass", "secret", "token", "key",
                                        "authorization"};
    char lower[64];
    size_t n = 0;

    /* Of a longer name its end counts: DATABASE_..._PASSWORD. */
    if (name.len >= sizeof(lower))
        name = str_from(name, name.len - sizeof(lower) + 1);
    for (; n < name.len; n++)
        lower[n] = text_lower(name.p[n]);
    lower[n] = '\0';
    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
        if (strstr(lower, words[i]) != NULL)
            return true;
    return false;
}

/* Where the value begins whose name ends at `at`; 0: none follows. A shell's
   script is one word, so an option and its value may be in it. */
static size_t
value_at(struct str word, size_t at, bool option)
{
    struct str rest;
    size_t sign;

    if (at < word.len && word.p[at] == '\\')
        at++; /* of JSON in a script */
    if (at < word.len && (word.p[at] == '"' || word.p[at] == '\''))
        at++; /* of JSON */
    for (sign = at; sign < word.len && (uint8_t)word.p[sign] <= ' '; )
        sign++;
    if (sign < word.len && word.p[sign] == '=')
        return sign + 1;
    if (at == word.len)
        return 0;
    if (option && sign > at)
        return at + 1;
    if (sign == word.len || word.p[sign] != ':')
        return 0;
    rest = str_from(word, sign + 1);
    if (str_starts(rest, ":"))
        return 0; /* file::test */
    return sign + 1 + str_starts(rest, "=");
}

/* Where the secret in a word begins, which takes the rest of it; its length:
   nowhere. *next: the next word is one. */
static size_t
secret_at(struct str word, bool *next)
{
    size_t at = 0, from, value;

    while (at < word.len) {
        from = at;
        while (at < word.len && is_name_char(word.p[at]))
            at++;
        if (names_secret((struct str){word.p + from, at - from})) {
            bool option = word.p[from] == '-';

            value = value_at(word, at, option);
            *next = value == word.len ||
                    (value == 0 && option && from == 0 && at == word.len);
            if (value != 0)
                return value;
        }
        if (at == from)
            at++;
    }
    return at;
}

/* The length of "user:password" before the host of a URL. */
static size_t
user_len(struct str s)
{
    size_t n = 0, user = 0;

    for (; n < s.len && (uint8_t)s.p[n] > ' '; n++) {
        if (strchr("/?#\"'", s.p[n]) != NULL)
            break;
        if (s.p[n] == '@')
            user = n;
    }
    return user;
}

const char *
output_words(struct arena *a, char *const *argv, size_t max)
{
    struct buf b = {0};
    bool hidden, next = false; /* the whole of this word, and of the next */
    struct str words;

    for (size_t i = 0; argv[i] != NULL; i++) {
        struct str word = str_of(argv[i]), shown = word;
        size_t n;

        if (i > 0)
            buf_char(&b, ' ');
        hidden = next;
        next = false;
        shown.len = secret_at(word, &next);
        if (hidden) {
            buf_z(&b, HIDDEN);
            continue;
        }
        hidden = shown.len < word.len; /* the rest of it */
        while ((n = str_find(shown, STR("://"))) != SIZE_MAX) {
            buf_put(&b, shown.p, n + 3);
            shown = str_from(shown, n + 3);
            n = user_len(shown);
            if (n > 0)
                buf_z(&b, HIDDEN);
            shown = str_from(shown, n);
        }
        buf_str(&b, shown);
        if (hidden)
            buf_z(&b, HIDDEN);
    }
    words = buf_take(&b, a);
    return words.p != NULL ? output_plain(a, words, max) : NULL;
}
