/* The servers that are compared: how each is started on a store in a directory,
   and how an agent does with it what the figures need, by its own documents.

   seed writes n open tasks as the server keeps them. Of the others, each takes
   a session: create returns the id, take tries to get a task of its own and
   returns {id, mine}, or nothing if no task is left, and all returns what the
   store has, as {id, title, open}. leave is the work of an agent that is about
   to be killed, and resume is how another one learns what was done. */

import { execFileSync } from 'node:child_process';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';

const HERE = import.meta.dirname;
const MODULES = join(HERE, 'node_modules');
const TREE = join(HERE, '..', '..');
const MCPTASK = resolve(process.env.MCPTASK ?? join(TREE, 'mcptask'));
export const STEPS = { done: 'Wrote the middleware', next: 'Write its tests' };
export const KILLED = 'agent-k'; /* the one that is killed */
const WORK = 'Add rate limiting';
const GOAL = 'No client may send more than 100 requests a minute';

const some = (n, f) => Array.from({ length: n }, (_, i) => f(i));
export const title = (i) => `Seeded task ${i}`;
const manifest = (name) => JSON.parse(
  readFileSync(join(MODULES, name, 'package.json')));
const found = (text, pattern) => {
  const match = pattern.exec(text);
  if (!match) {
    throw new Error(text.slice(0, 200));
  }
  return match[1];
};
const npm = (name, bin, ...args) => ({
  version: manifest(name).version,
  command: () => [process.execPath,
    join(MODULES, name, Object(manifest(name).bin)[bin]), ...args]
});

const mcptask = {
  name: 'mcptask',
  version: execFileSync(MCPTASK, ['--version'], { encoding: 'utf8' })
    .trim().split(' ').pop(),
  command: () => [MCPTASK],
  env: (dir) => ({ MCP_TASK_BASE_DIR: dir, MCP_TASK_REPO: '' }),
  claim: '`claim_task`: a lease, one winner',
  owner: 'yes, `agent_gone`',
  seed: (dir, n) => execFileSync(MCPTASK, ['import', '-'], {
    env: mcptask.env(dir), stdio: ['pipe', 'ignore', 'inherit'],
    input: some(n, (i) => JSON.stringify(
      { task_id: `s-${i}`, title: title(i) })).join('\n')
  }),
  create: async (s, name) =>
    (await s.json('create_task', { title: name })).task_id,
  get: (s, task_id) => s.call('get_task', { task_id }),
  list: (s) => s.call('list_tasks', { limit: 20 }),
  take: async (s, agent) => {
    const { task_id, claimed } = await s.json('claim_task', { agent });
    return claimed === false ? undefined : { id: task_id, mine: true };
  },
  all: async (s) => {
    const all = [];
    let cursor;
    do {
      const page = await s.json('list_tasks',
        { include_done: true, limit: 100, ...cursor && { cursor } });
      all.push(...page.tasks);
      cursor = page.next_cursor;
    } while (cursor);
    return all.map((t) =>
      ({ id: t.task_id, title: t.title, open: t.status === 'open' }));
  },
  leave: async (s) => {
    const { task_id } = await s.json('create_task',
      { title: WORK, goal: GOAL });
    await s.json('claim_task', { task_id, agent: KILLED });
    await s.json('save_checkpoint', { task_id, agent: KILLED,
      completed_steps: [STEPS.done], remaining_steps: [STEPS.next] });
  },
  resume: async (s) => {
    const { tasks } = await s.json('list_tasks', { current_owner: KILLED });
    await s.json('claim_task', { task_id: tasks[0].task_id, agent: 'agent-b',
      takeover: true, reason: 'it was killed' });
  }
};

const LINE = /^ *(?:\[\w+\] )?(TASK-\d+) - (.*)$/gm;

