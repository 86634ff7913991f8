/* t_claim_wait - claim_task when no task is ready yet, as a plain call and as a
   deferred one: each task is given once, to the right agent, and nobody waits
   while there is work. */

#include "tests/lib/tools_turn.h"
#include "task/project.h"

#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>

#define CLAIM(args) \
    CALL("claim_task", "{'agent':'me','wait_seconds':50" args "}")
#define LATER(args) TASK("claim_task", "{'agent':'me'" args "}")
#define CLAIMED(id) "{'task_id':'" id "','status':'in_progress'," \
    "'current_owner':'me'"

/* The last answer that w got. */
static const char *
last(const struct who *w)
{
    for (size_t i = w->n; i-- > 0;)
        if (strstr(w->said[i], "\"result\":") != NULL)
            return w->said[i];
    return "";
}

static bool
is_unclaimed(const char *id)
{
    struct arena a = {0};
    struct task k;
    bool is = task_get(tasks, &a, str_of(id), &k) == 0 &&
              k.status != TASK_IN_PROGRESS;

    arena_fini(&a);
    return is;
}

/* ---- what ends a wait ---- */

/* x depends on d, which you work on; a change makes x or another task ready. */
static const struct {
    const char *more, *tool, *args, *gets;
} ends[] = {
    {"", "create_task", "'task_id':'n','title':'t'", CLAIMED("n")},
    {"", "update_task", "'task_id':'d','agent':'you','status':'done'",
     CLAIMED("x")},
    {"", "handoff_task", "'task_id':'d','from_agent':'you'", CLAIMED("d")},
    {"", "handoff_task", "'task_id':'d','from_agent':'you','to_agent':'me'",
     CLAIMED("d")},
    {"", "mark_exhausted", "'task_id':'d','agent':'you'", CLAIMED("d")},
    {",'task_id':'x'", "update_task",
     "'task_id':'d','agent':'you','status':'done'", CLAIMED("x")},
    {",'task_id':'x'", "update_task",
     "'task_id':'x','agent':'you','depends_on':[]", CLAIMED("x")},
    {",'task_id':'d'", "mark_exhausted", "'task_id':'d','agent':'you'",
     CLAIMED("d")},
    {",'tag':'g'", "create_task", "'task_id':'n','title':'t','tags':['g']",
     CLAIMED("n")},
};

static void
world(void)
{
    begin();
    CREATE("d", "");
    does("claim_task", "{'task_id':'d','agent':'you'}");
    CREATE("x", ",'depends_on':['d']");
}

TEST(events_end_waits)
{
    char text[900];
    size_t i;
    int way;

    for (i = 0; i < sizeof ends / sizeof *ends; i++)
        for (way = 0; way < 2; way++) {
            world();
            snprintf(text, sizeof text, way == 0 ? CLAIM("%s") : LATER("%s"),
                     ends[i].more);
            if (way == 1)
                makes(&ann, text);
            else
                post(&ann, text);
            settle_all();
            CHECK(way == 0 || is_status("working"));
            who_forget(&ann);
            snprintf(text, sizeof text, NEWER_CALL("%s", "{%s}"),
                     ends[i].tool, ends[i].args);
            asks(&neo, text);
            settle_all();
            if (!CHECK(text_has(way == 0 ? last(&ann)
                                         : asks(&ann, OLD("tasks/result")),
                                ends[i].gets)))
                fprintf(stderr, "  %s %s\n", ends[i].more, ends[i].args);
            end();
        }
}

/* No record marks the end of a lease whose holder is gone. */
TEST(lease_ends)
{
    world();
    makes(&ann, LATER(",'task_id':'d'"));
    post(&ann, CALL("claim_task", "{'agent':'ann','wait_seconds':50}"));
    settle_all();
    ahead_ms += 899 * 1000;
    settle_all();
    CHECK(is_status("working") && is_unclaimed("x"));
    end();
    world();
    does("claim_task", "{'task_id':'d','agent':'you','lease_seconds':30}");
    who_forget(&ann);
    post(&ann, CLAIM(""));
    settle_all();
    ahead_ms += 30000;
    settle_all();
    CHECK(text_has(last(&ann), CLAIMED("d")));
    end();
}

/* A claim may end a lease, or a handoff, sooner than it would have. */
TEST(lease_gets_shorter)
{
    int way;

    for (way = 0; way < 2; way++) {
        world();
        does("claim_task", "{'task_id':'d','agent':'you',"
             "'lease_seconds':86400}");
        if (way == 1)
            DO("handoff_task", "'task_id':'d','from_agent':'you',"
               "'to_agent':'bob'");
        makes(&ann, LATER(""));
        does("claim_task", way == 0
             ? "{'task_id':'d','agent':'you','lease_seconds':30}"
             : "{'task_id':'d','agent':'bob','lease_seconds':30}");
        settle_all();
        CHECK(is_status("working"));
        ahead_ms += 30000;
        settle_all();
        CHECK(is_status("completed"));
        CHECK(text_has(asks(&ann, OLD("tasks/result")), CLAIMED("d")));
        end();
    }
}

/* Who waits until a task is ready is told before a claim of the same batch
   takes it, whichever call came first. */
TEST(waits_are_told_before_claims)
{
    static const char *const waits[] = {
        WAIT("'task_id':'x','until':'ready'"),
        WAIT("'agent':'me','until':'ready'"),
    };
    char claim[CALL_ID_LEN + 1];
    int i;

    for (i = 0; i < 4; i++) {
        world();
        does("update_task", "{'task_id':'x','current_owner':'me'}");
        makes(&ann, i < 2 ? LATER("") : LATER(",'task_id':'x'"));
        memcpy(claim, task_id, sizeof claim);
        makes(&ann, waits[i % 2]);
        does("update_task", "{'task_id':'d','agent':'you','status':'done'}");
        settle_all();
        CHECK(is_status("completed"));
        memcpy(task_id, claim, sizeof claim);
        CHECK(text_has(asks(&ann, OLD("tasks/result")), CLAIMED("x")));
        end();
    }
}

