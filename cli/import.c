/* import - adds tasks from JSON lines, a JSON array or files of Backlog.md.

   The input may be anything, of any length: memory holds only one piece of it
   and one batch of records. A bad record is reported and counted, and the
   import goes on.

   1. Input is never read under the write lock: it may come from a pipe that
      nobody writes to.
   2. The counts printed at the end are of records on disk. */

#include "cli/import.h"
#include "cli/backlog.h"
#include "cli/foreign.h"
#include "cli/store.h"
#include "cli/text.h"
#include "store/record.h"
#include "task/change.h"
#include "base/text.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define CHUNK (64 * 1024)
#define IMPORT_RECORDS 5000        /* in one commit, at most */
#define IMPORT_BYTES (1024 * 1024) /* of input in memory, about */
#define IMPORT_MAX (2 * 1024 * 1024) /* one record: a state, escaped */

/* ---- the input cut into records ---- */

/* Cuts the input into lines, or into the elements of one array, and parses no
   more than that takes: a piece need not be JSON. */
struct input {
    const char *name;
    int fd, err;        /* err: errno of a read that failed */
    int64_t read, size; /* bytes; size 0: unknown */
    char chunk[CHUNK];
    size_t at, n;       /* position in chunk, and its length */
    bool array;
    bool whole;         /* it is one piece: Markdown */
    bool closed;        /* the array has ended */
    bool string, escape; /* within the current element */
    uint32_t depth;
    uint64_t number;    /* of the piece: its line or element, from 1 */
    struct buf piece;   /* without the blanks before it */
    bool long_piece;    /* longer than IMPORT_MAX; the rest was dropped */
};

/* Returns the next byte; -1 at the end, or on an error, then in in->err. */
static int
peek(struct input *in)
{
    ssize_t n;

    if (in->at == in->n) {
        while ((n = read(in->fd, in->chunk, CHUNK)) < 0 && errno == EINTR)
            continue;
        in->err = n < 0 ? errno : 0;
        in->at = 0;
        in->n = n > 0 ? (size_t)n : 0;
        in->read += n;
    }
    return in->at < in->n ? (uint8_t)in->chunk[in->at] : -1;
}

/* Skips blanks and counts lines; returns the next byte, as peek does. */
static int
skip_blanks(struct input *in)
{
    int ch;

    while ((ch = peek(in)) == ' ' || ch == '\t' || ch == '\n' || ch == '\r') {
        in->number += ch == '\n' && !in->array;
        in->at++;
    }
    return ch;
}

/* Skips a byte order mark; an array begins with a bracket, and a task of
   Backlog.md with "---". */
static void
begin_input(struct input *in)
{
    static const uint8_t bom[] = {0xef, 0xbb, 0xbf};

    for (size_t i = 0; i < sizeof(bom) && peek(in) == bom[i]; i++)
        in->at++;
    in->array = skip_blanks(in) == '[';
    in->whole = peek(in) == '-';
    if (in->array) {
        in->at++;
        in->number = 0;
    }
}

/* Whether ch is the comma or bracket after an element. */
static bool
ends_element(struct input *in, int ch)
{
    bool opens = ch == '[' || ch == '{', closes = ch == ']' || ch == '}';

    if (in->string) {
        in->string = in->escape || ch != '"';
        in->escape = !in->escape && ch == '\\';
        return false;
    }
    if (in->depth == 0 && (ch == ',' || ch == ']')) {
        in->closed = ch == ']';
        return true;
    }
    in->string = ch == '"';
    in->depth += opens ? 1 : 0;
    in->depth -= closes && in->depth > 0 ? 1 : 0;
    return false;
}

/* Reads the next piece. Returns 1, or 0 at the end; ERR_IO with in->err,
   ERR_MORE if the array does not end, ERR_SYNTAX for text after its end. */
static int
next_piece(struct input *in)
{
    int ch = skip_blanks(in);

    if (in->closed && ch >= 0)
        return ERR_SYNTAX;
    buf_reset(&in->piece, IMPORT_MAX);
    in->long_piece = false;
    in->number++;
    while (!in->closed && (ch = peek(in)) >= 0) {
        in->at++;
        if (in->array ? ends_element(in, ch) : ch == '\n' && !in->whole)
            return 1;
        if (in->piece.len < IMPORT_MAX)
            buf_char(&in->piece, (char)ch);
        else
            in->long_piece = true;
    }
    if (in->err != 0 || in->piece.len > 0)
        return in->err != 0 ? ERR_IO : 1;
    return in->array && !in->closed ? ERR_MORE : 0;
}

/* ---- from records to tasks ---- */

