/* import - adds tasks from JSON.

   The input may be anything, of any length: memory holds one record of it, and
   one batch of tasks (64 MiB). A bad record is reported and counted, and the
   import continues.

   A field that is too long is cut, one that is no such value is omitted, and
   the whole value is kept: a short one as the member imported_NAME, a long one
   as an artifact. So are long members that are no field.

   contrib/mcptask-import makes tasks of what other programs write. With each it
   passes "import": {file, line or element, note}, for messages; and for a
   record that is no task, instead of one, the error, or skip if the record is
   an older state of a task that it passes.

   1. Input is read, and contents are stored, before the write lock is taken: it
      may come from a pipe that nobody writes to. Contents are named by what
      they hold, so that the same import stores nothing twice.
   2. The counts printed at the end are of records on disk, and so are the tasks
      that were not taken over exactly.
   3. No task in a batch is longer than a task may be.
   4. A broken record costs itself: outside arrays, a line that begins with a
      brace begins a record, and a line feed in a text ends one. No more of JSON
      is understood there than finding its end takes. */

#include "cli/import.h"
#include "cli/args.h"
#include "cli/store.h"
#include "cli/text.h"
#include "base/clock.h"
#include "base/text.h"
#include "base/utf8.h"
#include "json/raw.h"
#include "store/record.h"
#include "task/artifact.h"
#include "task/change.h"
#include "task/query.h"
#include "task/view.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define IMPORT_RECORDS 100000           /* in one batch, at most */
#define IMPORT_BYTES (64 * 1024 * 1024) /* of them in memory, about */
#define IMPORT_TURN_MS 10 /* under the lock, and what it takes to commit */
#define BAD_MAX 5   /* bad records that are shown without --json */
#define TOLD_MAX 20 /* the same of tasks that are not taken over exactly */
#define STATE_MAX ((size_t)276 * 1024)  /* bytes of a task that fits whole */
#define BESIDE_MAX ((size_t)4 * 1024)   /* of imported_NAME */
#define CARRIED_MAX ((size_t)16 * 1024) /* of a member that is no field, */
#define EXTRA_MAX ((size_t)96 * 1024)   /* of all of them, */
#define FIELD_MAX ((size_t)4 * 1024)    /* of a field, if all of them have */
#define FIELDS_MAX ((size_t)144 * 1024) /* more than this */

#define INPUT_CHUNK (64 * 1024)
#define INPUT_MAX (2 * 1024 * 1024) /* bytes of one record */

#define OTHERS "for tasks of other programs, run \"mcptask-import FILE\", " \
    "here or on any machine with Python"

/* A file or a pipe of JSON, cut into records: one after the other, however they
   are spaced, or the elements of one array. */
struct input {
    const char *name;
    int fd, err;        /* err: errno of a read that failed */
    int64_t read, size; /* bytes; size 0: unknown */
    char chunk[INPUT_CHUNK];
    size_t at, n;        /* position in chunk, and its length */
    bool array, closed;  /* it is an array; that has ended */
    uint64_t line;       /* lines that were read */
    uint64_t number;     /* of the record: its line or element, from 1 */
    struct buf piece;    /* the record, without the blanks before it */
    bool long_piece;     /* longer than INPUT_MAX; the rest was dropped */
    bool string, escape; /* within the record */
    uint32_t depth;      /* of open brackets */
};

struct import {
    struct cli *c;
    struct input in;
    struct str by;    /* who created tasks that have no author */
    int end;          /* the exit code, unless 0 */
    bool stop;
    struct buf text;  /* of one batch: its tasks, as task_import takes them, */
    struct buf notes; /* and of each the place, id, notes and dependencies */
    struct piece {
        size_t at, len, note_at, place_len, id_len, note_len, deps_len;
        bool placed;
        bool taken;
        struct str cycle; /* the field that leads back to the task */
        bool circle;      /* it depends on what waits for it as a part */
        struct piece *nth; /* the one whose turn it is: see order_batch */
    } *piece; /* IMPORT_RECORDS */
    size_t n;    /* number of pieces */
    size_t done; /* of these, committed */
    uint64_t imported;
    struct arena a;   /* of the record that is being read, */
    struct str place; /* and how errors name it */
    struct counts {
        uint64_t skipped, failed;
        uint64_t n_archive; /* records of an archive so far, */
        bool archive;       /* while within them */
    } counts;
    uint64_t strangers; /* records without a task_id */
    uint64_t n_told;    /* tasks not taken over exactly, */
    struct buf told;    /* and lines about the first of them */
    bool again;         /* the batch is tried again */
};

/* ---- the input, cut into records ---- */

/* Returns the next byte; -1 at the end, or on an error, then in in->err. */
static int
peek_byte(struct input *in)
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

