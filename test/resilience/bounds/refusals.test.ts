/**
 * Every bound, over the real process: a call beyond it is refused with the documented problem and, where a
 * retry helps, with Retry-After. A flood of such calls leaves nothing behind, and after it the gateway serves
 * as before.
 */
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { buildCall, type Call } from '../../contract/usual-calls.ts';
import {
  ADMIN_SECRET,
  type GatewayProcess,
  SECRET,
  startGateway,
  startLimitedGateway,
} from '../../harness/gateway-process.ts';
import type { CheckedResponse } from '../../http/checked-call.ts';
import { exchange, openConnection, type RawConnection } from '../../http/raw-connection.ts';
import { askOnce } from '../single-request.ts';
import { expectFlat } from '../soak.ts';

const secrets = { gateway: SECRET, admin: ADMIN_SECRET };
const HEAD = 'HTTP/1.1\r\nHost: a\r\n';
const FLOOD = 50;
const ROUNDS = { first: 5, more: 10 };
/**
 * For a fresh process, whose heap first grows to what such requests take: measured, it is level after thirty.
 */
const ROUNDS_OF_NEW_PROCESS = { first: 30, more: 10 };
/** For a machine with much other work. */
const TIMEOUT = { timeout: 300_000 };

const limits = { streamsMax: 3, streamsOfOneMax: 2 };
const env = { OPEN_TASKS_MAX: '5', AGENTS_MAX: '2' };
let gateway: GatewayProcess;
let port: number;
beforeAll(async () => {
  gateway = await startLimitedGateway(limits, env);
  port = Number(new URL(gateway.baseUrl).port);
});
afterAll(() => gateway?.stop());

/** A task that waits for an agent that does not exist. */
const waitingTask = buildCall('submitTask', secrets, { queue_timeout: 600 });
const registration = (agent_id: string): Call => buildCall('registerAgent', secrets, { agent_id });
const askNow = (call: Call): Promise<CheckedResponse> => askOnce(gateway.baseUrl, call);

/** Opens a stream over a raw connection. One of the test before may still be closing: then it tries again. */
async function openStream(session: string): Promise<RawConnection> {
  for (;;) {
    const wire = await openConnection(port);
    wire.write(`GET /api/cli/events?cli_session_id=${session}&auth=${SECRET} ${HEAD}\r\n`);
    const text = await wire.readUntil(/: ready\n\n|"code":"too_many_streams".*\}$/s);
    if (text.includes(': ready')) return wire;
    wire.close();
  }
}

/** A bound: filled, exceeded again and again, released. */
type Bound = {
  readonly title: string;
  readonly status: number;
  readonly code: string;
  readonly again: boolean;
  fill(): Promise<() => Promise<unknown>>;
  readonly beyond: Call;
};

async function closeAll(wires: readonly RawConnection[]): Promise<void> {
  for (const wire of wires) wire.close();
}

const bounds: readonly Bound[] = [
  {
    title: 'open tasks',
    status: 503,
    code: 'busy',
    again: true,
    beyond: waitingTask,
    async fill() {
      const tasks = await Promise.all(Array.from({ length: 5 }, () => askNow(waitingTask)));
      expect(tasks.map(({ status }) => status)).toEqual([200, 200, 200, 200, 200]);
      return async () => {
        for (const { json } of tasks)
          await askNow(buildCall('cancelTask', secrets, {}, String(json.request_id)));
      };
    },
  },
  {
    title: 'agents',
    status: 503,
    code: 'busy',
    again: true,
    beyond: registration('third'),
    async fill() {
      for (const agent_id of ['first', 'second', 'first'])
        expect((await askNow(registration(agent_id))).status).toBe(200);
      return async () => {};
    },
  },
  {
    title: 'streams of one session',
    status: 429,
    code: 'too_many_streams',
    again: true,
    beyond: buildCall('subscribeEvents', secrets, {}, 's'),
    async fill() {
      const wires = [await openStream('s'), await openStream('s')];
      return () => closeAll(wires);
    },
  },
  {
    title: 'streams in all',
    status: 429,
    code: 'too_many_streams',
    again: true,
    beyond: buildCall('subscribeEvents', secrets, {}, 'd'),
    async fill() {
      const wires = [await openStream('a'), await openStream('b'), await openStream('c')];
      return () => closeAll(wires);
    },
  },
  {
    title: 'depth of a body',
    status: 422,
    code: 'validation_failed',
    again: false,
    beyond: buildCall('submitTask', secrets, { payload: JSON.parse('['.repeat(101) + ']'.repeat(101)) }),
    fill: async () => async () => {},
  },
];

