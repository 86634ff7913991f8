#!/bin/sh
# README's two commands on a fresh Debian, as a newcomer types them: t_bare.sh
# debootstrap makes a root that has what README installs, and nothing else. In
# it, an ordinary user builds, serves and tests a copy of the tree, with only a
# loopback for a network. Mounts and processes end with their namespaces. Needs
# root and a mirror of Debian, and says so if it has no root.

cd "$(dirname "$0")/.." || exit 1
[ "$1" = --inside ] || export TMPDIR=/var/tmp # with room, and for devices too
. tests/lib/check.sh

if [ "$1" != --inside ]; then
    for tool in debootstrap unshare ip; do
        wants $tool || finish
    done
    if [ "$(id -u)" -ne 0 ]; then
        echo "$me: skipped, it wants root"
        finish
    fi
    trap 'exit 1' HUP INT TERM
    TMPDIR=$dir timeout --foreground -s KILL 1140 unshare -mpf --kill-child \
        --mount-proc sh "tests/$me.sh" --inside
    code=$?
    [ $code -ne 137 ] || echo "$me: killed after 19 minutes"
    exit $code
fi
trap - EXIT # the directory is removed from outside, where nothing is mounted

# typed COMMAND: runs it as the newcomer's bash does, in the tree
typed() {
    # shellcheck disable=SC2016 # for that sh
    unshare -mn sh -c 'ip link set lo up && mount -t proc proc "$0/proc" &&
        mount -t devpts -o newinstance,ptmxmode=666 devpts "$0/dev/pts" &&
        exec chroot --userspec=newcomer "$0" \
        /usr/bin/env -i PATH=/usr/bin:/bin HOME=/home/newcomer \
        bash -c "cd ~/mcptask && $1"' "$dir/root" "$1"
}

needs=$(sed -n 's/.*apt-get install -y git \(gcc.*make\)$/\1/p' README.md)
check test -n "$needs"
# shellcheck disable=SC2016 # names of apt's fields
from=$(apt-get indextargets --format '$(CODENAME) $(REPO_URI)' \
    'Origin: Debian' 'Created-By: Packages' | grep -v security | head -n 1)
check test -n "$from"
[ $failed -eq 0 ] || finish
# shellcheck disable=SC2086 # two words
check debootstrap --variant=minbase --include="$(echo "$needs" | tr ' ' ,)" \
    ${from% *} "$dir/root" ${from#* }
check chroot "$dir/root" useradd -m -s /bin/bash newcomer
home=$dir/root/home/newcomer
mkdir "$home/mcptask" && tar -c --exclude=./.git --exclude=./build \
    --exclude=./mcptask --exclude=node_modules . |
    tar -x -C "$home/mcptask" || exit 1
check chroot "$dir/root" chown -R newcomer /home/newcomer
[ $failed -eq 0 ] || finish

name='make run'
cat >"$home/asks" <<'END_OF_SCRIPT'
make run &
until (exec 3<>/dev/tcp/127.0.0.1/8766) 2>/dev/null; do
    kill -0 $! || exit 1
    sleep 0.1
done
exec 3<>/dev/tcp/127.0.0.1/8766
printf 'GET /health HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n' >&3
grep '"status":"ok"' <&3 && kill $!
END_OF_SCRIPT
check typed '. ~/asks'
name='make test'
check typed 'make test'
finish
