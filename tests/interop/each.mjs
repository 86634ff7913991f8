/* One test for each kind of client, with a store of its own. */

import test from 'node:test';

import { Agent, KINDS, LIMIT, newStore } from './agent.mjs';

export const OTHER = KINDS.find((k) => !k.path
  && k.rev === '2025-11-25');

export function eachKind(what, kinds, body, program) {
  for (const kind of kinds) {
    test(`${what} (${kind.name})`, LIMIT, (t) =>
      body(t, kind, newStore(t, program)));
  }
}

/* The same with a task, and another process that made it. */
export function eachBeside(what, kinds, task, body) {
  eachKind(what, kinds, async (t, kind, store) => {
    const other = await Agent.start(t, OTHER, store);
    await other.tool('create_task', task);
    await body({ t, kind, store, other });
    await other.close();
  });
}
