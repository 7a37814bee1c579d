/**
 * The wall clock jumps by a day while the gateway runs, and between two processes of it. A process reads it
 * once, at its start; from one process to the next the order of events stays as promised.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { get, getAdmin, post, submit, subscribe } from '../e2e/plain-calls.ts';
import { type GatewayProcess, SECRET, startGateway } from '../harness/gateway-process.ts';
import { claimAll, startBeating } from './beating-agents.ts';

/** For what happens soon, with slack for a machine that has other work. */
const WAIT = { timeout: 60_000, interval: 20 };
const DAY_MS = 86_400_000;
const MOVED_CLOCK = pathToFileURL(join(import.meta.dirname, 'moved-clock.ts')).href;

let folder: string;
let gateway: GatewayProcess;
const closing: (() => void)[] = [];
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'task-gateway-jump-'));
});
afterEach(async () => {
  for (const close of closing.splice(0)) close();
  await gateway.stop();
  rmSync(folder, { recursive: true, force: true });
});

const start = (env: Readonly<Record<string, string>>): Promise<GatewayProcess> =>
  startGateway({ STORE: `sqlite:${folder}/gateway.db`, NODE_OPTIONS: `--import=${MOVED_CLOCK}`, ...env });

async function finishOne(url: string): Promise<string> {
  const request_id = await submit(url, { cli_session_id: 'jump' });
  await vi.waitFor(async () => expect(await claimAll(url, 'agent')).toContain(request_id), WAIT);
  const { body } = await post(url, '/api/agent/result', {
    auth: SECRET,
    agent_id: 'agent',
    request_id,
    status: 'success',
    result: {},
  });
  expect(body.accepted).toBe(true);
  return request_id;
}

/** Both parts of an event's id as one number that rises with it. */
function parsePosition(id: string): bigint {
  const [ms = '', n = ''] = id.split('-');
  return BigInt(ms) * 10_000_000_000n + BigInt(n);
}

function expectRising(ids: readonly string[]): void {
  const positions = ids.map(parsePosition);
  expect(
    positions.every((position, index) => index === 0 || position > (positions[index - 1] ?? 0n)),
    ids.join(' '),
  ).toBe(true);
}

describe('the wall clock jumps', () => {
  test('by a day forward and two days back while the gateway runs, without any effect', async () => {
    gateway = await start({ CLOCK_JUMPS_MS: `${DAY_MS},${-2 * DAY_MS}` });
    const { baseUrl, pid } = gateway;
    closing.push(await startBeating(baseUrl, 'agent', { lost_after: 30 }));
    const stream = await subscribe(baseUrl, 'jump');
    closing.push(stream.leave);
    const done = [await finishOne(baseUrl)];
    const open = await submit(baseUrl, { timeout: 600, cli_session_id: 'jump' });
    const createTimeOf = async (id: string) =>
      Number((await get(baseUrl, `/api/cli/tasks/${id}`)).body.create_time);
    for (const moved of [DAY_MS, -DAY_MS]) {
      process.kill(pid, 'SIGWINCH');
      await vi.waitFor(() => expect(gateway.output()).toContain(`"moved":${moved},`), WAIT);
      const short = await submit(baseUrl, { timeout: 1, cli_session_id: 'jump' });
      done.push(await finishOne(baseUrl));
      // Both creation times follow the clock of the start, so they are seconds apart.
      expect(Math.abs((await createTimeOf(short)) - (await createTimeOf(open)))).toBeLessThan(60);
      const { body } = await get(baseUrl, `/api/cli/tasks/${short}?wait=20`);
      expect(body).toMatchObject({ status: 'failed', error_info: 'timeout' });
      done.push(short);
    }
    await vi.waitFor(() => expect(stream.events).toHaveLength(done.length), WAIT);
    expectRising(stream.events.map(({ id }) => id));
    expect((await get(baseUrl, `/api/cli/tasks/${open}`)).body.status).toBe('running');
    const { body } = await getAdmin(baseUrl, '/api/admin/agents');
    expect(body).toMatchObject({ agents: [{ agent_id: 'agent', state: 'processing' }] });
  });

  test('back by a day between two processes: ids keep rising, no event is repeated, no task ends early', async () => {
    gateway = await start({});
    closing.push(await startBeating(gateway.baseUrl, 'agent'));
    const first = [await finishOne(gateway.baseUrl), await finishOne(gateway.baseUrl)];
    const open = await submit(gateway.baseUrl, { timeout: 600, cli_session_id: 'jump' });
    await gateway.kill();
    gateway = await start({ CLOCK_AHEAD_MS: String(-DAY_MS) });
    const { baseUrl } = gateway;
    const before = await subscribe(baseUrl, 'jump');
    closing.push(before.leave);
    await vi.waitFor(() => expect(before.events).toHaveLength(first.length), WAIT);
    closing.push(await startBeating(baseUrl, 'agent'));
    const second = [await finishOne(baseUrl), await finishOne(baseUrl)];
    await vi.waitFor(() => expect(before.events).toHaveLength(first.length + second.length), WAIT);
    expect(before.events.map(({ data }) => data.request_id)).toEqual([...first, ...second]);
    expectRising(before.events.map(({ id }) => id));
    const resumed = await subscribe(baseUrl, 'jump', before.events[1]?.id);
    closing.push(resumed.leave);
    await vi.waitFor(() => expect(resumed.events.map(({ data }) => data.request_id)).toEqual(second), WAIT);
    // Its creation time now lies in the future; it is matched all the same.
    await vi.waitFor(async () => {
      expect((await get(baseUrl, `/api/cli/tasks/${open}`)).body.status).toBe('running');
    }, WAIT);
    const short = await submit(baseUrl, { timeout: 1, cli_session_id: 'jump' });
    expect((await get(baseUrl, `/api/cli/tasks/${short}?wait=20`)).body.error_info).toBe('timeout');
  });
});
