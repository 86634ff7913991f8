#!/bin/sh
# A machine whose mcptask runs as a service: commands with an empty store of
# their own say how to reach it. t_service.sh [MCPTASK [EXE]]. The places of a
# service are made in a mount namespace; it says so where there is none.

self=$(cd "$(dirname "$0")" && pwd)/$(basename "$0")
# shellcheck source=tests/lib/cli.sh
. "$(dirname "$0")/../lib/cli.sh"

wants script || finish
if [ -z "$T_SERVICE" ]; then
    for how in -m -rm; do # as root there are other users
        if unshare $how true 2>err; then
            T_SERVICE=1 unshare $how sh "$self" "$bin" "$exe"
            exit
        fi
    done
    echo "$me: skipped: $(cat err)" && exit
fi
chmod 755 "$dir"
for to in /run /var/lib; do
    if ! mount -t tmpfs -o mode=755 none $to 2>err; then
        echo "$me: skipped: $(cat err)" && exit
    fi
done
unset MCP_TASK_BASE_DIR
export XDG_STATE_HOME="$dir/state"
# typed WORDS: runs this at a terminal; output in out
typed() {
    script -qec "$1" /dev/null >out 2>err </dev/null
}

name=no_service
typed "'$bin' list"
lacks out "machine's service"

name=a_port
mkdir /var/lib/mcptask
typed "'$bin' list"
has out "this store is empty; for the tasks of this machine's service, run" \
    '"mcptask --server 127.0.0.1:8766 list"'
typed "'$bin' board --json"
lacks out "machine's service"
typed "MCP_TASK_BASE_DIR=$dir/other '$bin' list"
lacks out "machine's service"
run 0 list # not at a terminal
lacks err "machine's service"
"$bin" doctor --port 1 >out
has out 'ok  service    127.0.0.1:8766: has another store; to use it, set' \
    'MCP_TASK_SERVER=127.0.0.1:8766'
MCP_TASK_BASE_DIR=/var/lib/mcptask "$bin" doctor --port 1 >out
lacks out 'another store'

name=a_socket
export MCP_TASK_SERVER=unix:/run/mcptask/socket
mkdir /run/mcptask
mkfifo said
MCP_TASK_BASE_DIR=/var/lib/mcptask "$bin" --unix /run/mcptask/socket 2>said &
served=$!
read -r line <said
has /dev/stdin 'unix:/run/mcptask/socket' <<END
$line
END
run 0 add --id s Kept
unset MCP_TASK_SERVER
typed "'$bin' list"
has out '"mcptask --server unix:/run/mcptask/socket list"'
lacks out Kept
# What it says to do helps.
run 0 --server unix:/run/mcptask/socket list
has out 's  open' Kept

# Another user, who is no member of the group.
name=closed
cp "$exe" "$dir/program"
user=54322
drop="setpriv --reuid $user --regid $user --clear-groups"
if $drop "$dir/program" --version >out 2>err; then
    group=$(stat -c %G /run/mcptask/socket)
    mkdir -m 777 "$dir/none"
    # closed WORDS: who may open it, as list, doctor and --server say
    closed() {
        typed "XDG_STATE_HOME=$dir/none $drop '$dir/program' list"
        has out "this machine's service is $1"
        XDG_STATE_HOME=$dir/none $drop "$dir/program" doctor --port 1 >out
        has out "unix:/run/mcptask/socket: has another store, $1"
        $drop "$dir/program" --server unix:/run/mcptask/socket list 2>err
        check test $? -eq 3
        has err "unix:/run/mcptask/socket: $1"
    }
    closed "open to the user root only"
    chmod 660 /run/mcptask/socket
    closed "open to the group $group only; run \"sudo usermod -aG $group"
else
    echo "$me: closed: skipped, it cannot become another user: $(cat err)"
fi
kill -TERM $served
wait $served

name=own_tasks
run 0 add Mine
typed "'$bin' list"
has out Mine
lacks out "machine's service"
finish
