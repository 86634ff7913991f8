/* An agent is an official client with a server on the test's store: a process
   of its own on stdio, or the one server over HTTP, which the first agent that
   needs it starts. */

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';

import * as v1 from '@modelcontextprotocol/sdk/client/index.js';
import { SSEClientTransport as V1Sse }
  from '@modelcontextprotocol/sdk/client/sse.js';
import { StdioClientTransport as V1Stdio }
  from '@modelcontextprotocol/sdk/client/stdio.js';
import { StreamableHTTPClientTransport as V1Http }
  from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import * as v2 from '@modelcontextprotocol/client';
import { StdioClientTransport as V2Stdio }
  from '@modelcontextprotocol/client/stdio';

import { PRODUCT, Server, storeEnv } from './server.mjs';
import { Wire } from './wire.mjs';

export const MODERN = '2026-07-28';
export const LIMIT = { timeout: 60000 }; /* of each test */
export const WHO = { name: 'interop', version: '1' };
const REMOTE = fileURLToPath(new URL('node_modules/mcp-remote/dist/proxy.js',
  import.meta.url));

const V1 = { stdio: V1Stdio, http: V1Http, sse: V1Sse };
const V2 = {
  stdio: V2Stdio,
  http: v2.StreamableHTTPClientTransport,
  sse: v2.SSEClientTransport
};
const PATHS = { http: '/mcp', sse: '/sse' }; /* none: its own server */

/* The old client always offers 2025-11-25, so an older offer is written into
   its initialize on the way out. */
const sdk = (over, rev) => ({
  name: `sdk 1.32.2 on ${over} at ${rev}`,
  rev,
  path: PATHS[over],
  Transport: V1[over],
  client: (who) => new v1.Client(who)
});
const client = (over, rev, how, options) => ({
  name: `client 2.4.0 on ${over} ${how}`,
  rev,
  path: PATHS[over],
  Transport: V2[over],
  client: (who) => new v2.Client(who, options)
});
const each = (over) => [
  client(over, '2025-11-25', 'legacy',
    { versionNegotiation: { mode: 'legacy' } }),
  client(over, MODERN, `pinned to ${MODERN}`,
    { versionNegotiation: { mode: { pin: MODERN } } }),
  client(over, MODERN, 'auto', { versionNegotiation: { mode: 'auto' } })
];

export const KINDS = [
  sdk('stdio', '2024-11-05'),
  sdk('stdio', '2025-03-26'),
  sdk('stdio', '2025-06-18'),
  sdk('stdio', '2025-11-25'),
  client('stdio', '2025-06-18', 'at 2025-06-18',
    { supportedProtocolVersions: ['2025-06-18'] }),
  ...each('stdio'),
  sdk('http', '2024-11-05'),
  sdk('http', '2025-03-26'),
  sdk('http', '2025-06-18'),
  sdk('http', '2025-11-25'),
  ...each('http'),
  sdk('sse', '2024-11-05'),
  sdk('sse', '2025-11-25'),
  client('sse', '2025-11-25', 'legacy', {})
];

/* A process that speaks stdio with its client and HTTP with the server. */
const remote = (over, ...more) => ({
  ...sdk('stdio', '2025-11-25'),
  name: [`mcp-remote 0.15.1 on ${over}`, ...more].join(' '),
  path: PATHS[over],
  proxy: ['--transport', `${over}-only`, ...more]
});

export const REMOTES = [remote('http'), remote('sse')];
/* This one speaks 2026-07-28 with the server. It acknowledges a subscription
   two seconds before it asks the server for it. */
export const REMOTE_AUTO = remote('http', '--protocol', 'auto');

/* A user who accepts every form. */
export const accept = ({ params }) => ({
  action: 'accept',
  content: Object.fromEntries(
    Object.entries(params.requestedSchema.properties).map(([name, { type }]) =>
      [name, type === 'boolean' ? true : `my ${name}`]))
});

/* A directory for one test, and the environment that puts a store there. With
   TEST_HOSTS each process gets another one, as of a host of its own. */
export function newStore(t, program = PRODUCT) {
  const dir = mkdtempSync(join(tmpdir(), 'mcptask-interop-'));
  const store = { dir, program, env: storeEnv(dir) };
  let hosts = 0;
  t.after(() => rmSync(dir, { recursive: true, force: true }));
  if (process.env.TEST_HOSTS && program === PRODUCT) {
    Object.defineProperty(store, 'env', { enumerable: true, get: () => ({
      ...storeEnv(dir),
      MCP_TASK_BASE_DIR: join(dir, `host${hosts++}`),
      MCP_TASK_ARTIFACTS_DIR: join(dir, 'artifacts')
    }) });
  }
  return store;
}

