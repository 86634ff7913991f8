#!/bin/sh
# Checks docs/architecture.md against the code: the files and functions that it
# names exist; the patches of its examples apply to a copy of the tree, the
# result builds, and the new field and tool work.
# t_example.sh BUILD CC CFLAGS STATIC, with make's values.

cd "$(dirname "$0")/.." || exit 1
build=$1 cc=$2 cflags=$3 static=$4
. tests/lib/check.sh
case $build in /*)
    echo "$me: skipped, a copy would build in $build as well"
    exit 0 ;;
esac

# The tree as it was built, so that make builds only what the patch changes.
mkdir -p "$dir/tree/$build" &&
    tar -c --exclude=./.git --exclude=./build --exclude=./mcptask \
        --exclude=node_modules . | tar -x -C "$dir/tree" &&
    (cd "$build" && tar -c -- flags *.inc *.[do] */*.[do]) |
    tar -x -C "$dir/tree/$build" || exit 1

# build: makes the changed program
build() {
    check make -C "$dir/tree" B="$build" BIN="$dir/mcptask" CC="$cc" \
        CFLAGS="$cflags" STATIC="$static" "$dir/mcptask"
}

# send METHOD PARAMS: what the changed server answers is in answer
send() {
    printf '{"jsonrpc":"2.0","id":1,"method":"%s","params":%s}\n' "$1" "$2" |
        "$dir/mcptask" | tr -d '\\' >"$dir/answer"
}

# call TOOL ARGUMENTS
call() {
    send tools/call "{\"name\":\"$1\",\"arguments\":$2}"
}

# run ARGUMENT...: a command of the changed program; its output is in answer
run() {
    checks=$((checks + 1))
    last=$*
    "$dir/mcptask" "$@" >"$dir/answer" 2>&1 || fail "$*: $(cat "$dir/answer")"
}

# lists IDS: the answer has these tasks, in this order
lists() {
    got=$(grep -o '"task_id":"[a-z]*"' "$dir/answer" | cut -d '"' -f 4 |
        tr '\n' ' ')
    checks=$((checks + 1))
    [ "$got" = "$1 " ] || fail "not $1: $(cat "$dir/answer")"
}

for ref in $(grep -o '[a-z_/]*\.c:[a-z_]*' docs/architecture.md); do
    check grep -q "^${ref#*:}(" "${ref%:*}"
done
for ref in $(grep -oE '`[a-z_/-]+\.(c|h|sh|txt|1)`' docs/architecture.md); do
    check test -e "$(echo "$ref" | tr -d '\`')"
done
cat -- *.h */*.h >"$dir/headers"
for ref in $(grep -oE '`(mcp|store|tools)_[a-z_]+`' docs/architecture.md); do
    check grep -qw "$(echo "$ref" | tr -d '\`')" "$dir/headers"
done
sed -n '/^```diff$/,/^```$/p' docs/architecture.md | sed '/^```/d' \
    >"$dir/patch"
check test -s "$dir/patch"
wants patch || finish
# By numbers and context, with no line of that left out.
check patch -d "$dir/tree" -p1 -F0 -i "$dir/patch"
build
export MCP_TASK_BASE_DIR="$dir/store"

# The field: the tools ...
call create_task '{"task_id":"a","title":"A","due":"2026-12-02T00:00:00Z"}'
call create_task '{"task_id":"b","title":"B"}'
call create_task '{"task_id":"c","title":"C","due":"2026-12-03"}'
call update_task '{"task_id":"b","due":"2026-12-01T12:00:00+02:00"}'
call get_task '{"task_id":"b"}'
has "$dir/answer" '"due":"2026-12-01T10:00:00.000Z"'
call update_task '{"task_id":"b","due":"soon"}'
has "$dir/answer" '"isError":true' '"field":"due"'
call create_task '{"task_id":"d","title":"D"}'
call list_tasks '{"order":"due"}'
lists 'b a c d'
has "$dir/answer" '"due":"2026-12-02T00:00:00.000Z"'
call list_tasks '{"order":"due","limit":2}'
lists 'b a'
cursor=$(sed -n 's/.*"next_cursor":"\([^"]*\)".*/\1/p' "$dir/answer")
call list_tasks "{\"order\":\"due\",\"limit\":2,\"cursor\":\"$cursor\"}"
lists 'c d'
call list_tasks '{"due_before":"2026-12-02"}'
lists b
send prompts/get '{"name":"resume_task","arguments":{"task_id":"b"}}'
has "$dir/answer" '- due: 2026-12-01T10:00:00.000Z'
# ... the command line ...
run add --id e --due 2026-11-30 E
has "$dir/answer" '  due 2026-11-30  E'
run edit a --due ''
lacks "$dir/answer" due
run list --order due --json
lists 'e b c d a'
run list --due-before 2026-12-01 --json
lists e
run list --help
has "$dir/answer" --due-before
sh man/lists.sh "$dir/mcptask" >"$dir/man" # as make man does
has "$dir/man" '.It Fl -due Ar TIME' '.It Fl -due-before Ar TIME'
run show b
has "$dir/answer" '- due: 2026-12-01T10:00:00.000Z'
run completion bash
has "$dir/answer" "'--due	" "'--due-before	"
# ... the page ...
send resources/read '{"uri":"ui://mcptask/board"}'
has "$dir/answer" "due: { label: 'Due'"
# ... and another store.
run export
cp "$dir/answer" "$dir/tasks"
MCP_TASK_BASE_DIR=$dir/other
run import "$dir/tasks"
run list --order due --json
lists 'e b c d a'
has "$dir/answer" '"due":"2026-12-01T10:00:00.000Z"'
call update_task '{"task_id":"d","status":"done"}'

# The tool.
call count_tasks '{"status":"open"}'
has "$dir/answer" '"total":4'
call count_tasks '{}'
has "$dir/answer" '"isError":true' '"field":"status"'

# Half of the patch: the server does not start, and points to what is missing.
# half FILE: puts the tree's FILE back
half() {
    name="without $1"
    cp "$1" "$dir/tree/$1"
    build
    check sh -c '! "$1" </dev/null 2>"$2"' sh "$dir/mcptask" "$dir/said"
}
half tools/tools.txt
has "$dir/said" 'tools/call.c:'
half tools/tools.c
has "$dir/said" 'tools/tools.c:'
half task/fields.c
has "$dir/said" 'task/fields.c:'
finish
