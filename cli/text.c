/* text - the output of commands: columns, facts and errors, free of anything
   that a terminal would act on.

   Invariants:
   1. Only cli_flush writes stdout. Once that fails, nothing more is written,
      the command ends as soon as it notices, and the exit code says that
      output was lost.
   2. An error is one line on stderr, whatever it quotes, and the next step is
      a second one. Only cli_refuse writes them. */

#include "cli/text.h"
#include "cli/table.h"
#include "base/clock.h"
#include "base/text.h"
#include "base/utf8.h"
#include "task/view.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <string.h>
#include <unistd.h>

#define WIPE "\r\033[K" /* what cli_progress wrote */
#define DRAIN_AT (64 * 1024)
#define PROGRESS_MS 250 /* a shorter command shows no progress */

/* ---- what a terminal may see ---- */

/* The number of bytes from p on that are safe to show. In JSON only those are
   not that JSON allows unescaped. */
static size_t
plain_len(const char *p, const char *end, enum cli_safe_as as)
{
    const char *at = p;

    while (at < end) {
        size_t n = 1;
        uint32_t cp = (uint8_t)*at; /* char may be signed or not */
        bool unsafe = false;

        if (cp < ' ' || cp >= 0x7f) {
            n = utf8_len(at, end);
            cp = n > 0 ? utf8_code(at, n) : 0;
            if (as == SAFE_JSON)
                unsafe = n > 0 && cp >= 0x7f && cp <= 0x9f;
            else
                unsafe = n == 0 || (cp != '\t' &&
                                    !(cp == '\n' && as == SAFE_TEXT) &&
                                    utf8_is_active(cp));
        }
        if (unsafe)
            break;
        at += n > 0 ? n : 1;
    }
    return (size_t)(at - p);
}

void
cli_safe(struct buf *b, size_t from, enum cli_safe_as as)
{
    struct buf old = {0};
    const char *p, *end;
    size_t n;

    if (b->err || b->len == from ||
        plain_len(b->p + from, b->p + b->len, as) == b->len - from)
        return;
    buf_put(&old, b->p + from, b->len - from);
    b->err = old.err;
    b->len = from;
    for (p = old.p, end = old.p + old.len; p < end; p += n > 0 ? n : 1) {
        n = plain_len(p, end, as);
        buf_put(b, p, n);
        p += n;
        n = p < end ? utf8_len(p, end) : 0;
        if (n > 0)
            buf_printf(b, as == SAFE_JSON ? "\\u%04x" : "<U+%04X>",
                       (unsigned)utf8_code(p, n));
        else if (p < end)
            buf_z(b, "\xef\xbf\xbd"); /* U+FFFD */
    }
    buf_fini(&old);
}

/* ---- columns ---- */

