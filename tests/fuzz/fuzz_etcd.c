/* fuzz_etcd - any bytes as an answer of etcd's gateway, sent whole and again in
   parts, over a real connection to the client.

   What must hold:
   1. No input crashes, and nothing outside of it is read.
   2. However the answer comes, the result is the same: code, body, reason.
   3. A request that fails says why, and has no body. */

#include "etcd/client.h"
#include "base/clock.h"
#include "tests/fuzz/fuzz_words.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define REQUEST "{}"

static const char *const words[] = {
    "HTTP/1.1 200 OK\r\n", "HTTP/1.1 400 Bad Request\r\n", "HTTP/1.0 ",
    "HTTP/1.1 ", "\r\n", "\r\n\r\n", "Content-Length: ", "Content-Length: 2",
    "Transfer-Encoding: chunked\r\n\r\n", "Connection: close\r\n",
    "Date: Sun, 22 Nov 2026 17:56:29 GMT\r\n", "Date: ", "2\r\n{}\r\n",
    "0\r\n\r\n", "0\r\nGrpc-Trailer-Content-Type: application/grpc\r\n\r\n",
    "Trailer: Grpc-Trailer-Content-Type\r\n", "{}",
    "{\"code\":3,\"message\":\"",
    "{\"code\":8,\"message\":\"", "{\"code\":", "\"message\":\"", "\"}",
    "etcdserver: request is too large", "too many requests", "space exceeded",
    "user name is empty", "{\"token\":\"", "800000\r\n", "ffffffffffffffff",
    "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
};
static int door = -1;
static char endpoint[32];

static void
open_door(void)
{
    struct sockaddr_in in = {.sin_family = AF_INET};
    socklen_t len = sizeof(in);

    in.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    door = socket(AF_INET, SOCK_STREAM, 0);
    HOLDS(bind(door, (struct sockaddr *)&in, len) == 0);
    HOLDS(listen(door, 8) == 0);
    HOLDS(getsockname(door, (struct sockaddr *)&in, &len) == 0);
    snprintf(endpoint, sizeof(endpoint), "127.0.0.1:%u",
             (unsigned)ntohs(in.sin_port));
}

/* Reads the request: an answer that comes before it is not one. */
static void
take_request(int fd)
{
    char in[512];
    size_t len = 0;
    ssize_t n;

    do {
        n = recv(fd, in + len, sizeof(in) - 1 - len, 0);
        HOLDS(n > 0);
        len += (size_t)n;
        in[len] = '\0';
    } while (strstr(in, "\r\n\r\n" REQUEST) == NULL);
}

/* The descriptor that the client waits for; -1: it pauses, since it is asked to
   send the request again. */
static int
watched(const struct etcd *e)
{
    bool write;
    int64_t due;

    return etcd_watch(e, &write, &due);
}

/* Answers one request with the n bytes of text, and closes. */
static int
answer_with(struct etcd *e, size_t n, bool parts, struct etcd_answer *a)
{
    int rc, fd;
    size_t at = 0, size;

    HOLDS(etcd_begin_at(e, 0, "/v3/kv/txn", STR(REQUEST), 60000) == 0);
    rc = etcd_step(e, a);
    HOLDS(rc == ERR_PENDING);
    fd = accept(door, NULL, NULL);
    HOLDS(fd >= 0);
    while ((rc = etcd_step(e, a)) == ERR_PENDING &&
           recv(fd, &(char){0}, 1, MSG_PEEK | MSG_DONTWAIT) <= 0)
        ;
    take_request(fd);
    while (rc == ERR_PENDING && at < n && watched(e) >= 0) {
        size = parts ? random_part(n - at) : n;
        HOLDS(send(fd, text + at, size, MSG_NOSIGNAL) == (ssize_t)size);
        at += size;
        rc = etcd_step(e, a);
    }
    close(fd);
    while (rc == ERR_PENDING && watched(e) >= 0) {
        struct pollfd p = {.fd = watched(e), .events = POLLIN};

        poll(&p, 1, 100);
        rc = etcd_step(e, a);
    }
    etcd_cancel(e);
    return rc;
}

static void
check_answers(size_t n)
{
    struct etcd_options o = {.endpoints = str_of(endpoint)};
    struct etcd *e[2];
    struct etcd_answer a[2];
    char why[256];
    int rc[2];

    for (int i = 0; i < 2; i++) {
        HOLDS(etcd_new(&e[i], &o, why) == 0);
        rc[i] = answer_with(e[i], n, i > 0, &a[i]);
        HOLDS((rc[i] == 0 || rc[i] == ERR_PENDING) == (a[i].why[0] == '\0'));
        HOLDS(rc[i] == 0 ? *a[i].body.p == '{' : a[i].body.len == 0);
    }
    HOLDS(rc[0] == rc[1] && str_eq(a[0].body, a[1].body));
    HOLDS(strcmp(a[0].why, a[1].why) == 0);
    etcd_free(e[0]);
    etcd_free(e[1]);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    if (door < 0)
        open_door();
    check_answers(spell(words, sizeof(words) / sizeof(words[0]), data, n));
    return 0;
}
