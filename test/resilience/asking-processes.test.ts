/**
 * Questions between processes: the agent of many tasks asks at one gateway, people answer at another, readers
 * follow at a third, and the agent is killed right behind the answers. Another process of the same name asks
 * again and has them at once; no person is asked twice. On SQLite the gateway is killed between question
 * and answer, and behind it. (LIVE 2, and 8: 9, 10)
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { afterEach, describe, expect, test, vi } from 'vitest';
import { get, post, submit } from '../e2e/plain-calls.ts';
import { useFolder } from '../harness/folder.ts';
import { SECRET, startGateway } from '../harness/gateway-process.ts';
import { REDIS_COMMANDS, startRedis } from '../harness/redis-process.ts';
import { startReplicas } from './replicas.ts';

const TASKS = 8;
const WAIT = { timeout: 30_000, interval: 50 };
const KINDS = ['text', 'question', 'answer', 'reset', 'end'] as const;

type Piece = Readonly<Record<string, unknown>> & { readonly n: number };

const closing: (() => unknown)[] = [];
let ending = new AbortController();
afterEach(async () => {
  ending.abort();
  ending = new AbortController();
  for (const close of closing.splice(0).reverse()) await close();
});

/** Starts a process of the agent. */
function startAgent(url: string, agentId: string): ChildProcess {
  const env = { TASK_GATEWAY_URL: url, TASK_GATEWAY_AUTH: SECRET, AGENT_ID: agentId };
  const child = spawn(process.execPath, [join(import.meta.dirname, 'asking-agent.ts')], {
    env,
    stdio: ['ignore', 'inherit', 'inherit'],
  });
  closing.push(() => kill(child));
  return child;
}

async function kill(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const ended = once(child, 'exit');
  child.kill('SIGKILL');
  await ended;
}

/** Submits the tasks at one gateway; each is read to its end at another one, by pages and as a stream. */
async function submitAll(url: string, readAt: string) {
  const given = { task_tags: ['ask'], queue_timeout: 60 };
  return await Promise.all(
    Array.from({ length: TASKS }, async (_, n) => {
      const id = await submit(url, { ...given, payload: { n } });
      return { n, id, pages: readPages(readAt, id), stream: readStream(readAt, id) };
    }),
  );
}

type Asked = Awaited<ReturnType<typeof submitAll>>[number];

/** Reads pages to the end, as they come: also one that comes twice. */
async function readPages(url: string, id: string): Promise<readonly Piece[]> {
  const pieces: Piece[] = [];
  const { signal } = ending;
  for (let last: unknown = 0; !signal.aborted; ) {
    const page = await get(url, `/api/cli/tasks/${id}/output?after=${last}&wait=5`).catch(() => null);
    if (page?.status !== 200) {
      await pause(50);
      continue;
    }
    pieces.push(...(page.body.pieces as readonly Piece[]));
    last = page.body.last;
    if (page.body.complete) break;
  }
  return pieces;
}

/** Follows a stream to its end, behind the last frame again when it breaks; also a frame that comes twice. */
async function readStream(url: string, id: string): Promise<readonly Piece[]> {
  const pieces: Piece[] = [];
  const { signal } = ending;
  while (pieces.at(-1)?.end !== true && !signal.aborted) {
    try {
      const headers = { accept: 'text/event-stream', 'last-event-id': String(pieces.at(-1)?.n ?? '') };
      const response = await fetch(`${url}/api/cli/tasks/${id}/output?auth=${SECRET}`, { headers, signal });
      let rest = '';
      for await (const text of response.body?.pipeThrough(new TextDecoderStream()) ?? []) {
        const frames = (rest + text).split('\n\n');
        rest = frames.pop() ?? '';
        pieces.push(...frames.flatMap((frame) => /^id: \d+\ndata: (.*)$/.exec(frame)?.[1] ?? []).map(read));
      }
    } catch {
      await pause(50);
    }
  }
  return pieces;
}

const read = (data: string): Piece => JSON.parse(data);

/** Waits until each task has asked this often. */
async function waitForQuestions(url: string, tasks: readonly Asked[], count: number): Promise<void> {
  await vi.waitFor(async () => {
    for (const { id } of tasks) {
      const { body } = await get(url, `/api/cli/tasks/${id}/output`);
      const pieces = body.pieces as readonly Piece[];
      expect(pieces.filter(({ question }) => question !== undefined)).toHaveLength(count);
    }
  }, WAIT);
}

