/* What a person does on the page: each action calls a tool with the version
   that was shown, and can be undone. */

import assert from 'node:assert/strict';
import test from 'node:test';

import { cardOf, desk, LIMIT, live, sent, SOON, tokens, unfold }
  from './desk.mjs';

const button = (page, name) => page.getByRole('button', { name, exact: true });

/* Fills in the open form, and sends it. */
async function fill(page, values, verb) {
  const form = page.locator('#form');

  await form.locator('details').evaluateAll((all) =>
    all.forEach((el) => { el.open = true; }));
  for (const [label, value] of Object.entries(values)) {
    const field = form.getByLabel(label, { exact: true });
    await (await field.evaluate((el) => el.tagName) === 'SELECT'
      ? field.selectOption(value) : field.fill(value));
  }
  await form.getByRole('button', { name: verb, exact: true }).click();
  await form.waitFor({ state: 'hidden', timeout: SOON });
}

const closed = (page) => page.locator('#form').waitFor({ state: 'hidden' });

test('a task is made, edited, and both taken back', LIMIT, async (t) => {
  const { page, worker, go } = await desk(t);
  const get = (task_id) => worker.tool('get_task', { task_id });

  await worker.tool('create_task', { task_id: 'x.0', title: 'First' });
  await go();
  await live(page);
  await page.keyboard.press('c');
  await fill(page, { Title: 'Second', 'Goal (Markdown)': 'A **goal**',
    Priority: '0', 'Tags (comma-separated)': 'red, blue',
    'Depends on (task ids, comma-separated)': 'x.0' }, 'Create');
  await unfold(page, 'wait');
  await cardOf(page, 'wait', 'waits for x.0: First').waitFor();
  const { tasks: [made] } = await worker.tool('list_tasks', { tag: 'blue' });
  assert.deepEqual(((k) => [k.title, k.goal, k.priority, k.tags, k.depends_on,
    k.created_by])(await get(made.task_id)),
  ['Second', 'A **goal**', 0, ['red', 'blue'], ['x.0'], 'person']);
  await button(page, 'Undo').click();
  await page.getByText('Undone', { exact: true }).waitFor();
  assert.equal((await get(made.task_id)).status, 'cancelled');

  await cardOf(page, 'ready', 'First').locator('.title').focus();
  await page.keyboard.press('e');
  await fill(page, { Title: 'Other', Owner: 'ann', Priority: '1' }, 'Save');
  await cardOf(page, 'ready', 'Other').getByText('ann').waitFor();
  await button(page, 'Undo').click();
  await cardOf(page, 'ready', 'First').waitFor();
  assert.equal(await page.getByText('ann', { exact: true }).count(), 0);
  const back = await get('x.0');
  assert.deepEqual([back.title, back.priority, back.current_owner],
    ['First', 2, undefined]);

  /* Unchanged fields are not sent. */
  await page.keyboard.press('e');
  await fill(page, {}, 'Save');
  assert.equal((await get('x.0')).version, back.version);
  await worker.close();
});

test('a conflict shows both states', LIMIT, async (t) => {
  const { page, worker, go } = await desk(t);

  await worker.tool('create_task', { task_id: 'x.1', title: 'Mine' });
  await go('#task/x.1');
  await live(page);
  const edit = async (title) => {
    await button(page, 'Edit').click();
    await worker.tool('update_task', { task_id: 'x.1',
      title: `Before ${title}` });
    await page.locator('#form').getByLabel('Title').fill(title);
    await button(page, 'Save').click();
    await page.getByRole('cell', { name: title, exact: true }).waitFor();
    await page.getByRole('cell', { name: `Before ${title}` }).waitFor();
  };
  const title = async () =>
    (await worker.tool('get_task', { task_id: 'x.1' })).title;

  await edit('One');
  await button(page, 'Cancel').click();
  await closed(page);
  assert.equal(await title(), 'Before One');
  await page.getByRole('heading', { name: 'Before One' }).waitFor();
  await edit('Two');
  await button(page, 'Overwrite with mine').click();
  await closed(page);
  assert.equal(await title(), 'Two');
  await worker.close();
});

