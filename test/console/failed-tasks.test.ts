/**
 * The way from a number to the tasks that failed, in a real browser over the real gateway: the counter, the
 * causes, and the list of one cause, which all have one number; and what is said of now, and only noted.
 * @module-tag chromium
 */
import { setTimeout } from 'node:timers/promises';
import { beforeAll, expect, test } from 'vitest';
import { browser, client, gateway, useBrowser } from './browser-fixture.ts';
import { openConsole } from './console-page.ts';

useBrowser();

beforeAll(async () => {
  for (const agent_id of ['good', 'bad']) {
    await client.registerAgent({ agent_id, endpoint: 'pull', agent_tags: [agent_id], max_concurrent: 9 });
  }
  for (let n = 0; n < 5; n += 1)
    await end('bad', { status: 'failed', error_info: `out of memory: ${n}.25 GiB` });
  await end('good', { status: 'failed', error_info: 'no such file' });
  await end('good', { status: 'success' });
  await client.submitTask({ task_type: 'render', task_tags: ['misspelt', 'too'], payload: {} });
});

async function end(
  agent_id: string,
  outcome: { status: 'success' | 'failed'; error_info?: string },
): Promise<void> {
  const { request_id } = await client.submitTask({ task_type: 'render', task_tags: [agent_id], payload: {} });
  // A task may be assigned a moment after its submission.
  await client.claimTask({ agent_id, wait: 60 });
  await client.reportResult({ request_id, agent_id, ...outcome });
}

test('the counter, the causes, the list and its button have one number, and a cause leads to its tasks', {
  timeout: 300_000,
}, async () => {
  const { page, seen, context } = await openConsole(browser, gateway.baseUrl);
  const counter = page.locator('.counter').filter({ hasText: 'Failed in 15 min' }).locator('dd.v a');
  await counter.getByText('6', { exact: true }).waitFor();
  await counter.click();
  expect(new URL(page.url()).hash).toBe('#failing');
  const panel = page.locator('#failing');
  await panel.getByText('6 of 7 in 15 min').waitFor();
  const causes = await panel.locator('tbody tr').allInnerTexts();
  expect(causes.map((text) => text.split(/\s*[\t\n]\s*/).slice(0, 3))).toEqual([
    ['5 of 5', 'render', 'bad'],
    ['1 of 2', 'render', 'good'],
  ]);

  await panel.getByRole('link', { name: 'All 6' }).click();
  await page.getByText('6 tasks match').waitFor();
  await expect.poll(() => page.locator('[data-row]').count()).toBe(6);
  expect(await page.getByRole('button', { name: /^Failed / }).innerText()).toMatch(/Failed\s*6$/);
  const grouping = page.getByRole('button', { name: 'By cause' });
  await grouping.press('Enter');
  await expect.poll(() => page.locator('[data-row]').count()).toBe(0);
  expect(await grouping.getAttribute('aria-pressed')).toBe('true');
  const first = page.getByRole('link', { name: '5 of 5 failed, show these tasks' });
  await first.press('Enter');
  await page.getByText('5 tasks match').waitFor();
  await expect.poll(() => page.locator('[data-row]').count()).toBe(5);
  for (const text of await page.locator('[data-row]').allInnerTexts())
    expect(text).toContain('out of memory');
  expect(seen.complaints).toEqual([]);
  await context.close();
});

test('a filter that no group has leaves the causes in the address, and the page says why it lists tasks', async () => {
  const path = 'tasks?outcome=failed&ended=15m&by=cause';
  const { page, context } = await openConsole(browser, gateway.baseUrl, { path });
  const causes = page.getByRole('table', { name: 'Failed tasks by cause' });
  await causes.waitFor();
  const filter = page.getByLabel('Add a filter');
  await filter.fill('type=render');
  await filter.press('Enter');
  await page.waitForURL(/type=render&by=cause$/);
  expect(await causes.isVisible()).toBe(true);
  await filter.fill('tag=good');
  await filter.press('Enter');
  await page.getByText('This filter shows others, so here are its tasks one by one.').waitFor();
  await expect.poll(() => page.locator('[data-row]').count()).toBe(1);
  await page.getByRole('button', { name: 'Remove the filter tag' }).click();
  await causes.waitFor();
  await context.close();
});

test('the tasks that found no agent are counted where they are listed: by when they ended', async () => {
  const { page, context } = await openConsole(browser, gateway.baseUrl);
  const inRow = page.locator('[data-l="no agent"] a').filter({ hasText: /^1$/ }).first();
  await inRow.waitFor();
  expect(await inRow.getAttribute('href')).toMatch(/outcome=no_agent&ended=15m&tag=(misspelt|too)$/);
  await inRow.click();
  await page.getByText('1 task matches').waitFor();
  await context.close();
});

test('the failing agent is a problem with a way to its tasks; a tag that was misspelt is only noted', async () => {
  const { page, context } = await openConsole(browser, gateway.baseUrl);
  await page.getByRole('link', { name: '1 problem now' }).waitFor();
  const problems = page.locator('#wrong li');
  // The panel is drawn behind the link in the head.
  await expect.poll(() => problems.count()).toBe(2);
  expect(await problems.nth(0).innerText()).toContain('bad fails render: 5 in a row');
  expect(await problems.nth(1).innerText()).toMatch(/^Note:\s.*misspelt, too/s);
  await problems.nth(0).getByRole('link', { name: 'Show the tasks' }).click();
  await page.getByText('5 tasks match').waitFor();
  await context.close();
});

test('after a success the agent is no problem any more', async () => {
  const { request_id } = await client.submitTask({ task_type: 'render', task_tags: ['bad'], payload: {} });
  await client.reportResult({ request_id, agent_id: 'bad', status: 'success' });
  await setTimeout(1_100);
  const { page, context } = await openConsole(browser, gateway.baseUrl);
  await page.getByRole('link', { name: 'No problems' }).waitFor();
  expect(await page.locator('#wrong').innerText()).toContain('Nothing is wrong.');
  await context.close();
});
