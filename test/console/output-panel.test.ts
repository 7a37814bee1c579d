/**
 * The output on the page of a task: its end as text and data, what is void, missing or left out, and a page
 * that stays at the end of what an agent writes.
 * @module-tag chromium
 */
import { setTimeout as pause } from 'node:timers/promises';
import type { Page } from 'playwright-core';
import { beforeAll, expect, test } from 'vitest';
import type { RequestId, WrittenPiece } from '../../sdk/index.ts';
import { EMPTY_TAIL, extendTail, showOutput } from '../../server/console/pages/task/output-tail.ts';
import { browser, client, gateway, useBrowser } from './browser-fixture.ts';
import { findViolations, openConsole } from './console-page.ts';

useBrowser();

const AGENT = 'writer-1';
const LINES = 5_000;
const LINES_A_CALL = 10;

beforeAll(async () => {
  await client.registerAgent({ agent_id: AGENT, agent_tags: ['w'], endpoint: 'pull', max_concurrent: 50 });
});
/** A task that the agent has, and how its output is written. */
async function startTask(writer = 'first') {
  const { request_id } = await client.submitTask({
    task_type: 'w',
    task_tags: ['w'],
    payload: {},
    queue_timeout: 60,
  });
  await client.claimTask({ agent_id: AGENT, wait: 10 });
  let from = 0;
  return {
    request_id,
    async write(...pieces: readonly WrittenPiece[]) {
      const receipt = await client.writeOutput({ agent_id: AGENT, request_id, writer, from, pieces });
      from = receipt.next;
      return receipt;
    },
    restart(name: string): void {
      writer = name;
      from = 0;
    },
    end: () =>
      client.reportResult({ agent_id: AGENT, request_id, status: 'success', result: { output: 'ok' } }),
  };
}

const openTask = (request_id: RequestId, options = {}) =>
  openConsole(browser, gateway.baseUrl, { path: `tasks/${request_id}`, ...options });
const outputOf = (page: Page): Promise<string> => page.getByRole('log', { name: 'Output' }).innerText();

test('A page follows the output: text as text, data folded, what came before a restart void, and the end.', async () => {
  const task = await startTask();
  await task.write(
    { text: '<img src=x onerror=window.ran=1>第 1 页\n' },
    { data: { page: 1, '<b>': ['deep'] } },
  );
  const { page, seen, context } = await openTask(task.request_id);
  await expect.poll(() => outputOf(page)).toContain('<img src=x onerror=window.ran=1>第 1 页');
  expect(await page.locator('.output details').getAttribute('open')).toBeNull();
  await page.locator('.output summary').click();
  await expect.poll(() => outputOf(page)).toContain('page');
  task.restart('second');
  await task.write({ text: '\u001b[31mred\u001b[0m \u202Eturned\r\n50 %\r100 %\n' });
  await expect.poll(() => outputOf(page)).toContain('red \\u202eturned\n100 %');
  expect(await outputOf(page)).toContain(`${AGENT} begins anew`);
  expect(await page.locator('.output > .void').count()).toBe(2);
  expect(await page.locator('.output > div:not(.void)').innerText()).toContain('red');
  await task.end();
  await page.getByText('4 pieces').waitFor();
  expect(await page.evaluate(() => 'ran' in window)).toBe(false);
  expect(seen.complaints).toEqual([]);
  expect(await findViolations(page)).toEqual([]);
  await context.close();
});

test('A page of a task without output shows none, and pausing the console pauses what is followed.', async () => {
  const task = await startTask();
  const { page, context } = await openTask(task.request_id);
  await page.getByRole('heading', { name: 'Payload' }).waitFor();
  await pause(500);
  expect(await page.getByRole('log', { name: 'Output' }).count()).toBe(0);
  await task.write({ text: 'one ' });
  await expect.poll(() => outputOf(page)).toBe('one ');
  await page.keyboard.press('p');
  await page.getByText('paused', { exact: true }).first().waitFor();
  await task.write({ text: 'two ' });
  await pause(1_000);
  expect(await outputOf(page)).toBe('one ');
  await page.keyboard.press('p');
  await expect.poll(() => outputOf(page)).toBe('one two ');
  await task.end();
  await page.getByText('2 pieces').waitFor();
  await context.close();
});

