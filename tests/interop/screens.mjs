/* Pictures of the page, compared with stored ones. */

import { readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/* What they show: a morning of a small project, a task or two in
   each column. */

export async function morning(worker) {
  const tool = (name, args) => worker.tool(name, args);
  const create = (task_id, title, more) =>
    tool('create_task', { task_id, title, ...more });
  const claim = (task_id, agent) =>
    tool('claim_task', { task_id, agent, lease_seconds: 3600 });

  await create('api-141', 'Limit requests per token', { priority: 0,
    tags: ['api'], repo_path: '/work/api', goal: '## Why\n\nOne client took all '
      + 'turns.\n\n- a `429` with **Retry-After**\n- a row in the docs\n\n```\n'
      + 'curl -i localhost:8766/mcp\n```' });
  await claim('api-141', 'claude-code');
  await tool('save_checkpoint', { task_id: 'api-141', agent: 'claude-code',
    completed_steps: ['Count by token', 'Answer 429'],
    remaining_steps: ['Write it down'], branch: 'rate',
    resume_prompt: 'The counter stands in `rate.c`. Next: docs/http.md.',
    test_results: [{ command: 'make test', exit_code: 0, passed: 48 }],
    decisions: ['Two seconds of burst'] });
  await tool('attach_artifact', { task_id: 'api-141', agent: 'claude-code',
    name: 'rate.diff', type: 'diff', content: '+int rate;\n' });
  await create('api-142', 'Tell clients when to come back', { priority: 1,
    depends_on: ['api-141'], tags: ['api'] });
  await create('docs-7', 'Read the proxy page once more', { priority: 3,
    tags: ['docs'] });
  await create('db-3', 'Move the log to the new disk', { priority: 0 });
  await create('ui-9', 'Make the board readable on a phone', { tags: ['ui'] });
  await claim('ui-9', 'codex');
  await tool('request_input', { task_id: 'ui-9', agent: 'codex',
    kind: 'approval', question: 'The lanes become tabs. May I go on?' });
  await create('ui-10', 'Choose the colour of the lanes');
  await claim('ui-10', 'gemini');
  await tool('request_input', { task_id: 'ui-10', agent: 'gemini',
    question: 'Which one?', options: ['The red', 'The blue'] });
  await create('ops-4', 'Rotate the backups');
  await claim('ops-4', 'claude-code');
  await tool('handoff_task', { task_id: 'ops-4', from_agent: 'claude-code',
    to_agent: 'hermes', reason: 'context full' });
  await create('ops-5', 'Alarm when a sync fails', { priority: 1 });
  await tool('mark_exhausted', { task_id: 'ops-5', agent: 'codex',
    reason: 'quota until noon' });
  await create('ops-1', 'Write the unit file');
  await claim('ops-1', 'codex');
  await tool('update_task', { task_id: 'ops-1', agent: 'codex',
    status: 'done', result: 'In packaging/.', test_results: [{
      command: 'make test', exit_code: 0, passed: 3 }] });
  await create('ops-2', 'Try the other allocator');
  await tool('update_task', { task_id: 'ops-2', status: 'failed',
    reason: 'no gain' });
}

/* Makes it a task of parts, some of which depend on others. */
export async function split(worker, parent_id) {
  for (const [n, title, ...depends_on] of [[1, 'Copy what is closed'],
    [2, 'Check the copy', `${parent_id}.1`],
    [3, 'Measure the new disk', `${parent_id}.1`],
    [4, 'Switch over', `${parent_id}.2`, `${parent_id}.3`]]) {
    await worker.tool('create_task', { task_id: `${parent_id}.${n}`, title,
      parent_id, depends_on });
  }
  await worker.tool('update_task', { task_id: `${parent_id}.1`, status: 'done',
    agent: 'codex' });
  await worker.tool('claim_task', { task_id: `${parent_id}.3`, agent: 'gemini' });
}

/* ---- pictures ---- */

/* A picture of the page in blocks of 8 by 8 points, as the PNG of their
   luminance: small, and equal on every machine with the same font. */
const BLOCK = 8;
const NEAR = 24; /* of 255: more than the edges of letters differ */
const MOST = 0.01; /* of the blocks may differ by more */

const FONT = [400, 700].map((weight) => ({ weight, data: readFileSync(new URL(
  `node_modules/@fontsource/inter/files/inter-latin-${weight}-normal.woff2`,
  import.meta.url)).toString('base64') }));

/* Draws the page with that font instead of the machine's. */
export const dressed = (page) => page.evaluate(async (fonts) => {
  for (const { weight, data } of fonts) {
    const bytes = Uint8Array.from(atob(data), (c) => c.charCodeAt(0));
    document.fonts.add(await new FontFace('Inter', bytes, { weight }).load());
  }
  const sheet = new CSSStyleSheet();
  sheet.replaceSync('* { font-family: Inter !important; }');
  document.adoptedStyleSheets = [sheet];
}, FONT);

/* Runs in a separate page: the blocks of a picture, and their PNG. */
async function blocksOf({ png, size }) {
  const image = new Image();
  image.src = `data:image/png;base64,${png}`;
  await image.decode();
  const w = Math.ceil(image.width / size);
  const hgt = Math.ceil(image.height / size);
  const canvas = document.createElement('canvas');
  const ink = canvas.getContext('2d', { willReadFrequently: true });
  Object.assign(canvas, { width: image.width, height: image.height });
  ink.drawImage(image, 0, 0);
  const { data } = ink.getImageData(0, 0, image.width, image.height);
  const sum = new Float64Array(w * hgt);
  const n = new Uint32Array(w * hgt);
  for (let i = 0; i < data.length; i += 4) {
    const x = (i / 4) % image.width;
    const at = Math.floor((i / 4 - x) / image.width / size) * w
      + Math.floor(x / size);
    sum[at] += .2126 * data[i] + .7152 * data[i + 1] + .0722 * data[i + 2];
    n[at]++;
  }
  const grey = Array.from(sum, (s, i) => Math.round(s / n[i]));
  Object.assign(canvas, { width: w, height: hgt });
  const out = ink.createImageData(w, hgt);
  grey.forEach((g, i) => out.data.set([g, g, g, 255], i * 4));
  ink.putImageData(out, 0, 0);
  return { w, grey, png: canvas.toDataURL('image/png').split(',')[1] };
}

/* The share of blocks in which the page differs from a stored picture, which
   SCREENS=write replaces. */
export async function differs(lab, page, name, expected = true) {
  const file = new URL(`screens/${name}.png`, import.meta.url);
  const png = await page.screenshot({ animations: 'disabled' });
  const seen = await lab.evaluate(blocksOf,
    { png: png.toString('base64'), size: BLOCK });

  if (expected && process.env.SCREENS === 'write') {
    writeFileSync(file, Buffer.from(seen.png, 'base64'));
  }
  const kept = await lab.evaluate(blocksOf,
    { png: readFileSync(file).toString('base64'), size: 1 });
  const off = seen.grey.filter((g, i) => Math.abs(g - kept.grey[i]) > NEAR);
  const part = seen.w === kept.w && seen.grey.length === kept.grey.length
    ? off.length / seen.grey.length : 1;
  if (expected && part > MOST) {
    const at = join(tmpdir(), `mcptask-${name}.png`);
    writeFileSync(at, png);
    console.error(`as it looks now: ${at}`);
  }
  return part;
}
export const alike = (part) => part <= MOST;
