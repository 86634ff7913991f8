/* t_project - which project a directory belongs to, with .git as git makes it:
   main trees, linked worktrees, submodules, bare repositories, broken ones. */

#include "task/project.h"
#include "json/raw.h"
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

    project_find(at(dir), &p);
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
    CHECK(is_of("a", "a", "a"));
    /* Its config names its working tree, for worktrees of its own; without it
       they have only the repository in common. */
    make_dir("a/.git/modules/lib/worktrees/w");
    write_file("a/.git/modules/lib/worktrees/w/commondir", "../..\n");
    make_dir("w");
    write_file("w/.git", "gitdir: %s\n", at("a/.git/modules/lib/worktrees/w"));
    CHECK(is_of("w", "a/.git/modules/lib", "w"));
    CHECK(is_of("a/lib", "a/.git/modules/lib", "a/lib"));
    write_file("a/.git/modules/lib/config",
               "[core]\n\tbare = false\n\tworktree = ../../../lib\n");
    CHECK(is_of("w", "a/lib", "w"));
    CHECK(is_of("a/lib/src", "a/lib", "a/lib"));
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
    CHECK(is_of("c/m", "c/.bare", "c/m"));
    write_file("c/.git", "gitdir: ./.bare\n");
    make_dir("c/m/src");
    make_dir("c/notes");
    CHECK(is_of("c", "c", "c"));
    CHECK(is_of("c/notes", "c", "c"));
    CHECK(is_of("c/m/src", "c", "c/m"));
    CHECK(is_of("c/.bare/refs", "c", NULL));
    write_file("c/.git", "gitdir: ../bare.git\n"); /* not to this one */
    CHECK(is_of("c/m", "c/.bare", "c/m"));
}

/* git init --separate-git-dir: from a linked worktree only the repository can
   be found. */
static void
test_separate(void)
{
    struct project p;

    make_repository("store/a.git");
    make_dir("a/src");
    write_file("a/.git", "gitdir: %s\n", at("store/a.git"));
    make_dir("store/a.git/worktrees/b");
    write_file("store/a.git/worktrees/b/commondir", "../..\n");
    make_dir("b");
    write_file("b/.git", "gitdir: %s\n", at("store/a.git/worktrees/b"));
    CHECK(is_of("a/src", "store/a.git", "a"));
    CHECK(is_of("b", "store/a.git", "b"));
    CHECK(is_of("store/a.git", "store/a.git", NULL));
    project_find(at("a/src"), &p);
    CHECK(strcmp(p.also, at("a")) == 0); /* its name in 0.3.0 */
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
    setenv("HOME", at("home2"), 1);
    CHECK(is_of("elsewhere", NULL, NULL));
    /* Settings are kept with --separate-git-dir, too. */
    make_repository("settings.git");
    make_dir("elsewhere2/notes");
    write_file("elsewhere2/.git", "gitdir: %s\n", at("settings.git"));
    setenv("HOME", at("elsewhere2"), 1);
    CHECK(is_of("elsewhere2/notes", NULL, NULL));
}

static void
test_long_path(void)
{
    char path[FILE_PATH_MAX + 64];
    struct project p;

    memset(path, 'x', sizeof path - 1);
    path[sizeof path - 1] = '\0';
    project_find(path, &p);
    CHECK(p.root[0] == '\0' && p.dir[0] == '\0');
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
    setenv("MCP_TASK_REPO", "../app/", 1);
    project_here(&p);
    CHECK(strcmp(p.root, at("a/app")) == 0);
    unsetenv("MCP_TASK_REPO");
    CHECK(chdir(before) == 0);
}

TEST(path)
{
    CHECK(str_is(project_path(STR("/a/b//")), "/a/b"));
    CHECK(str_is(project_path(STR("/")), "/"));
    CHECK(str_is(project_path(STR("a")), ""));
    CHECK(str_is(project_path(STR("")), ""));
}

/* What a task has, and what a caller of project /a is offered. */
TEST(offers)
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
    CHECK(project_matches(STR("\"*\""), STR("\"/b\"")));
    CHECK(project_offers(STR("[\"/a\",\"/b\"]"), STR("\"/b/\"")));
    CHECK(!project_offers(STR("[\"/a\",\"/b\"]"), STR("\"/c\"")));
    CHECK(str_is(project_first(STR("[\"/a\",\"/b\"]")), "\"/a\""));
    CHECK(str_is(project_first(STR("\"/a\"")), "\"/a\""));
    CHECK(project_same(STR("\"a\""), STR("\"a\"")));
    CHECK(project_same(STR("\"/\""), STR("\"//\"")));
}

static struct arena mem;

/* What a caller at *here means by text; "": it is refused. */
static const char *
named(const struct project *here, const char *text, bool asks)
{
    struct str raw;
    int rc = project_named(&mem, here, str_of(text), asks, &raw);

    CHECK(rc == 0 || rc == ERR_INVALID);
    return rc == 0 ? arena_str(&mem, asks ? raw : raw_inner(raw)).p : "";
}

/* A directory below a repository counts as that; with MCP_TASK_REPO what is
   of the caller's own as that name. */
