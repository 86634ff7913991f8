/* The panel of a task: what it says first, how it shows the texts and files of
   agents, its history, its place beside the board, and its forms. */

import assert from 'node:assert/strict';
import test from 'node:test';

import { cardOf, desk, LIMIT, live, SOON } from './desk.mjs';

/* A desk with one task open. */
async function opened(t, task, options) {
  const all = await desk(t, options);

  await all.worker.tool('create_task', task);
  await all.go(`#task/${task.task_id}`);
  await live(all.page);
  await all.page.locator('.time li').last().waitFor();
  return all;
}

test('tables and quotes are drawn, and hold text alone', LIMIT, async (t) => {
  const goal = ['Before', '| case | `a` |', '|:--|--:|',
    '| <b>x</b> | **1** |', '| a \\| b |', 'one more | row', '', '| not | one |',
    '> said <i>so</i>', '> > again', '', 'x | y', '--- | ---', '1 | 2', '',
    `${'>'.repeat(3000)} deep`].join('\n');
  const { page, worker } = await opened(t, { task_id: 't.1', title: 'Texts',
    goal });
  const text = page.locator('#body .text').first();
  const tables = await text.locator('table').evaluateAll((all) => all.map((el) =>
    [...el.rows].map((row) => [...row.cells].map((c) =>
      [c.tagName, c.textContent, c.style.textAlign]))));

  assert.deepEqual(tables[0], [
    [['TH', 'case', ''], ['TH', 'a', 'right']],
    [['TD', '<b>x</b>', ''], ['TD', '1', 'right']],
    [['TD', 'a | b', '']],
    [['TD', 'one more', ''], ['TD', 'row', 'right']]]);
  assert.deepEqual(tables[1].map((row) => row.map(([, s]) => s)),
    [['x', 'y'], ['1', '2']]);
  await text.locator('td b', { hasText: '1' }).waitFor();
  await text.locator('p', { hasText: '| not | one |' }).waitFor();
  assert.deepEqual(await text.locator('> blockquote').first().evaluate((el) =>
    [el.firstChild.textContent, el.querySelector('blockquote').textContent]),
  ['said <i>so</i>', 'again']);
  await text.getByText('> deep').waitFor();
  assert.equal(await page.locator('#body :is(i, td b b)').count(), 0);
  await worker.close();
});

/* Where the ink of a text begins and ends in its block. */
const ink = (el) => {
  const range = document.createRange();
  range.selectNodeContents(el);
  const [text, box] = [range, el].map((x) => x.getBoundingClientRect());
  return [text.left - box.left > 40, box.right - text.right > 40];
};

test('right to left is laid out so', LIMIT, async (t) => {
  const { page, worker } = await opened(t, { task_id: 't.2', title: 'Sides',
    goal: ['\u05e9\u05dc\u05d5\u05dd.', '', '- \u05d0\u05d7\u05d3.', '',
      '> \u0645\u0631\u062d\u0628\u0627.', '', 'Hello.', '', '- One.'].join('\n'),
    acceptance: ['\u05e1\u05d5\u05e3.'] });
  const at = (selector, n) => page.locator('#body .text').first()
    .locator(selector).nth(n).evaluate(ink);

  assert.deepEqual(await at('> p', 0), [true, false], 'Hebrew');
  assert.deepEqual(await at('blockquote p', 0), [true, false], 'Arabic');
  assert.deepEqual(await at('> p', 1), [false, true], 'English');
  for (const [ul, side] of [[0, 'rtl'], [1, 'ltr']]) {
    assert.equal(await page.locator('#body .text ul').nth(ul).evaluate((el) =>
      getComputedStyle(el).direction), side);
  }
  assert.equal(await page.getByText('\u05e1\u05d5\u05e3.').evaluate((el) =>
    getComputedStyle(el).direction), 'rtl');
  await worker.close();
});

/* What a text shows at the top of its own scroller. */
const seen = (el) => [...el.children].find((line) =>
  line.offsetTop + line.offsetHeight > el.scrollTop)?.textContent;

