/* What others install. The bundle is checked, opened and started with the tools
   of its format, and the npm packages with npm. server.json is checked against
   the registry's schema of 2025-12-11 and its further rules, as far as they
   apply, and may have no unknown member. */

import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { copyFileSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import test from 'node:test';
import { fileURLToPath } from 'node:url';

import { getMcpConfigForManifest, replaceVariables } from '@anthropic-ai/mcpb';
import { Ajv2020 } from 'ajv/dist/2020.js';

import { Agent, KINDS, LIMIT, newStore } from './agent.mjs';
import { SERVER } from './server.mjs';

const TREE = join(import.meta.dirname, '..', '..');
const KIND = KINDS.find((kind) => !kind.path && kind.rev === '2025-11-25');
const TOOL = fileURLToPath(new URL('cli/cli.js',
  import.meta.resolve('@anthropic-ai/mcpb')));

const run = (program, ...args) =>
  execFileSync(program, args, { cwd: TREE, encoding: 'utf8' }).trim();
const mcpb = (...args) => run(process.execPath, TOOL, ...args);
const read = (...path) => JSON.parse(readFileSync(join(...path), 'utf8'));

const BUNDLE = run('sh', 'packaging/pack.sh', 'mcpb', SERVER);
/* The version of the packages: without the commit, which a program in
   development also prints. */
const [, FULL] = run(SERVER, '--version').split(' ');
const [VERSION] = FULL.split('+');
/* server.json, with this bundle as the only one. */
const ALONE = mkdtempSync(join(tmpdir(), 'mcptask-'));
copyFileSync(BUNDLE, join(ALONE, basename(BUNDLE)));
const SERVER_JSON = JSON.parse(readFileSync(execFileSync('sh',
  ['packaging/pack.sh', 'registry', SERVER],
  { cwd: TREE, encoding: 'utf8', env: { ...process.env, OUT: ALONE } }).trim(),
'utf8'));
rmSync(ALONE, { recursive: true });

/* An agent on the bundle's program, started as a host does with the user's
   settings and these directories. */
async function installed(t, store, userConfig, systemDirs) {
  const at = join(store.dir, 'extension');
  mcpb('unpack', BUNDLE, at);
  const manifest = read(at, 'manifest.json');
  const { command, args, env } = await getMcpConfigForManifest({
    manifest, extensionPath: at, systemDirs, pathSeparator: '/',
    userConfig: userConfig
      ?? replaceVariables({ directory: manifest.user_config.directory.default },
        systemDirs)
  });
  assert.equal(command, join(at, manifest.server.entry_point));
  return Agent.start(t, KIND,
    { ...store, env, program: { command, stdio: () => args } });
}

test('the tool of bundles takes ours', LIMIT, (t) => {
  const { dir } = newStore(t);
    assert.match(mcpb('info', BUNDLE), /^File: mcptask-.*\.mcpb$/m);
  mcpb('unpack', BUNDLE, dir);
  mcpb('validate', join(dir, 'manifest.json'));
  assert.equal(read(dir, 'manifest.json').version, VERSION);
});

/* What the bundle's server stores is there for a client with this
   environment. */
async function shares(t, store, agent, env) {
  await agent.tool('create_task', { task_id: 'x', title: 'One' });
  await agent.close();
  const next = await Agent.start(t, KIND, { ...store, env });
  assert.equal((await next.tool('get_task', { task_id: 'x' })).title, 'One');
  await next.close();
}

test('a bundle serves the directory that the user chose', LIMIT, async (t) => {
  const store = newStore(t);
  const directory = join(store.dir, 'chosen');
  await shares(t, store, await installed(t, store, { directory }, {}),
    { MCP_TASK_BASE_DIR: directory });
});

test('a bundle shares the store of all clients', LIMIT, async (t) => {
  const store = newStore(t);
  const home = { HOME: store.dir };
  await shares(t, store, await installed(t, store, undefined, home), home);
});

test('a client is served through the launcher of npm', LIMIT, async (t) => {
  const store = newStore(t);
  const at = join(store.dir, 'npm');
  run('npm', 'install', '--prefix', at, '--cache', join(at, 'cache'),
    '--offline', '--no-audit', '--no-fund', '--no-update-notifier',
    ...run('sh', 'packaging/pack.sh', 'npm', SERVER).split('\n'));
  assert.equal(read(at, 'node_modules', 'mcptask', 'package.json').version,
    VERSION);
  const command = join(at, 'node_modules', '.bin', 'mcptask');
  const program = { command, stdio: () => [] };
  await shares(t, store, await Agent.start(t, KIND, { ...store, program }),
    store.env);
});

const object = (required, optional = {}) => ({
  type: 'object',
  additionalProperties: false,
  required: Object.keys(required),
  properties: { ...required, ...optional }
});
const matching = (pattern) => ({ type: 'string', pattern });
const text = { type: 'string' };
const line = { type: 'string', minLength: 1, maxLength: 100 };
const STDIO = object({ type: { const: 'stdio' } });
const NAMED = object(
  { type: { const: 'named' }, name: matching('^[^<> $]+$'), value: text });
/* An image has its version in its tag, a bundle in its address. */
const IMAGE = object({
  registryType: { const: 'oci' },
  identifier: matching('^[a-z0-9.-]+(/[A-Za-z0-9._-]+)+:(?!latest$)[\\w.-]+$'),
  transport: STDIO
}, {
  runtimeHint: text,
  runtimeArguments: { type: 'array', items: NAMED }
});
const FILE = object({
  registryType: { const: 'mcpb' },
  identifier: matching('^https://github\\.com/[A-Za-z0-9-]{1,39}/[\\w.-]+'
    + '/releases/download/[^/ ]+/[^/ ]+$'),
  fileSha256: matching('^[a-f0-9]{64}$'),
  transport: STDIO
});
/* A package of npm or Python has its version beside its name. */
const PACKAGE = object({
  registryType: { enum: ['npm', 'pypi'] },
  identifier: matching('^[a-z0-9._/@-]+$'),
  version: matching('^\\d+\\.\\d+\\.\\d+'),
  transport: STDIO
});
const isValid = new Ajv2020({ strict: true }).compile(object({
  $schema: { const: 'https://static.modelcontextprotocol.io/schemas/'
    + '2025-12-11/server.schema.json' },
  name: {
    ...matching('^[A-Za-z0-9][A-Za-z0-9.-]*[A-Za-z0-9]'
      + '/[A-Za-z0-9][A-Za-z0-9._-]*[A-Za-z0-9]$'),
    maxLength: 200
  },
  description: line,
  version: { ...matching('^\\d+\\.\\d+\\.\\d+(-[0-9A-Za-z.-]+)?$'),
    maxLength: 255 }
}, {
  title: line,
  repository: object({
    url: matching('^https://github\\.com/[\\w.-]+/[\\w.-]+$'),
    source: { const: 'github' }
  }),
  packages: { type: 'array', items: { oneOf: [IMAGE, FILE, PACKAGE] } }
}));

test('server.json is one that the registry takes', () => {
  assert.ok(isValid(SERVER_JSON), JSON.stringify(isValid.errors));
  const { name, version, packages: [file, npm, python, image] } = SERVER_JSON;
  assert.equal(version, VERSION);
  assert.ok(image.identifier.endsWith(`:${VERSION}`));
  assert.ok(file.identifier.endsWith(BUNDLE.slice(BUNDLE.lastIndexOf('/'))));
  assert.equal(npm.version, VERSION);
  assert.equal(python.version, VERSION.replace('-dev', '.dev0'));
  assert.equal(file.fileSha256,
    createHash('sha256').update(readFileSync(BUNDLE)).digest('hex'));

  for (const wrong of [
    { name: 'mcptask' }, { name: `${name}/x` }, { description: '' },
    { description: 'x'.repeat(101) }, { version: '^1.0.0' },
    { version: '1.x' }, { packages: [{ ...image, version }] },
    { packages: [{ ...file, fileSha256: undefined }] },
    { packages: [{ ...file, transport: { type: 'http' } }] },
    { packages: [{ ...file, registryType: 'npm' }] },
    { packages: [{ ...npm, version: undefined }] }
  ]) {
    assert.ok(!isValid({ ...SERVER_JSON, ...wrong }), JSON.stringify(wrong));
  }
});
