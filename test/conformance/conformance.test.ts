/**
 * The kit against gateways that conform, against what only looks like one, and against itself: every check
 * has a control, and finds the fault that it plants.
 */
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { findFreePort } from '../harness/free-port.ts';
import { type GatewayProcess, startGateway } from '../harness/gateway-process.ts';
import { startRedis } from '../harness/redis-process.ts';
import { serveSimulator } from '../harness/served-simulator.ts';
import { CONTROLS, findComplaints, TRIED_SETTINGS, tryControls, withSimulator } from './control-table.ts';
import { serveMinimalGateway } from './minimal-gateway.ts';
import { CONTROL_SECRETS, CONTROL_ORIGIN as origin } from './planted-faults.ts';
import { REQUIREMENTS } from './requirements.ts';
import { CHECKS, type RunOptions, runChecks } from './run-checks.ts';
import { SLOW_CHECKS } from './slow-checks.ts';
import { complaintsOf } from './tested-runs.ts';
import { exitCodeOf, summarize } from './verdicts.ts';

const { gateway: auth, admin: adminAuth, push: pushSecrets } = CONTROL_SECRETS;
/** A gateway that conforms gets more time than usual: the machine may be busy. */
const BUSY_LIMIT_MS = 30_000;
let gateway: GatewayProcess;

beforeAll(async () => {
  gateway = await startGateway(TRIED_SETTINGS);
});
afterAll(async () => {
  await gateway?.stop();
});

async function verdictsOn(gatewayUrl: string, more: Partial<RunOptions> = {}) {
  const { verdicts } = await runChecks({
    gatewayUrl,
    auth,
    adminAuth,
    pushSecrets,
    origin,
    seed: 7,
    limitMs: BUSY_LIMIT_MS,
    ...more,
  });
  return verdicts;
}

/** Those that are no pass and are scored, each with what was found. */
async function complaintsOn(gatewayUrl: string, more: Partial<RunOptions> = {}): Promise<readonly string[]> {
  const verdicts = await verdictsOn(gatewayUrl, more);
  const { passed, applicable } = summarize(verdicts);
  console.log(`figure: conformance-must ${passed} of ${applicable}`);
  return complaintsOf({ verdicts });
}

async function serve(onFinished: typeof onTestFinished, listener: RequestListener): Promise<string> {
  const server = createServer(listener).listen(0, '127.0.0.1');
  await once(server, 'listening');
  onFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

describe('a gateway that conforms', () => {
  test('ours in memory; and once more, when it has been used', async () => {
    expect(await complaintsOn(gateway.baseUrl)).toEqual([]);
    expect(await complaintsOn(gateway.baseUrl)).toEqual([]);
  });

  test('ours on SQLite', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'task-gateway-conformance-'));
    onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
    const onFile = await startGateway({ ...TRIED_SETTINGS, STORE: `sqlite:${join(folder, 'gateway.db')}` });
    onTestFinished(async () => void (await onFile.stop()));
    expect(await complaintsOn(onFile.baseUrl)).toEqual([]);
  });

  test('ours on Redis', { tags: 'redis' }, async () => {
    const redis = await startRedis();
    onTestFinished(() => redis.dispose());
    const shared = await startGateway({ ...TRIED_SETTINGS, STORE: redis.url });
    onTestFinished(async () => void (await shared.stop()));
    expect(await complaintsOn(shared.baseUrl)).toEqual([]);
  });

  test('the minimal one, to the letter of the specification', async () => {
    const minimal = await serveMinimalGateway(0, CONTROL_SECRETS);
    onTestFinished(() => minimal.close());
    expect(await complaintsOn(minimal.url, { level: 'L0' })).toEqual([]);
  });
});

describe('the simulator', () => {
  /** It serves the API alone, and no bytes come to it. */
  const known = Object.fromEntries([
    ...REQUIREMENTS.filter(({ id }) => id.startsWith('paths.')).map(({ id }) => [
      id,
      'It has no paths beside the API.',
    ]),
    ['order.the-documents-livez-and', 'It has no paths beside the API.'],
    ['order.bytes-that-are-no', 'Its requests have no bytes.'],
    ['limits.headers-16-kib-within', 'Its requests have no bytes.'],
    ['errors.steps-1-and-3', 'Its requests have no bytes.'],
    ['errors.each-operation-lists-those', 'It has no paths beside the API.'],
    ['versions.the-version-is-that', 'It has no paths beside the API.'],
  ]);

  test('does as the gateway does, in all that comes to it', async () => {
    const verdicts = await withSimulator(({ gatewayUrl, ...more }) =>
      verdictsOn(gatewayUrl, { ...more, slow: true }),
    );
    const { unexpected, counts, passed } = summarize(verdicts, known);
    console.log(`figure: conformance-must-simulator ${passed}, of which expected not to pass ${counts.fail}`);
    expect(unexpected.map(({ requirement, detail }) => `${requirement.id}: ${detail}`)).toEqual([]);
    expect(counts.error).toBe(0);
    const letter = verdicts.filter(({ requirement }) => requirement.level === 'L0');
    expect(complaintsOf({ verdicts: letter })).toEqual([]);
  });
});

