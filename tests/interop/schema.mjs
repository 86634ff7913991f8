/* The official JSON schemas, from the conformance suite, and the check of a
   server's message against that of its revision. There is no
   schema of 2024-11-05: messages of that revision are checked as 2025-03-26,
   which added to it and changed nothing that mcptask sends. What the tasks
   extension added to 2026-07-28 is checked as its own client does. */

import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import vm from 'node:vm';

import * as tasks from '@modelcontextprotocol/ext-tasks/core/v2';
import { Ajv } from 'ajv';
import { Ajv2020 } from 'ajv/dist/2020.js';
import formats from 'ajv-formats';

const REVISIONS = ['2025-03-26', '2025-06-18', '2025-11-25', '2026-07-28'];

/* The object literal that starts at text[i]; strings in it are `quoted`. */
function literal(text, i) {
  let depth = 0;
  for (let j = i; ; j++) {
    if (text[j] === '`') {
      while (text[++j] !== '`') {
        j += text[j] === '\\' ? 1 : 0;
      }
    } else if (text[j] === '{') {
      depth++;
    } else if (text[j] === '}' && --depth === 0) {
      return vm.runInNewContext(`(${text.slice(i, j + 1)})`);
    }
  }
}

function compile(schema) {
  const key = '$defs' in schema ? '$defs' : 'definitions';
  const options = { strict: false, allErrors: true };
  const ajv = key === '$defs' ? new Ajv2020(options) : new Ajv(options);
  formats.default(ajv);
  ajv.addFormat('byte', true);
  ajv.addSchema({ ...schema, $id: 'mcp' });
  const defs = schema[key];
  const byMethod = new Map();
  const byCode = new Map();
  for (const [name, def] of Object.entries(defs)) {
    const method = def.properties?.method?.const;
    if (method && !/^(Client|Server)/.test(name)) {
      byMethod.set(method, name);
    }
    for (const part of def.properties?.error?.allOf ?? []) {
      byCode.set(part.properties?.code?.const, name);
    }
  }
  return {
    byMethod,
    byCode,
    first: (...names) => names.find((name) => name in defs),
    errors(name, value) {
      const check = ajv.getSchema(`mcp#/${key}/${name}`);
      return check(value) ? []
        : check.errors.map((e) => `${name}${e.instancePath}: ${e.message}`);
    }
  };
}

function load() {
  const at = createRequire(import.meta.url)
    .resolve('@modelcontextprotocol/conformance/dist/index.js');
  const text = readFileSync(at, 'utf8');
  const found = [...text.matchAll(
    /\{\$schema:`[^`]*`,(?:\$defs|definitions):\{Annotations:/g)];
  if (found.length !== REVISIONS.length) {
    throw new Error('the conformance suite carries other schemas now');
  }
  return new Map(found.map((m, i) =>
    [REVISIONS[i], compile(literal(text, m.index))]));
}

const schemas = load();

/* By the method of a notification, or of the request that is answered; a task
   answers any. */
const EXTENSION = {
  task: tasks.CreateTaskResultV2Schema,
  'notifications/tasks': tasks.TaskStatusNotificationV2Schema,
  'tasks/get': tasks.GetTaskResultV2Schema,
  'tasks/update': tasks.UpdateTaskResultV2Schema,
  'tasks/cancel': tasks.CancelTaskResultV2Schema
};

function extensionErrors(schema, name, value) {
  return (schema.safeParse(value).error?.issues ?? []).map((issue) =>
    `${name}/${issue.path.join('/')}: ${issue.message}`);
}

/* The definition for a result, or undefined. */
function resultName(s, result, method) {
  if (result.resultType === 'input_required') {
    return 'InputRequiredResult';
  }
  if (method === 'tools/call' && result.task) {
    return 'CreateTaskResult';
  }
  return s.byMethod.get(method === 'tasks/result' ? 'tools/call' : method)
    ?.replace(/Request$/, 'Result');
}

/* What is wrong with a message; method is that of the request it answers. */
export function schemaErrors(rev, message, method) {
  const s = schemas.get(rev === '2024-11-05' ? '2025-03-26' : rev);
  const name = message.method
    ?? (message.result?.resultType === 'task' ? 'task' : method);
  const extension = rev === '2026-07-28' && EXTENSION[name];
  if (message.method && extension) {
    return extensionErrors(extension, name, message);
  }
  if (message.method) {
    return s.errors(s.byMethod.get(message.method)
      ?? s.first('JSONRPCNotification'), message);
  }
  if (message.error) {
    return s.errors(s.byCode.get(message.error.code)
      ?? s.first('JSONRPCErrorResponse', 'JSONRPCError'), message);
  }
  const envelope = s.errors(
    s.first('JSONRPCResultResponse', 'JSONRPCResponse'), message);
  if (extension) {
    return [...envelope, ...extensionErrors(extension, name, message.result)];
  }
  const result = resultName(s, message.result, method);
  return [
    ...envelope,
    ...(result && s.first(result) ? s.errors(result, message.result) : [])
  ];
}
