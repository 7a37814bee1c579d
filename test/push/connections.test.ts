/**
 * Connections: addresses that are never connected to, reuse, and the limits that hold when an agent
 * misbehaves.
 */
import type { Socket } from 'node:net';
import { describe, expect, onTestFinished, test } from 'vitest';
import { createConnector } from '../../server/push/connector.ts';
import { flushMicrotasks } from '../harness/fake-clock.ts';
import { printTally } from '../harness/figures.ts';
import { FORBIDDEN } from './addresses.ts';
import { openAgent, openPusher } from './push-fixture.ts';
import { pushTask, TASK, unknownFor, untakenFor } from './push-task.ts';
import { buildResponse, type Script, type ScriptedAgent } from './scripted-agent.ts';

const accept: Script = (socket) => socket.write(buildResponse(202));
const ACKNOWLEDGED = { kind: 'acknowledged', status: 202 };

/** Every spelling of this agent's own address. */
function spellEndpoints(agent: ScriptedAgent): readonly string[] {
  const hosts = [
    '127.0.0.1',
    '127.1',
    '2130706433',
    '0x7f000001',
    '0177.0.0.1',
    '[::ffff:127.0.0.1]',
    '[::ffff:7f00:1]',
  ];
  return [...hosts, 'agent.test'].map((host) => `http://${host}:${agent.port}/`);
}

/** Creates a resolver that resolves every name to these addresses. */
function resolveTo(...addresses: readonly string[]) {
  return (_host: string, done: (error: null, found: { address: string; family: number }[]) => void) =>
    done(
      null,
      addresses.map((address) => ({ address, family: address.includes(':') ? 6 : 4 })),
    );
}

describe('denied addresses', () => {
  test('no connection is made to a denied loopback address, in any spelling', async () => {
    const agent = await openAgent(accept);
    const pusher = openPusher({ deny: ['127.0.0.0/8', '::1'], resolve: resolveTo('127.0.0.1') });
    for (const endpoint of spellEndpoints(agent)) {
      expect(await pushTask(pusher, endpoint), endpoint).toEqual(
        untakenFor('forbidden address: denied by setting'),
      );
    }
    expect(agent.connections()).toBe(0);
  });

  test('the same spellings reach the agent when nothing is denied', async () => {
    const agent = await openAgent(accept);
    const pusher = openPusher({ resolve: resolveTo('127.0.0.1') });
    const endpoints = spellEndpoints(agent);
    for (const endpoint of endpoints)
      expect(await pushTask(pusher, endpoint), endpoint).toEqual(ACKNOWLEDGED);
    expect(agent.requests).toHaveLength(endpoints.length);
  });

  test('an unspecified address does not lead to this machine', async () => {
    const agent = await openAgent(accept, { host: '0.0.0.0' });
    for (const host of ['0.0.0.0', '0', '0x0', '[::]', '[::ffff:0.0.0.0]']) {
      const outcome = await pushTask(openPusher(), `http://${host}:${agent.port}/`);
      expect(outcome, host).toEqual(untakenFor('forbidden address: unspecified'));
    }
    expect(agent.connections()).toBe(0);
  });

  test('every forbidden address is refused as an endpoint and as the result of a resolver', async () => {
    const refused: string[] = [];
    for (const [reason, hosts] of Object.entries(FORBIDDEN)) {
      for (const host of hosts) {
        const outcome = await pushTask(openPusher(), `http://${host}/latest/meta-data/`);
        expect(outcome, host).toEqual(untakenFor(`forbidden address: ${reason}`));
        const address = new URL(`http://${host}/`).hostname.replace(/^\[|\]$/g, '');
        const resolved = await pushTask(openPusher({ resolve: resolveTo(address) }), 'https://agent.test/');
        expect(resolved, host).toEqual(untakenFor(`forbidden address: ${reason}`));
        refused.push(host);
      }
    }
    expect(refused.length).toBeGreaterThanOrEqual(120);
    printTally('hostile-addresses-refused', refused.length, 'addresses');
  });

  test('of several addresses of a name only the allowed ones are tried', async () => {
    const agent = await openAgent(accept);
    const pusher = openPusher({ resolve: resolveTo('169.254.169.254', 'fe80::1', '127.0.0.1') });
    expect(await pushTask(pusher, `http://agent.test:${agent.port}/`)).toEqual(ACKNOWLEDGED);
  });

  test('the addresses of a name are validated again for each connection', async () => {
    const agent = await openAgent((socket) => socket.end(buildResponse(202, 'connection: close\r\n')));
    const resolved = ['127.0.0.1', '169.254.169.254'];
    const pusher = openPusher({
      resolve: (_host, done) => done(null, [{ address: resolved.shift() ?? '', family: 4 }]),
    });
    const endpoint = `http://agent.test:${agent.port}/`;
    expect(await pushTask(pusher, endpoint)).toEqual(ACKNOWLEDGED);
    await agent.until(({ open }) => open() === 0);
    expect(await pushTask(pusher, endpoint)).toEqual(untakenFor('forbidden address: cloud metadata'));
    expect(agent.connections()).toBe(1);
  });

  test('the address of the socket itself is validated before a byte is written', async () => {
    const agent = await openAgent(accept);
    const validated: string[] = [];
    // Allows the address of the name and then forbids the same address of the socket.
    const validateAddress = (address: string) => (validated.push(address) > 1 ? 'link-local' : null);
    const resolve = resolveTo('127.0.0.1');
    const connector = createConnector({ validateAddress, connectWithinMs: 5_000, resolve });
    onTestFinished(() => connector.destroyAll());
    const options = { hostname: 'agent.test', protocol: 'http:', port: String(agent.port) };
    const error = await new Promise((done) => connector.connect(options, (...[failure]) => done(failure)));
    expect(error).toMatchObject({ message: 'forbidden address: link-local' });
    expect(validated).toEqual(['127.0.0.1', '127.0.0.1']);
    await agent.until(({ connections, open }) => connections() === 1 && open() === 0);
    expect(agent.bytes()).toBe(0);
  });
});

