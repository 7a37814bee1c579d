/**
 * The gateway that the design of the console shows, as a real process: agents of several tags on an HTTP
 * server of their own, one that does not take its pushes, a full one, one that is draining and one that is
 * gone; tasks that wait, run and have ended in each way.
 */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import {
  type AgentId,
  createClient,
  type RequestId,
  type SessionId,
  type Task,
  type TaskGatewayClient,
  type TaskReport,
  type TaskSubmission,
} from '../../sdk/index.ts';
import { ADMIN_SECRET, type GatewayProcess, SECRET, startGateway } from '../harness/gateway-process.ts';

/** What an agent's endpoint does with a push: it takes it, is busy, is gone, or nothing listens there. */
type Endpoint = 'takes' | 'busy' | 'gone' | 'refuses';

type SceneAgent = {
  readonly agent_id: string;
  readonly tags: readonly string[];
  readonly slots: number;
  /** How many of its tasks run, and its load from elsewhere. */
  readonly running?: number;
  readonly load?: number;
  readonly does?: Endpoint;
  readonly isDraining?: boolean;
  /** What a task of it is. */
  readonly work?: Work;
};

type Work = Pick<TaskSubmission, 'task_type' | 'payload'>;

const ECHO: Work = { task_type: 'echo', payload: { text: 'are you there? 👋🏽' } };
const TRAIN: Work = { task_type: 'lora.train', payload: { dataset: 'product-shots-v13', epochs: 4 } };
const PICTURE: Work = {
  task_type: 'image.generate',
  payload: { prompt: 'a lighthouse at dusk, 35 mm, film grain', steps: 30 },
};
const VIDEO: Work = {
  task_type: '视频转码',
  payload: { input: 's3://media/发布会-第二场.mov', codec: 'av1', crf: 28, scale: [1920, 1080] },
};
const TRANSLATE: Work = {
  task_type: 'translate',
  payload: { text: '请把第三季度报告翻译成英文，保留表格和脚注 🌙', to: 'en' },
};

const FAILING = 'render-worker-eu-central-1b-7f9c4d6b58-x2kqz';

/** In the order in which they register, so that each gets the tasks that are meant for it. */
const AGENTS: readonly SceneAgent[] = [
  { agent_id: 'gpu-node-old-rack-2', tags: ['a100-80g'], slots: 2, running: 1, does: 'gone', work: TRAIN },
  { agent_id: 'gpu-node-a', tags: ['gpu', 'cuda12', 'a100-80g'], slots: 4, running: 4, work: PICTURE },
  { agent_id: 'gpu-node-b', tags: ['gpu', 'cuda12'], slots: 4, running: 3, work: PICTURE },
  {
    agent_id: 'render-worker-eu-central-1c-7f9c4d6b58-m8v4t',
    tags: ['render', '视频转码'],
    slots: 4,
    running: 4,
    work: VIDEO,
  },
  {
    agent_id: FAILING,
    tags: ['render', '视频转码'],
    slots: 6,
    running: 2,
    does: 'refuses',
    work: VIDEO,
  },
  {
    agent_id: 'translator-上海-01',
    tags: ['translate', 'zh', 'ocr'],
    slots: 16,
    running: 12,
    work: TRANSLATE,
  },
  { agent_id: 'embedder', tags: ['embed'], slots: 8, running: 4, load: 2 },
  { agent_id: 'browser-pool-3', tags: ['browser'], slots: 6, running: 1, does: 'busy' },
  { agent_id: 'canary-🧪', tags: ['echo', 'canary'], slots: 1 },
];
const DRAINING: SceneAgent = {
  agent_id: 'gpu-node-c',
  tags: ['gpu', 'a100-80g'],
  slots: 4,
  isDraining: true,
};

export const SCENE_SESSION = 'nightly-构建-🌙';

/** Ids of tasks that the pages are tried with. */
type SceneTasks = {
  /** It found no agent. */
  readonly unassigned: string;
  /** It has succeeded. */
  readonly succeeded: string;
  /** It runs. */
  readonly running: string;
};

export type Scene = {
  readonly gateway: GatewayProcess;
  readonly client: TaskGatewayClient;
  readonly tasks: SceneTasks;
  /** The agent that does not take its pushes. */
  readonly failingAgent: string;
  stop(): Promise<void>;
};

/** Starts it. */
export async function startScene(): Promise<Scene> {
  const endpoints = await startEndpoints();
  const gateway = await startGateway();
  const client = createClient({ baseUrl: gateway.baseUrl, auth: SECRET, adminAuth: ADMIN_SECRET });
  const held = new Map<SceneAgent, readonly string[]>();
  const tasks = await fillScene(client, endpoints.url, held);
  // Those that send none would be offline after 90 s.
  const heartbeats = setInterval(() => {
    for (const [agent, ids] of held) heartbeat(client, agent, ids).catch(() => undefined);
  }, 10_000);
  return {
    gateway,
    client,
    tasks,
    failingAgent: FAILING,
    async stop() {
      clearInterval(heartbeats);
      await gateway.stop();
      await endpoints.stop();
    },
  };
}

const STATUS: Readonly<Record<Endpoint, number>> = { takes: 202, busy: 503, gone: 410, refuses: 0 };

