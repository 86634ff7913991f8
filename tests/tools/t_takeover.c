/* t_takeover - nobody who is gone blocks a task: takeover, owners without a
   lease, receivers who never come, and dependencies that failed. */

#include "tests/lib/catalogue.h"
#include "base/clock.h"
#include "task/change.h"

#define HOUR 3600
#define DAY (24 * HOUR)

/* Whether the last answer says that agent took the task from the caller, and
   why. */
static bool
lost_to(const struct fixture *f, const char *agent, const char *reason)
{
    const struct json_tok *t = json_get(f->json, "taken_over");

    return t && json_is(json_get(t, "by"), agent) &&
           json_is(json_get(t, "reason"), reason) && json_get(t, "at");
}

static void
end(struct fixture *f)
{
    CHECK(is_replay(f));
    clock_ahead_s = 0;
    fixture_fini(f);
}

#define TAKE "{'task_id':'a','agent':'you','takeover':true,'reason':'r'}"

/* ---- a clock that was ahead ---- */

/* For a while the clock was ten years ahead. When that is taken back, leases,
   handoffs and keys of then end as if they were of now, or at once. */
TEST(time_is_taken_back)
{
    struct fixture f;

    fixture_init(&f);
    call(&f, "create_task", "{'task_id':'a','title':'A'}");
    wall_ahead_s = 10LL * 365 * DAY;
    STEPS(&f, {"claim_task", "{'task_id':'a','agent':'me'}", 0, 0, 0},
          {"create_task", "{'task_id':'b','title':'B','status':'in_progress',"
           "'current_owner':'me','idempotency_key':'k'}", 0, 0, 0},
          {"create_task", "{'task_id':'c','title':'C'}", 0, 0, 0},
          {"handoff_task", "{'task_id':'c','from_agent':'me','to_agent':'x',"
           "'reason':'r'}", 0, 0, 0});
    wall_ahead_s = 0;
    STEPS(&f, {"claim_task", "{'task_id':'a','agent':'you'}", "lease_held", 0,
               0},
          {"claim_task", "{'task_id':'c','agent':'you'}", "kept", 0, 0});
    store_take_back_time(f.s);
    while (store_compact(f.s) == ERR_PENDING)
        continue;
    for (int i = 0; i < 2; i++) {
        call(&f, "get_task", "{'task_id':'a'}");
        CHECK(is_true(&f, "lease_expired") && is_true(&f, "ready"));
        call(&f, "list_tasks", "{'stale':true}");
        CHECK(number(&f, "total") == 0);
        call(&f, "create_task", "{'task_id':'b','title':'B','status':"
             "'in_progress','current_owner':'me','idempotency_key':'k'}");
        CHECK(ok(&f) && number(&f, "seq") == 3);
        reopen(&f);
    }
    STEPS(&f, {"claim_task", "{'task_id':'a','agent':'you'}", 0, 0, 0},
          {"claim_task", "{'task_id':'c','agent':'you'}", 0, 0, 0},
          {"claim_task", "{'task_id':'b','agent':'you'}", "kept", 0, 0});
    clock_ahead_s = DAY + 60;
    STEPS(&f, {"update_task", "{'task_id':'b','agent':'me','goal':'g'}", 0, 0,
               0});
    call(&f, "create_task", "{'task_id':'b','title':'B','status':"
         "'in_progress','current_owner':'me','idempotency_key':'k'}");
    CHECK(number(&f, "seq") != 3); /* the key is forgotten */
    end(&f);
}

/* ---- leases ---- */

TEST(a_live_lease_stays)
{
    struct fixture f;

    begin_with(&f, "a");
    call(&f, "claim_task", "{'agent':'me','task_id':'a'}");
    CHECK(ok(&f) && !json_get(f.json, "renewed"));
    call(&f, "claim_task", "{'agent':'me','task_id':'a'}");
    CHECK(ok(&f) && is_true(&f, "renewed"));
    call(&f, "claim_task", TAKE);
    CHECK(failed(&f, "lease_held") && has(&f, "holder", "me") &&
          expires_in(&f, f.json) == 900);
    buf_char(&f.out, '\0');
    CHECK(strstr(f.out.p, "on the task a until 20") &&
          !strstr(f.out.p, "takeover"));
    STEPS(&f, {"claim_task", "{'task_id':'a','agent':'you','takeover':true}",
               "lease_held", 0, 0},
          {"update_task", "{'task_id':'a','agent':'you','goal':'g'}",
           "lease_held", 0, 0});
    CHECK(expires_in(&f, f.json) == 900);
    f.person = true;
    STEPS(&f, {"claim_task", "{'task_id':'a','agent':'you'}", "lease_held", 0,
               0},
          {"claim_task", "{'task_id':'a','agent':'you','takeover':true}",
           "invalid_argument", "field", "reason"},
          {"save_checkpoint", "{'task_id':'a','agent':'you'}", "lease_held", 0,
           0});
    end(&f);
}

