/**
 * Abort means now: wherever a run, a submission or a subscription waits, its signal rejects it without any
 * time passing, nothing stays open, and what may have been submitted is cancelled, or can be found.
 *
 * The points at which the SDK waits for something are counted: a secret, a response's head, its body, a
 * pause.
 */
import { describe, expect, test } from 'vitest';
import type * as sdk from '../../sdk/index.ts';
import { createClient } from '../../sdk/index.ts';
import { flushMicrotasks } from '../harness/fake-clock.ts';
import { createGateway, submission } from './run-gateway.ts';
import { json } from './scripted-fetch.ts';
import { doneFrame, problem } from './scripted-server.ts';
import { elapse } from './sdk-clock.ts';

type Gateway = ReturnType<typeof createGateway>;
type Waiting = (client: sdk.TaskGatewayClient, signal: AbortSignal) => Promise<unknown>;

/** A piece of work with a signal, at a gateway that lets it come to its end. */
type Scenario = {
  readonly title: string;
  /** At how many points it waits, at least. */
  readonly points: number;
  readonly prepare: (gateway: Gateway) => void;
  readonly wait: Waiting;
  readonly cancels?: boolean;
};

const succeedAtOnce = (gateway: Gateway): void => {
  gateway.state.onSubmit = () => {
    gateway.succeed();
    gateway.streams[0]?.write(doneFrame('1', 'task-1'));
  };
};
/** The task succeeds after two seconds. Before that an outage of one attempt delays the submission. */
const failFirst = (gateway: Gateway): void => {
  gateway.state.outage = json(problem(503, 'busy'), 503);
  void gateway.clock.sleep(100).then(() => {
    gateway.state.outage = undefined;
  });
  void gateway.clock.sleep(4_000).then(() => gateway.succeed());
};
const findNoAgent = (gateway: Gateway): void => {
  gateway.state.onSubmit = () => {
    gateway.state.task = { ...gateway.state.task, status: 'failed', error_info: '无可用 Agent' };
    gateway.streams[0]?.write(doneFrame('1', 'task-1'));
  };
};
const runWith =
  (options: sdk.RunOptions = {}, fields: Partial<sdk.TaskSubmission> = {}): Waiting =>
  (client, signal) =>
    client.runTask({ ...submission, ...fields }, { signal, ...options });
const onProgress = (): void => undefined;

const SCENARIOS: readonly Scenario[] = [
  { title: 'a run with a stream', points: 10, prepare: succeedAtOnce, wait: runWith() },
  {
    title: 'a run that its signal cancels',
    points: 10,
    prepare: succeedAtOnce,
    wait: runWith({ cancelOnAbort: true }),
    cancels: true,
  },
  {
    title: 'a run that polls in a session of the caller’s, after a retry',
    points: 20,
    prepare: failFirst,
    cancels: true,
    wait: runWith({ cancelOnAbort: true, onProgress }, { cli_session_id: '会话' }),
  },
  { title: 'a run that finds no agent', points: 12, prepare: findNoAgent, wait: runWith() },
  {
    title: 'a submission, after a retry',
    points: 7,
    prepare: failFirst,
    wait: (client, signal) => client.submitTask({ ...submission, cli_session_id: '会话' }, { signal }),
  },
  {
    title: 'a subscription',
    points: 5,
    prepare: (gateway) =>
      void gateway.clock.sleep(500).then(() => {
        gateway.streams[0]?.write(doneFrame('1', 'task-1'));
      }),
    async wait(client, signal) {
      for await (const event of client.subscribeEvents('会话', { signal })) return event;
      return undefined;
    },
  },
];

/** Past a point, the abort comes after this many promises more have been resolved. */
const PROMISES = [0, 1, 2, 4, 8, 16];

/** What the SDK waits for at a point. A pause may be one that it waits for, or a timer beside. */
type Point = 'secret' | 'head' | 'body' | 'pause';

