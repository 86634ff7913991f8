/* What the page tells, and what that costs: requests, the address, notices
   while nobody looks, cards and texts. */

import assert from 'node:assert/strict';
import test from 'node:test';

import { browser, cardOf, desk, LIMIT, live, SOON, timed, tokens, unfold }
  from './desk.mjs';
import { morning } from './screens.mjs';

/* The requests of the page from now on, by name. */
function requests(page) {
  const all = [];

  page.on('request', (r) => {
    const { method, params } = r.method() === 'POST' ? r.postDataJSON() : {};
    all.push(params?.name ?? method ?? 'page');
  });
  return all;
}

test('sixty tasks take four requests', LIMIT, async (t) => {
  const { page, worker, go } = await desk(t);
  const asked = requests(page);

  await morning(worker);
  for (let i = 10; i < 60; i++) {
    const task_id = `more-${i}`;
    await worker.tool('create_task', { task_id, title: `Another task, ${i}`,
      tags: ['more', 'of-it'], repo_path: '/home/somebody/work/project' });
    if (i % 3 === 0) {
      await worker.tool('claim_task', { task_id, agent: 'claude-code' });
    }
    if (i % 5 === 0) {
      await worker.tool('request_input', { task_id, agent: 'claude-code',
        question: 'Which of the ways that were tried is to be gone on with?' });
    }
  }
  await go();
  await live(page);
  await cardOf(page, 'hand', 'claude-code -> hermes: context full').waitFor();
  await cardOf(page, 'prog', '48 passed').waitFor();
  await cardOf(page, 'need', 'Which of the ways').first().waitFor();
  assert.equal(await page.evaluate(() => T.size), 60);
  t.diagnostic(asked.join(', '));
  /* And one for each agent at work. */
  assert.equal(await page.locator('#crew li').count(), 3);
  assert.ok(asked.length <= 4 + 3, asked.join(', '));
  assert.ok(asked.filter((x) => x !== 'get_task').length <= 4, asked.join(', '));
  asked.length = 0;
  await worker.tool('update_task', { task_id: 'db-3', priority: 1 });
  await cardOf(page, 'ready', 'P1').waitFor({ timeout: SOON });
  assert.deepEqual(asked, ['list_tasks']);
  await worker.close();
});

test('a card says why it is where it is', LIMIT, async (t) => {
  const { page, worker, go } = await desk(t);
  const why = (lane, id) => cardOf(page, lane, id).locator('.why');
  const says = async (lane, id, text) =>
    assert.match(await why(lane, id).textContent(), text);

  await morning(worker);
  await go();
  await live(page);
  await says('hand', 'ops-4', /^claude-code -> hermes: context full$/);
  await says('stuck', 'ops-5', /^codex stopped: quota until noon$/);
  await says('wait', 'api-142',
    /^waits for api-141: Limit requests per token$/);
  assert.match(await cardOf(page, 'prog', 'api-141').textContent(),
    /^P0api-141\d+ sLimit requests per tokenclaude-code2\/3✓ 48 passedapi$/);
  await says('stuck', 'ops-2', /^failed: no gain$/);
  await worker.tool('update_task', { task_id: 'api-141', agent: 'claude-code',
    status: 'cancelled', reason: 'no longer wanted' });
  await page.getByText('blocked by api-141 (cancelled): Limit').waitFor();
  await worker.close();
});

