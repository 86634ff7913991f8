# Reads what lists.sh collects, then the page, and prints the page with each
# part between a line '.\" begin NAME' and '.\" end' made anew.

# Adds a line to the part.
function put(line) {
    part[name] = part[name] line "\n"
}

# Two dashes would be set as hyphens.
function escape(word,    at, out) {
    while ((at = index(word, "--")) > 0) {
        out = out substr(word, 1, at - 1) "\\-\\-"
        word = substr(word, at + 2)
    }
    return out word
}

# Adds running text: lines of up to 78 characters, a new one for each sentence.
function put_text(text,    n, i, w, line) {
    n = split(text, w, " ")
    for (i = 1; i <= n; i++) {
        w[i] = escape(w[i])
        if (line != "" && length(line " " w[i]) > 78) {
            put(line)
            line = ""
        }
        line = line (line == "" ? "" : " ") w[i]
        if (w[i] ~ /[^.]\.$/) {
            put(line)
            line = ""
        }
    }
    if (line != "")
        put(line)
}

# What stands for an operand or a value, such as [ID...] or FILE|-.
function macros(word,    n, i, w, out, optional, more) {
    if (word == "--")
        return "Fl -"
    optional = sub(/^\[/, "", word) && sub(/]$/, "", word)
    more = word !~ /,/ && sub(/\.\.\.$/, "", word)
    n = split(word, w, "|")
    for (i = 1; i <= n; i++)
        out = out (i > 1 ? " | " : "") (w[i] ~ /^[A-Z]/ ? "Ar " : "Cm ") w[i]
    if (more)
        out = out " ..."
    return optional ? "Oo " out " Oc" : out
}

function put_command(usage,    n, i, w, line) {
    n = split(usage, w, " ")
    line = ".It Ic " w[3]
    for (i = 4; i <= n; i++)
        line = line " " macros(w[i])
    put(line)
}

# "  -a, --agent AGENT"
function put_option(label,    n, w, line) {
    n = split(label, w, " ")
    line = ".It Fl"
    if (w[1] ~ /^-.,$/) {
        line = line " " substr(w[1], 2, 1) " ,"
        sub(/^ *-., /, "", label)
        n = split(label, w, " ")
    }
    if (sub(/\[=/, " Ns Op = Ns Cm ", w[1]))
        sub(/]$/, "", w[1])
    put(line " " substr(w[1], 2) (n > 1 ? " " macros(w[2]) : ""))
}

# Ends the text that was read: of an option, or above the options.
function end_text() {
    put_text(text)
    text = ""
}

function end_options() {
    end_text()
    if (options)
        put(".El")
    options = 0
}

function end_group() {
    end_options()
    if (group)
        put(".El")
    group = 0
}

FNR == 1 && NR > 1 {
    end_group()
    page = 1
}
page {
    if (!skip)
        print
    if ($1 == ".\\\"" && $2 == "begin") {
        printf "%s", part[$3]
        skip = 1
    } else if ($1 == ".\\\"" && $2 == "end" && skip) {
        print
        skip = 0
    }
    next
}
/^@group / {
    end_group()
    sub(/^@group /, "")
    put(".Ss " $0)
    put(".Bl -tag -width Ds")
    group = 1
    next
}
/^@/ {
    end_group()
    name = substr($1, 2)
    next
}
/^usage: / && name == "commands" {
    end_options()
    put_command($0)
    next
}
/^      --json / { # the page says once that every command has it
    next
}
/^  (-., |    )--/ {
    if (!options) {
        if (name == "commands")
            end_text()
        text = ""
        put(".Bl -tag -width Ds" (name == "commands" ? " -compact" : ""))
        options = 1
    }
    end_text()
    at = match(substr($0, 3), /  [^ -]/) ? RSTART + 1 : length($0)
    put_option(substr($0, 1, at))
    text = substr($0, at + 1)
    next
}
# Of what help says of a command, the page has the first line.
name == "commands" && !options && text ~ /[^ ]/ {
    next
}
{ text = text " " $0 }
