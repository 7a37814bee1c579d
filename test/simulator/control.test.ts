/** The simulator over HTTP: its own paths, its worlds, and what it refuses. */
import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createClient } from '../../sdk/index.ts';
import { startGateway } from '../harness/gateway-process.ts';
import { type ServedSimulator, serveSimulator } from '../harness/served-simulator.ts';
import { exchange } from '../http/raw-connection.ts';

/** A generated document. */
const readDocument = (name: string) =>
  JSON.parse(readFileSync(new URL(`../../generated/openapi/${name}`, import.meta.url), 'utf8'));

let served: ServedSimulator;
beforeAll(async () => {
  served = await serveSimulator({});
});
afterAll(() => served.stop());

/** Calls a path of a world's `/__sim/`; returns the status and the JSON, or the text. */
async function call(world: string, method: string, path: string, body?: unknown) {
  const text = typeof body === 'string' ? body : JSON.stringify(body);
  const url = `${served.url}/worlds/${world}/__sim/${path}`;
  const response = await fetch(url, { method, ...(text !== undefined && { body: text }) });
  const read = await response.text();
  const isJson = response.headers.get('content-type')?.includes('json') && !path.startsWith('transcript');
  return { status: response.status, body: isJson && read !== '' ? JSON.parse(read) : read };
}

/** A client of a world, which tries each call once. */
function createWorldClient(world: string) {
  const { auth } = served.simulator.options;
  return createClient({ baseUrl: `${served.url}/worlds/${world}`, auth, maxRetries: 0, logLevel: 'off' });
}

const TASK = { task_type: 't', task_tags: ['pdf'], payload: { text: '你好' } };

describe('over HTTP', () => {
  test('an agent dies after half of a task, ten minutes pass, and the transcript has it', async () => {
    const added = await call('story', 'POST', 'agents', { tags: ['pdf'], does: 'die', after: 30 });
    expect(added).toMatchObject({ status: 200, body: { agent_id: 'agent-1', alive: true } });
    const client = createWorldClient('story');
    const { request_id } = await client.submitTask(TASK);
    const { now } = (await call('story', 'GET', 'clock')).body;
    expect((await call('story', 'POST', 'clock/advance', { seconds: 600 })).body.now).toBe(now + 600);
    expect(await client.getTask(request_id)).toMatchObject({ error_info: 'timeout', progress: 50 });
    expect((await call('story', 'GET', 'agents')).body.agents).toMatchObject([{ alive: false }]);
    expect((await call('story', 'DELETE', 'agents/agent-1')).status).toBe(204);
    expect((await call('story', 'GET', 'transcript')).body).toContain('"kind":"push"');
    expect((await call('story', 'GET', 'worlds')).body.worlds).toContain('story');
    expect((await call('story', 'POST', 'reset')).status).toBe(204);
    await expect(client.getTask(request_id)).rejects.toMatchObject({ status: 404 });
  });

  test('a fault takes the response away, another one cuts the stream, and each is listed until then', async () => {
    const client = createWorldClient('faults');
    const { request_id } = await client.submitTask({ ...TASK, queue_timeout: 60 });
    const { id } = (await call('faults', 'POST', 'faults', { fault: 'busy' })).body;
    expect((await call('faults', 'GET', 'faults')).body.faults).toMatchObject([{ id, happened: 0 }]);
    expect((await call('faults', 'DELETE', `faults/${id}`)).status).toBe(204);
    await call('faults', 'POST', 'faults', { fault: 'no_response', operation: 'getTask', times: 1 });
    await expect(client.getTask(request_id)).rejects.toMatchObject({ code: 'connection_failed' });
    expect((await client.getTask(request_id)).status).toBe('pending');
    const { auth } = served.simulator.options;
    const url = `${served.url}/worlds/faults/api/cli/events?cli_session_id=s&auth=${auth}`;
    const stream = await fetch(url);
    await call('faults', 'POST', 'faults', { fault: 'cut_stream', times: 1 });
    await expect(stream.text()).rejects.toThrow();
  });

  test('the document is there, and every world has it', async () => {
    const { status, body } = await call('document', 'GET', 'openapi.json');
    expect([status, body]).toEqual([200, readDocument('simulator.3.1.json')]);
    const { paths } = readDocument('task-gateway.3.1.json');
    const calls = Object.values(paths as object).flatMap((path) => Object.values(path as object));
    const { enum: named } = body.components.schemas.OperationName;
    expect([...named].sort()).toEqual(calls.map(({ operationId }) => operationId).sort());
  });

  test('the time jumps to what is due', async () => {
    const { now } = (await call('jumps', 'GET', 'clock')).body;
    await createWorldClient('jumps').submitTask({ ...TASK, queue_timeout: 30 });
    expect(await call('jumps', 'POST', 'clock/auto')).toEqual({ status: 200, body: { now: now + 30 } });
  });
});

