/* The tasks of both revisions with their own package, ext-tasks with client
   2.4.0: those of 2025-11-25 on each transport, the extension of 2026-07-28 over
   HTTP, where it leaves sending to its host. Then, on stdio, what no client
   does, and one record in two dialects. */

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';

import { bindTaskReceiver } from '@modelcontextprotocol/ext-tasks/receiver';

import { accept, EXTENSION, KINDS, LIMIT, MODERN, modern, newStore, Raw }
  from './agent.mjs';
import { eachKind } from './each.mjs';
import { create, join, POLL } from './ext.mjs';
import { CONFORMING, LASTING } from './server.mjs';

const OLD = KINDS.filter(({ name }) =>
  /client 2.4.0 on \w+ legacy/.test(name));
const NEW = KINDS.filter(({ name }) =>
  /client 2.4.0 on http pinned/.test(name));
const TASK = { task: { preference: 'prefer' } };

const onEach = (what, kinds, body) =>
  eachKind(what, kinds, (t, kind, store) =>
    body((options) => join(t, kind, store, options), store), CONFORMING);

const call = ({ session }, name, args = {}, options = TASK) =>
  session.callTool(name, args, options);
const outcomeOf = async (execution) => (await execution.settle()).outcome;
const play = async (...how) => outcomeOf(await call(...how));
const isAsked = (agent, n = 1) =>
  agent.wire.until(() => agent.asked.length >= n);

function says(outcome, text) {
  assert.equal(outcome.status, 'completed', outcome.error?.message);
  assert.match(outcome.result.content[0].text, text);
}

describe('ext-tasks', { concurrency: 6 }, () => {
  onEach('each tool to its end', [...OLD, ...NEW], async (more) => {
    const agent = await more();
    const [slow, failing, fault, asks, both, works] = await Promise.all(
      LASTING.map((how) => play(agent, ...how)));
    says(slow, /^Computed: x$/);
    says(asks, /"confirm":true/);
    says(both, /both/);
    says(works, /my name/);
    assert.equal(fault.status, 'failed');
    if (agent.isNew) {
      says(failing, /always fails/);
      assert.equal(failing.result.isError, true);
      assert.equal(fault.error.code, -32603);
    } else {
      assert.equal(failing.status, 'failed');
      assert.equal(failing.error.message, 'This tool always fails.');
    }
    assert.deepEqual(agent.asked.map(({ scope }) => scope).sort(),
      [agent.isNew ? 'request' : 'task', 'task', 'task', 'task']);
    await agent.leave();
  });

  onEach('a user declines', [...OLD, ...NEW], async (more) => {
    const agent = await more({ answer: () => ({ action: 'decline' }) });
    says(await play(agent, 'confirm_delete', { filename: 'f' }), /decline/);
    await agent.leave();
  });

  onEach('cancelled', [...OLD, ...NEW], async (more) => {
    const agent = await more();
    const execution = await call(agent, 'slow_compute', { seconds: 60 });
    const { taskId } = execution.handle;
    await execution.cancel();
    assert.equal((await execution.result()).status, 'cancelled');
    const task = agent.session.task(taskId);
    assert.equal((await task.snapshot()).status, 'cancelled');
    await (agent.isNew ? task.cancel()
      : assert.rejects(task.cancel(), { code: -32602 }));
    assert.equal((await task.result()).status, 'cancelled');
    await assert.rejects(agent.session.task('none').snapshot(),
      { code: -32602 });
    await agent.leave();
  });

  /* By a reference that its host has stored. */
  onEach('killed while a call waits', [...OLD, ...NEW],
    async (more, store) => {
      const agent = await more();
      const args = { seconds: 2, label: 'z' };
      const execution = await call(agent, 'slow_compute', args);
      const reference = execution.serializeReference();
      if (!agent.isNew) {
        await execution.detach();
      }
      if (store.server) {
        await store.server.kill();
        await store.server.up();
        await agent.reconnects();
      } else {
        await agent.kill();
      }
      const next = await more();
      says(await outcomeOf(await next.session.resumeTask(reference)),
        /^Computed: z$/);
      await next.leave();
      if (agent.isNew) { /* which has polled all the time */
        says(await execution.result(), /^Computed: z$/);
      } else if (store.server) {
        says(await outcomeOf(await agent.session.resumeTask(reference)),
          /^Computed: z$/);
      }
      if (store.server) {
        await agent.leave();
      }
    });

  onEach('killed while a user thinks', [...OLD, ...NEW],
    async (more) => {
      const silence = () => new Promise(() => {});
      const agent = await more({ answer: silence });
      const execution = await call(agent, 'multi_input');
      /* The old dialect asks both at once; a detached client refuses more. */
      await isAsked(agent, agent.isNew ? 1 : 2);
      const reference = execution.serializeReference();
      await agent.kill();
      await execution.detach();
      const next = await more();
      says(await outcomeOf(await next.session.resumeTask(reference)), /both/);
      assert.equal(next.asked.length, 2);
      await next.leave();
    });
});

