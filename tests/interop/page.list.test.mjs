/* The columns and the list: where failures stand, how a card is laid out, and
   what is done with several tasks at a time. */

import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import test from 'node:test';

import { cardOf, desk, LIMIT, live, SOON, unfold } from './desk.mjs';
import { morning } from './screens.mjs';
import { SERVER } from './server.mjs';

const button = (page, name) => page.getByRole('button', { name, exact: true });

/* The ids of the tasks in each column, as a page and a terminal show them. */
const onPage = (page) => page.evaluate(() => Object.fromEntries(LANES.map(
  ([id, name]) => [name, [...T.values()].filter((t) => laneOf(t) === id)
    .map((t) => t.task_id).sort()])));
const onTerminal = (env) => Object.fromEntries(JSON.parse(execFileSync(SERVER,
  ['board', '--json'], { env, encoding: 'utf8' })).columns.map(
  ({ name, tasks }) => [name, tasks.map((t) => t.task_id).sort()]));

test('page and terminal show the same columns', LIMIT, async (t) => {
  const { store, page, worker, go } = await desk(t);

  await morning(worker);
  await worker.tool('create_task', { task_id: 'late', title: 'Later',
    not_before: '2999-01-01' });
  await worker.tool('create_task', { task_id: 'dead', title: 'Never',
    depends_on: ['ops-2'] });
  for (const task_id of ['held', 'beside']) {
    await worker.tool('create_task', { task_id, title: task_id,
      paths: ['src'] });
  }
  await worker.tool('claim_task', { task_id: 'held', agent: 'codex' });
  await go();
  await live(page);
  const all = await onPage(page);
  assert.deepEqual(all, onTerminal(store.env));
  assert.deepEqual([all.Stuck, all.Waiting], [['dead', 'ops-2', 'ops-5'],
    ['api-142', 'beside', 'late']]);
  await unfold(page, 'wait');
  await cardOf(page, 'wait', 'paths overlap with held').waitFor();
  await cardOf(page, 'wait', 'from 1/1/2999').waitFor();
  await cardOf(page, 'stuck', 'blocked by ops-2 (failed): Try').waitFor();
  await worker.close();
});

test('a failure is reopened or dismissed', LIMIT, async (t) => {
  const { page, worker, go } = await desk(t);
  const failed = cardOf(page, 'stuck', 'failed: no disk');
  const fail = () => worker.tool('update_task', { task_id: 'f.1',
    status: 'failed', reason: 'no disk' });

  await worker.tool('create_task', { task_id: 'f.1', title: 'Backup' });
  await worker.tool('create_task', { task_id: 'f.2', title: 'Other' });
  await go();
  await live(page);
  await fail();
  await failed.waitFor({ timeout: SOON });
  assert.equal(await page.title(), '(1) mcptask');
  await button(page, 'Dismiss').click();
  await failed.waitFor({ state: 'detached' });
  assert.equal(await page.title(), 'mcptask');
  await page.keyboard.press('u');
  await failed.waitFor();
  await button(page, 'Dismiss').click();
  await page.reload();
  await live(page);
  await unfold(page);
  await cardOf(page, 'done', 'failed: no disk').waitFor();
  assert.equal(await failed.count(), 0);

  /* When it fails once more, that is another failure. */
  await worker.tool('update_task', { task_id: 'f.1', status: 'open',
    reason: 'a new disk' });
  await cardOf(page, 'ready', 'Backup').waitFor({ timeout: SOON });
  await fail();
  await failed.waitFor({ timeout: SOON });
  await button(page, 'Reopen').click();
  await page.locator('#form').getByLabel('Reason').fill('another disk');
  await page.locator('#form .main').click();
  await cardOf(page, 'ready', 'Backup').waitFor();

  /* After three days it has been history for everyone. */
  await fail();
  await failed.waitFor({ timeout: SOON });
  await page.evaluate(() => {
    const then = Date.now() + 73 * 3600000;
    Date.now = () => then;
    drawNow();
  });
  await cardOf(page, 'done', 'failed: no disk').waitFor();
  await worker.close();
});

