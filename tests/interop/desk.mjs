/* A desk is a page in Debian's browser, on a server with its own store, and an
   agent in another process on that store. A page may report no error except
   those that a test expects. */

import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before } from 'node:test';

import { chromium } from 'playwright-core';

import { Agent, KINDS, newStore } from './agent.mjs';
import { Server } from './server.mjs';

export const LIMIT = { timeout: 90000 };
export const SOON = 20000; /* for what takes 1 s on an idle machine */
const STDIO = KINDS.find((kind) => !kind.path && kind.rev === '2025-11-25');
const profile = mkdtempSync(join(tmpdir(), 'mcptask-page-'));
export let browser;

before(async () => {
  browser = await chromium.launchPersistentContext(profile, {
    executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium',
    args: ['--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run',
      '--disable-background-networking', '--disable-component-update',
      '--disable-sync']
  });
});
after(async () => {
  await browser?.close();
  rmSync(profile, { recursive: true, force: true });
});

/* A page of this store's server, and an agent in a process of its own. */
export async function desk(t, { args = [], hash = '', expect = /^$/, agent } = {}) {
  const wrong = [];
  const page = await browser.newPage();
  const note = (text) => expect.test(text) || wrong.push(text);

  t.after(() => page.close()); /* before its server goes */
  const store = newStore(t);
  const server = store.server = new Server(t, store, args);
  page.on('pageerror', (e) => note(String(e)));
  page.on('console', (m) => {
    if (['error', 'warning'].includes(m.type())) {
      note(`${m.text()} ${m.location().url}`);
    }
  });
  page.on('request', (r) => {
    if (!/^((blob:)?http:\/\/127\.0\.0\.1:\d+\/|data:)/.test(r.url())) {
      note(`asked for ${r.url()}`);
    }
  });
  await page.addInitScript(() => {
    addEventListener('securitypolicyviolation', (e) =>
      console.error(`violates ${e.violatedDirective}`));
    window.announced = [];
    window.states = [];
    addEventListener('DOMContentLoaded', () => {
      for (const [id, said] of [['say', announced], ['state', states]]) {
        const el = document.getElementById(id);
        el && new MutationObserver(() => said.push(el.textContent))
          .observe(el, { childList: true });
      }
    });
  });
  await server.up();
  const worker = await Agent.start(t, STDIO, store, agent);
  t.after(() => assert.deepEqual(wrong, [])); /* when all have ended */
  return { store, server, page, worker,
    other: () => Agent.start(t, STDIO, store), /* who asks does not answer */
    async go(to = hash) {
      await page.goto(String(server.url(`/${to}`)));
    } };
}

export const live = (page) => page.locator('#state.live').waitFor({ timeout: SOON });
export const unfold = (page, lane = 'done') =>
  page.locator(`.lane.${lane} h2 button`).click();
export const cardOf = (page, lane, title) =>
  page.locator(`.lane.${lane} .card`, { hasText: title });

/* Ends the time in which an answer can be taken back. */
export const sent = (page) => page.evaluate(() => { sendNow(); });

/* How long it takes from fn until it is there. */
export async function timed(t, what, locator, fn) {
  const from = performance.now();
  await fn();
  await locator.waitFor({ timeout: SOON });
  t.diagnostic(`${what}: ${Math.round(performance.now() - from)} ms`);
}

/* How a server knows carol. */
export function tokens(t, mark = '') {
  const dir = mkdtempSync(join(tmpdir(), 'mcptask-page-'));
  const file = join(dir, 'tokens');
  const token = 'carol-0123456789abcdef';

  t.after(() => rmSync(dir, { recursive: true, force: true }));
  writeFileSync(file, `${token} carol ${mark}\n`, { mode: 0o600 });
  return { args: ['--token-file', file], token };
}