describe('ext-tasks at 2025-11-25', { concurrency: 6 }, () => {
  onEach('what a session may do', OLD, async (more) => {
    const { session, ...agent } = await more();
    assert.deepEqual(session.capabilities, {
      inventory: 'server-list',
      execution: true,
      cancellation: true,
      inputResponses: false,
      requestedRetention: true
    });
    const plain = await call({ session }, 'slow_compute', { seconds: 0 }, {});
    assert.equal(plain.kind, 'immediate');
    const kept = await call({ session }, 'slow_compute', { seconds: 60 },
      { task: { preference: 'require', retentionMs: 90000 } });
    const { taskId } = kept.handle;
    assert.equal((await session.task(taskId).snapshot()).retentionMs, 90000);
    assert.deepEqual((await session.listTasks()).tasks
      .map((task) => task.taskId), [taskId]);
    await assert.rejects(call({ session }, 'failing_job', {},
      { task: { preference: 'forbid' } }));
    await assert.rejects(call({ session }, 'greet', { name: 'x' },
      { task: { preference: 'require' } }));
    await agent.leave();
  });

  /* The client answers a question with a task. */
  const bound = (elicitation, ended) => ({
    prepare(client) {
      const receiver = bindTaskReceiver(client, {
        methods: { 'elicitation/create': true },
        pollIntervalMs: POLL,
        elicitation,
        onError: ended
      });
      client.registerCapabilities({ tasks: receiver.capabilities });
    }
  });

  onEach('questions as tasks of the client', OLD, async (more) => {
    const taskIds = [];
    const agent = await more(bound(async (request, { taskId }) => {
      taskIds.push(taskId);
      return accept(request);
    }));
    says(await play(agent, 'confirm_delete', { filename: 'f' }),
      /"confirm":true/);
    says(await play(agent, 'multi_input'), /both/);
    assert.equal(taskIds.length, 3);
    assert.equal(agent.asked.length, 0);
    await agent.leave();
  });

  onEach('such a task fails', OLD, async (more) => {
    const agent = await more(bound(() => Promise.reject(new Error('no'))));
    says(await play(agent, 'confirm_delete', { filename: 'f' }), /nothing/);
    await agent.leave();
  });

  onEach('such a task is cancelled with its call', OLD, async (more) => {
    let signal;
    const agent = await more(bound((request, context) => {
      signal = context.signal;
      return new Promise(() => {});
    }));
    const execution = await call(agent, 'confirm_delete', { filename: 'f' });
    await agent.wire.until(() => agent.wire.messages.some((m) =>
      m.method === 'tasks/get' || m.method === 'tasks/result'));
    await execution.cancel();
    while (!signal.aborted) {
      await sleep(POLL);
    }
    await agent.leave();
  });
});

/* ---- the extension ---- */

const keysOf = ({ raw }) => Object.keys(raw.inputRequests ?? {}).sort();