/* Takes the byte that peek_byte returned. */
static void
pass_byte(struct input *in)
{
    in->line += in->chunk[in->at++] == '\n';
}

/* Skips blanks; returns the next byte, as peek_byte does. */
static int
skip_blanks(struct input *in)
{
    int ch;

    while ((ch = peek_byte(in)) == ' ' || ch == '\t' || ch == '\n' ||
           ch == '\r')
        pass_byte(in);
    return ch;
}

/* Takes what follows of a text, up to a byte that means something. */
static void
put_plain(struct input *in)
{
    const char *p = in->chunk + in->at;
    size_t n = 0, room = INPUT_MAX - in->piece.len;

    while (in->at + n < in->n && n < room && p[n] != '"' && p[n] != '\\' &&
           p[n] != '\n')
        n++;
    buf_put(&in->piece, p, n);
    in->at += n;
}

/* Takes the byte ch into the record, and follows its brackets and texts. */
static void
put_byte(struct input *in, int ch)
{
    pass_byte(in);
    if (in->piece.len < INPUT_MAX)
        buf_char(&in->piece, (char)ch);
    else
        in->long_piece = true;
    if (in->string) {
        in->string = in->escape || ch != '"';
        in->escape = !in->escape && ch == '\\';
        if (!in->escape && in->string)
            put_plain(in);
    } else if (ch == '"') {
        in->string = true;
    } else if (ch == '[' || ch == '{') {
        in->depth++;
    } else if ((ch == ']' || ch == '}') && in->depth > 0) {
        in->depth--;
    }
}

/* Reads the next record. Returns 1, or 0 at the end; ERR_NOMEM, ERR_IO with
   in->err, ERR_INCOMPLETE if the input ends within the array, ERR_SYNTAX for
   text after it. An element that is missing is an empty piece. */
static int
next_piece(struct input *in)
{
    int ch = skip_blanks(in), before = 0;
    bool ended = false; /* an element, by the comma or bracket after it */
    bool whole = false; /* a value, on one line or on several */

    buf_reset(&in->piece, INPUT_MAX);
    in->string = in->escape = in->long_piece = false;
    in->depth = 0;
    if (in->closed)
        return ch >= 0 ? ERR_SYNTAX : 0;
    in->number = in->array ? in->number + 1 : in->line + 1;
    while (!ended && !whole && in->piece.err == 0 &&
           (ch = peek_byte(in)) >= 0) {
        if (in->array) {
            ended = !in->string && in->depth == 0 && (ch == ',' || ch == ']');
            in->closed = ended && ch == ']';
        } else if ((ch == '\n' && (in->depth == 0 || in->string)) ||
                   (ch == '{' && before == '\n')) {
            break;
        }
        whole = !in->array && in->depth == 1;
        if (ended)
            pass_byte(in);
        else
            put_byte(in, ch);
        whole = whole && in->depth == 0;
        before = ch;
    }
    if (in->err != 0)
        return ERR_IO;
    if (in->piece.err != 0)
        return in->piece.err;
    if (in->piece.len > 0 || ended)
        return 1;
    return in->array ? ERR_INCOMPLETE : 0;
}

/* ---- what is told ---- */

/* Reports and counts a bad record; an empty text only counts it. */
static void
bad_record(struct import *im, struct str place, struct str what)
{
    if (!im->again && what.len > 0 &&
        (im->c->json || im->counts.failed < BAD_MAX))
        cli_fail(im->c, ERR_INVALID, "%.*s: %.*s", STR_ARG(place),
                 STR_ARG(what));
    im->counts.failed++;
    im->stop |= im->c->args.strict;
}

static void
bad_here(struct import *im, struct str what)
{
    bad_record(im, im->place, what);
}

/* Counts a task that is here already. */
static void
known_task(struct import *im, struct str place)
{
    im->counts.skipped++;
    if (!im->c->args.strict)
        return;
    im->stop = true;
    im->end = cli_fail(im->c, ERR_EXISTS, "%.*s: the task exists: without "
                       "--strict it is skipped", STR_ARG(place));
}

/* Tells how a task is not as it was. */
static void
tell_change(struct import *im, struct str id, struct str note)
{
    struct buf *b = im->c->json ? &im->c->out : &im->told;
    struct json_w w;

    if (im->c->json) {
        json_begin(&w, b);
        json_put_str(&w, "task_id", id);
        json_put_str(&w, "note", note);
        json_end(&w);
        buf_char(b, '\n');
        cli_drain(im->c);
    } else if (im->n_told < TOLD_MAX) {
        buf_printf(b, "  %.*s: %.*s\n", STR_ARG(id), STR_ARG(note));
    }
    im->n_told++;
}

