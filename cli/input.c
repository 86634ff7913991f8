/* input - a file or a pipe, cut into pieces.

   The input may be anything, of any length: memory holds one piece of it, and
   no more of JSON is understood than finding the end of a piece takes.

   1. A broken record costs itself. Where a value goes on over lines and is
      never whole, the next line that begins with a brace begins the next
      record, and from there on each line is one.
   2. Each byte is read a bounded number of times. */

#include "cli/input.h"
#include "base/err.h"
#include "base/utf8.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#define REREAD_MAX ((size_t)8 * INPUT_MAX)
#define LIST_BEGINS 2

/* ---- bytes ---- */

/* Returns the next byte; -1 at the end, or on an error, then in in->err. */
static int
peek(struct input *in)
{
    ssize_t n;

    if (in->again_at < in->again.len)
        return (uint8_t)in->again.p[in->again_at];
    if (in->at == in->n && in->err == 0) {
        while ((n = read(in->fd, in->chunk, INPUT_CHUNK)) < 0 &&
               errno == EINTR)
            continue;
        in->err = n < 0 ? errno : 0;
        in->at = 0;
        in->n = n > 0 ? (size_t)n : 0;
        in->read += n > 0 ? n : 0;
    }
    return in->at < in->n ? (uint8_t)in->chunk[in->at] : -1;
}

/* Takes the byte that peek returned. */
static void
step(struct input *in)
{
    in->line += peek(in) == '\n';
    if (in->again_at < in->again.len)
        in->again_at++;
    else
        in->at++;
}

static bool
is_blank(int ch)
{
    return ch == ' ' || ch == '\t' || ch == '\n' || ch == '\r';
}

/* Skips blanks; returns the next byte, as peek does. */
static int
skip_blanks(struct input *in)
{
    int ch;

    while (is_blank(ch = peek(in)))
        step(in);
    return ch;
}

/* ---- the form ---- */

/* Whether a line of what was read begins as a record. */
static bool
has_record(const struct input *in)
{
    struct str rest = {in->chunk + in->at, in->n - in->at};

    while (rest.p != NULL)
        if (str_starts(str_cut(&rest, '\n'), "{"))
            return true;
    return false;
}

void
input_begin(struct input *in)
{
    static const uint8_t bom[] = {0xef, 0xbb, 0xbf};
    struct str rest;
    int ch;

    in->at = in->n = in->again.len = in->again_at = in->reread = 0;
    in->read = 0;
    in->line = in->number = 0;
    in->err = 0;
    for (size_t i = 0; i < sizeof(bom) && peek(in) == bom[i]; i++)
        step(in);
    ch = skip_blanks(in);
    rest = (struct str){in->chunk + in->at, in->n - in->at};
    in->list = 0;
    in->closed = false;
    in->tag[0] = '\0';
    if (ch == '[')
        in->form = INPUT_ARRAY;
    else
        in->form = ch < 0 || has_record(in) ? INPUT_VALUES : INPUT_UNKNOWN;
    if (str_is(str_trim(str_cut(&rest, '\n')), "---"))
        in->form = INPUT_MARKDOWN;
    if (ch == '[')
        step(in);
}

const char *
input_looks(const struct input *in)
{
    struct str s = {in->chunk, in->n}, rest = s, line;

    if (str_starts(s, "SQLite format 3"))
        return "an SQLite file, whose tasks must be written out as JSON first, "
               "as with sqlite3 -json FILE 'select * from tasks'";
    if (str_starts(s, "\x1f\x8b") || str_starts(s, "PK\x03\x04"))
        return "an archive, which must be unpacked first";
    if (memchr(s.p, '\0', s.len) != NULL || !utf8_is_valid(utf8_cut(s, 512)))
        return "a binary file";
    if (str_starts(str_trim(s), "<"))
        return "XML or HTML";
    if (str_starts(str_trim(s), "#"))
        return "Markdown without front matter";
    line = str_cut(&rest, '\n');
    if (str_find(line, STR(": ")) == SIZE_MAX &&
        str_find(line, STR(",")) != SIZE_MAX)
        return "CSV, whose rows must be made JSON objects first";
    return "text";
}

