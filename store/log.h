#ifndef STORE_LOG_H
#define STORE_LOG_H

/* log - reads a log file: its header, and a judgement of each line. */

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
    uint64_t behind;   /* number of the previous record */
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

#endif
