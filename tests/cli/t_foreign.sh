#!/bin/sh
# Tasks of other programs: t_foreign.sh [MCPTASK]

# shellcheck source=tests/lib/cli.sh
. "$(dirname "$0")/../lib/cli.sh"
wants python3 || finish
importer=$(cd "$lib/../../contrib" && pwd)/mcptask-import
export MCPTASK="$bin"

# imports CODE ARGUMENT...: as run, of contrib/mcptask-import
imports() {
    want=$1
    shift
    last=$*
    python3 "$importer" "$@" >out 2>err
    code=$?
    checks=$((checks + 1))
    [ $code -eq "$want" ] || fail "$*: exit code $code, not $want: $(cat err)"
}

begin issues_of_beads
imports 0 "$data/beads.jsonl"
has out '4 imported, 0 skipped, 0 failed'
imports 0 "$data/beads.jsonl"
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
imports 0 in
run 0 show long --json
has out '"title":"'"$(printf '%0256d' 0)"'"' '"imported_title":"'"$x"'"'
echo '{"id":7,"title":"of no program that is known"}' >in
imports 1 in
has err 'line 1: there is no task_id; it has id, title: a task has task_id'
echo '{"title":"x","task_id":""}' >in
imports 1 in
has err 'line 1: task_id is empty'

begin tasks_of_taskwarrior
imports 0 "$data/taskwarrior.json"
has out '3 imported, 0 skipped, 0 failed'
run 0 show a360 --json
has out '"title":"Buy milk"' '"status":"open"' '"priority":1' \
    '"created_at":"2014-10-18T05:02:31.000Z"' '"goal":"2014-10-18T06:00:00.000Z two litres\n2014-10-18T07:00:00.000Z fresh"' \
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
imports 0 backlog
has out '2 imported, 0 skipped, 0 failed'
imports 0 backlog/tasks/
has out '0 imported, 1 skipped, 0 failed'
mkdir -p some/tasks
sed 's/TASK-6/TASK-5/' backlog/completed/task-6.md >some/tasks/task-5.md
ln -s me@host.1:2 some/tasks/.#task-5.md # as editors lock files
ln -s nowhere some/tasks/gone.md
mkfifo some/tasks/pipe.md
imports 1 some
has out '1 imported, 0 skipped, 1 failed'
has err 'some/tasks/gone.md: No such file'
lacks err '#'
imports 1 --strict some
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
imports 0 one.md
has out 'X-1: its status "Unheard Of" is none here'
printf '%s\n' --- 'id: x-1' >one.md
imports 1 one.md
has err 'one.md: no front matter'
printf '%s\n' --- 'id: x-2' 'title: By hand' 'priority: low' --- >two.md
imports 0 two.md
run 0 show X-2 --json
has out '"priority":3'
printf '%s\n' --- 'title: No id' --- >three.md
imports 1 three.md
has err 'three.md: task_id is missing (it was read as a task of Backlog.md)'
printf '%s\n' --- 'c: 00000000' 'g: 1' 'id: x-3' 'title: Its first is c' \
    --- >four.md
imports 0 four.md
has out '1 imported, 0 skipped, 0 failed'
mkdir empty
imports 1 empty
has err 'name the folder that holds tasks/'
mkdir -p loop/completed
ln -s tasks loop/tasks
cp two.md loop/completed
imports 1 loop
has err 'mcptask import: loop/tasks: '
has out '0 imported, 1 skipped, 1 failed'
imports 1 --strict loop
has err 'mcptask import: loop/tasks: '
has out '0 imported, 0 skipped, 1 failed'

