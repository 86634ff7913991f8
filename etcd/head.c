/* head - the texts that a store has in etcd. */

#include "etcd/head.h"
#include "base/text.h"
#include "json.h"
#include "json/raw.h"
#include "json/write.h"
#include "store/record.h"

#include <stdarg.h>
#include <string.h>

#define FORMAT "1"

/* Copies a text of n hex digits, with a NUL. */
static bool
take_hex(char *out, struct str s, size_t n)
{
    if (!str_is_hex(s, n))
        return false;
    memcpy(out, s.p, n);
    out[n] = '\0';
    return true;
}

bool
head_parse(struct str text, struct head *out)
{
    return str_is(str_cut(&text, ' '), FORMAT) &&
           take_hex(out->epoch, str_cut(&text, ' '), HEAD_EPOCH) &&
           str_u64(str_cut(&text, ' '), &out->n) &&
           take_hex(out->wid, str_cut(&text, ' '), HEAD_WID) &&
           text.len == 8 && text_hex32(text.p, &out->sum);
}

struct head
head_first(const char epoch[HEAD_EPOCH + 1])
{
    struct head h = {.n = 0};

    memcpy(h.epoch, epoch, sizeof(h.epoch));
    memset(h.wid, '0', HEAD_WID);
    return h;
}

void
head_text(const struct head *h, char out[REMOTE_HEAD_MAX])
{
    text_put(out, REMOTE_HEAD_MAX, FORMAT " %s %llu %s %08x", h->epoch,
             (unsigned long long)h->n, h->wid, (unsigned)h->sum);
}

bool
head_equal(const struct head *a, const struct head *b)
{
    return strcmp(a->epoch, b->epoch) == 0 && a->n == b->n &&
           strcmp(a->wid, b->wid) == 0 && a->sum == b->sum;
}

struct head_key
head_key(const char *fmt, ...)
{
    struct head_key key;
    va_list ap;

    va_start(ap, fmt);
    text_vput(key.z, sizeof(key.z), fmt, ap);
    va_end(ap);
    return key;
}

/* ---- batches ---- */

void
batch_put(struct buf *b, const char *wid, const char *before, const char *host,
          struct str lines)
{
    buf_printf(b, "{\"w\":\"%s\",\"p\":\"%s\",\"h\":", wid, before);
    json_quote(b, str_of(host));
    buf_z(b, "}\n");
    buf_str(b, lines);
}

int
batch_read(struct str value, struct batch *out)
{
    struct str at = value, head = str_cut(&at, '\n'), line;

    out->lines = at;
    out->host = raw_inner(raw_member(head, "h"));
    if (at.p == NULL || at.len == 0 || at.p[at.len - 1] != '\n' ||
        !take_hex(out->wid, raw_inner(raw_member(head, "w")), HEAD_WID) ||
        !take_hex(out->before, raw_inner(raw_member(head, "p")), HEAD_WID) ||
        !record_peek_n(at, &out->first))
        return ERR_FORMAT;
    at.len--;
    line = at;
    for (size_t i = at.len; i > 0; i--)
        if (at.p[i - 1] == '\n') {
            line = str_from(at, i);
            break;
        }
    out->newest = line;
    return record_peek_n(line, &out->last) && out->last >= out->first
               ? 0 : ERR_FORMAT;
}

void
batch_check(const struct store_rec *r, const char *prefix, bool *reported)
{
    if (*reported || json_is_valid(r->line))
        return;
    *reported = true;
    text_tell("mcptask: %.100s: record %llu of %.*s came from another host and "
              "is not JSON, so that key is `damaged` until it is written "
              "again\n", prefix, (unsigned long long)r->n, STR_ARG(r->key));
}
