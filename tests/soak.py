#!/usr/bin/env python3
"""Mixed load on one store for a long time: agents on stdio and over 40 HTTP
connections write, wait, defer calls and subscribe, while one process of theirs
is killed every 5 seconds, the log is compacted and a backup is made each minute.

Usage: soak.py MCPTASK [SECONDS [SEED]] [--etcd]. With --etcd three hosts share
the store through three nodes of etcd. Exit code 77: etcd is not installed.

Checked: no acknowledged change is missing, in the end and in each backup; each
deferred call ends; each subscriber is notified; the servers that are not killed
use no more memory and no more descriptors in the last third than in the second.
The slopes are printed: what grows with every change would show there. The tasks
are as many from the beginning, since each one costs memory by design."""

import http.client
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "etcd"))
from hosts import Cluster, Server, WebServer, is_missing # noqa: E402

TASKS = 2000
CONNECTIONS = 40      # to the servers that are not killed, of all hosts
SUBSCRIBERS = 6
STRIKE, COMPACT, BACKUP = 5, 20, 60 # seconds between them
GROWTH = 1.1          # of memory that is no leak: the allocator's own
SLACK = 4 << 20       # bytes


class Link(WebServer):
    """One more client of a server that runs."""

    def __init__(self, name, port):
        super().__init__(name)
        self.port = port
        self.begin_session()


class Host:
    """A directory, and how servers are started on it."""

    def __init__(self, world, i, store):
        self.dir, self.i = f"{world.work}/host{i}", i
        self.program = [world.mcptask, *store]
        self.command = [*self.program, "--compact-at", "4000000"]
        self.env = {"MCP_TASK_BASE_DIR": self.dir}
        os.makedirs(self.dir)
        self.steady = [self.begin(WebServer("steady")),
                       self.begin(Server("steady"))]
        self.mortal = [self.begin(kind(f"mortal-{i}-{n}"))
                       for n, kind in enumerate((Server, Server, WebServer))]

    def begin(self, server):
        server.start(self.command, self.env)
        return server

    def run(self, *words):
        return subprocess.run([*self.program, *words],
                              env=dict(os.environ, **self.env), text=True,
                              capture_output=True, check=False, timeout=300)


def sizes(process):
    """Resident bytes and open descriptors of a process."""
    with open(f"/proc/{process.pid}/statm", encoding="ascii") as f:
        pages = int(f.read().split()[1])
    return (pages * os.sysconf("SC_PAGE_SIZE"),
            len(os.listdir(f"/proc/{process.pid}/fd")))


def slope(points):
    """The slope of a line through (seconds, value), per minute."""
    n = len(points)
    mean = [sum(p[k] for p in points) / n for k in (0, 1)]
    over = sum((p[0] - mean[0]) ** 2 for p in points)
    return 60 * sum((p[0] - mean[0]) * (p[1] - mean[1])
                    for p in points) / over if over else 0


