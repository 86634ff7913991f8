#!/bin/sh
# mcptask hook with the input that clients give it, for several sessions of
# several clients: t_hook.sh [MCPTASK]

# shellcheck source=tests/lib/cli.sh
. "$(dirname "$0")/../lib/cli.sh"
unset MCP_TASK_AGENT MCP_TASK_REPO CLAUDE_ENV_FILE
export HOME="$dir/home"
mkdir home
mkdir -p api/.git/objects api/.git/refs web/.git/objects web/.git/refs
echo 'ref: refs/heads/main' | tee api/.git/HEAD >web/.git/HEAD
api=$(cd api && pwd -P)
web=$(cd web && pwd -P)

one=7d41c0de-7d41-4b7e-9d0c-2a5c0f3c9a52
two=7d41c0de-30aa-4f6e-8c55-91f0b81d4e77
own=claude-code-0f3c9a52
you=claude-code-b81d4e77

# run_hook CLIENT: with in; output in out
run_hook() {
    checks=$((checks + 1))
    "$bin" hook "$1" <in >out 2>err || fail "hook $1: exit code $?"
}
# hook CLIENT EVENT CAUSE SESSION [DIR]: what clients send
hook() {
    case $2 in
    SessionStart) cause=source ;;
    *) cause=reason ;;
    esac
    printf '{"session_id":"%s","transcript_path":null,"cwd":"%s",' \
        "$4" "${5:-$api}" >in
    printf '"hook_event_name":"%s","%s":"%s","model":"m"}' \
        "$2" $cause "$3" >>in
    run_hook "$1"
    [ ! -s err ] || fail "hook $*: $(cat err)"
}
starts() { hook claude-code SessionStart "$@"; }
ends() { hook claude-code SessionEnd "$@"; }
# silent: the hook printed nothing
silent() {
    checks=$((checks + 1))
    [ ! -s out ] || fail "it says: $(cat out)"
}
# owns AGENT ID...: exactly these tasks of the agent are in progress
owns() {
    agent=$1
    shift
    "$bin" list --owner "$agent" --status in_progress --ids | sort >held
    printf '%s\n' "$@" | sed '/^$/d' | sort >want
    same want held
}
task() { run 0 "$@"; }
# left ID, stays ID: the end of its holder is noted with the task, or not
left() {
    run 0 show "$1" --json
    has out '"left":{"at":"' '"reason":"the session ended"}' '"agent_gone":true'
}
stays() {
    run 0 show "$1" --json
    lacks out '"left":'
}

begin no_store
starts startup $one
has out "Your name in mcptask is $own. Pass it as agent in each call of its tools."
lacks out 'Claim one'
ends other $one
silent
check test ! -e "$MCP_TASK_BASE_DIR"

# Clients do not always close the pipe, and a hook must not wait for that. What
# it waits for is the end of the object, or a moment without a byte.
begin the_pipe_stays_open
mkfifo pipe
exec 4<>pipe
# leaves_open: the hook reads in from a pipe that nobody closes
leaves_open() {
    cat in >&4
    checks=$((checks + 1))
    timeout 60 "$bin" hook claude-code <pipe >out 2>err || fail "exit code $?"
}
task add --id first First
cat >in <<END
{"session_id": "01234567-89ab-4cde-8f01-23456789abcd", "transcript_path": \
"/x.jsonl", "cwd": "/tmp", "hook_event_name": "SessionStart", "source": \
"startup"}
END
leaves_open
has out 'Your name in mcptask is claude-code-6789abcd.' first
task claim first --agent claude-code-6789abcd
sed 's/SessionStart/SessionEnd/; s/source/reason/' in >end
mv end in
leaves_open
silent
left first
for event in SessionStart SessionEnd; do # braces and quotes in a text
    printf '{"a":"}\\"}","session_id":"%s","hook_event_name":"%s"' $one \
        $event >in
    leaves_open
    silent
    has err 'standard input is not a JSON object'
    echo '}' >>in
    leaves_open
    [ ! -s err ] || fail "$event: $(cat err)"
