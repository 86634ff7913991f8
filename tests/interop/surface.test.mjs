/* What clients rely on beside the workflow: catalogue, errors, order, large
   and many answers, restarts. Each test runs on each kind of client. */

import assert from 'node:assert/strict';
import { createHash, randomBytes } from 'node:crypto';

import { EmptyResultSchema as AnyResult }
  from '@modelcontextprotocol/sdk/types.js';
import { Ajv2020 } from 'ajv/dist/2020.js';

import { Agent, KINDS, MODERN } from './agent.mjs';
import { SCENES } from './bill.mjs';
import { eachKind } from './each.mjs';

const TOOLS = [
  'attach_artifact', 'claim_task', 'create_task', 'get_task', 'handoff_task',
  'list_tasks', 'mark_exhausted', 'request_input', 'save_checkpoint',
  'update_task', 'wait_for_task'
];
const READS = ['get_task', 'list_tasks', 'wait_for_task'];

const onEach = (what, body, kinds = KINDS) =>
  eachKind(what, kinds, async (t, kind, store) => {
    const agent = await Agent.start(t, kind, store);
    const last = await body(agent, t, store) ?? agent;
    await last.close();
  });

/* Calls a tool until there are no more pages. */
async function pages(agent, name, args) {
  const all = [];
  do {
    const { next_cursor: cursor } = all.at(-1) ?? {};
    all.push(await agent.tool(name, cursor ? { ...args, cursor } : args));
    assert.ok(JSON.stringify(all.at(-1)).length < 48 * 1024);
  } while (all.at(-1).next_cursor);
  return all;
}

onEach('the catalogue is one that every client takes', async (agent) => {
  const { tools } = await agent.client.listTools();
  const ajv = new Ajv2020({ strict: true, allowUnionTypes: true });

  assert.deepEqual(tools.map((tool) => tool.name).sort(), TOOLS);
  for (const tool of tools) {
    assert.ok(tool.description.length > 20, tool.name);
    assert.equal(tool.inputSchema.type, 'object');
    assert.doesNotMatch(JSON.stringify(tool.inputSchema),
      /"(\$ref|anyOf|oneOf|allOf)"/);
    ajv.compile(tool.inputSchema);
    assert.equal(tool.outputSchema, undefined);
    if (agent.kind.rev >= '2025-03-26') {
      assert.equal(tool.annotations.readOnlyHint ?? false,
        READS.includes(tool.name), tool.name);
    } else {
      assert.equal(tool.annotations, undefined);
    }
  }
});

onEach('resources list, read and templates', async (agent) => {
  await agent.tool('create_task', { task_id: 'r.1', title: 'One' });
  await agent.tool('create_task', { task_id: 'r.2', title: 'Two' });
  await agent.tool('update_task', { task_id: 'r.2', status: 'cancelled' });

  const { resources } = await agent.client.listResources();
  assert.deepEqual(resources.map((r) => r.uri), ['task://r.1']);
  const { resourceTemplates } = await agent.client.listResourceTemplates();
  assert.deepEqual(resourceTemplates.map((r) => r.uriTemplate).sort(), [
    'task://{task_id}', 'task://{task_id}/artifacts/{artifact_id}',
    'task://{task_id}/history', 'task://{task_id}/resume'
  ]);

  const brief = await agent.read('task://r.1/resume');
  assert.equal(brief.mimeType, 'text/markdown');
  assert.match(brief.text, /One/);
  const history = JSON.parse((await agent.read('task://r.2/history')).text);
  assert.match(JSON.stringify(history), /"update"/);
});

onEach('prompts list and get', async (agent) => {
  await agent.tool('create_task',
    { task_id: 'p.1', title: 'Fence it', goal: '```' });
  const { prompts } = await agent.client.listPrompts();
  assert.deepEqual(prompts.map((p) => p.name).sort(),
    ['handoff_task_brief', 'resume_task', 'standup']);
  for (const prompt of prompts) {
    assert.ok(prompt.description.length > 10, prompt.name);
    const { messages } = await agent.client.getPrompt({
      name: prompt.name,
      arguments: prompt.arguments.some((a) => a.name === 'task_id')
        ? { task_id: 'p.1' } : {}
    });
    assert.equal(messages[0].role, 'user');
    assert.match(messages[0].content.text, /Fence it/);
  }
  assert.equal(await agent.fault(agent.client.getPrompt({ name: 'none' })),
    -32602);
  assert.equal(await agent.fault(agent.client.getPrompt(
    { name: 'resume_task', arguments: { task_id: 'p.2' } })), -32602);
});

