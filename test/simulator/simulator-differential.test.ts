/**
 * The simulator and the real process on `memory:` get the same random calls, one after the other: each answer
 * of one must be that of the other, in status, headers and body. Only times, and texts that are drawn at
 * random, may differ.
 */
import { expect, test } from 'vitest';
import { createSimulator } from '../../server/simulator/index.ts';
import { printFigure } from '../harness/figures.ts';
import { startGateway } from '../harness/gateway-process.ts';

const CALLS = Number(process.env.SIMULATOR_CALLS ?? 5_000);
const SEED = Number(process.env.SIMULATOR_SEED ?? 1);
const SECRETS = { auth: 'a-gateway-secret-for-tests', adminAuth: 'an-admin-secret-for-tests' };
/** Between two calls each gateway has this long for work behind an answer. */
const SETTLE_MS = 2;
const PENDING: Call = {
  method: 'GET',
  path: '/api/admin/tasks?status=pending&limit=50',
  headers: { 'x-admin-auth': SECRETS.adminAuth },
};
/** After this many calls the names are new: by then no claim has been handed out a second time. */
const CALLS_PER_NAMES = 250;

type Answer = { readonly status: number; readonly headers: string; readonly body: unknown };
type Send = (path: string, init: RequestInit) => Promise<Response>;
type Call = {
  readonly method: string;
  readonly path: string;
  readonly body?: unknown;
  readonly headers?: object;
};

/** Numbers that follow from the seed. */
function createRandom(seed: number): (below: number) => number {
  let state = seed >>> 0;
  return (below) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
}