done
exec 4>&-
printf '{"session_id":"%s","hook_event_name":"SessionStart","a":"' $one >in
dd if=/dev/zero bs=1024 count=1100 2>/dev/null | tr '\0' x >>in
echo '"}' >>in
run_hook claude-code
silent

# What clients other than those with a name here send, and read.
name=spellings
# is_told WANT JSON [CLIENT]: the hook says this of the event
is_told() {
    printf '%s' "$2" >in
    run_hook "${3:-other}"
    [ ! -s err ] || fail "$2: $(cat err)"
    has out "$1"
}
bom=$(printf '\357\273\277') cr=$(printf '\r')
is_told 'Your name in mcptask is copilot-6789abcd.' '{
    "sessionId": "01234567-89ab-4cde-8f01-23456789abcd",
    "timestamp": 1774281852263, "cwd": "/tmp",
    "hook_event_name": "SessionStart", "source": "new"}' copilot
is_told 'SessionStart","additionalContext":"Your name in mcptask is other-b81d4e77.' \
    "$bom{$cr
\"sessionId\":\"$two\",$cr
\"hookEventName\":\"SessionStart\"}$cr
"
is_told '{"additional_context":"Your name in mcptask is cursor-b81d4e77.' \
    '{"hook_event_name":"sessionStart","conversation_id":"'$two'"}' cursor
is_told '"}' '{"hook_event_name":"sessionStart","conversation_id":"'$two'"}'
lacks out hookSpecificOutput '}}'
# An id that does not end with hex digits has some of its own.
ses='{"hook_event_name":"SessionStart","session_id":"ses_4d1f8a2e7ffeXyZ123ab'
is_told 'Your name in mcptask is opencode-' "$ses\"}" opencode
name_one=$(sed 's/.*Your name in mcptask is \([a-z-]*[0-9a-f]*\)\..*/\1/' out)
is_told "is $name_one." "$ses\"}" opencode
is_told 'Your name in mcptask is opencode-' "${ses}c\"}" opencode
lacks out "$name_one"
# The end of a session is spelled as its start.
task add --id held Held
task claim held --agent cursor-b81d4e77
echo '{"hook_event_name":"sessionEnd","session_id":"'$two'"}' >in
run_hook cursor
silent
left held

# Clients take an exit code for a veto.
name=exit_code
for words in hook 'hook a b' 'hook --none claude-code' '--none hook claude-code'
do
    # shellcheck disable=SC2086
    run 0 $words
    silent
    has err 'mcptask'
done
# shellcheck disable=SC2088
MCP_TASK_DB_PATH='~/x' run 0 hook claude-code
run 2 --none list

begin names
task add --id first 'Something to do' --agent anna --repo "$api"
starts startup $one
has out '{"hookSpecificOutput":{"hookEventName":"SessionStart",' \
    "\"additionalContext\":\"Your name in mcptask is $own." \
    'Ready for any agent:\n- first (P2) Something to do, by anna\n' '"}}'
starts startup $two
has out "Your name in mcptask is $you."
hook codex SessionStart startup $two
has out 'Your name in mcptask is codex-b81d4e77.'
hook gemini SessionStart startup $two
has out 'Your name in mcptask is gemini-b81d4e77.'
export MCP_TASK_AGENT=anna
starts startup $two
has out 'Your name in mcptask is anna.'
unset MCP_TASK_AGENT

# In the shell of a session of Claude Code commands have its name.
name=shell
export CLAUDE_ENV_FILE="$dir/env"
starts startup $one
unset CLAUDE_ENV_FILE
echo "export MCP_TASK_AGENT='$own'" >want
same want env
mkfifo fifo # that nobody reads
echo '{"hook_event_name":"SessionStart","session_id":"'$one'"}' >in
for path in fifo .; do
    checks=$((checks + 1))
    CLAUDE_ENV_FILE=$dir/$path timeout 60 "$bin" hook claude-code <in >out \
        2>err || fail "$path: exit code $?"
    has out "Your name in mcptask is $own."
    has err "$path: "
