#!/bin/sh
# Commands that ask a server print what they print beside the store:
# t_served.sh [MCPTASK [EXE]]

# shellcheck source=tests/lib/cli.sh
. "$(dirname "$0")/../lib/cli.sh"

# shellcheck source=tests/lib/served.sh
. "$lib/served.sh" # but for mt and both

# mt CODE ARGUMENT...: a command, there or here, and its output in the file that
# is compared
mt() {
    want=$1
    shift
    last=$*
    {
        echo "== $*"
        "$bin" $at "$@" 2>err
        code=$?
        cat err
    } >>"$all"
    checks=$((checks + 1))
    [ $code -eq "$want" ] || fail "$at $*: exit code $code, not $want: $(cat err)"
}

# Everything that is not the same twice.
plain() {
    sed -e 's/[0-9]\{4\}-[0-9][0-9]-[0-9][0-9][T ][0-9:.]*Z\{0,1\}/TIME/g' \
        -e 's/"session":"[^"]*"/"session":"S"/; s/- session: .*/- session: S/' \
        -e 's/,"client":"mcptask"//; s/, client: mcptask//' \
        -e 's/\(^\| \) *[0-9]*s$/\1AGE/; s/  *[0-9]*s  */ AGE /g; s/t-[0-9a-f]\{8,\}/t-ID/g' "$1"
}

# both NAME: runs the function NAME beside a store, and with a server of another
both() {
    begin "$1-here"
    at='' all=$dir/here
    : >"$all"
    "$1"
    begin "$1-there"
    serve
    at="--server unix:$dir/s" all=$dir/there
    : >"$all"
    "$1"
    stop
    plain "$dir/here" >want
    plain "$dir/there" >have
    checks=$((checks + 1))
    cmp -s want have || fail "$1: $(diff want have | cut -c 1-200 | head -40)"
}

work() {
    mt 0 list
    mt 0 board
    mt 0 tail
    mt 0 add --id api-1 -p 0 -t api -t 'two words' -r /src --goal 'Parse "it"' \
        -a anna A title with é
    mt 0 add --id whole A whole
    mt 0 add --id api-2 --after api-1 --parent who Test it --json
    MCP_TASK_REPO=/src/web mt 0 add --id web-1 Of a project
    mt 0 show web-1 --json
    mkdir -p rep/.git/objects rep/.git/refs rep/src
    echo 'ref: refs/heads/main' >rep/.git/HEAD
    mt 0 edit web-1 -r rep/src
    mt 0 show web-1 --json
    mt 0 list --all --ids -r "$dir/rep"
    mt 0 list --all --ids -r "file://$dir/rep/src"
    mt 2 list -r no/such
    mt 0 edit web-1 -r /src/web
    mt 0 'done' web-1
    mt 4 add --id api-1 Another
    mt 4 add --id api-1 Another --json
    mt 2 add --id 'a b' Blank
    mt 2 add -p 9 Wrong
    mt 0 list
    mt 0 list --json
    mt 0 list --ids -t api
    mt 0 list --ready
    mt 0 list -q parse
    mt 0 list -s open,done -n 1
    mt 2 list -s unknown
    mt 0 edit api-2 --title Another -o bob
    mt 2 edit api-2
    mt 2 edit api-2 -p 9
    mt 1 edit nope --title x
    mt 1 edit api-2 --after nobody
    mt 2 show api
    mt 0 show api-1
    mt 0 show api-1 --json
    mt 1 show nope
    mt 1 show nope --json
    mt 0 claim -a me
    mt 0 claim -a me api-1 --json
    mt 4 claim -a you api-1
    mt 1 claim -a you
    mt 1 claim -a you --json
    mt 1 claim -a you --wait 1
    mt 0 checkpoint api-1 -a me -n half -p 'go on'
    echo '{"completed_steps":["a"],"remaining_steps":["b","c"]}' |
        mt 0 checkpoint api-1 -a me - --json
    echo 'no JSON' | mt 2 checkpoint api-1 -a me -
    mt 4 checkpoint api-1 -a you
    mt 0 list
    mt 0 ask -a me api-1 Which? -o left -o right -k approval
    mt 0 board
    COLUMNS=120 mt 0 board
    mt 0 board --json
    mt 4 answer api-1 left -a me
    mt 0 answer api-1 left
    mt 1 answer api-1 right
    mt 0 message -a anna api-1 'Mind the tests'
    mt 0 cancel -a anna api-1 'not now'
    mt 0 checkpoint api-1 -a me
    mt 0 handoff api-1 -a me -t bob --reason lunch
    mt 0 list
    mt 4 claim api-1 -a eve
    mt 0 claim api-1 -a eve --takeover --reason urgent
    mt 4 checkpoint api-1 -a bob
    mt 0 'done' api-1 -a eve 'It works'
    mt 4 'done' api-1
    mt 0 reopen api-1 'It does not'
    mt 0 fail api-1 'No compiler'
    mt 0 board
    mt 0 cancel api-2
    mt 0 list --all
    mt 0 list --all --json
    mt 0 tail
    mt 0 tail -n 3
    mt 0 tail -n 3 --json
    mt 0 tail -n 0
    mt 0 history api-1
    mt 0 history api-1 -n 2 --json
    mt 1 history nope
    mt 0 show api-1 --version 2
    mt 1 show api-1 --version 99
    mt 0 export
    mt 0 export --format md api-1
    mt 1 export nope
}
both work

