/**
 * The output of a task is read as its agent wrote it: no piece is lost, none twice, in order, to its end,
 * while the calls of the agent and the streams of the readers are cut at every class of byte boundary and the
 * gateway is killed and started again. `OUTPUT_TASKS` is the number of tasks, `OUTPUT_SEED` chooses the cuts.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { expect, test, vi } from 'vitest';
import { createAgent } from '../../sdk/agent/index.ts';
import { createClient, type OutputPiece, type TaskGatewayClient } from '../../sdk/index.ts';
import { type GatewayProcess, SECRET, startGateway } from '../harness/gateway-process.ts';
import { startCuttingProxy } from './cutting-proxy.ts';

const TASKS = Number(process.env.OUTPUT_TASKS ?? 24);
const SEED = Number(process.env.OUTPUT_SEED ?? Date.now() % 1_000_000);
const LINES = 150;
const KILLS = 2;

const lineOf = (task: number, line: number): string => `任务 ${task}, 第 ${line} 行\n`;

/** The texts of pieces, and data as the line that it stands for. */
function textOf(pieces: readonly OutputPiece[]): string {
  return pieces.map(({ text, data }) => text ?? (data as { line: string } | undefined)?.line ?? '').join('');
}

/** Starts an agent that writes its lines, each tenth as data, and waits as a handler should. */
async function startWriter(baseUrl: string) {
  const agent = createAgent({
    baseUrl,
    auth: SECRET,
    timeoutMs: 5_000,
    logLevel: 'off',
    lostAfterSeconds: null,
    agentId: 'writer',
    tags: ['write'],
    maxConcurrent: TASKS,
    async handler({ payload }, { write, progress }) {
      for (let line = 0; line < LINES; line += 1) {
        const text = lineOf(Number(payload.n), line);
        await write(line % 10 === 9 ? { line: text } : text);
        progress((100 * line) / LINES);
        await pause(5);
      }
      return `${LINES} lines`;
    },
  });
  await agent.start();
  return () => agent.stop({ drainMs: 0, graceMs: 0 });
}

/** Reads an output by `for await` until its loop ends. */
async function readWhole(client: TaskGatewayClient, request_id: string): Promise<readonly OutputPiece[]> {
  const pieces: OutputPiece[] = [];
  for await (const piece of client.readOutput(request_id)) pieces.push(piece);
  return pieces;
}

/** Runs a task; the pieces that the run got, and those that a reader beside it got. */
async function runTask(client: TaskGatewayClient, n: number, got: OutputPiece[]) {
  let reading: Promise<readonly OutputPiece[]> | undefined;
  const submission = {
    task_type: '写',
    task_tags: ['write'],
    payload: { n },
    timeout: 600,
    queue_timeout: 300,
  };
  const { result } = await client.runTask(submission, {
    onOutput: (piece) => got.push(piece),
    onProgress({ request_id }) {
      reading ??= readWhole(client, request_id);
    },
  });
  return { got, read: (await reading) ?? [], output: result.output };
}

test(`${TASKS} outputs are read whole, once and in order (seed ${SEED})`, { timeout: 300_000 }, async () => {
  const folder = mkdtempSync(join(tmpdir(), 'task-gateway-output-'));
  const settings = { STORE: `sqlite:${folder}/gateway.db` };
  let gateway: GatewayProcess = await startGateway(settings);
  const port = new URL(gateway.baseUrl).port;
  const writers = await startCuttingProxy(() => Number(port), SEED);
  const readers = await startCuttingProxy(() => Number(port), SEED + 1);
  const stopAgent = await startWriter(writers.url);
  const client = createClient({ baseUrl: readers.url, auth: SECRET, maxRetries: 12, timeoutMs: 10_000 });
  try {
    const all = Array.from({ length: TASKS }, (): OutputPiece[] => []);
    const runs = Promise.all(all.map((got, n) => runTask(client, n, got)));
    runs.catch(() => undefined);
    for (let kill = 0; kill < KILLS; kill += 1) {
      // A part of all output has been read.
      const part = ((kill + 1) / (KILLS + 2)) * TASKS * LINES;
      const countLines = () => textOf(all.flat()).split('\n').length;
      await vi.waitFor(() => expect(countLines()).toBeGreaterThan(part), { timeout: 120_000 });
      await gateway.kill();
      gateway = await startGateway({ ...settings, PORT: port });
    }
    const outcomes = await runs;
    const cuts = [writers, readers].map((one) =>
      [...one.cuts.values()].reduce((sum, count) => sum + count, 0),
    );
    console.info(`${TASKS} outputs, ${KILLS} kills, cuts of writers and readers: ${cuts} (seed ${SEED})`);
    for (const [n, { got, read, output }] of outcomes.entries()) {
      expect(output).toBe(`${LINES} lines`);
      for (const pieces of [got, read]) {
        expect(pieces.map((piece) => piece.n)).toEqual(pieces.map((_, index) => index + 1));
        expect(pieces.at(-1)).toMatchObject({ end: true, outcome: 'success', missing: null });
        expect(textOf(pieces)).toBe(Array.from({ length: LINES }, (_, line) => lineOf(n, line)).join(''));
      }
    }
    expect(Math.min(...cuts)).toBeGreaterThan(TASKS);
  } finally {
    await stopAgent();
    await Promise.all([writers.close(), readers.close()]);
    await gateway.stop();
    rmSync(folder, { recursive: true, force: true });
  }
});
