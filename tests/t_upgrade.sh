#!/bin/sh
# The previous release and this version on one live store, in turns and at once:
# t_upgrade.sh OLD NEW. Nothing that one acknowledged may be missing for the
# other, neither may see damage, and leases and deferred calls go on. If OLD is
# empty, it is built from the release's commit, which needs git and the history.

cd "$(dirname "$0")/.." || exit 1
release=b0ecbf2d2b228793f575c7dce2c0818f91cd4818
. tests/lib/check.sh

# whole PATH: prints it as an absolute path
whole() {
    echo "$(cd "$(dirname "$1")" && pwd)/$(basename "$1")"
}
if [ $# -eq 2 ]; then
    old=$(whole "$1") new=$(whole "$2")
elif git cat-file -e "$release^{commit}" 2>/dev/null; then
    mkdir "$dir/src"
    git archive "$release" | tar -x -C "$dir/src" &&
        make -s -C "$dir/src" >"$dir/log" 2>&1 ||
        { cat "$dir/log"; exit 1; }
    old=$dir/src/mcptask new=$(whole "${1:-./mcptask}")
else
    echo "$me: skipped, commit $release is not in this clone"
    exit 0
fi
cd "$dir" || exit 1

begin() {
    name=$1
    export MCP_TASK_BASE_DIR="$dir/$name"
}

# run CODE BIN ARGUMENT...: the exit code must be this; output in out
run() {
    want=$1
    shift
    "$@" >out 2>&1
    code=$?
    checks=$((checks + 1))
    [ $code -eq "$want" ] || fail "$*: exit code $code, not $want: $(cat out)"
}

# hello: prints what each client sends first; call ID TOOL ARGUMENTS
# [MORE-PARAMS]: prints a call
hello() {
    printf '%s%s\n' '{"jsonrpc":"2.0","id":0,"method":"initialize","params":' \
        '{"protocolVersion":"2025-11-25","capabilities":{},
        "clientInfo":{"name":"upgrade","version":"1"}}}' | tr -d '\n'
    printf '\n%s\n' '{"jsonrpc":"2.0","method":"notifications/initialized"}'
}
call() {
    printf '{"jsonrpc":"2.0","id":%s,"method":"tools/call","params":{' "$1"
    printf '"name":"%s","arguments":%s%s}}\n' "$2" "$3" "$4"
}

# tell BIN: prints all tasks; the old one also prints flags that are false
tell() {
    "$1" export >exported 2>err || fail "export: $(cat err)"
    sed -E 's/,"(ready|needs_input|lease_expired|stale)":false//g' exported
}

# good: for both the log is whole, and both see the same tasks
good() {
    for bin in "$old" "$new"; do
        run 0 "$bin" verify
        lacks out damage torn
    done
    tell "$old" >of.old
    tell "$new" >of.new
    same of.old of.new
}

# ---- in turns ----

begin in_turns
i=0
while [ $i -lt 8 ]; do
    for bin in "$old" "$new"; do
        i=$((i + 1))
        { hello; call 1 create_task '{"task_id":"t'$i'","title":"a","agent":"a"}'
        } | "$bin" >answers 2>err || fail "$bin: $(cat err)"
        has answers '\"status\":\"open\"'
        run 0 "$bin" checkpoint t$i --agent a --notes "step $i"
    done
    for bin in "$new" "$old"; do
        run 0 "$bin" checkpoint t$i --agent a --notes "step $i, too"
        has out "t$i"
    done
    if [ $i -eq 4 ]; then
        run 0 "$old" compact
    elif [ $i -eq 6 ]; then
        run 0 "$new" compact
    fi
    good
done
checks=$((checks + 1))
[ "$(wc -l <of.new)" -eq 8 ] || fail "not 8 tasks: $(cat of.new)"

# ---- leases ----