test('a log opens at its first failure', LIMIT, async (t) => {
  const { page, worker } = await opened(t, { task_id: 'l.1', title: 'Logs' });
  const log = page.locator('pre.log').first();
  const find = page.getByLabel('Find in log');
  const attach = (name, all) => worker.tool('attach_artifact',
    { task_id: 'l.1', name, type: 'log', content: all.join('\n') });
  const rows = () => log.locator('span').evaluateAll((all) => all.map((el) =>
    [el.dataset.n, el.textContent, el.className]));

  /* Far behind the first piece; the lines before it tell of no failure. */
  const all = Array.from({ length: 6000 }, (_, i) => `case ${i} ok`);
  all[10] = 'ERRORS: 0, 0 FAILED';
  all[11] = 'the FAILover works';
  all[4321] = '\x1b[31m--- FAIL\x1b[0m: TestReplay';
  all[5000] = 'panic: later';
  await attach('long.log', all);
  await page.locator('summary', { hasText: 'long.log' }).click();
  const hit = log.locator('.hit');
  await hit.waitFor({ timeout: SOON });
  assert.deepEqual(await hit.evaluate((el) =>
    [el.dataset.n, el.textContent]), ['4322', '--- FAIL: TestReplay\n']);
  assert.match(await log.evaluate(seen), /^case 43[01]\d ok\n$/);
  assert.equal((await rows()).findIndex(([n], i) => Number(n) !== i + 1), -1);

  /* Lines that match stand with their numbers between those around them. */
  await find.fill('case 77 ok');
  await find.press('Enter');
  await page.waitForFunction(() => document.querySelector('pre.log')
    .childElementCount === 7);
  assert.deepEqual((await rows())[3], ['78', 'case 77 ok\n', 'hit']);
  await find.fill('case 1');
  await page.getByRole('button', { name: 'Find', exact: true }).click();
  await log.locator('span', { hasText: '\u22ef' }).first().waitFor();
  await find.fill('no such line');
  await find.press('Enter');
  await log.getByText('No line contains \u201cno such line\u201d.').waitFor();
  await page.getByRole('button', { name: 'First failure' }).click();
  await hit.waitFor();
  assert.match(await log.evaluate(seen), /^case 43[01]\d ok\n$/);
  await find.fill('');
  await find.press('Enter');
  await page.waitForFunction(() => document.querySelector('pre.log')
    .firstChild.textContent === 'case 0 ok\n');

  /* One without a failure offers no way there. */
  await attach('good.log', ['all is well', '0 failed']);
  await page.locator('summary', { hasText: 'good.log' }).click();
  await page.locator('pre', { hasText: 'all is well' }).waitFor();
  assert.equal(await page.getByRole('button', { name: 'First failure' })
    .and(page.locator(':visible')).count(), 1);
  await worker.close();
});

test('a diff is folded by files, and numbered', LIMIT, async (t) => {
  const { page, worker } = await opened(t, { task_id: 'l.2', title: 'Diffs' });
  const content = ['diff --git a/src/a.c b/src/a.c', 'index 1..2 100644',
    '--- a/src/a.c', '+++ b/src/a.c', '@@ -10,4 +10,5 @@ int a(void)', ' a',
    '--- b', '+++ c', '+d', ' e', '', '@@ -40,2 +41,1 @@', ' x', '-y',
    '\\ No newline at end of file',
    'diff --git a/old name b/old name', 'deleted file mode 100644',
    '--- a/old name', '+++ /dev/null', '@@ -1 +0,0 @@', '-z',
    /* A hunk that says it is longer than it is. */
    '--- one\t2026-11-27', '+++ two\t2026-11-27', '@@ -1,9 +1,9 @@', '-1',
    'diff --git a/b/c b/b/c', 'Binary files differ'].join('\n');

  await worker.tool('attach_artifact', { task_id: 'l.2', name: 'all.diff',
    type: 'diff', content });
  await worker.tool('attach_artifact', { task_id: 'l.2', name: 'bare.diff',
    type: 'diff', content: '+more\n-less\n' });
  for (const name of ['all', 'bare']) {
    await page.locator('summary', { hasText: `${name}.diff` }).click();
  }
  const files = page.locator('details.file');
  await files.nth(3).waitFor();
  assert.deepEqual(await files.locator('summary').allTextContents(),
    ['src/a.c+2 -2', 'old name+0 -1', 'two+0 -1', 'b/c']);
  assert.deepEqual(await files.first().locator('span[data-o], span[data-n]')
    .evaluateAll((all) => all.map((el) =>
      [el.dataset.o, el.dataset.n, el.textContent, el.className])),
  [['10', '10', ' a', ''], ['11', undefined, '--- b', 'del'],
    [undefined, '11', '+++ c', 'add'], [undefined, '12', '+d', 'add'],
    ['12', '13', ' e', ''], ['13', '14', '', ''], ['40', '41', ' x', ''],
    ['41', undefined, '-y', 'del']]);
  await files.first().locator('summary').click();
  assert.ok(!await files.first().locator('pre').isVisible());
  assert.deepEqual(await page.locator('pre.diff').last().locator('span')
    .evaluateAll((all) => all.map((el) => [el.className, el.textContent])),
  [['add', '+more'], ['del', '-less']]);
  await worker.close();
});

