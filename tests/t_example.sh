#!/bin/sh
# Checks docs/architecture.md against the code: the files and functions that it
# names exist, and the patches of its examples apply to this tree, each line of
# their context. "make example" builds and uses them.

cd "$(dirname "$0")/.." || exit 1
. tests/lib/check.sh

for ref in $(grep -o '[a-z_/]*\.c:[a-z_]*' docs/architecture.md); do
    check grep -q "^${ref#*:}(" "${ref%:*}"
done
for ref in $(grep -oE '`[a-z_/-]+\.(c|h|sh|txt|patch|1)`' \
    docs/architecture.md); do
    check test -e "$(echo "$ref" | tr -d '\`')"
done
cat -- *.h */*.h >"$dir/headers"
for ref in $(grep -oE '`(mcp|store|tools)_[a-z_]+`' docs/architecture.md); do
    check grep -qw "$(echo "$ref" | tr -d '\`')" "$dir/headers"
done
wants patch || finish
for example in tests/example/*.patch; do
    check patch --dry-run -p1 -F0 -i "$example"
done
finish
