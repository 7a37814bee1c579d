/**
 * What an attacker writes into types, tags, sessions, payloads, results, errors and the ids of agents is text
 * on every page: no script of it runs, nothing of it becomes an element or leads elsewhere, the page's policy
 * is never violated, and nothing of it makes a page wider than its window.
 * @module-tag chromium
 */
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import {
  type AgentId,
  createClient,
  type RequestId,
  type SessionId,
  type TaskGatewayClient,
} from '../../sdk/index.ts';
import { ADMIN_SECRET, type GatewayProcess, SECRET, startGateway } from '../harness/gateway-process.ts';
import { type ConsolePage, launchBrowser, openConsole } from './console-page.ts';

/** Each would set `window.ran` if it were anything but text. */
const TEXTS = [
  '<img src=x onerror=window.ran=1>',
  '"><script>window.ran=1</script>',
  "'><svg/onload=window.ran=1>",
  '</textarea><script>window.ran=1</script>',
  'javascript:window.ran=1//',
  '<a href="javascript:window.ran=1">press</a>',
  '<iframe srcdoc="<script>parent.ran=1</script>">',
  '<style>*{display:none}</style>',
  "{{constructor.constructor('window.ran=1')()}}",
  '$\u007bwindow.ran=1}',
  '`code` and `an open one',
  '../../api/cli/tasks?auth=x#y',
  'turned \u202Etxt.exe',
  'a\u0000b\u001B[31mc\u200Bd\u2028e'.replaceAll('\u0000', '\u0001'),
  `long${'W'.repeat(240)}`,
  '__proto__',
  'constructor',
];

/** Submits tasks that hold the texts everywhere, and ends some of them with results and errors that do. */
async function fillGateway(client: TaskGatewayClient): Promise<readonly RequestId[]> {
  const ids: RequestId[] = [];
  for (const [index, text] of TEXTS.entries()) {
    const agent_id = `${text}` as AgentId;
    await client.registerAgent({
      agent_id,
      agent_tags: [text, 'shared'],
      endpoint: 'pull',
      max_concurrent: 3,
    });
    const submission = {
      task_type: text,
      cli_session_id: 'hostile' as SessionId,
      queue_timeout: 600,
      payload: { [text]: text, deep: [{ [text]: [text] }] },
    };
    const { request_id } = await client.submitTask({ ...submission, task_tags: [text] });
    ids.push(request_id);
    await client.submitTask({ ...submission, task_tags: [`${text} of none`], queue_timeout: 0 });
    // A task may be assigned a moment after its submission.
    await client.claimTask({ agent_id, wait: 5 });
    if (index % 3 === 0) {
      await client.reportResult({ agent_id, request_id, status: 'failed', error_info: text });
    } else if (index % 3 === 1) {
      const result = { reply: text, output: text, [text]: { [text]: text } };
      await client.reportResult({ agent_id, request_id, status: 'success', result });
    }
  }
  return ids;
}

