#!/bin/sh
# Checks the order of the layers in the objects of a build:
# layers.sh BUILD FILE..., where BUILD/FILE.o is the object of FILE. A file uses
# another one if it needs a symbol that the other one defines.
#
# 1. A layer uses only itself and the layers that its line names.
# 2. No file uses one that uses it, directly or not.
# 3. A layer shows others only those headers of its folder that are in a list.
#    base shows all of them, and so does the root.
# 4. Only the files in a list start programs: docs/security.md has the commands.
set -eu
build=$1
shift

# LAYER, then the layers that it uses. The files of a layer are those in its
# folder, and the one in the root that has the folder's name.
layers='
base:
board: base
json: base
store: base
http: base
etcd: base json http store
task: base json store
mcp: base json store
tools: base board json store task mcp
serve: base board json store http mcp
cli: base json store http task mcp tools
mcptask: base board json store http etcd task mcp tools serve cli
'
# Layers, and files that they may not use although they use their layer.
never='
json base/loop, store base/loop, task base/loop, mcp base/loop,
tools base/loop, cli base/loop
'
public='
board/page cli/cli cli/run cli/store cli/text etcd/client etcd/remote
http/listen http/parse json/raw json/write
mcp/calls mcp/mcp mcp/sign serve/stdio serve/turn serve/web store/record
store/remote store/verify
task/artifact task/brief task/caller task/cause task/change task/check task/claim
task/fields task/may task/project task/query
task/task task/view
tools/resources tools/tools
'

starters='cli/run'

# Prints FILE OTHER SYMBOL for every use, and FILE OTHER .h for every include.
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
    }' | sort
    for file; do
        [ ! -e "$file.c" ] || sed -n "s|^#include \"\(.*\)\.h\".*|$file \1 .h|p" \
            "$file".[ch]
    done)

# Prints "error TEXT", or an edge for the search for circles. An edge that
# points up mostly closes a circle, so errors are reported first, and alone.
export layers never public starters files="$*"
judged=$(printf '%s\n' "$uses" | awk '
    function of(file) {
        sub(/\/.*/, "", file)
        return file in layer ? file : ""
    }
    function read_layers(    n, w, i, at) {
        n = split(ENVIRON["layers"], w)
        for (i = 1; i <= n; i++) {
            if (w[i] ~ /:$/) {
                at = substr(w[i], 1, length(w[i]) - 1)
                layer[at]
                may[at " " at]
            } else
                may[at " " w[i]]
        }
    }
    BEGIN {
        read_layers()
        n = split(ENVIRON["never"], pair, ",")
        for (i = 1; i <= n; i++) {
            split(pair[i], p)
            no[p[1] " " p[2]]
        }
        n = split(ENVIRON["public"], w)
        for (i = 1; i <= n; i++)
            shown[w[i]]
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
            print "error " $1 " uses " ($3 == ".h" ? "" : $3 " of ") $2 \
                ($3 == ".h" ? $3 : "") ", and " from " must not use " to
        if ($3 == ".h" && from && to && from != to && to != "base" &&
            $2 ~ /\// && !($2 in shown))
            print "error " $1 " includes " $2 ".h, which " to \
                " keeps to itself"
        if ($3 != ".h")
            print $1, $2
    }')

bad=0
printf '%s\n' "$symbols" | awk -v skip="${#build}" '
    BEGIN {
        n = split(ENVIRON["starters"], w)
        for (i = 1; i <= n; i++)
            may[w[i]]
    }
    $3 ~ /U/ && $2 ~ /^_?(f?exec[lv][a-z]*|posix_spawnp?|popen|system)$/ {
        file = substr($1, skip + 2)
        sub(/\.o(:|\[.*)$/, "", file)
        if (!(file in may))
            print file " uses " $2 ", and must not start programs"
    }' | grep . && bad=1
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
exit $bad
