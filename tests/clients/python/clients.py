"""The clients, each as the same few things: connect(where, ask) opens one and
yields a Client. where says how the server is reached, ask(message, schema)
returns the answer of the client's user as the content of a form.

Clients of SDK 2 begin with revision 2026-07-28 unless where.mode is 2025."""

import asyncio
import json
import re
import threading
from contextlib import AsyncExitStack, asynccontextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib.metadata import version
from types import SimpleNamespace
from unittest.mock import MagicMock

WAIT = 45  # seconds for a call, since some clients allow only 5 by default


class Client(SimpleNamespace):
    """tools() -> names; call(name, args) -> (is it an error, text); tasks: the
    calls of MCP Tasks, or None."""

    tasks = None


def names(tools):
    return [tool.name for tool in getattr(tools, "tools", tools)]


def result(got):
    """What a CallToolResult of either SDK says."""
    error = got.isError if hasattr(got, "isError") else got.is_error
    return bool(error), "".join(part.text for part in got.content)


def form(ask, types):
    """The callback of both SDKs for elicitation."""
    async def answer(_context, params, *_more):
        asked = getattr(params, "requestedSchema", None)
        asked = asked or params.requested_schema
        return types.ElicitResult(action="accept",
                                  content=ask(params.message, asked))
    return answer


def era(where):
    older = where.mode == "2025" or where.transport == "sse"
    return "legacy" if older else "auto"


def session_client(session, tasks=None):
    async def tools():
        return names(await session.list_tools())

    async def call(name, args):
        return result(await session.call_tool(name, args))
    return Client(tools=tools, call=call, tasks=tasks)


@asynccontextmanager
async def mcp1(where, ask):
    from mcp import ClientSession, StdioServerParameters, types
    from mcp.client.sse import sse_client
    from mcp.client.stdio import stdio_client
    from mcp.client.streamable_http import streamablehttp_client
    streams = {
        "stdio": lambda: stdio_client(StdioServerParameters(**where.stdio)),
        "http": lambda: streamablehttp_client(where.url, where.headers),
        "sse": lambda: sse_client(where.url, where.headers),
    }[where.transport]()
    async with streams as (read, write, *_), ClientSession(
            read, write, elicitation_callback=form(ask, types)) as session:
        await session.initialize()
        known = session.experimental

        async def make(name, args):
            made = await known.call_tool_as_task(name, args)
            return made.task.taskId

        async def status(task):
            return (await known.get_task(task)).status

        async def listed():
            return [task.taskId for task in (await known.list_tasks()).tasks]

        async def ended(task):
            return result(
                await known.get_task_result(task, types.CallToolResult))
        yield session_client(session, SimpleNamespace(
            make=make, status=status, list=listed, result=ended,
            cancel=known.cancel_task))


@asynccontextmanager
async def mcp2(where, ask):
    import mcp_types as types
    from mcp import Client as Connected, StdioServerParameters
    from mcp.client.sse import sse_client
    from mcp.client.streamable_http import streamable_http_client
    from mcp.shared._httpx_utils import create_mcp_http_client
    server = {
        "stdio": lambda: StdioServerParameters(**where.stdio),
        "http": lambda: streamable_http_client(
            where.url, http_client=create_mcp_http_client(where.headers)),
        "sse": lambda: sse_client(where.url, where.headers),
    }[where.transport]()
    async with Connected(server, mode=era(where),
                         elicitation_callback=form(ask, types)) as client:
        yield session_client(client)


def fast(where, ask):
    """A client of fastmcp."""
    from fastmcp.client import Client as Connected
    from fastmcp.client.transports import (
        SSETransport, StdioTransport, StreamableHttpTransport)
    transport = {
        "stdio": lambda: StdioTransport(**where.stdio, keep_alive=False),
        "http": lambda: StreamableHttpTransport(where.url, where.headers),
        "sse": lambda: SSETransport(where.url, where.headers),
    }[where.transport]()

    async def answer(message, _type, params, _context):
        return ask(message, params.requested_schema)
    return Connected(transport, mode=era(where), elicitation_handler=answer)