/** The endpoints of all agents: the path says what becomes of a push. */
async function startEndpoints() {
  const server = createServer((incoming, outgoing) => {
    incoming.resume().on('end', () => {
      const status = STATUS[(incoming.url?.slice(1) ?? '') as Endpoint];
      outgoing.writeHead(status, { 'content-type': 'application/json' }).end('{}');
    });
  });
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening));
  const { port } = server.address() as AddressInfo;
  return {
    // Nothing listens at port 9.
    url: (does: Endpoint) =>
      does === 'refuses' ? 'http://127.0.0.1:9/tasks' : `http://127.0.0.1:${port}/${does}`,
    async stop() {
      server.closeAllConnections();
      await new Promise((closed) => server.close(closed));
    },
  };
}

/** Registers the agents one after the other, each with its tasks, and then submits what finds none. */
async function fillScene(
  client: TaskGatewayClient,
  url: (does: Endpoint) => string,
  tasksOf: Map<SceneAgent, readonly string[]>,
): Promise<SceneTasks> {
  const submit = createSubmit(client);
  let running = '';
  let succeeded = '';
  for (const agent of [...AGENTS, DRAINING]) {
    await register(client, agent, url);
    const held: string[] = [];
    for (let count = 0; count < (agent.running ?? 0); count += 1) {
      const { request_id } = await submit({ ...(agent.work ?? ECHO), task_tags: [...agent.tags] });
      held.push(request_id);
    }
    // Those that take no push have nothing.
    const taken = agent.does === undefined ? held : [];
    if (agent.does !== 'gone') tasksOf.set(agent, taken);
    if (taken.length > 0 || agent.isDraining) await heartbeat(client, agent, taken);
    if (agent.agent_id === 'translator-上海-01') {
      running = held[0] ?? '';
      succeeded = await endSome(client, agent, held);
    }
  }
  await submitUnassigned(submit, 11);
  const unassigned = await submitUnassigned(submit, 1);
  await submitWaiting(submit);
  return { unassigned, succeeded, running };
}

type Submit = (submission: Partial<TaskSubmission> & { readonly task_tags: string[] }) => Promise<Task>;

function createSubmit(client: TaskGatewayClient): Submit {
  return (submission) =>
    client.submitTask({
      ...ECHO,
      cli_session_id: SCENE_SESSION as SessionId,
      timeout: 600,
      ...submission,
    });
}

async function register(client: TaskGatewayClient, agent: SceneAgent, url: (does: Endpoint) => string) {
  const { agent_id, tags, slots, load = 0, does = 'takes' } = agent;
  const endpoint = agent_id === 'canary-🧪' ? 'pull' : url(does);
  const id = agent_id as AgentId;
  await client.registerAgent({
    agent_id: id,
    agent_tags: tags,
    max_concurrent: slots,
    endpoint,
    current_load: load,
  });
}

/** The agent holds these tasks, and has its load from elsewhere beside them. */
async function heartbeat(client: TaskGatewayClient, agent: SceneAgent, request_ids: readonly string[]) {
  const { agent_id, load = 0, isDraining = false } = agent;
  await client.heartbeatAgent({
    agent_id: agent_id as AgentId,
    request_ids: request_ids as RequestId[],
    current_load: request_ids.length + load,
    draining: isDraining,
  });
}

/** Ends the last tasks of an agent in several ways, and reports progress of the first ones. */
async function endSome(client: TaskGatewayClient, { agent_id }: SceneAgent, held: readonly string[]) {
  const report = (index: number, rest: Partial<TaskReport>): Promise<unknown> =>
    client.reportResult({
      agent_id: agent_id as AgentId,
      request_id: (held.at(index) ?? '') as RequestId,
      status: 'running',
      progress: 100,
      ...rest,
    } as TaskReport);
  await report(0, { progress: 35 });
  await report(1, { progress: 80 });
  const result = { reply: '收到，开始翻译', output: OUTPUT, warnings: ['No glossary'], seconds: 2.1 };
  await report(-1, { progress: 60 });
  await report(-1, { status: 'success', result });
  await report(-2, { status: 'success', result });
  await report(-3, { status: 'failed', error_info: 'target language "ja" is not loaded' });
  await report(-4, { status: 'failed', error_info: 'out of memory: 4096 texts at once' });
  await client.cancelTask((held.at(-5) ?? '') as RequestId);
  return held.at(-1) ?? '';
}

const OUTPUT =
  'Please translate the third-quarter report into English and keep its tables and footnotes. '.repeat(4);

async function submitUnassigned(submit: Submit, count: number): Promise<string> {
  let last = '';
  for (let one = 0; one < count; one += 1) {
    last = (await submit({ ...TRAIN, task_tags: ['gpu2', 'cuda13'] })).request_id;
  }
  return last;
}

/** What waits, the oldest first: on a tag without an agent and on agents that are full. */
async function submitWaiting(submit: Submit): Promise<void> {
  const wait = { queue_timeout: 600 };
  await submit({ ...TRAIN, ...wait, task_tags: ['gpu2', 'cuda13'] });
  await submit({ ...PICTURE, ...wait, task_tags: ['gpu2'] });
  await submit({ ...PICTURE, ...wait, task_tags: ['gpu2'] });
  await submit({ ...TRAIN, ...wait, task_tags: ['a100-80g'] });
  await submit({ ...TRAIN, ...wait, task_tags: ['a100-80g'] });
}
