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
#define MIN_VERSION "0.2.0" /* the oldest that reads what this one writes */

/* Copies a text of n hex digits, with a NUL. */
static bool
copy_hex(char *out, struct str s, size_t n)
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
           copy_hex(out->epoch, str_cut(&text, ' '), HEAD_EPOCH) &&
           str_u64(str_cut(&text, ' '), &out->n) &&
           copy_hex(out->wid, str_cut(&text, ' '), HEAD_WID) &&
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
        !copy_hex(out->wid, raw_inner(raw_member(head, "w")), HEAD_WID) ||
        !copy_hex(out->before, raw_inner(raw_member(head, "p")), HEAD_WID) ||
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

/* ---- meta ---- */

void
meta_put(struct buf *b, const struct meta *m)
{
    char head[REMOTE_HEAD_MAX];
    struct json_w w;

    json_begin(&w, b);
    json_put_int(&w, "mcptask", 1);
    json_put_z(&w, "id", m->id);
    json_put_z(&w, "epoch", m->epoch);
    json_put_z(&w, "min", MIN_VERSION);
    if (m->snap.id[0] != '\0') {
        head_text(&m->snap.head, head);
        json_put_obj(&w, "snap");
        json_put_z(&w, "id", m->snap.id);
        json_put_z(&w, "head", head);
        json_put_int(&w, "parts", (int64_t)m->snap.parts);
        json_put_int(&w, "bytes", (int64_t)m->snap.bytes);
        json_put_int(&w, "at", m->snap.at_ms);
        json_put_int(&w, "upto", (int64_t)m->snap.upto);
        json_put_z(&w, "sha256", m->snap.sha256);
        json_close(&w);
    }
    json_end(&w);
}

static bool
read_hex(struct arena *a, const struct json_tok *obj, const char *name,
         char *out, size_t n)
{
    return copy_hex(out, json_str(a, json_get(obj, name)), n);
}

static bool
read_count(const struct json_tok *obj, const char *name, int64_t least,
           uint64_t *out)
{
    int64_t v;

    if (!json_int(json_get(obj, name), &v) || v < least)
        return false;
    *out = (uint64_t)v;
    return true;
}

bool
meta_is_newer(struct str a, struct str b)
{
    for (int i = 0; i < 3; i++) {
        uint64_t x = 0, y = 0;

        str_u64(str_cut(&a, '.'), &x);
        str_u64(str_cut(&b, '.'), &y);
        if (x != y || a.p == NULL || b.p == NULL)
            return x > y;
    }
    return false;
}

int
meta_read(struct arena *a, struct str text, struct meta *out,
          struct str *newer)
{
    const struct json_tok *root, *snap;
    int64_t version;
    int rc = json_parse(a, text, &root, NULL);

    memset(out, 0, sizeof(*out));
    if (rc < 0)
        return rc == ERR_NOMEM ? rc : ERR_FORMAT;
    *newer = json_str(a, json_get(root, "min"));
    if (!json_int(json_get(root, "mcptask"), &version) || newer->p == NULL)
        return ERR_FORMAT;
    if (version != 1 || meta_is_newer(*newer, STR(MCPTASK_VERSION)))
        return ERR_VERSION;
    if (!read_hex(a, root, "id", out->id, 32) ||
        !read_hex(a, root, "epoch", out->epoch, HEAD_EPOCH))
        return ERR_FORMAT;
    snap = json_get(root, "snap");
    if (snap == NULL || snap->type == JSON_NULL)
        return 0;
    return read_hex(a, snap, "id", out->snap.id, META_SNAP_ID) &&
           read_hex(a, snap, "sha256", out->snap.sha256, SHA256_HEX) &&
           read_count(snap, "parts", 1, &out->snap.parts) &&
           read_count(snap, "bytes", 1, &out->snap.bytes) &&
           json_int(json_get(snap, "at"), &out->snap.at_ms) &&
           /* Development builds of 0.2.0 wrote none. */
           (json_get(snap, "upto") == NULL ||
            read_count(snap, "upto", 0, &out->snap.upto)) &&
           head_parse(json_str(a, json_get(snap, "head")), &out->snap.head)
               ? 0 : ERR_FORMAT;
}
