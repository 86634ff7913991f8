/* Replicas that are set aside, since their remote lacks what they have. */

#include "tests/lib/hosts_rig.h"
#include "tests/lib/told.h"

/* The remote is restored from a backup twice, and the host is at the same
   record each time: the second log does not take the place of the first. */
TEST(twice)
{
    static const char *const names[] = {".diverged-6", ".diverged-6-2"};
    static const char *const bodies[] = {"\"v\":2", "\"v\":3"};
    struct stat was, is;

    begin(2);
    for (int i = 0; i < 6; i++)
        CHECK(put(&host[0], "task/a", "\"v\":1") == 0);
    for (int i = 0; i < 2; i++) {
        CHECK(stat(host[0].path, &was) == 0);
        fake_restore(&list, 4);
        for (int k = 0; k < 2; k++)
            CHECK(put(&host[1], "task/b", bodies[i]) == 0);
        listen_to(true);
        CHECK(confirm(&host[0]) == 0);
        listen_to(false);
        CHECK(strstr(told, i == 0 ? ".diverged-6\n" : ".diverged-6-2\n"));
        CHECK(sees(&host[0], "task/b", bodies[i]));
        CHECK(host[0].t.s->log.head == 6);
        CHECK(stat(path_with(host[0].path, names[i]), &is) == 0 &&
              is.st_ino == was.st_ino);
    }
    CHECK(stat(path_with(host[0].path, names[0]), &is) == 0 &&
          is.st_ino != was.st_ino);
    end();
}
