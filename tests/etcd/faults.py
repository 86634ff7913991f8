#!/usr/bin/env python3
"""What hosts that share a store do when etcd fails them, one fault after the
other: no majority, an older backup, lost and damaged replicas, a wrong clock,
passwords, TLS, no room; and what begins on one host and ends on another.

Usage: faults.py MCPTASK [SCENE...]. Exit code 77: etcd is not installed."""

import concurrent.futures
import datetime
import email.utils
import glob
import http.client
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import traceback

from hosts import Cluster, Node, Server, free_ports, result_in, is_missing

PATIENCE = 5  # seconds that a request to etcd may take
SLACK = 10    # for a loaded machine
LONG = 60    # what must happen at some time has not


class Failed(Exception):
    pass


def check(so, what, *more):
    if not so:
        raise Failed(" ".join([what, *(f"[{m}]" for m in more)]))


def until(done, what):
    """Tries again and again; each try asks a server or etcd, so none spins."""
    end = time.monotonic() + LONG
    while not (got := done()):
        check(time.monotonic() < end, f"never: {what}")
        time.sleep(0.05)
    return got


class Host:
    """A host: a directory, and how it reaches etcd."""

    def __init__(self, scene, name, endpoints, prefix="faults/main", auth=None,
                 options=()):
        self.words, self.name = [scene.mcptask, *options], name
        self.dir = f"{scene.work}/{name}"
        self.log = self.dir + "/tasks.log"
        self.env = {"MCP_TASK_BASE_DIR": self.dir,
                    "MCP_TASK_STORE": f"etcd://{endpoints}/{prefix}"}
        os.makedirs(self.dir, exist_ok=True)
        if auth is not None:
            path = self.dir + "/auth"
            with open(os.open(path, os.O_WRONLY | os.O_CREAT, 0o600),
                      "w", encoding="ascii") as f:
                f.write(auth + "\n")
            self.env["MCP_TASK_STORE_AUTH"] = path
        self.scene = scene

    def run(self, *words, **env):
        """Runs a command there."""
        return subprocess.run(
            [*self.words, *words], env={**os.environ, **self.env, **env},
            capture_output=True, text=True, check=False, timeout=LONG)

    def good(self, *words, **env):
        """The output of a command that succeeds without a warning."""
        got = self.run(*words, **env)
        check(got.returncode == 0 and not got.stderr, f"{self.name}: {words}",
              got.returncode, got.stdout, got.stderr)
        return got.stdout

    def add(self, *tasks):
        for task in tasks:
            self.good("add", task, "--id", task)

    def ids(self):
        return sorted(json.loads(line)["task_id"]
                      for line in self.good("export").splitlines())

    def lines(self):
        """The records, without what belongs to a file."""
        with open(self.log, encoding="utf-8") as f:
            return [re.sub(r'"c":"[^"]*","g":[0-9]*,', "", line)
                    for line in f][1:]

    def left(self, what):
        return glob.glob(f"{self.log}.{what}-*")

    def serve(self):
        """A server, whose stderr is in err."""
        server = Server(self.name)
        self.scene.servers.append(server)
        self.err = f"{self.scene.work}/{self.name}.err"
        with open(self.err, "w", encoding="utf-8") as err:
            server.start(self.words, self.env, err)
        return server

    def said(self):
        with open(self.err, encoding="utf-8") as f:
            return f.read()


class Scene:
    def __init__(self, mcptask):
        self.mcptask = os.path.realpath(mcptask)
        self.work = tempfile.mkdtemp()
        self.servers, self.clusters, self.processes = [], [], []

    def cluster(self, n, *flags):
        self.clusters.append(Cluster(n, *flags))
        self.clusters[-1].start()
        return self.clusters[-1]

    def process(self, *command, **options):
        self.processes.append(subprocess.Popen(
            command, stdin=subprocess.DEVNULL, **options))
        return self.processes[-1]

    def alike(self, *hosts):
        """All have the same tasks and records, and no damage."""
        first = hosts[0].ids()
        for host in hosts:
            check(host.ids() == first, f"{host.name} has others", host.ids(),
                  first)
            host.good("verify")
        for host in hosts:
            check(host.lines() == hosts[0].lines(),
                  f"{host.name} has other records")
        return first

    def end(self):
        for server in self.servers:
            server.stop()
        for cluster in self.clusters:
            cluster.kill()
            shutil.rmtree(cluster.work, ignore_errors=True)
        for process in self.processes:
            process.kill()
            process.wait()
        shutil.rmtree(self.work, ignore_errors=True)


