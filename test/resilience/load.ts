/**
 * Clients and agents that go on as if nothing had happened: submits, cancels, a push agent, a pull agent, a
 * subscriber that resumes by its last event id. A call that fails is a call without a response: nothing was
 * promised.
 */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, vi } from 'vitest';
import { getAdmin, post, subscribe } from '../e2e/plain-calls.ts';
import { SECRET } from '../harness/gateway-process.ts';
import type { AnswerHistory } from './answer-history.ts';
import type { Calls } from './outage-checker.ts';

export const SESSION = 'kill';

export type Load = {
  /** Calls the gateway that is running now, until `pause()`. */
  go(): void;
  /** Waits for the calls under way; the gateway may have ended already. */
  pause(): Promise<void>;
  /** Lets the agents go on with what is open, without new submissions. */
  finish(): void;
  close(): Promise<void>;
};

type AgentName = 'pusher' | 'puller';
/** The tasks each agent was given and has not reported yet. */
type TasksInHand = Readonly<Record<AgentName, Set<string>>>;
/** What all the parts of the load share. */
type Shared = {
  readonly url: string;
  readonly history: AnswerHistory;
  readonly calls: Calls;
  readonly inHand: TasksInHand;
};

const SUBMITTERS = 4;
/** One task of this many is cancelled at once. */
const CANCEL_EVERY = 5;

/**
 * Starts the server of the push agent; nothing is sent before `go()`. `calls` makes the calls, so that they
 * can be checked.
 */
export async function createLoad(
  url: string,
  history: AnswerHistory,
  calls: Calls = { post },
): Promise<Load> {
  const shared: Shared = { url, history, calls, inHand: { pusher: new Set(), puller: new Set() } };
  const receiver = await startReceiver(shared);
  const submitOne = createSubmitter(shared);
  const listen = createSubscriber(shared);
  let isRunning = false;
  let isSubmitting = false;
  let loops: Promise<void>[] = [];

  async function repeat(work: () => Promise<unknown>): Promise<void> {
    while (isRunning) {
      await work().catch(() => undefined);
      await new Promise((resolve) => setImmediate(resolve));
    }
  }

  function start(): void {
    isRunning = true;
    loops = [
      register(shared, 'pusher', receiver.endpoint).catch(() => undefined),
      register(shared, 'puller', 'pull')
        .catch(() => undefined)
        .then(() => repeat(() => claimOne(shared))),
      ...Array.from({ length: SUBMITTERS }, () => repeat(async () => isSubmitting && (await submitOne()))),
      repeat(() => reportOne(shared, 'pusher')),
      repeat(() => reportOne(shared, 'puller')),
      repeat(() => listen(() => isRunning)),
    ];
  }

  return {
    go() {
      isSubmitting = true;
      start();
    },
    finish() {
      isSubmitting = false;
      start();
    },
    async pause() {
      isRunning = false;
      await Promise.all(loops);
    },
    close: receiver.close,
  };
}

/** Waits until no task of a load is open. */
export async function awaitEnded(url: string): Promise<void> {
  const counts = { complete: true, by_status: { pending: 0, running: 0 } };
  const look = async (): Promise<void> => {
    expect(
      (await getAdmin(url, `/api/admin/tasks?counts=true&limit=1&session=${SESSION}`)).body,
    ).toMatchObject({ counts });
  };
  await vi.waitFor(look, { timeout: 300_000, interval: 100 });
}

/** The server of the push agent: accepts every push. */
async function startReceiver({ history, inHand }: Shared) {
  const server = createServer(async (incoming, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of incoming) chunks.push(chunk as Buffer);
    const { request_id } = JSON.parse(Buffer.concat(chunks).toString('utf8')) as { request_id: string };
    inHand.pusher.add(request_id);
    history.noteAssigned(request_id, 'pusher');
    response.writeHead(202).end();
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return {
    endpoint: `http://127.0.0.1:${port}/tasks`,
    async close() {
      server.closeAllConnections();
      await new Promise<void>((resolve) => server.close(() => resolve()));
    },
  };
}

async function register({ url, calls, inHand }: Shared, agent_id: AgentName, endpoint: string) {
  const request_ids = [...inHand[agent_id]];
  const body = { auth: SECRET, agent_id, endpoint, agent_tags: ['e2e'], max_concurrent: 8, request_ids };
  await calls.post(url, '/api/agent/register', body);
}

/** A function that submits one task at each call, and cancels some of them at once. */
function createSubmitter({ url, history, calls }: Shared): () => Promise<void> {
  let number = 0;
  return async () => {
    const task = { task_type: 'translate', task_tags: ['e2e'], payload: { text: '你好' } };
    const times = { cli_session_id: SESSION, queue_timeout: 60, timeout: 120 };
    const submitted = await calls.post(url, '/api/cli/tasks', { auth: SECRET, ...task, ...times });
    if (submitted.status !== 200) return;
    const request_id = String(submitted.body.request_id);
    history.noteSubmitted(request_id);
    number += 1;
    if (number % CANCEL_EVERY !== 0) return;
    const { status } = await calls.post(url, `/api/cli/tasks/${request_id}/cancel?auth=${SECRET}`, undefined);
    if (status === 200) history.noteCancelled(request_id);
  };
}

async function claimOne({ url, history, calls, inHand }: Shared): Promise<void> {
  const claim = { auth: SECRET, agent_id: 'puller', wait: 0 };
  const { status, body } = await calls.post(url, '/api/agent/claim', claim);
  if (status !== 200) return;
  inHand.puller.add(String(body.request_id));
  history.noteAssigned(String(body.request_id), 'puller');
  await writeOutput({ url, history, calls, inHand }, String(body.request_id), 1);
}

/** Writes the first pieces of a task; those that are stored already are sent again. */
async function writeOutput(
  { url, history, calls }: Shared,
  request_id: string,
  count: number,
): Promise<void> {
  const pieces = Array.from({ length: count }, (_, index) => ({ text: `${request_id} ${index + 1}` }));
  const call = { auth: SECRET, agent_id: 'puller', request_id, writer: 'puller', from: 0, pieces };
  const { body } = await calls.post(url, '/api/agent/output', call);
  if (body.accepted === true) history.noteWritten(request_id, pieces);
}

/** Reports one task the agent has in hand, and forgets it once there is a response below 500. */
async function reportOne({ url, history, calls, inHand }: Shared, agent_id: AgentName): Promise<void> {
  const mine = inHand[agent_id];
  const request_id = mine.values().next().value;
  if (request_id === undefined) return;
  if (agent_id === 'puller') await writeOutput({ url, history, calls, inHand }, request_id, 2);
  const output = `完成 ${request_id}`;
  const report = { request_id, agent_id, status: 'success', result: { output } };
  const { status, body } = await calls.post(url, '/api/agent/result', report);
  if (status < 500) mine.delete(request_id);
  if (body.accepted === true) history.noteReported(request_id, output);
}

/**
 * A function that reads the session's events from behind the last one read, until the stream ends or it must
 * stop.
 */
function createSubscriber({ url, history }: Shared): (isRunning: () => boolean) => Promise<void> {
  let lastEventId: string | undefined;
  return async (isRunning) => {
    const stream = await subscribe(url, SESSION, lastEventId);
    let seen = 0;
    while (isRunning()) {
      for (const { id, data } of stream.events.slice(seen)) {
        history.noteEvent(id, data);
        lastEventId = id;
        seen += 1;
      }
      if (stream.isOver()) break;
      await new Promise((resolve) => setImmediate(resolve));
    }
    stream.leave();
  };
}
