/**
 * Party A writes all the output it can from one address, over many connections, in calls at their limit, and
 * as much as all output may have. Party B, at another address, submits and reads tasks, writes an output of
 * its own and reads it: none of its calls is refused. How long they take is printed, and not asserted: the
 * writers, the store and the gateway share the cores of this machine.
 */
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { Worker } from 'node:worker_threads';
import { describe, expect, onTestFinished, test } from 'vitest';
import { buildCall, type Call, send } from '../../contract/usual-calls.ts';
import { submit } from '../../e2e/plain-calls.ts';
import { printFigure, printTally } from '../../harness/figures.ts';
import { ADMIN_SECRET, SECRET, startGateway } from '../../harness/gateway-process.ts';
import { startRedis } from '../../harness/redis-process.ts';
import { percentile } from '../process-cost.ts';
import { measureAgain, measureBeside, measureRounds } from './beside.ts';
import type { Sample } from './beside-caller.ts';
import type { Written } from './writers.ts';

const CONNECTIONS = 64;
const A = '203.0.113.1';
const B = '198.51.100.7';
const TOTAL_BYTES = 2 ** 28;
const ROUND_MS = 3_000;
const EVERY_MS = 20;
const secrets = { gateway: SECRET, admin: ADMIN_SECRET };

const fromB = (call: Call): Call => ({ ...call, headers: { ...call.headers, 'x-forwarded-for': B } });

/** Begins to write; resolves with what ends it and says what came of the writes. */
async function startWriters(baseUrl: string): Promise<() => Promise<Written>> {
  const workerData = { baseUrl, address: A, secrets, connections: CONNECTIONS };
  const worker = new Worker(new URL('./writers.ts', import.meta.url), { workerData });
  await once(worker, 'message');
  return async () => {
    worker.postMessage('end');
    const [written] = (await once(worker, 'message')) as [Written];
    await worker.terminate();
    return written;
  };
}

/** B's own output: writes a piece at this rate and reads it; each time until it was read. */
function createOwnOutput(baseUrl: string) {
  let from = 0;
  let request_id = '';
  const ask = async (...call: Parameters<typeof buildCall>) => {
    const { status, text } = await send(baseUrl, fromB(buildCall(...call)));
    if (status !== 200) throw new Error(`${call[0]}: ${status} ${text.slice(0, 300)}`);
    return JSON.parse(text);
  };
  async function writeNext(dueMs: number, sample: { tookMs: number[]; failures: string[] }): Promise<void> {
    try {
      const piece = { data: from };
      const receipt = await ask('writeOutput', secrets, {
        agent_id: 'own',
        request_id,
        from,
        pieces: [piece],
      });
      expect(receipt).toMatchObject({ accepted: true, next: from + 1 });
      const read = fromB(buildCall('readOutput', secrets, {}, request_id));
      const { text } = await send(baseUrl, { ...read, path: `${read.path}&after=${from}` });
      expect(JSON.parse(text).pieces).toEqual([{ n: from + 1, ...piece }]);
      from += 1;
    } catch (error) {
      sample.failures.push(String(error));
    }
    sample.tookMs.push(performance.now() - dueMs);
  }
  return {
    async begin(): Promise<void> {
      await ask('registerAgent', secrets, { agent_id: 'own', agent_tags: ['own'], endpoint: 'pull' });
      request_id = await submit(baseUrl, { task_tags: ['own'], timeout: 3_600 });
      await expect.poll(async () => (await ask('getTask', secrets, {}, request_id)).status).toBe('running');
    },
    /** One round. A write begins once the one before it is read: `from` allows one at a time. */
    async measure(): Promise<Sample> {
      const sample = { tookMs: [] as number[], failures: [] as string[] };
      const startMs = performance.now();
      while (performance.now() - startMs < ROUND_MS) {
        const dueMs = performance.now();
        await writeNext(dueMs, sample);
        await pause(Math.max(0, dueMs + EVERY_MS - performance.now()));
      }
      return sample;
    },
  };
}

describe.each([
  ['sqlite', {}],
  ['redis', { tags: 'redis' }],
] as const)('beside an address that writes all it can, on %s,', (kind, tags) => {
  test('no call of another address is refused', {
    ...tags,
    timeout: 300_000,
  }, async () => {
    const folder = mkdtempSync(join(tmpdir(), 'task-gateway-writers-'));
    const redis = kind === 'redis' ? await startRedis() : undefined;
    const gateway = await startGateway({
      STORE: redis?.url ?? `sqlite:${folder}/gateway.db`,
      TRUSTED_PROXIES: '127.0.0.0/8, ::1',
      OUTPUT_TOTAL_BYTES: String(TOTAL_BYTES),
    });
    onTestFinished(async () => {
      await gateway.stop();
      await redis?.dispose();
      rmSync(folder, { recursive: true, force: true });
    });
    const { baseUrl } = gateway;
    const own = createOwnOutput(baseUrl);
    await own.begin();
    await own.measure();
    const ownAlone = await own.measure();
    let end: (() => Promise<Written>) | undefined;
    const tasks = await measureBeside({
      name: `output-${kind}-tasks`,
      baseUrl,
      calls: [
        fromB(buildCall('submitTask', secrets)),
        fromB(buildCall('getTask', secrets, {}, await submit(baseUrl))),
      ],
      async takeAll() {
        end = await startWriters(baseUrl);
        return async () => undefined;
      },
    });
    const beside = await measureRounds(ownAlone, own.measure);
    const written = (await end?.()) ?? {};
    const alone = await measureAgain(ownAlone, beside, own.measure);
    printFigure(`output-${kind}-own-alone-p99`, percentile(alone.tookMs, 0.99), 'ms');
    printFigure(`output-${kind}-own-beside-p99`, percentile(beside.tookMs, 0.99), 'ms');
    for (const [name, count] of Object.entries(written))
      printTally(`writes of A on ${kind}, ${name}`, count, '');
    expect(written['200 true']).toBeGreaterThan(CONNECTIONS);
    expect(Object.keys(written).filter((name) => !/^(200 |503 )/.test(name))).toEqual([]);
    expect([...tasks.beside.failures, ...beside.failures]).toEqual([]);
  });
});
