/* t_project - which project a directory belongs to, with .git as git makes it:
   main trees, linked worktrees, submodules, bare repositories, broken ones. */

#include "task/project.h"
#include "tests/lib/test.h"

#include <limits.h>
#include <stdarg.h>
#include <sys/stat.h>

static char *top; /* of a test, without links */

/* The path of a name below top, in one of four buffers. */
static const char *
at(const char *name)
{
    static char path[4][FILE_PATH_MAX];
    static unsigned n;
    char *p = path[n++ % 4];

    snprintf(p, FILE_PATH_MAX, "%s%s%s", top, *name ? "/" : "", name);
    return p;
}

static void
make_dir(const char *name)
{
    CHECK(file_make_dirs(at(name)) == 0);
}

static void
write_file(const char *name, const char *format, ...)
{
    FILE *f = fopen(at(name), "w");
    va_list ap;

    va_start(ap, format);
    vfprintf(f, format, ap);
    va_end(ap);
    fclose(f);
}

/* What `git init` makes in dir, as far as it matters. */
static void
make_repository(const char *dir)
{
    char name[512];

    snprintf(name, sizeof name, "%s/objects", dir);
    make_dir(name);
    snprintf(name, sizeof name, "%s/refs", dir);
    make_dir(name);
    snprintf(name, sizeof name, "%s/HEAD", dir);
    write_file(name, "ref: refs/heads/main\n");
}

/* Whether dir is of the project root and in the working tree, both below top;
   NULL: none. */
static bool
is_of(const char *dir, const char *root, const char *tree)
{
    struct project p;

    project_find(at(dir), at("home"), &p);
    return strcmp(p.root, root != NULL ? at(root) : "") == 0 &&
           strcmp(p.tree, tree != NULL ? at(tree) : "") == 0;
}

static void
test_main_tree(void)
{
    make_repository("a/.git");
    make_dir("a/src/deep");
    make_dir("outside");
    CHECK(is_of("a", "a", "a"));
    CHECK(is_of("a/src/deep", "a", "a"));
    CHECK(is_of("a/.git", "a", NULL));
    CHECK(is_of("a/.git/refs", "a", NULL));
    CHECK(is_of("outside", NULL, NULL));
    CHECK(is_of("missing", NULL, NULL));
}

/* git worktree add: absolute paths, and relative ones since git 2.48. */
static void
test_linked_worktree(void)
{
    make_repository("a/.git");
    make_dir("a/.git/worktrees/b");
    write_file("a/.git/worktrees/b/HEAD", "ref: refs/heads/b\n");
    write_file("a/.git/worktrees/b/commondir", "../..\n");
    make_dir("b/src");
    write_file("b/.git", "gitdir: %s\n", at("a/.git/worktrees/b"));
    CHECK(is_of("b/src", "a", "b"));
    write_file("b/.git", "gitdir: ../a/.git/worktrees/b\r\n");
    CHECK(is_of("b", "a", "b"));
    write_file("a/.git/worktrees/b/commondir", "%s", at("a/.git"));
    CHECK(is_of("b", "a", "b"));
}

static void
test_submodule(void)
{
    make_repository("a/.git");
    make_repository("a/.git/modules/lib");
    make_dir("a/lib/src");
    write_file("a/lib/.git", "gitdir: ../.git/modules/lib\n");
    CHECK(is_of("a/lib/src", "a/lib", "a/lib"));
    CHECK(is_of("a", "a", "a"));
    /* Its config names its working tree, for worktrees of its own. */
    make_dir("a/.git/modules/lib/worktrees/w");
    write_file("a/.git/modules/lib/worktrees/w/commondir", "../..\n");
    make_dir("w");
    write_file("w/.git", "gitdir: %s\n", at("a/.git/modules/lib/worktrees/w"));
    CHECK(is_of("w", "a/.git/modules/lib", "w"));
    write_file("a/.git/modules/lib/config",
               "[core]\n\tbare = false\n\tworktree = ../../../lib\n");
    CHECK(is_of("w", "a/lib", "w"));
    CHECK(is_of("a/.git/modules/lib/refs", "a/lib", NULL));
    write_file("a/.git/modules/lib/config", "worktree = %s\n", at("a/lib"));
    CHECK(is_of("w", "a/lib", "w"));
    write_file("a/.git/modules/lib/config", "[core]\nworktree = gone\n");
    CHECK(is_of("w", "a/.git/modules/lib", "w"));
}