# told LINE...: the lines of the summary begin so, and there are no more
told() {
    sed -n '/^not imported exactly/,$s/^  //p' out >lines
    checks=$((checks + 1))
    [ "$(wc -l <lines)" -eq $# ] || fail "not $# lines: $(cat lines)"
    has lines "$@"
}

# Each of data/import, and what is expected of it: the counts, then texts that
# the summary and "show ID --json" have.
inputs=$data/import
# takes FILE IMPORTED: all of it, with exit code 0
takes() {
    input=$inputs/$1
    rm -rf "$MCP_TASK_BASE_DIR"
    imports 0 "$input"
    has out "$2 imported, 0 skipped, 0 failed"
}
# exactly ID TEXT...: nothing was told, and the task has these
exactly() {
    lacks out 'not imported exactly'
    shows "$@"
}
shows() {
    run 0 show "$1" --json
    shift
    has out "$@"
}

begin what_was_found_in_real_files
takes 01-section-after-criteria.md 1
exactly TASK-1 '"acceptance":["leaves stand up"]' '"resume_prompt":"How."' \
    '"other_text":"## Risks\nThe cellar may flood.\n- a bullet that is no'
takes 02-section-twice.md 1
exactly TASK-1 '"goal":"Why."' 'First half of the notes.' \
    'Second half of the notes.'
takes 03-title-over-two-lines.md 1
exactly TASK-1 '"title":"Water the plants on the balcony: all of them"'
takes 04-comma-in-quotes.md 1
exactly TASK-1 '"tags":["indoor, dry","red"]'
takes 05-ids-that-become-the-same.jsonl 2
has out 'app-web-1: its id was "app/web-1"' \
    'app-web-1-2: its id was "app-web-1", which another task has'
shows app-web-1 '"title":"one"'
shows app-web-1-2 '"title":"two"'
imports 0 "$input"
has out '0 imported, 2 skipped, 0 failed'
lacks out 'not taken'
takes 06-merged-ledger.jsonl 1
has out 'b-1: it came twice; this is the newer one'
shows b-1 '"title":"new words"' '"status":"done"' \
    '"imported_updated_at":"2026-02-03T00:00:00Z"'
run 0 history b-1
has out 'last changed 2026-02-03T00:00:00.000Z'
takes 07-annotations-a-text.json 1
exactly 0a0a0a0a '"goal":"call before noon"'
takes 08-priority-critical.d 2
exactly TASK-1 '"priority":0'
shows TASK-2 '"priority":1'
takes 09-deferred.jsonl 2
has out 'b-1: its status "deferred" is none here: it is open, but not ready'
shows b-1 '"status":"open"' '"imported_status":"deferred"' \
    '"blocked_by":["status:deferred"]'
run 0 claim --agent me
has out 'b-2'
run 4 claim --agent me b-1
run 0 edit b-1 --after ''
run 0 claim --agent me b-1
takes 10-waits-for.jsonl 2
exactly b-1 '"blocked_by":["b-2"]'
takes 11-parent_child.jsonl 2
exactly b-2 '"parent_id":"b-1"'
takes 12-long-acceptance.jsonl 2
exactly b-1 '"acceptance":["criterion 0: www' '"criterion 11: wwww'
shows b-2 '"blocked_by":["b-1"]'
takes 13-long-description.jsonl 1
has out 'b-1: goal is longer than 8192 bytes; goal.txt is kept whole as artifa'
shows b-1 '"name":"goal.txt","size":8800,' '"artifact_id":"import-1"'
run 0 show b-1 --artifact import-1
checks=$((checks + 1))
[ "$(wc -c <out)" -eq 8800 ] || fail "$(wc -c <out) bytes"
run 0 verify
takes 14-custom-status.jsonl 1
has out 'its status "review" is none here' --status
shows b-1 '"imported_status":"review"' '"blocked_by":["status:review"]'
rm -rf "$MCP_TASK_BASE_DIR"
imports 0 --status 'Review=in_progress' "$input"
exactly b-1 '"status":"in_progress"'
takes 15-tasks.json 40
exactly master-2 '"title":"Step 2"' '"depends_on":["master-1"]' \
    '"details":"e"' '"testStrategy":"f"' '"priority":1'
takes 16-one-task-pretty.json 1
exactly p-1 '"title":"as jq prints it"' '"goal":"g"'
takes 17-comment-after-value.md 1
exactly TASK-1 '"status":"open"' '"ready":true'
takes 18-old-date.md 1
exactly TASK-1 '"created_at":"2026-05-31T00:00:00.000Z"'
takes 19-carried-text.jsonl 1
run 0 show b-1
has out '- design: Copper pipes.' '- notes: Bought them.' 'text: They leak.'
for word in copper BOUGHT leak; do
    run 0 list -q $word --ids
    has out b-1
done
run 0 list -q author --ids
lacks out b-1

takes 20-child-of-deferred.jsonl 2
has out 'e-1.1: it is a part of e-1, which was put aside, and so not ready'
run 1 claim --agent me
takes 21-gate-and-message.jsonl 2
has out 'g-1: it is of the kind gate, which is no work' 'g-2: it is of the kind'
run 1 claim --agent me
shows g-2 '"issue_type":"message"'
takes 22-depends-on-deleted.json 2
has out '0001-0000-4000-8000-000000000000: 00000002-0000-4000-8000-' \
    'on which it depended, was deleted'
run 0 claim --agent me
has out Paint
takes 23-dangling.jsonl 1
has out 'app-x1: it depends on app-gone, which is not in this import'
takes 24-show-json.json 2
exactly x-1 '"blocked_by":["x-2"]'
takes 25-nested-subtasks.json 3
exactly master-1.1.1 '"parent_id":"master-1.1"' '"title":"Carry the compost"'
takes 26-two-subtasks-one-id.json 3
has out 'master-1.1-2: its id was "1", which another task has'
shows master-1.1 '"title":"Dig the bed"' '"status":"done"'
shows master-1.1-2 '"title":"Carry the compost"' '"parent_id":"master-1"'
takes 27-depends-list-as-text.json 2
exactly 00000001 '"ready":true' \
    '"depends_on":["00000002-0000-4000-8000-000000000000"]'
takes 28-utf16.jsonl 1
exactly x-1 '"title":"Paint"'
rm -rf "$MCP_TASK_BASE_DIR"
imports 1 "$inputs/29-conflict-front-matter.d"
has out '0 imported, 0 skipped, 1 failed'
has err 'paint.md: line 4 is of an unresolved merge conflict; resolve it'
takes 31-written-by-backlog.md 1
exactly TASK-1 '"title":"Rénover: la \"façade\" — 東京 🏯 #1"' \
    '"goal":"First *line*\n\n## Acceptance Criteria\n- item\n\n---\nlast"' \
    '"acceptance":["Pas de fissures, \"neat\"","Two\n  lines"]' \
    '"tags":["peinture","urgent: now"]' '"current_owner":"zoë"' \
    '"comments":"author: zoë'
lacks out acceptance_criteria
takes 32-written-by-taskmaster.json 6
exactly master-1.2 '"priority":1' '"depends_on":["master-1.1"]' '"ready":true'
lacks out undefined parentTaskId
exactly master-2.1 '"priority":3' '"depends_on":["master-1.1","master-1"]'
takes 33-written-by-taskwarrior.json 5
exactly f89b1d9e-0df4-4eba-a3e5-8fca762688ab '"status":"in_progress"' \
    '"start":"20261129T105006Z"' '"reviewer":"Zoë"'
lacks out imported_status
shows 3e04c1fc-bece-4cfa-b210-7b7ea5b9988d '"project":"Maison.Dehors"' \
    '"blocked_by":["a5dff552-6bee-486f-a76b-f2372f19dff0"]' \
    'deuxième\tnote with \"quotes\" and'
takes 34-memory.jsonl 2
has out 'memory-brush: it is of the kind memory, which is no work'
lacks out bd-1
shows bd-1 '"ready":true'
lacks out '"_type"'
shows memory-brush '"title":"brush"' '"goal":"Always\nthe soft one"' \
    '"blocked_by":["status:memory"]'
sed 's/2027/2999/' "$inputs/30-not-before.jsonl" >in
rm -rf "$MCP_TASK_BASE_DIR"
imports 0 in
has out 'n-1: not_before puts it off until 2999-06-01T00:00:00.000Z'
run 1 claim --agent me

begin a_dependency_that_failed
for word in failed cancelled closed; do
    cat >in <<END
{"id":"a","title":"A","priority":1,"status":"$word"}
{"id":"b","title":"B","priority":1,"status":"open","dependencies":[{"depends_on_id":"a","type":"blocks"}]}
{"id":"c","title":"C","priority":1,"status":"closed","dependencies":[{"depends_on_id":"a","type":"blocks"}]}
END
    rm -rf "$MCP_TASK_BASE_DIR"
    imports 0 in
    if [ $word = closed ]; then
        lacks out 'not imported exactly'
    else
        told "b: it depends on a, which is $word: it is never ready"
    fi
done

begin a_folder_of_claude_code
list=01234567-89ab-4cde-8f01-23456789abcd
mkdir "$list"
echo '{"id":"1","subject":"Dig","description":"The bed","activeForm":"Digging",
  "owner":"ann","status":"completed","blocks":["2"],"blockedBy":[]}' >"$list/1.json"