/* A wait for an unknown task would never end. */
TEST(unknown_is_refused_at_once)
{
    world();
    CHECK(text_has(asks(&ann, CALL("claim_task",
                   "{'agent':'unknown','wait_seconds':50}")),
                   "the name unknown cannot hold a lease"));
    end();
}

/* ---- deferred calls ---- */

struct seen {
    uint64_t batch[8];
    char what[8][12];
    unsigned n;
};

static int
see(void *ctx, const struct store_rec *r)
{
    struct seen *s = ctx;
    struct str op = raw_inner(raw_member(r->body, "op"));

    if (s->n < 8 && op.len < 12) {
        memcpy(s->what[s->n], op.p, op.len);
        s->what[s->n][op.len] = '\0';
        s->batch[s->n++] = r->b;
    }
    return 0;
}

/* The event, the claim and the end of the call are in one batch. */
TEST(one_batch)
{
    struct seen s = {.n = 0};
    uint64_t from;

    begin();
    makes(&ann, LATER(""));
    from = store_next_n(box.s);
    CREATE("n", "");
    CHECK(store_scan(box.s, from, see, &s) == 0 && s.n == 3);
    CHECK(strcmp(s.what[0], "create") == 0 &&
          strcmp(s.what[1], "claim") == 0 && strcmp(s.what[2], "end") == 0);
    CHECK(s.batch[0] == s.batch[1] && s.batch[1] == s.batch[2]);
    CHECK(is_status("completed"));
    end();
}

/* The call waits in the store, and outlives its server. */
TEST(survives_restart)
{
    char first[CALL_ID_LEN + 1];

    begin();
    makes(&ann, LATER(""));
    memcpy(first, task_id, sizeof first);
    makes(&ann, LATER(",'tag':'g'"));
    stop();
    start();
    CHECK(is_status("working"));
    CREATE("n", ",'tags':['g']");
    CREATE("o", ",'tags':['g']");
    stop();
    start();
    CHECK(text_has(asks(&ann, OLD("tasks/result")), CLAIMED("o")));
    memcpy(task_id, first, sizeof first);
    CHECK(text_has(asks(&ann, OLD("tasks/result")), CLAIMED("n")));
    end();
}

/* A commit that fails undoes the claim; the next one makes it. */
/* A deferred claim, and a wait for work, ask for the same whichever process
   runs them: the caller's, one in another project, or one that serves HTTP. */
TEST(project_survives_restart)
{
    static struct project api = {.root = "/api"}, web = {.root = "/web"}, dir;
    static const struct {
        const struct project *at, *then;
        const char *more, *gets; /* of tasks of /web, /api/x and /api */
    } cases[] = {
        {&api, NULL, "", "a"}, {&api, &web, "", "a"},
        {NULL, &api, "", "w"}, {&web, NULL, ",'repo_path':'/api'", "a"},
        {&api, &web, ",'repo_path':'*'", "w"},
        {&api, NULL, ",'repo_path':'/api/x'", "x"},
        {NULL, &web, ",'repo_path':'/api/x/'", "x"},
        {&web, NULL, ",'repo_path':'.'", "here"}, /* of who called */
    };
    static const char *const ids[] = {"w", "x", "a", "here"};
    const char *paths[] = {"/web", "/api/x", "/api/", dir.root};
    char text[FILE_PATH_MAX + 300], want[60];

    project_find(".", &dir);
    if (dir.root[0] == '\0')
        paths[3] = dir.dir;
    for (size_t i = 0; i < 2 * (sizeof cases / sizeof *cases); i++) {
        bool claims = i % 2 == 0;

        env.project = cases[i / 2].at;
        begin();
        snprintf(text, sizeof text, claims ? LATER("%s")
                 : WAIT("'agent':'me','until':'work'%s"), cases[i / 2].more);
        makes(&ann, text);
        CHECK(is_status("working"));
        stop();
        env.project = cases[i / 2].then;
        start();
        for (size_t k = 0; k < 4; k++) {
            snprintf(text, sizeof text, "{'task_id':'%s','title':'t',"
                     "'repo_path':'%s'}", ids[k], paths[k]);
            does("create_task", text);
            settle_all();
        }
        snprintf(want, sizeof want, "'task_id':'%s'", cases[i / 2].gets);
        if (!CHECK(text_has(asks(&ann, OLD("tasks/result")), want)))
            fprintf(stderr, "  case %zu: %s\n", i, last(&ann));
        end();
    }
    env.project = NULL;
}

TEST(commit_fails)
{
    begin();
    makes(&ann, LATER(""));
    disk_full = true;
    asks(&neo, NEWER_CALL("create_task", "{'task_id':'n','title':'t'}"));
    CHECK(tasks_count(tasks, TASK_IN_PROGRESS) == 0 && is_status("working"));
    ahead_ms += 2000; /* an error delays the next try */
    CREATE("n", "");
    settle_all();
    CHECK(is_status("completed"));
    CHECK(text_has(asks(&ann, OLD("tasks/result")), CLAIMED("n")));
    end();
}

