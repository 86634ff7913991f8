/* The tasks of 2025-11-25 with the older SDK: a client whose user can be asked,
   and what it can do with a task. */

import assert from 'node:assert/strict';
import { setTimeout as sleep } from 'node:timers/promises';

import * as types from '@modelcontextprotocol/sdk/types.js';

import { accept, Agent, KINDS } from './agent.mjs';

export const REV = '2025-11-25';
export const ON = KINDS.filter(({ name, rev }) =>
  name.startsWith('sdk') && rev === REV);
export const RELATED = 'io.modelcontextprotocol/related-task';
export const POLL = 100; /* a client may be faster than it is asked to be */
const HINT = 'io.modelcontextprotocol/model-immediate-response';

/* A client whose user answers what it is asked. */
export async function join(t, kind, store, answer = accept, options = {}) {
  const asked = [];
  const agent = await Agent.start(t, kind, store, {
    ...options,
    prepare: (client) => {
      client.registerCapabilities({ elicitation: {} });
      client.setRequestHandler(types.ElicitRequestSchema, (request, extra) => {
        asked.push(request.params);
        agent.wire.look();
        return answer(request, extra, agent);
      });
    }
  });
  await agent.client.listTools();
  return Object.assign(agent,
    { asked, tasks: agent.client.experimental.tasks });
}

export const request = (agent, params, options) => agent.client.request(
  { method: 'tools/call', params }, types.CreateTaskResultSchema, options);

/* Calls a tool as a task. Returns its id. */
export async function create(agent, name, args = {}, task = {}) {
  const made = await request(agent, { name, arguments: args }, { task });
  assert.equal(made.task.status, 'working');
  assert.match(made._meta[HINT], new RegExp(name));
  return made.task.taskId;
}

export const resultOf = (agent, id, options) =>
  agent.tasks.getTaskResult(id, types.CallToolResultSchema, options);

/* The text of a result that belongs to a task. */
export async function textOf(agent, id) {
  const { content, _meta } = await resultOf(agent, id);
  assert.deepEqual(_meta[RELATED], { taskId: id });
  return content[0].text;
}

/* Only polls, until the task is as it should be. */
export async function polls(agent, id, is) {
  for (;;) {
    const task = await agent.tasks.getTask(id);
    if (is(task)) {
      return task;
    }
    await sleep(POLL);
  }
}

export const ended = ({ status }) => /completed|failed|cancelled/.test(status);
export const isAsked = (agent, n = 1) =>
  agent.wire.until(() => agent.asked.length >= n);
export const hasHeard = (agent, id, status) =>
  agent.wire.until(() => agent.heard.some(({ method, params }) =>
    method === 'notifications/tasks/status' && params.taskId === id
    && params.status === status));

/* A user who takes time: said answers the first question. */
export function slowly() {
  const asked = [];
  const user = {
    said: () => asked.shift()(),
    answer: (request, { signal }, agent) => new Promise((done) => {
      asked.push(() => done(accept(request)));
      signal.addEventListener('abort', () => {
        user.withdrawn = true;
        agent.wire.look();
      });
    })
  };
  return user;
}
