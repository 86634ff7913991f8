/* mcptask beside the servers that an agent could use instead, each as it comes
   from its registry, over stdio, with the same client, and without a network.
   Prints one Markdown table. What would take too long is cut short and said.

   usage: node peers.mjs [--quick] [--times] [NAME...]

   --quick has smaller counts, --times no crowds and no kills.

   The figures of all servers come in turns, so that other work on the machine
   hits all alike. "Tokens" are characters / 4. */

import { spawnSync } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { cpus, loadavg, release, tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport }
  from '@modelcontextprotocol/sdk/client/stdio.js';

import { PEERS, STEPS, title } from './adapters.mjs';

const QUICK = process.argv.includes('--quick');
const TIMES = process.argv.includes('--times');
const NAMES = process.argv.slice(2).filter((a) => !a.startsWith('--'));
const AGENTS = 8;
const CROWD = QUICK ? 80 : 500; /* tasks, for eight agents and for the kills */
const CROWD_MS = QUICK ? 15000 : 45000;
const KILLS = QUICK ? 4 : 30;
const KILL_MS = 300; /* and three creates, at most */
const KILLS_MS = QUICK ? 30000 : 120000;
const STARTS = QUICK ? 3 : 10;
const SIZES = QUICK ? [100, 1000] : [100, 5000, 50000];
const ROUNDS = QUICK ? 5 : 25;
const SIZE_MS = QUICK ? 10000 : 30000; /* for one peer at one size */
const CALL_MS = 60000;

const peers = PEERS.filter((p) => !NAMES.length || NAMES.includes(p.name));
const ISOLATE = spawnSync('unshare', ['-rn', 'true']).status === 0
  ? ['unshare', '-rn'] : [];
const STRACE = spawnSync('strace', ['-V']).status === 0;

const note = (...words) => process.stderr.write(`${words.join(' ')}\n`);
const median = (list) => list.toSorted((a, b) => a - b)[list.length >> 1];
const dirs = [];
['SIGINT', 'SIGTERM'].forEach((name) => process.on(name, () => {
  print(); /* what there is so far */
  process.exit(1);
}));
process.on('exit', () => dirs.forEach((dir) =>
  rmSync(dir, { recursive: true, force: true, maxRetries: 3 })));

function newStore(peer, tasks = 0) {
  const dir = mkdtempSync(join(tmpdir(), 'peers-'));
  dirs.push(dir);
  peer.prepare?.(dir);
  if (tasks) {
    peer.seed(dir, tasks);
  }
  return dir;
}

/* A process and all that it started. */
function tree(pid) {
  try {
    return [pid, ...readdirSync(`/proc/${pid}/task`).flatMap((thread) =>
      readFileSync(`/proc/${pid}/task/${thread}/children`, 'utf8').split(' ')
        .filter(Boolean).flatMap((child) => tree(Number(child))))];
  } catch {
    return []; /* it ended meanwhile */
  }
}

/* A server with its client. */
class Session {
  calls = 0;
  bytes = 0;

  static async start(peer, dir, wrap = []) {
    const s = new Session();
    const [command, ...args] = [...wrap, ...ISOLATE, ...peer.command()];
    s.dir = dir;
    s.client = new Client({ name: 'peers', version: '1' });
    s.client.onerror = (e) => {
      s.error = e.message;
    };
    s.transport = new StdioClientTransport({ command, args, cwd: dir,
      stderr: 'ignore',
      env: { PATH: process.env.PATH, HOME: dir, ...peer.env?.(dir) } });
    await s.client.connect(s.transport, { timeout: 2 * CALL_MS });
    s.pid = s.transport.pid;
    return s;
  }

  /* The text of a tool's answer, which is what a model reads. */
  async call(name, args = {}) {
    const result = await this.client.callTool({ name, arguments: args },
      undefined, { timeout: CALL_MS });
    const text = result.content.map((part) => part.text ?? '').join('\n');
    this.calls++;
    this.bytes += Buffer.byteLength(text);
    this.last = text;
    if (result.isError) {
      throw new Error(`${name}: ${text.slice(0, 200)}`);
    }
    return text;
  }

