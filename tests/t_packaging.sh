#!/bin/sh
# The packages and units, each checked with the tools that are meant for it if
# they are installed: t_packaging.sh [MCPTASK]

cd "$(dirname "$0")/.." || exit 1
bin=${1:-./mcptask}
. tests/lib/check.sh
bin=$(cd "$(dirname "$bin")" && pwd)/${bin##*/}
version=$(sed -n 's/^#define MCPTASK_VERSION "\(.*\)"/\1/p' base/base.h)

# ---- the same bytes ----

# pack TREE DIR FORMAT...: packs with the sources in TREE, into DIR
pack() {
    tree=$1 to=$2
    shift 2
    for what; do
        check env OUT="$to" sh "$tree/packaging/pack.sh" "$what" "$bin"
    done
}
formats='tarball oci npm'
wants zip && formats="$formats mcpb wheel"
wants dpkg-deb && formats="$formats deb"
packs=$dir/packs
# shellcheck disable=SC2086 # formats are words
pack . "$packs" $formats
# Later, as another user, elsewhere.
elsewhere="$dir/a longer way to it"
mkdir "$elsewhere"
tar -c --exclude=./build --exclude=./mcptask --exclude=./.git \
    --exclude=node_modules . | tar -x -C "$elsewhere" || exit 1
# shellcheck disable=SC2086
(
    failed=0
    umask 077
    TZ=Asia/Kolkata LC_ALL=C.UTF-8
    export TZ LC_ALL
    pack "$elsewhere" "$dir/again" $formats
    exit $failed
) || fail 'packed by somebody else'
check diff -r "$packs" "$dir/again"

# ---- an image ----

# blob DIGEST SIZE: it exists, and has this digest and size
blob() {
    file=$dir/layout/blobs/sha256/${1#sha256:}
    check test -f "$file"
    check test "$(sha256sum <"$file" | cut -c 1-64)" = "${1#sha256:}"
    check test "$(($(wc -c <"$file")))" = "$2"
}
# refs FILE: prints digest and size of each descriptor in it, one a line
refs() {
    tr -d '\n' <"$1" |
        grep -o '"digest":"sha256:[0-9a-f]*","size":[0-9]*' |
        sed 's/"digest":"\(.*\)","size":/\1 /'
}

image=$(echo "$packs"/*.oci.tar)
mkdir "$dir/layout"
check tar -C "$dir/layout" -xf "$image"
has "$dir/layout/oci-layout" '"imageLayoutVersion":"1.0.0"'
# podman takes the image's name from there.
has "$dir/layout/index.json" "image.ref.name\":\"mcptask:$version\""
# The index names a manifest, which names a configuration and a layer.
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

# configured FILE: it is the configuration of the image, whatever wrote it
configured() {
    has "$1" '"Entrypoint":["/mcptask"]' '"User":"65532:65532"' \
        '"MCP_TASK_BASE_DIR=/data"' '"Volumes":{"/data":{}}' \
        '"ExposedPorts":{"8766/tcp":{}}' '"StopSignal":"SIGTERM"' \
        '"Test":["CMD","/mcptask","health"],"Interval":30000000000,' \
        "\"io.modelcontextprotocol.server.name\":\"io.github.$owner/mcptask\""
}
# runs ROOT USER ENTRYPOINT ENV...: runs the image as an engine does
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
has "$dir/list" '-rwxr-xr-x 0/0' '-rw-r--r-- 0/0' 'drwx------ 65532/65532'
check test "$(wc -l <"$dir/list")" -eq 3
mkdir "$dir/root"
if [ "$(id -u)" -eq 0 ] && check tar -C "$dir/root" -xf "$dir/layer.tar"; then
    check cmp LICENSE "$dir/root/LICENSE"
    runs "$dir/root" 65532:65532 /mcptask MCP_TASK_BASE_DIR=/data
fi
if wants skopeo; then
    check skopeo inspect "oci-archive:$image:mcptask:$version"
    # A copy reads all of it and checks every digest.
    check skopeo copy --insecure-policy "oci-archive:$image:mcptask:$version" \
        "dir:$dir/copy"
fi
# The Containerfile makes the same image. Building needs privileges.
builder() {
    TMPDIR=$dir timeout 60 buildah --storage-driver vfs --root "$dir/images" \
        --runroot "$dir/run" "$@"
}
# told FIELDS: prints these fields of the built image
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
    has "$dir/list" '-rwxr-xr-x 0/0 ./mcptask' '-rw-r--r-- 0/0 ./LICENSE' \
        'drwx------ 65532/65532 ./data'
    check test "$(wc -l <"$dir/list")" -eq 3
    check cmp "$bin" "$root/mcptask"
    entry='{{.User}} {{index .Entrypoint 0}}{{range .Env}} {{.}}{{end}}'
    # shellcheck disable=SC2046 # what is told is words
    runs "$root" $(told "{{with .OCIv1.Config}}$entry{{end}}")
fi

# ---- a bundle ----

if wants zip && wants unzip; then
    bundle=$(echo "$packs"/*.mcpb)
    sum=$(sha256sum <"$bundle" | cut -c 1-64)
    check unzip -q "$bundle" -d "$dir/bundle"
    has "$dir/bundle/manifest.json" "\"version\": \"$version\"" \
        '"command": "${__dirname}/server/mcptask"'
    check cmp "$bin" "$dir/bundle/server/mcptask"
    check test -x "$dir/bundle/server/mcptask"
    check env OUT="$packs" sh packaging/pack.sh registry "$bin"
    has "$packs/server.json" "\"fileSha256\": \"$sum\"" \
        '"registryType": "npm"' '"registryType": "pypi"' \
        "\"version\": \"$version\""
    check test -z "$(cat "$packs/server.json" "$dir/bundle/manifest.json" |
        grep @)"
    # The registry accepts 100 characters.
    check test "$(sed -n 's/^  "description": "\(.*\)",/\1/p' \
        "$packs/server.json" | wc -c)" -le 101
    # Both are JSON, by the program's own parser.
    for file in "$packs/server.json" "$dir/bundle/manifest.json"; do
        printf '{"jsonrpc":"2.0","id":1,"method":"ping","params":%s}\n' \
            "$(tr -d '\n' <"$file")" | MCP_TASK_BASE_DIR=$dir "$bin" >"$dir/out"
        has "$dir/out" '"result":{}'
    done
fi

# ---- npm ----

# What an agent sends: initialize, and a call of a tool.
hello='{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"test","version":"1"}}}
{"jsonrpc":"2.0","method":"notifications/initialized"}
{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"create_task","arguments":{"title":"x"}}}'
# serves COMMAND...: it serves on stdio, and prints its version
serves() {
    check "$@" --version
    has "$dir/log" "mcptask $version"
    echo "$hello" | MCP_TASK_BASE_DIR=$dir/store "$@" >"$dir/out" 2>&1 ||
        fail "$*: exit code on stdio"
    has "$dir/out" '"protocolVersion":"2025-11-25"' '\"status\":\"open\"'
}
# refuses TEXT COMMAND...: it does not start, and exits as a shell does for a
# missing program
refuses() {
    text=$1
    shift
    "$@" --version >"$dir/out" 2>&1
    check test $? -eq 127
    has "$dir/out" "$text"
}
# passes SIGNAL CODE LAUNCHER: a signal to the launcher ends the program, and
# then the launcher with this code. Reading the pipe ends once both have.
passes() {
    rm -f "$dir/said"
    mkfifo "$dir/said"
    MCP_TASK_BASE_DIR=$dir/store "$3" --port 0 2>"$dir/said" &
    pid=$!
    {
        read -r line
        kill -s "$1" $pid
        timeout 60 cat
    } <"$dir/said" >"$dir/out" || {
        fail "$1 did not end the program"
        pkill -KILL -P $pid
        kill -KILL $pid
    }
    wait $pid 2>/dev/null # where a shell names the signal
    check test $? -eq "$2"
    case $line in
    *http://127.0.0.1:*) ;;
    *) fail "it said: $line" ;;
    esac
}
# of_npm COMMAND...: runs it without this user's files and without a network
of_npm() (
    cd "$dir/npm" && HOME=$dir npm_config_cache=$dir/cache \
        npm_config_update_notifier=false npm_config_offline=true "$@"
)
if wants npm; then
    mkdir "$dir/npm"
    check of_npm npm install --no-audit --no-fund \
        "$packs"/mcptask-*.tgz
    modules=$dir/npm/node_modules
    launcher=$modules/.bin/mcptask
    cmp "$bin" "$modules"/@mcptask/*/mcptask || fail 'npm has another program'
    check test -s "$modules/mcptask/README.md"
    check diff -r packaging/plugin "$modules/mcptask/plugin"
    check cmp LICENSE "$modules/mcptask/LICENSE"
    check test -z "$(cat "$modules"/mcptask/*.js* "$modules"/@mcptask/*/*.json |
        grep '@[A-Z]*@')"
    serves of_npm npx mcptask
    serves "$launcher"
    "$launcher" no-such-command >"$dir/out" 2>&1
    check test $? -eq 2
    passes TERM 0 "$launcher"
    passes INT 0 "$launcher"
    (
        # shellcheck disable=SC3045 # where there is no such limit, so be it
        ulimit -c 0
        failed=0
        passes QUIT 131 "$launcher"
        exit $failed
    ) || fail 'passes QUIT'
    # A processor without a package, and a package that is missing.
    echo 'Object.defineProperty(process, "arch", { value: "pdp11" });' \
        >"$dir/other.js"
    refuses 'there is no package for linux-pdp11, only darwin-arm64, darwin-x64, ' \
        env NODE_OPTIONS="--require=$dir/other.js" "$launcher"
    rm -r "$modules/@mcptask"
    refuses 'is missing; install mcptask again' "$launcher"
fi

# ---- wheel ----

# Its RECORD lists exactly its files, with the right hashes and lengths.
cat >"$dir/record.py" <<'END'
import base64, csv, hashlib, io, sys, zipfile
wheel = zipfile.ZipFile(sys.argv[1])
name = next(n for n in wheel.namelist() if n.endswith('/RECORD'))
rows = list(csv.reader(io.TextIOWrapper(wheel.open(name))))
assert sorted(r[0] for r in rows) == sorted(wheel.namelist()), rows
for path, sum, size in rows:
    data = wheel.read(path)
    hash = base64.urlsafe_b64encode(hashlib.sha256(data).digest())
    right = ['sha256=' + hash.decode().rstrip('='), str(len(data))]
    assert [sum, size] == (right if path != name else ['', '']), path
END
if wants zip && wants python3; then
    wheel=$(echo "$packs"/*.whl)
    check python3 "$dir/record.py" "$wheel"
    check python3 -m venv "$dir/venv"
    check "$dir/venv/bin/pip" install --no-index --no-cache-dir "$wheel"
    check cmp "$bin" "$dir/venv/bin/mcptask"
    check diff -r packaging/plugin "$dir/venv/share/mcptask/plugin"
    serves "$dir/venv/bin/mcptask"
    has "$dir/venv/share/bash-completion/completions/mcptask" \
        'mcptask completion bash'
    check "$dir/venv/bin/pip" show -f mcptask
    has "$dir/log" "Version: $(echo "$version" | sed 's/-dev/.dev0/')" \
        'License: MIT' '/LICENSE'
    # License-File came with version 2.4, and indexes refuse it before.
    python3 -m zipfile -e "$wheel" "$dir/wheel"
    cp "$dir"/wheel/*/METADATA "$dir/metadata"
    has "$dir/metadata" 'Metadata-Version: 2.1'
    lacks "$dir/metadata" 'License-File:' '="docs/' '](docs/'
    lacks "$dir/log" '@OWNER@' '@VERSION@'
    check "$dir/venv/bin/pip" uninstall -y mcptask
    check test ! -e "$dir/venv/bin/mcptask"
    if wants uvx; then
        check env HOME="$dir" uvx --offline --from "$wheel" mcptask --version
    fi
fi

# ---- deb ----

# Installs below another root; the package's scripts then do not use systemd.
dpkg_in() {
    dpkg --root="$dir/debian" --force-script-chrootless --force-bad-path "$@"
}
if wants dpkg-deb && [ "$(id -u)" -eq 0 ]; then
    mkdir -p "$dir/debian/var/lib/dpkg/updates" "$dir/debian/var/lib/dpkg/info"
    : >"$dir/debian/var/lib/dpkg/status"
    : >"$dir/debian/var/lib/dpkg/available"
    check dpkg_in -i "$packs"/*.deb
    check dpkg_in -s mcptask
    has "$dir/log" 'Status: install ok installed' "Version: $(echo "$version" | sed 's/-dev/~dev/')-1"
    lacks "$dir/log" '@OWNER@' '@SIZE@'
    check dpkg_in --verify mcptask
    check test ! -s "$dir/log"
    check cmp "$bin" "$dir/debian/usr/bin/mcptask"
    serves "$dir/debian/usr/bin/mcptask"
    for page in man1/mcptask.1 man5/mcptask-log.5; do
        gzip -dc "$dir/debian/usr/share/man/$page.gz" >"$dir/page"
        check cmp "$dir/page" "man/${page#*/}"
    done
    has "$dir/debian/usr/lib/systemd/system/mcptask.service" \
        'ExecStart=/usr/bin/mcptask --http'
    check test -f "$dir/debian/usr/lib/systemd/user/mcptask.service"
    check test -f "$dir/debian/usr/lib/sysusers.d/mcptask.conf"
    for file in bash-completion/completions/mcptask zsh/vendor-completions/_mcptask \
        fish/vendor_completions.d/mcptask.fish; do
        has "$dir/debian/usr/share/$file" 'mcptask completion '
    done
    has "$dir/debian/usr/share/doc/mcptask/copyright" \
        'Permission is hereby granted' 'License: Expat'
    check dpkg_in -i "$packs"/*.deb
    check dpkg_in --purge mcptask
    check test -z "$(find "$dir/debian" -name '*mcptask*')"
fi
if wants lintian && wants dpkg-deb; then
    check lintian --allow-root --fail-on error "$packs"/*.deb
fi

# ---- all packages ----

check sh -c '! sh packaging/dist.sh linux-x86_64 pdp11 macos-vax'
has "$dir/log" 'dist.sh: pdp11: choose linux-x86_64, ' \
    'dist.sh: macos-vax: choose linux-x86_64, '

# serves_tarball FILE COMMAND...: the program in it, and what comes with it
serves_tarball() {
    mkdir -p "$dir/prefix"
    check tar -xz --strip-components=1 -C "$dir/prefix" -f "$1"
    shift
    serves "$@" "$dir/prefix/bin/mcptask"
    check cmp man/mcptask.1 "$dir/prefix/share/man/man1/mcptask.1"
    check diff -r packaging/plugin "$dir/prefix/share/mcptask/plugin"
    check cmp LICENSE "$dir/prefix/share/doc/mcptask/LICENSE"
    has "$dir/prefix/lib/systemd/system/mcptask.service" \
        ExecStart=/usr/local/bin/mcptask
    rm -r "$dir/prefix"
}
serves_tarball "$packs"/*.tar.gz

# all of them, or only: a processor, a system, and a router
made='linux-x86_64 linux-aarch64 linux-armhf linux-mipsel macos-aarch64 macos-x86_64'
# Two of them are made again elsewhere.
if wants npm && wants zip && wants dpkg-deb && [ "$(uname -m)" = x86_64 ]; then
    check make -s dist TARGETS="$made"
    lacks "$dir/log" warning:
    dist=build/dist
    (cd $dist && sha256sum -c SHA256SUMS) >"$dir/sums" 2>&1 ||
        fail "SHA256SUMS: $(cat "$dir/sums")"
    check test "$(grep -c ': OK$' "$dir/sums")" -eq \
        "$(ls -I SHA256SUMS $dist | wc -l)"
    has "$dir/sums" linux-mipsel.tar.gz linux-armhf.mcpb _armhf.deb \
        mcptask-linux-arm- mcptask-darwin-arm64- macosx_11_0_arm64.whl \
        arm.oci.tar manylinux2014_armv7l.musllinux_1_2_armv7l.whl \
        "mcptask-$version.tgz" macos-x86_64.tar.gz macos-aarch64.cdx.json

    # The same bytes from another place, another user and another day.
    other=$dir/other
    mkdir "$other"
    tar -c --exclude=./build --exclude=./mcptask --exclude=./.git \
        --exclude=node_modules . | tar -x -C "$other" &&
        ln -s "$PWD/tests/cross/node_modules" "$other/tests/cross" || exit 1
    commit=$("$bin" --version | sed 's/^[^+]*+*//')
    (
        umask 077
        cd "$other" && TZ=Asia/Kolkata LC_ALL=C.UTF-8 \
            make -s dist TARGETS='linux-mipsel macos-aarch64' \
            MCPTASK_COMMIT="$commit"
    ) >"$dir/log" 2>&1 || fail "dist elsewhere: $(cat "$dir/log")"
    for file in "$other"/build/dist/*-macos-aarch64.* \
        "$other"/build/dist/*-linux-mipsel.* \
        "$other"/build/dist/*.whl "$other"/build/dist/*.tgz; do
        check cmp "$file" "$dist/${file##*/}"
    done

    # What this machine can run is installed and used.
    serves_tarball $dist/*-linux-x86_64.tar.gz
    if wants qemu-arm-static; then
        serves_tarball $dist/*-linux-armhf.tar.gz qemu-arm-static
    fi
    if wants qemu-mipsel-static; then
        serves_tarball $dist/*-linux-mipsel.tar.gz qemu-mipsel-static
    fi
    if wants qemu-aarch64-static; then
        serves_tarball $dist/*-linux-aarch64.tar.gz qemu-aarch64-static
    fi

    # The others are opened: each holds the program of its platform.
    check dpkg-deb -x $dist/mcptask_*_armhf.deb "$dir/armhf"
    check cmp "$dir/armhf/usr/bin/mcptask" build/static/linux-armhf/mcptask
    if [ -d "$dir/venv" ]; then
        check "$dir/venv/bin/pip" install --no-index --no-deps \
            --only-binary=:all: --platform manylinux2014_armv7l \
            --target "$dir/foreign" $dist/mcptask-*_armv7l.whl
        check cmp "$dir/foreign/bin/mcptask" build/static/linux-armhf/mcptask
        check "$dir/venv/bin/pip" install --no-index --no-deps \
            --only-binary=:all: --platform macosx_11_0_arm64 \
            --target "$dir/mac" $dist/mcptask-*_11_0_arm64.whl
        check cmp "$dir/mac/bin/mcptask" build/static/macos-aarch64/mcptask
    fi
    mkdir "$dir/darwin" "$dir/tarball"
    check tar -xzf $dist/mcptask-darwin-x64-*.tgz -C "$dir/darwin"
    check cmp "$dir/darwin/package/mcptask" build/static/macos-x86_64/mcptask
    has "$dir/darwin/package/package.json" '"os": ["darwin"]' '"cpu": ["x64"]'
    check tar -xzf $dist/*-macos-aarch64.tar.gz -C "$dir/tarball"
    check test ! -e "$dir/tarball"/*/lib
    mkdir "$dir/desktop"
    check unzip -q $dist/*-macos-aarch64.mcpb -d "$dir/desktop"
    check cmp "$dir/desktop/server/mcptask" build/static/macos-aarch64/mcptask
    has "$dir/desktop/manifest.json" '"platforms": ["darwin"]'

    # The formula names the tarballs, with their sums.
    check test "$(grep -o '"[0-9a-f]\{64\}"' $dist/mcptask.rb | tr -d '"' |
        while read -r sum; do grep "^$sum .*\.tar\.gz" $dist/SHA256SUMS; done |
        wc -l)" -eq 4
    check sh -c "! grep '@' $dist/mcptask.rb"
    if wants ruby; then
        check ruby -c $dist/mcptask.rb
    fi
    # The list of contents has the sum of the program.
    sum=$(sha256sum <build/static/linux-x86_64/mcptask | cut -c 1-64)
    has $dist/mcptask-*-linux-x86_64.cdx.json "\"content\":\"$sum\"" \
        '"name":"musl"' '"specVersion":"1.6"'
fi

# ---- units ----

# The OpenRC script runs with stubs for the commands of OpenRC.
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

# macOS starts it by a property list.
if wants python3; then
    check python3 -c 'import plistlib, sys
p = plistlib.load(open(sys.argv[1], "rb"))
assert p["ProgramArguments"][1:] == ["--http"] and p["Umask"] == 0o77, p' \
        packaging/mcptask.plist
fi

# calls_of FILTER: prints the system calls of a filter of systemd, with its
# groups resolved.
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
        "$units/mcptask.socket" "$units/mcptask-group.socket"
    check env XDG_RUNTIME_DIR="$dir" systemd-analyze --user --man=no verify \
        "$dir/usr/lib/systemd/user/mcptask.service" \
        "$dir/usr/lib/systemd/user/mcptask.socket"
    check systemd-analyze security --offline=true --threshold=15 \
        "$units/mcptask.service"
    if wants strace && check test -x build/t_web_token; then
        # All system calls in the tests of HTTP must pass the unit's filter.
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