describe('refused is', () => {
  const ASKS = [{ prompt: 'p', schema: { type: 'object', properties: {} }, answer: 1 }];
  test.each<[what: string, call: string, body: unknown, refusal: string, detail: RegExp]>([
    [
      'an unknown fault',
      'POST faults',
      { fault: 'fire' },
      '422 validation_failed',
      /must be one of unauthorized/,
    ],
    [
      'an unknown behaviour',
      'POST agents',
      { tags: [], does: 'nap' },
      '422 validation_failed',
      /must be one of succ/,
    ],
    [
      'an agent without tags',
      'POST agents',
      {},
      '422 validation_failed',
      /`\/tags` is missing; send an array/,
    ],
    [
      'a wrong answer',
      'POST agents',
      { tags: [], asks: ASKS },
      '422 validation_failed',
      /`\/asks\/0\/answer` must be/,
    ],
    [
      'a time that goes back',
      'POST clock/advance',
      { seconds: -1 },
      '422 validation_failed',
      /0 to|at least/,
    ],
    ['a time that is a text', 'POST clock/advance', { seconds: '1' }, '422 validation_failed', /number/],
    ['a body that is no object', 'POST faults', '[]', '400 malformed_body', /not a JSON object/],
    ['a wrong method', 'DELETE clock', undefined, '405 method_not_allowed', /Send GET/],
    [
      'an unknown path',
      'GET weather',
      undefined,
      '404 not_found',
      /There are .*POST \/__sim\/clock\/advance/,
    ],
    ['an unknown agent', 'DELETE agents/none', undefined, '404 not_found', /GET the list/],
  ])('%s', async (_what, line, body, refusal, detail) => {
    const [method = '', path = ''] = line.split(' ');
    const refused = await call('refused', method, path, body);
    expect(`${refused.status} ${refused.body.code}`).toBe(refusal);
    expect(refused.body).toMatchObject({ status: refused.status, detail: expect.stringMatching(detail) });
  });

  test('a jump while a push is open', async () => {
    const world = served.simulator.world('busy');
    const response = Promise.withResolvers<Response>();
    world.agents.handle('http://agent.test/', () => response.promise);
    const client = createWorldClient('busy');
    await client.registerAgent({ agent_id: 'a', endpoint: 'http://agent.test/', agent_tags: ['pdf'] });
    await client.submitTask(TASK);
    expect(await call('busy', 'POST', 'clock/auto')).toMatchObject({
      status: 409,
      body: { code: 'world_busy' },
    });
    response.resolve(new Response(null, { status: 202 }));
  });
});

