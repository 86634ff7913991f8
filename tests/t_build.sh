#!/bin/sh
# What make makes: the same bytes wherever it runs, and a program that is hard
# to break into: t_build.sh [CC...]. Without arguments, with the compiler that
# make chooses.

cd "$(dirname "$0")/.." || exit 1
. tests/lib/check.sh
unset CFLAGS LDFLAGS

# build DIR [NAME=VALUE...]: builds a copy of the sources, in DIR
build() {
    at=$1
    shift
    mkdir -p "$at" && tar -c --exclude=./build --exclude=./mcptask \
        --exclude=./.git --exclude=node_modules . | tar -x -C "$at" || exit 1
    (cd "$at" && make -j2 mcptask "$@") >"$dir/log" 2>&1 ||
        fail "make $*: $(tail -n 20 "$dir/log")"
    checks=$((checks + 1))
    [ "$("$at/mcptask" --version 2>&1)" = "$version" ] ||
        fail "make $*: it does not run"
}
version="mcptask $(sed -n 's/^#define MCPTASK_VERSION "\(.*\)"/\1/p' base/base.h)"

# The same, from another directory, with another locale, time zone and umask.
twice() {
    build "$dir/one" "$@"
    (
        export TZ=Asia/Kolkata LC_ALL=C.UTF-8
        umask 077
        build "$dir/a longer/way to it" "$@"
        exit $failed
    ) || failed=$((failed + 1))
    same "$dir/one/mcptask" "$dir/a longer/way to it/mcptask"
}

# Its addresses are drawn anew each time, what the linker resolved is read
# only, and functions with arrays notice a stack that was written over.
hardened() { # CC
    wants readelf || return
    readelf -hldW "$dir/one/mcptask" >"$dir/elf" 2>&1
    has "$dir/elf" 'DYN (' GNU_RELRO BIND_NOW 'NOW PIE'
    lacks "$dir/elf" ' RWE '
    [ "$1" != musl-gcc ] || lacks "$dir/elf" NEEDED INTERP
    mkfifo "$dir/said"
    MCP_TASK_BASE_DIR="$dir/store" "$dir/one/mcptask" --port 0 2>"$dir/said" &
    pid=$!
    read -r _ <"$dir/said"
    checks=$((checks + 1))
    [ ! -r "/proc/$pid/maps" ] ||
        grep -q 'r--p .*one/mcptask' "/proc/$pid/maps" ||
        fail "what was relocated can be written: $(cat "/proc/$pid/maps")"
    kill $pid
    wait $pid
    rm "$dir/said"
    for module in json http/parse serve/stdio store; do
        readelf -sW "$dir/one/build/$module.o" >"$dir/symbols"
        has "$dir/symbols" __stack_chk_fail
    done
}

# smallest [NAME=VALUE...]: without all that, where somebody wants it so
smallest() {
    build "$dir/small" HARDEN= "$@"
    check test "$(wc -c <"$dir/small/mcptask")" -lt \
        "$(wc -c <"$dir/one/mcptask")"
    wants readelf || return
    readelf -sW "$dir/small/build/json.o" >"$dir/symbols"
    lacks "$dir/symbols" __stack_chk_fail
}

[ $# -gt 0 ] || set -- ''
for cc; do
    name=${cc:-default}
    [ -z "$cc" ] || wants "$cc" || continue
    rm -rf "$dir/one" "$dir/a longer" "$dir/small"
    twice ${cc:+"CC=$cc"}
    hardened "$cc"
    smallest ${cc:+"CC=$cc"}
done
finish
