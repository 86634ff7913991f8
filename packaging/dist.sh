#!/bin/sh
# All packages for all processors, in build/dist: dist.sh [ARCHITECTURE...]
#
# For each architecture, the program and its packages for npm, Python and
# Debian; SHA256SUMS lists them all. musl-gcc builds it for this machine, and
# Debian's cross compilers for others with a static glibc, all of them in the
# directories of "make cross".
set -eu
cd "$(dirname "$0")/.."
unset MAKEFLAGS MFLAGS MAKEOVERRIDES
version=$(sed -n 's/^#define MCPTASK_VERSION "\(.*\)"/\1/p' base/base.h)
to=build/dist
[ $# -gt 0 ] || set -- x86_64 aarch64 armhf riscv64

# compiler ARCHITECTURE: prints its compiler
compiler() {
    case $1 in
    "$(uname -m)") echo musl-gcc ;;
    armhf) echo arm-linux-gnueabihf-gcc ;;
    *) echo "$1-linux-gnu-gcc" ;;
    esac
}

# wanted COMMAND PACKAGE: reports the command if it is missing
wanted() {
    command -v "$1" >/dev/null && return
    echo "dist.sh: $1 is missing; Debian has it in $2" >&2
    missing=yes
}

missing=
wanted zip zip
wanted dpkg-deb dpkg
for arch; do
    case $(compiler "$arch") in
    musl-gcc) wanted musl-gcc musl-tools ;;
    *) wanted "$(compiler "$arch")" \
        "gcc-$(compiler "$arch" | sed 's/-gcc$//; s/_/-/g')" ;;
    esac
done
[ -z "$missing" ] || exit 1

rm -rf $to
mkdir -p $to
install -m 644 LICENSE $to/LICENSE
for arch; do
    program=build/cross/$arch/mcptask
    make -s "-j$(getconf _NPROCESSORS_ONLN)" CC="$(compiler "$arch")" \
        B="build/cross/$arch" BIN="$program" "$program"
    install -m 755 "$program" "$to/mcptask-$version-linux-$arch"
    for what in npm wheel deb; do
        OUT=$to sh packaging/pack.sh $what "$program" >/dev/null
    done
done
(cd $to && sha256sum -- * >../sums && mv ../sums SHA256SUMS && cat SHA256SUMS)
