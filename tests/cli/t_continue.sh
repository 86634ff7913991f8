#!/bin/sh
# One product stops and another continues, with real processes: Claude Code that
# ends cleanly with its hook, is killed or is exhausted, and Codex that polls,
# waits and takes over: t_continue.sh [MCPTASK]

# shellcheck source=tests/lib/cli.sh
. "$(dirname "$0")/../lib/cli.sh"
unset MCP_TASK_AGENT MCP_TASK_REPO CLAUDE_ENV_FILE

n=0
# start CLIENT: starts a server for a client, on descriptor 3; pid in server
start() {
    rm -f to
    mkfifo to
    : >answers
    "$bin" <to >answers 2>err &
    server=$!
    exec 3>to
    printf '{"jsonrpc":"2.0","id":0,"method":"initialize","params":{%s%s%s}}\n' \
        '"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{' \
        '"name":"'"$1"'","version":"1"' '}' >&3
}
# ask TOOL ARGUMENTS: calls a tool, and waits for its answer, in out
ask() {
    n=$((n + 1))
    printf '{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{%s}}\n' $n \
        '"name":"'"$1"'","arguments":'"$2" >&3
    i=0
    until grep "\"id\":$n," answers >out; do
        i=$((i + 1))
        [ $i -lt 1200 ] || {
            fail "$1 has no answer: $(cat answers err)"
            return
        }
        sleep 0.1
    done
}
# killed, closed: how the client of descriptor 3 ends
killed() {
    exec 3>&-
    kill -9 $server
    wait $server 2>/dev/null
}
closed() {
    exec 3>&-
    wait $server
}
session=7d41c0de-7d41-4b7e-9d0c-2a5c0f3c9a52
# work AGENT: Claude Code works on a task
work() {
    start claude-code
    ask create_task '{"task_id":"t-1","title":"Parse headers"}'
    as='"task_id":"t-1"'${1:+",\"agent\":\"$1\""}
    ask claim_task "{$as}"
    has out '\"claimed\":true'
    ask save_checkpoint "{$as,\"resume_prompt\":\"lines 1 to 40 are done\"}"
}
# hook CLIENT EVENT
hook() {
    echo '{"session_id":"'$session'","hook_event_name":"'"$2"'"}' |
        "$bin" hook "$1" >out 2>err || fail "hook: $?"
    checks=$((checks + 1))
    [ ! -s err ] || fail "hook: $(cat err)"
}

# ends HOW WORDS: Claude Code ends, and Codex is told and takes over at once
ends() {
    begin "$1"
    work "${3:-}"
    case $1 in
    killed) killed ;;
    *) closed ;;
    esac
    [ "$1" != with_its_hook ] || hook claude-code SessionEnd
    hook codex SessionStart
    has out 'Left by another agent; if it will not come back, claim the task' \
        "$2 "
    start codex-mcp-client
    for _ in 1 2; do # one that polls gets nothing, but is told
        ask claim_task '{}'
        has out '\"claimed\":false' '\"could_claim\":[{\"task_id\":\"t-1\"' \
            '\"title\":\"Parse headers\"' "$2 " '\"free_at\":\"2' \
            'wait until free_at with wait_seconds'
    done
    ask claim_task '{"task_id":"t-1"}'
    has out '\"code\":\"kept\"' '\"expires_at\":\"2'
    ask claim_task '{"task_id":"t-1","takeover":true,"reason":"it crashed"}'
    has out '\"claimed\":true' 'lines 1 to 40 are done' "$2 "
    closed
    # Its owner comes back, and is told.
    start claude-code
    ask save_checkpoint '{"task_id":"t-1","agent":"'"$owner"'"}'
    has out '\"code\":\"kept\"' '\"taken_over\":{\"by\":\"codex-mcp-client-' \
        '\"reason\":\"it crashed\"'
    closed
}
own=claude-code-0f3c9a52
owner=$own
ends with_its_hook "left by $own, the session ended" $own
ends closed "left by $own, exited" $own
ends killed "left by $own, exited" $own

# Its own product has it before the minute is over, in one call.
begin the_same_product
work
killed
start claude-code
ask claim_task '{}'
has out '\"claimed\":true' '\"task_id\":\"t-1\"' '\"was\":\"left by claude-code-' \
    'lines 1 to 40 are done'
killed

# What is exhausted is anybody's, before what was not begun.
begin exhausted
work
ask create_task '{"task_id":"t-2","title":"Other"}'
ask mark_exhausted '{"task_id":"t-1","reason":"quota"}'
closed
start codex-mcp-client
ask claim_task '{}'
has out '\"claimed\":true' '\"task_id\":\"t-1\"' 'given up by claude-code-'
closed

# A client that has only the core is protected as well.
begin the_core
work
ask create_task '{"task_id":"t-2","title":"Other"}'
ask update_task '{"task_id":"t-2","status":"in_progress"}'
has out '\"lease\":{'
run 4 claim t-2 --agent codex-1
closed

# Codex waits for the minute, in calls of 50 seconds.
begin the_minute
work
killed
start codex-mcp-client
ask claim_task '{}'
has out '\"claimed\":false' '\"could_claim\"'
ask claim_task '{"wait_seconds":50}'
grep -q 'claimed\\":true' out || ask claim_task '{"wait_seconds":50}'
has out '\"claimed\":true' '\"task_id\":\"t-1\"' 'left by claude-code-'
closed
finish
