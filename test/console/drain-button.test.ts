/**
 * The page of an agent that the administrator drains, in a real browser over the real gateway: by the keys
 * alone, there and back, and where the console only reads.
 * @module-tag chromium
 */
import { expect, onTestFinished, test } from 'vitest';
import { type AgentId, createClient } from '../../sdk/index.ts';
import { ADMIN_SECRET, SECRET, startGateway } from '../harness/gateway-process.ts';
import { browser, client, gateway, useBrowser } from './browser-fixture.ts';
import { openConsole } from './console-page.ts';

useBrowser();

const AGENT = 'gpu-1' as AgentId;
const REGISTRATION = { agent_id: AGENT, endpoint: 'pull', agent_tags: ['gpu'], max_concurrent: 2 };

test.each([
  [1_280, false],
  [390, true],
])('an agent is drained and undrained by the keys, %i pixels wide (dark: %s)', async (width, isDark) => {
  await client.registerAgent(REGISTRATION);
  const opened = await openConsole(browser, gateway.baseUrl, { path: `agents/${AGENT}`, width, isDark });
  onTestFinished(() => opened.context.close());
  const { page } = opened;
  await page.getByRole('button', { name: 'Drain', exact: true }).waitFor();
  await page.getByRole('link', { name: 'Its tasks, last hour' }).focus();
  await page.keyboard.press('Tab');
  const focused = page.locator('button:focus');
  expect(await focused.innerText()).toBe('Drain');
  await page.keyboard.press('Enter');
  await page.getByText('no, it is drained by the administrator').waitFor();
  await page.getByText('The agent has no task and gets no others.').first().waitFor();
  expect(await client.getAgent(AGENT)).toMatchObject({ state: 'draining', drained_by_operator: true });
  // The focus stays on the button, which takes it back.
  expect(await focused.innerText()).toBe('End the drain');
  await page.keyboard.press('Enter');
  await page.getByText('The agent gets tasks again.').first().waitFor();
  await page.getByRole('button', { name: 'Drain', exact: true }).waitFor();
  expect(await client.getAgent(AGENT)).toMatchObject({ state: 'ready', drained_by_operator: false });
  expect(opened.seen.complaints).toEqual([]);
});

test('a drain that the gateway refuses is said, and the page shows the agent as it is', async () => {
  await client.registerAgent(REGISTRATION);
  const { page, context } = await openConsole(browser, gateway.baseUrl, { path: `agents/${AGENT}` });
  onTestFinished(() => context.close());
  await page.getByRole('button', { name: 'Drain', exact: true }).waitFor();
  await client.unregisterAgent({ agent_id: AGENT });
  await page.getByRole('button', { name: 'Drain', exact: true }).click();
  await page.getByText('Could not drain the agent').first().waitFor();
  const gone = page.getByText('No agent is registered with this id.');
  await expect.poll(() => gone.isVisible()).toBe(true);
});

test('where the console only reads, the button says why and does nothing', async () => {
  const reading = await startGateway({ CONSOLE: 'read-only' });
  onTestFinished(async () => void (await reading.stop()));
  const looking = createClient({ baseUrl: reading.baseUrl, auth: SECRET, adminAuth: ADMIN_SECRET });
  await looking.registerAgent(REGISTRATION);
  const { page, context } = await openConsole(browser, reading.baseUrl, { path: `agents/${AGENT}` });
  onTestFinished(() => context.close());
  const button = page.getByRole('button', { name: 'Drain', exact: true });
  await expect.poll(() => button.getAttribute('aria-disabled')).toBe('true');
  await page.locator('.refusal').getByText('This console only reads').waitFor();
  await button.click({ force: true });
  expect(await looking.getAgent(AGENT)).toMatchObject({ state: 'ready' });
});
