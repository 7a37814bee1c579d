/**
 * The examples that stand between a gateway and something else: a server for pages, a route handler, an agent
 * around a language model (a stand-in for it), and the client and the agent in Python.
 */
import { once } from 'node:events';
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { createAgent } from '../../sdk/agent/index.ts';
import { createClient, type TaskGatewayClient } from '../../sdk/index.ts';
import { useFolder } from '../harness/folder.ts';
import { ADMIN_SECRET, type GatewayProcess, SECRET, startGateway } from '../harness/gateway-process.ts';
import { PYTHON_ENV } from '../harness/python-tools.ts';
import { startTcpProxy } from '../harness/tcp-proxy.ts';
import { EXAMPLES, type Example, startExample, startProgram, stop } from './example-process.ts';
import { until } from './sdk-clock.ts';

let gateway: GatewayProcess;
let client: TaskGatewayClient;
let env: Record<string, string>;

beforeAll(async () => {
  gateway = await startGateway();
  client = createClient({ baseUrl: gateway.baseUrl, auth: SECRET, adminAuth: ADMIN_SECRET });
  env = { TASK_GATEWAY_URL: gateway.baseUrl, TASK_GATEWAY_AUTH: SECRET, PORT: '0' };
});

afterAll(async () => void (await gateway?.stop()));

/** An agent for the tag of the examples; a task with the text "slow" lasts until its signal fires. */
async function startShouting(): Promise<void> {
  const agent = createAgent<{ text: string }>({
    baseUrl: gateway.baseUrl,
    auth: SECRET,
    tags: ['shout'],
    maxConcurrent: 5,
    logLevel: 'off',
    async handler({ payload }, { signal, progress }) {
      progress(50);
      if (payload.text === 'broken') throw new Error('It is broken.');
      if (payload.text === 'slow') await once(signal, 'abort');
      return payload.text.toUpperCase();
    },
  });
  await agent.start();
  onTestFinished(() => agent.stop({ drainMs: 0 }));
}

/** The tasks that have ended, the newest first. */
const outcomes = async () => (await client.listTasks()).tasks.map(({ outcome }) => outcome);

describe('route.ts', () => {
  /** What a framework does: it makes a Request of each request, whose signal fires when the caller leaves. */
  const FRAMEWORK = `import { createServer } from 'node:http';
    import { POST } from ${JSON.stringify(join(EXAMPLES, 'route.ts'))};
    const server = createServer(async (request, response) => {
      const leaving = new AbortController();
      response.once('close', () => leaving.abort());
      const body = (await request.toArray()).join('');
      const { status, ...answer } = await POST(
        new Request('http://page.test', { method: 'POST', body, signal: leaving.signal }),
      ).then(async (one) => ({ status: one.status, text: await one.text() }));
      console.error('responded with', status);
      response.writeHead(status).end(answer.text);
    });
    server.listen(0, '127.0.0.1', () => console.log('http://127.0.0.1:' + server.address().port));`;

  async function startFramework() {
    const options = ['--conditions=task-gateway-source', '--input-type=module', '-e', FRAMEWORK];
    const { output } = startProgram(process.execPath, options, env);
    await until(() => output.out.includes('http://'), `it listens: ${output.error}`);
    const post = (body: string, signal: AbortSignal | null = null): Promise<Response> =>
      fetch(output.out.trim(), { method: 'POST', body, signal });
    return { output, post };
  }

  test('responds with the result, or says what is wrong', async () => {
    await startShouting();
    const { post } = await startFramework();
    const good = await post('{"text":"hi"}');
    expect([good.status, await good.json()]).toEqual([200, { output: 'HI' }]);
    const failed = await post('{"text":"broken"}');
    expect([failed.status, await failed.json()]).toEqual([
      502,
      { code: 'task_failed', message: 'It is broken.' },
    ]);
    for (const wrong of ['', '7', '{"text":7}']) expect((await post(wrong)).status).toBe(400);
  });

  test('cancels the task when its caller goes away', async () => {
    await startShouting();
    const leaving = new AbortController();
    const { output, post } = await startFramework();
    const response = post('{"text":"slow"}', leaving.signal).catch((error: Error) => error.name);
    await until(async () => (await client.listTasks({ status: ['running'] })).tasks.length === 1, 'it runs');
    leaving.abort();
    expect(await response).toBe('AbortError');
    await until(() => output.error.includes('responded with 499'), 'the run ends');
    await until(async () => (await outcomes())[0] === 'cancelled', 'the task is cancelled');
  });
});