test('texts are shown as they were meant', LIMIT, async (t) => {
  const { page, worker, go } = await desk(t);
  const body = page.locator('#body');
  const has = (selector, hasText) =>
    body.locator(selector, { hasText }).first().waitFor({ timeout: SOON });

  await worker.tool('create_task', { task_id: 'm.0', title: 'Before' });
  await worker.tool('create_task', { task_id: 'm.1', title: 'Marked',
    depends_on: ['m.0'], goal: '# Head\nfirst line\nsecond `code` **strong** '
      + '<i>x</i>\n- [x] ticked\n- [ ] open\n* item\n\n```c\nint x;\n\ny\n```\nend '
      + '[link](javascript:alert(1)) 2 * 3 * 4\n\n'
      + '3. see [the `docs`](https://example.com/a?b=(c))\n4. https://x.test/<i>.\n'
      + '- http://y.test/z, "https://"' });
  await worker.tool('save_checkpoint', { task_id: 'm.1', agent: 'alice',
    completed_steps: [], remaining_steps: [], decisions: [],
    test_results: [], notes: 'half **done**' });
  await go('#task/m.1');
  await live(page);
  await has('h4', /^Head$/);
  await has('p', /^first line\nsecond code strong <i>x<\/i>$/);
  await has('code', /^code$/);
  await has('b', /^strong$/);
  await has('li.x', /^ticked$/);
  await has('li.o', /^open$/);
  await has('li', /^item$/);
  await has('pre', /^int x;\n\ny\n$/);
  await has('p', /^end \[link\]\(javascript:alert\(1\)\) 2 \* 3 \* 4$/);
  await has('ol li[value="3"]', /^see the `docs`\)$/);
  await has('ol li[value="4"]', /^https:\/\/x\.test\/<i>\.$/);
  await has('ol + ul li', /^http:\/\/y\.test\/z, "https:\/\/"$/);
  assert.deepEqual(await body.locator('.text a').evaluateAll((all) =>
    all.map((a) => [a.getAttribute('href'), a.rel])),
  ['https://example.com/a?b=(c', 'https://x.test/', 'http://y.test/z']
    .map((to) => [to, 'noopener']));
  assert.equal(await body.locator('i, a[href^=javascript]').count(), 0);
  /* No count of nothing; the end of the agent's name may look like one. */
  assert.doesNotMatch((await body.textContent()).replace(/interop-\w+/g, ''),
    /(^|[^.\d])0([^. \d]|$)/);
  assert.match(await page.evaluate(() => h('div', checkpoint({ checkpoint:
    { agent: 'a', at: '2026-07-28T09:30:00Z', worktree: '/srv/api-2' } }))
    .textContent), /^Checkpointby a, .*, in \/srv\/api-2$/);
  await has('.time li', /^alice saved a checkpoint .*half done$/);
  await has('.time li', /^\S+ created it/);
  await body.getByRole('link', { name: 'm.0: Before' }).click();
  await page.getByRole('heading', { name: 'Before' }).waitFor();
  await page.goBack();
  await page.getByRole('heading', { name: 'Marked' }).waitFor();
  await worker.close();
});

