"""check.py CLIENT [TRANSPORT...]: what an agent does with mcptask, by one
client, over each transport. Prints a line for each check: client, version,
transport, check, result, reason; with tabs between them. MCPTASK is the
program. Run by run.sh, in the environment of the client."""

import asyncio
import json
import os
import signal
import subprocess
import sys
import tempfile
import traceback
from types import SimpleNamespace

from clients import CLIENTS

MCPTASK = os.path.abspath(os.environ["MCPTASK"])
TOKEN = "tok-0123456789abcdef"
TOOLS = 11
OUT, sys.stdout = sys.stdout, sys.stderr  # clients print, too
# A failure that is not ours: {(client, transport, check): reason}
NO_RESUMPTION = ("revision 2026-07-28 has no resumption of streams, and SDK 2 "
                 "does not send the call again: it fails, and the agent calls "
                 "again")
KNOWN = {
    ("mcp2", "http", "wait"): NO_RESUMPTION,
    ("fastmcp", "http", "wait"): NO_RESUMPTION,
    ("openai", "http", "wait"): NO_RESUMPTION,
}


class Server:
    """mcptask over HTTP, on the same port whenever it is started again."""

    def __init__(self, env, *args):
        self.env, self.args, self.port = env, args, "0"
        self.start()

    def start(self):
        self.child = subprocess.Popen(
            [MCPTASK, "--http", "--port", self.port, *self.args], env=self.env,
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE, text=True)
        for line in self.child.stderr:
            if "http://127.0.0.1:" in line:
                self.port = line.rsplit(":", 1)[1].strip()
                return
        raise RuntimeError("mcptask does not start")

    def kill(self):
        self.child.kill()
        self.child.wait()


