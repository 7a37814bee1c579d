/**
 * A task's output over real sockets, on each kind of store: 5,000 pieces from calls that are repeated at
 * random, last writes that race the end of their tasks, restarts of the agent, readers that are cut and go
 * on at another replica, and a store whose output is full. `OUTPUT_RACES` is the number of races.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { printTally } from '../harness/figures.ts';
import { type GatewayProcess, SECRET, startGateway } from '../harness/gateway-process.ts';
import { type RedisProcess, startRedis } from '../harness/redis-process.ts';

const RACES = Number(process.env.OUTPUT_RACES ?? 700);
const AT_ONCE = 20;
const PIECES = 5_000;

type Json = Readonly<Record<string, unknown>>;
type Page = { readonly pieces: readonly Json[]; readonly last: number; readonly complete: boolean } & Json;

const headers = { authorization: `Bearer ${SECRET}`, 'content-type': 'application/json' };

async function post(baseUrl: string, path: string, body: Json): Promise<{ status: number; json: Json }> {
  const text = JSON.stringify({ auth: SECRET, ...body });
  const response = await fetch(baseUrl + path, { method: 'POST', headers, body: text });
  return { status: response.status, json: (await response.json()) as Json };
}

const QUESTION = {
  key: 'deploy',
  prompt: '部署吗？',
  schema: { type: 'object', properties: { approve: { type: 'boolean' } }, required: ['approve'] },
};

type Started = { readonly agent_id: string; readonly request_id: string };

/** A task that its own agent has claimed. */
async function startTask(baseUrl: string, name: string, more: Json = {}): Promise<Started> {
  const agent = { agent_id: name, endpoint: 'pull', agent_tags: [name] };
  await post(baseUrl, '/api/agent/register', agent);
  const task = { task_type: 't', task_tags: [name], payload: {}, ...more };
  const { json } = await post(baseUrl, '/api/cli/tasks', task);
  await post(baseUrl, '/api/agent/claim', { agent_id: name, wait: 20 });
  return { agent_id: name, request_id: String(json.request_id) };
}

const write = (baseUrl: string, body: Json) => post(baseUrl, '/api/agent/output', { writer: 'w', ...body });
const textsFrom = (from: number, count: number) =>
  Array.from({ length: count }, (_, index) => ({ text: `${from + index}` }));

async function readPage(baseUrl: string, request_id: string, after: number): Promise<Page> {
  const path = `/api/cli/tasks/${request_id}/output?after=${after}`;
  return (await (await fetch(baseUrl + path, { headers })).json()) as Page;
}

async function readPages(baseUrl: string, request_id: string): Promise<readonly Json[]> {
  const pieces: Json[] = [];
  for (;;) {
    const page = await readPage(baseUrl, request_id, pieces.length);
    pieces.push(...page.pieces);
    if (page.complete || page.pieces.length === 0) return pieces;
  }
}

/** The data of the whole frames of a stream, from a number on; it is left after at least `enough` bytes. */
async function follow(baseUrl: string, request_id: string, lastId: number, enough = Infinity) {
  const leaving = new AbortController();
  const path = `${baseUrl}/api/cli/tasks/${request_id}/output`;
  const own = { ...headers, accept: 'text/event-stream', 'last-event-id': lastId ? String(lastId) : '' };
  const response = await fetch(path, { headers: own, signal: leaving.signal });
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of response.body ?? []) {
    chunks.push(chunk);
    size += chunk.length;
    if (size >= enough) break;
  }
  leaving.abort();
  const received = Buffer.concat(chunks).subarray(0, enough).toString('latin1');
  const frames = received.split('\n\n').slice(0, -1);
  const data = frames.flatMap((frame) => /^data: (.*)$/m.exec(frame)?.[1] ?? []);
  return data.map((json) => JSON.parse(Buffer.from(json, 'latin1').toString()) as Json);
}

