#!/bin/sh
# Packs a program for Linux, which has to be static, or for macOS:
# pack.sh FORMAT PROGRAM
#
#   tarball  build/mcptask-VERSION-SYSTEM-ARCH.tar.gz: the program, its manual
#            pages, units and plugin, and mcptask-import; with LIBC and RUNTIME, .cdx.json beside
#            it, the list of what the program contains
#   image    build/image/: the files of an image, for packaging/Containerfile
#   oci      build/mcptask-VERSION-ARCH.oci.tar: an OCI image layout, for
#            "podman load -i", "skopeo copy oci-archive:..." and the like
#   mcpb     build/mcptask-VERSION-SYSTEM-ARCH.mcpb: a bundle for desktop
#            clients; needs zip
#   npm      build/mcptask-VERSION.tgz: the launcher for npx, and
#            build/mcptask-SYSTEM-CPU-VERSION.tgz: the program that it starts
#   wheel    build/mcptask-VERSION-py3-none-PLATFORM.whl, for pip and uvx; needs
#            zip
#   deb      build/mcptask_VERSION-1_ARCH.deb; needs dpkg-deb
#
# and from the files that are there already:
#
#   registry build/server.json, for the MCP registry: the bundles and the others
#   formula  build/mcptask.rb, for Homebrew: the tarballs
#
# OWNER and IMAGE name the place of publication, OUT the directory for the files
# instead of build. The same program makes the same bytes, since all times are
# SOURCE_DATE_EPOCH, or the day of the last release. No container engine is
# needed.
set -eu
export LC_ALL=C TZ=UTC
cd "$(dirname "$0")/.."
what=$1 program=$2
owner=${OWNER:-OWNER}
place=https://github.com/$owner/mcptask
image=${IMAGE:-registry.example/$owner/mcptask}
released=$(sed -n 's/^## \[.*\] - //p' CHANGELOG.md | head -n 1)
epoch=${SOURCE_DATE_EPOCH:-$(date -u -d "$released" +%s)}
version=$(sed -n 's/^#define MCPTASK_VERSION "\(.*\)"/\1/p' base/base.h)

fail() {
    echo "pack.sh: $*" >&2
    exit 1
}

# The header of the file gives system and processor, ELF in either byte order.
# Each kind of package has another name for them. Wheels name the C library that
# they need; a static program works with the oldest of each. Those for macOS name
# the oldest system that dist.sh builds for.
system=linux os=linux variant='' deb=''
case $(od -An -tx1 -N8 "$program" | tr -d ' ') in
7f454c46*) machine=$(od -An -tx1 -j18 -N2 "$program" | tr -d ' ') ;;
cffaedfe*)
    system=macos os=darwin
    machine=macos-$(od -An -tx1 -j4 -N1 "$program" | tr -d ' ')
    ;;
*) fail "$program: not a program for Linux or macOS" ;;
esac
case $machine in
3e00)
    processor=x86_64 arch=amd64 deb=amd64 cpu=x64
    platform=manylinux2014_x86_64.musllinux_1_1_x86_64
    ;;
b700)
    processor=aarch64 arch=arm64 deb=arm64 cpu=arm64
    platform=manylinux2014_aarch64.musllinux_1_1_aarch64
    ;;
2800)
    processor=armhf arch=arm deb=armhf cpu=arm variant=',"variant":"v7"'
    platform=manylinux2014_armv7l.musllinux_1_2_armv7l
    ;;
f300)
    processor=riscv64 arch=riscv64 deb=riscv64 cpu=riscv64
    platform=manylinux_2_31_riscv64.musllinux_1_2_riscv64
    ;;
0016)
    processor=s390x arch=s390x deb=s390x cpu=s390x
    platform=manylinux2014_s390x.musllinux_1_1_s390x
    ;;
0008) processor=mips ;;
0800) processor=mipsel ;;
macos-0c) processor=aarch64 arch=arm64 cpu=arm64 platform=macosx_11_0_arm64 ;;
macos-07) processor=x86_64 arch=amd64 cpu=x64 platform=macosx_10_15_x86_64 ;;
*) fail "$program: not for a known processor" ;;
esac
[ $system = macos ] || ! grep -qa '/ld-' "$program" ||
    fail "$program: not a static program"

# needs COMMAND
needs() {
    command -v "$1" >/dev/null || fail "$what needs $1"
}

# sum_of FILE: prints its SHA-256
sum_of() {
    sha256sum "$1" | cut -c 1-64
}

# lay_out DIR: the files of the image
lay_out() {
    rm -rf "$1"
    mkdir -p "$1/volume/data"
    install -m 755 "$program" "$1/mcptask"
    install -m 644 LICENSE "$1/LICENSE"
    chmod 700 "$1/volume/data"
}

