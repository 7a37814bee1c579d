/**
 * The console without a pointer, over the real gateway: to a page, to a task, a filter, a selection,
 * cancelling all that match, submitting again with another payload, the help, and where the focus is.
 * @module-tag chromium
 */
import type { Locator, Page } from 'playwright-core';
import { beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import type { AgentId, RequestId } from '../../sdk/index.ts';
import { browser, client, gateway, useBrowser } from './browser-fixture.ts';
import { openConsole } from './console-page.ts';

useBrowser();

describe('without a pointer', () => {
  let page: Page;
  /** Tasks that wait, the newest first as the list shows them. */
  let waiting: readonly RequestId[];
  /** The tag of the tasks of this test. */
  let tag = '';
  let tests = 0;
  beforeEach(async () => {
    tests += 1;
    tag = `run-${tests}`;
    const ids: RequestId[] = [];
    for (const task_type of ['report', 'train', 'train', 'report', 'train']) {
      const payload = { of: task_type, count: ids.length };
      const { request_id } = await client.submitTask({
        task_type,
        task_tags: [tag],
        payload,
        queue_timeout: 600,
      });
      ids.unshift(request_id);
    }
    waiting = ids;
    const opened = await openConsole(browser, gateway.baseUrl, { path: `tasks?tag=${tag}` });
    onTestFinished(() => opened.context.close());
    await opened.context.grantPermissions(['clipboard-read', 'clipboard-write']);
    page = opened.page;
    await page.getByText('5 tasks match').waitFor();
  });

  const press = async (...keys: readonly string[]): Promise<void> => {
    for (const key of keys) await page.keyboard.press(key);
  };
  /** Two keys count as a pair within 1.5 s, which a busy machine may miss: then they are pressed again. */
  const pressPair = async (first: string, second: string, shown: Locator): Promise<void> => {
    await expect
      .poll(
        async () => {
          await press(first, second);
          return await shown.waitFor({ timeout: 60_000 }).then(
            () => true,
            () => false,
          );
        },
        { timeout: 60_000 },
      )
      .toBe(true);
  };
  const heading = (name: string) => page.getByRole('heading', { level: 1, name }).waitFor();
  const focusedRow = () =>
    page.evaluate(() => document.activeElement?.closest('[data-row]')?.getAttribute('data-row'));
  const focusedText = () => page.evaluate(() => document.activeElement?.textContent);
  const selectedCount = () => page.locator('[data-row] input:checked').count();

  test('every page is two keys away', async () => {
    for (const [key, name] of [
      ['t', 'Tasks'],
      ['a', 'Agents'],
      ['e', 'Events'],
      ['s', 'Submit a task'],
    ] as const) {
      await pressPair('g', key, page.getByRole('heading', { level: 1, name }));
    }
    await press('Escape');
    await pressPair('g', 'o', page.getByText('Demand and supply by tag'));
  });

  test('rows are walked, opened, copied and left again', async () => {
    await press('j', 'j', 'ArrowDown', 'k');
    expect(await focusedRow()).toBe(waiting[1]);
    await press('y');
    await page.getByText('Copied the id.').first().waitFor();
    expect(await page.evaluate(() => navigator.clipboard.readText())).toBe(waiting[1]);
    await press('Enter');
    await heading('report');
    expect(new URL(page.url()).pathname).toBe(`/console/tasks/${waiting[1]}`);
    await press('u');
    await heading('Tasks');
    await press('/');
    await page.keyboard.type(waiting[2] ?? '');
    await press('Enter');
    await heading('train');
    expect(new URL(page.url()).pathname).toBe(`/console/tasks/${waiting[2]}`);
  });

  test('the field at the top finds an agent and a task by its end, and says what it does not find', async () => {
    await client.registerAgent({
      agent_id: `finder-${tag}` as AgentId,
      agent_tags: ['finding'],
      endpoint: 'pull',
      max_concurrent: 1,
    });
    await press('/');
    await page.keyboard.type(`finder-${tag}`);
    await press('Enter');
    await heading(`finder-${tag}`);
    await press('/');
    await page.keyboard.type((waiting[1] ?? '').slice(-8));
    await press('Enter');
    await heading('report');
    expect(new URL(page.url()).pathname).toBe(`/console/tasks/${waiting[1]}`);
    await press('/');
    await page.keyboard.type('nothing has this name');
    await press('Enter');
    await page
      .getByText('No agent, task, session or tag is called “nothing has this name”.')
      .first()
      .waitFor();
    expect(new URL(page.url()).pathname).toBe(`/console/tasks/${waiting[1]}`);
  });

  test('a selection grows by ranges, is asked about, and is cleared', async () => {
    await press('j', 'x', 'j', 'j', 'Shift+X');
    expect(await selectedCount()).toBe(3);
    await press('c');
    await page.getByRole('heading', { name: 'Cancel 3 open tasks?' }).waitFor();
    await expect.poll(focusedText).toBe('Keep them');
    // Keys of the page behind it do nothing, and the focus stays in the dialog.
    await press('g', 't', 'j');
    for (let tab = 0; tab < 4; tab += 1) {
      await press('Tab');
      const isInside = await page.evaluate(
        () => document.activeElement === document.body || document.activeElement?.closest('dialog') !== null,
      );
      expect(isInside).toBe(true);
    }
    await press('Escape');
    await expect.poll(() => page.getByRole('alertdialog').count()).toBe(0);
    // The dialog gives the focus back once it is gone.
    await expect.poll(focusedRow).toBe(waiting[2]);
    expect(await selectedCount()).toBe(3);
    await press('Escape');
    await expect.poll(selectedCount).toBe(0);
    expect((await client.getTask(waiting[0] ?? ('' as RequestId))).status).toBe('pending');
  });

  test('all waiting tasks of a type are cancelled, and no other', async () => {
    await press('f');
    await page.keyboard.type('type=train');
    await press('Enter');
    await page.keyboard.type('waiting=true');
    await press('Enter');
    await page.getByText('3 tasks match').waitFor();
    expect(new URL(page.url()).search).toBe(`?tag=${tag}&type=train&waiting=true`);
    await expect.poll(() => page.locator('[data-row]').count()).toBe(3);
    await press('Escape', 'a', 'c');
    await page.getByRole('heading', { name: 'Cancel 3 open tasks?' }).waitFor();
    // What is submitted after the count is not cancelled.
    const late = await client.submitTask({
      task_type: 'train',
      task_tags: [tag],
      payload: {},
      queue_timeout: 600,
    });
    await page.getByRole('button', { name: 'Cancel 3 tasks' }).waitFor();
    await press('Tab', 'Enter');
    await page.getByText('3 cancelled.').first().waitFor();
    await expect.poll(() => page.locator('[data-row]').getByText('Cancelled').count()).toBe(3);
    const statuses = await Promise.all(
      [...waiting, late.request_id].map(async (id) => (await client.getTask(id)).error_info),
    );
    const cancelled = 'cancelled by user';
    expect(statuses).toEqual([cancelled, null, cancelled, cancelled, null, null]);
  });

  test('a task is submitted again with another payload', async () => {
    await press('j', 'r');
    await heading('Submit a task');
    const payload = page.getByLabel('Payload');
    await expect.poll(() => payload.inputValue()).toBe('{\n  "of": "train",\n  "count": 4\n}');
    while ((await page.evaluate(() => document.activeElement?.id)) !== 'payload') await press('Tab');
    await press('Control+A');
    await page.keyboard.type('{"of":"another",}');
    await page.getByText('Line 1: Expected double-quoted property name.').waitFor();
    await press('Control+Enter');
    await press('Control+A');
    await page.keyboard.type('{"of":"another"}');
    await press('Control+Enter');
    await heading('train');
    const request_id = new URL(page.url()).pathname.split('/').at(-1) as RequestId;
    expect(waiting).not.toContain(request_id);
    expect(await client.getTask(request_id)).toMatchObject({
      task_type: 'train',
      task_tags: [tag],
      payload: { of: 'another' },
      status: 'pending',
    });
    expect((await client.explainTask(request_id)).queue_timeout).toBe(600);
  });

  test('the help names the keys, and switches single ones off and on', async () => {
    const toggle = async (): Promise<void> => {
      await press('Shift+Tab', 'Space', 'Escape');
      await expect.poll(() => page.getByRole('heading', { name: 'Keys' }).count()).toBe(0);
    };
    await press('?');
    await page.getByRole('heading', { name: 'Keys' }).waitFor();
    await toggle();
    await press('g', 'a', 'j', 'x', '?');
    expect([new URL(page.url()).pathname, await selectedCount()]).toEqual(['/console/tasks', 0]);
    expect(await page.getByRole('heading', { name: 'Keys' }).count()).toBe(0);
    // Arrows and Escape are never off.
    await press('ArrowDown');
    expect(await focusedRow()).toBe(waiting[0]);
  });

  test('the focus is seen wherever it goes, and the first one skips to the content', async () => {
    await page.evaluate(() => document.activeElement instanceof HTMLElement && document.activeElement.blur());
    await press('Tab');
    expect(await focusedText()).toBe('Skip to content');
    await press('Enter');
    expect(await page.evaluate(() => document.activeElement?.id)).toBe('main');
    const unseen: string[] = [];
    for (let tab = 0; tab < 24; tab += 1) {
      await press('Tab');
      const found = await page.evaluate(() => {
        const element = document.activeElement;
        if (!element || element === document.body) return null;
        // A field may draw the focus around the box that it stands in.
        const around = [element, element.parentElement].filter((one) => one !== null);
        const isSeen = around.some((one) => Number.parseFloat(getComputedStyle(one).outlineWidth) >= 2);
        return isSeen ? null : element.outerHTML.slice(0, 120);
      });
      if (found !== null) unseen.push(found);
    }
    expect(unseen).toEqual([]);
  });
});