onEach('arguments are completed', async (agent) => {
  const complete = async (ref, name, value) => (await agent.client.complete(
    { ref, argument: { name, value } })).completion.values;

  for (const task_id of ['c.1', 'c.2', 'd.1']) {
    await agent.tool('create_task', { task_id, title: 'One', agent: 'ann' });
  }
  assert.deepEqual((await complete(
    { type: 'ref/prompt', name: 'resume_task' }, 'task_id', 'c.')).sort(),
  ['c.1', 'c.2']);
  assert.deepEqual(await complete(
    { type: 'ref/resource', uri: 'task://{task_id}' }, 'task_id', 'd'),
  ['d.1']);
  assert.deepEqual(await complete(
    { type: 'ref/prompt', name: 'resume_task' }, 'task_id', 'none'), []);
});

onEach('a level can be set for what is logged', async (agent) => {
  if (agent.kind.rev !== MODERN) {
    await agent.client.setLoggingLevel('debug');
    assert.equal(await agent.fault(agent.client.request(
      { method: 'logging/setLevel', params: { level: 'loud' } },
      AnyResult)), -32602);
  }
});

onEach('faults of the protocol are JSON-RPC errors', async (agent) => {
  const { client } = agent;
  const absent = agent.kind.rev === MODERN ? -32602 : -32002;

  assert.equal(await agent.fault(agent.callTool('no_such_tool', {})), -32602);
  assert.equal(await agent.fault(client.readResource({ uri: 'task://none' })),
    absent);
  assert.equal(await agent.fault(client.readResource({ uri: 'http://a/b' })),
    absent);
  assert.equal(await agent.fault(client.listResources({ cursor: '!' })),
    -32602);
});

onEach('what a task refuses is data', async (agent) => {
  const create = { task_id: 'e.1', title: 'One', agent: 'a' };
  const is = async (code, name, args) => {
    const e = await agent.refused(name, args);
    assert.equal(e.code, code, JSON.stringify(e));
    assert.equal(typeof e.message, 'string');
    assert.equal(typeof e.retryable, 'boolean');
    return e;
  };

  await agent.tool('create_task', create);
  await agent.tool('create_task', create);
  await is('already_exists', 'create_task', { ...create, title: 'Two' });
  await is('not_found', 'get_task', { task_id: 'e.2' });
  assert.equal((await is('invalid_argument', 'create_task', {})).field,
    'title');
  assert.equal((await is('invalid_argument', 'get_task',
    { task_id: 'e.1', colour: 'red' })).field, 'colour');
  assert.equal((await is('version_conflict', 'update_task',
    { task_id: 'e.1', goal: 'x', expected_version: 7 })).current_version, 1);
  await is('dependency_cycle', 'update_task',
    { task_id: 'e.1', depends_on: ['e.1'] });
  await agent.tool('save_checkpoint', { task_id: 'e.1', agent: 'a' });
  await is('lease_held', 'handoff_task', { task_id: 'e.1', from_agent: 'b' });
  await agent.tool('handoff_task', { task_id: 'e.1', agent: 'a', to_agent: 'c' });
  await is('kept', 'claim_task', { task_id: 'e.1', agent: 'b' });
  await agent.tool('update_task', { task_id: 'e.1', status: 'open' });
  await agent.tool('update_task', { task_id: 'e.1', status: 'done' });
  await is('terminal', 'save_checkpoint', { task_id: 'e.1', agent: 'a' });
  await is('too_large', 'create_task', { title: 'x'.repeat(257) });
});

onEach('fifty calls in flight', async (agent) => {
  const ids = Array.from({ length: 50 }, (_, i) => `p.${i}`);
  const made = await Promise.all(ids.map((task_id) =>
    agent.tool('create_task', { task_id, title: `Task ${task_id}` })));

  assert.deepEqual(made.map((r) => r.task_id), ids);
  assert.deepEqual(made.map((r) => r.seq), ids.map((_, i) => i + 1));
  await Promise.all(ids.map((task_id) =>
    agent.tool('update_task', { task_id: 'p.0', goal: task_id })));
  const last = await agent.tool('get_task', { task_id: 'p.0' });
  assert.equal(last.goal, 'p.49');
  assert.equal(last.version, 51);
});