test('a card has its facts in four rows', LIMIT, async (t) => {
  const { page, worker, go } = await desk(t);
  const row = (lane, id, of) => cardOf(page, lane, id).locator(of);
  const high = async (lane, id, of) =>
    (await row(lane, id, of).boundingBox()).height;
  const long = 'The webhook of the second merchant is called three times when '
    + 'the first answer takes more than the half second that we allow for it';

  await morning(worker);
  await worker.tool('create_task', { task_id: 'k.1', title: 'Plain' });
  await worker.tool('create_task', { task_id: 'k.2', title: long });
  await worker.tool('create_task', { task_id: 'k.3', title: long,
    current_owner: 'a-name-as-long-as-those-of-some-agents-are-0123456789',
    tags: ['payments', 'incident', 'customers', 'regression'] });
  await page.setViewportSize({ width: 1024, height: 768 });
  await go();
  await live(page);
  assert.match(await cardOf(page, 'ready', 'k.1').textContent(),
    /^k\.1\d+ \w+Plain$/);
  /* However much there is, it is one line, and its tags are whole. */
  const meta = row('ready', 'k.3', '.meta');
  assert.equal((await meta.boundingBox()).height, 20);
  assert.deepEqual(await meta.locator('.tag').evaluateAll((all) => {
    const { top, right } = all[0].parentElement.getBoundingClientRect();
    return all.map((el) => el.getBoundingClientRect()).filter((r) =>
      r.top < top + 10 && r.right > right + 1);
  }), []);
  const line = await high('ready', 'k.1', '.title');
  assert.ok(await high('ready', 'k.3', '.title') < line * 2.5);
  assert.ok(await high('ready', 'k.2', '.title') > line * 2.5);
  assert.ok(!await page.getByText(/nobody|\u00b7$/).count());

  /* A column that is folded costs little room. */
  for (const id of ['wait', 'done']) {
    assert.equal((await page.locator(`.lane.${id}`).boundingBox()).width, 40);
  }
  await unfold(page, 'wait');
  await cardOf(page, 'wait', 'waits for api-141').waitFor();
  await unfold(page, 'wait');
  await cardOf(page, 'wait', 'waits for').waitFor({ state: 'hidden' });
  await worker.close();
});

test('what an agent left is freed or handed over on its card', LIMIT,
  async (t) => {
    const { page, worker, go } = await desk(t);
    const call = (name, task_id, more) => worker.tool(name, { task_id, ...more });
    const left = (title) => cardOf(page, 'stuck', title);

    for (const [id, title] of [['l.1', 'Out of quota'], ['l.2', 'Out of time']]) {
      await call('create_task', id, { title });
      await call('claim_task', id, { agent: 'codex' });
      await call('mark_exhausted', id, { agent: 'codex', reason: 'at noon' });
    }
    await call('create_task', 'l.3', { title: 'At work' });
    await call('claim_task', 'l.3', { agent: 'codex' });
    await go();
    await live(page);
    await left('Out of quota').getByRole('button', { name: 'Free it' }).click();
    await cardOf(page, 'ready', 'Out of quota').waitFor();
    await left('Out of time').getByRole('button', { name: 'Hand over' }).click();
    await page.locator('#form').getByLabel('To').fill('gemini-cli');
    await page.locator('#form').getByLabel('Reason').fill('it has quota');
    await page.locator('#form .main').click();
    await cardOf(page, 'hand', 'Out of time').waitFor();
    const freed = await call('get_task', 'l.1');
    assert.deepEqual([freed.status, freed.current_owner], ['open', undefined]);
    const given = await call('get_task', 'l.2');
    assert.deepEqual([given.status, given.current_owner, given.handoff.reason],
      ['handoff_ready', 'gemini-cli', 'it has quota']);

    /* What an agent works on is handed over in one act as well, also if the
       first try was refused. */
    await page.evaluate(() => { location.hash = '#task/l.3'; });
    await page.locator('#acts').getByRole('button', { name: 'Hand over' }).click();
    await page.locator('#form').getByLabel('To').fill('gemini-cli');
    await page.locator('#form').getByLabel('Reason').fill('it knows more');
    await page.evaluate(() => { INPUTS.to.read = () => 'x'.repeat(140); });
    await page.locator('#form .main').click();
    await page.locator('#form .bad', { hasText: '128' }).waitFor();
    await page.evaluate(() => { delete INPUTS.to.read; });
    await page.locator('#form .main').click();
    await page.locator('#now', { hasText: 'handed it over to gemini-cli' })
      .waitFor();
    const { takeover } = await call('get_task', 'l.3');
    assert.deepEqual([takeover.from_agent, takeover.agent, takeover.reason],
      ['codex', 'person', 'it knows more']);
    const { events } = await call('get_task', 'l.3', { section: 'history' });
    assert.deepEqual(events.filter(({ by }) => by === 'person')
      .map(({ op }) => op), ['handoff']);
    await worker.close();
  });

