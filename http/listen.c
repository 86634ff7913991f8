/* listen - the socket that http.c accepts from.

   Addresses are numeric: a static binary has no resolver. It refuses to remove
   a file that is not a socket, or a socket that a process may still listen on.

   Invariants:
   1. A socket file never has a mode wider than 0600, from its first moment.
   2. On failure nothing stays open and no file stays behind. */

#include "http/listen.h"
#include "base/os.h"
#include "base/text.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#define BACKLOG 1024
#define KEEP_IDLE_S 60 /* of silence before TCP probes the client */
#define KEEP_PROBE_S 15  /* between two probes */
#define KEEP_PROBES 4    /* unanswered ones after which it has vanished */

union address {
    struct sockaddr sa;
    struct sockaddr_in in;
    struct sockaddr_in6 in6;
    struct sockaddr_un un;
    struct sockaddr_storage any;
};

bool
http_prepare_fd(int fd)
{
    return fcntl(fd, F_SETFD, FD_CLOEXEC) == 0 &&
           fcntl(fd, F_SETFL, O_NONBLOCK) == 0;
}

void
http_prepare_tcp(int fd)
{
    int on = 1;

    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    os_keep_alive(fd, KEEP_IDLE_S, KEEP_PROBE_S, KEEP_PROBES);
}

/* ---- names ---- */

socklen_t
http_tcp_address(struct sockaddr_storage *to, const char *host, uint16_t port)
{
    struct sockaddr_in *in = (void *)to;
    struct sockaddr_in6 *in6 = (void *)to;

    memset(to, 0, sizeof *to);
    if (inet_pton(AF_INET, host, &in->sin_addr) == 1) {
        in->sin_family = AF_INET;
        in->sin_port = htons(port);
        return sizeof *in;
    }
    if (inet_pton(AF_INET6, host, &in6->sin6_addr) == 1) {
        in6->sin6_family = AF_INET6;
        in6->sin6_port = htons(port);
        return sizeof *in6;
    }
    return 0;
}

/* Returns the length of the address in o, or 0 if it is not one we accept. */
static socklen_t
address_of(const struct http_options *o, union address *a)
{
    socklen_t len = sizeof *a;
    size_t n;

    memset(a, 0, sizeof *a);
    if (o->fd < 0 && o->unix_path == NULL)
        return http_tcp_address(&a->any, o->host, o->port);
    if (o->fd < 0) {
        n = strlen(o->unix_path);
        if (n == 0 || n >= sizeof a->un.sun_path)
            return 0;
        a->un.sun_family = AF_UNIX;
        memcpy(a->un.sun_path, o->unix_path, n + 1);
        return sizeof a->un;
    }
    if (getsockname(o->fd, &a->sa, &len) != 0)
        return 0;
    return a->sa.sa_family == AF_INET || a->sa.sa_family == AF_INET6 ||
           a->sa.sa_family == AF_UNIX ? len : 0;
}

bool
http_is_local(const struct http_options *o)
{
    union address a;

    if (o->also_fd > 0 &&
        !http_is_local(&(struct http_options){.fd = o->also_fd}))
        return false;
    if (address_of(o, &a) == 0 || a.sa.sa_family == AF_UNIX)
        return true;
    return a.sa.sa_family == AF_INET
               ? *(const uint8_t *)&a.in.sin_addr == 127
               : memcmp(&a.in6.sin6_addr, &in6addr_loopback,
                        sizeof a.in6.sin6_addr) == 0;
}

/* Formats the address fd is bound to, as clients write it in Host. */
static void
format_address(int fd, char out[HTTP_MAX_ADDRESS])
{
    union address a;
    socklen_t len = sizeof a;
    char host[INET6_ADDRSTRLEN] = "";

    memset(&a, 0, sizeof a);
    if (getsockname(fd, &a.sa, &len) != 0)
        return;
    if (a.sa.sa_family == AF_INET6) {
        inet_ntop(AF_INET6, &a.in6.sin6_addr, host, sizeof host);
        text_put(out, HTTP_MAX_ADDRESS, "[%s]:%u", host,
                 (unsigned)ntohs(a.in6.sin6_port));
    } else if (a.sa.sa_family == AF_INET) {
        inet_ntop(AF_INET, &a.in.sin_addr, host, sizeof host);
        text_put(out, HTTP_MAX_ADDRESS, "%s:%u", host,
                 (unsigned)ntohs(a.in.sin_port));
    } else {
        text_put(out, HTTP_MAX_ADDRESS, "unix:%.*s",
                 (int)sizeof a.un.sun_path, a.un.sun_path);
    }
}

/* ---- sockets ---- */

/* Removes a socket file that no process listens on. One that is busy counts as
   alive. */
static bool
clear_path(const union address *a)
{
    struct stat st;
    bool dead;
    int fd;

    if (lstat(a->un.sun_path, &st) != 0)
        return true; /* bind reports other errors */
    fd = S_ISSOCK(st.st_mode) ? socket(AF_UNIX, SOCK_STREAM, 0) : -1;
    dead = fd >= 0 && http_prepare_fd(fd) &&
           connect(fd, &a->sa, sizeof a->un) != 0 && errno == ECONNREFUSED;
    if (fd >= 0)
        close(fd);
    errno = EADDRINUSE;
    return dead && unlink(a->un.sun_path) == 0;
}

/* A new listening socket, or -1 with errno. */
static int
open_socket(const union address *a, socklen_t len)
{
    bool file = a->sa.sa_family == AF_UNIX, bound = false;
    int fd, why, on = 1;
    mode_t old;

    if (file && !clear_path(a))
        return -1;
    fd = socket(a->sa.sa_family, SOCK_STREAM, 0);
    if (fd < 0)
        return -1;
    if (http_prepare_fd(fd)) {
        if (!file)
            setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
        old = umask(0177); /* invariant 1 */
        bound = bind(fd, &a->sa, len) == 0;
        umask(old);
    }
    if (bound && listen(fd, BACKLOG) == 0)
        return fd;
    why = errno;
    if (bound && file)
        unlink(a->un.sun_path);
    close(fd);
    errno = why;
    return -1;
}

int
http_listen(const struct http_options *o, int *out,
            char address[HTTP_MAX_ADDRESS], char why[256])
{
    union address a;
    socklen_t len = address_of(o, &a), on_len = sizeof(int);
    int fd = o->fd, on = 0;

    if (fd >= 0) {
        text_put(why, 256, "descriptor %d: not a listening TCP or Unix socket",
                 fd);
        if (len == 0 ||
            getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &on, &on_len) != 0 ||
            !on || !http_prepare_fd(fd))
            return ERR_INVALID;
    } else {
        text_put(why, 256, o->unix_path != NULL
                 ? "%s: the path is empty or too long"
                 : "%s: not a numeric address such as 127.0.0.1",
                 o->unix_path != NULL ? o->unix_path : o->host);
        if (len == 0)
            return ERR_INVALID;
        fd = open_socket(&a, len);
    }
    if (fd < 0) {
        if (o->unix_path != NULL)
            text_put(why, 256, "%s: %s; choose another --unix", o->unix_path,
                     strerror(errno));
        else
            text_put(why, 256, "%s port %u: %s; choose another --host or "
                     "--port", o->host, (unsigned)o->port, strerror(errno));
        return ERR_IO;
    }
    format_address(fd, address);
    *out = fd;
    return 0;
}
