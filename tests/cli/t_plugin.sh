#!/bin/sh
# The folder packaging/plugin, which clients read: what it starts works, and the
# tools and arguments that the skill names exist: t_plugin.sh [MCPTASK]

# shellcheck source=tests/lib/cli.sh
. "$(dirname "$0")/../lib/cli.sh"
root=$lib/../..
plugin=$root/packaging/plugin
unset MCP_TASK_AGENT MCP_TASK_REPO CLAUDE_ENV_FILE
export MCP_TASK_BASE_DIR="$dir/store"
mkdir bin
ln -s "$bin" bin/mcptask

# ask METHOD PARAMS: the answer of the server in out
ask() {
    printf '{"jsonrpc":"2.0","id":1,"method":"%s","params":%s}' "$1" "$2" |
        tr -d '\n' | "$bin" >out 2>err
}

name=json
for file in .mcp.json .claude-plugin/plugin.json hooks/hooks.json \
    .claude-plugin/marketplace.json; do
    ask ping "$(cat "$plugin/$file")"
    has out '"result":{}'
done
version=$(sed -n 's/^#define MCPTASK_VERSION "\(.*\)"/\1/p' \
    "$root/base/base.h")
has "$plugin/.claude-plugin/plugin.json" "\"version\": \"$version\""

name=commands
"$bin" add --id first Something >out
for event in SessionStart SubagentStart SessionEnd; do
    has "$plugin/hooks/hooks.json" "\"$event\": ["
done
has "$plugin/.mcp.json" '"command": "mcptask", "args": []'
sed -n 's/.*"command": "\(mcptask hook.*\)".*/\1/p' \
    "$plugin/hooks/hooks.json" | sort -u >commands
check test "$(wc -l <commands)" -eq 1
echo '{"hook_event_name":"SessionStart","session_id":"01234567"}' |
    PATH=$dir/bin:$PATH sh commands >out 2>err
has out 'claude-code-01234567' first

# The words with an underscore are tools, their arguments and error codes, or
# members of answers that the concepts explain.
name=skill
skill=$plugin/skills/mcptask/SKILL.md
has "$skill" 'name: mcptask' 'description: '
ask tools/list '{}'
mv out tools
awk '/^\|/' "$docs/errors.md" >>tools
cat "$docs/concepts.md" >>tools
# shellcheck disable=SC2016 # backticks of Markdown
grep -o '`[a-z]*_[a-z_]*`' "$skill" | tr -d '`' | sort -u >words
check test "$(wc -l <words)" -gt 15
while read -r word; do
    checks=$((checks + 1))
    grep -qE "[\"\`]${word}[\"\`]" tools || fail "the skill names $word"
done <words
check test "$(wc -l <"$skill")" -lt 60

# The binary has it, too (SEP-2640).
meta=io.modelcontextprotocol
ask skills/list "{\"_meta\":{\"$meta/protocolVersion\":\"2026-07-28\",
    \"$meta/clientCapabilities\":{}}}"
has out '"uri":"skill://mcptask/SKILL.md"' "\"size\":$(wc -c <"$skill" |
    tr -d ' ')" '"frontmatter":{"name":"mcptask","description":"Use the '

finish