const backlog = {
  name: 'Backlog.md',
  ...npm('backlog.md', 'backlog', 'mcp', 'start'),
  claim: 'none: set the status and assignee',
  owner: 'no: the task stays "In Progress"',
  prepare: (dir) => {
    const options = { cwd: dir, stdio: 'ignore', env: { ...process.env,
      HOME: dir, GIT_AUTHOR_NAME: 'a', GIT_AUTHOR_EMAIL: 'a@example.org',
      GIT_COMMITTER_NAME: 'a', GIT_COMMITTER_EMAIL: 'a@example.org' } };
    execFileSync('git', ['init', '-q', dir], options);
    execFileSync(process.execPath, [join(MODULES, 'backlog.md',
      Object(manifest('backlog.md').bin).backlog), 'init', 'peers',
      '--defaults', '--integration-mode', 'none'], options);
    execFileSync('git', ['add', '-A'], options);
    execFileSync('git', ['commit', '-qm', 'init'], options);
  },
  seed: (dir, n) => {
    const to = join(dir, 'backlog', 'tasks');
    mkdirSync(to, { recursive: true });
    some(n, (i) => writeFileSync(
      join(to, `task-${i + 1} - ${title(i).replaceAll(' ', '-')}.md`), `---
id: TASK-${i + 1}
title: ${title(i)}
status: To Do
assignee: []
created_date: '2026-01-01 12:00'
labels: []
dependencies: []
ordinal: ${i + 1}000
---
`));
  },
  create: async (s, name) => found(
    await s.call('task_create', { title: name }), /^Task (TASK-\d+)/m),
  get: (s, id) => s.call('task_view', { id }),
  list: (s) => s.call('task_list', { status: 'To Do', limit: 20 }),
  take: async (s, agent) => {
    const next = await s.call('task_list',
      { status: 'To Do', unassigned: true, limit: 1 });
    const [, id] = [...next.matchAll(LINE)][0] ?? [];
    if (id) {
      await s.call('task_edit',
        { id, status: 'In Progress', assignee: [agent] });
    }
    return id && { id, mine: true };
  },
  all: async (s) => {
    const open = async (status) => [...(await s.call('task_list', { status }))
      .matchAll(LINE)].map(([, id, name]) =>
      ({ id, title: name, open: status === 'To Do' }));
    return [...await open('To Do'), ...await open('In Progress')];
  },
  leave: async (s) => {
    const id = await backlog.create(s, WORK);
    await s.call('task_edit', { id, description: GOAL, status: 'In Progress',
      assignee: [KILLED], planSet: `1. ${STEPS.done}\n2. ${STEPS.next}`,
      notesAppend: [`Done: ${STEPS.done}`] });
  },
  resume: async (s) => {
    const left = await s.call('task_list',
      { status: 'In Progress', assignee: KILLED });
    await backlog.get(s, [...left.matchAll(LINE)][0][1]);
  }
};

const MEMORY = 'memory.jsonl';
const entity = (name, ...observations) =>
  ({ entities: [{ name, entityType: 'task', observations }] });

/* It has entities with observations. That a task is one, and what is written
   about it, is a convention made here. */
const memory = {
  name: 'server-memory',
  ...npm('@modelcontextprotocol/server-memory', 'mcp-server-memory'),
  env: (dir) => ({ MEMORY_FILE_PATH: join(dir, MEMORY) }),
  claim: 'none: replace an observation',
  owner: 'no',
  seed: (dir, n) => writeFileSync(join(dir, MEMORY), some(n, (i) =>
    JSON.stringify({ type: 'entity', ...entity(title(i), 'status: open')
      .entities[0] })).join('\n')),
  create: async (s, name) => {
    await s.call('create_entities', entity(name, 'status: open'));
    return name;
  },
  get: (s, name) => s.call('open_nodes', { names: [name] }),
  list: (s) => s.call('search_nodes', { query: 'status: open' }),
  take: async (s, agent) => {
    const { entities } = JSON.parse(await memory.list(s));
    const id = entities[0]?.name;
    if (id) {
      await s.call('delete_observations', { deletions: [
        { entityName: id, observations: ['status: open'] }] });
      await s.call('add_observations', { observations: [
        { entityName: id, contents: [`status: in progress by ${agent}`] }] });
    }
    return id && { id, mine: true };
  },
  all: async (s) => JSON.parse(await s.call('read_graph')).entities.map((e) =>
    ({ id: e.name, title: e.name,
      open: !e.observations.some((o) => o.includes('in progress')) })),
  leave: (s) => s.call('create_entities', entity(WORK, `goal: ${GOAL}`,
    `status: in progress by ${KILLED}`, `done: ${STEPS.done}`,
    `next: ${STEPS.next}`)),
  resume: (s) => s.call('search_nodes', { query: KILLED })
};

const ID = /\*\*ID:\*\* `([-0-9a-f]{36})`/;
const uuid = (i) =>
  `00000000-0000-4000-8000-${i.toString(16).padStart(12, '0')}`;
const shrimpTask = (name) => ({ name, description: GOAL, notes: '',
  implementationGuide: 'As in the other routes', dependencies: [],
  verificationCriteria: 'Its tests pass', relatedFiles: [] });

