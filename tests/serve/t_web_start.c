/* Starting: a rate, a Unix socket, sockets passed by the parent, the port in
   the environment, and what it refuses to start with. */

#include "tests/lib/web.h"

/* From the first request that is too many. */
TEST(a_rate)
{
    struct rig r = rig_new("--port 0 --rate 1");
    struct client c = dial(r.address);
    int i = 0, status;

    do {
        status = fetch(&c, "POST", "/mcp", MODERN("server/discover"),
                       RPC(1, "server/discover", "{" META "}"));
    } while (status == 200 && i++ < 1000);
    CHECK(status == 429 && has(c.body.p, "-32010"));
    CHECK(has(c.head, "Retry-After: 1"));
    CHECK(fetch(&c, "GET", "/health", "", NULL) == 200);
    CHECK(fetch(&c, "GET", "/ready", "", NULL) == 200);
    CHECK(fetch(&c, "GET", "/", "", NULL) == 200);
    CHECK(fetch(&c, "GET", "/mcp", STREAM, NULL) == 429);
    hang_up(&c);
    rig_end(&r);
}

TEST(a_unix_socket)
{
    char *dir = test_tmpdir(), options[512], path[400];
    struct rig r;
    struct client c;
    struct stat st;

    snprintf(path, sizeof(path), "%s/s", dir);
    snprintf(options, sizeof(options), "--unix %s", path);
    r = rig_new(options);
    CHECK(strcmp(r.address + 5, path) == 0);
    CHECK(stat(path, &st) == 0 && (st.st_mode & 0777) == 0600);
    c = dial(r.address);
    CHECK(fetch(&c, "GET", "/health", "Host: any.example.com\r\n", NULL) ==
          200);
    CHECK(posts(&c, TYPES, CREATE("a"), SAYS("seq", "1")));
    CHECK(fetch(&c, "GET", "/health", "Origin: http://evil.example.com\r\n",
                NULL) == 403);
    hang_up(&c);
    rig_end(&r);
    CHECK(stat(path, &st) != 0);
    free(dir);
}

static int
listen_on_loopback(void)
{
    struct sockaddr_in in = {.sin_family = AF_INET};
    int fd = socket(AF_INET, SOCK_STREAM, 0);

    fcntl(fd, F_SETFD, FD_CLOEXEC);
    in.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    CHECK(bind(fd, (void *)&in, sizeof(in)) == 0 && listen(fd, 16) == 0);
    return fd;
}

TEST(a_passed_socket)
{
    int fd = listen_on_loopback();
    struct rig r;
    struct client c;

    passed = fd;
    r = rig_new("--http");
    passed = -1;
    close(fd);
    c = dial(r.address);
    CHECK(posts(&c, TYPES, PING, "\"result\":{}"));
    hang_up(&c);
    rig_end(&r);
}

/* The same socket as a descriptor that passing others does not replace. */
static int
moved_up(int fd)
{
    int moved = fcntl(fd, F_DUPFD_CLOEXEC, 5);

    close(fd);
    return moved;
}

/* systemd passes the sockets of all units that start the service, in any order.
   Both are served, and the one of TCP is reported. */
TEST(two_passed_sockets)
{
    struct sockaddr_un un = {.sun_family = AF_UNIX};
    char *dir = test_tmpdir(), address[sizeof(un.sun_path)];

    snprintf(address, sizeof(address), "unix:%s/socket", dir);
    snprintf(un.sun_path, sizeof(un.sun_path), "%s", address + 5);
    for (int i = 0; i < 2; i++) {
        int tcp = moved_up(listen_on_loopback());
        int local = moved_up(socket(AF_UNIX, SOCK_STREAM, 0));
        struct client c;
        struct rig r;

        CHECK(bind(local, (void *)&un, sizeof(un)) == 0 &&
              listen(local, 16) == 0);
        passed = i == 0 ? tcp : local;
        passed_too = i == 0 ? local : tcp;
        r = rig_new("--http");
        passed = passed_too = -1;
        close(tcp);
        close(local);
        CHECK(strncmp(r.address, "127.0.0.1:", 10) == 0);
        c = dial(r.address);
        CHECK(posts(&c, TYPES, CREATE("a"), SAYS("seq", "1")));
        hang_up(&c);
        c = dial(address);
        CHECK(posts(&c, TYPES, UPDATE("a", "1"), SAYS("version", "2")));
        hang_up(&c);
        rig_end(&r);
        unlink(un.sun_path);
    }
    free(dir);
}