/* A call whose caller is gone, or that has ended, takes no task. */
TEST(no_claim_without_a_caller)
{
    enum { PLAIN, GONE, DEFERRED, OVER, N };
    int i;

    for (i = 0; i < N; i++) {
        begin();
        if (i == PLAIN || i == GONE) {
            post(&ann, CLAIM(""));
            turn();
        } else {
            makes(&ann, TASK_TTL("claim_task", "{'agent':'me'}",
                                 "'ttl':60000"));
        }
        if (i == PLAIN)
            post(&ann, "{'jsonrpc':'2.0','method':'notifications/cancelled',"
                 "'params':{'requestId':1}}");
        else if (i == GONE)
            mcp_release(box.m->messages);
        else if (i == DEFERRED)
            asks(&ann, OLD("tasks/cancel"));
        else
            ahead_ms += 60001;
        settle_all();
        CREATE("n", "");
        settle_all();
        CHECK(is_unclaimed("n"));
        end();
    }
}

/* A text member of what ann got; "": not there. */
static struct str
member_of(const char *said, const char *name)
{
    const char *at = strstr(said, name);

    at = at != NULL ? at + strlen(name) : "";
    return arena_str(&arena, (struct str){at, strcspn(at, "\\")});
}

/* A deferred claim is made in the name and the session of its caller. */
TEST(own_name)
{
    const char *owner = "current_owner\\\":\\\"";
    const char *of = "session\\\":\\\"";
    struct str name, mark;
    const char *said;

    begin();
    asks(&ann, INIT("{'protocolVersion':'" V11 "','capabilities':{},"
                    "'clientInfo':{'name':'hermes','version':'1'}}"));
    CREATE("n", "");
    said = asks(&ann, CALL("claim_task", "{}"));
    name = member_of(said, owner);
    mark = member_of(said, of);
    CHECK(str_starts(name, "hermes-") && mark.len > 0);
    makes(&ann, TASK("claim_task", "{}"));
    CREATE("o", "");
    CHECK(is_status("completed"));
    said = asks(&ann, OLD("tasks/result"));
    CHECK(str_eq(member_of(said, owner), name));
    CHECK(str_eq(member_of(said, of), mark));
    end();
}

/* In an hour. */
static const char *
in_an_hour(void)
{
    return time_text(store_now_ms(box.s) + 3600 * 1000);
}

/* A task is not ready before its time; then it is, without any record. */
TEST(not_before)
{
    static const struct {
        const char *call, *gets;
    } ways[] = {
        {LATER(""), CLAIMED("a")},
        {LATER(",'task_id':'a'"), CLAIMED("a")},
        {WAIT("'task_id':'a','until':'ready'"), "'met':true"},
        {WAIT("'agent':'me','until':'work'"), "'met':true"},
    };
    char text[300];
    size_t i;

    for (i = 0; i < sizeof ways / sizeof *ways; i++) {
        begin();
        snprintf(text, sizeof text, "{'task_id':'a','title':'t','priority':0,"
                 "'not_before':'%s'}", in_an_hour());
        does("create_task", text);
        CREATE("b", ",'priority':4");
        CHECK(text_has(DO("claim_task", "'agent':'you',"
                          "'lease_seconds':86400"), "'task_id':'b'"));
        CHECK(text_has(DO("claim_task", "'agent':'me'"),
                       "'later':1,'later_from':'"));
        CHECK(text_has(DO("list_tasks", "'ready':true"), "'total':0"));
        CHECK(text_has(asks(&ann, CALL("claim_task",
                       "{'agent':'me','task_id':'a'}")), "'blocked'"));
        CHECK(text_has(asks(&ann, CALL("update_task",
                       "{'task_id':'a','agent':'me','status':'in_progress'}")),
                       "'not_before'"));
        makes(&ann, ways[i].call);
        if (i == 1) {
            stop();
            start();
        }
        ahead_ms += 3599 * 1000;
        CHECK(!strstr(asks(&ann, OLD("tasks/get")), "completed"));
        ahead_ms += 1000;
        CHECK(strstr(asks(&ann, OLD("tasks/get")), "completed"));
        if (!CHECK(text_has(asks(&ann, OLD("tasks/result")), ways[i].gets)))
            fprintf(stderr, "  way %zu\n", i);
        end();
    }
}

/* The time for which a handoff is kept begins then, however far it is. */
TEST(handed_over_for_later)
{
    char text[300];
    int day;

    begin();
    CREATE("a", "");
    DO("claim_task", "'agent':'me','task_id':'a'");
    for (day = 0; day < 3; day++) {
        snprintf(text, sizeof text, "{'task_id':'a','from_agent':'me',"
                 "'to_agent':'you','not_before':'%s','expires_seconds':60}",
                 time_text(store_now_ms(box.s) +
                           (int64_t)(day + 1) * 15 * 86400 * 1000));
        does("handoff_task", text);
        stop();
        start();
        ahead_ms += ((int64_t)(day + 1) * 15 * 86400 - 1) * 1000;
        CHECK(text_has(DO("claim_task", "'agent':'you'"), "'claimed':false"));
        ahead_ms += 2000;
        CHECK(text_has(DO("claim_task", "'agent':'eve'"), "'claimed':false"));
        if (day == 0) {
            ahead_ms += 70 * 1000; /* hosts' clocks may differ by 5 s */
            CHECK(text_has(DO("claim_task", "'agent':'eve'"),
                           "'claimed':true"));
            DO("handoff_task", "'task_id':'a','from_agent':'eve'");
        } else {
            CHECK(text_has(DO("claim_task", "'agent':'you'"),
                           "'claimed':true"));
            DO("handoff_task", "'task_id':'a','from_agent':'you'");
        }
        DO("claim_task", "'agent':'me','task_id':'a'");
    }
    /* It was past by then, and stays so. */
    DO("mark_exhausted", "'task_id':'a','agent':'me'");
    CHECK(text_has(DO("claim_task", "'agent':'eve'"), "'claimed':true"));
    snprintf(text, sizeof text, "{'task_id':'a','agent':'eve','reason':'quota',"
             "'not_before':'%s'}", in_an_hour());
    does("mark_exhausted", text);
    CHECK(!strstr(DO("get_task", "'task_id':'a'"), "checkpoint"));
    CHECK(text_has(DO("claim_task", "'agent':'you'"), "'claimed':false"));
    DO("update_task", "'task_id':'a','clear':['not_before']");
    CHECK(text_has(DO("claim_task", "'agent':'you'"), "'claimed':true"));
    end();
}

