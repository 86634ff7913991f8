#!/bin/sh
# Adding the server to clients, which are stubs that write down their arguments:
# t_setup.sh [MCPTASK [EXE]]

# shellcheck source=tests/lib/cli.sh
. "$(dirname "$0")/../lib/cli.sh"
unset MCP_TASK_BASE_DIR MCP_TASK_PORT
export HOME="$dir/home"
mkdir bin home
for client in claude codex gemini code opencode qwen copilot; do
    # There is nothing to remove.
    cat >bin/$client <<'END'
#!/bin/sh
[ "$2" != remove ] || exit 1
for arg; do echo "$arg"; done >argv
exit 7
END
    chmod +x bin/$client
done
old=$PATH

# given WORD...: the client's arguments since the last call of this
given() {
    for word; do echo "$word"; done >want
    same want argv
    rm -f argv
}

name=the_client_adds_it
PATH=$dir/bin:$old
export MCP_TASK_BASE_DIR="$dir/a store"
run 7 --tools core setup claude-code
given mcp add --env "MCP_TASK_BASE_DIR=$dir/a store" --scope user \
    --transport stdio mcptask -- "$exe" --tools core
has err "claude mcp add --env 'MCP_TASK_BASE_DIR=$dir/a store' --scope user"
run 7 setup codex
given mcp add --env "MCP_TASK_BASE_DIR=$dir/a store" mcptask -- "$exe"
run 7 --read-only setup gemini
given mcp add --env "MCP_TASK_BASE_DIR=$dir/a store" --scope user \
    --transport stdio mcptask "$exe" -- --read-only
run 7 --read-only setup opencode
given mcp add mcptask --env "MCP_TASK_BASE_DIR=$dir/a store" -- "$exe" \
    --read-only
run 7 --read-only setup qwen
given mcp add --env "MCP_TASK_BASE_DIR=$dir/a store" --scope user \
    --transport stdio mcptask "$exe" -- --read-only
run 7 setup copilot
given mcp add --env "MCP_TASK_BASE_DIR=$dir/a store" mcptask -- "$exe"
unset MCP_TASK_BASE_DIR
run 7 setup vscode
given --add-mcp '{"name":"mcptask","type":"stdio","command":"'"$exe"'","args":[],"env":{}}'

name=a_token_stays_in_its_variable
url=https://tasks.example.com/mcp
# shellcheck disable=SC2016 # the client expands it
run 7 setup claude-code --token-env TOK $url
# shellcheck disable=SC2016
given mcp add --scope user --transport http mcptask $url --header \
    'Authorization: Bearer ${TOK}'
run 7 setup codex --token-env TOK $url
given mcp add mcptask --url $url --bearer-token-env-var TOK
run 7 setup gemini --http
given mcp add --scope user --transport http mcptask http://127.0.0.1:8766/mcp
run 7 setup vscode --token-env TOK $url
# shellcheck disable=SC2016
given --add-mcp '{"name":"mcptask","type":"http","url":"'$url'","headers":{"Authorization":"Bearer ${env:TOK}"}}'
run 7 setup opencode --token-env TOK $url
given mcp add mcptask --url $url --header 'Authorization=Bearer {env:TOK}'
run 7 setup qwen --http
given mcp add --scope user --transport http mcptask http://127.0.0.1:8766/mcp
run 7 setup copilot --http
given mcp add --transport http mcptask http://127.0.0.1:8766/mcp
for client in copilot cline; do
    run 2 setup $client --token-env TOK $url
    has err "the settings of $client cannot refer to a variable"
done
run 0 config copilot --http
has out '"type": "http"' '"tools": ["*"]'
run 0 config cline --http
has out '"type": "streamableHttp"'
run 0 config cursor --token-env TOK $url
# shellcheck disable=SC2016
has out '"Authorization": "Bearer ${env:TOK}"'
run 0 config codex --token-env TOK $url
has out 'bearer_token_env_var = "TOK"'

name=json_says_what_is_run
export MCP_TASK_BASE_DIR="$dir/a store"
run 7 setup codex --json
given mcp add --env "MCP_TASK_BASE_DIR=$dir/a store" mcptask -- "$exe"
echo '{"client":"codex","run":["codex","mcp","add","--env",'"\
\"MCP_TASK_BASE_DIR=$dir/a store\"",'"mcptask","--",'"\"$exe\"]}" >want
same want out
unset MCP_TASK_BASE_DIR
printf '#!/bin/sh\necho added\n' >bin/gemini
run 0 setup gemini --json
lacks out added
has err added
run 0 setup gemini --json -n
lacks err added
run 0 setup cursor --json
has out '{"client":"cursor","settings":"{\n  \"mcpServers\": {\n' \
    '}\n","where":"for ~/.cursor/mcp.json, or'

