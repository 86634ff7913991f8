#ifndef BASE_ZONE_H
#define BASE_ZONE_H

/* zone - local time. The C library's own reader of zones is five times as
   large. */

#include <stdint.h>

/* A POSIX TZ string, or the start of a zoneinfo file, which has up to 4 KB. */
struct zone {
    char text[8192];
};

/* Reads the zone that tz, the value of TZ, names; NULL: that of the system. If
   it cannot be read, UTC is used. */
void zone_load(struct zone *z, const char *tz);
/* By how much local time is ahead of UTC at ms, which counts from 1970. */
int64_t zone_ahead_ms(const struct zone *z, int64_t ms);

#endif
