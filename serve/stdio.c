/* stdio - MCP over standard input and output, one message per line.

   It never waits for a client that does not read: the answers stay here and the
   input stays unread. In a line over STDIO_MAX_LINE it only looks for the id,
   answers with an error, and continues with the next line.

   Invariants:
   1. flush_out is the only function that writes to standard output.
   2. Input is read only after every line read before is answered or waits: so a
      client that sends much is held up, and not kept in memory.
   3. Each byte is searched for a line feed once: in[pos, seen) has none.
   4. There is memory for a whole read and for an error from the start. If it
      runs out even so, the process ends: it could answer no message, and the
      input would stay readable, so the loop would spin.
   5. No write can block. A pipe or socket gets O_NONBLOCK. Anything else may be
      shared with others, whom that flag would affect: it gets short writes when
      select allows them. */

#include "serve/stdio.h"
#include "base/text.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define IN_FD 0
#define OUT_FD 1
#define READ_LEN ((size_t)64 * 1024)
/* The memory that an empty buffer keeps: room for a whole read after the
   beginning of a line. */
#define KEEP_LEN (2 * READ_LEN)
#define SHORT_WRITE ((size_t)4096)   /* invariant 5; PIPE_BUF on most */
#define CHECK_MS 5000                 /* how often the client is checked */
#define FLUSH_MS 2000 /* without progress; then it stops waiting at the end */

/* So a line that is too long fills the buffer alone. */
_Static_assert(STDIO_MAX_LINE > READ_LEN, "a long line fills many reads");

struct stdio {
    struct loop *loop;
    struct turn *turn;
    struct peer *peer;
    struct mcp_channel channel; /* of the peer and of the session */
    struct buf in;
    size_t pos;  /* where the first line not yet pushed begins */
    size_t seen; /* invariant 3 */
    struct buf out;
    size_t sent;     /* bytes of out that are written */
    bool skipping;   /* inside a line that is not kept */
    size_t limit;    /* it is longer; 0: there is no memory for it */
    bool eof;        /* all input has been read */
    bool hung_up;    /* the client has closed it; some may be unread */
    bool broken;     /* output fails */
    bool nonblock;   /* O_NONBLOCK is set on OUT_FD */
    int old_flags;   /* of OUT_FD, to be restored; -1: unchanged */
    struct mcp_facts facts;
    struct mcp_scan scan; /* looks for its id */
    struct arena spare;   /* for that; invariant 4 */
    int64_t end_ms;  /* until when lines are run at the end; 0: not yet */
    int64_t last_ms; /* when the end began, or of the last progress since */
    pid_t parent;
    struct loop_timer check_timer, flush_timer;
};

void
stdio_fill(void)
{
    int fd;

    do {
        fd = open("/dev/null", O_RDWR);
        /* An empty root has no /dev, but always "/": it can be neither read nor
           written, so stdin and stdout end immediately. */
        if (fd < 0)
            fd = open("/", O_RDONLY);
    } while (fd >= 0 && fd <= 2);
    if (fd > 2)
        close(fd);
}

static size_t
unsent_output(const struct stdio *io)
{
    return io->out.len - io->sent;
}

static bool
is_full(const struct stdio *io)
{
    return unsent_output(io) > STDIO_MAX_UNSENT;
}

static void on_readable(void *ctx, int fd, int events);
static void on_writable(void *ctx, int fd, int events);

/* Invariant 2. A client that reads no answers is not read or run either. */
static void
set_interest(struct stdio *io)
{
    bool rd = !io->eof && !is_full(io) && !turn_pending(io->peer) &&
              !turn_stopping(io->turn);
    bool wr = unsent_output(io) > 0;
    int err = loop_watch(io->loop, IN_FD, rd ? LOOP_READ : 0, on_readable, io);

    mcp_channel_block(turn_mcp(io->turn), &io->channel, is_full(io));
    if (err == 0)
        err = loop_watch(io->loop, OUT_FD, wr ? LOOP_WRITE : 0, on_writable,
                         io);
    ASSERT(err == 0); /* stdio_open has watched both */
}

