/* The tasks of 2025-11-25: the older SDK on each transport, with the fixture's
   tools that outlive their requests, and servers that are killed meanwhile. */

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';

import * as v1 from '@modelcontextprotocol/sdk/client/index.js';
import { InMemoryTaskStore } from '@modelcontextprotocol/sdk/experimental';

import { accept, Agent, EXTENSION, KINDS, LIMIT, MODERN, newStore, WHO }
  from './agent.mjs';
import { eachKind } from './each.mjs';
import { CONFORMING, LASTING } from './server.mjs';
import { create, ended, hasHeard, isAsked, join, ON, POLL, polls, RELATED,
  request, resultOf, REV, slowly, textOf } from './tasks.mjs';

const DAY = 24 * 60 * 60 * 1000;
const NO_PARAMS = { code: -32602 };
const NO_METHOD = { code: -32601 };

/* Each test has its own store, and may have more clients there; those that are
   still connected at the end leave. */
const onEach = (what, body, answer) =>
  eachKind(what, ON, async (t, kind, store) => {
    const more = (how = answer) => join(t, kind, store, how);
    await body(await more(), more, store);
  }, CONFORMING);

/* Everything from callToolStream. */
async function play(agent, name, args = {}) {
  const seen = [];
  for await (const said of agent.tasks.callToolStream(
    { name, arguments: args })) {
    seen.push(said);
  }
  return {
    id: seen[0].task?.taskId,
    seen,
    statuses: seen.filter(({ task }) => task).map(({ task }) => task.status),
    last: seen.at(-1)
  };
}

/* The server again, after it was killed: over HTTP the same client goes on,
   otherwise there is a new one. */
async function dies(agent, more, store) {
  if (!agent.kind.path) {
    await agent.kill();
    return more();
  }
  await store.server.kill();
  await store.server.up();
  await agent.reconnects();
  return agent;
}

