#!/bin/sh
# Counts the lines of the files that git tracks, by folder and kind: the product
# and, apart from it, its tests. "others" are Python, JavaScript, Go, Rust and
# Java. Pictures, logs and files that programs write
# (lock files, data) are not counted.
set -eu
cd "$(dirname "$0")/.."

git ls-files | awk '
function kind(file) {
    if (file ~ /^tests\/(data|fuzz\/seeds|cli\/look|interop\/screens|clients\/python\/pins)\//)
        return ""
    if (file ~ /\.[ch]$/)
        return "C"
    if (file ~ /\.html$/)
        return "page"
    if (file ~ /\.(py|mjs|go|rs|java)$|mcptask-import$/)
        return "others"
    if (file ~ /\.(sh|awk|sed|mk|zsh)$|Makefile$|^\.ci\/|deb\/p/)
        return "sh make"
    if (file ~ /\.(md|txt|patch|[15])$/)
        return "text"
    return ""
}
{
    k = kind($0)
    if (k == "")
        next
    n = 0
    while ((getline line <$0) > 0)
        n++
    close($0)
    folder = $0 ~ /\// ? $0 : "."
    sub(/\/.*/, "", folder)
    if (folder == "tests") {
        folder = $0
        sub(/^tests\//, "", folder)
        folder = "tests" (folder ~ /\// ? "/" folder : "")
        sub(/\/[^\/]*$/, "", folder)
    }
    part = folder ~ /^tests/ ? "tests" : "product"
    sum[folder, k] += n
    total[part, k] += n
    if (!(folder in seen)) {
        seen[folder] = 1
        order[++folders] = folder
    }
}
function row(name, of, i) {
    printf "%-20s", name
    for (i = 1; i <= 5; i++)
        printf " %8s", of[name, kinds[i]]
    print ""
}
END {
    split("C,page,others,sh make,text", kinds, ",")
    printf "%-20s", "lines"
    for (i = 1; i <= 5; i++)
        printf " %8s", kinds[i]
    print ""
    for (i = 1; i <= folders; i++)
        row(order[i], sum)
    row("product", total)
    row("tests", total)
}'
