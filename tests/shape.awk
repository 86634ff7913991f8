# Names lines over 80 columns, which is an error, and as advice, outside tests,
# what is hard to read or to find: functions over 100 lines, files over 2,000 and
# headers over 300, static functions that have the same name in several files,
# and conditional operators within another's operands.

function end_file() {
    if (!test && lines > (file ~ /h$/ ? 300 : 2000))
        print file ": " lines " lines"
}

# Returns the line without comments and the content of literals.
function code(line,    at) {
    gsub(/\\\\/, "", line)
    gsub(/"(\\"|[^"])*"/, "\"\"", line)
    gsub(/'(\\'|[^'])*'/, "0", line)
    if (in_comment) {
        at = index(line, "*/")
        if (at == 0)
            return ""
        line = substr(line, at + 2)
        in_comment = 0
    }
    while ((at = index(line, "/*")) > 0) {
        if (index(substr(line, at), "*/") == 0) {
            in_comment = 1
            return substr(line, 1, at - 1)
        }
        line = substr(line, 1, at - 1) " " \
            substr(line, at + index(substr(line, at), "*/") + 1)
    }
    return line
}

# Whether the statement has one conditional operator in an operand of another.
# chosen[d] is true after a "?" within d brackets, up to the next operand of a
# comma or the closing bracket.
function is_nested(text,    i, c, depth, open, chosen) {
    for (i = 1; i <= length(text); i++) {
        c = substr(text, i, 1)
        if (c == "(" || c == "[") {
            depth++
        } else if (c == ")" || c == "]" || c == ",") {
            open -= chosen[depth]
            chosen[depth] = 0
            depth -= c != ","
        } else if (c == "?") {
            if (open > 0)
                return 1
            open += chosen[depth] = 1
        }
    }
    return 0
}

FNR == 1 {
    end_file()
    file = FILENAME
    test = file ~ /^tests/
    in_comment = 0
    statement = ""
}
{ lines = FNR }
length > 80 {
    print file ":" FNR ": " length " columns"
    failed = 1
}
/^[{]$/ { from = FNR }
/^}$/ && !test && FNR - from > 101 {
    print file ":" from ": a function of " FNR - from - 1 " lines"
}
!test {
    text = code($0)
    if (statement == "")
        began = FNR
    statement = statement text
    if (text ~ /[;{}][ \t]*$/) {
        if (gsub(/[?]/, "?", statement) > 1 && is_nested(statement))
            print file ":" began ": a conditional operator within another"
        statement = ""
    }
}
!test && /^[a-z_0-9]+[(]/ && before ~ /^static / {
    name = $0
    sub(/[(].*/, "", name)
    if (!((name, file) in has)) {
        has[name, file]
        homes[name] = homes[name] " " file
        n_homes[name]++
    }
}
{ before = $0 }

END {
    end_file()
    for (name in n_homes)
        if (n_homes[name] > 1)
            print "static " name " is in" homes[name] | "sort"
    close("sort")
    exit failed
}
