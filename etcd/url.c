/* url - where a store of several hosts is. */

#include "etcd/url.h"
#include "base/text.h"

#include <ctype.h>
#include <string.h>

#define SCHEME "etcd://"
#define PATIENCE_MS 5000
#define PATIENCE_MAX_MS 600000
#define ARTIFACTS_MIB 512
#define ARTIFACTS_MAX_MIB (1024 * 1024)

/* Parses one "name=value". Returns NULL, or an error text. */
static const char *
take_option(struct str name, struct str value, struct etcd_url *out)
{
    uint64_t v;

    if (str_is(name, "reads")) {
        out->local_reads = str_is(value, "local");
        return out->local_reads || str_is(value, "linear")
                   ? NULL : "reads needs linear or local";
    }
    if (str_is(name, "shared")) {
        out->shared = str_is(value, "1");
        return out->shared || str_is(value, "0") ? NULL
                                                 : "shared needs 0 or 1";
    }
    if (str_is(name, "artifacts"))
        return str_u64(value, &out->artifacts_mib) &&
                       out->artifacts_mib <= ARTIFACTS_MAX_MIB
                   ? NULL : "artifacts needs MiB from 0 to 1048576";
    if (!str_is(name, "patience"))
        return "unknown option; use artifacts, reads, shared or patience";
    if (!str_u64(value, &v) || v < 100 || v > PATIENCE_MAX_MS)
        return "patience needs milliseconds from 100 to 600000";
    out->patience_ms = (int64_t)v;
    return NULL;
}

static const char *
take_prefix(struct str prefix, struct etcd_url *out)
{
    static const char others[] = "/._-";

    if (prefix.p == NULL || prefix.len == 0)
        return "needs a prefix after the addresses, such as /mcptask/main";
    if (prefix.len > HEAD_PREFIX)
        return "the prefix is longer than 128 bytes";
    if (prefix.p[0] == '/' || prefix.p[prefix.len - 1] == '/')
        return "a prefix cannot begin or end with a slash";
    for (size_t i = 0; i < prefix.len; i++) {
        char c = prefix.p[i];
        bool next_ends = i + 2 >= prefix.len || prefix.p[i + 2] == '/';

        if (!isalnum((uint8_t)c) && (c == '\0' || strchr(others, c) == NULL))
            return "a prefix may have only letters, digits and . _ - /";
        if (c == '/' && next_ends) /* a store at a/s would be swept by one at a,
                                      whose snapshots are there */
            return "each part after a slash needs at least two characters";
    }
    memcpy(out->prefix, prefix.p, prefix.len);
    out->prefix[prefix.len] = '\0';
    return NULL;
}

int
etcd_url_read(struct str text, struct etcd_url *out, char why[256])
{
    struct str rest = text, options;
    const char *wrong;

    *out = (struct etcd_url){.patience_ms = PATIENCE_MS,
                              .artifacts_mib = ARTIFACTS_MIB};
    wrong = str_starts(rest, SCHEME) ? NULL : "must start with etcd://";
    if (wrong == NULL) {
        rest = str_from(rest, sizeof(SCHEME) - 1);
        out->endpoints = str_cut(&rest, '/');
        options = rest;
        if (rest.p != NULL)
            rest = str_cut(&options, '?');
        wrong = take_prefix(rest, out);
        if (memchr(out->endpoints.p, '@', out->endpoints.len) != NULL) {
            /* It is not shown: it may be a password. */
            text = STR(SCHEME "...@");
            wrong = "set MCP_TASK_STORE_AUTH to a file with USER:PASSWORD";
        }
        while (wrong == NULL && options.p != NULL) {
            struct str value = str_cut(&options, '&');
            struct str name = str_cut(&value, '=');

            wrong = take_option(name, value, out);
        }
    }
    if (wrong == NULL)
        return 0;
    text_put(why, 256, "%.*s: %s", text.len < 120 ? (int)text.len : 120,
             text.p, wrong);
    return ERR_INVALID;
}
