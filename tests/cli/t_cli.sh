#!/bin/sh
# The commands, run as people and hooks run them: t_cli.sh [MCPTASK [EXE]]

# shellcheck source=tests/lib/cli.sh
. "$(dirname "$0")/../lib/cli.sh"

tasks() {
    cat <<'END'
{"task_id":"first","title":"The first","status":"done","depends_on":["later"],"created_at":"2020-02-03T04:05:06.007Z","created_by":"me","version":7}
{"task_id":"later","title":"Needed by another","priority":0,"current_owner":"codex","tags":["x","y"],"completed_steps":["a"],"remaining_steps":["b","c"],"own":{"deep":[1.50,"\u00e9"]}}
{"task_id":"evil","title":"\u202eright\u001b[31m \u0007to left","status":"in_progress","goal":"# not a heading"}
END
}
# The same, but meant for nobody.
free_tasks() {
    tasks | sed 's/"current_owner":"codex",//'
}

sum() {
    if command -v sha256sum >/dev/null; then sha256sum; else shasum -a 256; fi |
        cut -c 1-64
}

begin paths_are_taken_as_they_are
# shellcheck disable=SC2088 # that it stays one is what is tried
for path in '~/x' '${HOME}/x'; do
    MCP_TASK_BASE_DIR=$path run 2 list
    has err 'MCP_TASK_BASE_DIR: ~ and $ are not expanded here'
    MCP_TASK_DB_PATH=$path run 2 list
    has err 'MCP_TASK_DB_PATH: ~ and $'
done
checks=$((checks + 1))
[ -z "$(find . -name '*HOME*' -o -name '~')" ] || fail 'it was made'

begin reading_creates_nothing
for command in list tail export health verify compact; do
    run 0 $command
    run 0 $command --json
done
run 1 show x
has err 'mcptask show: no such task "x"' 'run "mcptask list --all"'
run 1 history x
run 1 export x
run 1 backup "$dir/none"
checks=$((checks + 1))
[ ! -e "$MCP_TASK_BASE_DIR" ] && [ ! -e "$dir/none" ] || fail 'it was made'

begin usage
run 2 frobnicate
has err frobnicate 'run "mcptask help"'
run 2 list --frob
has err --frob 'run "mcptask help list"'
run 2 show
run 2 show a b
run 2 list --limit many
run 2 list --limit
run 2 list --ready=yes
run 2 list --parent 'no id'
has err 'mcptask list: --parent must be 1 to 128 characters from'
run 2 list --calls --parent a
run 2 list --status open,closed
has err closed handoff_ready
run 2 export --format xml
run 2 config emacs
run 2 list --frob --json
run 0 --http --version
has out 'mcptask '
run 2 list --json --frob
has err '"code":"invalid_argument"'
lacks err 'usage:'

begin what_was_exported_is_imported_the_same
tasks >in
run 0 import in
has out '3 imported, 0 skipped, 0 failed'
run 0 export
cp out exported
has out '"created_at":"2020-02-03T04:05:06.007Z"' '"version":7' \
    '"own":{"deep":[1.50,"\u00e9"]}'
# seq and updated_at are those of the import, everything else stays
strip() { sed 's/,"seq":[0-9]*,"updated_at":"[^"]*"//'; }
strip <exported >expected
begin again
run 0 import - <exported
run 0 export
strip <out >actual
same actual expected
run 0 import - --json <exported
has out '{"imported":0,"skipped":3,"failed":0}'
run 4 import --strict exported
has err 'line 1' 'the task exists'
run 0 export later
has out '"task_id":"later"'
lacks out first
run 0 export --format md
has out 'The first' '---'
begin lists_as_text
echo '{"task_id":"a","title":"A","completed_steps":"[\"one\",\"two\"]"}' >in
run 0 import in
run 0 show --json a
has out '"completed_steps":["one","two"]'
run 0 tail --json
has out '"task_id":"a"'
echo '{"task_id":"b","title":"B","completed_steps":"[1"}' >in
run 0 import in
run 0 show --json b
has out '"completed_steps":["[1"]'
begin as_array
{ printf '\357\273\277 [\n'; sed '$!s/$/,/' exported; echo ']'; } >in
run 0 import in
run 0 export
strip <out >actual
same actual expected

# Elements longer than one read, full of characters that end one elsewhere.
begin an_array_is_split_between_its_elements
awk 'BEGIN {
    s = "]},{[\\\"\\\\"
    while (length(s) < 7000) s = s s
    for (i = 0; i < 60; i++)
        printf "{\"task_id\":\"t%d\",\"title\":\"%d ],\",\"resume_prompt\":" \
               "\"%s\",\"tags\":[\"a\",\"b\"]}\n", i, i, substr(s, 1 + 9 * i)
}' >lines
run 0 import lines
has out '60 imported'
run 0 export
strip <out | sed 's/"created_at":"[^"]*"//' >expected
begin an_array_in_pieces
{ echo '['; sed '$!s/$/ ,/' lines; echo ']'; } | dd bs=997 >in 2>/dev/null
dd bs=997 <in 2>/dev/null | "$bin" import - >out
run 0 export
strip <out | sed 's/"created_at":"[^"]*"//' >actual
same actual expected

begin bad_input_is_counted
a='{"task_id":"a","title":"t"}' b='{"task_id":"b","title":"t"}'
while IFS='|' read -r imported bad input; do
    rm -rf "$MCP_TASK_BASE_DIR"
    printf "$input" >in
    run $((bad > 0)) import in
    has out "$imported imported, 0 skipped, $bad failed"
