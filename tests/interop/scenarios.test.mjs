/* What work with other agents costs: bytes and calls, without tools/list. */

import assert from 'node:assert/strict';

import { Agent } from './agent.mjs';
import { Bill, ERAS } from './bill.mjs';
import { eachKind } from './each.mjs';

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
  const one = new Bill(await Agent.start(t, kind, store));
  const { task_id } = await one.tool('create_task',
    { title: 'Mend the lexer', goal: 'No token is lost', agent: 'one' });
  await one.tool('claim_task', { agent: 'one', task_id });
  await one.tool('handoff_task',
    { from_agent: 'one', task_id, reason: 'context full', ...STATE });
  await one.agent.close();

  const two = new Bill(await Agent.start(t, kind, store));
  const task = await two.tool('claim_task', { agent: 'two' });
  assert.equal(task.task_id, task_id);
  assert.equal(task.resume_prompt, STATE.resume_prompt);
  assert.equal(task.checkpoint.agent, 'one');
  assert.equal(task.checkpoint.notes, STATE.notes);
  await two.tool('update_task', {
    task_id,
    agent: 'two',
    status: 'done',
    remaining_steps: [],
    test_results: [{ command: 'make test', exit_code: 0 }]
  });
  await two.agent.close();
  t.diagnostic(`one: ${one}; two: ${two}`);
  assert.deepEqual([one.calls, two.calls], [3, 2]);
  assert.ok(one.bytes + two.bytes <= 8 * 1024);
  assert.ok(Math.max(one.bytes, two.bytes) < 3 * 1024);
});

/* Agents pay for each of them, again and again. */
eachKind('receipts and entries of lists are short', ERAS, async (t, kind,
  store) => {
  const agent = await Agent.start(t, kind, store);
  const length = async (...call) =>
    JSON.stringify(await agent.tool(...call)).length;
  const as = { task_id: 'task-001', agent: 'one' };

  await agent.tool('create_task', { ...as, title: 'Mend the lexer' });
  const { tasks: [entry] } = await agent.tool('list_tasks', {});
  assert.deepEqual(Object.keys(entry), ['task_id', 'title', 'status', 'ready',
    'version', 'seq', 'updated_at']);
  assert.ok(JSON.stringify(entry).length < 160);
  await agent.tool('claim_task', as);
  assert.ok(await length('save_checkpoint', { ...as, ...STATE }) < 120);
  const { tasks: [held] } = await agent.tool('list_tasks', {});
  assert.deepEqual(Object.keys(held.lease), ['expires_at']);
  assert.ok(JSON.stringify(held).length < 250);
  await agent.close();
});

eachKind('40 tasks are created in one call', ERAS, async (t, kind, store) => {
  const bill = new Bill(await Agent.start(t, kind, store));
  const { agent } = bill;
  const tasks = Array.from({ length: 40 }, (_, i) => ({
    title: `Step ${i}`,
    depends_on: i > 1 ? [`#${i - 1}`] : [],
    ...i && { parent_id: '#0' }
  }));
  const { task_ids: ids } = await bill.tool('create_task',
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
  t.diagnostic(`${bill}`);
  assert.ok(bill.bytes < 4 * 1024);
  await agent.close();
});