test('a task is handed over, closed, reopened, asked', LIMIT, async (t) => {
  const { page, worker, go } = await desk(t);
  const get = () => worker.tool('get_task', { task_id: 'x.2' });
  const chip = (name) => page.locator('#facts .chip', { hasText: name });
  const status = (name) => chip(name).waitFor({ timeout: SOON });

  await worker.tool('create_task', { task_id: 'x.2', title: 'Mine' });
  await go('#task/x.2');
  await live(page);
  await button(page, 'Hand over').click();
  await fill(page, { To: 'bob', Reason: 'lunch' }, 'Hand over');
  await status('handed over');
  assert.equal((await get()).current_owner, 'bob');
  await cardOf(page, 'hand', 'person -> bob: lunch').waitFor();
  await button(page, 'Undo').click();
  await status('open');
  await worker.tool('update_task', { task_id: 'x.2', current_owner: 'alice' });
  await page.locator('#facts').getByText('alice').waitFor();
  await button(page, 'Hand over').click();
  await worker.tool('update_task', { task_id: 'x.2', goal: 'More' });
  await page.locator('#form').getByRole('button', { name: 'Hand over' }).click();
  await button(page, 'Overwrite with mine').click();
  await closed(page);
  await cardOf(page, 'hand', 'person -> any agent').waitFor();
  await button(page, 'Undo').click();
  await status('open');

  await button(page, 'Close').click();
  await fill(page, { Result: 'Nothing', Reason: 'no disk' }, 'Failed');
  await status('failed');
  assert.deepEqual(await page.locator('#acts button').allTextContents(),
    ['Reopen']);
  await page.locator('.time li').first().getByText('no disk').waitFor();
  assert.match(await page.locator('.time li').first().textContent(),
    /^person marked it failed, changed result just now.*no disk$/s);
  await page.locator('#acts button').click();
  await fill(page, { Reason: 'a new disk' }, 'Reopen');
  await status('open');

  await button(page, 'Ask').click();
  await fill(page, { Question: 'May I?', Kind: 'approval', To: 'ann' }, 'Ask');
  await page.locator('#body .ask').getByText('May I?').waitFor();
  await page.locator('#body').getByRole('button', { name: 'Approve' })
    .and(page.locator('.main')).click();
  await sent(page);
  /* Not the buttons, whose texts together begin so, too. */
  await page.locator('#body .said', { hasText: 'Approved' }).waitFor();
  const [{ to, by, answer }] = (await get()).questions;
  assert.deepEqual([to, by, answer.text], ['ann', 'person', 'Approve']);
  await worker.close();
});

/* A task that is handed over is closed by way of open, and one that has ended
   is closed otherwise so: none is left open. */
test('what is refused half way leaves no trace', LIMIT, async (t) => {
  const { page, worker, go } = await desk(t, { args: ['--require-evidence'],
    expect: /net::ERR_FAILED/ });
  const call = (name, task_id, more) => worker.tool(name, { task_id, ...more });
  const state = async (task_id) => {
    const k = await call('get_task', task_id);
    return [k.status, k.current_owner, k.result, k.handoff];
  };
  const form = page.locator('#form');
  const refused = form.getByText('done needs test_results', { exact: true });

  await call('create_task', 'h.1', { title: 'Handed' });
  await call('handoff_task', 'h.1', { from_agent: 'alice', to_agent: 'bob',
    reason: 'lunch' });
  const before = await state('h.1');
  assert.deepEqual(before.slice(0, 2), ['handoff_ready', 'bob']);
  await go('#task/h.1');
  await live(page);
  await button(page, 'Close').click();
  await form.getByLabel('Result').fill('All');
  const done = form.getByRole('button', { name: 'Done', exact: true });
  await done.click();
  await refused.waitFor({ timeout: SOON });
  assert.deepEqual(await state('h.1'), before);
  /* What is refused again is no change of someone else. */
  const { version } = await call('get_task', 'h.1');
  await done.click();
  await page.waitForFunction((from) => T.get('h.1').version > from, version);
  await refused.waitFor({ timeout: SOON });
  await form.getByRole('button', { name: 'Failed', exact: true }).click();
  await closed(page);
  assert.deepEqual((await state('h.1')).slice(0, 3), ['failed', 'bob', 'All']);

  /* The same of several, one of which has ended. */
  await call('create_task', 'h.2', { title: 'Broken' });
  await call('update_task', 'h.2', { agent: 'carol', status: 'failed',
    reason: 'no disk' });
  const broken = await state('h.2');
  await go();
  await live(page);
  await cardOf(page, 'stuck', 'Broken').locator('input[type=checkbox]').check();
  await page.locator('#picks').getByRole('button', { name: 'Close' }).click();
  await fill(page, { Reason: 'works now' }, 'Done');
  await page.locator('#refused').getByText('h.2: done needs').waitFor();
  assert.deepEqual(await state('h.2'), broken);

  /* What cannot be taken back is said. */
  await page.route('**/mcp', (route) => {
    const { name, arguments: args } = route.request().postDataJSON().params;
    return name === 'update_task' && args.reason === 'undone'
      ? route.abort() : route.continue();
  });
  await page.locator('#picks').getByRole('button', { name: 'Close' }).click();
  await fill(page, { Reason: 'works now' }, 'Done');
  await page.locator('#refused')
    .getByText('the task was failed and is open now').waitFor();
  assert.equal((await state('h.2'))[0], 'open');
  await worker.close();
});

