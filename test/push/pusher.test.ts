/**
 * Pushes over real sockets: what is sent, the outcome of each response, and what is certain without a
 * response.
 */
import { getEventListeners } from 'node:events';
import { describe, expect, test } from 'vitest';
import { flushMicrotasks } from '../harness/fake-clock.ts';
import { openAgent, openPusher } from './push-fixture.ts';
import { pushTask, TASK, unknownFor, untakenFor } from './push-task.ts';
import { buildResponse, type ReceivedRequest } from './scripted-agent.ts';

const headersOf = (request: ReceivedRequest | undefined) => Object.fromEntries(request?.headers ?? []);

describe('the request of a push', () => {
  test('the whole TaskInfo is posted to the endpoint as it was given', async () => {
    const agent = await openAgent((socket) => socket.write(buildResponse(202)));
    const pusher = openPusher({ secrets: ['present-secret', 'previous-secret'] });
    const outcome = await pushTask(pusher, `${agent.url}/in/box?key=a%2Fb&x`, { remainingSeconds: 12.3456 });
    expect(outcome).toEqual({ kind: 'acknowledged', status: 202 });
    const [request] = agent.requests;
    expect(request?.line).toBe('POST /in/box?key=a%2Fb&x HTTP/1.1');
    expect(JSON.parse(request?.body ?? '')).toEqual(TASK);
    expect(headersOf(request)).toEqual({
      host: `127.0.0.1:${agent.port}`,
      connection: 'keep-alive',
      'content-type': 'application/json',
      'content-length': String(Buffer.byteLength(JSON.stringify(TASK))),
      'user-agent': 'task-gateway',
      'webhook-id': TASK.request_id,
      'webhook-timestamp': '1700000000',
      'webhook-signature': expect.stringMatching(/^v1,[\w+/]{43}= v1,[\w+/]{43}=$/),
      'task-remaining': '12.346',
      traceparent: expect.stringMatching(/^00-(?!0{32})[0-9a-f]{32}-(?!0{16})[0-9a-f]{16}-01$/),
    });
  });

  test('without a secret there is no signature, and each attempt has its own trace', async () => {
    const agent = await openAgent((socket) => socket.write(buildResponse(200)));
    const pusher = openPusher();
    for (const remainingSeconds of [604_800, 0, 1e-9])
      await pushTask(pusher, agent.url, { remainingSeconds });
    const headers = agent.requests.map(headersOf);
    expect(headers.map((header) => header['webhook-signature'])).toEqual([undefined, undefined, undefined]);
    expect(headers.map((header) => header['task-remaining'])).toEqual(['604800', '0', '0']);
    expect(new Set(headers.map(({ traceparent }) => traceparent)).size).toBe(3);
    expect(agent.requests.map(({ line }) => line)).toContain('POST / HTTP/1.1');
  });
});

test('A trace that the task was submitted with goes on unchanged.', async () => {
  const agent = await openAgent((socket) => socket.write(buildResponse(202)));
  const traceparent = '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-00';
  const traces = [{ traceparent }, { traceparent, tracestate: 'a=1,b=2' }];
  for (const trace of traces) await pushTask(openPusher(), agent.url, { trace });
  expect(agent.requests.map(headersOf)).toMatchObject(traces);
  expect(headersOf(agent.requests[0])).not.toHaveProperty('tracestate');
});