/* e has one part, on which you work. What ends that, or takes it away, makes e
   ready; and what puts e off, its part not. */
TEST(parts)
{
    static const struct {
        const char *call, *gets;
    } ways[] = {
        {LATER(""), CLAIMED("e")},
        {WAIT("'task_id':'e','until':'ready'"), "'met':true"},
        {WAIT("'task_id':'e','agent':'me','until':'work'"), "'met':true"},
        {WAIT("'agent':'me','until':'work'"), "'met':true"},
        {WAIT("'agent':'me','until':'ready'"), "'met':true"},
    };
    static const char *const ways_out[] = {
        "'status':'done'", "'status':'cancelled'", "'clear':['parent_id']",
        "'parent_id':'x'",
    };
    char text[900];

    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++)
        for (size_t k = 0; k < sizeof ways_out / sizeof *ways_out; k++) {
            begin();
            CREATE("x", ",'status':'in_progress','current_owner':'you'");
            CREATE("e", ",'current_owner':'me'");
            CREATE("p", ",'parent_id':'e','status':'in_progress',"
                   "'current_owner':'you'");
            makes(&ann, ways[i].call);
            settle_all();
            CHECK(is_status("working"));
            snprintf(text, sizeof text, NEWER_CALL("update_task",
                     "{'task_id':'p','agent':'you',%s}"), ways_out[k]);
            asks(&neo, text);
            settle_all();
            if (!CHECK(is_status("completed") &&
                       text_has(asks(&ann, OLD("tasks/result")),
                                ways[i].gets)))
                fprintf(stderr, "  %s %s\n", ways[i].call, ways_out[k]);
            end();
        }
}

/* Waits for the part p, which is mine. */
static const struct {
    const char *call, *gets;
} for_part[] = {
    {LATER(""), CLAIMED("p")},
    {WAIT("'task_id':'p','until':'ready'"), "'met':true"},
    {WAIT("'agent':'me','until':'work'"), "'met':true"},
    {WAIT("'agent':'me','until':'ready'"), "'met':true"},
};

/* Whether the wait of way i has its result. */
static bool
has_part(size_t i)
{
    bool has = is_status("completed") &&
               text_has(asks(&ann, OLD("tasks/result")), for_part[i].gets);

    if (!has)
        fprintf(stderr, "  %s\n", for_part[i].call);
    return has;
}

/* A part of what is put off is ready when the time of that has come, without
   any record, or when that is changed. */
TEST(part_of_what_is_put_off)
{
    char text[300];

    for (size_t i = 0; i < 2 * sizeof for_part / sizeof *for_part; i++) {
        begin();
        snprintf(text, sizeof text, "{'task_id':'e','title':'t',"
                 "'not_before':'%s'}", in_an_hour());
        does("create_task", text);
        CREATE("p", ",'parent_id':'e','current_owner':'me'");
        CHECK(text_has(DO("claim_task", "'agent':'me'"), "'waiting':1"));
        makes(&ann, for_part[i / 2].call);
        ahead_ms += 3590 * 1000;
        CHECK(!strstr(asks(&ann, OLD("tasks/get")), "completed"));
        if (i % 2 == 0)
            ahead_ms += 10 * 1000;
        else
            asks(&neo, NEWER_CALL("update_task",
                 "{'task_id':'e','clear':['not_before']}"));
        settle_all();
        CHECK(has_part(i / 2));
        end();
    }
}

/* Nor are parts of what was cancelled, until that is reopened. */
TEST(part_of_what_was_cancelled)
{
    static const char *const again[] = {
        "{'task_id':'e','status':'open','reason':'r'}",
        "{'task_id':'e','status':'in_progress','agent':'you','reason':'r'}",
    };

    for (size_t i = 0; i < 2 * sizeof for_part / sizeof *for_part; i++) {
        begin();
        CREATE("e", "");
        CREATE("p", ",'parent_id':'e','current_owner':'me'");
        does("update_task", "{'task_id':'e','status':'cancelled'}");
        makes(&ann, for_part[i / 2].call);
        settle_all();
        CHECK(is_status("working"));
        does("update_task", again[i % 2]);
        settle_all();
        CHECK(has_part(i / 2));
        end();
    }
}

/* What no time makes the caller's is not looked at again and again. */
TEST(meant_for_another)
{
    uint64_t next;

    begin();
    CREATE("a", ",'current_owner':'you'");
    makes(&ann, LATER(",'task_id':'a'"));
    settle_all();
    next = store_next_n(box.s);
    for (int i = 0; i < 5; i++) {
        ahead_ms += 2000;
        settle_all();
    }
    CHECK(is_status("working") && store_next_n(box.s) == next);
    does("update_task", "{'task_id':'a','current_owner':'me'}");
    settle_all();
    CHECK(is_status("completed") &&
          text_has(asks(&ann, OLD("tasks/result")), CLAIMED("a")));
    end();
}