#define COUNTS "{imported} imported, {skipped} skipped, {failed} failed"

static void
put_summary(struct import *im)
{
    struct cli *c = im->c;
    uint64_t more = im->n_told > TOLD_MAX ? im->n_told - TOLD_MAX : 0;

    cli_tell(c, im->stop && c->args.strict
                        ? COUNTS "; stopped there; to continue, import again "
                          "without --strict\n"
                        : COUNTS "\n",
             "imported=" U64 " skipped=" U64 " failed=" U64,
             im->imported, im->counts.skipped, im->counts.failed);
    if (c->json)
        return;
    if (im->counts.failed > BAD_MAX)
        buf_printf(&c->out, "only the first %d of " U64 " errors are shown; "
                   "pass --json for all\n", BAD_MAX, im->counts.failed);
    if (im->n_told > 0)
        buf_z(&c->out, "not imported exactly:\n");
    buf_str(&c->out, buf_view(&im->told));
    if (more > 0)
        buf_printf(&c->out, "  and %llu more; pass --json for all\n",
                   (unsigned long long)more);
    if (c->out.err == 0)
        c->out.err = im->told.err;
}

/* ---- records of a log ---- */

static bool
is_of_store(int err)
{
    return err == ERR_NOMEM || err == ERR_BUSY || err == ERR_FULL ||
           err == ERR_IO || err == ERR_READONLY || err == ERR_DAMAGED ||
           err == ERR_UNREACHABLE || err == ERR_SKEW;
}

#define CUT "records of the archive before it are missing"

/* Whether a piece is a line of a log, damaged or not: a task may have a member
   c, too. */
static bool
is_log_line(const struct import *im, struct str piece)
{
    static const char begin[] = "{\"c\":\"";
    struct record_header h;
    uint32_t crc;

    if (!str_starts(piece, begin))
        return false;
    if (im->counts.archive || (record_parse_header(piece, &h) == ERR_FORMAT &&
                               h.version > 0))
        return true;
    piece = str_from(piece, sizeof(begin) - 1);
    return piece.len > 8 && text_hex32(piece.p, &crc) &&
           str_starts(str_from(piece, 8), "\",\"g\":");
}

/* Whether a line of a log is a task in an archive; its state is then in *root.
   Other logs hold many records of each task: export finds the newest. */
static bool
read_log_line(struct import *im, struct str line, const struct json_tok **root)
{
    struct record_header h;
    struct store_rec r;
    bool ok = record_parse(line, &r) == 0;
    bool header = ok && str_is(r.key, RECORD_KEY_LOG);
    bool end = ok && str_is(r.key, RECORD_KEY_END);

    if ((!ok || header) && record_parse_header(line, &h) == ERR_FORMAT &&
        h.version > 0) {
        im->stop = true;
        bad_here(im, STR("a log of a later version of mcptask; import it with "
                         "that version"));
        return false;
    }
    if (im->counts.archive && (header || (end && record_end_count(&r) !=
                                              im->counts.n_archive)))
        bad_here(im, STR(CUT));
    if (header || end) {
        im->counts.archive = header && record_archives(&r);
        im->counts.n_archive = 0;
    }
    im->counts.n_archive += ok && im->counts.archive && !header;
    if (!ok || !(im->counts.archive || end))
        bad_here(im, ok ? STR("a log, but not an archive: import what export "
                              "writes of it")
                        : STR("the record is damaged"));
    im->stop |= header && !im->counts.archive;
    *root = json_get(*root, "v");
    return ok && im->counts.archive && !header && *root != NULL;
}

/* ---- a record that does not fit ---- */

/* A record, and what is kept beside it. */
struct fit {
    struct import *im;
    struct arena *a;
    struct task_args args; /* the fields */
    struct buf extra;      /* members that are no field: ,"a":1,"b":2 */
    struct buf artifacts;  /* raw objects, with commas */
    struct buf notes;      /* what was not taken over exactly: "a; b" */
    unsigned n_artifacts;
};

/* Adds a note to those before it. */
static void PRINTF(2, 3)
add_note(struct buf *notes, const char *fmt, ...)
{
    char text[512];
    va_list ap;

    va_start(ap, fmt);
    text_vput(text, sizeof(text), fmt, ap);
    va_end(ap);
    buf_z(notes, notes->len > 0 ? "; " : "");
    view_plain(notes, str_of(text), sizeof(text), ' ');
}

