/* The panel of a task: what it says first, how it shows the texts and files of
   agents, its history, its place beside the board, and its forms. */

import assert from 'node:assert/strict';
import test from 'node:test';

import { desk, LIMIT, live, SOON } from './desk.mjs';

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
    [['TD', 'a | b', ''], ['TD', '', 'right']],
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
