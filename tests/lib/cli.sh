# shellcheck shell=sh disable=SC2034 # the scripts that source it read these
# Shared by the tests of commands: "$@" is [MCPTASK [EXE]], and they run in the
# directory of check.sh. Standard input is empty unless it is redirected.

bin=${1:-./mcptask}
bin=$(cd "$(dirname "$bin")" && pwd)/$(basename "$bin")
exe=${2:-$bin} # the program itself, where bin is a script that starts it
lib=$(cd "$(dirname "$0")/../lib" && pwd)
data=$lib/../data
docs=$lib/../../docs
# shellcheck source=tests/lib/check.sh
. "$lib/check.sh"
cd "$dir" || exit 1
exec </dev/null

# run CODE ARGUMENT...: the exit code must be this; output in out and err
run() {
    want=$1
    shift
    last=$*
    "$bin" "$@" >out 2>err
    code=$?
    checks=$((checks + 1))
    [ $code -eq "$want" ] || fail "$*: exit code $code, not $want: $(cat err)"
}

# begin NAME: begins a test with a store of its own, which does not exist yet
begin() {
    name=$1
    export MCP_TASK_BASE_DIR="$dir/$name"
    log=$MCP_TASK_BASE_DIR/tasks.log
    store=$MCP_TASK_BASE_DIR/artifacts
}