@asynccontextmanager
async def fastmcp(where, ask):
    async with fast(where, ask) as client:
        async def tools():
            return names(await client.list_tools())

        async def call(name, args):
            return result(
                await client.call_tool(name, args, raise_on_error=False))
        yield Client(tools=tools, call=call)


@asynccontextmanager
async def pydantic(where, ask):
    from fastmcp_tasks import call_tool_task
    from pydantic_ai import ModelRetry
    from pydantic_ai.mcp import MCPToolset
    async with MCPToolset(fast(where, ask)) as toolset:
        async def tools():
            return names(await toolset.list_tools())

        async def call(name, args):
            try:
                said = await toolset.direct_call_tool(name, args)
            except ModelRetry as error:
                return True, str(error)
            return False, said if isinstance(said, str) else json.dumps(said)

        async def make(name, args):
            return await call_tool_task(toolset.client, name, args)

        async def status(task):
            return (await task.status()).status

        async def ended(task):
            return result(await task.result())
        yield Client(tools=tools, call=call, tasks=SimpleNamespace(
            make=make, status=status, list=None, result=ended,
            cancel=lambda task: task.cancel()) if era(where) == "auto"
            else None)


@asynccontextmanager
async def langchain(where, ask):
    from langchain_mcp_adapters.callbacks import Callbacks
    from langchain_mcp_adapters.client import MultiServerMCPClient
    from langchain_mcp_adapters.tools import load_mcp_tools
    from mcp import types
    to = {**where.stdio, "transport": "stdio"} if where.stdio else {
        "url": where.url, "headers": where.headers,
        "transport": where.transport.replace("http", "streamable_http")}
    client = MultiServerMCPClient(
        {"mcptask": to}, callbacks=Callbacks(on_elicitation=form(ask, types)))
    async with AsyncExitStack() as stack:
        # By default each call has a session, or a process, of its own.
        tools = await client.get_tools() if where.mode == "each" else (
            await load_mcp_tools(await stack.enter_async_context(
                client.session("mcptask"))))
        tools = {tool.name: tool for tool in tools}

        async def listed():
            return list(tools)

        async def call(name, args):
            said = await tools[name].ainvoke(
                {"type": "tool_call", "id": "1", "name": name, "args": args})
            return said.status == "error", said.text
        yield Client(tools=listed, call=call)


@asynccontextmanager
async def openai(where, ask):
    from agents.mcp import (
        MCPServerSse, MCPServerStdio, MCPServerStreamableHttp)
    kind = {"stdio": MCPServerStdio, "sse": MCPServerSse,
            "http": MCPServerStreamableHttp}[where.transport]
    to = where.stdio or {"url": where.url, "headers": where.headers}
    async with kind(to, client_session_timeout_seconds=WAIT) as server:
        yield session_client(server)


@asynccontextmanager
async def adk(where, ask):
    import mcp_types as types
    from google.adk.tools.mcp_tool import mcp_session_manager as kinds
    from google.adk.tools.mcp_tool.mcp_toolset import McpToolset
    from mcp import StdioServerParameters
    if where.stdio:
        to = kinds.StdioConnectionParams(
            server_params=StdioServerParameters(**where.stdio),
            timeout=WAIT)
    else:
        kind = {"sse": kinds.SseConnectionParams,
                "http": kinds.StreamableHTTPConnectionParams}[where.transport]
        to = kind(url=where.url, headers=where.headers)
    toolset = McpToolset(
        connection_params=to, elicitation_callback=form(ask, types))
    try:
        tools = {tool.name: tool for tool in await toolset.get_tools()}

        async def listed():
            return list(tools)

        async def call(name, args):
            said = await tools[name].run_async(
                args=args, tool_context=MagicMock())
            if "error" in said:
                return True, said["error"]
            return bool(said.get("isError")), said["content"][0]["text"]
        yield Client(tools=listed, call=call)
    finally:
        await toolset.close()


