/* zone - local time by a POSIX TZ string, such as CET-1CEST,M3.5.0,M10.5.0/3,
   or by a zoneinfo file (RFC 8536).

   1. Such a file comes from elsewhere: every part is cut to the bytes that
      are there. Wrong numbers give a wrong time and nothing worse.
   2. It holds everything in 32 bits and then again in 64 bits. Only the latter
      is used here. A TZ string for the time after the last change follows.
   3. A change on a numbered day of the year (J60) is not supported: standard
      time is used all year. */

#include "base/zone.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/text.h"

#include <string.h>

#define ZONES "/usr/share/zoneinfo/"
#define HOUR 3600
#define DAY (24 * HOUR)

/* ---- a TZ string ---- */

/* The take functions advance *p past what they read. */
static int
take_number(const char **p)
{
    int v = 0;

    for (; **p >= '0' && **p <= '9'; ++*p)
        v = v < 1000 ? v * 10 + **p - '0' : v;
    return v;
}

static bool
take_char(const char **p, char c)
{
    if (**p != c)
        return false;
    ++*p;
    return true;
}

/* [+|-]hh[:mm[:ss]], in seconds. */
static int
take_time(const char **p)
{
    int sign = take_char(p, '-') ? -1 : 1, unit = HOUR, v;

    take_char(p, '+');
    v = take_number(p) * unit;
    while (unit > 1 && take_char(p, ':'))
        v += take_number(p) * (unit /= 60);
    return sign * v;
}

/* Three letters or more, or what is in <>. */
static bool
take_name(const char **p)
{
    const char *from = *p;

    if (**p == '<')
        *p += text_until(*p, ">\n");
    while (text_lower(**p) >= 'a' && text_lower(**p) <= 'z')
        ++*p;
    return *p - from >= 3 && (take_char(p, '>') || *from != '<');
}

/* ,Mmonth.week.day[/time], in local seconds since 1970 for that year. The fifth
   week is the last one. */
static bool
take_change(const char **p, int year, int64_t *at)
{
    int month, week, days;

    if (!take_char(p, ',') || !take_char(p, 'M'))
        return false;
    month = take_number(p);
    take_char(p, '.');
    week = take_number(p);
    take_char(p, '.');
    days = time_days(year, month, 1);
    days += (take_number(p) + 7 - (days + 4) % 7) % 7 + 7 * (week - 1);
    if (days >= time_days(year, month + 1, 1))
        days -= 7;
    *at = (int64_t)days * DAY + (take_char(p, '/') ? take_time(p) : 2 * HOUR);
    return true;
}

/* False: p is not a TZ string, and *ahead is unchanged. */
static bool
by_string(const char *p, int64_t t, int64_t *ahead)
{
    int64_t winter, summer, begin, end;
    int year, month, day;

    if (!take_name(&p) || strchr("+-0123456789", *p) == NULL || *p == '\0')
        return false;
    *ahead = winter = -take_time(&p);
    if (!take_name(&p))
        return true;
    summer = *p == ',' ? winter + HOUR : -take_time(&p);
    time_date((int)((t + winter) / DAY), &year, &month, &day);
    if (!take_change(&p, year, &begin) || !take_change(&p, year, &end))
        return true;
    begin -= winter;
    end -= summer;
    if (begin < end ? t >= begin && t < end : t >= begin || t < end)
        *ahead = summer;
    return true;
}

/* ---- a file ---- */

/* Cuts n bytes off the front, or as many as there are. */
static struct str
cut(struct str *s, uint64_t n)
{
    struct str front = {s->p, n < s->len ? (size_t)n : s->len};

    *s = str_from(*s, front.len);
    return front;
}

/* A big-endian number with a sign. */
static int64_t
number(const char *p, size_t n)
{
    int64_t v = (signed char)*p;

    while (--n > 0)
        v = v * 256 + (uint8_t)*++p;
    return v;
}

struct changes {
    struct str at, kind, kinds;
};

/* Reads one of the two parts, whose times have this width. */
static void
take_part(struct str *s, unsigned width, struct changes *c)
{
    enum { HEAD = 44, COUNTS = 20, N_UT = 0, N_STD, N_LEAP, N_AT, N_KIND,
           N_NAME, N_COUNTS };
    struct str head = cut(s, HEAD);
    uint64_t n[N_COUNTS] = {0};

    for (int i = 0; head.len == HEAD && i < N_COUNTS; i++)
        n[i] = (uint32_t)number(head.p + COUNTS + 4 * i, 4);
    c->at = cut(s, n[N_AT] * width);
    c->kind = cut(s, n[N_AT]);
    c->kinds = cut(s, n[N_KIND] * 6);
    cut(s, n[N_NAME] + n[N_LEAP] * (width + 4) + n[N_STD] + n[N_UT]);
}

static int64_t
by_file(struct str s, int64_t t)
{
    struct changes c;
    size_t n, kind;
    int64_t ahead;

    take_part(&s, 4, &c);
    take_part(&s, 8, &c);
    n = c.at.len / 8;
    while (n > 0 && number(c.at.p + 8 * (n - 1), 8) > t)
        n--;
    /* A line feed comes before the string. */
    if (n == c.at.len / 8 && s.len > 0 && by_string(s.p + 1, t, &ahead))
        return ahead;
    kind = n > 0 && n <= c.kind.len ? 6 * (uint8_t)c.kind.p[n - 1] : 0;
    return kind + 6 <= c.kinds.len ? number(c.kinds.p + kind, 4) : 0;
}

void
zone_load(struct zone *z, const char *tz)
{
    char path[256];
    int64_t ahead;

    memset(z, 0, sizeof(*z));
    if (tz != NULL && by_string(tz, 0, &ahead)) {
        text_put(z->text, sizeof(z->text), "%s", tz);
        return;
    }
    tz = tz == NULL ? "/etc/localtime" : tz + (*tz == ':');
    text_put(path, sizeof(path), "%s%s", *tz == '/' ? "" : ZONES, tz);
    file_read_text(path, z->text, sizeof(z->text));
}

int64_t
zone_ahead_ms(const struct zone *z, int64_t ms)
{
    struct str s = {z->text, sizeof(z->text) - 1};
    int64_t t = ms / 1000, ahead = 0;

    if (str_starts(s, "TZif"))
        ahead = by_file(s, t);
    else
        by_string(z->text, t, &ahead);
    return ahead * 1000;
}