files() {
    mt 0 add --id one One
    printf 'a\nerror: b\nc\n' >build.log
    mt 0 attach one build.log
    printf '\377\000' | mt 0 attach one - --name raw --json
    mt 0 show one --artifact build.log
    mt 0 show one --artifact a1 --tail 2
    mt 0 show one --artifact a1 --match error --json
    mt 0 show one --artifact a2 --json
    mt 1 show one --artifact a3
    dd if=/dev/zero of=big bs=1048577 count=1 2>big.err
    mt 2 attach one big
    dd if=/dev/zero of=big bs=1048576 count=1 2>big.err
    mt 0 attach one big
    mt 0 show one --artifact a3 --json
    mt 2 attach one nowhere
}
both files

waits() {
    mt 0 add --id one One
    mt 1 wait one --timeout 0
    mt 1 wait one --timeout 0 --json
    mt 0 wait one -u open
    mt 1 wait one -u 'done' --timeout 1
    mt 0 wait one --since-seq 0
    mt 2 wait one -u never
    mt 1 wait nope --timeout 0
    mt 0 fail one 'no'
    mt 0 wait one -u terminal
    mt 1 wait one -u in_progress
    mt 1 wait one -u in_progress --json
    mt 2 wait
    mt 1 wait -a me -u work --timeout 0
}
both waits

# An agent that works on a task, and whose server ended.
gone() {
    mt 0 add --id one One
    printf '%s\n' '{"jsonrpc":"2.0","id":1,"method":"initialize","params":{
        "protocolVersion":"2025-11-25","capabilities":{},
        "clientInfo":{"name":"claude-code","version":"1"}}}' \
        '{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{
        "name":"claim_task","arguments":{"task_id":"one","agent":"ann"}}}' |
        tr -d '\n' | sed 's/}{/}\n{/; $a\' | "$bin" >claimed
    grep -q 'claimed' claimed || fail "not claimed: $(cat claimed)"
    mt 0 show one
    grep -q gone "$all" || fail "$at show does not tell: $(cat "$all")"
    mt 0 show one --json
    mt 0 list
    mt 0 list --json
    mt 0 board
    mt 0 who
    grep -q 'ann  exited, wrote [0-9]*s ago  one  One  left behind: one$' "$all" ||
        fail "$(cat "$all")"
    mt 4 handoff one --agent bob --to cyd
    grep -q 'claim one --takeover --reason TEXT' "$all" || fail "$(cat "$all")"
    # Who is refused has noted it.
    run 0 show one --json
    has out '"left":{"at":"' '"reason":"exited"}'
    mt 0 who
    grep -q 'ann  exited [0-9]*s ago' "$all" || fail "$(cat "$all")"
    mt 1 claim --agent bob
    grep -q '; 1 held by ann (exited); one was left by ann, exited' "$all" ||
        fail "$(cat "$all")"
    mt 0 claim one --agent bob --takeover --reason 'it is gone'
}
both gone

# since AGENT: the last sign of life of an agent
since() {
    "$bin" $at who --json | sed -n "s/.*\"agent\":\"$1\".*\"since\":\"\([^\"]*\).*/\1/p"
}

