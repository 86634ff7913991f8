#ifndef TEST_CLIENT_H
#define TEST_CLIENT_H

/* An HTTP client over a raw socket, for the tests of the real binary: one
   request at a time, replies with a length or in chunks, events. */

#include "tests/lib/server.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <strings.h>
#include <sys/un.h>

/* Fields for each POST, and JSON-RPC messages. */
#define TYPES "Content-Type: application/json\r\n" \
    "Accept: application/json, text/event-stream\r\n"
#define RPC(id, method, params) \
    "{\"jsonrpc\":\"2.0\",\"id\":" #id ",\"method\":\"" method "\"," \
    "\"params\":" params "}"
#define META \
    "\"_meta\":{\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\"," \
    "\"io.modelcontextprotocol/clientInfo\":{\"name\":\"t\"," \
    "\"version\":\"1\"}," \
    "\"io.modelcontextprotocol/clientCapabilities\":{}}"

struct client {
    int fd;           /* -1: closed */
    struct text raw;  /* as received */
    size_t taken;     /* bytes of raw already used */
    bool chunked;
    bool ended;       /* the reply has ended */
    size_t left;      /* bytes of the chunk or body still to come */
    char *head;       /* of the last reply; "" if there is none */
    struct text body; /* received so far, without chunk framing */
    size_t seen;      /* bytes of body used by next_event */
    char event[256], id[1024]; /* of the last event */
    unsigned retry;
};

/* The next line of the server's stderr, without its end. */
static inline const char *
err_line(struct srv *s)
{
    static char line[512];
    size_t n = 0;

    while (n < sizeof(line) - 1 && can(s->err, POLLIN) &&
           read(s->err, line + n, 1) == 1 && line[n] != '\n')
        n++;
    line[n] = '\0';
    return line;
}

/* The server's address, from its first line "NAME: http://HOST:PORT" or "NAME:
   unix:PATH"; else "". */
static inline const char *
address_of(struct srv *s)
{
    const char *at = strchr(err_line(s), ' ');

    return at == NULL                              ? ""
           : strncmp(at, " http://", 8) == 0 ? at + 8
           : strncmp(at, " unix:", 6) == 0   ? at + 1
                                             : "";
}

static inline struct client
dial(const char *address)
{
    struct client c = {.fd = -1, .head = strdup("")};
    struct sockaddr_un un = {.sun_family = AF_UNIX};
    struct sockaddr_in in = {.sin_family = AF_INET};
    bool local = strncmp(address, "unix:", 5) == 0;

    add(&c.raw, "", 0);
    add(&c.body, "", 0);
    if (local)
        snprintf(un.sun_path, sizeof(un.sun_path), "%s", address + 5);
    else if (strrchr(address, ':') != NULL)
        in.sin_port = htons((uint16_t)atoi(strrchr(address, ':') + 1));
    in.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    c.fd = socket(local ? AF_UNIX : AF_INET, SOCK_STREAM, 0);
    fcntl(c.fd, F_SETFD, FD_CLOEXEC);
    if (connect(c.fd, local ? (void *)&un : (void *)&in,
                local ? sizeof(un) : sizeof(in)) != 0)
        shut(&c.fd);
    return c;
}

static inline void
hang_up(struct client *c)
{
    shut(&c->fd);
    free(c->raw.p);
    free(c->head);
    free(c->body.p);
    *c = (struct client){.fd = -1};
}

/* Reads once; false at the end of the connection or on a timeout. */
static inline bool
receive(struct client *c)
{
    char chunk[16384];
    ssize_t n;

    if (c->fd < 0 || !can(c->fd, POLLIN))
        return false;
    n = read(c->fd, chunk, sizeof(chunk));
    if (n > 0)
        add(&c->raw, chunk, (size_t)n);
    return n > 0;
}

static inline void
send_bytes(struct client *c, const char *p, size_t n)
{
    while (n > 0 && c->fd >= 0) {
        ssize_t done = send(c->fd, p, n, MSG_NOSIGNAL);

        if (done < 0)
            return;
        p += done;
        n -= (size_t)done;
    }
}

/* Sends a request. fields are lines ending with CRLF; unless they have a Host,
   it is localhost. body may be NULL. */
static inline void
ask(struct client *c, const char *method, const char *path,
    const char *fields, const char *body)
{
    struct text t = {0};
    size_t len = body != NULL ? strlen(body) : 0;

    addf(&t, "%s %s HTTP/1.1\r\n", method, path);
    if (strstr(fields, "Host:") == NULL)
        addf(&t, "Host: localhost\r\n");
    if (body != NULL)
        addf(&t, "Content-Length: %zu\r\n", len);
    add(&t, fields, strlen(fields));
    add(&t, "\r\n", 2);
    add(&t, body, len);
    send_bytes(c, t.p, t.len);
    free(t.p);
}

