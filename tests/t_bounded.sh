#!/bin/sh
# What tests/bounded.c does with tests that do not end: t_bounded.sh BUILD CC

cd "$(dirname "$0")/.." || exit 1
build=$1 cc=$2
. tests/lib/check.sh

# bounded CODE SECONDS COMMAND...: its exit code; what was said is in $dir/said.
# It returns once nobody can write there any more.
bounded() {
    want=$1 TEST_SECONDS=$2
    export TEST_SECONDS
    shift 2
    { "$build/bounded" "$@" 2>&1 || echo "code $?"; } | cat >"$dir/said"
    echo "code 0" >>"$dir/said"
    checks=$((checks + 1))
    [ "$(sed -n 's/^code //p' "$dir/said" | head -n 1)" = "$want" ] ||
        fail "not exit code $want: $(cat "$dir/said")"
}

name='a test that ends, and a process that it has left behind'
bounded 3 600 sh -c 'sleep 1000 & exit 3'

name='a program that hangs'
cat >"$dir/t_hangs.c" <<'END'
#include "tests/lib/test.h"
int
main(void)
{
    CHECK(fork() >= 0);
#line 77 "tests/x/t_hangs.c"
    CHECK(true);
    for (;;)
        pause();
}
END
# shellcheck disable=SC2086 # cc is words
check $cc -D_XOPEN_SOURCE=700 -I. -o "$dir/t_hangs" "$dir/t_hangs.c" \
    tests/lib/test.c tests/lib/tmpdir.c
bounded 1 5 "$dir/t_hangs"
has "$dir/said" 'no end; the last checks were at tests/x/t_hangs.c:77'
lacks "$dir/said" passed

name='a script that hangs'
cat >"$dir/t_hangs.sh" <<'END'
. tests/lib/check.sh
check true
check sleep 1000
finish
END
bounded 1 5 sh "$dir/t_hangs.sh"
has "$dir/said" 't_hangs: no end after 2 checks; the last command: sleep 1000'

name='one that hears no signal'
bounded 1 1 sh -c 'trap "" ALRM TERM; while :; do sleep 1000; done'
has "$dir/said" 'ended by signal 9'
finish
