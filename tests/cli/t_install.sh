#!/bin/sh
# What make install installs, and the program in a root directory with nothing
# else in it: t_install.sh [MCPTASK]. The second part needs root or user
# namespaces, and says so if it has neither.

cd "$(dirname "$0")/../.." || exit 1
bin=${1:-./mcptask}
. tests/lib/check.sh

# ---- files ----

cat >"$dir/expected" <<END
755 /usr/bin/mcptask
755 /usr/bin/mcptask-import
644 /usr/lib/systemd/system/mcptask-group.socket
644 /usr/lib/systemd/system/mcptask.service
644 /usr/lib/systemd/system/mcptask.socket
644 /usr/lib/systemd/user/mcptask.service
644 /usr/lib/systemd/user/mcptask.socket
644 /usr/lib/sysusers.d/mcptask.conf
644 /usr/share/bash-completion/completions/mcptask
644 /usr/share/fish/vendor_completions.d/mcptask.fish
644 /usr/share/man/man1/mcptask.1
644 /usr/share/man/man5/mcptask-log.5
644 /usr/share/mcptask/plugin/.claude-plugin/marketplace.json
644 /usr/share/mcptask/plugin/.claude-plugin/plugin.json
644 /usr/share/mcptask/plugin/.mcp.json
644 /usr/share/mcptask/plugin/hooks/hooks.json
644 /usr/share/mcptask/plugin/skills/mcptask/SKILL.md
644 /usr/share/zsh/site-functions/_mcptask
END
files() {
    (cd "$dir/tree" && find . -type f) | sed 's/^\.//' | sort |
        while read -r name; do
            mode=$(ls -l "$dir/tree$name" | cut -c 2-10)
            case $mode in
            rwxr-xr-x) echo "755 $name" ;;
            rw-r--r--) echo "644 $name" ;;
            *) echo "$mode $name" ;;
            esac
        done
}
(umask 077 && make -s -o "$bin" install BIN="$bin" DESTDIR="$dir/tree" PREFIX=/usr) ||
    fail 'make install'
files >"$dir/actual"
checks=$((checks + 1))
diff "$dir/expected" "$dir/actual" >&2 || fail 'other files were installed'
for who in system user; do
    has "$dir/tree/usr/lib/systemd/$who/mcptask.service" \
        'ExecStart=/usr/bin/mcptask --http'
done
# What is installed completes, by asking the program.
mkdir "$dir/bin"
printf '#!/bin/sh\nexec "%s" "$@"\n' "$(cd "$(dirname "$bin")" && pwd)/${bin##*/}" \
    >"$dir/bin/mcptask"
chmod +x "$dir/bin/mcptask"
if command -v bash >/dev/null; then
    PATH=$dir/bin:$PATH bash -c '. "$0"; COMP_WORDS=(mcptask boa) COMP_CWORD=1
        _mcptask; echo "${COMPREPLY[@]}"' \
        "$dir/tree/usr/share/bash-completion/completions/mcptask" >"$dir/out"
    has "$dir/out" board
fi
make -s uninstall DESTDIR="$dir/tree" PREFIX=/usr || fail 'make uninstall'
checks=$((checks + 1))
[ -z "$(files)" ] || fail "uninstall left $(files)"

# The log in mcptask-log(5) is a valid one.
sed -n '/^{"c":"[0-9a-f]/,/^\.Ed/p' man/mcptask-log.5 | awk '
    /^\.Ed/ { exit }
    /^{/ && line != "" { print line; line = "" }
    { sub(/^ /, ""); line = line $0 }
    END { print line }' >"$dir/shown.log"
MCP_TASK_BASE_DIR=$dir MCP_TASK_DB_PATH=$dir/shown.log "$bin" verify \
    >"$dir/out" 2>&1 || fail "man/mcptask-log.5: $(cat "$dir/out")"
has "$dir/out" '1 record of 1 key,'

# ---- an empty root ----

root=$dir/root
mkdir -p "$root/data"
cp "$bin" "$root/mcptask" || exit 1
if [ "$(id -u)" -eq 0 ] && chroot "$root" /mcptask --version >/dev/null 2>&1
then
    enter=
elif unshare -r chroot "$root" /mcptask --version >/dev/null 2>&1; then
    enter='unshare -r'
elif grep -qa '/ld-' "$bin"; then
    echo 't_install: an empty root: skipped, the program is not static'
    finish
else
    echo 't_install: an empty root: skipped, neither root nor user namespaces'
    finish
fi
# inside ARGUMENT...: runs it there, with only the store in its environment
inside() {
    $enter chroot "$root" /mcptask "$@"
}
MCP_TASK_BASE_DIR=/data
export MCP_TASK_BASE_DIR

inside --version >"$dir/out" 2>&1 || fail 'exit code of --version'
has "$dir/out" 'mcptask '
printf '%s\n' '{"jsonrpc":"2.0","id":1,"method":"initialize","params":{
"protocolVersion":"2025-11-25","capabilities":{},
"clientInfo":{"name":"test","version":"1"}}}' \
    '{"jsonrpc":"2.0","method":"notifications/initialized"}' \
    '{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{
"name":"create_task","arguments":{"task_id":"a","title":"Alone"}}}' \
    '{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{
"name":"attach_artifact","arguments":{"task_id":"a","name":"n","content":"x"}}}' |
    awk '{ line = line $0 } /}$/ && !/:{$/ { print line; line = "" }' |
    inside >"$dir/out" 2>&1 || fail 'exit code on stdio'
has "$dir/out" '"protocolVersion":"2025-11-25"' '\"status\":\"open\"' 'artifact_id'
for command in health list 'show a' compact verify; do
    inside $command >"$dir/out" 2>&1 || fail "$command: $(cat "$dir/out")"
    checks=$((checks + 1))
done

# Its address comes through a pipe, which is read before the first request.
mkfifo "$dir/said"
$enter chroot "$root" /mcptask --port 0 2>"$dir/said" </dev/null &
pid=$!
read -r line <"$dir/said"
port=${line##*:}
case $line in
*http://127.0.0.1:*) checks=$((checks + 1)) ;;
*) fail "it said: $line" ;;
esac
if ! command -v bash >/dev/null; then
    echo 't_install: HTTP in an empty root: skipped, no bash to ask with'
else
    for path in health ready; do
        bash -c 'exec 3<>"/dev/tcp/127.0.0.1/$0" &&
            printf "GET /%s HTTP/1.1\r\nHost: 127.0.0.1\r\n%s\r\n\r\n" \
            "$1" "Connection: close" >&3 && cat <&3' "$port" $path >"$dir/out"
        has "$dir/out" 'HTTP/1.1 200'
    done
    has "$dir/out" '"writable":true'
fi
kill $pid
wait $pid || fail 'exit code of the server'
checks=$((checks + 1))
(cd "$root" && find . -type f) | sort >"$dir/out"
has "$dir/out" ./data/tasks.log ./data/artifacts/
finish