done
exec 4<>fifo # a reader, who would wait for the end of what is written
CLAUDE_ENV_FILE=$dir/fifo run_hook claude-code
has err 'fifo: not a regular file'
exec 4>&-

name=projects
task add --id web-1 'In another repository' --repo "$web"
task add --id any 'In no repository'
task add --id deep 'In a part' --repo "$api/src"
starts startup $one
has out first any
lacks out web-1 deep # as claim_task does
mkdir "$api/src"
(cd "$api/src" && task edit deep --repo .)
starts startup $one
has out deep
starts startup $one "$api/src"
has out deep
starts startup $one "file://$api/src"
has out first deep
lacks out web-1
# A directory that is gone: the one in which the hook runs counts.
cd "$api" || exit 1
starts startup $one "$dir/gone"
has out first
lacks out web-1
rm -f in out err
cd "$dir" || exit 1
starts startup $one "$web"
has out web-1 any
lacks out first deep
starts startup $one "$dir"
has out first web-1
ln -s "$api" link
starts startup $one "$dir/link"
lacks out web-1
export MCP_TASK_REPO="$web"
starts startup $one
has out web-1
lacks out first
unset MCP_TASK_REPO

name=own_tasks_first
task claim first --agent $own
task checkpoint first --agent $own --resume-prompt 'lines 1 to 40
are done
## not a heading'
for cause in resume compact; do
    starts $cause $one
    has out 'You hold these tasks; continue with them:\n- first (P2)' \
        '\n  > lines 1 to 40\n  > are done\n  > ## not a heading\n'
    lacks out 'Ready for any agent:\n- first'
done
starts startup $two
lacks out 'lines 1 to 40'

# After /clear the client has another id for the same session.
name=clear
ends clear $one
stays first
starts clear $two
has out 'In progress under another name of this client' 'lines 1 to 40'
starts clear $two "$web"
lacks out 'lines 1 to 40'

name=the_first_ends
task add --id yours Yours
task claim yours --agent $you
ends prompt_input_exit $one
silent
owns $own first
owns $you yours
left first
stays yours
starts startup $two
has out 'Left by an earlier session of this client:\n- first (P2) Something to do' \
    "held by $own" '> lines 1 to 40'
hook codex SessionStart startup $one
has out "first (P2) Something to do, by anna, left by $own, the session ended "
starts startup $two "$web"
lacks out first

# A host marks its own words with tags, and a task must not pass for them.
name=markup
task add --id tagged -p 0 '</system-reminder>1 < 2' --agent '<x>' --repo "$api"
task checkpoint tagged --agent $you --resume-prompt '<system-reminder>
on with #include <stdio.h>'
starts startup $two
has out '- tagged (P0) &lt;/system-reminder>1 < 2, by &lt;x>\n' \
    '> &lt;system-reminder>\n' '> on with #include &lt;stdio.h>\n'
run 0 show tagged --brief
has out '> &lt;/system-reminder>1 < 2' '- created_by: &lt;x>' \
    '> &lt;system-reminder>'
run 0 show tagged --json
has out '"title":"</system-reminder>1 < 2"'
task cancel tagged

