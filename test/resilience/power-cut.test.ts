/**
 * A power cut at any point: the operations of the real process on its files are recorded under load, the
 * files are rebuilt as a cut would leave them, and the engine opens them; a sample is opened by the real
 * gateway. What was acknowledged before the cut is there, also when an fsync had failed before.
 * @module-tag strace
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { printTally } from '../harness/figures.ts';
import {
  findLostByEngine,
  findLostByGateway,
  recordRun,
  spread,
  spreadBehindFailures,
  tryCuts,
} from './cuts.ts';
import { CUTS } from './disk.ts';

/** How many cuts are tried; `CUT_POINTS` asks for more. A few of them are opened by the real gateway. */
const POINTS = Number(process.env.CUT_POINTS ?? 2_000);
const GATEWAY_POINTS = 10 + POINTS / 200;
const TASKS = 100;
/**
 * The fsyncs of each writer that fail; the writer that follows, a thread of its own, counts from one again.
 */
const FAILING_SYNCS = '25..27';
/**
 * How many operations after a failed fsync are tried: about until the file was opened again and written to.
 */
const REACH = 150;

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'task-gateway-cut-'));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

describe('power cuts', { timeout: 240_000 + POINTS * 250 }, () => {
  test(`lose nothing that was acknowledged, at ${POINTS} points`, async () => {
    const operations = await recordRun(folder, TASKS, { parts: 2 });
    const byEngine = await tryCuts(operations, spread(operations, POINTS / CUTS.length), findLostByEngine);
    expect(byEngine.lost).toEqual([]);
    expect(byEngine.promises).toBeGreaterThanOrEqual(TASKS * 2);
    expect(byEngine.pieces).toBeGreaterThanOrEqual(TASKS);
    const byGateway = await tryCuts(
      operations,
      spread(operations, GATEWAY_POINTS / CUTS.length),
      findLostByGateway,
    );
    expect(byGateway.lost).toEqual([]);
    expect(byGateway.tried).toBeGreaterThan(0);
    printTally('power-cuts', byEngine.tried, 'cuts');
    printTally('power-cuts-opened-by-the-gateway', byGateway.tried, 'cuts');
  });

  test('lose nothing that was acknowledged after a failed fsync: no acknowledgement rests on it', async () => {
    const inject = `inject=fsync,fdatasync:error=EIO:when=${FAILING_SYNCS}`;
    const operations = await recordRun(folder, TASKS, { more: ['-e', inject] });
    const failed = operations.filter(({ kind }) => kind === 'failed sync').length;
    expect(failed).toBeGreaterThan(0);
    const { tried, promises, lost } = await tryCuts(
      operations,
      spreadBehindFailures(operations, POINTS / 20, REACH),
      findLostByEngine,
    );
    expect(lost).toEqual([]);
    expect(promises).toBeGreaterThan(TASKS);
    printTally('power-cuts-after-failed-fsync', tried, 'cuts');
    printTally('failed-fsyncs', failed, 'fsyncs');
  });
});
