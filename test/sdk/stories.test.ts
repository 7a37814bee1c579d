/**
 * Runs, outputs and questions over a real gateway: an agent works, writes and asks, clients run its tasks,
 * read and answer, through pushes, a connection that is cut and a second start of the agent.
 */
import { aborted } from 'node:util';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Agent, type AgentOptions, createAgent, type Handler } from '../../sdk/agent/index.ts';
import { createClient, type OutputPiece, type Question, type TaskGatewayClient } from '../../sdk/index.ts';
import { type GatewayProcess, SECRET, startGateway } from '../harness/gateway-process.ts';
import { startTcpProxy, type TcpProxy } from '../harness/tcp-proxy.ts';
import { until } from './sdk-clock.ts';

const PUSH_SECRET = 'whsec_c2VjcmV0LW9mLXRoZS1wdXNoZXM=';
let proxy: TcpProxy;
/** Calls the gateway itself. */
let client: TaskGatewayClient;
let gateway: GatewayProcess;
const agents: Agent[] = [];

beforeAll(async () => {
  gateway = await startGateway({ PUSH_SECRET });
  proxy = await startTcpProxy(Number(new URL(gateway.baseUrl).port));
  client = createClient({ baseUrl: gateway.baseUrl, auth: SECRET });
});
afterAll(async () => {
  await Promise.all(agents.map((one) => one.stop({ drainMs: 0, graceMs: 0 })));
  await proxy?.close();
  await gateway?.stop();
});

/** How a client or an agent calls through the proxy. */
function throughProxy(): { readonly baseUrl: string; readonly auth: string } {
  return { baseUrl: `http://127.0.0.1:${proxy.port}`, auth: SECRET };
}

/** Starts an agent with one tag, its own name. */
async function startAgent(tag: string, handler: Handler, more: Partial<AgentOptions> = {}): Promise<Agent> {
  const own = { agentId: tag, tags: [tag], logLevel: 'off', handler } as const;
  const agent = createAgent({ baseUrl: gateway.baseUrl, auth: SECRET, ...own, ...more });
  agents.push(agent);
  await agent.start();
  return agent;
}

/** A submission for the agent with this tag. */
function taskOf(tag: string) {
  return { task_type: 't', task_tags: [tag], payload: {}, queue_timeout: 30 };
}

/** The pieces of an output, until its reader ends. */
async function readAll(request_id: string, options = {}): Promise<readonly OutputPiece[]> {
  const pieces: OutputPiece[] = [];
  for await (const piece of client.readOutput(request_id, options)) pieces.push(piece);
  return pieces;
}

const schema = {
  type: 'object',
  properties: { approve: { type: 'boolean' } },
  required: ['approve'],
} as const;

const deploy: Handler = async (_task, { write, ask }) => {
  await write('Ready. ');
  const answer = await ask('Deploy?', { schema });
  return JSON.stringify(answer);
};

test('Fifty runs at once are done by an agent that takes signed pushes.', async () => {
  await startAgent('pushed', ({ payload }) => ({ output: `${payload.n}` }), {
    maxConcurrent: 60,
    listen: {},
    pushSecret: PUSH_SECRET,
  });
  const numbers = Array.from({ length: 50 }, (_, n) => n);
  const runs = numbers.map((n) => client.runTask({ ...taskOf('pushed'), payload: { n } }));
  const outputs = (await Promise.all(runs)).map(({ result }) => result.output);
  expect(outputs).toEqual(numbers.map(String));
});

test('A run gets the output as it comes; readers behind it get the rest, and nothing behind the end.', async () => {
  const isHalf = Promise.withResolvers<void>();
  await startAgent('plain', async (_task, { write, progress }) => {
    await write('一 ');
    progress(50);
    await isHalf.promise;
    await write({ page: 2 });
    return 'done';
  });
  const got: OutputPiece[] = [];
  const { request_id } = await client.runTask(taskOf('plain'), {
    onOutput: (piece) => got.push(piece),
    onProgress: ({ progress }) => progress === 50 && isHalf.resolve(),
  });
  const end = { n: 3, end: true, status: 'success', outcome: 'success', missing: null };
  expect(got).toEqual([{ n: 1, text: '一 ' }, { n: 2, data: { page: 2 } }, end]);
  expect(await readAll(request_id)).toEqual(got);
  expect(await readAll(request_id, { after: 1 })).toEqual(got.slice(1));
  expect(await readAll(request_id, { after: 2, follow: false })).toEqual([end]);
  expect(await readAll(request_id, { after: 3 })).toEqual([]);
});