describe('ext-tasks at 2026-07-28', { concurrency: 6 }, () => {
  onEach('answers in parts', NEW, async (more, store) => {
    const agent = await more();
    const taskId = await create(agent, 'multi_input');
    const task = agent.session.task(taskId);
    const name = { action: 'accept', content: { name: 'x', other: 1 } };
    const color = { action: 'accept', content: { color: 'y' } };

    const first = await task.snapshot();
    assert.deepEqual(keysOf(first), ['color', 'name']);
    await task.update({ none: name });
    await store.server.kill();
    await store.server.up();
    const again = await task.snapshot();
    assert.deepEqual(again.raw.inputRequests, first.raw.inputRequests);
    await task.update({ name, none: color });
    const half = await task.snapshot();
    assert.equal(half.status, 'input_required');
    assert.deepEqual(keysOf(half), ['color']);
    await task.update({ name: { action: 'decline' } });
    await task.update({ color });
    says(await task.result(), /both/);
    await task.update({ color });
    await assert.rejects(agent.session.task('none').update({ color }),
      { code: -32602 });
    await agent.leave();
  });

  onEach('notifications', NEW, async (more) => {
    const agent = await more();
    const taskId = await create(agent, 'confirm_delete', { filename: 'f' });
    const other = await create(agent, 'slow_compute', { seconds: 60 });
    const hears = (id, status) => agent.wire.until(() =>
      agent.heard.some(({ method, params }) => method === 'notifications/tasks'
        && params.taskId === id && params.status === status));

    const listening = await agent.client.listen(
      { taskIds: [taskId, other, 'none'] });
    await agent.session.task(taskId).update({
      confirm: { action: 'accept', content: { confirm: true } }
    });
    await hears(taskId, 'completed');
    await agent.session.task(other).cancel();
    await hears(other, 'cancelled');
    const { params } = agent.heard.find((note) =>
      note.params.status === 'completed');
    assert.match(params.result.content[0].text, /"confirm":true/);
    await listening.close();

    const late = await create(agent, 'slow_compute', { seconds: 1 });
    const again = await agent.client.listen({ taskIds: [late] });
    await hears(late, 'completed'); /* though nobody polls */
    await again.close();
    await agent.leave();
  });

  /* The notification replaces a poll. */
  onEach('an execution that is notified', NEW, async (more) => {
    const agent = await more();
    const execution = await call(agent, 'confirm_delete', { filename: 'f' });
    const listening = await agent.client.listen(
      { taskIds: [execution.handle.taskId] });
    says(await outcomeOf(execution), /"confirm":true/);
    await listening.close();
    await agent.leave();
  });

  onEach('a client without the extension', NEW, async (more) => {
    const agent = await more();
    const plain = (method, params) => agent.rawDispatch(
      modern(0, method, params, { capabilities: { elicitation: {} } }));
    const { result } = await plain('tools/call',
      { name: 'slow_compute', arguments: { seconds: 1, label: 'p' } });
    assert.equal(result.resultType, 'complete');
    assert.equal(result.content[0].text, 'Computed: p');
    const refused = async (method, params) => {
      const { error } = await plain(method, params);
      assert.equal(error.code, -32021);
      assert.deepEqual(error.data.requiredCapabilities, EXTENSION);
    };
    await refused('tools/call', { name: 'failing_job', arguments: {} });
    for (const taskId of ['none',
      await create(agent, 'slow_compute', { seconds: 60 })]) {
      await refused('tasks/get', { taskId });
      await refused('tasks/cancel', { taskId });
      await refused('tasks/update', { taskId, inputResponses: {} });
      await refused('subscriptions/listen', { notifications: {
        taskIds: [taskId]
      } });
    }
    await agent.leave();
  });
});

/* ---- on stdio, and in two dialects ---- */

/* Requests of the extension, numbered: result, or the error's code. */
let n = 0;

function extended(raw) {
  return async (method, params, capabilities = EXTENSION) => {
    const { result, error } = await raw.ask(modern(`e${n++}`, method, params,
      { capabilities: { elicitation: {}, ...capabilities } }));
    return result ?? error.code;
  };
}