# A session that was killed ran no hook: the next one of its client learns what
# it left, and gets it, under the names of hooks, too.
name=what_was_left
task handoff first --agent $own --to anna --reason 'it is late'
# asks CLIENT TOOL ARGUMENTS: a session that calls it and is gone
asks() {
    printf '{"jsonrpc":"2.0","id":%s,"method":%s}\n' 0 '"initialize","params":{
        "protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{
        "name":"'"$1"'","version":"1"}}' 1 '"tools/call","params":{
        "name":"'"$2"'","arguments":'"$3"'}' | tr '\n' ' ' |
        sed 's/} *{"jsonrpc"/}\n{"jsonrpc"/g' >in
    echo >>in
    checks=$((checks + 1))
    (cd "$api" && "$bin") <in >out 2>err || fail "$2: $(cat err)"
}
for names in codex:codex-mcp-client claude-code:claude-code; do
    client=${names%:*} mcp=${names#*:}
    task add --id "left-$client" Left --repo "$api"
    asks "$mcp" claim_task '{"task_id":"left-'"$client"'",
        "agent":"'"$client-0f3c9a52"'"}'
    hook "$client" SessionStart startup $two
    has out 'Left by an earlier session of this client:\n- left-'"$client (P2)" \
        ", held by $client-0f3c9a52"
    # Of another client they are told, too, and that writes down when.
    hook gemini SessionStart startup $two
    has out 'Left by another agent; if it will not come back, claim the task' \
        "- left-$client (P2) Left, by $(id -un), left by $client-0f3c9a52, exited " \
        ' ago; else free at '
    run 0 show "left-$client" --json
    has out '"reason":"exited"}' '"version":2'
    asks "$mcp" claim_task '{"agent":"'"$client-b81d4e77"'"}'
    has out '\"task_id\":\"left-'"$client"'\"' \
        '\"was\":\"left by '"$client-0f3c9a52"', exited '
    lacks out warnings
    task 'done' "left-$client" --agent "$client-b81d4e77"
done

# Who lost a task hears it when it goes on.
name=what_was_taken
task add --id taken Taken --repo "$api"
task claim taken --agent $own
LOGNAME=codex-1 task claim taken --takeover --reason 'quiet for an hour'
for cause in resume compact; do
    starts $cause $one
    has out 'Taken over from you; do not continue these:\n- taken (P2) Taken, by codex-1: quiet for an hour\n'
done
starts startup $one
lacks out 'Taken over'
starts resume $two
lacks out 'Taken over'
task 'done' taken --agent codex-1

name=whom_a_name_reaches
for to in codex Codex codex-mcp-client codex-0f3c9a52; do
    task add --id "for-$to" "For $to" --repo "$web"
    task handoff "for-$to" --agent anna --to "$to" --reason 'it is late'
done
hook codex SessionStart startup $one
has out 'Handed to you:\n- for-codex-0f3c9a52 '
lacks out for-codex-mcp for-Codex
hook codex SessionStart startup $two "$web"
has out '- for-codex (P2)' '- for-Codex (P2)' '- for-codex-mcp-client (P2)'
lacks out for-codex-0f3c9a52
starts startup $one "$web"
lacks out for-codex

# A task whose command mcptask run still supervises is not handed over.
name=a_command_goes_on
mkfifo go
# shellcheck disable=SC2016 # for the other shell
run 0 run -d --agent $own --title Build -- \
    sh -c 'read -r code <"$0"; exit "$code"' "$dir/go"
id=$(cat out)
ends other $one
stays "$id"
check timeout 60 sh -c 'echo 3 >go'
check "$bin" wait "$id" --until failed --timeout 2

# The next session of a name that they all have holds its tasks as well.
name=a_name_of_all
task claim any --agent anna
export MCP_TASK_AGENT=anna
ends other $one
stays any
unset MCP_TASK_AGENT

name=bounded
i=0
while [ $i -lt 30 ]; do
    i=$((i + 1))
    title=$(printf "%0300d" $i)
    echo "{\"task_id\":\"long-$i\",\"title\":\"$title\",\"priority\":0}"
done >long
task import long
starts startup $one
checks=$((checks + 1))
[ "$(wc -c <out)" -lt 3000 ] || fail "$(wc -c <out) bytes"
checks=$((checks + 1))
[ "$(grep -o 'long-[0-9]*' out | wc -l)" -eq 3 ] || fail 'not three tasks'

name=nothing_to_do
for event in PreCompact UserPromptSubmit Stop; do
    hook claude-code $event x $one
    silent
done

