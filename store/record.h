#ifndef STORE_RECORD_H
#define STORE_RECORD_H

/* record - the log's bytes: one line a record, and nothing else. The format
   stands in record.c. */

#include "store/kind.h"

#define RECORD_VERSION 1
#define RECORD_KEY_LOG "log"
#define RECORD_KEY_END "end"
#define RECORD_KEY_CLOSED "log/closed"
#define RECORD_HEADER_MAX 512 /* bytes of the first line */
#define RECORD_CRC_AT 6       /* where the hex digits of c stand */
#define RECORD_SUM_FROM 16    /* from where on c counts */
/* Beyond these nothing is a record: what comes next could not be written. */
#define RECORD_MAX_N (UINT64_C(1) << 62)
#define RECORD_MAX_G UINT64_C(9999999999) /* what a mark has room for */

/* CRC-32C (RFC 3720, B.4) of n bytes behind those that crc is of, 0 at first. */
uint32_t crc32c(uint32_t crc, const void *p, size_t n);
/* The same without instructions of the processor's own; for the tests. */
uint32_t crc32c_table(uint32_t crc, const void *p, size_t n);

/* Whether key may stand in a log: "kind/id", within STORE_MAX_KEY. */
bool record_key_ok(struct str key);
/* Appends the record as a line, line feed included; r->line is not read.
   The caller sees to key and body being well-formed. */
void record_put(struct buf *b, const struct store_rec *r);
/* Splits a line (without its line feed) and checks form and CRC: 0, or
   ERR_SYNTAX when it is not a record. out points into line. */
int record_parse(struct str line, struct store_rec *out);
/* What a damaged line still shows, unchecked: n, p and key
   of the first head in it that can be read; line goes on behind that. False:
   there are no more. */
bool record_peek(struct str *line, struct store_rec *out);
/* The number n of a line, by its first bytes alone, unchecked. */
bool record_peek_n(struct str line, uint64_t *n);

struct record_header {
    uint64_t version;
    uint64_t g;
    char id[33];
    bool compacted;
    bool archive; /* and holds ended tasks, each once; only to be written */
    bool damaged; /* for a reader: the line is, and ... */
    int64_t end;  /* ... where the next one begins */
};

/* Gives h an id for a new store, at random: 0 or ERR_IO. */
int record_new_id(struct record_header *h);
/* Appends a header line. */
void record_put_header(struct buf *b, const struct record_header *h,
                       int64_t now_ms);
/* Appends a compacted file's end record. */
void record_put_end(struct buf *b, uint64_t g, uint64_t n, uint64_t count,
                    int64_t now_ms);
/* Reads a first line: 0; ERR_SYNTAX: a log's, but damaged; ERR_FORMAT: no
   log, or of a version unknown here (out->version is then not 0). */
int record_parse_header(struct str line, struct record_header *out);
/* Fills in what a first line that is damaged still says of id and compacted;
   out->g is left alone. */
void record_guess_header(struct str line, struct record_header *out);
/* Whether r is the header of an archive. */
bool record_archives(const struct store_rec *r);
/* The count of an end record, or 0. */
uint64_t record_end_count(const struct store_rec *r);

/* ---- lines in order ---- */

#define RECORD_PEEK 64 /* bytes in which g and n of a record stand */

/* Reads the lines of fd between off and end. Zeroed, then fd, off, end set. */
struct record_reader {
    int fd;
    int64_t off; /* of the next line */
    int64_t end; /* bytes from here on are not looked at */
    struct buf b;
    size_t pos;  /* of the next line in b */
    int64_t filled; /* file offset behind the bytes in b */
    int64_t chunk;  /* bytes read first, then twice as many; 0: many */
};

/* The next line without its line feed, valid until the next call, and where
   it starts. 1: a line; 0: the end; ERR_MORE: bytes without a line feed up
   to the end, given as *line; ERR_TOO_LARGE: a line over
   STORE_MAX_RECORD was skipped; ERR_IO, ERR_NOMEM. */
int record_next(struct record_reader *r, struct str *line, int64_t *off);
/* Skips to behind the next line feed. 1; 0: there is none; ERR_IO,
   ERR_NOMEM. */
int record_skip(struct record_reader *r);
/* The first bytes of the next line, RECORD_PEEK or more if there are as many,
   as record_peek_n needs them; valid until the next call. */
struct str record_glance(struct record_reader *r);
/* The next whole record, valid until the next call; the rest is skipped.
   1; 0: the end; ERR_IO, ERR_NOMEM. */
int record_next_whole(struct record_reader *r, struct store_rec *out,
                      int64_t *off);
void record_reader_fini(struct record_reader *r);

#endif