TEST(a_person_hands_over)
{
#define HAND "{'task_id':'a','from_agent':'ann','to_agent':'you'}"
    struct fixture f;

    clock_ahead_s = 0;
    fixture_init(&f);
    STEPS(&f, {"create_task", "{'task_id':'a','title':'T','status':"
               "'in_progress','current_owner':'me'}", 0, 0, 0},
          {"handoff_task", HAND, "kept", "holder", "me"},
          {"claim_task", "{'task_id':'a','agent':'me'}", 0, 0, 0},
          {"handoff_task", HAND, "lease_held", "holder", "me"});
    f.person = true;
    STEPS(&f, {"handoff_task", HAND, 0, "current_owner", "you"});
    CHECK(!warned(&f, "another agent owns this task"));
    call(&f, "get_task", "{'task_id':'a'}");
    CHECK(json_is(json_get(json_get(f.json, "handoff"), "from_agent"), "ann"));
    CHECK(!json_get(f.json, "lease"));
    call(&f, "save_checkpoint", "{'task_id':'a','agent':'me'}");
    CHECK(failed(&f, "kept") && lost_to(&f, "ann", "handed over"));
    /* Nobody has begun yet, so it can be taken back. */
    STEPS(&f, {"update_task", "{'task_id':'a','agent':'eve','status':"
               "'in_progress','current_owner':'me','reason':'r'}", "kept", 0,
               0},
          {"update_task", "{'task_id':'a','agent':'ann','status':"
           "'in_progress','current_owner':'me'}", "kept", 0, 0},
          {"update_task", "{'task_id':'a','agent':'ann','status':"
           "'in_progress','current_owner':'me','reason':'r'}", 0,
           "current_owner", "me"});
    fixture_fini(&f);
}

TEST(a_person_ends_a_lease)
{
    struct fixture f;

    begin_with(&f, "a");
    call(&f, "claim_task", "{'agent':'me','task_id':'a'}");
    f.person = true;
    call(&f, "claim_task", TAKE);
    CHECK(ok(&f) && has(&f, "current_owner", "you") &&
          !json_get(f.json, "renewed"));
    f.person = false;
    CHECK(json_is(json_get(json_get(f.json, "takeover"), "from_agent"), "me"));
    /* The loser is told, whether its write is refused or not. */
    call(&f, "save_checkpoint", "{'task_id':'a','agent':'me'}");
    CHECK(failed(&f, "lease_held") && lost_to(&f, "you", "r"));
    call(&f, "save_checkpoint", "{'task_id':'a','agent':'other'}");
    CHECK(failed(&f, "lease_held") && !json_get(f.json, "taken_over"));
    call(&f, "update_task", "{'task_id':'a','agent':'me','message':'why?',"
         "'idempotency_key':'k'}");
    CHECK(ok(&f) && lost_to(&f, "you", "r"));
    reopen(&f);
    call(&f, "update_task", "{'task_id':'a','agent':'me','message':'why?',"
         "'idempotency_key':'k'}");
    CHECK(ok(&f) && lost_to(&f, "you", "r"));
    call(&f, "save_checkpoint", "{'task_id':'a','agent':'you'}");
    CHECK(ok(&f) && !json_get(f.json, "taken_over"));
    call(&f, "get_task", "{'task_id':'a','section':'history'}");
    buf_char(&f.out, '\0');
    CHECK(strstr(f.out.p, "\"note\":\"r\""));
    while (store_compact(f.s) == ERR_PENDING)
        continue;
    clock_ahead_s = 960;
    call(&f, "save_checkpoint", "{'task_id':'a','agent':'me'}");
    CHECK(ok(&f) && lost_to(&f, "you", "r"));
    /* It is told until it has the task again. So is the other one then. */
    call(&f, "claim_task", "{'agent':'me','task_id':'a'}");
    CHECK(ok(&f) && has(&f, "was", "held by you, whose lease expired"));
    call(&f, "save_checkpoint", "{'task_id':'a','agent':'you'}");
    CHECK(failed(&f, "lease_held") && lost_to(&f, "me",
                                              "the lease had expired"));
    call(&f, "save_checkpoint", "{'task_id':'a','agent':'me'}");
    CHECK(ok(&f) && !json_get(f.json, "taken_over"));
    end(&f);
}

