/**
 * A page of another origin in a real browser, even one that knows the secret: it creates nothing without a
 * preflight and reads nothing, unless its origin is configured.
 * @module-tag chromium
 */
import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { ADMIN_SECRET, type GatewayProcess, SECRET, startGateway } from '../harness/gateway-process.ts';
import { type ForeignPage, launchBrowser, openForeignPage } from './browser-page.ts';

/** The options a script gives to fetch. */
type Init = {
  readonly method?: string;
  readonly mode?: 'no-cors' | 'cors';
  readonly headers?: Record<string, string>;
  readonly body?: string;
};

const BODY = JSON.stringify({ auth: SECRET, task_type: 'csrf', task_tags: ['x'], payload: {} });

describe('a web page of another origin', () => {
  let browser: Browser;
  let gateway: GatewayProcess;
  let foreign: ForeignPage;
  beforeAll(async () => {
    browser = await launchBrowser();
    gateway = await startGateway();
    foreign = await openForeignPage(browser);
  });
  afterAll(async () => {
    await foreign?.stop();
    await browser?.close();
    await gateway?.stop();
  });

  const countTasks = async (url: string): Promise<number> => {
    const answer = await fetch(`${url}/api/admin/tasks`, { headers: { 'X-Admin-Auth': ADMIN_SECRET } });
    return ((await answer.json()) as { tasks: readonly unknown[] }).tasks.length;
  };

  test.each(['text/plain', 'application/x-www-form-urlencoded', 'multipart/form-data'])(
    'creates nothing with a form of type %s whose fields spell JSON',
    async (enctype) => {
      const { page } = foreign;
      const target = `${gateway.baseUrl}/api/cli/tasks`;
      const answered = page.waitForResponse((response) => response.url() === target);
      await page.evaluate(
        ({ target, enctype, body }) => {
          const frame = Object.assign(document.createElement('iframe'), { name: `frame-${Math.random()}` });
          const form = Object.assign(document.createElement('form'), {
            method: 'POST',
            action: target,
            enctype,
          });
          form.target = frame.name;
          // The name and the value are joined with an equals sign, which comes to stand in a string.
          const split = body.lastIndexOf('}');
          const field = Object.assign(document.createElement('input'), {
            name: `${body.slice(0, split)},"ignored":"`,
            value: '"}',
          });
          form.append(field);
          document.body.append(frame, form);
          form.submit();
        },
        { target, enctype, body: BODY },
      );
      expect((await answered).status()).toBe(415);
      expect(await countTasks(gateway.baseUrl)).toBe(0);
    },
  );

  /** What a script of the page could read, or how it failed. */
  const tryFetch = (page: ForeignPage['page'], url: string, init: Init): Promise<string> =>
    page.evaluate(
      async ([target, options]) => {
        try {
          const answer = await fetch(target, options);
          return `${answer.type} ${answer.status} ${(await answer.text()).slice(0, 40)}`;
        } catch (error) {
          return `refused: ${(error as Error).name}`;
        }
      },
      [url, init] as const,
    );

  test('creates nothing and reads nothing with fetch, in any mode', async () => {
    const { page } = foreign;
    const url = `${gateway.baseUrl}/api/cli/tasks`;
    const json = { 'content-type': 'application/json' };
    const post = { method: 'POST', body: BODY } as const;
    expect(await tryFetch(page, url, { ...post, mode: 'no-cors' })).toBe('opaque 0 ');
    // Without CORS no other type than the plain ones goes out at all.
    expect(await tryFetch(page, url, { ...post, mode: 'no-cors', headers: json })).toBe('opaque 0 ');
    expect(await tryFetch(page, url, post)).toBe('refused: TypeError');
    expect(await tryFetch(page, url, { ...post, headers: json })).toBe('refused: TypeError');
    expect(await tryFetch(page, url, { ...post, headers: { authorization: `Bearer ${SECRET}` } })).toBe(
      'refused: TypeError',
    );
    const query = `auth=${SECRET}`;
    expect(await tryFetch(page, `${gateway.baseUrl}/api/cli/tasks/x?${query}`, {})).toBe(
      'refused: TypeError',
    );
    const admin = { headers: { 'x-admin-auth': ADMIN_SECRET } };
    expect(await tryFetch(page, `${gateway.baseUrl}/api/admin/agents`, admin)).toBe('refused: TypeError');
    expect(await countTasks(gateway.baseUrl)).toBe(0);
  });

  test('creates nothing with a beacon, of whatever type', async () => {
    const { page } = foreign;
    const url = `${gateway.baseUrl}/api/cli/tasks`;
    for (const type of ['text/plain', 'application/x-www-form-urlencoded', 'application/json']) {
      const failed = new Promise<void>((seen) => {
        page.once('requestfinished', () => seen());
        page.once('requestfailed', () => seen());
      });
      await page.evaluate(([to, body, kind]) => navigator.sendBeacon(to, new Blob([body], { type: kind })), [
        url,
        BODY,
        type,
      ] as const);
      await failed;
    }
    expect(await countTasks(gateway.baseUrl)).toBe(0);
  });

  test('reads no event, no image and no script of the gateway', async () => {
    const { page } = foreign;
    const query = `auth=${SECRET}&cli_session_id=s`;
    const seen = await page.evaluate(
      async (base) => {
        const load = (element: HTMLImageElement | HTMLScriptElement, src: string): Promise<string> =>
          new Promise((resolve) => {
            element.onload = () => resolve('loaded');
            element.onerror = () => resolve('failed');
            element.src = src;
            document.body.append(element);
          });
        const events = new Promise<string>((resolve) => {
          const source = new EventSource(`${base.url}/api/cli/events?${base.query}`);
          source.onopen = () => resolve('open');
          source.onerror = () => {
            source.close();
            resolve('failed');
          };
        });
        return [
          await events,
          await load(new Image(), `${base.url}/api/cli/tasks/x?${base.query}`),
          await load(document.createElement('script'), `${base.url}/api/cli/tasks/x?${base.query}`),
        ];
      },
      { url: gateway.baseUrl, query },
    );
    expect(seen).toEqual(['failed', 'failed', 'failed']);
  });

  test('may do all of this when its origin is configured, and no other page then', async () => {
    const open = await startGateway({ CORS_ORIGINS: foreign.origin });
    onTestFinished(async () => void (await open.stop()));
    const other = await openForeignPage(browser);
    onTestFinished(() => other.stop());
    const url = `${open.baseUrl}/api/cli/tasks`;
    const call = { method: 'POST', body: BODY, headers: { 'content-type': 'application/json' } };
    expect(await tryFetch(other.page, url, call)).toBe('refused: TypeError');
    expect(await countTasks(open.baseUrl)).toBe(0);
    expect(await tryFetch(foreign.page, url, call)).toMatch(/^cors 200 \{"request_id"/);
    expect(await countTasks(open.baseUrl)).toBe(1);
    // A form is sent without a preflight, so it is refused for its type even then.
    expect(await tryFetch(foreign.page, url, { method: 'POST', body: BODY })).toMatch(/^cors 415 /);
    expect(await countTasks(open.baseUrl)).toBe(1);
  });

  test('that took over a name for the gateway’s address lacks the secret and reads nothing', async () => {
    // A name that resolves to the loopback makes the page's own origin the gateway's: what protects is the
    // secret.
    const page = await browser.newPage();
    onTestFinished(() => page.close());
    await page.goto(`http://localhost:${new URL(gateway.baseUrl).port}/`);
    for (const path of [
      '/api/cli/tasks/x',
      '/api/cli/events?cli_session_id=s',
      '/api/admin/agents',
      '/api/admin/tasks',
    ])
      expect(await tryFetch(page, path, {})).toMatch(/^basic 401 /);
    const body = BODY.replace(SECRET, 'guessed');
    const call = { method: 'POST', body, headers: { 'content-type': 'application/json' } };
    expect(await tryFetch(page, '/api/cli/tasks', call)).toMatch(/^basic 401 /);
    expect(await countTasks(gateway.baseUrl)).toBe(0);
  });
});