/* What was handed to one's own product is for others of it, and then for
   anybody. */
TEST(handed_to_ones_own_product)
{
    begin();
    CREATE("a", "");
    does("claim_task", "{'task_id':'a','agent':'me'}");
    does("handoff_task", "{'task_id':'a','from_agent':'me','to_agent':'toy'}");
    makes(&ann, LATER(""));
    settle_all();
    CHECK(is_status("working"));
    ahead_ms += 910 * 1000; /* on all hosts */
    settle_all();
    CHECK(is_status("completed") &&
          text_has(asks(&ann, OLD("tasks/result")), CLAIMED("a")));
    end();
}

/* A task is not ready while an agent works on paths that overlap. */
TEST(paths)
{
    static const struct {
        const char *held, *asked; /* paths of two tasks */
        bool overlap;
    } rows[] = {
        {"'src'", "'src/a.c'", true}, {"'src/a.c'", "'src/'", true},
        {"'src/a'", "'src/a'", true}, {"'src/a'", "'src/ab'", false},
        {"'src/a/'", "'src/b'", false}, {"'x','doc'", "'y','doc/z'", true},
        {"'doc','x'", "'src'", false},
    };
    static const struct {
        const char *call, *gets;
    } ways[] = {
        {LATER(""), CLAIMED("b")},
        {LATER(",'task_id':'b'"), CLAIMED("b")},
        {WAIT("'task_id':'b','until':'ready'"), "'met':true"},
        {WAIT("'agent':'me','until':'work'"), "'met':true"},
    };
    static const char *const bad[] = {
        "/src", "..", "src/../x", "./src", "src//x", "",
    };
    char text[300];

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        begin();
        snprintf(text, sizeof text, "{'task_id':'a','title':'t','paths':[%s]}",
                 rows[i].held);
        does("create_task", text);
        DO("claim_task", "'agent':'you'");
        snprintf(text, sizeof text, "{'task_id':'b','title':'t','paths':[%s]}",
                 rows[i].asked);
        does("create_task", text);
        if (!CHECK(text_has(DO("claim_task", "'agent':'me'"), rows[i].overlap
                            ? "'held':2" : "'claimed':true")))
            fprintf(stderr, "  %s %s\n", rows[i].held, rows[i].asked);
        end();
    }
    for (size_t i = 0; i < 2 * sizeof ways / sizeof *ways; i++) {
        begin();
        CREATE("a", ",'paths':['src'],'repo_path':'/r'");
        DO("claim_task", "'agent':'you','lease_seconds':600");
        CREATE("b", ",'paths':['src/a.c'],'repo_path':'/r'");
        CHECK(text_has(DO("list_tasks", "'ready':true"), "'total':0"));
        CHECK(text_has(DO("get_task", "'task_id':'b'"),
                       "'overlaps':[{'task_id':'a','agent':'you'}]"));
        makes(&ann, ways[i / 2].call);
        if (i % 2 == 0) {
            DO("update_task", "'task_id':'a','agent':'you','status':'done'");
            settle_all();
        } else { /* the lease ends, which no record says */
            stop();
            start();
            ahead_ms += 599 * 1000;
            CHECK(!strstr(asks(&ann, OLD("tasks/get")), "completed"));
            ahead_ms += 1000;
        }
        CHECK(strstr(asks(&ann, OLD("tasks/get")), "completed"));
        if (i % 2 == 0 &&
            !CHECK(text_has(asks(&ann, OLD("tasks/result")), ways[i / 2].gets)))
            fprintf(stderr, "  way %zu\n", i / 2);
        end();
    }
    begin();
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        snprintf(text, sizeof text, CALL("create_task", "{'title':'t',"
                 "'paths':['%s']}"), bad[i]);
        CHECK(strstr(asks(&ann, text), "invalid_argument"));
    }
    /* Of another project, or of the same epic; and one's own. */
    CREATE("a", ",'paths':['src'],'repo_path':'/r'");
    DO("claim_task", "'agent':'you'");
    CREATE("o", ",'paths':['src'],'repo_path':'/o'");
    CREATE("p", ",'paths':['src'],'repo_path':'/r','parent_id':'a'");
    CREATE("n", ",'paths':['src'],'repo_path':'/r'");
    CHECK(text_has(DO("claim_task", "'agent':'me','task_id':'o'"),
                   CLAIMED("o")));
    CHECK(text_has(DO("claim_task", "'agent':'me','task_id':'p'"),
                   CLAIMED("p")));
    CHECK(text_has(asks(&ann, CALL("claim_task",
          "{'agent':'eve','task_id':'n'}")), "'field':'paths'"));
    CHECK(text_has(asks(&ann, CALL("update_task",
          "{'agent':'eve','task_id':'n','status':'in_progress'}")),
          "'field':'paths'"));
    DO("update_task", "'agent':'me','task_id':'p','status':'done'");
    CHECK(text_has(DO("claim_task", "'agent':'you','task_id':'n'"),
                   "'claimed':true"));
    DO("handoff_task", "'from_agent':'you','task_id':'n'");
    CHECK(text_has(DO("claim_task", "'agent':'me','task_id':'n',"
                      "'takeover':true,'reason':'small'"), CLAIMED("n")));
    end();
}

/* A search finds what is ready behind tasks that overlap with another one, of
   which many have the same paths: the parts of that one, and other projects. */
