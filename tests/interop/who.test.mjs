/* Who is who: sessions that share a name, and agents that give none. */

import assert from 'node:assert/strict';

import { writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { Agent, KINDS, MODERN } from './agent.mjs';
import { eachBeside, eachKind, OTHER } from './each.mjs';

const hasSession = (kind) => kind.rev !== MODERN || !kind.path;

eachBeside('two sessions of one name', KINDS, { task_id: 'a', title: 'A' },
  async ({ t, kind, store }) => {
    const agent = await Agent.start(t, kind, store);
    const twin = await Agent.start(t, OTHER, store);
    const claim = { task_id: 'a', agent: 'twin' };
    await twin.tool('claim_task', claim);
    assert.equal((await twin.tool('claim_task', claim)).renewed, true);
    if (hasSession(kind)) {
      const held = await agent.refused('claim_task', claim);
      assert.equal(held.code, 'lease_held');
      assert.equal(held.message, 'another session with this agent name '
        + 'holds the lease');
      const taken = await agent.tool('claim_task',
        { ...claim, takeover: true, reason: 'a new window' });
      assert.equal(taken.renewed, undefined);
      const lost = await twin.refused('save_checkpoint', claim);
      assert.equal(lost.taken_over.reason, 'a new window');
      await agent.tool('handoff_task', { task_id: 'a', from_agent: 'twin' });
      await twin.tool('claim_task', claim);
    }
    await twin.kill();
    assert.equal((await agent.tool('claim_task', claim)).renewed, true);
    await agent.close();
  });

eachBeside('an agent that gives no name', KINDS, { task_id: 'a', title: 'A' },
  async ({ t, kind, store, other }) => {
    const agent = await Agent.start(t, kind, store);
    const first = await agent.tool('create_task', { title: 'B' });
    if (!hasSession(kind)) {
      assert.equal(first.agent, undefined);
      const { agent: name, next } = await agent.tool('claim_task',
        { task_id: 'a' });
      assert.match(name, /^interop-[0-9a-f]{8}$/);
      assert.equal(next, 'pass it as agent from now on');
      const { code } = await agent.refused('claim_task', { task_id: 'a' });
      assert.equal(code, 'lease_held');
      const claim = { task_id: 'a', agent: name };
      assert.equal((await agent.tool('claim_task', claim)).renewed, true);
      /* What it does not repeat it is taken to mean. */
      assert.equal((await agent.tool('save_checkpoint', { task_id: 'a' }))
        .agent, name);
      await agent.close();
      return;
    }
    assert.match(first.agent, /^interop-[0-9a-f]{8}$/);
    const task = await agent.tool('claim_task', { task_id: 'a' });
    assert.equal(task.agent, first.agent);
    assert.equal(task.current_owner, first.agent);
    const { created_by } = await agent.tool('get_task',
      { task_id: first.task_id });
    assert.equal(created_by, first.agent);
    const { code, holder } = await other.refused('save_checkpoint',
      { task_id: 'a' });
    assert.deepEqual([code, holder], ['lease_held', first.agent]);
    const handed = await agent.tool('handoff_task', { task_id: 'a' });
    assert.equal(handed.agent, first.agent);
    await agent.close();
  });

/* ---- clients that open a session for each call ---- */

const ON_HTTP = KINDS.filter((kind) => kind.path === '/mcp');

/* The same client without the stream by which a server sees that it is there. */
const postOnly = (kind) => ({
  ...kind,
  Transport: class extends kind.Transport {
    constructor(url, options) {
      super(url, { ...options, fetch: (to, init) => (init?.method === 'GET'
        ? new Response(null, { status: 405 }) : options.fetch(to, init)) });
    }
  }
});

for (const [how, wrap, ending] of [
  ['and deletes it', (kind) => kind,
    (agent) => agent.transport.terminateSession?.()],
  ['and leaves it', postOnly, undefined]
]) {
  for (const named of [true, false]) {
    eachKind(`a session for each call ${how}, ${named ? 'with' : 'without'} `
      + 'names', ON_HTTP.map(wrap), async (t, kind, store) => {
      const anchor = await Agent.start(t, kind, store);
      const once = async (verb, name, args) => {
        const agent = await Agent.start(t, kind, store);
        const answer = await agent[verb](name, args);
        await ending?.(agent);
        await agent.close();
        return answer;
      };
      const as = (agent) => (named ? { agent } : {});
      await once('tool', 'create_task', { task_id: 'a', title: 'A' });
      await once('tool', 'create_task', { task_id: 'b', title: 'B' });
      const first = await once('tool', 'claim_task', as('one'));
      const second = await once('tool', 'claim_task', as('two'));
      const third = await once('tool', 'claim_task', as('three'));
      assert.deepEqual([first.task_id, second.task_id, third.claimed],
        ['a', 'b', false]);
      assert.notEqual(first.current_owner, second.current_owner);
      /* Each goes on with its own. */
      for (const [task, agent] of [[first, 'one'], [second, 'two']]) {
        const { task_id } = task;
        const saved = await once('tool', 'save_checkpoint',
          { task_id, resume_prompt: task_id, ...as(agent) });
        /* A receipt has no owner if that is the agent itself. */
        assert.ok(saved.current_owner === undefined
          && (named || saved.agent === task.current_owner));
        await once('tool', 'update_task', { task_id, goal: 'g', ...as(agent) });
        assert.equal((await once('refused', 'claim_task',
          { task_id, ...as('three') })).code, 'lease_held');
      }
      if (named) {
        assert.equal((await once('refused', 'save_checkpoint',
          { task_id: 'a', agent: 'two' })).code, 'lease_held');
      }
      const handed = await once('tool', 'handoff_task',
        { task_id: 'a', to_agent: 'four', ...as('one') });
      assert.equal(handed.status, 'handoff_ready');
      assert.equal((await once('tool', 'claim_task', { agent: 'four' }))
        .task_id, 'a');
      await anchor.close();
    });
  }
}

eachKind('two clients without a stream, and without names',
  ON_HTTP.filter(hasSession).map(postOnly), async (t, kind, store) => {
    const one = await Agent.start(t, kind, store);
    const two = await Agent.start(t, kind, store);
    await one.tool('create_task', { task_id: 'a', title: 'A' });
    await two.tool('create_task', { task_id: 'b', title: 'B' });
    const first = await one.tool('claim_task', {});
    const second = await two.tool('claim_task', {});
    assert.deepEqual([first.task_id, second.task_id], ['a', 'b']);
    assert.notEqual(first.current_owner, second.current_owner);
    for (const agent of [one, two]) {
      assert.equal((await agent.tool('claim_task', {})).claimed, false);
    }
    assert.equal((await two.refused('claim_task', { task_id: 'a' })).code,
      'lease_held');
    const saved = await one.tool('save_checkpoint', { task_id: 'a' });
    assert.equal(saved.agent, first.current_owner);
    await two.tool('handoff_task', { task_id: 'b' });
    assert.equal((await one.tool('claim_task', {})).task_id, 'b');
    await one.close();
    await two.close();
  });

/* ---- several agents in one session ---- */

eachKind('a gateway with many agents in one session',
  KINDS.filter(hasSession), async (t, kind, store) => {
    const gate = await Agent.start(t, kind, store);
    for (const task_id of ['a', 'b', 'c']) {
      await gate.tool('create_task', { task_id, title: task_id, agent: 'x' });
    }
    const got = [];
    for (const agent of ['x', 'y', undefined]) {
      const { task_id, you_hold } = await gate.tool('claim_task',
        agent ? { agent } : {});
      assert.deepEqual((you_hold ?? []).map((k) => k.task_id).sort(), got);
      got.push(task_id);
    }
    assert.deepEqual(got, ['a', 'b', 'c']);
    /* Two that were named are two; without a name it is the session. */
    assert.equal((await gate.refused('save_checkpoint',
      { task_id: 'a', agent: 'y' })).code, 'lease_held');
    assert.equal((await gate.refused('claim_task',
      { task_id: 'b', agent: 'x' })).code, 'lease_held');
    assert.equal((await gate.tool('save_checkpoint', { task_id: 'a' })).agent,
      'x');
    assert.equal((await gate.tool('claim_task', {})).claimed, false);
    await gate.close();
  });

/* ---- tokens ---- */

eachKind('tokens of which one begins like the other', ON_HTTP,
  async (t, kind, store) => {
    const file = join(store.dir, 'tokens');
    const tokens = { a: 'a-0123456789abcdef', 'a-b': 'b-0123456789abcdef',
      interop: 'c-0123456789abcdef' };
    writeFileSync(file, Object.entries(tokens)
      .map(([agent, token]) => `${token} ${agent}\n`).join(''), { mode: 0o600 });
    const as = (agent) => Agent.start(t, kind, store,
      { args: ['--token-file', file], token: tokens[agent] });
    const a = await as('a');
    const twin = await as('a');
    const ab = await as('a-b');
    const interop = await as('interop');

    await a.tool('create_task', { task_id: 't', title: 'T' });
    await a.tool('claim_task', { task_id: 't', agent: 'a-01234567' });
    /* Neither the other token nor the client's name crosses. */
    for (const other of [ab, interop]) {
      assert.equal((await other.refused('save_checkpoint', { task_id: 't' }))
        .code, 'lease_held');
      assert.equal((await other.refused('save_checkpoint',
        { task_id: 't', agent: 'a' })).code, 'unauthorized');
    }
    assert.equal((await a.refused('create_task',
      { title: 'x', agent: 'a-b' })).code, 'unauthorized');
    await a.tool('handoff_task',
      { task_id: 't', agent: 'a-01234567', to_agent: 'a' });
    assert.equal((await ab.tool('claim_task', {})).claimed, false);
    assert.equal((await interop.tool('claim_task', {})).claimed, false);
    assert.equal((await twin.tool('claim_task', {})).task_id, 't');
    await twin.tool('handoff_task', { task_id: 't', to_agent: 'interop' });
    assert.equal((await a.tool('claim_task', {})).claimed, false);
    assert.equal((await interop.tool('claim_task', {})).task_id, 't');
    for (const agent of [a, twin, ab, interop]) {
      await agent.close();
    }
  });
