#!/bin/sh
# Builds for other systems and processors without a warning, and runs nothing:
# systems.sh [TARGET...], two at a time
set -u
cd "$(dirname "$0")/.." || exit 1
unset MAKEFLAGS MFLAGS MAKEOVERRIDES

one() {
    dir=build/systems/$1 from=$(date +%s)
    mkdir -p "$dir"
    if make CC="$zig cc -target $1" B="$dir" BIN="$dir/mcptask" \
        >"$dir/log" 2>&1 && ! grep -q warning: "$dir/log"; then
        echo "$1: built, $(($(date +%s) - from)) s"
        return
    fi
    echo "$1: failed"
    grep -v '^  CC' "$dir/log" | tail -n 40
    return 1
}

if [ "${1-}" = --one ]; then
    one "$2"
    exit
fi
zig=$(sh tests/cross/zig.sh) || exit 1
export zig
[ $# -gt 0 ] || set -- aarch64-macos x86_64-macos x86_64-freebsd \
    x86_64-netbsd x86_64-openbsd x86-linux-musl arm-linux-musleabihf \
    aarch64-linux-musl riscv64-linux-musl mips-linux-musleabi
printf '%s\n' "$@" | xargs -I TARGET -P 2 sh tests/systems.sh --one TARGET
