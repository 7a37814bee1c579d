/**
 * A power cut at any point of an agent's run: an outcome whose report has left the agent, and that the
 * gateway has not taken, is in the outbox afterwards.
 * @module-tag strace
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { printTally } from '../harness/figures.ts';
import { recordOutbox, tryOutboxCuts } from './outbox-cuts.ts';

const TASKS = Number(process.env.OUTBOX_TASKS ?? 60);

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'task-gateway-outbox-cut-'));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

describe('power cuts', () => {
  test('lose no outcome that was reported and not taken: it is on disk before its report leaves', async () => {
    const operations = await recordOutbox(folder, TASKS);
    const { tried, reported, lost } = await tryOutboxCuts(operations, 7);
    expect(lost).toEqual([]);
    expect(reported.size).toBe(TASKS);
    expect(tried).toBeGreaterThan(TASKS * 3);
    printTally('power-cuts-of-an-outbox', tried, 'cuts');
  });
});