describe('reuse of connections', () => {
  test('a connection serves one push after another', async () => {
    const agent = await openAgent((socket) =>
      socket.write('HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nhello'),
    );
    const pusher = openPusher();
    for (let nth = 0; nth < 5; nth += 1) {
      expect(await pushTask(pusher, agent.url)).toEqual({ kind: 'acknowledged', status: 200 });
      await flushMicrotasks();
    }
    expect(agent.connections()).toBe(1);
    expect(agent.requests).toHaveLength(5);
  });

  test('an unused connection is closed by either side, and the next push opens another', async () => {
    let last: Socket | undefined;
    const agent = await openAgent((socket) => {
      last = socket;
      socket.write(buildResponse(202));
    });
    expect(await pushTask(openPusher({ limits: { idleMs: 20 } }), agent.url)).toEqual(ACKNOWLEDGED);
    await agent.until(({ open }) => open() === 0);
    const pusher = openPusher();
    expect(await pushTask(pusher, agent.url)).toEqual(ACKNOWLEDGED);
    last?.end();
    await agent.until(({ open }) => open() === 0);
    expect(await pushTask(pusher, agent.url)).toEqual(ACKNOWLEDGED);
    expect(agent.connections()).toBe(3);
  });

  test('endpoints without a connection do not count', async () => {
    const close: Script = (socket) => socket.end(buildResponse(202, 'connection: close\r\n'));
    const agents = await Promise.all(Array.from({ length: 6 }, () => openAgent(close)));
    const pusher = openPusher({ limits: { originsMax: 2 } });
    for (const agent of agents) {
      expect(await pushTask(pusher, agent.url)).toEqual(ACKNOWLEDGED);
      await agent.until(({ open }) => open() === 0);
      await flushMicrotasks();
    }
    // An endpoint that could not be connected to does not count either.
    for (let port = 1; port <= 6; port += 1) {
      expect(await pushTask(pusher, `http://127.0.0.1:${port}/`)).toEqual(untakenFor('connection refused'));
    }
  });

  test('with too many endpoints at once the push is not taken and says so', async () => {
    const agents = await Promise.all([1, 2, 3].map(() => openAgent(() => undefined)));
    const pusher = openPusher({ limits: { originsMax: 2 } });
    const [first, second, third] = agents.map(({ url }) => pushTask(pusher, url));
    expect(await third).toEqual(untakenFor('too many endpoints at once'));
    for (const agent of agents.slice(0, 2)) await agent.until(({ requests }) => requests.length === 1);
    await pusher.close();
    const cut = unknownFor('the connection was cut before a response');
    expect([await first, await second]).toEqual([cut, cut]);
  });
});

