/* mcptask hook in coding agents as people install them, with the settings that
   "mcptask setup CLIENT --hooks" prints: what the model reads, and what becomes
   of the tasks of a session that ends. And what docs/cli.md says of waking an
   agent, and of the night. */

import assert from 'node:assert/strict';
import {spawn} from 'node:child_process';
import {join} from 'node:path';
import {test} from 'node:test';

import {call, command_of, end_client, home, mcptask, model, run_client, shell,
        start_client, talk_to_claude} from './clients.mjs';

const hooks = {hooks: true};
const task = id => JSON.parse(shell(['show', id, '--json']));
/* What a hook told the model last: a session that is resumed has it all. */
const told = from => {
    const said = JSON.stringify(model.seen.slice(from).map(s => s.body));
    const at = said.lastIndexOf('Your name in mcptask is ');

    assert.ok(at >= 0, 'the model was not told its name');
    return said.slice(at, at + 3000);
};
const name_in = text => /Your name in mcptask is ([a-z0-9-]+)\./.exec(text)[1];

for (const kind of ['claude-code', 'codex', 'gemini']) {
    test(`${kind} reads at its start what was handed to it`, async () => {
        shell(['add', '--id', 'other-1', 'Write', 'tests']);
        shell(['add', '--id', 'mine-1', 'Parse', 'headers']);
        shell(['handoff', 'mine-1', '--agent', 'anna', '--to', kind,
               '--reason', 'it is late']);
        const from = model.seen.length;

        await run_client(kind, [call('list_tasks')], hooks);
        const text = told(from);

        assert.match(name_in(text), new RegExp(`^${kind}-[0-9a-f]{8}$`));
        assert.match(text, /Handed to you:.*mine-1.*from anna: it is late/);
        assert.match(text, /Ready for any agent:.*other-1/);
    });

    test(`${kind} notes at its end what it holds by that name`,
         async () => {
        const from = model.seen.length;

        shell(['add', '--id', 'mine-1', 'Parse', 'headers']);
        shell(['add', '--id', 'yours-1', 'Write', 'tests']);
        shell(['claim', 'yours-1', '--agent', `${kind}-01234567`]);
        const [claimed] = await run_client(kind, [
            call('claim_task', {task_id: 'mine-1', agent: '$name'})], hooks);
        const name = name_in(told(from));

        assert.equal(claimed.current_owner, name, JSON.stringify(claimed));
        const mine = task('mine-1');

        assert.equal(mine.status, 'in_progress', JSON.stringify(mine));
        assert.equal(mine.current_owner, name);
        assert.equal(mine.lease.left.reason, 'the session ended');
        assert.equal(task('yours-1').lease.left, undefined);

        const again = model.seen.length;

        await run_client(kind, [call('list_tasks')], hooks);
        assert.match(told(again), /Left by an earlier.*mine-1/);
    });

    test(`${kind} reads what it left when it was killed, and gets it`,
         async () => {
        const agent = '$name';

        shell(['add', '--id', 'mine-1', 'Parse', 'headers']);
        const killed = start_client(kind, [
            call('claim_task', {task_id: 'mine-1', agent}),
            call('save_checkpoint', {task_id: 'mine-1', agent,
                resume_prompt: 'lines 1 to 40 are done'}),
            {stay: true}], hooks);

        await model.stays();
        await end_client(killed.child);
        const from = model.seen.length;
        const [claimed] = await run_client(kind, [call('claim_task', {agent})],
                                           hooks);

        assert.match(told(from),
                     /Left by an earlier.*mine-1.*(>|&gt;) lines 1 to 40/);
        assert.equal(claimed.task_id, 'mine-1', JSON.stringify(claimed));
    });
}

