/* The page: it shows the changes of other processes, answers agents that wait,
   and shows stored text only as text. */

import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import test from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';

import { browser, cardOf, desk, LIMIT, live, sent, SOON, timed, tokens, unfold }
  from './desk.mjs';
import { SERVER } from './server.mjs';

/* A promise, and what keeps it. */
function gate() {
  let open;
  const opened = new Promise((done) => { open = done; });

  return { open, opened };
}

/* Delays the page's list_tasks that match until the promise that until returns
   is resolved. */
async function hold(page, fits, until) {
  await page.route('**/mcp', async (route) => {
    const { params } = route.request().postDataJSON();

    if (params.name !== 'list_tasks' || !fits(params.arguments)) {
      return route.continue();
    }
    try {
      const response = await route.fetch();
      await until();
      await route.fulfill({ response });
    } catch { /* the page went */ }
  });
}

/* As tests/serve/t_page.c tests what the terminal shows. */
test('each task has its column', LIMIT, async (t) => {
  const { page, worker, go } = await desk(t);
  const file = new URL('../lib/columns.h', import.meta.url);
  const rows = [...readFileSync(file, 'utf8')
    .matchAll(/^COLUMN\((\w+), "([01-]{9})", (\w+)\)$/gm)];
  const statuses = new Set(rows.map(([, status]) => status));
  const tasks = [...statuses].flatMap((status) =>
    Array.from({ length: 512 }, (_, flags) => ({ status, seq: 1, version: 1, flags,
      needs_input: !!(flags & 1), lease_expired: !!(flags & 4),
      stale: !!(flags & 8), blocked_by: flags & 18 ? ['x'] : [],
      ...flags & 16 && { deps_failed: ['x'] },
      ...flags & 32 && { overlaps: [{ task_id: 'x' }] },
      ...flags & 256 && { parts: { total: 2, unfinished: 1 } },
      ...flags & 64 && { not_before: '2999-01-01T00:00:00Z' },
      updated_at: new Date(Date.now() - (flags & 128 ? 71 : 73) * 3600000)
        .toISOString() })));

  assert.equal(statuses.size, 7);
  await go();
  const columns = await page.evaluate((all) => all.map(laneOf), tasks);
  tasks.forEach(({ status, flags }, i) => {
    const fit = rows.filter(([, s, of]) => s === status && [...of]
      .every((c, at) => c === '-' || c === String(flags >> at & 1)));

    assert.deepEqual(fit.map(([, , , column]) => column), [columns[i]]);
  });
  await worker.close();
});

test('the board shows what another process does', LIMIT, async (t) => {
  const { page, worker, go } = await desk(t);
  const task_id = 'b.1';

  await worker.tool('create_task', { task_id, title: 'First', tags: ['x'] });
  await go();
  await live(page);
  await cardOf(page, 'ready', 'First').waitFor();
  assert.equal(await page.locator('.lane.done p').isVisible(), false);
  await unfold(page);
  await timed(t, 'a task of another process', cardOf(page, 'ready', 'Second'),
    () => worker.tool('create_task', { task_id: 'b.2', title: 'Second' }));
  await timed(t, 'a claim', cardOf(page, 'prog', 'First'),
    () => worker.tool('claim_task', { task_id, agent: 'alice' }));
  await timed(t, 'a checkpoint', cardOf(page, 'prog', '2/3'),
    () => worker.tool('save_checkpoint', { task_id, agent: 'alice',
      completed_steps: ['a', 'b'], remaining_steps: ['c'],
      test_results: [{ command: 'make', exit_code: 0, passed: 7 }] }));
  await cardOf(page, 'prog', '7 passed').waitFor({ timeout: SOON });
  await worker.tool('create_task', { task_id: 'b.3', title: 'Third',
    depends_on: [task_id] });
  await unfold(page, 'wait');
  await cardOf(page, 'wait', `waits for ${task_id}: First`).waitFor();
  await timed(t, 'a hand-over', cardOf(page, 'hand', 'alice -> bob: lunch'),
    () => worker.tool('handoff_task', { task_id, from_agent: 'alice',
      to_agent: 'bob', reason: 'lunch' }));
  await worker.tool('claim_task', { task_id, agent: 'bob' });
  await worker.tool('update_task', { task_id, agent: 'bob', status: 'done' });
  await cardOf(page, 'done', 'First').waitFor();
  await cardOf(page, 'ready', 'Third').waitFor();
  for (const text of ['First: Done', 'Third: Ready']) {
    await page.waitForFunction((s) =>
      announced.some((x) => x.includes(s)), text);
  }
  /* A page that has never seen Third wait hears that it does. */
  await page.reload();
  await live(page);
  await cardOf(page, 'done', 'First').waitFor(); /* it is still unfolded */
  await worker.tool('update_task', { task_id, agent: 'bob', status: 'open',
    reason: 'again' });
  await cardOf(page, 'wait', `waits for ${task_id}: First`)
    .waitFor({ timeout: SOON });
  await worker.close();
});