void
cli_put_word(struct buf *b, struct str s)
{
    static const char plain[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
        "0123456789/._-+=:,@%";
    bool quoted = s.len == 0;

    for (size_t i = 0; i < s.len; i++)
        quoted |= s.p[i] == '\0' || strchr(plain, s.p[i]) == NULL;
    buf_z(b, quoted ? "'" : "");
    for (size_t i = 0; i < s.len; i++) {
        if (s.p[i] == '\'')
            buf_z(b, "'\\'");
        buf_char(b, s.p[i]);
    }
    buf_z(b, quoted ? "'" : "");
}

/* Makes a table of the lines, with columns as wide as those before. Each but
   the last ends with two blanks. Only a status has a colour, found by its first
   letters: that is the word that a reader looks for. */
static void
align_columns(struct cli *c)
{
    static const struct { char word[13], sgr[3]; } colors[] = {
        {"failed", "31"}, {"cancelled", "2"},
        {"problem", "31"}, {"ok", "32"}, {"working", "36"},
        {"input_requi", "35"}, {"completed", "32"}};
    static const struct table_column cols[CLI_COLUMNS + 1] = {
        [CLI_COLUMNS] = {.rest = true}};
    struct buf lines = c->out;
    struct str all = buf_view(&lines);
    struct table t;

    c->out = (struct buf){.err = lines.err};
    table_begin(&t, c, cols, c->columns + 1,
                c->fit && c->tty ? screen_columns() : 0);
    memcpy(t.wide, c->width, sizeof c->width);
    while (all.len > 0) {
        struct table_cell cells[CLI_COLUMNS + 1] = {{STR_NONE, NULL}};
        struct str line = str_cut(&all, '\n'), rest = line;
        size_t i, n;

        for (i = 0; i + 1 < t.n; i++) {
            n = str_find(rest, STR("  "));
            if (n == SIZE_MAX)
                break;
            cells[i].s = (struct str){rest.p, n};
            for (size_t k = 0; k < sizeof colors / sizeof *colors; k++)
                if (str_starts(cells[i].s, colors[k].word))
                    cells[i].sgr = colors[k].sgr;
            rest = str_from(rest, n + 2);
        }
        cells[i].s = rest;
        if (i + 1 == t.n)
            table_row(&t, cells);
        else
            table_line(&t, 0, (struct table_cell){line, NULL});
    }
    table_end(&t);
    memcpy(c->width, t.wide, sizeof c->width);
    c->exact = false; /* what comes next is not safe yet */
    buf_fini(&lines);
}

/* Shows the headings of markdown in bold. */
static void
paint_headings(struct cli *c)
{
    struct buf md = c->out;
    struct str rest = buf_view(&md), line;

    c->out = (struct buf){.err = md.err};
    while (rest.len > 0) {
        line = str_cut(&rest, '\n');
        cli_paint(c, &c->out, line, str_starts(line, "#") ? "1" : NULL);
        if (rest.p != NULL)
            buf_char(&c->out, '\n');
    }
    buf_fini(&md);
}

/* ---- writing ---- */

/* Returns 0 or errno. A pipe that another process made non-blocking is waited
   for. */
static int
write_all(int fd, const struct buf *b)
{
    if (b->err)
        return ENOMEM;
    for (size_t at = 0; at < b->len; ) {
        ssize_t n = write(fd, b->p + at, b->len - at);

        if (n >= 0)
            at += (size_t)n;
        else if (errno == EAGAIN)
            poll(&(struct pollfd){fd, POLLOUT, 0}, 1, -1);
        else if (errno != EINTR)
            return errno;
    }
    return 0;
}

bool
cli_flush(struct cli *c)
{
    struct buf wipe = {0}; /* what cli_progress has shown */

    if (!c->raw)
        cli_safe(&c->out, 0, c->exact ? SAFE_JSON : SAFE_TEXT);
    if (!c->exact && !c->raw) {
        if (c->md)
            paint_headings(c);
        else if (c->columns > 0)
            align_columns(c);
    }
    if (c->shown_ms > 0)
        buf_z(&wipe, WIPE);
    cli_say(STDERR_FILENO, &wipe);
    c->shown_ms = 0;
    c->wrote |= c->out.len > 0;
    if (c->out_errno == 0)
        c->out_errno = write_all(STDOUT_FILENO, &c->out);
    buf_reset(&c->out, 2 * DRAIN_AT);
    return c->out_errno == 0;
}

bool
cli_drain(struct cli *c)
{
    if (c->out.len < DRAIN_AT && !c->out.err)
        return c->out_errno == 0;
    return cli_flush(c);
}

bool
cli_say(int fd, struct buf *b)
{
    bool ok = write_all(fd, b) == 0;

    buf_fini(b);
    return ok;
}

/* ---- signals ---- */

static volatile sig_atomic_t interrupted;

static void
interrupt(int sig)
{
    (void)sig;
    interrupted = 1;
}

void
cli_catch_signals(void)
{
    static const int signals[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT};

    for (size_t i = 0; i < sizeof signals / sizeof *signals; i++)
        signal(signals[i], interrupt);
}

bool
cli_interrupted(void)
{
    return interrupted;
}

/* ---- errors ---- */

int
cli_refuse(const struct cli *c, const struct task_error *e)
{
    size_t from = c != NULL && c->shown_ms > 0 ? sizeof(WIPE) - 1 : 0;
    bool json = c != NULL && c->json;
    struct buf b = {0};

    screen_close();
    if (json) {
        view_error_json(&b, e);
    } else {
        buf_put(&b, WIPE, from);
        if (c != NULL && c->cmd != NULL && e->code != 0)
            buf_printf(&b, "mcptask %s: ", c->cmd->name);
        else /* a warning, too */
            buf_z(&b, "mcptask: ");
        buf_str(&b, e->message);
    }
    cli_safe(&b, json ? 0 : from, json ? SAFE_JSON : SAFE_LINE);
    buf_char(&b, '\n');
    if (!json && e->next.p != NULL) {
        from = b.len;
        buf_str(&b, e->next);
        cli_safe(&b, from, SAFE_LINE);
        buf_char(&b, '\n');
    }
    if (b.err != 0)
        text_tell("mcptask: out of memory\n");
    cli_say(STDERR_FILENO, &b);
    return e->code == 0 ? CLI_OK : err_row(e->code)->exit;
}

int
cli_fail(const struct cli *c, int err, const char *fmt, ...)
{
    struct task_error e = {.code = err};
    bool steps = strchr(fmt, '\n') != NULL;
    char text[1024], *next;
    va_list ap;

    va_start(ap, fmt);
    text_vput(text, sizeof(text), fmt, ap);
    va_end(ap);
    next = steps ? strrchr(text, '\n') : NULL;
    if (next != NULL) {
        *next = '\0';
        e.next = str_of(next + 1);
    }
    e.message = str_of(text);
    return cli_refuse(c, &e);
}

int
cli_misuse(const struct cli *c, const char *fmt, ...)
{
    struct buf usage = {0};
    char why[512];
    va_list ap;

    va_start(ap, fmt);
    text_vput(why, sizeof(why), fmt, ap);
    va_end(ap);
    if (!c->json)
        cli_put_usage(&usage, c->cmd);
    cli_refuse(c, &(struct task_error){.code = ERR_INVALID,
                                       .message = str_of(why),
                                       .next = str_trim(buf_view(&usage))});
    buf_fini(&usage);
    return CLI_USAGE;
}

bool
cli_confirm(const struct cli *c, const char *fmt, ...)
{
    struct buf b = {0};
    char text[512], answer[2] = "";
    va_list ap;
    char ch = 0;

    if (cli_terminal(STDIN_FILENO) == 0 || cli_terminal(STDERR_FILENO) == 0)
        return false;
    va_start(ap, fmt);
    text_vput(text, sizeof(text), fmt, ap);
    va_end(ap);
    buf_printf(&b, "mcptask %s: %s [y/N] ", c->cmd->name, text);
    cli_safe(&b, 0, SAFE_LINE);
    cli_say(STDERR_FILENO, &b);
    while (read(STDIN_FILENO, &ch, 1) == 1 && ch != '\n')
        if (answer[0] == '\0')
            answer[0] = ch;
    return answer[0] == 'y' || answer[0] == 'Y';
}

void
cli_put_usage(struct buf *b, const struct cli_command *cmd)
{
    const char *operands = cmd->operands;

    buf_printf(b, "usage: mcptask %s%s%s%s\n", cmd->name,
               cmd->n_opts > 0 ? " [OPTION...]" : "",
               operands[0] != '\0' ? " " : "", operands);
}

int
cli_fail_beside(const struct cli *c, const char *what)
{
    return cli_fail(c, ERR_INVALID, "%s works on the store itself\nrun it "
                    "where the store is, without --server and MCP_TASK_SERVER",
                    what);
}

int
cli_fail_path(const struct cli *c, int err, const char *path)
{
    return cli_fail(c, err, "%s: %s", path, err_row(err)->message);
}

int
cli_fail_errno(const struct cli *c, int err, const char *path)
{
    return cli_fail(c, err, "%s: %s", path, strerror(errno));
}

int
cli_fail_store(const struct cli *c, int err)
{
    const struct store_state *st;

    if (err == ERR_NOMEM) /* perhaps before the store was opened */
        return cli_fail(c, err, "out of memory");
    st = store_state(c->s.store);
    if (err == ERR_BUSY)
        return cli_fail(c, err, "%s: another process holds the lock\ntry "
                        "again", st->path);
    if (err == ERR_READONLY && st->why[0] == '\0')
        return cli_fail(c, err, "%s: opened for reading only\nomit "
                        "--read-only", st->path);
    if (st->why[0] == '\0')
        return cli_fail_path(c, err, st->path);
    return cli_fail(c, err, "%s", st->why);
}

bool
cli_is_archived(const struct cli *c, const char *id)
{
    return c->env->server != NULL ? c->gone
                                  : tasks_is_archived(c->s.tasks, str_of(id));
}

/* ---- progress ---- */

void
cli_progress(struct cli *c, uint64_t n, uint64_t total)
{
    int64_t now = clock_mono_ms();
    struct buf b = {0};

    if (c->begun_ms == 0)
        c->begun_ms = now;
    if (now - c->begun_ms < PROGRESS_MS || now - c->shown_ms < PROGRESS_MS ||
        cli_terminal(STDERR_FILENO) == 0)
        return;
    c->shown_ms = now;
    buf_printf(&b, WIPE "%s: %llu%%", c->cmd->name, (unsigned long long)
               (n >= total ? 100 : n * 100 / total));
    cli_say(STDERR_FILENO, &b);
}

const char *
cli_span(char buf[24], int64_t ms)
{
    static const struct {
        int32_t s;
        char name;
    } units[] = {{86400, 'd'}, {3600, 'h'}, {60, 'm'}, {1, 's'}};
    int i = 0;

    if (ms < 0) /* another host's clock was ahead */
        ms = 0;
    while (units[i].s > 1 && ms / 1000 < units[i].s)
        i++;
    text_put(buf, 24, "%lld%c", (long long)(ms / 1000 / units[i].s),
             units[i].name);
    return buf;
}

/* ---- facts ---- */

/* In a text, {name} is the value of a fact, and {s} the plural of what the
   number before it counts. */

#define MAX_FACTS 24 /* of one format */

struct fact {
    struct str name; /* .p NULL: ends the list */
    struct str text; /* .p NULL: a number or a bool */
    uint64_t n;
    bool is_bool;    /* n is 0 or not */
};

/* Reads the facts of a format, and their values. */
static void
take_facts(struct fact *f, const char *format, va_list ap)
{
    const struct fact *end = f + MAX_FACTS;

    for (; *format != '\0'; f++) {
        int n = 0; /* of %.*s and %d */

        ASSERT(f < end);
        f->name = (struct str){format, strcspn(format, "=")};
        format += f->name.len + 2;
        f->is_bool = *format == 'd';
        if (*format == 'd' || *format == '.')
            f->n = (uint64_t)(n = va_arg(ap, int));
        else if (*format != 's')
            f->n = va_arg(ap, uint64_t);
        if (*format == 's' || *format == '.') {
            const char *text = va_arg(ap, const char *);

            f->text = *format == 's' ? str_of(text)
                                     : (struct str){text, (size_t)n};
        }
        format += strcspn(format, " ");
        format += *format == ' ';
    }
}

void
cli_tell(struct cli *c, const char *text, const char *facts, ...)
{
    struct fact all[MAX_FACTS + 1] = {{.n = 0}};
    const struct fact *f = all;
    struct buf *b = &c->out;
    struct json_w w;
    bool one = false;
    size_t at, n;
    va_list ap;

    va_start(ap, facts);
    take_facts(all, facts, ap);
    va_end(ap);
    if (c->json) {
        json_begin(&w, b);
        for (; f->name.p != NULL; f++) {
            json_key_str(&w, f->name);
            if (f->is_bool)
                json_bool(&w, f->n != 0);
            else if (f->text.p != NULL)
                json_string(&w, f->text);
            else
                json_number(&w, (int64_t)f->n);
        }
        json_end(&w);
        buf_char(b, '\n');
        return;
    }
    for (; *text != '\0'; text += n) {
        n = strcspn(text, "{");
        buf_put(b, text, n);
        text += n;
        n = strcspn(text, "}");
        n += text[n] != '\0';
        if (n == sizeof("{s}") - 1) {
            buf_z(b, one ? "" : "s");
            continue;
        }
        for (f = all; f->name.p != NULL; f++)
            if (n > 2 && str_eq(f->name, (struct str){text + 1, n - 2}))
                break;
        if (f->name.p == NULL) { /* no fact: it stands as it is */
            buf_put(b, text, n);
            continue;
        }
        one = f->text.p == NULL && f->n == 1;
        if (f->text.p == NULL) {
            buf_u64(b, f->n);
            continue;
        }
        at = b->len;
        buf_str(b, f->text);
        cli_safe(b, at, SAFE_LINE);
    }
}
