#!/bin/sh
# Packs a static program: pack.sh image|oci|mcpb PROGRAM
#
#   image  build/image/: the files of an image, for packaging/Containerfile
#   oci    build/mcptask-VERSION-ARCH.oci.tar: an OCI image layout, for
#          "podman load -i", "skopeo copy oci-archive:..." and the like
#   mcpb   build/mcptask-VERSION-ARCH.mcpb: a bundle for desktop clients, and
#          build/server.json for the MCP registry; needs zip
#
# OWNER and IMAGE say where it will be published. The same program gives the
# same bytes, since all times are SOURCE_DATE_EPOCH. No container engine is
# needed.
set -eu
export LC_ALL=C TZ=UTC
cd "$(dirname "$0")/.."
what=$1 program=$2
owner=${OWNER:-OWNER}
image=${IMAGE:-registry.example/$owner/mcptask}
epoch=${SOURCE_DATE_EPOCH:-315532800} # 1980: zip knows nothing before
version=$(sed -n 's/^#define MCPTASK_VERSION "\(.*\)"/\1/p' base/base.h)

# The ELF header names the processor, in either byte order.
variant=
case $(od -An -tx1 -j18 -N2 "$program" | tr -d ' ') in
3e00) arch=amd64 ;;
b700) arch=arm64 ;;
2800) arch=arm variant=',"variant":"v7"' ;;
f300) arch=riscv64 ;;
0016) arch=s390x ;;
*) echo "pack.sh: $program: not for a known processor" >&2 && exit 1 ;;
esac
if grep -qa '/ld-' "$program"; then
    echo "pack.sh: $program: not a static program" >&2
    exit 1
fi

# lay_out DIR: the files of the image
lay_out() {
    rm -rf "$1"
    mkdir -p "$1/volume/data"
    install -m 755 "$program" "$1/mcptask"
    chmod 700 "$1/volume/data"
}

# pack TAR DIR OWNER NAME...: adds them to TAR
pack() {
    tar --sort=name --mtime="@$epoch" --owner="$3" --group="$3" \
        --numeric-owner --format=ustar -C "$2" -rf "$1" "$4"
}

# blob FILE TYPE: puts it among the blobs; what refers to it is in $ref
blob() {
    sum=$(sha256sum "$1" | cut -c 1-64)
    ref="\"mediaType\":\"application/vnd.oci.image.$2\",\"digest\":\"sha256:$sum\""
    ref="$ref,\"size\":$(($(wc -c <"$1")))"
    mv "$1" "$layout/blobs/sha256/$sum"
}

make_oci() {
    work=build/oci layout=build/oci/layout
    rm -rf $work
    mkdir -p $layout/blobs/sha256
    lay_out $work/root
    pack $work/layer.tar $work/root 0 mcptask
    pack $work/layer.tar $work/root/volume 65532 data
    diff=$(sha256sum $work/layer.tar | cut -c 1-64)
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
"annotations":{"org.opencontainers.image.ref.name":"$version"}}]}
END
    echo '{"imageLayoutVersion":"1.0.0"}' >$layout/oci-layout
    chmod -R u=rwX,go=rX $layout
    out=build/mcptask-$version-$arch.oci.tar
    rm -f "$out"
    for name in oci-layout index.json blobs; do
        pack "$out" $layout 0 $name
    done
    echo "$out"
}

fill() {
    sed -e "s|@VERSION@|$version|g; s|@OWNER@|$owner|g; s|@ARCH@|$arch|g" \
        -e "s|@IMAGE@|$image|g; s|@SHA256@|${sum-}|g" "packaging/$1"
}

make_mcpb() {
    work=build/mcpb
    rm -rf $work
    mkdir -p $work/server
    install -m 755 "$program" $work/server/mcptask
    install -m 644 LICENSE $work/LICENSE
    fill manifest.json >$work/manifest.json
    find $work -exec touch -d "@$epoch" {} +
    out=$PWD/build/mcptask-$version-$arch.mcpb
    rm -f "$out"
    (cd $work && zip -qXD "$out" manifest.json LICENSE server/mcptask)
    sum=$(sha256sum "$out" | cut -c 1-64)
    fill server.json >build/server.json
    echo "$out"
}

mkdir -p build
case $what in
image) lay_out build/image && echo build/image ;;
oci) make_oci ;;
mcpb) make_mcpb ;;
esac
