/**
 * The client in a real browser, on another origin, with a gateway that is killed and restarted.
 * @module-tag chromium
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { createAgent } from '../../sdk/agent/index.ts';
import type * as Sdk from '../../sdk/index.ts';
import { SECRET, startGateway } from '../harness/gateway-process.ts';
import { bundleChunks } from '../package/bundle.ts';
import { launchBrowser } from '../resilience/browser-page.ts';
import { until } from './sdk-clock.ts';

const TASKS = 20;

declare global {
  /** The SDK as the page has loaded it, and what the page has received. */
  var sdk: typeof Sdk;
  var seen: string[];
  var opens: number;
}

/** Runs in the page: runs tasks and reads the session's events at the same time. */
async function runInPage([baseUrl, auth, count]: readonly [string, string, number]) {
  const { createClient, TaskFailedError } = globalThis.sdk;
  const client = createClient({ baseUrl, auth, maxRetries: 10 });
  Object.assign(globalThis, { seen: [], opens: 0 });
  const onNotice = ({ kind }: Sdk.FeedNotice) => {
    if (kind === 'open') globalThis.opens += 1;
  };
  const events = client.subscribeEvents('page', { onNotice });
  const reading = (async () => {
    for await (const { request_id } of events) if (globalThis.seen.push(request_id) === count) return;
  })();
  const submission = { task_type: 'x', task_tags: ['page'], cli_session_id: 'page', queue_timeout: 60 };
  // More than may have a stream of their own.
  const written = Array.from({ length: 5 }, () => '');
  const runs = Array.from({ length: count }, (_, n) => {
    const onOutput = ({ text = '' }: Sdk.OutputPiece) => {
      written[n] += text;
    };
    return client.runTask({ ...submission, payload: { n } }, n < written.length ? { onOutput } : {});
  });
  const results = await Promise.all(runs);
  await reading;
  const none = await client
    .runTask({ ...submission, task_tags: [], payload: {}, queue_timeout: 0 })
    .catch((error: unknown) => error);
  return {
    written,
    outputs: results.map(({ result }) => result.output),
    distinct: new Set(globalThis.seen).size,
    opens: globalThis.opens,
    code: none instanceof TaskFailedError ? none.code : undefined,
  };
}

/** Runs in a page whose origin the gateway does not serve. Returns what the error says. */
async function readBlocked(baseUrl: string): Promise<string> {
  const client = globalThis.sdk.createClient({ baseUrl, auth: 'any-secret', maxRetries: 0 });
  return await client.getTask('t').then(
    () => 'no error',
    ({ message }: Error) => message,
  );
}

/** Runs in a page that cannot load the files for runs and streams. Returns the errors. */
async function runWithoutChunks(baseUrl: string) {
  const client = globalThis.sdk.createClient({ baseUrl, auth: 'any-secret' });
  const submission = { task_type: 'x', task_tags: ['page'], payload: {} };
  const describe = ({ code, message, name }: Sdk.TaskGatewayError) => ({ code, message, name });
  const read = async () => {
    for await (const event of client.subscribeEvents('page')) return event;
    return undefined;
  };
  const run = await client.runTask(submission).catch(describe);
  const shown = await client.runTask(submission, { onOutput: () => undefined }).catch(describe);
  const subscription = await read().catch(describe);
  const aborted = await client.runTask(submission, { signal: AbortSignal.abort() }).catch(describe);
  return { run, shown, subscription, aborted };
}

/** Serves a page with the SDK in several files; those named in `missing` are not there. */
async function servePages(missing: { readonly names: ReadonlySet<string> }) {
  const chunks = await bundleChunks(`import * as sdk from '@task-gateway/sdk'; globalThis.sdk = sdk;`);
  const entry = chunks.find(({ isEntry }) => isEntry)?.name;
  const asked: string[] = [];
  const pages = createServer(({ url = '' }, response) => {
    const found = chunks.find(({ name }) => `/${name}` === url);
    asked.push(url);
    if (url === '/') {
      const page = `<script type="module" src="/${entry}"></script>`;
      response.writeHead(200, { 'content-type': 'text/html' }).end(page);
    } else if (!found || missing.names.has(found.name)) response.writeHead(404).end();
    else response.writeHead(200, { 'content-type': 'text/javascript' }).end(found.code);
  });
  await new Promise<void>((resolve) => pages.listen(0, '127.0.0.1', resolve));
  const origin = `http://127.0.0.1:${(pages.address() as AddressInfo).port}`;
  const later = new Set(chunks.flatMap(({ name, isEntry }) => (isEntry ? [] : [name])));
  return { pages, origin, later, asked };
}

