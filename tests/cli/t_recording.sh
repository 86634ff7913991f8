#!/bin/sh
# docs/demo.svg shows the demo of this version, whatever the environment, and a
# rerun makes no difference: t_recording.sh MCPTASK

# shellcheck source=tests/lib/check.sh
. "$(dirname "$0")/../lib/check.sh"
tests=$(dirname "$0")/..

for agent in '' anna; do
    check env MCP_TASK_AGENT=$agent MCP_TASK_DB_PATH="$dir/log of anna" \
        MCP_TASK_SERVER=http://127.0.0.1:1 sh "$tests/recording.sh" "$1"
    name='make recording'
    same "$dir/log" "$tests/../docs/demo.svg"
done
check test ! -e "$dir/log of anna"
finish
