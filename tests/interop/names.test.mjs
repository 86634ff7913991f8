/* The first hour of agents of several products that give no names: who gets
   which task, and who has it back. tests/agents plays this with the products
   themselves. What stands elsewhere:

   sessions for each call, gateways, tokens: who.test.mjs
   two repositories:                         where.test.mjs
   leases that 0.2.0 wrote:                  ../t_upgrade.sh, ../tools/t_who.c
   two hosts, one of them cut off:           ../store/t_lock.c
   the clock set back:                       ../tools/t_tools_wait.c,
                                             ../tools/t_takeover.c */

import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { Agent, KINDS, MODERN } from './agent.mjs';
import { eachKind, OTHER } from './each.mjs';

const CLAUDE = { name: 'claude-code' };
const CODEX = { name: 'codex-mcp-client' };
const HALF = { task_id: 'a', resume_prompt: 'lines 1 to 40 are done' };
/* The newest and the oldest way of each transport. */
const SOME = ['stdio', 'http'].flatMap((over) => {
  const kinds = KINDS.filter(({ name, path }) => name.includes(` on ${over}`)
    && (!path || path === '/mcp'));
  return [kinds[0], kinds.at(-1)];
});
const ON_STDIO = SOME.filter(({ path }) => !path);
const IN_SESSION = SOME.filter(({ path, rev }) => !path || rev !== MODERN);

/* A task that this agent has begun. */
async function begin(agent) {
  await agent.tool('create_task', { task_id: 'a', title: 'A' });
  const { current_owner } = await agent.tool('claim_task', { task_id: 'a' });
  await agent.tool('save_checkpoint', HALF);
  return current_owner;
}

const close = async (...agents) => {
  for (const agent of agents) {
    await agent.close();
  }
};

/* What the agent gets that asks for any work: the id, or null. */
const any = async (agent) => (await agent.tool('claim_task', {})).task_id
  ?? null;

for (const [how, args] of [['any work', {}], ['its id', { task_id: 'a' }]]) {
  eachKind(`handed to codex, and claimed by ${how}`, SOME,
    async (t, kind, store) => {
      const claude = await Agent.start(t, kind, store, CLAUDE);
      const gemini = await Agent.start(t, kind, store,
        { name: 'gemini-cli-mcp-client' });
      const codex = await Agent.start(t, kind, store, CODEX);
      await begin(claude);
      await claude.tool('handoff_task',
        { task_id: 'a', to_agent: 'codex', reason: 'context' });
      assert.equal(await any(gemini), null);
      const task = await codex.tool('claim_task', args);
      assert.equal(task.resume_prompt, HALF.resume_prompt);
      assert.match(task.agent, /^codex-mcp-client-[0-9a-f]{8}$/);
      await close(claude, gemini, codex);
    });
}

eachKind('handed to a product by the words of people', ON_STDIO,
  async (t, kind, store) => {
    const claude = await Agent.start(t, kind, store, CLAUDE);
    const gemini = await Agent.start(t, kind, store,
      { name: 'gemini-cli-mcp-client' });
    for (const [word, name, own] of [
      ['Codex CLI', 'codex-mcp-client', /^codex-mcp-client-[0-9a-f]{8}$/],
      ['droid', 'factory-cli', /^factory-cli-[0-9a-f]{8}$/],
      ['vscode', 'Visual Studio Code', /^visual-studio-code-[0-9a-f]{8}$/],
      ['n8n', '@n8n/n8n-nodes-langchain.mcpClientTool',
        /^n8n-n8n-nodes-langchain-mcpclienttool-[0-9a-f]{8}$/]
    ]) {
      const { task_id } = await claude.tool('create_task', { title: word });
      await claude.tool('handoff_task', { task_id, to_agent: word });
      assert.equal(await any(gemini), null);
      const agent = await Agent.start(t, kind, store, { name });
      const task = await agent.tool('claim_task', {});
      assert.equal(task.task_id, task_id);
      assert.match(task.agent, own);
      await agent.close();
    }
    await close(claude, gemini);
  });

