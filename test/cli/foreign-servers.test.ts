/**
 * Commands against servers that are no gateway: each says so in one line, soon, and never in JavaScript's
 * words.
 */
import { createServer, type Server, type ServerResponse } from 'node:http';
import { type AddressInfo, createServer as createTcpServer } from 'node:net';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { HOSTILE_ANSWERS, type HostileGateway, startHostileGateway } from '../harness/hostile-gateway.ts';
import { runCommand, startCommand } from './command-run.ts';
import { startEvilGateway } from './evil-gateway.ts';

const SECRETS = { TASK_GATEWAY_AUTH: 'a-secret', TASK_GATEWAY_ADMIN_AUTH: 'b-secret' };
const closing: (() => void)[] = [];
let hostile: HostileGateway;
/** Follows the contract, with values that no gateway would send. */
let evil: Awaited<ReturnType<typeof startEvilGateway>>;

beforeAll(async () => {
  hostile = await startHostileGateway();
  evil = await startEvilGateway();
});

afterAll(async () => {
  for (const close of closing) close();
  await hostile?.close();
  await evil?.close();
});

async function listen(server: Server | ReturnType<typeof createTcpServer>): Promise<string> {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  closing.push(() => server.close());
  const { port } = server.address() as AddressInfo;
  return `127.0.0.1:${port}`;
}

const respond = (write: (response: ServerResponse) => void): Server =>
  createServer((request, response) => {
    request.resume();
    write(response);
  });
const page = (status: number) =>
  respond((response) => response.writeHead(status, { 'content-type': 'text/html' }).end('<h1>Hello</h1>'));

/** Servers that are no gateway, and how they are addressed. */
const SERVERS: readonly (readonly [
  what: string,
  create: () => Parameters<typeof listen>[0],
  scheme: string,
])[] = [
  ['a page for everything', () => page(200), 'http'],
  ['a page that is not found', () => page(404), 'http'],
  ['a file server that knows no POST', () => page(501), 'http'],
  ['a server that asks for a password', () => page(401), 'http'],
  ['a server that allows no POST', () => page(405), 'http'],
  ['a redirect', () => respond((one) => one.writeHead(302, { location: '/login' }).end()), 'http'],
  ['a server that speaks SSH', () => createTcpServer((one) => one.end('SSH-2.0-OpenSSH_9.9\r\n')), 'http'],
  ['a server without TLS', () => page(200), 'https'],
];

test('run against a server that is no gateway says so', async () => {
  const exits = await Promise.all(
    SERVERS.map(async ([what, create, scheme]) => {
      const url = `${scheme}://${await listen(create())}`;
      return { what, ...(await runCommand(`run x -t y --url ${url}`, { env: SECRETS })) };
    }),
  );
  for (const { what, code, stdout, stderr } of exits) {
    expect(stderr, what).toMatch(
      /^task-gateway: .*(not a Task Gateway|redirects|does not speak TLS).*--url.*\n$/,
    );
    expect([stdout, code === 1 || code === 4], what).toEqual(['', true]);
  }
});

/** What only JavaScript or the platform would say. */
const RAW =
  /TypeError|RangeError|SyntaxError|Cannot read|undefined|is not a function|Unexpected token|\n\s+at /;
const COMMANDS = [
  ...['task submit x -t y', 'task get x', 'task cancel x', 'task list', 'agent list', 'doctor'],
];
/** Those that take their time are the client's own suite's. */
const SLOW: ReadonlySet<string> = new Set([
  ...['huge', 'gzip-bomb', 'endless', 'slow', 'retry-at-once', 'retry-in-the-past', 'retry-never', 'deep'],
]);

test('no wrong answer makes a command end in words that are not its own', async () => {
  const answers = Object.keys(HOSTILE_ANSWERS).filter((name) => !SLOW.has(name));
  expect(answers.length).toBeGreaterThan(15);
  const urls = [...answers.map((answer) => hostile.baseUrl(answer)), evil.baseUrl];
  const pairs = urls.flatMap((url) => COMMANDS.map((words) => ({ url, words })));
  await Promise.all(
    pairs.map(async ({ url, words }) => {
      const { code, stdout, stderr } = await runCommand(words, {
        env: { ...SECRETS, TASK_GATEWAY_URL: url },
      });
      const what = `${words} with ${url}: ${stdout}${stderr}`;
      expect(stdout + stderr, what).not.toMatch(RAW);
      expect([0, 1, 2, 3, 4, 5, 7], what).toContain(code);
    }),
  );
});

test.each<
  [text: RegExp, attempts: number, create: (attempt: () => void) => ReturnType<typeof createTcpServer>]
>([
  [
    /^No response .* keeps trying/m,
    3,
    (attempt) =>
      createTcpServer((one) => {
        one.destroy();
        attempt();
      }),
  ],
  [/There is no response from .* yet\. .* The agent keeps/, 1, (attempt) => createTcpServer(() => attempt())],
  [/not a Task Gateway.*keeps trying/, 3, (attempt) => page(200).on('request', () => attempt())],
])(
  'an agent that never reaches its gateway says so once, and exits with 1: %s',
  async (text, attempts, create) => {
    let count = 0;
    const url = `http://${await listen(create(() => void count++))}`;
    const agent = startCommand(`agent exec -t x --url ${url} -- true`, { env: SECRETS });
    await agent.waitForLog(text);
    await expect.poll(() => count).toBeGreaterThanOrEqual(attempts);
    const lines = agent.stderr().trimEnd().split('\n');
    expect(new Set(lines).size, agent.stderr()).toBe(lines.length);
    expect(lines.length).toBeLessThanOrEqual(3);
    agent.signal('SIGINT');
    const { code, stderr } = await agent.waitForExit();
    expect(code).toBe(1);
    expect(stderr).toMatch(/task-gateway: Stopped before the agent was registered\. .+\n$/);
  },
);
