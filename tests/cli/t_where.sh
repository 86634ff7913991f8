#!/bin/sh
# Where a caller works, and what it is offered there: t_where.sh [MCPTASK]
# Repositories are made by hand, as git makes them, and by git if it is here.

# shellcheck source=tests/lib/cli.sh
. "$(dirname "$0")/../lib/cli.sh"
unset MCP_TASK_REPO
top=$(pwd -P)
mkdir home
export HOME="$top/home"

# repository DIR: what git init makes, as far as it matters
repository() {
    mkdir -p "$1/objects" "$1/refs"
    echo 'ref: refs/heads/main' >"$1/HEAD"
}

# linked DIR REPOSITORY NAME: what git worktree add makes
linked() {
    mkdir -p "$1" "$2/worktrees/$3"
    echo "gitdir: $2/worktrees/$3" >"$1/.git"
    echo 'ref: refs/heads/x' >"$2/worktrees/$3/HEAD"
    echo ../.. >"$2/worktrees/$3/commondir"
}

# in_dir DIR CODE ARGUMENT...: as run, in a directory
in_dir() {
    there=$1
    shift
    cd "$there" || fail "cd $there"
    run "$@"
    mv out err "$top/" 2>/dev/null
    cd "$top" || exit 1
}

# is_of DIR PATH: a task added in DIR is of the project PATH; empty: of none
is_of() {
    in_dir "$1" 0 add --json A task
    id=$(sed 's/.*"task_id":"\([^"]*\)".*/\1/' out)
    run 0 show "$id" --json
    if [ -n "$2" ]; then
        has out "\"repo_path\":\"$2\""
    else
        lacks out repo_path
    fi
}

begin a_task_is_of_the_project_around
repository api/.git
mkdir -p api/src/deep plain
is_of api "$top/api"
is_of api/src/deep "$top/api"
is_of api/.git "$top/api"
is_of plain ''
linked api-2 "$top/api/.git" api-2
mkdir api-2/src
is_of api-2/src "$top/api"
repository api/.git/modules/lib
mkdir api/lib
echo 'gitdir: ../.git/modules/lib' >api/lib/.git
echo 'worktree = ../../../lib' >api/.git/modules/lib/config
is_of api/lib "$top/api/lib"
repository bare.git
linked bare-1 "$top/bare.git" bare-1
is_of bare.git "$top/bare.git"
is_of bare-1 "$top/bare.git"
mkdir -p api/broken
echo 'gitdir: /nowhere' >api/broken/.git
is_of api/broken ''
ln -s "$top/api/src" link
is_of link "$top/api"
repository home/.git
mkdir home/notes
is_of home ''
is_of home/notes ''
export MCP_TASK_REPO=/srv/app/
is_of api /srv/app
is_of plain /srv/app
export MCP_TASK_REPO=../api-2
is_of plain "$top/api-2"
export MCP_TASK_REPO=
is_of api ''
unset MCP_TASK_REPO

if command -v git >git.path; then
    begin as_git_makes_them
    in_git() {
        git -c user.name=a -c user.email=a@example.org \
            -c protocol.file.allow=always "$@" >git.out 2>&1 ||
            fail "git $*: $(cat git.out)"
    }
    in_git init -q web
    in_git -C web commit -q --allow-empty -m begin
    in_git -C web worktree add -q ../web-2
    in_git clone -q --bare web web.git
    in_git -C web.git worktree add -q ../web-3
    in_git init -q --separate-git-dir apart.git apart
    in_git -C apart commit -q --allow-empty -m begin
    in_git -C apart worktree add -q ../apart-2
    mkdir -p hidden
    in_git clone -q --bare web hidden/.bare
    echo 'gitdir: ./.bare' >hidden/.git
    in_git -C hidden worktree add -q main
    in_git -C web submodule --quiet add "$top/web.git" sub
    in_git -C web/sub worktree add -q "$top/sub-2" -b two
    is_of web "$top/web"
    is_of web-2 "$top/web"
    is_of web.git "$top/web.git"
    is_of web-3 "$top/web.git"
    is_of apart "$top/apart.git"
    is_of apart-2 "$top/apart.git"
    is_of hidden "$top/hidden"
    is_of hidden/main "$top/hidden"
    is_of hidden/.bare "$top/hidden"
    # The names that 0.3.0 gave them lead there, too.
    printf '{"task_id":"old-%s","title":"T","repo_path":"%s"}\n' \
        1 "$top/apart" 2 "$top/hidden/.bare" | run 0 import -
    for old in apart:1 hidden:2 hidden/main:2; do
        in_dir "${old%:*}" 0 list --ids -r .
        has out "old-${old#*:}"
        in_dir "${old%:*}" 0 claim "old-${old#*:}" -a me
        in_dir "${old%:*}" 0 handoff "old-${old#*:}" -a me -t '' -r again
    done
    is_of web/sub "$top/web/sub"
    is_of sub-2 "$top/web/sub"
fi

