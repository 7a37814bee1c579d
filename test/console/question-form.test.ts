/**
 * The form of a question on the page of a task: a field for each of its schema with its own fault, what the
 * agent wrote as text, and no form where the console only reads.
 * @module-tag chromium
 */
import { expect, test } from 'vitest';
import { createClient, type Question, type RequestId, type TaskGatewayClient } from '../../sdk/index.ts';
import { EMPTY_TAIL, extendTail } from '../../server/console/pages/task/output-tail.ts';
import { ADMIN_SECRET, SECRET, startGateway } from '../harness/gateway-process.ts';
import { browser, client, gateway, useBrowser } from './browser-fixture.ts';
import { findViolations, openConsole } from './console-page.ts';

useBrowser();

const AGENT = 'asker-1';
const question: Question = {
  key: 'deploy',
  prompt: 'Deploy <img src=x onerror=window.ran=1>\u202E?',
  schema: {
    type: 'object',
    properties: {
      approve: { type: 'boolean', title: '<b>Approve</b>', description: 'It goes live.' },
      env: { type: 'string', enum: ['test', 'live'], default: 'test' },
      count: { type: 'integer', minimum: 1, maximum: 9 },
      share: { type: 'number', minimum: 0.5 },
      why: { type: 'string', minLength: 2, maxLength: 5 },
    },
    required: ['approve', 'why'],
  },
};

/** A task whose agent has asked, at this gateway. */
async function askAt(at: TaskGatewayClient, asked: Question): Promise<string> {
  await at.registerAgent({ agent_id: AGENT, agent_tags: ['w'], endpoint: 'pull', max_concurrent: 50 });
  const { request_id } = await at.submitTask({ task_type: 'w', task_tags: ['w'], payload: {} });
  await at.claimTask({ agent_id: AGENT, wait: 10 });
  const write = { agent_id: AGENT, request_id, writer: 'one', from: 0 };
  await at.writeOutput({ ...write, pieces: [{ question: asked }] });
  return request_id;
}

test('A form has a field for each of the schema, shows the fault of each, and sends the answer.', async () => {
  const request_id = await askAt(client, question);
  const { page, seen, context } = await openConsole(browser, gateway.baseUrl, {
    path: `tasks/${request_id}`,
  });
  const form = page.getByRole('form', { name: 'Question' });
  await form.getByText('Deploy <img src=x onerror=window.ran=1>\\u202e?').waitFor();
  const field = (name: string) => form.getByLabel(name, { exact: true });
  expect(await field('env').inputValue()).toBe('test');
  expect(await form.innerText()).toContain('A whole number, 1 or more, 9 or less, may stay empty.');
  expect(await form.innerText()).toContain('It goes live.');
  expect(await findViolations(page)).toEqual([]);
  await field('count').fill('12');
  await field('share').fill('half');
  await field('why').fill('x');
  await form.getByRole('button', { name: 'Answer' }).click();
  await form.getByText('The question does not take this answer.').waitFor();
  for (const name of ['<b>Approve</b>', 'count', 'share', 'why']) {
    expect([name, await field(name).getAttribute('aria-invalid')]).toEqual([name, 'true']);
  }
  expect(await field('env').getAttribute('aria-invalid')).toBe('false');
  expect(await form.locator('.err').count()).toBe(4);
  await field('<b>Approve</b>').selectOption('yes');
  await field('count').fill('3');
  await field('share').fill('');
  await field('why').fill('因为😀');
  await form.getByRole('button', { name: 'Answer' }).click();
  await expect.poll(() => form.count()).toBe(0);
  const claimed = await client.claimAnswer({ agent_id: AGENT, request_id, key: 'deploy', wait: 5 });
  expect(claimed?.answer).toEqual({ approve: true, env: 'test', count: 3, why: '因为😀' });
  expect(await page.evaluate(() => 'ran' in window)).toBe(false);
  // A refused answer is a response with 422, which the browser notes.
  expect(seen.complaints.filter((text) => !text.includes('422'))).toEqual([]);
  await context.close();
});

test('The form stands above the timeline, and the advice names it and no call.', async () => {
  const request_id = await askAt(client, { key: 'first', prompt: 'First?' });
  const { page, context } = await openConsole(browser, gateway.baseUrl, {
    path: `tasks/${request_id}`,
    width: 390,
  });
  await page.getByRole('form', { name: 'Question' }).waitFor();
  const headings = await page.locator('main h2').allInnerTexts();
  expect(headings.slice(0, 3)).toEqual(['The agent asks', 'What to do', 'Timeline']);
  const hint = await page.locator('.hint').innerText();
  expect(hint).toContain('Answer in the form on the page of the task, or cancel the task.');
  expect(hint).not.toContain('POST');
  await client.cancelTask(request_id as RequestId);
  await context.close();
});

