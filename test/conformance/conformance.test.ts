/** The kit against gateways that conform, against servers that only look like one, and against itself. */
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
import { NOT_IN_SIMULATOR, TRIED_SETTINGS, withSimulator } from './fault-search.ts';
import { type Fields, isFields, listOf } from './findings.ts';
import { CONTROL_SECRETS, CONTROL_ORIGIN as origin } from './planted-faults.ts';
import { REQUIREMENTS } from './requirements.ts';
import { CHECKS, type RunOptions, runChecks } from './run-checks.ts';
import { SLOW_CHECKS } from './slow-checks.ts';
import type { Send } from './subject.ts';
import { complaintsOf } from './tested-runs.ts';
import { exitCodeOf, summarize } from './verdicts.ts';
import { nameCall } from './wire-faults.ts';

const { gateway: auth, admin: adminAuth, push: pushSecrets } = CONTROL_SECRETS;
/** A gateway that conforms gets more time than usual, because the machine may be busy. */
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

/** Returns the requirements that are scored and did not pass, each with what was found. */
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
});

/** The fields of each response to clients and agents that the specification shows. */
const TASK = [
  ...['request_id', 'task_type', 'task_tags', 'payload', 'status', 'agent_id', 'cli_session_id'],
  ...['create_time', 'timeout', 'progress', 'result', 'error_info'],
];
const AGENT = ['agent_id', 'endpoint', 'agent_tags', 'max_concurrent', 'current_load'];
const EVENT = ['event', 'request_id', 'status', 'result', 'error_info'];
const SHOWN: Readonly<Record<string, readonly string[]>> = {
  'POST /api/cli/tasks': TASK,
  'GET /api/cli/tasks/{request_id}': TASK,
  'POST /api/cli/tasks/{request_id}/cancel': ['ok', 'request_id'],
  'GET /api/cli/events': EVENT,
  'POST /api/agent/register': [],
  'POST /api/agent/heartbeat': [],
  'POST /api/agent/result': [],
  'POST /api/agent/unregister': [],
  'GET /api/admin/agents': ['agents'],
};
const SENT_HEADERS = ['content-type', 'x-admin-auth'];
const SENT_FIELDS = ['auth', ...TASK, ...AGENT];

const choose = (one: unknown, names: readonly string[]): Fields =>
  Object.fromEntries(Object.entries(isFields(one) ? one : {}).filter(([name]) => names.includes(name)));

/** Leaves out of a gateway, and of what it is asked, all that the specification does not show. */
function leaveLetter(send: Send): Send {
  return async (url, { headers, body, ...init }) => {
    const call = nameCall(init.method, new URL(url).pathname);
    const shown = SHOWN[call];
    if (!shown) return Response.json({}, { status: 404 });
    const asked = new URL(url);
    for (const name of [...asked.searchParams.keys()])
      if (!['auth', 'cli_session_id'].includes(name)) asked.searchParams.delete(name);
    const response = await send(asked.href, {
      ...init,
      headers: choose(headers, SENT_HEADERS) as Record<string, string>,
      ...(body === undefined ? {} : { body: JSON.stringify(choose(JSON.parse(body), SENT_FIELDS)) }),
    });
    const status = response.ok ? 203 : response.status;
    if (response.ok && shown === EVENT) {
      const events = response.body?.pipeThrough(new TextDecoderStream()).pipeThrough(leaveEvents());
      return new Response(events?.pipeThrough(new TextEncoderStream()), {
        status,
        headers: { 'content-type': 'text/event-stream' },
      });
    }
    const { agents, ...given } = choose(await response.json(), response.ok ? shown : []);
    const listed = listOf(agents).map((agent) => choose(agent, [...AGENT, 'state']));
    return Response.json(agents === undefined ? given : { agents: listed }, { status });
  };
}

/** Keeps only the lines of data, and in them only the fields of events. */
function leaveEvents(): TransformStream<string, string> {
  let rest = '';
  return new TransformStream({
    transform(text, controller) {
      const lines = `${rest}${text}`.split('\n');
      rest = lines.pop() ?? '';
      for (const line of lines)
        if (line.startsWith('data: '))
          controller.enqueue(`data: ${JSON.stringify(choose(JSON.parse(line.slice(6)), EVENT))}\n\n`);
    },
  });
}

test('the letter of the specification is enough for L0, without all that it does not show', async () => {
  const complaints = await withSimulator(({ gatewayUrl, send, clock }) =>
    complaintsOn(gatewayUrl, {
      clock,
      level: 'L0',
      send: leaveLetter(send),
      plantInPushes: (take) => (push) => take({ ...push, headers: {}, bytes: Buffer.from('{}') }),
    }),
  );
  expect(complaints).toEqual([]);
});

describe('the simulator', () => {
  test('does as the gateway does, in all that comes to it', async () => {
    const verdicts = await withSimulator(({ gatewayUrl, ...more }) =>
      verdictsOn(gatewayUrl, { ...more, slow: true }),
    );
    const { unexpected, counts, passed } = summarize(verdicts, NOT_IN_SIMULATOR);
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

// They wait more than they work.
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
});