/* Keeps the raw value of the member name whole, as artifacts. */
static int
keep_long(struct fit *f, struct str name, struct str raw)
{
    struct import *im = f->im;
    struct str text = raw_text(f->a, raw), rest, part;
    struct str file = arena_printf(f->a, "%.*s%s",
                                   STR_ARG(utf8_cut(name, 64)),
                                   text.p != NULL ? ".txt" : ".json");
    struct buf *b = &f->artifacts;
    struct task_blob blob;

    if (file.p == NULL || (*raw.p == '"' && text.p == NULL))
        return ERR_NOMEM;
    add_note(&f->notes, "%.*s is kept whole as artifact import-%u",
             STR_ARG(file), f->n_artifacts + 1);
    rest = text.p != NULL ? text : raw;
    for (; b->err == 0 && rest.len > 0; rest = str_from(rest, part.len)) {
        part = utf8_cut(rest, ARTIFACT_MAX);
        if (part.len == 0) /* none of it is UTF-8 */
            part.len = ARTIFACT_MAX;
        im->end = cli_args_store(im->c, part, &blob);
        im->stop |= im->end != 0; /* it is told */
        if (im->end != 0)
            return ERR_IO;
        buf_printf(b, "%s{\"artifact_id\":\"import-%u\",\"name\":",
                   b->len > 0 ? "," : "", ++f->n_artifacts);
        json_quote(b, file);
        buf_printf(b, ",\"size\":%llu,\"sha256\":\"%s\",\"at\":\"%s\"}",
                   (unsigned long long)blob.size, blob.sha256,
                   time_text(clock_wall_ms()));
    }
    return b->err;
}

/* Adds a member; before stands before its name. */
static void
put_beside(struct fit *f, const char *before, struct str name, struct str raw)
{
    buf_printf(&f->extra, ",\"%s%.*s\":", before, STR_ARG(name));
    buf_str(&f->extra, raw);
}

/* Keeps the value of a field. */
static int
keep_field(struct fit *f, struct str field, struct str raw)
{
    if (raw.len > BESIDE_MAX || f->extra.len + raw.len > EXTRA_MAX)
        return keep_long(f, field, raw);
    put_beside(f, "imported_", field, raw);
    return f->extra.err;
}

/* Called for each field that is not taken over exactly. */
static int
keep_lost(void *of, struct str field, const struct json_tok *whole,
          struct str why)
{
    struct fit *f = of;

    add_note(&f->notes, "%.*s", STR_ARG(why));
    return keep_field(f, field, json_raw(whole));
}

/* Carries a member along. Of a long one, a text goes on with its start. */
static int
carry_member(struct fit *f, struct str name, struct str raw)
{
    struct str text;
    int rc;

    if (raw.len <= CARRIED_MAX && f->extra.len + raw.len <= EXTRA_MAX) {
        put_beside(f, "", name, raw);
        return f->extra.err;
    }
    rc = keep_long(f, name, raw);
    text = utf8_cut(raw_text(f->a, raw), BESIDE_MAX);
    if (rc != 0 || text.p == NULL || f->extra.len > EXTRA_MAX)
        return rc;
    text = raw_quote(f->a, text);
    if (text.p == NULL)
        return ERR_NOMEM;
    put_beside(f, "", name, text);
    return f->extra.err;
}

/* Reads the object task into f->args, and stores the contents that are kept
   beside it. Returns 0; ERR_NOMEM; ERR_IO, and the import stops; or a code that
   x->e explains. */
static int
fit_task(struct fit *f, struct task_ctx *x, const struct json_tok *task)
{
    const struct task_lost lost = {keep_lost, f};
    struct str *v = f->args.v;
    struct raw_members m;
    size_t all = 0;
    int rc = task_args_fit(x, task, &lost, &f->args);

    m = raw_members_of(f->args.extra);
    while (rc == 0 && raw_next(&m) == 1)
        rc = carry_member(f, m.name, m.value);
    /* Fields that all fit may be too much together: long ones are then left
       out, but for those that a task cannot be without. */
    for (int i = 0; i < TASK_N_FIELDS; i++)
        all += v[i].len;
    for (int i = 0; all > FIELDS_MAX && i < TASK_N_FIELDS && rc == 0; i++) {
        if (v[i].len <= FIELD_MAX || i == F_TITLE || i == F_DEPENDS_ON)
            continue;
        add_note(&f->notes, "the task is too long with all of its %.*s",
                 STR_ARG(task_arg_name(i)));
        rc = keep_field(f, task_arg_name(i), v[i]);
        v[i] = STR_NONE;
    }
    return rc;
}