test('projects are named where there are several', LIMIT, async (t) => {
  const { page, worker, go } = await desk(t);
  const chips = () => page.locator('.card .repo').allTextContents();

  for (const [n, repo_path] of [[1, '/work/api/'], [2, '/work/web']]) {
    await worker.tool('create_task', { task_id: `p.${n}`, title: `Task ${n}`,
      repo_path });
  }
  await go();
  await live(page);
  await cardOf(page, 'ready', 'Task 2').waitFor();
  assert.deepEqual((await chips()).sort(), ['api', 'web']);
  await page.getByLabel('Repository').selectOption('/work/web');
  await cardOf(page, 'ready', 'Task 1').waitFor({ state: 'detached' });
  assert.deepEqual(await chips(), []);
  /* The choice is kept for the next visit. */
  await page.waitForFunction(() => kept('repo')?.endsWith(' /work/web'));
  await page.goto('about:blank');
  await go();
  await live(page);
  await cardOf(page, 'ready', 'Task 2').waitFor();
  await cardOf(page, 'ready', 'Task 1').waitFor({ state: 'detached' });
  await page.locator('#clear').click();
  await cardOf(page, 'ready', 'Task 1').waitFor();
  await page.waitForFunction(() => !location.search);
  /* That of another store at this address is not. */
  await page.evaluate(() => kept('repo', 'another /work/web'));
  await page.reload();
  await live(page);
  await page.waitForFunction(() => storeId);
  await cardOf(page, 'ready', 'Task 1').waitFor();
  await worker.close();
});

