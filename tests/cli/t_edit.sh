#!/bin/sh
# The commands with which people create and change tasks: t_edit.sh [MCPTASK]

# shellcheck source=tests/lib/cli.sh
. "$(dirname "$0")/../lib/cli.sh"

begin a_task_is_added_and_edited
run 0 add --id api-141 -p 0 -t api -t urgent --goal 'No parser bug' Fix the parser
has out 'api-141  open  P0  -  0/0  Fix the parser'
run 4 add --id api-142 --after api-141 --parent api-141 Test it
has err 'it leads to api-141, which waits for this task as one of its parts'
run 0 add --id api Server
run 0 add --id api-142 --after api-141 --parent api -r /src -o anna Test it
run 0 show api-142 --json
has out '"depends_on":["api-141"]' '"parent_id":"api"' \
    '"repo_path":"/src"' '"current_owner":"anna"' '"title":"Test it"'
run 0 add A title of many words
has out 't-' 'A title of many words'
run 0 edit api-141 --title Parse -p 3 -t parser -g ''
run 0 show api-141 --json
has out '"title":"Parse"' '"priority":3' '"tags":["parser"]' '"goal":""'
run 0 edit api-142 --after '' -t ''
run 0 show api-142 --json
lacks out 'api-141"]'
run 2 edit api-141
has err 'edit: nothing to change, give at least one option' 'usage: mcptask edit'
run 2 add
has err 'mcptask add: TITLE is missing'

begin a_task_ends_and_is_opened_again
run 0 add --id one One
run 0 'done' one 'It works'
has err 'done without test_results'
run 0 show one --json
has out '"status":"done"' '"result":"It works"'
run 2 reopen one
run 0 reopen one 'It does not'
run 0 history one
has out 'It does not' 'open'
run 2 fail one
run 0 fail one 'No compiler'
run 0 history one
has out 'No compiler'
run 4 'done' one
has err 'one: the task is failed and cannot be changed' \
    'to continue it, run "mcptask reopen one REASON"'
run 0 reopen one again
run 0 handoff one -a me
run 4 'done' one
has err 'one: a task that is handoff_ready cannot become done' \
    'claim it first with "mcptask claim one"'
run 0 cancel one
run 0 list --all
has out 'one  cancelled'

begin several_tasks_and_words
for id in a b c d; do run 0 add --id $id "Task $id"; done
run 0 'done' a all 12 pass
run 0 show a
has out '> all 12 pass'
run 0 'done' b c -m 'both at once'
has out 'b  done' 'c  done'
has err 'mcptask: b: done without' 'mcptask: c: done without'
run 0 show c
has out '> both at once'
run 1 reopen a b none c -m 'not yet'
has out 'a  open' 'b  open' 'c  open'
has err 'mcptask reopen: no such task "none"'
run 0 cancel a b
has out 'a  cancelled' 'b  cancelled'
run 4 fail a c none -m 'it broke' # the conflict is worse than no such task
has out 'c  failed'
has err 'fail: a: the task is cancelled' 'no such task "none"'
run 4 'done' a c --json
has err '"message":"a: the task' '"message":"c: the task'
run 2 reopen a b
has err 'reopen: REASON is missing, with -m' 'usage: mcptask reopen'
# An id among the words may be a task or a word: nothing is changed.
run 2 'done' d needs c first
has err '"c" is the id of a task' 'pass the result with -m'
run 2 'done' d c first
run 0 show d
has out 'status: open'
run 0 fail d -m 'needs c first'
run 0 reopen d 'needs c first' # between quotes it is no word
run 0 ask d is c needed
run 0 answer d yes it is
run 0 show d --json
has out '"question":"is c needed"' '"text":"yes it is"'
question=$(sed -n 's/.*"question_id":"\([^"]*\)".*/\1/p' out)
run 0 ask d 'And b?'
run 4 answer d "$question" no more of it # answered already
run 0 answer d no more of it
run 0 show d --json
has out '"text":"no more of it"'
run 0 message d go on please
run 0 show d --json
has out '"text":"go on please"'
run 0 ask d --option 409 --option 2 --option 'wait 3 s' Which
run 0 answer d 2 # it is an option itself
run 0 ask d --option 409 --option 'wait 3 s' Which
run 2 answer d 3
has err 'answer: d: "3" is none of the answers: 1) 409  2) wait 3 s' \
    'pass a number or one of these texts, for example run "mcptask answer d 1"'
