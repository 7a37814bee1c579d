/**
 * Each screen of the console in a real browser over the real gateway: axe finds nothing, the browser
 * complains of nothing, no request leaves the origin, no address holds a secret, nothing scrolls sideways,
 * and what it loads is small.
 * @module-tag chromium
 */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { ADMIN_SECRET, SECRET } from '../harness/gateway-process.ts';
import { findViolations, launchBrowser, openConsole } from './console-page.ts';
import { SCENE_SESSION, type Scene, startScene } from './console-scene.ts';

/** The most that a screen may load, gzipped. */
const LOADED_BYTES_MAX = 60_000;
/** The most of what the page of a task loads behind that: the part of outputs and of their questions. */
const OUTPUT_BYTES_MAX = 3_500;
const OUTPUT_PART = /\/output-[\w-]+\.js$/;
const FILES = join(import.meta.dirname, '../../generated/console');

/** The bytes of the files among these addresses, gzipped. */
function countLoadedBytes(urls: readonly string[]): number {
  const names = urls.flatMap((url) => /\/console\/([\w-]+\.(?:js|css|svg|html))$/.exec(url)?.[1] ?? []);
  const files = [...new Set(names)].map((name) => readFileSync(join(FILES, name)));
  return files.reduce((sum, bytes) => sum + gzipSync(bytes, { level: 9 }).length, 0);
}

type Screen = {
  readonly name: string;
  readonly path: (scene: Scene) => string;
  /** What it has when it is complete. */
  readonly shows: string;
  readonly isSignedOut?: true;
};

const SCREENS: readonly Screen[] = [
  { name: 'sign in', path: () => '', shows: 'Admin secret', isSignedOut: true },
  { name: 'overview', path: () => '', shows: 'Demand and supply by tag' },
  { name: 'tasks', path: () => 'tasks', shows: 'product-shots-v13' },
  { name: 'tasks of a filter', path: () => 'tasks?status=failed&tag=gpu2', shows: 'No agent' },
  {
    name: 'failed tasks by cause',
    path: () => 'tasks?outcome=failed,timeout,agent_lost&ended=15m&by=cause',
    shows: 'Most tasks first',
  },
  { name: 'no task matches', path: () => 'tasks?tag=none', shows: 'No task matches' },
  {
    name: 'a task without an agent',
    path: ({ tasks }) => `tasks/${tasks.unassigned}`,
    shows: 'Why it did not run',
  },
  { name: 'a task that succeeded', path: ({ tasks }) => `tasks/${tasks.succeeded}`, shows: 'Timeline' },
  { name: 'a task that runs', path: ({ tasks }) => `tasks/${tasks.running}`, shows: 'Timeline' },
  { name: 'agents', path: () => 'agents', shows: 'connection refused' },
  { name: 'an agent', path: (scene) => `agents/${scene.failingAgent}`, shows: 'Contact and pushes' },
  { name: 'events', path: () => `events?session=${encodeURIComponent(SCENE_SESSION)}`, shows: 'translate' },
  { name: 'submit', path: () => 'submit', shows: 'The same as' },
  { name: 'no page', path: () => 'nowhere', shows: 'There is no page at this address' },
];

