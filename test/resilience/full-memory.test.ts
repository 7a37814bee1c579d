/**
 * A heap of 256 MB filled to the brim with what a start loads before it serves: open tasks and agents, with
 * the longest tags or very many of them. What is beyond is refused, what ends is not, and after SIGKILL the
 * gateway is ready again in time.
 */
import { execFileSync } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { describe, expect, onTestFinished, test } from 'vitest';
import { completeAgent } from '../../server/domain/agent.ts';
import { createTaskState, type TaskInput } from '../../server/domain/task.ts';
import { openEmbeddedStore } from '../../server/engines/embedded/open.ts';
import { createAgentMemory } from '../../server/gateway/agents/ranking/agent-memory.ts';
import { agentRef, type Batch, type Store, taskRef } from '../../server/ports/store.ts';
import { createClock } from '../../server/system/clock.ts';
import type { readMemoryBudgets } from '../../server/system/memory-budgets.ts';
import { post } from '../e2e/plain-calls.ts';
import { submissionOf } from '../engines/store-under-test.ts';
import { printFigure } from '../harness/figures.ts';
import { useFolder } from '../harness/folder.ts';
import { type GatewayProcess, SECRET, startGateway } from '../harness/gateway-process.ts';
import { SILENT } from '../harness/silent-log.ts';
import { readCpuMs, readRssKiB } from './process-cost.ts';

const HEAP_OPTION = '--max-old-space-size=256';
/** The start of an empty store takes a third of a second, and a full one at most this many times as much. */
const EMPTY_STARTS_MAX = 15;
const HOUR_MS = 3_600_000;
const COMMITS_AT_ONCE = 100;

/** The tags of the n-th task or agent, none of which another one has. */
type Tags = (n: number) => readonly string[];

const LONGEST: Tags = (n) => Array.from({ length: 64 }, (_, tag) => `${n} ${tag} `.padEnd(256, '语'));
const MANY: Tags = (n) => Array.from({ length: 64 }, (_, tag) => `${n}-${tag}`);
const ONE: Tags = (n) => [`tag-${n % 100}`];

/** The budgets of a process with that heap. */
function readBudgets(): ReturnType<typeof readMemoryBudgets> {
  const read = 'import { readMemoryBudgets as read } from "./server/system/memory-budgets.ts";';
  const args = [HEAP_OPTION, '--input-type=module', '-e', `${read} console.log(JSON.stringify(read()))`];
  return JSON.parse(execFileSync(process.execPath, args, { encoding: 'utf8' }));
}

/** Commits what `build` returns for 0, 1, 2 … until that is null or a commit is refused; returns how many. */
async function commitEach(store: Store, build: (n: number) => Batch | null): Promise<number> {
  for (let n = 0; ; n += COMMITS_AT_ONCE) {
    const batches = Array.from({ length: COMMITS_AT_ONCE }, (_, more) => build(n + more));
    const results = await Promise.all(batches.map((batch) => batch && store.commit(batch)));
    const committed = results.filter((result) => result?.ok).length;
    if (committed < COMMITS_AT_ONCE) return n + committed;
  }
}

/** A task that waits for an hour for an agent with one of the tags. */
function buildTask(n: number, tags: Tags): Batch {
  const [createdMs, task_tags] = [Date.now(), tags(n)];
  const input: TaskInput = {
    request_id: randomUUID(),
    task_type: 'full',
    task_tags,
    payload: { n },
    cli_session_id: `session ${n}`,
    create_time: createdMs / 1_000,
    timeout: 3_600,
  };
  const deadlineMs = createdMs + HOUR_MS;
  const pending = createTaskState(input, { createdMs, deadlineMs, queueEndMs: deadlineMs }, 16);
  const { request_id } = input;
  const due = [{ ref: taskRef(request_id), atMs: deadlineMs }];
  return submissionOf(input, { ...pending, waiting: true }, { due, atMost: { openTasks: 100_000 } });
}

