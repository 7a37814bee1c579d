/** `task list` against a gateway with more tasks than the command could hold. */
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { createPagePause } from '../../sdk/cli/arguments/pages.ts';
import { systemClock } from '../../sdk/clock.ts';
import { TASK_ROW } from '../harness/admin-values.ts';
import { startProcess } from './cli-process.ts';
import { runCommand } from './command-run.ts';

/** 100 rows of 15 kB. */
const TASKS = Array.from({ length: 100 }, (_, index) => ({
  ...TASK_ROW,
  request_id: `id-${index}`,
  task_tags: ['x'.repeat(15_000)],
}));
const PAGE = JSON.stringify({ time: 1, tasks: TASKS, next_cursor: 'more', counts: null });
/** How many pages without a task there are of the type `none`. */
const EMPTY_PAGES = 12;
let emptyPages = 0;
let server: Server;
let env: Record<string, string>;

beforeAll(async () => {
  server = createServer(({ url = '' }, response) => {
    response.setHeader('content-type', 'application/json');
    if (url.includes('type=none')) {
      emptyPages += 1;
      const next_cursor = emptyPages < EMPTY_PAGES ? 'more' : null;
      response.end(JSON.stringify({ time: 1, tasks: [], next_cursor, counts: null }));
      return;
    }
    response.writeHead(200, { 'content-type': 'application/json' }).end(PAGE);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  env = {
    TASK_GATEWAY_URL: `http://127.0.0.1:${port}`,
    TASK_GATEWAY_AUTH: 'a-secret',
    TASK_GATEWAY_ADMIN_AUTH: 'b-secret',
  };
});

afterAll(() => void server?.close());

test('a list of 45 MB takes the memory of one page', async () => {
  const limited = { ...env, NODE_OPTIONS: '--max-old-space-size=40' };
  const { code, stdout } = await startProcess('task list -n 3000', { env: limited }).waitForExit();
  expect({ code, lines: stdout.split('\n').length }).toEqual({ code: 0, lines: 3_002 });
});

test('a JSON list over several pages is one array, laid out as such', async () => {
  const { code, stdout } = await runCommand('task list -n 150 -o json', { env });
  expect(code).toBe(0);
  expect(stdout).toBe(`${JSON.stringify([...TASKS, ...TASKS.slice(0, 50)], null, 2)}\n`);
});

test('pages that hold nothing are read up to the last one, ever more slowly', async () => {
  const { code } = await runCommand('task list --type none -o json', { env });
  expect({ code, emptyPages }).toEqual({ code: 0, emptyPages: EMPTY_PAGES });
  const sleep = vi.spyOn(systemClock, 'sleep').mockResolvedValue();
  vi.spyOn(systemClock, 'chance').mockReturnValue(0.5);
  const pause = createPagePause(new AbortController().signal);
  for (const held of [0, 0, 0, 0, 0, 0, 1, 0]) await pause(held);
  const pauses = sleep.mock.calls.map(([ms]) => ms);
  vi.restoreAllMocks();
  // From 10 ms to 250 ms, of which half is random.
  expect(pauses).toEqual([7.5, 15, 30, 60, 120, 187.5, 7.5]);
});