begin leases
for pair in "$old:$new" "$new:$old"; do
    one=${pair%:*} two=${pair#*:}
    task=t$checks
    { hello; call 1 create_task '{"task_id":"'$task'","title":"a"}'
    } | "$one" >answers 2>err || fail "$(cat err)"
    run 0 "$one" claim $task --agent holder --lease 600
    run 4 "$two" claim $task --agent thief
    run 4 "$two" checkpoint $task --agent thief --notes x
    run 0 "$two" claim $task --agent holder --lease 600
    run 0 "$one" handoff $task --agent holder --to thief --reason full
    run 0 "$two" claim $task --agent thief
    good
done

# ---- what the old release does not know ----

begin unknown
{ hello
  call 1 create_task '{"task_id":"a","title":"a"}'
  call 2 claim_task '{"task_id":"a","agent":"me"}'
  call 3 request_input '{"task_id":"a","agent":"me","question":"q","to":"Ann"}'
  call 4 update_task '{"task_id":"a","agent":"boss","message":"use tabs"}'
  call 5 update_task '{"task_id":"a","agent":"boss","cancel_requested":{
      "reason":"late"}}' | tr -d '\n'
  echo
} | "$new" >answers 2>err || fail "$(cat err)"
good
run 0 "$old" checkpoint a --agent me --notes x
run 0 "$old" compact
good
has of.new '"to":"Ann"' '"text":"use tabs"' '"reason":"late"'
run 0 "$new" checkpoint a --agent me --notes y
has out 'message from boss: use tabs' 'boss asks to stop: late'
good
run 0 "$new" handoff a --agent me --to yuo --expires 60
run 0 "$new" handoff a --agent me --to you
run 0 "$old" claim a --agent you
run 0 "$new" claim a --agent me --takeover --reason gone
run 0 "$old" checkpoint a --agent me --notes z
run 4 "$new" checkpoint a --agent you
has out 'me took the task over: gone'
run 0 "$old" handoff a --agent me --to you
run 4 "$new" claim a --agent other
good

# ---- deferred calls ----

begin calls
for pair in "$old:$new" "$new:$old"; do
    one=${pair%:*} two=${pair#*:}
    task=t$checks
    mkfifo to from
    "$one" <to >from 2>err &
    pid=$!
    exec 3>to 4<from
    { hello; call 1 create_task '{"task_id":"'$task'","title":"a"}'
      call 2 wait_for_task '{"task_id":"'$task'","until":"done"}' \
          ',"task":{"ttl":600000}'; } >&3
    answer=
    while [ "${answer##*\"id\":2,*}" = "$answer" ]; do
        read -r answer <&4 || break
    done
    id=$(echo "$answer" | sed -n 's/.*"taskId":"\([^"]*\)".*/\1/p')
    kill -9 $pid
    wait $pid 2>/dev/null
    exec 3>&- 4<&-
    rm to from
    { hello
      call 1 update_task '{"task_id":"'$task'","status":"in_progress"}'
      call 2 update_task '{"task_id":"'$task'","status":"done",
          "result":"it is done"}' | tr -d '\n'
      printf '\n{"jsonrpc":"2.0","id":3,"method":"tasks/result",%s}\n' \
          '"params":{"taskId":"'"$id"'"}'; } | "$two" >answers 2>err ||
        fail "$(cat err)"
    grep '"id":3' answers >result
    has result '\"met\":true' "$task"
    good
done

# ---- at once ----

begin at_once
run 0 "$old" list
# writer NAME BIN: makes 250 tasks, and as many checkpoints
writer() {
    { hello
      n=0
      while [ $n -lt 250 ]; do
          n=$((n + 1))
          call $n create_task '{"task_id":"'"$1-$n"'","title":"a"}'
          call 1$n save_checkpoint '{"task_id":"'"$1-$n"'","agent":"a",
              "completed_steps":["one"]}' | tr -d '\n'
          echo
      done; } | "$2" >"of.$1" 2>"err.$1"
}
pids=
for w in 1 2; do
    writer old$w "$old" & pids="$pids $!"
    writer new$w "$new" & pids="$pids $!"
done
n=0
while [ $n -lt 6 ]; do
    n=$((n + 1))
    "$old" compact >/dev/null 2>&1
    "$new" compact >/dev/null 2>&1
done
for pid in $pids; do
    wait "$pid" || fail 'a server ended badly'
done
good
for w in old1 old2 new1 new2; do
    lacks err.$w damage torn
    sed -n 's/.*\\"task_id\\":\\"\('$w'-[0-9]*\)\\".*/\1/p' of.$w |
        sort -u >acknowledged
    sed -n 's/.*"task_id":"\('$w'-[0-9]*\)".*"completed_steps":\["one"\].*/\1/p' \
        of.new | sort -u >there
    same acknowledged there
    checks=$((checks + 1))
    [ "$(wc -l <there)" -eq 250 ] || fail "$w: $(wc -l <there) of 250"
done
finish
