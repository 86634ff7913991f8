#ifndef TASK_PROJECT_H
#define TASK_PROJECT_H

/* project - which project a directory belongs to: the main working tree of its
   git repository, so that all linked worktrees are one project. Reads `.git`
   as gitrepository-layout(5) and git-worktree(1) describe it, without git. */

#include "base/base.h"
#include "base/file.h"

struct project {
    char root[FILE_PATH_MAX]; /* what tasks name as repo_path; "": of none */
    char tree[FILE_PATH_MAX]; /* the working tree around the directory, which
                                 differs in a linked worktree; "": none */
    char found[FILE_PATH_MAX]; /* root, but for MCP_TASK_REPO */
};

/* Finds the project of dir, with all links resolved:
   - below a .git directory, the directory that holds it;
   - in a linked worktree, the main one's directory, or the repository itself
     where that is bare;
   - in a submodule, or where .git points elsewhere, the directory of .git; and
     a linked worktree of a submodule is of the same project. One of another
     repository that .git points to cannot tell, and is its own.
   A repository whose parts are missing is none, and neither is one in / or
   in home (NULL: not known), where people keep their settings. Where there is
   no project *out is empty. */
void project_find(const char *dir, const char *home, struct project *out);

/* The project of the working directory. MCP_TASK_REPO, if it is set, names the
   root instead: an absolute path, for containers that see other paths; anything
   else: none. */
void project_here(struct project *out);

/* path without slashes at its end; empty if it is not absolute. In path's
   memory. */
struct str project_path(struct str path);

/* What path, an absolute one, means to a caller at *at: of a directory below a
   repository the root of that project; else path without slashes at its end. In
   a; .p NULL: no memory. */
struct str project_named(struct arena *a, const struct project *at,
                         struct str path);

/* Whether a and b, a repo_path each (raw, .p NULL: none), are the same. */
bool project_same(struct str a, struct str b);
/* Whether repo_path is the one that is asked for, or in that if it is a raw
   list of them. */
bool project_matches(struct str asked, struct str repo_path);
/* Whether a task of this repo_path is offered to a caller whose project has the
   root: it is of that project or of none. All are without a root. Both raw. */
bool project_offers(struct str root, struct str repo_path);

#endif
