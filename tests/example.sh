#!/bin/sh
# The examples of docs/architecture.md at work: "make example" applies the field
# to a copy of the tree, builds it, runs all tests but t_example, unless --short
# is given, and uses the field from end to end. Then it adds the tool.
# example.sh [--short] [CC]
# example.sh cut NAME COMMIT: writes the patch of that name anew

cd "$(dirname "$0")/.." || exit 1
if [ "$1" = cut ]; then
    git show --format=%B --no-color -U1 "$3" >"tests/example/$2.patch"
    exit
fi
. tests/lib/check.sh
short=
[ "$1" != --short ] || { short=1 && shift; }
cc=${1:-cc}
wants patch || finish
jobs=$(getconf _NPROCESSORS_ONLN)

mkdir "$dir/tree" &&
    tar -c --exclude=./.git --exclude=./build --exclude=./mcptask \
        --exclude=node_modules . | tar -x -C "$dir/tree" || exit 1

# add NAME: applies a patch with all lines of its context, and says its size
add() {
    check patch -d "$dir/tree" -p1 -F0 -i "$PWD/tests/example/$1.patch"
    printf '%s: ' "$1"
    git apply --stat "tests/example/$1.patch" | tail -n 1
}

# build: makes the changed program
build() {
    check make -C "$dir/tree" "-j$jobs" "CC=$cc"
}

# send METHOD PARAMS: what the changed server answers is in answer
send() {
    printf '{"jsonrpc":"2.0","id":1,"method":"%s","params":%s}\n' "$1" "$2" |
        "$dir/tree/mcptask" | tr -d '\\' >"$dir/answer"
}

# call TOOL ARGUMENTS
call() {
    send tools/call "{\"name\":\"$1\",\"arguments\":$2}"
}

# run ARGUMENT...: a command of the changed program; its output is in answer
run() {
    checks=$((checks + 1))
    last=$*
    "$dir/tree/mcptask" "$@" >"$dir/answer" 2>&1 ||
        fail "$*: $(cat "$dir/answer")"
}

# lists IDS: the answer has these tasks, in this order
lists() {
    got=$(grep -o '"task_id":"[a-z]*"' "$dir/answer" | cut -d '"' -f 4 |
        tr '\n' ' ')
    checks=$((checks + 1))
    [ "$got" = "$1 " ] || fail "not $1: $(cat "$dir/answer")"
}

add estimate
build
if [ -z "$short" ]; then
    check make -C "$dir/tree" "CC=$cc" BUT=example test
    grep ' passed, .* failed$' "$dir/log"
    [ $failed -eq 0 ] || finish
fi
export MCP_TASK_BASE_DIR="$dir/store"

# The tools ...
call create_task '{"task_id":"a","title":"A","estimate":90}'
call create_task '{"task_id":"b","title":"B"}'
call create_task '{"task_id":"c","title":"C","estimate":525600}'
call update_task '{"task_id":"b","estimate":"15"}'
call get_task '{"task_id":"b"}'
has "$dir/answer" '"estimate":15'
for wrong in 0.5 525601 '"soon"'; do
    call update_task "{\"task_id\":\"b\",\"estimate\":$wrong}"
    has "$dir/answer" '"isError":true' '"field":"estimate"'
done
call create_task '{"task_id":"d","title":"D"}'
call list_tasks '{"order":"estimate"}'
lists 'b a c d'
has "$dir/answer" '"estimate":90,'
call list_tasks '{"order":"estimate","limit":2}'
lists 'b a'
cursor=$(sed -n 's/.*"next_cursor":"\([^"]*\)".*/\1/p' "$dir/answer")
call list_tasks "{\"order\":\"estimate\",\"limit\":2,\"cursor\":\"$cursor\"}"
lists 'c d'
call list_tasks '{"estimate_max":90,"order":"estimate"}'
lists 'b a'
send prompts/get '{"name":"resume_task","arguments":{"task_id":"b"}}'
has "$dir/answer" '- estimate: 15'
# ... the command line ...
run add --id e --estimate 8 E
run edit a --estimate ''
run show a --json
lacks "$dir/answer" estimate
run list --order estimate --json
lists 'e b c d a'
run list --estimate-max 14 --json
lists e
run show b
has "$dir/answer" '- estimate: 15'
run completion bash
has "$dir/answer" "'--estimate	" "'--estimate-max	"
# ... the terminal, if there is one to try ...
if command -v script >"$dir/log"; then
    check env COLUMNS=80 TERM=xterm NO_COLOR=1 script -qec \
        "'$dir/tree/mcptask' show b" /dev/null
    has "$dir/log" 'minutes     15'
    check env EDITOR="sed -i 's/^estimate: 15/estimate: 10/'" script -qec \
        "'$dir/tree/mcptask' edit b" /dev/null
    run show b
    has "$dir/answer" '- estimate: 10'
fi
# ... the page ...
send resources/read '{"uri":"ui://mcptask/board"}'
has "$dir/answer" "estimate: { label: 'Minutes"
# ... and another store.
run export
cp "$dir/answer" "$dir/tasks"
MCP_TASK_BASE_DIR=$dir/other
run import "$dir/tasks"
run list --order estimate --json
lists 'e b c d a'

# The tool.
add count_tasks
build
call update_task '{"task_id":"d","status":"done"}'
call count_tasks '{"status":"open"}'
has "$dir/answer" '"total":4'
call count_tasks '{}'
has "$dir/answer" '"isError":true' '"field":"status"'

# Half of a patch: the server does not start, and points to what is missing.
# half FILE: puts the tree's FILE back
half() {
    name="without $1"
    cp "$1" "$dir/tree/$1"
    build
    check sh -c '! "$1" </dev/null 2>"$2"' sh "$dir/tree/mcptask" "$dir/said"
}
half tools/tools.txt
has "$dir/said" 'tools/call.c:'
half tools/tools.c
has "$dir/said" 'tools/tools.c:'
half task/fields.c
has "$dir/said" 'task/fields.c:'
finish
