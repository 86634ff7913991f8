/* What the suite does not test: official clients, on each of their transports,
   with tools that ask them, report progress, or have them come back. The server
   is the suite's fixture; see make conformance. */

import assert from 'node:assert/strict';

import * as types from '@modelcontextprotocol/sdk/types.js';

import { accept, Agent, KINDS, MODERN, REMOTE_AUTO, REMOTES }
  from './agent.mjs';
import { eachKind } from './each.mjs';
import { CONFORMING } from './server.mjs';

const ALL = [...KINDS, ...REMOTES, REMOTE_AUTO];
const CAPABILITIES = { sampling: {}, elicitation: {}, roots: {} };
const SAMPLE = {
  role: 'assistant', model: 'none', content: { type: 'text', text: 'Paris' }
};
const ROOTS = { roots: [{ uri: 'file:///home', name: 'home' }] };

/* Clients name what they handle by its method, older ones by its schema. */
function answering(elicit) {
  return (client) => {
    const old = client.constructor.name === 'Client'
      && !('listen' in client);
    const handle = (method, schema, result) =>
      client.setRequestHandler(old ? schema : method, async (request) =>
        typeof result === 'function' ? result(request) : result);

    client.registerCapabilities(CAPABILITIES);
    handle('sampling/createMessage', types.CreateMessageRequestSchema,
      SAMPLE);
    handle('roots/list', types.ListRootsRequestSchema, ROOTS);
    handle('elicitation/create', types.ElicitRequestSchema, elicit);
  };
}

const onEach = (what, kinds, body, elicit = accept) =>
  eachKind(what, kinds, async (t, kind, store) => {
    const agent = await Agent.start(t, kind, store,
      { prepare: answering(elicit) });
    await body(agent);
    await agent.close();
  }, CONFORMING);

async function text(agent, name, args = {}) {
  const { content, isError } = await agent.callTool(name, args);
  assert.ok(!isError, content[0].text);
  return content[0].text;
}

onEach('samples and roots', ALL, async (agent) => {
  assert.match(await text(agent, 'test_sampling', { prompt: 'Where?' }),
    /Paris/);
  assert.match(await text(agent, 'test_input_required_result_list_roots'),
    /file:\/\/\/home/);
});

/* Elicitation came with 2025-06-18. */
const ELICITED = ALL.filter((kind) => kind.rev >= '2025-06-18');

onEach('questions to a user', ELICITED, async (agent) => {
  assert.match(await text(agent, 'test_elicitation', { message: 'Who?' }),
    /my username/);
  assert.match(await text(agent, 'test_input_required_result_multi_round'),
    /my color/);
  assert.match(await text(agent,
    'test_input_required_result_multiple_inputs'), /all three/);
  assert.match(await text(agent, 'test_input_required_result_request_state'),
    /true/);
  /* In older revisions only tools can ask. */
  if (agent.kind.rev === MODERN) {
    const { messages } = await agent.client.getPrompt(
      { name: 'test_input_required_result_prompt' });
    assert.equal(messages.length, 1);
  }
});

onEach('many questions at a time', ELICITED, async (agent) => {
  const names = Array.from({ length: 20 }, (_, i) => `question ${i}`);
  const said = await Promise.all(names.map((message) =>
    text(agent, 'test_elicitation', { message })));
  said.forEach((line, i) => assert.ok(line.includes(`"${names[i]}"`), line));
}, ({ params }) => ({
  action: 'accept', content: { username: params.message, email: 'x' }
}));

onEach('a user declines', ELICITED, async (agent) => {
  assert.match(await text(agent, 'test_elicitation', { message: 'Who?' }),
    /decline/);
}, { action: 'decline' });

onEach('progress', ALL, async (agent) => {
  const seen = [];
  const call = { name: 'test_tool_with_progress', arguments: {} };
  const options = { onprogress: ({ progress }) => seen.push(progress) };
  await ('listen' in agent.client ? agent.client.callTool(call, options)
    : agent.client.callTool(call, undefined, options));
  /* A client may drop what comes in one chunk with the answer. */
  assert.deepEqual(seen, [0, 50, 100].slice(0, seen.length));
  assert.ok(seen.length > 1);
  if (agent.kind.proxy === undefined) {
    assert.deepEqual(agent.wire.messages
      .filter((m) => m.method === 'notifications/progress')
      .map((m) => m.params.progress), [0, 50, 100]);
  }
});

onEach('log messages', ALL.filter((kind) => kind.rev !== MODERN),
  async (agent) => {
    await agent.client.setLoggingLevel('info');
    await text(agent, 'test_tool_with_logging');
    const logged = () => agent.heard.filter((note) =>
      note.method === 'notifications/message').map((note) => note.params.data);
    assert.deepEqual(logged(), ['Started', 'Half done', 'Done']);
    await agent.client.setLoggingLevel('error');
    await text(agent, 'test_tool_with_logging');
    assert.equal(logged().length, 3);
  });

onEach('coming back for an answer', ALL, async (agent) => {
  const said = await Promise.all([1, 2, 3].map(() =>
    text(agent, 'test_reconnection')));
  assert.deepEqual([...new Set(said)], ['You came back.']);
});