describe('the outcome of a response', () => {
  test('the status line decides the outcome, whichever connection carries it', async () => {
    const statuses = [200, 201, 204, 409, 301, 400, 401, 404, 408, 410, 429, 500, 503];
    const agent = await openAgent((socket, _request, nth) => {
      socket.write(buildResponse(statuses[nth - 1] ?? 0, 'retry-after: 3\r\n'));
    });
    const pusher = openPusher();
    const rows: string[] = [];
    for (const _status of statuses) {
      const outcome = await pushTask(pusher, agent.url);
      const asked = outcome.kind === 'acknowledged' ? '' : ` ${outcome.retryAfterMs} ms: ${outcome.error}`;
      const flags =
        outcome.kind === 'untaken' ? `${outcome.busy ? ' busy' : ''}${outcome.leave ? ' leave' : ''}` : '';
      rows.push(`${outcome.status} ${outcome.kind}${flags}${asked}`);
    }
    expect(rows).toEqual([
      '200 acknowledged',
      '201 acknowledged',
      '204 acknowledged',
      '409 acknowledged',
      '301 untaken 3000 ms: answered 301: redirects are not followed',
      '400 untaken 3000 ms: answered 400',
      '401 untaken 3000 ms: answered 401: signature refused',
      '404 untaken 3000 ms: answered 404',
      '408 unknown 3000 ms: answered 408',
      '410 untaken leave 3000 ms: answered 410: offline until it registers or sends a heartbeat',
      '429 untaken busy 3000 ms: answered 429: busy',
      '500 unknown 3000 ms: answered 500',
      '503 untaken busy 3000 ms: answered 503: busy',
    ]);
    // The next push may start before the end of the response was read, and then it uses a second connection.
    expect(agent.connections()).toBeLessThanOrEqual(2);
  });

  test('a redirect is not followed', async () => {
    const elsewhere = await openAgent((socket) => socket.write(buildResponse(200)));
    const agent = await openAgent((socket) =>
      socket.write(buildResponse(307, `location: ${elsewhere.url}/\r\n`)),
    );
    expect(await pushTask(openPusher(), agent.url)).toMatchObject({ kind: 'untaken', status: 307 });
    expect(elsewhere.connections()).toBe(0);
  });

  test('an agent may respond when its work is finished', async () => {
    let finish: () => void = () => undefined;
    const agent = await openAgent((socket) => {
      finish = () => socket.write(buildResponse(200));
    });
    const pushed = pushTask(openPusher(), agent.url);
    await agent.until(({ requests }) => requests.length === 1);
    finish();
    expect(await pushed).toEqual({ kind: 'acknowledged', status: 200 });
  });

  test('interim responses are skipped', async () => {
    const interim = 'HTTP/1.1 102 Processing\r\n\r\nHTTP/1.1 103 Early Hints\r\nlink: </x>\r\n\r\n';
    const agent = await openAgent((socket) => socket.write(interim.repeat(3) + buildResponse(202)));
    expect(await pushTask(openPusher(), agent.url)).toEqual({ kind: 'acknowledged', status: 202 });
  });

  test('many connections to one agent are open at once', async () => {
    const unanswered: (() => void)[] = [];
    const agent = await openAgent((socket) => unanswered.push(() => socket.write(buildResponse(200))));
    const pusher = openPusher();
    const pushed = Array.from({ length: 60 }, () => pushTask(pusher, agent.url));
    await agent.until(({ requests }) => requests.length === 60);
    expect(agent.connections()).toBe(60);
    for (const finish of unanswered) finish();
    expect((await Promise.all(pushed)).every(({ kind }) => kind === 'acknowledged')).toBe(true);
  });
});

describe('a push that was certainly not taken', () => {
  test('because the connection was refused', async () => {
    const agent = await openAgent(() => undefined);
    await agent.close();
    expect(await pushTask(openPusher(), agent.url)).toEqual(untakenFor('connection refused'));
  });

  test('because the host name does not resolve', async () => {
    const missing = Object.assign(new Error('no'), { code: 'ENOTFOUND' });
    const failing = openPusher({ resolve: (_host, done) => done(missing, []) });
    expect(await pushTask(failing, 'http://agent.test:1/')).toEqual(untakenFor('DNS: no such host'));
    const empty = openPusher({ resolve: (_host, done) => done(null, []) });
    expect(await pushTask(empty, 'http://agent.test:1/')).toEqual(untakenFor('DNS: no address'));
  });

  test('because the connection was not opened in time, whatever it waited for', async () => {
    const limits = { connectWithinMs: 40 };
    const silent = openPusher({ limits, resolve: () => undefined });
    expect(await pushTask(silent, 'http://agent.test:1/')).toEqual(untakenFor('no connection within 0.04 s'));
    const agent = await openAgent(() => undefined);
    const handshake = await pushTask(openPusher({ limits }), agent.url.replace('http:', 'https:'));
    expect(handshake).toEqual(untakenFor('no connection within 0.04 s'));
    await agent.until(({ connections, open }) => connections() === 1 && open() === 0);
    expect(agent.requests).toEqual([]);
  });

  test('because the endpoint is not an http(s) URL without credentials', async () => {
    const pusher = openPusher();
    for (const endpoint of [
      '',
      'pull',
      'agent',
      'ftp://a/',
      'file:///etc/passwd',
      'http://',
      'http://[::1',
      'http://a:99999/',
    ]) {
      expect(await pushTask(pusher, endpoint), endpoint).toEqual(
        untakenFor('the endpoint is not an http(s) URL'),
      );
    }
    expect(await pushTask(pusher, 'http://me:pw@127.0.0.1:1/')).toEqual(
      untakenFor('the endpoint contains credentials'),
    );
  });

  test('because the signal had fired before', async () => {
    const agent = await openAgent((socket) => socket.write(buildResponse(200)));
    expect(await pushTask(openPusher(), agent.url, {}, AbortSignal.abort())).toEqual(
      untakenFor('abandoned before anything was written'),
    );
    expect(agent.connections()).toBe(0);
  });

  test('because the signal fired while the connection was being opened: no byte is written afterwards', async () => {
    const agent = await openAgent((socket) => socket.write(buildResponse(200)));
    let resolved: () => void = () => undefined;
    const pusher = openPusher({
      resolve: (_host, done) => {
        resolved = () => done(null, [{ address: '127.0.0.1', family: 4 }]);
      },
    });
    await pusher.prepare();
    const stop = new AbortController();
    const pushed = pushTask(pusher, `http://agent.test:${agent.port}/`, {}, stop.signal);
    stop.abort();
    expect(await pushed).toEqual(untakenFor('abandoned before anything was written'));
    resolved();
    await agent.until(({ connections, open }) => connections() === 1 && open() === 0);
    expect(agent.bytes()).toBe(0);
  });

  test('because the task cannot be written as JSON', async () => {
    const payload: Record<string, unknown> = {};
    payload.self = payload;
    const outcome = await pushTask(openPusher(), 'http://127.0.0.1:1/', { task: { ...TASK, payload } });
    expect(outcome).toEqual(untakenFor('the task cannot be written as JSON'));
  });
});