/* ---- output ---- */

/* Empties b, but keeps, or allocates again, the memory of invariant 4. */
static void
empty_buf(struct buf *b)
{
    buf_reset(b, KEEP_LEN);
    buf_reserve(b, KEEP_LEN);
    b->err = 0;
}

/* Writes once, as much as fits. */
static void
flush_out(struct stdio *io)
{
    size_t n = unsent_output(io);
    ssize_t done;

    if (n == 0 || io->broken)
        return;
    if (!io->nonblock && n > SHORT_WRITE)
        n = SHORT_WRITE;
    done = write(OUT_FD, io->out.p + io->sent, n);
    if (done < 0 && errno != EINTR && errno != EAGAIN &&
        errno != EWOULDBLOCK)
        io->broken = true;
    if (done <= 0)
        return;
    io->sent += (size_t)done;
    io->last_ms = loop_now(io->loop);
    if (unsent_output(io) == 0) {
        empty_buf(&io->out);
        io->sent = 0;
    } else if (io->sent >= io->out.len / 2) {
        /* Moves no more bytes than were sent since the last move. */
        buf_consume(&io->out, io->sent);
        io->sent = 0;
    }
}

static void
on_writable(void *ctx, int fd, int events)
{
    (void)fd;
    (void)events;
    flush_out(ctx);
    set_interest(ctx);
}

/* Invariant 4. */
static void
out_of_memory(struct stdio *io)
{
    if (io->nonblock)
        flush_out(io);
    turn_fail(io->turn, ERR_NOMEM);
}

/* ---- input ---- */

/* Answers a line that is not kept with an error; line is its last part, limit
   as in io. All lines before it are answered. */
static void
refuse_line(struct stdio *io, struct str line, size_t limit)
{
    size_t at = io->out.len;

    mcp_scan(&io->scan, line);
    mcp_refuse_unread(&io->out, limit, &io->scan, &io->spare);
    arena_reset(&io->spare);
    buf_char(&io->out, '\n');
    if (io->out.err != 0) {
        io->out.len = at;
        out_of_memory(io);
    }
    io->out.err = 0;
    io->scan = (struct mcp_scan){.len = 0};
    io->skipping = false;
}

/* Drops the line at pos, and the rest of it as it comes. Answers only at its
   end, since the id may come last. limit: as in io. */
static void
skip_line(struct stdio *io, size_t limit)
{
    struct str rest = str_from(buf_view(&io->in), io->pos);

    mcp_scan(&io->scan, rest);
    if (!io->skipping)
        io->limit = limit;
    io->skipping = true;
    empty_buf(&io->in);
    io->pos = io->seen = 0;
    if (io->eof)
        refuse_line(io, STR_NONE, io->limit);
}

/* Finds the next whole line, without its line feed; the last line of the input
   need not have one. */
static bool
cut_input_line(struct stdio *io, struct str *line)
{
    struct str rest = str_from(buf_view(&io->in), io->pos);
    const char *lf = NULL;

    if (io->seen < io->pos)
        io->seen = io->pos;
    if (io->in.len > io->seen)
        lf = memchr(io->in.p + io->seen, '\n', io->in.len - io->seen);
    io->seen = io->in.len;
    if (lf == NULL && (!io->eof || rest.len == 0))
        return false;
    if (lf == NULL)
        lf = str_end(rest);
    *line = (struct str){rest.p, (size_t)(lf - rest.p)};
    io->seen = io->pos + line->len;
    return true;
}

