/* Sessions: their ids, what the log keeps of them, and how many there may be.
   The test controls the clock and the disk. */

#include "tests/lib/mcp_world.h"
#include "base/os.h"
#include "mcp/mcp.h"

/* ---- capabilities, kind ---- */

TEST(capabilities_as_bits)
{
    static const struct {
        const char *text;
        unsigned bits;
    } cases[] = {
        {"{}", 0},
        {"[]", 0},
        {"null", 0},
        {"{\"elicitation\":{}}", MCP_ELICITATION},
        {"{\"elicitation\":{\"form\":{}}}", MCP_ELICITATION},
        {"{\"elicitation\":{\"form\":{},\"url\":{}}}", MCP_ELICITATION},
        {"{\"elicitation\":{\"url\":{}}}", 0},
        {"{\"elicitation\":true}", 0},
        {"{\"sampling\":{},\"roots\":{\"listChanged\":true}}",
         MCP_SAMPLING | MCP_ROOTS},
        {"{\"sampling\":null,\"roots\":[]}", 0},
        {"{\"extensions\":{\"io.modelcontextprotocol/ui\":{}}}", MCP_UI},
    };
    struct arena a = {0};
    const struct json_tok *t;
    size_t i;

    CHECK(mcp_caps_of(NULL) == 0);
    for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        CHECK(json_parse(&a, str_of(cases[i].text), &t, NULL) == 0);
        if (!CHECK(mcp_caps_of(t) == cases[i].bits))
            fprintf(stderr, "%s\n", cases[i].text);
    }
    arena_fini(&a);
}

TEST(kind_keeps_the_newest_and_young_records)
{
    struct store_kind k;
    struct store_rec r = {.time = STR("2026-07-28T09:30:00.000Z")};
    int64_t ms;

    mcp_session_kind(&k);
    CHECK(strcmp(k.prefix, "session/") == 0);
    CHECK(time_parse(r.time, &ms));
    CHECK(k.keep(k.ctx, &r, true, ms + MCP_SESSION_AGE_MS - 1));
    CHECK(!k.keep(k.ctx, &r, true, ms + MCP_SESSION_AGE_MS));
    CHECK(!k.keep(k.ctx, &r, false, ms));
}

/* ---- a pipe ---- */

TEST(pipe_is_told_at_once_without_event_ids)
{
    struct world w;
    struct who *c = who_new();
    struct mcp_facts f = {0};
    int i;

    toys_open(&w);
    f.session = mcp_join(w.m, &c->pipe);
    put(&w, "a");
    CHECK(!mcp_listens(w.m) && c->n == 0);
    run(&w, &f, INIT, NULL);
    CHECK(mcp_listens(w.m) == MCP_HEARS_LISTS && !mcp_waits(w.m));
    for (i = 0; i < 2; i++)
        CHECK(ask_by(&w, &f, "resources/subscribe", "uri", "toy://a/x"));
    CHECK(mcp_session_id(f.session)[0] == '\0' && f.session->news.n_subs == 1);
    CHECK(mcp_listens(w.m) == MCP_HEARS_ALL);
    CHECK(store_find(w.s, STR("session/")) == NULL);
    put(&w, "a");
    put(&w, "b");
    CHECK(c->n == 1 && told(c, 0, "", UPDATED("toy://a/x")));
    tick(&w, 1000);
    CHECK(c->n == 2 && told(c, 1, "", LIST("resources")));
    CHECK(mcp_session_set(f.session, 2, false, STR_NONE, STR("toy://a/x")) ==
          0 && f.session->log_level == 2);
    put(&w, "a");
    CHECK(c->n == 2);
    mcp_leave(f.session);
    CHECK(!mcp_listens(w.m));
    world_close(&w);
    who_free(c);
}

