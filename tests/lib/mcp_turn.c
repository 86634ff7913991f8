#include "tests/lib/mcp_turn.h"
#include "base/clock.h"

struct who ann, bob, neo;
char task_id[CALL_ID_LEN + 1] = "none";
struct job jobs[32];
size_t n_jobs;
bool box_refuses;

void
box_open_as(const struct mcp_catalogue *c, bool readonly)
{
    if (box.opt.alias == NULL)
        box.opt.alias = worker_alias;
    if (world_try(&box, c, readonly) != 0)
        abort();
    toy_store = box.s;
}

void
box_open(void)
{
    box_open_as(&toy_worker, false);
}

void
box_new(void)
{
    world_place(&box);
    box_open();
}

void
box_close(void)
{
    world_close(&box);
    arena_fini(&arena);
}

void
who_pipe(struct who *w, const char *principal, const char *rev)
{
    who_init(w, principal);
    w->s = mcp_join(box.m, &w->pipe);
    if (w->s == NULL)
        abort();
    w->s->initialized = true;
    w->s->rev = (enum mcp_rev)mcp_rev_of(str_of(rev));
    w->s->caps = MCP_ELICITATION;
}

struct str
bare_header(void *ctx, const char *name)
{
    (void)ctx;
    (void)name;
    return STR_NONE;
}

/* Whether text, with quotes, has the word ID at i. A random id may contain
   it. */
static bool
is_id(struct str text, size_t i)
{
    const char *p = text.p + i;

    return text.len - i > 2 && memcmp(p, "ID", 2) == 0 && i > 0 &&
           strchr("\".", p[-1]) != NULL && strchr("\".", p[2]) != NULL;
}

struct str
meant(const char *z)
{
    struct str text = quoted(z);
    struct buf b = {0};
    struct str s;
    long after = nomem_pause();
    size_t i;

    for (i = 0; i < text.len; i++) {
        if (is_id(text, i)) {
            buf_z(&b, task_id);
            i++;
        } else {
            buf_char(&b, text.p[i]);
        }
    }
    s = arena_str(&arena, buf_view(&b));
    buf_fini(&b);
    nomem_after = after;
    if (s.p == NULL)
        abort();
    return s;
}

void
post_text(struct who *w, struct str text)
{
    struct mcp_facts f = {.principal = str_of(w->principal),
                          .read_only = w->read_only};
    struct job *j = &jobs[n_jobs];

    if (w->id[0] != '\0') {
        f.http = true;
        f.header = bare_header;
        f.session_id = str_of(w->id);
    } else {
        f.session = w->s;
    }
    *j = (struct job){.w = w};
    if (mcp_accept(box.m, &f, &text, &j->m) == 0)
        n_jobs++;
}

void
post(struct who *w, const char *text)
{
    post_text(w, meant(text));
}

void
job_run(struct job *j, int refuse)
{
    j->out.len = j->notes.len = 0;
    j->out.err = j->notes.err = 0;
    store_refuse(box.s, refuse);
    j->status = mcp_run(j->m, &j->out, &j->notes);
    store_refuse(box.s, 0);
}

void
job_give(struct job *j)
{
    struct str told = buf_view(&j->notes);
    struct who *w = j->w;

    while (told.len > 0)
        who_hear(w, str_cut(&told, '\n'), STR_NONE, true);
    if (j->status == MCP_WAITS)
        mcp_keep(j->m, w->id[0] != '\0' ? &w->post : &w->pipe, w);
    else if (j->out.len > 0)
        who_hear(w, buf_view(&j->out), STR_NONE, true);
    if (mcp_made_session(j->m) != NULL)
        snprintf(w->id, sizeof(w->id), "%s", mcp_made_session(j->m));
    if (j->status != MCP_WAITS)
        mcp_release(j->m);
    buf_fini(&j->out);
    buf_fini(&j->notes);
}

void
turn_commit(size_t first)
{
    bool unknown;
    int err;

    mcp_run_marked(box.m);
    err = store_commit(box.s, &unknown);
    if (err != 0)
        mcp_undo_marked(box.m, false);
    for (; err != 0 && first < n_jobs; first++)
        job_run(&jobs[first], err);
    store_unlock(box.s);
}