# What each agent does. What others do to its tasks is no sign of its life.
agents() {
    mt 0 who
    grep -q 'no agent is at work; run "mcptask list --ready"' "$all" ||
        fail "$(cat "$all")"
    mt 0 who --json
    for id in one two three four; do
        mt 0 add --id $id "Task $id"
    done
    mt 0 claim one -a ann --lease 3600
    mt 0 claim two -a ann
    mt 0 claim three -a bob
    mt 0 claim four -a cyd
    echo '{"completed_steps":["A"],"remaining_steps":["B","C"],"test_results":[
        {"command":"t","passed":4,"failed":3}]}' >in
    mt 0 checkpoint one - -a ann <in
    mt 0 ask two 'Which?' -a ann
    mt 0 ask three 'And now?' -a bob
    echo '{"task_id":"five","title":"Task five","status":"agent_exhausted",
        "exhausted":{"agent":"cyd","at":"2026-01-02T03:04:05.000Z"}}' |
        tr -d '\n' >in
    run 0 import in
    mt 0 who
    mt 0 who --json
    grep '^[abc][nyo][nbd]  ' "$all" >out
    sed 's/  */ /g; s/[0-9]*[sd]\( ago\)/N\1/; s/, [0-9]*s/, N/' out >have
    cat >want <<'END'
ann wrote N ago one Task one; now: B +1 more, 1 waits for you 1/3 3 failed
bob waits for you, N three Task three
cyd wrote N ago four Task four left behind: five
END
    same have want
    checks=$((checks + 2))
    for n in 1 2 3 4 5 6 7 8 9; do
        echo "{\"task_id\":\"left-behind-$n\",\"title\":\"T\",\"status\":
            \"agent_exhausted\",\"exhausted\":{\"agent\":\"dan\"}}" | tr -d '\n'
        echo
    done >in
    run 0 import in
    COLUMNS=90 mt 0 who # the long list leaves room for others
    has "$all" '+1 more, 1 waits' 'left behind: left-beh'
    was=$(since cyd)
    mt 0 message four 'A word' -a dan
    [ -n "$was" ] && [ "$(since cyd)" = "$was" ] || fail "not since $was"
    mt 0 edit four -p 1 -a cyd
    [ "$(since cyd)" != "$was" ] || fail "still since $was"
}
both agents

# It goes by pages, and a task may be longer than one answer of a tool.
many() {
    for n in $(seq 230); do
        echo "{\"task_id\":\"many-$n\",\"title\":\"$n\"}"
    done >tasks
    awk 'BEGIN {
        printf "{\"task_id\":\"long\",\"title\":\"L\",\"own\":[1],\"decisions\":["
        for (i = 0; i < 60; i++) {
            printf "%s\"", i ? "," : ""
            for (k = 0; k < 1000; k++) printf "x"
            printf "\""
        }
        print "]}"
    }' >>tasks
    "$bin" import tasks >/dev/null
    mt 0 list
    mt 0 list --json
    mt 0 list -n 120 --ids
    mt 2 show many
    mt 0 board -n 3
    mt 0 tail -n 150
    mt 0 show long
    mt 0 show long --json
    mt 0 export --format md
    mt 0 export
}
both many

# alike ARGUMENT...: what the command prints beside the store, in out, it prints
# with the server, too
alike() {
    run 0 --server "unix:$dir/s" "$@"
    cp out answered
    run 0 "$@"
    same out answered
}

begin a_history_of_several_answers
run 0 add --id one One
for n in $(seq 205); do
    "$bin" edit one -p $((n % 5)) >/dev/null || fail "edit $n"
done
serve
alike history one
alike tail -n 203
alike tail --since yesterday
alike tail -a me
alike tail -a nobody
stop

begin stats_of_a_server
cat >tasks <<'END'
{"task_id":"late","title":"Late","status":"done","current_owner":"me","created_at":"2020-01-01T00:00:00.000Z"}
{"task_id":"lost","title":"Lost","status":"failed","current_owner":"me"}
{"task_id":"epic","title":"Epic"}
{"task_id":"part","title":"Part","parent_id":"epic","depends_on":["late"]}
{"task_id":"next","title":"Next","parent_id":"epic","depends_on":["part","lost"]}
END
serve
run 0 import tasks
run 0 ask part 'Which?'
run 0 answer part that one
run 0 ask epic 'And now?'
run 0 claim part -a me
run 0 handoff part -a me
alike stats
has out '2 ended, 1 of them failed' 'Needs you 1' 'Stuck 1'
alike stats --json
stop

