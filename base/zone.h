#ifndef BASE_ZONE_H
#define BASE_ZONE_H

/* zone - local time. The C library's own reader of zones is five times as
   large. */

#include <stdint.h>

/* A POSIX TZ string, or the start of a file of zoneinfo, which has 4 KB. */
struct zone {
    char text[8192];
};

/* Reads the zone that tz names, the value of TZ, or NULL where that is not set:
   then it is the system's. One that cannot be read is UTC. */
void zone_load(struct zone *z, const char *tz);
/* How far local time was, or will be, ahead of UTC at a time since 1970. */
int64_t zone_ahead_ms(const struct zone *z, int64_t ms);

#endif
