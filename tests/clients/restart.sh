#!/bin/sh
# Starts a server of the directory DIR, after it has killed the one before it:
# restart.sh DIR [OPTION...]. It listens on the port of that one, DIR/port, and
# its process is DIR/pid.

dir=$1
shift
[ -f "$dir/pid" ] && kill -9 "$(cat "$dir/pid")" && sleep 1
port=$(cat "$dir/port" 2>/dev/null || echo 0)
: >"$dir/log"
"$MCPTASK" --http --port "$port" "$@" </dev/null >/dev/null 2>"$dir/log" &
echo $! >"$dir/pid"
for _ in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do
    port=$(sed -n 's/^mcptask: http:.*:\([0-9]*\)$/\1/p' "$dir/log")
    [ -n "$port" ] && echo "$port" >"$dir/port" && exit 0
    sleep 0.1
done
cat "$dir/log" >&2
exit 1