describe('limits of a push', () => {
  test('an agent that does not read a long request fails as unknown, and one that reads gets all of it', async () => {
    const payload = { text: 'x'.repeat(8_000_000) };
    let sent = 0;
    const push = (url: string, limits = {}) => {
      const pusher = openPusher({ limits });
      return pusher.push(
        { endpoint: url, task: { ...TASK, payload }, remainingSeconds: 60 },
        new AbortController().signal,
        () => {
          sent += 1;
        },
      );
    };
    const stalled = await openAgent(() => undefined, { onConnection: (socket) => void socket.pause() });
    const outcome = push(stalled.url, { sendWithinMs: 400, sendBytesPerSecond: 16_000_000 });
    await stalled.until(({ connections }) => connections() === 1);
    expect(sent).toBe(0);
    expect(await outcome).toEqual(unknownFor('the agent does not read the request'));
    expect(sent).toBeGreaterThan(0);
    const reading = await openAgent(accept);
    expect(await push(reading.url)).toEqual(ACKNOWLEDGED);
    expect(reading.requests[0]?.body).toBe(JSON.stringify({ ...TASK, payload }));
  });

  test('a request is sent before its response comes, whatever its length', async () => {
    for (const length of [10, 4_000, 70_000, 3_000_000]) {
      const unanswered: Socket[] = [];
      const agent = await openAgent((socket) => unanswered.push(socket));
      const sent = Promise.withResolvers<void>();
      const task = { ...TASK, payload: { text: 'ü'.repeat(length) } };
      const outcome = openPusher().push(
        { endpoint: agent.url, task, remainingSeconds: 60 },
        new AbortController().signal,
        sent.resolve,
      );
      await sent.promise;
      await agent.until(() => unanswered.length === 1);
      expect(agent.requests[0]?.body).toBe(JSON.stringify(task));
      unanswered[0]?.write(buildResponse(202));
      expect(await outcome).toEqual(ACKNOWLEDGED);
    }
  });

  test('a long response is acknowledged by its status line and not read to its end', async () => {
    const endless: Script = (socket) => {
      socket.write('HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n');
      const chunk = `4000\r\n${'x'.repeat(0x4000)}\r\n`;
      const more = (): void => {
        while (socket.writable && socket.write(chunk));
      };
      socket.on('drain', more);
      more();
    };
    const agent = await openAgent(endless);
    expect(await pushTask(openPusher(), agent.url)).toEqual({ kind: 'acknowledged', status: 200 });
    await agent.until(({ open }) => open() === 0);
    const announced = await openAgent((socket) =>
      socket.write('HTTP/1.1 200 OK\r\ncontent-length: 65537\r\n\r\n'),
    );
    expect(await pushTask(openPusher(), announced.url)).toEqual({ kind: 'acknowledged', status: 200 });
    await announced.until(({ open }) => open() === 0);
  });

  test.each([
    ['a redirect to itself', 'HTTP/1.1 307 X\r\nlocation: /again\r\ncontent-length: 0\r\n\r\n', 'untaken'],
    ['a redirect to metadata', 'HTTP/1.1 302 X\r\nlocation: http://169.254.169.254/\r\n\r\n', 'untaken'],
    ['a permanent redirect with a refresh', 'HTTP/1.1 301 X\r\nrefresh: 0;url=/again\r\n\r\n', 'untaken'],
    ['several choices', 'HTTP/1.1 300 X\r\nlocation: /a\r\nlocation: /b\r\n\r\n', 'untaken'],
    ['a reason of 10,000 characters', `HTTP/1.1 500 ${'canary'.repeat(1_700)}\r\n\r\n`, 'unknown'],
    ['a reason without an end', `HTTP/1.1 500 ${'canary'.repeat(40_000)}`, 'unknown'],
    ['a header without an end', `HTTP/1.1 500 X\r\nx: ${'canary'.repeat(40_000)}`, 'unknown'],
    ['escapes in its reason', 'HTTP/1.1 500 \u001b[31mcanary\u001b]0;\u0007\r\n\r\n', 'unknown'],
    ['a status of four digits', 'HTTP/1.1 2000 canary\r\n\r\n', 'unknown'],
    ['a status of no digits', 'HTTP/1.1 OK canary\r\n\r\n', 'unknown'],
    ['another protocol', 'SSH-2.0-canary\r\n', 'unknown'],
    [
      'a switch of protocols',
      'HTTP/1.1 101 canary\r\nupgrade: h2c\r\nconnection: upgrade\r\n\r\n',
      'unknown',
    ],
  ])('a response with %s is not followed, and none of it is repeated', async (_what, bytes, kind) => {
    const agent = await openAgent((socket) => socket.end(bytes));
    const outcome = await pushTask(openPusher({ limits: { responseWithinMs: 2_000 } }), agent.url);
    expect(outcome.kind).toBe(kind);
    expect(JSON.stringify(outcome)).not.toMatch(/canary|location|again|\\u00/);
    expect('error' in outcome ? outcome.error.length : 0).toBeLessThan(100);
    expect(agent.connections()).toBe(1);
    expect(agent.requests).toHaveLength(1);
  });

  test('a response that never ends is aborted after the limit', async () => {
    const agent = await openAgent((socket) =>
      socket.write('HTTP/1.1 202 OK\r\ncontent-length: 10\r\n\r\nhalf'),
    );
    const pusher = openPusher({ limits: { bodyWithinMs: 30 } });
    expect(await pushTask(pusher, agent.url)).toEqual(ACKNOWLEDGED);
    await agent.until(({ open }) => open() === 0);
  });

  test('no error repeats the endpoint or the response', async () => {
    const canary = 'canary-7d1f';
    const agent = await openAgent((socket, _request, nth) => {
      if (nth === 1)
        socket.write(`HTTP/1.1 500 ${canary}\r\nx: ${canary}\r\ncontent-length: 11\r\n\r\n${canary}`);
      else socket.end(`${canary}\r\n${canary}`);
    });
    const missing = Object.assign(new Error(`no such host: ${canary}`), { code: 'ENOTFOUND' });
    const pusher = openPusher({ secrets: [canary], resolve: (_host, done) => done(missing, []) });
    const endpoints = [
      `${agent.url}/?key=${canary}`,
      `${agent.url}/${canary}`,
      `http://${canary}.invalid/`,
      `${canary}:x`,
    ];
    const outcomes = await Promise.all(endpoints.map((endpoint) => pushTask(pusher, endpoint)));
    expect(JSON.stringify(outcomes)).not.toContain(canary);
    expect(outcomes.map(({ kind }) => kind)).toEqual(['unknown', 'unknown', 'untaken', 'untaken']);
  });
});
