#ifndef BASE_CLOCK_H
#define BASE_CLOCK_H

/* clock - the time, and times as text. */

#include "base/base.h"

#define TIME_LEN 24 /* "2026-07-28T09:30:00.000Z" */
#define CLOCK_NOT_BEFORE INT64_C(1767225600000) /* 2026; an earlier clock is
                                                   unset */

int64_t clock_wall_ms(void); /* since 1970, UTC */
int64_t clock_mono_ms(void);
int64_t clock_mono_us(void);
/* The same for all processes of one boot; includes time spent suspended, where
   the system measures it. */
int64_t clock_boot_ms(void);
/* Writes RFC 3339, UTC, milliseconds: TIME_LEN bytes and a NUL. ms is clamped
   to the years 1970-9999. */
void time_format(int64_t ms, char out[TIME_LEN + 1]);
/* The same, until the next call. */
const char *time_text(int64_t ms);
/* Reads RFC 3339 with Z or an offset and 0-9 digits of fraction. */
bool time_parse(struct str s, int64_t *ms);

#endif