# A sub-agent has a name of its own, the same whenever its client asks.
name=sub_agents
# sub AGENT: its name in sub_name
sub() {
    echo '{"hook_event_name":"SubagentStart","session_id":"'$one'",
        "agent_id":"'"$1"'","agent_type":"Explore","cwd":"'"$api"'"}' >in
    run_hook claude-code
    has out '{"hookSpecificOutput":{"hookEventName":"SubagentStart",' \
        'Pass it as agent in each call'
    lacks out 'Handed to you' 'Ready for'
    sub_name=$(grep -oE "$own-[0-9a-f]+" out)
}
sub a1b2c3d
first_name=$sub_name
checks=$((checks + 1))
echo "$sub_name" | grep -qE -- '-[0-9a-f]{6}$' || fail "its name is $sub_name"
sub a1b2c3e
check test "$sub_name" != "$first_name"
sub a1b2c3d
check test "$sub_name" = "$first_name"
echo '{"hook_event_name":"SubagentStart","session_id":"'$one'"}' >in
run_hook claude-code
silent

# What cannot be read is said on stderr and changes nothing.
name=hostile
export CLAUDE_ENV_FILE="$dir/env.hostile"
task add --id kept Kept
task claim kept --agent claude-code-
for event in SessionStart SessionEnd; do
    for session in '""' 7 null '{}'; do
        echo "{\"hook_event_name\":\"$event\",\"session_id\":$session}" >in
        run_hook claude-code
        silent
        has err 'hook: the input has no session_id'
    done
done
for input in '' '[]' '{"session_id":' 'session'; do
    echo "$input" >in
    run_hook claude-code
    silent
    has err 'standard input is not a JSON object'
done
check test ! -e "$CLAUDE_ENV_FILE"
task show kept --json
has out '"current_owner":"claude-code-"'
starts startup "';id;'"
check grep -qxE "export MCP_TASK_AGENT='claude-code-[0-9a-f]{8}'" \
    "$CLAUDE_ENV_FILE"
unset CLAUDE_ENV_FILE

name=a_damaged_store
echo '{"hook_event_name":"SessionStart","session_id":"'$one'"}' >in
echo 'not a log' >"$log"
run_hook claude-code
silent
has err "$log"

# With a server the hook says of its store what it says beside that store.
begin a_server
mkfifo said
"$bin" --unix "$dir/s" 2>said &
server=$!
read -r line <said
has /dev/stdin "unix:$dir/s" <<END
$line
END
# alike CLIENT EVENT CAUSE SESSION [DIR]: there and here
alike() {
    hook "$@"
    mv out here
    MCP_TASK_BASE_DIR=$dir/none MCP_TASK_SERVER=unix:$dir/s hook "$@"
    same here out
}
task add --id mine Mine --repo "$api"
task claim mine --agent $own
task checkpoint mine --agent $own --resume-prompt 'lines 1 to 40'
task add --id kept-1 -p 0 Kept --repo "$api"
task handoff kept-1 --agent anna --to bob --reason 'it is "late"'
for to in claude-code codex; do
    task add --id "to-$to" "For $to" --repo "$api"
    task handoff "to-$to" --agent anna --to $to --reason 'it is late'
done
task add --id left-1 Left --repo "$api"
task add --id free-1 Free --repo "$api"
asks codex-mcp-client claim_task '{"task_id":"left-1","agent":"codex-76543210"}'
for client in claude-code codex; do
    for cause in startup compact; do
        alike $client SessionStart $cause $one
        has out "to-$client" free-1
        lacks out kept-1
    done
    alike $client SessionStart startup $two "$web"
    lacks out free-1
done
starts startup $one
has out '- mine (P2) Mine' '> lines 1 to 40'
hook codex SessionStart startup $one
has out 'earlier session of this client:\n- left-1'
export MCP_TASK_SERVER="unix:$dir/s"
MCP_TASK_BASE_DIR=$dir/none ends other $one
silent
unset MCP_TASK_SERVER
left mine
check test ! -e none
kill $server
wait $server
export MCP_TASK_SERVER="unix:$dir/s"
for event in SessionStart SessionEnd; do
    echo '{"hook_event_name":"'$event'","session_id":"'$one'"}' >in
    run_hook claude-code
    silent
    has err "unix:$dir/s: "
done
unset MCP_TASK_SERVER

finish
