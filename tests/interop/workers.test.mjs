/* The server and the worker of docs/workers.md, word for word but for a shorter
   lease: each of them and mcptask is killed, and the client gets its result. */

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, readFileSync, symlinkSync,
  writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';

import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport }
  from '@modelcontextprotocol/sdk/client/stdio.js';
import { CallToolResultSchema, CreateTaskResultSchema }
  from '@modelcontextprotocol/sdk/types.js';

import { LIMIT, newStore, WHO } from './agent.mjs';
import { Server, SERVER } from './server.mjs';
import { POLL } from './tasks.mjs';

const DOC = readFileSync(join(import.meta.dirname, '..', '..', 'docs',
  'workers.md'), 'utf8');
const [, SOURCE] = /^```js\n(.*?)^```/ms.exec(DOC);
const [, WORKER] = /file worker\.sh -->\n```sh\n(.*?)^```/ms.exec(DOC);
/* Ends when the test says so, or with the test. */
const RENDER = `echo "$1" >>rendering
until [ -e "$1.go" ] || [ ! -e rendering ]; do sleep 0.1; done
echo "$1.pdf"; exit "$(cat "$1.go")"
`;

async function until(is) {
  while (!is()) {
    await sleep(POLL);
  }
}

const kill = (...pids) => pids.forEach((pid) => process.kill(pid, 'SIGKILL'));

function setUp(t) {
  const store = { ...newStore(t) }; /* one host, where there are several */
  const { dir } = store;
  store.env = { ...store.env, PATH: `${dir}/bin:${process.env.PATH}` };
  mkdirSync(join(dir, 'bin'));
  symlinkSync(SERVER, join(dir, 'bin', 'mcptask'));
  symlinkSync(join(import.meta.dirname, 'node_modules'),
    join(dir, 'node_modules'));
  writeFileSync(join(dir, 'server.mjs'), SOURCE);
  writeFileSync(join(dir, 'worker.sh'),
    WORKER.replaceAll('--lease 60', '--lease 5'));
  writeFileSync(join(dir, 'render'), `#!/bin/sh\n${RENDER}`, { mode: 0o755 });
  return store;
}

/* A client that starts the tool's server. */
async function connect(t, store) {
  const client = new Client(WHO);
  const transport = new StdioClientTransport({
    command: process.execPath, args: [join(store.dir, 'server.mjs')],
    env: { ...store.env, MCPTASK_URL: String(store.server.url('/mcp')) }
  });
  await client.connect(transport);
  await client.listTools();
  t.after(() => client.close());
  return Object.assign(client,
    { pid: transport.pid, tasks: client.experimental.tasks });
}

const render = async (client, page) => (await client.request(
  { method: 'tools/call', params: { name: 'render', arguments: { page } } },
  CreateTaskResultSchema, { task: { ttl: 600000 } })).task.taskId;

/* Polls as often as it takes, also while there is no mcptask. */
async function result(client, taskId) {
  let status;
  for (; !/completed|failed/.test(status); await sleep(POLL)) {
    ({ status } = await client.tasks.getTask(taskId).catch(() => ({})));
  }
  return client.tasks.getTaskResult(taskId, CallToolResultSchema);
}

function work(t, { dir, env }) {
  const shell = spawn('sh', ['worker.sh'],
    { cwd: dir, env, stdio: 'ignore', detached: true });
  t.after(() => {
    try {
      process.kill(-shell.pid, 'SIGKILL');
    } catch {
      /* it has ended */
    }
  });
  return shell.pid;
}

/* The processes of the command that runs, and of its supervisor. */
function running({ env }) {
  const runs = join(env.MCP_TASK_BASE_DIR, 'runs');
  const [id] = existsSync(runs) ? readdirSync(runs) : [];
  const pids = id ? readFileSync(join(runs, id), 'utf8') : '';
  const of = (role) => Number(new RegExp(`^ *(\\d+) ${role}$`, 'm')
    .exec(pids)?.[1]);
  return { supervisor: of('supervisor'), command: of('command') };
}

const renderings = ({ dir }) => (existsSync(join(dir, 'rendering'))
  ? readFileSync(join(dir, 'rendering'), 'utf8').trim().split('\n') : []);

test('server, worker and mcptask are killed in turn', LIMIT, async (t) => {
  const store = setUp(t);
  store.server = new Server(t, store);
  await store.server.up();
  const first = await connect(t, store);
  const taskId = await render(first, 'a');

  kill(first.pid);
  const client = await connect(t, store);
  assert.equal((await client.tasks.getTask(taskId)).status, 'working');

  /* All of a worker while it renders: another one begins again. */
  let worker = work(t, store);
  await until(() => renderings(store).length === 1);
  const { supervisor, command } = running(store);
  kill(-worker, supervisor, -command);
  assert.equal((await client.tasks.getTask(taskId)).status, 'working');
  worker = work(t, store);
  await until(() => renderings(store).length === 2);

  /* Its loop and its supervisor alone: the command ends the task. */
  kill(-worker, running(store).supervisor);
  await store.server.kill();
  await assert.rejects(client.tasks.getTask(taskId));
  writeFileSync(join(store.dir, 'a.go'), '0');
  await store.server.up();
  const { content, isError } = await result(client, taskId);
  assert.deepEqual([content[0].text, isError], ['a.pdf', false]);
  assert.equal(renderings(store).length, 2);
  await client.close();
});

test('what a worker cannot do fails, and ends the call', LIMIT, async (t) => {
  const store = setUp(t);
  store.server = new Server(t, store);
  await store.server.up();
  const client = await connect(t, store);
  const taskId = await render(client, 'b');
  writeFileSync(join(store.dir, 'b.go'), '3');
  work(t, store);
  const { content, isError } = await result(client, taskId);
  assert.deepEqual([content[0].text, isError],
    ['render: exit code 3', true]);
  await client.close();
  await store.server.close();
});
