/**
 * The agents of `npm run demo -- --console`: several tags and speeds, some failures, one that drains, one
 * whose address takes no push, and one that is silent. What they do is drawn from a fixed beginning.
 */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';
import { type Agent, createAgent, type Handler } from '../../sdk/agent/index.ts';

/** What the agents call, and with which secrets. */
export type DemoGateway = { readonly baseUrl: string; readonly auth: string; readonly pushSecret: string };

/** Returns numbers from 0 to 1, the same ones in each run. */
export type Draw = () => number;

/** A multiplicative congruential generator (Park and Miller). */
export function createDraw(seed: number): Draw {
  let state = seed;
  return () => {
    state = (state * 48_271) % 2_147_483_647;
    return state / 2_147_483_647;
  };
}

type Work = {
  readonly agentId: string;
  readonly tags: readonly string[];
  readonly slots: number;
  /** Seconds a task takes: the shortest and the longest. */
  readonly seconds: readonly [number, number];
  /** Of its tasks this share fails, each with one of the errors. */
  readonly failing?: { readonly share: number; readonly errors: readonly string[] };
};

const WORK: readonly Work[] = [
  { agentId: 'gpu-node-a', tags: ['gpu', 'cuda12'], slots: 4, seconds: [6, 24] },
  {
    agentId: 'gpu-node-b',
    tags: ['gpu'],
    slots: 2,
    seconds: [4, 30],
    failing: { share: 0.1, errors: ['out of memory: 4096 texts at once'] },
  },
  { agentId: 'translator-上海-01', tags: ['translate', 'zh'], slots: 3, seconds: [1, 9] },
  {
    agentId: 'translator-上海-02',
    tags: ['translate', 'ocr'],
    slots: 2,
    seconds: [2, 12],
    failing: { share: 0.15, errors: ['target language "ja" is not loaded'] },
  },
  { agentId: 'embedder', tags: ['embed'], slots: 16, seconds: [2, 20] },
  {
    agentId: 'browser-pool-3',
    tags: ['browser'],
    slots: 2,
    seconds: [1, 6],
    failing: { share: 0.4, errors: ['navigation timed out after 12000 ms', 'the page answered 503'] },
  },
  {
    agentId: 'render-worker-eu-central-1c-7f9c4d6b58-m8v4t',
    tags: ['视频转码', 'render'],
    slots: 3,
    seconds: [15, 60],
  },
];
const STEPS = 10;

/** Works for a while, with progress, and returns what such work returns; or fails. */
function createHandler({ seconds: [shortest, longest], failing }: Work, draw: Draw): Handler {
  return async ({ task_type, payload }, { signal, progress, reply }) => {
    const wholeMs = (shortest + draw() * (longest - shortest)) * 1_000;
    const failsAt = failing && draw() < failing.share ? Math.ceil(draw() * STEPS) : STEPS + 1;
    reply(`收到,开始 ${task_type} 🎬`);
    for (let step = 1; step <= STEPS; step += 1) {
      await pause(wholeMs / STEPS, undefined, { signal });
      if (step === failsAt) throw new Error(failing?.errors[Math.floor(draw() * failing.errors.length)]);
      if (step < STEPS) progress((100 * step) / STEPS);
    }
    const [first = 'nothing'] = Object.values(payload).filter((value) => typeof value === 'string');
    return { output: `${task_type}: ${String(first)}`, seconds: Math.round(wholeMs / 100) / 10 };
  };
}

/** Starts all agents; resolves with what stops them. */
export async function startDemoAgents(gateway: DemoGateway, draw: Draw): Promise<() => Promise<void>> {
  const { pushSecret, ...caller } = gateway;
  const usual = { ...caller, pushSecret, heartbeatThread: false, logLevel: 'off' as const };
  const agents: Agent[] = WORK.map((work) =>
    createAgent({
      ...usual,
      agentId: work.agentId,
      tags: work.tags,
      maxConcurrent: work.slots,
      listen: {},
      handler: createHandler(work, draw),
    }),
  );
  const draining = createAgent({
    ...usual,
    agentId: 'gpu-node-c',
    tags: ['archive', 'a100-80g'],
    maxConcurrent: 4,
    listen: {},
    handler: async (_task, { signal, progress }) => {
      progress(35);
      // It takes no more from its first task on, and that one has no end.
      void draining.stop({ drainMs: DRAIN_MS });
      await pause(DRAIN_MS, undefined, { signal });
    },
  });
  const unreachable = createAgent({
    ...usual,
    agentId: 'render-worker-eu-central-1c-7f9c4d6b58-x2kqz',
    tags: ['render', '视频转码'],
    maxConcurrent: 6,
    endpoint: `http://127.0.0.1:${await findClosedPort()}/tasks`,
    handler: () => null,
  });
  const all = [...agents, draining, unreachable];
  await Promise.all([...all.map((agent) => agent.start()), registerSilent(gateway)]);
  return async () => {
    await Promise.all(all.map((agent) => agent.stop({ drainMs: 0, graceMs: 0 })));
  };
}

const DRAIN_MS = 3_600_000;

/** An agent that registers and is not heard of again. */
async function registerSilent({ baseUrl, auth }: DemoGateway): Promise<void> {
  const registration = {
    auth,
    agent_id: 'gpu-node-old-rack-2',
    endpoint: 'pull',
    max_concurrent: 2,
    agent_tags: ['a100-80g', 'cuda11'],
  };
  const body = JSON.stringify(registration);
  const response = await fetch(`${baseUrl}/api/agent/register`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body,
  });
  if (!response.ok) throw new Error(`The silent agent was not registered: ${await response.text()}`);
}

/** A port of this machine at which nothing listens. */
async function findClosedPort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening));
  const { port } = server.address() as AddressInfo;
  await new Promise((closed) => server.close(closed));
  return port;
}