describe('the older SDK', { concurrency: 6 }, () => {
  onEach('each tool to its end', async (agent) => {
    const [slow, failing, fault, asks, both, works] = await Promise.all(
      LASTING.map((how) => play(agent, ...how)));

    for (const { id, seen, statuses, last } of [slow, asks, both, works]) {
      assert.equal(seen[0].type, 'taskCreated');
      assert.equal(statuses[0], 'working');
      assert.equal(last.type, 'result', last.error?.message);
      assert.equal(last.result._meta[RELATED].taskId, id);
    }
    assert.equal(slow.last.result.content[0].text, 'Computed: x');
    assert.match(asks.last.result.content[0].text, /"confirm":true/);
    assert.match(works.last.result.content[0].text, /my name/);
    assert.ok(asks.statuses.includes('input_required'));

    assert.equal(failing.last.type, 'error');
    assert.equal(failing.statuses.at(-1), 'failed');
    assert.equal(failing.seen.at(-2).task.statusMessage,
      'This tool always fails.');
    assert.equal(fault.last.type, 'error');
    assert.equal(fault.statuses.at(-1), 'failed');

    assert.deepEqual(
      agent.asked.map(({ _meta }) => _meta[RELATED].taskId).sort(),
      [asks.id, both.id, both.id, works.id].sort());
    await agent.close();
  });

  onEach('a result is what the call would have answered', async (agent) => {
    const args = { seconds: 0, label: 'y' };
    const plain = await agent.callTool('slow_compute', args);
    const { _meta, ...result } =
      await resultOf(agent, await create(agent, 'slow_compute', args));
    assert.deepEqual(_meta, { [RELATED]: { taskId: _meta[RELATED].taskId } });
    assert.deepEqual(result, plain);

    const failed = await resultOf(agent, await create(agent, 'failing_job'));
    assert.equal(failed.isError, true);
    assert.ok(failed._meta[RELATED]);

    const code = await agent.callTool('protocol_error_job', {})
      .catch((e) => e.code);
    const fault = await create(agent, 'protocol_error_job');
    for (let i = 0; i < 2; i++) { /* blocked, and at once */
      await assert.rejects(resultOf(agent, fault), { code });
    }
    await agent.close();
  });

  onEach('a question to who waits for the result', async (agent) => {
    const id = await create(agent, 'confirm_delete', { filename: 'f' });
    assert.match(await textOf(agent, id), /"confirm":true/);
    assert.equal(agent.asked.length, 1);
    assert.equal(agent.asked[0].message, 'f');
    assert.equal(agent.asked[0]._meta[RELATED].taskId, id);
    await hasHeard(agent, id, 'completed');
    await agent.close();
  });

  onEach('questions to who only polls', async (agent) => {
    const id = await create(agent, 'multi_input');
    assert.equal((await polls(agent, id, ended)).status, 'completed');
    assert.equal(agent.asked.length, 2);
    assert.equal(await textOf(agent, id), 'The user said both.');
    await agent.close();
  });

  onEach('a user declines', async (agent) => {
    const id = await create(agent, 'confirm_delete', { filename: 'f' });
    assert.match(await textOf(agent, id), /decline/);
    await agent.close();
  }, () => ({ action: 'decline' }));

  onEach('a client that fails to ask', async (agent) => {
    const id = await create(agent, 'confirm_delete', { filename: 'f' });
    assert.match(await textOf(agent, id), /nothing/);
    await agent.close();
  }, () => Promise.reject(new Error('no user')));

  onEach('cancelled', async (agent) => {
    const stream = play(agent, 'slow_compute', { seconds: 60 });
    await agent.wire.until(() => agent.wire.messages.some((m) =>
      m.result?.task));
    const { tasks: [{ taskId }] } = await agent.tasks.listTasks();
    const blocked = assert.rejects(resultOf(agent, taskId));

    assert.equal((await agent.tasks.cancelTask(taskId)).status, 'cancelled');
    await blocked;
    await hasHeard(agent, taskId, 'cancelled');
    assert.match((await stream).last.error.message, /cancelled/);
    await assert.rejects(agent.tasks.cancelTask(taskId), NO_PARAMS);
    await assert.rejects(resultOf(agent, taskId));
    assert.equal((await agent.tasks.getTask(taskId)).status, 'cancelled');

    const done = await create(agent, 'slow_compute', { seconds: 0 });
    await textOf(agent, done);
    await assert.rejects(agent.tasks.cancelTask(done), NO_PARAMS);
    assert.equal((await agent.tasks.getTask(done)).status, 'completed');
    await agent.close();
  });

  for (const kind of ON) {
    test(`a question is withdrawn (${kind.name})`, LIMIT, async (t) => {
      const user = slowly();
      const agent = await join(t, kind, newStore(t, CONFORMING), user.answer);
      const id = await create(agent, 'confirm_delete', { filename: 'f' });
      const blocked = assert.rejects(resultOf(agent, id));
      await isAsked(agent);
      await agent.tasks.cancelTask(id);
      await blocked;
      await agent.wire.until(() => user.withdrawn);
      await agent.close();
    });
  }

  onEach('a list in pages', async (agent) => {
    const made = await Promise.all(Array.from({ length: 120 }, () =>
      create(agent, 'slow_compute', { seconds: 60 })));
    const listed = [];
    let cursor;
    let pages = 0;
    do {
      const page = await agent.tasks.listTasks(cursor);
      listed.push(...page.tasks.map(({ taskId }) => taskId));
      cursor = page.nextCursor;
      pages++;
    } while (cursor);
    assert.ok(pages > 2);
    assert.deepEqual([...listed].sort(), [...made].sort());
    await assert.rejects(agent.tasks.listTasks('nonsense'), NO_PARAMS);
    await agent.close();
  });

  onEach('times to live', async (agent) => {
    const ttl = async (task) => {
      const id = await create(agent, 'slow_compute', { seconds: 60 }, task);
      return (await agent.tasks.getTask(id)).ttl;
    };
    assert.equal(await ttl({}), DAY);
    assert.equal(await ttl({ ttl: 90000 }), 90000);
    assert.equal(await ttl({ ttl: 365 * DAY }), 30 * DAY);

    const short = { ttl: 5000 };
    const done = await create(agent, 'slow_compute', { seconds: 0 }, short);
    const slow = await create(agent, 'slow_compute', { seconds: 60 }, short);
    await textOf(agent, done);
    assert.equal((await agent.tasks.getTask(slow)).ttl, 5000);
    await assert.rejects(resultOf(agent, slow), NO_PARAMS);
    for (const id of [slow, done]) {
      await assert.rejects(agent.tasks.getTask(id), NO_PARAMS);
      await assert.rejects(agent.tasks.cancelTask(id), NO_PARAMS);
      await assert.rejects(resultOf(agent, id), NO_PARAMS);
    }
    assert.deepEqual((await agent.tasks.listTasks()).tasks.map((k) => k.ttl)
      .sort((a, b) => a - b), [90000, DAY, 30 * DAY]);
    await agent.close();
  });

  onEach('what may be a task', async (agent) => {
    const support = Object.fromEntries((await agent.client.listTools()).tools
      .map(({ name, execution }) => [name, execution?.taskSupport]));
    assert.equal(support.slow_compute, 'optional');
    assert.equal(support.failing_job, 'required');
    assert.ok([undefined, 'forbidden'].includes(support.test_simple_text));

    const call = (name, task) => request(agent, { name }, task && { task });
    await assert.rejects(call('test_simple_text', {}), NO_METHOD);
    await assert.rejects(call('failing_job'), NO_METHOD);
    await assert.rejects(call('none_such', {}), NO_PARAMS);
    for (const id of ['', 'none', 'A'.repeat(22), 'x'.repeat(5000)]) {
      await assert.rejects(agent.tasks.getTask(id), NO_PARAMS);
      await assert.rejects(resultOf(agent, id), NO_PARAMS);
      await assert.rejects(agent.tasks.cancelTask(id), NO_PARAMS);
    }
    await agent.close();
  });

  /* The second one is on another transport, and so in another process or of
     another session of the same server. */
  ON.forEach((kind, i) => {
    const other = ON[(i + 1) % ON.length];

    test(`one client is asked (${kind.name})`, LIMIT, async (t) => {
      const store = newStore(t, CONFORMING);
      const user = slowly();
      const first = await join(t, kind, store, user.answer);
      const second = await join(t, other, store);
      const id = await create(first, 'confirm_delete', { filename: 'f' });
      await polls(first, id, () => first.asked.length > 0);
      const blocked = textOf(second, id);
      for (let n = 0; n < 5; n++) {
        for (const agent of [first, second]) {
          assert.equal((await agent.tasks.getTask(id)).status,
            'input_required');
        }
      }
      user.said();
      const text = await textOf(first, id);
      assert.match(text, /"confirm":true/);
      assert.equal(await blocked, text);
      assert.equal((await second.tasks.getTask(id)).status, 'completed');
      assert.deepEqual([first.asked.length, second.asked.length], [1, 0]);
      await first.close();
      await second.close();
    });

    /* A client that vanished may come back within ten seconds. */
    test(`the next client is asked (${kind.name})`, LIMIT, async (t) => {
      const store = newStore(t, CONFORMING);
      const first = await join(t, kind, store, slowly().answer);
      const id = await create(first, 'confirm_delete', { filename: 'f' });
      await polls(first, id, () => first.asked.length > 0);
      const second = await join(t, other, store);
      await second.tasks.getTask(id);
      await first.close();
      await polls(second, id, ended);
      assert.equal(second.asked.length, 1);
      assert.match(await textOf(second, id), /"confirm":true/);
      await second.close();
    });
  });

  test('who ends its session passes its questions on', LIMIT, async (t) => {
    const kind = ON.find(({ path }) => path === '/mcp');
    const store = newStore(t, CONFORMING);
    const first = await join(t, kind, store, slowly().answer);
    const id = await create(first, 'confirm_delete', { filename: 'f' });
    await polls(first, id, () => first.asked.length > 0);
    const second = await join(t, kind, store);
    const blocked = textOf(second, id);
    await first.transport.terminateSession();
    assert.match(await blocked, /"confirm":true/);
    await first.close();
    await second.close();
  });

  onEach('killed while a call waits', async (agent, more, store) => {
    const start = Date.now();
    const id = await create(agent, 'slow_compute', { seconds: 2, label: 'z' });
    const gone = new AbortController();
    const blocked = resultOf(agent, id, { signal: gone.signal })
      .catch(() => {});
    const stream = play(agent, 'slow_compute', { seconds: 2, label: 'z' })
      .catch(() => {});
    await agent.wire.until(() => agent.wire.messages.filter((m) =>
      m.result?.task).length === 2);

    const same = await dies(agent, more, store);
    gone.abort();
    await blocked;
    assert.equal(await textOf(same, id), 'Computed: z');
    assert.ok(Date.now() - start >= 2000);
    const next = await more();
    assert.equal(await textOf(next, id), 'Computed: z');
    const { tasks } = await next.tasks.listTasks();
    assert.equal(tasks.length, 2);
    for (const { taskId } of tasks) {
      assert.equal((await polls(next, taskId, ended)).status, 'completed');
      assert.equal(await textOf(same, taskId), 'Computed: z');
    }
    await next.close();
    await same.close();
    await stream;
  });

  /* It is asked once: each answer reaches its question after the restart. On
     stdio nobody is left to answer, so the next client is asked. */
  ON.forEach((kind, i) => {
    test(`killed while a user thinks (${kind.name})`, LIMIT, async (t) => {
      const store = newStore(t, CONFORMING);
      const user = slowly();
      const agent = await join(t, kind, store, user.answer);
      const id = await create(agent, 'multi_input');
      await polls(agent, id, () => agent.asked.length === 2);
      const { streams } = agent.wire;
      const same = await dies(agent, () => join(t, kind, store), store);
      if (same === agent) {
        await polls(agent, id, () => agent.wire.streams > streams);
        user.said();
        for (let n = 0; n < 5; n++) {
          assert.equal((await agent.tasks.getTask(id)).status,
            'input_required');
        }
        user.said();
      }
      assert.equal(await textOf(same, id), 'The user said both.');
      assert.equal(same.asked.length, 2);
      await same.close();
    });

    test(`killed, and another user answers (${kind.name})`, LIMIT,
      async (t) => {
        const store = newStore(t, CONFORMING);
        const agent = await join(t, kind, store, slowly().answer);
        const id = await create(agent, 'multi_input');
        await polls(agent, id, () => agent.asked.length === 2);
        await agent.kill();
        const next = await join(t, ON[(i + 1) % ON.length], store);
        assert.equal(await textOf(next, id), 'The user said both.');
        assert.equal(next.asked.length, 2);
        await next.close();
      });
  });
});

