#ifndef STORE_LOG_H
#define STORE_LOG_H

/* log - reads a log file: its header, a judgement of each line, and a record by
   its number. */

#include "store/record.h"

#include <sys/stat.h>

#define LOG_NEXT_G 2 /* generations to one that is no compaction of a log */

/* A log, as far as it was read. */
struct log {
    int64_t end;      /* bytes read */
    uint64_t g;       /* generation, 0: unknown */
    uint64_t head;    /* newest n */
    int fd;           /* or -1 */
    bool compacted;   /* before the end record of a compacted file */
    bool headless;    /* damaged header: an end record may come */
    bool damaged;     /* damage was found */
    bool readonly;    /* fd is read-only */
    bool mounted;     /* the log itself is a mount point */
    bool linked;      /* it has another name, but for a closed generation's */
    bool foreign;     /* a replica without its remote, or the reverse */
    uint64_t counted; /* records after the header */
    uint64_t missing; /* of a damaged log: records missing before head */
    uint64_t last;    /* highest n ever given, if the mark has it; or 0 */
};

struct log_file {
    int fd;
    bool readonly; /* fd is read-only */
    struct stat st;
    struct record_header h;
    char why[256]; /* what is wrong, with the path */
};

/* Opens the file at path, for writing if permitted, and reads its header. A
   damaged header is marked so and has what could be recovered; g is 0 if
   unknown. ERR_NOT_FOUND: no file, or an empty one (see st); ERR_FORMAT (also
   of a later version), ERR_IO or ERR_NOMEM, with why. */
int log_open(const char *path, bool readonly, struct log_file *out);
/* Returns whether fd still begins with the header of that generation and
   store. */
bool log_is(int fd, uint64_t g, const char *id);
/* Initializes l to read fd from the start. */
void log_begin(struct log *l, int fd, const struct record_header *h);

struct judged {
    enum {
        LOG_RECORD, /* r is whole and in its place */
        LOG_END,    /* so is r, the end record of a compacted file */
        LOG_DAMAGE, /* not a record, although synced */
        LOG_TORN    /* not a record, and never acknowledged */
    } as;
    struct store_rec r;
    struct str line;   /* whole or not; valid as record_next says */
    int64_t off;       /* of the line */
    uint64_t after_n;  /* number of the previous record */
    const char *wrong; /* what is wrong here, or before a whole record; or
                          NULL */
};

/* Judges the next line. Advances l past the line unless it is torn. Bytes below
   `committed` were once synced. Returns 1, 0 at the end, ERR_IO or
   ERR_NOMEM. */
int log_next(struct log *l, struct record_reader *rd, int64_t committed,
             struct judged *out);
/* How many records a damaged log has lost. */
uint64_t log_lost(const struct log *l);

/* Offset to start reading at for record n: no earlier line has that number. */
int64_t log_search(int fd, int64_t end, uint64_t n);
/* Looks at record n: the number of the first record of its batch, and its
   record_sum; both 0 if it is missing. Returns the offset of the lines after
   it. */
int64_t log_seek(int fd, int64_t end, uint64_t n, uint64_t *b, uint32_t *sum);
/* Reads record n, at *off, into a. 0, ERR_NOT_FOUND, ERR_DAMAGED, ERR_IO,
   ERR_NOMEM. */
int log_find(int fd, int64_t end, uint64_t n, struct arena *a,
             struct store_rec *out, int64_t *off);
/* Copies bytes from..end to offset `at` of fd, which may be the same file. 0,
   or enum err with errno. */
int log_copy(int from_fd, int64_t from, int64_t end, int fd, int64_t at);

#endif