/* ---- the panel ---- */

const now = (page, text) => page.waitForFunction((s) =>
  new RegExp(s).test(document.getElementById('now').textContent),
text.source, { timeout: SOON }).catch(async () =>
  assert.match(await page.locator('#now').textContent(), text));

test('a task says first what it waits for', LIMIT, async (t) => {
  const { page, worker, other } = await opened(t,
    { task_id: 'n.1', title: 'Now' });
  const call = (name, more) => worker.tool(name, { task_id: 'n.1', ...more });
  const bob = await other();
  const answer = (more) => bob.tool('update_task', { task_id: 'n.1', ...more });
  const at = '\\d\\d:\\d\\d( [AP]M)?';

  await now(page, /^Ready\. Any agent may claim it\.$/);
  await worker.tool('create_task', { task_id: 'n.0', title: 'Before' });
  await call('update_task', { depends_on: ['n.0'] });
  await now(page, /^Waits for n\.0: Before\.$/);
  await call('update_task', { depends_on: [],
    not_before: '2999-01-01T00:00:00Z' });
  await now(page, /^From .*2998|^From .*2999/);
  await call('update_task', { clear: ['not_before'] });
  await call('claim_task', { agent: 'alice' });
  await now(page, new RegExp(`^alice is working on it and holds it until ${at}\\.$`));
  await call('update_task', { cancel_requested: { reason: 'wrong branch' } });
  await now(page, /asked to stop: wrong branch\.$/);
  await call('request_input', { agent: 'alice', question: 'Which?' });
  await now(page, new RegExp('^Waits for you, asked just now\\. '
    + `alice holds it until ${at}\\. `));
  await answer({ answer: { text: 'This' }, agent: 'bob' });
  await call('request_input', { agent: 'alice', question: 'And?', to: 'carol' });
  await now(page, /^Waits for carol, asked just now\./);
  await answer({ answer: { text: 'That' }, agent: 'carol' });
  await call('handoff_task', { from_agent: 'alice', reason: 'lunch' });
  await now(page, /^alice handed it over to any agent just now\./);
  await page.getByRole('heading', { name: 'Handoff' }).waitFor();
  await call('claim_task', { agent: 'dave' });
  await call('mark_exhausted', { agent: 'dave', reason: 'quota' });
  await now(page, /^dave stopped just now\. Any agent may claim it\./);
  await page.getByRole('heading', { name: 'Why the agent stopped' }).waitFor();
  await page.locator('.time li', { hasText:
    /^dave stopped \(quota, context or time\) / }).waitFor();
  await call('update_task', { status: 'failed', reason: 'no disk',
    result: 'Nothing' });
  await now(page, /^Failed just now: no disk/);
  assert.deepEqual(await page.locator('#body h3:visible').allTextContents(),
    ['Result', 'Questions', 'History']);
  await page.evaluate(() => { location.hash = '#task/n.none'; });
  await page.locator('#facts').getByText('no such task "n.none"').waitFor();
  assert.deepEqual(await page.locator('#body h3:visible').allTextContents(), []);
  assert.equal(await page.locator('#now').textContent(), '');
  await bob.close();
  await worker.close();
});