# pack TAR DIR OWNER NAME...: adds them to TAR
pack() {
    tar --sort=name --mtime="@$epoch" --owner="$3" --group="$3" \
        --numeric-owner --format=ustar -C "$2" -rf "$1" "$4"
}

# settle DIR: sets modes and times, which must not depend on who packs, or when
settle() {
    chmod -R u=rwX,go=rX "$1"
    find "$1" -exec touch -d "@$epoch" {} +
}

# blob FILE TYPE: adds it to the blobs; its descriptor is in $ref
blob() {
    sum=$(sum_of "$1")
    ref="\"mediaType\":\"application/vnd.oci.image.$2\",\"digest\":\"sha256:$sum\""
    ref="$ref,\"size\":$(($(wc -c <"$1")))"
    mv "$1" "$layout/blobs/sha256/$sum"
}

make_oci() {
    work=build/oci layout=build/oci/layout
    rm -rf $work
    mkdir -p $layout/blobs/sha256
    lay_out $work/root
    pack $work/layer.tar $work/root 0 LICENSE
    pack $work/layer.tar $work/root 0 mcptask
    pack $work/layer.tar $work/root/volume 65532 data
    diff=$(sum_of $work/layer.tar)
    gzip -9n $work/layer.tar
    blob $work/layer.tar.gz layer.v1.tar+gzip
    layer=$ref
    at=$(date -u -d "@$epoch" +%Y-%m-%dT%H:%M:%SZ)
    labels="\"io.modelcontextprotocol.server.name\":\"io.github.$owner/mcptask\""
    labels="$labels,\"org.opencontainers.image.version\":\"$version\""
    labels="$labels,\"org.opencontainers.image.licenses\":\"MIT\""
    platform="\"architecture\":\"$arch\",\"os\":\"linux\"$variant"
    cat >$work/config <<END
{"created":"$at",$platform,"config":{"User":"65532:65532",
"ExposedPorts":{"8766/tcp":{}},"Env":["MCP_TASK_BASE_DIR=/data"],
"Entrypoint":["/mcptask"],"Volumes":{"/data":{}},"StopSignal":"SIGTERM",
"Healthcheck":{"Test":["CMD","/mcptask","health"],"Interval":30000000000,
"Timeout":5000000000},"Labels":{$labels}},
"rootfs":{"type":"layers","diff_ids":["sha256:$diff"]},
"history":[{"created":"$at","comment":"the program and a place for its store"}]}
END
    blob $work/config config.v1+json
    cat >$work/manifest <<END
{"schemaVersion":2,"mediaType":"application/vnd.oci.image.manifest.v1+json",
"config":{$ref},"layers":[{$layer}],"annotations":{$labels}}
END
    blob $work/manifest manifest.v1+json
    cat >$layout/index.json <<END
{"schemaVersion":2,"mediaType":"application/vnd.oci.image.index.v1+json",
"manifests":[{$ref,"platform":{$platform},
"annotations":{"org.opencontainers.image.ref.name":"mcptask:$version"}}]}
END
    echo '{"imageLayoutVersion":"1.0.0"}' >$layout/oci-layout
    chmod -R u=rwX,go=rX $layout
    out=$to/mcptask-$version-$arch.oci.tar
    rm -f "$out"
    for name in oci-layout index.json blobs; do
        pack "$out" $layout 0 $name
    done
    echo "$out"
}

# fill FILE: prints this template with the values of this package
fill() {
    sed -e "s|@VERSION@|$version|g; s|@OWNER@|$owner|g" \
        -e "s|@IMAGE@|$image|g; s|@CPU@|${cpu-}|g; s|@OS@|$os|g" \
        -e "s|@DEB@|$deb|g; s|@SIZE@|${size-}|g" \
        -e "s|@DATE@|$(date -u -R -d "@$epoch")|g" "$1"
}

make_mcpb() {
    needs zip
    work=build/mcpb
    rm -rf $work
    mkdir -p $work/server
    install -m 755 "$program" $work/server/mcptask
    install -m 644 LICENSE $work/LICENSE
    fill packaging/manifest.json >$work/manifest.json
    settle $work
    out=$to/mcptask-$version-$system-$processor.mcpb
    rm -f "$out"
    (cd $work && zip -qXD "$out" manifest.json LICENSE server/mcptask)
    echo "$out"
}

# tgz DIR NAME: makes an npm package of DIR/package
tgz() {
    install -m 644 LICENSE "$1/package/LICENSE"
    settle "$1"
    pack "$1/tar" "$1" 0 package
    out=$to/$2-$version.tgz
    gzip -9n <"$1/tar" >"$out"
    echo "$out"
}