TEST(pipe_on_a_read_only_store)
{
    struct world w;
    struct who *c = who_new();
    struct mcp_session *s;
    struct mcp_change change = {STR("toy/a"), STR("\"v\":{}"), 7, false};

    open_beside(&w, &(struct world){.path = "/nowhere/log"}, true);
    s = mcp_join(w.m, &c->pipe);
    CHECK(mcp_session_set(s, -1, false, STR("toy://a"), STR_NONE) == 0);
    CHECK(mcp_session_set(s, -1, false, STR("other://a"), STR_NONE) == 0);
    mcp_changed(w.m, &change); /* a record that is not the newest */
    mcp_list_changed(w.m, MCP_LIST_TOOLS);
    s->initialized = true;
    mcp_list_changed(w.m, MCP_LIST_TOOLS);
    mcp_list_changed(w.m, MCP_LIST_PROMPTS); /* not declared */
    tick(&w, 1000);
    CHECK(c->n == 1 && told(c, 0, "", LIST("tools")));
    mcp_leave(s);
    s = mcp_session_new(w.m, &(struct mcp_facts){.principal = STR("ann")});
    CHECK(!mcp_session_stored(s));
    world_close(&w);
    who_free(c);
}

/* ---- ids ---- */

TEST(id_is_known_to_its_principal_in_every_process)
{
    struct world a, b;
    struct mcp_session *s;
    char id[MCP_ID_MAX], other[MCP_ID_MAX];
    size_t i;

    toys_open(&a);
    join(&a, "ann", id);
    join(&a, "ann", other);
    CHECK(strcmp(id, other) != 0 && strlen(id) >= 22);
    for (i = 0; id[i] != '\0'; i++)
        CHECK(id[i] > 0x20 && id[i] < 0x7f && id[i] != '.');
    open_beside(&b, &a, false);
    s = find(&b, id);
    CHECK(s != NULL && s->initialized && !s->sse && s->log_level == 6);
    CHECK(s != NULL && s->rev == MCP_2025_11_25 &&
          s->caps == MCP_ELICITATION);
    CHECK(find(&b, id) == s && b.m->n_sessions == 1);
    CHECK(find_as(&a, "bob", id) == NULL);
    CHECK(find_as(&b, "bob", other) == NULL);
    CHECK(b.m->n_sessions == 1);
    world_close(&b);
    world_close(&a);
}

TEST(forged_ids_are_not_found)
{
    struct world w;
    char id[MCP_ID_MAX], bad[MCP_ID_MAX + 40];
    size_t i, len;

    toys_open(&w);
    CHECK(find(&w, "") == NULL && find(&w, "x") == NULL);
    join(&w, "ann", id);
    len = strlen(id);
    for (i = 0; i < len; i++) {
        memcpy(bad, id, sizeof(id));
        bad[i] = bad[i] == 'A' ? 'B' : 'A';
        CHECK(find(&w, bad) == NULL);
        memcpy(bad, id, sizeof(id));
        bad[i] = '\0';
        CHECK(find(&w, bad) == NULL);
    }
    memset(bad, 'A', sizeof(bad));
    bad[sizeof(bad) - 1] = '\0';
    CHECK(find(&w, bad) == NULL);
    CHECK(w.m->n_sessions == 1);
    world_close(&w);
}

TEST(old_ids_are_not_found)
{
    struct world w;
    char id[MCP_ID_MAX];

    toys_open(&w);
    join(&w, "ann", id);
    ahead_ms += MCP_SESSION_AGE_MS - 5000;
    CHECK(find(&w, id) != NULL);
    ahead_ms += 10000;
    CHECK(find(&w, id) == NULL);
    restart(&w);
    CHECK(find(&w, id) == NULL);
    world_close(&w);
}

TEST(ids_of_another_use_or_shape_are_not_found)
{
    struct world w;
    struct buf b = {0};

    toys_open(&w);
    CHECK(sign_seal(w.sign, "state", STR("ann"),
                    STR("0123456789abcdef\0\3\0........"), &b) == 0);
    buf_char(&b, '\0');
    CHECK(find(&w, b.p) == NULL);
    b.len = 0;
    CHECK(sign_seal(w.sign, "session", STR("ann"),
                    STR("0123456789abcdef\0\3\0..."), &b) == 0);
    buf_char(&b, '\0');
    CHECK(find(&w, b.p) == NULL);
    b.len = 0;
    CHECK(sign_seal(w.sign, "session", STR("ann"), /* of a later revision */
                    STR("0123456789abcdef\0\4\0\0\0\0\0\0\0\0\0"), &b) == 0);
    buf_char(&b, '\0');
    CHECK(find(&w, b.p) == NULL && w.m->n_sessions == 0);
    buf_fini(&b);
    world_close(&w);
}

/* ---- records ---- */

