#ifndef STORE_RECORD_H
#define STORE_RECORD_H

/* record - the log's bytes: one line per record. record.c describes the
   format. */

#include "store.h"

#define RECORD_VERSION 2 /* newest known: of replicas; other logs have 1 */
#define RECORD_KEY_LOG "log"
#define RECORD_KEY_END "end"
#define RECORD_HEADER_MAX 512 /* limit for the first line, bytes */
#define RECORD_CRC_AT 6       /* offset of c's hex digits */
#define RECORD_SUM_FROM 16    /* offset where c's range starts */
/* Records beyond these are invalid: the next one could not be written. */
#define RECORD_MAX_N (UINT64_C(1) << 62)
#define RECORD_MAX_G UINT64_C(9999999999) /* all that fits in a mark */

/* CRC-32C (RFC 3720, B.4) of n more bytes; crc is that of the bytes before,
   initially 0. */
uint32_t crc32c(uint32_t crc, const void *p, size_t n);
/* The same without special CPU instructions; for tests. */
uint32_t crc32c_table(uint32_t crc, const void *p, size_t n);

/* Returns whether key is valid in a log: "kind/id", within STORE_MAX_KEY. */
bool record_key_ok(struct str key);
/* Appends r as a line with its line feed; ignores r->line. The caller ensures
   that key and body are well-formed. */
void record_put(struct buf *b, const struct store_rec *r);
/* Splits a line (without its line feed) and checks form and CRC. 0, or
   ERR_SYNTAX if it is not a record. out points into line. */
int record_parse(struct str line, struct store_rec *out);
/* CRC-32C of a line (without its line feed) from its n on: what is the same on
   all hosts. 0: not a record's line. */
uint32_t record_sum(struct str line);
/* Reads the key of the first record that a damaged line still shows, unchecked,
   and advances line past it. False: no more. */
bool record_peek_key(struct str *line, struct str *key);
/* Reads the number n from the first bytes of a line, unchecked. */
bool record_peek_n(struct str line, uint64_t *n);

#define RECORD_ID 32 /* hex digits of a store's id */

struct record_header {
    uint64_t version;
    uint64_t g;
    char id[RECORD_ID + 1];
    bool compacted;
    bool replica; /* of a store that other hosts share; version 2 */
    bool archive; /* also holds ended tasks, each once; write only */
    bool damaged; /* when read: the line is damaged, and ... */
    int64_t end;  /* ... the next one begins here */
};

/* Appends a header line. */
void record_put_header(struct buf *b, const struct record_header *h,
                       int64_t now_ms);
/* Appends a compacted file's end record. */
void record_put_end(struct buf *b, uint64_t g, uint64_t n, uint64_t count,
                    int64_t now_ms);
/* Parses a first line. 0; ERR_SYNTAX: a damaged log header; ERR_FORMAT: not a
   log, or of a later version, which out->version then is. */
int record_parse_header(struct str line, struct record_header *out);
/* Fills in what can be recovered of id and compacted from a damaged first line.
   Leaves out->g alone. */
void record_guess_header(struct str line, struct record_header *out);
/* Returns whether r is the header of an archive. */
bool record_archives(const struct store_rec *r);
/* The count of an end record, or 0. */
uint64_t record_end_count(const struct store_rec *r);

/* Reads the lines of fd between off and end. Zeroed, then fd, off, end set. */
struct record_reader {
    int fd;
    int64_t off; /* of the next line */
    int64_t end; /* bytes from here on are not read */
    struct buf b;
    size_t pos;  /* of the next line in b */
    int64_t filled; /* file offset after the bytes in b */
    int64_t chunk;  /* bytes read first, then twice as many; 0: many */
};

/* Reads the next line, without its line feed, and its offset; valid until the
   next call. 1: a line; 0: the end; ERR_INCOMPLETE: the last bytes, in *line,
   have no line feed; ERR_TOO_LARGE: skipped a line over STORE_MAX_RECORD;
   ERR_IO, ERR_NOMEM. */
int record_next(struct record_reader *r, struct str *line, int64_t *off);
/* Skips past the next line feed. 1; 0: there is none; or an error. */
int record_skip(struct record_reader *r);
/* The next whole record, valid until the next call; the rest is skipped.
   1; 0: the end; ERR_IO, ERR_NOMEM. */
int record_next_whole(struct record_reader *r, struct store_rec *out,
                      int64_t *off);
void record_reader_fini(struct record_reader *r);

#endif