test('whoever works is told, and not disturbed', LIMIT, async (t) => {
  const { page, worker, go } = await desk(t);
  const call = (name, more) => worker.tool(name,
    { task_id: 'x.3', agent: 'alice', ...more });

  await worker.tool('create_task', { task_id: 'x.3', title: 'Held' });
  await call('claim_task');
  await go('#task/x.3');
  await live(page);
  await page.locator('#acts button').first().waitFor();
  assert.deepEqual(await page.locator('#acts button').allTextContents(),
    ['Hand over', 'Message', 'Ask to stop', 'Take over']);
  await button(page, 'Message').click();
  await fill(page, { Message: 'Mind the gap' }, 'Send');
  await page.locator('#body .past').getByText('Mind the gap').waitFor();
  await button(page, 'Ask to stop').click();
  await fill(page, { Reason: 'wrong branch' }, 'Ask');
  await page.getByText('person asked to stop: wrong branch').waitFor();
  const { messages, cancel_requested } = await call('update_task',
    { goal: 'x' });
  assert.deepEqual([messages[0].from, messages[0].text,
    cancel_requested.reason], ['person', 'Mind the gap', 'wrong branch']);
  await page.locator('#body').getByText(/person, .*just now, read/).waitFor();
  await button(page, 'Take over').click();
  await fill(page, { Reason: 'alice is ill' }, 'Take over');
  await button(page, 'Edit').waitFor();
  assert.equal((await worker.refused('update_task', { task_id: 'x.3',
    agent: 'alice', goal: 'y' })).code, 'lease_held');
  for (const [i, said] of ['person claimed it', 'alice changed goal', 'person asked to stop',
    'person left a message: \u201cMind the gap\u201d', 'alice claimed it']
    .entries()) {
    await page.locator(`.time li:nth-child(${i + 1})`)
      .filter({ hasText: new RegExp(`^${said} `) }).waitFor();
  }
  await worker.close();
});

test('a token of a person takes a task over', LIMIT, async (t) => {
  const { args, token } = tokens(t, 'person');
  const { page, worker, go } = await desk(t,
    { args, expect: /status of 401/ });

  await worker.tool('create_task', { task_id: 'x.4', title: 'Held' });
  await worker.tool('claim_task', { task_id: 'x.4', agent: 'alice' });
  await worker.tool('create_task', { task_id: 'x.5', title: 'Own' });
  await worker.tool('claim_task', { task_id: 'x.5', agent: 'carol' });
  await go('#task/x.5');
  await page.getByRole('textbox', { name: 'Token' }).fill(token);
  await button(page, 'Continue').click();
  await button(page, 'Edit').waitFor(); /* it is known whose the token is */
  await go('#task/x.4');
  await button(page, 'Take over').click();
  await fill(page, { Reason: 'alice is ill' }, 'Take over');
  await button(page, 'Edit').click();
  await fill(page, { Title: 'Mine' }, 'Save');
  const { title, current_owner } = await worker.tool('get_task',
    { task_id: 'x.4' });
  assert.deepEqual([title, current_owner], ['Mine', 'carol']);
  await worker.close();
});