TEST(what_was_set_survives_a_restart)
{
    struct world w;
    struct mcp_session *s;
    char id[MCP_ID_MAX];
    uint64_t first;

    toys_open(&w);
    join(&w, "ann", id);
    CHECK(subscribe(&w, id, "toy://a"));
    first = mcp_head(w.m);
    CHECK(subscribe(&w, id, "toy://\\\"b\\u00e9"));
    CHECK(ask(&w, id, "logging/setLevel", "level", "error"));
    CHECK(subscribe(&w, id, "toy://c") && unsubscribe(&w, id, "toy://c"));
    CHECK(unsubscribe(&w, id, "toy://never") && mcp_head(w.m) == 5);
    CHECK(subscribe(&w, id, "toy://a") && mcp_head(w.m) == 5);
    restart(&w);
    s = find(&w, id);
    CHECK(s != NULL && s->n == 5 && s->log_level == 3 && s->news.n_subs == 2);
    CHECK(s != NULL && strcmp(s->news.subs[0].uri, "toy://a") == 0 &&
          s->news.subs[0].since == first && first == 1);
    CHECK(s != NULL && strcmp(s->news.subs[1].uri, "toy://\"b\xc3\xa9") == 0 &&
          s->news.subs[1].since == 2);
    world_close(&w);
}

/* ---- who it is, to others ---- */

/* The mark of s; the last eight results stay valid. */
static struct str
mark_of(struct world *w, struct mcp_session *s)
{
    static char marks[8][64];
    static unsigned i;
    struct mcp_message m = {.m = w->m, .s = s};
    struct request r = {.m = &m};
    struct mcp_call c = {.arena = &w->a, .of = &r};
    struct str mark = mcp_session_mark(&c);

    i = (i + 1) % 8;
    snprintf(marks[i], sizeof(marks[i]), "%.*s", STR_ARG(mark));
    return mark.p != NULL ? str_of(marks[i]) : STR_NONE;
}

static enum sight
see(struct world *w, struct str mark)
{
    return mcp_see(w->m, mark);
}

TEST(a_session_is_known_by_its_mark)
{
    struct world a, b;
    struct mcp_session none = {.m = NULL}, pipe = {.local = true};
    struct str first, other, later, process;
    char id[MCP_ID_MAX], id2[MCP_ID_MAX];

    toys_open(&a);
    join(&a, "ann", id);
    join(&a, "ann", id2);
    CHECK(subscribe(&a, id, "toy://a")); /* now there is a lock file */
    first = mark_of(&a, find(&a, id));
    other = mark_of(&a, find(&a, id2));
    process = mark_of(&a, &pipe);
    CHECK(mark_of(&a, &none).p == NULL);
    CHECK(first.len > 17 && first.p[16] == '.' && process.p[10] == '.');
    CHECK(!mcp_session_is(first, other) && !mcp_session_is(first, process));
    /* Nothing is seen of who opens no stream. */
    CHECK(see(&a, first) == SIGHT_UNKNOWN && see(&a, other) == SIGHT_UNKNOWN);
    CHECK(see(&a, process) == SIGHT_ALIVE);
    /* Another process sees that this one lives, but not who is connected. */
    open_beside(&b, &a, false);
    CHECK(os_lock_is_by_process() || /* here both are in one process */
          (see(&b, first) == SIGHT_ALIVE && see(&b, process) == SIGHT_ALIVE));
    CHECK(mcp_see_process(b.s, process) == see(&b, process));
    CHECK(find(&b, id) != NULL && strcmp(find(&b, id)->client, "c") == 0);
    later = mark_of(&b, find(&b, id));
    CHECK(mcp_session_is(first, later) && !str_eq(first, later));
    world_close(&a);
    CHECK(see(&b, process) == SIGHT_GONE);
    /* The end of a server says nothing of its sessions. */
    CHECK(see(&b, first) == SIGHT_UNKNOWN && see(&b, other) == SIGHT_UNKNOWN);
    CHECK(end(&b, id) && see(&b, first) == SIGHT_GONE);
    CHECK(see(&b, STR("0123456789.x")) == SIGHT_UNKNOWN &&
          see(&b, STR("")) == SIGHT_UNKNOWN);
    /* Another process learns of the end by its record. */
    CHECK(mcp_see_process(b.s, first) == SIGHT_GONE);
    world_close(&b);
}