test('a task stands beside the board, or over it', LIMIT, async (t) => {
  const { page, worker } = await opened(t, { task_id: 'w.1', title: 'One' });
  const modal = () => page.locator('#task').evaluate((el) =>
    el.matches(':modal'));
  const open = (is) => page.waitForFunction((want) =>
    document.getElementById('task').open === want, is, { timeout: SOON });

  await worker.tool('create_task', { task_id: 'w.2', title: 'Two' });
  await worker.tool('request_input', { task_id: 'w.1', agent: 'alice',
    question: 'Which?' });
  await page.setViewportSize({ width: 1200, height: 800 });
  assert.equal(await modal(), false);
  const card = cardOf(page, 'need', 'One');
  assert.equal(await card.getAttribute('aria-current'), 'true');
  /* Nothing of the board is behind it. */
  const [left, right] = await page.evaluate(() =>
    [document.getElementById('task').getBoundingClientRect().left,
      Math.max(...[...document.querySelectorAll('header, main')].map((el) =>
        el.getBoundingClientRect().right))]);
  assert.ok(right <= left, `${right} > ${left}`);
  /* The board is used meanwhile. */
  await cardOf(page, 'ready', 'Two').locator('.title').click();
  await page.getByRole('heading', { name: 'Two', level: 2 }).waitFor();
  assert.equal(await card.getAttribute('aria-current'), null);
  await page.keyboard.press('/');
  await page.keyboard.type('two');
  await page.waitForFunction(() => document.activeElement.id === 'q'
    && document.querySelectorAll('.card').length === 1);
  await page.keyboard.press('Escape');
  await page.locator('#name').focus();
  await page.keyboard.press('Escape');
  await open(false);
  await page.waitForFunction(() => document.activeElement.matches('.title')
    && document.activeElement.textContent === 'Two');

  /* A window that becomes too narrow for both puts it over the board. */
  await page.keyboard.press('Enter');
  await open(true);
  await page.locator('#acts').getByRole('button', { name: 'Message' }).click();
  await page.keyboard.type('half');
  await page.setViewportSize({ width: 1199, height: 800 });
  await page.waitForFunction(() =>
    document.getElementById('task').matches(':modal'));
  await page.keyboard.type(' way');
  assert.equal(await page.locator('#form textarea').inputValue(), 'half way');
  await page.keyboard.press('Escape');
  await page.locator('#form').waitFor({ state: 'hidden' });
  assert.equal(await page.locator('#body').evaluate(() => view.id), 'w.2');
  await page.locator('#acts').getByRole('button', { name: 'Close' }).waitFor();
  await page.getByRole('button', { name: 'Back to the board' }).click();
  await open(false);

  /* The answer stands in its box as it does on a card. */
  await page.setViewportSize({ width: 1440, height: 800 });
  await card.locator('.title').click();
  const box = page.locator('#body .ask');
  await box.waitFor();
  const [outer, inner, above] = await Promise.all([box, box.locator('input'),
    box.locator('.when')].map((el) => el.boundingBox()));
  assert.equal(inner.x - outer.x, 8);
  assert.ok(inner.y - above.y - above.height < 12);
  await worker.close();
});