/* Appends the object that task_import takes. */
static void
put_fitted(const struct fit *f, struct buf *b, const struct json_tok *task)
{
    const struct json_tok *updated = json_get(task, "updated_at");
    struct str old = f->args.v[F_ARTIFACTS];

    buf_printf(b, "{\"task_id\":%.*s", STR_ARG(f->args.v[F_TASK_ID]));
    for (int i = 0; i < TASK_N_FIELDS; i++) {
        if (i == F_TASK_ID || i == F_ARTIFACTS || f->args.v[i].p == NULL)
            continue;
        json_name(b, ',', task_arg_name(i));
        buf_str(b, f->args.v[i]);
    }
    old = old.len > 2 ? raw_inner(old) : STR("");
    if (old.len + f->artifacts.len > 0)
        buf_printf(b, ",\"artifacts\":[%.*s%s%.*s]", STR_ARG(old),
                   old.len > 0 && f->artifacts.len > 0 ? "," : "",
                   STR_ARG(buf_view(&f->artifacts)));
    buf_str(b, buf_view(&f->extra));
    if (updated != NULL) {
        buf_z(b, ",\"updated_at\":");
        buf_str(b, json_raw(updated));
    }
    buf_char(b, '}');
    if (b->err == 0)
        b->err = f->extra.err != 0 ? f->extra.err : f->artifacts.err;
}

/* ---- from records to tasks ---- */

/* Reports a record without a task_id; only the first of them. */
static void
report_stranger(struct import *im, const struct json_tok *t)
{
    const struct json_tok *m = t + 1;
    struct buf b = {0};

    if (im->strangers++ > 0 && !im->c->json) {
        bad_here(im, STR(""));
        return;
    }
    buf_z(&b, "there is no task_id; it has ");
    for (uint32_t i = 0; i < t->n && i < 5; i++, m += 1 + m[1].span)
        buf_printf(&b, "%s%.*s", i > 0 ? ", " : "",
                   STR_ARG(utf8_cut((struct str){m->p, m->len}, 40)));
    if (t->n == 0)
        buf_z(&b, "nothing");
    else if (t->n > 5)
        buf_z(&b, " and more");
    buf_z(&b, "\n" OTHERS);
    bad_here(im, b.err == 0 ? buf_view(&b) : STR("there is no task_id"));
    buf_fini(&b);
}

/* Reads what contrib/mcptask-import tells of a record. Returns whether it is a
   task. */
static bool
read_origin(struct import *im, const struct json_tok *from, struct buf *notes)
{
    struct arena *a = &im->a;
    struct str file = json_str(a, json_get(from, "file"));
    const struct json_tok *line = json_get(from, "line");
    const struct json_tok *element = json_get(from, "element");
    const struct json_tok *error = json_get(from, "error");
    const struct json_tok *skip = json_get(from, "skip");
    struct str note = json_str(a, json_get(from, "note"));
    const struct json_tok *n = line != NULL ? line : element;

    im->place = file;
    if (n != NULL && n->type == JSON_NUMBER)
        im->place = arena_printf(a, "%.*s: %s %.*s", STR_ARG(file),
                                 line != NULL ? "line" : "element",
                                 STR_ARG(json_raw(n)));
    if (error != NULL) {
        bad_here(im, json_str(a, error));
    } else if (skip != NULL) {
        known_task(im, im->place);
        if (note.len > 0)
            tell_change(im, json_str(a, skip), note);
    } else if (note.len > 0) {
        buf_str(notes, note);
    }
    return error == NULL && skip == NULL;
}

/* Adds the task to the batch: as it is, if all of it fits. */
static int
queue_task(struct import *im, struct fit *f, const struct json_tok *task)
{
    struct task_ctx x = {.a = &im->a, .at = im->c->env->project};
    struct piece *p = &im->piece[im->n];
    struct str text = json_raw(task), id;
    int rc = task_args_parse(&x, TOOL_IMPORT, task, &f->args);
    bool fits = rc == 0 && text.len <= STATE_MAX;

    if (rc == ERR_NOMEM)
        return rc;
    if (!fits) {
        x.e = (struct task_error){0};
        rc = fit_task(f, &x, task);
    }
    if (rc != 0) {
        if (rc != ERR_NOMEM && !im->stop)
            bad_here(im, x.e.message);
        return rc == ERR_NOMEM ? rc : 0;
    }
    id = raw_inner(f->args.v[F_TASK_ID]);
    *p = (struct piece){.at = im->text.len, .note_at = im->notes.len,
                        .place_len = im->place.len, .id_len = id.len,
                        .note_len = f->notes.len,
                        .deps_len = f->args.v[F_DEPENDS_ON].len};
    if (fits)
        buf_str(&im->text, text);
    else
        put_fitted(f, &im->text, task);
    p->len = im->text.len - p->at;
    buf_str(&im->notes, im->place);
    buf_str(&im->notes, id);
    buf_str(&im->notes, buf_view(&f->notes));
    buf_str(&im->notes, f->args.v[F_DEPENDS_ON]);
    im->n++;
    if (im->text.err != 0)
        return im->text.err;
    return im->notes.err != 0 ? im->notes.err : f->notes.err;
}

