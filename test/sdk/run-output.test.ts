/**
 * `readOutput`, and runs that show how their task goes: each follows the stream of its own task, reads each
 * piece once and in order whatever happens to the stream, and polls only while there is none.
 */
import { expect, test, vi } from 'vitest';
import type { OutputPiece, Task } from '../../sdk/index.ts';
import { createGateway, createOutputGateway, END, frame, submission } from './run-gateway.ts';
import { json } from './scripted-fetch.ts';
import { problem } from './scripted-server.ts';
import { elapse, pass } from './sdk-clock.ts';

/** A gateway whose tasks have outputs, and a run of its task. */
function startRun(gateway = createGateway()) {
  const got: OutputPiece[] = [];
  const shown: string[] = [];
  const run = gateway.client.runTask(submission, {
    onOutput: (piece) => got.push(piece),
    onProgress: ({ status, progress }: Task) => shown.push(`${status} ${progress}`),
  });
  return { ...gateway, gateway, got, shown, run };
}

test('A run that shows how its task goes has one stream, that of its task, and does not poll while it is open.', async () => {
  const { run, gateway, got, shown, clock, outputs, streams, state } = startRun(createOutputGateway());
  await pass(clock, 100);
  expect([streams.length, outputs.length]).toEqual([0, 1]);
  expect(outputs[0]?.sent.headers.get('authorization')).toBe('Bearer a-good-secret');
  outputs[0]?.write(frame({ status: 'pending', progress: 0 }));
  await pass(clock, 30_000);
  expect(gateway.gets()).toBe(0);
  state.task = { ...state.task, status: 'running', agent_id: 'a', progress: 10 };
  outputs[0]?.write(frame({ status: 'running', progress: 10 }));
  await pass(clock, 100);
  expect(gateway.gets()).toBe(1);
  outputs[0]?.write(frame({ n: 1, text: 'Page 1. ' }) + frame({ status: 'running', progress: 40 }));
  outputs[0]?.write(frame({ n: 2, data: { page: 1 } }));
  await pass(clock, 20_000);
  // The progress alone is not read again.
  expect(gateway.gets()).toBe(1);
  gateway.succeed();
  outputs[0]?.write(frame({ n: 3, ...END }));
  expect(await elapse(clock, run)).toMatchObject({ status: 'success' });
  expect(got).toEqual([
    { n: 1, text: 'Page 1. ' },
    { n: 2, data: { page: 1 } },
    { n: 3, ...END },
  ]);
  expect(shown).toEqual(['pending 0', 'running 10', 'running 40', 'success 100']);
  expect(gateway.gets()).toBe(2);
  expect(clock.sleeping()).toBe(0);
});

test('A stream that is cut goes on behind the last piece; what it sends again is left out; meanwhile the run polls.', async () => {
  const { run, gateway, got, clock, outputs, state } = startRun(createOutputGateway());
  await pass(clock, 100);
  state.task = { ...state.task, status: 'running', agent_id: 'a' };
  outputs[0]?.write(frame({ status: 'running', progress: 0 }) + frame({ n: 1, text: 'one' }));
  await pass(clock, 100);
  state.pieces.push({ n: 1, text: 'one' }, { n: 2, text: 'two' });
  state.streamOutage = undefined;
  outputs[0]?.end();
  await pass(clock, 1_500);
  expect(gateway.gets()).toBeGreaterThan(1);
  // A page has brought it already.
  expect(got.map(({ n }) => n)).toEqual([1, 2]);
  await pass(clock, 2_000);
  expect(outputs).toHaveLength(2);
  expect(outputs[1]?.sent.headers.get('last-event-id')).toBe('1');
  const before = gateway.gets();
  outputs[1]?.write(frame({ status: 'running', progress: 0 }) + frame({ n: 2, text: 'two' }));
  outputs[1]?.write(frame({ n: 3, reset: true, agent_id: 'b' }) + frame({ n: 4, text: 'four' }));
  await pass(clock, 20_000);
  expect(gateway.gets() - before).toBeLessThanOrEqual(1);
  gateway.succeed();
  outputs[1]?.write(frame({ n: 5, ...END }));
  await elapse(clock, run);
  expect(got.map(({ n }) => n)).toEqual([1, 2, 3, 4, 5]);
  expect(got[2]?.reset).toBe(true);
});

test('A run whose stream never opens polls each second, and reads the whole output before it ends.', async () => {
  const gateway = createOutputGateway();
  const fetching = gateway.fetch;
  const { run, got, shown, clock, state } = startRun(gateway);
  state.outputOutage = json(problem(429, 'too_many_streams'), 429);
  await pass(clock, 3_000);
  expect(gateway.gets()).toBeGreaterThanOrEqual(2);
  expect(new Set(gateway.waits())).toEqual(new Set(['1']));
  state.task = { ...state.task, status: 'running', agent_id: 'a', progress: 50 };
  await pass(clock, 2_000);
  state.outputOutage = undefined;
  state.pieces.push({ n: 1, text: 'one' }, { n: 2, text: 'two' });
  gateway.succeed();
  await elapse(clock, run);
  expect(got).toEqual([
    { n: 1, text: 'one' },
    { n: 2, text: 'two' },
    expect.objectContaining({ n: 3, end: true }),
  ]);
  expect(shown).toEqual(['pending 0', 'running 50', 'success 100']);
  expect(fetching.sent.filter(({ url }) => url.pathname.endsWith('/events'))).toHaveLength(0);
});

