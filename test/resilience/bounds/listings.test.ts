/**
 * Party A asks for the administrator's listings again and again, of many agents with long tags and of large
 * tasks. Party B is served as before, and no listing is ever whole in memory.
 */
import { get } from 'node:http';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { buildCall } from '../../contract/usual-calls.ts';
import { submit } from '../../e2e/plain-calls.ts';
import { printFigure } from '../../harness/figures.ts';
import { ADMIN_SECRET, type GatewayProcess, SECRET, startGateway } from '../../harness/gateway-process.ts';
import { readRssKiB } from '../process-cost.ts';
import { expectUnaffected, measureBeside, SCALE } from './beside.ts';

const TIMEOUT = { timeout: 300_000 };
const AGENTS = Math.min(20_000, 2_000 * SCALE);
/** The longest list of tags that an agent may have. */
const TAGS = Array.from({ length: 64 }, (_, n) => `${n} `.padEnd(256, 'x'));
const LARGE_TASKS = 12;
const LARGE_CHARS = 1_000_000;
const READERS = 6;
/** Agents that are registered at a time. */
const AT_ONCE = 20;
/** Of all listings under way: a slice each, a page each, and what a heap swings by. */
const GROWTH_MAX_KIB = 400 * 1_024;

const secrets = { gateway: SECRET, admin: ADMIN_SECRET };

let gateway: GatewayProcess;
let smallId = '';
beforeAll(async () => {
  gateway = await startGateway();
  for (let n = 0; n < LARGE_TASKS; n += 1) {
    await submit(gateway.baseUrl, { payload: { text: 'x'.repeat(LARGE_CHARS) } });
  }
  smallId = await submit(gateway.baseUrl);
  for (let from = 0; from < AGENTS; from += AT_ONCE) {
    await Promise.all(Array.from({ length: AT_ONCE }, (_, n) => register(`agent-${from + n}`)));
  }
}, 240_000);
afterAll(() => gateway?.stop());

async function register(agent_id: string): Promise<void> {
  const body = JSON.stringify({ auth: SECRET, agent_id, endpoint: 'pull', agent_tags: TAGS });
  const response = await fetch(`${gateway.baseUrl}/api/agent/register`, { method: 'POST', body });
  expect(response.status).toBe(200);
  await response.arrayBuffer();
}

/** The total, the counts and the cursor behind the agents. */
const END_CHARS = 300;

/** Reads a listing to its end; resolves with its status, its length and its last characters. */
function readListing(path: string): Promise<{ status: number; bytes: number; end: string }> {
  return new Promise((resolve, reject) => {
    const headers = { 'X-Admin-Auth': ADMIN_SECRET };
    get(gateway.baseUrl + path, { headers }, (response) => {
      let bytes = 0;
      let end = '';
      response.on('data', (part: Buffer) => {
        bytes += part.length;
        end = (end + part.toString()).slice(-END_CHARS);
      });
      response.on('error', reject);
      response.on('end', () => resolve({ status: response.statusCode ?? 0, bytes, end }));
    }).on('error', reject);
  });
}

test.each([
  ['agents', '/api/admin/agents', READERS],
  ['tasks', '/api/admin/tasks?limit=200&counts=true', READERS],
])('beside listings of %s, asked for again and again', TIMEOUT, async (what, path, readers) => {
  const beforeKiB = readRssKiB(gateway.pid);
  let mostKiB = beforeKiB;
  const looking = setInterval(() => (mostKiB = Math.max(mostKiB, readRssKiB(gateway.pid))), 50);
  const statuses: number[] = [];
  const measured = await measureBeside({
    name: `listings of ${what}`,
    baseUrl: gateway.baseUrl,
    calls: [
      buildCall('submitTask', secrets),
      buildCall('getTask', secrets, {}, smallId),
      buildCall('listTasks', secrets),
    ],
    async takeAll() {
      let isOver = false;
      const reading = Array.from({ length: readers }, async () => {
        while (!isOver) statuses.push((await readListing(path)).status);
      });
      return async () => {
        isOver = true;
        await Promise.all(reading);
      };
    },
  });
  clearInterval(looking);
  printFigure(`listings of ${what}, read`, statuses.length, '');
  printFigure(`listings of ${what}, memory`, (mostKiB - beforeKiB) / 1_024, 'MB');
  // Of two pages that wait for turns one may be refused; some are read.
  expect(statuses.filter((status) => status === 200).length).toBeGreaterThan(0);
  expect(mostKiB - beforeKiB).toBeLessThan(GROWTH_MAX_KIB);
  expectUnaffected(measured);
});

test('a listing of all agents is whole', TIMEOUT, async () => {
  const { status, bytes, end } = await readListing('/api/admin/agents');
  expect(status).toBe(200);
  expect(bytes).toBeGreaterThan(AGENTS * TAGS.length * 256);
  expect(end).toMatch(new RegExp(`\\],"total":${AGENTS},"counts":\\{[^{}]+\\},"next_cursor":null\\}$`));
});