test('a question is answered where the agent waits', LIMIT, async (t) => {
  const { page, worker, go } = await desk(t);
  const task_id = 'q.1';
  const ask = (question, more) => worker.tool('request_input',
    { task_id, agent: 'alice', question, wait_seconds: 50, ...more });
  const box = () => cardOf(page, 'need', 'Asked').locator('.ask');

  await worker.tool('create_task', { task_id, title: 'Asked' });
  await worker.tool('claim_task', { task_id, agent: 'alice' });
  await go();
  await live(page);

  let waits = ask('Which one?', { options: ['The red', 'The blue'] });
  await box().getByText('Which one?').waitFor({ timeout: SOON });
  await box().getByRole('button', { name: 'The blue' }).click();
  await sent(page);
  assert.equal((await waits).answer.text, 'The blue');
  await cardOf(page, 'prog', 'Asked').waitFor({ timeout: SOON });

  waits = ask('What name?');
  await box().getByText('What name?').waitFor({ timeout: SOON });
  await box().getByLabel('Your answer').fill('A <b>bold</b> one');
  await worker.tool('update_task', { task_id, agent: 'alice', priority: 1 });
  await cardOf(page, 'need', 'P1').waitFor({ timeout: SOON });
  await box().getByLabel('Your answer').press('Enter');
  await sent(page);
  assert.equal((await waits).answer.text, 'A <b>bold</b> one');

  waits = ask('May I?', { kind: 'approval' });
  await box().getByRole('button', { name: 'Decline' }).click();
  await sent(page);
  assert.equal((await waits).answer.action, 'decline');
  await worker.close();
});

test('a token is asked for, and kept for the tab alone', LIMIT, async (t) => {
  const { args, token: good } = tokens(t);
  const { page, worker, server, go } = await desk(t,
    { args, expect: /status of 401/ });
  await worker.tool('create_task', { task_id: 'k.1', title: 'Locked' });
  await worker.tool('request_input', { task_id: 'k.1', agent: 'alice',
    question: 'Sure?' });
  await go();
  await page.getByRole('textbox', { name: 'Token' }).waitFor();
  for (let n = 0; n < 3; n++) { /* nothing goes without one */
    await page.keyboard.press('Escape');
  }
  await page.getByRole('textbox', { name: 'Token' }).fill('wrong');
  await page.getByRole('button', { name: 'Continue' }).click();
  await page.getByText('Unknown token.').waitFor();
  assert.equal(await page.locator('.card').count(), 0);
  await page.getByRole('textbox', { name: 'Token' }).fill(good);
  await page.getByRole('textbox', { name: 'Token' }).press('Enter');
  await cardOf(page, 'need', 'Locked').waitFor();
  await page.reload();
  await live(page);
  const box = cardOf(page, 'need', 'Locked').locator('.ask');
  await box.getByLabel('Your answer').fill('yes');
  await box.getByRole('button', { name: 'Answer' }).click();
  await sent(page);
  await cardOf(page, 'ready', 'Locked').waitFor();
  assert.equal((await worker.tool('get_task', { task_id: 'k.1' }))
    .questions[0].answer.by, 'carol');
  assert.doesNotMatch(await page.evaluate(() =>
    JSON.stringify(localStorage)), /carol-/);

  const other = await browser.newPage();
  await other.goto(String(server.url('/')));
  await other.getByRole('textbox', { name: 'Token' }).waitFor();
  await other.close();
  await page.getByRole('button', { name: 'Forget token' }).click();
  await page.getByRole('textbox', { name: 'Token' }).waitFor();
  await worker.close();
});

