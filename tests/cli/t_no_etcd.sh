#!/bin/sh
# A program built by make ETCD= refuses a store of several hosts, and leaves the
# log as it is. Usage: as t_cli.sh

# shellcheck source=tests/lib/cli.sh
. "$(dirname "$0")/../lib/cli.sh"

begin no_etcd
run 0 add One
cp "$log" before
for command in list push 'pull file' doctor; do
    # shellcheck disable=SC2086 # it may be two words
    run 2 --store etcd://127.0.0.1:1/p $command
    has err '--store: this program was built without etcd'
done
MCP_TASK_STORE=etcd://127.0.0.1:1/p run 2
has err 'MCP_TASK_STORE: this program was built without etcd'
run 2 push
same "$log" before
run 0 doctor --port 1
finish