class World:
    def __init__(self, mcptask, seconds, shared):
        self.mcptask, self.seconds = os.path.realpath(mcptask), seconds
        self.cluster = Cluster(3) if shared else None
        self.work = self.cluster.work if shared else tempfile.mkdtemp()
        if shared:
            self.cluster.start()
        self.hosts = [Host(self, i, self.store(i))
                      for i in range(3 if shared else 1)]
        self.over = False
        self.lock = threading.Lock()
        self.acked = {}  # task: newest acknowledged version
        self.wrong = []
        self.samples = {}
        self.counts = dict.fromkeys(
            ["writes", "refused", "unknown", "reads", "waits", "deferred",
             "notifications", "kills", "compactions", "backups"], 0)

    def store(self, i):
        return ["--store", f"etcd://{self.cluster.urls(i)}/soak/main"] \
            if self.cluster else []

    def fail(self, text):
        self.wrong.append(text)
        print("wrong:", text, flush=True)

    def count(self, what):
        with self.lock:
            self.counts[what] += 1

    # ---- what agents do ----

    def wrote(self, said):
        """Notes what a call has answered: (ok, content, stale)."""
        ok, content, _ = said
        if ok:
            with self.lock:
                task = content["task_id"]
                self.acked[task] = max(self.acked.get(task, 0),
                                       content["version"])
        self.count("writes" if ok else "unknown" if ok is None else "refused")
        return ok

    def create(self, server, n):
        for i in range(0, TASKS, n):
            ok, said, _ = server.call("create_task", tasks=[
                {"task_id": f"t{k}", "title": f"Task {k}"}
                for k in range(i, i + n)])
            if not ok:
                self.fail(f"create: {said}")
                return
            self.acked.update((f"t{k}", 1) for k in range(i, i + n))

    def change(self, server):
        task = f"t{random.randrange(TASKS)}"
        name = f"agent-{random.randrange(20)}"
        kind = random.randrange(6)
        if kind == 0:
            self.wrote(server.call("update_task", task_id=task, agent=name,
                                   priority=random.randrange(5)))
        elif kind == 1:
            self.wrote(server.call("update_task", task_id=task,
                                   message="go slower", agent=name))
        elif self.wrote(server.call("claim_task", task_id=task, agent=name,
                                    lease_seconds=60)):
            self.wrote(server.call(
                "save_checkpoint", task_id=task, agent=name,
                resume_prompt="Next: " + "x" * random.randrange(400),
                completed_steps=["one"], remaining_steps=["two"]))
            self.wrote(server.call("handoff_task", task_id=task,
                                   from_agent=name, reason="soak"))

    def read(self, server):
        task = f"t{random.randrange(TASKS)}"
        version = self.acked.get(task, 0)
        ok, said, stale = server.call("get_task", task_id=task)
        if ok:
            self.count("reads")
            if not stale and said.get("version", 0) < version:
                self.fail(f"{task} is read as {said.get('version')}, "
                          f"{version} was acknowledged")
        server.call("list_tasks", limit=20, query="Task 1")

    def defer(self, server, other):
        """A wait that outlives its request ends by a change elsewhere."""
        task = f"t{random.randrange(TASKS)}"
        said = server.ask("tools/call", {
            "name": "wait_for_task", "task": {"ttl": 60000},
            "arguments": {"task_id": task, "until": "change",
                          "wait_seconds": 40}})
        call = (said or {}).get("task", {}).get("taskId")
        if call is None:
            return
        if not self.wrote(other.call("update_task", task_id=task,
                                     message="now")):
            return
        for _ in range(200):
            got = other.ask("tasks/get", {"taskId": call})
            if got is None or got.get("status") == "completed":
                self.count("deferred")
                return
            time.sleep(0.1)
        self.fail(f"a deferred call did not end: {got}")

    def hear(self, port):
        """Subscribes to all tasks, as the page does."""
        link = http.client.HTTPConnection("127.0.0.1", port, timeout=20)
        meta = {"io.modelcontextprotocol/protocolVersion": "2026-07-28",
                "io.modelcontextprotocol/clientInfo":
                    {"name": "soak", "version": "1"},
                "io.modelcontextprotocol/clientCapabilities": {}}
        link.request("POST", "/mcp", json.dumps(
            {"jsonrpc": "2.0", "id": 1, "method": "subscriptions/listen",
             "params": {"notifications": {"resourcesListChanged": True,
                                          "resourceSubscriptions":
                                              ["task://"]}, "_meta": meta}}),
            {"Content-Type": "application/json",
             "Accept": "application/json, text/event-stream",
             "MCP-Protocol-Version": "2026-07-28",
             "Mcp-Method": "subscriptions/listen"})
        heard = 0
        got = link.getresponse()
        while not self.over and (line := got.readline()):
            if b"notifications/resources" in line:
                heard += 1
                self.count("notifications")
        link.close()
        if heard == 0:
            self.fail("a subscriber was not notified")

    def work_as(self, server, others):
        while not self.over:
            what = random.random()
            if what < 0.5:
                self.change(server)
            elif what < 0.9:
                self.read(server)
            elif what < 0.95:
                server.call("wait_for_task", wait_seconds=2, until="change",
                            task_id=f"t{random.randrange(TASKS)}")
                self.count("waits")
            else:
                self.defer(server, random.choice(others))
            time.sleep(random.random() / 10) # as agents think

    def live_as(self, host, n):
        """Works on a server that may be killed, and starts another then."""
        while not self.over:
            server = host.mortal[n]
            while not self.over and server.process.poll() is None:
                self.change(server)
                self.read(server)
            if not self.over:
                server.process.wait()
                host.begin(server)

    # ---- what happens to them ----

    def strike(self):
        server = random.choice(random.choice(self.hosts).mortal)
        server.stop()
        self.count("kills")

    def compact(self):
        got = random.choice(self.hosts).run("compact")
        if got.returncode == 0:
            self.count("compactions")

    def backup(self):
        host = random.choice(self.hosts)
        with self.lock:
            before = dict(self.acked)
        at = f"{self.work}/backup"
        got = host.run("backup", at)
        if got.returncode != 0:
            self.fail(f"backup: {got.stderr}")
            return
        self.missing("a backup", before, [self.mcptask],
                     {"MCP_TASK_BASE_DIR": at})
        shutil.rmtree(at)
        self.count("backups")

    def missing(self, where, acked, command, env):
        """Reports what a store lacks, or finds damaged."""
        env = dict(os.environ, **env)
        got = subprocess.run([*command, "export"], env=env, text=True,
                             capture_output=True, check=False, timeout=300)
        tasks = {t["task_id"]: t["version"]
                 for t in map(json.loads, got.stdout.splitlines())}
        for task, version in acked.items():
            if tasks.get(task, 0) < version:
                self.fail(f"{where} has {task} {tasks.get(task)}, "
                          f"{version} was acknowledged")
        got = subprocess.run([*command, "verify"], env=env, text=True,
                             capture_output=True, check=False, timeout=300)
        if got.returncode != 0:
            self.fail(f"{where}: {got.stdout}{got.stderr}")

    def sample(self, now):
        for host in self.hosts:
            for server in host.steady:
                kind = "http" if isinstance(server, WebServer) else "stdio"
                self.samples.setdefault((host.i, kind), []).append(
                    (now, *sizes(server.process)))

    def run(self):
        self.create(self.hosts[0].steady[0], 50)
        web = [h.steady[0] for h in self.hosts]
        links = [Link(f"link-{n}", web[n % len(web)].port)
                 for n in range(CONNECTIONS - SUBSCRIBERS)]
        threads = [threading.Thread(target=self.work_as, args=(s, links))
                   for s in links + [h.steady[1] for h in self.hosts]]
        threads += [threading.Thread(target=self.live_as, args=(h, n))
                    for h in self.hosts for n in range(len(h.mortal))]
        threads += [threading.Thread(target=self.hear,
                                     args=(web[n % len(web)].port,))
                    for n in range(SUBSCRIBERS)]
        begin = time.monotonic()
        for thread in threads:
            thread.daemon = True
            thread.start()
        due = {self.strike: STRIKE, self.compact: COMPACT, self.backup: BACKUP}
        next_at = {what: begin + every for what, every in due.items()}
        while (now := time.monotonic()) < begin + self.seconds and \
                not self.wrong:
            self.sample(now - begin)
            for what, every in due.items():
                if now >= next_at[what]:
                    what()
                    next_at[what] = time.monotonic() + every
            time.sleep(1)
        self.over = True
        for thread in threads:
            thread.join(90)
        if any(thread.is_alive() for thread in threads):
            self.fail("an agent's call did not end")

    # ---- in the end ----

    def check(self):
        for host in self.hosts:
            self.missing(f"host {host.i}", self.acked,
                         host.program, host.env)
        for (i, kind), all_of in self.samples.items():
            third = len(all_of) // 3
            for k, what, unit in ((1, "memory", 1024), (2, "descriptors", 1)):
                points = [(p[0], p[k] / unit) for p in all_of[third:]]
                early, late = (sorted(p[k] for p in part)[len(part) // 2]
                               for part in (all_of[third:2 * third],
                                            all_of[2 * third:]))
                print(f"host {i}, {kind}: {what} {early // unit} -> "
                      f"{late // unit}{' KB' if k == 1 else ''}, slope "
                      f"{slope(points):+.2f} a minute")
                most = early * GROWTH + SLACK if k == 1 else early + 8
                if late > most:
                    self.fail(f"host {i}, {kind}: {what} grows")
        for what, n in self.counts.items():
            if n == 0 and what not in ("refused", "unknown") and \
                    self.seconds > 70:
                self.fail(f"no {what}")

    def end(self):
        for host in self.hosts:
            for server in host.steady + host.mortal:
                server.stop(signal.SIGKILL)
                server.process.wait()
        if self.cluster:
            self.cluster.kill()
        if self.wrong:
            print("kept:", self.work)
        else:
            shutil.rmtree(self.work)


def main():
    words = [w for w in sys.argv[1:] if w != "--etcd"]
    shared = "--etcd" in sys.argv
    if shared and is_missing():
        return 77
    seed = int(words[2]) if len(words) > 2 else random.randrange(10**6)
    random.seed(seed)
    print("seed", seed)
    world = World(words[0], float(words[1]) if len(words) > 1 else 120, shared)
    try:
        world.run()
        world.check()
    finally:
        world.over = True
        world.end()
    print(", ".join(f"{n} {what}" for what, n in world.counts.items()) +
          f"; {len(world.wrong)} wrong")
    return 1 if world.wrong else 0


sys.exit(main())
