/* input - a file or a pipe of JSON, cut into records.

   The input may be anything, of any length: memory holds one record of it, and
   no more of JSON is understood than finding its end takes.

   1. A broken record costs itself: outside arrays, a line that begins with a
      brace begins a record, and a line feed in a text ends one. */

#include "cli/input.h"
#include "base/err.h"

#include <errno.h>
#include <unistd.h>

/* Returns the next byte; -1 at the end, or on an error, then in in->err. */
static int
peek(struct input *in)
{
    ssize_t n;

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
    in->line += in->chunk[in->at++] == '\n';
}

/* Skips blanks; returns the next byte, as peek does. */
static int
skip_blanks(struct input *in)
{
    int ch;

    while ((ch = peek(in)) == ' ' || ch == '\t' || ch == '\n' || ch == '\r')
        step(in);
    return ch;
}

void
input_begin(struct input *in)
{
    static const uint8_t bom[] = {0xef, 0xbb, 0xbf};

    for (size_t i = 0; i < sizeof(bom) && peek(in) == bom[i]; i++)
        step(in);
    in->array = skip_blanks(in) == '[';
    if (in->array)
        step(in);
}

/* Takes the next byte into the record, and follows its brackets and texts. */
static void
put(struct input *in, int ch)
{
    step(in);
    if (in->piece.len < INPUT_MAX)
        buf_char(&in->piece, (char)ch);
    else
        in->long_piece = true;
    if (in->string) {
        in->string = in->escape || ch != '"';
        in->escape = !in->escape && ch == '\\';
    } else if (ch == '"') {
        in->string = true;
    } else if (ch == '[' || ch == '{') {
        in->depth++;
    } else if ((ch == ']' || ch == '}') && in->depth > 0) {
        in->depth--;
    }
}

/* Reads an element, up to the comma or bracket after it. Returns whether that
   was there. */
static bool
read_element(struct input *in)
{
    int ch;

    in->number++;
    while (in->piece.err == 0 && (ch = peek(in)) >= 0) {
        if (!in->string && in->depth == 0 && (ch == ',' || ch == ']')) {
            step(in);
            in->closed = ch == ']';
            return true;
        }
        put(in, ch);
    }
    return false;
}

/* Reads a value, on one line or on several. */
static void
read_value(struct input *in)
{
    bool whole = false;
    int ch, before = 0;

    in->number = in->line + 1;
    while (!whole && in->piece.err == 0 && (ch = peek(in)) >= 0 &&
           !(ch == '\n' && (in->depth == 0 || in->string)) &&
           !(ch == '{' && before == '\n')) {
        whole = in->depth == 1;
        put(in, ch);
        whole = whole && in->depth == 0;
        before = ch;
    }
}

int
input_next(struct input *in)
{
    int ch = skip_blanks(in);
    bool ended = false;

    buf_reset(&in->piece, INPUT_MAX);
    in->string = in->escape = in->long_piece = false;
    in->depth = 0;
    if (in->closed)
        return ch >= 0 ? ERR_SYNTAX : 0;
    if (in->array)
        ended = read_element(in);
    else
        read_value(in);
    if (in->err != 0)
        return ERR_IO;
    if (in->piece.err != 0)
        return in->piece.err;
    if (in->piece.len > 0 || ended)
        return 1;
    return in->array ? ERR_INCOMPLETE : 0;
}

void
input_fini(struct input *in)
{
    buf_fini(&in->piece);
}