/* ---- questions as tasks of the client ---- */

/* What a user who is asked by such a task does in the end; ends has it done. */
function onOwn(what, end, body, kinds = ON) {
  for (const kind of kinds) {
    test(`${what} (${kind.name})`, LIMIT, async (t) => {
      const own = new InMemoryTaskStore();
      t.after(() => own.cleanup());
      const client = () => new v1.Client(WHO, {
        taskStore: own,
        capabilities: { tasks: {
          list: {}, cancel: {}, requests: { elicitation: { create: {} } }
        } }
      });
      const user = {};
      const store = newStore(t, CONFORMING);
      const agent = await join(t, { ...kind, client }, store,
        async (request, { taskStore, taskRequestedTtl }) => {
          const task = await taskStore.createTask(
            { ttl: taskRequestedTtl, pollInterval: POLL });
          user.status = async () => (await own.getTask(task.taskId)).status;
          user.ends = () => end(own, task.taskId, request);
          agent.wire.look();
          return { task };
        });
      const id = await create(agent, 'confirm_delete', { filename: 'f' });
      await body(agent, id, user, store);
      assert.equal(agent.asked.length, 1);
      assert.equal(agent.asked[0]._meta[RELATED].taskId, id);
      await agent.close();
    });
  }
}

const completes = (own, id, request) =>
  own.storeTaskResult(id, 'completed', accept(request));