/* Adds the record that was read to the batch, if it is a task. */
static int
add_record(struct import *im, struct str text)
{
    struct fit f = {.im = im, .a = &im->a};
    const struct json_tok *root, *from;
    size_t at = 0;
    int rc = json_parse(&im->a, text, &root, &at);

    if (rc == ERR_NOMEM)
        return rc;
    if (rc < 0) {
        bad_here(im, arena_printf(&im->a, rc == ERR_TOO_LARGE
                     ? "too many values, or too deep, at byte %zu"
                     : "not JSON from byte %zu on", at + 1));
        return 0;
    }
    if (is_log_line(im, text) && !read_log_line(im, text, &root))
        return 0;
    from = json_get(root, "import");
    if (from != NULL && !read_origin(im, from, &f.notes))
        return 0;
    if (root->type != JSON_OBJECT)
        bad_here(im, STR("it is not an object"));
    else if (json_get(root, "task_id") == NULL)
        report_stranger(im, root);
    else
        rc = queue_task(im, &f, root);
    buf_fini(&f.extra);
    buf_fini(&f.artifacts);
    buf_fini(&f.notes);
    return rc;
}

/* ---- dependencies first ---- */

struct with_id {
    struct str id;
    struct piece *p;
};

struct visit {
    struct piece *p;
    struct str deps, dep; /* raw: all of them, and the one that was followed */
};

static struct str
id_of(const struct import *im, const struct piece *p)
{
    return (struct str){im->notes.p + p->note_at + p->place_len, p->id_len};
}

static int
by_id(const void *a, const void *b)
{
    const struct with_id *x = a, *y = b;

    return str_compare(x->id, y->id);
}

static struct visit
begin_visit(const struct import *im, struct piece *p)
{
    struct str id = id_of(im, p);

    p->placed = true;
    return (struct visit){
        p, {id.p + id.len + p->note_len, p->deps_len}, STR_NONE};
}

/* Orders the batch: before a task come those of it that the task depends on,
   unless they lead back to it. Named before it exists, each would have to be
   searched for a circle. */
static int
order_batch(struct import *im)
{
    struct with_id *all = calloc(im->n + 1, sizeof(*all)), *hit, key = {0};
    struct visit *stack = calloc(im->n + 1, sizeof(*stack)), *v;
    size_t n = 0, depth = 0;
    bool ok = all != NULL && stack != NULL;

    for (size_t i = 0; ok && i < im->n; i++)
        all[i] = (struct with_id){id_of(im, &im->piece[i]), &im->piece[i]};
    if (ok)
        qsort(all, im->n, sizeof(*all), by_id);
    for (size_t i = 0; ok && i < im->n; i++) {
        if (!im->piece[i].placed)
            stack[depth++] = begin_visit(im, &im->piece[i]);
        while (depth > 0) {
            v = &stack[depth - 1];
            v->dep = raw_list_next(v->deps, v->dep);
            key.id = raw_inner(v->dep);
            if (v->dep.p == NULL) {
                im->piece[n++].nth = v->p;
                depth--;
            } else if ((hit = bsearch(&key, all, im->n, sizeof(*all),
                                      by_id)) != NULL && !hit->p->placed) {
                stack[depth++] = begin_visit(im, hit->p);
            }
        }
    }
    free(all);
    free(stack);
    return ok ? 0 : ERR_NOMEM;
}

/* ---- batches ---- */

/* A field leads back to the task itself: it becomes imported_NAME. A task that
   could never begin is not ready, still. */
static int
cut_cycle(struct arena *a, const struct json_tok **task, struct str name)
{
    const struct json_tok *m = *task + 1;
    struct str text, key;
    struct buf b = {0};
    struct json_w w;

    json_begin(&w, &b);
    for (uint32_t i = 0; i < (*task)->n; i++, m += m[1].span + 1) {
        key = json_str(a, m);
        if (str_eq(key, name))
            key = arena_printf(a, "imported_%.*s", STR_ARG(name));
        json_key_str(&w, key);
        json_splice(&w, json_raw(m + 1));
        b.err = key.p == NULL ? ERR_NOMEM : b.err;
    }
    if (str_is(name, "depends_on")) {
        json_put_arr(&w, "depends_on");
        json_z(&w, "status:cycle");
        json_close(&w);
    }
    json_end(&w);
    text = buf_take(&b, a);
    return text.p == NULL ? ERR_NOMEM : json_parse(a, text, task, NULL);
}

