#!/bin/sh
# A release and this version on one live store, in turns and at once:
# t_upgrade.sh [NEW], or t_upgrade.sh RELEASE OLD NEW. Nothing that one
# acknowledged may be missing for the other, neither may see damage, and leases
# and deferred calls go on. Without RELEASE all are built from their commits,
# which needs git and the history, and each is tested.

cd "$(dirname "$0")/.." || exit 1
releases='0.1.0:b0ecbf2d2b228793f575c7dce2c0818f91cd4818
0.2.0:063d42833e42117f03bf7b3f558b7703136b07c4
0.3.0:e991731720128efc23fd4cc10ce8a47cfcaf90f3
0.4.0:c0eb1253f5c41a1139f9cc496f9a849a70d943a4'
tests=$PWD/tests
. tests/lib/check.sh

# early: whether the release is before 0.3.0, which knows sessions and messages
early() {
    [ "$release" = 0.1.0 ] || [ "$release" = 0.2.0 ]
}

# whole PATH: prints it as an absolute path
whole() {
    echo "$(cd "$(dirname "$1")" && pwd)/$(basename "$1")"
}

# each NEW: builds all releases beside each other, and tests each with NEW. The
# compiler is this one's, since 0.2.0 prefers musl-gcc.
each() {
    builds=
    for one in $releases; do
        src=$dir/${one%:*}
        mkdir "$src"
        git archive "${one#*:}" | tar -x -C "$src" || exit 1
        make -s -C "$src" CC="${CC:-cc}" B=build BIN=mcptask \
            >"$src.log" 2>&1 &
        builds="$builds $!:$src"
    done
    for one in $builds; do
        wait "${one%%:*}" || { cat "${one#*:}.log"; exit 1; }
    done
    for one in $releases; do
        sh tests/t_upgrade.sh "${one%:*}" "$dir/${one%:*}/mcptask" "$1" ||
            failed=1
    done
    exit $failed
}

