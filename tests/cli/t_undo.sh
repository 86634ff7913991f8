#!/bin/sh
# A change is taken back, beside the store and with a server:
# t_undo.sh [MCPTASK]

# shellcheck source=tests/lib/cli.sh
. "$(dirname "$0")/../lib/cli.sh"
export LOGNAME=anna
# shellcheck source=tests/lib/served.sh
. "$lib/served.sh"

# state ID TEXT...: the task has these, in JSON
state() {
    id=$1
    shift
    mt 0 show "$id" --json
    has out "$@"
}

each_kind_of_change() {
    mt 1 undo
    has err 'no change by anna in the last 24 h' \
        'run "mcptask tail"' \
        '"mcptask undo --agent NAME"'
    mt 0 add --id a One
    mt 0 undo
    has out 'a: cancelled, which undoes "created" '
    mt 0 undo
    has out 'a: open, which undoes "cancelled" '
    state a '"status":"open"'

    mt 0 edit a -p 0 -t x --title Two --goal G
    mt 0 undo
    has out 'a: open, which undoes "changed" of priority, tags, title, goal '
    state a '"priority":2' '"title":"One"'
    lacks out '"tags"' '"goal"'
    mt 0 undo # that, too
    state a '"priority":0' '"tags":["x"]' '"title":"Two"' '"goal":"G"'

    for end in 'done done ok' 'fail failed no' 'cancel cancelled no'; do
        mt 0 ${end%% *} a "${end##* }"
        mt 0 undo
        end=${end#* }
        has out "a: open, which undoes \"${end% *}\" "
        state a '"status":"open"'
        lacks out '"result"'
    done
    mt 0 'done' a it works
    mt 0 reopen a it does not
    mt 0 undo
    has out 'a: done, which undoes "reopened" '
    state a '"status":"done"' '"result":"it works"'
    mt 0 reopen a once more

    mt 0 handoff a --to codex --reason lunch
    mt 0 undo
    has out 'a: open, which undoes "handed over" '
    state a '"status":"open"'
    lacks out '"current_owner"'
    mt 0 handoff a --to codex --reason lunch
    mt 0 handoff a --to bob --reason dinner
    mt 0 undo
    state a '"status":"handoff_ready","current_owner":"codex"' \
        '"reason":"lunch"'
    mt 0 claim a --takeover --reason 'he is away'
    mt 0 undo
    has out 'a: handoff_ready, which undoes "claimed" '
    state a '"status":"handoff_ready","current_owner":"codex"' \
        '"from_agent":"anna"' '"reason":"lunch"'
    lacks out '"lease"'
    mt 0 claim a --agent codex
    mt 1 undo --agent bob
    mt 0 undo --agent codex
    mt 0 claim a --agent codex
    mt 0 claim a --takeover --reason 'he is away'
    mt 0 undo
    state a '"status":"in_progress","current_owner":"codex"'
    mt 0 'done' a --agent codex
    mt 0 undo --agent codex # whose task it was
    state a '"status":"in_progress","current_owner":"codex"'

    mt 0 add --id b Three
    mt 0 claim b --agent codex
    mt 0 cancel b no time
    mt 0 undo
    has out 'b: in_progress, which undoes "asked to stop" '
    state b '"status":"in_progress"'
    lacks out '"cancel_requested"'
    mt 0 add --id c Four
    mt 0 handoff b --to bob # which takes it from codex
    mt 0 undo
    has out 'b: in_progress, which undoes "handed over" '
    state b '"status":"in_progress","current_owner":"codex"'
    mt 0 claim c
    mt 0 undo --json
    has out '{"task_id":"c","version":' '"status":"open"'
}

what_stays() {
    mt 0 add --id a One
    mt 0 message a hello
    mt 4 undo
    has err 'a: "message" cannot be undone: what others may have read stays' \
        'run "mcptask edit a" to change the task'
    mt 0 ask a 'Which?' --agent codex
    mt 4 undo --agent codex
    has err 'a: "asked" cannot be undone'
    mt 4 undo
    has err 'a: codex changed it ' ', after your "message"' \
        'run "mcptask history a"'
    mt 0 answer a this
    mt 4 undo
    has err 'a: "answered" cannot be undone'
    echo x >file
    mt 0 attach a file
    mt 4 undo
    has err 'a: "attached" cannot be undone'
    echo '- [x] b' >list
    mt 0 add - <list
    mt 4 undo
    has err '"created" cannot be undone' 'run "mcptask reopen t-'
    mt 0 claim a
    mt 0 claim a
    mt 4 undo
    has err 'a: "claimed" cannot be undone' # it has renewed the lease
    mt 0 handoff a
    mt 0 edit a -p 0
    mt 0 edit a --agent codex --title Two
    mt 4 undo
    has err 'a: codex changed it ' ', after your "changed"'
    state a '"title":"Two"'
}

several_at_once() {
    for id in a b c d; do mt 0 add --id $id "Task $id"; done
    mt 0 claim b
    mt 0 'done' a
    mt 0 cancel b c d -m 'not needed'
    mt 0 undo
    has out 'b: in_progress' 'c: open' 'd: open'
    lacks out 'a: '
    mt 0 undo
    mt 0 list --all
    has out 'b  cancelled' 'c  cancelled' 'd  cancelled' 'a  done'
    mt 0 reopen b c d -m 'needed after all'
    mt 0 message c 'go on' --agent codex
    mt 0 undo # what nothing followed
    has out 'b: cancelled' 'd: cancelled'
    lacks out 'c: '
    mt 0 reopen a b -m 'once more'
    mt 0 edit a -p 1
    mt 0 edit b -p 1
    mt 0 undo # an edit is one change
    has out 'b: open, which undoes "changed" of priority '
    lacks out 'a: '
}

both each_kind_of_change
both what_stays
both several_at_once
finish
