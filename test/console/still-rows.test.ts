/**
 * Nothing moves under the pointer while data changes: rows keep their order and their height, new ones wait
 * in a space that is there before, rows that leave the filter stay; selection, focus and scroll survive. What
 * moves without having been asked to is counted by the browser itself (its layout shifts).
 * @module-tag chromium
 */
import type { Page } from 'playwright-core';
import { describe, expect, onTestFinished, test } from 'vitest';
import type { AgentId, RequestId, SessionId } from '../../sdk/index.ts';
import { browser, client, gateway, useBrowser } from './browser-fixture.ts';
import { openConsole } from './console-page.ts';

useBrowser();

const SESSION = 'still' as SessionId;
/** An age at the right of a cell gets a digit and begins further left; a row that moves is far over it. */
const SHIFT_MAX = 0.005;

describe('while data changes', () => {
  /** Opens a page once it shows what it has to. */
  async function open(path: string, shows: string): Promise<Page> {
    const { page, context } = await openConsole(browser, gateway.baseUrl, { path });
    onTestFinished(() => context.close());
    await page.getByText(shows).first().waitFor();
    return page;
  }

  async function submitMany(count: number, tag: string): Promise<readonly RequestId[]> {
    const ids: RequestId[] = [];
    for (let one = 0; one < count; one += 1) {
      const submission = {
        task_type: `still-${one}`,
        task_tags: [tag],
        payload: { one },
        queue_timeout: 600,
      };
      ids.push((await client.submitTask({ ...submission, cli_session_id: SESSION })).request_id);
    }
    return ids;
  }

  /** The ids of the rows, in order, and where each begins on the page. */
  const locateRows = (page: Page) =>
    page
      .locator('[data-row]')
      .evaluateAll((rows) =>
        rows.map((row) => [row.getAttribute('data-row'), row.getBoundingClientRect().top] as const),
      );

  /** Begins to count layout shifts that no input caused. */
  const watchShifts = (page: Page) =>
    page.evaluate(() => {
      const shifts: number[] = [];
      Object.assign(window, { shifts });
      new PerformanceObserver((list) => {
        for (const entry of list.getEntries()) shifts.push((entry as unknown as { value: number }).value);
      }).observe({ type: 'layout-shift' });
    });
  /** Their sum: how much of the window moved, and how far. */
  const readShifts = (page: Page) =>
    page.evaluate(
      () =>
        new Promise<number>((resolve) => {
          // What was drawn last is in the list after two frames.
          requestAnimationFrame(() =>
            requestAnimationFrame(() =>
              resolve((window as unknown as { shifts: number[] }).shifts.reduce((sum, one) => sum + one, 0)),
            ),
          );
        }),
    );

  test('tasks stay: new ones wait, those that leave the filter are dimmed, the rest changes in its row', async () => {
    await submitMany(12, 'stay');
    const page = await open('tasks?tag=stay&status=pending,running', '12 tasks match');
    const before = await locateRows(page);
    const focused = before[3]?.[0] ?? '';
    const leaving = before[5]?.[0] ?? '';
    await page.mouse.move(400, before[4]?.[1] ?? 0);
    for (let press = 0; press < 4; press += 1) await page.keyboard.press('j');
    await page.keyboard.press('x');
    await watchShifts(page);

    await submitMany(6, 'stay');
    await client.cancelTask(leaving as RequestId);
    const added = page.getByRole('button', { name: '6 new, show them' });
    await added.waitFor();
    await page.locator(`[data-row="${leaving}"].dim`).waitFor();
    expect(await locateRows(page)).toEqual(before);
    expect(await page.evaluate(() => document.activeElement?.getAttribute('data-row'))).toBe(focused);
    expect(await page.locator('[data-row] input:checked').count()).toBe(1);
    expect(await readShifts(page)).toBeLessThan(SHIFT_MAX);

    await added.click();
    await expect.poll(async () => (await locateRows(page)).length).toBe(17);
    const shown = (await locateRows(page)).map(([id]) => id);
    expect(shown.slice(6)).toEqual(before.map(([id]) => id).filter((id) => id !== leaving));
    expect(await page.getByRole('button', { name: /new, show/ }).count()).toBe(0);
  });

  test('a scrolled list stays where it is', async () => {
    await submitMany(60, 'scroll');
    const page = await open('tasks?tag=scroll', '60 tasks match');
    await page.mouse.move(400, 400);
    await page.mouse.wheel(0, 700);
    await expect.poll(() => page.evaluate(() => scrollY)).toBeGreaterThan(300);
    const [before, top] = [await locateRows(page), await page.evaluate(() => scrollY)];
    await watchShifts(page);
    await submitMany(3, 'scroll');
    // The page asks for the counts every ten seconds.
    await page.getByText('63 tasks match').waitFor({ timeout: 60_000 });
    expect(await locateRows(page)).toEqual(before);
    expect(await page.evaluate(() => scrollY)).toBe(top);
    expect(await readShifts(page)).toBeLessThan(SHIFT_MAX);
  });

  test('events wait while the pointer is at them', async () => {
    const ids = await submitMany(5, 'events');
    const cancel = (at: number) => client.cancelTask(ids[at] ?? ('' as RequestId));
    await cancel(0);
    await cancel(1);
    const page = await open(`events?session=${SESSION}`, ids[1]?.slice(-8) ?? '');
    const before = await locateRows(page);
    await page.locator('[data-row]').first().hover();
    await watchShifts(page);
    await cancel(2);
    const added = page.getByRole('button', { name: '1 new, show it' });
    await added.waitFor();
    expect(await locateRows(page)).toEqual(before);
    expect(await readShifts(page)).toBeLessThan(SHIFT_MAX);
    await added.click();
    await expect.poll(async () => (await locateRows(page))[0]?.[0]).toBe(ids[2]);
  });

  test.each([
    ['agents', 'agents', 'agent-d', 'd'],
    ['the overview', '', 'Demand and supply by tag', 'c'],
  ])('the rows of %s keep their order while the pointer is at them', async (_name, path, shows, tag) => {
    for (const name of ['a', 'b', 'c', 'd']) {
      const agent_id = `agent-${name}` as AgentId;
      await client.registerAgent({ agent_id, agent_tags: [name], endpoint: 'pull', max_concurrent: 1 });
    }
    const page = await open(path, shows);
    const row = page.locator(`[data-row="${path === '' ? tag : `agent-${tag}`}"]`);
    await row.waitFor();
    await page.locator('[data-row]').first().hover();
    const before = await locateRows(page);
    const text = await row.innerText();
    await submitMany(4, tag);
    await client.claimTask({ agent_id: `agent-${tag}` as AgentId, wait: 0 });
    // By what it needs now, it would be the first row.
    await expect.poll(() => row.innerText()).not.toBe(text);
    expect((await locateRows(page)).slice(0, before.length)).toEqual(before);
  });

  test('a new problem waits while the pointer moves over the overview', async () => {
    await submitMany(2, 'problem-before');
    const page = await open('', 'Oldest waiting');
    const oldest = page.getByRole('table', { name: 'Oldest waiting' });
    const topOf = () => oldest.evaluate((element) => element.getBoundingClientRect().top);
    await page.locator('#wrong').getByText('problem-before').first().waitFor();
    const place = await oldest.boundingBox();
    await page.mouse.move((place?.x ?? 0) + 40, (place?.y ?? 0) + 60);
    const before = await topOf();
    await submitMany(1, 'problem-new');
    const added = page.locator('#wrong').getByRole('button', { name: /new, show/ });
    let step = 0;
    // It moves all the time: a pointer that rests holds nothing.
    const isAdded = async (): Promise<boolean> => {
      step += 1;
      await page.mouse.move((place?.x ?? 0) + 40 + (step % 2), (place?.y ?? 0) + 60);
      return added.isVisible();
    };
    await expect.poll(isAdded, { timeout: 60_000 }).toBe(true);
    expect(await topOf()).toBe(before);
    await added.click();
    await page.locator('#wrong').getByText('problem-new').first().waitFor();
  });

  test('events come in pages', async () => {
    const session = 'pages' as SessionId;
    for (let count = 0; count < 55; count += 1) {
      await client.submitTask({
        task_type: 't',
        task_tags: ['absent'],
        payload: {},
        cli_session_id: session,
      });
    }
    const page = await open(`events?session=${session}`, '1 to 50 of 55');
    expect((await locateRows(page)).length).toBe(50);
    await page.getByRole('button', { name: 'Older' }).click();
    await page.getByText('51 to 55 of 55').waitFor();
    expect((await locateRows(page)).length).toBe(5);
    // Behind the first page they wait too.
    await client.submitTask({ task_type: 't', task_tags: ['absent'], payload: {}, cli_session_id: session });
    await page.getByRole('button', { name: '1 new, show it' }).click();
    await page.getByText('1 to 50 of 56').waitFor();
  });
});
