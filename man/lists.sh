#!/bin/sh
# Prints man/mcptask.1 with its lists of options and commands made anew from
# the help of the program: lists.sh MCPTASK. "make man" writes that back.
set -eu
bin=$1
man=$(dirname "$0")

lists=$(mktemp)
trap 'rm -f "$lists"' EXIT

{
    for topic in options http store hosts commands; do
        echo "@$topic"
        [ $topic = commands ] || "$bin" help $topic
    done
    "$bin" help commands | while read -r name rest; do
        case "$name $rest" in
        ' ') ;;
        *:*) echo "@group $name $rest" | sed 's/: *$//' ;;
        *) "$bin" help "$name" ;;
        esac
    done
} >"$lists"
awk -f "$man/lists.awk" "$lists" "$man/mcptask.1"
