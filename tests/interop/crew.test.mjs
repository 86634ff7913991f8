/* Five agents do forty tasks that depend on each other. The test knows what is
   ready and has one agent finish after the other: so which task comes next, and
   whether anybody waits while there is work, depends on order, not on time. */

import assert from 'node:assert/strict';
import { describe } from 'node:test';

import { Agent, MODERN } from './agent.mjs';
import { Bill, SCENES } from './bill.mjs';
import { eachKind } from './each.mjs';
import * as ext from './ext.mjs';
import * as tasks from './tasks.mjs';

const CREW = ['ann', 'bob', 'cat', 'dan', 'eve'];

/* Four parts, the last two of which depend on one part each: a plan, six
   changes, two tests of three changes each, a release. Sometimes more tasks are
   ready than there are agents, sometimes fewer. */
const PARTS = [0, 10, 20, 30];
const AFTER = [[], [0], [0], [0], [0], [0], [0], [1, 2, 3], [4, 5, 6], [7, 8]];
const PLAN = PARTS.flatMap((first) => AFTER.map((after, i) => ({
  title: `Part ${first / 10}, step ${i}`,
  goal: 'What this step has to do is written here, in a sentence or two.',
  priority: [0, 1, 3, 2, 0, 4, 2, 1, 3, 2][i],
  depends_on: [...after.map((n) => `#${first + n}`),
    ...first >= 20 && i === 0 ? [`#${first - 11}`] : []]
})));

/* What is left of the plan, and who has which task. */
class Board {
  left = new Map(); /* of those that nobody has: what they wait for */
  held = new Map(); /* by agent */
  given = 0;

  constructor(ids) {
    this.ids = ids;
    PLAN.forEach((task, i) => this.left.set(ids[i],
      new Set(task.depends_on.map((ref) => ids[ref.slice(1)]))));
  }

  /* Most urgent first, then in the order of the plan. */
  ready() {
    const rank = (id) => PLAN[this.ids.indexOf(id)].priority;
    return [...this.left.keys()].filter((id) => !this.left.get(id).size)
      .sort((a, b) => rank(a) - rank(b));
  }

  give(name, id) {
    assert.ok(!this.held.has(name));
    assert.ok(this.ready().includes(id), `${id} is given twice, or too early`);
    this.left.delete(id);
    this.held.set(name, id);
    this.given++;
  }

  finish(name) {
    const id = this.held.get(name);
    this.held.delete(name);
    this.left.forEach((after) => after.delete(id));
    return id;
  }
}

/* ---- how an agent waits for a task, and ends it ---- */

function plainly(bill, args) {
  const end = new AbortController();
  return {
    answer: bill.tool('claim_task', { ...args, wait_seconds: 50 }, end.signal),
    cancel: () => end.abort()
  };
}

/* As a deferred call. What its host does to learn of the end costs the agent
   nothing. */
function deferred(bill, args) {
  const { agent } = bill;
  const wait = agent.isNew ? notified(agent, args) : followed(agent, args);
  return {
    answer: (async () => {
      const text = await wait.text;
      bill.pay({ name: 'claim_task', arguments: args }, text ?? '');
      return text && JSON.parse(text);
    })(),
    cancel: wait.cancel
  };
}

function followed(agent, args) {
  const made = tasks.create(agent, 'claim_task', args);
  let cancelled = false;
  return {
    text: made.then((id) => tasks.textOf(agent, id)).catch((e) =>
      assert.ok(cancelled, e)),
    async cancel() {
      cancelled = true;
      await agent.tasks.cancelTask(await made);
    }
  };
}

function notified(agent, args) {
  const made = ext.request(agent, 'claim_task', { ...args, wait_seconds: 50 });
  const end = async ({ content, taskId }) => {
    const { result } = content ? { result: { content } }
      : await ext.ended(agent, taskId);
    return result?.content[0].text;
  };
  return {
    text: made.then(end),
    cancel: async () => agent.session.task((await made).taskId).cancel()
  };
}

/* ---- the play ---- */

