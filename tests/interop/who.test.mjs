/* Who is who: sessions that share a name, and agents that give none. */

import assert from 'node:assert/strict';

import { Agent, KINDS, MODERN } from './agent.mjs';
import { eachBeside, OTHER } from './each.mjs';

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
      const { code } = await agent.refused('claim_task', { task_id: 'a' });
      assert.equal(code, 'invalid_argument');
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
