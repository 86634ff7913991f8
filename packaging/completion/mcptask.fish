# Completion of mcptask in fish; the program knows its own words.
mcptask completion fish | source
