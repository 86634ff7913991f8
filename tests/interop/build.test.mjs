/* A build of 40 minutes: one agent starts it and may leave, another waits for
   it, a third sends messages. The build is a stand-in that does what the test
   writes into a pipe, and ends with the test. */

import assert from 'node:assert/strict';
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, constants, openSync, readFileSync, writeSync }
  from 'node:fs';
import { join } from 'node:path';
import { describe } from 'node:test';

import { Agent } from './agent.mjs';
import { Bill, SCENES } from './bill.mjs';
import { eachKind } from './each.mjs';
import { SERVER } from './server.mjs';

const STAND_IN = `while read -r line; do
  case $line in
    'end '*) exit "\${line#end }" ;;
    much) seq 20000 | sed 's/.*/  CC    part-&.c/' ;;
    *) echo "$line" ;;
  esac
done <"$0"`;

/* A build, which runs or waits for orders. */
class Build {
  constructor(t, store, name) {
    this.store = store;
    this.path = join(store.dir, name);
    execFileSync('mkfifo', [this.path]);
    this.fd = openSync(this.path, constants.O_RDWR);
    t.after(() => closeSync(this.fd));
  }

  say(line) {
    writeSync(this.fd, `${line}\n`);
  }

  /* Starts it as an agent does in its shell. Returns its task. */
  async start(bill, ...options) {
    const args = ['run', '--every', '1', '-a', 'builder', ...options, '--',
      'sh', '-c', STAND_IN, this.path];
    this.child = spawn(SERVER, args,
      { env: { ...process.env, ...this.store.env },
        stdio: ['ignore', 'pipe', 'pipe'] });
    this.exit = once(this.child, 'exit');
    const front = !options.includes('-d');
    const [first] = await once(this.child[front ? 'stderr' : 'stdout'], 'data');
    bill.pay(args.slice(0, -4), String(first));
    if (front) {
      this.child.stdout.resume();
    }
    [, this.id] = /(t-\w+)/.exec(first);
    return this.id;
  }

  supervisor() {
    const file = join(this.store.dir, 'runs', this.id);
    return Number(/^ *(\d+) supervisor$/m.exec(readFileSync(file))[1]);
  }
}

/* Waits for a task. */
async function reaches(agent, task_id, is) {
  for (;;) {
    const task = await agent.tool('get_task', { task_id });
    if (is(task)) {
      return task;
    }
    await agent.tool('wait_for_task',
      { task_id, since_seq: task.seq, timeout_seconds: 50 });
  }
}

const wait = (bill, task_id, until) => bill.tool('wait_for_task',
  { task_id, agent: 'waiter', until, timeout_seconds: 50 });

/* It fails after a while. Its log is long, and the waiting agent reads little
   of it. */
async function fails({ t, store, builder, waiter, lead, witness }) {
  const build = new Build(t, store, 'fails');
  const task_id = await build.start(builder, '-d', '--title', 'Build it all');
  let ended = false;
  const met = wait(waiter, task_id, 'terminal');
  met.then(() => { ended = true; });

  build.say('10 minutes: 25 %');
  await reaches(witness, task_id, ({ checkpoint }) =>
    checkpoint?.notes === '10 minutes: 25 %');
  await lead.tool('update_task', { task_id, agent: 'lead',
    message: 'The disk of the other machine is larger.' });
  build.say('30 minutes: 75 %');
  const task = await reaches(witness, task_id, ({ checkpoint }) =>
    checkpoint.notes === '30 minutes: 75 %');
  assert.equal(task.status, 'in_progress');
  assert.equal(task.lease.agent, 'builder');
  assert.equal(ended, false);
  /* The supervisor reads no messages meant for its agent. */
  const { messages } = await builder.tool('save_checkpoint',
    { task_id, agent: 'builder' });
  assert.deepEqual(messages.map(({ from, text }) => [from, text]),
    [['lead', 'The disk of the other machine is larger.']]);

  build.say('much');
  build.say('part-20001.c:7: error: no space left');
  build.say('end 2');
  const { met: is, reason, result, task: { status } } = await met;
  assert.equal(is, true);
  assert.equal(status, 'failed');
  assert.match(reason, /^exit code 2 after \d+s$/);
  assert.match(result, /part-20001\.c:7: error: no space left$/);
  const log = { task_id, section: 'artifact', artifact_id: 'a1' };
  const { content } = await witness.tool('get_task', { ...log, offset: -60 });
  assert.match(content, /part-20001\.c:7: error: no space left\n$/);
  const found = await witness.tool('get_task',
    { ...log, match: 'error:', lines: 1 });
  assert.equal(found.content, '20002-  CC    part-20000.c\n'
    + '20003:part-20001.c:7: error: no space left\n');
}