run 0 answer d 2
run 0 ask d --kind approval Really
run 0 answer d 2
run 0 ask d --option x One
run 0 ask d --option y Two --json
question=$(sed -n 's/.*"question_id":"\([^"]*\)".*/\1/p' out)
run 0 add --id no 'To decline'
run 0 ask no 'Now?'
run 0 answer no 'not before Monday' --decline
run 0 ask no 'Now?' --json
asked=$(sed -n 's/.*"question_id":"\([^"]*\)".*/\1/p' out)
run 0 answer no "$asked" --decline
run 0 ask no 'Now?' --json
asked=$(sed -n 's/.*"question_id":"\([^"]*\)".*/\1/p' out)
run 0 answer no "$asked" not on Tuesday --decline
run 0 show no --json
has out '"answer":{"text":"not before Monday","action":"decline"' \
    '"answer":{"action":"decline"' \
    '"answer":{"text":"not on Tuesday","action":"decline"'
run 2 answer d 1
has err '2 questions are open'
run 0 answer d "$question" 1
run 0 show d --json
has out '"text":"2"' '"text":"wait 3 s"' '"text":"decline","action":"decline"' \
    '"text":"y"'
if script -qec true /dev/null >out 2>&1 </dev/null; then
    run 0 add --id mine Mine
    MCP_TASK_AGENT='' script -qec "'$bin' done mine" /dev/null >out
    has out mine
    lacks out test_results # a person needs no advice to run tests
    run 0 add --id its Its
    script -qec "'$bin' done its -a codex" /dev/null >out
    has out 'its: done without test_results'
    echo n | script -qec "'$bin' done d needs c" /dev/null >out
    has out '"c" is the id of a task; is it a word of the result of d? [y/N]'
    run 0 show d
    has out 'status: open'
    echo y | script -qec "'$bin' done d needs c" /dev/null >out
    run 0 show d
    has out 'status: done' '> needs c'
fi

# edit_with SCRIPT ARGUMENT...: edits on a terminal, with a script as the editor,
# whose first argument is the file
edit_with() {
    printf '#!/bin/sh\n%s\n' "$1" >"$dir/editor"
    chmod +x "$dir/editor"
    shift
    last="edit $*"
    VISUAL='' EDITOR="$dir/editor -x" TMPDIR=$dir \
        script -qec "'$bin' edit $*; echo \"exit \$?\"" /dev/null >out </dev/null
}
# shellcheck disable=SC2016 # the file is an argument of the editor's script
if script -qec true /dev/null >out 2>&1 </dev/null; then
    begin a_task_is_edited_as_a_text
    run 0 add --id one -t red -t 'a,b' --path src -g 'One.

# a heading
owner: no title' The title
    run 0 add --id two Two
    edit_with 'cp "$2" seen' one
    has out 'one: nothing was changed' 'exit 0'
    has seen 'title: The title' 'priority: 2' '- a,b' '- src' '# a heading'
    run 0 show one --json
    has out '"version":1'
    edit_with 'sed -e "s/^title:.*/title: Another: title/" \
        -e "s/^priority:.*/priority: 0/" -e "s/^depends_on:/& two/" \
        -e "/^current_owner/d" -e "s/^- red/- green, blue/" \
        -e "s/^acceptance:/&\\
- it works\\
  at night\\
