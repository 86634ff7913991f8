#!/bin/sh
# Runs the commands in the documents: docs.sh [MCPTASK [DOCUMENT...]]
#
# Each document gets a new user: a home, and in it a copy of the tree with the
# built program and contrib, which are first in PATH. Fenced blocks of sh run in
# order, each in a shell of its own that stops at the first failure. A comment
# right above a block changes that:
#   docs: skip REASON         do not run it
#   docs: server PORT|SOCKET  keep it running as a server there until "docs:
#                             end" or the end of the document
#   docs: file NAME           save it as NAME instead
# And a comment on its own:
#   docs: needs PROGRAM       skip everything up to "docs: end" if PROGRAM is
#                             not installed
set -u

cd "$(dirname "$0")/.." || exit 1
bin=${1:-./mcptask}
[ $# -eq 0 ] || shift
[ $# -gt 0 ] || set -- README.md CONTRIBUTING.md docs/*.md
work=$(mktemp -d) || exit 1
pids=
passed=0
failed=0
skipped=0
lacking=

# A server leads a process group, since make starts it as a child.
servers_end() {
    for pid in $pids; do
        kill -s TERM -- "-$pid" 2>/dev/null
        wait "$pid" 2>/dev/null
    done
    pids=
}
trap 'servers_end; rm -rf "$work"' EXIT
trap 'exit 1' HUP INT TERM

# cut_blocks DOCUMENT DIR: writes its blocks to DIR/NNN, and a line for each to
# DIR/list: number, line of the document, what to do with it.
cut_blocks() {
    awk -v dir="$2" '
        function put(what) {
            printf "%03d %d %s\n", ++n, NR, what >(dir "/list")
        }
        inside && /^```/ { inside = 0; close(file); next }
        inside { print >file; next }
        /^<!-- docs: / {
            mark = $0
            gsub(/^<!-- docs: | *-->$/, "", mark)
            if (mark ~ /^(end$|needs )/) { put(mark); mark = "" }
            next
        }
        /^```/ {
            inside = 1
            file = "/dev/null"
            if ($0 == "```sh" || mark ~ /^file /) {
                put(mark ? mark : "run")
                file = sprintf("%s/%03d", dir, n)
            }
        }
        /./ { mark = "" }
        END { if (inside) { print FILENAME ": a block has no end"; exit 1 } }
    ' "$1"
}

# is_up PORT|SOCKET
is_up() {
    case $1 in
    /*) [ -S "$1" ] ;;
    *) curl -s -m 2 -o "$work/got" "http://127.0.0.1:$1/"; [ $? -ne 7 ] ;;
    esac
}

# serve BLOCK PORT|SOCKET
serve() {
    if is_up "$2"; then
        echo "something else serves at $2"
        return 1
    fi
    setsid sh -e "$1" &
    pids="$! $pids"
    for _ in $(seq 600); do
        is_up "$2" && return 0
        kill -0 "${pids%% *}" 2>/dev/null || break
        sleep 0.1
    done
    return 1
}

# block DOCUMENT DIR NUMBER LINE WHAT [ARGUMENT...]
block() {
    doc=$1 file=$2/$3 line=$4
    shift 4
    [ -z "$lacking" ] || [ "$1" = end ] || set -- skip
    case $1 in
    skip)
        skipped=$((skipped + 1))
        return
        ;;
    end)
        servers_end
        lacking=
        return
        ;;
    needs)
        command -v "$2" >/dev/null && return
        echo "$doc:$line: skipped what needs $2"
        lacking=$2
        return
        ;;
    file) cp "$file" "$2" ;;
    server) serve "$file" "$2" >"$work/log" 2>&1 ;;
    run) timeout 300 sh -e "$file" >"$work/log" 2>&1 ;;
    *) echo "$1: no such mark" >"$work/log"; false ;;
    esac
    rc=$?
    if [ "$rc" -eq 0 ]; then
        passed=$((passed + 1))
        return
    fi
    failed=$((failed + 1))
    echo "$doc:$line: failed with $rc"
    cat "$file" "$work/log"
}

# play DOCUMENT
play() (
    user=$work/$(basename "$1" .md)
    mkdir -p "$user/blocks" "$user/mcptask/build" || exit 1
    git ls-files -z | xargs -0 cp -p --parents -t "$user/mcptask" || exit 1
    (cd build && find . -name "*.o" ! -path "./*/*/*") | sed "s,^\./,build/," |
        xargs cp -p --parents -t "$user/mcptask" 2>/dev/null
    cp -p build/*.inc build/flags "$user/mcptask/build" 2>/dev/null
    cp -p "$bin" "$user/mcptask/mcptask" || exit 1
    : >"$user/blocks/list"
    cut_blocks "$1" "$user/blocks" || exit 1
    cd "$user/mcptask" || exit 1
    export HOME="$user"
    export PATH="$user/mcptask:$user/mcptask/contrib:$PATH:/usr/sbin"
    unset XDG_STATE_HOME MCP_TASK_BASE_DIR MCP_TASK_DB_PATH \
        MCP_TASK_ARTIFACTS_DIR MCP_TASK_PORT XDG_CONFIG_HOME XDG_DATA_HOME \
        MCP_TASK_SERVER MCP_TASK_TOKEN_FILE
    # What npm installs for everybody goes to this user, without a network.
    export npm_config_prefix="$HOME/.local" npm_config_offline=true \
        npm_config_update_notifier=false
    while read -r number line what; do
        # shellcheck disable=SC2086 # what is words
        block "$1" "$user/blocks" "$number" "$line" $what
    done <"$user/blocks/list"
    servers_end
    echo "$passed $failed $skipped" >"$user/count"
)

bin=$(realpath "$bin") || exit 1
sum="0 0 0"
for doc in "$@"; do
    play "$doc" </dev/null
    sum=$({ echo "$sum"; cat "$work/$(basename "$doc" .md)/count" ||
        echo "0 1 0"; } | awk '{ a += $1; b += $2; c += $3 }
        END { print a, b, c }')
done
read -r passed failed skipped <<END
$sum
END
echo "docs: $passed blocks passed, $failed failed, $skipped skipped"
[ "$failed" -eq 0 ] && [ "$passed" -gt 0 ]
