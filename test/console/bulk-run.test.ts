/**
 * A cancellation of more tasks than one call looks at, over the real gateway: the counts that are "at least",
 * and an action that goes on when its page is left and asks before the tab is closed.
 * @module-tag chromium
 */
import { expect, onTestFinished, test } from 'vitest';
import { browser, client, gateway, useBrowser } from './browser-fixture.ts';
import { openConsole } from './console-page.ts';

useBrowser();

const COUNT = 1_150;

test('A bulk cancel goes on over the pages, is shown on each, and asks before the tab is closed.', {
  timeout: 120_000,
}, async () => {
  const task = { task_type: 'w', task_tags: ['w'], payload: {}, queue_timeout: 600, timeout: 600 };
  for (let from = 0; from < COUNT; from += 50)
    await Promise.all(Array.from({ length: 50 }, () => client.submitTask(task)));
  const { page, context } = await openConsole(browser, gateway.baseUrl, { path: 'tasks?tag=w' });
  onTestFinished(() => context.close());
  // Of a tag the gateway counts 1,000 at most.
  await expect.poll(() => page.getByRole('button', { name: /^Waiting / }).innerText()).toMatch(/\d\+$/);
  await page.getByRole('checkbox', { name: 'Select all on this page' }).check();
  await page.getByRole('button', { name: /^Select all [\d,]+\+ that match$/ }).click();
  // The first call of the cancellation is held until the page was left.
  const { promise: isLeft, resolve: leave } = Promise.withResolvers<void>();
  await page.route('**/api/admin/tasks/cancel', async (route) => {
    if (!route.request().postDataJSON().dry_run) await isLeft;
    await route.continue();
  });
  await page.getByRole('button', { name: /^Cancel [\d,]+\+ open…$/ }).click();
  await page.getByRole('textbox', { name: 'Type 1,150 to go on' }).fill('1150');
  await page.getByRole('button', { name: 'Cancel 1,150 tasks' }).click({ timeout: 60_000 });
  const underWay = page.getByRole('region', { name: 'Action under way' });
  await underWay.getByText('Cancelling 1,150 tasks').waitFor();
  await page.getByRole('link', { name: 'Overview', exact: true }).click();
  await page.waitForURL(/console\/$/);
  expect(await underWay.innerText()).toContain('Cancelling 1,150 tasks');
  // The browser asks, and the reader stays.
  const [dialog] = await Promise.all([page.waitForEvent('dialog'), page.close({ runBeforeUnload: true })]);
  expect(dialog.type()).toBe('beforeunload');
  await dialog.dismiss();
  leave();
  await page.getByText('1,150 cancelled.').first().waitFor({ timeout: 60_000 });
  expect(await underWay.count()).toBe(0);
  expect((await client.listTasks({ counts: true, limit: 1 })).counts?.by_outcome.cancelled).toBe(COUNT);
});
