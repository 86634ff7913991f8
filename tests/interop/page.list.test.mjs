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
  await page.clock.setFixedTime(Date.now() + 73 * 3600000);
  await page.evaluate(() => drawNow());
  await cardOf(page, 'done', 'failed: no disk').waitFor();
  await worker.close();
});

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
    .map((s) => s.replace(/expired .* ago/, 'expired'))), ['(2) mcptask',
    'Task g.2: failed: no disk',
    'Task g.1: lease expired: the agent may have died']);
  await worker.close();
});
