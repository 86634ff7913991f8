/* project - see project.h.

   A repository is where git keeps its things: HEAD, objects and refs. A working
   tree has it as the directory .git, or names it in the file .git, with
   "gitdir: PATH". What is named so is the repository itself (a submodule), or
   the part of one that belongs to a linked worktree; this has a file commondir,
   which names the repository. */

#include "task/project.h"
#include "base/env.h"
#include "base/utf8.h"
#include "json/raw.h"
#include "json/write.h"

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

/* Finds the repository to which dir/.git, a file, points, and whether dir is a
   linked worktree of it. False: it points to none. */
static bool
follow_pointer(const char *dir, char repository[FILE_PATH_MAX], bool *linked)
{
    char git_dir[FILE_PATH_MAX];

    if (!follow_file(dir, ".git", "gitdir: ", git_dir))
        return false;
    *linked = follow_file(git_dir, "commondir", "", repository);
    if (!*linked)
        strcpy(repository, git_dir);
    return is_repository(repository);
}

/* Sets the root for a repository: the directory that holds it if it is called
   .git or the file .git there points to it; else its working tree, or
   itself. */
static void
take_repository(const char *repository, struct project *out)
{
    char up[FILE_PATH_MAX], to[FILE_PATH_MAX];
    bool linked;

    strcpy(out->root, repository);
    strcpy(up, repository);
    file_cut(up);
    if (strcmp(file_name(repository), ".git") == 0) {
        strcpy(out->root, up);
    } else if (follow_pointer(up, to, &linked) && strcmp(to, repository) == 0) {
        strcpy(out->root, up);
        strcpy(out->also, repository);
    } else {
        named_tree(repository, out->root);
    }
}

/* Looks for a working tree or a repository in dir, and sets *out to its
   project. Returns whether it stands here, be it a broken one. */
static bool
look_in(const char *dir, struct project *out)
{
    char dot_git[FILE_PATH_MAX], repository[FILE_PATH_MAX];
    mode_t type = path_in(dot_git, dir, ".git") ? mode_of(dot_git) : 0;
    bool linked;

    if (type == S_IFDIR && is_repository(dot_git)) {
        strcpy(out->root, dir);
        strcpy(out->tree, dir);
        return true;
    }
    if (type == S_IFREG) {
        if (!follow_pointer(dir, repository, &linked))
            return true;
        take_repository(repository, out);
        strcpy(out->tree, dir);
        if (!linked && strcmp(out->root, dir) != 0)
            strcpy(out->also, dir);
        return true;
    }
    if (is_repository(dir)) {
        take_repository(dir, out);
        return true;
    }
    return false;
}

/* Whether dir is where people keep their settings, or the root of all. */
static bool
is_home(const char *dir)
{
    const char *home = env_home();
    char real[FILE_PATH_MAX];

    return strcmp(dir, "/") == 0 || (home != NULL && resolve_path(home, real) &&
                                     strcmp(dir, real) == 0);
}

void
project_find(const char *dir, struct project *out)
{
    char at[FILE_PATH_MAX];

    *out = (struct project){0};
    if (!resolve_path(dir, at))
        return;
    strcpy(out->dir, at);
    while (!look_in(at, out) && file_cut(at))
        ;
    if (is_home(out->root) || is_home(out->tree))
        out->root[0] = out->also[0] = out->tree[0] = '\0';
    strcpy(out->found, out->root);
}

void
project_here(struct project *out)
{
    const char *named = getenv("MCP_TASK_REPO");
    char *path = NULL;
    struct str root;

    project_find(".", out);
    if (named == NULL)
        return;
    if (named[0] != '\0' && named[0] != '/')
        named = path = file_real(named);
    root = named != NULL ? project_path(str_of(named)) : STR("");
    out->also[0] = '\0';
    if (text_put(out->root, sizeof out->root, "%.*s", STR_ARG(root)) >=
        sizeof out->root)
        out->root[0] = '\0';
    free(path);
}

/* ---- as a text ---- */