struct import {
    struct cli *c;
    struct input in;
    int end;     /* the exit code, unless 0 */
    bool stop;
    struct buf text; /* the pieces of one batch */
    struct piece {
        const char *name; /* of its input */
        size_t at, len;
        uint64_t number;
    } piece[IMPORT_RECORDS];
    size_t n;    /* number of pieces */
    size_t done; /* of these, committed */
    uint64_t imported;
    struct counts {
        uint64_t skipped, failed;
        uint64_t n_archive; /* records of an archive so far, */
        bool archive;       /* while within them */
    } counts;
    size_t n_files; /* of a folder */
    bool again; /* the batch is tried again */
};

/* Reports an error in a record; returns the exit code for err. */
static int
say(const struct import *im, int err, uint64_t number, struct str what)
{
    return im->in.whole
        ? cli_fail(im->c, err, "%s: %.*s", im->in.name, STR_ARG(what))
        : cli_fail(im->c, err, "%s: %s %llu: %.*s", im->in.name,
                   im->in.array ? "element" : "line",
                   (unsigned long long)number, STR_ARG(what));
}

/* Counts what was reported. */
static void
count_bad(struct import *im)
{
    im->counts.failed++;
    im->stop |= im->c->args.strict;
}

static void
bad_record(struct import *im, uint64_t number, struct str what)
{
    if (!im->again)
        say(im, ERR_INVALID, number, what);
    count_bad(im);
}

static void
known_task(struct import *im, uint64_t number)
{
    im->counts.skipped++;
    if (!im->c->args.strict)
        return;
    im->stop = true;
    im->end = say(im, ERR_EXISTS, number, STR("the task exists: without "
                                              "--strict it is skipped"));
}

static bool
is_of_store(int err)
{
    return err == ERR_NOMEM || err == ERR_BUSY || err == ERR_FULL ||
           err == ERR_IO || err == ERR_READONLY || err == ERR_DAMAGED ||
           err == ERR_UNREACHABLE || err == ERR_SKEW;
}

#define CUT "records of the archive before it are missing"

/* Whether a line of a log is a task in an archive; its state is then in *root.
   Other logs hold many records of each task: export finds the newest. */
static bool
take_record(struct import *im, struct str line, uint64_t number,
            const struct json_tok **root)
{
    struct record_header h;
    struct store_rec r;
    bool ok = record_parse(line, &r) == 0;
    bool header = ok && str_is(r.key, RECORD_KEY_LOG);
    bool end = ok && str_is(r.key, RECORD_KEY_END);

    if ((!ok || header) && record_parse_header(line, &h) == ERR_FORMAT &&
        h.version > 0) {
        im->stop = true;
        bad_record(im, number, STR("a log that a later version of mcptask "
                                   "wrote: use a newer mcptask"));
        return false;
    }
    if (im->counts.archive && (header || (end && record_end_count(&r) !=
                                              im->counts.n_archive)))
        bad_record(im, number, STR(CUT));
    if (header || end) {
        im->counts.archive = header && record_archives(&r);
        im->counts.n_archive = 0;
    }
    im->counts.n_archive += ok && im->counts.archive && !header;
    if (!ok || !(im->counts.archive || end))
        bad_record(im, number, ok ? STR("a log, but not an archive: import "
                                        "what export writes of it")
                                  : STR("the record is damaged"));
    im->stop |= header && !im->counts.archive;
    *root = json_get(*root, "v");
    return ok && im->counts.archive && !header && *root != NULL;
}

/* Parses a piece. Returns 1, 0 where it is no task, or ERR_NOMEM. */
static int
parse_piece(struct import *im, struct str text, uint64_t number,
            const struct json_tok **root)
{
    struct arena *a = &im->c->a;
    size_t at = 0;
    int rc = im->in.whole ? cli_backlog(a, text, &text) : 0;

    if (rc == 0)
        rc = json_parse(a, text, root, &at);
    if (rc == ERR_NOMEM)
        return rc;
    if (rc < 0)
        bad_record(im, number, im->in.whole
                   ? STR("no front matter between two lines of ---")
                   : arena_printf(a, rc == ERR_TOO_LARGE
                                  ? "too many values, or too deep, at byte %zu"
                                  : "not JSON from byte %zu on", at + 1));
    return rc == 0 && (!str_starts(text, "{\"c\":\"") ||
                       take_record(im, text, number, root));
}

/* Reports what is wrong with a task; of is the program that it came from, NULL:
   unknown. */
