/* An agent is an official client with a server process of its own. Every line
   that the server writes is kept as it came and, when the agent ends, checked
   against the schema of the agreed revision. */

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';

import * as v1 from '@modelcontextprotocol/sdk/client/index.js';
import * as v1stdio from '@modelcontextprotocol/sdk/client/stdio.js';
import * as v2 from '@modelcontextprotocol/client';
import * as v2stdio from '@modelcontextprotocol/client/stdio';

import { schemaErrors } from './schema.mjs';

export const SERVER = resolve(process.env.MCPTASK
  ?? join(import.meta.dirname, '..', '..', 'mcptask'));
export const MODERN = '2026-07-28';
const WHO = { name: 'interop', version: '1' };

/* The old client offers 2025-11-25 whatever one asks of it, so an older offer
   is written into its initialize on the way out. */
const sdk = (rev) => ({
  name: `sdk 1.32.2 at ${rev}`,
  rev,
  Transport: v1stdio.StdioClientTransport,
  client: () => new v1.Client(WHO)
});
const client = (rev, how, options) => ({
  name: `client 2.4.0 ${how}`,
  rev,
  Transport: v2stdio.StdioClientTransport,
  client: () => new v2.Client(WHO, options)
});

export const KINDS = [
  sdk('2024-11-05'),
  sdk('2025-03-26'),
  sdk('2025-06-18'),
  sdk('2025-11-25'),
  client('2025-06-18', 'at 2025-06-18',
    { supportedProtocolVersions: ['2025-06-18'] }),
  client(MODERN, `pinned to ${MODERN}`,
    { versionNegotiation: { mode: { pin: MODERN } } }),
  client(MODERN, 'auto', { versionNegotiation: { mode: 'auto' } })
];

/* A directory for one test, and the environment that puts a store there. */
export function newStore(t) {
  const dir = mkdtempSync(join(tmpdir(), 'mcptask-interop-'));
  t.after(() => rmSync(dir, { recursive: true, force: true }));
  return { dir, env: { MCP_TASK_BASE_DIR: dir } };
}

/* What passes between a client and one server process. */
class Wire {
  messages = [];
  #methods = new Map();

  watch(child, take) {
    let rest = '';
    this.exit = once(child, 'exit');
    child.stdout.on('data', (chunk) => {
      const parts = (rest + chunk.toString('latin1')).split('\n');
      rest = parts.pop();
      for (const line of parts) {
        this.last = Buffer.from(line, 'latin1').toString();
        const message = JSON.parse(this.last);
        this.messages.push(message);
        take?.(message);
      }
    });
  }

  sending(message) {
    if ('id' in message && message.method) {
      this.#methods.set(message.id, message.method);
    }
  }

  /* An answer to what had no readable id has a null one, as JSON-RPC asks;
     the schemas know no such answer. */
  check(rev) {
    const wrong = this.messages.flat().filter((m) => m.id !== null)
      .flatMap((m) => schemaErrors(rev, m, this.#methods.get(m.id)));
    assert.deepEqual([...new Set(wrong)], []);
  }
}

export class Agent {
  #wire = new Wire();
  #child;

  static async start(t, kind, store, args = []) {
    const agent = new Agent();
    agent.kind = kind;
    agent.client = kind.client();
    const transport = new kind.Transport({
      command: SERVER, args, env: store.env, stderr: 'inherit'
    });
    agent.#tap(transport);
    t.after(() => agent.#child?.kill('SIGKILL'));
    await agent.client.connect(transport);
    return agent;
  }

  /* The process is listened to beside the transport, since that drops what
     it does not know. */
  #tap(transport) {
    const start = transport.start.bind(transport);
    const send = transport.send.bind(transport);

    transport.start = async () => {
      await start();
      this.#child = transport._process;
      this.#wire.watch(this.#child);
    };
    transport.send = (message, options) => {
      if (message.method === 'initialize') {
        message.params.protocolVersion = this.kind.rev;
      }
      this.#wire.sending(message);
      return send(message, options);
    };
  }

  /* The revision that the server agreed to, by what it sent. */
  agreed() {
    for (const { result } of this.#wire.messages) {
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
    if (this.kind.rev >= '2025-06-18') {
      assert.deepEqual(result.structuredContent, data);
    }
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
    return this.#wire.messages.at(-1).error.code;
  }

  /* Ends as a client does, by end of file: the process must go by itself. */
  async close() {
    await this.client.close();
    assert.deepEqual(await this.#wire.exit, [0, null]);
    this.#wire.check(this.kind.rev);
  }

  async kill() {
    this.#child.kill('SIGKILL');
    await this.#wire.exit;
    this.#wire.check(this.kind.rev);
  }
}

/* A server without a client between: messages as the test writes them. */
export class Raw {
  #wire = new Wire();
  #waiting = [];

  constructor(t, store, args = []) {
    this.child = spawn(SERVER, args, {
      env: store.env, stdio: ['pipe', 'pipe', 'inherit']
    });
    this.#wire.watch(this.child, (m) => this.#waiting.shift()?.(m));
    t.after(() => this.child.kill('SIGKILL'));
  }

  /* Sends a message, or the bytes of one: the next message that comes. */
  ask(message) {
    const text = typeof message === 'string' ? message
      : JSON.stringify(message);
    [message].flat().forEach((m) => typeof m === 'object'
      && this.#wire.sending(m));
    const answer = new Promise((take) => this.#waiting.push(take));
    this.child.stdin.write(`${text}\n`);
    return Promise.race([answer, this.#wire.exit.then(() =>
      assert.fail('the server has ended'))]);
  }

  /* The line that came last, as it came. */
  last() {
    return this.#wire.last;
  }

  async initialize(rev) {
    const answer = await this.ask({
      jsonrpc: '2.0',
      id: 'init',
      method: 'initialize',
      params: { protocolVersion: rev, capabilities: {}, clientInfo: WHO }
    });
    this.child.stdin.write(
      '{"jsonrpc":"2.0","method":"notifications/initialized"}\n');
    return answer.result;
  }

  async close(rev) {
    this.child.stdin.end();
    assert.deepEqual(await this.#wire.exit, [0, null]);
    this.#wire.check(rev);
  }
}