- quickly/" -e "s/^One\\./# Two/" "$2" >new; cp new "$2"' one
    has out 'Another: title' 'exit 0'
    run 0 show one --json
    has out '"title":"Another: title"' '"priority":0' '"depends_on":["two"]' \
        '"tags":["green, blue","a,b"]' '"version":2' '"paths":["src"]' \
        '"acceptance":["it works\nat night","quickly"]' \
        '"goal":"# Two\n\n# a heading\nowner: no title"'
    edit_with 'sed -e "s/^tags:/& x, y/" -e "/^- green/d" -e "/^- a,b/d" \
        -e "s/^depends_on:.*/depends_on:/" "$2" >new; cp new "$2"' one
    run 0 show one --json
    has out '"tags":["x","y"]'
    lacks out two
    # An empty value clears each field that a task can do without.
    run 0 edit one --parent two -r "$dir" -o me --not-before 2030-01-01
    edit_with 'sed -e "/^title\|^priority/b" -e "s/^\([a-z_]*:\).*/\1/" -e "/^[- ] /d" \
        -e "/^goal:/q" "$2" >new; cp new "$2"' one
    run 0 show one --json
    has out '"tags":[]' '"depends_on":[]' '"paths":[]' '"acceptance":[]' \
        '"goal":""' '"title":"Another: title"' '"priority":0'
    lacks out parent_id repo_path current_owner not_before
    # A blank line within an item that is not touched stays.
    printf '%s\n' '{"task_id":"long","title":"x","acceptance":["a\n\nb","c"]}' |
        "$bin" import - >out
    edit_with 'sed -e "s/^- c/- d/" "$2" >new; cp new "$2"' long
    run 0 show long --json
    has out '"acceptance":["a\n\nb","d"]'
    # An editor of Windows adds a byte order mark and CRs.
    run 0 edit long --goal 'a
b'
    edit_with '{ printf "\357\273\277"; sed -e "s/^- d/- e/" -e "s/\$/\r/" "$2"; } \
        >new; cp new "$2"' long
    run 0 show long --json
    has out '"acceptance":["a\n\nb","e"]' '"goal":"a\nb"'
    checks=$((checks + 1))
    [ -z "$(find "$dir" -maxdepth 1 -name 'mcptask-*')" ] || fail "$(ls "$dir")"

    begin a_text_that_is_refused_is_kept
    run 0 add --id one One
    echo "'$bin' edit one -p 1" >other
    edit_with 'echo "goal: mine" >>"$2"; . ./other' one
    has out 'mcptask edit: one: the task' 'mcptask: your text is in ' 'exit 4'
    has "$(sed -n 's/.*your text is in \([^ ]*one\.[A-Za-z0-9]*\).*/\1/p' out)" \
        'goal: mine'
    rm "$dir"/mcptask-one.*
    edit_with 'echo "what: ever" >"$2"' one
    has out 'line 1 is not "FIELD: VALUE"' 'your text is in ' 'exit 2'
    rm "$dir"/mcptask-one.*
    edit_with 'echo "priority: 9" >"$2"' one
    has out 'priority must be' 'your text is in ' 'exit 2'
    rm "$dir"/mcptask-one.*
    edit_with 'exit 3' one
    has out 'failed, so nothing was changed' 'exit 1'
    run 0 show one --json
    has out '"version":2'
    edit_with 'echo "goal: typed" >>"$2"; exit 3' one
    has out 'failed, so nothing was changed' 'your text is in ' 'exit 1'
    rm "$dir"/mcptask-one.*
    edit_with : none
    has out 'no such task "none"' 'exit 1'
    checks=$((checks + 1))
    [ -z "$(find "$dir" -maxdepth 1 -name 'mcptask-*')" ] || fail "$(ls "$dir")"
fi

begin a_question_and_a_file
run 0 add --id one One
run 0 ask -a me one Which? -o left -o right -k approval
run 0 show one --json
has out '"question":"Which?"' '"options":["left","right"]' '"kind":"approval"'
run 0 answer one left
run 1 answer one right
has err 'one: the task has no open question'
# The agent that asks by a command has no user that its client could ask.
LOGNAME=anna run 0 ask one 'For a person?' -a bot -t anna
run 0 show one --json
has out '"to":"anna"'
lacks out '"own"'
run 1 edit one --after nobody
has err 'one: --after: no such task "nobody"'
printf 'warning: none\n' >make.log
run 0 attach one make.log
run 0 attach one - --name notes <make.log
run 0 show one --json
has out '"name":"make.log","type":"log","size":14' '"name":"notes","type":"file"'
run 0 verify
dd if=/dev/zero of=big bs=1048577 count=1 2>big.err
run 2 attach one big
has err 'big: larger than 1048576 bytes' 'attach a part of it'
run 2 attach one nowhere
has err 'nowhere: No such file'
run 2 attach one .
has err '.: Is a directory'

