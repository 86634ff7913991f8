#!/bin/sh
# A store that belongs to another user, such as a backup that root has copied
# back: the error names the file, its owner and a command that helps.
# And a user without a home, whose server starts all the same.
# t_owner.sh [MCPTASK [EXE]]. Without root only one's own files are tried.

# shellcheck source=tests/lib/cli.sh
. "$(dirname "$0")/../lib/cli.sh"

chmod 755 "$dir"
cp "$exe" "$dir/program"
user=54322
drop="setpriv --reuid $user --regid $user --clear-groups"
if [ "$(id -u)" -ne 0 ]; then
    user=$(id -un)
    drop=
elif ! $drop "$dir/program" --version >out 2>err; then
    echo "$me: skipped, it cannot become another user: $(cat err)"
    finish
fi
# refused WHY...: reads, changes and checks of the store are refused with these
# texts; doctor has a colon before its fix
refused() {
    for command in list 'add x' health verify 'backup b' doctor; do
        # shellcheck disable=SC2086 # both are words
        $drop "$dir/program" $command >out 2>err
        code=$?
        check test $code -ne 0
        cat out >>err
        sed 's/: run/; run/' err >said
        has said "$@"
    done
}

begin restored
run 0 add --id a Title
chmod 755 "$MCP_TASK_BASE_DIR"
if [ -n "$drop" ]; then
    run 0 backup "$dir/copy"
    chmod 755 "$dir/copy"
    MCP_TASK_BASE_DIR=$dir/copy
    take="take it over with \"sudo chown -R $user $dir/copy\""
    refused "$dir/copy/tasks.log: Permission denied, belongs to root" \
        "with mode 0600; run mcptask as root, or $take"
    chown $user "$dir/copy/tasks.log"
    $drop "$dir/program" add x >out 2>err && fail 'it was changed'
    has err "$dir/copy/tasks.log.lock: " 'belongs to root' "$take"
    chown root "$dir/copy/tasks.log"
    chmod 700 "$dir/copy"
    refused "$dir/copy/tasks.log: Permission denied, $dir/copy belongs to" \
        "root with mode 0700; run mcptask as root, or $take"

    # A directory further up is not this user's to take over.
    mkdir -p "$dir/up/a"
    mv "$dir/copy" "$dir/up/a/copy"
    chmod 700 "$dir/up"
    MCP_TASK_BASE_DIR=$dir/up/a/copy
    refused "$dir/up belongs to root with mode 0700; run mcptask as root, or c"
    lacks said chown

    # What it says to do helps.
    chmod 755 "$dir/up"
    chown -R $user "$dir/up/a/copy"
    check $drop "$dir/program" list
    has log 'a  open'
    check $drop "$dir/program" add Another
    chown -R $user "$dir/restored"
    MCP_TASK_BASE_DIR=$dir/restored
fi

name=own
chmod 0 "$log"
refused "$log: Permission denied, belongs to $user with mode 0000" \
    "run \"chmod -R u+rwX $dir/restored\""

# Gateways, editors and units start programs without HOME. The list of users has
# no user of this number.
if [ -n "$drop" ]; then
    begin no_home
    set_it='set MCP_TASK_BASE_DIR'
    bare="$drop env -i PATH=$PATH $dir/program"
    printf '{"jsonrpc":"2.0","id":%s,"method":%s}\n' 0 '"initialize","params":{
        "protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{
        "name":"c","version":"1"}}' 1 '"tools/list"' 2 '"tools/call","params":{
        "name":"list_tasks","arguments":{}}' 3 '"tools/call","params":{
        "name":"create_task","arguments":{"title":"T"}}' | tr '\n' ' ' |
        sed 's/} *{"jsonrpc"/}\n{"jsonrpc"/g' >in
    echo >>in
    check $bare <in
    has log '"id":0,"result":{"protocolVersion"' '{"name":"claim_task"' \
        '\"tasks\":[]' '\"code\":\"store_readonly\"' "$set_it"
    for command in list 'add x' health verify export 'run -- true'; do
        # shellcheck disable=SC2086 # both are words
        $bare $command >out 2>err
        check test $? -eq 2
        has err "$set_it"
    done
    $bare doctor >out 2>err
    check test $? -eq 1
    has out "problem  store" "$set_it" 'answers initialize'
    check $bare config claude-code
    has log "-- $dir/program"
    echo '{"hook_event_name":"SessionStart","session_id":"0123456789abcdef"}' \
        >in
    check $bare hook claude-code <in
    check test ! -s log
fi
finish