onEach('pages of a list', async (agent) => {
  for (let i = 0; i < 25; i++) {
    await agent.tool('create_task', { task_id: `l.${i}`, title: 'Listed' });
  }
  const all = await pages(agent, 'list_tasks', { limit: 10 });
  assert.deepEqual(all.map((page) => page.tasks.length), [10, 10, 5]);
  assert.deepEqual(all.map((page) => page.total), [25, 25, 25]);
  assert.deepEqual(all.map((page) => page.head_seq), [25, 25, 25]);
  assert.deepEqual(all.flatMap((page) => page.tasks.map((k) => k.task_id)),
    Array.from({ length: 25 }, (_, i) => `l.${24 - i}`));
  assert.equal((await agent.refused('list_tasks', { cursor: '!' })).code,
    'invalid_argument');
});

onEach('the history, newest first', async (agent) => {
  await agent.tool('create_task', { task_id: 'h.1', title: 'One' });
  for (const goal of ['a', 'b', 'c']) {
    await agent.tool('update_task', { task_id: 'h.1', goal, agent: 'me' });
  }
  const first = await agent.tool('get_task',
    { task_id: 'h.1', section: 'history', limit: 3 });
  assert.deepEqual(first.events.map((e) => e.version), [4, 3, 2]);
  assert.deepEqual(first.events.map((e) => e.by), ['me', 'me', 'me']);
  const second = await agent.tool('get_task',
    { task_id: 'h.1', section: 'history', cursor: first.next_cursor });
  assert.deepEqual(second.events.map((e) => e.op), ['create']);
  assert.equal(second.next_cursor, undefined);
});

onEach('an artifact comes back as it went', async (agent) => {
  await agent.tool('create_task', { task_id: 'a.1', title: 'One' });
  for (const bytes of [Buffer.from('diff --git \u00e9\n'),
    Buffer.alloc(0), randomBytes(1 << 20)]) {
    const text = bytes.length < 100;
    const { artifact_id } = await agent.tool('attach_artifact', {
      task_id: 'a.1',
      name: `${bytes.length} bytes`,
      content: bytes.toString(text ? 'utf8' : 'base64'),
      encoding: text ? 'utf8' : 'base64'
    });
    const task = await agent.tool('get_task', { task_id: 'a.1' });
    const kept = task.artifacts.find((a) => a.artifact_id === artifact_id);
    assert.equal(kept.size, bytes.length);
    assert.equal(kept.sha256,
      createHash('sha256').update(bytes).digest('hex'));
    const whole = await agent.read(`task://a.1/artifacts/${artifact_id}`);
    assert.ok(Buffer.from(whole.text ?? whole.blob,
      'text' in whole ? 'utf8' : 'base64').equals(bytes));
    const pieces = await pages(agent, 'get_task',
      { task_id: 'a.1', section: 'artifact', artifact_id });
    assert.ok(Buffer.concat(pieces.map((p) =>
      Buffer.from(p.content, p.encoding))).equals(bytes));
  }
  assert.equal((await agent.refused('attach_artifact', {
    task_id: 'a.1', name: 'big', content: 'x'.repeat((1 << 20) + 1)
  })).code, 'too_large');
});

onEach('a task that is too long for one answer', async (agent) => {
  const steps = Array.from({ length: 150 },
    (_, i) => `${i} ${'x'.repeat(900)}`);
  await agent.tool('create_task', { task_id: 'b.1', title: 'Big' });
  await agent.tool('save_checkpoint', {
    task_id: 'b.1', agent: 'a', completed_steps: steps, resume_prompt: 'Go on.'
  });
  const all = await pages(agent, 'get_task', { task_id: 'b.1' });
  assert.ok(all.length > 2 && all[0].truncated);
  assert.equal(all[0].resume_prompt, 'Go on.');
  const text = JSON.stringify(all);
  assert.ok(steps.every((step, i) => text.includes(`"${i} x`)));
  assert.deepEqual(JSON.parse((await agent.read('task://b.1')).text)
    .completed_steps, steps);
});

