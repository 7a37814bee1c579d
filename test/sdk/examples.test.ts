/** Runs the examples of the SDK with the real gateway, the page in a real browser. */
import { once } from 'node:events';
import { readdirSync, readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createClient, type TaskGatewayClient } from '../../sdk/index.ts';
import { ADMIN_SECRET, type GatewayProcess, SECRET, startGateway } from '../harness/gateway-process.ts';
import { bundle } from '../package/bundle.ts';
import { launchBrowser } from '../resilience/browser-page.ts';
import { EXAMPLES, type Example, startExample, stop } from './example-process.ts';
import { until } from './sdk-clock.ts';

const PUSH_SECRET = 'whsec_c2VjcmV0LW9mLXRoZS1wdXNoZXM=';

let gateway: GatewayProcess;
let client: TaskGatewayClient;
let pages: ReturnType<typeof createServer>;
let pageUrl: string;

beforeAll(async () => {
  const page = {
    '/': ['text/html', readFileSync(join(EXAMPLES, 'browser/index.html'), 'utf8')],
    '/page.js': ['text/javascript', await bundle(readFileSync(join(EXAMPLES, 'browser/page.js'), 'utf8'))],
  } as Record<string, readonly [string, string]>;
  pages = createServer(({ url = '' }, response) => {
    const [type, text] = page[url] ?? ['text/plain', ''];
    response.writeHead(200, { 'content-type': type }).end(text);
  });
  await new Promise<void>((resolve) => pages.listen(0, '127.0.0.1', resolve));
  pageUrl = `http://127.0.0.1:${(pages.address() as AddressInfo).port}`;
  gateway = await startGateway({ PUSH_SECRET, CORS_ORIGINS: pageUrl });
  client = createClient({ baseUrl: gateway.baseUrl, auth: SECRET, adminAuth: ADMIN_SECRET });
});

afterAll(async () => {
  await gateway?.stop();
  pages?.close();
});

/** Starts an example as its first comment describes. */
function start(file: string, ...args: readonly string[]): Example {
  return startExample(file, args, {
    TASK_GATEWAY_URL: gateway.baseUrl,
    TASK_GATEWAY_AUTH: SECRET,
    PORT: '0',
    TASK_GATEWAY_PUSH_SECRET: PUSH_SECRET,
  });
}

async function startAgent(file: string, ...args: readonly string[]) {
  const agent = start(file, ...args);
  await until(() => agent.output.out.includes('registered'), `${file} registers: ${agent.output.error}`);
  return agent;
}

/** Runs the client's example until it exits. */
async function runClient(...args: readonly string[]) {
  const { child, output } = start('client.js', ...args);
  const [code] = await once(child, 'close');
  return { code, ...output };
}

test('The client example runs a task on the pull agent, prints its progress and result, and both exit with 0.', async () => {
  const { child } = await startAgent('pull-agent.js');
  const printed = await runClient('shout', 'grüße');
  expect(printed).toMatchObject({ code: 0, out: 'GRÜSSE!\n' });
  expect(printed.error).toMatch(/^pending 0 %\n/);
  expect(printed.error).toMatch(/success 100 %\n$/);
  expect(await stop(child)).toBe(0);
  expect((await client.listAgents()).agents).toEqual([]);
});

test('The client example prints why a task failed.', async () => {
  const agent = await startAgent('shell-agent.js', 'fail', 'sh', '-c', 'echo broken >&2; exit 3');
  expect(await runClient('fail')).toMatchObject({
    code: 1,
    error: expect.stringContaining('task_failed: broken'),
  });
  expect(await stop(agent.child)).toBe(0);
});

test('The push agent example takes signed pushes on a server that also serves other paths.', async () => {
  const { child, output } = await startAgent('push-agent.js');
  const { agents } = await client.listAgents();
  expect(agents[0]?.endpoint).toMatch(/\/tasks$/);
  expect(await (await fetch(new URL('/', agents[0]?.endpoint))).text()).toContain(
    'This server runs an agent',
  );
  expect(await runClient('count', '你好')).toMatchObject({ code: 0, out: '2 characters\n' });
  expect(output.out).toContain('taken');
  expect(await stop(child)).toBe(0);
});

