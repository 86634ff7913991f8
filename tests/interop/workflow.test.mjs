/* The example workflow, word for word, with each client, transport and
   revision, and with a handover between every two of them. */

import assert from 'node:assert/strict';
import test from 'node:test';

import { Agent, KINDS, LIMIT, newStore, REMOTE_AUTO, REMOTES }
  from './agent.mjs';

const TASK = {
  task_id: 'task-001',
  title: 'Add rate limiting',
  goal: 'No client may send more than 100 requests a minute',
  repo_path: '/home/me/api'
};
const CHECKPOINT = {
  task_id: 'task-001',
  agent: 'claude-code',
  completed_steps: ['Read the router', 'Wrote the middleware'],
  remaining_steps: ['Write tests', 'Document the limits'],
  resume_prompt: 'The middleware is in src/limit.js; tests come next.'
};
const HANDOFF = {
  task_id: 'task-001',
  from_agent: 'claude-code',
  to_agent: 'hermes',
  reason: 'context window is full'
};
const UPDATE = {
  task_id: 'task-001',
  title: 'Add rate limiting to the API',
  goal: 'No client may send more than 60 requests a minute',
  status: 'in_progress',
  current_owner: 'hermes',
  completed_steps: ['Read the router', 'Wrote the middleware', 'Wrote tests'],
  remaining_steps: ['Document the limits']
};

async function handOver(agent) {
  const created = await agent.tool('create_task', TASK);
  assert.equal(created.task_id, 'task-001');
  assert.equal(created.status, 'open');
  assert.equal(created.version, 1);

  const saved = await agent.tool('save_checkpoint', CHECKPOINT);
  assert.equal(saved.status, 'in_progress');
  assert.equal((await agent.tool('get_task', { task_id: 'task-001' }))
    .current_owner, 'claude-code');

  const handed = await agent.tool('handoff_task', HANDOFF);
  assert.equal(handed.status, 'handoff_ready');
  assert.equal(handed.current_owner, 'hermes');
  assert.equal(handed.version, 3);
  assert.ok(created.seq < saved.seq && saved.seq < handed.seq);
}

async function takeOver(agent) {
  const task = await agent.tool('get_task', { task_id: 'task-001' });
  const { agent: by, ...saved } = CHECKPOINT;
  assert.deepEqual({ ...task, ...TASK, ...saved }, task);
  assert.equal(task.checkpoint.agent, by);
  assert.equal(task.handoff.from_agent, 'claude-code');
  assert.equal(task.handoff.to_agent, 'hermes');
  assert.equal(task.handoff.reason, HANDOFF.reason);
  assert.equal(task.version, 3);

  const found = await agent.read('task://task-001');
  assert.equal(found.mimeType, 'application/json');
  assert.deepEqual(JSON.parse(found.text), task);

  const updated = await agent.tool('update_task', UPDATE);
  assert.equal(updated.status, 'in_progress');
  const after = await agent.tool('get_task', { task_id: 'task-001' });
  assert.deepEqual({ ...after, ...UPDATE }, after);
  assert.equal(after.resume_prompt, CHECKPOINT.resume_prompt);
  assert.equal(after.version, 4);
}

const PROXIES = [...REMOTES, REMOTE_AUTO];

for (const kind of [...KINDS, ...PROXIES]) {
  test(`the workflow with ${kind.name}`, LIMIT, async (t) => {
    const agent = await Agent.start(t, kind, newStore(t));
    await handOver(agent);
    await takeOver(agent);
    assert.equal(agent.agreed(), kind.rev);
    assert.equal(agent.client.getServerVersion().name, 'mcptask');
    await agent.close();
  });
}

/* The proxies are slow to start, and what they change is seen in one stream of
   messages. */
const PAIRS = [
  ...KINDS.flatMap((from) => KINDS.map((to) => [from, to])),
  ...PROXIES.flatMap((proxy) => [[proxy, KINDS[0]], [KINDS[0], proxy]])
];

for (const [from, to] of PAIRS) {
  test(`from ${from.name} to ${to.name}`, LIMIT, async (t) => {
    const store = newStore(t);
    const a = await Agent.start(t, from, store);
    const b = await Agent.start(t, to, store);
    await handOver(a);
    await takeOver(b);
    const seen = await a.tool('get_task', { task_id: 'task-001' });
    assert.equal(seen.title, UPDATE.title);
    await a.close();
    await b.close();
  });

  test(`from ${from.name}, killed, to ${to.name}`, LIMIT, async (t) => {
    const store = newStore(t);
    const a = await Agent.start(t, from, store);
    await handOver(a);
    await a.kill();
    const b = await Agent.start(t, to, store);
    await takeOver(b);
    await b.close();
  });
}