test('A page says that an output was truncated, and shows its end alone.', async () => {
  const task = await startTask();
  const text = `${'x'.repeat(79)}\n`.repeat(700);
  let isTaken = true;
  for (let call = 0; isTaken && call < 200; call += 1) {
    isTaken = (await task.write({ text: `${call}: ${text}` })).accepted;
  }
  expect(isTaken).toBe(false);
  await task.end();
  const { page, context } = await openTask(task.request_id);
  await page.getByText('Truncated: the agent wrote more than is kept of one task.').waitFor();
  const shown = await outputOf(page);
  expect(shown).toContain('Earlier output is not shown here.');
  expect(shown.length).toBeLessThan(300_000);
  await context.close();
});

test('Five thousand lines leave the page at their end, with no more blocks than the tail may have.', async () => {
  const task = await startTask();
  await task.write({ text: 'begin\n' });
  const { page, context } = await openTask(task.request_id);
  await page.getByRole('log', { name: 'Output' }).waitFor();
  for (let written = 0; written < LINES; written += LINES_A_CALL) {
    const lines = Array.from({ length: LINES_A_CALL }, (_, n) => `line ${written + n} ${'字'.repeat(20)}\n`);
    // Texts would be joined to one block.
    await task.write({ text: lines.join('') }, { data: written });
  }
  await expect.poll(() => outputOf(page)).toContain(`line ${LINES - 1} `);
  const log = page.getByRole('log', { name: 'Output' });
  const readRest = () =>
    log.evaluate(({ scrollHeight, scrollTop, clientHeight }) => scrollHeight - scrollTop - clientHeight);
  await expect.poll(readRest).toBeLessThan(5);
  expect(await log.evaluate(({ childElementCount }) => childElementCount)).toBeLessThan(410);
  await task.end();
  await context.close();
});

test('The tail joins texts, and is bounded by characters and by blocks.', () => {
  const texts = Array.from({ length: 3_000 }, (_, index) => ({ n: index + 1, text: `line ${index}\n` }));
  const joined = extendTail(EMPTY_TAIL, texts);
  expect([joined.blocks.length < 12, joined.isCut, joined.last]).toEqual([true, false, 3_000]);
  const many = Array.from({ length: 3_000 }, (_, index) => ({ n: 3_001 + index, data: index }));
  const bounded = extendTail(joined, many);
  expect([bounded.blocks.length, bounded.isCut, bounded.last]).toEqual([400, true, 6_000]);
  const long = extendTail(
    EMPTY_TAIL,
    Array.from({ length: 500 }, (_, n) => ({ n: n + 1, text: 'x'.repeat(4_096) })),
  );
  expect([long.chars <= 131_072, long.isCut]).toEqual([true, true]);
  const end = { n: 2, end: true, status: 'success', outcome: 'success', missing: null } as const;
  expect(extendTail(EMPTY_TAIL, [{ n: 1, reset: true, agent_id: 'a' }, end])).toMatchObject({ end, last: 2 });
  expect(showOutput('a\u0000\u001b[1;31mb\u001b[0m\r\nc\te')).toBe('a\\u0000b\nc\te');
});

test('Fifty bars that overwrite one another are one, wherever the pieces are cut.', () => {
  const bars = Array.from({ length: 50 }, (_, n) => `\r\u001b[32m${2 * n + 2}%\u001b[0m [##]`).join('');
  const written = `fetching\u001b]0;title\u0007\r\n${bars}\r\ndone\n`;
  for (const size of [1, 2, 3, 7, 1_000]) {
    const texts = written.match(new RegExp(`[^]{1,${size}}`, 'g')) ?? [];
    const { blocks, chars } = extendTail(
      EMPTY_TAIL,
      texts.map((text, index) => ({ n: index + 1, text })),
    );
    expect(blocks).toEqual([{ id: 1, isVoid: false, kind: 'text', text: 'fetching\n100% [##]\ndone\n' }]);
    expect(chars).toBe(24);
  }
});
