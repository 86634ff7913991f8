# Names lines over 80 columns, and outside tests functions over 45 lines, files
# over 900 and headers over 100.

function wrong(what) {
    print what
    failed = 1
}
function end_file() {
    if (!test && lines > (file ~ /h$/ ? 100 : 900))
        wrong(file ": " lines " lines")
}

FNR == 1 {
    end_file()
    file = FILENAME
    test = file ~ /^tests/
}
{ lines = FNR }
length > 80 { wrong(file ":" FNR ": " length " columns") }
/^[{]$/ { from = FNR }
/^}$/ && !test && FNR - from > 46 {
    wrong(file ":" from ": a function of " FNR - from - 1 " lines")
}

END {
    end_file()
    exit failed
}
