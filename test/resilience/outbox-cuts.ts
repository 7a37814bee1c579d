/**
 * Power cuts of a machine with an agent: a run of a real agent with an outbox is recorded under strace, its
 * file is rebuilt as a cut would leave it, and the outbox opens it. The gateway of the run refuses to take
 * some outcomes: these must be there from the moment at which their report left the agent.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createOutbox } from '../../sdk/agent/outbox.ts';
import { CUTS, createDisk } from './disk.ts';
import { type Operation, readRecording, STRACE, STRACE_CALLS } from './recording.ts';

const SECRET = 'a-good-secret';
const AGENT = `
  import { runAgent } from '${new URL('../../sdk/agent/index.ts', import.meta.url).href}';
  const { URL: baseUrl, OUTBOX: outbox } = process.env;
  await runAgent(
    { baseUrl, auth: '${SECRET}', agentId: 'cut', tags: ['x'], maxConcurrent: 400, outbox, maxRetries: 0, handler: () => 'done' },
    { drainMs: 0, graceMs: 0 },
  );`;

/** Whether the gateway of the run takes the outcome of a task: not that of every third one. */
const isTaken = (request_id: string): boolean => Number(request_id.split('-')[1]) % 3 !== 0;

/** A gateway that has this many tasks for the agent. `whenReported` resolves once each was reported. */
async function serveTasks(count: number) {
  const reported = new Set<string>();
  let claimed = 0;
  let report = (): void => undefined;
  const whenReported = new Promise<void>((resolve) => {
    report = resolve;
  });
  const server = createServer(async (request, response) => {
    let text = '';
    for await (const chunk of request.setEncoding('utf8')) text += chunk;
    const { agent_id, request_id, status } = JSON.parse(text);
    const answer = (code: number, body: object | null): void =>
      void response
        .writeHead(code, { 'content-type': code < 400 ? 'application/json' : 'application/problem+json' })
        .end(body === null ? undefined : JSON.stringify(body));
    if (request.url?.endsWith('/claim')) {
      if (claimed === count) return;
      claimed += 1;
      answer(200, {
        request_id: `task-${claimed}-end`,
        task_type: 'x',
        task_tags: ['x'],
        payload: {},
        status: 'running',
        agent_id,
        cli_session_id: '',
        create_time: 1,
        timeout: 600,
        progress: 0,
        result: null,
        error_info: null,
      });
    } else if (request.url?.endsWith('/result')) {
      reported.add(request_id);
      if (isTaken(request_id)) answer(200, { ok: true, request_id, status, accepted: true });
      else
        answer(503, { type: 'about:blank', title: 'Busy', status: 503, code: 'busy', detail: 'Try again.' });
      if (reported.size === count) report();
    } else {
      answer(200, { ok: true, agent_id, state: 'ready', cancelled_request_ids: [] });
    }
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    whenReported,
    close() {
      server.closeAllConnections();
      server.close();
    },
  };
}

/** Runs an agent under strace until it has reported this many tasks. The recording is of its outbox alone. */
export async function recordOutbox(folder: string, count: number): Promise<readonly Operation[]> {
  const log = join(folder, 'operations.log');
  const data = join(folder, 'data');
  mkdirSync(data);
  const gateway = await serveTasks(count);
  const [program = '', ...words] = [...STRACE, STRACE_CALLS, '-o', log, process.execPath];
  const agent = spawn(program, [...words, '--input-type=module', '-e', AGENT], {
    env: {
      PATH: process.env.PATH,
      URL: gateway.url,
      OUTBOX: join(data, 'outbox'),
      TASK_GATEWAY_LOG: 'off',
    },
    stdio: 'inherit',
  });
  const exited = once(agent, 'exit');
  try {
    await Promise.race([gateway.whenReported, exited]);
    agent.kill('SIGKILL');
    await exited;
  } finally {
    gateway.close();
  }
  return readRecording(log, data);
}

/** Cuts after every this many operations, in all ways; stops at the first loss. */
export async function tryOutboxCuts(operations: readonly Operation[], every: number) {
  const folder = mkdtempSync(join(tmpdir(), 'task-gateway-outbox-cut-'));
  const disk = createDisk();
  const reported = new Set<string>();
  let tried = 0;
  try {
    for (const [at, operation] of operations.entries()) {
      disk.follow(operation);
      if (operation.kind === 'answer') {
        const [, request_id] = /"request_id":"(task-\d+-end)"/.exec(operation.text) ?? [];
        if (request_id !== undefined && operation.text.includes('"success"')) reported.add(request_id);
      }
      if (at % every !== 0 && operation.kind !== 'answer') continue;
      for (const how of CUTS) {
        tried += 1;
        disk.cut(how, folder, Math.random);
        const outbox = createOutbox(join(folder, 'outbox'), () => undefined);
        const kept = new Set((await outbox.open()).map(({ request_id }) => request_id));
        await outbox.close();
        const lost = [...reported].filter((id) => !isTaken(id) && !kept.has(id));
        if (lost.length > 0) {
          return { tried, reported, lost: lost.map((id) => `cut after operation ${at} (${how}): ${id}`) };
        }
      }
    }
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
  return { tried, reported, lost: [] };
}
