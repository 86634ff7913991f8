/* key - the key in <log>.key, which all hosts of a store share. */

#include "etcd/key.h"
#include "base/file.h"

#include <fcntl.h>
#include <stdio.h> /* rename */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Reads the key at path. False: there is none, or others may know it. */
static bool
read_key_file(const char *path, char out[KEY_LEN])
{
    const char *why;
    size_t len;
    int fd = file_open_private(path, O_NOFOLLOW, &len, &why);
    bool ok;

    if (fd < 0)
        return false;
    ok = len == KEY_LEN && file_read_at(fd, out, KEY_LEN, 0) == KEY_LEN;
    close(fd);
    return ok;
}

int
key_offer(struct engine *e, char out[KEY_LEN])
{
    char *path = engine_path(e, ".key");
    bool have = path != NULL && read_key_file(path, out);

    free(path);
    return have ? 0 : random_bytes(out, KEY_LEN);
}

void
key_keep(struct engine *e, struct str key)
{
    char *path = engine_path(e, ".key"), *temp = engine_path(e, ".key-");
    char own[KEY_LEN];

    if (path != NULL && temp != NULL && key.len == KEY_LEN &&
        (!read_key_file(path, own) || memcmp(own, key.p, KEY_LEN) != 0)) {
        unlink(temp);
        if (file_write_new(temp, e->log, key, true) == 0 &&
            rename(temp, path) != 0)
            unlink(temp);
    }
    free(path);
    free(temp);
}