/* How a task of this id that the store has is another one; NULL: it is none. */
static const char *
other_task(struct import *im, const struct json_tok *task)
{
    struct arena *a = &im->c->a;
    struct str born = json_str(a, json_get(task, "created_at"));
    struct str title = json_str(a, json_get(task, "title"));
    int64_t ms, was;
    struct task k;

    if (task_get(im->c->s.tasks, a, json_str(a, json_get(task, "task_id")),
                 &k) != 0)
        return NULL;
    if (task_time_parse(born, &ms) &&
        task_time_parse(raw_inner(k.f[F_CREATED_AT]), &was))
        return ms != was ? "was created at another time" : NULL;
    return !str_eq(title, raw_text(a, k.f[F_TITLE])) ? "has another title"
                                                     : NULL;
}

/* Stages or skips a piece, or counts it as bad. Returns 0, or an error of the
   store. */
static int
import_one(struct import *im, struct piece *p)
{
    struct task_ctx x = {.a = &im->c->a, .at = im->c->env->project,
                         .who.self = im->by, .unread = true};
    struct str text = {im->text.p + p->at, p->len};
    struct str place = {im->notes.p + p->note_at, p->place_len};
    struct task_receipt receipt;
    const struct json_tok *task;
    const char *how;
    int rc = json_parse(x.a, text, &task, NULL);

    p->cycle = STR_NONE;
    if (rc == 0)
        rc = task_import(im->c->s.tasks, &x, task, &receipt);
    for (int i = 0; i < 2 && rc == ERR_CYCLE; i++) {
        p->cycle = x.e.field;
        rc = cut_cycle(x.a, &task, x.e.field);
        if (rc == 0)
            rc = task_import(im->c->s.tasks, &x, task, &receipt);
    }
    p->taken = rc == 0;
    p->circle = rc == 0 && receipt.circle;
    how = rc == ERR_EXISTS ? other_task(im, task) : NULL;
    if (how != NULL)
        bad_record(im, place, arena_printf(x.a, "a task %.*s exists, and %s",
                                           (int)p->id_len,
                                           place.p + place.len, how));
    else if (rc == ERR_EXISTS)
        known_task(im, place);
    else if (is_of_store(rc))
        return rc;
    else if (rc < 0)
        bad_record(im, place, x.e.message);
    return 0;
}

/* Counts a piece that is on disk, and tells how it is not as it was. */
static void
count_stored(struct import *im, const struct piece *p)
{
    struct str id = id_of(im, p);
    struct str note = {id.p + id.len, p->note_len};

    if (p->cycle.p != NULL)
        note = arena_printf(&im->c->a, "%.*s%s%.*s leads back to the task",
                            STR_ARG(note), note.len > 0 ? "; " : "",
                            STR_ARG(p->cycle));
    if (p->circle)
        note = arena_printf(&im->c->a, "%.*s%sit depends on a task that waits "
                            "for it as one of its parts", STR_ARG(note),
                            note.len > 0 ? "; " : "");
    if (!p->taken)
        return;
    im->imported++;
    if (note.len > 0)
        tell_change(im, id, note);
}

/* Commits as many pieces as one turn and the store take, or nothing where the
   import is to stop. The counts grow by what is then on disk. ERR_AGAIN: others
   were first. */
static int
try_batch(struct import *im)
{
    struct cli *c = im->c;
    bool unknown = false;
    size_t i = im->done;
    int done = 0, rc = store_lock_patiently(c->s.store);
    int64_t until = clock_mono_ms() + IMPORT_TURN_MS;

    for (; i < im->n && rc == 0 && !im->stop &&
           (i == im->done || clock_mono_ms() < until) &&
           !store_batch_is_full(c->s.store); i++) {
        rc = import_one(im, im->piece[i].nth);
        arena_reset(&c->a);
    }
    if (im->stop)
        store_unstage(c->s.store, 0);
    if (store_locked(c->s.store)) {
        done = cli_commit(c, &unknown);
        rc = rc == 0 || done == ERR_AGAIN ? done : rc;
    }
    for (size_t k = im->done; done == 0 && !im->stop && k < i; k++)
        count_stored(im, im->piece[k].nth);
    arena_reset(&c->a);
    im->done = rc == 0 ? i : im->done;
    return rc;
}

static int
import_batch(struct import *im)
{
    int rc = order_batch(im);

    while (rc == ERR_AGAIN || (rc == 0 && im->done < im->n && !im->stop)) {
        struct counts before = im->counts;

        if (im->done > 0)
            poll(NULL, 0, 1); /* for those that wait for the lock */
        rc = try_batch(im);
        im->again = rc == ERR_AGAIN; /* bad records have been reported */
        if (im->again) {
            im->counts = before;
            im->stop = false;
        }
    }
    im->n = im->done = 0;
    buf_reset(&im->text, IMPORT_BYTES + INPUT_MAX);
    buf_reset(&im->notes, IMPORT_BYTES);
    return rc;
}

