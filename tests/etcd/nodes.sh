# Three nodes of etcd on loopback, for the scripts that source this file. The
# caller makes $work, and calls nodes_end when it exits.
# shellcheck shell=sh disable=SC2034,SC2154 # what each side sets

# node_start I: starts or restarts node I, from 1 to 3.
node_start() {
    at=127.0.0.1
    etcd --name "n$1" --data-dir "$work/n$1" --log-level error \
        --listen-client-urls "http://$at:$((base + $1))" \
        --advertise-client-urls "http://$at:$((base + $1))" \
        --listen-peer-urls "http://$at:$((base + 10 + $1))" \
        --initial-advertise-peer-urls "http://$at:$((base + 10 + $1))" \
        --initial-cluster "$peers" --initial-cluster-token "mcptask-$base" \
        --unsafe-no-fsync=true >>"$work/n$1.out" 2>&1 &
    eval "node$1=$!"
}

# node_kill I [SIGNAL]
node_kill() {
    eval "pid=\$node$1"
    kill -s "${2:-KILL}" "$pid" 2>/dev/null || :
    [ "${2:-KILL}" != KILL ] || wait "$pid" 2>/dev/null || :
}

# node_wait I: until it answers; a request may fail while a leader is elected.
node_wait() {
    for try in 1 2 3 4 5; do
        ETCDCTL_API=3 timeout 12 etcdctl --command-timeout 10s \
            --endpoints "127.0.0.1:$((base + $1))" get x >/dev/null 2>&1 &&
            return
        sleep "0.$try"
    done
    return 1
}

# The number of the leading node.
nodes_leader() {
    for i in 1 2 3; do
        ETCDCTL_API=3 timeout 3 etcdctl --command-timeout 2s \
            --endpoints "127.0.0.1:$((base + i))" endpoint status 2>/dev/null |
            grep -q ', true, false' && echo "$i" && return
    done
    echo 1
}

# The ports are below those that connections get by themselves.
nodes_begin() {
    base=$((20000 + $$ % 400 * 30))
    endpoints='' peers=''
    for i in 1 2 3; do
        endpoints=$endpoints,127.0.0.1:$((base + i))
        peers=$peers,n$i=http://127.0.0.1:$((base + 10 + i))
    done
    endpoints=${endpoints#,} peers=${peers#,}
    for i in 1 2 3; do
        node_start "$i"
    done
    node_wait 1 && node_wait 2 && node_wait 3
}

nodes_end() {
    for i in 1 2 3; do
        eval "pid=\${node$i:-}"
        [ -z "$pid" ] || kill -s KILL "$pid" 2>/dev/null || :
    done
}