test('a list in place of columns', LIMIT, async (t) => {
  const { page, worker, go } = await desk(t);
  const titles = ['ops-5', 'ops-4', 'ui-9', 'db-3'];
  const tops = (of) => page.locator(of).evaluateAll((all) =>
    all.map((el) => Math.round(el.getBoundingClientRect().top)));

  await morning(worker);
  for (let i = 0; i < 30; i++) {
    await worker.tool('create_task', { task_id: `l.${i}`,
      title: `One of the tasks that stand below each other, ${i}` });
  }
  await page.setViewportSize({ width: 1280, height: 800 });
  await go();
  await live(page);
  await cardOf(page, 'need', 'ui-9').locator('.title').focus();
  await page.keyboard.press('v');
  /* A task is one row of 30 points, and its title can be read. */
  assert.deepEqual(await page.locator('.card:visible').evaluateAll((all) =>
    [...new Set(all.map((el) => el.offsetHeight))].filter((n) => n > 31)), []);
  assert.deepEqual(await page.locator('.card:visible .title').evaluateAll(
    (all) => all.filter((el) => el.scrollWidth > el.clientWidth)
      .map((el) => el.textContent)), []);
  for (const id of titles) {
    const card = page.locator('.card', { hasText: id });
    const [row, title, age] = await Promise.all([card, card.locator('.title'),
      card.locator('.age')].map((el) => el.boundingBox()));
    assert.ok(title.y >= row.y && age.y < row.y + 30 && age.x > title.x, id);
  }
  await cardOf(page, 'need', 'ui-9').locator('.why')
    .getByText('The lanes become tabs').waitFor();
  await cardOf(page, 'prog', 'api-141').getByText('48 passed').waitFor();
  assert.ok(!await page.locator('.ask').first().isVisible());
  assert.ok(!await page.locator('.lane.prog').getByText('None').isVisible());

  /* The head of a group stays; j goes from one group to the next. */
  await page.locator('main').evaluate((el) => { el.scrollTop = 400; });
  const [top] = await tops('main');
  assert.equal((await tops('.lane.ready h2'))[0], top);
  for (let n = 0; n < 2; n++) {
    await page.keyboard.press('j');
  }
  await page.waitForFunction(() => document.activeElement.closest('.ready'));
  await page.reload();
  await live(page);
  await button(page, 'List').and(page.locator('[aria-pressed=true]')).click();
  await page.locator('.ask').first().waitFor();
  await worker.close();
});

/* A summary without room for the tags does not say which ones there were. */
test('a tag on a long task is taken back alone', LIMIT, async (t) => {
  const { page, worker, go } = await desk(t);
  const tags = Array.from({ length: 15 }, (_, i) => `${i}`.padStart(64, '"'));
  const now = async () => (await worker.tool('get_task', { task_id: 's.8' })).tags;

  await worker.tool('create_task', { task_id: 's.8', title: 'Long', tags,
    repo_path: `/${'"'.repeat(4000)}` });
  await worker.tool('request_input', { task_id: 's.8', agent: 'ann',
    question: '"'.repeat(2000) });
  await go();
  await live(page);
  await page.getByLabel('Select s.8').check();
  assert.deepEqual(await page.evaluate(() => [T.get('s.8').truncated,
    T.get('s.8').tags]), [true, undefined]);
  await button(page, 'Tag').click();
  await page.locator('#form').getByLabel('Tag to add').fill('new');
  await page.locator('#form .main').click();
  await page.locator('#toast', { hasText: 'Changed 1 task' }).waitFor();
  assert.deepEqual(await now(), [...tags, 'new']);
  await page.keyboard.press('u');
  await page.getByText('Undone', { exact: true }).waitFor();
  assert.deepEqual(await now(), tags);
  await worker.close();
});

