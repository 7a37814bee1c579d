/**
 * Three gateways on one Redis behind nginx and Caddy, as the files of server/operating/ configure them. The
 * loop of OPERATING.md restarts one after the other under load, and no caller gets an error.
 */
import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { Agent } from 'node:https';
import type { AddressInfo } from 'node:net';
import { promisify } from 'node:util';
import { expect, onTestFinished, test } from 'vitest';
import { printTally } from '../harness/figures.ts';
import { ADMIN_SECRET, SECRET } from '../harness/gateway-process.ts';
import { readBlocks } from '../harness/readme-blocks.ts';
import { startRedis } from '../harness/redis-process.ts';
import { type CallOptions, REVERSE_PROXIES, startProxy } from '../server/reverse-proxy.ts';
import { type Replicas, startReplicas } from './replicas.ts';

const PAGE = readFileSync(new URL('../../server/OPERATING.md', import.meta.url), 'utf8');
/** How often all are restarted; `ROLLING_RESTARTS` asks for more. */
const ROLLS = Number(process.env.ROLLING_RESTARTS ?? 1);
const GATEWAYS = 3;
/** Behind each: clients that submit and wait, agents that claim and report or beat, readers of streams. */
const CALLERS = 4;
/** So large that a proxy reads a body in several pieces. */
const TEXT = 'x'.repeat(20_000);

type Call = (path: string, options?: CallOptions) => Promise<{ status: number | undefined; text: string }>;
type Load = {
  /** How often each status came, and how often no response. */
  readonly counts: Map<number | string, number>;
  readonly submitted: Set<string>;
  readonly over: AbortController;
};

/** Calls again and again, each caller on a connection of its own. */
async function callOn(load: Load, call: Call, round: (ask: Call) => Promise<void>): Promise<void> {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  const ask: Call = async (path, options) => {
    const answer = await call(path, { agent, ...options }).catch((error: Error) => ({
      status: undefined,
      text: error.message,
    }));
    if (load.over.signal.aborted && answer.status === undefined) return answer;
    const key = answer.status ?? answer.text;
    load.counts.set(key, (load.counts.get(key) ?? 0) + 1);
    return answer;
  };
  while (!load.over.signal.aborted) await round(ask);
  agent.destroy();
}

/** Those behind one proxy, with agents and a session of their own. */
function startCallers(load: Load, call: Call, name: string): Promise<unknown> {
  const submit = async (ask: Call): Promise<void> => {
    const task = { task_type: 'x', task_tags: ['t'], queue_timeout: 60, payload: { TEXT } };
    const body = { auth: SECRET, cli_session_id: name, ...task };
    const { status, text } = await ask('/api/cli/tasks', { body });
    if (status !== 200) return;
    const { request_id } = JSON.parse(text) as { request_id: string };
    load.submitted.add(request_id);
    await ask(`/api/cli/tasks/${request_id}?wait=1`);
  };
  const work =
    (agent_id: string) =>
    async (ask: Call): Promise<void> => {
      const { status, text } = await ask('/api/agent/claim', { body: { auth: SECRET, agent_id, wait: 5 } });
      if (status !== 200) return;
      const { request_id } = JSON.parse(text) as { request_id: string };
      const result = { auth: SECRET, agent_id, request_id, status: 'success', result: { TEXT } };
      await ask('/api/agent/result', { body: result });
    };
  const read = async (ask: Call): Promise<void> => {
    await ask('/api/cli/events?cli_session_id=s', { signal: load.over.signal });
  };
  const callers = Array.from({ length: CALLERS }, async (_, index) => {
    const agent_id = `${name}/${index}`;
    const body = { auth: SECRET, agent_id, endpoint: 'pull', agent_tags: ['t'] };
    await call('/api/agent/register', { body });
    const beat = async (ask: Call): Promise<void> => {
      await ask('/api/agent/heartbeat', { body: { auth: SECRET, agent_id, request_ids: [] } });
    };
    return [submit, work(agent_id), beat, read].map((round) => callOn(load, call, round));
  });
  return Promise.all(callers).then((started) => Promise.all(started.flat()));
}

/** Serves `/PORT`, as `ssh` and systemd do: it stops that gateway, and starts it again. */
async function serveRestarts(replicas: Replicas): Promise<string> {
  const ports = replicas.urls.map((url) => new URL(url).port);
  const server = createServer(async ({ url = '' }, response) => {
    const index = ports.indexOf(url.slice(1));
    const code = await replicas.at(index).stop();
    await replicas.restart(index);
    response.end(`${code}\n`);
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => void server.close());
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

test('A rolling restart behind nginx and Caddy under load is no error for any caller.', {
  tags: [...REVERSE_PROXIES.map(({ command }) => command), 'redis', 'curl'],
  timeout: 120_000 + ROLLS * 60_000,
}, async () => {
  const redis = await startRedis();
  onTestFinished(() => redis.dispose());
  const settings = { DRAIN_SECONDS: '3', TRUSTED_PROXIES: '127.0.0.1' };
  const replicas = await startReplicas(redis.url, GATEWAYS, settings);
  onTestFinished(() => replicas.stop());
  const behind = await Promise.all(
    REVERSE_PROXIES.map(async (proxy) => {
      const { call } = await startProxy(proxy, replicas.urls);
      const load: Load = { counts: new Map(), submitted: new Set(), over: new AbortController() };
      return { name: proxy.command, call, load, callers: startCallers(load, call, proxy.command) };
    }),
  );
  const restarts = await serveRestarts(replicas);
  const ports = replicas.urls.map((url) => new URL(url).port);
  const [loop] = readBlocks(PAGE).filter(({ role }) => role === 'rolling');
  const script = (loop?.text ?? '')
    .replace(/(?<=for gateway in ).*(?=;)/, ports.join(' '))
    .replace(/ssh .*$/m, `curl -fsS "${restarts}/$gateway"`)
    .replace('http://$gateway:8080', 'http://127.0.0.1:$gateway');
  let printed = '';
  for (let roll = 0; roll < ROLLS; roll += 1) {
    const { stdout } = await promisify(execFile)('bash', ['-euo', 'pipefail', '-c', script]);
    printed += stdout;
  }
  for (const { load } of behind) load.over.abort();
  await Promise.all(behind.map(({ callers }) => callers));
  // Each ended by itself, and was ready again.
  expect(printed.match(/\b0$/gm)).toHaveLength(ROLLS * GATEWAYS);
  for (const { name, call, load } of behind) {
    const bad = [...load.counts].filter(([status]) => status !== 200 && status !== 204);
    expect(bad, name).toEqual([]);
    const calls = [...load.counts.values()].reduce((sum, count) => sum + count, 0);
    printTally(`rolling-restart:${name}`, calls, 'calls');
    // No submission was sent twice.
    const headers = { 'x-admin-auth': ADMIN_SECRET };
    const { text } = await call(`/api/admin/tasks?counts=true&limit=1&session=${name}`, { headers });
    const counts = { total: load.submitted.size, complete: true };
    expect((JSON.parse(text) as { counts: object }).counts, name).toMatchObject(counts);
  }
});