done <<END
0|0|
0|0| \n\n
0|0|[]
0|0|[ \n]\n
0|1|[
1|0|$a
2|0|$a\r\n\r\n$b
1|1|$a\n{"task_id":"b"
1|1|{"task_id":"b",\n$a
2|0|$a $b
0|2|{}\n7
1|0|{"task_id":"../b","title":"t"}
0|1|{"title":"t"}
1|1|[$a
1|1|[$a,
1|1|[$a,]
1|1|[,$a]
1|1|[$a]$b
1|1|[{"task_id":},$b]
1|1|[{"a":1}},$b]
0|1|[$a $b]
2|0|[$a,\n$b]\n
END
printf '%s\n' "$a" '{"task_id":7}' "$b" >in
rm -rf "$MCP_TASK_BASE_DIR"
run 1 import --strict in
has out '0 imported, 0 skipped, 1 failed; stopped there; to continue, import'
has err 'line 2'
run 0 list --all --json
checks=$((checks + 1))
[ -s out ] && fail "what came before the bad record stayed"
awk 'BEGIN { for (i = 0; i < 100003; i++) print \
    (i == 100001 ? "{}" : "{\"task_id\":\"n" i "\",\"title\":\"t\"}") }' >many
run 1 import --strict many
has out '100000 imported, 0 skipped, 1 failed; stopped there'
has err 'line 100002'
run 1 import many
has out '2 imported, 100000 skipped, 1 failed'
rm -rf "$MCP_TASK_BASE_DIR"
run 2 import in.is.not.there
has err 'in.is.not.there'
printf 'SQLite format 3\000more' >in
run 2 import in
has err SQLite

begin a_long_record_is_dropped_alone
{
    printf '{"task_id":"long","goal":"'
    dd if=/dev/zero bs=65536 count=40 2>/dev/null | tr '\000' x
    printf '","title":"t"}\n%s\n' "$a"
} >in
run 1 import in
has out '1 imported, 0 skipped, 1 failed'
has err 'line 1'

begin lists
tasks | "$bin" import - >out
run 0 list
has out later evil 'codex'
lacks out first
run 0 list --all
has out first
run 0 list --all --limit 1
lacks out first evil
run 0 list --all --limit 0
has out first later evil
run 0 list --status done,failed
has out first
lacks out later
run 0 list --owner codex --tag x --query NEEDED
has out later
run 0 list --query é
has out '  Needed by another  deep: é'
run 0 list -o nobody
checks=$((checks + 1))
[ ! -s out ] || fail "$(cat out)"
run 0 list -a --json
checks=$((checks + 1))
[ "$(grep -c '^{"task_id":.*}$' out)" -eq 3 ] || fail "$(cat out)"
awk 'BEGIN { for (i = 0; i < 250; i++)
    printf "{\"task_id\":\"more-%d\",\"title\":\"t\"}\n", i }' |
    "$bin" import - >out
run 0 list
checks=$((checks + 1))
[ "$(grep -c ' P[0-9] ' out)" -eq 252 ] || fail "$(wc -l <out) lines"

begin lists_in_the_order_of_work
tasks | "$bin" import - >out
run 0 list --ids
same - out <<'END'
later
evil
END
run 0 list --ready --ids # what is to be done next
same - out <<'END'
later
END
run 0 add --id urgent -p 0 -g 'Rename nothing' 'Production is down'
run 0 add --id rename -p 4 Rename
run 0 add --id deep -p 4 'Rename deep things'
run 0 list --ready --ids
same - out <<'END'
later
urgent
rename
deep
END
run 0 list --ready --order changed --ids
same - out <<'END'
deep
rename
urgent
later
END
run 0 list --query rename --ids # the best hits first
same - out <<'END'
deep
rename
urgent
END
run 0 cancel urgent rename -m 'no more'
run 0 list --all --ids # what has ended is last, the newest change first
same - out <<'END'
later
evil
deep
rename
urgent
first
END
run 0 list --status done,cancelled --json
checks=$((checks + 1))
[ "$(cut -d '"' -f 4 out | tr '\n' ' ')" = 'rename urgent first ' ] ||
    fail "$(cat out)"
# Several parts of a list.
awk 'BEGIN { for (i = 0; i < 1500; i++)
    printf "{\"task_id\":\"n-%04d\",\"title\":\"t\"%s}\n", i,
        i % 3 ? "" : ",\"status\":\"done\"" }' | "$bin" import - >out
run 0 list --all --ids
grep '^n-' out >numbers
checks=$((checks + 1))
head -n 1000 numbers | sort -c && tail -n 500 numbers | sort -rc ||
    fail "$(cat numbers)"
[ "$(sort -u out | wc -l)" -eq 1506 ] || fail "$(wc -l <out) tasks"

begin stored_text_cannot_act_on_a_terminal
tasks | "$bin" import - >out
esc=$(printf '\033') bell=$(printf '\007') rlo=$(printf '\342\200\256')
for command in 'list' 'show evil' tail 'export --format md'; do
    run 0 $command
    has out evil
    lacks out "$esc" "$bell" "$rlo"
done
run 0 history evil
has out '  import  '
lacks out "$esc" "$bell" "$rlo" evil '[]'
run 1 show "${esc}[31m"
lacks err "$esc"
# DEL and C1, which JSON may hold unescaped
del=$(printf '\177') csi=$(printf '\302\233')
echo '{"task_id":"worse","title":"a\u007fb\u009b31mc","tags":["\u0080"]}' |
    "$bin" import - >out
for command in 'list' 'show worse' tail 'export --format md' \
    'list --json' 'show worse --json' 'history worse --json' 'tail --json' \
    'board --json' export; do
    run 0 $command
    has out worse
    lacks out "$del" "$csi" "$(printf '\302\200')"
done
run 0 list --json
has out 'a\u007fb\u009b31mc' '\u001b[31m' "${rlo}right"
run 1 show "x${csi}31m" --json
lacks err "$csi"

begin an_error_is_one_line_whatever_it_quotes
lf='
' forged='mcptask: t-3: FORGED'
# one_line COMMAND...: what it says on stderr has FORGED, in one line of its own
one_line() {
    "$bin" "$@" >out 2>err
    has err "<U+000A>$forged"
    checks=$((checks + 1))
    grep -q "^$forged" err out && fail "$*: $(cat err out)"
}
run 0 add --id t-1 One
run 0 claim -a me t-1
run 0 message -a boss t-1 "a word$lf$forged"
one_line edit -a me t-1 --goal x
run 0 cancel -a boss t-1 "a reason$lf$forged"
one_line edit -a me t-1 --goal y
LOGNAME=other run 0 claim t-1 --takeover --reason "mine$lf$forged"
one_line edit -a me t-1 --goal z
one_line show "t-9$lf$forged"
check test "$(grep -c '' err)" -eq 2 # and the next step
run 0 add --id t-2 Two
one_line attach t-2 "file$lf$forged"
one_line --token-file "x$lf$forged" # of the server
MCP_TASK_BASE_DIR="$dir/x$lf$forged" run 0 add One
MCP_TASK_BASE_DIR="$dir/x$lf$forged" run 0 verify
has out "<U+000A>$forged"
checks=$((checks + 2))
grep -q "^$forged" out && fail "$(cat out)"
run 127 run -- "./y$lf$forged"
grep -q "^$forged" err out && fail "$(cat err out)"

begin tail_since_a_day_and_of_an_agent
for n in 1 2 3 4 5 6 7 8 9 10 11 12; do
    run 0 add --id "n-$n" "Task $n"
done
run 0 claim n-3 -a ann
run 0 tail
lacks out n-1' '
(failed=0; export MCP_TASK_AGENT=ann
run 0 tail
has out create
exit $failed) || failed=$((failed + 1))
run 0 tail --since yesterday
has out '1  ' n-1' ' n-12 claim
run 0 tail --since today -n 1
has out claim
lacks out create
run 0 tail -a ann
has out claim
lacks out create
run 0 tail --since 2999-01-01
lacks out n-1
run 0 tail --since 2000-01-01T00:00:00Z -n 2
has out n-12 claim
run 2 tail --since never
has err '--since needs today, yesterday, a day or a time'

begin tail_follows_others_until_its_reader_leaves
tasks | "$bin" import - >out
run 0 tail -n 1
has out evil import
lacks out later
run 0 tail
has out first later evil
mkfifo pipe
"$bin" tail -n 1 -f >pipe &
tail=$!
exec 3<pipe
read -r line <&3
echo '{"task_id":"news","title":"t"}' | "$bin" import - >out
read -r line <&3
echo "$line" >out
has out news
kill -TERM $tail
wait $tail
code=$?
checks=$((checks + 1))
[ $code -eq 0 ] || fail "a signal ended it with $code"
exec 3<&-
"$bin" tail -f >pipe &
tail=$!
exec 3<pipe
exec 3<&-
wait $tail
code=$?
checks=$((checks + 1))
[ $code -eq 0 ] || fail "a closed pipe ended it with $code"

begin the_history_of_a_task
call() {
    printf '{"jsonrpc":"2.0","id":%s,"method":"tools/call","params":' "$1"
    printf '{"name":"%s","arguments":%s}}\n' "$2" "$3"
}
{
    printf '{"jsonrpc":"2.0","id":0,"method":"initialize","params":{'
    printf '"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{'
    printf '"name":"t","version":"1"}}}\n'
    call 1 create_task '{"task_id":"a","title":"t"}'
    call 2 create_task '{"task_id":"b","title":"t"}'
    call 3 save_checkpoint '{"task_id":"a","agent":"me","notes":"half way"}'
    call 4 attach_artifact \
        '{"task_id":"a","agent":"me","name":"n","content":"content"}'
} | "$bin" >out
run 0 history a
has out create 'half way' attach
checks=$((checks + 1))
[ "$(cut -c 1 out | tr '\n' ' ')" = '4 3 1 ' ] || fail "$(cat out)"
run 0 history -n 1 a
has out attach
lacks out checkpoint create
run 0 history a -n 2 --json
has out '"op":"checkpoint"' '"op":"attach"'
lacks out create
run 0 compact
has out 'tasks.log: ' ' -> ' ' bytes'
run 0 history a
has out create checkpoint
run 0 tail -n 2
has out create attach
lacks out checkpoint
rm "$log.1"
run 0 history a
has out 'up to seq 3 are no longer in this log'
run 0 verify
has out '1 artifact named, 0 of them bad; 0 files'

begin a_claim_reads_all
i=0
{
    echo '{"task_id":"done","title":"t","status":"done"}'
    echo '{"task_id":"open","title":"t","status":"in_progress"}'
    while [ $i -lt 150 ]; do
        printf '{"task_id":"b%d","title":"t","goal":"%05000d",' $i 0
        echo '"depends_on":["open"]}'
        i=$((i + 1))
    done
    echo '{"task_id":"ready","title":"t","depends_on":["done"]}'
} >"$dir/many"
run 0 import "$dir/many"
run 0 claim --agent me --json
has out '"task_id":"ready"'
run 1 claim --agent me
has err 'no task is ready'

begin claims_and_answers
free_tasks | "$bin" import - >out
run 2 claim --agent me --lease soon
has err '--lease needs a number from'
run 1 claim --agent me --tag z
has err 'no task is ready'
run 0 claim --agent me --json
has out '"task_id":"later"' '"lease":{"agent":"me"'
run 4 claim later --agent you
has err ' is working on it, and its lease ends in '
run 4 claim later --agent you --json
has err '"code":"lease_held"' '"holder":"me"'
run 1 claim none --agent me
run 1 claim --agent you
has err 'no task is ready; 2 held by me, unknown'
run 1 claim --agent you --json
has out '{"claimed":false,"message":"no task is ready","held":2,"held_by":[{"agent":"me","tasks":1,"until":'
run 4 claim later --agent you --wait 1
run 0 claim later --agent me --lease 3600
has out '# Task later' '- seconds: 3600'
has err 'already yours; lease renewed'
lacks out renewed
run 2 answer later
run 1 answer later yes
has err 'later: the task has no open question' \
    'run "mcptask message later TEXT"'
{
    call 1 request_input '{"task_id":"later","agent":"me","question":"Sure?"}'
} | "$bin" >out
has out '\"question_id\":\"q6\"'
run 0 list
has out 'in_progress (needs input)'
run 0 answer later q6 --agent ann -- -yes-
has out 'later  in_progress'
run 4 answer later q6 no
has err 'has already been answered'
run 0 show later
has out '"text":"-yes-"' '"by":"ann"'
call 1 request_input '{"task_id":"later","agent":"me","question":"And?"}' |
    "$bin" >out
has out '\"question_id\":\"q8\"'
run 0 list --needs-input
has out later
lacks out evil
run 2 answer later
run 2 answer later --decline --cancel
run 0 answer later --decline
run 0 show later --json
has out '"answer":{"action":"decline"'
call 1 request_input '{"task_id":"later","agent":"me","question":"Now?"}' |
    "$bin" >out
run 0 answer later q10 'ask again' --cancel --json
has out '"task_id":"later"' '"seq":11'
lacks out warnings
run 0 show later --json
has out '"answer":{"text":"ask again","action":"cancel"'
run 0 list --needs-input
lacks out later
# A command line of an agent is that agent; without one it is a person's.
approval() {
    run 0 ask later -a me 'Ship it?' -k approval
    run 4 answer later approve -a me
    has err 'you asked this question' \
        'run "mcptask answer later --decline"'
    run 4 answer later approve -a ann
    has err 'this approval is for a person to decide'
    (failed=0; export MCP_TASK_AGENT=me
    run 4 answer later approve
    exit $failed) || failed=$((failed + 1))
}
approval
run 0 answer later approve
approval
(failed=0; export MCP_TASK_AGENT=me
run 0 answer later --decline
exit $failed) || failed=$((failed + 1))
run 0 ask later -a me 'Is it?' --to ann
run 4 answer later yes -a bob
has err 'addressed to another agent or to a person'
run 0 answer later yes -a ann
run 2 --ownership perhaps list
has err 'enforce or warn'

begin the_agent_of_the_environment
export MCP_TASK_AGENT=env
free_tasks | "$bin" import - >out
run 0 history later
has out env import
run 0 show first --json
has out '"created_by":"me"'
run 0 show later --json
has out '"created_by":"env"'
run 0 claim later
run 0 show later --json
has out '"current_owner":"env"' '"lease":{"agent":"env"'
lacks out '"session"'
run 4 checkpoint later --agent other
echo '{"agent":"other"}' >in
run 4 checkpoint later - <in
run 0 checkpoint later --notes mine
run 0 checkpoint later --agent env - <in
run 0 handoff later
run 0 show later --json
has out '"from_agent":"env"'
unset MCP_TASK_AGENT
LOGNAME=anna run 0 claim later
run 0 show later --json
has out '"current_owner":"anna"'
run 0 handoff later -a anna
echo '{"task_id":"x","title":"X"}' >in
LOGNAME=anna run 0 import in
run 0 show x --json
has out '"created_by":"anna"'
login=$(sed -n "s/^\([^:]*\):[^:]*:$(id -u):.*/\1/p" /etc/passwd | head -n 1)
(failed=0; unset LOGNAME USER; run 0 claim later; exit $failed) ||
    fail "$(cat err)"
run 0 show later --json
has out "\"current_owner\":\"${login:-user-$(id -u)}\""

begin checkpoints_and_handoffs
free_tasks | "$bin" import - >out
run 1 checkpoint none --agent me
run 0 checkpoint later --agent me --resume-prompt 'Go on' -n 'at the end'
has out 'later  in_progress  P0  me'
run 4 checkpoint later --agent me --json - <<'END'
{"expected_version":1,"completed_steps":["a"]}
END
has err '"code":"version_conflict"'
run 0 checkpoint later --agent me --json - <<'END'
{ "agent": "another", "task_id": "evil", "resume_prompt": "Tests",
  "completed_steps": [ "a", "\"b\"" ], "remaining_steps": [] }
END
has out '"task_id":"later"'
lacks out another
for input in '' '[]' '{"a":1' '{"agent":"me"} x'; do
    echo "$input" >in
    run 2 checkpoint later --agent me - <in
    has err 'not a JSON object'
done
echo '{"step":1}' >in
run 2 handoff later --agent me - <in
has err 'unknown argument "step"'
run 2 checkpoint later in --agent me
has err 'unexpected argument "in"'
run 0 checkpoint later - <<'END'
{"agent":"me"}
END
run 0 show later --json
has out '"resume_prompt":"Tests"' '"completed_steps":["a","\"b\""]'
run 0 history later -n 4
has out 'at the end'
run 0 claim later --agent me
run 4 handoff later --agent you
has err 'me is working on it'
run 2 handoff later --agent me --to you --expires soon
has err --expires
run 0 handoff later --agent me --to yuo --expires 60
run 4 handoff later --agent me --to you
has err 'it was handed over to another agent (yuo)' '--takeover --reason'
run 0 claim later --agent me --takeover --reason 'a typo'
run 0 handoff later --agent me --to you --reason 'no time'
has out 'later  handoff_ready  P0  you'
run 0 show later
has out '- reason: no time' '- from_agent: me'
run 0 claim later --agent you
run 2 claim later --agent me --takeover
has err 'claim: --takeover needs --reason' 'usage: mcptask claim'
# An agent ends no live lease, however it is named; a person does.
run 4 claim later --agent me --takeover --reason 'you left'
(failed=0; export MCP_TASK_AGENT=me
run 4 claim later --takeover --reason 'you left'
exit $failed) || failed=$((failed + 1))
LOGNAME=me run 0 claim later --takeover --reason 'you left'
has out '## Taken over' '- reason: you left'
run 4 checkpoint later --agent you
has err 'me took the task over: you left' 'later: me is working on it'
run 4 checkpoint later --agent you --json
has err '"taken_over":{"by":"me","at":"2' '"reason":"you left"}' \
    '"expires_at":"2'
LOGNAME=you run 0 claim later --takeover --reason 'no' --json
lacks out renewed
run 0 claim later --agent you --json
has out '"task_id":"later"' ',"renewed":true}'
run 4 checkpoint later --agent me
run 0 --ownership warn checkpoint later --agent me
has err 'mcptask: '
run 3 --read-only checkpoint later --agent you

begin waits
run 1 wait none
has err 'mcptask wait: no such task "none"'
run 2 wait
has err 'mcptask wait: ID or --agent is missing'
run 2 wait ''
has err 'wait: ID is empty'
tasks | sed 's/"depends_on":[^]]*],//' | "$bin" import - >out
run 2 wait later --until never
has err 'terminal, answered, handoff'
run 2 wait later --since-seq x
has err 'wait: --since-seq needs a number' 'run "mcptask help wait"'
run 0 wait first --until terminal
has out 'first  done'
run 0 wait first --until 'done' --json
has out '{"met":true,"seq":1,"task":{"task_id":"first"'
run 1 wait later --timeout 0
has out 'later  open'
run 1 wait later --timeout 0 --json
has out '{"met":false,"seq":3,"task":{"task_id":"later"'
run 1 wait --agent codex --timeout 0 --json
has out '{"met":false,"seq":3}'
run 1 wait --agent codex --timeout 0
has err 'mcptask wait: not yet'
checks=$((checks + 1))
[ ! -s out ] || fail "$(cat out)"
run 1 wait later -u 'done' --timeout 1
has err 'mcptask wait: timed out'
run 1 wait later -u 'done' --timeout 1 --json
checks=$((checks + 1))
[ ! -s err ] || fail "$(cat err)"
run 0 wait later --since-seq 1 --timeout 60
run 0 wait --agent codex --since-seq 1 --json
has out '"met":true,"seq":2'
run 0 edit later --owner ''

# begin_wait ARGUMENT..., woken TEXT...: the wait ends and prints each TEXT
begin_wait() {
    "$bin" wait "$@" --timeout 60 >woken &
    waiting=$!
}
woken() {
    wait "$waiting"
    code=$?
    checks=$((checks + 1))
    [ $code -eq 0 ] || fail "a wait ended with $code"
    has woken "$@"
}
begin_wait later --until in_progress
run 0 claim later --agent me
woken 'later  in_progress'
begin_wait --agent you --since-seq 3 --json
run 0 handoff later --agent me --to you
woken '"met":true' '"current_owner":"you"'
begin_wait later --until handoff
woken 'later  handoff_ready'
run 0 claim later --agent you
call 1 request_input '{"task_id":"later","agent":"you","question":"Sure?"}' |
    "$bin" >out
begin_wait later --until answered --since-seq 7 --json
run 0 answer later yes
woken '{"met":true,"seq":9'
run 1 wait first --until open
has out 'first  done'
has err 'the task has ended, so this can no longer happen'
run 1 wait first --until failed --json
has out '"met":false' '"never":true'
run 0 wait later --until answered --json
has out '"met":true' '"text":"yes"'
run 1 wait --agent you --until question --timeout 0
run 1 wait --agent nobody --until work --timeout 0
"$bin" claim --agent other --tag new --wait 60 >woken &
waiting=$!
run 0 add Fresh --tag new --id fresh
woken '# Task fresh'
"$bin" wait later --until open &
waiting=$!
kill -TERM $waiting
wait $waiting 2>/dev/null
code=$?
checks=$((checks + 1))
[ $code -gt 128 ] || fail "a signal ended it with $code"

begin calls_that_outlive_their_request
tasks | "$bin" import - >out
# defer ID TOOL ARGUMENTS: a call as a task of 2025-11-25
defer() {
    call "$@" | sed 's/"params":{/"params":{"task":{"ttl":7000000},/'
}
hello() {
    printf '{"jsonrpc":"2.0","id":0,"method":"initialize","params":{'
    printf '"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{'
    printf '"name":"t","version":"1"}}}\n'
}
run 0 list --calls
checks=$((checks + 1))
[ ! -s out ] || fail "$(cat out)"
{
    hello
    defer 1 wait_for_task '{"task_id":"evil","until":"done"}'
    defer 2 wait_for_task '{"agent":"codex"}'
    defer 3 wait_for_task '{"agent":"codex"}'
} | "$bin" --calls-own 2 >out
has out 'too many live calls'
run 0 list --calls
has out '  working  wait_for_task  ' '  1h left  task/evil' owner/codex
checks=$((checks + 1))
[ "$(grep -c working out)" -eq 2 ] || fail "$(cat out)"
if script -qec true /dev/null >out 2>&1 </dev/null; then
    NO_COLOR=1 script -qec "stty cols 70; '$bin' list --calls" /dev/null >out </dev/null
    checks=$((checks + 1))
    ! grep -q '^.\{74\}' out || fail "$(cat out)"
    has out working
fi
run 0 list --calls --limit 1 --json
has out '{"call_id":"' '"status":"working"' '"waits_for":"owner/codex"' \
    '"questions":0}'
lacks out task/evil
run 0 list --calls --owner nobody
lacks out working
run 2 list --calls --ready
run 2 list --calls --ids
has err '--owner, --all and --limit'
run 0 checkpoint later --agent codex
run 0 list --calls
has out task/evil
lacks out codex completed
run 0 list --calls --all
has out completed working
{
    hello
    defer 1 request_input '{"task_id":"evil","agent":"me","question":"Q?"}'
} | "$bin" >out
run 0 list --calls
has out request_input
run 0 answer evil yes
run 0 list --calls --all --json
has out '"status":"completed","tool":"request_input"'
run 2 --calls-own 0 list
has err '--calls-own'
run 2 --calls-max 1000001 list

begin lost_output_is_an_error
tasks | "$bin" import - >out
if [ -w /dev/full ]; then
    "$bin" --help >/dev/full 2>err
    has err ': standard output: No space'
    "$bin" export >/dev/full 2>err
    code=$?
    checks=$((checks + 1))
    [ $code -eq 1 ] || fail "exit code $code"
    has err 'standard output'
fi

begin verify_and_orphans
mkdir -p "$store"
printf content >"$store/x"
hex=$(sum <"$store/x")
mv "$store/x" "$store/$hex"
other=$(echo other | sum) young=$(echo young | sum)
echo "{\"task_id\":\"a\",\"title\":\"t\",\"artifacts\":[{\"artifact_id\":\"A\",\
\"name\":\"n\",\"size\":7,\"sha256\":\"$hex\"},{\"artifact_id\":\"P\",\
\"name\":\"n\",\"path\":\"/etc/passwd\"},{\"artifact_id\":\"E\",\
\"name\":\"n\",\"sha256\":\"../../../../../../../../etc/passwd\"}]}" |
    "$bin" import - >out
run 0 verify
has out '1 artifact named, 0 of them bad; 0 files'
printf old >"$store/$other"
printf new >"$store/$young"
printf note >"$store/README"
# A temporary file is an orphan once nobody is writing it any more.
half=$store/tmp-0123456789abcdef
for file in "$half" "$store/tmp-fedcba9876543210" "$half.x" "${half%f}"; do
    printf half >"$file"
done
touch -t 202001010000 "$store/$hex" "$store/$other" "$store/README" \
    "$half" "$half.x" "${half%f}"
run 0 verify --json
has out "\"sha256\":\"$other\"" '"artifacts_unnamed":3' '"artifacts_bad":0'
run 0 compact --orphans
has out '2 artifacts of 7 bytes removed'
checks=$((checks + 1))
[ -e "$store/$hex" ] && [ ! -e "$store/$other" ] && [ -e "$store/$young" ] &&
    [ -e "$store/README" ] && [ ! -e "$half" ] && [ -e "$half.x" ] &&
    [ -e "${half%f}" ] && [ -e "$store/tmp-fedcba9876543210" ] ||
    fail "$(ls "$store")"
rm "$half.x" "${half%f}" "$store/tmp-fedcba9876543210"
printf CONTENT >"$store/$hex"
run 3 verify
has out 'task a: wrong content'
printf longer-content >"$store/$hex"
run 3 verify --json
has out '"artifacts_bad":1'
rm "$store/$hex"
run 3 verify
has out 'task a: missing'

begin a_clock_that_was_ahead
mkdir -p "$MCP_TASK_BASE_DIR"
cp "$data/ahead.log" "$log"
run 1 doctor
has out "the log's time is" 'since record 2, task/b by codex at 2099-01-01' \
    'compact --reset-time'
run 4 claim --agent me a
has err lease
run 0 compact --reset-time
has out 'its time was' 'ahead of the clock'
"$bin" doctor >out
has out 'ok       clock'
run 0 verify
has out ': good:'
run 0 claim --agent me a
run 0 history a
lacks out 2099
run 0 compact --reset-time
has out 'not ahead of the clock'

begin a_damaged_log_is_reported_and_repaired
tasks | "$bin" import - >out
lines=$(head -n 2 "$log" | wc -c)
printf '!' | dd of="$log" bs=1 seek=$((lines + 100)) conv=notrunc 2>/dev/null
cp "$log" before
run 3 verify
has out damaged '--repair'
run 3 verify --json
has out '"damaged":true' '"finding":"bad_region"'
run 3 list --all
has err "$log"
run 3 health
run 3 import in
run 3 verify --repair "$dir/mended"
run 4 verify --repair "$dir/mended"
has err mended
run 3 verify --repair "$dir/none/mended"
has err "$dir/none/mended: No such file or directory"
same "$log" before
run 2 push
has err '--store is missing'
run 4 pull "$dir/mended"
run 3 pull "$dir/pulled"
export MCP_TASK_DB_PATH="$dir/mended"
run 0 verify
run 0 pull "$dir/copied" --json
has out "{\"log\":\"$dir/copied\",\"artifacts_dir\":\""
has out '"artifacts":0,"artifacts_bad":0}'
MCP_TASK_DB_PATH=$dir/copied run 0 list --all
run 0 list --all
unset MCP_TASK_DB_PATH

# spoil N: flips a bit in record N, and saves the good log as good
spoil() {
    [ -e good ] || cp "$log" good
    awk -v n="$1" '{ i = index($0, "\"v\":") }
        $0 ~ "\"n\":" n "," { if (i) print at + i + 20 }
        { at += length($0) + 1 }' "$log" >out
    byte=$(dd if="$log" bs=1 skip="$(cat out)" count=1 2>/dev/null)
    printf '%s' "$byte" | tr '\040-\176' '\041-\176\040' |
        dd of="$log" bs=1 seek="$(cat out)" conv=notrunc 2>/dev/null
}
# asks METHOD PARAMS: asks a server; the answer is in out
asks() {
    echo '{"jsonrpc":"2.0","id":1,"method":"'"$1"'","params":'"$2"'}' |
        "$bin" 2>err | sed 's/\\"/"/g' >out
}

begin every_answer_warns_of_lost_records
for id in a b c; do
    echo "{\"task_id\":\"$id\",\"title\":\"$id\"}"
done | "$bin" import - >out # 1 to 3
for id in a b a a; do # 4 to 7
    run 0 checkpoint $id --agent me --notes n
done
rm -f good
spoil 7
warning='"log_damaged":"1 record is lost, so tasks may be outdated; run mcptask'
asks tools/call '{"name":"get_task","arguments":{"task_id":"a"}}'
has out '"seq":6' "$warning verify"
asks tools/call '{"name":"get_task","arguments":{"task_id":"b"}}'
has out '"seq":5' "$warning"
asks tools/call '{"name":"list_tasks","arguments":{"status":"done"}}'
has out '"tasks":[]' "$warning"
asks tools/call '{"name":"get_task","arguments":{"task_id":"a","section":"history"}}'
has out "$warning"
asks resources/read '{"uri":"task://a"}'
has out '"seq":6'
asks tools/call '{"name":"claim_task","arguments":{"agent":"me","task_id":"a"}}'
has out 'the log is damaged' "$warning"
run 3 show a
has err 'damaged at byte' '; 1 record is lost, so tasks may be outdated; run mcptask verify'
run 3 list --json
grep -c . out >n
has n 3
lacks out damaged
has err '; 1 record is lost'
run 3 health
has err '; 1 record is lost'
run 1 doctor --port 1
has out 'checksum is wrong; 1 record is lost, so tasks may be outdated: run mcptask verify'
run 3 verify
has out 'record 7 is missing' 'task/a: a damaged record still shows this key' \
    'lost records: 1'
run 3 verify --repair "$dir/fell-back"
has out 'record 7 is missing' '6 whole records'
MCP_TASK_DB_PATH="$dir/fell-back" run 0 show a --json
has out '"seq":6'
lacks out damaged
cp good "$log"
spoil 3 # all of its key
asks tools/call '{"name":"get_task","arguments":{"task_id":"c"}}'
has out store_error 'the log is damaged' "$warning"
lacks out not_found
run 3 export
cp out exported
MCP_TASK_BASE_DIR="$dir/brought" run 0 import exported
has "$dir/brought/tasks.log" task/a
lacks "$dir/brought/tasks.log" damaged
run 3 verify --json
has out '"lost":1' '"finding":"records_lost","first_seq":3,"last_seq":3' \
    '"finding":"damaged_key","key":"task/c"'

begin a_damaged_first_line
tasks | "$bin" import - >out
printf '!' | dd of="$log" bs=1 seek=30 conv=notrunc 2>/dev/null
cp "$log" before
run 3 list
has err "$log: the first line is damaged; run mcptask verify"
run 3 import in
asks tools/list '{}'
has err 'the first line is damaged; run mcptask verify'
run 1 doctor --port 1
has out 'problem  store' 'the first line is damaged: run mcptask verify'
run 3 verify
has out ' 3 records of 3 keys, ' 'damaged ("mcptask verify --repair OUT"' 'line 1' \
    'not checked; verify the repaired copy'
lacks out lost
run 3 verify --repair "$dir/mended-first"
has out '3 whole records written'
same "$log" before
run 4 verify --repair "$dir/mended-first"
cp "$dir/mended-first" "$log"
rm "$log.lock"
run 0 verify
run 0 list --all --json
grep -c . out >n
has n 3

begin an_emptied_log
tasks | "$bin" import - >out
: >"$log"
run 3 verify
has out damaged 'the log is empty, but bytes of it were committed'
run 3 verify --json
has out '"damaged":true' '"finding":"bad_region"'
run 3 list
has err 'is empty' '3 records are lost, so tasks may be outdated'
rm "$log.lock"
run 0 verify
has out 'there is no log yet: nothing is wrong'

begin a_log_with_two_names
tasks | "$bin" import - >out
ln "$log" "$dir/second.log"
run 0 list
run 3 health
has err 'mount the directory instead of the file'
run 1 doctor
has out 'a second hard link' 'mount the directory instead of the file'
run 3 compact
has err 'a second hard link'
rm "$dir/second.log"
run 0 health
run 0 compact

begin a_log_that_is_restored_alone
tasks | "$bin" import - >out
cp "$log" "$dir/copy"
run 0 add 'One more'
mv "$dir/copy" "$log"
run 0 verify
has out 'nothing is wrong'
run 0 health
run 0 compact
lacks err damage

begin records_of_a_newer_version_are_skipped
mkdir -p "$MCP_TASK_BASE_DIR"
cp "$data/newer-tasks.log" "$log"
run 3 export
has out '"task_id":"a"' '"task_id":"b"' '"task_id":"notitle"'
lacks out newer
has err 'newer: this mcptask cannot read its record'
run 3 export --format md
has out '# Task a' '# Task b'
lacks out notitle
has err 'newer: this mcptask' 'notitle: this mcptask'
run 3 export newer
run 0 export b
run 0 claim --agent me
has out '# Task a'
run 3 claim notitle --agent me

begin a_name_that_compact_needs
tasks | "$bin" import - >out
echo mine >"$log.1"
cp "$log.1" expected
run 4 compact
has err "$log.1: exists"
same "$log.1" expected
rm "$log.1"
run 0 compact
run 0 verify

begin compact_drops_old_sessions_and_no_unknown_kind
mkdir -p "$MCP_TASK_BASE_DIR"
cp "$data/old-session.log" "$log"
run 0 compact
lacks "$log" session/
has "$log" odd/B
run 0 verify

begin a_backup_is_a_store
tasks | "$bin" import - >out
mkdir -p "$store"
printf content >"$store/$hex"
echo "{\"task_id\":\"a\",\"title\":\"t\",\"artifacts\":[{\"artifact_id\":\"A\",\
\"name\":\"n\",\"size\":7,\"sha256\":\"$hex\"}]}" | "$bin" import - >out
run 0 compact --json
has out bytes_before bytes_after
run 0 export
cp out expected
run 0 backup "$dir/copy"
has out 'and 1 artifact'
run 4 backup "$dir/copy"
has err "$dir/copy"
export MCP_TASK_BASE_DIR="$dir/copy"
run 0 verify
has out '1 artifact named, 0 of them bad'
run 0 export
same out expected
run 0 history later
has out import
begin a_backup_is_a_store
rm "$store/$hex"
run 3 backup "$dir/second"
has err 'task a: missing'
run 0 export

begin a_log_of_a_later_version
tasks | "$bin" import - >out
{
    echo '{"c":"00000000","form":2,"mcptask-log":3}'
    tail -n +2 "$log"
} >later
cp later "$log"
for command in list 'show later' export 'history later' health verify \
    "verify --repair $dir/later-r" compact "backup $dir/later-b" \
    'cancel later' 'archive --done-before 2026-01-01' 'run -- true' ''; do
    # shellcheck disable=SC2086 # its words are arguments
    run 3 $command </dev/null
    has err 'written by a newer mcptask' 'update mcptask to use it'
    lacks err '"mcptask verify' 'verify explains' repair
done
run 1 doctor
has out 'written by a newer mcptask'
lacks out verify
same later "$log"
checks=$((checks + 1))
[ ! -e "$dir/later-r" ] && [ ! -e "$dir/later-b" ] || fail 'it was made'
MCP_TASK_BASE_DIR=$dir/other run 1 import later
has err 'a log of a later version of mcptask'

begin a_backup_without_room_leaves_nothing
tasks | "$bin" import - >out
run 0 compact
printf small >small
head -c 65536 /dev/zero >large
run 0 attach later small
run 0 attach later large
mkdir "$dir/full"
(failed=0; ulimit -f 40; run 3 backup "$dir/full"; exit $failed) ||
    fail "$(cat err)"
has err "$dir/full/artifacts"
checks=$((checks + 1))
[ -z "$(ls -A "$dir/full")" ] || fail "it is left: $(ls -R "$dir/full")"
run 0 backup "$dir/full"

begin health
tasks | "$bin" import - >out
run 0 health
run 0 health --json
has out '{"status":"ok"' '"tasks":3' '"live":2'
printf "%s\n" "$a" >in
run 3 --read-only import in
has err "reading only"
run 0 --read-only health
printf 'SQLite format 3\000more' >db
MCP_TASK_DB_PATH="$dir/db" run 3 health
has err SQLite
MCP_TASK_DB_PATH="$dir" run 3 health --json
has err '"code":"'

begin config
for client in claude-code claude-desktop cursor vscode codex; do
    run 0 config $client
    has out "$exe" "$MCP_TASK_BASE_DIR"
    lacks out MCP_TASK_DB_PATH
    run 0 config $client --json
    has out '"command":' '"args":[]'
done
run 0 config claude-code
has out "--scope user --transport stdio mcptask -- $exe" '"mcpServers"'
run 0 config vscode
has out '"servers"' '"type": "stdio"'
run 0 --read-only --tools core config codex
has out '[mcp_servers.mcptask]' 'args = ["--tools", "core", "--read-only"]'
run 0 --ownership warn config codex
has out 'args = ["--ownership", "warn"]'
run 0 --structured config codex
has out 'args = ["--structured"]'
run 0 --calls-own 5 --calls-max 70 config codex
has out 'args = ["--calls-own", "5", "--calls-max", "70"]'
: >login
MCP_DEBUG=1 MCP_TASK_DB_PATH=one.log MCP_TASK_ARTIFACTS_DIR=two \
    MCP_TASK_STORE_AUTH=login run 0 --tools core config codex
has out 'args = ["--tools", "core"]' '"MCP_DEBUG" = "1"' '/one.log"' '/two"' \
    "\"MCP_TASK_STORE_AUTH\" = \"$dir/login\""
run 2 config codex httpd
has err 'URL needs an HTTP address, not "httpd"'

# What a runner has in its cache, it starts again.
for runner in npx/_npx/1 uvx/archive-v0/1/bin; do
    mkdir -p "$PWD/$runner"
    start=$PWD/$runner/mcptask
    cp "$exe" "$start"
    [ "$bin" = "$exe" ] || {
        sed "s|$exe|$start|" "$bin" >start && chmod +x start && start=./start
    }
    checks=$((checks + 1))
    "$start" --tools core config cursor >out 2>err ||
        fail "config: $(cat err)"
    has out "\"command\": \"${runner%%/*}\"" '"mcptask", "--tools", "core"]'
done

begin config_over_http
(umask 077; printf '# cursor\n%s other\n%s\tcursor\n' 0123456789abcdef0 \
    fedcba9876543210f >tokens)
while read -r client text; do
    run 0 config $client --token-file tokens --agent cursor http://h:1/mcp
    has out http://h:1/mcp 'Bearer fedcba9876543210f' "$text"
    lacks out 0123456789abcdef0 "$bin"
done <<'END'
claude-code --transport http mcptask http://h:1/mcp --header 'Authorization: B
claude-desktop "Authorization:${MCPTASK_AUTHORIZATION}"
cursor "url": "http://h:1/mcp"
vscode "type": "http"
codex http_headers = {"Authorization" = "Bearer
gemini "httpUrl": "http://h:1/mcp"
hermes     headers: {"Authorization": "Bearer
END
run 0 config cursor --token-file tokens
has out http://127.0.0.1:8766/mcp fedcba9876543210f
MCP_TASK_PORT=99 run 0 config vscode --http --json
has out '"url":"http://127.0.0.1:99/mcp","headers":{}}'
run 1 config codex --token-file tokens
has err 'no token for agent codex'
chmod 644 tokens
run 2 config cursor --token-file tokens
has err 'chmod 600'
run 2 config cursor ftp://h
for client in gemini hermes; do
    run 0 config $client
    has out "$exe" 'command' 'args'
done

begin board_has_no_empty_groups
run 0 board
same - out </dev/null
run 0 add --id a A
run 0 board
checks=$((checks + 1))
[ "$(grep -v '^  ' out)" = 'READY 1' ] || fail "$(cat out)"

begin board
tasks | "$bin" import - >out
"$bin" import - >out <<'END'
[{"task_id":"tired","title":"b","status":"agent_exhausted"},
 {"task_id":"bored","title":"b","status":"agent_exhausted"},
 {"task_id":"blocked","title":"b","depends_on":["later"]},
 {"task_id":"asks","title":"b","status":"in_progress"},
 {"task_id":"given","title":"b","status":"handoff_ready"}]
END
call 1 request_input '{"task_id":"asks","agent":"me","question":"Sure?"}' |
    "$bin" >out
run 0 board
lacks out "$rlo" "$esc"
cat >expected <<'END'
NEEDS YOU 1
P2 asks
READY 1
P0 later
IN PROGRESS 1
P2 evil
HANDED OVER 1
P2 given
STUCK 2
P2 bored
P2 tired
WAITING 1
P2 blocked
DONE 1
END
grep '^[A-Z]\|^  P' out | sed 's/^  \(P. [a-z]*\).*/\1/' >actual
same actual expected
has out '     Sure?' '     waits for later' '     the agent stopped' '  first '
run 0 board -n 1
has out 'STUCK 1 of 2' bored '  7 of 8; add "-n 0" for all'
lacks out tired
run 0 board -n 0
has out tired bored
lacks out ' of '
run 0 handoff asks -a me -t codex -r 'out of context'
# The limit leaves out what is least urgent, whatever changed last.
run 0 add --id urgent -p 0 'Production is down'
for i in 1 2 3 4 5 6 7 8 9 10 11; do
    run 0 add --id "rename-$i" -p 4 Rename
done
run 0 board
has out 'READY 10 of 13' '  P0 urgent' ' for all'
lacks out rename-11
run 0 board --json
has out '{"name":"Ready","total":13,"tasks":[{"task_id":"later"' \
    '},{"task_id":"urgent"'
for i in 1 2 3 4 5 6 7 8 9 10 11; do
    run 0 cancel "rename-$i"
done
run 0 cancel urgent
run 0 board
has out 'DONE 3 of 13'
"$bin" board --watch >out & watcher=$!
i=0
while ! grep -q READY out && [ $i -lt 100 ]; do i=$((i + 1)); sleep 0.1; done
echo '{"task_id":"seen","title":"b"}' | "$bin" import - >err
while ! grep -q seen out && [ $i -lt 200 ]; do i=$((i + 1)); sleep 0.1; done
kill $watcher
wait $watcher
has out seen
# No line is wider than 20 characters, in whatever locale grep counts.
for locale in C.UTF-8 C; do
    LC_ALL=$locale COLUMNS=20 run 0 board
    sed 's/…/./' out >ascii
    checks=$((checks + 1))
    ! grep -q '^.\{21\}' ascii || fail "$(cat out)"
    has out '  P0 later   Need'
done
has out '  P0 later   Need...'
run 0 board --json
has out '{"columns":[{"name":"Needs you","total":1,"tasks":[{"task_id":"asks"' \
    '{"name":"Done","total":13,"tasks":[{"task_id":"urgent"'
if script -qec true /dev/null >out 2>&1 </dev/null; then
    script -qec "'$bin'" /dev/null >out </dev/null
    has out 'mcptask: this is an MCP server, normally started by' \
        'run "mcptask help"'
    for command in list board tail export; do
        MCP_TASK_BASE_DIR=$dir/none script -qec "'$bin' $command" /dev/null >out
        has out "mcptask: no tasks in $dir/none/tasks.log" 'mcptask add TITLE'
        MCP_TASK_BASE_DIR=$dir/none script -qec "'$bin' $command --json" \
            /dev/null >out
        lacks out 'no tasks'
    done
    script -qec "'$bin' list -o nobody" /dev/null >out
    has out "mcptask: no task matches in $log" 'run "mcptask list --all"'
    script -qec "'$bin' list --all -o nobody" /dev/null >out
    has out "mcptask: no task matches in $log"
    lacks out 'mcptask list --all'
    script -qec "'$bin' list -n 1; '$bin' tail -n 0" /dev/null >out
    lacks out 'mcptask: '
    mkfifo stop
    script -qefc "'$bin' --port 0 & read -r x; kill \$!; wait" /dev/null \
        >out <stop & server=$!
    exec 3>stop
    i=0
    while ! grep -q Ctrl-C out && [ $i -lt 200 ]; do i=$((i + 1)); sleep 0.1; done
    echo >&3
    exec 3>&-
    wait $server
    has out 'mcptask: http://127.0.0.1:' '  board  http://127.0.0.1:' \
        '  MCP    http://127.0.0.1:' "  store  $log" 'Ctrl-C stops it.'
    LC_ALL=C TERM=xterm script -qec "'$bin' list" /dev/null >out </dev/null
    has out "${esc}[36m*${esc}[0m"
    TERM=xterm script -qec "'$bin' show evil --brief" /dev/null >out </dev/null
    has out "${esc}[1m# Task evil"
    TERM=xterm script -qec "'$bin' show evil" /dev/null >out </dev/null
    has out "${esc}[1mevil  <U+202E>right [31m  to left${esc}[0m"
    lacks out "$rlo" "$bell"
    TERM=xterm NO_COLOR=1 script -qec "'$bin' list; '$bin' board" /dev/null \
        >out </dev/null
    lacks out "$esc"
fi

begin an_archive_takes_ended_tasks
tasks | sed 's/},*$/,"artifacts":[{"artifact_id":"A","name":"n","size":7,'"\
\"sha256\":\"$hex\"}]}/" | "$bin" import - >out
mkdir -p "$store"
printf content >"$store/$hex"
echo '{"task_id":"then","title":"t","depends_on":["first"]}' | "$bin" import - >out
run 2 archive
run 2 archive --done-before soon
run 0 archive --done-before 2020-01-01
has out 'nothing to archive'
run 0 archive --done-before 2020-01-01 --json
has out '{"archive":"","archived":0,"changed":0}'
run 0 export first
strip <out >expected
run 0 archive --done-before 2999-12-31T23:00:00Z
has out "$log.archive-2999-12-31: 1 task moved, 0 changed"
run 4 archive --done-before 2999-12-31
has err exists
run 1 show first
has err 'first: archived'
run 1 history first
run 1 checkpoint first --agent me
has err 'first: archived' 'to bring it back, run "mcptask import '
run 4 add --id first Another
has err 'first: an archived task has this id' 'use another id'
lacks err edit
run 0 list --all
lacks out 'The first'
run 0 export
lacks out '"task_id":"first"'
run 0 list --ready
has out "then"
call 1 create_task '{"task_id":"first","title":"Another"}' | "$bin" >out
has out already_exists 'an archived task'
for args in 'get_task {"task_id":"first"}' \
    'wait_for_task {"task_id":"first","timeout_seconds":0}' \
    'claim_task {"task_id":"first","agent":"me"}'; do
    call 1 "${args%% *}" "${args#* }" | "$bin" >out
    has out not_found 'the task first was archived' \
        'tell the operator to run '
done
touch -t 202001010000 "$store/$hex"
run 0 compact --orphans
run 0 verify
has out '3 artifacts named, 0 of them bad; 0 files'
run 0 list --ready
has out "then"
MCP_TASK_DB_PATH="$log.archive-2999-12-31" run 0 verify
has out ': good'
MCP_TASK_DB_PATH="$log.archive-2999-12-31" run 0 list --all
has out 'The first'
sed 's/The first/The other/' "$log.archive-2999-12-31" >in
run 1 import in
has err 'line 2' damaged
run 0 import "$log.archive-2999-12-31"
has out '1 imported, 0 skipped'
run 0 import "$log.archive-2999-12-31"
has out '0 imported, 1 skipped'
run 0 export first
strip <out >actual
same actual expected
run 0 history first
has out import 'up to seq 5 are no longer in this log'
lacks out 'mcptask'
run 1 wait first --since-seq 1 --until open --timeout 0
run 1 import "$log"
has err 'not an archive'
run 0 verify
run 3 --read-only archive --done-before 2999-12-30
checks=$((checks + 1))
[ ! -e "$log.archive-2999-12-30" ] || fail 'made'

begin an_archive_that_cannot_be_written_drops_nothing
awk 'BEGIN { for (i = 0; i < 90; i++)
    printf "{\"task_id\":\"d%d\",\"title\":\"t\",\"status\":\"done\"}\n", i }' |
    "$bin" import - >out
cp "$log" before
(failed=0; ulimit -f 8; run 3 archive --done-before 2999-01-01
    has err archive-2999; exit $failed) || fail "$(cat err)"
same "$log" before
checks=$((checks + 1))
[ ! -e "$log.archive-2999-01-01" ] || fail 'it was left'
(failed=0; ulimit -f 8; run 3 health; has err 'write failed'; exit $failed) ||
    fail "$(cat err)"
run 0 health
same "$log" before
# Killed between the two steps, it leaves tasks twice: these are skipped.
run 0 archive --done-before 2999-01-01
has out '90 tasks moved'
cp before "$log"
rm "$log.lock"
run 0 import "$log.archive-2999-01-01"
has out '0 imported, 90 skipped'
rm "$log"
run 0 import "$log.archive-2999-01-01"
has out '90 imported'

begin an_archive_that_is_not_whole
for i in 1 2; do
    for task in a b c; do
        echo "{\"task_id\":\"$task$i\",\"title\":\"t\",\"status\":\"done\"}"
    done | "$bin" import - >out
    run 0 archive --done-before 2999-01-0$i
    has out '3 tasks moved'
    mv "$log.archive-2999-01-0$i" whole$i
done
cut='records of the archive before it are missing'
while IFS='|' read -r imported skipped line what input; do
    rm -f "$log" "$log.lock"
    eval "$input" >in
    run $((line > 0)) import in
    has out "$imported imported, $skipped skipped, $((line > 0)) failed"
    [ "$line" -eq 0 ] || has err "line $line: $what"
done <<END
3|0|0||cat whole1
6|0|0||cat whole1 whole2
3|3|0||cat whole1 whole1
2|0|4|$cut, and its end|head -n 3 whole1
0|0|2|$cut, and its end|head -n 1 whole1
3|0|5|$cut, and its end|sed '\$d' whole1
2|0|4|$cut|sed 3d whole1
5|0|4|$cut|head -n 3 whole1 | cat - whole2
5|0|9|$cut|sed 3d whole2 | cat whole1 -
0|0|1|a log, but not an archive|sed -n '\$p' "\$data/whole-single.log"
END
lacks out strict

begin what_cannot_be_compacted
if [ "$exe" = "$bin" ]; then # and is too long where it is emulated
    tasks | "$bin" import - >out
    : >"$log.1"
    awk 'BEGIN {
        goal = sprintf("%8000s", "")
        for (i = 1; i < 8600; i++)
            printf "{\"jsonrpc\":\"2.0\",\"id\":%d,\"method\":\"tools/call\"," \
                "\"params\":{\"name\":\"update_task\",\"arguments\":{" \
                "\"task_id\":\"later\",\"goal\":\"%d%s\"}}}\n", i, i, goal
    }' | "$bin" >out 2>err
    has err 'the log cannot be compacted, so it keeps growing; run "mcptask compact"'
    rm "$log.1"
fi

begin nothing_to_mend
run 1 verify --repair never
has err "$log: there is no log yet"
checks=$((checks + 1))
[ ! -e never ] || fail 'it was written all the same'
run 0 add One
run 0 verify --repair once
has out ': 1 record of 1 key,' 'once: 1 whole record written'

begin doctor
tasks | "$bin" import - >out
rm -f tokens
(umask 077; echo 0123456789abcdef0 me >tokens)
# doctor starts its own binary, which a script in its place cannot be.
fine=1
if [ "$exe" = "$bin" ]; then
    fine=0
    run 0 doctor --port 1 --token-file tokens
    has out "  store  " "$log: log format 1" 'is free' 'answers initialize' \
        'nothing is listening' 'MiB free' 'owner'
fi
mkfifo server
"$bin" --port 0 2>server >served &
served=$!
exec 3<server
read -r line <&3
"$bin" doctor --port "${line##*:}" >out
has out 'answers /health, on the same store'
MCP_TASK_BASE_DIR=$dir "$bin" doctor --port "${line##*:}" >out
has out 'problem  http' 'serves another store: start it and the clients with'
kill -TERM $served
wait $served
exec 3<&-
: >empty
MCP_TASK_BASE_DIR=$dir/empty run 1 doctor --port 1
has out 'problem  store' 'Not a directory: correct the path or'
lacks out 'closed to other users' 'made with the first'
lacks err mcptask
for path in 'a;b' 'a; b'; do
    : >"$path"
    MCP_TASK_BASE_DIR=$dir/$path run 1 doctor --port 1
    has out "$path/tasks.log: Not a directory: correct the path"
done
chmod 600 empty
run 1 doctor --port 65536
has out 'problem  http' ': no such port: name one from 0 to 65535'
run 1 doctor --port 1 --token-file empty
has out 'problem  tokens' 'empty: empty: no client can connect: add a line'
for wrong in "$log 666" "$log.lock 606" "${log%/*} 777"; do
    # shellcheck disable=SC2086 # it is two words
    set -- $wrong
    was=$(stat -c %a "$1")
    chmod "$2" "$1"
    run 1 doctor --port 1
    has out 'problem  access' 'open to every user: chmod o-rwx'
    chmod "$was" "$1"
    run $fine doctor --port 1
    lacks out 'problem  access'
done
echo "{\"task_id\":\"art\",\"title\":\"t\",\"artifacts\":[{\"artifact_id\":\"A\",\
\"name\":\"n\",\"size\":7,\"sha256\":\"$hex\"}]}" | "$bin" import - >out
run 1 doctor --port 1
has out 'problem  artifacts' 'artifacts: missing, and tasks have artifacts: restore'
echo no directory >"$store"
run 1 doctor --port 1
has out 'problem  artifacts' 'artifacts: not a directory: restore it'
rm "$store"
chmod 644 tokens
run 1 doctor --port 1 --token-file tokens --json
has out '{"check":"tokens","ok":false' 'chmod 600' '{"check":"stdio","ok":'
run 1 doctor --port x
has out 'problem  http'
MCP_TASK_DB_PATH="$dir/db" run 1 doctor --port 1
has out 'problem  store' SQLite ': set MCP_TASK_DB_PATH to another file, then run'
printf X | dd of="$log" bs=1 seek=300 conv=notrunc 2>err
run 1 doctor --port 1
has out 'problem  store' 'damaged at byte' ': run mcptask verify'
run 3 list
has err '; run mcptask verify'
lacks err 'says more'
rm "$log"
mkdir "$log"
run 1 doctor --port 1
has out 'not a regular file: set MCP_TASK_DB_PATH to another file'
rmdir "$log"

begin a_call_that_waits_for_either
{ hello; defer 1 wait_for_task '{"agent":"codex","until":"ready"}'; } |
    "$bin" >out
run 0 list --calls
has out 'owner/codex, ended'

begin a_disk_of_2_mb
mkdir "$MCP_TASK_BASE_DIR"
{
    hello
    for i in 0 1 2 3 4 5 6 7 8 9; do
        call 1 create_task '{"task_id":"t'$i'","current_owner":"a","title":"t"}'
    done
    awk 'BEGIN {
        for (i = 0; i < 10000; i++) {
            printf "{\"jsonrpc\":\"2.0\",\"id\":%d,\"method\":", i
            printf "\"tools/call\",\"params\":{\"name\":\"save_checkpoint\","
            printf "\"arguments\":{\"task_id\":\"t%d\",\"agent\":", i % 10
            printf "\"a\",\"resume_prompt\":\"go on with step %d\"}}}\n", i
        }
    }'
} >in
# shellcheck disable=SC2016 # they are for the inner shell
on_disk='mount -t tmpfs -o size=2m none "$1" && : >mounted || exit
    "$2" $3 <in >out && "$2" verify >verified'
for options in '' '--closed-max 0' '--closed-max 0 --compact-at 65536'; do
    rm -f mounted
    for how in -rm -m; do
        [ -e mounted ] || unshare $how sh -c "$on_disk" - \
            "$MCP_TASK_BASE_DIR" "$bin" "$options" 2>err
    done
    [ -e mounted ] || { echo "$me: skipped what mounts a tmpfs" && break; }
    grep -e '"isError":true' -e '"id":9999,' out >last
    lacks last '"isError":true'
    has last '"id":9999,'
    has verified 'nothing is wrong'
done
run 2 --compact-at 0 list
has err '--compact-at needs a number, at least 1'
run 2 --port 65536
has err '--port needs a number from 0 to 65535'
run 2 --read-only=1 list
has err '--read-only does not accept a value'
run 2 list --limit x
has err 'list: --limit needs a number'
run 2 list --limit
has err 'list: --limit needs a value'
run 2 --rate 5 list
has err 'options for HTTP cannot be used with a command'
run 0 --compact-at 100000 --closed-max 0 config codex
has out '"--compact-at"' '"100000"' '"--closed-max"' '"0"'

begin errors_for_scripts
tasks | "$bin" import - >out
printf '{"resume_prompt":"%17000s"}\n' x >in # more than it may be
run 2 checkpoint later --agent codex - <in
has err '--resume-prompt is longer than 16384 bytes'
run 0 checkpoint later --agent codex - <<'END'
{"idempotency_key":"k","notes":"one"}
END
run 4 checkpoint later --agent codex --json - <<'END'
{"idempotency_key":"k","notes":"two"}
END
has err '"code":"idempotency_conflict"'
for command in bogus 'list --bogus' 'list --limit many' show wait; do
    # shellcheck disable=SC2086 # words of it
    run 2 $command --json
    has err '{"code":"invalid_argument","message":"'
    lacks err "$(basename "$bin"): "
done

finish
