/* Two agents, each with its own token, and one that may only read. */

import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import test from 'node:test';

import { auth } from '@modelcontextprotocol/sdk/client/auth.js';

import { Agent, KINDS, LIMIT, newStore, REMOTE_AUTO, REMOTES }
  from './agent.mjs';

const ON_HTTP = KINDS.filter((kind) => kind.path);
const TOKENS = {
  alice: 'alice-0123456789abcdef',
  bob: 'bob-0123456789abcdef',
  carol: 'carol-0123456789abcdef'
};

/* A store with tokens, and how an agent starts there as one of them. */
function guarded(t, kind) {
  const store = newStore(t);
  const file = join(store.dir, 'tokens');
  writeFileSync(file, `${TOKENS.alice} alice\n${TOKENS.bob} bob\n`
    + `${TOKENS.carol} carol read\n`, { mode: 0o600 });
  return {
    store,
    as: (token) => Agent.start(t, kind, store,
      { args: ['--token-file', file], token })
  };
}

for (const kind of [...ON_HTTP, ...REMOTES, REMOTE_AUTO]) {
  test(`a token says who it is (${kind.name})`, LIMIT, async (t) => {
    const { as } = guarded(t, kind);
    const alice = await as(TOKENS.alice);
    const bob = await as(TOKENS.bob);
    const carol = await as(TOKENS.carol);
    const task_id = 'g.1';

    await alice.tool('create_task', { task_id, title: 'Guarded' });
    await alice.tool('save_checkpoint', { task_id, agent: 'alice' });
    assert.equal((await alice.refused('handoff_task',
      { task_id, from_agent: 'bob', to_agent: 'alice' })).code,
    'unauthorized');
    assert.equal((await bob.refused('update_task',
      { task_id, agent: 'alice', goal: 'x' })).code, 'unauthorized');
    await alice.tool('handoff_task',
      { task_id, from_agent: 'alice', to_agent: 'bob' });
    await bob.tool('update_task', { task_id, status: 'in_progress' });

    /* A name that a token proves is told from one that was only given. */
    const { events } = await carol.tool('get_task',
      { task_id, section: 'history' });
    assert.deepEqual(events.map(({ by, token }) => [by, token]),
      ['bob', 'alice', 'alice', 'alice'].map((by) => [by, true]));
    const task = await carol.tool('get_task', { task_id });
    assert.equal(task.created_by, 'alice');
    assert.equal(task.current_owner, 'bob');
    assert.equal((await carol.refused('update_task',
      { task_id, goal: 'x' })).code, 'unauthorized');
    for (const agent of [alice, bob, carol]) {
      await agent.close();
    }
  });
}

/* Each client reports it in its own way. */
const refused = (e) => e.code === 401 || /401|needs a token/.test(e.message);

for (const kind of ON_HTTP) {
  test(`no token, no answer (${kind.name})`, LIMIT, async (t) => {
    const { store, as } = guarded(t, kind);
    await assert.rejects(as(undefined), refused);
    await assert.rejects(as('alice-0123456789abcdeF'), refused);
    await (await as(TOKENS.alice)).tool('list_tasks', {});
    await store.server.close();
  });
}

/* As a client does that signs its user in after a 401. */
test('a client that tries OAuth is told of the token', LIMIT, async (t) => {
  const { store, as } = guarded(t, ON_HTTP[0]);
  const provider = {
    redirectUrl: 'http://127.0.0.1:1/callback',
    clientMetadata: { redirect_uris: ['http://127.0.0.1:1/callback'] },
    clientInformation: () => undefined,
    saveClientInformation: () => assert.fail(),
    tokens: () => undefined
  };
  const alice = await as(TOKENS.alice); // its server runs meanwhile
  await assert.rejects(auth(provider, { serverUrl: store.server.url('/mcp') }),
    (e) => /^this server has no OAuth; .* Bearer TOKEN/.test(e.message));
  await alice.close();
});

test('a session belongs to its token', LIMIT, async (t) => {
  const kind = ON_HTTP.find((k) => k.rev === '2025-11-25');
  const { store, as } = guarded(t, kind);
  const alice = await as(TOKENS.alice);
  const id = alice.transport.sessionId;
  const use = async (token, method = 'GET') => {
    const got = await fetch(store.server.url('/mcp'), {
      method,
      headers: {
        accept: 'text/event-stream',
        authorization: `Bearer ${token}`,
        'mcp-session-id': id
      }
    });
    await got.body.cancel();
    return got.status;
  };

  assert.equal(await use(TOKENS.bob), 404);
  assert.equal(await use(TOKENS.bob, 'DELETE'), 404);
  assert.equal(await use('nobody-0123456789abcdef'), 401);
  await alice.tool('list_tasks', {});
  await alice.transport.terminateSession();
  assert.equal(await use(TOKENS.alice), 404);
  await alice.close();
});