onEach('a retry after a restart', async (agent, t, store) => {
  const ask = { task_id: 'i.1', title: 'Once', agent: 'a' };
  const step = {
    task_id: 'i.1', agent: 'a', notes: 'x', idempotency_key: 'k'
  };
  await agent.tool('create_task', ask);
  const first = await agent.tool('save_checkpoint', step);
  await agent.kill();

  const next = await Agent.start(t, agent.kind, store);
  assert.deepEqual(await next.tool('save_checkpoint', step), first);
  assert.equal((await next.refused('save_checkpoint',
    { ...step, notes: 'y' })).code, 'idempotency_conflict');
  assert.equal((await next.tool('get_task', { task_id: 'i.1' })).version, 2);
  return next;
});

/* ---- agents at work, in both eras ---- */

const inBoth = (what, body) => onEach(what, body, SCENES);

/* Looks at what has happened already, or since. */
const waits = (agent, args) =>
  agent.tool('wait_for_task', { timeout_seconds: 0, ...args });

inBoth('past states and ends of artifacts', async (agent) => {
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
  assert.equal((await piece({ offset: -99 })).offset, 0);
  assert.equal((await piece({ match: 'error', lines: 1 })).content,
    '1-a\n2:error: b\n3-c\n');
  assert.equal((await piece({ match: 'none' })).content, '');
  const e = await agent.refused('get_task', { task_id: 's.1', version: 9 });
  assert.deepEqual([e.code, e.current_version], ['not_found', 3]);
});

inBoth('what the arguments may be', async (agent) => {
  const is = async (code, field, name, args) => {
    const e = await agent.refused(name, args);
    assert.deepEqual([e.code, e.field], [code, field], JSON.stringify(e));
    return e;
  };
  const says = { task_id: 'a', agent: 'b', message: 'x' };

  await agent.tool('create_task', { task_id: 'a', title: 'A' });
  await agent.tool('claim_task', { task_id: 'a', agent: 'a' });
  await is('invalid_argument', 'wait_seconds', 'claim_task',
    { agent: 'a', wait_seconds: 'long' });
  await is('invalid_argument', 'reason', 'claim_task',
    { task_id: 'a', agent: 'a', takeover: true });
  await is('invalid_argument', 'lines', 'get_task', { task_id: 'a',
    section: 'artifact', artifact_id: 'a1', match: 'x', lines: 'all' });
  assert.match((await is('invalid_argument', 'until', 'wait_for_task',
    { task_id: 'a', until: 'soon' })).message, /, work, .*, cancelled$/);
  for (const n of [1, 2, 3, 4]) {
    await agent.tool('update_task', { ...says, message: `${n}` });
  }
  await is('too_large', 'message', 'update_task', says);
  await is('too_large', 'message', 'update_task',
    { ...says, agent: 'c', message: 'x'.repeat(1025) });
  await is('invalid_argument', 'title', 'create_task',
    { title: 'B', tasks: [{ title: 'C' }] });
  await is('invalid_argument', 'tasks', 'create_task', { tasks: [] });
  await is('too_large', 'tasks', 'create_task',
    { tasks: Array(51).fill({ title: 'C' }) });
  assert.match((await is('invalid_argument', 'depends_on', 'create_task',
    { tasks: [{ title: 'B' }, { title: 'C', depends_on: ['#1'] }] })).message,
  /^tasks\[1\]: /);
  assert.equal((await agent.tool('list_tasks', {})).total, 1);
  /* A limit out of range is taken as the nearest one. */
  assert.deepEqual((await agent.tool('list_tasks', { limit: 1000 })).warnings,
    ['limit was set to 100, the maximum']);
});

