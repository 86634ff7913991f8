/* The inbox: what wants a person, what happened, who sits here; and what is
   drawn: the parts of a task. */

import assert from 'node:assert/strict';
import { readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import test from 'node:test';

import { cardOf, desk, LIMIT, live, SOON, tokens } from './desk.mjs';

const bell = (page, name) =>
  page.getByRole('button', { name, exact: true }).waitFor({ timeout: SOON });
async function open(page) {
  await page.locator('#bell').click();
  await page.locator('#list > *').first().waitFor();
}
const shut = async (page) => {
  await page.keyboard.press('Escape');
  await page.locator('#inbox').waitFor({ state: 'hidden' });
};

/* What the groups of the inbox show, without the times: [title, ...rows]. */
const groups = (page) => page.locator('#list').evaluate((list) =>
  [...list.querySelectorAll('h3')].map((head) => [head.textContent,
    ...[...head.nextElementSibling.children].map((li) => {
      const copy = li.cloneNode(true);
      copy.querySelector('.when').remove();
      return [...copy.firstChild.childNodes].map((n) => n.textContent.trim())
        .filter(Boolean).join(' ');
    })]));

/* The requests from now on that are no stream, by name. */
function requests(page) {
  const all = [];

  page.on('request', (r) => {
    if (r.method() === 'POST') {
      const { method, params } = r.postDataJSON();
      all.push(params.name ?? params.uri ?? method);
    }
  });
  return all;
}

/* A task in which an agent asks a person, or any person. */
async function asked(worker, task_id, question, more) {
  await worker.tool('create_task', { task_id, title: `Task ${task_id}` });
  await worker.tool('claim_task', { task_id, agent: 'codex' });
  await worker.tool('request_input', { task_id, agent: 'codex', question,
    ...more });
}
const failed = async (worker, task_id) => {
  await worker.tool('create_task', { task_id, title: `Task ${task_id}` });
  await worker.tool('update_task', { task_id, agent: 'hermes',
    status: 'failed', reason: 'no disk' });
};

test('all that wants a person lands in the inbox', LIMIT, async (t) => {
  const { page, worker, go } = await desk(t);
  const call = (name, task_id, more) => worker.tool(name, { task_id, ...more });

  await call('create_task', 'i.1', { title: 'Dead' });
  await call('claim_task', 'i.1', { agent: 'dora', lease_seconds: 5 });
  await asked(worker, 'i.2', 'To whom?', { to: 'jonas', kind: 'approval' });
  await failed(worker, 'i.3');
  await call('create_task', 'i.4', { title: 'Out of quota' });
  await call('mark_exhausted', 'i.4', { agent: 'gemini', reason: 'at noon' });
  await call('create_task', 'i.5', { title: 'Well' });
  await call('claim_task', 'i.5', { agent: 'codex' });
  await call('update_task', 'i.5', { agent: 'codex', status: 'done' });
  await call('create_task', 'i.6', { title: 'Wants nobody' });
  await call('create_task', 'i.7', { title: 'Goes well' });
  await call('claim_task', 'i.7', { agent: 'codex' });
  const asks = requests(page);
  await go();
  await live(page);
  await bell(page, 'Inbox, 4 new'); /* without what ended well */
  /* The lease that ends may be asked for. */
  assert.deepEqual(asks.filter((name) => name !== 'get_task'),
    ['subscriptions/listen', 'list_tasks']);
  asks.length = 0;
  await open(page);
  assert.deepEqual((await groups(page)).map((g) => [g[0], ...g.slice(1).sort()]),
    [['Last 24 hours', 'codex asks jonas for approval Task i.2 To whom?',
      'codex finished Well', 'dora may have died Dead',
      'failed Task i.3 no disk', 'gemini stopped Out of quota at noon']]);
  assert.deepEqual(await page.locator('#list li').evaluateAll((all) =>
    all.map((li) => li.className)), ['need', 'stuck', 'stuck', 'stuck', 'done']);
  assert.ok(asks.every((name) => name === 'get_task'), asks.join(', '));

  /* To open one is to have looked at that one alone. */
  await page.getByRole('link', { name: 'no disk' }).click();
  await page.getByRole('heading', { name: 'Task i.3' }).waitFor();
  await page.locator('.time li').first().waitFor();
  await page.keyboard.press('Escape');
  await bell(page, 'Inbox, 3 new');
  await page.keyboard.press('i');
  await page.getByRole('heading', { name: 'Earlier' }).waitFor();
  await shut(page);
  await bell(page, 'Inbox');

  /* Closed, all of it was; the next is new, in this browser. */
  await failed(worker, 'i.8');
  await bell(page, 'Inbox, 1 new');
  await page.reload();
  await live(page);
  await bell(page, 'Inbox, 1 new');
  await open(page);
  const [news, rest] = await groups(page);
  assert.match(news[0], /^Since you looked \(.*\d\d?:\d\d.*\)$/);
  assert.deepEqual([news.slice(1), rest[0], rest.length],
    [['failed Task i.8 no disk'], 'Earlier', 6]);
  /* An agent goes on with a question that was seen: it is not new again. */
  await shut(page);
  await call('save_checkpoint', 'i.2', { agent: 'codex', notes: 'meanwhile' });
  await failed(worker, 'i.9');
  await bell(page, 'Inbox, 1 new');
  await worker.close();
});

test('what one does oneself is no news', LIMIT, async (t) => {
  const { page, worker, go } = await desk(t);

  await asked(worker, 'o.1', 'Well?');
  await go('#task/o.1');
  await live(page);
  await bell(page, 'Inbox'); /* it is open */
  await page.locator('#acts').getByRole('button', { name: 'Take over' }).click();
  await page.locator('#form').getByLabel('Reason').fill('mine');
  await page.locator('#form button.main').click();
  await page.locator('#acts').getByRole('button', { name: 'Close' }).click();
  await page.locator('#form button.main').click();
  await page.locator('#facts .chip', { hasText: 'done' }).waitFor();
  await page.keyboard.press('Escape');
  await page.evaluate(() => drawNow());
  await bell(page, 'Inbox');
  await worker.close();
});

/* A browser may keep anything under these names. */
test('what is kept in a wrong form is not used', LIMIT, async (t) => {
  const { page, worker, go } = await desk(t);

  await failed(worker, 'k.1');
  await go();
  await live(page);
  for (const bad of ['{bad', 'null', '[]', '5', '"x"']) {
    for (const name of ['mcptask-dismissed', 'mcptask-seen']) {
      await page.evaluate(([k, v]) => localStorage.setItem(k, v), [name, bad]);
    }
    await page.reload();
    await live(page);
    await bell(page, 'Inbox, 1 new');
    await cardOf(page, 'stuck', 'Task k.1').waitFor();
  }
  /* From then on it is kept as ever. */
  await cardOf(page, 'stuck', 'Task k.1')
    .getByRole('button', { name: 'Dismiss' }).click();
  await cardOf(page, 'stuck', 'Task k.1').waitFor({ state: 'detached' });
  await open(page);
  await shut(page);
  await page.reload();
  await live(page);
  await bell(page, 'Inbox');
  assert.equal(await cardOf(page, 'stuck', 'Task k.1').count(), 0);
  await worker.close();
});

test('another store at the same address is new', LIMIT, async (t) => {
  const { store, server, page, worker, go } = await desk(t,
    { expect: /net::ERR/ });

  await failed(worker, 'o.2');
  await go();
  await live(page);
  await bell(page, 'Inbox, 1 new');
  await open(page);
  await shut(page);
  await bell(page, 'Inbox');
  await page.evaluate(() => { /* as if it had been looked at in a year */
    remember({ ...looked, at: '2099-01-01T00:00:00.000Z' });
  });
  await worker.close();
  await server.close();
  for (const name of readdirSync(store.dir)) {
    rmSync(join(store.dir, name), { recursive: true });
  }
  await server.up();
  await live(page);
  await page.evaluate(async () => {
    await act('create_task', { task_id: 'n.1', title: 'New' });
    await tool('update_task', { task_id: 'n.1', agent: 'x', status: 'failed',
      reason: 'no' });
    await check();
  });
  await bell(page, 'Inbox, 1 new');
});

test('who says a name is asked first, and writes under it', LIMIT, async (t) => {
  const { page, worker, go } = await desk(t);
  const first = () => page.locator('.lane.need .title').first().textContent();

  await asked(worker, 'w.1', 'For whoever comes');
  await asked(worker, 'w.2', 'For jonas', { to: 'jonas' });
  await asked(worker, 'w.3', 'For anna', { to: 'anna' });
  await worker.tool('create_task', { task_id: 'w.4', title: 'Given' });
  await worker.tool('handoff_task', { task_id: 'w.4', from_agent: 'codex',
    to_agent: 'anna', reason: 'a decision' });
  await go();
  await live(page);
  await bell(page, 'Inbox, 3 new');
  assert.equal(await first(), 'Task w.1');
  /* It is asked in the header until it is answered. */
  await page.locator('header').getByLabel('I am').focus();
  assert.deepEqual(await page.locator('#names option').evaluateAll((all) =>
    all.map((o) => o.value).filter(Boolean).sort()), ['anna', 'jonas']);
  await page.getByLabel('I am').fill('anna');
  await page.keyboard.press('Enter');
  await page.locator('#inbox #iam').waitFor({ state: 'attached' });
  await open(page);
  await page.getByText('hands over to you').waitFor();
  await bell(page, 'Inbox, 3 new'); /* with what was given to her, without his */
  assert.equal(await first(), 'Task w.3');
  assert.deepEqual(await page.locator('.lane.need .cards > li')
    .evaluateAll((all) => all.map((li) => (li.querySelector('.title') ?? li)
      .textContent)), ['Task w.3', 'Task w.1', 'For others', 'Task w.2']);
  assert.deepEqual((await groups(page))[0].slice(1), [
    'codex asks you Task w.3 For anna',
    'codex hands over to you Given a decision',
    'codex asks you Task w.1 For whoever comes',
    'codex asks jonas Task w.2 For jonas']);

  /* The line between them is no task. */
  await page.evaluate(() => { location.hash = '#task/w.1'; });
  await page.getByRole('heading', { name: 'Task w.1' }).waitFor();
  await page.keyboard.press('j');
  await page.getByRole('heading', { name: 'Task w.2' }).waitFor();
  await page.keyboard.press('Escape');
  await page.keyboard.press('i');
  await page.locator('#list li').first().waitFor();

  /* The name is kept, and stands in the log. */
  await shut(page);
  await page.reload();
  await live(page);
  const box = cardOf(page, 'need', 'For anna');
  await box.getByLabel('Your answer').fill('Yes');
  await box.getByRole('button', { name: 'Answer' }).click();
  await page.evaluate(() => { sendNow(); });
  await box.waitFor({ state: 'detached', timeout: SOON });
  const { questions: [q] } = await worker.tool('get_task', { task_id: 'w.3' });
  assert.equal(q.answer.by, 'anna');
  await open(page);
  await page.getByLabel('I am').fill('');
  await page.keyboard.press('Enter');
  assert.equal(await page.evaluate(() => me), 'person');
  await worker.close();
});

test('a token says who one is', LIMIT, async (t) => {
  const { args, token } = tokens(t, 'person');
  const { page, worker, go } = await desk(t,
    { args, expect: /status of 401/ });

  await asked(worker, 'w.5', 'For carol', { to: 'carol' });
  await go();
  await page.evaluate(() => kept('name', 'anna'));
  await page.getByRole('textbox', { name: 'Token' }).fill(token);
  await page.keyboard.press('Enter');
  await live(page);
  await bell(page, 'Inbox, 1 new');
  await open(page);
  await page.getByText('codex asks you').waitFor();
  assert.ok(!await page.getByLabel('I am').isVisible());
  await worker.close();
});

test('activity tells what happened, in one request', LIMIT, async (t) => {
  const { page, worker, go } = await desk(t);

  await asked(worker, 'a.1', 'Red or blue?');
  for (let i = 0; i < 3; i++) {
    await worker.tool('save_checkpoint', { task_id: 'a.1', agent: 'codex',
      notes: `Step ${i}` });
  }
  await go();
  await live(page);
  const asks = requests(page);
  await open(page);
  await page.getByRole('button', { name: 'Activity' }).click();
  await page.getByText('saved a checkpoint, 3 times').waitFor();
  /* The strip may ask for its agent's task. */
  assert.deepEqual(asks.filter((name) => name !== 'get_task'),
    ['task:///history']);
  const rows = (await groups(page))[0];
  assert.deepEqual(rows.slice(0, 4), ['Today',
    'codex saved a checkpoint, 3 times Task a.1 Step 2',
    'codex asked a question Task a.1 Red or blue?', 'codex claimed it Task a.1']);
  assert.match(rows[4], /^\S+ created it Task a\.1$/);

  /* It stays up to date, and more is loaded when asked for. */
  await page.locator('#list a').last().focus();
  await failed(worker, 'a.2');
  await page.getByText('marked it failed').waitFor({ timeout: SOON });
  assert.match(await page.evaluate(() =>
    document.activeElement.textContent), /created it/);
  for (let i = 0; i < 100; i++) {
    await worker.tool('update_task', { task_id: 'a.1', message: `${i}`,
      agent: `s${i}` });
    if (i === 49) {
      await page.getByText('s49 left a message').waitFor({ timeout: SOON });
    }
  }
  await page.getByText('s99 left a message').waitFor({ timeout: SOON });
  assert.equal(await page.getByText('created it').count(), 2); /* still there */
  await page.reload();
  await live(page);
  await open(page);
  await page.getByRole('button', { name: 'Activity' }).click();
  await page.getByText('s99 left a message').waitFor({ timeout: SOON });
  assert.equal(await page.getByText('created it').count(), 0);
  await page.getByRole('button', { name: 'Load more' }).click();
  await page.getByText('created it').nth(1).waitFor();
  assert.equal(await page.getByRole('button', { name: 'Load more' }).count(), 0);
  /* What one agent did. */
  await page.getByLabel('Agent', { exact: true }).selectOption('codex');
  await page.getByText('s99 left').first().waitFor({ state: 'detached' });
  assert.equal((await groups(page))[0].length, 4);
  await page.evaluate(() => {
    feed.events.at(-1).by = 'codex';
    feed.events.at(-1).at = new Date(Date.now() - 86400000).toISOString();
    drawInbox();
  });
  await page.getByRole('heading', { name: 'Yesterday' }).waitFor();
  await page.getByRole('button', { name: 'Inbox', exact: true }).last().click();
  await page.getByText('codex asks').first().waitFor();
  await worker.close();
});

/* An epic of eight parts. */
async function epic(worker) {
  const create = (task_id, depends_on, more) => worker.tool('create_task', {
    task_id, title: `Part ${task_id}`, parent_id: 'e.0', depends_on, ...more });

  await worker.tool('create_task', { task_id: 'e.0', title: 'Whole',
    priority: 0 });
  await create('e.1', []);
  await create('e.2', ['e.1']);
  await create('e.3', ['e.1']);
  await create('e.4', ['e.1', 'e.2', 'e.3']);
  await create('e.10', []);
  await create('e.11', []);
  await worker.tool('update_task', { task_id: 'e.1', status: 'done' });
  await worker.tool('update_task', { task_id: 'e.3', status: 'failed',
    reason: 'no' });
  await worker.tool('update_task', { task_id: 'e.11', status: 'cancelled',
    reason: 'no' });
  await worker.tool('claim_task', { task_id: 'e.2', agent: 'codex' });
}

test('a whole shows its parts, and in which order', LIMIT, async (t) => {
  const { page, worker, go } = await desk(t);
  const boxes = () => page.locator('.graph li').evaluateAll((all) =>
    Object.fromEntries(all.map((li) => [li.querySelector('span').textContent,
      [li.className, Math.round(li.offsetLeft / (li.offsetWidth + 22)), li.offsetTop]])));

  await epic(worker);
  await go();
  await live(page);
  /* It stands in the band, and in no column; its parts do. */
  const whole = page.locator('#epics li', { hasText: 'Whole' });
  await whole.getByText('1 of 5 done, 1 at work, 2 stuck, 1 ready').waitFor();
  assert.equal(await page.locator('.card', { hasText: 'Whole' }).count(), 0);
  assert.equal(await cardOf(page, 'ready', 'e.10').locator('progress').count(),
    0);
  await page.evaluate(() => { location.hash = '#task/e.0'; });
  await page.locator('.graph li').last().waitFor();
  await page.locator('#body').getByText('1 of 5 done, 1 at work').waitFor();
  const at = await boxes();
  assert.deepEqual(Object.fromEntries(Object.entries(at).map(([id, [lane, x]]) =>
    [id, [lane, x]])), { 'e.1': ['done', 0], 'e.10': ['ready', 0],
    'e.11': ['done', 0], 'e.2': ['prog', 1], 'e.3': ['stuck', 1],
    'e.4': ['stuck', 2] });
  /* No two at one place, and a line for each step, none for what follows. */
  assert.equal(new Set(Object.values(at).map(([, x, y]) => `${x} ${y}`)).size, 6);
  assert.equal(await page.locator('.graph path').evaluate((el) =>
    el.getAttribute('d').match(/M/g).length), 4);
  assert.match(await page.locator('.graph li', { hasText: 'e.4' }).textContent(),
    /^e\.4stuckPart e\.4 after e\.2, e\.3$/);
  assert.deepEqual(await page.locator('#body .share i').evaluateAll((all) =>
    all.filter((i) => i.offsetWidth > 4).map((i) => [i.className,
      i.style.flexGrow])), [['done', '1'], ['prog', '1'], ['stuck', '2'],
    ['ready', '1']]);

  /* It follows what happens, is reached by keys, and opens a part. */
  await worker.tool('update_task', { task_id: 'e.2', agent: 'codex',
    status: 'done' });
  await page.locator('#body').getByText('2 of 5 done').waitFor();
  await worker.tool('create_task', { task_id: 'e.5', title: 'Part e.5',
    parent_id: 'e.0', depends_on: ['e.4'] });
  await page.locator('.graph a', { hasText: 'e.5' }).waitFor();
  assert.equal((await boxes())['e.5'][1], 3);
  await page.locator('.graph a', { hasText: 'e.1' }).first().focus();
  await page.keyboard.press('Tab');
  await page.keyboard.press('Enter');
  await page.getByRole('heading', { name: 'Part e.10' }).waitFor();
  await page.goBack();
  await page.getByRole('heading', { name: 'Whole' }).waitFor();
  /* There is no room for it on a phone: a list. */
  await page.setViewportSize({ width: 390, height: 800 });
  assert.ok(await page.locator('.pan').evaluate((el) =>
    el.scrollWidth <= el.clientWidth && el.getBoundingClientRect().right <= 390));
  assert.ok(!await page.locator('.graph path').isVisible());
  await worker.close();
});

test('a click on an epic shows its parts alone', LIMIT, async (t) => {
  const { page, worker, go } = await desk(t);
  const cards = () => page.locator('.card .id').allTextContents();

  await epic(worker);
  await worker.tool('create_task', { task_id: 'other', title: 'Alone' });
  await go();
  await live(page);
  await cardOf(page, 'ready', 'Alone').waitFor();
  const all = page.locator('#epics button');
  await all.click();
  await cardOf(page, 'ready', 'Alone').waitFor({ state: 'detached' });
  assert.deepEqual((await cards()).sort(), ['e.1', 'e.10', 'e.11', 'e.2', 'e.3',
    'e.4']);
  assert.equal(await all.getAttribute('aria-pressed'), 'true');
  await page.waitForFunction(() => location.search === '?epic=e.0');
  /* It is kept in the address, and a second click shows all. */
  await page.reload();
  await live(page);
  await cardOf(page, 'ready', 'e.10').waitFor();
  assert.equal(await cardOf(page, 'ready', 'Alone').count(), 0);
  await all.click();
  await cardOf(page, 'ready', 'Alone').waitFor();
  /* A search finds it as a card, and so it is when there is no room in the
     band. */
  await page.locator('#q').fill('whole');
  await cardOf(page, 'wait', 'Whole').waitFor({ state: 'attached' });
  await page.locator('#q').fill('');
  await cardOf(page, 'wait', 'Whole').waitFor({ state: 'detached' });
  await page.evaluate(() => {
    for (let i = 0; i < 31; i++) {
      T.set(`f.${i}`, { ...T.get('e.0'), task_id: `f.${i}`, title: `F ${i}` });
    }
    drawNow();
  });
  assert.equal(await page.locator('#epics li').count(), 30);
  assert.equal(await page.locator('.lane.wait .card', { hasText: 'F ' }).count(), 2);
  await page.evaluate(() => {
    [...T.keys()].forEach((id) => id.startsWith('f.') && T.delete(id));
    drawNow();
  });
  /* When it is at work itself it is a card like any other, which counts. */
  for (const [id, status] of [['e.2', 'done'], ['e.10', 'done'],
    ['e.4', 'cancelled']]) {
    await worker.tool('update_task', { task_id: id, status, agent: 'codex',
      reason: 'all' });
  }
  await cardOf(page, 'ready', 'Whole').getByText('3 of 4 parts done').waitFor();
  await worker.tool('update_task', { task_id: 'e.0', status: 'done' });
  await page.locator('#epics').waitFor({ state: 'hidden' });
  await worker.close();
});