class Run:
    def __init__(self, name, transport):
        self.name, self.transport = name, transport
        self.kind = CLIENTS[name]
        self.way, _, self.mode = transport.partition("-")
        self.dir = tempfile.TemporaryDirectory()
        self.env = {**os.environ, "MCP_TASK_BASE_DIR": self.dir.name,
                    "MCP_TASK_REPO": ""}
        self.asked = []

    def say(self, check, error=None):
        known = KNOWN.get((self.name, self.transport, check)) or KNOWN.get(
            (self.name, "*", check))
        verdict = "ok" if not error else "known" if known else "FAILED"
        why = " ".join(str((known or error) if error else "").split())
        line = (self.name, self.kind.version(), self.transport, check,
                verdict, why[:300])
        OUT.write("\t".join(line) + "\n")  # whole, beside those of others
        OUT.flush()

    async def check(self, name, made, limit=50):
        """Awaits what was made for a check, and says how it went."""
        try:
            async with asyncio.timeout(limit):
                got = await made
        except Exception as error:  # whatever a client raises
            if os.environ.get("VERBOSE"):
                traceback.print_exc()
            self.say(name, f"{type(error).__name__}: {error}")
            return None
        self.say(name)
        return got

    def ask(self, message, schema):
        self.asked.append(message)
        return {name: "42" for name in schema["properties"]}

    def where(self, server=None, token=None):
        path = "/sse" if self.way == "sse" else "/mcp"
        stdio = {"command": MCPTASK, "args": [], "env": {
            name: self.env[name]
            for name in ("MCP_TASK_BASE_DIR", "MCP_TASK_REPO")}}
        return SimpleNamespace(
            transport=self.way, mode=self.mode,
            stdio=None if server else stdio,
            url=f"http://127.0.0.1:{server.port}{path}" if server else None,
            headers={"Authorization": f"Bearer {token}"} if token else {})

    def connect(self, *where):
        return self.kind.connect(self.where(*where), self.ask)

    def command(self, *args):
        subprocess.run([MCPTASK, *args], env=self.env, check=True, timeout=20,
                       stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)

    async def call(self, tool, **args):
        error, text = await self.client.call(tool, args)
        assert not error, text
        return json.loads(text)

    async def lists(self):
        tools = await self.client.tools()
        assert len(set(tools)) >= TOOLS and "claim_task" in tools, tools

    async def works(self):
        await self.check("list", self.lists())
        await self.check("create", self.call(
            "create_task", task_id="a", title="Limit – übel 限"))
        got = await self.check("claim", self.call("claim_task", task_id="a"))
        self.agent = got and got["current_owner"]
        await self.check("checkpoint", self.call(
            "save_checkpoint", task_id="a", completed_steps=["one"],
            remaining_steps=["two"], resume_prompt="Do two.", dirty=True,
            test_results=[{"command": "make", "exit_code": 0}]))
        await self.check("error", self.refused())
        await self.check("question", self.question())
        await self.check("handoff", self.call(
            "handoff_task", task_id="a", reason="end of the context"))
        await self.check("get", self.reads())

    async def refused(self):
        error, text = await self.client.call("get_task", {"task_id": "none"})
        assert error and "not_found" in text, text

    async def reads(self):
        got = await self.call("get_task", task_id="a")
        assert got["status"] == "handoff_ready", got
        assert got["title"] == "Limit – übel 限", got
        assert got["completed_steps"] == ["one"] and got["dirty"], got
        assert got["handoff"]["from_agent"] == self.agent, got

    async def question(self):
        if self.kind.asks:
            got = await self.call("request_input", task_id="a",
                                  question="Which?", wait_seconds=20)
            assert got["answer"]["text"] == "42", got
            assert len(self.asked) == 1 and "Which?" in self.asked[0]
            return
        got = await self.call("request_input", task_id="a", question="Which?")
        self.command("answer", "a", got["question_id"], "42")
        got = await self.call("wait_for_task", task_id="a", until="answered")
        assert got["met"] and got["questions"][0]["answer"]["text"] == "42"

    async def waits(self, server):
        """A wait that a dying server began ends when the task does."""
        await self.call("create_task", task_id="w", title="Wait")
        await self.outlives(server, self.client.call("wait_for_task", {
            "task_id": "w", "until": "done", "wait_seconds": 20}), "w")

    async def outlives(self, server, wait, task):
        waiting = asyncio.create_task(wait)
        await asyncio.sleep(1)
        server.kill()
        server.start()
        await asyncio.sleep(4)  # clients are asked to come back after two
        self.command("done", task, "--agent", "someone")
        error, text = await waiting
        assert not error and json.loads(text)["met"], text  # not timed out

    async def again(self):
        got = await self.call("wait_for_task", task_id="w", until="done")
        assert got["met"], got

    async def state(self, task, wanted):
        while (got := await self.client.tasks.status(task)) != wanted:
            assert got in ("working", "input_required"), got
            await asyncio.sleep(0.1)

    async def deferred(self, server):
        tasks = self.client.tasks
        await self.call("create_task", task_id="t", title="Task")
        wait = {"task_id": "t", "until": "done"}
        one = await self.check("task call", tasks.make("wait_for_task", wait))
        if not one:
            return
        await self.check("task get", self.state(one, "working"))
        if tasks.list:
            async def listed():
                assert one in await tasks.list()
            await self.check("task list", listed())

        async def cancelled():
            two = await tasks.make("wait_for_task", wait)
            await tasks.cancel(two)
            await self.state(two, "cancelled")
        await self.check("task cancel", cancelled())

        async def ended():
            self.command("done", "t", "--agent", "someone")
            error, text = await tasks.result(one)
            assert not error and json.loads(text)["met"], text
            await self.state(one, "completed")
        await self.check("task result", ended())

        async def outlives():
            await self.call("create_task", task_id="o", title="Outlive")
            task = await tasks.make("wait_for_task",
                                    {"task_id": "o", "until": "done"})
            await self.outlives(server, tasks.result(task), "o")
        if self.way == "http":
            await self.check("task kill", outlives())

        async def asks():
            self.asked.clear()
            await self.call("create_task", task_id="q", title="Ask")
            task = await tasks.make("request_input",
                                    {"task_id": "q", "question": "Sure?",
                                     "wait_seconds": 20})
            await self.state(task, "input_required")
            error, text = await tasks.result(task)
            assert not error and json.loads(text)["answered"], text
            assert self.asked, "the user was not asked"
        await self.check("task input", asks())

    async def session(self, server=None):
        async with self.connect(server) as self.client:
            self.say("connect")
            await self.works()
            if self.client.tasks:
                await self.deferred(server)
            if self.way == "http":
                await self.check("wait", self.waits(server))
                await self.check("after kill", self.again())

    async def refuses(self, server):
        try:
            async with self.connect(server) as client:
                await client.tools()
        except (Exception, asyncio.CancelledError) as error:
            text = "".join(traceback.format_exception(error))
            assert "401" in text or "needs a token" in text, repr(error)
        else:
            raise AssertionError("connected without a token")

    async def signs_in(self, server):
        async with self.connect(server, TOKEN) as self.client:
            got = await self.call("create_task", task_id="s", title="Signed")
            assert got["agent"] == "carol" and got["token"], got

    async def all(self):
        servers = []
        try:
            if self.way == "stdio":
                await self.check("end", self.session(), 150)
                return
            servers.append(Server(self.env))
            await self.check("end", self.session(servers[0]), 150)
            tokens = self.dir.name + "/tokens"
            with open(os.open(tokens, os.O_CREAT | os.O_WRONLY, 0o600),
                      "w") as file:
                file.write(TOKEN + " carol\n")
            servers.append(Server(self.env, "--token-file", tokens))
            await self.check("401", self.refuses(servers[1]))
            await self.check("token", self.signs_in(servers[1]))
        finally:
            for server in servers:
                server.kill()


def main(name, *transports):
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # ends the servers
    for transport in transports or CLIENTS[name].transports:
        run = Run(name, transport)
        asyncio.run(run.all())


if __name__ == "__main__":
    main(*sys.argv[1:])
