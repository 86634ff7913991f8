#!/bin/sh
# docs/demo.svg shows the demo of this version, and a rerun makes no
# difference: t_recording.sh MCPTASK

# shellcheck source=tests/lib/check.sh
. "$(dirname "$0")/../lib/check.sh"
tests=$(dirname "$0")/..

for _ in 1 2; do
    check sh "$tests/recording.sh" "$1"
    name='make recording'
    same "$dir/log" "$tests/../docs/demo.svg"
done
finish