begin a_path_may_be_relative
in_dir api 0 add --id here -r . One
in_dir plain 0 add --id sub -r ../api/src/deep/ Two
in_dir api 0 add --id none -r '' Three
in_dir api 0 add --id other -r ../plain Four
in_dir api 0 add --id gone -r /nowhere/ Five
run 0 list --json
has out "$(printf '"title":"One","status":"open","repo_path":"%s"' \
    "$top/api")" "\"repo_path\":\"$top/plain\"" '"repo_path":"/nowhere"'
in_dir api/src 0 list --ids -r .
has out here sub
lacks out none other
in_dir api-2 0 list --ids -r ../api/
has out here sub
in_dir plain 0 list --ids -r .
has out other
lacks out here none
in_dir api 0 list --ids
has out here sub none other gone
in_dir api 0 edit other -r src
in_dir api 0 list --ids -r .
has out other
in_dir api 0 edit other -r ''
run 0 show other --json
lacks out repo_path
# One that has the path of a directory from elsewhere.
printf '{"task_id":"old","title":"Old","repo_path":"%s/api/src"}\n' "$top" |
    run 0 import -
in_dir api/src 0 list --ids -r .
has out here old
in_dir api 0 list --ids -r .
has out here
lacks out old
in_dir plain 0 list --ids -r "$top/api/src/"
has out here old
in_dir bare.git 0 claim -a me -r "$top/api/src"
in_dir bare.git 0 claim -a me -r "$top/api/src"
in_dir bare.git 0 claim -a me -r "$top/api/src"
run 0 show old
has out 'current_owner: me'
ln -s nowhere dangling
run 2 list -r dangling
has err '--repo must be an absolute path, or a directory that exists here'
run 2 add -r no/such Six
run 2 claim -r no/such
in_dir api 0 list --ids -r "file://$top/api/src/../src"
has out here sub
in_dir api 0 list --ids -r "file://localhost$top/api"
has out here sub
run 2 list -r file://other/x
printf '{"task_id":"in-%s","title":"In","repo_path":"%s"}\n' 1 src 2 \
    "file://$top/api/src" 3 no/such 4 "$top/api/src" >tasks
in_dir api 0 import "$top/tasks"
has out in-3 'must be an absolute path'
run 0 export in-1
has out "\"repo_path\":\"$top/api\""
run 0 export in-2
has out "\"repo_path\":\"$top/api\""
run 0 export in-3
lacks out '"repo_path"'
run 0 export in-4
has out "\"repo_path\":\"$top/api/src\""

# A directory whose name is not UTF-8 is that one, and no other.
begin any_bytes
odd=$(printf 'caf\351')
repository "$odd/.git" 2>/dev/null
repository "$(printf 'caf\350')/.git" 2>/dev/null
if [ -d "$odd/.git" ]; then
    mkdir "$odd/src"
    in_dir "$odd/src" 0 add --id odd Odd
    run 0 add --id same -r "$odd/src" Same
    run 0 show odd --json
    has out "\"repo_path\":\"$top/caf%E9\""
    for there in "$odd" "$odd/src" "$top/caf%E9" "$top/caf%E9/src"; do
        run 0 list --ids -r "$there"
        has out odd same
    done
    in_dir "$odd" 0 claim -a me
    in_dir "$(printf 'caf\350')" 1 claim -a me
    has err "$top/caf%E9"
    in_dir "$odd" 0 checkpoint odd -a me
    run 0 show odd --json
    has out "\"worktree\":\"$top/caf%E9\""
fi

begin work_is_offered_by_project
in_dir api 0 add --id api In api
in_dir plain 0 add --id none In none
in_dir api 0 add --id given -r /elsewhere Given
run 0 handoff given -a you -t me
in_dir bare.git 0 wait -a me -u work -t 0
has out given
in_dir bare.git 0 claim -a me
has out '# Task given'
in_dir bare.git 0 claim -a me
has out '# Task none'
in_dir bare.git 1 claim -a me
has err 'no task is ready' "1 ready in other projects" '--any-repo' "$top/api"
in_dir bare.git 1 claim -a me --json
has out '"elsewhere":1' "{\"repo_path\":\"$top/api\",\"tasks\":1}"
in_dir bare.git 1 wait -a me -u work -t 0
in_dir bare.git 0 wait -a me -u work -t 0 --any-repo
in_dir bare.git 0 wait -a me -u work -t 0 -r ../api/src
in_dir plain 0 wait -a me -u work -t 0
in_dir api-2 0 claim -a me
has out '# Task api' "repo_path: $top/api"
in_dir api-2/src 0 checkpoint api -a me -n half
run 0 show api
has out "worktree: $top/api-2"
in_dir api 0 handoff api -a me -r tired
run 0 show api
has out 'Handed over' "worktree: $top/api"
in_dir bare.git 1 claim -a me -r .
in_dir bare.git 2 claim -a me -r . --any-repo
has err 'exclude each other'
in_dir bare.git 0 claim -a me -r ../api/src
has out '# Task api'
in_dir api 0 add --id again Again
in_dir bare.git 0 claim -a me --any-repo
has out '# Task again'

finish
