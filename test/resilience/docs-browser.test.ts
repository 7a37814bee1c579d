/**
 * The page at `/docs` in a real Chromium, below a path as behind a proxy: what it shows, that no request
 * leaves its origin, and that its policy is not violated.
 * @module-tag chromium
 */
import { createServer, type Server, request as sendRequest } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { ADMIN_SECRET, type GatewayProcess, startGateway } from '../harness/gateway-process.ts';
import { launchBrowser } from './browser-page.ts';

const PATH = '/behind/a/proxy';

/** Serves the gateway below a path, as a proxy does. */
async function startProxy(target: string): Promise<Server> {
  const proxy = createServer((incoming, outgoing) => {
    const { method = 'GET', headers, url = '' } = incoming;
    if (!url.startsWith(`${PATH}/`)) {
      outgoing.writeHead(404).end();
      return;
    }
    const passed = sendRequest(`${target}${url.slice(PATH.length)}`, { method, headers }, (response) => {
      outgoing.writeHead(response.statusCode ?? 502, response.headers);
      response.pipe(outgoing);
    });
    incoming.pipe(passed);
  });
  await new Promise<void>((listening) => proxy.listen(0, '127.0.0.1', listening));
  return proxy;
}

describe('the API page', () => {
  let browser: Browser;
  let gateway: GatewayProcess;
  let proxy: Server;
  let origin: string;
  beforeAll(async () => {
    browser = await launchBrowser();
    gateway = await startGateway();
    proxy = await startProxy(gateway.baseUrl);
    origin = `http://127.0.0.1:${(proxy.address() as AddressInfo).port}`;
  });
  afterAll(async () => {
    await browser?.close();
    proxy?.closeAllConnections();
    proxy?.close();
    await gateway?.stop();
  });

  /** Opens the page; `seen` gets what it asks for and what it complains of. */
  async function open(options: { readonly width?: number; readonly dark?: boolean } = {}) {
    const context = await browser.newContext({
      viewport: { width: options.width ?? 1_280, height: 900 },
      colorScheme: options.dark ? 'dark' : 'light',
    });
    onTestFinished(() => context.close());
    const page = await context.newPage();
    const seen = { requests: [] as string[], complaints: [] as string[] };
    page.on('request', (one) => seen.requests.push(one.url()));
    page.on('console', (one) => {
      if (['error', 'warning'].includes(one.type())) seen.complaints.push(one.text());
    });
    page.on('pageerror', (error) => seen.complaints.push(error.message));
    await page.goto(`${origin}${PATH}/docs`);
    await page.waitForSelector('.opblock-summary');
    return { page, seen };
  }

  const listOperations = async () => {
    const document = await (await fetch(`${gateway.baseUrl}/openapi.3.2.json`)).json();
    const items: object[] = [
      ...Object.values(document.paths),
      ...Object.values(document.webhooks),
    ] as object[];
    return items.flatMap((item) => Object.values(item) as { operationId: string; summary: string }[]);
  };

  const toggle = (page: Page, summary: string) =>
    page
      .locator('.opblock-summary-control')
      .filter({ has: page.getByText(summary, { exact: true }) })
      .click();

  test('shows the three samples of an operation, and asks no other origin for anything', async () => {
    const { page, seen } = await open();
    const operations = await listOperations();
    for (const { summary } of operations)
      expect(await page.getByText(summary, { exact: true }).count()).toBe(1);
    for (const { summary } of operations.filter(({ operationId }) =>
      /submitTask|pushTask/.test(operationId),
    )) {
      const block = page.locator('.opblock', { has: page.locator(`text="${summary}"`) });
      await toggle(page, summary);
      await block.locator('.samples-source').waitFor();
      const shown: string[] = [];
      for (const label of ['curl', 'SDK', 'CLI']) {
        await block.getByRole('button', { name: label, exact: true }).click();
        shown.push(await block.locator('.samples-source').innerText());
      }
      expect(shown, summary).toEqual([
        expect.stringContaining('curl -sS'),
        expect.stringContaining('@task-gateway/sdk'),
        expect.stringContaining('task-gateway '),
      ]);
    }
    expect(seen.complaints).toEqual([]);
    expect(
      seen.requests.filter((url) => !url.startsWith(`${origin}${PATH}/`) && !url.startsWith('data:')),
    ).toEqual([]);
    expect(await page.getByText('invalid', { exact: false }).count()).toBe(0);
  });

  test('makes a call to the gateway that serves it, with the secret that was typed', async () => {
    const { page, seen } = await open();
    await page.getByRole('button', { name: 'Authorize' }).click();
    const dialog = page.locator('.dialog-ux');
    const admin = dialog.locator('.auth-container', { hasText: 'AdminAuth' });
    await admin.locator('input').fill(ADMIN_SECRET);
    await admin.getByRole('button', { name: /apply|authorize/i }).click();
    await dialog.getByRole('button', { name: 'Close' }).first().click();
    const { summary } =
      (await listOperations()).find(({ operationId }) => operationId === 'listAgents') ?? {};
    await toggle(page, summary ?? '');
    await page.getByRole('button', { name: 'Try it out' }).click();
    await page.getByRole('button', { name: 'Execute' }).click();
    const body = page.locator('.live-responses-table tbody .response-col_description');
    await body.waitFor();
    expect(await body.innerText()).toMatch(/"agents": \[\]/);
    expect(seen.requests.at(-1)).toBe(`${origin}${PATH}/api/admin/agents`);
    expect(seen.complaints).toEqual([]);
  });

  test('offers no call of the stream, which would never end', async () => {
    const { page } = await open();
    const { summary } =
      (await listOperations()).find(({ operationId }) => operationId === 'subscribeEvents') ?? {};
    await toggle(page, summary ?? '');
    await page.locator('.samples-source').waitFor();
    expect(await page.getByRole('button', { name: 'Try it out' }).count()).toBe(0);
  });

  test.each([
    [360, true],
    [1_280, false],
  ])('fits a window of %i pixels, dark: %s', async (width, dark) => {
    const { page } = await open({ width, dark });
    await toggle(page, 'Submit a task');
    await page.locator('.samples-source').waitFor();
    const widths = await page.evaluate(() => [document.documentElement.scrollWidth, innerWidth]);
    expect(widths[0]).toBeLessThanOrEqual(widths[1] ?? 0);
    const [red = 0] = await page.evaluate(() =>
      (/\d+/g[Symbol.match](getComputedStyle(document.documentElement).backgroundColor) ?? []).map(Number),
    );
    expect(red < 64 && red > 0).toBe(dark);
  });

  test('says so when the document cannot be read', async () => {
    const context = await browser.newContext();
    onTestFinished(() => context.close());
    const page = await context.newPage();
    await page.route('**/openapi.3.2.json', (route) => route.fulfill({ status: 503, body: '' }));
    await page.goto(`${origin}${PATH}/docs`);
    const sentence = page.getByText('could not be read: it responded with 503');
    await expect.poll(() => sentence.isVisible()).toBe(true);
  });
});
