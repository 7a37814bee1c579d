/** The example of a server whose pages follow their tasks: reloads, questions, a wanted cancel. */
import { aborted } from 'node:util';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { createAgent, type Handler } from '../../sdk/agent/index.ts';
import { createClient, type TaskGatewayClient } from '../../sdk/index.ts';
import { type GatewayProcess, SECRET, startGateway } from '../harness/gateway-process.ts';
import { startExample } from './example-process.ts';
import { until } from './sdk-clock.ts';

let gateway: GatewayProcess;
let client: TaskGatewayClient;
let env: Record<string, string>;

beforeAll(async () => {
  gateway = await startGateway();
  client = createClient({ baseUrl: gateway.baseUrl, auth: SECRET });
  env = { TASK_GATEWAY_URL: gateway.baseUrl, TASK_GATEWAY_AUTH: SECRET, PORT: '0' };
});

afterAll(async () => void (await gateway?.stop()));

describe('fastify-live.ts', () => {
  async function startWorker(handler: Handler): Promise<void> {
    const { baseUrl } = gateway;
    const agent = createAgent({ baseUrl, auth: SECRET, tags: ['shout'], logLevel: 'off', handler });
    await agent.start();
    onTestFinished(() => agent.stop({ drainMs: 0 }));
  }

  async function startServer() {
    const { output } = startExample('fastify-live.ts', [], env);
    await until(() => output.out.includes('http://'), `the server listens: ${output.error}`);
    const url = output.out.trim();
    const send = async (path: string, method: string, body?: object) => {
      const headers = body && { 'content-type': 'application/json' };
      const sent = body && { body: JSON.stringify(body) };
      const response = await fetch(url + path, { method, ...(headers && { headers }), ...sent });
      return (await response.json()) as { request_id: string };
    };
    /**
     * Reads the events of a page until one of them is the last that it waits for, or the stream ends. If the
     * page has an answer, it gives it when it is asked.
     */
    async function load(request_id: string, lastName = '', lastId?: string, answer?: string) {
      let left = answer;
      const leaving = new AbortController();
      const response = await fetch(`${url}/tasks/${request_id}/live`, {
        signal: leaving.signal,
        headers: lastId === undefined ? {} : { 'last-event-id': lastId },
      });
      let text = '';
      for await (const chunk of response.body?.pipeThrough(new TextDecoderStream()) ?? []) {
        text += chunk;
        if (left !== undefined && text.includes('event: question\n')) {
          await send(`/tasks/${request_id}/answer`, 'POST', { key: 'word', answer: left });
          left = undefined;
        }
        if (lastName && text.includes(`event: ${lastName}\n`) && text.endsWith('\n\n')) break;
      }
      leaving.abort();
      const events = text.split('\n\n').filter((one) => one !== '');
      const read = events.map((one) => ({
        name: /^event: (.*)$/m.exec(one)?.[1],
        data: JSON.parse(/^data: (.*)$/m.exec(one)?.[1] ?? 'null'),
      }));
      const wordsOf = read.filter(({ name }) => name === 'words').map(({ data }) => data);
      return { status: response.status, names: read.map(({ name }) => name), words: wordsOf.join(''), read };
    }
    return { url, send, load };
  }

  test('shows a page that is loaded again each word once, in order, and the open question again', async () => {
    await startWorker(async (_task, { write, ask }) => {
      await write('one ');
      // A piece of its own between the two: texts are joined.
      await write({ half: true });
      await write('two ');
      const answer = await ask<string>('Which word?', { key: 'word' });
      await write(answer);
      return 'three words';
    });
    const { url, send, load } = await startServer();
    expect(await (await fetch(url)).text()).toContain('new EventSource(');
    const { request_id } = await send('/tasks', 'POST', { text: 'hello' });
    const before = await load(request_id, 'question');
    expect(before.words).toBe('one two ');
    // Loaded again, as a new page and as an EventSource whose connection broke behind the first word.
    expect((await load(request_id, 'question')).words).toBe('one two ');
    const cut = await load(request_id, 'question', '1');
    expect(cut.words).toBe('two ');
    expect(cut.read.find(({ name }) => name === 'question')?.data).toEqual({
      key: 'word',
      prompt: 'Which word?',
    });
    // No page that left has cancelled anything.
    expect((await client.getTask(request_id)).status).toBe('running');
    const { words, names, read } = await load(request_id, '', undefined, 'three');
    expect(words).toBe('one two three');
    expect(names).toContain('answered');
    expect(read.at(-1)).toEqual({ name: 'done', data: { output: 'three words' } });
    expect((await load(request_id, '', 'end')).status).toBe(204);
  });

  test('says why a task failed, and cancels one only when asked to', async () => {
    await startWorker(async ({ payload }, { signal }) => {
      if (payload.text === 'broken') throw new Error('It is broken.');
      return await aborted(signal, signal).then(() => '');
    });
    const { send, load } = await startServer();
    const broken = await send('/tasks', 'POST', { text: 'broken' });
    expect((await load(broken.request_id)).read.at(-1)).toMatchObject({
      name: 'failed',
      data: { code: 'task_failed', message: expect.stringMatching(/^Task \S+ failed: It is broken\.$/) },
    });
    const slow = await send('/tasks', 'POST', { text: 'slow' });
    await load(slow.request_id, 'progress');
    await send(`/tasks/${slow.request_id}`, 'DELETE');
    expect((await load(slow.request_id)).read.at(-1)?.data.code).toBe('task_cancelled');
  });
});