test('A page that lacks the files for runs says so and sends nothing.', async () => {
  const missing = { names: new Set<string>() };
  const { pages, origin, later, asked } = await servePages(missing);
  missing.names = later;
  const browser = await launchBrowser();
  try {
    const page = await browser.newPage();
    await page.goto(origin);
    await page.waitForFunction(() => globalThis.sdk !== undefined);
    const { run, shown, subscription, aborted } = await page.evaluate(runWithoutChunks, origin);
    for (const error of [run, shown, subscription]) {
      expect(error).toMatchObject({ code: 'chunk_not_loaded', name: 'TaskGatewayError' });
      expect(error).toMatchObject({ message: expect.stringMatching(/Serve all files.*reload the page/) });
    }
    expect(aborted).toMatchObject({ code: 'aborted' });
    expect(later.size).toBe(4);
    expect(asked.filter((url) => url.startsWith('/api'))).toEqual([]);
  } finally {
    await browser.close();
    pages.close();
  }
});

test('A page loses no result when the gateway is killed, and resumes behind the last event.', async () => {
  const { pages, origin } = await servePages({ names: new Set() });
  const folder = mkdtempSync(join(tmpdir(), 'task-gateway-browser-'));
  const settings = { STORE: `sqlite:${join(folder, 'gateway.db')}`, CORS_ORIGINS: origin };
  let gateway = await startGateway(settings);
  const { baseUrl } = gateway;
  const started = new Set<number>();
  const second = Promise.withResolvers<void>();
  const agent = createAgent({
    baseUrl,
    auth: SECRET,
    agentId: 'page',
    tags: ['page'],
    maxConcurrent: TASKS,
    listen: {},
    async handler({ payload }, { write }) {
      const n = Number(payload.n);
      started.add(n);
      await write(`第 ${n} 页 `);
      if (n < 2 || n >= TASKS / 2) await second.promise;
      await write('完');
      return `完成 ${n}`;
    },
  });
  await agent.start();
  const browser = await launchBrowser();
  try {
    const page = await browser.newPage();
    await page.goto(origin);
    await page.waitForFunction(() => globalThis.sdk !== undefined);
    const running = page.evaluate(runInPage, [baseUrl, SECRET, TASKS] as const);
    await page.waitForFunction((half) => globalThis.seen?.length === half, TASKS / 2 - 2);
    await until(() => started.size === TASKS, 'all tasks are started');
    await gateway.kill();
    second.resolve();
    gateway = await startGateway({ ...settings, PORT: new URL(baseUrl).port });
    const summary = await running;
    expect(summary.outputs).toEqual(Array.from({ length: TASKS }, (_, n) => `完成 ${n}`));
    expect(summary.written).toEqual(summary.written.map((_, n) => `第 ${n} 页 完`));
    expect(summary.distinct).toBe(TASKS);
    expect(summary.opens).toBeGreaterThanOrEqual(2);
    expect(summary.code).toBe('no_agent_available');
    // As 127.0.0.1 and localhost, one server is two origins; the gateway serves the first one.
    await page.goto(origin.replace('127.0.0.1', 'localhost'));
    await page.waitForFunction(() => globalThis.sdk !== undefined);
    expect(await page.evaluate(readBlocked, baseUrl)).toMatch(
      /blocked.*CORS.*http:\/\/localhost.*CORS_ORIGINS/,
    );
  } finally {
    await browser.close();
    await agent.stop({ drainMs: 0, graceMs: 0 });
    await gateway.stop();
    pages.close();
    rmSync(folder, { recursive: true, force: true });
  }
});