  async json(name, args) {
    return JSON.parse(await this.call(name, args));
  }

  close() {
    return this.client.close().catch(() => {});
  }

  kill() {
    tree(this.pid).forEach((pid) => {
      try {
        process.kill(pid, 'SIGKILL');
      } catch { /* it ended meanwhile */ }
    });
  }
}

async function withSession(peer, dir, body) {
  const s = await Session.start(peer, dir);
  try {
    return await body(s);
  } finally {
    await s.close();
  }
}

async function timing(start) {
  const t = performance.now();
  const result = await start();
  return [performance.now() - t, result];
}

/* Eight processes on one store do something until the time is up. */
async function crowd(peer, dir, work) {
  const all = [];
  for (let i = 0; i < AGENTS; i++) {
    all.push(await Session.start(peer, dir));
  }
  const end = performance.now() + CROWD_MS;
  const start = performance.now();
  let errors = 0;
  await Promise.all(all.map(async (s, i) => {
    for (let go = true; go && performance.now() < end;) {
      try {
        go = await work(s, i);
      } catch (e) {
        errors++;
        note(peer.name, e.message.split('\n', 1)[0]);
      }
    }
  }));
  const seconds = (performance.now() - start) / 1000;
  await Promise.all(all.map((s) => s.close()));
  return { errors, cut: performance.now() >= end, seconds };
}

const of = (n, noun) => `${n} ${noun}${n === 1 ? '' : 's'}`;
const after = ({ errors, cut, seconds }) => (errors
  ? `; ${of(errors, 'call')} failed` : '')
  + (cut ? `; stopped after ${Math.round(seconds)} s`
    : `; ${seconds.toPrecision(2)} s`);

const remaining = (peer, dir) => withSession(peer, dir, peer.all)
  .catch((e) => (note(peer.name, e.message), []));

async function creating(peer) {
  const dir = newStore(peer);
  const made = [];
  let tried = 0;
  const how = await crowd(peer, dir, async (s) => {
    const name = `Task ${tried++} of the crowd`;
    made.push([await peer.create(s, name), name]);
    return tried < CROWD;
  });
  const kept = new Set((await remaining(peer, dir)).map((task) => task.title));
  const lost = made.filter(([, name]) => !kept.has(name)).length;
  const twice = made.length - new Set(made.map(([id]) => id)).size;
  return `${lost} of ${made.length} lost`
    + (twice ? `; ${twice} ids twice` : '')
    + (kept.size ? '' : '; the store cannot be read') + after(how);
}

async function claiming(peer) {
  const dir = newStore(peer, CROWD);
  const holders = new Map();
  const how = await crowd(peer, dir, async (s, i) => {
    const got = await peer.take(s, `agent-${i}`);
    if (got?.mine) {
      holders.set(got.id, (holders.get(got.id) ?? new Set()).add(i));
    }
    return got !== undefined;
  });
  const is = new Map((await remaining(peer, dir))
    .map((task) => [task.id, task]));
  const sets = [...holders];
  const many = sets.filter(([, set]) => set.size > 1).length;
  const lost = sets.filter(([id]) => is.get(id)?.open ?? true).length;
  const missing = CROWD - is.size;
  return `${sets.length - many} / ${many} / ${lost}`
    + (is.size ? '' : '; the store cannot be read')
    + (is.size && missing ? `; ${missing} tasks are missing` : '')
    + after(how);
}

/* Kills a server while it creates, again and again; each next one tells what is
   left. */