test('A question without a schema takes a text.', async () => {
  const request_id = await askAt(client, { key: 'why', prompt: 'Why?' });
  const { page, context } = await openConsole(browser, gateway.baseUrl, { path: `tasks/${request_id}` });
  await page.getByLabel('Answer', { exact: true }).fill('因为');
  await page.getByLabel('Answer', { exact: true }).press('Enter');
  const claimed = await client.claimAnswer({ agent_id: AGENT, request_id, key: 'why', wait: 20 });
  expect(claimed?.answer).toBe('因为');
  await page.getByText('Answered why:').waitFor();
  await context.close();
});

test('A number that would change is not sent, and its field says so.', async () => {
  const schema = {
    type: 'object',
    properties: { id: { type: 'integer' }, more: { type: 'string' } },
  } as const;
  const request_id = await askAt(client, { key: 'which', prompt: 'Which?', schema });
  const { page, context } = await openConsole(browser, gateway.baseUrl, { path: `tasks/${request_id}` });
  const field = page.getByLabel('id', { exact: true });
  await page.getByLabel('more', { exact: true }).fill('653247040368672768');
  await field.fill('653247040368672768');
  await page.getByRole('button', { name: 'Answer' }).click();
  await page.getByText('would arrive as 653247040368672800').waitFor();
  expect(await field.getAttribute('aria-invalid')).toBe('true');
  await field.fill('9007199254740992');
  await page.getByRole('button', { name: 'Answer' }).click();
  const claimed = await client.claimAnswer({ agent_id: AGENT, request_id, key: 'which', wait: 20 });
  expect(claimed?.answer).toEqual({ id: 2 ** 53, more: '653247040368672768' });
  await context.close();
});

test('The overview says that a task waits for an answer, and leads to the tasks that do.', async () => {
  const request_id = await askAt(client, question);
  const { page, seen, context } = await openConsole(browser, gateway.baseUrl, { path: '' });
  const note = page.locator('#wrong li', { hasText: 'for an answer' });
  await note.getByText(`asked for ${question.key}`, { exact: false }).waitFor();
  await note.getByRole('link', { name: 'Show the tasks' }).click();
  await page.waitForURL(/\?waiting_for_answer=true$/);
  await page.getByText('Longest wait first').waitFor();
  const row = page.locator('tr', { hasText: request_id.slice(-8) });
  await row.getByText('Asks', { exact: true }).waitFor();
  expect(await findViolations(page)).toEqual([]);
  await client.answerTask(request_id, { key: question.key, answer: { approve: true, why: 'done' } });
  await row.getByText('changed', { exact: true }).waitFor();
  expect(seen.complaints).toEqual([]);
  await context.close();
});

test('The form of a question that was withdrawn is gone, though the output has nothing behind it.', async () => {
  const request_id = await askAt(client, { key: 'forgotten', prompt: 'Why?' });
  const { page, context } = await openConsole(browser, gateway.baseUrl, { path: `tasks/${request_id}` });
  const form = page.getByRole('form', { name: 'Question' });
  await form.waitFor();
  // It registers again and names no task: it has forgotten this one.
  await client.registerAgent({
    agent_id: AGENT,
    agent_tags: ['w'],
    endpoint: 'pull',
    max_concurrent: 50,
    request_ids: [],
  });
  await expect.poll(async () => (await client.explainTask(request_id)).questions).toEqual([]);
  await expect.poll(() => form.count(), { timeout: 20_000 }).toBe(0);
  await page.getByText('Asks: Why?').waitFor();
  await context.close();
});

test('A console that only reads shows the question and no form.', async () => {
  const reading = await startGateway({ CONSOLE: 'read-only' });
  try {
    const at = createClient({ baseUrl: reading.baseUrl, auth: SECRET, adminAuth: ADMIN_SECRET });
    const request_id = await askAt(at, question);
    const { page, context } = await openConsole(browser, reading.baseUrl, { path: `tasks/${request_id}` });
    await page.getByText('Asks: Deploy').waitFor();
    await page.waitForTimeout(1_000);
    expect(await page.getByRole('form', { name: 'Question' }).count()).toBe(0);
    await context.close();
  } finally {
    await reading.stop();
  }
});

test('A question is open until it is answered, withdrawn by a restart, or the task ends.', () => {
  const other: Question = { key: 'why', prompt: 'Why?' };
  const asked = extendTail(EMPTY_TAIL, [
    { n: 1, question },
    { n: 2, question: other },
  ]);
  expect(asked.open).toEqual([question, other]);
  const answer = { key: 'deploy', answer: 1 };
  expect(extendTail(asked, [{ n: 3, answer }]).open).toEqual([other]);
  expect(extendTail(asked, [{ n: 3, reset: true, agent_id: 'a' }]).open).toEqual([]);
  const end = { n: 3, end: true, status: 'failed', outcome: 'timeout', missing: null } as const;
  expect(extendTail(asked, [end]).open).toEqual([]);
  // Many pieces behind it do not close it.
  const data = Array.from({ length: 500 }, (_, index) => ({ n: 3 + index, data: index }));
  expect(extendTail(asked, data).open).toEqual([question, other]);
});