async function answer(url: string, { id }: Asked, n: number) {
  const { status, body } = await post(url, `/api/cli/tasks/${id}/answer?auth=${SECRET}`, {
    key: 'deploy',
    answer: { n },
  });
  return status === 200 ? status : body.code;
}

/** Waits for the end of a task; both its readers and its state must have these pieces and this answer. */
async function expectRead(url: string, task: Asked, kinds: readonly string[]): Promise<void> {
  const { n, id, pages, stream } = task;
  await vi.waitFor(async () => {
    expect((await get(url, `/api/cli/tasks/${id}`)).body.status).toBe('success');
  }, WAIT);
  const followed = await stream;
  expect(followed.map((piece) => KINDS.find((kind) => kind in piece))).toEqual(kinds);
  expect(followed.map((piece) => piece.n)).toEqual(followed.map((_, index) => index + 1));
  expect(await pages).toEqual(followed.slice(0, -1));
  const answers = followed.flatMap((piece) => piece.answer ?? []);
  expect(answers).toEqual(answers.map(() => ({ key: 'deploy', answer: { n } })));
  const { body } = await get(url, `/api/cli/tasks/${id}`);
  expect(body).toMatchObject({ status: 'success', result: { output: JSON.stringify({ n }) } });
  const { questions, history } = (await get(url, `/api/cli/tasks/${id}/explain`)).body;
  expect(questions).toMatchObject([{ key: 'deploy', answered_time: expect.any(Number) }]);
  const events = (history as readonly { readonly event: string }[]).map(({ event }) => event);
  expect(events.filter((event) => event === 'answered')).toHaveLength(1);
}

describe.each(REDIS_COMMANDS)('three gateways on %s', (command) => {
  test('an agent that is killed behind the answers has them when it asks again, and no person is asked twice', {
    tags: 'redis',
    timeout: 90_000,
  }, async () => {
    const redis = await startRedis([], command);
    closing.push(() => redis.dispose());
    const replicas = await startReplicas(redis.url, 3);
    closing.push(() => replicas.stop());
    const [first = '', second = '', third = ''] = replicas.urls;
    const agent = startAgent(first, 'asking');
    const tasks = await submitAll(second, third);
    await waitForQuestions(second, tasks, 1);

    // Stopped, so that no answer reaches it; half of the people answer before it is killed.
    agent.kill('SIGSTOP');
    const [answered, open] = [tasks.filter(({ n }) => n % 2 === 0), tasks.filter(({ n }) => n % 2 === 1)];
    const statuses = await Promise.all(answered.map((task) => answer(second, task, task.n)));
    expect(new Set(statuses)).toEqual(new Set([200]));
    await kill(agent);
    expect(await Promise.all(answered.map((task) => answer(third, task, -1)))).toEqual(
      answered.map(() => 'not_asked'),
    );

    startAgent(third, 'asking');
    const asked = ['text', 'question'];
    for (const task of answered)
      await expectRead(first, task, [...asked, 'answer', 'reset', ...asked, 'answer', 'end']);
    await waitForQuestions(first, open, 2);
    for (const task of open) expect(await answer(second, task, task.n)).toBe(200);
    for (const task of open) await expectRead(first, task, [...asked, 'reset', ...asked, 'answer', 'end']);
  });
});

test('on SQLite a question and its answer survive kills of the gateway between them and behind them', {
  timeout: 90_000,
}, async () => {
  const settings = { STORE: `sqlite:${useFolder()}/gateway.db` };
  let gateway = await startGateway(settings);
  closing.push(() => gateway.stop());
  const url = gateway.baseUrl;
  const killAndStart = async (): Promise<void> => {
    await gateway.kill();
    gateway = await startGateway({ ...settings, PORT: new URL(url).port });
  };
  startAgent(url, 'asking');
  const tasks = await submitAll(url, url);
  await waitForQuestions(url, tasks, 1);
  await killAndStart();
  for (const task of tasks) {
    expect(await answer(url, task, task.n)).toBe(200);
    if (task.n === Math.floor(TASKS / 2)) await killAndStart();
    // Its repeat changes nothing; the agent may have ended the task by then.
    expect([200, 'task_terminal']).toContain(await answer(url, task, task.n));
  }
  for (const task of tasks) await expectRead(url, task, ['text', 'question', 'answer', 'end']);
});