const shrimp = {
  name: 'shrimp',
  ...npm('mcp-shrimp-task-manager', 'mcp-shrimp-task-manager'),
  env: (dir) => ({ DATA_DIR: dir, TEMPLATES_USE: 'en' }),
  claim: '`execute_task`: refuses a task in progress, not atomic',
  owner: 'no: it has no owners',
  seed: (dir, n) => writeFileSync(join(dir, 'tasks.json'), JSON.stringify({
    tasks: some(n, (i) => ({ id: uuid(i), ...shrimpTask(title(i)),
      status: 'pending', createdAt: '2026-01-01T12:00:00.000Z',
      updatedAt: '2026-01-01T12:00:00.000Z' }))
  }, null, 2)),
  create: async (s, name) => found(await s.call('split_tasks',
    { updateMode: 'append', globalAnalysisResult: 'Nothing to add',
      tasksRaw: JSON.stringify([shrimpTask(name)]) }), ID),
  get: (s, taskId) => s.call('get_task_detail', { taskId }),
  list: async (s, status = 'pending') => {
    const text = await s.call('list_tasks', { status });
    if (!ID.test(text) && !text.includes('沒有')) { /* "there is none" */
      throw new Error(text);
    }
    return text;
  },
  take: async (s) => {
    const [, id] = ID.exec(await shrimp.list(s)) ?? [];
    const mine = id && ID.test(await s.call('execute_task', { taskId: id }));
    return id && { id, mine };
  },
  all: async (s) => {
    const of = async (status) => (await shrimp.list(s, status))
      .split('\n### ').slice(1).map((part) => ({ id: ID.exec(part)[1],
        title: part.split('\n', 1)[0], open: status === 'pending' }));
    return [...await of('pending'), ...await of('in_progress')];
  },
  leave: async (s) => {
    const taskId = await shrimp.create(s, WORK);
    await s.call('execute_task', { taskId });
    await s.call('update_task', { taskId, notes:
      `${KILLED}. Done: ${STEPS.done}. Next: ${STEPS.next}.` });
  },
  resume: async (s) => {
    const id = found(await s.call('query_task', { query: KILLED }),
      /([-0-9a-f]{36})/);
    await shrimp.get(s, id);
  }
};

const master = {
  name: 'task-master',
  ...npm('task-master-ai', 'task-master-ai'),
  env: () => ({ TASK_MASTER_TOOLS: 'standard' }),
  claim: 'none: set the status',
  owner: 'no: it has no owners',
  seed: (dir, n) => {
    mkdirSync(join(dir, '.taskmaster', 'tasks'), { recursive: true });
    writeFileSync(join(dir, '.taskmaster', 'tasks', 'tasks.json'),
      JSON.stringify({ master: { tasks: some(n, (i) => ({ id: String(i + 1),
        title: title(i), description: GOAL, details: '', testStrategy: '',
        status: 'pending', dependencies: [], priority: 'medium',
        subtasks: [] })), metadata: { version: '1.0.0', taskCount: n,
        completedCount: 0, tags: ['master'] } } }, null, 2));
  },
  call: (s, name, args) =>
    s.json(name, { projectRoot: s.dir, ...args }).then(({ data }) => data),
  create: async (s, name) => String((await master.call(s, 'add_task',
    { title: name, description: GOAL })).taskId),
  get: (s, id) => master.call(s, 'get_task', { id }),
  list: (s) => master.call(s, 'get_tasks', { status: 'pending' }),
  /* next_task returns the same task to all until it is done. */
  take: async (s) => {
    const id = (await master.list(s)).tasks[0]?.id;
    if (id) {
      await master.call(s, 'set_task_status', { id, status: 'in-progress' });
    }
    return id && { id, mine: true };
  },
  all: async (s) => (await master.call(s, 'get_tasks', {})).tasks.map((t) =>
    ({ id: String(t.id), title: t.title, open: t.status === 'pending' })),
  /* Only a model may write details: the plan is in subtasks. */
  leave: async (s) => {
    const id = await master.create(s, WORK);
    await master.call(s, 'set_task_status', { id, status: 'in-progress' });
    for (const step of [STEPS.done, STEPS.next]) {
      await master.call(s, 'add_subtask', { id, title: step });
    }
    await master.call(s, 'set_task_status', { id: `${id}.1`, status: 'done' });
  },
  resume: (s) => master.call(s, 'get_tasks',
    { status: 'in-progress', withSubtasks: true })
};

export const PEERS = [mcptask, backlog, memory, shrimp, master];
