#ifndef TEST_WEB_H
#define TEST_WEB_H

/* The real binary over HTTP, its path in argv[1] or MCPTASK: a server in its
   own directory, simple requests, and sessions. */

#include "tests/lib/client.h"

#define STREAM "Accept: text/event-stream\r\n"
#define HELLO \
    RPC(1, "initialize", "{\"protocolVersion\":\"2025-11-25\"," \
        "\"capabilities\":{\"elicitation\":{}}," \
        "\"clientInfo\":{\"name\":\"t\",\"version\":\"1\"}}")
#define INITIALIZED \
    "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}"
#define PING RPC(2, "ping", "{}")
#define CREATE(task) \
    RPC(3, "tools/call", "{\"name\":\"create_task\",\"arguments\":{" \
        "\"task_id\":\"" task "\",\"title\":\"x\"}}")
#define UPDATE(task, prio) \
    RPC(4, "tools/call", "{\"name\":\"update_task\",\"arguments\":{" \
        "\"task_id\":\"" task "\",\"priority\":" prio "}}")
#define SUBSCRIBE(task) \
    RPC(5, "resources/subscribe", "{\"uri\":\"task://" task "\"}")
#define MODERN(method) TYPES \
    "MCP-Protocol-Version: 2026-07-28\r\nMcp-Method: " method "\r\n"
#define UPDATED "notifications/resources/updated"
#define LIST_CHANGED "notifications/resources/list_changed"
/* In revisions without structuredContent it is JSON text. */
#define SAYS(name, value) "\\\"" name "\\\":" value

/* ---- a server ---- */

struct rig {
    char *dir;
    struct srv s;
    char address[256];
};

static inline void
rig_begin(struct rig *r, const char *options)
{
    r->s = start(r->dir, options, PLAIN);
    snprintf(r->address, sizeof(r->address), "%s", address_of(&r->s));
    CHECK(r->address[0] != '\0');
}

static inline struct rig
rig_new(const char *options)
{
    struct rig r = {.dir = test_tmpdir()};

    rig_begin(&r, options != NULL ? options : "--http --port 0");
    return r;
}

static inline void
rig_end(struct rig *r)
{
    kill(r->s.pid, SIGTERM);
    CHECK(ended(&r->s) == 0);
    free(r->dir);
}

/* Sends one request on a new connection. Returns the status. */
static inline int
once(const struct rig *r, const char *method, const char *path,
     const char *fields, const char *body)
{
    struct client c = dial(r->address);
    int status = fetch(&c, method, path, fields, body);

    hang_up(&c);
    return status;
}

static inline bool
posts(struct client *c, const char *fields, const char *body,
      const char *want)
{
    return fetch(c, "POST", "/mcp", fields, body) == 200 &&
           has(c->body.p, want);
}

/* Changes a task on a new connection. */
static inline void
change(const struct rig *r, const char *body)
{
    struct client c = dial(r->address);

    CHECK(posts(&c, TYPES, body, SAYS("seq", "")));
    hang_up(&c);
}

/* Returns whether the next event contains what, ignoring list_changed. */
static inline bool
hears(struct client *c, const char *what)
{
    return hears_past(c, strcmp(what, LIST_CHANGED) == 0 ? "\n" : LIST_CHANGED,
                      what);
}

/* ---- sessions ---- */

struct session {
    char fields[1024]; /* for each of its requests */
};

static inline struct session
session_new(struct client *c, const char *more)
{
    struct session s;
    char fields[256];

    snprintf(fields, sizeof(fields), "%s%s", TYPES, more);
    CHECK(posts(c, fields, HELLO, "\"protocolVersion\":\"2025-11-25\""));
    CHECK(field_of(c, "mcp-session-id") != NULL);
    snprintf(s.fields, sizeof(s.fields),
             "%sMcp-Session-Id: %.256s\r\n"
             "MCP-Protocol-Version: 2025-11-25\r\n",
             fields, field_of(c, "mcp-session-id"));
    CHECK(fetch(c, "POST", "/mcp", s.fields, INITIALIZED) == 202);
    CHECK(c->body.len == 0);
    return s;
}

/* Opens its stream, or resumes one; last may be NULL. */
static inline struct client
open_stream(const struct rig *r, const struct session *s, const char *last)
{
    struct client c = dial(r->address);
    char fields[3072];

    snprintf(fields, sizeof(fields), "%s%s%s%s", s->fields,
             last != NULL ? "Last-Event-ID: " : "", last != NULL ? last : "",
             last != NULL ? "\r\n" : "");
    ask(&c, "GET", "/mcp", fields, NULL);
    CHECK(status_of(&c) == 200);
    CHECK(has(c.head, "text/event-stream"));
    return c;
}

/* Opens its stream and reads the first event: its id is c.id. */
static inline struct client
stream_of(const struct rig *r, const struct session *s, const char *last)
{
    struct client c = open_stream(r, s, last);
    char *data = next_event(&c);

    CHECK(data != NULL && data[0] == '\0' && c.event[0] == '\0');
    CHECK(strlen(c.id) > 32 && c.retry == 2000);
    free(data);
    return c;
}

/* Returns whether there is something to read now. */
static inline bool
can_now(int fd)
{
    return poll(&(struct pollfd){.fd = fd, .events = POLLIN}, 1, 0) == 1;
}

/* ---- the program ---- */

static inline bool
web_begin(int argc, char **argv)
{
    binary = argc > 1 ? argv[1] : getenv("MCPTASK");
    if (binary == NULL) {
        fprintf(stderr, "usage: %s MCPTASK\n", argv[0]);
        return false;
    }
    signal(SIGPIPE, SIG_IGN);
    while (open("/dev/null", O_RDWR | O_CLOEXEC) < 3)
        ; /* descriptor 3 is for a passed socket */
    return true;
}

#endif