static void
test_named(void)
{
    struct project here;

    make_repository("a/.git");
    make_repository("b/.git");
    make_dir("a/src");
    make_dir("c/d");
    CHECK(symlink("c/d", at("link")) == 0);
    project_find(at("a"), &here);
#define IS(path, want) (strcmp(named(&here, path, false), want) == 0)
    CHECK(IS(at("a/src"), at("a")));
    CHECK(IS(at("a/src/"), at("a")));
    CHECK(IS(at("b/../a/./src"), at("a")));
    CHECK(IS(at("b"), at("b")));
    CHECK(IS(at("c/d//"), at("c/d")));
    CHECK(IS(at("link"), at("c/d")));
    CHECK(IS("/nowhere/at/all/", "/nowhere/at/all"));
    strcpy(here.root, "/srv/app");
    CHECK(IS(at("a/src"), "/srv/app"));
    CHECK(IS(at("b"), at("b")));
    CHECK(IS("/srv/app/", "/srv/app"));
    here.root[0] = '\0';
    CHECK(IS(at("a/src"), at("a")));
}

/* A relative path is based on the working directory, and is refused where that
   is not the caller's. It never counts as none. */
static void
test_relative(void)
{
    static const char *const nowhere[] = {
        "no/such", "api", "https://example.org/api", "~/api", "$HOME", "*",
        "git@example.org:api", "file://other/a", "file:a", "a%2", " ",
    };
    char before[FILE_PATH_MAX], uri[2 * FILE_PATH_MAX];
    struct project here;

    CHECK(getcwd(before, sizeof before) != NULL);
    make_repository("a/.git");
    make_dir("a/src");
    make_dir("b c");
    CHECK(chdir(at("a/src")) == 0);
    project_here(&here);
    CHECK(IS(".", at("a")));
    CHECK(IS("./", at("a")));
    CHECK(IS("..", at("a")));
    CHECK(IS("../src", at("a")));
    CHECK(IS("../../b c", at("b c")));
    for (size_t i = 0; i < sizeof nowhere / sizeof *nowhere; i++) {
        CHECK(IS(nowhere[i], ""));
        CHECK(strcmp(named(NULL, nowhere[i], true), "") == 0);
    }
    CHECK(strcmp(named(NULL, ".", false), "") == 0);
    CHECK(strcmp(named(NULL, "", false), "") == 0);
    CHECK(strcmp(named(NULL, "/a/", false), "/a/") == 0);
    CHECK(strcmp(named(NULL, "file:///a%20b", false), "/a b") == 0);
    snprintf(uri, sizeof uri, "file://%s", at("b%20c/"));
    CHECK(IS(uri, at("b c")));
    snprintf(uri, sizeof uri, "file://localhost%s", at("a/src"));
    CHECK(IS(uri, at("a")));
    snprintf(uri, sizeof uri, "file:%s", at("gone%2Fx"));
    CHECK(IS(uri, at("gone/x")));
    CHECK(chdir(before) == 0);
}

/* Who asks for tasks of a path also gets those that name it otherwise. */
static void
test_names(void)
{
    struct project here;
    struct str names;
    char want[4 * FILE_PATH_MAX];

    make_repository("store/a.git");
    make_dir("a/src");
    write_file("a/.git", "gitdir: ../store/a.git\n");
    CHECK(symlink("a/src", at("link")) == 0);
    project_find(at("store"), &here);
    CHECK(project_names(&mem, &here, &names) == 0 && names.p == NULL);
    CHECK(project_names(&mem, NULL, &names) == 0 && names.p == NULL);
    snprintf(want, sizeof want, "[\"%s\",\"%s\",\"%s\",\"%s\"]",
             at("store/a.git"), at("a"), at("a/src"), at("link"));
    CHECK(strcmp(named(&here, at("link/"), true), want) == 0);
    project_find(at("a"), &here);
    snprintf(want, sizeof want, "[\"%s\",\"%s\"]", at("store/a.git"), at("a"));
    CHECK(project_names(&mem, &here, &names) == 0 && str_is(names, want));
    project_find(at("store/a.git"), &here);
    snprintf(want, sizeof want, "\"%s\"", at("store/a.git"));
    CHECK(project_names(&mem, &here, &names) == 0 && str_is(names, want));
    CHECK(strcmp(named(&here, "/b", true), "\"/b\"") == 0);
}

/* Bytes that are not UTF-8 are told apart, and the text leads back to them. */
static void
test_any_bytes(void)
{
    static const char *const dirs[] = {"caf\xe9", "caf\xe8", "caf\xc3\xa9",
                                       "caf%C3%A9"};
    static const char *const texts[] = {"caf%E9", "caf%E8", "caf\xc3\xa9",
                                        "caf%C3%A9"};
    struct project here;
    char sub[64];

    project_find(at("home"), &here);
    for (size_t i = 0; i < sizeof dirs / sizeof *dirs; i++) {
        snprintf(sub, sizeof sub, "%s/.git", dirs[i]);
        if (i < 2 && mkdir(at(dirs[i]), 0700) != 0)
            return; /* this file system has only UTF-8 */
        make_repository(sub);
        CHECK(str_is(project_text(&mem, at(dirs[i])), at(texts[i])));
    }
    for (size_t i = 0; i < sizeof dirs / sizeof *dirs; i++) {
        snprintf(sub, sizeof sub, "%s/.git", texts[i]);
        CHECK(IS(at(texts[i]), at(texts[i])));
        CHECK(IS(at(sub), at(texts[i])));
    }
}

int
main(void)
{
    static void (*const tests[])(void) = {
        test_main_tree, test_linked_worktree, test_submodule, test_bare,
        test_broken, test_links, test_home, test_long_path, test_here,
        test_separate, test_named, test_relative, test_names, test_any_bytes,
    };

    for (size_t i = 0; i < sizeof tests / sizeof *tests; i++) {
        char *dir = test_tmpdir();

        top = realpath(dir, NULL);
        free(dir);
        make_dir("home");
        setenv("HOME", at("home"), 1);
        tests[i]();
        free(top);
    }
    test_run();
    arena_fini(&mem);
    return test_end("t_project");
}
