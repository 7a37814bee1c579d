/**
 * The page at `/docs` in a real Chromium, below a path as behind a proxy: what it shows, that no request
 * leaves its origin, and that its policy is not violated.
 * @module-tag chromium
 */
import { createServer, type Server, request as sendRequest } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { ADMIN_SECRET, type GatewayProcess, SECRET, startGateway } from '../harness/gateway-process.ts';
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
  async function open(
    options: { readonly width?: number; readonly dark?: boolean; readonly address?: string } = {},
  ) {
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
    await page.goto(`${origin}${PATH}/${options.address ?? 'docs'}`);
    await page.waitForSelector('.opblock-summary');
    return { page, seen };
  }

  const ADMIN = { address: 'docs?document=admin', document: 'openapi.admin.json' };

  const listOperations = async (name = 'openapi.3.2.json') => {
    const document = await (await fetch(`${gateway.baseUrl}/${name}`)).json();
    const items: object[] = [
      ...Object.values(document.paths),
      ...Object.values(document.webhooks ?? {}),
    ] as object[];
    return items.flatMap((item) => Object.values(item) as { operationId: string; summary: string }[]);
  };

  const toggle = (page: Page, summary: string) =>
    page
      .locator('.opblock-summary-control')
      .filter({ has: page.getByText(summary, { exact: true }) })
      .click();

  test('shows the four samples of an operation, and asks no other origin for anything', async () => {
    const { page, seen } = await open();
    const operations = await listOperations();
    for (const { summary } of operations)
      expect(await page.locator('.opblock').getByText(summary, { exact: true }).count()).toBe(1);
    for (const { summary } of operations.filter(({ operationId }) =>
      /submitTask|pushTask/.test(operationId),
    )) {
      const block = page.locator('.opblock', { has: page.locator(`text="${summary}"`) });
      await toggle(page, summary);
      await block.locator('.samples-source').waitFor();
      const shown: string[] = [];
      for (const label of ['curl', 'Python', 'SDK', 'CLI']) {
        await block.getByRole('button', { name: label, exact: true }).click();
        shown.push(await block.locator('.samples-source').innerText());
      }
      expect(shown, summary).toEqual([
        expect.stringContaining('curl -sS'),
        expect.stringContaining('urllib.request'),
        expect.stringContaining('@task-gateway/sdk'),
        expect.stringContaining('task-gateway '),
      ]);
    }
    // A call of the stream would never end.
    const { summary: streamed = '' } =
      operations.find(({ operationId }) => operationId === 'subscribeEvents') ?? {};
    await toggle(page, streamed);
    const block = page.locator('.opblock', { has: page.locator(`text="${streamed}"`) });
    await block.locator('.samples-source').waitFor();
    expect(await block.getByRole('button', { name: 'Try it out' }).count()).toBe(0);
    expect(seen.complaints).toEqual([]);
    expect(
      seen.requests.filter((url) => !url.startsWith(`${origin}${PATH}/`) && !url.startsWith('data:')),
    ).toEqual([]);
    expect(await page.getByText('invalid', { exact: false }).count()).toBe(0);
  });

  /** Types a secret under "Authorize"; the dialog stays open. */
  async function authorize(page: Page, scheme: string, secret: string): Promise<void> {
    const one = page.locator('.dialog-ux .auth-container', { hasText: scheme });
    await one.locator('input').fill(secret);
    await one.getByRole('button', { name: /apply|authorize/i }).click();
  }

  /** Executes each operation that a page shows; returns the statuses. */
  async function executeAll(
    address: string,
    document: string,
    secrets: Readonly<Record<string, string>>,
  ): Promise<ReadonlyMap<string, number>> {
    const { page, seen } = await open({ address });
    await page.getByRole('button', { name: 'Authorize' }).click();
    for (const [scheme, secret] of Object.entries(secrets)) await authorize(page, scheme, secret);
    await page.locator('.dialog-ux').getByRole('button', { name: 'Close' }).first().click();
    const called = new Map<string, number>();
    for (const { operationId, summary } of await listOperations(document)) {
      if (/subscribeEvents|pushTask/.test(operationId)) continue;
      await toggle(page, summary);
      const block = page.locator('.opblock.is-open');
      await block.getByRole('button', { name: 'Try it out' }).click();
      await block.getByRole('button', { name: 'Execute' }).click();
      const status = block.locator('.live-responses-table tbody .response-col_status').first();
      called.set(operationId, Number.parseInt(await status.innerText(), 10));
      if (operationId === 'listAgents') {
        // A call goes to the gateway that serves the page, and what it returns is shown.
        expect(seen.requests.at(-1)).toBe(`${origin}${PATH}/api/admin/agents`);
        const body = block.locator('.live-responses-table tbody .response-col_description').first();
        expect(await body.innerText()).toMatch(/"agents": \[/);
      }
      await toggle(page, summary);
    }
    return called;
  }

  test('executes each operation as its example shows it, once the secrets were typed', async () => {
    const admin = { AdminAuth: ADMIN_SECRET };
    const called = new Map([
      ...(await executeAll('docs', 'openapi.3.2.json', { HeaderAuth: SECRET, ...admin })),
      ...(await executeAll(ADMIN.address, ADMIN.document, admin)),
    ]);
    // The task and the agent of some examples are not there.
    for (const [operationId, status] of called) expect([200, 204, 404], operationId).toContain(status);
    for (const name of ['submitTask', 'previewMatch', 'registerAgent', 'listTasks'])
      expect(called.get(name), name).toBe(200);
  });

  /** Looks at the one operation that is open. */
  async function expectNeed(page: Page, need: string, locks: number): Promise<void> {
    const block = page.locator('.opblock.is-open');
    expect(await block.locator('.operation-need').innerText()).toBe(need);
    expect(await block.locator('.authorization__btn').count(), need).toBe(locks);
  }

  test('leads to the document of the administrator and back, and says which one is shown', async () => {
    const { page, seen } = await open();
    const current = page.locator('.switch [aria-current="page"]');
    expect(await current.innerText()).toBe('Clients and agents');
    await page.getByRole('link', { name: 'Administrator' }).click();
    await page.getByText('Get the overview', { exact: true }).first().waitFor();
    expect([page.url(), await current.innerText()]).toEqual([
      `${origin}${PATH}/${ADMIN.address}`,
      'Administrator',
    ]);
    const summaries = (await listOperations(ADMIN.document)).map(({ summary }) => summary);
    const shown = await page.locator('.opblock-summary-description').allInnerTexts();
    expect(shown.toSorted()).toEqual(summaries.toSorted());
    expect(await page.locator('#contents a').allInnerTexts()).toEqual(shown);
    await toggle(page, 'Get the overview');
    await expectNeed(page, 'Needs the administrator’s secret.', 1);
    await page.getByRole('link', { name: 'Clients and agents' }).click();
    await page.getByText('Submit a task', { exact: true }).first().waitFor();
    expect(await current.innerText()).toBe('Clients and agents');
    expect(seen.complaints).toEqual([]);
  });

  test('shows the document of an operation that an address names', async () => {
    const { page } = await open({ address: 'docs#/admin/getOverview' });
    await page.locator('.opblock.is-open').waitFor();
    await expectNeed(page, 'Needs the administrator’s secret.', 1);
    expect(await page.locator('.switch [aria-current="page"]').innerText()).toBe('Administrator');
  });

  test('has the operations in the order of the document, says what each call needs, and lists all with links', async () => {
    const { page } = await open();
    const operations = (await listOperations()).map(({ summary }) => summary);
    const shown = await page.locator('.opblock-summary-description').allInnerTexts();
    expect(shown).toEqual(operations);
    const linked = page.locator('#contents a');
    // Behind them comes the push, which the gateway sends.
    expect(await linked.allInnerTexts()).toEqual(shown.slice(0, -1));
    for (const href of await linked.evaluateAll((links) =>
      links.map((link) => link.getAttribute('href') ?? ''),
    ))
      expect(await page.locator(`[id="${href.slice(1)}"]`).count(), href).toBe(1);
    const needs: Readonly<Record<string, readonly [need: string, locks: number]>> = {
      'Submit a task': ['Needs the gateway secret.', 1],
      'Preview a match': ['Needs the gateway secret or the administrator’s secret.', 1],
      'Send a heartbeat': ['Needs no secret, unless the gateway requires its own of agents.', 0],
    };
    for (const [summary, [need, locks]] of Object.entries(needs)) {
      await toggle(page, summary);
      await expectNeed(page, need, locks);
      await toggle(page, summary);
    }
    expect(await page.getByText('QueryAuth').count()).toBe(0);
    await page.locator('.documents').getByRole('link', { name: 'Console' }).click();
    await page.getByRole('link', { name: 'API' }).click();
    await page.waitForSelector('.opblock-summary');
    expect(page.url()).toBe(`${origin}${PATH}/docs`);
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