/* Pushes one line; false: it has to wait for those before it. */
static bool
push_line(struct stdio *io, struct str line)
{
    size_t blank = 0;
    int err;

    if (line.len > 0 && line.p[line.len - 1] == '\r')
        line.len--;
    while (blank < line.len && (line.p[blank] == ' ' ||
                                line.p[blank] == '\t' ||
                                line.p[blank] == '\r'))
        blank++;
    if (blank == line.len)
        return true;
    if (line.len > STDIO_MAX_LINE) {
        refuse_line(io, line, STDIO_MAX_LINE);
        return true;
    }
    err = turn_push(io->peer, &io->facts, &line);
    if (err == ERR_NOMEM && !turn_pending(io->peer)) {
        refuse_line(io, line, 0); /* memory is too small even for it alone */
        return true;
    }
    return err == 0;
}

/* Pushes the lines in the buffer until the turn accepts no more. */
static void
push_lines(struct stdio *io)
{
    struct str line;

    while (!turn_stopping(io->turn) && cut_input_line(io, &line)) {
        if (io->skipping)
            refuse_line(io, line, io->limit);
        else if (!push_line(io, line))
            return;
        io->pos += line.len + 1;
        if (io->pos > io->in.len) /* the last line had no line feed */
            io->pos = io->in.len;
    }
    if (io->pos == io->in.len && !turn_pending(io->peer)) {
        empty_buf(&io->in);
        io->pos = io->seen = 0;
    }
    if (io->skipping || io->in.len - io->pos > STDIO_MAX_LINE + 1)
        skip_line(io, STDIO_MAX_LINE);
}

static void
read_input(struct stdio *io)
{
    char *to;
    ssize_t n;

    if (io->pos > 0) {
        buf_consume(&io->in, io->pos);
        io->seen -= io->pos;
        io->pos = 0;
    }
    to = buf_room(&io->in, READ_LEN);
    if (to == NULL) {
        skip_line(io, 0); /* what it had is more than a read needs */
        to = buf_room(&io->in, READ_LEN);
    }
    if (to == NULL) {
        out_of_memory(io);
        return;
    }
    n = read(IN_FD, to, READ_LEN);
    if (n < 0 && (errno == EINTR || errno == EAGAIN || errno == EWOULDBLOCK))
        return;
    if (n <= 0)
        io->eof = true;
    else
        io->in.len += (size_t)n;
    push_lines(io);
}

static void
on_readable(void *ctx, int fd, int events)
{
    (void)fd;
    (void)events;
    read_input(ctx);
    set_interest(ctx);
}

/* ---- the channel ---- */

/* Writes a message of ours immediately, if that cannot block, with the answers
   before it, and other answers together once the turn has no more. If memory
   runs out, the change that an answer reports is on disk even so. */
static bool
send_line(void *ctx, const struct mcp_out *o)
{
    struct stdio *io = ctx;
    struct str line = o->text;
    bool fits = line.len == 0 || buf_room(&io->out, line.len + 1) != NULL;

    if (fits && line.len > 0) {
        buf_str(&io->out, line);
        buf_char(&io->out, '\n');
    }
    io->out.err = 0;
    if ((!fits && o->to == NULL) || o->status == MCP_LOST)
        out_of_memory(io);
    if (o->to != NULL)
        return fits;
    if (io->nonblock)
        flush_out(io);
    set_interest(io);
    return fits;
}

static bool
is_output_behind(void *ctx)
{
    return unsent_output(ctx) > 0;
}

/* A client that ends its input is about to leave, and waits no longer. */
static bool
is_input_over(void *ctx)
{
    const struct stdio *io = ctx;

    return io->eof;
}

static void
on_lines_done(void *ctx)
{
    struct stdio *io = ctx;

    if (io->nonblock)
        flush_out(io);
    if (!turn_pending(io->peer))
        push_lines(io);
    set_interest(io);
}

/* ---- begin and end ---- */

/* Notices what reads do not show: the parent has exited while another process
   holds the pipe, or the client has closed the input and reads no answers. */
