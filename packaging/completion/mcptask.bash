# Completion of mcptask in bash; the program knows its own words.
eval "$(mcptask completion bash)"
