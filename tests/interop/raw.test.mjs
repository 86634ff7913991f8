/* What no official client sends, but other clients do. */

import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import test from 'node:test';

import { LIMIT, MODERN, modern, newStore, Raw } from './agent.mjs';
import { Server, SERVER } from './server.mjs';

const call = (id, name, args) => ({
  jsonrpc: '2.0', id, method: 'tools/call', params: { name, arguments: args }
});
for (const rev of ['2024-11-05', '2025-03-26', '2025-06-18', '2025-11-25']) {
  test(`initialize at ${rev}`, LIMIT, async (t) => {
    const raw = new Raw(t, newStore(t));
    const agreed = await raw.initialize(rev);
    assert.equal(agreed.protocolVersion, rev);
    assert.ok(agreed.instructions.length < 800);
    const { result } = await raw.ask(
      call(1, 'create_task', { task_id: 'x', title: 'One' }));
    assert.deepEqual(Object.keys(result), ['content']);
    await raw.close(rev);
  });
  test(`structured results at ${rev}`, LIMIT, async (t) => {
    const raw = new Raw(t, newStore(t), ['--structured']);
    await raw.initialize(rev);
    const { result } = await raw.ask(
      call(1, 'create_task', { task_id: 'x', title: 'One' }));
    assert.deepEqual(result.structuredContent, rev < '2025-06-18' ? undefined
      : JSON.parse(result.content[0].text));
    const refused = (await raw.ask(call(2, 'get_task', { task_id: 'y' })))
      .result;
    assert.deepEqual(Object.keys(refused), ['content', 'isError']);
    await raw.close(rev);
  });
}

test('an unknown revision gets the newest handshake', LIMIT, async (t) => {
  const raw = new Raw(t, newStore(t));
  assert.equal((await raw.initialize('1999-01-01')).protocolVersion,
    '2025-11-25');
  await raw.close('2025-11-25');
});

test('a batch at 2025-03-26', LIMIT, async (t) => {
  const raw = new Raw(t, newStore(t));
  await raw.initialize('2025-03-26');
  const answers = await raw.ask([
    call(1, 'create_task', { task_id: 'b.1', title: 'One' }),
    call(2, 'get_task', { task_id: 'b.1' })
  ]);
  assert.deepEqual(answers.map((a) => a.id), [1, 2]);
  assert.equal(answers[1].result.isError ?? false, false);
  await raw.close('2025-03-26');
});

test('ids come back as they were', LIMIT, async (t) => {
  const raw = new Raw(t, newStore(t));
  await raw.initialize('2025-11-25');
  for (const id of ['"a\\u0041"', '"\u00e9"', '9007199254740993', '-1']) {
    await raw.ask(`{"jsonrpc":"2.0","id":${id},"method":"ping"}`);
    assert.ok(raw.last().includes(`"id":${id}`), raw.last());
  }
  await raw.close('2025-11-25');
});

test('bad lines are answered and leave the next alone', LIMIT, async (t) => {
  const raw = new Raw(t, newStore(t));
  assert.equal((await raw.ask('{"jsonrpc":')).error.code, -32700);
  assert.equal((await raw.ask('[]')).error.code, -32600);
  assert.equal((await raw.ask('{"jsonrpc":"2.0","id":1,"method":"none"}'))
    .error.code, -32601);
  await raw.initialize('2025-11-25');
  assert.deepEqual((await raw.ask(
    { jsonrpc: '2.0', id: 2, method: 'ping' })).result, {});
  await raw.close('2025-11-25');
});

test('one process serves both eras', LIMIT, async (t) => {
  const raw = new Raw(t, newStore(t));
  const { result } = await raw.ask(modern(1, 'server/discover'));
  assert.ok(result.supportedVersions.includes(MODERN));
  const made = await raw.ask(modern(2, 'tools/call',
    { name: 'create_task', arguments: { task_id: 'x', title: 'One' } }));
  assert.equal(made.result.resultType, 'complete');
  const wrong = await raw.ask(modern(3, 'tools/list', {},
    { version: '2099-01-01' }));
  assert.equal(wrong.error.code, -32022);
  assert.ok(wrong.error.data.supported.includes(MODERN));
  await raw.close(MODERN);
});

/* As a host does that loads a skill: SEP-2640, Integrity and Verification. */
test('the skill of the plugin is a skill of MCP', LIMIT, async (t) => {
  const raw = new Raw(t, newStore(t));
  const uri = 'skill://mcptask/SKILL.md';
  const file = readFileSync(new URL(
    '../../packaging/plugin/skills/mcptask/SKILL.md', import.meta.url));
  const front = /^---\n([^]*?)\n---\n/.exec(file)[1].split('\n')
    .map((line) => /^(\w+): (.*)$/.exec(line).slice(1));
  const skill = {
    uri,
    resources: [{ uri, size: file.length, digest: `sha256:${
      createHash('sha256').update(file).digest('hex')}` }],
    frontmatter: Object.fromEntries(front)
  };

  const { result } = await raw.ask(modern(1, 'server/discover'));
  assert.deepEqual(
    result.capabilities.extensions['io.modelcontextprotocol/skills'], {});
  const listed = (await raw.ask(modern(2, 'skills/list'))).result;
  assert.deepEqual(listed.skills, [skill]);
  assert.equal(listed.resultType, 'complete');
  assert.equal(listed.cacheScope, 'public');
  const got = (await raw.ask(modern(3, 'skills/get', { uri }))).result;
  assert.deepEqual(got.skill, skill);
  const { contents: [content] } = (await raw.ask(
    modern(4, 'resources/read', { uri }))).result;
  assert.equal(content.mimeType, 'text/markdown');
  assert.equal(content.text, file.toString());
  for (const params of [{}, { uri: '' }, { uri: 'skill://other/SKILL.md' }]) {
    assert.equal((await raw.ask(modern(5, 'skills/get', params))).error.code,
      -32602);
  }
  await raw.close(MODERN);
});

test('a command leaves no session at its server', LIMIT, async (t) => {
  const store = newStore(t);
  const server = new Server(t, store);
  await server.up();
  const mcptask = (...args) => execFileSync(SERVER,
    ['--server', server.url('/').host, ...args]);

  mcptask('add', 'One');
  mcptask('export');
  assert.match(String(mcptask('stats')), /1/);
  const text = await (await fetch(server.url('/metrics'))).text();
  assert.match(text, /^mcptask_mcp_sessions 0$/m);
  assert.match(text, /^mcptask_mcp_requests_total [1-9]/m);
  await server.close();
});