static void
check_client(void *ctx)
{
    struct stdio *io = ctx;
    struct pollfd p = {.fd = IN_FD};

    if (getppid() != io->parent)
        turn_stop(io->turn);
    io->hung_up = is_full(io) && poll(&p, 1, 0) == 1;
    loop_timer_set(io->loop, &io->check_timer, loop_next(io->loop, CHECK_MS));
}

static void
set_nonblock(struct stdio *io)
{
    int flags = fcntl(OUT_FD, F_GETFL);
    struct stat st;

    io->old_flags = -1;
    io->nonblock = flags >= 0 && (flags & O_NONBLOCK) != 0;
    if (flags < 0 || io->nonblock || fstat(OUT_FD, &st) != 0 ||
        !(S_ISFIFO(st.st_mode) || S_ISSOCK(st.st_mode)))
        return;
    io->nonblock = fcntl(OUT_FD, F_SETFL, flags | O_NONBLOCK) == 0;
    if (io->nonblock)
        io->old_flags = flags;
}

static void
free_stdio(struct stdio *io)
{
    turn_leave(io->peer); /* before the session of its messages */
    mcp_leave(io->facts.session);
    buf_fini(&io->in);
    buf_fini(&io->out);
    arena_fini(&io->spare);
    free(io);
}

int
stdio_open(struct stdio **out, struct turn *s, struct loop *l)
{
    struct stdio *io = calloc(1, sizeof(*io));

    if (io == NULL)
        return ERR_NOMEM;
    io->loop = l;
    io->turn = s;
    buf_reserve(&io->in, KEEP_LEN);
    buf_reserve(&io->out, KEEP_LEN);
    io->channel = (struct mcp_channel){.send = send_line,
                                       .behind = is_output_behind,
                                       .gone = is_input_over,
                                       .done = on_lines_done, .ctx = io};
    io->peer = turn_join(s, &io->channel);
    if (io->peer != NULL)
        io->facts.session = mcp_join(turn_mcp(s), &io->channel);
    if (io->in.err != 0 || io->out.err != 0 || io->peer == NULL ||
        io->facts.session == NULL || arena_alloc(&io->spare, 1) == NULL ||
        loop_watch(l, IN_FD, LOOP_READ, on_readable, io) < 0 ||
        loop_watch(l, OUT_FD, LOOP_WRITE, on_writable, io) < 0) {
        free_stdio(io);
        return ERR_NOMEM;
    }
    set_nonblock(io);
    set_interest(io);
    io->parent = getppid();
    io->check_timer = (struct loop_timer){.fn = check_client, .ctx = io};
    check_client(io);
    *out = io;
    return 0;
}

void
stdio_close(struct stdio *io)
{
    if (io == NULL)
        return;
    loop_timer_stop(io->loop, &io->check_timer);
    loop_timer_stop(io->loop, &io->flush_timer);
    loop_watch(io->loop, IN_FD, 0, NULL, NULL);
    loop_watch(io->loop, OUT_FD, 0, NULL, NULL);
    if (io->old_flags >= 0)
        fcntl(OUT_FD, F_SETFL, io->old_flags);
    free_stdio(io);
}

bool
stdio_ended(void *ctx)
{
    struct stdio *io = ctx;
    int64_t now = loop_now(io->loop);
    bool taken = turn_pending(io->peer);
    bool last = turn_stopping(io->turn) || (io->eof && !taken) ||
                ((io->eof || io->hung_up) && is_full(io));

    if (io->broken || !last)
        return io->broken;
    if (io->end_ms == 0) {
        io->last_ms = now;
        io->end_ms = now + TURN_END_MS;
    }
    taken = taken && !is_full(io) && now < io->end_ms;
    if (unsent_output(io) == 0 && !taken)
        return true;
    loop_timer_set(io->loop, &io->flush_timer,
                   taken ? io->end_ms : io->last_ms + FLUSH_MS);
    return now - io->last_ms >= FLUSH_MS;
}