/* ---- where a piece ends ---- */

static void
begin_value(struct input *in)
{
    buf_reset(&in->piece, INPUT_MAX);
    in->string = in->escape = in->is_record = in->long_piece = false;
    in->depth = 0;
    in->arrays = 0;
    in->last = '\0';
    in->word = in->word_end = 0;
}

/* The last text of the piece; "" if it is not there whole, since the piece is
   too long or there was no memory for it. */
static struct str
word_of(const struct input *in)
{
    if (in->word > in->word_end || in->word_end > in->piece.len)
        return STR("");
    return (struct str){in->piece.p + in->word, in->word_end - in->word};
}

static void
note_tag(struct input *in)
{
    struct str tag = utf8_cut(word_of(in), INPUT_TAG);

    if (tag.len > 0)
        memcpy(in->tag, tag.p, tag.len);
    in->tag[tag.len] = '\0';
}

/* Follows the brackets and texts of a value through its next byte. */
static void
follow(struct input *in, int ch)
{
    if (in->string) {
        in->word_end = in->piece.len;
        in->string = in->escape || ch != '"';
        in->escape = !in->escape && ch == '\\';
        return;
    }
    if (ch == '"') {
        in->string = true;
        in->word = in->word_end = in->piece.len + 1;
    } else if (ch == '[' || ch == '{') {
        if (in->depth == 1 && ch == '{')
            note_tag(in);
        in->depth++;
        in->arrays = in->arrays << 1 | (ch == '[');
    } else if ((ch == ']' || ch == '}') && in->depth > 0) {
        in->depth--;
        in->arrays >>= 1;
    } else if (ch == ':' && in->depth == 1) {
        struct str word = word_of(in);

        in->is_record |= str_is(word, "task_id") || str_is(word, "id") ||
                         str_is(word, "uuid") || str_is(word, "title");
    }
    if (!is_blank(ch))
        in->last = (char)ch;
}

static void
put(struct input *in, int ch)
{
    step(in);
    if (in->piece.len < INPUT_MAX)
        buf_char(&in->piece, (char)ch);
    else
        in->long_piece = true;
}

/* ---- arrays ---- */

/* Reads an element, up to the comma or bracket after it. */
static int
next_element(struct input *in)
{
    int ch = skip_blanks(in);

    if (in->closed && ch >= 0)
        return ERR_SYNTAX;
    begin_value(in);
    in->number++;
    while (!in->closed && in->piece.err == 0 && (ch = peek(in)) >= 0) {
        if (!in->string && in->depth == 0 && (ch == ',' || ch == ']')) {
            step(in);
            in->closed = ch == ']';
            return 1;
        }
        follow(in, ch);
        put(in, ch);
    }
    if (in->err != 0)
        return ERR_IO;
    if (in->piece.err != 0)
        return in->piece.err;
    if (in->piece.len > 0)
        return 1;
    return in->closed ? 0 : ERR_INCOMPLETE;
}

/* Whether the bracket opens the list of Taskmaster's tasks. */
static bool
opens_list(const struct input *in, int ch)
{
    return ch == '[' && !in->string && in->last == ':' && in->arrays == 0 &&
           (in->depth == 1 || in->depth == 2) && !in->is_record &&
           str_is(word_of(in), "tasks");
}

static void
begin_list(struct input *in)
{
    in->list = in->depth;
    if (in->depth == 1)
        in->tag[0] = '\0';
    in->form = INPUT_ARRAY;
    in->number = 0;
    step(in);
}

/* Goes on within the object that holds the list. */
static void
end_list(struct input *in)
{
    begin_value(in);
    in->depth = in->list;
    in->form = INPUT_VALUES;
    in->closed = false;
}

