/* What its work costs an agent: how many calls of tools, and how many bytes of
   arguments and results, without tools/list. */

import assert from 'node:assert/strict';

import * as types from '@modelcontextprotocol/sdk/types.js';

import { KINDS, MODERN } from './agent.mjs';

/* The clients that play the scenes, in both eras. */
export const ERAS = KINDS.filter((kind) => kind.path !== '/sse'
  && [MODERN, '2025-11-25'].includes(kind.rev));
export const SCENES = ERAS.filter(({ name }) => /^sdk|pinned/.test(name));

export class Bill {
  calls = 0;
  bytes = 0;

  constructor(agent) {
    this.agent = agent;
  }

  pay(sent, got) {
    this.calls++;
    this.bytes += JSON.stringify(sent).length + JSON.stringify(got).length;
  }

  /* Calls a tool, which must succeed unless it was told to end: its answer as
     an object, or undefined. */
  async tool(name, args, signal) {
    const call = { name, arguments: args };
    const { client } = this.agent;
    const options = { signal };
    const old = !('listen' in client);
    let result;
    try {
      result = await (old
        ? client.callTool(call, types.CallToolResultSchema, options)
        : client.callTool(call, options));
    } catch (e) {
      assert.ok(signal?.aborted, e);
      this.pay(call, '');
      return undefined;
    }
    assert.ok(!result.isError, result.content[0].text);
    this.pay(call, result);
    return JSON.parse(result.content[0].text);
  }

  toString() {
    return `${this.calls} call${this.calls === 1 ? '' : 's'}, `
      + `${this.bytes} bytes`;
  }
}