const isPolled = (agent) => agent.wire.until(() =>
  agent.wire.messages.some((m) => m.method === 'tasks/get'));

describe('questions as tasks of the client', { concurrency: 6 }, () => {
  onOwn('answered at last', completes, async (agent, id, user) => {
    const text = textOf(agent, id);
    await isPolled(agent);
    assert.equal((await agent.tasks.getTask(id)).status, 'input_required');
    await user.ends();
    assert.match(await text, /"confirm":true/);
  });

  onOwn('answered at once', completes, async (agent, id, user) => {
    const text = textOf(agent, id);
    await agent.wire.until(() => user.ends);
    await user.ends();
    assert.match(await text, /"confirm":true/);
  });

  onOwn('to who only polls', completes, async (agent, id, user) => {
    await polls(agent, id, () => user.ends);
    await user.ends();
    await polls(agent, id, ended);
    assert.match(await textOf(agent, id), /"confirm":true/);
  });

  onOwn('the user gives up',
    (own, id) => own.updateTaskStatus(id, 'cancelled'),
    async (agent, id, user) => {
      const text = textOf(agent, id);
      await isPolled(agent);
      await user.ends();
      assert.match(await text, /nothing/);
    });

  onOwn('the question is withdrawn', undefined, async (agent, id, user) => {
    const blocked = assert.rejects(resultOf(agent, id));
    await isPolled(agent);
    await agent.tasks.cancelTask(id);
    await blocked;
    await agent.wire.until(() => agent.wire.messages.some((m) =>
      m.method === 'tasks/cancel'));
    await agent.client.ping();
    assert.equal(await user.status(), 'cancelled');
  });

  /* Over SSE nobody knows any longer that this client can be asked. */
  onOwn('killed meanwhile', completes, async (agent, id, user, store) => {
    await polls(agent, id, () => user.ends);
    await store.server.kill();
    await user.ends();
    await store.server.up();
    await polls(agent, id, ended);
    assert.match(await textOf(agent, id), /"confirm":true/);
  }, ON.filter(({ path }) => path === '/mcp'));
});

/* ---- what other revisions see ---- */

describe('only where there are tasks', { concurrency: 6 }, () => {
  for (const kind of KINDS) {
    test(`capabilities and tools (${kind.name})`, LIMIT, async (t) => {
      const agent = await Agent.start(t, kind, newStore(t, CONFORMING));
      const { tools } = await agent.client.listTools();
      const has = kind.rev === REV;
      const { tasks, extensions } = agent.client.getServerCapabilities();
      assert.equal(tools.some((tool) => tool.execution), has);
      assert.deepEqual(tasks, has
        ? { list: {}, cancel: {}, requests: { tools: { call: {} } } }
        : undefined);
      assert.deepEqual(extensions, kind.rev === MODERN
        ? EXTENSION.extensions : undefined);
      await agent.close();
    });
  }
});