TEST(search_passes_by_overlaps)
{
    begin();
    CREATE("a", ",'paths':['src','doc'],'repo_path':'/r'");
    DO("claim_task", "'agent':'you'");
    CREATE("n1", ",'paths':['src'],'repo_path':'/r'");
    CREATE("n2", ",'paths':['src'],'repo_path':'/r/'");
    CREATE("n3", ",'paths':['doc/x'],'repo_path':'/r'");
    CREATE("o", ",'paths':['src'],'repo_path':'/o'");
    CREATE("p", ",'paths':['src'],'repo_path':'/r','parent_id':'a'");
    CREATE("q", ",'paths':['test'],'repo_path':'/r'");
    CHECK(text_has(DO("claim_task", "'agent':'me','repo_path':'/r'"),
                   CLAIMED("p")));
    CHECK(text_has(DO("claim_task", "'agent':'me','repo_path':'/r'"),
                   CLAIMED("q")));
    CHECK(text_has(DO("claim_task", "'agent':'me','repo_path':'*'"),
                   CLAIMED("o")));
    CHECK(text_has(DO("claim_task", "'agent':'me','repo_path':'*'"),
                   "'held':7"));
    DO("update_task", "'agent':'me','task_id':'p','status':'done'");
    CHECK(text_has(DO("claim_task", "'agent':'you','repo_path':'/r'"),
                   "'task_id':'n1'"));
    DO("update_task", "'agent':'you','task_id':'a','status':'done'");
    CHECK(text_has(DO("claim_task", "'agent':'me','repo_path':'/r'"),
                   CLAIMED("n3")));
    end();
}

static bool holder_is_gone;

static enum sight
see_holder(const void *of, struct str mark)
{
    CHECK(of == &holder_is_gone && mark.len > 0);
    return holder_is_gone ? SIGHT_GONE : SIGHT_ALIVE;
}

/* No record says that an agent is gone: the server looks from time to time. */
TEST(an_agent_that_is_gone)
{
    uint64_t next;

    begin();
    tasks_watch(tasks, see_holder, &holder_is_gone);
    asks(&ann, INIT("{'protocolVersion':'" V11 "','capabilities':{},"
                    "'clientInfo':{'name':'hermes','version':'1'}}"));
    CREATE("n", "");
    DO("claim_task", "");
    makes(&ann, TASK("claim_task", "{}"));
    next = store_next_n(box.s);
    ahead_ms += 5000;
    settle_all();
    CHECK(is_status("working") && store_next_n(box.s) == next);
    holder_is_gone = true;
    settle_all();
    CHECK(is_status("working"));
    ahead_ms += 5000;
    settle_all();
    CHECK(is_status("completed"));
    CHECK(str_starts(member_of(asks(&ann, OLD("tasks/result")),
                               "current_owner\\\":\\\""), "hermes-"));
    holder_is_gone = false;
    end();
}

/* In 2026-07-28 a call is deferred only if it has to wait and asked to. */
TEST(both_eras)
{
    begin();
    CHECK(text_has(asks(&neo, NEWER_CALL("claim_task", "{'agent':'me'}")),
                   "'claimed':false"));
    CHECK(has(makes(&neo, NEWER_CALL("claim_task",
              "{'agent':'me','wait_seconds':1}")), "'resultType':'task'"));
    CREATE("n", "");
    CHECK(is_status("completed"));
    CREATE("o", "");
    CHECK(text_has(asks(&neo, NEWER_CALL("claim_task",
                   "{'agent':'me','wait_seconds':1}")), CLAIMED("o")));
    CHECK(text_has(asks(&ann, CALL("claim_task", "{'agent':'me'}")),
                   "'claimed':false"));
    who_forget(&ann);
    post(&ann, CALL("claim_task", "{'agent':'me','wait_seconds':1}"));
    settle_all();
    CHECK(ann.n == 0);
    ahead_ms += 1000;
    settle_all();
    CHECK(text_has(last(&ann), "'claimed':false"));
    end();
}

/* ---- which task, and for whom ---- */

/* One of those who wait gets the task; the others wait on. */
TEST(losers_wait_on)
{
    unsigned n;

    begin();
    post(&ann, CLAIM(""));
    post(&ann, REQ("2", "tools/call", "{'name':'claim_task','arguments':{"
                   "'agent':'you','wait_seconds':50}}"));
    turn();
    for (n = 1; n <= 2; n++) {
        who_forget(&ann);
        asks(&neo, n == 1
             ? NEWER_CALL("create_task", "{'task_id':'n','title':'t'}")
             : NEWER_CALL("create_task", "{'task_id':'o','title':'t'}"));
        settle_all();
        CHECK(text_has(last(&ann), "'claimed':true"));
        CHECK(tasks_count(tasks, TASK_IN_PROGRESS) == n);
        CHECK(text_has(last(&ann), n == 1 ? "'task_id':'n'"
                                          : "'task_id':'o'"));
    }
    end();
}

/* ---- why no task is ready ---- */

TEST(reasons)
{
    const char *said;

    world();
    CREATE("y", ",'depends_on':['d','x']");
    CREATE("z", ",'depends_on':['x']");
    CREATE("m", MINE);
    CREATE("h", MINE);
    DO("handoff_task", "'task_id':'h','from_agent':'me','to_agent':'you'");
    said = DO("claim_task", "'agent':'ann'");
    CHECK(text_has(said, "'claimed':false,'message':'no task is ready',"
                   "'could_claim':[{'task_id':'h','title':'t',"
                   "'was':'handed to you by me "));
    CHECK(text_has(said, "{'task_id':'m','title':'t','was':'in progress by me "
                   "without a lease','free_at':'2"));
    CHECK(text_has(said, "'next':'wait until free_at with wait_seconds; if you "
                   "is you, pass that name as agent; if its agent will not "
                   "come, claim it with task_id, takeover and a reason',"
                   "'blocked':3,'blocked_by':["));
    CHECK(text_has(said, "{'task_id':'d','tasks':2,'status':'in_progress'}"));
    CHECK(text_has(said, "{'task_id':'x','tasks':1,'status':'open'}"));
    CHECK(text_has(said, "'held':3,'held_by':[{'agent':'you','tasks':2,"
                   "'until':'20"));
    CHECK(text_has(said, "{'agent':'me','tasks':1,'until':'20"));
    CHECK(text_has(DO("claim_task", "'agent':'ann','tag':'g'"),
                   "'claimed':false,'message':'no task is ready',"
                   "'you_hold':[{'task_id':'d','title':'t','agent':'you'}]}"));
    end();
}

