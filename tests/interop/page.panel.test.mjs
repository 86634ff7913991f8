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
