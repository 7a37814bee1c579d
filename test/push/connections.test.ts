/** Connections: who is never connected to, what is reused, and what bounds hold when an agent misbehaves. */
import type { Socket } from 'node:net';
import { describe, expect, onTestFinished, test } from 'vitest';
import { createConnector } from '../../server/push/connector.ts';
import { settleMicrotasks } from '../harness/fake-clock.ts';
import { printTally } from '../harness/figures.ts';
import { HOSTILE } from './addresses.ts';
import { openAgent, openPusher } from './push-fixture.ts';
import { pushTask, unknownFor, untakenFor } from './push-task.ts';
import { answer, type Script, type ScriptedAgent } from './scripted-agent.ts';

const accept: Script = (socket) => socket.write(answer(202));
const TAKEN = { kind: 'acknowledged', status: 202 };

/** Every way to write this agent's own address. */
function writeWays(agent: ScriptedAgent): readonly string[] {
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

/** A resolver that knows one name. */
function resolveTo(...addresses: readonly string[]) {
  return (_host: string, done: (error: null, found: { address: string; family: number }[]) => void) =>
    done(
      null,
      addresses.map((address) => ({ address, family: address.includes(':') ? 6 : 4 })),
    );
}

describe('denied addresses', () => {
  test('not one connection is made to a denied loopback, however it is written', async () => {
    const agent = await openAgent(accept);
    const pusher = openPusher({ deny: ['127.0.0.0/8', '::1'], resolve: resolveTo('127.0.0.1') });
    for (const endpoint of writeWays(agent)) {
      expect(await pushTask(pusher, endpoint), endpoint).toEqual(
        untakenFor('forbidden address: denied by setting'),
      );
    }
    expect(agent.connections()).toBe(0);
  });

  test('the same ways reach the agent where nothing is denied', async () => {
    const agent = await openAgent(accept);
    const pusher = openPusher({ resolve: resolveTo('127.0.0.1') });
    const ways = writeWays(agent);
    for (const endpoint of ways) expect(await pushTask(pusher, endpoint), endpoint).toEqual(TAKEN);
    expect(agent.requests).toHaveLength(ways.length);
  });

  test('an unspecified address does not lead to this machine by the back door', async () => {
    const agent = await openAgent(accept, { host: '0.0.0.0' });
    for (const host of ['0.0.0.0', '0', '0x0', '[::]', '[::ffff:0.0.0.0]']) {
      const outcome = await pushTask(openPusher(), `http://${host}:${agent.port}/`);
      expect(outcome, host).toEqual(untakenFor('forbidden address: unspecified'));
    }
    expect(agent.connections()).toBe(0);
  });

  test('every hostile address is refused as an endpoint and as the answer of a resolver', async () => {
    const refused: string[] = [];
    for (const [reason, hosts] of Object.entries(HOSTILE)) {
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
    expect(await pushTask(pusher, `http://agent.test:${agent.port}/`)).toEqual(TAKEN);
  });

  test('a name that comes to mean something else is judged anew at each connection', async () => {
    const agent = await openAgent((socket) => socket.end(answer(202, 'connection: close\r\n')));
    const answers = ['127.0.0.1', '169.254.169.254'];
    const pusher = openPusher({
      resolve: (_host, done) => done(null, [{ address: answers.shift() ?? '', family: 4 }]),
    });
    const endpoint = `http://agent.test:${agent.port}/`;
    expect(await pushTask(pusher, endpoint)).toEqual(TAKEN);
    await agent.until(({ open }) => open() === 0);
    expect(await pushTask(pusher, endpoint)).toEqual(untakenFor('forbidden address: cloud metadata'));
    expect(agent.connections()).toBe(1);
  });

  test('the address of the socket itself has the last word, before a byte is written', async () => {
    const agent = await openAgent(accept);
    const judged: string[] = [];
    // A judge that is content with the name's address and changes its mind about the socket's.
    const judge = (address: string) => (judged.push(address) > 1 ? 'link-local' : null);
    const connector = createConnector({ judge, connectWithinMs: 5_000, resolve: resolveTo('127.0.0.1') });
    onTestFinished(() => connector.destroyAll());
    const options = { hostname: 'agent.test', protocol: 'http:', port: String(agent.port) };
    const error = await new Promise((resolve) =>
      connector.connect(options, (...[refusal]) => resolve(refusal)),
    );
    expect(error).toMatchObject({ message: 'forbidden address: link-local' });
    expect(judged).toEqual(['127.0.0.1', '127.0.0.1']);
    await agent.until((one) => one.connections() === 1 && one.open() === 0);
    expect(agent.bytes()).toBe(0);
  });
});

describe('reuse', () => {
  test('a connection serves one push after another', async () => {
    const agent = await openAgent((socket) =>
      socket.write('HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nhello'),
    );
    const pusher = openPusher();
    for (let nth = 0; nth < 5; nth += 1) {
      expect(await pushTask(pusher, agent.url)).toEqual({ kind: 'acknowledged', status: 200 });
      await settleMicrotasks();
    }
    expect(agent.connections()).toBe(1);
    expect(agent.requests).toHaveLength(5);
  });

  test('an unused connection is let go of, by either side, and the next push opens another', async () => {
    let last: Socket | undefined;
    const agent = await openAgent((socket) => {
      last = socket;
      socket.write(answer(202));
    });
    expect(await pushTask(openPusher({ limits: { idleMs: 20 } }), agent.url)).toEqual(TAKEN);
    await agent.until(({ open }) => open() === 0);
    const pusher = openPusher();
    expect(await pushTask(pusher, agent.url)).toEqual(TAKEN);
    last?.end();
    await agent.until(({ open }) => open() === 0);
    expect(await pushTask(pusher, agent.url)).toEqual(TAKEN);
    expect(agent.connections()).toBe(3);
  });

  test('endpoints nobody is connected to are forgotten', async () => {
    const close: Script = (socket) => socket.end(answer(202, 'connection: close\r\n'));
    const agents = await Promise.all(Array.from({ length: 6 }, () => openAgent(close)));
    const pusher = openPusher({ limits: { originsMax: 2 } });
    for (const agent of agents) {
      expect(await pushTask(pusher, agent.url)).toEqual(TAKEN);
      await agent.until(({ open }) => open() === 0);
      await settleMicrotasks();
    }
    // Nor do those that could not be connected to stay.
    for (let port = 1; port <= 6; port += 1) {
      expect(await pushTask(pusher, `http://127.0.0.1:${port}/`)).toEqual(untakenFor('connection refused'));
    }
  });

  test('more endpoints at once than there may be are told so', async () => {
    const agents = await Promise.all([1, 2, 3].map(() => openAgent(() => undefined)));
    const pusher = openPusher({ limits: { originsMax: 2 } });
    const [first, second, third] = agents.map(({ url }) => pushTask(pusher, url));
    expect(await third).toEqual(untakenFor('too many endpoints at once'));
    for (const agent of agents.slice(0, 2)) await agent.until(({ requests }) => requests.length === 1);
    await pusher.close();
    const cut = unknownFor('the connection was cut before an answer');
    expect([await first, await second]).toEqual([cut, cut]);
  });
});

describe('bounds', () => {
  test('pushes beyond the bound of an endpoint, or of all, are not begun', async () => {
    const held: Socket[] = [];
    const agent = await openAgent((socket) => held.push(socket));
    const other = await openAgent(accept);
    const pusher = openPusher({ limits: { openPerOriginMax: 2, openMax: 2 } });
    const roomier = openPusher({ limits: { openPerOriginMax: 2 } });
    for (const [one, refusal] of [
      [pusher, '2 pushes are open already'],
      [roomier, '2 pushes to this endpoint are open already'],
    ] as const) {
      held.length = 0;
      const open = [pushTask(one, agent.url), pushTask(one, agent.url)];
      await agent.until(() => held.length === 2);
      expect(await pushTask(one, agent.url)).toEqual(untakenFor(refusal));
      for (const socket of held) socket.write(answer(202));
      expect(await Promise.all(open)).toEqual([TAKEN, TAKEN]);
      await settleMicrotasks();
      expect(await pushTask(one, other.url)).toEqual(TAKEN);
    }
    expect(agent.requests).toHaveLength(4);
  });

  test('the room an attempt took is free again however it ended', async () => {
    const agent = await openAgent((socket, _request, nth) => {
      if (nth % 3 === 0) socket.resetAndDestroy();
      else socket.write(answer(nth % 3 === 1 ? 202 : 500));
    });
    const pusher = openPusher({ limits: { openPerOriginMax: 1 } });
    const kinds: string[] = [];
    for (let nth = 0; nth < 9; nth += 1) {
      const outcome = await pushTask(pusher, agent.url);
      kinds.push(outcome.kind);
      await settleMicrotasks();
      if (nth % 3 === 0) await pushTask(pusher, agent.url, {}, AbortSignal.abort());
    }
    expect(kinds).toEqual(Array.from({ length: 3 }, () => ['acknowledged', 'unknown', 'unknown']).flat());
  });

  test('a long answer is acknowledged by its status line and not read to its end', async () => {
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
  ])('an answer with %s is not followed, and none of it is told', async (_what, bytes, kind) => {
    const agent = await openAgent((socket) => socket.end(bytes));
    const outcome = await pushTask(openPusher({ limits: { answerWithinMs: 2_000 } }), agent.url);
    expect(outcome.kind).toBe(kind);
    expect(JSON.stringify(outcome)).not.toMatch(/canary|location|again|\\u00/);
    expect('error' in outcome ? outcome.error.length : 0).toBeLessThan(100);
    expect(agent.connections()).toBe(1);
    expect(agent.requests).toHaveLength(1);
  });

  test('an answer that never ends is left after a while', async () => {
    const agent = await openAgent((socket) =>
      socket.write('HTTP/1.1 202 OK\r\ncontent-length: 10\r\n\r\nhalf'),
    );
    const pusher = openPusher({ limits: { bodyWithinMs: 30 } });
    expect(await pushTask(pusher, agent.url)).toEqual(TAKEN);
    await agent.until(({ open }) => open() === 0);
  });

  test('no text tells what the endpoint or the answer holds', async () => {
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
    const told = await Promise.all(endpoints.map((endpoint) => pushTask(pusher, endpoint)));
    expect(JSON.stringify(told)).not.toContain(canary);
    expect(told.map(({ kind }) => kind)).toEqual(['unknown', 'unknown', 'untaken', 'untaken']);
  });
});