void
turn(void)
{
    bool writes = mcp_marked_due_ms(box.m) <= clock_mono_ms();
    struct mcp_message *m;
    struct who *w;
    size_t i, first = SIZE_MAX;
    int err = 0;

    while (n_jobs < sizeof(jobs) / sizeof(*jobs) &&
           (w = mcp_next(box.m, clock_mono_ms(), &m)) != NULL)
        jobs[n_jobs++] = (struct job){.w = w, .m = m};
    for (i = 0; i < n_jobs; i++)
        writes |= mcp_writes(jobs[i].m);
    if (writes)
        err = box_refuses ? ERR_BUSY : store_lock_patiently(box.s);
    box_refuses = false;
    if (!writes || err != 0)
        store_follow(box.s);
    for (i = 0; i < n_jobs; i++) {
        size_t staged = store_staged_n(box.s);

        job_run(&jobs[i], err);
        if (store_staged_n(box.s) > staged && first == SIZE_MAX)
            first = i;
    }
    if (writes && err == 0)
        turn_commit(first);
    for (i = 0; i < n_jobs; i++)
        job_give(&jobs[i]);
    n_jobs = 0;
    mcp_end_turn(box.m);
    mcp_tick(box.m, clock_mono_ms());
    mcp_tick(box.m, clock_mono_ms() + 50); /* questions go out after a poll */
}

void
settle_all(void)
{
    int n;

    for (n = 0; n < 50; n++) {
        turn();
        if (mcp_due_ms(box.m) > clock_mono_ms() &&
            mcp_marked_due_ms(box.m) > clock_mono_ms())
            return;
    }
    CHECK(n < 50); /* it settled */
}

void
normalize(char *text)
{
    char *to = text;

    while (*text != '\0') {
        if (strncmp(text, task_id, CALL_ID_LEN) == 0) {
            memcpy(to, "ID", 2);
            to += 2;
            text += CALL_ID_LEN;
        } else if (strncmp(text, "\"20", 3) == 0 && strlen(text) > 25 &&
                   text[25] == '"' && text[24] == 'Z') {
            memcpy(to, "\"T\"", 3);
            to += 3;
            text += 26;
        } else {
            *to++ = *text++;
        }
    }
    *to = '\0';
}

const char *
next(struct who *w)
{
    if (w->read == w->n)
        return "";
    normalize(w->said[w->read]);
    return w->said[w->read++];
}

bool
is_next(struct who *w, const char *want)
{
    const char *got = next(w);
    struct str text = quoted(want);

    if (strlen(got) == text.len && memcmp(got, text.p, text.len) == 0)
        return true;
    fprintf(stderr, "want %.*s\ngot  %s\n", STR_ARG(text), got);
    return false;
}

bool
has(const char *got, const char *part)
{
    char want[1024];
    struct str text = quoted(part);

    snprintf(want, sizeof(want), "%.*s", STR_ARG(text));
    if (strstr(got, want) != NULL)
        return true;
    fprintf(stderr, "want ...%s...\ngot  %s\n", want, got);
    return false;
}

bool
text_has(const char *got, const char *part)
{
    char want[1024];
    size_t n = 0;

    for (; *part != '\0' && n < sizeof(want) - 3; part++) {
        if (*part == '\'')
            want[n++] = '\\';
        want[n++] = *part;
    }
    want[n] = '\0';
    return has(got, want);
}

bool
is_quiet(struct who *w)
{
    if (w->read == w->n)
        return true;
    fprintf(stderr, "told %s\n", w->said[w->read]);
    return false;
}

const char *
says(struct who *w, const char *text)
{
    who_forget(w);
    post(w, text);
    turn();
    if (w->n > 0)
        normalize(w->said[w->n - 1]);
    w->read = w->n;
    return w->n > 0 ? w->said[w->n - 1] : "";
}

const char *
makes(struct who *w, const char *text)
{
    char *at;

    who_forget(w);
    post(w, text);
    turn();
    at = w->n > 0 ? strstr(w->said[w->n - 1], "\"taskId\":\"") : NULL;
    if (!CHECK(at != NULL))
        fprintf(stderr, "got %s\n", w->n > 0 ? w->said[w->n - 1] : "nothing");
    if (at == NULL)
        return "";
    memcpy(task_id, at + 10, CALL_ID_LEN);
    normalize(w->said[w->n - 1]);
    w->read = w->n;
    return w->said[w->n - 1];
}

const char *
status_of(const char *id)
{
    struct arena a = {0};
    struct call k;
    const char *name = "none";

    if (calls_get(box.calls, &a, str_of(id), STR_NONE, &k) == 0)
        name = call_status_name(k.status);
    arena_fini(&a);
    return name;
}

bool
is_status(const char *want)
{
    if (strcmp(status_of(task_id), want) == 0)
        return true;
    fprintf(stderr, "status %s\n", status_of(task_id));
    return false;
}

int
stage_toy(const char *name, const char *body)
{
    char key[64] = "toy/";

    strncat(key, name, sizeof(key) - 5);
    return store_stage(box.s, str_of(key), quoted(body));
}

bool
lock_and_stage(const char *name, const char *body)
{
    return CHECK(store_lock_patiently(box.s) == 0) &&
           CHECK(stage_toy(name, body) == 0);
}

void
toy_comes(const char *name)
{
    if (!lock_and_stage(name, "'v':{}"))
        return;
    turn_commit(SIZE_MAX);
    mcp_tick(box.m, clock_mono_ms());
}