/* Over HTTP a client is seen while it has a stream, and is gone once it has
   deleted its session. */
TEST(a_client_that_leaves)
{
    struct world w;
    struct mcp_session *s;
    struct who *c = who_new();
    struct str mark, silent;
    char id[MCP_ID_MAX], id2[MCP_ID_MAX];

    toys_open(&w);
    join(&w, "ann", id);
    join(&w, "ann", id2);
    CHECK(subscribe(&w, id, "toy://a"));
    silent = mark_of(&w, find(&w, id2));
    s = stream(&w, id, NULL, c);
    mark = mark_of(&w, s);
    tick(&w, 20 * 60 * 1000);
    CHECK(see(&w, mark) == SIGHT_ALIVE && see(&w, silent) == SIGHT_UNKNOWN);
    CHECK(find(&w, id2) != NULL && see(&w, silent) == SIGHT_UNKNOWN);
    mcp_stream_close(s, &c->pipe);
    CHECK(see(&w, mark) == SIGHT_UNKNOWN); /* it may come back */
    CHECK(end(&w, id2) && see(&w, silent) == SIGHT_GONE);
    world_close(&w);
    who_free(c);
}

TEST(ended_stays_ended_everywhere)
{
    struct world a, b;
    char id[MCP_ID_MAX];
    struct who *c = who_new();

    toys_open(&a);
    join(&a, "ann", id);
    CHECK(subscribe(&a, id, "toy://a"));
    open_beside(&b, &a, false);
    stream(&b, id, NULL, c);
    tick(&b, 2000);
    who_forget(c);
    CHECK(end(&a, id) && find(&a, id) == NULL);
    CHECK(!end(&a, id) && a.status == MCP_NOT_FOUND);
    CHECK(find(&b, id) == NULL);
    CHECK(!subscribe(&b, id, "toy://b") && b.status == MCP_NOT_FOUND);
    put(&b, "a");
    tick(&b, 2000);
    CHECK(c->n == 0);
    restart(&a);
    CHECK(find(&a, id) == NULL);
    world_close(&b);
    world_close(&a);
    who_free(c);
}

/* If its record is not JSON, there is no telling whether it has ended: its
   client has to begin again. Others go on. */
TEST(a_record_that_is_not_json)
{
    struct world a;
    char id[MCP_ID_MAX], other[MCP_ID_MAX], key[MCP_ID_MAX + 16];

    toys_open(&a);
    join(&a, "ann", id);
    join(&a, "ann", other);
    CHECK(subscribe(&a, id, "toy://a") && subscribe(&a, other, "toy://a"));
    snprintf(key, sizeof(key), "session/%s", id);
    lock(&a);
    CHECK(store_stage(a.s, str_of(key),
                      STR("\"op\":\"set\",\"v\":{\"level\":6,\"subs\":[}")) ==
          0);
    CHECK(commit(&a) == 0);
    for (int i = 0; i < 2; i++) {
        CHECK(!subscribe(&a, id, "toy://b") && a.status == MCP_NOT_FOUND);
        CHECK(find(&a, id) == NULL && find(&a, other) != NULL);
        restart(&a);
    }
    CHECK(subscribe(&a, other, "toy://b"));
    world_close(&a);
}

TEST(one_turn_builds_on_itself_and_can_be_undone)
{
    struct world w;
    struct mcp_session *s;
    char id[MCP_ID_MAX];
    int i;

    toys_open(&w);
    join(&w, "ann", id);
    s = find(&w, id);
    put(&w, "a");
    for (i = 0; i < 2; i++) {
        lock(&w);
        CHECK(mcp_session_set(s, -1, false, STR("toy://a"), STR_NONE) == 0);
        CHECK(mcp_session_set(s, 1, false, STR("toy://b"), STR_NONE) == 0);
        CHECK(mcp_session_set(s, -1, false, STR("toy://b"), STR_NONE) == 0);
        CHECK(store_staged_n(w.s) == 2);
        CHECK(s->news.n_subs == 0 && s->n == 0 && s->log_level == 6);
        if (i == 0)
            fault_start(FAULT_WRITE, 0, true, ENOSPC);
        CHECK((commit(&w) == 0) == (i == 1));
        fault.on = false;
        if (i == 0) { /* run again, as serve does it */
            store_refuse(w.s, ERR_FULL);
            CHECK(mcp_session_set(s, 2, true, STR_NONE, STR_NONE) ==
                  ERR_FULL);
            store_refuse(w.s, 0);
            CHECK(s->news.n_subs == 0 && s->n == 0 && !s->ended);
            put(&w, "c"); /* takes the number that was undone */
        }
    }
    CHECK(s->n == mcp_head(w.m) && s->news.n_subs == 2 && s->log_level == 1);
    CHECK(w.m->n_subs == 2 && s->news.subs[1].since == s->n);
    world_close(&w);
}

