#!/bin/sh
# Two agents of different products over stdio, each with a server process of its
# own, on a temporary store: the first is killed, and the second continues its
# task. Neither passes a name. Usage: demo.sh [path of mcptask]
set -eu

server=${1:-./mcptask}
store=$(mktemp -d)
export MCP_TASK_BASE_DIR="$store/state"
export MCP_TASK_REPO=/home/me/api # where both agents work
pid=
waiting=
trap 'rm -rf "$store"; [ -z "$pid$waiting" ] || kill $pid $waiting' EXIT
mkfifo "$store/in" "$store/out"

# start NAME: a server as an MCP client starts it.
start() {
    agent=$1
    "$server" <"$store/in" >"$store/out" &
    pid=$!
    exec 3>"$store/in" 4<"$store/out"
    ask '"initialize","params":{"protocolVersion":"2025-11-25",
        "capabilities":{},"clientInfo":{"name":"'"$agent"'","version":"1"}}'
    printf '%s\n' '{"jsonrpc":"2.0","method":"notifications/initialized"}' >&3
    printf '\n%s starts its server, process %d.\n' "$agent" "$pid"
}

# ask METHOD-AND-PARAMS: sends one request; its answer is in $answer. Other
# messages of the server are skipped.
ask() {
    printf '{"jsonrpc":"2.0","id":1,"method":%s}\n' "$1" | tr '\n' ' ' >&3
    echo >&3
    read -r answer <&4
    while [ "${answer##*\"id\":1*}" ]; do
        read -r answer <&4
    done
}

# call TOOL ARGUMENTS: shows both and the answer.
call() {
    ask '"tools/call","params":{"name":"'"$1"'","arguments":'"$2"'}'
    printf '\n%s> %s %s\n' "$agent" "$1" "$2"
    printf '%s\n' "$answer" |
        sed -e 's/.*"text":"\(.*\)"}\].*/\1/' -e 's/\\"/"/g' \
            -e 's/,"/, "/g' | fold -s -w 72 | sed 's/^/  < /'
}

start claude-code
call create_task '{"task_id":"task-001","title":"Add rate limiting",
    "goal":"At most 100 requests a minute"}'
call claim_task '{"task_id":"task-001"}'
call save_checkpoint '{"task_id":"task-001",
    "completed_steps":["Read the router","Wrote the middleware"],
    "remaining_steps":["Write tests"],
    "resume_prompt":"The middleware is in src/limit.js."}'

printf '\nIts server is killed with kill -9 %d. Now mcptask list shows:\n\n' \
    "$pid"
kill -9 "$pid"
wait "$pid" 2>/dev/null || true
exec 3>&- 4<&-
"$server" list

"$server" wait task-001 --until 'done' --timeout 60 >"$store/waited" &
waiting=$!
start codex-mcp-client
call claim_task '{"task_id":"task-001"}'
call claim_task '{"task_id":"task-001","takeover":true,
    "reason":"claude-code was killed"}'
call update_task '{"task_id":"task-001","status":"done",
    "completed_steps":["Read the router","Wrote the middleware",
    "Wrote tests"],"remaining_steps":[],
    "test_results":[{"command":"make test","exit_code":0}]}'
exec 3>&- 4<&-
wait "$pid"
pid=

printf '\nA shell that waited with mcptask wait task-001 --until done gets:\n\n'
wait "$waiting"
waiting=
cat "$store/waited"
printf '\nWhat happened, by mcptask history task-001:\n\n'
"$server" history task-001