/* The value of a field of the head, up to the end of its line, or NULL. */
static inline const char *
field_of(const struct client *c, const char *name)
{
    static char value[1024];
    const char *at = c->head;
    size_t n = strlen(name);

    while ((at = strstr(at, "\r\n")) != NULL) {
        at += 2;
        if (strncasecmp(at, name, n) != 0 || at[n] != ':')
            continue;
        at += n + 1 + strspn(at + n + 1, " ");
        n = strcspn(at, "\r");
        snprintf(value, sizeof(value), "%.*s", (int)n, at);
        return value;
    }
    return NULL;
}

/* The next received line, without its end, or NULL. The caller frees it. */
static inline char *
raw_line(struct client *c, const char *end)
{
    char *at, *line;

    while ((at = strstr(c->raw.p + c->taken, end)) == NULL)
        if (!receive(c))
            return NULL;
    line = strndup(c->raw.p + c->taken,
                   (size_t)(at - c->raw.p) - c->taken);
    c->taken = (size_t)(at - c->raw.p) + strlen(end);
    return line;
}

/* Reads the head of the next reply. Returns its status; 0: no reply. */
static inline int
status_of(struct client *c)
{
    char *head = raw_line(c, "\r\n\r\n");
    const char *v;
    int status;

    free(c->head);
    c->head = head != NULL ? head : strdup("");
    c->body.len = c->seen = c->left = 0;
    c->body.p[0] = '\0';
    if (head == NULL || strncmp(head, "HTTP/1.1 ", 9) != 0)
        return 0;
    status = atoi(head + 9);
    v = field_of(c, "transfer-encoding");
    c->chunked = v != NULL && strcmp(v, "chunked") == 0;
    v = field_of(c, "content-length");
    if (v != NULL)
        c->left = (size_t)atol(v);
    c->ended = !c->chunked && c->left == 0;
    return status;
}

/* Reads more of the body; false at its end. */
static inline bool
more_body(struct client *c)
{
    size_t n;
    char *line;

    if (c->ended)
        return false;
    if (c->chunked && c->left == 0) {
        if ((line = raw_line(c, "\r\n")) == NULL)
            return false;
        c->left = strtoul(line, NULL, 16);
        free(line);
        c->ended = c->left == 0;
        if (c->ended)
            free(raw_line(c, "\r\n"));
        return !c->ended;
    }
    if (c->taken == c->raw.len && !receive(c))
        return false;
    n = c->raw.len - c->taken;
    n = n < c->left ? n : c->left;
    add(&c->body, c->raw.p + c->taken, n);
    c->taken += n;
    c->left -= n;
    if (c->left == 0 && c->chunked)
        free(raw_line(c, "\r\n"));
    c->ended = c->left == 0 && !c->chunked;
    return true;
}

/* Reads the next whole reply. Returns its status. */
static inline int
reply_of(struct client *c)
{
    int status = status_of(c);

    while (more_body(c))
        ;
    return status;
}

/* Sends a request and reads the whole reply. Returns its status. */
static inline int
fetch(struct client *c, const char *method, const char *path,
      const char *fields, const char *body)
{
    ask(c, method, path, fields, body);
    return strcmp(method, "HEAD") == 0 ? status_of(c) : reply_of(c);
}

/* The data of the next event; comments are skipped. The caller frees it. NULL:
   the stream ended first. */
static inline char *
next_event(struct client *c)
{
    struct text data = {0};
    bool any = false;

    add(&data, "", 0);
    c->event[0] = c->id[0] = '\0';
    c->retry = 0;
    for (;;) {
        char *at = c->body.p + c->seen, *lf = strchr(at, '\n');
        size_t n;

        if (lf == NULL) {
            if (more_body(c))
                continue;
            free(data.p);
            return NULL;
        }
        n = (size_t)(lf - at);
        c->seen += n + 1;
        if (n > 0 && at[n - 1] == '\r')
            n--;
        if (n == 0 && any)
            return data.p;
        any = any || (n > 0 && at[0] != ':');
        if (n >= 5 && strncmp(at, "data:", 5) == 0)
            add(&data, at + 5 + (at[5] == ' '),
                n - 5 - (at[5] == ' '));
        else if (n >= 3 && strncmp(at, "id:", 3) == 0)
            snprintf(c->id, sizeof(c->id), "%.*s",
                     (int)n - 3 - (at[3] == ' '), at + 3 + (at[3] == ' '));
        else if (n >= 6 && strncmp(at, "event:", 6) == 0)
            snprintf(c->event, sizeof(c->event), "%.*s",
                     (int)n - 6 - (at[6] == ' '), at + 6 + (at[6] == ' '));
        else if (n >= 6 && strncmp(at, "retry:", 6) == 0)
            c->retry = (unsigned)atoi(at + 6);
    }
}

/* Returns whether the next event contains what, ignoring events that contain
   skip. */
static inline bool
hears_past(struct client *c, const char *skip, const char *what)
{
    char *data;
    bool ok;

    while ((data = next_event(c)) != NULL && strstr(data, skip) != NULL)
        free(data);
    ok = data != NULL && has(data, what);
    free(data);
    return ok;
}

#endif
