#!/bin/sh
# The command that counts what ended: t_stats.sh [MCPTASK]

# shellcheck source=tests/lib/cli.sh
. "$(dirname "$0")/../lib/cli.sh"

begin stats_of_an_empty_store
run 0 stats
has out '0 in 14 days' 'Time to done     none' 'Wait for answers none' 'Ready 0'
checks=$((checks + 1))
[ ! -e "$MCP_TASK_BASE_DIR" ] || fail 'a store was made'

begin stats
cat >in <<'END'
{"task_id":"a","title":"A","status":"done","current_owner":"codex","created_at":"2020-01-01T00:00:00.000Z"}
{"task_id":"b","title":"B","status":"done","current_owner":"codex","created_at":"2020-01-01T00:00:00.000Z"}
{"task_id":"c","title":"C","status":"failed","current_owner":"gemini\u001b[31m","created_at":"2020-01-01T00:00:00.000Z"}
{"task_id":"d","title":"D","status":"cancelled","created_at":"2020-01-01T00:00:00.000Z"}
{"task_id":"e","title":"E"}
{"task_id":"f","title":"F","depends_on":["e"]}
END
run 0 import in
run 0 ask e 'Which?'
run 0 answer e that one
run 0 claim e -a codex
run 0 handoff e -a codex
LC_ALL=C run 0 stats
has out '4 in 14 days, 1 of them failed' ' median, 2 tasks' \
    '0s median, 1 answer' 'Handed over 1'
checks=$((checks + 1))
grep -q '^Ended per day    [.8]\{14\}  4' out || fail "$(cat out)"
checks=$((checks + 1))
grep -q '^codex  *2  *0  *1$' out || fail "$(cat out)"
has out 'gemini [31m'
checks=$((checks + 1))
[ "$(wc -l <out)" -le 24 ] || fail "$(cat out)"
LC_ALL=C.UTF-8 run 0 stats
has out "$(printf '\342\226\210')" # one full block
run 0 stats --json
has out '"ended":4,"failed":1' \
    '{"agent":"codex","done":2,"failed":0,"handed_over":1}' \
    '"median_seconds_to_answer":0' '{"name":"Handed over","total":1}'

finish
