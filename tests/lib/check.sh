# shellcheck shell=sh
# Shared by the tests in sh, which source it: a directory of their own, and
# checks that are counted. They may read dir, checks, failed and me.

me=$(basename "$0" .sh)
dir=$(mktemp -d) || exit 1
trap 'rm -rf "$dir"' EXIT
# tests/bounded.c sends it when the time is up.
trap 'fail "no end after $checks checks; the last command: $last"; exit 1' ALRM
unset MCP_TASK_DB_PATH MCP_TASK_ARTIFACTS_DIR XDG_STATE_HOME MCP_DEBUG
unset MCP_TASK_AGENT MCP_TASK_SERVER MCP_TASK_TOKEN_FILE CLAUDE_ENV_FILE
export MCP_TASK_REPO= # whatever repository the tests run in
unset MAKEFLAGS MFLAGS MAKEOVERRIDES
# For those that ask for a store of no directory: whoever runs them has a home.
export HOME="${HOME:-$dir}"
# A subshell begins with failed=0 and ends with "exit $failed", so that what
# failed before it is not counted against it.
checks=0 failed=0 name='' last=''

fail() {
    failed=$((failed + 1))
    echo "$me: ${name:+$name: }$*" >&2
}

# check COMMAND...: it succeeds
check() {
    last=$*
    checks=$((checks + 1))
    "$@" >"$dir/log" 2>&1 || fail "$*: $(cat "$dir/log")"
}

# has FILE TEXT..., lacks FILE TEXT...: it contains all of them, or none
has() {
    file=$1
    shift
    for text; do
        checks=$((checks + 1))
        grep -qF -e "$text" "$file" || fail "no '$text' in: $(cat "$file")"
    done
}
lacks() {
    file=$1
    shift
    for text; do
        checks=$((checks + 1))
        grep -qF -e "$text" "$file" && fail "'$text' in: $(cat "$file")"
    done
}

same() {
    checks=$((checks + 1))
    cmp -s "$1" "$2" || fail "$1 and $2 differ"
}

# wants COMMAND: whether it is installed
wants() {
    command -v "$1" >/dev/null && return 0
    echo "$me: skipped what needs $1"
    return 1
}

# Prints how many checks there were, if none failed.
finish() {
    [ $failed -eq 0 ] && echo "$me: $checks checks passed"
    exit $((failed > 0))
}
