#!/bin/sh
# walk.sh MCPTASK: how many functions of how many files a request over HTTP
# passes, when the same was asked once before. MCPTASK is built by "make walk".
# A folder as second argument gets a list of them for each request.
set -eu
bin=$1
lists=${2:-}
dir=$(mktemp -d)
pid=
trap '[ -z "$pid" ] || kill "$pid"; rm -rf "$dir"' EXIT

export WALK="$dir/walk" MCP_TASK_BASE_DIR="$dir/store"
"$bin" --http --port 0 2>"$dir/err" >/dev/null &
pid=$!
for _ in $(seq 100); do
    url=$(sed -n 's/.*\(http:[0-9./]*:[0-9]*\).*/\1/p' "$dir/err" | head -n 1)
    [ -z "$url" ] || break
    sleep 0.1
done

# post BODY: sends it in the session
post() {
    curl -s -D "$dir/head" ${session:+-H "Mcp-Session-Id: $session"} \
        -H 'Content-Type: application/json' \
        -H 'Accept: application/json, text/event-stream' \
        -d "$1" "$url/mcp" >"$dir/body"
}

# call TOOL ARGUMENTS: a call of the tool
call() {
    post '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"'"$1"'","arguments":'"$2"'}}'
    grep -q '"result"' "$dir/body" && ! grep -q '"isError":true' "$dir/body"
}

# What has run since the last time is in $WALK once it ends so.
mark() {
    rm -f "$WALK"
    kill -USR1 "$pid"
    for _ in $(seq 100); do
        ! grep -qs end "$WALK" || return 0
        sleep 0.05
    done
    return 1
}

# walk NAME: counts it
walk() {
    mark
    grep -v end "$WALK" | addr2line -f -e "$bin" | paste - - |
        sed 's/:[^:]*$//' | sort -u >"$dir/functions"
    [ -z "$lists" ] || cp "$dir/functions" "$lists/$1"
    printf '%-8s %4d functions in %3d files\n' "$1" \
        "$(wc -l <"$dir/functions")" \
        "$(cut -f 2 "$dir/functions" | sort -u | wc -l)"
}

post '{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"walk","version":"1"}}}'
session=$(sed -n 's/\r$//; s/^[Mm]cp-[Ss]ession-[Ii]d: //p' "$dir/head")
post '{"jsonrpc":"2.0","method":"notifications/initialized"}'

for task in one two; do
    mark
    call create_task '{"task_id":"'$task'","title":"walk"}'
done
walk create
for task in one two; do
    mark
    call claim_task '{"task_id":"'$task'","agent":"walker"}'
done
walk claim
for task in one two; do
    mark
    call get_task '{"task_id":"'$task'"}'
done
walk get
for _ in 1 2; do
    mark
    curl -s "$url/health" >"$dir/body"
    grep -q ok "$dir/body"
done
walk /health