class Script(BaseHTTPRequestHandler):
    """A model of chat completions that calls the tool that it is told to, and
    ends its turn after that."""

    def log_message(self, *_):
        pass

    def do_POST(self):
        length = int(self.headers["Content-Length"])
        asked = json.loads(self.rfile.read(length))
        if "messages" not in asked:
            self.send_error(404)
            return
        message = {"role": "assistant", "content": "done"}
        if asked["messages"][-1]["role"] == "tool":
            self.server.result = asked["messages"][-1]["content"]
        else:
            name, args = self.server.todo
            message = {"role": "assistant", "tool_calls": [{
                "index": 0, "id": "1", "type": "function", "function": {
                    "name": name, "arguments": json.dumps(args)}}]}
        stream = asked.get("stream")
        choice = {"index": 0, "delta" if stream else "message": message,
                  "finish_reason": "tool_calls" if "tool_calls" in message
                  else "stop"}
        body = json.dumps({"id": "1", "created": 1, "model": "script",
                           "object": "chat.completion.chunk" if stream
                           else "chat.completion",
                           "choices": [choice]})
        if stream:
            body = f"data: {body}\n\ndata: [DONE]\n\n"
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream" if stream
                         else "application/json")
        self.end_headers()
        self.wfile.write(body.encode())


@asynccontextmanager
async def hermes(where, ask):
    from run_agent import AIAgent
    from tools import mcp_tool
    from tools.registry import registry
    to = where.stdio or {
        "url": where.url, "headers": where.headers,
        "transport": "sse" if where.transport == "sse" else "http"}
    await asyncio.to_thread(mcp_tool.register_mcp_servers,
                            {"mcptask": {**to, "timeout": WAIT}})
    model = ThreadingHTTPServer(("127.0.0.1", 0), Script)
    threading.Thread(target=model.serve_forever, daemon=True).start()
    try:
        known = [name for name in registry.get_all_tool_names()
                 if name.startswith("mcp__mcptask__")]
        if not known:
            raise ConnectionError(dict(mcp_tool._server_connect_errors))
        agent = AIAgent(
            base_url=f"http://127.0.0.1:{model.server_port}/v1", api_key="x",
            provider="custom", model="script", quiet_mode=True, tool_delay=0,
            enabled_toolsets=["mcp-mcptask"], skip_context_files=True,
            skip_memory=True, max_iterations=3)

        async def tools():
            return [name.removeprefix("mcp__mcptask__") for name in known]

        async def call(name, args):
            model.todo = "mcp__mcptask__" + name, args
            await asyncio.to_thread(agent.run_conversation, "Continue.")
            # It stands between lines for the model.
            said = re.search(r"^\{.*\}$", model.result, re.M | re.S)
            said = json.loads(said.group())
            return "error" in said, said.get("error") or said["result"]
        yield Client(tools=tools, call=call)
    finally:
        model.shutdown()
        await asyncio.to_thread(mcp_tool.shutdown_mcp_servers)


def kind(connect, package, asks=True, more=()):
    return SimpleNamespace(connect=connect, asks=asks,
                           transports=("stdio", "http", *more, "sse"),
                           version=lambda: package + " " + version(package))


OLDER = ("http-2025",)
CLIENTS = {
    "mcp1": kind(mcp1, "mcp"),
    "mcp2": kind(mcp2, "mcp", more=OLDER),
    "fastmcp": kind(fastmcp, "fastmcp", more=OLDER),
    "langchain": kind(langchain, "langchain-mcp-adapters",
                      more=("stdio-each", "http-each")),
    "openai": kind(openai, "openai-agents", asks=False),
    "adk": kind(adk, "google-adk"),
    "pydantic": kind(pydantic, "pydantic-ai-slim", more=OLDER),
    "hermes": kind(hermes, "hermes-agent", asks=False),
}