/** Does the work, and calls `onPoint` at each point at which it waits: what that returns delays it. */
async function work(
  scenario: Scenario,
  onPoint: (at: number) => Promise<void> | undefined,
  signal: AbortSignal,
) {
  const gateway = createGateway();
  const { clock } = gateway;
  scenario.prepare(gateway);
  const points: Point[] = [];
  const streams: AbortSignal[] = [];
  const pass = async <T>(point: Point, value: T): Promise<T> => {
    points.push(point);
    await onPoint(points.length);
    return value;
  };
  const client = createClient({
    baseUrl: 'http://gateway.test',
    auth: () => pass('secret', 'a-good-secret'),
    clock: {
      ...clock,
      async sleep(ms, own) {
        if (!own?.aborted) void pass('pause', undefined);
        await clock.sleep(ms, own);
      },
    },
    async fetch(request, init) {
      if (request.url.includes('/events') && init?.signal) streams.push(init.signal);
      const response = await pass('head', await gateway.fetch(request, init));
      const read = new TransformStream<Uint8Array, Uint8Array>({
        transform: async (chunk, controller) => controller.enqueue(await pass('body', chunk)),
      });
      return new Response(response.body?.pipeThrough(read), response);
    },
  });
  let ended: { readonly error?: unknown } | undefined;
  const end = (one: { readonly error?: unknown }): void => {
    ended = one;
  };
  scenario.wait(client, signal).then(
    () => end({}),
    (error: unknown) => end({ error }),
  );
  await flushMicrotasks();
  for (let steps = 0; !ended && !signal.aborted && steps < 200; steps += 1) await clock.advance(100);
  const atMs = clock.nowMs();
  await flushMicrotasks();
  return { gateway, points, streams, ended, passedMs: clock.nowMs() - atMs };
}

/** Whether the work had come to its end before its signal fired. */
function wasTooLate({ ended }: Awaited<ReturnType<typeof work>>): boolean {
  return ended !== undefined && (ended.error as Error | undefined)?.name !== 'AbortError';
}

async function listPoints(scenario: Scenario): Promise<readonly Point[]> {
  const { points, ended } = await work(scenario, () => undefined, new AbortController().signal);
  expect(ended, 'the work ends by itself').toBeDefined();
  return points;
}

/** Expects that the work has ended by its signal, at once, and that nothing of it goes on. */
async function expectEnd(scenario: Scenario, done: Awaited<ReturnType<typeof work>>, what: string) {
  const { gateway, streams, ended, passedMs } = done;
  expect(ended, what).toBeDefined();
  const error = ended?.error as sdk.AbortError;
  expect({ error: error?.name, passedMs }, what).toEqual({ error: 'AbortError', passedMs: 0 });
  if (scenario.title !== 'a subscription') {
    expect(error, what).toMatchObject({
      idempotencyKey: expect.stringMatching(/./),
      cli_session_id: expect.stringMatching(/./),
    });
  }
  if (scenario.cancels) {
    expect(await elapse(gateway.clock, error.cancelled ?? Promise.resolve(false)), what).toBe(true);
    const wasSent = gateway.submits().length > 0;
    if (wasSent) expect(error.request_id, what).toBe('task-1');
    if (wasSent) expect(gateway.state.task.status, what).not.toBe('pending');
  }
  expect(
    streams.filter((one) => !one.aborted),
    `${what}: open streams`,
  ).toEqual([]);
}

describe.each(SCENARIOS)('$title', (scenario) => {
  test('ends by its signal wherever it waits, also for what never comes', async () => {
    const points = await listPoints(scenario);
    expect(points.length).toBeGreaterThanOrEqual(scenario.points);
    for (const [index, point] of points.entries()) {
      const ending = new AbortController();
      // What may have been submitted is cancelled: then the gateway must answer in the end.
      const goOn = new Promise<void>((resolve) => {
        if (scenario.cancels) ending.signal.addEventListener('abort', () => resolve());
      });
      const hang = (at: number) => {
        if (at !== index + 1) return undefined;
        setImmediate(() => ending.abort());
        return goOn;
      };
      const done = await work(scenario, hang, ending.signal);
      if (point === 'pause' && wasTooLate(done)) continue;
      await expectEnd(scenario, done, `waiting for a ${point}, ${index + 1} of ${points.length}`);
    }
  });

  test('ends by its signal at whatever promise it is', async () => {
    const { length } = await listPoints(scenario);
    let aborts = 0;
    for (let at = 1; at <= length; at += 1) {
      for (const promises of PROMISES) {
        const ending = new AbortController();
        const abort = (left: number): void => {
          if (left > 0) queueMicrotask(() => abort(left - 1));
          else ending.abort();
        };
        const done = await work(scenario, (point) => void (point === at && abort(promises)), ending.signal);
        if (wasTooLate(done)) continue;
        await expectEnd(scenario, done, `at point ${at} of ${length}, ${promises} promises later`);
        aborts += 1;
      }
    }
    expect(aborts).toBeGreaterThan(scenario.points * 4);
  });
});