async function killing(peer) {
  const seeded = Array.from({ length: CROWD }, (_, i) => title(i));
  const end = performance.now() + KILLS_MS;
  let dir = newStore(peer, CROWD);
  let made = [], total = 0, lost = 0, damaged = 0, kills = 0;
  for (;;) {
    const s = await Session.start(peer, dir);
    const kept = new Set((await peer.all(s).catch(() => []))
      .map((task) => task.title));
    lost += made.filter((name) => !kept.has(name)).length;
    made = made.filter((name) => kept.has(name));
    damaged += seeded.some((name) => !kept.has(name));
    const result = (stopped) => `${lost} of ${total} lost; ${damaged
      ? `damaged ${of(damaged, 'time')}` : 'not damaged'}${stopped}`;
    if (kills === KILLS || performance.now() > end) {
      await s.close();
      return result(kills < KILLS ? `; ${of(kills, 'kill')}` : '');
    }
    if (seeded.some((name) => !kept.has(name))) { /* of no use any more */
      await s.close();
      dir = newStore(peer, CROWD);
      made = [];
      continue;
    }
    const create = async (name) => {
      await peer.create(s, name);
      made.push(name);
      total++;
    };
    let took;
    try {
      [took] = await timing(() => create(`Life ${kills}`));
    } catch (e) {
      note(peer.name, e.message);
      await s.close();
      return result(`; after ${of(kills, 'kill')} it refuses to create`);
    }
    let alive = true;
    const writer = (async () => {
      for (let i = 0; alive; i++) {
        await create(`Task ${i} of life ${kills}`);
      }
    })().catch(() => {});
    await sleep(Math.random() * (KILL_MS + 3 * took));
    s.kill();
    alive = false;
    await s.close();
    await writer;
    kills++;
  }
}

/* Of twenty open tasks and one that a killed agent worked on. */
async function resuming(peer) {
  const dir = newStore(peer, 20);
  const a = await Session.start(peer, dir);
  await peer.leave(a);
  a.kill();
  await a.close();
  return withSession(peer, dir, async (s) => {
    await peer.resume(s);
    if (![STEPS.done, STEPS.next].every((step) => s.last.includes(step))) {
      throw new Error(`${peer.name} does not tell: ${s.last}`);
    }
    return `${of(s.calls, 'call')}, ${s.bytes.toLocaleString('en')} bytes`;
  });
}