def code(said):
    return said.get("code")


# ---- without a majority ----

def refuses(host, server, task, what):
    """What a server of the host does when no majority answers."""
    began = time.monotonic()
    ok, said, _ = server.call("create_task", task_id=task, title=task,
                              idempotency_key=task)
    took = time.monotonic() - began
    check(ok is False and code(said) in ("store_unreachable", "store_error"),
          f"{what}: a write without a majority", said)
    check(took < PATIENCE + SLACK, f"{what}: it took {took:.1f} s")
    began = time.monotonic()
    for i in range(50): # 50 s at least, if each made an attempt
        ok, said, _ = server.call("create_task", task_id=f"no-{i}", title="no")
        check(ok is False and code(said) == "store_unreachable",
              f"{what}: the next write", said)
    took = time.monotonic() - began
    check(took < PATIENCE + SLACK, f"{what}: the next took {took:.1f} s")
    ok, said, stale = server.call("get_task", task_id="before")
    check(ok and stale, f"{what}: a read is not flagged", said)
    ok, said, stale = server.call("list_tasks")
    check(ok and stale and "before" in json.dumps(said) and
          "no answer" in said.get("store_stale", ""),
          f"{what}: a list is not flagged", said)


def no_majority(scene):
    cluster = scene.cluster(3)
    a, b = (Host(scene, name, cluster.urls(i)) for i, name in enumerate("ab"))
    a.add("before")
    server, other = a.serve(), b.serve()
    for what, stop, go in (
            ("stopped", lambda n: n.process.send_signal(signal.SIGSTOP),
             lambda n: n.process.send_signal(signal.SIGCONT)),
            ("killed", Node.kill, Node.start)):
        ok, _, stale = server.call("get_task", task_id="before")
        check(ok and not stale, f"{what}: stale too early")
        for node in cluster.nodes[1:]:
            stop(node)
        refuses(a, server, what, what)
        if what == "killed":
            got = a.run("list")
            check("before" in got.stdout and "may be missing" in got.stderr,
                  "a command without a majority", got.stdout, got.stderr)
            check(a.run("health").returncode == 3, "health is good")
            got = a.run("doctor")
            check("most nodes of etcd must run" in got.stdout,
                  "doctor without a majority", got.stdout)
        for node in cluster.nodes[1:]:
            go(node)
        until(lambda: not server.call("get_task", task_id="before")[2],
              f"{what}: reads are fresh again")
        # It may have taken effect by now; the key says so.
        until(lambda: server.call("create_task", task_id=what, title=what,
                                  idempotency_key=what)[0],
              f"{what}: writes work again")
        until(lambda: other.call("get_task", task_id=what)[0],
              f"{what}: the other host has caught up")
    check(scene.alike(a, b) == ["before", "killed", "stopped"],
          "what was refused is there", a.ids())


# ---- replicas ----

def lost_replica(scene, host, others):
    """The directory is removed beneath a server, and without one."""
    server = host.serve()
    ids = others[0].ids()
    check(server.call("get_task", task_id=ids[0])[0], "a server")
    shutil.rmtree(host.dir)
    ok, said, _ = server.call("create_task", task_id="wiped", title="wiped")
    check(ok, "a write after a wipe", said)
    for task in ids:
        check(server.call("get_task", task_id=task)[0], f"{task} is lost")
    server.stop()
    server.process.wait()
    scene.alike(*others, host)
    shutil.rmtree(host.dir)
    check(scene.alike(host, *others) == sorted([*ids, "wiped"]), "a wipe")


