/* meta - the description of a store in etcd. */

#include "etcd/meta.h"
#include "json.h"

#include <string.h>

#define MIN_VERSION "0.2.0" /* the oldest that reads what this one writes */

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

/* Copies a text member of exactly n bytes. */
static bool
take_hex_member(struct arena *a, const struct json_tok *obj, const char *name,
                char *out, size_t n)
{
    struct str s = json_str(a, json_get(obj, name));

    if (s.p == NULL || s.len != n)
        return false;
    memcpy(out, s.p, n);
    out[n] = '\0';
    return true;
}

static bool
take_count(const struct json_tok *obj, const char *name, int64_t least,
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
    if (!take_hex_member(a, root, "id", out->id, 32) ||
        !take_hex_member(a, root, "epoch", out->epoch, HEAD_EPOCH))
        return ERR_FORMAT;
    snap = json_get(root, "snap");
    if (snap == NULL || snap->type == JSON_NULL)
        return 0;
    return take_hex_member(a, snap, "id", out->snap.id, META_SNAP_ID) &&
           take_hex_member(a, snap, "sha256", out->snap.sha256, SHA256_HEX) &&
           take_count(snap, "parts", 1, &out->snap.parts) &&
           take_count(snap, "bytes", 1, &out->snap.bytes) &&
           json_int(json_get(snap, "at"), &out->snap.at_ms) &&
           /* Development builds of 0.2.0 wrote none. */
           (json_get(snap, "upto") == NULL ||
            take_count(snap, "upto", 0, &out->snap.upto)) &&
           head_parse(json_str(a, json_get(snap, "head")), &out->snap.head)
               ? 0 : ERR_FORMAT;
}
