#ifndef STORE_LOG_H
#define STORE_LOG_H

/* log - the log as a file that is read: its header, and what each line is. */

#include "store/index.h"
#include "store/lost.h"
#include "store/record.h"

#include <sys/stat.h>

/* A log, as far as it was read. Its keys are its reader's affair. */
struct log {
    int64_t end;      /* bytes that were read */
    uint64_t g;       /* generation, 0: not known */
    uint64_t head;    /* newest n */
    int fd;           /* or -1 */
    bool compacted;   /* before the end record of a compacted file */
    bool headless;    /* the header is damaged: an end record may come */
    bool damaged;     /* it is, in what was read */
    uint64_t counted; /* records since its header */
    struct lost lost; /* where damaged: of what */
};

struct log_file {
    int fd;
    bool readonly; /* fd is open for reading only */
    struct stat st;
    struct record_header h;
    char why[256]; /* says what is wrong, with the path */
};

/* Opens the file at path, for writing where that may be, and reads its header;
   one that is damaged says so, with what can be told all the same, g 0 where
   that cannot. ERR_NOT_FOUND: no file, or st says an empty one; ERR_FORMAT,
   ERR_IO with why. */
int log_open(const char *path, bool readonly, struct log_file *out);
/* Whether fd still begins with the header of that generation and store. */
bool log_is(int fd, uint64_t g, const char *id);
/* Begins to read a file, of which nothing was read. */
void log_begin(struct log *l, int fd, const struct record_header *h);

struct judged {
    enum {
        LOG_RECORD, /* r is whole and may stand here */
        LOG_END,    /* so may r, the end record of a compacted file */
        LOG_DAMAGE, /* not a record, though it was synced */
        LOG_TORN    /* not a record, and never acknowledged */
    } as;
    struct store_rec r;
    int64_t off;       /* of the line */
    uint64_t behind;   /* number of the record before it */
    const char *wrong; /* here, or before a record that is whole; or NULL */
};

/* Judges the next line of l by where it stands, and notes what is lost; keys
   are those of the records before it. l goes on behind the line, unless it is
   torn. Bytes below committed were once synced. 1; 0: the end;
   ERR_IO, ERR_NOMEM. */
int log_next(struct log *l, struct record_reader *rd,
             const struct index *keys, int64_t committed, struct judged *out);

#endif