TEST(limits_of_a_session)
{
    struct world w;
    struct mcp_session *s;
    char id[MCP_ID_MAX], uri[MCP_MAX_URI + 8];
    int i;

    toys_open(&w);
    join(&w, "ann", id);
    s = find(&w, id);
    memset(uri, 'x', sizeof(uri));
    memcpy(uri, "toy://", 6);
    lock(&w);
    CHECK(mcp_session_set(s, -1, false, (struct str){uri, MCP_MAX_URI + 1},
                          STR_NONE) == ERR_TOO_LARGE);
    CHECK(mcp_session_set(s, -1, false, (struct str){uri, MCP_MAX_URI},
                          STR_NONE) == 0);
    for (i = 1; i < MCP_MAX_SUBS; i++) {
        snprintf(uri, sizeof(uri), "toy://%03d", i);
        CHECK(mcp_session_set(s, -1, false, str_of(uri), STR_NONE) == 0);
    }
    CHECK(mcp_session_set(s, -1, false, STR("toy://x"), STR_NONE) ==
          ERR_TOO_LARGE);
    CHECK(commit(&w) == 0);
    CHECK(!subscribe(&w, id, "toy://x") && s->news.n_subs == MCP_MAX_SUBS);
    CHECK(unsubscribe(&w, id, s->news.subs[7].uri));
    CHECK(subscribe(&w, id, "toy://x"));
    world_close(&w);
}

/* A few long ones are too much as well, since a record is always written
   whole. */
TEST(records_of_sessions_are_small)
{
    struct world w;
    char id[MCP_ID_MAX], uri[MCP_MAX_URI + 1];
    int i, n = 0;

    toys_open(&w);
    join(&w, "ann", id);
    memset(uri, 'x', sizeof(uri));
    for (i = 0; i < 100; i++) {
        snprintf(uri, sizeof(uri), "toy://%03d", i);
        uri[9] = 'x';
        uri[1000] = '\0';
        n += subscribe(&w, id, uri);
    }
    CHECK(n > 16 && n < 40 && find(&w, id)->news.n_subs == (size_t)n);
    snprintf(uri, sizeof(uri), "%s", find(&w, id)->news.subs[3].uri);
    CHECK(unsubscribe(&w, id, uri) && subscribe(&w, id, uri));
    CHECK(ask(&w, id, "logging/setLevel", "level", "error"));
    CHECK(end(&w, id));
    world_close(&w);
}

TEST(no_change_makes_no_record)
{
    struct world w;
    char id[MCP_ID_MAX];

    toys_open(&w);
    join(&w, "ann", id);
    CHECK(ask(&w, id, "logging/setLevel", "level", "info"));
    CHECK(subscribe(&w, id, "other://a")); /* no record has such a key */
    CHECK(unsubscribe(&w, id, "other://a"));
    CHECK(mcp_head(w.m) == 0);
    CHECK(ask(&w, id, "logging/setLevel", "level", "error"));
    CHECK(ask(&w, id, "logging/setLevel", "level", "error"));
    CHECK(subscribe(&w, id, "toy://a") && subscribe(&w, id, "other://a"));
    CHECK(mcp_head(w.m) == 2 && find(&w, id)->news.n_subs == 1);
    world_close(&w);
}

TEST(without_a_writable_store_memory_has_it_all)
{
    struct world w, r;
    struct who *c = who_new();
    char old[MCP_ID_MAX], id[MCP_ID_MAX];

    toys_open(&w);
    join(&w, "ann", old);
    open_beside(&r, &w, true);
    CHECK(find(&r, old) == NULL); /* it ends there, but not here */
    join(&r, "ann", id);
    CHECK(subscribe(&r, id, "toy://a") && find(&r, id)->news.n_subs == 1);
    stream(&r, id, NULL, c);
    put(&w, "a");
    CHECK(follow(&r) == 0);
    CHECK(told(c, 0, "1.1", UPDATED("toy://a")));
    CHECK(end(&r, id) && find(&r, id) == NULL && !end(&r, id));
    CHECK(mcp_head(r.m) == 1);
    world_close(&r);
    world_close(&w);
    who_free(c);
}