test('A page that is cut within its body loses no piece of the stream that opens again.', async () => {
  const { run, gateway, got, clock, outputs, state } = startRun(createOutputGateway());
  await pass(clock, 100);
  outputs[0]?.write(frame({ status: 'pending', progress: 0 }) + frame({ n: 1, text: 'one' }));
  await pass(clock, 100);
  state.outputOutage = new Response('{"request_id":"ta', { headers: { 'content-type': 'application/json' } });
  outputs[0]?.end();
  await pass(clock, 2_000);
  state.outputOutage = json(problem(503, 'busy'), 503);
  await pass(clock, 2_000);
  state.outputOutage = undefined;
  await pass(clock, 10_000);
  outputs.at(-1)?.write(frame({ n: 2, text: 'two' }) + frame({ n: 3, text: 'three' }));
  await pass(clock, 100);
  gateway.succeed();
  outputs.at(-1)?.write(frame({ n: 4, ...END }));
  await elapse(clock, run);
  expect(got.map(({ n }) => n)).toEqual([1, 2, 3, 4]);
});

test.each([
  ['has no such route', 2, () => json(problem(404, 'route_not_found'), 404)],
  ['takes no such request', 2, () => json(problem(406, 'http_406'), 406)],
  // That may be a proxy on the way, so it is asked again.
  ['sends something else', 10, () => json({ ok: true })],
])(
  'With a gateway that %s a run polls, asks for the output %i times at most, and succeeds.',
  async (_what, times, respond) => {
    const gateway = createGateway();
    gateway.state.outputOutage = respond();
    const { run, got, shown, clock, state } = startRun(gateway);
    await pass(clock, 2_500);
    state.task = { ...state.task, status: 'running', agent_id: 'a', progress: 50 };
    await pass(clock, 2_500);
    gateway.succeed();
    await elapse(clock, run);
    expect(shown).toEqual(['pending 0', 'running 50', 'success 100']);
    expect(got).toEqual([]);
    const asked = gateway.fetch.sent.filter(({ url }) => url.pathname.endsWith('/output'));
    // By stream and by page.
    expect(asked.length).toBeLessThanOrEqual(times);
  },
);

test('When a look finds the task settled before its stream says so, the rest of the output is read first.', async () => {
  const { run, gateway, got, clock, outputs, state } = startRun(createOutputGateway());
  await pass(clock, 100);
  outputs[0]?.write(frame({ status: 'pending', progress: 0 }) + frame({ n: 1, text: 'one' }));
  await pass(clock, 100);
  state.pieces.push({ n: 1, text: 'one' }, { n: 2, text: 'two' });
  gateway.succeed();
  // Once a minute the run looks in any case.
  await elapse(clock, run, 1_000);
  expect(got.map(({ n }) => n)).toEqual([1, 2, 3]);
});

test('In a browser three runs at most have a stream of their own; the others poll, and read the output as well.', async () => {
  vi.stubGlobal('location', { href: 'http://page.test/', origin: 'http://page.test' });
  try {
    const gateway = createOutputGateway();
    const runs = Array.from({ length: 5 }, () => startRun(gateway));
    await pass(gateway.clock, 3_000);
    expect(gateway.outputs).toHaveLength(3);
    expect(gateway.gets()).toBeGreaterThan(3);
    gateway.state.pieces.push({ n: 1, text: 'one' });
    gateway.succeed();
    for (const { write } of gateway.outputs) write(frame({ n: 1, text: 'one' }) + frame({ n: 2, ...END }));
    for (const { run, got } of runs) {
      await elapse(gateway.clock, run);
      expect(got.map(({ n }) => n)).toEqual([1, 2]);
    }
  } finally {
    vi.unstubAllGlobals();
  }
});

test('In a browser a run that has ended leaves its stream to the next one, and a held call to the next call.', async () => {
  vi.stubGlobal('location', { href: 'http://page.test/', origin: 'http://page.test' });
  try {
    const gateway = createOutputGateway();
    const { task } = gateway.state;
    for (let runs = 1; runs <= 5; runs += 1) {
      gateway.state.task = task;
      const { run } = startRun(gateway);
      await pass(gateway.clock, 100);
      expect(gateway.outputs).toHaveLength(runs);
      gateway.succeed();
      gateway.outputs.at(-1)?.write(frame({ n: 1, ...END }));
      await elapse(gateway.clock, run);
    }
    const { run, clock, waits, succeed } = startRun();
    await pass(clock, 10_000);
    expect(waits().length).toBeGreaterThan(5);
    succeed();
    await elapse(clock, run);
  } finally {
    vi.unstubAllGlobals();
  }
});

