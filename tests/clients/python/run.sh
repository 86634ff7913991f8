#!/bin/sh
# Has clients from PyPI work with the server, over each of their transports:
# run.sh [CLIENT...], by default all of pins/. Installs each in an environment
# of its own, in build/clients/python, with the versions and hashes of
# pins/CLIENT.txt. Prints a line for each check, and a table. Exit code 1: a
# check failed. MCPTASK is the program, PYTHON a Python of at least 3.11. For
# new versions: cd pins; for i in *.in; do uv pip compile --generate-hashes \
#   --python-version 3.11 --python-platform linux --only-binary :all: \
#   --no-header --no-annotate --no-emit-index-url -U "$i" -o "${i%.in}.txt"; done

tree=$(cd "$(dirname "$0")/../../.." && pwd)
here=$tree/tests/clients/python
at=$tree/build/clients/python
export MCPTASK="${MCPTASK:-$tree/mcptask}"

if [ "$1" != --one ]; then
    mkdir -p "$at" || exit 1
    clients=${*:-$(cd "$here/pins" && echo *.in)}
    printf '%s\n' $clients | sed 's/\.in$//' | xargs -n 1 -P 2 sh "$0" --one | tee "$at/lines"
    sort -s -k 1,1 "$at/lines" | awk -f "$here/table.awk"
    exit
fi

# One client: a line for each check, with tabs between its fields.
client=$2
env=$at/$client
log=$env.log
cmp -s "$here/pins/$client.txt" "$env/pins" || {
    rm -rf "$env" && "${PYTHON:-python3}" -m venv "$env" &&
        timeout 600 "$env/bin/pip" install -q --require-hashes --no-deps \
            --only-binary :all: --no-compile -r "$here/pins/$client.txt" &&
        cp "$here/pins/$client.txt" "$env/pins"
} >"$log" 2>&1 || {
    printf '%s\t\t\tinstall\tFAILED\tsee %s\n' "$client" "$log"
    exit 0
}
home=$(mktemp -d) || exit 1
trap 'rm -rf "$home"' EXIT
env -u MCP_TASK_AGENT -u MCP_TASK_SERVER -u MCP_TASK_TOKEN_FILE \
    HOME="$home" HERMES_HOME="$home" \
    timeout -k 10 400 "$env/bin/python" "$here/check.py" "$client" 2>"$log" ||
    printf '%s\t\t\tend\tFAILED\tsee %s\n' "$client" "$log"
