#compdef mcptask
# Completion of mcptask in zsh; the program knows its own words.
eval "$(mcptask completion zsh)"
_mcptask "$@"
