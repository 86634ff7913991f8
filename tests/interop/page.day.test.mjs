/* What a long day brings: conflicts, readers, a damaged store, a server that is
   away, long lists; and what stays where it was meanwhile. */

import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import test from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';

import { cardOf, desk, LIMIT, live, SOON, tokens, unfold } from './desk.mjs';
import { SERVER } from './server.mjs';

const button = (page, name) => page.getByRole('button', { name, exact: true });
const chip = (page, name) =>
  page.locator('#facts .chip', { hasText: name }).waitFor({ timeout: SOON });
const shut = (page) => page.locator('#form').waitFor({ state: 'hidden' });
const focused = (page, selector) => page.waitForFunction((s) =>
  document.activeElement.matches(s), selector, { timeout: SOON });
const shows = (page) => page.locator('#task').evaluate((el) => el.open);

/* Opens a form of the task that is shown, and fills in one of its fields. */
async function begin(page, act, label, value) {
  await page.locator('#acts').getByRole('button', { name: act, exact: true })
    .click();
  await page.locator('#form').getByLabel(label, { exact: true }).fill(value);
}
const send = (page) => page.locator('#form button.main').click();

/* A store with many tasks, of which the oldest has ended. */
function fill(store, n) {
  const file = join(store.dir, 'many.jsonl');

  writeFileSync(file, Array.from({ length: n }, (_, i) => JSON.stringify({
    task_id: `o.${i}`, title: `Old ${i}`, status: 'cancelled',
    tags: i ? [] : ['rare'] })).join('\n'));
  execFileSync(SERVER, ['import', file], { env: store.env });
}

test('no conflict is a dead end', LIMIT, async (t) => {
  const { page, worker, go } = await desk(t);

  await worker.tool('create_task', { task_id: 'y.1', title: 'Asked' });
  await go('#task/y.1');
  await live(page);
  await begin(page, 'Ask', 'Question', 'A long one?');
  await worker.tool('update_task', { task_id: 'y.1', goal: 'Another' });
  await send(page);
  await page.getByRole('row', { name: 'Goal (Markdown) - Another' }).waitFor();
  await send(page);
  await shut(page);
  await page.locator('#body .ask').getByText('A long one?').waitFor();

  await worker.tool('claim_task', { task_id: 'y.1', agent: 'alice' });
  await begin(page, 'Take over', 'Reason', 'alice is ill');
  await worker.tool('update_task', { task_id: 'y.1', agent: 'alice',
    title: 'Changed' });
  await send(page);
  await page.getByRole('row', { name: 'Title Asked Changed' }).waitFor();
  await send(page);
  await button(page, 'Edit').waitFor();
  assert.equal((await worker.tool('get_task', { task_id: 'y.1' }))
    .current_owner, 'person');
  await worker.close();
});

test('what was given is closed, and given again', LIMIT, async (t) => {
  const { page, worker, go } = await desk(t);

  await worker.tool('create_task', { task_id: 'y.2', title: 'Given' });
  await worker.tool('handoff_task', { task_id: 'y.2', from_agent: 'alice',
    to_agent: 'bob' });
  await go('#task/y.2');
  await live(page);
  await begin(page, 'Close', 'Result', 'It works');
  await send(page);
  await chip(page, 'done');
  await page.keyboard.press('u');
  await chip(page, 'handed over');
  const { current_owner, result } = await worker.tool('get_task',
    { task_id: 'y.2' });
  assert.deepEqual([current_owner, result], ['bob', undefined]);
  await worker.close();
});

