#!/bin/sh
# The command that counts what ended: t_stats.sh [MCPTASK]

# shellcheck source=tests/lib/cli.sh
. "$(dirname "$0")/../lib/cli.sh"

begin stats_of_an_empty_store
run 0 stats
has out 'Ready 0'
lacks out ended
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
run 0 stats
has out '4 ended, 1 of them failed' 'Handed over 1' 'gemini<U+001B>[31m'
checks=$((checks + 1))
grep -q '^codex  2 done, 0 failed, 1 handed over$' out || fail "$(cat out)"
run 0 stats --json
has out '"ended":4,"failed":1' \
    '{"agent":"codex","done":2,"failed":0,"handed_over":1}' \
    '"median_seconds_to_done":' '"median_seconds_to_answer":0' '{"name":"Handed over","total":1}'

finish
