#!/bin/sh
# The units as systemd runs them: t_units.sh [MCPTASK]
# Starts a separate systemd, in namespaces and a control group that end with it;
# it cannot write to anything of the machine. Needs root and Linux, and says so
# if it has not.

cd "$(dirname "$0")/.." || exit 1

# In the namespaces, where the machine is read-only.
if [ "$1" = --boot ]; then
    mount --make-rprivate / && mount -o remount,ro,bind / &&
        mount --bind "$2" /mnt && mount -t proc proc /proc &&
        umount -R -l /sys/fs/cgroup && mount -t cgroup2 none /sys/fs/cgroup &&
        for to in /run /tmp /var/lib /var/tmp; do
            mount -t tmpfs -o mode=0755 none $to || exit 1
        done && mount --bind /mnt/usr/local/bin /usr/local/bin &&
        mount --bind /mnt/group /etc/group &&
        mount --make-rshared / || exit 1 # credentials come to units that way
    export container=other SYSTEMD_UNIT_PATH=/mnt/units \
        SYSTEMD_GENERATOR_PATH=/mnt/none
    exec /lib/systemd/systemd --system --unit=none.target --show-status=0
fi

bin=${1:-./mcptask}
. tests/lib/check.sh
group=$(sed -n 's/^g *\([^ ]*\) -$/\1/p' packaging/mcptask.sysusers)
for tool in unshare nsenter setpriv curl systemctl /lib/systemd/systemd; do
    wants $tool || finish
done
cgroup=$(sed -n 's/^[^ ]* \([^ ]*\) cgroup2 .*/\1/p' /proc/mounts | head -n 1)
cgroup=${cgroup:-/none}/$me-$$
if [ "$(id -u)" -ne 0 ] || ! mkdir "$cgroup" 2>/dev/null; then
    echo "$me: skipped, it wants root and control groups"
    finish
fi

make -s -o "$bin" install BIN="$bin" PREFIX=/usr/local DESTDIR="$dir" || exit 1
mv "$dir/usr/local/lib/systemd/system" "$dir/units"
mv "$dir/usr/local/lib/systemd/user" "$dir/user"
{
    cat /etc/group
    echo "$group:x:54321:"
} >"$dir/group"
# A manager of units for one user, as user@.service is.
cat >"$dir/units/manager.service" <<END
[Service]
ExecStart=/lib/systemd/systemd --user --unit=none.target
Environment=XDG_RUNTIME_DIR=/run/user SYSTEMD_UNIT_PATH=/mnt/user
Environment=SYSTEMD_GENERATOR_PATH=/mnt/none XDG_STATE_HOME=/tmp/state
Environment=container=other
Delegate=yes
RuntimeDirectory=user
END
for unit in none.target sysinit.target basic.target shutdown.target \
    sockets.target network.target; do
    printf '[Unit]\nDefaultDependencies=no\n' >"$dir/units/$unit"
    cp "$dir/units/$unit" "$dir/user"
done
(
    echo 0 >"$cgroup/cgroup.procs" || exit 1
    exec timeout -s KILL 60 unshare -mpfnuiC --kill-child \
        sh "tests/$me.sh" --boot "$dir"
) >"$dir/boot" 2>&1 &
boot=$!
# Everything must be done within 60 s.
pid=
child() {
    cut -d ' ' -f 1 "/proc/${1:-0}/task/${1:-0}/children" 2>/dev/null
}
ready() {
    for _ in $(seq 100); do
        pid=$(child "$(child $boot)")
        inside systemctl is-active none.target >/dev/null 2>&1 && return 0
        sleep 0.1
    done
    return 1
}
# inside COMMAND...: runs it beside that systemd
inside() {
    nsenter -t "${pid:-0}" -m -p -n -C "$@"
}
# eventually COMMAND...: it succeeds within 10 s
eventually() {
    for _ in $(seq 100); do
        "$@" >"$dir/log" 2>&1 && return 0
        sleep 0.1
    done
    return 1
}
get() {
    inside curl -sf -m 5 "http://127.0.0.1:8766/$1"
}
# tool NAME ARGUMENTS [OPTION...]
tool() {
    called=$1 arguments=$2
    shift 2
    inside curl -sf -m 5 "$@" -H 'Content-Type: application/json' \
        -H 'Accept: application/json' -H 'MCP-Protocol-Version: 2026-07-28' \
        -H 'Mcp-Method: tools/call' -H "Mcp-Name: $called" \
        -d "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{
\"name\":\"$called\",\"arguments\":$arguments,\"_meta\":{
\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\",
\"io.modelcontextprotocol/clientInfo\":{\"name\":\"t\",\"version\":\"1\"},
\"io.modelcontextprotocol/clientCapabilities\":{}}}}" \
        http://127.0.0.1:8766/mcp >"$dir/answer"
}
# show PROPERTY: prints it for the service
show() {
    inside systemctl show -P "$1" mcptask.service
}
# is PROPERTY VALUE
is() {
    [ "$(show "$1")" = "$2" ]
}
end() {
    [ -z "$pid" ] || kill -s KILL "$pid"
    wait "$boot" 2>/dev/null
    # Its processes have ended, but not all may have been removed yet.
    eventually find "$cgroup" -depth -type d -exec rmdir {} + ||
        fail "$(cat "$dir/log")"
}