/* ---- values ---- */

/* A value goes on over lines and is never whole: has it end before the next
   line that begins a record. */
static void
cut_broken(struct input *in)
{
    struct str piece = buf_view(&in->piece), tail;
    size_t at = str_find(piece, STR("\n{"));
    int ch, before = piece.p[piece.len - 1];
    struct buf again = {0};

    if (at == SIZE_MAX) {
        while ((ch = peek(in)) >= 0 && (ch != '{' || before != '\n')) {
            before = ch;
            step(in);
        }
        return;
    }
    in->long_piece = false;
    tail = str_from(piece, at + 1);
    buf_str(&again, tail);
    if (in->again.len > 0)
        buf_str(&again, str_from(buf_view(&in->again), in->again_at));
    buf_fini(&in->again);
    in->again = again;
    in->again_at = 0;
    for (size_t i = 0; i < tail.len; i++)
        in->line -= tail.p[i] == '\n';
    in->reread += tail.len;
    if (in->reread > REREAD_MAX)
        in->form = INPUT_LINES;
    in->piece.len = at;
    in->piece.err = in->piece.err != 0 ? in->piece.err : again.err;
}

/* Whether the next byte, a line feed, ends the value: it is whole, or broken,
   since a text holds none. */
static bool
ends_value(const struct input *in)
{
    return in->form == INPUT_LINES || in->depth == 0 || in->string;
}

/* Reads a value, on one line or on several; what is none ends with its line.
   Returns 1, 0 at the end of the input, ERR_IO, or LIST_BEGINS. */
static int
read_value(struct input *in)
{
    bool several = false, whole = false;
    int ch;

    while (!whole && in->piece.err == 0 && (ch = peek(in)) >= 0 &&
           !(ch == '\n' && ends_value(in)) &&
           !(several && in->piece.len == INPUT_MAX)) {
        if (opens_list(in, ch)) {
            begin_list(in);
            return LIST_BEGINS;
        }
        several |= ch == '\n';
        whole = in->depth == 1 && in->form == INPUT_VALUES;
        follow(in, ch);
        whole = whole && in->depth == 0;
        put(in, ch);
    }
    if (in->err != 0)
        return ERR_IO;
    if (in->piece.err != 0)
        return in->piece.err;
    in->long_piece |= in->piece.len == INPUT_MAX;
    if (several && (in->depth > 0 || in->string))
        cut_broken(in);
    return in->piece.err != 0 ? in->piece.err : in->piece.len > 0;
}

/* Reads the next value, or what is left of the object that holds a list. */
static int
next_value(struct input *in)
{
    int rc;

    if (in->list > 0) {
        rc = read_value(in);
        if (rc == LIST_BEGINS || rc == ERR_IO || rc == ERR_NOMEM)
            return rc;
        in->list = 0;
        if (in->depth > 0)
            return peek(in) < 0 ? ERR_INCOMPLETE : rc;
    }
    begin_value(in);
    skip_blanks(in);
    in->number = in->line + 1;
    return read_value(in);
}

static int
next_whole(struct input *in)
{
    int ch;

    begin_value(in);
    while ((ch = peek(in)) >= 0)
        put(in, ch);
    if (in->err != 0)
        return ERR_IO;
    return in->piece.err != 0 ? in->piece.err : in->piece.len > 0;
}

int
input_next(struct input *in)
{
    int rc = LIST_BEGINS;

    while (rc == LIST_BEGINS) {
        if (in->form == INPUT_UNKNOWN)
            return 0;
        if (in->form == INPUT_MARKDOWN)
            return next_whole(in);
        if (in->form == INPUT_ARRAY && !(in->list > 0 && in->closed))
            return next_element(in);
        if (in->form == INPUT_ARRAY)
            end_list(in);
        rc = next_value(in);
    }
    return rc;
}

void
input_fini(struct input *in)
{
    buf_fini(&in->piece);
    buf_fini(&in->again);
}