static void
refused(struct import *im, uint64_t number, struct task_ctx *c, const char *of,
        const struct json_tok *task)
{
    struct str why = c->e.message;

    if (of != NULL)
        why = arena_printf(c->a, "%.*s (it was read as a task of %s)",
                           STR_ARG(why), of);
    else if (task->type == JSON_OBJECT && json_get(task, "task_id") == NULL)
        why = STR("there is no task_id; issues of beads have id, title and "
                  "priority, tasks of taskwarrior uuid, description and entry");
    bad_record(im, number, why);
}

/* Stages or skips the record, or counts it as bad. Returns 0, or an error of
   the store. */
static int
import_one(struct import *im, struct str text, uint64_t number)
{
    struct task_ctx ctx = {.a = &im->c->a};
    struct task_receipt receipt;
    const struct json_tok *root;
    const char *of;
    int rc = parse_piece(im, text, number, &root);

    if (rc <= 0)
        return rc;
    if (cli_foreign(ctx.a, im->in.whole, &root, &of) != 0)
        return ERR_NOMEM;
    rc = task_import(im->c->s.tasks, &ctx, root, &receipt);
    if (rc == ERR_EXISTS)
        known_task(im, number);
    else if (is_of_store(rc))
        return rc;
    else if (rc < 0)
        refused(im, number, &ctx, of, root);
    return 0;
}

/* Commits as many pieces as the store takes at once, or nothing where the
   import is to stop. The counts grow by what is then on disk. ERR_AGAIN: others
   were first. */
static int
try_batch(struct import *im)
{
    struct cli *c = im->c;
    bool unknown = false;
    size_t i = im->done;
    int rc = store_lock_patiently(c->s.store);

    for (; i < im->n && rc == 0 && !im->stop &&
           !store_batch_is_full(c->s.store); i++) {
        const struct piece *p = &im->piece[i];

        im->in.name = p->name;
        rc = import_one(im, (struct str){im->text.p + p->at, p->len},
                        p->number);
        arena_reset(&c->a);
    }
    task_import_end();
    if (im->stop)
        store_unstage(c->s.store, 0);
    if (store_locked(c->s.store)) {
        size_t staged = store_staged_n(c->s.store);
        int done = cli_commit(c, &unknown);

        im->imported += done == 0 ? staged : 0;
        rc = rc == 0 || done == ERR_AGAIN ? done : rc;
    }
    im->done = rc == 0 ? i : im->done;
    return rc;
}

static int
import_batch(struct import *im)
{
    int rc = 0;

    while (rc == ERR_AGAIN || (rc == 0 && im->done < im->n && !im->stop)) {
        struct counts before = im->counts;

        rc = try_batch(im);
        im->again = rc == ERR_AGAIN; /* bad records have been reported */
        if (im->again) {
            im->counts = before;
            im->stop = false;
        }
    }
    im->n = im->done = 0;
    buf_reset(&im->text, IMPORT_BYTES + IMPORT_MAX);
    return rc;
}

/* Takes one piece into the batch. */
static int
take_piece(struct import *im)
{
    struct input *in = &im->in;
    struct str text = buf_view(&in->piece);

    if (in->piece.err)
        return ERR_NOMEM;
    if (in->long_piece) {
        bad_record(im, in->number, STR("longer than 2 MiB"));
    } else if (text.len == 0) {
        if (in->array && !(in->closed && in->number == 1))
            bad_record(im, in->number, STR("the element is missing"));
    } else {
        im->piece[im->n++] = (struct piece){in->name, im->text.len, text.len,
                                            in->number};
        buf_str(&im->text, text);
    }
    return im->text.err;
}

/* Reads the input, and commits whenever there is enough for a batch. Returns 0,
   or an error of the store; *got is what next_piece returned last. */
static int
read_pieces(struct import *im, int *got)
{
    int rc = 0;

    while (rc == 0 && !im->stop && (*got = next_piece(&im->in)) == 1) {
        rc = take_piece(im);
        if (im->in.size > 0)
            cli_progress(im->c, (uint64_t)im->in.read, (uint64_t)im->in.size);
        if (rc == 0 && (im->n == IMPORT_RECORDS || im->stop ||
                        im->text.len >= IMPORT_BYTES))
            rc = import_batch(im);
    }
    return rc;
}

/* Reports an input that ends too early, or cannot be read. */
static void
end_input(struct import *im, int got)
{
    if (im->counts.archive && got == 0)
        bad_record(im, im->in.number, STR(CUT ", and its end"));
    if (got == ERR_MORE)
        bad_record(im, im->in.number, STR("the input ends within the array"));
    else if (got == ERR_SYNTAX)
        bad_record(im, im->in.number, STR("there is text after the array"));
    else if (got < 0)
        im->end = cli_fail(im->c, ERR_NOT_FOUND, "%s: %s", im->in.name,
                           err_text(im->in.err));
}

