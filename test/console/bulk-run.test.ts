/**
 * A cancellation of more tasks than one call looks at, over the real gateway: the counts that are "at least",
 * and an action that goes on when its page is left and asks before the tab is closed.
 * @module-tag chromium
 */
import { expect, onTestFinished, test } from 'vitest';
import { browser, client, gateway } from './browser-fixture.ts';
import { openConsole } from './console-page.ts';

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
  await expect.poll(() => page.getByRole('button', { name: /^Waiting / }).innerText()).toMatch(/1,000\+$/);
  await page.getByRole('checkbox', { name: 'Select all on this page' }).check();
  await page.getByRole('button', { name: 'Select all 1,000+ that match' }).click();
  // The second call of the cancellation is held until the page was left.
  const { promise: isLeft, resolve: leave } = Promise.withResolvers<void>();
  let calls = 0;
  await page.route('**/api/admin/tasks/cancel', async (route) => {
    const isDryRun = route.request().postDataJSON().dry_run;
    if (!isDryRun) calls += 1;
    if (calls === 2) await isLeft;
    await route.continue();
  });
  await page.getByRole('button', { name: 'Cancel 1,000+ open…' }).click();
  await page.getByRole('textbox', { name: 'Type 1,150 to go on' }).fill('1150');
  await page.getByRole('button', { name: 'Cancel 1,150 tasks' }).click();
  const underWay = page.getByRole('region', { name: 'Action under way' });
  await underWay.getByText('Cancelled 1,000 of 1,150').waitFor();
  await page.getByRole('link', { name: 'Overview', exact: true }).click();
  await page.waitForURL(/console\/$/);
  expect(await underWay.innerText()).toContain('Cancelled 1,000 of 1,150');
  // The browser asks, and the reader stays.
  const [dialog] = await Promise.all([page.waitForEvent('dialog'), page.close({ runBeforeUnload: true })]);
  expect(dialog.type()).toBe('beforeunload');
  await dialog.dismiss();
  leave();
  await page.getByText('1,150 cancelled.').first().waitFor();
  expect(await underWay.count()).toBe(0);
  expect((await client.listTasks({ counts: true, limit: 1 })).counts?.by_outcome.cancelled).toBe(COUNT);
});