test('a session that is resumed reads what it holds', async () => {
    const id = '7d41c0de-7d41-4b7e-9d0c-2a5c0f3c9a52';
    const own = 'claude-code-0f3c9a52';
    const named = {hooks: true, words: ['--session-id', id]};

    shell(['add', '--id', 'mine-1', 'Parse', 'headers']);
    await run_client('claude-code', [call('list_tasks')], named);
    shell(['claim', 'mine-1', '--agent', own]);
    shell(['checkpoint', 'mine-1', '--agent', own, '--resume-prompt',
           'lines 1 to 40 are done']);
    const from = model.seen.length;

    await run_client('claude-code', [call('list_tasks')],
                     {hooks: true, words: ['--resume', id]});
    const text = told(from);

    assert.equal(name_in(text), own);
    assert.match(text, /You hold these tasks.*mine-1.*> lines 1 to 40/);
});

/* Claude Code gives the session another id then. */
test('what is cleared is not handed over, and read again', async () => {
    const from = model.seen.length;

    shell(['add', '--id', 'mine-1', 'Parse', 'headers']);
    await talk_to_claude([
        'SCRIPT ' + JSON.stringify([
            call('claim_task', {task_id: 'mine-1', agent: '$name'}),
            call('save_checkpoint', {task_id: 'mine-1', agent: '$name',
                resume_prompt: 'lines 1 to 40 are done'})]),
        '/clear', 'SCRIPT ' + JSON.stringify([call('list_tasks')])]);
    const text = told(from), mine = task('mine-1');

    assert.equal(mine.status, 'in_progress', JSON.stringify(mine));
    assert.notEqual(mine.current_owner, name_in(text));
    assert.match(text, /under another name.*mine-1.*> lines 1 to 40/);
});

test('a sub-agent of claude-code reads a name of its own', async () => {
    const from = model.seen.length;

    shell(['add', '--id', 'other-1', 'Write', 'tests']);
    await run_client('claude-code', [call('Agent', {
        description: 'look', prompt: 'Look.', subagent_type: 'general-purpose',
        run_in_background: false})], hooks);
    const said = JSON.stringify(model.seen.slice(from).map(s => s.body));
    const [own] = /claude-code-[0-9a-f]{8}(?=\.)/.exec(said);

    assert.match(said, new RegExp(
        `Your name in mcptask is ${own}-[0-9a-f]{6}\\. Pass it as agent`));
});

test('a command in the background wakes an agent when there is work',
     async () => {
    shell(['add', '--id', 'old-1', 'Old', 'work']);
    shell(['claim', 'old-1', '--agent', 'anna']);
    await talk_to_claude([
        'SCRIPT ' + JSON.stringify([call('Bash', {
            command: `${mcptask} wait --agent claude-code-01234567 ` +
                     '--until work --timeout 60',
            description: 'wait for work', run_in_background: true})]),
        () => shell(['add', '--id', 'new-1', 'New', 'work'])]);
    const last = JSON.stringify(model.seen.at(-1).body.messages.at(-1));

    assert.match(last, /Background command.*completed \(exit code 0\)/);
});

test('at night run --close starts an agent for each task', async () => {
    const scripts = {
        'night-1': [call('update_task', {task_id: 'night-1', agent: 'night',
                                         status: 'done', result: 'tidy'})],
        'night-2': [call('list_tasks')],
    };

    for (const id in scripts)
        shell(['add', '--id', id, 'Tidy', 'up']);
    for (const id in scripts) {
        const claimed = JSON.parse(shell(['claim', '--agent', 'night',
                                          '--wait', '60', '--json']));
        const {words, env} = command_of('claude-code', scripts[id]);
        const child = spawn(mcptask, ['run', id, '--agent', 'night', '--close',
                                      '--', ...words],
                            {env, cwd: join(home, 'project'),
                             stdio: ['ignore', 'ignore', 'inherit']});

        assert.equal(claimed.task_id, id);
        assert.equal(await new Promise(done => child.on('close', done)), 0);
        assert.equal(task(id).status, 'done');
    }
    assert.equal(task('night-1').result, 'tidy');
});