test('several tasks are changed and taken back', LIMIT, async (t) => {
  const { page, worker, go } = await desk(t);
  const form = page.locator('#form');
  const count = (n) => page.locator('#picks b', { hasText: `${n} selected` })
    .waitFor();
  const all = async (key) => (await worker.tool('list_tasks',
    { include_done: true })).tasks.sort((a, b) => a.task_id < b.task_id ? -1 : 1)
    .map((k) => String(k[key]));
  const asked = [];

  for (const n of [1, 2, 3, 4]) {
    await worker.tool('create_task', { task_id: `s.${n}`, title: `Task ${n}`,
      priority: n, ...n === 1 && { tags: ['old'] } });
  }
  await go();
  await live(page);
  await cardOf(page, 'ready', 'Task 4').waitFor();
  page.on('request', (r) => asked.push(r.postDataJSON()?.params.name));

  /* x selects, X all up to it, the mouse one. */
  await page.keyboard.press('j');
  await page.keyboard.press('x');
  await count(1);
  await page.keyboard.press('j');
  await page.keyboard.press('j');
  await page.keyboard.press('X');
  await count(3);
  await page.keyboard.press('x');
  await count(2);
  await cardOf(page, 'ready', 'Task 4').hover();
  await page.getByLabel('Select s.4').click();
  await count(3);
  await button(page, 'Tag').click();
  await form.getByLabel('Tag to add').fill('new');
  await form.locator('.main').click();
  await form.waitFor({ state: 'hidden' });
  await page.locator('#toast', { hasText: 'Changed 3 tasks' }).waitFor();
  assert.equal(asked.filter((name) => name === 'update_task').length, 3);
  assert.deepEqual(await all('tags'), ['old,new', 'new', 'undefined', 'new']);
  await page.locator('#picks').waitFor({ state: 'hidden' });
  await page.keyboard.press('u');
  await page.getByText('Undone', { exact: true }).waitFor();
  assert.deepEqual(await all('tags'),
    ['old', 'undefined', 'undefined', 'undefined']);

  /* Each that is refused says why, and stays selected. */
  await cardOf(page, 'ready', 'Task 1').locator('.title').focus();
  await page.keyboard.press('x');
  await page.keyboard.press('End');
  await page.keyboard.press('X');
  await count(4);
  await button(page, 'Close').and(page.locator('#picks *')).click();
  await form.getByLabel('Reason').fill('too late');
  await worker.tool('update_task', { task_id: 's.2', goal: 'Another' });
  await worker.tool('claim_task', { task_id: 's.3', agent: 'ann' });
  await form.getByRole('button', { name: 'Cancelled' }).click();
  await page.locator('#toast', { hasText: 'Changed 2 tasks' }).waitFor();
  await page.locator('#refused', { hasText:
    /^Not changed: (?=.*s\.2: someone else changed it)(?=.*s\.3: ).*\.$/ })
    .waitFor();
  await count(2);
  assert.deepEqual(await all('status'),
    ['cancelled', 'open', 'in_progress', 'cancelled']);
  await page.keyboard.press('u');
  await page.getByText('Undone', { exact: true }).waitFor();
  assert.deepEqual(await all('status'),
    ['open', 'open', 'in_progress', 'open']);

  /* What cannot be seen is not selected. */
  await page.locator('#q').fill('Task 2');
  await count(1);
  await button(page, 'Owner').click();
  await form.getByLabel('Owner').fill('bob');
  await form.locator('.main').click();
  await cardOf(page, 'ready', 'bob').waitFor();
  assert.deepEqual(await all('current_owner'),
    ['undefined', 'bob', 'ann', 'undefined']);
  await worker.close();
});

/* One column is shown at a time: what is in another one is not selected, but
   for what is printed, which shows no box. */
test('what is selected on a phone is seen', LIMIT, async (t) => {
  const { page, worker, go } = await desk(t);
  const tab = (name) => page.locator('#tabs button', { hasText: name }).click();
  const count = (n) => page.locator('#picks b', { hasText: `${n} selected` })
    .waitFor();
  const picks = () => page.evaluate(() => [...picked].sort());

  await page.setViewportSize({ width: 390, height: 844 });
  for (const n of [1, 2]) {
    await worker.tool('create_task', { task_id: `p.${n}`, title: `Task ${n}` });
  }
  await worker.tool('create_task', { task_id: 'p.3', title: 'Held' });
  await worker.tool('claim_task', { task_id: 'p.3', agent: 'ann' });
  await go();
  await live(page);
  await tab('Ready');
  await page.getByLabel('Select p.1').check();
  await page.getByLabel('Select p.2').check();
  await count(2);
  await page.evaluate(() => drawNow());
  assert.deepEqual(await picks(), ['p.1', 'p.2']);
  await page.evaluate(() => { location.hash = '#task/p.3'; });
  await page.locator('#task').getByRole('heading', { name: 'Held' }).waitFor();
  await page.pdf({ format: 'A5' });
  await page.emulateMedia({ media: 'print' });
  await page.evaluate(() => drawNow());
  await page.emulateMedia({ media: 'screen' });
  await page.evaluate(() => drawNow());
  assert.deepEqual(await picks(), ['p.1', 'p.2']);
  await page.keyboard.press('Escape');
  await tab('In progress');
  await page.locator('#picks').waitFor({ state: 'hidden' });
  assert.deepEqual(await picks(), []);
  await tab('Ready');
  assert.equal(await page.getByLabel('Select p.1').isChecked(), false);

  /* The same where a wide page gets narrow. */
  await page.setViewportSize({ width: 1280, height: 844 });
  await page.getByLabel('Select p.1').check();
  await page.getByLabel('Select p.3').check();
  await count(2);
  await page.setViewportSize({ width: 390, height: 844 });
  await count(1);
  assert.deepEqual(await picks(), ['p.1']);
  await worker.close();
});

