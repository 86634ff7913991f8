#!/bin/sh
# Gives clients what "mcptask config" prints for them, and has "mcptask setup"
# add the server to them, over stdio and over HTTP with a token:
# clients.sh [MCPTASK]. Then plays tests/agents with them, and has the clients
# of tests/clients/python work. npm and pip install the clients in
# build/clients, which takes 2 GB, so this is not part of "make test". They are
# not logged in anywhere, and their own files stay there. codex lists the
# server, the others connect.

cd "$(dirname "$0")/.." || exit 1
bin=${1:-./mcptask}
bin=$(cd "$(dirname "$bin")" && pwd)/$(basename "$bin")
. tests/lib/check.sh
wants npm || finish
tree=$(pwd)
at=$tree/build/clients
mkdir -p "$at" && echo '{"private":true}' >"$at/package.json" || exit 1
timeout 600 npm install --prefix "$at" --no-audit --no-fund --no-save \
    @anthropic-ai/claude-code@2.1.197 @openai/codex@0.169.0 \
    @google/gemini-cli@0.61.0 >"$dir/npm" 2>&1 || {
    cat "$dir/npm"
    exit 1
}
PATH=$at/node_modules/.bin:$PATH

name=agents
checks=$((checks + 1))
MCPTASK=$bin CLIENTS=$at/node_modules/.bin \
    node --test "$tree"/tests/agents/*.test.mjs >"$dir/agents" 2>&1 ||
    fail "$(cat "$dir/agents")"

name=python
checks=$((checks + 1))
MCPTASK=$bin sh tests/clients/python/run.sh >"$dir/python" 2>&1 ||
    fail "$(cat "$dir/python")"
sed -n '/^client  /,$p' "$dir/python"

HOME=$dir/home
MCP_TASK_BASE_DIR=$dir/store
GEMINI_CLI_TRUST_WORKSPACE=true
export PATH HOME MCP_TASK_BASE_DIR GEMINI_CLI_TRUST_WORKSPACE
mkdir -p "$HOME/.codex" "$HOME/.gemini" "$HOME/project"
cd "$HOME/project" || exit 1

# give CLIENT ARGUMENT...: configures it as "mcptask config" says, and asks it
# for its servers
give() {
    client=$1
    "$bin" config "$@" >"$dir/config" 2>"$dir/log" || fail "config $*"
    case $client in
    claude-code)
        timeout 60 claude mcp remove mcptask -s user
        sed -n 1p "$dir/config" >"$dir/add"
        timeout 60 sh "$dir/add"
        timeout 60 claude mcp list
        ;;
    codex)
        cp "$dir/config" "$HOME/.codex/config.toml"
        timeout 60 codex mcp list
        ;;
    gemini)
        cp "$dir/config" "$HOME/.gemini/settings.json"
        timeout 60 gemini mcp list
        ;;
    esac </dev/null >"$dir/said" 2>&1
}

# set_up CLIENT ARGUMENT...: the same by the client's own command, twice, since
# the second one replaces the server
set_up() {
    case $1 in
    claude-code) program=claude ;;
    *) program=$1 ;;
    esac
    rm -f "$HOME/.codex/config.toml" "$HOME/.gemini/settings.json"
    for _ in 1 2; do
        timeout 60 "$bin" setup "$@" || fail "setup $*"
    done
    timeout 60 $program mcp list
} </dev/null >"$dir/said" 2>&1

name=stdio
give claude-code
has "$dir/said" "mcptask: $bin " Connected
give codex
has "$dir/said" "mcptask  $bin" enabled
give gemini
has "$dir/said" "mcptask: $bin " Connected

for client in claude-code codex gemini; do
    set_up $client
    has "$dir/said" "$bin"
    case $client in
    codex) has "$dir/said" enabled ;;
    *) has "$dir/said" Connected ;;
    esac
done

name=http
token=tok-0123456789abcdef
(umask 077 && echo "$token carol" >"$dir/tokens")
"$bin" --http --port 0 --token-file "$dir/tokens" 2>"$dir/served" &
server=$!
for _ in 1 2 3 4 5 6 7 8 9 10; do
    [ -s "$dir/served" ] && break
    sleep 0.1
done
url=$(sed -n 's/^mcptask: \(http:.*\)/\1/p' "$dir/served")/mcp
# is_on: the client says that it is connected, and does not show the token
is_on() {
    has "$dir/said" "$url"
    lacks "$dir/said" "$token"
    case $client in
    codex) has "$dir/said" 'Bearer token' ;;
    *) has "$dir/said" Connected ;;
    esac
}
for client in claude-code codex gemini; do
    give $client --http --token-file "$dir/tokens" --agent carol "$url"
    is_on
done
export MCPTASK_TOKEN=$token
HOME=$dir/other # config may put the token into files, setup may not
mkdir -p "$HOME/.codex" "$HOME/.gemini"
for client in claude-code codex gemini; do
    set_up $client --http --token-env MCPTASK_TOKEN "$url"
    is_on
    checks=$((checks + 1))
    grep -rqF "$token" "$HOME" && fail "$client keeps the token"
done
kill $server
wait $server
finish