describe('a stranger', () => {
  /** Sends bytes of a request with these headers; returns the status, and the code of a problem. */
  async function send(start: string, headers: readonly string[], body = ''): Promise<string> {
    const lines = [`${start} HTTP/1.1`, ...headers, 'Connection: close'];
    const text = await exchange(Number(new URL(served.url).port), `${lines.join('\r\n')}\r\n\r\n${body}`);
    return [text.slice(9, 12), ...(text.match(/(?<="code":")\w+/) ?? [])].join(' ');
  }
  test.each([
    [['Host: evil.test'], '421 misdirected'],
    [['Host: evil.test', 'Origin: http://evil.test'], '421 misdirected'],
    [['Host: 10.0.0.7'], '421 misdirected'],
    [['Host: localhost', 'Origin: http://evil.test'], '403 origin_not_allowed'],
    [['Host: localhost', 'Origin: null'], '403 origin_not_allowed'],
    [['Host: localhost'], '200'],
    [['Host: 127.0.0.1:4020'], '200'],
    [['Host: [::1]', 'Origin: http://localhost:3000'], '200'],
  ])('that calls with %j gets %s', async (headers, expected) => {
    const world = '/worlds/strangers';
    expect(await send(`GET ${world}/__sim/clock`, headers)).toBe(expected);
    const wrong = [...headers, 'Content-Type: application/json', 'Content-Length: 2'];
    const added = await send(`POST ${world}/__sim/agents`, wrong, '{}');
    expect(added).toBe(expected.replace('200', '422 validation_failed'));
    const registered = await send(`POST ${world}/api/agent/register`, wrong, '{}');
    expect(registered).toBe(expected.replace('200', '422 validation_failed'));
  });

  test('learns how it is served under a further name', async () => {
    const named = await serveSimulator({ allowedHosts: ['sim.test'] }, { corsOrigins: ['http://page.test'] });
    const port = Number(new URL(named.url).port);
    const ask = (headers: string) =>
      exchange(port, `GET /__sim/clock HTTP/1.1\r\n${headers}\r\nConnection: close\r\n\r\n`);
    expect(await ask('Host: sim.test')).toMatch(/^HTTP\/1.1 200/);
    expect(await ask('Host: sim.test\r\nOrigin: http://page.test')).toMatch(/^HTTP\/1.1 200/);
    expect(await ask('Host: other.test')).toMatch(/--allowed-hosts/);
    await named.stop();
  });

  test('that sends more than 1 MiB is refused before it has', async () => {
    const large = ['Host: localhost', `Content-Length: ${64 * 2 ** 20}`];
    for (const path of ['/__sim/agents', '/api/cli/tasks'])
      expect(await send(`POST ${path}`, large, '{')).toBe('413 payload_too_large');
    const chunks = `100001\r\n${' '.repeat(2 ** 20 + 1)}\r\n`;
    expect(await send('POST /__sim/agents', ['Host: localhost', 'Transfer-Encoding: chunked'], chunks)).toBe(
      '413 payload_too_large',
    );
    const whole = `{"tags":${' '.repeat(2 ** 20 - 10)}1}`;
    expect(await send('POST /__sim/agents', ['Host: localhost', `Content-Length: ${2 ** 20}`], whole)).toBe(
      '422 validation_failed',
    );
  });

  test('gets a hundred worlds', async () => {
    const full = await serveSimulator({});
    const ask = async (name: string) => {
      const response = await fetch(`${full.url}/worlds/${name}/__sim/clock`);
      return [response.status, await response.text()];
    };
    for (let n = 0; n < 100; n += 1) expect((await ask(`w${n}`))[0]).toBe(200);
    expect(await ask('one-more')).toEqual([409, expect.stringMatching(/There are 100 worlds\. Reset one/)]);
    expect((await ask('w99'))[0]).toBe(200);
    await full.stop();
  });
});

test('The gateway itself has none of these paths.', async () => {
  const gateway = await startGateway();
  try {
    for (const path of ['/__sim/clock', '/__sim/', '/worlds/a/__sim/clock']) {
      expect((await fetch(gateway.baseUrl + path)).status, path).toBe(404);
    }
  } finally {
    await gateway.stop();
  }
});