test('what one reads and writes stays', LIMIT, async (t) => {
  const { page, worker, go } = await desk(t);
  const call = (name, more) => worker.tool(name, { task_id: 'y.3', ...more });

  await call('create_task', { title: 'Watched' });
  await call('request_input', { agent: 'alice', question: 'First?' });
  await call('attach_artifact', { agent: 'alice', name: 'a.log',
    content: 'the log\n' });
  await go('#task/y.3');
  await live(page);
  assert.equal(await page.locator('#facts .chip').evaluate((el) =>
    getComputedStyle(el, '::after').content), 'none');
  await page.locator('summary', { hasText: 'a.log' }).click();
  const log = page.locator('pre', { hasText: 'the log' });
  await log.waitFor();
  assert.equal(await log.evaluate((el) => getComputedStyle(el).fontWeight),
    '400');
  await page.locator('#body .ask input').focus();
  await page.keyboard.type('ha');
  await call('request_input', { agent: 'alice', question: 'Second?' });
  await page.locator('#body .ask').getByText('Second?').waitFor();
  await page.keyboard.type('lf');
  assert.equal(await page.locator('#body .ask input').first().inputValue(),
    'half');
  await call('attach_artifact', { agent: 'alice', name: 'b.log',
    content: 'x' });
  await page.locator('summary', { hasText: 'b.log' }).waitFor();
  assert.ok(await log.isVisible());

  /* The end of a long one, without all that is before it. */
  await call('attach_artifact', { agent: 'alice', name: 'c.log', type: 'log',
    content: Array.from({ length: 9999 }, (_, i) => `line ${i}`).join('\n') });
  await page.locator('summary', { hasText: 'c.log' }).click();
  await page.locator('pre.log', { hasText: 'line 9\n' }).waitFor();
  await button(page, 'Show the end').click();
  await page.locator('pre.log', { hasText: /line 9997\nline 9998\n$/ }).waitFor();
  assert.ok(!await page.getByRole('button', { name: 'Load more' }).last()
    .isVisible());

  /* The button that was pressed is no more. */
  await page.locator('#acts button', { hasText: 'Close' }).focus();
  await page.keyboard.press('Enter');
  await page.locator('#form').waitFor();
  await send(page);
  await chip(page, 'done');
  await focused(page, '#name');
  await worker.close();
});

test('an artifact is saved as it was attached', LIMIT, async (t) => {
  const { page, worker, go } = await desk(t);
  const text = `${'\u00e4'.repeat(60000)}\r\n\x1b[1mend`;
  const binary = Buffer.from(Array.from({ length: 200000 }, (_, i) => i % 251));
  const attach = (name, more) => worker.tool('attach_artifact', {
    task_id: 'y.9', agent: 'alice', name, ...more });
  const saved = async (name) => {
    const row = page.locator('details', { hasText: name });
    await row.locator('summary').click();
    const [file] = await Promise.all([page.waitForEvent('download'),
      row.getByRole('button', { name: 'Save', exact: true }).click()]);
    assert.equal(file.suggestedFilename(), name);
    return readFileSync(await file.path());
  };

  await worker.tool('create_task', { task_id: 'y.9', title: 'Files' });
  await attach('umlauts.txt', { content: text });
  await attach('bytes.bin', { content: binary.toString('base64'),
    encoding: 'base64' });
  await attach('elsewhere.txt', { path: '/not/stored' });
  await go('#task/y.9');
  await live(page);
  assert.equal((await saved('umlauts.txt')).toString(), text);
  assert.deepEqual(await saved('bytes.bin'), binary);
  const row = page.locator('details', { hasText: 'elsewhere.txt' });
  await row.locator('summary').click();
  await row.getByText('Not stored').waitFor();
  assert.ok(!await row.getByRole('button').first().isVisible());
  await worker.close();
});

test('pictures and Markdown are shown', LIMIT, async (t) => {
  const { page, worker, go } = await desk(t);
  /* One red point. */
  const png = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQ'
    + 'DwAEhQGAhKmMIQAAAABJRU5ErkJggg==';
  const attach = (name, more) => worker.tool('attach_artifact', {
    task_id: 'y.8', agent: 'alice', name, ...more });
  const row = (name) => page.locator('details', { hasText: name });

  await worker.tool('create_task', { task_id: 'y.8', title: 'Files' });
  await attach('dot.png', { content: png, encoding: 'base64' });
  await attach('bad.png', { content: 'no picture' });
  await attach('notes.md', { content: `# Plan\n\n- **one** <b>\n${'x '.repeat(10000)}` });
  await go('#task/y.8');
  await live(page);
  for (const name of ['dot.png', 'bad.png', 'notes.md']) {
    await row(name).locator('summary').click();
  }
  await page.waitForFunction(() => document.querySelector('img')?.naturalWidth === 1);
  assert.equal(await row('dot.png').locator('img').getAttribute('alt'), 'dot.png');
  await row('bad.png').getByText('This picture cannot be shown, 10 B.').waitFor();
  await row('notes.md').locator('h4', { hasText: 'Plan' }).waitFor();
  assert.equal(await row('notes.md').locator('li').textContent(), 'one <b>');
  assert.equal(await row('notes.md').locator('li b').count(), 1);
  await worker.close();
});