echo '{"id":"2","subject":"Sow","status":"pending","blocks":[],
  "blockedBy":["1"],"metadata":{"k":1}}' >"$list/2.json"
echo '{"highwatermark":2}' >"$list/.highwatermark"
imports 0 "$list"
has out '2 imported, 0 skipped, 0 failed'
exactly 01234567-1 '"title":"Dig"' '"goal":"The bed"' '"status":"done"' \
    '"current_owner":"ann"' '"activeForm":"Digging"'
exactly 01234567-2 '"title":"Sow"' '"depends_on":["01234567-1"]' \
    '"ready":true' '"metadata":{"k":1}'

begin issues_of_github
cat >in <<'END'
[{"number":7,"title":"Leak","body":"Under the sink","state":"OPEN",
  "labels":[{"name":"bug","color":"f00"}],"assignees":[{"login":"ann"}],
  "createdAt":"2026-01-02T03:04:05Z","updatedAt":"2026-01-03T03:04:05Z",
  "url":"https://example.org/7"},
 {"number":8,"title":"Drip","body":"","state":"CLOSED","labels":[]}]
END
imports 0 in
exactly issue-7 '"title":"Leak"' '"goal":"Under the sink"' '"tags":["bug"]' \
    '"current_owner":"ann"' '"created_at":"2026-01-02T03:04:05.000Z"' \
    '"url":"https://example.org/7"'