test('the simulator over HTTP keeps the letter, in real time', async () => {
  const served = await serveSimulator({ realTime: true }, { auth, adminAuth });
  onTestFinished(() => served.stop());
  expect(await complaintsOn(served.url, { level: 'L0' })).toEqual([]);
});

// They wait rather than work.
describe.concurrent('a subject that is no gateway passes nothing', () => {
  const bodies = ['{}', '{"ok":true}', '[]', '', 'null'];
  const echo: RequestListener = (request, response) => {
    response.setHeader('content-type', 'application/json');
    request.pipe(response);
  };

  test.for([
    ...bodies.map((body) => [`200 and ${body || 'nothing'} to everything`, 200, body] as const),
    ...[204, 302, 400, 401, 404, 422, 500].map((status) => [`${status} to everything`, status, ''] as const),
  ])('%s', async ([_what, status, body], { expect: wants, onTestFinished: onFinished }) => {
    const url = await serve(onFinished, (request, response) => {
      request.resume();
      response.writeHead(status, { 'content-type': 'application/json' }).end(body);
    });
    const { counts, passed, applicable } = summarize(await verdictsOn(url, { limitMs: 300, again: false }));
    wants({ passed, pass: counts.pass, error: counts.error }).toEqual({ passed: 0, pass: 0, error: 0 });
    wants(applicable).toBeGreaterThan(50);
  });

  test.for([
    ['what was sent comes back', echo],
    ['every connection is cut', ((request) => request.socket.destroy()) as RequestListener],
    ['nothing ever comes', (() => {}) as RequestListener],
  ] as const)('%s', async ([_what, listener], { expect: wants, onTestFinished: onFinished }) => {
    const url = await serve(onFinished, listener);
    const { counts, passed } = summarize(await verdictsOn(url, { limitMs: 300 }));
    wants({ passed, pass: counts.pass, error: counts.error }).toEqual({ passed: 0, pass: 0, error: 0 });
  });

  test('it does not listen', async ({ expect: wants }) => {
    const summary = summarize(await verdictsOn(`http://127.0.0.1:${await findFreePort()}`));
    const { counts, passed } = summary;
    wants({ passed, pass: counts.pass, error: counts.error }).toEqual({ passed: 0, pass: 0, error: 0 });
    wants([counts.fail, counts.not_run > 200, exitCodeOf(summary)]).toEqual([1, true, 1]);
  });
});

describe('a fault of the kit', () => {
  test('counts neither for nor against the subject: it was ended in the middle', async () => {
    const signal = AbortSignal.timeout(300);
    const verdicts = await verdictsOn(gateway.baseUrl, { signal });
    const summary = summarize(verdicts);
    expect(summary.counts.error).toBeGreaterThan(10);
    expect(summary.counts.fail).toBe(0);
    expect(exitCodeOf(summary)).toBe(2);
    expect(verdicts.every(({ outcome, detail }) => outcome === 'pass' || detail !== '')).toBe(true);
  });

  test('such as an address that it cannot listen on is an error of every check', async () => {
    const options = { gatewayUrl: gateway.baseUrl, auth, adminAuth, seed: 7, agentHost: '192.0.2.1' };
    const { counts } = summarize((await runChecks(options)).verdicts);
    expect(counts.error).toBeGreaterThan(50);
    expect(counts.pass + counts.fail + counts.warn).toBe(0);
  });
});

describe('every requirement', () => {
  const checked = [...Object.keys(CHECKS), ...Object.keys(SLOW_CHECKS)].sort();

  test('has a check, or a reason why there is none, and never both', () => {
    const scored = REQUIREMENTS.filter(
      ({ role, not_scored }) => role === 'gateway' && not_scored === undefined,
    ).map(({ id, checked_by = id }) => checked_by);
    expect(checked).toEqual([...new Set(scored)].sort());
    for (const { not_scored } of REQUIREMENTS) expect(not_scored).not.toBe('');
  });

  test('that takes long to check is not scored unless it is asked for', async () => {
    const verdicts = await verdictsOn(gateway.baseUrl, { only: 'moving.not-claimed' });
    expect(verdicts.map(({ outcome, detail }) => [outcome, detail])).toEqual([
      ['not_scored', 'It takes 20 s: give --slow.'],
    ]);
  });

  test('that is checked has a control', () => {
    expect(Object.keys(CONTROLS).sort()).toEqual(checked);
  });

  test('is failed by its control, and passes where nothing is planted', async () => {
    const found = await tryControls(gateway.baseUrl);
    const missed = [...found].filter(([id, ids]) => !ids.includes(id)).map(([id]) => id);
    const others = [...found.values()].reduce((sum, ids) => sum + ids.length - 1, 0);
    console.log(`figure: conformance-controls ${found.size}, found by ${others} other checks too`);
    expect(missed).toEqual([]);
    const subject = { gatewayUrl: gateway.baseUrl };
    for (const only of await findComplaints(subject))
      expect(await findComplaints(subject, {}, { only })).toEqual([]);
  }, 600_000);
});
