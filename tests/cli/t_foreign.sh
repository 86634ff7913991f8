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
echo '{"id":"long","priority":2,"title":"'"$x"'"}' >in
run 0 import in
run 0 show long --json
has out '"title":"'"$(printf '%0256d' 0)"'"' '"full_title":"'"$x"'"'
echo '{"id":"odd","priority":2,"title":"x","status":"who knows"}' >in
run 1 import in
has err 'line 1: status' 'read as a task of beads'
echo '{"id":7,"title":"of no program that is known"}' >in
run 1 import in
has err 'line 1: there is no task_id; issues of beads have id, title and'

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

begin files_of_backlog_md
mkdir -p backlog/tasks backlog/completed
cat >"backlog/tasks/task-7 - Rate-limit.md" <<'END'
---
id: task-7
title: >-
  Limit the rate of: requests,
  for each client
status: To Do
assignee:
  - '@anna'
  - '@ben'
reporter: ''
created_date: '2026-05-31 17:32'
updated_date: '2026-06-01'
labels: [http, "rate limit"]
dependencies:
  - TASK-6
parent_task_id: task-6
milestone:
priority: high
---

## Description

<!-- SECTION:DESCRIPTION:BEGIN -->
Each client may ask "often".

## Not a section
<!-- SECTION:DESCRIPTION:END -->

## Acceptance Criteria
<!-- AC:BEGIN -->
- [x] #1 a burst passes
- [ ] #2 the rest waits,
  and is told so
<!-- AC:END -->

## Implementation Plan

1. count

## Implementation Notes

It counts.
## Comments on that
END
printf '%s\r\n' --- 'id: TASK-6' "title: 'It''s the router'" 'status: Done' \
    'assignee: @codex' 'created_date: 2026-05-01' 'labels: []' \
    'dependencies: []' --- '' '## Final Summary' 'routes' \
    >backlog/completed/task-6.md
echo 'How we work' >backlog/tasks/readme.md
run 0 import backlog
has out '2 imported, 0 skipped, 0 failed'
run 0 import backlog/tasks/
has out '0 imported, 1 skipped, 0 failed'
mkdir -p some/tasks
sed 's/TASK-6/TASK-5/' backlog/completed/task-6.md >some/tasks/task-5.md
ln -s me@host.1:2 some/tasks/.#task-5.md # as editors lock files
ln -s nowhere some/tasks/gone.md
mkfifo some/tasks/pipe.md
run 1 import some
has out '1 imported, 0 skipped, 1 failed'
has err 'some/tasks/gone.md: No such file'
lacks err '#'
run 1 import --strict some
has out 'stopped there'
run 0 show TASK-7 --json
has out '"title":"Limit the rate of: requests, for each client"' \
    '"status":"open"' '"current_owner":"anna"' '"priority":1' \
    '"parent_id":"TASK-6"' '"depends_on":["TASK-6"]' \
    '"tags":["http","rate limit"]' '"created_at":"2026-05-31T17:32:00.000Z"' \
    '"goal":"Each client may ask \"often\".\n\n## Not a section"' \
    '"acceptance":["a burst passes","the rest waits,\n  and is told so"]' \
    '"completed_steps":["a burst passes"]' '"resume_prompt":"1. count"' \
    '"implementation_notes":"It counts.\n## Comments on that"' '"updated_date":"2026-06-01"' '"assignee":["@anna","@ben"]' \
    '"ready":true'
lacks out milestone
run 0 show TASK-6 --json
has out '"title":"It'"'"'s the router"' '"status":"done"' '"result":"routes"' \
    '"current_owner":"codex"' '"created_at":"2026-05-01T00:00:00.000Z"'
printf '%s\n' --- 'id: x-1' 'title: "two\twords"' "created_date: ''" \
    'status: Unheard Of' --- >one.md
run 1 import one.md
has err 'one.md: status' 'read as a task of Backlog.md'
printf '%s\n' --- 'id: x-1' >one.md
run 1 import one.md
has err 'one.md: no front matter'
printf '%s\n' --- 'id: x-2' 'title: By hand' 'priority: low' --- >two.md
run 0 import two.md
run 0 show X-2 --json
has out '"priority":3'
printf '%s\n' --- 'title: No id' --- >three.md
run 1 import three.md
has err 'three.md: task_id is missing (it was read as a task of Backlog.md)'
mkdir empty
run 1 import empty
has err 'name the folder that holds tasks/'

finish
