#!/bin/sh
# Tasks of a Markdown list, beside the store and with a server:
# t_plan.sh [MCPTASK]

# shellcheck source=tests/lib/cli.sh
. "$(dirname "$0")/../lib/cli.sh"
export LOGNAME=anna
# shellcheck source=tests/lib/served.sh
. "$lib/served.sh"

# plan CODE TEXT OPTION...: a list with \n and \t
plan() {
    want=$1
    text=$2
    shift 2
    printf '%b' "$text" >list
    mt "$want" add - "$@" <list
}

# bad TEXT MESSAGE...: it is refused with these, and nothing is created
bad() {
    plan "${exits:-2}" "$1"
    shift
    has err "$@"
    mt 0 list --all
    [ ! -s out ] || fail "$1: $(cat out)"
}

nested_lists() {
    mt 0 add --id x1 Before
    plan 0 '\0357\0273\0277# Plan\r\n\r\n- [ ] Epic\r\n  Its goal\r\n\r\n  in two lines
\t* [x] First\r\n\t* [ ] Second (of two) (after #2)\r\n\t\t1. deep (after #2)
\t+ Third (after x1 #2)\r\n2) Last (after #1, x1)\n- no checkbox\n- [a](link)' \
        --id au -p 1 -t plan
    printf '%s\n' 'au-1  Epic' '  au-2  First (done)' '  au-3  Second (of two)' \
        '    au-4  deep' '  au-5  Third' 'au-6  Last' 'au-7  no checkbox' \
        'au-8  [a](link)' >want
    same out want
    mt 0 export --json
    grep -o '"task_id":"au-[^"]*","status":"[^"]*"' out | sort >got
    [ "$(wc -l <got)" -eq 8 ] || fail "$(cat got)"
    has got '"au-2","status":"done"' '"au-1","status":"open"'
    mt 0 show au-1 --json
    has out '"goal":"Its goal\nin two lines"' '"priority":1' '"tags":["plan"]'
    lacks out '"parent_id"'
    mt 0 show au-4 --json
    has out '"parent_id":"au-3"' '"depends_on":["au-2"]' '"tags":["plan"]'
    mt 0 show au-5 --json
    has out '"parent_id":"au-1"' '"depends_on":["x1","au-2"]'
    mt 0 show au-6 --json
    has out '"depends_on":["au-1","x1"]'
    lacks out '"parent_id"'
    plan 0 '- one\n  - two' --parent au-6 --after x1 -g All -o codex -a codex
    mt 0 list --json --parent au-6
    has out '"title":"one"' '"current_owner":"codex"'
    lacks out '"title":"two"'
    plan 4 '- One' --id au # is there, as another
    has err 'line 1: a task with this id exists'
    plan 0 '- Other' --id there
    plan 4 '\n- Other\n- New' --id there
    has err 'line 2 already exists, but others do not'
    plan 0 '- a\n- b' --json
    has out '{"task_ids":["t-' '"seq":'
}

an_epic_of_20() {
    {
        echo '- [ ] Epic'
        for n in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19; do
            echo "  - Part $n (after #$n)"
        done | sed 's/ (after #1)//'
    } >list
    mt 0 add - --id e <list
    has out 'e-1  Epic' '  e-2  Part 1' '  e-20  Part 19'
    mt 0 list --ready --ids
    printf 'e-2\n' >want
    same out want # each waits for the one above it
    mt 0 undo
    mt 0 list
    [ ! -s out ] || fail "$(cat out)"
    mt 0 undo
    mt 0 list --ready --ids
    same out want
}

what_is_refused() {
    bad '' 'standard input has no item such as "- [ ] TITLE"'
    bad '- a\ntext\n' 'line 2: neither an item such as'
    bad '# Plan\ntext\n- a\n' 'line 2: neither an item such as' 'indent it'
    bad '- a\n- [ ]\n' 'line 2: title is missing'
    bad '- a\n- b (after #3)' 'line 2: no item #3 is above this one' \
        'put it below what it is after'
    for of in 0 1 2 99 2x +1 -1 99999999999999999999 ''; do
        bad "- a (after #$of)\n- b" "line 1: no item #$of is above"
    done
    bad '- [x] a\n  - [ ] b' 'line 2: this part is not done, but line 1 is'
    bad '{"title":"a"}' 'standard input is JSON' 'mcptask-import -'
    bad ' [{"title":"a"}]' 'standard input is JSON' 'mcptask import -'
    bad '[ ] a' 'line 1: neither an item such as "- [ ] TITLE"'
    bad '---\ntitle: a\n---\n- a\n' 'front matter' 'run "mcptask-import FILE"'
    n=0
    while [ $n -lt 51 ]; do
        echo "- $n"
        n=$((n + 1))
    done >many
    bad "$(cat many)" 'line 51: at most 50 items are added' '--parent ID'
    bad "- a\n- $(printf %0300d 0)\n" 'line 2: '
    exits=1 bad '- a\n\n- b (after none)' 'line 3: ' 'no such task "none"'
    exits=4 bad '- a\n  - b (after #1)' 'line 2: ' 'as one of its parts'
}

both nested_lists
both an_epic_of_20
both what_is_refused
finish