/** One of the two gateways: what was sent to it, with its own ids in place of the numbers of tasks. */
function createSubject(send: Send) {
  const ids: string[] = [];
  const registrations = new Map<string, string>();
  const fill = (text: string): string =>
    text
      .replaceAll(/#task(\d+)#/g, (_, n) => ids[Number(n)] ?? 'no-such-task')
      .replaceAll(/#registration:([\w-]+)#/g, (_, id) => registrations.get(id) ?? 'none');

  /** Replaces what is drawn at random, and times, by what they are. */
  function normalize(value: unknown, key = ''): unknown {
    if (Array.isArray(value)) return value.map((one) => normalize(one, key));
    if (typeof value === 'object' && value !== null) {
      return Object.fromEntries(Object.entries(value).map(([name, one]) => [name, normalize(one, name)]));
    }
    if (typeof value === 'string' && ids.includes(value)) return `task ${ids.indexOf(value)}`;
    if (
      typeof value === 'number' &&
      /time$|^since$|_since$|^to$|^median_seconds$|^seconds$|^silent/.test(key)
    ) {
      return 'a time';
    }
    // How long ago something was, in words and as a strip of steps of 15 s.
    if (key === 'hint') return String(value).replaceAll(/\d+(\.\d+)? s ago/g, 'a time ago');
    if (key === 'contact' || key === 'push_failed') return 'a strip';
    if (/^(registration|next_cursor|version)$/.test(key) && value !== null) return 'a text';
    return value;
  }

  return async ({ method, path, body, headers = {} }: Call): Promise<Answer> => {
    const text = body === undefined ? undefined : typeof body === 'string' ? body : JSON.stringify(body);
    const response = await send(fill(path), {
      method,
      headers: { 'content-type': 'application/json', ...headers },
      ...(text !== undefined && { body: fill(text) }),
    });
    const isStream = response.headers.get('content-type')?.startsWith('text/event-stream') === true;
    const read = isStream ? '' : await response.text();
    if (isStream) await response.body?.cancel();
    const json = read === '' ? null : JSON.parse(read);
    if (
      method === 'POST' &&
      path === '/api/cli/tasks' &&
      json?.request_id &&
      !ids.includes(json.request_id)
    ) {
      ids.push(json.request_id);
    }
    if (json?.registration) registrations.set(json.agent_id, json.registration);
    const kept = [...response.headers].filter(([name]) => !TRANSPORT.test(name));
    const sorted = kept.map(([name, value]) => (name === 'etag' ? name : `${name}: ${value}`)).sort();
    return { status: response.status, headers: sorted.join('\n'), body: normalize(json) };
  };
}

const TRANSPORT = /^(connection|content-length|date|keep-alive|transfer-encoding)$/;

/** Draws a call. `names` is new from time to time; `tasks` is how many there are. */
function drawCall(random: (below: number) => number, names: string, tasks: number): Call {
  const pick = <T>(...of: readonly T[]): T => of[random(of.length)] as T;
  const task = `#task${Math.max(0, tasks - 1 - random(12))}#`;
  const agent_id = `${names}-a${random(4)}`;
  const auth = random(25) === 0 ? pick<unknown>('wrong', undefined, 7) : SECRETS.auth;
  const bearer = { authorization: `Bearer ${random(25) === 0 ? 'wrong' : SECRETS.auth}` };
  const admin = { 'x-admin-auth': random(25) === 0 ? 'wrong' : SECRETS.adminAuth };
  const tags = [`${names}-t${random(3)}`, ...(random(3) === 0 ? [`${names}-t${random(3)}`] : [])];
  const post = (path: string, body: object): Call => ({ method: 'POST', path, body: { auth, ...body } });
  const get = (path: string, headers: object): Call => ({ method: 'GET', path, headers });
  const calls: readonly (() => Call)[] = [
    () =>
      post('/api/cli/tasks', {
        task_type: pick('t', 't', 't', ''),
        task_tags: pick<unknown>(tags, tags, tags, tags, 'no-list'),
        payload: pick<unknown>({ text: '你好' }, { n: 1 }, { n: 1 }, undefined),
        queue_timeout: pick<unknown>(600, 600, 0, -1),
        ...(random(2) === 0 && { cli_session_id: `${names}-s${random(2)}` }),
        ...(random(6) === 0 && { timeout: pick<unknown>(600, 0, 'x') }),
      }),
    () => get(`/api/cli/tasks/${random(15) === 0 ? 'nothing' : task}`, bearer),
    () => get(`/api/cli/tasks/${task}/explain`, bearer),
    () => ({ method: 'POST', path: `/api/cli/tasks/${task}/cancel`, headers: bearer }),
    () => post('/api/cli/match', { task_tags: tags }),
    () =>
      post('/api/agent/register', {
        agent_id: pick(agent_id, agent_id, agent_id, ''),
        endpoint: pick('pull', 'pull', 'pull', 'nonsense'),
        agent_tags: tags,
        ...(random(2) === 0 && { max_concurrent: pick<unknown>(1, 2, 3, 0) }),
      }),
    () => post('/api/agent/heartbeat', { agent_id, ...(random(6) === 0 && { draining: random(2) === 0 }) }),
    () => post('/api/agent/claim', { agent_id, wait: 0 }),
    () =>
      post('/api/agent/result', {
        agent_id,
        request_id: task,
        status: pick('success', 'running', 'failed', 'unknown'),
        ...(random(2) === 0 && { progress: random(120) }),
        ...(random(2) === 0 && { result: { output: '收到' } }),
        ...(random(3) === 0 && { error_info: 'no data' }),
      }),
    () => post('/api/agent/unregister', { agent_id }),
    () => get(`/api/cli/events?cli_session_id=${names}-s0`, bearer),
    () => get(`/api/admin/agents${pick('', '?limit=3', '?limit=x', `?id=${agent_id}`)}`, admin),
    () => get(`/api/admin/agents/${agent_id}`, admin),
    () => get(`/api/admin/tasks${pick('', '?limit=5&counts=true', '?status=pending', '?status=odd')}`, admin),
    () =>
      pick<Call>(
        { method: 'GET', path: '/api/nowhere' },
        { method: 'DELETE', path: '/api/cli/tasks' },
        { method: 'OPTIONS', path: '/api/cli/tasks' },
        { method: 'HEAD', path: `/api/cli/tasks/${task}`, headers: bearer },
        { method: 'POST', path: '/api/cli/tasks', body: '{"auth": ' },
        { method: 'POST', path: '/api/cli/tasks', body: '[]' },
      ),
  ];
  return (calls[random(calls.length)] as () => Call)();
}

/** From where two texts differ. */
function describeDifference(call: string, one: string, other: string): string {
  const at = [...one].findIndex((character, index) => character !== other[index]);
  const from = Math.max(0, at - 150);
  return `${call}\n- ${one.slice(from, at + 200)}\n+ ${other.slice(from, at + 200)}`;
}

test(`The simulator and the real gateway answer ${CALLS} random calls alike.`, async () => {
  const settings = { STORE: 'memory:', GATEWAY_AUTH: SECRETS.auth, ADMIN_AUTH: SECRETS.adminAuth };
  const real = await startGateway(settings);
  const world = createSimulator(SECRETS);
  const random = createRandom(SEED);
  const callReal = createSubject((path, init) => fetch(`${real.baseUrl}${path}`, init));
  const callSimulated = createSubject((path, init) =>
    world.fetch(new Request(`${world.options.baseUrl}${path}`, init)),
  );
  const differences: string[] = [];
  const statuses = new Map<number, number>();
  let tasks = 0;
  let lastMs = performance.now();
  const isAlike = (one: unknown, other: unknown): boolean => JSON.stringify(one) === JSON.stringify(other);
  /** Waits. As much time passes in the world as outside, however slow the machine is. */
  async function pass(ms: number): Promise<void> {
    if (ms > 0) await new Promise((resolve) => setTimeout(resolve, ms));
    const wholeMs = Math.floor(performance.now() - lastMs);
    lastMs += wholeMs;
    if (wholeMs > 0) await world.clock.advance(wholeMs / 1_000);
  }

  try {
    for (let n = 0; n < CALLS; n += 1) {
      const call = drawCall(random, `n${Math.floor(n / CALLS_PER_NAMES)}`, tasks);
      let [expected, seen] = [await callReal(call), await callSimulated(call)];
      // The timers of the real one are late by as much as the machine is: what falls due shows there later.
      // A read is asked again until then, and behind a change both must show the same pending tasks first.
      for (let tries = 0; tries < 20 && call.method === 'GET' && !isAlike(expected, seen); tries += 1) {
        await pass(100);
        [expected, seen] = [await callReal(call), await callSimulated(call)];
      }
      if (call.path === '/api/cli/tasks' && expected.status === 200) tasks += 1;
      statuses.set(expected.status, (statuses.get(expected.status) ?? 0) + 1);
      if (!isAlike(expected, seen)) {
        const name = `${n} ${JSON.stringify(call)}`;
        differences.push(describeDifference(name, JSON.stringify(expected), JSON.stringify(seen)));
      }
      if (differences.length > 3) break;
      // Of two things at the same millisecond neither is the later one, which some orders go by.
      await pass(call.method === 'POST' ? SETTLE_MS : 0);
      for (let tries = 0; tries < 200 && call.method === 'POST'; tries += 1) {
        if (isAlike(await callReal(PENDING), await callSimulated(PENDING))) break;
        await pass(5);
      }
    }
  } finally {
    await real.stop();
  }
  printFigure(`simulator differential: differences in ${CALLS} calls`, differences.length, 'differences');
  expect(differences).toEqual([]);
  expect(statuses.get(200)).toBeGreaterThan(CALLS / 3);
  for (const status of [400, 401, 404, 405, 422])
    expect(statuses.get(status), `${status}`).toBeGreaterThan(0);
}, 400_000);
