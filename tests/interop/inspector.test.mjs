/* The command line of the MCP Inspector, in both eras and on each transport.
   It turns an argument that looks like a number into one, whatever the schema
   says. */

import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import test from 'node:test';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

import { LIMIT, newStore } from './agent.mjs';
import { Server, SERVER } from './server.mjs';

const CLI = fileURLToPath(import.meta.resolve(
  '@modelcontextprotocol/inspector/clients/launcher/build/index.js'));

async function inspect(store, target, ...args) {
  const { stdout } = await promisify(execFile)(process.execPath, [
    CLI, '--cli', ...target, '--format', 'json', '--quiet', ...args
  ], { env: { ...process.env, HOME: store.dir }, timeout: LIMIT.timeout });
  return JSON.parse(stdout).result ?? JSON.parse(stdout);
}

async function play(store, target) {
  const { tools } = await inspect(store, target,
    '--method', 'tools/list', '--strict');
  assert.equal(tools.length, 11);

  const made = await inspect(store, target, '--method', 'tools/call',
    '--tool-name', 'create_task', '--tool-arg', 'title=123');
  assert.ok(!made.isError, made.content[0].text);
  const { task_id } = JSON.parse(made.content[0].text);
  assert.match(task_id, /^t-[A-Za-z0-9]{10}$/);

  const got = await inspect(store, target, '--method', 'resources/read',
    '--uri', `task://${task_id}`);
  assert.equal(JSON.parse(got.contents[0].text).title, '123');

  const { messages } = await inspect(store, target, '--method',
    'prompts/get', '--prompt-name', 'resume_task', '--prompt-args',
    `task_id=${task_id}`);
  assert.match(messages[0].content.text, /123/);
}

for (const era of ['legacy', 'modern']) {
  test(`MCP Inspector on stdio, ${era}`, LIMIT, async (t) => {
    const store = newStore(t);
    await play(store, [SERVER, '--protocol-era', era, '-e',
      `MCP_TASK_BASE_DIR=${store.dir}`]);
  });
}

for (const [transport, path, era] of [
  ['http', '/mcp', 'legacy'], ['http', '/mcp', 'modern'],
  ['sse', '/sse', 'legacy']
]) {
  test(`MCP Inspector on ${transport}, ${era}`, LIMIT, async (t) => {
    const store = newStore(t);
    const server = new Server(t, store);
    await server.up();
    await play(store, ['--server-url', server.url(path).href,
      '--transport', transport, '--protocol-era', era]);
    await server.close();
  });
}