def damaged_replica(scene, host, others):
    ids = others[0].ids()
    with open(host.log, "r+b") as f:
        text = f.read()
        f.seek(text.index(b'"before"'))
        f.write(b'"BEFORE"')
    got = host.run("list")
    check(got.returncode == 0 and "before" in got.stdout, "a damaged replica",
          got.stdout, got.stderr)
    check(len(host.left("broken")) == 1, "the damaged log is not kept",
          os.listdir(host.dir))
    with open(host.left("broken")[0], "rb") as f:
        check(b'"BEFORE"' in f.read(), "what is kept is not the damaged log")
    check(scene.alike(host, *others) == ids, "damage changed the tasks")


def replicas(scene):
    cluster = scene.cluster(3)
    a, b, c = (Host(scene, name, cluster.urls(i))
               for i, name in enumerate("abc"))
    a.add("before", "then")
    b.add("after")
    scene.alike(a, b, c)
    lost_replica(scene, c, [a, b])
    damaged_replica(scene, b, [a, c])
    a.good("compact")
    check('"snap"' in cluster.nodes[0].ctl("get", "faults/main/meta").stdout,
          "compact puts no snapshot into etcd")
    shutil.rmtree(c.dir)
    check(c.ids() == a.ids(), "a snapshot lacks something", c.ids())
    check(not a.left("broken") and not c.left("diverged"), "others lost")


# ---- etcd restored from a backup ----

def restore(cluster, file):
    """Replaces the nodes' data with a snapshot, as an operator does."""
    cluster.kill()
    for node in cluster.nodes:
        shutil.rmtree(node.dir)
        got = node.ctl("snapshot", "restore", file, "--name", f"n{node.i}",
                       "--data-dir", node.dir,
                       "--initial-advertise-peer-urls", node.peer,
                       *node.cluster)
        check(got.returncode == 0, "etcdctl snapshot restore", got.stderr)
    cluster.start()


def set_aside(host, text, tasks):
    """The host says where it has kept a replica, and that has the tasks."""
    kept = host.left("diverged")
    check(len(kept) == 1 and kept[0] in text, f"{host.name} keeps nothing",
          text, os.listdir(host.dir))
    got = host.good("export", MCP_TASK_DB_PATH=kept[0], MCP_TASK_STORE="")
    for task in tasks:
        check(f'"{task}"' in got, f"{kept[0]} lacks {task}")


def older_backup(scene):
    cluster = scene.cluster(3)
    a, b, c, d = (Host(scene, name, cluster.urls(i % 3))
                  for i, name in enumerate("abcd"))
    a.add("one", "two")
    check(scene.alike(a, b, c, d) == ["one", "two"], "a store")
    file = scene.work + "/backup"
    got = cluster.nodes[0].ctl("snapshot", "save", file)
    check(got.returncode == 0, "etcdctl snapshot save", got.stderr)
    a.add("three", "four")
    b.ids()
    a.add("five")
    server = a.serve()
    check(server.call("get_task", task_id="five")[0], "a server")
    c_server = c.serve()
    check(c_server.call("get_task", task_id="five")[0], "another server")
    c_server.stop()
    c_server.process.wait()
    restore(cluster, file)
    # It has more than etcd.
    got = b.run("list")
    check(got.returncode == 0 and "three" not in got.stdout, "host b",
          got.stdout, got.stderr)
    set_aside(b, got.stderr, ["three", "four"])
    # It is a prefix, and goes on, past the numbers that others have.
    d.add("six", "seven", "eight", "nine")
    check(not d.left("diverged"), "a prefix was set aside")
    # They have as many records, but others.
    until(lambda: server.call("get_task", task_id="nine")[0],
          "a server goes on with a restored etcd")
    said = server.call("get_task", task_id="five")[1]
    check(code(said) == "not_found", "what is gone from etcd is in memory",
          said)
    set_aside(a, a.said(), ["three", "four", "five"])
    server.stop()
    server.process.wait()
    got = c.run("add", "ten", "--id", "ten")
    check(got.returncode == 0, "a write on host c", got.stderr)
    set_aside(c, got.stderr, ["three", "four", "five"])
    check(scene.alike(a, b, c, d) ==
          sorted(["one", "two", "six", "seven", "eight", "nine", "ten"]),
          "after a backup", a.ids())


# ---- passwords ----

