#!/bin/sh
# What a person is refused has the command that would do it, beside the store
# and with a server: t_refused.sh [MCPTASK]

# shellcheck source=tests/lib/cli.sh
. "$(dirname "$0")/../lib/cli.sh"
export LOGNAME=anna
# shellcheck source=tests/lib/served.sh
. "$lib/served.sh"

# next CODE STEP COMMAND...: it is refused, and this is all of the second line
next() {
    exits=$1
    step=$2
    shift 2
    mt "$exits" "$@"
    sed -n 2p err >got
    printf '%s\n' "$step" >want
    cmp -s got want || fail "$*: $(cat err)"
}

takeover='run "mcptask claim a --takeover --reason TEXT"'
reach='run "mcptask message a TEXT"'

what_an_agent_holds() {
    mt 0 add --id a A
    mt 0 claim a --agent codex
    for act in 'done a' 'fail a no' 'edit a -p 0' 'claim a' 'reopen a no'; do
        # shellcheck disable=SC2086 # its words
        next 4 "to take it over, $takeover; to reach that agent, $reach" $act
        has err 'codex is working on it, and its lease ends in 14m'
    done
    next 4 "to reach that agent, $reach" 'done' a --agent eve
    next 4 "to reach that agent, $reach" handoff a --agent eve
    # A person hands it over in one act, and its agent is told.
    next 1 'run "mcptask board" to see what tasks wait for' claim --any-repo
    mt 0 handoff a --to bob --reason 'needed elsewhere'
    next 1 "if that agent will not come, $takeover" claim --any-repo
    mt 4 checkpoint a --agent codex -n x
    has err 'anna took the task over: needed elsewhere' \
        'it was handed over to another agent (bob)'
    mt 0 show a --json
    has out '"status":"handoff_ready","current_owner":"bob"' \
        '"takeover":{"from_agent":"codex","agent":"anna","reason":"needed elsewhere"'
    next 4 "to claim it first, $takeover" 'done' a
    next 4 "to claim it anyway, $takeover" claim a
    next 4 'claim it first with "mcptask claim a"' 'done' a --agent bob
}

what_is_not_ready() {
    for id in a b c; do mt 0 add --id $id $id; done
    mt 0 edit c --after a --after b
    next 4 'run "mcptask show c" to see them, and finish those first' claim c
    has err 'tasks that it depends on are not done (a, b)'
    mt 0 fail b no
    next 4 'run "mcptask reopen b REASON", or omit it with "mcptask edit c --after OTHER"' \
        claim c
    has err 'it depends on b, which failed or was cancelled'
    next 4 'omit the task that leads back to a; "mcptask show" prints what each depends on' \
        edit a --after c
    next 4 'omit that dependency: a task that has parts is ready when they have ended' \
        add Part --parent a --after a
    next 4 'to continue it, run "mcptask reopen b REASON"' 'done' b
}

what_is_answered() {
    mt 0 add --id a A
    next 1 "to tell its agent more, $reach" answer a yes
    mt 0 ask a -o 'Wait up to 3 s' -o Fail 'Which?' --json
    for text in nonsense 3 0; do
        next 2 'pass a number or one of these texts, for example run "mcptask answer a 1"' \
            answer a $text
        has err "\"$text\" is none of the answers: 1) Wait up to 3 s  2) Fail"
    done
    mt 2 answer a nonsense --json
    has err '"code":"invalid_argument"' '"field":"answer"'
    mt 0 ask a -k approval 'Really?' --json
    id=$(sed -n 's/.*"question_id":"\([^"]*\)".*/\1/p' out)
    next 2 "pass a number or one of these texts, for example run \"mcptask answer a $id 1\"" \
        answer a "$id" perhaps
    has err '"perhaps" is none of the answers: 1) approve  2) decline'
    mt 2 answer a yes
    has err 'a: 2 questions are open: q' ' Which?; q' ' Really?' \
        'run "mcptask answer a q'
    mt 0 answer a "$id" 1
    next 4 "to tell its agent more, $reach" answer a "$id" approve
    mt 0 answer a 1
    mt 0 show a --json
    has out '"text":"approve"' '"text":"Wait up to 3 s"'
}

both what_an_agent_holds
both what_is_not_ready
both what_is_answered
finish