test('An onOutput and an onProgress that throw are printed and change nothing.', async () => {
  const printed = vi.spyOn(console, 'error').mockImplementation(() => undefined);
  const gateway = createOutputGateway();
  const fail = (): never => {
    throw new Error('of the callback');
  };
  const run = gateway.client.runTask(submission, { onOutput: fail, onProgress: fail });
  await pass(gateway.clock, 100);
  gateway.succeed();
  gateway.outputs[0]?.write(frame({ n: 1, text: 'one' }) + frame({ n: 2, ...END }));
  expect(await elapse(gateway.clock, run)).toMatchObject({ status: 'success' });
  const named = printed.mock.calls.map(([text]) => /on\w+ failed/.exec(text)?.[0]);
  expect(named.sort()).toEqual([
    ...['onOutput failed', 'onOutput failed', 'onProgress failed', 'onProgress failed'],
  ]);
  printed.mockRestore();
});

/** Reads an output until the loop ends. */
async function readAll(items: AsyncIterable<OutputPiece>, into: OutputPiece[]): Promise<void> {
  for await (const item of items) into.push(item);
}

test('A reader gets pieces across reconnections, a kind it does not know too, and ends with the end.', async () => {
  const { client, clock, outputs } = createOutputGateway();
  const got: OutputPiece[] = [];
  const notices: string[] = [];
  const reading = readAll(
    client.readOutput('task-1', { after: 3, onNotice: ({ kind }) => notices.push(kind) }),
    got,
  );
  await pass(clock, 100);
  expect(outputs[0]?.sent.headers.get('last-event-id')).toBe('3');
  outputs[0]?.write(
    `${frame({ status: 'running', progress: 1 }) + frame({ n: 4, text: '四' })}data: no json\n\n`,
  );
  await pass(clock, 100);
  outputs[0]?.end();
  await pass(clock, 4_000);
  outputs[1]?.write(frame({ n: 4, text: '四' }) + frame({ n: 5, later: true }) + frame({ n: 6, ...END }));
  await elapse(clock, reading);
  expect(got).toEqual([
    { n: 4, text: '四' },
    { n: 5, later: true },
    { n: 6, ...END },
  ]);
  expect(notices).toEqual(['open', 'down', 'open']);
  expect(clock.sleeping()).toBe(0);
});

test('A gateway that begins again because it does not know the number loses nothing: all is read.', async () => {
  const { client, clock, outputs } = createOutputGateway();
  const got: OutputPiece[] = [];
  const reading = readAll(client.readOutput('task-1', { after: 900 }), got);
  await pass(clock, 100);
  outputs[0]?.write(frame({ n: 1, text: 'one' }) + frame({ n: 2, ...END }));
  await elapse(clock, reading);
  expect(got.map(({ n }) => n)).toEqual([1, 2]);
});

test('A reader that has had the end gets nothing, and its loop ends.', async () => {
  const { client, clock, state } = createOutputGateway();
  state.outputOutage = new Response(null, { status: 204 });
  const got: OutputPiece[] = [];
  await elapse(clock, readAll(client.readOutput('task-1', { after: 6 }), got));
  expect(got).toEqual([]);
});

test('With follow: false a loop ends where the output ends now, and with the end of a task that is over.', async () => {
  const gateway = createOutputGateway();
  const { client, clock, state, outputs } = gateway;
  state.pieces.push({ n: 1, text: 'one' }, { n: 2, text: 'two' });
  const now: OutputPiece[] = [];
  await elapse(clock, readAll(client.readOutput('task-1', { follow: false, after: 1 }), now));
  expect(now.map(({ n }) => n)).toEqual([2]);
  gateway.succeed();
  const whole: OutputPiece[] = [];
  await elapse(clock, readAll(client.readOutput('task-1', { follow: false }), whole));
  expect(whole.map(({ n, end }) => [n, end])).toEqual([
    [1, undefined],
    [2, undefined],
    [3, true],
  ]);
  expect(outputs).toHaveLength(0);
});

test('Leaving the loop, and the signal, end a reader with nothing open.', async () => {
  const { client, clock, outputs } = createOutputGateway();
  const left = (async () => {
    for await (const _piece of client.readOutput('task-1')) return;
  })();
  const controller = new AbortController();
  const aborted = readAll(client.readOutput('task-1', { signal: controller.signal }), []);
  aborted.catch(() => undefined);
  await pass(clock, 100);
  outputs[0]?.write(frame({ n: 1, text: 'one' }));
  controller.abort();
  await elapse(clock, left);
  await expect(aborted).rejects.toMatchObject({ code: 'aborted' });
  expect(() => client.readOutput('..')).toThrow(/An id must be/);
});

test('A reader throws what a further attempt does not mend.', async () => {
  const { client, clock, state } = createOutputGateway();
  state.outputOutage = json(problem(404, 'task_not_found'), 404);
  await expect(elapse(clock, readAll(client.readOutput('task-1'), []))).rejects.toMatchObject({
    code: 'task_not_found',
  });
});
