/* The programs that serve, and one of them over HTTP with the store of one
   test. */

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join, resolve } from 'node:path';
import { createInterface } from 'node:readline';

const TREE = join(import.meta.dirname, '..', '..');

export const SERVER = resolve(process.env.MCPTASK ?? join(TREE, 'mcptask'));
const FIXTURE = resolve(process.env.FIXTURE ?? join(TREE, 'build', 'fixture'));

/* How a program is started for a store on stdio, and over HTTP. */
export const PRODUCT = {
  command: SERVER,
  stdio: () => [],
  http: (dir, port) => ['--http', '--port', String(port)]
};
export const CONFORMING = {
  command: FIXTURE,
  stdio: (dir) => [dir, '-'],
  http: (dir, port) => [dir, String(port)]
};
/* Its tools that outlive their requests, and what they are called with. */
export const LASTING = [
  ['slow_compute', { seconds: 1, label: 'x' }],
  ['failing_job'],
  ['protocol_error_job'],
  ['confirm_delete', { filename: 'f' }],
  ['multi_input'],
  ['test_tool_with_task']
];

/* The environment that puts a store into a directory; and, with the address of
   an etcd in TEST_ETCD, into that too: the fixture finds its prefix itself. */
export function storeEnv(dir) {
  const at = process.env.TEST_ETCD;
  return { MCP_TASK_BASE_DIR: dir,
    MCP_TASK_REPO: '', /* whatever repository the tests run in */
    ...at && { TEST_ETCD: at,
      MCP_TASK_STORE: `etcd://${at}/${dir.slice(1).replaceAll('/', '.')}` } };
}

export class Server {
  users = 0; /* agents that are connected to it */
  #store;
  #env; /* where it is started again */
  #args;
  #port = 0; /* the same one whenever it is started again */
  #child;
  #exit;

  constructor(t, store, args = []) {
    this.#store = store;
    this.#env = store.env;
    this.#args = args;
    t.after(() => this.#child?.kill('SIGKILL'));
  }

  /* Starts it unless it runs. */
  async up() {
    if (this.#child) {
      return;
    }
    const { program, dir } = this.#store;
    this.#child = spawn(program.command,
      [...program.http(dir, this.#port), ...this.#args],
      { env: this.#env, stdio: ['ignore', 'ignore', 'pipe'] });
    this.#exit = once(this.#child, 'exit');
    const lines = createInterface({ input: this.#child.stderr });
    const [line] = await Promise.race([once(lines, 'line'), this.#exit]);
    assert.match(String(line), /^\w+: http:\/\/127\.0\.0\.1:\d+$/);
    this.#port = Number(line.slice(line.lastIndexOf(':') + 1));
    lines.on('line', (text) => console.error(text));
  }

  url(path) {
    return new URL(`http://127.0.0.1:${this.#port}${path}`);
  }

  async kill() {
    this.#child.kill('SIGKILL');
    await this.#exit;
    this.#child = undefined;
  }

  /* Ends it as its service manager does. */
  async close() {
    this.#child.kill('SIGTERM');
    assert.deepEqual(await this.#exit, [0, null]);
    this.#child = undefined;
  }
}
