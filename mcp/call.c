/* call - a deferred call as the body of a record.

   A body is

     "op":"<what was done>","v":{"form":1,<the fields, as in the table>}

   and v is the whole call, so the newest record is all that is needed. The
   order of the fields is fixed. The first N_HEAD are always there, so one pass
   over these bytes fills the index. The others are left out if empty. A record
   with another form or field comes from a newer version. */

#include "mcp/call.h"
#include "json.h"
#include "json/raw.h"

static const char statuses[CALL_N_STATUSES][15] = {
    "working", "input_required", "completed", "failed", "cancelled"};

const char *
call_status_name(enum call_status s)
{
    return statuses[s];
}

bool
call_status_ended(enum call_status s)
{
    return s >= CALL_COMPLETED;
}

struct str
call_next_name(struct str *names)
{
    struct str name = str_cut(names, '\t');

    return names->p == NULL && name.len == 0 ? STR_NONE : name;
}

/* ---- fields ---- */

enum { TEXT, RAW, STATUS, NUMBER, ROUND, FLAG };

static const struct field {
    char name[10];
    uint8_t kind;
    uint8_t at; /* in struct call */
} fields[] = {
#define FIELD(name, kind, member) {name, kind, offsetof(struct call, member)}
    FIELD("status", STATUS, status),
    FIELD("born", NUMBER, born),
    FIELD("created", NUMBER, created_ms),
    FIELD("ttl", NUMBER, ttl_ms),
    FIELD("due", NUMBER, due_ms),
    FIELD("principal", TEXT, principal),
    FIELD("watch", TEXT, watch),
    FIELD("updated", NUMBER, updated_ms),
    FIELD("since", NUMBER, since),
    FIELD("round", ROUND, round),
    FIELD("is_error", FLAG, is_error),
    FIELD("tool", TEXT, tool),
    FIELD("args", RAW, args),
    FIELD("shape", RAW, shape),
    FIELD("state", TEXT, state),
    FIELD("questions", RAW, questions),
    FIELD("message", TEXT, message),
    FIELD("result", RAW, result),
    FIELD("error", RAW, error),
#undef FIELD
};
enum { N_HEAD = 7, N_FIELDS = sizeof fields / sizeof *fields };
_Static_assert(sizeof(struct call) <= UINT8_MAX, "field.at has 8 bits");

static void
put_raw_line(struct buf *b, struct str raw)
{
    size_t at = b->len;

    buf_str(b, raw);
    /* In JSON a line feed is only a blank; in a log it ends the line. */
    for (; at < b->len; at++)
        if (b->p[at] == '\n')
            b->p[at] = ' ';
}

/* The length of a text, or the value of a number: 0 if k has no such field. */
static uint64_t
field_value(const struct field *f, const struct call *k)
{
    const void *m = (const char *)k + f->at;

    switch (f->kind) {
    case NUMBER:
        return *(const uint64_t *)m;
    case ROUND:
        return k->round;
    case FLAG:
        return k->is_error;
    case STATUS:
        return k->status;
    default:
        return ((const struct str *)m)->len;
    }
}

void
call_put(struct buf *b, const struct call *k, const char *op)
{
    buf_printf(b, "\"op\":\"%s\",\"v\":{\"form\":1", op);
    for (const struct field *f = fields; f < fields + N_FIELDS; f++) {
        const void *m = (const char *)k + f->at;
        const struct str *s = m;
        uint64_t v = field_value(f, k);

        if (v == 0 && f >= fields + N_HEAD)
            continue;
        buf_printf(b, ",\"%s\":", f->name);
        if (f->kind == STATUS)
            json_quote(b, str_of(call_status_name(k->status)));
        else if (f->kind == TEXT)
            json_quote(b, *s);
        else if (f->kind == RAW)
            put_raw_line(b, *s);
        else if (f->kind == FLAG)
            buf_z(b, "true");
        else
            buf_u64(b, v);
    }
    buf_char(b, '}');
}

/* ---- reading ---- */

static int
read_field(struct arena *a, const struct field *f, struct str raw,
           struct call *k)
{
    void *m = (char *)k + f->at;

    if (f->kind == RAW)
        *(struct str *)m = raw;
    else if (f->kind == NUMBER)
        *(uint64_t *)m = raw_u64(raw);
    else if (f->kind == ROUND)
        k->round = (unsigned)raw_u64(raw);
    else if (f->kind == FLAG)
        k->is_error = true;
    else if (*raw.p != '"')
        return ERR_FORMAT;
    else if (f->kind == TEXT)
        *(struct str *)m = raw_text(a, raw);
    else
        while (k->status < CALL_N_STATUSES &&
               !str_is(raw_inner(raw), statuses[k->status]))
            k->status++;
    if (k->status == CALL_N_STATUSES)
        return ERR_FORMAT;
    if (f->kind != TEXT || ((struct str *)m)->p != NULL)
        return 0;
    return json_is_valid(raw) ? ERR_NOMEM : ERR_FORMAT;
}

/* Reads the head and leaves m after it. */
static int
read_call_head(struct arena *a, struct str body, struct call *k,
               struct raw_members *m)
{
    int rc = 0;

    *k = (struct call){.status = CALL_WORKING};
    *m = raw_members_of(body);
    if (raw_next(m) != 1 || raw_next_name(m) != 1 || !str_is(m->name, "v"))
        return ERR_FORMAT;
    *m = raw_members_of((struct str){m->p, (size_t)(m->end - m->p)});
    if (raw_next(m) != 1 || !str_is(m->name, "form") || !str_is(m->value, "1"))
        return ERR_FORMAT;
    for (const struct field *f = fields; rc == 0 && f < fields + N_HEAD; f++)
        rc = raw_next(m) == 1 && str_is(m->name, f->name)
                 ? read_field(a, f, m->value, k) : ERR_FORMAT;
    if (rc == 0 && (k->created_ms < 0 || k->created_ms > INT64_MAX / 2 ||
                    k->ttl_ms < 0 || k->ttl_ms > CALL_MAX_TTL_MS))
        rc = ERR_FORMAT;
    return rc;
}

int
call_read_head(struct arena *a, struct str body, struct call *k)
{
    struct raw_members m;

    return read_call_head(a, body, k, &m);
}

int
call_read(struct arena *a, struct str body, struct call *k)
{
    const struct field *f = fields + N_HEAD, *end = fields + N_FIELDS;
    struct raw_members m;
    int rc = read_call_head(a, body, k, &m);

    while (rc == 0 && (rc = raw_next(&m)) == 1) {
        while (f < end && !str_is(m.name, f->name))
            f++;
        rc = f < end ? read_field(a, f, m.value, k) : ERR_FORMAT;
    }
    return rc;
}
