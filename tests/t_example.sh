#!/bin/sh
# Checks docs/architecture.md against the code: the files and functions that it
# names exist; the patch of its example applies to a copy of the tree, the
# result builds, and the new tool answers. docs/faq.md explains each error code,
# and no other.
# t_example.sh BUILD CC CFLAGS, with make's values.

cd "$(dirname "$0")/.." || exit 1
build=$1 cc=$2 cflags=$3
. tests/lib/check.sh
case $build in /*)
    echo "$me: skipped, a copy would build in $build as well"
    exit 0 ;;
esac

# The tree as it was built, so that make builds only what the patch changes.
mkdir -p "$dir/tree/$build" &&
    tar -c --exclude=./.git --exclude=./build --exclude=./mcptask \
        --exclude=node_modules . | tar -x -C "$dir/tree" &&
    (cd "$build" && tar -c -- *.inc *.[do] */*.[do]) |
    tar -x -C "$dir/tree/$build" || exit 1

# apply PATCH DIR: finds each hunk by its context, which must occur exactly once
# in the file; line numbers are ignored.
apply() {
    awk -v dir="$2/" '
        function matches(at,    i) {
            for (i = 1; i <= olds; i++)
                if (line[at + i - 1] != old[i])
                    return 0
            return 1
        }
        function put_hunk(    n, i, at, times, path) {
            if (!olds)
                return
            path = dir file
            while ((getline line[n + 1] <path) > 0)
                n++
            close(path)
            for (i = 1; i + olds <= n + 1; i++)
                if (matches(i)) {
                    at = i
                    times++
                }
            if (times != 1) {
                print file ": found " times + 0 " times: " old[1]
                exit 1
            }
            printf "" >path
            for (i = 1; i <= n; i++) {
                if (i == at) {
                    printf "%s", new >path
                    i += olds - 1
                } else
                    print line[i] >path
            }
            close(path)
            olds = 0
            new = ""
        }
        /^--- / { put_hunk(); next }
        /^\+\+\+ b\// { file = substr($0, 7); next }
        /^@@/ { put_hunk(); next }
        /^[- ]/ { old[++olds] = substr($0, 2) }
        /^[+ ]/ { new = new substr($0, 2) "\n" }
        END { put_hunk() }
    ' "$1"
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
sed -n 's/^ *"\([a-z_]*\)\\0".*ERR_.*/\1/p' base/err.c | sort -u >"$dir/codes"
sed -n 's/^| `\([a-z_]*\)` |.*/\1/p' docs/faq.md | sort >"$dir/explained"
check test -s "$dir/codes"
check diff "$dir/codes" "$dir/explained"
sed -n '/^```diff$/,/^```$/p' docs/architecture.md | sed '/^```/d' \
    >"$dir/patch"
check test -s "$dir/patch"
check apply "$dir/patch" "$dir/tree"
check make -C "$dir/tree" B="$build" BIN="$dir/mcptask" CC="$cc" \
    CFLAGS="$cflags -O0 -fno-lto" "$dir/mcptask"
export MCP_TASK_BASE_DIR="$dir/store"
echo '[{"task_id":"a","title":"A"},{"task_id":"b","title":"B"},
    {"task_id":"c","title":"C","status":"done"}]' >"$dir/tasks"
check "$dir/mcptask" import "$dir/tasks"
call '{"status":"open"}'
has "$dir/answer" '"total":2'
call '{}'
has "$dir/answer" '"isError":true' '"field":"status"'
finish
