/* Draws docs/page.png and page-dark.png, the pictures of README: what two
   projects need, and who works, at two pixels per point. Not a test:
   node --test pictures.mjs */

import { writeFileSync } from 'node:fs';
import test from 'node:test';

import { cardOf, desk, LIMIT, live } from './desk.mjs';
import { dressed } from './screens.mjs';

const HEIGHT = 672; /* of the window */
const SHOP = { repo_path: '/work/webshop' };
const PAY = { repo_path: '/work/payments' };

/* A task that agent works on, with steps done and left. */
async function works(worker, task_id, agent, title, more, done, left) {
  const { test_results, ...rest } = more;

  await worker.tool('create_task', { task_id, title, ...rest });
  await worker.tool('claim_task', { task_id, agent, lease_seconds: 3600 });
  await worker.tool('save_checkpoint', { task_id, agent, test_results,
    completed_steps: done, remaining_steps: left, resume_prompt: left[0] });
}

const passed = (n) => [{ command: 'make test', exit_code: 0, passed: n }];
const failed = (n) => [{ command: 'make test', exit_code: 1, failed: n }];

async function afternoon(worker) {
  const tool = (name, args) => worker.tool(name, args);

  await tool('create_task', { task_id: 'pay-1180', title: 'Idempotent payments',
    ...PAY });
  const part = { ...PAY, parent_id: 'pay-1180', priority: 1 };
  for (const n of [1181, 1182]) {
    await works(worker, `pay-${n}`, 'claude-code', 'Store the key', part,
      ['Table'], ['Index']);
    await tool('update_task', { task_id: `pay-${n}`, agent: 'claude-code',
      status: 'done', test_results: passed(915) });
  }
  await works(worker, 'pay-1183', 'claude-code',
    'Look up the key before the handler', { ...part, test_results: passed(915) },
    ['Read the router', 'Middleware'], ['Cache', 'Tests', 'Docs']);
  await works(worker, 'pay-1185', 'codex', 'Replay the incident as a test',
    { ...part, priority: 0, test_results: failed(1) },
    ['Record', 'Replay', 'Compare'], ['Race', 'Clean up', 'Docs']);
  await tool('request_input', { task_id: 'pay-1185', agent: 'codex',
    question: 'A retry arrives while the first request is still with the '
      + 'acquirer. Should it **wait**, or get `409 Conflict`?',
    options: ['Wait up to 3 s', '409 with Retry-After'] });
  await tool('create_task', { task_id: 'pay-1186', title: 'Expire old keys',
    ...part, depends_on: ['pay-1183'] });
  await works(worker, 'infra-77', 'hermes', 'Postgres 16 on production',
    { ...PAY, priority: 1 }, ['Staging', 'Backup', 'Replica'], ['Switch over']);
  await tool('request_input', { task_id: 'infra-77', agent: 'hermes',
    kind: 'approval', question: 'Switch **production** on Sunday, 06:00?' });
  await works(worker, 'web-305', 'gemini-cli', 'Upgrade React 18 to 19',
    { ...SHOP, test_results: passed(1284) }, ['Types', 'Router'], ['Forms']);
  for (const [id, title, more] of [
    ['web-302', 'Confirm page for screen readers', SHOP],
    ['pay-1190', 'Return the decline code of the issuer', PAY],
    ['web-303', 'Mirror the card form', SHOP]]) {
    await tool('create_task', { task_id: id, title, priority: 1, ...more });
  }
}

test('pictures of README', LIMIT, async (t) => {
  const { page, worker, go } = await desk(t);

  await afternoon(worker);
  await page.clock.setFixedTime(Date.now() + 4 * 60e3);
  await page.setViewportSize({ width: 1280, height: HEIGHT });
  const cdp = await page.context().newCDPSession(page);
  for (const [colorScheme, name] of [['light', 'page'], ['dark', 'page-dark']]) {
    await page.emulateMedia({ colorScheme, reducedMotion: 'reduce' });
    await go('');
    await live(page);
    await dressed(page);
    await page.mouse.move(0, 0);
    const last = await cardOf(page, 'prog', 'web-305').boundingBox();
    const bar = await page.locator('header').first().boundingBox();
    const y = bar.y + bar.height - 8;
    const width = last.x + last.width + 16;
    /* The strip ends with the picture, as in a window of that width. */
    await page.locator('#crew').evaluate((el, w) => { el.style.width = `${w}px`; },
      width);
    const { data } = await cdp.send('Page.captureScreenshot', { clip: { x: 0, y,
      width, height: HEIGHT - y, scale: 2 } });
    writeFileSync(new URL(`../../docs/${name}.png`, import.meta.url),
      Buffer.from(data, 'base64'));
  }
});
