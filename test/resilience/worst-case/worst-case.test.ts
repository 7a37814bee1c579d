/**
 * What the worst call of each operation costs on a store that is filled to its limits: no piece of the main
 * thread is long, the CPU of all threads is bounded, and another caller is served beside it, whatever callers
 * and agents choose. The same for waits that end.
 */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Call, OPERATIONS, send } from '../../contract/usual-calls.ts';
import { expectUnaffected, measureAgain, measureRounds, runCaller } from '../bounds/beside.ts';
import type { Sample } from '../bounds/beside-caller.ts';
import { percentile } from '../process-cost.ts';
import { type Data, WORST_ENGINES, type WorstEngine } from './engines.ts';
import { type FullStore, fillStore } from './full-store.ts';
import { type Cost, startWatched, type WatchedGateway } from './watched-gateway.ts';
import { buildGet, buildWaiting, HARD_BODY, ROWS, type Row } from './worst-calls.ts';

/** The longest uninterrupted piece of the main thread, and the CPU of all threads, for one call. */
const PIECE_MAX_MS = 25;
const CPU_MAX_MS = 25;
const ELEMENT_MAX_MS = 0.1;
/**
 * The exception: a commit in the Redis itself, which took 0.08 to 0.13. Each task has one of its own, with
 * its event, so that a call which ends in its middle has done what it says.
 */
const COMMIT_MAX_MS = 0.15;
/** One `JSON.parse` of a body above 64 KiB may be such a piece. */
const PARSE_MAX_MS = 60;
const LARGE_BODY_BYTES = 65_536;
const ROUNDS = 5;
/** Of a call that takes a second by itself. */
const LONG_ROUNDS = 2;
const LONG_ELEMENTS = 10_000;
/** The bystander. */
const BESIDE = { statuses: [200], everyMs: 5, connections: 4, seconds: 0.3 };

const NOTHING: Cost = { pieceMs: 0, cpuMs: 0, serverMs: 0 };

test('each operation of the document has a row', () => {
  expect(OPERATIONS.filter((operation) => (ROWS[operation] ?? []).length === 0)).toEqual([]);
});

for (const engine of WORST_ENGINES)
  describe(`on ${engine.name}`, { tags: [...engine.tags], timeout: 120_000 }, () => describeEngine(engine));

