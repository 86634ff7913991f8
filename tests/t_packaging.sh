#!/bin/sh
# What make oci, make mcpb and the units of systemd come to, each judged by
# the programs that are made for it, where they are there:
# t_packaging.sh [MCPTASK]

cd "$(dirname "$0")/.." || exit 1
bin=${1:-./mcptask}
. tests/lib/check.sh
version=$(sed -n 's/^#define MCPTASK_VERSION "\(.*\)"/\1/p' base/base.h)

# ---- an image ----

# blob DIGEST SIZE: there, and what it says it is
blob() {
    file=$dir/layout/blobs/sha256/${1#sha256:}
    check test -f "$file"
    check test "$(sha256sum <"$file" | cut -c 1-64)" = "${1#sha256:}"
    check test "$(($(wc -c <"$file")))" = "$2"
}
# refs FILE: digest and size of each descriptor in it, a line each
refs() {
    tr -d '\n' <"$1" |
        grep -o '"digest":"sha256:[0-9a-f]*","size":[0-9]*' |
        sed 's/"digest":"\(.*\)","size":/\1 /'
}

first=$(sh packaging/pack.sh oci "$bin") || fail 'pack.sh oci'
cp "$first" "$dir/first.tar"
sleep 1 # or times could not differ
check sh packaging/pack.sh oci "$bin"
check cmp "$first" "$dir/first.tar"
mkdir "$dir/layout"
check tar -C "$dir/layout" -xf "$first"
has "$dir/layout/oci-layout" '"imageLayoutVersion":"1.0.0"'
# The index names a manifest, and that a configuration and a layer.
n=0
for file in index.json manifest; do
    [ $file = manifest ] && file=blobs/sha256/$manifest
    refs "$dir/layout/$file" >"$dir/refs"
    while read -r digest size; do
        blob "$digest" "$size"
        n=$((n + 1))
        case $n in
        1) manifest=${digest#sha256:} ;;
        2) config=$file ;;
        esac
    done <"$dir/refs"
done
check test $n -eq 3
check test "$(find "$dir/layout/blobs" -type f | wc -l)" -eq 3
layer=$file

# configured FILE: a configuration of the image, whoever wrote it
configured() {
    has "$1" '"Entrypoint":["/mcptask"]' '"User":"65532:65532"' \
        '"MCP_TASK_BASE_DIR=/data"' '"Volumes":{"/data":{}}' \
        '"ExposedPorts":{"8766/tcp":{}}' '"StopSignal":"SIGTERM"' \
        '"Test":["CMD","/mcptask","health"],"Interval":30000000000,' \
        "\"io.modelcontextprotocol.server.name\":\"io.github.$owner/mcptask\""
}
# runs ROOT USER ENTRYPOINT ENV...: as an engine does it: that user, that
# command, that environment
runs() {
    run="--userspec=$2 $1 $3"
    shift 3
    # shellcheck disable=SC2086 # run is words
    for command in health list; do
        check env -i "$@" "$chroot" $run $command
    done
    echo '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"create_task","arguments":{"title":"x"}}}' |
        env -i "$@" "$chroot" $run >"$dir/out"
    has "$dir/out" '\"status\":\"open\"'
}
chroot=$(command -v chroot)
owner=${OWNER:-OWNER}

gzip -dc "$layer" >"$dir/layer.tar"
has "$config" "sha256:$(sha256sum <"$dir/layer.tar" | cut -c 1-64)"
configured "$config"
tar -tvf "$dir/layer.tar" --numeric-owner >"$dir/list"
has "$dir/list" '-rwxr-xr-x 0/0' 'drwx------ 65532/65532'
check test "$(wc -l <"$dir/list")" -eq 2
mkdir "$dir/root"
if [ "$(id -u)" -eq 0 ] && check tar -C "$dir/root" -xf "$dir/layer.tar"; then
    runs "$dir/root" 65532:65532 /mcptask MCP_TASK_BASE_DIR=/data
fi
if wants skopeo; then
    check skopeo inspect "oci-archive:$first:$version"
    # Reads all of it, and checks every digest.
    check skopeo copy --insecure-policy "oci-archive:$first:$version" \
        "dir:$dir/copy"
fi
# The Containerfile makes the same. Without privileges there is no building.
builder() {
    TMPDIR=$dir timeout 60 buildah --storage-driver vfs --root "$dir/images" \
        --runroot "$dir/run" "$@"
}
# told FIELDS: what the built image says of itself
told() {
    builder inspect --type image --format "$1" mcptask
}
if [ "$(id -u)" -eq 0 ] && wants buildah; then
    check sh packaging/pack.sh image "$bin"
    check builder build --isolation chroot --format docker -t mcptask \
        --build-arg OWNER="$owner" -f packaging/Containerfile build/image
    told '{{.Config}}' >"$dir/config"
    configured "$dir/config"
    root=$(builder mount "$(builder from mcptask)")
    (cd "$root" && find . -mindepth 1 -printf '%M %U/%G %p\n' | sort) >"$dir/list"
    has "$dir/list" '-rwxr-xr-x 0/0 ./mcptask' 'drwx------ 65532/65532 ./data'
    check test "$(wc -l <"$dir/list")" -eq 2
    check cmp "$bin" "$root/mcptask"
    entry='{{.User}} {{index .Entrypoint 0}}{{range .Env}} {{.}}{{end}}'
    # shellcheck disable=SC2046 # what is told is words
    runs "$root" $(told "{{with .OCIv1.Config}}$entry{{end}}")
