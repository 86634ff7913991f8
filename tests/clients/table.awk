# A row for each client and transport, from the lines that the clients of
# langs.sh print, and below them what failed or is the client's fault. Exits
# with 1 if a step failed.

{
    row = sprintf("%-16s %-11s", $1, $2)
    if (!(row in ok)) {
        rows[++n] = row
        ok[row] = 0
    }
    if ($4 == "ok")
        ok[row]++
    else if ($4 == "known")
        known[row]++
    else if ($4 != "none")
        failed[row]++
    if ($3 == "wait")
        wait[row] = $5 ~ /^one/ ? "one call" : $5 ~ /^called/ ? "called again" \
            : "new session"
    if ($3 ~ /^task/)
        tasks[row] = $4 == "none" && $3 == "tasks" ? "none" : "yes"
    if ($4 == "known")
        tell($1 " " $3 ": known, the client's fault: " $5)
    else if ($4 != "ok" && $4 != "none")
        tell($1 " " $2 " " $3 ": FAILED: " $5)
}

function tell(line) {
    if (!(line in told))
        told[line] = lines[++m] = line
}

END {
    if (n == 0)
        exit 0
    printf "%-16s %-11s %3s %6s %6s  %-5s  %s\n", "client", "transport", "ok", \
        "failed", "known", "Tasks", "wait"
    for (i = 1; i <= n; i++) {
        row = rows[i]
        printf "%s %3d %6d %6d  %-5s  %s\n", row, ok[row], failed[row], \
            known[row], tasks[row], wait[row]
        all += failed[row]
    }
    for (i = 1; i <= m; i++)
        print lines[i]
    exit all > 0
}