exactly issue-8 '"status":"done"'

# The lines can be carried to a machine without Python.
begin lines_for_another_machine
imports 0 --lines "$data/beads.jsonl"
cp out lines
run 0 import lines
has out '4 imported, 0 skipped, 0 failed' 'bd-b2: its id was "bd b2"'
run 0 show bd-a1 --json
lacks out '"import"'
run 1 import "$data/beads.jsonl"
has err 'line 1: there is no task_id; it has id, title' 'run "mcptask-import FILE"'
run 2 import "$data"
has err 'this is a folder' mcptask-import
run 2 import "$inputs/01-section-after-criteria.md"
has err 'this is Markdown' mcptask-import
MCPTASK="$dir/none" imports 2 lines
has err "$dir/none: No such file"


begin what_was_put_aside
now='"entry":"20260102T030405Z"'
cat >in <<END
{"uuid":"w-1","description":"w","status":"waiting",$now}
{"uuid":"w-2","description":"r","status":"recurring",$now}
{"uuid":"w-3","description":"l","status":"pending","wait":"29990102T000000Z",$now}
{"uuid":"w-4","description":"p","status":"pending","wait":"20200102T000000Z","depends":"w-5",$now}
{"uuid":"w-5","description":"s","status":"completed","scheduled":"2999-01-02",$now}
{"id":"d-1","title":"d","priority":1,"status":"open","defer_until":"2999-01-02T00:00:00Z"}
{"id":"d-2","title":"p","priority":1,"status":"open","pinned":true}
{"id":"d-3","title":"b","priority":1,"status":"blocked"}
{"task_id":"o-1","title":"o","status":"In Review"}
END
imports 0 in
has out '9 imported'
told 'w-1: its status "waiting"' 'w-2: its status "recurring"' \
    'w-3: wait puts it off until 2999-01-02T00:00:00.000Z' 'w-5: scheduled' \
    'd-1: defer_until puts it off' 'd-2: it is pinned' \
    'd-3: its status is "blocked", by no task' 'o-1: its status "In Review"'
run 0 list --ready --ids
checks=$((checks + 1))
[ "$(cat out)" = w-4 ] || fail "$(cat out)"
run 0 claim --agent me
run 1 claim --agent you
has err 'status:'
shows w-3 '"not_before":"2999-01-02T00:00:00.000Z"' \
    '"wait":"29990102T000000Z"'
shows o-1 '"blocked_by":["status:In-Review"]' '"imported_status":"In Review"'
# The gate is a task that anybody may add, and end.
run 0 add --id status:waiting Thaw
run 0 'done' status:waiting
run 0 list --ready --ids
has out w-1

