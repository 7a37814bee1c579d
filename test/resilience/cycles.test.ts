/**
 * Connections opened and closed again, thousands of times, in every way a caller can leave in the middle of
 * something: no descriptor and no memory stays with the real process.
 */
import { connect } from 'node:net';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { post, submit } from '../e2e/plain-calls.ts';
import { printFigure } from '../harness/figures.ts';
import { type GatewayProcess, SECRET, startGateway } from '../harness/gateway-process.ts';
import { IS_FULL_RUN } from '../harness/slack.ts';
import { readCpuMs, readRssKiB } from './process-cost.ts';
import { expectFlat, SCALE } from './soak.ts';

const HEAD = 'HTTP/1.1\r\nHost: a\r\n';
const AT_ONCE = 50;
/** Of each of the five kinds 2,000. */
const ROUNDS = { first: 15, more: 24 };

let gateway: GatewayProcess;
let port: number;
let waiting: string;
beforeAll(async () => {
  gateway = await startGateway();
  port = Number(new URL(gateway.baseUrl).port);
  waiting = await submit(gateway.baseUrl, { queue_timeout: 600, timeout: 600 });
  const agent = { auth: SECRET, agent_id: 'puller', endpoint: 'pull', agent_tags: ['idle'] };
  expect((await post(gateway.baseUrl, '/api/agent/register', agent)).status).toBe(200);
});
afterAll(() => gateway?.stop());

/** Connects, sends, and leaves: as soon as it has sent, or once the response matches `stayFor`. */
function connectAndLeave(bytes: string, stayFor: RegExp | null): Promise<void> {
  return new Promise((resolve) => {
    let text = '';
    const socket = connect(port, '127.0.0.1', () => {
      if (bytes === '') socket.destroy();
      else socket.write(bytes, () => (stayFor === null ? socket.destroy() : undefined));
    });
    socket.on('data', (part) => {
      text += part;
      if (stayFor?.test(text)) socket.destroy();
    });
    socket.on('error', () => undefined);
    socket.on('close', () => resolve());
  });
}

function claimBody(): string {
  const body = JSON.stringify({ auth: SECRET, agent_id: 'puller', wait: 60 });
  return `Content-Length: ${body.length}\r\n\r\n${body}`;
}

/** Sent first on the same connection: once it has its response, the request behind it has begun. */
const LIVENESS = `GET /livez ${HEAD}\r\n`;

type Kind = readonly [title: string, bytes: () => string, stayFor: RegExp | null];

const kinds: readonly Kind[] = [
  ['connections', () => '', null],
  ['streams', () => `GET /api/cli/events?cli_session_id=s&auth=${SECRET} ${HEAD}\r\n`, /: ready\n\n/],
  ['long polls', () => `${LIVENESS}GET /api/cli/tasks/${waiting}?wait=60&auth=${SECRET} ${HEAD}\r\n`, /"ok"/],
  ['claims with a wait', () => `${LIVENESS}POST /api/agent/claim ${HEAD}${claimBody()}`, /"ok"/],
  [
    'half-sent requests',
    () =>
      `${LIVENESS}POST /api/cli/tasks ${HEAD}Content-Length: 100000\r\n\r\n{"auth":"${'x'.repeat(30_000)}`,
    /"ok"/,
  ],
];

describe('callers that come and go', () => {
  test.each(kinds)('%s leave nothing behind', async (_title, bytes, stayFor) => {
    const round = async (): Promise<void> => {
      await Promise.all(Array.from({ length: AT_ONCE }, () => connectAndLeave(bytes(), stayFor)));
    };
    await expectFlat(gateway.pid, round, ROUNDS);
  });

  test('afterwards the process rests', async () => {
    // Timers that were left behind would keep it busy: claims look every quarter of a second.
    const cpuMsOfOneSecond = async (): Promise<number> => {
      const beforeMs = readCpuMs(gateway.pid);
      await new Promise((resolve) => setTimeout(resolve, 1_000));
      return readCpuMs(gateway.pid) - beforeMs;
    };
    await expect.poll(cpuMsOfOneSecond, { timeout: 60_000 }).toBeLessThan(200);
    const rssMb = readRssKiB(gateway.pid) / 1_024;
    printFigure('cycles:memory', rssMb, 'MB');
    // How far a heap grows before it is collected depends on what else the machine does.
    if (IS_FULL_RUN) expect(rssMb).toBeLessThan(400 * Math.max(1, SCALE));
  });
});