test('failures are dismissed together', LIMIT, async (t) => {
  const { page, worker, go } = await desk(t);

  for (const task_id of ['f.1', 'f.2', 'f.3']) {
    await worker.tool('create_task', { task_id, title: `Task ${task_id}` });
    if (task_id !== 'f.3') {
      await worker.tool('update_task', { task_id, status: 'failed' });
    }
  }
  await go();
  await live(page);
  await page.keyboard.press('v');
  await page.getByLabel('Select f.3').click({ force: true });
  const dismiss = page.locator('#picks').getByRole('button', { name: 'Dismiss' });
  assert.ok(!await dismiss.isVisible());
  for (const id of ['f.1', 'f.2']) {
    await page.getByLabel(`Select ${id}`).click();
  }
  await dismiss.click();
  await page.locator('.lane.done h2', { hasText: '2' }).waitFor();
  assert.equal(await page.title(), 'mcptask');
  await page.keyboard.press('u');
  await cardOf(page, 'stuck', 'f.1').waitFor();
  await worker.close();
});

test('a search says what it found, and that it found nothing', LIMIT,
  async (t) => {
    const { page, worker, go } = await desk(t);
    const nothing = page.locator('#nothing');

    await worker.tool('create_task', { task_id: 'n.1', title: 'Plain',
      goal: `${'Before it. '.repeat(9)}Find the <b>Needle</b> in the hay.` });
    await worker.tool('create_task', { task_id: 'n.2', title: 'A needle' });
    await go();
    await live(page);
    await page.locator('#q').fill('needle');
    const hit = cardOf(page, 'ready', 'n.1').locator('.hit');
    await hit.waitFor();
    assert.match(await hit.textContent(),
      /^goal: \.\.\..{0,48}Find the <b>Needle<\/b> in the hay\.$/);
    assert.equal(await hit.locator('mark').textContent(), 'Needle');
    assert.equal(await page.locator('.hit').count(), 1);
    assert.deepEqual(await page.locator('.lane.ready .card .id')
      .allTextContents(), ['n.2', 'n.1']); /* the title comes first */
    await page.locator('#q').fill('pin');
    await nothing.getByText('No task matches \u201cpin\u201d').waitFor();
    assert.equal(await page.locator('.lane:visible').count(), 0);
    await page.getByRole('button', { name: 'Clear' }).click();
    await cardOf(page, 'ready', 'n.2').waitFor();
    assert.ok(!await nothing.isVisible());
    assert.equal(await page.locator('.hit').count(), 0);
    await page.keyboard.type('needle');
    await hit.waitFor();
    await page.keyboard.press('Enter');
    await page.waitForFunction(() =>
      document.activeElement.matches('.title'));
    await worker.close();
  });