/* A typed "no" is a comment: one of the two buttons decides. */
test('an approval is given by a button alone', LIMIT, async (t) => {
  const { page, worker, go } = await desk(t);
  const ask = (task_id) => worker.tool('request_input', { task_id,
    agent: 'alice', kind: 'approval', question: 'Switch over?' });
  const answers = async (task_id) => (await worker.tool('get_task',
    { task_id })).questions.map(({ answer }) => answer
    && [answer.action, answer.text]);
  const box = (title) => cardOf(page, 'need', title).locator('.ask');

  for (const [task_id, title] of [['v.1', 'Later'], ['v.2', 'Sooner']]) {
    await worker.tool('create_task', { task_id, title });
    await ask(task_id);
  }
  await go();
  await live(page);
  const comment = box('Later').getByLabel('Comment (optional)');
  await comment.fill('no, wait');
  await comment.press('Enter');
  assert.ok(await comment.isEnabled());
  assert.equal(await page.evaluate(() => waiting), null);

  /* It can be taken back, and what was written is still there. */
  await box('Later').getByRole('button', { name: 'Approve' }).click();
  await page.locator('#toast', { hasText: 'Approved' }).waitFor();
  assert.ok(await comment.isDisabled());
  await page.keyboard.press('u');
  await page.getByText('Undone', { exact: true }).waitFor();
  assert.ok(await comment.isEnabled());
  assert.equal(await comment.inputValue(), 'no, wait');
  assert.deepEqual(await answers('v.1'), [undefined]);

  /* The next answer needs the place of the Undo: this one is sent. */
  await box('Later').getByRole('button', { name: 'Decline' }).click();
  await box('Sooner').getByRole('button', { name: 'Approve' }).click();
  await cardOf(page, 'ready', 'Later').waitFor({ timeout: SOON });
  assert.deepEqual(await answers('v.1'), [['decline', 'no, wait']]);
  assert.deepEqual(await answers('v.2'), [undefined]);

  /* So is the last one when its time is over. */
  await cardOf(page, 'ready', 'Sooner').waitFor({ timeout: SOON });
  assert.deepEqual(await answers('v.2'), [['accept', 'Approve']]);
  await page.evaluate(() => { location.hash = '#task/v.1'; });
  await page.locator('.said', { hasText: 'Declined: no, wait' }).waitFor();
  await worker.close();
});

test('a comment on an option is a message', LIMIT, async (t) => {
  const { page, worker, go } = await desk(t, { expect: /net::ERR_FAILED/ });
  const box = (title) => cardOf(page, 'need', title).locator('.ask');
  const comment = (title) => box(title).getByLabel('Comment (optional)');
  const get = (task_id) => worker.tool('get_task', { task_id });

  for (const [task_id, title] of [['v.5', 'Paint'], ['v.6', 'Plain']]) {
    await worker.tool('create_task', { task_id, title });
    await worker.tool('claim_task', { task_id, agent: 'alice' });
    await worker.tool('request_input', { task_id, agent: 'alice',
      question: 'Which?', options: ['Red', 'Blue'] });
  }
  await go();
  await live(page);
  await comment('Paint').fill('but a dark one');
  await page.route('**/mcp', (route) =>
    route.request().postDataJSON().params.name === 'update_task'
      ? route.abort() : route.continue());
  await box('Paint').getByRole('button', { name: 'Blue' }).click();
  await sent(page);
  await box('Paint').getByRole('alert').waitFor();
  assert.equal(await comment('Paint').inputValue(), 'but a dark one');
  await page.unroute('**/mcp');
  await box('Paint').getByRole('button', { name: 'Blue' }).click();
  await sent(page);
  await box('Paint').waitFor({ state: 'detached', timeout: SOON });
  await box('Plain').getByRole('button', { name: 'Red' }).click();
  await sent(page);
  await box('Plain').waitFor({ state: 'detached', timeout: SOON });
  const { questions: [q], messages: [m], version } = await get('v.5');
  assert.deepEqual([q.answer.action, q.answer.text, m.from, m.text],
    ['accept', 'Blue', 'person', 'but a dark one']);
  assert.equal(version, 4); /* one change has both */
  const plain = await get('v.6');
  assert.deepEqual([plain.questions[0].answer.text, plain.messages],
    ['Red', undefined]);
  /* The agent reads it with its next change. */
  const { messages } = await worker.tool('save_checkpoint', { task_id: 'v.5',
    agent: 'alice', notes: 'painting' });
  assert.deepEqual(messages.map((x) => x.text), ['but a dark one']);
  await page.evaluate(() => { location.hash = '#task/v.5'; });
  await page.locator('#body .past').getByText('but a dark one').waitFor();
  await worker.close();
});