/* A loser that owns the task again, in whatever way, and gives it away has lost
   nothing. */
TEST(a_loser_gets_it_back)
{
    static const char *const ways[][2] = {
        {"save_checkpoint", "{'task_id':'a','agent':'me'}"},
        {"claim_task", "{'task_id':'a','agent':'me'}"},
        {"update_task", "{'task_id':'a','agent':'me','status':'in_progress'}"},
    };
    struct fixture f;
    size_t i;

    for (i = 0; i < sizeof ways / sizeof *ways; i++) {
        begin_with(&f, "a");
        STEPS(&f, {"update_task", "{'task_id':'a','current_owner':'me'}", 0, 0,
                   0},
              {"claim_task", TAKE, 0, "was", "meant for me"},
              {"handoff_task", "{'task_id':'a','from_agent':'you'}", 0, 0, 0},
              {"update_task", "{'task_id':'a','agent':'me','message':'m'}", 0,
               0, 0});
        CHECK(lost_to(&f, "you", "r"));
        call(&f, ways[i][0], ways[i][1]);
        CHECK(ok(&f) && !json_get(f.json, "taken_over"));
        call(&f, "handoff_task", "{'task_id':'a','from_agent':'me'}");
        CHECK(ok(&f) && !json_get(f.json, "taken_over"));
        call(&f, "claim_task", "{'task_id':'a','agent':'other'}");
        CHECK(ok(&f) && !json_get(f.json, "takeover"));
        call(&f, "save_checkpoint", "{'task_id':'a','agent':'me'}");
        CHECK(failed(&f, "lease_held") && !json_get(f.json, "taken_over"));
        end(&f);
    }
}

/* ---- owners without a lease ---- */

/* As records of 0.3.0 have them, and what a person put in progress. */
TEST(an_owner_without_a_lease)
{
    struct fixture f;

    begin_with(&f, "");
    STEPS(&f, {"create_task", "{'task_id':'a','title':'T','status':"
               "'in_progress','current_owner':'me'}", 0, 0, 0},
          {"create_task", "{'task_id':'b','title':'T','status':"
           "'in_progress','current_owner':'me'}", 0, 0, 0},
          {"claim_task", "{'agent':'you','task_id':'a'}", "kept", "holder",
           "me"},
          {"save_checkpoint", "{'agent':'you','task_id':'a'}", 0,
           "current_owner", "me"},
          {"claim_task", "{'agent':'you','task_id':'a','takeover':true}",
           "invalid_argument", "field", "reason"},
          {"claim_task", TAKE, 0, "was", "in progress by me without a lease"},
          {"save_checkpoint", "{'task_id':'a','agent':'me'}", "lease_held", 0,
           0});
    CHECK(lost_to(&f, "you", "r"));
    call(&f, "handoff_task", "{'task_id':'a','from_agent':'you'}");
    CHECK(ok(&f));
    /* After a day anybody may take it. */
    clock_ahead_s = DAY - 60;
    STEPS(&f, {"claim_task", "{'agent':'you','task_id':'b'}", "kept", 0, 0},
          {"get_task", "{'task_id':'b'}", 0, 0, 0});
    CHECK(!is_true(&f, "ready"));
    clock_ahead_s = DAY + 60;
    call(&f, "get_task", "{'task_id':'b'}");
    CHECK(is_true(&f, "ready") && is_true(&f, "stale"));
    call(&f, "list_tasks", "{'ready':true}");
    CHECK(number(&f, "total") == 2);
    STEPS(&f, {"claim_task", "{'agent':'you'}", 0, "task_id", "b"},
          {"claim_task", "{'agent':'you'}", 0, "task_id", "a"});
    end(&f);
}

/* Whoever begins work without a claim has a lease, too. A person at a page has
   none, whom nobody sees stop. */
