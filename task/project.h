#ifndef TASK_PROJECT_H
#define TASK_PROJECT_H

/* project - which project a path or directory is of: the one place that judges
   it, for tools, commands, the hook and imports. A project is a git repository
   with all of its worktrees. Reads `.git` as gitrepository-layout(5) and
   git-worktree(1) describe it, without git.

   Tasks name a project by a path, which is a text. Bytes of it that are not
   UTF-8 are written as %XX there, so that two such names stay two. */

#include "base/base.h"
#include "base/file.h"

struct project {
    char root[FILE_PATH_MAX]; /* what tasks name as repo_path; "": of none */
    char also[FILE_PATH_MAX]; /* what 0.3.0 named it here, so that its tasks are
                                 found; "": the same */
    char tree[FILE_PATH_MAX]; /* the working tree around the directory, which
                                 differs in a linked worktree; "": none */
    char found[FILE_PATH_MAX]; /* root, but for MCP_TASK_REPO */
    char dir[FILE_PATH_MAX]; /* the directory, without links; "": it is
                                missing */
};

/* Finds the project of dir, with all links resolved:
   - below a .git directory, the directory that holds it;
   - where the file .git points to a repository beside it, such as .bare, that
     directory, from there and from all linked worktrees;
   - in a submodule, its main working tree;
   - else the repository itself: it is bare, or was made with
     --separate-git-dir, and then its linked worktrees know only that.
   A repository whose parts are missing is none, and neither is one in / or in
   the home directory, where people keep their settings. Without a project root,
   also, tree and found are empty. */
void project_find(const char *dir, struct project *out);

/* The project of the working directory. MCP_TASK_REPO, if it is set, names the
   root instead: an absolute path, for containers that see other paths; a
   relative one is based on the working directory; empty: none. */
void project_here(struct project *out);

/* Finds the project of the path in a text from somebody in the working
   directory: absolute, relative, or a file: URI. False: it leads nowhere. */
bool project_at(struct arena *a, struct str text, struct project *out);

/* A path of this system as a text, in a; .p NULL: out of memory. */
struct str project_text(struct arena *a, const char *path);
/* path without slashes at its end; empty if it is not absolute. In path's
   memory. */
struct str project_path(struct str path);

#define PROJECT_NOWHERE \
    "must be an absolute path, or a directory that exists here"
/* What a caller at *at means by a repo_path: raw, in a. A path that exists is
   the root of its project or, outside of projects, itself. With asks it is a
   list, if tasks may name that project in other ways, too. at NULL: nobody
   knows where the caller is, and an absolute path stays as it is. 0, ERR_NOMEM,
   or ERR_INVALID: it is relative, and leads nowhere. */
int project_named(struct arena *a, const struct project *at, struct str text,
                  bool asks, struct str *out);

/* How tasks name the project of a caller at *at, raw: the name for new ones, or
   a list that begins with it; .p NULL: it has none, or at is NULL. 0 or
   ERR_NOMEM. */
int project_names(struct arena *a, const struct project *at, struct str *out);
/* The name for new tasks. */
struct str project_first(struct str names);

/* Whether a and b, a repo_path each (raw, .p NULL: none), are the same. */
bool project_same(struct str a, struct str b);
/* Whether repo_path is the one that is asked for, or in that if it is a raw
   list of them. "*" asks for all. */
bool project_matches(struct str asked, struct str repo_path);
/* Whether a task of this repo_path is offered to a caller whose project has
   these names: it is of that project or of none. All are without names. */
bool project_offers(struct str names, struct str repo_path);

#endif
