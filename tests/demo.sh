#!/bin/sh
# Two agents of different products over stdio, each with a server process of its
# own, on a temporary store: the first is killed, and the second continues its
# task. Neither passes a name. Usage: demo.sh [path of mcptask]
set -eu

server=${1:-./mcptask}
store=$(mktemp -d)
unset MCP_TASK_DB_PATH MCP_TASK_ARTIFACTS_DIR MCP_TASK_STORE MCP_TASK_SERVER \
    MCP_TASK_AGENT
export MCP_TASK_BASE_DIR="$store/state"
export MCP_TASK_REPO=/home/me/api # where both agents work
pid=
trap 'rm -rf "$store"; [ -z "$pid" ] || kill "$pid"' EXIT
mkfifo "$store/in" "$store/out"

# start CLIENT: a server as an MCP client of that name starts it.
start() {
    agent=${1%-mcp-client}
    "$server" <"$store/in" >"$store/out" &
    pid=$!
    exec 3>"$store/in" 4<"$store/out"
    ask '"initialize","params":{"protocolVersion":"2025-11-25",
        "capabilities":{},"clientInfo":{"name":"'"$1"'","version":"1"}}'
    printf '%s\n' '{"jsonrpc":"2.0","method":"notifications/initialized"}' >&3
    echo
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

# call TOOL ARGUMENTS [FIELD...]: shows the call, and these of its answer.
call() {
    ask '"tools/call","params":{"name":"'"$1"'","arguments":'"$2"'}'
    printf '%s> %s%s\n' "$agent" "$1" "$2" |
        sed -e '1s/{/(/' -e '$s/}$/)/' -e 's/"\([a-z_]*\)":/\1: /g' \
            -e 's/,\([^ ]\)/, \1/g'
    shift 2
    for field; do
        printf '    < %s: ' "$field"
        printf '%s\n' "$answer" | sed -e 's/\\"/"/g' \
            -e "s/.*\"$field\":\[*\(.*\)/\1/" -e 's/",* *"[a-z_]*":.*//' \
            -e 's/"*\].*//' -e 's/^"//' -e 's/","/, /g'
    done
}

start claude-code
call create_task '{"task_id":"api-7","title":"Limit requests"}'
call claim_task '{"task_id":"api-7"}'
call save_checkpoint '{"task_id":"api-7",
    "completed_steps":["Read the router","Wrote the middleware"],
    "remaining_steps":["Write tests"],
    "resume_prompt":"The middleware is in src/limit.js."}'

printf '\n$ kill -9 %d  # claude-code\n' "$pid"
kill -9 "$pid"
wait "$pid" 2>/dev/null || true
exec 3>&- 4<&-
printf '$ mcptask list\n'
"$server" list

start codex-mcp-client
call claim_task '{}' task_id was
call claim_task '{"task_id":"api-7","takeover":true,
    "reason":"claude-code was killed"}' \
    completed_steps remaining_steps resume_prompt
call update_task '{"task_id":"api-7","status":"done","remaining_steps":[],
    "completed_steps":["Read the router","Wrote the middleware","Wrote tests"],
    "test_results":[{"command":"make test","exit_code":0}]}'
exec 3>&- 4<&-
wait "$pid"
pid=

printf '\n$ mcptask list --all\n'
"$server" list --all