begin words_are_mapped
cat >in <<'END'
{"id":"m-1","title":"a","priority":"asap","status":"In Review"}
{"id":"m-2","title":"b","priority":"whenever","status":"deferred"}
{"task_id":"m-3","title":"c","priority":"H","status":"in_review"}
END
imports 0 --status in-review=in_progress --priority ASAP=0 \
    --status deferred=open in
told 'm-2: its priority "whenever" is none here: it is 2'
shows m-1 '"status":"in_progress"' '"priority":0'
shows m-2 '"ready":true' '"imported_priority":"whenever"'
shows m-3 '"status":"in_progress"' '"priority":1'
for bad in x =open x=closed; do
    imports 2 --status "$bad" in
    has err 'WORD=STATUS' agent_exhausted
done
for bad in x =1 x=5 x=10 x=; do
    imports 2 --priority "$bad" in
    has err 'WORD=N'
done
imports 0 --help
has out WORD=STATUS WORD=N

begin tasks_json_of_taskmaster
cat >in <<'END'
{ "meta": {"tasks": "no list"},
  "tasks": [
  {"id": 1, "title": "A", "description": "do", "details": "so",
   "testStrategy": "look", "status": "in-progress", "priority": "medium",
   "dependencies": [], "subtasks": [
     {"id": 1, "title": "A1", "status": "done"},
     {"id": 2, "title": "A2", "status": "review", "dependencies": [1, "2"]},
     {"id": 3, "title": "A3", "status": "pending", "dependencies": ["1.2"]}]},
  {"id": "2", "title": "B", "status": "cancelled", "priority": "low",
   "dependencies": ["1"]}, {"id": 3, "title": "C", "status": "deferred"}],
  "metadata": {"updated": "x"} }
END
imports 0 in
has out '6 imported'
told 'master-1.2: its status "review"' 'master-1.3: it depends on a task' \
    'master-3: its status "deferred"'
shows master-1 '"status":"in_progress"' '"goal":"do"' '"details":"so"'
shows master-1.2 '"parent_id":"master-1"' \
    '"depends_on":["status:review","master-1.1","master-2"]'
shows master-1.3 '"depends_on":["master-1.2"]'
shows master-2 '"status":"cancelled"' '"depends_on":["master-1"]' \
    '"priority":3'
imports 0 in
has out '0 imported, 6 skipped, 0 failed'
cat >in <<'END'
{"master":{"tasks":[{"id":1,"title":"other"}],"metadata":{}},
"a b":{"tasks":[{"id":1,"title":"x"},{"id":2,"title":"y","dependencies":[1]}]},
"none":{"tasks":[]}}
END
imports 1 in
has out '2 imported, 0 skipped, 1 failed'
has err 'element 1: a task master-1 exists, and has another title'
shows a-b-2 '"depends_on":["a-b-1"]'
# Elements longer than a read, and a list longer than a piece may be.
awk 'BEGIN { printf "{\"tasks\":[\n"
    for (i = 1; i < 700; i++)
        printf "%s{\"id\":%d,\"title\":\"t\",\"details\":\"%04000d\"}\n", \
            (i > 1 ? "," : ""), i, i
    print "]}" }' >in
rm -rf "$MCP_TASK_BASE_DIR"
imports 0 in
has out '699 imported'

begin tasks_of_the_predecessor
cat >in <<'END'
[ {"task_id": "Fix the login", "title": "x", "created_at": 1753695000,
   "updated_at": 1753695000123, "depends_on": "[\"other id\",7]",
   "completed_steps": "[\"a\"]"},
  {"task_id": 7, "title": "n", "created_at": "1753695000.5"},
  {"task_id": "other id", "title": "o", "test_results": ["npm ok"],
   "tags": ["a", "0123456789012345678901234567890123456789012345678901234567890123456"]}
]
END
imports 0 in
has out '3 imported'
told 'Fix-the-login: its id was "Fix the login"' \
    'other-id: its id was "other id"; test_results[0] must be an object; tags[1]'
shows Fix-the-login '"created_at":"2025-07-28T09:30:00.000Z"' \
    '"depends_on":["other-id","7"]' '"completed_steps":["a"]' \
    '"imported_task_id":"Fix the login"'
run 0 history Fix-the-login
has out 'last changed 2025-07-28T09:30:00.123Z'
shows other-id '"imported_test_results":["npm ok"]' '"imported_tags":["a",'

