/**
 * The thread from which party B calls: one call every this many milliseconds, each on a kept connection. It
 * sends a message when it begins to measure, and then the sample.
 */
import { Agent, request } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { parentPort, workerData } from 'node:worker_threads';
import type { Call } from '../../contract/usual-calls.ts';

export type CallerOptions = {
  readonly baseUrl: string;
  readonly calls: readonly Call[];
  /** Statuses that count as success. */
  readonly statuses: readonly number[];
  readonly everyMs: number;
  readonly seconds: number;
  /** At most this many; a call that is due while all are taken waits. Default: any number. */
  readonly connections?: number;
};

export type Sample = {
  /** From the moment at which the call was due until its response was complete. */
  readonly tookMs: readonly number[];
  /** A status that is no success with its body, or an error. */
  readonly failures: readonly string[];
};

/** A call that has no response by then has failed. */
const GIVE_UP_MS = 30_000;

const options = workerData as CallerOptions;
const agent = new Agent({ keepAlive: true, maxSockets: options.connections ?? Number.POSITIVE_INFINITY });
parentPort?.postMessage(await callAtRate(options));
agent.destroy();

async function callAtRate({ calls, everyMs, seconds }: CallerOptions): Promise<Sample> {
  const tookMs: number[] = [];
  const failures: string[] = [];
  const underWay: Promise<void>[] = [];
  // This thread's own first calls compile what it calls with, and open a connection: not the gateway's time.
  for (const call of [...calls, ...calls]) {
    const failure = await callOnce(call);
    if (failure !== null) failures.push(failure);
  }
  parentPort?.postMessage('begun');
  const startMs = performance.now();
  for (let n = 0; n * everyMs < seconds * 1_000; n += 1) {
    const dueMs = startMs + n * everyMs;
    const waitMs = dueMs - performance.now();
    if (waitMs > 0) await sleep(waitMs);
    const call = calls[n % calls.length];
    if (!call) break;
    const done = callOnce(call).then((failure) => {
      tookMs.push(performance.now() - dueMs);
      if (failure !== null) failures.push(failure);
    });
    underWay.push(done);
  }
  await Promise.all(underWay);
  return { tookMs, failures };
}

/** Resolves with null after a success, else with what went wrong. */
function callOnce({ method, path, headers, body }: Call): Promise<string | null> {
  return new Promise((resolve) => {
    const signal = AbortSignal.timeout(GIVE_UP_MS);
    const sent = request(
      options.baseUrl + path,
      { method, headers: { ...headers }, agent, signal },
      (response) => {
        let text = '';
        response.setEncoding('utf8').on('data', (part: string) => {
          if (text.length < 300) text += part;
        });
        response.on('error', (error) => resolve(String(error)));
        response.on('end', () => {
          const status = response.statusCode ?? 0;
          resolve(options.statuses.includes(status) ? null : `${status} ${text.slice(0, 300)}`);
        });
      },
    );
    sent.on('error', (error) => resolve(String(error)));
    sent.end(body);
  });
}
