#ifndef STORE_ROOM_H
#define STORE_ROOM_H

/* room - how much room the disk has, and when the log is compacted for want of
   it: see room.c. */

#include "base/base.h"

struct store;

struct room {
    int64_t free;      /* bytes when it was last looked at, */
    int64_t end;       /* and s->log.end then */
    int64_t missing;   /* bytes that the last batch lacked */
    bool full;         /* it was refused, or a write failed for want of room, */
    int64_t refused;   /* and so much was free then, */
    bool takes_last;   /* which was enough for what store_stage_last takes */
    bool ordinary;     /* the batch has other records than of
                          store_stage_last */
    bool told;         /* that old generations made way */
    int64_t tried_ms;  /* end of the last compaction, 0: there was none, */
    int64_t needed;    /* and another needs more room than this, INT64_MAX: more
                          will not help, -1: it succeeded */
};

/* Looks how much room there is, in s->room.free; closed generations make way
   for `need` bytes, if that suffices. Returns how many are still missing. */
int64_t room_look(struct store *s, int64_t need);
/* Whether the batch has to wait for room. What ends or hands over work only
   waits for a compaction that its caller can make. */
bool store_lacks_room(struct store *s);
/* A write of len bytes found no room: gives up a piece of the reserve, if they
   are the last of tasks, or the oldest closed generations. Returns whether it
   may be tried again. */
bool room_make_way(struct store *s, int64_t len, bool last);
/* Fills the reserve, after a batch for which there was room. */
void room_fill(const struct store *s);
/* A write failed for want of so many bytes, 0: unknown. */
void room_note_full(struct store *s, int64_t missing);
/* Notes how an attempt to compact ended. */
void room_note_attempt(struct store *s, int rc);

#endif
