/**
 * Output over a real gateway: written by an agent, read by clients, through lost responses, a restart of the
 * agent, and at the limit of an output.
 */
import { aborted } from 'node:util';
import { expect, test } from 'vitest';
import type { Handler } from '../../sdk/agent/index.ts';
import { createClient, type OutputPiece } from '../../sdk/index.ts';
import { until } from './sdk-clock.ts';
import { client, proxy, readAll, startAgent, taskOf, throughProxy } from './story-fixture.ts';

/** Starts an agent behind the proxy. */
const startBehindProxy = (tag: string, handler: Handler) =>
  startAgent(tag, handler, { ...throughProxy(), timeoutMs: 2_000 });

test('A run gets the output as it comes; readers behind it get the rest, and nothing behind the end.', async () => {
  const isHalf = Promise.withResolvers<void>();
  await startBehindProxy('plain', async (_task, { write, progress }) => {
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

test('A write whose response is lost is sent again and stored once; a network that is gone loses nothing.', async () => {
  const faults = ['cut-after', 'cut-before', 'reset', 'refuse'] as const;
  let lost = 0;
  const handler: Handler = async (_task, { write }) => {
    for (let line = 0; line < 40; line += 1) {
      const fault = line % 10 === 5 ? faults[(line - 5) / 10] : undefined;
      const before = lost;
      if (fault) await proxy.setFault(fault);
      await write(`line ${line}\n`);
      if (fault) await until(() => lost > before, 'a write fails');
      await proxy.setFault(null);
    }
  };
  await startAgent('faulty', handler, {
    ...throughProxy(),
    timeoutMs: 2_000,
    async fetch(input, init) {
      const request = new Request(input, init);
      return await fetch(request).catch((error: unknown) => {
        if (request.url.endsWith('/output')) lost += 1;
        throw error;
      });
    },
  });
  const { request_id } = await client.submitTask(taskOf('faulty'));
  const pieces = await readAll(request_id);
  expect(pieces.map(({ text }) => text ?? '').join('')).toBe(
    Array.from({ length: 40 }, (_, line) => `line ${line}\n`).join(''),
  );
  expect(pieces.map(({ n }) => n)).toEqual(pieces.map((_, index) => index + 1));
});

test('An agent that is started again writes anew behind one reset, and the old one stops.', async () => {
  let starts = 0;
  const handler: Handler = async (_task, { write, signal }) => {
    starts += 1;
    const own = starts;
    await write(`start ${own} `);
    if (own === 1) {
      await aborted(signal, signal);
      await write('too late');
      return;
    }
    await write('whole');
  };
  const first = await startBehindProxy('again', handler);
  const { request_id } = await client.submitTask(taskOf('again'));
  await until(
    async () => (await readAll(request_id, { follow: false })).length === 1,
    'the first start writes',
  );
  // Another process of the same name, which knows nothing of the task.
  await startBehindProxy('again', handler);
  const pieces = await readAll(request_id);
  expect(pieces).toEqual([
    { n: 1, text: 'start 1 ' },
    { n: 2, reset: true, agent_id: 'again' },
    expect.objectContaining({ n: 3, text: 'start 2 whole' }),
    expect.objectContaining({ n: 4, end: true }),
  ]);
  await first.stop({ drainMs: 0, graceMs: 0 });
  expect(starts).toBe(2);
});

test('An output at its limit ends as truncated, and its task succeeds.', async () => {
  await startBehindProxy('much', async (_task, { write }) => {
    for (let count = 0; count < 100; count += 1) await write('x'.repeat(65_536));
    return 'done';
  });
  const got = { chars: 0, end: undefined as OutputPiece | undefined };
  const { result } = await client.runTask(taskOf('much'), {
    onOutput(piece) {
      got.chars += piece.text?.length ?? 0;
      if (piece.end) got.end = piece;
    },
  });
  expect(result).toEqual({ output: 'done' });
  expect(got.end).toMatchObject({ end: true, missing: 'truncated' });
  expect(got.chars).toBeGreaterThan(3_500_000);
  expect(got.chars).toBeLessThan(7 * 2 ** 19);
});

test('A run that finds a task which had ended gets its whole output.', async () => {
  await startBehindProxy('found', async (_task, { write }) => {
    await write('there before');
  });
  const task = Object.assign(taskOf('found'), { cli_session_id: 'found' });
  await client.runTask(task, { idempotencyKey: 'found' });
  const got: unknown[] = [];
  await client.runTask(task, {
    idempotencyKey: 'found',
    onOutput: ({ text, end }) => got.push(text ?? end),
  });
  expect(got).toEqual(['there before', true]);
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
