#!/bin/sh
# Checks docs/architecture.md against the code: the files and functions that it
# names exist; the patch of its example applies to a copy of the tree, the
# result builds, and the new tool answers.
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

# call ARGUMENTS: calls the new tool; its answer is in answer
call() {
    printf '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{%s}}\n' \
        "\"name\":\"count_tasks\",\"arguments\":$1" |
        "$dir/mcptask" | tr -d '\\' >"$dir/answer"
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
echo '[{"task_id":"a","title":"A"},{"task_id":"b","title":"B"},
    {"task_id":"c","title":"C","status":"done"}]' >"$dir/tasks"
check "$dir/mcptask" import "$dir/tasks"
call '{"status":"open"}'
has "$dir/answer" '"total":2'
call '{}'
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
finish
