/* One product stops and another continues, in real clients that give no names:
   Claude Code ends in each way, and Codex or Gemini CLI has its task. Each test
   prints how many calls and bytes the second one needs. */

import assert from 'node:assert/strict';
import {test} from 'node:test';

import {call, end_client, mcptask, model, run_client, shell, start_client}
    from './clients.mjs';

const hooks = {hooks: true};
const task_id = 't-1';
const work = [
    call('create_task', {task_id, title: 'parse headers'}),
    call('claim_task', {task_id}),
    call('save_checkpoint', {task_id,
        resume_prompt: 'lines 1 to 40 are done', remaining_steps: ['the rest']}),
];
const task = () => JSON.parse(shell(['show', task_id, '--json']));
const size = answers => answers.reduce(
    (n, a) => n + Buffer.byteLength(JSON.stringify(a)), 0);

/* How Claude Code ends. reserved: for a minute nobody else has its task. */
const ends = {
    'ends cleanly': {
        reserved: true,
        run: () => run_client('claude-code', work),
    },
    'ends cleanly with its hooks': {
        reserved: true,
        run: () => run_client('claude-code', work, hooks),
    },
    'is killed': {
        reserved: true,
        run: async () => {
            const {child} = start_client('claude-code',
                                         [...work, {stay: true}]);

            await model.stays();
            await end_client(child);
        },
    },
    'is exhausted': {
        run: () => run_client('claude-code', [...work, call(
            'mark_exhausted', {task_id, reason: 'quota'})]),
    },
    'hands over': {
        run: to => run_client('claude-code', [...work, call(
            'handoff_task', {task_id, to_agent: to, reason: 'context'})]),
    },
};

for (const [how, {reserved, run}] of Object.entries(ends))
    for (const other of ['codex', 'gemini'])
        test(`Claude Code ${how}, and ${other} continues`, async t => {
            await run(other);
            const answers = await run_client(other, reserved ? [
                call('claim_task'),
                call('claim_task', {task_id: '$0.could_claim.0.task_id',
                                    takeover: true, reason: 'it ended'}),
            ] : [call('claim_task')]);
            const last = answers.at(-1);

            t.diagnostic(`${answers.length} calls, ${size(answers)} bytes`);
            if (reserved) {
                assert.equal(answers[0].claimed, false);
                assert.match(answers[0].could_claim[0].was,
                             /^left by claude-code-[0-9a-f]{8}, /);
            }
            assert.equal(last.claimed, true, JSON.stringify(answers));
            assert.equal(last.task_id, task_id);
            assert.equal(last.resume_prompt, 'lines 1 to 40 are done');
            assert.deepEqual(last.remaining_steps, ['the rest']);
            assert.match(last.was, /^(left|given up|handed to \w+) by claude-/);
        });

test('Codex is told by its hook, and needs one call', async t => {
    const from = model.seen.length;

    await run_client('claude-code', work, hooks);
    const answers = await run_client('codex', [call('claim_task', {
        task_id, takeover: true, reason: 'the person said so'})], hooks);
    const said = JSON.stringify(model.seen.slice(from).map(s => s.body));

    t.diagnostic(`${answers.length} call, ${size(answers)} bytes`);
    assert.match(said, /Left by another agent; if it will not come back/);
    assert.equal(answers[0].claimed, true, JSON.stringify(answers));
});

test('who lost a task is told when it is resumed', async () => {
    const id = '7d41c0de-7d41-4b7e-9d0c-2a5c0f3c9a52';

    await run_client('claude-code', work.map(s => ({...s, args: {
        ...s.args, agent: '$name'}})),
                     {hooks: true, words: ['--session-id', id]});
    await run_client('codex', [call('claim_task', {
        task_id, takeover: true, reason: 'it ended'})]);
    const from = model.seen.length;
    const [refused] = await run_client('claude-code', [
        call('save_checkpoint', {task_id, agent: '$name'})],
                                       {hooks: true, words: ['--resume', id]});
    const said = JSON.stringify(model.seen.slice(from).map(s => s.body));

    assert.match(said, /Taken over from you; do not continue these.*t-1/);
    assert.match(refused.taken_over?.by ?? '', /^codex-mcp-client-/,
                 JSON.stringify(refused));
    assert.equal(refused.taken_over.reason, 'it ended');
});