async function syncing(peer) {
  if (!STRACE) {
    return 'not measured, no strace';
  }
  const dir = newStore(peer);
  const log = join(dir, 'strace.out');
  const s = await Session.start(peer, dir, ['strace', '-f', '-qq', '-o', log,
    '-e', 'trace=fsync,fdatasync,msync,sync_file_range']);
  const count = () => readFileSync(log, 'utf8').split('\n')
    .filter((line) => /sync\w*\(/.test(line)).length;
  await peer.create(s, 'The first');
  const before = count();
  for (let i = 0; i < 10; i++) {
    await peer.create(s, `Task ${i}`);
  }
  const syncs = (count() - before) / 10;
  await s.close();
  return syncs ? `yes, ${syncs} sync${syncs === 1 ? '' : 's'}` : 'no';
}

function rss(pid) {
  return tree(pid).reduce((sum, each) => sum + Number(/VmRSS:\s*(\d+)/
    .exec(readFileSync(`/proc/${each}/status`, 'utf8'))?.[1] ?? 0), 0);
}

async function weighing(peer) {
  return withSession(peer, newStore(peer), async (s) => {
    const { tools } = await s.client.listTools();
    for (let i = 0; i < 100; i++) {
      await peer.create(s, `Task ${i}`);
    }
    const mb = rss(s.pid) / 1024;
    const tokens = JSON.stringify(tools).length / 4;
    return { mb: short(mb),
      tools: `${tools.length}, ${Math.round(tokens).toLocaleString('en')}` };
  });
}

const ms = (t) => t >= 1000 ? `${(t / 1000).toPrecision(2)} s`
  : `${t >= 100 ? t.toFixed(0) : t.toPrecision(2)} ms`;
const short = (n) => n < 10 ? n.toPrecision(2)
  : Math.round(n).toLocaleString('en');
const ratio = (t, base) => base && t !== base
  ? ` (${Number((t / base).toPrecision(2))}x)` : '';

/* Times of each peer in turns, as text beside the first peer's. */
async function starting() {
  const stores = peers.map((peer) => newStore(peer, 100));
  const times = peers.map(() => []);
  for (let i = 0; i < STARTS; i++) {
    for (const [p, peer] of peers.entries()) {
      const [t, s] = await timing(() => Session.start(peer, stores[p]));
      times[p].push(t);
      await s.close();
    }
  }
  return times.map((list) =>
    ms(median(list)) + ratio(median(list), median(times[0])));
}

const OPS = ['create', 'get', 'list'];

async function sized(size) {
  const runs = [];
  for (const peer of peers) {
    note(peer.name, 'at', size);
    const run = { peer, spent: 0, create: [], get: [], list: [] };
    runs.push(run);
    try {
      [run.spent, run.s] = await timing(() =>
        Session.start(peer, newStore(peer, size)));
      const [t, id] = await timing(() => peer.create(run.s, 'The first'));
      run.id = id; /* also reads what is read once */
      run.spent += t;
    } catch (e) {
      run.failed = e.message;
    }
  }
  for (let i = 0; i < ROUNDS; i++) {
    for (const run of runs) {
      const { peer, s, id } = run;
      for (const op of OPS) {
        if (run.failed || (i > 2 && run.spent > SIZE_MS)) {
          continue;
        }
        const asked = { create: `Task ${i} more`, get: id }[op];
        const bytes = s.bytes;
        try {
          const [t] = await timing(() => peer[op](s, asked));
          run[op].push(t);
          run.spent += t;
          run.bytes = op === 'list' ? s.bytes - bytes : undefined;
        } catch (e) {
          run.failed = `${op}: ${s.error ?? e.message}`;
          note(peer.name, run.failed);
        }
      }
    }
  }
  await Promise.all(runs.map((run) => run.s?.close()));
  const cells = OPS.map((op) => runs.map((run) => run[op].length
    ? ms(median(run[op])) + ratio(median(run[op]), median(runs[0][op]))
    : `not possible: ${run.failed.slice(0, 60)}`));
  return [...cells.map((list, i) => [`${OPS[i]}, ${size} tasks`, list]),
    [`answer of list, ${size} tasks`, runs.map((run) => run.bytes
      ? `${short(run.bytes / 1024)} KB` : '-')]];
}

/* One figure of all, one peer after the other. */
async function each(what, measure) {
  const cells = [];
  for (const peer of peers) {
    note(peer.name, what);
    try {
      cells.push(await measure(peer));
    } catch (e) {
      cells.push(`not possible: ${e.message.slice(0, 60)}`);
    }
  }
  return cells;
}

const rows = [];

function row(what, cells) {
  rows.push([what, ...cells]);
  note(what, '|', cells.join(' | '));
}

function print() {
  console.log(`| | ${peers.map((peer) => peer.name).join(' | ')} |`);
  console.log(`|---|${peers.map(() => '---|').join('')}`);
  rows.forEach((cells) => console.log(`| ${cells.join(' | ')} |`));
  console.log(`\n${cpus().length} cores of ${cpus()[0].model.trim()}, Linux `
    + `${release()}, load ${loadavg()[1].toFixed(1)}, Node `
    + `${process.versions.node}, `
    + `${ISOLATE.length ? 'no network' : 'with the host\'s network'}.`);
}

row('version', peers.map((peer) => peer.version));
row('how an agent claims', peers.map((peer) => peer.claim));
if (!TIMES) {
  row(`${AGENTS} agents claim ${CROWD} tasks: had by one / by several / `
    + 'claims lost', await each('claiming', claiming));
  row(`${AGENTS} agents create ${CROWD} tasks`,
    await each('creating', creating));
  row(`\`kill -9\`, ${KILLS} times, while it creates`,
    await each('killing', killing));
}
row('synced before the answer', await each('syncing', syncing));
row('until another client knows what a killed agent did and what is next',
  await each('resuming', resuming));
row('reports that the agent exited', peers.map((peer) => peer.owner));
const weights = await each('weighing', weighing);
row('memory after 100 tasks', weights.map(({ mb }) => `${mb} MB`));
row('start', await starting());
row('tools, and tokens of their list', weights.map(({ tools }) => tools));
for (const size of SIZES) {
  (await sized(size)).forEach(([what, cells]) => row(what, cells));
}

print();
