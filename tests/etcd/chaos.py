#!/usr/bin/env python3
"""Three hosts with two servers each, one of them over HTTP, share a store by
three nodes of etcd, while nodes and servers are killed, stopped and restarted,
and replicas removed.

Usage: chaos.py MCPTASK [SECONDS [SEED]]. Exit code 77: etcd is not installed.

Checked: no acknowledged change is missing; a claim has one winner; no read is
older than what was acknowledged before it was sent, unless its answer says so;
an acknowledged artifact can be read on every host, with its bytes; in the end
the replicas are equal and whole."""

import hashlib
import json
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import threading
import time

from hosts import Cluster, Server, WebServer, is_missing

HOSTS = 3


class Client:
    """An agent with a server of its own."""

    def __init__(self, world, host, name, server):
        self.world, self.host, self.name = world, host, name
        self.server = server(name)

    def begin(self):
        os.makedirs(self.world.dir(self.host), exist_ok=True)
        self.server.start([self.world.mcptask, "--compact-at", "100000",
                           "--store", self.world.url(self.host)],
                          {"MCP_TASK_BASE_DIR": self.world.dir(self.host)})

    def call(self, tool, **arguments):
        said = self.server.call(tool, **arguments)
        if said[0] is None and not self.world.over:
            self.stop() # it may have hung
            self.server.process.wait()
            self.begin()
        return said

    def stop(self, how=signal.SIGKILL):
        self.server.stop(how)


