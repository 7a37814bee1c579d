/**
 * Party A takes all that one remote address can have of a pool; beyond its half, A alone is refused, and
 * party B is served from another address as before. A trusted proxy on the loopback interface names both.
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
import { findTool } from '../../harness/tools.ts';
import { exchange, openConnection, type RawConnection } from '../../http/raw-connection.ts';
import { askOnce } from '../single-request.ts';
import { expectUnaffected, measureBeside } from './beside.ts';

const TIMEOUT = { timeout: 300_000 };
const secrets = { gateway: SECRET, admin: ADMIN_SECRET };
const A = '203.0.113.1';
const B = '198.51.100.7';
const BODY_BYTES = 1024 * 1024;
/** So many bodies of 1 MiB are more than half of the memory for large ones, and less than all. */
const BODIES = 40;
const STREAMS = 10;

let gateway: GatewayProcess;
let port: number;
beforeAll(async () => {
  gateway = await startLimitedGateway({ streamsMax: STREAMS }, { TRUSTED_PROXIES: '127.0.0.0/8, ::1' });
  port = Number(new URL(gateway.baseUrl).port);
});
afterAll(() => gateway?.stop());

function callFrom(address: string, call: Call): Call {
  return { ...call, headers: { ...call.headers, 'x-forwarded-for': `10.9.9.9, ${address}` } };
}

async function openFrom(address: string, head: string, body = ''): Promise<RawConnection> {
  const wire = await openConnection(port);
  wire.write(`${head} HTTP/1.1\r\nHost: a\r\nX-Forwarded-For: ${address}\r\n`);
  wire.write(body === '' ? '\r\n' : `Content-Length: ${body.length + 1}\r\n\r\n${body}`);
  return wire;
}

function closeAllAtTheEnd(wires: readonly RawConnection[]): void {
  onTestFinished(() => {
    for (const wire of wires) wire.close();
  });
}

describe('of the memory for bodies', TIMEOUT, () => {
  test('one address has half, and another sends large bodies as fast as alone', async () => {
    const text = 'x'.repeat(200_000);
    const large = buildCall('submitTask', secrets, { payload: { text } });
    const measured = await measureBeside({
      name: 'body-share',
      baseUrl: gateway.baseUrl,
      calls: [callFrom(B, large)],
      everyMs: 50,
      async takeAll() {
        const body = ' '.repeat(BODY_BYTES - 1);
        const wires = await Promise.all(
          Array.from({ length: BODIES }, () => openFrom(A, 'POST /api/cli/tasks', body)),
        );
        const refused = await Promise.race(wires.map((wire) => wire.readUntil(/\}$/)));
        expect(refused).toMatch(/^HTTP\/1\.1 503 .*Retry-After: 5.*your address.*"code":"busy"/s);
        return async () => {
          for (const wire of wires) wire.close();
        };
      },
    });
    expectUnaffected(measured);
  });
});

describe('of the streams', TIMEOUT, () => {
  test('one address has half; beyond it gets a 429, and another opens the rest', async () => {
    const open = async (address: string, session: string): Promise<string> => {
      const wire = await openFrom(address, `GET /api/cli/events?cli_session_id=${session}&auth=${SECRET}`);
      closeAllAtTheEnd([wire]);
      return (await wire.readUntil(/: ready\n\n|\}$/)).slice(9, 12);
    };
    const statuses = async (address: string, count: number): Promise<readonly string[]> =>
      await Promise.all(Array.from({ length: count }, (_, n) => open(address, `${address}-${n}`)));
    const half = Array(STREAMS / 2).fill('200');
    expect((await statuses(A, STREAMS)).toSorted()).toEqual([...half, ...Array(STREAMS / 2).fill('429')]);
    expect(await statuses(B, STREAMS / 2)).toEqual(half);
  });
});

describe('of the connections', TIMEOUT, () => {
  test('one address has half, and another connects as before', { tags: 'second-address' }, async () => {
    const own = findTool('second-address') ?? '';
    const small = await startGateway({ HOST: '0.0.0.0', CONNECTIONS_MAX: '20' });
    onTestFinished(async () => void (await small.stop()));
    const smallPort = Number(new URL(small.baseUrl).port);
    const wires = await Promise.all(Array.from({ length: 20 }, () => openConnection(smallPort, own)));
    closeAllAtTheEnd(wires);
    await expect.poll(() => wires.filter((wire) => wire.isClosed()).length).toBe(10);
    const ping = 'GET /livez HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n';
    for (let n = 0; n < 20; n += 1) expect(await exchange(smallPort, ping)).toMatch(/200 OK/);
  });
});

describe('an address that says nothing', TIMEOUT, () => {
  test('has no share: callers on this machine take the streams, two thirds of the connections, among themselves', async () => {
    const plain = await startGateway({ CONNECTIONS_MAX: '6' });
    onTestFinished(async () => void (await plain.stop()));
    const plainPort = Number(new URL(plain.baseUrl).port);
    const wires = await Promise.all(
      Array.from({ length: 4 }, async () => {
        const wire = await openConnection(plainPort);
        // Without a trusted proxy its header means nothing.
        wire.write(
          `GET /api/cli/events?cli_session_id=s&auth=${SECRET} HTTP/1.1\r\nHost: a\r\nX-Forwarded-For: ${A}\r\n\r\n`,
        );
        return wire;
      }),
    );
    closeAllAtTheEnd(wires);
    for (const wire of wires) expect(await wire.readUntil(/: ready\n\n|\}$/)).toMatch(/^HTTP\/1\.1 200 /);
    const beyond = await askOnce(plain.baseUrl, buildCall('subscribeEvents', secrets, {}, 's'));
    expect(beyond.json.code).toBe('too_many_streams');
  });
});
