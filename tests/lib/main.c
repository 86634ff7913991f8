/* The main of test programs that have none of their own. It is weak, since
   libFuzzer has one. */

#include "tests/lib/test.h"

__attribute__((weak)) int
main(int argc, char **argv)
{
    const char *name = argc > 0 ? strrchr(argv[0], '/') : NULL;

    test_run();
    return test_end(name != NULL ? name + 1 : "test");
}