test('a task names its parts', LIMIT, async (t) => {
  const { page, worker, go } = await desk(t);
  const create = (task_id, more) => worker.tool('create_task',
    { task_id, title: `Task ${task_id}`, ...more });

  await create('z.1');
  await create('z.2', { parent_id: 'z.1' });
  await create('z.3', { parent_id: 'z.1' });
  await worker.tool('update_task', { task_id: 'z.2', status: 'cancelled',
    reason: 'no' });
  await go('#task/z.1');
  await live(page);
  const parts = page.locator('#body section', { hasText: 'Parts' })
    .locator('li');
  await parts.nth(1).waitFor();
  assert.deepEqual(await parts.allTextContents(),
    ['z.2: Task z.2 cancelled', 'z.3: Task z.3 open']);
  await worker.tool('update_task', { task_id: 'z.3', status: 'failed',
    reason: 'no' });
  await parts.getByText('failed').waitFor();
  await create('z.4', { parent_id: 'z.1' });
  await parts.getByText('z.4').waitFor();
  await worker.tool('update_task', { task_id: 'z.4', clear: ["parent_id"] });
  await parts.getByText('z.4').waitFor({ state: 'detached' });
  await parts.first().getByRole('link').click();
  await chip(page, 'cancelled');
  await page.locator('section', { hasText: 'Part of' }).waitFor();
  await worker.close();
});

test('only what is beside a task closes it', LIMIT, async (t) => {
  const { page, worker, go } = await desk(t);

  await page.setViewportSize({ width: 1199, height: 900 });
  await worker.tool('create_task', { task_id: 'y.4', title: 'Short' });
  await go('#task/y.4');
  await live(page);
  await page.mouse.click(800, 850);
  await page.mouse.move(600, 60);
  await page.mouse.down();
  await page.mouse.move(100, 60, { steps: 3 });
  await page.mouse.up();
  assert.ok(await shows(page));
  await page.mouse.click(100, 60);
  assert.ok(!await shows(page));
  await worker.close();
});

test('who may only read is offered no more', LIMIT, async (t) => {
  const { args, token } = tokens(t, 'read');
  const { page, worker, go } = await desk(t,
    { args, expect: /status of 401/ });
  const hidden = async (...all) => {
    for (const selector of all) {
      assert.ok(!await page.locator(selector).first().isVisible(), selector);
    }
  };

  await worker.tool('create_task', { task_id: 'y.5', title: 'Seen' });
  await worker.tool('request_input', { task_id: 'y.5', agent: 'alice',
    question: 'Well?', options: ['Yes'] });
  await go();
  await page.getByRole('textbox', { name: 'Token' }).fill(token);
  await button(page, 'Continue').click();
  await page.locator('#state', { hasText: 'live, read only' }).waitFor();
  await cardOf(page, 'need', 'Well?').waitFor();
  await hidden('#new', '.reply', '.ask button');
  await page.locator('.title').focus();
  await page.keyboard.press('c');
  await page.keyboard.press('e');
  await page.locator('#task .time li').first().waitFor();
  await hidden('#form', '#acts', '#task .reply');
  await worker.close();
});

test('what is wrong with the store is said', LIMIT, async (t) => {
  const { store, server, page, worker, go } = await desk(t,
    { expect: /status of 503/ });
  const log = join(store.dir, 'tasks.log');

  for (const n of [1, 2, 3]) {
    await worker.tool('create_task', { task_id: `y.6.${n}`, title: `No ${n}`,
      goal: 'x'.repeat(400) });
  }
  await worker.close();
  await server.close();
  const bytes = readFileSync(log);
  bytes[bytes.length >> 1] ^= 255;
  writeFileSync(log, bytes);
  await server.up();
  await go();
  await page.getByRole('alert').filter({ hasText: /damaged at byte/ })
    .waitFor();
  await live(page);
});

test('an act says when the server is away', LIMIT, async (t) => {
  const { server, page, worker, go } = await desk(t,
    { expect: /net::ERR/ });

  await go();
  await live(page);
  await page.locator('#new').click();
  await page.locator('#form').getByLabel('Title').fill('Kept');
  await server.close();
  await send(page);
  await page.locator('#form').getByText('the server does not answer').waitFor();
  await server.up();
  await live(page);
  await send(page);
  await cardOf(page, 'ready', 'Kept').waitFor();

  /* One that is slow is told once, however often Enter is pressed. */
  let sent = 0;
  await page.route('**/mcp', async (route) => {
    if (route.request().postDataJSON().params.name === 'create_task') {
      sent++;
      await sleep(300);
    }
    await route.continue();
  });
  await page.keyboard.press('c');
  await page.locator('#form').getByLabel('Title').fill('Once');
  await page.keyboard.press('Enter');
  await page.keyboard.press('Enter');
  await cardOf(page, 'ready', 'Once').waitFor();
  assert.equal(sent, 1);
  await worker.close();
});