if [ $# -lt 3 ]; then
    for one in $releases; do
        git cat-file -e "${one#*:}^{commit}" 2>/dev/null && continue
        echo "$me: skipped, commit ${one#*:} is not in this clone"
        exit 0
    done
    each "${1:-./mcptask}"
fi
release=$1 old=$(whole "$2") new=$(whole "$3")
me="$me $release"
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

# tell BIN: prints all tasks; the old one also prints flags that are false, and
# only the new one says that an agent is gone or connected
tell() {
    "$1" export >exported 2>err || fail "export: $(cat err)"
    sed -E 's/,"(ready|needs_input|lease_expired|stale)":false//g
        s/,"agent_(gone|connected)":true//' exported
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

if early; then
    # An agent that called itself by its client's name goes on, in another session.
    begin by_the_name_of_the_client
    { hello
      call 1 create_task '{"task_id":"a","title":"a"}'
      call 2 claim_task '{"task_id":"a","agent":"upgrade"}'
      call 3 create_task '{"task_id":"b","title":"b"}'
      call 4 save_checkpoint '{"task_id":"b","agent":"upgrade"}'
    } | "$old" >answers 2>err || fail "$(cat err)"
    { hello
      call 1 save_checkpoint '{"task_id":"a","agent":"upgrade"}'
      call 2 claim_task '{"task_id":"a","agent":"upgrade"}'
      call 3 claim_task '{"task_id":"b","agent":"upgrade"}'
    } | "$new" >answers 2>err || fail "$(cat err)"
    lacks answers isError
    good
fi

# ---- how agents stop and others go on, as 0.3.0 and later ones know it ----

# session BIN CLIENT [ID TOOL ARGUMENTS]...: one that makes these calls and ends
session() {
    server=$1 client=$2
    shift 2
    { hello | sed "s/upgrade/$client/"
      while [ $# -gt 0 ]; do
          call "$1" "$2" "$3"
          shift 3
      done; } | "$server" >answers 2>err || fail "$server: $(cat err)"
}
# there BIN ID TEXT...: BIN shows this of the task
there() {
    run 0 "$1" show "$2" --json
    shift 2
    has out "$@"
}
if ! early; then
    begin how_agents_stop
    for pair in "$old:$new" "$new:$old"; do
        one=${pair%:*} two=${pair#*:}
        task=t$checks mine='"agent":"claude-code-0f3c9a52"'
        # A session of one ends: the other sees that, and its client has the
        # task back.
        session "$one" claude-code 1 create_task \
            '{"task_id":"'$task'","title":"a"}' \
            2 claim_task '{"task_id":"'$task'",'"$mine"'}'
        there "$two" $task '"agent_gone":true'
        run 4 "$two" claim $task --agent thief
        good
        there "$one" $task '"agent_gone":true'
        session "$two" claude-code 1 claim_task '{}'
        has answers '\"claimed\":true' '\"task_id\":\"'$task'\"'
        there "$one" $task '"status":"in_progress"'
        lacks out '"left"'
        run 0 "$one" claim $task --agent thief --takeover --reason gone
        good
        # A handoff of either is kept for its receiver, and taken over from it.
        run 0 "$one" handoff $task --agent thief --to bob
        run 4 "$two" claim $task --agent thief
        run 0 "$two" claim $task --agent bob
        run 0 "$one" handoff $task --agent bob --to yuo
        run 0 "$two" claim $task --agent bob --takeover --reason 'a typo'
        good
    done
    # A session of this version says that it ends: that release sees a lease of
    # a minute, and when the holder renews it, that it has not ended.
    session "$new" claude-code 1 create_task '{"task_id":"left","title":"a"}'
    run 0 "$new" claim left --agent claude-code-0f3c9a52
    echo '{"hook_event_name":"SessionEnd","session_id":"x-0f3c9a52"}' >in
    run 0 "$new" hook claude-code <in
    good
    has of.old '"reason":"the session ended"'
    run 4 "$old" claim left --agent thief
    run 0 "$old" claim left --agent claude-code-0f3c9a52
    good
    lacks of.new '"reason":"the session ended"'
    run 4 "$new" claim left --agent thief
    has out 'is working on it'
    # Checkpoints of 0.3.0 have no lease, and keep the task for a day.
    if [ "$release" = 0.3.0 ]; then
        session "$old" claude-code 1 create_task \
            '{"task_id":"none","title":"a"}' \
            2 save_checkpoint '{"task_id":"none","agent":"anna"}'
        run 4 "$new" claim none --agent thief
        has out 'without a lease'
        run 0 "$new" claim none --agent thief --takeover --reason gone
    fi
    # Those of this version have one, which it keeps.
    session "$new" claude-code 1 create_task '{"task_id":"core","title":"a"}' \
        2 save_checkpoint '{"task_id":"core","agent":"anna"}'
    run 4 "$old" checkpoint core --agent thief
    has out 'anna'
    good
fi

# ---- what releases before 0.3.0 do not know: people, messages, takeovers ----

if early; then
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
    run 0 "$new" handoff a --agent me --to you
    run 0 "$old" claim a --agent you
    LOGNAME=me run 0 "$new" claim a --takeover --reason gone
    run 0 "$old" checkpoint a --agent me --notes z
    run 4 "$new" checkpoint a --agent you
    has out 'me took the task over: gone'
    run 0 "$old" handoff a --agent me --to you
    run 4 "$new" claim a --agent other
    good
    # Its record has no member seqs: what it shows counts as its own doing.
    seq=$(tail -n 1 "$MCP_TASK_BASE_DIR/tasks.log" |
        sed 's/.*"n":\([0-9]*\),.*/\1/')
    run 0 "$old" claim a --agent you
    run 0 "$new" wait a --until in_progress --since-seq "$seq" --timeout 0
    run 0 "$old" checkpoint a --agent you --notes z
    run 0 "$new" wait a --until in_progress --since-seq "$seq" --timeout 0
    run 0 "$new" checkpoint a --agent you --notes z
    good
fi

# ---- what each release knows: questions, the lock file, the reserve ----

begin questions
for pair in "$old:$new" "$new:$old"; do
    one=${pair%:*} two=${pair#*:}
    task=t$checks
    { hello
      call 1 create_task '{"task_id":"'$task'","title":"a"}'
      call 2 request_input '{"task_id":"'$task'","agent":"me","question":"q"}'
    } | "$one" >answers 2>err || fail "$(cat err)"
    run 0 "$two" answer $task --agent you 'the answer'
    run 0 "$one" show $task
    has out 'the answer'
    run 0 "$one" wait $task --until answered --since-seq 1 --timeout 0
    good
done

# 0.1.0 leaves the second line of the lock file alone, whose checksum is then
# wrong; 0.2.0 writes it too.
begin the_mark
second() {
    tail -c +65 "$MCP_TASK_BASE_DIR/tasks.log.lock"
}
{ hello; call 1 create_task '{"task_id":"a","title":"a"}'
} | "$new" >answers 2>err || fail "$(cat err)"
second >line.new
sleep 0.01
run 0 "$old" checkpoint a --agent a --notes x
second >line.old
checks=$((checks + 1))
if [ "$release" = 0.1.0 ]; then
    same line.new line.old
else
    ! cmp -s line.new line.old || fail 'the second line is as it was'
fi
# A copy is another log, whatever the lock file says.
mkdir copy
cp "$MCP_TASK_BASE_DIR"/tasks.log* copy
for bin in "$new" "$old" "$new"; do
    run 0 env MCP_TASK_BASE_DIR="$dir/copy" "$bin" checkpoint a --agent a \
        --notes y
    run 0 "$bin" checkpoint a --agent a --notes y
done
good
# 0.2.0 kept room on the disk in a file, which a compaction removes.
[ "$release" = 0.1.0 ] || cp "$old" "$MCP_TASK_BASE_DIR/tasks.log.reserve"
run 0 "$new" compact
run 0 "$old" checkpoint a --agent a --notes z
check test ! -e "$MCP_TASK_BASE_DIR/tasks.log.reserve"
good
# No release before knows the one of this version.
check env T_OLD="$old" sh "$tests/cli/t_full.sh" "$new"

# ---- a later format: all leave it alone ----

begin later
mkdir later
{
    printf '{"c":"c2ba078d","g":1,"n":0,"b":0,"p":0,"k":"log",'
    printf '"t":"2026-07-28T09:30:00.000Z","mcptask-log":3,'
    printf '"id":"0123456789abcdef0123456789abcdef"}\n'
} >later/tasks.log
cp later/tasks.log log.later
for bin in "$old" "$new"; do
    run 3 "$bin" list
    run 3 "$bin" checkpoint a --agent a --notes x
    same later/tasks.log log.later
done

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