describe.each([
  ['memory', {}],
  ['sqlite', {}],
  ['redis', { tags: 'redis' }],
] as const)('on %s', (kind, tags) => {
  describe('output', tags, () => {
    const folder = mkdtempSync(join(tmpdir(), 'task-gateway-output-'));
    const gateways: GatewayProcess[] = [];
    let redis: RedisProcess | undefined;
    let one = '';
    let two = '';

    beforeAll(async () => {
      if (kind === 'redis') redis = await startRedis();
      const STORE = redis?.url ?? (kind === 'sqlite' ? `sqlite:${folder}/gateway.db` : 'memory:');
      const settings = { STORE, OUTPUT_TOTAL_BYTES: String(2 ** 20) };
      for (let index = 0; index < (redis ? 2 : 1); index += 1) gateways.push(await startGateway(settings));
      [one = '', two = one] = gateways.map(({ baseUrl }) => baseUrl);
    });
    afterAll(async () => {
      await Promise.all(gateways.map((gateway) => gateway.stop()));
      await redis?.dispose();
      rmSync(folder, { recursive: true, force: true });
    });

    test(`${PIECES} pieces from calls that are repeated are read once each, in order, wherever the reader is cut`, async () => {
      const { agent_id, request_id } = await startTask(one, 'many');
      const reading = (async () => {
        const seen: Json[] = [];
        for (let cut = 1; seen.at(-1)?.end !== true; cut += 1) {
          const on = cut % 2 === 0 ? one : two;
          const at = Number(seen.at(-1)?.n ?? 0);
          const more = await follow(on, request_id, at, 200 + ((cut * 7_919) % 20_000));
          seen.push(...more.filter(({ n }) => n !== undefined));
        }
        return seen;
      })();
      for (let from = 0; from < PIECES; ) {
        const count = Math.min(1 + ((from * 31) % 100), PIECES - from);
        const on = from % 2 === 0 ? one : two;
        const body = { agent_id, request_id, from, pieces: textsFrom(from, count) };
        // Sent twice or three times, some of them at once, and again later with more behind it.
        const calls = [write(on, body), ...(from % 3 === 0 ? [write(two, body)] : [])];
        for (const { status } of await Promise.all(calls)) expect(status).toBe(200);
        const { json } = await write(one, body);
        expect(json).toMatchObject({ accepted: true, next: from + count });
        from += count;
      }
      await post(two, '/api/agent/result', { agent_id, request_id, status: 'success' });
      const seen = await reading;
      expect(seen.map(({ n }) => n)).toEqual(Array.from({ length: PIECES + 1 }, (_, index) => index + 1));
      expect(seen.slice(0, -1).map(({ text }) => Number(text))).toEqual(
        Array.from({ length: PIECES }, (_, index) => index),
      );
      expect(await readPages(two, request_id)).toEqual(seen.slice(0, -1));
      for (const on of [one, two]) {
        const path = `${on}/api/cli/tasks/${request_id}/output`;
        const own = { ...headers, accept: 'text/event-stream', 'last-event-id': String(PIECES + 1) };
        expect((await fetch(path, { headers: own })).status).toBe(204);
      }
    });

    test(`${RACES} last writes beside the end of their tasks: what was accepted is what the page and the stream have`, async () => {
      const race = async (nth: number): Promise<boolean> => {
        const { agent_id, request_id } = await startTask(one, `race-${nth}`);
        await write(one, { agent_id, request_id, from: 0, pieces: textsFrom(0, 1) });
        const following = follow(two, request_id, 0);
        const last = () => write(one, { agent_id, request_id, from: 1, pieces: textsFrom(1, 2) });
        const end = () =>
          nth % 2 === 0
            ? post(two, '/api/agent/result', { agent_id, request_id, status: 'success' })
            : post(two, `/api/cli/tasks/${request_id}/cancel`, {});
        const ending = nth % 4 < 2 ? end() : undefined;
        const [written] = await Promise.all([last(), ending ?? end()]);
        const count = written.json.accepted ? 3 : 1;
        const pieces = (await following).filter(({ n }) => n !== undefined);
        expect(pieces.map(({ n }) => n)).toEqual([1, 2, 3, 4].slice(0, count + 1));
        expect(pieces.at(-1)).toMatchObject({ end: true });
        const page = await readPage(one, request_id, 0);
        expect([page.pieces, page.complete]).toEqual([pieces.slice(0, -1), true]);
        return written.json.accepted === true;
      };
      let accepted = 0;
      for (let from = 0; from < RACES; from += AT_ONCE) {
        const results = await Promise.all(Array.from({ length: AT_ONCE }, (_, index) => race(from + index)));
        accepted += results.filter(Boolean).length;
      }
      printTally(`output races on ${kind}, accepted`, accepted, `of ${RACES}`);
    }, 300_000);

    test('an agent that restarts voids what it wrote once, and its earlier process is out', async () => {
      const { agent_id, request_id } = await startTask(one, 'restarts');
      await write(one, { agent_id, request_id, from: 0, pieces: textsFrom(0, 2) });
      const again = { agent_id, request_id, writer: 'again', from: 0, pieces: [{ data: 'new' }] };
      for (const on of [two, one]) expect((await write(on, again)).json).toMatchObject({ next: 1 });
      const late = await write(two, { agent_id, request_id, from: 2, pieces: textsFrom(2, 1) });
      expect([late.status, late.json.errors]).toEqual([
        422,
        [
          {
            pointer: '/from',
            detail: 'must be at most 0, the number of pieces that are stored of this writer',
          },
        ],
      ]);
      // Its successor registers without the task, and another agent gets it.
      await post(one, '/api/agent/register', { agent_id, endpoint: 'pull', agent_tags: [], request_ids: [] });
      await post(one, '/api/agent/register', {
        agent_id: 'next',
        endpoint: 'pull',
        agent_tags: ['restarts'],
      });
      const claimed = await post(two, '/api/agent/claim', { agent_id: 'next', wait: 30 });
      expect(claimed.json.request_id).toBe(request_id);
      const out = await write(one, { ...again, from: 1 });
      expect([out.status, out.json.code]).toEqual([400, 'agent_mismatch']);
      await write(two, { agent_id: 'next', request_id, from: 0, pieces: textsFrom(0, 1) });
      await post(one, `/api/cli/tasks/${request_id}/cancel`, {});
      expect(await follow(two, request_id, 0)).toEqual([
        ...[
          { n: 1, text: '0' },
          { n: 2, text: '1' },
          { n: 3, reset: true, agent_id },
          { n: 4, data: 'new' },
        ],
        ...[
          { n: 5, reset: true, agent_id: 'next' },
          { n: 6, text: '0' },
        ],
        { n: 7, end: true, status: 'failed', outcome: 'cancelled', missing: null },
      ]);
    });

    test('an agent that is killed after its question was answered asks again and has the answer, on any replica', async () => {
      const { agent_id, request_id } = await startTask(one, 'asks');
      const answer = { approve: true };
      const askAs = (on: string, writer: string) =>
        write(on, { agent_id, request_id, writer, from: 0, pieces: [{ question: QUESTION }] });
      const claim = (on: string) => post(on, '/api/agent/answer', { agent_id, request_id, key: 'deploy' });
      expect((await askAs(one, 'killed')).json).toMatchObject({ accepted: true });
      const answered = (on: string) =>
        post(on, `/api/cli/tasks/${request_id}/answer`, { key: 'deploy', answer });
      const equal = await Promise.all([answered(one), answered(two)]);
      expect(equal.map(({ status }) => status)).toEqual([200, 200]);
      expect((await askAs(two, 'again')).json).toMatchObject({ accepted: true, next: 1 });
      for (const on of [one, two]) expect((await claim(on)).json).toEqual({ key: 'deploy', answer });
      const kinds = (await readPages(one, request_id)).map((piece) => Object.keys(piece)[1]);
      expect(kinds).toEqual(['question', 'answer', 'reset', 'question', 'answer']);
      await post(one, `/api/cli/tasks/${request_id}/cancel`, {});
    });

    test('when all output is full, results, answers, cancels and deadlines go on, and what is missing is named', async () => {
      const piece = { text: 'x'.repeat(60_000) };
      const first = await startTask(one, 'settled');
      for (let from = 0; from < 8; from += 1) await write(one, { ...first, from, pieces: [piece] });
      await post(one, '/api/agent/result', { ...first, status: 'success' });
      const open = await startTask(one, 'open');
      let full: Json = {};
      for (let from = 0; from < 40 && full.accepted !== false; ) {
        const { status, json } = await write(two, { ...open, from, pieces: [piece] });
        // While the output of the task that ended is being removed, a write comes too early.
        expect([200, 503]).toContain(status);
        if (status === 200) full = json;
        if (json.accepted === true) from += 1;
        else if (status === 503) await new Promise((resolve) => setTimeout(resolve, 200));
      }
      expect(full).toMatchObject({ accepted: false, status: 'running' });
      expect(await readPage(one, first.request_id, 0)).toMatchObject({
        pieces: [],
        last: 8,
        complete: true,
        missing: 'removed',
      });
      const other = await startTask(one, 'other');
      const asked = await write(one, { ...other, from: 0, pieces: [{ question: QUESTION }] });
      expect(asked.json).toMatchObject({ accepted: true });
      const answer = { key: 'deploy', answer: { approve: true } };
      const answered = await post(two, `/api/cli/tasks/${other.request_id}/answer`, answer);
      expect(answered.status).toBe(200);
      const cancelled = await post(one, `/api/cli/tasks/${other.request_id}/cancel`, {});
      expect(cancelled.status).toBe(200);
      const late = await startTask(two, 'late', { timeout: 3 });
      expect(await follow(one, late.request_id, 0)).toContainEqual(
        expect.objectContaining({ end: true, outcome: 'timeout' }),
      );
      const result = await post(two, '/api/agent/result', { ...open, status: 'success' });
      expect(result.json).toMatchObject({ accepted: true, status: 'success' });
      const after = Number(full.next);
      expect(await follow(one, open.request_id, after)).toEqual([
        { n: after + 1, end: true, status: 'success', outcome: 'success', missing: 'truncated' },
      ]);
    });
  });
});