describe('llm-agent.ts', () => {
  /** A stand-in for a model: it says the prompt back, word by word, and hangs at the word "forever". */
  async function startModel() {
    const seen = { closed: 0, bodies: [] as string[], keys: [] as unknown[] };
    const say = async (response: ServerResponse, prompt: string): Promise<void> => {
      for (const word of prompt.split(/(?<= )/)) {
        const delta = { choices: [{ delta: { content: word } }] };
        response.write(`data: ${JSON.stringify(delta)}\n\n`);
        if (word === 'forever') return;
      }
      response.end('data: [DONE]\n\n');
    };
    const server = createServer(async (request, response) => {
      const text = (await request.toArray()).join('');
      const { messages, stream } = JSON.parse(text);
      seen.bodies.push(text);
      seen.keys.push(request.headers.authorization);
      response.once('close', () => (seen.closed += Number(!response.writableFinished)));
      if (messages[0].content === 'too much') response.writeHead(429).end('slow down');
      else if (stream)
        await say(response.writeHead(200, { 'content-type': 'text/event-stream' }), messages[0].content);
    });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    onTestFinished(() => void server.close());
    const llm = {
      LLM_URL: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`,
      LLM_MODEL: 'm-1',
    };
    const { output } = startExample('llm-agent.ts', [], { ...env, ...llm, LLM_KEY: 'the-key' });
    await until(() => output.error.includes('ready'), `the agent registers: ${output.error}`);
    return seen;
  }
  const ask = (prompt: string, timeout = 60) =>
    client.runTask({ task_type: 'ask', task_tags: ['llm'], payload: { prompt }, timeout });

  test('returns what the model says, the first sentence as the reply, and fails with what its server says', async () => {
    const seen = await startModel();
    expect((await ask('All is well. Good bye.')).result).toEqual({
      reply: 'All is well.',
      output: 'All is well. Good bye.',
      model: 'm-1',
    });
    expect(seen.keys).toEqual(['Bearer the-key']);
    await expect(ask('too much')).rejects.toThrow('The model responded with 429: slow down');
  });

  test('stops the model when the time of the task is over', async () => {
    const seen = await startModel();
    await expect(ask('This goes on forever', 1)).rejects.toMatchObject({ code: 'task_timeout' });
    await until(() => seen.closed === 1, 'the model is stopped');
  });
});

describe('the programs in Python', { tags: 'python-tools' }, () => {
  /** Starts a program for the gateway, or for this address of it. */
  const startPython = (file: string, url = gateway.baseUrl, ...args: readonly string[]): Example =>
    startProgram('python3', [join(EXAMPLES, 'python', file), ...args], {
      ...env,
      ...PYTHON_ENV,
      OUTBOX: join(useFolder(), 'outbox'),
      TASK_GATEWAY_URL: url,
    });
  async function startAgent(): Promise<Example> {
    const agent = startPython('agent.py');
    await until(() => agent.output.error.includes('ready'), `it registers: ${agent.output.error}`);
    return agent;
  }

  test('client.py and agent.py do a task together, and the agent leaves when it is stopped', async () => {
    const agent = await startAgent();
    const asking = startPython('client.py', undefined, 'shout', 'grüße');
    const [code] = await once(asking.child, 'close');
    expect({ code, ...asking.output }).toMatchObject({ code: 0, out: 'GRÜSSE!\n' });
    expect({ code: await stop(agent.child), ...agent.output }).toEqual({
      code: 0,
      out: '',
      error: expect.stringMatching(
        /^ready: agent python-1 [^\n]*\nstopped: agent python-1 is unregistered\n$/,
      ),
    });
    expect((await client.listAgents()).agents).toEqual([]);
  });

  test('agent.py reports what fails, and ends the task that it has before it obeys SIGTERM', async () => {
    const agent = await startAgent();
    const shout = (payload: object) => ({ task_type: 'x', task_tags: ['shout'], payload, queue_timeout: 10 });
    await expect(client.runTask(shout({}))).rejects.toThrow("KeyError: 'text'");
    expect(agent.output.error).toMatch(/^task \S+ \(x\) failed: KeyError\('text'\)\nTraceback/m);
    const { request_id } = await client.submitTask(shout({ text: 'a'.repeat(50) }));
    // A task is `running` before its agent has heard of it: one that is stopped then gives it back.
    await until(async () => (await client.explainTask(request_id)).acknowledged, 'the agent works on it');
    expect(await stop(agent.child)).toBe(0);
    expect(await client.getTask(request_id)).toMatchObject({ status: 'success' });
  });

  test('agent.py says once that there is no gateway, once that it is back, and is stopped meanwhile', async () => {
    const proxy = await startTcpProxy(Number(new URL(gateway.baseUrl).port));
    onTestFinished(() => proxy.close());
    const url = `http://127.0.0.1:${proxy.port}`;
    await proxy.setFault('refuse');
    const { child, output } = startPython('agent.py', url);
    await until(() => output.error.includes('\n'), 'it says that there is no gateway');
    await proxy.setFault(null);
    await until(() => output.error.includes('ready'), 'it registers');
    expect(output.error.split('\n')).toEqual([
      expect.stringContaining(`No response from the gateway at ${url} (All connection attempts failed)`),
      expect.stringMatching(/^ready: /),
      '',
    ]);
    await proxy.setFault('refuse');
    expect(await stop(child)).toBe(0);
    expect(output.error).toMatch(/stopped, but the gateway may still have agent python-1: [^\n]*\n$/);
    const lonely = startPython('agent.py', url);
    await until(() => lonely.output.error.includes('keeps trying'), 'it says that there is no gateway');
    expect(await stop(lonely.child)).toBe(0);
  });

  test('client.py cancels its task at Ctrl-C, and says why one failed', async () => {
    const waiting = startPython('client.py', undefined, 'nobody');
    await until(() => waiting.output.error.includes('pending'), 'it shows how the task stands');
    waiting.child.kill('SIGINT');
    const [code] = await once(waiting.child, 'close');
    expect({ code, error: waiting.output.error }).toMatchObject({
      code: 1,
      error: expect.stringMatching(/\ncancelled\n$/),
    });
    expect((await client.listTasks()).tasks[0]).toMatchObject({
      task_tags: ['nobody'],
      outcome: 'cancelled',
    });
    const refused = startProgram('python3', [join(EXAMPLES, 'python/client.py')], {
      ...env,
      ...PYTHON_ENV,
      TASK_GATEWAY_AUTH: 'wrong',
    });
    await once(refused.child, 'close');
    expect(refused.output.error).toMatch(/^unauthorized: 401 /);
  });
});
