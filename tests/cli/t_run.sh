#!/bin/sh
# Commands under a supervisor: t_run.sh [MCPTASK]

# shellcheck source=tests/lib/cli.sh
. "$(dirname "$0")/../lib/cli.sh"
unset MCP_TASK_AGENT

# until_true COMMAND...: tries it ten times a second for up to a minute
until_true() {
    checks=$((checks + 1))
    n=0
    until "$@" >/dev/null 2>&1; do
        n=$((n + 1))
        [ $n -lt 600 ] || {
            fail "never: $*"
            return
        }
        sleep 0.1
    done
}

# shellcheck disable=SC2317 # these are called by name
# shows ID TEXT: whether the task contains TEXT
shows() {
    "$bin" show "$1" --json | grep -qF -e "$2"
}

# waiting OPTION...: starts a run that makes the file ready and waits for the
# file go
waiting() {
    rm -f go ready
    # shellcheck disable=SC2016 # for the other shell
    "$bin" run -d "$@" -- sh -c \
        'touch ready; until [ -e go ]; do sleep 0.1; done; exit 4' >out 2>err ||
        fail "run -d: $(cat err)"
    until_true test -e ready
}

# process ROLE ID: prints the process id, from the file that a run has until it
# ends
process() {
    sed -n "s/^ *\([0-9]*\) $1$/\1/p" "$MCP_TASK_BASE_DIR/runs/$2"
}
# shellcheck disable=SC2317
# gone PID: whether it has ended
gone() {
    ! kill -0 "$1" || grep -q '^State:.Z' "/proc/$1/status"
}
# killed PID...: kills them and waits until they have ended
killed() {
    kill -9 "$@"
    for pid; do
        until_true gone "$pid"
    done
}
# shellcheck disable=SC2317
no_file() {
    [ ! -e "$MCP_TASK_BASE_DIR/runs/$1" ]
}

begin output_and_exit_code
run 3 run -- sh -c 'echo out; echo err >&2; exit 3'
printf 'out\nerr\n' >want
same want out
has err 't-' ': sh -c echo out; echo err >&2; exit 3'
id=$("$bin" list --all --ids)
run 0 show "$id" --json
has out '"status":"failed"' '"current_owner":"run"' '"name":"sh.log"' \
    '"type":"log","size":8' '"exit_code":3,"summary":"exit code 3 after 0s"' \
    '"command":"sh -c echo out; echo err >&2; exit 3"' '"result":"out\nerr"'
lacks out '"lease":'
run 0 history "$id"
has out 'exit code 3 after 0s'
check no_file "$id"
run 0 run --title 'All is well' -a me -- printf '\033[1m\342\200\256no newline'
printf '\033[1m\342\200\256no newline' >want
same want out
run 0 list --status 'done' --json
has out '"title":"All is well"' '"current_owner":"me"'
run 0 verify
run 127 run -- ./nowhere
has out 'mcptask: run: ./nowhere: No such file or directory'
printf '#!' >nothing
run 126 run -- ./nothing
# shellcheck disable=SC2016 # for the other shell
run 137 run -- sh -c 'kill -9 $$'
run 0 list --status failed
has out 'kill -9'
# Whoever starts it may ignore that its children end.
if env --ignore-signal=CHLD true 2>err; then
    env --ignore-signal=CHLD "$bin" run -- sh -c 'exit 3' >out 2>err
    check test $? -eq 3
fi
run 0 run --json -- echo hidden
has out '"exit_code":0'
lacks out hidden

# An agent that it runs works on the task under the name that holds it, and may
# end it.
name=the_command_knows_its_task
run 0 add --id night-1 Tidy up
# shellcheck disable=SC2016 # for the other shell
run 0 run night-1 --agent night --close -- sh -c \
    'exec "$0" done "$MCP_TASK_ID" "by $MCP_TASK_AGENT"' "$bin"