async function until(ask, taskId, is) {
  for (;;) {
    const task = await ask('tasks/get', { taskId });
    if (is(task)) {
      return task;
    }
    await sleep(POLL);
  }
}

const isOver = ({ status }) => /completed|failed|cancelled/.test(status);

describe('raw requests on stdio', { concurrency: 6 }, () => {
  test('each tool to its end', LIMIT, async (t) => {
    const raw = new Raw(t, newStore(t, CONFORMING));
    const ask = extended(raw);
    const make = async (name, args = {}) => {
      const made = await ask('tools/call', { name, arguments: args });
      assert.equal(made.resultType, 'task');
      assert.equal('result' in made || 'inputRequests' in made, false);
      return made.taskId;
    };
    const slow = await make('slow_compute', { seconds: 1, label: 'x' });
    const failing = await make('failing_job');
    const fault = await make('protocol_error_job');
    const asks = await make('multi_input');
    const idle = await make('slow_compute', { seconds: 60 });

    const answer = (content) => ({ action: 'accept', content });
    await ask('tasks/update', { taskId: asks,
      inputResponses: { color: answer({ color: 'x' }) } });
    const half = await ask('tasks/get', { taskId: asks });
    assert.deepEqual(Object.keys(half.inputRequests), ['name']);
    assert.deepEqual(Object.keys(await ask('tasks/update', { taskId: asks,
      inputResponses: { name: answer({ name: 'x' }) } }))
      .filter((key) => key !== '_meta'), ['resultType']);
    const texts = [];
    for (const taskId of [slow, failing, asks]) {
      const task = await until(ask, taskId, isOver);
      assert.equal(task.status, 'completed');
      assert.equal(task.result.resultType, 'complete');
      assert.equal(task.result.isError ?? false, taskId === failing);
      texts.push(task.result.content[0].text);
    }
    assert.deepEqual(texts, ['Computed: x', 'This tool always fails.',
      'The user said both.']);
    const failed = await until(ask, fault, isOver);
    assert.equal(failed.status, 'failed');
    assert.equal(failed.error.code, -32603);
    for (let i = 0; i < 2; i++) {
      const ack = await ask('tasks/cancel', { taskId: idle });
      assert.equal(ack.resultType, 'complete');
      assert.equal('status' in ack, false);
    }
    assert.equal((await ask('tasks/get', { taskId: idle })).status,
      'cancelled');

    assert.equal(await ask('tasks/list', {}), -32601);
    assert.equal(await ask('tasks/result', { taskId: slow }), -32601);
    assert.equal(await ask('tasks/get', { taskId: 'none' }), -32602);
    assert.equal(await ask('tasks/get', { taskId: slow }, {}), -32021);
    assert.equal(await ask('tools/call', { name: 'failing_job' }, {}),
      -32021);
    await raw.close(MODERN);
  });

  test('notifications, and killed while a call waits', LIMIT, async (t) => {
    const store = newStore(t, CONFORMING);
    const first = new Raw(t, store);
    const { taskId } = await extended(first)('tools/call',
      { name: 'slow_compute', arguments: { seconds: 1, label: 'k' } });
    const asks = (await extended(first)('tools/call',
      { name: 'confirm_delete', arguments: { filename: 'f' } })).taskId;
    await first.kill(MODERN);

    const raw = new Raw(t, store);
    const other = new Raw(t, store);
    raw.send(modern('l', 'subscriptions/listen',
      { notifications: { taskIds: [taskId, asks] } },
      { capabilities: EXTENSION }));
    const ack = await raw.hears((m) =>
      m.method === 'notifications/subscriptions/acknowledged');
    assert.deepEqual(ack.params.notifications.taskIds.sort(),
      [taskId, asks].sort());
    await extended(other)('tasks/update', { taskId: asks, inputResponses: {
      confirm: { action: 'accept', content: { confirm: true } }
    } });
    for (const [id, text] of [[asks, /true/], [taskId, /^Computed: k$/]]) {
      const { params } = await raw.hears((m) =>
        m.method === 'notifications/tasks' && m.params.taskId === id
        && m.params.status === 'completed');
      assert.match(params.result.content[0].text, text);
      assert.equal(
        params._meta['io.modelcontextprotocol/subscriptionId'], 'l');
    }
    raw.send({ jsonrpc: '2.0', method: 'notifications/cancelled',
      params: { requestId: 'l' } });
    assert.equal((await until(extended(other), taskId, isOver)).status,
      'completed');
    await raw.close(MODERN);
    await other.close(MODERN);
  });

  test('as many live calls as there may be', LIMIT, async (t) => {
    const raw = new Raw(t, newStore(t, CONFORMING));
    const make = (id) => raw.send(modern(id, 'tools/call',
      { name: 'slow_compute', arguments: { seconds: 60 } },
      { capabilities: EXTENSION }));
    for (let i = 0; i <= 1000; i++) {
      make(i);
    }
    const { result } = await raw.hears((m) => m.id === 999);
    const { error } = await raw.hears((m) => m.id === 1000);
    assert.match(error.message, /Too many/i);
    await extended(raw)('tasks/cancel', { taskId: result.taskId });
    make(1001);
    assert.ok((await raw.hears((m) => m.id === 1001)).result);
    await raw.close(MODERN);
  });

  for (const rev of ['2025-06-18', '2025-11-25']) {
    test(`a task unasked for, or unknown, at ${rev}`, LIMIT, async (t) => {
      const raw = new Raw(t, newStore(t, CONFORMING));
      const ask = (method, params) => raw.ask(
        { jsonrpc: '2.0', id: `u${n++}`, method, params });
      await raw.initialize(rev, EXTENSION); /* as the Inspector has it */
      const args = { name: 'slow_compute', arguments: { seconds: 0 } };
      assert.ok((await ask('tools/call', args)).result.content);
      const { result } = await ask('tools/call', { ...args, task: {} });
      assert.ok(rev < '2025-11-25' ? result.content : result.task);
      assert.equal((await ask('tasks/get', { taskId: 'none' })).error.code,
        rev < '2025-11-25' ? -32601 : -32602);
      assert.equal((await ask('tasks/update', { taskId: 'none' })).error.code,
        -32601);
      await raw.close(rev);
    });
  }

  test('one record in two dialects', LIMIT, async (t) => {
    const store = newStore(t, CONFORMING);
    const old = new Raw(t, store);
    const ask = extended(new Raw(t, store));
    const legacy = async (method, params) => {
      const { result, error } = await old.ask(
        { jsonrpc: '2.0', id: n++, method, params });
      return result ?? error.code;
    };
    await old.initialize('2025-11-25', { elicitation: {} });
    const made = (await legacy('tools/call',
      { name: 'failing_job', arguments: {}, task: {} })).task.taskId;
    const asks = (await legacy('tools/call', { name: 'confirm_delete',
      arguments: { filename: 'f' }, task: {} })).task.taskId;
    const modernMade = (await ask('tools/call',
      { name: 'slow_compute', arguments: { seconds: 1, label: 'm' } })).taskId;

    assert.equal((await until(ask, made, isOver)).status, 'completed');
    assert.equal((await legacy('tasks/get', { taskId: made })).status,
      'failed');
    assert.equal((await ask('tasks/get', { taskId: asks })).status,
      'input_required');
    await ask('tasks/update', { taskId: asks, inputResponses: {
      confirm: { action: 'accept', content: { confirm: true } }
    } });
    assert.match((await legacy('tasks/result', { taskId: asks }))
      .content[0].text, /true/);
    assert.equal((await legacy('tasks/result', { taskId: modernMade }))
      .content[0].text, 'Computed: m');
    assert.deepEqual((await legacy('tasks/list')).tasks
      .map((task) => task.taskId).sort(), [made, asks, modernMade].sort());
    assert.equal(await legacy('tasks/cancel', { taskId: modernMade }),
      -32602);
    assert.equal((await ask('tasks/cancel', { taskId: modernMade }))
      .resultType, 'complete');
    await old.close('2025-11-25');
  });
});
