#!/bin/sh
# A build gives the same bytes wherever it runs, and a hardened program:
# t_build.sh [CC...]. Without arguments it uses the compiler that make chooses.
# One of the two builds is that of this tree, which must have been made with
# make's own flags.

cd "$(dirname "$0")/.." || exit 1
. tests/lib/check.sh
unset CFLAGS LDFLAGS
export COMMIT=other # of whatever the caller builds
chosen=cc
commit=$(git rev-parse --short=8 HEAD 2>/dev/null)
version="mcptask $(sed -n 's/^#define MCPTASK_VERSION "\(.*\)"/\1/p' base/base.h)"
case $version in
*-dev) version=$version${commit:+"+$commit"} ;;
esac

# sources DIR: a copy of them
sources() {
    mkdir -p "$1" && tar -c --exclude=./build --exclude=./mcptask \
        --exclude=./.git --exclude=node_modules . | tar -x -C "$1" || exit 1
}

# makes DIR PROGRAM [NAME=VALUE...]: the program that make builds there runs
makes() {
    at=$1 program=$2
    shift 2
    (cd "$at" && make -j2 "$program" "$@") >"$dir/log" 2>&1 ||
        fail "make $*: $(tail -n 20 "$dir/log")"
    checks=$((checks + 1))
    [ "$("$at/$program" --version 2>&1)" = "$version" ] ||
        fail "make $*: it does not run, or prints another version"
}

# here CC: builds in this tree, into $made, from the objects in $objects
here() {
    objects=build/$1
    [ "$1" != "$chosen" ] || objects=build
    made=$objects/mcptask
    [ "$1" != "$chosen" ] || made=mcptask
    makes . "$made" CC="$1" B="$objects" BIN="$made"
}

# The same, from another directory, with another locale, time zone and umask.
twice() { # CC
    here "$1"
    (
        failed=0
        export TZ=Asia/Kolkata LC_ALL=C.UTF-8
        umask 077
        sources "$dir/a longer/way to it"
        makes "$dir/a longer/way to it" mcptask CC="$1" \
            MCPTASK_COMMIT="$commit"
        exit $failed
    ) || failed=$((failed + 1))
    same "$made" "$dir/a longer/way to it/mcptask"
}

# It needs no dynamic linker, and functions with arrays notice an overwritten
# stack. Where the C library can do that for a static program, its addresses are
# random and what the linker resolved is read-only.
hardened() { # CC
    wants readelf || return
    readelf -hldW "$made" >"$dir/elf" 2>&1
    lacks "$dir/elf" ' RWE ' NEEDED INTERP
    [ "$1" = musl-gcc ] || relocated
    for module in json http/parse serve/stdio store; do
        readelf -sW "$objects/$module.o" >"$dir/symbols"
        has "$dir/symbols" __stack_chk_fail
    done
}

relocated() {
    has "$dir/elf" 'DYN (' GNU_RELRO BIND_NOW 'NOW PIE'
    mkfifo "$dir/said"
    MCP_TASK_BASE_DIR="$dir/store" "./$made" --port 0 2>"$dir/said" &
    pid=$!
    read -r _ <"$dir/said"
    checks=$((checks + 1))
    [ ! -r "/proc/$pid/maps" ] ||
        grep -q "r--p .*/$made\$" "/proc/$pid/maps" ||
        fail "what was relocated can be written: $(cat "/proc/$pid/maps")"
    kill $pid
    wait $pid
    rm "$dir/said"
}

[ $# -gt 0 ] || set -- "$chosen"
for cc; do
    wants "$cc" || continue
    rm -rf "$dir/a longer"
    twice "$cc"
    hardened "$cc"
done
finish
