"""Nodes of etcd and servers of mcptask on loopback, for tests on real etcd."""

import http.client
import json
import os
import random
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading

sys.dont_write_bytecode = True


def is_missing():
    """Whether etcd is not installed; says so."""
    if shutil.which("etcd") and shutil.which("etcdctl"):
        return False
    print("etcd is not installed: skipped")
    return True


def free_ports(n):
    """Ports that nobody has, below those that connections get by themselves."""
    held = []
    while len(held) < n:
        try:
            held.append(socket.create_server(
                ("127.0.0.1", random.SystemRandom().randrange(10000, 32000))))
        except OSError:
            pass
    ports = [s.getsockname()[1] for s in held]
    for s in held:
        s.close()
    return ports


class Node:
    """A node of etcd."""

    def __init__(self, i, work, ports, peers, flags):
        self.i, self.process = i, None
        self.dir = f"{work}/n{i}"
        self.url = f"127.0.0.1:{ports[i]}"
        self.peer = f"http://127.0.0.1:{peers[i]}"
        self.cluster = ["--initial-cluster",
                        ",".join(f"n{k}=http://127.0.0.1:{port}"
                                 for k, port in enumerate(peers)),
                        "--initial-cluster-token", str(peers[0])]
        self.flags = flags

    def start(self):
        self.process = subprocess.Popen(
            ["etcd", "--name", f"n{self.i}", "--data-dir", self.dir,
             "--log-level", "error",
             "--listen-client-urls", "http://" + self.url,
             "--advertise-client-urls", "http://" + self.url,
             "--listen-peer-urls", self.peer,
             "--initial-advertise-peer-urls", self.peer,
             *self.cluster, *self.flags],
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def ctl(self, *words):
        return subprocess.run(
            ["etcdctl", "--command-timeout=10s", "--endpoints", self.url,
             *words], env=dict(os.environ, ETCDCTL_API="3"),
            capture_output=True, text=True, check=False)

    def leads(self):
        return ", true, false" in self.ctl("endpoint", "status").stdout

    def await_answer(self):
        for _ in range(6): # a loaded machine takes its time
            got = self.ctl("get", "x")
            if got.returncode == 0:
                return
        raise RuntimeError(f"etcd does not start: {got.stderr}")

    def kill(self):
        self.process.kill()
        self.process.wait()


class Cluster:
    """Nodes that are one etcd."""

    def __init__(self, n, *flags):
        self.work = tempfile.mkdtemp()
        ports = free_ports(2 * n)
        self.nodes = [Node(i, self.work, ports[:n], ports[n:], flags)
                      for i in range(n)]

    def start(self):
        for node in self.nodes:
            node.start()
        for node in self.nodes:
            node.await_answer()

    def urls(self, first=0):
        """The addresses, that of one node first."""
        n = len(self.nodes)
        return ",".join(self.nodes[(first + i) % n].url for i in range(n))

    def kill(self):
        for node in self.nodes:
            if node.process is not None:
                node.kill()


class Server:
    """A server on stdin and stdout, with one client."""

    def __init__(self, name):
        self.name, self.process = name, None
        self.lock = threading.Lock() # of process

    def start(self, command, env, stderr=subprocess.DEVNULL):
        with self.lock:
            self.process = subprocess.Popen(
                command, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                stderr=stderr, text=True, env=dict(os.environ, **env))
        self.ask("initialize", {
            "protocolVersion": "2025-11-25", "capabilities": {},
            "clientInfo": {"name": "hosts", "version": "1"}})

    def ask(self, method, params):
        """The result, or None if the server is gone."""
        try:
            self.process.stdin.write(json.dumps(
                {"jsonrpc": "2.0", "id": 1, "method": method,
                 "params": params}) + "\n")
            self.process.stdin.flush()
            while line := self.process.stdout.readline():
                answer = json.loads(line)
                if answer.get("id") == 1:
                    return answer.get("result", answer)
        except (BrokenPipeError, ValueError):
            pass
        return None

    def call(self, tool, **arguments):
        """(ok, content, stale); ok is None where nothing is known."""
        result = self.ask("tools/call",
                          {"name": tool, "arguments": arguments})
        if result is None:
            return None, {}, False
        content = json.loads(result["content"][0]["text"]) \
            if "content" in result else result
        stale = "mcptask/stale_ms" in result.get("_meta", {})
        return not result.get("isError") and "error" not in result, \
            content, stale

    def stop(self, how=signal.SIGKILL):
        with self.lock:
            if self.process is not None:
                self.process.send_signal(how)


def result_in(text, wanted):
    """The result for that id in a body or stream, or the whole answer of an
    error; None: there is no answer to it."""
    for line in text.splitlines():
        line = line.removeprefix("data:").strip()
        if line.startswith("{"):
            answer = json.loads(line)
            if answer.get("id") == wanted:
                return answer.get("result", answer)
    return None


class WebServer(Server):
    """The same over HTTP."""

    def __init__(self, name):
        super().__init__(name)
        self.port = self.session = None
        self.id = 0

    def start(self, command, env, stderr=subprocess.DEVNULL):
        with self.lock:
            self.process = subprocess.Popen(
                [*command, "--http", "--port", "0"], text=True,
                stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                stderr=subprocess.PIPE, env=dict(os.environ, **env))
        said, self.port = self.process.stderr, None
        while self.port is None and (line := said.readline()):
            if found := re.search(r"http://127\.0\.0\.1:(\d+)", line):
                self.port = int(found[1])
        threading.Thread(target=said.read, daemon=True).start()
        self.begin_session()

    def begin_session(self):
        self.session = None
        self.ask("initialize", {
            "protocolVersion": "2025-11-25", "capabilities": {},
            "clientInfo": {"name": "hosts", "version": "1"}})

    def post(self, body):
        """The answer's status and text."""
        link = http.client.HTTPConnection("127.0.0.1", self.port or 0,
                                          timeout=60)
        head = {"Content-Type": "application/json",
                "Accept": "application/json, text/event-stream"}
        if self.session is not None:
            head["Mcp-Session-Id"] = self.session
            head["MCP-Protocol-Version"] = "2025-11-25"
        try:
            link.request("POST", "/mcp", json.dumps(body), head)
            got = link.getresponse()
            self.session = got.getheader("Mcp-Session-Id", self.session)
            return got.status, got.read().decode()
        finally:
            link.close()

    def ask(self, method, params):
        self.id += 1
        try:
            status, text = self.post({"jsonrpc": "2.0", "id": self.id,
                                      "method": method, "params": params})
        except (OSError, http.client.HTTPException):
            return None
        if status == 404 and method != "initialize":
            self.begin_session()
        result = result_in(text, self.id)
        if result is None:
            return {"error": {"message": f"{status} {text}"}}
        return result
