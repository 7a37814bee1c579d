/**
 * People and agents who go on as if nothing had happened: submits, cancels, a push agent, a pull agent, a subscriber
 * that resumes by its last id. A call that fails is a call without an answer: nothing was promised.
 */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { post, subscribe } from '../e2e/plain-calls.ts';
import { SECRET } from '../harness/gateway-process.ts';
import type { History } from './answer-history.ts';
import type { Calls } from './outage-checker.ts';

export const SESSION = 'kill';

export type Load = {
  /** Calls on with the gateway that is up now, until `pause()`. */
  go(): void;
  /** Waits for the calls under way; the gateway may be gone already. */
  pause(): Promise<void>;
  /** Lets the agents go on with what is open, without new submissions. */
  finish(): void;
  close(): Promise<void>;
};

const WIRE: Calls = { post };

/** Starts the load's own servers; nothing is sent before `go()`. The calls may be watched by whoever makes them. */
export async function createLoad(url: string, history: History, { post }: Calls = WIRE): Promise<Load> {
  const held = new Map<string, Set<string>>([
    ['pusher', new Set()],
    ['puller', new Set()],
  ]);
  let running = false;
  let submitting = false;
  let loops: Promise<void>[] = [];
  let lastEventId: string | undefined;
  let number = 0;

  const receiver = createServer(async (incoming, answer) => {
    const chunks: Buffer[] = [];
    for await (const chunk of incoming) chunks.push(chunk as Buffer);
    const { request_id } = JSON.parse(Buffer.concat(chunks).toString('utf8')) as { request_id: string };
    held.get('pusher')?.add(request_id);
    history.handed(request_id, 'pusher');
    answer.writeHead(202).end();
  });
  await new Promise<void>((resolve) => receiver.listen(0, '127.0.0.1', resolve));
  const { port } = receiver.address() as AddressInfo;

  async function repeat(work: () => Promise<unknown>): Promise<void> {
    while (running) {
      await work().catch(() => undefined);
      await new Promise((resolve) => setImmediate(resolve));
    }
  }

  async function register(agent_id: string, endpoint: string): Promise<void> {
    const request_ids = [...(held.get(agent_id) ?? [])];
    const body = { auth: SECRET, agent_id, endpoint, agent_tags: ['e2e'], max_concurrent: 8, request_ids };
    await post(url, '/api/agent/register', body);
  }

  async function submitOne(): Promise<void> {
    if (!submitting) return;
    const task = { task_type: 'translate', task_tags: ['e2e'], payload: { text: '你好' } };
    const life = { cli_session_id: SESSION, queue_timeout: 60, timeout: 120 };
    const submitted = await post(url, '/api/cli/tasks', { auth: SECRET, ...task, ...life });
    if (submitted.status !== 200) return;
    const request_id = String(submitted.body.request_id);
    history.submitted(request_id);
    number += 1;
    if (number % 5 !== 0) return;
    const { status } = await post(url, `/api/cli/tasks/${request_id}/cancel?auth=${SECRET}`, undefined);
    if (status === 200) history.cancelled(request_id);
  }

  /** Reports what the agent holds, and forgets it once there is an answer. */
  async function reportOne(agent_id: string): Promise<void> {
    const mine = held.get(agent_id);
    const request_id = mine?.values().next().value;
    if (request_id === undefined) return;
    const output = `完成 ${request_id}`;
    const report = { request_id, agent_id, status: 'success', result: { output } };
    const { status, body } = await post(url, '/api/agent/result', report);
    if (status < 500) mine?.delete(request_id);
    if (body.accepted === true) history.reported(request_id, output);
  }

  async function claimOne(): Promise<void> {
    const { status, body } = await post(url, '/api/agent/claim', {
      auth: SECRET,
      agent_id: 'puller',
      wait: 0,
    });
    if (status !== 200) return;
    held.get('puller')?.add(String(body.request_id));
    history.handed(String(body.request_id), 'puller');
  }

  async function listen(): Promise<void> {
    const stream = await subscribe(url, SESSION, lastEventId);
    let seen = 0;
    while (running) {
      for (const { id, data } of stream.events.slice(seen)) {
        history.shown(id, data);
        lastEventId = id;
        seen += 1;
      }
      if (stream.isOver()) break;
      await new Promise((resolve) => setImmediate(resolve));
    }
    stream.leave();
  }

  function start(): void {
    running = true;
    loops = [
      register('pusher', `http://127.0.0.1:${port}/tasks`).catch(() => undefined),
      register('puller', 'pull')
        .catch(() => undefined)
        .then(() => repeat(claimOne)),
      ...Array.from({ length: 4 }, () => repeat(submitOne)),
      repeat(() => reportOne('pusher')),
      repeat(() => reportOne('puller')),
      repeat(listen),
    ];
  }

  return {
    go() {
      submitting = true;
      start();
    },
    finish() {
      submitting = false;
      start();
    },
    async pause() {
      running = false;
      await Promise.all(loops);
    },
    async close() {
      receiver.closeAllConnections();
      await new Promise((resolve) => receiver.close(resolve));
    },
  };
}