test('The client example says that no gateway responds, and ends with one line.', async () => {
  const asking = startExample('client.js', [], {
    TASK_GATEWAY_URL: 'http://127.0.0.1:9',
    TASK_GATEWAY_AUTH: SECRET,
    TASK_GATEWAY_MAX_RETRIES: '1',
  });
  const [code] = await once(asking.child, 'close');
  expect({ code, out: asking.output.out }).toEqual({ code: 1, out: '' });
  expect(asking.output.error.split('\n').at(0)).toMatch(
    /^task-gateway: POST \/api\/cli\/tasks failed: connection_failed/,
  );
  expect(asking.output.error.split('\n').at(-2)).toMatch(/^connection_failed: No response from the gateway /);
});

test('The client example cancels its task at Ctrl-C before it ends, wherever it is.', async () => {
  const { child: agent } = await startAgent('shell-agent.js', 'long', 'sleep', '600');
  const asking = start('client.js', 'long');
  await until(() => asking.output.error.includes('running'), 'the task runs');
  asking.child.kill('SIGINT');
  const [code] = await once(asking.child, 'close');
  expect({ code, error: asking.output.error }).toMatchObject({
    code: 130,
    error: expect.stringContaining('cancelled'),
  });
  const [task] = (await client.listTasks({ tag: 'long' })).tasks;
  expect(task).toMatchObject({ status: 'failed', error_info: 'cancelled by user' });
  expect(await stop(agent)).toBe(0);
});

test('The shell agent example passes the payload to a command, and kills it when the task is cancelled.', async () => {
  const counting = await startAgent('shell-agent.js', 'count-bytes', 'wc', '-c');
  expect(await runClient('count-bytes', 'abc')).toMatchObject({ code: 0, out: '14\n' });
  expect(await stop(counting.child)).toBe(0);
  const lasting = await startAgent('shell-agent.js', 'last', 'sleep', '600');
  const asking = start('client.js', 'last');
  await until(() => asking.output.error.includes('running'), 'the task runs');
  asking.child.kill('SIGINT');
  await once(asking.child, 'close');
  expect(asking.output.error).toMatch(/^cancelled$/m);
  // The agent learns of the cancellation at the latest when it stops: it does not wait for the command.
  expect(await stop(lasting.child)).toBe(0);
});

test('The browser example runs a task and shows what went wrong.', {
  tags: 'chromium',
  timeout: 300_000,
}, async () => {
  await startAgent('pull-agent.js');
  const browser = await launchBrowser();
  try {
    const page = await browser.newPage();
    const errors: Error[] = [];
    page.on('pageerror', (error) => errors.push(error));
    await page.goto(pageUrl);
    await page.fill('[name=url]', gateway.baseUrl);
    await page.fill('[name=auth]', SECRET);
    await page.fill('[name=text]', '你好 browser');
    await page.click('button');
    await page.waitForFunction(() => document.querySelector('output')?.value === '你好 BROWSER!');
    expect(await page.evaluate(() => document.querySelector('progress')?.value)).toBe(100);
    await page.fill('[name=auth]', 'wrong');
    await page.click('button');
    await page.waitForFunction(() => document.querySelector('output')?.value.startsWith('unauthorized: '));
    expect(errors).toEqual([]);
  } finally {
    await browser.close();
  }
});

test('Every example is on the page of examples, and named by a test.', () => {
  const page = readFileSync(join(EXAMPLES, 'README.md'), 'utf8');
  const tests = ['examples', 'example-live', 'example-servers', 'example-workflow'].map((name) =>
    readFileSync(join(import.meta.dirname, `${name}.test.ts`), 'utf8'),
  );
  const files = readdirSync(EXAMPLES, { recursive: true, withFileTypes: true }).filter((one) => one.isFile());
  const names = files.map(({ name }) => name).filter((name) => name !== 'README.md');
  expect(names.length).toBeGreaterThan(12);
  for (const name of names) {
    if (name !== 'index.html') expect(page, name).toContain(`${name}](`.replace(/^page\.js\]/, 'browser]'));
    expect(
      tests.some((text) => text.includes(name)),
      name,
    ).toBe(true);
  }
});
