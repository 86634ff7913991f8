#!/bin/sh
# The rule that includes point down: each line of the list may use its own
# and the lines before it, except what the second list forbids.
set -eu
cd "$(dirname "$0")/.."

order='
text
base
json sha256 gunzip page file loop http_parse
record lock index lost store store_int store_load store_move
store_room store_read compact verify backup
call
task_error task_raw task_fields task_rows task_schema
task task_atoms task_keys task_index
task_claim task_query task_check task_draft task_rules task_actions
task_change artifact
sign token
mcp_catalogue
mcp mcp_int mcp_scan mcp_methods mcp_call mcp_session mcp_listen mcp_defer
mcp_tasks mcp_question mcp_hold
view env
tools tools_call tools_get tools_list tools_uri tools_prompts tools_wait
http http_conn http_listen http_reply
serve
pipe web web_int web_check web_state
cli_command
cli_text cli_store cli_config cli_show cli_work cli_board cli_help
cli_complete import admin archive doctor cli
mcptask
'
forbidden='
json:store json:loop store:json store:loop record:json loop:json loop:store
lock:json index:json mcp:task mcp:view mcp:loop mcp_catalogue:store
mcp_methods:store mcp_methods:task mcp_call:store mcp_call:task
mcp_session:task mcp_listen:task task:mcp task:serve task:loop view:mcp
artifact:task artifact:store task:call serve:task serve:tools serve:view http:json
http:store http:mcp http:serve http_parse:json web:task web:tools sign:json
'
rank() {
    printf '%s' "$order" | awk -v m="$1" '
        { for (i = 1; i <= NF; i++) if ($i == m) print NR }'
}

bad=0
for file in *.[ch]; do
    module=${file%.?}
    mine=$(rank "$module")
    if [ -z "$mine" ]; then
        echo "$file: not in the list of tests/includes.sh"
        bad=1
        continue
    fi
    for used in $(sed -n 's/^#include "\([a-z0-9_]*\)\.h".*/\1/p' "$file"); do
        theirs=$(rank "$used")
        if [ -z "$theirs" ] || [ "$theirs" -gt "$mine" ]; then
            echo "$file: includes $used.h, which stands above it"
            bad=1
        fi
        case $forbidden in
        *[[:space:]]"$module:$used"[[:space:]]*)
            echo "$file: must not see $used.h"
            bad=1 ;;
        esac
    done
done
exit $bad