/* ---- many ---- */

/* Tasks known to be blocked are not read again until a dependency ends, even if
   it is reopened and ends again. */
TEST(parked)
{
    uint64_t i;

    world();
    CREATE("z", ",'depends_on':['x']");
    for (i = 0; i < 3; i++) {
        CHECK(text_has(DO("claim_task", "'agent':'me'"), "'blocked':2"));
        disk_full = true;
        asks(&neo, NEWER_CALL("update_task",
             "{'task_id':'d','agent':'you','status':'done'}"));
        CHECK(text_has(DO("claim_task", "'agent':'me'"), "'blocked':2"));
        does("update_task", "{'task_id':'d','agent':'you','status':'done'}");
        disk_full = true;
        asks(&neo, NEWER_CALL("update_task",
             "{'task_id':'d','agent':'you','status':'open','reason':'r'}"));
        CHECK(text_has(DO("claim_task", "'agent':'me'"), CLAIMED("x")));
        does("update_task", "{'task_id':'x','agent':'me','status':'open'}");
        does("update_task", "{'task_id':'d','agent':'you','status':"
             "'in_progress','reason':'r'}");
    }
    /* The reopening is undone: d is done, so x must not stay parked. */
    does("update_task", "{'task_id':'d','agent':'you','status':'done'}");
    post(&neo, NEWER_CALL("update_task", "{'task_id':'d','agent':'you',"
                          "'status':'in_progress','reason':'r'}"));
    post(&neo, NEWER_CALL("claim_task", "{'agent':'me'}"));
    disk_full = true;
    turn();
    CHECK(text_has(DO("claim_task", "'agent':'me'"), CLAIMED("x")));
    end();
}

/* The only one with the tag stands behind more tasks than a list looks at. */
TEST(behind_many_others)
{
    char args[1200] = "{'tasks':[{'title':'t'}";
    int i;

    for (i = 1; i < TASK_MAX_NEW; i++)
        strcat(args, ",{'title':'t'}");
    strcat(args, "]}");
    begin();
    for (i = 0; i <= TASK_LOOK_MAX / TASK_MAX_NEW; i++) {
        does("create_task", args);
        arena_reset(&arena);
    }
    CREATE("n", ",'tags':['g']");
    CREATE("r", ",'repo_path':'/r'");
    CHECK(text_has(DO("claim_task", "'agent':'me','tag':'g'"), CLAIMED("n")));
    CHECK(text_has(DO("claim_task", "'agent':'me','repo_path':'/r'"),
                   CLAIMED("r")));
    CHECK(text_has(DO("claim_task", "'agent':'you','tag':'g'"),
                   "'message':'no task is ready','held':1"));
    end();
}

/* The ready task stands behind more tasks than one search reads. */
TEST(behind_many_blocked)
{
    char args[1200];
    int i;

    world();
    makes(&ann, LATER(""));
    for (i = 0; i < 1500; i++) {
        snprintf(args, sizeof args, "{'task_id':'b%d','title':'t','goal':"
                 "'%0800d','depends_on':['d']}", i, 0);
        does("create_task", args);
        arena_reset(&arena);
    }
    stop();
    start();
    CREATE("e", MINE);
    CREATE("n", ",'depends_on':['e']");
    does("update_task", BECOMES("e", "done"));
    settle_all();
    CHECK(is_status("completed"));
    CHECK(text_has(asks(&ann, OLD("tasks/result")), CLAIMED("n")));
    who_forget(&ann);
    post(&ann, CLAIM(""));
    settle_all();
    CHECK(ann.n == 0);
    CHECK(text_has(does("claim_task", "{'agent':'you'}"), "'blocked':"));
    mcp_release(box.m->messages);
    /* The same for a deferred call that finds them all there. */
    stop();
    start();
    CREATE("o", "");
    makes(&ann, LATER(""));
    settle_all();
    CHECK(is_status("completed"));
    CHECK(text_has(asks(&ann, OLD("tasks/result")), CLAIMED("o")));
    /* And for claims that do not wait. */
    stop();
    start();
    does("update_task", BECOMES("o", "done"));
    CREATE("p", ",'depends_on':['o']");
    who_forget(&ann);
    post(&ann, CALL("claim_task", "{'agent':'me'}"));
    settle_all();
    CHECK(text_has(last(&ann), CLAIMED("p")));
    stop();
    start();
    CREATE("q", ",'depends_on':['o']");
    post(&neo, NEWER_CALL("claim_task", "{'agent':'me'}"));
    settle_all();
    CHECK(text_has(last(&neo), CLAIMED("q")));
    end();
}

/* Blocked tasks that were handed over, to me or to anybody, hide none that is
   ready, however much there is to read. */
