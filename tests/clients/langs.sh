#!/bin/sh
# Runs clients made with the MCP SDKs of other languages, against MCPTASK or
# ./mcptask: langs.sh [go|rust|java]... Their packages come from the registry of
# the language, and are built in build/clients. A language whose tools are absent
# or too old is skipped.
#
# A client is run as CLIENT TRANSPORT, with a store of its own, and gives no
# agent names. It prints a line for each step: its name, "ok", "failed", "known"
# (the client's fault) or "none" (the SDK has no such thing), and a reason, with
# tabs between. It finds in the environment:
#   MCPTASK, MCP_TASK_BASE_DIR  the program and its store
#   URL              of the server, to which TRANSPORT goes; empty for stdio
#   RESTART          a command that kills that server and starts another
#   TOKEN_URL TOKEN  of a server that wants this token, of the agent carol

cd "$(dirname "$0")/../.." || exit 1
bin=${MCPTASK:-./mcptask}
MCPTASK=$(cd "$(dirname "$bin")" && pwd)/$(basename "$bin")
. tests/lib/check.sh
tree=$(pwd)
out=$tree/build/clients
export MCPTASK TOKEN=tok-0123456789abcdef
trap 'cat "$dir"/*/*/pid 2>"$dir/log" | xargs -r kill; rm -rf "$dir"' EXIT
trap 'exit 1' INT TERM
both='stdio stdio-2025 http http-2025' # the newest revision, and 2025-11-25
: >"$dir/all"

# recent TOOL HAS NEEDS: whether the version is recent enough
recent() {
    printf '%s\n%s\n' "$3" "$2" | sort -CV && return 0
    echo "$me: skipped what needs $1 $3: this is $2"
    return 1
}

# built LANGUAGE COMMAND...: it builds the clients, within ten minutes
built() {
    language=$1
    shift
    timeout 600 "$@" >"$dir/built" 2>&1 && return 0
    fail "$language: $(tail -n 40 "$dir/built")"
    return 1
}

# serve DIRECTORY PATH OPTION...: starts a server, and prints its url
serve() {
    served=$1 path=$2
    shift 2
    mkdir "$served"
    sh "$tree/tests/clients/restart.sh" "$served" "$@" >&2 &&
        echo "http://127.0.0.1:$(cat "$served/port")$path"
}

# copy LANGUAGE: its sources are built in $out, where the tools may write
copy() {
    mkdir -p "$out/$1" && cp -R "$tree/tests/clients/$1/." "$out/$1"
}

# play CLIENT TRANSPORT COMMAND...: runs it, between servers, as said above
play() {
    client=$1 kind=$2
    shift 2
    at=$dir/$client-$kind
    mkdir "$at"
    export MCP_TASK_BASE_DIR="$at/store" URL='' TOKEN_URL='' RESTART=:
    path=/mcp
    [ "$kind" = sse ] && path=/sse
    code=0
    if [ "${kind#stdio}" = "$kind" ]; then
        TOKEN_URL=$(serve "$at/closed" $path --token-file "$dir/tokens") &&
            URL=$(serve "$at/open" $path) || code=1
        RESTART="sh '$tree/tests/clients/restart.sh' '$at/open'"
    fi 2>"$at/log"
    [ $code -ne 0 ] || timeout 150 "$@" "$kind" 2>"$at/log" </dev/null ||
        code=$?
    [ $code -eq 0 ] || printf 'end\tfailed\texit code %s: %s\n' $code \
        "$(tail -n 20 "$at/log" | tr '\n\t' '  ')"
    for server in open closed; do
        [ ! -f "$at/$server/pid" ] || kill "$(cat "$at/$server/pid")"
        rm -f "$at/$server/pid"
    done 2>"$at/log"
}

# plays CLIENT VERSION TRANSPORTS COMMAND...: runs it over all at the same time
plays() {
    client=$1 version=$2 kinds=$3
    shift 3
    for kind in $kinds; do
        play "$client" "$kind" "$@" >"$dir/$client.$kind" &
    done
    wait
    for kind in $kinds; do
        sed "s/^/$client $version	$kind	/" "$dir/$client.$kind"
    done | tee -a "$dir/all"
}

in_go() {
    wants go || return 0
    at=tests/clients/go
    export GOTOOLCHAIN=local GOWORK=off CGO_ENABLED=0
    recent Go "$(go env GOVERSION | tr -d a-z)" \
        "$(sed -n 's/^go //p' $at/go.mod)" || return 0
    built Go sh -c "cd $at && go build -p 2 -o '$out/go/' ./sdk ./mark3labs" ||
        return 0
    version() { sed -n "s|^	[^ ]*/$1 v||p" $at/go.mod; }
    plays go-sdk "$(version go-sdk)" "$both sse" "$out/go/sdk"
    plays mcp-go "$(version mcp-go)" "$both sse" "$out/go/mark3labs"
}

in_rust() {
    wants cargo || return 0
    at=tests/clients/rust
    recent Rust "$(cargo --version | cut -d ' ' -f 2)" \
        "$(sed -n 's/^rust-version = "\(.*\)"/\1/p' $at/Cargo.toml)" || return 0
    copy rust
    built Rust sh -c "cd '$out/rust' && CARGO_TARGET_DIR=target cargo build -j 2" ||
        return 0
    plays rmcp "$(sed -n '/rmcp\]/,$s/^version = "=\(.*\)"/\1/p' $at/Cargo.toml)" \
        "$both" "$out/rust/target/debug/client"
}

in_java() {
    wants java && wants mvn || return 0
    at=tests/clients/java
    recent Java "$(java -version 2>&1 | sed -n '1s/.*"\(.*\)".*/\1/p')" \
        "$(sed -n 's|.*release>\(.*\)</.*|\1|p' $at/pom.xml)" || return 0
    copy java
    built Java mvn -q -B -f "$out/java/pom.xml" compile || return 0
    plays java-sdk "$(sed -n '/>mcp</,$s|.*version>\(.*\)</.*|\1|p' $at/pom.xml |
        sed -n 1p)" 'stdio http sse' \
        java -cp "$out/java/target/classes:$out/java/target/lib/*" Client
}

(umask 077 && echo "$TOKEN carol" >"$dir/tokens")
[ $# -gt 0 ] || set -- go rust java
for language; do
    case $language in
    go | rust | java) "in_$language" ;;
    *) fail "no clients of $language: go, rust, java" ;;
    esac
done
awk -F '\t' -f tests/clients/table.awk "$dir/all" || failed=$((failed + 1))
exit $((failed > 0))
