#!/bin/sh
# Tasks that taskwarrior and Backlog.md make, imported: import.sh [MCPTASK].
# What each says can be begun, mcptask says too. Tried with taskwarrior 2.6.2.
# npm installs Backlog.md in build/clients-import, so this is not part of "make
# test".

cd "$(dirname "$0")/../.." || exit 1
MCPTASK=$(cd "$(dirname "${1:-./mcptask}")" && pwd)/mcptask
. tests/lib/check.sh
importer=$(pwd)/contrib/mcptask-import
at=$(pwd)/build/clients-import
export MCPTASK HOME="$dir" MCP_TASK_BASE_DIR="$dir/store"

# ready: the tasks in the file "theirs" are those that are ready here
ready() {
    checks=$((checks + 1))
    "$MCPTASK" list --ready --ids | sort >"$dir/ours"
    sort "$dir/theirs" | diff - "$dir/ours" >"$dir/log" ||
        fail "$(cat "$dir/log")"
    rm -rf "$MCP_TASK_BASE_DIR"
}

name=taskwarrior
if wants task; then
    export TASKRC="$dir/rc" TASKDATA="$dir/task"
    echo confirmation=off >"$TASKRC"
    mkdir "$TASKDATA"
    check task add 'Façade — 東京 🏯: "neat"' project:House.Out priority:H +a \
        due:2099-03-01
    check task add Brushes priority:M
    check task 1 modify depends:2
    check task add Spring wait:2099-04-01 until:2099-08-01
    check task add Later scheduled:2099-02-02T10:00
    check task add Weekly due:tomorrow recur:weekly
    check task add Ended
    check task add 'After that'
    check task 'After that' modify depends:6
    check task 6 'done'
    check task 1 annotate 'été #fff'
    task +READY uuids 2>/dev/null | tr ' ' '\n' >"$dir/theirs"
    task export 2>/dev/null >"$dir/export"
    check "$importer" "$dir/export"
    has "$dir/log" ' 0 skipped, 0 failed'
    ready
fi

name=Backlog.md
wants npm || finish
mkdir -p "$at" && echo '{"private":true}' >"$at/package.json" || exit 1
check timeout 300 npm install --prefix "$at" --no-audit --no-fund --no-save \
    backlog.md@1.52.0
# backlog ARGUMENT...: with a bound, and not at a terminal
backlog() {
    timeout 60 "$at/node_modules/.bin/backlog" "$@" </dev/null
}
mkdir "$dir/project" && cd "$dir/project" || exit 1
check backlog init House --defaults --integration-mode none --no-git \
    --backlog-dir backlog
check backlog task create 'Façade: "東京" 🏯 #1' -a @zoë -s 'In Progress' \
    -l 'a: b,c' --priority high --ac 'No cracks' --notes 'x' -d 'Why

## Comments
y'
check backlog task create Scrape -p TASK-1
check backlog task create Paint -p TASK-1 --dep TASK-1.1
check backlog task create Ladder -s Done
check backlog task create Gutter --dep TASK-2
check backlog task create Idea --draft
check backlog task edit 1 --check-ac 1 --comment 'Well done'
backlog task list --ready -s 'To Do' --plain |
    sed -n 's/^.*\(TASK-[0-9.]*\) - .*/\1/p' >"$dir/theirs"
checks=$((checks + 1))
[ -s "$dir/theirs" ] || fail 'it lists no task'
check "$importer" backlog
has "$dir/log" '6 imported, 0 skipped, 0 failed'
"$MCPTASK" show TASK-1 --json >"$dir/shown"
has "$dir/shown" '"title":"Façade: \"東京\" 🏯 #1"' '"current_owner":"zoë"' \
    '"goal":"Why\n\n## Comments\ny"' '"completed_steps":["No cracks"]' \
    '"tags":["a: b","c"]' 'Well done'
ready
finish
