/* Servers on stdio in two repositories of one store, and one over HTTP. */

import assert from 'node:assert/strict';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { Agent, KINDS } from './agent.mjs';
import { eachKind, OTHER } from './each.mjs';

/* What git init makes, as far as it matters. */
function repository(store, name) {
  const root = join(store.dir, name);
  for (const dir of ['objects', 'refs']) {
    mkdirSync(join(root, '.git', dir), { recursive: true });
  }
  writeFileSync(join(root, '.git', 'HEAD'), 'ref: refs/heads/main\n');
  mkdirSync(join(root, 'src'));
  return root;
}

const inside = (store, cwd) => {
  const { MCP_TASK_REPO, ...env } = store.env;
  return { ...store, cwd, env };
};

eachKind('work is offered by project', KINDS.filter((k) => !k.path),
  async (t, kind, store) => {
    const api = repository(store, 'api'), web = repository(store, 'web');
    const here = await Agent.start(t, kind, inside(store, join(api, 'src')));
    const there = await Agent.start(t, OTHER, inside(store, web));
    const anywhere = await Agent.start(t, OTHER, store);

    await here.tool('create_task', { task_id: 'a', title: 'A' });
    await here.tool('create_task', { task_id: 'b', title: 'B',
      repo_path: join(api, 'src', '') });
    await here.tool('create_task', { task_id: 'n', title: 'N',
      repo_path: '' });
    for (const [id, path] of [['a', api], ['b', api], ['n', undefined]]) {
      assert.equal((await there.tool('get_task', { task_id: id })).repo_path,
        path);
    }
    const claim = { agent: 'me' };
    assert.equal((await there.tool('claim_task', claim)).task_id, 'n');
    const none = await there.tool('claim_task', claim);
    assert.equal(none.claimed, false);
    assert.deepEqual([none.elsewhere, none.elsewhere_in],
      [2, [{ repo_path: api, tasks: 2 }]]);
    const wait = { agent: 'me', until: 'work', timeout_seconds: 0 };
    assert.equal((await there.tool('wait_for_task', wait)).met, false);
    assert.equal((await here.tool('wait_for_task', wait)).met, true);
    for (const [agent, path, total] of [[there, `${api}/`, 2],
      [there, '../api', 2], [there, '.', 0], [here, '.', 2], [here, '..', 2],
      [here, `file://${api}`, 2]]) {
      assert.equal((await agent.tool('list_tasks', { repo_path: path })).total,
        total, path);
    }
    assert.equal((await here.refused('create_task', { title: 'S',
      repo_path: 'no/such' })).code, 'invalid_argument');
    assert.equal((await here.tool('claim_task', claim)).task_id, 'a');
    await here.tool('save_checkpoint', { task_id: 'a', agent: 'me' });
    assert.equal((await there.tool('get_task', { task_id: 'a' })).checkpoint
      .worktree, api);
    await here.tool('handoff_task', { task_id: 'a', from_agent: 'me',
      to_agent: 'you' });
    assert.equal((await there.tool('claim_task', { agent: 'you' })).task_id,
      'a');
    assert.equal((await anywhere.tool('claim_task', claim)).task_id, 'b');
    await here.tool('create_task', { task_id: 'c', title: 'C' });
    assert.equal((await there.tool('claim_task',
      { ...claim, repo_path: '*' })).task_id, 'c');
    for (const agent of [here, there, anywhere]) {
      await agent.close();
    }
  });

eachKind('over HTTP there is no project', KINDS.filter((k) => k.path),
  async (t, kind, store) => {
    const api = repository(store, 'api');
    const other = await Agent.start(t, OTHER, inside(store, api));
    const agent = await Agent.start(t, kind, store);

    await other.tool('create_task', { task_id: 'a', title: 'A' });
    await agent.tool('create_task', { task_id: 'b', title: 'B' });
    assert.equal((await agent.tool('get_task', { task_id: 'b' })).repo_path,
      undefined);
    const claim = { agent: 'me' };
    for (const [tool, args] of [['claim_task', claim], ['list_tasks', {}],
      ['create_task', { title: 'C' }]]) {
      const { code, field } = await agent.refused(tool,
        { ...args, repo_path: '.' });
      assert.deepEqual([code, field], ['invalid_argument', 'repo_path']);
    }
    assert.equal((await agent.tool('claim_task', claim)).task_id, 'a');
    assert.equal((await other.tool('claim_task', claim)).task_id, 'b');
    await agent.close();
    await other.close();
  });