test('an answer is sent when the page is left', LIMIT, async (t) => {
  const { page, worker, go } = await desk(t);

  await worker.tool('create_task', { task_id: 'v.3', title: 'Asked' });
  await go();
  await live(page);
  const waits = worker.tool('request_input', { task_id: 'v.3', agent: 'alice',
    question: 'Which?', options: ['Red', 'Blue'], wait_seconds: 50 });
  await page.getByRole('button', { name: 'Blue' }).click();
  await page.goto('about:blank');
  assert.equal((await waits).answer.text, 'Blue');
  await worker.close();
});

/* What is refused is said where it was written, and can be sent again. */
test('an answer is on the way until it is stored', LIMIT, async (t) => {
  const { page, worker, go } = await desk(t, { expect: /net::ERR_FAILED/ });
  const told = page.locator('#toast');

  await worker.tool('create_task', { task_id: 'v.4', title: 'Asked' });
  await worker.tool('request_input', { task_id: 'v.4', agent: 'alice',
    question: 'What name?' });
  await go();
  await live(page);
  let pass;
  const held = new Promise((done) => { pass = done; });
  await page.route('**/mcp', async (route) => {
    if (route.request().postDataJSON().params.name !== 'update_task') {
      return route.continue();
    }
    await held;
    return route.abort();
  });
  await page.getByLabel('Your answer').fill('Ann');
  await page.getByRole('button', { name: 'Answer' }).click();
  await told.getByText('Answered \u201cAnn\u201d').waitFor();
  await sent(page);
  await told.getByText('Sending', { exact: true }).waitFor();
  assert.equal(await told.getByRole('button').count(), 0);
  assert.ok(await page.getByLabel('Your answer').isDisabled());
  pass();
  await told.getByText('Not sent: the server does not answer').waitFor();
  await page.locator('.ask [role=alert]').waitFor();
  await page.unroute('**/mcp');
  await page.getByLabel('Your answer').press('Enter');
  await sent(page);
  await cardOf(page, 'ready', 'Asked').waitFor({ timeout: SOON });
  await told.getByText('Answered \u201cAnn\u201d').waitFor();
  await worker.close();
});

/* Enter ends a word of an input method, as for Japanese, before it sends. */
test('a word that is composed is not sent', LIMIT, async (t) => {
  const { page, worker, go } = await desk(t);
  const text = page.locator('.ask input');

  await worker.tool('create_task', { task_id: 'x.6', title: 'Asked' });
  await worker.tool('request_input', { task_id: 'x.6', agent: 'alice',
    question: 'What name?' });
  await go();
  await live(page);
  await text.focus();
  const keys = await page.context().newCDPSession(page);
  await keys.send('Input.imeSetComposition', { text: '\u306b\u307b',
    selectionStart: 2, selectionEnd: 2 });
  await keys.send('Input.dispatchKeyEvent', { type: 'rawKeyDown',
    key: 'Enter', code: 'Enter', windowsVirtualKeyCode: 229 });
  assert.ok(await text.isEnabled());
  await keys.send('Input.insertText', { text: '\u306b\u307b\u3093' });
  await text.press('Enter');
  await sent(page);
  await cardOf(page, 'ready', 'Asked').waitFor();
  assert.equal((await worker.tool('get_task', { task_id: 'x.6' }))
    .questions[0].answer.text, '\u306b\u307b\u3093');
  await worker.close();
});

test('a text that a form cannot hold stays', LIMIT, async (t) => {
  const { page, worker, go } = await desk(t);
  const texts = { title: 'Two\nlines ', goal: 'a\r\nb\n', tags: ['a,b'] };
  const get = () => worker.tool('get_task', { task_id: 'x.7' });

  await worker.tool('create_task', { task_id: 'x.7', ...texts });
  await go('#task/x.7');
  await live(page);
  await button(page, 'Edit').click();
  await fill(page, { Priority: '1' }, 'Save');
  const { title, goal, tags, priority } = await get();
  assert.deepEqual([{ title, goal, tags }, priority], [texts, 1]);
  await page.locator('.time li').first().getByText('changed priority').waitFor();
  await worker.close();
});