make_npm() {
    work=build/npm
    rm -rf $work
    mkdir -p $work/launcher/package $work/platform/package
    install -m 755 packaging/npm/mcptask.js contrib/mcptask-import \
        $work/launcher/package
    install -m 644 README.md $work/launcher/package
    cp -R packaging/plugin $work/launcher/package
    fill packaging/npm/package.json >$work/launcher/package/package.json
    tgz $work/launcher mcptask
    install -m 755 "$program" $work/platform/package/mcptask
    fill packaging/npm/platform.json >$work/platform/package/package.json
    tgz $work/platform "mcptask-$os-$cpu"
}

# of_python: prints the version as Python writes it, 0.3.0.dev0 for 0.3.0-dev
of_python() {
    echo "$version" | sed 's/-dev$/.dev0/'
}

# digest FILE: prints its SHA-256 as RECORD needs it, in base64url: two digits
# for every three hex digits of 264 bits, without the last
digest() {
    sum_of "$1" | awk '{
        to64 = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
        for (i = 1; i < 66; i += 3) {
            n = 0
            for (k = i; k < i + 3; k++)
                n = n * 16 + index("123456789abcdef", substr($1 "00", k, 1))
            out = out substr(to64, int(n / 64) + 1, 1) substr(to64, n % 64 + 1, 1)
        }
        print substr(out, 1, 43)
    }'
}

make_wheel() {
    needs zip
    version=$(of_python)
    work=build/wheel name=mcptask-$version
    info=$name.dist-info scripts=$name.data/scripts share=$name.data/data/share
    bash=$share/bash-completion/completions/mcptask
    zsh=$share/zsh/site-functions/_mcptask
    fish=$share/fish/vendor_completions.d/mcptask.fish
    rm -rf $work
    mkdir -p "$work/$info" "$work/$scripts" "$work/$share/mcptask" \
        "$work/${bash%/*}" "$work/${zsh%/*}" "$work/${fish%/*}"
    install -m 644 packaging/completion/mcptask.bash "$work/$bash"
    install -m 644 packaging/completion/mcptask.zsh "$work/$zsh"
    install -m 644 packaging/completion/mcptask.fish "$work/$fish"
    install -m 755 "$program" "$work/$scripts/mcptask"
    install -m 755 contrib/mcptask-import "$work/$scripts"
    cp -R packaging/plugin "$work/$share/mcptask"
    install -m 644 LICENSE "$work/$info/LICENSE"
    # Relative links are those of the repository: the index needs absolute ones.
    at=$place
    {
        fill packaging/wheel/METADATA
        sed -e "s|src\(set\)*=\"\([^:\"]*\)\"|src\1=\"$at/raw/v$version/\2\"|g" \
            -e "s|](\([^:)]*\))|]($at/blob/v$version/\1)|g" README.md
    } >"$work/$info/METADATA"
    {
        echo 'Wheel-Version: 1.0'
        echo "Generator: $name"
        echo 'Root-Is-Purelib: false'
        echo "$platform" | tr . '\n' | sed 's/^/Tag: py3-none-/'
    } >"$work/$info/WHEEL"
    # shellcheck disable=SC2046 # these names have no blanks
    set -- "$scripts/mcptask" "$scripts/mcptask-import" "$info/LICENSE" "$info/METADATA" "$info/WHEEL" \
        $(cd $work && find "$share" -type f | sort)
    for file; do
        echo "$file,sha256=$(digest "$work/$file"),$(($(wc -c <"$work/$file")))"
    done >"$work/$info/RECORD"
    echo "$info/RECORD,," >>"$work/$info/RECORD"
    settle $work
    out=$to/$name-py3-none-$platform.whl
    rm -f "$out"
    (cd $work && zip -qXD "$out" "$@" "$info/RECORD")
    echo "$out"
}