def passwords(scene):
    cluster = scene.cluster(1)
    node, at = cluster.nodes[0], cluster.urls()
    right = Host(scene, "right", at, auth="mcptask:secret")
    wrong = Host(scene, "wrong", at, auth="mcptask:guess")
    absent = Host(scene, "absent", at)
    reader = Host(scene, "reader", at, auth="reader:look",
                  options=["--read-only"])
    beyond = Host(scene, "beyond", at, prefix="other/main",
                  auth="mcptask:secret")
    right.add("before")
    server = right.serve()
    check(server.call("get_task", task_id="before")[0], "a server")
    for words in (["user", "add", "root:root"],
                  ["user", "add", "mcptask:secret"],
                  ["role", "add", "mcptask"],
                  ["role", "grant-permission", "mcptask", "--prefix=true",
                   "readwrite", "faults/"],
                  ["user", "add", "reader:look"],
                  ["role", "add", "reader"],
                  ["role", "grant-permission", "reader", "--prefix=true",
                   "read", "faults/"],
                  ["user", "grant-role", "reader", "reader"],
                  ["user", "grant-role", "root", "root"],
                  ["user", "grant-role", "mcptask", "mcptask"],
                  ["auth", "enable"]):
        got = node.ctl(*words)
        check(got.returncode == 0, " ".join(words), got.stderr)
    ok, said, _ = server.call("create_task", task_id="after", title="after")
    check(ok, "a server when passwords begin to be asked for", said)
    right.add("then")
    # --read-only needs no user who may write.
    check(reader.ids() == right.ids(), "a user who may only read", reader.ids())
    got = reader.run("add", "x", "--id", "x")
    check(got.returncode == 3 and "reading only" in got.stderr,
          "--read-only add", got.returncode, got.stderr)
    got = reader.run("doctor")
    check(got.returncode == 0, "--read-only doctor", got.stdout)
    follower = reader.serve()
    right.add("while-it-serves")
    ok, said, _ = follower.call("get_task", task_id="while-it-serves")
    check(ok, "--read-only serves what others add", said)
    for host, text in ((wrong, "password"), (absent, "user name is empty"),
                       (beyond, "permission denied")):
        for words in (["add", "x", "--id", "x"], ["health"], ["doctor"]):
            got = host.run(*words)
            check(got.returncode != 0 and text in got.stdout + got.stderr,
                  f"{host.name}: {words}", got.returncode, got.stdout,
                  got.stderr)
        ok, said, _ = host.serve().call("create_task", task_id="x", title="x")
        check(ok is False and code(said) == "store_readonly",
              f"{host.name}: a write", said)
    # The password is corrected.
    wrong.env["MCP_TASK_STORE_AUTH"] = right.env["MCP_TASK_STORE_AUTH"]
    check(scene.alike(right, wrong) == ["after", "before", "then", "while-it-serves"],
          "with a password", right.ids())


# ---- TLS ----

SERVICE = """[{name}]
client = {client}
accept = 127.0.0.1:{accept}
connect = {connect}
cert = {cert}
CAfile = {trusted}
verifyChain = yes
"""


def certificate(scene, name):
    """The path of a certificate with its key; that with .crt has it alone."""
    path = f"{scene.work}/{name}.pem"
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt",
         "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2", "-subj",
         f"/CN={name}", "-addext", "subjectAltName=IP:127.0.0.1", "-keyout",
         path + ".key", "-out", path + ".crt"],
        check=True, capture_output=True)
    with open(path, "w", encoding="ascii") as out:
        for part in ".crt", ".key":
            with open(path + part, encoding="ascii") as f:
                out.write(f.read())
    return path


