# Names lines over 80 columns, which is an error, and as advice what is long
# outside tests: functions over 70 lines, files over 1,200 and headers over 300.

function end_file() {
    if (!test && lines > (file ~ /h$/ ? 300 : 1200))
        print file ": " lines " lines"
}

FNR == 1 {
    end_file()
    file = FILENAME
    test = file ~ /^tests/
}
{ lines = FNR }
length > 80 {
    print file ":" FNR ": " length " columns"
    failed = 1
}
/^[{]$/ { from = FNR }
/^}$/ && !test && FNR - from > 71 {
    print file ":" from ": a function of " FNR - from - 1 " lines"
}

END {
    end_file()
    exit failed
}