export class Agent {
  heard = []; /* notifications, as the client gave them on */
  wire = new Wire();
  env; /* of its server, if its child is that */
  #child;
  #exit;
  #server; /* or undefined: its child is the server */
  #listening;

  /* Options: args of the server, where it is started by this; token; the name
     of the client; what is to be done with the client before it connects. */
  static async start(t, kind, store,
    { args = [], token, name = WHO.name, prepare } = {}) {
    const agent = new Agent();
    agent.kind = kind;
    agent.client = kind.client({ ...WHO, name });
    prepare?.(agent.client);
    agent.client.fallbackNotificationHandler = async (note) => {
      agent.heard.push(note);
      agent.wire.look();
    };
    if (kind.path) {
      agent.#server = store.server ??= new Server(t, store, args);
      await agent.#server.up();
    }
    const transport = agent.#transport(store, args, token);
    agent.#tap(transport);
    t.after(() => agent.#child?.kill('SIGKILL'));
    t.after(() => agent.client.close());
    await agent.client.connect(transport);
    if (agent.#server) {
      agent.#server.users++;
    }
    return agent;
  }

  #transport(store, args, token) {
    const { path, proxy, Transport } = this.kind;
    const headers = token ? { authorization: `Bearer ${token}` } : {};
    if (!path) {
      this.env = store.env;
      return new Transport({
        command: store.program.command,
        args: [...store.program.stdio(store.dir), ...args],
        env: this.env,
        cwd: store.cwd, /* undefined: that of this process */
        stderr: 'inherit'
      });
    }
    const url = this.#server.url(path);
    if (!proxy) {
      return new Transport(url,
        { fetch: this.wire.fetch, requestInit: { headers } });
    }
    return new Transport({
      command: process.execPath,
      args: [REMOTE, url.href, '--silent', ...proxy,
        ...Object.entries(headers).flatMap((field) =>
          ['--header', field.join(':')])],
      env: { MCP_REMOTE_CONFIG_DIR: join(store.dir, 'remote') },
      stderr: 'inherit'
    });
  }

  /* Reads the process beside the transport, which drops what it does not
     know. */
  #tap(transport) {
    const start = transport.start.bind(transport);
    const send = transport.send.bind(transport);

    this.transport = transport;
    transport.start = async () => {
      await start();
      this.#child = transport._process;
      if (this.#child) {
        this.#exit = once(this.#child, 'exit');
        this.wire.watch(this.#child);
      }
    };
    transport.send = (message, options) => {
      if (message.method === 'initialize') {
        message.params.protocolVersion = this.kind.rev;
      }
      this.wire.sending(message);
      return send(message, options);
    };
  }

  /* The revision that the server agreed to, by what it sent. */
  agreed() {
    for (const { result } of this.wire.messages) {
      if (result?.protocolVersion ?? result?.resultType) {
        return result.protocolVersion ?? MODERN;
      }
    }
  }

  callTool(name, args) {
    return this.client.callTool({ name, arguments: args });
  }

  /* Calls a tool that must succeed: its answer as an object. */
  async tool(name, args) {
    const result = await this.callTool(name, args);
    assert.ok(!result.isError, result.content[0].text);
    assert.equal(result.content.length, 1);
    const data = JSON.parse(result.content[0].text);
    assert.equal(result.structuredContent, undefined);
    return data;
  }

  /* Calls a tool that must refuse: the error as an object. */
  async refused(name, args) {
    const result = await this.callTool(name, args);
    assert.equal(result.isError, true, result.content[0].text);
    return JSON.parse(result.content[0].text);
  }

  async read(uri) {
    const { contents } = await this.client.readResource({ uri });
    assert.equal(contents.length, 1);
    assert.equal(contents[0].uri, uri);
    return contents[0];
  }

  /* A JSON-RPC error: its code as it was sent, since clients translate. */
  async fault(promise) {
    await assert.rejects(promise, (e) => Number.isInteger(e.code));
    return this.wire.messages.at(-1).error.code;
  }