fi

# ---- a bundle ----

if wants zip && wants unzip; then
    bundle=$(sh packaging/pack.sh mcpb "$bin") || fail 'pack.sh mcpb'
    sum=$(sha256sum <"$bundle" | cut -c 1-64)
    cp "$bundle" "$dir/first.mcpb"
    sleep 1
    check sh packaging/pack.sh mcpb "$bin"
    check cmp "$bundle" "$dir/first.mcpb"
    check unzip -q "$bundle" -d "$dir/bundle"
    has "$dir/bundle/manifest.json" "\"version\": \"$version\"" \
        '"command": "${__dirname}/server/mcptask"'
    check cmp "$bin" "$dir/bundle/server/mcptask"
    check test -x "$dir/bundle/server/mcptask"
    has build/server.json "\"fileSha256\": \"$sum\"" "\"version\": \"$version\""
    check test -z "$(cat build/server.json "$dir/bundle/manifest.json" |
        grep @)"
    # The registry takes 100 characters.
    check test "$(sed -n 's/^  "description": "\(.*\)",/\1/p' \
        build/server.json | wc -c)" -le 101
    # Both are JSON: the program's own parser says so.
    for file in build/server.json "$dir/bundle/manifest.json"; do
        printf '{"jsonrpc":"2.0","id":1,"method":"ping","params":%s}\n' \
            "$(tr -d '\n' <"$file")" | MCP_TASK_BASE_DIR=$dir "$bin" >"$dir/out"
        has "$dir/out" '"result":{}'
    done
fi

# ---- units ----

# The script of OpenRC is run with what it calls there.
mkdir "$dir/openrc"
for command in checkpath ebegin eend supervise-daemon; do
    printf '#!/bin/sh\necho "${0##*/} $*"\n' >"$dir/openrc/$command"
    chmod +x "$dir/openrc/$command"
done
check env -i PATH="$dir/openrc" RC_SVCNAME=mcptask /bin/sh -euc '
    . packaging/mcptask.openrc && start_pre && reload
    echo "$command_user runs $command $command_args in $MCP_TASK_BASE_DIR"'
has "$dir/log" 'checkpath -d -m 0700 -o mcptask:mcptask /var/lib/mcptask' \
    'supervise-daemon mcptask --signal HUP' \
    'mcptask:mcptask runs /usr/bin/mcptask --http in /var/lib/mcptask'

# The system calls of a filter of systemd, its groups resolved.
calls_of() {
    systemd-analyze syscall-filter "$1" | sed '1d; s/#.*//' |
        while read -r name; do
            case $name in
            @*) calls_of "$name" ;;
            ?*) echo "$name" ;;
            esac
        done
}
if wants systemd-analyze; then
    check make -s -o "$bin" install BIN="$bin" PREFIX="$dir/usr"
    units=$dir/usr/lib/systemd/system
    check systemd-analyze --man=no verify "$units/mcptask.service" \
        "$units/mcptask.socket"
    check systemd-analyze security --offline=true --threshold=15 \
        "$units/mcptask.service"
    if wants strace && check test -x build/t_web_token; then
        # All that the tests of HTTP make it do must pass the unit's filter.
        calls_of @system-service | sort -u >"$dir/allowed"
        for group in $(sed -n 's/^SystemCallFilter=~//p' \
            "$units/mcptask.service"); do
            calls_of "$group"
        done | sort -u >"$dir/denied"
        sed -n 's/^SystemCallFilter=\([a-z]\)/\1/p' "$units/mcptask.service" |
            tr ' ' '\n' >"$dir/more"
        comm -23 "$dir/allowed" "$dir/denied" | sort -u - "$dir/more" >"$dir/pass"
        mkdir "$dir/trace"
        cat >"$dir/traced" <<END
#!/bin/sh
exec strace -D -qq -o "$dir/trace/\$\$" "$(cd "$(dirname "$bin")" && pwd)/$(basename "$bin")" "\$@"
END
        chmod +x "$dir/traced"
        check build/t_web "$dir/traced" build/fixture
        check build/t_web_start "$dir/traced"
        check build/t_web_token "$dir/traced"
        sed -n 's/^\([a-z_0-9]*\)(.*/\1/p' "$dir"/trace/* | sort -u >"$dir/used"
        check test "$(wc -l <"$dir/used")" -gt 20
        comm -13 "$dir/pass" "$dir/used" >"$dir/refused"
        check test ! -s "$dir/refused"
        cat "$dir/refused" >&2
    fi
fi
finish
