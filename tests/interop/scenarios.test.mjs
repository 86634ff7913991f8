/* What work with other agents costs: bytes and calls, behind tools/list. */

import assert from 'node:assert/strict';

import { Agent, KINDS, MODERN } from './agent.mjs';
import { eachKind } from './each.mjs';

const ERAS = KINDS.filter((k) => !k.path
  && [MODERN, '2025-11-25'].includes(k.rev));

/* The calls of agents, counted: what went to the tools and came back. */
class Bill {
  calls = 0;
  bytes = 0;

  async tool(agent, name, args) {
    const result = await agent.callTool(name, args);
    assert.ok(!result.isError, result.content[0].text);
    this.calls++;
    this.bytes += JSON.stringify({ name, arguments: args }).length
      + JSON.stringify(result).length;
    return JSON.parse(result.content[0].text);
  }
}

const STATE = {
  completed_steps: ['Read the parser', 'Wrote a failing test'],
  remaining_steps: ['Mend the lexer', 'Run all tests'],
  resume_prompt: 'The lexer drops the last token before the end of the file: '
    + 'see src/lexer.c, next_token. The test is tests/t_lexer.c, which fails '
    + 'now. Mend it and run make test.',
  decisions: ['No new token kind'],
  failed_approaches: ['A sentinel byte: breaks mmap'],
  branch: 'fix-lexer',
  commit: '1f3c5a7',
  notes: 'The context is nearly full'
};

eachKind('a handover costs 8 KB at most', ERAS, async (t, kind, store) => {
  const bill = new Bill();
  const one = await Agent.start(t, kind, store);
  const { task_id } = await bill.tool(one, 'create_task',
    { title: 'Mend the lexer', goal: 'No token is lost', agent: 'one' });
  await bill.tool(one, 'claim_task', { agent: 'one', task_id });
  await bill.tool(one, 'handoff_task',
    { from_agent: 'one', task_id, reason: 'context full', ...STATE });
  await one.close();

  const two = await Agent.start(t, kind, store);
  const task = await bill.tool(two, 'claim_task', { agent: 'two' });
  assert.equal(task.task_id, task_id);
  assert.equal(task.resume_prompt, STATE.resume_prompt);
  assert.equal(task.checkpoint.agent, 'one');
  assert.equal(task.checkpoint.notes, STATE.notes);
  await bill.tool(two, 'update_task', {
    task_id,
    agent: 'two',
    status: 'done',
    remaining_steps: [],
    test_results: [{ command: 'make test', exit_code: 0 }]
  });
  await two.close();
  t.diagnostic(`${bill.calls} calls, ${bill.bytes} bytes`);
  assert.ok(bill.bytes <= 8 * 1024, `${bill.bytes} bytes`);
});

eachKind('40 tasks are created in one call', ERAS, async (t, kind, store) => {
  const bill = new Bill();
  const agent = await Agent.start(t, kind, store);
  const tasks = Array.from({ length: 40 }, (_, i) => ({
    title: `Step ${i}`,
    depends_on: i ? [`#${i - 1}`] : [],
    ...i && { parent_id: '#0' }
  }));
  const { task_ids: ids } = await bill.tool(agent, 'create_task',
    { agent: 'planner', idempotency_key: 'plan', tasks });
  assert.equal(ids.length, 40);
  const again = await agent.tool('create_task',
    { agent: 'planner', idempotency_key: 'plan', tasks });
  assert.deepEqual(again.task_ids, ids);
  const last = await agent.tool('get_task', { task_id: ids[39] });
  assert.deepEqual(last.depends_on, [ids[38]]);
  assert.equal(last.parent_id, ids[0]);
  const { total } = await agent.tool('list_tasks', {});
  assert.equal(total, 40);

  const e = await agent.refused('create_task',
    { tasks: [{ title: 'Kept?' }, { title: 'Not', depends_on: ['#1'] }] });
  assert.equal(e.code, 'invalid_argument');
  assert.equal((await agent.tool('list_tasks', {})).total, 40);
  t.diagnostic(`${bill.calls} call, ${bill.bytes} bytes`);
  await agent.close();
});

eachKind('past states and ends of artifacts', ERAS, async (t, kind, store) => {
  const agent = await Agent.start(t, kind, store);
  await agent.tool('create_task', { task_id: 's.1', title: 'One' });
  await agent.tool('attach_artifact', {
    task_id: 's.1', agent: 'a', name: 'log', content: 'a\nerror: b\nc\n'
  });
  await agent.tool('update_task', { task_id: 's.1', title: 'Two' });
  const old = await agent.tool('get_task', { task_id: 's.1', version: 1 });
  assert.deepEqual([old.title, old.current_version], ['One', 3]);
  const piece = (args) => agent.tool('get_task',
    { task_id: 's.1', section: 'artifact', artifact_id: 'a1', ...args });
  assert.equal((await piece({ offset: -2 })).content, 'c\n');
  assert.equal((await piece({ match: 'error', lines: 1 })).content,
    '1-a\n2:error: b\n3-c\n');
  const e = await agent.refused('get_task', { task_id: 's.1', version: 9 });
  assert.equal(e.current_version, 3);
  await agent.close();
});