static void
test_bare(void)
{
    make_repository("bare.git");
    make_dir("bare.git/worktrees/w");
    write_file("bare.git/worktrees/w/commondir", "../..\n");
    make_dir("w/src");
    write_file("w/.git", "gitdir: %s\n", at("bare.git/worktrees/w"));
    CHECK(is_of("w/src", "bare.git", "w"));
    CHECK(is_of("bare.git/refs", "bare.git", NULL));
    /* The layout of worktrees beside a hidden bare repository. */
    make_repository("c/.bare");
    make_dir("c/.bare/worktrees/m");
    write_file("c/.bare/worktrees/m/commondir", "../..\n");
    make_dir("c/m");
    write_file("c/m/.git", "gitdir: ../.bare/worktrees/m\n");
    write_file("c/.git", "gitdir: ./.bare\n");
    CHECK(is_of("c/m", "c/.bare", "c/m"));
}

static void
test_broken(void)
{
    make_repository("a/.git");
    make_dir("a/b/src");
    write_file("a/b/.git", "gitdir: /nowhere/at/all\n"); /* git: fatal */
    CHECK(is_of("a/b/src", NULL, NULL));
    write_file("a/b/.git", "gitdir: \n");
    CHECK(is_of("a/b/src", NULL, NULL));
    write_file("a/b/.git", "no pointer");
    CHECK(is_of("a/b/src", NULL, NULL));
    write_file("a/b/.git", "%s", "");
    CHECK(is_of("a/b/src", NULL, NULL));
    make_dir("a/.git/worktrees/b");
    write_file("a/b/.git", "gitdir: ../.git/worktrees/b\n");
    write_file("a/.git/worktrees/b/commondir", "../../gone\n");
    CHECK(is_of("a/b/src", NULL, NULL));
    make_dir("a/c/.git"); /* empty: git looks further up */
    CHECK(is_of("a/c", "a", "a"));
    CHECK(unlink(at("a/.git/HEAD")) == 0);
    CHECK(is_of("a/c", NULL, NULL));
    /* A pipe would block whoever opens it. */
    make_dir("d");
    CHECK(mkfifo(at("d/.git"), 0600) == 0);
    CHECK(is_of("d", NULL, NULL));
}

static void
test_links(void)
{
    make_repository("a/.git");
    make_dir("a/src");
    CHECK(symlink(at("a/src"), at("link")) == 0);
    CHECK(is_of("link", "a", "a"));
    make_dir("b");
    CHECK(symlink(at("a/.git"), at("b/.git")) == 0);
    CHECK(is_of("b", "b", "b"));
    CHECK(symlink("loop", at("loop")) == 0);
    CHECK(is_of("loop", NULL, NULL));
}

/* A home directory may be a repository of settings. */
static void
test_home(void)
{
    make_repository("home/.git");
    make_dir("home/notes");
    CHECK(is_of("home", NULL, NULL));
    CHECK(is_of("home/notes", NULL, NULL));
    make_repository("home/work/.git");
    CHECK(is_of("home/work", "home/work", "home/work"));
    make_dir("elsewhere");
    CHECK(symlink(at("elsewhere"), at("home2")) == 0);
    make_repository("elsewhere/.git");
    struct project p;
    project_find(at("elsewhere"), at("home2"), &p);
    CHECK(p.root[0] == '\0');
}

static void
test_long_path(void)
{
    char path[FILE_PATH_MAX + 64];
    struct project p;

    memset(path, 'x', sizeof path - 1);
    path[sizeof path - 1] = '\0';
    project_find(path, NULL, &p);
    CHECK(p.root[0] == '\0');
    make_repository("a/.git");
    make_dir("a/b");
    memcpy(path, "gitdir: ", 8);
    write_file("a/b/.git", "%s", path);
    CHECK(is_of("a/b", NULL, NULL));
}