/** Fills the store with agents and tasks, as far as the budgets admit. */
async function fill(file: string, agentTags: Tags, taskTags: Tags): Promise<void> {
  const { openBytesMax, agentBytesMax } = readBudgets();
  const clock = createClock();
  const store = await openEmbeddedStore({ storage: `sqlite:${file}`, clock, log: SILENT, openBytesMax });
  const memory = createAgentMemory();
  const agents = await commitEach(store, (n) => {
    const agent_id = `agent-${n}`;
    const record = completeAgent({
      agent_id,
      endpoint: 'pull',
      agent_tags: agentTags(n).map((tag) => `agents ${tag}`.slice(0, 256)),
      max_concurrent: 1,
      external: 0,
      registration: `r ${n}`,
      registeredMs: Date.now(),
      draining: false,
      offlineMs: null,
      left: false,
      unregisteredMs: null,
      lostAfterMs: null,
    });
    if (n >= 20_000 || memory.bytes() + memory.estimateMore(record, undefined) > agentBytesMax) return null;
    memory.hold(record);
    const due = [{ ref: agentRef(agent_id), atMs: Date.now() }];
    return { writes: [{ kind: 'agent', id: agent_id, expect: 'absent', value: record }], due };
  });
  const tasks = await commitEach(store, (n) => buildTask(n, taskTags));
  await store.close();
  printFigure('full-memory:agents', agents, 'agents');
  printFigure('full-memory:tasks', tasks, 'tasks');
}

/** Starts the gateway on the file; resolves when it is ready. */
async function start(file: string): Promise<GatewayProcess & { readonly cpuMs: number }> {
  const beganMs = performance.now();
  const gateway = await startGateway({ STORE: `sqlite:${file}`, NODE_OPTIONS: HEAP_OPTION });
  onTestFinished(async () => void (await gateway.stop()));
  await expect
    .poll(async () => (await fetch(`${gateway.baseUrl}/readyz`)).status, { timeout: 60_000 })
    .toBe(200);
  const cpuMs = readCpuMs(gateway.pid);
  printFigure('full-memory:ready', performance.now() - beganMs, 'ms');
  printFigure('full-memory:cpu', cpuMs, 'ms');
  printFigure('full-memory:rss', readRssKiB(gateway.pid) / 1_024, 'MiB');
  return Object.assign(gateway, { cpuMs });
}

const submitOne = (url: string, task_tags: readonly string[]): ReturnType<typeof post> =>
  post(url, '/api/cli/tasks', {
    auth: SECRET,
    task_type: 'full',
    task_tags,
    payload: {},
    timeout: 3_600,
    queue_timeout: 3_600,
  });

describe('a heap of 256 MB that is filled to the brim', () => {
  test.each([
    ['the longest tags', LONGEST, LONGEST],
    ['many short tags', MANY, MANY],
    ['small tasks and agents', ONE, ONE],
  ])(
    'with %s is refused more, and is ready again after a kill',
    async (_name, agentTags, taskTags) => {
      const file = `${useFolder()}/tasks.sqlite`;
      await fill(file, agentTags, taskTags);
      const empty = await start(`${useFolder()}/tasks.sqlite`);
      await empty.kill();
      const first = await start(file);
      const submitted: string[] = [];
      await expect
        .poll(
          async () => {
            const { status, body } = await submitOne(first.baseUrl, taskTags(1e6 + submitted.length));
            submitted.push(String(body.request_id));
            return { status, detail: String(body.detail) };
          },
          { timeout: 60_000, interval: 0 },
        )
        .toEqual({ status: 503, detail: expect.stringContaining('take all the memory they may') });
      await first.kill();

      const second = await start(file);
      // Other work on the machine makes a start wait, and may make it take more: the least counts.
      expect(Math.min(first.cpuMs, second.cpuMs)).toBeLessThan(empty.cpuMs * EMPTY_STARTS_MAX);
      const agent = { auth: SECRET, agent_id: 'one more', endpoint: 'pull', agent_tags: LONGEST(-1) };
      const register = async () => (await post(second.baseUrl, '/api/agent/register', agent)).body.code;
      // On a busy machine the store may be said to be slow at first.
      await expect.poll(register).toBe('busy');
      expect((await submitOne(second.baseUrl, LONGEST(-2))).status).toBe(503);
      // What frees is never refused, and makes space for another.
      const beat = await post(second.baseUrl, '/api/agent/heartbeat', { auth: SECRET, agent_id: 'agent-0' });
      expect(beat.status).toBe(200);
      const ended = submitted.filter((id) => id !== 'undefined');
      for (const id of ended) {
        const cancelled = await post(second.baseUrl, `/api/cli/tasks/${id}/cancel?auth=${SECRET}`, undefined);
        expect(cancelled.status).toBe(200);
      }
      const { status } = await submitOne(second.baseUrl, taskTags(2e6));
      expect(status).toBe(ended.length > 0 ? 200 : 503);
    },
    600_000,
  );
});