# More than fits into the answer to a batch: those that do not are asked for
# alone.
begin large_tasks_come_whole
awk 'BEGIN {
    text = sprintf("%1000s", ""); gsub(" ", "x", text)
    for (n = 0; n < 40; n++) {
        printf "{\"task_id\":\"t%d\",\"title\":\"Large\",\"decisions\":[", n
        for (i = 0; i < 60; i++)
            printf "%s\"%d %s\"", i ? "," : "", i, text
        printf "],\"remaining_steps\":["
        for (i = 0; i < 60; i++)
            printf "%s\"%d %s\"", i ? "," : "", i, text
        print "]}"
    }
}' >tasks
run 0 import tasks
serve
alike export
stop

begin what_only_works_beside_the_store
run 2 --server unix:/nowhere compact
has err 'mcptask compact: this works on the store itself' \
    'run it where the store is'
for command in backup verify archive import push pull health run; do
    MCP_TASK_SERVER=unix:/nowhere run 2 $command x x
    has err ':'
done
MCP_TASK_SERVER=unix:/nowhere run 2 health --json
has err '"code":"invalid_argument"' 'this works on the store itself'
MCP_TASK_SERVER=unix:/nowhere run 2 list --calls
has err 'list: --calls works on the store itself'
MCP_TASK_SERVER=unix:/nowhere run 0 help list
MCP_TASK_SERVER=unix:/nowhere run 0 config claude-code
MCP_TASK_SERVER=unix:/nowhere run 0 completion bash

begin which_server
run 3 --server "unix:$dir/none" list
has err "unix:$dir/none: No such file or directory" \
    'start it with "mcptask --unix PATH"'
run 3 --server "unix:$dir/none" list --json
has err '"code":"store_unreachable"' '"retryable":true'
run 3 --server 127.0.0.1:1 add One
has err '127.0.0.1:1: Connection refused' 'start it with "mcptask --http"'
run 3 --server '[::1]:1' list
for address in unix: nowhere:80 127.0.0.1:0 127.0.0.1:99999 '[::1' 1.2.3 ''; do
    run 2 --server "$address" list
    has err '--server needs unix:PATH or a numeric ADDRESS:PORT' \
        "not \"$address\""
done
for address in 192.0.2.1 http://192.0.2.1:80/mcp '[2001:db8::1]:80'; do
    run 2 --server "$address" list
    has err "--server $address: not on this host" 'ssh -L' --insecure
done
run 2 --server unix:/s
has err '--server and --insecure need a command'
run 2 --server unix:/s --store etcd://127.0.0.1:1/x1 list
has err '--server cannot be used with --store'
run 2 --token-file x list
has err '--token-file with a command needs --server'
checks=$((checks + 1))
[ ! -e "$MCP_TASK_BASE_DIR" ] || fail 'a store was made'

# doctor says whose tasks the shell and the agents see, and a server on stdio
# says whose it does not serve.
begin two_stores
serve
run 0 add --id one One
export MCP_TASK_SERVER="unix:$dir/s"
# doctor starts its own binary, which a script in its place cannot be.
if [ "$bin" = "$exe" ]; then
    run 0 doctor
    has out "unix:$dir/s: ready, and commands use its store; agents whose" \
        "client starts mcptask use $log, the same one"
    lacks out 127.0.0.1
    MCP_TASK_BASE_DIR=$dir/own run 0 doctor
    has out "use $dir/own/tasks.log, another one"
    MCP_TASK_STORE=etcd://h:1/x run 1 doctor --json # h does not answer
    has out '"check":"server","ok":true' 'use etcd://h:1/x, another one'
    stop
    run 1 doctor
    has out "problem  server" "unix:$dir/s: commands cannot use it: see"
    has err "unix:$dir/s: "
fi
run 0
[ "$(grep -c MCP_TASK_SERVER err)" -eq 1 ] || fail "it says: $(cat err)"
has err "this server uses its own store, $log"
unset MCP_TASK_SERVER
run 0
[ ! -s err ] || fail "it says: $(cat err)"

begin a_token
token=0123456789abcdef0123456789abcdef
(umask 077 && cat >tokens) <<END
# those of the server
$token anna person
fedcba9876543210fedcba9876543210 eye read
END
(umask 077 && echo "# mine
$token" >mine && echo fedcba9876543210fedcba9876543210 >eye && : >empty &&
    echo nobody-knows-this-token >other)