class World:
    def __init__(self, mcptask, seconds):
        self.mcptask, self.seconds = os.path.realpath(mcptask), seconds
        self.cluster = Cluster(HOSTS)
        self.work, self.nodes = self.cluster.work, self.cluster.nodes
        self.clients = [Client(self, h, f"agent-{h}-{k}", kind)
                        for h in range(HOSTS)
                        for k, kind in enumerate((Server, WebServer))]
        self.over = False
        self.acked = {}      # task: newest acknowledged version
        self.won = {}        # race: who was told to have it
        self.contents = {}   # task: (id, content) of its artifact
        self.wrong = []
        self.counts = dict.fromkeys(
            ["writes", "refused", "lost", "reads", "stale", "claims",
             "artifacts", "contents"], 0)

    def dir(self, host):
        return f"{self.work}/host{host}"

    def url(self, host):
        return f"etcd://{self.cluster.urls(host)}/chaos/main"

    def fail(self, text):
        self.wrong.append(text)
        print("wrong:", text, flush=True)

    # ---- what agents do ----

    def write(self, client, i):
        """Creates a task, again with the same key until that is known."""
        task = f"{client.name}-{i}"
        while not self.over:
            ok, said, _ = client.call(
                "create_task", task_id=task, title=task,
                idempotency_key=task)
            if ok:
                self.acked[task] = 1
                self.counts["writes"] += 1
                return
            self.counts["lost" if ok is None else "refused"] += 1

    def checkpoint(self, client, i, k):
        task = f"{client.name}-{i}"
        ok, said, _ = client.call("save_checkpoint", task_id=task,
                                  agent=client.name, notes=f"note {k}",
                                  idempotency_key=f"c{k}-{task}")
        if ok:
            self.acked[task] = self.acked.get(task, 0) + 1
            self.counts["writes"] += 1
        else:
            self.counts["lost" if ok is None else "refused"] += 1

    def read(self, client):
        if not self.acked:
            return
        task = random.choice(list(self.acked)[-20:])
        version = self.acked[task]
        ok, said, stale = client.call("get_task", task_id=task)
        if ok is None:
            return
        self.counts["reads"] += 1
        if stale:
            self.counts["stale"] += 1
            return
        code = said.get("error", {})
        if not ok and "not_found" in json.dumps(said):
            self.fail(f"{client.name} does not find {task}")
        elif ok and said.get("task", said).get("version", 0) < version:
            self.fail(f"{client.name} reads {task} older than {version}")

    def attach(self, client, i):
        """Some contents take more than one part."""
        task = f"{client.name}-{i}"
        content = f"{task} {random.random()} " * (
            16000 if i % 20 == 4 else random.randrange(1, 200))
        ok, said, _ = client.call("attach_artifact", task_id=task,
                                  agent=client.name, name="log", type="log",
                                  content=content)
        if ok:
            self.contents[task] = said["artifact_id"], content
            self.counts["artifacts"] += 1
        else:
            self.counts["lost" if ok is None else "refused"] += 1

    def read_content(self, client):
        if not self.contents:
            return
        task = random.choice(list(self.contents)[-20:])
        which, content = self.contents[task]
        ok, said, stale = client.call("get_task", task_id=task,
                                      artifact_id=which)
        if ok is None or stale:
            return
        if ok:
            self.counts["contents"] += 1
        got = said.get("content", "")
        if ok and (not content.startswith(got) or
                   len(got) < min(len(content), 1000)):
            self.fail(f"{client.name} reads another content of {task}")
        elif not ok and said.get("code") not in ("store_unreachable",
                                                 "store_busy"):
            self.fail(f"{client.name} does not read {which} of {task}: {said}")

    def race(self, client, i):
        """All agents claim the same task. One that comes a minute after the
        winner's server ended may take over what it left."""
        task = f"race-{i}"
        client.call("create_task", task_id=task, title=task,
                    idempotency_key=task)
        ok, said, _ = client.call("claim_task", task_id=task,
                                  agent=client.name, lease_seconds=86400)
        if ok:
            self.counts["claims"] += 1
            other = self.won.setdefault(task, client.name)
            if "exited" in said.get("was", ""):
                self.won[task] = client.name
            elif other != client.name:
                self.fail(f"{task}: {other} and {client.name} have it")

    def work_as(self, client):
        i = 0
        while not self.over:
            i += 1
            self.write(client, i)
            self.read(client)
            for k in range(1 + i % 4):
                self.checkpoint(client, i, k)
            self.read(client)
            if i % 2 == 0:
                self.attach(client, i)
            self.read_content(client)
            if i % 5 == 0:
                self.race(client, i // 5)

    # ---- what happens to them ----

    def strike(self):
        what = random.choice(["kill", "kill leader", "stop leader", "server",
                              "server", "wipe"])
        node = random.choice(self.nodes)
        if "leader" in what:
            node = next((n for n in self.nodes if n.leads()), node)
        pause = random.uniform(0.5, 3)
        client = random.choice(self.clients)
        whose = client.name if what in ("server", "wipe") else node.url
        print(what, whose, flush=True)
        if what.startswith("kill"):
            node.kill()
            time.sleep(pause)
            node.start()
        elif what == "stop leader":
            node.process.send_signal(signal.SIGSTOP)
            time.sleep(pause)
            node.process.send_signal(signal.SIGCONT)
        elif what == "server":
            client.stop()
        else:
            # At once: no server finds a log whose lock file goes meanwhile.
            gone = f"{self.work}/gone"
            os.rename(self.dir(client.host), gone)
            for c in self.clients:
                if c.host == client.host:
                    c.stop()
            shutil.rmtree(gone, ignore_errors=True)
        time.sleep(random.uniform(0.5, 3))

    def run(self):
        self.cluster.start()
        for client in self.clients:
            client.begin()
        threads = [threading.Thread(target=self.work_as, args=(c,))
                   for c in self.clients]
        end = time.monotonic() + self.seconds
        for thread in threads:
            thread.start()
        while time.monotonic() < end and not self.wrong:
            self.strike()
        self.over = True
        for thread in threads:
            thread.join()
        for client in self.clients:
            client.stop(signal.SIGTERM)
            client.server.process.wait()

    # ---- in the end ----

    def command(self, host, *words):
        return subprocess.run(
            [self.mcptask, "--store", self.url(host), *words],
            env=dict(os.environ, MCP_TASK_BASE_DIR=self.dir(host)),
            capture_output=True, text=True, check=False, timeout=60)

    def check(self):
        texts = set()
        if not self.acked:
            self.fail("nothing was written")
        for host in range(HOSTS):
            for _ in range(20):
                got = self.command(host, "export")
                if got.returncode == 0 and not got.stderr:
                    break
            tasks = {}
            for line in got.stdout.splitlines():
                task = json.loads(line)
                tasks[task["task_id"]] = task
            for task, version in self.acked.items():
                if tasks.get(task, {}).get("version", 0) < version:
                    self.fail(f"host {host} lacks {task} {version}")
            for task, (which, content) in self.contents.items():
                sha256 = hashlib.sha256(content.encode()).hexdigest()
                if [which, sha256] not in [
                        [a["artifact_id"], a.get("sha256")]
                        for a in tasks.get(task, {}).get("artifacts", [])]:
                    self.fail(f"host {host} lacks {which} of {task}")
            for task, who in self.won.items():
                owner = tasks.get(task, {}).get("current_owner")
                if owner != who:
                    self.fail(f"{task} is {owner}'s, not {who}'s")
            checked = self.command(host, "verify") # and of the artifacts
            if checked.returncode != 0:
                self.fail(checked.stdout + checked.stderr)
            # Which agents are gone, or connected, each host sees for itself.
            whole = re.sub(',"agent_(gone|connected)":true', "", got.stdout)
            texts.add("".join(sorted(whole.splitlines(True))))
        if len(texts) != 1:
            self.fail("the replicas differ")
        meta = self.nodes[0].ctl("get", "chaos/main/meta").stdout
        print("with a snapshot" if '"snap"' in meta else "without a snapshot")
        aside = [name for host in range(HOSTS)
                 for name in os.listdir(self.dir(host))
                 if "diverged" in name]
        if aside:
            self.fail(f"replicas were set aside: {aside}")

    def end(self):
        for client in self.clients:
            client.stop()
        self.cluster.kill()
        if self.wrong:
            print("kept:", self.work)
        else:
            shutil.rmtree(self.work)


def main():
    if is_missing():
        return 77
    seed = int(sys.argv[3]) if len(sys.argv) > 3 else random.randrange(10**6)
    random.seed(seed)
    world = World(sys.argv[1], float(sys.argv[2]) if len(sys.argv) > 2 else 60)
    print("seed", seed)
    try:
        world.run()
        world.check()
    finally:
        world.over = True
        world.end()
    print(" ".join(f"{n} {what}," for what, n in world.counts.items()),
          f"{len(world.won)} races, {len(world.wrong)} wrong")
    return 1 if world.wrong else 0


sys.exit(main())
