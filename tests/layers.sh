#!/bin/sh
# The order of the layers, held against the objects of a build:
# layers.sh BUILD FILE..., the object of FILE being BUILD/FILE.o. A file uses
# another where it needs a symbol that the other one defines.
#
# 1. A layer uses itself and the layers that its line names.
# 2. No file uses one that uses it, however long the way around.
# 3. What breaks 2 today stands in a list. An entry that is not there any
#    more, or closes no circle, is an error: the list only shrinks.
set -eu
build=$1
shift

# LAYER, the layers that it uses, its files. Of a file in a folder, or with
# the name of a layer, the layer needs no mention.
layers='
base: : text file gunzip sha256 token env loop
board: base : page
json: base :
store: base : record index lock lost store_room store_read store_load
  store_move compact verify
http: base : http_parse http_conn http_listen http_reply
task: base json store : task_error task_raw task_atoms task_keys task_fields
  task_schema task_index task task_claim task_query task_check task_draft
  task_rules task_actions task_change artifact view
mcp: base json store : call sign mcp_scan mcp_question mcp_call mcp_tasks
  mcp_session mcp_listen mcp_methods mcp_defer mcp_hold
tools: base board json store task mcp : tools_call tools_get tools_list
  tools_uri tools_wait tools_prompts
serve: base board json store http mcp : pipe web_check web_state web
cli: base json store task mcp tools : cli_text cli_store cli_config cli_show
  cli_work cli_board cli_complete cli_help import admin archive doctor
mcptask: base board json store http task mcp tools serve cli :
'
# Layers that leave a file of a layer they use alone.
never='
json loop, store loop, task loop, mcp loop, tools loop, cli loop
'
allowed='
store_room compact
store_read compact
store store_load
store compact
store_move store_load
store_load compact
mcp_scan mcp
mcp_call mcp
mcp_call mcp_listen
mcp_call mcp_methods
mcp_call mcp_defer
mcp_call mcp_hold
mcp mcp_tasks
mcp mcp_session
mcp mcp_methods
mcp mcp_defer
mcp mcp_hold
mcp_tasks mcp_defer
mcp_tasks mcp_hold
mcp_session mcp_listen
mcp_session mcp_hold
mcp_listen mcp_hold
mcp_defer mcp_hold
'

# Every FILE OTHER SYMBOL.
# shellcheck disable=SC2046 # a word a file
symbols=$("${NM:-nm}" -A -P $(printf "$build/%s.o " "$@"))
uses=$(printf '%s\n' "$symbols" | awk -v skip="${#build}" '
    {
        file = substr($1, skip + 2)
        sub(/\.o(:|\[.*)$/, "", file)
        if ($3 ~ /[Uwv]/)
            used[file " " $2]
        else if ($3 ~ /[A-Z]/) # others are seen by nobody else
            home[$2] = file
    }
    END {
        for (use in used) {
            split(use, u, " ")
            if (u[2] in home && home[u[2]] != u[1])
                print u[1], home[u[2]], u[2]
        }
    }' | sort)

# "error TEXT", or an edge that must be on no circle. What points up closes
# one in most cases: so that is said first, and alone.
export layers never allowed files="$*"
judged=$(printf '%s\n' "$uses" | awk '
    function of(file) {
        if (file ~ "/")
            return substr(file, 1, index(file, "/") - 1)
        return file in layer ? layer[file] : ""
    }
    function read_layers(    n, w, i, at, part) {
        n = split(ENVIRON["layers"], w)
        for (i = 1; i <= n; i++) {
            if (w[i] ~ /.:$/) {
                at = substr(w[i], 1, length(w[i]) - 1)
                layer[at] = at
                may[at " " at]
                part = 1
            } else if (w[i] == ":")
                part = 2
            else if (part == 1)
                may[at " " w[i]]
            else
                layer[w[i]] = at
        }
    }
    BEGIN {
        read_layers()
        n = split(ENVIRON["never"], pair, ",")
        for (i = 1; i <= n; i++) {
            split(pair[i], p)
            no[p[1] " " p[2]]
        }
        n = split(ENVIRON["allowed"], w)
        for (i = 1; i < n; i += 2)
            spare[w[i] " " w[i + 1]] = 1
        n = split(ENVIRON["files"], w)
        for (i = 1; i <= n; i++)
            if (!of(w[i]))
                print "error " w[i] ": is of no layer in layers.sh"
    }
    {
        from = of($1)
        to = of($2)
        if ((from " " $2) in no)
            to = $2
        if (from && to && !((from " " to) in may))
            print "error " $1 " uses " $3 " of " $2 ", and " from \
                " must not use " to
        edge = $1 " " $2
        if (edge in spare)
            spare[edge] = 0
        else if (!(edge in seen))
            print edge
        seen[edge]
    }
    END {
        for (edge in spare)
            if (spare[edge])
                print "error layers.sh: " edge ": is no more; strike it"
    }')

bad=0
edges=$(printf '%s\n' "$judged" | grep -v '^error') || :
printf '%s\n' "$judged" | sed -n 's/^error //p' | grep . && bad=1
if [ $bad -eq 0 ] &&
    ! circle=$(printf '%s\n' "$edges" | tsort 2>&1 >/dev/null); then
    bad=1
    echo "a circle:"
    printf '%s\n' "$uses" | circle=$circle awk '
        BEGIN {
            n = split(ENVIRON["circle"], w)
            for (i = 1; i <= n; i++)
                in_it[w[i]]
        }
        $1 in in_it && $2 in in_it { print "  " $1 " uses " $3 " of " $2 }'
fi
[ $bad -ne 0 ] || printf '%s\n' "$allowed" | while read -r edge; do
    [ -z "$edge" ] || ! printf '%s\n' "$edges" "$edge" |
        tsort >/dev/null 2>&1 || {
        echo "layers.sh: $edge: closes no circle; strike it"
        exit 1
    }
done || bad=1
exit $bad