TEST(who_has_a_lease)
{
    static const char *const begin[][2] = {
        {"save_checkpoint", "{'task_id':'a','agent':'me'}"},
        {"update_task", "{'task_id':'a','agent':'me','status':'in_progress'}"},
        {"create_task", "{'task_id':'b','agent':'me','title':'T','status':"
         "'in_progress'}"},
    };
    struct fixture f;

    for (size_t i = 0; i < sizeof begin / sizeof *begin; i++)
        for (int person = 0; person < 2; person++) {
            begin_with(&f, "a");
            f.person = person;
            call(&f, begin[i][0], begin[i][1]);
            CHECK(ok(&f) && expires_in(&f, json_get(f.json, "lease")) ==
                                (person ? -1 : 900));
            f.person = false;
            call(&f, "claim_task", i == 2
                 ? "{'agent':'you','task_id':'b'}"
                 : "{'agent':'you','task_id':'a'}");
            CHECK(failed(&f, person ? "kept" : "lease_held"));
            end(&f);
        }
    begin_with(&f, "a");
    f.client = "claude-code";
    session_mark = "1111111111.1";
    STEPS(&f, {"update_task", "{'task_id':'a','status':'in_progress'}", 0,
               "agent", "claude-code-11111111"});
    CHECK(expires_in(&f, json_get(f.json, "lease")) == 900);
    session_mark = NULL;
    end(&f);
}

/* An open task with an owner is offered to that name alone, at any time; one
   that is given back is offered to all. */
TEST(whom_a_task_is_meant_for)
{
    struct fixture f;

    begin_with(&f, "ab");
    STEPS(&f, {"update_task", "{'task_id':'a','current_owner':'codex'}", 0, 0,
               0},
          {"claim_task", "{'agent':'you'}", 0, "task_id", "b"});
    clock_ahead_s = 30 * DAY;
    STEPS(&f, {"update_task", "{'task_id':'b','agent':'you','status':'done'}",
               0, 0, 0},
          {"claim_task", "{'agent':'you'}", 0, "message", "no task is ready"},
          {"claim_task", "{'agent':'you','task_id':'a'}", "kept", "message",
           "it is meant for another agent"});
    CHECK(!json_get(f.json, "expires_at"));
    f.client = "codex-mcp-client";
    session_mark = "1111111111.1";
    STEPS(&f, {"claim_task", "{}", 0, "task_id", "a"},
          {"update_task", "{'task_id':'a','status':'open'}", 0, 0, 0});
    CHECK(!json_get(f.json, "current_owner"));
    f.client = NULL;
    session_mark = NULL;
    STEPS(&f, {"claim_task", "{'agent':'you'}", 0, "task_id", "a"});
    end(&f);
}

/* ---- receivers who never come ---- */

TEST(a_receiver_who_never_comes)
{
    struct fixture f;

    begin_with(&f, "abc");
    STEPS(&f, {"handoff_task", "{'task_id':'a','from_agent':'me','to_agent':"
               "'hermse'}", 0, 0, 0},
          {"handoff_task", "{'task_id':'b','from_agent':'me','to_agent':"
           "'hermse','expires_seconds':7200}", 0, 0, 0},
          {"handoff_task", "{'task_id':'c','from_agent':'me','to_agent':"
           "'hermse'}", 0, 0, 0},
          {"claim_task", "{'agent':'you','task_id':'a'}", "kept", "holder",
           "hermse"});
    CHECK(expires_in(&f, f.json) == 900 && is_true(&f, "retryable"));
    /* A reason passes by it, whoever has one; another handoff does not. */
    STEPS(&f, {"save_checkpoint", "{'agent':'you','task_id':'a'}", "kept", 0,
               0},
          {"handoff_task", "{'task_id':'a','from_agent':'me','to_agent':"
           "'hermes'}", "kept", 0, 0},
          {"claim_task", "{'task_id':'c','agent':'you','takeover':true,"
           "'reason':'a typo'}", 0, "was", "handed to hermse by me 0 s ago"},
          {"save_checkpoint", "{'task_id':'c','agent':'hermse'}", "lease_held",
           0, 0});
    CHECK(lost_to(&f, "you", "a typo"));
    call(&f, "claim_task", "{'agent':'you'}");
    CHECK(has(&f, "message", "no task is ready"));
    buf_char(&f.out, '\0');
    CHECK(strstr(f.out.p, "\"was\":\"handed to hermse by me 0 s ago; no agent "
                 "of that name was seen here\",\"free_at\""));
    clock_ahead_s = 840;
    STEPS(&f, {"claim_task", "{'agent':'you','task_id':'a'}", "kept", 0, 0},
          /* A message of somebody else does not prolong the wait. */
          {"update_task", "{'task_id':'a','agent':'x','message':'m'}", 0, 0,
           0});
    clock_ahead_s = 960;
    STEPS(&f, {"claim_task", "{'agent':'else'}", 0, "task_id", "c"},
          {"claim_task", "{'agent':'else'}", 0, "task_id", "a"},
          {"claim_task", "{'agent':'else'}", 0, "message",
           "no task is ready"});
    clock_ahead_s = 2 * HOUR + 60;
    reopen(&f);
    call(&f, "claim_task", "{'agent':'you','task_id':'b'}");
    CHECK(ok(&f) && has(&f, "current_owner", "you"));
    end(&f);
}

