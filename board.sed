# What only its readers need of board.html: comments, indentation, and the
# blanks around what needs none. Strings of the script hold none of these.
s/^ *//
/^\/\*.*\*\/$/d
/^\/\*/,/\*\/$/d
s/ *\/\* [^*]* \*\/ *//
/^$/d
/^<style>/,/^<.style>/s/ *\([:,;{]\) /\1/g
/^<style>/,/^<.style>/s/ {$/{/
/^<script>/,$s/ \(=>\|[=!]==\|&&\|||\|??\|[=?:]\) /\1/g
/^<script>/,$s/{ \([a-z']\)/{\1/g
/^<script>/,$s/ }/}/g