test('a search goes on where the server stopped', LIMIT, async (t) => {
  const { page, worker, go } = await desk(t);
  const steps = Array(200).fill('x'.repeat(1000));
  let parts = 0;

  await worker.tool('create_task', { task_id: 'first', title: 'Plain' });
  await worker.tool('save_checkpoint', { task_id: 'first', agent: 'ann',
    failed_approaches: ['A counter', 'A needle: too sharp'] });
  for (let i = 0; i < 120; i++) { /* 24 MB */
    await worker.tool('create_task', { task_id: `t.${i}`, title: 'Large' });
    await worker.tool('save_checkpoint', { task_id: `t.${i}`, agent: 'ann',
      completed_steps: steps });
  }
  await go();
  await live(page);
  page.on('request', (r) => { parts += /needle/.test(r.postData() ?? ''); });
  await page.locator('#q').fill('needle');
  const hit = cardOf(page, 'prog', 'first').locator('.hit');
  await hit.waitFor();
  assert.equal(await hit.textContent(),
    'failed_approaches: A needle: too sharp');
  assert.ok(parts > 10, `${parts}`);
  await worker.close();
});

test('Tab passes the title before the answers', LIMIT, async (t) => {
  const { page, worker, go } = await desk(t);
  const at = () => page.evaluate(() => document.activeElement.textContent
    || document.activeElement.ariaLabel);
  const tabs = async (n) => {
    const all = [];
    for (; n > 0; n--) {
      await page.keyboard.press('Tab');
      all.push(await at());
    }
    return all;
  };

  for (const n of [1, 2]) {
    await worker.tool('create_task', { task_id: `t.${n}`, title: `Task ${n}` });
    await worker.tool('request_input', { task_id: `t.${n}`, agent: 'ann',
      question: 'Well?' });
  }
  await worker.tool('create_task', { task_id: 't.3', title: 'Task 3' });
  await go();
  await live(page);
  await cardOf(page, 'need', 'Task 2').waitFor();
  await page.keyboard.press('j');
  assert.deepEqual(await tabs(5), ['Your answer', 'Answer', 'Decline', 'Task 2',
    'Your answer']);
  await page.keyboard.press('Shift+Tab');
  await page.keyboard.press('k');
  assert.equal(await at(), 'Task 1');
  assert.equal(await page.locator('.title[tabindex="0"]').count(), 2);
  /* The title of the tab is that of the open task. */
  assert.equal(await page.title(), '(2) mcptask');
  await page.keyboard.press('Enter');
  await page.waitForFunction(() =>
    document.title === '(2) Task 1 - mcptask');
  await page.keyboard.press('Escape');
  await page.waitForFunction(() => document.title === '(2) mcptask');
  await worker.close();
});

test('on a phone, what is touched is large enough', LIMIT, async (t) => {
  const { page, worker, go } = await desk(t);

  await morning(worker);
  await page.setViewportSize({ width: 360, height: 740 });
  await go();
  await live(page);
  await cardOf(page, 'need', 'ui-9').waitFor();
  const small = () => page.evaluate(() =>
    [...document.querySelectorAll('button, input, select, .pick')]
      /* Those of a band reach over their whole entry. */
      .map((el) => el.matches('.band [aria-pressed]') ? el.closest('li') : el)
      .filter((el) => el.offsetParent && el.type !== 'checkbox'
        && (el.offsetHeight < 44 || el.offsetWidth < 40
          || /^(INPUT|SELECT)$/.test(el.tagName)
          && parseFloat(getComputedStyle(el).fontSize) < 16))
      .map((el) => el.outerHTML));
  /* The filters are behind a button. */
  assert.ok(!await page.locator('#owner').isVisible());
  await page.locator('#funnel').click();
  for (const id of ['owner', 'tag', 'repo']) { /* with room for its words */
    if (await page.locator(`#${id}`).isVisible()) {
      assert.ok((await page.locator(`#${id}`).boundingBox()).width > 140);
    }
  }
  await page.locator('#owner').waitFor();
  assert.deepEqual(await small(), []);
  /* All columns are in sight, below, with the number of their tasks. */
  const bar = await page.locator('#tabs').boundingBox();
  assert.equal(Math.round(bar.y + bar.height), 740);
  assert.deepEqual(await page.locator('#tabs button').allTextContents(),
    ['2Needs you', '2Ready', '1In progress', '1Handed over', '2Stuck',
      '1Waiting', '1Done']);
  for (const tab of await page.locator('#tabs button').all()) {
    const { x, width } = await tab.boundingBox();
    assert.ok(x >= 0 && x + width <= 360);
    assert.ok(await tab.evaluate((el) => el.scrollWidth <= el.clientWidth));
  }
  await page.locator('#tabs .stuck').click();
  await cardOf(page, 'stuck', 'ops-2').waitFor();
  await page.getByLabel('Select ops-2').click({ force: true });
  assert.deepEqual(await small(), []);
  await page.locator('#tabs .done').click();
  await cardOf(page, 'done', 'ops-1').locator('.title[tabindex="0"]').waitFor();
  const { start_url, icons } = await page.evaluate(() => JSON.parse(
    decodeURIComponent($('manifest').href.replace(/^[^,]*,/, ''))));
  assert.equal(start_url, `${new URL(page.url()).origin}/`);
  assert.match(icons[0].src, /^data:image\/svg/);
  await worker.close();
});