test('Data and a question that are refused end nothing: what follows is stored, data as deep as any.', async () => {
  const nest = (levels: number): object => JSON.parse('['.repeat(levels) + ']'.repeat(levels));
  const errors: unknown[] = [];
  await startAgent('deep', async (_task, { write, ask }) => {
    for (const refused of [ask('x'.repeat(70_000)), ask('x'.repeat(50_000)), write(nest(98))])
      await refused.catch(({ code }: { code?: string }) => errors.push(code));
    await write(nest(97));
    await write('behind');
  });
  const { request_id } = await client.submitTask(taskOf('deep'));
  const pieces = await readAll(request_id);
  expect(errors).toEqual(['invalid_option', 'validation_failed', 'invalid_option']);
  expect(pieces.slice(0, -1)).toEqual([
    { n: 1, data: nest(97) },
    { n: 2, text: 'behind' },
  ]);
});

test('close() ends a reader that waits, and its signal too.', async () => {
  const { request_id } = await client.submitTask(taskOf('nobody'));
  const ending = new AbortController();
  for (const signal of [undefined, ending.signal]) {
    const opened = Promise.withResolvers<void>();
    const watching = createClient({
      ...throughProxy(),
      async fetch(url, init) {
        const response = await fetch(url, init);
        opened.resolve();
        return response;
      },
    });
    const reading = watching.readOutput(request_id, { ...(signal && { signal }) });
    const read = (async () => {
      for await (const _piece of reading) throw new Error('There is no output.');
    })();
    await opened.promise;
    if (signal) ending.abort();
    else reading.close();
    if (signal) await expect(read).rejects.toMatchObject({ code: 'aborted' });
    else await read;
  }
  await client.cancelTask(request_id);
  expect(await readAll(request_id)).toMatchObject([{ n: 1, end: true, outcome: 'cancelled' }]);
});

test('A run answers what its agent asks, behind what was written, through a connection that is cut.', async () => {
  await startAgent('asks', deploy);
  const through = createClient(throughProxy());
  const asked: Question[] = [];
  const got: OutputPiece[] = [];
  const { request_id, result } = await through.runTask(taskOf('asks'), {
    onOutput: (piece) => got.push(piece),
    async onQuestion(question) {
      asked.push(question);
      const before = proxy.connections();
      await proxy.setFault('reset');
      await proxy.setFault(null);
      await until(() => proxy.connections() > before, 'the run connects again');
      return { approve: true };
    },
  });
  expect(result).toEqual({ output: '{"approve":true}' });
  const { key } = asked[0] ?? {};
  expect(asked).toEqual([{ key, prompt: 'Deploy?', schema }]);
  expect(got).toEqual([
    { n: 1, text: 'Ready. ' },
    { n: 2, question: asked[0] },
    { n: 3, answer: { key, answer: { approve: true } } },
    expect.objectContaining({ n: 4, end: true }),
  ]);
  expect(await readAll(request_id)).toEqual(got);
});

test('An agent started again after its question was answered asks again, gets the answer, and no caller is asked twice.', async () => {
  const starts: unknown[] = [];
  const handler: Handler = async (_task, { ask, signal }) => {
    const own = starts.push('asks');
    const answer = await ask('Deploy?', { schema });
    starts.push(answer);
    // The first one does not come to report.
    if (own === 1) await aborted(signal, signal);
    return 'deployed';
  };
  const first = await startAgent('killed', handler);
  const asked: string[] = [];
  const running = client.runTask(taskOf('killed'), {
    onQuestion({ key }) {
      asked.push(key);
      return { approve: true };
    },
  });
  await until(async () => starts.length === 2, 'the first process has the answer');
  // Another process of the same name, which knows nothing of the task.
  await startAgent('killed', handler);
  const { request_id, result } = await running;
  expect(result).toEqual({ output: 'deployed' });
  expect(starts).toEqual(['asks', { approve: true }, 'asks', { approve: true }]);
  expect(asked).toHaveLength(1);
  const pieces = await readAll(request_id);
  expect(pieces.map((piece) => Object.keys(piece).filter((name) => name !== 'n')[0])).toEqual([
    ...['question', 'answer', 'reset', 'question', 'answer', 'end'],
  ]);
  await first.stop({ drainMs: 0, graceMs: 0 });
});