test('filters stand in the address', LIMIT, async (t) => {
  const { page, worker, go } = await desk(t);
  const cards = (n) => page.waitForFunction((count) =>
    document.querySelectorAll('.card').length === count, n);

  await morning(worker);
  await go();
  await live(page);
  await page.getByLabel('Tag').selectOption('api');
  await page.keyboard.press('/');
  await page.keyboard.type('limit');
  await cards(1);
  await page.waitForURL(/\/\?q=limit&tag=api$/);
  await page.keyboard.press('Enter');
  await page.keyboard.press('Enter');
  await page.waitForURL(/\/\?q=limit&tag=api#task\/api-141$/);
  await page.reload();
  await live(page);
  await cards(1);
  await page.keyboard.press('Escape');
  assert.deepEqual(await page.evaluate(() => [$('q').value, $('tag').value]),
    ['limit', 'api']);
  await page.getByRole('button', { name: 'Clear' }).click();
  await cards(10);
  await page.waitForURL(/:\d+\/#?$/);
  /* j and k, from anywhere. */
  const at = () => page.evaluate(() => document.activeElement.textContent);
  await page.locator('#board').focus();
  await page.keyboard.press('j');
  const first = await at();
  await page.keyboard.press('j');
  assert.notEqual(await at(), first);
  await page.keyboard.press('k');
  assert.equal(await at(), first);
  await worker.close();
});

test('it tells while nobody sees it', LIMIT, async (t) => {
  const { page, worker, go } = await desk(t);
  const asked = requests(page);

  await page.addInitScript(() => {
    window.notes = [];
    window.Notification = class {
      static permission = 'granted';
      constructor(title, { body, tag }) { notes.push([title, body, tag]); }
    };
    let seen = true;
    Object.defineProperty(document, 'hidden', { get: () => !seen });
    window.hide = (is) => {
      seen = !is;
      document.dispatchEvent(new Event('visibilitychange'));
    };
  });
  await page.clock.install();
  await worker.tool('create_task', { task_id: 'n.1', title: 'Quiet' });
  await go();
  await live(page);
  assert.equal(await page.title(), 'mcptask');
  const icon = () => page.evaluate(() => decodeURIComponent($('icon').href));
  assert.match(await icon(), />\u2713</);
  await page.evaluate(() => hide(true));
  await page.clock.fastForward(61000);
  await page.locator('#state', { hasText: 'asleep' }).waitFor();
  await worker.tool('request_input', { task_id: 'n.1', agent: 'alice',
    question: 'Well?' });
  asked.length = 0;
  await page.evaluate(() => dispatchEvent(new Event('online')));
  await page.clock.fastForward(61000);
  await page.waitForFunction(() => document.title === '(1) mcptask');
  assert.match(await icon(), />1</);
  assert.deepEqual(await page.evaluate(() => notes),
    [['Quiet', 'Well?', 'n.1']]);
  assert.deepEqual(asked, ['list_tasks']);
  await page.evaluate(() => hide(false));
  await live(page);
  await worker.close();
});

test('a token is remembered where that is wanted', LIMIT, async (t) => {
  const { args, token } = tokens(t);
  const { page, worker, server, go } = await desk(t,
    { args, expect: /status of 401/ });

  await worker.tool('create_task', { task_id: 'k.2', title: 'Locked' });
  await go();
  await page.getByRole('textbox', { name: 'Token' }).fill(token);
  await page.getByRole('checkbox').check();
  await page.getByRole('button', { name: 'Continue' }).click();
  await cardOf(page, 'ready', 'Locked').waitFor();
  const other = await browser.newPage();
  await other.goto(String(server.url('/')));
  await cardOf(other, 'ready', 'Locked').waitFor();
  await other.getByRole('button', { name: 'Forget token' }).click();
  await other.getByRole('textbox', { name: 'Token' }).waitFor();
  assert.equal(await other.evaluate(() =>
    localStorage.length + sessionStorage.length), 0);
  await other.close();
  await worker.close();
});

test('the page shows who works now', LIMIT, async (t) => {
  const { page, worker, other, go } = await desk(t);
  const strip = page.getByRole('navigation', { name: 'Agents at work' });
  const entry = (name) => strip.locator('li', { hasText: name });
  const only = (name) => entry(name).getByRole('button', { name: `${name}:` });
  const says = (name, text) => entry(name).getByText(text, { exact: true })
    .waitFor({ timeout: SOON });
  const later = async (minutes) => {
    await page.clock.setFixedTime(Date.now() + minutes * 60000);
    await page.evaluate(() => drawNow());
  };
  const tool = (name, args) => worker.tool(name, args);

  await tool('create_task', { task_id: 'w.0', title: 'Idle' });
  await page.clock.setFixedTime(Date.now()); /* all pages share one clock */
  await go();
  await live(page);
  await cardOf(page, 'ready', 'Idle').waitFor();
  assert.ok(!await strip.isVisible());
  for (const [task_id, title, agent, lease_seconds] of [
    ['w.2', 'Two', 'alice', 3600], ['w.1', 'One', 'alice', 86400],
    ['w.3', 'Three', 'bob', 86400]]) {
    await tool('create_task', { task_id, title });
    await tool('claim_task', { task_id, agent, lease_seconds });
  }
  await tool('save_checkpoint', { task_id: 'w.1', agent: 'alice',
    completed_steps: ['Look'], remaining_steps: ['Use it', 'Test'],
    test_results: [{ command: 'make', exit_code: 1, passed: 9, failed: 3 }] });
  await tool('request_input', { task_id: 'w.2', agent: 'alice', question: 'Why?' });
  await tool('save_checkpoint', { task_id: 'w.1', agent: 'alice' });
  await tool('request_input', { task_id: 'w.3', agent: 'bob', question: 'Well?' });
  await says('bob', 'waits for you, asked just now');
  await says('alice', 'connected, wrote just now');
  await says('alice', 'now: Use it');
  await says('alice', '1 waits for you');
  assert.equal(await only('alice').getAttribute('aria-label'), 'alice: '
    + 'connected, wrote just now. w.1 One. 1/3 steps done. now: Use it. '
    + 'tests: 3 failed. 1 waits for you.');

  /* A click shows the tasks of an agent alone. */
  await only('alice').click();
  await page.waitForFunction(() =>
    document.querySelectorAll('.card').length === 2);
  assert.equal(await only('alice').getAttribute('aria-pressed'), 'true');
  await only('alice').press('Enter');
  await page.waitForFunction(() =>
    document.querySelectorAll('.card').length === 4);

  /* What others do to its tasks is no sign of its life, and what it does next
     is told; the focus stays. */
  await later(180);
  await says('bob', 'waits for you, asked 3 h ago');
  const carol = await other(); /* who asks does not answer */
  await carol.tool('update_task', { task_id: 'w.3', agent: 'carol',
    answer: { text: 'Yes' } });
  await says('bob', 'connected, wrote 3 h ago');
  await tool('save_checkpoint', { task_id: 'w.1', agent: 'alice',
    completed_steps: ['Look', 'Use it'], remaining_steps: ['Test'] });
  await says('alice', 'now: Test');
  assert.ok(await only('alice').evaluate((el) => el === document.activeElement));
  await carol.close();
  await worker.close();
});

test('the page shows what agents left behind', LIMIT, async (t) => {
  const { page, worker, other, go } = await desk(t);
  const entry = (name) => page.locator('#crew li', { hasText: name });
  const lost = await other();

  for (const [task_id, agent] of [['l.1', 'alice'], ['l.2', 'bob'], ['l.3', 'bob']]) {
    await worker.tool('create_task', { task_id, title: `Task ${task_id}` });
    await (task_id === 'l.2' ? lost : worker).tool('claim_task',
      { task_id, agent });
  }
  await worker.tool('mark_exhausted', { task_id: 'l.1', agent: 'alice',
    reason: 'quota' });
  for (const task_id of ['l.4', 'l.5']) {
    await worker.tool('create_task', { task_id, title: `Task ${task_id}` });
    await lost.tool('claim_task', { task_id, agent: 'dora' });
    await lost.tool('save_checkpoint', { task_id, agent: 'dora',
      remaining_steps: [`Paint ${task_id}`] });
  }
  await lost.close();
  await page.clock.setFixedTime(new Date()); /* another test's was later */
  await go();
  await live(page);
  await entry('alice').getByText('stopped just now').waitFor({ timeout: SOON });
  await entry('bob').getByText('left behind: l.2').waitFor({ timeout: SOON });
  await entry('bob').getByText('connected, wrote just now').waitFor();
  await entry('dora').getByText('2 left behind').waitFor();
  await entry('dora').getByText('next: Paint l.5').waitFor();
  await page.locator('#bell').click();
  await page.locator('#list li', { hasText: /dora exited.*Task l.5/ }).waitFor();
  await page.locator('#notify').waitFor();
  await page.locator('#feed').click();
  await page.locator('#notify').waitFor({ state: 'hidden' });
  await page.keyboard.press('Escape');
  /* What it frees is the task that the tile shows. */
  await entry('dora').getByRole('button', { name: 'Free it: l.5' }).click();
  await cardOf(page, 'ready', 'Task l.5').waitFor({ timeout: SOON });
  await entry('dora').getByRole('button', { name: 'Free it: l.4' }).click();
  await cardOf(page, 'ready', 'Task l.4').waitFor({ timeout: SOON });
  await entry('bob').getByRole('button', { name: 'Free it: l.2' }).click();
  await cardOf(page, 'ready', 'Task l.2').waitFor({ timeout: SOON });
  await entry('alice').getByRole('button', { name: 'Free it: l.1' }).click();
  await cardOf(page, 'ready', 'Task l.1').waitFor({ timeout: SOON });
  await entry('alice').waitFor({ state: 'hidden' });
  assert.equal(await page.locator('.act').count(), 0);

  /* A long name is cut rather than its state. */
  const long = 'claude-code-of-the-other-machine';
  await worker.tool('create_task', { task_id: 'long', title: 'Long' });
  await worker.tool('claim_task', { task_id: 'long', agent: long });
  await page.setViewportSize({ width: 390, height: 844 });
  await entry(long).getByText('connected, wrote').waitFor({ timeout: SOON });
  assert.ok(await entry(long).evaluate((li) => li.querySelector('.end')
    .getBoundingClientRect().right <= li.getBoundingClientRect().right));

  /* Many agents leave the board its place, and fade where there are more. */
  for (let i = 0; i < 40; i++) {
    await worker.tool('create_task', { task_id: `m.${i}`, title: `Task ${i}` });
    await worker.tool('claim_task', { task_id: `m.${i}`, agent: `agent-${i}` });
  }
  for (const width of [390, 1440]) {
    await page.setViewportSize({ width, height: 844 });
    await page.waitForFunction(() =>
      document.querySelectorAll('#crew li').length === 30, { timeout: SOON });
    assert.ok((await page.locator('#crew').boundingBox()).height < 90);
    assert.match(await page.locator('#crew').evaluate((el) =>
      getComputedStyle(el).maskImage), /gradient/);
    assert.ok(await page.evaluate(() =>
      document.documentElement.scrollWidth <= innerWidth));
  }
  await worker.close();
});
