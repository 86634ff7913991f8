/* Changes while clients are connected: resources that other processes change,
   and a server that dies and comes back on the same port. */

import assert from 'node:assert/strict';

import { Agent, KINDS, REMOTE_AUTO, REMOTES } from './agent.mjs';
import { eachBeside } from './each.mjs';

const ON_HTTP = [...KINDS.filter((k) => k.path), ...REMOTES];
const TASK = { task_id: 'm.1', title: 'Watched' };
const URI = 'task://m.1';

/* Each test has a client of each kind, and another process on the store. */
const onEach = (what, kinds, body) =>
  eachBeside(what, kinds, TASK, async ({ t, kind, store, other }) => {
    const agent = await Agent.start(t, kind, store);
    await body(agent, other, store);
    await agent.close();
  });

const change = (agent, goal) =>
  agent.tool('update_task', { task_id: TASK.task_id, goal });

onEach('hears what another process changes', [...KINDS, ...REMOTES],
  async (agent, other) => {
    await agent.subscribe(URI);
    await change(other, 'one');
    await agent.hears('updated', URI);
    assert.equal(JSON.parse((await agent.read(URI)).text).goal, 'one');
    await change(agent, 'two');
    await agent.hears('updated', URI, 2);
    await other.tool('create_task', { title: 'Another' });
    await agent.hears('list_changed');

    await agent.unsubscribe(URI);
    const n = agent.heard.length;
    await change(other, 'three');
    await other.tool('create_task', { task_id: 'm.2', title: 'Last' });
    await agent.tool('get_task', { task_id: 'm.2' });
    assert.deepEqual(agent.heard.slice(n).filter((note) =>
      note.method.endsWith('/updated')), []);
  });

onEach('hears of what it is subscribed to, and of nothing else', KINDS,
  async (agent, other) => {
    await other.tool('create_task', { task_id: 'm.2', title: 'Not watched' });
    await agent.subscribe(`${URI}/history`);
    await agent.subscribe(`${URI}/resume`);
    await other.tool('update_task', { task_id: 'm.2', goal: 'x' });
    await change(other, 'one');
    await agent.hears('updated', `${URI}/resume`);
    assert.ok(agent.heard.every(({ method, params }) =>
      !method.endsWith('/updated') || params.uri.startsWith(`${URI}/`)));
  });

onEach('goes on when the server was killed', [...ON_HTTP, REMOTE_AUTO],
  async (agent, other, store) => {
    await agent.tool('get_task', { task_id: TASK.task_id });
    await store.server.kill();
    await change(other, 'one');
    await store.server.up();
    await agent.reconnects();
    const task = await agent.tool('get_task', { task_id: TASK.task_id });
    assert.equal(task.goal, 'one');
    await change(agent, 'two');
  });

/* A session gets its subscriptions back, and what it missed while there was no
   server. */
onEach('hears after the server was killed', ON_HTTP,
  async (agent, other, store) => {
    await agent.subscribe(URI);
    await change(other, 'one');
    await agent.hears('updated', URI);
    await store.server.kill();
    await change(other, 'two');
    await store.server.up();
    if (agent.forgets()) {
      await agent.reconnects();
      await agent.subscribe(URI);
      await change(other, 'three');
    }
    await agent.hears('updated', URI, 2);
    assert.match((await agent.read(URI)).text, /"(two|three)"/);
  });

onEach('many changes, and none in vain', KINDS, async (agent, other) => {
  await agent.subscribe(URI);
  for (let i = 1; i <= 30; i++) {
    await change(other, `goal ${i}`);
  }
  for (let heard = 0; ;) {
    await agent.hears('updated', URI, heard + 1);
    heard = agent.heard.filter((n) => n.method.endsWith('/updated')).length;
    if (JSON.parse((await agent.read(URI)).text).goal === 'goal 30') {
      break;
    }
  }
});
