# shellcheck shell=sh disable=SC2034,SC2120,SC2154 # those of cli.sh, and serve
# Runs the same commands beside a store and with a server. A script sources it
# after cli.sh.

server=''
stop() {
    [ -z "$server" ] || kill "$server" 2>/dev/null
    [ -z "$server" ] || wait "$server" 2>/dev/null
    server=''
}
trap 'stop; rm -rf "$dir"' EXIT

# serve OPTION...: a server of the store of this test at the socket s
serve() {
    stop
    rm -f said
    mkfifo said
    "$bin" --unix "$dir/s" "$@" 2>said &
    server=$!
    exec 3<said
    read -r line <&3
}

# mt CODE ARGUMENT...: run, there or here
mt() {
    want=$1
    shift
    run "$want" ${at:+--server "$at"} "$@"
}

# both NAME: runs the function NAME beside a store, and with a server of another
both() {
    begin "$1-here"
    at=''
    "$1"
    begin "$1-there"
    serve
    at="unix:$dir/s"
    "$1"
    stop
}