test('an empty board offers what works', LIMIT, async (t) => {
  const { page, server, worker, go } = await desk(t);

  await page.context().grantPermissions(['clipboard-read', 'clipboard-write']);
  await go();
  await live(page);
  const row = page.locator('#empty li', { hasText: 'Register the server' });
  await row.getByRole('button', { name: 'Copy' }).click();
  await row.getByText('Copied').waitFor();
  assert.equal(await page.evaluate(() => navigator.clipboard.readText()),
    `claude mcp add --transport http mcptask ${server.url('/mcp')}`);
  await page.locator('#empty').getByRole('button', { name: 'New task' }).click();
  await page.locator('#form').getByLabel('Title').fill('Say hello');
  await page.locator('#form .main').click();
  await cardOf(page, 'ready', 'Say hello').waitFor({ timeout: SOON });
  await worker.close();
});

/* The last one: all pages share its clock. */
test('what gets stuck is told while nobody looks', LIMIT, async (t) => {
  const { page, worker, go } = await desk(t);
  const titled = (n, timeout = SOON) => page.waitForFunction((count) =>
    document.title === `(${count}) mcptask`, n, { timeout });

  await page.addInitScript(() => {
    window.notes = [];
    window.Notification = class {
      static permission = 'granted';
      constructor(title, { body }) { notes.push(`${title}: ${body}`); }
    };
    Object.defineProperty(document, 'hidden', { get: () => window.away });
  });
  for (const task_id of ['g.1', 'g.2']) {
    await worker.tool('create_task', { task_id, title: `Task ${task_id}` });
  }
  await worker.tool('claim_task', { task_id: 'g.1', agent: 'ann',
    lease_seconds: 1 });
  await page.clock.install();
  await go();
  await live(page);
  await page.evaluate(() => { window.away = true; });
  await worker.tool('update_task', { task_id: 'g.2', status: 'failed',
    reason: 'no disk' });
  await titled(1);
  assert.equal(await page.evaluate(() => decodeURIComponent($('icon').href)
    .match(/fill="#(\w+)/)[1]), 'b3261e');
  /* The server has to find that the lease is over, too. */
  for (let n = 0; n < 20 && await page.title() !== '(2) mcptask'; n++) {
    await page.clock.fastForward(61000);
    await titled(2, 1000).catch(() => {});
  }
  assert.deepEqual(await page.evaluate(() => [document.title, ...notes]
    .map((s) => s.replace(/expired (just now|.* ago)/, 'expired'))), ['(2) mcptask',
    'Task g.2: failed: no disk',
    'Task g.1: lease expired: the agent may have died']);
  await worker.close();
});