const SCRIPT = '<script>document.title="pwned"</script>';
const IMAGE = '<img src="x" onerror="document.title=\'pwned\'">';
const RLO = '\u202e';

test('what agents wrote stays text', LIMIT, async (t) => {
  const { page, worker, go } = await desk(t);
  const task_id = 'h.1';
  const log = `${SCRIPT}${IMAGE}</pre>${RLO}\u001b[31m\n`;

  await worker.tool('create_task', { task_id, title: `${IMAGE}${RLO}txt`,
    goal: `${SCRIPT}\n${RLO}evil https://a.test/${RLO}`, tags: [IMAGE.slice(0, 60)],
    repo_path: `/${SCRIPT}` });
  await worker.tool('save_checkpoint', { task_id, agent: IMAGE,
    completed_steps: [SCRIPT], remaining_steps: [IMAGE], resume_prompt: SCRIPT,
    decisions: ['"><svg onload=alert(1)>'], notes: IMAGE,
    test_results: [{ command: IMAGE, exit_code: 1 }] });
  await worker.tool('request_input', { task_id, agent: IMAGE,
    question: SCRIPT, options: [IMAGE] });
  await worker.tool('attach_artifact', { task_id, agent: IMAGE, name: IMAGE,
    type: 'log', content: log.repeat(Math.floor((1 << 20)
      / Buffer.byteLength(log))) });
  await worker.tool('attach_artifact', { task_id, agent: IMAGE, name: 'line',
    type: 'diff', content: `+${'x'.repeat((1 << 20) - 10)}` });
  await go(`#task/${task_id}`);
  await live(page);
  const view = page.locator('#task');
  await view.getByText(`${IMAGE}\u27e8U+202E\u27e9txt`).waitFor();
  await view.getByText(`${SCRIPT}\n\u27e8U+202E\u27e9evil`).waitFor();
  await view.getByTitle('https://a.test/\u27e8U+202E\u27e9').waitFor();
  await view.locator('.time li').nth(3).waitFor();
  for (const i of [0, 1]) {
    await view.locator('summary').nth(i).click();
  }
  for (let i = 0; i < 2; i++) {
    const more = view.getByRole('button', { name: /Load more/ }).first();
    await more.click();
  }
  await page.waitForFunction((s) => document.querySelector('pre.log')
    .textContent.split(s).length > 300, SCRIPT);
  assert.equal(await page.locator('img, svg:not(#bell svg), iframe, object').count(), 0);
  assert.equal(await page.locator('script').count(), 1);
  assert.ok(!(await page.content()).replaceAll(`href="https://a.test/${RLO}`, '')
    .includes(RLO));
  assert.match(await page.title(), /mcptask$/);
  await worker.close();
});

test('nothing runs but the page itself', LIMIT, async (t) => {
  const { page, worker, go } = await desk(t,
    { expect: /violates|Content Security/ });
  await go();
  await live(page);
  const ran = await page.evaluate(() => new Promise((done) => {
    addEventListener('securitypolicyviolation', () => done(window.ran));
    const script = document.createElement('script');
    script.textContent = 'window.ran = true';
    document.head.append(script);
  }));
  assert.equal(ran, undefined);
  await worker.close();
});