for (const [how, end] of [
  ['was killed', (agent) => agent.kill()],
  ['ended', (agent) => agent.close()]
]) {
  eachKind(`an agent that ${how} has its task back`, ON_STDIO,
    async (t, kind, store) => {
      const first = await Agent.start(t, kind, store, CLAUDE);
      const owner = await begin(first);
      await end(first);
      const codex = await Agent.start(t, kind, store, CODEX);
      await codex.tool('create_task', { title: 'B', priority: 0 });
      const again = await Agent.start(t, kind, store, CLAUDE);
      const task = await again.tool('claim_task', {});
      assert.deepEqual([task.task_id, task.resume_prompt],
        ['a', HALF.resume_prompt]);
      assert.match(task.was, new RegExp(`^left by ${owner}, exited`));
      await close(codex, again);
    });
}

eachKind('another product takes it over', ON_STDIO, async (t, kind, store) => {
  const claude = await Agent.start(t, kind, store, CLAUDE);
  await begin(claude);
  await claude.kill();
  const codex = await Agent.start(t, kind, store, CODEX);
  assert.equal(await any(codex), null);
  const { code, message } = await codex.refused('claim_task',
    { task_id: 'a' });
  assert.equal(code, 'kept');
  assert.match(message, /has exited, but may come back$/);
  const task = await codex.tool('claim_task',
    { task_id: 'a', takeover: true, reason: 'it was killed' });
  assert.equal(task.resume_prompt, HALF.resume_prompt);
  await codex.tool('update_task', { task_id: 'a', goal: 'more' });
  await codex.close();
});

eachKind('nobody takes what a server that restarts was told', SOME
  .filter(({ path }) => path), async (t, kind, store) => {
  const first = await Agent.start(t, kind, store, CLAUDE);
  const owner = await begin(first);
  await store.server.kill();
  await store.server.up();
  const second = await Agent.start(t, kind, store, CLAUDE);
  assert.equal(await any(second), null);
  assert.equal((await first.tool('save_checkpoint', HALF)).agent, owner);
  await close(first, second);
});

eachKind('two live sessions of one product', IN_SESSION,
  async (t, kind, store) => {
    const one = await Agent.start(t, kind, store, CLAUDE);
    const two = await Agent.start(t, kind, store, CLAUDE);
    await begin(one);
    await two.tool('create_task', { task_id: 'b', title: 'B' });
    assert.deepEqual([await any(two), await any(one), await any(two)],
      ['b', null, null]);
    assert.equal((await two.refused('claim_task', { task_id: 'a' })).code,
      'lease_held');
    await close(one, two);
  });

eachKind('two sub-agents in one process', IN_SESSION,
  async (t, kind, store) => {
    const both = await Agent.start(t, kind, store, CLAUDE);
    await both.tool('create_task', { tasks: ['a', 'b', 'c', 'd'].map((id) =>
      ({ task_id: id, title: id })) });
    /* Without names they are one agent that holds both. */
    const first = await both.tool('claim_task', {});
    const second = await both.tool('claim_task', {});
    assert.deepEqual([first.task_id, second.task_id, second.current_owner],
      ['a', 'b', first.current_owner]);
    assert.deepEqual(second.you_hold.map(({ task_id }) => task_id), ['a']);
    for (const task_id of ['a', 'b']) {
      await both.tool('update_task', { task_id, status: 'done' });
    }
    /* With names they are two. */
    const ids = { x: 'c', y: 'd' };
    for (const agent in ids) {
      assert.equal((await both.tool('claim_task', { agent })).task_id,
        ids[agent]);
    }
    assert.equal((await both.refused('save_checkpoint',
      { task_id: 'd', agent: 'x' })).code, 'lease_held');
    await both.tool('save_checkpoint', { task_id: 'd', agent: 'y' });
    await both.close();
  });

/* ---- projects ---- */

/* git as somebody who has no settings. */
const git = (home, ...words) => execFileSync('git',
  ['-c', 'protocol.file.allow=always', ...words], { stdio: 'pipe',
    env: { PATH: process.env.PATH, HOME: home, GIT_AUTHOR_NAME: 'a',
      GIT_AUTHOR_EMAIL: 'a@example.org', GIT_COMMITTER_NAME: 'a',
      GIT_COMMITTER_EMAIL: 'a@example.org' } });