inBoth('what a wait brings', async (agent, t, store) => {
  const other = await Agent.start(t, SCENES[0], store);
  const { task_ids: [a, b] } = await agent.tool('create_task', { tasks: [
    { title: 'A' }, { title: 'B', depends_on: ['#0'] }] });
  const work = { agent: 'ann', until: 'work' };
  assert.equal((await waits(agent, work)).task.task_id, a);
  await agent.tool('claim_task', { task_id: a, agent: 'bob' });
  assert.equal((await waits(agent, work)).met, false);

  await agent.tool('request_input',
    { task_id: a, agent: 'bob', question: 'Which?', to: 'ann' });
  const asked = { agent: 'ann', until: 'question' };
  assert.equal((await waits(other, { ...asked, agent: 'eve' })).met, false);
  const { task: { question } } = await waits(other, asked);
  assert.deepEqual([question.question, question.to, question.by],
    ['Which?', 'ann', 'bob']);
  const answered = { task_id: a, agent: 'bob', until: 'answered' };
  assert.equal((await waits(agent, answered)).met, false);
  const { seq } = await other.tool('update_task', { task_id: a, agent: 'ann',
    answer: { question_id: question.question_id, text: 'this' } });
  assert.equal((await waits(agent, answered)).questions[0].answer.text,
    'this');
  assert.equal((await waits(other, asked)).met, false);

  await agent.tool('handoff_task', { task_id: a, from_agent: 'bob',
    to_agent: 'ann', reason: 'context full' });
  const { handoff } = (await waits(agent, { agent: 'ann', until: 'handoff' }))
    .task;
  assert.deepEqual([handoff.from_agent, handoff.reason],
    ['bob', 'context full']);
  await agent.tool('claim_task', { agent: 'ann' });
  const change = await waits(agent,
    { task_id: a, agent: 'bob', since_seq: seq });
  assert.deepEqual([change.met, change.by, change.task.current_owner],
    [true, 'ann', 'ann']);

  const ready = { task_id: b, until: 'ready' };
  assert.equal((await waits(agent, ready)).met, false);
  await agent.tool('update_task', { task_id: a, agent: 'ann',
    status: 'failed', reason: 'no disk' });
  const done = await waits(agent, { task_id: a, until: 'done' });
  assert.deepEqual([done.met, done.never, done.reason],
    [false, true, 'no disk']);
  const never = await waits(agent, ready);
  assert.deepEqual([never.never, never.task.deps_failed], [true, [a]]);
  const refused = await agent.refused('claim_task',
    { task_id: b, agent: 'bob', wait_seconds: 50 });
  assert.deepEqual(refused.deps_failed, [a]);
});

inBoth('a claim that waits for its task', async (agent, t, store) => {
  const other = await Agent.start(t, SCENES[0], store);
  const { task_ids: [a, b] } = await agent.tool('create_task', { tasks: [
    { title: 'A' }, { title: 'B', depends_on: ['#0'] }] });
  await other.tool('claim_task', { task_id: a, agent: 'other' });
  const claimed = agent.tool('claim_task',
    { task_id: b, agent: 'me', wait_seconds: 50 });
  await other.tool('create_task', { title: 'Another' });
  await other.tool('update_task',
    { task_id: a, agent: 'other', status: 'done' });
  const task = await claimed;
  assert.deepEqual([task.task_id, task.claimed, task.current_owner],
    [b, true, 'me']);
  await other.close();
});

inBoth('what is said survives a restart', async (agent, t, store) => {
  const me = { task_id: 'a', agent: 'me' };
  const you = { task_id: 'a', agent: 'you' };
  await agent.tool('create_task', { task_id: 'a', title: 'A' });
  await agent.tool('update_task', { task_id: 'a', current_owner: 'you' });
  await agent.tool('claim_task',
    { ...me, takeover: true, reason: 'it is gone' });
  await agent.tool('request_input', { ...me, question: 'Which?', to: 'ann' });
  await agent.tool('update_task', { ...you, message: 'use tabs',
    cancel_requested: { reason: 'not needed' } });
  await agent.kill();

  /* On the same host: elsewhere it may live for a while yet. */
  const next = await Agent.start(t, agent.kind,
    { ...store, env: agent.env ?? store.env });
  assert.equal((await next.tool('get_task', { task_id: 'a', version: 1 }))
    .status, 'open');
  const { task } = await waits(next, { agent: 'ann', until: 'question' });
  assert.equal(task.question.question, 'Which?');
  const { taken_over: taken } = await next.refused('save_checkpoint', you);
  assert.deepEqual([taken.by, taken.reason], ['me', 'it is gone']);
  const { messages, cancel_requested: stop } =
    await next.tool('save_checkpoint', me);
  assert.deepEqual(messages.map(({ from, text }) => [from, text]),
    [['you', 'use tabs']]);
  assert.deepEqual([stop.by, stop.reason], ['you', 'not needed']);
  return next;
});
