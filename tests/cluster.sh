#!/bin/sh
# Three hosts share a store: each has a node of etcd and a directory of its own,
# all on this machine. An agent on one host works until that host's node is
# killed; another agent on another host takes over. Usage: cluster.sh [MCPTASK]
set -eu

mcptask=$(realpath "${1:-./mcptask}")
for program in etcd etcdctl; do
    command -v $program >/dev/null && continue
    echo 'cluster.sh needs etcd: apt install etcd-server etcd-client'
    exit 1
done
work=$(mktemp -d)
# shellcheck source=tests/etcd/nodes.sh
. "$(dirname "$0")/etcd/nodes.sh"
trap 'nodes_end; rm -rf "$work"' EXIT
trap 'exit 1' HUP INT TERM

# on HOST COMMAND...: runs mcptask there, the host's own node first.
on() {
    host=$1
    shift
    others=
    for i in 1 2 3; do
        [ "$i" = "$host" ] || others=$others,127.0.0.1:$((base + i))
    done
    printf '\nhost %d$ mcptask' "$host"
    printf ' %s' "$@"
    echo
    MCP_TASK_BASE_DIR=$work/host$host MCP_TASK_STORE="etcd://127.0.0.1:$((base \
        + host))$others/demo/main" "$mcptask" "$@" | sed 's/^/  /'
}

echo 'Three nodes of etcd start.'
nodes_begin || { echo 'etcd does not start:'; cat "$work"/n*.out; exit 1; }
on 1 add 'Add rate limiting' --id task-001
on 1 claim task-001 --agent claude-code
on 1 checkpoint task-001 --agent claude-code --resume-prompt \
    'The middleware is in src/limit.js; tests are missing.'
on 2 list
printf '\nThe node of host 1 is killed; two of three are enough.\n'
node_kill 1
on 1 handoff task-001 --agent claude-code --to hermes --reason 'shutdown'
on 3 claim task-001 --agent hermes
on 3 'done' task-001 --agent hermes
on 2 history task-001
printf '\nHost 2 loses its replica, and gets it again.\n'
rm -rf "$work/host2"
on 2 list --all
printf '\nNode 1 comes back. The replicas, but for their checksums:\n'
node_start 1
for host in 1 2 3; do
    on "$host" list --all
    on "$host" verify
    sed 's/"c":"[^"]*","g":[0-9]*,//' "$work/host$host/tasks.log" |
        tail -n +2 | sha256sum | sed 's/^/  /'
done
