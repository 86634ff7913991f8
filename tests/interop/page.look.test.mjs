/* How the page looks: compared with stored pictures, checked by axe, and
   printed. */

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import test from 'node:test';

import { browser, cardOf, desk, LIMIT, live, SOON } from './desk.mjs';
import { alike, differs, dressed, morning, split } from './screens.mjs';

const AXE = readFileSync(new URL('node_modules/axe-core/axe.min.js',
  import.meta.url), 'utf8');

/* The findings of axe, one a line. */
async function faults(page) {
  await page.evaluate(AXE);
  const { violations } = await page.evaluate(() =>
    axe.run({ resultTypes: ['violations'] }));

  return violations.flatMap(({ id, nodes }) =>
    nodes.map((n) => `${id}: ${n.html.slice(0, 120)} ${n.any[0]?.message}`));
}

/* Where to go, and what to do there. */
const PLACES = [
  ['board', '', (page) => cardOf(page, 'need', 'ui-9').waitFor()],
  ['task', '#task/db-3', async (page) => {
    await page.locator('.graph li').last().waitFor();
    await page.locator('.time li').last().waitFor();
  }],
  ['inbox', '', async (page) => {
    await page.locator('#bell').click();
    await page.locator('#list li').last().waitFor();
  }],
  ['list', '', async (page) => {
    await page.keyboard.press('v');
    await page.getByLabel('Select api-141').click();
    await page.getByLabel('Select ops-2').click();
    await page.locator('#picks').waitFor();
  }]
];

for (const width of [390, 1024, 1440]) {
  test(`it looks as it did, ${width} wide`, LIMIT, async (t) => {
    const { page, worker, go } = await desk(t);
    const lab = await browser.newPage();
    t.after(() => lab.close());

    await page.clock.setFixedTime(new Date()); /* before all that it shows */
    await morning(worker);
    await split(worker, 'db-3');
    await page.setViewportSize({ width, height: 844 });
    for (const colorScheme of ['light', 'dark']) {
      await page.emulateMedia({ colorScheme, reducedMotion: 'reduce' });
      for (const [name, hash, act] of PLACES) {
        if (name === 'list' && width < 761) { /* a phone has no list */
          continue;
        }
        await go(hash);
        await live(page);
        await dressed(page);
        await act(page);
        const what = `${name}-${width}-${colorScheme}`;
        const part = await differs(lab, page, what);
        t.diagnostic(`${what}: ${(part * 100).toFixed(2)} % differ`);
        assert.ok(alike(part), `${what}: ${part} of the blocks differ`);
        if (width === 1024) {
          assert.deepEqual(await faults(page), [], what);
        }
        await page.evaluate(() => localStorage.clear());
        await page.goto('about:blank');
      }
    }
    /* A missing part is noticed. */
    if (width === 1440) {
      await go('');
      await live(page);
      await cardOf(page, 'need', 'ui-9').waitFor();
      await dressed(page);
      await page.evaluate(() =>
        document.querySelector('.lane.need .ask').remove());
      assert.ok(!alike(await differs(lab, page, 'board-1440-dark', false)));
    }
    await worker.close();
  });
}