serve --token-file tokens
export MCP_TASK_SERVER="unix:$dir/s"
printf '\357\273\277%s\r\n' "$token" >windows
chmod 600 windows
run 0 --token-file windows list
run 3 list
has err "unix:$dir/s: needs a token" --token-file MCP_TASK_TOKEN_FILE
run 0 --token-file mine add --id one -a anna One
export MCP_TASK_TOKEN_FILE="$dir/mine"
run 0 show one --json
has out '"created_by":"anna"'
run 0 edit one -p 0
run 3 edit one -a bob -p 1
has err 'one: '
run 3 --token-file other list
has err 'unknown token in other'
lacks err nobody-knows
run 2 --token-file empty list
has err 'empty: has no line with a token'
run 2 --token-file nothing list
has err 'nothing: No such file'
run 0 --token-file eye list
run 3 --token-file eye edit one -p 2
has err 'one: this token is read-only'
chmod 644 mine
run 2 list
has err "$dir/mine: "
lacks err $token
unset MCP_TASK_SERVER MCP_TASK_TOKEN_FILE
stop

begin a_server_that_offers_less
serve --tools core
run 0 --server "unix:$dir/s" add --id one One
run 3 --server "unix:$dir/s" claim -a me
has err "unix:$dir/s: claim_task: "
serve --read-only
run 3 --server "unix:$dir/s" add Two
run 0 --server "unix:$dir/s" list
has out one
run 3 --server "unix:$dir/s" --read-only add Two
has err 'add: leave --read-only out to change tasks'
stop

begin a_rate
serve --rate 4
for _ in 1 2 3 4 5 6 7; do
    run 0 --server "unix:$dir/s" add One
done
stop

begin over_tcp
rm -f said
mkfifo said
"$bin" --port 0 2>said &
server=$!
exec 3<said
read -r line <&3
port=${line##*:}
for address in "127.0.0.1:$port" "localhost:$port" "http://127.0.0.1:$port/mcp"; do
    run 0 --server "$address" add To "$address"
    run 0 --server "$address" list
    has out "To $address"
done
run 2 --server "0.0.0.0:$port" list
has err 'not on this host'
run 3 --insecure --server "0.0.0.0:$port" list # this Host is not its own
has err "0.0.0.0:$port: "
stop

begin an_archived_task
run 0 add --id one One
run 0 add --id one-more More
run 0 fail one no
run 0 archive --done-before 2999-01-01
serve
run 1 --server "unix:$dir/s" 'done' one
has err 'one: archived' \
    'to bring it back, run "mcptask import LOG.archive-DAY"'
run 1 --server "unix:$dir/s" show one-mort
has err 'no such task "one-mort"' 'did you mean "one-more"?'
run 0 --server "unix:$dir/s" show one-m
has out More
stop

begin it_waits_for_others
serve
at="unix:$dir/s"
run 0 --server "$at" add --id one One
"$bin" --server "$at" wait one -u 'done' --timeout 60 >out 2>err &
waiter=$!
run 0 'done' one
checks=$((checks + 1))
wait $waiter || fail "wait: $(cat err)"
"$bin" --server "$at" claim -a me --wait 60 >claimed 2>err &
waiter=$!
run 0 add --id two Two
checks=$((checks + 1))
wait $waiter || fail "claim: $(cat err)"
has claimed '# Task two'
mkfifo news
"$bin" --server "$at" tail -f -n 1 >news &
follower=$!
exec 4<news
read -r line <&4
case $line in *claim*) ;; *) fail "tail: $line" ;; esac
run 0 add --id three Three
read -r line <&4
case $line in *create*Three) ;; *) fail "tail -f: $line" ;; esac
kill -INT $follower
checks=$((checks + 3))
wait $follower || fail "tail -f ended with $?"
stop

if script -qec true /dev/null >out 2>&1 </dev/null; then
    begin an_empty_list_is_told
    serve
    script -qec "'$bin' --server unix:$dir/s list" /dev/null >out
    has out "mcptask: no tasks in unix:$dir/s" 'mcptask add TITLE'
    run 0 add --id one One
    run 0 'done' one
    script -qec "'$bin' --server unix:$dir/s list" /dev/null >out
    has out "mcptask: no task matches in unix:$dir/s" 'mcptask list --all'
    script -qec "'$bin' --server unix:$dir/s list --ready" /dev/null >out
    has out "mcptask: no task matches in unix:$dir/s"
    lacks out 'mcptask list --all'
    stop
fi

finish