struct str
project_text(struct arena *a, const char *path)
{
    const char *end = path + strlen(path);
    struct buf b = {0};
    size_t n;

    for (; path < end; path += n > 0 ? n : 1) {
        n = utf8_len(path, end);
        if (n > 0)
            buf_put(&b, path, n);
        else
            buf_printf(&b, "%%%02X", (unsigned char)*path);
    }
    return buf_take(&b, a);
}

/* The path in a text, which may be a file: URI of this host; that of another
   one is left without a slash before it. */
static struct str
path_in_text(struct arena *a, struct str text)
{
    if (!str_starts(text, "file:/"))
        return arena_str(a, text);
    text = str_from(text, strlen("file:"));
    if (str_starts(text, "//"))
        text = str_from(text, 2);
    if (str_starts(text, "localhost/"))
        text = str_from(text, strlen("localhost"));
    return arena_unescape(a, text);
}

bool
project_at(struct arena *a, struct str text, struct project *out)
{
    struct str path = path_in_text(a, text);

    *out = (struct project){0};
    for (int i = 0; i < 2 && path.p != NULL && out->dir[0] == '\0'; i++) {
        if (strlen(path.p) == path.len)
            project_find(path.p, out);
        path = arena_unescape(a, path);
    }
    return out->dir[0] != '\0';
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

/* The names as a raw list, without doubles and empty ones; a single one as a
   raw string. .p NULL: out of memory, now or when a name was made. */
static struct str
list_names(struct arena *a, const struct str *name, size_t n)
{
    struct buf b = {0};
    struct json_w w;
    size_t i, k, used = 0;
    struct str list;

    json_w_init(&w, &b);
    json_arr(&w);
    for (i = 0; i < n; i++) {
        for (k = 0; k < i && !str_eq(name[k], name[i]); k++)
            ;
        if (name[i].p == NULL)
            b.err = ERR_NOMEM;
        if (k < i || name[i].len == 0)
            continue;
        json_string(&w, name[i]);
        used++;
    }
    json_close(&w);
    list = buf_take(&b, a);
    return used == 1 && list.p != NULL ? raw_inner(list) : list;
}

int
project_named(struct arena *a, const struct project *at, struct str text,
              bool asks, struct str *out)
{
    struct str path = path_in_text(a, text), cut = project_path(path), name[4];
    struct project p = {.dir = ""};
    bool here;

    if (path.p == NULL)
        return ERR_NOMEM;
    if (at == NULL || !project_at(a, text, &p)) {
        *out = raw_quote(a, at == NULL ? path : cut);
        if (cut.len == 0)
            return ERR_INVALID;
        return out->p != NULL ? 0 : ERR_NOMEM;
    }
    here = p.root[0] != '\0' && at->root[0] != '\0' &&
           strcmp(p.found, at->found) == 0;
    name[0] = project_text(a, here ? at->root : p.root);
    name[1] = project_text(a, p.also);
    name[2] = project_text(a, p.dir);
    name[3] = cut;
    if (name[0].len == 0)
        name[0] = name[2];
    *out = list_names(a, name, asks ? 4 : 1);
    return out->p != NULL ? 0 : ERR_NOMEM;
}

int
project_names(struct arena *a, const struct project *at, struct str *out)
{
    struct str name[2];

    *out = STR_NONE;
    if (at == NULL || at->root[0] == '\0')
        return 0;
    name[0] = project_text(a, at->root);
    name[1] = project_text(a, at->also);
    *out = list_names(a, name, 2);
    return out->p != NULL ? 0 : ERR_NOMEM;
}

struct str
project_first(struct str names)
{
    struct str first = raw_list_next(names, STR_NONE);

    return first.p != NULL ? first : names;
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
        return str_is(asked, "\"*\"") || project_same(asked, repo_path);
    do
        item = raw_list_next(asked, item);
    while (item.p && !project_same(item, repo_path));
    return item.p != NULL;
}

bool
project_offers(struct str names, struct str repo_path)
{
    return !names.p || project_path(raw_inner(repo_path)).len == 0 ||
           project_matches(names, repo_path);
}