test('axe finds nothing in what opens', LIMIT, async (t) => {
  const { page, worker, go } = await desk(t);

  await go();
  await live(page);
  await page.locator('#empty').waitFor();
  assert.equal(await page.locator('#empty pre').count(), 2);
  assert.deepEqual(await faults(page), []);
  await page.emulateMedia({ reducedMotion: 'reduce' });
  await morning(worker);
  await page.locator('#empty').waitFor({ state: 'hidden' });
  for (const key of ['New task', 'Keys']) {
    await page.getByRole('button', { name: key, exact: true }).click();
    await page.locator('#form').waitFor();
    assert.deepEqual(await faults(page), [], key);
    await page.keyboard.press('Escape');
    await page.locator('#form').waitFor({ state: 'hidden' });
  }
  /* It takes links that are scrolled out of sight for those that skip. */
  await page.setViewportSize({ width: 1280, height: 3000 });
  await page.locator('#bell').click();
  await page.locator('#list li').first().waitFor();
  assert.deepEqual(await faults(page), [], 'inbox');
  await page.locator('#feed').click();
  await page.locator('#list', { hasText: 'created it' }).waitFor();
  assert.deepEqual(await faults(page), [], 'activity');
  await page.keyboard.press('Escape');
  for (const [task_id, depends_on] of [['ops-6', []], ['ops-7', ['ops-6']]]) {
    await worker.tool('create_task', { task_id, title: `Part ${task_id}`,
      parent_id: 'db-3', depends_on });
  }
  await page.evaluate(() => { location.hash = '#task/db-3'; });
  await page.locator('.graph li').last().waitFor();
  for (const colorScheme of ['dark', 'light']) {
    await page.emulateMedia({ colorScheme });
    assert.deepEqual(await faults(page), [], `parts, ${colorScheme}`);
  }
  await page.keyboard.press('Escape');
  await page.setViewportSize({ width: 1280, height: 800 });
  await page.getByRole('button', { name: 'List', exact: true }).click();
  assert.deepEqual(await faults(page), [], 'list');
  for (const rows of ['list', 'columns']) {
    await page.getByLabel('Select api-141').click({ force: true });
    await page.locator('#picks').waitFor();
    assert.deepEqual(await faults(page), [], `selection in ${rows}`);
    await page.keyboard.press('Escape');
    await page.locator('#picks').waitFor({ state: 'hidden' });
    await page.keyboard.press('v');
  }
  await page.getByRole('button', { name: 'Waiting' }).click();
  await cardOf(page, 'wait', 'api-142').waitFor();
  assert.deepEqual(await faults(page), [], 'unfolded');

  /* A task with all that it may hold, beside the board, over it, and small. */
  await worker.tool('update_task', { task_id: 'ui-9', agent: 'codex',
    goal: '| a | |\n|---|---|\n| `1` | 2 |\n\n> said\n\n\u05e9\u05dc\u05d5\u05dd.' });
  for (const [name, type, content] of [['a.log', 'log', 'ok\nFAIL: it\n'],
    ['a.diff', 'diff', '--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\n']]) {
    await worker.tool('attach_artifact', { task_id: 'ui-9', agent: 'codex',
      name, type, content });
  }
  await go('#task/ui-9');
  await live(page);
  await page.locator('.time li').last().waitFor();
  for (const name of ['a.log', 'a.diff', 'changed goal']) {
    await page.locator('#body summary', { hasText: name }).click();
  }
  for (const there of ['.hit', '.del', 'ins']) {
    await page.locator(there).first().waitFor();
  }
  for (const [width, colorScheme] of [[1440, 'light'], [1024, 'dark'],
    [390, 'light']]) {
    await page.emulateMedia({ colorScheme });
    await page.setViewportSize({ width, height: 844 });
    assert.deepEqual(await faults(page), [], `${width} ${colorScheme}`);
    assert.ok(await page.locator('#task').evaluate((el) =>
      el.scrollWidth <= el.clientWidth), `${width}`);
  }
  await page.locator('#acts').getByRole('button', { name: 'Message' }).click();
  assert.deepEqual(await faults(page), [], 'a form');
  await worker.close();
});

test('print shows the whole', LIMIT, async (t) => {
  const { page, worker, go } = await desk(t);
  const pages = async () => (await page.pdf({ format: 'A5' })).toString('latin1')
    .match(/\/Type \/Page\b/g).length;
  const hidden = (selector) => page.locator(selector).evaluateAll((all) =>
    all.filter((el) => !el.getClientRects().length).length);

  await Promise.all(Array.from({ length: 90 }, (_, i) =>
    worker.tool('create_task', { task_id: `p.${i}`, title: `Task ${i}` })));
  await morning(worker);
  await go('');
  await live(page);
  await cardOf(page, 'need', 'ui-9').waitFor();
  const [few, many] = await page.evaluate(() => {
    const count = () => document.querySelectorAll('.lane.ready .card').length;
    const before = count();
    dispatchEvent(new Event('beforeprint'));
    return [before, count()];
  });
  assert.deepEqual([few, many], [40, 92]);
  await page.emulateMedia({ media: 'print' });
  assert.equal(await hidden('.card'), 0);
  assert.equal(await page.locator('.lane.done h2').evaluate((el) =>
    getComputedStyle(el).writingMode), 'horizontal-tb');
  assert.equal(await hidden('.reply'), 2); /* nobody writes there */
  const board = await pages();
  assert.ok(board > 3, `${board} pages`);

  await worker.tool('update_task', { task_id: 'docs-7',
    goal: 'A long line\n\n'.repeat(200) });
  await page.evaluate(() => { location.hash = '#task/docs-7'; });
  await page.locator('.time li').last().waitFor();
  assert.equal(await hidden('.card'), await page.locator('.card').count());
  assert.match(await page.locator('.time time').last().evaluate((el) =>
    getComputedStyle(el, '::after').content), /20\d\d/);
  const task = await pages();
  assert.ok(task > 3, `${task} pages`);
  await worker.close();
});

test('long texts leave room for the rest', LIMIT, async (t) => {
  const { page, worker, go } = await desk(t);

  await page.setViewportSize({ width: 390, height: 844 });
  await worker.tool('create_task', { task_id: 'long', title: 'W'.repeat(256),
    goal: 'The goal', repo_path: '/'.padEnd(4000, 'r') });
  await go('#task/long');
  await live(page);
  await page.getByText('The goal').scrollIntoViewIfNeeded();
  await page.getByText('The goal').click({ timeout: SOON });
  await page.getByRole('button', { name: 'Edit', exact: true }).click();
  await page.locator('#form').getByText('More', { exact: true }).click();
  await page.getByLabel('Depends on').fill('q'.repeat(120));
  await page.getByRole('button', { name: 'Save', exact: true }).click();
  await page.locator('#form').getByText('no such task').waitFor();
  assert.ok(await page.locator('#form').evaluate((el) =>
    el.scrollWidth <= el.clientWidth));
  await worker.close();
});