begin a_message_to_the_owner
run 0 add --id one One
run 0 claim -a codex one
run 0 message -a anna one 'Mind the tests'
run 0 ask -a codex -t anna one 'How far?'
has err 'message from anna: Mind the tests'
run 0 show one --json
has out '"to":"anna"' '"text":"Mind the tests"'
run 0 cancel -a anna one 'not needed now'
has out 'one: asked codex to stop'
run 0 checkpoint one -a codex -n half
has err 'anna asks to stop: not needed now'
run 0 cancel one -a codex
has out 'one  cancelled'

begin tail_shows_titles_and_local_time
run 0 add --id one A telling title
run 0 fail one 'No compiler'
run 0 tail --json
utc=$(sed -n 's/.*"at":"\([0-9-]*\)T\([0-9]*\):.*/\1 \2/p' out | tail -1)
hour=${utc#* }
hour=${hour#0}
TZ=XYZ-3 run 0 tail
has out 'A telling title  No compiler' \
    "$(printf ' %02d:' $(((hour + 3) % 24)))"
TZ=UTC0 run 0 tail
has out "$utc:"

begin the_start_of_an_id_is_enough
for id in api-1 api-12 api-131 web-7; do
    run 0 add --id $id Title of $id
done
run 0 show web
has out 'Title of web-7'
run 0 show api-1
has out 'Title of api-1' # an id that is there stands for itself
run 0 edit api-13 --after w --parent api-12
run 0 show api-131 --json
has out '"depends_on":["web-7"]' '"parent_id":"api-12"'
run 2 show api
has err 'several ids start with api, for example api-131 and api-12' \
    'type more of the id'
run 2 'done' api- --json
has err '"message":"several ids start with api-, for example'
run 0 'done' api-13
run 0 show api-13
has out 'Title of api-131' # those that have ended count as well
run 1 show x
has err 'mcptask show: no such task "x"'
lacks err 'did you mean'
run 1 show WEB-7
has err 'did you mean "web-7"?' # which is no prefix of it
for command in show history 'answer web-8' claim wait export edit\ -p\ 1; do
    # shellcheck disable=SC2086 # its words are arguments
    run 1 $command web-8
    has err 'no such task "web-8"' \
        'did you mean "web-7"? otherwise run "mcptask list --all"'
done
run 1 add --after web-8 Another
has err '--after: no such task "web-8"'
run 0 export w api-12
has out '"task_id":"web-7"' '"task_id":"api-12"'
run 0 list --ids
printf 'web-7\napi-12\napi-1\n' | sort >want
sort out >have
same want have
for n in $(seq 120); do
    echo "{\"task_id\":\"many-$n\",\"title\":\"$n\"}"
done | "$bin" import - >/dev/null
run 0 show web-
run 2 show many
has err 'several ids start with many'

begin what_has_ended_is_not_blocked
run 0 add --id one One
run 0 add --id two --after one Two
has out 'two  open (blocked)'
run 0 cancel two
has out 'two  cancelled  P2'

begin a_past_state_and_an_artifact_are_shown
run 0 add --id one First
run 0 edit one --title Second
run 0 show one --version 1 --json
has out '"title":"First"' '"version":1'
run 1 show one --version 0009
has err 'one: the task is at version 2'
echo '{"task_id":"later","title":"L","version":7}' >tasks
run 0 import tasks
run 1 show later --version 6
has err 'later: version 6 cannot be read' 'the oldest readable version is 7'
printf 'a\nerror: b\nc\n' >log
run 0 attach one log -n build.log
run 0 show one --artifact a1
cmp -s out log || fail 'another content'
run 0 show one --artifact a1 --tail 2
[ "$(cat out)" = "$(printf 'error: b\nc')" ] || fail "$(cat out)"
run 0 show one --artifact a1 --match error
has out '2:error: b'
lacks out a1
run 0 show one --artifact a1 --match error --json
has out '{"task_id":"one","artifact":{"artifact_id":"a1","name":"build.log",' \
    ',"encoding":"utf8","content":"2:error: b\n"}'
printf '\377\000' >log
run 0 attach one log
run 0 show one --artifact a2 --json
has out ',"encoding":"base64","content":"/wA="}'
run 0 attach one tasks -n build.log
run 0 show one --artifact build.log
cmp -s out tasks || fail 'not the newest of this name'
run 1 show one --artifact a4
has err 'no such artifact "a4"' 'run "mcptask show one"'
run 2 show one --tail 2
has err '--tail and --match need --artifact'
run 2 show one --version 0
has err 'show: --version needs a number, at least 1'
run 2 show one --artifact a1 --tail 0
has err '--tail needs a number, at least 1'

begin content_goes_unchanged_into_a_file
run 0 add --id one One
printf 'a\r\n\033[31merror\377\n\000b\nerror: c\n' >raw.log
run 0 attach one raw.log
run 0 show one --artifact a1
checks=$((checks + 1))
cmp -s out raw.log || fail 'another content'
run 0 show one --artifact a1 --match error --tail 2
checks=$((checks + 1))
[ "$(cat out)" = '4:error: c' ] || fail "$(cat out)"
if script -qec true /dev/null >out 2>&1 </dev/null; then
    script -qec "'$bin' show one --artifact a1" /dev/null >out </dev/null
    has out 'a<U+000D>' '<U+001B>[31merror'
fi

begin done_needs_evidence_that_passes
run 2 --require-evidence=some list
has err '--require-evidence accepts only the value pass'
run 0 add --id one One
run 4 --require-evidence=pass 'done' one
has err 'one: done needs test_results' \
    'save test_results first with "mcptask checkpoint one -"'
printf '{"test_results":[{"command":"x","exit_code":0}]}' |
    "$bin" checkpoint one -a me - >out || fail 'checkpoint'
run 0 --require-evidence=pass 'done' one -a me
run 0 --require-evidence=pass config claude-code
has out '--require-evidence=pass'
run 0 --require-evidence config claude-code
lacks out '=pass'

# range ARGUMENT: "MIN to MAX", as the tools have it
range() {
    printf '%s\n' '{"jsonrpc":"2.0","id":1,"method":"initialize","params":'\
'{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":'\
'{"name":"x","version":"1"}}}' '{"jsonrpc":"2.0","id":2,"method":"tools/list"}' |
        "$bin" 2>err | tr '{}' '\n\n' | grep -A1 "\"$1\":" |
        sed -n 's/.*"minimum":\([0-9]*\),"maximum":\([0-9]*\).*/\1 to \2/p' |
        head -n 1
}

begin a_number_that_a_person_types_is_used_or_refused
run 0 add --id one One
for option in 'lease lease_seconds claim one' \
    'expires expires_seconds handoff one' 'priority priority edit one' \
    'priority priority add Two' 'lease lease_seconds run one -- true'; do
    # shellcheck disable=SC2086 # an option, its argument, a command
    set -- $option
    option=$1 limits=$(range "$2") command=$3
    shift 3
    case $limits in *' to '*) ;; *) fail "no range of $option" ;; esac
    for n in $((${limits% to *} - 1)) $((${limits#* to } + 1)) ''; do
        run 2 "$command" --"$option=$n" "$@"
        has err "$command: --$option needs a number from $limits"
    done
done
run 2 claim one --lease 0
run 2 handoff one --to me --expires 0
for n in 0 86401; do
    run 2 run --every $n -- true
    has err 'run: --every needs a number from 1 to 86400'
done
for option in 'claim none --wait' 'wait none --timeout'; do
    # shellcheck disable=SC2086
    run 2 $option=4294967296
    has err 'needs a number from 0 to 4294967295'
done
run 0 list --json
has out '"version":1' '"status":"open"'
run 0 claim -a me one --lease 5
run 0 show one --json
has out '"seconds":5}'
run 0 claim -a me one --lease 86400
run 0 show one --json
has out '"seconds":86400}'

begin errors_use_the_words_of_the_command_line
run 0 add --id one One
run 0 add --id two --after one Two
run 0 claim -a codex one
run 4 claim -a me one
has err 'one: codex is working on it, and its lease ends in 1' \
    'to reach that agent, run "mcptask message one TEXT"'
run 4 claim -a me two
has err 'two: tasks that it depends on are not done' \
    'run "mcptask show two" to see them'
run 2 claim -a me two --lease long
has err 'claim: --lease needs a number from 5 to 86400' \
    'run "mcptask help claim"'
run 2 edit one -p 9
has err 'edit: --priority needs a number from 0 to 4'
run 1 edit nope --title x
has err 'mcptask edit: no such task "nope"'
run 4 add --id one Another
has err 'one: ' 'change that task with "mcptask edit one"'
run 2 add --id 'a b' Blank
has err 'a b: --id must be 1 to 128'
for id in . ..; do
    run 2 add --id $id Dots
    has err "$id: --id must not be . or .."
done
run 2 message one ''
has err 'message: TEXT is empty' 'usage: mcptask message'
for name in get_task update_task list_tasks lease_seconds; do
    lacks err $name
done

begin a_task_may_be_for_later
run 0 add --id a --not-before 2999-01-02T14:00:00+02:00 Later
run 0 add --id b --not-before 2020-01-02 Now
run 0 list
has out 'a  open (from 2999-01-02T12:00Z)' 'b  open  '
run 0 list --ready --ids
has out b
lacks out a
run 4 claim -a me a
has err 'a: work on the task may not start before 2999-01-02T12:00:00.000Z' \
    "mcptask edit a --not-before ''"
run 0 claim -a me
run 1 claim -a you
has err '1 held by me; 1 for later, from 2999-01-02T12:00:00.000Z on'
run 0 edit a --not-before ''
run 0 claim -a you
run 0 handoff a -a you -t codex --not-before 2999-01-01 -r quota
run 0 list
has out 'a  handoff_ready (from 2999-01-01T00:00Z)'
COLUMNS=300 run 0 board
has out 'from 2999-01-01: quota'
run 0 show a --json
has out '"not_before":"2999-01-01T00:00:00.000Z"' \
    '"expires_at":"2999-01-01T00:15:00.000Z"'
lacks out checkpoint
run 0 export a
has out '"not_before":"2999-01-01T00:00:00.000Z"'
run 2 edit b --not-before soon
has err 'b: --not-before must be an RFC 3339 time'

begin a_whole_waits_for_its_parts
run 0 add --id e Whole
run 0 add --id a --parent e 'Part A'
run 0 add --id b --parent e 'Part B'
run 0 list --ready --ids
lacks out e
run 0 list
has out 'e  open (waits for parts)'
run 0 claim -a me
run 0 claim -a you
run 1 claim -a you
has err 'no task is ready' '1 waiting for parts or a parent'
run 0 'done' a -a me
COLUMNS=300 run 0 board
has out '1 of 2 parts done'
run 0 show e
has out '- parts: 1 of 2 parts done' '## Parts' \
    '- task_id: b, title: Part B, status: in_progress, current_owner: you'
run 0 show e --json
has out '"parts":{"total":2,"unfinished":1,"done":1,"tasks":[{"task_id":"b"'
run 0 'done' b -a you
COLUMNS=300 run 0 board
has out 'all parts ended: check the acceptance and close it'
run 0 claim -a me
has out '- parts: 2 of 2 parts done; all parts ended' \
    '- task_id: a, title: Part A, status: done'

begin work_is_kept_apart_by_paths
run 0 add --id a --path src/api --path docs/ A
run 0 add --id b --path src/api/login.c B
run 0 add --id c --path src/apiary C
run 0 claim -a me a
run 0 list
has out 'b  open (overlaps)' 'c  open  '
run 0 list --ready --ids
lacks out b
run 4 claim -a you b
has err 'b: another agent is working on the task a, whose paths overlap' '(me)' \
    'run "mcptask claim b --takeover --reason TEXT"'
run 0 claim -a you
run 1 claim -a you
has err '3 held by'
COLUMNS=300 run 0 board
has out 'paths overlap with a'
run 0 show a --json
has out '"paths":["src/api","docs"]'
run 2 add --path ../x X
has err '--path[0] must be a path relative to repo_path, without . or ..'

finish
