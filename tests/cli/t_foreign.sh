#!/bin/sh
# Tasks of other programs: t_foreign.sh [MCPTASK]

# shellcheck source=tests/lib/cli.sh
. "$(dirname "$0")/../lib/cli.sh"

begin issues_of_beads
run 0 import "$data/beads.jsonl"
has out '4 imported, 0 skipped, 0 failed'
run 0 import "$data/beads.jsonl"
has out '0 imported, 4 skipped, 0 failed'
run 0 show bd-a1 --json
has out '"status":"done"' '"current_owner":"anna"' '"priority":1' \
    '"tags":["parser","urgent"]' '"goal":"It fails on \"x\"."' \
    '"acceptance":["all samples parse"]' '"result":"done in 3f"' \
    '"created_at":"2025-10-16T20:21:18.123Z"' '"design":"one pass"' \
    '"issue_type":"bug"' '"closed_at":"2025-10-17T01:02:03Z"'
run 0 show bd-a1.1 --json
has out '"status":"open"' '"depends_on":["bd-b2"]' '"parent_id":"bd-a1"' \
    '"depends_on_id":"bd-c3","type":"related"' '"estimated_minutes":30' \
    '"blocked_by":["bd-b2"]'
run 0 show bd-b2 --json
has out '"status":"in_progress"' '"title":"An id with a blank"'
run 0 show bd-c3 --json
has out '"status":"cancelled"'
x=$(printf '%0300d' 0)
echo '{"id":"long","title":"'"$x"'"}' >in
run 0 import in
run 0 show long --json
has out '"title":"'"$(printf '%0256d' 0)"'"' '"full_title":"'"$x"'"'
echo '{"id":"odd","title":"x","status":"who knows"}' >in
run 1 import in
has err 'line 1: status'

begin tasks_of_taskwarrior
run 0 import "$data/taskwarrior.json"
has out '3 imported, 0 skipped, 0 failed'
run 0 show a360 --json
has out '"title":"Buy milk"' '"status":"open"' '"priority":1' \
    '"created_at":"2014-10-18T05:02:31.000Z"' '"goal":"two litres\nfresh"' \
    '"depends_on":["b360fc44-315c-4366-b70c-ea7e7520b749"]' '"ready":true' \
    '"project":"home"' '"due":"20141020T000000Z"' '"tags":["shop"]'
lacks out urgency
run 0 show b360 --json
has out '"status":"done"' '"end":"20141018T080000Z"'
run 0 show c360 --json
has out '"status":"cancelled"' '"priority":3' \
    '"depends_on":["a360fc44-315c-4366-b70c-ea7e7520b749","b360fc44'

finish
