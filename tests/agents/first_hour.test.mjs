/* The first hour with coding agents as people install them: they give no
   names, they are killed and started again, and they work in several projects.
   Each client is the real one; only its model is scripted. */

import assert from 'node:assert/strict';
import {execFileSync} from 'node:child_process';
import {mkdirSync} from 'node:fs';
import {join} from 'node:path';
import {test} from 'node:test';

import {call, end_client, home, model, run_client as run, shell,
        start_client as start} from './clients.mjs';

const stay = {stay: true};
const git = (...words) => execFileSync('git', words, {stdio: 'pipe',
    env: {PATH: process.env.PATH, HOME: home, GIT_AUTHOR_NAME: 'a',
          GIT_AUTHOR_EMAIL: 'a@example.org', GIT_COMMITTER_NAME: 'a',
          GIT_COMMITTER_EMAIL: 'a@example.org'}});
/* A repository below home, with one commit. */
const repository = name => {
    const dir = join(home, name);

    mkdirSync(dir);
    git('init', '-q', dir);
    git('-C', dir, 'commit', '-q', '--allow-empty', '-m', 'begin');
    return dir;
};

const work = [
    call('create_task', {title: 'parse headers'}),
    call('claim_task', {task_id: '$0.task_id'}),
    call('save_checkpoint', {task_id: '$0.task_id',
        resume_prompt: 'lines 1 to 40 are done', remaining_steps: ['the rest']}),
];

test('what is handed to codex reaches Codex, whatever it calls itself',
     async () => {
    await run('claude-code', [...work, call('handoff_task', {
        task_id: '$0.task_id', to_agent: 'codex', reason: 'context'})]);
    const [claimed] = await run('codex', [call('claim_task')]);

    assert.equal(claimed.claimed, true, JSON.stringify(claimed));
    assert.match(JSON.stringify(claimed), /lines 1 to 40 are done/);
    assert.match(claimed.agent, /^codex-mcp-client-[0-9a-f]{8}$/);
});

test('the same by its id', async () => {
    const [created] = await run('claude-code', [
        ...work, call('handoff_task', {task_id: '$0.task_id',
                                       to_agent: 'Codex CLI',
                                       reason: 'context'})]);
    const [claimed] = await run('codex', [
        call('claim_task', {task_id: created.task_id})]);

    assert.equal(claimed.claimed, true, JSON.stringify(claimed));
});

test('work handed to gemini is not given to codex', async () => {
    await run('claude-code', [...work, call('handoff_task', {
        task_id: '$0.task_id', to_agent: 'gemini', reason: 'context'})]);
    const [refused] = await run('codex', [call('claim_task')]);
    const [claimed] = await run('gemini', [call('claim_task')]);

    assert.equal(refused.claimed, false);
    assert.equal(claimed.claimed, true, JSON.stringify(claimed));
});

for (const kind of ['claude-code', 'codex', 'gemini'])
    test(`${kind}, killed and started again, has its task back`, async () => {
        const first = start(kind, [...work, stay]);
        const [created] = await model.stays();

        await end_client(first.child);
        const [claimed] = await run(kind, [call('claim_task')]);
        assert.equal(claimed.claimed, true, JSON.stringify(claimed));
        assert.equal(claimed.task_id, created.task_id);
        assert.match(JSON.stringify(claimed), /lines 1 to 40 are done/);
    });

test('one that ended has its task back, and writes to it by its id',
     async () => {
    const [created] = await run('claude-code', work);
    const [saved] = await run('claude-code', [call('save_checkpoint', {
        task_id: created.task_id, resume_prompt: 'all is done'})]);

    assert.equal(saved.task_id, created.task_id, JSON.stringify(saved));
    const [claimed] = await run('claude-code', [call('claim_task')]);
    assert.equal(claimed.task_id, created.task_id, JSON.stringify(claimed));
});