lacks err 'cannot be changed' # the output came too late for a log
run 0 show night-1 --json
has out '"status":"done"' '"result":"by night"'
# It is not stopped for that, though the supervisor sees the end meanwhile.
run 0 add --id night-2 Tidy more
run 0 add --id night-3 Never
# shellcheck disable=SC2016
run 5 run night-2 --agent night --close -- sh -c \
    '"$0" done "$MCP_TASK_ID" --agent "$MCP_TASK_AGENT"
    "$0" wait night-3 --until terminal --timeout 3
    exit 5' "$bin"
run 0 show night-2 --json
has out '"status":"done"'
# shellcheck disable=SC2016
run 0 run --json -- sh -c 'test -n "$MCP_TASK_ID" -a "$MCP_TASK_AGENT" = run'

begin the_end_of_the_output_is_the_result
run 0 run -a me --title Long -- sh -c 'seq 9000; printf "\033[1mok\n\n"'
id=$("$bin" list --all --ids)
run 0 show "$id" --json
has out '\n8999\n9000\n [1mok"'
lacks out '\n8000\n'
checks=$((checks + 1))
result=$(sed 's/.*"result":"\([^"]*\)".*/\1/' out | sed 's/\\n/ /g')
[ ${#result} -gt 3900 ] && [ ${#result} -le 4096 ] || fail "${#result} bytes"
run 0 run -a me --title Own -- sh -c "'$bin' done \"\$MCP_TASK_ID\" mine"
run 0 list --all --json
has out '"title":"Own","status":"done"'
id=$(sed -n 's/.*"task_id":"\([^"]*\)","title":"Own".*/\1/p' out)
run 0 show "$id" --json
has out '"result":"mine"'

begin a_new_task_has_a_lease_from_its_first_commit
run 0 run -- true
checks=$((checks + 1))
[ "$(grep -c '"b":1,.*"op":"c[rl][ea][a-z]*","by":"run"' "$log")" -eq 2 ] ||
    fail "$(cat "$log")"

begin secrets_are_not_stored
# stored TEXT WORD...: the command's words are stored as TEXT
stored() {
    text=$1
    shift
    run 0 run -- true "$@"
    has err ": true $text"
}
stored '--password=*** x' --password=hunter2 x
stored '--password *** x' --password hunter2 x
stored '-pass *** *** x' -pass --api-key hunter2 x
stored 'DB_PASSWORD=***' 'DB_PASSWORD=hunter2 hunter2 "hunter2"'
stored '-H Authorization:***' -H 'Authorization: Bearer hunter2'
stored '-H X-Api-Key: *** x' -H X-Api-Key: hunter2 x
stored 'cd a && ToKeN=***' 'cd a && ToKeN=hunter2 make && echo hunter2'
stored 'password =***' "password = 'hunter2'"
stored '{"password" :***' '{"password" : "hunter2"}'
stored 'curl -d "{\"pass\":***' 'curl -d "{\"pass\":\"hunter2\"}"'
stored 'password :***' 'password : hunter2'
stored 'password :=***' 'password := hunter2'
stored 'password:= ***' password:= hunter2
stored 'key ::x token y' 'key ::x token y'
stored 'curl --secret *** y' 'curl --secret hunter2 b' y
stored '{"user":1,"pass":***' '{"user":1,"pass":"hunter2"}'
stored 'a://***@h/p,b://***@h c://h/@d' 'a://u:hunter2@h/p,b://u:@hunter2@h' \
    c://h/@d
stored 'https://h/?a=b&access_token=***' 'https://h/?a=b&access_token=hunter2'
stored 'test_tokens.c::one key a:b --x=y' test_tokens.c::one key a:b --x=y
run 0 run --hide-command -- "$(command -v true)" -p hunter2
has err ': true'
lacks err ': true '
run 0 list --all
has out 'true --password=*** x'
checks=$((checks + 1))
grep -rq hunter2 "$MCP_TASK_BASE_DIR" && fail "$(grep -r hunter2 .)"

begin messages_stay_for_the_agent
run 0 add --id api-1 One
run 0 message -a boss api-1 'use the new host'
run 0 run -a me api-1 -- true
lacks err 'new host'
waiting -a me --every 1 api-1
run 0 message -a boss api-1 'and its name'
touch go
until_true no_file api-1
run 0 show api-1 --json
lacks out '"seen"'
run 0 edit api-1 -a me --goal x
has err 'message from boss: use the new host' 'and its name'

begin a_task_that_is_there
run 0 add --id api-1 One
run 0 add --id api-2 --after api-1 Two
run 2 run -a me api-1 -- sh -c 'exit 2'
run 0 run -a me api-1 -- true
lacks err renewed
run 0 show api-1 --json
has out '"status":"in_progress"' '"agent":"me"' '"exit_code":2' \
    '"command":"true","exit_code":0'
run 4 claim -a other api-1
run 4 run -a other api-1 -- touch started
has err ' is working on it, and its lease ends in '
run 4 run -a me api-2 -- touch started
run 1 run nowhere -- touch started
run 0 run -a me api-1 --close -- true
run 0 list --status 'done' --ids
has out api-1
run 4 run -a me api-1 -- touch started
has err 'mcptask reopen'
run 3 --read-only run -- touch started
run 2 run api-1
has err 'COMMAND is missing, after "--"'
run 2 run --
run 2 run a b -- touch started
run 2 run --lease long -- touch started
has err '--lease needs a number from'
check no_file nowhere
checks=$((checks + 1))
[ ! -e started ] || fail 'a command was started'

begin evidence_is_missing
echo '{"task_id":"one","title":"One","status":"open","acceptance":["all"]}' |
    "$bin" import - >out 2>err || fail "import: $(cat err)"
run 0 --require-evidence=pass run --close one -- sh -c 'echo all'
has err 'one: completed_steps lacks acceptance[0]'
check no_file one
run 0 show one --json
has out '"status":"in_progress"' '"exit_code":0'

begin much_output
run 0 run -- sh -c 'seq 700000; printf end'
{ seq 700000; printf end; } >want
same want out
id=$("$bin" list --all --ids)
log=$(find "$MCP_TASK_BASE_DIR/artifacts" -type f)
checks=$((checks + 1))
[ "$(wc -c <"$log")" -le 1048576 ] || fail 'the log is too large'
left=$(sed -n 's/^\.\.\. \([0-9]*\) bytes left out \.\.\.$/\1/p' "$log")
checks=$((checks + 1))
[ "$((left + 524288 + 524160))" -eq "$(wc -c <want)" ] || fail "left: $left"
head -c 524288 want >want.head
tail -c 524160 want >want.tail
head -c 524288 "$log" >log.head
tail -c 524160 "$log" >log.tail
same want.head log.head
same want.tail log.tail
run 0 verify
# Nobody reads all of it: the command goes on, and its result is kept.
"$bin" run -- sh -c 'seq 200000; exit 6' 2>err | head -n 1 >out
has out 1
until_true sh -c '"$0" list --status failed | grep -F "exit 6"' "$bin"

# What is cut out of the middle leaves no part of a character.
"$bin" run -a me -- awk 'BEGIN { for (i = 0; i < 400000; i++) printf "→" }' \
    >out 2>err
id=$("$bin" list --status 'done' --ids | head -n 1)
printf '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":%s,%s' \
    '"get_task"' '"arguments":{"section":"artifact","artifact_id":"a1",' >in
printf '"task_id":"%s","match":"left out"}}}\n' "$id" >>in
"$bin" <in >out
has out 'utf8' '... 151555 bytes left out ...'

begin a_store_that_does_not_work
# shellcheck disable=SC2016 # for the other shell
"$bin" run --title Patient -- sh -c \
    'mv "$0" "$0.away"; touch "$0"; echo moved; exit 9' "$MCP_TASK_BASE_DIR" \
    >out 2>err &
front=$!
until_true grep -q 'as soon as that works' err
rm "$MCP_TASK_BASE_DIR"
mv "$MCP_TASK_BASE_DIR.away" "$MCP_TASK_BASE_DIR"
wait $front
code=$?
checks=$((checks + 1))
[ $code -eq 9 ] || fail "exit code $code"
id=$("$bin" list --status failed --query Patient --ids)
run 0 show "$id" --json
has out '"exit_code":9' '"type":"log","size":6'
check no_file "$id"
run 3 --read-only run -- touch started
has err 'opened for reading only' 'omit --read-only'
run 2 run -- ''
has err 'COMMAND is missing'

begin a_store_that_is_removed
# shellcheck disable=SC2016 # for the other shell
timeout 30 "$bin" run --every 1 -- sh -c \
    'rm -r "$0"; echo gone; sleep 2; exit 9' "$MCP_TASK_BASE_DIR" >out 2>err
code=$?
checks=$((checks + 2))
[ $code -eq 9 ] || fail "exit code $code"
has err 'no such task'
[ ! -e "$MCP_TASK_BASE_DIR" ] || fail 'it was made anew'

begin progress_is_replaced
rm -f go
"$bin" run -d --every 1 -a me -- sh -c 'echo one; printf "\033[1mtwo\n\n"
    until [ -e go ]; do sleep 0.1; done; echo three' >id
read -r id <id
until_true sh -c '"$0" history "$1" | grep -F "?[1mtwo"' "$bin" "$id"
touch go
until_true shows "$id" '"status":"done"'
run 0 history "$id"
checks=$((checks + 1))
[ "$(grep -c two out)" -eq 1 ] || fail "progress piled up: $(cat out)"

begin the_lease_is_renewed
run 0 add --id one One
waiting -a me --lease 30 one
lease() {
    "$bin" show one --json | sed 's/.*"expires_at":"\([^"]*\)".*/\1/'
}
lease >first
# shellcheck disable=SC2317
renewed() {
    lease >now
    ! cmp -s now first
}
until_true renewed
run 4 claim -a other one
run 4 run -a me one -- true
has err 'one: its command still runs' 'run "mcptask cancel one"'
touch go
until_true shows one '"exit_code":4'
until_true no_file one

# The agent's session and its hook may end: the lease is the supervisor's.
begin a_session_that_ends
run 0 add --id one One
mkfifo to
"$bin" <to >answers 2>err &
server=$!
exec 3>to
cat >&3 <<END
{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":\
"2025-11-25","capabilities":{},"clientInfo":{"name":"claude-code","version":"1"}}}
{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"claim_task",\
"arguments":{"task_id":"one","agent":"claude-code-0f3c9a52"}}}
END
until_true grep -q '"id":1' answers
waiting -a claude-code-0f3c9a52 one
# It still works on its task, and does not take the lease back by that.
cat >&3 <<END
{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":\
"save_checkpoint","arguments":{"task_id":"one","agent":"claude-code-0f3c9a52"}}}
END
until_true grep -q '"id":2' answers
lacks answers isError
exec 3>&-
killed $server
echo '{"hook_event_name":"SessionEnd","session_id":"x-0f3c9a52"}' >in
run 0 hook claude-code <in
run 4 claim -a codex-1 one
has err 'claude-code-0f3c9a52 is working on it'
run 0 show one --json
has out '"client":"mcptask run"'
lacks out agent_gone '"left"'
touch go
until_true shows one '"exit_code":4'
until_true no_file one
run 0 show one --json
lacks out '"client":"mcptask run"' agent_gone

begin a_request_to_stop
waiting -a me
read -r id <out
run 0 cancel -a anna "$id" 'not needed'
run 0 wait "$id" --until terminal --timeout 60
run 0 show "$id" --json
has out '"status":"cancelled"' '"exit_code":143' \
    'anna asked to stop: not needed'
until_true no_file "$id"
waiting -a me
read -r id <out
run 0 'done' "$id" -a me # its end is the end of its command
until_true no_file "$id"

begin all_of_the_group_has_time_to_stop
cat >server <<'END'
trap 'sleep 1; echo clean; exit' TERM
touch ready
while :; do sleep 0.1; done
END
rm -f ready
"$bin" run -d -- sh -c 'sh ./server & wait' >id
read -r id <id
until_true test -e ready
run 0 cancel -a anna "$id"
run 0 wait "$id" --until terminal --timeout 60
run 0 show "$id" --artifact a1
has out clean

begin the_process_in_front_may_end
rm -f go ready
"$bin" run -- sh -c \
    'touch ready; until [ -e go ]; do sleep 0.1; done; exit 5' >out 2>err &
front=$!
until_true test -e ready
kill -9 $front
wait $front 2>/dev/null
touch go
id=$("$bin" list --all --ids)
until_true shows "$id" '"exit_code":5'

begin a_detached_command_inherits_no_pipe
rm -f go
# The shell waits until no process has descriptor 3 or 9.
# shellcheck disable=SC2016 # for the other shell
text=$(exec 3>&1 9>&1 && "$bin" run -d -- sh -c 'n=0
    until [ -e go ] || [ $n -eq 300 ]; do sleep 0.1; n=$((n + 1)); done
    exit 4' >id)
read -r id <id
check test -z "$text"
check shows "$id" '"status":"in_progress"'
touch go
until_true shows "$id" '"exit_code":4'

begin the_supervisor_is_killed
waiting -a me
read -r id <out
"$bin" wait "$id" --until terminal --timeout 60 >told 2>&1 &
told=$!
killed "$(process supervisor "$id")"
run 4 run -a me "$id" -- touch started
has err 'its command still runs'
run 0 show "$id" --json # nothing is known yet
has out '"status":"in_progress"'
touch go
check wait $told
run 0 show "$id" --json
has out '"status":"failed"' '"failed":1' \
    'its supervisor was killed: the result is unknown'
until_true no_file "$id"
# Somebody may still ask for the end of the command.
waiting -a me
read -r id <out
killed "$(process supervisor "$id")"
run 0 cancel -a anna "$id"
run 0 wait "$id" --until failed --timeout 60
run 0 show "$id" --json
has out 'the result is unknown'
until_true no_file "$id"
# The same before the watcher knows that the supervisor was killed; no words of
# a command are taken for the process to end.
waiting -a me
read -r other <out
rm ready
"$bin" run -d -- sh -c ": , command $(process command "$other")
    touch ready; sleep 60" >out 2>err
read -r id <out
until_true test -e ready
kill -STOP "$(process watcher "$id")"
killed "$(process supervisor "$id")"
run 0 cancel -a anna "$id"
kill -CONT "$(process watcher "$id")"
run 0 wait "$id" --until failed --timeout 50
run 0 show "$other" --json
has out '"status":"in_progress"'
run 0 cancel -a anna "$other"
run 0 wait "$other" --until terminal --timeout 60
# The same if its command is killed with it.
waiting -a me
read -r id <out
killed "$(process supervisor "$id")" "$(process command "$id")"
run 0 wait "$id" --until terminal --timeout 60
run 0 show "$id" --json
has out '"status":"failed"' 'the result is unknown'
until_true no_file "$id"
# The process in front reports it, too.
rm -f go ready
"$bin" run --title Two -- sh -c \
    'touch ready; until [ -e go ]; do sleep 0.1; done' >out 2>err &
front=$!
until_true test -e ready
id=$("$bin" list --status in_progress --query Two --ids)
until_true process supervisor "$id"
killed "$(process supervisor "$id")"
touch go
checks=$((checks + 1))
wait $front && fail 'an unknown result is not a good one'
has err 'sh -c' 'the result is unknown'
run 0 show "$id" --json
has out '"status":"failed"' '"failed":1'
check no_file "$id"
checks=$((checks + 1))
[ ! -e started ] || fail 'a command was started twice'
run 0 verify

begin what_it_prints_after_its_supervisor_is_killed
rm -f go ready after
# shellcheck disable=SC2016 # for the other shell
"$bin" run -d -- sh -c 'touch ready; until [ -e go ]; do sleep 0.1; done
    seq 100000; echo "$? last words"; touch after' >out 2>err
read -r id <out
until_true test -e ready
killed "$(process supervisor "$id")"
touch go
run 0 wait "$id" --until terminal --timeout 60
check test -e after
run 0 show "$id" --artifact a1 --tail 1
has out '0 last words'

# A fault that is known: if the watcher is killed, too, nobody reads the pipe.
begin what_it_prints_after_both_are_killed
rm -f go ready after
"$bin" run -d -- sh -c 'touch ready; until [ -e go ]; do sleep 0.1; done
    seq 100000 && touch after' >out 2>err
read -r id <out
until_true test -e ready
command=$(process command "$id")
killed "$(process watcher "$id")" "$(process supervisor "$id")"
touch go
until_true gone "$command"
checks=$((checks + 1))
[ ! -e after ] || fail 'it lives: make this a check that it does'

begin one_result_whoever_reports_it
# Its supervisor is killed after it reported the result and before it removed
# the file.
run 0 add --id one One
waiting -a me one
cp "$MCP_TASK_BASE_DIR/runs/one" kept
touch go
until_true no_file one
run 0 show one --json
has out '"exit_code":4'
mv kept "$MCP_TASK_BASE_DIR/runs/one"
run 0
check no_file one
run 0 show one --json
has out '"exit_code":4'
lacks out '"failed":1'
# The same once another agent has the task.
waiting -a me one
cp "$MCP_TASK_BASE_DIR/runs/one" kept
touch go
until_true no_file one
run 0 handoff -a me one --to other
run 0 claim -a other one
mv kept "$MCP_TASK_BASE_DIR/runs/one"
run 0
run 0 show one --json
lacks out 'is unknown'

begin a_command_that_never_began
# Its supervisor is killed after the claim and before the start.
waiting -a 'me
too' --title Early
read -r id <out
sed 's/^started$/waiting/' "$MCP_TASK_BASE_DIR/runs/$id" >kept
killed "$(process watcher "$id")" "$(process supervisor "$id")" \
    "$(process command "$id")"
mv kept "$MCP_TASK_BASE_DIR/runs/$id"
run 0
has err ': it never ran'
check no_file "$id"
run 0 show "$id" --json
has out '"status":"failed"' 'it never ran'
lacks out unknown
# The same after a request that led to no claim.
run 0 add --id one One
printf 'ends\nmake\n\nkey\nwaiting\n0\n1\n2\nme' >"$MCP_TASK_BASE_DIR/runs/one"
run 0
check no_file one
run 0 show one --json
has out '"status":"open"'
lacks out test_results

# Whenever watcher and supervisor are killed, no task stays in progress without
# a word, and what is said to have never run has not.
begin killed_at_any_time
round=0
while [ $round -lt 30 ]; do
    round=$((round + 1))
    # shellcheck disable=SC2016 # for the other shell
    "$bin" run -a me --title "Round $round" -- \
        sh -c 'touch "$0"; sleep 0.1' "$dir/ran.$round" >out 2>err &
    front=$!
    watcher='' tries=0
    while [ -z "$watcher" ] && [ $tries -lt 10000 ]; do
        tries=$((tries + 1))
        for file in "$MCP_TASK_BASE_DIR"/runs/*; do
            [ ! -s "$file" ] || while read -r pid role; do
                [ "$role" != watcher ] || ! kill -0 "$pid" 2>>err ||
                    watcher=$pid
            done <"$file"
        done
    done
    i=0
    while [ $i -lt $((round * 400)) ]; do i=$((i + 1)); done
    [ -z "$watcher" ] || kill -s KILL -- "-$watcher" 2>>err
    wait $front 2>>err
done
until_true sh -c 'for f in "$0"/runs/*; do
    [ ! -e "$f" ] || flock -n "$f" true || exit 1; done' "$MCP_TASK_BASE_DIR"
run 0
run 0 list --status in_progress --ids
checks=$((checks + 1))
[ ! -s out ] || fail "nobody says what became of: $(cat out)"
run 0 list --all --ids
while read -r id; do
    "$bin" show "$id" --json >task
    round=$(sed 's/.*"title":"Round \([0-9]*\)".*/\1/' task)
    checks=$((checks + 1))
    if grep -q 'never ran' task; then
        [ ! -e "$dir/ran.$round" ] || fail "it ran: $(cat task)"
    fi
    [ "$(grep -o '"command":' task | wc -l)" -eq 1 ] ||
        fail "not one result: $(cat task)"
done <out

begin the_watcher_is_killed_too
run 0 add --id one One
waiting -a me one
killed "$(process watcher one)" "$(process supervisor one)"
run 4 run -a me one -- touch started
has err 'its command still runs'
touch go
# shellcheck disable=SC2317
again() {
    "$bin" run -a me one -- echo again >out 2>err
}
until_true again
has out again
has err 'one: sh -c' 'its supervisor was killed: the result is unknown'
run 0 show one --json
has out '"failed":1,"summary":"its supervisor was killed' '"exit_code":0'
lacks out '"exit_code":4'
checks=$((checks + 1))
[ ! -e started ] || fail 'a command was started twice'
run 0 verify

begin a_server_finds_what_ended_untold
run 0 add --id .dots Dots
mkdir -p "$MCP_TASK_BASE_DIR/runs"
printf 'ends\nmake\n\nkey\nstarted\n0\n1\n2\nme' \
    >"$MCP_TASK_BASE_DIR/runs/.dots"
cp "$MCP_TASK_BASE_DIR/runs/.dots" "$MCP_TASK_BASE_DIR/runs/no-such-task"
run 0
has err '.dots: make: its supervisor was killed'
check no_file .dots
check no_file no-such-task
waiting -a me
read -r id <out
command=$(process command "$id")
killed "$(process watcher "$id")" "$(process supervisor "$id")"
run 0 # it still runs
run 0 show "$id" --json
has out '"status":"in_progress"'
killed "$command"
until_true flock -n "$MCP_TASK_BASE_DIR/runs/$id" true
run 0 --read-only
run 0 show "$id" --json
has out '"status":"in_progress"'
run 0
has err 'the result is unknown'
check no_file "$id"
run 0 show "$id" --json
has out '"status":"failed"' 'the result is unknown'
run 0
lacks err unknown
run 0 verify

begin a_group_shares_the_store
if [ "$(id -u)" -eq 0 ] && wants setpriv && wants flock; then
    mkdir "$MCP_TASK_BASE_DIR" shared
    chmod 755 "$dir"
    chmod 777 shared
    chgrp 65534 "$MCP_TASK_BASE_DIR"
    chmod 2770 "$MCP_TASK_BASE_DIR"
    cp "$exe" shared/mcptask
    # as USER COMMAND...: as a member of the group
    as() {
        user=$1
        shift
        setpriv --reuid="$user" --regid=65534 --clear-groups "$@"
    }
    # shellcheck disable=SC2016 # for the other shell
    as 65534 shared/mcptask run -d -a one -- sh -c \
        'cd shared; touch ready; until [ -e go ]; do sleep 0.1; done' >out 2>err
    read -r id <out
    until_true test -e shared/ready
    as 65533 shared/mcptask 2>err
    lacks err denied
    as 65533 shared/mcptask run -a two "$id" -- touch shared/started 2>err
    code=$?
    checks=$((checks + 1))
    [ $code -eq 4 ] || fail "$(cat err)"
    has err "another user's command runs for it" "mcptask cancel $id"
    lacks err denied
    # The file of another member, however it was replaced, does not say which
    # process the watcher ends.
    file=$MCP_TASK_BASE_DIR/runs/$id
    setsid setpriv --reuid=65534 --regid=65534 --clear-groups sleep 300 &
    victim=$!
    supervisor=$(process supervisor "$id")
    command=$(process command "$id")
    sed "s/^ *$command command/$victim command/" "$file" >shared/forged
    as 65533 rm -f "$file"
    as 65533 cp shared/forged "$file"
    as 65533 chmod 666 "$file"
    # shellcheck disable=SC2016 # for the other shell
    as 65533 flock "$file" sh -c \
        'touch shared/locked; until [ -e shared/go ]; do sleep 0.1; done' &
    until_true test -e shared/locked
    killed "$supervisor"
    as 65533 shared/mcptask cancel -a two "$id" >out
    until_true gone "$command"
    check kill "$victim" # it still runs
    touch shared/go
    until_true no_file "$id"
    checks=$((checks + 1))
    [ ! -e shared/started ] || fail 'a command was started twice'
fi

finish
