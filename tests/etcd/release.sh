#!/bin/sh
# usage: release.sh RELEASE COMMAND...
# Runs the command with the etcd of another release of Debian, which is unpacked
# below build/ and not installed. Exit code 77: it cannot be had.
set -eu

release=$1
shift
dir=$PWD/build/etcd-$release
mkdir -p "$dir/lists/partial" "$dir/archives/partial"

# apt with no other release and with files of its own.
apt() {
    apt-get -q -o Dir::Etc::SourceList="$dir/sources.list" \
        -o Dir::Etc::SourceParts=- -o Dir::State::Lists="$dir/lists" \
        -o Dir::Cache="$dir" -o APT::Sandbox::User="$(id -un)" "$@"
}

unpack() {
    # shellcheck disable=SC2016 # names of apt's fields
    mirror=$(apt-get indextargets --format '$(REPO_URI)' 'Origin: Debian' |
        grep -v security | head -n 1)
    keys=/usr/share/keyrings/debian-archive-keyring.gpg
    echo "deb [signed-by=$keys] $mirror $release main" >"$dir/sources.list"
    apt update && (cd "$dir" && apt download etcd-server etcd-client) || return
    for deb in "$dir"/etcd-*.deb; do
        dpkg -x "$deb" "$dir"
    done
}

PATH=$dir/usr/bin:$PATH
[ -x "$dir/usr/bin/etcdctl" ] || unpack >"$dir/out" 2>&1 || {
    echo "no etcd of $release: see $dir/out"
    exit 77
}
"$dir/usr/bin/etcd" --version | head -n 1
exec "$@"
