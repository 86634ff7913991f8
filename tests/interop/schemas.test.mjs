/* The input schemas as hosts hand them to models: each by the code that a host
   converts them with, or by the rules that the provider documents. A schema
   that one of them cannot take costs a host all tools of its request. */

import assert from 'node:assert/strict';

import { mcpToTool } from '@google/genai';
import { Ajv } from 'ajv';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { toStrictJsonSchema } from 'openai/lib/transform';
import { fromJSONSchema } from 'zod';

import { Agent, KINDS } from './agent.mjs';
import { eachKind } from './each.mjs';

const KIND = KINDS.filter(({ name }) => name === 'sdk 1.32.2 on stdio at '
  + '2025-11-25');

/* What some model sends, and what no tool takes. */
const SENT = {
  create_task: [{ title: 'A', tasks: [{ title: 'B', priority: 1 }] },
    { title: 'A', tasks: [{ colour: 'red' }] }],
  save_checkpoint: [{ task_id: 'a', test_results: [{ command: 'make' }] },
    { task_id: 'a', test_results: [{ exit_code: 0 }] }],
  update_task: [{ task_id: 'a', answer: { text: 'yes' } },
    { task_id: 'a', answer: { by: 'me' } }],
  list_tasks: [{ limit: 10 }, { limit: 0 }]
};

/* Each schema in a schema, with the path to it. */
function* parts(schema, path) {
  yield [schema, path];
  for (const [name, part] of Object.entries(schema.properties ?? {})) {
    yield* parts(part, `${path}.${name}`);
  }
  if (schema.items) {
    yield* parts(schema.items, `${path}[]`);
  }
}

const onTools = (what, body) => eachKind(what, KIND, async (t, kind, store) => {
  const agent = await Agent.start(t, kind, store);
  const { tools } = await agent.client.listTools();
  await body(tools, agent);
  await agent.close();
});

onTools('required arguments stand first, and so does a title', (tools) => {
  for (const { name, inputSchema: { properties, required = [] } } of tools) {
    assert.deepEqual(Object.keys(properties).slice(0, required.length),
      required, name);
  }
  const create = tools.find(({ name }) => name === 'create_task').inputSchema;
  assert.equal(Object.keys(create.properties)[0], 'title');
  assert.equal(Object.keys(create.properties.tasks.items.properties)[0],
    'title');
});

onTools('schemas are of the subset that Gemini takes', (tools) => {
  const known = ['type', 'description', 'properties', 'required', 'items',
    'enum', 'minimum', 'maximum', 'additionalProperties'];
  const types = ['object', 'array', 'string', 'integer', 'boolean'];

  for (const { name, inputSchema } of tools) {
    for (const [part, path] of parts(inputSchema, name)) {
      const names = Object.keys(part.properties ?? {});
      assert.ok(Object.keys(part).every((key) => known.includes(key)), path);
      assert.ok(types.includes(part.type), path);
      assert.equal(part.type === 'object', names.length > 0, path);
      assert.equal(part.type === 'array', part.items !== undefined, path);
      assert.ok((part.required ?? []).every((key) => names.includes(key)),
        path);
      assert.ok(!part.enum || (part.type === 'string'
        && part.enum.every((text) => text !== '')), path);
    }
  }
});

onTools('the SDK of Gemini takes all tools', async (tools, agent) => {
  const { functionDeclarations: given } =
    await mcpToTool(agent.client, {}).tool();
  assert.deepEqual(given.map(({ name }) => name).sort(),
    tools.map(({ name }) => name).sort());
  for (const { name, parametersJsonSchema: schema } of given) {
    assert.deepEqual(schema,
      tools.find((tool) => tool.name === name).inputSchema);
  }
});

onTools('the SDK of OpenAI makes all of them strict', (tools) => {
  for (const { name, inputSchema } of tools) {
    /* An argument that is not required may be null in a strict schema. */
    const nullable = (schema) => ({
      ...schema,
      ...schema.properties && {
        properties: Object.fromEntries(Object.entries(schema.properties)
          .map(([key, part]) => [key, schema.required?.includes(key)
            ? nullable(part)
            : { anyOf: [nullable(part), { type: 'null' }] }])),
        required: Object.keys(schema.properties)
      },
      ...schema.items && { items: nullable(schema.items) }
    });
    const strict = toStrictJsonSchema(nullable(inputSchema));
    assert.deepEqual(strict.required, Object.keys(inputSchema.properties),
      name);
    assert.equal(strict.additionalProperties, false);
  }
});

onTools('Ajv and Zod take and refuse what the tools do', (tools) => {
  for (const { name, inputSchema } of tools) {
    const checks = [Ajv, Ajv2020].map((A) =>
      new A({ strict: true }).compile(inputSchema));
    const zod = fromJSONSchema(inputSchema);

    checks.push((value) => zod.safeParse(value).success);
    for (const check of checks) {
      const [good, bad] = SENT[name] ?? [];
      assert.ok(!check({ colour: 'red' }), name);
      assert.ok(!good || check(good), name);
      assert.ok(!bad || !check(bad), name);
    }
  }
});