name=a_token_is_not_for_a_repository
echo 'cccccccccccccccccc claude-code' >tokens
chmod 600 tokens
run 0 config claude-code --token-file tokens
has out "'Authorization: Bearer cccccccccccccccccc'"
lacks out mcpServers
has err '# it holds a token: keep it out of repositories'
printf '\357\273\277cccccccccccccccccc claude-code\r\n' >tokens
run 0 config claude-code --token-file tokens
has out "'Authorization: Bearer cccccccccccccccccc'"
run 0 config claude-code --token-env TOKEN
has out .mcp.json '${TOKEN}'
lacks err 'holds a token'
for variable in '' 1st 'A B' not-a-name; do
    run 2 setup codex -n --token-env "$variable"
    has err 'setup: --token-env needs the name of a variable'
done

# Claude Code refuses a server of a name that it has, the others replace it.
name=a_second_setup_updates
cat >bin/claude <<'END'
#!/bin/sh
echo "$*" >>claude.log
case $2 in
add) mkdir server ;;
remove) rmdir server ;;
esac
END
run 0 setup claude-code
run 0 --tools core setup claude-code
check test -d server
cat >want <<END
mcp add --scope user --transport stdio mcptask -- $exe
mcp add --scope user --transport stdio mcptask -- $exe --tools core
mcp remove --scope user mcptask
mcp add --scope user --transport stdio mcptask -- $exe --tools core
END
same want claude.log
has err 'run: mcptask setup claude-code --hooks'

name=opencode_has_a_form_of_its_own
run 0 --read-only config opencode
has out '"mcp": {' '"type": "local"' "\"command\": [\"$exe\", \"--read-only\"]"
lacks out '"args"'
run 0 config opencode --token-env TOK $url
has out '"type": "remote"' "\"url\": \"$url\"" \
    '"headers": {"Authorization": "Bearer {env:TOK}"}'
export MCP_TASK_BASE_DIR="$dir/a store"
run 0 config opencode
has out "\"environment\": {\"MCP_TASK_BASE_DIR\": \"$dir/a store\"}"

# What is printed is what the client's shell runs.
name=hooks
for client in claude-code codex gemini; do
    run 0 setup $client --hooks
    has err '# add this to ~/.'
    has out '"SessionStart": [{"hooks": [' '"SessionEnd": [{"hooks": ['
    case $client in
    gemini) lacks out SubagentStart ;;
    *) has out '"SubagentStart": [{"hooks": [' ;;
    esac
    sed -n 's/.*"command": "\(.*\)"}.*/\1/p' out | sort -u >hook_line
    echo "env 'MCP_TASK_BASE_DIR=$dir/a store' $exe hook $client" >want
    same want hook_line
done
run 0 add --id first Something
echo '{"hook_event_name":"SessionStart","session_id":"01234567"}' >in
(unset MCP_TASK_BASE_DIR && sh ./hook_line <in >out)
has out gemini-01234567 first
unset MCP_TASK_BASE_DIR
run 0 setup cursor --hooks
has err '# add this to AGENTS.md'
has out '# Work that outlives a session' claim_task
lacks out 'description:'
run 0 setup codex --hooks --json
has out '{"client":"codex","settings":"{' '"where":"~/.codex/hooks.json'
run 2 setup codex --hooks $url
has err '--hooks is for a store of this host'

name=a_dry_run_changes_nothing
run 0 setup claude-code --dry-run
has out "claude mcp add --scope user --transport stdio mcptask -- $exe"
run 0 setup cursor
has out '"mcpServers"' "\"$exe\""
has err '# for ~/.cursor/mcp.json'
mv bin/codex bin/other
# The remaining PATH has no such client.
[ -z "$(PATH=$dir/bin command -v codex)" ] && PATH=$dir/bin run 0 setup codex
has out '[mcp_servers.mcptask]'
has err 'codex is not in PATH' '# for ~/.codex/config.toml'
[ -z "$(PATH=$dir/bin command -v codex)" ] &&
    PATH=$dir/bin run 0 setup codex --json
lacks err code
run 2 setup nobody
has err 'mcptask setup: unknown client "nobody"'
run 2 setup
echo text >bin/codex
chmod +x bin/codex
run 1 setup codex
has err 'bin/codex: '
checks=$((checks + 1))
[ -z "$(find home -type f)" ] || fail 'it wrote a file'

finish
