/* clock - the time, and times as text (RFC 3339).

   Neither the locale nor the time zone matters here. Time is milliseconds since
   1970 in UTC, computed here by the calendar's rules; callers never see a
   time_t, which may be narrower than 64 bits. */

#include "base/clock.h"
#include "base/os.h"
#include "base/text.h"

#include <time.h>

#define SECOND_MS INT64_C(1000)
#define MINUTE_MS (60 * SECOND_MS)
#define DAY_MS (24 * 60 * MINUTE_MS)
#define TIME_MAX_MS INT64_C(253402300799999) /* the end of the year 9999 */

static int64_t
clock_us(clockid_t id)
{
    struct timespec ts;
    int rc = clock_gettime(id, &ts);

    /* The argument is a constant, and the system has these clocks. */
    ASSERT(rc == 0);
    return (int64_t)ts.tv_sec * SECOND_MS * 1000 + ts.tv_nsec / 1000;
}

static int64_t
clock_ms(clockid_t id)
{
    return clock_us(id) / 1000;
}

int64_t
clock_wall_ms(void)
{
    return clock_ms(CLOCK_REALTIME);
}

int64_t
clock_mono_ms(void)
{
    return clock_ms(CLOCK_MONOTONIC);
}

int64_t
clock_mono_us(void)
{
    return clock_us(CLOCK_MONOTONIC);
}

int64_t
clock_boot_ms(void)
{
    return clock_ms(os_boot_clock);
}

/* These convert between dates and days since 1970, for years from 0 on. Their
   year begins in March, so that a leap day is its last day. */
static int
days_of_date(int y, int m, int d)
{
    int era, year, day;

    y += 400 - (m <= 2); /* adding one calendar cycle keeps it positive */
    era = y / 400;
    year = y % 400;
    day = (153 * (m + (m > 2 ? -3 : 9)) + 2) / 5 + d - 1;
    return (era - 1) * 146097 + year * 365 + year / 4 - year / 100 + day -
           719468;
}

static void
date_of_days(int days, int *y, int *m, int *d)
{
    int era, day, year;

    days += 719468; /* from 1 March of the year 0 */
    era = days / 146097;
    day = days % 146097;
    year = (day - day / 1460 + day / 36524 - day / 146096) / 365;
    day -= 365 * year + year / 4 - year / 100;
    *m = (5 * day + 2) / 153;
    *d = day - (153 * *m + 2) / 5 + 1;
    *m += *m < 10 ? 3 : -9;
    *y = era * 400 + year + (*m <= 2);
}

/* The parts of an RFC 3339 time: number of digits, and the next character. */
enum { YEAR, MONTH, DAY, HOUR, MINUTE, SECOND, MILLI, N_PARTS };
static const char part_len[N_PARTS] = {4, 2, 2, 2, 2, 2, 3};
static const char part_end[N_PARTS] = {'-', '-', 'T', ':', ':', '.', 'Z'};

void
time_format(int64_t ms, char out[TIME_LEN + 1])
{
    int part[N_PARTS], i, k, rest;

    if (ms < 0)
        ms = 0;
    if (ms > TIME_MAX_MS)
        ms = TIME_MAX_MS;
    date_of_days((int)(ms / DAY_MS), &part[YEAR], &part[MONTH], &part[DAY]);
    rest = (int)(ms % DAY_MS);
    part[MILLI] = rest % 1000;
    part[SECOND] = rest / 1000 % 60;
    part[MINUTE] = rest / 60000 % 60;
    part[HOUR] = rest / 3600000;
    for (i = 0; i < N_PARTS; i++) {
        for (k = part_len[i]; k-- > 0; part[i] /= 10)
            out[k] = (char)('0' + part[i] % 10);
        out += part_len[i];
        *out++ = part_end[i];
    }
    *out = '\0';
}

const char *
time_text(int64_t ms)
{
    static char text[TIME_LEN + 1];

    time_format(ms, text);
    return text;
}

/* Each of these functions parses one part at the front of s and removes it from
   s. If it returns false, the content of s is undefined. */

/* Parses exactly n digits. */
static bool
cut_digits(struct str *s, size_t n, int *out)
{
    for (*out = 0; n > 0; n--, s->p++, s->len--) {
        if (s->len == 0 || *s->p < '0' || *s->p > '9')
            return false;
        *out = *out * 10 + (*s->p - '0');
    }
    return true;
}

/* Parses c, a letter in either case. */
static bool
cut_char(struct str *s, char c)
{
    if (s->len == 0 || (*s->p != c && (c < 'A' || *s->p != (c | 0x20))))
        return false;
    *s = str_from(*s, 1);
    return true;
}

/* Parses the digits after the decimal point, truncated to milliseconds. */
static bool
cut_fraction(struct str *s, int *ms)
{
    int digit, unit = 100, n = 0;

    *ms = 0;
    if (!cut_char(s, '.'))
        return true;
    /* From the fourth digit on the unit is 0. This truncates, since rounding up
       could carry into the next year. */
    for (; cut_digits(s, 1, &digit); n++) {
        *ms += digit * unit;
        unit /= 10;
    }
    return n >= 1 && n <= 9; /* nanoseconds at most */
}

/* -00:00 means an unknown zone; the instant is the same as for Z. */
static bool
cut_zone(struct str *s, int *minutes)
{
    bool west = cut_char(s, '-');
    int h, m;

    *minutes = 0;
    if (!west && cut_char(s, 'Z'))
        return true;
    if ((!west && !cut_char(s, '+')) || !cut_digits(s, 2, &h) ||
        !cut_char(s, ':') || !cut_digits(s, 2, &m) || h > 23 || m > 59)
        return false;
    *minutes = west ? -(h * 60 + m) : h * 60 + m;
    return true;
}

bool
time_parse(struct str s, int64_t *ms)
{
    static const char len[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    int part[N_PARTS], zone, y, m, d;
    int64_t minute;
    bool leap;

    for (int i = YEAR; i <= SECOND; i++)
        if ((i > YEAR && !cut_char(&s, part_end[i - 1])) ||
            !cut_digits(&s, (size_t)part_len[i], &part[i]))
            return false;
    if (!cut_fraction(&s, &part[MILLI]) || !cut_zone(&s, &zone) || s.len != 0)
        return false;
    y = part[YEAR];
    m = part[MONTH];
    d = part[DAY];
    leap = y % 4 == 0 && (y % 100 != 0 || y % 400 == 0);
    if (m < 1 || m > 12 || d < 1 || d > len[m - 1] + (m == 2 && leap) ||
        part[HOUR] > 23 || part[MINUTE] > 59 || part[SECOND] > 60)
        return false;
    minute = INT64_C(1440) * days_of_date(y, m, d) + part[HOUR] * 60 +
             part[MINUTE] - zone;
    if (part[SECOND] == 60) {
        /* A leap second ends a UTC day. This scale has no number for it, so it
           becomes the last millisecond before it. */
        if ((minute + 1) % 1440 != 0)
            return false;
        part[SECOND] = 59;
        part[MILLI] = 999;
    }
    *ms = minute * MINUTE_MS + part[SECOND] * SECOND_MS + part[MILLI];
    return true;
}