/* ---- how many ---- */

TEST(sessions_leave_memory_and_come_back)
{
    struct world w;
    struct who *c = who_new();
    struct mcp_facts f = {.http = true};
    struct mcp_message *m;
    struct str ping = STR("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}");
    struct mcp_session *s;
    char first[MCP_ID_MAX], busy[MCP_ID_MAX], waits[MCP_ID_MAX],
        queued[MCP_ID_MAX], id[MCP_ID_MAX];
    int i;

    toys_open(&w);
    join(&w, "ann", queued);
    f = facts("ann", queued);
    CHECK(mcp_accept(w.m, &f, &ping, &m) == 0);
    join(&w, "ann", first);
    CHECK(subscribe(&w, first, "toy://a"));
    join(&w, "ann", busy);
    s = stream(&w, busy, NULL, c);
    join(&w, "ann", waits);
    find(&w, waits)->n_waiting = 1;
    for (i = 4; i < MCP_MAX_SESSIONS; i++)
        join(&w, "ann", id);
    CHECK(find(&w, first) != NULL); /* now the last used */
    for (i = 4; i < MCP_MAX_SESSIONS; i++)
        join(&w, "ann", id);
    CHECK(w.m->n_sessions == MCP_MAX_SESSIONS && w.m->n_subs == 1);
    join(&w, "ann", id); /* in place of first */
    CHECK(w.m->n_sessions == MCP_MAX_SESSIONS && w.m->n_subs == 0);
    CHECK(find(&w, busy) == s && find(&w, waits)->n_waiting == 1);
    CHECK(mcp_run(m, &w.out, &w.notes) == MCP_OK && m->s->n_queued == 1);
    s = find(&w, queued);
    CHECK(s == m->s);
    mcp_release(m);
    CHECK(s->n_queued == 0);
    s = find(&w, first);
    CHECK(s != NULL && s->revived && s->news.n_subs == 1);
    for (s = w.m->sessions; s != NULL; s = s->next)
        s->n_queued += !s->n_waiting; /* now none of them may go */
    CHECK(!try_join(&w, "ann", id));
    world_close(&w);
    who_free(c);
}

/* A caller that may only read writes nothing, but still has a session until
   that leaves memory. */
TEST(readers_write_nothing)
{
    struct world w;
    struct who *c = who_new();
    struct mcp_facts f = facts("ann", NULL);
    struct mcp_session *s;
    char id[MCP_ID_MAX], writer[MCP_ID_MAX], path[sizeof(w.path) + 8];
    int i;

    toys_open(&w);
    f.read_only = true;
    run(&w, &f, INIT, NULL);
    snprintf(id, sizeof(id), "%s", w.made);
    CHECK(strlen(id) == 32);
    f.session_id = str_of(id);
    for (i = 0; i < 2; i++) {
        CHECK(ask_by(&w, &f, "resources/subscribe", "uri", "toy://a"));
        CHECK(ask_by(&w, &f, "logging/setLevel", "level", "error"));
    }
    CHECK(mcp_stream_open(w.m, &f, STR_NONE, &c->pipe, &s) == 0);
    CHECK(s->news.n_subs == 1 && s->log_level == 3);
    CHECK(find(&w, id) == NULL); /* not even a writer's */
    CHECK(mcp_head(w.m) == 0);
    snprintf(path, sizeof(path), "%s.key", w.path);
    CHECK(access(path, F_OK) != 0);
    path[strlen(path) - 4] = '\0';
    CHECK(access(path, F_OK) != 0);
    put(&w, "a");
    CHECK(c->n > 0 && told(c, 0, "1.1", UPDATED("toy://a")));
    join(&w, "ann", writer);
    f.session_id = str_of(writer);
    CHECK(mcp_session_find(w.m, &f, f.session_id, &s) == ERR_NOT_FOUND);
    f.session_id = str_of(id);
    run(&w, &f, NULL, NULL);
    CHECK(w.status == MCP_OK && mcp_head(w.m) == 1);
    run(&w, &f, NULL, NULL);
    CHECK(w.status == MCP_NOT_FOUND);
    run(&w, &f, INIT, NULL);
    f.session_id = str_of(strcpy(id, w.made));
    CHECK(mcp_session_find(w.m, &f, f.session_id, &s) == 0);
    restart(&w);
    CHECK(mcp_session_find(w.m, &f, f.session_id, &s) == ERR_NOT_FOUND);
    f.session_id = str_of(writer);
    CHECK(mcp_session_find(w.m, &f, f.session_id, &s) == ERR_NOT_FOUND);
    CHECK(find(&w, writer) != NULL);
    world_close(&w);
    who_free(c);
}