TEST(refuses_to_start)
{
    static const struct {
        const char *options, *said;
    } cases[] = {
        {"--http --host 0.0.0.0 --port 0", "--token-file"},
        {"--http --token-file /no/such/file", "/no/such/file"},
        {"--http --host example.com", "example.com"},
        {"--port 65536", "--port"},
        {"--http=1", "--http"},
        {"--unix s --port 1", "--unix"},
        {"--connections 0", "--connections"},
        {"--connections 65536", "--connections needs a number from 1 to"},
        {"--rate 1000001", "--rate needs a number from 0 to 1000000"},
        {"--http list", "command"},
    };
    size_t i;

    for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char *dir = test_tmpdir(), said[1024] = "";
        struct srv s = start(dir, cases[i].options, PLAIN);
        int code;

        CHECK(can(s.life, POLLIN) && can(s.err, POLLIN));
        CHECK(read(s.err, said, sizeof(said) - 1) > 0);
        CHECK(has(said, cases[i].said));
        code = ended(&s);
        CHECK(code == 2 || (i == 1 && code == 3));
        free(dir);
    }
}

/* It refuses to serve without tokens before it binds anything: the port is
   taken, so binding would fail. */
TEST(refuses_before_it_listens)
{
    static const char *const hosts[] = {"0.0.0.0", "::", "::ffff:127.0.0.1",
                                        "10.255.255.1"};
    struct sockaddr_in in;
    socklen_t len = sizeof(in);
    int fd = listen_on_loopback();
    size_t i;

    CHECK(getsockname(fd, (struct sockaddr *)&in, &len) == 0);
    for (i = 0; i < sizeof(hosts) / sizeof(hosts[0]); i++) {
        char *dir = test_tmpdir(), said[256] = "", options[64];
        struct srv s;

        snprintf(options, sizeof(options), "--host %s --port %u", hosts[i],
                 ntohs(in.sin_port));
        s = start(dir, options, PLAIN);
        CHECK(can(s.err, POLLIN) && read(s.err, said, sizeof(said) - 1) > 0);
        CHECK(has(said, "--token-file") && has(said, hosts[i]));
        CHECK(ended(&s) == 2);
        free(dir);
    }
    close(fd);
}

TEST(too_many_passed_sockets)
{
    int fd = listen_on_loopback();
    char *dir = test_tmpdir(), said[256] = "";
    struct srv s;

    passed = fd;
    setenv("LISTEN_FDS", "3", 1);
    s = start(dir, "--http", PLAIN);
    unsetenv("LISTEN_FDS");
    passed = -1;
    close(fd);
    CHECK(can(s.err, POLLIN) && read(s.err, said, sizeof(said) - 1) > 0);
    CHECK(has(said, "LISTEN_FDS"));
    CHECK(ended(&s) == 2);
    free(dir);
}

TEST(the_port_of_the_environment)
{
    char *dir = test_tmpdir(), said[256] = "";
    struct rig r;
    struct srv s;

    setenv("MCP_TASK_PORT", "0", 1);
    r = rig_new("--http");
    CHECK(once(&r, "GET", "/health", "", NULL) == 200);
    rig_end(&r);
    setenv("MCP_TASK_PORT", "http", 1);
    s = start(dir, "--http", PLAIN);
    unsetenv("MCP_TASK_PORT");
    CHECK(can(s.err, POLLIN) && read(s.err, said, sizeof(said) - 1) > 0);
    CHECK(has(said, "MCP_TASK_PORT"));
    CHECK(ended(&s) == 2);
    free(dir);
}

int
main(int argc, char **argv)
{
    if (!web_begin(argc, argv))
        return 2;
    test_run();
    return test_end("web_start");
}