TEST(handoffs_of_older_logs)
{
    char now[TIME_LEN + 1], text[256];
    struct fixture f;
    int i;

    begin_with(&f, "");
    time_format(store_now_ms(f.s) - 600 * 1000, now);
    for (i = 0; i < 2; i++) {
        snprintf(text, sizeof text, "{'task_id':'%c','title':'T','status':"
                 "'handoff_ready','current_owner':'hermse','handoff':"
                 "{'from_agent':'me','to_agent':'hermse'%s%s%s}}", 'a' + i,
                 i ? ",'at':'" : "", i ? now : "", i ? "'" : "");
        CHECK(strcmp(import(&f, text), "") == 0);
    }
    call(&f, "claim_task", "{'agent':'you'}");
    CHECK(!is_true(&f, "claimed"));
    clock_ahead_s = 360;
    STEPS(&f, {"claim_task", "{'agent':'you'}", 0, "task_id", "b"},
          {"claim_task", "{'agent':'you'}", 0, "message",
           "no task is ready"});
    clock_ahead_s = 960;
    call(&f, "claim_task", "{'agent':'you'}");
    CHECK(has(&f, "task_id", "a"));
    end(&f);
}

/* ---- dependencies ---- */

static bool
lists(const struct fixture *f, const char *name, const char *id)
{
    const struct json_tok *list = json_get(f->json, name);

    return list && list->n == 1 && json_is(list + 1, id);
}

TEST(a_dependency_that_failed)
{
    static const char *const calls[][2] = {
        {"claim_task", "{'task_id':'c','agent':'me'}"},
        {"update_task", "{'task_id':'c','agent':'me','status':'in_progress'}"},
        {"create_task", "{'title':'T','status':'in_progress','depends_on':"
         "['b']}"},
    };
    struct fixture f;
    size_t i;

    begin_with(&f, "ab");
    call(&f, "create_task", "{'task_id':'c','title':'T','depends_on':"
         "['a','b']}");
    call(&f, "get_task", "{'task_id':'c'}");
    CHECK(json_get(f.json, "blocked_by")->n == 2 &&
          !json_get(f.json, "deps_failed"));
    call(&f, "claim_task", "{'task_id':'c','agent':'me'}");
    CHECK(failed(&f, "blocked") && json_get(f.json, "blocked_by")->n == 2 &&
          !json_get(f.json, "deps_failed"));
    STEPS(&f, {"update_task", "{'task_id':'a','status':'in_progress'}", 0, 0,
               0},
          {"update_task", "{'task_id':'a','status':'done'}", 0, 0, 0},
          {"update_task", "{'task_id':'b','status':'cancelled'}", 0, 0, 0},
          {"get_task", "{'task_id':'c'}", 0, 0, 0});
    CHECK(lists(&f, "blocked_by", "b") && lists(&f, "deps_failed", "b"));
    for (i = 0; i < sizeof calls / sizeof *calls; i++) {
        call(&f, calls[i][0], calls[i][1]);
        CHECK(failed(&f, "blocked") && lists(&f, "blocked_by", "b") &&
              lists(&f, "deps_failed", "b") &&
              has(&f, "message", "it depends on b, which failed or was "
                  "cancelled") && json_get(f.json, "next"));
    }
    call(&f, "list_tasks", "{'query':'T'}");
    buf_char(&f.out, '\0');
    CHECK(strstr(f.out.p, "\"blocked_by\":[\"b\"],\"deps_failed\":[\"b\"]"));
    STEPS(&f, {"update_task", "{'task_id':'c','depends_on':['a']}", 0, 0, 0},
          {"claim_task", "{'task_id':'c','agent':'me'}", 0, 0, 0});
    CHECK(!json_get(f.json, "deps_failed"));
    end(&f);
}
