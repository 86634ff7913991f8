# The table of what check.py printed. Exit code 1: a check failed.
BEGIN { FS = "\t" }
{
    row = sprintf("%-10s %-31s %-10s", $1, $2, $3)
    if (!(row in n)) {
        rows[++count] = row
        n[row] = 0
    }
    n[row]++
    result[row, $5]++
    all[$5]++
    if ($4 == "task input")
        tasks[row] = 1
    if ($5 == "known")
        why[$1 " " $3 ", " $4 ": " $6]
}
END {
    printf "\n%-10s %-31s %-10s %6s %6s %6s %5s\n", "client", "version",
        "transport", "passed", "failed", "known", "tasks"
    for (i = 1; i <= count; i++)
        printf "%s %6d %6d %6d %5s\n", rows[i], result[rows[i], "ok"],
            result[rows[i], "FAILED"], result[rows[i], "known"],
            tasks[rows[i]] ? "yes" : "-"
    for (text in why)
        print "known: " text
    printf "%d passed, %d failed, %d known\n", all["ok"], all["FAILED"],
        all["known"]
    exit all["FAILED"] > 0 || all["ok"] == 0
}