describe('what attackers write', () => {
  let browser: Browser;
  let gateway: GatewayProcess;
  let ids: readonly RequestId[];
  let shared: ConsolePage;
  beforeAll(async () => {
    [browser, gateway] = await Promise.all([launchBrowser(), startGateway()]);
    ids = await fillGateway(
      createClient({ baseUrl: gateway.baseUrl, auth: SECRET, adminAuth: ADMIN_SECRET }),
    );
    shared = await openConsole(browser, gateway.baseUrl);
  });
  afterAll(async () => {
    await browser?.close();
    await gateway?.stop();
  });

  /** Shows another page of the console in the window that all tests share. */
  async function open(path: string) {
    const { page, seen } = shared;
    seen.complaints.length = 0;
    seen.requests.length = 0;
    await page.setViewportSize({ width: 1_280, height: 800 });
    await page.goto(`${gateway.baseUrl}/console/${path}`);
    return shared;
  }

  /** What is on the page that attackers could have put there. */
  const inspect = (page: Page) =>
    page.evaluate(() => ({
      ran: 'ran' in window,
      elements: [
        ...document.querySelectorAll(
          'img, iframe, object, embed, style, base, form[action], #console script',
        ),
      ].map(({ outerHTML }) => outerHTML.slice(0, 200)),
      handlers: [...document.querySelectorAll('*')].flatMap((element) =>
        element.getAttributeNames().filter((name) => name.startsWith('on')),
      ),
      links: [...document.querySelectorAll('a[href]')]
        .map((link) => (link as HTMLAnchorElement).href)
        .filter((href) => href !== `${location.origin}/docs`)
        .filter(
          (href) => !href.startsWith(`${location.origin}/console/`) && !href.startsWith(`${location.href}#`),
        ),
      wide: [...document.querySelectorAll('main *')]
        .filter(() => document.documentElement.scrollWidth > innerWidth)
        .filter((element) => element.getBoundingClientRect().right > innerWidth)
        .map(({ outerHTML }) => outerHTML.slice(0, 80)),
    }));
  /** Unfolds all JSON on the page. */
  const unfold = (page: Page) =>
    page.evaluate(async () => {
      const findFolded = () => [...document.querySelectorAll<HTMLDetailsElement>('details:not([open])')];
      for (let folded = findFolded(); folded.length > 0; folded = findFolded()) {
        for (const one of folded) one.open = true;
        await new Promise((drawn) => requestAnimationFrame(() => requestAnimationFrame(drawn)));
      }
    });
  const HARMLESS = { ran: false, elements: [], handlers: [], links: [], wide: [] };

  const AROUND: readonly (readonly [string, string, string])[] = [
    ['overview', '', 'Demand and supply by tag'],
    ['tasks', 'tasks', 'to 34 of 34'],
    ['agents', 'agents', 'Agents'],
    ['events', 'events?session=hostile', 'newest first'],
    ...TEXTS.slice(0, 4).map(
      (text) => [`a filter of ${text}`, `tasks?tag=${encodeURIComponent(text)}`, '1 to 1 of 1'] as const,
    ),
    ['a filter with a wrong value', `tasks?status=${encodeURIComponent(TEXTS[0] ?? '')}`, 'status'],
    ['an unknown task', `tasks/${encodeURIComponent(TEXTS[1] ?? '')}`, 'No task has this id'],
    [
      'a session',
      `events?session=${encodeURIComponent(TEXTS[0] ?? '')}&after=${encodeURIComponent('<b>')}`,
      'Events',
    ],
  ];

  test.each(AROUND)('is text on the page of %s', async (_name, path, shows) => {
    const { page, seen } = await open(path);
    await page.getByText(shows).first().waitFor();
    expect(await inspect(page)).toEqual(HARMLESS);
    await page.setViewportSize({ width: 360, height: 740 });
    await expect.poll(() => inspect(page)).toEqual(HARMLESS);
    // An unknown task is asked for, and is not there.
    const complaints = seen.complaints.filter((text) => !path.startsWith('tasks/') || !text.includes('404'));
    expect(complaints).toEqual([]);
    expect(seen.requests.filter((url) => !url.startsWith(`${gateway.baseUrl}/`))).toEqual([]);
  });

  test('is text on the pages of tasks, of their agents, and in the form', async () => {
    const { page, seen } = await open('');
    for (const [index, request_id] of ids.entries()) {
      const text = TEXTS[index] ?? '';
      await page.goto(`${gateway.baseUrl}/console/tasks/${request_id}`);
      await page.getByRole('heading', { name: 'Timeline' }).waitFor();
      expect(await page.locator('h1').textContent()).toBe(text);
      await unfold(page);
      await expect.poll(() => inspect(page), { message: text }).toEqual(HARMLESS);
      if (index % 3 !== 0) continue;
      await page.goto(`${gateway.baseUrl}/console/submit?from=${request_id}`);
      await expect.poll(() => page.getByLabel('Type').inputValue()).toBe(text.replace(/[\r\n]/g, ''));
      await page.getByText('The same as').waitFor();
      expect(await inspect(page), text).toEqual(HARMLESS);
    }
    for (const text of TEXTS.slice(0, 4)) {
      await page.goto(`${gateway.baseUrl}/console/agents/${encodeURIComponent(text)}`);
      await page.getByText(text).first().waitFor();
      expect(await inspect(page), text).toEqual(HARMLESS);
    }
    expect(seen.complaints).toEqual([]);
    expect(seen.requests.filter((url) => !url.startsWith(`${gateway.baseUrl}/`))).toEqual([]);
  });

  test('would be found: a script in the page is refused by its policy, and says so', async () => {
    const { page, seen } = await open('tasks');
    await page.getByText('to 34 of 34').waitFor();
    await page.evaluate(() => {
      const inline = document.createElement('div');
      inline.innerHTML = '<img src="data:," onerror="window.ran=1">';
      document.body.append(inline);
    });
    await expect.poll(() => seen.complaints.join(' ')).toMatch(/Content Security Policy/);
    expect(await inspect(page)).toMatchObject({ ran: false, elements: [expect.stringContaining('<img')] });
  });
});
