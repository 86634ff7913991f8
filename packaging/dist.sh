#!/bin/sh
# All packages for all processors, in build/dist: dist.sh [ARCHITECTURE...]
#
# For each architecture, the program and its packages for npm, Python and
# Debian, or for mips and mipsel the program alone; SHA256SUMS lists them all.
# They are static, with musl: musl-gcc builds for this machine, and zig, which
# npm installs, for others.
set -eu
cd "$(dirname "$0")/.."
unset MAKEFLAGS MFLAGS MAKEOVERRIDES
version=$(sed -n 's/^#define MCPTASK_VERSION "\(.*\)"/\1/p' base/base.h)
to=build/dist
[ $# -gt 0 ] || set -- x86_64 aarch64 armhf riscv64

# compiler ARCHITECTURE: prints its compiler. Debian's armhf has half of the
# registers for floating point, and the MIPS of routers have none.
compiler() {
    case $1 in
    "$(uname -m)") echo musl-gcc ;;
    armhf) echo "$zig cc -target arm-linux-musleabihf" \
        "-mcpu=generic+v7a-neon-d32" ;;
    mips | mipsel) echo "$zig cc -target $1-linux-musleabi" ;;
    *) echo "$zig cc -target $1-linux-musl" ;;
    esac
}

# wanted COMMAND PACKAGE: reports the command if it is missing
wanted() {
    command -v "$1" >/dev/null && return
    echo "dist.sh: $1 is missing; Debian has it in $2" >&2
    missing=yes
}

missing='' zig=''
wanted zip zip
wanted dpkg-deb dpkg
for arch; do
    case $arch in
    "$(uname -m)") wanted musl-gcc musl-tools ;;
    x86_64 | aarch64 | armhf | riscv64 | mips | mipsel)
        wanted npm npm
        zig=yes
        ;;
    *)
        echo "dist.sh: $arch: name x86_64, aarch64, armhf, riscv64, mips or" \
            "mipsel" >&2
        missing=yes
        ;;
    esac
done
[ -z "$missing" ] || exit 1
[ -z "$zig" ] || zig=$(sh tests/cross/zig.sh)

rm -rf $to
mkdir -p $to
install -m 644 LICENSE $to/LICENSE
for arch; do
    program=build/static/$arch/mcptask
    make -s "-j$(getconf _NPROCESSORS_ONLN)" CC="$(compiler "$arch")" \
        B="build/static/$arch" BIN="$program" "$program"
    install -m 755 "$program" "$to/mcptask-$version-linux-$arch"
    case $arch in mips*) continue ;; esac
    for what in npm wheel deb; do
        OUT=$to sh packaging/pack.sh $what "$program" >/dev/null
    done
done
(cd $to && sha256sum -- * >../sums && mv ../sums SHA256SUMS && cat SHA256SUMS)