/* Sessions that can come back from the log go first. */
TEST(readers_stay_longer)
{
    struct world w;
    struct mcp_facts f = facts("ann", NULL);
    struct mcp_session *s;
    char reader[MCP_ID_MAX], id[MCP_ID_MAX];
    int i;

    toys_open(&w);
    f.read_only = true;
    run(&w, &f, INIT, NULL);
    f.session_id = str_of(strcpy(reader, w.made));
    for (i = 0; i < MCP_MAX_SESSIONS; i++)
        join(&w, "ann", id);
    CHECK(mcp_session_find(w.m, &f, f.session_id, &s) == 0);
    f.session_id = STR_NONE;
    for (i = 0; i < MCP_MAX_SESSIONS; i++)
        run(&w, &f, INIT, NULL);
    f.session_id = str_of(reader);
    CHECK(w.made[0] != '\0' && w.m->n_sessions == MCP_MAX_SESSIONS);
    CHECK(mcp_session_find(w.m, &f, f.session_id, &s) == ERR_NOT_FOUND);
    world_close(&w);
}

/* However many sessions one caller begins, another loses none. */
TEST(sessions_are_shared_out)
{
    struct world w;
    struct mcp_facts ann = facts("ann", NULL), bob = facts("bob", NULL);
    struct mcp_session *s;
    char id[MCP_ID_MAX];
    int i;

    toys_open(&w);
    ann.read_only = bob.read_only = true;
    run(&w, &ann, INIT, NULL);
    ann.session_id = str_of(strcpy(id, w.made));
    for (i = 0; i < MCP_MAX_SESSIONS + 100; i++)
        run(&w, &bob, INIT, NULL);
    CHECK(w.made[0] != '\0' && w.m->n_sessions == MCP_MAX_SESSIONS);
    CHECK(mcp_session_find(w.m, &ann, ann.session_id, &s) == 0);
    world_close(&w);
}

/* A queued change is judged when it runs: it may undo one that is still
   queued. */
TEST(queued_changes_build_on_each_other)
{
    static const char *const texts[] = {
        "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"resources/subscribe\","
        "\"params\":{\"uri\":\"toy://a\"}}",
        "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"resources/unsubscribe\","
        "\"params\":{\"uri\":\"toy://a\"}}"};
    struct world w;
    struct mcp_message *m[2];
    struct mcp_facts f;
    struct str text;
    char id[MCP_ID_MAX];
    int i;

    toys_open(&w);
    join(&w, "ann", id);
    f = facts("ann", id);
    for (i = 0; i < 2; i++) {
        text = str_of(texts[i]);
        CHECK(mcp_accept(w.m, &f, &text, &m[i]) == 0);
    }
    lock(&w);
    for (i = 0; i < 2; i++) {
        CHECK(mcp_writes(m[i]));
        CHECK(mcp_run(m[i], &w.out, &w.notes) == MCP_OK);
        mcp_release(m[i]);
    }
    CHECK(commit(&w) == 0 && mcp_head(w.m) == 2);
    CHECK(find(&w, id)->news.n_subs == 0);
    CHECK(mcp_accept(w.m, &f, &text, &m[0]) == 0);
    CHECK(!mcp_writes(m[0])); /* nothing to do: nothing is queued before it */
    mcp_release(m[0]);
    world_close(&w);
}

TEST(listeners_are_small)
{
    CHECK(sizeof(struct mcp_session) <= 512);
    CHECK(sizeof(struct mcp_message) + sizeof(struct request) <= 2048);
}