test('j and k go through a column, Back leaves it', LIMIT, async (t) => {
  const { page, worker, go } = await desk(t);
  const shown = (title) => page.locator('#name', { hasText: title })
    .waitFor({ timeout: SOON });
  const titled = (title) => page.waitForFunction((s) => document.title === s,
    title, { timeout: SOON });
  const entries = () => page.evaluate(() => history.length);

  for (let n = 1; n < 5; n++) {
    await worker.tool('create_task', { task_id: `j.${n}`, title: `Task ${n}` });
  }
  await go('?tag=');
  await live(page);
  await cardOf(page, 'ready', 'Task 4').waitFor();
  const before = await entries();
  await cardOf(page, 'ready', 'Task 1').locator('.title').click();
  await shown('Task 1');
  await titled('Task 1 - mcptask');
  assert.ok(await page.getByRole('button', { name: 'Previous task' })
    .isDisabled());
  for (const [key, title] of [['k', 'Task 1'], ['j', 'Task 2'], ['j', 'Task 3'],
    ['k', 'Task 2']]) {
    await page.keyboard.press(key);
    await shown(title);
  }
  assert.match(page.url(), /#task\/j\.2$/);
  /* One that left the column leaves its place to the next. */
  await worker.tool('claim_task', { task_id: 'j.2', agent: 'alice' });
  await cardOf(page, 'prog', 'Task 2').waitFor({ timeout: SOON });
  await page.keyboard.press('j');
  await shown('Task 3');
  await page.getByRole('button', { name: 'Next task' }).click();
  await shown('Task 4');
  await page.keyboard.press('j');
  await titled('Task 4 - mcptask');
  assert.equal(await entries(), before + 1);
  await page.goBack();
  await titled('mcptask');
  assert.ok(!await page.locator('#task').isVisible());

  /* However many are opened and closed, they leave one entry. */
  for (const title of ['Task 1', 'Task 3', 'Task 4', 'Task 1']) {
    await cardOf(page, 'ready', title).locator('.title').click();
    await titled(`${title} - mcptask`);
    await page.keyboard.press('Escape');
    await titled('mcptask');
  }
  assert.equal(await entries(), before + 1);

  /* A letter that is typed is no key, and a name may hold any character. */
  await worker.tool('create_task', { task_id: 'j.5', title: 'Task 5' });
  await cardOf(page, 'ready', 'Task 4').locator('.title').focus();
  await page.keyboard.press('Enter');
  await shown('Task 4');
  await page.locator('#acts').getByRole('button', { name: 'Message' }).click();
  await page.keyboard.type('jkjk');
  await page.keyboard.press('Escape');
  await shown('Task 4');
  await worker.close();
});

test('the history names what was said and changed', LIMIT, async (t) => {
  const { page, worker, other } = await opened(t,
    { task_id: 'h.1', title: 'Past' });
  const bob = await other();
  const call = (name, more) => worker.tool(name,
    { task_id: 'h.1', agent: 'alice', ...more });
  const row = (text) => page.locator('.time li', { hasText: text });
  const asked = [];

  await call('save_checkpoint', { completed_steps: ['Read'],
    remaining_steps: ['Write', 'Test'], commit: 'aa11bb22' });
  await call('save_checkpoint', { completed_steps: ['Read', 'Write', 'Test'],
    remaining_steps: [], commit: '0c4411f', decisions: ['<b>Less</b>'],
    test_results: [{ command: 'make test', exit_code: 1, passed: 899,
      failed: 1 }], notes: 'half done' });
  await call('attach_artifact', { name: 'a.log', content: 'x' });
  await call('request_input', { question: 'Which one?', options: ['A', 'B'] });
  await bob.tool('update_task', { task_id: 'h.1', agent: 'bob',
    answer: { text: 'B' } });
  await worker.tool('update_task', { task_id: 'h.1', agent: 'bob',
    message: 'Mind the gap' });
  await call('update_task', { goal: 'One\nTwo', priority: 1 });
  await call('update_task', { goal: 'One\nThree' });
  await page.locator('.time li').nth(8).waitFor({ timeout: SOON });
  for (const text of [/^alice asked: \u201cWhich one\?\u201d /,
    /^bob answered \u201cWhich one\?\u201d: \u201cB\u201d /, /^alice attached a\.log /,
    /^bob left a message: \u201cMind the gap\u201d /]) {
    await row(text).waitFor();
  }
  /* Both states are read when it is opened, and only then. */
  page.on('request', (r) => asked.push(r.postDataJSON()?.params.arguments));
  const open = async (li, lines) => {
    await li.locator('summary').click();
    await li.locator('dd').first().waitFor({ timeout: SOON });
    assert.deepEqual(await li.locator('dl').evaluate((el) =>
      [...el.querySelectorAll('dt, ins, del')].map((x) =>
        `${x.tagName} ${x.textContent}`)), lines);
  };
  const last = row('half done');
  await open(last, ['DT steps done', 'INS Write', 'INS Test', 'DT decisions',
    'INS <b>Less</b>', 'DT commit', 'DEL aa11bb22', 'INS 0c4411f', 'DT tests',
    'INS make test: exit 1, 899 passed, 1 failed']);
  await last.getByText('+2 steps done, tests 899/1, commit 0c4411f').waitFor();
  assert.deepEqual(asked.map((x) => x?.version).filter(Boolean).sort(),
    [2, 3]);
  await open(row('changed goal').first(), ['DT goal', 'DEL Two', 'INS Three']);
  await bob.close();
  await worker.close();
});

/* ---- forms ---- */

test('a new task has what agents need', LIMIT, async (t) => {
  const { page, worker, go } = await desk(t);
  const form = page.locator('#form');
  const field = (label) => form.getByLabel(label, { exact: true });
  const offered = (label) => field(label).evaluate((el) =>
    [...el.list.options].map((o) => [o.value, o.label]));

  await worker.tool('create_task', { task_id: 'f.1', title: 'Epic',
    tags: ['red', 'blue'], repo_path: '/src/a', current_owner: 'alice' });
  await worker.tool('create_task', { task_id: 'f.2', title: 'Ended' });
  await worker.tool('update_task', { task_id: 'f.2', agent: 'alice',
    status: 'done' });
  await go();
  await live(page);
  await cardOf(page, 'ready', 'Epic').waitFor();
  await page.keyboard.press('c');
  await field('Title').fill('Part');
  await field('Acceptance (one per line)').fill('It works, mostly\n\n It is fast ');
  await field('Owner').focus();
  assert.deepEqual(await offered('Owner'), [['alice', '']]);
  await field('Tags (comma-separated)').fill('green, b');
  assert.deepEqual(await offered('Tags (comma-separated)'),
    [['green, blue', '']]);
  await field('Part of (task id)').fill('F.');
  assert.deepEqual(await offered('Part of (task id)'), [['f.1', 'Epic']]);
  await field('Part of (task id)').fill('f.1');
  await field('Repository (a path)').focus();
  assert.deepEqual(await offered('Repository (a path)'),
    [['/src/a', '']]);
  await field('Repository (a path)').fill('/src/b');
  const depends = field('Depends on (task ids, comma-separated)');
  assert.ok(!await depends.isVisible());
  await form.getByText('More', { exact: true }).click();
  await depends.fill('f.2');
  await form.getByRole('button', { name: 'Create' }).click();
  await page.locator('.title', { hasText: /^Part$/ }).click();
  const { tasks } = await worker.tool('list_tasks', { parent_id: 'f.1' });
  const made = await worker.tool('get_task', { task_id: tasks[0].task_id });
  assert.deepEqual([made.acceptance, made.repo_path, made.depends_on,
    made.tags], [['It works, mostly', 'It is fast'], '/src/b', ['f.2'],
    ['green', 'b']]);

  /* What is folded and has a value is open. A list can be changed by a line. */
  await page.locator('#acts').getByRole('button', { name: 'Edit' }).click();
  assert.equal(await depends.inputValue(), 'f.2');
  assert.ok(await depends.isVisible());
  await field('Acceptance (one per line)').fill('It works, mostly');
  await field('Part of (task id)').fill('');
  await form.getByRole('button', { name: 'Save' }).click();
  await form.waitFor({ state: 'hidden' });
  const { acceptance, parent_id } = await worker.tool('get_task',
    { task_id: made.task_id });
  assert.deepEqual([acceptance, parent_id], [['It works, mostly'], undefined]);
  await worker.close();
});

test('several lines make a task each, or none', LIMIT, async (t) => {
  const { page, worker, go } = await desk(t);
  const form = page.locator('#form');
  const title = form.getByLabel('Title', { exact: true });
  const epic = form.getByLabel('Part of (task id)');
  const parts = async () => (await worker.tool('list_tasks',
    { parent_id: 'p.1' })).tasks.map((x) => x.title).sort();

  await worker.tool('create_task', { task_id: 'p.1', title: 'Epic' });
  await go();
  await live(page);
  await cardOf(page, 'ready', 'Epic').waitFor();
  await page.keyboard.press('c');
  await title.fill('- First\n\n* [ ] Second');
  await title.press('Shift+Enter');
  await title.pressSequentially('3. Third');
  await epic.fill('no such task');
  await form.getByRole('button', { name: 'Create 3 tasks' }).click();
  await form.getByRole('alert').getByText('parent_id').waitFor();
  assert.deepEqual(await parts(), []);
  await epic.fill('p.1');
  await title.press('Enter');
  await form.waitFor({ state: 'hidden' });
  assert.deepEqual(await parts(), ['First', 'Second', 'Third']);
  const toast = page.locator('#toast');
  await toast.getByText('Created 3 tasks').waitFor();
  await toast.getByRole('button', { name: 'Undo' }).click();
  await toast.getByText('Undone').waitFor();
  assert.deepEqual(await parts(), []);

  /* A mark of a list is a part of a title that is alone. */
  await page.keyboard.press('c');
  await title.fill('- One');
  await form.getByRole('button', { name: 'Create', exact: true }).click();
  await page.locator('.title', { hasText: /^- One$/ }).waitFor();
  await worker.close();
});

/* Enter in its only field must not end a task. */
test('a task is closed by one of three buttons', LIMIT, async (t) => {
  const { page, worker } = await opened(t, { task_id: 'f.3', title: 'Ends' });
  const form = page.locator('#form');
  const status = async () => (await worker.tool('get_task',
    { task_id: 'f.3' })).status;

  await page.locator('#acts').getByRole('button', { name: 'Close' }).click();
  assert.deepEqual(await form.getByRole('button').allTextContents(),
    ['Done', 'Failed', 'Cancelled', 'Keep open']);
  await form.getByLabel('Reason').fill('no longer wanted');
  await form.getByLabel('Reason').press('Enter');
  assert.ok(await form.isVisible());
  await form.getByRole('button', { name: 'Keep open' }).click();
  assert.equal(await status(), 'open');
  await page.locator('#acts').getByRole('button', { name: 'Close' }).click();
  await form.getByRole('button', { name: 'Cancelled' }).click();
  await page.locator('#toast', { hasText: 'Closed as cancelled' }).waitFor();
  assert.equal(await status(), 'cancelled');
  await worker.close();
});
