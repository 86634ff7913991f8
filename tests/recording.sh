#!/bin/sh
# Prints what tests/demo.sh prints as an animated SVG, docs/demo.svg: a curtain
# moves down line by line. demo.svg#still is without it. What differs from run
# to run, such as process ids, is replaced. Usage: recording.sh [MCPTASK]
set -eu
export LC_ALL=C

said=$(sh "$(dirname "$0")/demo.sh" "${1:-./mcptask}")
{
    echo '$ make demo'
    printf '%s\n' "$said"
} | sed -e 's/kill -9 [0-9]*/kill -9 4242/' \
    -e 's/claude-code-[0-9a-f]*/claude-code-7f3a02c1/' \
    -e 's/client-[0-9a-f]*/client-b86e94d5/' \
    -e 's/exited [0-9]* s/exited 0 s/' | awk '
# seconds(line): from the line before to this one
function seconds(line) {
    return line == "" ? 0.2 : line ~ /^ / ? 0.3 : line ~ /kill -9/ ? 1.2 : 0.7
}
function escaped(text) {
    gsub(/&/, "\\&amp;", text)
    gsub(/</, "\\&lt;", text)
    return text
}
# coloured(line): an agent, a command of the shell or an answer in its colour
function coloured(line,   class, n) {
    n = length(line)
    if (line ~ /^claude|^codex/) {
        class = substr(line, 1, 2)
        n = index(line, ">")
    } else if (line ~ /^\$/)
        class = line ~ /kill -9/ ? "kill" : "shell"
    else if (line ~ /^ +</)
        class = "answer"
    else
        return escaped(line)
    return "<tspan class=\"" class "\">" escaped(substr(line, 1, n)) \
        "</tspan>" escaped(substr(line, n + 1))
}
function box(top) {
    return "<rect y=\"" top "\" width=\"720\" height=\"" height "\"/>"
}
{ lines[NR] = $0; at[NR] = NR == 1 ? 0 : at[NR - 1] + seconds($0) }
END {
    row = 20
    height = (NR + 2) * row
    lasts = at[NR] + 5
    print "<svg xmlns=\"http://www.w3.org/2000/svg\" id=\"still\" " \
        "role=\"img\" viewBox=\"0 0 720 " height "\" width=\"720\">"
    print "<title>claude-code claims a task, saves a checkpoint and is " \
        "killed. codex claims the task, gets its state and ends it.</title>"
    print "<style>\ntext{font:14px ui-monospace,SFMono-Regular,Menlo," \
        "Consolas,\"DejaVu Sans Mono\",monospace;white-space:pre;" \
        "fill:#e6edf3}\nrect{fill:#161b22}.cl{fill:#ffa657}" \
        ".co{fill:#79c0ff}.shell{fill:#7ee787}.kill{fill:#ff7b72}" \
        ".answer{fill:#d2a8ff}"
    printf "#curtain{animation:down %.1fs step-end infinite}\n", lasts
    print "#still:target #curtain{animation:none}\n" \
        "@media(prefers-reduced-motion:reduce){#curtain{animation:none}}"
    print "@keyframes down{"
    for (i = 1; i <= NR; i++)
        if (lines[i] != "")
            printf "%.1f%%{transform:translateY(%dpx)}\n", \
                100 * at[i] / lasts, (i - NR) * row
    print "}\n</style>\n" box(0)
    for (i = 1; i <= NR; i++)
        if (lines[i] != "")
            print "<text x=\"18\" y=\"" (i + 0.5) * row "\">" \
                coloured(lines[i]) "</text>"
    print "<g id=\"curtain\">" box((NR + 1) * row - 4)
    print "<text x=\"18\" y=\"" (NR + 1.5) * row "\">&#9608;</text>\n</g>"
    print "</svg>"
}'
