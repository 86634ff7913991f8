#!/bin/sh
# Help and completion, which are made from the table of commands and options:
# t_help.sh MCPTASK

# shellcheck source=tests/lib/cli.sh
. "$(dirname "$0")/../lib/cli.sh"

# What the table holds, as the completion of fish has a line for each row.
"$bin" completion fish >table
commands=$(sed -n 's/^.* -n __fish_use_subcommand -f -a \([a-z]*\) .*/\1/p' table)
# Prints the options of a command, or without one those before a command.
options() {
    when=${1:+__fish_seen_subcommand_from $1}
    sed -n "s/.* -n '${when:-__fish_use_subcommand}' -l \([-a-z]*\) .*/\1/p" table
}

begin help_has_every_command_and_option
checks=$((checks + 1))
[ "$(echo "$commands" | wc -l)" -gt 30 ] || fail "commands: $commands"
run 0 --help
cp out short
check test "$(wc -l <out)" -le 24
run 0 help commands
cp out long
for command in $commands; do
    check grep -qw "$command" short
    check grep -q "^  $command  *[A-Z]" long
    run 0 help "$command"
    cp out expected
    has out "usage: mcptask $command"
    for option in $(options "$command"); do
        [ "$command" = help ] || check grep -q -e " --$option\( \|\$\)" out
    done
    run 0 "$command" --help
    same out expected
done
begin help_has_every_option_before_a_command
for topic in options http store hosts; do
    "$bin" help $topic
done >all
options >names
checks=$((checks + 1))
[ "$(wc -l <names)" -gt 20 ] || fail "options: $(cat names)"
while read -r option; do
    check grep -q -e " --$option\( \|\[\|\$\)" all
done <names
checks=$((checks + 1))
[ "$(sort names | uniq -d)" = '' ] || fail "$(sort names | uniq -d)"

begin help_has_the_needs_of_people_first
run 0 --help
check grep -q '^  Look  *list board show ' out
checks=$((checks + 1))
[ "$(grep -n '^  Look\|^  Store' out | cut -d ' ' -f 3 | tr '\n' ' ')" = \
    'Look Store ' ] || fail "$(cat out)"
has out 'help store ' 'help hosts '
run 0 help options
lacks out --compact-at --calls-max etcd
run 0 help store
has out --compact-at --closed-max --calls-own --calls-max 'mcptask archive'
run 0 help hosts
has out '--store URL' --insecure MCP_TASK_STORE_AUTH 'mcptask push'
run 2 --compact-att 5
has err 'did you mean "--compact-at"?'
run 0 help list
checks=$((checks + 1))
[ "$(tail -n 2 out | grep -c 'for programs$\|for programs:')" -eq 2 ] ||
    fail "$(tail -n 2 out)"
run 2 history --since 1 x
has err 'unknown option --since'

begin help_fits_a_terminal
for topic in '' commands options http store hosts environment $commands; do
    # shellcheck disable=SC2086 # none is no word
    run 0 help $topic
    checks=$((checks + 1))
    ! grep '.\{80\}' out >long || fail "$topic: $(cat long)"
    lacks out '@'
done

begin the_manual_has_the_same_lists
sh "$docs/../man/lists.sh" "$bin" >page || fail 'lists.sh'
checks=$((checks + 1))
diff "$docs/../man/mcptask.1" page >log ||
    fail "run \"make man\": $(cat log)"
check grep -q '^\.It Fl -require-evidence Ns Op = Ns Cm pass$' page
check grep -q '^\.It Ic claim Oo Ar OPTION ... Oc Oo Ar ID Oc$' page

begin help_before_a_command
run 0 --help
cp out expected
run 0 help
same out expected
run 0 --read-only --port 80 -h
same out expected
run 0 help import
has out 'usage: mcptask import [OPTION...] FILE|-' --strict created_at

begin what_was_meant
run 2 lst
has err 'mcptask: unknown command "lst"' 'did you mean "list"?'
run 2 help clam
has err 'mcptask help: unknown command "clam"' 'did you mean "claim"?'
run 2 ls
has err 'mcptask: unknown command "ls"' 'run "mcptask list"'
run 2 rm x
has err 'unknown command "rm"' 'run "mcptask cancel ID"'
run 2 version
has err 'unknown command "version"' 'run "mcptask --version"'
run 2 xyzzy
has err 'unknown command "xyzzy"' 'run "mcptask help"'
run 2 list --stauts=open
has err 'mcptask list: unknown option --stauts=open' 'did you mean "--status"?'
run 2 list --frobnicate
has err 'mcptask list: unknown option --frobnicate' 'run "mcptask help list"'
lacks err 'did you mean'
run 2 list --jsn
has err 'did you mean "--json"?'
run 2 --read-onyl
has err 'mcptask: unknown option --read-onyl' 'did you mean "--read-only"?'
run 2 --tokn-file x
has err 'did you mean "--token-file"?'
run 2 --frobnicate
has err 'unknown option --frobnicate' 'run "mcptask help options"'
run 2 answer
has err 'mcptask answer: ID is missing' \
    'usage: mcptask answer [OPTION...] ID [QUESTION] ANSWER'
