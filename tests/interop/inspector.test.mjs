/* The command line of the MCP Inspector, in both eras. It turns an argument
   that looks like a number into one, whatever the schema says. */

import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import test from 'node:test';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

import { newStore, SERVER } from './agent.mjs';

const CLI = fileURLToPath(import.meta.resolve(
  '@modelcontextprotocol/inspector/clients/launcher/build/index.js'));

async function inspect(store, era, ...args) {
  const { stdout } = await promisify(execFile)(process.execPath, [
    CLI, '--cli', SERVER, '--format', 'json', '--quiet',
    '--protocol-era', era, '-e', `MCP_TASK_BASE_DIR=${store.dir}`, ...args
  ], { env: { ...process.env, HOME: store.dir }, timeout: 60000 });
  return JSON.parse(stdout).result ?? JSON.parse(stdout);
}

for (const era of ['legacy', 'modern']) {
  test(`MCP Inspector, ${era}`, async (t) => {
    const store = newStore(t);
    const { tools } = await inspect(store, era,
      '--method', 'tools/list', '--strict');
    assert.equal(tools.length, 8);

    const made = await inspect(store, era, '--method', 'tools/call',
      '--tool-name', 'create_task', '--tool-arg', 'title=123');
    assert.ok(!made.isError, made.content[0].text);
    const { task_id } = JSON.parse(made.content[0].text);
    assert.match(task_id, /^t-[A-Za-z0-9]{10}$/);

    const got = await inspect(store, era, '--method', 'resources/read',
      '--uri', `task://${task_id}`);
    assert.equal(JSON.parse(got.contents[0].text).title, '123');
  });
}