/* Another agent asks it to stop. */
async function isStopped({ t, store, builder, waiter, lead }) {
  const build = new Build(t, store, 'is stopped');
  const task_id = await build.start(builder, '-d');
  const met = wait(waiter, task_id, 'done');
  await lead.tool('update_task', { task_id, agent: 'lead',
    cancel_requested: { reason: 'the wrong branch' } });
  const { met: is, never, reason } = await met;
  assert.deepEqual([is, never], [false, true]);
  assert.match(reason, /^lead asked to stop: the wrong branch$/);
  const { status, test_results: [{ exit_code }] } =
    await waiter.tool('get_task', { task_id });
  assert.deepEqual([status, exit_code], ['cancelled', 143]);
}

/* Its supervisor is killed: only when the last of its processes is gone, the
   task fails, and the waiting agent is told. */
async function isLost({ t, store, builder, waiter, witness }) {
  const build = new Build(t, store, 'is lost');
  const task_id = await build.start(builder);
  let ended = false;
  const met = wait(waiter, task_id, 'terminal');
  met.then(() => { ended = true; });
  process.kill(build.supervisor(), 'SIGKILL');
  /* The process in front waits for the group, and nobody can start the build
     again meanwhile. */
  assert.throws(() => execFileSync(SERVER,
    ['run', '-a', 'builder', task_id, '--', 'true'],
    { env: { ...process.env, ...store.env }, stdio: 'pipe' }),
  { status: 4, message: /its command still runs/ });
  const { status } = await witness.tool('get_task', { task_id });
  assert.equal(status, 'in_progress');
  assert.equal(ended, false);
  build.say('end 0');
  const { met: is, task, reason } = await met;
  assert.deepEqual([is, task.status], [true, 'failed']);
  assert.equal(reason, 'its supervisor was killed: the result is unknown');
  assert.equal((await build.exit)[0], 1);
}

/* The builder, the waiting agent and the third one, with the most calls and
   bytes that each build may cost them. */
const PLAYS = [
  [fails, [[2, 832], [1, 5632], [1, 640]]],
  [isStopped, [[1, 320], [2, 2560], [1, 640]]],
  [isLost, [[1, 320], [1, 1024], [0, 0]]]
];

async function scene(t, kind, store) {
  const join = () => Agent.start(t, kind, store);
  const agents = [await join(), await join(), await join()];
  const witness = await Agent.start(t, SCENES[0], store);
  await Promise.all(PLAYS.map(async ([play, ceilings]) => {
    const bills = agents.map((agent) => new Bill(agent));
    const [builder, waiter, lead] = bills;
    await play({ t, store, builder, waiter, lead, witness });
    t.diagnostic(`${play.name}: ${bills.join('; ')}`);
    bills.forEach(({ calls, bytes }, i) => {
      assert.equal(calls, ceilings[i][0]);
      assert.ok(bytes <= ceilings[i][1], `${play.name}: ${bytes} bytes`);
    });
  }));
  for (const agent of [...agents, witness]) {
    await agent.close();
  }
}

describe('a build of 40 minutes', { concurrency: 4 }, () => {
  eachKind('who pays what', SCENES, scene);
});