const words = {
    'claude-code': ['claude', 'Claude Code', 'anthropic-claude-code'],
    codex: ['codex-cli', 'openai-codex', 'codex-mcp-client'],
    gemini: ['gemini-cli', 'google-gemini', 'Gemini CLI'],
};

for (const kind in words)
    test(`${kind} is reached by ${words[kind].join(', ')}`, async () => {
        words[kind].forEach((to, i) => {
            shell(['add', '--id', `t-${i}`, to]);
            shell(['handoff', `t-${i}`, '--to', to]);
        });
        const claimed = await run_client(kind, words[kind].flatMap(() => [
            call('claim_task')]));

        assert.deepEqual(claimed.map(c => c.task_id).sort(),
                         ['t-0', 't-1', 't-2'], JSON.stringify(claimed));
    });

test('words for others reach nobody here', async () => {
    const other = ['claude-desktop', 'code', 'backend-codex', 'dev'];

    other.forEach((to, i) => {
        shell(['add', '--id', `t-${i}`, to]);
        shell(['handoff', `t-${i}`, '--to', to]);
    });
    for (const kind of ['claude-code', 'codex']) {
        const [answer] = await run_client(kind, [call('claim_task')]);

        assert.equal(answer.claimed, false, JSON.stringify(answer));
        assert.equal(answer.could_claim.length, 3);
    }
});

test('the session ends, and the command in the background has its task',
     async () => {
    shell(['add', '--id', task_id, 'Build']);
    await run_client('claude-code', [
        call('claim_task', {task_id, agent: '$name'}),
        call('Bash', {description: 'build', command: `${mcptask} run ` +
            `${task_id} --detach -- sleep 20`}),
    ], {hooks: true, words: ['--allowedTools', 'Bash']});
    const [none, refused] = await run_client('codex', [
        call('claim_task'),
        call('claim_task', {task_id, takeover: true, reason: 'it ended'})]);

    assert.equal(none.claimed, false, JSON.stringify(none));
    assert.equal(none.could_claim, undefined, JSON.stringify(none));
    assert.match(JSON.stringify(refused), /lease_held/);
    assert.equal(task().lease.left, undefined);
});

test('agents share the parts of a task, and close it last', async () => {
    const part = n => ({task_id: `e-${n}`, title: `part ${n}`, parent_id: 'e'});
    const done = id => call('update_task', {task_id: id, status: 'done'});
    const [, first] = await run_client('claude-code', [
        call('create_task', {tasks: [{task_id: 'e', title: 'epic', priority: 0},
                                     part(1), part(2), part(3)]}),
        call('claim_task'), done('e-1')]);
    const [second, , third, , last] = await run_client('codex', [
        call('claim_task'), done('e-2'), call('claim_task'), done('e-3'),
        call('claim_task')]);

    assert.deepEqual([first, second, third, last].map(k => k.task_id),
                     ['e-1', 'e-2', 'e-3', 'e'], JSON.stringify(last));
    assert.equal(last.parts.done, 3);
    assert.match(last.parts.next, /close it/);
});

test('the orchestrator of a task with parts has it back', async () => {
    const first = start_client('claude-code', [
        call('create_task', {tasks: [{task_id: 'e', title: 'epic'},
            {task_id: 'e-1', title: 'part', parent_id: 'e'}]}),
        call('claim_task', {task_id: 'e'}), {stay: true}]);

    await model.stays();
    await end_client(first.child);
    const [other] = await run_client('codex', [call('claim_task')]);
    const [again] = await run_client('claude-code', [call('claim_task')]);

    assert.equal(other.task_id, 'e-1', JSON.stringify(other));
    assert.equal(again.task_id, 'e', JSON.stringify(again));
});

test('an agent does not approve its own request, nor does another', async () => {
    const answer = {task_id, answer: {text: 'approve',
                                      question_id: '$2.question_id'}};
    const results = await run_client('claude-code', [
        call('create_task', {task_id, title: 'deploy'}),
        call('claim_task', {task_id}),
        call('request_input', {task_id, kind: 'approval', question: 'Deploy?'}),
        call('update_task', answer)]);
    const [other] = await run_client('codex', [call('update_task', {task_id,
        answer: {text: 'approve', question_id: results[2].question_id}})]);

    for (const refused of [results[3], other])
        assert.match(JSON.stringify(refused), /not_yours/);
    shell(['answer', task_id, 'approve']);
    assert.equal(task().questions[0].answer.by, 'anna');
});
