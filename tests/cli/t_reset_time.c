/* t_reset_time - compact --reset-time, with a boot that has a name, and without
   one. */

#include "cli/admin.h"
#include "cli/store.h"
#include "base/os.h"
#include "tests/lib/store_test.h"

static const char *boot;

const char *__wrap_os_boot_id(void);
const char *
__wrap_os_boot_id(void)
{
    return boot;
}

/* Whether it tells that servers have to be ended first. */
static bool
warns(const char *name)
{
    char *path = path_fresh("tasks.log");
    struct cli_env env = {.log_path = path, .artifacts_dir = path};
    struct cli c = {.env = &env, .args = {.reset_time = true}};
    struct tstore t;

    boot = name;
    CHECK(ts_open(&t, path) == 0 && ts_put(&t, "x/1", "\"v\":1") == 0);
    ts_close(&t);
    CHECK(cli_open(&c, false) == 0 && cli_compact(&c) == 0);
    bool has = str_find(buf_view(&c.out), STR("end them")) != SIZE_MAX;
    CHECK(str_find(buf_view(&c.out), STR("its time was")) != SIZE_MAX);
    cli_close(&c, CLI_OK);
    buf_fini(&c.out);
    arena_fini(&c.a);
    free(path);
    return has;
}

int
main(void)
{
    CHECK(!warns("01234567-89ab-cdef-0123-456789abcdef"));
    CHECK(warns(""));
    return test_end("reset_time");
}
