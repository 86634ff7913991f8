/* Client 2.4.0 with the tasks of both revisions, as ext-tasks has them. */

import assert from 'node:assert/strict';
import { setTimeout as sleep } from 'node:timers/promises';

import { createTaskSessionFromClient }
  from '@modelcontextprotocol/ext-tasks/client';

import { accept, Agent, EXTENSION, MODERN, modern, WHO } from './agent.mjs';

const ENDPOINT = 'interop';
export const POLL = 100;

/* What a host does: sends a request of the extension, again if there is no
   server, and returns the answer. */
function dispatching(agent, store) {
  let n = 0;

  const send = async (message, { signal, context }) => {
    const { method, params } = message;
    const got = await agent.wire.fetch(store.server.url('/mcp'), {
      method: 'POST',
      signal,
      headers: {
        'content-type': 'application/json',
        accept: 'application/json, text/event-stream',
        'mcp-protocol-version': MODERN,
        'mcp-method': method,
        ...(params.name && { 'mcp-name': params.name }),
        ...context?.headers
      },
      body: JSON.stringify(message)
    });
    const text = await got.text();
    const event = /^data: ?(\{.*"id".*)$/m.exec(text);
    return JSON.parse(event ? event[1] : text);
  };

  return async (request, options = {}) => {
    const message = { ...request, jsonrpc: '2.0', id: `raw:${n++}` };
    for (;;) {
      try {
        const { result, error } = await send(message, options);
        return error ? { kind: 'error', error } : { kind: 'result', result };
      } catch (e) {
        if (options.signal?.aborted) {
          throw e;
        }
        await sleep(POLL);
      }
    }
  };
}

/* A client, its session of ext-tasks, and a user who answers. */
export async function join(t, kind, store, { answer = accept, prepare } = {}) {
  const isNew = kind.rev === MODERN;
  const asked = [];
  const agent = await Agent.start(t, kind, store, {
    prepare(client) {
      client.registerCapabilities(
        { elicitation: {}, ...(isNew && EXTENSION) });
      prepare?.(client);
    }
  });
  const rawDispatch = isNew ? dispatching(agent, store) : undefined;
  const session = createTaskSessionFromClient(agent.client, {
    endpointId: ENDPOINT,
    onInputRequest(request, context) {
      asked.push({ ...request, ...context });
      agent.wire.look();
      return answer(request, context);
    },
    ...(isNew && {
      rawDispatch,
      v2RequestFraming: {
        protocolVersion: MODERN,
        clientInfo: WHO,
        clientCapabilities: { elicitation: {} }
      }
    })
  });
  return Object.assign(agent, {
    asked,
    session,
    rawDispatch,
    isNew,
    leave: async () => {
      await session.close();
      await agent.close();
    }
  });
}

const send = async (agent, method, params) => (await agent.rawDispatch(
  modern(0, method, params,
    { capabilities: { elicitation: {}, ...EXTENSION } }))).result;

/* Makes a task that nobody polls. Returns its id. */
export async function create(agent, name, args = {}) {
  const { resultType, taskId } = await send(agent, 'tools/call',
    { name, arguments: args });
  assert.equal(resultType, 'task');
  return taskId;
}

/* Calls a tool, perhaps as a deferred call. Returns its first result. */
export const request = (agent, name, args) =>
  send(agent, 'tools/call', { name, arguments: args });

/* How a task ends, by its notification, which a poll would miss. */
export async function ended(agent, taskId) {
  const has = (task) => task.taskId === taskId && task.status !== 'working';
  const of = ({ method, params }) => method === 'notifications/tasks'
    && has(params);
  const listening = await agent.client.listen({ taskIds: [taskId] });
  const task = await send(agent, 'tasks/get', { taskId });
  if (!has(task)) {
    await agent.wire.until(() => agent.heard.some(of));
  }
  await listening.close();
  return has(task) ? task : agent.heard.find(of).params;
}