/** Submits, lists, gets and cancels a task: each returns as usual. */
async function expectNormalService(): Promise<void> {
  await expect.poll(async () => (await askNow(waitingTask)).status).toBe(200);
  const listed = await askNow(buildCall('listTasks', secrets));
  const [task] = listed.json.tasks as readonly { readonly request_id: string }[];
  const id = task?.request_id ?? '';
  expect((await askNow(buildCall('getTask', secrets, {}, id))).json.status).toBe('pending');
  expect((await askNow(buildCall('cancelTask', secrets, {}, id))).status).toBe(200);
}

describe('beyond the bound on', TIMEOUT, () => {
  test.each(bounds)('$title the response is $status $code, and a flood leaves nothing', async (bound) => {
    const release = await bound.fill();
    onTestFinished(async () => void (await release()));
    const round = async (): Promise<void> => {
      const answers = await Promise.all(Array.from({ length: FLOOD }, () => askNow(bound.beyond)));
      for (const { status, json, headers } of answers) {
        expect([status, json.status, json.code]).toEqual([bound.status, bound.status, bound.code]);
        expect(headers.get('content-type')).toBe('application/problem+json');
        expect(/^[1-9]\d*$/.test(headers.get('retry-after') ?? '')).toBe(bound.again);
      }
    };
    await expectFlat(gateway.pid, round, ROUNDS);
    await release();
    await expectNormalService();
  });
});

describe('a body larger than the bound', TIMEOUT, () => {
  const limit = 2 ** 20;
  const problem = (text: string): unknown => {
    expect(text).toMatch(/^HTTP\/1\.1 413 /);
    return JSON.parse(text.slice(text.indexOf('\r\n\r\n') + 4));
  };
  const refusal = { status: 413, code: 'payload_too_large' };

  test('is refused by its declared length, before any of it is sent', async () => {
    const round = async (): Promise<void> => {
      const wires = await Promise.all(Array.from({ length: FLOOD }, () => openConnection(port)));
      for (const wire of wires) wire.write(`POST /api/cli/tasks ${HEAD}Content-Length: ${limit + 1}\r\n\r\n`);
      for (const wire of wires) expect(problem(await wire.readUntil(/\}$/))).toMatchObject(refusal);
      await closeAll(wires);
    };
    await expectFlat(gateway.pid, round, ROUNDS);
    await expectNormalService();
  });

  test('is refused in the middle when it comes in chunks without a declared length', async () => {
    const other = await startGateway();
    const otherPort = Number(new URL(other.baseUrl).port);
    const chunk = `4000\r\n${' '.repeat(0x4000)}\r\n`;
    const round = async (): Promise<void> => {
      const wires = await Promise.all(Array.from({ length: FLOOD }, () => openConnection(otherPort)));
      for (const wire of wires) {
        // More than the bound and no end: the response can't wait for the end.
        wire.write(`POST /api/cli/tasks ${HEAD}Transfer-Encoding: chunked\r\n\r\n${chunk.repeat(65)}`);
      }
      for (const wire of wires) expect(problem(await wire.readUntil(/\}$/))).toMatchObject(refusal);
      await closeAll(wires);
    };
    await expectFlat(other.pid, round, ROUNDS_OF_NEW_PROCESS);
    await other.stop();
  });
});

describe('outside of all operations', TIMEOUT, () => {
  test('headers larger than the bound get a 431, and a flood leaves nothing', async () => {
    const request = `GET /livez ${HEAD}X: ${'x'.repeat(20_000)}\r\n\r\n`;
    const round = async (): Promise<void> => {
      const texts = await Promise.all(Array.from({ length: FLOOD }, () => exchange(port, request)));
      for (const text of texts) {
        expect(text).toMatch(/^HTTP\/1\.1 431 /);
        expect(text).toContain('"code":"headers_too_large"');
      }
    };
    await expectFlat(gateway.pid, round, ROUNDS);
    await expectNormalService();
  });

  test('connections beyond the bound are closed at once, and the others go on', async () => {
    const small = await startGateway({ CONNECTIONS_MAX: '20' });
    onTestFinished(async () => void (await small.stop()));
    const smallPort = Number(new URL(small.baseUrl).port);
    const held = await Promise.all(Array.from({ length: 20 }, () => openConnection(smallPort)));
    const [caller] = held;
    const ping = `GET /livez ${HEAD}\r\n`;
    const round = async (number: number): Promise<void> => {
      const texts = await Promise.all(Array.from({ length: FLOOD }, () => exchange(smallPort, ping)));
      expect(texts.every((text) => text === '')).toBe(true);
      caller?.write(ping);
      await caller?.readUntil(new RegExp(`("ok"[^]*){${number + 1}}`));
      expect(held.every((wire) => !wire.isClosed())).toBe(true);
    };
    // The open connections send nothing, so all of this must end before they are closed for that.
    await expectFlat(small.pid, round, ROUNDS);
    await closeAll(held);
    await expect
      .poll(() => exchange(smallPort, `GET /livez ${HEAD}Connection: close\r\n\r\n`))
      .toMatch(/200 OK/);
  });
});
