#!/bin/sh
# layers.sh on small trees: it accepts one that is in order, and names each
# kind of error.

root=$(cd "$(dirname "$0")/.." && pwd)
cd "$root" || exit 1
. tests/lib/check.sh

# file NAME SOURCE: one file of the tree, compiled
file() {
    mkdir -p "$dir/tree/$(dirname "$1")" "$dir/tree/build/$(dirname "$1")"
    printf '%s\n' "$2" >"$dir/tree/$1.c"
    (cd "$dir/tree" && ${CC:-cc} -I. -c -o "build/$1.o" "$1.c") ||
        fail "$1.c does not compile"
}

# judge NAME...: runs layers.sh on these files; its output is in $dir/said
judge() {
    (cd "$dir/tree" && sh "$root/tests/layers.sh" build "$@") >"$dir/said" 2>&1
}

refuses() {
    text=$1
    shift
    checks=$((checks + 1))
    ! judge "$@" || fail "$*: is taken"
    has "$dir/said" "$text"
}

mkdir -p "$dir/tree/store"
echo 'int store_low(void);' >"$dir/tree/store/low.h"
echo 'int store_low(void);' >"$dir/tree/store/record.h"
file base/low 'int base_low(void) { return 1; }'
file store/low 'int base_low(void); int store_low(void) { return base_low(); }'
file task/top '#include "store/record.h"
int task_top(void) { return store_low(); }'
check judge base/low store/low task/top

name='up, from a layer to one above it'
file base/up 'int store_low(void); int base_up(void) { return store_low(); }'
refuses 'base/up uses store_low of store/low, and base must not use store' \
    base/low base/up store/low

name='aside, between layers that do not know each other'
file json/aside 'int store_low(void); int json_aside(void) { return store_low(); }'
refuses 'json must not use store' base/low json/aside store/low

name='a circle of three files'
file store/a 'int store_b(void); int store_a(void) { return store_b(); }'
file store/b 'int store_c(void); int store_b(void) { return store_c(); }'
file store/c 'int store_a(void); int store_c(void) { return store_a(); }'
refuses 'store/c uses store_a of store/a' store/a store/b store/c

name='an include of a header that a folder keeps to itself'
file task/nosy '#include "store/low.h"
int task_nosy(void) { return 0; }'
refuses 'task/nosy includes store/low.h, which store keeps to itself' task/nosy

name='a file that starts a program'
file http/shell 'int system(const char *); int http_shell(void) { return system(""); }'
refuses 'http/shell uses system, and must not start programs' http/shell

name='a file of no layer'
file misc/odd 'int odd(void) { return 0; }'
refuses 'misc/odd: is of no layer' misc/odd

finish
