/* project - see project.h.

   A repository is where git keeps its things: HEAD, objects and refs. A working
   tree has it as the directory .git, or names it in the file .git, with
   "gitdir: PATH". What is named so is the repository itself (a submodule), or
   the part of one that belongs to a linked worktree; this has a file commondir,
   which names the repository. */

#include "task/project.h"
#include "base/env.h"
#include "json/raw.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static mode_t
mode_of(const char *path)
{
    struct stat st;

    return stat(path, &st) == 0 ? st.st_mode & S_IFMT : 0;
}

/* Writes dir/name into out. False: it does not fit. */
static bool
path_in(char out[FILE_PATH_MAX], const char *dir, const char *name)
{
    return text_put(out, FILE_PATH_MAX, "%s/%s", dir, name) < FILE_PATH_MAX;
}

static bool
is_repository(const char *dir)
{
    char path[FILE_PATH_MAX];
    struct stat st;

    return path_in(path, dir, "HEAD") && lstat(path, &st) == 0 &&
           path_in(path, dir, "objects") && mode_of(path) == S_IFDIR &&
           path_in(path, dir, "refs") && mode_of(path) == S_IFDIR;
}

/* Writes path with all links resolved. False: it is missing, or too long. */
static bool
resolve_path(const char *path, char out[FILE_PATH_MAX])
{
    char *real = realpath(path, NULL);
    bool fits = real != NULL && strlen(real) < FILE_PATH_MAX;

    if (fits)
        strcpy(out, real);
    free(real);
    return fits;
}

/* Reads the path that stands after prefix in the file dir/name, and resolves
   it. A relative one is based on dir. */
static bool
follow_file(const char *dir, const char *name, const char *prefix,
            char out[FILE_PATH_MAX])
{
    char file[FILE_PATH_MAX], text[FILE_PATH_MAX], path[FILE_PATH_MAX];
    char *target = text + strlen(prefix);

    if (!path_in(file, dir, name) || mode_of(file) != S_IFREG)
        return false;
    file_read_text(file, text, sizeof text);
    if (strncmp(text, prefix, strlen(prefix)) != 0)
        return false;
    target[strcspn(target, "\r\n")] = '\0';
    if (target[0] == '/')
        return resolve_path(target, out);
    return target[0] != '\0' && path_in(path, dir, target) &&
           resolve_path(path, out);
}

/* Finds the working tree that the config of a repository names, as that of a
   submodule does. False: it names none, or one that is written with quotes. */
static bool
named_tree(const char *repository, char tree[FILE_PATH_MAX])
{
    char file[FILE_PATH_MAX], text[FILE_PATH_MAX], path[FILE_PATH_MAX];
    struct str rest, line, key;

    if (!path_in(file, repository, "config") || mode_of(file) != S_IFREG)
        return false;
    file_read_text(file, text, sizeof text);
    for (rest = str_of(text); rest.p != NULL;) {
        line = str_cut(&rest, '\n');
        key = str_trim(str_cut(&line, '='));
        line = str_trim(line);
        if (!str_is(key, "worktree") || line.len == 0)
            continue;
        if (*line.p == '/')
            text_put(path, sizeof path, "%.*s", STR_ARG(line));
        else
            text_put(path, sizeof path, "%s/%.*s", repository, STR_ARG(line));
        return resolve_path(path, tree);
    }
    return false;
}

/* Sets root for a repository: the directory that holds it if it is called
   .git, else its working tree or, since it is bare, itself. */
static void
take_repository(const char *repository, char root[FILE_PATH_MAX])
{
    if (strcmp(file_name(repository), ".git") == 0) {
        strcpy(root, repository);
        file_cut(root);
    } else if (!named_tree(repository, root)) {
        strcpy(root, repository);
    }
}

/* Looks for a working tree or a repository in dir, and sets *out to its
   project. Returns whether it stands here, be it a broken one. */
static bool
look_in(const char *dir, struct project *out)
{
    char dot_git[FILE_PATH_MAX], git_dir[FILE_PATH_MAX];
    char common[FILE_PATH_MAX];
    mode_t type = path_in(dot_git, dir, ".git") ? mode_of(dot_git) : 0;

    if (type == S_IFDIR && is_repository(dot_git)) {
        strcpy(out->root, dir);
        strcpy(out->tree, dir);
        return true;
    }
    if (type == S_IFREG) {
        if (!follow_file(dir, ".git", "gitdir: ", git_dir))
            return true;
        if (follow_file(git_dir, "commondir", "", common)) {
            if (is_repository(common))
                take_repository(common, out->root);
        } else if (is_repository(git_dir)) {
            strcpy(out->root, dir);
        }
        if (out->root[0] != '\0')
            strcpy(out->tree, dir);
        return true;
    }
    if (is_repository(dir)) {
        take_repository(dir, out->root);
        return true;
    }
    return false;
}

void
project_find(const char *dir, const char *home, struct project *out)
{
    char at[FILE_PATH_MAX], real_home[FILE_PATH_MAX];

    *out = (struct project){0};
    if (!resolve_path(dir, at))
        return;
    while (!look_in(at, out) && file_cut(at))
        ;
    if (strcmp(out->root, "/") == 0 ||
        (home != NULL && resolve_path(home, real_home) &&
         strcmp(out->root, real_home) == 0))
        *out = (struct project){0};
    strcpy(out->found, out->root);
}

void
project_here(struct project *out)
{
    const char *named = getenv("MCP_TASK_REPO");
    struct str root = named != NULL ? project_path(str_of(named)) : STR_NONE;

    project_find(".", env_home(), out);
    if (named != NULL && text_put(out->root, sizeof out->root, "%.*s",
                                  STR_ARG(root)) >= sizeof out->root)
        out->root[0] = '\0';
}

struct str
project_path(struct str path)
{
    if (path.len == 0 || path.p[0] != '/')
        return STR("");
    while (path.len > 1 && path.p[path.len - 1] == '/')
        path.len--;
    return path;
}

struct str
project_named(struct arena *a, const struct project *at, struct str path)
{
    const char *dir = arena_str(a, path).p, *root;
    struct project p;

    if (dir == NULL)
        return STR_NONE;
    project_find(dir, env_home(), &p);
    if (p.root[0] == '\0')
        return project_path((struct str){dir, path.len});
    root = at->root[0] != '\0' && strcmp(p.found, at->found) == 0 ? at->root
                                                                  : p.root;
    return arena_str(a, str_of(root));
}

bool
project_same(struct str a, struct str b)
{
    if (str_eq(a, b))
        return true;
    a = project_path(raw_inner(a));
    return a.len > 0 && str_eq(a, project_path(raw_inner(b)));
}

bool
project_matches(struct str asked, struct str repo_path)
{
    struct str item = STR_NONE;

    if (!str_starts(asked, "["))
        return project_same(asked, repo_path);
    do
        item = raw_list_next(asked, item);
    while (item.p && !project_same(item, repo_path));
    return item.p != NULL;
}

bool
project_offers(struct str root, struct str repo_path)
{
    return !root.p || project_path(raw_inner(repo_path)).len == 0 ||
           project_same(root, repo_path);
}
