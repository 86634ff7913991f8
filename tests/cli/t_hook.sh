#!/bin/sh
# The hook in docs/cli.md, with the input that clients give it, for two sessions
# of one client: t_hook.sh [MCPTASK]

# shellcheck source=tests/lib/cli.sh
. "$(dirname "$0")/../lib/cli.sh"
export MCP_TASK_BASE_DIR="$dir/store"
mkdir bin
ln -s "$bin" bin/mcptask
PATH=$dir/bin:$PATH
awk '/^# usage: mcptask-session / { print "#!/bin/sh"; on = 1 }
    on && /^```/ { exit }
    on' "$docs/cli.md" >bin/mcptask-session
chmod +x bin/mcptask-session

one=0f3c9a52-7d41-4b7e-9d0c-2a5c1e6f8b10
two=b81d4e77-30aa-4f6e-8c55-91f0de27c3a4

# hook start|end SESSION: as Claude Code calls it; output in out
hook() {
    if [ "$1" = start ]; then
        event=SessionStart more='"source":"startup"'
    else
        event=SessionEnd more='"reason":"prompt_input_exit"'
    fi
    at=/home/me/.claude/projects/-home-me-api/$2.jsonl
    printf '{"session_id":"%s","transcript_path":"%s","cwd":"%s",' \
        "$2" "$at" /home/me/api >in
    printf '"hook_event_name":"%s",%s}' $event "$more" >>in
    mcptask-session claude-code "$1" <in >out 2>err ||
        fail "hook $1: $(cat err)"
}

# owns AGENT ID...: exactly these tasks of the agent are in progress
owns() {
    agent=$1
    shift
    mcptask list --owner "$agent" --status in_progress --ids | sort >list
    printf '%s\n' "$@" | sed '/^$/d' | sort >want
    same want list
}

name=names
mcptask add --id free 'Something to do' >/dev/null
export CLAUDE_ENV_FILE="$dir/env.one"
hook start $one
has out 'Your name in mcptask is claude-code-0f3c9a52:' 'Something to do'
export CLAUDE_ENV_FILE="$dir/env.two"
hook start $two
has out 'Your name in mcptask is claude-code-b81d4e77:'
unset CLAUDE_ENV_FILE

# What each session does in its shell.
in_shell() {
    # shellcheck disable=SC1090
    (. "$dir/env.$1" && shift && mcptask "$@") >said 2>&1
}
name=two_sessions
mine='' yours=''
i=0
while [ $i -lt 25 ]; do
    i=$((i + 1))
    in_shell one add --id "mine-$i" Mine
    in_shell one claim "mine-$i"
    mine="$mine mine-$i"
done
for id in yours-1 yours-2; do
    in_shell two add --id $id Yours
    in_shell two claim $id
    yours="$yours $id"
done
in_shell one claim yours-1
has said 'another agent holds a lease'
# shellcheck disable=SC2086
owns claude-code-0f3c9a52 $mine
# shellcheck disable=SC2086
owns claude-code-b81d4e77 $yours

name=the_first_ends
hook end $one
# shellcheck disable=SC2119
owns claude-code-0f3c9a52
# shellcheck disable=SC2086
owns claude-code-b81d4e77 $yours
mcptask list --status handoff_ready --ids | sort >list
# shellcheck disable=SC2086
printf '%s\n' $mine | sort >want
same want list
mcptask show mine-1 --json >out
has out '"from_agent":"claude-code-0f3c9a52"' '"reason":"the session ended"'
in_shell two claim mine-1
in_shell two 'done' yours-1

# A task whose command mcptask run still supervises is not handed over.
name=a_command_goes_on
mkfifo go
hook start $one
in_shell one run -d --title Build -- sh -c 'read -r code <"$0"; exit "$code"' \
    "$dir/go"
id=$(cat said)
hook end $one
owns claude-code-0f3c9a52 "$id"
check timeout 60 sh -c 'echo 3 >go'
check mcptask wait "$id" --until failed --timeout 60
mcptask show "$id" --json >out
has out '"exit_code":3'

# Again, with nothing to hand over; and another client, which writes its
# input over several lines.
name=again
hook end $one
hook end $two
# shellcheck disable=SC2119
owns claude-code-b81d4e77
mcptask show yours-1 --json >out
has out '"status":"done"'
mcptask show mine-1 --json >out
has out '"from_agent":"claude-code-b81d4e77"'
printf '{\n  "hook_event_name": "SessionStart",\n  "session_id": "%s"\n}\n' \
    $two | mcptask-session gemini start >out
has out 'Your name in mcptask is gemini-b81d4e77:' 'Something to do'

# Without an id, or with one that a shell would run, nothing is done.
name=hostile
export CLAUDE_ENV_FILE="$dir/env.hostile"
mcptask add --id kept Kept >/dev/null
mcptask claim kept --agent claude-code- >/dev/null
for input in '{"cwd":"/"}' "{\"session_id\":\"';id;'\"}" ''; do
    for event in start end; do
        checks=$((checks + 1))
        echo "$input" | mcptask-session claude-code $event >out 2>err ||
            fail "$input: $(cat err)"
        check test ! -s out
    done
done
check test ! -e "$CLAUDE_ENV_FILE"
owns claude-code- kept

finish
