/* The product's tools that wait: plain calls on each client, tasks of both
   revisions, and whoever else brings about what is waited for. */

import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join as path } from 'node:path';
import { describe, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';

import { accept, Agent, EXTENSION, KINDS, LIMIT, MODERN, modern, newStore, Raw,
  REMOTE_AUTO, REMOTES } from './agent.mjs';
import { eachBeside, OTHER } from './each.mjs';
import { SERVER } from './server.mjs';
import { create, ended, hasHeard, join, ON, polls, resultOf, slowly, textOf }
  from './tasks.mjs';

/* In progress without a lease, so that anyone may end it. */
const TASK = { task_id: 'w.1', title: 'Awaited', status: 'in_progress',
  current_owner: 'someone' };
const { task_id } = TASK;
const WAIT = { task_id, until: 'done' };
const DONE = { task_id, status: 'done' };
const FRESH = { task_id: 'w.2', title: 'Fresh' };
const QUESTION = { task_id, agent: 'a', question: 'Ship it?' };
const LONG = { ...QUESTION, wait_seconds: 15 };

const cli = (store, ...args) => promisify(execFile)(SERVER, args,
  { env: { ...process.env, ...store.env }, timeout: LIMIT.timeout });
const idOf = async (agent) =>
  (await agent.tool('get_task', { task_id })).questions[0].question_id;

/* Each test has a task, and another process on its store. */
const onEach = (what, kinds, body) => eachBeside(what, kinds, TASK, body);

describe('plain calls', { concurrency: 6 }, () => {
  onEach('waiting for a task', [...KINDS, ...REMOTES, REMOTE_AUTO],
    async ({ t, kind, store, other }) => {
      const agent = await Agent.start(t, kind, store);
      const none = await agent.tool('wait_for_task',
        { ...WAIT, timeout_seconds: 0 });
      assert.equal(none.met, false);
      const met = agent.tool('wait_for_task', WAIT);
      await other.tool('update_task', { task_id, goal: 'more' });
      const { seq } = await other.tool('update_task', DONE);
      const { task, changed, ...rest } = await met;
      assert.deepEqual(rest, { met: true, seq, by: rest.by });
      assert.match(rest.by, /^interop-/); /* who gave no name */
      assert.deepEqual(changed, ['status']);
      assert.equal(task.status, 'done');
      const since = await agent.tool('wait_for_task',
        { task_id, since_seq: seq - 1 });
      assert.equal(since.met, true);
      await agent.close();
    });

  /* The event id of the lost stream holds the request. */
  onEach('a wait survives the server', KINDS.filter((kind) =>
    kind.path === '/mcp' && kind.rev === '2025-11-25'),
  async ({ t, kind, store, other }) => {
    const agent = await Agent.start(t, kind, store);
    const met = agent.tool('wait_for_task', WAIT);
    const metrics = async () =>
      (await fetch(store.server.url('/metrics'))).text();
    while (!(await metrics()).includes('\nmcptask_mcp_waiting 1\n')) {
      await sleep(20);
    }
    await store.server.kill();
    const { seq } = await other.tool('update_task', DONE);
    await store.server.up();
    assert.deepEqual([(await met).met, (await met).seq], [true, seq]);
    await agent.close();
  });

  onEach('another answers a question', KINDS,
    async ({ t, kind, store, other }) => {
      const agent = await Agent.start(t, kind, store);
      const { question_id, answered, seq: since_seq } =
        await agent.tool('request_input', QUESTION);
      assert.equal(answered, false);
      const met = agent.tool('wait_for_task',
        { task_id, until: 'answered', since_seq });
      await cli(store, 'answer', task_id, 'yes');
      assert.equal((await met).met, true);
      const task = await other.tool('get_task', { task_id });
      assert.equal(task.questions[0].question_id, question_id);
      await agent.close();
    });

  onEach('what is there already', KINDS,
    async ({ t, kind, store, other }) => {
      const agent = await Agent.start(t, kind, store);
      await agent.tool('request_input', QUESTION);
      await cli(store, 'answer', task_id, 'yes');
      const { met, questions } = await agent.tool('wait_for_task',
        { task_id, agent: 'a', until: 'answered' });
      assert.equal(met, true);
      assert.equal(questions[0].answer.text, 'yes');
      await other.tool('update_task',
        { task_id, status: 'failed', reason: 'no disk' });
      const never = await agent.tool('wait_for_task', WAIT);
      assert.equal(never.met, false);
      assert.equal(never.never, true);
      assert.equal(never.reason, 'no disk');
      await agent.close();
    });

  onEach('waiting for a task to claim', [...KINDS, ...REMOTES, REMOTE_AUTO],
    async ({ t, kind, store, other }) => {
      const agent = await Agent.start(t, kind, store);
      const none = await agent.tool('claim_task', { agent: 'a' });
      assert.equal(none.claimed, false);
      const [{ until, ...held }] = none.held_by;
      assert.deepEqual(held, { agent: 'someone', tasks: 1 });
      assert.ok(Date.parse(until) > Date.now());
      const claimed = agent.tool('claim_task', { agent: 'a', wait_seconds: 15 });
      await other.tool('create_task', FRESH);
      assert.equal((await claimed).task_id, FRESH.task_id);
      assert.equal((await claimed).current_owner, 'a');
      await agent.close();
    });

  /* By elicitation, or as an input_required result. */
  onEach('the user of who asks answers', KINDS.filter(({ name, rev }) =>
    rev >= '2025-11-25' && (name.startsWith('sdk') || rev === MODERN)),
  async ({ t, kind, store, other }) => {
    const agent = kind.rev === MODERN
      ? await Agent.start(t, kind, store, { prepare(client) {
        client.registerCapabilities({ elicitation: {} });
        client.setRequestHandler('elicitation/create', accept);
      } })
      : await join(t, kind, store);
    const { answer } = await agent.tool('request_input', LONG);
    assert.equal(answer.text, 'my answer');
    const { questions } = await other.tool('get_task', { task_id });
    assert.equal(questions.length, 1);
    await agent.close();
  });
});

describe('tasks', { concurrency: 6 }, () => {
  onEach('waiting for a task', ON, async ({ t, kind, store, other }) => {
    const agent = await join(t, kind, store);
    const id = await create(agent, 'wait_for_task', WAIT);
    const blocked = textOf(agent, id);
    await other.tool('update_task', { task_id, goal: 'more' });
    assert.equal((await agent.tasks.getTask(id)).status, 'working');
    const { seq } = await other.tool('update_task', DONE);
    assert.equal(JSON.parse(await blocked).seq, seq);
    await hasHeard(agent, id, 'completed');
    await agent.close();
  });

  onEach('answered before it is waited for', ON,
    async ({ t, kind, store }) => {
      const agent = await join(t, kind, store);
      await agent.tool('request_input', QUESTION);
      await cli(store, 'answer', task_id, 'yes');
      const id = await create(agent, 'wait_for_task',
        { task_id, agent: 'a', until: 'answered' });
      assert.equal((await agent.tasks.getTask(id)).status, 'completed');
      assert.equal(JSON.parse(await textOf(agent, id))
        .questions[0].answer.text, 'yes');
      await agent.close();
    });

  /* By the client of the server, and by a command while there is none. */
  onEach('waiting for a task to claim', ON,
    async ({ t, kind, store, other }) => {
      const agent = await join(t, kind, store);
      const id = await create(agent, 'claim_task', { agent: 'a' });
      const next = await create(agent, 'claim_task', { agent: 'b' });
      const text = textOf(agent, id);
      const { seq } = await other.tool('create_task', FRESH);
      const task = JSON.parse(await text);
      assert.equal(task.task_id, FRESH.task_id);
      assert.equal(task.seq, seq + 1); /* of the same commit */
      await agent.kill();
      await cli(store, 'done', task_id);
      await cli(store, 'add', 'More', '--id', 'w.3');
      const again = await join(t, kind, store);
      const { current_owner, lease } = JSON.parse(await textOf(again, next));
      assert.equal(current_owner, 'b');
      assert.equal(lease.agent, 'b');
      await again.close();
    });

  onEach('a claim that was cancelled takes nothing', ON,
    async ({ t, kind, store, other }) => {
      const agent = await join(t, kind, store);
      const id = await create(agent, 'claim_task', { agent: 'a' });
      await agent.tasks.cancelTask(id);
      await other.tool('create_task', FRESH);
      const { status } = await other.tool('get_task',
        { task_id: FRESH.task_id });
      assert.equal(status, 'open');
      await agent.close();
    });

  /* No server has the calls when it happens: one event comes by a command, the
     other by an agent that leaves before the next one looks. */
  onEach('killed, and missed', ON, async ({ t, kind, store, other }) => {
    const agent = await join(t, kind, store, slowly().answer);
    const asks = await create(agent, 'request_input', QUESTION);
    const id = await create(agent, 'wait_for_task',
      { task_id, until: 'handoff' });
    await agent.kill();
    await cli(store, 'answer', task_id, 'yes');
    await other.tool('handoff_task',
      { task_id, from_agent: 'someone', to_agent: 'b' });
    await other.tool('update_task',
      { task_id, agent: 'b', status: 'in_progress' });
    const next = await join(t, kind, store);
    assert.equal(JSON.parse(await textOf(next, id)).met, true);
    assert.equal(JSON.parse(await textOf(next, asks)).answer.text, 'yes');
    assert.equal(next.asked.length, 0);
    await next.close();
  });

  onEach('the user of who asks answers', ON, async ({ t, kind, store }) => {
    const agent = await join(t, kind, store);
    const id = await create(agent, 'request_input', QUESTION);
    assert.equal(JSON.parse(await textOf(agent, id)).answer.text,
      'my answer');
    assert.equal(agent.asked.length, 1);
    await agent.close();
  });

  const ways = {
    'mcptask answer': ({ store }) => cli(store, 'answer', task_id, 'yes'),
    update_task: async ({ other }) => other.tool('update_task', { task_id,
      agent: 'b', answer: { question_id: await idOf(other), text: 'yes' } })
  };
  for (const [way, answer] of Object.entries(ways)) {
    onEach(`answered by ${way}`, ON, async (all) => {
      const user = slowly();
      const agent = await join(all.t, all.kind, all.store, user.answer);
      const id = await create(agent, 'request_input', QUESTION);
      await polls(agent, id, () => agent.asked.length > 0);
      await answer(all);
      assert.equal(JSON.parse(await textOf(agent, id)).answer.text, 'yes');
      await agent.wire.until(() => user.withdrawn);
      user.said();
      const { questions } = await all.other.tool('get_task', { task_id });
      assert.equal(questions.length, 1);
      assert.equal(questions[0].answer?.text ?? questions[0].answer, 'yes');
      await agent.close();
    });
  }

  onEach('cancelled, and its question stays', ON,
    async ({ t, kind, store, other }) => {
      const agent = await join(t, kind, store, slowly().answer);
      const id = await create(agent, 'request_input', QUESTION);
      await agent.tasks.cancelTask(id);
      assert.equal((await polls(agent, id, ended)).status, 'cancelled');
      await assert.rejects(resultOf(agent, id));
      await cli(store, 'answer', task_id, 'yes');
      assert.equal((await agent.tasks.getTask(id)).status, 'cancelled');
      assert.equal((await other.tool('get_task', { task_id }))
        .questions.length, 1);
      await agent.close();
    });

  onEach('the extension on stdio', [OTHER], async ({ t, store, other }) => {
    const raw = new Raw(t, store);
    const capabilities = { elicitation: {}, ...EXTENSION };
    const call = async (id, name, args) => (await raw.ask(modern(id,
      'tools/call', { name, arguments: args }, { capabilities }))).result;
    const done = async (taskId) => {
      for (let n = 0; ; n++) {
        const { result } = await raw.ask(modern(`${taskId}${n}`, 'tasks/get',
          { taskId }, { capabilities }));
        if (ended(result)) {
          return JSON.parse(result.result.content[0].text);
        }
      }
    };
    const waiting = await call(1, 'wait_for_task', WAIT);
    const asking = await call(2, 'request_input', LONG);
    assert.equal(waiting.resultType, 'task');
    assert.equal(asking.resultType, 'task');
    const { result } = await raw.ask(modern(3, 'tasks/get',
      { taskId: asking.taskId }, { capabilities }));
    const [key] = Object.keys(result.inputRequests);
    await raw.ask(modern(4, 'tasks/update', { taskId: asking.taskId,
      inputResponses: {
        [key]: { action: 'accept', content: { answer: 'fine' } }
      } }, { capabilities }));
    assert.equal((await done(asking.taskId)).answer.text, 'fine');
    await other.tool('update_task', DONE);
    assert.equal((await done(waiting.taskId)).met, true);
    const claim = { agent: 'a', wait_seconds: 15 };
    const claiming = await call(6, 'claim_task', claim);
    assert.equal(claiming.resultType, 'task');
    await other.tool('create_task', FRESH);
    assert.equal((await done(claiming.taskId)).task_id, FRESH.task_id);
    for (const args of [WAIT, { agent: 'b', until: 'question' },
      { ...WAIT, until: 'handoff' }]) {
      assert.equal((await call(JSON.stringify(args), 'wait_for_task', args))
        .resultType, args.agent ? 'task' : 'complete');
    }
    await raw.close(MODERN);
  });
});

/* ---- whose task it is ---- */

const TOKENS = { alice: 'alice-0123456789abcdef', bob: 'bob-0123456789abcdef' };

describe('principals', { concurrency: 6 }, () => {
  for (const kind of ON.filter(({ path: at }) => at)) {
    test(`a task is its token's (${kind.name})`, LIMIT, async (t) => {
      const store = newStore(t);
      const file = path(store.dir, 'tokens');
      writeFileSync(file, Object.entries(TOKENS).map(([name, token]) =>
        `${token} ${name}\n`).join(''), { mode: 0o600 });
      const as = (token) => join(t, kind, store, accept,
        { args: ['--token-file', file], token });
      const alice = await as(TOKENS.alice);
      const again = await as(TOKENS.alice);
      const bob = await as(TOKENS.bob);
      await alice.tool('create_task', TASK);
      const id = await create(alice, 'wait_for_task', WAIT);
      for (const use of [
        () => bob.tasks.getTask(id),
        () => bob.tasks.cancelTask(id),
        () => resultOf(bob, id)
      ]) {
        await assert.rejects(use, { code: -32602 });
      }
      assert.deepEqual((await bob.tasks.listTasks()).tasks, []);
      assert.equal((await again.tasks.getTask(id)).status, 'working');
      assert.equal((await again.tasks.listTasks()).tasks.length, 1);
      await bob.tool('update_task', DONE);
      assert.equal(JSON.parse(await textOf(again, id)).met, true);
      for (const agent of [alice, again, bob]) {
        await agent.close();
      }
    });
  }
});