make_deb() {
    needs dpkg-deb
    [ -n "$deb" ] || fail "$program: not for a processor that Debian has"
    version=$(echo "$version" | sed 's/-dev$/~dev/') # before the release
    work=build/deb doc=build/deb/usr/share/doc/mcptask
    rm -rf $work
    make -s -o "$program" install BIN="$program" DESTDIR=$work PREFIX=/usr \
        ZSH_DIR=share/zsh/vendor-completions
    gzip -9n $work/usr/share/man/man?/*
    mkdir -p $doc $work/DEBIAN
    {
        fill packaging/deb/copyright
        sed '1,4d; s/^$/./; s/^/ /' LICENSE
    } >$doc/copyright
    gzip -9n <CHANGELOG.md >$doc/changelog.gz
    fill packaging/deb/changelog | gzip -9n >$doc/changelog.Debian.gz
    size=$(find $work/usr -type f -printf '%s\n' |
        awk '{ n += int(($1 + 1023) / 1024) } END { print n }')
    fill packaging/deb/control >$work/DEBIAN/control
    install -m 755 packaging/deb/postinst packaging/deb/prerm $work/DEBIAN
    (cd $work && find usr -type f | sort | xargs md5sum >DEBIAN/md5sums)
    settle $work
    out=$to/mcptask_$version-1_$deb.deb
    SOURCE_DATE_EPOCH=$epoch \
        dpkg-deb --root-owner-group -Zxz -b $work "$out" >/dev/null
    echo "$out"
}

# make_tarball: what "make install" installs, to be unpacked into a prefix
make_tarball() {
    work=build/tarball base=mcptask-$version-$system-$processor
    doc=$work/$base/share/doc/mcptask
    rm -rf $work
    mkdir -p $work
    make -s -o "$program" install BIN="$program" DESTDIR=$work/root \
        PREFIX=/usr/local
    mv $work/root/usr/local "$work/$base"
    [ $system = linux ] || rm -r "${work:?}/$base/lib"
    mkdir -p "$doc"
    install -m 644 LICENSE README.md CHANGELOG.md "$doc"
    if [ -n "${LIBC-}" ]; then
        put_sbom >"$to/$base.cdx.json"
        install -m 644 "$to/$base.cdx.json" "$doc"
    fi
    settle $work
    rm -f $work/tar
    pack $work/tar $work 0 "$base"
    gzip -9n <$work/tar >"$to/$base.tar.gz"
    echo "$to/$base.tar.gz"
}

# put_sbom: prints what the program contains (CycloneDX 1.6). $LIBC is the C
# library in one for Linux, "musl 1.2.5", and $RUNTIME that of its compiler; for
# macOS the former comes with the system.
put_sbom() {
    mit='"licenses":[{"license":{"id":"MIT"}}]'
    part() {
        echo "{\"type\":\"library\",\"bom-ref\":\"$1\",\"name\":\"$1\","
        echo "\"version\":\"$2\",$mit}"
    }
    cat <<END
{"bomFormat":"CycloneDX","specVersion":"1.6","version":1,
"metadata":{"timestamp":"$(date -u -d "@$epoch" +%Y-%m-%dT%H:%M:%SZ)",
"component":{"type":"application","bom-ref":"mcptask","name":"mcptask",
"version":"$version","purl":"pkg:github/$owner/mcptask@v$version",$mit,
"hashes":[{"alg":"SHA-256","content":"$(sum_of "$program")"}]}},
"components":[
$(part "${RUNTIME% *}" "${RUNTIME##* }")
$([ $system = macos ] || echo ",$(part "${LIBC% *}" "${LIBC##* }")")
],
"dependencies":[{"ref":"mcptask","dependsOn":["${RUNTIME% *}"$(
        [ $system = macos ] || echo ",\"${LIBC% *}\"")]}]}
END
}

# make_registry: names the bundles that are there; the other packages have one
# name for all processors
make_registry() {
    : >build/bundles
    for file in "$to"/*.mcpb; do
        cat >>build/bundles <<END
    {
      "registryType": "mcpb",
      "identifier": "$place/releases/download/v$version/${file##*/}",
      "fileSha256": "$(sum_of "$file")",
      "transport": { "type": "stdio" }
    },
END
    done
    sed "s|@PYTHON@|$(of_python)|; /@BUNDLES@/{
        r build/bundles
        d
    }" packaging/server.json >build/server.template
    fill build/server.template >"$to/server.json"
    echo "$to/server.json"
}

# make_formula: names the tarballs of the four platforms of Homebrew
make_formula() {
    cp packaging/mcptask.rb build/formula
    for one in macos-aarch64 macos-x86_64 linux-aarch64 linux-x86_64; do
        file=$to/mcptask-$version-$one.tar.gz
        [ -f "$file" ] || fail "$file is missing; run pack.sh tarball first"
        sed "s|@SHA256 $one@|$(sum_of "$file")|" build/formula >build/formula.next
        mv build/formula.next build/formula
    done
    fill build/formula >"$to/mcptask.rb"
    echo "$to/mcptask.rb"
}

to=${OUT:-build}
mkdir -p build "$to"
to=$(cd "$to" && pwd)
case $what in
image) lay_out build/image && echo build/image ;;
tarball | oci | mcpb | npm | wheel | deb | registry | formula) "make_$what" ;;
*) fail "$what: no such package" ;;
esac
