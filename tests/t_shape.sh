#!/bin/sh
# What tests/shape.awk says of the shape of files.
set -eu
shape=$PWD/tests/shape.awk
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"

cat >a.c <<'END'
/* Is this a ? b : c ? d : e; no, it is a comment. */
static int
take(int a)
{
    say("? :", '?', a ? 1 : 2, a ? 3 : 4);
    return a ? (a > 1) : 0;
}

static int
take_a(int a)
{
    int b = a ? 1
            : a > 2 ? 2 : 3;

    return a ? (b ? 1 : 2) : 3;
}
END
cat >b.c <<'END'
static int
take(int a)
{
    return f(a ? g(1, a ? 2 : 3) : 0);
}
END
cat >expected <<'END'
a.c:12: a conditional operator within another
a.c:15: a conditional operator within another
b.c:4: a conditional operator within another
static take is in a.c b.c
END
awk -f "$shape" a.c b.c >got
diff expected got

awk 'BEGIN { printf "/*%80s*/\n", "" }' >wide.c
if awk -f "$shape" wide.c >got; then
    echo "a wide line is no error"
    exit 1
fi
grep -q '^wide.c:1: 84 columns$' got
echo "$(basename "$0" .sh): 3 checks passed"