describe('each screen of the console', () => {
  let browser: Browser;
  let scene: Scene;
  beforeAll(async () => {
    [browser, scene] = await Promise.all([launchBrowser(), startScene()]);
  });
  afterAll(async () => {
    await browser?.close();
    await scene?.stop();
  });

  const widthOf = (page: Page): Promise<number> => page.evaluate(() => document.documentElement.scrollWidth);

  test('offer the sessions of the newest tasks where none is chosen, and name the types of its events', async () => {
    const { page, context } = await openConsole(browser, scene.gateway.baseUrl, { path: 'events' });
    await page.getByRole('link', { name: SCENE_SESSION }).click();
    const type = page.locator('[data-row]').getByText('translate', { exact: true }).first();
    await expect.poll(() => type.isVisible()).toBe(true);
    await context.close();
  });

  test.each(SCREENS)('$name', { timeout: 300_000 }, async ({ name, path, shows, isSignedOut }) => {
    const { page, seen, context } = await openConsole(browser, scene.gateway.baseUrl, {
      path: path(scene),
      ...(isSignedOut && { secrets: null }),
    });
    await page.getByText(shows).first().waitFor();
    expect(await page.locator('h1').count()).toBe(1);
    expect(await findViolations(page)).toEqual([]);
    await page.emulateMedia({ colorScheme: 'dark' });
    expect(await findViolations(page, ['color-contrast'])).toEqual([]);
    expect(await widthOf(page)).toBeLessThanOrEqual(1_280);
    await page.setViewportSize({ width: 360, height: 740 });
    await expect.poll(() => widthOf(page)).toBeLessThanOrEqual(360);
    expect(await findViolations(page)).toEqual([]);
    // Twice as large on a window of 1280 is as narrow as 640.
    await page.setViewportSize({ width: 640, height: 400 });
    await expect.poll(() => widthOf(page)).toBeLessThanOrEqual(640);
    // The page at an address that was mistyped comes with this status.
    const complaints = seen.complaints.filter(
      (text) => name !== 'no page' || !text.includes('404 (Not Found)'),
    );
    expect(complaints).toEqual([]);
    expect(seen.requests.filter((url) => !url.startsWith(`${scene.gateway.baseUrl}/`))).toEqual([]);
    expect(seen.requests.filter((url) => url.includes(SECRET) || url.includes(ADMIN_SECRET))).toEqual([]);
    const behind = seen.requests.filter((url) => OUTPUT_PART.test(url));
    const first = seen.requests.filter((url) => !OUTPUT_PART.test(url));
    expect(countLoadedBytes([...first, '/console/index.html'])).toBeLessThan(LOADED_BYTES_MAX);
    expect(countLoadedBytes(behind)).toBeLessThan(OUTPUT_BYTES_MAX);
    await context.close();
  });

  test('count what waits and what runs alike, and name what no agent has taken', {
    timeout: 300_000,
  }, async () => {
    const { page, context } = await openConsole(browser, scene.gateway.baseUrl);
    const { baseUrl } = scene.gateway;
    const counter = (label: string) =>
      page.locator('.counter').filter({ hasText: label }).locator('dd.v').innerText();
    await page.getByText('Waiting for an agent').waitFor();
    // What the failing agent has not taken within 15 s waits for another one.
    await expect.poll(() => counter('Waiting for an agent'), { timeout: 60_000 }).toBe('8');
    const running = await counter('Running');
    for (const [name, count] of [
      ['Waiting', '8'],
      ['Running', running],
    ] as const) {
      await page.goto(`${baseUrl}/console/tasks`);
      const segment = page.getByRole('button', { name: new RegExp(`^${name} `) });
      await expect.poll(() => segment.innerText()).toMatch(new RegExp(`${name}\\s*${count}`));
      await segment.click();
      await page.getByText(`${count} tasks match`).waitFor();
      await expect.poll(() => page.locator('[data-row]').count()).toBe(Number(count));
    }
    // One that is assigned at this moment, and is not taken either.
    const { request_id } = await scene.client.submitTask({
      task_type: 'fresh',
      task_tags: ['browser'],
      payload: {},
      timeout: 600,
    });
    await page.goto(`${baseUrl}/console/tasks?id=${request_id}`);
    const row = page.locator(`[data-row="${request_id}"]`);
    await row.getByText(/^(Not taken|Waiting)$/).waitFor();
    expect(await row.innerText()).toMatch(/(for|waits) \d+ s/);
    await row.locator('a').first().click();
    await page.getByText(/^(Not taken for|Waits)$/).waitFor();
    await page.goto(`${baseUrl}/console/agents/${scene.failingAgent}`);
    await page.getByText('yes, but ranks last while its pushes fail').waitFor();
    await page.getByText('Pushes fail', { exact: true }).waitFor();
    await context.close();
  });
});