static void
test_here(void)
{
    char before[FILE_PATH_MAX];
    struct project p;

    CHECK(getcwd(before, sizeof before) != NULL);
    make_repository("a/.git");
    make_dir("a/src");
    CHECK(chdir(at("a/src")) == 0);
    unsetenv("MCP_TASK_REPO");
    project_here(&p);
    CHECK(strcmp(p.root, at("a")) == 0 && strcmp(p.tree, at("a")) == 0);
    setenv("MCP_TASK_REPO", "/srv/app//", 1);
    project_here(&p);
    CHECK(strcmp(p.root, "/srv/app") == 0 && strcmp(p.tree, at("a")) == 0);
    setenv("MCP_TASK_REPO", "", 1);
    project_here(&p);
    CHECK(p.root[0] == '\0');
    setenv("MCP_TASK_REPO", "app", 1);
    project_here(&p);
    CHECK(p.root[0] == '\0');
    unsetenv("MCP_TASK_REPO");
    CHECK(chdir(before) == 0);
}

static void
test_path(void)
{
    CHECK(str_is(project_path(STR("/a/b//")), "/a/b"));
    CHECK(str_is(project_path(STR("/")), "/"));
    CHECK(str_is(project_path(STR("a")), ""));
    CHECK(str_is(project_path(STR("")), ""));
}

/* What a task has, and what a caller of project /a is offered. */
static void
test_offers(void)
{
    static const struct {
        const char *path;
        bool same, offered;
    } cases[] = {
        {"\"/a\"", true, true}, {"\"/a/\"", true, true},
        {"\"/ab\"", false, false}, {"\"/a/b\"", false, false},
        {"\"/\"", false, false}, {"\"a\"", false, true},
        {"\".\"", false, true}, {NULL, false, true},
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct str path = cases[i].path ? str_of(cases[i].path) : STR_NONE;

        CHECK(project_same(STR("\"/a\""), path) == cases[i].same);
        CHECK(project_same(path, STR("\"/a/\"")) == cases[i].same);
        CHECK(project_offers(STR("\"/a\""), path) == cases[i].offered);
        CHECK(project_offers(STR_NONE, path));
    }
    CHECK(project_matches(STR("[\"/a\",\"/a/b\"]"), STR("\"/a/b/\"")));
    CHECK(project_matches(STR("[\"/a\",\"/a/b\"]"), STR("\"/a\"")));
    CHECK(!project_matches(STR("[\"/a\",\"/a/b\"]"), STR("\"/b\"")));
    CHECK(!project_matches(STR("[\"/a\",\"/a/b\"]"), STR_NONE));
    CHECK(project_same(STR("\"a\""), STR("\"a\"")));
    CHECK(project_same(STR("\"/\""), STR("\"//\"")));
}

/* A directory below a repository counts as that; with MCP_TASK_REPO what is
   of the caller's own as that name. */
static void
test_named(void)
{
    struct project here;
    struct arena a = {0};

    make_repository("a/.git");
    make_repository("b/.git");
    make_dir("a/src");
    make_dir("c/d");
    project_find(at("a"), NULL, &here);
#define IS(path, want) \
    str_is(project_named(&a, &here, str_of(path)), want)
    CHECK(IS(at("a/src"), at("a")));
    CHECK(IS(at("a/src/"), at("a")));
    CHECK(IS(at("b"), at("b")));
    CHECK(IS(at("c/d//"), at("c/d")));
    CHECK(IS("/nowhere/at/all/", "/nowhere/at/all"));
    strcpy(here.root, "/srv/app");
    CHECK(IS(at("a/src"), "/srv/app"));
    CHECK(IS(at("b"), at("b")));
    CHECK(IS("/srv/app/", "/srv/app"));
    here.root[0] = '\0';
    CHECK(IS(at("a/src"), at("a")));
    arena_fini(&a);
}

int
main(void)
{
    static void (*const tests[])(void) = {
        test_main_tree, test_linked_worktree, test_submodule, test_bare,
        test_broken, test_links, test_home, test_long_path, test_here,
        test_named,
    };

    for (size_t i = 0; i < sizeof tests / sizeof *tests; i++) {
        char *dir = test_tmpdir();

        top = realpath(dir, NULL);
        free(dir);
        make_dir("home");
        tests[i]();
        free(top);
    }
    test_path();
    test_offers();
    return test_end("t_project");
}
