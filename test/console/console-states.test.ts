/**
 * The console as its gateway comes and goes, in a real browser over the real gateway: signing in, what is
 * refused, an empty gateway, a gateway that is killed and started again, a store that is, a part that cannot
 * be read, and a console that only reads.
 * @module-tag chromium
 */
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { useFolder } from '../harness/folder.ts';
import { findFreePort } from '../harness/free-port.ts';
import { ADMIN_SECRET, SECRET, startGateway } from '../harness/gateway-process.ts';
import { startRedis } from '../harness/redis-process.ts';
import { launchBrowser, type OpenOptions, openConsole } from './console-page.ts';

describe('the console', () => {
  let browser: Browser;
  beforeAll(async () => {
    browser = await launchBrowser();
  });
  afterAll(() => browser?.close());

  async function open(baseUrl: string, options?: OpenOptions) {
    const opened = await openConsole(browser, baseUrl, options);
    onTestFinished(() => opened.context.close());
    return opened;
  }

  async function start(env: Readonly<Record<string, string>> = {}) {
    const gateway = await startGateway(env);
    onTestFinished(async () => {
      await gateway.stop();
    });
    return gateway;
  }

  const signIn = async (page: Page, admin: string, gateway = ''): Promise<void> => {
    await page.getByLabel('Admin secret').fill(admin);
    await page.getByLabel(/Gateway secret/).fill(gateway);
    await page.getByRole('button', { name: 'Sign in' }).click();
  };

  test('reads nothing before a secret is accepted, says which is refused, and keeps them in the tab alone', async () => {
    const { baseUrl } = await start();
    const { page, seen } = await open(baseUrl, { secrets: null, path: 'tasks?tag=gpu' });
    await page.getByRole('heading', { name: 'Sign in' }).waitFor();
    expect(seen.requests.filter((url) => url.includes('/api/'))).toEqual([]);

    await signIn(page, 'not the secret');
    await page.getByText('The gateway refused this secret.').waitFor();
    expect(await page.evaluate(() => document.activeElement?.id)).toBe('secret-admin');
    expect(await page.evaluate(() => sessionStorage.length)).toBe(0);

    await signIn(page, ADMIN_SECRET, 'not this one');
    await page.getByText('The gateway refused this secret.').waitFor();
    await expect.poll(() => page.evaluate(() => document.activeElement?.id)).toBe('secret-gateway');

    await signIn(page, ADMIN_SECRET, SECRET);
    await page.getByRole('heading', { name: 'Tasks' }).waitFor();
    const kept = await page.evaluate(() => [
      ...[localStorage.length, document.cookie, location.search],
      Object.values(sessionStorage),
    ]);
    expect(kept).toEqual([0, '', '?tag=gpu', expect.arrayContaining([ADMIN_SECRET, SECRET])]);
    expect(seen.requests.filter((url) => url.includes(SECRET) || url.includes(ADMIN_SECRET))).toEqual([]);

    await page.getByRole('button', { name: 'Forget the secret and sign out' }).click();
    await page.getByRole('heading', { name: 'Sign in' }).waitFor();
    expect(await page.evaluate(() => Object.values(sessionStorage))).toEqual([]);
  });

  test('shows an empty gateway how to begin, and what happens as soon as it does', async () => {
    const { baseUrl } = await start();
    const { page } = await open(baseUrl);
    await page.getByRole('heading', { name: 'Nothing has happened here yet' }).waitFor();
    const submitted = await fetch(`${baseUrl}/api/cli/tasks`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ auth: SECRET, task_type: 't', task_tags: ['gpu2'], payload: {} }),
    });
    expect(submitted.status).toBe(200);
    await page.getByText(/No agent has the tag/).waitFor();
    // Nothing waits for it: a note, and no problem.
    await page.locator('#wrong').getByText('Note:').waitFor();
    await page.getByRole('link', { name: 'No problems' }).waitFor();
  });

  test('says so when the gateway is gone, keeps what was read in grey, and is live again by itself', async () => {
    const env = { PORT: String(await findFreePort()), STORE: `sqlite:${useFolder()}/tasks.db` };
    const first = await startGateway(env);
    const { page } = await open(first.baseUrl, { path: 'submit' });
    await page.getByText('Live', { exact: true }).waitFor();
    await first.kill();
    const banner = page.getByRole('alert').filter({ hasText: 'The gateway has not answered' });
    await banner.waitFor({ timeout: 60_000 });
    await page.getByText('Not live', { exact: true }).waitFor();
    expect(await page.locator('main').evaluate((main) => getComputedStyle(main).filter)).toBe('grayscale(1)');
    await page.getByText('Actions are off until the gateway answers.').first().waitFor();

    await start(env);
    await page.getByRole('button', { name: 'Try now' }).click();
    await page.getByText('Live', { exact: true }).waitFor();
    await expect.poll(() => banner.count()).toBe(0);
    expect(await page.locator('main').evaluate((main) => getComputedStyle(main).filter)).toBe('none');
  });

  test('says so when the store is gone, and is live again when it is back', async () => {
    const redis = await startRedis();
    onTestFinished(() => redis.dispose());
    const { baseUrl } = await start({ STORE: redis.url });
    const { page } = await open(baseUrl);
    await page.getByText('Live', { exact: true }).waitFor();
    await redis.kill();
    const banner = page.getByRole('alert').filter({ hasText: 'The store has not answered' });
    await banner.waitFor({ timeout: 60_000 });
    expect(await banner.innerText()).not.toContain(SECRET);
    await page.getByText('Not live', { exact: true }).waitFor();
    await redis.restart();
    await page.getByText('Live', { exact: true }).waitFor({ timeout: 60_000 });
    await expect.poll(() => banner.count()).toBe(0);
  });

  test('says which part could not be read, and keeps the others current', async () => {
    const { baseUrl } = await start();
    const { page } = await open(baseUrl, { path: 'agents' });
    await page.getByText('No agent is registered').waitFor();
    const busy = {
      type: 'about:blank',
      title: 'Busy',
      status: 503,
      code: 'busy',
      detail: 'The gateway is busy.',
    };
    await page.route('**/api/admin/agents**', (route) =>
      route.fulfill({ status: 503, contentType: 'application/problem+json', body: JSON.stringify(busy) }),
    );
    // What was read is kept; where nothing was, the panel says so.
    const note = page.getByText('Not read: HTTP 503, busy.');
    await note.waitFor();
    await page.getByText('No agent is registered').waitFor();
    await page.getByText('Live', { exact: true }).waitFor();
    await page.reload();
    await page.getByText('Could not read the agents.').waitFor();
    await page.unroute('**/api/admin/agents**');
    await page.getByText('No agent is registered').waitFor({ timeout: 60_000 });
    expect(await note.count()).toBe(0);
  });

  test('offers nothing that changes anything where it only reads', async () => {
    const { baseUrl } = await start({ CONSOLE: 'read-only' });
    const { page } = await open(baseUrl, { path: 'submit' });
    const sentence = page
      .getByText('This console only reads: it was started with CONSOLE=read-only.')
      .first();
    await expect.poll(() => sentence.isVisible()).toBe(true);
  });
});
