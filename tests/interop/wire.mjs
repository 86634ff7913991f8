/* What passes between a client and a server: each message that the server
   sends is kept as it came and, in the end, checked against the schema of the
   agreed revision. */

import assert from 'node:assert/strict';

import { schemaErrors } from './schema.mjs';

export class Wire {
  messages = [];
  streams = 0; /* that a client has opened to hear, and not to ask */
  #methods = new Map();
  #waiting = new Set();

  /* Cuts what a process writes into lines. */
  watch(child) {
    let rest = '';
    child.stdout.on('data', (chunk) => {
      const parts = (rest + chunk.toString('latin1')).split('\n');
      rest = parts.pop();
      for (const line of parts) {
        this.take(Buffer.from(line, 'latin1').toString());
      }
    });
  }

  /* A fetch that reads its own answers, JSON or a stream of events. */
  fetch = async (url, init) => {
    if (typeof init?.body === 'string') {
      [JSON.parse(init.body)].flat().forEach((m) => this.sending(m));
    }
    const got = await fetch(url, init);
    const type = got.headers.get('content-type') ?? '';
    if (!got.body || !/json|event-stream/.test(type)) {
      return got;
    }
    if (!init?.body) {
      this.streams++;
      this.look();
    }
    const heard = got.body.pipeThrough(this.#ear(type.includes('json')));
    return Object.defineProperty(new Response(heard, got), 'url',
      { value: got.url });
  };

  #ear(json) {
    const decoder = new TextDecoder();
    let rest = '';
    return new TransformStream({
      transform: (chunk, to) => {
        rest += decoder.decode(chunk, { stream: true });
        const events = json ? [rest] : rest.split('\n\n');
        rest = events.pop();
        events.forEach((event) => this.#event(event));
        to.enqueue(chunk);
      },
      flush: () => json ? this.take(rest) : assert.equal(rest, '')
    });
  }

  #event(text) {
    const of = (name) => text.split('\n')
      .filter((line) => line.startsWith(`${name}:`))
      .map((line) => line.slice(name.length + 1).trim()).join('\n');
    if (of('event') !== 'endpoint' && of('data') !== '') {
      this.take(of('data'));
    }
  }

  take(text) {
    this.last = text;
    this.messages.push(JSON.parse(text));
    this.look();
  }

  /* Shows a message to those who wait. */
  look() {
    this.#waiting.forEach((look) => look());
  }

  /* Waits for something; the test's own timeout bounds that. */
  until(is) {
    return new Promise((done) => {
      const look = () => {
        if (is()) {
          this.#waiting.delete(look);
          done();
        }
      };
      this.#waiting.add(look);
      look();
    });
  }

  sending(message) {
    if ('id' in message && message.method) {
      this.#methods.set(message.id, message.method);
    }
  }

  /* An answer to a message without a readable id has the id null, as JSON-RPC
     requires; the schemas know no such answer. */
  check(rev) {
    const wrong = this.messages.flat().filter((m) => m.id !== null)
      .flatMap((m) => schemaErrors(rev, m, this.#methods.get(m.id)));
    assert.deepEqual([...new Set(wrong)], []);
  }
}