run 2 fail x
has err 'mcptask fail: REASON is missing'
run 2 run
has err 'mcptask run: COMMAND is missing'

begin completion
run 0 add --id first --owner codex --tag red The first
# shellcheck disable=SC2016 # a shell must never expand this one
run 0 add --id evil --owner '$(touch made)' --tag '`touch made`' evil
run 0 ask first 'How long?' -o 'Wait up to 3 s' -o '409 "now"' -o '$(touch made)'
run 0 add --id launch Launch
run 0 ask launch 'Now?' --kind approval
run 2 completion bash ids
has err 'unexpected argument "ids"'
run 0 completion ids
has out 'first	The first' 'launch	Launch'
run 0 completion answers first
has out 'Wait up to 3 s' '409 "now"'
run 0 completion answers none
run 2 completion csh
has err 'unknown shell "csh"'
mkdir bin
printf '#!/bin/sh\nexec "%s" "$@"\n' "$bin" >bin/mcptask
chmod +x bin/mcptask
PATH=$dir/bin:$PATH
for shell in bash zsh fish; do
    run 0 completion $shell
    cp out script.$shell
    wants $shell || continue
    check $shell -n script.$shell
done

# complete_bash WORD...: completes the last, into out
complete_bash() {
    bash try "$@" >out 2>err
    last="bash: $*"
    checks=$((checks + 1))
    [ ! -s err ] || fail "$last: $(cat err)"
}
if wants bash; then
    cat >try <<'END_TRY'
source ./script.bash
COMP_WORDS=(mcptask "$@") COMP_CWORD=$#
_mcptask
echo " ${COMPREPLY[*]} "
complete -p mcptask
END_TRY
    complete_bash ''
    has out ' list ' ' board ' ' --token-file ' 'complete -o default -F _mcptask'
    complete_bash list --st
    has out ' --status --stale '
    complete_bash --calls-
    has out ' --calls-own --calls-max '
    complete_bash help store
    has out ' store '
    complete_bash list --status ''
    has out ' open in_progress handoff_ready agent_exhausted done failed '
    lacks out ' change '
    complete_bash list -s ''
    has out ' open in_progress '
    complete_bash wait --until a
    has out ' answered agent_exhausted '
    complete_bash ask --kind ''
    has out ' question approval action '
    complete_bash --read-only show e
    has out ' evil '
    complete_bash add --parent f
    has out ' first '
    complete_bash list --owner ''
    has out ' codex '
    complete_bash list --tag ''
    has out ' red '
    complete_bash export --format ''
    has out ' jsonl md '
    complete_bash --tools ''
    has out ' core all '
    complete_bash completion ''
    has out ' bash zsh fish '
    complete_bash help e
    has out ' edit export environment '
    complete_bash config c
    has out ' claude-code claude-desktop cursor codex '
    complete_bash verify --repair ''
    has out '  '
    lacks out --json
    complete_bash handoff first --to c
    has out ' codex '
    complete_bash 'done' first e
    has out ' evil '
    complete_bash answer ''
    has out ' first ' --decline
    complete_bash answer first ''
    has out ' Wait\ up\ to\ 3\ s 409\ \"now\" \$\(touch\ made\) ' --decline
    lacks out ' evil '
    complete_bash answer -a me first "'Wait u"
    has out ' Wait up to 3 s '
    # Between double quotes the shell would run the third answer.
    complete_bash answer first '"'
    has out ' Wait up to 3 s '
    lacks out touch now
    complete_bash answer first 'Wait\ u'
    has out ' Wait\ up\ to\ 3\ s '
    complete_bash answer launch ''
    has out ' approve decline '
fi
if wants zsh; then
    cat >try <<'END_TRY'
compdef() { :; }
compadd() { printf ' %s \n' "${names[@]}" "${shown[@]}"; }
source ./script.zsh
words=(mcptask "$@") CURRENT=$(($# + 1))
_mcptask
END_TRY
    zsh -f try list --status '' >out
    has out ' open ' ' in_progress '
    zsh -f try list --owner '' >out
    has out ' codex '
    zsh -f try show '' >out
    has out ' --match ' ' first ' ' first  -- The first '
    zsh -f try '' >out
    has out ' board  -- Show all tasks by what they wait for '
    zsh -f try answer first '' >out
    has out ' Wait up to 3 s '
fi
if wants fish; then
    # shellcheck disable=SC2016 # they are for fish
    HOME=$PWD fish -c 'source ./script.fish
        for line in "show " "list --st" "bo" "list --status " \
            "list --owner " "list --tag " "--tools " "config " "help env" \
            "answer first "
            complete -C "mcptask $line"
        end' >out
    has out evil first --status 'board	Show all tasks' in_progress codex red \
        core claude-code environment 'first	The first' 'Wait up to 3 s'
fi
checks=$((checks + 1))
[ ! -e made ] || fail 'a shell ran what a task is named'

finish
