/**
 * Which files of the server a call executes, when the gateway is warm: a submission, a report, and a push
 * that is tried again. `npm run house` prints how many; nothing compares it. The store is in memory, so what
 * the writer's thread executes for a file is executed here.
 */
import { once } from 'node:events';
import { createServer } from 'node:http';
import { Session } from 'node:inspector/promises';
import type { AddressInfo } from 'node:net';
import { setImmediate as nextTick } from 'node:timers/promises';
import { composeGateway } from '../../server/compose.ts';
import { readConfig } from '../../server/config/config.ts';
import { post } from '../e2e/plain-calls.ts';
import { SILENT } from '../harness/silent-log.ts';
import type { Row } from './house-whole.ts';

const WARM_UPS = 20;
/** In so many the gateway, which is in this process, has dealt with the agent's response. */
const TICKS = 1_000;
const SECRET = 'a-secret-of-the-house';
const AGENT = { auth: SECRET, agent_id: 'A' };

/** The rows of the three calls. */
export async function measureExecuted(): Promise<readonly Row[]> {
  const agent = await startAgent();
  const read = readConfig({ STORE: 'memory:', PORT: '0', GATEWAY_AUTH: SECRET });
  if (!read.ok) throw new Error(read.mistakes.join('; '));
  const gateway = await composeGateway(read.config, SILENT);
  const url = `http://127.0.0.1:${gateway.address.port}`;
  const session = new Session();
  session.connect();
  await session.post('Profiler.enable');
  await session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: false });

  /** Executed since the last call of it. */
  const countExecuted = async (): Promise<number> => {
    const { result } = await session.post('Profiler.takePreciseCoverage');
    return result.filter(
      ({ url: file, functions }) =>
        /\/server\/[^?]*\.ts$/.test(file) && functions.some(({ ranges }) => (ranges[0]?.count ?? 0) > 0),
    ).length;
  };
  const submit = async (task_tags: readonly string[]): Promise<string> => {
    const body = { auth: SECRET, task_type: 't', task_tags, payload: { n: 1 }, queue_timeout: 60 };
    return String((await post(url, '/api/cli/tasks', body)).body.request_id);
  };
  const register = { ...AGENT, endpoint: agent.url, agent_tags: ['pushed'], max_concurrent: 50 };
  await post(url, '/api/agent/register', register);

  let submission = 0;
  let report = 0;
  let retriedPush = 0;
  for (let n = 0; n <= WARM_UPS; n += 1) {
    await countExecuted();
    await submit(['nobody']);
    submission = await countExecuted();
    agent.refuseNext();
    const request_id = await submit(['pushed']);
    await agent.refused();
    await countExecuted();
    await agent.taken();
    for (let ticks = 0; ticks < TICKS; ticks += 1) await nextTick();
    retriedPush = await countExecuted();
    await post(url, '/api/agent/result', { ...AGENT, request_id, status: 'success', result: { n } });
    report = await countExecuted();
  }
  session.disconnect();
  await gateway.stop();
  agent.stop();
  return [
    ['files that a submission executes', submission],
    ['files that a report executes', report],
    ['files that a retried push executes', retriedPush],
  ];
}

/** An agent that refuses a push when it is asked to, and takes every other. */
async function startAgent() {
  let isRefusing = false;
  let refused = Promise.withResolvers<void>();
  let taken = Promise.withResolvers<void>();
  const server = createServer((request, response) => {
    request.resume();
    request.on('end', () => {
      const isRefused = isRefusing;
      isRefusing = false;
      response.writeHead(isRefused ? 500 : 202).end();
      (isRefused ? refused : taken).resolve();
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/tasks`,
    refuseNext() {
      isRefusing = true;
      refused = Promise.withResolvers();
      taken = Promise.withResolvers();
    },
    refused: () => refused.promise,
    taken: () => taken.promise,
    stop: () => server.close(),
  };
}
