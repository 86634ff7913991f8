# What only its readers need of board/board.html: comments, indentation, and the
# blanks and line feeds around what needs none. Strings of the script hold none
# of these.
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
/^<script>/,$s/) {/){/g
/^<script>/,$s/\(if\|for\|while\|catch\|switch\) (/\1(/g
H
$!d
g
s/\([;{,(]\)\n/\1/g
s/\n}/}/g
s/^\n//