test('it says when it is not live, and heals', LIMIT, async (t) => {
  const { page, worker, server, go } = await desk(t, { expect: /net::ERR_/ });

  await worker.tool('create_task', { task_id: 'r.1', title: 'Before' });
  await go();
  await live(page);
  await server.kill();
  await page.locator('#state.off').waitFor({ timeout: SOON });
  await cardOf(page, 'ready', 'Before').waitFor();
  await worker.tool('create_task', { task_id: 'r.2', title: 'Meanwhile' });
  await worker.tool('claim_task', { task_id: 'r.1', agent: 'alice' });
  await server.up();
  await live(page);
  await cardOf(page, 'ready', 'Meanwhile').waitFor();
  await cardOf(page, 'prog', 'Before').waitFor();
  await server.close();
  await page.locator('#state.off').waitFor({ timeout: SOON });
  await server.up();
  await live(page);
  await timed(t, 'a change after that', cardOf(page, 'ready', 'Later'),
    () => worker.tool('create_task', { task_id: 'r.3', title: 'Later' }));
  await worker.close();
});

test('the keyboard does it all', LIMIT, async (t) => {
  const { page, worker, go } = await desk(t);
  const press = (...keys) => keys.reduce((was, key) =>
    was.then(() => page.keyboard.press(key)), Promise.resolve());
  const focus = () => page.evaluate(() => document.activeElement.textContent);
  /* The browser moves it in a separate event. */
  const focused = (text) => page.waitForFunction((s) =>
    document.activeElement.textContent === s, text, { timeout: SOON })
    .catch(async () => assert.equal(await focus(), text));

  for (const n of [1, 2, 3]) {
    await worker.tool('create_task', { task_id: `t.${n}`, title: `Task ${n}`,
      priority: n, goal: n === 3 ? 'find the needle' : 'x', tags: [`tag${n}`] });
  }
  await worker.tool('claim_task', { task_id: 't.3', agent: 'alice' });
  await go();
  await live(page);
  await cardOf(page, 'prog', 'Task 3').waitFor();
  await press('Tab');
  await focused('Skip to the tasks');
  await press('Enter');
  await focused('Task 1');
  await press('ArrowDown');
  await focused('Task 2');
  await press('ArrowRight');
  await focused('Task 3');
  assert.equal(await page.locator('.title[tabindex="0"]').count(), 1);
  await press('Enter');
  await page.locator('#task[open]').waitFor();
  await focused('Task 3');
  assert.match(page.url(), /#task\/t\.3$/);
  await press('Escape');
  await page.locator('#task:not([open])').waitFor({ state: 'attached' });
  await focused('Task 3');
  /* The close event comes later, and does not move the focus again. */
  assert.equal(await page.evaluate(async () => {
    show('t.3');
    $('task').close();
    $('q').focus();
    await new Promise((done) => setTimeout(done, 100));
    return document.activeElement.id;
  }), 'q');
  await press('Escape', '/');
  await page.keyboard.type('needle');
  await page.waitForFunction(() =>
    document.querySelectorAll('.card').length === 1);
  await press('Enter');
  await focused('Task 3');
  await press('/', 'Escape');
  await page.waitForFunction(() =>
    document.querySelectorAll('.card').length === 3);
  await focused('Task 3');
  await press('ArrowLeft', 'ArrowDown');
  await focused('Task 2');
  await worker.tool('update_task', { task_id: 't.2', title: 'Task 2 first',
    priority: 0 });
  await page.locator('.lane.ready .card', { hasText: 'first' }).waitFor();
  await focused('Task 2 first');
  await worker.tool('claim_task', { task_id: 't.2', agent: 'alice' });
  await cardOf(page, 'prog', 'Task 2').waitFor();
  await focused('Task 2 first');
  await page.getByLabel('Tag').selectOption('tag2');
  await page.waitForFunction(() =>
    document.querySelectorAll('.card').length === 1);
  for (const [role, name] of [['search', undefined], ['main', 'Tasks'],
    ['region', 'Ready'], ['status', undefined], ['heading', 'mcptask']]) {
    await page.getByRole(role, { name }).first().waitFor({ state: 'attached' });
  }
  await worker.close();
});

test('five thousand tasks, of which it draws some', LIMIT, async (t) => {
  const { store, page, worker, go } = await desk(t);
  const file = join(store.dir, 'many.jsonl');
  let asked = 0;

  writeFileSync(file, Array.from({ length: 5000 }, (_, i) => JSON.stringify({
    task_id: `m.${i}`, title: `Many ${i}`,
    status: i < 130 ? 'cancelled' : 'open' })).join('\n'));
  execFileSync(SERVER, ['import', file], { env: store.env });
  page.on('request', () => asked++);
  const ready = page.locator('.lane.ready');
  await timed(t, '5,000 tasks, the first', ready.locator('.card').first(), go);
  await timed(t, 'and all of them', ready.locator('h2', { hasText: '4870' }),
    () => live(page));
  t.diagnostic(`${asked} requests`);
  assert.ok(asked < 130, `${asked} requests`);
  await unfold(page);
  const nodes = () => page.evaluate(() =>
    [document.querySelectorAll('.card').length,
      document.querySelectorAll('*').length]);
  const [cards, n] = await nodes();
  assert.ok(cards <= 80 && n < 1500, `${cards} cards, ${n} elements`);
  for (const [lane, count] of [['ready', 80], ['done', 80], ['done', 120],
    ['done', 130]]) {
    /* It comes after the cards, and covers none. */
    await page.locator(`.lane.${lane} .card + .more`)
      .getByRole('button', { name: 'Show more' }).click();
    await page.waitForFunction(([name, n]) => document
      .querySelectorAll(`.lane.${name} .card`).length === n, [lane, count]);
  }
  asked = 0;
  await timed(t, 'one of them', cardOf(page, 'prog', 'Many 777'),
    () => worker.tool('claim_task', { task_id: 'm.777', agent: 'alice' }));
  assert.ok(asked <= 3, `${asked} requests`); /* one for its agent's tile */
  await page.waitForFunction(() => announced.length > 0);
  assert.deepEqual(await page.evaluate(() => announced),
    ['Many 777: In progress']);
  const draw = await page.evaluate(() => {
    const start = performance.now();
    drawNow();
    return performance.now() - start;
  });
  t.diagnostic(`drawn anew in ${draw.toFixed(1)} ms`);
  await worker.close();
});

test('it is one column on the phone', LIMIT, async (t) => {
  const { page, worker, go } = await desk(t);

  await worker.tool('create_task', { task_id: 'p.1', title: 'Small' });
  await page.setViewportSize({ width: 360, height: 740 });
  await go();
  await live(page);
  await cardOf(page, 'ready', 'Small').waitFor();
  assert.equal(await page.locator('.lane:visible').count(), 1);
  await page.getByRole('button', { name: 'Done' }).click();
  await page.getByText('None').and(page.locator(':visible')).waitFor();
  assert.equal(await page.evaluate(() =>
    document.documentElement.scrollWidth), 360);
  await worker.close();
});

test('what is being written stays', LIMIT, async (t) => {
  const { page, worker, go } = await desk(t);
  const read = gate();
  const late = gate();
  const draft = page.locator('.lane.need .ask input');
  let reads = 0;

  await worker.tool('create_task', { task_id: 'd.1', title: 'Asked' });
  await worker.tool('create_task', { task_id: 'd.2', title: 'Other' });
  await worker.tool('request_input', { task_id: 'd.1', agent: 'alice',
    question: 'Well?' });
  await go();
  await live(page);
  await draft.fill('half');

  /* Something changes during one of the occasional full reads. */
  await hold(page, (args) => !args.changed_since && !args.query,
    () => {
      reads++;
      read.open();
      return late.opened.then(() => sleep(200));
    });
  await page.evaluate(() => {
    window.input = document.querySelector('.ask input');
    window.loading = load();
  });
  await read.opened;
  await worker.tool('update_task', { task_id: 'd.2', priority: 1 });
  await cardOf(page, 'ready', 'P1').waitFor({ timeout: SOON });
  late.open();
  await page.evaluate(() => loading);
  assert.deepEqual(await page.evaluate(() =>
    [input.isConnected, input.value, states]), [true, 'half', ['live']]);
  assert.equal(reads, 1); /* the store was not taken for another one */

  /* Its card is hidden for a while. */
  await page.locator('#q').fill('zzz');
  await page.waitForFunction(() => !document.querySelector('.card'));
  await page.locator('#q').fill('');
  assert.equal(await draft.inputValue(), 'half');
  await worker.close();
});

test('it keeps up with constant changes', LIMIT, async (t) => {
  const { page, worker, go } = await desk(t);
  const update = (task_id, more) =>
    worker.tool('update_task', { task_id, ...more });
  let changes = Infinity; /* behind as many answers, before they come */

  for (const task_id of ['c.1', 'c.2']) {
    await worker.tool('create_task', { task_id, title: 'Busy' });
  }
  await hold(page, () => true, async () => {
    if (changes > 0) {
      await update('c.2', { title: `Left ${--changes}` });
    }
    await sleep(200);
  });
  await go('#task/c.1');
  await live(page);
  assert.deepEqual(await page.evaluate(() => states), ['live']);
  await timed(t, 'a change beside others',
    page.locator('#body', { hasText: 'A goal' }),
    () => update('c.1', { goal: 'A goal' }));
  changes = 0;
  await update('c.2', { title: 'At rest' });
  await cardOf(page, 'ready', 'At rest').waitFor({ timeout: SOON });
  changes = 3;
  await update('c.1', { goal: 'Another' });
  await cardOf(page, 'ready', 'Left 0').waitFor({ timeout: SOON });
  await worker.close();
});

test('a history has no hole, an error is said once', LIMIT, async (t) => {
  const { page, worker, go } = await desk(t);
  const { open, opened } = gate();
  const change = (result) => worker.tool('update_task',
    { task_id: 'e.1', result: `Result ${result}` });
  const rows = page.locator('.time li');
  const more = page.getByRole('button', { name: 'Older' });

  await worker.tool('create_task', { task_id: 'e.1', title: 'Long' });
  await change(0);
  await go('#task/e.1');
  await live(page);
  await rows.nth(1).waitFor();
  /* It learns of none of these until there are more than it asks for. */
  await hold(page, () => true, () => opened);
  for (let n = 1; n < 70; n++) {
    await change(n);
  }
  open();
  await page.getByText('Result 69').waitFor({ timeout: SOON });
  await rows.nth(49).waitFor();
  if (await more.isVisible()) {
    await more.click();
  }
  await rows.nth(70).waitFor({ timeout: SOON });
  assert.equal(await rows.count(), 71);

  await go('#task/none');
  await page.locator('#facts .bad').waitFor();
  await page.evaluate(async () => { await show('none'); await show('none'); });
  assert.equal(await page.locator('#facts .bad').count(), 1);
  await worker.close();
});

/* As much of a host of MCP Apps as the page needs. */
const HOST = `<!doctype html><iframe sandbox="allow-scripts"
  style="width:1200px;height:640px"></iframe><script>
  const frame = document.querySelector('iframe');
  window.said = [];
  addEventListener('message', async ({ source, data }) => {
    if (source !== frame.contentWindow) return;
    said.push(data.method);
    if (data.id == null) return;
    const result = data.method === 'ui/initialize'
      ? { protocolVersion: data.params.protocolVersion,
        hostInfo: { name: 'host', version: '1' }, hostCapabilities: {},
        hostContext: { theme: 'dark' } }
      : await callTool(data.params);
    source.postMessage({ jsonrpc: '2.0', id: data.id, result }, '*');
  });
</script>`;

/* The board in the frame of a host that calls tools in this way. */
async function framed(page, worker, callTool) {
  const { tools } = await worker.client.listTools();
  const uri = tools.find((tool) => tool.name === 'list_tasks')
    ._meta.ui.resourceUri;
  const { contents: [board] } = await worker.client.readResource({ uri });

  assert.equal(board.mimeType, 'text/html;profile=mcp-app');
  await page.exposeFunction('callTool', callTool);
  await page.setContent(HOST);
  await page.evaluate((html) => { frame.srcdoc = html; }, board.text);
  return page.frameLocator('iframe');
}

const UI = { agent: { prepare: (client) => client.registerCapabilities({
  extensions: { 'io.modelcontextprotocol/ui':
    { mimeTypes: ['text/html;profile=mcp-app'] } } }) } };

test('it works in the frame of a host', LIMIT, async (t) => {
  const { page, worker, ...desks } = await desk(t, UI);
  const other = await desks.other(); /* the frame has the worker's session */

  await worker.tool('create_task', { task_id: 'a.1', title: 'Framed' });
  const inner = await framed(page, worker, (params) =>
    worker.client.callTool(params));
  await inner.locator('.lane.ready .card', { hasText: 'Framed' }).waitFor();
  await other.tool('request_input', { task_id: 'a.1', agent: 'alice',
    question: 'Well?', options: ['Yes'] });
  await inner.getByRole('button', { name: 'Yes' }).click();
  await sent(inner.locator('html'));
  await inner.locator('.lane.ready .card', { hasText: 'Framed' }).waitFor();
  /* Its address is not that of the page around it. */
  for (let i = 0; i < 2; i++) {
    await inner.getByRole('link', { name: 'Framed' }).click();
    await inner.getByRole('heading', { name: 'Framed' }).waitFor();
    await inner.getByRole('button', { name: 'Back to the board' }).click();
  }
  /* Such a frame may not submit forms, and stores nothing. */
  await inner.getByRole('button', { name: 'Done' }).click();
  await inner.locator('.lane.done:not(.fold)').waitFor();
  await inner.getByRole('button', { name: 'New task' }).click();
  await inner.getByLabel('Title').fill('Second');
  await inner.getByRole('button', { name: 'Create' }).click();
  await inner.locator('.lane.ready .card', { hasText: 'Second' }).waitFor();
  await other.tool('request_input', { task_id: 'a.1', agent: 'alice',
    question: 'Who?' });
  await inner.getByLabel('Your answer').fill('Ann');
  await inner.getByLabel('Your answer').press('Enter');
  await sent(inner.locator('html'));
  await inner.locator('.lane.ready .card', { hasText: 'Framed' }).waitFor();
  assert.equal(await inner.locator('html').evaluate((el) =>
    getComputedStyle(el).colorScheme), 'dark');
  assert.deepEqual((await page.evaluate(() => said)).slice(0, 2),
    ['ui/initialize', 'ui/notifications/initialized']);
  await other.close();
  await worker.close();
});

test('it works there with a token of the host', LIMIT, async (t) => {
  const { args, token } = tokens(t);
  const { page, worker, server } = await desk(t, { args, ...UI });

  await worker.tool('create_task', { task_id: 'a.2', title: 'Locked' });
  await worker.tool('request_input', { task_id: 'a.2', agent: 'alice',
    question: 'Well?', options: ['Yes'] });
  const inner = await framed(page, worker, async (params) => {
    const reply = await fetch(server.url('/mcp'), { method: 'POST',
      headers: { authorization: `Bearer ${token}`,
        accept: 'application/json, text/event-stream',
        'content-type': 'application/json' },
      body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call',
        params }) });

    return (await reply.json()).result;
  });
  await inner.getByRole('button', { name: 'Yes' }).click();
  await sent(inner.locator('html'));
  await inner.locator('.lane.ready .card', { hasText: 'Locked' }).waitFor();
  assert.equal((await worker.tool('get_task', { task_id: 'a.2' }))
    .questions[0].answer.by, 'carol');
  await worker.close();
});