test('what ended long ago is found, and stays', LIMIT, async (t) => {
  const { store, page, worker, go } = await desk(t);
  const asked = [];

  fill(store, 250);
  await go('?tag=rare');
  await live(page);
  await cardOf(page, 'done', 'Old 0').waitFor();
  await page.evaluate(() => load());
  assert.ok(await cardOf(page, 'done', 'Old 0').isVisible());
  await button(page, 'Clear').click();
  await unfold(page);
  for (const n of [80, 120]) {
    await button(page, 'Show more of 250').click();
    await page.waitForFunction((k) =>
      document.querySelectorAll('.lane.done .card').length === k, n);
  }
  await page.evaluate(() => load());
  await page.evaluate(() => drawNow());
  assert.equal(await page.locator('.lane.done .card').count(), 120);

  /* And one that is in no list is not read again for another's sake. */
  await page.evaluate(() => { location.hash = '#task/o.5'; });
  await page.locator('.time li').first().waitFor();
  page.on('request', (r) => asked.push(r.postDataJSON()?.params.name));
  await worker.tool('create_task', { task_id: 'y.8', title: 'Other' });
  await cardOf(page, 'ready', 'Other').waitFor({ timeout: SOON });
  assert.ok(!asked.includes('get_task'), asked.join(', '));
  await worker.close();
});