  /* Subscribes to changes of a resource, and of the list of them. */
  async subscribe(uri) {
    if (this.kind.rev === MODERN) {
      this.#listening = await this.client.listen(
        { resourceSubscriptions: [uri], resourcesListChanged: true });
    } else {
      await this.client.subscribeResource({ uri });
    }
  }

  async unsubscribe(uri) {
    await (this.#listening?.close() ?? this.client.unsubscribeResource({
      uri
    }));
  }

  /* Waits until the client was told of this n times. */
  hears(method, uri, n = 1) {
    const is = (note) => note.method === `notifications/resources/${method}`
      && (!uri || note.params.uri === uri);
    return this.wire.until(() => this.heard.filter(is).length >= n);
  }

  /* Waits until it has a server again that can ask it: over SSE the stream has
     to be open for that. */
  async reconnects() {
    while (this.kind.path === PATHS.sse) {
      try {
        return await this.client.ping();
      } catch {
        await sleep(100);
      }
    }
  }

  /* Whether it has to subscribe again after the server was killed: an SSE
     stream of the SDKs does not say which one it resumes. */
  forgets() {
    return this.kind.rev === MODERN || this.kind.path === PATHS.sse;
  }

  /* Ends as a client does: on stdio by end of file, after which the process
     must end by itself; otherwise the server ends with its last agent. */
  async close() {
    await this.client.close();
    if (!this.#server) {
      assert.deepEqual(await this.#exit, [0, null]);
    } else {
      await this.#exit;
      if (--this.#server.users === 0) {
        await this.#server.close();
      }
    }
    this.wire.check(this.kind.rev);
  }

  /* The server dies, and the client with it. */
  async kill() {
    if (this.#server) {
      await this.#server.kill();
      this.#server.users--;
      await this.client.close();
    } else {
      this.#child.kill('SIGKILL');
    }
    await this.#exit;
    this.wire.check(this.kind.rev);
  }
}

const META = 'io.modelcontextprotocol/';
export const EXTENSION = { extensions: { [`${META}tasks`]: {} } };

/* A request of the newest revision, which carries its own envelope. */
export const modern = (id, method, params,
  { version = MODERN, capabilities = {} } = {}) => ({
  jsonrpc: '2.0',
  id,
  method,
  params: {
    ...params,
    _meta: {
      [`${META}protocolVersion`]: version,
      [`${META}clientInfo`]: WHO,
      [`${META}clientCapabilities`]: capabilities
    }
  }
});

/* A server without a client: the test writes the messages. */
export class Raw {
  #wire = new Wire();
  #exit;

  constructor(t, store, args = []) {
    const { command, stdio } = store.program;
    this.child = spawn(command, [...stdio(store.dir), ...args], {
      env: store.env, stdio: ['pipe', 'pipe', 'inherit']
    });
    this.#exit = once(this.child, 'exit');
    this.#wire.watch(this.child);
    t.after(() => this.child.kill('SIGKILL'));
  }

  /* The messages that are not notifications. */
  #answers() {
    return this.#wire.messages.filter((m) => !m.method);
  }

  /* Sends a message, or the bytes of one. */
  send(message) {
    const text = typeof message === 'string' ? message
      : JSON.stringify(message);
    [message].flat().forEach((m) => typeof m === 'object'
      && this.#wire.sending(m));
    this.child.stdin.write(`${text}\n`);
  }

  /* The next answer that comes when this is sent. */
  async ask(message) {
    const n = this.#answers().length;
    this.send(message);
    await this.#until(() => this.#answers().length > n);
    return this.#answers()[n];
  }

  /* The first message that passes the test. */
  async hears(is) {
    await this.#until(() => this.#wire.messages.some(is));
    return this.#wire.messages.find(is);
  }

  #until(is) {
    return Promise.race([this.#wire.until(is),
      this.#exit.then(() => assert.fail('the server has ended'))]);
  }

  /* The last line, unparsed. */
  last() {
    return this.#wire.last;
  }

  async initialize(rev, capabilities = {}) {
    const answer = await this.ask({
      jsonrpc: '2.0',
      id: 'init',
      method: 'initialize',
      params: { protocolVersion: rev, capabilities, clientInfo: WHO }
    });
    this.child.stdin.write(
      '{"jsonrpc":"2.0","method":"notifications/initialized"}\n');
    return answer.result;
  }

  async close(rev) {
    this.child.stdin.end();
    assert.deepEqual(await this.#exit, [0, null]);
    this.#wire.check(rev);
  }

  async kill(rev) {
    this.child.kill('SIGKILL');
    await this.#exit;
    this.#wire.check(rev);
  }
}
