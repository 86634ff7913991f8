#!/bin/sh
# The tests on other processors: cross.sh [--short] [ARCHITECTURE...]
#
# Built by Debian's cross compilers with a static glibc, run by qemu's user
# emulation, two architectures at a time. s390x is big endian, armhf has 32
# bits and a time_t of 64. Each also takes turns on one store with the program
# of this machine, ./mcptask.
#
# These are left out: they take minutes to test the kernel and the clock, which
# are this machine's in any case, or a state machine that knows no bytes.
# Exhaustive loops skip steps.
left_out=' abuse crowd unread crash calls_procs engine '
set -u
cd "$(dirname "$0")/.." || exit 1

# tests_of FOLDER...: the names of the tests in C in these folders
tests_of() {
    for folder; do
        for file in "tests/$folder"/t_*.c; do
            file=${file##*/t_}
            case $left_out in
            *" ${file%.c} "*) ;;
            *) printf '%s ' "${file%.c}" ;;
            esac
        done
    done
}

# Not with --short: the tests that start servers, play an etcd, or fail each call
# of the store in turn.
faults='store_fault store_next store_room'
words=$(left_out="$left_out$faults " && tests_of base json http store task mcp tools)
rest="cli $faults $(tests_of cli serve etcd)"

# ---- one store, two processors ----

checks=0

# has TEXT...: the last output, in out, contains all of them
has() {
    for text; do
        checks=$((checks + 1))
        grep -qF -e "$text" out && continue
        echo "cross.sh: no '$text' in: $(cat out)" >&2
        failed=1
    done
}

# call PROGRAM TOOL ARGUMENTS: over stdio; the answer is in out, with the quotes
# in its text unescaped
call() {
    printf '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{%s}}\n' \
        "\"name\":\"$2\",\"arguments\":$3" | "$1" >said 2>&1 ||
        has 'exit code 0'
    sed 's/\\"/"/g' said >out
}

# same PROGRAM PROGRAM: both read the same, and find no damage
same() {
    for command in 'export' 'tail -n 99 --json' 'show made' 'verify --json'; do
        "$1" $command >out1 2>&1 && "$2" $command >out 2>&1 &&
            cmp out1 out >&2 || failed=1
        checks=$((checks + 1))
    done
}

# by_turns A B: A begins a store, B goes on, then A again
by_turns() {
    export MCP_TASK_BASE_DIR="$dir/store"
    rm -rf "$MCP_TASK_BASE_DIR"
    once='{"task_id":"made","title":"Za\u017c\u00f3\u0142\u0107","agent":"a","idempotency_key":"k"}'
    call "$1" create_task "$once"
    has '"version":1'
    sed 's/"warnings.*//' out >first
    call "$1" create_task '{"task_id":"other","title":"Other"}'
    call "$1" attach_artifact '{"task_id":"made","name":"log","content":"one\ntwo\n"}'
    call "$1" claim_task '{"task_id":"made","agent":"a","lease_seconds":3600}'
    has lease
    call "$1" list_tasks '{"limit":1}'
    has '"total":2' next_cursor
    cursor=$(sed 's/.*"next_cursor":"\([^"]*\)".*/\1/' out)
    same "$1" "$2"

    call "$2" create_task "$once"
    sed 's/"warnings.*//' out >again
    cmp first again >&2 || failed=1
    call "$2" list_tasks "{\"limit\":1,\"cursor\":\"$cursor\"}"
    has '"task_id":"other"'
    call "$2" save_checkpoint '{"task_id":"made","agent":"b"}'
    has '"code":"kept"'
    call "$2" handoff_task '{"task_id":"made","from_agent":"a","completed_steps":["x"]}'
    has '"status":"handoff_ready"'
    call "$2" request_input '{"task_id":"other","agent":"b","question":"Which?"}'
    same "$1" "$2"
    "$2" compact >out 2>&1 || has 'exit code 0'
    call "$2" update_task '{"task_id":"other","priority":0}'
    same "$1" "$2"

    "$1" answer other 'This one' >out 2>&1 || has 'exit code 0'
    call "$1" save_checkpoint '{"task_id":"made","agent":"c","notes":"on"}'
    has '"status":"in_progress"'
    call "$1" create_task "$once"
    has '"version":1'
    "$1" verify >out 2>&1 || has 'exit code 0'
    same "$1" "$2"
}

# ---- the tests of one architecture ----

# run NAME COMMAND...
run() {
    name=$1
    shift
    if ! timeout 900 "$@" >"$dir/$name.log" 2>&1; then
        echo "$arch: $name failed"
        tail -n 20 "$dir/$name.log"
        failed=1
    fi
}

one() {
    arch=$1 failed=0 time64=
    shift
    tests="$words $*"
    dir=$PWD/build/cross/$arch root=$PWD from=$(date +%s)
    case $arch in
    armhf) cc=arm-linux-gnueabihf-gcc qemu=qemu-arm-static time64=TIME64=1 ;;
    *) cc=$arch-linux-gnu-gcc qemu=qemu-$arch-static ;;
    esac
    mkdir -p "$dir/run"
    programs=$(for name in $tests; do
        [ "$name" = cli ] || echo "$dir/t_$name"
    done)
    # shellcheck disable=SC2086 # names without blanks
    make CC=$cc B="$dir" BIN="$dir/mcptask" TEST_STEP=29 $time64 \
        "$dir/mcptask" "$dir/fixture" $programs \
        >"$dir/make.log" 2>&1 || {
        echo "$arch: it does not build"
        tail -n 20 "$dir/make.log"
        return 1
    }
    # The kernel may not know how to start these, so scripts do.
    for name in mcptask fixture; do
        printf '#!/bin/sh\nexec %s "%s" "$@"\n' $qemu "$dir/$name" \
            >"$dir/run/$name"
        chmod +x "$dir/run/$name"
    done
    built=$(($(date +%s) - from))
    for name in $tests; do
        set --
        case $name in
        server | nomem | web_*) set -- "$dir/run/mcptask" ;;
        web) set -- "$dir/run/mcptask" "$dir/run/fixture" ;;
        esac
        if [ "$name" = cli ]; then
            run cli sh tests/cli/t_cli.sh "$dir/run/mcptask" "$dir/mcptask"
        else
            run "$name" $qemu "$dir/t_$name" "$@"
        fi
    done
    cd "$dir/run" || return 1
    by_turns "$root/mcptask" "$dir/run/mcptask"
    by_turns "$dir/run/mcptask" "$root/mcptask"
    [ $failed -eq 0 ] && printf '%s: %s and %d checks by turns passed, %d s %s\n' \
        "$arch" "$(cat "$dir"/*.log | sed -n 's/.*: \([0-9]*\) checks passed/\1/p' |
        awk '{ n += $1 } END { print NR " tests, " n " checks" }')" \
        $checks $(($(date +%s) - from)) "($built to build)"
    return $failed
}

if [ "${1-}" = --one ]; then
    unset MCP_TASK_DB_PATH MCP_TASK_ARTIFACTS_DIR XDG_STATE_HOME MCP_DEBUG
    shift
    one "$@"
    exit
fi
[ "${1-}" != --short ] || { rest= && shift; }
[ -x ./mcptask ] || make || exit 1
[ $# -gt 0 ] || set -- s390x armhf riscv64 aarch64
# shellcheck disable=SC2086 # names without blanks
printf '%s\n' "$@" | xargs -I ARCH -P 2 sh tests/cross.sh --one ARCH $rest