describe('a push with an unknown outcome: the agent may have the task', () => {
  const CUT = unknownFor('the connection was cut before a response');

  test('because the connection was cut after the request was read, in every way', async () => {
    const agent = await openAgent((socket, _request, nth) => {
      if (nth === 1) socket.resetAndDestroy();
      if (nth === 2) socket.end();
      if (nth === 3) socket.end('HTTP/1.1 20');
      if (nth === 4) socket.end('HTTP/1.1 200 OK\r\ncontent-le');
    });
    const pusher = openPusher();
    for (let nth = 1; nth <= 4; nth += 1)
      expect(await pushTask(pusher, agent.url), `cut ${nth}`).toEqual(CUT);
    expect(agent.requests).toHaveLength(4);
  });

  test('a push that was reset on a reused connection is not repeated', async () => {
    const agent = await openAgent((socket, _request, nth) => {
      if (nth === 1) socket.write(buildResponse(200));
      else socket.resetAndDestroy();
    });
    const pusher = openPusher();
    expect(await pushTask(pusher, agent.url)).toEqual({ kind: 'acknowledged', status: 200 });
    await flushMicrotasks();
    expect(await pushTask(pusher, agent.url)).toEqual(CUT);
    expect(agent.requests).toHaveLength(2);
    expect(agent.connections()).toBe(1);
  });

  test('because no response came in time: the connection is closed', async () => {
    const agent = await openAgent(() => undefined);
    const pusher = openPusher({ limits: { responseWithinMs: 40 } });
    expect(await pushTask(pusher, agent.url)).toEqual(unknownFor('no response within 0.04 s'));
    await agent.until(({ open }) => open() === 0);
  });

  test('because of too many interim responses: they do not extend the limits', async () => {
    const agent = await openAgent((socket) => socket.write('HTTP/1.1 103 Early Hints\r\n\r\n'.repeat(101)));
    expect(await pushTask(openPusher(), agent.url)).toEqual(unknownFor('too many interim responses'));
    await agent.until(({ open }) => open() === 0);
  });

  test('because the response is not valid HTTP, or too long', async () => {
    const long = `HTTP/1.1 200 OK\r\nx-long: ${'x'.repeat(20_000)}\r\n\r\n`;
    const agent = await openAgent((socket, _request, nth) =>
      socket.write(nth === 1 ? 'SSH-2.0-x\r\n' : long),
    );
    const pusher = openPusher();
    const invalid = unknownFor('the response is not valid HTTP/1.1');
    expect(await pushTask(pusher, agent.url)).toEqual(invalid);
    expect(await pushTask(pusher, agent.url)).toEqual(invalid);
  });

  test('because the signal fired after the request was written: the connection is closed', async () => {
    const agent = await openAgent(() => undefined);
    const stop = new AbortController();
    const pushed = pushTask(openPusher(), agent.url, {}, stop.signal);
    await agent.until(({ requests }) => requests.length === 1);
    stop.abort();
    expect(await pushed).toEqual(unknownFor('abandoned before a response'));
    await agent.until(({ open }) => open() === 0);
  });
});

describe('cleaning up', () => {
  test('an attempt that is over has no listener on its signal', async () => {
    const agent = await openAgent((socket, _request, nth) => {
      if (nth === 1) socket.write(buildResponse(200));
      else socket.resetAndDestroy();
    });
    const pusher = openPusher();
    const { signal } = new AbortController();
    for (const endpoint of [agent.url, agent.url, 'http://0.0.0.0:1/', 'nowhere']) {
      await pushTask(pusher, endpoint, {}, signal);
    }
    expect(getEventListeners(signal, 'abort')).toEqual([]);
  });

  test('closing ends every open push, resolves it, and is idempotent', async () => {
    const agent = await openAgent(() => undefined);
    const pusher = openPusher({ resolve: () => undefined });
    const written = pushTask(pusher, agent.url);
    const connecting = pushTask(pusher, 'http://agent.test/');
    await agent.until(({ requests }) => requests.length === 1);
    await Promise.all([pusher.close(), pusher.close()]);
    await pusher.close();
    expect(await written).toEqual(unknownFor('the connection was cut before a response'));
    expect(await connecting).toEqual(untakenFor('the gateway is shutting down'));
    expect(await pushTask(pusher, agent.url)).toEqual(untakenFor('abandoned before anything was written'));
    await agent.until(({ open }) => open() === 0);
  });
});
