/**
 * The page of an agent over the real gateway: which task ended last, and an agent whose tasks all fail.
 * @module-tag chromium
 */
import { expect, onTestFinished, test } from 'vitest';
import type { AgentId } from '../../sdk/index.ts';
import { findFailedTasks } from '../../server/console/pages/agent/failed-tasks.ts';
import { browser, client, gateway, useBrowser } from './browser-fixture.ts';
import { findViolations, openConsole } from './console-page.ts';

useBrowser();

async function register(agent_id: string): Promise<AgentId> {
  await client.registerAgent({ agent_id, endpoint: 'pull', agent_tags: [agent_id], max_concurrent: 50 });
  return agent_id as AgentId;
}

async function submit(agent_id: AgentId, task_type: string): Promise<string> {
  const { request_id } = await client.submitTask({ task_type, task_tags: [agent_id], payload: {} });
  // A task may be assigned a moment after its submission.
  await client.claimTask({ agent_id, wait: 60 });
  return request_id;
}

test('The task that ended last stands first, also where it was submitted first.', async () => {
  const agent_id = await register('orderly');
  const ids = [
    await submit(agent_id, 'long'),
    await submit(agent_id, 'short'),
    await submit(agent_id, 'mid'),
  ];
  const [long, short, mid] = ids as [string, string, string];
  for (const request_id of [short, mid, long])
    await client.reportResult({ request_id, agent_id, status: 'success' });
  const { page, context } = await openConsole(browser, gateway.baseUrl, { path: `agents/${agent_id}` });
  onTestFinished(() => context.close());
  const ended = page.getByRole('table', { name: 'Ended here' });
  await ended.getByText('long').waitFor();
  const rows = await ended.locator('tbody tr').allInnerTexts();
  expect(rows.map((text) => /long|short|mid/.exec(text)?.[0])).toEqual(['long', 'mid', 'short']);
  await page.getByText('ended last first').waitFor();
});

test.each([
  [1_280, false],
  [390, true],
])(
  'An agent that fails all its tasks warns, %i pixels wide (dark: %s), until one succeeds.',
  async (width, isDark) => {
    const agent_id = await register(`failing-${width}`);
    const end = async (status: 'success' | 'failed'): Promise<void> => {
      const request_id = await submit(agent_id, 'render');
      await client.reportResult({
        request_id,
        agent_id,
        status,
        error_info: status === 'failed' ? 'no GPU' : null,
      });
    };
    for (let n = 0; n < 17; n += 1) await end('failed');
    const opened = await openConsole(browser, gateway.baseUrl, { path: `agents/${agent_id}`, width, isDark });
    onTestFinished(() => opened.context.close());
    const { page } = opened;
    const chip = page.locator('.head .chip');
    await expect.poll(() => chip.innerText()).toBe('Fails 17 of 17');
    expect(await chip.getAttribute('class')).toContain('c-wait');
    await page.getByText('yes, but it fails 17 of the last 17 render').waitFor();
    expect(await findViolations(page)).toEqual([]);
    await page.getByRole('link', { name: 'Agents' }).first().click();
    const row = page.locator(`[data-row="${agent_id}"]`);
    await expect.poll(() => row.locator('.chip').innerText()).toBe('Fails 17 of 17');
    await end('success');
    await expect.poll(() => row.locator('.chip').innerText(), { timeout: 10_000 }).toBe('Ready');
  },
);

test('An agent warns for a type of which five tasks or more failed and none succeeded.', () => {
  const group = {
    task_type: 'a',
    agent_id: 'x',
    outcome: 'failed',
    error: null,
    first_time: 1,
    last_time: 2,
  };
  const groups = [
    { ...group, count: 4, ended: 6, request_id: '1' },
    { ...group, outcome: 'timeout', count: 2, ended: 6, request_id: '2' },
    { ...group, agent_id: 'y', count: 6, ended: 7, request_id: '3' },
    { ...group, agent_id: 'z', count: 4, ended: 4, request_id: '4' },
  ];
  expect(findFailedTasks(groups, 'x')).toMatchObject({ task_type: 'a', failed: 6 });
  for (const agent_id of ['y', 'z', 'other']) expect(findFailedTasks(groups, agent_id)).toBeUndefined();
  expect(findFailedTasks(undefined, 'x')).toBeUndefined();
});