/* Has all tasks done by agents that wait in this way. */
async function play(board, crew, overseer, wait) {
  const waits = new Map();
  const owed = new Set(); /* whose answers have not come */
  let changed = () => {};

  const begin = (name) => {
    const claim = wait(crew.get(name), { agent: name });
    waits.set(name, claim);
    owed.add(name);
    claim.answer.then((task) => {
      if (task) {
        assert.equal(task.claimed, true);
        board.give(name, task.task_id);
        waits.delete(name);
      }
      owed.delete(name);
      changed();
    }).catch((e) => changed(e));
  };
  /* Waits until this many tasks were given; there cannot be more. */
  const until = (n) => new Promise((done, failed) => {
    changed = (e) => e ? failed(e) : board.given >= n && done();
    changed();
  });

  /* Agents that wait get the ready tasks, and no others. */
  const all = async (idle, act) => {
    const next = board.ready().slice(0, idle);
    const n = board.given + next.length;
    await act();
    await until(n);
    assert.ok(next.every((id) => !board.left.has(id)), 'not the most urgent');
    await isTold(board, overseer);
  };

  await all(CREW.length, () => CREW.forEach(begin));
  while (board.held.size) {
    const [name] = board.held.keys();
    const task_id = board.finish(name);
    await all(waits.size + 1, async () => {
      await crew.get(name).tool('update_task',
        { task_id, agent: name, status: 'done', result: 'It works.' });
      begin(name);
    });
  }
  assert.equal(owed.size, CREW.length);
  await Promise.all([...waits.values()].flatMap((claim) =>
    [claim.cancel(), claim.answer]));
}

/* Nothing is ready: a claim is told why. */
async function isTold(board, overseer) {
  if (board.ready().length) {
    return;
  }
  const none = await overseer.tool('claim_task', { agent: 'overseer' });
  assert.equal(none.claimed, false);
  assert.equal(none.blocked ?? 0, board.left.size);
  assert.equal(none.held ?? 0, board.held.size);
  const by = (none.held_by ?? []).map(({ agent }) => agent);
  assert.equal(by.length, Math.min(board.held.size, 4));
  assert.ok(by.every((name) => board.held.has(name)));
}

async function scene(t, kind, store, { join, wait }) {
  const overseer = await Agent.start(t, SCENES[0], store);
  const plan = new Bill(overseer);
  const { task_ids: ids } = await plan.tool('create_task',
    { agent: 'overseer', tasks: PLAN });
  const crew = new Map();
  for (const name of CREW) {
    crew.set(name, new Bill(await join(t, kind, store)));
  }
  await play(new Board(ids), crew, overseer, wait);

  const { total } = await overseer.tool('list_tasks', { status: 'done' });
  assert.equal(total, PLAN.length);
  const bills = [...crew.values()];
  const all = bills.reduce((sum, { bytes }) => sum + bytes, 0);
  t.diagnostic(`plan: ${plan}; crew: ${bills.join('; ')}; ${all} in all`);
  /* Each task is claimed and done, each agent waits once in vain. */
  assert.equal(plan.calls, 1);
  assert.equal(bills.reduce((sum, { calls }) => sum + calls, 0),
    2 * PLAN.length + CREW.length);
  assert.ok(plan.bytes < 7 * 1024);
  assert.ok(all < 52 * 1024);
  for (const { agent } of bills) {
    await (agent.leave ?? agent.close).call(agent);
  }
  await overseer.close();
}

describe('five agents on 40 tasks', { concurrency: 6 }, () => {
  eachKind('waiting', SCENES, (t, kind, store) =>
    scene(t, kind, store, { join: Agent.start, wait: plainly }));
  /* The extension is there for clients on HTTP only. */
  const as = (join) => (t, kind, store) =>
    scene(t, kind, store, { join, wait: deferred });
  const [old] = tasks.ON;
  eachKind('with deferred calls', [old], as(tasks.join));
  eachKind('with deferred calls', SCENES.filter(({ path, rev }) =>
    path && rev === MODERN), as(ext.join));
});