begin json_however_it_is_spaced
printf '%s\n' '{"task_id":"a","title":"t"} {"task_id":"b","title":"t"}' '{' \
    '  "task_id": "c",' '  "title": "t\n{ }"' '}' '{"task_id":"d",' '"title":' \
    '"t"}{"task_id":"e","title":"t"}' >in
imports 0 in
has out '5 imported, 0 skipped, 0 failed'
# A broken record costs itself.
printf '%s\n' '{"task_id":"f","goal":"no end' '{"task_id":"g","title":"t"}' \
    '{"task_id":"h",' '{"task_id":"i","title":"t"}' '<<<<<<< HEAD' \
    '{"task_id":"j","title":"t","tags":["x"' '{"task_id":"k","title":"t"}' >in
imports 1 in
has out '3 imported, 0 skipped, 4 failed'
has err 'line 1: not JSON' 'line 3: not JSON' 'line 5: not JSON' \
    'line 6: not JSON'
awk 'BEGIN { for (i = 0; i < 100; i++) print "{\"task_id\":\"z" i "\"," }' >in
imports 1 in
has out '100 failed' 'only the first 5 of 100 errors are shown'
checks=$((checks + 1))
[ "$(wc -l <err)" -eq 5 ] || fail "$(wc -l <err) lines"

begin tasks_that_begin_as_a_log_does
cat >in <<'END'
{"c":"x","task_id":"c-1","title":"t"}
{"c":"0123abcd","task_id":"c-2","title":"t"}
END
run 0 import in
has out '2 imported, 0 skipped, 0 failed'
shows c-1 '"c":"x"'
for line in '{"c":"0123abcd","g":1,"task_id":"c-3","title":"t"}' \
    '{"c":"00000000","task_id":"c-3","title":"t","mcptask-log":3}'; do
    echo "$line" >in
    run 1 import in
    has out '0 imported, 0 skipped, 1 failed'
done

begin files_of_no_known_kind
while IFS='|' read -r text looks; do
    printf "$text" >in
    imports 2 in
    has err "in: this looks like $looks" 'import reads JSON of mcptask'
    checks=$((checks + 1))
    [ "$(wc -l <err)" -eq 2 ] && [ ! -s out ] || fail "more: $(cat err out)"
done <<'END'
a,b\n1,2\n|CSV
# Title\n\ntext\n|Markdown
<x/>|XML
key: value\n|text
7|text
\037\213\010|an archive
a\000b|a binary file
END
for _ in 1 2 3; do echo '{"number":1,"title":"t","body":"b"}'; done >in
imports 1 in
has err 'line 1: there is no task_id; it has number, title, body: a task has'
has out '0 imported, 0 skipped, 3 failed'
checks=$((checks + 1))
[ "$(wc -l <err)" -eq 1 ] || fail "$(cat err)"
checks=$((checks + 1))
[ ! -e "$MCP_TASK_BASE_DIR" ] || fail 'a store was made'

begin files_of_backlog_md_as_people_edit_them
mkdir -p edited/tasks edited/drafts
cat >edited/tasks/task-3.md <<'END'
---
id: "task-\u0033" # an escape
title: 'it''s' # late
status: "In Progress"
labels:
- one # first

# between
- "two: 2"
custom:
  a: 1
kept: |
  line 1
    deeper
folded: "a \
  b
  c"