def stunnel(scene, *services):
    """Runs stunnel with (name, client, accept, connect, cert, trusted)."""
    conf = f"{scene.work}/stunnel-{services[0][2]}.conf"
    with open(conf, "w", encoding="ascii") as f:
        f.write("foreground = yes\npid =\ndebug = 3\n")
        for name, client, accept, to, cert, trusted in services:
            f.write(SERVICE.format(name=name, client=client, accept=accept,
                                   connect=to, cert=cert, trusted=trusted))
    scene.process(shutil.which("stunnel") or shutil.which("stunnel4"), conf,
                  stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def lacks_tls():
    for name in "stunnel4", "openssl":
        if not shutil.which(name):
            return name + " is not installed"
    return None


def tls(scene):
    if said := lacks_tls():
        return said
    cluster = scene.cluster(1)
    ours, alien = certificate(scene, "ours"), certificate(scene, "alien")
    secret, here, there = free_ports(3)
    node = f"127.0.0.1:{secret}"
    stunnel(scene, ("node", "no", secret, cluster.urls(), ours, ours),
            ("host", "yes", here, node, ours, ours),
            ("stranger", "yes", there, node, alien, ours))
    host = Host(scene, "host", f"127.0.0.1:{here}")
    until(lambda: host.run("health").returncode == 0, "stunnel begins")
    host.add("by-tls")
    plain = Host(scene, "plain", cluster.urls())
    check(scene.alike(host, plain) == ["by-tls"], "by TLS")
    for name, port in (("stranger", there), ("unencrypted", secret)):
        got = Host(scene, name, f"127.0.0.1:{port}",
                   "faults/main?patience=500").run("add", "x", "--id", "x")
        check(got.returncode != 0 and "x" not in plain.ids(), name, got.stdout)
    return None


def kubeadm(scene):
    """etcd as kubeadm runs it: TLS only, and for those with a certificate."""
    if said := lacks_tls():
        return said
    cluster, ours = Cluster(1), certificate(scene, "ours")
    scene.clusters.append(cluster)
    node, = cluster.nodes
    node.flags = ("--listen-client-urls", "https://" + node.url,
                  "--advertise-client-urls", "https://" + node.url,
                  "--cert-file", ours, "--key-file", ours,
                  "--trusted-ca-file", ours + ".crt", "--client-cert-auth=true",
                  "--snapshot-count=10000")
    node.start()
    here, there = free_ports(2)
    alien = certificate(scene, "alien")
    stunnel(scene, ("host", "yes", here, node.url, ours, ours),
            ("stranger", "yes", there, node.url, alien, ours))
    host = Host(scene, "host", f"127.0.0.1:{here}")
    until(lambda: host.run("health").returncode == 0, "etcd begins")
    server = host.serve()
    ok, said, _ = server.call("create_task", task_id="one", title="one")
    check(ok, "a server by TLS", said)
    check(host.ids() == ["one"], "a task by TLS")
    for name, at in ("stranger", f"127.0.0.1:{there}"), ("plain", node.url):
        got = Host(scene, name, at, "faults/main?patience=500").run("add", "x")
        check(got.returncode != 0 and host.ids() == ["one"], name, got.stdout)
    return None


# ---- no room ----

def no_room(scene):
    cluster = scene.cluster(1, "--quota-backend-bytes", str(4 << 20))
    node = cluster.nodes[0]
    a, b = (Host(scene, name, cluster.urls()) for name in "ab")
    a.add("before")
    server = a.serve()
    check(server.call("get_task", task_id="before")[0], "a server")
    while (got := node.ctl("put", "junk", "x" * 100000)).returncode == 0:
        pass
    check("space exceeded" in got.stderr, "etcd is not full", got.stderr)
    ok, said, _ = server.call("create_task", task_id="no", title="no")
    check(ok is False and code(said) == "store_full", "a write without room",
          said)
    got = b.run("add", "no")
    check(got.returncode != 0 and "space exceeded" in got.stderr,
          "a command without room", got.stdout, got.stderr)
    for _ in range(3):
        ok, said, stale = server.call("get_task", task_id="before")
        check(ok and not stale, "a read without room", said)
    check(b.ids() == ["before"], "a new replica without room", b.ids())
    for words, text in (["health"], "space exceeded"), \
                       (["doctor"], "alarm disarm"):
        got = a.run(*words)
        check(got.returncode != 0 and text in got.stdout + got.stderr,
              f"{words} without room", got.returncode, got.stdout, got.stderr)
    status = json.loads(node.ctl("endpoint", "status", "-w", "json").stdout)
    revision = status[0]["Status"]["header"]["revision"]
    for words in (["compact", str(revision)], ["defrag"], ["alarm", "disarm"]):
        got = node.ctl(*words)
        check(got.returncode == 0, " ".join(words), got.stderr)
    ok, said, _ = server.call("create_task", task_id="after", title="after")
    check(ok, "a write when there is room again", said)
    b.add("then")
    check(scene.alike(a, b) == ["after", "before", "then"], "with room")


# ---- a wrong clock ----

class Proxy:
    """Passes bytes on; dates in answers get another hour."""

    def __init__(self, url):
        host, port = url.split(":")
        self.to, self.wrong = (host, int(port)), True
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.url = "127.0.0.1:%d" % self.listener.getsockname()[1]
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while True:
            try:
                client, _ = self.listener.accept()
                node = socket.create_connection(self.to)
            except OSError:
                return
            for source, sink, change in ((client, node, False),
                                         (node, client, True)):
                threading.Thread(target=self.carry, daemon=True,
                                 args=(source, sink, change)).start()

    def later(self, match):
        at = email.utils.parsedate_to_datetime(match[0].decode())
        at += datetime.timedelta(hours=1)
        return (email.utils.format_datetime(at, usegmt=True).encode()
                if self.wrong else match[0])

    def carry(self, source, sink, change):
        try:
            while data := source.recv(1 << 16):
                if change: # a head comes in one piece
                    data = re.sub(rb"(?<=\nDate: )[^\r]+", self.later, data)
                sink.sendall(data)
        except OSError:
            pass
        for s in (source, sink):
            try:
                s.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass


def wrong_clock(scene):
    cluster = scene.cluster(3)
    proxies = [Proxy(node.url) for node in cluster.nodes]
    good = Host(scene, "good", cluster.urls())
    bad = Host(scene, "bad", ",".join(p.url for p in proxies))
    good.add("before")
    mixed = Host(scene, "mixed", ",".join(
        [proxies[0].url] + [node.url for node in cluster.nodes[1:]]))
    got = mixed.run("doctor").stdout # of one node only
    check(len(re.findall(r"(?m)^problem +node .*this host's", got)) == 1
          and len(re.findall(r"(?m)^ok +node .*: etcd 3", got)) == 2,
          "doctor does not tell whose clock is wrong", got)
    good.good("claim", "before", "--agent", "holder")
    server = bad.serve()
    ok, said, stale = server.call("get_task", task_id="before")
    check(ok and not stale, "a read by a wrong clock", said)
    ok, said, _ = server.call("create_task", task_id="no", title="no")
    check(ok is False and code(said) == "clock_skew",
          "a write by a wrong clock", said)
    got = bad.run("add", "no", "--id", "no")
    check(got.returncode != 0 and "clock" in got.stderr,
          "a command by a wrong clock", got.stdout, got.stderr)
    for words in (["health"], ["doctor"]):
        got = bad.run(*words)
        check(got.returncode != 0 and "behind that of" in got.stdout + got.stderr,
              f"{words} by a wrong clock", got.returncode, got.stdout,
              got.stderr)
    good.add("other")
    got = good.run("claim", "before", "--agent", "thief")
    check(got.returncode != 0, "a lease ended", got.stdout)
    check(server.call("get_task", task_id="other")[0], "it follows")
    for proxy in proxies:
        proxy.wrong = False
    until(lambda: server.call("create_task", task_id="after",
                              title="after")[0], "the clock is set")
    mixed.add("mixed")
    check(scene.alike(good, bad, mixed) ==
          ["after", "before", "mixed", "other"], "clocks")
    for proxy in proxies:
        proxy.listener.close()


# ---- from host to host ----

class Web:
    """A server of HTTP, and a client of it."""

    def __init__(self, host):
        self.process = host.scene.process(
            *host.words, "--http", "--port", "0", text=True,
            stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
            env={**os.environ, **host.env})
        self.port = None
        for line in self.process.stderr:
            if found := re.search(r"http://127\.0\.0\.1:(\d+)", line):
                self.port = int(found[1])
                break
        check(self.port is not None, "a server of HTTP does not begin")
        threading.Thread(target=self.process.stderr.read,
                         daemon=True).start()
        self.id = 0

    def open(self, body, session=None):
        """The connection and the answer to a POST."""
        link = http.client.HTTPConnection("127.0.0.1", self.port, timeout=LONG)
        head = {"Content-Type": "application/json",
                "Accept": "application/json, text/event-stream"}
        if session is not None:
            head["Mcp-Session-Id"] = session
            head["MCP-Protocol-Version"] = "2025-11-25"
        link.request("POST", "/mcp", json.dumps({"jsonrpc": "2.0", **body}),
                     head)
        return link, link.getresponse()

    def initialize(self, **capabilities):
        _, got = self.open({"id": 1, "method": "initialize", "params": {
            "protocolVersion": "2025-11-25", "capabilities": capabilities,
            "clientInfo": {"name": "c", "version": "1"}}})
        got.read()
        session = got.getheader("Mcp-Session-Id")
        check(session, "no session", got.status)
        self.open({"method": "notifications/initialized"}, session)[1].read()
        return session

    def ask(self, session, method, **params):
        """The result, or the whole answer of an error."""
        self.id += 1
        _, got = self.open({"id": self.id, "method": method, "params": params},
                           session)
        text = got.read().decode()
        result = result_in(text, self.id)
        if result is None:
            raise Failed(f"{method}: {got.status} {text}")
        return result

    def call(self, session, tool, task=None, **arguments):
        more = {} if task is None else {"task": task}
        result = self.ask(session, "tools/call", name=tool,
                          arguments=arguments, **more)
        if "content" not in result:
            return result
        check(not result.get("isError"), tool, result)
        return json.loads(result["content"][0]["text"])


    def asked(self, session, call):
        """The question that a client gets which waits for a call."""
        self.id += 1
        link, got = self.open({"id": self.id, "method": "tasks/result",
                               "params": {"taskId": call}}, session)
        end = time.monotonic() + LONG
        for line in got: # some of them only keep it open
            if b'"elicitation/create"' in line:
                link.close()
                return json.loads(line.removeprefix(b"data:"))
            if time.monotonic() > end:
                break
        raise Failed("the client of a call is asked nothing")


class Later:
    """A call under way."""

    def __init__(self, web, session, tool, **arguments):
        self.text = None
        self.thread = threading.Thread(
            target=self.run, args=(web, session, tool, arguments), daemon=True)
        self.thread.start()

    def run(self, web, session, tool, arguments):
        try:
            self.text = json.dumps(web.call(session, tool, **arguments))
        except (Failed, OSError, http.client.HTTPException) as e:
            self.text = repr(e)

    def said(self):
        self.thread.join(LONG)
        return self.text or "no answer"


def late_host(scene, cluster, session):
    """A new host that serves before etcd answers knows sessions afterwards."""
    host = Host(scene, "late", cluster.urls(), "faults/main?patience=500")
    for node in cluster.nodes:
        node.process.send_signal(signal.SIGSTOP)
    web = Web(host)
    web.initialize()
    for node in cluster.nodes:
        node.process.send_signal(signal.SIGCONT)
    until(lambda: '"worker"' in json.dumps(
        web.call(session, "get_task", task_id="t")),
        "a host that was late knows a session")
    web.process.terminate()
    web.process.wait()
    return host


def across(scene):
    cluster = scene.cluster(3)
    hosts = [Host(scene, name, cluster.urls(i)) for i, name in enumerate("ab")]
    a, b = (Web(host) for host in hosts)
    # A session.
    session = a.initialize()
    a.call(session, "create_task", task_id="t", title="t")
    a.call(session, "claim_task", task_id="t", agent="worker")
    said = b.call(session, "get_task", task_id="t")
    check('"worker"' in json.dumps(said), "a session of another host", said)
    # A question.
    b_session = b.initialize()
    asked = Later(a, session, "request_input", task_id="t", agent="worker",
                  question="Which?", wait_seconds=50)
    said = until(lambda: re.search(
        r'"question_id": "([^"]+)"',
        json.dumps(b.call(b_session, "get_task", task_id="t"))),
        "a question arrives")
    b.call(b_session, "update_task", task_id="t", agent="person",
           answer={"question_id": said[1], "text": "This one."})
    check("This one." in asked.said(), "an answer of another host",
          asked.said())
    # A deferred call.
    made = a.call(session, "wait_for_task", task={"ttl": 600000}, task_id="t",
                  until="terminal", timeout_seconds=50)
    call = made["task"]["taskId"]
    got = b.ask(session, "tasks/get", taskId=call)
    check(got.get("status") == "working", "a call of another host", got)
    # A wait.
    woken = Later(a, session, "wait_for_task", task_id="t", until="terminal",
                  timeout_seconds=50)
    b.call(session, "update_task", task_id="t", agent="worker", status="done",
           result="ended on b")
    check('"done"' in woken.said(), "a wait for another host", woken.said())
    for web in (a, b):
        got = web.ask(session, "tasks/result", taskId=call)
        check("done" in json.dumps(got), "a call that ended", got)
        got = web.ask(session, "tasks/get", taskId=call)
        check(got.get("status") == "completed", "a call that ended", got)
    hosts.append(late_host(scene, cluster, session))
    for web in (a, b):
        web.process.terminate()
        web.process.wait()
    scene.alike(*hosts)


def host_is_gone(scene):
    """A host dies while its client is asked: another's client is."""
    cluster = scene.cluster(1)
    a, b = (Web(Host(scene, name, cluster.urls())) for name in "ab")
    session = a.initialize(elicitation={})
    other = b.initialize(elicitation={})
    a.call(session, "create_task", task_id="t", title="t")
    call = a.call(session, "request_input", task={"ttl": 600000}, task_id="t",
                  agent="worker", question="Which?")["task"]["taskId"]
    a.asked(session, call)
    # One that asks something itself has a lease of its own.
    own = b.call(other, "request_input", task={"ttl": 600000}, task_id="t",
                 agent="writer", question="Why?")["task"]["taskId"]
    b.asked(other, own)
    a.process.kill()
    a.process.wait()
    question = b.asked(other, call)
    check("Which?" in question["params"]["message"], "a question", question)
    b.open({"id": question["id"], "result": {
        "action": "accept", "content": {"answer": "This one."}}},
           other)[1].read()
    got = b.ask(session, "tasks/result", taskId=call)
    check("This one." in json.dumps(got), "a call of a dead host", got)
    b.process.terminate()
    b.process.wait()


def shared_folder(scene):
    """Contents are in a folder that all hosts share, and not in etcd."""
    cluster, folder = scene.cluster(1), f"{scene.work}/contents"
    a, b = (Host(scene, name, cluster.urls(),
                 "faults/main?artifacts=0") for name in "ab")
    for host in a, b:
        host.env["MCP_TASK_ARTIFACTS_DIR"] = folder
    a.add("t")
    with open(f"{scene.work}/x.log", "w", encoding="ascii") as f:
        f.write("what was attached\n")
    said = a.good("attach", "t", f"{scene.work}/x.log", "--json")
    said = b.good("show", "t", "--artifact", json.loads(said)["artifact_id"])
    check(said == "what was attached\n", "a content of another host", said)
    check(len(os.listdir(folder)) == 1 and not os.path.exists(
        b.dir + "/artifacts"), "where contents are", os.listdir(folder))
    said = cluster.nodes[0].ctl("get", "--prefix", "--keys-only",
                                "faults/main/").stdout.split()
    check(not [key for key in said if key.startswith("faults/main/a")],
          "contents in etcd", said)
    b.good("verify")


SCENES = [no_majority, replicas, older_backup, passwords, tls, kubeadm, no_room,
          wrong_clock, across, host_is_gone, shared_folder]


def play(play_scene, mcptask):
    """Whether it went well."""
    scene, began = Scene(mcptask), time.monotonic()
    name = play_scene.__name__
    try:
        said = play_scene(scene)
        print(f"{name}: {said or 'good'}, "
              f"{time.monotonic() - began:.1f} s", flush=True)
        return True
    except Exception: # pylint: disable=broad-except
        print(f"{name}: wrong\n{traceback.format_exc()}", flush=True)
        return False
    finally:
        scene.end()


def main():
    if is_missing():
        return 77
    wanted = [s for s in SCENES
              if len(sys.argv) < 3 or s.__name__ in sys.argv[2:]]
    # They mostly wait.
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        good = list(pool.map(lambda s: play(s, sys.argv[1]), wanted))
    return 0 if all(good) else 1


if __name__ == "__main__":
    sys.exit(main())
