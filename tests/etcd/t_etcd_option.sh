#!/bin/sh
# What commands say of --store where it cannot be used. Usage: as t_cli.sh

# shellcheck source=tests/lib/cli.sh
. "$(dirname "$0")/../lib/cli.sh"

begin wrong
run 2 --store http://127.0.0.1:2379/p list
has err '--store: http://127.0.0.1:2379/p: must start with etcd://'
run 2 --store etcd://127.0.0.1:2379,/p list
has err "--store: '': not an endpoint such as"
MCP_TASK_STORE=etcd://me:secret@127.0.0.1:2379/p run 2 list
has err 'MCP_TASK_STORE: etcd://...@: set MCP_TASK_STORE_AUTH to a file'
lacks err secret
(umask 077 && echo :secret >auth)
MCP_TASK_STORE_AUTH=auth run 2 --store etcd://127.0.0.1:1/p list
has err 'MCP_TASK_STORE_AUTH: auth: needs a line USER:PASSWORD'
printf '\357\273\277:secret\r\n' >auth
MCP_TASK_STORE_AUTH=auth run 2 --store etcd://127.0.0.1:1/p list
has err 'MCP_TASK_STORE_AUTH: auth: needs a line USER:PASSWORD'
chmod 644 auth
MCP_TASK_STORE_AUTH=auth run 2 --store etcd://127.0.0.1:1/p list
has err 'auth: other users can read it; run chmod 600'

begin doctor
mkfifo server
"$bin" --port 0 2>server >served &
served=$!
exec 3<server
read -r line <&3
MCP_TASK_BASE_DIR=$dir/other run 1 --store "etcd://127.0.0.1:${line##*:}/p" \
    doctor --port 1
has out 'problem  hosts' "client port, 2379, without TLS; with a configuration"
kill -TERM $served
wait $served
exec 3<&-
# Why nothing can be written is told, not that verify says more.
run 0 add One
run 1 --store 'etcd://127.0.0.1:1/p?patience=100' doctor --port 1
has out 'problem  store' 'a log of this host alone: to share it, run "mcptask push"' \
    'as in docs/cluster.md'
lacks out 'verify says more'
finish
