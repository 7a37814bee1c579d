/**
 * Party A sends bodies that announce much, never end, or cost much to parse, without any secret; party B is
 * served as before. The address of both is loopback, so no share keeps A from anything.
 */
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { buildCall } from '../../contract/usual-calls.ts';
import { ADMIN_SECRET, type GatewayProcess, SECRET, startGateway } from '../../harness/gateway-process.ts';
import { openConnection, type RawConnection } from '../../http/raw-connection.ts';
import { askOnce } from '../single-request.ts';
import { expectUnaffected, measureBeside, SCALE } from './beside.ts';

const TIMEOUT = { timeout: 300_000 };
const BODY_BYTES = 1024 * 1024;
const secrets = { gateway: SECRET, admin: ADMIN_SECRET };
const head = (bytes: number): string =>
  `POST /api/cli/tasks HTTP/1.1\r\nHost: a\r\nContent-Length: ${bytes}\r\n\r\n`;

let gateway: GatewayProcess;
let port: number;
beforeAll(async () => {
  gateway = await startGateway();
  port = Number(new URL(gateway.baseUrl).port);
});
afterAll(() => gateway?.stop());

/** Opens this many connections and sends the same on each. */
async function openAll(count: number, text: string): Promise<readonly RawConnection[]> {
  return await Promise.all(
    Array.from({ length: count }, async () => {
      const wire = await openConnection(port);
      wire.write(text);
      return wire;
    }),
  );
}

/** This many bodies that do not end, all with the same beginning. */
type OpenBodies = readonly [count: number, start: string];

/** Holds the bodies open until B was measured. */
async function expectUnaffectedBesideOpenBodies(
  name: string,
  ...kinds: readonly OpenBodies[]
): Promise<void> {
  const measured = await measureBeside({
    name,
    baseUrl: gateway.baseUrl,
    async takeAll() {
      const wires: RawConnection[] = [];
      for (const [count, start] of kinds) wires.push(...(await openAll(count, start)));
      return async () => {
        for (const wire of wires) wire.close();
      };
    },
  });
  expectUnaffected(measured);
}

describe('beside bodies that do not end, calls are as fast as alone', TIMEOUT, () => {
  test('while they announce 1 MiB and send little more than 64 KiB', () =>
    expectUnaffectedBesideOpenBodies('announced-bodies', [
      130 * SCALE,
      head(BODY_BYTES) + ' '.repeat(65_600),
    ]));

  test('while only their headers have come', () =>
    expectUnaffectedBesideOpenBodies('announced-headers', [1_000 * SCALE, head(65_536)]));

  test('while they fill the memory of small ones', () =>
    // The smaller ones take what the last refused one has left.
    expectUnaffectedBesideOpenBodies(
      'small-bodies',
      [400, head(65_536) + ' '.repeat(65_000)],
      [200, head(65_536) + ' '.repeat(1_000)],
      [200, head(65_536) + ' '.repeat(100)],
      [50, `${head(65_536)} `],
    ));

  test('while they fill the memory of large ones', () =>
    expectUnaffectedBesideOpenBodies('large-bodies', [70, head(BODY_BYTES) + ' '.repeat(BODY_BYTES - 1)]));

  test('and a large body is accepted in the place of the slowest', async () => {
    const wires = await openAll(70, head(BODY_BYTES) + ' '.repeat(BODY_BYTES - 1));
    onTestFinished(() => {
      for (const wire of wires) wire.close();
    });
    const text = 'x'.repeat(1_000_000);
    const large = buildCall('submitTask', secrets, { payload: { text } });
    await expect
      .poll(async () => (await askOnce(gateway.baseUrl, large)).status, { timeout: 60_000 })
      .toBe(200);
    // Whichever gave way, was late for it: nothing was cut without a response.
    await expect
      .poll(async () => (await Promise.all(wires.map((wire) => wire.readUntil(/^/)))).join(''))
      .toMatch(/"code":"busy"/);
  });
});

describe('a body that is slow to arrive', TIMEOUT, () => {
  test('is refused after 5 s when it is large, and its connection is closed', async () => {
    const [wire] = await openAll(1, head(BODY_BYTES));
    const startMs = performance.now();
    const text = (await wire?.readAll()) ?? '';
    expect(text).toMatch(/^HTTP\/1\.1 408 .*"code":"request_timeout"/s);
    expect(performance.now() - startMs).toBeGreaterThan(4_500);
    expect(performance.now() - startMs).toBeLessThan(20_000);
  });
});

const fill = (text: string): string => text.repeat(Math.floor((BODY_BYTES - 64) / text.length));
/** Each takes the parser long, or much memory. */
const HOSTILE: readonly (readonly [string, string])[] = [
  ['arrays inside one another', '['.repeat(500_000) + ']'.repeat(500_000)],
  ['objects inside one another', `${'{"a":'.repeat(170_000)}1${'}'.repeat(170_000)}`],
  ['empty arrays', `[${fill('[],')}1]`],
  ['empty objects', `[${fill('{},')}1]`],
  ['90 levels again and again', `[${fill(`${'['.repeat(90)}${']'.repeat(90)},`)}1]`],
  ['short texts', `[${Array.from({ length: 149_000 }, (_, n) => `"${n.toString(36).padStart(4, '0')}"`)}]`],
  ['different keys', `{${Array.from({ length: 110_000 }, (_, n) => `"${n.toString(36)}":1`)}}`],
  ['19,000 different keys', `{${Array.from({ length: 19_000 }, (_, n) => `"${n.toString(36)}":1`)}}`],
  [
    'objects of a key each, all different',
    `[${Array.from({ length: 97_000 }, (_, n) => `{"${n.toString(36)}":1}`)}]`,
  ],
  [
    '19,000 different keys in objects of a hundred',
    `[${Array.from({ length: 190 }, (_, n) => `{${Array.from({ length: 100 }, (_, m) => `"${n}-${m}":1`)}}`)}]`,
  ],
  ['numbers', `[${fill('1,')}1]`],
  ['one long number', `{"payload":${fill('1')}}`],
  ['numbers with exponents', `[${fill('1e20,')}1]`],
  ['escapes', `["${fill('\\u4e2d')}"]`],
];

describe('beside bodies of 1 MiB without a secret', TIMEOUT, () => {
  test('that are hostile to the parser, calls are as fast as alone', async () => {
    const measured = await measureBeside({
      name: 'hostile-bodies',
      baseUrl: gateway.baseUrl,
      async takeAll() {
        let isOver = false;
        const statuses: number[] = [];
        const requests = HOSTILE.map(([, body]) => head(body.length) + body);
        const send = async (first: number): Promise<void> => {
          for (let n = first; !isOver; n += 1) {
            const wire = await openConnection(port);
            wire.write(requests[n % requests.length] ?? '');
            statuses.push(Number((await wire.readUntil(/\}$/)).slice(9, 12)));
            wire.close();
          }
        };
        const senders = [send(0), send(5)];
        return async () => {
          isOver = true;
          await Promise.all(senders);
          expect(statuses.length).toBeGreaterThan(0);
          expect(new Set(statuses)).toEqual(new Set([422]));
        };
      },
    });
    expectUnaffected(measured);
  });

  test.each(HOSTILE)('%s: each gets a 422 that says what to send less of', async (_what, body) => {
    const wire = await openConnection(port);
    wire.write(head(body.length) + body);
    const text = await wire.readUntil(/\}$/);
    wire.close();
    expect(text).toMatch(/^HTTP\/1\.1 422 .*"code":"validation_failed"/s);
  });
});