eachKind('a worktree, a submodule, and no repository', ON_STDIO,
  async (t, kind, store) => {
    const { dir } = store, { MCP_TASK_REPO, ...env } = store.env;
    const [api, lib, tree, bare] = ['api', 'lib', 'api-2', 'bare']
      .map((name) => join(dir, name));
    for (const repo of [api, lib]) {
      git(dir, 'init', '-q', repo);
      git(dir, '-C', repo, 'commit', '-q', '--allow-empty', '-m', 'begin');
    }
    git(dir, '-C', api, 'submodule', '--quiet', 'add', lib, 'lib');
    git(dir, '-C', api, 'worktree', 'add', '-q', tree);
    mkdirSync(bare);
    const at = (cwd) => Agent.start(t, kind, { ...store, cwd, env }, CLAUDE);
    const [here, linked, sub, none] = [await at(api), await at(tree),
      await at(join(api, 'lib')), await at(bare)];

    await here.tool('create_task', { task_id: 'a', title: 'A' });
    assert.equal(await any(sub), null);
    const { repo_path } = await linked.tool('claim_task', {});
    assert.equal(repo_path, api);
    await sub.tool('create_task', { task_id: 's', title: 'S' });
    assert.equal(await any(here), null);
    await none.tool('create_task', { task_id: 'n', title: 'N' });
    assert.equal((await none.tool('get_task', { task_id: 'n' })).repo_path,
      undefined);
    assert.equal(await any(sub), 's');
    assert.equal(await any(here), 'n');
    await sub.tool('update_task', { task_id: 's', status: 'done' });
    await here.tool('create_task', { task_id: 'b', title: 'B' });
    assert.equal(await any(none), 'b');
    await close(here, linked, sub, none);
  });

/* ---- names and tokens ---- */

eachKind('a model that gives its product here and nothing there', SOME,
  async (t, kind, store) => {
    const agent = await Agent.start(t, kind, store, CLAUDE);
    await agent.tool('create_task',
      { task_id: 'a', title: 'A', agent: 'claude-code' });
    const { current_owner } = await agent.tool('claim_task',
      { task_id: 'a', agent: 'claude' });
    assert.match(current_owner, /^claude-code-[0-9a-f]{8}$/);
    await agent.tool('save_checkpoint', HALF);
    await agent.tool('update_task',
      { task_id: 'a', goal: 'g', agent: 'Claude Code' });
    const { status } = await agent.tool('handoff_task',
      { task_id: 'a', from_agent: 'claude-code', to_agent: 'codex' });
    assert.equal(status, 'handoff_ready');
    await agent.close();
  });

eachKind('a session of a token that was deleted', IN_SESSION
  .filter(({ path }) => path), async (t, kind, store) => {
  const file = join(store.dir, 'tokens');
  const tokens = { a: 'a-0123456789abcdef', 'a-b': 'b-0123456789abcdef',
    'claude-code': 'c-0123456789abcdef' };
  writeFileSync(file, Object.entries(tokens)
    .map(([agent, token]) => `${token} ${agent}\n`).join(''), { mode: 0o600 });
  const as = (agent) => Agent.start(t, kind, store,
    { args: ['--token-file', file], token: tokens[agent], ...CLAUDE });
  const [first, twin, ab, named] = [await as('a'), await as('a'),
    await as('a-b'), await as('claude-code')];
  assert.equal(await begin(first), 'a');
  assert.equal((await twin.refused('claim_task', { task_id: 'a' })).code,
    'lease_held');
  await first.transport.terminateSession();
  /* The client's name and the start of a name cross no tokens. */
  assert.deepEqual([await any(ab), await any(named), await any(twin)],
    [null, null, 'a']);
  await close(first, twin, ab, named);
});

/* ---- a process that stands still ---- */

eachKind('a process that was stopped keeps its task', ON_STDIO,
  async (t, kind, store) => {
    const claude = await Agent.start(t, kind, store, CLAUDE);
    const again = await Agent.start(t, kind, store, CLAUDE);
    const codex = await Agent.start(t, OTHER, store, CODEX);
    const owner = await begin(claude);
    const { pid } = claude.transport;
    process.kill(pid, 'SIGSTOP');
    t.after(() => claude.transport.pid === pid && process.kill(pid, 'SIGCONT'));
    assert.equal(await any(again), null);
    assert.equal((await again.refused('save_checkpoint', HALF)).code,
      'lease_held');
    assert.equal((await codex.refused('claim_task', { task_id: 'a',
      takeover: true, reason: 'it stands still' })).code, 'lease_held');
    process.kill(pid, 'SIGCONT');
    assert.equal((await claude.tool('save_checkpoint', HALF)).agent, owner);
    await close(claude, again, codex);
  });