if ! ready; then
    echo "$me: skipped, systemd does not start here: $(cat "$dir/boot")"
    end
    finish
fi

name=service
check inside systemctl start mcptask.service
check eventually get health
inside cat "/proc/$(show MainPID)/status" >"$dir/status"
tr -s '\t ' ' ' <"$dir/status" >"$dir/facts"
has "$dir/facts" 'NoNewPrivs: 1' 'Seccomp: 2' 'CapEff: 0000000000000000'
lacks "$dir/facts" 'Uid: 0 '
check is MemoryMax 1073741824
tool create_task '{"task_id":"a","title":"Kept"}'
has "$dir/answer" '\"status\":\"open\"'
tool attach_artifact '{"task_id":"a","name":"n","content":"text"}'
has "$dir/answer" 'artifact_id'
check inside test -s /var/lib/mcptask/tasks.log

name=restart
was=$(show MainPID)
inside kill -s KILL "$was"
check eventually is NRestarts 1
check eventually get health
check test "$(show MainPID)" != "$was"
tool get_task '{"task_id":"a"}'
has "$dir/answer" Kept
check inside systemctl reload mcptask.service
check get health
check inside systemctl stop mcptask.service
check is Result success
check is ActiveState inactive
check is ExecMainStatus 0

# As the unit's comment shows: root's tokens are a credential of the service.
name=tokens
mkdir "$dir/units/mcptask.service.d"
echo '0123456789abcdef0 me' >"$dir/tokens"
chmod 600 "$dir/tokens"
sed -n '/^#   \[Service\]/,/^# After/s/^#   //p' "$dir/units/mcptask.service" |
    sed 's,--host ADDRESS,--http,; s,NETWORK,localhost,; s,/etc/mcptask,/mnt,' \
        >"$dir/units/mcptask.service.d/tokens.conf"
has "$dir/units/mcptask.service.d/tokens.conf" LoadCredential --token-file
check inside systemctl daemon-reload
check inside systemctl start mcptask.service
check eventually get health
tool get_task '{"task_id":"a"}'
lacks "$dir/answer" Kept
tool get_task '{"task_id":"a"}' -H 'Authorization: Bearer 0123456789abcdef0'
has "$dir/answer" Kept
check inside systemctl stop mcptask.service
rm -r "$dir/units/mcptask.service.d"
check inside systemctl daemon-reload

name=socket
check inside systemctl start mcptask.socket
check is ActiveState inactive
for _ in 1 2; do
    tool get_task '{"task_id":"a"}'
    has "$dir/answer" Kept
    check is ActiveState active
    check inside systemctl stop mcptask.service
    check is Result success
done

# as GROUP COMMAND...: runs it as another user, of this group
as() {
    gid=$1
    shift
    inside setpriv --reuid 54322 --regid 54322 --groups "$gid" env -i \
        XDG_STATE_HOME=/tmp/none "$@"
}
name=group
store=unix:/run/mcptask/socket
program=/usr/local/bin/mcptask
check inside systemctl start mcptask-group.socket
check inside stat -c %A:%U:%g /run/mcptask/socket
has "$dir/log" srw-rw----:root:54321
check as 54321 $program --server $store list
has "$dir/log" Kept
if as 54322 $program --server $store list >"$dir/log" 2>&1; then
    fail 'others than the group can open the socket'
fi
has "$dir/log" "$store" "$group"
check is ActiveState active
check get health # by mcptask.socket, which still listens
check inside systemctl stop mcptask-group.socket mcptask.socket \
    mcptask.service
check inside test ! -e /run/mcptask/socket

# The units of a user, and the store of that user.
name=user
# manage ARGUMENT...: systemctl of that manager
manage() {
    inside env XDG_RUNTIME_DIR=/run/user systemctl --user "$@"
}
check inside systemctl start manager.service
check eventually manage is-active none.target
check manage start mcptask.socket
tool create_task '{"task_id":"u","title":"Mine"}'
has "$dir/answer" '\"status\":\"open\"'
check manage is-active mcptask.service
check inside test -s /tmp/state/mcptask/tasks.log
check manage reload mcptask.service
check manage stop mcptask.socket mcptask.service
end
finish