for (const other of ['codex', 'gemini'])
    test(`${other} is told of it, and has it by takeover, or a minute later`,
         async () => {
        for (const waits of [false, true]) {
            const first = start('claude-code', [...work, stay]);
            const [{task_id}] = await model.stays();
            await end_client(first.child);
            const takes = {task_id, takeover: true, reason: 'killed'};
            const [none, refused, ...rest] = await run(other, [
                call('claim_task'), call('claim_task', {task_id}),
                call('claim_task', waits ? {wait_seconds: 50} : takes),
                ...waits ? [call('claim_task', {wait_seconds: 50})] : []]);

            assert.equal(none.claimed, false, JSON.stringify(none));
            assert.equal(none.could_claim[0].task_id, task_id);
            assert.match(none.could_claim[0].was,
                         /^left by claude-code-[0-9a-f]{8}, exited \d+ s ago$/);
            assert.match(JSON.stringify(refused), /kept/);
            assert.match(JSON.stringify(rest), /lines 1 to 40 are done/);
            shell(['done', task_id, '--agent',
                   rest.find(r => r.claimed).current_owner]);
        }
    });

test('two live sessions of one product have one task each', async () => {
    shell(['add', 'one']);
    shell(['add', 'two']);
    const a = start('claude-code', [call('claim_task'), stay]);
    const [first] = await model.stays();
    const b = start('claude-code', [call('claim_task'), call('claim_task'),
                                    stay]);
    const [second, third] = await model.stays();

    assert.equal(first.claimed, true);
    assert.equal(second.claimed, true);
    assert.notEqual(first.task_id, second.task_id);
    assert.equal(third.claimed, false, JSON.stringify(third));
    /* What it holds already is told with it, so that it can go on. */
    assert.match(JSON.stringify(third.you_hold), new RegExp(second.task_id));
    await end_client(a.child);
    await end_client(b.child);
});

test('each repository has its work, and all its worktrees the same',
     async () => {
    const api = repository('api'), web = repository('web');

    git('-C', api, 'worktree', 'add', '-q', join(home, 'api-2'));
    await run('claude-code', [call('create_task', {title: 'in api'})],
              {cwd: api});
    const [elsewhere] = await run('claude-code', [call('claim_task')],
                                  {cwd: web});
    const [here] = await run('codex', [call('claim_task')],
                             {cwd: join(home, 'api-2')});

    assert.equal(elsewhere.claimed, false, JSON.stringify(elsewhere));
    assert.match(JSON.stringify(elsewhere), /another project|other projects/);
    assert.equal(here.claimed, true, JSON.stringify(here));
    assert.equal(here.repo_path, api);
});

test('a client without a project is given work of all', async () => {
    const api = repository('api');

    await run('claude-code', [call('create_task', {title: 'in api'})],
              {cwd: api});
    const [claimed] = await run('codex', [call('claim_task')], {cwd: home});

    assert.equal(claimed.claimed, true, JSON.stringify(claimed));
});

test('a model that says its product here and nothing there', async () => {
    const results = await run('claude-code', [
        call('create_task', {title: 'parse', agent: 'claude-code'}),
        call('claim_task', {task_id: '$0.task_id', agent: 'claude'}),
        call('save_checkpoint', {task_id: '$0.task_id', resume_prompt: 'half'}),
        call('update_task', {task_id: '$0.task_id', status: 'done',
                             result: 'all', agent: 'Claude Code'})]);

    assert.deepEqual(results.map(r => r.error?.code ?? r.code ?? null),
                     [null, null, null, null], JSON.stringify(results));
    assert.equal(results[3].status, 'done');
});

test('a question for a person outlives a client that closes every question',
     async () => {
    const results = await run('claude-code', [
        call('create_task', {title: 'parse'}),
        call('claim_task', {task_id: '$0.task_id'}),
        call('request_input', {task_id: '$0.task_id', question: 'Which port?',
                              to: 'maria', wait_seconds: 20})]);

    assert.equal(results[2].answered, false, JSON.stringify(results[2]));
    assert.match(JSON.stringify(results[2]), /how_to_answer/);
    assert.match(shell(['list', '--needs-input']), /parse/);
    shell(['answer', results[0].task_id, '8080']);
    assert.doesNotMatch(shell(['list', '--needs-input']), /parse/);
});

test('nulls for what is not set, and lists as text, change nothing else',
     async () => {
    const results = await run('codex', [
        call('create_task', {title: 'parse', tags: '["a","b"]', goal: 'g'}),
        call('update_task', {task_id: '$0.task_id', priority: 1, tags: null,
                             goal: null, remaining_steps: null}),
        call('get_task', {task_id: '$0.task_id'})]);

    assert.deepEqual(results[2].tags, ['a', 'b'], JSON.stringify(results));
    assert.equal(results[2].goal, 'g');
    assert.equal(results[2].priority, 1);
});