function describeEngine(engine: WorstEngine): void {
  let data: Data;
  let store: FullStore;
  let gateway: WatchedGateway;
  let alone: Sample;

  const callBeside = (meanwhile?: () => Promise<unknown>): Promise<Sample> => {
    const calls = [buildGet(store.held[0] ?? '')];
    return runCaller({ ...BESIDE, baseUrl: gateway.baseUrl, calls }, meanwhile);
  };
  const print = (name: string, cost: Cost, beside: Sample): void => {
    const figures = [cost.pieceMs, cost.cpuMs, ...(data.serverPid === null ? [] : [cost.serverMs])];
    const texts = [...figures.map((ms) => ms.toFixed(1)), percentile(beside.tookMs, 0.99).toFixed(0)];
    console.log(`worst-case | ${engine.name} | ${name} | ${texts.join(' / ')}`);
  };
  const check = async (name: string, cost: Cost, most: Cost, beside: Sample): Promise<void> => {
    print(name, cost, beside);
    for (const part of ['pieceMs', 'cpuMs', 'serverMs'] as const) {
      const scale = cost[part] > most[part] ? calibrate() : 1;
      expect.soft(cost[part], `${part} of ${name}`).toBeLessThanOrEqual(most[part] * scale);
    }
    expectUnaffected({ alone: await measureAgain(alone, beside, callBeside), beside });
  };

  beforeAll(async () => {
    data = await engine.create();
    const opened = await data.open();
    store = await fillStore(opened);
    await opened.close();
    gateway = await startWatched({ STORE: data.setting }, data.serverPid);
    await gateway.untilQuiet();
    await callBeside();
    alone = await callBeside();
    print('nothing | the bystander alone', NOTHING, alone);
  }, 300_000);
  afterAll(async () => {
    await gateway?.stop();
    await data?.dispose();
  }, 30_000);

  describe.each(OPERATIONS)('%s', (operation) => {
    test.each(ROWS[operation])('$at', async (row) => {
      let n = 0;
      const callNext = async (): Promise<void> => {
        const call = row.call(store, n);
        n += 1;
        const status = await callOnce(gateway.baseUrl, call, row.events?.(store));
        const expected = row.status === undefined ? [200, 204] : [row.status];
        expect(expected, `${call.method} ${call.path}`).toContain(status);
      };
      const costs: Cost[] = [];
      const rounds = (row.elements ?? 0) > LONG_ELEMENTS ? LONG_ROUNDS : ROUNDS;
      for (let round = 0; round < rounds; round += 1) {
        await gateway.untilQuiet();
        costs.push(await gateway.measure(callNext));
      }
      const beside = await measureRounds(alone, () => callBeside(callNext));
      const least = {
        pieceMs: Math.min(...costs.map(({ pieceMs }) => pieceMs)),
        cpuMs: Math.min(...costs.map(({ cpuMs }) => cpuMs)),
        serverMs: Math.min(...costs.map(({ serverMs }) => serverMs)),
      };
      await check(`${operation} | ${row.at}`, least, findBounds(row, row.call(store, 0)), beside);
    });
  });

  test('later: the waits of 20 tasks with 64 unknown tags end', async () => {
    const submitted = await Promise.all(
      Array.from({ length: 20 }, () => send(gateway.baseUrl, buildWaiting())),
    );
    const ids = submitted.map(({ text }) => (JSON.parse(text) as { request_id: string }).request_id);
    const readStatus = async (id: string): Promise<unknown> =>
      (JSON.parse((await send(gateway.baseUrl, buildGet(id))).text) as { status: unknown }).status;
    const cost = await gateway.measure(async () => {
      for (const id of ids) await expect.poll(() => readStatus(id), { timeout: 20_000 }).toBe('failed');
    });
    print('later | the waits of 20 tasks with 64 unknown tags end', cost, alone);
    expect(cost.pieceMs).toBeLessThanOrEqual(PIECE_MAX_MS * calibrate());
  });
}

function findBounds({ elements = 0, commits = 0 }: Row, { body = '' }: Call): Cost {
  const pieceMs = body.length > LARGE_BODY_BYTES ? PARSE_MAX_MS : PIECE_MAX_MS;
  const cpuMs = Math.max(CPU_MAX_MS, elements * ELEMENT_MAX_MS);
  return { pieceMs, cpuMs, serverMs: Math.max(cpuMs, commits * COMMIT_MAX_MS) };
}

/**
 * How much slower this machine is than one on which the hardest body takes `JSON.parse` as long as it may:
 * on that one the bounds hold as they stand, on a slower one they grow with it.
 */
function calibrate(): number {
  let leastMs = Number.POSITIVE_INFINITY;
  for (let round = 0; round < ROUNDS; round += 1) {
    const before = process.threadCpuUsage();
    JSON.parse(HARD_BODY);
    const { user, system } = process.threadCpuUsage(before);
    leastMs = Math.min(leastMs, (user + system) / 1_000);
  }
  return Math.max(1, leastMs / PARSE_MAX_MS);
}

/** Resolves with the status when the response is read; of a stream, so many events. */
async function callOnce(baseUrl: string, call: Call, events = 1): Promise<number> {
  if (events === 1) return (await send(baseUrl, call)).status;
  const closing = new AbortController();
  const response = await fetch(baseUrl + call.path, { signal: closing.signal });
  let left = events;
  for await (const part of response.body?.pipeThrough(new TextDecoderStream()) ?? []) {
    left -= part.split('\ndata:').length - 1;
    if (left <= 0) break;
  }
  closing.abort();
  return response.status;
}