escapes: "\x41\u00e9\U0001F3EF\uD83C\uDFEF\e\_\\ \/\"\q"
flow: [a,
  "b, c"
]
open: [a, b
tail: "unclosed
goal: mine
version: 7
seq: 5
not a key
---
Before any heading.
<!-- a note to self -->

## Acceptance Criteria
Some prose.
<!-- AC:BEGIN -->
* [x] star
1. [ ] numbered
<!-- AC:END -->
- no criterion

## Definition of Done
- [ ] #1 tests

## Notes of mine
x
END
printf '%s\n' --- 'title: How we work' --- text >edited/tasks/README.md
printf 'no front matter\n' >edited/tasks/zzz.md
printf '%s\n' --- 'id: task-4' 'title: caf\351' 'status: Draft' --- >in
printf -- "$(cat in)\n" >edited/drafts/task-4.md
imports 0 edited
has out '2 imported, 0 skipped, 0 failed'
told 'TASK-4: its status "Draft"' # and the next on the same line
has lines 'its file is not UTF-8, and was read as Windows-1252'
shows TASK-3 '"title":"it'"'"'s"' '"status":"in_progress"' \
    '"tags":["one","two: 2"]' '"custom":"a: 1"' \
    '"kept":"line 1\n  deeper"' '"folded":"a b c"' \
    '"escapes":"Aé🏯🏯\u001b'"$(printf '\302\240')"'\\ /\"\\q"' \
    '"flow":["a","b, c"]' \
    '"open":"[a, b"' '"tail":"\"unclosed"' '"imported_goal":"mine"' \
    '"imported_version":"7"' '"imported_seq":"5"' \
    '"other_front_matter":"not a key"' \
    '"goal":"Before any heading.\n<!-- a note to self -->"' \
    '"acceptance":["star","numbered"]' '"completed_steps":["star"]' \
    '"acceptance_criteria":"Some prose.\n* [x] star' '"version":1' \
    '"other_text":"- no criterion\n\n## Notes of mine\nx"'
shows TASK-4 "\"title\":\"caf$(printf '\303\251')\""

# Two files with one id are two tasks, unless they are states of one.
mkdir -p twice/tasks twice/completed
for title in One Two; do
    printf '%s\n' --- 'id: task-8' "title: $title" 'created_date: 2026-05-01' \
        --- >twice/tasks/$title.md
done
printf '%s\n' --- 'id: task-8' 'title: One' 'created_date: 2026-05-01' \
    'status: Done' 'updated_date: 2026-06-01' --- >twice/completed/One.md
imports 0 twice
has out '2 imported, 0 skipped, 0 failed'
shows TASK-8 '"title":"One"' '"status":"done"'
shows TASK-8-2 '"title":"Two"' '"status":"open"'
imports 0 twice
has out '0 imported, 2 skipped, 0 failed'

begin nothing_costs_the_task
long=$(printf '%05000d' 0)
{
    printf '{"id":"l-1","title":"t","priority":1,"labels":["'
    awk 'BEGIN { for (i = 0; i < 20; i++) printf "%s%d", i ? "\",\"" : "", i }'
    printf '"],"assignee":"%s","colour":"%s%s%s%s"}\n' "$long" "$long" \
        "$long" "$long" "$long"
    printf '{"id":"l-2","title":"%s","priority":1}\n' "$long"
    printf '{"task_id":"l-3","title":"t","version":"x","dirty":7,"lease":1}\n'
    printf '{"id":"c-1","title":"t","priority":1,"parent":1,"dependencies":[%s' \
        '{"depends_on_id":"c-1","type":"blocks"}]}'
} >in
imports 0 in
has out '4 imported, 0 skipped, 0 failed'
told 'l-1: tags has more than 16 elements; current_owner is longer than 128' \
    'l-2: title is longer than 256 characters; title.txt is kept whole' \
    'l-3: version must be' 'c-1: depends_on leads back to the task'
shows l-1 '"name":"current_owner.txt"' '"name":"colour.txt","size":20000' \
    '"imported_tags":["0",' '"colour":"0000'
shows l-3 '"imported_version":"x"' '"imported_dirty":7' '"imported_lease":1' \
    '"version":1'
shows c-1 '"depends_on":["status:cycle"]' '"imported_depends_on":["c-1"]'
run 0 verify
# A part that depends on the whole is kept as it is, and may be begun.
printf '{"task_id":"%s","title":"t"%s}\n' e '' \
    p ',"parent_id":"e","depends_on":["e"]' \
    q ',"parent_id":"e","depends_on":["p"]' >in
imports 0 in
told 'p: it depends on a task that waits for it as one of its parts'
shows p '"depends_on":["e"]' '"ready":true'
# More than the whole of a task may be.
awk 'BEGIN { printf "{\"task_id\":\"big\",\"title\":\"t\""
    split("completed_steps remaining_steps decisions", f, " ")
    for (k = 1; k <= 3; k++) {
        printf ",\"%s\":[", f[k]
        for (i = 0; i < 250; i++)
            printf "%s\"%0900d\"", i ? "," : "", i
        printf "]"
    }
    print "}" }' >in