static int
import_all(struct import *im)
{
    int got = 1, rc;

    begin_input(&im->in);
    rc = read_pieces(im, &got);
    if (rc == 0)
        rc = import_batch(im);
    if (rc == 0 && !im->stop)
        end_input(im, got);
    return rc;
}

static int
open_input(struct cli *c, struct input *in, const char *name)
{
    struct stat st;

    in->fd = STDIN_FILENO;
    in->name = "standard input";
    if (strcmp(name, "-") == 0)
        return 0;
    in->name = name;
    in->fd = open(name, O_RDONLY | O_CLOEXEC);
    if (in->fd < 0)
        return cli_fail_errno(c, ERR_NOT_FOUND, name);
    if (fstat(in->fd, &st) == 0)
        in->size = st.st_size;
    if (pread(in->fd, in->chunk, 16, 0) == 16 && /* a pipe has no start */
        memcmp(in->chunk, "SQLite format 3", 16) == 0)
        return cli_fail(c, ERR_INVALID, "%s: an SQLite file: write its tasks "
                        "out as JSON first, as with sqlite3 -json %s "
                        "'select * from tasks'", name, name);
    return 0;
}

/* ---- a folder of Backlog.md ---- */

/* Takes the file in, if front matter opens it. One that cannot be opened
   counts as a bad record. */
static int
import_file(struct import *im, const char *path)
{
    int got = 0, rc = open_input(im->c, &im->in, path);

    if (rc != 0) {
        im->n_files++;
        count_bad(im);
        return 0;
    }
    im->in.at = im->in.n = 0;
    begin_input(&im->in);
    im->n_files += im->in.whole;
    if (im->in.whole)
        rc = read_pieces(im, &got);
    if (rc == 0)
        end_input(im, got);
    close(im->in.fd);
    im->in.fd = -1;
    return rc;
}

static int
import_files(struct import *im, const char *path)
{
    DIR *dir = path != NULL ? opendir(path) : NULL;
    struct dirent *e;
    struct str name;
    struct stat st;
    int rc = path == NULL ? ERR_NOMEM : 0;

    while (dir != NULL && rc == 0 && !im->stop && (e = readdir(dir)) != NULL) {
        name = str_of(e->d_name);
        if (name.len < 3 || !str_is(str_from(name, name.len - 3), ".md") ||
            str_starts(name, ".")) /* such as a lock of an editor */
            continue;
        name = arena_printf(&im->c->kept, "%s/%s", path, e->d_name);
        if (name.p == NULL)
            rc = ERR_NOMEM;
        else if (stat(name.p, &st) != 0 || S_ISREG(st.st_mode))
            rc = import_file(im, name.p);
    }
    if (dir != NULL)
        closedir(dir);
    return rc;
}

/* The tasks are in two folders of it, or in itself. */
static int
import_folder(struct import *im, const char *path)
{
    static const char *const inner[] = {"/tasks", "/completed", ""};
    int rc = 0;

    for (size_t i = 0; i < (im->n_files > 0 ? 2 : 3) && rc == 0; i++)
        rc = import_files(im, arena_printf(&im->c->kept, "%s%s", path,
                                           inner[i]).p);
    if (rc == 0)
        rc = import_batch(im);
    if (rc == 0 && im->n_files == 0)
        im->end = cli_fail(im->c, ERR_NOT_FOUND, "%s: no tasks of Backlog.md "
                           "here: name the folder that holds tasks/", path);
    return rc;
}

#define COUNTS "{imported} imported, {skipped} skipped, {failed} failed"

int
cli_import(struct cli *c)
{
    struct import im = {.c = c, .in.fd = -1};
    const char *path = c->operand[0];
    struct stat st;
    int rc;

    if (stat(path, &st) == 0 && S_ISDIR(st.st_mode))
        rc = import_folder(&im, path);
    else if ((rc = open_input(c, &im.in, path)) == 0)
        rc = import_all(&im);
    if (rc <= 0) {
        rc = rc < 0 ? cli_fail_store(c, rc) : im.end;
        cli_tell(c, im.stop && c->args.strict
                            ? COUNTS "; stopped there: import again, without "
                              "--strict, to go on\n"
                            : COUNTS "\n",
                 "imported=" U64 " skipped=" U64 " failed=" U64,
                 im.imported, im.counts.skipped, im.counts.failed);
    }
    if (im.in.fd > STDIN_FILENO)
        close(im.in.fd);
    buf_fini(&im.in.piece);
    buf_fini(&im.text);
    return rc == 0 && im.counts.failed > 0 ? CLI_NOT_MET : rc;
}
