# What only its readers need of board/board.html: comments and indentation.
s/^ *//
/^\/\*.*\*\/$/d
/^\/\*/,/\*\/$/d
s/ *\/\* [^*]* \*\/ *//
/^$/d