imports 0 in
has out '1 imported, 0 skipped, 0 failed' 'the task is too long with all of its'
shows big '"name":"completed_steps.json"'
run 0 verify

begin a_record_that_is_too_long
long=$(head -c 2200000 /dev/zero | tr '\0' x)
printf '{"a":"%s","task_id":"long","title":"Long"}\n' "$long" >in
echo '{"task_id":"next","title":"Next"}' >>in
imports 1 in
has out '1 imported, 0 skipped, 1 failed'
has err 'longer than 2 MiB'
shows next '"title":"Next"'

begin the_summary_is_bounded
awk 'BEGIN { for (i = 0; i < 50; i++)
    print "{\"task_id\":\"s" i "\",\"title\":\"t\",\"status\":\"odd\\n" i "\"}" }' >in
imports 0 in
has out '50 imported' '  and 30 more; pass --json for all' \
    '  s0: its status "odd 0" is none here'
checks=$((checks + 1))
[ "$(wc -l <out)" -eq 23 ] || fail "$(cat out)"
rm -rf "$MCP_TASK_BASE_DIR"
imports 0 --json in
checks=$((checks + 1))
[ "$(grep -c '^{"task_id":"s[0-9]*","note":"its status' out)" -eq 50 ] ||
    fail "$(cat out)"
has out '{"imported":50,"skipped":0,"failed":0}'
imports 0 --json in
checks=$((checks + 1))
[ "$(cat out)" = '{"imported":0,"skipped":50,"failed":0}' ] || fail "$(cat out)"

begin the_newest_state_counts
born='"created_at":"2025-01-01T00:00:00Z"'
old='{"id":"n","title":"old","priority":1,'$born',"updated_at":"2026-01-01T00:00:00Z"}'
new='{"id":"n","title":"new","priority":1,'$born',"updated_at":"2026-01-02T00:00:00Z"}'
printf '%s\n' "$new" "$old" >in
imports 0 in
has out '1 imported, 1 skipped, 0 failed'
told 'n: it came twice; the older one was omitted'
shows n '"title":"new"'
# Not one that somebody has changed since it was imported.
rm -rf "$MCP_TASK_BASE_DIR"
echo "$old" >in
imports 0 in
run 0 edit n --goal mine
echo "$new" >>in
imports 0 in
has out '0 imported, 1 skipped, 0 failed'
shows n '"title":"old"' '"goal":"mine"'

begin references_to_a_task_that_got_another_id
cat >in <<'END'
{"task_id":"z","title":"before","depends_on":["a-b"]}
{"id":"a b","title":"first","priority":1}
{"task_id":"a-b","title":"second"}
{"task_id":"y","title":"after","depends_on":["a-b"],"more":{"k":[1,2]}}
{"task_id":"z","title":"before","depends_on":["a-b"]}
END
imports 0 in
has out '4 imported, 1 skipped, 0 failed'
told 'a-b: its id was "a b"' \
    'a-b-2: its id was "a-b", which another task has: references that came '\
'before it mean that one'
shows z '"depends_on":["a-b"]'
shows a-b '"title":"first"'
shows y '"depends_on":["a-b-2"]' '"more":{"k":[1,2]}'
cat >in <<'END'
{"task_id":"c","title":"1","created_at":"2026-01-01T00:00:00Z"}
{"task_id":"c","title":"2","created_at":"2026-02-01T00:00:00Z"}
END
imports 0 in
told 'c-2: its id was "c", which another task has: references to it mean '\
'that one'
shows c-2 '"title":"2"'
cat >dots <<'END'
{"task_id":"..","title":"up","depends_on":["."]}
{"id":".","title":"here","priority":1}
{"task_id":"v1.2","title":"v","parent_id":".."}
END
imports 0 dots
has out '3 imported, 0 skipped, 0 failed'
told '__: its id was ".."' '_: its id was "."'
shows __ '"depends_on":["_"]'
shows v1.2 '"parent_id":"__"'
imports 0 dots
has out '0 imported, 3 skipped, 0 failed'
# The newer state of a task that got another id goes there.
echo '{"task_id":"c","title":"3","created_at":"2026-02-01T00:00:00Z"}' >>in
rm -rf "$MCP_TASK_BASE_DIR"
imports 0 in
shows c '"title":"1"'
shows c-2 '"title":"3"'

finish