/* Notes where in the input a record is. */
static void
note_source(struct import *im)
{
    im->place = arena_printf(&im->a, "%s: %s %llu", im->in.name,
                             im->in.array ? "element" : "line",
                             (unsigned long long)im->in.number);
}

/* Reads the input, and commits whenever there is enough for a batch. Reports
   what ends too early, or cannot be read. Returns 0, ERR_NOMEM, or an error of
   the store. */
static int
read_records(struct import *im)
{
    struct input *in = &im->in;
    int rc = 0, got = 1;

    while (rc == 0 && !im->stop && (got = next_piece(in)) == 1) {
        note_source(im);
        if (in->long_piece)
            bad_here(im, STR("longer than 2 MiB"));
        else if (in->piece.len > 0)
            rc = add_record(im, buf_view(&in->piece));
        else if (!(in->closed && in->number == 1))
            bad_here(im, STR("the element is missing"));
        arena_reset(&im->a);
        if (in->size > 0)
            cli_progress(im->c, (uint64_t)in->read, (uint64_t)in->size);
        if (rc == 0 && (im->n == IMPORT_RECORDS || im->stop ||
                        im->text.len >= IMPORT_BYTES))
            rc = import_batch(im);
    }
    if (rc == 0 && got == ERR_NOMEM)
        rc = ERR_NOMEM;
    if (rc == 0)
        rc = import_batch(im);
    if (rc != 0 || im->stop)
        return rc;
    note_source(im);
    if (im->counts.archive && got == 0)
        bad_here(im, STR(CUT ", and its end"));
    if (got == ERR_INCOMPLETE)
        bad_here(im, STR("the input ends within the array"));
    else if (got == ERR_SYNTAX)
        bad_here(im, STR("there is text after the array"));
    else if (got < 0)
        im->end = cli_fail(im->c, ERR_INVALID, "%s: %s", in->name,
                           strerror(in->err));
    return 0;
}

/* Opens the input. Returns 0; or an exit code after printing that it cannot be
   read, or is no JSON, by its first byte. */
static int
open_input(struct cli *c, struct input *in, const char *name)
{
    static const uint8_t bom[] = {0xef, 0xbb, 0xbf};
    const char *is = NULL;
    struct stat st;
    struct str s;

    in->fd = STDIN_FILENO;
    in->name = "standard input";
    if (strcmp(name, "-") != 0) {
        in->name = name;
        in->fd = open(name, O_RDONLY | O_CLOEXEC);
        if (in->fd < 0)
            return cli_fail_errno(c, ERR_INVALID, name);
        if (fstat(in->fd, &st) == 0 && S_ISDIR(st.st_mode))
            return cli_fail(c, ERR_INVALID, "%s: this is a folder\n" OTHERS,
                            name);
        in->size = st.st_size;
    }
    for (size_t i = 0; i < sizeof(bom) && peek_byte(in) == bom[i]; i++)
        pass_byte(in);
    in->array = skip_blanks(in) == '[';
    if (in->array)
        pass_byte(in);
    s = (struct str){in->chunk + in->at, in->n - in->at};
    if (str_starts(s, "SQLite format 3"))
        is = "an SQLite file\nwrite its tasks out as JSON first, as with "
             "sqlite3 -json FILE 'select * from tasks'";
    else if (str_starts(s, "---"))
        is = "Markdown\n" OTHERS;
    else if (s.len > 0 && *s.p != '{' && !in->array)
        is = "no JSON\n" OTHERS;
    return is != NULL ? cli_fail(c, ERR_INVALID, "%s: this is %s", in->name, is)
                      : 0;
}

int
cli_import(struct cli *c)
{
    struct import im = {.c = c, .in.fd = -1, .by = str_of(env_person(c->env)),
                        .piece = calloc(IMPORT_RECORDS, sizeof(*im.piece))};
    int rc = 0;

    if (c->env->read_only)
        rc = cli_fail_store(c, ERR_READONLY);
    else if (store_state(c->s.store)->err != 0)
        rc = cli_fail_store(c, store_state(c->s.store)->err);
    else if (im.piece == NULL)
        rc = cli_fail_store(c, ERR_NOMEM);
    if (rc == 0)
        rc = open_input(c, &im.in, c->operand[0]);
    if (rc == 0) {
        rc = read_records(&im);
        rc = rc < 0 ? cli_fail_store(c, rc) : im.end;
        put_summary(&im);
    }
    if (im.in.fd > STDIN_FILENO)
        close(im.in.fd);
    buf_fini(&im.in.piece);
    arena_fini(&im.a);
    free(im.piece);
    buf_fini(&im.text);
    buf_fini(&im.notes);
    buf_fini(&im.told);
    return rc == 0 && im.counts.failed > 0 ? CLI_NOT_MET : rc;
}