TEST(behind_many_handed_over)
{
    char args[5800];
    int i;

    world();
    CREATE("e", MINE);
    for (i = 0; i < 240; i++) {
        snprintf(args, sizeof args, "{'task_id':'h%d','title':'t','goal':"
                 "'%05000d','status':'handoff_ready'%s,'depends_on':['d']}",
                 i, 0, i % 2 == 0 ? "" : ",'current_owner':'me'");
        does("create_task", args);
        arena_reset(&arena);
    }
    CREATE("n", ",'depends_on':['e']");
    does("update_task", BECOMES("e", "done"));
    who_forget(&ann);
    post(&ann, CLAIM(""));
    settle_all();
    CHECK(text_has(last(&ann), CLAIMED("n")));
    end();
}

/* One that was parked when its time had come stays anybody's: a handoff, a
   lease, and work that is stale. */
TEST(parked_after_its_time)
{
    static const char *const ids[] = {"h", "l", "s"};
    char want[100];
    size_t i;

    begin();
    CREATE("d", "");
    for (i = 0; i < 3; i++) {
        snprintf(want, sizeof want, "{'task_id':'%s','title':'t'}", ids[i]);
        does("create_task", want);
    }
    DO("handoff_task", "'task_id':'h','from_agent':'you','to_agent':'bob'");
    DO("claim_task", "'task_id':'l','agent':'you'");
    DO("save_checkpoint", "'task_id':'s','agent':'you'");
    for (i = 0; i < 3; i++) {
        snprintf(want, sizeof want, "{'task_id':'%s','depends_on':['d'],"
                 "'agent':'you'}", ids[i]);
        does("update_task", want);
    }
    ahead_ms += 86401 * 1000;
    DO("claim_task", "'agent':'me','task_id':'d'");
    for (i = 0; i < 2; i++)
        CHECK(text_has(DO("claim_task", "'agent':'me'"), "'blocked':3"));
    does("update_task", BECOMES("d", "done"));
    for (i = 0; i < 3; i++) {
        snprintf(want, sizeof want, CLAIMED("%s"), ids[i]);
        CHECK(text_has(DO("claim_task", "'agent':'me'"), want));
    }
    end();
}

/* ---- 8 agents in 4 processes, 1,000 tasks ---- */

#define PROCS 4
#define TASKS 1000

static void
next_call(struct who *w, const char *tool, const char *args)
{
    char text[300];

    who_forget(w);
    snprintf(text, sizeof text, CALL("%s", "{%s}"), tool, args);
    post_as_is(w, text);
}

static void
wants_work(struct who *w, char name)
{
    char args[100];

    snprintf(args, sizeof args, "'agent':'%c','wait_seconds':50", name);
    next_call(w, "claim_task", args);
}

/* Ends the task that w was given, or asks for the next. The clock stands still,
   so an agent that nobody wakes waits for ever. */
static void
works(struct who *w, char name)
{
    const char *said = last(w), *id = strstr(said, "{\\\"task_id\\\":\\\"");
    char args[200];

    if (strstr(said, "\"result\":") == NULL)
        return;
    CHECK(strstr(said, "isError") == NULL);
    if (strstr(said, "\\\"claimed\\\":true") == NULL || id == NULL) {
        CHECK(strstr(said, "\\\"claimed\\\":") == NULL);
        wants_work(w, name);
        return;
    }
    id += strlen("{\\\"task_id\\\":\\\"");
    snprintf(args, sizeof args, "'task_id':'%.*s','agent':'%c','status':"
             "'done'", (int)strcspn(id, "\\"), id, name);
    next_call(w, "update_task", args);
}

/* A process with two agents, which work until every task is done. */
static void
be_two(char name)
{
    static struct who two[2];
    int i;

    alarm(300); /* the tasks of a killed process are never done */
    start();
    for (i = 0; i < 2; i++) {
        who_pipe(&two[i], "", V11);
        wants_work(&two[i], (char)(name + i));
    }
    while (tasks_count(tasks, TASK_DONE) < TASKS) {
        uint64_t head = store_next_n(box.s);

        turn();
        for (i = 0; i < 2; i++)
            works(&two[i], (char)(name + i));
        if (n_jobs > 0)
            continue; /* their messages are in the arena */
        arena_reset(&arena);
        if (store_next_n(box.s) == head)
            sched_yield();
    }
    _exit(test_failed > 0);
}

static unsigned claims[TASKS];

static int
count_claim(void *ctx, const struct store_rec *r)
{
    uint64_t i;

    (void)ctx;
    if (str_starts(r->body, "\"op\":\"claim\"") &&
        str_u64(str_from(r->key, strlen("task/n")), &i) && i < TASKS)
        claims[i]++;
    return 0;
}

TEST(each_is_given_once)
{
    pid_t pids[PROCS];
    char args[200];
    int i, status;

    world_place(&box);
    for (i = 0; i < PROCS; i++) {
        fflush(NULL);
        pids[i] = fork();
        if (pids[i] == 0)
            be_two((char)('a' + 2 * i));
    }
    start();
    for (i = 0; i < TASKS; i++) {
        snprintf(args, sizeof args, i % 3 == 2
                 ? "{'task_id':'n%d','title':'t','depends_on':['n%d']}"
                 : "{'task_id':'n%d','title':'t'}", i, i - 1);
        does("create_task", args);
        arena_reset(&arena);
    }
    for (i = 0; i < PROCS; i++)
        CHECK(waitpid(pids[i], &status, 0) == pids[i] && status == 0);
    CHECK(store_follow(box.s) == 0 &&
          tasks_count(tasks, TASK_DONE) == TASKS);
    CHECK(store_scan(box.s, 1, count_claim, NULL) == 0);
    for (i = 0; i < TASKS; i++)
        CHECK(claims[i] == 1);
    end();
}

int
main(void)
{
    test_in_memory();
    test_run();
    arena_fini(&arena);
    return test_end("t_claim_wait");
}