test('the address tells what is shown', LIMIT, async (t) => {
  const { page, worker, go } = await desk(t);

  for (const n of [1, 2]) {
    await worker.tool('create_task', { task_id: `y.9.${n}`, title: `No ${n}`,
      tags: [`t${n}`], ...n > 1 && { parent_id: 'y.9.1' } });
  }
  await go('?tag=t1');
  await live(page);
  await page.locator('#epics a', { hasText: 'No 1' }).click();
  await page.waitForURL(/\?tag=t1#task/);
  await page.keyboard.press('Escape');
  await page.locator('#clear').click();
  await cardOf(page, 'ready', 'No 2').waitFor();
  await page.waitForURL((url) => !url.search);
  /* The entry before has the filters of now. */
  await page.goBack();
  await page.waitForURL((url) => !url.search && !url.hash);
  await cardOf(page, 'ready', 'No 2').waitFor();
  await cardOf(page, 'ready', 'No 2').locator('.title').click();
  await page.getByRole('heading', { name: 'No 2' }).waitFor();
  await button(page, 'Edit').waitFor({ timeout: SOON });
  await page.locator('#body li.o', { hasText: 'y.9.1: No 1 open' })
    .waitFor({ timeout: SOON });
  /* The keys, from anywhere, and a list of them with one way out. */
  await page.keyboard.press('Escape');
  await page.evaluate(() => document.activeElement.blur());
  await page.keyboard.press('k');
  await focused(page, '.title');
  await page.keyboard.press('?');
  assert.equal(await page.locator('#form button').count(), 1);
  await button(page, 'Close').click();
  await shut(page);
  await worker.close();
});

test('one opened unseen sleeps as well', LIMIT, async (t) => {
  const { page, worker, go } = await desk(t);

  await page.addInitScript(() =>
    Object.defineProperty(document, 'hidden', { get: () => true }));
  await page.clock.install();
  await go();
  await live(page);
  await page.clock.fastForward(35000);
  /* That is not the silence after which a stream is given up. */
  await worker.tool('create_task', { task_id: 'y.10', title: 'Heard' });
  await cardOf(page, 'ready', 'Heard').waitFor();
  await page.clock.fastForward(30000);
  await page.locator('#state', { hasText: 'asleep' })
    .waitFor({ timeout: SOON });
  await worker.close();
});

test('texts of agents keep their form', LIMIT, async (t) => {
  const { page, worker, go } = await desk(t);
  const body = page.locator('#body');
  const goal = ['- a', '  - b', '\t1. c', '', '~~~', '- d', '```', '~~~',
    '- e', '  ````md', '  ```', '  f', '  ```', '  ````', '```g```', '```',
    'h\u2028'].join('\n');

  await worker.tool('create_task', { task_id: 'y.11', title: 'Formed', goal,
    acceptance: ['`i`'] });
  await worker.tool('save_checkpoint', { task_id: 'y.11', agent: 'alice',
    completed_steps: ['**j**'], remaining_steps: ['https://k.test'] });
  await worker.tool('request_input', { task_id: 'y.11', agent: 'alice',
    question: 'See https://l.test/?' });
  await worker.tool('update_task', { task_id: 'y.11', agent: 'alice',
    result: '- n\u2028' });
  await worker.tool('update_task', { task_id: 'y.11', agent: 'bob',
    message: '`m`' });
  await go('#task/y.11');
  await live(page);
  await body.locator('.time li').nth(4).waitFor();
  assert.deepEqual(await body.locator('pre').allTextContents(),
    ['- d\n```\n', '  ```\n  f\n  ```\n', 'h\u2028\n']);
  assert.deepEqual(await body.locator('.text li').evaluateAll((all) =>
    all.map((li) => [li.textContent, parseFloat(li.style.marginLeft
      || li.style.marginInlineStart) > 0])),
  [['n\u2028', false], ['a', false], ['b', true], ['c', true], ['e', false]]);
  assert.deepEqual(await body.locator('.list :is(b, code), .past code')
    .allTextContents(), ['i', 'j', 'm']);
  assert.deepEqual(await body.locator('a').evaluateAll((all) =>
    all.map((a) => a.href)), ['https://l.test/', 'https://k.test/']);
  await worker.close();
});

test('an empty board fits whoever sees it', LIMIT, async (t) => {
  const { args, token } = tokens(t);
  const { page, worker, go } = await desk(t,
    { args, expect: /status of 401/ });

  await page.setViewportSize({ width: 1024, height: 700 });
  await go();
  await page.getByRole('textbox', { name: 'Token' }).fill(token);
  await button(page, 'Continue').click();
  await page.locator('#empty pre').getByText(
    'mcp --header "Authorization: Bearer $MCPTASK_TOKEN"').waitFor();
  await worker.tool('create_task', { task_id: 'y.12', title: 'Only' });
  await cardOf(page, 'ready', 'Only').waitFor();
  assert.deepEqual(await page.locator('.lane').evaluateAll((all) =>
    all.filter((el) => el.querySelector('h2 span').getBoundingClientRect().right
      > el.getBoundingClientRect().right).map((el) => el.className)), []);
  await worker.close();
});

test('the keyboard has a card that can be seen', LIMIT, async (t) => {
  const { page, worker, go } = await desk(t);
  const at = (title) => page.waitForFunction((s) =>
    document.activeElement.textContent === s, title, { timeout: SOON });

  for (const n of [1, 2, 3]) {
    await worker.tool('create_task', { task_id: `y.13.${n}`, title: `No ${n}`,
      priority: n });
  }
  await go();
  await live(page);
  await cardOf(page, 'ready', 'No 3').waitFor();
  await page.keyboard.press('j');
  await at('No 1');
  await page.keyboard.press('Enter');
  await button(page, 'Close').click();
  await send(page);
  await chip(page, 'done');
  await page.keyboard.press('Escape');
  await at('No 2');
  /* An agent ends what one looks at. */
  await worker.tool('update_task', { task_id: 'y.13.2', status: 'done' });
  await at('No 3');
  /* Of several columns, only one may be shown. */
  await worker.tool('claim_task', { task_id: 'y.13.3', agent: 'alice' });
  await worker.tool('create_task', { task_id: 'y.13.4', title: 'No 4' });
  await cardOf(page, 'ready', 'No 4').waitFor();
  await page.setViewportSize({ width: 390, height: 740 });
  await page.locator('#tabs .prog').click();
  await page.locator('.prog .title[tabindex="0"]').waitFor();
  for (let n = 0; n < 5; n++) {
    await page.keyboard.press('Tab');
  }
  await at('No 3');
  await worker.close();
});

test('a key that is pressed twice acts once', LIMIT, async (t) => {
  const { page, worker, go } = await desk(t);
  const title = page.locator('#form').getByLabel('Title');
  const gate = {};
  const late = new Promise((done) => { gate.open = done; });
  let read = 0;

  await worker.tool('create_task', { task_id: 'y.14', title: 'First' });
  await go();
  await live(page);
  await page.route('**/mcp', async (route) => {
    const { name } = route.request().postDataJSON().params;
    if (name === 'get_task' && read++ > 0) {
      await late;
    }
    await route.continue();
  });
  await page.evaluate(() => {
    window.edits = ['y.14', 'y.14'].map(edit);
  });
  await title.fill('Second');
  gate.open();
  await page.evaluate(() => Promise.all(edits));
  assert.equal(await title.inputValue(), 'Second');
  await send(page);
  await button(page, 'Undo').waitFor();
  await page.keyboard.press('u');
  assert.ok(!await button(page, 'Undo').isVisible());
  await page.getByText('Undone', { exact: true }).waitFor();
  await cardOf(page, 'ready', 'First').waitFor();
  await worker.close();
});
